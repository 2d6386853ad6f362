"""The bytes of a film to its pixels, judged by content; only the sealed process imports this."""

import importlib
import io
import logging
import warnings
from typing import Final

import numpy as np
from PIL import Image

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.films import film_dicom
from core.readers.films.film import (
    EXPECTED,
    MAX_PIXELS,
    SAVE_AGAIN,
    Film,
    Pixels,
    check_sides,
    damaged,
)
from core.readers.films.film_chunks import JPEG, PNG, jpeg_skeleton, png_skeleton
from core.readers.films.film_window import Display, grey_of_colours, show
from core.readers.formats.contents import FileBytes
from core.readers.formats.sniff import DICOM, OTHERS, PICTURES, is_dicom

SEVERAL = (b"GIF8", b"II*\0", b"MM\0*")
KINDS = {**PICTURES, **{magic: name for magic, (name, _) in OTHERS.items()}, b"PK": "an archive"}


def import_early() -> None:
    """Import the decoders, which are looked for at first use, and keep them from huge pictures."""
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    Image.preinit()
    for plugin in ("Jpeg2KImagePlugin", "TiffImagePlugin"):
        importlib.import_module(f"PIL.{plugin}")
    logging.disable(logging.CRITICAL)  # a library's words may repeat a tag's value
    film_dicom.import_early()


def read_film_file(source: FileBytes) -> Film:
    """Return the film in a file.

    Raises
    ------
    Refused
        EMPTY_FILE, FORMAT_UNKNOWN, FORMAT_MISMATCH, IMAGE_PIXELS, IMAGE_SIZE, IMAGE_FRAMES,
        IMAGE_TEXT, IMAGE_KIND, IMAGE_TRUNCATED, ARCHIVE_SIZE, TRAILING; none repeats a word of
        the file.
    """
    if source.size == 0:
        raise Refused("EMPTY_FILE", "The file is empty (0 bytes)", SAVE_AGAIN)
    head = bytes(source.data[:512])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may repeat a tag's value
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            film = _read(source, head)
    except (Refused, MemoryError):
        raise
    except Exception:  # noqa: BLE001  decoders throw anything at damaged files, and may quote them
        raise damaged() from None
    check_sides(film.pixels)
    if film.pixels.min() == film.pixels.max():
        blank = Notice(
            NoticeCode.IMAGE_BLANK, "every pixel has the same grey: there is nothing on this film"
        )
        film = Film(film.pixels, (*film.notices, blank))
    return film


def _read(source: FileBytes, head: bytes) -> Film:
    if head.startswith((PNG, JPEG)) and head[128:132] != DICOM:
        return read_picture(source.data)
    if is_dicom(head):
        return film_dicom.read_dicom(source.data)
    if head.startswith(SEVERAL):
        # A GIF or TIFF of a single frame is not read either.
        with Image.open(io.BytesIO(source.data), formats=("GIF", "TIFF")) as picture:
            if getattr(picture, "is_animated", False):
                what = "This is a picture of several frames"
                raise Refused("IMAGE_FRAMES", what, "export one as PNG")
    name = next((name for magic, name in KINDS.items() if head.startswith(magic)), "not a film")
    raise Refused("FORMAT_UNKNOWN", f"This is {name}: {EXPECTED}", SAVE_AGAIN)


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


def _transparent() -> Notice:
    return Notice(
        NoticeCode.TRANSPARENCY, "parts of the picture are transparent and were drawn on black"
    )
