"""The queue: order, slots, priorities, pause, repeats, and a table that is lost or torn."""

import errno
import json
import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from threading import Barrier

import pytest

from core import codec, process_identity
from core.errors import LibraryError, UsageError
from core.inference.config import EvaluationConfig
from core.jobs import devices as found_devices
from core.jobs.devices import _query_driver as asked
from core.jobs.devices import devices, environment
from core.jobs.local import LocalJobs, _device_of
from core.jobs.records import Failure, Job, JobState, Outcome
from core.jobs.store import JobStore, assigned
from tests.core.jobs.conftest import config, ended, let, told, truth, until
from tests.no_files import no_file_left

GPUS = ("cuda:0", "cuda:1", "cpu")


def job(name: str, place: int, **fields: object) -> Job:
    return Job(
        id=name, kind="train", name=name, group="g", digest="d", created=0.0, place=place, **fields
    )


def starts(jobs: list[Job], slots: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.id, taken) for one, taken in assigned(jobs, slots)]


# Who starts, and where: by hand ------------------------------------------------------------------


def test_one_job_a_slot_in_the_order_they_came():
    queue = [job("b", 2), job("a", 1), job("c", 3)]
    assert starts(queue, GPUS) == [("a", ("cuda:0",)), ("b", ("cuda:1",))]
    assert starts(queue, ("cpu",)) == [("a", ("cpu",))]


def test_a_higher_priority_comes_first():
    assert starts([job("a", 1), job("b", 2, priority=1)], ("cpu",)) == [("b", ("cpu",))]


def test_auto_takes_the_cpu_only_where_there_is_no_gpu():
    busy = [job("x", 1, state=JobState.RUNNING, slots=("cuda:0",))]
    assert starts([*busy, job("a", 2)], ("cuda:0", "cpu")) == []
    assert starts([*busy, job("a", 2, wants="cpu")], ("cuda:0", "cpu")) == [("a", ("cpu",))]


def test_a_slot_by_name_waits_for_that_slot():
    busy = job("x", 1, state=JobState.STARTING, slots=("cuda:1",))
    assert starts([busy, job("a", 2, wants="cuda:1"), job("b", 3, wants="cuda")], GPUS) == [
        ("b", ("cuda:0",))
    ]


def test_a_job_that_waits_for_several_keeps_the_free_ones():
    busy = job("x", 1, state=JobState.RUNNING, slots=("cuda:0",))
    pair = job("a", 2, wants="cuda", n_devices=2)
    assert starts([busy, pair, job("b", 3, wants="cuda")], GPUS) == []
    ended = job("x", 1, state=JobState.SUCCEEDED, slots=("cuda:0",))
    assert starts([ended, pair, job("b", 3, wants="cuda")], GPUS) == [("a", ("cuda:0", "cuda:1"))]


@pytest.mark.parametrize("wants", [{"wants": "cuda:9"}, {"wants": "cuda", "n_devices": 3}])
def test_what_the_machine_does_not_have_now_waits_and_holds_nobody_up(wants):
    assert starts([job("a", 1, **wants), job("b", 2)], GPUS) == [("b", ("cuda:0",))]
    assert starts([job("a", 1, **wants)], ()) == []


@pytest.mark.parametrize("wants", ["cpu", "auto"])
def test_processes_on_the_cpu_share_its_slot(wants):
    assert starts([job("a", 1, wants=wants, n_devices=2)], ("cpu",)) == [("a", ("cpu",))]


def test_a_process_sees_its_own_slots_only():
    assert environment(("cuda:2", "cuda:0"))["CUDA_VISIBLE_DEVICES"] == "2,0"
    assert environment(("cpu",))["CUDA_VISIBLE_DEVICES"] == ""
    assert [environment(s)["CANDOR_GPUS"] for s in (("cuda:2", "cuda:0"), ("cpu",))] == ["2", "0"]


def test_a_job_comes_back_from_json():
    failure = Failure("LOST", "what", "remedy")
    whole = job("a", 1, slots=("cpu",), failure=failure, state=JobState.LOST)
    assert codec.read(Job, json.loads(json.dumps(codec.to_json(whole))), stored=True) == whole


