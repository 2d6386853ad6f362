"""Stored values to what is seen: rescaling, tables and windows of DICOM, on whole numbers.

At most 65,536 different values are stored, so each is worked out once and looked up for all
pixels. DICOM PS3.3: C.11.1 (modality), C.11.2 (values of interest), C.11.6 (presentation).
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from core.arrays import Float
from core.codes import NoticeCode
from core.errors import Notice
from core.readers.films.film import Pixels, damaged

Stored = npt.NDArray[np.integer]
LINEAR, EXACT, SIGMOID = "LINEAR", "LINEAR_EXACT", "SIGMOID"
BLOCK: Final = 2**22  # pixels looked at together
COLOUR: Final = 8  # of 255: channels that differ by less are a grey that was rounded
FLAT: Final = 1e-12  # a span below this has no steps


@dataclass(frozen=True)
class Lut:
    """A table: the value for `first`, for the next whole number, and so on; both ends go on.

    Attributes
    ----------
    first : int
    values : (N,) float64
    top : float
        The largest value that its bits can hold.
    """

    first: int
    values: Float
    top: float

    def apply(self, x: Float) -> Float:
        """Return the table's values at (N,) inputs, of which fractions are cut off."""
        at = np.clip(np.floor(x) - self.first, 0, len(self.values) - 1)
        outputs: Float = self.values[at.astype(np.int64)]
        return outputs


@dataclass(frozen=True)
class Window:
    """Which values become black and white: centre and width, by one of DICOM's three functions."""

    centre: float
    width: float
    function: str = LINEAR

    @property
    def usable(self) -> bool:
        """Whether the width is one that the function allows."""
        if not math.isfinite(self.centre) or not math.isfinite(self.width):
            return False
        return self.width >= 1 if self.function == LINEAR else self.width > 0

    def apply(self, x: Float) -> Float:
        """Return shares of white, 0 to 1, of (N,) values."""
        if self.function == SIGMOID:
            return 1 / (1 + np.exp(np.clip(-4 * (x - self.centre) / self.width, -700, 700)))
        if self.function == EXACT:
            return np.clip((x - self.centre) / self.width + 0.5, 0, 1)
        if self.width == 1:  # C.11.2.1.2.1: the slope is infinite
            return (x > self.centre - 0.5).astype(np.float64)
        return np.clip((x - (self.centre - 0.5)) / (self.width - 1) + 0.5, 0, 1)


@dataclass(frozen=True)
class Display:
    """How the stored values of a film are shown.

    Attributes
    ----------
    bits : int
        Bits of a pixel that are used, for the notice.
    slope, intercept : float
        Rescaling; not used where there is a table `modality`.
    modality : Lut or None
    voi : Lut, Window or None
        None spreads the values that are there over black to white.
    inverted : bool
        Whether the lowest value is white.
    padding : (int, int) or None
        Stored values, first and last, that are no part of the film; they become black.
    whole : (int, int) or None
        Stored values to spread in place of those that are there.
    """

    bits: int
    slope: float = 1.0
    intercept: float = 0.0
    modality: Lut | None = None
    voi: Lut | Window | None = None
    inverted: bool = False
    padding: tuple[int, int] | None = None
    whole: tuple[int, int] | None = None

    def rescaled(self, stored: Float) -> Float:
        """Return the values that windows speak of."""
        if self.modality is not None:
            return self.modality.apply(stored)
        return stored * self.slope + self.intercept


def show(stored: Stored, display: Display) -> tuple[Pixels, Notice | None]:
    """Return a film as it is seen.

    Parameters
    ----------
    stored : (H, W) of at most 16 bits
    display : Display

    Returns
    -------
    (H, W) uint8, Notice
        Greys, white = dense; and which values became black and white, None where all 8 bits are
        kept as they are.

    Raises
    ------
    Refused
        IMAGE_TRUNCATED: tags that make no finite values.
    """
    low = int(stored.min())
    steps = np.arange(low, int(stored.max()) + 1)
    values = display.rescaled(steps.astype(np.float64))
    if not np.isfinite(values).all():
        raise damaged()
    first, last = display.padding or (1, 0)
    outside = (steps >= first) & (steps <= last)
    voi, notice = display.voi, None
    if isinstance(voi, Lut):
        text = "the film's own table decides which values are black and white"
        shares, notice = voi.apply(values) / voi.top, Notice(NoticeCode.WINDOW, text)
    elif voi is not None:
        text = f"the film's own window was used: centre {voi.centre:g}, width {voi.width:g}"
        shares, notice = voi.apply(values), Notice(NoticeCode.WINDOW, text)
    else:
        if display.whole is not None:
            there, with_notice = display.rescaled(np.array(display.whole, np.float64)), False
        else:
            # The values that occur and are part of the film; all, where none is.
            occurs = np.zeros(len(values), np.bool_)
            occurs[stored.astype(np.int32).ravel() - int(stored.min())] = True
            part = values[occurs & ~outside]
            there, with_notice = part if part.size else values, True
        least, high = float(there.min()), float(there.max())
        shares = np.clip((values - least) / max(high - least, FLAT), 0, 1)
        text = f"{display.bits} bits per pixel: values, {least:g} to {high:g}, "
        if with_notice:
            notice = Notice(NoticeCode.WINDOW, text + "were spread over black to white")
    if display.inverted:
        shares = 1 - shares
    shares[outside] = 0
    table = np.rint(shares * 255).astype(np.uint8)
    return table[stored.astype(np.int32) - low], notice


def grey_of_colours(picture: Image.Image, notices: list[Notice]) -> Pixels:
    """Return the greys of a picture (ITU-R BT.601), and say so where it has true colours."""
    # By bands of rows, so that a large picture is never copied whole.
    step = max(1, BLOCK // picture.width)
    for top in range(0, picture.height, step) if picture.mode == "RGB" else ():
        bottom = min(top + step, picture.height)
        band = np.asarray(picture.crop((0, top, picture.width, bottom))).astype(np.int16)
        if int(np.ptp(band, axis=-1).max()) > COLOUR:  # more than rounding
            text = "the picture has colours, which were turned grey"
            notices.append(Notice(NoticeCode.COLOUR_CONVERTED, text))
            break
    return np.asarray(picture.convert("L"))
