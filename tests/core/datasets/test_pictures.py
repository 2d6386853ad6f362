"""One picture: its pixels as stored, or one clear refusal that names it; and many, streamed."""

import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from core.datasets.pictures import MAX_PIXELS, Scaling, decode, decode_all
from core.datasets.stream import StreamedSplit
from core.errors import Refused
from tests.core.datasets.written import CPU, all_images, claim, random_pixels, rows, write_png

# What comes out ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["png", "bmp", "ppm"])
def test_pixels_are_those_of_the_file(tmp_path: Path, suffix: str) -> None:
    pixels = random_pixels(1, height=9, width=7)[0]
    write_png(tmp_path / f"a.{suffix}", pixels)
    found = decode(tmp_path, f"a.{suffix}")
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, pixels)


def test_jpeg_and_webp_are_near_what_was_saved(tmp_path: Path) -> None:
    """Slow shades survive the loss of JPEG; red, green and blue are told apart."""
    ramp = np.linspace(40, 200, 16 * 24).reshape(16, 24)
    pixels = np.stack([ramp, ramp[::-1], ramp[:, ::-1]]).astype(np.uint8)
    for name, how in (("a.jpg", {"quality": 95, "subsampling": 0}), ("a.webp", {"lossless": True})):
        Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0))).save(
            tmp_path / name, **how
        )
        found = decode(tmp_path, name)
        np.testing.assert_allclose(found.astype(int), pixels, atol=6 if "jpg" in name else 0)


def test_grey_and_palette_and_transparent_pictures_have_three_channels(tmp_path: Path) -> None:
    pixels = random_pixels(1, 4, 9, 7)[0]
    colour = np.ascontiguousarray(pixels.transpose(1, 2, 0))
    Image.fromarray(colour[..., 0]).save(tmp_path / "grey.png")
    np.testing.assert_array_equal(decode(tmp_path, "grey.png"), pixels[[0, 0, 0]])
    Image.fromarray(colour).save(tmp_path / "alpha.png")
    np.testing.assert_array_equal(decode(tmp_path, "alpha.png"), pixels[:3])
    few = np.where(pixels[0] > 127, 255, 0).astype(np.uint8)
    indexed = Image.fromarray(few).convert("P")
    indexed.save(tmp_path / "palette.png", transparency=bytes(range(256)))
    np.testing.assert_array_equal(decode(tmp_path, "palette.png"), np.stack([few] * 3))


@pytest.mark.parametrize(
    ("noted", "upright"),
    [
        (1, lambda p: p),
        (2, lambda p: p[:, :, ::-1]),
        (3, lambda p: p[:, ::-1, ::-1]),
        (4, lambda p: p[:, ::-1]),
        (5, lambda p: p.swapaxes(1, 2)),
        (6, lambda p: p[:, ::-1].swapaxes(1, 2)),
        (7, lambda p: p[:, ::-1, ::-1].swapaxes(1, 2)),
        (8, lambda p: p[:, :, ::-1].swapaxes(1, 2)),
        (9, lambda p: p),
    ],
)
def test_a_picture_is_turned_as_its_camera_noted(
    tmp_path: Path, noted: int, upright: Callable[[np.ndarray], np.ndarray]
) -> None:
    """The number says where the first stored row and column belong; 6: right side and top."""
    pixels = random_pixels(1, height=9, width=7)[0]
    exif = Image.Exif()
    exif[0x0112] = noted
    Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0))).save(
        tmp_path / "a.png", exif=exif
    )
    np.testing.assert_array_equal(decode(tmp_path, "a.png"), upright(pixels))


def test_pictures_are_resized_to_height_and_width(tmp_path: Path) -> None:
    """The middle of a block of one colour keeps it; the size is height first."""
    blocks = random_pixels(1, height=2, width=3)[0]
    write_png(tmp_path / "a.png", blocks.repeat(40, axis=1).repeat(40, axis=2))
    found = decode(tmp_path, "a.png", (20, 60))
    assert found.shape == (3, 20, 60)
    centres = found[:, 5::10, 10::20]
    np.testing.assert_array_equal(centres, blocks)
    np.testing.assert_array_equal(decode(tmp_path, "a.png", (80, 120)), decode(tmp_path, "a.png"))
    assert decode(tmp_path, "a.png", (120, 80)).shape == (3, 120, 80)


# What is refused --------------------------------------------------------------------------------


def refusal(root: Path, name: str) -> str:
    with pytest.raises(Refused) as excinfo:
        decode(root, name)
    assert name in excinfo.value.what
    assert excinfo.value.location == name
    assert str(root) not in str(excinfo.value)
    return excinfo.value.code


