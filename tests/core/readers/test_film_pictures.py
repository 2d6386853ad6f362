"""Films as PNG and JPEG: greys, windows, orientation, and what is refused."""

import io
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps, PngImagePlugin

from core.errors import Refused
from core.readers.films.film import Film
from core.readers.films.film_file import read_film_file
from core.readers.formats.contents import FileBytes
from core.readers.sandbox import read as sandbox

RNG = np.random.default_rng(7)
GREYS = RNG.integers(0, 256, (24, 32), np.uint8)


def read(data: bytes) -> Film:
    return read_film_file(FileBytes.of_bytes("film 3", data))


def refused(data: bytes) -> str:
    with pytest.raises(Refused) as caught:
        read(data)
    return caught.value.code


def saved(picture: Image.Image, form: str = "PNG", **options: object) -> bytes:
    picture.save(out := io.BytesIO(), form, **options)  # type: ignore[arg-type]
    return out.getvalue()


def codes(film: Film) -> list[str]:
    return [notice.code for notice in film.notices]


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, depth: int, colour: int, rows: bytes, *more: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(rows))
    chunks = b"".join([chunk(b"IHDR", header), *more, body, chunk(b"IEND", b"")])
    return b"\x89PNG\r\n\x1a\n" + chunks


def rows(values: np.ndarray) -> bytes:
    """Rows of a PNG without a filter."""
    lines = values.reshape(len(values), -1).astype(f">u{values.itemsize}")
    return b"".join(b"\0" + line.tobytes() for line in lines)


def with_chunk(data: bytes, extra: bytes) -> bytes:
    """A PNG with a chunk behind its header."""
    return data[:33] + extra + data[33:]


# What is read ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "P"])
def test_a_grey_png_keeps_its_greys_in_every_mode(mode: str) -> None:
    film = read(saved(Image.fromarray(GREYS).convert(mode)))
    np.testing.assert_array_equal(film.pixels, GREYS)
    assert film.notices == ()


def test_one_bit_becomes_black_and_white() -> None:
    film = read(saved(Image.fromarray(GREYS > 99)))
    np.testing.assert_array_equal(film.pixels, np.where(GREYS > 99, 255, 0))


def test_sixteen_bits_are_spread_from_the_lowest_to_the_highest_value() -> None:
    """A conversion that saturates would give 255 for every value above 255."""
    values = np.linspace(300, 4_395, 24 * 32).astype(np.uint16).reshape(24, 32)
    film = read(saved(Image.fromarray(values)))
    np.testing.assert_array_equal(film.pixels, np.rint((values - 300.0) / 4_095 * 255))
    assert (film.pixels.min(), film.pixels.max(), codes(film)) == (0, 255, ["WINDOW"])
    assert "300 to 4395" in film.notices[0].text


