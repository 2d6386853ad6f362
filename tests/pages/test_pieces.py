"""The pieces of a page: what they draw, and that no value becomes markup."""

import re
from html import unescape

import pytest

from core.screens.kit.marks import marks
from core.screens.kit.records import CellWords, Phrase, ScoreRow, Sentence, Strip, Swatch, Tile
from pages.ui.markup import PIECES

BADGE = marks(["a"])[0]
EVIL = "\"'><b onclick=x>\u202e&amp;"
SHOWN = unescape(EVIL.replace("&amp;", "&amp;amp;")).replace("\u202e", " ")
STRIP = Strip(floor=0.01, low=0.03, value=0.04, high=0.2, scale=0.1, tone="over")
HEADING = Sentence((Phrase(EVIL), Phrase(EVIL, unbroken=True), Phrase(EVIL, "over")), EVIL)
ROW = ScoreRow(
    name=EVIL,
    cells=(
        CellWords(EVIL, EVIL, EVIL),
        CellWords("1", mark="beyond"),
        CellWords("2", mark="tie"),
    ),
    notes=(EVIL, ""),
    mark=BADGE,
)


def made(piece, *values):
    return str(getattr(PIECES, piece)(*values))


@pytest.mark.parametrize(
    ("piece", "values", "times"),
    [
        ("eyebrow", (EVIL, EVIL), 2),
        ("headline", (EVIL,), 1),
        (
            "sentence",
            (HEADING,),
            4,
        ),
        ("strip", ((Tile(EVIL, EVIL, EVIL, EVIL, EVIL, EVIL, STRIP, floor_mark=True),),), 6),
        ("meanings", ([(EVIL, EVIL)],), 2),
        ("title", (EVIL, EVIL, BADGE), 2),
        ("key", ((Swatch(EVIL, "over", "dot"),),), 1),
        ("runs_key", ([(BADGE, EVIL)],), 1),
        ("caption", (EVIL,), 1),
        ("caveat", (EVIL, (EVIL, EVIL), True, EVIL), 4),
        ("banner", (EVIL, EVIL), 2),
        ("scores", (EVIL, (EVIL, "1", "2", "3"), (ROW,), (BADGE,)), 7),
        ("hundred", (EVIL, 3, "promised", "×", False), 2),
        ("small_title", (BADGE, EVIL, ""), 1),
        ("small_title", (None, EVIL, EVIL), 2),
        ("beside", (BADGE, EVIL), 1),
        ("update", ((EVIL, EVIL),), 2),
        ("queued", (EVIL, 0.5), 1),
        ("hidden", (EVIL,), 1),
        ("scale", (("red", "blue"), EVIL), 1),
    ],
)
def test_a_value_is_text_wherever_it_stands(piece, values, times):
    html = made(piece, *values)
    assert "onclick" not in re.sub(r"&lt;b onclick=x&gt;", "", html)
    assert "\u202e" not in html
    assert unescape(html).count(SHOWN) == times


def test_cells_are_marked_as_beyond_chance_or_tied():
    html = made("scores", "l", ("Run", "a", "b", "c"), (ROW,), ())
    assert re.findall('<td class="([a-z]*)"', html) == ["", "told", "tie"]


def test_a_badge_stands_over_the_columns_of_runs():
    html = made("scores", "l", ("Finding", "A", "Threshold"), (), (BADGE,))
    heads = re.findall(r"<th scope=\"col\">(.*?)</th>", html)
    assert heads == ["Finding", f"{made('badge', BADGE)}A", "Threshold"]


def test_a_gauge_ends_where_its_scale_does():
    html = made("gauge", STRIP)
    assert 'class="floor" style="width:10.0%"' in html
    assert 'style="left:30.0%;width:calc(100.0% - 30.0%);background:var(--mark-over)"' in html
    assert 'class="dot" style="left:40.0%' in html


@pytest.mark.parametrize(("first", "order"), [(True, "x."), (False, ".x")])
def test_a_hundred_boxes_are_crossed_at_either_end(first, order):
    html = made("hundred", "25 of 100", 25, "promised", "×", first)
    boxes = "".join("x" if "×" in box else "." for box in re.findall(r"<i[^>]*>×?</i>", html))
    assert len(boxes) == 100
    assert boxes.count("x") == 25
    assert re.sub(r"(.)\1*", r"\1", boxes) == order


def test_a_job_without_progress_has_no_bar():
    assert "c-bar" not in made("queued", "waits", None)
    assert "width:50.0%" in made("queued", "runs", 0.5)
    assert "width:0.0%" in made("queued", "runs", 0.0)
