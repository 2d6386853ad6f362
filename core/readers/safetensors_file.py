"""Safetensors: a JSON header and raw tensors; every offset is checked before use."""

import json
import math

import numpy as np

from core import defaults
from core.errors import Refused
from core.readers.contents import Contents, Entry, Source

MAX_HEADER = 10 * 2**20
DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
    "BF16": "<u2",
}  # fmt: skip
BFLOAT16_STEP = 2.0**-8


def read_safetensors(source: Source) -> Contents:
    """Return the tensors of a safetensors file; bfloat16 becomes float32, exactly.

    Raises
    ------
    Refused
        HEADER_LEN, HEADER_PARSE, HEADER_SHAPE, TRAILING or DTYPE.
    """
    start, header = _header(source)
    spans = [_span(name, entry, source.size - start) for name, entry in header.items()]
    _check_layout(spans, source.size - start)
    entries = {name: _tensor(source, start + low, header[name]) for low, _, name in spans}
    ordered = {name: entries[name] for name in header}
    coarse = {name: BFLOAT16_STEP for name in header if header[name]["dtype"] == "BF16"}
    return Contents("safetensors", ordered, coarse=coarse)


def bfloat16(raw: Entry) -> Entry:
    """Return bfloat16 bits, given as uint16, as float32."""
    return (raw.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _bad(code: str, what: str, where: str = "header") -> Refused:
    return Refused(code, what, "write the file again with safetensors.save_file", where)


def _header(source: Source) -> tuple[int, dict[str, dict[str, object]]]:
    length = int.from_bytes(source.data[:8], "little")
    if source.size < 8 or length > min(MAX_HEADER, source.size - 8):
        raise _bad("HEADER_LEN", f"the header claims {length} bytes of {source.size}")
    try:
        header = json.loads(
            bytes(source.data[8 : 8 + length]).decode("utf-8"), object_pairs_hook=_no_duplicates
        )
    except (ValueError, RecursionError) as error:
        raise _bad("HEADER_PARSE", "the header is not valid JSON") from error
    if not isinstance(header, dict):
        raise _bad("HEADER_PARSE", "the header is not a JSON object")
    header.pop("__metadata__", None)
    return 8 + length, header


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    out = dict(pairs)
    if len(out) < len(pairs):
        raise _bad("HEADER_PARSE", "a key occurs twice")
    return out


def _span(name: str, entry: object, available: int) -> tuple[int, int, str]:
    """Return start, end and name of one tensor, with its size proved."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise _bad("HEADER_PARSE", "a tensor needs dtype, shape and data_offsets", name)
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or any(type(n) is not int or n < 0 for n in numbers):
            raise _bad("HEADER_SHAPE", "shape or offsets are not whole numbers from 0", name)
    if dtype not in DTYPES:
        raise Refused("DTYPE", f"tensor type {dtype}", "save float16, float32 or float64", name)
    if len(offsets) != 2 or len(shape) > 8 or not offsets[0] <= offsets[1] <= available:
        raise _bad("HEADER_SHAPE", f"offsets {offsets} outside the {available} data bytes", name)
    expected = math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize
    if expected != offsets[1] - offsets[0] or expected > defaults.MAX_BYTES:
        stated = offsets[1] - offsets[0]
        raise _bad("HEADER_SHAPE", f"shape needs {expected} bytes, offsets hold {stated}", name)
    return offsets[0], offsets[1], name


def _check_layout(spans: list[tuple[int, int, str]], available: int) -> None:
    end = 0
    for low, high, name in sorted(spans):
        if low < end:
            raise _bad("HEADER_SHAPE", "overlap: two tensors share bytes", name)
        if low > end:
            raise _bad("HEADER_SHAPE", f"{low - end} bytes before the tensor belong to none", name)
        end = high
    if end < available:
        raise _bad("TRAILING", f"{available - end} bytes after the last tensor")


def _tensor(source: Source, start: int, entry: dict[str, object]) -> Entry:
    shape = [int(n) for n in entry["shape"]]  # type: ignore[attr-defined]
    dtype = str(entry["dtype"])
    flat = np.frombuffer(source.data, DTYPES[dtype], math.prod(shape), start).reshape(shape)
    return bfloat16(flat) if dtype == "BF16" else flat
