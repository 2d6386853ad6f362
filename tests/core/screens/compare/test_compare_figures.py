import numpy as np
import plotly.graph_objects as go
import pytest

from core.screens.compare.view import (
    LETTER_PX,
    ForestRow,
    GapCurve,
    add_letters,
    forest,
    gap_curves,
)
from core.screens.kit.diagram import small_diagram
from core.screens.kit.marks import RunMark, marks
from core.screens.kit.theme import THEMES

BADGE = RunMark("B", 1, "dash")
ROWS = (
    ForestRow("decided", BADGE, -4.0, -5.0, -3.0, False, "−4.0", "−5.0 to −3.0"),
    ForestRow("<b>tied</b>", RunMark("K", 3, "dot"), 0.5, -0.5, 1.5, True, "tie", "−0.5 to +1.5"),
)


def drawn(side="light", rows=ROWS):
    return forest(rows, THEMES[side], smaller="smaller error", larger="larger error")


@pytest.mark.parametrize("side", THEMES)
def test_the_forest_draws_every_value_with_its_interval(side):
    figure = drawn(side)
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert [tuple(line.x) for line in lines] == [(-5.0, -3.0), (-0.5, 1.5)]
    assert [dot.x[0] for dot in dots] == [-4.0, 0.5]
    low, high = figure.layout.xaxis.range
    assert low < -5.0
    assert high > 1.5


@pytest.mark.parametrize("side", THEMES)
def test_a_tie_is_hollow_and_grey_and_a_decided_run_wears_its_colour(side):
    theme = THEMES[side]
    decided, tied = (trace for trace in drawn(side).data if trace.mode == "markers")
    assert decided.marker.color == theme.runs[1]
    assert (tied.marker.color, tied.marker.line.color) == (theme.paper, theme.quiet)


def test_names_and_differences_stand_beside_the_plot_as_text():
    figure = drawn()
    assert figure.layout.yaxis.ticktext == ("decided", "&lt;b&gt;tied&lt;/b&gt;")
    texts = [one.text for one in figure.layout.annotations]
    assert "<b>tie</b><br>(−0.5 to +1.5)" in texts
    assert "<b>B</b>" in texts
    assert "◂ smaller error" in texts


def test_long_names_are_wrapped_and_then_cut():
    rows = (ForestRow("word " * 30, BADGE, 1.0, 0.5, 1.5, False, "", ""),)
    first, second = drawn(rows=rows).layout.yaxis.ticktext[0].split("<br>")
    assert first == "word word word word"
    assert second.endswith("…")


def bins_of(audited):
    return audited(None).bins


def test_curves_are_the_gaps_of_the_bins_with_enough_rows(audited):
    bins = bins_of(audited)
    runs = [GapCurve("one", BADGE, bins), GapCurve("other", RunMark("K", 3, "dot"), bins)]
    figure = gap_curves(runs, THEMES["light"])
    enough = np.flatnonzero(bins.count >= 20)
    assert [trace.line.dash for trace in figure.data] == ["dash", "dot"]
    for trace in figure.data:
        np.testing.assert_allclose(trace.y, 100 * (bins.confidence - bins.accuracy)[enough])
        np.testing.assert_allclose(trace.x, bins.confidence[enough])


def test_letters_of_curves_that_end_together_do_not_cover_each_other(audited):
    runs = [GapCurve(letter, RunMark(letter, 0, "solid"), bins_of(audited)) for letter in "ABCDEF"]
    figure = gap_curves(runs, THEMES["light"])
    heights = sorted(
        one.y for one in figure.layout.annotations if one.text in {f"<b>{c}</b>" for c in "ABCDEF"}
    )
    low, high = figure.layout.yaxis.range
    assert len(heights) == 6
    margin = figure.layout.margin
    plot_px = figure.layout.height - margin.t - margin.b
    assert np.diff(heights).min() >= (high - low) * 20 / plot_px - 1e-9  # a badge is 20 px high