# Through real supervisors -----------------------------------------------------------------------


def test_two_on_one_slot_run_one_after_the_other(jobs):
    first, second = jobs.submit([config("wait:go"), config("step:1")])
    until(lambda: told(jobs, first, "began"))
    jobs.tick()
    assert jobs.get(second.id).state is JobState.QUEUED
    let(jobs, "go")
    assert [ended(jobs, one.id).state for one in (first, second)] == [JobState.SUCCEEDED] * 2
    assert [line[:2] for line in truth(jobs)] == [
        [first.id, "began"], [first.id, "succeeded"], [second.id, "began"], [second.id, "succeeded"]
    ]  # fmt: skip
    assert jobs.get(first.id).ended <= jobs.get(second.id).started


def test_a_queue_goes_on_without_anybody_looking(jobs):
    """The end of one job starts the next: no page and no server has to be there."""
    submitted = jobs.submit([config("step:1") for _ in range(3)])
    until(lambda: all(told(jobs, one, "succeeded") for one in submitted))
    began = [line[0] for line in truth(jobs) if line[1] == "began"]
    assert began == [one.id for one in submitted]


def test_a_paused_queue_starts_nothing_and_one_that_goes_on_does(jobs):
    jobs.pause()
    (one,) = jobs.submit([config("step:1")])
    jobs.tick()
    assert jobs.paused
    assert jobs.get(one.id).state is JobState.QUEUED
    assert truth(jobs) == []
    jobs.unpause()
    assert ended(jobs, one.id).state is JobState.SUCCEEDED


def test_to_the_front_means_before_all_others(jobs):
    jobs.pause()
    first, second, third = jobs.submit(
        [config("step:1"), config("step:1"), config("step:1")], priority=5
    )
    jobs.to_front(third.id)
    jobs.unpause()
    for one in (first, second, third):
        ended(jobs, one.id)
    assert [line[0] for line in truth(jobs) if line[1] == "began"] == [
        third.id,
        first.id,
        second.id,
    ]


def test_a_queued_job_is_cancelled_at_once_and_never_runs(jobs):
    jobs.pause()
    (one,) = jobs.submit([config("step:1")])
    cancelled = jobs.cancel(one.id)
    assert (cancelled.state, cancelled.exit_code) == (JobState.CANCELLED, None)
    assert jobs.cancel(one.id) == cancelled
    jobs.unpause()
    jobs.tick()
    assert truth(jobs) == []


def test_jobs_of_one_submission_share_a_group_and_others_do_not(jobs):
    jobs.pause()
    pair, (alone,) = jobs.submit([config("a"), config("b")]), jobs.submit([config("c")])
    assert pair[0].group == pair[1].group != alone.group
    assert [one.id for one in jobs.list()] == [alone.id, pair[1].id, pair[0].id]


def test_a_submission_that_fails_leaves_nothing(jobs):
    jobs.pause()
    before = sorted((jobs.home / "jobs").iterdir())
    with pytest.raises(UsageError):
        jobs.submit([])
    with pytest.raises(UsageError):
        jobs.submit([config("a")] * 1001)
    for limit in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError):
            jobs.submit([config("a")], time_limit=limit)
    one, other = config("a"), config("b")
    object.__setattr__(other, "loss", {"name": object()})  # its spec cannot be written
    with pytest.raises(TypeError):
        jobs.submit([one, other])
    assert jobs.list() == []
    assert sorted((jobs.home / "jobs").iterdir()) == before


def test_a_table_that_cannot_be_opened_is_said_and_nothing_is_queued(jobs):
    jobs.pause()
    (jobs.home / "jobs.sqlite").mkdir()
    with pytest.raises(LibraryError) as caught:
        jobs.submit([config("a")])
    assert caught.value.code == "JOBS"
    (jobs.home / "jobs.sqlite").rmdir()
    assert [path.name for path in (jobs.home / "jobs").iterdir()] == ["paused"]


