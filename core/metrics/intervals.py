"""Intervals, resamples and the noise floor; numpy, and scipy for exact tails of the binomial.

Resamples are drawn once for a target and read by every binned metric. The sorted rows are cut at
the union of all edges a slider can ask for (both rules, 5 to 50 bins); rows between two cuts are
exchangeable for every such binning, so a resample is the number of rows and hits in each cell.
Counts of exact tails need not be whole: rows divided by a design effect are not.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Self

import numpy as np
import numpy.typing as npt

from core.arrays import Counts, Float, Int, row_chunks
from core.defaults import N_BINS_MAX, N_BINS_MIN
from core.metrics.binning import CUTS, BinSums, sums
from core.metrics.grouped import effective_mean
from core.metrics.ranked import SortedOutcomes
from core.predictions import SamplingDesign


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


RANK_CELLS = 200  # cells in which rows are resampled for the area under risk and coverage
MEAN_CELLS = 200  # groups in which rows are resampled for a mean
NO_VARIANCE = 1e-24  # what rounding leaves between equal resamples
NEARLY = 3.0  # standard deviations by which a sum of counts stays below the rows on average
BLOCK_DRAWS = 2**21  # rows drawn one by one at a time: 16 MiB of random numbers
HALVINGS = 50  # of a bound that is searched for

Drawn = npt.NDArray[np.int32]


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
    """Return Student's quantile of a two-sided level, for example 2.26 for 0.95 and 9."""
    from scipy.special import stdtrit  # a tenth of a second, which readers do not pay

    return float(stdtrit(df, 0.5 + level / 2))


@dataclass(frozen=True)
class Units:
    """What resamples draw: rows or groups, of any weight above 0."""

    count: int  # how many there are
    # Degrees of freedom: (sum W)^2 / sum W^2 - 1, at least 1, as of so many of equal weight
    df: float
    # Share of the variance of a mean by which resamples scatter, 1 - 1 / u for u of equal weight: a
    # unit pulls the mean towards itself, and one that rules it all the more
    scatter: float

    @classmethod
    def even(cls, count: int) -> Self:
        """Return so many of equal weight."""
        return cls(count, max(1.0, count - 1.0), 1.0 - 1.0 / max(count, 2))

    def wide(self, level: float) -> float:
        """Return how many standard errors in resamples an interval reaches; infinite for one."""
        return float("inf") if self.count < 2 else student(level, self.df) / self.scatter**0.5


def units(n: int, extents: SamplingDesign) -> Units:
    """Return what resamples of n rows draw."""
    groups, weights = extents
    if extents.independent:
        return Units.even(n)
    weights = np.ones(n) if weights is None else weights
    counted = weights > 0.0
    place = np.flatnonzero(counted) if groups is None else groups[counted]
    shares = np.bincount(np.unique(place, return_inverse=True)[1], weights[counted])
    shares = shares / shares.sum()
    if shares.size < 2:
        return Units.even(shares.size)
    squares = float(shares @ shares)
    scatter = max(0.5, 1.0 - 2.0 * float((shares**3).sum()) / squares + squares)
    return Units(shares.size, max(1.0, 1.0 / squares - 1.0), scatter)


def percentile(draws: Float, level: float) -> tuple[float, float]:
    """Return the two-sided percentiles of (R,) draws."""
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


