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
    preprocessing : Preprocessing
    channels : int
        Of the network; grey images are repeated, colours become their luma.
    mean, std : sequence of float
        Those of the data, taken where `preprocessing` names none.
    device : torch.device
    """

    def __init__(
        self,
        preprocessing: Preprocessing,
        channels: int,
        mean: Sequence[float],
        std: Sequence[float],
        device: torch.device,
    ) -> None:
        self.preprocessing = preprocessing
        self.channels = channels
        self._mean = _column(_fitted(preprocessing.mean or mean, channels), device)
        self._std = _column(_fitted(preprocessing.std or std, channels), device)

    def __call__(self, images: Tensor) -> list[Tensor]:
        """Return for each crop (n, channels, height, width) float32, channels last in memory."""
        inputs = images.float() / 255.0
        if inputs.shape[1] != self.channels:
            if inputs.shape[1] == 3:
                weights = inputs.new_tensor(LUMA).view(1, 3, 1, 1)
                inputs = (inputs * weights).sum(1, keepdim=True)
            inputs = inputs[:, :1].expand(-1, self.channels, -1, -1)
        # To the size that crops are cut from, in 0..1.
        scaled = self.preprocessing.scaled
        if self.preprocessing.cover:
            inputs = _centre(inputs, _proportioned(inputs.shape[-2:], scaled))
        if tuple(inputs.shape[-2:]) != scaled:
            mode = self.preprocessing.interpolation
            inputs = functional.interpolate(
                inputs, scaled, mode=mode, align_corners=False, antialias=True
            ).clamp(0.0, 1.0)  # bicubic overshoots
        inputs = (inputs - self._mean) / self._std
        height, width = self.preprocessing.size
        crops = [_centre(inputs, (height, width))]
        if self.preprocessing.crops > 1:
            corners = [
                inputs[..., :height, :width],
                inputs[..., :height, -width:],
                inputs[..., -height:, :width],
                inputs[..., -height:, -width:],
            ]
            crops = [*corners, *crops]
        if self.preprocessing.crops == 10:
            crops += [crop.flip(-1) for crop in crops]
        return [crop.contiguous(memory_format=torch.channels_last) for crop in crops]


def frame(preprocessing: Preprocessing, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return what part of an image the middle crop shows.

    Parameters
    ----------
    preprocessing : Preprocessing
    size : (int, int)
        Height and width of the image.

    Returns
    -------
    left, top, right, bottom : float
        Shares of the image's sides.
    """
    edges = []
    region = _proportioned(size, preprocessing.scaled) if preprocessing.cover else size
    for side, region_side, scaled, crop_side in zip(
        size, region, preprocessing.scaled, preprocessing.size, strict=True
    ):
        before = round((side - region_side) / 2)
        start = round((scaled - crop_side) / 2)
        edges.append(
            [(before + region_side * place / scaled) / side for place in (start, start + crop_side)]
        )
    (top, bottom), (left, right) = edges
    return left, top, right, bottom


def _fitted(values: Sequence[float], channels: int) -> list[float]:
    """Return moments for the network's channels; those of other channels become their mean."""
    if len(values) == channels:
        return list(values)
    return [sum(values) / len(values)] * channels


def _column(values: Sequence[float], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.float32, device=device).view(1, -1, 1, 1)


def _proportioned(size: Sequence[int], proportions: tuple[int, int]) -> tuple[int, int]:
    """Return the largest height and width within `size` of the proportions that are wanted."""
    height, width = size
    factor = min(height / proportions[0], width / proportions[1])
    return round(proportions[0] * factor), round(proportions[1] * factor)


def _centre(images: Tensor, size: tuple[int, int]) -> Tensor:
    """Return the middle of images, rounded as torchvision's CenterCrop does."""
    sides = zip(images.shape[-2:], size, strict=True)
    top, left = (round((have - want) / 2) for have, want in sides)
    return images[..., top : top + size[0], left : left + size[1]]
