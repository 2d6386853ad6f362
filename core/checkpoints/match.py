"""Whether tensors fit a network, all of them or not at all; torch, without a single number read."""

import inspect
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

from core.checkpoints.names import Renaming, renamings
from core.errors import Refused
from core.models.build import last_layer, outline
from core.readers.weights import TensorInfo

SHOWN: Final = 10
COUNTED: Final = "num_batches_tracked"  # no part of an answer; torch before 0.4.1 had none
DTYPES: Final = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
    "U64": torch.uint64, "U32": torch.uint32, "U16": torch.uint16, "U8": torch.uint8,
    "BOOL": torch.bool,
}  # fmt: skip
# Made anew by present networks, where older ones saved them.
REMADE: Final = re.compile(
    r"(attn_mask|relative_position_index|relative_coords_table|attention_bias_idxs"
    rf"|{COUNTED})$"
)
Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class Match:
    """How the tensors of a file fit a network.

    Attributes
    ----------
    model : str
    n_outputs : int
    matched, total : int
        Tensors of the network that the file holds in the right shape, and all it needs.
    renamed : str
        What was done to the names, for people; empty when nothing was.
    left : tuple of str
        Tensors of the file that are no part of the network, by a reason that `renamed` says.
    missing, unexpected, mismatched : tuple of str
        Tensors that only the network has, that only the file has, and those of another shape or
        kind, with both.
    likely_outputs : int or None
        What the last layer in the file has, where it could be told.
    """

    model: str
    n_outputs: int
    matched: int
    total: int
    renamed: str
    left: tuple[str, ...]
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[str, ...]
    likely_outputs: int | None

    @property
    def ok(self) -> bool:
        """Whether every tensor of the network and of the file found its own."""
        return self.wrong == 0

    @property
    def wrong(self) -> int:
        """How many tensors did not find their own."""
        return len(self.missing) + len(self.unexpected) + len(self.mismatched)

    def refusal(self) -> Refused:
        """Return why the weights are not loaded: what is missing, unexpected and mismatched."""
        parts = [
            f"the weights do not fit {self.model} with {self.n_outputs} outputs: "
            f"{self.matched} of {self.total} tensors do"
        ]
        lists = {
            "missing": self.missing,
            "unexpected": self.unexpected,
            "another shape": self.mismatched,
        }
        parts += [f"{title} ({len(one)}): {_shown(one)}" for title, one in lists.items() if one]
        parts.append(f"renaming tried: {self.renamed or 'none was needed'}")
        return Refused("STATE_DICT", ". ".join(parts), self._remedy())

    def _remedy(self) -> str:
        if self.likely_outputs not in (None, self.n_outputs):
            return f"the file's last layer has {self.likely_outputs} outputs: give that number"
        return "choose the network that the weights were made for"

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Match":
        """Return what `to_json` gave."""
        lists = ("left", "missing", "unexpected", "mismatched")
        return cls(**{**data, **{key: tuple(data[key]) for key in lists}})


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def match(
    tensors: Sequence[TensorInfo],
    model: str,
    *,
    n_outputs: int,
    channels: int,
    size: tuple[int, int],
) -> Match:
    """Return how tensors fit a network, under the reading of their names that fits best.

    Parameters
    ----------
    tensors : sequence of TensorInfo
        A group of a file of weights.
    model, n_outputs, channels, size
        As of `core.models.build.build`.

    Raises
    ------
    UsageError
        SETTING: the network cannot be made.
    """
    net = outline(model, n_outputs=n_outputs, channels=channels, size=size)
    empty = {t.name: torch.empty(t.shape, dtype=DTYPES[t.dtype], device="meta") for t in tensors}
    return fitted(empty, net, model, n_outputs)[0]


