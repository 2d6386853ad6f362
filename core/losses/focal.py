"""Focal losses: gamma fixed, by p or by epoch, inverse, dual, calibrated, and AdaFocal; torch."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from core.errors import Refused
from core.losses.base import Loss, OtherClasses
from core.losses.bins import (
    LARGEST_EXPONENT,
    AdaFocalRule,
    CalFocalRule,
    GammaUpdate,
    UpdateSchedule,
    validation_bins,
)
from core.metrics.binning import equal_width_edges
from core.predictions import Outcomes, Task


def focal(log_odds: Tensor, gamma: float | Tensor) -> Tensor:
    """Return -(1 - p)^gamma log p from log(p / (1 - p)).

    Finite with finite gradients for gamma >= 0 wherever p and 1 - p lie: the power of a rounded
    1 - p would have an infinite slope at 0 for gamma below 1.

    Examples
    --------
    At p = 1/2 it is log(2) / 2 for gamma = 1. Near p = 1 a gamma of 1/2 still has a slope that is a
    number, where the power of a rounded 1 - p has none.

    >>> round(float(focal(torch.tensor(0.0), 1.0)), 4)
    0.3466
    >>> log_odds = torch.tensor([200.0], requires_grad=True)
    >>> focal(log_odds, 0.5).sum().backward()
    >>> bool(log_odds.grad.isfinite().all())
    True
    """
    factor = torch.exp(gamma * functional.logsigmoid(-log_odds))
    return -factor * functional.logsigmoid(log_odds)


class Focal(Loss):
    """-(1 - p)^gamma log p.

    `gamma`: at least 0: 0 is cross-entropy.

    References
    ----------
    Lin et al. 2017, without class weights; Mukhoti et al. 2020, section 4.
    """

    def __init__(self, gamma: float, *, task: Task, reduction: str = "mean") -> None:
        super().__init__(task=task, reduction=reduction)
        self.gamma = gamma

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the focal loss, (N,) or (N, L)."""
        return focal(self.true_log_odds(logits, targets), self.gamma)


class InverseFocal(Focal):
    """-(1 + p)^gamma log p: the more confident the model, the larger the gradient.

    References
    ----------
    Ghosh et al. 2022, equation 1.

    Examples
    --------
    At p = 1/2 with gamma = 1 it is 3/2 log 2:

    >>> even, truth = torch.zeros(1, 2), torch.tensor([0])
    >>> round(float(InverseFocal(1.0, task=Task.MULTICLASS)(even, truth)), 4)
    1.0397
    """

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the inverse focal loss, (N,) or (N, L)."""
        log_p = functional.logsigmoid(self.true_log_odds(logits, targets))
        # log(1 + p) = softplus(log p)
        return -torch.exp(self.gamma * functional.softplus(log_p)) * log_p


class SampleFocal(Loss):
    """Focal loss whose gamma depends on the p that a sample has now.

    `edges`: ascending, inside (0, 1); `gammas`: one more than edges; from the lowest p to the
    highest; `right_closed`: an edge belongs to the gamma below it, not above.

    Notes
    -----
    No gradient flows through the choice.

    References
    ----------
    Mukhoti et al. 2020, section 5. Its ICLR text has 0.19, closed on the right; its NeurIPS text
    and its code 0.2, closed on the left. g(p, 5) = 1 at 0.1968.
    """

    edges: Tensor
    gammas: Tensor

    def __init__(
        self,
        edges: Sequence[float],
        gammas: Sequence[float],
        *,
        right_closed: bool,
        task: Task,
        reduction: str = "mean",
    ) -> None:
        super().__init__(task=task, reduction=reduction)
        self.right_closed = right_closed
        for name, values in (("edges", edges), ("gammas", gammas)):
            buffer = torch.tensor(values, dtype=torch.float64)
            self.register_buffer(name, buffer, persistent=False)  # settings, not state

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the focal loss with each sample's gamma, (N,) or (N, L)."""
        log_odds = self.true_log_odds(logits, targets)
        gamma = self.gamma_at(log_odds.detach().sigmoid())
        return focal(log_odds, gamma.to(log_odds.dtype))

    def gamma_at(self, p: Tensor) -> Tensor:
        """Return the gamma of each p, float64 of the same shape.

        Examples
        --------
        At p = 0.2 FLSD-53, [0.2, 1], has the smaller gamma; an edge that closes on the right has
        not.

        >>> p = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
        >>> for closed in (False, True):
        ...     loss = SampleFocal((0.2,), (5.0, 3.0), right_closed=closed, task=Task.MULTICLASS)
        ...     loss.gamma_at(p).tolist()
        [5.0, 3.0, 3.0]
        [5.0, 5.0, 3.0]
        """
        return self.gammas.take(
            torch.bucketize(p.double(), self.edges, right=not self.right_closed)
        )


