"""Effective sample size of a mean, with groups or weights; numpy only."""

import numpy as np

from core.arrays import Bool, Float, Int
from core.predictions import SamplingDesign

CONCENTRATED = 1.0 / 100  # of all pairs of weight in one group: sums by group are rough above it
SAME = 1e-12  # of the squares between groups: those within are rounding


def design_effect(values: Float | Bool, extents: SamplingDesign) -> float:
    """Return how much wider groups and weights make the variance of a mean, at least 1.

    Parameters
    ----------
    values : (N,) float64 or bool
        What is averaged, over the rows of the mean alone.
    extents : SamplingDesign
        Groups and weights of these rows; without either every row is independent: 1.

    Notes
    -----
    Squared sums by group over squares of rows, times G / (G - 1): it holds however large groups
    differ from small ones. Where groups vary in size like fewer than 100 equal ones, these sums
    would take most of its own deviation off a group that rules the mean; there it is
    1 + rho (sum_g W_g^2 / W - 1) with the weight W_g of each group and W of all (Donner & Klar
    2000), rho that of `intraclass_correlation`, and a weight counts as so many rows of its group.
    Either is at least Kish's sum w^2 / sum w, and more where the rows that weigh most vary most
    (Kish 1965). Where rows do not differ, or are of one group, they tell nothing of how alike a
    group is: then a group is taken to be as good as one row.
    """
    groups, weights = extents
    weights = np.ones(values.size) if weights is None else weights
    if extents.independent or not weights.any():
        return 1.0
    counted = weights > 0.0
    values, weights = values[counted], weights[counted]
    place = np.arange(values.size)
    if groups is not None:
        place = np.unique(groups[counted], return_inverse=True)[1]
    total, of_group = weights.sum(), np.bincount(place, weights)
    if of_group.size == 1 or np.all(values == values[0]):
        return float(of_group @ of_group / total)
    deviation = values - weights @ values / total
    # By a power of two, which rounds nothing: squares of the smallest would be 0.
    deviation = np.ldexp(deviation, -np.frexp(np.abs(deviation).max())[1])
    alone = (weights * deviation) @ (weights * deviation) / (weights @ deviation**2)
    rows = max(float(weights @ weights / total), float(alone))
    if of_group.size == values.size:
        return rows
    if of_group @ of_group <= CONCENTRATED * total**2:
        sums = np.bincount(place, weights * deviation)
        between = of_group.size / (of_group.size - 1) * (sums @ sums)
        return max(rows, float(between / (weights @ deviation**2)))
    # those that are no numbers of rows have a scale without meaning: it is that of one a row
    unit = 1.0 if np.array_equal(weights, np.round(weights)) else float(total / values.size)
    rho = intraclass_correlation(deviation, place, weights / unit)
    return max(rows, float(unit + rho * (of_group @ of_group / total - unit)))


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
    """
    weights = np.ones(values.size) if weights is None else weights
    ratio, rows, inside = mean_squares(values, groups, weights)
    if inside <= 0.0:
        return 0.0
    if np.isinf(ratio):
        return 1.0
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
    explained = float((np.bincount(groups, weights * deviation) ** 2 / sizes).sum())
    within, inside = float(weights @ deviation**2) - explained, n - sizes.size
    rows = (n - float(sizes @ sizes) / n) / (sizes.size - 1)
    if within <= SAME * explained:
        return np.inf, rows, inside
    return explained / (sizes.size - 1) * inside / within, rows, inside


def group_concentration(extents: SamplingDesign) -> float:
    """Return the share of all pairs of weight that lie in one group: sum W_g^2 / (sum W_g)^2.

    1 / G for G equal groups, 1 for one; rows are groups where none are given.
    """
    groups, weights = extents
    assert groups is not None
    of_group = np.bincount(np.unique(groups, return_inverse=True)[1], weights)
    return float(of_group @ of_group / of_group.sum() ** 2)


def degrees_of_freedom(extents: SamplingDesign) -> float:
    """Return those of Student's t: (sum W_g)^2 / sum W_g^2 - 1, at least 1.

    As many as groups of equal weight would have that vary as much (Carter et al. 2017). Infinite
    where no two rows belong together: nothing of groups is estimated then.
    """
    groups = extents.groups
    if groups is None or np.unique(groups).size == groups.size:
        return np.inf
    return max(1.0, 1.0 / group_concentration(extents) - 1.0)


def of_rows(extents: SamplingDesign, rows: Bool | Int | slice) -> SamplingDesign:
    """Return groups and weights of some of the rows."""
    groups, weights = extents
    return SamplingDesign(
        None if groups is None else groups[rows], None if weights is None else weights[rows]
    )
