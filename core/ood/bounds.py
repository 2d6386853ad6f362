"""Intervals that do not collapse where few rows, or none, lie out of order; numpy only.

The percentile bootstrap has no width where no row is out of order, and it takes a minimum over
thresholds for what it is on new rows. What is computed here is joined with it. Counts are those of
the distinct scores, best first; `worth` is how many independent rows each side stands for.
"""

from typing import NamedTuple

import numpy as np

from core.arrays import Counts
from core.metrics.intervals import wilson

Interval = tuple[float, float]
ROUNDING = 1e-9  # of running shares
TWENTIETH = 20  # rows: of fewer, 95 % are all, and how far the next one lies is not known


class ScoreCounts(NamedTuple):
    """Rows of each distinct score, best first, and how many independent rows they are worth."""

    positives: Counts
    negatives: Counts
    worth: tuple[float, float]


def false_positives(of: ScoreCounts, share: float, level: float) -> Interval:
    """Return the interval of the negatives' share above the threshold that keeps a share.

    Wilson's reach at the threshold is added in squares to how far the share moves where the
    threshold stands at the ends of Wilson's interval for the positives that it keeps. Where these
    are worth fewer than 20 rows, it ends at 1.
    """
    kept, seen = (np.cumsum(side) / np.sum(side) for side in (of.positives, of.negatives))
    ends = wilson(np.array(share * of.worth[0]), np.array(of.worth[0]), level)
    at = [float(seen[np.argmax(kept >= s - ROUNDING)]) for s in (*map(float, ends), share)]
    own = wilson(np.array(at[2] * of.worth[1]), np.array(of.worth[1]), level)
    below, above = (float(np.hypot(at[2] - a, at[2] - o)) for a, o in zip(at, own, strict=False))
    return at[2] - below, 1.0 if of.worth[0] < TWENTIETH else at[2] + above


def smallest_error(of: ScoreCounts, bias: float, level: float) -> Interval:
    """Return the interval of the smallest mean of missed share and false alarms.

    Wilson's reaches of both shares at the best threshold are added in squares (Newcombe 1998); the
    upper end moves up by what the choice of the threshold flatters.
    """
    kept, seen = (np.cumsum(side) / np.sum(side) for side in (of.positives, of.negatives))
    kept, seen = np.append(0.0, kept), np.append(0.0, seen)
    at = int(np.argmin(seen - kept))
    shares = np.array([1.0 - kept[at], seen[at]])
    low, high = wilson(shares * of.worth, np.array(of.worth), level)
    value = float(shares.mean())
    below, above = (float(np.hypot(*(shares - end))) / 2 for end in (low, high))
    return value - below, value + above + bias
