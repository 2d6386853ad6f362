"""The bytes of a film to its pixels, judged by content; only the sealed process imports this.

Imports pydicom. Of a DICOM file a tag that is not in TAGS is skipped where it stands and never
becomes a value. At most 65,536 different values are stored, so each is worked out once and looked
up for all pixels. DICOM PS3.3: C.11.1 (modality), C.11.2 (values of interest), C.11.6
(presentation).
"""

import codecs
import importlib
import io
import logging
import math
import struct
import warnings
import zlib
from contextlib import suppress
from dataclasses import dataclass
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

from core.arrays import Float
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.films import film_codestream
from core.readers.films.film import (
    EXPECTED,
    MAX_PIXELS,
    SAVE_AGAIN,
    Film,
    Pixels,
    Stored,
    check_claim,
    check_sides,
    damaged,
    trailing,
)
from core.readers.films.film_codestream import JPEG, PNG, jpeg_skeleton, png_skeleton
from core.readers.formats.contents import FileBytes
from core.readers.formats.sniff import DICOM, OTHERS, PICTURES, is_dicom

LINEAR, EXACT, SIGMOID = "LINEAR", "LINEAR_EXACT", "SIGMOID"
BLOCK: Final = 2**22  # pixels looked at together
COLOUR: Final = 8  # of 255: channels that differ by less are a grey that was rounded
FLAT: Final = 1e-12  # a span below this has no steps


@dataclass(frozen=True)
class Lut:
    """A table: the value for `first`, for the next whole number, and so on; both ends go on."""

    first: int
    values: Float  # (N,)
    top: float  # the largest value that its bits can hold

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
    """How the stored values of a film are shown."""

    bits: int  # bits of a pixel that are used, for the notice
    # slope, intercept: rescaling; not used where there is a table `modality`
    slope: float = 1.0
    intercept: float = 0.0
    modality: Lut | None = None
    voi: Lut | Window | None = None  # None spreads the values that are there over black to white
    inverted: bool = False  # whether the lowest value is white
    # (int, int) or None, stored values, first and last, that are no part of the film; they become
    # black
    padding: tuple[int, int] | None = None
    # (int, int) or None, stored values to spread in place of those that are there
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
    # At most 65,536 stored values: each is worked out once, and pixels look theirs up in the table.
    steps = np.arange(low, int(stored.max()) + 1)
    values = display.rescaled(steps.astype(np.float64))
    if not np.isfinite(values).all():
        raise damaged()
    # In stored values, before any rescaling: so the standard counts padding.
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
    # After the window, as the standard orders it: modality, values of interest, presentation.
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
    # The first 128 bytes of DICOM are free: a file that is also a ZIP,
    # PDF or script there would be read as either.
    marked = bytes(data[128:132]) == DICOM
    if marked and bytes(data[:16]).startswith(OTHER_KINDS):
        what = "The file is DICOM and a file of another kind at once"
        raise Refused("FORMAT_MISMATCH", what, SAVE_AGAIN)
    tags = _tags(data, marked=marked)
    # Before a pixel is decoded: rows and columns are only what the file says.
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
    # Reading stops behind the pixels; tags outside TAGS make no values.
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
        # Deflate shrinks zeros a thousandfold: unpacked to one byte beyond what a film can need.
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
    # Only TAGS become values: names and dates of the patient are skipped where they stand.
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
    # Packed, shifted or odd bits are refused, not guessed: wrong bits still look like a film.
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
    # A table goes before a window (the standard leaves the choice), and either before the range of
    # values.
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
        # Of 8 bits the whole range is shown, as exporters mean it; deeper films use a part only.
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
    # 16 bits cannot say 65,536, so the standard writes 0.
    count = count or 2**16
    raw: Value = items[0].LUTData
    if isinstance(raw, bytes):
        order = "<" if tags.original_encoding[1] else ">"
        raw = np.frombuffer(raw, f"{order}u2" if len(raw) >= 2 * count else "u1")
    values = np.asarray(raw, np.float64)[:count]
    if values.size != count or not 8 <= bits <= 16:
        raise damaged()
    return Lut(first, values, 2.0**bits - 1)


SEVERAL = (b"GIF8", b"II*\0", b"MM\0*")
KINDS = {**PICTURES, **{magic: name for magic, (name, _) in OTHERS.items()}, b"PK": "an archive"}


def import_early() -> None:
    """Import the decoders, which are looked for at first use, and keep them from huge pictures."""
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    Image.preinit()
    for plugin in ("Jpeg2KImagePlugin", "TiffImagePlugin"):
        importlib.import_module(f"PIL.{plugin}")
    logging.disable(logging.CRITICAL)  # a library's words may repeat a tag's value
    for name in {*charset.python_encoding.values()}:  # codecs that a DICOM file may name
        codecs.lookup(name)
    pydicom.config.settings.reading_validation_mode = pydicom.config.IGNORE


def read_film_file(source: FileBytes) -> Film:
    """Return the film in a file.

    Raises Refused EMPTY_FILE, FORMAT_UNKNOWN, FORMAT_MISMATCH, IMAGE_PIXELS, IMAGE_SIZE,
    IMAGE_FRAMES, IMAGE_TEXT, IMAGE_KIND, IMAGE_TRUNCATED, ARCHIVE_SIZE, TRAILING; none repeats a
    word of the file.
    """
    if source.size == 0:
        raise Refused("EMPTY_FILE", "The file is empty (0 bytes)", SAVE_AGAIN)
    # By content alone; a name is never asked.
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
    # What was decoded is held against the limits again: the
    # header may have lied to the decoder, too.
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
        return read_dicom(source.data)
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
        As `film_codestream`; IMAGE_KIND: 16 bits a colour, of which few are used.
    Exception
        Whatever Pillow throws at damaged files.
    """
    form = "PNG" if bytes(data[:8]) == PNG else "JPEG"
    # Pillow sees the skeleton alone: no texts, profiles, or bytes behind the end.
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
            # Pixels under full transparency may hold anything: they
            # are drawn on black, and that is said.
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
