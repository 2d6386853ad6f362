"""Long work of a page: run elsewhere, watched, stopped, and tried again, in one way everywhere."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event, Lock
from typing import Any, Final, Generic, TypeVar

import streamlit as st

from core.arrays import pickle_with_mappings
from core.errors import AuditError, LostWorker
from core.worker import LINE
from pages.ui import frame, session, visitor, widgets
from pages.ui.caching import once

ROOT: Final = Path(__file__).parents[2]
WORKS: Final = "app.works"  # by slot and key
KEPT: Final = 32  # of a session; the oldest that ended goes first
PROCESSES: Final = 2  # at once; more wait their turn
THREADS: Final = 8
WATCH_S: Final = 0.5  # how often the page looks at what runs, unless a task knows better
SLOWER: Final = ((300.0, 10.0), (60.0, 3.0), (10.0, 1.0))  # after so long, at most that often
LOOK_S: Final = 0.2  # how often a waiting thread looks whether to stop
GRACE_S: Final = 5.0  # for a process that is told to end to tidy up
Result = TypeVar("Result")
Call = tuple[Callable[..., Result], tuple[object, ...]]  # a function of a module, its arguments


@dataclass(eq=False)
class Work(Generic[Result]):
    """What runs elsewhere, or did; it ends with the session that started it."""

    cancel: Event = field(default_factory=Event)  # ends it when set
    share: float | None = None  # what part of it is done, where that is known; it may say so itself
    words: str = ""  # what it is doing, where it says so
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
class BackgroundTask(Generic[Result]):
    """Long work that a page needs, and the one way to show how it stands."""

    # One task runs in a slot: to begin another stops it. Its buttons are named after it.
    slot: str
    key: Hashable  # equal for tasks of a slot that have the same result
    text: str  # what is done, in Markdown
    start: Callable[[], Work[Result]]  # `in_process` or `in_thread` with what to call
    # Another of the slot that is at work may go on; one that waits for its turn is taken back.
    patient: bool = False
    note: str = ""  # what else is said while it runs
    every_s: float = WATCH_S  # how often the page looks at it while it runs

    @property
    def work(self) -> Work[Result] | None:
        """What was begun in this session, or None."""
        return _works().get((self.slot, self.key))

    @property
    def running(self) -> bool:
        """Whether it was begun and may still get a result."""
        return self.work is not None and self.work.running

    @property
    def watched(self) -> bool:
        """Whether it ran on the page as last drawn: Streamlit then still knows its button."""
        return f"{self.slot}.stop" in st.session_state

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
                # Stop a work and forget it; a patient one that is under way goes on
                patient = self.patient and key != self.key
                if not patient or _works()[slot, key].future.cancel():
                    _works().pop((slot, key)).stop()
        works[self.slot, self.key] = self.start()
        while len(works) > KEPT:
            ended = (place for place, work in works.items() if not work.running)
            works.pop(next(ended, next(iter(works)))).stop()

    def stop(self) -> None:
        """End it; the page says so, and offers to resume."""
        if self.work is not None:
            self.work.stop()

    def forget(self) -> None:
        """Let go of its result, which is kept elsewhere."""
        _works().pop((self.slot, self.key), None)

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
            st.fragment(_watch, run_every=_pace(self, work))(self, _pace(self, work))
        elif work.succeeded:
            return work.future.result()
        elif work.stopped:
            with _row(f"{self.slot}.stopped"):
                st.markdown(f"Stopped: {self.text}")
                st.button("Resume", key=f"{self.slot}.resume", on_click=self.begin)
        elif self.error is not None:
            frame.refusal(self.error)
            st.button("Try again", key=f"{self.slot}.again", on_click=self.begin)
        else:  # a bug, which is logged once: the next time it begins anew
            del _works()[self.slot, self.key]
            work.future.result()
        return None


def _pace(task: BackgroundTask[Any], work: Work[Any]) -> float:
    """Return how often to look at a work: what has taken long will not end in a moment."""
    seconds = time.monotonic() - work.began
    return max(task.every_s, next((pace for after, pace in SLOWER if seconds > after), 0.0))


def _watch(task: BackgroundTask[Any], pace: float) -> None:
    """Say what runs, for how long and how far it is; draw the page anew once it does not.

    A page keeps the pace that it was drawn with: it is also drawn anew to look less often.
    """
    work = task.work
    if work is None or not work.running or _pace(task, work) > pace:
        st.rerun()
    assert work is not None
    with _row(f"{task.slot}.running"):
        seconds = f"{time.monotonic() - work.began:.0f} s"
        state = seconds if work.future.running() else "waiting for its turn"
        st.markdown(f":material/hourglass_empty: {task.text} :small[{state}]")
        st.button("Stop", key=f"{task.slot}.stop", on_click=task.stop)
    if work.share is not None:
        st.progress(work.share, text=work.words or None)
    if task.note:
        widgets.caption(task.note)


def _row(key: str) -> "st.delta_generator.DeltaGenerator":
    return st.container(horizontal=True, vertical_alignment="center", key=key)


def _works() -> dict[tuple[str, Hashable], Work[Any]]:
    works: dict[tuple[str, Hashable], Work[Any]] = st.session_state.setdefault(WORKS, {})
    return works


def stop_works(of: Callable[[Hashable], bool]) -> None:
    """Stop and forget the works of this session whose keys are of something that goes."""
    works = _works()
    for place in [place for place in works if of(place[1])]:
        works.pop(place).stop()


@once
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="work")


@once
def _process_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=PROCESSES, thread_name_prefix="process")


def in_thread(
    call: Callable[[Work[Result]], Result], pool: ThreadPoolExecutor | None = None
) -> Work[Result]:
    """Call a function that does not touch Streamlit; it ends once its work's `cancel` is set."""
    work: Work[Result] = Work()
    done = session.room().stop_at_end(work.cancel)
    work.future = (pool or _threads()).submit(visitor.carried(call), work)
    work.future.add_done_callback(done)
    return work


