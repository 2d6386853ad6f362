"""From stored uint8 images to a network's input, as a Preprocessing says; torch."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from core.inference.preprocessing import Preprocessing

LUMA = (0.299, 0.587, 0.114)  # of red, green and blue; ITU-R BT.601


class BatchPreprocessor:
    """Scales, crops, and normalises batches of images.

    Parameters
    ----------
    how : Preprocessing
    channels : int
        Of the network; grey images are repeated, colours become their luma.
    mean, std : sequence of float
        Those of the data, taken where `how` names none.
    device : torch.device
    """

    def __init__(
        self,
        how: Preprocessing,
        channels: int,
        mean: Sequence[float],
        std: Sequence[float],
        device: torch.device,
    ) -> None:
        self.how = how
        self.channels = channels
        self._mean = _column(_fitted(how.mean or mean, channels), device)
        self._std = _column(_fitted(how.std or std, channels), device)

    def __call__(self, images: Tensor) -> list[Tensor]:
        """Return for each crop (n, channels, height, width) float32, channels last in memory."""
        found = self._scaled(_with_channels(images.float() / 255.0, self.channels))
        found = (found - self._mean) / self._std
        return [crop.contiguous(memory_format=torch.channels_last) for crop in self._crops(found)]

    def _scaled(self, images: Tensor) -> Tensor:
        """Return images of the size that crops are cut from, in 0..1."""
        wanted = self.how.scaled
        if self.how.cover:
            images = _centre(images, _proportioned(images.shape[-2:], wanted))
        if tuple(images.shape[-2:]) == wanted:
            return images
        mode = self.how.interpolation
        found = functional.interpolate(
            images, wanted, mode=mode, align_corners=False, antialias=True
        )
        return found.clamp(0.0, 1.0)  # bicubic overshoots

    def _crops(self, images: Tensor) -> list[Tensor]:
        height, width = self.how.size
        middle = _centre(images, (height, width))
        if self.how.crops == 1:
            return [middle]
        corners = [
            images[..., :height, :width],
            images[..., :height, -width:],
            images[..., -height:, :width],
            images[..., -height:, -width:],
        ]
        five = [*corners, middle]
        return five if self.how.crops == 5 else five + [one.flip(-1) for one in five]


def frame(how: Preprocessing, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return what part of an image the middle crop shows.

    Parameters
    ----------
    how : Preprocessing
    size : (int, int)
        Height and width of the image.

    Returns
    -------
    left, top, right, bottom : float
        Shares of the image's sides.
    """
    edges = []
    part = _proportioned(size, how.scaled) if how.cover else size
    for side, kept, scaled, wanted in zip(size, part, how.scaled, how.size, strict=True):
        before = round((side - kept) / 2)
        start = round((scaled - wanted) / 2)
        edges.append([(before + kept * place / scaled) / side for place in (start, start + wanted)])
    (top, bottom), (left, right) = edges
    return left, top, right, bottom


def _fitted(values: Sequence[float], channels: int) -> list[float]:
    """Return moments for the network's channels; those of other channels become their mean."""
    if len(values) == channels:
        return list(values)
    return [sum(values) / len(values)] * channels


def _column(values: Sequence[float], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.float32, device=device).view(1, -1, 1, 1)


def _with_channels(images: Tensor, channels: int) -> Tensor:
    n_channels = images.shape[1]
    if n_channels == channels:
        return images
    if n_channels == 3:
        weights = images.new_tensor(LUMA).view(1, 3, 1, 1)
        images = (images * weights).sum(1, keepdim=True)
    return images[:, :1].expand(-1, channels, -1, -1)


def _proportioned(size: Sequence[int], wanted: tuple[int, int]) -> tuple[int, int]:
    """Return the largest height and width within `size` of the proportions that are wanted."""
    height, width = size
    factor = min(height / wanted[0], width / wanted[1])
    return round(wanted[0] * factor), round(wanted[1] * factor)


def _centre(images: Tensor, size: tuple[int, int]) -> Tensor:
    """Return the middle of images, rounded as torchvision's CenterCrop does."""
    sides = zip(images.shape[-2:], size, strict=True)
    top, left = (round((have - want) / 2) for have, want in sides)
    return images[..., top : top + size[0], left : left + size[1]]
