"""Gradients of single training rows with respect to the last layer; torch."""

from typing import Final

import torch
from torch import Tensor

from core.arrays import Float
from core.training.parts import TrainingSetup

ROWS: Final = 512  # of the training part, spread evenly over it; always the same ones


def row_gradient_norms(parts: TrainingSetup) -> Float:
    """Return the norm of the loss's gradient by the last layer's weights, of some training rows.

    Parameters
    ----------
    parts : TrainingSetup
        Its network is used as it is, in evaluation mode, on images that are not augmented.

    Returns
    -------
    (M,) float64
        M <= ROWS.

    Notes
    -----
    The layer's gradient of a row is the outer product of the gradient by its logits and of what
    the layer sees, so its norm is the product of both norms. Losses of pairs of rows see these
    rows as one batch.

    References
    ----------
    Mukhoti et al. 2020, figure 4 (b-d), there over the whole training part.
    """
    every = torch.linspace(0, len(parts.rows) - 1, min(ROWS, len(parts.rows)))
    rows = parts.rows[every.long()]
    (images,) = parts.data.train.inputs([rows], parts.fabric.device)
    seen: list[Tensor] = []
    hook = parts.last_layer.register_forward_hook(lambda _layer, inputs, _out: seen.extend(inputs))
    was_training = parts.net.training
    parts.net.eval()
    try:
        with torch.no_grad():
            logits = parts.net(parts.normalise(images)).float()
    finally:
        hook.remove()
        parts.net.train(was_training)
    logits.requires_grad_()
    loss = parts.loss(logits, parts.targets["train"][rows.to(parts.fabric.device)])
    (by_logits,) = torch.autograd.grad(loss, logits)
    if parts.loss.reduction == "mean":
        by_logits = by_logits * len(rows)
    norms = by_logits.double().norm(dim=1) * seen[-1].double().flatten(1).norm(dim=1)
    finite: Float = norms[norms.isfinite()].cpu().numpy()
    return finite
