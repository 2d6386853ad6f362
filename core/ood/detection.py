"""Telling out-of-distribution rows from in-distribution ones by a score; numpy only.

The positive class is out-of-distribution and a higher score is more so. What carries `_in` in its
name is the same question asked the other way round: in-distribution positive, by the score
negated. A row is flagged where its score lies above the threshold; tied rows go together. A row of
weight 2 counts as if it were there twice, one of weight 0 as if it were not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from core import arrays
from core.arrays import Float, Int
from core.defaults import LEVEL, N_RESAMPLES, N_RESAMPLES_HEAVY, SEED
from core.errors import Refused
from core.metrics.design_effect import design_effect
from core.metrics.grouped import HEAVY_DRAWS, drawn_groups, sum_variance
from core.metrics.intervals import (
    logit_interval,
    newcombe,
    percentile,
    precision_interval,
    quantile,
    student,
)
from core.metrics.records import Score, Setting
from core.ood.bounds import ScoreCounts, false_positives, smallest_error
from core.predictions import INDEPENDENT, Extents

if TYPE_CHECKING:
    from scipy.sparse import csr_array

POSITIVE = "ood"  # of every number without `_in` in its name
KEEP = 0.95  # of the positive class, at the threshold of the false-positive rates
ROUNDING = 1e-11  # of a share: by so much a sum of weights may fall short of it
CELLS = 1_000  # of neighbouring scores, in which rows are resampled
BLOCK = 100  # resamples held at a time, or fewer of many groups
HELD = 2**23  # groups times resamples held at a time
STREAM = 17  # of random numbers
BOOTSTRAPPED = ("aupr_out", "aupr_in", "fpr95", "fpr95_in", "detection_error")
DELONG = "hull of DeLong, logit scale (Student's with groups), and Newcombe"
HULLS = {
    "aupr": "hull of percentile bootstrap of both sets and binomial, logit scale or Wilson",
    "fpr95": "hull of percentile bootstrap of both sets and Wilson's reaches",
    "detection_error": "hull of percentile bootstrap of both sets and Wilson's reaches",
}


BothGroups = tuple[Int | None, Int | None]
BothWeights = tuple[Float | None, Float | None]


@dataclass(frozen=True)
class Members:
    """The rows of a set: which belong together, and how many each stands for.

    Attributes
    ----------
    place : (N,) int64
        Where each row's score lies among the distinct ones of both sets.
    extents : Extents
        Groups, 0..G-1, and weights, above 0; without groups every row is one.
    """

    place: Int
    extents: Extents

    @classmethod
    def of(cls, values: Float, scores: Float, extents: Extents) -> Self:
        """Place rows in the order of the file."""
        return cls(np.searchsorted(values, scores).astype(np.int64), extents)

    @cached_property
    def group(self) -> Int:
        """Group of each row, (N,) int64."""
        groups = self.extents.groups
        return np.arange(self.place.size) if groups is None else groups.astype(np.int64)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1

    @property
    def weight(self) -> Float:
        """Weight of each row, (N,) float64."""
        weights = self.extents.weights
        return np.ones(self.place.size) if weights is None else weights

    def variance(self, each: Float) -> float:
        """Return the variance of the mean of values of the distinct scores, by group."""
        return mean_variance(each[self.place], self.group, self.extents.weights)

    def worth(self, each: Float) -> float:
        """Return how many independent rows the mean of values of the distinct scores is worth."""
        effect = design_effect(each[self.place], Extents(self.group, self.extents.weights))
        return float(self.weight.sum()) / effect

    def by_group(self, ends: Int) -> "csr_array":
        """Return the weight of each group in each cell, (C, G)."""
        from scipy.sparse import csr_array  # a tenth of a second, which readers do not pay

        entries = self.weight, (np.searchsorted(ends, self.place), self.group)
        return csr_array(entries, shape=(ends.size, self.n_groups))

    def draws(self, rows: "csr_array", n_resamples: int, rng: np.random.Generator) -> Float:
        """Return the weight of each cell when groups are drawn, (R, C), as much as there is."""
        drawn = np.stack([drawn_groups(self.n_groups, rng) for _ in range(n_resamples)], axis=1)
        counts: Float = np.asarray(rows @ drawn, dtype=np.float64).T
        return np.asarray(counts * (self.weight.sum() / counts.sum(axis=1, keepdims=True)))


def mean_variance(values: Float, groups: Int, weights: Float | None) -> float:
    """Return the variance of the weighted mean of (N,) values, from the sums of their groups."""
    if weights is None:
        return sum_variance((values - values.mean()) / values.size, groups)
    centred = weights * (values - np.average(values, weights=weights))
    return sum_variance(centred / weights.sum(), groups)


@dataclass(frozen=True)
class Separation:
    """Scores of both sets, sorted once.

    Attributes
    ----------
    values : (G,) float64
        Distinct scores, ascending.
    inside, outside : (G,) int64
        In-distribution and out-of-distribution rows of each value; of a weighted set float64,
        their weight.
    members : pair of Members, optional
        Which rows of either set belong together or stand for several; without it every row is
        independent.
    """

    values: Float
    inside: arrays.Counts
    outside: arrays.Counts
    members: tuple[Members, Members] | None = None

    @classmethod
    def of(
        cls,
        inside: Float,
        outside: Float,
        groups: BothGroups = (None, None),
        weights: BothWeights = (None, None),
    ) -> Self:
        """Sort both sets.

        Parameters
        ----------
        inside, outside : (N,) and (M,) float64
            Scores of in-distribution and out-of-distribution rows, higher for more out of it.
        groups : pair of (N,) and (M,) int64 or None
            Group of each row; a set without has rows of their own.
        weights : pair of (N,) and (M,) float64 or None
            How many rows each stands for; rows of weight 0 are left out.

        Raises
        ------
        Refused
            EMPTY: a set has no rows; NONFINITE: a score is no finite number.
        """
        inside, own_extents = _counted(inside, Extents(groups[0], weights[0]), "in-distribution")
        outside, others = _counted(outside, Extents(groups[1], weights[1]), "out-of-distribution")
        both = np.concatenate(
            [_sorted(inside, "in-distribution"), _sorted(outside, "out-of-distribution")]
        )
        order = np.argsort(both, kind="stable")  # two ascending runs: merged in one pass
        values = both[order]
        ends = np.append(np.flatnonzero(values[1:] != values[:-1]), values.size - 1)
        own = np.cumsum(order < inside.size, dtype=np.int64)[ends]
        rows = np.diff(ends, prepend=-1)
        own[1:] -= own[:-1].copy()
        distinct, other = values[ends], rows - own
        if own_extents.independent and others.independent:
            return cls(*_read_only(distinct, own, other))
        members = (
            Members.of(distinct, inside, own_extents),
            Members.of(distinct, outside, others),
        )
        sides = (_weighed(side, m) for side, m in zip((own, other), members, strict=True))
        return cls(*_read_only(distinct, *sides), members)

    @cached_property
    def n_in(self) -> int:
        """In-distribution rows of weight above 0."""
        return int(self.inside.sum()) if self.members is None else self.members[0].place.size

    @cached_property
    def n_out(self) -> int:
        """Out-of-distribution rows of weight above 0."""
        return int(self.outside.sum()) if self.members is None else self.members[1].place.size

    @cached_property
    def total_in(self) -> float:
        """Weight of the in-distribution rows: their number where they are not weighted."""
        return _number(np.cumsum(self.inside)[-1])  # what running sums end with, to the last bit

    @cached_property
    def total_out(self) -> float:
        """Weight of the out-of-distribution rows: their number where they are not weighted."""
        return _number(np.cumsum(self.outside)[-1])

    @property
    def extents(self) -> tuple[Extents, Extents]:
        """Groups and weights of both sets."""
        if self.members is None:
            return INDEPENDENT, INDEPENDENT
        return self.members[0].extents, self.members[1].extents

    @property
    def weighted(self) -> bool:
        """Whether rows of either set stand for several."""
        return any(side.weights is not None for side in self.extents)

    def swapped(self) -> Self:
        """Return the same question asked the other way round: sides swapped, scores negated."""
        sides = (np.ascontiguousarray(side[::-1]) for side in (self.outside, self.inside))
        members = None
        if self.members is not None:
            last = self.values.size - 1
            own, other = (Members(last - rows.place, rows.extents) for rows in self.members)
            members = other, own
        return type(self)(*_read_only(-self.values[::-1], *sides), members)


def _counted(scores: Float, extents: Extents, name: str) -> tuple[Float, Extents]:
    """Return the scores of weight above 0, and their groups, numbered anew, and weights."""
    groups, weights = extents
    if weights is None:
        return scores, extents
    counted = weights > 0.0
    if scores.size and not counted.any():
        what = f"no {name} row has a weight above 0"
        raise Refused("EMPTY", what, "give at least one row a weight above 0")
    if groups is not None:
        groups = np.unique(groups[counted], return_inverse=True)[1].astype(np.int64)
    return scores[counted], Extents(groups, weights[counted])


def _weighed(rows: Int, members: Members) -> arrays.Counts:
    """Return the weight of each value, which is its rows where they are not weighted."""
    weights = members.extents.weights
    return rows if weights is None else np.bincount(members.place, weights, rows.size)


def _number(value: np.int64 | np.float64) -> float:
    """Return a count as it is: an int, or with weights a float."""
    number: float = value.item()
    return number


def _sorted(scores: Float, name: str) -> Float:
    """Return scores ascending, or refuse what cannot be ordered."""
    if scores.size == 0:
        raise Refused("EMPTY", f"there are no {name} rows", "give at least one")
    ordered = np.sort(scores)
    if not np.isfinite(ordered[[0, -1]]).all():  # infinities and NaN are sorted to the ends
        what = f"a score of the {name} rows is no finite number"
        raise Refused("NONFINITE", what, "use another score, or leave such rows out")
    return ordered


def _read_only(
    values: Float, inside: arrays.Counts, outside: arrays.Counts
) -> tuple[Float, arrays.Counts, arrays.Counts]:
    for array in (values, inside, outside):
        array.setflags(write=False)
    return values, inside, outside


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What a threshold does: rows of each set that lie above it, and the others.

    Whole numbers, or with weights how many rows these stand for.
    """

    threshold: float
    flagged_in: float
    passed_in: float
    flagged_out: float
    passed_out: float

    @property
    def false_alarms(self) -> float:
        """Share of in-distribution rows that are flagged."""
        return self.flagged_in / (self.flagged_in + self.passed_in)

    @property
    def missed(self) -> float:
        """Share of out-of-distribution rows that are not flagged."""
        return self.passed_out / (self.flagged_out + self.passed_out)


