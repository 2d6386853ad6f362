"""Scores of in-distribution and out-of-distribution rows, sorted once, and what is read off them.

Numpy only. How well a score tells the two sets (`NUMBERS`), and what a threshold does to both.

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
from core.codes import RefusalCode
from core.errors import Refused
from core.metrics.units import RowUnits
from core.predictions import INDEPENDENT, SamplingDesign

if TYPE_CHECKING:
    from scipy.sparse import csr_array

POSITIVE = "ood"  # of every number without `_in` in its name
BothGroups = tuple[Int | None, Int | None]
BothWeights = tuple[Float | None, Float | None]


@dataclass(frozen=True)
class SetRows:
    """The rows of a set: which belong together, and how many each stands for.

    Groups are numbered anew among the rows of weight above 0, which alone are here.
    """

    place: Int  # (N,), where each row's score lies among the distinct ones of both sets
    sampling: (
        SamplingDesign  # groups, 0..G-1, and weights, above 0; without groups every row is one
    )

    @classmethod
    def of(cls, values: Float, scores: Float, sampling: SamplingDesign) -> Self:
        """Place rows in the order of the file."""
        return cls(np.searchsorted(values, scores).astype(np.int64), sampling)

    @cached_property
    def units(self) -> RowUnits:
        """What is drawn as one, and the weight of each row."""
        return RowUnits.of(self.place.size, self.sampling)

    def variance(self, each: Float) -> float:
        """Return the variance of the mean of values of the distinct scores, by group."""
        return self.units.mean_variance(each[self.place])

    def effective_size(self, each: Float) -> float:
        """Return the effective sample size of the mean of values of the distinct scores."""
        return float(self.units.weights.sum()) / self.units.design_effect(each[self.place])

    def by_group(self, ends: Int) -> "csr_array":
        """Return the weight of each group in each cell, (C, G)."""
        from scipy.sparse import csr_array  # a tenth of a second, which readers do not pay

        entries = self.units.weights, (np.searchsorted(ends, self.place), self.units.of_row)
        return csr_array(entries, shape=(ends.size, self.units.count))

    def draws(self, rows: "csr_array", n_resamples: int, rng: np.random.Generator) -> Float:
        """Return the weight of each cell when groups are drawn, (R, C), as much as there is."""
        drawn = np.stack([self.units.drawn(rng) for _ in range(n_resamples)], axis=1)
        counts: Float = np.asarray(rows @ drawn, dtype=np.float64).T
        return np.asarray(counts * (self.units.weights.sum() / counts.sum(axis=1, keepdims=True)))


@dataclass(frozen=True)
class Separation:
    """Scores of both sets, sorted once."""

    values: Float  # (G,), distinct scores, ascending
    # inside, outside: (G,), in-distribution and out-of-distribution rows of each value; of a
    # weighted set float64, their weight
    inside: arrays.Counts
    outside: arrays.Counts
    # Which rows of either set belong together or stand for several; without it every row is
    # independent
    members: tuple[SetRows, SetRows] | None = None

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

        Examples
        --------
        A row of weight 2 counts as if it were there twice:

        >>> inside, outside = np.array([1.0, 2.0]), np.array([2.0])
        >>> once = Separation.of(inside, outside, weights=(np.array([1.0, 2.0]), None))
        >>> twice = Separation.of(np.array([1.0, 2.0, 2.0]), outside)
        >>> once.inside.tolist(), twice.inside.tolist(), auroc(once) == auroc(twice)
        ([1.0, 2.0], [1, 2], True)
        """
        from core.compiled.sorting import merge

        own, others = SamplingDesign(groups[0], weights[0]), SamplingDesign(groups[1], weights[1])
        inside, own = counted_rows(inside, own, "in-distribution")
        outside, others = counted_rows(outside, others, "out-of-distribution")
        ordered = _sorted(inside, "in-distribution"), _sorted(outside, "out-of-distribution")
        values = np.empty(inside.size + outside.size)
        rows = np.empty((2, values.size), np.int64)
        # One pass over two sorted arrays: what follows needs only how
        # many rows of each set share a score.
        n_values = merge(*ordered, values, rows)
        distinct, (n_inside, n_outside) = values[:n_values], rows[:, :n_values]
        if own.independent and others.independent:
            return cls(*_read_only(distinct, n_inside, n_outside))
        # Groups and weights need to know which row is which;
        # without them the counts say everything.
        members = SetRows.of(distinct, inside, own), SetRows.of(distinct, outside, others)
        sides = (_weigh(side, m) for side, m in zip((n_inside, n_outside), members, strict=True))
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
        return as_number(np.cumsum(self.inside)[-1])  # what running sums end with, to the last bit

    @cached_property
    def total_out(self) -> float:
        """Weight of the out-of-distribution rows: their number where they are not weighted."""
        return as_number(np.cumsum(self.outside)[-1])

    @property
    def sampling(self) -> tuple[SamplingDesign, SamplingDesign]:
        """Groups and weights of both sets."""
        if self.members is None:
            return INDEPENDENT, INDEPENDENT
        return self.members[0].sampling, self.members[1].sampling

    @property
    def weighted(self) -> bool:
        """Whether rows of either set stand for several."""
        return any(side.weights is not None for side in self.sampling)

    def swapped(self) -> Self:
        """Return the same question asked the other way round: sides swapped, scores negated."""
        sides = (np.ascontiguousarray(side[::-1]) for side in (self.outside, self.inside))
        members = None
        if self.members is not None:
            last = self.values.size - 1
            own, other = (SetRows(last - rows.place, rows.sampling) for rows in self.members)
            members = other, own
        return type(self)(*_read_only(-self.values[::-1], *sides), members)