@pytest.mark.parametrize("again", [False, True])
def test_what_is_queued_when_ctrl_c_comes_keeps_its_folder(again, jobs, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (before,) = jobs.submit([config("step:1")]) if again else (None,)
    if before:
        ended(jobs, before.id)
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", interrupted)
        with pytest.raises(KeyboardInterrupt):
            jobs.retry(before.id) if again else jobs.submit([config("step:1")])
    assert ended(jobs, jobs.list()[0].id).state is JobState.SUCCEEDED


def test_what_is_queued_waits_where_no_file_is_left_to_start_it(jobs, monkeypatch):
    with monkeypatch.context() as patch, ExitStack() as starved:

        class Last(sqlite3.Connection):
            def close(self) -> None:
                committed = self.total_changes
                super().close()
                if committed:
                    starved.enter_context(no_file_left())

        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Last))
        (one,) = jobs.submit([config("step:1")])
    assert jobs.get(one.id).state is JobState.QUEUED
    assert ended(jobs, one.id).state is JobState.SUCCEEDED


def test_a_device_that_is_not_there_is_refused_with_words(jobs):
    with pytest.raises(UsageError) as caught:
        jobs.submit([config("step:1"), config("step:1", device="cuda", devices=2)])
    assert caught.value.code == "DEVICE"
    assert caught.value.what == "2 of cuda is wanted; the devices for jobs here are cpu"
    with pytest.raises(UsageError, match="cuda:7 is wanted"):
        jobs.submit([config("step:1")], wants="cuda:7")
    assert jobs.list() == []


@pytest.mark.parametrize(("model", "wants"), [("onnx", "cpu"), ("small_cnn", "auto")])
def test_an_onnx_model_takes_no_gpu(model, wants):
    evaluation = object.__new__(EvaluationConfig)
    object.__setattr__(evaluation, "model", model)
    object.__setattr__(evaluation, "device", "auto")
    assert _device_of(evaluation) == wants


