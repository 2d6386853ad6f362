"""The Brier score as a loss; torch."""

from torch import Tensor

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
