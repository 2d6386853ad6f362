"""Temperature against gamma on the rows that are fitted on, or on some of many."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from core.arrays import Float, Int
from core.calibrators import landscape as maps
from core.predictions import Task
from core.studies.posthoc import PosthocRows, logits_of

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


def temperature_map(rows: PosthocRows, objective: str, label: int = 0) -> TemperatureMap:
    """Return the criterion over gamma and temperature, on some rows where there are many.

    Parameters
    ----------
    rows : PosthocRows
        Of those that are fitted on.
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
    return TemperatureMap(grid, len(labels), rows.n_fit)


def temperature_curve(rows: PosthocRows, objective: str, label: int = 0) -> Float:
    """Return the best temperature for each of GAMMAS, on the rows of `temperature_map`."""
    logits, labels, weights = _some(rows, label)
    return maps.temperature_curve(logits, labels, weights=weights, objective=objective)


def _some(rows: PosthocRows, label: int) -> tuple[npt.NDArray[np.floating], Int, Float | None]:
    """Return logits, labels and weights of some fitting rows, drawn at random where many count."""
    weights = rows.fit_weights
    row_numbers = np.arange(rows.n_fit) if weights is None else np.flatnonzero(weights)
    if rows.fit_from.task is Task.MULTILABEL:
        at = row_numbers if rows.numbers is None else rows.numbers[0][row_numbers]
        row_numbers = row_numbers[rows.fit_from.labels[at, label] >= 0]
    n = min(row_numbers.size, max(MAP_ROWS, MAP_CELLS // rows.fit_from.n_classes))
    at = row_numbers[np.sort(np.random.default_rng(0).permutation(row_numbers.size)[:n])]
    some = rows.some_fit(at)
    own = None if weights is None else weights[at]
    logits = logits_of(some)
    if some.task is Task.MULTILABEL:
        return logits[:, label], some.labels[:, label], own
    return logits, some.labels, own
