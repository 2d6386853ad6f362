"""``python -m tests.core.jobs.full_disk FOLDER how``: a job that ends while its disk is full.

The folder lies on a disk of its own that is small. What was seen is printed as JSON.
"""

import json
import os
import signal
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

from core import process_identity
from core.jobs import processes
from core.jobs.local import LocalJobs
from tests.core.jobs.conftest import config, let, until


def main(home: Path, how: str) -> None:
    os.environ |= {"CANDOR_HOME": str(home), "CANDOR_DEVICES": "cpu"}
    processes.SUPERVISOR = "tests.core.jobs.supervise"
    jobs = LocalJobs(home)
    (job,) = jobs.submit([config("wait:go raise:disk")])
    until(lambda: jobs.get(job.id).state == "running")
    supervisor = jobs.get(job.id).supervisor
    fill(home / "fill")
    if how == "killed":
        os.kill(supervisor.pid, signal.SIGKILL)
    else:
        let(jobs, "go")

    def ended() -> bool:
        fill(home / "fill")  # what a failed write gave back
        jobs.tick()
        return jobs.get(job.id).state.ended

    until(ended)
    found = LocalJobs(home).get(job.id)
    seen = {"state": found.state, "code": found.failure.code, "listed": jobs.list() == [found]}
    (home / "fill").unlink()
    until(lambda: not process_identity.alive(supervisor))
    jobs.cancel(job.id)  # changes nothing but lets the table take in what it missed
    with closing(sqlite3.connect(home / "jobs.sqlite")) as table:
        rows = table.execute("SELECT state FROM jobs").fetchall()
    print(json.dumps(seen | {"later": rows == [(found.state,)] and jobs.get(job.id) == found}))


def fill(path: Path) -> None:
    """Leave not one byte on the disk."""
    with path.open("ab", buffering=0) as file:
        for size in (4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
