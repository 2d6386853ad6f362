"""What a picture needs to be decoded, cut out of the rest, and codecs beyond JPEG's 8 bits.

Texts, profiles and tags of a PNG or JPEG stay behind. Sizes are read from the file's own header
before any decoder sees it, and nothing may follow the picture's end. Of DICOM films, libjpeg-turbo
and CharLS decode lossless JPEG, 12 bits and JPEG-LS, by way of imagecodecs; what a codestream says
of itself is compared with the file's tags first. Imports pydicom, so only the sealed process
imports this.

PNG: W3C, Portable Network Graphics (third edition), 5 and 11. JPEG: ITU-T T.81, annexes B, F and H.
JPEG-LS: ITU-T T.87, annex C. In DICOM: PS3.5, A.4. Orientation: Exif 2.32, 4.6.4, tag 0x0112.
"""

import re
import struct
import zlib
from dataclasses import dataclass
from typing import Final

import numpy as np
from imagecodecs import jpeg8_decode, jpegls_decode
from pydicom.pixels.decoders.base import DecodeRunner, get_decoder
from pydicom.uid import (
    JPEGExtended12Bit,
    JPEGLossless,
    JPEGLosslessSV1,
    JPEGLSLossless,
    JPEGLSNearLossless,
)

from core.errors import Refused
from core.readers.films.film import Stored, check_claim, damaged, trailing

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
    """A picture without what is not its pixels."""

    data: bytes  # a whole file of the same format
    depth: int  # bits of a sample
    key: int | None = None  # the 16-bit grey that stands for transparency
    orientation: int = 1  # 1 to 8 as Exif counts; 1 is upright


def png_skeleton(data: memoryview) -> Skeleton:
    """Return the chunks of a PNG that make up its pixels.

    Raises Refused IMAGE_PIXELS, IMAGE_FRAMES, IMAGE_TEXT, IMAGE_TRUNCATED, TRAILING.
    """
    chunks: Parts = [PNG]
    depth, colour, key, orientation, at, kind = 0, 0, None, 1, len(PNG), b""
    texts = 0  # bytes that they unpack to
    while kind != b"IEND":
        # A chunk is length, kind, body and checksum: 12 bytes beside the body. Every
        # length is held against the file before it is used.
        if at + 12 > data.nbytes:
            raise damaged()
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        # IHDR first and only there: a second one could claim other
        # sizes than the one that was checked.
        if end > data.nbytes or (kind == b"IHDR") != (at == len(PNG)):
            raise damaged()
        body = data[at + 8 : end - 4]
        if kind == b"IHDR":
            if body.nbytes != 13:
                raise damaged()
            width, height, depth, colour = struct.unpack_from(">IIBB", body)
            # Before any decoder sees it: a PNG of 1 kB can claim 100,000 x 100,000 pixels.
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
        # A list of what is kept, not of what is dropped: unknown
        # chunks may carry names or other files.
        if kind in PNG_KEPT:
            chunks.append(data[at:end])
        at = end
    _check_end(data, at)
    return Skeleton(data=b"".join(chunks), depth=depth, key=key, orientation=orientation)