def auroc(separation: Separation) -> float:
    """Return how often a random out-of-distribution row scores higher; ties count one half."""
    beaten = np.cumsum(separation.inside) - 0.5 * separation.inside
    won, pairs = (separation.outside * beaten).sum(), separation.total_in * separation.total_out
    if separation.weighted:  # exactly 1 where the sets are perfectly separated, for all rounding
        pairs = won + (separation.outside * (separation.total_in - beaten)).sum()
    return float(won / pairs)


def auroc_error(separation: Separation) -> float:
    """Return the standard error of the AUROC (DeLong et al. 1988).

    Zero where both sets hold one row, or where they are perfectly separated. With groups the
    structural components of a group are summed (Obuchowski 1997); a weighted row is a group.
    """
    beaten, beating = components(separation)
    if separation.members is not None:
        own, other = separation.members
        return float(np.sqrt(other.variance(beaten) + own.variance(beating)))
    return float(
        np.sqrt(
            _row_variance(beaten, separation.outside) + _row_variance(beating, separation.inside)
        )
    )


def components(separation: Separation) -> tuple[Float, Float]:
    """Return for each value the shares of either set that a row of the other is right against.

    Returns
    -------
    beaten, beating : (G,) float64 each
        For an out-of-distribution row the in-distribution ones that it beats, and for an
        in-distribution row the others that beat it; ties count one half.
    """
    n, m = separation.total_in, separation.total_out
    beaten = (np.cumsum(separation.inside) - 0.5 * separation.inside) / n
    beating = (m - np.cumsum(separation.outside) + 0.5 * separation.outside) / m
    return beaten, beating


