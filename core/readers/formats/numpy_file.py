"""NumPy's .npy format, read by our own header parser: sizes are checked before anything is made."""

import ast
import math
import re

import numpy as np

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import (
    COPY_AGAIN,
    Contents,
    Entry,
    FileBytes,
    check_dtype,
    is_text,
    native,
)
from core.readers.pickles.pickled import load, settle

MAGIC = b"\x93NUMPY"
MAX_HEADER = 10_000  # the limit np.load itself sets
MAX_DIMENSIONS = 8


def read_npy(source: FileBytes) -> Contents:
    """Return the one array of an .npy file under the key ``array``."""
    return Contents("npy", {"array": array_of(source.data, source.name, text=True)}, named=False)


def array_of(data: memoryview, location: str, *, text: bool = False) -> Entry:
    """Return the array in the bytes of an .npy file, without a copy where none is needed.

    `text` lets an array of objects pass if each is a text: NumPy pickles those, and the pickle is
    read by our own unpickler.

    Raises Refused HEADER_LEN, HEADER_PARSE, HEADER_SHAPE, TRAILING, DTYPE or OBJECT_DTYPE.
    """
    if data.nbytes < 10 or bytes(data[:6]) != MAGIC:
        what = "No .npy header"
        raise Refused("HEADER_PARSE", what, "save the array again with np.save", location)
    major = data[6]
    if major not in (1, 2, 3):
        what = f".npy version {major}"
        raise Refused("HEADER_PARSE", what, "save it again with np.save", location)
    width = 2 if major == 1 else 4
    length = int.from_bytes(data[8 : 8 + width], "little")
    start = 8 + width
    if length > MAX_HEADER or start + length > data.nbytes:
        what = f"The header claims {length} bytes; at most {MAX_HEADER} and the file's own are read"
        raise Refused("HEADER_LEN", what, "save the array again with np.save", location)
    header = bytes(data[start : start + length]).decode("latin-1")
    start += length
    try:  # the header is a Python literal and is never evaluated
        fields = ast.literal_eval(header.strip())
        fortran, sizes = bool(fields["fortran_order"]), fields["shape"]
        dtype = _dtype(fields["descr"], location)
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
        what = "The header is not valid"
        raise Refused("HEADER_PARSE", what, "save it again with np.save", location) from error
    shape = sizes if isinstance(sizes, tuple) else (None,)
    if len(shape) > MAX_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):
        what = f"Shape {str(sizes)[:80]}: expected at most {MAX_DIMENSIONS} sizes, none negative"
        raise Refused("HEADER_SHAPE", what, "save the array again with np.save", location)
    if math.prod(max(n, 1) for n in shape) > defaults.MAX_MAPPED_BYTES:  # also (0, 2**62)
        what = "The shape is larger than any memory"
        raise Refused("HEADER_SHAPE", what, "save the array again with np.save", location)
    if text and dtype == np.dtype(object):
        # Texts lie in a pickle; whatever else lies there is refused alike.
        try:
            node, end = load(data[start:])
        except Refused:
            node, end = None, 0
        array = settle(node)
        plain = isinstance(array, np.ndarray) and is_text(array) and array.shape == shape
        if not plain or end < data.nbytes - start:
            check_dtype(np.dtype(object), location)
        return array  # type: ignore[return-value]
    check_dtype(dtype, location)
    expected = math.prod(shape) * dtype.itemsize  # Python integers: the product cannot overflow
    present = data.nbytes - start
    what = f"Shape {shape} needs {expected} bytes, the file holds {present}"
    if expected > min(present, defaults.MAX_MAPPED_BYTES):
        remedy = f"the file is cut off or altered: {COPY_AGAIN}"
        raise Refused("HEADER_SHAPE", what, remedy, location)
    if expected < present:
        raise Refused("TRAILING", what, "remove what follows the array: save it again", location)
    flat = np.frombuffer(data, dtype=dtype, count=math.prod(shape), offset=start)
    return native(flat.reshape(shape, order="F" if fortran else "C"))


def _dtype(descr: object, location: str) -> np.dtype[np.generic]:
    if isinstance(descr, list):
        what = "A structured array"
        raise Refused("DTYPE", what, "save scores and labels as two plain arrays", location)
    if not isinstance(descr, str) or not re.fullmatch(
        r"[<>|=]?[a-zA-Z]\d{0,6}(\[\w{1,6}\])?", descr
    ):
        raise ValueError(descr)
    return np.dtype(descr)
