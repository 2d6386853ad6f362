"""From an image to what a network takes, as numbers that can be shown and changed; no torch."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from core.errors import UsageError

INTERPOLATIONS: Final = ("bilinear", "bicubic")
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
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),  # Mukhoti et al. 2020
    "cifar100": ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761)),  # Mukhoti et al. 2020
}
MAX_SIDE: Final = 2_048


@dataclass(frozen=True)
class Preprocessing:
    """What is done to an image of 0..255 before the network sees it.

    Parameters
    ----------
    size : (int, int)
        Height and width that the network takes.
    mean, std : tuple of float
        Of each channel of the network, of pixels divided by 255; `std` above 0. Empty: those of
        the training part of the data.
    crop : float
        Share, in (0, 1], of the scaled image's sides that `size` is: 224 of 256 is 0.875.
    cover : bool
        Keep proportions: the image is scaled until it covers, and what lies beyond is cut off.
        False stretches it.
    interpolation : str
        ``bilinear`` or ``bicubic``, both over the area of the new pixel.
    crops : int
        How many parts of an image are looked at: see CROPS.
    average : str
        ``logits`` or ``probabilities`` of the crops.

    Raises
    ------
    UsageError
        SETTING: a value out of range.
    """

    size: tuple[int, int]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    crop: float = 1.0
    cover: bool = False
    interpolation: str = "bilinear"
    crops: int = 1
    average: str = "logits"

    def __post_init__(self) -> None:
        """Refuse settings out of range, naming the value found."""
        for ok, what, remedy in self._checks():
            if not ok:
                raise UsageError("SETTING", what, remedy)

    def _checks(self) -> tuple[tuple[bool, str, str], ...]:
        numbers = (*self.mean, *self.std, self.crop)
        return (
            (
                all(8 <= side <= MAX_SIDE for side in self.size),
                f"size is {self.size[0]} x {self.size[1]}",
                f"give sides of 8 to {MAX_SIDE} pixels",
            ),
            (all(map(math.isfinite, numbers)), f"one of {numbers} is no number", "give numbers"),
            (
                len(self.mean) == len(self.std) and all(value > 0 for value in self.std),
                f"mean is {list(self.mean)} and std {list(self.std)}",
                "give both for each channel, every std above 0",
            ),
            (0.1 <= self.crop <= 1, f"crop is {self.crop:g}", "give 0.1 to 1"),
            (self.crops in CROPS, f"crops is {self.crops}", "give 1, 5 or 10"),
            (
                self.crops == 1 or self.crop < 1,
                f"{self.crops} crops of an image that is looked at whole",
                "set crop below 1, as 0.875, or look at 1",
            ),
            (
                self.interpolation in INTERPOLATIONS,
                f"interpolation is {self.interpolation!r:.60}",
                f"use {' or '.join(INTERPOLATIONS)}",
            ),
            (
                self.average in AVERAGES,
                f"average is {self.average!r:.60}",
                f"use {' or '.join(AVERAGES)}",
            ),
        )

    @property
    def gives_probabilities(self) -> bool:
        """Whether probabilities of several crops are averaged; else logits come out."""
        return self.crops > 1 and self.average == "probabilities"

    @property
    def scaled(self) -> tuple[int, int]:
        """Height and width that images are scaled to before `size` is cut out."""
        height, width = (math.floor(side / self.crop + 0.5) for side in self.size)
        return height, width

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; `from_json` gives an equal one back."""
        data = asdict(self)
        return data | {key: list(data[key]) for key in ("size", "mean", "std")}


_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "size": (list,),
    "mean": (list,),
    "std": (list,),
    "crop": (int, float),
    "cover": (bool,),
    "interpolation": (str,),
    "crops": (int,),
    "average": (str,),
}


def from_json(data: object) -> Preprocessing:
    """Return the preprocessing in plain JSON.

    Raises
    ------
    UsageError
        SETTING: an unknown key, no size, or a value of the wrong type or out of range.
    """
    if not isinstance(data, Mapping) or "size" not in data:
        raise UsageError("SETTING", "preprocessing has no size", "give [height, width]")
    for key, value in data.items():
        kinds = _KINDS.get(key)
        if kinds is None:
            what = f"preprocessing has unknown key {key!r:.60}"
            raise UsageError("SETTING", what, f"use {', '.join(_KINDS)}")
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise UsageError("SETTING", f"{key} is {value!r:.60}", "see docs/evaluation.md")
    size = data["size"]
    if len(size) != 2 or not all(type(side) is int for side in size):
        raise UsageError("SETTING", f"size is {size!r:.60}", "give [height, width]")
    lists = {key: tuple(map(_number, data.get(key, ()))) for key in ("mean", "std")}
    return Preprocessing(**{**data, **lists, "size": tuple(size)})


def _number(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise UsageError("SETTING", f"{value!r:.60} stands among the numbers", "give numbers")
    return float(value)
