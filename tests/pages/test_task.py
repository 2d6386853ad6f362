"""Long work of a page: its states as they are drawn, one at a time, and what processes answer."""

import errno
import gc
import os
import sys
import time
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.arrays import pickle_with_mappings
from core.errors import LostWorker, Refused
from pages.ui import inference, session, task
from pages.ui.task import Work, in_process, in_thread, in_turn
from tests.pages.seen import said

LARGE = b"x" * 400_000  # more than a pipe takes before its other end reads
PATIENCE_S = 300
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
STARTED: list[Work[str]] = []
SCRIPT = """
import streamlit as st
from pages.ui.task import BackgroundTask
from tests.pages.test_task import start
key, patient = st.session_state.get("key", "a"), st.session_state.get("patient", False)
result = BackgroundTask("slow", key, "Counting stars.", start, patient=patient).wait()
if result is not None:
    st.markdown(result)
"""


def start() -> Work[str]:
    """Begin a work that ends as a test wants."""
    STARTED.append(Work())
    return STARTED[-1]


@pytest.fixture
def page() -> AppTest:
    STARTED.clear()
    return AppTest.from_string(SCRIPT).run()


def keys(test: AppTest) -> list[str]:
    return [button.key for button in test.button]


def test_a_page_looks_at_a_task_as_often_as_it_says(monkeypatch):
    fragment, looks = st.fragment, []

    def noted(draw, run_every=None):
        looks.append(run_every)
        return fragment(draw, run_every=run_every)

    monkeypatch.setattr(st, "fragment", noted)
    AppTest.from_string(SCRIPT).run()
    AppTest.from_string(SCRIPT.replace("patient=patient", "every_s=7.0")).run()
    assert looks == [task.WATCH_S, 7.0]


@pytest.mark.parametrize("warm", [True, False])
def test_a_program_that_has_yet_to_start_is_looked_at_less_often(monkeypatch, warm):
    monkeypatch.setattr(inference, "shared", lambda: SimpleNamespace(warm=warm))
    asked = inference.query("film", "heat", {}, "It looks.")
    assert (asked.every_s == task.WATCH_S) is warm
    assert (asked.note == "") is warm


def test_what_runs_is_drawn_with_stop_until_there_is_a_result(page: AppTest):
    assert "Counting stars." in said(page)
    assert "waiting for its turn" in said(page)
    STARTED[0].future.set_running_or_notify_cancel()
    assert keys(page.run()) == ["slow.stop"]
    assert "0 s" in said(page)
    assert not page.get("progress")
    STARTED[0].future.set_result("twelve")
    assert "twelve" in said(page.run())
    assert "Counting" not in said(page)
    assert not keys(page)
    assert len(STARTED) == 1


def test_how_far_it_is_is_drawn_where_it_says_so(page: AppTest):
    STARTED[0].share = 0.25
    (bar,) = page.run().get("progress")
    assert bar.proto.value == 25


def test_what_is_stopped_says_so_and_goes_on_when_told(page: AppTest):
    page.button(key="slow.stop").click().run()
    assert STARTED[0].cancel.is_set()
    assert STARTED[0].future.cancelled()
    assert "Stopped: Counting stars." in said(page)
    assert keys(page.run()) == ["slow.resume"]
    assert len(STARTED) == 1
    page.button(key="slow.resume").click().run()
    assert keys(page) == ["slow.stop"]
    assert len(STARTED) == 2


def test_what_a_process_says_as_it_is_stopped_is_no_failure(page: AppTest):
    STARTED[0].future.set_running_or_notify_cancel()
    page.button(key="slow.stop").click().run()
    assert "Stopped: Counting stars." in said(page)
    STARTED[0].future.set_exception(LostWorker("LOST_WORKER", "it was killed", "-"))
    assert "Stopped: Counting stars." in said(page.run())
    assert not page.error


def test_a_result_that_comes_before_the_end_of_what_is_stopped_counts(page: AppTest):
    STARTED[0].future.set_running_or_notify_cancel()
    page.button(key="slow.stop").click().run()
    STARTED[0].future.set_result("twelve")
    assert "twelve" in said(page.run())


