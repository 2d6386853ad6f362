"""A DICOM file to greys: the few tags that say how pixels are stored, and no other.

Imports pydicom, so only the sealed process imports this. A tag that is not in TAGS is skipped
where it stands and never becomes a value.
"""

import codecs
import io
import math
import struct
import zlib
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pydicom
from PIL import Image
from pydicom import charset, filereader
from pydicom.datadict import tag_for_keyword
from pydicom.dataset import Dataset, FileDataset
from pydicom.pixels.decoders.base import get_decoder
from pydicom.uid import (
    UID,
    AllTransferSyntaxes,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
)

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.films import film_codestream
from core.readers.films.film import (
    EXPECTED,
    MAX_PIXELS,
    SAVE_AGAIN,
    Film,
    Pixels,
    check_claim,
    damaged,
    trailing,
)
from core.readers.films.film_window import (
    EXACT,
    LINEAR,
    SIGMOID,
    Display,
    Lut,
    Stored,
    Window,
    grey_of_colours,
    show,
)
from core.readers.formats.sniff import DICOM, OTHERS, PICTURES

KEYWORDS: Final = (
    "Rows", "Columns", "SamplesPerPixel", "PlanarConfiguration", "PhotometricInterpretation",
    "NumberOfFrames", "BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation",
    "PixelData", "FloatPixelData", "DoubleFloatPixelData", "RescaleSlope", "RescaleIntercept",
    "ModalityLUTSequence", "VOILUTSequence", "WindowCenter", "WindowWidth", "VOILUTFunction",
    "PresentationLUTShape", "BurnedInAnnotation", "PixelSpacing", "ImagerPixelSpacing",
    "PixelAspectRatio", "PixelPaddingValue", "PixelPaddingRangeLimit", "PatientOrientation",
)  # fmt: skip
TAGS: Final = [tag for word in KEYWORDS if (tag := tag_for_keyword(word)) is not None]
PIXEL_DATA: Final = 0x7FE00010
AFTER: Final = {0xFFFAFFFA, 0xFFFCFFFC}  # signatures, and filling: all that may follow pixels
GREYS: Final = {"MONOCHROME1", "MONOCHROME2"}
COLOURS: Final = {"RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT"}
NATIVE: Final = "export it from the archive without compression (Explicit VR Little Endian)"
DEFLATED: Final = b"1.2.840.10008.1.2.1.99"
MAX_UNPACKED: Final = 6 * MAX_PIXELS + 2**26  # pixels, and 64 MiB for all else
SQUARE: Final = 0.02  # sides of a pixel that differ by less count as equal
OTHER_KINDS: Final = (*PICTURES, *OTHERS, b"PK", b"<", b"#!")
Value = Any  # what pydicom makes of a tag
film_codestream.offer()


def import_early() -> None:
    """Look up the codecs that a file may name, and have pydicom check and say nothing."""
    for name in {*charset.python_encoding.values()}:
        codecs.lookup(name)
    pydicom.config.settings.reading_validation_mode = pydicom.config.IGNORE


