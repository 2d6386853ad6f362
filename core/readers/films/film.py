"""A film, the picture of a chest, as the sealed process hands it over: pixels and nothing else."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from core.errors import Notice, Refused

Pixels = npt.NDArray[np.uint8]
Stored = npt.NDArray[np.integer]  # as a DICOM file has them
MAX_PIXELS: Final = 50_000_000  # a few kilobytes can claim more and fill the memory
MIN_SIDE: Final = 16
EXPECTED: Final = "a film is a PNG, JPEG or DICOM file of one frame"
SAVE_AGAIN: Final = "export the film again, as PNG, JPEG or DICOM"


@dataclass(frozen=True, eq=False)
class Film:
    """One film; no tag, text or name of its file is part of it.

    Attributes
    ----------
    pixels : (H, W) uint8
        Greys, upright, 255 = white = dense; read-only.
    notices : tuple of Notice
        What was changed on the way, or must be known.
    digest : str
        Of the pixels alone, so that nothing about a patient goes into a key: the same picture in
        two files has one digest.
    """

    pixels: Pixels
    notices: tuple[Notice, ...]

    @cached_property
    def digest(self) -> str:
        """Digest of shape and pixels, 32 hexadecimal digits."""
        state = blake2b(repr(self.pixels.shape).encode(), digest_size=16)
        state.update(np.ascontiguousarray(self.pixels).data)
        return state.hexdigest()


def check_claim(width: int, height: int) -> None:
    """Refuse, by what a header claims, a film that is too large to decode: IMAGE_PIXELS."""
    if width * height > MAX_PIXELS:
        what = f"A picture of {width:,} x {height:,} pixels; at most {MAX_PIXELS:,} are read"
        raise Refused("IMAGE_PIXELS", what, "save it smaller")


def check_sides(pixels: Pixels) -> None:
    """Refuse a film that is too small to show anything: IMAGE_SIZE."""
    height, width = pixels.shape
    if min(width, height) < MIN_SIDE:
        what = f"A picture of {width} x {height} pixels; at least {MIN_SIDE} per side are needed"
        raise Refused("IMAGE_SIZE", what, "give the film at its original size")


def damaged() -> Refused:
    """Return the refusal of a film whose bytes are not whole; it repeats nothing of them."""
    what = "The film is cut short or damaged"
    return Refused("IMAGE_TRUNCATED", what, "copy or export it again")


def trailing() -> Refused:
    """Return the refusal of a film that something follows: a second file may hide there."""
    what = "Bytes follow the picture's end: another file may hide there"
    return Refused("TRAILING", what, SAVE_AGAIN)
