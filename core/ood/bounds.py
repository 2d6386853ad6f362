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


def false_positives(counts: ScoreCounts, share: float, level: float) -> Interval:
    """Return the interval of the negatives' share above the threshold that keeps a share.

    Wilson's reach at the threshold is added in squares to how far the share moves where the
    threshold stands at the ends of Wilson's interval for the positives that it keeps. Where these
    are worth fewer than 20 rows, it ends at 1.
    """
    sides = (counts.positives, counts.negatives)
    recall, false_alarms = (np.cumsum(side) / np.sum(side) for side in sides)
    ends = wilson(np.array(share * counts.worth[0]), np.array(counts.worth[0]), level)
    at = [
        float(false_alarms[np.argmax(recall >= s - ROUNDING)]) for s in (*map(float, ends), share)
    ]
    own = wilson(np.array(at[2] * counts.worth[1]), np.array(counts.worth[1]), level)
    below, above = (float(np.hypot(at[2] - a, at[2] - o)) for a, o in zip(at, own, strict=False))
    return at[2] - below, 1.0 if counts.worth[0] < TWENTIETH else at[2] + above


def smallest_error(counts: ScoreCounts, bias: float, level: float) -> Interval:
    """Return the interval of the smallest mean of missed share and false alarms.

    Wilson's reaches of both shares at the best threshold are added in squares (Newcombe 1998); the
    upper end moves up by what the choice of the threshold flatters.
    """
    sides = (counts.positives, counts.negatives)
    recall, false_alarms = (np.cumsum(side) / np.sum(side) for side in sides)
    recall, false_alarms = np.append(0.0, recall), np.append(0.0, false_alarms)
    at = int(np.argmin(false_alarms - recall))
    shares = np.array([1.0 - recall[at], false_alarms[at]])
    low, high = wilson(shares * counts.worth, np.array(counts.worth), level)
    value = float(shares.mean())
    below, above = (float(np.hypot(*(shares - end))) / 2 for end in (low, high))
    return value - below, value + above + bias
