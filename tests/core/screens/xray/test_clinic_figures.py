"""Figures of findings: every mark is a number of the data, on its axis."""

from dataclasses import replace

import numpy as np
import pytest

from core.configs import BinRule
from core.metrics import clinical
from core.metrics.clinical.groups import grouping
from core.screens.kit.theme import DARK, LIGHT
from core.screens.xray.figures import (
    HIGHEST,
    LOWEST,
    Band,
    by_outcome,
    decision,
    distributions,
    draw_bands,
    finding,
    flexible,
    log_odds,
    reach,
)
from core.screens.xray.use import group_card, group_table
from core.screens.xray.words import BANNER, ClinicSource
from core.studies.clinic import groups as calibrations


@pytest.fixture(scope="module")
def bins(audited):
    return audited(1, BinRule.EQUAL_MASS, 12).bins


def trace(figure, name):
    return next(t for t in figure.data if t.name == name)


def test_small_diagram_draws_bins_on_log_odds(bins):
    figure = finding(bins, few=False, theme=LIGHT)
    dots = [t for t in figure.data if t.mode == "markers"]
    assert sorted(i for t in dots for i in t.customdata) == list(range(len(bins.count)))
    for t in dots:
        inside = np.clip(bins.accuracy[list(t.customdata)], LOWEST, HIGHEST)
        assert t.y == pytest.approx(log_odds(inside))
        top = log_odds(np.clip(bins.ci_high[list(t.customdata)], LOWEST, HIGHEST))
        assert np.add(t.y, t.error_y.array) == pytest.approx(top)
    assert figure.layout.xaxis.ticktext[1] == "1"
    assert figure.layout.xaxis.tickvals[1] == pytest.approx(np.log(0.01 / 0.99))


def test_rates_of_nearly_nothing_sit_on_the_edge_as_triangles(bins):
    accuracy = bins.accuracy.copy()
    accuracy[:2] = (0.0, 0.001)
    figure = finding(replace(bins, accuracy=accuracy), few=True, theme=DARK)
    (dots,) = [t for t in figure.data if t.mode == "markers"]
    assert dots.name == "few"
    assert list(dots.marker.symbol[:3]) == ["triangle-down", "triangle-down", "circle"]
    assert dots.y[0] == pytest.approx(log_odds(LOWEST))
    assert figure.layout.yaxis.range[0] == pytest.approx(log_odds(LOWEST))


def dot(low, n, mean, share):
    return Band(low, low + 0.1, n, 0, mean, share, share - 0.05, share + 0.05, 0.0, 1.0)


def test_bands_mark_the_chosen_one_and_leave_empty_ones_out():
    nan = float("nan")
    dots = [
        dot(0.0, 40, 0.05, 0.1),
        dot(0.1, 0, nan, nan),
        dot(0.2, 30, 0.25, 0.17),
    ]
    figure = draw_bands(dots, 2, LIGHT)
    drawn = {t.customdata[0]: t for t in figure.data if t.customdata is not None}
    assert set(drawn) == {0, 2}
    assert drawn[2].marker.size > drawn[0].marker.size
    assert (drawn[2].x[0], drawn[2].y[0]) == pytest.approx((25, 17))
    assert drawn[2].error_y.arrayminus[0] == pytest.approx(5)
    words = [note.text for note in figure.layout.annotations]
    assert words == ["well calibrated", "this band", BANNER]
    (shade,) = figure.layout.shapes
    assert (shade.x0, shade.x1) == pytest.approx((20, 30))
    assert shade.layer == "below"
    empty = draw_bands(dots, 1, DARK).layout
    assert "this band" not in [note.text for note in empty.annotations]
    assert not empty.shapes


def test_the_name_of_the_diagonal_gives_way():
    """Both places over the diagonal are taken, then one under it."""
    low, high = dot(0.2, 40, 0.25, 0.3), dot(0.7, 40, 0.75, 0.8)
    under = dot(0.8, 40, 0.85, 0.8)
    places = []
    for dots in ([low], [high], [low, high], [low, high, under]):
        note = draw_bands(dots, 0, LIGHT).layout.annotations[0]
        places.append((note.x, note.y))
    assert places == [(76, 81), (26, 31), (76, 71), (26, 21)]


@pytest.mark.parametrize(
    ("low", "x", "side"), [(0.0, 0, "left"), (0.4, 45, "center"), (0.9, 100, "right")]
)
def test_the_name_of_the_band_lies_over_the_plot(low, x, side):
    note = draw_bands([dot(low, 40, low + 0.05, 0.5)], 0, LIGHT).layout.annotations[1]
    assert (note.text, note.y, note.yanchor) == ("this band", 100, "bottom")
    assert note.yshift >= 15 / 2  # half of the chosen dot, which may lie at 100
    assert (note.x, note.xanchor) == (pytest.approx(x), side)


@pytest.fixture(scope="module")
def outcomes(over_confident):
    found = over_confident.outcomes(1)
    return found.confidence, found.correct


def test_flexible_curve_and_its_band_lie_where_they_were_computed(outcomes, bins):
    curve = clinical.flexible(*outcomes)
    figure = flexible(curve, bins, LIGHT, few=False)
    line = trace(figure, "flexible curve")
    kept = np.isin(log_odds(curve.at), line.x)
    assert line.y == pytest.approx(
        np.clip(log_odds(curve.observed[kept]), *figure.layout.yaxis.range), abs=1e-9
    )
    assert line.customdata[:, 1] == pytest.approx(100 * curve.observed[kept])
    assert line.line.dash == "solid"
    grey = flexible(curve, bins, LIGHT, few=True)
    assert trace(grey, "flexible curve").line.color == LIGHT.quiet
    assert {t.marker.line.color for t in grey.data if t.mode == "markers"} == {LIGHT.quiet}
    assert "flexible curve" not in {t.name for t in flexible(None, bins, DARK, few=True).data}


