"""What a loss reads off the classes other than the true one, and its gradient, row by row.

In float32, as networks train: each row lies in the cache while it is read.
"""

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Real = npt.NDArray[np.float32]
Int = npt.NDArray[np.int64]
Slopes = tuple[Real, Real]

# exp(r) for |r| <= ln(2) / 2, to 1e-7: the polynomial through the Chebyshev nodes, by mpmath.
_C0, _C1, _C2, _C3, _C4, _C5, _C6 = (
    np.float32(float.fromhex(digits))
    for digits in (
        "0x1.0p+0",
        "0x1.0p+0",
        "0x1.0p-1",
        "0x1.555404p-3",
        "0x1.5554acp-5",
        "0x1.127p-7",
        "0x1.6d758cp-10",
    )
)
_LOG2E = np.float32(1.0 / np.log(2.0))
_LN2_HIGH = np.float32(0.693359375)  # its products with whole numbers up to 2^12 are exact
_LN2_LOW = np.float32(np.log(2.0) - 0.693359375)
_TO_WHOLE = np.float32(1.5 * 2.0**23)  # a float32 this large has no digits behind the point
_LEAST = np.float32(-87.0)  # exp of it is 2e-38, nearly the smallest that is still a normal number
_ONE, _NONE, _NOTHING = np.float32(1.0), np.float32(0.0), np.float32(-np.inf)
_ENDLESS = np.float32(np.inf)
_LANES = 64  # entries that are compared at once; a maximum of one by one takes five times as long

_LOGITS = "Array(float32, 2, 'C', readonly=True)"
_TARGETS = "Array(int64, 1, 'C', readonly=True)"
_COLUMN = "Array(float32, 1, 'C', readonly=True)"
_SLOPES = f"UniTuple({_COLUMN}, 2)"


@compiled(as_written=True)
def exp_below(x: np.float32) -> np.float32:
    """Return exp(x) for x <= 0, to 2e-7 of itself; 0 from -87 down, NaN for NaN."""
    near = max(x, _LEAST)
    # x = k ln 2 + r; ln 2 in two parts, the first so short that k times it is exact.
    shifted = near * _LOG2E + _TO_WHOLE  # its last bits are the nearest power of two
    whole = shifted - _TO_WHOLE
    r = (near - whole * _LN2_HIGH) - whole * _LN2_LOW
    p = _C6 * r + _C5
    p = p * r + _C4
    p = p * r + _C3
    p = p * r + _C2
    p = p * r + _C1
    p = p * r + _C0
    exponent = np.float32(shifted).view(np.int32) << np.int32(23)
    power = np.int32(np.float32(p).view(np.int32) + exponent).view(np.float32)
    beyond = _NONE if x <= _LEAST else x
    return power if x > _LEAST else beyond


@compiled()
def _largest_below(row: Real, bound: np.float32, lanes: Real) -> np.float32:
    """Return the largest entry below a bound, -inf where there is none."""
    lanes[:] = _NOTHING
    # Lanes hold the largest so far side by side; the rest of the row goes to the first of them.
    n_whole = row.size - row.size % _LANES
    for start in range(0, n_whole, _LANES):
        for lane in range(_LANES):
            value = row[start + lane]
            leads = (value < bound) & (value > lanes[lane])
            lanes[lane] = value if leads else lanes[lane]
    for k in range(n_whole, row.size):
        value = row[k]
        leads = (value < bound) & (value > lanes[0])
        lanes[0] = value if leads else lanes[0]
    top = _NOTHING
    for lane in range(_LANES):
        top = max(top, lanes[lane])
    return top


@compiled()
def _write_powers(row: Real, top: np.float32, out: Real) -> np.float32:
    total = _NONE
    for k in range(row.size):
        power = exp_below(row[k] - top)
        out[k] = power
        total += power
    return total


@compiled()
def _scale(row: Real, factor: np.float32) -> np.float32:
    squares = _NONE
    for k in range(row.size):
        scaled = row[k] * factor
        row[k] = scaled
        squares += scaled * scaled
    return squares


