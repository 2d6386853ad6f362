"""What corrections that change slowly can find: smCE and the post-processing gap; numpy, scipy.

Both look for a function of the claim with slope at most 1. A linear program finds the one that
agrees most with the residuals (smCE), a recursion over the sorted claims the one that takes most
off the squared error (post-processing gap). Up to MOST distinct claims both are exact; beyond it
claims within 1 / MOST are taken at their mean. No claim moves further than that, so smCE changes
by at most 1 / MOST, and the post-processing gap by at most 4 / MOST.
"""

from dataclasses import dataclass

import numpy as np

from core.arrays import Float
from core.metrics.binning import equal_width_cuts
from core.metrics.ranked import SortedOutcomes

MOST = 1_000  # distinct claims
NODES = 64  # of the even grid that claims of resamples are moved to


@dataclass(frozen=True)
class _Residuals:
    """Distinct claims with the rows that state them: position, outcome minus claim, weight."""

    position: Float
    sum: Float
    weight: Float

    @classmethod
    def of(cls, ranked: SortedOutcomes) -> "_Residuals":
        cuts = ranked.cuts
        if len(cuts) > MOST + 1:
            cuts = np.unique(equal_width_cuts(ranked, MOST))
        weight = np.diff(ranked.sum_weights[cuts]).astype(np.float64)
        total = np.diff(ranked.sum_confidence[cuts])
        gap = np.diff(ranked.sum_correct[cuts]) - total
        exact = len(cuts) == len(ranked.cuts)
        position = ranked.confidence[cuts[:-1]] if exact else total / weight
        return cls(position, np.asarray(gap, dtype=np.float64), weight)


def smce(ranked: SortedOutcomes) -> float:
    """Return the smooth calibration error, in [0, 1]; lower is better.

    Parameters
    ----------
    ranked : SortedOutcomes
        N rows with claims c and outcomes t.

    Notes
    -----
    The largest mean of w(c) (t - c) over functions w from [0, 1] to [-1, 1] with
    |w(a) - w(b)| <= |a - b|. Between sorted claims the slope alone binds, so the linear program
    has one variable and two rows for each distinct claim; HiGHS solves it.

    References
    ----------
    Blasiok, Gopalan, Hu and Nakkiran 2023, definition 4.14; equation 7 of the focal calibration
    loss paper.
    """
    from scipy.optimize import linprog
    from scipy.sparse import diags_array, vstack

    residuals = _Residuals.of(ranked)
    n, steps = residuals.position.size, np.diff(residuals.position)
    if n == 1:
        return float(abs(residuals.sum[0]) / ranked.total)
    ends = [[-1.0] * (n - 1), [1.0] * (n - 1)]
    rises = diags_array(ends, offsets=(0, 1), shape=(n - 1, n))
    solved = linprog(  # type: ignore[call-overload]  # it takes sparse rows
        -residuals.sum,
        A_ub=vstack([rises, -rises]),
        b_ub=np.tile(steps, 2),
        bounds=(-1.0, 1.0),
        method="highs",
    )
    return float(np.clip(-solved.fun / ranked.total, 0.0, 1.0))


def pgap(ranked: SortedOutcomes) -> float:
    """Return the post-processing gap of the squared error, in [0, 1]; lower is better.

    Parameters
    ----------
    ranked : SortedOutcomes
        N rows with claims c and outcomes t.

    Notes
    -----
    Mean (c - t)^2 less the smallest mean (c + h(c) - t)^2 over functions h with
    |h(a) - h(b)| <= |a - b|: the largest mean of 2 h(c) (t - c) - h(c)^2. That c + h(c) stays in
    [0, 1] need not be asked for, since cutting it there brings it nearer to every outcome.

    References
    ----------
    Blasiok, Gopalan, Hu and Nakkiran 2023b, definition 1.2; definition 2.3 of the focal
    calibration loss paper.
    """
    residuals = _Residuals.of(ranked)
    change = _best_correction(residuals)
    gain = change @ (2.0 * residuals.sum - residuals.weight * change)
    return float(np.clip(gain / ranked.total, 0.0, 1.0))


