"""The bytes of a film to its pixels, judged by content; only the sealed process imports this."""

import importlib
import io
import logging
import warnings

from PIL import Image

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.films import film_dicom
from core.readers.films.film import EXPECTED, MAX_PIXELS, SAVE_AGAIN, Film, check_sides, damaged
from core.readers.films.film_chunks import JPEG, PNG
from core.readers.films.film_picture import read_picture
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
