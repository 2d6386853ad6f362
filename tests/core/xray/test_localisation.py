"""Pointing game, overlap and energy, by hand and by counting."""

import numpy as np
import pytest

from core.xray.localisation import energy, hit, inside, iou, localise

BOX = ((2.0, 1.0, 5.0, 3.0),)  # columns 2 to 4, rows 1 and 2: six pixels


def heat(values):
    found = np.zeros((6, 8), np.float32)
    for (row, column), value in values.items():
        found[row, column] = value
    return found


def test_a_pixel_lies_in_the_box_when_its_middle_does():
    np.testing.assert_array_equal(np.argwhere(inside((6, 8), BOX))[[0, -1]], [[1, 2], [2, 4]])
    assert inside((6, 8), BOX).sum() == 6
    assert inside((6, 8), [(2.6, 1.0, 5.0, 3.0)]).sum() == 4  # the middle of column 2 is 2.5
    assert inside((6, 8), [(2.5, 1.0, 4.5, 3.0)]).sum() == 4  # left edge in, right edge out


def test_hits_are_of_the_strongest_place():
    assert hit(heat({(1, 2): 2, (5, 5): 1}), BOX)
    assert not hit(heat({(1, 2): 1, (5, 5): 2}), BOX)
    assert not hit(heat({}), BOX)
    assert not hit(heat({(3, 2): 1}), BOX)  # row 3 is below the box


def test_a_plateau_counts_by_its_middle_place():
    assert not hit(heat({(1, 2): 1, (4, 0): 1, (5, 5): 1}), BOX)
    assert hit(heat({(0, 0): 1, (2, 3): 1, (5, 5): 1}), BOX)


def test_overlap_and_energy_by_hand():
    values = heat({(1, 2): 4, (1, 3): 2, (2, 4): 1.9, (0, 0): 3, (5, 7): 1})
    # at half of 4: (1, 2), (1, 3) inside and (0, 0) outside; the box has six pixels
    assert iou(values, BOX) == pytest.approx(2 / 7)
    assert iou(values, BOX, 0.9) == pytest.approx(1 / 6)
    assert energy(values, BOX) == pytest.approx(7.9 / 11.9)
    assert iou(heat({}), BOX) == energy(heat({}), BOX) == 0.0


def test_the_scale_of_a_map_changes_nothing():
    values = np.random.default_rng(0).random((6, 8)).astype(np.float32)
    for measure in (hit, iou, energy):
        assert measure(values, BOX) == pytest.approx(measure(values * 1e-3, BOX), rel=1e-5)


def test_means_over_films_with_intervals():
    right, wrong = heat({(1, 2): 1}), heat({(5, 5): 1})
    found = localise([right] * 3 + [wrong], [BOX] * 4)
    assert found.n == 4
    assert found.pointing.value == 0.75
    # Wilson's interval of 3 in 4, from its formula with z = 1.959964
    assert (found.pointing.low, found.pointing.high) == pytest.approx(
        (0.300642, 0.954413), abs=1e-5
    )
    narrow = localise([right] * 3 + [wrong], [BOX] * 4, level=0.8).pointing  # z = 1.281552
    assert (narrow.low, narrow.high) == pytest.approx((0.432541, 0.921919), abs=1e-5)
    assert found.iou.value == pytest.approx(0.75 / 6)
    assert found.energy.value == 0.75
    assert found.energy.low <= 0.75 <= found.energy.high <= 1
    with pytest.raises(ValueError, match="longer"):
        localise([right], [BOX, BOX])


def test_the_boxes_of_one_map_are_one_place():
    boxes = ((0.0, 0.0, 2.0, 2.0), (1.0, 0.0, 4.0, 2.0))  # four and six pixels, two in both
    values = heat({(1, 3): 4, (1, 1): 2, (5, 5): 2})
    assert inside((6, 8), boxes).sum() == 8
    assert inside((6, 8), ()).sum() == 0
    assert hit(values, boxes)
    assert not hit(values, boxes[:1])
    assert iou(values, boxes) == pytest.approx(2 / 9)
    assert energy(values, boxes) == pytest.approx(6 / 8)


def test_a_film_with_several_findings_counts_once():
    right, wrong = heat({(1, 2): 1}), heat({(5, 5): 1})
    maps = [right, wrong, right, wrong]
    found = localise(maps, [BOX] * 4, films=["a", "a", "b", "c"])
    assert found.n == 3
    # (1/2 + 1 + 0) / 3; Wilson's interval of 1.5 in 3, from its formula
    assert found.pointing.value == found.energy.value == 0.5
    assert (found.pointing.low, found.pointing.high) == pytest.approx((0.12534, 0.87466), abs=1e-4)
    assert found.iou.value == pytest.approx(0.5 / 6)
    with pytest.raises(ValueError, match="longer"):
        localise(maps, [BOX] * 4, films=["a"])
