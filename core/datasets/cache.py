"""Decoded pictures kept in the run store, so that they are decoded once; imports numpy.

A file `cache/pictures-<folder>-<list>.npy` for each folder of small pictures: it may be deleted at
any time. It is used only if every picture still has the name, length and time of last writing it
had, and is replaced when one differs.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import PIL

from core.arrays import digest
from core.datasets.listing import PictureFile, names_of
from core.datasets.pictures import Pixels, Size, decode_all
from core.library import home


def remembered(root: Path, pictures: Sequence[PictureFile], size: Size) -> Pixels | None:
    """Return the pixels of pictures, decoded now or when they were last asked for.

    Parameters
    ----------
    root : Path
        Folder below which they lie.
    pictures : sequence of N PictureFile
    size : (int, int)
        Height and width that all should have.

    Returns
    -------
    (N, 3, H, W) uint8, or None
        Perhaps read-only; None where sizes differ.

    Raises
    ------
    Refused
        A picture that cannot be read.
    """
    shape = (len(pictures), 3, *size)
    where = f"pictures-{digest(str(root.resolve()))}"
    state = "\0".join(f"{p.name}\0{p.size_bytes}\0{p.changed_ns}" for p in pictures)
    path = home() / "cache" / f"{where}-{digest(PIL.__version__, str(shape), state)}.npy"
    kept = _read(path, shape)
    if kept is None:
        kept = decode_all(root, names_of(pictures), size)
        if kept is not None:
            _keep(path, kept, f"{where}-*.npy")
    return kept


def _read(path: Path, shape: tuple[int, ...]) -> Pixels | None:
    """Return a kept file's array, mapped; None where there is none or it is damaged."""
    try:
        kept = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return kept if kept.shape == shape and kept.dtype == np.uint8 else None


def _keep(path: Path, pixels: Pixels, older: str) -> None:
    """Write a file in one step and drop the folder's older ones.

    A disk that is full or read-only only means that the pictures are decoded again next time.
    """
    part = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile(dir=path.parent, prefix=".pictures-", delete=False) as file:
            part = Path(file.name)
            np.save(file, pixels)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        for other in set(path.parent.glob(older)) - {path}:
            other.unlink(missing_ok=True)
    except OSError:
        if part is not None:
            part.unlink(missing_ok=True)
