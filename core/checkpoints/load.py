"""From a file of tensors to a network with every one of them, or a refusal; torch."""

from pathlib import Path

from safetensors.torch import load_file
from torch import nn

from core.checkpoints.match import COUNTED, fitted
from core.models.build import build


def load(
    path: Path, model: str, *, n_outputs: int, channels: int, size: tuple[int, int]
) -> nn.Module:
    """Return a network in evaluation mode, on the CPU, with all weights of a file.

    Parameters
    ----------
    path : Path
        A safetensors file, as `core.readers.sandbox.read.read_weights` leaves them.
    model, n_outputs, channels, size
        As of `core.models.build.build`.

    Raises
    ------
    Refused
        STATE_DICT: not every tensor of the network and of the file found its own; nothing was
        loaded.
    UsageError
        SETTING: the network cannot be made.

    Notes
    -----
    Weights of other precisions become the network's float32. What `num_batches_tracked` counts is
    no part of an answer and may be missing.
    """
    net = build(model, n_outputs=n_outputs, channels=channels, size=size)
    match, tensors = fitted(load_file(path), net, model, n_outputs)
    if not match.ok:
        raise match.refusal()
    counters = {name: tensor for name, tensor in net.state_dict().items() if name.endswith(COUNTED)}
    net.load_state_dict({**counters, **tensors}, strict=True)
    return net.eval()
