"""Softmax and what is read off it, row by row over a matrix of logits.

Each row is read while it lies in the cache: its largest logit, the sum of exponentials and the sum
of their squares; probabilities are formed only where they are asked for. Of probabilities: the bins
of each class, and classes drawn from them many times over.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled, larger

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Logits = npt.NDArray[np.floating]
Row = npt.NDArray[np.floating]
Counts = npt.NDArray[Any]  # Any: int32, or with weights float64

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
_BIAS = 1023  # of the exponent of a float64, whose bits are 0 for the number 0
_TO_WHOLE = 1.5 * 2.0**52 + _BIAS  # a float64 this large has no digits behind the point
_LEAST = -709.0  # nearest to the power of two whose biased exponent is 0
_FARTHEST = -1e100  # its cube is still finite

_LOGITS = [f"Array({kind}, 2, 'C', readonly=True)" for kind in ("float32", "float64")]
_LABELS = "Array(int64, 1, 'C', readonly=True)"
_NUMBERS = "float64[::1], float64[::1], float64[::1]"
_SUMMED = 4096  # rows summed one after another; rounding grows with it, not with the rows
_SCANNED = 64  # columns looked through at a time for what few of them are
_NARROW = 32  # columns up to which rows are read side by side: a row alone would not fill a vector
_SIDE_BY_SIDE = 64  # of such rows at a time, which stay in the nearest cache
_BLOCK_PROBABILITIES = 4096  # probabilities held at a time where they are formed to be added up


@compiled(as_written=True)
def exp_below(x: float) -> float:
    """Return exp(x) for x <= 0, to 1e-13 of itself; 0 from -709 down, NaN for NaN."""
    near = max(x, _LEAST)
    # x = k ln 2 + r with k whole and |r| at most half of ln 2: a large number added rounds to k.
    shifted = near * _LOG2E + _TO_WHOLE  # its last bits are the biased exponent of the power of two
    r = near - (shifted - _TO_WHOLE) * _LN2
    # exp(r) by Horner's rule.
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
    # 2^k: its exponent is what the rounded number ends with.
    power = np.int64(np.float64(shifted).view(np.int64) << 52).view(np.float64)
    return p * power


@compiled(numbers=True)
def _largest(row: Row) -> float:
    top: float = row[0]  # of the row's own type
    for k in range(row.size):
        top = larger(top, row[k])
    return top


@compiled()
def _count_of(row: Row, value: float) -> np.float32:
    count = np.float32(0.0)  # as wide as most logits; whole numbers are exact up to 2^24 columns
    for k in range(row.size):
        count += np.float32(1.0) if row[k] == value else np.float32(0.0)
    return count


@compiled()
def _sharing(row: Row, value: float) -> tuple[int, int]:
    """Return how many entries are equal to a value, and the first of them, else the last entry."""
    sharing, first = 0, row.size - 1
    for start in range(0, row.size, _SCANNED):
        part = row[start : start + _SCANNED]
        # Counting fills a vector, searching does not: only a part that holds any is searched.
        count = int(_count_of(part, value))
        if count > 0 and sharing == 0:
            first = start
            while row[first] != value:
                first += 1
        sharing += count
    return sharing, first


@compiled()
def _power_sums(row: Row, top: float) -> tuple[float, float]:
    total = squares = 0.0
    wide = np.float64(top)
    for k in range(row.size):
        power = exp_below(np.float64(row[k]) - wide)
        total += power
        squares += power * power
    return total, squares


@compiled(numbers=True)
def _turn(rows: Logits, wide: Float, tops: Float) -> None:
    """Write rows as columns of float64, and the largest entry of each."""
    for j in range(len(rows)):
        for k in range(rows.shape[1]):
            wide[k, j] = rows[j, k]
    # Now each class is a line over the rows, along which the largest are found side by side.
    tops[:] = wide[0]
    for k in range(1, rows.shape[1]):
        for j in range(tops.size):
            tops[j] = larger(tops[j], wide[k, j])


@compiled()
def _note_sharing(line: Float, tops: Float, number: float, first: Float, sharing: Float) -> None:
    for j in range(_SIDE_BY_SIDE):
        largest = line[j] == tops[j]
        first[j] = number if largest else first[j]
        sharing[j] += 1.0 if largest else 0.0


@compiled()
def _add_powers(line: Float, tops: Float, total: Float, squares: Float) -> None:
    for j in range(_SIDE_BY_SIDE):
        power = exp_below(line[j] - tops[j])
        total[j] += power
        squares[j] += power * power


@compiled()
def _write_brier(gap: Float, total: Float, squares: Float, brier: Float) -> None:
    for j in range(brier.size):
        of_true = exp_below(gap[j]) / total[j]
        brier[j] = max(squares[j] / (total[j] * total[j]) - 2.0 * of_true + 1.0, 0.0)


@compiled()
def _read_narrow_rows(
    logits: Logits, labels: Int, total: Float, gap: Float, brier: Float, predicted: Int
) -> int:
    """Do what `read_rows` does, some rows side by side, class after class."""
    n_columns, tied = logits.shape[1], 0
    wide, lines = np.zeros((n_columns, _SIDE_BY_SIDE)), np.zeros((5, _SIDE_BY_SIDE))
    tops, first, sharing, totals, squares = lines[0], lines[1], lines[2], lines[3], lines[4]
    for start in range(0, labels.size, _SIDE_BY_SIDE):
        rows = slice(start, min(start + _SIDE_BY_SIDE, labels.size))
        lines[1:] = 0.0
        _turn(logits[rows], wide, tops)
        for k in range(n_columns - 1, -1, -1):  # the lowest of the largest is noted last
            _note_sharing(wide[k], tops, float(k), first, sharing)
            _add_powers(wide[k], tops, totals, squares)
        for j in range(rows.stop - start):
            total[start + j], predicted[start + j] = totals[j], int(first[j])
            gap[start + j] = wide[labels[start + j], j] - tops[j]
            tied += int(sharing[j] > 1.0)
        _write_brier(gap[rows], total[rows], squares, brier[rows])
    return tied


@compiled(*(f"int64({logits}, {_LABELS}, {_NUMBERS}, int64[::1])" for logits in _LOGITS))
def read_rows(
    logits: Logits, labels: Int, total: Float, gap: Float, brier: Float, predicted: Int
) -> int:
    """Fill in what a pass over the logits tells of each row; return how many answers are tied.

    Parameters
    ----------
    logits : (N, K) float32 or float64
        Finite or -inf, C-contiguous.
    labels : (N,) int64
        In 0..K-1.
    total, gap, brier : (N,) float64
        Written: the sum of exp(logit - largest); the true class's logit minus the largest; Brier.
    predicted : (N,) int64
        Written: the lowest class of the largest logit.
    """
    if logits.shape[1] <= _NARROW:
        return _read_narrow_rows(logits, labels, total, gap, brier, predicted)
    tied = 0
    for i in range(labels.size):
        row = logits[i]
        top = _largest(row)
        sharing, predicted[i] = _sharing(row, top)
        total[i], squares = _power_sums(row, top)
        gap[i] = np.float64(row[labels[i]]) - np.float64(top)
        # sum over classes of (p - onehot)² = sum p² - 2 p_true + 1.
        of_true = exp_below(gap[i]) / total[i]
        brier[i] = max(squares / (total[i] * total[i]) - 2.0 * of_true + 1.0, 0.0)
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
        out[i] *= 1.0 / _write_powers(logits[i], _largest(logits[i]), out[i])


@compiled()
def _tempered_sums(row: Row, top: float, inverse: float) -> tuple[float, float, float, float]:
    wide = np.float64(top)
    total = first = second = third = 0.0
    for k in range(row.size):
        gap = max(np.float64(row[k]) - wide, _FARTHEST)
        # Moments of the gaps, weighted by the powers: the NLL and its slopes are made of these.
        power = exp_below(gap * inverse)
        total += power
        first += power * gap
        second += power * gap * gap
        third += power * gap * gap * gap
    return total, first, second, third


@compiled(*(f"void({logits}, {_LABELS}, float64, float64[:, ::1])" for logits in _LOGITS))
def read_tempered_rows(logits: Logits, labels: Int, inverse: float, out: Float) -> None:
    """Write what the NLL of `inverse * logits` and its derivatives are made of.

    Parameters
    ----------
    logits, labels : (N, K) float32 or float64, (N,) int64
        As in `read_rows`, finite.
    inverse : float
        One over the temperature, above 0.
    out : (5, N) float64
        Written, of the gaps between a row's logits and its largest: the sum of exp(inverse * gap);
        mean, mean square and mean cube of the gaps under these probabilities; the gap of the true
        class.
    """
    for i in range(labels.size):
        top = _largest(logits[i])
        total, first, second, third = _tempered_sums(logits[i], top, inverse)
        out[0, i], out[1, i], out[2, i] = total, first / total, second / total
        out[3, i] = third / total
        out[4, i] = np.float64(logits[i, labels[i]]) - np.float64(top)


@compiled(as_written=True)
def _first_from(line: Float, value: float) -> int:
    """Return the first place where an ascending line is at least a value, else its last place."""
    at, left = 0, line.size
    while left > 1:
        # Halves without a branch that has to be guessed.
        half = left // 2
        at += half if line[at + half - 1] < value else 0
        left -= half
    return at


@compiled(as_written=True)
def _bin_of(value: float, edges: Float) -> int:
    """Return the bin (low, high] of a value; what lies outside belongs to the nearest."""
    at = 0
    while at < edges.size - 2 and value > edges[at + 1]:
        at += 1
    return at


@compiled(
    *(
        f"void(float64[:, ::1], float64[:, ::1], float64[::1], {counts}[::1], {counts}[:, ::1])"
        for counts in ("int32", "float64")
    ),
    as_written=True,
)
def add_redrawn(p: Float, draws: Float, edges: Float, rows: Counts, hits: Counts) -> None:
    """Draw a class for each row and resample, and count it in the bin of its probability.

    Parameters
    ----------
    p : (N, K) float64
        Probabilities.
    draws : (N, R) float64
        Uniform in [0, 1).
    edges : (B + 1,) float64
        Of the bins.
    rows : (N,) int32 or float64
        What each row counts.
    hits : (K * B, R) of the same type
        Added to: by class and bin, what the rows count whose class was drawn.
    """
    n_bins = edges.size - 1
    line = np.empty(p.shape[1])
    for i in range(len(p)):
        # Running sums of the row; a uniform number times their last one picks the class.
        total = 0.0
        for k in range(line.size):
            total += p[i, k]
            line[k] = total
        for r in range(draws.shape[1]):
            k = _first_from(line, draws[i, r] * total)
            hits[k * n_bins + _bin_of(p[i, k], edges), r] += rows[i]


@compiled()
def _count_above(line: Float, bar: float) -> float:
    count = 0.0
    for k in range(line.size):
        count += 1.0 if line[k] > bar else 0.0
    return count


@compiled()
def _add_shares(line: Float, inverse: float, weight: float, sums: Float, squares: Float) -> None:
    for k in range(line.size):
        share = line[k] * inverse
        sums[k] += weight * share
        squares[k] += weight * share * share


@compiled()
def _level_of(value: float, finest: int) -> int:
    """Return j - 1 where the value lies in [2^-j, 2^-(j - 1)); the last for all below."""
    if value <= 0.0:
        return finest - 1
    return min(max(-math.frexp(value)[1], 0), finest - 1)


@compiled()
def _sum_from(line: Float, least: float) -> float:
    total = 0.0
    for k in range(line.size):
        total += line[k] if line[k] >= least else 0.0
    return total


@compiled()
def _add_wrong_row(
    line: Float, label: int, answer: int, weight: float, by_class: Float, by_level: Float
) -> float:
    """Do what `add_wrong` does for one row."""
    # Given that the answer is wrong, the other classes share what is left of the row.
    line[answer] = 0.0
    rest, finest = line.sum(), by_level.shape[1]
    if not rest > 0.0:
        return 0.0
    _add_shares(line, 1.0 / rest, weight, by_class[0], by_class[1])
    by_class[2, label] += weight
    by_level[2, _level_of(line[label], finest)] += weight
    above, least = 0.0, 1.0
    for level in range(finest):  # a sum for each level: several at a time, and no logarithm
        least *= 0.5
        down = rest if level == finest - 1 else _sum_from(line, least)
        share, above = max(0.0, down - above) / rest, down
        by_level[0, level] += weight * share
        by_level[1, level] += weight * share * share
    return weight


_WRONG = f"{_LABELS}, {_LABELS}, float64[::1], float64[:, ::1], float64[:, ::1]"


@compiled(f"float64(float64[:, ::1], {_WRONG})")
def add_wrong(
    p: Float, labels: Int, answers: Int, weights: Float, by_class: Float, by_level: Float
) -> float:
    """Add what rows answered wrongly state of the other classes, given that they are wrong.

    Parameters
    ----------
    p : (N, K) float64
        Probabilities; those of the answers are set to 0.
    labels, answers : (N,) int64
        True class and answer of each row; they differ.
    weights : (N,) float64
        What each row counts.
    by_class, by_level : (3, K), (3, J) float64
        Added to: what is stated, its square, and how often it is true, by class; and by level of
        the probability, where the j-th (from 1) holds 2^-j to 2^-(j - 1) and the last all below.

    Returns
    -------
    float
        What the rows count that state anything of the other classes.
    """
    counted = 0.0
    for i in range(len(p)):
        counted += _add_wrong_row(p[i], labels[i], answers[i], weights[i], by_class, by_level)
    return counted


@compiled(*(f"float64({logits}, {_WRONG})" for logits in _LOGITS))
def add_wrong_softmax(
    logits: Logits, labels: Int, answers: Int, weights: Float, by_class: Float, by_level: Float
) -> float:
    """Do what `add_wrong` does for the softmax of each row; logits as in `read_rows`."""
    counted, line = 0.0, np.empty(logits.shape[1])
    for i in range(len(logits)):
        line *= 1.0 / _write_powers(logits[i], _largest(logits[i]), line)
        counted += _add_wrong_row(line, labels[i], answers[i], weights[i], by_class, by_level)
    return counted


@compiled()
def _add_row(line: Float, weight: float, edges: Float, low: Float, sums: Float) -> None:
    """Add a row's probabilities: those of the first bin to `low`, the few others to their bins."""
    # The first bin class by class, without a branch.
    bar = edges[1]
    for k in range(line.size):
        low[k] += weight * (0.0 if line[k] > bar else line[k])
    for start in range(0, line.size, _SCANNED):
        # The few above it only in parts of the row that hold any.
        part = line[start : start + _SCANNED]
        if _count_above(part, bar) > 0.0:
            for k in range(part.size):
                if part[k] > bar:
                    at = _bin_of(part[k], edges)
                    sums[0, start + k, at] += weight
                    sums[1, start + k, at] += weight * part[k]


