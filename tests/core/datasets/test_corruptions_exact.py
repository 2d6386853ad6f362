"""Corruptions beside a second, slow implementation; their parts beside OpenCV and scipy."""

import cv2
import numpy as np
import pytest
from scipy import ndimage

from core.datasets import corruptions
from core.datasets.corruptions import corrupt
from core.datasets.shifts import SEVERITIES
from tests.core.datasets.test_corruptions import scenes
from tests.reference import slow_corruptions as slow

COLOUR = np.concatenate([scenes(2, 3, 16, 16), scenes(1, 3, 32, 32)[:, :, 8:24, 8:24]])
GREY = scenes(2, 1, 16, 16)
OBLONG = scenes(1, 3, 10, 17)
LEVELS = 2  # of 255


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", slow.DETERMINISTIC)
def test_deterministic_ones_are_what_their_definitions_say(name: str, severity: int) -> None:
    for images in (COLOUR, GREY, OBLONG):
        ours = corrupt(images, name, severity, seed=0, rows=np.arange(len(images)))
        for image, found in zip(images, ours, strict=True):
            expected = np.floor(np.clip(slow.DETERMINISTIC[name](image, severity), 0, 255))
            assert np.abs(found - expected).max() <= LEVELS


@pytest.mark.parametrize("severity", SEVERITIES)
def test_grey_jpeg_is_rounded_cosines(severity: int) -> None:
    """Blocks with a coefficient half-way between two steps may go either way, and are left out."""
    ours = corrupt(GREY, "jpeg_compression", severity, seed=0, rows=np.arange(2))
    n_sure = 0
    for image, found in zip(GREY, ours, strict=True):
        expected, sure = slow.jpeg_of_grey(image, severity)
        assert np.abs(found - expected)[sure].max(initial=0) <= LEVELS
        n_sure += sure.sum()
    assert n_sure >= GREY.size / 4


def test_colours_of_every_kind_keep_their_hue() -> None:
    """All corners and edges of the colour cube, where hue and saturation are at their ends."""
    ends = np.array([0, 1, 2, 127, 128, 254, 255], np.uint8)
    cube = np.stack(np.meshgrid(ends, ends, ends)).reshape(1, 3, 49, 7)
    cube = np.concatenate([cube, cube], axis=3)
    for name in ("brightness", "saturate"):
        for severity in SEVERITIES:
            ours = corrupt(cube, name, severity, seed=0, rows=np.arange(1))[0]
            expected = slow.DETERMINISTIC[name](cube[0], severity)
            assert np.abs(ours - np.floor(expected)).max() <= 1


# Parts of the random ones -----------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [-135, -100.5, -60, -45, -10, 0, 26.565, 33, 45])
def test_streaks(degrees: float) -> None:
    for radius, sigma in [*corruptions.MOTION, (14, 12.0)]:
        ours = corruptions.streaked(COLOUR / 1.0, radius, sigma, np.full(3, degrees))
        expected = slow.streak(COLOUR[1], radius, sigma, degrees)
        assert np.abs(ours[1] - expected).max() < 1e-4


def test_a_point_is_smeared_to_one_side_within_the_angles_of_the_script() -> None:
    points = np.zeros((200, 1, 41, 41), np.uint8)
    points[:, :, 20, 20] = 255
    smeared = corrupt(points, "motion_blur", 5, seed=3, rows=np.arange(200))
    _, _, rows, columns = np.nonzero(smeared)
    assert columns.max() == 20  # light comes from the right
    assert (np.abs(rows - 20) <= 20 - columns).all()  # at most 45 degrees
    assert {(rows > 20).any(), (rows < 20).any()} == {True}


@pytest.mark.parametrize("rounds", [1, 2])
def test_glass_moves_pixels_as_the_script_does(rounds: int) -> None:
    place = {1: 2, 2: 4}[rounds]
    images = COLOUR
    draws = [np.random.default_rng(row) for row in range(len(images))]
    ours = corruptions.glass_blur(images / 255.0, place, draws)
    sigma = corruptions.GLASS[place][0]
    for row, image in enumerate(images):
        steps = np.random.default_rng(row).integers(-1, 1, (rounds, 2, 14, 14))
        weights = slow.bell(sigma, int(4 * sigma + 0.5))
        reach = len(weights) // 2
        span = range(-reach, reach + 1)
        kernel = {(a, b): weights[a + reach] * weights[b + reach] for a in span for b in span}
        moved = slow.glass(np.floor(slow.filtered(image, kernel, slow.edge) + 1e-9), steps)
        expected = slow.filtered(moved, kernel, slow.edge)
        gap = np.abs(255 * ours[row] - expected)
        assert gap.max() < 1.01  # of a level, where a value was cut just above or below a whole one
        assert (gap > 0.01).mean() < 0.1


