"""Which network a file's weights are of, how many classes and channels; no torch.

All tensors must have the names and shapes of the network, as `assets/architectures.json` has them;
what the file says of itself, and its name, only order networks that fit alike, or stand in where
none fits.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import Final

from core.checkpoints.names import renamings
from core.models.catalogue import ONNX, PUBLIC
from core.readers.weights.named_tensors import Hint, WeightGroup, WeightsFile

PATH: Final = Path(__file__).resolve().parents[2] / "assets" / "architectures.json"
COUNTED: Final = "num_batches_tracked"  # missing from old files
OPEN: Final = -1  # stands for a number of classes or channels
NEAR: Final = 6  # names that are listed
USUAL_SIZE: Final = (224, 224)
Shapes = Mapping[str, tuple[int, ...]]
Axis = tuple[str, int]  # a tensor and one of its axes


@dataclass(frozen=True)
class NetworkLayout:
    """Networks whose outputs and channels are sizes of the same tensors."""

    # outputs, channels: tensors and their axes; no channels where they cannot be chosen
    outputs: tuple[Axis, ...]
    channels: tuple[Axis, ...]
    networks: Mapping[str, tuple[str, ...]]  # names by signature


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
        for network in sorted(self.names(), key=lambda name: (name.startswith("timm:"), name)):
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
    # A sum of hashes does not depend on order, and opening one axis is a difference: so each file
    # is hashed once and compared with every layout.
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


MOST: Final = 20
SHOWN: Final = 60  # characters of what a file says of itself
COLOURS: Final = 3
LEAST_SIDE, MAX_SIDE = 8, 2_048  # of images that a file may say
NAMING: Final = frozenset(
    {"arch", "architecture", "model", "model_name", "model_arch", "backbone", "net", "network"}
    | {"encoder", "base_model"}
)
COUNTING: Final = frozenset({"num_classes", "n_classes", "num_labels", "num_outputs", "nb_classes"})
SIZING: Final = frozenset(
    {"img_size", "image_size", "imgsz", "input_size", "crop_size", "resolution"}
)
OF_FORM: Final = re.compile(
    r"_(cifar|released|akamaster|bearpaw|chenyaofo|kuangliu|huyvnphan|bmsookim|chengyangfu|xrv|monai)$"
)
TIMM: Final = frozenset({"version", "arch"})  # timm's trainer saves both


@dataclass(frozen=True, kw_only=True)
class NetworkCandidate:
    """A network that the weights may be of."""

    model: str  # as in `core.models.catalogue`
    n_outputs: int
    channels: int
    # (int, int) or None, height and width of its images; None where it takes any
    size: tuple[int, int] | None
    why: str  # what speaks for it, for people
    fits: bool  # whether all tensors have its names and shapes


def guess(file: WeightsFile, group: WeightGroup) -> tuple[NetworkCandidate, ...]:
    """Return the networks that a group may be of, the likeliest first; none where nothing tells.

    `group`: one of the file's.
    """
    if file.format == ONNX:
        keys = ("outputs", "channels", "height", "width")
        numbers = (file.hints.get(key) for key in keys)
        outputs, channels, height, width = (n if type(n) is int else 0 for n in numbers)
        onnx = NetworkCandidate(
            model=ONNX,
            n_outputs=outputs or 1,
            channels=channels or COLOURS,
            size=(height, width) if height and width else None,
            why="The file holds the network.",
            fits=True,
        )
        return (onnx,)
    index = shipped()
    # Names of networks that the file says or bears, with where; the surest first.
    hints: dict[str, str] = {}
    for key, value in file.hints.items():
        if isinstance(value, str) and key.rpartition(".")[2] in NAMING:
            # As timm has it now, without library and tag.
            plain = value.strip().lower().replace("-", "_").rpartition("/")[2].rpartition(":")[2]
            own = index.outdated.get(plain, plain).partition(".")[0]
            hints.setdefault(own, f"the file names {value[:SHOWN]} ({key[:SHOWN]})")
    stem = re.sub(r"[^a-z0-9]+", "_", PurePath(file.name).name.lower())
    # Between underscores only: resnet5 is not in resnet50.
    borne = {own for own in map(_own, index.names()) if f"_{own}_" in f"_{stem}_"}
    for own in sorted(borne, key=lambda own: (-len(own), own)):
        hints.setdefault(own, f"its file name contains {own}")
    # What fits under the most literal reading of the names under which anything does.
    shapes = {tensor.name: tensor.shape for tensor in group.tensors}
    # Lazy, from the literal names to the most rewritten: the first
    # reading under which anything fits ends it.
    readings = (
        list(lookup({new: shapes[old] for old, new in renaming.names.items()}, index))
        for renaming in renamings(shapes)
    )
    hits = [hit for hit in next(filter(None, readings), []) if _marked(hit, group) is not False]
    hits.sort(key=lambda hit: (not _marked(hit, group), _rank(hit.network, hints, file.hints)))
    if not hits:
        return tuple(_of_hints(file, group, hints, index))[:MOST]
    return tuple(_fitting(hit, hints, len(hits), index) for hit in hits[:MOST])


def stated_side(file: WeightsFile) -> int | None:
    """Return the side of the images in pixels that a file says; None where it says none."""
    sides = (
        value
        for key, value in file.hints.items()
        if key.rpartition(".")[2] in SIZING
        and type(value) is int
        and LEAST_SIDE <= value <= MAX_SIDE
    )
    return next(sides, None)


def _marked(hit: ExactMatch, group: WeightGroup) -> bool | None:
    """Whether a file has what tells a network from others of its tensors; None for the others."""
    names = [tensor.name for tensor in group.tensors]
    if hit.network == "densenet121_monai":
        return any(name.endswith("class_layers.out.weight") for name in names)
    if hit.network == "densenet121_xrv":
        findings = (hit.n_outputs, hit.channels) == (18, 1)
        return findings or any(name.endswith("op_threshs") for name in names)
    return None


def _fitting(
    hit: ExactMatch, hints: Mapping[str, str], alike: int, index: LayoutIndex
) -> NetworkCandidate:
    own = _own(hit.network)
    why = f"All tensors fit, and {hints[own]}." if own in hints else "All tensors fit."
    if alike > 1:
        others = "1 other network fits" if alike == 2 else f"{alike - 1} other networks fit"
        why += f" {others} too."
    channels = COLOURS if hit.channels is None else hit.channels
    return NetworkCandidate(
        model=hit.network,
        n_outputs=hit.n_outputs,
        channels=channels,
        size=index.size(hit.network),
        why=why,
        fits=True,
    )


def _of_hints(
    file: WeightsFile, group: WeightGroup, hints: Mapping[str, str], index: LayoutIndex
) -> Iterator[NetworkCandidate]:
    """Yield networks by their names, where no network has these tensors."""
    # The number of classes that the file says, or that its last matrix has.
    counts = (
        value
        for key, value in file.hints.items()
        if key.rpartition(".")[2] in COUNTING and type(value) is int and value > 0
    )
    matrices = [tensor.shape for tensor in group.tensors if len(tensor.shape) == 2]
    # The last matrix of most networks is the classifier.
    outputs = next(counts, [1, *(shape[0] for shape in matrices if shape[0])][-1])
    # And the first convolution sees the image's channels.
    stems = [tensor.shape[1] for tensor in group.tensors if len(tensor.shape) == 4]
    channels = stems[0] if stems and 0 < stems[0] <= COLOURS else COLOURS
    names = [name for name in index.names() - PUBLIC.keys() if _own(name) in hints]
    for name in sorted(names, key=lambda name: _rank(name, hints, file.hints)):
        hint = hints[_own(name)]
        why = f"{hint[:1].upper()}{hint[1:]}, but the tensors have other names or shapes."
        yield NetworkCandidate(
            model=name,
            n_outputs=outputs,
            channels=channels,
            size=index.size(name),
            why=why,
            fits=False,
        )


def _rank(
    network: str, hints: Mapping[str, str], file_hints: Mapping[str, Hint]
) -> tuple[int, bool, int, str]:
    """Order networks that fit alike: named first, then by the library that saves so, then short."""
    own = _own(network)
    order = list(hints).index(own) if own in hints else len(hints)
    # timm's trainer saves `version` and `arch`: with them its
    # form comes first, without them the other.
    of_timm = network.startswith("timm:")
    return order, of_timm != (file_hints.keys() >= TIMM), len(own), network


def _own(network: str) -> str:
    """Return the name without library, or what tells our forms of it apart."""
    return OF_FORM.sub("", network.rpartition(":")[2])
