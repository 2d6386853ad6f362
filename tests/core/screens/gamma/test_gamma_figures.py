"""The maps, the panels and the epoch's diagram: colours, rings, grey, places, thinning."""

import json
from dataclasses import replace

import numpy as np
import pytest

from core.histories import BinHistory
from core.screens.gamma.figures import (
    PLAIN_TERMS,
    STRIDE,
    TERMS,
    HistoryGrid,
    PanelChoice,
    SecondHistory,
    TrainingBins,
    calibration_errors,
    correspondence,
    heatmaps,
    root,
    small_multiples,
    some,
    ticks,
)
from core.screens.gamma.view import epoch_diagram, moved_traces
from core.screens.kit.marks import ANSWERS
from core.screens.kit.theme import DARK, LIGHT


def table(gamma, *, count=None, gap=None, train=None):
    gamma = np.asarray(gamma, float)
    n_epochs, n_bins = gamma.shape
    count = np.full(gamma.shape, 50) if count is None else np.asarray(count)
    gap = np.zeros(gamma.shape) if gap is None else np.asarray(gap, float)
    right = np.where(count > 0, 0.5, np.nan)
    edges = np.linspace(0, 1, n_bins + 1)
    return HistoryGrid.of(
        BinHistory(
            epoch=np.repeat(np.arange(n_epochs), n_bins),
            bin=np.tile(np.arange(n_bins), n_epochs),
            lower=np.tile(edges[:-1], n_epochs),
            upper=np.tile(edges[1:], n_epochs),
            count=count.ravel(),
            confidence=(right + gap).ravel(),
            accuracy=right.ravel(),
            gap=np.where(count > 0, gap, 0).ravel(),
            gamma=gamma.ravel(),
            train_confidence=np.full(gamma.size, np.nan)
            if train is None
            else np.asarray(train, float).ravel(),
        )
    )


def heats(figure):
    return [trace for trace in figure.data if trace.type == "heatmap"]


def rings(figure):
    (found,) = [trace for trace in figure.data if trace.name == "γ changed sign"]
    return set(zip(found.x.tolist(), found.y.tolist(), strict=True))


def test_gamma_is_coloured_by_its_signed_square_root():
    np.testing.assert_allclose(root(np.array([-4.0, -0.25, 0.0, 9.0])), [-2.0, -0.5, 0.0, 3.0])
    figure = heatmaps(table([[4.0, -0.25]]), TERMS, LIGHT)
    gamma = heats(figure)[0]
    np.testing.assert_allclose(np.asarray(gamma.z), [[2.0], [-0.5]])
    assert (gamma.zmin, gamma.zmax) == (-2.0, 2.0)
    assert [colour for _, colour in gamma.colorscale] == [LIGHT.under, LIGHT.middle, LIGHT.over]


def test_gammas_beyond_the_scale_are_marked_in_the_key():
    bar = heats(heatmaps(table([[400.0, 1.0]]), TERMS, LIGHT))[0].colorbar
    assert bar.ticktext[-1] == "20+"
    assert heats(heatmaps(table([[5.0, 1.0]]), TERMS, LIGHT))[0].colorbar.ticktext[-1] == "5"


def test_rings_stand_where_gamma_turns():
    gamma = [[1.0, -0.2], [-0.2, -0.3], [-0.3, 0.2]]
    assert rings(heatmaps(table(gamma), TERMS, LIGHT)) == {(0, 1), (1, 0), (2, 1)}


def test_the_first_epoch_of_a_later_history_claims_no_turn():
    first = table([[-0.2, 1.0], [-0.3, -0.2]])
    assert first.turned.tolist() == [[True, False], [False, True]]
    later = replace(first, update=np.array([9, 10]))
    assert later.turned.tolist() == [[False, False], [False, True]]


def test_many_turns_are_thinned():
    gamma = np.where(np.arange(3000)[:, None] % 2, -1.0, 1.0) * np.ones((1, 2))
    (found,) = [t for t in heatmaps(table(gamma), TERMS, LIGHT).data if t.name == "γ changed sign"]
    assert len(found.x) == 2000  # every third of 2 * 2 999, from the first
    assert (found.x[0], found.x[-1]) == (1, 2999)


