"""Files that torch itself wrote are read without torch: views, half precision, both formats."""

import argparse
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.predictions.interpret import InterpretedFile, read_source
from core.readers.predictions.result import ReadOptions
from tests import hostile_cases as made


@pytest.fixture(scope="module")
def torch() -> ModuleType:
    """Imported here, so that a process that only collects tests need not."""
    return pytest.importorskip("torch")


@pytest.fixture
def saved(torch: ModuleType, tmp_path: Path) -> Callable[..., Path]:
    def save(value: object, **how: object) -> Path:
        torch.save(value, path := tmp_path / "file.pt", **how)
        return path

    return save


def read(path: Path) -> InterpretedFile:
    return read_source(FileBytes.of_bytes(path.name, path.read_bytes()), None, ReadOptions())


TENSORS = {
    "double": lambda torch, z: z,
    "half": lambda torch, z: z.half(),
    "bfloat16": lambda torch, z: z.bfloat16(),
    "transposed": lambda torch, z: z.t().contiguous().t(),
    "parameter": lambda torch, z: torch.nn.Parameter(z),
    "view": lambda torch, z: torch.cat([z + 1, z])[60:],
}


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kind", TENSORS)
def test_tensors_come_out_as_torch_put_them_in(
    torch: ModuleType, saved: Callable[..., Path], kind: str, zipped: bool
) -> None:
    scores = TENSORS[kind](torch, torch.tensor(made.LOGITS))
    values = {"logits": scores, "labels": torch.tensor(made.LABELS)}
    path = saved(values, _use_new_zipfile_serialization=zipped)
    got = read(path).splits["test"].predictions()
    wanted = scores.detach()
    wanted = wanted.float() if wanted.dtype == torch.bfloat16 else wanted
    np.testing.assert_array_equal(got.scores, wanted.numpy())
    np.testing.assert_array_equal(got.labels, made.LABELS)


def test_pairs_arrays_and_training_arguments(torch: ModuleType, saved: Callable[..., Path]) -> None:
    z, y = torch.tensor(made.LOGITS), torch.tensor(made.LABELS)
    pairs = read(saved(((z, y), (z[:9], y[:9]))))
    assert {name: len(s.labels) for name, s in pairs.splits.items()} == {"val": 60, "test": 9}
    mixed = {"logits": made.LOGITS, "labels": y, "args": argparse.Namespace(lr=0.1)}
    found = read(saved(mixed))
    np.testing.assert_array_equal(found.splits["test"].labels, made.LABELS)
    assert [n.code for n in found.notices] == ["KEYS_GUESSED"]


