"""Ranked: outcomes sorted once, with the sums every reliability metric reads; numpy only."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from core.arrays import Bool, Float, Int, frozen
from core.predictions import Outcomes

BLOCK = 4096  # rows summed one after another; rounding grows with it, not with the rows


def running_sum(values: Float) -> Float:
    """Return the sums of the first 1..N values, (N,) float64, in blocks.

    One long chain of additions is off by 5e-10 after 3e7 equal values; blocks keep 1e-12.
    """
    padded = np.pad(values, (0, -values.size % BLOCK)).reshape(-1, BLOCK)
    within = np.cumsum(padded, axis=1)
    within[1:] += np.cumsum(within[:-1, -1])[:, None]
    return within.ravel()[: values.size]


@dataclass(frozen=True)
class Ranked:
    """Outcomes in ascending order of confidence.

    Attributes
    ----------
    confidence : (N,) float64
        Ascending.
    correct : (N,) bool
        In the same order, false before true among equal confidences: the arrays, and with them
        every metric, are bit-equal under any order of the rows. No metric reads the order within
        ties: all cut between groups of equal confidence only.
    sum_confidence : (N + 1,) float64
        Sum of the first i confidences.
    sum_correct : (N + 1,) int64
        Count of the first i outcomes that came true.
    """

    confidence: Float
    correct: Bool
    sum_confidence: Float
    sum_correct: Int

    @classmethod
    def of(cls, outcomes: Outcomes) -> Self:
        """Sort outcomes by confidence and take the running sums.

        Parameters
        ----------
        outcomes : Outcomes
            Confidences in [0, 1] and whether they came true, (N,) each, N >= 1.

        Returns
        -------
        Ranked
            Read-only arrays.

        Notes
        -----
        The bits of a float64 in [0, 2) ascend with its value and leave the top two free, so
        the outcome rides along as the last bit of an integer: one sort without indices, eight
        times as fast as a stable argsort.
        """
        bits = np.ascontiguousarray(outcomes.confidence).view(np.int64)
        keys = np.sort((bits << 1) | outcomes.correct)  # the shift drops the sign of -0.0
        confidence, correct = (keys >> 1).view(np.float64), (keys & 1).astype(np.bool_)
        sum_confidence = np.concatenate([[0.0], running_sum(confidence)])
        sum_correct = np.concatenate([[0], np.cumsum(correct, dtype=np.int64)])
        return cls(*(frozen(a) for a in (confidence, correct, sum_confidence, sum_correct)))

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.confidence.size)

    @property
    def hits(self) -> int:
        """Rows that came true."""
        return int(self.sum_correct[-1])

    @property
    def gap(self) -> float:
        """Mean confidence minus the share that came true."""
        return float((self.sum_confidence[-1] - self.sum_correct[-1]) / self.n)

    @cached_property
    def cuts(self) -> Int:
        """Ranks where the sorted rows may be cut: 0, N and each end of a group of ties."""
        ends = np.flatnonzero(np.diff(self.confidence)) + 1
        return np.concatenate([[0], ends, [self.n]]).astype(np.int64)
