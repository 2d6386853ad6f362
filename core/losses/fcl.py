"""Focal calibration loss; torch."""

from torch import Tensor

from core.losses.base import Loss
from core.losses.focal import focal
from core.predictions import Task


class FocalCalibration(Loss):
    """Focal loss plus a weighted distance of the probabilities from the truth.

    Parameters
    ----------
    gamma : float, at least 0
        Of the focal loss.
    weight : float, at least 0
        Lambda, of the distance.
    squared : bool
        ||p - onehot||_2^2, or the ablation ||p - onehot||_1 = 2 (1 - p).
    two_sided : bool
        With many labels, whether the distance is that of the two outcomes of a label, 2 (p - y)^2
        or 2 |p - y|, or of its presence alone, half of that. The paper does not say.

    Notes
    -----
    Its minimiser is not the true probability for gamma > 0, though the paper's appendix says so.

    References
    ----------
    Focal calibration loss 2024, definition 3.1, and appendix A.15 for the ablation.
    """

    def __init__(
        self,
        gamma: float,
        weight: float,
        *,
        squared: bool = True,
        two_sided: bool = False,
        task: Task,
        reduction: str = "mean",
    ) -> None:
        super().__init__(task=task, reduction=reduction)
        self.gamma = gamma
        self.weight = weight
        self.squared = squared
        self.sides = 1.0 if task is Task.MULTILABEL and not two_sided else 2.0

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the focal loss plus the weighted distance, (N,) or (N, L)."""
        if self.squared and self.task is not Task.MULTILABEL:
            distance, log_odds = self.squared_distance(logits, targets)
        else:
            log_odds = self.true_log_odds(logits, targets)
            missing = log_odds.neg().sigmoid()
            distance = self.sides * (missing.square() if self.squared else missing)
        return focal(log_odds, self.gamma) + self.weight * distance
