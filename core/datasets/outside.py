"""Images beside a data set's own: outside sets, official and own corruptions; imports torch."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b, file_digest
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from numpy.lib.format import open_memmap
from PIL import Image
from scipy.io import loadmat, whosmat
from torch import Tensor

from core.arrays import Int, digest
from core.codes import NoticeCode
from core.datasets.base import DatasetSplit, ResidentSplit, SplitDataset
from core.datasets.corruptions import LUMA, corrupt
from core.datasets.pictures import (
    FORMATS,
    STRETCHED,
    Pixels,
    Size,
    existing_root,
    names_of,
    pictures_below,
    skipped_notice,
    threads,
)
from core.datasets.published import svhn_test
from core.datasets.shifts import SEVERITIES, OutsideSet
from core.datasets.stream import AHEAD, StreamedSplit
from core.errors import Notice, Refused
from core.progress import advance, stage

CIFAR10C: Final = (
    "gaussian_noise.npy and the other corruptions, 5 severities one after another, and "
    "labels.npy, as CIFAR-10-C.tar unpacks"
)
SVHN: Final = "test_32x32.mat"
MAX_SVHN: Final = 1_000_000  # images; the published parts have at most 531,131
NUMBERS: Final = ("double", "single", *(f"{u}int{n}" for u in ("", "u") for n in (8, 16, 32, 64)))
PICTURES: Final = f"pictures ({', '.join(FORMATS)}), in folders or not"
CIFAR10_CLASSES: Final = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
Array = npt.NDArray[np.generic]
CPU: Final = torch.device("cpu")
OVERLAP_BATCH: Final = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class OutsideDataset:
    """An outside set, ready to be evaluated on."""

    # Its images have the channels and the size of the data set that the model was trained on.
    # Targets of an unlabelled set are all -1
    split: DatasetSplit
    # Of pixels; of corruption, seed and the data set's digest where Candor corrupts; of the files'
    # paths and sizes where images are streamed
    digest: str
    labelled: bool = False  # the targets are classes of that data set
    class_names: tuple[str, ...] = ()  # empty for an unlabelled set
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, eq=False)
class ChangedSplit(DatasetSplit):
    """Images of another part, changed as they are asked for."""

    source: DatasetSplit
    # From (n, C, H, W) uint8 and the (n,) int64 rows to the images yielded
    change: Callable[[Pixels, Int], Pixels]

    def images(self, batches: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
        """Yield the changed images of each batch of rows; threads change a few batches ahead."""
        with threads() as pool:
            coming: deque[Future[Pixels]] = deque()
            for rows, batch in zip(batches, self.source.images(batches, CPU), strict=True):
                # In order, however long a change takes: rows and labels must stay together.
                coming.append(pool.submit(self.change, batch.numpy(), rows.numpy()))
                if len(coming) > min(torch.get_num_threads(), AHEAD):
                    yield torch.from_numpy(coming.popleft().result()).to(device)
            for images in coming:
                yield torch.from_numpy(images.result()).to(device)


def open_outside(outside_set: OutsideSet, data: SplitDataset, *, download: bool) -> OutsideDataset:
    """Return an outside set, its images fitted to those of a data set.

    `data`: what the model was trained on; `download`: whether SVHN may be fetched where no folder
    is named.

    Raises Refused DATA_ROOT, DOWNLOAD, ARRAY_FILE, EMPTY, CLASSES, LABELS_DIFFER, IMAGE_SIZE: what
    is missing, damaged, or does not go with the data set.
    """
    return _OPENERS[outside_set.kind](outside_set, data, download)


def overlap(inside: SplitDataset, outside: DatasetSplit, rows: Tensor | None = None) -> int:
    """Return how many outside images also are in train, val or test of a data set.

    `rows` of the outside set are looked at, or all.

    In memory, images are the same if all their pixels are, in the channels and the size in which
    both are evaluated. Where the data set is streamed, nothing is decoded: its files are compared
    byte for byte, by digest, with streamed outside ones of the same length; a picture saved anew
    and outside images in memory are not found.
    """
    rows = torch.arange(len(outside)) if rows is None else rows
    if isinstance(inside.train, StreamedSplit):
        stored = stored_files(outside)
        if stored is None:
            return 0
        # Only files as long as one of the other side are read.
        mine = [
            pair
            for split in (inside.train, inside.val, inside.test)
            if isinstance(split, StreamedSplit)
            for pair in _lengths(split, torch.arange(len(split)))
        ]
        theirs = _lengths(stored, rows)
        shared = {length for _, length in mine} & {length for _, length in theirs}
        # Length first: digests are made only where a file on the other side is as long.
        known = {_file_digest(file) for file, length in mine if length in shared}
        return sum(_file_digest(file) in known for file, length in theirs if length in shared)
    own, known = (inside.train, inside.val, inside.test), set[bytes]()
    with stage("Comparing images", 0.0, 1.0, sum(map(len, own)) + len(rows)):
        for split in own:
            known.update(_all_fingerprints(split))
        return sum(fingerprint in known for fingerprint in _fingerprints(outside, rows))


@lru_cache(maxsize=3)  # one data set beside several outside ones: its films may have to be drawn
def _all_fingerprints(split: DatasetSplit) -> frozenset[bytes]:
    return frozenset(_fingerprints(split, torch.arange(len(split))))


def stored_files(split: DatasetSplit) -> StreamedSplit | None:
    """Return the files whose pictures a split shows, changed or not; None where there are none."""
    source = split.source if isinstance(split, ChangedSplit) else split
    return source if isinstance(source, StreamedSplit) else None


def _lengths(split: StreamedSplit, rows: Tensor) -> list[tuple[Path, int]]:
    """Return each picture's file with its length in bytes; none for a file that is gone."""
    files = (split.root / split.row_ids[row] for row in rows.tolist())
    return [(file, file.stat().st_size) for file in files if file.is_file()]


