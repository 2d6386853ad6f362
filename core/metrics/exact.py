"""Binomial tails without approximation, for shares near 0 or 1 and bins of few rows; scipy.

Counts need not be whole: rows divided by a design effect are not.
"""

import numpy as np

from core.arrays import Counts, Float


def at_least(k: Counts, n: Counts, p: Float) -> Float:
    """Return the chance of k or more successes in n trials of probability p."""
    from scipy.special import betainc  # a tenth of a second, which readers do not pay

    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    inside = (k > 0.0) & (k <= n)
    tail = betainc(np.where(inside, k, 1.0), np.where(inside, n - k, 0.0) + 1.0, p)
    return np.where(k <= 0.0, 1.0, np.where(k > n, 0.0, tail))


def binomial_test(k: Counts, n: Counts, p: Float) -> Float:
    """Return the two-sided p-value of k successes in n trials: twice the smaller tail.

    Where the trials have different probabilities of mean p it is too large rather than too
    small, beyond one success from the mean (Hoeffding 1956).
    """
    upper = at_least(k, n, p)
    lower = at_least(np.subtract(n, k, dtype=np.float64), n, 1.0 - p)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(lower, upper)))


def exact_interval(k: Counts, n: Counts, level: float) -> tuple[Float, Float]:
    """Return the interval of Clopper and Pearson 1934 of k successes in n trials.

    0 to 1 where there are no trials.
    """
    from scipy.special import betaincinv

    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    tail = (1.0 - level) / 2.0
    some, more = k > 0.0, n - k > 0.0
    low = betaincinv(np.where(some, k, 1.0), n - k + 1.0, tail)
    high = betaincinv(k + 1.0, np.where(more, n - k, 1.0), 1.0 - tail)
    return np.where(some, low, 0.0), np.where(more, high, 1.0)