def _text_size(kind: bytes, body: bytes) -> int:
    """Return how long a text or profile is unpacked; an absurd one is refused at MAX_TEXT."""
    _, _, rest = body.partition(b"\0")
    # After keyword and NUL: a byte for the method; of iTXt a flag, the method, language and
    # translated keyword, and its text may be plain.
    packed = rest[1:]
    if kind == b"iTXt":
        packed = rest[2:].split(b"\0", 2)[-1] if rest[:1] == b"\1" else b""
    try:
        # Unpacked to one byte beyond the limit and no further: a bomb shows itself there.
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

    Raises Refused IMAGE_PIXELS, IMAGE_TRUNCATED, IMAGE_KIND, TRAILING.
    """
    segments: Parts = [data[:2]]
    at, marker, orientation, depth = 2, SOI, 1, 0
    while True:
        at, marker = next_marker(data, at)
        if marker == EOI:
            break
        length = int.from_bytes(data[at : at + 2], "big")
        end = at + length
        # The length counts its own two bytes; less would end inside the length itself.
        if length < 2 or end > len(data) or marker == SOI:
            raise damaged()
        body = data[at + 2 : end]
        if marker in JPEG_FRAMES:
            # One frame only: a second could be the one that a decoder obeys.
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
        # Compressed bytes have no length: they end at a marker that is
        # neither a stuffed 0xFF 00 nor a restart.
        if marker == SOS:
            after = SCAN_END.search(data, end)
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

    Raises Refused IMAGE_TRUNCATED: there is no marker.
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
    # The count is the file's claim: no more entries than bytes that are there.
    for entry in range(min(count, (len(exif) - start - 2) // 12)):
        tag, kind, _, value = struct.unpack_from(f"{order}HHIH", exif, start + 2 + 12 * entry)
        if tag == ORIENTATION:
            return value if kind == 3 and 1 <= value <= 8 else 1
    return 1


def _check_end(data: memoryview | bytes, at: int) -> None:
    """Refuse bytes after the picture's end: a second file, or what an exporter has appended."""
    if bytes(data[at:]).strip(b"\0"):  # zeros fill up to a block and carry nothing
        raise trailing()


PLUGIN: Final = "imagecodecs"
JPEG_SYNTAXES: Final = (JPEGExtended12Bit, JPEGLossless, JPEGLosslessSV1)
LS_SYNTAXES: Final = (JPEGLSLossless, JPEGLSNearLossless)
SYNTAXES: Final = (*JPEG_SYNTAXES, *LS_SYNTAXES)
SEQUENTIAL_FRAMES: Final = {0xC0, 0xC1, 0xC3}  # baseline, extended, lossless; all sequential
LS_FRAME: Final = 0xF7
OTHER_FRAMES: Final = {0xC2, *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)}
BARE: Final = {0x00, 0x01, *range(0xD0, 0xD9)}  # no segment follows; none belongs between segments
# What ends compressed bytes: a marker, before which 0xFF may be repeated. Restarts do not end them.
JPEG_END: Final = re.compile(rb"(?<!\xff)\xff++[^\x00\xd0-\xd7]", re.DOTALL)
LS_END: Final = re.compile(rb"(?<!\xff)\xff++[\x80-\xcf\xd8-\xfe]", re.DOTALL)
RESTART: Final = re.compile(rb"(?<!\xff)\xff++[\xd0-\xd7]", re.DOTALL)
FILLING: Final = bytes(range(254, 0, -1))  # begins with ones: libjpeg itself fills with zeros
ADOBE: Final = re.compile(rb"Adobe.{6}(.)", re.DOTALL)  # of APP14, up to its transform
ADOBE_MARKER, YCBCR = 0xEE, b"\x01"


@dataclass(frozen=True, kw_only=True)
class Codestream:
    """One frame, as it says of itself."""

    data: bytes  # from the first marker to the end marker; nothing else
    depth: int  # bits of a sample
    shape: tuple[int, int, int]  # (int, int, int), rows, columns, samples a pixel
    scans: tuple[tuple[int, int], ...]  # where compressed bytes begin and end
    ycbcr: bool  # whether an Adobe marker says that colours are luminance and differences


def offer() -> None:
    """Tell pydicom of this decoder, once in a process."""
    for syntax in SYNTAXES:
        get_decoder(syntax).add_plugin(PLUGIN, (__name__, "decode"))


def is_available(_: str) -> bool:
    """Whether this decoder can be used; pydicom asks."""
    return True


