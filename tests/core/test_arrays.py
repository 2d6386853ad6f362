"""Stable exponentials, digests and frozen arrays."""

import errno
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from core.arrays import (
    MAPPED_BYTES,
    copied_unless_large,
    digest,
    empty,
    file_location,
    frozen,
    log_sigmoid,
    log_softmax,
    pickle_with_mappings,
    row_chunks,
    shared,
    sigmoid,
    softmax,
)


def test_log_softmax_of_a_hand_case():
    # exp(0) + exp(ln 3) = 4, so the shares are 1/4 and 3/4
    got = log_softmax(np.array([[0.0, np.log(3.0)]]))
    np.testing.assert_allclose(got, np.log([[0.25, 0.75]]), rtol=1e-15)


@pytest.mark.parametrize("size", [1e4, 1e30, 1e300])
def test_huge_logits_stay_finite(size):
    got = log_softmax(np.array([[size, 0.0, -size]]))
    np.testing.assert_array_equal(got[0, :2], [0.0, -size])
    np.testing.assert_array_equal(softmax(np.array([[size, 0.0]])), [[1.0, 0.0]])


def test_a_class_ruled_out_has_probability_zero():
    got = log_softmax(np.array([[0.0, 0.0, -np.inf]]))
    np.testing.assert_allclose(got[0, :2], np.log([0.5, 0.5]))
    assert got[0, 2] == -np.inf


def test_float32_logits_are_computed_in_float64():
    # float32 softmax of (18, 0) is exactly 1; in float64 it is not
    top = softmax(np.array([[18.0, 0.0]], dtype=np.float32))[0, 0]
    assert top.dtype == np.float64
    assert top < 1.0


def test_sigmoid_hand_values_and_saturation():
    np.testing.assert_allclose(sigmoid(np.array([0.0, np.log(3.0)])), [0.5, 0.75])
    np.testing.assert_allclose(log_sigmoid(np.array([-800.0])), [-800.0])
    assert sigmoid(np.array([800.0]))[0] == 1.0


def test_digest_sees_value_shape_dtype_and_order():
    base = np.arange(6.0)
    changed = base.copy()
    changed[5] = np.nextafter(5.0, 6.0)
    digests = {
        digest(base),
        digest(changed),
        digest(base.reshape(2, 3)),
        digest(base.astype(np.float32)),
        digest(base[:3], base[3:]),
        digest("a", "bc"),
        digest("ab", "c"),
    }
    assert len(digests) == 7


def test_frozen_copies_once_and_locks():
    mine = np.arange(4.0)
    locked = frozen(mine)
    mine[0] = 9.0
    assert locked[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        locked[0] = 1.0


@pytest.mark.parametrize(("n", "k"), [(1, 1), (7, 3), (300_001, 10), (5, 1_000_000)])
def test_row_chunks_cover_every_row_once(n, k):
    chunks = list(row_chunks(n, k))
    assert [c.start for c in chunks[1:]] == [c.stop for c in chunks[:-1]]
    assert (chunks[0].start, chunks[-1].stop) == (0, n)


def memory_of(array):
    """Return the line of the process's memory map in which an array lies."""
    at = array.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(end, 16) for end in line.split()[0].split("-"))
        if first <= at < last:
            return line
    raise AssertionError(at)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@linux
def test_a_large_array_lies_in_a_file_that_goes_with_it():
    small, large = empty((3, 4)), empty((MAPPED_BYTES // 8, 1))
    assert not memory_of(small).endswith("(deleted)")
    assert memory_of(large).endswith("(deleted)")
    assert (large.shape, large.dtype, type(large)) == (
        (MAPPED_BYTES // 8, 1),
        np.float64,
        np.ndarray,
    )
    large[-1] = 7.0
    assert large.sum() == 7.0


@linux
def test_without_room_for_a_file_it_is_in_memory(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("os.posix_fallocate", full)
    assert not memory_of(empty((MAPPED_BYTES // 8,))).endswith("(deleted)")


def test_what_comes_from_a_file_is_copied_unless_it_is_large(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.arange(4.0))
    stored = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert not np.shares_memory(copied_unless_large(stored), stored)
    monkeypatch.setattr("core.arrays.MAPPED_BYTES", 32)
    kept = copied_unless_large(stored)
    assert np.shares_memory(kept, stored)
    assert not kept.flags.writeable
    (tmp_path / "a.npy").unlink()
    assert kept.tolist() == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is mapped there")
def test_a_large_mapped_array_is_sent_as_its_place(monkeypatch):
    monkeypatch.setattr("core.arrays.MAPPED_BYTES", 800)
    array = empty((20, 10))
    array[:] = np.arange(200.0).reshape(20, 10)
    rows = shared(array)[5:]  # views of views, and not from the start
    data, handles = pickle_with_mappings(rows, array[::2], array[:1])
    place = file_location(rows)
    assert handles == (place.handle,)
    assert (place.start, place.shape) == (400, (15, 10))
    assert len(data) < 1600  # the other two are copied: every other row, and what is small
    there, others, small = pickle.loads(data)
    assert file_location(there) is not None
    assert not there.flags.writeable
    array[7, 3] = -1.0  # the same bytes, not others
    assert there[2, 3] == -1.0
    assert others.tolist() == np.arange(200.0).reshape(20, 10)[::2].tolist()
    assert small.tolist() == [list(range(10))]


def test_an_array_in_memory_is_sent_as_it_is(monkeypatch):
    monkeypatch.setattr("core.arrays.MAPPED_BYTES", 0)
    array = np.arange(200.0)
    data, handles = pickle_with_mappings(array)
    assert handles == ()
    assert pickle.loads(data)[0].tolist() == array.tolist()
