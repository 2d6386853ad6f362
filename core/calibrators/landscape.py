"""The validation criterion over gamma and temperature, for a heat map; numpy only."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.arrays import Float, Int
from core.calibrators.base import as_columns, checked_labels
from core.calibrators.margins import OBJECTIVES, LogitMargins, check_choice, counted
from core.calibrators.search import SearchPoint, best_of_each, scan
from core.errors import UsageError

GAMMAS = tuple(k / 4 for k in range(-3, 21))  # -0.75 .. 5
TEMPERATURES = tuple(float(t) for t in np.round(np.geomspace(0.2, 10.0, 60), 4))
TRACE = tuple(float(t) for t in np.round(np.geomspace(0.05, 20.0, 600), 5))


@dataclass(frozen=True)
class Landscape:
    """The objective on a grid.

    Attributes
    ----------
    objective : str
        nll, ece, ece_em or ada_ece.
    gammas, temperatures : (G,), (M,) float64
        Ascending.
    values : (G, M) float64
        The objective; lower is better.
    ridge : (G,) float64
        For each gamma the temperature with the lowest value.
    """

    objective: str
    gammas: Float
    temperatures: Float
    values: Float

    @property
    def best(self) -> SearchPoint:
        """The lowest point of the grid; the first where several tie."""
        row, column = np.unravel_index(int(self.values.argmin()), self.values.shape)
        return SearchPoint(
            float(self.values[row, column]),
            float(self.gammas[row]),
            float(self.temperatures[column]),
        )

    @property
    def ridge(self) -> Float:
        """Temperature with the lowest value for each gamma: the paper's near-linear ridge."""
        return np.asarray(self.temperatures[self.values.argmin(axis=1)])


def landscape(
    logits: npt.NDArray[np.floating],
    labels: Int,
    *,
    weights: Float | None = None,
    objective: str = "nll",
    gammas: tuple[float, ...] = GAMMAS,
    temperatures: tuple[float, ...] = TEMPERATURES,
) -> Landscape:
    """Return the objective of focal temperature scaling at every (gamma, T).

    Parameters
    ----------
    logits : (N, K) or (N,) array of float
        Of the split that calibrators are fitted on.
    labels : (N,) array of int
        In 0..K-1.
    weights : (N,) float64, optional
        How many rows each stands for, as for a fit.
    objective : str
        nll, or the winner's ece, ece_em or ada_ece with 15 bins.
    gammas, temperatures : tuples of float
        Above -1 and above 0; time grows with their product, N and K.

    Raises
    ------
    Refused, UsageError
        As for a fit; SETTING for points outside their range.
    """
    check_choice("objective", objective, OBJECTIVES)
    _check_points(gammas, temperatures)
    margins = _margins(logits, labels, weights)
    values = scan(margins, objective, gammas, temperatures)
    return Landscape(objective, np.array(gammas), np.array(temperatures), values)


def temperature_curve(
    logits: npt.NDArray[np.floating],
    labels: Int,
    *,
    weights: Float | None = None,
    objective: str = "nll",
    gammas: tuple[float, ...] = GAMMAS,
) -> Float:
    """Return the best temperature for each gamma, (G,) float64, among 600 in 0.05..20.

    The curve of Komisarenko and Kull 2024, figure 8.
    """
    check_choice("objective", objective, OBJECTIVES)
    _check_points(gammas, TRACE)
    margins = _margins(logits, labels, weights)
    points = best_of_each(margins, objective, gammas, TRACE)
    return np.array([point.temperature for point in points])


def _margins(logits: npt.NDArray[np.floating], labels: Int, weights: Float | None) -> LogitMargins:
    rows, answers, of_rows = counted(logits, labels, weights)
    z = as_columns(rows)
    return LogitMargins.of(z, checked_labels(answers, z), of_rows)


def _check_points(gammas: tuple[float, ...], temperatures: tuple[float, ...]) -> None:
    if not gammas or not all(np.isfinite(g) and g > -1.0 for g in gammas):
        raise UsageError("SETTING", "A gamma is not above -1", "give finite numbers above -1")
    if not temperatures or not all(np.isfinite(t) and t > 0.0 for t in temperatures):
        raise UsageError("SETTING", "A temperature is not above 0", "give finite numbers above 0")
