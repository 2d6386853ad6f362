"""CIFAR-10, CIFAR-100 and SVHN through torchvision; imports torch and torchvision.

torchvision compares each file with its published MD5 sum before it is opened, so that nothing but
the authors' own pickles is ever unpickled.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from core.arrays import Int
from core.datasets.assemble import DatasetRows, in_memory
from core.datasets.base import DatasetRequest, SplitDataset
from core.datasets.catalogue import DATASETS
from core.datasets.listing import ROOT_REMEDY, existing_root
from core.datasets.pictures import Pixels
from core.datasets.splits import held_out
from core.errors import Refused
from core.library import home


def cifar10(request: DatasetRequest) -> SplitDataset:
    """Return CIFAR-10.

    Raises
    ------
    Refused
        DATA_ROOT, DOWNLOAD: it is not there, damaged, or cannot be fetched.
    """
    # torchvision takes two seconds to import, which no other data set should wait for
    from torchvision.datasets import CIFAR10  # type: ignore[import-untyped]

    layout = "cifar-10-batches-py, as cifar-10-python.tar.gz unpacks"
    return _cifar(CIFAR10, "cifar10", layout, request)


def cifar100(request: DatasetRequest) -> SplitDataset:
    """Return CIFAR-100 with its 100 fine classes; refuses as `cifar10` does."""
    from torchvision.datasets import CIFAR100

    layout = "cifar-100-python, as cifar-100-python.tar.gz unpacks"
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


def _cifar(
    kind: Callable[..., Any], name: str, layout: str, request: DatasetRequest
) -> SplitDataset:
    """Return a data set of one of torchvision's CIFAR classes, which have no types."""
    with _data_root(name, request, layout) as root:
        train, test = (
            kind(root, is_train, download=request.download) for is_train in (True, False)
        )
    pixels = [split.data.transpose(0, 3, 1, 2) for split in (train, test)]
    labels = np.array(train.targets + test.targets, np.int64)
    return _data(name, pixels, labels, tuple(train.classes), request)


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
def _data_root(name: str, request: DatasetRequest, layout: str) -> Iterator[Path]:
    """Yield the folder to read from, and say clearly what went wrong there."""
    label = DATASETS[name].label
    root = home() / "data" if request.root is None else existing_root(request.root, layout)
    try:
        yield root
    except (OSError, RuntimeError, HTTPException) as error:
        if request.download:
            raise Refused(
                "DOWNLOAD",
                f"{label} is not in {root} and could not be fetched ({error})",
                f"fetch it yourself and {ROOT_REMEDY}; it holds {layout}",
            ) from error
        raise Refused(
            "DATA_ROOT",
            f"{root} holds no {label}, or not its published files",
            f"{ROOT_REMEDY}; it holds {layout}",
        ) from error
