"""Softmax and what is read off it, row by row over a matrix of logits.

Each row is read while it lies in the cache: its largest logit, the sum of exponentials and the sum
of their squares; probabilities are formed only where they are asked for.
"""

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Logits = npt.NDArray[np.floating]
Row = npt.NDArray[np.floating]

# exp(r) for |r| <= ln(2) / 2, to 4e-16: the polynomial through the Chebyshev nodes, by mpmath.
# The first coefficient is 1, so that exp(0) is.
(_C0, _C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10) = (
    float.fromhex(digits)
    for digits in (
        "0x1.0000000000000p+0",
        "0x1.000000000001ep+0",
        "0x1.0000000000005p-1",
        "0x1.555555554b757p-3",
        "0x1.55555555520afp-5",
        "0x1.1111112dd67c5p-7",
        "0x1.6c16c17f43a58p-10",
        "0x1.a01978c6baf81p-13",
        "0x1.a019a66a75dd4p-16",
        "0x1.72faf024b693bp-19",
        "0x1.28a2c0a7209fbp-22",
    )
)
_LN2 = float(np.log(2.0))
_LOG2E = 1.0 / _LN2
_TO_WHOLE = 1.5 * 2.0**52  # a float64 this large has no digits behind the point
_LEAST = -708.0  # exp of it is 3e-308, the smallest that is still a normal number
_FARTHEST = -1e150  # its square is still finite

_LOGITS = [f"Array({kind}, 2, 'C', readonly=True)" for kind in ("float32", "float64")]
_LABELS = "Array(int64, 1, 'C', readonly=True)"


@compiled(as_written=True)
def exp_below(x: float) -> float:
    """Return exp(x) for x <= 0, to 1e-13 of itself; 0 from -708 down, NaN for NaN."""
    near = max(x, _LEAST)
    shifted = near * _LOG2E + _TO_WHOLE  # its last bits are the nearest power of two
    r = near - (shifted - _TO_WHOLE) * _LN2
    p = _C10 * r + _C9
    p = p * r + _C8
    p = p * r + _C7
    p = p * r + _C6
    p = p * r + _C5
    p = p * r + _C4
    p = p * r + _C3
    p = p * r + _C2
    p = p * r + _C1
    p = p * r + _C0
    exponent = np.float64(shifted).view(np.int64) << 52
    power = np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)
    beyond = 0.0 if x <= _LEAST else x
    return power if x > _LEAST else beyond


@compiled(numbers=True)
def _largest(row: Row) -> float:
    top: float = row[0]
    for k in range(row.size):
        top = max(top, row[k])
    return top


@compiled()
def _count_of(row: Row, value: float) -> np.float32:
    count = np.float32(0.0)  # as wide as most logits; whole numbers are exact up to 2^24 columns
    for k in range(row.size):
        count += np.float32(1.0) if row[k] == value else np.float32(0.0)
    return count


@compiled()
def _first(row: Row, value: float) -> int:
    at = 0
    while row[at] != value and at < row.size - 1:
        at += 1
    return at


@compiled()
def _power_sums(row: Row, top: float) -> tuple[float, float]:
    total = squares = 0.0
    wide = np.float64(top)
    for k in range(row.size):
        power = exp_below(np.float64(row[k]) - wide)
        total += power
        squares += power * power
    return total, squares


@compiled(*(f"int64({logits}, {_LABELS}, float64[:, ::1], int64[::1])" for logits in _LOGITS))
def read_rows(logits: Logits, labels: Int, real: Float, predicted: Int) -> int:
    """Fill in what a pass over the logits tells of each row; return how many answers are tied.

    Parameters
    ----------
    logits : (N, K) float32 or float64
        Finite or -inf, C-contiguous.
    labels : (N,) int64
        In 0..K-1.
    real : (3, N) float64
        Written: the sum of exp(logit - largest); the true class's logit minus the largest; Brier.
    predicted : (N,) int64
        Written: the lowest class of the largest logit.
    """
    tied = 0
    for i in range(labels.size):
        row = logits[i]
        top = _largest(row)
        sharing = _count_of(row, top)
        total, squares = _power_sums(row, top)
        predicted[i] = labels[i] if sharing == 1 and row[labels[i]] == top else _first(row, top)
        gap = np.float64(row[labels[i]]) - np.float64(top)
        of_true = exp_below(gap) / total
        real[0, i], real[1, i] = total, gap
        real[2, i] = max(squares / (total * total) - 2.0 * of_true + 1.0, 0.0)
        tied += int(sharing > 1)
    return tied


@compiled()
def _write_powers(row: Row, top: float, out: Float) -> float:
    wide, total = np.float64(top), 0.0
    for k in range(row.size):
        power = exp_below(np.float64(row[k]) - wide)
        out[k] = power
        total += power
    return total


@compiled(*(f"void({logits}, float64[:, ::1])" for logits in _LOGITS))
def write_softmax(logits: Logits, out: Float) -> None:
    """Write the probabilities of each row, (N, K); logits as in `read_rows`."""
    for i in range(len(logits)):
        total = _write_powers(logits[i], _largest(logits[i]), out[i])
        out[i] *= 1.0 / total


@compiled()
def _tempered_sums(row: Row, top: float, inverse: float) -> tuple[float, float, float]:
    wide = np.float64(top)
    total = first = second = 0.0
    for k in range(row.size):
        gap = max(np.float64(row[k]) - wide, _FARTHEST)
        power = exp_below(gap * inverse)
        total += power
        first += power * gap
        second += power * gap * gap
    return total, first, second


@compiled(*(f"void({logits}, {_LABELS}, float64, float64[:, ::1])" for logits in _LOGITS))
def read_tempered_rows(logits: Logits, labels: Int, inverse: float, out: Float) -> None:
    """Write what the NLL of `inverse * logits` and its derivatives are made of.

    Parameters
    ----------
    logits, labels : (N, K) float32 or float64, (N,) int64
        As in `read_rows`, finite.
    inverse : float
        One over the temperature, above 0.
    out : (4, N) float64
        Written, of the gaps between a row's logits and its largest: the sum of exp(inverse * gap);
        mean and mean square of the gaps under these probabilities; the gap of the true class.
    """
    for i in range(labels.size):
        top = _largest(logits[i])
        total, first, second = _tempered_sums(logits[i], top, inverse)
        out[0, i], out[1, i], out[2, i] = total, first / total, second / total
        out[3, i] = np.float64(logits[i, labels[i]]) - np.float64(top)
