"""Rows that count by weight: which of them a fit sees, and sums over them; numpy only.

Without weights nothing is multiplied, so that every sum keeps its bits.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from core.arrays import Counts, Float, Int
from core.errors import Refused, UsageError
from core.metrics.ranked import SortedOutcomes
from core.metrics.top_label import ada_ece, ece, ece_em
from core.predictions import Outcomes, Weights

Logits = npt.NDArray[np.floating]


def counted(logits: Logits, labels: Int, weights: Float | None) -> tuple[Logits, Int, Float | None]:
    """Return the rows that count, and how many rows each stands for.

    Parameters
    ----------
    logits : (N, ...) array of float
        The rows.
    labels : (N, ...) array of int
        Their answers.
    weights : (N,) float64, optional
        As of `core.predictions.Weights.of`.

    Returns
    -------
    logits, labels, weights
        Without the rows of weight 0; no weights where every row counts once.

    Raises
    ------
    Refused
        LENGTH_MISMATCH; WEIGHTS: a weight is negative, missing or infinite, or all are 0.
    """
    if weights is None:
        return logits, labels, None
    if not logits.shape[:1] == labels.shape[:1] == weights.shape:
        what = f"{logits.shape[:1]} rows of logits, weights {weights.shape}"
        raise Refused("LENGTH_MISMATCH", what, "give one weight per row")
    own = Weights.of("weights", weights).of_row
    if not own.all():
        kept = np.flatnonzero(own)
        logits, labels, own = logits[kept], labels[kept], own[kept]
    return logits, labels, None if (own == 1.0).all() else own


def weighed(values: Counts, weights: Float | None) -> Counts:
    """Return values, (..., N), times the weights of their rows."""
    return values if weights is None else values * weights


def total_of(n: int, weights: Float | None) -> float:
    """Return how many rows N rows stand for."""
    return n if weights is None else float(weights.sum())


def mean(values: Counts, weights: Float | None) -> float:
    """Return the mean of values, (N,), over the rows that they stand for."""
    return float(np.average(values, weights=weights))


ERRORS: dict[str, Callable[[SortedOutcomes], float]] = {
    "ece": ece,
    "ece_em": ece_em,
    "ada_ece": ada_ece,
}
OBJECTIVES = ("nll", *ERRORS)


def check_choice(kind: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse an option that is not on the list."""
    if value not in allowed:
        raise UsageError("SETTING", f"{kind} is {value!r}", f"use {', '.join(allowed)}")


def objective_of(log_p: Float, labels: Int, objective: str, weights: Float | None = None) -> float:
    """Return the objective of log-probabilities, (N, K), against labels; may be inf."""
    if objective == "nll":
        return 0.0 - mean(log_p[np.arange(labels.size), labels], weights)  # 0.0 - 0.0 is not -0.0
    winner = log_p.argmax(axis=1)
    confidence = np.minimum(np.exp(log_p[np.arange(labels.size), winner]), 1.0)
    return ERRORS[objective](
        SortedOutcomes.of(Outcomes(confidence, winner == labels, weights=weights))
    )
