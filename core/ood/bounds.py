"""Intervals that do not collapse where few rows, or none, lie out of order; numpy only.

The percentile bootstrap has no width where no row is out of order, and it takes a minimum over
thresholds for what it is on new rows. What is computed here is joined with it. Counts are those of
the distinct scores, best first; `worth` is how many independent rows each side stands for.
"""

from typing import NamedTuple

import numpy as np

from core.arrays import Counts
from core.metrics.exact import at_least, exact_interval
from core.metrics.intervals import HALVINGS, wilson

Interval = tuple[float, float]
ROUNDING = 1e-9  # of running shares


class ScoreCounts(NamedTuple):
    """Rows of each distinct score, best first, and their effective sample size."""

    positives: Counts
    negatives: Counts
    worth: tuple[float, float]


def false_positives(counts: ScoreCounts, share: float, level: float) -> Interval:
    """Return the interval of the negatives' share above the threshold that keeps a share.

    Wilson's reach at the threshold is added in squares to how far the share moves where the
    threshold does, which stands at a row of the positives on either side (`_kept`). Where no row
    lies so far out, nothing says how many negatives the threshold passes: the interval ends at 1.
    """
    sides = (counts.positives, counts.negatives)
    recall, false_alarms = (np.cumsum(side) / np.sum(side) for side in sides)
    low, high = _kept(counts.worth[0], share, level)
    fewest = int(np.searchsorted(recall, low + ROUNDING, side="right")) - 1
    at = (
        float(false_alarms[fewest]) if fewest >= 0 else 0.0,
        float(false_alarms[np.argmax(recall >= min(1.0, high) - ROUNDING)]),
        float(false_alarms[np.argmax(recall >= share - ROUNDING)]),
    )
    own = wilson(np.array(at[2] * counts.worth[1]), np.array(counts.worth[1]), level)
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
    at = int(np.argmin(false_alarms - recall))
    shares = np.array([1.0 - recall[at], false_alarms[at]])
    low, high = exact_interval(shares * counts.worth, np.array(counts.worth), level)
    value = float(shares.mean())
    below, above = (float(np.hypot(*(shares - end))) / 2 for end in (low, high))
    return value - below, value + above + bias
