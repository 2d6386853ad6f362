"""Dual focal loss; torch."""

import torch
from torch import Tensor
from torch.nn import functional

from core.losses.focal import Focal
from core.losses.others import OtherClasses


class DualFocal(Focal):
    """-(1 - p + p_j)^gamma log p, where p_j is the largest probability below p, else 0.

    p_j is not the runner-up where the model is wrong, and ties with p do not count. Gradients
    flow through p_j, in equal parts where classes share it.

    References
    ----------
    Tao et al. 2023, dual focal loss, as in its released code; its text has the largest
    probability of the other classes.
    """

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the dual focal loss, (N,)."""
        log_odds, _, gap = OtherClasses.apply(logits, targets, True)
        log_p = functional.logsigmoid(log_odds)
        spread = torch.logaddexp(functional.logsigmoid(-log_odds), gap + log_p)
        return -torch.exp(self.gamma * spread) * log_p
