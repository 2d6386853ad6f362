"""Files of torch.save, read without torch: tensors are bytes and four numbers, never code.

Neither `torch.load` nor torch itself is used: the pickle inside is scanned and read by the same
restricted unpickler as any other, with stand-ins for the few names that tensors need.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from core import defaults
from core.errors import Refused
from core.readers.formats.archive import Archive
from core.readers.formats.contents import COPY_AGAIN, Contents, FileBytes, check_dtype, cut_off
from core.readers.formats.safetensors_file import BFLOAT16_STEP
from core.readers.formats.tree import contents_of
from core.readers.pickles.pickled import load, settle
from core.readers.pickles.torch_names import NAMES, REMEDY, Storage, StorageType, Tensor, is_size

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
        return self.by_key.setdefault(key, Storage(key, kind, size))


def _fill(storage: Storage, raw: memoryview) -> None:
    check_dtype(storage.dtype, f"storage {storage.key}")
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

    Raises
    ------
    Refused
        TORCHSCRIPT, ARCHIVE_RATIO, TENSOR_SIZE, or a code of the pickle inside.
    """
    names = dict.fromkeys(archive.names)
    root = next(n for n in names if n.endswith("data.pkl")).removesuffix("data.pkl")
    if f"{root}constants.pkl" in names or any(n.startswith(f"{root}code/") for n in names):
        what = "A TorchScript file is a program, and programs are not run"
        raise Refused("TORCHSCRIPT", what, "save the predictions of the model as arrays")
    packed = [n for n in names if not archive.is_stored(n)]
    if packed:
        what = "A compressed member; torch.save never compresses"
        raise Refused("ARCHIVE_RATIO", what, "save the file again with torch.save", packed[0])
    member = f"{root}byteorder"
    if member in archive.names and bytes(archive.read(member)) != b"little":
        raise Refused("DTYPE", "Big-endian tensors", "save on a little-endian machine, or as .npz")
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


def read_legacy(source: FileBytes) -> Contents:
    """Return the tensors of torch's older format; Refused as by `open_legacy`, and STATE_DICT."""
    return _contents(open_legacy(source), source.records)


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
        lambda node: node.array if isinstance(node, Tensor) else settle(node),
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