class Loud:
    """A class whose name a pickle may ask for."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("loud",)


REFUSED = {
    "stride": (
        lambda torch, z, y: {"logits": torch.zeros(1).expand(10**6, 10**6), "labels": y},
        "TENSOR_SIZE",
    ),
    "complex": (lambda torch, z, y: {"logits": z.to(torch.complex64), "labels": y}, "DTYPE"),
    "sparse": (lambda torch, z, y: {"logits": z.to_sparse(), "labels": y}, "PICKLE_GLOBAL"),
    "module": (lambda torch, z, y: torch.nn.Linear(2, 3), "PICKLE_GLOBAL"),
    "global": (lambda torch, z, y: {"logits": z, "labels": Loud()}, "PICKLE_GLOBAL"),
    "weights": (
        lambda torch, z, y: {"state_dict": torch.nn.Linear(2, 3).state_dict(), "epoch": 3},
        "STATE_DICT",
    ),
    "nested": (lambda torch, z, y: {"model": {"net": {"fc.weight": z}}}, "STATE_DICT"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_plain_tensor_is_refused(
    torch: ModuleType, saved: Callable[..., Path], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make, code = REFUSED[kind]
    value = make(torch, torch.tensor(made.LOGITS), torch.tensor(made.LABELS))
    for zipped in (True, False):
        path = saved(value, _use_new_zipfile_serialization=zipped)
        with pytest.raises(Refused) as caught:
            read(path)
        assert caught.value.code == code
    assert capsys.readouterr().out == ""


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


@pytest.mark.parametrize("name", ["data.pkl", "file/evil.pkl", "other/data.pkl", "file/data/notes"])
def test_a_second_pickle_is_refused(
    torch: ModuleType, saved: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    """Whoever opens the file elsewhere may run it; nothing of ours does."""
    z, y = torch.tensor(made.LOGITS), torch.tensor(made.LABELS)
    parts = members(saved({"logits": z, "labels": y}))
    path = tmp_path / "two.pt"
    path.write_bytes(made.archive({**parts, "file/notes.txt": b"mine"}))
    assert read(path)
    path.write_bytes(made.archive({**parts, name: pickle.dumps(Loud())}))
    with pytest.raises(Refused) as caught:
        read(path)
    assert (caught.value.code, caught.value.location) == ("PICKLE_SHAPE", name)


def test_an_altered_archive_is_refused(
    torch: ModuleType, saved: Callable[..., Path], tmp_path: Path
) -> None:
    z, y = torch.tensor(made.LOGITS), torch.tensor(made.LABELS)
    parts = members(saved({"logits": z, "labels": y}))
    storage = next(n for n in parts if n.endswith("data/0"))
    cases = {
        "ARCHIVE_RATIO": made.archive(parts, zipfile.ZIP_DEFLATED),
        "TORCHSCRIPT": made.archive({**parts, "file/constants.pkl": b"", "file/code/a.py": b""}),
        "TENSOR_SIZE": made.archive({**parts, storage: parts[storage][:-8]}),
        "DTYPE": made.archive({**parts, "file/byteorder": b"big"}),
    }
    for code, data in cases.items():
        path = tmp_path / "altered.pt"
        path.write_bytes(data)
        with pytest.raises(Refused) as caught:
            read(path)
        assert caught.value.code == code


def test_bytes_after_the_last_storage_of_the_older_format_are_refused(
    torch: ModuleType, saved: Callable[..., Path]
) -> None:
    values = {"logits": torch.tensor(made.LOGITS), "labels": torch.tensor(made.LABELS)}
    whole = saved(values, _use_new_zipfile_serialization=False).read_bytes()
    for rest in (b"x", bytes(500)):
        with pytest.raises(Refused) as caught:
            read_source(FileBytes.of_bytes("file.pt", whole + rest), None, ReadOptions())
        assert caught.value.code == "TRAILING"


def test_memory_asked_for_by_a_call_is_refused(tmp_path: Path) -> None:
    body = b"\x80\x02c__builtin__\nbytearray\n\x8a\x05\x00\xf2\x05*\x01\x85R."
    assert pickle.dumps(bytearray(1), 2)[:24] == body[:24]
    path = tmp_path / "x.pt"
    path.write_bytes(made.archive({"a/data.pkl": body, "a/version": b"3"}))
    with pytest.raises(Refused) as caught:
        read(path)
    assert caught.value.code == "PICKLE_LIMIT"


@pytest.mark.parametrize("turned", ["neg", "conj"])
def test_numbers_that_are_to_be_turned_round_are_refused(
    torch: ModuleType, tmp_path: Path, turned: str
) -> None:
    """They lie in the file with the other sign."""
    logits = torch.tensor(made.LOGITS)
    view = torch._neg_view(logits) if turned == "neg" else torch.conj(logits + 1j)
    torch.save({"logits": view, "labels": torch.tensor(made.LABELS)}, tmp_path / "a.pt")
    with pytest.raises(Refused) as caught:
        read_source(
            FileBytes.of_bytes("a.pt", (tmp_path / "a.pt").read_bytes()), None, ReadOptions()
        )
    assert caught.value.code == "PICKLE_SHAPE"
