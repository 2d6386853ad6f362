"""One long computation elsewhere: what is sent arrives, what ends it is said."""

import errno
import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace

import pytest

from core.errors import LostWorker
from pages.ui import session, work

LARGE = b"x" * 400_000  # more than a pipe takes before its other end reads
PATIENCE_S = 300
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def ran(function: Callable[..., object], *arguments: object) -> tuple[int, bytes]:
    """Run a call to its end; a test that waits in vain fails instead of hanging."""
    cancel = Event()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(work._run, pickle.dumps((function, arguments)), cancel)
        try:
            return answer.result(PATIENCE_S)
        finally:
            cancel.set()


def test_much_data_arrives_though_the_process_starts_slowly(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(work, "LOOK_S", 0.001)  # looks many times before the process reads
    code, out = ran(len, LARGE)
    assert (code, pickle.loads(out)) == (0, (len(LARGE), None))


def test_a_call_is_ended_when_told():
    cancel = Event()
    cancel.set()
    code, out = work._run(pickle.dumps((len, (LARGE,))), cancel)
    assert code != 0
    assert out == b""


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ((-9, b""), "ended with code -9"),
        (FULL, "No space left"),
    ],
)
def test_no_answer_is_a_lost_worker(ended, said, monkeypatch: pytest.MonkeyPatch):
    room = SimpleNamespace(works=set())
    monkeypatch.setattr(session, "room", lambda: room)
    answer: Future[tuple[int, bytes]] = Future()
    if isinstance(ended, OSError):
        answer.set_exception(ended)
    else:
        answer.set_result(ended)
    with pytest.raises(LostWorker, match=said):
        work.BackgroundWork(Event(), answer).result()


def test_an_end_without_an_answer_keeps_its_code():
    code, out = ran(sys.exit, 3)
    assert code == 3
    assert out == b""
