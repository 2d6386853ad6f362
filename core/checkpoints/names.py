"""Ways to read the names of tensors, and how the tensors fit a network; no torch.

Every reading accounts for every tensor: it is renamed, or left aside for a reason that is said.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.errors import Refused
from core.models.catalogue import ONNX
from core.readers.weights.named_tensors import TEMPERATURE

Shape = tuple[int, ...]
# Around the whole network: DataParallel, torch.compile, Lightning Fabric, EMA of timm.
WRAPPERS: Final = ("module.", "_orig_mod.", "_forward_module.")
SHOWN: Final = 10  # names of tensors in a refusal
MAX_PREFIXES: Final = 3  # one inside the other
LARGE: Final = 0.3  # share of the tensors from which a first part of names may be the network
# Beside a network in the state of a training: losses, measures, copies of the network.
TRAINING_PARTS: Final = re.compile(
    r"(^|_)(criterion|loss|losses|metrics?|acc|accuracy|auroc|auc|f1|confmat|ema|teacher|averaged|swa)"
    r"(_|\d|$)"
)
# Tensors that are no weights, by name and shape together: (why, name, which shapes).
NO_WEIGHTS: Final[tuple[tuple[str, re.Pattern[str], Callable[[Shape], bool]], ...]] = (
    (
        "counters of averaged weights",
        re.compile(
            r"(^|\.)(n_averaged|num_updates|n_updates|updates|ema_decay|decay|initted|(global_)?step)$"
        ),
        lambda shape: math.prod(shape) == 1,
    ),
    ("it divides logits", TEMPERATURE, lambda shape: math.prod(shape) == 1),
    (
        "weights of classes or thresholds",
        re.compile(
            r"(^|\.)((class|cls|classes|label)_weights?|pos_weights?|weights?_per_class"
            r"|(class_)?priors?|op_threshs|thresholds?)$"
        ),
        lambda shape: sum(n > 1 for n in shape) <= 1,
    ),
    (
        "states of losses and measures",
        re.compile(
            r"(^|[._])(criterion|loss|losses|metrics?|acc|accuracy|auroc|auc|f1|ece|nll|confmat"
            r"|calibration_error)([._\d]|$)"
        ),
        lambda shape: len(shape) < 2 or (len(shape) == 2 and shape[0] == shape[1]),
    ),
)
AUXILIARY: Final = re.compile(r"(AuxLogits|aux[12])\.")  # heads that only train, in two networks
OLD_DENSENET: Final = re.compile(r"^(.*denselayer\d+\.(?:norm|relu|conv))\.([12]\..+)$")
FEATURES: Final = re.compile(r"(?<=^features\.)module\.")  # DataParallel around them alone
MONAI_LAYER: Final = re.compile(r"(denselayer\d+)\.layers(?=\.(?:norm|conv))")
MONAI_HEAD: Final = re.compile(r"^class_layers\.out\.")
FEW: Final = 3  # names that a step gives
HEADS: Final = ("classifier", "fc", "head", "linear")


@dataclass(frozen=True)
class Renaming:
    """One way to read names."""

    steps: tuple[str, ...]  # what was done, for people; empty when names are taken as they are
    names: Mapping[str, str]  # from names in the file to names in the network
    left: tuple[str, ...] = ()  # names in the file of tensors that are no part of the network


def renamings(shapes: Mapping[str, Shape]) -> tuple[Renaming, ...]:
    """Return the ways to read the names of a group's tensors, the most literal first."""
    distinct: dict[tuple[tuple[str, str], ...], Renaming] = {}
    literal = Renaming((), {name: name for name in shapes})
    # Without what name and shape together say is no weight of a network.
    left: dict[str, list[str]] = {}
    for name, shape in shapes.items():
        for why, named, fits in NO_WEIGHTS:
            if named.search(name) and fits(shape):
                left.setdefault(why, []).append(name)
                break
    steps = tuple(f"{few(names, FEW)} not used ({why})" for why, names in left.items())
    out = tuple(name for names in left.values() for name in names)
    weights = Renaming(steps, {name: name for name in shapes if name not in out}, out)
    for first in (literal, weights):
        for renaming in _without_prefixes(_unwrapped(first), 0):
            for other in _layouts(renaming):
                distinct.setdefault(tuple(other.names.items()), other)
    return tuple(distinct.values())


def few(names: Sequence[str], most: int) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


