"""How many independent rows the rows of a mean are worth, with groups or weights; numpy only."""

import numpy as np

from core.arrays import Bool, Float
from core.predictions import Extents


def design_effect(values: Float | Bool, extents: Extents) -> float:
    """Return how much wider groups and weights make the variance of a mean, at least 1.

    Parameters
    ----------
    values : (N,) float64 or bool
        What is averaged, over the rows of the mean alone.
    extents : Extents
        Groups and weights of these rows; without either every row is independent: 1.

    Notes
    -----
    Variance of the mean with deviations summed by group over that with rows for groups, each with
    its factor count / (count - 1), but at least Kish's sum w^2 / sum w (Kish 1965). Where rows do
    not differ, or are of one group, they tell nothing of how alike a group is: then a group is
    taken to be as good as one row.
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
    together = np.bincount(place, weights * deviation)
    alone = float(weights @ deviation**2) * values.size / (values.size - 1)
    factor = of_group.size / (of_group.size - 1)
    return max(float(weights @ weights / total), float(together @ together) * factor / alone)


def of_rows(extents: Extents, rows: Bool | slice) -> Extents:
    """Return groups and weights of some of the rows."""
    groups, weights = extents
    return Extents(
        None if groups is None else groups[rows], None if weights is None else weights[rows]
    )
