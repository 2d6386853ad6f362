"""Numbers of a `Separation` with their intervals, and two scores of the same rows; numpy only."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core import arrays
from core.arrays import Counts, Float, ascending
from core.defaults import LEVEL, N_RESAMPLES, N_RESAMPLES_HEAVY, SEED
from core.metrics.estimates import discrimination
from core.metrics.intervals import (
    HALVINGS,
    at_least,
    exact_interval,
    logit_interval,
    newcombe,
    percentile,
    precision_interval,
    quantile,
    student,
    wilson,
)
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Score, Setting
from core.metrics.resampling import HEAVY_DRAWS
from core.metrics.units import deviations, resampled_by, sum_variance
from core.ood.separation import (
    KEEP,
    NUMBERS,
    POSITIVE,
    BothGroups,
    BothWeights,
    Separation,
    auroc,
    auroc_error,
    average_precisions,
    cell_ends,
    cells,
    detection_errors,
    effective_sizes,
    false_positive_shares,
)
from core.predictions import Outcomes, SamplingDesign

Interval = tuple[float, float]
ROUNDING = 1e-9  # of running shares


class ScoreCounts(NamedTuple):
    """Rows of each distinct score, best first, and their effective sample size."""

    positives: Counts
    negatives: Counts
    effective_n: tuple[float, float]


def false_positives(counts: ScoreCounts, share: float, level: float) -> Interval:
    """Return the interval of the negatives' share above the threshold that keeps a share.

    Wilson's reach at the threshold is added in squares to how far the share moves where the
    threshold does, which stands at a row of the positives on either side (`_kept`). Where no row
    lies so far out, nothing says how many negatives the threshold passes: the interval ends at 1.
    """
    sides = (counts.positives, counts.negatives)
    recall, false_alarms = (np.cumsum(side) / np.sum(side) for side in sides)
    # The threshold is itself estimated from the positives: where it may lie
    # counts as well as how many negatives lie beyond it.
    low, high = _kept(counts.effective_n[0], share, level)
    fewest = int(np.searchsorted(recall, low + ROUNDING, side="right")) - 1
    at = (
        float(false_alarms[fewest]) if fewest >= 0 else 0.0,
        float(false_alarms[np.argmax(recall >= min(1.0, high) - ROUNDING)]),
        float(false_alarms[np.argmax(recall >= share - ROUNDING)]),
    )
    # Two sources of error that do not depend on each other, hence squares.
    own = wilson(np.array(at[2] * counts.effective_n[1]), np.array(counts.effective_n[1]), level)
    below, above = (float(np.hypot(at[2] - a, at[2] - o)) for a, o in zip(at, own, strict=False))
    return at[2] - below, 1.0 if high > 1.0 else at[2] + above


def _kept(rows: float, share: float, level: float) -> Interval:
    """Return the shares of so many rows between which the threshold lies that keeps a share.

    The threshold lies beyond the k best rows as often as k or more of a binomial count come true,
    so the bounds are exact (Clopper and Pearson 1934, of a quantile). Above 1 where all rows may
    lie on one side of it: below 72 rows at 95 % of either.
    """
    tail = (1.0 - level) / 2

    def beyond(k: float) -> float:
        return float(at_least(np.array(k), np.array(rows), np.array(share)))

    def at_chance(chance: float) -> float:
        low, high = 0.0, rows
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if beyond(middle) > chance else (low, middle)
        return high / rows

    return at_chance(1.0 - tail), at_chance(tail) if beyond(rows) <= tail else 2.0


def smallest_error(counts: ScoreCounts, bias: float, level: float) -> Interval:
    """Return the interval of the smallest mean of missed share and false alarms.

    The exact reaches of both shares at the best threshold are added in squares (Newcombe 1998);
    the upper end moves up by what the choice of the threshold flatters.
    """
    sides = (counts.positives, counts.negatives)
    recall, false_alarms = (np.cumsum(side) / np.sum(side) for side in sides)
    recall, false_alarms = np.append(0.0, recall), np.append(0.0, false_alarms)
    # The best of many thresholds looks better than it is; `bias` says by how much, from resamples.
    at = int(np.argmin(false_alarms - recall))
    shares = np.array([1.0 - recall[at], false_alarms[at]])
    low, high = exact_interval(shares * counts.effective_n, np.array(counts.effective_n), level)
    value = float(shares.mean())
    below, above = (float(np.hypot(*(shares - end))) / 2 for end in (low, high))
    return value - below, value + above + bias


CELLS = 1_000  # of neighbouring scores, in which rows are resampled
BLOCK = 100  # resamples at a time, or fewer of many groups
MOST_DRAWN = 2**23  # groups times resamples at a time
STREAM = 17  # of random numbers
BOOTSTRAPPED = ("aupr_out", "aupr_in", "fpr95", "fpr95_in", "detection_error")
DELONG = "hull of DeLong, logit scale (Student's with groups), and Newcombe"
HULLS = {
    "aupr": "hull of percentile bootstrap of both sets and binomial, logit scale or Wilson, "
    "lower end exact",
    "fpr95": "hull of percentile bootstrap of both sets, and Wilson's reach with the threshold's; "
    "to 1 where no row bounds the threshold",
    "detection_error": "hull of percentile bootstrap of both sets and exact reaches",
}


def numbers(
    separation: Separation,
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> dict[str, Score]:
    """Return every number of `NUMBERS` with its interval.

    `separation`: both sets; `n_resamples`, `seed`: of the bootstrap: both sets are resampled on
    their own. With more than `CELLS` distinct scores rows are exchanged within cells of
    neighbouring scores.

    Returns
    -------
    dict of str to Score
        Fractions; settings say what is positive.
    """
    scores = {"auroc": auroc_score(separation, level=level)}
    n, rounds = separation.n_in + separation.n_out, n_resamples
    if separation.members is not None and n * rounds > HEAVY_DRAWS:
        rounds = min(rounds, N_RESAMPLES_HEAVY)
    centre, draws = _draws(separation, rounds, seed)
    for key in BOOTSTRAPPED:
        value = NUMBERS[key](separation)
        # Resamples of cells are compared with the cells' own number:
        # cutting scores into cells shifts both alike.
        moved = draws[key] - centre[key] + value
        ends = percentile(moved, level), _own(key, separation, value - float(moved.mean()), level)
        # Percentiles are too short where few rows are out of order,
        # exact reaches where ties are many: the hull.
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        if (
            separation.members is not None
            and min(side.units.count for side in separation.members) < 2
        ):
            low, high = 0.0, 1.0  # one group a set: nothing tells how far it may be off
        settings: dict[str, Setting] = {
            "positive": "id" if key.endswith("_in") else POSITIVE,
            "interval": HULLS[key.removesuffix("_in").removesuffix("_out")],
            "resamples": rounds,
            "seed": seed,
            **resampled_by(*separation.sampling),
        }
        low, high = max(0.0, min(low, value)), min(1.0, max(high, value))
        scores[key] = Score(
            metric=key, value=value, low=low, high=high, level=level, n=n, settings=settings
        )
    return {key: scores[key] for key in NUMBERS}


def _own(key: str, separation: Separation, bias: float, level: float) -> tuple[float, float]:
    """Return the interval of a number that has a width even where no row is out of order."""
    own, other = effective_sizes(separation)
    sides = ScoreCounts(separation.inside, separation.outside, (own, other))
    if not key.endswith("_in"):
        sides = ScoreCounts(separation.outside[::-1], separation.inside[::-1], (other, own))
    if key == "detection_error":
        return smallest_error(sides, max(0.0, bias), level)
    if key.startswith("fpr95"):
        return false_positives(sides, KEEP, level)
    return precision_interval(NUMBERS[key](separation), sides.effective_n[0], level)


def auroc_score(separation: Separation, *, level: float = LEVEL) -> Score:
    """Return the AUROC with an interval that spans DeLong's and Newcombe's.

    With few rows DeLong's is too short, and without a row out of order it has no width at all.
    """
    value, error, rows = auroc(separation), auroc_error(separation), effective_sizes(separation)
    # DeLong's error is 0 where the sets are apart or of one row;
    # Newcombe's interval has a width there.
    low, high = newcombe(value, *rows, level)
    if 0.0 < value < 1.0 and error > 0.0:
        if separation.members is not None:  # of few groups the spread itself is uncertain
            fewest = min(side.units.count for side in separation.members)
            error *= student(level, max(1, fewest - 1)) / quantile(level)
        ends = logit_interval(value, error, min(rows), level)
        low, high = min(low, ends[0]), max(high, ends[1])
    settings: dict[str, Setting] = {
        "positive": POSITIVE,
        "interval": DELONG,
        **resampled_by(*separation.sampling),
    }
    if separation.members is not None:
        settings |= {"effective_in": rows[0], "effective_out": rows[1]}
    return Score("auroc", value, low, high, level, separation.n_in + separation.n_out, settings)


def _draws(
    separation: Separation, n_resamples: int, seed: int
) -> tuple[dict[str, Float], dict[str, Float]]:
    """Return the bootstrapped numbers of the cells themselves, and on each resample."""
    inside, outside = cells(separation, CELLS)
    rng = np.random.default_rng([seed, STREAM])
    blocks, members = [], separation.members or ()
    grouped = [(side, side.by_group(cell_ends(separation, CELLS))) for side in members]
    most = max(1, MOST_DRAWN // max((side.units.count for side in members), default=1))
    drawn: list[arrays.Counts]
    for start in range(0, n_resamples, min(BLOCK, most)):
        size = min(BLOCK, most, n_resamples - start)
        if not grouped:
            # Independent rows: how many fall into each cell is
            # multinomial, however many rows there are.
            drawn = [rng.multinomial(int(s.sum()), s / s.sum(), size) for s in (inside, outside)]
        else:
            drawn = [side.draws(rows, size, rng) for side, rows in grouped]
        blocks.append(_all(*drawn))
    draws = {key: np.concatenate([block[key] for block in blocks]) for key in BOOTSTRAPPED}
    return _all(inside[None], outside[None]), draws


def _all(inside: arrays.Counts, outside: arrays.Counts) -> dict[str, Float]:
    return {
        "aupr_out": average_precisions(outside[:, ::-1], inside[:, ::-1]),
        "aupr_in": average_precisions(inside, outside),
        "fpr95": false_positive_shares(outside[:, ::-1], inside[:, ::-1]),
        "fpr95_in": false_positive_shares(inside, outside),
        "detection_error": detection_errors(inside, outside),
    }


def placements(
    inside: Float, outside: Float, weights: BothWeights = (None, None)
) -> tuple[Float, Float]:
    """Return for each row the share of the other set that it is ranked rightly against.

    Returns
    -------
    (N,) and (M,) float64
        In the rows' own order; ties count one half. Both have the AUROC as their mean.

    Examples
    --------
    Both sides have the AUROC, 7/8, as their mean:

    >>> inside, outside = placements(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    >>> inside.tolist(), outside.tolist(), float(inside.mean()), float(outside.mean())
    ([1.0, 0.75], [0.75, 1.0], 0.875, 0.875)
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

    Examples
    --------
    Only ranks count, and equal ranks differ by exactly 0:

    >>> scores, tenfold = ([1.0, 2.0], [2.0, 3.0]), ([10.0, 20.0], [20.0, 30.0])
    >>> auroc_difference(*([np.array(side) for side in run] for run in (scores, tenfold)))
    (0.0, 0.0, 0.0)

    Another run has the second inside row above both outside rows. On either side the placements
    differ by 0 and 1/2, so that the mean, 1/4, has the variance 2 (1/4)^2 / 2 = 1/16. One standard
    deviation is the root of 2/16, 0.3536, and here MOVER's margins are smaller.

    >>> first = np.array([0.0, 2.0]), np.array([1.0, 3.0])
    >>> second = np.array([0.0, 3.0]), np.array([1.0, 2.0])
    >>> ends = auroc_difference(first, second, level=0.6826894921370859)
    >>> [round(end, 4) for end in ends]
    [0.25, -0.1036, 0.6036]
    """
    counted = [slice(None) if side is None else side > 0.0 for side in weights]
    of_runs = [placements(run[0], run[1], weights) for run in (scores, other)]
    first, second = ([run[side][counted[side]] for side in (0, 1)] for run in of_runs)
    designs = [SamplingDesign(groups[k], weights[k]).take(counted[k]) for k in (0, 1)]
    # The difference of placements row by row keeps what the two runs have in common.
    gap = [own - other for own, other in zip(first, second, strict=True)]
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
    # Their correlation, from Var(a - b) = Var a + Var b - 2 r sd a sd b.
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
        centred.append(deviations(values, weights))
        own = np.arange(values.size) if design.groups is None else design.groups
        groups.append(own)
    if one_set and all(design.groups is not None for design in designs):
        centred, groups = [np.concatenate(centred)], [np.concatenate(groups)]
    numbered = (np.unique(own, return_inverse=True)[1] for own in groups)
    return sum(map(sum_variance, centred, numbered))


def _joined(margin: float, other: float, correlation: float) -> float:
    """Return the margin of a difference from those of its parts."""
    return float(max(0.0, margin**2 + other**2 - 2.0 * correlation * margin * other) ** 0.5)
