"""Files of torch.save, read without torch: tensors are bytes and four numbers, never code.

Neither `torch.load` nor torch itself is used: the pickle inside is scanned and read by the same
restricted unpickler as any other, with stand-ins for the few names that tensors need.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from core import defaults
from core.errors import Refused
from core.readers.formats.archive import Archive
from core.readers.formats.contents import (
    COPY_AGAIN,
    Contents,
    Entry,
    FileBytes,
    check_dtype,
    cut_off,
)
from core.readers.formats.numpy_file import (
    GLOBALS,
    AllowedCall,
    InertObject,
    OrderedMapping,
    SealedValue,
    load,
    read_pickle,
    resolve,
)
from core.readers.formats.tree import contents_of
from core.readers.weights.named_tensors import BFLOAT16_STEP, bfloat16

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
        # Checked before: offset, shape and strides stay inside the
        # storage, or this would read other memory.
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
    if not isinstance(rebuild, AllowedCall) or not isinstance(args, tuple):
        raise Refused("PICKLE_SHAPE", "A tensor in an unknown form", REMEDY)
    return rebuild(*args)


def _bytearray(*sizes: object) -> bytes:
    if sizes and not isinstance(sizes[0], bytes | str):
        what = f"bytearray({str(sizes[0])[:30]}) asks for memory that the file does not hold"
        raise Refused("PICKLE_LIMIT", what, REMEDY)
    return b""


INERT = AllowedCall(InertObject)
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
    ("torch._utils", "_rebuild_tensor"): AllowedCall(_tensor),  # before torch 0.4
    ("torch._utils", "_rebuild_tensor_v2"): AllowedCall(_tensor),
    ("torch._utils", "_rebuild_parameter"): AllowedCall(lambda data, *_: data),
    ("torch._utils", "_rebuild_parameter_with_state"): AllowedCall(lambda data, *_: data),
    ("torch._tensor", "_rebuild_from_type_v2"): AllowedCall(_rebuilt),
    ("torch.nn.parameter", "Parameter"): InertObject(),
    ("torch", "Size"): AllowedCall(lambda *sizes: sizes[0] if sizes else ()),
    ("torch", "device"): AllowedCall(lambda *_: None),
    ("collections", "Counter"): INERT,
    ("collections", "deque"): INERT,
    ("argparse", "Namespace"): Arguments,
    **{(module, "bytearray"): AllowedCall(_bytearray) for module in BUILTINS},
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


LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
PARAMETERS = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
MAX_TENSORS = 100_000
PICKLES = (".pkl", ".pickle")
MARK = re.compile(rb"\x80[\x02-\x05]")  # how a pickle begins


class _Storages:
    """Storages met in a pickle, by key."""

    def __init__(self) -> None:
        self.by_key: dict[str, Storage] = {}

    def meet(self, reference: object) -> object:
        """Return the storage of a persistent id ("storage", type, key, device, size)."""
        if (
            not isinstance(reference, tuple)
            or len(reference) not in (5, 6)
            or reference[0] != "storage"
        ):
            raise Refused("PICKLE_SHAPE", "An unknown reference", REMEDY)
        _, kind, key, _, size = reference[:5]
        if len(reference) == 6 and reference[5] is not None:
            raise Refused("PICKLE_SHAPE", "A view of a storage, as torch before 0.4 wrote", REMEDY)
        if not isinstance(kind, StorageType) or not is_size(size):
            raise Refused("PICKLE_SHAPE", "An unknown storage", REMEDY)
        if not isinstance(key, str) or len(self.by_key) > MAX_TENSORS:
            raise Refused("PICKLE_LIMIT", "Too many storages", REMEDY)
        # Tensors may share a storage; its bytes are read once.
        return self.by_key.setdefault(key, Storage(key, kind, size))


def _fill(storage: Storage, raw: memoryview) -> None:
    check_dtype(storage.dtype, f"storage {storage.key}")
    # The pickle claims a size, the archive another: both must agree.
    expected = storage.size * storage.dtype.itemsize
    if raw.nbytes != expected or expected > defaults.MAX_BYTES:
        what = f"Storage {storage.key} claims {expected} bytes, {raw.nbytes} are stored"
        raise Refused("TENSOR_SIZE", what, "save the file again")
    storage.array = np.frombuffer(raw, storage.dtype)


@dataclass(frozen=True)
class SavedTensors:
    """What torch.save wrote, before `fill` reads the numbers of a storage."""

    tree: object  # mappings, lists and plain values, with a `Tensor` for each tensor
    storages: tuple[Storage, ...]  # all that the pickle names
    fill: Callable[[Storage], None]


def is_torch(names: list[str]) -> bool:
    """Whether the members of an archive are those of torch.save."""
    return any(name.endswith("/data.pkl") or name == "data.pkl" for name in names)


def open_torch(archive: Archive) -> SavedTensors:
    """Return what an archive written by torch.save holds.

    Raises Refused TORCHSCRIPT, ARCHIVE_RATIO, TENSOR_SIZE, or a code of the pickle inside.
    """
    names = dict.fromkeys(archive.names)
    root = next(n for n in names if n.endswith("data.pkl")).removesuffix("data.pkl")
    if f"{root}constants.pkl" in names or any(n.startswith(f"{root}code/") for n in names):
        what = "A TorchScript file is a program, and programs are not run"
        raise Refused("TORCHSCRIPT", what, "save the predictions of the model as arrays")
    # Stored members are mapped where they lie; a compressed one could be a bomb.
    packed = [n for n in names if not archive.is_stored(n)]
    if packed:
        what = "A compressed member; torch.save never compresses"
        raise Refused("ARCHIVE_RATIO", what, "save the file again with torch.save", packed[0])
    member = f"{root}byteorder"
    if member in archive.names and bytes(archive.read(member)) != b"little":
        raise Refused("DTYPE", "Big-endian tensors", "save on a little-endian machine, or as .npz")
    # The pickle names storages by key and reads none: numbers come
    # later, and only those that are asked for.
    storages = _Storages()
    tree, _ = load(archive.read(f"{root}data.pkl"), NAMES, storages.meet)
    # A pickle that no tensor needs: another program may run it, or read it for this one.
    known = {f"{root}data.pkl", *(f"{root}data/{key}" for key in storages.by_key)}
    for name in (name for name in archive.names if name not in known):
        if name.lower().endswith(PICKLES) or MARK.match(archive.read(name)[:2]):
            what = "A second pickle; torch.save writes one"
            raise Refused("PICKLE_SHAPE", what, "save the file again with torch.save", name)

    def fill(storage: Storage) -> None:
        member = f"{root}data/{storage.key}"
        if member not in names:
            raise Refused("TENSOR_SIZE", f"Storage {storage.key} is missing", "save the file again")
        _fill(storage, archive.read(member))

    return SavedTensors(tree, tuple(storages.by_key.values()), fill)


def read_torch(archive: Archive, records: str | None = None) -> Contents:
    """Return the tensors of an archive; Refused as by `open_torch`, and STATE_DICT."""
    return _contents(open_torch(archive), records)


def is_legacy(source: FileBytes) -> bool:
    """Whether a pickle begins with the mark of torch's older format."""
    mark = b"\x8a\x0a" + LEGACY_MAGIC.to_bytes(10, "little")
    return bytes(source.data[2:14]) == mark


