"""Starting supervisors, each a process of its own session; standard library only."""

import logging
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Thread
from typing import IO, Final

from core.errors import lacking
from core.jobs.devices import UNSEEN, slots
from core.jobs.records import JobState
from core.jobs.store import JobStore, assigned

ROOT: Final = Path(__file__).parents[2]
SUPERVISOR: Final = "core.jobs.supervisor"
MAX_WORDS: Final = 64 * 1024
LOG: Final = logging.getLogger("candor")


def start_what_can(home: Path) -> None:
    """Start a supervisor for each job that can start.

    One that finds its job taken by another meanwhile ends at once.
    """
    store = JobStore(home)
    jobs = store.all()
    if any(job.state is JobState.QUEUED for job in jobs) and not store.paused:
        available = slots()
        for _ in assigned(jobs, available):
            _start(home)
        if UNSEEN in available:
            warn("NVIDIA's driver does not answer")


def _start(home: Path) -> None:
    # A session of its own: neither the end of this process nor Ctrl-C in its terminal reaches it.
    try:
        with _words(home) as words:
            process = subprocess.Popen(
                [sys.executable, "-m", SUPERVISOR, str(home)],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                start_new_session=True,
            )
    except OSError as error:  # no memory or no process left: whoever looks next tries again
        warn(str(lacking(error) or error))
        return
    warn.cache_clear()
    with suppress(RuntimeError):  # no thread left: it stays as a zombie until this process ends
        Thread(target=process.wait, daemon=True).start()


@cache
def warn(why: str) -> None:
    """Say once why jobs wait, though they are looked at every second."""
    LOG.warning("Jobs wait, as none can be started. %s", why)


def _words(home: Path) -> IO[bytes]:
    """Return where supervisors write what they should never have to say."""
    path = home / "jobs" / "supervisors.log"
    with suppress(OSError):
        if path.stat().st_size > MAX_WORDS:
            path.unlink()
    return path.open("ab")
