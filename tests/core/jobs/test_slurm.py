"""What only a cluster does: warn, preempt, refuse, run over nodes, start again."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.errors import LibraryError, UsageError
from core.jobs import processes
from core.jobs.audit import AuditSpec
from core.jobs.local import LocalJobs
from core.jobs.records import SETTINGS, SLURM, Job, JobState, SlurmRequest, beat, defaults
from core.jobs.slurm import controller, messages, supervisor
from core.jobs.slurm.messages import Begun, Ended
from core.library import open_library
from core.process_identity import ProcessIdentity
from core.training import checkpoint
from core.training.config import TrainConfig
from core.training.folder import TIME_IS_UP, JobFolder
from core.training.submission import trainings
from tests.core.jobs import cluster_rounds
from tests.core.jobs.cluster import CONTROLLER
from tests.core.jobs.conftest import config, ended, let, told, truth, until
from tests.core.jobs.held import EPOCHS, HOLD
from tests.core.shards import command, npy_shards, parquet_shards, predictions

ROOT = Path(__file__).parents[3]
SMALL = SlurmRequest(cpus=1, memory=0.25, minutes=10)
ADAFOCAL = {
    "loss": {"name": "adafocal", "n_bins": 5}, "n_train": 64, "batch_size": 32, "epochs": 20
}  # fmt: skip
CLOCK = {"seconds", "images_per_second"}


def here(path: Path, config: TrainConfig) -> JobFolder:
    """Train a config on this machine, without any launcher."""
    done = subprocess.run(
        [sys.executable, "-m", "core.training", JobFolder.make(path, config).path],
        cwd=ROOT,
        env={**os.environ, "CANDOR_HOME": str(path.parent), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return JobFolder(path)


def numbers(job: JobFolder) -> list[tuple]:
    """What is recorded of each epoch, without what the clock says."""
    return [
        ({k: v for k, v in line["metrics"].items() if k not in CLOCK}, line["bins"])
        for line in job.events()
    ]


def assert_same_bits(one: JobFolder, other: JobFolder) -> None:
    assert numbers(one) == numbers(other)
    sums = [checkpoint.checksum(checkpoint.of_job(job)) for job in (one, other)]
    assert sums[0] == sums[1]


# A real training --------------------------------------------------------------------------------


@pytest.mark.nightly
def test_a_training_that_is_warned_continues_to_the_same_bits(slurm, jobs, tmp_path):
    """Warned as before its time is up, it stops after an epoch and is queued again."""
    settings = config("real", **ADAFOCAL)
    (first,) = jobs.submit([settings], request=SMALL)
    until(lambda: list(jobs.folder(first.id).checkpoints.glob("*.pt")))
    subprocess.run(["scancel", "--batch", "--signal=USR1", first.cluster], check=True)
    done = ended(jobs, first.id)
    assert (done.state, done.run) == (JobState.SUCCEEDED, first.id)
    assert messages.begun_of(jobs.folder(first.id).path).restarts == 1
    assert any("queued again" in line for line in jobs.log(first.id, 500))
    assert_same_bits(jobs.folder(first.id), here(tmp_path / "through", settings))


def preempt() -> str:
    """Take both nodes for a job of a higher partition, and return its id once it runs."""
    words = ["--partition=urgent", "--nodes=2", "--exclusive", "--output=/dev/null"]
    urgent = subprocess.run(
        ["sbatch", "--parsable", *words, "--wrap=sleep 600"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    until(lambda: controller.ask("--me")[urgent].state == "RUNNING")
    return urgent


def give(job: Job, minutes: int) -> bool:
    """Change the time limit of a job, as an administrator; whether it was not just ending."""
    words = ["scontrol", "update", f"JobId={job.cluster}", f"TimeLimit={minutes}"]
    return subprocess.run(words, check=False).returncode == 0


@pytest.fixture
def held(on_nodes, monkeypatch):
    """Trainings of the cluster are real, and their first start does not end by itself."""
    return lambda way: monkeypatch.setenv(HOLD, way)


@pytest.mark.nightly
@pytest.mark.parametrize("partition", ["main", pytest.param("graceful", marks=pytest.mark.soak)])
def test_a_training_that_is_preempted_continues_to_the_same_bits(partition, held, jobs, tmp_path):
    """For a job of a higher partition; one partition ends it at once, the other warns it first."""
    held("epoch" if partition == "main" else "warning")
    settings = config("real", **ADAFOCAL)
    (job,) = jobs.submit([settings], request=replace(SMALL, partition=partition))
    until(lambda: len(jobs.folder(job.id).events()) == EPOCHS)
    urgent = preempt()
    assert processes.marked(job.id) == []

    def waits() -> bool:
        jobs.tick()
        return jobs.get(job.id).state is JobState.QUEUED

    until(waits)
    assert len(jobs.folder(job.id).events()) == EPOCHS
    subprocess.run(["scancel", urgent], check=True)
    done = ended(jobs, job.id)
    assert (done.state, done.run) == (JobState.SUCCEEDED, job.id)
    assert messages.begun_of(jobs.folder(job.id).path).restarts == 1
    assert_same_bits(jobs.folder(job.id), here(tmp_path / "through", settings))


@pytest.mark.soak
@pytest.mark.parametrize("hold", ["warning", "epoch"])
def test_a_training_whose_time_is_up_continues_to_the_same_bits(hold, held, jobs, tmp_path):
    """It heeds the cluster's warning; or its epoch takes so long that the cluster ends it."""
    held(hold)
    settings = config("real", **ADAFOCAL)
    (job,) = jobs.submit([settings], request=SMALL)
    until(lambda: len(jobs.folder(job.id).events()) == EPOCHS)
    began = messages.begun_of(jobs.folder(job.id).path).at
    assert give(job, 2 + int((time.time() - began) / 60))
    until(lambda: any("queued again" in line for line in jobs.log(job.id, 500)))
    until(lambda: give(job, 60))
    done = ended(jobs, job.id)
    assert (done.state, done.run) == (JobState.SUCCEEDED, job.id)
    assert messages.begun_of(jobs.folder(job.id).path).restarts == 1
    cluster_words = "".join(
        path.read_text() for path in (jobs.folder(job.id).path / "slurm").glob("*.out")
    )
    assert ("DUE TO TIME LIMIT" in cluster_words) == (hold == "epoch")
    assert_same_bits(jobs.folder(job.id), here(tmp_path / "through", settings))


