"""Whether tensors fit a network, all of them or not at all, and loading them; torch."""

import inspect
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Final

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from core.checkpoints.names import Match, renamings
from core.models.build import build, input_size, last_layer, outline
from core.readers.weights.named_tensors import TensorInfo

MATCHED: Final = 2  # networks whose names are compared, of those alike in shapes
SIZE: Final = (224, 224)  # of images; most tensors do not depend on it
MOST_OF: Final = 0.5  # the tensors of a network that is named as the nearest
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


def match(
    tensors: Sequence[TensorInfo],
    model: str,
    *,
    n_outputs: int,
    channels: int,
    size: tuple[int, int],
) -> Match:
    """Return how tensors fit a network, under the reading of their names that fits best.

    `tensors`: a group of a file of weights; `model`, `n_outputs`, `channels`, `size`: as of
    `core.models.build.build`.

    Raises UsageError SETTING: the network cannot be made.
    """
    net = outline(model, n_outputs=n_outputs, channels=channels, size=size)
    empty = {t.name: torch.empty(t.shape, dtype=DTYPES[t.dtype], device="meta") for t in tensors}
    return fitted(empty, net, model, n_outputs)[0]


def nearest(tensors: Sequence[TensorInfo], models: Iterable[str], n_outputs: int) -> Match | None:
    """Return how tensors fit the network they come closest to; None where most fit none.

    `n_outputs`: a first guess; what the last layer has is tried, too.
    """
    stems = [tensor.shape[1] for tensor in tensors if len(tensor.shape) == 4]
    channels = stems[0] if stems and 0 < stems[0] < 5 else 3
    shapes = Counter(tensor.shape for tensor in tensors)

    def off(model: str) -> int:
        """Return how many tensors have shapes of their own, whatever they are called."""
        net = outline(model, n_outputs=n_outputs, channels=channels, size=input_size(model, SIZE))
        own = Counter(tuple(tensor.shape) for tensor in net.state_dict().values())
        return ((own - shapes) + (shapes - own)).total()

    # Cheap first: shapes alone, as sets with counts, order all
    # networks; names are compared for the nearest few.
    best: Match | None = None
    for model in nsmallest(MATCHED, models, key=off):
        size = input_size(model, SIZE)
        candidate = match(tensors, model, n_outputs=n_outputs, channels=channels, size=size)
        if candidate.likely_outputs not in (None, 0, n_outputs):
            likely = candidate.likely_outputs or 1
            candidate = match(tensors, model, n_outputs=likely, channels=channels, size=size)
        if best is None or candidate.wrong < best.wrong:
            best = candidate
    return best if best is not None and best.matched > MOST_OF * best.total else None


def fitted(
    tensors: Tensors, net: nn.Module, model: str, n_outputs: int
) -> tuple[Match, dict[str, Tensor]]:
    """Return the best match and the tensors under the network's names."""
    net_tensors = net.state_dict()
    layer = last_layer(net)
    last = next(name for name, module in net.named_modules() if module is layer)
    best: tuple[Match, dict[str, Tensor]] | None = None
    # From the literal names on; the first reading under which all tensors fit is taken.
    for renaming in renamings({name: tuple(tensor.shape) for name, tensor in tensors.items()}):
        renamed = {new: tensors[old] for old, new in renaming.names.items()}
        readings = [(renaming.steps, renamed)]
        older = _from_older_layout(renamed, net)
        if older is not None:
            readings.append(((*renaming.steps, "timm's own rule for older files"), older))
        for steps, file_tensors in readings:
            steps_and_left = "; ".join(steps), renaming.left
            match = _compared(file_tensors, net_tensors, (model, n_outputs), steps_and_left, last)
            if match.ok:
                return match, file_tensors
            if best is None or match.wrong < best[0].wrong:
                best = match, file_tensors
    assert best is not None
    return best


def _from_older_layout(file_tensors: dict[str, Tensor], net: nn.Module) -> dict[str, Tensor] | None:
    """Return what timm makes of an older file, where that changes names alone.

    None where timm has no rule, where it changes numbers, and where it goes by the order of the
    tensors: given another one it would load them into wrong places.
    """
    module = sys.modules[type(net).__module__]
    rule = getattr(module, "checkpoint_filter_fn", None) or getattr(module, "_filter_fn", None)
    if not module.__name__.startswith("timm.") or rule is None:
        return None
    n_arguments = len(inspect.signature(rule).parameters)
    try:
        # Run twice, in two orders: a rule that counts tensors gives
        # different answers, and is not trusted.
        converted, other = (
            rule(*(tensors, net)[:n_arguments])
            for tensors in (dict(file_tensors), dict(reversed(file_tensors.items())))
        )
    except Exception:  # noqa: BLE001  a rule for other names than these may raise anything
        return None
    if not isinstance(converted, dict):
        return None
    # As many numbers before and after, or the rule resamples positions or drops a head.
    if _count(converted) != _count(file_tensors):
        return None
    # The same tensors, or made alike; without numbers only shapes can tell
    alike = converted.keys() == other.keys() and all(
        a is b or (a.shape == b.shape and (a.is_meta or torch.equal(a, b)))
        for a, b in ((converted[name], other[name]) for name in converted)
    )
    return converted if alike else None


def _count(tensors: Tensors) -> int:
    return sum(
        math.prod(tensor.shape) for name, tensor in tensors.items() if not REMADE.search(name)
    )


def _compared(
    file_tensors: Tensors,
    net_tensors: Tensors,
    model_and_outputs: tuple[str, int],
    steps_and_left: tuple[str, tuple[str, ...]],
    last: str,
) -> Match:
    # What is missing or left over is refused as a whole: a network with some random weights would
    # still answer, and nobody would see why it is bad.
    missing = tuple(n for n in net_tensors if n not in file_tensors and not n.endswith(COUNTED))
    unexpected = tuple(n for n in file_tensors if n not in net_tensors)
    both = [n for n in net_tensors if n in file_tensors]
    mismatched = []
    for name in both:
        stored, needed = file_tensors[name], net_tensors[name]
        if stored.shape != needed.shape:
            shapes = f"{tuple(stored.shape)} in the file, {tuple(needed.shape)} in the network"
            mismatched.append(f"{name} {shapes}")
        elif stored.is_floating_point() != needed.is_floating_point():
            mismatched.append(f"{name} {stored.dtype} in the file, {needed.dtype} in the network")
    # The outputs of the last layer in the file, if it is that layer but for them.
    weight, likely_outputs = file_tensors.get(f"{last}.weight"), None
    if weight is not None and weight.ndim:
        alike = weight.shape[1:] == net_tensors[f"{last}.weight"].shape[1:]
        likely_outputs = int(weight.shape[0]) if alike else None
    return Match(
        *model_and_outputs,
        len(both) - len(mismatched),
        len(both) + len(missing),
        *steps_and_left,
        missing,
        unexpected,
        tuple(mismatched),
        likely_outputs,
    )


def load(
    path: Path, model: str, *, n_outputs: int, channels: int, size: tuple[int, int]
) -> nn.Module:
    """Return a network in evaluation mode, on the CPU, with all weights of a file.

    `path`: a safetensors file, as `core.readers.sandbox.read.read_weights` leaves them; `model`,
    `n_outputs`, `channels`, `size`: as of `core.models.build.build`.

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
    # Old files have no counters of batch norm; all else is strict.
    counters = {name: tensor for name, tensor in net.state_dict().items() if name.endswith(COUNTED)}
    net.load_state_dict({**counters, **tensors}, strict=True)
    return net.eval()
