"""Distributions of an epoch, kept among its metrics as `name.bin.what`; numpy.

A metric whose name holds a dot is a part of a distribution and no score of its own.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from core.arrays import Bool, Float
from core.metrics.binning import equal_width_cuts, sums
from core.metrics.ranked import SortedOutcomes
from core.predictions import Outcomes

DOT: Final = "."
BINS: Final = 25  # Mukhoti et al. 2020, figure 2
RELIABILITY, NORMS = "train_bins", "row_grad_norm"
DECADES: Final = (-8, 2)  # of norms; what lies beyond counts in the bins at the ends
PER_DECADE: Final = 3
N_NORMS: Final = PER_DECADE * (DECADES[1] - DECADES[0])


def reliability(confidence: Float, correct: Bool) -> dict[str, float]:
    """Return count, mean confidence and accuracy of BINS bins of equal width; empty ones left out.

    Parameters
    ----------
    confidence : (M,) float64 in [0, 1]
        Of the answers given to training rows.
    correct : (M,) bool
    """
    ranked = SortedOutcomes.of(Outcomes(confidence, correct))
    bins = sums(ranked, equal_width_cuts(ranked, BINS))
    parts = {"count": bins.count, "confidence": bins.confidence, "accuracy": bins.hits}
    return {
        f"{RELIABILITY}.{b}.{what}": float(total[b] / (1 if what == "count" else bins.count[b]))
        for b in np.flatnonzero(bins.count).tolist()
        for what, total in parts.items()
    }


def norm_histogram(norms: Float) -> dict[str, float]:
    """Return the share of (M,) norms in each of N_NORMS bins, even in their logarithm."""
    low, high = DECADES
    with np.errstate(divide="ignore"):
        place = np.floor(PER_DECADE * (np.log10(norms) - low))
    bins = np.clip(np.nan_to_num(place, neginf=0.0), 0, PER_DECADE * (high - low) - 1)
    count = np.bincount(bins.astype(np.int64), minlength=N_NORMS)
    return {
        f"{NORMS}.{b}.share": float(count[b] / norms.size) for b in np.flatnonzero(count).tolist()
    }


def column(values: Mapping[str, float], name: str, what: str, n: int) -> Float:
    """Return one quantity of a distribution by bin, (n,) float64, NaN where a bin is empty."""
    return np.array([values.get(f"{name}.{b}.{what}", np.nan) for b in range(n)])


def norm_middles() -> Float:
    """Return the middle of each bin of norms, (N_NORMS,)."""
    return np.asarray(10.0 ** (DECADES[0] + (np.arange(N_NORMS) + 0.5) / PER_DECADE))