def counted_rows(
    scores: Float, sampling: SamplingDesign, name: str
) -> tuple[Float, SamplingDesign]:
    """Return the scores of weight above 0, and their groups, renumbered, and weights."""
    groups, weights = sampling
    if weights is None:
        return scores, sampling
    counted = weights > 0.0
    if scores.size and not counted.any():
        what = f"No {name} row has a weight above 0"
        raise Refused(RefusalCode.EMPTY, what, "give at least one row a weight above 0")
    if groups is not None:
        groups = np.unique(groups[counted], return_inverse=True)[1].astype(np.int64)
    return scores[counted], SamplingDesign(groups, weights[counted])


def _weigh(rows: Int, members: SetRows) -> arrays.Counts:
    """Return the weight of each value, which is its rows where they are not weighted."""
    weights = members.sampling.weights
    return rows if weights is None else np.bincount(members.place, weights, rows.size)


def as_number(value: np.int64 | np.float64) -> float:
    """Return a count as it is: an int, or with weights a float."""
    number: float = value.item()
    return number


def _sorted(scores: Float, name: str) -> Float:
    """Return scores ascending, or refuse what cannot be ordered."""
    if scores.size == 0:
        raise Refused(RefusalCode.EMPTY, f"There are no {name} rows", "give at least one")
    ordered = arrays.ascending(scores.astype(np.float64))
    if not np.isfinite(ordered[[0, -1]]).all():  # infinities and NaN stand there
        what = f"A score of the {name} rows is not a finite number"
        raise Refused(RefusalCode.NONFINITE, what, "use another score, or leave such rows out")
    return ordered


def _read_only(
    values: Float, inside: arrays.Counts, outside: arrays.Counts
) -> tuple[Float, arrays.Counts, arrays.Counts]:
    for array in (values, inside, outside):
        array.setflags(write=False)
    return values, inside, outside


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
    # Each set counts as 1 whatever its size: of 100 against a million rows the cells would
    # otherwise ignore the 100.
    place = passed_in / separation.total_in + passed_out / separation.total_out  # 0 to 2, ascending
    ends = np.searchsorted(place, np.linspace(0.0, 2.0, most + 1)[1:])
    return np.unique(np.minimum(ends, place.size - 1)).astype(np.int64)


KEEP = 0.95  # of the positive class, at the threshold of the false-positive rates
ROUNDING = 1e-11  # of a share: by so much a sum of weights may fall short of it


def auroc(separation: Separation) -> float:
    """Return how often a random out-of-distribution row scores higher; ties count one half.

    Examples
    --------
    Of four pairs three are ordered rightly, and the tie at 2 counts one half:

    >>> auroc(Separation.of(np.array([1.0, 2.0]), np.array([2.0, 3.0])))
    0.875
    """
    # Mann-Whitney: rows below, and half of those at the same score.
    beaten = np.cumsum(separation.inside) - 0.5 * separation.inside
    won, pairs = (separation.outside * beaten).sum(), separation.total_in * separation.total_out
    if separation.weighted:  # exactly 1 where the sets are perfectly separated, for all rounding
        pairs = won + (separation.outside * (separation.total_in - beaten)).sum()
    return float(won / pairs)


