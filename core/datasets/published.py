"""CIFAR-10, CIFAR-100 and SVHN through torchvision; imports torch and torchvision.

torchvision compares each file with its published MD5 sum before it is opened, so that it unpickles
nothing but the authors' own pickles. Others are read, by choice, by an unpickler that runs nothing
of them. The binary form and Parquet hold no program and are read here.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPException
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image

from core.arrays import Int
from core.codes import NoticeCode
from core.datasets.assemble import DatasetRows, in_memory
from core.datasets.base import DatasetRequest, ResidentSplit, SplitDataset
from core.datasets.catalogue import DATASETS
from core.datasets.folders import folder
from core.datasets.pictures import (
    FORMATS,
    ROOT_REMEDY,
    Pixels,
    common_size,
    existing_root,
    subfolders,
)
from core.datasets.splits import held_out
from core.datasets.stream import StreamedSplit
from core.errors import Notice, Refused, about
from core.library import home
from core.readers.formats.numpy_file import load as load_pickle
from core.readers.formats.numpy_file import resolve

CifarClass = Any  # of torchvision, which has no types
FORMS: Final = ", its binary form, Parquet files, or pictures in train/CLASS and test/CLASS"


def cifar10(request: DatasetRequest) -> SplitDataset:
    """Return CIFAR-10.

    Raises Refused DATA_ROOT, CHECKSUM, DOWNLOAD: it is not there, damaged, not the published file,
    or cannot be fetched; and what the reader of pickles refuses.
    """
    # torchvision takes two seconds to import, which no other data set should wait for
    from torchvision.datasets import CIFAR10  # type: ignore[import-untyped]

    layout = f"cifar-10-batches-py, as cifar-10-python.tar.gz unpacks{FORMS}"
    return _cifar(CIFAR10, "cifar10", layout, request)


def cifar100(request: DatasetRequest) -> SplitDataset:
    """Return CIFAR-100 with its 100 fine classes; refuses as `cifar10` does."""
    from torchvision.datasets import CIFAR100

    layout = f"cifar-100-python, as cifar-100-python.tar.gz unpacks{FORMS}"
    return _cifar(CIFAR100, "cifar100", layout, request)


def svhn(request: DatasetRequest) -> SplitDataset:
    """Return SVHN without its extra part; refuses as `cifar10` does."""
    from torchvision.datasets import SVHN

    with _data_root("svhn", request, "train_32x32.mat and test_32x32.mat") as root:
        train, test = (SVHN(root, split, download=request.download) for split in ("train", "test"))
    labels = np.concatenate([train.labels, test.labels])
    names = tuple(str(digit) for digit in range(10))
    return _data("svhn", [train.data, test.data], labels, names, request)


def svhn_test(*, download: bool) -> Pixels:
    """Return the (n, 3, 32, 32) pixels of SVHN's test part alone; refuses as `cifar10` does."""
    from torchvision.datasets import SVHN

    request = DatasetRequest(root=None, split_seed=0, download=download)
    with _data_root("svhn", request, "test_32x32.mat") as root:
        pixels: Pixels = SVHN(root, "test", download=download).data
    return pixels


Plain = tuple[list[Pixels], Int, tuple[str, ...]]  # of training and test part; labels; names
BINARY: Final = {  # folder, files of both parts, names of the classes, labels before each image
    "cifar10": (
        "cifar-10-batches-bin",
        ([f"data_batch_{k}.bin" for k in range(1, 6)], ["test_batch.bin"]),
        "batches.meta.txt",
        1,
    ),
    "cifar100": ("cifar-100-binary", (["train.bin"], ["test.bin"]), "fine_label_names.txt", 2),
}
SIDE: Final = 32
MOST_CLASSES: Final = 100
MOST_BYTES: Final = 256 * 2**20  # of a file of CIFAR, which has 31 MiB, or 155 of CIFAR-100
LOSSY: Final = (
    "These pictures are JPEGs, not the published pixels, which costs some accuracy: say so "
    "wherever a figure from them is shown."
)
PUBLISHED: Final = {  # images of both parts; how many classes, the first and the last
    "cifar10": ([50_000, 10_000], (10, "airplane", "truck")),
    "cifar100": ([50_000, 10_000], (100, "apple", "worm")),
}


def _binary(root: Path, name: str) -> Plain | None:
    """Return CIFAR's binary form, whose last label before an image is the fine one; None if not."""
    folder, parts, named, n_labels = BINARY[name]
    root = root / folder if (root / folder).is_dir() else root
    if not (root / parts[1][0]).is_file():
        return None
    names = tuple((root / named).read_text("utf-8").split())
    # Rows of labels and pixels without a header: the length of the file is all that can be checked.
    width, pixels, labels = n_labels + 3 * SIDE**2, [], []
    for files in parts:
        rows = []
        for file in files:
            raw = np.fromfile(root / file, np.uint8)
            if not raw.size or raw.size % width:
                raise _unlike(file, f"has {raw.size} bytes, which are not rows of {width}")
            rows.append(raw.reshape(-1, width))
        part = np.concatenate(rows)
        labels.append(part[:, n_labels - 1].astype(np.int64))
        pixels.append(part[:, n_labels:].reshape(-1, 3, SIDE, SIDE))
    return pixels, _within(np.concatenate(labels), names, root), names


