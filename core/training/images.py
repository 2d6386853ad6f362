"""From stored uint8 images to a network's input, on the device they lie on; torch."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Augmentation:
    """How each image of an epoch is shifted and mirrored.

    Attributes
    ----------
    shift : (N, 2) int64 in 0..2 pad
        Down and right, from an image padded on all sides.
    mirrored : (N,) bool
    pad : int
        Pixels of black around an image.
    """

    shift: Tensor
    mirrored: Tensor
    pad: int

    @classmethod
    def of(cls, n: int, *, pad: int, flip: bool, generator: torch.Generator) -> "Augmentation":
        """Draw for n images."""
        shift = torch.randint(0, 2 * pad + 1, (n, 2), generator=generator)
        mirrored = torch.rand(n, generator=generator) < 0.5 if flip else torch.zeros(n) > 0
        return cls(shift, mirrored, pad)

    def to(self, device: torch.device) -> "Augmentation":
        """Return the same on a device."""
        return Augmentation(self.shift.to(device), self.mirrored.to(device), self.pad)

    def take(self, rows: Tensor) -> "Augmentation":
        """Return those of some images."""
        return Augmentation(self.shift[rows], self.mirrored[rows], self.pad)

    def apply(self, images: Tensor) -> Tensor:
        """Return (n, C, H, W) images shifted and mirrored, black where nothing was.

        One gather for the whole batch: each output pixel names the input row and column it
        comes from.
        """
        height, width = images.shape[-2:]
        padded = functional.pad(images, [self.pad] * 4)
        down = torch.arange(height, device=images.device) + self.shift[:, :1]
        across = torch.arange(width, device=images.device).expand(len(images), -1)
        across = torch.where(self.mirrored[:, None], width - 1 - across, across)
        across = across + self.shift[:, 1:]
        image = torch.arange(len(images), device=images.device)[:, None, None]
        # with the channels last, the indexed dimensions stand together and in this order
        gathered = padded.permute(0, 2, 3, 1)[image, down[:, :, None], across[:, None, :]]
        return gathered.permute(0, 3, 1, 2)


class Normalise:
    """uint8 images to float32 of about mean 0 and standard deviation 1 a channel.

    Parameters
    ----------
    mean, std : sequence of float
        Of each channel, of pixels divided by 255.
    size : (int, int)
        Height and width that the network takes; others are resized.
    device : torch.device
    """

    def __init__(
        self,
        mean: Sequence[float],
        std: Sequence[float],
        size: tuple[int, int],
        device: torch.device,
    ) -> None:
        self.size = size
        scale = 255.0 * torch.tensor(std, dtype=torch.float64)
        shift = torch.tensor(mean, dtype=torch.float64) / torch.tensor(std, dtype=torch.float64)
        self._scale = scale.float().view(1, -1, 1, 1).to(device)
        self._shift = shift.float().view(1, -1, 1, 1).to(device)

    def __call__(self, images: Tensor) -> Tensor:
        """Return (n, C, height, width) float32, channels last in memory."""
        normalised = images / self._scale - self._shift
        if normalised.shape[-2:] != self.size:
            normalised = functional.interpolate(
                normalised, self.size, mode="bilinear", align_corners=False, antialias=True
            )
        return normalised.contiguous(memory_format=torch.channels_last)
