"""Weights read behind walls: what is left in the folder, and the odd files of the shared one."""

import json
import os
import stat
import sys
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

import pytest

from core.errors import LibraryError, LostWorker, Refused
from core.readers.sandbox import child_process, wire
from core.readers.sandbox import read as sandbox
from tests import hostile_cases as made

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
MANIFEST = SHARED / "hostile" / "manifest.json"
CASES = [
    case
    for case in (json.loads(MANIFEST.read_text())["cases"] if MANIFEST.exists() else [])
    if case["kind"] == "checkpoint"
]
absent = pytest.mark.skipif(not CASES, reason="needs the shared folder (CANDOR_SHARED)")
linux = pytest.mark.skipif(sys.platform != "linux", reason="the limits are those of Linux")


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    """Imported here, so that a process that only collects tests need not."""
    return pytest.importorskip("torch")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that must be empty afterwards; and a folder to work in."""
    scratch, work = tmp_path / "scratch", tmp_path / "work"
    scratch.mkdir()
    work.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.chdir(work)
    return scratch


def test_groups_are_left_as_private_safetensors(torch: ModuleType, scratch: Path) -> None:
    from safetensors.torch import load_file

    nets = {"raw": torch.nn.Linear(2, 3), "ema": torch.nn.Linear(2, 3).bfloat16()}
    value = {key: net.state_dict() for key, net in nets.items()} | {"arch": "mlp"}
    torch.save(value, path := scratch.parent / "x.pt")
    into = scratch.parent / "home" / "weights"
    found = sandbox.read_weights(path, into=into, name="mine.pth.tar")
    assert (found.name, found.format, dict(found.hints)) == (
        "mine.pth.tar",
        "torch",
        {"arch": "mlp"},
    )
    assert found.digest == blake2b(path.read_bytes(), digest_size=16).hexdigest()
    assert [group.key for group in found.groups] == ["ema", "raw"]
    assert sorted(p.name for p in into.iterdir()) == sorted(group.file for group in found.groups)
    for group in found.groups:
        loaded = load_file(into / group.file)
        wanted = nets[group.key].state_dict()
        assert [t.name for t in group.tensors] == list(wanted)
        assert all(torch.equal(loaded[name], wanted[name]) for name in wanted)
        assert all(loaded[name].dtype == wanted[name].dtype for name in wanted)
    if os.name == "posix":
        assert stat.S_IMODE(into.stat().st_mode) == 0o700
        assert {stat.S_IMODE(p.stat().st_mode) for p in into.iterdir()} == {0o600}
        assert {p.stat().st_uid for p in into.iterdir()} == {os.geteuid()}
    assert list(scratch.iterdir()) == []
    assert list(Path().iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said_and_nothing_is_left(
    torch: ModuleType, scratch: Path
) -> None:
    net = torch.nn.Linear(2, 3).state_dict()
    torch.save({"a": net, "b": net}, path := scratch.parent / "x.pt")
    into = scratch.parent / "weights"
    into.mkdir()
    (into / "group-1.safetensors").mkdir()  # in the way of the second group
    with pytest.raises(LibraryError) as caught:
        sandbox.read_weights(path, into=into)
    assert caught.value.code == "LIBRARY_WRITE"
    assert [p.name for p in into.iterdir()] == ["group-1.safetensors"]
    assert list(scratch.iterdir()) == []


def test_an_evil_file_leaves_nothing_behind(torch: ModuleType, scratch: Path) -> None:
    torch.save({"fc.weight": torch.ones(2), "x": made.Evil()}, path := Path("evil.pt").resolve())
    with pytest.raises(Refused) as caught:
        sandbox.read_weights(path, into=Path("into"))
    assert caught.value.code == "PICKLE_GLOBAL"
    assert [p.name for p in path.parent.iterdir()] == ["evil.pt"]
    assert not (child_process.ROOT / "pwned").exists()
    assert list(scratch.iterdir()) == []


@linux
@pytest.mark.slow
def test_memory_is_limited_and_follows_the_file(torch: ModuleType, scratch: Path) -> None:
    """One tensor of 100 MB needs its copy, and no more than the default allows."""
    torch.save({"weight": torch.zeros(25_000_000)}, path := scratch.parent / "big.pt")
    with pytest.raises(Refused) as caught:
        sandbox.read_weights(path, into=Path("into"), memory_bytes=250 * 2**20)
    assert caught.value.code == "LIMIT_MEMORY"
    assert sandbox.read_weights(path, into=Path("into")).groups[0].tensors[0].shape == (25_000_000,)
    assert list(scratch.iterdir()) == []


def left(folder: Path, change: Mapping[str, object]) -> None:
    """What a child might leave: one group of one tensor, with something changed."""
    header = {"fc.weight": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    (folder / "group-0.safetensors").write_bytes(made.safetensors(header, bytes(8)))
    tensors = [{"name": "fc.weight", "shape": [2], "dtype": "F32"}]
    group = {"key": "", "ema": False, "tensors": tensors, "file": "group-0.safetensors"}
    group |= {"temperature": None} | change
    data = {"name": "x", "digest": "", "format": "torch", "groups": [group]}
    (folder / "result.json").write_text(json.dumps(data | {"hints": {}, "notices": []}))


def test_what_the_child_left_is_checked(tmp_path: Path) -> None:
    folder = tmp_path / "left"
    folder.mkdir()
    left(folder, {})
    assert wire.load_weights(wire.Exchange(folder)).groups[0].tensors[0].shape == (2,)
    other = [{"name": "fc.weight", "shape": [1, 2], "dtype": "F32"}]
    for change in ({"tensors": other}, {"file": "group-1.safetensors"}, {"file": "../x"}):
        left(folder, change)
        with pytest.raises(LostWorker):
            wire.load_weights(wire.Exchange(folder))


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_link_that_the_child_left_is_not_followed(tmp_path: Path) -> None:
    left(tmp_path, {})
    (tmp_path / "group-0.safetensors").rename(tmp_path / "elsewhere")
    (tmp_path / "group-0.safetensors").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LostWorker):
        wire.load_weights(wire.Exchange(tmp_path))


@absent
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["file"])
def test_each_checkpoint_gets_its_verdict(case: Mapping[str, str], scratch: Path) -> None:
    path = MANIFEST.parent / case["file"]
    if case["expect"] == "refused":
        with pytest.raises(Refused) as caught:
            sandbox.read_weights(path, into=Path("into"))
        assert caught.value.code in case["reason_or_meaning"]
        assert list(Path().iterdir()) == []
    else:
        found = sandbox.read_weights(path, into=Path("into"))
        assert [len(group.tensors) for group in found.groups] == [7]
        notice = [case["notice"]] if "notice" in case else []
        assert [one.code for one in found.notices] == notice
        assert [p.name for p in Path().iterdir()] == ["into"]
    assert list(scratch.iterdir()) == []
