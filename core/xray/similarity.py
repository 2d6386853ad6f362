"""How alike two heatmaps are, and maps of a model whose weights are shuffled; torch and scipy."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from scipy import ndimage
from torch import nn

from core.arrays import Float

MOST: Final = 0.75  # of the weighted modules: a part with more is randomised in smaller steps


def shuffled(model: nn.Module, seed: int) -> nn.Module:
    """Return a copy of a network with all weights randomised."""
    *_, (_, network) = cascade(model, seed)
    return network


def cascade(model: nn.Module, seed: int) -> Iterator[tuple[str, nn.Module]]:
    """Yield a network with ever more of its weights randomised, from the last layer down.

    `model`: not changed.

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
                # As when it was made; N(0, 0.02) where it does not say how.
                reset = getattr(module, "reset_parameters", None)
                if reset is not None:
                    reset()
                    continue
                for parameter in module.parameters(recurse=False):
                    nn.init.normal_(parameter, 0.0, 0.02)
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


SIDE: Final = 64  # both maps are brought to it
WINDOW: Final = 7
C1, C2 = 0.01**2, 0.03**2  # Wang et al. 2004, for values of 0 to 1


def ssim(first: npt.NDArray[np.floating], second: npt.NDArray[np.floating]) -> float:
    """Return the structural similarity of two maps, each scaled to its own largest value.

    Parameters
    ----------
    first, second : (h, w) float
        At least 0; sizes may differ.

    Returns
    -------
    float
        In [-1, 1]; 1 for maps of the same form. 0 where one of them is blank and the other is
        not, 1 where both are.

    References
    ----------
    Wang, Bovik, Sheikh and Simoncelli 2004, equation 13, over windows of 7 x 7 of 64 x 64.
    """
    a, b = _scaled(first), _scaled(second)
    if not a.any() or not b.any():
        return float(a.any() == b.any())
    mean_a, mean_b = _local(a), _local(b)
    var_a, var_b = _local(a * a) - mean_a**2, _local(b * b) - mean_b**2
    shared = _local(a * b) - mean_a * mean_b
    light = (2 * mean_a * mean_b + C1) / (mean_a**2 + mean_b**2 + C1)
    structure = (2 * shared + C2) / (var_a + var_b + C2)
    return float((light * structure).mean())


def _scaled(saliency: npt.NDArray[np.floating]) -> Float:
    values = np.asarray(saliency, np.float64)
    zoom = (SIDE / values.shape[0], SIDE / values.shape[1])
    wide = ndimage.zoom(values, zoom, order=1, mode="nearest", grid_mode=True)
    top = values.max()
    return np.asarray(wide / top if top > 0 else np.zeros_like(wide))


def _local(values: Float) -> Float:
    """Return means over windows that lie wholly inside."""
    edge = WINDOW // 2
    means: Float = ndimage.uniform_filter(values, WINDOW)[edge:-edge, edge:-edge]
    return means
