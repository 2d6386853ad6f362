"""Images read from their files as they are needed, and kept resized; imports torch."""

import logging
import os
import shutil
import zlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import PIL
import torch
from torch import Tensor

from core.arrays import Int, digest
from core.datasets.base import DatasetSplit
from core.datasets.listing import PictureFile
from core.datasets.pictures import STRETCHED, Pixels, Scaling, Size, decode, threads
from core.library import home

AHEAD: Final = 3  # batches decoded while the device works on one
LEFT_FREE: Final = 0.5  # of what is free on the disk, when all pictures are kept
CHECK: Final = 4  # bytes before a picture: CRC-32 of its pixels
LOG = logging.getLogger(__name__)


def pictures_digest(pictures: Sequence[PictureFile], *how: str) -> str:
    """Return a digest of files by name, length and time, and of how they are decoded."""
    state = "\0".join(f"{p.name}\0{p.size_bytes}\0{p.changed_ns}" for p in pictures)
    return digest(PIL.__version__, *how, state)


class ResizedPictures:
    """A file of the pixels of pictures, each kept when it is first decoded.

    Several processes may read and fill it at once. A picture that is not there, or was written by
    half, is told by its check sum and decoded again. Once the disk refuses one, no more are kept.

    Parameters
    ----------
    path : Path
    size : (int, int)
        Height and width of every picture.
    """

    def __init__(self, path: Path, size: Size) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._shape = (3, *size)
        self._stride = CHECK + 3 * size[0] * size[1]
        self._full = False

    def __del__(self) -> None:
        os.close(self._file)

    def read(self, place: int) -> Pixels | None:
        """Return the (3, H, W) pixels of a picture, or None."""
        record = os.pread(self._file, self._stride, place * self._stride)
        check, pixels = record[:CHECK], memoryview(record)[CHECK:]
        if len(record) < self._stride or zlib.crc32(pixels) != int.from_bytes(check, "little"):
            return None
        return np.frombuffer(pixels, np.uint8).reshape(self._shape)

    def write(self, place: int, pixels: Pixels) -> None:
        """Keep a picture, if the disk has room."""
        if self._full:
            return
        plain = pixels.tobytes()
        record = zlib.crc32(plain).to_bytes(CHECK, "little") + plain
        try:
            self._full = os.pwrite(self._file, record, place * self._stride) < len(record)
        except OSError:
            self._full = True


def resized_pictures(
    root: Path, pictures: Sequence[PictureFile], size: Size, scaling: Scaling
) -> ResizedPictures | None:
    """Return where the pixels of a folder's pictures are kept, or None where there is no room.

    What was kept of earlier states of the folder is removed.
    """
    prefix = f"resized-{digest(str(root.resolve()))}"
    state = f"{prefix}-{pictures_digest(pictures)}"
    how = f"{size[0]}x{size[1]}{'-cover' * scaling.cover}{'-bicubic' * scaling.bicubic}"
    path = home() / "cache" / f"{state}-{how}.u8"
    needed = len(pictures) * (CHECK + 3 * size[0] * size[1])
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for older in set(path.parent.glob(f"{prefix}-*")) - {*path.parent.glob(f"{state}-*")}:
            older.unlink(missing_ok=True)
        free = shutil.disk_usage(path.parent).free
        needed -= path.stat().st_blocks * 512 if path.exists() else 0
        if needed > LEFT_FREE * free:
            why = f"resized copies need {needed / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free"
            LOG.info("pictures are decoded in each epoch: %s", why)
            return None
        return ResizedPictures(path, size)
    except OSError as error:
        LOG.info("pictures are decoded in each epoch: no copies can be kept (%s)", error)
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedSplit(DatasetSplit):
    """Images decoded and resized by threads, a few batches ahead.

    Attributes
    ----------
    root : Path
        Folder below which the `row_ids` are the files' paths.
    size : (int, int)
        Height and width of the images yielded.
    scaling : Scaling
    own_size : bool
        Whether all pictures have this size themselves, so that none is scaled.
    kept : ResizedPictures or None
        Where resized pictures are kept for the next epoch, the picture of each row at `places`.
    places : (N,) int64, or None
    """

    root: Path
    size: Size
    scaling: Scaling = STRETCHED
    own_size: bool = False
    kept: ResizedPictures | None = None
    places: Int | None = None

    def images(self, batches: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
        """Yield the images of each batch of rows."""
        with threads() as pool:
            coming: deque[tuple[Tensor, list[Future[None]]]] = deque()
            for batch in batches:
                images = torch.empty(
                    (len(batch), 3, *self.size),
                    dtype=torch.uint8,
                    pin_memory=device.type == "cuda",  # the copy then does not hold up the host
                )
                pixels: Pixels = images.numpy()
                rows = enumerate(batch.tolist())
                pictures = [pool.submit(self._fill, pixels, place, row) for place, row in rows]
                coming.append((images, pictures))
                if len(coming) > AHEAD:
                    yield _finished(*coming.popleft(), device)
            while coming:
                yield _finished(*coming.popleft(), device)

    def _fill(self, pixels: Pixels, place: int, row: int) -> None:
        if self.kept is None or self.places is None:
            pixels[place] = decode(self.root, self.row_ids[row], self.size, self.scaling)
            return
        kept = self.kept.read(int(self.places[row]))
        if kept is None:
            kept = decode(self.root, self.row_ids[row], self.size, self.scaling)
            self.kept.write(int(self.places[row]), kept)
        pixels[place] = kept


def _finished(images: Tensor, pictures: Sequence[Future[None]], device: torch.device) -> Tensor:
    """Return a batch on the device once all its pictures are there, or raise for the first."""
    for picture in pictures:
        picture.result()
    return images.to(device, non_blocking=True)
