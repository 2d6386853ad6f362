"""One suite of promises for every launcher (J12): this machine's, and that of a real SLURM.

What a launcher declares that it cannot promise is left out of its row, with its own sentence.
"""

import os
import signal
import time

import pytest

from core import process_identity
from core.errors import UsageError
from core.jobs import processes
from core.jobs.local import LocalJobs
from core.jobs.records import LOCAL, SLURM, Job, JobState, Outcome, Promise, SlurmRequest
from core.jobs.store import JobStore
from tests.core.jobs.conftest import config, ended, let, told, truth, until

pytestmark = pytest.mark.nightly  # test_queue and test_supervision have each promise here
SMALL = SlurmRequest(cpus=1, memory=0.25, minutes=10)


class Submitter:
    """Jobs, and how this row of the suite submits them."""

    def __init__(self, jobs: LocalJobs, launcher: str) -> None:
        self.jobs = jobs
        self.request = SMALL if launcher == SLURM else None
        self.cannot = jobs.cannot(launcher)

    def submit(self, *words: str) -> list[Job]:
        return self.jobs.submit([config(text) for text in words], request=self.request)

    def began(self, words: str) -> Job:
        (job,) = self.submit(words)
        until(lambda: told(self.jobs, job, "began"))

        def runs() -> Job | None:
            self.jobs.tick()
            now = self.jobs.get(job.id)
            return now if now.state is JobState.RUNNING else None

        return until(runs)

    def needs(self, promise: Promise) -> None:
        if promise in self.cannot:
            pytest.skip(self.cannot[promise])


@pytest.fixture(params=[LOCAL, SLURM])
def there(request, jobs) -> Submitter:
    if request.param == SLURM:
        request.getfixturevalue("on_nodes")
    return Submitter(jobs, request.param)


# Submit, status, list, logs ---------------------------------------------------------------------


def test_jobs_run_to_their_ends_and_say_how(there):
    """Status, list and logs, of a submission of three that end in three ways."""
    jobs = there.jobs
    submitted = there.submit("step:2", "step:1 exit:3", "step:1 kill:SIGSEGV")
    assert [job.id for job in jobs.list()] == [job.id for job in reversed(submitted)]
    assert {job.group for job in submitted} == {submitted[0].group}
    done, failed, crashed = (ended(jobs, job.id) for job in submitted)
    assert (done.state, done.exit_code, done.run) == (JobState.SUCCEEDED, 0, done.id)
    assert (failed.state, failed.failure.code, failed.exit_code) == (
        JobState.FAILED, "EXIT_CODE", 3
    )  # fmt: skip
    assert (crashed.state, crashed.failure.code, crashed.exit_code) == (
        JobState.FAILED, "SIGNAL", -11
    )  # fmt: skip
    assert jobs.log(done.id) == ["epoch 1", "epoch 2"]
    assert all(job.started <= job.ended for job in (done, failed, crashed))
    assert [line[1] for line in truth(jobs)].count("began") == 3
    assert JobStore(jobs.home).rebuild() == 3
    assert jobs.get(done.id) == done


def test_what_cannot_be_submitted_leaves_nothing(there, monkeypatch):
    jobs = there.jobs
    jobs.pause()
    before = sorted((jobs.home / "jobs").iterdir())
    with pytest.raises(UsageError, match="DEVICE"):
        jobs.submit([config("a"), config("b", device="cuda", devices=2)], request=there.request)
    assert jobs.list() == []
    assert sorted((jobs.home / "jobs").iterdir()) == before


# Ends -------------------------------------------------------------------------------------------


def test_cancel_ends_child_and_grandchild(there):
    job = there.began("stubborn wait:go")
    until(lambda: len(processes.marked(job.id)) == 3)
    there.jobs.cancel(job.id)
    job = ended(there.jobs, job.id)
    assert (job.state, job.failure) == (JobState.CANCELLED, None)
    assert processes.marked(job.id) == []
    assert there.jobs.cancel(job.id) == job  # again: an end never changes


def test_a_job_that_ends_with_0_when_it_is_cancelled_is_cancelled(there):
    job = there.began("polite wait:go")
    there.jobs.cancel(job.id)
    assert ended(there.jobs, job.id).state is JobState.CANCELLED