def worth(separation: Separation) -> tuple[float, float]:
    """Return how many independent rows those of either set are worth for the AUROC."""
    if separation.members is None:
        return separation.n_in, separation.n_out
    beaten, beating = components(separation)
    return separation.members[0].worth(beating), separation.members[1].worth(beaten)


def _row_variance(values: Float, rows: Int) -> float:
    """Return the variance of the mean of values that occur in so many rows."""
    n = int(rows.sum())
    centre = float(values @ rows) / n
    return float(rows @ (values - centre) ** 2) / max(n - 1, 1) / n


def aupr_out(separation: Separation) -> float:
    """Return the average precision with out-of-distribution positive."""
    return float(_average_precision(separation.outside[::-1], separation.inside[::-1]))


def aupr_in(separation: Separation) -> float:
    """Return the average precision with in-distribution positive."""
    return float(_average_precision(separation.inside, separation.outside))


def fpr95(separation: Separation) -> float:
    """Return the share of in-distribution rows flagged where 95 % of the others are.

    Out-of-distribution is positive: the highest threshold that flags at least that share.
    """
    return float(_false_positives(separation.outside[::-1], separation.inside[::-1]))


def fpr95_in(separation: Separation) -> float:
    """Return the share of out-of-distribution rows that pass where 95 % of the others do.

    In-distribution is positive: the lowest threshold that lets at least that share pass.
    """
    return float(_false_positives(separation.inside, separation.outside))


