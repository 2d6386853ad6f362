"""Proper scores over all classes, as means over rows; numpy."""

import numpy as np

from core.arrays import Float, total
from core.predictions import Predictions, Weights


def mean(values: Float, weights: Weights | None = None) -> float:
    """Return the mean, bit-equal under any order of the rows.

    Examples
    --------
    >>> mean(np.array([2.0, np.inf]), Weights("copies", np.array([1.0, 0.0])))
    2.0
    """
    if weights is None:
        return total(values) / values.size
    counted = weights.of_row > 0.0  # a row of weight 0 adds nothing, were its value infinite
    return total(values[counted] * weights.of_row[counted]) / total(weights.of_row)


def nll_rows(predictions: Predictions, *, clip: float | None = None) -> Float:
    """Return -log p of the true class, (N,) float64 >= 0; inf where p is 0 and nothing clips.

    `predictions`: with full class scores; a one-column binary score speaks for both classes;
    `clip`: probabilities below it are raised to it.

    Examples
    --------
    Log 2 and infinity; clipped at 1/4, log 2 and log 4:

    >>> from core.predictions import ScoreKind, Task
    >>> p = np.array([[0.5, 0.5], [1.0, 0.0]])
    >>> of_two = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.array([0, 1]))
    >>> nll_rows(of_two).round(4).tolist(), nll_rows(of_two, clip=0.25).round(4).tolist()
    ([0.6931, inf], [0.6931, 1.3863])
    """
    logs = predictions.rows.log_p_true
    if clip is not None:
        logs = np.maximum(logs, np.log(clip))
    return np.abs(logs)


def nll(predictions: Predictions, *, clip: float | None = None) -> float:
    """Return the mean negative log-likelihood in nats, in [0, inf]; lower is better.

    From log-softmax, never log(softmax), and unclipped unless `clip` says so.

    Examples
    --------
    >>> from core.predictions import ScoreKind, Task
    >>> p = np.array([[0.5, 0.5], [0.75, 0.25]])
    >>> of_two = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.array([0, 1]))
    >>> round(nll(of_two), 4)  # (ln 2 + ln 4) / 2
    1.0397
    """
    return mean(nll_rows(predictions, clip=clip), predictions.weights)


def brier(predictions: Predictions) -> float:
    """Return the Brier score: sum over classes of (p - onehot)^2, mean over rows, in [0, 2].

    Twice the clinical Brier score for two classes, K times the "mean squared error" variant.

    Examples
    --------
    >>> from core.predictions import ScoreKind, Task
    >>> p = np.array([[0.75, 0.25]])
    >>> of_two = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.array([1]))
    >>> brier(of_two)  # 0.75² + 0.75², twice the clinical (p - y)²
    1.125
    """
    return mean(predictions.rows.brier, predictions.weights)
