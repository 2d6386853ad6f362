import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import ndimage

from core.xray import heat

WHOLE = heat.WHOLE


def coarse(seed: int, shape=(7, 7)):
    return np.random.default_rng(seed).random(shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(7, 7), (4, 6), (1, 3)])
def test_whole_frame_is_scipys_bilinear_zoom(shape):
    found = heat.on_film(coarse(0, shape), WHOLE, (56, 84))
    zoomed = ndimage.zoom(
        coarse(0, shape).astype(float),
        (56 / shape[0], 84 / shape[1]),
        order=1,
        mode="nearest",
        grid_mode=True,
    )
    np.testing.assert_allclose(found, zoomed, atol=1e-5)


def test_a_cell_lies_in_its_part_of_the_frame():
    found = heat.on_film(np.array([[0, 0], [0, 8]], np.float32), (0.25, 0.5, 0.75, 1.0), (8, 8))
    assert found[7, 5] == 8.0  # beyond the middle of the last cell it stays
    assert found[:4].max() == 0.0  # above the frame
    assert found[:, :2].max() == 0.0
    assert found[:, 6:].max() == 0.0  # the network saw nothing right of it
    # Between the middles of the cells, a quarter and three quarters of the way.
    np.testing.assert_allclose(found[6, 2:6], [0.0, 1.5, 4.5, 6.0])


@given(st.integers(0, 10_000), st.floats(0, 0.4), st.floats(0.6, 1))
def test_no_value_is_invented(seed, start, end):
    cells = coarse(seed, (3, 5))
    found = heat.on_film(cells, (start, 0.0, end, 1.0), (40, 40))
    assert found.min() >= 0.0
    assert found.max() <= cells.max() + 1e-6


def test_one_scale_keeps_weak_maps_weak():
    weak, strong = np.full((2, 2), 0.1, np.float32), np.full((2, 2), 2.0, np.float32)
    top = heat.top_of([weak, strong])
    assert heat.shares(weak, top).max() == pytest.approx(0.05)
    assert heat.shares(strong, top).min() == 1.0
    assert heat.top_of([]) == 0.0


def test_a_blank_map_has_no_colour():
    nothing = np.zeros((3, 3), np.float32)
    assert heat.blank(nothing)
    assert heat.blank(np.full((3, 3), np.nan, np.float32))
    assert not heat.blank(np.full((3, 3), 0.01, np.float32))
    film = np.arange(9, dtype=np.uint8).reshape(3, 3)
    drawn = heat.overlay(film, heat.shares(nothing, 0.0), 1.0)
    np.testing.assert_array_equal(drawn, np.repeat(film[..., None], 3, axis=2))


def lightness(colour):
    """CIE L* of sRGB, by the formulas of IEC 61966-2-1 and CIE 1976."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour / 255]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def test_colours_grow_lighter_in_even_steps():
    table = heat.colours(np.linspace(0, 1, 11, dtype=np.float32)[None])[0]
    steps = np.diff([lightness(colour) for colour in table])
    assert steps.min() > 5.0
    assert steps.max() < 15.0


def test_opacity_goes_from_the_film_to_the_colours():
    film = np.full((1, 3), 100, np.uint8)
    share = np.array([[0.0, 0.2, 1.0]], np.float32)
    np.testing.assert_array_equal(heat.overlay(film, share, 0.0), np.full((1, 3, 3), 100))
    full = heat.overlay(film, share, 1.0)
    assert full[0, 0].tolist() == [100, 100, 100]
    assert full[0, 2].tolist() == [0xFC, 0xFF, 0xA4]
    half = heat.colours(share)[0, 1] * 0.5 + 50  # 0.2 of the scale is half of STRONG
    np.testing.assert_allclose(full[0, 1], half, atol=0.51)


def test_contours_run_inside_their_level_and_leave_the_rest():
    share = np.zeros((40, 40), np.float32)
    share[10:30, 10:30] = 0.6
    drawn = heat.contours(np.full((40, 40), 90, np.uint8), share, (0.5,))
    changed = (drawn != 90).any(axis=2)
    expected = np.zeros((40, 40), bool)
    expected[10:30, 10:30] = True
    expected[12:28, 12:28] = False
    np.testing.assert_array_equal(changed, expected)
    assert not (
        heat.contours(np.full((9, 9), 90, np.uint8), np.zeros((9, 9), np.float32)) != 90
    ).any()
