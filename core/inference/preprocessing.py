"""From an image to what a network takes, as numbers that can be shown and changed; no torch."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Final

from core import fields
from core.errors import UsageError
from core.fields import Field
from core.models.catalogue import PublicEntry

INTERPOLATIONS: Final = {"bilinear": "bilinear", "bicubic": "bicubic"}
CROPS: Final = {
    1: "the middle",
    5: "four corners and the middle",
    10: "four corners and the middle, each also mirrored",
}
AVERAGES: Final = {
    "logits": "their logits are averaged",
    "probabilities": "their probabilities are averaged, as in the released CheXNet code",
}
# Mean and standard deviation of each channel, in 0..1, as released with the weights.
MOMENTS: Final[dict[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),  # torchvision's models
    "half": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),  # many of timm's
    "unit": ((0.0,) * 3, (1.0,) * 3),  # pixels from 0 to 1
    "bytes": ((0.0,) * 3, (1 / 255,) * 3),  # pixels from 0 to 255
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),  # Mukhoti et al. 2020
    "cifar100": ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)),  # Mukhoti et al. 2020
}
MAX_SIDE: Final = 2_048
_MOMENT: Final = Field(
    "Mean",
    "Of each channel, in 0 to 1.",
    allows=lambda numbers: all(map(math.isfinite, numbers)),
    remedy="give one for each channel, such as 0.49, 0.48, 0.45",
)


@dataclass(frozen=True)
class Preprocessing:
    """What is done to an image of 0..255 before the network sees it.

    Raises UsageError SETTING: a value out of range.
    """

    # (int, int), height and width that the network takes
    size: Annotated[tuple[int, int], Field(remedy="give [height, width]")]
    # mean, std: of each channel of the network, of pixels divided by 255; `std` above 0. Empty:
    # those of the training part of the data.
    mean: Annotated[tuple[float, ...], _MOMENT] = ()
    std: Annotated[tuple[float, ...], replace(_MOMENT, label="Standard deviation")] = ()
    # Share, in (0, 1], of the scaled image's sides that `size` is: 224 of 256 is 0.875
    crop: Annotated[
        float,
        Field(
            "Share kept",
            "Of the sides of the scaled image: 224 of 256 is 0.875.",
            low=0.1,
            high=1,
            step=0.005,
        ),
    ] = 1.0
    # Keep proportions: the image is scaled until it covers, and what lies beyond is cut off. False
    # stretches it.
    cover: Annotated[
        bool,
        Field(
            "Keep proportions",
            "Scale until the image fills the frame and crop the rest; otherwise stretch it.",
        ),
    ] = False
    # ``bilinear`` or ``bicubic``, both over the area of the new pixel
    interpolation: Annotated[str, Field("Scaled by", choices=INTERPOLATIONS)] = "bilinear"
    # How many parts of an image are looked at: see CROPS
    crops: Annotated[
        int,
        Field(
            "Crops per image",
            choices={n: f"{n}: {places}" for n, places in CROPS.items()},
            remedy="give 1, 5 or 10",
        ),
    ] = 1
    # ``logits`` or ``probabilities`` of the crops
    average: Annotated[str, Field("Of these", choices=AVERAGES)] = "logits"

    def __post_init__(self) -> None:
        """Refuse settings out of range, naming the value."""
        fields.check(self)
        checks = (
            (
                all(8 <= side <= MAX_SIDE for side in self.size),
                f"size is {self.size[0]} x {self.size[1]}",
                f"give sides of 8 to {MAX_SIDE} pixels",
            ),
            (
                len(self.mean) == len(self.std) and all(value > 0 for value in self.std),
                f"mean is {list(self.mean)} and std {list(self.std)}",
                "give both for each channel, every std above 0",
            ),
            (
                self.crops == 1 or self.crop < 1,
                f"{self.crops} crops, but the whole image is used",
                "set the share kept below 1, such as 0.875, or use 1 crop",
            ),
        )
        for ok, what, remedy in checks:
            if not ok:
                raise UsageError("SETTING", what, remedy)

    @property
    def gives_probabilities(self) -> bool:
        """Whether probabilities of several crops are averaged; else logits come out."""
        return self.crops > 1 and self.average == "probabilities"

    @property
    def in_bytes(self) -> bool:
        """Whether pixels stay from 0 to 255."""
        near = all(abs(255 * value - 1) < 1e-6 for value in self.std)
        return bool(self.std) and near and not any(self.mean)

    @property
    def scaled(self) -> tuple[int, int]:
        """Height and width that images are scaled to before `size` is cut out."""
        height, width = (math.floor(side / self.crop + 0.5) for side in self.size)
        return height, width


def shown_by_code(entry: PublicEntry, size: tuple[int, int], channels: int) -> Preprocessing:
    """Return what public code shows its network: in `size`, unless the code has its own."""
    mean, std = (
        moments if len(moments) == channels else (sum(moments) / len(moments),) * channels
        for moments in (entry.mean, entry.std)
    )
    return Preprocessing(entry.size or size, mean, std, cover=entry.size is not None)


def with_moments(settings: Preprocessing, named: str, channels: int) -> Preprocessing:
    """Return a preprocessing with moments of MOMENTS, averaged for other channels than three."""
    mean, std = MOMENTS[named]
    if channels != len(mean):
        mean, std = ((sum(moments) / len(moments),) * channels for moments in (mean, std))
    return replace(settings, mean=mean, std=std)
