"""Rounds of kill -9 (J1): apps, supervisors and trainers die at random; the table must stay true.

``python -m tests.core.jobs.rounds N SEED`` is the long form; the suite runs a few.
"""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

from core import process_identity
from core.jobs import processes
from core.jobs.local import LocalJobs
from core.jobs.records import Job, JobState
from tests.core.jobs.conftest import ended, truth, until

ROOT = Path(__file__).parents[3]
SLOTS = "cpu,cuda:0"
APP = """
import sys, time
from pathlib import Path
from core.jobs import processes
from core.jobs.local import LocalJobs
from tests.core.jobs.conftest import config
processes.SUPERVISOR = "tests.core.jobs.supervise"
jobs = LocalJobs(Path(sys.argv[1]))
for n, device in ((3, "cpu"), (6, "cuda"), (2, "cpu")):
    jobs.submit([config(f"step:{n}", device=device)])
    print("acknowledged", flush=True)
while True:
    jobs.tick()
    time.sleep(0.05)
"""


def one_round(jobs: LocalJobs, draw: random.Random) -> Counter[str]:
    """Start two apps, kill some of what runs, and return how the jobs of this round ended."""
    before = {job.id for job in jobs.list()}
    apps = [
        subprocess.Popen([sys.executable, "-c", APP, jobs.home], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    until(lambda: len(jobs.list()) > len(before))
    for _ in range(draw.randint(1, 4)):
        time.sleep(draw.uniform(0.0, 1.2))
        victim = draw.choice(_victims(jobs) + [app.pid for app in apps])
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    n_acknowledged = 0
    for app in apps:
        app.kill()
        n_acknowledged += app.communicate()[0].count(b"acknowledged")
    mine = [job for job in jobs.list() if job.id not in before]
    assert len(mine) >= n_acknowledged, "a job that was acknowledged is gone"
    found = [ended(jobs, job.id) for job in mine]
    for job in found:
        check_truth(jobs, job)
    check_table(jobs)
    return Counter(job.state.value for job in found)


def _victims(jobs: LocalJobs) -> list[int]:
    live = [job for job in jobs.list() if job.state in {JobState.STARTING, JobState.RUNNING}]
    supervisors = [job.supervisor.pid for job in live if process_identity.alive(job.supervisor)]
    return supervisors + [pid for job in live for pid in processes.marked(job.id)]


def check_table(jobs: LocalJobs) -> None:
    """Compare the table with itself."""
    with closing(sqlite3.connect(jobs.home / "jobs.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def check_truth(jobs: LocalJobs, job: Job, *, again: bool = False) -> None:
    """Compare an end with what the process itself wrote down; some launchers start it again."""
    words = [line[1] for line in truth(jobs) if line[0] == job.id]
    assert words.count("began") <= 1 or again, f"{job.id} was started twice"
    assert "succeeded" not in words[:-1], f"{job.id} was started after its end"
    result = jobs.folder(job.id).result()
    assert (result is not None) == (job.state is JobState.SUCCEEDED), (job, result)
    assert "succeeded" not in words or job.state is JobState.SUCCEEDED, job
    if job.state is JobState.FAILED:  # nothing fails here but what was killed
        assert job.exit_code == -9, job
    assert processes.marked(job.id) == [], f"a process of {job.id} is left"


def main() -> int:
    """Run many rounds and say how the jobs ended."""
    n_rounds, seed = int(sys.argv[1]), int(sys.argv[2])
    os.environ["CANDOR_DEVICES"] = SLOTS
    processes.SUPERVISOR = "tests.core.jobs.supervise"
    draw, total = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as home:
        jobs = LocalJobs(Path(home) / "home")
        for n in range(n_rounds):
            total += one_round(jobs, draw)
            if (n + 1) % 25 == 0:
                print(f"{n + 1} rounds: {dict(total)}", flush=True)
    print(f"{n_rounds} rounds, seed {seed}, no violation: {dict(total)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
