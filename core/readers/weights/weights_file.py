"""Files of weights: the named tensors of torch.save and safetensors, and what lies beside them.

Stricter than torch with weights only, and without torch: names outside a fixed table, sizes that
the bytes do not bear out, compressed storages and programs are refused.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from core.codes import NoticeCode, RefusalCode
from core.errors import Notice, Refused
from core.readers.formats.archive import Archive
from core.readers.formats.contents import COPY_AGAIN, Entry, FileBytes
from core.readers.formats.parse import HARMFUL, MAX_NAME
from core.readers.formats.sniff import (
    AS_ONNX,
    EXPORT,
    EXPORTED,
    ONNX,
    FileFormat,
    model_of,
    packed_model,
    sniff,
)
from core.readers.pickles.torch_file import (
    MAX_TENSORS,
    PARAMETERS,
    Arguments,
    SavedTensors,
    Storage,
    Tensor,
    is_legacy,
    is_torch,
    open_legacy,
    open_torch,
)
from core.readers.weights.named_tensors import (
    LEAST_TEMPERATURE,
    MOST_TEMPERATURE,
    TEMPERATURE,
    Hint,
    TensorInfo,
    WeightGroup,
    named,
    open_safetensors,
)
from core.readers.weights.onnx_file import MODEL, read_onnx

MAX_DEPTH: Final = 4
MAX_GROUPS: Final = 16
MAX_NAMES: Final = 20_000  # of tensors, in all groups together
MAX_LETTERS: Final = 2_000_000  # of these names
MAX_HINTS: Final = 200
MAX_TEXT: Final = 200
SHARED: Final = 2  # times the file's size that all groups may take: tensors may share storages
SLACK: Final = 2**20
HEAD: Final = 16  # bytes that tell what other programs write
TAR = slice(257, 262)  # where a tar archive has its mark
EMA: Final = re.compile(r"(^|[._])(ema|swa|averaged?)([._]|$)")
AVERAGED: Final = "n_averaged"  # counts the states of torch.optim.swa_utils.AveragedModel
BESIDE: Final = frozenset(
    {"optimizer", "optimizers", "optimizer_states", "lr_schedulers", "scheduler", "lr_scheduler"}
    | {"loops", "callbacks", "amp_scaler", "scaler"}
)
CONVERT: Final = (
    "if you trust the file, run `python assets/convert_checkpoint.py FILE` "
    "and give the .safetensors that it writes"
)
CONVERTIBLE: Final = (  # of refusals: what the converter makes plain weights of
    RefusalCode.TORCHSCRIPT,
    RefusalCode.PICKLE_SHAPE,
    RefusalCode.DTYPE,
    RefusalCode.OBJECT_DTYPE,
)
PREDICTIONS: Final = "give a file of weights here, and predictions under Runs"


@dataclass(frozen=True)
class StoredGroup:
    """A group, and what returns the numbers of its tensors by their names."""

    group: WeightGroup
    numbers: Callable[[str], Entry]


@dataclass(frozen=True)
class StoredWeights:
    """What a file of weights holds, before its numbers are read."""

    format: str
    groups: tuple[StoredGroup, ...]
    hints: Mapping[str, Hint] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()


def read_weights_file(source: FileBytes) -> StoredWeights:
    """Return the groups of a file of weights, the best first.

    Raises Refused STATE_DICT: no weights in it. FORMAT_UNKNOWN: a model of another program, with
    how to export it. TORCHSCRIPT, PICKLE_GLOBAL: a program or a pickled network, with how to
    convert it. Any other code of torch files, archives and safetensors.
    """
    if bytes(source.data[TAR]) == b"ustar":
        raise Refused("FORMAT_UNKNOWN", "A tar archive, as torch 0.1 wrote", CONVERT)
    model = model_of(bytes(source.data[:HEAD]))
    if model == ONNX:
        return _of_onnx(source.array(0, np.dtype(np.uint8), (source.size,)))
    if model:
        raise _foreign(model)
    form = sniff(source)
    if form is FileFormat.SAFETENSORS:
        infos, numbers = open_safetensors(source)
        if [(info.name, info.dtype) for info in infos] == [(MODEL, "U8")]:  # of a job
            return _of_onnx(numbers(MODEL))
        _check_names([info.name for info in infos])
        _check_count([info.name for info in infos])
        if not any(_is_parameter(info.name) for info in infos):
            raise _no_weights([info.name for info in infos])
        stated = _temperature(infos, numbers)
        group = WeightGroup("", ema=False, tensors=infos, file="", temperature=stated)
        return StoredWeights("safetensors", _filed([StoredGroup(group, numbers)]))
    try:
        if form is FileFormat.ZIP:
            return _of_torch("torch", _opened(source), source.size)
        if form is FileFormat.PICKLE and is_legacy(source):
            return _of_torch("torch-legacy", open_legacy(source), source.size)
    except Refused as refusal:
        raise _converted(refusal) from refusal
    what = f"No weights of a network, but a file of another format ({form})"
    raise Refused("STATE_DICT", what, PREDICTIONS)


def _opened(source: FileBytes) -> SavedTensors:
    archive = Archive(source, most=MAX_TENSORS)
    model = packed_model(archive.names)
    if model:
        raise _foreign(model)
    if not is_torch(archive.names):
        raise Refused("STATE_DICT", "This is an archive that torch.save did not write", PREDICTIONS)
    return open_torch(archive)


def _foreign(model: str) -> Refused:
    remedy = AS_ONNX if model == EXPORTED else EXPORT
    return Refused("FORMAT_UNKNOWN", f"This is {model}, not weights of PyTorch", remedy)


def _converted(refusal: Refused) -> Refused:
    """Return a refusal of a pickle or program with what helps a file of weights."""
    if refusal.remedy == COPY_AGAIN:
        return refusal
    if refusal.code == RefusalCode.PICKLE_GLOBAL:
        what = (
            f"The file asks for {refusal.location}: a whole network or another object of Python, "
            "which is code, beside or instead of plain weights"
        )
        return Refused(refusal.code, what, CONVERT, refusal.location)
    if refusal.code in CONVERTIBLE:
        return refusal.with_remedy(CONVERT)
    if refusal.code == RefusalCode.PICKLE_LIMIT:
        return refusal.with_remedy("save the state dict alone")
    return refusal


def _of_onnx(whole: Entry) -> StoredWeights:
    """Return a model as one tensor of its bytes, and what it says of itself as hints."""
    hints = read_onnx(whole.view(np.uint8).data)
    info = TensorInfo(MODEL, (whole.size,), "U8")
    group = WeightGroup("", ema=False, tensors=(info,), file="")
    return StoredWeights("onnx", _filed([StoredGroup(group, lambda _: whole)]), hints)


def _of_torch(form: str, saved: SavedTensors, size: int) -> StoredWeights:
    every = list(_states("", saved.tree, 0))
    states = [(key, state) for key, state in every if any(_is_parameter(name) for name in state)]
    if not states:
        raise _no_weights([name for _, state in every for name in state])
    if len(states) > MAX_GROUPS:
        what = f"The file holds {len(states)} states of networks; at most {MAX_GROUPS} are read"
        raise Refused("PICKLE_LIMIT", what, "save fewer in one file")
    _check_count([name for _, tensors in states for name in tensors])
    n_bytes = sum(
        math.prod(tensor.shape) * tensor.storage.dtype.itemsize
        for _, tensors in states
        for tensor in tensors.values()
    )
    if n_bytes > SHARED * size + SLACK:
        what = f"Tensors of {n_bytes} bytes together in a file of {size}"
        remedy = "save one state alone, with .clone() of each tensor"
        raise Refused("TENSOR_SIZE", what, remedy)
    numbers = _Numbers(saved)
    groups = [_group(key, tensors, numbers) for key, tensors in states]
    hints: dict[str, Hint] = {}
    for key, value in _plain("", saved.tree, 0):
        if len(hints) == MAX_HINTS:
            break
        hints[HARMFUL.sub("?", key)] = value
    # Averages come first where they are whole, as timm does; then the larger states.
    counts = [len(stored.group.tensors) for stored in groups if not stored.group.ema]
    whole = max(counts, default=0)

    def order(stored: StoredGroup) -> tuple[bool, int]:
        count = len(stored.group.tensors)
        return not (stored.group.ema and count >= whole), -count

    items = saved.tree.items() if isinstance(saved.tree, dict) else ()
    keys = [str(key) for key, value in items if isinstance(value, Arguments)]
    text = f"an argparse.Namespace is stored with the weights ({', '.join(keys[:8])[:200]}): its"
    text += " plain values are shown, and nothing else of it is used"
    notices = (Notice(NoticeCode.NAMESPACE, text),) if keys else ()
    return StoredWeights(form, _filed(sorted(groups, key=order)), hints, notices)


class _Numbers:
    """Reads storages when their numbers are asked for, and keeps the last one only."""

    def __init__(self, saved: SavedTensors) -> None:
        self._saved = saved
        self._last: Storage | None = None

    def of(self, tensor: Tensor) -> Entry:
        if tensor.storage is not self._last:
            if self._last is not None:
                self._last.array = None
            self._saved.fill(tensor.storage)
            self._last = tensor.storage
        return tensor.raw


def _states(key: str, node: object, depth: int) -> Iterator[tuple[str, dict[str, Tensor]]]:
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        return
    tensors = {n: t for n, t in node.items() if isinstance(n, str) and isinstance(t, Tensor)}
    if tensors:
        yield key, tensors
    for name, child in node.items():
        if isinstance(name, str):
            yield from _states(f"{key}.{name}" if key else name, child, depth + 1)


def _is_parameter(name: str) -> bool:
    return name.rpartition(".")[2] in PARAMETERS


def _group(key: str, tensors: dict[str, Tensor], numbers: _Numbers) -> StoredGroup:
    _check_names([key, *tensors])
    infos = tuple(
        TensorInfo(name, tensor.shape, named(tensor.storage.dtype, bfloat=tensor.storage.bfloat))
        for name, tensor in tensors.items()
    )
    ema = EMA.search(key) is not None or AVERAGED in tensors
    stated = _temperature(infos, lambda name: numbers.of(tensors[name]))
    return StoredGroup(
        WeightGroup(key, ema, infos, "", stated), lambda name: numbers.of(tensors[name])
    )


def _temperature(infos: tuple[TensorInfo, ...], numbers: Callable[[str], Entry]) -> float | None:
    """Return the one number of a tensor that is called temperature, where it can be one."""
    for info in infos:
        plain = info.dtype in {"F16", "F32", "F64"} and math.prod(info.shape) == 1
        if plain and TEMPERATURE.search(info.name):
            value = float(np.asarray(numbers(info.name)).reshape(-1)[0])
            if LEAST_TEMPERATURE <= value <= MOST_TEMPERATURE:
                return value
    return None


def _filed(groups: list[StoredGroup]) -> tuple[StoredGroup, ...]:
    """Name the files that groups will be written to."""
    return tuple(
        StoredGroup(replace(g.group, file=f"group-{i}.safetensors"), g.numbers)
        for i, g in enumerate(groups)
    )


def _no_weights(names: list[str]) -> Refused:
    detail = f" ({len(names)} tensors, first {names[0][:60]!a})" if names else ""
    return Refused("STATE_DICT", f"No weights of a network were found{detail}", PREDICTIONS)


def _check_names(names: list[str]) -> None:
    for name in names:
        surrogates = any("\ud800" <= letter <= "\udfff" for letter in name)
        if len(name) > MAX_NAME or HARMFUL.search(name) or surrogates:
            what = f"The name {ascii(name)[:60]} of a tensor cannot be shown"
            raise Refused("PICKLE_SHAPE", what, CONVERT)


def _check_count(names: list[str]) -> None:
    """Refuse more names than any network has: each of them is kept, sent and compared."""
    letters = sum(map(len, names))
    if len(names) > MAX_NAMES or letters > MAX_LETTERS:
        what = (
            f"The file has {len(names)} tensors with {letters} letters in their names: more than "
            f"{MAX_NAMES} tensors or {MAX_LETTERS} letters are not read"
        )
        raise Refused("TENSOR_COUNT", what, "save the weights of one network alone")


def _plain(key: str, node: object, depth: int) -> Iterator[tuple[str, Hint]]:
    """Yield short plain values, outside what only the training needs, with their keys."""
    node = node.values if isinstance(node, Arguments) else node
    if not isinstance(node, dict) or depth > MAX_DEPTH:
        return
    for name, value in node.items():
        if not isinstance(name, str) or len(name) > MAX_TEXT or name in BESIDE:
            continue
        path = f"{key}.{name}" if key else name
        if _is_hint(value):
            yield path, HARMFUL.sub("?", value) if isinstance(value, str) else value
        else:
            yield from _plain(path, value, depth + 1)


def _is_hint(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT and value.isprintable()
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**63)
