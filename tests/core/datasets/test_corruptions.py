"""What every corruption keeps: shape, type, seeds, rows apart; and what is refused."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.datasets.corruptions import corrupt
from core.datasets.shifts import CORRUPTIONS, OWN, SEVERITIES
from core.errors import Refused, UsageError
from tests.core.datasets.written import random_pixels

RANDOM = [name for name in OWN if CORRUPTIONS[name].random]


def scenes(n: int, channels: int = 3, height: int = 32, width: int = 32) -> np.ndarray:
    """Images with slopes, edges, flat parts, black and white, all different."""
    rng = np.random.default_rng(20)
    down, across = np.mgrid[:height, :width] / max(height, width)
    out = np.empty((n, channels, height, width))
    for row in range(n):
        for channel in range(channels):
            slope = rng.uniform(-1, 1, 2) @ np.stack([down, across]).reshape(2, -1)
            out[row, channel] = 0.5 + 0.5 * np.sin(6 * slope.reshape(height, width) + row)
        top, left = rng.integers(0, (height - 3, width - 3))
        out[row, :, top : top + height // 3, left : left + width // 3] = rng.random(
            (channels, 1, 1)
        )
        out[row, :, :2, :2], out[row, :, -2:, -2:] = 0, 1
    return np.uint8(out * 255)


IMAGES = scenes(12)
ROWS = np.arange(12)


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize(
    ("channels", "height", "width"), [(1, 8, 8), (3, 8, 8), (3, 9, 14), (1, 33, 20), (3, 40, 64)]
)
def test_images_of_any_size_keep_their_shape_and_type(
    name: str, channels: int, height: int, width: int
) -> None:
    images = scenes(3, channels, height, width)
    before = images.copy()
    for severity in SEVERITIES:
        out = corrupt(images, name, severity, seed=0, rows=np.arange(3))
        assert (out.shape, out.dtype) == (images.shape, np.uint8)
    np.testing.assert_array_equal(images, before)
    assert corrupt(images[:0], name, 1, seed=0, rows=np.arange(0)).shape == (0, *images.shape[1:])


@pytest.mark.parametrize("name", OWN)
def test_batches_and_order_change_nothing(name: str) -> None:
    images = np.concatenate([IMAGES] * 8)  # more than one chunk
    rows = np.arange(96) + 1000
    whole = corrupt(images, name, 3, seed=5, rows=rows)
    order = np.random.default_rng(1).permutation(96)
    parts = [corrupt(images[some], name, 3, seed=5, rows=rows[some]) for some in np.split(order, 8)]
    np.testing.assert_array_equal(np.concatenate(parts), whole[order])
    for row in (0, 50, 95):
        alone = corrupt(images[row : row + 1], name, 3, seed=5, rows=rows[row : row + 1])
        np.testing.assert_array_equal(alone[0], whole[row])


@given(
    name=st.sampled_from(OWN),
    severity=st.sampled_from(SEVERITIES),
    seed=st.integers(0, 2**63 - 1),
    rows=st.lists(st.integers(0, 2**40), min_size=1, max_size=6, unique=True),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_a_subset_of_rows_is_a_subset_of_images(
    name: str, severity: int, seed: int, rows: list[int], data: st.DataObject
) -> None:
    some = data.draw(st.lists(st.sampled_from(range(len(rows))), min_size=1, max_size=4))
    numbers, images = np.array(rows), IMAGES[: len(rows), :, :16, :16]
    whole = corrupt(images, name, severity, seed=seed, rows=numbers)
    chosen = corrupt(images[some], name, severity, seed=seed, rows=numbers[some])
    np.testing.assert_array_equal(chosen, whole[some])


@pytest.mark.parametrize("name", RANDOM)
def test_other_seeds_and_rows_draw_anew(name: str) -> None:
    images = np.repeat(IMAGES[:1], 12, axis=0)
    base = corrupt(images, name, 4, seed=0, rows=ROWS)
    other = (corrupt(images, name, 4, seed=1, rows=ROWS) != base).any(axis=(1, 2, 3))
    different = len({image.tobytes() for image in base})
    if name == "motion_blur":  # streaks lie on whole pixels, so close directions are one
        assert different >= 6
        assert other.sum() >= 6
    else:
        assert different == 12
        assert other.all()


@pytest.mark.parametrize("name", [name for name in OWN if name not in RANDOM])
def test_the_others_draw_nothing(name: str) -> None:
    base = corrupt(IMAGES, name, 4, seed=0, rows=ROWS)
    np.testing.assert_array_equal(corrupt(IMAGES, name, 4, seed=1, rows=ROWS + 9), base)


def test_names_draw_apart() -> None:
    """Gaussian and speckle noise share their code, not their draws."""
    white = np.full((1, 1, 32, 32), 128, np.uint8)
    first, second = (
        corrupt(white, name, 1, seed=0, rows=np.arange(1)).astype(float).ravel()
        for name in ("gaussian_noise", "speckle_noise")
    )
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.15  # 1,024 values: 4.8 deviations of 0


IN_ORDER = ((1, 2), (2, 3), (3, 4), (4, 5))
# Where the script's constants do not grow in one direction: glass has a second round from 4, water
# becomes mud at 4, colour is taken away and then added, the elastic shear shrinks while its ripple
# grows, and frost replaces the image from 3.
GROWS = {
    "glass_blur": ((1, 4), (2, 4), (3, 4), (3, 5)),
    "spatter": ((1, 2), (2, 3), (4, 5)),
    "saturate": ((1, 2), (3, 4), (4, 5)),
    "elastic_transform": ((5, 4), (4, 3), (3, 2), (2, 1)),
    "frost_procedural": ((1, 2),),
}


@pytest.mark.parametrize("name", OWN)
def test_severity_takes_images_further_away(name: str) -> None:
    images = scenes(60)
    away = {
        severity: np.abs(
            corrupt(images, name, severity, seed=0, rows=np.arange(60)) - images.astype(float)
        ).mean()
        for severity in SEVERITIES
    }
    assert min(away.values()) > 0
    for less, more in GROWS.get(name, IN_ORDER):
        assert away[less] < away[more], (less, more)


def test_what_changes_direction_does_so_as_documented() -> None:
    images = scenes(60)

    def colour(severity: int) -> float:
        out = corrupt(images, "saturate", severity, seed=0, rows=np.arange(60)).astype(float)
        return float((out.max(axis=1) - out.min(axis=1)).mean())

    before = float((images.max(axis=1).astype(float) - images.min(axis=1)).mean())
    assert colour(2) < colour(1) < before < colour(3) < colour(4) < colour(5)


def test_grey_has_no_colour_to_change() -> None:
    grey = scenes(4, channels=1)
    for severity in SEVERITIES:
        out = corrupt(grey, "saturate", severity, seed=0, rows=np.arange(4))
        np.testing.assert_array_equal(out, grey)


@pytest.mark.parametrize("name", sorted(set(OWN) - {"saturate", "jpeg_compression"}))
def test_a_grey_image_is_the_luma_of_the_same_image_in_colour(name: str) -> None:
    grey = scenes(6, channels=1)
    one = corrupt(grey, name, 3, seed=2, rows=np.arange(6))
    three = corrupt(np.repeat(grey, 3, axis=1), name, 3, seed=2, rows=np.arange(6))
    gap = one - np.tensordot(three, [0.299, 0.587, 0.114], axes=(1, 0))[:, None]
    if CORRUPTIONS[name].group == "noise":  # channels draw apart
        assert abs(gap.mean()) < 1.5
    else:
        cut = (three == 255).any(axis=1, keepdims=True)  # a cut channel has lost some of its light
        assert np.abs(gap[~cut]).max() < 1.01


@pytest.mark.parametrize("level", [0, 255])
@pytest.mark.parametrize("name", OWN)
def test_black_and_white_images_stay_numbers(name: str, level: int) -> None:
    """Nothing is divided by 0, and nothing wraps around."""
    flat = np.full((3, 3, 8, 8), level, np.uint8)
    out = corrupt(flat, name, 5, seed=0, rows=np.arange(3)).astype(int)
    calm = {"defocus_blur", "zoom_blur", "gaussian_blur", "motion_blur", "glass_blur", "contrast"}
    if name in calm | {"pixelate", "jpeg_compression", "elastic_transform"}:
        assert np.abs(out - level).max() <= 1
    assert np.isfinite(out).all()


def test_small_images_without_a_drop_of_water_stay_as_they_are() -> None:
    images = scenes(200, height=8, width=8)
    out = corrupt(images, "spatter", 1, seed=0, rows=np.arange(200)).astype(int)
    same = (np.abs(out - images) <= 1).all(axis=(1, 2, 3))
    assert 0 < same.sum() < 200
    assert (out - images).min() >= -1  # water only adds


@pytest.mark.parametrize("name", ["frost", "rain", "", "Fog"])
def test_unknown_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="SETTING"):
        corrupt(IMAGES, name, 1, seed=0, rows=ROWS)


@pytest.mark.parametrize("severity", [0, 6, -1])
def test_unknown_severities_are_refused(severity: int) -> None:
    with pytest.raises(UsageError, match="SETTING"):
        corrupt(IMAGES, "fog", severity, seed=0, rows=ROWS)


@pytest.mark.parametrize("shape", [(1, 3, 7, 8), (1, 3, 8, 7), (1, 2, 8, 8), (1, 4, 8, 8)])
def test_images_of_other_forms_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(Refused, match="IMAGE_SIZE"):
        corrupt(np.zeros(shape, np.uint8), "fog", 1, seed=0, rows=np.arange(1))


def test_images_that_are_not_contiguous_are_read_as_they_stand() -> None:
    backwards = IMAGES[::-1, :, :, ::-1]
    for name in ("fog", "jpeg_compression", "glass_blur"):
        one = corrupt(backwards, name, 2, seed=0, rows=ROWS)
        other = corrupt(np.ascontiguousarray(backwards), name, 2, seed=0, rows=ROWS)
        assert hashlib.sha256(one.tobytes()).digest() == hashlib.sha256(other.tobytes()).digest()


def test_random_pixels_are_changed_too() -> None:
    pixels = random_pixels(2, 3, 16, 16)
    for name in OWN:
        assert (corrupt(pixels, name, 5, seed=0, rows=np.arange(2)) != pixels).any()
