"""Loss: what every training loss shares; torch."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.losses.bins import GammaUpdate
from core.losses.other_classes import OtherClasses
from core.predictions import Task


class Loss(nn.Module, ABC):
    """A training loss of logits, computed in float32 or float64 whatever their type.

    Parameters
    ----------
    task : Task
        multiclass or binary: softmax over K >= 2 columns; multilabel: L sigmoids, each label a
        question of its own whose losses are added.
    reduction : str
        ``mean`` over the rows, or ``sum``, as the papers' released code trains.

    Notes
    -----
    All state is in buffers, so a checkpoint restores it. No method that a training step calls
    waits for the device.
    """

    def __init__(self, *, task: Task = Task.MULTICLASS, reduction: str = "mean") -> None:
        super().__init__()
        self.task = task
        self.reduction = reduction

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of a batch, a scalar.

        Parameters
        ----------
        logits : (N, K) or (N, L) tensor of any floating type
            Finite.
        targets : (N,) tensor of int64 in 0..K-1, or (N, L) tensor of 0 and 1
        """
        precise = logits if logits.dtype == torch.float64 else logits.float()
        total = self.losses(precise, targets).sum()
        return total / len(logits) if self.reduction == "mean" else total

    @abstractmethod
    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of each row, (N,), or of each label, (N, L)."""

    def epoch_start(self, epoch: int, n_epochs: int) -> None:
        """Take note of the epoch, 0..n_epochs-1; losses with a schedule follow it."""

    def needs_update(self, n_batches: int, *, epoch_ends: bool) -> bool:
        """Tell whether `update` is due after so many batches since training began."""
        del n_batches, epoch_ends
        return False

    def update(self, confidence: Tensor, correct: Tensor) -> GammaUpdate | None:
        """Learn from validation answers; None for losses that do not.

        Parameters
        ----------
        confidence : (N,) tensor of float in [0, 1]
        correct : (N,) tensor of bool
            As `answers` returns them, of the whole validation set.

        Raises
        ------
        Refused
            NONFINITE: a confidence is not a number.
        """
        del confidence, correct
        return None

    def answers(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the confidence of each answer, float64, and whether it is right.

        One answer a row, the most probable class (the lowest index on ties); with many labels
        N L answers, each the more probable of yes and no.
        """
        precise = logits.detach().double()
        if self.task is Task.MULTILABEL:
            right = (precise > 0) == (targets > 0)
            return precise.abs().sigmoid().flatten(), right.flatten()
        confidence, predicted = precise.softmax(dim=-1).max(dim=-1)
        return confidence, predicted == targets

    def true_log_odds(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return log(p / (1 - p)) of what is true, (N,) or (N, L).

        Notes
        -----
        Every loss of p alone is a function of it that is exact at both ends: log p and log(1 - p)
        are `logsigmoid` of it and of its negative, while 1 - p of a rounded p near 1 is 0.
        """
        if self.task is Task.MULTILABEL:
            return logits * (2 * targets.to(logits.dtype) - 1)
        log_odds: Tensor = OtherClasses.apply(logits, targets, False)[0]
        return log_odds

    def squared_distance(self, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return ||softmax - onehot||^2 in [0, 2] and the true log-odds, (N,) each.

        Not for many labels. The other classes share 1 - p in the proportions s, so the distance is
        (1 - p)^2 (1 + sum of s^2), which is exact where 1 - p is small.
        """
        log_odds, squares = OtherClasses.apply(logits, targets, False)
        return log_odds.neg().sigmoid().square() * (1 + squares), log_odds

    def cross_entropy(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return -log p of what is true, (N,) or (N, L)."""
        if self.task is Task.MULTILABEL:
            return -functional.logsigmoid(self.true_log_odds(logits, targets))
        return functional.cross_entropy(logits, targets, reduction="none")
