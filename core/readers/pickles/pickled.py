"""Pickles of NumPy arrays, read by an unpickler that can call nothing but our guarded functions."""

import io
import math
import pickle
from collections.abc import Callable, Mapping

import numpy as np

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import (
    Contents,
    Entry,
    FileBytes,
    check_dtype,
    native,
    text_array,
)
from core.readers.formats.tree import contents_of
from core.readers.pickles.guards import (
    REMEDY,
    Guard,
    InertObject,
    Outputs,
    default_mapping,
    mapping,
)
from core.readers.pickles.opcodes import scan

BROKEN = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, IndexError, KeyError,
    OverflowError, RecursionError, UnicodeError,
)  # fmt: skip
MAX_DIMENSIONS = 8
TYPES = ("int", "long", "float", "str", "bool", "list", "dict", "tuple", "set")


class StoredType:
    """A dtype as a pickle spells it: a code, then a byte order."""

    __slots__ = ("code", "order")

    def __init__(self, code: object, *flags: object) -> None:
        odd = any(flag not in (0, 1) for flag in flags)  # compared: a hash may take for ever
        if not isinstance(code, str) or len(code) > 12 or odd:
            raise Refused("DTYPE", f"Dtype {str(code)[:40]!r}", REMEDY)
        self.code = code
        self.order = "="

    def __setstate__(self, state: tuple[object, ...]) -> None:
        """Take the byte order; fields and sub-arrays are refused."""
        if not isinstance(state, tuple) or len(state) < 5 or state[1] not in ("<", ">", "=", "|"):
            raise Refused("DTYPE", "A dtype in an unknown form", REMEDY)
        if any(part is not None for part in state[2:5]):
            raise Refused("DTYPE", "A structured array", REMEDY)
        self.order = str(state[1])

    @property
    def holds_objects(self) -> bool:
        """Whether the array would hold objects of Python."""
        return self.code[:1] == "O"

    def resolve(self) -> np.dtype[np.generic]:
        """Return the dtype, checked to hold plain numbers or text."""
        dtype = np.dtype(self.code)
        check_dtype(dtype, "pickle")
        return dtype.newbyteorder(">" if self.order == ">" else "<")


class StoredArray:
    """An array whose numbers arrive by BUILD, after the object was made."""

    __slots__ = ("array",)

    def __init__(self, kind: object, shape: object, code: object) -> None:
        if kind is not NDARRAY or shape not in ((0,), [0]) or code not in (b"b", "b", b""):
            raise Refused("PICKLE_SHAPE", "An array in an unknown form", REMEDY)
        self.array: Entry | None = None

    def __setstate__(self, state: object) -> None:
        """Take (version, shape, dtype, order, bytes) and check that the sizes agree."""
        if not isinstance(state, tuple) or len(state) != 5:
            raise Refused("PICKLE_SHAPE", "An array in an unknown form", REMEDY)
        _, shape, dtype, fortran, raw = state
        self.array = build_array(raw, dtype, shape, "F" if fortran else "C")


class NumpyArrayType:
    """Stands for numpy.ndarray, which a pickle may name but not call."""

    __slots__ = ()


NDARRAY = NumpyArrayType()


def build_array(raw: object, dtype: object, shape: object, order: object) -> Entry:
    """Return an array of exactly the bytes stored; the shape cannot ask for more."""
    if not isinstance(dtype, StoredType) or not isinstance(shape, tuple) or order not in ("C", "F"):
        raise Refused("PICKLE_SHAPE", "An array in an unknown form", REMEDY)
    if dtype.holds_objects:
        return _text(raw, shape)
    resolved = dtype.resolve()
    if not isinstance(raw, bytes | bytearray):
        raise Refused("PICKLE_SHAPE", "An array in an unknown form", REMEDY)
    _check_shape(shape)
    expected = math.prod(shape) * resolved.itemsize
    if expected != len(raw) or expected > defaults.MAX_BYTES:
        what = f"Shape {shape} needs {expected} bytes, {len(raw)} are stored"
        raise Refused("PICKLE_SHAPE", what, REMEDY)
    return native(np.frombuffer(raw, resolved).reshape(shape, order=order))


def _check_shape(shape: tuple[object, ...]) -> None:
    if len(shape) > MAX_DIMENSIONS or any(type(n) is not int or n < 0 for n in shape):
        raise Refused("PICKLE_SHAPE", f"Array shape {str(shape)[:60]}", REMEDY)