def test_more_processes_than_cores_are_refused_on_a_cpu(jobs, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    jobs.pause()
    jobs.submit([config("step:1", device="cpu", devices=4)])
    for device in ("cpu", "auto"):
        with pytest.raises(UsageError) as caught:
            jobs.submit([config("step:1", device=device, devices=5)])
        assert caught.value.code == "DEVICE"
        assert "this machine has 4 cores" in caught.value.what
        assert caught.value.remedy == "set devices to 1 to 4"
    assert len(jobs.list()) == 1


def test_a_device_that_goes_while_a_job_waits_for_it_fails_nobody(jobs, monkeypatch):
    """A driver that does not answer for a moment, or a look from a shell with fewer devices."""
    monkeypatch.setenv("CANDOR_DEVICES", "cpu,cuda:0")
    jobs.pause()
    (one,) = jobs.submit([config("step:1", device="cuda")])
    monkeypatch.setenv("CANDOR_DEVICES", "cpu")
    jobs.unpause()
    jobs.tick()
    assert jobs.get(one.id).state is JobState.QUEUED
    monkeypatch.setenv("CANDOR_DEVICES", "cpu,cuda:0")
    assert ended(jobs, one.id).slots == ("cuda:0",)


SMI = """#!/bin/sh
echo "$@" >> {folder}/asked
printf '0, GPU-aaaa-1, NVIDIA \\377 One, 70000, 81559\\n1, GPU-bbbb-2, Two, [N/A], 81559\\njunk\\n'
test {code} -ge 0 || kill -9 $$
exit {code}
"""


@pytest.mark.parametrize(
    ("visible", "slots"),
    [
        (None, ["cuda:0", "cuda:1", "cpu"]),
        ("1", ["cuda:1", "cpu"]),
        ("GPU-bbbb", ["cuda:1", "cpu"]),
        ("0,1", ["cuda:0", "cuda:1", "cpu"]),
        ("", ["cpu"]),
        ("-1", ["cpu"]),
    ],
)
def test_gpus_are_those_that_the_driver_names_and_the_environment_leaves(
    visible, slots, tmp_path, monkeypatch
):
    found = driver(tmp_path, monkeypatch, 0, visible)
    assert [one.slot for one in found] == slots
    sizes = {one.slot: (one.free, one.total) for one in found}
    assert sizes["cpu"] == (None, None)
    if "cuda:0" in sizes:
        assert sizes["cuda:0"] == (70000 * 2**20, 81559 * 2**20)
    if "cuda:1" in sizes:
        assert sizes["cuda:1"] == (None, 81559 * 2**20)


def test_a_driver_that_does_not_answer_is_asked_again_and_then_there_is_the_cpu(
    tmp_path, monkeypatch
):
    assert [one.slot for one in driver(tmp_path, monkeypatch, 9, None)] == ["cpu"]
    assert len((tmp_path / "asked").read_text().splitlines()) == 2


def test_where_the_driver_does_not_answer_a_job_waits_for_gpus_and_takes_no_cpu(
    tmp_path, monkeypatch
):
    """Killed, or without an answer in time: nobody can tell that there is no GPU."""
    assert [one.slot for one in driver(tmp_path, monkeypatch, -9, None)] == ["cpu"]
    slots = found_devices.slots()
    waits = [job("a", 1), job("b", 2, wants="cuda"), job("c", 3, wants="cuda:0")]
    assert starts([*waits, job("d", 4, wants="cpu")], slots) == [("d", ("cpu",))]
    monkeypatch.setenv("CANDOR_DEVICES", "cuda:1")
    assert starts(waits, found_devices.slots()) == [("a", ("cuda:1",))]
    driver(tmp_path, monkeypatch, 18, None)  # another version than its library's
    assert starts([job("a", 1)], found_devices.slots()) == [("a", ("cpu",))]


@pytest.mark.parametrize(
    ("torch_says", "slots"),
    [
        ('[0, "The NVIDIA driver on your system is too old"]', ["cpu"]),
        ('[1, ""]', ["cuda:0", "cpu"]),
        ('[2, ""]', ["cuda:0", "cuda:1", "cpu"]),
        ("words", ["cuda:0", "cuda:1", "cpu"]),  # no answer: a job's own process refuses
    ],
)
def test_gpus_that_pytorch_does_not_see_are_no_slots(
    torch_says, slots, tmp_path, monkeypatch, caplog
):
    """That it sees all is kept on the disk; what it lacks may pass, and it is asked again."""
    for _ in range(2):
        found = driver(tmp_path, monkeypatch, 0, None, torch_says)
        assert [one.slot for one in found] == slots
    asked_times = len((tmp_path / "torch").read_text().splitlines())
    assert asked_times == (1 if torch_says.startswith("[2") else 2)
    said = [message for message in caplog.messages if message.startswith("PyTorch sees ")]
    assert len(said) == (2 if "[0" in torch_says or "[1" in torch_says else 0)
    assert all("of 2 GPUs" in message for message in said)


def test_gpus_are_counted_by_a_torch_without_metadata_too(tmp_path, monkeypatch):
    """As one that was built here and is only on the path."""

    def lacks(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(found_devices, "version", lacks)
    for _ in range(2):
        found = driver(tmp_path, monkeypatch, 0, None)
        assert [one.slot for one in found] == ["cuda:0", "cuda:1", "cpu"]
    assert len((tmp_path / "torch").read_text().splitlines()) == 1


def driver(
    folder: Path, monkeypatch, code: int, visible: str | None, torch_says: str = '[2, ""]'
) -> tuple:
    """What is found where programs stand in for the one of NVIDIA's driver, and for PyTorch."""
    log = folder / "torch"
    monkeypatch.setattr(
        found_devices, "TORCH", f"open({str(log)!r}, 'a').write('asked\\n'); print({torch_says!r})"
    )
    found_devices._count_of_torch.cache_clear()
    monkeypatch.setenv("CANDOR_HOME", str(folder / "home"))
    program = folder / "nvidia-smi"
    program.write_text(SMI.format(folder=folder, code=code))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.delenv("CANDOR_DEVICES", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    asked.cache_clear()
    try:
        return devices()
    finally:
        asked.cache_clear()
        found_devices._count_of_torch.cache_clear()


# Repeats ----------------------------------------------------------------------------------------


def test_a_retry_is_a_new_job_from_the_start(jobs):
    (one,) = jobs.submit([config("step:1 exit:3")])
    first = ended(jobs, one.id)
    (jobs.folder(one.id).path / "events.jsonl").write_text("{}\n")
    again = jobs.retry(one.id)
    assert (again.parent, again.relation) == (one.id, "retry")
    assert jobs.config(again.id) == jobs.config(one.id)
    assert jobs.folder(again.id).lines() == []
    assert ended(jobs, again.id).exit_code == 3
    assert jobs.get(one.id) == first


def test_a_repeat_keeps_what_was_asked_for(jobs, monkeypatch):
    monkeypatch.setenv("CANDOR_DEVICES", "cpu,cuda:0,cuda:1")
    jobs.pause()
    asked = {"wants": "cuda:1", "priority": 3, "time_limit": 60.0}
    (one,) = jobs.submit([config("step:1", device="cuda")], **asked)
    jobs.cancel(one.id)
    again = jobs.retry(one.id)
    assert {key: getattr(again, key) for key in asked} == asked
    assert (again.name, again.group, again.digest) == (one.name, one.group, one.digest)


def test_a_resumed_job_takes_over_what_the_other_left(jobs):
    (one,) = jobs.submit([config("exit:3")])
    ended(jobs, one.id)
    assert not jobs.resumable(one.id)
    with pytest.raises(UsageError, match="left no checkpoint"):
        jobs.resume(one.id)
    old = jobs.folder(one.id).path
    (old / "checkpoint").mkdir()
    (old / "checkpoint" / "epoch-00001.pt").write_bytes(b"state")
    (old / "checkpoint" / ".epoch-00002.pt.part").write_bytes(b"half")
    (old / "events.jsonl").write_text("{}\n")
    jobs.pause()
    new = jobs.folder(jobs.resume(one.id).id).path
    assert sorted(path.name for path in (new / "checkpoint").iterdir()) == ["epoch-00001.pt"]
    with (new / "events.jsonl").open("a") as file:
        file.write("more\n")
    assert (old / "events.jsonl").read_text() == "{}\n"
    (new / "checkpoint" / "epoch-00001.pt").unlink()
    assert (old / "checkpoint" / "epoch-00001.pt").read_bytes() == b"state"


def test_of_three_resumes_at_once_one_wins_and_the_others_are_told_which(jobs):
    (old,) = jobs.submit([config("exit:3")])
    ended(jobs, old.id)
    (jobs.folder(old.id).path / "checkpoint").mkdir()
    (jobs.folder(old.id).path / "checkpoint" / "epoch-00001.pt").write_bytes(b"state")
    jobs.pause()
    gate = Barrier(3)

    def resume(_):
        gate.wait()
        try:
            return LocalJobs(jobs.home).resume(old.id).id
        except UsageError as error:
            return error

    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(resume, range(3)))
    (winner,) = (answer for answer in answers if isinstance(answer, str))
    refusals = [answer for answer in answers if answer != winner]
    assert [f"{error.code}: {error.what}" for error in refusals] == [
        f"JOB: Job {old.id} is being resumed as job {winner}"
    ] * 2
    assert [job.id for job in jobs.list() if job.parent == old.id] == [winner]
    folders = jobs.folder(winner).path.parent
    assert {path.name for path in folders.iterdir() if path.is_dir()} == {old.id, winner}
    jobs.cancel(winner)  # it has ended: the older one may be resumed again
    assert jobs.resume(old.id).parent == old.id


def test_what_succeeded_is_not_resumed_and_what_runs_not_retried(jobs):
    done, runs = jobs.submit([config("step:1"), config("wait:go")])
    ended(jobs, done.id)
    with pytest.raises(UsageError, match="its run is"):
        jobs.resume(done.id)
    with pytest.raises(UsageError, match="wait, or cancel it first"):
        jobs.retry(runs.id)
    let(jobs, "go")


# The table --------------------------------------------------------------------------------------


def test_nothing_is_made_by_looking(tmp_path):
    jobs = LocalJobs(tmp_path / "home")
    jobs.tick()
    assert jobs.list() == []
    assert not jobs.paused
    with pytest.raises(LibraryError):
        jobs.get("x")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    "damage",
    ["torn", *(pytest.param(d, marks=pytest.mark.nightly) for d in ("gone", "other", "no text"))],
)
def test_a_lost_table_is_made_anew_from_the_folders(jobs, damage):
    (done,) = jobs.submit([config("step:1")])
    before = ended(jobs, done.id)
    jobs.pause()
    (waits,) = jobs.submit([config("step:1")])
    path = jobs.home / "jobs.sqlite"
    with closing(sqlite3.connect(path)) as connection:  # the last to close it: all is in one file
        connection.execute("PRAGMA user_version = 99" if damage == "other" else "SELECT 1")
    if damage == "gone":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(path.read_bytes()[:100] + b"\xff" * 8000)
    elif damage == "no text":
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE jobs SET row = CAST(x'ff' AS TEXT)")
    assert [one.id for one in jobs.list()] == [waits.id, done.id]
    assert jobs.get(done.id) == before
    assert jobs.rebuild() == 2
    jobs.unpause()
    assert ended(jobs, waits.id).state is JobState.SUCCEEDED


@pytest.mark.parametrize("act", [JobStore.all, JobStore.rebuild])
def test_a_torn_table_that_another_process_has_replaced_is_not_set_aside_again(
    act, jobs, monkeypatch
):
    """Else the supervisor of a job and its claim would be in a table that is not looked at."""
    jobs.pause()
    (one,) = jobs.submit([config("step:1")])
    (jobs.home / "jobs" / "paused").unlink()
    path = jobs.home / "jobs.sqlite"
    path.write_bytes(path.read_bytes()[:100] + b"\xff" * 8000)
    me = process_identity.identity(os.getpid())
    claimed: list[tuple[Job, int]] = []
    with monkeypatch.context() as patch:

        class Late(sqlite3.Connection):
            def execute(self, text: str, *values: object) -> sqlite3.Cursor:
                try:
                    return super().execute(text, *values)
                except sqlite3.DatabaseError:
                    patch.undo()
                    claim = JobStore(jobs.home).claim(me, ("cpu",))
                    claimed.append((claim, path.stat().st_ino))
                    raise

        patch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Late))
        act(JobStore(jobs.home))
    ((claim, number),) = claimed
    assert claim.id == one.id
    assert path.stat().st_ino == number
    assert len(list(jobs.home.glob("jobs.sqlite.damaged-*"))) == 1
    assert JobStore(jobs.home).get(one.id) == claim


