"""Networks with randomised weights, all or from the last layer down; torch.

A heatmap that does not change when the weights do tells nothing of what was learned (Adebayo et
al. 2018).
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Final

import torch
from torch import nn

MOST: Final = 0.75  # of the weighted modules: a part with more is randomised in smaller steps


def shuffled(model: nn.Module, seed: int) -> nn.Module:
    """Return a copy of a network with all weights randomised."""
    *_, (_, network) = cascade(model, seed)
    return network


def cascade(model: nn.Module, seed: int) -> Iterator[tuple[str, nn.Module]]:
    """Yield a network with ever more of its weights randomised, from the last layer down.

    Parameters
    ----------
    model : nn.Module
        Not changed.
    seed : int

    Yields
    ------
    (str, nn.Module)
        The part that was drawn last, and the network, the same object each time.
    """
    copy = deepcopy(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for name, modules in reversed(_parts(copy)):
            for module in modules:
                _draw(module)
            yield name, copy.eval()


def _parts(model: nn.Module) -> list[tuple[str, list[nn.Module]]]:
    """Return modules with weights of their own, in the order they were added, by part."""
    weighted = {
        name: module
        for name, module in model.named_modules()
        if next(module.parameters(recurse=False), None) is not None
    }
    depth = 1
    names = [name.split(".") for name in weighted]
    heads = [name[0] for name in names]
    if names and max(heads.count(head) for head in heads) > MOST * len(names):
        depth = 2
    parts: dict[str, list[nn.Module]] = {}
    for name, module in weighted.items():
        parts.setdefault(".".join(name.split(".")[:depth]), []).append(module)
    return list(parts.items())


def _draw(module: nn.Module) -> None:
    """Draw the weights of one module as when it was made; N(0, 0.02) where it does not say how."""
    reset = getattr(module, "reset_parameters", None)
    if reset is not None:
        reset()
        return
    for parameter in module.parameters(recurse=False):
        nn.init.normal_(parameter, 0.0, 0.02)
