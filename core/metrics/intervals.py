"""Intervals of shares, means and errors; numpy, and scipy for exact tails of the binomial.

Counts of exact tails need not be whole: rows divided by a design effect are not.
"""

import math
from statistics import NormalDist

import numpy as np

from core.arrays import Counts, Float, Int


def at_least(k: Counts, n: Counts, p: Float) -> Float:
    """Return the chance of k or more successes in n trials of probability p.

    Examples
    --------
    >>> round(float(at_least(2, 3, 0.5)), 10)  # two or three heads: 4 of 8 throws
    0.5
    """
    from scipy.special import betainc  # a tenth of a second, which readers do not pay

    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    inside = (k > 0.0) & (k <= n)
    tail = betainc(np.where(inside, k, 1.0), np.where(inside, n - k, 0.0) + 1.0, p)
    return np.where(k <= 0.0, 1.0, np.where(k > n, 0.0, tail))


def binomial_test(k: Counts, n: Counts, p: Float) -> Float:
    """Return the two-sided p-value of k successes in n trials: twice the smaller tail.

    Where the trials have different probabilities of mean p it is too large rather than too
    small, beyond one success from the mean (Hoeffding 1956).

    Examples
    --------
    Three heads in three throws: one of eight ways, and twice that for both sides.

    >>> round(float(binomial_test(3, 3, 0.5)), 10)
    0.25
    >>> float(binomial_test(2, 4, 0.5))  # neither tail is below a half
    1.0
    """
    upper = at_least(k, n, p)
    lower = at_least(np.subtract(n, k, dtype=np.float64), n, 1.0 - p)
    return np.asarray(np.minimum(1.0, 2.0 * np.minimum(lower, upper)))


def exact_interval(k: Counts, n: Counts, level: float) -> tuple[Float, Float]:
    """Return the interval of Clopper and Pearson 1934 of k successes in n trials.

    0 to 1 where there are no trials.

    Examples
    --------
    Of n trials without a success the upper end p leaves (1 - p)^n = 2.5 %.

    >>> low, high = exact_interval(np.array([0]), np.array([1]), 0.95)
    >>> low.tolist(), high.round(10).tolist()
    ([0.0], [0.975])
    >>> [ends.tolist() for ends in exact_interval(np.array([0]), np.array([0]), 0.95)]  # no trials
    [[0.0], [1.0]]
    """
    from scipy.special import betaincinv

    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    tail = (1.0 - level) / 2.0
    some, more = k > 0.0, n - k > 0.0
    low = betaincinv(np.where(some, k, 1.0), n - k + 1.0, tail)
    high = betaincinv(k + 1.0, np.where(more, n - k, 1.0), 1.0 - tail)
    return np.where(some, low, 0.0), np.where(more, high, 1.0)


MEAN_CELLS = 200  # groups in which rows are resampled for a mean
HALVINGS = 50  # of a bound that is searched for


