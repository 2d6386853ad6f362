"""Proper losses: cross-entropy, with and without smoothed labels, and the Brier score; torch."""

from torch import Tensor
from torch.nn import functional

from core.losses.base import Loss
from core.predictions import Task


class Brier(Loss):
    """Sum over classes of (p - onehot)^2, in [0, 2]; of a label (p - y)^2, in [0, 1].

    References
    ----------
    Brier 1950; Mukhoti et al. 2020, section 5. Two classes give twice what a label gives.
    """

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the squared distance, (N,) or (N, L)."""
        if self.task is Task.MULTILABEL:
            return self.true_log_odds(logits, targets).neg().sigmoid().square()
        return self.squared_distance(logits, targets)[0]


class CrossEntropy(Loss):
    """-log p of what is true."""

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return -log p, (N,) or (N, L)."""
        return self.cross_entropy(logits, targets)


class LabelSmoothing(Loss):
    """Cross-entropy against targets softened by `smoothing`.

    Parameters
    ----------
    smoothing : float in [0, 1)
        Spread over all K classes, so the true class keeps 1 - smoothing + smoothing / K; a label
        has K = 2.

    References
    ----------
    Szegedy et al. 2016; Mueller et al. 2019. Others spread it over the wrong classes only.
    """

    def __init__(self, smoothing: float = 0.05, *, task: Task, reduction: str = "mean") -> None:
        super().__init__(task=task, reduction=reduction)
        self.smoothing = smoothing

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the cross-entropy with softened targets, (N,) or (N, L)."""
        if self.task is Task.MULTILABEL:
            log_odds = self.true_log_odds(logits, targets)
            # -(1 - s/2) log p - (s/2) log(1 - p), where log(1 - p) = log p - log_odds
            return 0.5 * self.smoothing * log_odds - functional.logsigmoid(log_odds)
        return functional.cross_entropy(
            logits, targets, reduction="none", label_smoothing=self.smoothing
        )
