"""What belongs to one browser session: its folder, its drafts and its running import.

A draft is an upload that is not in the library: it has no link, nobody else sees it, and its
bytes go with the session.
"""

import logging
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Final, TypeVar

import streamlit as st
from streamlit.runtime import Runtime, get_instance

from core.jobs.local import open_jobs
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.result import ReadResult
from core.readers.sandbox import read as sandbox
from core.readers.sandbox import scratch

JOBS_S: Final = 5.0  # how often jobs are looked after
LOG: Final = logging.getLogger("candor")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Upload:
    """Files of one import, as they lie in the session's folder, with the names they came with.

    `tables` holds what was added of groups and weights, by ``group`` and ``weight``.
    """

    scores: Path
    scores_name: str
    labels: Path | None = None
    labels_name: str = ""
    tables: Mapping[str, tuple[Path, str]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """A first name for the run: the file's name without its last suffix."""
        return Path(self.scores_name).stem or self.scores_name


@dataclass(frozen=True)
class Draft:
    """An upload that was read and accepted, and lives in this session only."""

    id: str
    name: str
    file_name: str
    result: ReadResult


@dataclass(kw_only=True)
class FileReading:
    """A file being read in a sealed process, with the means to wait for it and to stop it.

    `form` is the fingerprint under which choices for such files are kept: empty until the file
    was read once, by names and values alone.
    """

    upload: Upload
    options: ReadOptions
    future: "Future[ReadResult]"
    cancel: Event
    form: str = ""
    recalled: bool = False
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started


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
    cancels: list[Event]
    works: set[Event]

    def close(self) -> None:
        """Stop what is being read or computed, and remove the bytes."""
        for cancel in (*self.cancels, *self.works):
            cancel.set()
        scratch.remove(self.folder)


@st.cache_resource(scope="session", show_spinner=False, on_release=SessionResources.close)
def room() -> SessionResources:
    """Return the session's own room (its folder has mode 0700); Streamlit closes it at the end."""
    return SessionResources(scratch.make("session"), [], set())


def store(data: memoryview) -> Path:
    """Write an upload's bytes below the session's folder; its name is never used as a path."""
    path = room().folder / secrets.token_hex(8)
    path.touch(mode=0o600)
    path.write_bytes(data)
    return path


def read(
    upload: Upload, options: ReadOptions, *, form: str = "", recalled: bool = False
) -> FileReading:
    """Start to read the upload; an earlier reading of this session is stopped.

    `form` is empty for a file that is read for the first time; `recalled` says that a recipe, and
    not the user, asked for this reading.
    """
    cancel = Event()
    cancels = room().cancels
    for earlier in cancels:
        earlier.set()
    cancels[:] = [cancel]
    future = _pool().submit(
        sandbox.read,
        upload.scores,
        name=upload.scores_name,
        labels=upload.labels,
        labels_name=upload.labels_name,
        tables=upload.tables,
        options=options,
        cancel=cancel,
    )
    return FileReading(
        upload=upload, options=options, future=future, cancel=cancel, form=form, recalled=recalled
    )


def in_thread(function: Callable[..., Answer], *arguments: object) -> "Future[Answer]":
    """Call a function that waits for a reader process and does not touch Streamlit."""
    return _pool().submit(function, *arguments)


def wait(reading: FileReading, timeout_s: float) -> None:
    """Wait a little for a reading, or until it is done."""
    wait_for([reading.future], timeout=timeout_s)


def sealed() -> bool:
    """Whether reader processes run under memory and CPU limits, not only a time limit."""
    return sys.platform.startswith("linux")


def drafts() -> dict[str, Draft]:
    """Return this session's drafts by id."""
    by_id: dict[str, Draft] = st.session_state.setdefault("app.drafts", {})
    return by_id


def add_draft(reading: FileReading, result: ReadResult) -> Draft:
    """Make the result a draft of this session; the bytes it was read from are not needed more."""
    upload = reading.upload
    draft = Draft(f"draft-{secrets.token_hex(4)}", upload.title, upload.scores_name, result)
    drafts()[draft.id] = draft
    forget_files(upload)
    return draft


def discard(draft_id: str) -> None:
    """Forget a draft."""
    drafts().pop(draft_id, None)


def forget_table(upload: Upload, name: str) -> None:
    """Remove the bytes of an added table, if there is one of that name."""
    if name in upload.tables:
        upload.tables[name][0].unlink(missing_ok=True)


def forget_files(upload: Upload) -> None:
    """Remove an upload's bytes."""
    for path in (upload.scores, upload.labels, *(path for path, _ in upload.tables.values())):
        if path is not None:
            path.unlink(missing_ok=True)