def _best_correction(residuals: _Residuals) -> Float:
    """Return the h of the post-processing gap at each claim.

    The best gain from the claims up to one, as a function of h there, is concave; half its slope
    falls in straight pieces. To go one claim on, what lies left of its zero moves left by the
    distance and what lies right moves right, with a flat piece between. From the last zero back,
    each h is the one within reach that is nearest to its own zero.
    """
    position, pull, weight = residuals.position, residuals.sum, residuals.weight
    steps, zeros = np.diff(position), np.empty(position.size)
    zeros[0] = pull[0] / weight[0]
    ends, slopes = np.empty(0), np.array([-weight[0]])
    for j, step in enumerate(steps, start=1):
        zero, left = zeros[j - 1], int(np.searchsorted(ends, zeros[j - 1]))
        flat = (zero - step, zero + step)
        ends = np.concatenate([ends[:left] - step, flat, ends[left:] + step])
        slopes = np.concatenate([slopes[: left + 1], [0.0], slopes[left:]]) - weight[j]
        values = np.concatenate([[0.0], np.cumsum(slopes[1:-1] * np.diff(ends))])
        values += pull[j] - weight[j] * flat[0] - values[left]
        above = int(np.count_nonzero(values > 0.0))
        known = max(above - 1, 0)
        zeros[j] = ends[known] - values[known] / slopes[above]
    change = zeros.copy()
    for j in range(position.size - 2, -1, -1):
        after = change[j + 1]
        change[j] = min(max(zeros[j], after - steps[j]), after + steps[j])
    return change


def to_nodes(cells: Float, confidence: Float) -> Float:
    """Return sums of cells, (R, C), moved to the nearest of NODES + 1 even nodes, (R, NODES + 1).

    Parameters
    ----------
    cells : (R, C) float64
    confidence : (C,) float64 in [0, 1]
        Mean of each cell, ascending.
    """
    node = np.rint(confidence * NODES).astype(np.int64)
    first = np.searchsorted(node, np.unique(node))
    out = np.zeros((len(cells), NODES + 1))
    out[:, node[first]] = np.add.reduceat(cells, first, axis=1)
    return out


def smce_draws(gaps: Float, n: float) -> Float:
    """Return smCE of many resamples from their gaps at the nodes, (R, NODES + 1); n rows each.

    On an even grid some best w takes values of the grid, so searching those is exact.
    """
    return _best_gain(gaps, np.zeros((1, 1)), (1,)) / n


def pgap_draws(gaps: Float, weight: Float, n: float) -> Float:
    """Return post-processing gaps of resamples from gaps and rows at the nodes, h in small steps.

    Parameters
    ----------
    gaps : (R, NODES + 1) float64
        Sum of claim minus outcome.
    weight : (R or 1, NODES + 1) float64
        Rows.
    n : float
        Rows of a resample.
    """
    return _best_gain(2.0 * gaps, weight, (1, 3)) / n


def _best_gain(pull: Float, weight: Float, shifts: tuple[int, ...]) -> Float:
    """Return the largest sum of pull h - weight h^2 over h of slope at most 1, (R,).

    h takes even steps in [-1, 1], as many within a node's distance as the shifts add up to; its
    sign does not matter here.
    """
    h = np.linspace(-1.0, 1.0, 2 * NODES * sum(shifts) + 1)
    weight = np.broadcast_to(weight, pull.shape)
    best = np.zeros((len(pull), h.size))
    for k in range(pull.shape[1]):
        for shift in shifts if k else ():
            reached = best.copy()
            np.maximum(best[:, shift:], reached[:, :-shift], out=best[:, shift:])
            np.maximum(best[:, :-shift], reached[:, shift:], out=best[:, :-shift])
        best += pull[:, k, None] * h
        if weight.any():
            best -= weight[:, k, None] * h**2
    return np.asarray(best.max(axis=1))
