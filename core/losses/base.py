"""Loss: what every training loss shares, and the classes other than the true one; torch."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.nn import functional

from core.losses.bins import GammaUpdate
from core.predictions import Task


class OtherClasses(torch.autograd.Function):
    """What losses take of a row, each (N,), from logits (N, K) and targets (N,).

    1. The true logit minus log-sum-exp of the others: log(p / (1 - p)).
    2. The sum of squares of the softmax s of the other_classes.
    3. Where asked for, the largest logit below the true one, minus that; -inf where there is none.

    Notes
    -----
    Their gradients: 1 at the true class and -s; 2 s (s - sum of squares); 1 at the class below, in
    equal parts where several share the place, and -1 at the true class. Written out because
    autograd makes a pass over the (N, K) logits for each step, which is most of a loss's time. On
    a CPU float32 goes through compiled loops, all else through torch.
    """

    @staticmethod
    def forward(
        ctx: FunctionCtx, logits: Tensor, targets: Tensor, with_below: bool
    ) -> tuple[Tensor, ...]:
        """Return the first two, or all three."""
        if targets.shape != logits.shape[:1]:  # the compiled loops would write out of bounds
            shapes = f"{tuple(targets.shape)} for logits {tuple(logits.shape)}"
            raise ValueError(f"targets of shape {shapes}: one per row is needed")
        logits, targets = logits.contiguous(), targets.contiguous()
        # One read of the logits for both passes: the shares are
        # kept, the gradient needs nothing else.
        read = _compiled_read if _has_loops(logits) else _read
        share, rows = read(logits, targets, with_below=with_below)
        ctx.save_for_backward(logits, targets, share, rows)
        ctx.set_materialize_grads(False)
        log_odds, squares, _, gap = rows.unbind()
        return (log_odds, squares, gap) if with_below else (log_odds, squares)

    @staticmethod
    @once_differentiable  # the shares are kept as numbers: a second derivative would be wrong
    def backward(ctx: FunctionCtx, *slopes: Tensor | None) -> tuple[Tensor, None, None]:
        """Return the gradient of the logits."""
        logits, targets, share, rows = ctx.saved_tensors  # type: ignore[attr-defined]
        none = torch.zeros_like(rows[0])
        known = [none if slope is None else slope.contiguous() for slope in slopes]
        back = _compiled_gradient if _has_loops(logits) else _gradient
        return back(logits, targets, share, rows, known), None, None


def _has_loops(logits: Tensor) -> bool:
    return logits.device.type == "cpu" and logits.dtype == torch.float32


def _read(logits: Tensor, targets: Tensor, *, with_below: bool) -> tuple[Tensor, Tensor]:
    """Return the softmax of the others, and (4, N): log-odds, squares, class below and gap."""
    true = targets.unsqueeze(-1)
    # The true class is ruled out, so that the softmax is over the others only.
    others = logits.scatter(-1, true, -torch.inf)
    share = others.softmax(dim=-1)
    of_true = logits.gather(-1, true).squeeze(-1)
    # the largest share is exp(largest logit - log-sum-exp)
    log_odds = of_true - (others.amax(dim=-1) - share.amax(dim=-1).log())
    squares = torch.linalg.vector_norm(share, dim=-1).square()
    below = of_true
    if with_below:
        lower = logits < of_true.unsqueeze(-1)
        below = logits.where(lower, -torch.inf).amax(dim=-1)
    return share, torch.stack([log_odds, squares, below, below - of_true])


def _gradient(
    logits: Tensor, targets: Tensor, share: Tensor, rows: Tensor, slopes: list[Tensor]
) -> Tensor:
    true, double = targets.unsqueeze(-1), 2 * slopes[1]
    # -s of the log-odds, and 2 s (s - squares) of the squares, in one expression.
    constant = slopes[0] + double * rows[1]
    total = (share * double.unsqueeze(-1)).sub_(constant.unsqueeze(-1)).mul_(share)
    # The true class: 1 for the log-odds, none for the squares.
    total.scatter_(-1, true, slopes[0].unsqueeze(-1))
    # The class below, in equal parts among ties, and the true class with the opposite sign.
    if len(slopes) > 2:
        tied = logits == rows[2].unsqueeze(-1)
        part = slopes[2] / tied.sum(dim=-1).clamp(min=1)
        total.addcmul_(tied.to(total.dtype), part.unsqueeze(-1))
        total.scatter_add_(-1, true, -slopes[2].unsqueeze(-1))
    return total


def _compiled_read(logits: Tensor, targets: Tensor, *, with_below: bool) -> tuple[Tensor, Tensor]:
    """Return what `_read` does, the last two only where they are asked for."""
    from core.compiled import other_classes  # takes a quarter of a second

    share, rows = torch.empty_like(logits), logits.new_empty((4, len(logits)))
    arrays = logits.detach().numpy(), targets.numpy()
    n_read = other_classes.read_others(*arrays, share.numpy(), rows.numpy())
    if n_read < len(logits):
        raise IndexError(f"target {int(targets[n_read])} of row {n_read} is none of the classes")
    if with_below:
        other_classes.read_below(*arrays, rows.numpy())
    return share, rows


def _compiled_gradient(
    logits: Tensor, targets: Tensor, share: Tensor, rows: Tensor, slopes: list[Tensor]
) -> Tensor:
    from core.compiled import other_classes

    total, labels, read = torch.empty_like(share), targets.numpy(), rows.numpy()
    of_odds, of_squares, *of_gap = (slope.numpy() for slope in slopes)
    other_classes.write_gradient(share.numpy(), labels, read, (of_odds, of_squares), total.numpy())
    for slope in of_gap:
        other_classes.add_below(logits.detach().numpy(), labels, read, slope, total.numpy())
    return total


class Loss(nn.Module, ABC):
    """A training loss of logits, computed in float32 or float64 whatever their type.

    `task`: multiclass or binary: softmax over K >= 2 columns; multilabel: L sigmoids, each label a
    question of its own whose losses are added; `reduction`: ``mean`` over the rows, or ``sum``, as
    the papers' released code trains.

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
        # float16 logits would lose 1 - p from 2^-11 on: losses are computed in float32 at least.
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

        Examples
        --------
        Of classes that tie the lowest index is the answer, as in an audit:

        >>> from core.losses.build import CrossEntropy
        >>> confidence, correct = CrossEntropy().answers(torch.zeros(2, 2), torch.tensor([0, 1]))
        >>> confidence.tolist(), correct.tolist()
        ([0.5, 0.5], [True, False])
        """
        # float64, as the audit computes: a confidence that rounds to 1
        # in float32 would tie here and not there.
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
