"""PNG and JPEG to greys; imports Pillow, so only the sealed process imports this."""

import io
from typing import Final

import numpy as np
from PIL import Image

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.films.film import Film, Pixels
from core.readers.films.film_chunks import PNG, jpeg_skeleton, png_skeleton
from core.readers.films.film_window import Display, show

BLOCK: Final = 2**22  # pixels looked at together
COLOUR: Final = 8  # of 255: channels that differ by less are a grey that was rounded
FINE: Final = 127  # steps that the upper 8 of 16 bits must at least span


def read_picture(data: memoryview) -> Film:
    """Return the film in the bytes of a PNG or JPEG.

    Raises
    ------
    Refused
        As `core.readers.films.film_chunks`; IMAGE_KIND: 16 bits a colour, of which few are used.
    Exception
        Whatever Pillow throws at damaged files.
    """
    form = "PNG" if bytes(data[:8]) == PNG else "JPEG"
    bones = png_skeleton(data) if form == "PNG" else jpeg_skeleton(bytes(data))
    with Image.open(io.BytesIO(bones.data), formats=(form,)) as picture:
        picture.load()
        if picture.mode.startswith("I"):
            # 16-bit greys are spread over black to white, with nothing cut off at either end.
            values, key = np.asarray(picture, np.uint16), bones.key
            hidden = (key, key) if key is not None and np.any(values == key) else None
            greys, window = show(values, Display(16, padding=hidden))
            notices = [] if window is None else [window]
            notices += [] if hidden is None else [_transparent()]
        elif picture.mode == "CMYK":
            greys = np.asarray(picture.convert("RGB").convert("L"))
            text = "printing colours (CMYK) were turned into greys"
            notices = [Notice(NoticeCode.COLOUR_CONVERTED, text)]
        else:
            opaque: Image.Image = picture
            notices = []
            if opaque.mode in ("P", "PA") or "transparency" in opaque.info:
                opaque = opaque.convert("RGBA")
            if opaque.mode in ("LA", "RGBA"):
                # Without its alpha channel, drawn on black where that is not opaque.
                plain, alpha = opaque.mode.removesuffix("A"), opaque.getchannel("A")
                opaque = opaque.convert(plain)
                if alpha.getextrema()[0] != 255:
                    notices.append(_transparent())
                    opaque = Image.composite(opaque, Image.new(plain, opaque.size), alpha)
            greys = grey_of_colours(opaque, notices)
        if bones.depth == 16 and not picture.mode.startswith("I"):
            # Of colours of 16 bits a decoder keeps the upper 8.
            if int(np.ptp(greys)) < FINE:
                what = "A PNG with 16 bits per colour whose upper 8 bits hold too few steps of grey"
                remedy = "save it as grey PNG of 16 bits, or stretch its greys first"
                raise Refused("IMAGE_KIND", what, remedy)
            notices.append(Notice(NoticeCode.WINDOW, "16 bits per colour: the upper 8 were used"))
    turned = upright(greys, bones.orientation)
    if turned is not greys:
        text = "the file says how the film was held; it was turned or mirrored accordingly"
        notices.append(Notice(NoticeCode.EXIF_APPLIED, text))
    return Film(turned, tuple(notices))


def upright(greys: Pixels, orientation: int) -> Pixels:
    """Return greys as they are looked at, by Exif's number for how they were held."""
    if orientation in (5, 6, 7, 8):
        greys = greys.T
    if orientation in (2, 3, 6, 7):  # after the transposition 6 is a quarter turn to the right
        greys = greys[:, ::-1]
    if orientation in (3, 4, 7, 8):
        greys = greys[::-1]
    return greys


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


def _transparent() -> Notice:
    return Notice(
        NoticeCode.TRANSPARENCY, "parts of the picture are transparent and were drawn on black"
    )
