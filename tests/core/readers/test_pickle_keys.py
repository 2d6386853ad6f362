"""Keys of a pickle that Python does not salt are few: some thousand that collide take minutes."""

import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable

import numpy as np
import pytest

from core.errors import Refused
from core.readers.formats.contents import FileBytes
from core.readers.formats.numpy_file import scan
from core.readers.formats.parse import read_contents
from core.readers.sandbox.child_process import environment
from tests import hostile_cases as made

PRIME = sys.hash_info.modulus
PROTOCOLS = pytest.mark.parametrize("protocol", range(6))


def judged(data: bytes) -> str:
    """The code of the refusal of a pickle by its operations; empty if it passes."""
    try:
        scan(memoryview(data))
    except Refused as refusal:
        return refusal.code
    return ""


def sized(make: Callable[[int], object], count: int) -> dict[object, int]:
    return {make(i): 0 for i in range(count)}


def test_multiples_of_the_modulus_collide() -> None:
    """Else the refusals below would guard against nothing."""
    assert {hash(i * PRIME) for i in range(100)} == {0}


KEYS = {
    "small": (lambda i: i, 10_000),
    "negative": (lambda i: -i - 300, 10_000),
    "wide": (lambda i: i << 33, 10_000),
    "floats": (lambda i: float(i), 10_000),
    "tuples": (lambda i: (i, i + 1), 1_000),
    "long": (lambda i: (i + 1) * PRIME * 2**40, 1_000),
    "classes": (lambda i: (np.float64, i), 1_000),
}


@PROTOCOLS
@pytest.mark.parametrize("kind", KEYS)
def test_keys_that_are_no_text_are_counted(kind: str, protocol: int) -> None:
    make, most = KEYS[kind]
    assert judged(pickle.dumps(sized(make, most), protocol)) == ""
    for count, values in ((1, most + 1), (most + 1, 1)):
        split = [sized(lambda i: make(i + 1 + 2 * n), values) for n in range(count)]  # noqa: B023
        assert judged(pickle.dumps(split, protocol)) == "PICKLE_LIMIT"


@PROTOCOLS
def test_members_of_sets_are_counted(protocol: int) -> None:
    for make in (set, frozenset):
        assert judged(pickle.dumps(make(range(10_000)), protocol)) == ""
        expected = "PICKLE_LIMIT" if protocol > 3 else ""  # a list, given to a call that forgets it
        assert judged(pickle.dumps(make(range(10_001)), protocol)) == expected


@PROTOCOLS
def test_text_and_bytes_are_not_counted_even_from_the_memo(protocol: int) -> None:
    rows = [{"p": 0.5, "y": 1} for _ in range(12_000)]
    texts = {str(i): i for i in range(12_000)}
    assert judged(pickle.dumps([rows, texts], protocol)) == ""
    if protocol > 2:
        assert judged(pickle.dumps({str(i).encode(): i for i in range(12_000)}, protocol)) == ""


@PROTOCOLS
def test_numbers_that_are_no_keys_are_not_counted(protocol: int) -> None:
    value = {"a": list(range(12_000)), "b": {"c": tuple(range(12_000))}, "d": [(1, 2)] * 2_000}
    assert judged(pickle.dumps(value, protocol)) == ""


def bomb() -> object:
    """A tuple whose hash takes longer than anybody waits."""
    value: object = (1, 2)
    for _ in range(80):
        value = (value, value)
    return value


class Given:
    """Pickles as a call with arguments that cannot be hashed here."""

    def __init__(self, args: tuple[object, ...], function: object = OrderedDict) -> None:
        self.args, self.function = args, function

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.function, self.args


def keyed(key: object, protocol: int) -> bytes:
    """A mapping with a key that is never hashed here: its pickle is put together."""
    data = pickle.dumps(key, protocol)
    head = data[:2] if protocol > 1 else b""
    return head + b"}" + data[len(head) : -1] + b"K\x01s."


@pytest.mark.parametrize("protocol", [1, 2, 3])
def test_a_tuple_of_tuples_is_no_key(protocol: int) -> None:
    for key in (bomb(), ((1, 2), 3)):
        assert judged(keyed(key, protocol)) == "PICKLE_LIMIT"
    assert judged(keyed((1, 2), protocol)) == ""
    assert judged(keyed(10**700, protocol)) == ("PICKLE_LIMIT" if protocol > 1 else "")


@pytest.mark.parametrize(
    "value",
    [
        {"a": Given(([[bomb(), 1]],))},
        {"a": Given(([[i, 1] for i in range(9)],))},
    ],
    ids=["bomb", "numbers"],
)
def test_a_mapping_made_of_pairs_has_keys_of_text(value: object) -> None:
    with pytest.raises(Refused) as caught:
        read_contents(FileBytes.of_bytes("a.pkl", pickle.dumps(value, 2)))
    assert caught.value.code == "PICKLE_SHAPE"


def test_what_describes_an_array_is_compared_and_not_hashed() -> None:
    data = pickle.dumps(Given(("f4", bomb()), np.dtype), 2)
    with pytest.raises(Refused) as caught:
        read_contents(FileBytes.of_bytes("a.pkl", data))
    assert caught.value.code == "DTYPE"


@pytest.mark.parametrize(
    "data",
    [b"s.", b"K\x01s.", b"u.", b"(K\x01\x85\x86.", b"0.", b"2.", b"q\x00.", b"R.", b"a.", b"}(b."],
)
def test_a_pickle_takes_no_more_than_it_has(data: bytes) -> None:
    assert judged(b"\x80\x02" + data) == "PICKLE_SHAPE"


def test_the_memo_remembers_what_a_key_is() -> None:
    number = b"K\x07q\x00"
    several = b"".join(b"h\x00K\x01" for _ in range(10_000))
    assert judged(b"\x80\x02" + number + b"0}(" + several + b"u.") == ""
    assert judged(b"\x80\x02" + number + b"0}(" + several + b"h\x00K\x01u.") == "PICKLE_LIMIT"
    twice = b"".join(b"K\x072" for _ in range(10_001))
    assert judged(b"\x80\x02}(" + twice + b"u.") == "PICKLE_LIMIT"
    assert judged(b"\x80\x02(" + twice + b"d.") == "PICKLE_LIMIT"


@PROTOCOLS
def test_arrays_under_numbers_are_read(protocol: int) -> None:
    data = pickle.dumps({np.int64(0): made.LOGITS, 1: made.LABELS}, protocol)
    assert list(read_contents(FileBytes.of_bytes("a.pkl", data)).entries) == ["0", "1"]


def test_the_reading_process_salts_the_hash_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    assert environment()["PYTHONHASHSEED"] == "random"
