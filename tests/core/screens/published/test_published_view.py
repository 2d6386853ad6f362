"""The Published page's words: stories, doubts, own runs on one definition, what differs."""

import numpy as np
import pytest
from scipy.special import softmax

from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Score
from core.metrics.smooth import smece
from core.predictions import Predictions, ScoreKind, Task
from core.published import PAPERS, FitProtocol, rows
from core.reports.tables import csv_text
from core.screens.kit.marks import RunMark
from core.screens.kit.theme import THEMES
from core.screens.published.lines import (
    DATA,
    METHODS,
    NETWORKS,
    PLAIN,
    POSTHOC,
    SHORT_PAPERS,
    TECHNICAL,
    Filters,
    OwnRun,
    TrainedRun,
    metric_label,
    metrics,
    networks,
)
from core.screens.published.view import Dot, DotRow, dot_plot, published_view
from core.studies.published import SEVERAL, FittedScore, OwnNumbers, own_numbers

STORY = Filters(data="cifar10", network="resnet50", metric="ece_ew", paper="mukhoti2020iclr")
MARK = RunMark("J", 3, "solid")


def shown(filters=STORY, words=TECHNICAL, own=(), trained=None):
    return published_view(filters, words, own, trained or {})


def cells(view, name):
    heads = view.table.heads[1:]
    row = next(row for row in view.table.written() if row.name == name)
    return dict(zip(heads, row.cells, strict=True))


def test_every_name_of_the_papers_is_spelt_out():
    for row in rows():
        assert row.dataset in DATA
        assert row.model in NETWORKS
        assert row.method in METHODS
        assert row.posthoc in POSTHOC
        assert metric_label(row.metric)
    assert set(SHORT_PAPERS) == set(PAPERS)


def test_calibrators_are_told_apart_without_colour():
    card = shown().figure
    assert card.explanation == "circle: as trained; diamond: after temperature"
    (symbols,) = {t.marker.symbol for t in card.figure("light").data if t.mode == "markers"}
    assert symbols == ("circle", "diamond")
    for distinct in zip(*POSTHOC.values(), strict=True):  # heads, symbols, shapes
        assert len(set(distinct)) == len(POSTHOC)


def test_every_cell_of_the_papers_can_be_shown():
    for data in ("", *DATA):
        for network in ("", *networks(data)):
            for metric in ("", *metrics(data, network)):
                view = shown(Filters(data=data, network=network, metric=metric))
                assert view is not None
                assert (view.figure is None) == (not (data and network and metric))


def test_nothing_fits_is_none_and_never_an_empty_table():
    assert shown(Filters(data="cifar10", paper="komisarenko2024", moment="before")) is None
    assert shown(Filters(data="chestxray14"), PLAIN) is None


def test_a_number_in_doubt_is_hollow_and_says_why():
    # Table 3, CIFAR-10 DenseNet-121: a copied row.
    asked = Filters(data="cifar10", network="densenet121", metric="smece", paper="fcl2024")
    view = shown(asked)
    drawn = view.figure.draw(THEMES["light"])
    paper = THEMES["light"].paper
    hollow = [t.name for t in drawn.data if t.mode == "markers" and paper in t.marker.color]
    assert len(hollow) == 6
    # the lowest number, 1.48 of FCL, is a copy
    assert view.sentence.text.replace("\u202f", " ") == (
        "DenseNet-121 on CIFAR-10: smECE is 2.84 % with label smoothing 0.05."
        " After temperature scaling, 1.63 %."
    )
    assert "12 numbers in doubt" in view.sentence.second
    notes = {row.name: row.notes[-1] for row in view.table.written()}
    assert notes["MMCE"].startswith("Suspect: equal to CIFAR-100")
    assert not notes["Label smoothing 0.05"].startswith("Suspect")


def test_two_tables_that_differ_are_two_lines():
    # FLSD-53 in tables 1 and 7 of Ghosh et al. 2022
    asked = Filters(data="cifar10", network="resnet50", metric="ece_em", paper="adafocal2022")
    twice = [row.cells[0].value for row in shown(asked).table.written() if row.name == "FLSD-53"]
    assert [text.replace("\u202f", " ") for text in twice] == ["1.63 %", "1.67 %"]


def test_the_file_has_every_number_with_its_doubt():
    view = shown(Filters(paper="adafocal2022"))
    lines = csv_text(view.file()).splitlines()
    assert len(lines) == 1 + 616
    assert lines[0].lstrip("\ufeff").startswith("paper,table,dataset,model,method,posthoc,metric")
    assert sum(",suspect," in line for line in lines) == sum(
        row.doubt == "suspect" for row in rows() if row.paper == "adafocal2022"
    )


def score(value, low, high):
    return Score("ece", value, low, high, 0.95, 10_000)


def own(facts):
    result = OwnNumbers(
        before=score(0.0443, 0.0296, 0.0527),
        after={"ts": FittedScore(score=score(0.014, 0.0, 0.0206), temperature=1.21)},
    )
    return OwnRun(id="r", name="Mine", mark=MARK, facts=facts, numbers=result)


@pytest.mark.parametrize(("keys", "heights"), [(1, [1]), (2, [0.8, 1.2]), (3, [0.8, 1, 1.2])])
def test_all_dots_of_a_run_lie_in_its_row(keys, heights):
    dots = [Dot(posthoc=key, value=1.0, words="", low=0.5, high=2.0) for key in [*POSTHOC][:keys]]
    rows = [DotRow(name="Paper", dots=dots[:1]), DotRow(name="Mine", dots=dots, mark=MARK)]
    figure = dot_plot(rows, THEMES["light"], title="ECE, %", from_zero=True)
    assert next(t.y for t in figure.data if t.name == "Mine") == pytest.approx(heights)


