import numpy as np
import pytest

from core.metrics.records import ClassRow, Gap
from core.screens.kit.curves import sheet
from core.screens.kit.theme import DARK, LIGHT
from core.screens.reliability.classes import MAX_POINTS, class_gaps, risk_coverage, thinned
from core.screens.reliability.plain import Group, dumbbells

HOSTILE = '<img src=x onerror="alert(1)">\u202e'


def test_a_sheet_has_the_margins_and_the_legend_that_are_asked_for():
    named = sheet(LIGHT, 300, {}, {}, margin=(1, 2, 3, 4), named=True).layout
    assert (named.margin.l, named.margin.r, named.margin.t, named.margin.b) == (1, 2, 3, 4)
    assert (named.height, named.showlegend, named.legend.orientation) == (300, True, "h")
    bare = sheet(DARK, 200, {}, {}, annotations=[{"text": "here"}]).layout
    assert not bare.showlegend
    assert [each.text for each in bare.annotations] == ["here"]


def row(name, index, gap, low, high, p_value=0.01):
    return ClassRow(
        name=name,
        index=index,
        labelled=100,
        n=90,
        confidence=0.9,
        accuracy=0.9 - gap,
        gap=Gap(gap, low, high),
        ece=0.01,
        p_value=p_value,
    )


ROWS = (
    row("dog", 5, 0.085, 0.067, 0.104),
    row(HOSTILE, 2, 0.009, 0.0, 0.014, 0.06),
    row("plane", 0, -0.023, -0.036, -0.011),
    ClassRow(
        name="absent", index=3, labelled=7, n=0, confidence=None, accuracy=None, gap=None, ece=None
    ),
)


def test_class_gaps_are_toned_by_their_interval_and_printed():
    figure = class_gaps(ROWS, LIGHT)
    assert {t.name: list(t.customdata) for t in figure.data} == {
        "few": [2],
        "under": [0],
        "over": [5],
    }
    over = next(t for t in figure.data if t.name == "over")
    assert over.x[0] == pytest.approx(8.5)
    assert over.error_x.array[0] == pytest.approx(1.9)
    assert over.error_x.arrayminus[0] == pytest.approx(1.8)
    printed = [note.text for note in figure.layout.annotations]
    assert printed[0].startswith("+8.5 <span")
    assert "(+6.7 to +10.4)" in printed[0]
    assert printed[2].startswith("−2.3")


def test_hostile_class_names_are_letters():
    figure = class_gaps(ROWS, DARK)
    few = next(t for t in figure.data if t.name == "few")
    for text in (figure.layout.yaxis.ticktext[1], few.hovertext[0]):
        assert "&lt;img" in text
        assert "<img" not in text
        assert "\u202e" not in text


def test_risk_coverage_keeps_both_ends_and_names_the_overall_risk():
    coverage, risk = np.array([0.25, 0.5, 1.0]), np.array([0.0, 0.1, 0.3])
    figure = risk_coverage(coverage, risk, LIGHT)
    line = figure.data[0]
    assert list(line.x) == [0.25, 0.5, 1.0]
    assert line.hovertext[1] == "<b>Most confident 50.0\u202f%</b>:<br>wrong 10.0\u202f%"
    assert figure.layout.annotations[0].text == "answering everything: 30.0\u202f% wrong"
    assert figure.layout.yaxis.range[1] > 0.3


def test_long_curves_are_thinned_to_a_bounded_number_of_points():
    at = thinned(50_000)
    assert (at[0], at[-1]) == (0, 49_999)
    assert at.size <= MAX_POINTS
    assert list(thinned(3)) == [0, 1, 2]


GROUPS = (
    Group("Unsure", "under 60", 172, 0.58, 0.48, 0.41, 0.56, 0.38, 0.59),
    Group("Fairly sure", "60 to 80", 0, *[np.nan] * 4, 0.0, 1.0),
    Group("Sure", "80 to 95", 419, 0.89, 0.63, 0.58, 0.67, 0.57, 0.69),
    Group("Almost certain", "95 or more", 9083, 0.998, 0.9985, 0.997, 0.999, 0.996, 0.9995),
)


def test_dumbbells_say_promise_and_truth_and_what_may_be_chance():
    figure = dumbbells(GROUPS, LIGHT)
    words = [text for trace in figure.data for text in (trace.text or ()) if text]
    assert words == [
        "says 58",
        "right 48: could be chance",
        "says 89",
        "right 63",
        "says almost 100",
        "right almost 100",
    ]
    tones = [t.name for t in figure.data if t.customdata is not None]
    assert tones == ["few", "over", "sound"]
    assert "<b>Fairly sure (60 to 80)</b>" in figure.layout.yaxis.ticktext[1]


def test_dumbbells_of_a_class_speak_of_presence():
    words = [
        t for trace in dumbbells(GROUPS, DARK, came_true="present").data for t in trace.text or ()
    ]
    assert "present 63" in words
