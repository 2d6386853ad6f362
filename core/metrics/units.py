"""What a sample consists of: rows, or groups of them that are drawn as one, with their weights.

Resamples draw units with replacement, all rows of one together; without groups every row is a unit
of its own. Means are ratios of sums: each resample is scaled to the weight of the data. numpy only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from core.arrays import SORTED_BY_DIGITS, Bool, Counts, Float, Int
from core.metrics.intervals import student
from core.predictions import INDEPENDENT, SamplingDesign

UNEVEN = 1.0 / 100  # of all pairs of weight in one group: sums by group are rough above it
SAME = 1e-12  # of the squares between groups: those within are rounding
STREAM = 5  # of random numbers; the others are in `estimates`
BLOCK_BYTES = 2**25  # of resamples held at a time
LEAST_BLOCK = 8  # bytes held of each row, however many rows
DRAWN_AT_A_TIME = 2**20


@dataclass(frozen=True)
class ResamplingUnits:
    """How many units resamples draw, and what an interval makes of it."""

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
        """Return how many standard errors in resamples an interval reaches; infinite for one.

        Examples
        --------
        >>> round(ResamplingUnits.even(10).wide(0.95), 2)  # 2.262 / sqrt(0.9)
        2.38
        >>> ResamplingUnits.even(1).wide(0.95)
        inf
        """
        return float("inf") if self.count < 2 else student(level, self.df) / self.scatter**0.5


@dataclass(frozen=True)
class RowUnits:
    """The unit of every row that counts: of weight above 0."""

    counted: Bool | slice  # (N,), which rows these are; M of them
    of_row: Int  # (M,), the unit of each, 0..U-1, every one of them in use
    weights: Float  # (M,), how many rows each stands for

    @classmethod
    def of(cls, n: int, sampling: SamplingDesign) -> Self:
        """Return the units of n rows, numbered.

        Examples
        --------
        >>> patient, weights = np.array([0, 0, 1]), np.array([1.0, 2.0, 1.0])
        >>> own = RowUnits.of(3, SamplingDesign(patient, weights))
        >>> own.totals.tolist(), own.concentration  # (3² + 1²) / 4²
        ([3.0, 1.0], 0.625)
        """
        groups, weights = sampling
        counted = slice(None) if weights is None else weights > 0.0
        weights = np.ones(n) if weights is None else weights[counted]
        if groups is None:
            return cls(counted, np.arange(weights.size), weights)
        place = np.unique(groups[counted], return_inverse=True)[1]
        return cls(counted, place.astype(np.int64), weights)

    @cached_property
    def totals(self) -> Float:
        """Weight of each unit, (U,)."""
        return np.bincount(self.of_row, self.weights).astype(np.float64)

    @property
    def count(self) -> int:
        """Number of units."""
        return int(self.totals.size)

    @property
    def concentration(self) -> float:
        """Share of all pairs of weight that lie in one unit: sum W_u^2 / (sum W_u)^2.

        1 / U for U equal units, 1 for one.
        """
        return float(self.totals @ self.totals / self.totals.sum() ** 2)

    @property
    def group_df(self) -> float:
        """Degrees of freedom of Student's t: (sum W_u)^2 / sum W_u^2 - 1, at least 1.

        As many as groups of equal weight would have that vary as much (Carter et al. 2017).
        Infinite where no two rows belong together: nothing of groups is estimated then.
        """
        if self.count == self.of_row.size:
            return np.inf
        return max(1.0, 1.0 / self.concentration - 1.0)

    def drawn(self, rng: np.random.Generator) -> Float:
        """Return how often each unit is drawn when as many are drawn as there are, (U,)."""
        return drawn_units(self.count, rng)

    def sum_variance(self, values: Float) -> float:
        """Return the variance of a sum of (N,) values of mean 0."""
        return sum_variance(values[self.counted], self.of_row)

    def mean_variance(self, values: Float) -> float:
        """Return the variance of the weighted mean of (N,) values."""
        return sum_variance(deviations(values[self.counted], self.weights), self.of_row)

    def mean_draws(self, values: Float, n_resamples: int, rng: np.random.Generator) -> Float:
        """Return the weighted mean of (N,) values in resamples, (R,)."""
        sums = np.bincount(self.of_row, self.weights * values[self.counted])
        out = np.empty(n_resamples)
        for r in range(n_resamples):
            drawn = self.drawn(rng)
            out[r] = (drawn @ sums) / (drawn @ self.totals)
        return out

    def design_effect(self, values: Float | Bool) -> float:
        """Return how much wider groups and weights make the variance of a mean, at least 1.

        `values`: what is averaged, (N,) float64 or bool, over the rows of the mean alone.

        Notes
        -----
        Squared sums by group over squares of rows, times G / (G - 1): it holds however large groups
        differ from small ones. Where groups vary in size like fewer than 100 equal ones, these sums
        would take most of its own deviation off a group that rules the mean; there it is
        1 + rho (sum_g W_g^2 / W - 1) with the weight W_g of each group and W of all (Donner & Klar
        2000), rho that of `intraclass_correlation`, and a weight counts as so many rows of its
        group. Either is at least Kish's sum w^2 / sum w, and more where the rows that weigh most
        vary most (Kish 1965). Where rows do not differ, or are of one group, they tell nothing of
        how alike a group is: then a group is taken to be as good as one row.
        """
        values, weights, of_group = values[self.counted], self.weights, self.totals
        if not values.size:
            return 1.0
        total = weights.sum()
        if of_group.size == 1 or np.all(values == values[0]):
            return float(of_group @ of_group / total)
        deviation = values - weights @ values / total
        # By a power of two, which rounds nothing: squares of the smallest would be 0.
        deviation = np.ldexp(deviation, -np.frexp(np.abs(deviation).max())[1])
        # Kish's effect, or what the heavy rows make of it where they are the ones that vary.
        alone = (weights * deviation) @ (weights * deviation) / (weights @ deviation**2)
        rows = max(float(weights @ weights / total), float(alone))
        if of_group.size == values.size:
            return rows
        # Many even groups: the variance by sums of groups over that by rows.
        if of_group @ of_group <= UNEVEN * total**2:
            sums = np.bincount(self.of_row, weights * deviation)
            between = of_group.size / (of_group.size - 1) * (sums @ sums)
            return max(rows, float(between / (weights @ deviation**2)))
        # those that are no numbers of rows have a scale without meaning: it is that of one a row
        unit = 1.0 if np.array_equal(weights, np.round(weights)) else float(total / values.size)
        rho = intraclass_correlation(deviation, self.of_row, weights / unit)
        return max(rows, float(unit + rho * (of_group @ of_group / total - unit)))


def design_effect(values: Float | Bool, sampling: SamplingDesign) -> float:
    """Return `RowUnits.design_effect` of (N,) values with the groups and weights of their rows.

    Examples
    --------
    Two films each of two patients who are right or wrong throughout: as good as half the rows.

    >>> patients = SamplingDesign(groups=np.array([0, 0, 1, 1]))
    >>> design_effect(np.array([True, True, False, False]), patients)
    2.0
    >>> design_effect(np.array([False, True]), SamplingDesign(weights=np.array([3.0, 1.0])))  # Kish
    2.5
    """
    if sampling.independent:
        return 1.0
    return RowUnits.of(values.size, sampling).design_effect(values)


def units(n: int, sampling: SamplingDesign) -> ResamplingUnits:
    """Return what resamples of n rows draw.

    Examples
    --------
    >>> units(4, SamplingDesign(groups=np.array([0, 0, 1, 1])))  # as two rows, whatever they hold
    ResamplingUnits(count=2, df=1.0, scatter=0.5)
    """
    if sampling.independent:
        return ResamplingUnits.even(n)
    own = RowUnits.of(n, sampling)
    if own.count < 2:
        return ResamplingUnits.even(own.count)
    shares = own.totals / own.totals.sum()
    squares = float(shares @ shares)
    # A unit pulls the mean of a resample to itself, the more it weighs.
    scatter = max(0.5, 1.0 - 2.0 * float((shares**3).sum()) / squares + squares)
    return ResamplingUnits(shares.size, max(1.0, 1.0 / squares - 1.0), scatter)


def degrees_of_freedom(sampling: SamplingDesign) -> float:
    """Return `RowUnits.group_df` of groups and weights; rows of weight 0 are left out.

    Examples
    --------
    >>> degrees_of_freedom(SamplingDesign(groups=np.arange(20) // 2))  # ten pairs
    9.0
    >>> degrees_of_freedom(SamplingDesign(groups=np.arange(20)))  # groups of one are none
    inf
    """
    groups = sampling.groups
    return np.inf if groups is None else RowUnits.of(groups.size, sampling).group_df


def intraclass_correlation(values: Float, groups: Int, weights: Float | None = None) -> float:
    """Return how alike values of a group are; in [0, 1].

    Parameters
    ----------
    values : (N,) float64
        Not all the same.
    groups : (N,) int64
        Numbered 0..G-1, all in use, G at least 2.
    weights : (N,) float64, optional
        How many rows each stands for, above 0.

    Notes
    -----
    The larger of two estimates. (F - 1) / (F + m - 1) with the ratio F of mean squares between and
    within groups and m = (N - sum m_g^2 / N) / (G - 1) rows (Donner & Klar 2000). And the one that
    makes squared sums of groups as large as they are, of values and mean alike. Of equal groups
    both are the same; else F may be below 1 though the few events lie in the large groups. 0 where
    every group has one row.

    Examples
    --------
    >>> patient = np.array([0, 0, 1, 1])
    >>> intraclass_correlation(np.array([1.0, 1.0, 0.0, 0.0]), patient)
    1.0
    >>> intraclass_correlation(np.array([0.0, 1.0, 0.0, 1.0]), patient)  # less alike than by chance
    0.0
    """
    weights = np.ones(values.size) if weights is None else weights
    ratio, rows, inside = mean_squares(values, groups, weights)
    if inside <= 0.0:
        return 0.0
    if np.isinf(ratio):
        return 1.0
    # The second estimate: solved for rho, what squared sums of groups exceed those of rows by.
    sizes, n = np.bincount(groups, weights), float(weights.sum())
    deviation = values - weights @ values / n
    between = float((np.bincount(groups, weights * deviation) ** 2).sum())
    together = float(sizes @ sizes) / n  # rows that a row shares its group with, and itself
    effect = between / (float(weights @ deviation**2) * (1.0 - together / n) + between / n)
    by_sums = (effect - 1.0) / (together - 1.0)
    return min(1.0, max(0.0, (ratio - 1.0) / (ratio + rows - 1.0), by_sums))


def mean_squares(
    values: Float, groups: Int, weights: Float | None = None
) -> tuple[float, float, float]:
    """Return the ratio of mean squares between and within groups, m and N - G.

    The ratio is infinite where no group differs within itself.
    """
    weights = np.ones(values.size) if weights is None else weights
    sizes, n = np.bincount(groups, weights), float(weights.sum())
    deviation = values - weights @ values / n
    # One-way analysis of variance; a weight counts as so many rows.
    explained = float((np.bincount(groups, weights * deviation) ** 2 / sizes).sum())
    within, inside = float(weights @ deviation**2) - explained, n - sizes.size
    rows = (n - float(sizes @ sizes) / n) / (sizes.size - 1)
    if within <= SAME * explained:
        return np.inf, rows, inside
    return explained / (sizes.size - 1) * inside / within, rows, inside


def deviations(values: Float, weights: Float) -> Float:
    """Return what each of (M,) values adds to their weighted mean, less the mean."""
    centred = weights * (values - np.average(values, weights=weights))
    return np.asarray(centred / weights.sum())


def sum_variance(values: Float, groups: Int) -> float:
    """Return the variance of a sum of (N,) values of mean 0, from the sums of its groups.

    Times G / (G - 1); infinite for one group.

    Examples
    --------
    >>> off = np.array([1.0, 1.0, -1.0, -1.0])
    >>> sum_variance(off, np.array([0, 0, 1, 1]))  # (2² + 2²) x 2 / 1
    16.0
    >>> round(sum_variance(off, np.arange(4)), 4)  # of rows by themselves 4 x 4 / 3
    5.3333
    """
    sums = np.bincount(groups, values)
    return float("inf") if sums.size < 2 else float(sums.size / (sums.size - 1) * (sums @ sums))


def drawn_units(count: int, rng: np.random.Generator) -> Float:
    """Return how often each unit is drawn when as many are drawn as there are, (U,)."""
    return np.bincount(rng.integers(0, count, count), minlength=count).astype(np.float64)


def row_draws(
    n: int, sampling: SamplingDesign, n_resamples: int, rng: np.random.Generator
) -> Iterator[Float]:
    """Yield what each row counts in each resample, (N,), scaled to the weight of all."""
    if sampling.independent:
        for _ in range(n_resamples):
            yield drawn_units(n, rng)
        return
    own, place, weights = RowUnits.of(n, sampling), np.zeros(n, dtype=np.int64), sampling.weights
    # Rows of weight 0 stand with the first unit, where they count nothing.
    place[own.counted] = own.of_row
    weights = np.ones(n) if weights is None else weights
    total = weights.sum()
    for _ in range(n_resamples):
        drawn = own.drawn(rng)[place] * weights
        yield drawn * (total / drawn.sum())


def resampled_counts(
    n: int,
    n_resamples: int,
    seed: int,
    sampling: SamplingDesign = INDEPENDENT,
    *,
    dtype: type[np.generic] = np.float64,
) -> Iterator[Counts]:
    """Yield what each row counts in each resample, in blocks of (r, N).

    That is how often it is drawn; with groups all rows of one are drawn together, and with
    weights each counts as many rows, scaled to the weight of all. Independent rows may be counted
    in uint8: none is drawn 256 times of N. A block is written over by the next one.

    Examples
    --------
    Rows of a group are drawn together, and every resample has the weight of all.

    >>> patients = SamplingDesign(groups=np.array([0, 0, 1]))
    >>> counts = next(resampled_counts(3, 100, 0, patients))
    >>> bool((counts[:, 0] == counts[:, 1]).all()), np.unique(counts.sum(axis=1)).tolist()
    (True, [3.0])
    """
    rng = np.random.default_rng([seed, STREAM])
    size = np.dtype(dtype).itemsize
    step = max(LEAST_BLOCK // size, BLOCK_BYTES // (size * n))
    buffer = np.empty((min(step, n_resamples), n), dtype)
    for start in range(0, n_resamples, step):
        block = buffer[: n_resamples - start]
        # Of very many rows numbers are drawn and counted in parts, which stay in the cache.
        if sampling.independent and n >= SORTED_BY_DIGITS:
            from core.compiled.resamples import add_draws

            for counts in block:
                counts[:] = 0
                for first in range(0, n, DRAWN_AT_A_TIME):
                    add_draws(rng.integers(0, n, min(DRAWN_AT_A_TIME, n - first)), counts)
        else:
            draws = row_draws(n, sampling, len(block), rng)
            for counts, drawn in zip(block, draws, strict=True):
                counts[:] = drawn
        yield block


def row_signs(
    n: int, sampling: SamplingDesign, n_resamples: int, rng: np.random.Generator
) -> Iterator[Float]:
    """Yield the weight of each row under one random sign a group, (N,).

    Examples
    --------
    >>> groups, weights = np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0])
    >>> signs = next(row_signs(3, SamplingDesign(groups, weights), 1, np.random.default_rng(0)))
    >>> bool(signs[1] == 2.0 * signs[0]), np.abs(signs).tolist()  # one sign a group
    (True, [1.0, 2.0, 3.0])
    """
    groups, weights = sampling
    place = np.arange(n) if groups is None else groups
    weights = np.ones(n) if weights is None else weights
    for _ in range(n_resamples):
        sign = 2.0 * rng.integers(0, 2, int(place.max()) + 1) - 1.0
        yield sign[place] * weights


def resampled_by(*sides: SamplingDesign) -> dict[str, str]:
    """Return what is drawn as one, for settings; nothing where every row is independent."""
    if all(side.independent for side in sides):
        return {}
    return {"resampled_by": "row" if all(side.groups is None for side in sides) else "group"}