def quantile(level: float) -> float:
    """Return the normal quantile of a two-sided level, for example 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + level / 2)


def wilson(
    k: Float | Int, n: Float | Int, level: float, df: float = math.inf
) -> tuple[Float, Float]:
    """Return Wilson's interval of k successes in n trials.

    Parameters
    ----------
    k, n : (...) arrays
        Successes and trials; NaN comes back where n is 0.
    df : float
        Degrees of freedom of Student's t in place of the normal quantile, where the variance was
        estimated from so few groups.

    Returns
    -------
    low, high : (...) float64
        Within [0, 1], never of width 0 (Wilson 1927).

    Examples
    --------
    With no success the upper end is z² / (n + z²), and not 0; at a level of 0.6827 z is 1.

    >>> low, high = wilson(np.array([0.0, 3.0]), np.array([3.0, 3.0]), 0.6826894921370859)
    >>> low.round(10).tolist(), high.round(10).tolist()  # 1 / (3 + 1), and its mirror image
    ([0.0, 0.75], [0.25, 1.0])
    >>> bool(np.isnan(wilson(np.array([0.0]), np.array([0.0]), 0.95)[0]).all())  # no trials
    True
    """
    z2 = (quantile(level) if math.isinf(df) else student(level, df)) ** 2
    trials = np.where(np.asarray(n) > 0, n, np.nan).astype(np.float64)
    share = k / trials
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = np.sqrt(z2 * (share * (1 - share) + z2 / (4 * trials)) / trials) / (1 + z2 / trials)
    # at the ends the formula gives exactly 0 or 1, but for rounding
    low = np.where(share == 0, 0.0, np.maximum(centre - half, 0.0))
    high = np.where(share == 1, 1.0, np.minimum(centre + half, 1.0))
    return low, high


def student(level: float, df: float) -> float:
    """Return Student's quantile of a two-sided level.

    Examples
    --------
    With one degree of freedom it is Cauchy's, tan(pi / 2 x 0.5) = 1; for 9 a printed table has
    2.26.

    >>> round(student(0.5, 1), 9), round(student(0.95, 9), 2)
    (1.0, 2.26)
    """
    from scipy.special import stdtrit  # a tenth of a second, which readers do not pay

    return float(stdtrit(df, 0.5 + level / 2))


def percentile(draws: Float, level: float) -> tuple[float, float]:
    """Return the two-sided percentiles of (R,) draws.

    Examples
    --------
    >>> percentile(np.arange(101.0), 0.5)  # the middle half of 0 to 100
    (25.0, 75.0)
    """
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def basic(
    value: float, draws: Float, level: float, *, centre: float, floor: float
) -> tuple[float, float]:
    """Return the basic bootstrap interval of an error that is biased upward, in [0, 1].

    Parameters
    ----------
    value : float
        The error.
    draws : (R,) float64
        The error in resamples.
    centre : float
        What the draws are deviations from: the error of the sample itself, as the resampled
        cells see it.
    floor : float
        Quantile of the noise floor at this level: the interval of a calibrated model begins at 0
        as often as the level says.

    Notes
    -----
    From the lesser of value - (q_high - centre) and value - floor to the greater of
    value - (q_low - centre) and value + (q_high - q_low) / 2, cut to [0, 1]. What resamples add
    to the error tells how far it may be too large where the true one is large; where it is small
    only the floor does, for the sample's own error, already too large, hides it. So the interval
    begins at 0 when the value does not exceed the floor. The bias of the resamples is not taken
    off the upper end twice. Its simulated coverage is in docs/coverage.md. The percentile
    interval would repeat the bias instead of undoing it.

    Examples
    --------
    Resamples add to an error what chance added before: one of 0.5 whose resamples lie from 0.5 to
    0.75 may be 0.25 too large. Percentiles would begin at 0.5.

    >>> draws = np.array([0.5, 0.625, 0.75])
    >>> basic(0.5, draws, 1.0, centre=0.5, floor=0.0)  # 0.5 - (0.75 - 0.5), 0.5 + (0.75 - 0.5) / 2
    (0.25, 0.625)
    >>> basic(0.5, draws, 1.0, centre=0.5, floor=0.5)  # within the noise floor: from 0
    (0.0, 0.625)
    """
    q_low, q_high = percentile(draws, level)
    low, high = value - (q_high - centre), value - (q_low - centre)
    chance = value <= floor * (1.0 + 1e-9)  # equal but for rounding counts as within
    low = 0.0 if chance else max(0.0, min(low, value - floor))
    return low, min(1.0, max(high, value + (q_high - q_low) / 2))


def mean_interval(
    values: Float, n_resamples: int, level: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean of (N,) finite values.

    Notes
    -----
    Sorted values are resampled in at most MEAN_CELLS groups of neighbours; the spread within a
    group is added back as normal noise of the same variance, so first and second moments are
    those of the bootstrap over rows. Up to MEAN_CELLS rows it is that bootstrap.
    """
    groups = min(MEAN_CELLS, values.size)
    starts = np.arange(groups) * values.size // groups
    ordered = np.sort(values)
    size = np.diff(np.append(starts, values.size))
    centre = np.add.reduceat(ordered, starts) / size
    spread = np.add.reduceat((ordered - np.repeat(centre, size)) ** 2, starts) / size
    drawn = rng.multinomial(values.size, size / values.size, size=n_resamples)
    noise = rng.standard_normal(n_resamples) * np.sqrt(drawn @ spread)
    draws = (drawn @ centre + noise) / values.size
    return percentile(np.clip(draws, ordered[0], ordered[-1]), level)


