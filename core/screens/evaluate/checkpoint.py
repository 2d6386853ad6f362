"""What a file of weights holds, and whether it fits a network, as a page says it; no torch."""

import math
from typing import Final

from core.checkpoints.names import Match
from core.models.catalogue import ONNX, OURS
from core.readers.weights.named_tensors import WeightGroup, WeightsFile
from core.readers.weights.onnx_file import MODEL
from core.screens.kit.numbers import count, three
from core.screens.kit.records import Column, Table

SHOWN: Final = 10
FORMATS: Final = {
    "torch": "PyTorch",
    "torch-legacy": "PyTorch before 1.6",
    "safetensors": "safetensors",
    "onnx": "ONNX",
}
TITLES: Final = {
    "missing": ("Missing", "the network has them, the file does not"),
    "unexpected": ("Unexpected", "the file has them, the network does not"),
    "mismatched": ("Different shape", "both have them, in different shapes"),
    "left": ("Not used", "in the file, but not part of the network"),
}


def model_label(model: str) -> str:
    """Return the printed name of a network."""
    if model in OURS:
        return OURS[model].label
    if model == ONNX:
        return "ONNX model"
    library, _, name = model.partition(":")
    return f"{name} from {library}"


def plain_fit_words(fit: Match) -> str:
    """Return in a sentence without terms that the weights fit."""
    return f"The weights fit {model_label(fit.model)} with {fit.n_outputs} classes."


def fit_words(fit: Match) -> str:
    """Return in a sentence whether the weights fit."""
    if fit.model == ONNX:
        known = fit.n_outputs if fit.likely_outputs is None else fit.likely_outputs
        runs = f"The model runs and gives {known} outputs"
        return f"{runs}." if fit.ok else f"{runs}, not {fit.n_outputs}."
    network = f"{model_label(fit.model)} with {fit.n_outputs} outputs"
    steps = (f" {step[:1].upper()}{step[1:]}." for step in fit.renamed.split("; ") if step)
    renamed = "".join(steps)
    if fit.ok:
        all_ = "The one tensor fits" if fit.total == 1 else f"All {count(fit.total)} tensors fit"
        return f"{all_} {network}.{renamed}"
    fitting = f"{count(fit.matched)} of {count(fit.total)} tensors fit {network}"
    return f"{fitting}. Every tensor must fit.{renamed}"


def lists(fit: Match) -> dict[str, tuple[str, ...]]:
    """Return the names of tensors that found no place, by a key of TITLES; only what there is."""
    return {key: names for key in TITLES if (names := getattr(fit, key))}


def shown(names: tuple[str, ...]) -> str:
    """Return the first names, one a line, and how many more there are."""
    more = len(names) - SHOWN
    return "\n".join([*names[:SHOWN], *([f"and {count(more)} more"] if more > 0 else [])])


def all_names(fit: Match) -> Table:
    """Return every tensor that found no place, for a file."""
    columns = (Column("list", "list"), Column("tensor", "tensor"))
    return Table(columns, tuple((key, name) for key in lists(fit) for name in lists(fit)[key]))


def n_numbers(group: WeightGroup) -> int:
    """Return how many numbers the tensors of a group hold."""
    return sum(math.prod(tensor.shape) for tensor in group.tensors)


def group_label(group: WeightGroup) -> str:
    """Return the name of a group, and that it is an average where it is."""
    name = group.key or "all of it"
    return f"{name}, averaged (EMA)" if group.ema else name


def group_words(group: WeightGroup) -> str:
    """Return what a group holds."""
    n = len(group.tensors)
    if group.tensors[0].name == MODEL:
        return f"{n_numbers(group) / 1e6:.1f} MB"
    return f"{count(n)} tensor{'' if n == 1 else 's'}, {millions(n_numbers(group))} numbers"


def millions(n: int) -> str:
    """Return a large count in millions."""
    return f"{three(n / 1e6)} million" if n >= 1e5 else count(n)


def file_words(file: WeightsFile) -> str:
    """Return what a file is."""
    if file.format == ONNX:
        return f"ONNX, {count(int(file.hints['nodes']))} nodes, digest {file.digest[:8]}"
    groups = "1 group of tensors" if len(file.groups) == 1 else f"{len(file.groups)} groups"
    return f"{FORMATS[file.format]}, {groups}, digest {file.digest[:8]}"


def hints(file: WeightsFile) -> Table:
    """Return what was saved beside the weights."""
    columns = (Column("key", "saved beside"), Column("value", "value"))
    return Table(columns, tuple((key, str(value)) for key, value in file.hints.items()))
