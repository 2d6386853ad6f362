"""One job and its supervisor: how it ends, how it is ended, what it prints, who is left over."""

import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from core import codec, process_identity
from core.jobs import processes
from core.jobs.failures import (
    LIMIT,
    Follower,
    Log,
    explain,
    lost,
    tail,
    time_limit,
    unwatched,
)
from core.jobs.records import Failure, Job, JobState, Outcome, silence, watched
from core.jobs.store import JobStore
from tests.core.jobs.conftest import config, ended, let, told, until
from tests.core.jobs.trainer import GRACE_S
from tests.no_files import next_process_unseen


def run(jobs, words: str, **fields: object) -> Job:
    """A job from its submission to its end."""
    (one,) = jobs.submit([config(words)], **fields)
    return ended(jobs, one.id)


def began(jobs, words: str) -> Job:
    (one,) = jobs.submit([config(words)])
    until(lambda: told(jobs, one, "began"))
    until(lambda: jobs.get(one.id).state is not JobState.STARTING)  # told by another process
    return jobs.get(one.id)


def marked(job: Job) -> list[int]:
    return processes.marked(job.id)


# How it ended -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "exit_code", "what"),
    [
        ("raise:exception", "EXCEPTION", 1, "ValueError: three is not two"),
        ("exit:3", "EXIT_CODE", 3, "Its process ended with exit code 3"),
        ("kill:SIGSEGV", "SIGNAL", -11, "It crashed (SIGSEGV)"),
        ("kill:SIGKILL", "SIGNAL", -9, "It was killed (SIGKILL); memory may have run out"),
        ("kill:SIGTERM", "SIGNAL", -15, "It was ended from outside (SIGTERM)"),
        ("raise:memory", "HOST_MEMORY", 1, "The machine's memory ran out (MemoryError)"),
        ("raise:disk", "DISK_FULL", 1, "The disk is full (OSError: [Errno 28] No space left"),
        ("raise:import", "IMPORT", 1, "A package that it needs cannot be loaded (Module"),
        ("raise:cuda", "DEVICE", 1, "The GPU that it needs cannot be used (RuntimeError: CUDA"),
        (
            "oom",
            "DEVICE_MEMORY",
            1,
            "The GPU's memory ran out (OutOfMemoryError: CUDA",
        ),
        ("deep:20", "DEVICE_MEMORY", 1, "The GPU's memory ran out (OutOfMemoryError: CUDA"),
    ],
)
def test_every_way_to_fail_has_its_card(words, code, exit_code, what, jobs):
    job = run(jobs, f"step:2 {words}")
    assert (job.state, job.exit_code, job.run) == (JobState.FAILED, exit_code, "")
    assert job.failure.code == code
    assert job.failure.what.startswith(what)
    if code in {"DEVICE_MEMORY", "HOST_MEMORY"} or exit_code == -9:
        assert "halve the batch size to 64" in job.failure.remedy
    assert jobs.log(job.id, 500)[:2] == ["epoch 1", "epoch 2"]
    assert job.started < job.ended


UNSTARTED = """
import errno, os, subprocess, sys, threading
from pathlib import Path
from core.jobs import supervisor
def refuse(*_, **__):
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
def refuse_thread(_):
    raise RuntimeError("can't start new thread")
if sys.argv[2] == "process":
    subprocess.Popen = refuse
else:
    threading.Thread.start = refuse_thread
sys.exit(supervisor.main(Path(sys.argv[1]), {"train": "tests.core.jobs.trainer"}))
"""


@pytest.mark.parametrize("lacks", ["process", "thread"])
def test_where_no_process_can_be_started_jobs_wait_and_one_that_was_taken_fails(
    lacks, jobs, monkeypatch, caplog
):
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    processes.warn.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", refuse)
        (job,) = jobs.submit([config("wait:never")])
        jobs.tick()
    assert jobs.get(job.id).state is JobState.QUEUED
    (warning,) = caplog.records  # not at every look
    assert "raise ulimit -u" in warning.getMessage()
    assert warning.exc_info is None
    subprocess.run([sys.executable, "-c", UNSTARTED, str(jobs.home), lacks], check=True)
    job = jobs.get(job.id)
    assert job.state is JobState.FAILED
    assert job.failure.what == "No further process or thread may be started"
    assert "raise ulimit -u" in job.failure.remedy
    assert not marked(job)


