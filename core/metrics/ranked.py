"""Ranked: outcomes sorted once, with the sums every reliability metric reads; numpy only."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from core.arrays import SORTED_BY_DIGITS, Bool, Counts, Float, Int, Keys, frozen, shared
from core.metrics.units import RowUnits, design_effect
from core.predictions import Outcomes, SamplingDesign

BLOCK = 4096  # rows summed one after another; rounding grows with it, not with the rows


def running_sum(values: Float) -> Float:
    """Return the sums of the first 1..N values, (N,) float64, in blocks.

    One long chain of additions is off by 5e-10 after 3e7 equal values; blocks keep 1e-12.

    Examples
    --------
    Of a million tenths one long chain of additions is off by a millionth.

    >>> tenths = np.full(1_000_000, 0.1)
    >>> bool(abs(running_sum(tenths)[-1] - 1e5) < 1e-7), bool(abs(tenths.cumsum()[-1] - 1e5) < 1e-7)
    (True, False)
    """
    padded = np.pad(values, (0, -values.size % BLOCK)).reshape(-1, BLOCK)
    within = np.cumsum(padded, axis=1)
    # Every block goes on from the sum of all blocks before it.
    within[1:] += np.cumsum(within[:-1, -1])[:, None]
    return within.ravel()[: values.size]


def interpolated(values: Float, running: Float, at: Float) -> Float:
    """Return values at running weights, linear between rows as if each stood there repeatedly.

    Parameters
    ----------
    values : (N,) float64
        Of the rows in their order.
    running : (N + 1,) float64
        Weight of the first i rows.
    at : (M,) float64
        From 0 for the first row; from the last one on its value.

    Examples
    --------
    A row of weight 2 stands twice: the values are 0, 0, 1.

    >>> running = np.array([0.0, 2.0, 3.0])
    >>> interpolated(np.array([0.0, 1.0]), running, np.array([0.0, 1.0, 1.5, 2.0, 9.0])).tolist()
    [0.0, 0.0, 0.5, 1.0, 1.0]
    """
    below = np.floor(at)

    def value(weight: Float) -> Float:
        row = np.searchsorted(running, np.minimum(weight, running[-1] - 1.0), side="right") - 1
        return np.asarray(values[np.clip(row, 0, values.size - 1)])

    lower = value(below)
    return lower + (at - below) * (value(below + 1.0) - lower)


def _rank(confidence: Float, correct: Bool) -> tuple[Float, Bool, Float, Int]:
    """Sort many rows by digits; return both columns and their running sums, read-only."""
    from core.compiled.sorting import read_claim_keys, sort_keys, write_claim_keys

    n = confidence.size
    keys = np.empty(n, dtype=np.uint64)
    write_claim_keys(np.ascontiguousarray(confidence), np.ascontiguousarray(correct), keys)
    keys = sort_keys(keys, np.empty_like(keys))
    out = np.empty(n), np.empty(n, np.bool_), np.empty(n + 1), np.empty(n + 1, np.int64)
    read_claim_keys(keys, BLOCK, *out)
    ranked, hits, sum_confidence, sum_correct = out
    return shared(ranked), shared(hits), shared(sum_confidence), shared(sum_correct)


@dataclass(frozen=True)
class SortedOutcomes:
    """Outcomes in ascending order of confidence."""

    confidence: Float  # (N,), ascending
    # (N,), in the same order, false before true among equal confidences: the arrays, and with them
    # every metric, are bit-equal under any order of the rows. No metric reads the order within
    # ties: all cut between groups of equal confidence only.
    correct: Bool
    # (N + 1,), sum of the first i confidences; with weights, of weight times confidence
    sum_confidence: Float
    # (N + 1,), count of the first i outcomes that came true; with weights, float64, their weight
    sum_correct: Counts
    # (N,), how many rows each stands for, above 0; rows of weight 0 are left out
    weights: Float | None = None
    groups: Int | None = None  # (N,), group of each row, numbered as in the file

    @classmethod
    def of(cls, outcomes: Outcomes) -> Self:
        """Sort outcomes by confidence and take the running sums.

        `outcomes`: confidences in [0, 1] and whether they came true, (N,) each, N >= 1; with or
        without groups and weights.

        Returns
        -------
        SortedOutcomes
            Read-only arrays.

        Notes
        -----
        The bits of a float64 in [0, 2) ascend with its value and leave the top two free, so the
        outcome rides along as the last bit of an integer: one sort without indices, of many rows
        by digits. Groups and weights have to follow their rows, so with them it is an argsort.
        Rows of weight 0 are left out. Groups of one row each are none: the same rows and draws, to
        the last bit.

        Examples
        --------
        Two rows claim 0.8: no cut lies between them, whichever came first in the file.

        >>> right = np.array([True, False, False])
        >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.8, 0.6, 0.8]), right))
        >>> ranked.confidence.tolist(), ranked.sum_correct.tolist(), ranked.cuts.tolist()
        ([0.6, 0.8, 0.8], [0, 0, 0, 1], [0, 1, 3])

        A row of weight 3 counts as three, one of weight 0 is left out.

        >>> weights, right = np.array([3.0, 1.0, 0.0]), np.array([True, False, True])
        >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.5, 0.6, 0.9]), right, weights=weights))
        >>> ranked.n, ranked.total, ranked.hits
        (2, 4.0, 3.0)
        """
        if outcomes.weights is not None and not outcomes.weights.all():
            rows = np.flatnonzero(outcomes.weights)
            own = outcomes.sampling.take(rows)
            outcomes = Outcomes(outcomes.confidence[rows], outcomes.correct[rows], *own)
        if outcomes.groups is not None and np.unique(outcomes.groups).size == outcomes.n:
            outcomes = replace(outcomes, groups=None)
        if outcomes.groups is not None or outcomes.weights is not None:
            return cls._with_sampling(outcomes)
        if outcomes.n >= SORTED_BY_DIGITS:
            return cls(*_rank(outcomes.confidence, outcomes.correct))
        bits: Keys = np.ascontiguousarray(outcomes.confidence).view(np.uint64)
        keys = np.sort(bits << np.uint64(1) | outcomes.correct)  # drops the sign of -0.0
        confidence, correct = (keys >> np.uint64(1)).view(np.float64), (keys & 1).astype(np.bool_)
        sum_confidence = np.concatenate([[0.0], running_sum(confidence)])
        sum_correct = np.concatenate([[0], np.cumsum(correct, dtype=np.int64)])
        return cls(*(frozen(a) for a in (confidence, correct, sum_confidence, sum_correct)))

    @classmethod
    def _with_sampling(cls, outcomes: Outcomes) -> Self:
        keys = [outcomes.correct, outcomes.confidence]
        keys = [key for key in (outcomes.groups, outcomes.weights) if key is not None] + keys
        # All columns are keys: rows that differ in anything have one order, whatever the file's.
        order = np.lexsort(keys)
        confidence, correct = outcomes.confidence[order] + 0.0, outcomes.correct[order]
        groups = None if outcomes.groups is None else frozen(outcomes.groups[order])
        if outcomes.weights is None:
            sum_confidence = np.concatenate([[0.0], running_sum(confidence)])
            sum_correct = np.concatenate([[0], np.cumsum(correct, dtype=np.int64)])
            sums = frozen(sum_confidence), frozen(sum_correct)
            return cls(frozen(confidence), frozen(correct), *sums, None, groups)
        weights = outcomes.weights[order]
        sums = (
            frozen(np.concatenate([[0.0], running_sum(weights * confidence)])),
            frozen(np.concatenate([[0.0], running_sum(weights * correct)])),
        )
        return cls(frozen(confidence), frozen(correct), *sums, frozen(weights), groups)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.confidence.size)

    @cached_property
    def sum_weights(self) -> Counts:
        """Weight of the first i rows, (N + 1,): their number where nothing is weighted."""
        if self.weights is None:
            return frozen(np.arange(self.n + 1, dtype=np.int64))
        return frozen(np.concatenate([[0.0], running_sum(self.weights)]))

    @property
    def total(self) -> float:
        """Weight of all rows: their number where nothing is weighted."""
        return self.n if self.weights is None else float(self.sum_weights[-1])

    @property
    def hits(self) -> float:
        """Rows that came true: an int, or with weights how many rows these stand for."""
        last = self.sum_correct[-1]
        return int(last) if self.weights is None else float(last)

    @property
    def independent(self) -> bool:
        """Whether every row counts once and for itself: neither groups nor weights."""
        return self.weights is None and self.groups is None

    @property
    def gap(self) -> float:
        """Mean confidence minus the share that came true."""
        return float((self.sum_confidence[-1] - self.sum_correct[-1]) / self.total)

    @cached_property
    def cuts(self) -> Int:
        """Ranks where the sorted rows may be cut: 0, N and each end of a group of ties."""
        ends = np.flatnonzero(np.diff(self.confidence)) + 1
        return np.concatenate([[0], ends, [self.n]]).astype(np.int64)

    @cached_property
    def ends(self) -> Counts:
        """Weight of the rows up to each of `cuts`."""
        return self.cuts if self.weights is None else self.sum_weights[self.cuts]

    @property
    def sampling(self) -> SamplingDesign:
        """Groups and weights."""
        return SamplingDesign(self.groups, self.weights)

    @property
    def row_weights(self) -> Float:
        """How many rows each stands for, (N,)."""
        return np.ones(self.n) if self.weights is None else self.weights

    @cached_property
    def units(self) -> RowUnits:
        """What is drawn as one: the group of each row, or the row itself."""
        return RowUnits.of(self.n, self.sampling)

    def effective_n(self, values: Float | Bool, rows: slice = slice(None)) -> float:
        """Return the effective sample size of the mean of (N,) values among some of the rows.

        Examples
        --------
        Two films each of two patients, alike within a patient: as good as two rows.

        >>> right, patient = np.array([True, True, False, False]), np.array([0, 0, 1, 1])
        >>> ranked = SortedOutcomes.of(Outcomes(np.full(4, 0.5), right, groups=patient))
        >>> float(ranked.effective_n(ranked.correct))
        2.0
        """
        count = len(range(*rows.indices(self.n)))
        if self.independent or count == 0:
            return count
        total = float(self.row_weights[rows].sum())
        return total / design_effect(values[rows], self.sampling.take(rows))

    def effective_rows(self, cuts: Int) -> Float:
        """Return the effective sample size of the outcome rate between two ranks.

        Parameters
        ----------
        cuts : (B + 1,) int64
            Ascending ranks.

        Returns
        -------
        (B,) float64
            The rows themselves where each counts for itself, else over their design effect; NaN
            between equal ranks.
        """
        if self.independent:
            rows = np.diff(cuts).astype(np.float64)
        else:
            between = [slice(low, high) for low, high in pairwise(cuts.tolist())]
            rows = np.array([self.effective_n(self.correct, part) for part in between])
        return np.where(rows > 0.0, rows, np.nan)

    @property
    def effective_rarer(self) -> float:
        """Effective number of rows with the rarer outcome.

        By the design effect of the signed gap: outcomes of a group may be alike because its claims
        are, and that takes nothing away.
        """
        rarer = min(self.hits, self.total - self.hits)
        return rarer * self.effective_n(self.confidence - self.correct) / self.total