@dataclass(frozen=True)
class Shared(Generic[Result]):
    """What sessions wait for together: equal keys are computed once at a time."""

    key: Hashable  # of the whole process
    keep: Callable[[Result], None]  # given the result before anybody hears of it


def in_process(
    function: Callable[..., Result], *arguments: object, shared: Shared[Result] | None = None
) -> Work[Result]:
    """Call a function of a module in `core.worker`; arguments and result are sent across.

    Large arrays that are mapped stay in their files. What is shared and under way is joined; it
    ends when the last session has stopped it.
    """
    with _CALLS_LOCK:
        call = _CALLS.get(shared.key) if shared else None
        if call is None or call.is_set():
            call = _SharedCall(function, arguments, shared)
            if shared:
                _CALLS[shared.key] = call
            _process_threads().submit(call.run)
        return call.join()


@dataclass(eq=False)
class _SharedCall(Generic[Result]):
    """A call in a process, and the works of the sessions that wait for it."""

    function: Callable[..., Result]
    arguments: tuple[object, ...]  # kept until the end: files of theirs must be open at the start
    shared: Shared[Result] | None
    works: list[Work[Result]] = field(default_factory=list)
    begun: bool = False
    began: float = field(default_factory=time.monotonic)

    def is_set(self) -> bool:
        """Whether nobody waits any more."""
        return all(work.stopped for work in self.works)

    def join(self) -> Work[Result]:
        """Return a work of this session that waits for it too."""
        work: Work[Result] = Work(began=self.began)
        work.future.add_done_callback(session.room().stop_at_end(work.cancel))
        if self.begun:
            work.future.set_running_or_notify_cancel()
        self.works.append(work)
        return work

    def run(self) -> None:
        """Compute it, and tell every work."""
        with _CALLS_LOCK:
            self.begun = True
            if self.is_set():  # while it waited for its turn
                self._leave()
                return
            for work in self.works:
                work.future.set_running_or_notify_cancel()
        outcome: Future[Result] = Future()
        try:
            result = _answer(pickle_with_mappings(self.function, self.arguments), self, self._tell)
            if self.shared:
                self.shared.keep(result)
            outcome.set_result(result)
        except Exception as error:  # noqa: BLE001  raised again where the result is wanted
            outcome.set_exception(error)
        with _CALLS_LOCK:
            self._leave()
        failure = outcome.exception()
        for work in self.works:
            if work.future.cancelled():
                continue
            if failure is None:
                work.future.set_result(outcome.result())
            else:
                work.future.set_exception(failure)

    def _leave(self) -> None:
        """Let nobody join any more, and let go of what was handed over."""
        if self.shared and _CALLS.get(self.shared.key) is self:
            del _CALLS[self.shared.key]
        self.arguments = ()

    def _tell(self, share: float, words: str) -> None:
        for work in self.works:
            work.share, work.words = share, words