def _text(cells: object, shape: tuple[int, ...]) -> Entry:
    """Return an array of objects, which lie row by row in any order of memory, if all are text."""
    texts = [cell for cell in cells if type(cell) is str] if isinstance(cells, list) else []
    if not isinstance(cells, list) or len(texts) < len(cells):
        check_dtype(np.dtype(object), "pickle")
    _check_shape(shape)
    if math.prod(shape) != len(texts):
        what = f"Shape {shape} for {len(texts)} texts"
        raise Refused("PICKLE_SHAPE", what, REMEDY)
    return text_array(texts).reshape(shape)


def _scalar(dtype: object, raw: object) -> object:
    return build_array(raw, dtype, (), "C").item()


def _from_buffer(raw: object, dtype: object, shape: object, order: object) -> Entry:
    return build_array(raw, dtype, shape, order)


def _encode(text: object, encoding: object) -> bytes:
    """Protocol 2 stores bytes as text in Latin-1."""
    if not isinstance(text, str) or encoding != "latin1":
        raise Refused("PICKLE_SHAPE", "Bytes in an unknown form", REMEDY)
    return text.encode("latin-1")


def _no_bytes() -> bytes:
    return b""


RECONSTRUCT, SCALAR = Guard(StoredArray), Guard(_scalar)
FROM_BUFFER, DTYPE = Guard(_from_buffer), Guard(StoredType)
GLOBALS: Mapping[tuple[str, str], object] = {
    ("numpy", "ndarray"): NDARRAY,
    ("numpy", "dtype"): DTYPE,
    ("numpy.core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy.core.multiarray", "scalar"): SCALAR,
    ("numpy._core.multiarray", "scalar"): SCALAR,
    ("numpy.core.numeric", "_frombuffer"): FROM_BUFFER,
    ("numpy._core.numeric", "_frombuffer"): FROM_BUFFER,
    ("_codecs", "encode"): Guard(_encode),
    ("__builtin__", "bytes"): Guard(_no_bytes),
    ("builtins", "bytes"): Guard(_no_bytes),
    ("collections", "OrderedDict"): Guard(mapping),
    ("collections", "defaultdict"): Guard(default_mapping),
    **{
        ("transformers.trainer_utils", name): Outputs
        for name in ("PredictionOutput", "EvalPrediction", "EvalLoopOutput")
    },
    # What a defaultdict makes of a missing key is only a name.
    **{(module, name): InertObject() for module in ("__builtin__", "builtins") for name in TYPES},
}


class _Unpickler(pickle.Unpickler):
    """Knows the names of one fixed table and nothing else; there is no second attempt."""

    def __init__(
        self,
        file: io.BytesIO,
        names: Mapping[tuple[str, str], object],
        storage: Callable[[object], object] | None,
    ) -> None:
        super().__init__(file, encoding="latin1")
        self._names, self._storage = names, storage

    def find_class(self, module: str, name: str) -> object:
        """Return our own stand-in for a known name; refuse every other."""
        stand_in = self._names.get((module, name))
        if stand_in is None:
            raise Refused(
                "PICKLE_GLOBAL",
                f"The pickle asks for {module}.{name}, which is none of the array types allowed",
                REMEDY,
                location=f"{module}.{name}",
            )
        return stand_in

    def persistent_load(self, reference: object) -> object:
        """Hand a storage reference of a torch file to its reader."""
        if self._storage is None:
            raise Refused("PICKLE_SHAPE", "A reference outside the pickle", REMEDY)
        return self._storage(reference)


def load(
    data: memoryview,
    names: Mapping[tuple[str, str], object] = GLOBALS,
    storage: Callable[[object], object] | None = None,
    start: int = 0,
) -> tuple[object, int]:
    """Return the object of the pickle that begins at `start`, and where the pickle ends.

    Raises
    ------
    Refused
        PICKLE_GLOBAL, PICKLE_LIMIT, PICKLE_SHAPE, OBJECT_DTYPE or DTYPE.
    """
    end = scan(data, start, persistent=storage is not None)
    file = io.BytesIO(data[start:end])
    try:
        return _Unpickler(file, names, storage).load(), end
    except BROKEN as error:
        raise Refused(
            "PICKLE_SHAPE", "The pickle is damaged or does not hold arrays", REMEDY
        ) from error


def settle(node: object) -> object:
    """Return the array or mapping behind a stand-in of ours, and everything else as it is."""
    if isinstance(node, Outputs):
        return node.values
    return node.array if isinstance(node, StoredArray) else node


def read_pickle(source: FileBytes) -> Contents:
    """Return the arrays of a pickle: a mapping, a pair, or a pair of pairs of arrays."""
    tree, end = load(source.data)
    if end < source.size:
        what = f"{source.size - end} bytes follow the pickle"
        raise Refused("TRAILING", what, "save one object in the file")
    return contents_of("pickle", tree, settle, source.records)