def decode(source: bytes, runner: DecodeRunner) -> bytes:
    """Return the decoded samples of a frame, colours by pixel, for pydicom to go on with.

    `source`: the codestream, padded or not; `runner`: holds the tags; is told how colours lie, and
    what they are where an Adobe marker knows.

    Raises Refused IMAGE_TRUNCATED: a codestream that is not whole, or differs from the tags.
    """
    ls = runner.transfer_syntax in LS_SYNTAXES
    frame = survey(source, ls=ls)
    shape = (runner.rows, runner.columns, runner.samples_per_pixel)
    if frame.shape != shape or not 2 <= frame.depth <= runner.bits_allocated:
        raise damaged()
    pixels = jpegls_decode(frame.data) if ls else _whole(frame)
    size = 1 if frame.depth <= 8 else 2
    if pixels.shape != (shape if shape[2] > 1 else shape[:2]) or pixels.itemsize != size:
        raise damaged()
    if shape[2] > 1:
        runner.set_option("planar_configuration", 0)
    if frame.ycbcr and runner.photometric_interpretation == "RGB":
        runner.set_option("photometric_interpretation", "YBR_FULL")
    # Which bits are used say the tags, for JPEG-LS too, whose samples are often deeper than that.
    runner.set_option("apply_jls_sign_correction", False)
    runner.set_option("correct_unused_bits", True)
    return pixels.astype(f"u{runner.bits_allocated // 8}").tobytes()


def survey(source: bytes, *, ls: bool) -> Codestream:
    """Follow the markers of a codestream to its end.

    Raises Refused IMAGE_TRUNCATED: no end, no frame or several, one of a kind that the syntax has
    not, or more scans than colours.
    """
    frames = {LS_FRAME} if ls else SEQUENTIAL_FRAMES
    header, scans, ycbcr, at = b"", [], False, 2
    while True:
        at, marker = next_marker(source, at)
        if marker == EOI:
            break
        end = at + int.from_bytes(source[at : at + 2], "big")
        if end < at + 2 or end > len(source) or marker in BARE:
            raise damaged()
        # The frame header must be of the kind that the file's tags name, and the only one.
        if marker in frames | OTHER_FRAMES:
            if header or marker not in frames:
                raise damaged()
            header = source[at + 2 : end]
        if marker == ADOBE_MARKER:
            adobe = ADOBE.match(source, at + 2, end)
            ycbcr = ycbcr or (adobe is not None and adobe[1] == YCBCR)
        if marker == SOS:
            after = (LS_END if ls else JPEG_END).search(source, end)
            if after is None:
                raise damaged()
            begin, end = end, after.start()
            scans.append((begin, end))
        at = end
    if len(header) < 6 or source[:2] != b"\xff\xd8":
        raise damaged()
    depth, rows, columns, samples = struct.unpack_from(">BHHB", header)
    # A sequential frame has a scan for each colour at the most; thousands
    # of scans would keep a decoder busy for hours.
    if not 1 <= len(scans) <= samples:
        raise damaged()
    return Codestream(
        data=source[:at],
        depth=depth,
        shape=(rows, columns, samples),
        scans=tuple(scans),
        ycbcr=ycbcr,
    )


def _whole(frame: Codestream) -> Stored:
    """Return the samples of a JPEG, which must not have run out of compressed bytes.

    libjpeg paints what is missing in one grey and says nothing of it that can be heard here. So the
    frame is decoded again with more bytes wherever compressed ones end: a decoder that had enough
    looks at none of them, and the pixels stay the same.
    """
    # Named twice, so that colours are handed over as they are stored; the tags say which they are.
    space = "GRAYSCALE" if frame.shape[2] == 1 else "YCBCR"
    pixels: Stored = jpeg8_decode(frame.data, colorspace=space, outcolorspace=space)
    parts, at = [], 0
    for begin, end in frame.scans:
        scan = RESTART.sub(lambda restart: FILLING + restart[0], frame.data[begin:end])
        parts += [frame.data[at:begin], scan, FILLING]
        at = end
    filled = jpeg8_decode(
        b"".join([*parts, frame.data[at:]]), colorspace=space, outcolorspace=space
    )
    if not np.array_equal(pixels, filled):
        raise damaged()
    return pixels