def open_legacy(source: FileBytes) -> SavedTensors:
    """Return torch's older format: five pickles, then the storages one by one."""
    at = 0
    for _ in range(3):  # mark, version and platform
        _, at = load(source.data, {}, start=at)
    storages = _Storages()
    tree, at = load(source.data, NAMES, storages.meet, start=at)
    # The list of keys says in which order the storages follow.
    keys, at = load(source.data, {}, start=at)
    if not isinstance(keys, list) or set(map(str, keys)) != set(storages.by_key):
        raise Refused("PICKLE_SHAPE", "The list of storages does not fit", REMEDY)
    raws: dict[str, memoryview] = {}
    for key in map(str, keys):
        storage = storages.by_key[key]
        size = int.from_bytes(source.data[at : at + 8], "little")
        end = at + 8 + storage.size * storage.dtype.itemsize
        if end > source.data.nbytes:
            raise Refused("TENSOR_SIZE", cut_off(source.data.nbytes), COPY_AGAIN)
        if size != storage.size:
            what = f"Storage {storage.key} claims {storage.size} values, the file holds {size}"
            raise Refused("TENSOR_SIZE", what, "save the file again")
        raws[key], at = source.data[at + 8 : end], end
    if at != source.size:
        raise Refused("TRAILING", f"{source.size - at} bytes follow the last storage", REMEDY)
    all_storages = tuple(storages.by_key.values())
    return SavedTensors(tree, all_storages, lambda storage: _fill(storage, raws[storage.key]))


def read_pickle_or_legacy(source: FileBytes) -> Contents:
    """Return what a pickle holds, or the tensors of torch's older format, which is one as well.

    Raises Refused as `read_pickle` or `open_legacy` does, and STATE_DICT.
    """
    if is_legacy(source):
        return _contents(open_legacy(source), source.records)
    return read_pickle(source)


def _contents(saved: SavedTensors, records: str | None) -> Contents:
    # A state dict holds parameters, not predictions.
    names = _tensor_names(_dict_items(saved.tree), 0)
    if any(name.rpartition(".")[2] in PARAMETERS for name in names):
        raise weights_refusal(names)
    for storage in saved.storages:
        saved.fill(storage)
    widened = any(s.bfloat for s in saved.storages)
    contents = contents_of(
        "torch",
        saved.tree,
        lambda node: node.array if isinstance(node, Tensor) else resolve(node),
        records,
    )
    if not widened:
        return contents
    arrays = {**contents.entries, **(contents.batches or {})}
    names = [n for n, e in arrays.items() if e.dtype == np.float32]
    return replace(contents, coarse=dict.fromkeys(names, BFLOAT16_STEP))


def weights_refusal(names: list[str]) -> Refused:
    """Return the refusal of a checkpoint."""
    what = f"The weights of a model ({len(names)} tensors, first {names[0][:60]}), not predictions"
    remedy = (
        "open them under Evaluate, which runs the model; "
        "or give its logits or probabilities, with the labels"
    )
    return Refused("STATE_DICT", what, remedy)


def _dict_items(tree: object) -> list[tuple[str, object]]:
    return [(str(k), v) for k, v in tree.items()] if isinstance(tree, dict) else []


def _tensor_names(items: list[tuple[str, object]], depth: int) -> list[str]:
    names = [key for key, value in items if isinstance(value, Tensor)]
    if depth < 3:
        for _, value in items:
            names += _tensor_names(_dict_items(value), depth + 1)
    return names[:MAX_TENSORS]
