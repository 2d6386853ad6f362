"""Maximum mean calibration error beside cross-entropy; torch."""

from abc import abstractmethod

import torch
from torch import Tensor

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
        confidence, predicted = logits.softmax(dim=-1).max(dim=-1)
        error = self.error(confidence, (predicted == targets).to(confidence.dtype))
        return self.cross_entropy(logits, targets) + self.weight * error

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
        """Return the squared statistic."""
        gap = correct - confidence
        return _paired(gap, gap, _kernel(confidence)) / len(gap) ** 2


class MmceWeighted(_KernelLoss):
    """Cross-entropy plus the weighted MMCE, hits and misses each divided by their number.

    Parameters
    ----------
    released : bool
        As released: the mean over pairs is divided by the numbers of pairs once more, which at
        batches of 128 makes it hundreds of times smaller and the loss nearly cross-entropy.

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
        """Return the weighted statistic; 0 where all answers are right, or all wrong."""
        kernel = _kernel(confidence)
        hits, misses = (1 - confidence) * correct, confidence * (1 - correct)
        n_hits, n_misses = correct.sum(), (1 - correct).sum()
        square = (
            self._mean(_paired(hits, hits, kernel), n_hits * n_hits)
            + self._mean(_paired(misses, misses, kernel), n_misses * n_misses)
            - 2 * self._mean(_paired(hits, misses, kernel), n_hits * n_misses)
        )
        root = (square + 1e-10 if self.released else square).clamp(min=SMALLEST).sqrt()
        return torch.where(n_hits * n_misses > 0, root, 0.0)

    def _mean(self, total: Tensor, n_pairs: Tensor) -> Tensor:
        mean = total / n_pairs.clamp(min=1)
        return mean / (n_pairs + 1e-5) if self.released else mean


def _kernel(confidence: Tensor) -> Tensor:
    """Return exp(-|c - c'| / width) of all pairs, (N, N)."""
    return torch.exp((confidence[:, None] - confidence).abs() / -WIDTH)


def _paired(left: Tensor, right: Tensor, kernel: Tensor) -> Tensor:
    """Return the sum over pairs; products written out stay in float32 under autocast."""
    return (left[:, None] * right * kernel).sum()
