"""One long computation in a process of its own, which a page can watch and stop."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event
from typing import Any

from core.errors import LostWorker
from pages.ui import session

ROOT = Path(__file__).parents[2]
AT_ONCE = 2  # processes; more wait their turn
LOOK_S = 0.2  # how often a waiting thread looks whether to stop


@cache
def _pool() -> ThreadPoolExecutor:
    """Return threads that wait for processes; none of them touches Streamlit."""
    return ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="work")


@dataclass
class BackgroundWork:
    """A call at work in `core.worker`; it ends with the session that started it."""

    cancel: Event
    answer: "Future[tuple[int, bytes]]"
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, function: Callable[..., object], *arguments: object) -> "BackgroundWork":
        """Call a function of a module elsewhere; arguments and result are sent across."""
        cancel = Event()
        session.room().works.add(cancel)
        data = pickle.dumps((function, arguments))
        return cls(cancel, _pool().submit(_run, data, cancel))

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    @property
    def done(self) -> bool:
        """Whether there is an answer, or none to come."""
        return self.answer.done()

    def result(self) -> Any:  # noqa: ANN401  whatever the function returns
        """Return what the function returned, or raise what it raised.

        Raises
        ------
        LostWorker
            The process ended without an answer: it was killed, or memory ran out; or it could not
            be started.
        """
        session.room().works.discard(self.cancel)
        try:
            code, data = self.answer.result()
        except OSError as full:
            raise LostWorker(
                "LOST_WORKER",
                f"the computing process could not be started ({full.strerror})",
                "free memory or disk space, then try again",
            ) from full
        if code != 0:
            raise LostWorker(
                "LOST_WORKER",
                f"the computing process ended with code {code}",
                "memory may have run out: try fewer rows, or another method",
            )
        value, error = pickle.loads(data)  # noqa: S301  from our own process
        if error is not None:
            raise error
        return value

    def stop(self) -> None:
        """End the process."""
        session.room().works.discard(self.cancel)
        self.cancel.set()


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
