"""Jobs whose process is `trainer.py`: real supervisors, a real table, no torch."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core import process_identity
from core.jobs import processes
from core.jobs.local import LocalJobs
from core.jobs.records import Job
from core.jobs.slurm import controller
from core.training.config import TrainConfig, from_json
from tests.core.jobs import cluster

PATIENCE_S = 600  # no test may depend on speed


def config(words: str, **changed: object) -> TrainConfig:
    """A config whose name says what its process does."""
    base = {"data": "digits", "model": "small_cnn", "loss": {"name": "ce"}, "device": "cpu"}
    return from_json(base | {"name": words} | changed)


def until(found: Callable[[], object]) -> object:
    """Return what was found, once it is."""
    end, pause = time.monotonic() + PATIENCE_S, 0.02
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(pause)
        pause = min(1.2 * pause, 0.1)  # who looks too often takes the time of what is waited for
    raise AssertionError("it never came")


def ended(jobs: LocalJobs, job_id: str) -> Job:
    """Wait for the end of a job, as somebody who looks again and again does."""

    def look() -> Job | None:
        jobs.tick()
        job = jobs.get(job_id)
        return job if job.state.ended else None

    return until(look)


def truth(jobs: LocalJobs) -> list[list[str]]:
    """What the processes themselves wrote down."""
    path = jobs.home / "jobs" / ".truth.txt"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def let(jobs: LocalJobs, word: str) -> None:
    """Let go those that wait for a word."""
    (jobs.home / "jobs" / f".{word}").touch()


def told(jobs: LocalJobs, job: Job, word: str) -> bool:
    return any(line[:2] == [job.id, word] for line in truth(jobs))


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch) -> LocalJobs:
    monkeypatch.setattr(processes, "SUPERVISOR", "tests.core.jobs.supervise")
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    found = LocalJobs(tmp_path / "home")
    yield found
    if found.list():  # nothing of a test outlives it
        found.pause()
    for job in found.list():
        found.cancel(job.id)
    for job in found.list():
        processes.end(lambda job=job: processes.marked(job.id), 0.0)
        who = job.supervisor
        if who is not None and who.pid != os.getpid() and process_identity.alive(who):
            os.kill(who.pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def slurm():
    """A cluster for all tests; they are skipped, with what is missing, where there is none."""
    if cluster.missing():
        pytest.skip(cluster.missing())
    with cluster.running() as here:
        yield here


@pytest.fixture
def on_nodes(slurm, monkeypatch) -> None:
    """Jobs of the cluster run the trainer of the tests, and the controller is asked often."""
    monkeypatch.setattr(controller, "SUPERVISOR", "tests.core.jobs.supervise_on_node")
    monkeypatch.setattr(controller, "FRESH_S", 0.2)
