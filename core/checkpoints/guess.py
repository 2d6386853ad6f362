"""Which network a file's weights are of, how many classes and channels; no torch.

All tensors must have the names and shapes of the network; what the file says of itself, and its
name, only order networks that fit alike, or stand in where none fits.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from core.checkpoints.index import ExactMatch, LayoutIndex, lookup, shipped
from core.checkpoints.names import renamings
from core.models.catalogue import ONNX, PUBLIC
from core.readers.weights.named_tensors import Hint, WeightGroup, WeightsFile

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
    """A network that the weights may be of.

    Attributes
    ----------
    model : str
        As in `core.models.catalogue`.
    n_outputs, channels : int
    size : (int, int) or None
        Height and width of its images; None where it takes any.
    why : str
        What speaks for it, for people.
    fits : bool
        Whether all tensors have its names and shapes.
    """

    model: str
    n_outputs: int
    channels: int
    size: tuple[int, int] | None
    why: str
    fits: bool


def guess(file: WeightsFile, group: WeightGroup) -> tuple[NetworkCandidate, ...]:
    """Return the networks that a group may be of, the likeliest first; none where nothing tells.

    Parameters
    ----------
    file : WeightsFile
    group : WeightGroup
        One of the file's.
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
    borne = {own for own in map(_own, index.names()) if f"_{own}_" in f"_{stem}_"}
    for own in sorted(borne, key=lambda own: (-len(own), own)):
        hints.setdefault(own, f"its file name contains {own}")
    # What fits under the most literal reading of the names under which anything does.
    shapes = {tensor.name: tensor.shape for tensor in group.tensors}
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
    outputs = next(counts, [1, *(shape[0] for shape in matrices if shape[0])][-1])
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
    of_timm = network.startswith("timm:")
    return order, of_timm != (file_hints.keys() >= TIMM), len(own), network


def _own(network: str) -> str:
    """Return the name without library, or what tells our forms of it apart."""
    return OF_FORM.sub("", network.rpartition(":")[2])