def test_a_supervisor_imports_no_arrays():
    """It waits beside every job, for days, in as little memory as it can."""
    code = "import sys, core.jobs.supervisor; sys.exit('numpy' in sys.modules)"
    root = Path(__file__).parents[3]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_a_kernel_that_says_it_killed_is_believed():
    killed = explain(-9, None, (), {"batch_size": 7}, 1, "train")
    assert (killed.code, killed.remedy.split(",")[0]) == (
        "HOST_MEMORY",
        "halve the batch size to 3",
    )
    assert explain(-9, None, (), {"batch_size": 1}, 0, "train").remedy.startswith(
        "halve the batch size, or"
    )


def test_the_trainers_own_words_come_before_the_log():
    own = {"state": "failed", "error": {"code": "SETTING", "what": "w", "where": "", "remedy": "r"}}
    lines = ("Traceback (most recent call last):", "ValueError: no")
    assert explain(3, own, lines, {}, 0, "train").code == "SETTING"
    assert explain(1, None, lines, {}, 0, "train").what == "ValueError: no"
    assert (
        explain(1, None, ("ValueError: printed, not raised",), {}, 0, "train").code == "EXIT_CODE"
    )


@pytest.mark.parametrize(
    ("result", "cancelled", "expected"),
    [
        ({"state": "succeeded", "run": "r1"}, True, Outcome(state=JobState.SUCCEEDED, run="r1")),
        (None, True, Outcome(state=JobState.CANCELLED)),
        (
            {"state": "failed", "error": {"code": "SETTING", "what": "w", "remedy": "r"}},
            False,
            Outcome(state=JobState.FAILED, failure=Failure("SETTING", "w", "r")),
        ),
        (None, False, Outcome(state=JobState.LOST, failure=lost("It was killed", "train"))),
    ],
)
def test_a_job_that_nobody_watched_ends_as_its_process_says(result, cancelled, expected):
    killed = lost("It was killed", "train")
    assert unwatched(result, cancelled=cancelled, otherwise=killed) == expected


@pytest.mark.parametrize("code", [1, -9, -11])
def test_only_a_training_is_resumed_from_a_checkpoint(code):
    for kind, advised in (("train", True), ("evaluate", False)):
        for explained in (
            explain(code, None, (), {}, 0, kind),
            lost("Its supervisor was killed", kind),
            time_limit(60, kind),
        ):
            assert ("checkpoint" in explained.remedy) == advised
            assert "retry it" in explained.remedy


def test_a_traceback_long_before_the_end_does_not_hide_what_killed_the_process():
    lines = ["Traceback (most recent call last):", '  File "x", line 1', "ValueError: handled"]
    for n_more, code in ((49, "EXCEPTION"), (50, "HOST_MEMORY"), (300, "HOST_MEMORY")):
        log = [*lines, *[f"epoch {i}" for i in range(n_more)]]
        assert explain(-9, None, log, {}, 1, "train").code == code
        assert explain(1, None, log, {}, 0, "train").what == "ValueError: handled"


