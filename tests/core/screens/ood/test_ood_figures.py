"""Every drawn mark of the curves and densities is one of the numbers that it was given."""

from dataclasses import replace

import numpy as np
import pytest

from core.screens.kit.curves import Curve
from core.screens.kit.theme import DARK, LIGHT
from core.screens.ood.tables import ValueGrid, heatmap
from core.screens.ood.view import Density, OperatingPoint, density, roc

LINE = Curve("a & b", np.array([0, 0.2, 1.0]), np.array([0, 0.7, 1.0]), colour=3, dash="dot")


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_curves_end_in_the_corners_and_wear_their_area(theme):
    figure = roc([LINE], [0.9123], OperatingPoint(0.05, 0.4), theme)
    guess, curve, ring = figure.data
    assert (list(guess.x), list(guess.y)) == ([0, 1], [0, 1])
    assert curve.name == "a &amp; b <b>0.912</b>"
    assert (curve.line.color, curve.line.dash) == (theme.runs[3], "dot")
    np.testing.assert_array_equal(curve.y, LINE.y)
    assert (ring.x[0], ring.y[0]) == (0.05, 0.4)
    assert "(positive)" in figure.layout.yaxis.title.text


def drawn(log, threshold=0.5):
    edges = np.geomspace(0.01, 1, 5) if log else np.linspace(-2, 2, 5)
    return Density(
        edges=edges,
        inside=np.array([1, 2, 3, 4]),
        outside=np.array([5, 0, 0, 15]),
        names=("in", "out"),
        axis="a score",
        threshold=threshold,
        log=log,
        colour=0,
    )


@pytest.mark.parametrize("log", [True, False])
def test_densities_are_percent_of_each_set(log):
    figure = density(drawn(log), LIGHT)
    inside, outside = figure.data
    assert (inside.line.dash, outside.line.dash) == ("dot", None)  # told apart without colour
    np.testing.assert_allclose(inside.y, [10, 20, 30, 40, 40])
    np.testing.assert_allclose(outside.y, [25, 0, 0, 75, 75])
    assert "15 images" in outside.customdata[3]
    assert figure.layout.xaxis.type == ("log" if log else None)
    assert "flagged above 0.500" in figure.layout.annotations[0].text
    assert figure.layout.shapes[1].x0 == 0.5


@pytest.mark.parametrize(("threshold", "place"), [(-9.0, -2.0), (9.0, 2.0)])
def test_a_threshold_beyond_the_axis_stands_at_its_end(threshold, place):
    figure = density(drawn(log=False, threshold=threshold), LIGHT)
    assert figure.layout.shapes[1].x0 == place


def test_a_log_axis_names_its_powers():
    figure = density(drawn(log=True), LIGHT)
    assert list(figure.layout.xaxis.ticktext) == ["≤ 0.01", "0.1", "1"]
    wide = replace(drawn(log=True), edges=np.geomspace(1e-8, 1.0, len(drawn(log=True).edges)))
    axis = density(wide, LIGHT).layout.xaxis
    assert list(axis.ticktext) == ["≤ 10⁻⁸", "10⁻⁶", "10⁻⁴", "0.01", "1"]
    assert np.allclose(axis.tickvals, [1e-8, 1e-6, 1e-4, 1e-2, 1.0])


def test_a_tiny_score_is_not_written_as_zero():
    edges = np.geomspace(1e-9, 1e-7, 5)
    figure = density(replace(drawn(log=True, threshold=2.34e-8), edges=edges), LIGHT)
    assert "flagged above 2.3 × 10⁻⁸" in figure.layout.annotations[0].text
    assert figure.data[0].customdata[0].startswith("1.0 × 10⁻⁹ to 3.2 × 10⁻⁹: ")


def test_small_is_bright_where_small_is_good():
    values = np.array([[0.0, 0.5]])
    figure = heatmap(
        ValueGrid(rows=["fog"], columns=[1, 2], values=values, low=0.5, high=0.0), LIGHT
    )
    cells, dark, bright = figure.data
    assert cells.reversescale
    assert (cells.zmin, cells.zmax) == (0, 50)
    assert (list(dark.text), list(bright.text)) == (["50"], ["0"])
    other = heatmap(
        ValueGrid(rows=["fog"], columns=[1, 2], values=values, low=0.0, high=0.5), LIGHT
    )
    assert (list(other.data[1].text), list(other.data[2].text)) == (["0"], ["50"])