def test_a_failure_is_drawn_and_can_be_tried_again(page: AppTest):
    STARTED[0].future.set_exception(Refused("LIMIT_TIME", "it took too long", "take fewer"))
    for _ in range(2):
        (error,) = page.run().error
        assert "it took too long" in error.value
        assert keys(page) == ["slow.again"]
    page.button(key="slow.again").click().run()
    assert not page.error
    assert keys(page) == ["slow.stop"]


def test_a_bug_is_raised_once_and_the_work_begun_anew(page: AppTest):
    STARTED[0].future.set_exception(KeyError("a bug"))
    with pytest.raises(AssertionError, match=r"a bug|message is redacted"):  # as Streamlit is set
        page.run()
    page.run()
    assert keys(page) == ["slow.stop"]
    assert len(STARTED) == 2


def test_another_task_of_the_slot_stops_the_one_that_runs_and_keeps_results(page: AppTest):
    page.session_state["key"] = "b"
    assert keys(page.run()) == ["slow.stop"]
    assert STARTED[0].cancel.is_set()
    STARTED[1].future.set_result("twelve")
    for key, begun in (("b", 2), ("c", 3), ("b", 3), ("a", 4)):
        page.session_state["key"] = key
        page.run()
        assert len(STARTED) == begun
    assert STARTED[2].cancel.is_set()
    assert not STARTED[1].cancel.is_set()


def test_a_patient_task_takes_back_what_waits_and_leaves_what_is_at_work(page: AppTest):
    STARTED[0].future.set_running_or_notify_cancel()
    page.session_state["patient"] = True
    for key in "bc":
        page.session_state["key"] = key
        page.run()
    at_work, waiting, last = STARTED
    assert at_work.running
    assert waiting.future.cancelled()
    assert last.running


