"""Array types, where large ones lie, stable log-softmax and sigmoid in float64, digests."""

import io
import math
import mmap
import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from tempfile import TemporaryFile
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from core import progress

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Bool = npt.NDArray[np.bool_]
Counts = npt.NDArray[Any]  # Any: rows are int64, or with weights float64
T = TypeVar("T", bound=np.generic)
Scores = npt.NDArray[np.float16] | npt.NDArray[np.float32] | npt.NDArray[np.float64]

CHUNK_BYTES = 2**20  # of float64 scores worked on at a time: stays in cache, bounds memory
MAPPED_BYTES = 2**26  # arrays from here on stay in the file they came from
PASS_BYTES = 2**25  # of what compiled loops are given at a time: a call costs nothing beside it

SORTED_BY_DIGITS = 2**14  # numbers from here on; fewer are sorted before the loops are loaded


def ascending(values: Float) -> Float:
    """Return numbers in ascending order, (N,) float64; NaN comes at either end."""
    if values.size < SORTED_BY_DIGITS:
        return np.sort(values)
    from core.compiled.sorting import sort_keys, write_keys, write_values

    # Keys are sorted by digits, with the room of the result as the spare they need.
    keys, ordered = np.empty(values.size, dtype=np.uint64), np.empty(values.size)
    write_keys(np.ascontiguousarray(values), keys)
    write_values(sort_keys(keys, ordered.view(np.uint64)), ordered)
    return ordered


def total(values: Float) -> float:
    """Return the sum of numbers, (N,) float64, bit-equal under any order of them."""
    if values.size < SORTED_BY_DIGITS:
        return float(np.sort(values).sum())
    from core.compiled import sums

    return sums.total(np.ascontiguousarray(values))


def row_chunks(n_rows: int, n_columns: int, n_bytes: int = CHUNK_BYTES) -> Iterator[slice]:
    """Yield slices of rows that hold about so many bytes of float64 each; progress is told."""
    step = max(1, n_bytes // (8 * max(1, n_columns)))
    for start in range(0, n_rows, step):
        end = min(start + step, n_rows)
        yield slice(start, end)
        progress.advance((end - start) * n_columns)


def log_softmax(logits: npt.NDArray[np.floating]) -> Float:
    """Return log-softmax over the last axis in float64.

    Parameters
    ----------
    logits : (..., K) array of float
        Finite, or -inf for classes that are ruled out; not every class of a row.

    Returns
    -------
    (..., K) float64
        Natural logarithms, at most 0; -inf where the logit is -inf.

    Notes
    -----
    The maximum is subtracted first, so logits up to 1e300 stay finite.
    """
    # The largest is 0 now, so no power overflows and their sum is at least 1.
    shifted: Float = np.subtract(logits, logits.max(axis=-1, keepdims=True), dtype=np.float64)
    log_norm = np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return np.asarray(shifted - log_norm)


def softmax(logits: npt.NDArray[np.floating]) -> Float:
    """Return softmax over the last axis in float64; rows sum to one."""
    powers: Float = np.subtract(logits, logits.max(axis=-1, keepdims=True), dtype=np.float64)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=-1, keepdims=True)
    return powers


def sigmoid(logits: npt.NDArray[np.floating]) -> Float:
    """Return the logistic function in float64 without overflow."""
    # By the logarithm, whose exponential overflows on neither side.
    return np.asarray(np.exp(log_sigmoid(logits)))


def log_sigmoid(logits: npt.NDArray[np.floating]) -> Float:
    """Return the logarithm of the logistic function in float64 without overflow."""
    return -np.logaddexp(0.0, -np.asarray(logits, dtype=np.float64))


