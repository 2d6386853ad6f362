"""Synthetic films: the same for the same numbers, lesions where their boxes say, one removable."""

from functools import cache

import numpy as np
import pytest

from core.xray.phantom import FINDINGS, MARK, PREVALENCE, SIDE, draw, findings_of


@cache
def films():
    """Draw them for the first test that looks at them, not for everyone who collects."""
    return [draw(3, index) for index in range(240)]


def first_with(finding, others=()):
    return next(
        k
        for k, film in enumerate(films())
        if film.present[finding] and all(film.present[one] for one in others)
    )


def test_the_same_numbers_draw_the_same_film_and_others_another():
    again = draw(3, 5)
    np.testing.assert_array_equal(again.pixels, films()[5].pixels)
    assert again.boxes == films()[5].boxes
    for other in (draw(3, 6), draw(4, 5)):
        assert (other.pixels != again.pixels).mean() > 0.5


def test_films_look_like_films():
    for film in films()[:40]:
        assert film.pixels.shape == (SIDE, SIDE)
        assert film.pixels.dtype == np.uint8
        assert 0.1 < film.lungs.mean() < 0.45
        outside = ~film.lungs & (film.pixels > 0)
        assert film.pixels[film.lungs].mean() < film.pixels[outside].mean() - 20  # air is dark
        assert film.pixels.max() > 150


def test_every_film_bears_the_word_in_its_pixels():
    height, width = len(MARK), len(MARK[0])
    letters = np.array([[letter == "#" for letter in row] for row in MARK])
    for film in films()[:20]:
        corner = film.pixels[SIDE - height - 2 : SIDE - 2, 2 : 2 + width]
        assert (corner[letters] == 230).all()


def test_findings_are_as_frequent_as_is_said():
    for finding, share in PREVALENCE.items():
        n = sum(film.present[finding] for film in films())
        assert abs(n - share * len(films())) < 4 * np.sqrt(len(films()) * share * (1 - share))
    assert {name for film in films() for name in film.boxes} == set(FINDINGS)
    assert all(set(film.boxes) == {k for k, v in film.present.items() if v} for film in films())


def test_findings_are_known_before_a_film_is_drawn():
    drawn = [[film.present[name] for name in FINDINGS] for film in films()]
    assert [findings_of(3, index) for index in range(len(drawn))] == drawn


def test_lesions_are_small_and_lie_anywhere_in_the_lungs():
    middles = []
    for film in films():
        for finding in {"Nodule", "Consolidation"} & set(film.boxes):
            left, top, right, bottom = film.boxes[finding]
            assert 0 <= left < right <= SIDE
            assert 0 <= top < bottom <= SIDE
            assert (right - left) * (bottom - top) <= 0.04 * SIDE**2
            middles.append(((left + right) / 2, (top + bottom) / 2))
    x, y = np.array(middles).T / SIDE
    assert (x < 0.4).mean() > 0.3
    assert (x > 0.6).mean() > 0.3
    assert (y < 0.4).mean() > 0.2
    assert (y > 0.6).mean() > 0.2


@pytest.mark.parametrize("finding", FINDINGS)
def test_leaving_a_finding_out_changes_its_box_and_little_else(finding):
    index = first_with(finding)
    film, without = films()[index], draw(3, index, without=finding)
    assert not without.present[finding]
    assert finding not in without.boxes
    assert {k: v for k, v in film.boxes.items() if k != finding} == without.boxes
    change = np.abs(film.pixels.astype(float) - without.pixels)
    left, top, right, bottom = (round(side) for side in film.boxes[finding])
    near = np.zeros_like(film.lungs)
    near[max(0, top - 6) : bottom + 6, max(0, left - 6) : right + 6] = True
    assert change[near].sum() > 0
    assert change[~near].max(initial=0) <= 1  # rounding of a soft edge


def test_leaving_out_what_is_not_there_changes_nothing():
    index = next(k for k, film in enumerate(films()) if not film.boxes)
    for finding in FINDINGS:
        np.testing.assert_array_equal(draw(3, index, without=finding).pixels, films()[index].pixels)


def test_other_lesions_stay_where_they_are_without_a_large_heart():
    index = first_with("Cardiomegaly", ["Nodule"])
    without = draw(3, index, without="Cardiomegaly")
    assert without.boxes["Nodule"] == films()[index].boxes["Nodule"]