@pytest.mark.parametrize("side", [8, 16, 32])
@pytest.mark.parametrize("decay", [3.0, 2.5, 2.0, 1.75])
def test_clouds_are_diamond_squares(side: int, decay: float) -> None:
    uniform = np.random.default_rng(side).uniform(-1, 1, (3, side, side))
    ours = corruptions.plasma(uniform, decay)
    for row in range(3):
        np.testing.assert_allclose(ours[row], slow.plasma(uniform[row], decay), atol=1e-12)


@pytest.mark.parametrize("factor", [1.0, 1.01, 1.13, 1.25, 1.75, 2.25])
@pytest.mark.parametrize("side", [8, 9, 32])
def test_zooms_are_those_of_scipy(factor: float, side: int) -> None:
    image = np.random.default_rng(0).random((1, 2, side, side))
    inner = int(np.ceil(side / factor))
    top = (side - inner) // 2
    cut = image[0, :, top : top + inner, top : top + inner]
    # `nearest`, or scipy blackens a last row that rounding puts an instant outside
    large = ndimage.zoom(cut, (1, factor, factor), order=1, mode="nearest")
    trim = (large.shape[1] - side) // 2
    expected = large[:, trim : trim + side, trim : trim + side]
    np.testing.assert_allclose(corruptions.zoomed(image, factor)[0], expected, atol=1e-9)


@pytest.mark.parametrize("mode", ["mirror", "reflect"])
def test_values_between_pixels_are_those_of_scipy(mode: str) -> None:
    rng = np.random.default_rng(1)
    light = rng.random((3, 2, 9, 13))
    down, across = rng.uniform(-30, 40, (2, 3, 9, 13))
    ours = corruptions.between(light, down, across, mode)
    for row in range(3):
        for channel in range(2):
            places = [down[row], across[row]]
            expected = ndimage.map_coordinates(light[row, channel], places, order=1, mode=mode)
            np.testing.assert_allclose(ours[row, channel], expected, atol=1e-12)


def test_shears_are_those_of_opencv() -> None:
    rng = np.random.default_rng(2)
    moves = rng.uniform(-2.5, 2.5, (40, 3, 2))
    back = corruptions._back(32, 32, moves)
    points = np.array([[26, 26], [26, 6], [6, 6]], np.float32)
    for move, found in zip(moves, back, strict=True):
        affine = cv2.getAffineTransform((points + move).astype(np.float32), points)
        np.testing.assert_allclose(found, affine, atol=1e-5)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_drops_are_lit_as_by_opencv(place: int) -> None:
    mean, deviation, sigma, least, *_ = corruptions.SPATTER[place]
    drawn = np.random.default_rng(place).normal(mean, deviation, (60, 32, 32))
    liquid = corruptions.bell(drawn, sigma)
    greys = np.floor(np.where(liquid < least, 0, liquid) * 255) % 256
    ours = corruptions._relief(greys)
    for grey, found in zip(greys.astype(np.uint8), ours, strict=True):
        distance = cv2.distanceTransform(255 - cv2.Canny(grey, 50, 150), cv2.DIST_L2, 5)
        height = cv2.blur(np.minimum(distance, 20), (3, 3)).astype(np.uint8)
        kernel = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
        lit = cv2.filter2D(cv2.equalizeHist(height), cv2.CV_8U, kernel)
        assert np.abs(found - cv2.blur(lit, (3, 3))).max() <= 1


def test_an_image_without_edges_has_flat_drops() -> None:
    assert (
        corruptions._relief(np.zeros((2, 8, 8))).max()
        == corruptions._relief(np.zeros((2, 8, 8))).min()
    )


# Formulas around the parts ----------------------------------------------------------------------


