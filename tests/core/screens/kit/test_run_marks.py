"""Badges: the same run looks the same everywhere, and no two in one picture are alike."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.screens.compare.view import letter_colour
from core.screens.kit.marks import COLOURS, RunMark, marks
from core.screens.kit.theme import THEMES

STYLE = (Path(__file__).parents[4] / "assets" / "style.css").read_text()
IDS = st.lists(
    st.text("abcdefgh0123", min_size=1, max_size=6), min_size=2, max_size=12, unique=True
)


@given(IDS)
def test_letters_are_unique_and_so_are_colour_and_dash_up_to_six_of_a_colour(ids):
    found = marks(ids)
    assert len({mark.letter for mark in found}) == len(ids)
    for colour in range(COLOURS):
        dashes = [mark.dash for mark in found if mark.colour == colour]
        assert len(set(dashes)) == min(len(dashes), 6)


LOOKS = {"longdash": "dash", "longdashdot": "dashdot"}  # hard to tell from the shorter one


@given(IDS)
def test_twelve_runs_differ_in_colour_or_clearly_in_their_dash(ids):
    looks = [(mark.colour, LOOKS.get(mark.dash, mark.dash)) for mark in marks(ids)]
    assert len(set(looks)) == len(ids)


def test_fifty_runs_have_fifty_badges_of_one_or_two_letters():
    letters = [mark.letter for mark in marks([f"run-{i}" for i in range(50)])]
    assert len(set(letters)) == 50
    assert sorted(map(len, letters)) == [1] * 26 + [2] * 24


@given(IDS)
def test_letters_come_in_order_and_up_to_six_runs_differ_in_colour(ids):
    found = marks(ids)
    assert "".join(mark.letter for mark in found) == "ABCDEFGHIJKL"[: len(ids)]
    assert len({mark.colour for mark in found[:6]}) == len(found[:6])


@given(IDS)
def test_a_run_keeps_its_colour_where_no_run_before_it_wears_it(ids):
    own = [marks([run_id])[0].colour for run_id in ids[:6]]
    for i, mark in enumerate(marks(ids[:6])):
        assert (mark.colour == own[i]) == (own[i] not in own[:i])


def test_every_colour_is_worn_by_some_run():
    worn = {marks([f"run-{i}"])[0].colour for i in range(100)}
    assert worn == set(range(COLOURS)) == set(range(len(THEMES["light"].runs)))


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("side", THEMES)
@pytest.mark.parametrize("colour", range(COLOURS))
def test_letters_can_be_read_on_every_badge_and_the_page_wears_the_same(side, colour):
    theme = THEMES[side]
    letter = letter_colour(RunMark("A", colour, "solid"), theme)
    assert contrast(theme.runs[colour], letter) >= 4.5
    rule = re.search(rf"\.c-run-{colour} {{(.*?)}}", STYLE)[1]
    pairs = re.findall(r"light-dark\((#\w+), (#\w+)\)", rule)
    at = 0 if side == "light" else 1
    assert [pair[at] for pair in pairs] == [theme.runs[colour], letter]
