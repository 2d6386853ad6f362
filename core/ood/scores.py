"""Scores that say how far out of distribution a row looks; numpy only.

Every score here is higher for a row that looks more out-of-distribution, whatever its usual sign.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.arrays import Float, empty, row_chunks
from core.codes import RefusalCode
from core.errors import Refused, UsageError
from core.predictions import Predictions, ScoreKind, Task

DEFAULT = "entropy"


@dataclass(frozen=True)
class OodScore:
    """One way to score a row."""

    label: str  # printed name
    axis: str  # what the number is, with its unit
    plain: str  # what it means, in one sentence without jargon
    source: str  # where the definition comes from


SCORES = {
    "entropy": OodScore(
        "Entropy",
        "Entropy of the answer, nats",
        "How the answer is spread over the classes: 0 where one class takes all of it.",
        "Mukhoti et al. 2020, Ghosh et al. 2022: entropy of the softmax",
    ),
    "msp": OodScore(
        "Max probability",
        "1 minus the largest probability",
        "The probability left for all other classes together.",
        "Hendrycks and Gimpel 2017: maximum softmax probability",
    ),
    "max_logit": OodScore(
        "Max logit",
        "Largest logit, negated",
        "How little even the strongest class responds, before anything is made a share of 100.",
        "Hendrycks et al. 2022: maximum logit",
    ),
    "energy": OodScore(
        "Energy",
        "Energy, \u2212T log sum exp(z / T)",
        "How little all classes together respond, before anything is made a share of 100.",
        "Liu et al. 2020: energy score",
    ),
}
NEEDS_LOGITS = "needs the logits of every class"
NEEDS_CLASSES = "needs the scores of every class"
MANY_LABELS = "a multi-label file has no single answer"


def unavailable(predictions: Predictions) -> dict[str, str]:
    """Return the scores that cannot be had from these rows, and why."""
    if predictions.task is Task.MULTILABEL:
        return dict.fromkeys(SCORES, MANY_LABELS)
    if predictions.task is Task.TOP_LABEL:
        return {key: NEEDS_CLASSES for key in SCORES if key != "msp"}
    if predictions.kind is ScoreKind.LOGITS and predictions.scores.ndim == 2:
        return {}
    return dict.fromkeys(("max_logit", "energy"), NEEDS_LOGITS)


def ood_scores(predictions: Predictions, key: str, temperature: float = 1.0) -> Float:
    """Return the score of each row.

    Parameters
    ----------
    predictions : Predictions
        N rows, labelled or not.
    key : str
        Of `SCORES`.
    temperature : float
        The logits are divided by it first; probabilities stand for their logarithms.

    Returns
    -------
    (N,) float64
        Higher is more out-of-distribution.

    Raises
    ------
    UsageError
        SETTING: there is no such score, the temperature is not above 0, or the file states
        confidences alone, which no temperature can change.
    Refused
        OOD_SCORE: these rows do not support the score.

    Notes
    -----
    Entropy and 1 - p of the answer are summed from the small parts, so that they tell rows apart
    whose largest probability rounds to 1.

    Examples
    --------
    Two rows with the gap 40: adding 10 to every logit lowers the energy and not the others, and
    1 - p, e^-40, does not round to 0.

    >>> z = np.array([[0.0, 40.0], [10.0, 50.0]])
    >>> rows = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, z, np.array([0, 1]))
    >>> ood_scores(rows, "energy").round(6).tolist(), ood_scores(rows, "msp") / np.exp(-40.0)
    ([-40.0, -50.0], array([1., 1.]))

    Two equal logits have the entropy log 2:

    >>> even = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, np.ones((1, 2)), np.array([0]))
    >>> round(float(ood_scores(even, "entropy")[0]), 4), round(float(np.log(2.0)), 4)
    (0.6931, 0.6931)
    """
    if key not in SCORES:
        raise UsageError(
            RefusalCode.SETTING, f"There is no score {key!r}", f"use one of {', '.join(SCORES)}"
        )
    if not (np.isfinite(temperature) and temperature > 0.0):
        raise UsageError(
            RefusalCode.SETTING, f"The temperature is {temperature:g}", "use one above 0"
        )
    why = unavailable(predictions).get(key)
    if why:
        remedy = "use another score, or a file with the logits of every class"
        raise Refused(RefusalCode.OOD_SCORE, f"{SCORES[key].label}: {why}", remedy)
    # A confidence alone: 1 - p is all there is, and no temperature can be undone from it.
    if predictions.task is Task.TOP_LABEL:
        if temperature != 1.0:
            what = "A temperature changes class scores, and the file states confidences alone"
            raise UsageError(RefusalCode.SETTING, what, "leave the temperature out")
        return np.asarray(1.0 - predictions.scores.astype(np.float64))
    out = np.empty(predictions.n)
    # By blocks of rows: the float64 gaps and powers of a large
    # file would be several times its size.
    for rows in row_chunks(predictions.n, predictions.n_classes):
        out[rows] = _block(_log_scores(predictions, rows), key, temperature)
    return out


def _log_scores(predictions: Predictions, rows: slice) -> npt.NDArray[np.floating]:
    """Return logits of some rows, or what stands for them: logarithms of the probabilities."""
    if predictions.kind is ScoreKind.LOGITS and predictions.scores.ndim == 2:
        return predictions.scores[rows]
    return predictions.log_probabilities(rows)


def _block(logits: npt.NDArray[np.floating], key: str, temperature: float) -> Float:
    """Return the score of some rows."""
    at, best = np.arange(len(logits)), logits.argmax(axis=1)
    top = logits[at, best].astype(np.float64)
    if key == "max_logit":
        return np.asarray(-top / temperature)
    gaps: Float = np.subtract(logits, top[:, None], dtype=np.float64)
    gaps /= temperature
    powers = np.exp(gaps)
    # The answer's own power is exactly 1 and left out, so that 1 - p is a sum of small numbers.
    powers[at, best] = 0.0
    rest = powers.sum(axis=1)
    if key == "energy":
        return np.asarray(-top - temperature * np.log1p(rest))
    if key == "msp":
        return np.asarray(rest / (1.0 + rest))
    np.maximum(gaps, np.finfo(np.float64).min, out=gaps)  # where p = 0, 0 log 0 is 0
    spread = -np.einsum("ij,ij->i", powers, gaps)
    # H = log(1 + rest) + mean gap: no p log p, hence no 0 log 0
    # and no difference of near-equal terms.
    return np.asarray(np.log1p(rest) + spread / (1.0 + rest))


def temperature_scaled(predictions: Predictions, temperature: float) -> Predictions:
    """Return the rows with their logits divided by a temperature; 1 returns them as they are."""
    if temperature == 1.0:
        return predictions
    logits = empty((predictions.n, predictions.n_classes))
    for rows in row_chunks(predictions.n, predictions.n_classes):
        logits[rows] = _log_scores(predictions, rows)
        logits[rows] /= temperature
    return replace(
        predictions,
        task=Task.MULTICLASS,
        kind=ScoreKind.LOGITS,
        scores=logits,
        renormalise=False,
        members=None,
    )
