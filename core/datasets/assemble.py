"""From pixels or files, targets and a split to a data set; imports torch."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from core.arrays import Int, digest, row_chunks
from core.datasets.base import Data, ResidentPart
from core.datasets.catalogue import DATASETS
from core.datasets.splits import SplitRecord

Pixels = npt.NDArray[np.uint8]
SHIFT: Final = 8  # images are shifted by up to an eighth of their side: 4 of 32, He et al. 2016


def in_memory(
    name: str,
    pixels: Pixels,
    labels: Int,
    row_ids: Sequence[str],
    class_names: tuple[str, ...],
    split: SplitRecord,
) -> Data:
    """Return a data set whose images live in memory.

    Parameters
    ----------
    name : str
        Key in the catalogue.
    pixels : (N, C, H, W) uint8
    labels : (N,) int64 in 0..K-1
    row_ids : sequence of N str
    class_names : tuple of K str
    split : SplitRecord
    """
    entry = DATASETS[name]
    parts = {
        part: ResidentPart(
            torch.from_numpy(labels[rows]),
            tuple(row_ids[row] for row in rows),
            torch.from_numpy(pixels[rows]),
        )
        for part, rows in split.rows.items()
    }
    mean, std = moments(parts["train"].pixels.numpy())
    channels, height, width = pixels.shape[1:]
    return Data(
        name=name,
        task=entry.task,
        class_names=class_names,
        **parts,
        channels=channels,
        size=(height, width),
        mean=mean,
        std=std,
        flip=entry.flip,
        pad=min(height, width) // SHIFT if entry.shift else 0,
        digest=digest(pixels, labels),
        notices=(),
        split=split,
    )


def moments(pixels: Pixels) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and standard deviation of pixels / 255 in each channel, exact sums.

    Parameters
    ----------
    pixels : (N, C, H, W) uint8

    Returns
    -------
    mean, std : tuples of C float
        The population's standard deviation; 1 where a channel never varies.
    """
    n, channels, height, width = pixels.shape
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
