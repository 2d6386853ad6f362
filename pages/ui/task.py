"""Long work of a page: run elsewhere, watched, stopped, and tried again, in one way everywhere."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event
from typing import Any, Final, Generic, TypeVar

import streamlit as st

from core.errors import AuditError, LostWorker
from pages.ui import frame, session, widgets

ROOT: Final = Path(__file__).parents[2]
WORKS: Final = "app.works"  # by slot and key
KEPT: Final = 32  # of a session
PROCESSES: Final = 2  # at once; more wait their turn
THREADS: Final = 8
WATCH_S: Final = 0.5  # how often the page looks at what runs, unless a task knows better
LOOK_S: Final = 0.2  # how often a waiting thread looks whether to stop
Result = TypeVar("Result")


@dataclass(eq=False)
class Work(Generic[Result]):
    """What runs elsewhere, or did; it ends with the session that started it.

    Attributes
    ----------
    cancel : Event
        Ends it when set.
    share : float or None
        What part of it is done, where that is known; it may say so itself.
    """

    cancel: Event = field(default_factory=Event)
    share: float | None = None
    began: float = field(default_factory=time.monotonic)
    future: "Future[Result]" = field(default_factory=Future)

    @property
    def running(self) -> bool:
        """Whether there is neither a result, nor a reason why there is none."""
        return not self.future.done() and not self.stopped

    @property
    def stopped(self) -> bool:
        """Whether it was stopped; a result may come nevertheless."""
        return self.cancel.is_set()

    @property
    def succeeded(self) -> bool:
        """Whether there is a result."""
        done = self.future.done() and not self.future.cancelled()
        return done and self.future.exception() is None

    def stop(self) -> None:
        """Take it back, or end it."""
        self.cancel.set()
        self.future.cancel()


@dataclass(frozen=True, eq=False)
class Task(Generic[Result]):
    """Long work that a page needs, and the one way to show how it stands.

    Attributes
    ----------
    slot : str
        One task runs in a slot: to begin another stops it. Its buttons are named after it.
    key : hashable
        Equal for tasks of a slot that have the same result.
    text : str
        What is done, in Markdown.
    start : callable
        `in_process` or `in_thread` with what to call.
    patient : bool
        Another of the slot that is at work may go on; one that waits for its turn is taken back.
    note : str
        What else is said while it runs.
    every_s : float
        How often the page looks at it while it runs.
    """

    slot: str
    key: Hashable
    text: str
    start: Callable[[], Work[Result]]
    patient: bool = False
    note: str = ""
    every_s: float = WATCH_S

    @property
    def work(self) -> Work[Result] | None:
        """What was begun in this session, or None."""
        return _works().get((self.slot, self.key))

    @property
    def running(self) -> bool:
        """Whether it was begun and may still get a result."""
        return self.work is not None and self.work.running

    @property
    def error(self) -> AuditError | None:
        """Why there is no result, where it failed."""
        work = self.work
        if work is None or work.running or work.stopped:
            return None
        error = work.future.exception()
        return error if isinstance(error, AuditError) else None

    def begin(self) -> None:
        """Start it, anew where that was done before."""
        works = _works()
        for slot, key in list(works):
            if slot == self.slot and (key == self.key or works[slot, key].running):
                _make_way(slot, key, patient=self.patient and key != self.key)
        works[self.slot, self.key] = self.start()
        while len(works) > KEPT:
            works.pop(next(iter(works))).stop()

    def stop(self) -> None:
        """End it; the page says so, and offers to go on."""
        if self.work is not None:
            self.work.stop()

    def wait(self) -> Result | None:
        """Begin it where that was not done, and draw it; return the result, once there is one."""
        if self.work is None:
            self.begin()
        return self.draw()

    def draw(self) -> Result | None:
        """Draw it while it runs, and after it was stopped or failed; return the result, if any."""
        work = self.work
        if work is None:
            return None
        if work.running:
            st.fragment(_watch, run_every=self.every_s)(self)
        elif work.succeeded:
            return work.future.result()
        elif work.stopped:
            with _row(f"{self.slot}.stopped"):
                st.markdown(f"Stopped: {self.text}")
                st.button("Go on", key=f"{self.slot}.go_on", on_click=self.begin)
        elif self.error is not None:
            frame.refusal(self.error)
            st.button("Try again", key=f"{self.slot}.again", on_click=self.begin)
        else:  # a bug, which is logged once: the next time it begins anew
            del _works()[self.slot, self.key]
            work.future.result()
        return None


def _watch(task: Task[Any]) -> None:
    """Say what runs, for how long and how far it is; draw the page anew once it does not."""
    work = task.work
    if work is None or not work.running:
        st.rerun()
    assert work is not None
    with _row(f"{task.slot}.running"):
        seconds = time.monotonic() - work.began
        st.markdown(f":material/hourglass_empty: {task.text} :small[{seconds:.0f} s]")
        st.button("Stop", key=f"{task.slot}.stop", on_click=task.stop)
    if work.share is not None:
        st.progress(work.share)
    if task.note:
        widgets.caption(task.note)


def _row(key: str) -> "st.delta_generator.DeltaGenerator":
    return st.container(horizontal=True, vertical_alignment="center", key=key)


def _works() -> dict[tuple[str, Hashable], Work[Any]]:
    works: dict[tuple[str, Hashable], Work[Any]] = st.session_state.setdefault(WORKS, {})
    return works


def _make_way(slot: str, key: Hashable, *, patient: bool) -> None:
    """Stop a work and forget it; a patient one that is under way goes on."""
    if not patient or _works()[slot, key].future.cancel():
        _works().pop((slot, key)).stop()


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="work")


@cache
def _process_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=PROCESSES, thread_name_prefix="process")


def in_thread(
    call: Callable[[Work[Result]], Result], pool: ThreadPoolExecutor | None = None
) -> Work[Result]:
    """Call a function that does not touch Streamlit; it ends once its work's `cancel` is set."""
    work: Work[Result] = Work()
    works = session.room().works
    works.add(work.cancel)
    work.future = (pool or _threads()).submit(call, work)
    work.future.add_done_callback(lambda _: works.discard(work.cancel))
    return work