def detection_error(separation: Separation) -> float:
    """Return the smallest mean of missed share and false alarms over all thresholds."""
    return float(_detection_error(separation.inside, separation.outside))


NUMBERS = {
    "auroc": auroc,
    "aupr_out": aupr_out,
    "aupr_in": aupr_in,
    "fpr95": fpr95,
    "fpr95_in": fpr95_in,
    "detection_error": detection_error,
}


def _average_precision(positives: arrays.Counts, negatives: arrays.Counts) -> Float:
    """Return the step-wise area under precision and recall of (..., G) counts, best first."""
    true_positives = np.cumsum(positives, axis=-1)
    flagged = true_positives + np.cumsum(negatives, axis=-1)
    precision = np.divide(true_positives, flagged, out=np.zeros(flagged.shape), where=flagged > 0)
    precision *= positives
    return np.asarray(precision.sum(axis=-1) / true_positives[..., -1])


def _false_positives(positives: arrays.Counts, negatives: arrays.Counts) -> Float:
    """Return the share of negatives seen where 95 % of the positives are; counts best first."""
    true_positives = np.cumsum(positives, axis=-1)
    enough = true_positives >= needed(true_positives[..., -1:], KEEP)
    at = np.expand_dims(enough.argmax(axis=-1), -1)
    false_alarms = np.cumsum(negatives, axis=-1)
    return np.asarray(np.take_along_axis(false_alarms, at, -1)[..., 0] / false_alarms[..., -1])


def needed(total: arrays.Counts, share: float) -> Float:
    """Return what rows or their weight must reach to be a share of all, free of rounding."""
    return np.asarray(total * share * (1.0 - ROUNDING))


def _detection_error(inside: arrays.Counts, outside: arrays.Counts) -> Float:
    passed_in, passed_out = np.cumsum(inside, axis=-1), np.cumsum(outside, axis=-1)
    sums = passed_out / passed_out[..., -1:] - passed_in / passed_in[..., -1:]
    return np.asarray(0.5 + 0.5 * sums.min(axis=-1))  # flagging none is the last cut


