"""Maximum mean calibration error beside cross-entropy; torch."""

from abc import abstractmethod
from typing import cast

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx, once_differentiable
from torch.nn import functional

from core.losses.base import Loss
from core.predictions import Task

WIDTH = 0.4  # of the Laplacian kernel, as released; the text of Kumar et al. says 0.2
SMALLEST = 1e-14  # square below which a root has no slope: equal confidences can cancel exactly


class _KernelLoss(Loss):
    """Cross-entropy plus `weight` times a calibration error of the batch.

    The error compares each answer with each other, so it is one number a batch; it is added to
    every row, and the sum over N rows is N times their mean, as in the released training.
    """

    def __init__(self, weight: float, *, task: Task, reduction: str = "mean") -> None:
        super().__init__(task=task, reduction=reduction)
        self.weight = weight

    def losses(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return cross-entropy plus the weighted error of the batch, (N,)."""
        entropy, confidence, predicted = _Answers.apply(logits, targets)
        error = self.error(confidence, (predicted == targets).to(confidence.dtype))
        return cast("Tensor", entropy + self.weight * error)

    @abstractmethod
    def error(self, confidence: Tensor, correct: Tensor) -> Tensor:
        """Return the calibration error of a batch, a scalar of at least 0.

        Parameters
        ----------
        confidence : (N,) tensor in [0, 1]
            Gradients flow through it.
        correct : (N,) tensor of 0. and 1.
        """


class Mmce(_KernelLoss):
    """Cross-entropy plus the squared MMCE, sum over pairs of (a - c)(a - c)' k / N^2.

    References
    ----------
    Kumar et al. 2018, as released with Mukhoti et al. 2020: without a root.
    """

    def error(self, confidence: Tensor, correct: Tensor) -> Tensor:
        """Return the squared statistic.

        Examples
        --------
        A hit of 0.8 and a miss of 0.6 pull against each other, and the square is kept without its
        root: (0.2^2 + 0.6^2 - 2 x 0.2 x 0.6 e^-1/2) / 2^2.

        >>> loss = Mmce(2.0, task=Task.MULTICLASS)
        >>> round(float(loss.error(torch.tensor([0.8, 0.6]), torch.tensor([1.0, 0.0]))), 4)
        0.0636
        """
        gap = (correct - confidence).unsqueeze(-1)
        total: Tensor = (gap * _KernelProducts.apply(confidence, gap)).sum()
        return total / len(gap) ** 2


class MmceWeighted(_KernelLoss):
    """Cross-entropy plus the weighted MMCE, hits and misses each divided by their number.

    `released`: as released: the mean over pairs is divided by the numbers of pairs once more, which
    at batches of 128 makes it hundreds of times smaller and the loss nearly cross-entropy.

    References
    ----------
    Kumar et al. 2018, section 4; Mukhoti et al. 2020, appendix D.
    """

    def __init__(
        self, weight: float, *, released: bool = False, task: Task, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, task=task, reduction=reduction)
        self.released = released

    def error(self, confidence: Tensor, correct: Tensor) -> Tensor:
        """Return the weighted statistic; 0 where all answers are right, or all wrong.

        Examples
        --------
        A hit of 0.8 and a miss of 0.6 are 0.2 apart: the square is 0.2^2 + 0.6^2 - 2 x 0.2 x 0.6
        e^-1/2.

        >>> loss = MmceWeighted(2.0, task=Task.MULTICLASS)
        >>> round(float(loss.error(torch.tensor([0.8, 0.6]), torch.tensor([1.0, 0.0]))), 4)
        0.5044
        """
        hits, misses = (1 - confidence) * correct, confidence * (1 - correct)
        n_hits, n_misses = correct.sum(), (1 - correct).sum()
        both = torch.stack([hits, misses], dim=1)
        products = _KernelProducts.apply(confidence, both)
        of_hits, of_misses = (both * products).sum(dim=0)
        crossed = (hits * products[:, 1]).sum()
        square = (
            self._mean(of_hits, n_hits * n_hits)
            + self._mean(of_misses, n_misses * n_misses)
            - 2 * self._mean(crossed, n_hits * n_misses)
        )
        root = (square + 1e-10 if self.released else square).clamp(min=SMALLEST).sqrt()
        return torch.where(n_hits * n_misses > 0, root, 0.0)

    def _mean(self, total: Tensor, n_pairs: Tensor) -> Tensor:
        mean = total / n_pairs.clamp(min=1)
        return mean / (n_pairs + 1e-5) if self.released else mean


class _Answers(torch.autograd.Function):
    """Cross-entropy, the largest probability, and its class (the lowest on ties).

    With p the softmax, their gradients are p less 1 at the true class, and the largest
    probability times 1 at its class less p: one pass over the (N, K) logits for both.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        p, true = logits.softmax(dim=-1), targets.unsqueeze(-1)
        confidence, predicted = p.max(dim=-1, keepdim=True)
        # the largest probability is exp(its logit - log-sum-exp)
        # and a difference of two logits is exact where a rounded log-sum-exp is not
        ahead = logits.gather(-1, predicted) - logits.gather(-1, true)
        entropy = ahead - confidence.log()
        ctx.save_for_backward(p, true, confidence, predicted)
        answer = predicted.squeeze(-1)
        ctx.mark_non_differentiable(answer)
        return entropy.squeeze(-1), confidence.squeeze(-1), answer

    @staticmethod
    @once_differentiable
    def backward(
        ctx: BackwardCFunction, grad: Tensor, slope: Tensor, _: Tensor
    ) -> tuple[Tensor, None]:
        p, true, confidence, predicted = ctx.saved_tensors  # type: ignore[misc]  # as of one
        weight, pull = grad.unsqueeze(-1), slope.unsqueeze(-1) * confidence
        total = p * (weight - pull)
        return total.scatter_add_(-1, true, -weight).scatter_add_(-1, predicted, pull), None


class _KernelProducts(torch.autograd.Function):
    """For each answer the sum over all of exp(-|c - c'| / width) times their values, (N, m).

    In order of confidence the kernel splits into exp(-c / width) exp(c' / width) below and its
    inverse above, so sums up to each answer take the place of all pairs. Equal confidences have
    no slope, as |c - c'| has none at 0. In float64, whatever comes in.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, confidence: Tensor, values: Tensor) -> Tensor:
        ctx.save_for_backward(confidence, values)
        return _kernel_products(confidence, values)[0].to(values.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: BackwardCFunction, grad: Tensor) -> tuple[Tensor, Tensor]:
        confidence, values = ctx.saved_tensors  # type: ignore[misc]  # typed as if of one
        both = torch.cat([values, grad], dim=1)
        products, slopes = _kernel_products(confidence, both)
        m = values.shape[1]
        pull = (grad * slopes[:, :m] + values * slopes[:, m:]).sum(dim=1)
        return pull.to(confidence.dtype), products[:, m:].to(values.dtype)


def _kernel_products(confidence: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return the kernel times values, and its derivative by each confidence times them, (N, m)."""
    ordered, order = confidence.double().sort()
    # At most exp(1 / 0.4) = 12, so the product of rising and falling loses no digits.
    rising = (ordered / WIDTH).exp().unsqueeze(-1)
    falling = rising.reciprocal()
    v = values.double()[order]
    parts = torch.cat([v * rising, v, v * falling], dim=1)
    sums = functional.pad(parts.cumsum(dim=0), (0, 0, 1, 0))
    # Of equal confidences all or none are below: their kernel is 1 and their slope 0.
    first = torch.searchsorted(ordered, ordered)
    after = torch.searchsorted(ordered, ordered, right=True)
    until, beyond = sums[first], sums[-1] - sums[after]
    m = values.shape[1]
    below, above = falling * until[:, :m], rising * beyond[:, 2 * m :]
    level = (sums[after] - sums[first])[:, m : 2 * m]
    place = torch.empty_like(order).scatter_(
        0, order, torch.arange(len(order), device=order.device)
    )
    return (below + level + above)[place], ((above - below) / WIDTH)[place]
