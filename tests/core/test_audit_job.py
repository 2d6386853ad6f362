"""Audits as jobs: the numbers of the audit that waits, a run in the library, and refusals."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core import progress
from core.__main__ import main
from core.commands import audit_job
from core.configs import AuditConfig
from core.errors import LibraryError, Refused, UsageError
from core.inference.config import EvaluationConfig
from core.jobs.audit import STAGES, AuditSpec, check_request, from_json, spec_of
from core.jobs.local import open_jobs
from core.jobs.records import SlurmRequest
from core.jobs.slurm.launcher import fitted
from core.library import Library
from core.predictions import ScoreKind
from core.readers.predictions.result import ReadOptions
from core.readers.sandbox import read as sandbox
from core.readers.tables.votes import VoteChoice
from core.training.config import TrainConfig
from core.training.folder import JobFolder, read_progress
from tests.core.shards import ROWS, command, npy_shards, parquet_shards, predictions


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("CANDOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path / "home"


@pytest.mark.slow
@pytest.mark.parametrize(
    "shards", [npy_shards, pytest.param(parquet_shards, marks=pytest.mark.nightly)]
)
def test_the_job_finds_what_the_audit_in_memory_does(home, tmp_path, capfd, shards):
    folder = str(shards(tmp_path / "shards"))
    asked = ("--bins", "7", "--scores", "logits", "--fail-if", "accuracy<0.99")
    here = command(capfd, folder, *asked)
    code, report = command(capfd, folder, *asked, "--launcher", "local")
    run = report.pop("run")
    assert (code, report) == here
    assert code == 1  # the gate holds for both
    library = Library(home, home / "none")
    manifest = library.get(run)
    assert (manifest.kind, manifest.name) == ("upload", "shards")
    logits, labels = predictions()
    kept = library.load(run, manifest.headline)
    np.testing.assert_array_equal(kept.scores, logits)
    np.testing.assert_array_equal(kept.labels, labels)
    (job,) = open_jobs().list()
    assert (job.id, job.kind, job.run, job.launcher) == (run, "audit", run, "local")
    shown = {"file", "n", "metrics", "verdict"}
    assert shown < report.keys()
    # its headline is of the product's defaults, whatever the job was asked for
    main(["audit", folder, "--scores", "logits", "--json", str(tmp_path / "default.json")])
    default = json.loads((tmp_path / "default.json").read_text())
    summary = manifest.metrics[manifest.headline]
    assert summary["ece"]["value"] == default["metrics"]["ece"]["value"]
    assert summary["ece"]["value"] != report["metrics"]["ece"]["value"]


@pytest.mark.slow
def test_what_is_refused_is_refused_alike_and_tried_again(home, tmp_path, capfd):
    folder = npy_shards(tmp_path / "shards")
    (folder / "labels-00001.npy").rename(folder / ".away.npy")
    code, here = command(capfd, str(folder))
    job_code, report = command(capfd, str(folder), "--launcher", "local")
    assert code == job_code == 2
    same = ("code", "what", "remedy")
    assert [report["error"][key] for key in same] == [here["error"][key] for key in same]
    assert not (home / "runs").exists()
    (folder / ".away.npy").rename(folder / "labels-00001.npy")
    (failed,) = open_jobs().list()
    assert main(["jobs", "retry", failed.id, "--wait"]) == 0
    again = open_jobs().list()[0]
    assert (again.parent, again.relation, again.state) == (failed.id, "retry", "succeeded")
    assert Library(home, home / "none").get(again.id).splits["test"].n == ROWS


@pytest.mark.slow
def test_the_job_finds_what_people_say_and_keeps_it(home, tmp_path, capfd):
    folder = str(npy_shards(tmp_path / "shards"))
    _, labels = predictions()
    rng = np.random.default_rng(6)
    counts = rng.multinomial(9, 0.6 * np.eye(4)[labels] + 0.1)
    np.savez(tmp_path / "asked.npz", votes=counts[:, [2, 0, 3, 1]], other=counts)
    asked = ("--scores", "logits", "--classes", "a,b,c,d", "--resamples", "60")
    asked += ("--votes", f"{tmp_path / 'asked.npz'}:votes", "--votes-classes", "c,a,d,b")
    code, here = command(capfd, folder, *asked)
    job_code, report = command(capfd, folder, *asked, "--launcher", "local")
    run = report.pop("run")
    assert (job_code, report) == (code, here)
    assert report["human"]["votes_per_row"] == 9
    kept = Library(home, home / "none").load(run, "test")
    np.testing.assert_array_equal(kept.votes.of_row, counts)
    assert open_jobs().audit(run).votes == str(tmp_path / "asked.npz")


def spec(tmp_path: Path, **changed: object) -> AuditSpec:
    return AuditSpec(path=str(npy_shards(tmp_path / "shards")), **changed)


def test_a_job_that_ends_twice_keeps_one_run(home, tmp_path):
    folder = JobFolder.make(home / "jobs" / "abcdefghjkmn", spec(tmp_path))
    first, second = audit_job.run(folder), audit_job.run(folder)
    assert first["audit"] == second["audit"]
    assert [path.name for path in (home / "runs").iterdir() if path.name[0] != "."] == [
        "abcdefghjkmn"
    ]


def test_it_says_how_far_it_is(tmp_path):
    folder = JobFolder.make(tmp_path / "job", spec(tmp_path))
    pace = audit_job.AuditProgress(folder)
    stages = []
    for stage in STAGES:
        pace.enter(stage)
        with progress.stage("x", 0.0, 1.0, 10):
            progress.advance(5)
            pace._written = 0.0  # a second later
            progress.advance(0)
        said = read_progress(folder.path)
        stages.append((said.epoch, said.n_epochs, said.batch / said.n_batches))
    assert stages == [(0, 3, 0.5), (1, 3, 0.5), (2, 3, 0.5)]


def test_a_spec_reads_back_and_its_digest_is_of_what_decides(tmp_path):
    whole = AuditSpec(
        path="/data/a b", name="mine", labels="/data/l.npy", tables={"group": "/data/g.csv"},
        options=ReadOptions(scores=ScoreKind.LOGITS, group="patient"), split="val",
        votes="/data/v.npy", vote_choice=VoteChoice("n_", "b,a", in_order=True),
        config=AuditConfig(n_bins=9, metrics=("ece",)),
    )  # fmt: skip
    folder = JobFolder.make(tmp_path / "job", whole)
    assert spec_of(folder) == from_json(whole.to_json()) == whole
    assert replace(whole, name="other").digest == whole.digest
    for changed in (
        {"path": "/x"},
        {"split": None},
        {"votes": None},
        {"config": AuditConfig(n_bins=8)},
    ):
        assert replace(whole, **changed).digest != whole.digest
    assert AuditSpec(path="/data/shards").name == "shards"
    with pytest.raises(UsageError, match="path"):
        AuditSpec(path="a\0b", name="mine")


def test_a_cluster_is_asked_for_cores_alone():
    small = AuditSpec(path="/data/shards")
    assert fitted(SlurmRequest(), small) == small
    for request in (SlurmRequest(gpus=1), SlurmRequest(nodes=2)):
        with pytest.raises(UsageError, match="an audit"):
            fitted(request, small)
        with pytest.raises(UsageError, match="an audit"):
            check_request(request)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--launcher", "local", "--votes", "none.csv"), "There is no file none.csv"),
        (("--launcher", "local", "--html", "a.html"), "--html cannot be used with --launcher"),
        (("--gpus", "1"), "--gpus is for a cluster"),
        (("--launcher", "local", "--minutes", "5"), "--minutes is for a cluster"),
        (("--launcher", "local", "--labels", "none.npy"), "There is no file none.npy"),
    ],
)
def test_options_that_do_not_go_together_queue_nothing(home, tmp_path, capfd, options, words):
    code, report = command(capfd, str(npy_shards(tmp_path / "shards")), *options)
    assert code == 3
    assert words in report["error"]["what"]
    assert not (home / "jobs").exists()


def test_an_audit_has_no_network(home, tmp_path, monkeypatch):
    open_jobs().pause()
    (job,) = open_jobs().submit([spec(tmp_path)])
    assert isinstance(open_jobs().spec(job.id), AuditSpec)
    assert not isinstance(open_jobs().spec(job.id), TrainConfig | EvaluationConfig)
    with pytest.raises(UsageError, match="keeps no weights"):
        open_jobs().network(job.id)
    assert main(["gradcam", job.id, str(tmp_path / "film.png"), "--out", str(tmp_path)]) == 3


def test_reading_may_take_long(home, tmp_path, monkeypatch):
    """The limit of pages would end what jobs are for."""
    limits = []

    def read(*_: object, **options):
        limits.append(options["timeout_s"])
        raise Refused("EMPTY", "Stopped here", "-")

    monkeypatch.setattr(sandbox, "read", read)
    with pytest.raises(Refused):
        audit_job.run(JobFolder.make(home / "jobs" / "abcdefghjkmn", spec(tmp_path)))
    assert limits
    assert min(limits) >= 86_400


def test_on_a_full_disk_the_log_says_it(home, tmp_path, monkeypatch):
    folder = JobFolder.make(home / "jobs" / "abcdefghjkmn", spec(tmp_path))
    full = LibraryError("DISK_FULL", "The disk is full", "free some space")

    def finish(*_: object):
        raise full

    monkeypatch.setattr(folder, "finish", finish)
    with pytest.raises(Refused):
        folder.fail(Refused("EMPTY", "Nothing", "-"))
