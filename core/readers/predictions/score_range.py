"""One pass over a score matrix: its range, what is not finite, and how far rows are from one."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.arrays import row_chunks
from core.errors import Refused

SAMPLE = 4_096  # values looked at to tell to how many digits numbers were rounded
MAX_DIGITS = 8
# How far a row of probabilities may sum from one: a few rounding errors of the type that a model
# computed in, which is often coarser than the type of the file (mixed precision).
TOLERANCE = {2: 5e-3, 4: 1e-3, 8: 1e-4}
QUIET = {2: 1e-5, 4: 1e-5, 8: 1e-6}  # below this nothing needs to be said
MOST = 0.05  # beyond this no rounding explains a sum


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What the rules about the kind of scores need to know.

    Attributes
    ----------
    low, high : float
        Smallest and largest value; `low` may be -inf.
    low_at, high_at : str
        Row and column of the two, as a message names them.
    low_sum, high_sum : float
        Smallest and largest sum of a row; the values themselves for a single column.
    worst_row : str
        Row whose sum lies farthest from one, likewise.
    tolerance, quiet : float
        How far a sum may lie from one, and up to where nothing is said.
    """

    low: float
    high: float
    low_at: str
    high_at: str
    low_sum: float
    high_sum: float
    worst_row: str
    tolerance: float
    quiet: float

    @property
    def deviation(self) -> float:
        """Largest distance of a row's sum from one."""
        return max(abs(self.low_sum - 1.0), abs(self.high_sum - 1.0))

    @property
    def sums_to_one(self) -> bool:
        """Whether every row sums to one within the tolerance."""
        return self.deviation <= self.tolerance

    @property
    def in_unit(self) -> bool:
        """Whether every value lies in [0, 1], up to rounding above 1."""
        return self.low >= 0.0 and self.high <= 1.0 + self.tolerance

    @property
    def same_sums(self) -> bool:
        """Whether no value is below 0 and all rows have one sum: shares or counts of a whole."""
        spread = self.high_sum - self.low_sum
        return self.low >= 0.0 and self.high_sum > 0.0 and spread <= 2e-3 * self.high_sum

    @property
    def percent(self) -> bool:
        """Whether rows sum to 100 instead of 1."""
        near = 100.0 * self.tolerance
        return self.low >= 0.0 and max(abs(self.low_sum - 100), abs(self.high_sum - 100)) <= near


def survey(
    scores: npt.NDArray[np.floating],
    *,
    row_name: Callable[[int], str],
    printed: bool = False,
    coarse: float = 0.0,
) -> Survey:
    """Return the survey of a score matrix.

    Parameters
    ----------
    scores : (N, K) or (N,) float
        At least one row.
    row_name : function of int to str
        How a message names a row.
    printed : bool
        Whether numbers were printed as text.
    coarse : float
        Rounding step near 1 when the file's own type is coarser than the dtype here.

    Raises
    ------
    Refused
        NONFINITE: NaN, +inf, or a row of -inf only.
    """
    matrix = scores.reshape(len(scores), -1)
    low, high, low_at, high_at = np.inf, -np.inf, (0, 0), (0, 0)
    low_sum, high_sum, worst, worst_row = np.inf, -np.inf, -1.0, 0
    for rows in row_chunks(*matrix.shape):
        block = matrix[rows].astype(np.float64, copy=False)
        _check_finite(block, rows.start, row_name, "NaN, or a missing value," if printed else "NaN")
        least, most = int(block.argmin()), int(block.argmax())
        if block.flat[least] < low:
            low, low_at = float(block.flat[least]), _position(least, rows.start, block.shape[1])
        if block.flat[most] > high:
            high, high_at = float(block.flat[most]), _position(most, rows.start, block.shape[1])
        with np.errstate(over="ignore"):
            sums = block.sum(axis=1)
        away = np.abs(sums - 1.0)
        if away.max() > worst:
            worst, worst_row = float(away.max()), rows.start + int(away.argmax())
        low_sum, high_sum = min(low_sum, float(sums.min())), max(high_sum, float(sums.max()))
    least_at, most_at = (f"{row_name(r)} col {c}" for r, c in (low_at, high_at))
    # The error of a sum: rounding to d digits moves each of K values by half of 10^-d.
    tolerance = max(TOLERANCE[matrix.dtype.itemsize], 4.0 * coarse)
    digits = _digits(matrix) if printed or matrix.dtype.itemsize == 8 else None
    if digits is not None:
        tolerance = min(MOST, max(tolerance, 0.5 * 10.0**-digits * matrix.shape[1]))
    quiet = QUIET[matrix.dtype.itemsize]
    return Survey(
        low=low,
        high=high,
        low_at=least_at,
        high_at=most_at,
        low_sum=low_sum,
        high_sum=high_sum,
        worst_row=row_name(worst_row),
        tolerance=tolerance,
        quiet=quiet,
    )


def _position(flat: int, start: int, width: int) -> tuple[int, int]:
    return start + flat // width, flat % width


def _check_finite(
    block: npt.NDArray[np.float64], start: int, row_name: Callable[[int], str], nan: str
) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(block.sum()):  # one cheap test; a sum of finite values may still overflow
            return
    bad = np.isnan(block) | (block == np.inf)
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        kind = nan if np.isnan(block[row, column]) else "infinity"
        what, location = f"{kind} among the scores", f"{row_name(start + row)} col {column}"
        remedy = "find out why the model gave it; rows are never dropped silently"
        raise Refused("NONFINITE", what, remedy, location)
    empty = np.flatnonzero(np.isneginf(block).all(axis=1))
    if empty.size:
        location = row_name(start + int(empty[0]))
        what = "A row holds -infinity only"
        raise Refused("NONFINITE", what, "give each row one finite score", location)


def _digits(matrix: npt.NDArray[np.floating]) -> int | None:
    """To how many digits after the point a sample of values was rounded; None: to none we see."""
    rows = max(1, SAMPLE // matrix.shape[1])
    sample = matrix[:: max(1, len(matrix) // rows)][:rows].astype(np.float64).reshape(-1)
    if not np.all(np.abs(sample) <= 1.5):
        return None
    for digits in range(1, MAX_DIGITS + 1):
        scaled = sample * 10.0**digits
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-6):
            return digits
    return None