def test_a_run_that_trained_a_row_is_named_with_its_result():
    summary = {"accuracy": 0.95, "ece": {"value": 0.03, "low": 0.02, "high": 0.04}}
    run = TrainedRun(id="a1", name="Mine", summary=summary)
    other = TrainedRun(id="b2", name="Other", summary=None)
    paper = "mukhoti2020iclr"
    of_run, of_other = ("cifar10", "resnet50", "flsd_53"), ("cifar100", "resnet50", "mmce")
    view = shown(trained={(*of_run, paper): run, (*of_other, paper): other})
    assert view.trained == ("a1",)  # the trail names it, and no other
    cell = cells(view, "FLSD-53")["Trained here"]
    assert (cell.value, cell.interval) == ("yes: Mine", "ECE 3.0 (2.0 to 4.0), accuracy 95.0")
    assert cells(view, "MMCE")["Trained here"].value == "no"
    assert sum(row[-1] == "Mine" for row in view.file().rows) == 6  # three tables, before and after


EXACT = (("ts", FitProtocol()),)
LOGITS = np.log([[0.9, 0.05, 0.05], [0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.4, 0.35, 0.25]])


def predictions(task=Task.MULTICLASS):
    rng = np.random.default_rng(0)
    logits = 2.0 * np.tile(LOGITS, (50, 1))
    truth = np.where(rng.random(200) < 0.6, 0, 1)
    return Predictions(task, ScoreKind.LOGITS, logits, truth, ("a", "b", "c"))


def test_own_numbers_follow_the_definition_of_the_papers():
    run = predictions()
    one = own_numbers(run, run, "error", EXACT)
    assert one.before.value == pytest.approx(float((run.labels != 0).mean()))
    assert one.after["ts"].score.value == one.before.value  # a temperature changes no answer
    assert one.after["ts"].temperature > 1.0
    assert own_numbers(run, None, "ece_ew", EXACT).after == {}
    relplot = own_numbers(run, None, "smece", EXACT)
    ranked = SortedOutcomes.of(run.outcomes(None))
    assert relplot.before.value == smece(ranked, method="relplot") != smece(ranked)
    labels = Predictions(
        Task.MULTILABEL, ScoreKind.LOGITS, LOGITS, np.ones((4, 3), int), ("a", "b", "c")
    )
    assert own_numbers(labels, None, "ece_ew", EXACT).why == SEVERAL
    # why the first calibrator has no number, though the second has one
    two = Predictions(run.task, run.kind, np.asarray(run.scores)[:, :2], run.labels, ("a", "b"))
    part = own_numbers(run, two, "error", (("vector", FitProtocol()), *EXACT))
    assert set(part.after) == {"ts"}
    assert part.why.endswith("was fitted on 2 classes, the file has 3")


def test_own_temperature_is_fitted_on_validation_alone():
    run = predictions()
    halved = Predictions(run.task, run.kind, 0.5 * np.asarray(run.scores), run.labels)
    one, other = (own_numbers(run, val, "ece_ew", EXACT) for val in (run, halved))
    assert other.after["ts"].temperature == pytest.approx(one.after["ts"].temperature / 2, rel=1e-3)


def test_own_temperatures_are_those_of_the_papers_grids():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 200)
    spread = 3.0 * rng.normal(size=(200, 3)) + 2.0 * np.eye(3)[truth]
    run = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, spread, truth, ("a", "b", "c"))
    protocols = (
        ("ts", FitProtocol("ece", "mukhoti")),
        ("focal_ts", FitProtocol("nll", "komisarenko")),
    )
    after = own_numbers(run, run, "nll", protocols).after
    # by trying all: the first T of 0.1 .. 10.0 with the smallest ECE over 15 bins (lo, hi]
    logits, labels = np.asarray(run.scores, float), run.labels

    def ece(p):
        confidence, right = p.max(axis=1), p.argmax(axis=1) == labels
        bins = np.ceil(confidence * 15).astype(int)
        gaps = [abs((confidence - right)[bins == b].sum()) for b in range(1, 16)]
        return sum(gaps) / labels.size

    tempered = [softmax(logits * 10 / k, axis=1) for k in range(1, 101)]
    assert after["ts"].temperature == pytest.approx(
        (1 + np.argmin([ece(p) for p in tempered])) / 10
    )
    # and the pair of nine gammas and 500 T with the smallest NLL, by the map's own formula
    best = np.inf, 0.0, 0.0
    for gamma in (-0.5, -0.25, 0.05, 0.25, 0.37, 0.5, 0.75, 1.0, 5.0):
        for k in range(1, 501):
            q = np.clip(softmax(logits * 100 / k, axis=1), 1e-300, 1 - 1e-15)
            w = 1 / ((1 - q) ** gamma / q - gamma * (1 - q) ** (gamma - 1) * np.log(q))
            p = w / w.sum(axis=1, keepdims=True)
            own = np.maximum(p[np.arange(labels.size), labels], 1e-300)
            best = min(best, (-np.log(own).mean(), gamma, k / 100))
    focal = after["focal_ts"]
    assert (focal.gamma, focal.temperature) == best[1:]
    assert focal.score.value == pytest.approx(best[0], rel=1e-9)
