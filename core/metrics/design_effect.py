"""How many independent rows the rows of a share are worth, where rows belong to groups; numpy."""

import numpy as np

from core.arrays import Bool, Float, Int


def design_effect(values: Float | Bool, groups: Int | None) -> float:
    """Return how much wider groups make the variance of a mean, at least 1.

    Parameters
    ----------
    values : (N,) float64 or bool
        What is averaged, over the rows of the mean alone.
    groups : (N,) int64 or None
        Number of each row's group, 0 or more; without it every row is independent: 1.

    Notes
    -----
    Variance of the mean with deviations summed by group over that with rows for groups, each with
    its factor count / (count - 1) (Kish 1965). Where rows do not differ, or are of one group, they
    tell nothing of how alike a group is: then a group is taken to be as good as one row.
    """
    if groups is None or values.size == 0:
        return 1.0
    size = np.bincount(groups)
    size = size[size > 0]
    deviation = values - np.mean(values)
    alone = float(deviation @ deviation) * values.size / max(1, values.size - 1)
    if size.size == 1 or np.all(values == values[0]):
        return float(size @ size) / values.size
    together = np.bincount(groups, deviation)
    return max(1.0, float(together @ together) * size.size / (size.size - 1) / alone)
