"""What a threshold on a score does to both sets, and the curve over all of them; numpy only."""

from dataclasses import dataclass

import numpy as np

from core import arrays
from core.arrays import Float
from core.ood.separation import Separation, as_number, cells
from core.ood.values import needed


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
    return as_number(np.cumsum(side)[at - 1]) if at else 0


def roc_points(separation: Separation, most: int = 400) -> tuple[Float, Float]:
    """Return false alarms and flagged share along the curve, from (0, 0) to (1, 1), to be drawn."""
    inside, outside = cells(separation, most)
    alarms, flagged = (np.cumsum(side[::-1]) for side in (inside, outside))
    alarms, flagged = alarms / alarms[-1], flagged / flagged[-1]
    return np.concatenate([[0.0], alarms]), np.concatenate([[0.0], flagged])
