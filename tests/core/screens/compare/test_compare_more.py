"""What is folded under a comparison: settings, seeds, training and rows that differ."""

import numpy as np
import pytest

from core.histories import BinHistory, History
from core.metrics.comparison import compared
from core.predictions import Predictions, ScoreKind, Task
from core.screens.compare.training import (
    TrainedCurve,
    gammas_by_epoch_card,
    measures,
    scatter_card,
    seeds_table,
    sweep_card,
    training_card,
)
from core.screens.compare.view import disagreement_view
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import marks
from core.studies.comparison import (
    RunAnswers,
    disagreements,
    seed_groups,
    settings,
    summary,
    varied,
)
from core.training.config import from_json

PAIRS = ((1.0, 32), (2.0, 32), (1.0, 64), (2.0, 64))  # gamma and batch size
RECIPES = ((1.0, 0), (1.0, 1), (2.0, 0), (2.0, 1), (3.0, 0))  # gamma and seed


def config(gamma, seed):
    loss = {"name": "focal", "gamma": gamma}
    given = {"data": "digits", "model": "small_cnn", "loss": loss}
    return {"name": f"run {seed}", **given, "seed": seed}


TRAINED = [settings(config(*recipe)) for recipe in RECIPES]


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(90, 3)), rng.integers(0, 3, 90)
    return [
        compared(Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scale * logits, labels))
        for scale in (1.0, 1.4, 2.0, 2.2, 3.0)
    ]


def named(n=5):
    return [NamedRun(f"id{i}", f"<b>{i}", "test", "d") for i in range(n)]


NAMED = named()
IDS = [one.id for one in NAMED]


def test_runs_that_differ_in_their_seed_alone_are_a_group():
    assert seed_groups(TRAINED) == ((0, 1), (2, 3), (4,))
    assert seed_groups([None, TRAINED[0], None]) == ((0,), (1,), (2,))
    other_split = settings(config(*RECIPES[0]) | {"split_seed": 9})
    assert seed_groups([TRAINED[0], other_split]) == ((0, 1),)
    assert varied(TRAINED) == ("loss.gamma",)
    cross_entropy = settings(config(1.0, 0) | {"loss": {"name": "ce"}})
    assert varied([TRAINED[0], cross_entropy]) == ("loss.name",)  # one of them has a gamma
    assert settings(None) is settings({"model": "x"}) is None
    assert (summary([1.0, 2.0, 6.0]).mean, summary([1.0, 3.0]).spread) == (3.0, 2**0.5)
    assert summary([1.0]).spread is None


def test_how_a_run_was_computed_is_no_setting_but_batch_norm_by_device_is():
    """Each of two devices normalises by its own half of a batch, unless statistics are shared."""
    elsewhere = {
        "data_root": "/data", "device": "cpu", "deterministic": True, "compile": "on",
        "checkpoint_every": 9, "test_curves": True, "preset": "cifar",
    }  # fmt: skip
    same = {**from_json(config(1.0, 0)).to_json(), **elsewhere}
    synced, halves = ({"devices": 2, "sync_batch_norm": shared} for shared in (True, False))
    runs = [settings(config(1.0, 1) | change) for change in (same, synced, halves)]
    assert seed_groups([TRAINED[0], *runs]) == ((0, 1, 2), (3,))
    assert varied([TRAINED[0], *runs]) == ("devices",)
    texts = config(1.0, 0) | {"data": "sst2", "model": "text_cnn"}
    assert settings(texts) == settings(texts | {"devices": 2})


def test_a_sweep_draws_means_over_seeds_and_their_spread(runs):
    card = sweep_card(named(), runs, TRAINED, "loss.gamma", "ece")
    errors = [run.audit.main.metrics["ece"].value for run in runs]
    assert [row[1:4] for row in card.table.rows] == [
        (1.0, 2, pytest.approx(np.mean(errors[:2]))),
        (2.0, 2, pytest.approx(np.mean(errors[2:4]))),
        (3.0, 1, pytest.approx(errors[4])),
    ]
    assert card.table.rows[0][4] == pytest.approx(np.std(errors[:2], ddof=1))
    assert card.table.rows[2][4] is None
    (line,) = card.figure("light").data  # one recipe but for gamma; one of it has no spread
    np.testing.assert_allclose(line.y, [100 * row[3] for row in card.table.rows])
    assert "<b>0" not in " ".join(line.hovertext)
    banded = sweep_card(named(4), runs[:4], TRAINED[:4], "loss.gamma", "ece").figure("dark")
    assert [trace.fill for trace in banded.data] == ["toself", None]
    assert sweep_card(named(), runs, [None] * 5, "loss.gamma", "ece") is None


def test_recipes_of_a_sweep_are_told_apart_without_colour(runs):
    batches = [settings(config(gamma, 0) | {"batch_size": size}) for gamma, size in PAIRS]
    figure = sweep_card(named(4), runs[:4], batches, "loss.gamma", "ece").figure("light")
    looks = [(trace.line.dash, trace.marker.symbol, trace.name) for trace in figure.data]
    assert looks == [("solid", "circle", "&lt;b&gt;0"), ("dash", "square", "&lt;b&gt;2")]
    assert figure.layout.showlegend


