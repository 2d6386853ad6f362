"""The names that files of torch.save ask for, and what stands for each: bytes and plain values."""

import math
from collections.abc import Mapping
from typing import TypeGuard

import numpy as np

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import Entry
from core.readers.formats.safetensors_file import bfloat16
from core.readers.pickles.pickled import GLOBALS, Guard, InertObject, OrderedMapping, SealedValue

STORAGES = {
    "DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "BFloat16Storage": "bf16",
    "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "|i1",
    "ByteStorage": "|u1", "BoolStorage": "|b1", "ComplexFloatStorage": "<c8",
    "ComplexDoubleStorage": "<c16",
}  # fmt: skip
REMEDY = "save plain tensors, for example torch.save({'logits': z, 'labels': y})"


class StorageType(SealedValue):
    """Stands for a storage class; a pickle names it and never calls it."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype


class Arguments:
    """Stands for an argparse.Namespace: names and values."""

    __slots__ = ("values",)

    values: Mapping[object, object]

    def __new__(cls) -> "Arguments":
        """Make an empty one: a pickle need not call `__init__`."""
        arguments = super().__new__(cls)
        arguments.values = {}
        return arguments

    def __setstate__(self, state: object) -> None:
        """Take the values; anything but a mapping is forgotten."""
        if isinstance(state, dict):
            self.values = state


class Storage(SealedValue):
    """A typed run of bytes that tensors are views of; filled when the bytes are known."""

    __slots__ = ("array", "bfloat", "dtype", "key", "size")

    def __init__(self, key: str, kind: StorageType, size: int) -> None:
        self.key = key
        self.bfloat = kind.dtype == "bf16"
        self.dtype = np.dtype("<u2" if self.bfloat else kind.dtype)
        self.size = size
        self.array: Entry | None = None


class Tensor(SealedValue):
    """A view of a storage, resolved after all bytes were read."""

    __slots__ = ("offset", "shape", "storage", "stride")

    def __init__(self, storage: object, offset: object, shape: object, stride: object) -> None:
        if not isinstance(storage, Storage) or type(offset) is not int or offset < 0:
            raise Refused("PICKLE_SHAPE", "A tensor in an unknown form", REMEDY)
        self.storage, self.offset = storage, offset
        self.shape, self.stride = _sizes(shape), _sizes(stride)
        if len(self.shape) != len(self.stride):
            raise Refused("PICKLE_SHAPE", "A tensor in an unknown form", REMEDY)
        self._check(storage.size)

    def _check(self, size: int) -> None:
        """Refuse a view of more numbers than are stored: stride 0 makes terabytes of a byte."""
        count = math.prod(self.shape)
        sides = math.prod(max(n, 1) for n in self.shape)  # no memory holds (0, 2**40, 2**40)
        reach = self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.stride, strict=True))
        if count > size or (count and reach >= size) or sides > defaults.MAX_BYTES:
            what = f"A tensor of shape {self.shape} over {size} stored values"
            raise Refused("TENSOR_SIZE", what, "save it with .contiguous() or .clone()")

    @property
    def array(self) -> Entry:
        """The numbers; bfloat16 becomes float32, exactly."""
        return bfloat16(self.raw) if self.storage.bfloat else self.raw

    @property
    def raw(self) -> Entry:
        """The numbers as they are stored: bfloat16 as uint16."""
        stored = self.storage.array
        if stored is None:
            raise Refused("PICKLE_SHAPE", "A tensor whose bytes are missing", REMEDY)
        self._check(stored.size)
        if math.prod(self.shape) == 0:
            return np.empty(self.shape, stored.dtype)
        steps = [s * stored.itemsize for s in self.stride]
        flat = stored[self.offset :]
        return np.lib.stride_tricks.as_strided(flat, self.shape, steps, writeable=False).copy()


def _sizes(values: object) -> tuple[int, ...]:
    plain = isinstance(values, tuple | list) and len(values) <= 8
    if not plain or any(not is_size(n) for n in values):  # type: ignore[attr-defined]
        raise Refused("PICKLE_SHAPE", "A tensor with odd sizes", REMEDY)
    return tuple(values)  # type: ignore[arg-type]


def is_size(value: object) -> TypeGuard[int]:
    """Whether a value of a pickle is a number of values that a file may hold."""
    return type(value) is int and 0 <= value <= defaults.MAX_BYTES


def _tensor(
    storage: object, offset: object, shape: object, stride: object, *rest: object
) -> Tensor:
    if any(isinstance(item, dict) and item.keys() & {"neg", "conj"} for item in rest):
        what = "A tensor whose numbers are to be turned round as they are read"
        raise Refused("PICKLE_SHAPE", what, "save it with .resolve_neg() or .resolve_conj()")
    return Tensor(storage, offset, shape, stride)


def _rebuilt(rebuild: object, _kind: object, args: object, *_state: object) -> object:
    """Make a tensor that had attributes of its own; they are forgotten."""
    if not isinstance(rebuild, Guard) or not isinstance(args, tuple):
        raise Refused("PICKLE_SHAPE", "A tensor in an unknown form", REMEDY)
    return rebuild(*args)


def _bytearray(*sizes: object) -> bytes:
    if sizes and not isinstance(sizes[0], bytes | str):
        what = f"bytearray({str(sizes[0])[:30]}) asks for memory that the file does not hold"
        raise Refused("PICKLE_LIMIT", what, REMEDY)
    return b""


INERT = Guard(InertObject)
DTYPES = (
    *("float16", "float32", "float64", "half", "float", "double", "bfloat16", "bool", "uint8"),
    *("int8", "int16", "int32", "int64", "complex64", "complex128"),
)
BUILTINS = ("__builtin__", "builtins")
LIGHTNING = ("pytorch_lightning", "lightning.pytorch")
CALLBACKS = (("model_checkpoint", "ModelCheckpoint"), ("early_stopping", "EarlyStopping"))
NAMES: Mapping[tuple[str, str], object] = {
    **GLOBALS,
    **{("torch", name): StorageType(dtype) for name, dtype in STORAGES.items()},
    **{("torch.cuda", name): StorageType(dtype) for name, dtype in STORAGES.items()},
    **{("torch", name): InertObject() for name in (*DTYPES, "Tensor")},
    ("torch._utils", "_rebuild_tensor"): Guard(_tensor),  # before torch 0.4
    ("torch._utils", "_rebuild_tensor_v2"): Guard(_tensor),
    ("torch._utils", "_rebuild_parameter"): Guard(lambda data, *_: data),
    ("torch._utils", "_rebuild_parameter_with_state"): Guard(lambda data, *_: data),
    ("torch._tensor", "_rebuild_from_type_v2"): Guard(_rebuilt),
    ("torch.nn.parameter", "Parameter"): InertObject(),
    ("torch", "Size"): Guard(lambda *sizes: sizes[0] if sizes else ()),
    ("torch", "device"): Guard(lambda *_: None),
    ("collections", "Counter"): INERT,
    ("collections", "deque"): INERT,
    ("argparse", "Namespace"): Arguments,
    **{(module, "bytearray"): Guard(_bytearray) for module in BUILTINS},
    **{(module, name): INERT for module in BUILTINS for name in ("set", "frozenset")},
    **{
        (module, f"{system}Path"): INERT
        for module in ("pathlib", "pathlib._local")
        for system in ("Posix", "PurePosix", "Windows", "PureWindows")
    },
    **{(f"{module}.utilities.parsing", "AttributeDict"): OrderedMapping for module in LIGHTNING},
    **{
        (f"{module}.utilities.data", "AttributeDict"): OrderedMapping
        for module in ("lightning_fabric", "lightning.fabric")
    },
    # Callbacks were once saved under their class, which is only a key.
    **{
        (f"{module}.callbacks.{name}", kind): InertObject()
        for module in LIGHTNING
        for name, kind in CALLBACKS
    },
}