def auroc_error(separation: Separation) -> float:
    """Return the standard error of the AUROC (DeLong et al. 1988).

    Zero where both sets hold one row, or where they are perfectly separated. With groups the
    structural components of a group are summed (Obuchowski 1997); a weighted row is a group.

    Examples
    --------
    An outside row of 2 beats 3/4 of the inside rows and one of 3 beats all, so that their mean has
    the variance 2 (1/8)^2 / 2 = 1/64. That of the inside rows has the same; the root of 1/32 is
    0.1768.

    >>> round(auroc_error(Separation.of(np.array([1.0, 2.0]), np.array([2.0, 3.0]))), 4)
    0.1768
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

    Examples
    --------
    Of the scores 1, 2 and 3: an outside row of 2 beats one inside row and ties with another.

    >>> beaten, beating = components(Separation.of(np.array([1.0, 2.0]), np.array([2.0, 3.0])))
    >>> beaten.tolist(), beating.tolist()
    ([0.25, 0.75, 1.0], [1.0, 0.75, 0.25])
    """
    n, m = separation.total_in, separation.total_out
    beaten = (np.cumsum(separation.inside) - 0.5 * separation.inside) / n
    beating = (m - np.cumsum(separation.outside) + 0.5 * separation.outside) / m
    return beaten, beating


def effective_sizes(separation: Separation) -> tuple[float, float]:
    """Return the effective sample size of either set for the AUROC."""
    if separation.members is None:
        return separation.n_in, separation.n_out
    beaten, beating = components(separation)
    return separation.members[0].effective_size(beating), separation.members[1].effective_size(
        beaten
    )


def _row_variance(values: Float, rows: Int) -> float:
    """Return the variance of the mean of values that occur in so many rows."""
    n = int(rows.sum())
    centre = float(values @ rows) / n
    return float(rows @ (values - centre) ** 2) / max(n - 1, 1) / n


def aupr_out(separation: Separation) -> float:
    """Return the average precision with out-of-distribution positive.

    Examples
    --------
    The highest score is shared by both sets: half of what is flagged there is right, in whatever
    order the rows come.

    >>> tied = Separation.of(np.array([1.0, 2.0, 3.0]), np.array([3.0]))
    >>> aupr_out(tied)
    0.5
    """
    return float(average_precisions(separation.outside[::-1], separation.inside[::-1]))


def aupr_in(separation: Separation) -> float:
    """Return the average precision with in-distribution positive.

    Examples
    --------
    The other way round the same scores look much better: (1 + 1 + 3 / 4) / 3.

    >>> tied = Separation.of(np.array([1.0, 2.0, 3.0]), np.array([3.0]))
    >>> round(aupr_in(tied), 4)
    0.9167
    """
    return float(average_precisions(separation.inside, separation.outside))


def fpr95(separation: Separation) -> float:
    """Return the share of in-distribution rows flagged where 95 % of the others are.

    Out-of-distribution is positive: the highest threshold that flags at least that share.

    Examples
    --------
    Flagging both outside rows takes a threshold at 2, where three of four inside rows lie:

    >>> fpr95(Separation.of(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 5.0])))
    0.75
    """
    return float(false_positive_shares(separation.outside[::-1], separation.inside[::-1]))


def fpr95_in(separation: Separation) -> float:
    """Return the share of out-of-distribution rows that pass where 95 % of the others do.

    In-distribution is positive: the lowest threshold that lets at least that share pass.

    Examples
    --------
    Passing all inside rows takes a threshold at 4, below which one of the two outside rows lies.
    The literature prints both and calls both FPR95.

    >>> fpr95_in(Separation.of(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 5.0])))
    0.5
    """
    return float(false_positive_shares(separation.inside, separation.outside))


def detection_error(separation: Separation) -> float:
    """Return the smallest mean of missed share and false alarms over all thresholds.

    Examples
    --------
    Above 1 half of the inside rows are flagged and no outside row is missed; of scores that run the
    wrong way, flagging none is best.

    >>> right = Separation.of(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    >>> wrong = Separation.of(np.array([3.0]), np.array([1.0]))
    >>> detection_error(right), detection_error(wrong)
    (0.25, 0.5)
    """
    return float(detection_errors(separation.inside, separation.outside))


def average_precisions(positives: arrays.Counts, negatives: arrays.Counts) -> Float:
    """Return the step-wise area under precision and recall of (..., G) counts, best first."""
    true_positives = np.cumsum(positives, axis=-1)
    flagged = true_positives + np.cumsum(negatives, axis=-1)
    precision = np.divide(true_positives, flagged, out=np.zeros(flagged.shape), where=flagged > 0)
    precision *= positives
    return np.asarray(precision.sum(axis=-1) / true_positives[..., -1])


