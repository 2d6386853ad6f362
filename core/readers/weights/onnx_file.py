"""ONNX models: what the bytes say of a network, without running it; neither onnx nor torch.

A walk over the protobuf messages of onnx.proto, which reads no number of a tensor. What would
reach beyond the file, or is no standard operator, is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Final

from core.errors import Refused
from core.readers.formats.parse import HARMFUL
from core.readers.weights.named_tensors import Hint

MODEL: Final = "model.onnx"  # the tensor of bytes as which a model travels
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
        graph = _one(data, 7)
        hints = _shapes(graph) | {"nodes": seen.nodes, "opset": seen.opset}
        producer = " ".join(filter(None, (_text(_one(data, number)) for number in (2, 3))))
    except (IndexError, TypeError, ValueError) as error:
        what = "The ONNX model is cut off or damaged"
        raise Refused("FORMAT_UNKNOWN", what, "export or copy it again") from error
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
            if _text(_one(_bytes(value), 1)) in STANDARD:
                seen.opset = _whole(_one(_bytes(value), 2))
        elif inner is not None:
            seen.nodes += inner == "node"
            if seen.nodes > MAX_NODES:
                raise Refused("TENSOR_COUNT", f"The model has over {MAX_NODES:,} nodes", SCRIPT)
            _walk(inner, _bytes(value), seen, depth + 1)


def _shapes(graph: Value) -> dict[str, Hint]:
    """Return name, type and sizes of the one input and the one output."""
    fields = list(_fields(_bytes(graph)))
    weights = {_text(_one(_bytes(value), 8)) for number, value in fields if number == 5}
    inputs, outputs = (
        [_bytes(value) for number, value in fields if number == wanted] for wanted in (11, 12)
    )
    inputs = [value for value in inputs if _text(_one(value, 1)) not in weights]
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
    gives = _gives(nodes, _text(_one(outputs[0], 1)))
    return hints | ({"gives": gives} if gives else {})


def _type(value: memoryview) -> tuple[int, list[int]]:
    """Return the element type and the sizes of an input or output; 0 for a size left open."""
    tensor = _bytes(_one(_bytes(_one(value, 2)), 1))
    shape = _bytes(_one(tensor, 2))
    sizes = [_whole(_one(_bytes(dim), 1)) for number, dim in _fields(shape) if number == 1]
    return _whole(_one(tensor, 1)), [size if 0 < size < MAX_BYTES else 0 for size in sizes]


def _gives(nodes: list[memoryview], name: str) -> str:
    """Return what the operator before the output says its numbers are; empty where it does not."""
    makers: dict[str, tuple[str, str]] = {}
    for node in nodes:
        taken = [_text(value) for number, value in _fields(node) if number == 1]
        operator = _text(_one(node, 4))
        for number, value in _fields(node):
            if number == 2:
                makers[_text(value)] = operator, taken[0] if taken else ""
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


def _one(data: memoryview, wanted: int) -> Value:
    """Return the value of a field; no bytes, which are 0 and no text too, where there is none."""
    return next((value for number, value in _fields(data) if number == wanted), memoryview(b""))


def _bytes(value: Value) -> memoryview:
    if isinstance(value, int):
        raise TypeError
    return value


def _whole(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _text(value: Value) -> str:
    return str(_bytes(value), "utf-8")