def _file_digest(file: Path) -> bytes:
    """Return a digest of a file's bytes.

    Raises Refused IMAGE_TRUNCATED: it cannot be opened or read.
    """
    try:
        with file.open("rb") as opened:
            return file_digest(opened, "blake2b").digest()
    except OSError as error:
        what = f"The picture {file.name} cannot be read"
        remedy = "copy it again, or take it out of the folder"
        raise Refused("IMAGE_TRUNCATED", what, remedy, location=file.name) from error


def _fingerprints(split: DatasetSplit, rows: Tensor) -> Iterator[bytes]:
    """Yield a digest of each image's pixels."""
    for batch in split.images(torch.split(rows, OVERLAP_BATCH) if len(rows) else [], CPU):
        for image in np.ascontiguousarray(batch.numpy()):
            yield blake2b(image.data, digest_size=16).digest()
        advance(len(batch))


# Openers ----------------------------------------------------------------------------------------


def _corrupted(outside_set: OutsideSet, data: SplitDataset, _download: bool) -> OutsideDataset:
    """Return the test part, corrupted by Candor as it is read."""

    def change(images: Pixels, rows: Int) -> Pixels:
        return corrupt(
            images, outside_set.corruption, outside_set.severity, seed=outside_set.seed, rows=rows
        )

    split = ChangedSplit(data.test.targets, data.test.row_ids, data.test, change)
    decides = f"{outside_set.corruption} {outside_set.severity} {outside_set.seed}"
    content = digest("corrupted", data.digest, data.split.digest, decides)
    return OutsideDataset(split=split, digest=content, labelled=True, class_names=data.class_names)