def test_the_small_diagram_draws_the_bins_of_the_large_one(audited):
    bins = bins_of(audited)
    figure = small_diagram(bins, THEMES["dark"])
    dots = [trace for trace in figure.data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in dots) == np.count_nonzero(bins.count)
    assert figure.layout.yaxis.scaleanchor == "x"


def many(n=50, marked=(0, 1, 30)):
    return [
        ForestRow(
            name=f"<b>run {i}",
            mark=RunMark("A", 0, "solid") if i in marked else None,
            value=float(i),
            low=i - 1.0,
            high=i + 1.0,
            tie=i % 2 == 0,
            words=str(i),
            interval=f"{i - 1} to {i + 1}",
        )
        for i in range(n)
    ]


def test_of_many_runs_only_the_marked_have_a_name_and_every_one_is_drawn_in_its_place():
    theme = THEMES["light"]
    figure = drawn(rows=many())
    others = next(trace for trace in figure.data if trace.name == "other runs")
    marked = [t for t in figure.data if t.mode == "markers" and t is not others]
    heights = dict(zip(others.x, others.y, strict=True)) | {t.x[0]: t.y[0] for t in marked}
    assert sorted(heights) == list(range(50))
    assert [heights[i] for i in range(50)] == sorted(heights.values())
    assert len(figure.layout.yaxis.ticktext) == 3
    assert [text[:15] for text in others.hovertext[:1]] == ["<b>&lt;b&gt;run"]
    hollow = [x for x, c in zip(others.x, others.marker.color, strict=True) if c == theme.paper]
    assert hollow == [i for i in range(2, 50, 2) if i != 30]
    assert len(figure.data) == 2 + 2 * 3
    assert figure.layout.height < 600


def test_marked_rows_are_a_badge_apart_from_their_neighbours():
    figure = drawn(rows=many(marked=(0, 1, 2, 49)))
    heights = sorted(figure.layout.yaxis.tickvals)
    low, high = figure.layout.yaxis.range
    margin = figure.layout.margin
    plot_px = figure.layout.height - margin.t - margin.b
    assert np.diff(heights).min() * plot_px / (low - high) >= 20
    assert low >= max(heights) + 0.4  # the last row's badge is within the figure


def test_curves_without_a_mark_are_one_grey_trace_with_breaks(audited):
    bins = bins_of(audited)
    runs = [GapCurve("named", BADGE, bins), GapCurve("x", None, bins), GapCurve("y", None, bins)]
    figure = gap_curves(runs, THEMES["dark"])
    grey, named = figure.data
    assert grey.line.color == THEMES["dark"].bars
    assert named.line.color == THEMES["dark"].runs[1]
    assert len(grey.x) == 2 * (len(named.x) + 1)
    assert [i for i, y in enumerate(grey.y) if y is None] == [len(named.x), 2 * len(named.x) + 1]
    assert sum(note.text.startswith("<b>") for note in figure.layout.annotations) == 1


@pytest.mark.parametrize("ends", [[9.0] * 6, [-1.0, 9.5, 9.9, 9.2, 9.7, 9.8], [0.0, 0.2, 5.0, 9.0]])
def test_letters_stand_apart_within_the_axis_in_the_order_of_the_curves(ends):
    figure = go.Figure(layout={"height": 230, "margin": {"t": 20, "b": 20}})
    figure.layout.yaxis.range = (-10, 10)
    shown = marks([str(n) for n in range(len(ends))])
    add_letters(figure, list(zip(shown, ends, strict=True)), THEMES["light"])
    heights = [note.y for note in figure.layout.annotations]
    room = LETTER_PX / 190 * 20
    assert max(heights) <= 10 - room / 2 + 1e-9
    assert np.diff(sorted(heights)).min() >= room - 1e-9
    order = np.argsort(ends, kind="stable")
    assert np.all(np.diff(np.array(heights)[order]) > 0)