def test_a_folder_that_holds_another_jobs_state_is_nobodys(jobs):
    jobs.pause()
    (one,) = jobs.submit([config("step:1")])
    copy = jobs.home / "jobs" / "copy"
    copy.mkdir()
    state = (jobs.folder(one.id).path / "state.json").read_text()
    copy.joinpath("state.json").write_text(state)
    odd = [
        {"place": "1"},
        {"state": "asleep"},
        {"slots": "cpu"},
        {"supervisor": {}},
        {"more": 1},
        {"launcher": "x"},
    ]
    changed = [json.dumps(json.loads(state) | {"id": f"bad{n}"} | odd[n]) for n in range(len(odd))]
    for n, text in enumerate([*changed, "{", "[]", "{}"]):
        other = jobs.home / "jobs" / f"bad{n}"
        other.mkdir()
        (other / "state.json").write_text(text)
    assert jobs.rebuild() == 1
    assert [found.id for found in jobs.list()] == [one.id]


def test_what_a_stale_copy_calls_queued_is_not_run_again(jobs):
    """A full disk may keep the copy of a state from being written."""
    jobs.pause()
    (one,) = jobs.submit([config("step:1")])
    path = jobs.folder(one.id).path / "state.json"
    queued = path.read_text()
    jobs.unpause()
    ended(jobs, one.id)
    path.write_text(queued)
    jobs.rebuild()
    assert ended(jobs, one.id).state is JobState.SUCCEEDED
    assert [line[1] for line in truth(jobs)].count("began") == 1