@compiled()
def _add_rows(p: Float, labels: Int, weights: Float, edges: Float, low: Float, sums: Float) -> None:
    for i in range(len(p)):
        _add_row(p[i], weights[i], edges, low, sums)
        sums[2, labels[i], _bin_of(p[i, labels[i]], edges)] += weights[i]


_BINNED = f"{_LABELS}, Array(float64, 1, 'C', readonly=True), float64[::1], float64[:, :, ::1]"


@compiled(f"void({_LOGITS[1]}, {_BINNED})")
def add_binned(p: Float, labels: Int, weights: Float, edges: Float, sums: Float) -> None:
    """Add rows, probabilities and occurrences of each class to the bins of its probability.

    Parameters
    ----------
    p : (N, K) float64
        Probabilities.
    labels, weights : (N,) int64, (N,) float64
        In 0..K-1; how many rows each stands for.
    edges : (B + 1,) float64
        Of the bins (low, high]; what lies outside belongs to the nearest.
    sums : (3, K, B) float64
        Added to: rows, but none in the first bin; their probabilities; the rows of the class.
    """
    low = np.zeros(p.shape[1])
    for start in range(0, len(p), _SUMMED):
        rows = slice(start, min(start + _SUMMED, len(p)))
        _add_rows(p[rows], labels[rows], weights[rows], edges, low, sums)
        # Block by block, so that rounding does not grow with the rows.
        sums[1, :, 0] += low
        low[:] = 0.0


@compiled(*(f"void({logits}, {_BINNED})" for logits in _LOGITS))
def add_binned_softmax(
    logits: Logits, labels: Int, weights: Float, edges: Float, sums: Float
) -> None:
    """Do what `add_binned` does for the softmax of each row; logits as in `read_rows`."""
    low = np.zeros(logits.shape[1])
    p = np.empty((max(1, _BLOCK_PROBABILITIES // logits.shape[1]), logits.shape[1]))
    summed = 0
    for start in range(0, len(logits), len(p)):
        rows = slice(start, min(start + len(p), len(logits)))
        part = p[: rows.stop - start]
        write_softmax(logits[rows], part)
        _add_rows(part, labels[rows], weights[rows], edges, low, sums)
        summed += len(p)
        if summed >= _SUMMED or rows.stop == len(logits):
            # As often as `add_binned` does, so that both sum alike.
            sums[1, :, 0] += low
            low[:], summed = 0.0, 0
