"""JPEG codestreams of DICOM films beyond JPEG's 8 bits: lossless, 12 bits, JPEG-LS.

libjpeg-turbo and CharLS decode them, by way of imagecodecs. What a codestream says of itself is
compared with the file's tags, and its markers are followed to its end, before a decoder sees it.
Imports pydicom, so only the sealed process imports this.

JPEG: ITU-T T.81, annexes B, F and H. JPEG-LS: ITU-T T.87, annex C. In DICOM: PS3.5, A.4.
"""

import re
import struct
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

from core.readers.films.film import damaged
from core.readers.films.film_chunks import EOI, SOS, next_marker
from core.readers.films.film_window import Stored

PLUGIN: Final = "imagecodecs"
JPEG_SYNTAXES: Final = (JPEGExtended12Bit, JPEGLossless, JPEGLosslessSV1)
LS_SYNTAXES: Final = (JPEGLSLossless, JPEGLSNearLossless)
SYNTAXES: Final = (*JPEG_SYNTAXES, *LS_SYNTAXES)
JPEG_FRAMES: Final = {0xC0, 0xC1, 0xC3}  # baseline, extended, lossless; all sequential
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
    """One frame, as it says of itself.

    Attributes
    ----------
    data : bytes
        From the first marker to the end marker; nothing else.
    depth : int
        Bits of a sample.
    shape : (int, int, int)
        Rows, columns, samples a pixel.
    scans : tuple of (int, int)
        Where compressed bytes begin and end.
    ycbcr : bool
        Whether an Adobe marker says that colours are luminance and differences.
    """

    data: bytes
    depth: int
    shape: tuple[int, int, int]
    scans: tuple[tuple[int, int], ...]
    ycbcr: bool


def offer() -> None:
    """Tell pydicom of this decoder, once in a process."""
    for syntax in SYNTAXES:
        get_decoder(syntax).add_plugin(PLUGIN, (__name__, "decode"))


def is_available(_: str) -> bool:
    """Whether this decoder can be used; pydicom asks."""
    return True


def decode(source: bytes, runner: DecodeRunner) -> bytes:
    """Return the decoded samples of a frame, colours by pixel, for pydicom to go on with.

    Parameters
    ----------
    source : bytes
        The codestream, padded or not.
    runner : DecodeRunner
        Holds the tags; is told how colours lie, and what they are where an Adobe marker knows.

    Raises
    ------
    Refused
        IMAGE_TRUNCATED: a codestream that is not whole, or differs from the tags.
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

    Raises
    ------
    Refused
        IMAGE_TRUNCATED: no end, no frame or several, one of a kind that the syntax has not, or
        more scans than colours.
    """
    frames = {LS_FRAME} if ls else JPEG_FRAMES
    header, scans, ycbcr, at = b"", [], False, 2
    while True:
        at, marker = next_marker(source, at)
        if marker == EOI:
            break
        end = at + int.from_bytes(source[at : at + 2], "big")
        if end < at + 2 or end > len(source) or marker in BARE:
            raise damaged()
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