def _parquet(root: Path) -> Plain | None:
    """Return CIFAR as Hugging Face's Parquet files have it; None where there are none."""
    parts = [
        sorted({*root.glob(f"{part}-*.parquet"), *root.glob(f"*/{part}-*.parquet")})
        for part in ("train", "test")
    ]
    if not all(parts):
        return None
    import pyarrow as pa
    import pyarrow.parquet as pq

    pixels: list[Pixels] = []
    labels, names = [], ()
    for files in parts:
        images = []
        for file in files:
            try:
                table = pq.read_table(file)
                image = "img" if "img" in table.column_names else "image"
                label = "fine_label" if "fine_label" in table.column_names else "label"
                cells = np.array(table[label].to_pylist())
                labels += cells.astype(np.int64, casting="safe").tolist()  # none is missing
                encoded = [cell["bytes"] for cell in table[image].to_pylist()]
            except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
                raise _unlike(file.name, f"holds no images with labels ({error})") from error
            try:
                # The order of names gives the numbers their meaning;
                # without it classes would be guessed.
                about = json.loads((table.schema.metadata or {})[b"huggingface"])
                names = tuple(about["info"]["features"][label]["names"])
            except (KeyError, TypeError, ValueError) as error:
                what = "does not name its classes, as Hugging Face's files do in their metadata"
                raise _unlike(file.name, what) from error
            for cell in encoded:
                with Image.open(BytesIO(cell)) as picture:
                    if picture.size != (SIDE, SIDE):
                        raise _unlike(file.name, f"has an image of {picture.size}")
                    images.append(np.asarray(picture.convert("RGB")))
        pixels.append(np.stack(images).transpose(0, 3, 1, 2))
    return pixels, _within(np.array(labels, np.int64), names, root), names


def _check_published(name: str, rows: list[int], names: tuple[str, ...], root: Path) -> None:
    """Refuse what has not the published number of images and classes."""
    if (rows, (len(names), names[0], names[-1])) != PUBLISHED[name]:
        what = f"{' and '.join(map(str, rows))} images"
        what += f" of {len(names)} classes, {names[0]} to {names[-1]}"
        raise _unlike(root.name, f"has {what}, which are not {DATASETS[name].label}")


def _within(labels: Int, names: tuple[str, ...], root: Path) -> Int:
    """Return labels that all have a name."""
    if not names or labels.min() < 0 or labels.max() >= len(names):
        raise _unlike(root.name, f"has labels beyond its {len(names)} classes")
    return labels


def _unlike(file: str, what: str) -> Refused:
    return Refused("DATA_ROOT", f"{file} {what}", f"use the published files and {ROOT_REMEDY}")


def _changed(kind: CifarClass, root: Path, *, fetched: bool) -> str:
    """Return which of CIFAR's pickles are not as published.

    Refused where one is missing; none is named where what is missing is `fetched`.
    """
    from torchvision.datasets.utils import check_integrity  # type: ignore[import-untyped]

    folder = root / kind.base_folder
    published = [*kind.train_list, *kind.test_list, [kind.meta["filename"], kind.meta["md5"]]]
    changed = []
    for name, md5 in published if folder.is_dir() else ():
        if not (folder / name).is_file():
            if fetched:
                return ""
            raise _unlike(name, f"is missing in {folder}")
        if not check_integrity(folder / name, md5):
            changed.append(name)
    return ", ".join(changed)


def _pickles(kind: CifarClass, folder: Path) -> Plain:
    """Return CIFAR's pickles, whatever their sums; nothing that they hold is run."""

    def content(file: str, *keys: str) -> list[Any]:
        with about(file):
            if (folder / file).stat().st_size > MOST_BYTES:
                raise _unlike(file, f"has more than {MOST_BYTES // 2**20} MiB")
            unpickled, _ = load_pickle(memoryview((folder / file).read_bytes()))
            if isinstance(unpickled, dict):  # saved anew by Python 3 its keys may be bytes
                unpickled = {_text(key): value for key, value in unpickled.items()}
            if not isinstance(unpickled, dict) or not unpickled.keys() >= {*keys}:
                raise _unlike(file, f"holds no {' and '.join(keys)}")
            return [resolve(unpickled[key]) for key in keys]

    key = kind.meta["key"].replace("label_names", "labels")
    pixels, labels = [], list[int]()
    # Everything is checked as data of known types and sizes: a changed file is a stranger's file.
    for part in (kind.train_list, kind.test_list):
        rows = []
        for file, _ in part:
            images, classes = content(file, "data", key)
            if (
                not isinstance(classes, list)
                or not all(label in range(MOST_CLASSES) for label in classes)
                or not isinstance(images, np.ndarray)
                or (images.dtype, images.shape) != (np.uint8, (len(classes), 3 * SIDE**2))
            ):
                raise _unlike(file, f"holds no image of {SIDE} x {SIDE} pixels for each label")
            rows.append(images.reshape(-1, 3, SIDE, SIDE))
            labels += classes
        pixels.append(np.concatenate(rows))
    file = kind.meta["filename"]
    (names,) = content(file, kind.meta["key"])
    names = list(map(_text, names)) if isinstance(names, list) else [None]
    if not all(isinstance(name, str) for name in names):
        raise _unlike(file, "holds no names of classes")
    return pixels, _within(np.array(labels, np.int64), tuple(names), folder), tuple(names)


