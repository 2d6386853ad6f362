"""The bytes of a film to its pixels, judged by content; only the sealed process imports this."""

import importlib
import warnings

from PIL import Image

from core.errors import Notice, Refused
from core.readers.contents import Source
from core.readers.film import EXPECTED, MAX_PIXELS, SAVE_AGAIN, Film, check_sides, damaged
from core.readers.film_chunks import JPEG, PNG
from core.readers.film_picture import read_picture


def import_early() -> None:
    """Import the decoders, which are looked for at first use, and keep them from huge pictures."""
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    for plugin in ("PngImagePlugin", "JpegImagePlugin"):
        importlib.import_module(f"PIL.{plugin}")


def read_film_file(source: Source) -> Film:
    """Return the film in a file.

    Raises
    ------
    Refused
        EMPTY_FILE, FORMAT_UNKNOWN, FORMAT_MISMATCH, IMAGE_PIXELS, IMAGE_SIZE, IMAGE_FRAMES,
        IMAGE_TEXT, IMAGE_TRUNCATED, TRAILING, DTYPE. None repeats a word of the file.
    """
    if source.size == 0:
        raise Refused("EMPTY_FILE", "the file is empty (0 bytes)", SAVE_AGAIN)
    head = bytes(source.data[:512])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning may repeat a tag's value
            film = _read(source, head)
    except (Refused, MemoryError):
        raise
    except Exception:  # noqa: BLE001  decoders throw anything at damaged files, and may quote them
        raise damaged() from None
    check_sides(film.pixels)
    if film.pixels.min() == film.pixels.max():
        blank = Notice(
            "IMAGE_BLANK", "every pixel has the same grey: there is nothing on this film"
        )
        film = Film(film.pixels, (*film.notices, blank))
    return film


def _read(source: Source, head: bytes) -> Film:
    if head.startswith((PNG, JPEG)):
        return read_picture(source.data)
    raise Refused("FORMAT_UNKNOWN", f"no film: {EXPECTED}", SAVE_AGAIN)