@pytest.mark.parametrize("suffix", ["jpg", "png", "bmp", "webp"])
def test_a_picture_cut_short_is_refused_by_name(tmp_path: Path, suffix: str) -> None:
    write_png(tmp_path / f"a.{suffix}", random_pixels(1, height=40, width=40)[0])
    whole = (tmp_path / f"a.{suffix}").read_bytes()
    (tmp_path / f"a.{suffix}").write_bytes(whole[: len(whole) * 2 // 3])
    assert refusal(tmp_path, f"a.{suffix}") == "IMAGE_TRUNCATED"


def test_what_is_no_picture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_text("<!DOCTYPE html>")
    assert refusal(tmp_path, "a.jpg") == "FORMAT_UNKNOWN"
    (tmp_path / "b.jpg").write_bytes(b"")
    assert refusal(tmp_path, "b.jpg") == "FORMAT_UNKNOWN"
    Image.new("RGB", (4, 4)).save(tmp_path / "c.tiff")
    (tmp_path / "c.tiff").rename(tmp_path / "c.jpg")  # told by its bytes, and not among ours
    assert refusal(tmp_path, "c.jpg") == "FORMAT_UNKNOWN"
    assert refusal(tmp_path, "missing.jpg") == "IMAGE_TRUNCATED"


@pytest.mark.parametrize("side", [7_072, 13_000, 30_000])
@pytest.mark.filterwarnings("ignore:Image size:PIL.Image.DecompressionBombWarning")
def test_a_picture_of_too_many_pixels_is_refused_by_its_header(tmp_path: Path, side: int) -> None:
    """7,072 squared is just above 50 million; Pillow itself warns from 89 and stops at 179."""
    assert 7_071**2 < MAX_PIXELS < 7_072**2
    claim(tmp_path / "a.png", side, side)
    assert refusal(tmp_path, "a.png") == "IMAGE_PIXELS"


def test_a_warning_of_pillow_that_is_an_error_is_the_same_refusal(tmp_path: Path) -> None:
    claim(tmp_path / "a.png", 13_000, 13_000)
    assert refusal(tmp_path, "a.png") == "IMAGE_PIXELS"  # warnings are errors in these tests


def test_deep_and_moving_pictures_are_refused(tmp_path: Path) -> None:
    deep = np.arange(35, dtype=np.uint16).reshape(5, 7) * 1000
    Image.fromarray(deep).save(tmp_path / "deep.png")
    assert refusal(tmp_path, "deep.png") == "DTYPE"
    frames = [Image.new("RGB", (6, 6), colour) for colour in ("red", "blue")]
    for name in ("film.png", "film.webp"):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
        assert refusal(tmp_path, name) == "IMAGE_FRAMES"


@given(st.data())
def test_altered_bytes_give_pixels_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("altered")
    name = f"a.{data.draw(st.sampled_from(['jpg', 'png', 'bmp', 'ppm', 'webp']))}"
    write_png(folder / name, random_pixels(1, height=9, width=7)[0])
    content = bytearray((folder / name).read_bytes())
    places = st.integers(0, min(len(content), 300) - 1)
    for place in data.draw(st.lists(places, min_size=1, max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    (folder / name).write_bytes(content)
    with suppress(Refused):
        assert decode(folder, name, (8, 8)).shape == (3, 8, 8)


# Many -------------------------------------------------------------------------------------------


@pytest.fixture
def streamed(tmp_path: Path) -> StreamedSplit:
    """Forty pictures of 8 x 6 pixels, from `random_pixels`."""
    names = tuple(f"{row:02}.png" for row in range(40))
    for name, pixels in zip(names, random_pixels(40), strict=True):
        write_png(tmp_path / name, pixels)
    return StreamedSplit(
        targets=torch.zeros(40, dtype=torch.int64), row_ids=names, root=tmp_path, size=(8, 6)
    )


def test_streamed_images_come_in_the_order_asked(streamed: StreamedSplit) -> None:
    batches = [rows(3, 1, 3), *rows(*range(39, -1, -1)).split(4), rows(8)]
    found = list(streamed.images(batches, CPU))
    assert len(found) == len(batches)
    for images, asked in zip(found, batches, strict=True):
        assert images.dtype == torch.uint8
        np.testing.assert_array_equal(images.numpy(), random_pixels(40)[asked.numpy()])


def test_all_at_once_and_streamed_are_the_same(streamed: StreamedSplit) -> None:
    pixels = decode_all(streamed.root, streamed.row_ids, (8, 6))
    assert pixels is not None
    np.testing.assert_array_equal(pixels, random_pixels(40))
    np.testing.assert_array_equal(all_images(streamed), pixels)


def test_pictures_of_other_sizes_are_not_taken_together(streamed: StreamedSplit) -> None:
    write_png(streamed.root / "39.png", random_pixels(1, height=6, width=8)[0])
    assert decode_all(streamed.root, streamed.row_ids, (8, 6)) is None


def test_a_broken_picture_stops_the_stream_at_its_batch(streamed: StreamedSplit) -> None:
    (streamed.root / "13.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (streamed.root / "33.png").write_bytes(b"")
    stream = streamed.images(torch.arange(40).split(4), CPU)
    for start in (0, 4, 8):
        images = random_pixels(40)[start : start + 4]
        np.testing.assert_array_equal(next(stream).numpy(), images)
    with pytest.raises(Refused, match=r"13\.png"):
        next(stream)
    with pytest.raises(Refused, match=r"13\.png"):
        decode_all(streamed.root, streamed.row_ids, (8, 6))


def test_a_stream_left_early_leaves_no_thread(streamed: StreamedSplit) -> None:
    stream = streamed.images(torch.arange(40).split(2), CPU)
    assert isinstance(stream, Generator)
    next(stream)
    stream.close()
    assert [t.name for t in threading.enumerate() if t.name.startswith("pictures")] == []


def test_a_picture_that_must_cover_keeps_proportions_and_loses_both_ends(tmp_path):
    ramp = np.tile(np.arange(120, dtype=np.uint8), (60, 1))
    Image.fromarray(ramp).save(tmp_path / "wide.png")
    found = decode(tmp_path, "wide.png", (60, 60), Scaling(cover=True))
    np.testing.assert_array_equal(found[0, 0], np.arange(30, 90))
    squeezed = decode(tmp_path, "wide.png", (60, 60))
    assert squeezed[0, 0, 0] < 3
    assert squeezed[0, 0, -1] > 116


def test_bicubic_and_bilinear_are_those_of_pillow(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    for bicubic, method in ((True, Image.Resampling.BICUBIC), (False, Image.Resampling.BILINEAR)):
        expected = np.asarray(Image.fromarray(pixels).resize((16, 12), method)).transpose(2, 0, 1)
        found = decode(tmp_path, "a.png", (12, 16), Scaling(bicubic=bicubic))
        np.testing.assert_array_equal(found, expected)


def photograph(side: int) -> Image.Image:
    """Slow shades, edges and noise of three colours, as photographs have them."""
    rng = np.random.default_rng(7)
    ramp = np.add.outer(np.linspace(0, 120, side), np.linspace(0, 60, side))[..., None]
    edges = 60.0 * ((np.arange(side) // (side // 9)) % 2)[:, None, None]
    noise = rng.normal(0, 6, (side // 4, side // 4, 3)).repeat(4, axis=0).repeat(4, axis=1)
    return Image.fromarray(np.clip(ramp + edges * [1, 0.5, 0.2] + noise, 0, 255).astype(np.uint8))


@pytest.mark.parametrize("cover", [False, True])
@pytest.mark.parametrize(("size", "reduced"), [((66, 66), True), ((68, 68), False)])
def test_a_jpeg_of_six_times_the_size_is_decoded_at_half_of_its_own(tmp_path, size, reduced, cover):
    """400 is 6.06 times 66, but not 6 times 68; what libjpeg leaves out is hardly seen."""
    photograph(400).crop((0, 0, 400, 399)).save(tmp_path / "a.jpg", quality=90)
    whole = Image.open(tmp_path / "a.jpg").convert("RGB")
    box = (0.5, 0, 399.5, 399) if cover else None
    expected = np.asarray(whole.resize(size, Image.Resampling.BILINEAR, box)).transpose(2, 0, 1)
    found = decode(tmp_path, "a.jpg", size, Scaling(cover=cover))
    assert np.array_equal(found, expected) != reduced
    off = np.abs(found.astype(int) - expected)
    assert off.mean() < 0.4
    assert off.max() <= 8


def test_a_turned_picture_is_scaled_as_it_is_seen(tmp_path):
    """Held on its side, a picture of 90 x 40 is shown at 20 x 45, and a large JPEG is reduced."""
    pixels = np.random.default_rng(1).integers(0, 256, (40, 90, 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    expected = Image.fromarray(pixels).resize((45, 20), Image.Resampling.BILINEAR)
    turned = np.rot90(np.asarray(expected), -1).transpose(2, 0, 1)
    np.testing.assert_array_equal(decode(tmp_path, "a.png", (45, 20)), turned)


def test_grey_pictures_have_the_pixels_of_equal_colours(tmp_path):
    grey = np.random.default_rng(2).integers(0, 256, (90, 70), np.uint8)
    Image.fromarray(grey).save(tmp_path / "grey.png")
    Image.fromarray(np.stack([grey] * 3, axis=2)).save(tmp_path / "colour.png")
    for scaling in (Scaling(), Scaling(cover=True, bicubic=True)):
        found = [decode(tmp_path, f"{name}.png", (32, 24), scaling) for name in ("grey", "colour")]
        np.testing.assert_array_equal(*found)
