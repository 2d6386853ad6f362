"""Pickled mappings of the standard library, and arrays of objects that are all text."""

import io
import pickle
from collections import OrderedDict, defaultdict
from pathlib import Path

import numpy as np
import pytest

from core.errors import Refused
from core.readers.formats.contents import Contents, Entry, FileBytes, is_text
from core.readers.formats.numpy_file import array_of
from core.readers.formats.parse import read_contents
from tests import hostile_cases as made

z, y = made.LOGITS, made.LABELS
names = np.array(["cat", "dog", "müsli", "rat"], object)


def read(name: str, data: bytes) -> Contents:
    return read_contents(FileBytes.of_bytes(name, data))


def saved(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def check(entry: Entry, expected: np.ndarray) -> None:
    assert is_text(entry)
    np.testing.assert_array_equal(entry, expected)


def filled(mapping: dict[str, object]) -> dict[str, object]:
    mapping.update({"logits": z, "labels": y.tolist()})
    return mapping


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "make",
    [OrderedDict, *(lambda factory=f: defaultdict(factory) for f in (list, int, dict, set, None))],
    ids=["ordered", "list", "int", "dict", "set", "none"],
)
def test_mappings_of_the_standard_library(protocol: int, make: type) -> None:
    nested = {"test": filled(make())}
    for value, prefix in ((filled(make()), ""), (nested, "test.")):
        got = read("a.pkl", pickle.dumps(value, protocol))
        np.testing.assert_array_equal(got.entries[f"{prefix}logits"], z)
        np.testing.assert_array_equal(got.entries[f"{prefix}labels"], y)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize(
    "array",
    [names, names.reshape(2, 2), np.asfortranarray(names.reshape(2, 2)), names[:0],
     np.array([np.str_("a"), "b"], object)],
    ids=["plain", "matrix", "fortran", "empty", "numpy-text"],
)  # fmt: skip
def test_objects_that_are_all_text_are_text(protocol: int, array: np.ndarray) -> None:
    value = {"logits": z, "labels": y, "class_names": array}
    check(read("a.pkl", pickle.dumps(value, protocol)).entries["class_names"], array)


@pytest.mark.parametrize("array", [names, np.asfortranarray(names.reshape(2, 2)), names[:0]])
def test_numpy_files_may_hold_texts_as_objects(array: np.ndarray) -> None:
    got = read("a.npz", made.npz(logits=z, labels=y, class_names=array))
    assert list(got.entries) == ["logits", "labels", "class_names"]
    check(got.entries["class_names"], array)
    check(read("a.npy", saved(array)).entries["array"], array)


MIXED = {
    "numbers": np.array([1, "a"], object),
    "none": np.array([None, "a"], object),
    "bytes": np.array([b"a", "a"], object),
    "lists": np.array([["a"], "a"], object),
    "nan": np.array([np.nan, "a"], object),
    "evil": np.array([made.Evil(), "a"], object),
}


@pytest.mark.parametrize("kind", MIXED)
def test_other_objects_are_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    array = MIXED[kind]
    codes = {"evil": "PICKLE_GLOBAL"}
    for name, data, code in (
        ("a.pkl", pickle.dumps({"a": array}), codes.get(kind, "OBJECT_DTYPE")),
        ("a.npz", made.npz(logits=z, a=array), "OBJECT_DTYPE"),
        ("a.npy", saved(array), "OBJECT_DTYPE"),
    ):
        with pytest.raises(Refused) as caught:
            read(name, data)
        assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


def swapped(data: bytes, shape: bytes, by: bytes) -> bytes:
    assert shape in data
    return data.replace(shape, by)


@pytest.mark.parametrize(
    "data",
    [
        saved(names) + b"x",
        saved(names)[:-3],
        swapped(saved(names), b"'shape': (4,)", b"'shape': (5,)"),
        swapped(saved(names), b"'shape': (4,)", b"'shape': (0,)"),
        saved(names)[: saved(names).index(b"\x80\x04")] + pickle.dumps(["cat", "dog"]),
        saved(names)[: saved(names).index(b"\x80\x04")] + pickle.dumps(z[0]),
    ],
    ids=["after", "cut", "longer", "shorter", "list", "numbers"],
)
def test_a_pickle_in_a_numpy_file_is_one_array_of_its_header(data: bytes) -> None:
    with pytest.raises(Refused) as caught:
        read("a.npy", data)
    assert caught.value.code == "OBJECT_DTYPE"


def test_objects_pass_only_where_text_is_asked_for() -> None:
    """What the reading process hands back never holds a pickle."""
    with pytest.raises(Refused) as caught:
        array_of(memoryview(saved(names)), "a.npy")
    assert caught.value.code == "OBJECT_DTYPE"


def test_more_texts_than_the_shape_says_are_refused() -> None:
    data = pickle.dumps(names, 2)
    at = data.index(b"K\x04\x85")
    with pytest.raises(Refused) as caught:
        read("a.pkl", data[:at] + b"K\x05\x85" + data[at + 3 :])
    assert caught.value.code == "PICKLE_SHAPE"
