"""What a threshold on a score does to both sets, and the curve over all of them; numpy only."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    return thresholds_at(separation, [false_alarms])[0]


def thresholds_at(separation: Separation, false_alarms: Sequence[float]) -> list[float]:
    """Return for each share the lowest score above which at most so many rows lie."""
    total = np.asarray(separation.total_in)
    keep = np.array([needed(total, 1.0 - share) for share in false_alarms])
    lowest = separation.values[np.searchsorted(np.cumsum(separation.inside), keep)]
    below_all = np.nextafter(separation.values[0], -np.inf)
    thresholds: list[float] = np.where(np.asarray(false_alarms) < 1.0, lowest, below_all).tolist()
    return thresholds


def counts_at(separation: Separation, threshold: float) -> Counts:
    """Return what is flagged, above the threshold, and what is not."""
    return counts_of(separation, [threshold])[0]


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
    """Return false alarms and flagged share along the curve, from (0, 0) to (1, 1), to be drawn."""
    inside, outside = cells(separation, most)
    alarms, flagged = (np.cumsum(side[::-1]) for side in (inside, outside))
    alarms, flagged = alarms / alarms[-1], flagged / flagged[-1]
    return np.concatenate([[0.0], alarms]), np.concatenate([[0.0], flagged])
