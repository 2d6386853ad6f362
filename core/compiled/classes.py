"""Drawing the class of each row from its own probabilities, many times over."""

from typing import Any

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Float = npt.NDArray[np.float64]
Counts = npt.NDArray[Any]  # Any: int32, or with weights float64


@compiled(as_written=True)
def _first_from(line: Float, value: float) -> int:
    """Return the first place where an ascending line is at least a value, else its last place."""
    at, left = 0, line.size
    while left > 1:
        half = left // 2
        at += half if line[at + half - 1] < value else 0
        left -= half
    return at


@compiled(as_written=True)
def _bin_of(value: float, edges: Float) -> int:
    """Return the bin (low, high] of a value; what lies outside belongs to the nearest."""
    at = 0
    while at < edges.size - 2 and value > edges[at + 1]:
        at += 1
    return at


@compiled(
    *(
        f"void(float64[:, ::1], float64[:, ::1], float64[::1], {counts}[::1], {counts}[:, ::1])"
        for counts in ("int32", "float64")
    ),
    as_written=True,
)
def add_redrawn(p: Float, draws: Float, edges: Float, rows: Counts, hits: Counts) -> None:
    """Draw a class for each row and resample, and count it in the bin of its probability.

    Parameters
    ----------
    p : (N, K) float64
        Probabilities.
    draws : (N, R) float64
        Uniform in [0, 1).
    edges : (B + 1,) float64
        Of the bins.
    rows : (N,) int32 or float64
        What each row counts.
    hits : (K * B, R) of the same type
        Added to: by class and bin, what the rows count whose class was drawn.
    """
    n_bins = edges.size - 1
    line = np.empty(p.shape[1])
    for i in range(len(p)):
        total = 0.0
        for k in range(line.size):
            total += p[i, k]
            line[k] = total
        for r in range(draws.shape[1]):
            k = _first_from(line, draws[i, r] * total)
            hits[k * n_bins + _bin_of(p[i, k], edges), r] += rows[i]
