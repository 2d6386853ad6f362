"""Files of weights: the named tensors of torch.save and safetensors, what lies beside them, ONNX.

Stricter than torch with weights only, and without torch: names outside a fixed table, sizes that
the bytes do not bear out, compressed storages and programs are refused. What an ONNX model says of
itself is found by a walk over the protobuf messages of onnx.proto, which reads no number of a
tensor; what would reach beyond the file, or is no standard operator, is refused.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
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
from core.readers.formats.torch_file import (
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
    MODEL,
    MOST_TEMPERATURE,
    TEMPERATURE,
    Hint,
    TensorInfo,
    WeightGroup,
    named,
    open_safetensors,
)

# Looked up as this module is imported: later the packages may be out of reach.
INSTALLED: Final = find_spec("onnxruntime") is not None
MAX_BYTES: Final = 2**31  # of protobuf
MAX_NODES: Final = 50_000
MAX_DEPTH: Final = 16
MAX_FIELDS: Final = 2_000_000
MAX_TEXT: Final = 80
STANDARD: Final = frozenset({"", "ai.onnx"})
# Of onnxruntime's own: it runs these, and not a function that the file defines by their name.
RUNTIME: Final = ("ai.onnx", "com.microsoft", "com.ms", "com.intel", "com.xilinx", "org.pytorch")
CHANNELS: Final = range(1, 5)
TYPES: Final = {1: "float32", 2: "uint8", 10: "float16", 11: "float64"}
SCRIPT: Final = "run the model with assets/predict_to_file.py and upload the predictions"
# Messages within messages, by the number of their field.
WITHIN: Final[dict[str, dict[int, str]]] = {
    "model": {7: "graph", 8: "opset", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
PASSING: Final = frozenset({"Identity", "Cast"})  # operators that hand probabilities on
GIVES: Final = {"Softmax": "probabilities", "Sigmoid": "probabilities", "LogSoftmax": "logits"}
Value = int | memoryview


@dataclass
class _Seen:
    """What a walk has met."""

    nodes: int = 0
    fields: int = 0
    opset: int = 0
    domains: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)  # domains of functions that the file defines


def read_onnx(data: memoryview) -> dict[str, Hint]:
    """Return what a model says of itself: input, outputs, and what they mean where that is plain.

    Raises Refused FORMAT_UNKNOWN: onnxruntime is missing, the file is damaged, it has tensors in
    other files or operators that are no standard. TENSOR_COUNT, TENSOR_SIZE: more than is read.
    MODEL_INPUT, MODEL_OUTPUT: it does not take one batch of images, or gives more than scores.
    """
    if not INSTALLED:
        what = "This is an ONNX model, and the package that runs it is not installed"
        raise Refused("FORMAT_UNKNOWN", what, f"pip install onnxruntime; or {SCRIPT}")
    if len(data) > MAX_BYTES:
        what = f"An ONNX model of {len(data):,} bytes; at most {MAX_BYTES:,} are read"
        raise Refused("TENSOR_SIZE", what, SCRIPT)
    seen = _Seen()
    try:
        _walk("model", data, seen, 0)
        graph = _field(data, 7)
        hints = _shapes(graph) | {"nodes": seen.nodes, "opset": seen.opset}
        producer = " ".join(filter(None, (_text(_field(data, number)) for number in (2, 3))))
    except (IndexError, TypeError, ValueError) as error:
        what = "The ONNX model is cut off or damaged"
        raise Refused("FORMAT_UNKNOWN", what, "export or copy it again") from error
    # Functions that the file defines itself are known; under a built-in domain
    # the runtime's operator would run in their place.
    own = {domain for domain in seen.own if not domain.startswith(RUNTIME)}
    strange = sorted(seen.domains - STANDARD - own)
    if strange:
        what = f"The model has operators of {HARMFUL.sub('?', strange[0])[:MAX_TEXT]!r}"
        raise Refused("FORMAT_UNKNOWN", what, f"export it with standard operators; or {SCRIPT}")
    return hints | ({"producer": HARMFUL.sub("?", producer)[:MAX_TEXT]} if producer else {})


def _walk(kind: str, data: memoryview, seen: _Seen, depth: int) -> None:
    """Visit all messages within one; refuse tensors in other files, and more than is read."""
    if depth > MAX_DEPTH:
        raise ValueError
    for number, value in _fields(data):
        seen.fields += 1
        if seen.fields > MAX_FIELDS:
            raise Refused("TENSOR_COUNT", f"The model has over {MAX_FIELDS:,} fields", SCRIPT)
        # External data names a path: a model could read any file of this machine.
        if kind == "tensor" and (number == 13 or (number == 14 and value != 0)):
            what = "The model's weights lie in another file"
            remedy = (
                "save it whole: torch.onnx.export(..., external_data=False), or "
                "onnx.save(onnx.load('net.onnx'), 'whole.onnx')"
            )
            raise Refused("FORMAT_UNKNOWN", what, remedy)
        if kind == "node" and number == 7:
            seen.domains.add(_text(value))
        if kind == "function" and number == 10:
            seen.own.add(_text(value))
        inner = WITHIN.get(kind, {}).get(number)
        if inner == "opset":
            if _text(_field(_bytes(value), 1)) in STANDARD:
                seen.opset = _whole(_field(_bytes(value), 2))
        elif inner is not None:
            seen.nodes += inner == "node"
            if seen.nodes > MAX_NODES:
                raise Refused("TENSOR_COUNT", f"The model has over {MAX_NODES:,} nodes", SCRIPT)
            _walk(inner, _bytes(value), seen, depth + 1)


def _shapes(graph: Value) -> dict[str, Hint]:
    """Return name, type and sizes of the one input and the one output."""
    fields = list(_fields(_bytes(graph)))
    weights = {_text(_field(_bytes(value), 8)) for number, value in fields if number == 5}
    inputs, outputs = (
        [_bytes(value) for number, value in fields if number == key] for key in (11, 12)
    )
    # Older exporters list weights among the inputs.
    inputs = [value for value in inputs if _text(_field(value, 1)) not in weights]
    if len(inputs) != 1:
        what = f"The model has {len(inputs)} inputs"
        raise Refused("MODEL_INPUT", what, f"export a network of one batch of images; or {SCRIPT}")
    if len(outputs) != 1:
        what = f"The model has {len(outputs)} outputs"
        raise Refused("MODEL_OUTPUT", what, f"export its logits alone; or {SCRIPT}")
    kind, shape = _type(inputs[0])
    if kind not in TYPES or len(shape) != 4:
        what = f"The model's input has {len(shape)} axes, or numbers of an unknown kind"
        remedy = f"export a network of images (N, C, H, W) of floating-point numbers; or {SCRIPT}"
        raise Refused("MODEL_INPUT", what, remedy)
    scores = _type(outputs[0])[1]
    if scores and len(scores) != 2:
        what = f"The model's output has {len(scores)} axes"
        raise Refused("MODEL_OUTPUT", what, f"export a classifier: (N, classes); or {SCRIPT}")
    hints: dict[str, Hint] = {"input_type": TYPES[kind]}
    # Channels are 1 to 4 and sides are not: one of the two places tells which layout it is.
    first, last = shape[1] in CHANNELS, shape[3] in CHANNELS  # where the channels stand
    if first != last:
        layout = "nchw" if first else "nhwc"
        channels, sides = (shape[1], shape[2:]) if first else (shape[3], shape[1:3])
        hints |= {"layout": layout, "channels": channels}
        if all(sides):
            hints |= {"height": sides[0], "width": sides[1]}
        if all(sides) and sides[0] == sides[1]:
            hints["input_size"] = sides[0]
    if scores and scores[1]:
        hints["outputs"] = scores[1]
    nodes = [_bytes(value) for number, value in fields if number == 1]
    gives = _gives(nodes, _text(_field(outputs[0], 1)))
    return hints | ({"gives": gives} if gives else {})


def _type(value: memoryview) -> tuple[int, list[int]]:
    """Return the element type and the sizes of an input or output; 0 for a size left open."""
    tensor = _bytes(_field(_bytes(_field(value, 2)), 1))
    shape = _bytes(_field(tensor, 2))
    sizes = [_whole(_field(_bytes(dim), 1)) for number, dim in _fields(shape) if number == 1]
    return _whole(_field(tensor, 1)), [size if 0 < size < MAX_BYTES else 0 for size in sizes]


def _gives(nodes: list[memoryview], name: str) -> str:
    """Return what the operator before the output says its numbers are; empty where it does not."""
    makers: dict[str, tuple[str, str]] = {}
    for node in nodes:
        taken = [_text(value) for number, value in _fields(node) if number == 1]
        operator = _text(_field(node, 4))
        for number, value in _fields(node):
            if number == 2:
                makers[_text(value)] = operator, taken[0] if taken else ""
    # Back from the output through operators that change no number; a loop of them would never end.
    for _ in range(MAX_DEPTH):
        operator, before = makers.get(name, ("", ""))
        if operator not in PASSING:
            return GIVES.get(operator, "")
        name = before
    return ""


def _fields(data: memoryview) -> Iterator[tuple[int, Value]]:
    """Yield numbers and values of a message's fields; ValueError or IndexError where it is cut."""
    place = 0
    while place < len(data):
        # protobuf by hand: a key is a field's number and the kind of its value.
        key, place = _varint(data, place)
        if key >> 32:  # other parsers keep the lower 32 bits, and see another field
            raise ValueError
        kind = key & 7
        if kind == 0:
            value, place = _varint(data, place)
            yield key >> 3, value
            continue
        if kind == 2:
            size, place = _varint(data, place)
        else:
            size = {1: 8, 5: 4}.get(kind, -1)
        if size < 0 or place + size > len(data):
            raise ValueError
        yield key >> 3, data[place : place + size]
        place += size


