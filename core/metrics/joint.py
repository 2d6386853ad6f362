"""One level for all differences between several runs, by the maximum statistic; numpy only."""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from core.arrays import Float


def every_pair_level(draws: Sequence[Float], level: float) -> float:
    """Return the level of each difference at which those of all pairs hold together.

    Parameters
    ----------
    draws : sequence of (R,) float64
        One metric of each run on the same resamples.
    level : float
        Of all pairs together.

    Returns
    -------
    float
        `level` for two runs. Else what the normal quantile c leaves inside, where c is the
        quantile at `level`, over the resamples, of the largest standardised difference of any
        pair (max-T; Westfall & Young 1993, Hothorn, Bretz & Westfall 2008). At most that of
        Bonferroni, which needs no resamples.
    """
    pairs = len(draws) * (len(draws) - 1) // 2
    if pairs < 2:
        return level
    rounds = min(run.size for run in draws)
    scattered = np.array([run[:rounds] - run[:rounds].mean() for run in draws])
    largest = np.zeros(rounds)
    for i in range(1, len(scattered)):
        apart = scattered[i:] - scattered[i - 1]
        spread = apart.std(axis=1, keepdims=True)
        standard = np.divide(np.abs(apart), spread, where=spread > 0.0, out=np.zeros_like(apart))
        largest = np.maximum(largest, standard.max(axis=0))
    exact = min(1.0, level * (rounds + 1) / rounds)  # of so many draws and the sample itself
    within = 2.0 * NormalDist().cdf(float(np.quantile(largest, exact, method="higher"))) - 1.0
    return min(max(level, within), 1.0 - (1.0 - level) / pairs)
