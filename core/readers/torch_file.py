"""Files of torch.save, read without torch: tensors are bytes and four numbers, never code.

Neither `torch.load` nor torch itself is used: the pickle inside is scanned and read by the same
restricted unpickler as any other, with stand-ins for the few names that tensors need.
"""

import math
from collections.abc import Mapping

import numpy as np

from core import defaults
from core.errors import Refused
from core.readers.archive import Archive
from core.readers.contents import Contents, Entry, Source, check_dtype
from core.readers.pickled import GLOBALS, Guard, load, settle
from core.readers.safetensors_file import BFLOAT16_STEP, bfloat16
from core.readers.tree import contents_of

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
STORAGES = {
    "DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "BFloat16Storage": "bf16",
    "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "|i1",
    "ByteStorage": "|u1", "BoolStorage": "|b1", "ComplexFloatStorage": "<c8",
    "ComplexDoubleStorage": "<c16",
}  # fmt: skip
REMEDY = "save plain tensors, for example torch.save({'logits': z, 'labels': y})"
PARAMETERS = {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
MAX_TENSORS = 100_000


class StorageType:
    """Stands for a storage class; a pickle names it and never calls it."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype


class Inert:
    """Stands for an object whose content is of no interest, such as training arguments."""

    __slots__ = ()

    def __new__(cls, *_args: object) -> "Inert":
        """Make the object; whatever it was made from is forgotten."""
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        """Forget the state."""


class OrderedMapping(dict[str, object]):
    """Stands for OrderedDict; attributes set by a pickle are forgotten."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        """Forget attributes such as `_metadata`."""


class Storage:
    """A typed run of bytes that tensors are views of; filled when the bytes are known."""

    __slots__ = ("array", "bfloat", "dtype", "size")

    def __init__(self, kind: StorageType, size: int) -> None:
        self.bfloat = kind.dtype == "bf16"
        self.dtype = np.dtype("<u2" if self.bfloat else kind.dtype)
        self.size = size
        self.array: Entry | None = None


class Tensor:
    """A view of a storage, resolved after all bytes were read."""

    __slots__ = ("offset", "shape", "storage", "stride")

    def __init__(self, storage: object, offset: object, shape: object, stride: object) -> None:
        if not isinstance(storage, Storage) or type(offset) is not int or offset < 0:
            raise Refused("PICKLE_SHAPE", "a tensor in an unknown form", REMEDY)
        self.storage, self.offset = storage, offset
        self.shape, self.stride = _sizes(shape), _sizes(stride)
        if len(self.shape) != len(self.stride):
            raise Refused("PICKLE_SHAPE", "a tensor in an unknown form", REMEDY)
        self._check()

    def _check(self) -> None:
        """Refuse a view of more numbers than are stored: stride 0 makes terabytes of a byte."""
        count = math.prod(self.shape)
        reach = self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.stride, strict=True))
        if count > self.storage.size or (count and reach >= self.storage.size):
            what = f"a tensor of shape {self.shape} over {self.storage.size} stored values"
            raise Refused("TENSOR_SIZE", what, "save it with .contiguous() or .clone()")

    @property
    def array(self) -> Entry:
        """The numbers, copied where the view is not contiguous."""
        stored = self.storage.array
        if stored is None:
            raise Refused("PICKLE_SHAPE", "a tensor whose bytes are missing", REMEDY)
        if math.prod(self.shape) == 0:
            return np.empty(self.shape, stored.dtype)
        steps = [s * stored.itemsize for s in self.stride]
        flat = stored[self.offset :]
        return np.lib.stride_tricks.as_strided(flat, self.shape, steps, writeable=False).copy()


def _sizes(values: object) -> tuple[int, ...]:
    plain = isinstance(values, tuple | list) and len(values) <= 8
    if not plain or any(type(n) is not int or n < 0 for n in values):  # type: ignore[attr-defined]
        raise Refused("PICKLE_SHAPE", "a tensor with odd sizes", REMEDY)
    return tuple(values)  # type: ignore[arg-type]


def _tensor(
    storage: object, offset: object, shape: object, stride: object, *_rest: object
) -> Tensor:
    return Tensor(storage, offset, shape, stride)


def _parameter(data: object, *_rest: object) -> object:
    return data


def _mapping(*items: object) -> OrderedMapping:
    if items:
        raise Refused("PICKLE_SHAPE", "a mapping made from a list", REMEDY)
    return OrderedMapping()


def _bytearray(*sizes: object) -> bytes:
    if sizes and not isinstance(sizes[0], bytes | str):
        what = f"bytearray({str(sizes[0])[:30]}) asks for memory that the file does not hold"
        raise Refused("PICKLE_LIMIT", what, REMEDY)
    return b""


def _nothing(*_args: object) -> None:
    return None


NAMES: Mapping[tuple[str, str], object] = {
    **GLOBALS,
    **{("torch", name): StorageType(dtype) for name, dtype in STORAGES.items()},
    **{("torch", name): Inert() for name in ("float16", "float32", "float64", "bfloat16", "int64")},
    ("torch._utils", "_rebuild_tensor_v2"): Guard(_tensor),
    ("torch._utils", "_rebuild_parameter"): Guard(_parameter),
    ("torch", "Size"): Guard(lambda *sizes: sizes[0] if sizes else ()),
    ("torch", "device"): Guard(_nothing),
    ("collections", "OrderedDict"): Guard(_mapping),
    ("argparse", "Namespace"): Inert,
    ("__builtin__", "bytearray"): Guard(_bytearray),
    ("builtins", "bytearray"): Guard(_bytearray),
}


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
            raise Refused("PICKLE_SHAPE", "an unknown reference", REMEDY)
        _, kind, key, _, size = reference[:5]
        if len(reference) == 6 and reference[5] is not None:
            raise Refused("PICKLE_SHAPE", "a view of a storage, as torch before 0.4 wrote", REMEDY)
        if not isinstance(kind, StorageType) or type(size) is not int or size < 0:
            raise Refused("PICKLE_SHAPE", "an unknown storage", REMEDY)
        if not isinstance(key, str) or len(self.by_key) > MAX_TENSORS:
            raise Refused("PICKLE_LIMIT", "too many storages", REMEDY)
        return self.by_key.setdefault(key, Storage(kind, size))


def _fill(storage: Storage, raw: memoryview, key: str) -> None:
    check_dtype(storage.dtype, f"storage {key}")
    expected = storage.size * storage.dtype.itemsize
    if raw.nbytes != expected or expected > defaults.MAX_BYTES:
        what = f"storage {key} claims {expected} bytes, {raw.nbytes} are stored"
        raise Refused("TENSOR_SIZE", what, "save the file again")
    flat = np.frombuffer(raw, storage.dtype)
    storage.array = bfloat16(flat) if storage.bfloat else flat


def is_torch(names: list[str]) -> bool:
    """Whether the members of an archive are those of torch.save."""
    return any(name.endswith("/data.pkl") or name == "data.pkl" for name in names)


def read_torch(archive: Archive) -> Contents:
    """Return the tensors of an archive written by torch.save.

    Raises
    ------
    Refused
        TORCHSCRIPT, ARCHIVE_RATIO, STATE_DICT, TENSOR_SIZE, or a code of the pickle inside.
    """
    names = archive.names
    root = next(n for n in names if n.endswith("data.pkl")).removesuffix("data.pkl")
    if f"{root}constants.pkl" in names or any(n.startswith(f"{root}code/") for n in names):
        what = "a TorchScript file is a program, and programs are not run"
        raise Refused("TORCHSCRIPT", what, "save the predictions of the model as arrays")
    packed = [n for n in names if not archive.is_stored(n)]
    if packed:
        what = "a compressed member; torch.save never compresses"
        raise Refused("ARCHIVE_RATIO", what, "save the file again with torch.save", packed[0])
    _check_byte_order(archive, f"{root}byteorder")
    storages = _Storages()
    tree, _ = load(archive.read(f"{root}data.pkl"), NAMES, storages.meet)
    _refuse_weights(tree)
    for key, storage in storages.by_key.items():
        member = f"{root}data/{key}"
        if member not in names:
            raise Refused("TENSOR_SIZE", f"storage {key} is missing", "save the file again")
        _fill(storage, archive.read(member), key)
    return _contents(tree, storages)


def _check_byte_order(archive: Archive, member: str) -> None:
    if member in archive.names and bytes(archive.read(member)) != b"little":
        raise Refused("DTYPE", "big-endian tensors", "save on a little-endian machine, or as .npz")


def is_legacy(source: Source) -> bool:
    """Whether a pickle begins with the mark of torch's older format."""
    mark = b"\x8a\x0a" + LEGACY_MAGIC.to_bytes(10, "little")
    return bytes(source.data[2:14]) == mark


def read_legacy(source: Source) -> Contents:
    """Return the tensors of torch's older format: five pickles, then the storages one by one."""
    at = 0
    for _ in range(3):  # mark, version and platform
        _, at = load(source.data, {}, start=at)
    storages = _Storages()
    tree, at = load(source.data, NAMES, storages.meet, start=at)
    _refuse_weights(tree)
    keys, at = load(source.data, {}, start=at)
    if not isinstance(keys, list) or set(map(str, keys)) != set(storages.by_key):
        raise Refused("PICKLE_SHAPE", "the list of storages does not fit", REMEDY)
    for key in keys:
        at = _fill_legacy(storages.by_key[str(key)], source.data, at, str(key))
    if at != source.size:
        raise Refused("TRAILING", f"{source.size - at} bytes after the last storage", REMEDY)
    return _contents(tree, storages)


def _fill_legacy(storage: Storage, data: memoryview, at: int, key: str) -> int:
    size = int.from_bytes(data[at : at + 8], "little")
    end = at + 8 + storage.size * storage.dtype.itemsize
    if size != storage.size or end > data.nbytes:
        what = f"storage {key} claims {storage.size} values, the file holds {size}"
        raise Refused("TENSOR_SIZE", what, "save the file again")
    _fill(storage, data[at + 8 : end], key)
    return end


def _contents(tree: object, storages: _Storages) -> Contents:
    widened = any(s.bfloat for s in storages.by_key.values())
    contents = contents_of("torch", tree, settle=_settle)
    if not widened:
        return contents
    names = [n for n, e in contents.entries.items() if e.dtype == np.float32]
    return Contents(
        contents.format,
        contents.entries,
        coarse=dict.fromkeys(names, BFLOAT16_STEP),
        named=contents.named,
        notices=contents.notices,
    )


def _settle(node: object) -> object:
    return node.array if isinstance(node, Tensor) else settle(node)


def _refuse_weights(tree: object) -> None:
    """Refuse a state dict: it holds parameters, not predictions."""
    names = _tensor_names(_dict_items(tree), 0)
    if any(name.rpartition(".")[2] in PARAMETERS for name in names):
        raise weights_refusal(names)


def weights_refusal(names: list[str]) -> Refused:
    """Return the refusal of a checkpoint."""
    what = f"the weights of a model ({len(names)} tensors, first {names[0][:60]}), not predictions"
    remedy = "run the model and give its logits or probabilities, with the labels"
    return Refused("STATE_DICT", what, remedy)


def _dict_items(tree: object) -> list[tuple[str, object]]:
    return [(str(k), v) for k, v in tree.items()] if isinstance(tree, dict) else []


def _tensor_names(items: list[tuple[str, object]], depth: int) -> list[str]:
    names = [key for key, value in items if isinstance(value, Tensor)]
    if depth < 3:
        for _, value in items:
            names += _tensor_names(_dict_items(value), depth + 1)
    return names[:MAX_TENSORS]
