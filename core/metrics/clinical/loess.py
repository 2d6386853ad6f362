"""Local quadratic smoothing of events over the claim, as R's loess fits it; numpy only.

Cleveland and Devlin 1988: as in `lowess`, but nearest three quarters of the rows, and a parabola.
R interpolates between the vertices of a k-d tree unless told `surface = "direct"`; here every cell
is fitted itself.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, NamedTuple

import numpy as np

from core.arrays import Float, Int
from core.metrics.clinical.lowess import LEAST_SPREAD, Lowess

SPAN: Final = 0.75  # of the rows in each local fit, as in Austin and Steyerberg 2019
LEAST_BEND: Final = 1e-8  # of a parabola apart from its line; less has no three distinct claims


class _Basis(NamedTuple):
    """Moments of the claims around each fit, and the parabola orthogonal to 1 and to the line.

    Its value at a distance u is (u - mean)² - lean (u - mean) - spread; `at` is that at u = 0 over
    its mean square, 0 where the claims bear no parabola.
    """

    mass: Float
    mean: Float
    spread: Float
    lean: Float
    at: Float


@dataclass(frozen=True)
class Loess(Lowess):
    """The local parabolas at every cell; linear in the events.

    Fewer than three distinct claims with weight are fitted by a line, one by its share.
    """

    name: ClassVar[str] = "loess"
    fraction: ClassVar[float] = SPAN
    degree: ClassVar[int] = 2

    @cached_property
    def higher(self) -> tuple[Float, Float]:
        """Tricube weight of each cell (last) in each fit, times distance to 3 and 4, (C, C)."""
        claim, square = self.cells.claim, self.kernels[2]
        away = claim[None, :] - claim[:, None]
        return square * away, square * away**2

    def fit(self, rows: Float | Int, events: Float | Int) -> Float:
        """Return the smoothed share at every cell, (..., C), unclipped; see `Lowess.fit`."""
        events = events.astype(np.float64)
        basis = self._basis(rows)
        flat, slope, square = ((events @ part.T) / basis.mass for part in self.kernels)
        mean, lean = basis.mean, basis.lean
        together = slope - mean * flat
        bend = square - 2.0 * mean * slope + mean**2 * flat - lean * together - basis.spread * flat
        return np.asarray(flat - mean * together / basis.spread + basis.at * bend)

    @cached_property
    def weights(self) -> Float:
        """Weight of each cell's share of events in each fitted value, (C, C); rows sum to one."""
        rows = self.cells.rows
        mass, mean, spread, lean, at = (part[:, None] for part in self._basis(rows))
        flat, slope, square = self.kernels
        together = slope - mean * flat
        bend = square - 2.0 * mean * slope + mean**2 * flat - lean * together - spread * flat
        return np.asarray(rows / mass * (flat - mean * together / spread + at * bend))

    def _basis(self, rows: Float | Int) -> _Basis:
        parts = (*self.kernels, *self.higher)
        rows = rows.astype(np.float64)
        sums = [rows @ part.T for part in parts]
        mass = np.where(sums[0] > 0.0, sums[0], 1.0)
        mean, second, third, fourth = (part / mass for part in sums[1:])
        spread = np.maximum(second - mean**2, LEAST_SPREAD)
        skew = third - 3.0 * mean * second + 2.0 * mean**3
        heavy = fourth - 4.0 * mean * third + 6.0 * mean**2 * second - 3.0 * mean**4
        lean = skew / spread
        bend = heavy - lean * skew - spread**2  # mean square of the parabola
        holds = (bend > LEAST_BEND * spread**2) & (spread > LEAST_SPREAD)
        value = mean**2 + lean * mean - spread
        at = np.divide(value, bend, out=np.zeros_like(value), where=holds)
        return _Basis(mass, mean, spread, lean, at)


SMOOTHERS: Final[dict[str, type[Lowess]]] = {kind.name: kind for kind in (Lowess, Loess)}
