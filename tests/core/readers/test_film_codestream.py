"""Films as lossless JPEG, JPEG of 12 bits and JPEG-LS: the pixels, and what is not whole."""

import io
import re
import struct

import numpy as np
import pytest
from imagecodecs import jpeg8_encode, jpegls_encode
from PIL import Image
from pydicom.pixels.decoders.base import get_decoder
from pydicom.pixels.processing import convert_color_space

from core.errors import Refused
from core.readers.films import film_codestream
from core.readers.films.film import Film
from core.readers.films.film_file import read_film_file
from core.readers.formats.contents import FileBytes
from tests.codestreams import flat_blocks, holding, lossless, segment
from tests.film_files import dataset, written

BASELINE, EXTENDED, PROCESS_14, FIRST_ORDER, LS, NEAR = (
    f"1.2.840.10008.1.2.4.{n}" for n in (50, 51, 57, 70, 80, 81)
)
RNG = np.random.default_rng(3)
DEEP = RNG.integers(0, 4096, (20, 30), np.uint16)
WHOLE = RNG.integers(0, 2**16, (20, 30), np.uint16)
SMALL = RNG.integers(0, 256, (20, 30), np.uint8)
MEANS = RNG.integers(0, 4096, (3, 4), np.uint16)
BLOCKS = MEANS.repeat(8, 0).repeat(8, 1)
STREAMS = {
    FIRST_ORDER: (DEEP, lossless(DEEP, 12)),
    PROCESS_14: (DEEP, lossless(DEEP, 12, selection=7)),
    EXTENDED: (BLOCKS, flat_blocks(MEANS)),
    LS: (DEEP, jpegls_encode(DEEP)),
    NEAR: (DEEP, jpegls_encode(DEEP)),
}


def read(data: bytes) -> Film:
    return read_film_file(FileBytes.of_bytes("film 3", data))


def refused(data: bytes) -> bool:
    """Whether a film is refused, which it then must be as damaged."""
    try:
        read(data)
    except Refused as error:
        return {"IMAGE_TRUNCATED": True}[error.code]
    return False


# Pixels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("selection", range(1, 8))
@pytest.mark.parametrize(("values", "bits"), [(SMALL, 8), (DEEP, 12), (WHOLE, 16)])
def test_a_lossless_film_is_the_film(values: np.ndarray, bits: int, selection: int) -> None:
    syntax = FIRST_ORDER if selection == 1 else PROCESS_14
    stream = lossless(values, bits, selection)
    plain = read(written(dataset(values, bits)))
    assert read(holding(dataset(values, bits), stream, syntax)).digest == plain.digest


@pytest.mark.parametrize(("values", "bits"), [(SMALL, 8), (DEEP, 16), (WHOLE, 16)])
def test_a_jpeg_ls_film_is_the_film(values: np.ndarray, bits: int) -> None:
    plain = read(written(dataset(values, bits)))
    for syntax in (LS, NEAR):
        made = dataset(values, bits)
        assert read(holding(made, jpegls_encode(values), syntax)).digest == plain.digest
    near = read(holding(dataset(SMALL), jpegls_encode(SMALL, level=3), NEAR)).pixels
    assert 0 < np.abs(near.astype(int) - SMALL).max() <= 3


def test_the_example_of_jpeg_ls_in_its_standard() -> None:
    """ITU-T T.87, H.3."""
    stream = bytes.fromhex(
        "ffd8 fff7000b080004000401011100 ffda0008010100000000"
        "c000006c80208e01c00000574000006ee6000001bc18000005d800009160 ffd9"
    )
    image = [[0, 0, 90, 74], [68, 50, 43, 205], [64, 145, 145, 145], [100, 145, 145, 145]]
    made = dataset(np.array(image, np.uint8))
    holding(made, stream, LS)
    found = get_decoder(LS).as_array(made, index=0, decoding_plugin=film_codestream.PLUGIN)[0]
    np.testing.assert_array_equal(found, image)


def test_the_library_writes_what_is_read() -> None:
    """The other way round: libjpeg-turbo's encoder, whose tables follow the film."""
    for bits, values in ((8, SMALL), (10, DEEP >> 2), (12, DEEP), (16, WHOLE)):
        stream = jpeg8_encode(values, lossless=True, predictor=6, bitspersample=bits)
        plain = read(written(dataset(values, bits)))
        assert read(holding(dataset(values, bits), stream, PROCESS_14)).digest == plain.digest
    y, x = np.mgrid[:64, :80]
    smooth = (2048 + 900 * np.sin(x / 20) * np.cos(y / 30)).astype(np.uint16)
    window = {"WindowCenter": "2048", "WindowWidth": "4096"}
    stream = jpeg8_encode(smooth, level=98, bitspersample=12)
    found = read(holding(dataset(smooth, 12, **window), stream, EXTENDED)).pixels
    plain = read(written(dataset(smooth, 12, **window))).pixels
    np.testing.assert_allclose(found.astype(int), plain, atol=1)