def fitted(
    tensors: Tensors, net: nn.Module, model: str, n_outputs: int
) -> tuple[Match, dict[str, Tensor]]:
    """Return the best match and the tensors under the network's names."""
    wanted = net.state_dict()
    last = _name_of(net, last_layer(net))
    best: tuple[Match, dict[str, Tensor]] | None = None
    for renaming in renamings(list(tensors)):
        for said, found in _readings(renaming, tensors, net):
            one = _compared(found, wanted, (model, n_outputs), (said, renaming.left), last)
            if one.ok:
                return one, found
            if best is None or one.wrong < best[0].wrong:
                best = one, found
    assert best is not None
    return best


def _readings(
    renaming: Renaming, tensors: Tensors, net: nn.Module
) -> list[tuple[str, dict[str, Tensor]]]:
    """Return the tensors renamed, and what the network's own rule for older files makes of them."""
    found = {new: tensors[old] for old, new in renaming.names.items()}
    said = "; ".join(renaming.said)
    older = _from_older_layout(found, net)
    if older is None:
        return [(said, found)]
    return [(said, found), ("; ".join((*renaming.said, "timm's own rule for older files")), older)]


def _from_older_layout(found: dict[str, Tensor], net: nn.Module) -> dict[str, Tensor] | None:
    """Return what timm makes of an older file, where that changes names alone.

    None where timm has no rule, where it changes numbers, and where it goes by the order of the
    tensors: given another one it would load them into wrong places.
    """
    module = sys.modules[type(net).__module__]
    rule = getattr(module, "checkpoint_filter_fn", None) or getattr(module, "_filter_fn", None)
    if not module.__name__.startswith("timm.") or rule is None:
        return None
    taken = len(inspect.signature(rule).parameters)
    try:
        made, other = (
            rule(*(tensors, net)[:taken])
            for tensors in (dict(found), dict(reversed(found.items())))
        )
    except Exception:  # noqa: BLE001  a rule for other names than these may raise anything
        return None
    if not isinstance(made, dict) or _count(made) != _count(found):  # resampled, or dropped
        return None
    return made if _assigned_alike(made, other) else None


def _assigned_alike(one: Tensors, other: Tensors) -> bool:
    return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are the same, or made alike; without numbers only shapes can tell."""
    if one is other:
        return True
    return one.shape == other.shape and (one.is_meta or torch.equal(one, other))


def _count(tensors: Tensors) -> int:
    return sum(math.prod(one.shape) for name, one in tensors.items() if not REMADE.search(name))


def _compared(
    found: Tensors,
    wanted: Tensors,
    named: tuple[str, int],
    done: tuple[str, tuple[str, ...]],
    last: str,
) -> Match:
    missing = tuple(n for n in wanted if n not in found and not n.endswith(COUNTED))
    unexpected = tuple(n for n in found if n not in wanted)
    both = [n for n in wanted if n in found]
    mismatched = tuple(
        _difference(n, found[n], wanted[n]) for n in both if _differ(found[n], wanted[n])
    )
    return Match(
        *named,
        len(both) - len(mismatched),
        len(both) + len(missing),
        *done,
        missing,
        unexpected,
        mismatched,
        _outputs(found, wanted, last),
    )


def _differ(one: Tensor, other: Tensor) -> bool:
    return one.shape != other.shape or one.is_floating_point() != other.is_floating_point()


def _difference(name: str, one: Tensor, other: Tensor) -> str:
    if one.shape != other.shape:
        return f"{name} {tuple(one.shape)} in the file, {tuple(other.shape)} in the network"
    return f"{name} {one.dtype} in the file, {other.dtype} in the network"


def _outputs(found: Tensors, wanted: Tensors, last: str) -> int | None:
    """Return the outputs of the last layer in the file, if it is that layer but for them."""
    one = found.get(f"{last}.weight")
    if one is None or one.ndim == 0 or one.shape[1:] != wanted[f"{last}.weight"].shape[1:]:
        return None
    return int(one.shape[0])


def _name_of(net: nn.Module, layer: nn.Module) -> str:
    names: dict[nn.Module, str] = {one: name for name, one in net.named_modules()}
    return names[layer]
