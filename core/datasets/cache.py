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
    prefix = f"pictures-{digest(str(root.resolve()))}"
    state = "\0".join(f"{p.name}\0{p.size_bytes}\0{p.changed_ns}" for p in pictures)
    path = home() / "cache" / f"{prefix}-{digest(PIL.__version__, str(shape), state)}.npy"
    pixels = _read(path, shape)
    if pixels is None:
        pixels = decode_all(root, names_of(pictures), size)
        if pixels is not None:
            _keep(path, pixels, f"{prefix}-*.npy")
    return pixels


def _read(path: Path, shape: tuple[int, ...]) -> Pixels | None:
    """Return a kept file's array, mapped; None where there is none or it is damaged."""
    try:
        pixels = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return pixels if pixels.shape == shape and pixels.dtype == np.uint8 else None


def _keep(path: Path, pixels: Pixels, older: str) -> None:
    """Write a file in one step and drop the folder's older ones.

    A disk that is full or read-only only means that the pictures are decoded again next time.
    """
    unfinished = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with NamedTemporaryFile(dir=path.parent, prefix=".pictures-", delete=False) as file:
            unfinished = Path(file.name)
            np.save(file, pixels)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
        for other in set(path.parent.glob(older)) - {path}:
            other.unlink(missing_ok=True)
    except OSError:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)
