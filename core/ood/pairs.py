"""Two scores of the same rows: the difference of their AUROCs; numpy only."""

from collections.abc import Sequence

import numpy as np

from core.arrays import Float, ascending
from core.defaults import LEVEL
from core.metrics.intervals import quantile, student
from core.ood.separation import BothGroups, BothWeights, counted_rows, mean_variance
from core.predictions import SamplingDesign


def placements(
    inside: Float, outside: Float, weights: BothWeights = (None, None)
) -> tuple[Float, Float]:
    """Return for each row the share of the other set that it is ranked rightly against.

    Returns
    -------
    (N,) and (M,) float64
        In the rows' own order; ties count one half. Both have the AUROC as their mean.
    """
    beaten = _share_below(inside, weights[0], outside)
    beating = _share_below(outside, weights[1], inside)
    return 1.0 - beating, beaten


def _share_below(scores: Float, weights: Float | None, at: Float) -> Float:
    """Return the share of rows that lie below some scores, counting equal ones one half."""
    order = np.argsort(scores) if weights is not None else None
    ordered = ascending(scores) if order is None else scores[order]
    ends = np.searchsorted(ordered, at, "left"), np.searchsorted(ordered, at, "right")
    if weights is None:
        return np.asarray((ends[0] + ends[1]) / (2.0 * ordered.size))
    running = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray((running[ends[0]] + running[ends[1]]) / (2.0 * running[-1]))


def auroc_difference(
    scores: Sequence[Float],
    other: Sequence[Float],
    *,
    level: float = LEVEL,
    groups: BothGroups = (None, None),
    weights: BothWeights = (None, None),
) -> tuple[float, float, float]:
    """Return AUROC minus AUROC on the same rows, with DeLong's paired interval.

    Parameters
    ----------
    scores, other : pair of (N,) and (M,) float64
        Scores of the in-distribution and the out-of-distribution rows, in the same order.
    level : float
        Of the interval.
    groups : pair of (N,) and (M,) int64 or None
        Group of each row of both sets.
    weights : pair of (N,) and (M,) float64 or None
        How many rows each stands for.

    Returns
    -------
    value, low, high : float
        Exactly 0 where both rank all rows alike.

    Notes
    -----
    With groups the quantile is Student's, with a degree of freedom less than groups in the set
    that has fewer.
    """
    variance, value, counts = 0.0, 0.0, list[int]()
    first, second = (placements(run[0], run[1], weights) for run in (scores, other))
    for side in (0, 1):
        extents = SamplingDesign(groups[side], weights[side])
        gap, extents = counted_rows(first[side] - second[side], extents, "paired")
        value = float(np.average(gap, weights=extents.weights))
        if extents.independent:
            variance += float(gap.var(ddof=min(1, gap.size - 1))) / gap.size
        else:
            group = np.arange(gap.size) if extents.groups is None else extents.groups
            variance += mean_variance(gap, group, extents.weights)
            counts.append(np.unique(group).size)
    wide = student(level, max(1, min(counts) - 1)) if counts else quantile(level)
    half = wide * float(np.sqrt(variance))
    return value, max(-1.0, value - half), min(1.0, value + half)
