"""Sums that do not depend on the order of what is added."""

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Float = npt.NDArray[np.float64]

_LANES = 64  # numbers added side by side
_BITS = 52  # behind the first of a float64
_MOST_BITS = 1000  # of a number that others are rounded to, so that it is finite


@compiled(numbers=True)
def _farthest(values: Float) -> float:
    farthest = 0.0
    for i in range(values.size):
        farthest = max(farthest, abs(values[i]))
    return farthest


@compiled(as_written=True)
def _add_lanes(values: Float, round_to: Float, high: Float, middle: Float, low: Float) -> None:
    for j in range(values.size):
        # Adding a unit and taking it back rounds to its multiples; what is left goes to the next.
        first = (values[j] + round_to[0]) - round_to[0]
        left = values[j] - first
        second = (left + round_to[1]) - round_to[1]
        left -= second
        high[j] += first
        middle[j] += second
        low[j] += (left + round_to[2]) - round_to[2]


@compiled("float64(Array(float64, 1, 'C', readonly=True))", as_written=True)
def total(values: Float) -> float:
    """Return the sum of numbers, bit-equal under any order of them.

    Parameters
    ----------
    values : (N,) float64
        Where one is infinite or NaN, so is the sum.

    Notes
    -----
    Each number is cut into three parts, multiples of units so large that the sums of all N are
    exact (Demmel and Nguyen 2013). For 2^25 numbers the last unit is 2^-75 of the largest.
    """
    farthest, plain = _farthest(values), 0.0
    exponent, room = int(np.ceil(np.log2(farthest))), int(np.ceil(np.log2(values.size))) + 2
    # No unit is large enough, or none is needed: ascending order is the one order there is.
    if not 0.0 < farthest < np.inf or exponent + room > _MOST_BITS:
        for value in np.sort(values):
            plain += value
        return plain
    lanes, round_to = np.zeros((3, _LANES)), np.empty(3)
    # Each unit is as far below the last as N multiples of it leave room for in a float64.
    for part in range(3):
        round_to[part] = 1.5 * 2.0 ** (exponent + room)
        exponent += room - _BITS
    for start in range(0, values.size, _LANES):
        numbers = values[start : start + _LANES]
        _add_lanes(numbers, round_to, lanes[0], lanes[1], lanes[2])
    exact: float = (lanes[0].sum() + lanes[1].sum()) + lanes[2].sum()
    return exact
