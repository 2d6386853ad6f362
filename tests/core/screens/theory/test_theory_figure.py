import numpy as np
import pytest

from core.screens.kit.curves import SYMBOLS, Curve, Highlight, Plot, chart
from core.screens.kit.theme import DARK, LIGHT
from core.screens.theory import claims

X = np.array([0.0, 0.5, 1.0])


def test_curves_keep_their_points_names_and_dashes():
    plot = Plot(
        curves=(
            Curve("one", X, X**2, colour=0, dash="dot"),
            Curve("two", X, X, dots=True),
        ),
        across="across",
        up="up",
        spots=(Highlight(0.5, 0.25, "here"),),
    )
    figure = chart(plot, LIGHT)
    one, two, spot = figure.data
    assert (one.name, list(one.y), one.line.dash) == ("one", [0.0, 0.25, 1.0], "dot")
    assert (one.line.color, two.line.color) == (LIGHT.runs[0], LIGHT.ink)
    assert (one.mode, two.mode) == ("lines", "lines+markers")
    assert (spot.name, spot.x[0], spot.y[0]) == ("here", 0.5, 0.25)
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("across", "up")
    assert chart(plot, DARK).data[1].line.color == DARK.ink


def test_the_area_runs_along_one_curve_and_back_along_the_other():
    low, high = Curve("low", X, X - 1), Curve("high", X, X + 1)
    area = chart(Plot(curves=(low, high), across="x", up="y", between=(low, high)), LIGHT).data[0]
    assert list(area.x) == [0.0, 0.5, 1.0, 1.0, 0.5, 0.0]
    assert list(area.y) == [-1.0, -0.5, 0.0, 2.0, 1.5, 1.0]
    assert area.showlegend is False


def test_dots_of_two_colours_have_two_symbols():
    curves = tuple(Curve(str(k), X, X, colour=k, dots=True) for k in range(len(SYMBOLS)))
    drawn = chart(Plot(curves=curves, across="x", up="y"), LIGHT).data
    assert len({trace.marker.symbol for trace in drawn}) == len(curves) > 2


def test_a_square_figure_keeps_its_sides_equal():
    plot = Plot(curves=(Curve("one", X, X),), across="x", up="y", square=True)
    assert chart(plot, LIGHT).layout.yaxis.scaleanchor == "x"
    assert (
        chart(Plot(curves=plot.curves, across="x", up="y"), LIGHT).layout.yaxis.scaleanchor is None
    )


def test_classes_lie_at_their_corners():
    np.testing.assert_allclose(claims.plane(np.eye(3)), claims.CORNERS)
    middle = claims.plane(np.full(3, 1 / 3))
    np.testing.assert_allclose(np.linalg.norm(claims.CORNERS - middle, axis=1), 3**-0.5)


def test_cells_of_the_raster_lie_where_their_probabilities_say():
    x, y, p, inside = claims.raster(40)
    np.testing.assert_allclose(
        claims.plane(p), np.stack(np.meshgrid(x, y), axis=-1), rtol=0, atol=1e-12
    )
    assert inside.mean() == pytest.approx(0.5, abs=0.02)  # a triangle is half of its box


def test_each_arrow_is_a_line_with_a_head_and_a_gap():
    start, end = np.eye(3)[:2], np.eye(3)[1:]
    trace = claims.arrows((claims.MoveArrows("map", start, end, "ink"),), LIGHT).data[-1]
    assert trace.name == "map"
    np.testing.assert_allclose(np.array(trace.x, float), [0, 1, np.nan, 1, 0.5, np.nan])
    assert list(trace.marker.size) == [0, 8, 0, 0, 8, 0]


def test_isolines_are_named_once_and_say_their_level():
    line = np.eye(3)[[0, 1, 2, 0]]
    kind = claims.TriangleLines("risk", np.stack([line, line]), ("1 nat", "2 nats"), "ink", "dash")
    mark = claims.TriangleMark(np.array([1.0, 0.0, 0.0]), "corner", "x")
    figure = claims.isolines((kind,), (mark,), LIGHT)
    lines = [trace for trace in figure.data if trace.name == "risk"]
    assert [trace.showlegend for trace in lines] == [True, False]
    assert [trace.hovertemplate[:12] for trace in lines] == ["risk: 1 nat<", "risk: 2 nats"]
    np.testing.assert_allclose(np.stack([lines[0].x, lines[0].y], 1)[:3], claims.CORNERS)
    assert figure.data[-1].name == "corner"
    assert (figure.data[-1].x[0], figure.data[-1].y[0]) == (0.0, 0.0)