@pytest.mark.parametrize("kind", ["MONOCHROME2", "YBR_FULL_422"])
def test_eight_bits_as_extended_agree_with_pillow(kind: str) -> None:
    """The same bytes under the other syntax, which Pillow decodes."""
    smooth = np.add.outer(np.arange(64), np.arange(64)).astype(np.uint8)
    if kind != "MONOCHROME2":
        smooth = np.stack([smooth, smooth // 2, 255 - smooth], 2)
    Image.fromarray(smooth).save(out := io.BytesIO(), "JPEG", quality=60)
    found, expected = (
        read(holding(dataset(smooth, PhotometricInterpretation=kind), out.getvalue(), syntax))
        for syntax in (EXTENDED, BASELINE)
    )
    assert (found.digest, found.notices) == (expected.digest, expected.notices)


TAGS = [
    {"PhotometricInterpretation": "MONOCHROME1"},
    {"WindowCenter": "1800.5", "WindowWidth": "700"},
    {"RescaleSlope": "-2", "RescaleIntercept": "7", "PresentationLUTShape": "INVERSE"},
    {"PixelPaddingValue": 5, "PixelSpacing": ["0.1", "0.2"], "PatientOrientation": ["R", "F"]},
]


@pytest.mark.parametrize("tags", TAGS)
@pytest.mark.parametrize("syntax", STREAMS)
def test_tags_mean_the_same_whatever_the_form(syntax: str, tags: dict[str, object]) -> None:
    values, stream = STREAMS[syntax]
    plain = read(written(dataset(values, 12, **tags)))
    found = read(holding(dataset(values, 12, **tags), stream, syntax))
    assert (found.digest, found.notices) == (plain.digest, plain.notices)


@pytest.mark.parametrize("bits", [8, 12, 16])
def test_signed_values_keep_their_sign(bits: int) -> None:
    kind = np.int8 if bits == 8 else np.int16
    signed = RNG.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (20, 30)).astype(kind)
    window = {"WindowCenter": "3", "WindowWidth": str(2 ** (bits - 1))}
    plain = read(written(dataset(signed, bits, **window)))
    held = (signed.astype(int) % 2**bits).astype(np.dtype(f"u{signed.itemsize}"))
    for syntax, stream in ((FIRST_ORDER, lossless(held, bits)), (LS, jpegls_encode(held))):
        found = read(holding(dataset(signed, bits, **window), stream, syntax))
        assert found.digest == plain.digest


def test_a_film_of_few_bits_in_wide_pixels() -> None:
    """Eight bits to a sample of the codestream, sixteen to a pixel by the tags."""
    made = dataset(SMALL.astype(np.uint16), 8)
    plain = read(written(made))
    for syntax, stream in ((FIRST_ORDER, lossless(SMALL, 8)), (LS, jpegls_encode(SMALL))):
        found = read(holding(dataset(SMALL.astype(np.uint16), 8), stream, syntax))
        assert found.digest == plain.digest


@pytest.mark.parametrize("bits", [9, 12, 16])
def test_signed_tags_of_unsigned_samples_of_eight_bits(bits: int) -> None:
    """Samples of 8 bits have no sign among the more bits that the tags give to a pixel."""
    window = {"WindowCenter": "128", "WindowWidth": "256"}
    plain = read(written(dataset(SMALL.astype(np.int16), bits, **window)))
    for syntax, stream in ((FIRST_ORDER, lossless(SMALL, 8)), (LS, jpegls_encode(SMALL))):
        made = dataset(SMALL.astype(np.int16), bits, **window)
        assert read(holding(made, stream, syntax)).digest == plain.digest


@pytest.mark.parametrize("kind", ["RGB", "YBR_FULL"])
def test_an_adobe_marker_tells_what_colours_are(kind: str) -> None:
    """Pillow goes by the marker alone; the tags of many files say RGB where it says YCbCr."""
    ramp = np.add.outer(np.arange(64), np.arange(64)).astype(np.uint8)
    Image.fromarray(np.stack([ramp, ramp // 2, 255 - ramp], 2)).save(
        out := io.BytesIO(), "JPEG", quality=90, subsampling=0
    )
    plain = out.getvalue()
    jfif = plain.index(b"\xff\xe0")
    end = jfif + 2 + struct.unpack_from(">H", plain, jfif + 2)[0]
    adobe = segment(0xEE, b"Adobe" + bytes((0, 100, 0, 0, 0, 0, 1)))
    marked = plain[:jfif] + adobe + plain[end:]
    expected = np.asarray(Image.open(io.BytesIO(marked)).convert("L")).astype(int)
    colours = np.zeros((64, 64, 3), np.uint8)
    made = dataset(colours, PhotometricInterpretation=kind)
    found = read(holding(made, marked, EXTENDED)).pixels.astype(int)
    np.testing.assert_allclose(found, expected, atol=3)


def test_colours_without_loss() -> None:
    colours = RNG.integers(0, 256, (20, 30, 3), np.uint8)
    plain = read(written(dataset(colours))).pixels
    for syntax, stream in ((PROCESS_14, lossless(colours, 8)), (LS, jpegls_encode(colours))):
        np.testing.assert_array_equal(read(holding(dataset(colours), stream, syntax)).pixels, plain)
    ybr = convert_color_space(colours, "RGB", "YBR_FULL")
    made = dataset(ybr, PhotometricInterpretation="YBR_FULL")
    np.testing.assert_allclose(
        read(holding(made, lossless(ybr, 8), PROCESS_14)).pixels.astype(int), plain, atol=2
    )


def test_the_shape_of_a_codestream_is_free_within_its_standard() -> None:
    """Restarts, a point transform, comments, markers with filling, padding, several fragments."""
    plain = read(written(dataset(DEEP, 12))).digest
    stream, often = lossless(DEEP, 12), lossless(DEEP, 12, 4, restart=3)
    commented = stream[:2] + segment(0xFE, b"DOE^JANE \xff\xd9\xff\xd8") + stream[2:]
    for form in (
        often,
        re.sub(rb"\xff([\xd0-\xd7])", lambda found: b"\xff\xff" + found[0], often),
        commented,
        stream[:-2] + b"\xff\xff\xff\xd9" + bytes(5),
        stream + b"padding",
    ):
        assert read(holding(dataset(DEEP, 12), form, PROCESS_14)).digest == plain
    assert read(holding(dataset(DEEP, 12), often, PROCESS_14, pieces=4)).digest == plain
    padded = jpegls_encode(DEEP) + b"padding"
    assert read(holding(dataset(DEEP, 12), padded, LS, pieces=2)).digest == plain
    coarse = dataset(DEEP >> 2 << 2, 12)
    shifted = holding(dataset(DEEP, 12), lossless(DEEP, 12, shift=2), PROCESS_14)
    assert read(shifted).digest == read(written(coarse)).digest


# What is not whole, or lies ----------------------------------------------------------------------


@pytest.mark.parametrize("syntax", STREAMS)
def test_a_codestream_cut_anywhere_is_refused(syntax: str) -> None:
    """Also where an end marker was put behind what is left, so that it looks whole."""
    values, stream = STREAMS[syntax]
    scan = (
        stream.index(b"\xff\xda")
        + 2
        + struct.unpack_from(">H", stream, stream.index(b"\xff\xda") + 2)[0]
    )
    for length in [*range(4, scan, 7), *np.linspace(scan, len(stream) - 3, 25).astype(int)]:
        kept = stream[:length]
        assert refused(holding(dataset(values, 12), kept, syntax))
        kept = kept[:-1] if kept.endswith(b"\xff") else kept
        assert refused(holding(dataset(values, 12), kept + b"\xff\xd9", syntax))


@pytest.mark.parametrize("syntax", [FIRST_ORDER, PROCESS_14])
def test_the_last_byte_is_missed(syntax: str) -> None:
    """Where what the decoder fills in itself is not by chance what was cut off."""
    for seed in range(40):
        values = np.random.default_rng(seed).integers(0, 4096, (16, 17), np.uint16)
        stream = lossless(values, 12, 1 if syntax == FIRST_ORDER else 5)
        if stream[-3] == 0xFF or stream[-4] == 0xFF:
            continue
        assert refused(holding(dataset(values, 12), stream[:-3] + b"\xff\xd9", syntax))


def test_bytes_missing_before_a_restart_are_noticed() -> None:
    stream = lossless(DEEP, 12, restart=4)
    at = stream.index(b"\xff\xd1")
    assert not refused(holding(dataset(DEEP, 12), stream, PROCESS_14))
    assert refused(holding(dataset(DEEP, 12), stream[: at - 20] + stream[at:], PROCESS_14))


@pytest.mark.parametrize("syntax", STREAMS)
@pytest.mark.parametrize("shape", [(21, 30, 1), (20, 31, 1), (65535, 65535, 1), (0, 30, 1)])
def test_a_frame_that_lies_about_its_size_is_refused(
    syntax: str, shape: tuple[int, int, int]
) -> None:
    values, stream = STREAMS[syntax]
    at = re.search(rb"\xff[\xc1\xc3\xf7]\0\x0b", stream).start() + 5
    assert struct.unpack_from(">HHB", stream, at) == (*values.shape, 1)
    lying = stream[:at] + struct.pack(">HHB", *shape) + stream[at + 5 :]
    assert refused(holding(dataset(values, 12), lying, syntax))


@pytest.mark.parametrize("syntax", STREAMS)
def test_no_decoder_sees_a_codestream_of_another_size(
    syntax: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take memory for what the codestream says, not for what the tags say."""
    seen: list[bytes] = []
    for name in ("jpeg8_decode", "jpegls_decode"):
        monkeypatch.setattr(film_codestream, name, lambda data, **_: seen.append(data))
    values, stream = STREAMS[syntax]
    assert refused(holding(dataset(values.repeat(2, 0), 12), stream, syntax))
    assert not seen


@pytest.mark.parametrize("syntax", [FIRST_ORDER, LS])
def test_a_frame_that_differs_from_its_tags_is_refused(syntax: str) -> None:
    stream = STREAMS[syntax][1]
    wide, colours = DEEP.repeat(2, 1), np.zeros((20, 30, 3), np.uint8)
    assert refused(holding(dataset(wide, 12), stream, syntax))
    assert refused(holding(dataset(SMALL), stream, syntax))  # 12 bits where 8 are said
    assert refused(holding(dataset(colours), stream, syntax))


def test_colours_may_come_one_after_the_other_and_once_each() -> None:
    colours = RNG.integers(0, 256, (20, 30, 3), np.uint8)
    scans = []
    for n in range(3):
        alone = lossless(colours[..., n], 8)
        at = alone.index(b"\xff\xda")
        scans.append(
            alone[at:-2].replace(
                segment(0xDA, bytes((1, 1, 0, 1, 0, 0))),
                segment(0xDA, bytes((1, 1 + n, 0, 1, 0, 0))),
            )
        )
    head = lossless(colours, 8).partition(b"\xff\xda")[0]
    plain = read(written(dataset(colours)))
    stream = b"".join([head, *scans, b"\xff\xd9"])
    assert read(holding(dataset(colours), stream, FIRST_ORDER)).digest == plain.digest
    with pytest.raises(Refused):
        film_codestream.survey(b"".join([head, *scans, scans[0], b"\xff\xd9"]), ls=False)


def test_only_one_whole_frame_of_the_right_kind_reaches_a_decoder() -> None:
    stream = lossless(SMALL, 8)
    found = film_codestream.survey(stream + b"padding", ls=False)
    assert (found.data, found.depth, found.shape) == (stream, 8, (20, 30, 1))
    Image.fromarray(SMALL).save(progressive := io.BytesIO(), "JPEG", progressive=True)
    frame = stream[2 : stream.index(b"\xff\xc4")]
    for form, ls in (
        (progressive.getvalue(), False),
        (stream, True),
        (jpegls_encode(SMALL), False),
        (stream[:2] + frame + stream[2:], False),
        (stream[:2] + frame.replace(b"\xff\xc3", b"\xff\xcb") + stream[2:], False),
        (b"\xff\xd8" + stream, False),
        (stream[:2] + segment(0xD0, frame) + stream[2:], False),  # to libjpeg a bare marker
        (b"no" + stream[2:], False),
        (b"\xff\xd8" + frame + b"\xff\xd9", False),
        (b"\xff\xd8\xff\xd9", False),
        (b"no codestream", True),
        (b"", True),
    ):
        with pytest.raises(Refused) as caught:
            film_codestream.survey(form, ls=ls)
        assert caught.value.code == "IMAGE_TRUNCATED"


def test_a_run_of_bytes_that_could_be_markers_takes_no_long_time() -> None:
    """Two million of them: looked at once each, not once for each before."""
    stream = lossless(SMALL, 8)
    long = stream[:-2] + b"\xff" * 2_000_000 + b"\0" + stream[-2:]
    found, plain = (read(holding(dataset(SMALL), one, FIRST_ORDER)) for one in (long, stream))
    np.testing.assert_array_equal(found.pixels, plain.pixels)
