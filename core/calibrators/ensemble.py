"""Ensemble temperature scaling: a mixture of three calibrated softmaxes; numpy and scipy."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import LinearConstraint, minimize
from scipy.special import logsumexp

from core.arrays import Float, Int, log_softmax
from core.calibrators.base import Calibrator, FitDetails, Words
from core.calibrators.search import grid_zoom
from core.calibrators.temperature import TEMPERATURES, at_end, lies_within, nll_temperature
from core.calibrators.weighing import mean, total_of

BRIER_TEMPERATURES = (0.05, 5.0)  # range of the released code, which always fits Brier
COARSE = 41
LOG_LARGE = 700.0


ENSEMBLE = """\
    t, (a, b, c) = p
    sharp, plain = softmax([x / t for x in z]), softmax(z)
    return [a * x + b * y + c / len(z) for x, y in zip(sharp, plain)]
"""


@dataclass
class Ensemble(Calibrator):
    """w0 softmax(z / T) + w1 softmax(z) + w2 / K, weights at least 0 that sum to one.

    Parameters
    ----------
    objective : str
        nll, or brier (the released code always fits Brier, T within [0.05, 5]).

    Notes
    -----
    T first, then the weights, in which both objectives are convex.
    """

    objective: str = "nll"

    name = "ets"
    label = "Ensemble temperature scaling"
    keeps_accuracy = True
    improves_nll = True
    source = "Zhang et al. 2020 (Mix-n-Match)"
    stored = {"temperature": 0, "weights": 1}  # noqa: RUF012 (typed in the base class)
    choices = {"objective": ("nll", "brier")}  # noqa: RUF012 (typed in the base class)
    words = Words(
        "Ensemble",
        "A mixture of the scaled scores, the scores as read, and equal shares.",
    )
    marks = {"temperature": "T"}  # noqa: RUF012 (typed in the base class)
    program = ENSEMBLE

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        if self.objective == "nll":
            self.temperature_, before, _ = nll_temperature(logits, labels, weights)
            bounds = TEMPERATURES
            parts = self._parts(logits)[:, np.arange(labels.size), labels]
            self.weights_, after = _nll_weights(parts, weights)
        else:
            self.temperature_ = _brier_temperature(logits, labels, weights)
            bounds = BRIER_TEMPERATURES
            before = _brier(log_softmax(logits), labels, weights)
            self.weights_, after = _brier_weights(np.exp(self._parts(logits)), labels, weights)
        return FitDetails(self.objective, before, after, at_end(self.temperature_, bounds))

    def _parts(self, logits: npt.NDArray[np.floating]) -> Float:
        """Return log-probabilities of the three parts, (3, N, K)."""
        tempered = log_softmax(np.divide(logits, self.temperature_, dtype=np.float64))
        uniform = np.full_like(tempered, -np.log(logits.shape[1]))
        return np.stack([tempered, log_softmax(logits), uniform])

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        parts = self._parts(logits)
        return np.asarray(logsumexp(parts, axis=0, b=self.weights_[:, None, None]))

    def _is_sound(self) -> bool:
        weights = self.weights_
        sums = weights.shape == (3,) and abs(weights.sum() - 1.0) < 1e-6 and weights.min() >= 0.0
        return bool(sums and lies_within(self.temperature_, TEMPERATURES))


def _nll_weights(log_parts: Float, of_rows: Float | None) -> tuple[Float, float]:
    """Return the weights that minimise the NLL of the true class's parts, (3, N)."""

    def objective(weights: Float) -> tuple[float, Float]:
        log_mix = logsumexp(log_parts, axis=0, b=np.maximum(weights, 1e-300)[:, None])
        ratio = np.exp(np.minimum(log_parts - log_mix, LOG_LARGE))
        return -mean(log_mix, of_rows), -np.average(ratio, axis=1, weights=of_rows)

    return _on_simplex(objective)


def _brier_weights(parts: Float, labels: Int, of_rows: Float | None) -> tuple[Float, float]:
    """Return the weights that minimise the Brier score of parts, (3, N, K)."""
    n = labels.size
    own = parts if of_rows is None else parts * of_rows[:, None]
    gram = np.einsum("ink,jnk->ij", own, parts) / total_of(n, of_rows)
    hit = np.average(parts[:, np.arange(n), labels], axis=1, weights=of_rows)

    def objective(weights: Float) -> tuple[float, Float]:
        value = weights @ gram @ weights - 2.0 * weights @ hit + 1.0
        return float(value), 2.0 * (gram @ weights - hit)

    return _on_simplex(objective)


def _on_simplex(objective: Callable[[Float], tuple[float, Float]]) -> tuple[Float, float]:
    """Minimise over weights >= 0 that sum to one; never worse than temperature alone."""
    optimum = minimize(
        objective,
        np.full(3, 1.0 / 3.0),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 3,
        constraints=LinearConstraint(np.ones((1, 3)), 1.0, 1.0),
        options={"ftol": 1e-14, "maxiter": 500},
    )
    weights = np.clip(optimum.x, 0.0, 1.0)
    choices = [weights / weights.sum(), *np.eye(3)[:2]]
    values = [objective(choice)[0] for choice in choices]
    best = int(np.argmin(values))
    return choices[best], values[best]


def _brier(log_p: Float, labels: Int, of_rows: Float | None) -> float:
    """Return the mean over rows of the sum over classes of (p - onehot)^2."""
    p = np.exp(log_p)
    rows = (p * p).sum(axis=1) - 2.0 * p[np.arange(labels.size), labels] + 1.0
    return mean(rows, of_rows)


def _brier_temperature(
    logits: npt.NDArray[np.floating], labels: Int, of_rows: Float | None
) -> float:
    """Return the temperature with the smallest Brier score."""

    def values(log_temperatures: Float) -> Float:
        wide = logits.astype(np.float64)
        scaled = (log_softmax(wide / t) for t in np.exp(log_temperatures))
        return np.array([_brier(log_p, labels, of_rows) for log_p in scaled])

    low, high = np.log(BRIER_TEMPERATURES)
    coarse = np.linspace(low, high, COARSE)
    at = int(values(coarse).argmin())
    ends = coarse[max(at - 1, 0)], coarse[min(at + 1, COARSE - 1)]
    return float(np.exp(grid_zoom(values, *ends, rounds=6)[0]))
