"""Images read from their files as they are needed, and kept resized; imports torch."""

import errno
import fcntl
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from threading import Lock
from typing import Final

import numpy as np
import PIL
import torch
from torch import Tensor

from core.arrays import Bool, Int, digest
from core.datasets.base import DatasetSplit, LabelledRows
from core.datasets.pictures import (
    REDUCED,
    STRETCHED,
    PictureFile,
    Pixels,
    Scaling,
    Size,
    decode,
    threads,
)
from core.library import home
from core.progress import advance, stage

AHEAD: Final = 3  # batches decoded while the device works on one
LEFT_FREE: Final = 0.5  # of what is free on the disk, when all pictures are kept
GROUP: Final = 64  # pictures that a thread keeps at a time
THERE: Final = b"\1"
PAGE: Final = 4096  # bytes
LOG = logging.getLogger(__name__)


def pictures_digest(pictures: Sequence[PictureFile], *settings: str) -> str:
    """Return a digest of files by name, length and time, and of how they are decoded."""
    state = "\0".join(f"{p.name}\0{p.size_bytes}\0{p.changed_ns}" for p in pictures)
    return digest(PIL.__version__, *settings, state)


class ResizedPictures:
    """A file of the pixels of pictures, after one byte for each that says whether they are there.

    Several processes may read and fill it at once. NFS may write a whole page of one node over
    what another wrote there, so no two pictures share a page; of bytes lost that way, the pictures
    are decoded again. A byte is written when the pixels are on the disk, so filling goes on after
    a kill or a loss of power. Pixels are read straight to where they are used: of a mapped file,
    an error of the disk would end the process.

    Parameters
    ----------
    path : Path
    n : int
        Pictures of the folder.
    size : (int, int)
        Height and width of every picture.
    filled : bool
        Whether pictures are written too; else the file must be there.
    """

    def __init__(self, path: Path, n: int, size: Size, *, filled: bool) -> None:
        self.filled, self._n = filled, n
        self._bytes_each = 3 * size[0] * size[1]
        self.bytes_kept = _whole_pages(self._bytes_each)  # of a picture
        self._lock, self._failed = Lock(), False
        mode = os.O_RDWR | os.O_CREAT if filled else os.O_RDONLY
        self._file = os.open(path, mode | os.O_CLOEXEC, 0o600)
        if filled:
            with suppress(OSError):  # a disk without locks
                fcntl.flock(self._file, fcntl.LOCK_EX)
            if os.fstat(self._file).st_size != self._offset(n):  # new, or damaged
                os.truncate(self._file, 0)
                os.truncate(self._file, self._offset(n))
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)

    def there(self) -> Bool:
        """Return which pictures are there, (n,); none where the disk does not say."""
        marks = b""
        with suppress(OSError):
            marks = os.pread(self._file, self._n, 0)
        there: Bool = np.frombuffer(marks.ljust(self._n, b"\0"), np.uint8) == THERE[0]
        return there

    def has(self, place: int) -> bool:
        """Whether a picture is there."""
        return os.pread(self._file, 1, place) == THERE

    def read(self, place: int, pixels: Pixels) -> bool:
        """Read a picture into (3, H, W) pixels; False where it is not there."""
        try:
            length = (
                os.preadv(self._file, [pixels.data], self._offset(place)) if self.has(place) else 0
            )
        except OSError:  # of the disk
            return False
        return length == self._bytes_each

    def write(self, place: int, pixels: Pixels) -> None:
        """Keep a picture, to be marked later; OSError where the disk is full."""
        with self._noting_errors():
            if os.pwrite(self._file, pixels.tobytes(), self._offset(place)) < self._bytes_each:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def mark(self, places: Iterable[int]) -> None:
        """Say that pictures are there, once the disk has them; OSError if it lost any before."""
        with self._lock, self._noting_errors():
            if self._failed:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            os.fsync(self._file)
            for place in places:
                os.pwrite(self._file, THERE, place)

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        """Linux reports lost pages once for all threads, whichever of them wrote them."""
        try:
            yield
        except OSError:
            self._failed = True
            raise

    def free(self) -> int:
        """Return how many bytes are free on its disk."""
        disk = os.fstatvfs(self._file)
        return disk.f_bavail * disk.f_frsize

    def _offset(self, place: int) -> int:
        return _whole_pages(self._n) + place * self.bytes_kept


