"""What the gammas of a training would have been under another rule; numpy, no torch."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from core.arrays import Int, Scores, row_chunks, sigmoid, softmax
from core.errors import Refused
from core.histories import BinHistory
from core.losses.bins import AdaFocalRule, CalFocalRule, GammaUpdate, validation_bins
from core.predictions import Outcomes, Task


def replay(
    validation: Scores,
    labels: npt.NDArray[np.integer],
    *,
    task: Task,
    rule: AdaFocalRule | CalFocalRule,
    n_bins: int,
) -> BinHistory:
    """Return the gammas that a rule would have learned from a run's validation logits.

    Parameters
    ----------
    validation : (E, N, K) or (E, N, L) array of float
        Logits of the validation part after each epoch, 0..E-1.
    labels : (N,) array of int in 0..K-1, or (N, L) of 0 and 1
        What was true.
    task : Task
        multiclass or binary: the answer is the most probable class (the lowest index on ties);
        multilabel: N L answers, each the more probable of yes and no.
    rule : AdaFocalRule or CalFocalRule
        Lambda, bounds and switch.
    n_bins : int
        B, at least 1.

    Returns
    -------
    BinHistory
        One update an epoch, from gamma 1; `train_confidence` is not known.

    Raises
    ------
    Refused
        NONFINITE when an epoch holds logits of a diverged model.

    Notes
    -----
    The logits are those of the training that was run: another gamma would have given other logits,
    so this answers what the rule would have asked for, not how that training would have gone.

    References
    ----------
    Ghosh et al. 2022, algorithm 1.
    """
    gamma = np.ones(n_bins)
    updates = []
    for epoch, logits in enumerate(validation):
        answers = _answers(logits, labels, task)
        if not np.isfinite(answers.confidence).all():
            what = "Validation logits that are not numbers"
            raise Refused("NONFINITE", what, "replay the epochs before", f"epoch {epoch}")
        updates.append(rule.update(gamma, validation_bins(answers, n_bins)))
        gamma = updates[-1].gamma
    return bin_history(updates)


def bin_history(updates: Sequence[GammaUpdate]) -> BinHistory:
    """Return updates of the epochs 0..E-1, one each, as a history."""
    n_bins = len(updates[0].gamma)
    bins = [update.bins for update in updates]
    return BinHistory(
        epoch=np.repeat(np.arange(len(updates)), n_bins),
        bin=np.tile(np.arange(n_bins), len(updates)),
        lower=np.concatenate([b.edges[:-1] for b in bins]),
        upper=np.concatenate([b.edges[1:] for b in bins]),
        count=np.concatenate([b.count for b in bins]),
        confidence=np.concatenate([b.confidence for b in bins]),
        accuracy=np.concatenate([b.accuracy for b in bins]),
        gap=np.concatenate([b.gap for b in bins]),
        gamma=np.concatenate([update.gamma for update in updates]),
        train_confidence=np.full(len(updates) * n_bins, np.nan),
    )


def _answers(logits: Scores, labels: npt.NDArray[np.integer], task: Task) -> Outcomes:
    """Return the answers of one epoch, as `core.losses.base.Loss.answers` gives them to a loss."""
    if task is Task.MULTILABEL:
        certain: Scores = np.abs(logits.astype(np.float64))
        return Outcomes(sigmoid(certain).ravel(), ((logits > 0) == (labels > 0)).ravel())
    confidence = np.empty(len(logits))
    for rows in row_chunks(*logits.shape):
        confidence[rows] = softmax(logits[rows]).max(axis=-1)
    predicted: Int = logits.argmax(axis=-1)
    return Outcomes(confidence, predicted == labels)