def draw(
    ranked: SortedOutcomes, cuts: Int, n_resamples: int, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """Resample rows with replacement; return rows and hits of each cell, (R, C) each."""
    hits = np.diff(ranked.sum_correct[cuts])
    misses = np.diff(cuts) - hits
    drawn = drawn_rows(np.concatenate([hits, misses]), n_resamples, rng)
    drawn_hits, drawn_misses = drawn[: hits.size].T, drawn[hits.size :].T
    return drawn_hits + drawn_misses, drawn_hits


def drawn_rows(rows: Int, n_resamples: int, rng: np.random.Generator) -> Drawn:
    """Draw as many rows as there are with replacement; return how many of each category, (C, R).

    Parameters
    ----------
    rows : (C,) int64
        Rows of each category.

    Notes
    -----
    Poisson counts that add up to some number are a draw of so many rows. So nearly all rows are
    drawn as Poisson counts, which need not be one after the other, and what is left to N one by
    one; resamples that went beyond N are drawn anew.
    """
    from core.compiled.draws import add_drawn

    n = int(rows.sum())
    mean = max(0.0, n - NEARLY * math.sqrt(n)) * (rows / n)
    drawn = _poisson(mean, n_resamples, rng)
    beyond = np.flatnonzero(drawn.sum(axis=0) > n)
    while beyond.size:
        drawn[:, beyond] = _poisson(mean, beyond.size, rng)
        beyond = beyond[drawn[:, beyond].sum(axis=0) > n]
    more = n - drawn.sum(axis=0, dtype=np.int64)
    for part in _blocks(more):
        some = np.ascontiguousarray(drawn[:, part])
        add_drawn(rows, rng.random(int(more[part].sum())), more[part], some)
        drawn[:, part] = some
    return drawn


def _blocks(counts: Int) -> Iterator[slice]:
    """Yield slices of counts that add up to BLOCK_DRAWS at most, or are single."""
    ends, start = counts.cumsum(), 0
    while start < counts.size:
        before = ends[start] - counts[start]
        end = int(np.searchsorted(ends, before + BLOCK_DRAWS, side="right"))
        yield slice(start, start := max(end, start + 1))


def _poisson(mean: Float, n_resamples: int, rng: np.random.Generator) -> Drawn:
    """Return Poisson counts, (C, R)."""
    from core.compiled.draws import write_poisson

    out, some = np.zeros((mean.size, n_resamples), np.int32), np.flatnonzero(mean)
    for part in row_chunks(some.size, n_resamples):
        lines = some[part]
        write_poisson(mean[lines], rng.random((lines.size, n_resamples)), lines, out)
    return out


def binomial(trials: Int, share: Float, n_resamples: int, rng: np.random.Generator) -> Drawn:
    """Return binomial counts of (C,) trials and shares, (C, R)."""
    from core.compiled.draws import write_binomial

    out = np.empty((trials.size, n_resamples), np.int32)
    for part in row_chunks(trials.size, n_resamples):
        uniform = rng.random((trials[part].size, n_resamples))
        write_binomial(trials[part], share[part], uniform, out[part])
    return out


def all_cuts(ranked: SortedOutcomes, n_bins: int) -> Int:
    """Return the union of all cuts that a slider, or that number of bins, can ask for."""
    numbers = sorted({*range(N_BINS_MIN, N_BINS_MAX + 1), n_bins})
    edges = [rule(ranked, bins) for bins in numbers for rule in CUTS.values()]
    return np.unique(np.concatenate([[0], *edges, [ranked.n]]))


@dataclass(frozen=True, kw_only=True)
class Resamples:
    """Bootstrap and noise-floor draws of one target, ready for any binning."""

    ranked: SortedOutcomes  # what was resampled
    cuts: Int  # (C + 1,), ranks between which rows are resampled together
    # count, hits: (R, C + 1), running rows and hits of the bootstrap resamples; with weights,
    # float64
    count: np.ndarray
    hits: np.ndarray
    confidence: Float  # (R, C + 1), their running sum of confidence
    # (R, C + 1), running hits when the outcomes are redrawn from the confidences themselves; with
    # weights, float64
    floor_hits: np.ndarray

    @classmethod
    def of(
        cls, ranked: SortedOutcomes, n_resamples: int, seed: int, *, n_bins: int = N_BINS_MIN
    ) -> Self:
        """Draw the resamples of a target.

        `seed`: same seed, same rows in any order: same draws; `n_bins`: a number of bins outside
        5..50 that will be asked for.
        """
        cuts = all_cuts(ranked, n_bins)
        rng = np.random.default_rng(seed)
        count, hits = draw(ranked, cuts, n_resamples, rng)
        rows = np.diff(cuts)
        mean = np.clip(np.diff(ranked.sum_confidence[cuts]) / rows, 0.0, 1.0)
        floor = binomial(rows, mean, n_resamples, rng).T
        return cls(
            ranked=ranked,
            cuts=cuts,
            count=running(count, np.int32),
            hits=running(hits, np.int32),
            confidence=running(count * mean, np.float64),
            floor_hits=running(floor, np.int32),
        )

    def columns(self, cuts: Int) -> Int:
        """Return where cuts lie among ours; a cut that is not ours moves to the next one."""
        return np.minimum(np.searchsorted(self.cuts, cuts), len(self.cuts) - 1)

    def bootstrap(self, cuts: Int) -> BinSums:
        """Return the sums between cuts in the bootstrap resamples, (R, B)."""
        at = self.columns(cuts)
        return BinSums(
            np.diff(self.count[:, at]), np.diff(self.confidence[:, at]), np.diff(self.hits[:, at])
        )

    def floor(self, cuts: Int) -> BinSums:
        """Return the sums between cuts when outcomes follow the confidences, hits (R, B)."""
        own = self.observed(cuts)
        hits = np.diff(self.floor_hits[:, self.columns(cuts)])
        return BinSums(own.count, own.confidence, hits)

    def observed(self, cuts: Int) -> BinSums:
        """Return the sums between cuts of the rows themselves, at the cuts we have, (B,)."""
        return sums(self.ranked, self.cuts[self.columns(cuts)])

    def gap_interval(self, level: float) -> tuple[float, float]:
        """Return the interval of mean confidence minus share that came true.

        Wilson's interval of the share is subtracted from the mean confidence, with as many trials
        as give the share the variance that the gap has in the resamples: where few rows failed,
        or few came true, quantiles of resamples are lopsided and too short. Where the resamples
        do not differ, the trials are the rows.
        """
        ranked = self.ranked
        share, mean = ranked.hits / ranked.total, ranked.sum_confidence[-1] / ranked.total
        draws = (self.confidence[:, -1] - self.hits[:, -1]) / ranked.total
        variance, trials = float(np.var(draws)), effective_mean(ranked, ranked.correct)
        if 0.0 < share < 1.0 and variance > NO_VARIANCE:
            trials = share * (1.0 - share) / variance
        low, high = wilson(np.array(share * trials), np.array(trials), level)
        return float(mean - high), float(mean - low)


def running(cells: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    """Return the sums of the first cells, from 0 to all of them, (R, C + 1), cell after cell."""
    out = np.zeros((cells.shape[1] + 1, cells.shape[0]), dtype=dtype)
    for before, cell, after in zip(out, cells.T, out[1:], strict=False):
        np.add(before, cell, out=after)
    return out.T
