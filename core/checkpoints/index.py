"""Networks by the names and shapes of their tensors, however many classes and channels; no torch.

`assets/architectures.json` holds a signature of each network of timm, torchvision and our own
catalogue; `python -m core.checkpoints.signatures` writes it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

PATH: Final = Path(__file__).resolve().parents[2] / "assets" / "architectures.json"
COUNTED: Final = "num_batches_tracked"  # missing from old files
OPEN: Final = -1  # stands for a number of classes or channels
NEAR: Final = 6  # names that are listed
USUAL_SIZE: Final = (224, 224)
Shapes = Mapping[str, tuple[int, ...]]
Axis = tuple[str, int]  # a tensor and one of its axes


@dataclass(frozen=True)
class NetworkLayout:
    """Networks whose outputs and channels are sizes of the same tensors.

    Attributes
    ----------
    outputs, channels : tuple of (str, int)
        Tensors and their axes; no channels where they cannot be chosen.
    networks : mapping of str to tuple of str
        Names by signature.
    """

    outputs: tuple[Axis, ...]
    channels: tuple[Axis, ...]
    networks: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class LayoutIndex:
    """All layouts, the sizes of images that are not 224 x 224, and timm's outdated names.

    `fixed` names networks that take one size only, as their positions or windows are counted.
    """

    layouts: tuple[NetworkLayout, ...]
    sizes: Mapping[str, tuple[int, int]]
    outdated: Mapping[str, str]
    fixed: frozenset[str] = frozenset()

    def size(self, network: str) -> tuple[int, int] | None:
        """Return height and width of its images; None where it takes any."""
        return self.sizes.get(network, USUAL_SIZE) if ":" in network else None

    def takes_any(self, network: str) -> bool:
        """Whether it takes images of other sizes than its own; a tag of timm does not matter."""
        return network.partition(".")[0] not in self.fixed

    def near(self, name: str) -> tuple[str, ...]:
        """Return networks of a name without its library, and of alike names; none if none is."""
        plain = name.lower().replace("-", "_").rpartition(":")[2]
        by_own: dict[str, list[str]] = {}
        for network in sorted(self.names(), key=lambda one: (one.startswith("timm:"), one)):
            by_own.setdefault(network.rpartition(":")[2], []).append(network)
        alike = [own for own in by_own if own == plain or own.startswith(f"{plain}_")]
        alike = sorted(alike, key=len) or get_close_matches(plain, by_own, NEAR)
        return tuple(network for own in alike for network in by_own[own])[:NEAR]

    def names(self) -> frozenset[str]:
        """Return all networks."""
        tuples = (names for layout in self.layouts for names in layout.networks.values())
        return frozenset(name for names in tuples for name in names)


@dataclass(frozen=True)
class ExactMatch:
    """A network all of whose tensors have these names and shapes; channels None if unknown."""

    network: str
    n_outputs: int
    channels: int | None


@cache
def shipped() -> LayoutIndex:
    """Return the index that is shipped."""
    data = json.loads(PATH.read_text("utf-8"))
    return LayoutIndex(
        tuple(
            NetworkLayout(
                tuple((name, axis) for name, axis in layout["outputs"]),
                tuple((name, axis) for name, axis in layout["channels"]),
                {key: tuple(names) for key, names in layout["networks"].items()},
            )
            for layout in data["layouts"]
        ),
        {name: (height, width) for name, (height, width) in data["sizes"].items()},
        data["outdated"],
        frozenset(data["fixed"]),
    )


def lookup(shapes: Shapes, index: LayoutIndex) -> Iterator[ExactMatch]:
    """Yield the networks whose tensors have these names and shapes."""
    total = sum(_line(name, shape) for name, shape in shapes.items())
    for layout in index.layouts:
        outputs, channels = _value(shapes, layout.outputs), _value(shapes, layout.channels)
        if outputs is None or (layout.channels and channels is None):
            continue
        changed = total
        for name, axis in (*layout.outputs, *layout.channels):
            changed += _line(name, _opened(shapes[name], axis)) - _line(name, shapes[name])
        for network in layout.networks.get(_text(changed), ()):
            yield ExactMatch(network, outputs, channels)


def signature(shapes: Shapes, open_axes: tuple[Axis, ...]) -> str:
    """Return a digest over names and shapes in any order, with the sizes of some axes left open."""
    axes = dict(open_axes)
    return _text(
        sum(
            _line(name, _opened(shape, axes[name]) if name in axes else shape)
            for name, shape in shapes.items()
        )
    )


def _value(shapes: Shapes, axes: tuple[Axis, ...]) -> int | None:
    """Return the one size that all axes have; None where they differ or are not there."""
    sizes = {
        shapes[name][axis] if name in shapes and axis < len(shapes[name]) else None
        for name, axis in axes
    }
    return sizes.pop() if len(sizes) == 1 else None


def _opened(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], OPEN, *shape[axis + 1 :])


def _line(name: str, shape: tuple[int, ...]) -> int:
    if name.endswith(COUNTED):
        return 0
    text = f"{name} {','.join(map(str, shape))}"
    return int.from_bytes(
        blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little"
    )


def _text(total: int) -> str:
    return f"{total % 2**64:016x}"
