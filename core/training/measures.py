"""What is measured on the validation part after each epoch; numpy, float64."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float, log_sigmoid, log_softmax, row_chunks
from core.metrics import top_label
from core.metrics.ranked import Ranked
from core.predictions import Outcomes, Task


@dataclass(frozen=True)
class Answers:
    """What a model says of each row, or with many labels of each label of each row.

    Attributes
    ----------
    confidence : (M,) float64
        Of the answer given.
    correct : (M,) bool
    log_p_true : (M,) float64
        Natural logarithm of the probability of what is true.
    entropy : (M,) float64
        Of the stated probabilities, in nats.
    """

    confidence: Float
    correct: Bool
    log_p_true: Float
    entropy: Float


def answers(
    logits: npt.NDArray[np.floating], targets: npt.NDArray[np.number], task: Task
) -> Answers:
    """Return what logits say; (N, K) with targets (N,), or (N, L) with targets (N, L) of 0/1."""
    if task is Task.MULTILABEL:
        return _label_answers(logits.astype(np.float64).ravel(), targets.ravel() > 0)
    blocks = [
        _class_answers(logits[rows], targets[rows].astype(np.int64))
        for rows in row_chunks(*logits.shape)
    ]
    return Answers(*(np.concatenate(parts) for parts in zip(*map(_fields, blocks), strict=True)))


def _fields(block: Answers) -> tuple[Float, Bool, Float, Float]:
    return block.confidence, block.correct, block.log_p_true, block.entropy


def _class_answers(logits: npt.NDArray[np.floating], targets: npt.NDArray[np.int64]) -> Answers:
    log_p = log_softmax(logits)
    at, best = np.arange(targets.size), logits.argmax(axis=1)
    p = np.exp(log_p)
    return Answers(
        p[at, best], best == targets, log_p[at, targets], -np.einsum("ij,ij->i", p, log_p)
    )


def _label_answers(logit: Float, present: Bool) -> Answers:
    yes, no = log_sigmoid(logit), log_sigmoid(-logit)
    return Answers(
        np.exp(np.maximum(yes, no)),
        (logit > 0) == present,
        np.where(present, yes, no),
        -(np.exp(yes) * yes + np.exp(no) * no),
    )


def measure(model_answers: Answers) -> dict[str, float]:
    """Return the scores of an epoch by name, NaN where there is nothing to average.

    Notes
    -----
    `val_nll` in nats, over all, right and wrong answers; `val_error`, `val_ece` (15 bins of equal
    width), `val_ece_em` (of equal mass) and `val_p_true` (mean probability of what is true) are
    fractions; `val_entropy_correct` and `val_entropy_wrong` in nats over right and over wrong
    answers, as in figure 3 of Mukhoti et al. 2020.
    """
    ranked = Ranked.of(Outcomes(model_answers.confidence, model_answers.correct))
    nll, wrong = -model_answers.log_p_true, ~model_answers.correct
    return {
        "val_nll": _mean(nll),
        "val_nll_correct": _mean(nll[model_answers.correct]),
        "val_nll_wrong": _mean(nll[wrong]),
        "val_error": top_label.error(ranked),
        "val_ece": top_label.ece(ranked),
        "val_ece_em": top_label.ece_em(ranked),
        "val_entropy_correct": _mean(model_answers.entropy[model_answers.correct]),
        "val_entropy_wrong": _mean(model_answers.entropy[wrong]),
        "val_p_true": _mean(np.exp(model_answers.log_p_true)),
    }


def _mean(values: Float) -> float:
    return float(values.mean()) if values.size else float("nan")
