"""A data set by name; imports torch."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from core.datasets.base import DatasetRequest, SplitDataset
from core.datasets.catalogue import checked_data
from core.datasets.embedded import digits, phantoms
from core.datasets.folders import chestxray14, folder, imagenet, tiny_imagenet
from core.datasets.pictures import STRETCHED, Scaling
from core.datasets.published import cifar10, cifar100, svhn

LOADERS: Final[dict[str, Callable[[DatasetRequest], SplitDataset]]] = {
    "digits": digits,
    "cifar10": cifar10,
    "cifar100": cifar100,
    "svhn": svhn,
    "tiny_imagenet": tiny_imagenet,
    "imagenet": imagenet,
    "folder": folder,
    "chestxray14": chestxray14,
    "phantom": phantoms,
}


def load(  # noqa: PLR0913  each is a separate wish of a config
    name: str,
    *,
    root: Path | None,
    split_seed: int,
    size: tuple[int, int] | None = None,
    download: bool = True,
    scaling: Scaling = STRETCHED,
    kept: bool = False,
    sparing: bool = False,
    changed_files: bool = False,
) -> SplitDataset:
    """Return a data set, split.

    Parameters
    ----------
    name : str
        A key of `DATASETS`.
    root : Path or None
        The folder it lies in; None where it is embedded, or downloaded to the run store.
    split_seed : int
        At least 0.
    size : (int, int), optional
        Height and width that streamed images are resized to; images in memory stay as they are.
    download : bool
        Whether a missing data set may be fetched.
    scaling : Scaling
        How streamed images are brought to `size`.
    kept : bool
        Whether streamed images are kept resized below CANDOR_HOME, to be decoded only once.
    sparing : bool
        Whether small pictures are streamed too: few are looked at, and the moments are not needed.
    changed_files : bool
        Whether files of CIFAR are read whose MD5 sums are not the published ones.

    Raises
    ------
    UsageError
        SETTING: an unknown name.
    Refused
        Files that are missing, damaged or not laid out as they should be.
    """
    return LOADERS[checked_data(name)](
        DatasetRequest(
            root=root,
            split_seed=split_seed,
            size=size,
            download=download,
            scaling=scaling,
            kept=kept,
            sparing=sparing,
            changed_files=changed_files,
        )
    )
