"""What is kept between two looks: of the library for the process, of a draft for its session.

So nobody is ever served what was computed from another session's upload.
"""

from collections.abc import Callable, Hashable, Mapping
from functools import cache, wraps
from inspect import signature
from threading import Lock
from typing import Any, Final, Generic, ParamSpec, TypeVar

import streamlit as st

Given = ParamSpec("Given")
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")
Keys = Mapping[str | type, Callable[[Any], object]]  # Any: what Streamlit hands to its hash_funcs

_RELEASED: Final[list[Callable[[], object]]] = []


def released_when_idle(clear: Callable[[], object]) -> None:
    """Have a cache emptied by `release`."""
    _RELEASED.append(clear)


def release() -> None:
    """Let go of what is as large as files: nobody is there to look at it."""
    for clear in _RELEASED:
        clear()


def cached(
    *, library: int, draft: int, spinner: str = "", keys: Keys | None = None, arrays: bool = False
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Return a decorator that keeps results where what they were computed from belongs.

    An argument whose attribute ``draft`` is true belongs to the session: then so does the result.

    Parameters
    ----------
    library, draft : int
        Most results that are kept for the process, and for each session.
    spinner : str
        What the page says while a result is computed; nothing by default.
    keys : mapping, optional
        What stands for an argument in the key, by its type.
    arrays : bool
        The results are as large as files: `release` lets go of those of the library.
    """

    def decorate(compute: Callable[Given, Result]) -> Callable[Given, Result]:
        settings: dict[str, Any] = {"show_spinner": spinner or False}  # Any: mixed settings
        settings["hash_funcs"] = None if keys is None else dict(keys)
        of_library = st.cache_resource(max_entries=library, **settings)(compute)
        of_session = st.cache_resource(scope="session", max_entries=draft, **settings)(compute)
        if arrays:
            released_when_idle(of_library.clear)
        bind = signature(compute).bind

        @wraps(compute)
        def scoped(*args: Given.args, **named: Given.kwargs) -> Result:
            call = bind(*args, **named)
            call.apply_defaults()  # else a default that is spelled out would be another key
            own = any(getattr(value, "draft", False) for value in call.arguments.values())
            return (of_session if own else of_library)(*call.args, **call.kwargs)

        return scoped

    return decorate


class Results(Generic[Key, Result]):
    """What was computed last, by key; shared by the sessions of a process, or of one session."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._results: dict[Key, Result] = {}

    def get(self, key: Key) -> Result | None:
        """Return a result, or None when it must be computed."""
        with self._lock:
            result = self._results.pop(key, None)
            if result is not None:  # what is looked at is the last to go
                self._results[key] = result
            return result

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


def results(kind: str, *, draft: bool, most: int = 256, large: bool = False) -> Results[Any, Any]:
    """Return where results of a kind are kept; of a draft a quarter as many, in its session.

    Those of the library that are as large as files go with `release`.
    """
    if draft:
        return _of_session(kind, max(most // 4, 4))
    return (_large if large else _of_library)(kind, most)


@st.cache_resource(max_entries=64, show_spinner=False)
def _of_library(kind: str, most: int) -> Results[Any, Any]:
    del kind  # part of the key only
    return Results(most)


@st.cache_resource(max_entries=8, show_spinner=False)
def _large(kind: str, most: int) -> Results[Any, Any]:
    del kind
    return Results(most)


released_when_idle(_large.clear)


@st.cache_resource(scope="session", max_entries=64, show_spinner=False)
def _of_session(kind: str, most: int) -> Results[Any, Any]:
    del kind
    return Results(most)


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
