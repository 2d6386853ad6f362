"""What the curves of a training say: alt texts, tables, and the run beside it."""

import math

import numpy as np

from core.histories import History
from core.screens.kit.theme import LIGHT
from core.screens.train.view import (
    MORE,
    PANELS,
    PARTS,
    RunCurves,
    cards,
    distribution_cards,
    learned_card,
    run_marks,
    series,
)
from core.training.distributions import learned_logits

METRICS = (
    "val_nll_correct",
    "val_nll_wrong",
    "val_error",
    "val_ece",
    "val_entropy_correct",
    "val_entropy_wrong",
    "last_layer_norm",
    "train_loss",
    "val_loss",
    "lr",
)


def history(**columns):
    """Return a history with these values by epoch."""
    n = len(next(iter(columns.values())))
    rows = [(e, name, values[e]) for e in range(n) for name, values in columns.items()]
    epoch, metric, value = zip(*rows, strict=True)
    return History(np.array(epoch), metric, np.array(value, dtype=float))


def run(name="AdaFocal", n_epochs=None, **columns):
    found = history(**(columns or {key: [0.4, 0.1, 0.2] for key in METRICS}))
    return RunCurves(name, name, found, n_epochs or found.n_epochs)


def named(found):
    return {card.key: card for card in found}


def test_epochs_without_a_value_are_counted_and_are_gaps_in_the_table():
    card = named(cards(PANELS, [run(val_entropy_wrong=[0.5, float("nan"), float("nan")])]))[
        "entropy_wrong"
    ]
    assert "0.500 after epoch 1, 2 epochs without a value" in card.alt
    assert [row[-1] for row in card.table.rows] == [0.5, None, None]
    assert card.table.written()[1][-1] == "–"


def test_a_measure_without_any_value_says_so():
    card = cards(PANELS, [run(val_entropy_wrong=[float("nan")])])[0]
    assert "no value yet" in card.alt
    card.draw(LIGHT)


def test_what_was_not_recorded_has_no_panel():
    assert [card.key for card in cards(PANELS, [run(val_ece=[0.1])])] == ["ece"]
    assert cards(PANELS, [RunCurves("a", "a", history(other=[1.0]), 5)]) == ()


def test_nothing_recorded_yet_draws_nothing():
    empty = History(np.array([], np.int64), (), np.array([]))
    assert cards(PANELS, [RunCurves("a", "a", empty, 5)]) == ()


def test_the_run_beside_is_dashed_and_both_are_told_apart():
    card = named(cards(PANELS, [run("one"), run("two", val_ece=[0.5, 0.3])]))["ece"]
    first, second = card.draw(LIGHT).data
    assert (first.line.dash, second.line.dash) == ("solid", "dash")
    marks = run_marks([run("one"), run("two")])
    assert first.line.color == LIGHT.runs[marks[0].colour]
    assert second.line.color == LIGHT.runs[marks[1].colour]
    assert f"{marks[1].letter}: 50.0\u202f% after epoch 1" in card.alt
    assert [row[0] for row in card.table.rows] == ["one"] * 3 + ["two"] * 2


def test_training_and_validation_loss_are_told_apart():
    card = cards(MORE, [run(val_loss=[0.5, 0.4], train_loss=[0.6, 0.2])])[0]
    lines = {trace.name: trace for trace in card.draw(LIGHT).data}
    assert list(lines) == ["validation", "training"]
    assert lines["training"].line.dash == "dot"
    assert list(lines["training"].y) == [0.6, 0.2]


def test_each_part_has_its_line_in_the_folded_curves():
    curves = history(
        val_error=[0.5, 0.25], train_error=[0.75, 0.125], test_error=[0.5, 0.375],
        val_ece=[0.5, 0.25], val_ece_em=[0.25, 0.125],
    )  # fmt: skip
    error, ece = cards(PARTS, [RunCurves("a", "run", curves, 2)])
    traces = error.draw(LIGHT).data
    assert [trace.name for trace in traces] == ["validation", "training", "test"]
    assert [trace.line.dash for trace in traces] == ["solid", "dot", "dashdot"]
    assert traces[2].y.tolist() == [50.0, 37.5]
    assert [trace.name for trace in ece.draw(LIGHT).data] == ["equal width", "equal mass"]


