"""Rows that belong together, and rows that stand for several: their variances and resamples.

Groups are drawn with replacement, all rows of a drawn group together; without groups every row is
a group of its own. Means are ratios of sums: each resample is scaled to the weight of the data.
numpy only.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np

from core.arrays import Bool, Float, Int
from core.defaults import N_RESAMPLES_HEAVY
from core.metrics.design_effect import design_effect, of_rows
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import GroupSummary, WeightSummary
from core.predictions import SamplingDesign, Weights

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK = 64  # resamples held at a time
HELD = 2**23  # groups times resamples held at a time, but for one resample of more groups
HEAVY_DRAWS = 200_000_000  # rows times resamples from which only a few resamples are drawn
FEW_GROUPS = 30  # fewer groups make rough intervals
CONCENTRATED = 1.0 / FEW_GROUPS  # of a sum: rows that rule more of it tell as little as few groups


def groups_of(ranked: SortedOutcomes) -> Int:
    """Return the group of each sorted row, numbered 0..G-1 without gaps."""
    if ranked.groups is None:
        return np.arange(ranked.n, dtype=np.int64)
    return np.unique(ranked.groups, return_inverse=True)[1].astype(np.int64)


def weights_of(ranked: SortedOutcomes) -> Float:
    """Return the weight of each sorted row."""
    return np.ones(ranked.n) if ranked.weights is None else ranked.weights


def sum_variance(values: Float, groups: Int) -> float:
    """Return the variance of a sum of (N,) values of mean 0, from the sums of its groups.

    Times G / (G - 1); infinite for one group.
    """
    sums = np.bincount(groups, values)
    return float("inf") if sums.size < 2 else float(sums.size / (sums.size - 1) * (sums @ sums))


def effective_mean(
    ranked: SortedOutcomes, values: Float | Bool, rows: slice = slice(None)
) -> float:
    """Return the effective sample size of the mean of values among some sorted rows."""
    count = len(range(*rows.indices(ranked.n)))
    if ranked.independent or count == 0:
        return count
    extents = of_rows(SamplingDesign(ranked.groups, ranked.weights), rows)
    total = float(weights_of(ranked)[rows].sum())
    return total / design_effect(values[rows], extents)


def effective_rows(ranked: SortedOutcomes, cuts: Int) -> Float:
    """Return the effective sample size of the outcome rate between two ranks.

    Parameters
    ----------
    cuts : (B + 1,) int64
        Ascending ranks.

    Returns
    -------
    (B,) float64
        The rows themselves where each counts for itself, else over their design effect; NaN
        between equal ranks.
    """
    if ranked.independent:
        rows = np.diff(cuts).astype(np.float64)
    else:
        between = [slice(low, high) for low, high in pairwise(cuts.tolist())]
        rows = np.array([effective_mean(ranked, ranked.correct, rows) for rows in between])
    return np.where(rows > 0.0, rows, np.nan)


def effective_rarer(ranked: SortedOutcomes) -> float:
    """Return the effective number of rows with the rarer outcome.

    By the design effect of the signed gap: outcomes of a group may be alike because its claims
    are, and that takes nothing away.
    """
    rarer = min(ranked.hits, ranked.total - ranked.hits)
    return rarer * effective_mean(ranked, ranked.confidence - ranked.correct) / ranked.total


@dataclass(frozen=True, kw_only=True)
class GroupCells:
    """Sums of every group in every cell of neighbouring confidence, ready to be resampled."""

    # cell, group: (E,), cell and group of each entry; every pair that occurs, once
    cell: Int
    group: Int
    # rows, confidence, hits: (E,), sums over its rows, by weight
    rows: Float
    confidence: Float
    hits: Float
    # n_cells, n_groups: cells and groups
    n_cells: int
    n_groups: int

    @classmethod
    def of(cls, ranked: SortedOutcomes, cuts: Int) -> Self:
        """Sum the rows between ascending ranks by group."""
        n_cells, groups = len(cuts) - 1, groups_of(ranked)
        n_groups, inside = int(groups.max()) + 1, slice(int(cuts[0]), int(cuts[-1]))
        index = np.repeat(np.arange(n_cells), np.diff(cuts))
        pairs, place = np.unique(index * n_groups + groups[inside], return_inverse=True)
        rows, confidence, hits = (
            np.bincount(place, (weights_of(ranked) * values)[inside], pairs.size).astype(float)
            for values in (1.0, ranked.confidence, ranked.correct)
        )
        cell, group = pairs // n_groups, pairs % n_groups
        return cls(
            cell=cell,
            group=group,
            rows=rows,
            confidence=confidence,
            hits=hits,
            n_cells=n_cells,
            n_groups=n_groups,
        )

    def rounds(self, resamples: int) -> int:
        """Return how many resamples are drawn where that many are asked for."""
        heavy = self.cell.size * resamples > HEAVY_DRAWS
        return min(resamples, N_RESAMPLES_HEAVY) if heavy else resamples

    def bootstrap(self, n_resamples: int, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        """Return rows, confidence and hits of each cell when groups are drawn, (R, C) each."""
        out = np.empty((3, n_resamples, self.n_cells))
        total = self.rows.sum()
        of_group = np.bincount(self.group, self.rows, self.n_groups)
        sums = [self._by_group(values) for values in (self.rows, self.confidence, self.hits)]
        for part in blocks(n_resamples, self.n_groups):
            drawn = np.stack([drawn_groups(self.n_groups, rng) for _ in range(*part)], axis=1)
            scale = total / (of_group @ drawn)
            for k, each in enumerate(sums):
                out[k, slice(*part)] = (scale * (each @ drawn)).T
        return out[0], out[1], out[2]

    def signed(self, n_resamples: int, rng: np.random.Generator) -> tuple[Float, Float]:
        """Return the gap and the rows of each cell under one random sign a group, (R, C) each."""
        out = np.empty((2, n_resamples, self.n_cells))
        sums = [self._by_group(values) for values in (self.confidence - self.hits, self.rows)]
        for part in blocks(n_resamples, self.n_groups):
            size = part[1] - part[0], self.n_groups
            sign = 2.0 * rng.integers(0, 2, size).T - 1.0
            for k, each in enumerate(sums):
                out[k, slice(*part)] = (each @ sign).T
        return out[0], out[1]

    def redrawn(self, shares: Float | None, n_resamples: int, rng: np.random.Generator) -> Float:
        """Return the hits of each cell when every row's outcome is redrawn, (R, C).

        Where each row is a group of its own, so that entries are rows in their order.

        Parameters
        ----------
        shares : (N,) float64, optional
            How often each row's outcome comes true, if not as its claim says. What it is off by
            takes a random sign, so that sums are those of the claims on average.
        """
        out = np.empty((n_resamples, self.n_cells))
        rows, claim = self._by_group(self.rows), (self.confidence / self.rows)[:, None]
        share = claim if shares is None else shares[:, None]
        for part in blocks(n_resamples, self.n_groups):
            size = self.n_groups, part[1] - part[0]
            drawn = (rng.random(size) < share).astype(np.float64)
            if shares is not None:  # less or more by what the share is off, on average neither
                drawn += 2.0 * (claim - share) * rng.integers(0, 2, size, dtype=np.int8)
            out[slice(*part)] = (rows @ drawn).T
        return out

    def _by_group(self, values: Float) -> "csr_array":
        """Return the entries as a sparse matrix of cells by groups."""
        from scipy.sparse import csr_array  # a tenth of a second, which readers do not pay

        shape = self.n_cells, self.n_groups
        return csr_array((values, (self.cell, self.group)), shape=shape)


def blocks(n_resamples: int, n_groups: int) -> list[tuple[int, int]]:
    """Return the ends of the blocks in which resamples are held."""
    block = max(1, min(BLOCK, HELD // n_groups))
    return [(low, min(low + block, n_resamples)) for low in range(0, n_resamples, block)]


def drawn_groups(n_groups: int, rng: np.random.Generator) -> Float:
    """Return how often each group is drawn when as many are drawn as there are, (G,)."""
    drawn = np.bincount(rng.integers(0, n_groups, n_groups), minlength=n_groups)
    return drawn.astype(np.float64)


def mean_draws(
    values: Float, extents: SamplingDesign, n_resamples: int, rng: np.random.Generator
) -> Float:
    """Return the weighted mean of (N,) values in resamples of groups, (R,)."""
    groups, weights = extents
    weights = np.ones(values.size) if weights is None else weights
    counted = weights > 0.0  # an infinite value of weight 0 counts nothing
    values, weights = values[counted], weights[counted]
    place = np.arange(values.size)
    if groups is not None:
        place = np.unique(groups[counted], return_inverse=True)[1]
    sums, total = np.bincount(place, weights * values), np.bincount(place, weights)
    out = np.empty(n_resamples)
    for r in range(n_resamples):
        drawn = drawn_groups(total.size, rng)
        out[r] = (drawn @ sums) / (drawn @ total)
    return out


def row_draws(
    n: int, extents: SamplingDesign, n_resamples: int, rng: np.random.Generator
) -> Iterator[Float]:
    """Yield what each row counts in each resample of groups, (N,), scaled to the weight of all."""
    groups, weights = extents
    if extents.independent:
        for _ in range(n_resamples):
            yield drawn_groups(n, rng)
        return
    weights = np.ones(n) if weights is None else weights
    counted = weights > 0.0  # resamples of rows that count nothing would weigh nothing
    place = np.zeros(n, dtype=np.int64)
    own = np.flatnonzero(counted) if groups is None else groups[counted]
    place[counted] = np.unique(own, return_inverse=True)[1]
    n_groups, total = int(place.max()) + 1, weights.sum()
    for _ in range(n_resamples):
        drawn = drawn_groups(n_groups, rng)[place] * weights
        yield drawn * (total / drawn.sum())


def row_signs(
    n: int, extents: SamplingDesign, n_resamples: int, rng: np.random.Generator
) -> Iterator[Float]:
    """Yield the weight of each row under one random sign a group, (N,)."""
    groups, weights = extents
    place = np.arange(n) if groups is None else groups
    weights = np.ones(n) if weights is None else weights
    for _ in range(n_resamples):
        sign = 2.0 * rng.integers(0, 2, int(place.max()) + 1) - 1.0
        yield sign[place] * weights


def summary_of(column: str, ranked: SortedOutcomes) -> GroupSummary:
    """Return what the groups of sorted rows make of them."""
    sizes = np.bincount(groups_of(ranked))
    weights = weights_of(ranked)
    effective_n = effective_mean(ranked, ranked.confidence - ranked.correct)
    kish = float(weights.sum() ** 2 / (weights @ weights))  # as many rows of equal weight
    return GroupSummary(
        column=column,
        n=sizes.size,
        largest=int(sizes.max()),
        design_effect=kish / effective_n,
        effective_n=effective_n,
    )


def weight_concentration(weights: Weights) -> float:
    """Return the concentration of the weights: sum w^3 / (sum w sum w^2), 1 / n to 1."""
    shares = weights.of_row / weights.of_row.sum()
    return float((shares**3).sum() / (shares @ shares))


def weight_summary(weights: Weights | None) -> WeightSummary | None:
    """Return what weights make of the rows."""
    if weights is None:
        return None
    of_row = weights.of_row
    return WeightSummary(weights.name, float(of_row.sum() ** 2 / (of_row @ of_row)))