def _whole_pages(n_bytes: int) -> int:
    return -(-n_bytes // PAGE) * PAGE


def resized_pictures(
    root: Path, pictures: Sequence[PictureFile], size: Size, scaling: Scaling, *, filled: bool
) -> ResizedPictures | None:
    """Return what is kept of the pixels of a folder's pictures, to be filled or only read.

    None where nothing is kept. To fill it, what was kept of earlier states of the folder is
    removed first.
    """
    prefix = f"resized-{digest(str(root.resolve()))}"
    state = f"{prefix}-{pictures_digest(pictures, str(REDUCED), str(PAGE))}"
    form = f"{size[0]}x{size[1]}{'-cover' * scaling.cover}{'-bicubic' * scaling.bicubic}"
    path = home() / "cache" / f"{state}-{form}.u8"
    try:
        # Only a training removes what older states left: an evaluation of few images must not.
        if filled:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            for older in set(path.parent.glob(f"{prefix}-*")) - {*path.parent.glob(f"{state}-*")}:
                older.unlink(missing_ok=True)
        return ResizedPictures(path, len(pictures), size, filled=filled)
    except OSError as error:
        if filled:
            LOG.warning("Pictures are decoded in each epoch: no copies can be kept (%s)", error)
        return None


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamedSplit(DatasetSplit):
    """Images decoded and resized by threads, a few batches ahead."""

    root: Path  # folder below which the `row_ids` are the files' paths
    size: Size  # height and width of the images yielded
    scaling: Scaling = STRETCHED
    own_size: bool = False  # whether all pictures have this size themselves, so that none is scaled
    # What is kept of resized pictures, the picture of each row at `places`
    kept: ResizedPictures | None = None
    places: Int | None = None  # (N,) int64, or None

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
                # A few batches ahead and no more: decoded pictures would
                # fill the memory while a GPU is busy.
                if len(coming) > AHEAD:
                    yield _finished(*coming.popleft(), device)
            while coming:
                yield _finished(*coming.popleft(), device)

    def _fill(self, pixels: Pixels, place: int, row: int) -> None:
        kept, places = self.kept, self.places
        if kept is None or places is None or not kept.read(int(places[row]), pixels[place]):
            pixels[place] = self._decoded(row)

    def _decoded(self, row: int) -> Pixels:
        return decode(self.root, self.row_ids[row], self.size, self.scaling)

    def keep(self, rows: Tensor) -> int:
        """Decode and keep what is not there of some rows, and return their number."""
        assert self.kept is not None
        assert self.places is not None
        places = {row: int(self.places[row]) for row in rows.tolist()}
        # Another process may have kept some by now
        absent = {row: place for row, place in places.items() if not self.kept.has(place)}
        for row, place in absent.items():
            self.kept.write(place, self._decoded(row))
        self.kept.mark(absent.values())
        return len(places)


def keep_resized(
    parts: Sequence[tuple[LabelledRows, Tensor]], stops: Callable[[], bool] = lambda: False
) -> bool:
    """Decode in threads what is not kept yet of some rows of each part; False if stopped.

    Processes that do so at once share the work: each takes groups of rows in an order of its own,
    and leaves out what is there by then. Without room on the disk nothing more is kept.

    Parameters
    ----------
    parts : sequence of (LabelledRows, int64 tensor)
        Of one data set, with the rows that epochs will read; only streamed images are kept.
    stops : callable
        Asked after each group of rows whether to stop before the end.

    Raises
    ------
    Refused
        A picture that cannot be read.
    """
    groups: list[tuple[StreamedSplit, Tensor]] = []
    for part, rows in parts:
        if isinstance(part, StreamedSplit) and part.kept is not None and part.places is not None:
            absent = ~part.kept.there()[part.places[rows]]
            missing = rows[torch.from_numpy(absent)].sort().values
            groups += [(part, group) for group in torch.split(missing, GROUP) if part.kept.filled]
    n = sum(len(rows) for _, rows in groups)
    if not n:
        return True
    kept = groups[0][0].kept  # the same for all
    assert kept is not None
    needed, free = n * kept.bytes_kept, kept.free()
    if needed > LEFT_FREE * free:
        why = f"their copies need {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free"
        LOG.warning("Pictures are decoded in each epoch: %s", why)
        return True
    # Not the training's generator: each process needs another order, and none may change its draws.
    SystemRandom().shuffle(groups)
    with threads() as pool, stage(f"Preparing {n:,} pictures", 0.0, 1.0, n):
        try:
            for done in pool.map(lambda group: group[0].keep(group[1]), groups):
                advance(done)
                if stops():
                    return False
        except OSError as error:
            LOG.warning("Pictures that are not kept yet are decoded in each epoch (%s)", error)
    return True


def _finished(images: Tensor, pictures: Sequence[Future[None]], device: torch.device) -> Tensor:
    """Return a batch on the device once all its pictures are there, or raise for the first."""
    for picture in pictures:
        picture.result()
    return images.to(device, non_blocking=True)