@pytest.mark.parametrize(
    ("last", "code", "card"),
    [
        ("Cuda failure 2 'out of memory'", "DEVICE_MEMORY", "The GPU's memory ran out"),
        ("Error while creating shared memory segment /dev/shm/nccl-Wjv (size 33030528)",
         "HOST_MEMORY", "The shared memory of the machine ran out"),
        ("Cuda failure 999 'unknown error'", "DEVICE", "The GPUs could not exchange their results"),
    ],
)  # fmt: skip
def test_what_nccl_raises_is_read_to_its_end(last, code, card):
    raised = "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:328, unhandled cuda"
    lines = ["Traceback (most recent call last):", '  File "x", line 1', raised,
             "ncclUnhandledCudaError: Call to CUDA function failed.", last]  # fmt: skip
    found = explain(1, None, lines, {"batch_size": 8}, 0, "train")
    assert (found.code, found.what) == (code, f"{card} ({raised})")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 9 TiB", "HOST_MEMORY"),
        ("torch.AcceleratorError: CUDA error: out of memory", "DEVICE_MEMORY"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "DEVICE_MEMORY"),
        ("RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed.", "HOST_MEMORY"),
        ("AssertionError: Torch not compiled with CUDA enabled", "DEVICE"),
        ("core.errors.LibraryError: DISK_FULL: Epoch 1 cannot be written (No space left on device)",
         "DISK_FULL"),
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please",
         "DEVICE"),
        ("torch.AcceleratorError: CUDA error: no kernel image is available for execution on the "
         "device", "DEVICE"),
        ("torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:328, unhandled system "
         "error", "DEVICE"),
        ("torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered", "DEVICE"),
        ("KeyError: 'a'", "EXCEPTION"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("rank", ["", "[rank1]: "])
def test_what_raised_is_found_behind_the_name_of_a_rank_too(rank, line, code):
    lines = [f"{rank}Traceback (most recent call last):", f'{rank}  File "x", line 1', rank + line]
    assert explain(1, None, lines, {}, 0, "train").code == code
    # The first of several processes that fails takes the others with it.
    assert explain(-9, None, lines, {}, 0, "train").code == code
    assert explain(-11, None, lines, {}, 0, "train").code == (
        "SIGNAL" if code == "EXCEPTION" else code
    )


def test_what_it_wrote_at_its_end_counts_more_than_how_its_process_went(jobs):
    """The run is kept before the process ends: a crash on the way out loses nothing."""
    (one,) = jobs.submit([config("wait:go")])
    until(lambda: told(jobs, one, "began"))
    folder = jobs.folder(one.id)
    folder.finish({"state": "succeeded", "run": one.id})
    os.kill(marked(one)[0], signal.SIGSEGV)
    job = ended(jobs, one.id)
    assert (job.state, job.exit_code, job.run) == (JobState.SUCCEEDED, -11, one.id)


@pytest.mark.parametrize("seconds", [1.0, 3.0])  # before and after the first beat
def test_a_time_limit_ends_it(seconds, jobs):
    job = run(jobs, "sleep:60", time_limit=seconds)
    assert (job.state, job.failure.code) == (JobState.FAILED, "TIME_LIMIT")
    assert job.failure.what == f"Its time limit of {seconds:g} s was reached"
    assert job.ended - job.started >= seconds
    assert marked(job) == []


# Cancelling (J4) --------------------------------------------------------------------------------


def test_cancel_ends_children_and_a_grandchild_in_a_session_of_its_own(jobs):
    job = began(jobs, "stubborn wait:go")
    until(lambda: len(marked(job)) == 3)
    asked = time.monotonic()
    jobs.cancel(job.id)
    job = ended(jobs, job.id)
    assert job.state is JobState.CANCELLED
    assert marked(job) == []
    # All three ignore SIGTERM, so it takes the grace, and hardly more.
    assert GRACE_S <= time.monotonic() - asked < GRACE_S + processes.KILL_S


def test_a_cancelled_job_that_ends_with_0_is_cancelled_all_the_same(jobs):
    job = began(jobs, "polite wait:go")
    jobs.cancel(job.id)
    assert jobs.cancel(job.id).asked == "cancel"
    job = ended(jobs, job.id)
    assert job.state is JobState.CANCELLED
    assert jobs.cancel(job.id) == job


def test_a_job_is_cancelled_while_it_starts(jobs):
    """Claimed, its process not yet there: the supervisor finds the wish when it looks."""
    jobs.pause()
    (one,) = jobs.submit([config("wait:go")])
    (jobs.home / "jobs" / "paused").unlink()
    store = JobStore(jobs.home)
    me = process_identity.identity(os.getpid())
    claimed = store.claim(me, ("cpu",))
    assert claimed.state is JobState.STARTING
    assert jobs.cancel(one.id).state is JobState.STARTING
    assert store.running(claimed).asked == "cancel"
    assert store.end(claimed, Outcome(state=JobState.CANCELLED)).state is JobState.CANCELLED


def test_what_a_job_leaves_behind_goes_with_it(jobs):
    job = run(jobs, "orphan step:1")
    assert job.state is JobState.SUCCEEDED
    assert marked(job) == []


# Lost -------------------------------------------------------------------------------------------


def test_a_killed_supervisor_loses_the_job_and_no_process_stays(jobs):
    job = began(jobs, "stubborn wait:go")
    until(lambda: len(marked(job)) == 3)
    os.kill(job.supervisor.pid, signal.SIGKILL)
    job = ended(jobs, job.id)
    assert (job.state, job.failure.code, job.exit_code) == (JobState.LOST, "LOST", None)
    assert marked(job) == []


def test_a_killed_supervisor_of_a_job_that_had_succeeded_loses_nothing(jobs):
    job = began(jobs, "wait:go")
    jobs.folder(job.id).finish({"state": "succeeded", "run": job.id})
    os.kill(job.supervisor.pid, signal.SIGKILL)
    job = ended(jobs, job.id)
    assert (job.state, job.run) == (JobState.SUCCEEDED, job.id)


def test_a_supervisor_that_is_asked_to_end_takes_its_job_with_it(jobs):
    job = began(jobs, "wait:go")
    (waits,) = jobs.submit([config("step:1")])
    os.kill(job.supervisor.pid, signal.SIGTERM)
    until(lambda: jobs.get(job.id).state.ended)  # it says so itself
    job = jobs.get(job.id)
    assert (job.state, job.exit_code) == (JobState.LOST, -15)
    assert marked(job) == []
    until(lambda: not process_identity.alive(job.supervisor))
    assert jobs.get(waits.id).state is JobState.QUEUED  # a machine that shuts down starts nothing


@pytest.mark.parametrize("wrong", [{"start": 1}, {"boot": "another:1"}])
def test_another_process_with_the_same_pid_is_not_touched(wrong, jobs, tmp_path):
    """J6: the record names a pid that somebody else has now."""
    jobs.pause()
    (one,) = jobs.submit([config("wait:go")])
    (jobs.home / "jobs" / "paused").unlink()
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        who = replace(process_identity.identity(bystander.pid), **wrong)
        assert JobStore(jobs.home).claim(who, ("cpu",)).id == one.id
        jobs.tick()
        job = jobs.get(one.id)
        assert (job.state, job.failure.code) == (JobState.LOST, "LOST")
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_a_job_is_not_ended_by_who_cannot_see_its_supervisor(jobs, monkeypatch):
    job = began(jobs, "wait:go")
    with next_process_unseen(monkeypatch):
        jobs.tick()
    assert jobs.get(job.id) == job
    let(jobs, "go")
    assert ended(jobs, job.id).state is JobState.SUCCEEDED


def test_cancelling_a_job_whose_supervisor_is_gone_ends_its_process(jobs):
    job = began(jobs, "wait:go")
    os.kill(job.supervisor.pid, signal.SIGKILL)
    until(lambda: not process_identity.alive(job.supervisor))
    assert jobs.cancel(job.id).state is JobState.CANCELLED
    assert marked(job) == []


def test_a_table_that_is_held_for_long_ends_no_training(jobs, monkeypatch):
    """The supervisor cannot say that its job runs, and says it later."""
    (one,) = jobs.submit([config("wait:held step:3")])
    until(lambda: told(jobs, one, "began"))
    with closing(sqlite3.connect(jobs.home / "jobs.sqlite", isolation_level=None)) as held:
        held.execute("BEGIN IMMEDIATE")
        let(jobs, "held")
        until(lambda: "epoch 3" in jobs.log(one.id))
        held.execute("ROLLBACK")
    assert ended(jobs, one.id).state is JobState.SUCCEEDED


def test_the_clock_of_a_beat_is_the_boots(jobs, monkeypatch):
    """J10: a change of date makes nobody late."""
    job = began(jobs, "wait:go")
    folder = jobs.folder(job.id).path
    monkeypatch.setattr(time, "time", lambda: 4e9)
    assert silence(folder) < 60
    jobs.tick()
    assert jobs.get(job.id).state is JobState.RUNNING


def test_a_supervisor_that_sleeps_is_late_but_not_lost(jobs):
    """J10: as after the suspend of a laptop."""
    job = began(jobs, "wait:go")
    os.kill(job.supervisor.pid, signal.SIGSTOP)
    try:
        beat = jobs.folder(job.id).path / "beat"
        boot, at = beat.read_text().rsplit(" ", 1)
        beat.write_text(f"{boot} {float(at) - 600}")
        jobs.tick()
        assert jobs.get(job.id).state is JobState.RUNNING
        assert jobs.silent(job.id) > 600
    finally:
        os.kill(job.supervisor.pid, signal.SIGCONT)
    until(lambda: jobs.silent(job.id) is None)
    let(jobs, "go")
    assert ended(jobs, job.id).state is JobState.SUCCEEDED


def test_in_another_container_the_beat_decides(tmp_path):
    boot = process_identity.this_boot().split(":")[0]
    there = process_identity.ProcessIdentity(f"{boot}:1", os.getpid(), 1, "x")
    job = Job("a", "train", "a", "g", "d", 0.0, supervisor=there, state=JobState.RUNNING)
    assert not watched(job, tmp_path)
    (tmp_path / "beat").write_text(f"{boot}:1 {time.monotonic() - 50}")
    assert watched(job, tmp_path)
    (tmp_path / "beat").write_text(f"{boot}:1 {time.monotonic() - 70}")
    assert not watched(job, tmp_path)
    (tmp_path / "beat").write_text(f"another:1 {time.monotonic()}")
    assert not watched(job, tmp_path)


def test_on_another_machine_the_date_of_the_beat_decides_and_after_a_restart_nothing(tmp_path):
    far = process_identity.ProcessIdentity("another:1", os.getpid(), 1, "elsewhere")
    job = Job("a", "train", "a", "g", "d", 0.0, supervisor=far, state=JobState.RUNNING)
    assert not watched(job, tmp_path)
    beat = tmp_path / "beat"
    beat.write_text("another:1 5.0")
    assert watched(job, tmp_path)
    os.utime(beat, (time.time() - 700, time.time() - 700))
    assert not watched(job, tmp_path)
    os.utime(beat)
    here = replace(far, host=process_identity.this_host())
    assert not watched(replace(job, supervisor=here), tmp_path)


def test_a_job_taken_from_its_supervisor_is_ended_by_it(jobs):
    """A supervisor whose job is no longer its own must not go on with it."""
    job = began(jobs, "wait:go")
    store = JobStore(jobs.home)
    assert store.end(job, Outcome(state=JobState.LOST)).state is JobState.LOST
    until(lambda: not process_identity.alive(job.supervisor))
    assert marked(job) == []
    assert jobs.get(job.id).state is JobState.LOST


# A server that ends (J3), and what a job inherits (J11) ------------------------------------------

APP = """
import signal, sys, time
from pathlib import Path
from core.jobs import processes
from core.jobs.local import LocalJobs
from tests.core.jobs.conftest import config
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
processes.SUPERVISOR = "tests.core.jobs.supervise"
ends = ("", " exit:5", " kill:SIGSEGV")
LocalJobs(Path(sys.argv[1])).submit(
    [config(f"step:9 wait:go{end}", device="cuda") for end in ends]
)
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        *(pytest.param(how, marks=pytest.mark.nightly) for how in (signal.SIGTERM, signal.SIGINT)),
    ],
)
def test_jobs_outlive_the_server_and_are_found_again(how, jobs, monkeypatch):
    monkeypatch.setenv("CANDOR_DEVICES", "cuda:0,cuda:1,cuda:2")
    root = Path(__file__).parents[3]
    app = subprocess.Popen([sys.executable, "-c", APP, jobs.home], cwd=root)
    try:
        until(lambda: sum(told(jobs, one, "began") for one in jobs.list()) == 3)
    finally:
        app.send_signal(how)
        app.wait()
    assert {one.state for one in jobs.list()} <= {JobState.STARTING, JobState.RUNNING}
    for one in jobs.list():
        until(lambda one=one: "epoch 9" in jobs.log(one.id))  # its log goes on
    let(jobs, "go")
    found = sorted((ended(jobs, one.id) for one in jobs.list()), key=lambda one: one.place)
    assert [one.exit_code for one in found] == [0, 5, -11]
    assert [one.state for one in found] == [JobState.SUCCEEDED, JobState.FAILED, JobState.FAILED]


def test_no_zombie_stays_of_those_that_this_process_started(jobs):
    for one in jobs.submit([config("orphan step:1"), config("exit:3")]):
        assert ended(jobs, one.id).supervisor.pid != os.getpid()

    def dead() -> list[int]:
        pids = processes.descendants(os.getpid())
        return [pid for pid in pids if process_identity.identity(pid) is None]

    until(lambda: not dead())


def test_a_supervisor_holds_no_socket_and_no_table_open(jobs):
    job = began(jobs, "wait:go")

    def held(pid: int) -> set[str]:
        return {str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}

    (trainer,) = marked(job)
    for pid in (job.supervisor.pid, trainer):
        assert os.getsid(pid) == pid  # a session of its own
        until(lambda pid=pid: not any("socket:" in one or ".sqlite" in one for one in held(pid)))
    let(jobs, "go")
    ended(jobs, job.id)


# Logs (J9) --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("mebibytes", [32, pytest.param(1024, marks=pytest.mark.soak)])
def test_a_flood_stays_small_and_its_end_can_be_read(mebibytes, jobs):
    job = run(jobs, f"flood:{mebibytes}")
    assert job.state is JobState.SUCCEEDED
    folder = jobs.folder(job.id).path
    sizes = [path.stat().st_size for path in folder.glob("log*.txt")]
    assert len(sizes) == 2
    assert max(sizes) <= LIMIT
    lines = jobs.log(job.id)
    assert len(lines) == 50
    assert lines[-1] == "red <b>bold</b> nul **end**"
    assert set(lines[-2]) == {"x"}


@pytest.mark.nightly
def test_the_log_turns_over_at_its_limit_and_reads_across(tmp_path):
    log = Log(tmp_path)
    line = b"%07d\n"
    for n in range(LIMIT // 8):
        log.write(line % n)
    assert not (tmp_path / "log.1.txt").exists()
    log.write(line % 9_999_999)
    assert log.last(2) == ["0262143", "9999999"]
    assert (tmp_path / "log.1.txt").stat().st_size == LIMIT
    assert tail(tmp_path, 3) == ["0262142", "0262143", "9999999"]


def test_lines_are_harmless(tmp_path):
    (tmp_path / "log.txt").write_bytes(
        b"a\x1b[2J\x1b]0;title\x07b\n10 %\r50 %\r100 %\r\n\xff\xfe \x00tab\there\n" + b"y" * 5000
    )
    shown = tail(tmp_path, 10)
    assert shown[:3] == ["ab", "100 %", "\ufffd\ufffd tab    here"]
    assert len(shown[3]) == 2002
    assert tail(tmp_path, 1) == shown[3:]
    assert tail(tmp_path / "nothing", 5) == []


def test_a_log_is_followed_line_by_line_also_past_its_turning(tmp_path):
    follower, log = Follower(tmp_path), Log(tmp_path)
    assert follower.new() == []
    log.write(b"one\ntw")
    assert follower.new() == ["one"]
    log.write(b"o\n")
    assert follower.new() == ["two"]
    log.write(b"th")
    assert follower.new() == []
    (tmp_path / "new").write_bytes(b"xxxxxxxxxxxxx\ny")
    (tmp_path / "new").replace(tmp_path / "log.txt")
    assert follower.new() == ["xxxxxxxxxxxxx"]
    assert follower.rest() == ["y"]


def test_a_full_disk_keeps_the_end_of_a_log_in_memory(tmp_path):
    log = Log(tmp_path / "gone")  # no folder: nothing can be written there
    log.write(b"Traceback (most recent call last):\nOSError: [Errno 28] No space left on device\n")
    assert explain(1, None, log.last(50), {}, 0, "train").code == "DISK_FULL"


@pytest.mark.parametrize(
    ("how", "state", "code"), [("raised", "failed", "DISK_FULL"), ("killed", "lost", "LOST")]
)
def test_a_job_ends_for_all_to_see_while_the_disk_is_full(how, state, code, tmp_path):
    mount = f'mount -t tmpfs -o size=1m none "{tmp_path}"'
    unshare = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*unshare, mount], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small disk")
    scene = [sys.executable, "-m", "tests.core.jobs.full_disk", str(tmp_path / "home"), how]
    done = subprocess.run(
        [*unshare, f'{mount} && exec "$@"', "sh", *scene],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        check=True,
    )
    assert json.loads(done.stdout) == {"state": state, "code": code, "listed": True, "later": True}


def test_what_a_full_disk_keeps_from_the_table_is_taken_in_later(jobs):
    """The end stands in the folder's copy alone; then the supervisor is killed too."""
    (job,) = jobs.submit([config("wait:go")])
    until(lambda: jobs.get(job.id).state is JobState.RUNNING)
    os.kill(jobs.get(job.id).supervisor.pid, signal.SIGKILL)
    processes.end(lambda: processes.marked(job.id), 0.0)
    store = JobStore(jobs.home)
    now = store.get(job.id)
    store._keep_copy(
        replace(now, state=JobState.FAILED, failure=Failure("DISK_FULL", "full", "free"))
    )
    assert jobs.get(job.id).state is JobState.FAILED
    assert [one.state for one in jobs.list()] == [JobState.FAILED]
    (next_one,) = jobs.submit([config("step:1")])
    assert ended(jobs, next_one.id).state is JobState.SUCCEEDED  # on the slot that was free again
    assert jobs.get(job.id).failure.code == "DISK_FULL"
    (jobs.folder(job.id).path / "state.json").unlink()
    assert jobs.get(job.id).state is JobState.FAILED  # the table has it now


def test_a_copy_from_before_that_has_no_room_is_left_whole(jobs, monkeypatch):
    jobs.pause()
    (job,) = jobs.submit([config("step:1")])
    path = jobs.folder(job.id).path / "state.json"
    path.write_text(short := json.dumps(codec.to_json(job)))

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("core.jobs.store.replace_text", full)
    jobs.to_front(job.id)
    assert path.read_text() == short
    assert jobs.get(job.id).priority == 1