@pytest.mark.parametrize("severity", SEVERITIES)
def test_frost_mixes_its_texture_in(severity: int) -> None:
    kept, frost = [(1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)][severity - 1]
    images, rows = scenes(20), np.arange(20)
    mixed = corrupt(images, "frost_procedural", severity, seed=6, rows=rows)
    alone = corrupt(np.zeros_like(images), "frost_procedural", severity, seed=6, rows=rows)
    assert 0.9 * frost * 255 <= alone.max() <= frost * 255  # ice is nearly white
    expected = np.minimum(np.floor(kept * images.astype(float) + alone), 255)
    assert np.abs(mixed - expected).max() <= 1


@pytest.mark.parametrize("severity", SEVERITIES)
def test_fog_keeps_the_top_and_lifts_the_rest(severity: int) -> None:
    thickness = [0.2, 0.5, 0.75, 1, 1.5][severity - 1]
    for level in (0, 90, 255):
        flat = np.full((5, 3, 32, 32), level, np.uint8)
        found = corrupt(flat, "fog", severity, seed=0, rows=np.arange(5)).astype(int)
        light = level / 255
        least, most = (
            255 * (light + thickness * cloud) * light / (light + thickness) for cloud in (0, 1)
        )
        for image in found:  # a map of 32 x 32 points has its darkest and its brightest inside
            assert abs(image.min() - np.floor(least)) <= 1
            assert abs(image.max() - np.floor(min(most, 255))) <= 1


@pytest.mark.parametrize("severity", SEVERITIES)
def test_snow_whitens_and_falls_twice(severity: int) -> None:
    kept = [0.95, 0.9, 0.9, 0.85, 0.8][severity - 1]
    black = np.zeros((20, 3, 32, 32), np.uint8)
    found = corrupt(black, "snow", severity, seed=0, rows=np.arange(20))
    assert found.min() == int(255 * (1 - kept) * 0.5)
    assert (found > found.min()).any(axis=(1, 2, 3)).all()
    np.testing.assert_array_equal(found, found[:, :, ::-1, ::-1])
    white = np.full((2, 3, 32, 32), 255, np.uint8)
    assert corrupt(white, "snow", severity, seed=0, rows=np.arange(2)).min() == 255


def test_snow_falls_rather_than_drifts() -> None:
    """Streaks lie within 45 degrees of the vertical: pixels are more alike along it."""
    black = np.zeros((100, 1, 32, 32), np.uint8)
    light = corrupt(black, "snow", 4, seed=0, rows=np.arange(100)).astype(float)
    beside = np.abs(np.diff(light, axis=3)).mean()
    below = np.abs(np.diff(light, axis=2)).mean()
    assert below < 0.8 * beside


def test_constants_that_no_formula_above_shows() -> None:
    """Copied a second time from make_cifar_c.py, by column instead of by severity."""
    assert list(zip(*corruptions.GLASS, strict=True)) == [
        (0.05, 0.25, 0.4, 0.25, 0.4),
        (1, 1, 1, 2, 2),
    ]
    assert list(zip(*corruptions.MOTION, strict=True)) == [(6, 6, 6, 8, 9), (1, 1.5, 2, 2, 2.5)]
    assert list(zip(*corruptions.FOG, strict=True)) == [
        (0.2, 0.5, 0.75, 1, 1.5),
        (3, 3, 2.5, 2, 1.75),
    ]
    assert list(zip(*corruptions.SNOW, strict=True)) == [
        (0.1, 0.1, 0.15, 0.25, 0.3),
        (0.2, 0.2, 0.3, 0.3, 0.3),
        (1, 1, 1.75, 2.25, 1.25),
        (0.6, 0.5, 0.55, 0.6, 0.65),
        (8, 10, 10, 12, 14),
        (3, 4, 4, 6, 12),
        (0.95, 0.9, 0.9, 0.85, 0.8),
    ]
    assert list(zip(*corruptions.SPATTER, strict=True)) == [
        (0.62, 0.65, 0.65, 0.65, 0.65),
        (0.1, 0.1, 0.3, 0.1, 0.1),
        (0.7, 0.8, 1, 0.7, 0.5),
        (0.7, 0.7, 0.69, 0.69, 0.68),
        (0.5, 0.5, 0.5, 0.6, 0.6),
        (0, 0, 0, 1, 1),
    ]
    assert list(zip(*corruptions.ELASTIC, strict=True)) == [
        (0, 0.05, 0.08, 0.1, 0.1),
        (0, 0.2, 0.06, 0.04, 0.03),
        (0.08, 0.07, 0.06, 0.05, 0.03),
    ]
