"""AdaFocal and CalFocal: gamma by bin of p, learned from validation answers; torch."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from core.errors import Refused
from core.losses.base import Loss
from core.losses.bins import (
    LARGEST_EXPONENT,
    AdaFocalRule,
    CalFocalRule,
    GammaUpdate,
    UpdateSchedule,
    validation_bins,
)
from core.losses.focal import focal
from core.metrics.binning import equal_width_edges
from core.predictions import Outcomes, Task

EACH_EPOCH = UpdateSchedule(((0, None),))


class BinFocal(Loss):
    """Focal loss with gamma > 0, inverse focal with |gamma| where gamma < 0, by bin of p.

    AdaFocal, or CalFocal's case 2, depending on the rule.

    Parameters
    ----------
    rule : AdaFocalRule or CalFocalRule
        How validation bins change the gammas.
    n_bins : int
        B, at least 1.
    schedule : UpdateSchedule
        When they do.

    Attributes
    ----------
    edges : (B + 1,) float64
        Equal widths before the first update. A p below the first edge belongs to the first bin,
        one above the last edge to the last bin, all others to [low, high).
    gamma : (B,) float64
        1 before the first update. No gradient flows through it.
    accuracy : (B,) float64
        Of the validation answers; NaN before the first update, and in empty bins.

    References
    ----------
    Ghosh et al. 2022, algorithm 1 and equation 3; bins closed on the left, as released.
    """

    edges: Tensor
    gamma: Tensor
    accuracy: Tensor

    def __init__(
        self,
        rule: AdaFocalRule | CalFocalRule,
        n_bins: int = 15,
        schedule: UpdateSchedule = EACH_EPOCH,
        *,
        task: Task,
        reduction: str = "mean",
    ) -> None:
        super().__init__(task=task, reduction=reduction)
        self.rule = rule
        self.n_bins = n_bins
        self.schedule = schedule
        self._every = schedule.every(0)
        self.register_buffer("edges", torch.from_numpy(equal_width_edges(n_bins)))
        self.register_buffer("gamma", torch.ones(n_bins, dtype=torch.float64))
        self.register_buffer("accuracy", torch.full((n_bins,), torch.nan, dtype=torch.float64))

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the loss with the gamma of each p's bin, (N,) or (N, L)."""
        log_odds = self.true_log_odds(logits, targets)
        gamma = self.gamma.take(self.bin_of(log_odds.detach().sigmoid())).to(log_odds.dtype)
        log_p = functional.logsigmoid(log_odds)
        # log(1 + p) = softplus(log p) for the inverse
        base = torch.where(gamma > 0, functional.logsigmoid(-log_odds), functional.softplus(log_p))
        return -torch.exp(gamma.abs() * base) * log_p

    def bin_of(self, p: Tensor) -> Tensor:
        """Return the bin of each p, int64 in 0..B-1; none is in a bin of equal edges."""
        return torch.bucketize(p.double(), self.edges[1:-1], right=True)

    def epoch_start(self, epoch: int, n_epochs: int) -> None:
        """Take note of the epoch; see `Loss.epoch_start`."""
        del n_epochs
        self._every = self.schedule.every(epoch)

    def needs_update(self, n_batches: int, *, epoch_ends: bool) -> bool:
        """Tell whether `update` is due after so many batches since training began."""
        return epoch_ends if self._every is None else n_batches % self._every == 0

    def update(self, confidence: Tensor, correct: Tensor) -> GammaUpdate:
        """Take new bins and gammas from validation answers; see `Loss.update`."""
        # A model that diverged states no confidences
        stated = confidence.detach().cpu().double().numpy()
        bad = np.count_nonzero(~np.isfinite(stated))
        if bad:
            raise Refused(
                "NONFINITE",
                f"{bad} of {stated.size} validation confidences are not numbers",
                "training diverged: lower the learning rate or clip gradients",
            )
        bins = validation_bins(
            Outcomes(stated, correct.cpu().numpy().astype(np.bool_)), self.n_bins
        )
        gamma_update = self.rule.update(self.gamma.cpu().numpy(), bins)
        self.edges.copy_(torch.from_numpy(bins.edges))
        self.gamma.copy_(torch.from_numpy(gamma_update.gamma))
        self.accuracy.copy_(torch.from_numpy(bins.accuracy))
        return gamma_update


class CalFocalSample(BinFocal):
    """Focal loss with gamma = exp(lambda (p - A)), A the validation accuracy of p's bin.

    Parameters
    ----------
    rule : CalFocalRule
    n_bins, schedule : see `BinFocal`

    Notes
    -----
    Gamma is 1 where A is not known. No gradient flows through it; the paper does not say. The
    gamma kept of a bin is that of a p equal to the bin's validation confidence.

    References
    ----------
    Ghosh et al. 2022, equation 2 (case 1).
    """

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the focal loss with each sample's gamma, (N,) or (N, L)."""
        log_odds = self.true_log_odds(logits, targets)
        p = log_odds.detach().double().sigmoid()
        exponent = self.rule.rate * (p - self.accuracy.take(self.bin_of(p)))
        gamma = exponent.nan_to_num(0.0).clamp(max=LARGEST_EXPONENT).exp()
        return focal(log_odds, gamma.to(log_odds.dtype))
