"""From stored uint8 images to a network's input, on the device they lie on; torch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Augmentation:
    """How each image of an epoch is shifted and mirrored."""

    shift: Tensor  # (N, 2) int64 in 0..2 pad: down and right, from an image padded on all sides
    mirrored: Tensor  # (N,) bool
    pad: int  # pixels of black around an image

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
        # Mirrored first and shifted after, within the padded image.
        across = torch.where(self.mirrored[:, None], width - 1 - across, across)
        across = across + self.shift[:, 1:]
        image = torch.arange(len(images), device=images.device)[:, None, None]
        # with the channels last, the indexed dimensions stand together and in this order
        gathered = padded.permute(0, 2, 3, 1)[image, down[:, :, None], across[:, None, :]]
        return gathered.permute(0, 3, 1, 2)


AREA: Final = (0.08, 1.0)  # of an image, and the ratio of width to height, of a random part
RATIO: Final = (3 / 4, 4 / 3)
TRIES: Final = 10


@dataclass(frozen=True)
class RandomCrops:
    """Which part of each image of an epoch is shown, scaled to one size, and what is mirrored.

    References
    ----------
    Szegedy et al. 2015, section 6. As in torchvision, the first of ten drawn parts that fits the
    image is taken; here all of it where none does.
    """

    # sides, centres: (N, 2) float32: width and height of a part, and where its centre lies across
    # and down, as shares of the image's sides
    sides: Tensor
    centres: Tensor
    mirrored: Tensor  # (N,) bool
    size: tuple[int, int]  # height and width that parts are scaled to

    @classmethod
    def of(cls, n: int, *, size: tuple[int, int], generator: torch.Generator) -> "RandomCrops":
        """Draw for n images, as high as they are wide."""
        # Area uniform, ratio uniform in its logarithm, so that 3:4 and 4:3 are as likely.
        areas = torch.empty(n, TRIES).uniform_(*AREA, generator=generator)
        ratios = torch.empty(n, TRIES).uniform_(*map(math.log, RATIO), generator=generator).exp()
        drawn = torch.stack([(areas * ratios).sqrt(), (areas / ratios).sqrt()], dim=2)
        fits = (drawn <= 1).all(dim=2)
        # argmax of 0 and 1 is the first 1; where none fits it is 0, and the whole image is taken.
        first = fits.int().argmax(dim=1)
        sides = drawn[torch.arange(n), first].where(fits.any(dim=1)[:, None], torch.ones(2))
        centres = sides / 2 + (1 - sides) * torch.rand(n, 2, generator=generator)
        return cls(sides, centres, torch.rand(n, generator=generator) < 0.5, size)

    def to(self, device: torch.device) -> "RandomCrops":
        """Return the same on a device."""
        sides, centres = self.sides.to(device), self.centres.to(device)
        return RandomCrops(sides, centres, self.mirrored.to(device), self.size)

    def take(self, rows: Tensor) -> "RandomCrops":
        """Return those of some images."""
        return RandomCrops(self.sides[rows], self.centres[rows], self.mirrored[rows], self.size)

    def apply(self, images: Tensor) -> Tensor:
        """Return the (n, C, height, width) float32 parts of (n, C, H, W) images, bilinear."""
        across, down = self.sides.unbind(1)
        # A negative width mirrors the part within the same grid.
        across = torch.where(self.mirrored, -across, across)
        middle = 2 * self.centres - 1  # from -1 to 1, as grids are numbered
        none = torch.zeros_like(across)
        rows = (across, none, middle[:, 0], none, down, middle[:, 1])
        affine = torch.stack(rows, dim=1).view(-1, 2, 3)
        grid = functional.affine_grid(affine, [*images.shape[:2], *self.size], align_corners=False)
        return functional.grid_sample(
            images.float(), grid, padding_mode="border", align_corners=False
        )


class Normalise:
    """uint8 images to float32 of about mean 0 and standard deviation 1 a channel.

    Parameters
    ----------
    mean, std : sequence of float
        Of each channel, of pixels divided by 255.
    size : (int, int)
        Height and width that the network takes; others are resized.
    device : torch.device
    middle : (int, int), optional
        Height and width of what is shown of larger images.
    """

    def __init__(
        self,
        mean: Sequence[float],
        std: Sequence[float],
        size: tuple[int, int],
        device: torch.device,
        *,
        middle: tuple[int, int] | None = None,
    ) -> None:
        self.size, self.middle = size, middle
        scale = 255.0 * torch.tensor(std, dtype=torch.float64)
        shift = torch.tensor(mean, dtype=torch.float64) / torch.tensor(std, dtype=torch.float64)
        self._scale = scale.float().view(1, -1, 1, 1).to(device)
        self._shift = shift.float().view(1, -1, 1, 1).to(device)

    def __call__(self, images: Tensor) -> Tensor:
        """Return (n, C, height, width) float32, channels last in memory."""
        if self.middle is not None:
            top, left = (
                (have - shown) // 2
                for have, shown in zip(images.shape[-2:], self.middle, strict=True)
            )
            images = images[..., top : top + self.middle[0], left : left + self.middle[1]]
        # (x / 255 - mean) / std, with both divisions in one.
        normalised = images / self._scale - self._shift
        if normalised.shape[-2:] != self.size:
            normalised = functional.interpolate(
                normalised, self.size, mode="bilinear", align_corners=False, antialias=True
            )
        return normalised.contiguous(memory_format=torch.channels_last)
