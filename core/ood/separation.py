"""Scores of in-distribution and out-of-distribution rows, sorted once; numpy only.

The positive class is out-of-distribution and a higher score is more so. What carries `_in` in its
name is the same question asked the other way round: in-distribution positive, by the score
negated. A row is flagged where its score lies above the threshold; tied rows go together. A row of
weight 2 counts as if it were there twice, one of weight 0 as if it were not.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from core import arrays
from core.arrays import Float, Int
from core.codes import RefusalCode
from core.errors import Refused
from core.metrics.design_effect import design_effect
from core.metrics.grouped import drawn_groups, sum_variance
from core.predictions import INDEPENDENT, SamplingDesign

if TYPE_CHECKING:
    from scipy.sparse import csr_array

POSITIVE = "ood"  # of every number without `_in` in its name
BothGroups = tuple[Int | None, Int | None]
BothWeights = tuple[Float | None, Float | None]


@dataclass(frozen=True)
class Members:
    """The rows of a set: which belong together, and how many each stands for.

    Attributes
    ----------
    place : (N,) int64
        Where each row's score lies among the distinct ones of both sets.
    extents : SamplingDesign
        Groups, 0..G-1, and weights, above 0; without groups every row is one.
    """

    place: Int
    extents: SamplingDesign

    @classmethod
    def of(cls, values: Float, scores: Float, extents: SamplingDesign) -> Self:
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

    def effective_size(self, each: Float) -> float:
        """Return the effective sample size of the mean of values of the distinct scores."""
        effect = design_effect(each[self.place], SamplingDesign(self.group, self.extents.weights))
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
        from core.compiled.merge import merge

        own, others = SamplingDesign(groups[0], weights[0]), SamplingDesign(groups[1], weights[1])
        inside, own = counted_rows(inside, own, "in-distribution")
        outside, others = counted_rows(outside, others, "out-of-distribution")
        ordered = _sorted(inside, "in-distribution"), _sorted(outside, "out-of-distribution")
        values = np.empty(inside.size + outside.size)
        rows = np.empty((2, values.size), np.int64)
        n_values = merge(*ordered, values, rows)
        distinct, (n_inside, n_outside) = values[:n_values], rows[:, :n_values]
        if own.independent and others.independent:
            return cls(*_read_only(distinct, n_inside, n_outside))
        members = Members.of(distinct, inside, own), Members.of(distinct, outside, others)
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
    def extents(self) -> tuple[SamplingDesign, SamplingDesign]:
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


def counted_rows(scores: Float, extents: SamplingDesign, name: str) -> tuple[Float, SamplingDesign]:
    """Return the scores of weight above 0, and their groups, renumbered, and weights."""
    groups, weights = extents
    if weights is None:
        return scores, extents
    counted = weights > 0.0
    if scores.size and not counted.any():
        what = f"No {name} row has a weight above 0"
        raise Refused(RefusalCode.EMPTY, what, "give at least one row a weight above 0")
    if groups is not None:
        groups = np.unique(groups[counted], return_inverse=True)[1].astype(np.int64)
    return scores[counted], SamplingDesign(groups, weights[counted])


def _weigh(rows: Int, members: Members) -> arrays.Counts:
    """Return the weight of each value, which is its rows where they are not weighted."""
    weights = members.extents.weights
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
    place = passed_in / separation.total_in + passed_out / separation.total_out  # 0 to 2, ascending
    ends = np.searchsorted(place, np.linspace(0.0, 2.0, most + 1)[1:])
    return np.unique(np.minimum(ends, place.size - 1)).astype(np.int64)