def read_dicom(data: memoryview) -> Film:
    """Return the film in the bytes of a DICOM file.

    Raises
    ------
    Refused
        FORMAT_UNKNOWN, FORMAT_MISMATCH, IMAGE_FRAMES, IMAGE_PIXELS, IMAGE_KIND, IMAGE_TRUNCATED,
        ARCHIVE_SIZE, TRAILING.
    Exception
        Whatever pydicom and Pillow throw at damaged files.
    """
    marked = bytes(data[128:132]) == DICOM
    if marked and bytes(data[:16]).startswith(OTHER_KINDS):
        what = "The file is DICOM and a file of another kind at once"
        raise Refused("FORMAT_MISMATCH", what, SAVE_AGAIN)
    tags = _tags(data, marked=marked)
    check_claim(int(tags.Columns), int(tags.Rows))
    if int(tags.get("NumberOfFrames") or 1) > 1:
        raise Refused("IMAGE_FRAMES", "This is a DICOM file of several frames", "export one frame")
    kind = str(tags.PhotometricInterpretation)
    if kind not in GREYS | COLOURS:
        colours = "palette colours" if "PALETTE" in kind else "rare colours"
        what = f"The DICOM file has {colours}, which Candor does not read"
        raise Refused("IMAGE_KIND", what, "export it as greys or RGB")
    notices: list[Notice] = []
    stored = _stored(tags, grey=kind in GREYS)
    if kind in GREYS:
        greys = _grey(stored, tags, notices)
    else:
        greys = grey_of_colours(Image.fromarray(stored, "RGB"), notices)
    # The head is to be up, and of a frontal film the patient's left on the right.
    ways = [str(way)[:1] for way in tags.get("PatientOrientation") or ()]
    turned = greys
    if len(ways) == 2 and ways[0] in ("F", "H"):
        turned, ways = turned.T, ways[::-1]
    if len(ways) == 2 and ways[0] == "R":
        turned = turned[:, ::-1]
    if len(ways) == 2 and ways[1] == "H":
        turned = turned[::-1]
    if turned is not greys:
        text = "the file says where left and head are; the film was turned or mirrored accordingly"
        notices.append(Notice(NoticeCode.ORIENTED, text))
    # What pixels may hold, and whether they are squares.
    burnt = str(tags.get("BurnedInAnnotation") or "").strip()
    if burnt != "NO":
        does = "says that text is" if burnt == "YES" else "does not say whether text is"
        text = f"the file {does} burnt into the pixels; such text stays, and may name a patient"
        notices.append(Notice(NoticeCode.BURNED_IN, text))
    ratio = 1.0
    for word in ("PixelAspectRatio", "PixelSpacing", "ImagerPixelSpacing"):
        with suppress(ValueError, TypeError, OverflowError):  # pixels are good where a tag is not
            high, wide = (float(side) for side in tags.get(word) or ())
            own = high / wide if high > 0 and wide > 0 else math.nan
            if math.isfinite(own) and own > 0:
                ratio = own
                break
    if abs(ratio - 1) > SQUARE:
        text = f"pixels are {ratio:.3g} times as high as wide; they are shown as squares"
        notices.append(Notice(NoticeCode.PIXEL_ASPECT, text))
    return Film(turned, tuple(notices))


def _tags(data: memoryview, *, marked: bool) -> FileDataset:
    """Return the few tags that are needed, without reading the others."""
    passed: list[int] = []  # the pixels, and what follows them

    def stop(tag: int, *_: object) -> bool:
        if tag == PIXEL_DATA or passed:
            passed.append(tag)
        return not AFTER.issuperset(passed[1:])

    plain = data
    if DEFLATED in bytes(data[:1024]):  # made a plain one, unpacked no further than a film needs
        start = 132 if marked else 0
        tag, vr, size, length = struct.unpack_from("<I2sHI", bytes(data[:1024]), start)
        if (tag, vr, size) != (2, b"UL", 4):  # how long the group is that stays as it is
            raise damaged()
        begin = start + 12 + length
        reader = zlib.decompressobj(-zlib.MAX_WBITS)
        body = reader.decompress(data[begin:], MAX_UNPACKED + 1)
        if len(body) > MAX_UNPACKED:
            what = f"A deflated DICOM file that unpacks to more than {MAX_UNPACKED:,} bytes"
            raise Refused("ARCHIVE_SIZE", what, NATIVE)
        if not reader.eof:
            raise damaged()
        if reader.unused_data.strip(b"\0"):
            raise trailing()
        # Padded with zeros, which end a name, the name of the plain form is as long.
        renamed = bytes(data[:begin]).replace(DEFLATED, DEFLATED[:-3] + bytes(3))
        plain = memoryview(renamed + body)
    tags = filereader.read_partial(
        io.BytesIO(plain), stop_when=stop, force=not marked, specific_tags=list(TAGS)
    )
    if not AFTER.issuperset(passed[1:]):
        raise trailing()
    if "FloatPixelData" in tags or "DoubleFloatPixelData" in tags:
        raise Refused("IMAGE_KIND", "Pixels that are fractions", "export it with whole numbers")
    if "Rows" not in tags or "PixelData" not in tags:
        if marked and "Rows" not in tags:
            what = "A DICOM file without a picture: a report, an index, or a damaged one"
            raise Refused("FORMAT_UNKNOWN", what, f"give the image itself: {EXPECTED}")
        if marked:
            raise damaged()
        raise Refused("FORMAT_UNKNOWN", f"No film: {EXPECTED}", SAVE_AGAIN)
    return tags


