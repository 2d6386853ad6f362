"""One long computation in a process of its own, which a page can watch and stop."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import LostWorker
from pages.ui import session

ROOT = Path(__file__).parents[2]


@dataclass
class Work:
    """A call at work in `core.worker`."""

    process: "subprocess.Popen[bytes]"
    answer: "Future[tuple[bytes, bytes]]"
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, function: Callable[..., object], *arguments: object) -> "Work":
        """Call a function of a module elsewhere; arguments and result are sent across.

        It ends with the session that started it.
        """
        # Not multiprocessing: under Streamlit its children would run the page as their main module.
        process = subprocess.Popen(
            [sys.executable, "-m", "core.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )
        session.room().stops.append(process.kill)
        data = pickle.dumps((function, arguments))
        return cls(process, session.pool().submit(process.communicate, data))

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
            The process ended without an answer: it was killed, or memory ran out.
        """
        data, _ = self.answer.result()
        if self.process.returncode != 0:
            raise LostWorker(
                "LOST_WORKER",
                f"the computing process ended with code {self.process.returncode}",
                "memory may have run out: try fewer rows, or another method",
            )
        found, error = pickle.loads(data)  # noqa: S301  from our own process
        if error is not None:
            raise error
        return found

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
