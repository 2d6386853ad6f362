"""Write `assets/architectures.json` from the installed timm and torchvision; torch, minutes.

Run it by ``python -m core.checkpoints.signatures`` after either of them changed.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final

from core.checkpoints.guess import PATH, USUAL_SIZE, Axis, signature
from core.disk import replace_text
from core.errors import UsageError
from core.models.build import input_size, outline
from core.models.catalogue import OURS
from core.models.public import STRANGE, fixed_in_size, timm_size

CHANNELS: Final = 1_000_081  # that no layer has by chance
Shapes = dict[str, tuple[int, ...]]


def described(network: str) -> tuple[tuple[Axis, ...], tuple[Axis, ...], str]:
    """Return where outputs and channels stand in a network, and its signature.

    Raises UsageError SETTING: a network that `build` does not make.
    """
    # Two outlines with impossible numbers of outputs and channels: the axes
    # that show them are the ones that may vary.
    usual = _shapes(network, 3)
    outputs = _axes(usual, STRANGE)
    try:
        other = _shapes(network, CHANNELS)
    except Exception:  # noqa: BLE001  a network for colours only may raise anything
        other = usual
    channels = _axes(other, CHANNELS)
    opened = {name: _without(shape, dict(channels).get(name)) for name, shape in other.items()}
    if {n: _without(s, dict(channels).get(n)) for n, s in usual.items()} != opened:
        channels = ()  # they decide more than the size of one axis
    return outputs, channels, signature(usual, (*outputs, *channels))


def index(networks: Iterable[str]) -> dict[str, Any]:
    """Return the index of some networks, as it is stored."""
    import timm
    from timm.models._registry import _deprecated_models

    layouts: dict[tuple[tuple[Axis, ...], tuple[Axis, ...]], dict[str, list[str]]] = {}
    sizes = {}
    for network in networks:
        try:
            outputs, channels, key = described(network)
        except UsageError:
            continue
        layouts.setdefault((outputs, channels), defaultdict(list))[key].append(network)
        sizes[network] = input_size(network, USUAL_SIZE)
    known = set(timm.list_models(include_tags=True))
    outdated = {old: new for old, new in _deprecated_models.items() if new in known}
    sizes |= {f"timm:{new}": timm_size(new) for new in outdated.values()}
    return {
        "timm": version("timm"),
        "torchvision": version("torchvision"),
        "layouts": [
            {"outputs": outputs, "channels": channels, "networks": names}
            for (outputs, channels), names in layouts.items()
        ],
        "sizes": {name: size for name, size in sizes.items() if size != USUAL_SIZE},
        "outdated": outdated,
        "fixed": sorted(network for network in sizes if fixed_in_size(network)),
    }


def _shapes(network: str, channels: int) -> Shapes:
    size = input_size(network, USUAL_SIZE)
    net = outline(network, n_outputs=STRANGE, channels=channels, size=size)
    return {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}


def _axes(shapes: Shapes, size: int) -> tuple[Axis, ...]:
    return tuple((name, shape.index(size)) for name, shape in shapes.items() if size in shape)


def _without(shape: tuple[int, ...], axis: int | None) -> tuple[int, ...]:
    return shape if axis is None else (*shape[:axis], *shape[axis + 1 :])


def main() -> None:
    """Write the index of all networks."""
    import timm
    from torchvision import models  # type: ignore[import-untyped]

    networks = [
        *OURS,
        *(f"torchvision:{name}" for name in models.list_models(module=models)),
        *(f"timm:{name}" for name in timm.list_models()),
    ]
    replace_text(PATH, f"{json.dumps(index(networks), separators=(',', ':'))}\n")


if __name__ == "__main__":
    main()
