"""Proper scores over all classes, as means over rows; numpy."""

import numpy as np

from core.arrays import Float, total
from core.predictions import Predictions, Weights


def mean(values: Float, weights: Weights | None = None) -> float:
    """Return the mean, bit-equal under any order of the rows."""
    if weights is None:
        return total(values) / values.size
    counted = weights.of_row > 0.0  # a row of weight 0 adds nothing, were its value infinite
    return total(values[counted] * weights.of_row[counted]) / total(weights.of_row)


def nll_rows(predictions: Predictions, *, clip: float | None = None) -> Float:
    """Return -log p of the true class, (N,) float64 >= 0; inf where p is 0 and nothing clips.

    `predictions`: with full class scores; a one-column binary score speaks for both classes;
    `clip`: probabilities below it are raised to it.
    """
    logs = predictions.rows.log_p_true
    if clip is not None:
        logs = np.maximum(logs, np.log(clip))
    return np.abs(logs)


def nll(predictions: Predictions, *, clip: float | None = None) -> float:
    """Return the mean negative log-likelihood in nats, in [0, inf]; lower is better.

    From log-softmax, never log(softmax), and unclipped unless `clip` says so.
    """
    return mean(nll_rows(predictions, clip=clip), predictions.weights)


def brier(predictions: Predictions) -> float:
    """Return the Brier score: sum over classes of (p - onehot)^2, mean over rows, in [0, 2].

    Twice the clinical Brier score for two classes, K times the "mean squared error" variant.
    """
    return mean(predictions.rows.brier, predictions.weights)
