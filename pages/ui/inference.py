"""Questions to the warm process that holds torch: asked in a thread, looked at by reruns.

One thread asks for all sessions, for the process answers one call at a time; a question that is
no longer wanted is taken back before it is asked.
"""

import json
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Event
from typing import Any, Final

import streamlit as st

from core.errors import AuditError, LostWorker
from core.inference.client import Answer, shared
from pages.ui import session

QUERIES: Final = "evaluate.asked"  # by question
KEPT: Final = 32  # answers of a session
TIMEOUT_S: Final = 180.0  # the first question waits for torch itself
Json = Mapping[str, Any]  # Any: plain JSON values
Outcome = Answer | AuditError


@dataclass(frozen=True)
class EvaluationQuery:
    """A question that was put, and the means to stop it."""

    name: str
    future: "Future[Answer]"
    cancel: Event

    def outcome(self) -> Outcome | None:
        """Return the answer or why there is none; None while it is awaited."""
        if not self.future.done():
            return None
        error = self.future.exception()
        if error is None:
            return self.future.result()
        if isinstance(error, AuditError):
            return error
        raise error

    def stop(self) -> None:
        """Take it back, or end the process that is at it."""
        self.future.cancel()
        self.cancel.set()


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the thread that asks; it does not touch Streamlit."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="asking")


def key(name: str, question: Json) -> str:
    """Return what is equal for the same question."""
    return f"{name} {json.dumps(question, sort_keys=True)}"


def ask(
    name: str, question: Json, *, patient: bool = False, timeout_s: float = TIMEOUT_S
) -> Outcome | None:
    """Return the answer to a question, putting it first where that was not done.

    A question of the same name that still waits is taken back: one thing is asked at a time.
    `patient` leaves the one that is being answered alone, for ending it would end the process,
    which then has to load torch anew. `timeout_s` is how long the answer may take once it is at it.
    """
    queries, query_key = _queries(), key(name, question)
    if query_key not in queries:
        for other in [k for k, query in queries.items() if query.name == name and _waits(query)]:
            if not patient or queries[other].future.cancel():
                queries.pop(other).stop()
        queries[query_key] = _put(name, question, timeout_s)
        while len(queries) > KEPT:
            queries.pop(next(iter(queries)))
    return queries[query_key].outcome()


def answered(name: str, question: Json) -> Outcome | None:
    """Return the answer to a question if it was put and has come."""
    query = _queries().get(key(name, question))
    return None if query is None else query.outcome()


def waits(name: str, question: Json) -> bool:
    """Whether a question was put and its answer has not come."""
    query = _queries().get(key(name, question))
    return query is not None and _waits(query)


def forget(name: str, question: Json) -> None:
    """Drop a question, so that it can be put again; what is at it ends."""
    query = _queries().pop(key(name, question), None)
    if query is not None and _waits(query):
        query.stop()


def awaited() -> int:
    """Return how many answers have not come."""
    return sum(_waits(query) for query in _queries().values())


def _waits(query: EvaluationQuery) -> bool:
    return not query.future.done()


def _queries() -> dict[str, EvaluationQuery]:
    queries: dict[str, EvaluationQuery] = st.session_state.setdefault(QUERIES, {})
    return queries


def _put(name: str, question: Json, timeout_s: float) -> EvaluationQuery:
    cancel, works = Event(), session.room().works
    works.add(cancel)
    future = _pool().submit(_call, name, question, timeout_s, cancel)
    future.add_done_callback(lambda _: works.discard(cancel))
    return EvaluationQuery(name, future, cancel)


def _call(name: str, question: Json, timeout_s: float, cancel: Event) -> Answer:
    try:
        return shared().call(name, question, timeout_s=timeout_s, cancel=cancel)
    except OSError as error:  # no memory or no process left
        what = f"the process that holds torch could not be started ({error.strerror})"
        raise LostWorker("LOST_WORKER", what, "try again in a moment") from error
