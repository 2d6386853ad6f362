"""Data sets for evaluation under shift: outside sets and corruptions; no torch.

Pages, configs and the command line read it; `core.datasets.outside` opens the sets.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Final

from core import fields
from core.defaults import SEED_MAX
from core.errors import UsageError
from core.fields import Field

SEVERITIES: Final = (1, 2, 3, 4, 5)
MAX_FOLDER_NAME: Final = 52  # with "folder-" a split's name has at most 60 characters


@dataclass(frozen=True)
class Corruption:
    """One way to make images worse."""

    noun: str  # its name inside a sentence
    plain: str  # what it does, in a sentence
    group: str  # noise, blur, weather or digital
    random: bool  # its outcome depends on a seed

    @property
    def label(self) -> str:
        """Its name alone."""
        return f"{self.noun[:1].upper()}{self.noun[1:]}"


def _noise(noun: str, plain: str) -> Corruption:
    return Corruption(noun, plain, "noise", random=True)


def _blur(noun: str, plain: str, *, random: bool = False) -> Corruption:
    return Corruption(noun, plain, "blur", random)


def _weather(noun: str, plain: str, *, random: bool = True) -> Corruption:
    return Corruption(noun, plain, "weather", random)


def _digital(noun: str, plain: str, *, random: bool = False) -> Corruption:
    return Corruption(noun, plain, "digital", random)


# Keys are the names of CIFAR-10-C's files (Hendrycks & Dietterich 2019), and one of ours.
CORRUPTIONS: Final[dict[str, Corruption]] = {
    "gaussian_noise": _noise(
        "Gaussian noise", "Adds normal noise to every value, as in poor light."
    ),
    "shot_noise": _noise("shot noise", "Replaces every value by a count of few photons."),
    "impulse_noise": _noise("impulse noise", "Sets a share of the values to black or white."),
    "speckle_noise": _noise(
        "speckle noise", "Adds normal noise that grows with the value it falls on."
    ),
    "defocus_blur": _blur("defocus blur", "Spreads every pixel over a disk."),
    "glass_blur": _blur(
        "glass blur", "Moves neighbouring pixels about, as frosted glass does.", random=True
    ),
    "motion_blur": _blur(
        "motion blur", "Smears the image along a random direction, as a moved camera.", random=True
    ),
    "zoom_blur": _blur("zoom blur", "Averages the image with enlarged copies of itself."),
    "gaussian_blur": _blur("Gaussian blur", "Spreads every pixel over a normal bell."),
    "snow": _weather("snow", "Brightens the image and lays streaks of flakes over it."),
    "frost": _weather("frost", "Mixes in a piece of a photograph of frost."),
    "frost_procedural": _weather("frost (procedural)", "Mixes in a computed texture of frost."),
    "fog": _weather("fog", "Mixes in clouds and takes contrast away."),
    "spatter": _weather("spatter", "Throws drops of water, or from severity 4 mud, on the lens."),
    "brightness": _weather("brightness", "Raises the value of every colour.", random=False),
    "contrast": _digital("contrast", "Draws every value towards the mean of its channel."),
    "elastic_transform": _digital(
        "elastic transform", "Shears the image at random and lets it ripple.", random=True
    ),
    "pixelate": _digital("pixelate", "Makes the image smaller and larger again."),
    "jpeg_compression": _digital("JPEG compression", "Stores the image as JPEG of low quality."),
    "saturate": _digital("saturate", "Takes colour away at severities 1 and 2, then adds some."),
}
OFFICIAL: Final = tuple(name for name in CORRUPTIONS if name != "frost_procedural")
OWN: Final = tuple(name for name in CORRUPTIONS if name != "frost")
KINDS: Final = {
    "svhn": "SVHN",
    "cifar10c": "CIFAR-10-C",
    "corrupted": "Corrupted test images",
    "folder": "Image folder",
}
_NAMED: Final = re.compile(r"(cifar10c|corrupted)-([a-z_]+)-([1-5])", re.ASCII)


@dataclass(frozen=True)
class OutsideSet:
    """A set of images that is not the test part itself.

    Raises UsageError SETTING: a value that is none of these.
    """

    # `svhn`, `cifar10c` (its official files), `corrupted` (test images corrupted by Candor) or
    # `folder`
    kind: Annotated[str, Field(choices=KINDS)]
    root: str | None = None  # where it lies; a folder always has one
    corruption: str = ""  # of `cifar10c` one of OFFICIAL, of `corrupted` one of OWN, else empty
    severity: int = 0  # 1 to 5 where there is a corruption, else 0
    # Of random corruptions
    seed: Annotated[
        int, Field("Seed of corruptions", "For the random ones.", low=0, high=SEED_MAX)
    ] = 0

    def __post_init__(self) -> None:
        """Refuse values that are none."""
        fields.check(self)
        shifts: dict[str, tuple[str, ...]] = {"cifar10c": OFFICIAL, "corrupted": OWN}
        _check_choice("corruption", self.corruption, shifts.get(self.kind, ("",)))
        _check_choice("severity", self.severity, SEVERITIES if self.kind in shifts else (0,))
        if self.kind == "folder" and not self.root:
            raise UsageError("SETTING", "No image folder is named", "name it with root")

    @property
    def name(self) -> str:
        """Name of the split that holds its predictions; `parse_name` reads it."""
        if self.corruption:
            return f"{self.kind}-{self.corruption}-{self.severity}"
        if self.kind != "folder":
            return self.kind
        # The last part of the path in the characters that a split's name may have
        name = re.sub(r"[^A-Za-z0-9_]+", "-", PurePath(self.root or "").name).strip("-")
        return f"folder-{name[:MAX_FOLDER_NAME].strip('-') or 'pictures'}"

    @property
    def role(self) -> str:
        """`shifted` where the labels are the model's own, else `ood`."""
        return "shifted" if self.corruption else "ood"

    @property
    def label(self) -> str:
        """Printed name."""
        if self.kind == "folder":
            return f"Images of {PurePath(self.root or '').name or self.root}"
        if not self.corruption:
            return KINDS[self.kind]
        shift = f"{CORRUPTIONS[self.corruption].label}, severity {self.severity}"
        return f"CIFAR-10-C: {shift}" if self.kind == "cifar10c" else shift


def parse_name(split_name: str) -> OutsideSet | None:
    """Return which outside set a split holds, told by its name; None for a split of the data.

    Seed and root are not in a name: a folder's root is its name alone.
    """
    if split_name == "svhn":
        return OutsideSet("svhn")
    kind, _, rest = split_name.partition("-")
    if kind == "folder" and rest:
        return OutsideSet("folder", root=rest)
    match = _NAMED.fullmatch(split_name)
    if match is None or match[2] not in (OFFICIAL if match[1] == "cifar10c" else OWN):
        return None
    return OutsideSet(match[1], corruption=match[2], severity=int(match[3]))


def _check_choice(key: str, value: str | int, choices: Iterable[str] | Iterable[int]) -> None:
    if value not in choices:
        names = ", ".join(str(choice) or "an empty text" for choice in choices)
        raise UsageError("SETTING", f"{key} is {value!r:.80}", f"use {names}")
