"""Dual focal loss; torch."""

import torch
from torch import Tensor
from torch.nn import functional

from core.losses.focal import Focal


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
        true = logits.gather(-1, targets.unsqueeze(-1))
        below = logits.masked_fill(logits >= true, -torch.inf).amax(dim=-1)
        log_odds = self.true_log_odds(logits, targets)
        log_p = functional.logsigmoid(log_odds)
        log_p_below = below - true.squeeze(-1) + log_p
        spread = torch.logaddexp(functional.logsigmoid(-log_odds), log_p_below)
        return -torch.exp(self.gamma * spread) * log_p
