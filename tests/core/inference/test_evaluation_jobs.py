"""Evaluations in the background: queued, watched, cancelled, retried as any other job."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest
from safetensors.torch import save_file

from core.inference.config import WEIGHTS, Preprocessing
from core.jobs.local import LocalJobs
from core.jobs.processes import marked
from core.jobs.records import JobState
from core.jobs.store import JobStore
from core.library import Library
from core.process_identity import identity
from core.training.folder import Progress
from tests.core.inference.test_calls import small
from tests.core.inference.test_job import CONFIG
from tests.core.jobs.conftest import ended, until

pytestmark = pytest.mark.slow


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    return LocalJobs(tmp_path / "home")


@pytest.fixture
def weights(tmp_path):
    save_file(small(0).state_dict(), tmp_path / "weights.safetensors")
    return tmp_path / "weights.safetensors"


@pytest.mark.nightly
def test_an_evaluation_ends_as_a_run_and_its_weights_stay(jobs, weights, tmp_path):
    (job,) = jobs.submit([CONFIG], weights=weights)
    assert (job.kind, jobs.evaluation(job.id)) == ("evaluate", CONFIG)
    weights.unlink()
    done = ended(jobs, job.id)
    assert (done.state, done.run) == (JobState.SUCCEEDED, job.id)
    assert Library(jobs.home, tmp_path / "none").get(job.id).labelled == ("val", "test")
    assert (jobs.folder(job.id).path / WEIGHTS).exists()


@pytest.mark.nightly
def test_what_fails_is_said_and_can_be_retried_with_its_weights(jobs, weights, tmp_path):
    (job,) = jobs.submit(
        [replace(CONFIG, data_root=str(tmp_path / "none"), data="folder")], weights=weights
    )
    failed = ended(jobs, job.id)
    assert failed.state is JobState.FAILED
    assert failed.failure is not None
    assert failed.failure.code == "DATA_ROOT"
    assert not jobs.resumable(job.id)
    again = jobs.retry(job.id)
    assert (again.kind, again.parent) == ("evaluate", job.id)
    assert (jobs.folder(again.id).path / WEIGHTS).read_bytes()
    assert ended(jobs, again.id).state is JobState.FAILED


@pytest.mark.nightly
def test_an_evaluation_says_how_far_it_is_and_stops_when_told(jobs, weights):
    slow = replace(
        CONFIG, preprocessing=Preprocessing((600, 600)), batch_size=4, splits=("train", "test")
    )
    (job,) = jobs.submit([slow], weights=weights)
    progress = until(lambda: (now := jobs.progress(job.id)) and now.batch and now)
    assert isinstance(progress, Progress)
    assert (progress.epoch, progress.n_epochs, progress.n_batches) == (0, 2, 997)
    assert progress.batch % 4 == 0
    assert np.isfinite(progress.left)
    jobs.cancel(job.id)
    assert ended(jobs, job.id).state is JobState.CANCELLED


def test_a_crash_says_what_to_do(jobs, weights):
    slow = replace(CONFIG, preprocessing=Preprocessing((600, 600)), batch_size=4)
    (job,) = jobs.submit([slow], weights=weights)
    until(lambda: jobs.progress(job.id))
    for pid in marked(job.id):
        os.kill(pid, signal.SIGSEGV)
    failed = ended(jobs, job.id)
    assert failed.failure is not None
    assert failed.failure.code == "SIGNAL"
    assert "checkpoint" not in failed.failure.remedy


@pytest.mark.nightly
def test_an_evaluation_whose_supervisor_was_killed_is_retried(jobs, weights):
    jobs.pause()
    (job,) = jobs.submit([CONFIG], weights=weights)
    (jobs.home / "jobs" / "paused").unlink()
    gone = replace(identity(os.getpid()), start=1)
    assert JobStore(jobs.home).claim(gone, ("cpu",)).id == job.id
    jobs.tick()
    lost = jobs.get(job.id)
    assert lost.state is JobState.LOST
    assert lost.failure.remedy == "retry it"