@pytest.mark.soak
@pytest.mark.usefixtures("on_nodes")
def test_an_audit_whose_time_is_up_has_failed_for_it(jobs, tmp_path):
    """It keeps no checkpoints, so the warning changes nothing and the cluster ends it."""
    spec = AuditSpec(path=str(tmp_path), name="wait:go")
    (job,) = jobs.submit([spec], request=replace(SMALL, minutes=1))
    done = ended(jobs, job.id)
    assert (done.state, done.failure.code) == (JobState.FAILED, "TIME_LIMIT")
    assert done.failure.what == "Its 1 minute on the cluster ran out"
    assert [line[1] for line in truth(jobs)] == ["began"]


@pytest.mark.nightly
def test_two_nodes_train_as_two_processes_here(slurm, jobs, tmp_path):
    """One process on each node, joined by srun and Fabric; two here against one: test_ranks."""
    settings = config("real", **ADAFOCAL | {"epochs": 3}, devices=2)
    (job,) = jobs.submit([settings], request=SlurmRequest(cpus=1, memory=0.25, nodes=2))
    done = ended(jobs, job.id)
    assert (done.state, done.failure) == (JobState.SUCCEEDED, None)
    assert open_library().get(done.run).environment["devices"] == 2
    assert_same_bits(jobs.folder(job.id), here(tmp_path / "two", settings))