def test_ten_thousand_epochs_are_thinned_in_picture_and_table():
    values = np.linspace(1, 0.1, 10_000)
    values[1234] = 3.0
    card = cards(PANELS, [run(val_ece=values)])[0]
    assert len(card.table.rows) <= 600
    assert max(row[-1] for row in card.table.rows) == 3.0
    assert len(card.draw(LIGHT).data[0].x) == len(card.table.rows)


def test_series_number_epochs_from_one():
    epoch, value = series(history(val_ece=[0.3, 0.2]))["val_ece"]
    assert epoch.tolist() == [1, 2]
    assert value.tolist() == [0.3, 0.2]


def test_markup_in_a_name_is_text():
    card = cards(PANELS, [run("<b>x</b>\u202e")])[0]
    assert "\u202e" not in card.alt
    assert "<b>x" not in card.draw(LIGHT).data[0].hovertemplate


def test_distributions_are_shown_at_the_first_the_middle_and_the_last_epoch():
    bins = {
        "train_bins.20.count": [30, 30, 30, 10, 30],
        "train_bins.20.confidence": [0.82] * 5,
        "train_bins.20.accuracy": [0.5, 0.5, 0.5, 0.5, 0.72],
        "train_bins.24.count": [10] * 5,
        "train_bins.24.confidence": [0.98] * 5,
        "train_bins.24.accuracy": [0.98] * 5,
        "row_grad_norm.21.share": [1.0, 0.75, 0.5, 0.5, 0.25],
        "row_grad_norm.20.share": [0.0, 0.25, 0.5, 0.5, 0.75],
    }
    norms, reliability = distribution_cards(history(**bins))
    assert (norms.key, reliability.key) == ("norms", "train_bins")
    # 30 of 40 rows are 32 points off, at the end 10
    assert "ECE after epoch 1: 24.0\u202f%, 3: 24.0\u202f%, 5: 7.5\u202f%." in reliability.caption
    names = [trace.name for trace in reliability.draw(LIGHT).data]
    assert names == ["calibrated", "epoch 1", "epoch 3", "epoch 5"]
    assert "epoch 1 1.5e-01" in norms.alt  # the middle of 10^(-1) to 10^(-2/3)
    assert distribution_cards(history(val_ece=[0.1])) == ()


def test_largest_logits_are_drawn_by_learned_epoch():
    epochs = np.array([1, 1, 1, 2, 5, 9, 9])
    parts = learned_logits(epochs, np.array([0.0, 8.0, 8.0, 4.1, 4.1, 2.0, 2.0]), 8)
    recorded = history(
        val_nll=[1.0] * 8, **{name: [math.nan] * 7 + [v] for name, v in parts.items()}
    )
    (card,) = distribution_cards(recorded)
    traces = card.draw(LIGHT).data
    names = ["epochs 1 to 2 (n = 4)", "epochs 5 to 6 (n = 1)", "never (n = 2)"]
    assert [trace.name for trace in traces] == names  # a group without rows has no line
    assert len({(trace.line.color, trace.line.dash) for trace in traces}) == 3
    assert traces[0].y[[0, 10, 19]].tolist() == [0.25, 0.25, 0.5]
    assert "after epoch 8" in card.alt
    assert "epochs 1 to 2 6.05, epochs 5 to 6 4.10, never 2.00" in card.alt
    assert "a training row is answered right" in card.caption
    two = learned_card({2: learned_logits(np.minimum(epochs, 3), np.zeros(7), 2)})
    drawn = [trace.name for trace in two.draw(LIGHT).data]
    assert drawn == ["epoch 1 (n = 3)", "epoch 2 (n = 1)", "never (n = 3)"]
