"""What the focal calibration map has to do with temperature: bounds and closest T; scipy."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from core.arrays import Float, log_softmax, softmax
from core.calibrators.focal_map import binary_focal_map, log_focal_map
from core.errors import UsageError

INVERSE_T = (0.02, 50.0)  # where the closest 1 / T is looked for
COARSE = 11  # values of it looked at first
REACH = np.linspace(0.005, 20.0, 4000)  # logits over which the tightest bounds hold


@dataclass(frozen=True)
class ClosestTemperature:
    """The temperature that comes closest to the map.

    Attributes
    ----------
    temperature : float
        Minimiser of the largest difference of probabilities.
    residual : float
        That difference, in [0, 1].
    """

    temperature: float
    residual: float


def temperature_bounds(gamma: float) -> tuple[float, float]:
    """Return the temperatures between which the binary focal calibration map lies.

    Parameters
    ----------
    gamma : float
        Above 0.

    Returns
    -------
    sharp, soft : float
        1 / (gamma + 1) and 1 / (gamma + 1 - log(gamma + 1) / 2).

    Notes
    -----
    For a logit s > 0: sigmoid(s / soft) < map(s) < sigmoid(s / sharp), reversed for s < 0, equal
    at 0. Komisarenko and Kull 2024 print proposition 3 with exponents -s / (gamma + 1), which
    holds for no gamma > 0; their abstract has it the right way round.
    """
    if not (np.isfinite(gamma) and gamma > 0.0):
        raise UsageError("SETTING", f"Gamma is {gamma}", "give a number above 0")
    return 1.0 / (gamma + 1.0), 1.0 / (gamma + 1.0 - 0.5 * float(np.log1p(gamma)))


def tightest_bounds(gamma: float) -> tuple[float, float]:
    """Return the closest temperatures that bound the binary map over logits up to 20.

    Parameters
    ----------
    gamma : float
        Above 0.

    Returns
    -------
    sharp, soft : float
        As of `temperature_bounds`, whose distance is larger: found on a grid, not proved.
    """
    ratio = binary_focal_map(REACH, gamma) / REACH
    return 1.0 / float(ratio.max()), 1.0 / float(ratio.min())


def closest_temperature(logits: Float, gamma: float) -> ClosestTemperature:
    """Return the temperature that is closest to the focal calibration map over some rows.

    Parameters
    ----------
    logits : (N, K) float64
        The rows over which the largest difference of any probability is taken.
    gamma : float
        Above -1.
    """
    log_q = log_softmax(logits)
    mapped = np.exp(log_focal_map(log_q, gamma))

    def residual(log_inverse: float) -> float:
        return float(np.abs(softmax(np.exp(log_inverse) * log_q) - mapped).max())

    # The residual falls and rises once, with kinks: a coarse look, then a search between.
    coarse = np.linspace(np.log(INVERSE_T[0]), np.log(INVERSE_T[1]), COARSE)
    best = int(np.argmin([residual(value) for value in coarse]))
    low, high = coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)]
    optimum = minimize_scalar(
        residual, bounds=(low, high), method="bounded", options={"xatol": 1e-10}
    )
    return ClosestTemperature(float(np.exp(-optimum.x)), float(optimum.fun))


def logit_grid(n_classes: int, *, spread: float = 10.0, step: float = 0.1) -> Float:
    """Return every row of logits on a grid up to a common shift and the order of classes.

    Parameters
    ----------
    n_classes : int
        K; the number of rows grows with the power K - 1, so meant for two to four.
    spread : float
        The largest and the smallest logit of a row differ by at most this.
    step : float
        Distance of the grid.

    Returns
    -------
    (N, K) float64
        Each row descending, its last logit 0.
    """
    axis = np.arange(round(spread / step) + 1) * step
    free = np.meshgrid(*[axis] * (n_classes - 1), indexing="ij")
    rows = np.stack([*(part.ravel() for part in free), np.zeros(free[0].size)], axis=1)
    return np.asarray(rows[(np.diff(rows, axis=1) <= 0.0).all(axis=1)])


def line_fit(gammas: Float, temperatures: Float) -> tuple[float, float]:
    """Return slope and intercept of 1 / T against gamma by least squares."""
    slope, intercept = np.polyfit(gammas, 1.0 / temperatures, 1)
    return float(slope), float(intercept)