@compiled(f"int64({_LOGITS}, {_TARGETS}, float32[:, ::1], float32[:, ::1])")
def read_others(logits: Real, targets: Int, share: Real, read: Real) -> int:
    """Write what each row says of the classes other than the true one.

    Parameters
    ----------
    logits : (N, K) float32
        C-contiguous; K >= 2.
    targets : (N,) int64
        In 0..K-1; more of them than rows would write out of bounds.
    share : (N, K) float32
        Written: the softmax of the others, 0 at the true class.
    read : (4, N) float32
        Written, the first two: the true logit minus log-sum-exp of the others; the sum of squares
        of `share`.

    Returns
    -------
    int
        Rows that could be read: N, or that of the first target out of range.
    """
    lanes = np.empty(_LANES, np.float32)
    for i in range(targets.size):
        row, out, true = logits[i], share[i], targets[i]
        if true < 0 or true >= row.size:
            return i
        # The row without its true class, in two parts that are read where they lie.
        low, high = row[:true], row[true + 1 :]
        top = max(_largest_below(low, _ENDLESS, lanes), _largest_below(high, _ENDLESS, lanes))
        total = _write_powers(low, top, out[:true]) + _write_powers(high, top, out[true + 1 :])
        out[true] = _NONE
        gap = np.float64(row[true]) - np.float64(top)
        read[0, i] = gap - np.log(np.float64(total))
        read[1, i] = _scale(out, _ONE / total)
    return targets.size


@compiled(f"void({_LOGITS}, {_TARGETS}, float32[:, ::1])")
def read_below(logits: Real, targets: Int, read: Real) -> None:
    """Write what each row says of the class below the true one; after `read_others`.

    Parameters
    ----------
    logits, targets : see `read_others`
    read : (4, N) float32
        Written, the last two: the largest logit below the true one, -inf where there is none; that
        minus the true one.
    """
    lanes = np.empty(_LANES, np.float32)
    for i in range(targets.size):
        true = logits[i, targets[i]]
        read[2, i] = _largest_below(logits[i], true, lanes)
        read[3, i] = read[2, i] - true


@compiled(f"void({_LOGITS}, {_TARGETS}, {_LOGITS}, {_SLOPES}, float32[:, ::1])")
def write_gradient(share: Real, targets: Int, read: Real, slopes: Slopes, out: Real) -> None:
    """Write the gradient of the first two that `read_others` reads.

    Parameters
    ----------
    share, targets, read : see `read_others`
    slopes : two (N,) float32
        Of the loss by each of them.
    out : (N, K) float32
        Written.
    """
    for i in range(targets.size):
        row, line = share[i], out[i]
        # By logit k the gap falls by s_k, and the sum of squares rises by 2 s_k (s_k - that sum).
        double = slopes[1][i] + slopes[1][i]
        constant = slopes[0][i] + double * read[1, i]
        for k in range(row.size):
            line[k] = row[k] * (double * row[k] - constant)
        line[targets[i]] = slopes[0][i]


@compiled(f"void({_LOGITS}, {_TARGETS}, {_LOGITS}, {_COLUMN}, float32[:, ::1])")
def add_below(logits: Real, targets: Int, read: Real, slope: Real, out: Real) -> None:
    """Add the gradient of the gap that `read_below` reads, in equal parts where classes tie.

    Parameters
    ----------
    logits, targets, read : see `read_below`
    slope : (N,) float32
        Of the loss by the gap.
    out : (N, K) float32
        Added to.
    """
    for i in range(targets.size):
        row, line, below = logits[i], out[i], read[2, i]
        n_tied = _NONE
        for k in range(row.size):
            n_tied += _ONE if row[k] == below else _NONE
        # Classes that tie as the largest below share its gradient.
        part = slope[i] / max(n_tied, _ONE)
        for k in range(row.size):
            line[k] += part if row[k] == below else _NONE
        line[targets[i]] -= slope[i]