def test_scores_by_outcome_count_every_row_once(outcomes):
    p, y = outcomes
    found = by_outcome(p, y)
    assert (found.with_it.sum(), found.without.sum()) == (y.sum(), (~y).sum())
    figure = distributions(found, "films", DARK)
    up, down = (trace(figure, name) for name in ("labelled with it", "not labelled with it"))
    assert np.sum(up.y) == pytest.approx(1)
    assert np.sum(down.y) == pytest.approx(-1)
    assert up.hovertext[0].endswith("films labelled with it")


def test_the_names_of_the_two_outcomes_stand_where_their_bars_do_not():
    p = np.array([0.1] * 50 + [0.2] * 40 + [0.8] * 10)
    figure = distributions(by_outcome(p, p > 0.5), "films", LIGHT)
    above, below = figure.layout.annotations[:2]
    assert (above.text, above.x, above.xanchor) == ("labelled with it: 10", 0, "left")
    assert (below.text, below.x, below.xanchor) == ("not labelled with it: 90", 1, "right")


def test_end_bars_hold_what_lies_beyond_and_say_so():
    p = np.concatenate([np.linspace(0.02, 0.04, 5000), [1e-6, 0.9]])
    rare = np.arange(p.size) >= 4990  # 12 of 5002: one of them scored 0.9
    found = by_outcome(p, rare)
    assert found.edges[-1] >= 0.9
    assert (found.below, found.above) == (1, 0)
    assert (found.full_edges[0], found.full_edges[-1]) == (0.0, found.edges[-1])
    assert distributions(found, "films", DARK).data[0].hovertext[0].startswith("0.0")
    many = by_outcome(np.concatenate([np.full(9000, 0.3), [0.97]]), np.arange(9001) < 4500)
    assert (many.below, many.above, many.full_edges[-1]) == (0, 1, 1.0)


def test_scores_on_the_steps_of_the_axis_lie_within_it():
    p = np.repeat(np.round(np.arange(1, 51) / 100, 2), 4)  # 0.01 to 0.5, both steps
    found = by_outcome(p, np.arange(p.size) % 2 == 0)
    assert (found.edges[0], found.edges[-1]) == (0.01, 0.5)
    assert (found.below, found.above) == (0, 0)
    np.testing.assert_array_equal(found.full_edges, found.edges)


def test_axis_ends_at_steps_that_hold_the_data():
    assert reach(np.array([0.02, 0.4])) == (0.01, 0.5)
    assert reach(np.array([0.0, 1.0])) == (0.0001, 0.999)
    assert reach(np.array([0.5, 0.5])) == (0.5, 0.8)
    assert reach(np.array([0.003, np.nan])) == (0.001, 0.01)


def test_decision_curve_shows_the_range_that_was_chosen(outcomes):
    at = np.arange(1, 100) / 100
    net = clinical.net_benefit(*outcomes, at)
    figure = decision(net, [f"at {t:.2f}" for t in at], (0.1, 0.3), LIGHT)
    model, everyone = trace(figure, "the model"), trace(figure, "treat all")
    assert model.x == pytest.approx(np.arange(10, 31))
    assert model.y == pytest.approx(100 * net.model[9:30])
    assert everyone.y == pytest.approx(100 * net.treat_all[9:30])
    assert model.hovertext[0] == "at 0.10"
    assert [note.text for note in figure.layout.annotations] == [
        "follow the model",
        "treat none",
        "treat all",
        BANNER,
    ]


def test_the_names_of_the_decision_curve_stand_apart():
    """A model that falls below 0 in the middle leaves the line of 0 free above, at its end."""
    rng = np.random.default_rng(0)
    at, p = np.arange(1, 51) / 100, rng.beta(2, 3, 4000)  # says much more than comes true
    net = clinical.net_benefit(p, rng.random(4000) < p / 4, at)
    model, none = decision(net, [""] * 50, (0.01, 0.5), LIGHT).layout.annotations[:2]
    drawn = 100 * net.model
    assert drawn[-1] < 0 < model.y <= drawn.max() / 2
    assert model.y == pytest.approx(drawn[int(model.x) - 1])
    assert (none.x, none.y, none.yshift) == (50, 0, 10)
    assert (none.xanchor, model.xanchor) == ("right", "left")


def test_groups_are_filled_where_they_are_off_beyond_chance_and_hollow_elsewhere():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 3_000)
    view = np.where(np.arange(3_000) % 2, "AP", "<b>PA")
    y = rng.random(3_000) < np.where(view == "AP", p, p**2)  # stated too high for the others
    found = calibrations(p, y, grouping(view.tolist()))
    source = ClinicSource(run="run", split="test", digest="d" * 8, findings=("Mass",), n=3_000)
    card = group_card(source, "View", found, group_table(source, "View", found))
    dots = {one.name: one for one in card.figure("light").data}
    assert list(dots) == ["&lt;b&gt;PA", "AP"]
    for group in found:
        dot, large = dots[group.name.replace("<b>", "&lt;b&gt;")], group.fit.in_the_large
        assert dot.x == (large.value,)
        assert dot.error_x.array == (pytest.approx(large.high - large.value),)
    assert dots["AP"].marker.color == LIGHT.paper
    assert dots["&lt;b&gt;PA"].marker.color == LIGHT.mark("over")
    assert "PA −" in card.alt
