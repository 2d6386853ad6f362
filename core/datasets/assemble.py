"""From pixels or files, labels and a split to a data set, decoded once; imports torch."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

import numpy as np
import torch
from torch import Tensor

from core.arrays import Int, digest, row_chunks
from core.codes import NoticeCode
from core.datasets.base import DatasetRequest, DatasetSplit, ResidentSplit, SplitDataset
from core.datasets.catalogue import DATASETS
from core.datasets.pictures import (
    PictureFile,
    Pixels,
    Size,
    common_size,
    decode,
    decode_all,
    names_of,
)
from core.datasets.splits import SplitRecord
from core.datasets.stream import StreamedSplit, pictures_digest, resized_pictures
from core.errors import Notice
from core.library import home
from core.predictions import Task
from core.progress import stage


def remembered(
    root: Path, pictures: Sequence[PictureFile], size: Size, *, sparing: bool = False
) -> Pixels | None:
    """Return the pixels of pictures, decoded now or when they were last asked for.

    Parameters
    ----------
    root : Path
        Folder below which they lie.
    pictures : sequence of N PictureFile
    size : (int, int)
        Height and width that all should have.
    sparing : bool
        Whether nothing is decoded now.

    Returns
    -------
    (N, 3, H, W) uint8, or None
        Perhaps read-only; None where sizes differ, or where sparing leaves them undecoded.

    Raises
    ------
    Refused
        A picture that cannot be read.
    """
    shape = (len(pictures), 3, *size)
    prefix = f"pictures-{digest(str(root.resolve()))}"
    # Named by folder, files, their sizes and times of change: other pictures have
    # another name, and what is kept is never stale.
    path = home() / "cache" / f"{prefix}-{pictures_digest(pictures, str(shape))}.npy"
    pixels: Pixels | None = None
    with suppress(OSError, ValueError, EOFError):  # there is none, or it is damaged
        kept = np.load(path, mmap_mode="r", allow_pickle=False)
        pixels = kept if kept.shape == shape and kept.dtype == np.uint8 else None
    if pixels is None and not sparing:
        pixels = decode_all(root, names_of(pictures), size)
        if pixels is not None:
            _keep(path, pixels, f"{prefix}-*.npy")
    return pixels


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
        # Renamed once it is whole, so that a process that maps it meanwhile keeps the old one.
        unfinished.replace(path)
        for other in set(path.parent.glob(older)) - {path}:
            other.unlink(missing_ok=True)
    except OSError:
        if unfinished is not None:
            unfinished.unlink(missing_ok=True)


MAX_SIDE: Final = 64  # larger images are streamed
MAX_BYTES: Final = 2 * 2**30  # as are more pixels than this
# Of the ILSVRC 2012 training images, red, green and blue; as published with torchvision's models.
IMAGENET_MEAN: Final = (0.485, 0.456, 0.406)
IMAGENET_STD: Final = (0.229, 0.224, 0.225)
Moments = tuple[tuple[float, ...], tuple[float, ...]]


@dataclass(frozen=True, eq=False, kw_only=True)
class DatasetRows:
    """What is known of all rows of a data set beside their pixels."""

    name: str  # key in the catalogue
    labels: Int  # (N,) int64 in 0..K-1, or (N, L) int64 of 0 and 1
    class_names: tuple[str, ...]
    split: SplitRecord
    notices: tuple[Notice, ...] = ()

    def targets(self, split: str) -> Tensor:
        """Return the targets of a part as losses take them."""
        chosen = torch.from_numpy(self.labels[self.split.rows[split]])
        return chosen.float() if DATASETS[self.name].task is Task.MULTILABEL else chosen


def in_memory(rows: DatasetRows, pixels: Pixels, row_ids: Sequence[str]) -> SplitDataset:
    """Return a data set whose images live in memory.

    Parameters
    ----------
    pixels : (N, C, H, W) uint8
    row_ids : sequence of N str
    """
    splits = {
        name: ResidentSplit(
            rows.targets(name),
            tuple(row_ids[row] for row in chosen),
            torch.from_numpy(pixels[chosen]),
        )
        for name, chosen in rows.split.rows.items()
    }
    height, width = pixels.shape[2:]
    # Moments of the training part alone: those of all rows would
    # tell the network about the test part.
    seen = splits["train"] if len(splits["train"]) else splits["test"]
    moments = channel_moments(seen.pixels.numpy())
    return assembled(rows, splits, (height, width), moments, digest(pixels, rows.labels))


def from_files(
    rows: DatasetRows, root: Path, pictures: Sequence[PictureFile], request: DatasetRequest
) -> SplitDataset:
    """Return a data set of pictures: in memory where small and of one size, else streamed.

    Parameters
    ----------
    root : Path
        Folder of the data set.
    pictures : sequence of N PictureFile
    request : DatasetRequest
        Its size and scaling are those of streamed images; no size takes the first picture's.

    Raises
    ------
    Refused
        A picture that cannot be read; where images are streamed, only the first is looked at.

    Notes
    -----
    Small pictures keep their size also where they are streamed to spare reading all of them, so
    that a network is shown the same pixels.
    """
    # The first picture decides; where another one has other sides, all are streamed.
    first = decode(root, pictures[0].name)
    size: Size = (first.shape[1], first.shape[2])
    if max(size) <= MAX_SIDE and first.nbytes * len(pictures) <= MAX_BYTES:
        pixels = remembered(root, pictures, size, sparing=request.sparing)
        # Only headers are read here; a folder of one size is streamed in
        # that size, so that no pixel is scaled.
        if pixels is None and request.sparing:
            with stage("Reading the sizes of pictures", 0.0, 1.0, len(pictures)):
                alike = common_size(root / picture.name for picture in pictures) == size
            if alike:
                sized = replace(request, size=size)
                return _streamed(rows, root, pictures, sized, own_size=True)
            pixels = remembered(root, pictures, size)
        if pixels is not None:
            return in_memory(rows, pixels, names_of(pictures))
    return _streamed(rows, root, pictures, replace(request, size=request.size or size))


def _streamed(
    rows: DatasetRows,
    root: Path,
    pictures: Sequence[PictureFile],
    request: DatasetRequest,
    *,
    own_size: bool = False,
) -> SplitDataset:
    """Return a data set whose images stay in their files."""
    size = request.size
    assert size is not None
    kept = resized_pictures(root, pictures, size, request.scaling, filled=request.kept)
    splits = {
        name: StreamedSplit(
            targets=rows.targets(name),
            row_ids=names_of([pictures[row] for row in chosen]),
            root=root,
            size=size,
            scaling=request.scaling,
            own_size=own_size,
            kept=kept,
            places=chosen,
        )
        for name, chosen in rows.split.rows.items()
    }
    notice = Notice(
        NoticeCode.IMAGENET_MOMENTS,
        "Pictures are scaled when they are read, JPEGs of six times the size or more from a "
        "reduced one, and normalised with ImageNet's mean and standard deviation instead of their "
        "own.",
    )
    files = "\0".join(f"{picture.name}\0{picture.size_bytes}" for picture in pictures)
    return assembled(
        replace(rows, notices=(*rows.notices, notice)),
        splits,
        size,
        (IMAGENET_MEAN, IMAGENET_STD),
        digest(files, rows.labels),
    )


def assembled(
    rows: DatasetRows,
    splits: Mapping[str, DatasetSplit],
    size: Size,
    moments: Moments,
    content: str,
) -> SplitDataset:
    """Return the data set of these parts; `content` is their digest."""
    entry = DATASETS[rows.name]
    return SplitDataset(
        name=rows.name,
        task=entry.task,
        class_names=rows.class_names,
        **splits,
        channels=len(moments[0]),
        size=size,
        mean=moments[0],
        std=moments[1],
        flip=entry.flip,
        pad=min(size) // entry.shift if entry.shift else 0,
        digest=content,
        notices=rows.notices,
        split=rows.split,
    )


def channel_moments(pixels: Pixels) -> Moments:
    """Return mean and standard deviation of pixels / 255 in each channel, from exact counts.

    Parameters
    ----------
    pixels : (N, C, H, W) uint8

    Returns
    -------
    mean, std : tuples of C float
        The population's standard deviation; 1 where a channel never varies.
    """
    n, channels, height, width = pixels.shape
    # 256 counts a channel hold all there is to know: exact whole
    # numbers, whatever the order of rows.
    counts = np.zeros((channels, 256), np.int64)
    for rows in row_chunks(n, height * width):
        for channel in range(channels):
            counts[channel] += np.bincount(pixels[rows, channel].ravel(), minlength=256)
    levels = np.arange(256) / 255
    shares = counts / counts.sum(axis=1, keepdims=True)
    mean = shares @ levels
    std = np.sqrt((shares * (levels - mean[:, None]) ** 2).sum(axis=1))
    std[(counts > 0).sum(axis=1) == 1] = 1.0
    return tuple(mean.tolist()), tuple(std.tolist())