Ending = Event | _SharedCall[Any]  # what tells a process to end: an Event, or several
_CALLS: Final[dict[Hashable, _SharedCall[Any]]] = {}
_CALLS_LOCK: Final = Lock()


def in_turn(
    calls: Sequence[Call[Result]], keep: Callable[[int, Result], None], *, processes: bool
) -> Work[int]:
    """Call functions of modules one after another; the result is how many were called.

    How many are done is the work's share; what a process says of its own call is a part of it.
    `keep` takes each position and result as soon as it comes, so that a stop loses none. Each call
    has a process of its own, as by `in_process`, or all a thread, where none touches Streamlit.
    """

    def run(work: Work[int]) -> int:
        for i, (function, arguments) in enumerate(calls):
            if work.stopped:
                raise CancelledError
            work.share = i / len(calls)
            if processes:

                def tell(share: float, words: str, before: int = i) -> None:
                    work.share, work.words = (before + share) / len(calls), words

                keep(i, _answer(pickle_with_mappings(function, arguments), work.cancel, tell))
            else:
                keep(i, function(*arguments))
        return len(calls)

    return in_thread(run, _process_threads() if processes else None)


def in_background(function: Callable[..., Result], *arguments: object) -> Result:
    """Return what a function of a module returns in a process of its own, that of no session."""
    result: Result = _answer(pickle_with_mappings(function, arguments), Event(), lambda *_: None)
    return result


def _answer(
    request: tuple[bytes, tuple[int, ...]],
    ending: "Ending",
    tell: Callable[[float, str], None],
) -> Any:  # noqa: ANN401  whatever the function returns
    """Return what a function returned in a process of its own, or raise what it raised."""
    try:
        code, answer = _run(request, ending, tell)
    except OSError as error:
        raise LostWorker(
            "LOST_WORKER",
            f"The computing process could not be started ({error.strerror})",
            "free memory or disk space, then try again",
        ) from error
    if answer is None:
        raise LostWorker(
            "LOST_WORKER",
            f"The computing process ended with code {code}",
            "memory may have run out: free some and try again, or use fewer rows",
        )
    value, raised = answer
    if raised is not None:
        raise raised
    return value


def _run(
    request: tuple[bytes, tuple[int, ...]],
    ending: "Ending",
    tell: Callable[[float, str], None],
) -> tuple[int, tuple[Any, Exception | None] | None]:
    """Run one process to its end, or until it is to stop; return its code and its answer."""
    # Not multiprocessing: under Streamlit its children would run the page as their main module.
    # Files and not pipes: results may be large, and a pipe would be held in memory as a whole.
    data, handles = request
    with ExitStack() as stack:
        question, answer = (stack.enter_context(TemporaryFile()) for _ in range(2))
        line = stack.enter_context(TemporaryFile(buffering=0))  # another process writes over it
        question.write(data)
        question.seek(0)
        command = [sys.executable, "-m", "core.worker", str(os.getpid())]
        given: dict[str, Any] = {}  # Any: options that only POSIX has
        if os.name == "posix":
            command.append(str(line.fileno()))
            given["pass_fds"] = (line.fileno(), *handles)
        process = stack.enter_context(
            subprocess.Popen(
                command,
                stdin=question,
                stdout=answer,
                cwd=ROOT,
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
                **given,
            )
        )
        ends = float("inf")
        while process.poll() is None:
            if ending.is_set() and ends == float("inf"):
                process.terminate()
                ends = time.monotonic() + GRACE_S
            if time.monotonic() > ends:
                process.kill()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=LOOK_S)
            # Tell how far a process says that it is
            line.seek(0)
            share, _, words = line.read(LINE).decode(errors="ignore").strip().partition(" ")
            if share:
                tell(float(share), words)
        if process.returncode != 0:
            return process.returncode, None
        with mmap(answer.fileno(), 0, access=ACCESS_READ) as written:
            return 0, pickle.loads(written)  # noqa: S301  from our own process
