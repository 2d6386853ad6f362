"""A data set by name, and those that come with Candor: digits and phantom films; imports torch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor

from core.datasets.assemble import DatasetRows, assembled, in_memory
from core.datasets.base import DatasetRequest, DatasetSplit, SplitDataset
from core.datasets.catalogue import DATASETS, checked_data
from core.datasets.folders import chestxray14, folder, imagenet, tiny_imagenet
from core.datasets.pictures import STRETCHED, Pixels, Scaling
from core.datasets.published import cifar10, cifar100, svhn
from core.datasets.splits import by_counts
from core.xray.phantom import FINDINGS, MEAN, SIDE, STD, draw, findings_of

TOP: Final = 16  # scikit-learn counts the ink of 4 x 4 pixels, 0 to 16
SEED: Final = 0  # of the phantom films here; films of any other seed were never trained on


def digits(request: DatasetRequest) -> SplitDataset:
    """Return the 1,797 images of 8 x 8 pixels, 0 to 255 for scikit-learn's 0 to 16."""
    from sklearn.datasets import load_digits  # seconds of import that no other data set needs

    source = load_digits()
    pixels = np.rint(source.images * (255 / TOP)).astype(np.uint8)[:, None]
    sizes = DATASETS["digits"].sizes
    rows = DatasetRows(
        name="digits",
        labels=source.target.astype(np.int64),
        class_names=tuple(str(name) for name in source.target_names),
        split=by_counts(len(pixels), sizes["val"], sizes["test"], request.split_seed),
    )
    return in_memory(rows, pixels, [str(row) for row in range(len(pixels))])


def _drawn(numbers: Sequence[int]) -> Pixels:
    """Return films by their numbers, (n, 1, 128, 128) uint8."""
    return np.stack([draw(SEED, number).pixels[None] for number in numbers])


DRAWN: Final = "8bac7f0f4ec5914eab4782741fabc004"  # digest of all films and labels, once drawn


@dataclass(frozen=True, eq=False)
class DrawnSplit(DatasetSplit):
    """Phantom films that are drawn as they are looked at."""

    def images(self, batches: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
        """Yield the films of each batch of rows."""
        for rows in batches:
            numbers = [int(self.row_ids[row]) for row in rows.tolist()]
            yield torch.from_numpy(_drawn(numbers)).to(device)


def phantoms(request: DatasetRequest) -> SplitDataset:
    """Return 7,000 films (1, 128, 128) with 4 findings; each is drawn from its row's number.

    Where few are looked at, no others are drawn.
    """
    sizes = DATASETS["phantom"].sizes
    n = sum(sizes.values())
    labels = np.array([findings_of(SEED, number) for number in range(n)], np.int64)
    split = by_counts(n, sizes["val"], sizes["test"], request.split_seed)
    rows = DatasetRows(name="phantom", labels=labels, class_names=FINDINGS, split=split)
    moments = (MEAN,), (STD,)  # the same for any seed, and for single films
    if request.sparing:
        splits = {
            name: DrawnSplit(rows.targets(name), tuple(map(str, chosen)))
            for name, chosen in split.rows.items()
        }
        return assembled(rows, splits, (SIDE, SIDE), moments, DRAWN)
    dataset = in_memory(rows, _drawn(range(n)), [str(number) for number in range(n)])
    return replace(dataset, mean=moments[0], std=moments[1])


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
        Whether `keep_resized` may keep streamed images below CANDOR_HOME, to be decoded only once;
        those that are there are read in any case.
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
