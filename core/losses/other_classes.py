"""The classes other than the true one, in one pass over the logits and one back; torch."""

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable


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
        ctx: FunctionCtx,
        logits: Tensor,
        targets: Tensor,
        with_below: bool,
    ) -> tuple[Tensor, ...]:
        """Return the first two, or all three."""
        if targets.shape != logits.shape[:1]:  # the compiled loops would write out of bounds
            shapes = f"{tuple(targets.shape)} for logits {tuple(logits.shape)}"
            raise ValueError(f"targets of shape {shapes}: one per row is needed")
        logits, targets = logits.contiguous(), targets.contiguous()
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
    constant = slopes[0] + double * rows[1]
    total = (share * double.unsqueeze(-1)).sub_(constant.unsqueeze(-1)).mul_(share)
    total.scatter_(-1, true, slopes[0].unsqueeze(-1))
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
