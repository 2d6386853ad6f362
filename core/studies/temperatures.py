"""Temperature against gamma on the rows that are fitted on, or on some of many."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from core.arrays import Float, Int
from core.calibrators import landscape as maps
from core.predictions import Predictions, Task
from core.studies.posthoc import logits_of

MAP_CELLS: Final = 50_000  # scores that a map is computed from; about half a second
MAP_ROWS: Final = 1_000  # at least, where they are there: then on a coarser grid


@dataclass(frozen=True)
class TemperatureMap:
    """A landscape, the rows it was computed on, and the rows there are."""

    landscape: maps.Landscape
    used: int
    rows: int


@dataclass(frozen=True)
class TemperatureMaps:
    """What is drawn of temperature and gamma; `curve` is the best temperature of each of GAMMAS."""

    landscape: TemperatureMap
    curve: Float


def temperature_map(rows: Predictions, objective: str, label: int = 0) -> TemperatureMap:
    """Return the criterion over gamma and temperature, on some rows where there are many.

    Parameters
    ----------
    rows : Predictions
        What is fitted on.
    objective : str
        As of `core.calibrators.landscape.landscape`.
    label : int
        Of many labels, the one that is shown.

    Raises
    ------
    Refused
        As of a fit.
    """
    logits, labels, weights = _some(rows, label)
    step = 1 if logits.size <= MAP_CELLS else 2
    grid = maps.landscape(
        logits,
        labels,
        weights=weights,
        objective=objective,
        gammas=maps.GAMMAS[step - 1 :: step],  # with 0 either way
        temperatures=maps.TEMPERATURES[::step],
    )
    return TemperatureMap(grid, len(labels), rows.n)


def temperature_curve(rows: Predictions, objective: str, label: int = 0) -> Float:
    """Return the best temperature for each of GAMMAS, on the rows of `temperature_map`."""
    logits, labels, weights = _some(rows, label)
    return maps.temperature_curve(logits, labels, weights=weights, objective=objective)


def _some(rows: Predictions, label: int) -> tuple[npt.NDArray[np.floating], Int, Float | None]:
    """Return logits, labels and weights of some rows, drawn at random where many count."""
    weights = rows.extents.weights
    row_numbers = np.arange(rows.n) if weights is None else np.flatnonzero(weights)
    n = min(row_numbers.size, max(MAP_ROWS, MAP_CELLS // rows.n_classes))
    at = row_numbers[np.sort(np.random.default_rng(0).permutation(row_numbers.size)[:n])]
    own = None if weights is None else weights[at]
    logits = logits_of(rows)
    if rows.task is Task.MULTILABEL:
        return logits[at, label], rows.labels[at, label], own
    return logits[at], rows.labels[at], own
