"""Beta calibration, class by class; numpy and scipy."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from core.arrays import Bool, Float, log_sigmoid, sigmoid
from core.calibrators.one_vs_rest import OneVsRest

LARGEST = 100.0  # of every coefficient
STEPS = 500


@dataclass
class Beta(OneVsRest):
    """sigmoid(a log p - b log(1 - p) + c) with a, b >= 0, for each class.

    Notes
    -----
    Convex, from the identity a = b = 1, c = 0. A class that occurs in no fitting row, or in all,
    keeps the identity. For two classes the NLL never rises; for more, dividing by the sums may
    raise it.
    """

    name = "beta"
    label = "Beta calibration"
    source = "Kull et al. 2017"
    stored = {"a": 1, "b": 1, "c": 1}  # noqa: RUF012 (typed in the base class)

    def _fit_columns(self, log_p: Float, log_u: Float, present: Bool) -> str:
        found = np.tile([1.0, 1.0, 0.0], (len(log_p), 1))
        for row, p, u, y in zip(found, log_p, log_u, present, strict=True):
            if 0 < np.count_nonzero(y) < y.size:
                row[:] = _coefficients(p, u, y)
        self.a_, self.b_, self.c_ = found.T.copy()
        ends = int(np.count_nonzero(np.abs(found) >= LARGEST))
        return f"{ends} coefficients stand at {LARGEST:g}" if ends else ""

    def _map_columns(self, log_p: Float, log_u: Float) -> Float:
        a, b, c = (one[:, None] for one in (self.a_, self.b_, self.c_))
        return sigmoid(a * log_p - b * log_u + c)

    def _is_sound(self) -> bool:
        same = self.a_.shape == self.b_.shape == self.c_.shape
        return bool(same and self.a_.min() >= 0.0 and self.b_.min() >= 0.0)

    def _n_maps(self) -> int:
        return int(self.a_.size)


def _coefficients(log_p: Float, log_u: Float, present: Bool) -> Float:
    """Return a, b, c of one class."""
    features = np.stack([log_p, -log_u, np.ones_like(log_p)])
    sign = np.where(present, 1.0, -1.0)

    def objective(x: Float) -> tuple[float, Float]:
        margin = sign * (x @ features)
        slope = -sign * sigmoid(-margin)
        return -float(log_sigmoid(margin).mean()), features @ slope / sign.size

    start = np.array([1.0, 1.0, 0.0])
    found = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, LARGEST), (0.0, LARGEST), (-LARGEST, LARGEST)],
        options={"maxiter": STEPS, "ftol": 1e-14, "gtol": 1e-9},
    )
    return found.x if found.fun <= objective(start)[0] else start
