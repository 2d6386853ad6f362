"""What belongs to one browser session: its folder, its drafts and its running work.

A draft is an upload that is not in the library: it has no link, nobody else sees it, and its
bytes go with the session.
"""

import gc
import logging
import secrets
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Final, TypeVar

import streamlit as st
from streamlit.runtime import Runtime, get_instance

from core.jobs.local import open_jobs
from core.readers.predictions.result import ReadResult
from core.readers.sandbox import scratch

JOBS_S: Final = 5.0  # how often jobs are looked after
LOG: Final = logging.getLogger("candor")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Draft:
    """An upload that was read and accepted, and lives in this session only."""

    id: str
    name: str
    file_name: str
    result: ReadResult


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that wait for reader processes; none of them touches Streamlit."""
    return ThreadPoolExecutor(max_workers=8, thread_name_prefix="reader")


@cache
def start_up() -> None:
    """Once a process: remove what crashed servers left behind, and look after jobs from now on."""
    scratch.sweep()
    if isinstance(get_instance(), Runtime):  # a server, not a test of a page
        Thread(target=_look_after_jobs, name="jobs", daemon=True).start()


def spare_modules(n_modules: int) -> None:
    """Take what modules hold out of the garbage collector's rounds; once for each hundred of them.

    Streamlit collects after every run of a script, and goes through all objects for it. Those of
    imported modules live as long as the server; they are most of what there is. What sessions
    held at that moment is set aside with them, until it happens the next time.
    """
    _set_aside(n_modules // 100)


@cache
def _set_aside(n_hundreds: int) -> None:
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
    gc.freeze()
    LOG.debug("what %d hundred modules hold is not collected", n_hundreds)


def _look_after_jobs() -> None:
    """Find jobs whose supervisor is gone and start what can start, also when no page is open."""
    while True:
        try:
            open_jobs().tick()
        except Exception:  # whatever it is, jobs are looked after again
            LOG.exception("jobs could not be looked after")
        time.sleep(JOBS_S)


@dataclass(frozen=True)
class SessionResources:
    """What a session holds outside its state: a folder, and the means to stop its readings."""

    folder: Path
    works: set[Event]

    def close(self) -> None:
        """Stop what is being read or computed, and remove the bytes."""
        for cancel in tuple(self.works):
            cancel.set()
        scratch.remove(self.folder)


@st.cache_resource(scope="session", show_spinner=False, on_release=SessionResources.close)
def room() -> SessionResources:
    """Return the session's own room (its folder has mode 0700); Streamlit closes it at the end."""
    return SessionResources(scratch.make("session"), set())


def store(data: memoryview) -> Path:
    """Write an upload's bytes below the session's folder; its name is never used as a path."""
    path = room().folder / secrets.token_hex(8)
    path.touch(mode=0o600)
    path.write_bytes(data)
    return path


def link(path: Path) -> Path:
    """Return a link to a whole path on the server: it goes with the session, the file stays."""
    name = room().folder / secrets.token_hex(8)
    name.symlink_to(path)
    return name


def in_thread(function: Callable[..., Answer], *arguments: object) -> "Future[Answer]":
    """Call a function that waits for a reader process and does not touch Streamlit."""
    return _pool().submit(function, *arguments)


def sealed() -> bool:
    """Whether reader processes run under memory and CPU limits, not only a time limit."""
    return sys.platform.startswith("linux")


def drafts() -> dict[str, Draft]:
    """Return this session's drafts by id."""
    by_id: dict[str, Draft] = st.session_state.setdefault("app.drafts", {})
    return by_id


def add_draft(name: str, file_name: str, result: ReadResult) -> Draft:
    """Make what was read a draft of this session."""
    draft = Draft(f"draft-{secrets.token_hex(4)}", name, file_name, result)
    drafts()[draft.id] = draft
    return draft


def discard(draft_id: str) -> None:
    """Forget a draft."""
    drafts().pop(draft_id, None)
