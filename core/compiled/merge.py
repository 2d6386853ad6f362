"""Two sorted sets of scores made one."""

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]


@compiled("int64(float64[::1], float64[::1], float64[::1], int64[:, ::1])", as_written=True)
def merge(inside: Float, outside: Float, values: Float, rows: Int) -> int:
    """Write the distinct scores of two sets and how often each occurs; return their number.

    Parameters
    ----------
    inside, outside : (N,) and (M,) float64
        Ascending and finite.
    values : (N + M,) float64
        Its first places are written: distinct scores, ascending.
    rows : (2, N + M) int64
        Its first columns are written: rows of either set.
    """
    i = j = g = 0
    while i < inside.size or j < outside.size:
        first = j == outside.size or (i < inside.size and inside[i] <= outside[j])
        value = inside[i] if first else outside[j]
        n_inside, n_outside = i, j
        while i < inside.size and inside[i] == value:
            i += 1
        while j < outside.size and outside[j] == value:
            j += 1
        values[g], rows[0, g], rows[1, g] = value, i - n_inside, j - n_outside
        g += 1
    return g
