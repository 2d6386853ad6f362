"""Numbers in ascending order, by their digits and without comparing; two sorted sets made one."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Bool = npt.NDArray[np.bool_]
Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Keys: TypeAlias = npt.NDArray[np.uint64]

_BITS = 8  # of a digit: 256 places to write to stay in the cache
_HALF = 32 // _BITS  # digits of the upper and of the lower half of a key
_UPPER = np.uint64(32)
_VALUES = 1 << _BITS
_FEW = 64  # keys that are put in order one by one sooner than by their digits
_SIGN = np.uint64(1 << 63)


@compiled()
def _digit(key: np.uint64, digit: int) -> np.uint64:
    return (key >> np.uint64(digit * _BITS)) & np.uint64(_VALUES - 1)


@compiled()
def _sort_by(keys: Keys, spare: Keys, lowest: int) -> Keys:
    """Return keys by four digits from the lowest on, the least first, in one of both arrays."""
    counts = np.zeros((_HALF, _VALUES), dtype=np.int64)
    for key in keys:
        for digit in range(_HALF):
            counts[digit, _digit(key, lowest + digit)] += 1
    for digit in range(_HALF):
        count = counts[digit]
        if count[_digit(keys[0], lowest + digit)] == keys.size:
            continue  # all keys share this digit
        # Where the keys of each digit begin; written in order, ties keep that of the digits before.
        place = np.cumsum(count) - count
        for key in keys:
            value = _digit(key, lowest + digit)
            spare[place[value]] = key
            place[value] += 1
        keys, spare = spare, keys
    return keys


@compiled()
def _insert(keys: Keys) -> None:
    """Put a few keys in ascending order."""
    for i in range(1, keys.size):
        key, at = keys[i], i
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key


@compiled("Array(uint64, 1, 'C')(uint64[::1], uint64[::1])")
def sort_keys(keys: Keys, spare: Keys) -> Keys:
    """Return keys in ascending order, in one of two arrays that are both written over.

    Most keys differ in their upper four digits; the others are looked at only in runs of keys that
    share those.

    Parameters
    ----------
    keys, spare : (N,) uint64
        What to sort, N >= 1, and as much room again.
    """
    ordered = _sort_by(keys, spare, _HALF)
    first = 0
    for i in range(1, ordered.size + 1):
        if i < ordered.size and ordered[i] >> _UPPER == ordered[first] >> _UPPER:
            continue
        # Keys with one upper half: many are sorted by their lower digits, a few by insertion.
        if i - first > _FEW:
            ordered[first:i] = _sort_by(ordered[first:i], np.empty(i - first, np.uint64), 0)
        elif i - first > 1:
            _insert(ordered[first:i])
        first = i
    return ordered


@compiled("void(Array(float64, 1, 'C', readonly=True), uint64[::1])")
def write_keys(values: Float, keys: Keys) -> None:
    """Write whole numbers, (N,), that ascend as float64 values do: -0 before 0, NaN at the ends."""
    bits = values.view(np.uint64)
    for i in range(bits.size):
        keys[i] = ~bits[i] if bits[i] >= _SIGN else bits[i] | _SIGN


@compiled("void(uint64[::1], float64[::1])")
def write_values(keys: Keys, values: Float) -> None:
    """Write the float64 values, (N,), of such whole numbers."""
    bits = values.view(np.uint64)
    for i in range(bits.size):
        bits[i] = keys[i] ^ _SIGN if keys[i] >= _SIGN else ~keys[i]


_FLOATS = "Array(float64, 1, 'C', readonly=True)"
_BOOLS = "Array(boolean, 1, 'C', readonly=True)"


@compiled(f"void({_FLOATS}, {_BOOLS}, uint64[::1])")
def write_claim_keys(confidence: Float, correct: Bool, keys: Keys) -> None:
    """Write whole numbers, (N,), that ascend with a confidence, then with what came of it.

    Parameters
    ----------
    confidence : (N,) float64
        In [0, 1], whose bits ascend with it and leave the first two free; -0 counts as 0.
    correct : (N,) bool
        The last bit of a key.
    keys : (N,) uint64
        Written.
    """
    bits = confidence.view(np.uint64)
    for i in range(bits.size):
        keys[i] = (bits[i] << np.uint64(1)) | np.uint64(correct[i])


@compiled(
    "void(uint64[::1], int64, float64[::1], boolean[::1], float64[::1], int64[::1])",
    as_written=True,
)
def read_claim_keys(
    keys: Keys,
    block: int,
    confidence: Float,
    correct: Bool,
    sum_confidence: Float,
    sum_correct: Int,
) -> None:
    """Write what such keys were made of, and the sums of the first rows.

    Parameters
    ----------
    keys : (N,) uint64
        Of `write_claim_keys`.
    block : int
        Rows summed one after another.
    confidence, correct : (N,) float64 and bool
        Written.
    sum_confidence, sum_correct : (N + 1,) float64 and int64
        Written: of the first 0 to N rows.
    """
    values = confidence.view(np.uint64)
    below, within, hits = 0.0, 0.0, 0
    sum_confidence[0], sum_correct[0] = 0.0, 0
    for i in range(keys.size):
        values[i], correct[i] = keys[i] >> np.uint64(1), (keys[i] & np.uint64(1)) == 1
        within += confidence[i]
        hits += int(correct[i])
        sum_confidence[i + 1], sum_correct[i + 1] = below + within, hits
        # Each block is summed from 0 and added to those before: rounding stays that of a block.
        if (i + 1) % block == 0:
            below, within = below + within, 0.0


@compiled("int64(float64[::1], float64[::1], float64[::1], int64[:, ::1])", as_written=True)
def merge(inside: Float, outside: Float, values: Float, rows: Int) -> int:
    """Write the distinct scores of two sets and how often each occurs; return their number.

    Parameters
    ----------
    inside, outside : (N,) and (M,) float64
        Ascending and finite.
    values : (N + M,) float64
        Its first places are written: distinct scores, ascending.
    rows : (2, N + M) int64
        Its first columns are written: rows of either set.
    """
    i = j = g = 0
    while i < inside.size or j < outside.size:
        # The lowest score that is left, and how often either set holds it.
        first = j == outside.size or (i < inside.size and inside[i] <= outside[j])
        value = inside[i] if first else outside[j]
        n_inside, n_outside = i, j
        while i < inside.size and inside[i] == value:
            i += 1
        while j < outside.size and outside[j] == value:
            j += 1
        values[g], rows[0, g], rows[1, g] = value, i - n_inside, j - n_outside
        g += 1
    return g