def test_a_folder_that_cannot_be_written_keeps_no_table_from_being_made_anew(jobs, monkeypatch):
    jobs.pause()
    one, other = jobs.submit([config("a"), config("b")])
    folder, replace = jobs.folder(one.id).path, Path.replace

    def refused(path: Path, target: Path) -> Path:
        if path.parent == folder:
            raise PermissionError(errno.EACCES, "Permission denied")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refused)
    assert jobs.rebuild() == 2
    assert [found.id for found in jobs.list()] == [other.id, one.id]


def test_a_copy_that_no_table_can_take_stops_no_other(jobs):
    jobs.pause()
    one, other = jobs.submit([config("a"), config("b")])
    path = jobs.folder(one.id).path / "state.json"
    path.write_text(path.read_text().replace('"generation": 0', '"generation": null'))
    assert jobs.rebuild() == 1
    assert [found.id for found in jobs.list()] == [other.id]


def test_the_table_is_for_its_owner_alone(jobs):
    jobs.home.mkdir(mode=0o755)
    jobs.pause()
    jobs.submit([config("a")])
    modes = {path.name: path.stat().st_mode & 0o777 for path in jobs.home.iterdir()}
    assert modes.pop("jobs") == 0o700
    assert set(modes.values()) == {0o600}


def test_many_that_come_first_at_once_are_all_served(tmp_path):
    """Eight processes on a home that is not there yet."""
    text = (
        "import sys; from pathlib import Path; from core.jobs.store import JobStore;"
        "JobStore(Path(sys.argv[1])).pause(paused=True); JobStore(Path(sys.argv[1])).add([])"
    )
    root = Path(__file__).parents[3]
    first = [
        subprocess.Popen([sys.executable, "-c", text, tmp_path / "home"], cwd=root)
        for _ in range(8)
    ]
    assert [one.wait() for one in first] == [0] * 8


