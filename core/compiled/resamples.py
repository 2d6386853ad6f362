"""How often rows are drawn, and sums by cell in many resamples at once."""

from typing import Any

import numpy as np
import numpy.typing as npt

from core.compiled.jit import compiled

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Counts = npt.NDArray[Any]  # Any: uint8 or float64

_NUMBERS = "Array(int64, 1, 'C', readonly=True)"
_GAPS = "Array(float64, 1, 'C', readonly=True)"


@compiled(*(f"void(int64[::1], {counts}[::1])" for counts in ("uint8", "float64")))
def add_draws(drawn: Int, counts: Counts) -> None:
    """Count numbers that were drawn.

    Parameters
    ----------
    drawn : (M,) int64
        In 0..N-1.
    counts : (N,) uint8 or float64
        Added to.
    """
    for row in drawn:
        counts[row] += 1


@compiled(
    *(
        f"void(Array({counts}, 2, 'C', readonly=True), {_NUMBERS}, {_NUMBERS}, {_GAPS}, "
        "float64[:, ::1])"
        for counts in ("uint8", "float64")
    ),
    as_written=True,
)
def add_by_cell(counts: Counts, row: Int, cell: Int, gap: Float, out: Float) -> None:
    """Sum the entries of each resample by cell.

    Parameters
    ----------
    counts : (R, N) uint8 or float64
        What each row counts.
    row, cell : (E,) int64
        The row that an entry is of, and the cell it is added to.
    gap : (E,) float64
        What it is worth where its row counts once.
    out : (R, C) float64
        Added to, entry after entry.
    """
    for r in range(len(counts)):
        for e in range(row.size):
            out[r, cell[e]] += counts[r, row[e]] * gap[e]


@compiled(
    "void(Array(int64, 2, 'C', readonly=True), Array(float64, 2, 'C', readonly=True), "
    f"{_GAPS}, float64[:, :, ::1], float64[:, ::1])",
    as_written=True,
)
def add_alike(place: Int, law: Float, theta: Float, uniform: Float, out: Float) -> None:
    """Draw outcomes that are alike within groups, and add up by cell what came true.

    Parameters
    ----------
    place : (2, N) int64
        The first row of each row's group, rows of which follow each other, and the cell that the
        row is added to.
    law : (2, N) float64
        How often each row comes true, and what it counts.
    theta : (R,) float64
        Of the Dirichlet process: 0 where groups have one number, infinite where rows have theirs.
    uniform : (R, 2, N) float64
        In [0, 1): a number for each row, written over where it is taken from another row of the
        group, and one that chooses which.
    out : (R, C) float64
        Added to, row after row.
    """
    first, cell = place
    claim, weight = law
    for r in range(theta.size):
        number, choice = uniform[r]
        for row in range(first.size):
            before = row - first[row]
            if before > 0:
                # An urn of the numbers before and of theta new ones (Blackwell and MacQueen 1973).
                other = choice[row] * (before + theta[r])
                if other < before:
                    number[row] = number[first[row] + int(other)]
            if number[row] < claim[row]:
                out[r, cell[row]] += weight[row]