def _stored(tags: FileDataset, *, grey: bool) -> Stored:
    """Return the decoded pixels: (H, W) of at most 16 bits, or (H, W, 3) uint8 RGB."""
    bits, allocated = int(tags.BitsStored), int(tags.BitsAllocated)
    plain = allocated in ((8, 16) if grey else (8,)) and int(tags.HighBit) == bits - 1
    if not plain or not 1 <= bits <= allocated or int(tags.SamplesPerPixel) != (1 if grey else 3):
        what = f"Pixels of {allocated} bits, {bits} of them used, which are not read in this form"
        raise Refused("IMAGE_KIND", what, "export it with 8 or 16 bits, colours with 8")
    # Where the file does not say how pixels are stored, they are as the tags are.
    syntax = tags.file_meta.get("TransferSyntaxUID")
    if syntax is None:
        implicit, little = tags.original_encoding
        explicit = ExplicitVRLittleEndian if little else ExplicitVRBigEndian
        syntax = ImplicitVRLittleEndian if implicit else explicit
        tags.file_meta.TransferSyntaxUID = syntax
    syntax = UID(syntax)
    try:
        decoder = get_decoder(syntax)
    except NotImplementedError:
        raise _compressed(syntax) from None
    if not decoder.is_available:
        raise _compressed(syntax)
    plugin = film_codestream.PLUGIN if syntax in film_codestream.SYNTAXES else ""
    decoded = decoder.as_array(tags, index=0, decoding_plugin=plugin)
    pixels: Stored = decoded[0]
    rgb = grey or decoded[1]["photometric_interpretation"] == "RGB"
    if not rgb or (not grey and pixels.dtype != np.uint8):
        raise damaged()
    return pixels


def _compressed(syntax: UID) -> Refused:
    name = syntax.name if syntax in AllTransferSyntaxes else "an unknown transfer syntax"
    return Refused("IMAGE_KIND", f"Pixels stored as {name}, which is not read", NATIVE)


def _grey(stored: Stored, tags: FileDataset, notices: list[Notice]) -> Pixels:
    bits, signed = int(tags.BitsStored), int(tags.get("PixelRepresentation") or 0) == 1
    half = 2 ** (bits - 1)
    first: Value = tags.get("PixelPaddingValue")
    last: Value = tags.get("PixelPaddingRangeLimit", first)
    padding = None
    if isinstance(first, int):
        padding = (min(first, last), max(first, last)) if isinstance(last, int) else (first, first)
    inverted = tags.PhotometricInterpretation == "MONOCHROME1"
    inverted |= tags.get("PresentationLUTShape") == "INVERSE"
    modality = _table(tags, "ModalityLUTSequence")
    voi: Lut | Window | None = _table(tags, "VOILUTSequence")
    stated = tags.get("WindowCenter") is not None and tags.get("WindowWidth") is not None
    if voi is None and stated:
        function = str(tags.get("VOILUTFunction") or LINEAR)
        function = function if function in (EXACT, SIGMOID) else LINEAR
        middle = _number(tags, "WindowCenter", 0.0)
        window = Window(middle, _number(tags, "WindowWidth", 0.0), function)
        voi = window if window.usable else None
    display = Display(
        bits,
        slope=_number(tags, "RescaleSlope", 1.0),
        intercept=_number(tags, "RescaleIntercept", 0.0),
        modality=modality,
        voi=voi,
        inverted=inverted,
        padding=padding,
        whole=((-half, half - 1) if signed else (0, 2 * half - 1)) if bits <= 8 else None,
    )
    greys, spread = show(stored, display)
    notices += [spread] if spread is not None else []
    if inverted:
        notices.append(
            Notice(
                NoticeCode.INVERTED, "stored with its lowest value white; turned to white = dense"
            )
        )
    return greys


def _number(tags: Dataset, keyword: str, default: float) -> float:
    value: Value = tags.get(keyword)
    if value is None or value == "":
        return default
    return float(value if isinstance(value, int | float) else value[0])


def _table(tags: FileDataset, keyword: str) -> Lut | None:
    """Return the first table of a sequence; C.11.1.1 and C.11.2.1.1."""
    items: Value = tags.get(keyword)
    if not items:
        return None
    count, first, bits = (int(number) for number in items[0].LUTDescriptor)
    count = count or 2**16
    raw: Value = items[0].LUTData
    if isinstance(raw, bytes):
        order = "<" if tags.original_encoding[1] else ">"
        raw = np.frombuffer(raw, f"{order}u2" if len(raw) >= 2 * count else "u1")
    values = np.asarray(raw, np.float64)[:count]
    if values.size != count or not 8 <= bits <= 16:
        raise damaged()
    return Lut(first, values, 2.0**bits - 1)