def logit_interval(value: float, error: float, n: float, level: float) -> tuple[float, float]:
    """Return a normal interval on the logit scale for a share-like value in [0, 1].

    Where the value is 0 or 1, or its standard error 0, the logit tells nothing: Wilson's
    interval for n trials is returned instead.

    Examples
    --------
    The logit of 0.5 is 0 and its error 0.25 / (0.5 x 0.5) = 1: from -1 to 1, as shares again.

    >>> one_deviation = 0.6826894921370859
    >>> [round(end, 3) for end in logit_interval(0.5, 0.25, 4, one_deviation)]  # 1 / (1 + e)
    [0.269, 0.731]
    >>> [round(end, 3) for end in logit_interval(1.0, 0.0, 3, one_deviation)]  # Wilson's, 3 of 3
    [0.75, 1.0]
    """
    if not 0.0 < value < 1.0 or error == 0.0:
        low, high = wilson(np.array(value * n), np.array(n), level)
        return float(low), float(high)
    half = quantile(level) * error / (value * (1 - value))
    centre = np.log(value / (1 - value))
    low, high = 1 / (1 + np.exp(-np.array([centre - half, centre + half])))
    return float(low), float(high)


def precision_interval(value: float, positives: float, level: float) -> tuple[float, float]:
    """Return the interval of an average precision, as of a share of so many positives.

    Normal on the logit scale (Boyd et al. 2013); Wilson's where less than one positive lies on the
    rarer side of it, since there the logit runs away. Few positives lift it: one of five at the
    top makes a fifth, whatever the other four. So it begins no higher than the exact interval.

    Examples
    --------
    Two positives, both at the top: the exact lower end is the p with p² = 0.25, at a level of 0.5.

    >>> [round(end, 3) for end in precision_interval(1.0, 2, 0.5)]
    [0.5, 1.0]
    """
    low = float(exact_interval(np.array(value * positives), np.array(positives), level)[0])
    if positives * min(value, 1.0 - value) < 1.0:
        least, most = map(float, wilson(np.array(value * positives), np.array(positives), level))
    else:
        spread = float(np.sqrt(value * (1.0 - value) / positives))
        least, most = logit_interval(value, spread, positives, level)
    return min(low, least), most


def newcombe(area: float, positives: float, negatives: float, level: float) -> tuple[float, float]:
    """Return Newcombe's interval of an area under the ROC curve.

    `area`: in [0, 1]; `positives`, `negatives`: rows of either outcome, at least one each.

    Notes
    -----
    The areas A with |area - A| <= z sqrt(V(A)), where V is Hanley and McNeil's variance with both
    numbers of rows in it replaced by their mean (Newcombe 2006, method 5). Its width comes from A
    and the counts alone, so few rows of one outcome, or none out of order, do not shrink it.

    Examples
    --------
    One positive above one negative: V(A) = A (1 - A), and 1 - A <= sqrt(A (1 - A)) from a half on.

    >>> [round(end, 3) for end in newcombe(1.0, 1, 1, 0.6826894921370859)]
    [0.5, 1.0]
    """
    z, mean = quantile(level), (positives + negatives) / 2

    def holds(a: float) -> bool:
        spread = 1 + (mean - 1) * ((1 - a) / (2 - a) + a / (1 + a))
        return abs(area - a) <= z * math.sqrt(a * (1 - a) * spread / (positives * negatives))

    bounds = []
    for end in (0.0, 1.0):
        inside, outside = area, end
        for _ in range(HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if holds(middle) else (inside, middle)
        bounds.append(inside)
    return bounds[0], bounds[1]
