"""Files of weights changed at random places are read or refused; nothing else leaves the reader."""

import argparse
import io
import math
import zipfile
from types import ModuleType

import numpy as np
import pytest

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.weights.weights_file import read_weights_file
from tests import hostile_cases as made

MUTATIONS = 300


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """One state with arguments in every format; torch is imported here, not at collection."""
    torch: ModuleType = pytest.importorskip("torch")
    from safetensors.torch import save

    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2)).bfloat16()
    value = {"state_dict": net.state_dict(), "args": argparse.Namespace(lr=0.1, model="x")}
    out: dict[str, bytes] = {"net.safetensors": save(net.state_dict())}
    for name, zipped in (("new.pt", True), ("old.pt", False)):
        torch.save(value, buffer := io.BytesIO(), _use_new_zipfile_serialization=zipped)
        out[name] = buffer.getvalue()
    return out


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip, insert, remove or repeat a few bytes."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at, how = int(rng.integers(len(out))), rng.integers(4)
        if how == 0:
            out[at] ^= 1 << int(rng.integers(8))
        elif how == 1:
            out[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif how == 2:
            del out[at : at + int(rng.integers(1, 9))]
        else:
            out[at:at] = out[at : at + 16]
    return bytes(out)


def inside(data: bytes, rng: np.random.Generator) -> bytes:
    """The same to the pickle in an archive, packed again so that its checksum is right."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    name = next(name for name in parts if name.endswith("data.pkl"))
    return made.archive({**parts, name: changed(parts[name], rng)})


def read_all(name: str, data: bytes) -> list[tuple[int, ...]]:
    """Read every tensor: what is handed over has the shape and size that it claims."""
    shapes = []
    for one in read_weights_file(FileBytes.of_bytes(name, data)).groups:
        for info in one.group.tensors:
            numbers = one.numbers(info.name)
            assert numbers.shape == info.shape
            assert numbers.size == math.prod(info.shape)
            shapes.append(info.shape)
    return shapes


def test_the_files_are_valid_before_they_are_changed(files: dict[str, bytes]) -> None:
    convolution, norm = [(2,), (2, 1, 3, 3)], [()] + 4 * [(2,)]
    for name, data in files.items():
        assert sorted(read_all(name, data)) == sorted(convolution + norm)


@pytest.mark.parametrize("kind", ["net.safetensors", "new.pt", "old.pt", "pickle of new.pt"])
def test_a_changed_file_is_read_or_refused(files: dict[str, bytes], kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    name, change = (kind[-6:], inside) if kind.startswith("pickle") else (kind, changed)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(MUTATIONS):
        try:
            read_all(name, change(files[name], rng))
        except Refused:
            outcomes["refused"] += 1
        else:
            outcomes["read"] += 1
    assert outcomes["refused"] > MUTATIONS / 10
