"""What a fit minimises: NLL or a calibration error of the winner's confidence; numpy only."""

from collections.abc import Callable, Sequence

import numpy as np

from core.arrays import Float, Int
from core.calibrators.margins import Margins
from core.calibrators.weighing import mean
from core.errors import UsageError
from core.metrics.ranked import Ranked
from core.metrics.top_label import ada_ece, ece, ece_em
from core.predictions import Outcomes

ERRORS: dict[str, Callable[[Ranked], float]] = {"ece": ece, "ece_em": ece_em, "ada_ece": ada_ece}
OBJECTIVES = ("nll", *ERRORS)


def check_choice(kind: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse an option that is not on the list."""
    if value not in allowed:
        raise UsageError("SETTING", f"{kind} is {value!r}", f"use {', '.join(allowed)}")


def scores(margins: Margins, objective: str, temperature: float, gammas: Sequence[float]) -> Float:
    """Return the objective after temperature, then the focal map, for each gamma, (G,) float64."""
    if objective == "nll":
        return margins.nll(temperature, gammas)
    return np.array(
        [
            calibration_error(confidence, margins, objective)
            for confidence in margins.confidences(temperature, gammas)
        ]
    )


def calibration_error(confidence: Float, margins: Margins, objective: str) -> float:
    """Return ece, ece_em or ada_ece, 15 bins, of the winner's confidence."""
    return ERRORS[objective](margins.ranked(confidence))


def objective_of(log_p: Float, labels: Int, objective: str, weights: Float | None = None) -> float:
    """Return the objective of log-probabilities, (N, K), against labels; may be inf."""
    if objective == "nll":
        return 0.0 - mean(log_p[np.arange(labels.size), labels], weights)  # 0.0 - 0.0 is not -0.0
    winner = log_p.argmax(axis=1)
    confidence = np.minimum(np.exp(log_p[np.arange(labels.size), winner]), 1.0)
    return ERRORS[objective](Ranked.of(Outcomes(confidence, winner == labels, weights=weights)))
