"""Checkpoints survive kill -9, full disks and flipped bytes; their sum covers all they hold."""

import copy
import json
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from core.errors import LibraryError
from core.training import checkpoint
from core.training.config import from_json
from core.training.folder import JobFolder
from core.training.job import trained
from tests.core.training.conftest import SMALL
from tests.core.training.saver import FLOATS, state_of

ROOT = Path(__file__).parents[3]
SAVER = [sys.executable, "-m", "tests.core.training.saver"]


def small(epoch: int) -> checkpoint.State:
    return {"epoch": epoch, "net": OrderedDict(weight=torch.full((2, 3), float(epoch)))}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def newest_epoch(folder: Path) -> int | None:
    found = checkpoint.newest(folder)
    return found["epoch"] if found else None


# Killed -----------------------------------------------------------------------------------------


@pytest.fixture
def saver(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*SAVER, request.param],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    ) as process:
        yield process
        process.stdin.close()


def kill_while_saving(saver: subprocess.Popen[str], folder: Path, seconds: float) -> int:
    """Kill a process so long after its first save, and return the last epoch it had saved."""
    saver.stdin.write(f"{folder}\n")
    saver.stdin.flush()
    pid = int(saver.stdout.readline())
    first = int(saver.stdout.readline())
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return max([first, *map(int, iter(saver.stdout.readline, "dead\n"))])


@pytest.mark.parametrize(
    "saver", [pytest.param("loop", marks=pytest.mark.nightly), "threaded"], indirect=True
)
@pytest.mark.parametrize("n_kills", [10, pytest.param(200, marks=pytest.mark.soak)])
def test_after_kill_9_the_last_checkpoint_is_whole_and_no_saved_epoch_is_lost(
    n_kills, saver, tmp_path
):
    unsaid = 2 if saver.args[-1] == "threaded" else 1  # saved before it could say so, at most
    draw, unfinished, epoch = random.Random(n_kills), 0, 0
    for _ in range(n_kills):
        saved = kill_while_saving(saver, tmp_path, draw.uniform(0.0, 0.03))
        unfinished += any(name.endswith(".part") for name in names(tmp_path))
        state = checkpoint.newest(tmp_path)
        assert state is not None
        assert saved <= state["epoch"] <= saved + unsaid
        assert saved > epoch
        epoch = state["epoch"]
        assert checkpoint.checksum(state) == checkpoint.checksum(state_of(epoch))
        assert torch.equal(state["net"]["weight"], state_of(epoch)["net"]["weight"])
        left = names(tmp_path)
        assert set(left[-2:]) == {f"epoch-{e:05d}.pt" for e in (epoch - 1, epoch) if e}
        assert len(left) <= 3  # one more when killed before the oldest was removed
    assert unfinished >= n_kills // 40  # or the kills did not hit what they should


# In a thread ------------------------------------------------------------------------------------


def test_what_is_trained_on_while_a_state_is_saved_does_not_reach_the_disk(tmp_path):
    net = torch.nn.Sequential(torch.nn.Linear(1000, 5000), torch.nn.BatchNorm1d(5000))
    before = copy.deepcopy(net.state_dict())
    kept = {"value": [1.0]}
    with checkpoint.CheckpointWriter(tmp_path) as writer:
        writer.save(1, {"epoch": 1, "net": net.state_dict(), "kept": kept})
        with torch.no_grad():
            for number in net.state_dict().values():
                number.add_(1)
        kept["value"].append(2.0)
    state = checkpoint.newest(tmp_path)
    assert all(torch.equal(state["net"][name], before[name]) for name in before)
    assert state["kept"] == {"value": [1.0]}
    assert vars(state["net"]) == vars(before) != {}  # versions of layers


def test_leaving_waits_for_the_last_state_also_where_training_fails(tmp_path):
    def train():
        with checkpoint.CheckpointWriter(tmp_path) as writer:
            writer.save(1, small(1))
            writer.save(2, state_of(2))
            raise RuntimeError("diverged")

    with pytest.raises(RuntimeError, match="diverged"):
        train()
    assert names(tmp_path) == ["epoch-00001.pt", "epoch-00002.pt"]