@dataclass(frozen=True)
class Match:
    """How the tensors of a file fit a network."""

    model: str
    n_outputs: int
    # matched, total: tensors of the network that the file holds in the right shape, and all it
    # needs
    matched: int
    total: int
    renamed: str  # what was done to the names, for people; empty when nothing was
    # Tensors of the file that are no part of the network, by a reason that `renamed` says
    left: tuple[str, ...]
    # missing, unexpected, mismatched: tensors that only the network has, that only the file has,
    # and those of another shape or kind, with both
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[str, ...]
    likely_outputs: int | None  # what the last layer in the file has, where it could be told

    @property
    def ok(self) -> bool:
        """Whether every tensor of the network and of the file found its own."""
        return self.wrong == 0

    @property
    def wrong(self) -> int:
        """How many tensors did not find their own."""
        return len(self.missing) + len(self.unexpected) + len(self.mismatched)

    @property
    def other_outputs(self) -> int | None:
        """The number of outputs that the file's last layer has, where another was asked for."""
        return None if self.likely_outputs == self.n_outputs else self.likely_outputs

    def refusal(self) -> Refused:
        """Return why the weights are not loaded: what is missing, unexpected and mismatched."""
        if self.model == ONNX:
            what = f"The model gives {self.likely_outputs} outputs, not {self.n_outputs}"
            return Refused("STATE_DICT", what, self._remedy())
        parts = [
            f"The weights do not fit {self.model} with {self.n_outputs} outputs: "
            f"{self.matched} of {self.total} tensors do"
        ]
        lists = {
            "missing": self.missing,
            "unexpected": self.unexpected,
            "another shape": self.mismatched,
        }
        parts += [
            f"{title} ({len(names)}): {few(names, SHOWN)}"
            for title, names in lists.items()
            if names
        ]
        parts.append(f"renaming tried: {self.renamed or 'none was needed'}")
        return Refused("STATE_DICT", ". ".join(parts), self._remedy())

    def _remedy(self) -> str:
        if self.other_outputs is not None:
            return f"give {self.other_outputs} outputs, the number that the file's last layer has"
        return "choose the network that the weights were made for"


def _unwrapped(renaming: Renaming) -> Renaming:
    """Take off wrappers, in whatever order they were put around the network."""
    while renaming.names:
        prefix = next(
            (w for w in WRAPPERS if all(n.startswith(w) for n in renaming.names.values())), ""
        )
        if not prefix:
            break
        renaming = _stripped(renaming, prefix)
    return renaming


def _stripped(renaming: Renaming, prefix: str) -> Renaming:
    """Take a prefix off; names without it are left aside."""
    inside = {k: n.removeprefix(prefix) for k, n in renaming.names.items() if n.startswith(prefix)}
    outside = tuple(k for k in renaming.names if k not in inside)
    steps = (*renaming.steps, f"the prefix “{prefix}” was removed")
    if outside:
        parts = dict.fromkeys(renaming.names[k].partition(".")[0] for k in outside)
        steps = (*steps, f"{', '.join(f'“{part}.”' for part in parts)} not used")
    return Renaming(steps, inside, (*renaming.left, *outside))


def _without_prefixes(renaming: Renaming, depth: int) -> Iterator[Renaming]:
    """Yield the names as they are, then inside each first part that may hold the network."""
    yield renaming
    if depth == MAX_PREFIXES:
        return
    # First parts that hold much, where all else may lie beside a network.
    names = list(renaming.names.values())
    counts = Counter(name.partition(".")[0] for name in names if "." in name)
    for part, count in counts.most_common():
        others = (name.partition(".")[0] for name in names if not _in(name, part))
        if count >= LARGE * len(names) and all(map(TRAINING_PARTS.search, others)):
            inside = _unwrapped(_stripped(renaming, f"{part}."))
            yield from _without_prefixes(inside, depth + 1)


def _in(name: str, part: str) -> bool:
    return name.startswith(f"{part}.")


def _layouts(renaming: Renaming) -> Iterator[Renaming]:
    """Yield a reading, and what it is under the names that other code gives the same layers."""
    renaming = _renamed(renaming, FEATURES, "", "the wrapper around features was removed")
    monai = _renamed(renaming, MONAI_LAYER, r"\1", "names of MONAI")
    renaming = _renamed(monai, MONAI_HEAD, "classifier.", "class_layers.out is classifier")
    renaming = _renamed(
        renaming, OLD_DENSENET, r"\1\2", "norm.1 is norm1, conv.2 is conv2 (old DenseNet)"
    )
    both = [renaming]
    left = tuple(key for key, name in renaming.names.items() if AUXILIARY.match(name))
    if left:
        names = {key: name for key, name in renaming.names.items() if key not in left}
        steps = (*renaming.steps, "heads that only serve training (aux) not used")
        both.append(Renaming(steps, names, (*renaming.left, *left)))
    for other in both:
        yield other
        for pattern, new, step in _alternatives(list(other.names.values())):
            yield _renamed(other, pattern, new, step)


def _alternatives(names: list[str]) -> Iterator[tuple[re.Pattern[str], str, str]]:
    for head in HEADS:
        parts = {name.split(".")[1] for name in names if _in(name, head) and name.count(".") > 1}
        if len(parts) == 1 and f"{head}.weight" not in names:
            (part,) = parts
            step = f"{head}.{part} is {head}; what followed that layer, such as a sigmoid, is not"
            yield re.compile(rf"^{head}\.{re.escape(part)}\."), f"{head}.", f"{step} applied"
    if any(".downsample." in name for name in names):
        yield re.compile(r"\.downsample\."), ".shortcut.", "downsample is shortcut"
    if any(".shortcut." in name for name in names) and "linear.weight" in names:
        yield re.compile(r"^linear\."), "fc.", "linear is fc"


def _renamed(renaming: Renaming, pattern: re.Pattern[str], new: str, step: str) -> Renaming:
    names = {key: pattern.sub(new, name) for key, name in renaming.names.items()}
    if names == renaming.names or len(set(names.values())) < len(names):
        return renaming
    return Renaming((*renaming.steps, step), names, renaming.left)
