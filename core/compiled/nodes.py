"""Sums of sorted rows, spread over the points of a grid."""

from typing import Any

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Counts = npt.NDArray[Any]  # Any: int64, or with weights float64


@compiled(
    *(
        f"void(Array(float64, 1, 'C', readonly=True), int64[::1], {ends}[::1], "
        f"Array({hits}, 1, 'C', readonly=True), float64[::1])"
        for ends, hits in (("int64", "int64"), ("float64", "float64"))
    ),
    as_written=True,
)
def add_to_nodes(
    confidence: Float, cuts: Int, ends: Counts, sum_correct: Counts, nodes: Float
) -> None:
    """Spread the gap of each group of ties over the four nearest points of a grid of [0, 1].

    Parameters
    ----------
    confidence : (N,) float64
        Ascending.
    cuts : (G + 1,) int64
        Ranks between which all are equal, from 0 to N.
    ends : (G + 1,) int64 or float64
        How many rows those up to each cut stand for.
    sum_correct : (N + 1,) of the same type
        How many of the first rows came true.
    nodes : (M + 3,) float64
        Added to, with one point more on either side: the sum of confidence minus outcome, by cubic
        splitting, which keeps the first three moments of the positions.
    """
    intervals = nodes.size - 3
    for g in range(cuts.size - 1):
        p = confidence[cuts[g + 1] - 1]
        hits = sum_correct[cuts[g + 1]] - sum_correct[cuts[g]]
        gap = p * (ends[g + 1] - ends[g]) - hits
        at = p * intervals if 0.0 <= p <= 1.0 else 0.0  # NaN must not write outside
        base = min(int(at), intervals - 1)
        # Lagrange's weights of four points for a position d beyond the second of them.
        d = at - base
        nodes[base] -= d * (d - 1.0) * (d - 2.0) / 6.0 * gap
        nodes[base + 1] += (d + 1.0) * (d - 1.0) * (d - 2.0) / 2.0 * gap
        nodes[base + 2] -= (d + 1.0) * d * (d - 2.0) / 2.0 * gap
        nodes[base + 3] += (d + 1.0) * d * (d - 1.0) / 6.0 * gap
