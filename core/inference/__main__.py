"""``python -m core.inference FOLDER``: the process that evaluates one job.

Exit codes as of ``python -m core``.
"""

import argparse
import logging
import os
import sys
import time
from threading import Thread
from typing import Final

from core.errors import Refused
from core.training.folder import JobFolder, Progress, job_main, write_progress

STALL_S: Final = 900.0  # a model that takes so long for one batch counts as hanging
LOOKS: Final = 10  # how often it is looked at in that time


def main() -> int:
    """Evaluate, keep the run, and write how it went."""
    stall = {"type": float, "default": STALL_S, "metavar": "SECONDS"}
    return job_main("python -m core.inference", _evaluate, {"--stall": stall})


def _evaluate(folder: JobFolder, arguments: argparse.Namespace) -> int:
    begins = Progress(0, 1, 0, 0, 0.0, 0, 0.0, None, "Loading the program")
    write_progress(folder.path, begins)
    logging.info(begins.stage)
    from core.inference.job import run

    watch = BatchWatch()
    Thread(target=end_when_stalled, args=(folder, watch, arguments.stall), daemon=True).start()
    run(folder, watch)
    return 0


class BatchWatch:
    """Knows since when a batch is under way; entered and left for each."""

    def __init__(self) -> None:
        self._since: float | None = None

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._since = None

    def seconds(self) -> float:
        """Return how long the batch under way has taken so far; 0 where there is none."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since


def end_when_stalled(folder: JobFolder, watch: BatchWatch, stall_s: float) -> None:
    """End this process, with a reason, once one batch takes too long.

    A model's native code cannot be interrupted, so nothing gentler would do.
    """
    while True:
        time.sleep(stall_s / LOOKS)
        if watch.seconds() > stall_s:
            what = f"One batch took longer than {stall_s:g} s"
            folder.fail(Refused("HANG", what, "use a smaller batch size, or another device"))
            os._exit(2)


if __name__ == "__main__":
    sys.exit(main())
