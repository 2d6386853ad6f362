"""What is kept between two looks: of the library for the process, of a draft for its session.

So nobody is ever served what was computed from another session's upload.
"""

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from functools import cache, wraps
from inspect import signature
from threading import Lock
from typing import Any, Final, Generic, ParamSpec, TypeVar

import streamlit as st

Given = ParamSpec("Given")
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

_MISSING: Final[Any] = object()  # Any: it stands for a result of any type


class Results(Generic[Key, Result]):
    """What was computed last, by key; shared by the sessions of a process, or of one session."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._results: dict[Key, Result] = {}
        self._under_way: dict[Key, Lock] = {}

    def get(self, key: Key) -> Result | None:
        """Return a result, or None when it must be computed."""
        result: Result | None = self._kept(key, None)
        return result

    def _kept(self, key: Key, missing: Any) -> Any:  # noqa: ANN401  a result, or what is missing
        with self._lock:
            if key not in self._results:
                return missing
            self._results[key] = self._results.pop(key)  # what is looked at is the last to go
            return self._results[key]

    def computed(self, key: Key, function: Callable[[], Result]) -> Result:
        """Return a result, computed here where it is missing; whoever comes meanwhile waits."""
        with self._lock:
            under_way = self._under_way.setdefault(key, Lock())
        try:
            with under_way:
                result: Result = self._kept(key, _MISSING)
                if result is _MISSING:
                    self.put(key, result := function())
                return result
        finally:
            with self._lock:
                self._under_way.pop(key, None)

    def put(self, key: Key, result: Result) -> None:
        """Keep a result; what was not looked at for longest goes when there are too many."""
        with self._lock:
            self._results[key] = result
            while len(self._results) > self._most:
                del self._results[next(iter(self._results))]

    def drop(self, of: Callable[[Key], bool]) -> None:
        """Let go of the results of some keys."""
        with self._lock:
            for key in [key for key in self._results if of(key)]:
                del self._results[key]


def results(
    kind: str, *, draft: bool, most: int = 256, drafts: int | None = None, large: bool = False
) -> Results[Any, Any]:
    """Return where results of a kind are kept; of a draft a quarter as many, in its session.

    Those of the library that are as large as files go with `release`.
    """
    if draft:
        return _of_session(kind, max(most // 4, 4) if drafts is None else drafts)
    return (_large if large else _of_library)(kind, most)


@st.cache_resource(max_entries=64, show_spinner=False)
def _of_library(kind: str, most: int) -> Results[Any, Any]:
    del kind  # part of the key only
    return Results(most)


@st.cache_resource(max_entries=8, show_spinner=False)
def _large(kind: str, most: int) -> Results[Any, Any]:
    del kind
    return Results(most)


def release() -> None:
    """Let go of what is as large as files: nobody is there to look at it."""
    _large.clear()


@st.cache_resource(scope="session", max_entries=64, show_spinner=False)
def _of_session(kind: str, most: int) -> Results[Any, Any]:
    del kind
    return Results(most)


def cached(
    most: int, *, drafts: int | None = None, spinner: str = "", large: bool = False
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Return a decorator that keeps what is quick to compute where its arguments belong.

    An argument whose attribute ``draft`` is true belongs to the session: then so does the result.

    Parameters
    ----------
    most, drafts, large
        As of `results`.
    spinner : str
        What the page says while a result is computed; nothing by default.
    """

    def decorate(compute: Callable[Given, Result]) -> Callable[Given, Result]:
        bind, kind = signature(compute).bind, f"{compute.__module__}.{compute.__qualname__}"

        @wraps(compute)
        def scoped(*args: Given.args, **named: Given.kwargs) -> Result:
            call = bind(*args, **named)
            call.apply_defaults()  # else a default that is spelled out would be another key
            given = tuple(call.arguments.values())
            own = any(getattr(value, "draft", False) for value in given)
            kept: Results[tuple[object, ...], Result]
            kept = results(kind, draft=own, most=most, drafts=drafts, large=large)

            def computed() -> Result:
                with st.spinner(spinner) if spinner else nullcontext():
                    return compute(*args, **named)

            return kept.computed(given, computed)

        return scoped

    return decorate


def once(function: Callable[[], Result]) -> Callable[[], Result]:
    """Return a function that calls another one once, and gives everybody its result.

    `functools.cache` alone calls it for each thread that comes before the first one is through.
    """
    result, lock = cache(function), Lock()

    @wraps(function)
    def called() -> Result:
        with lock:
            return result()

    return called
