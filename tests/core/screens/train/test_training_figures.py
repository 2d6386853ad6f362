"""Curves by epoch: which points are drawn, in which unit, on which axis."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.screens.kit.curves import Curve
from core.screens.kit.theme import DARK, LIGHT
from core.screens.train.view import MOST_POINTS, MeasurePanel, kept, panel


def line(values, **settings):
    value = np.array(values, dtype=float)
    return Curve("run", np.arange(1, len(value) + 1), value, colour=0, **settings)


def drawn(values, unit="nats", n_epochs=None, **settings):
    shown = MeasurePanel(
        lines=(line(values, **settings),), unit=unit, n_epochs=n_epochs or len(values)
    )
    return panel(shown, LIGHT)


def test_shares_are_drawn_in_percent_and_other_units_as_they_are():
    assert list(drawn([0.25, 0.5], "share").data[0].y) == [25.0, 50.0]
    assert list(drawn([0.25, 0.5], "nats").data[0].y) == [0.25, 0.5]


def test_points_are_drawn_without_a_percent_sign():
    figure = drawn([0.25], "points")
    assert list(figure.data[0].y) == [25.0]
    assert not figure.layout.yaxis.ticksuffix
    assert "%" not in figure.data[0].hovertemplate.replace("%{", "")


def test_few_epochs_have_a_tick_each():
    assert drawn([0.1, 0.2, 0.3]).layout.xaxis.dtick == 1
    assert drawn([0.1], n_epochs=400).layout.xaxis.dtick is None


def test_epochs_count_from_one_and_the_axis_holds_all_that_were_asked_for():
    figure = drawn([0.3, 0.2], n_epochs=40)
    assert list(figure.data[0].x) == [1, 2]
    low, high = figure.layout.xaxis.range
    assert low < 1
    assert high > 40


def test_one_epoch_is_a_dot():
    figure = drawn([0.3])
    assert "markers" in figure.data[0].mode
    low, high = figure.layout.xaxis.range
    assert low < 1 < high


def test_an_epoch_without_a_value_is_a_hole():
    y = drawn([0.3, np.nan, 0.1]).data[0].y
    assert len(y) == 3
    assert np.isnan(y[1])


def test_a_rate_that_falls_tenfold_and_more_has_a_logarithmic_axis():
    assert drawn([0.1, 0.01, 0.001], "rate").layout.yaxis.type == "log"
    assert drawn([0.1, 0.05], "rate").layout.yaxis.type is None
    assert drawn([np.nan], "rate").layout.yaxis.type is None


def test_a_dashed_line_wears_its_runs_colour_in_both_themes():
    shown = MeasurePanel(lines=(line([1, 2], dash="dash"),), unit="nats", n_epochs=2)
    for theme in (LIGHT, DARK):
        found = panel(shown, theme).data[0].line
        assert found.color == theme.runs[0]
        assert found.dash == "dash"


def test_a_name_with_markup_is_text():
    shown = MeasurePanel(
        lines=(Curve("<b>x</b>", np.array([1]), np.array([1.0]), colour=0),),
        unit="nats",
        n_epochs=1,
    )
    assert "<b>x" not in panel(shown, LIGHT).data[0].name


def test_a_spike_of_one_epoch_in_ten_thousand_is_drawn():
    values = np.ones(10_000)
    values[[4321, 7000]] = 9.0, -9.0
    at = kept(values)
    assert {0, 4321, 7000, 9_999} <= set(at.tolist())
    assert len(at) <= MOST_POINTS
    assert len(drawn(values).data[0].y) <= MOST_POINTS


@given(st.lists(st.floats(0, 1) | st.just(float("nan")), min_size=1, max_size=200))
def test_thinning_keeps_ends_order_and_extremes(values):
    value = np.array(values)
    at = kept(value, most=20)
    assert at[0] == 0
    assert at[-1] == len(value) - 1
    assert (np.diff(at) > 0).all()
    assert len(at) <= max(20, 1) or len(value) <= 20
    if np.isfinite(value).any():
        assert np.nanmax(value[at]) == np.nanmax(value)
        assert np.nanmin(value[at]) == np.nanmin(value)


@pytest.mark.parametrize("n", [1, 2, MOST_POINTS])
def test_short_lines_are_drawn_whole(n):
    np.testing.assert_array_equal(kept(np.zeros(n)), np.arange(n))