def numbers(
    separation: Separation,
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> dict[str, Score]:
    """Return every number of `NUMBERS` with its interval.

    Parameters
    ----------
    separation : Separation
        Both sets.
    level : float
        Of the intervals.
    n_resamples, seed : int
        Of the bootstrap: both sets are resampled on their own. With more than `CELLS` distinct
        scores rows are exchanged within cells of neighbouring scores.

    Returns
    -------
    dict of str to Score
        Fractions; settings say what is positive.
    """
    scores = {"auroc": auroc_score(separation, level=level)}
    rounds = _rounds(separation, n_resamples)
    centre, draws = _draws(separation, rounds, seed)
    n = separation.n_in + separation.n_out
    for key in BOOTSTRAPPED:
        value = NUMBERS[key](separation)
        moved = draws[key] - centre[key] + value
        ends = percentile(moved, level), _own(key, separation, value - float(moved.mean()), level)
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        if separation.members is not None and min(side.n_groups for side in separation.members) < 2:
            low, high = 0.0, 1.0  # one group a set: nothing tells how far it may be off
        settings: dict[str, Setting] = {
            "positive": "id" if key.endswith("_in") else POSITIVE,
            "interval": HULLS[key.removesuffix("_in").removesuffix("_out")],
            "resamples": rounds,
            "seed": seed,
            **resampled_by(*separation.extents),
        }
        low, high = max(0.0, min(low, value)), min(1.0, max(high, value))
        scores[key] = Score(
            metric=key, value=value, low=low, high=high, level=level, n=n, settings=settings
        )
    return {key: scores[key] for key in NUMBERS}


def _own(key: str, separation: Separation, bias: float, level: float) -> tuple[float, float]:
    """Return the interval of a number that has a width even where no row is out of order."""
    own, other = worth(separation)
    sides = ScoreCounts(separation.inside, separation.outside, (own, other))
    if not key.endswith("_in"):
        sides = ScoreCounts(separation.outside[::-1], separation.inside[::-1], (other, own))
    if key == "detection_error":
        return smallest_error(sides, max(0.0, bias), level)
    if key.startswith("fpr95"):
        return false_positives(sides, KEEP, level)
    return precision_interval(NUMBERS[key](separation), sides.worth[0], level)


def auroc_score(separation: Separation, *, level: float = LEVEL) -> Score:
    """Return the AUROC with an interval that spans DeLong's and Newcombe's.

    With few rows DeLong's is too short, and without a row out of order it has no width at all.
    """
    value, error, rows = auroc(separation), auroc_error(separation), worth(separation)
    low, high = newcombe(value, *rows, level)
    if 0.0 < value < 1.0 and error > 0.0:
        if separation.members is not None:  # of few groups the spread itself is uncertain
            fewest = min(side.n_groups for side in separation.members)
            error *= student(level, max(1, fewest - 1)) / quantile(level)
        ends = logit_interval(value, error, min(rows), level)
        low, high = min(low, ends[0]), max(high, ends[1])
    settings: dict[str, Setting] = {
        "positive": POSITIVE,
        "interval": DELONG,
        **resampled_by(*separation.extents),
    }
    if separation.members is not None:
        settings |= {"effective_in": rows[0], "effective_out": rows[1]}
    return Score(
        metric="auroc",
        value=value,
        low=low,
        high=high,
        level=level,
        n=separation.n_in + separation.n_out,
        settings=settings,
    )


def resampled_by(*sides: Extents) -> dict[str, Setting]:
    """Return what is drawn as one, for settings; nothing where every row is independent."""
    if all(side.independent for side in sides):
        return {}
    return {"resampled_by": "row" if all(side.groups is None for side in sides) else "group"}


def _rounds(separation: Separation, n_resamples: int) -> int:
    """Return how many resamples are drawn where that many are asked for."""
    if (
        separation.members is None
        or (separation.n_in + separation.n_out) * n_resamples <= HEAVY_DRAWS
    ):
        return n_resamples
    return min(n_resamples, N_RESAMPLES_HEAVY)


def _draws(
    separation: Separation, n_resamples: int, seed: int
) -> tuple[dict[str, Float], dict[str, Float]]:
    """Return the bootstrapped numbers of the cells themselves, and on each resample."""
    inside, outside = cells(separation, CELLS)
    rng = np.random.default_rng([seed, STREAM])
    blocks, members = [], separation.members or ()
    grouped = [(side, side.by_group(cell_ends(separation, CELLS))) for side in members]
    most = max(1, HELD // max((side.n_groups for side in members), default=1))
    drawn: list[arrays.Counts]
    for start in range(0, n_resamples, min(BLOCK, most)):
        size = min(BLOCK, most, n_resamples - start)
        if not grouped:
            drawn = [rng.multinomial(int(s.sum()), s / s.sum(), size) for s in (inside, outside)]
        else:
            drawn = [side.draws(rows, size, rng) for side, rows in grouped]
        blocks.append(_all(*drawn))
    draws = {key: np.concatenate([block[key] for block in blocks]) for key in BOOTSTRAPPED}
    return _all(inside[None], outside[None]), draws


def _all(inside: arrays.Counts, outside: arrays.Counts) -> dict[str, Float]:
    return {
        "aupr_out": _average_precision(outside[:, ::-1], inside[:, ::-1]),
        "aupr_in": _average_precision(inside, outside),
        "fpr95": _false_positives(outside[:, ::-1], inside[:, ::-1]),
        "fpr95_in": _false_positives(inside, outside),
        "detection_error": _detection_error(inside, outside),
    }


def cells(separation: Separation, most: int) -> tuple[arrays.Counts, arrays.Counts]:
    """Return the counts of both sets in at most that many cells of neighbouring scores.

    Cells hold about equal sums of the shares of both sets, however unequal the sets are.
    """
    ends = cell_ends(separation, most)
    passed_in, passed_out = np.cumsum(separation.inside), np.cumsum(separation.outside)
    return np.diff(passed_in[ends], prepend=0), np.diff(passed_out[ends], prepend=0)


def cell_ends(separation: Separation, most: int) -> Int:
    """Return the place of the last value of each of these cells."""
    if separation.values.size <= most:
        return np.arange(separation.values.size, dtype=np.int64)
    passed_in, passed_out = np.cumsum(separation.inside), np.cumsum(separation.outside)
    place = passed_in / separation.total_in + passed_out / separation.total_out  # 0 to 2, ascending
    ends = np.searchsorted(place, np.linspace(0.0, 2.0, most + 1)[1:])
    return np.unique(np.minimum(ends, place.size - 1)).astype(np.int64)


def threshold_at(separation: Separation, false_alarms: float) -> float:
    """Return the lowest score above which at most that share of in-distribution rows lies."""
    if false_alarms >= 1.0:
        return float(np.nextafter(separation.values[0], -np.inf))
    keep = needed(np.asarray(separation.total_in), 1.0 - false_alarms)
    return float(separation.values[np.searchsorted(np.cumsum(separation.inside), keep)])


def counts_at(separation: Separation, threshold: float) -> Counts:
    """Return what is flagged, above the threshold, and what is not."""
    at = int(np.searchsorted(separation.values, threshold, side="right"))
    passed_in, passed_out = (_reached(side, at) for side in (separation.inside, separation.outside))
    flagged_in, flagged_out = separation.total_in - passed_in, separation.total_out - passed_out
    return Counts(
        threshold=threshold,
        flagged_in=flagged_in,
        passed_in=passed_in,
        flagged_out=flagged_out,
        passed_out=passed_out,
    )


def _reached(side: arrays.Counts, at: int) -> float:
    """Return the rows or the weight of the first values."""
    return _number(np.cumsum(side)[at - 1]) if at else 0


def roc_points(separation: Separation, most: int = 400) -> tuple[Float, Float]:
    """Return false alarms and flagged share along the curve, from (0, 0) to (1, 1), to be drawn."""
    inside, outside = cells(separation, most)
    alarms, flagged = (np.cumsum(side[::-1]) for side in (inside, outside))
    alarms, flagged = alarms / alarms[-1], flagged / flagged[-1]
    return np.concatenate([[0.0], alarms]), np.concatenate([[0.0], flagged])


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
    ordered = np.sort(scores) if order is None else scores[order]
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
        extents = Extents(groups[side], weights[side])
        gap, extents = _counted(first[side] - second[side], extents, "paired")
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
