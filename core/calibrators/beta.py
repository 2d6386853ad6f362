"""Beta calibration, class by class; numpy and scipy."""

from dataclasses import dataclass

import numpy as np

from core.arrays import Bool, Float, log_sigmoid, sigmoid
from core.calibrators.base import FitDetails, Words
from core.calibrators.descent import descend
from core.calibrators.one_vs_rest import ONE_VS_REST_END, MappedClasses, OneVsRest
from core.calibrators.weighing import mean, total_of, weighed

LARGEST = 100.0  # of every coefficient
BOUNDS = ((0.0, LARGEST), (0.0, LARGEST), (-LARGEST, LARGEST))
IDENTITY = (1.0, 1.0, 0.0)
STEPS = 500


# The gap is a class's logit less the log-sum-exp of the others; of the largest class, whose others
# would be lost in rounding, they are summed without it.
BETA = (
    """\
    q, i = [], z.index(max(z))
    e, rest = [math.exp(v - z[i]) for v in z], z[:i] + z[i + 1:]
    total, top = sum(e), max(rest)
    lead = z[i] - top - math.log(sum(math.exp(v - top) for v in rest))
    for k, (a, b, c) in enumerate(p, start=len(z) - len(p)):
        gap = lead if k == i else z[k] - z[i] - math.log(total - e[k])
        low = math.log1p(math.exp(-abs(gap)))
        s = a * (min(gap, 0.0) - low) + b * (max(gap, 0.0) + low) + c
        q.append(softmax([0.0, s])[1])
"""
    + ONE_VS_REST_END
)


@dataclass
class Beta(OneVsRest):
    """sigmoid(a log p - b log(1 - p) + c) with a, b in [0, 100], for each class.

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
    words = Words(
        "Beta",
        "A curve of three numbers for each class.",
        stated="A curve of three numbers over the {stated}.",
    )
    program = BETA

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read."""
        return tuple(np.stack([self.a_, self.b_, self.c_], axis=1).tolist())

    def _fit_columns(
        self, columns: MappedClasses, present: Bool, weights: Float | None
    ) -> FitDetails:
        coefficients = np.tile(IDENTITY, (len(present), 1))
        messages = set()
        for row, p, u, y in zip(coefficients, *columns.logs, present, strict=True):
            if 0 < np.count_nonzero(y) < y.size:
                row[:], message = _coefficients(p, u, y, weights)
                messages.add(message)
        self.a_, self.b_, self.c_ = coefficients.T.copy()
        low, high = np.array(BOUNDS).T
        at_bound = bool(((coefficients == low) | (coefficients == high)).any())
        return FitDetails(at_bound=at_bound, message="; ".join(sorted(messages - {""})))

    def _map_columns(self, columns: MappedClasses) -> Float:
        a, b, c = (coefficient[:, None] for coefficient in (self.a_, self.b_, self.c_))
        log_p, log_u = columns.logs
        return sigmoid(a * log_p - b * log_u + c)

    def _maps_are_sound(self) -> bool:
        if not self.a_.shape == self.b_.shape == self.c_.shape:
            return False
        low, high = np.array(BOUNDS).T
        coefficients = np.stack([self.a_, self.b_, self.c_], axis=1)
        return bool(((coefficients >= low) & (coefficients <= high)).all())

    @property
    def n_maps(self) -> int:
        """Number of maps fitted."""
        return int(self.a_.size)


def _coefficients(
    log_p: Float, log_u: Float, present: Bool, weights: Float | None
) -> tuple[Float, str]:
    """Return a, b, c of one class, and what to say of the search."""
    features = np.stack([log_p, -log_u, np.ones_like(log_p)])
    sign = np.where(present, 1.0, -1.0)
    total = total_of(sign.size, weights)

    def objective(x: Float) -> tuple[float, Float]:
        margin = sign * (x @ features)
        slope = -sign * sigmoid(-margin)
        return -mean(log_sigmoid(margin), weights), features @ weighed(slope, weights) / total

    best, _, message = descend(objective, np.array(IDENTITY), steps=STEPS, bounds=BOUNDS)
    return best, message