def test_losses_of_a_sweep_are_named_as_printed_and_joined_by_no_line(runs):
    losses = [
        settings(config(1.0, seed) | {"loss": {"name": name}})
        for name, seed in (("flsd_53", 0), ("flsd_53", 1), ("ce", 0), ("ce", 1), ("adafocal", 0))
    ]
    badges = {named.id: mark for named, mark in zip(NAMED, marks(IDS), strict=True)}
    card = sweep_card(NAMED, runs, losses, "loss.name", "ece", badges)
    (dots,) = card.figure("light").data  # no band either: losses have no order
    assert dots.mode == "markers+text"
    assert set(dots.x) == {"FLSD-53", "Cross-entropy", "AdaFocal"}
    assert set(dots.text) == {"A B", "C D", "E"}
    drawn = f"{card.figure('light').to_json()} {card.alt} {card.table.rows} {card.caption}"
    assert "flsd_53" not in drawn
    assert "line joins" not in card.caption


def test_seeds_are_a_table_and_two_metrics_a_dot_a_run(runs):
    table = seeds_table(named(), runs, TRAINED)
    assert [row.cells["seeds"] for row in table.rows] == [2, 2]
    nlls = [run.audit.main.metrics["nll"].value for run in runs[:2]]
    assert table.rows[0].cells["nll"].value == pytest.approx(np.mean(nlls))
    assert table.rows[0].cells["nll_sd"] == pytest.approx(np.std(nlls, ddof=1))
    assert seeds_table(named(), runs, [None] * 5) is None
    badges = {named.id: mark for named, mark in zip(NAMED[:4], marks(IDS[:4]), strict=True)}
    card = scatter_card(NAMED, runs, "accuracy", "nll", badges)
    dots = card.figure("light").data[0]
    assert dots.text == ("A", "B", "C", "D", "")  # the last does not stand out
    assert list(dots.y) == [run.audit.main.metrics["nll"].value for run in runs]
    assert list(dots.x) == [100 * run.audit.main.metrics["accuracy"].value for run in runs]


def test_training_stands_beside_validation():
    metric = ("val_ece", "train_ece", "lr", "train_bins.3.count") * 2
    history = History(np.repeat([0, 1], 4), metric, np.arange(8) / 10)
    curves = [TrainedCurve("one", mark, history, None) for mark in marks(["a", "b"])]
    assert measures(curves) == {"ece": "ECE", "lr": "Learning rate"}
    card = training_card(curves, "ece")
    found = [(trace.line.dash, tuple(trace.y)) for trace in card.figure("light").data]
    dashes = [curve.mark.dash for curve in curves]
    assert found == [(d, y) for d in dashes for y in ((0.0, 0.4), (0.1, 0.5))]
    letters = [(note.text, note.y >= 0.4) for note in card.figure("light").layout.annotations]
    assert letters == [("<b>A</b>", True), ("<b>B</b>", True)]
    assert training_card(curves, "nll") is None


def test_gammas_by_epoch_are_means_over_answers_between_the_ends():
    epoch, index = np.repeat([0, 2], 2), np.tile([0, 1], 2)
    gamma, says = np.array([1.0, 1.0, -0.5, 3.0]), np.array([0.25, 0.75, 0.25, 0.75])
    bins = BinHistory(
        epoch=epoch,
        bin=index,
        lower=index / 2,
        upper=(index + 1) / 2,
        count=np.array([5, 5, 1, 3]),
        confidence=says,
        accuracy=says,
        gap=np.zeros(4),
        gamma=gamma,
        train_confidence=np.full(4, np.nan),
    )
    history = History(np.array([0]), ("lr",), np.array([0.1]))
    one, two = marks(["a", "b"])
    curves = [TrainedCurve("one", one, history, bins), TrainedCurve("two", two, history, None)]
    card = gammas_by_epoch_card(curves)
    ends = ("one", 1, 1.0, 1.0, 1.0), ("one", 3, -0.5, (-0.5 + 3 * 3.0) / 4, 3.0)
    assert card.table.rows == ends
    band, line = card.figure("dark").data
    assert list(band.y) == [1.0, -0.5, 3.0, 1.0]
    assert list(line.y) == [1.0, 2.125]
    assert line.line.dash == one.dash
    assert gammas_by_epoch_card(curves[1:]) is None


def test_the_surest_contradictions_come_first():
    runs = [
        RunAnswers(np.array([0, 1, 0, 0]), np.array([0.9, 0.6, 0.5, 0.99]), ("cat", "dog")),
        RunAnswers(np.array([0, 0, 1, 1]), np.array([0.9, 0.7, 0.8, 0.55]), ("cat", "dog")),
    ]
    labels = np.array([0, 0, 1, 1])
    total, rows = disagreements(runs, labels, 2)
    assert total == 3
    assert [row.row for row in rows] == [1, 3]  # contradicted with 0.6 and 0.55; row 2 with 0.5
    assert (rows[1].label, rows[1].predicted) == (1, (0, 1))
    found = disagreement_view(marks(["a", "b"]), runs, labels)
    assert found.rows == (1, 3, 2)


def test_a_run_may_know_more_classes_than_another():
    runs = [
        RunAnswers(np.array([0, 1]), np.array([0.9, 0.6]), ("cat", "dog")),
        RunAnswers(np.array([2, 1]), np.array([0.9, 0.7]), ("cat", "dog", "cow")),
    ]
    found = disagreement_view(marks(["a", "b"]), runs, np.array([0, 1]))
    assert found.table.rows == ((0, "cat", "cat, 90.0\u202f%", "cow, 90.0\u202f%"),)
    assert found.captions == ("Row 0, label cat: A\u00a0cat, B\u00a0cow",)
