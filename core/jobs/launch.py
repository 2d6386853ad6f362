"""Starting supervisors, each a process of its own session; standard library only."""

import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Final

from core.jobs.devices import slots
from core.jobs.store import Store

ROOT: Final = Path(__file__).parents[2]
SUPERVISOR: Final = "core.jobs.supervisor"


def start_what_can(home: Path) -> int:
    """Start a supervisor for each job that can start, and return how many.

    A supervisor that finds its job taken by another ends at once, so starting too many is
    harmless.
    """
    store = Store(home)
    if not any(job.state == "queued" for job in store.all()):
        return 0  # devices are looked at only when something waits
    n_jobs = store.startable(slots())
    for _ in range(n_jobs):
        _start(home)
    return n_jobs


def _start(home: Path) -> None:
    # A session of its own: neither the end of this process nor Ctrl-C in its terminal reaches it.
    process = subprocess.Popen(
        [sys.executable, "-m", SUPERVISOR, str(home)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    Thread(target=process.wait, daemon=True).start()  # so that it does not stay as a zombie