def _cifar10c(outside_set: OutsideSet, data: SplitDataset, _download: bool) -> OutsideDataset:
    """Return the official images of a corruption and a severity."""
    if data.class_names != CIFAR10_CLASSES:
        raise Refused(
            "CLASSES",
            f"CIFAR-10-C has the classes of CIFAR-10, and the model learned {data.name}",
            "evaluate a model of CIFAR-10 on it, or let Candor corrupt the model's own test part",
        )
    root = existing_root(None if outside_set.root is None else Path(outside_set.root), CIFAR10C)
    name = f"{outside_set.corruption}.npy"
    array = _array(root, name)
    # Five severities lie one after another in one array, each holds the test part in order.
    n = len(array) // len(SEVERITIES) if array.ndim else 0
    shape = (n * len(SEVERITIES), 32, 32, 3)
    # Pixels of a shape, at least one; others are refused
    if array.shape != shape or array.dtype != np.uint8 or not array.size:
        raise _array_refused(name, array, "50,000 x 32 x 32 x 3 uint8", CIFAR10C)
    pixels = np.asarray(array, np.uint8)
    # The labels of one severity, once for all five.
    labels = _array(root, "labels.npy")
    n_rows = len(pixels)
    if labels.shape != (n_rows,) or labels.dtype.kind not in "iu":
        raise _array_refused("labels.npy", labels, f"{n_rows:,} whole numbers", CIFAR10C)
    classes: Int = np.asarray(labels, np.int64).reshape(len(SEVERITIES), -1)
    if not np.isin(classes, np.arange(len(CIFAR10_CLASSES))).all() or (classes != classes[0]).any():
        what = "labels.npy does not hold the classes 0 to 9 of the same images five times"
        remedy = f"use the published files: {CIFAR10C}"
        raise Refused("LABELS_DIFFER", what, remedy, location="labels.npy")
    classes = classes[0].copy()
    # Rows in another order would give corrupted images the labels
    # of others, and look like a bad model.
    if data.name == "cifar10" and not np.array_equal(classes, data.test.targets.numpy()):
        what = "labels.npy does not hold the labels of CIFAR-10's test part in order"
        remedy = f"use the published files: {CIFAR10C}"
        raise Refused("LABELS_DIFFER", what, remedy, location="labels.npy")
    first = n * (outside_set.severity - 1)
    chosen = np.ascontiguousarray(pixels[first : first + n].transpose(0, 3, 1, 2))
    split, content = resident(chosen, torch.from_numpy(classes)), digest(chosen, classes)
    outside = OutsideDataset(
        split=split, digest=content, labelled=True, class_names=data.class_names
    )
    return fitted(outside, (32, 32), 3, data)


def _svhn(outside_set: OutsideSet, data: SplitDataset, download: bool) -> OutsideDataset:
    """Return SVHN's test part: fetched, or from its .mat."""
    if outside_set.root is None:
        pixels = svhn_test(download=download)
    else:
        pixels = _svhn_file(Path(outside_set.root).expanduser())
    split = resident(pixels, unlabelled(len(pixels)))
    return fitted(OutsideDataset(split=split, digest=digest(pixels)), (32, 32), 3, data)


def _svhn_file(root: Path) -> Pixels:
    """Return the (n, 3, 32, 32) pixels of a test_32x32.mat, or of the one in a folder."""
    path = root if root.is_file() else existing_root(root, SVHN) / SVHN
    if not path.is_file():
        raise Refused("DATA_ROOT", f"{root} has no file {SVHN}", f"name its folder, or {SVHN}")
    try:
        # Names and shapes first, from the header: a MATLAB file
        # is compressed and can claim anything.
        claimed = [entry for entry in whosmat(path) if entry[0] in ("X", "y")]
        fits = _svhn_fits(claimed)
        arrays = loadmat(path, variable_names=["X", "y"]) if fits else {}
    except Exception as error:  # scipy throws a dozen kinds at damaged files
        raise Refused(
            "ARRAY_FILE", f"{path.name} is not a readable MATLAB file", "fetch it again"
        ) from error
    if not arrays:
        contents = ", ".join(f"{name} of {_shape(shape)} {kind}" for name, shape, kind in claimed)
        raise Refused(
            "ARRAY_FILE",
            f"{path.name} holds {contents or 'no X and y'}, expected X of 32 x 32 x 3 x n uint8 "
            f"and n labels y, n at most {MAX_SVHN:,}",
            f"use the published files: {SVHN}",
            location=path.name,
        )
    pixels, labels = arrays["X"], arrays["y"]
    if not np.isin(labels, np.arange(11)).all():  # 10 is the digit 0; some copies write 0
        what = f"The array y of {path.name} does not hold the digits 1 to 10"
        raise Refused("LABELS_DIFFER", what, f"use SVHN's {SVHN}, cropped digits", location="y")
    return np.ascontiguousarray(pixels.transpose(3, 2, 0, 1))


def _svhn_fits(claimed: Sequence[tuple[str, tuple[int, ...], str]]) -> bool:
    """Return whether names, shapes and kinds are SVHN's: a small file can unpack to a huge one."""
    kinds = {name: kind for name, _, kind in claimed}
    if sorted(name for name, _, _ in claimed) != ["X", "y"] or kinds["X"] != "uint8":
        return False
    shapes = {name: shape for name, shape, _ in claimed}
    n = prod(shapes["y"])
    return kinds["y"] in NUMBERS and shapes["X"] == (32, 32, 3, n) and 1 <= n <= MAX_SVHN


