"""Checkpoints: whole or not there, the last two kept, nothing but tensors and plain values; torch.

Written beside and renamed once they are on the disk, so a process that is killed at any moment
leaves the one before untouched.
"""

import io
import pickle
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from core.errors import LibraryError
from core.library.files import PART, replace_bytes

KEPT: Final = 2
_NAME: Final = re.compile(r"epoch-(\d{5})\.pt")
State = dict[str, Any]  # Any: state dicts of torch


def save(folder: Path, epoch: int, state: State) -> None:
    """Write the state after so many epochs, and remove all but the last two.

    Raises
    ------
    LibraryError
        DISK_FULL, or LIBRARY_WRITE; the checkpoints before it are untouched.
    """
    buffer = io.BytesIO()
    torch.save({"sum": checksum(state), "state": state}, buffer)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_bytes(folder / f"epoch-{epoch:05d}.pt", buffer.getbuffer())
    except OSError as error:
        raise LibraryError(
            "DISK_FULL",
            f"the checkpoint of epoch {epoch} cannot be written ({error.strerror}); the one "
            "before it is untouched",
            "free some space, then resume",
        ) from error
    for path in _saved(folder)[:-KEPT]:
        path.unlink(missing_ok=True)


def newest(folder: Path) -> State | None:
    """Return the last state that is whole, or None; unfinished files are removed.

    A checkpoint whose numbers are not those that were written is passed over.
    """
    for part in folder.glob(f".*{PART}"):
        part.unlink(missing_ok=True)
    for path in reversed(_saved(folder)):
        state = _read(path)
        if state is not None:
            return state
    return None


def _read(path: Path) -> State | None:
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
        state: State = found["state"]
        return state if checksum(state) == found["sum"] else None
    except (OSError, RuntimeError, KeyError, TypeError, EOFError, pickle.UnpicklingError):
        return None


def _saved(folder: Path) -> list[Path]:
    """Return the checkpoints, the oldest first."""
    return sorted(path for path in folder.glob("*.pt") if _NAME.fullmatch(path.name))


def checksum(state: Mapping[str, object]) -> str:
    """Return a digest over the names, types, shapes and bytes of all that a state holds."""
    total = blake2b(digest_size=16)
    for line in _lines("", state):
        total.update(line)
    return total.hexdigest()


def _lines(where: str, value: object) -> Iterator[bytes]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _lines(f"{where}/{key}", inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _lines(f"{where}/{index}", inner)
    elif isinstance(value, torch.Tensor):
        plain = value.detach().cpu().contiguous()
        yield f"{where} {plain.dtype} {tuple(plain.shape)}\n".encode()
        yield np.ascontiguousarray(plain.view(-1).view(torch.uint8).numpy()).tobytes()
    else:
        yield f"{where} {value!r}\n".encode()