def wide_enough(scores: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return scores as compiled loops take them: float16 as float32, which holds it exactly."""
    narrow = scores.dtype.newbyteorder("=") in (np.float16, np.float32)
    # aligned: an array may begin anywhere in the file that it is mapped from
    return np.require(scores, np.float32 if narrow else np.float64, ["C", "A"])


def shared(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return the same memory contiguous and read-only; copied only if it was not contiguous."""
    out = np.ascontiguousarray(array).view(np.ndarray)
    out.setflags(write=False)
    return out


def frozen(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return the array contiguous and read-only; a view of foreign memory is copied."""
    out = np.ascontiguousarray(array)
    if out.base is not None or out is array:
        out = out.copy()
    out.setflags(write=False)
    return out


def copied_unless_large(array: npt.NDArray[T]) -> npt.NDArray[T]:
    """Return an array of a file to keep: a copy if it is small, else the mapping itself.

    A large one may not fit in memory. A file that was removed lasts as long as the array; to
    shorten one under us would end the process. Windows removes no file that is mapped: there all
    are copied.
    """
    mapped = array.nbytes >= MAPPED_BYTES and sys.platform != "win32"
    return shared(array) if mapped else frozen(array)


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
    """Return an array to be filled, in memory; a large one in a file that goes with it.

    The file has no name, lies in the temporary folder, and all of its room is taken at once. Where
    there is none, the array is in memory.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    if n_bytes < MAPPED_BYTES or not hasattr(os, "posix_fallocate"):
        return np.empty(shape, dtype)
    try:
        with TemporaryFile() as file:
            os.posix_fallocate(file.fileno(), 0, n_bytes)
            return FileMap.of(file.fileno(), writable=True).array(0, dtype, shape)
    except OSError:
        return np.empty(shape, dtype)


class Stamp(NamedTuple):
    """What changes when somebody writes to a file."""

    size: int
    changed_ns: int


def stamp_of(handle: int) -> Stamp:
    """Return the stamp of an open file."""
    status = os.fstat(handle)
    return Stamp(status.st_size, status.st_mtime_ns)


class FileMap(mmap.mmap):
    """The bytes of a file, mapped, and a handle by which another process can map them too.

    Its `stamp` is that of the file when it was mapped; None of one that we write to ourselves.
    """

    handle = -1
    stamp: Stamp | None = None

    @classmethod
    def of(cls, handle: int, *, writable: bool = False) -> Self:
        """Map a whole file, not an empty one; what is written is written to it."""
        mapped = cls(handle, 0, access=mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ)
        mapped.handle = os.dup(handle)
        if not writable:
            mapped.stamp = stamp_of(handle)
        return mapped

    def __del__(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)

    def array(self, start: int, dtype: npt.DTypeLike, shape: Sequence[int]) -> npt.NDArray[Any]:
        """Return the numbers that lie there, row after row."""
        return np.frombuffer(self, dtype, math.prod(shape), start).reshape(shape)


class Place(NamedTuple):
    """Where an array lies in a file: its handle, the first byte, dtype and shape."""

    handle: int
    start: int
    dtype: str
    shape: tuple[int, ...]


def file_location(array: npt.NDArray[Any]) -> Place | None:
    """Return where a large array lies in a `FileMap`, row after row; None where it does not."""
    mapped = file_map_of(array)
    if mapped is None or array.nbytes < MAPPED_BYTES or not array.flags.c_contiguous:
        return None
    # A slice of a mapped array begins later than the file does.
    start = address_of(array) - address_of(np.frombuffer(mapped, np.uint8))
    return Place(mapped.handle, start, array.dtype.str, array.shape)


def file_map_of(array: npt.NDArray[Any]) -> FileMap | None:
    """Return the mapped file that holds the memory of an array; None where none does."""
    owner: object = array
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return owner if isinstance(owner, FileMap) else None


def was_written_to(array: npt.NDArray[Any]) -> bool:
    """Whether somebody else wrote to the file that an array is mapped from, since it was."""
    mapped = file_map_of(array)
    if mapped is None or mapped.stamp is None:
        return False
    return stamp_of(mapped.handle) != mapped.stamp


def map_array(handle: int, start: int, dtype: str, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return the array at a place, read-only, mapped anew."""
    return shared(FileMap.of(handle).array(start, dtype, shape))


def address_of(array: npt.NDArray[Any]) -> int:
    """Return where in memory an array begins."""
    return int(array.__array_interface__["data"][0])


class _Sender(pickle.Pickler):
    """Pickles large arrays that lie in files as their places, and remembers the files."""

    def __init__(self, out: io.BytesIO) -> None:
        super().__init__(out, protocol=pickle.HIGHEST_PROTOCOL)
        self.handles: set[int] = set()

    def reducer_override(self, item: object) -> Any:  # noqa: ANN401  NotImplemented has no type
        place = file_location(item) if isinstance(item, np.ndarray) else None
        if place is None:
            return NotImplemented
        self.handles.add(place.handle)
        return map_array, place


def pickle_with_mappings(*items: object) -> tuple[bytes, tuple[int, ...]]:
    """Return the pickle of a tuple for a process that is started with these file handles.

    Large arrays that are mapped stay in their files, which must be open until it has started.
    """
    out = io.BytesIO()
    sender = _Sender(out)
    sender.dump(items)
    return out.getvalue(), tuple(sorted(sender.handles))


def texts_as_arrays(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], Int]:
    """Return texts as UTF-8 bytes end to end and where each begins; lone surrogates survive.

    The last of the N + 1 places is the end.
    """
    coded = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.zeros(len(coded) + 1, dtype=np.int64)
    # Each text begins where the one before ends.
    np.cumsum([len(code) for code in coded], out=offsets[1:])
    return np.frombuffer(b"".join(coded), dtype=np.uint8), offsets


def digest(*parts: npt.NDArray[np.generic] | str) -> str:
    """Return a hex digest over the bytes, shapes and dtypes of arrays, and over strings.

    Two inputs that differ in one value differ here; cache keys are built from it.
    """
    state = blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, str):
            state.update(f"s{len(part)}:{part}".encode("utf-8", "surrogatepass"))
        else:
            state.update(f"a{part.dtype.str}{part.shape}".encode())
            flat = np.ascontiguousarray(part).reshape(-1)
            # In chunks, for the bytes of a mapped array need not all be in memory.
            for chunk in row_chunks(flat.size, 1, PASS_BYTES):
                state.update(flat[chunk].view(np.uint8).data)
    return state.hexdigest()