def _folder(outside_set: OutsideSet, data: SplitDataset, _download: bool) -> OutsideDataset:
    """Return all pictures below a folder, unlabelled."""
    root = existing_root(Path(outside_set.root or ""), PICTURES)
    pictures, skipped = pictures_below(root, "")
    if not pictures:
        raise Refused("EMPTY", f"{root} holds no pictures", f"put some there: {PICTURES}")
    scaling = data.test.scaling if isinstance(data.test, StreamedSplit) else STRETCHED
    targets = unlabelled(len(pictures))
    split = StreamedSplit(
        targets=targets, row_ids=names_of(pictures), root=root, size=data.size, scaling=scaling
    )
    files = "\0".join(f"{picture.name}\0{picture.size_bytes}" for picture in pictures)
    outside = OutsideDataset(split=split, digest=digest(files), notices=skipped_notice(skipped))
    return fitted(outside, data.size, 3, data)


_OPENERS: Final[dict[str, Callable[[OutsideSet, SplitDataset, bool], OutsideDataset]]] = {
    "svhn": _svhn,
    "cifar10c": _cifar10c,
    "corrupted": _corrupted,
    "folder": _folder,
}


# Arrays and pictures ----------------------------------------------------------------------------


def _array(root: Path, name: str) -> Array:
    """Return the array of an .npy file, never unpickled."""
    if not (root / name).is_file():
        raise Refused("DATA_ROOT", f"{root} has no file {name}", f"it should hold {CIFAR10C}")
    try:
        mapped: Array = open_memmap(root / name, mode="r")
    except (OSError, ValueError, EOFError) as error:
        what = f"{name} is not a readable array file, or holds Python objects"
        remedy = f"copy it again; the folder should hold {CIFAR10C}"
        raise Refused("ARRAY_FILE", what, remedy, location=name) from error
    return mapped


def _array_refused(name: str, array: Array, expected: str, layout: str) -> Refused:
    return Refused(
        "ARRAY_FILE",
        f"{name} holds {_shape(array.shape)} {array.dtype}, expected {expected}",
        f"use the published files: {layout}",
        location=name,
    )


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a single"


def unlabelled(n: int) -> Tensor:
    """Return targets of images that belong to none of the classes."""
    return torch.full((n,), -1, dtype=torch.int64)


def resident(pixels: Pixels, targets: Tensor) -> ResidentSplit:
    """Return (n, C, H, W) images in memory, named by their numbers."""
    row_ids = tuple(str(row) for row in range(len(pixels)))
    return ResidentSplit(targets, row_ids, torch.from_numpy(pixels))


def fitted(
    outside: OutsideDataset, size: Size, channels: int, data: SplitDataset
) -> OutsideDataset:
    """Return the set with images of a data set's channels and size, and say so."""
    notices = list(outside.notices)
    if size != data.size:
        text = f"Its images were resized to {data.size[0]} x {data.size[1]} pixels."
        notices.append(Notice(NoticeCode.OUTSIDE_FITTED, text))
    if channels != data.channels:
        notices.append(Notice(NoticeCode.OUTSIDE_FITTED, "Its images were turned into greys."))
    if len(notices) == len(outside.notices):
        return outside
    change = partial(_changed, size=data.size, channels=data.channels)
    split = ChangedSplit(outside.split.targets, outside.split.row_ids, outside.split, change)
    return replace(outside, split=split, notices=tuple(notices))


def _changed(images: Pixels, _rows: Int, *, size: Size, channels: int) -> Pixels:
    """Return (n, 3, H, W) images in another size, and as greys where one channel is wanted."""
    if images.shape[2:] != size:
        # As Pillow scales pictures, so that images of arrays and of files look alike.
        resized = []
        for image in images:
            picture = Image.fromarray(np.ascontiguousarray(image.transpose(1, 2, 0)))
            smaller = picture.resize((size[1], size[0]), Image.Resampling.BILINEAR)
            resized.append(np.asarray(smaller).transpose(2, 0, 1))
        images = np.stack(resized)
    if channels == 1:
        greys = np.tensordot(images, LUMA, axes=(1, 0))[:, None]
        return np.rint(greys).astype(np.uint8)
    return images