def test_bins_without_answers_are_grey_and_have_no_gap():
    figure = heatmaps(table([[1.0, 1.0]], count=[[5, 0]], gap=[[0.1, 0.0]]), TERMS, DARK)
    found = heats(figure)
    assert len(found) == 4
    assert np.isnan(np.asarray(found[1].z)[1, 0])
    for grey in found[2:]:
        np.testing.assert_array_equal(np.isnan(np.asarray(grey.z)).ravel(), [True, False])


def test_every_cell_answers_with_its_epoch_and_bin():
    figure = heatmaps(table(np.ones((3, 2)), count=[[5, 0]] * 3), TERMS, LIGHT)
    for on in ("y", "y2"):
        cells = [t for t in figure.data if t.name == "cells" and t.yaxis == on]
        data = np.concatenate([np.asarray(t.customdata)[:, :2] for t in cells])
        assert {tuple(row) for row in data.tolist()} == {(e, b) for e in (1, 2, 3) for b in (1, 2)}


def test_a_cell_of_a_history_with_missing_epochs_answers_with_its_own_epoch():
    kept = np.repeat([4, 6, 9], 2)  # from 0; the page counts from 1
    grid = table(np.ones((3, 2)))
    grid = replace(grid, epoch=kept[::2] + 1)
    figure = heatmaps(grid, TERMS, LIGHT)
    cells = [trace for trace in figure.data if trace.name == "cells"]
    assert {row[0] for trace in cells for row in np.asarray(trace.customdata).tolist()} == {
        5,
        7,
        10,
    }


def test_plain_maps_have_no_greek():
    text = heatmaps(table(np.ones((2, 2)), count=[[5, 0]] * 2), PLAIN_TERMS, LIGHT).to_json()
    seen = text.replace('"name":"\\u03b3 changed sign"', "").replace('"name":"γ changed sign"', "")
    assert "γ" not in seen
    assert "\\u03b3" not in seen
    assert '"Round"' in seen


