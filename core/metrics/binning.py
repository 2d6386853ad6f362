"""Bins of confidences: the only place where edges are made and rows are counted; numpy only.

A bin is (low, high], the first one closed at 0. Bins are described by cuts: B + 1 ranks of the
sorted rows, so that every rule shares one way to sum and ties are never split.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.arrays import Counts, Float, Int
from core.configs import BinRule
from core.metrics.ranked import SortedOutcomes, interpolated


@dataclass(frozen=True)
class BinSums:
    """Rows, confidence and hits of each bin."""

    # count, confidence, hits: (..., B) arrays, number of rows, sum of their confidences, number
    # that came true; with weights, how many rows they stand for. Leading axes are resamples; the
    # three broadcast against each other.
    count: Counts
    confidence: Float
    hits: Counts

    @property
    def gap(self) -> Float:
        """Sum of confidence minus hits in each bin."""
        return np.asarray(self.confidence - self.hits)


def equal_width_edges(n_bins: int) -> Float:
    """Return B + 1 edges k / B, each the float64 nearest to the fraction.

    `linspace` and running sums put confidences that lie on an edge into the wrong bin.

    Examples
    --------
    >>> equal_width_edges(4).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> bool(equal_width_edges(10)[3] == 0.3), 0.1 + 0.1 + 0.1 == 0.3  # running sums drift
    (True, False)
    """
    return np.arange(n_bins + 1) / n_bins


def bin_index(confidence: Float, edges: Float) -> Int:
    """Return the bin of each confidence.

    Parameters
    ----------
    confidence : (N,) float64 in [0, 1]
    edges : (B + 1,) float64
        Ascending; a bin is (low, high], the first one closed at its lower edge.

    Returns
    -------
    (N,) int64
        In 0..B-1; what lies outside the edges belongs to the nearest bin.

    Examples
    --------
    A confidence on an edge belongs to the bin below; 0 to the first bin, which is closed there.

    >>> bin_index(np.array([0.0, 0.25, 0.26, 1.0]), equal_width_edges(4)).tolist()
    [0, 0, 1, 3]
    """
    index = np.searchsorted(edges, confidence, side="left") - 1
    return np.clip(index, 0, len(edges) - 2)


def equal_width_cuts(ranked: SortedOutcomes, n_bins: int) -> Int:
    """Return the ranks at which equal-width bins end, (B + 1,) int64, from 0 to N.

    Examples
    --------
    >>> from core.predictions import Outcomes
    >>> right = np.array([True, True, False])
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.1, 0.5, 0.9]), right))
    >>> equal_width_cuts(ranked, 2).tolist()  # 0.5 is in (0, 0.5]
    [0, 2, 3]
    >>> equal_width_cuts(ranked, 5).tolist()  # (0.2, 0.4] and (0.6, 0.8] are empty: equal ranks
    [0, 1, 1, 2, 2, 3]
    """
    cuts = np.searchsorted(ranked.confidence, equal_width_edges(n_bins), side="right")
    cuts[0], cuts[-1] = 0, ranked.n
    return cuts


def equal_mass_cuts(ranked: SortedOutcomes, n_bins: int) -> Int:
    """Return the ranks at which bins of equal counts end, ties kept together.

    The first N mod B bins hold one row more, as in `numpy.array_split`; a cut that would fall
    inside a group of equal confidences moves to the nearer end of the group (the lower one when
    both are as near), and bins left empty by that disappear. At most min(B, N) bins.

    Examples
    --------
    A cut after two of these four rows would split the three that state 0.5. It moves to the nearer
    end of the tie: one row, then three.

    >>> from core.predictions import Outcomes
    >>> right = np.array([False, True, True, False])
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.2, 0.5, 0.5, 0.5]), right))
    >>> equal_mass_cuts(ranked, 2).tolist()
    [0, 1, 4]
    >>> same = SortedOutcomes.of(Outcomes(np.full(4, 0.5), right))
    >>> equal_mass_cuts(same, 2).tolist()  # all are tied: one bin is left
    [0, 4]
    """
    bins = max(1, min(n_bins, round(ranked.total)))
    size, longer = divmod(ranked.total, bins)
    k = np.arange(bins + 1)
    return keep_ties(ranked, k * size + np.minimum(k, longer))


def rank_cuts(ranked: SortedOutcomes, n_bins: int) -> Int:
    """Return cuts where the bin of rank r is floor(r B / N), ties kept together.

    Examples
    --------
    Eight rows in five bins: floor(5 r / 8) is 0 0 1 1 2 3 3 4; equal counts put 2 2 2 1 1.

    >>> from core.predictions import Outcomes
    >>> confidence = np.arange(8) / 8
    >>> ranked = SortedOutcomes.of(Outcomes(confidence, confidence > 0.5))
    >>> rank_cuts(ranked, 5).tolist(), equal_mass_cuts(ranked, 5).tolist()
    ([0, 2, 4, 5, 7, 8], [0, 2, 4, 6, 7, 8])
    """
    k = np.arange(n_bins + 1, dtype=np.int64)
    return keep_ties(ranked, -(-k * ranked.total // n_bins))


def keep_ties(ranked: SortedOutcomes, sought_weights: Counts) -> Int:
    """Return the rank nearest to each weight from below, at an end of ties; drop doubles."""
    ends = ranked.ends
    at = np.clip(np.searchsorted(ends, sought_weights), 1, len(ends) - 1)
    lower = sought_weights - ends[at - 1] <= ends[at] - sought_weights
    return np.unique(np.where(lower, ranked.cuts[at - 1], ranked.cuts[at]))


def interpolated_edges(ranked: SortedOutcomes, n_bins: int) -> Float:
    """Return the B + 1 edges of the reference adaptive ECE, interpolated between sorted rows.

    They are `np.interp(linspace(0, N, B + 1), arange(N), sorted)`, from the smallest confidence
    to the largest (Mukhoti et al. 2020, released code).

    Examples
    --------
    Edges at 0, 1.5 and 3 of rows that stand at 0, 1 and 2: the second is halfway between the last
    two rows, the third beyond them.

    >>> from core.predictions import Outcomes
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.25, 0.5, 1.0]), np.ones(3, bool)))
    >>> interpolated_edges(ranked, 2).tolist()
    [0.25, 0.75, 1.0]
    """
    at = np.linspace(0, ranked.total, n_bins + 1)
    if ranked.weights is None:
        return np.interp(at, np.arange(ranked.n), ranked.confidence)
    return interpolated(ranked.confidence, ranked.sum_weights, at)


def interpolated_cuts(ranked: SortedOutcomes, n_bins: int) -> Int:
    """Return the cuts of the reference adaptive ECE: bins (low, high] of `interpolated_edges`.

    The rows of the smallest confidence lie in no bin, so the first cut is not 0: that is how the
    published numbers were made.

    Examples
    --------
    >>> from core.predictions import Outcomes
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.25, 0.5, 1.0]), np.ones(3, bool)))
    >>> interpolated_cuts(ranked, 2).tolist()  # the row at 0.25 lies in no bin
    [1, 2, 3]
    """
    return np.searchsorted(ranked.confidence, interpolated_edges(ranked, n_bins), side="right")


CUTS: dict[BinRule, Callable[[SortedOutcomes, int], Int]] = {
    BinRule.EQUAL_WIDTH: equal_width_cuts,
    BinRule.EQUAL_MASS: equal_mass_cuts,
}


def edges_of(ranked: SortedOutcomes, cuts: Int, n_bins: int, rule: BinRule) -> Float:
    """Return the confidences at which the bins of `cuts` end, from 0 to 1."""
    if rule is BinRule.EQUAL_WIDTH:
        return equal_width_edges(n_bins)
    return np.concatenate([[0.0], ranked.confidence[cuts[1:-1] - 1], [1.0]])


def sums(ranked: SortedOutcomes, cuts: Int) -> BinSums:
    """Return the sums between neighbouring cuts.

    Confidences are added bin by bin: of a few rows beside millions, the difference of two running
    sums is off by 1e-9 a row.

    Examples
    --------
    >>> from core.predictions import Outcomes
    >>> right = np.array([False, True, True])
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.25, 0.5, 1.0]), right))
    >>> bins = sums(ranked, equal_width_cuts(ranked, 4))
    >>> bins.count.tolist(), bins.confidence.tolist(), bins.hits.tolist()  # the third bin is empty
    ([1, 1, 0, 1], [0.25, 0.5, 0.0, 1.0], [0, 1, 0, 1])
    >>> bins.gap.tolist()  # claimed less came true
    [0.25, -0.5, 0.0, 0.0]
    """
    count, hits = (np.diff(running[cuts]) for running in (ranked.sum_weights, ranked.sum_correct))
    values, filled = ranked.confidence, cuts[1:] > cuts[:-1]
    if ranked.weights is not None:
        values = values * ranked.weights
    confidence = np.zeros(len(cuts) - 1)
    if filled.any():
        confidence[filled] = np.add.reduceat(values[: cuts[-1]], cuts[:-1][filled])
    return BinSums(count, confidence, hits)
