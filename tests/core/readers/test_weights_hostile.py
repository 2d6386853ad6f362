"""Files of weights written by hand, opcode by opcode: what no program of training would write."""

import pickle
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.formats.numpy_file import array_of
from core.readers.formats.torch_file import NAMES, Storage, StorageType, Tensor
from core.readers.weights.weights_file import read_weights_file
from tests import hostile_cases as made

VIEW = (0, (4,), (1,))  # offset, shape and stride of a tensor over all of its four numbers


def value(it: object) -> bytes:
    """The opcodes of a plain value, without the mark of a pickle around them."""
    return pickle.dumps(it, 2)[2:-1]


def slots(changes: Mapping[str, object]) -> bytes:
    """BUILD with a state of slots, which Python sets where an object has no `__setstate__`."""
    return value((None, changes)) + b"b"


def tensor_item(
    name: str = "fc.weight",
    size: object = 4,
    view: tuple[object, ...] = VIEW,
    *,
    of_type: bytes = b"",
    of_storage: bytes = b"",
    of_tensor: bytes = b"",
) -> bytes:
    """The opcodes that put a tensor into a mapping, with others after each object is made."""
    storage = b"(" + value("storage") + b"ctorch\nFloatStorage\n" + of_type
    storage += value("0") + value("cpu") + value(size) + b"tQ" + of_storage
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"".join(map(value, view))
    return value(name) + tensor + b"\x89NtR" + of_tensor + b"s"


def crafted(
    view: tuple[object, ...] = VIEW, *, size: object = 4, beside: bytes = b"", **put: bytes
) -> bytes:
    """A file of one tensor over four numbers."""
    body = b"\x80\x02}" + beside + tensor_item("fc.weight", size, view, **put) + b"."
    return made.archive({"a/data.pkl": body, "a/data/0": np.arange(4, dtype="<f4").tobytes()})


def read(data: bytes, name: str = "file.pt") -> list[np.ndarray]:
    """All numbers of a file."""
    groups = read_weights_file(FileBytes.of_bytes(name, data)).groups
    return [one.numbers(info.name) for one in groups for info in one.group.tensors]


def code(data: bytes, name: str = "file.pt") -> str:
    with pytest.raises(Refused) as caught:
        read(data, name)
    return caught.value.code


def test_the_file_written_by_hand_is_valid() -> None:
    np.testing.assert_array_equal(read(crafted())[0], [0, 1, 2, 3])
    np.testing.assert_array_equal(read(crafted((1, (2,), (2,))))[0], [1, 3])


@pytest.mark.parametrize(
    "put",
    [
        {"of_tensor": slots({"shape": (4_096,)})},
        {"of_tensor": slots({"stride": (2**29,)})},
        {"of_tensor": slots({"offset": 2**40})},
        {"of_storage": slots({"size": 2**40})},
        {"of_storage": slots({"array": b"1234"})},
        {"of_type": slots({"dtype": "<f8"})},
        {"of_tensor": value({}) + b"b"},
    ],
)
def test_no_state_is_taken_after_a_view_was_checked(put: Mapping[str, bytes]) -> None:
    assert code(crafted(**put)) == "PICKLE_SHAPE"
    kind = NAMES["torch", "FloatStorage"]  # the same one for every file
    assert isinstance(kind, StorageType)
    assert kind.dtype == "<f4"


def test_a_view_is_checked_again_where_its_numbers_are_taken() -> None:
    """Whatever changed it in between: memory beside the stored bytes is never read."""
    storage = Storage("0", StorageType("<f4"), 100)
    tensor = Tensor(storage, 0, (100,), (1,))
    storage.array = np.zeros(4, "<f4")
    with pytest.raises(Refused, match="TENSOR_SIZE"):
        _ = tensor.raw


@pytest.mark.parametrize("made_by", [b"\x81", b"\x81" + value(3) + b"b"])
def test_a_namespace_without_values_is_an_empty_one(made_by: bytes) -> None:
    beside = value("args") + b"cargparse\nNamespace\n)" + made_by + b"s"
    assert len(read(crafted(beside=beside))) == 1


# Sides that no memory holds, though their product is 0 ------------------------------------------

HUGE = [(0, 2**62), (0, 2**70), (2**62, 0), (0, *[2**33] * 2), (0, *[10**4_000] * 7)]


@pytest.mark.parametrize("shape", HUGE, ids=lambda shape: f"{len(shape)}, {len(str(shape))}")
def test_a_shape_of_no_number_has_sides_of_sense(shape: tuple[int, ...]) -> None:
    assert code(crafted((0, shape, (1,) * len(shape)))) in ("TENSOR_SIZE", "PICKLE_SHAPE")
    header = {"fc.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}
    assert code(made.safetensors(header), "file.safetensors") == "HEADER_SHAPE"


def test_empty_tensors_are_read() -> None:
    assert read(crafted((0, (0, 3), (3, 1))))[0].shape == (0, 3)
    header = {"fc.weight": {"dtype": "F32", "shape": [0, 3], "data_offsets": [0, 0]}}
    assert read(made.safetensors(header), "file.safetensors")[0].shape == (0, 3)


@pytest.mark.parametrize(
    "data",
    [
        crafted((0, (1,), (2**70,))),
        crafted((2**70, (1,), (1,))),
        crafted(size=10**4_000),
        crafted(size=2**40),
    ],
)
def test_strides_offsets_and_storages_are_as_small_as_memory(data: bytes) -> None:
    assert code(data) in ("TENSOR_SIZE", "PICKLE_SHAPE")


def test_an_array_of_no_number_has_sides_of_sense() -> None:
    header = str({"descr": "<f4", "fortran_order": False, "shape": (0, 2**62)}).encode() + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with pytest.raises(Refused, match="HEADER_SHAPE"):
        array_of(memoryview(data), "a.npy")


# All groups of a file together ------------------------------------------------------------------


def states(count: int, names: Sequence[str] = ("fc.weight",), of: int = 2**18) -> bytes:
    """States of networks that all have the same megabyte."""
    numbers, length = np.zeros(of, "<f4").tobytes(), (of,)
    body = b"\x80\x02}"
    for key in range(count):
        items = b"".join(tensor_item(name, of, (0, length, (1,))) for name in names)
        body += value(f"k{key}") + b"}" + items + b"s"
    return made.archive({"a/data.pkl": body + b".", "a/data/0": numbers})


def test_states_together_take_at_most_twice_the_file() -> None:
    """The slack of 1 MiB lets a third one of 1 MiB pass, and no fourth."""
    assert len(read(states(3))) == 3
    assert code(states(4)) == "TENSOR_SIZE"
    assert code(states(16)) == "TENSOR_SIZE"


def test_the_tensors_of_a_file_are_counted() -> None:
    half = [f"l{i}.weight" for i in range(10_000)]
    assert len(read(states(2, half, of=1))) == 20_000
    assert code(states(2, [*half, "fc.weight"], of=1)) == "TENSOR_COUNT"
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    header = {f"l{i}.weight": empty for i in range(20_001)}
    assert code(made.safetensors(header), "file.safetensors") == "TENSOR_COUNT"
    del header["l0.weight"]
    assert len(read(made.safetensors(header), "file.safetensors")) == 20_000
    long = [f"{i:0>994}.bias" for i in range(2_002)]
    assert code(states(1, ["fc.weight", *long], of=1)) == "TENSOR_COUNT"
    assert len(read(states(1, ["fc.weight", *long[:-1]], of=1))) == 2_002