def test_sixteen_bit_colours_keep_their_upper_half_or_are_refused() -> None:
    wide = (GREYS.astype(np.uint16) * 257)[..., None].repeat(3, 2)
    film = read(png(32, 24, 16, 2, rows(wide)))
    np.testing.assert_array_equal(film.pixels, GREYS)
    assert codes(film) == ["WINDOW"]
    assert refused(png(32, 24, 16, 2, rows(wide // 16))) == "IMAGE_KIND"


def test_a_transparent_part_is_drawn_on_black_and_said() -> None:
    alpha = np.where(np.arange(32) < 8, 0, 255).astype(np.uint8) * np.ones((24, 1), np.uint8)
    for form in (GREYS[..., None], GREYS[..., None].repeat(3, 2)):
        film = read(saved(Image.fromarray(np.concatenate([form, alpha[..., None]], 2))))
        np.testing.assert_array_equal(film.pixels, np.where(alpha == 0, 0, GREYS))
        assert codes(film) == ["TRANSPARENCY"]


def test_a_key_for_transparency_is_drawn_on_black() -> None:
    film = read(saved(Image.fromarray(GREYS), transparency=int(GREYS[3, 4])))
    np.testing.assert_array_equal(film.pixels, np.where(GREYS[3, 4] == GREYS, 0, GREYS))
    wide = GREYS.astype(np.uint16) * 257
    key = chunk(b"tRNS", struct.pack(">H", wide[3, 4]))
    film = read(png(32, 24, 16, 0, rows(wide), key))
    np.testing.assert_array_equal(film.pixels, np.where(wide == wide[3, 4], 0, GREYS))
    assert codes(film) == ["WINDOW", "TRANSPARENCY"]


def test_only_true_colours_are_said_to_be_converted() -> None:
    tint = np.stack([GREYS, GREYS, np.minimum(GREYS, 240)], 2)
    film = read(saved(Image.fromarray(tint)))
    assert codes(film) == ["COLOUR_CONVERTED"]
    weights = tint @ np.array([0.299, 0.587, 0.114])  # ITU-R BT.601
    np.testing.assert_allclose(film.pixels, weights, atol=0.51)
    assert codes(read(saved(Image.fromarray(GREYS).convert("RGB"), "JPEG"))) == []


def test_jpeg_agrees_with_pillow_in_grey_colour_and_print() -> None:
    smooth = np.add.outer(np.arange(64), 2 * np.arange(48)).astype(np.uint8)
    grey = Image.fromarray(smooth)
    for picture, said in ((grey, []), (grey.convert("RGB"), []), (grey.convert("CMYK"), ["C"])):
        data = saved(picture, "JPEG", quality=95, progressive=True)
        film = read(data)
        expected = Image.open(io.BytesIO(data)).convert("RGB").convert("L")
        np.testing.assert_array_equal(film.pixels, expected)
        assert [code[0] for code in codes(film)] == said


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_films_are_turned_as_pillow_turns_them(form: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(Image.fromarray(GREYS), form, exif=exif)
    film = read(data)
    expected = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    np.testing.assert_array_equal(film.pixels, np.asarray(expected))
    assert codes(film) == (["EXIF_APPLIED"] if orientation > 1 else [])


def test_a_film_with_nothing_on_it_is_named() -> None:
    assert codes(read(saved(Image.new("L", (20, 20), 90)))) == ["IMAGE_BLANK"]
    assert codes(read(saved(Image.new("I;16", (20, 20), 90)))) == ["WINDOW", "IMAGE_BLANK"]


def test_profiles_and_texts_change_nothing() -> None:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Patient", "DOE^JANE", zip=True)
    texts.add_itxt("Name", "DOE^JANE", zip=True)
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    plain = read(saved(Image.fromarray(GREYS)))
    film = read(saved(Image.fromarray(GREYS), pnginfo=texts, icc_profile=profile))
    assert (film.digest, film.notices) == (plain.digest, ())
    jpeg = Image.fromarray(GREYS)
    said = read(saved(jpeg, "JPEG", comment=b"DOE^JANE", icc_profile=profile, quality=90))
    assert (said.digest, said.notices) == (read(saved(jpeg, "JPEG", quality=90)).digest, ())


def test_the_digest_is_of_the_pixels_and_their_sides() -> None:
    film = read(saved(Image.fromarray(GREYS)))
    again = read(saved(Image.fromarray(GREYS).convert("RGBA"), compress_level=1))
    turned = read(saved(Image.fromarray(GREYS.reshape(32, 24))))
    assert film.digest == again.digest != turned.digest


# What is refused ---------------------------------------------------------------------------------


def test_a_claim_of_many_pixels_is_refused_before_decoding() -> None:
    assert refused(png(13_000, 13_000, 1, 0, b"")) == "IMAGE_PIXELS"
    jpeg = bytearray(saved(Image.fromarray(GREYS), "JPEG"))
    at = jpeg.index(b"\xff\xc0")
    jpeg[at + 5 : at + 9] = struct.pack(">HH", 60_000, 60_000)
    assert refused(bytes(jpeg)) == "IMAGE_PIXELS"


@pytest.mark.parametrize("size", [(15, 40), (40, 15), (1, 1)])
def test_a_side_below_sixteen_pixels_is_refused(size: tuple[int, int]) -> None:
    assert refused(saved(Image.new("L", size))) == "IMAGE_SIZE"


@pytest.mark.parametrize(
    "extra",
    [
        chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(2**21))),
        chunk(b"iTXt", b"k\0\1\0\0\0" + zlib.compress(bytes(2**21))),
        chunk(b"iCCP", b"k\0\0" + zlib.compress(bytes(2**21))),
    ],
    ids=lambda extra: extra[4:8].decode(),
)
def test_a_text_that_unpacks_to_much_is_refused(extra: bytes) -> None:
    assert refused(with_chunk(saved(Image.fromarray(GREYS)), extra)) == "IMAGE_TEXT"


@pytest.mark.parametrize("damage", [b"", bytes(4)], ids=["whole", "damaged"])
def test_many_texts_take_no_more_time_than_a_few(damage: bytes) -> None:
    packed = zlib.compress(bytes(2**20))
    packed = packed[: len(packed) - len(damage)] + damage  # a checksum that is wrong
    one = chunk(b"zTXt", b"k\0\0" + packed)
    picture = saved(Image.fromarray(GREYS))
    assert read(with_chunk(picture, 16 * one)).digest == read(picture).digest
    assert refused(with_chunk(picture, 17 * one)) == "IMAGE_TEXT"
    # What follows is not looked at any more: the refusal comes before the next picture's end.
    assert refused(with_chunk(picture, 17 * one + chunk(b"acTL", b""))) == "IMAGE_TEXT"


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_a_film_cut_anywhere_is_refused(form: str) -> None:
    data = saved(Image.fromarray(GREYS), form)
    for length in range(4, len(data)):
        expected = {"IMAGE_TRUNCATED"} | ({"FORMAT_UNKNOWN"} if length < 8 else set())
        assert refused(data[:length]) in expected


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
@pytest.mark.parametrize(
    "tail", [b"PK\5\6" + bytes(18), b"<html>", b"%PDF-1.7", b"\x89PNG\r\n\x1a\n", b"x"]
)
def test_a_second_file_behind_the_picture_is_refused(form: str, tail: bytes) -> None:
    data = saved(Image.fromarray(GREYS), form)
    assert refused(data + tail) == "TRAILING"
    assert read(data + bytes(64)).digest == read(data).digest  # zeros fill up a block


def test_animated_pictures_are_refused() -> None:
    frames = [Image.fromarray(GREYS), Image.fromarray(GREYS.T.copy().reshape(24, 32))]
    data = saved(frames[0], "PNG", save_all=True, append_images=frames[1:])
    assert refused(data) == "IMAGE_FRAMES"


def test_pictures_of_several_frames_are_refused_in_other_formats_too() -> None:
    frames = [Image.fromarray(GREYS), Image.fromarray(GREYS[::-1])]
    for form in ("GIF", "TIFF"):
        data = saved(frames[0], form, save_all=True, append_images=frames[1:])
        assert refused(data) == "IMAGE_FRAMES"


@pytest.mark.parametrize(
    "data",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%PDF-1.7\n", b"PK\3\4" + bytes(40),
        b"<!DOCTYPE html>", b"a,b\n1,2\n", bytes(400),
        *(saved(Image.fromarray(GREYS), form) for form in ("GIF", "TIFF", "BMP", "WEBP")),
        saved(Image.fromarray(GREYS.astype(np.float32)), "TIFF"),
    ],
)  # fmt: skip
def test_other_formats_are_refused_with_what_a_film_is(data: bytes) -> None:
    with pytest.raises(Refused) as caught:
        read(data)
    assert caught.value.code == "FORMAT_UNKNOWN"
    assert "PNG, JPEG or DICOM" in caught.value.what


def test_an_empty_file_is_named() -> None:
    assert refused(b"") == "EMPTY_FILE"


def test_no_picture_is_decoded_in_this_process() -> None:
    """What the app's own process imports to have films read."""
    import subprocess

    code = "import sys; import core.readers.sandbox.read; print([m for m in sys.modules if m in M])"
    done = subprocess.run(
        [sys.executable, "-c", f"M = ('PIL', 'pydicom'); {code}"],
        cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_a_film_crosses_over_read_only(tmp_path: Path) -> None:
    path = tmp_path / "DOE^JANE"
    path.write_bytes(saved(Image.fromarray(GREYS)))
    film = sandbox.read_film(path, name="film 3")
    np.testing.assert_array_equal(film.pixels, GREYS)
    assert not film.pixels.flags.writeable
    assert film.digest == read(path.read_bytes()).digest