def test_a_job_cancelled_before_it_starts_never_runs(there):
    jobs = there.jobs
    if there.request is None:
        jobs.pause()
    else:  # more memory than is free while another runs on each node
        there.request = SlurmRequest(cpus=1, memory=7, minutes=10, nodes=2)
        (running,) = jobs.submit([config("wait:go", devices=2)], request=there.request)
        until(lambda: told(jobs, running, "began"))
    (job,) = jobs.submit([config("step:1", devices=2)], request=there.request)
    jobs.cancel(job.id)
    cancelled = ended(jobs, job.id)
    assert (cancelled.state, cancelled.exit_code) == (JobState.CANCELLED, None)
    let(jobs, "go")
    assert not told(jobs, job, "began")


def test_an_end_never_changes(there):
    (job,) = there.submit("step:1")
    before = ended(there.jobs, job.id)
    store = JobStore(there.jobs.home)
    assert store.end(before, Outcome(state=JobState.FAILED)) is None
    assert store.follow(before, state=JobState.FAILED) is None
    there.jobs.tick()
    assert there.jobs.get(job.id) == before


def test_a_job_whose_supervisor_is_killed_is_lost(there):
    """Every acknowledged job reaches an end that is true."""
    job = there.began("stubborn wait:go")
    until(lambda: len(processes.marked(job.id)) == 3)
    os.kill(job.supervisor.pid, signal.SIGKILL)
    lost = ended(there.jobs, job.id)
    assert (lost.state, lost.failure.code, lost.run) == (JobState.LOST, "LOST", "")
    if Promise.TREE in there.cannot:  # the cluster of this suite traces processes by their parents
        processes.end(lambda: processes.marked(job.id), 0.0)
    assert processes.marked(job.id) == []


def test_a_run_that_was_kept_counts_though_its_supervisor_was_killed(there):
    job = there.began("wait:go")
    there.jobs.folder(job.id).finish({"state": "succeeded", "run": job.id})
    os.kill(job.supervisor.pid, signal.SIGKILL)
    done = ended(there.jobs, job.id)
    assert (done.state, done.run) == (JobState.SUCCEEDED, job.id)


def test_a_time_limit_ends_it(there):
    (job,) = there.jobs.submit([config("sleep:600")], request=there.request, time_limit=1.0)
    job = ended(there.jobs, job.id)
    assert (job.state, job.failure.code) == (JobState.FAILED, "TIME_LIMIT")
    assert processes.marked(job.id) == []


# Starts -----------------------------------------------------------------------------------------


def test_who_looks_at_once_and_often_starts_nothing_twice(there):
    submitted = there.submit(*["step:1"] * 3)
    others = [LocalJobs(there.jobs.home) for _ in range(3)]
    while any(not job.state.ended for job in there.jobs.list()):
        for other in others:
            other.tick()
        time.sleep(0.05)
    assert {job.state for job in there.jobs.list()} == {JobState.SUCCEEDED}
    began = [line[0] for line in truth(there.jobs) if line[1] == "began"]
    assert sorted(began) == sorted(job.id for job in submitted)


def test_a_retry_is_a_new_job_of_the_same_launcher(there):
    (job,) = there.submit("step:1 exit:3")
    first = ended(there.jobs, job.id)
    again = there.jobs.retry(job.id)
    assert (again.launcher, again.request, again.parent) == (job.launcher, there.request, job.id)
    assert ended(there.jobs, again.id).exit_code == 3
    assert there.jobs.get(job.id) == first


def test_a_paused_queue_starts_nothing(there):
    there.needs(Promise.PAUSE)
    there.jobs.pause()
    (job,) = there.submit("step:1")
    there.jobs.tick()
    assert there.jobs.get(job.id).state is JobState.QUEUED
    assert truth(there.jobs) == []


def test_what_is_put_to_the_front_starts_first(there):
    there.needs(Promise.ORDER)
    there.jobs.pause()
    first, second = there.submit("step:1", "step:1")
    there.jobs.to_front(second.id)
    there.jobs.unpause()
    for job in (first, second):
        ended(there.jobs, job.id)
    began = [line[0] for line in truth(there.jobs) if line[1] == "began"]
    assert began == [second.id, first.id]


def test_jobs_outlive_who_submitted_them(there):
    """Nothing of the process that submitted has to live on; another finds the job at its end."""
    job = there.began("wait:go")
    assert job.supervisor != process_identity.identity(os.getpid())
    assert job.supervisor.pid not in processes.descendants(os.getpid()) or job.launcher == LOCAL
    let(there.jobs, "go")
    assert ended(LocalJobs(there.jobs.home), job.id).state is JobState.SUCCEEDED
