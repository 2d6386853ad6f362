"""Two scores of the same rows: the difference of their AUROCs; numpy only."""

from collections.abc import Sequence

import numpy as np

from core.arrays import Float, ascending
from core.defaults import LEVEL
from core.metrics.design_effect import of_rows
from core.metrics.estimates import discrimination
from core.metrics.grouped import sum_variance
from core.metrics.intervals import quantile, student
from core.metrics.ranked import SortedOutcomes
from core.ood.intervals import auroc_score
from core.ood.separation import POSITIVE, BothGroups, BothWeights, Separation
from core.predictions import Outcomes, SamplingDesign


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
    one_set: bool = False,
) -> tuple[float, float | None, float | None]:
    """Return AUROC minus AUROC on the same rows, with a paired interval.

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
    one_set : bool
        Both sides are outcomes of one set, scored by risks in [0, 1]: a number is the same group on
        either side.

    Returns
    -------
    value, low, high : float
        Exactly 0 where both rank all rows alike; no interval where a side has fewer than 2 rows.

    Notes
    -----
    The interval spans DeLong's, and the one that joins those of both runs with their correlation
    (MOVER, Zou and Donner 2008): DeLong's has no width where ranks do not vary, as of a perfect and
    a reversed run. With groups the quantile is Student's, with a degree of freedom less than groups
    on the side that has fewer; groups with rows on both sides of one set are summed over both
    (Obuchowski 1997).
    """
    counted = [slice(None) if side is None else side > 0.0 for side in weights]
    of_runs = [placements(run[0], run[1], weights) for run in (scores, other)]
    first, second = ([run[side][counted[side]] for side in (0, 1)] for run in of_runs)
    designs = [of_rows(SamplingDesign(groups[k], weights[k]), counted[k]) for k in (0, 1)]
    gap = [one - two for one, two in zip(first, second, strict=True)]
    value = float(np.average(gap[1], weights=designs[1].weights))
    if min(side.size for side in gap) < 2:
        return value, None, None
    if not any(side.any() for side in gap):
        return 0.0, 0.0, 0.0
    spread = _variance(gap, designs, one_set=one_set)
    counts = [
        side.size if design.groups is None else np.unique(design.groups).size
        for side, design in zip(gap, designs, strict=True)
        if not design.independent
    ]
    wide = student(level, max(1, min(counts) - 1)) if counts else quantile(level)
    half = wide * spread**0.5
    # The same from the intervals of both runs: MOVER
    own, others = (_variance(run, designs, one_set=one_set) for run in (first, second))
    scale = 2.0 * (own * others) ** 0.5
    alike = np.clip((own + others - spread) / scale, -1.0, 1.0) if 0.0 < scale < np.inf else 0.0
    margins = []
    for run in (scores, other):
        if one_set:
            came_true = np.repeat([False, True], [side.size for side in run])
            belonging = [side for side in groups if side is not None]
            counting = [side for side in weights if side is not None]
            event = Outcomes(
                np.concatenate(run),
                came_true,
                np.concatenate(belonging) if belonging else None,
                np.concatenate(counting) if counting else None,
            )
            score = discrimination(SortedOutcomes.of(event), level, POSITIVE)["auroc"]
        else:
            score = auroc_score(Separation.of(run[0], run[1], groups, weights), level=level)
        assert score.value is not None
        assert score.low is not None
        assert score.high is not None
        margins.append((score.value - score.low, score.high - score.value))
    (below, above), (other_below, other_above) = margins
    lower = _joined(below, other_above, float(alike))
    upper = _joined(above, other_below, float(alike))
    return value, max(-1.0, value - max(half, lower)), min(1.0, value + max(half, upper))


def _variance(
    placed: Sequence[Float], designs: Sequence[SamplingDesign], *, one_set: bool
) -> float:
    """Return the variance of the mean of both sides' placements, or of their differences."""
    centred, groups = [], []
    for values, design in zip(placed, designs, strict=True):
        weights = np.ones(values.size) if design.weights is None else design.weights
        mean = np.average(values, weights=weights)
        centred.append(weights * (values - mean) / weights.sum())
        own = np.arange(values.size) if design.groups is None else design.groups
        groups.append(own)
    if one_set and all(design.groups is not None for design in designs):
        centred, groups = [np.concatenate(centred)], [np.concatenate(groups)]
    numbered = (np.unique(own, return_inverse=True)[1] for own in groups)
    return sum(map(sum_variance, centred, numbered))


def _joined(one: float, other: float, correlation: float) -> float:
    """Return the margin of a difference from those of its parts."""
    return float(max(0.0, one**2 + other**2 - 2.0 * correlation * one * other) ** 0.5)