@pytest.mark.nightly
def test_a_sweep_is_one_array_and_the_library_fills(slurm, jobs):
    base = config("", **ADAFOCAL | {"epochs": 1})
    sweep = trainings(base, "", ["ce"], [0], {"loss.n_bins": (5, 10)})
    submitted = jobs.submit(sweep, request=SMALL)
    arrays, tasks = zip(*(job.cluster.split("_") for job in submitted), strict=True)
    assert (len({*arrays}), tasks) == (1, ("0", "1", "2"))
    for job in submitted:
        assert ended(jobs, job.id).state is JobState.SUCCEEDED
        assert np.isfinite(open_library().load(job.id, "test").scores).all()
    assert {row.id for row in open_library().rows(kind="train")} == {job.id for job in submitted}
    losses = [open_library().get(job.id).config["loss"] for job in submitted]
    assert [(loss["name"], loss.get("n_bins")) for loss in losses] == [
        ("adafocal", 5), ("adafocal", 10), ("ce", None),
    ]  # fmt: skip


# An audit ---------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.parametrize("shards", [npy_shards, parquet_shards])
def test_shards_are_audited_on_a_node_as_in_memory(shards, slurm, jobs, tmp_path, capfd):
    """All of the JSON is that of the command that waits, its metrics those of a single file."""
    path = str(shards(tmp_path / "shards"))
    options = ("--bins", "7", "--scores", "logits", "--fail-if", "accuracy<0.99")
    in_memory = command(capfd, path, *options)
    small = ("--cpus", "1", "--memory", "0.25", "--minutes", "10")
    code, report = command(capfd, path, *options, "--launcher", "slurm", *small)
    (job,) = jobs.list()
    assert (job.launcher, job.state, job.id) == (SLURM, JobState.SUCCEEDED, report.pop("run"))
    assert messages.begun_of(jobs.folder(job.id).path).cluster == job.cluster
    assert (code, report) == in_memory
    assert code == 1  # accuracy is below the gate
    logits, labels = predictions()
    np.savez(tmp_path / "whole.npz", logits=logits, labels=labels)
    _, whole = command(capfd, str(tmp_path / "whole.npz"), *options)
    assert report["metrics"] == whole["metrics"]
    kept = open_library().load(job.id, "test")
    np.testing.assert_array_equal(kept.scores, logits)
    np.testing.assert_array_equal(kept.labels, labels)


