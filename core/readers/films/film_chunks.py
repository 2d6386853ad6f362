"""What a PNG or JPEG needs to be decoded, cut out of the rest: texts, profiles, tags stay behind.

Sizes are read from the file's own header before any decoder sees it, and nothing may follow the
picture's end. PNG: W3C, Portable Network Graphics (third edition), 5 and 11. JPEG: ITU-T T.81,
annex B. Orientation: Exif 2.32, 4.6.4, tag 0x0112.
"""

import re
import struct
import zlib
from dataclasses import dataclass
from typing import Final

from core.errors import Refused
from core.readers.films.film import check_claim, damaged, trailing

PNG: Final = b"\x89PNG\r\n\x1a\n"
JPEG: Final = b"\xff\xd8\xff"
PNG_KEPT: Final = {b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"}
PNG_TEXTS: Final = {b"zTXt", b"iTXt", b"iCCP"}
MAX_TEXT: Final = 2**20  # bytes that a packed text may have; it is not read, but it shows a bomb
MAX_TEXTS: Final = 16 * MAX_TEXT  # of all packed texts together, which bounds the time they take
# JFIF and Adobe's mark say which colours are stored; the other applications' parts are dropped.
JPEG_DROPPED: Final = {0xFE, *(set(range(0xE1, 0xF0)) - {0xEE})}
JPEG_FRAMES: Final = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
SCAN_END: Final = re.compile(rb"\xff[^\x00\xd0-\xd7]", re.DOTALL)
SOI, EOI, SOS, EXIF = 0xD8, 0xD9, 0xDA, 0xE1
ORIENTATION: Final = 0x0112
Parts = list[bytes | memoryview]


@dataclass(frozen=True, kw_only=True)
class Skeleton:
    """A picture without what is not its pixels.

    Attributes
    ----------
    data : bytes
        A whole file of the same format.
    depth : int
        Bits of a sample.
    key : int or None
        The 16-bit grey that stands for transparency.
    orientation : int
        1 to 8 as Exif counts; 1 is upright.
    """

    data: bytes
    depth: int
    key: int | None = None
    orientation: int = 1


def png_skeleton(data: memoryview) -> Skeleton:
    """Return the chunks of a PNG that make up its pixels.

    Raises
    ------
    Refused
        IMAGE_PIXELS, IMAGE_FRAMES, IMAGE_TEXT, IMAGE_TRUNCATED, TRAILING.
    """
    chunks: Parts = [PNG]
    depth, colour, key, orientation, at, kind = 0, 0, None, 1, len(PNG), b""
    texts = 0  # bytes that they unpack to
    while kind != b"IEND":
        if at + 12 > data.nbytes:
            raise damaged()
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > data.nbytes or (kind == b"IHDR") != (at == len(PNG)):
            raise damaged()
        body = data[at + 8 : end - 4]
        if kind == b"IHDR":
            if body.nbytes != 13:
                raise damaged()
            width, height, depth, colour = struct.unpack_from(">IIBB", body)
            check_claim(width, height)
        elif kind == b"acTL":
            what = "This is an animated PNG: several frames"
            raise Refused("IMAGE_FRAMES", what, "save the one frame you need")
        elif kind == b"eXIf":
            orientation = _orientation(bytes(body))
        elif kind in PNG_TEXTS:
            texts += _text_size(kind, bytes(body))
            if texts > MAX_TEXTS:
                raise _texts("the texts in the picture unpack", MAX_TEXTS)
        elif kind == b"tRNS" and colour == 0 and depth == 16:
            key = int.from_bytes(body[:2], "big")
        if kind in PNG_KEPT:
            chunks.append(data[at:end])
        at = end
    _check_end(data, at)
    return Skeleton(data=b"".join(chunks), depth=depth, key=key, orientation=orientation)


def _text_size(kind: bytes, body: bytes) -> int:
    """Return how long a text or profile is unpacked; an absurd one is refused at MAX_TEXT."""
    _, _, rest = body.partition(b"\0")
    packed = rest[1:]
    if kind == b"iTXt":
        packed = rest[2:].split(b"\0", 2)[-1] if rest[:1] == b"\1" else b""
    try:
        size = len(zlib.decompressobj().decompress(packed, MAX_TEXT + 1))
    except zlib.error:
        # It is dropped unread, so its damage matters to nobody, but finding it may have taken as
        # long as the longest text does.
        return MAX_TEXT
    if size > MAX_TEXT:
        raise _texts("a text in the picture unpacks", MAX_TEXT)
    return size


def _texts(what: str, most: int) -> Refused:
    text = f"{what} to more than {most:,} bytes"
    return Refused("IMAGE_TEXT", text, "save the picture again without texts")


def jpeg_skeleton(data: bytes) -> Skeleton:
    """Return the segments of a JPEG that make up its pixels.

    Raises
    ------
    Refused
        IMAGE_PIXELS, IMAGE_TRUNCATED, IMAGE_KIND, TRAILING.
    """
    segments: Parts = [data[:2]]
    at, marker, orientation, depth = 2, SOI, 1, 0
    while True:
        at, marker = next_marker(data, at)
        if marker == EOI:
            break
        length = int.from_bytes(data[at : at + 2], "big")
        end = at + length
        if length < 2 or end > len(data) or marker == SOI:
            raise damaged()
        body = data[at + 2 : end]
        if marker in JPEG_FRAMES:
            if depth or len(body) < 6:
                raise damaged()
            depth, height, width, _ = struct.unpack_from(">BHHB", body)
            check_claim(width, height)
            if depth != 8:
                what = f"A JPEG with {depth} bits per sample, which is not read"
                remedy = "save it as PNG of 16 bits, or as DICOM without compression"
                raise Refused("IMAGE_KIND", what, remedy)
        if marker == EXIF and body[:6] == b"Exif\0\0":
            orientation = _orientation(body[6:])
        if marker == SOS:
            after = SCAN_END.search(data, end)  # a marker other than a restart
            if after is None:
                raise damaged()
            end = after.start()
        if marker not in JPEG_DROPPED:
            segments += [bytes((0xFF, marker)), data[at:end]]
        at = end
    if not depth:
        raise damaged()
    _check_end(data, at)
    whole = b"".join([*segments, b"\xff\xd9"])
    return Skeleton(data=whole, depth=depth, orientation=orientation)


def next_marker(data: bytes, at: int) -> tuple[int, int]:
    """Return where a segment's length stands and which segment it is; 0xFF may be repeated.

    Raises
    ------
    Refused
        IMAGE_TRUNCATED: there is no marker.
    """
    start = at
    while at < len(data) and data[at] == 0xFF:
        at += 1
    if at == start or at >= len(data):
        raise damaged()
    return at + 1, data[at]


def _orientation(exif: bytes) -> int:
    """Return how the picture was held; 1 where the tag is missing or cannot be read."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(exif[:4])
    if order is None or len(exif) < 8:
        return 1
    (start,) = struct.unpack_from(f"{order}I", exif, 4)
    if start + 2 > len(exif):
        return 1
    (count,) = struct.unpack_from(f"{order}H", exif, start)
    for entry in range(min(count, (len(exif) - start - 2) // 12)):
        tag, kind, _, value = struct.unpack_from(f"{order}HHIH", exif, start + 2 + 12 * entry)
        if tag == ORIENTATION:
            return value if kind == 3 and 1 <= value <= 8 else 1
    return 1


def _check_end(data: memoryview | bytes, at: int) -> None:
    """Refuse bytes after the picture's end: a second file, or what an exporter has appended."""
    if bytes(data[at:]).strip(b"\0"):  # zeros fill up to a block and carry nothing
        raise trailing()