def test_what_a_thread_cannot_write_is_raised_by_the_next_save_or_at_the_end(tmp_path):
    writer = checkpoint.CheckpointWriter(tmp_path).__enter__()
    for raises in (lambda: writer.save(3, small(3)), lambda: writer.__exit__(None)):
        writer.save(1, small(1))
        with files_up_to(3 * FLOATS):
            writer.save(2, state_of(2))
            with pytest.raises(LibraryError) as caught:
                raises()
        assert (caught.value.code, names(tmp_path)) == ("DISK_FULL", ["epoch-00001.pt"])


def started(mode: str, *folders: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*SAVER, mode, *map(str, folders)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


@pytest.mark.parametrize("n_ranks", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_what_was_kept_is_saved_at_sigterm_amid_a_step_that_never_ends(n_ranks, tmp_path):
    """Of two ranks the second alone gets the signal."""
    folders = [tmp_path / str(rank) for rank in range(n_ranks)]
    with started("stuck", *folders) as process:
        printed = [process.stdout.readline() for _ in range(2 * n_ranks - 1)]
        pids = [process.pid, *(int(line) for line in printed if line != b"kept\n")]
        assert [names(folder) for folder in folders] == [["epoch-00001.pt"]] * n_ranks
        os.kill(pids[-1], signal.SIGTERM)
        try:
            assert process.wait(100) == -signal.SIGTERM
        finally:
            process.kill()
    for folder in folders:
        assert names(folder) == ["epoch-00001.pt", "epoch-00003.pt"]
        state = checkpoint.newest(folder)
        assert checkpoint.checksum(state) == checkpoint.checksum(state_of(3))


def test_no_epoch_is_finished_while_the_last_one_is_saved_at_sigterm(tmp_path):
    with started("keep", tmp_path) as process:
        printed = [int(process.stdout.readline()) for _ in range(3)]
        process.terminate()
        printed += map(int, process.stdout)
    assert process.returncode == -signal.SIGTERM
    assert 0 <= printed[-1] - checkpoint.newest(tmp_path)["epoch"] <= 1


@pytest.mark.parametrize("writable", [pytest.param(True, marks=pytest.mark.nightly), False])
def test_sigterm_after_another_signal_ends_it_whether_or_not_it_can_save(writable, tmp_path):
    folder, moved = tmp_path / "checkpoint", tmp_path / "moved"
    with started("stuck", folder) as process:
        process.stdout.readline()
        if not writable:
            folder.rename(moved)
            folder.write_text("in its place")
        process.send_signal(signal.SIGINT)  # the call that never returns keeps Python from it
        process.terminate()
        try:
            assert process.wait(100) == -signal.SIGTERM
        finally:
            process.kill()
    if writable:
        assert names(folder) == ["epoch-00001.pt", "epoch-00003.pt"]
    else:
        assert (names(moved), folder.read_text()) == (["epoch-00001.pt"], "in its place")


# Damaged ----------------------------------------------------------------------------------------


def test_the_last_two_are_kept(tmp_path):
    for epoch in range(1, 12):
        checkpoint.save(tmp_path, epoch, small(epoch))
        assert newest_epoch(tmp_path) == epoch
    assert names(tmp_path) == ["epoch-00010.pt", "epoch-00011.pt"]


def test_no_folder_or_no_checkpoint_is_no_state(tmp_path):
    assert checkpoint.newest(tmp_path) is None
    assert checkpoint.newest(tmp_path / "nothing") is None
    (tmp_path / "epoch-1.pt").write_bytes(b"not ours")
    assert checkpoint.newest(tmp_path) is None


def test_leftovers_of_a_killed_process_are_removed_and_nothing_else(tmp_path):
    checkpoint.save(tmp_path, 1, small(1))
    (tmp_path / ".epoch-00002.pt.0a1b2c3d.part").write_bytes(b"half")
    (tmp_path / "notes.part").write_bytes(b"mine")
    assert newest_epoch(tmp_path) == 1
    assert names(tmp_path) == ["epoch-00001.pt", "notes.part"]


def two_saved(folder: Path) -> tuple[Path, bytes]:
    checkpoint.save(folder, 1, small(1))
    checkpoint.save(folder, 2, small(2))
    path = folder / "epoch-00002.pt"
    return path, path.read_bytes()


def test_a_changed_number_is_passed_over(tmp_path):
    path, data = two_saved(tmp_path)
    weight = np.full(6, 2.0, np.float32).tobytes()
    assert data.count(weight) == 1
    path.write_bytes(data.replace(weight, np.full(6, 3.0, np.float32).tobytes()))
    assert newest_epoch(tmp_path) == 1


@pytest.mark.parametrize("step", [53, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("flip", [0x80, 0x01])
def test_no_flipped_byte_is_believed_or_stops_the_one_before(step, flip, tmp_path):
    path, data = two_saved(tmp_path)
    for at in range(0, len(data), step):
        changed = bytearray(data)
        changed[at] ^= flip
        path.write_bytes(changed)
        state = checkpoint.newest(tmp_path)
        assert state is not None
        # a byte that carries nothing, such as padding or a date, may change
        assert checkpoint.checksum(state) == checkpoint.checksum(small(state["epoch"]))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_a_file_cut_short_is_passed_over(share, tmp_path):
    path, data = two_saved(tmp_path)
    path.write_bytes(data[: int(share * len(data))])
    assert newest_epoch(tmp_path) == 1


def test_training_anew_after_two_damaged_ones_keeps_its_own(tmp_path):
    for epoch in (6, 7):
        checkpoint.save(tmp_path, epoch, small(epoch))
        (tmp_path / f"epoch-{epoch:05d}.pt").write_bytes(b"damaged")
    assert checkpoint.newest(tmp_path) is None
    for epoch in (1, 2, 3):
        checkpoint.save(tmp_path, epoch, small(epoch))
        assert newest_epoch(tmp_path) == epoch
    assert names(tmp_path) == ["epoch-00002.pt", "epoch-00003.pt"]


# Hostile ----------------------------------------------------------------------------------------


class Bomb:
    """Makes a folder when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("plainly", [False, True])
def test_a_checkpoint_that_runs_code_is_passed_over_and_runs_nothing(plainly, tmp_path):
    checkpoint.save(tmp_path / "c", 1, small(1))
    bomb = {"sum": "", "state": Bomb(tmp_path / "exploded")}
    path = tmp_path / "c" / "epoch-00002.pt"
    if plainly:
        path.write_bytes(pickle.dumps(bomb))
    else:
        torch.save(bomb, path)
    assert newest_epoch(tmp_path / "c") == 1
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize("value", [np.float64(0.1), np.int64(3), {1, 2}, Path(), torch.float32])
def test_what_could_not_be_read_again_is_not_written(value, tmp_path):
    with pytest.raises(TypeError, match="/'optimizer'/0 of a checkpoint is a "):
        checkpoint.save(tmp_path, 1, {"optimizer": [value]})
    assert names(tmp_path) == []


# A disk that is full or may not be written ------------------------------------------------------


@contextmanager
def files_up_to(n_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_checkpoint_that_does_not_fit_leaves_the_one_before(tmp_path):
    checkpoint.save(tmp_path, 1, state_of(1))
    with files_up_to(3 * FLOATS), pytest.raises(LibraryError) as caught:
        checkpoint.save(tmp_path, 2, state_of(2))
    assert caught.value.code == "DISK_FULL"
    assert "checkpoint of epoch 2" in caught.value.what
    assert "the checkpoint before it is untouched" in caught.value.what
    assert names(tmp_path) == ["epoch-00001.pt"]
    assert newest_epoch(tmp_path) == 1
    checkpoint.save(tmp_path, 2, state_of(2))
    assert newest_epoch(tmp_path) == 2


def test_a_place_that_cannot_be_written_is_not_called_full(tmp_path):
    (tmp_path / "checkpoint").write_bytes(b"a file where the folder should be")
    with pytest.raises(LibraryError) as caught:
        checkpoint.save(tmp_path / "checkpoint", 1, small(1))
    assert caught.value.code == "LIBRARY_WRITE"


def test_room_is_looked_at_again_once_pictures_are_prepared(tmp_path, monkeypatch):
    """Their copies may have taken what checkpoints need."""
    free = iter([2**40, 0])
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil._ntuple_diskusage(0, 0, next(free)))
    folder = JobFolder.make(tmp_path / "job", from_json(SMALL))
    with pytest.raises(LibraryError, match="Checkpoints need 2 MiB, 0 MiB are free"):
        trained(folder)
    assert folder.events() == []


@pytest.mark.nightly
def test_a_full_disk_is_said_and_the_checkpoint_before_is_whole(tmp_path):
    mount = f'mount -t tmpfs -o size=1500k none "{tmp_path}"'
    unshare = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    if subprocess.run([*unshare, mount], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small disk")
    done = subprocess.run(
        [*unshare, f'{mount} && exec "$@"', "sh", *SAVER, "fill", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)
    failed = found["failed"]
    assert found["code"] == "DISK_FULL"
    assert found["left"] == failed - 1 > 0
    assert found["whole"]
    assert found["files"][-1] == f"epoch-{failed - 1:05d}.pt"


# The sum ----------------------------------------------------------------------------------------


def rich() -> checkpoint.State:
    """One of each kind of thing that a state holds."""
    return {
        "config": "a1b2",
        "epoch": 3,
        "net": OrderedDict(
            weight=torch.arange(6.0).view(2, 3),
            half=torch.tensor([1.5, -0.0], dtype=torch.bfloat16),
            flag=torch.tensor(data=True),
            count=torch.tensor(7),
            empty=torch.zeros(0, 4),
        ),
        "optimizer": {
            "state": {0: {"momentum_buffer": torch.ones(3, dtype=torch.float64)}, 1: {}},
            "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "fused": None, "params": [0, 1]}],
        },
    }


CHANGES = {
    "a number in a tensor": lambda s: s["net"]["weight"].__setitem__((1, 2), 5.0000005),
    "the sign of a zero": lambda s: s["net"]["half"].__setitem__(1, 0.0),
    "a flag": lambda s: s["net"].update(flag=torch.tensor(data=False)),
    "a dtype": lambda s: s["net"].update(count=s["net"]["count"].int()),
    "a dtype alone": lambda s: s["net"].update(weight=s["net"]["weight"].view(torch.int32)),
    "a shape": lambda s: s["net"].update(weight=s["net"]["weight"].view(3, 2)),
    "a shape without numbers": lambda s: s["net"].update(empty=torch.zeros(4, 0)),
    "an axis of one": lambda s: s["net"].update(count=s["net"]["count"].view(1)),
    "a name": lambda s: s["net"].update(bias=s["net"].pop("empty")),
    "a key's type": lambda s: s["optimizer"]["state"].update({"1": s["optimizer"]["state"].pop(1)}),
    "a level": lambda s: s.update({"net/weight": s["net"].pop("weight")}),
    "a nested number": lambda s: s["optimizer"]["param_groups"][0].update(lr=0.1 + 1e-16),
    "a nested none": lambda s: s["optimizer"]["param_groups"][0].update(fused=False),
    "a tuple": lambda s: s["optimizer"]["param_groups"][0].update(betas=[0.9, 0.999]),
    "a list": lambda s: s["optimizer"]["param_groups"][0]["params"].append(2),
    "an order": lambda s: s["optimizer"]["param_groups"][0]["params"].reverse(),
    "a type": lambda s: s.update(epoch=3.0),
    "a number as text": lambda s: s.update(epoch="3"),
    "a text": lambda s: s.update(config="a1b3"),
    "an empty part more": lambda s: s.update(scaler={}),
    "an empty part's kind": lambda s: s["optimizer"]["state"].update({1: []}),
    "a part less": lambda s: s.pop("optimizer"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_the_sum_changes_with(change):
    state = rich()
    before = checkpoint.checksum(state)
    assert checkpoint.checksum(copy.deepcopy(state)) == before
    CHANGES[change](state)
    assert checkpoint.checksum(state) != before


def test_the_sum_and_all_it_names_come_back_from_the_disk(tmp_path):
    state = rich()
    checkpoint.save(tmp_path, 3, state)
    found = checkpoint.newest(tmp_path)
    assert found is not None
    assert checkpoint.checksum(found) == checkpoint.checksum(state)
    assert list(found) == list(state)
    assert found["optimizer"]["param_groups"] == state["optimizer"]["param_groups"]
    for name, tensor in state["net"].items():
        assert found["net"][name].dtype == tensor.dtype
        assert torch.equal(found["net"][name], tensor)


def test_the_sum_reads_numbers_not_how_they_lie_in_memory():
    square = torch.arange(6.0).view(2, 3)
    transposed = square.t().contiguous().t()
    assert not transposed.is_contiguous()
    assert checkpoint.checksum({"a": transposed}) == checkpoint.checksum({"a": square})
    last = torch.rand(2, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    assert checkpoint.checksum({"a": last}) == checkpoint.checksum({"a": last.contiguous()})
