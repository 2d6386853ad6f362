"""Films as DICOM: what of a file becomes greys, in which form, and what is refused."""

import io
import struct
import zlib

import numpy as np
import pydicom
import pytest
from PIL import Image
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate
from pydicom.pixels.processing import apply_modality_lut, apply_voi_lut, convert_color_space

from core.errors import Refused
from core.readers.films.film import Film
from core.readers.films.film_file import read_film_file
from core.readers.formats.contents import FileBytes
from tests.film_files import dataset, written

IMPLICIT, EXPLICIT, BIG = "1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2"
DEFLATED, RLE = "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.5"
BASELINE, J2K_LOSSLESS, J2K_FAST, VIDEO = (f"1.2.840.10008.1.2.4.{n}" for n in (50, 90, 201, 100))
RNG = np.random.default_rng(3)
DEEP = RNG.integers(0, 4096, (20, 30), np.uint16)
DEEP[0, :2] = 0, 4095
SMALL = RNG.integers(0, 256, (20, 30), np.uint8)


def read(data: bytes) -> Film:
    return read_film_file(FileBytes.of_bytes("film 3", data))


def shown(made: Dataset, syntax: str = EXPLICIT) -> np.ndarray:
    return read(written(made, syntax)).pixels


def refusal(data: bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        read(data)
    return caught.value


def codes(made: Dataset) -> set[str]:
    return {notice.code for notice in read(written(made)).notices}


def spread(values: np.ndarray) -> np.ndarray:
    low, high = values.min(), values.max()
    return np.rint((values - float(low)) / (float(high) - low) * 255).astype(np.uint8)


def item(**tags: object) -> Dataset:
    made = Dataset()
    for keyword, value in tags.items():
        setattr(made, keyword, value)
    return made


# How pixels are stored ---------------------------------------------------------------------------


@pytest.mark.parametrize("syntax", [IMPLICIT, EXPLICIT, BIG, DEFLATED])
def test_every_plain_syntax_gives_the_same_greys(syntax: str) -> None:
    np.testing.assert_array_equal(shown(dataset(DEEP, 12), syntax), spread(DEEP))


@pytest.mark.parametrize("syntax", [IMPLICIT, EXPLICIT, BIG])
def test_a_file_without_preamble_and_syntax_is_read(syntax: str) -> None:
    data = written(dataset(DEEP, 12), syntax, bare=True)
    assert b"DICM" not in data
    np.testing.assert_array_equal(read(data).pixels, spread(DEEP))


def test_eight_bits_without_a_window_stay_as_they_are() -> None:
    half = SMALL // 2 + 20
    assert "WINDOW" not in codes(dataset(half))
    np.testing.assert_array_equal(shown(dataset(half)), half)


def test_run_lengths_are_read() -> None:
    made = dataset(DEEP, 12)
    made.file_meta = pydicom.dataset.FileMetaDataset()
    made.file_meta.TransferSyntaxUID = EXPLICIT
    made.compress(RLE)
    np.testing.assert_array_equal(shown(made, RLE), spread(DEEP))


def compressed(picture: Image.Image, made: Dataset, form: str, **options: object) -> Dataset:
    picture.save(out := io.BytesIO(), form, **options)  # type: ignore[arg-type]
    made.PixelData = encapsulate([out.getvalue()])
    made["PixelData"].is_undefined_length = True
    return made


def test_jpeg_and_jpeg_2000_are_read() -> None:
    lossless = {"irreversible": False, "no_jp2": True}
    made = compressed(Image.fromarray(DEEP), dataset(DEEP, 16), "JPEG2000", **lossless)
    np.testing.assert_array_equal(shown(made, J2K_LOSSLESS), spread(DEEP))
    smooth = np.add.outer(np.arange(64), np.arange(64)).astype(np.uint8)
    made = compressed(Image.fromarray(smooth), dataset(smooth), "JPEG", quality=100)
    np.testing.assert_allclose(shown(made, BASELINE).astype(int), smooth, atol=2)


@pytest.mark.parametrize(
    ("syntax", "name"), [(J2K_FAST, "High-Throughput JPEG 2000"), (VIDEO, "MPEG2")]
)
def test_a_compression_that_cannot_be_read_is_named_with_what_to_do(syntax: str, name: str) -> None:
    made = compressed(Image.fromarray(SMALL), dataset(DEEP, 12), "JPEG")
    caught = refusal(written(made, syntax))
    assert (caught.code, name in caught.what) == ("IMAGE_KIND", True)
    assert "Explicit VR Little Endian" in caught.remedy


def test_an_unknown_syntax_is_not_repeated() -> None:
    caught = refusal(written(dataset(DEEP, 12), EXPLICIT).replace(b"1.2.1\0", b"1.2.77"))
    assert (caught.code, "77" in caught.what) == ("IMAGE_KIND", False)


def test_signed_values_and_rescaling_by_hand() -> None:
    signed = np.array([[-1024, 0], [1023, 512]], np.int16).repeat(16, 0).repeat(16, 1)
    np.testing.assert_array_equal(shown(dataset(signed, 12)), spread(signed))
    made = dataset(signed, 12, RescaleSlope="-2", RescaleIntercept="7")
    np.testing.assert_array_equal(shown(made), spread(-signed))
    text = read(written(made)).notices[0].text
    assert "-2039 to 2055" in text  # 7 - 2 * 1023 and 7 + 2 * 1024


def test_an_overlay_in_unused_bits_is_no_part_of_the_film() -> None:
    hidden = DEEP | (RNG.integers(0, 16, DEEP.shape, np.uint16) << 12)
    np.testing.assert_array_equal(shown(dataset(hidden, 12)), spread(DEEP))
    signed = (DEEP.astype(np.int16) - 2048) & 0x0FFF | np.int16(0x5000)
    made = dataset(signed, 12)
    np.testing.assert_array_equal(shown(made), spread(DEEP))


# Windows and tables ------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [None, "LINEAR", "LINEAR_EXACT", "SIGMOID"])
@pytest.mark.parametrize("width", [1, 2, 700.5, 9000])
def test_windows_agree_with_pydicom(function: str | None, width: float) -> None:
    made = dataset(DEEP, 12, WindowCenter="1800.5", WindowWidth=str(width), RescaleSlope="1.5")
    made.RescaleIntercept = "-200"
    if function is not None:
        made.VOILUTFunction = function
    with np.errstate(over="ignore"):
        theirs = apply_voi_lut(apply_modality_lut(DEEP, made), made)
    low, high = -200, 4095 * 1.5 - 200  # what pydicom takes as black and white
    expected = (theirs - low) / (high - low) * 255
    np.testing.assert_allclose(shown(made), expected, atol=0.51)
    assert "WINDOW" in codes(made)


def test_the_first_of_several_windows_is_used() -> None:
    made = dataset(DEEP, 12, WindowCenter=["1000", "2000"], WindowWidth=["500", "9"])
    one = dataset(DEEP, 12, WindowCenter="1000", WindowWidth="500")
    np.testing.assert_array_equal(shown(made), shown(one))


@pytest.mark.parametrize(
    "tags", [{"WindowWidth": "0"}, {"WindowWidth": "-5"}, {"WindowWidth": "1e999"}, {}]
)
def test_a_window_without_a_width_gives_the_full_range(tags: dict[str, str]) -> None:
    np.testing.assert_array_equal(
        shown(dataset(DEEP, 12, WindowCenter="2000", **tags)), spread(DEEP)
    )


@pytest.mark.parametrize("syntax", [IMPLICIT, EXPLICIT, BIG])
@pytest.mark.parametrize("bits", [8, 12, 16])
def test_tables_by_hand(syntax: str, bits: int) -> None:
    """A table of values of interest: below and above it its first and last entry go on."""
    table = np.linspace(2**bits - 1, 0, 1000).astype(int).tolist()
    voi = item(LUTDescriptor=[1000, 500, bits])
    voi.add_new("LUTData", "US", table)
    made = dataset(DEEP, 12, VOILUTSequence=[voi])
    made.WindowCenter, made.WindowWidth = "1", "2"  # the table comes first
    at = np.clip(DEEP.astype(int) - 500, 0, 999)
    expected = np.rint(np.array(table)[at] / (2**bits - 1) * 255)
    np.testing.assert_array_equal(shown(made, syntax), expected)


def test_a_table_of_the_modality_comes_before_the_window() -> None:
    table = (np.arange(4096)[::-1] // 4).tolist()
    modality = item(LUTDescriptor=[4096, 0, 10], ModalityLUTType="US")
    modality.add_new("LUTData", "OW", np.array(table, "<u2").tobytes())
    made = dataset(DEEP, 12, ModalityLUTSequence=[modality])
    np.testing.assert_array_equal(shown(made), spread(np.array(table)[DEEP]))
    made.WindowCenter, made.WindowWidth = "512", "200"
    made.VOILUTFunction = "LINEAR_EXACT"
    expected = np.clip((np.array(table)[DEEP] - 512) / 200 + 0.5, 0, 1) * 255
    np.testing.assert_allclose(shown(made), expected, atol=0.51)


@pytest.mark.parametrize(
    ("photometric", "shape", "inverted"),
    [
        ("MONOCHROME2", "IDENTITY", False),
        ("MONOCHROME1", None, True),
        ("MONOCHROME1", "INVERSE", True),  # two words for one thing: C.8.11.3.1.2
        ("MONOCHROME2", "INVERSE", True),
    ],
)
def test_white_is_dense(photometric: str, shape: str | None, inverted: bool) -> None:
    made = dataset(DEEP, 12, PhotometricInterpretation=photometric)
    if shape is not None:
        made.PresentationLUTShape = shape
    expected = spread(DEEP)
    np.testing.assert_allclose(
        shown(made).astype(int), 255 - expected if inverted else expected, atol=1
    )
    assert ("INVERTED" in codes(made)) == inverted


def test_filling_is_black_and_does_not_stretch_the_range() -> None:
    framed = DEEP // 4 + 1000
    values = framed.copy()
    framed[:3], framed[-3:] = 0, 5
    made = dataset(framed, 12, PixelPaddingValue=0, PixelPaddingRangeLimit=5)
    made.PhotometricInterpretation = "MONOCHROME1"
    expected = 255 - (values - values[3:-3].min()) / np.ptp(values[3:-3]) * 255
    got = shown(made)
    np.testing.assert_allclose(got[3:-3], expected[3:-3], atol=0.51)
    assert not got[:3].any()
    assert not got[-3:].any()


# Colours, sides, warnings ------------------------------------------------------------------------


def test_colours_become_grey() -> None:
    colours = RNG.integers(0, 256, (20, 30, 3), np.uint8)
    luma = colours @ np.array([0.299, 0.587, 0.114])
    np.testing.assert_allclose(shown(dataset(colours)), luma, atol=0.51)
    assert "COLOUR_CONVERTED" in codes(dataset(colours))
    ybr = convert_color_space(colours, "RGB", "YBR_FULL")
    got = shown(dataset(ybr, PhotometricInterpretation="YBR_FULL"))
    np.testing.assert_allclose(got, luma, atol=2.1)
    assert "COLOUR_CONVERTED" not in codes(dataset(SMALL[..., None].repeat(3, 2)))


def test_compressed_colours_become_grey() -> None:
    smooth = np.add.outer(np.arange(64), np.arange(64)).astype(np.uint8)
    colours = np.stack([smooth, smooth // 2, 255 - smooth], 2)
    luma = colours @ np.array([0.299, 0.587, 0.114])
    forms = (
        ("JPEG", BASELINE, "YBR_FULL_422", {"quality": 100}, 4),
        ("JPEG2000", J2K_LOSSLESS, "YBR_RCT", {"irreversible": False, "mct": 1}, 0.51),
    )
    for form, syntax, kind, options, close in forms:
        made = dataset(colours, PhotometricInterpretation=kind)
        made = compressed(Image.fromarray(colours), made, form, **options)
        np.testing.assert_allclose(shown(made, syntax), luma, atol=close)


@pytest.mark.parametrize(
    ("ways", "turn"),
    [
        (("L", "F"), lambda p: p),
        (("A", "F"), lambda p: p),
        (("R", "F"), np.fliplr),
        (("L", "H"), np.flipud),
        (("R", "H"), lambda p: np.rot90(p, 2)),
        (("F", "L"), np.transpose),
        (("H", "L"), np.rot90),  # rows run to the head: a quarter turn back puts it up
        (("F", "R"), lambda p: np.rot90(p, -1)),
    ],
)
def test_a_film_that_says_how_it_lies_is_put_upright(ways: tuple[str, str], turn: object) -> None:
    made = dataset(SMALL, PatientOrientation=list(ways))
    expected = turn(SMALL)  # type: ignore[operator]
    np.testing.assert_array_equal(shown(made), expected)
    assert ("ORIENTED" in codes(made)) == (ways[0] in "RFH" or ways[1] == "H")


def test_text_in_the_pixels_is_warned_about_unless_the_file_denies_it() -> None:
    assert "BURNED_IN" in codes(dataset(SMALL))
    assert "BURNED_IN" in codes(dataset(SMALL, BurnedInAnnotation="YES"))
    assert "BURNED_IN" not in codes(dataset(SMALL, BurnedInAnnotation="NO"))
    for tag in ("BurnedInAnnotation", "PresentationLUTShape"):
        said = read(written(dataset(SMALL, **{tag: "DOE_JANE"}), IMPLICIT)).notices
        assert "DOE" not in repr(said)


def test_pixels_that_are_not_square_are_said() -> None:
    assert "PIXEL_ASPECT" in codes(dataset(SMALL, ImagerPixelSpacing=["0.2", "0.1"]))
    assert "PIXEL_ASPECT" in codes(dataset(SMALL, PixelAspectRatio=["3", "2"]))
    assert "PIXEL_ASPECT" not in codes(dataset(SMALL, PixelSpacing=["0.143", "0.143"]))


@pytest.mark.parametrize(
    "sides", [b"0.00\\0.00", b"0.10\\0.00", b"0.10\\-0.2", b"0.10\\DOE ", b"1e99\\nan "]
)
def test_a_film_with_an_odd_spacing_is_a_film(sides: bytes) -> None:
    good = written(dataset(SMALL, PixelSpacing=["0.10", "0.20"]))
    assert good.count(b"0.10\\0.20") == 1
    odd = read(good.replace(b"0.10\\0.20", sides))
    assert odd.digest == read(good).digest
    assert "PIXEL_ASPECT" not in {notice.code for notice in odd.notices}


def test_the_next_tag_speaks_where_one_is_odd() -> None:
    tags = {"PixelSpacing": ["0", "0"], "ImagerPixelSpacing": ["0.2", "0.1"]}
    assert "PIXEL_ASPECT" in codes(dataset(SMALL, **tags))


# What is refused ---------------------------------------------------------------------------------


def test_several_frames_are_refused() -> None:
    twice = np.concatenate([SMALL, SMALL])
    made = dataset(twice, NumberOfFrames=2, Rows=20)
    assert refusal(written(made)).code == "IMAGE_FRAMES"


def test_a_claim_of_many_pixels_is_refused_before_decoding() -> None:
    made = dataset(SMALL, Rows=13_000, Columns=13_000)
    assert refusal(written(made)).code == "IMAGE_PIXELS"


@pytest.mark.parametrize(
    "made",
    [
        dataset(SMALL, PhotometricInterpretation="PALETTE COLOR"),
        dataset(SMALL, PhotometricInterpretation="DOE JANE"),
        dataset(DEEP.astype(np.uint32)),
        dataset(DEEP, 12, HighBit=15),
        dataset(RNG.integers(0, 9, (20, 30, 3), np.uint16)),
    ],
)
def test_kinds_that_are_not_read_are_refused_in_words(made: Dataset) -> None:
    caught = refusal(written(made))
    assert caught.code == "IMAGE_KIND"
    assert "DOE" not in str(caught)


def test_fractions_as_pixels_are_refused() -> None:
    made = dataset(SMALL)
    del made.PixelData
    made.FloatPixelData = np.ones((20, 30), np.float32).tobytes()
    assert refusal(written(made)).code == "IMAGE_KIND"


def test_a_report_is_no_film() -> None:
    made = Dataset()
    made.SOPClassUID, made.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.88.11", "1.2.3"
    made.PatientName = "DOE^JANE"
    assert refusal(written(made)).code == "FORMAT_UNKNOWN"


@pytest.mark.parametrize("syntax", [EXPLICIT, DEFLATED, RLE])
def test_a_film_cut_anywhere_is_refused(syntax: str) -> None:
    made = dataset(DEEP, 12)
    if syntax == RLE:
        made.file_meta = pydicom.dataset.FileMetaDataset()
        made.file_meta.TransferSyntaxUID = EXPLICIT
        made.compress(RLE, generate_instance_uid=False)
    data = written(made, syntax)
    end = len(data) - (8 if syntax == RLE else 0)  # the delimiter behind the pixels may be missing
    for length in range(132, end, 7):
        assert refusal(data[:length]).code in ("IMAGE_TRUNCATED", "FORMAT_UNKNOWN")


@pytest.mark.parametrize("tail", [b"PK\5\6" + bytes(18), b"<html></html>", b"%PDF-1.7 and so on"])
@pytest.mark.parametrize("syntax", [IMPLICIT, EXPLICIT])
def test_a_second_file_behind_the_pixels_is_refused(syntax: str, tail: bytes) -> None:
    data = written(dataset(SMALL), syntax)
    assert refusal(data + tail).code == "TRAILING"
    filling = struct.pack("<HH2sHI", 0xFFFC, 0xFFFC, b"OB", 0, 64) + bytes(64)
    if syntax == EXPLICIT:
        assert read(data + filling).digest == read(data).digest


def deflated(body: bytes) -> bytes:
    """A file whose data, all behind the group that tells of itself, is deflated."""
    data = written(dataset(SMALL), DEFLATED)
    begin = 144 + int.from_bytes(data[140:144], "little")
    packer = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
    return data[:begin] + packer.compress(body) + packer.flush()


@pytest.mark.slow
def test_a_deflated_file_is_not_unpacked_without_end() -> None:
    assert refusal(deflated(bytes(370 * 2**20))).code == "ARCHIVE_SIZE"


def test_nothing_follows_a_deflated_file() -> None:
    data = written(dataset(SMALL), DEFLATED)
    assert refusal(data + b"PK\5\6" + bytes(18)).code == "TRAILING"
    assert read(data + b"\0").digest == read(data).digest


@pytest.mark.parametrize("magic", [b"MZ\x90\0", b"PK\3\4", b"\x7fELF", b"%PDF-1.7", b"<html>"])
def test_a_preamble_that_begins_another_kind_of_file_is_refused(magic: bytes) -> None:
    data = written(dataset(SMALL))
    assert refusal(magic + data[len(magic) :]).code == "FORMAT_MISMATCH"


def test_a_picture_that_is_also_dicom_is_refused() -> None:
    Image.fromarray(SMALL).save(out := io.BytesIO(), "PNG")
    data = bytearray(out.getvalue())
    data[128:132] = b"DICM"
    assert refusal(bytes(data)).code == "FORMAT_MISMATCH"
