"""What a file of weights holds: groups of named tensors and hints at the network; no torch.

And safetensors, a JSON header and raw tensors: every offset is checked before use.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Final

import numpy as np

from core import defaults
from core.arrays import PASS_BYTES, row_chunks
from core.errors import Notice, Refused
from core.fields import Field
from core.readers.formats.contents import Contents, Entry, FileBytes, check_dtype

DTYPES: Final = {  # as safetensors names them
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
    "BF16": "<u2",
}  # fmt: skip
MODEL: Final = "model.onnx"  # the tensor of bytes as which an ONNX model travels
FORMATS: Final = frozenset({"torch", "torch-legacy", "safetensors", "onnx"})
# Of a wrapper that divides logits, as ModelWithTemperature of Guo et al. 2017.
TEMPERATURE: Final = re.compile(r"(^|\.)(temperature|temp)$")
LEAST_TEMPERATURE, MOST_TEMPERATURE = 0.01, 100
DISTINCT: Final = "give at least one, each under a name of its own"
Hint = str | int | float | bool


def _fits(shape: tuple[int, ...]) -> bool:
    return min(shape, default=0) >= 0 and math.prod(max(n, 1) for n in shape) <= defaults.MAX_BYTES


def _is_plain_name(file: str) -> bool:
    return file not in ("", ".", "..") and "/" not in file and "\\" not in file


def _have_own(name: str) -> Callable[[Sequence[object]], bool]:
    """Return whether there are some items, each with a value of its own."""
    return lambda items: 0 < len(set(map(attrgetter(name), items))) == len(items)


@dataclass(frozen=True)
class TensorInfo:
    """One tensor without its numbers; `dtype` as safetensors names it, such as F32."""

    name: str
    shape: Annotated[tuple[int, ...], Field(allows=_fits, remedy="give sides of a tensor")]
    dtype: Annotated[str, Field(allows=DTYPES.__contains__)]


@dataclass(frozen=True)
class WeightGroup:
    """Tensors that were saved together: one state of one network."""

    # Where they lie in the file, such as ``state_dict`` or ``state.net``; empty at its root
    key: str
    ema: bool  # whether they are averages over the training's last steps
    # In the order of the file
    tensors: Annotated[tuple[TensorInfo, ...], Field(allows=_have_own("name"), remedy=DISTINCT)]
    # Name of the safetensors file that holds them
    file: Annotated[str, Field(allows=_is_plain_name, remedy="give the name of a file")]
    # What a tensor of one number says that logits are divided by
    temperature: Annotated[float | None, Field(low=LEAST_TEMPERATURE, high=MOST_TEMPERATURE)] = None


@dataclass(frozen=True, kw_only=True)
class WeightsFile:
    """What a file of weights holds."""

    name: str  # as the user knows it
    digest: str  # of its bytes
    # ``torch``, ``torch-legacy``, ``safetensors`` or ``onnx``, whose one tensor is the file
    format: Annotated[str, Field(allows=FORMATS.__contains__)]
    # The best first: averages before the last state, then those of more tensors
    groups: Annotated[tuple[WeightGroup, ...], Field(allows=_have_own("key"), remedy=DISTINCT)]
    # What was saved beside the weights, such as ``arch`` or ``args.model``
    hints: Mapping[str, Hint]
    notices: tuple[Notice, ...] = ()  # what was accepted, but must be said

    def group(self, key: str) -> WeightGroup:
        """Return the group of a key; KeyError when there is none."""
        return {group.key: group for group in self.groups}[key]


MAX_HEADER = 10 * 2**20
BFLOAT16_STEP = 2.0**-8
NAMED = {stored: name for name, stored in DTYPES.items() if name != "BF16"}


def read_safetensors(source: FileBytes) -> Contents:
    """Return the tensors of a safetensors file; bfloat16 becomes float32, exactly.

    Raises Refused HEADER_LEN, HEADER_PARSE, HEADER_SHAPE, TRAILING or DTYPE.
    """
    start, header = _checked(source)
    entries = {name: _tensor(source, start, entry) for name, entry in header.items()}
    entries = {n: bfloat16(e) if header[n]["dtype"] == "BF16" else e for n, e in entries.items()}
    coarse = {name: BFLOAT16_STEP for name in header if header[name]["dtype"] == "BF16"}
    return Contents("safetensors", entries, coarse=coarse)


def open_safetensors(source: FileBytes) -> tuple[tuple[TensorInfo, ...], Callable[[str], Entry]]:
    """Return the tensors of a file, and what gives their numbers: bfloat16 as uint16.

    Raises Refused: as by `read_safetensors`.
    """
    start, header = _checked(source)
    infos = tuple(
        TensorInfo(name, tuple(int(n) for n in entry["shape"]), str(entry["dtype"]))  # type: ignore[attr-defined]
        for name, entry in header.items()
    )
    return infos, lambda name: _tensor(source, start, header[name])


def write_safetensors(
    path: Path, tensors: Sequence[TensorInfo], numbers: Callable[[str], Entry]
) -> None:
    """Write tensors one by one: no more than one is in memory at a time."""
    header, end = {}, 0
    for tensor in tensors:
        start, end = end, end + math.prod(tensor.shape) * np.dtype(DTYPES[tensor.dtype]).itemsize
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "data_offsets": [start, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that tensors lie where their numbers can be mapped
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors:
            flat = np.ascontiguousarray(numbers(tensor.name)).reshape(-1)
            for some in row_chunks(flat.size, 1, PASS_BYTES):
                file.write(flat[some].data)


def named(dtype: np.dtype[np.generic], *, bfloat: bool) -> str:
    """Return how safetensors names an element type."""
    if bfloat:
        return "BF16"
    stored = dtype.newbyteorder("<").str
    if stored not in NAMED:
        check_dtype(dtype, "tensor")
    return NAMED[stored]


def _checked(source: FileBytes) -> tuple[int, dict[str, dict[str, object]]]:
    """Return where the numbers begin, and the header with every size proved."""
    length = int.from_bytes(source.data[:8], "little")
    if source.size < 8 or length > min(MAX_HEADER, source.size - 8):
        raise _bad("HEADER_LEN", f"The header claims {length} bytes of {source.size}")
    try:
        header = json.loads(
            bytes(source.data[8 : 8 + length]).decode("utf-8"), object_pairs_hook=_no_duplicates
        )
    except (ValueError, RecursionError) as error:
        raise _bad("HEADER_PARSE", "The header is not valid JSON") from error
    if not isinstance(header, dict):
        raise _bad("HEADER_PARSE", "The header is not a JSON object")
    header.pop("__metadata__", None)
    start, available, end = 8 + length, source.size - 8 - length, 0
    for low, high, name in sorted([_span(n, e, available) for n, e in header.items()]):
        if low < end:
            raise _bad("HEADER_SHAPE", "Overlap: two tensors share bytes", name)
        if low > end:
            raise _bad("HEADER_SHAPE", f"{low - end} bytes before the tensor belong to none", name)
        end = high
    if end < available:
        raise _bad("TRAILING", f"{available - end} bytes follow the last tensor")
    return start, header


def bfloat16(raw: Entry) -> Entry:
    """Return bfloat16 bits, given as uint16, as float32."""
    return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _bad(code: str, what: str, location: str = "header") -> Refused:
    return Refused(code, what, "write the file again with safetensors.save_file", location)


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise _bad("HEADER_PARSE", "A key occurs twice")
    return out


def _span(name: str, entry: object, available: int) -> tuple[int, int, str]:
    """Return start, end and name of one tensor, with its size proved."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise _bad("HEADER_PARSE", "A tensor needs dtype, shape and data_offsets", name)
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or any(type(n) is not int or n < 0 for n in numbers):
            raise _bad("HEADER_SHAPE", "Shape or offsets are not whole numbers from 0", name)
    if dtype not in DTYPES:
        raise Refused("DTYPE", f"Tensor type {dtype}", "save float16, float32 or float64", name)
    if len(offsets) != 2 or len(shape) > 8 or not offsets[0] <= offsets[1] <= available:
        raise _bad("HEADER_SHAPE", f"Offsets {offsets} outside the {available} data bytes", name)
    if math.prod(max(n, 1) for n in shape) > defaults.MAX_MAPPED_BYTES:  # also (0, 2**62)
        raise _bad("HEADER_SHAPE", "The shape is larger than any memory", name)
    expected = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    if expected != offsets[1] - offsets[0] or expected > defaults.MAX_MAPPED_BYTES:
        stated = offsets[1] - offsets[0]
        raise _bad("HEADER_SHAPE", f"Shape needs {expected} bytes, offsets hold {stated}", name)
    return offsets[0], offsets[1], name


def _tensor(source: FileBytes, start: int, entry: dict[str, object]) -> Entry:
    shape = [int(n) for n in entry["shape"]]  # type: ignore[attr-defined]
    at = start + int(entry["data_offsets"][0])  # type: ignore[index]
    stored = DTYPES[str(entry["dtype"])]
    return np.frombuffer(source.data, stored, math.prod(shape), at).reshape(shape)
