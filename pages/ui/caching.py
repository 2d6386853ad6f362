"""What is kept between two looks: of the library for the process, of a draft for its session.

So nobody is ever served what was computed from another session's upload.
"""

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, wraps
from inspect import signature
from threading import Lock
from typing import Any, Final, Generic, ParamSpec, TypeVar

import streamlit as st

Given = ParamSpec("Given")
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

_MISSING: Final[Any] = object()  # Any: it stands for a result of any type


@dataclass(eq=False)
class _Pending:
    """A result under way: who computes it holds the lock, and all that want it are counted."""

    lock: Lock = field(default_factory=Lock)
    n: int = 0


class Results(Generic[Key, Result]):
    """What was computed last, by key; shared by the sessions of a process, or of one session."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._results: dict[Key, Result] = {}
        self._under_way: dict[Key, _Pending] = {}
        self._gone: set[str] = set()

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

    def computed(self, key: Key, function: Callable[[], Result], *, spinner: str = "") -> Result:
        """Return a result, computed here where it is missing; whoever comes meanwhile waits.

        The spinner says so to all of them.
        """
        with self._lock:
            missing = key not in self._results
            call = self._under_way.setdefault(key, _Pending())
            call.n += 1
        try:
            with st.spinner(spinner) if spinner and missing else nullcontext(), call.lock:
                result: Result = self._kept(key, _MISSING)
                if result is _MISSING:
                    self.put(key, result := function())
                return result
        finally:
            with self._lock:
                call.n -= 1
                if not call.n:  # else one that comes now would not wait with the others
                    del self._under_way[key]

    def put(self, key: Key, result: Result) -> None:
        """Keep a result; what was not looked at for longest goes when there are too many."""
        with self._lock:
            if any(names(key, run_id) for run_id in self._gone):
                return
            self._results[key] = result
            while len(self._results) > self._most:
                del self._results[next(iter(self._results))]

    def drop(self, run_id: str) -> None:
        """Let go of the results of a draft for good: one that is under way is not kept either."""
        with self._lock:
            self._gone.add(run_id)
            for key in [key for key in self._results if names(key, run_id)]:
                del self._results[key]


def names(key: object, run_id: str) -> bool:
    """Return whether a key is of a run or draft: its id is in it, or in a record in it."""
    if isinstance(key, tuple):
        return any(names(part, run_id) for part in key)
    if is_dataclass(key) and not isinstance(key, type):
        return any(names(getattr(key, part.name), run_id) for part in fields(key))
    return isinstance(key, str) and key == run_id


def of_draft(part: object) -> bool:
    """Return whether something belongs to this session only: a draft, or what is of one."""
    if isinstance(part, tuple):
        return any(map(of_draft, part))
    return bool(getattr(part, "draft", False))


Stores = dict[tuple[str, int], Results[Any, Any]]


def results(
    kind: str, *, draft: bool, most: int = 256, drafts: int | None = None, large: bool = False
) -> Results[Any, Any]:
    """Return where results of a kind are kept; of a draft a quarter as many, in its session.

    Those of the library that are as large as files go with `release`.
    """
    if draft:
        stores, most = _of_session(), max(most // 4, 4) if drafts is None else drafts
    else:
        stores = _large() if large else _of_library()
    return stores.setdefault((kind, most), Results(most))


@st.cache_resource(max_entries=1, show_spinner=False)
def _of_library() -> Stores:
    return {}


@st.cache_resource(max_entries=1, show_spinner=False)
def _large() -> Stores:
    return {}


@st.cache_resource(scope="session", show_spinner=False)
def _of_session() -> Stores:
    return {}


def release() -> None:
    """Let go of what is as large as files: nobody is there to look at it."""
    _large.clear()


def discard(draft_id: str) -> None:
    """Let go of all that this session keeps of a draft."""
    for store in list(_of_session().values()):
        store.drop(draft_id)


def cached(
    most: int, *, drafts: int | None = None, spinner: str = "", large: bool = False
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Return a decorator that keeps what a page computes itself where its arguments belong.

    An argument whose attribute ``draft`` is true belongs to the session: then so does the result.
    Options are those of `results`; the page says `spinner` while a result is computed.
    """

    def decorate(compute: Callable[Given, Result]) -> Callable[Given, Result]:
        bind, kind = signature(compute).bind, f"{compute.__module__}.{compute.__qualname__}"

        @wraps(compute)
        def scoped(*args: Given.args, **named: Given.kwargs) -> Result:
            call = bind(*args, **named)
            call.apply_defaults()  # else a default that is spelled out would be another key
            given = tuple(call.arguments.values())
            kept: Results[tuple[object, ...], Result]
            kept = results(kind, draft=of_draft(given), most=most, drafts=drafts, large=large)
            return kept.computed(given, lambda: compute(*args, **named), spinner=spinner)

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