def _varint(data: memoryview, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        place += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
    raise ValueError


def _field(data: memoryview, key: int) -> Value:
    """Return the value of a field; no bytes, which are 0 and no text too, where there is none."""
    return next((value for number, value in _fields(data) if number == key), memoryview(b""))


def _bytes(value: Value) -> memoryview:
    if isinstance(value, int):
        raise TypeError
    return value


def _whole(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _text(value: Value) -> str:
    return str(_bytes(value), "utf-8")


MAX_STATE_DEPTH: Final = 4
MAX_GROUPS: Final = 16
MAX_NAMES: Final = 20_000  # of tensors, in all groups together
MAX_LETTERS: Final = 2_000_000  # of these names
MAX_HINTS: Final = 200
MAX_HINT_CHARACTERS: Final = 200
SHARED: Final = 2  # times the file's size that all groups may take: tensors may share storages
SLACK: Final = 2**20
HEAD: Final = 16  # bytes that tell what other programs write
TAR = slice(257, 262)  # where a tar archive has its mark
EMA: Final = re.compile(r"(^|[._])(ema|swa|averaged?)([._]|$)")
AVERAGED: Final = "n_averaged"  # counts the states of torch.optim.swa_utils.AveragedModel
TRAINING_STATE: Final = frozenset(
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
        # A job keeps an ONNX model as one tensor of bytes.
        if [(info.name, info.dtype) for info in infos] == [(MODEL, "U8")]:
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
    # A view with stride 0 makes terabytes of one number: tensors may share, but not multiply.
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
    if not isinstance(node, dict) or depth > MAX_STATE_DEPTH:
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
    if not isinstance(node, dict) or depth > MAX_STATE_DEPTH:
        return
    for name, value in node.items():
        if not isinstance(name, str) or len(name) > MAX_HINT_CHARACTERS or name in TRAINING_STATE:
            continue
        path = f"{key}.{name}" if key else name
        # Only short plain values, so that a page can show them; optimiser states are passed over.
        if _is_hint(value):
            yield path, HARMFUL.sub("?", value) if isinstance(value, str) else value
        else:
            yield from _plain(path, value, depth + 1)


def _is_hint(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_HINT_CHARACTERS and value.isprintable()
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**63)
