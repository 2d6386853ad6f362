"""Images and targets of one split, and the three splits of a data set; imports torch."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from core.datasets.pictures import STRETCHED, Scaling
from core.datasets.splits import SplitRecord
from core.errors import Notice
from core.predictions import Task


@dataclass(frozen=True, eq=False)
class LabelledRows(ABC):
    """The rows of one split, images or texts."""

    targets: Tensor  # (N,) int64 tensor, or (N, L) float32 of 0 and 1
    # Path of the file below the data set's folder, or the row's number in the source
    row_ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.row_ids)

    @abstractmethod
    def inputs(self, batches: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
        """Yield what is stored of each batch of rows, as `images` does of images."""


@dataclass(frozen=True, eq=False)
class DatasetSplit(LabelledRows):
    """The images of one split."""

    def inputs(self, batches: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
        """Yield the images of each batch of rows."""
        return self.images(batches, device)

    @abstractmethod
    def images(self, batches: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
        """Yield the images of each batch of rows, in the order asked.

        Parameters
        ----------
        batches : sequence of (n,) int64 tensors on the CPU
            Rows, 0 to N - 1.

        Yields
        ------
        (n, C, H, W) uint8 tensor on `device`

        Raises
        ------
        Refused
            A picture that cannot be read; the message names it.
        """


@dataclass(frozen=True, eq=False)
class ResidentSplit(DatasetSplit):
    """Images that live on the device."""

    pixels: Tensor  # (N, C, H, W) uint8 tensor on the CPU
    _moved: dict[torch.device, Tensor] = field(default_factory=dict, init=False, repr=False)

    def images(self, batches: Sequence[Tensor], device: torch.device) -> Iterator[Tensor]:
        """Yield the images of each batch of rows; moved to the device once and kept there."""
        if device not in self._moved:
            self._moved[device] = self.pixels.to(device)
        pixels = self._moved[device]
        if not batches:
            return
        # All row numbers go over at once, so that no step waits for the host.
        rows = torch.cat(list(batches)).to(device)
        for chosen in rows.split_with_sizes([len(batch) for batch in batches]):
            yield pixels.index_select(0, chosen)


@dataclass(frozen=True, eq=False)
class SplitDataset:
    """A data set, split."""

    name: str  # its key in the catalogue
    task: Task
    class_names: tuple[str, ...]  # K of them
    train: DatasetSplit
    val: DatasetSplit
    test: DatasetSplit
    channels: int
    size: tuple[int, int]  # height and width of the images that the parts yield
    # mean, std: of each channel, in 0..1: of pixels / 255, to normalise with: of the train
    # part alone where images are in memory; ImageNet's published ones where they are streamed, and
    # a notice says so. A channel that never varies has a `std` of 1
    mean: tuple[float, ...]
    std: tuple[float, ...]
    flip: bool  # mirrored images are as good as these
    pad: int  # pixels by which training images may be shifted; 0 for none
    # Of images and targets in memory; where images are streamed, of the files' paths, sizes in
    # bytes and targets
    digest: str
    notices: tuple[Notice, ...]
    split: SplitRecord


@dataclass(frozen=True, kw_only=True)
class DatasetRequest:
    """What is asked of a data set; see `load`."""

    root: Path | None
    split_seed: int
    size: tuple[int, int] | None = None
    download: bool = True
    scaling: Scaling = STRETCHED
    kept: bool = False
    sparing: bool = False
    changed_files: bool = False