def test_a_session_keeps_no_more_than_its_newest_works(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(task, "KEPT", 2)
    STARTED[0].future.set_result("twelve")
    for key in "bc":
        page.session_state["key"] = key
        page.run()
        STARTED[-1].future.set_result("twelve")
    assert [key for _, key in page.session_state[task.WORKS]] == ["b", "c"]


@pytest.mark.parametrize("others", [["ended", "ended"], ["ended", "stopped"]])
def test_a_session_lets_go_of_what_ended_before_what_runs(
    page: AppTest, monkeypatch: pytest.MonkeyPatch, others: list[str]
):
    monkeypatch.setattr(task, "KEPT", 2)
    places = [("first", "a"), ("second", "b"), ("third", "c")]
    works = {place: Work[str]() for place in places}
    for place, state in zip(places[1:], others, strict=True):
        if state == "ended":
            works[place].future.set_result("twelve")
        if state == "stopped":
            works[place].stop()
    page.session_state[task.WORKS] = works
    page.run()
    kept = page.session_state[task.WORKS]
    running = [place for place, work in works.items() if place in kept and work.running]
    assert ("first", "a") in running
    assert len(kept) == 2


def test_the_oldest_work_is_stopped_where_all_of_them_run(
    page: AppTest, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(task, "KEPT", 2)
    works = {("first", "a"): Work[str](), ("second", "b"): Work[str]()}
    page.session_state[task.WORKS] = dict(works)
    page.run()
    assert works["first", "a"].stopped
    assert works["second", "b"].running


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[Event]:
    """Return what ends with the session."""
    room = session.SessionResources(session.BrowserRoom("secret", "local", tmp_path), set())
    monkeypatch.setattr(session, "room", lambda: room)
    return room.works


def test_work_belongs_to_its_session_until_it_is_done(works: set[Event]):
    work = in_thread(lambda work: work.cancel.wait(PATIENCE_S))
    assert works == {work.cancel}
    works.pop().set()
    assert work.future.result(PATIENCE_S)
    works.add(work.cancel)
    done = in_thread(lambda _: True)
    assert done.future.result(PATIENCE_S)
    assert done.cancel not in works


@pytest.mark.parametrize(
    "begin", [partial(in_thread, lambda _: Event()), partial(in_process, dict)]
)
def test_a_work_that_is_let_go_of_is_gone(works: set[Event], begin: Callable[[], Work[object]]):
    """Without the collector: where a session ends and nobody comes, none may run for long."""
    gc.disable()
    try:
        work = begin()
        wait([work.future], PATIENCE_S)
        seen = weakref.ref(work)
        del work
        end = time.monotonic() + PATIENCE_S
        while seen() is not None:  # its thread lets go of it a moment later
            assert time.monotonic() < end
            time.sleep(0.01)
    finally:
        gc.enable()


def test_a_result_and_what_is_raised_come_out_of_a_process(works: set[Event]):
    assert in_process(len, LARGE).future.result(PATIENCE_S) == len(LARGE)
    with pytest.raises(ZeroDivisionError):
        in_process(divmod, 1, 0).future.result(PATIENCE_S)


def nobody(share: float, words: str) -> None:
    """Listen to nothing."""


@pytest.mark.parametrize("processes", [False, True])
def test_calls_in_turn_are_kept_one_by_one_though_a_later_one_fails(
    works: set[Event], processes: bool
):
    kept: dict[int, object] = {}
    calls = [(len, (b"two",)), (sum, ([1, 2],)), (divmod, (1, 0))]
    work = in_turn(calls, kept.__setitem__, processes=processes)
    with pytest.raises(ZeroDivisionError):
        work.future.result(PATIENCE_S)
    assert kept == {0: 3, 1: 3}
    assert work.share == 2 / 3
    done = in_turn(calls[:1], kept.__setitem__, processes=processes)
    assert done.future.result(PATIENCE_S) == 1


def test_how_far_a_process_is_counts_within_its_call(
    works: set[Event], monkeypatch: pytest.MonkeyPatch
):
    def answer(_request: object, _ending: object, tell: Callable[[float, str], None]) -> str:
        tell(0.5, "Halfway")
        return ""

    monkeypatch.setattr(task, "_answer", answer)
    work = in_turn([(len, (b"one",)), (len, (b"two",))], lambda *_: None, processes=True)
    assert work.future.result(PATIENCE_S) == 2
    assert (work.share, work.words) == (0.75, "Halfway")


def test_a_shared_call_that_is_stopped_before_its_turn_is_let_go_of(works: set[Event]):
    kept: list[int] = []
    call = task._SharedCall(len, (b"one",), task.Shared("one", kept.append))
    task._CALLS["one"] = call
    call.join().stop()
    call.run()
    assert not task._CALLS
    assert call.arguments == ()
    assert not kept


def test_a_call_after_a_stop_is_not_made(works: set[Event]):
    kept: dict[int, object] = {}

    def keep(i: int, result: object) -> None:
        kept[i] = result
        next(iter(works)).set()

    work = in_turn([(len, (b"one",)), (len, (b"two",))], keep, processes=False)
    with pytest.raises(CancelledError):
        work.future.result(PATIENCE_S)
    assert kept == {0: 3}
    assert work.stopped
    assert not work.succeeded


def ran(function: Callable[..., object], *arguments: object) -> tuple[int, Any]:
    """Run a call to its end; a test that waits in vain fails instead of hanging."""
    cancel = Event()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(task._run, pickle_with_mappings(function, arguments), cancel, nobody)
        try:
            return answer.result(PATIENCE_S)
        finally:
            cancel.set()


def test_much_data_arrives_though_the_process_starts_slowly(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(task, "LOOK_S", 0.001)  # looks many times before the process reads
    assert ran(len, LARGE) == (0, (len(LARGE), None))


def test_a_call_is_ended_when_told():
    cancel = Event()
    cancel.set()
    code, answer = task._run(pickle_with_mappings(len, (LARGE,)), cancel, nobody)
    assert code != 0
    assert answer is None


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        ((-9, None), "ended with code -9"),
        (FULL, "No space left"),
    ],
)
def test_no_answer_is_a_lost_worker(ended: Any, reason: str, monkeypatch: pytest.MonkeyPatch):
    process: Future[tuple[int, None]] = Future()
    if isinstance(ended, OSError):
        process.set_exception(ended)
    else:
        process.set_result(ended)
    monkeypatch.setattr(task, "_run", lambda *_: process.result())
    with pytest.raises(LostWorker, match=reason):
        task._answer((b"", ()), Event(), nobody)


def test_an_end_without_an_answer_keeps_its_code():
    assert ran(sys.exit, 3) == (3, None)