class ScheduledFocal(Loss):
    """Focal loss whose gamma falls with the epochs.

    `gammas`: for the first two sevenths of the epochs, up to five sevenths, and the rest; of 350
    epochs 100 and 250.

    References
    ----------
    Mukhoti et al. 2020, section 5.

    Examples
    --------
    Of 350 epochs gamma is 5 in the first 100, to number 99, and 3 in the next 150:

    >>> loss = ScheduledFocal((5.0, 3.0, 2.0), task=Task.MULTICLASS)
    >>> for epoch in (99, 100, 249, 250):
    ...     loss.epoch_start(epoch, 350)
    ...     float(loss.gamma)
    5.0
    3.0
    3.0
    2.0
    """

    gamma: Tensor

    def __init__(
        self, gammas: tuple[float, float, float], *, task: Task, reduction: str = "mean"
    ) -> None:
        super().__init__(task=task, reduction=reduction)
        self.gammas = gammas
        self.register_buffer("gamma", torch.tensor(gammas[0], dtype=torch.float64))

    def epoch_start(self, epoch: int, n_epochs: int) -> None:
        """Choose the gamma of the epoch."""
        # In whole numbers: 2 n / 7 as a float could move a boundary by an epoch.
        stage = (7 * epoch >= 2 * n_epochs) + (7 * epoch >= 5 * n_epochs)
        self.gamma.fill_(self.gammas[stage])

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the focal loss with the epoch's gamma, (N,) or (N, L)."""
        return focal(self.true_log_odds(logits, targets), self.gamma)


class DualFocal(Focal):
    """-(1 - p + p_j)^gamma log p, where p_j is the largest probability below p, else 0.

    p_j is not the runner-up where the model is wrong, and ties with p do not count. Gradients
    flow through p_j, in equal parts where classes share it.

    References
    ----------
    Tao et al. 2023, dual focal loss, as in its released code; its text has the largest
    probability of the other classes.

    Examples
    --------
    The model is wrong: p_j is 0.2, below the true class's 0.3, and not the runner-up's 0.5. With
    gamma = 1 the loss is -(1 - 0.3 + 0.2) log 0.3.

    >>> logits, truth = torch.tensor([[0.5, 0.3, 0.2]]).log(), torch.tensor([1])
    >>> round(float(DualFocal(1.0, task=Task.MULTICLASS)(logits, truth)), 4)
    1.0836
    """

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the dual focal loss, (N,)."""
        log_odds, _, gap = OtherClasses.apply(logits, targets, True)
        log_p = functional.logsigmoid(log_odds)
        # log(1 - p + p_j), where gap + log p is log p_j, or -inf where no class is below.
        spread = torch.logaddexp(functional.logsigmoid(-log_odds), gap + log_p)
        return -torch.exp(self.gamma * spread) * log_p


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

    Examples
    --------
    At p = 1/2 with gamma = 2 and lambda = 1/2: log(2) / 4 + (1/4 + 1/4) / 2. The ablation adds
    |1/2| + |1/2| instead.

    >>> even, truth = torch.zeros(1, 2), torch.tensor([0])
    >>> for squared in (True, False):
    ...     loss = FocalCalibration(2.0, 0.5, squared=squared, task=Task.MULTICLASS)
    ...     round(float(loss(even, truth)), 4)
    0.4233
    0.6733
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
        # Of K classes the distance is ||p - onehot||^2, which
        # depends on how the others share 1 - p.
        if self.squared and self.task is not Task.MULTILABEL:
            distance, log_odds = self.squared_distance(logits, targets)
        else:
            log_odds = self.true_log_odds(logits, targets)
            # Of two outcomes, or of the absolute distance, it is a function of 1 - p alone.
            missing = log_odds.neg().sigmoid()
            distance = self.sides * (missing.square() if self.squared else missing)
        return focal(log_odds, self.gamma) + self.weight * distance


EACH_EPOCH = UpdateSchedule(((0, None),))


class BinFocal(Loss):
    """Focal loss with gamma > 0, inverse focal with |gamma| where gamma < 0, by bin of p.

    AdaFocal, or CalFocal's case 2, depending on the rule.

    `rule`: how validation bins change the gammas; `n_bins`: B, at least 1; `schedule`: when they
    do.

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
        # gamma is looked up by the detached p: it is a constant in the gradient.
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
        # The rule moves gamma by bin index; the edges below are new,
        # so an index may mean another region.
        gamma_update = self.rule.update(self.gamma.cpu().numpy(), bins)
        self.edges.copy_(torch.from_numpy(bins.edges))
        self.gamma.copy_(torch.from_numpy(gamma_update.gamma))
        self.accuracy.copy_(torch.from_numpy(bins.accuracy))
        return gamma_update


class CalFocalSample(BinFocal):
    """Focal loss with gamma = exp(lambda (p - A)), A the validation accuracy of p's bin.

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
