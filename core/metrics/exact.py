"""Binomial tails without approximation, for shares near 0 or 1 and bins of few rows; numpy only."""

import math

import numpy as np

from core.arrays import Float, Int

MOST_TERMS = 500  # of the continued fraction; about the root of the rows are needed
TINY = 1e-300
CONVERGED = 1e-13
HALVINGS = 50


def _log_gamma(values: Float) -> Float:
    return np.asarray(np.vectorize(math.lgamma, otypes=[np.float64])(values))


def _beta_fraction(a: Float, b: Float, x: Float) -> Float:
    """Return the continued fraction of the incomplete beta function (DLMF 8.17.22)."""
    c = np.ones_like(x)
    d = 1.0 / _kept_off_zero(1.0 - (a + b) * x / (a + 1.0))
    out = d.copy()
    for m in range(1, MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 / _kept_off_zero(1.0 + term * d)
            c = _kept_off_zero(1.0 + term / c)
            out = out * c * d
        if np.all(np.abs(c * d - 1.0) < CONVERGED):
            break
    return out


def _kept_off_zero(values: Float) -> Float:
    return np.where(np.abs(values) < TINY, TINY, values)


def beta_share(a: Float, b: Float, x: Float) -> Float:
    """Return the regularised incomplete beta function I_x(a, b) for a, b > 0, elementwise."""
    a, b, x = (np.asarray(v, dtype=np.float64) for v in np.broadcast_arrays(a, b, x))
    swapped = x > (a + 1.0) / (a + b + 2.0)
    a, b, x = np.where(swapped, b, a), np.where(swapped, a, b), np.where(swapped, 1.0 - x, x)
    with np.errstate(divide="ignore"):
        front = a * np.log(x) + b * np.log1p(-x)
    front += _log_gamma(a + b) - _log_gamma(a) - _log_gamma(b)
    share = np.where(x > 0.0, np.exp(front) * _beta_fraction(a, b, x) / a, 0.0)
    return np.asarray(np.where(swapped, 1.0 - share, share))


def at_least(k: Float | Int, n: Float | Int, p: Float) -> Float:
    """Return the chance of k or more successes in n trials of probability p."""
    k, n, p = (np.asarray(v, dtype=np.float64) for v in np.broadcast_arrays(k, n, p))
    inside = (k > 0) & (k <= n)
    safe = np.where(inside, k, 1.0)
    tail = beta_share(safe, np.where(inside, n - k, 0.0) + 1.0, np.where(inside, p, 0.5))
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, tail))


def binomial_test(k: Float | Int, n: Float | Int, p: Float) -> Float:
    """Return the two-sided p-value of k successes in n trials: twice the smaller tail.

    Where the trials have different probabilities of mean p it is too large rather than too
    small, beyond one success from the mean (Hoeffding 1956).
    """
    upper = at_least(k, n, p)
    lower = at_least(np.subtract(n, k, dtype=np.float64), n, 1.0 - p)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(lower, upper)))


def exact_interval(k: Float | Int, n: Float | Int, level: float) -> tuple[Float, Float]:
    """Return the interval of Clopper and Pearson 1934 of k successes in n trials.

    0 to 1 where there are no trials.
    """
    k, n = (np.asarray(v, dtype=np.float64) for v in np.broadcast_arrays(k, n))
    tail = (1.0 - level) / 2.0
    return _lower(k, n, tail), np.asarray(1.0 - _lower(n - k, n, tail))


def _lower(k: Float, n: Float, tail: float) -> Float:
    low, high = np.zeros_like(k), np.ones_like(k)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = at_least(k, n, middle) < tail
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(k > 0, low, 0.0)
