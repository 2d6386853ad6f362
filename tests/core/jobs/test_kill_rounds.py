"""J1 in short: rounds of kill -9 with a trainer that only pretends, and with a real one."""

import os
import random
import signal
from collections import Counter
from contextlib import suppress

import pytest

from core.jobs import processes
from core.jobs.records import JobState
from core.library import open_library
from core.training import checkpoint
from tests.core.jobs import rounds
from tests.core.jobs.conftest import config, ended, until


@pytest.mark.nightly
def test_rounds_break_no_promise(jobs, monkeypatch):
    """Until some jobs went well, some did not, and there were six; `make soak` runs 500."""
    monkeypatch.setenv("CANDOR_DEVICES", rounds.SLOTS)
    draw, total = random.Random(5), Counter[str]()
    for _ in range(30):
        total += rounds.one_round(jobs, draw)  # asserts every promise
        if total.total() >= 6 and total["succeeded"] and total["failed"] + total["lost"]:
            break
    assert total.total() == len(jobs.list())
    assert total["succeeded"] > 0
    assert total["failed"] + total["lost"] > 0  # else nothing was hit


@pytest.mark.nightly
@pytest.mark.parametrize(
    "victim",
    ["trainer", *(pytest.param(name, marks=pytest.mark.soak) for name in ("supervisor", "both"))],
)
def test_a_real_training_that_is_killed_goes_on_and_is_whole(victim, jobs, monkeypatch):
    monkeypatch.setattr(processes, "SUPERVISOR", "core.jobs.supervisor")
    n_epochs = 30
    settings = {"loss": {"name": "adafocal", "n_bins": 5}, "n_train": 256, "epochs": n_epochs}
    (one,) = jobs.submit([config("real", **settings)])
    until(lambda: list(jobs.folder(one.id).checkpoints.glob("*.pt")))
    (trainer,) = processes.marked(one.id)
    supervisor = jobs.get(one.id).supervisor.pid
    for pid in {"trainer": [trainer], "supervisor": [supervisor], "both": [supervisor, trainer]}[
        victim
    ]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    first = ended(jobs, one.id)
    assert first.state is (JobState.FAILED if victim == "trainer" else JobState.LOST)
    assert processes.marked(one.id) == []
    assert open_library().rows(kind="train") == []
    with monkeypatch.context() as elsewhere:  # the run belongs to the job's home all the same
        elsewhere.setenv("CANDOR_HOME", str(jobs.home / "elsewhere"))
        again = jobs.resume(one.id)
    done = ended(jobs, again.id)
    assert (done.state, done.run) == (JobState.SUCCEEDED, done.id)
    assert jobs.get(one.id) == first
    assert [row.id for row in open_library().rows(kind="train")] == [done.id]
    history = open_library().history(done.id)
    at = [e for e, m in zip(history.epoch, history.metric, strict=True) if m == "val_nll"]
    assert at == list(range(n_epochs))
    assert len(jobs.folder(one.id).events()) < n_epochs


@pytest.mark.nightly
def test_a_real_training_that_is_cancelled_loses_no_epoch_that_it_has_finished(jobs, monkeypatch):
    monkeypatch.setattr(processes, "SUPERVISOR", "core.jobs.supervisor")
    (one,) = jobs.submit([config("real", n_train=256, epochs=400, checkpoint_every=400)])
    folder = jobs.folder(one.id)
    until(lambda: len(folder.events()) >= 2)
    assert not folder.checkpoints.exists()
    jobs.cancel(one.id)
    assert ended(jobs, one.id).state is JobState.CANCELLED
    # the signal may come between the line of an epoch and the copy of its state
    assert 0 <= len(folder.events()) - checkpoint.of_job(folder)["epoch"] <= 1
    again = jobs.resume(one.id)
    went_on = jobs.folder(again.id)
    n_epochs = len(folder.events()) + 1
    until(lambda: len(went_on.events()) > n_epochs)
    assert went_on.events()[: n_epochs - 2] == folder.events()[: n_epochs - 2]
