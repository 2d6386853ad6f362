"""Audits in the background on the Runs page: begun from a path, listed, watched, tried again."""

import json
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from core.commands import audit_job
from core.jobs.audit import AuditSpec
from core.jobs.local import open_jobs
from core.jobs.records import SLURM, Failure, Job, JobState
from core.jobs.slurm import controller
from core.jobs.store import JobStore
from core.process_identity import identity
from core.training.folder import JobFolder, Progress, write_progress
from pages.ui.jobs import machine
from tests.pages.seen import fine, html, opened, said
from tests.pages.test_cluster_page import SAYS

HOSTILE = "x **b** ![x](http://x/y) <script>1</script> :red[r]"


@pytest.fixture(autouse=True)
def _paused(paused):
    """Let what a page submits wait."""


@pytest.fixture
def shards(tmp_path, monkeypatch):
    folder = tmp_path / "served" / "shards"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CANDOR_IMPORT", str(folder.parent))
    rng = np.random.default_rng(0)
    for i in range(3):
        logits = 3.0 * rng.normal(size=(20, 3)).astype(np.float32)
        np.save(folder / f"logits-{i}.npy", logits)
        np.save(folder / f"labels-{i}.npy", (logits + rng.gumbel(size=(20, 3))).argmax(axis=1))
    return folder


def begin(test, path: Path, labels: Path | str = ""):
    test.text_input(key="import.path").set_value(str(path))
    test.text_input(key="import.path.1").set_value(str(labels))
    return test.button(key="import.instead").click().run()


def keep_job(home: Path, path: Path, state: JobState, **changes: object) -> Job:
    """Put an audit of some state into the table."""
    spec = AuditSpec(path=str(path), name=str(changes.pop("name", "mine")))
    JobFolder.make(home / "jobs" / "firstaudit", spec)
    times = {} if state is JobState.QUEUED else {"started": 10.0}
    times |= {"ended": 62.0} if state.ended else {}
    values = {"state": state, **times, **changes}
    job = Job("firstaudit", "audit", spec.name, "g", spec.digest, 5.0, **values)
    (added,) = JobStore(home).add([job])
    return added


def test_a_folder_of_shards_becomes_a_job_that_is_watched(home, shards):
    test = fine(begin(opened(), shards))
    (job,) = open_jobs().list()
    assert (job.kind, job.name, job.launcher) == ("audit", "shards", "local")
    assert open_jobs().audit(job.id) == AuditSpec(path=str(shards))
    assert test.query_params["job"] in (job.id, [job.id])
    assert "“shards” is waiting" in said(test)
    fine(test.button(key="job.stop").click().run())
    assert open_jobs().get(job.id).state is JobState.CANCELLED
    test = fine(test.button(key="job.retry").click().run())
    again = open_jobs().list()[0]
    assert (again.parent, again.relation, again.kind) == (job.id, "retry", "audit")
    test = fine(test.button(key="job.all").click().run())
    assert "Audits in the background" in said(test)
    links = [link for link in test.main.page_link if "job" in link.proto.query_string]
    assert len(links) == 2


def test_labels_go_along(home, shards):
    np.save(shards.parent / "labels.npy", np.zeros(60, int))
    fine(begin(opened(), shards, shards.parent / "labels.npy"))
    (job,) = open_jobs().list()
    assert open_jobs().audit(job.id).labels == str(shards.parent / "labels.npy")


@pytest.mark.parametrize(("name", "code"), [("../out", "FOLDER"), ("none", "FILE")])
def test_other_paths_queue_nothing(home, shards, name, code):
    (shards.parent.parent / "out").mkdir()
    test = begin(opened(), shards.parent / name)
    assert code in test.error[0].value
    assert not open_jobs().list()


def test_in_a_cluster_it_asks_for_cores_alone(home, shards, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    for name, says in SAYS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{says}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    machine.has_cluster.clear()
    controller._ask_controller.cache_clear()
    (home / "slurm.json").write_text(json.dumps({"partition": "gpu", "gpus": 2, "nodes": 2}))
    test = opened()
    test.selectbox(key=machine.CHOICE).set_value(SLURM)
    fine(begin(test, shards))
    (job,) = open_jobs().list()
    assert (job.launcher, job.request.partition) == (SLURM, "gpu")
    assert (job.request.gpus, job.request.nodes) == (0, 1)
    machine.has_cluster.clear()
    controller._ask_controller.cache_clear()


def test_a_running_one_says_what_it_does(home, shards):
    job = keep_job(home, shards, JobState.RUNNING, supervisor=identity(os.getpid()))
    write_progress(
        home / "jobs" / job.id,
        Progress(1, 3, 500, 1_000, 0.0, 2**30, 75.0, None),
    )
    for test in (opened(job=job.id), opened(), opened("train")):
        assert "images/s" not in html(test)
    test = opened(job=job.id)
    text = " ".join(one.proto.text for one in test.get("progress"))
    assert text == "Computing every metric, step 2 of 3"
    assert "Auditing “mine”." in said(test)


def test_one_that_succeeded_opens_in_reliability(home, shards):
    keep_job(home, shards, JobState.SUCCEEDED, run="firstaudit")
    result = audit_job.run(JobFolder(home / "jobs" / "firstaudit"))
    test = fine(opened(job="firstaudit"))
    assert "Audited “mine” in 52 s." in said(test)
    assert result["audit"]["verdict"]["text"] in said(test)
    assert f"{100 * result['audit']['metrics']['ece']['value']:.1f}" in html(test)
    assert result["audit"]["verdict"]["text"] not in said(opened(job="firstaudit", plain="true"))
    test.button(key="job.reliability").click().run()
    assert test.query_params["run"] in ("firstaudit", ["firstaudit"])


@pytest.mark.parametrize("state", list(JobState))
@pytest.mark.parametrize("plain", ["false", "true"])
def test_every_state_is_drawn_and_names_stay_text(home, shards, state, plain):
    failure = Failure("AMBIGUOUS_KEYS", HOSTILE, HOSTILE) if state is JobState.FAILED else None
    keep_job(home, shards, state, name=HOSTILE, failure=failure)
    link = partial(opened, plain=plain)
    for test in (link(job="firstaudit"), link(), link("train")):
        bodies = [one.value for kind in ("markdown", "error") for one in getattr(test, kind)]
        bodies += [one.label for one in (*test.button, *test.expander, *test.main.page_link)]
        for mark in ("![x]", "<script>", ":red[r]", "**b**"):
            assert not [body for body in bodies if mark in body]
        assert "<script>" not in html(test)
    failed = state is JobState.FAILED
    assert ("press **Read**" in said(link(job="firstaudit"))) == failed


def test_no_page_takes_it_for_a_training(home, shards):
    keep_job(home, shards, JobState.CANCELLED)
    assert "Runs ·" in said(fine(opened("train", job="firstaudit")))
    assert "Trainings and audits" in said(fine(opened("train")))
    assert "No run with gammas is open yet." in said(opened("gamma", run="firstaudit"))
    for script in ("evaluate", "xray"):
        fine(opened(script))
    opened("evaluate", weights="firstaudit")


def test_without_a_folder_on_the_server_there_is_no_button(home, monkeypatch):
    monkeypatch.delenv("CANDOR_IMPORT", raising=False)
    test = fine(opened())
    assert "import.instead" not in [button.key for button in test.button]
    assert "Audits in the background" not in said(test)
