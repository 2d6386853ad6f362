"""Array types, where large ones lie, stable log-softmax and sigmoid in float64, digests."""

import math
import os
import sys
from collections.abc import Iterator
from hashlib import blake2b
from tempfile import TemporaryFile
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Counts = npt.NDArray[Any]  # Any: rows are int64, or with weights float64
T = TypeVar("T", bound=np.generic)
Scores = npt.NDArray[np.float16] | npt.NDArray[np.float32] | npt.NDArray[np.float64]

CHUNK_BYTES = 2**20  # of float64 scores worked on at a time: stays in cache, bounds memory
MAPPED_BYTES = 2**26  # arrays from here on stay in the file they came from
PASS_BYTES = 2**25  # of what compiled loops are given at a time: a call costs nothing beside it


def row_chunks(n_rows: int, n_columns: int, n_bytes: int = CHUNK_BYTES) -> Iterator[slice]:
    """Yield slices of rows that hold about so many bytes of float64 each."""
    step = max(1, n_bytes // (8 * max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


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
            return np.memmap(file, dtype, "r+", shape=shape).view(np.ndarray)
    except OSError:
        return np.empty(shape, dtype)


def digest(*parts: npt.NDArray[np.generic] | str) -> str:
    """Return a hex digest over the bytes, shapes and dtypes of arrays, and over strings.

    Two inputs that differ in one value differ here; cache keys are built from it.
    """
    state = blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, str):
            state.update(f"s{len(part)}:{part}".encode())
        else:
            state.update(f"a{part.dtype.str}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).view(np.uint8).reshape(-1).data)
    return state.hexdigest()