def _text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _cifar(kind: CifarClass, name: str, layout: str, request: DatasetRequest) -> SplitDataset:
    """Return a data set of one of torchvision's CIFAR classes, which have no types."""
    with _data_root(name, request, layout, kind) as root:
        plain = None if request.root is None else _binary(root, name) or _parquet(root)
        if plain is not None:
            images, targets, names = plain
            _check_published(name, [*map(len, images)], names, root)
            return _data(name, images, targets, names, request)
        # Class folders of pictures; where these are JPEGs, they are not
        # the published pixels, and that is said.
        if request.root is not None and {"train", "test"} <= {*subfolders(root)}:
            data = folder(replace(request, size=None), name)  # the pictures' own
            n = data.split.n
            _check_published(name, [n["train"] + n["val"], n["test"]], data.class_names, root)
            rows = (*data.train.row_ids, *data.val.row_ids, *data.test.row_ids)
            known = isinstance(data.train, ResidentSplit) or (
                isinstance(data.train, StreamedSplit) and data.train.own_size
            )
            if data.size != (SIDE, SIDE) or not known:
                for row in sorted(rows):  # pictures of another size would be resized
                    size = common_size([root / row])
                    if size is not None and size != (SIDE, SIDE):
                        what = f"has {size[1]} x {size[0]} pixels, not {SIDE} x {SIDE}"
                        raise _unlike(row, what)
            if any(row.lower().endswith(FORMATS["JPEG"]) for row in rows):
                return replace(data, notices=(*data.notices, Notice(NoticeCode.REENCODED, LOSSY)))
            return data
        # torchvision checks MD5 sums itself; only a reader who chose to may go on without.
        kind, root = _unpacked(kind, root)
        changed = _changed(kind, root, fetched=request.download) if request.changed_files else ""
        if changed:
            images, targets, names = _pickles(kind, root / kind.base_folder)
            _check_published(name, [*map(len, images)], names, root)
            data = _data(name, images, targets, names, request)
            text = f"not the published files by their MD5 sums, and read by choice: {changed}"
            return replace(data, notices=(*data.notices, Notice(NoticeCode.CHANGED_FILES, text)))
        train, test = (
            kind(root, is_train, download=request.download) for is_train in (True, False)
        )
    pixels = [split.data.transpose(0, 3, 1, 2) for split in (train, test)]
    labels = np.array(train.targets + test.targets, np.int64)
    return _data(name, pixels, labels, tuple(train.classes), request)


def _unpacked(kind: CifarClass, root: Path) -> tuple[CifarClass, Path]:
    """Return a class that reads a folder, and the folder above it, where it holds the pickles."""
    if root.name != kind.base_folder and not (root / kind.test_list[0][0]).is_file():
        return kind, root
    return type(kind.__name__, (kind,), {"base_folder": root.name}), root.parent


def _data(
    name: str,
    pixels: list[Pixels],
    labels: Int,
    class_names: tuple[str, ...],
    request: DatasetRequest,
) -> SplitDataset:
    """Return the data set of official training and test pixels, (n, C, H, W) each."""
    split = held_out(len(pixels[0]), len(pixels[1]), request.split_seed)
    rows = DatasetRows(name=name, labels=labels, class_names=class_names, split=split)
    return in_memory(rows, np.concatenate(pixels), [str(row) for row in range(len(labels))])


@contextmanager
def _data_root(
    name: str, request: DatasetRequest, layout: str, kind: CifarClass | None = None
) -> Iterator[Path]:
    """Yield the folder to read from, and say clearly what went wrong there."""
    label = DATASETS[name].label
    root = home() / "data" if request.root is None else existing_root(request.root, layout)
    try:
        yield root
    except (OSError, RuntimeError, HTTPException) as error:
        changed = (
            _changed(*_unpacked(kind, root), fetched=request.download) if kind is not None else ""
        )
        if request.download and not changed:
            what = f"{label} is not in {root} and could not be fetched ({error})"
            remedy = f"fetch it yourself and {ROOT_REMEDY}; it holds {layout}"
            raise Refused("DOWNLOAD", what, remedy) from error
        if changed:
            what = f"By their MD5 sums these are not {label}'s published files: {changed}"
            remedy = "use the published files, or read these with changed_files"
            raise Refused("CHECKSUM", what, remedy) from error
        what = f"{root} holds no {label}, or not its published files"
        raise Refused("DATA_ROOT", what, f"{ROOT_REMEDY}; it holds {layout}") from error