def in_process(function: Callable[..., Result], *arguments: object) -> Work[Result]:
    """Call a function of a module in `core.worker`; arguments and result are sent across."""
    data = pickle.dumps((function, arguments))
    return in_thread(lambda work: _answer(data, work.cancel), _process_threads())


def _answer(data: bytes, cancel: Event) -> Any:  # noqa: ANN401  whatever the function returns
    """Return what a function returned in a process of its own, or raise what it raised."""
    try:
        code, out = _run(data, cancel)
    except OSError as error:
        raise LostWorker(
            "LOST_WORKER",
            f"the computing process could not be started ({error.strerror})",
            "free memory or disk space, then try again",
        ) from error
    if code != 0:
        raise LostWorker(
            "LOST_WORKER",
            f"the computing process ended with code {code}",
            "memory may have run out: try fewer rows, or another method",
        )
    value, raised = pickle.loads(out)  # noqa: S301  from our own process
    if raised is not None:
        raise raised
    return value


def _run(data: bytes, cancel: Event) -> tuple[int, bytes]:
    """Run one process to its end, or until it is to stop; return its code and what it wrote."""
    # Not multiprocessing: under Streamlit its children would run the page as their main module.
    # A file and not a pipe: `communicate` leaves off sending at its first timeout (Python 3.11).
    with TemporaryFile() as sent:
        sent.write(data)
        sent.seek(0)
        with subprocess.Popen(
            [sys.executable, "-m", "core.worker", str(os.getpid())],
            stdin=sent,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        ) as process:
            while True:
                if cancel.is_set():
                    process.kill()
                with suppress(subprocess.TimeoutExpired):
                    out, _ = process.communicate(timeout=LOOK_S)
                    return process.returncode, out