def test_many_epochs_and_bins_are_thinned_with_both_ends():
    assert some(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert some(11, 4).tolist() == [0, 3, 6, 9, 10]
    found = heats(heatmaps(table(np.ones((2000, 3))), TERMS, LIGHT))[0]
    assert len(found.x) <= 701
    assert (found.x[0], found.x[-1]) == (0, 1999)
    wide = heatmaps(table(np.ones((2, 500))), TERMS, LIGHT)
    assert len(heats(wide)[0].y) <= 101
    assert sum(len(t.x) for t in wide.data if t.name == "cells") <= 2 * 6100


@pytest.mark.parametrize(
    ("labels", "most", "told"),
    [
        (range(1, 41), 8, [1, 5, 10, 15, 20, 25, 30, 35, 40]),
        (range(1, 16), 5, [1, 5, 10, 15]),
        (range(1, 4), 8, [1, 2, 3]),
        ([7], 8, [7]),
        ([3, 30, 31], 8, [3, 30]),
        ([1, 1, 1, 2, 2, 2, 3], 8, [1, 2, 3]),  # several updates an epoch
    ],
)
def test_ticks_are_round_numbers(labels, most, told):
    labels = np.array(labels)
    assert labels[ticks(labels, most)].tolist() == told


def drawn(figure, on):
    return [trace for trace in figure.data if (trace.yaxis or "y") == on]


def test_panels_stand_side_by_side_on_one_scale():
    gamma = [[1.0, 4.0], [1.0, -0.25]]
    figure = small_multiples(table(gamma), PanelChoice((0, 1), 1, 1), None, LIGHT)
    line = drawn(figure, "y2")[2]
    np.testing.assert_allclose(line.x, np.float32([0, 1, np.nan, STRIDE, STRIDE + 1, np.nan]))
    np.testing.assert_allclose(line.y, np.float32([1, 1, np.nan, 2, -0.5, np.nan]))
    over, under = drawn(figure, "y2")[:2]
    assert np.nanmin(over.y) == 0
    assert np.nanmax(under.y) == 0
    heads = [note.text for note in figure.layout.annotations]
    assert heads == ["<b>1</b>", "1.00", "<b>2</b>", "−0.25"]


@pytest.mark.parametrize(
    ("gamma", "text"), [(99.5, "99.5"), (100.0, "100"), (999.0, "999"), (1000.0, "1e+03")]
)
def test_only_numbers_of_four_digits_are_written_as_powers(gamma, text):
    figure = small_multiples(table([[gamma]]), PanelChoice((0,), 0, 0), None, LIGHT)
    assert figure.layout.annotations[1].text == text


def test_the_chosen_epoch_is_a_line_in_every_panel():
    figure = small_multiples(table(np.ones((5, 2))), PanelChoice((0, 1), 2, 0), None, LIGHT)
    lines = [shape.x0 for shape in figure.layout.shapes if shape.type == "line"]
    np.testing.assert_allclose(lines, [0.5, STRIDE + 0.5])
    boxes = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert len(boxes) == 1


def test_a_second_history_is_drawn_over_gap_and_gamma_on_the_same_epochs():
    other = SecondHistory(table(np.full((11, 1), 2.0)), 3, "dot")
    figure = small_multiples(table(np.ones((6, 1))), PanelChoice((0,), 5, 0), other, LIGHT)
    ours, theirs = drawn(figure, "y2")[2], drawn(figure, "y2")[3]
    assert theirs.line.color == LIGHT.runs[3]
    assert theirs.line.dash == "dot"
    assert np.nanmax(ours.x) == pytest.approx(0.5)  # six epochs of eleven
    assert np.nanmax(theirs.x) == pytest.approx(1.0)
    assert drawn(figure, "y")[-1].line.color == LIGHT.runs[3]


def test_the_ends_of_the_panels_are_those_of_both_histories():
    place = PanelChoice((0,), 5, 0)
    other = SecondHistory(table(np.full((11, 1), 2.0)), 3, "dot")
    axis = small_multiples(table(np.ones((6, 1))), place, other, LIGHT).layout.xaxis
    assert (axis.tickvals, axis.ticktext) == ((0, 1), ("1", "11"))
    alone = small_multiples(table(np.ones((6, 1))), place, None, LIGHT).layout.xaxis
    assert alone.ticktext == ("1", "6")
    one = small_multiples(table([[1.0]]), PanelChoice((0,), 0, 0), None, LIGHT).layout.xaxis
    assert (one.tickvals, one.ticktext) == ((0,), ("1",))


def test_panels_ring_every_turn_even_where_lines_are_thinned():
    gamma = np.ones((400, 3))
    gamma[7:, 2] = -0.25
    gamma[200:, 0] = -4.0
    figure = small_multiples(table(gamma), PanelChoice((0, 2), 0, 0), None, LIGHT)
    (found,) = [trace for trace in figure.data if trace.name == "γ changed sign"]
    assert found.yaxis == "y2"
    np.testing.assert_allclose(found.x, np.float32([STRIDE + 7 / 399, 200 / 399]))
    np.testing.assert_allclose(found.y, np.float32([-0.5, -2.0]))


def test_no_training_row_is_a_gap_and_not_zero():
    train = [[0.4], [np.nan], [0.6]]
    rows, place = table(np.ones((3, 1)), train=train), PanelChoice((0,), 0, 0)
    figure = correspondence(rows, place, TrainingBins(), LIGHT)
    np.testing.assert_allclose(figure.data[0].y, np.float32([0.4, np.nan, 0.6, np.nan]))
    assert figure.data[1].marker.symbol == "star"


def test_errors_by_bin_stand_over_a_line_at_zero_and_the_edges():
    gap = [[0.25, -0.1], [0.125, 0.0]]
    other = SecondHistory(table(np.zeros((2, 2)), gap=[[0.5, 0.0], [0.0, 0.0]]), 3, "dash")
    place = PanelChoice((0, 1), 1, -1)
    figure = calibration_errors(table(np.zeros((2, 2)), gap=gap), place, other, LIGHT)
    _, _, error, zero, second = (drawn(figure, "y")[i] for i in (0, 1, 2, 3, -1))
    np.testing.assert_allclose(error.y, np.float32([25, 12.5, np.nan, -10, 0, np.nan]))
    np.testing.assert_allclose(zero.y, np.float32([0, 0, np.nan, 0, 0, np.nan]))
    np.testing.assert_allclose(second.y, np.float32([50, 0, np.nan, 0, 0, np.nan]))
    assert figure.layout.yaxis.ticktext == ("−50", "0", "+50")
    (band,) = drawn(figure, "y2")
    np.testing.assert_allclose(band.y[:5], np.float32([0.5, 0.5, 0, 0, np.nan]))
    assert [note.text for note in figure.layout.annotations][1::2] == ["12.5", "0.0"]


def test_answers_lie_under_the_true_class_and_own_bins_over_those_of_validation():
    rows, place = table(np.zeros((2, 1)), train=[[0.5], [0.75]]), PanelChoice((0,), 1, -1)
    both = correspondence(rows, place, TrainingBins(top=np.array([[0.625], [0.875]])), LIGHT)
    assert [line.name for line in both.data[:2]] == ["C_train, answer", "C_train"]
    np.testing.assert_allclose(both.data[0].y, np.float32([0.625, 0.875, np.nan]))
    assert both.layout.annotations[1].text == "75.0"  # percent, as on the axis
    edges = np.array([[0.25], [0.125]]), np.array([[0.75], [0.5]])
    validation, lower, upper = drawn(
        correspondence(rows, place, TrainingBins(edges=edges), LIGHT), "y2"
    )
    np.testing.assert_allclose(validation.y[:4], np.float32([1, 1, 0, 0]))
    np.testing.assert_allclose(lower.y, np.float32([0.25, 0.125, np.nan]))
    np.testing.assert_allclose(upper.y, np.float32([0.75, 0.5, np.nan]))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_one_epoch_and_one_bin_draw(theme):
    one = table([[1.0]], train=[[0.4]])
    place = PanelChoice((0,), 0, 0)
    for figure in (
        heatmaps(one, TERMS, theme),
        small_multiples(one, place, None, theme),
        correspondence(one, place, TrainingBins(), theme),
        calibration_errors(one, place, None, theme),
    ):
        assert figure.to_json()


def test_the_chosen_bin_is_ringed_unless_it_is_empty():
    from core.screens.gamma.words import bins_of

    bins = bins_of(table([[1.0, 1.0]], count=[[50, 0]], gap=[[0.1, 0.0]]), 0)
    figure = epoch_diagram(bins, 0, LIGHT)
    (ring,) = [trace for trace in figure.data if trace.name == "chosen bin"]
    assert (ring.x[0], ring.y[0]) == (0.6, 0.5)
    assert epoch_diagram(bins, 1, LIGHT).data[-1].x == ()


def test_the_browser_is_sent_what_is_drawn_after_each_epoch():
    from core.screens.gamma.words import bins_of

    history = table(
        [[1.0, 1.2], [0.9, 1.4]], count=[[50, 0], [30, 40]], gap=[[0.1, 0.0], [-0.2, 0.3]]
    )
    for at in range(2):
        drawn = epoch_diagram(bins_of(history, at), 1, LIGHT).data[:-1]
        sent = json.loads(moved_traces(bins_of(history, at), ANSWERS))
        texts = [text or [] for text in sent.pop("hovertext")]
        assert texts == [[*(trace.hovertext or ())] for trace in drawn]
        for name, columns in sent.items():
            for trace, column in zip(drawn, columns, strict=True):
                if trace[name] is None:
                    assert column is None
                else:
                    np.testing.assert_allclose(
                        np.array(column, float), np.array(trace[name], float), atol=5e-4
                    )