# Ends that the cluster makes --------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_a_start_without_progress_is_not_repeated(jobs):
    """Else a training whose epoch takes longer than its time would be queued for ever."""
    (job,) = jobs.submit([config("wait:go")], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    subprocess.run(["scancel", "--batch", "--signal=USR1", job.cluster], check=True)
    done = ended(jobs, job.id)
    assert (done.state, done.failure.code) == (JobState.FAILED, "TIME_LIMIT")
    assert done.failure.what == "Its 10 minutes on the cluster ran out before an epoch was"


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_a_preempted_start_without_progress_is_repeated(jobs):
    """It was warned as if its time were up, which it is not."""
    (job,) = jobs.submit([config("wait:go")], request=replace(SMALL, partition="graceful"))
    until(lambda: told(jobs, job, "began"))
    urgent = preempt()
    subprocess.run(["scancel", urgent], check=True)
    let(jobs, "go")
    done = ended(jobs, job.id)
    assert (done.state, done.failure) == (JobState.SUCCEEDED, None)
    assert messages.begun_of(jobs.folder(job.id).path).restarts == 1


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
@pytest.mark.parametrize("words", ["stubborn wait:go", "wait:go"])  # it ends before its supervisor
def test_a_cancel_typed_on_a_shell_is_a_cancel(jobs, words):
    (job,) = jobs.submit([config(words)], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    subprocess.run(["scancel", job.cluster], check=True)
    assert ended(jobs, job.id).state is JobState.CANCELLED
    assert messages.ended_of(jobs.folder(job.id).path).state is JobState.CANCELLED


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_a_cancelled_job_does_not_start_again_where_the_cluster_said_no_word(jobs, monkeypatch):
    """As where the disk of its output is full: then only the controller knows of the cancel."""
    monkeypatch.setenv("CANDOR_TESTS_DEAF", "1")
    (job,) = jobs.submit([config("wait:go")], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    subprocess.run(["scancel", job.cluster], check=True)
    assert ended(jobs, job.id).state is JobState.CANCELLED
    seen = controller.seen_of(controller.ask("--me"), job)
    assert seen is None or seen.state == "CANCELLED"


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_a_job_that_got_a_signal_from_elsewhere_starts_again(jobs):
    """As on a node that shuts down: the cluster has not ended it."""
    (job,) = jobs.submit([config("wait:go")], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    os.kill(messages.begun_of(jobs.folder(job.id).path).supervisor.pid, signal.SIGTERM)
    until(lambda: messages.begun_of(jobs.folder(job.id).path).restarts == 1)
    let(jobs, "go")
    assert ended(jobs, job.id).state is JobState.SUCCEEDED


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_a_cluster_that_does_not_answer_ends_nothing(jobs, monkeypatch, tmp_path):
    (job,) = jobs.submit([config("wait:go")], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    with monkeypatch.context() as away:
        for name in ("squeue", "scancel"):
            (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
            (tmp_path / name).chmod(0o755)
        away.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        controller._ask_controller.cache_clear()
        jobs.tick()
        assert jobs.get(job.id).state is JobState.RUNNING  # its supervisor said so
        with pytest.raises(LibraryError, match="does not answer"):
            jobs.cancel(job.id)
    assert ended(jobs, job.id).state is JobState.CANCELLED  # wanted, and found by its supervisor


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_what_the_cluster_refuses_is_said_and_leaves_nothing(jobs):
    with pytest.raises(LibraryError) as caught:
        jobs.submit([config("a")], request=SlurmRequest(partition="nowhere"))
    assert caught.value.code == "CLUSTER"
    assert "invalid partition specified: nowhere" in caught.value.what
    assert jobs.list() == []
    assert list((jobs.home / "jobs").iterdir()) == []


@pytest.mark.usefixtures("on_nodes")
@pytest.mark.nightly
def test_another_job_of_the_cluster_does_not_begin_what_has_begun(jobs):
    """As one would whose submission was thought to have failed."""
    (job,) = jobs.submit([config("wait:go step:1")], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    text = f"exec {sys.executable} -m {controller.SUPERVISOR} {jobs.home} {job.id}"
    again = subprocess.run(
        ["sbatch", "--wait", f"--chdir={ROOT}", "--output=/dev/null", f"--wrap={text}"], check=True
    )
    assert again.returncode == 0
    let(jobs, "go")
    assert ended(jobs, job.id).state is JobState.SUCCEEDED
    began = (jobs.home / "jobs" / ".truth.txt").read_text().count("began")
    assert began == 1


# A cluster whose daemons crash ------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_a_job_does_not_notice_that_the_daemons_are_killed(slurm, jobs):
    (job,) = jobs.submit([config("wait:go")], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    for name in slurm.names:
        slurm.kill(name)
    jobs.tick()  # nobody answers
    assert jobs.get(job.id).state is JobState.RUNNING
    for name in slurm.names:
        slurm.start(name)
    let(jobs, "go")
    done = ended(jobs, job.id)
    assert (done.state, done.run) == (JobState.SUCCEEDED, job.id)
    assert [line[1] for line in truth(jobs)] == ["began", "succeeded"]


@pytest.mark.nightly
def test_a_training_is_queued_again_once_the_controller_is_back(slurm, held, jobs, tmp_path):
    """It is away when the training has stopped for want of time."""
    held("warning")
    settings = config("real", **ADAFOCAL)
    (job,) = jobs.submit([settings], request=SMALL)
    until(lambda: len(jobs.folder(job.id).events()) == EPOCHS)
    slurm.kill(CONTROLLER)
    os.kill(messages.begun_of(jobs.folder(job.id).path).supervisor.pid, signal.SIGUSR1)
    until(lambda: not processes.marked(job.id))
    slurm.start(CONTROLLER)
    done = ended(jobs, job.id)
    assert (done.state, done.run) == (JobState.SUCCEEDED, job.id)
    # It may have forgotten in the crash how often it started the job.
    assert sum("queued again" in line for line in jobs.log(job.id, 500)) == 1
    assert_same_bits(jobs.folder(job.id), here(tmp_path / "through", settings))


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_a_process_does_not_outlive_its_supervisor(jobs):
    """Not even here, where the cluster traces processes by their parents."""
    (job,) = jobs.submit([config("wait:go")], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    os.kill(messages.begun_of(jobs.folder(job.id).path).supervisor.pid, signal.SIGKILL)
    assert ended(jobs, job.id).state is JobState.LOST
    assert processes.marked(job.id) == []


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_a_job_that_is_launched_twice_runs_once(jobs):
    """As by a controller that crashed and has forgotten the first time."""
    (job,) = jobs.submit([config("wait:go")], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    again = subprocess.Popen(
        [sys.executable, "-m", controller.SUPERVISOR, jobs.home, job.id],
        cwd=ROOT, env=os.environ | {"SLURM_JOB_ID": job.cluster},
    )  # fmt: skip
    with pytest.raises(subprocess.TimeoutExpired):
        again.wait(5.0)
    let(jobs, "go")
    assert ended(jobs, job.id).state is JobState.SUCCEEDED
    assert again.wait() == 0
    assert [line[1] for line in truth(jobs)] == ["began", "succeeded"]


@pytest.mark.nightly
@pytest.mark.usefixtures("on_nodes")
def test_a_job_that_had_succeeded_does_not_run_again(jobs):
    """Its supervisor was killed before it said so, and a controller that crashed launches it."""
    (job,) = jobs.submit([config("wait:go")], request=SMALL)
    until(lambda: told(jobs, job, "began"))
    jobs.folder(job.id).finish({"state": "succeeded", "run": job.id})
    os.kill(messages.begun_of(jobs.folder(job.id).path).supervisor.pid, signal.SIGKILL)
    subprocess.run(
        [sys.executable, "-m", controller.SUPERVISOR, jobs.home, job.id],
        cwd=ROOT, env=os.environ | {"SLURM_JOB_ID": job.cluster}, check=True,
    )  # fmt: skip
    assert messages.ended_of(jobs.folder(job.id).path).state is JobState.SUCCEEDED
    assert [line[1] for line in truth(jobs)] == ["began"]


def test_a_start_waits_until_the_former_node_is_silent(tmp_path, monkeypatch):
    elsewhere = ProcessIdentity(boot="another:1", host="another", pid=1, start=1)
    former = Begun("7", elsewhere, 0.0, 0)
    monkeypatch.setattr(supervisor, "QUIET_S", 600.0)
    supervisor._outlast(former, tmp_path)  # it left, and took its beat along
    beat(tmp_path)
    monkeypatch.setattr(supervisor, "QUIET_S", 0.5)
    began = time.monotonic()
    supervisor._outlast(former, tmp_path)
    assert time.monotonic() - began >= 0.5
    monkeypatch.setattr(supervisor, "QUIET_S", 600.0)
    messages.end(tmp_path, Ended(state=JobState.FAILED, exit_code=1, at=0.0))
    supervisor._outlast(former, tmp_path)  # it said how the job ended


@pytest.mark.soak
@pytest.mark.usefixtures("on_nodes")
def test_rounds_of_kill_break_no_promise_of_the_cluster(slurm, jobs):
    draw, hits = random.Random(3), Counter()
    for _ in range(5):
        hit, _ends = cluster_rounds.one_round(jobs, slurm, draw)  # asserts every promise
        hits += hit
    assert hits["slurmctld"] + hits["slurmd"] > 0


# Without a cluster ------------------------------------------------------------------------------


def test_a_machine_without_slurm_says_what_is_missing(jobs, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError) as caught:
        jobs.submit([config("a")], request=SMALL)
    assert caught.value.code == "CLUSTER"
    assert "sbatch, srun, squeue, scancel, scontrol of SLURM cannot be found" in caught.value.what
    assert jobs.list() == []


@pytest.mark.parametrize("name", ["a\ntouch here", "50%j"])
def test_a_home_that_a_batch_script_cannot_name_is_refused(name, tmp_path, monkeypatch):
    """What follows a line break would be run; % and a letter becomes something else."""
    monkeypatch.setattr(controller, "check", lambda: None)
    jobs = LocalJobs(tmp_path / name)
    with pytest.raises(LibraryError, match="line break or %") as caught:
        jobs.submit([config("ok")], request=SlurmRequest())
    assert caught.value.code == "CLUSTER"
    assert not jobs.list()


def programs(folder, monkeypatch, **prints):
    """Play a cluster by programs of the same names, each a script."""
    for name in ("squeue", "sbatch", "srun", "scancel", "scontrol"):
        (folder / name).write_text("#!/bin/sh\n" + prints.get(name, "echo Submitted batch job 7"))
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    controller._ask_controller.cache_clear()


def test_a_start_that_prepared_pictures_alone_is_queued_again(jobs, monkeypatch, tmp_path):
    """It kept no checkpoint, but ended by itself; one that was ended got nowhere."""
    programs(tmp_path, monkeypatch)
    (job,) = jobs.submit([config("a")], request=SMALL)
    row = f"7|{controller.name_of(job)}|RUNNING|None"
    squeue = f"case $* in *Preempt*) echo N/A;; *) echo '{row}';; esac"
    programs(tmp_path, monkeypatch, squeue=squeue, scontrol=f"echo $* >> {tmp_path}/asked")
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    table = supervisor.NodeTable(jobs.home)
    on_node = supervisor.ClusterSupervisor(table, job, {"train": "tests.core.jobs.trainer"})
    on_node._warned = time.monotonic()
    on_node.conclude(TIME_IS_UP, "", 0)
    assert messages.ended_of(table.folder(job.id)) is None
    assert (tmp_path / "asked").read_text() == "requeue 7\n"
    on_node.conclude(-signal.SIGTERM, "time", 0)
    assert messages.ended_of(table.folder(job.id)).failure.code == "TIME_LIMIT"


def test_accounts_say_how_a_job_ended_that_the_controller_forgot(jobs, monkeypatch, tmp_path):
    """A cluster with accounting, played by two programs of the same names."""
    programs(tmp_path, monkeypatch)
    (job,) = jobs.submit([config("a")], request=SMALL)
    assert job.cluster == "7"
    own = controller.name_of(job)
    says = f"candor-another|CANCELLED by 0\\n{own}|OUT_OF_MEMORY\\n"  # a number is given again
    (tmp_path / "sacct").write_text(f"#!/bin/sh\nprintf '{says}'\n")
    (tmp_path / "sacct").chmod(0o755)
    done = ended(jobs, job.id)
    assert (done.state, done.failure.code) == (JobState.FAILED, "HOST_MEMORY")
    assert done.failure.remedy.startswith("request more memory")


@pytest.mark.parametrize(
    ("changes", "device", "devices"),
    [({}, "cpu", 1), ({"gpus": 2}, "cuda", 2), ({"gpus": 2, "nodes": 3}, "cuda", 6)],
)
def test_gpus_and_nodes_decide_the_processes(changes, device, devices):
    from core.jobs.slurm.launcher import fitted

    settings = fitted(SlurmRequest(**changes), config("a", device="auto"))
    assert (settings.device, settings.devices) == (device, devices)


def test_a_request_that_does_not_fit_is_refused():
    from core.jobs.slurm.launcher import fitted

    with pytest.raises(UsageError, match="Device cpu does not fit 1 GPUs"):
        fitted(SlurmRequest(gpus=1), config("a"))
    with pytest.raises(UsageError, match="3 processes cannot share 2 nodes"):
        fitted(SlurmRequest(nodes=2), config("a", devices=3))


def test_defaults_come_from_the_settings_file(tmp_path):
    assert defaults(tmp_path) == SlurmRequest()
    (tmp_path / SETTINGS).write_text('{"partition": "gpu", "gpus": 1}')
    assert defaults(tmp_path) == SlurmRequest(partition="gpu", gpus=1)
    for text, what in (
        ("{", "is not JSON"),
        ('{"gpu": 1}', "unknown key 'gpu'"),
        ('{"minutes": 0}', "minutes is 0"),
        ('{"partition": "a\\nb"}', "partition is"),
    ):
        (tmp_path / SETTINGS).write_text(text)
        with pytest.raises(UsageError, match=what):
            defaults(tmp_path)
