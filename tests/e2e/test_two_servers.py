"""Two servers on one store, as behind one address: nothing starts twice, nothing is lost."""

import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import psutil
import pytest

from core.jobs.audit import AuditSpec
from core.jobs.local import LocalJobs
from core.jobs.records import JobState
from core.library import Library, RunSource
from core.predictions import Predictions, ScoreKind, Task
from tests.benchmarks.visitor import visiting
from tests.e2e.conftest import PATIENCE_S, awaited, start

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]
N_JOBS = 4
FIGURES = "bidi_component"


@pytest.fixture
def servers(tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    running = [start(tmp_path / "home", tmp_path / f"{i}.txt") for i in range(2)]
    yield running
    for server in running:
        server.stop()


def predictions(seed):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(200, 3)).astype(np.float32)
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels)


def programs(home, seen):
    """Note which processes run a job, by its id."""
    for process in psutil.process_iter(["cmdline", "create_time"]):
        words = process.info["cmdline"] or []
        if "core.commands.audit_job" in words and words[-1].startswith(str(home)):
            seen[Path(words[-1]).name].add((process.pid, process.info["create_time"]))


async def figures(server, run):
    """Return how many figures the page of a run has."""
    async with visiting(server.url) as visitor:
        await visitor.go(f"/reliability?run={run}")
        return visitor.sent[FIGURES]


def test_two_servers_start_no_job_twice_and_show_every_run(servers, tmp_path):
    home = tmp_path / "home"
    specs = []
    for i in range(N_JOBS):
        rows = predictions(i)
        np.savez(path := tmp_path / f"job {i}.npz", logits=rows.scores, labels=rows.labels)
        specs.append(AuditSpec(path=str(path)))
    jobs, library = LocalJobs(home), Library(home, tmp_path / "none")
    submitted = [job for spec in specs for job in jobs.submit([spec])]
    seen, kept = defaultdict(set), []
    until = time.monotonic() + PATIENCE_S
    while not all(job.state.ended for job in jobs.list()) and time.monotonic() < until:
        programs(home, seen)
        if len(kept) < 40:  # while jobs write to the same index
            name = f"run {len(kept)}"
            source = RunSource("file.npz", "0" * 64)
            run = library.keep(name, {"test": predictions(9)}, source=source, summary={})
            kept.append(run.id)
        time.sleep(0.05)
    ended = jobs.list()
    assert {job.state for job in ended} == {JobState.SUCCEEDED}
    assert {job: len(processes) for job, processes in seen.items()} == {
        job.id: 1 for job in submitted
    }
    assert {job.generation for job in ended} == {3}  # starting, running, succeeded
    rows = {row.id for row in library.rows()}
    assert rows == {*kept, *(job.run for job in ended)}
    assert library.damaged() == []
    for server in servers:
        for run in (kept[0], kept[-1], ended[0].run, ended[-1].run):
            assert awaited(figures(server, run))
