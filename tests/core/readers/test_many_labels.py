"""Labels of very many rows: looked at some at a time, and kept in a file."""

import tracemalloc

import numpy as np
import pytest

from core import arrays
from core.errors import Refused
from core.readers.predictions.labels import Classes, read_labels

N = 500_000  # more than are looked at in one go


def read(entry, columns=3):
    return read_labels(entry, Classes(names=(), columns=columns), "row {}".format)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint64, np.int64, np.float32])
def test_labels_of_every_kind_are_read_whole(dtype):
    entry = (np.arange(N) % 3).astype(dtype)
    labels = read(entry)
    assert labels.values.dtype == np.int64
    assert np.array_equal(labels.values, np.arange(N) % 3)


@pytest.mark.parametrize("bad", [0.5, np.nan, np.inf])
def test_a_label_that_is_no_whole_number_is_found_far_down(bad):
    entry = np.zeros(N)
    entry[N - 2] = bad
    with pytest.raises(Refused) as caught:
        read(entry)
    assert (caught.value.code, caught.value.location) == ("LABEL_NOT_INTEGER", f"row {N - 2}")


def test_a_label_that_stands_only_far_down_counts():
    entry = np.zeros(N, np.int16)
    entry[N - 2] = 7
    with pytest.raises(Refused, match=r"Label 7 where 0\.\.2 was expected"):
        read(entry)


def test_large_labels_take_no_memory(monkeypatch):
    monkeypatch.setattr(arrays, "MAPPED_BYTES", 2**20)
    entry = (np.arange(N) % 3).astype(np.int16)
    read(entry[:9])
    tracemalloc.start()
    read(entry)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * N  # bytes; as int64 alone they would be 8 N