def test_an_end_never_changes(jobs):
    (one,) = jobs.submit([config("step:1")])
    before = ended(jobs, one.id)
    store = JobStore(jobs.home)
    assert store.end(before, Outcome(state=JobState.FAILED)) is None
    assert store.running(before) is None
    assert jobs.cancel(one.id) == jobs.to_front(one.id) == jobs.get(one.id) == before


# Many at once (J2) ------------------------------------------------------------------------------

APP = """
import sys, time
from pathlib import Path
from core.jobs import processes
from core.jobs.local import _device_of, LocalJobs
from tests.core.jobs.conftest import config
processes.SUPERVISOR = "tests.core.jobs.supervise"
jobs = LocalJobs(Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    jobs.submit([config("sleep:0")])
    jobs.tick()
while any(not job.state.ended for job in jobs.list()):
    jobs.tick()
    time.sleep(0.5)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "each",
    [1, pytest.param(5, marks=pytest.mark.nightly), pytest.param(50, marks=pytest.mark.soak)],
)
def test_four_apps_that_submit_at_once_start_each_job_once(each, jobs, monkeypatch):
    slots = ["cpu", "cuda:0", "cuda:1"]
    monkeypatch.setenv("CANDOR_DEVICES", ",".join(slots))
    root = Path(__file__).parents[3]
    apps = [
        subprocess.Popen([sys.executable, "-c", APP, jobs.home, str(each)], cwd=root)
        for _ in range(4)
    ]
    assert [app.wait(600) for app in apps] == [0] * 4
    found = jobs.list()
    assert len(found) == 4 * each
    # The trainer locks its slot and fails where another holds it.
    assert {one.state for one in found} == {JobState.SUCCEEDED}
    began = [line[0] for line in truth(jobs) if line[1] == "began"]
    assert sorted(began) == sorted(one.id for one in found)
    with sqlite3.connect(jobs.home / "jobs.sqlite") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