def false_positive_shares(positives: arrays.Counts, negatives: arrays.Counts) -> Float:
    """Return the share of negatives seen where 95 % of the positives are; counts best first."""
    true_positives = np.cumsum(positives, axis=-1)
    # The first cut that keeps 95 %: whole ties are flagged together, so a cut never splits one.
    enough = true_positives >= needed(true_positives[..., -1:], KEEP)
    at = np.expand_dims(enough.argmax(axis=-1), -1)
    false_alarms = np.cumsum(negatives, axis=-1)
    return np.asarray(np.take_along_axis(false_alarms, at, -1)[..., 0] / false_alarms[..., -1])


def needed(total: arrays.Counts, share: float) -> Float:
    """Return what rows or their weight must reach to be a share of all, free of rounding."""
    return np.asarray(total * share * (1.0 - ROUNDING))


def detection_errors(inside: arrays.Counts, outside: arrays.Counts) -> Float:
    """Return the smallest mean of missed share and false alarms of (..., G) counts."""
    passed_in, passed_out = np.cumsum(inside, axis=-1), np.cumsum(outside, axis=-1)
    # Missed minus passed, which is missed plus false alarms less 1.
    sums = passed_out / passed_out[..., -1:] - passed_in / passed_in[..., -1:]
    return np.asarray(0.5 + 0.5 * sums.min(axis=-1))  # flagging none is the last cut


NUMBERS = {
    "auroc": auroc,
    "aupr_out": aupr_out,
    "aupr_in": aupr_in,
    "fpr95": fpr95,
    "fpr95_in": fpr95_in,
    "detection_error": detection_error,
}


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


def thresholds_at(separation: Separation, false_alarms: Sequence[float]) -> list[float]:
    """Return for each share the lowest score above which at most so many in-distribution rows lie.

    Examples
    --------
    Rows at the threshold pass, so that one in four lies above 3:

    >>> rows = Separation.of(np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 5.0]))
    >>> (counts,) = counts_of(rows, thresholds_at(rows, [0.25]))
    >>> counts.threshold, counts.false_alarms, counts.missed
    (3.0, 0.25, 0.5)
    """
    total = np.asarray(separation.total_in)
    # As many inside rows as must stay at or below the threshold.
    keep = np.array([needed(total, 1.0 - share) for share in false_alarms])
    lowest = separation.values[np.searchsorted(np.cumsum(separation.inside), keep)]
    # A share of 1 flags everything, for which the threshold must lie below the lowest score.
    below_all = np.nextafter(separation.values[0], -np.inf)
    thresholds: list[float] = np.where(np.asarray(false_alarms) < 1.0, lowest, below_all).tolist()
    return thresholds


def counts_of(separation: Separation, thresholds: Sequence[float]) -> list[Counts]:
    """Return for each threshold what is flagged, above it, and what is not."""
    places = np.searchsorted(separation.values, thresholds, side="right")
    # The rows or the weight of so many first values
    sums = (np.cumsum(side) for side in (separation.inside, separation.outside))
    passed = (
        [as_number(side[place - 1]) if place else 0 for place in places.tolist()] for side in sums
    )
    total_in, total_out = separation.total_in, separation.total_out
    return [
        Counts(
            threshold=threshold,
            flagged_in=total_in - passed_in,
            passed_in=passed_in,
            flagged_out=total_out - passed_out,
            passed_out=passed_out,
        )
        for threshold, passed_in, passed_out in zip(thresholds, *passed, strict=True)
    ]


def roc_points(separation: Separation, most: int = 400) -> tuple[Float, Float]:
    """Return false alarms and flagged share along the curve, from (0, 0) to (1, 1), to be drawn.

    Examples
    --------
    The tie at 2 is one slope from (0, 0.5) to (0.5, 1), and neither corner of it:

    >>> alarms, flagged = roc_points(Separation.of(np.array([1.0, 2.0]), np.array([2.0, 3.0])))
    >>> alarms.tolist(), flagged.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    inside, outside = cells(separation, most)
    alarms, flagged = (np.cumsum(side[::-1]) for side in (inside, outside))
    alarms, flagged = alarms / alarms[-1], flagged / flagged[-1]
    return np.concatenate([[0.0], alarms]), np.concatenate([[0.0], flagged])
