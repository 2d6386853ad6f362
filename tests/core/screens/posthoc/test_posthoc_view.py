"""The numbers of the Post-hoc page: its table and file, its figures, runs before and after."""

import re

import numpy as np
import pytest

from core.calibrators.search import landscape
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import marks
from core.screens.kit.methods import parameters
from core.screens.kit.theme import THEMES
from core.screens.posthoc.view import (
    curves_card,
    excess,
    innate_table,
    landscape_card,
    posthoc_view,
)
from core.studies.posthoc import NONE, Fit, evaluate, fit, judge, parts
from core.studies.temperatures import innate_calibration

RNG = np.random.default_rng(3)
TRUE = 1.5 * RNG.normal(size=(1600, 4))
P = np.exp(TRUE) / np.exp(TRUE).sum(axis=1, keepdims=True)
LABELS = np.array([RNG.choice(4, p=row) for row in P])
NAMED = NamedRun("run1", "sharp <b>", "test", "0123456789")


def rows(scale=2.5, n=slice(None)):
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scale * TRUE[n], LABELS[n])


@pytest.fixture(scope="module")
def found():
    split = {"val": rows(n=slice(0, 800)), "test": rows(n=slice(800, None))}
    part = parts(split, "val", "test", share=0.5, seed=0)
    fits = [fit(name, part.fit) for name in ("ts", "focal_ts", "vector")]
    judged = {NONE: judge(part.test, None)}
    judged |= {one.method: judge(part.test, one.calibrator) for one in fits}
    return part, fits, judged


def test_error_that_the_methods_were_fitted_by_is_shown_and_in_the_file(found):
    part, _, judged = found
    usual = posthoc_view(NAMED, part, [], {NONE: judged[NONE]})
    ts = fit("ts", part.fit, objective="ada_ece", search="komisarenko")
    by_it = {NONE: judge(part.test, None, "ada_ece")}
    by_it["ts"] = judge(part.test, ts.calibrator, "ada_ece")
    view = posthoc_view(NAMED, part, [ts, Fit("matrix", None, "too few")], by_it)
    at = view.table.heads.index("AdaECE, %")
    assert "AdaECE, %" not in usual.table.heads
    assert {len(row.cells) for row in view.table.written()} == {len(view.table.heads) - 1}
    score = by_it["ts"].compared.audit.main.metrics["ada_ece"]
    assert view.table.written()[1].cells[at - 1].value == f"{100 * score.value:.1f}"
    keys = [column.key for column in view.table.file.columns]
    assert {"ada_ece", "ada_ece_low", "ada_ece_difference_high"} <= set(keys)
    assert view.table.file.rows[1][keys.index("ada_ece")] == score.value


def test_table_shows_each_methods_own_audit(found):
    part, fits, judged = found
    view = posthoc_view(NAMED, part, fits, judged)
    temperature = fits[0].calibrator.temperature_
    own = audit(rows(2.5 / temperature, slice(800, None))).main.metrics
    cell = dict(zip(view.table.heads[1:], view.table.written()[1].cells, strict=True))
    assert cell["ECE, %"].value == f"{100 * own['ece'].value:.1f}"
    floors = judged["ts"].compared.audit.main.noise_floor
    assert cell["ECE, %"].interval.endswith(f"; chance: up to {100 * floors['ece'].q95:.1f}")
    assert cell["Accuracy, %"].value == view.table.written()[0].cells[0].value
    assert cell["Answers changed"].value == "0"
    assert view.table.written()[1].strong == {2}  # from none; not from itself
    assert int(view.table.written()[3].cells[4].value) == judged["vector"].changed


def test_file_holds_every_score_and_difference_as_fractions(found):
    part, fits, judged = found
    refused = Fit("beta", None, "no labels")  # on the page alone
    table = posthoc_view(NAMED, part, [*fits, refused], judged).table.file
    assert [row[0] for row in table.rows] == [NONE, *(fit.method for fit in fits)]
    row = dict(zip([c.key for c in table.columns], table.rows[1], strict=True))
    ece = [judged[name].compared.audit.main.metrics["ece"].value for name in (NONE, "ts")]
    assert row["ece"] == ece[1]
    assert row["ece_difference"] == pytest.approx(ece[1] - ece[0], abs=1e-15)
    assert row["ece_difference_low"] <= row["ece_difference"] <= row["ece_difference_high"]
    assert row["ece_floor_q95"] == judged["ts"].compared.audit.main.noise_floor["ece"].q95
    assert row["answers_changed"] == 0
    assert table.rows[0][1] == ""


def test_small_diagrams_are_on_common_bins(found):
    part, fits, judged = found
    view = posthoc_view(NAMED, part, fits, judged)
    edges = {tuple(one.compared.audit.main.bins.low.tolist()) for one in judged.values()}
    assert len(edges) == 1
    view.diagrams[1][2].figure("dark")


@pytest.mark.parametrize(
    ("method", "pattern"),
    [
        ("ts", r"T = \d\.\d\d"),
        ("focal_map", r"γ = −?\d\.\d{2,3}"),
        ("focal_ts", r"T = \d\.\d\d, γ = −?\d\.\d{2,3}"),
        ("ets", r"T = \d\.\d\d, weights \d\.\d\d, \d\.\d\d, \d\.\d\d"),
        ("vector", r"8 numbers"),
    ],
)
def test_parameters_are_written_as_people_read_them(method, pattern):
    assert re.fullmatch(pattern, parameters(fit(method, rows(n=slice(0, 300)))))


def test_parameters_of_many_labels_are_a_range():
    y = (RNG.random((400, 2)) < 0.4).astype(int)
    z = 2.0 * RNG.normal(size=(400, 2)) + y
    many = Predictions(Task.MULTILABEL, ScoreKind.LOGITS, z, y)
    one = fit("ts", many)
    low, high = sorted(m.temperature_ for m in one.calibrator.members_)
    assert parameters(one) == f"T {low:.2f} to {high:.2f}"


def test_landscape_says_where_the_best_place_is(found):
    part, _, _ = found
    some = landscape(part.fit.scores, part.fit.labels)
    card = landscape_card(some, some.ridge, (800, 5000), NAMED)
    best = some.best
    assert f"T = {best.temperature:.2f}" in card.alt
    assert card.explanation == "on 800 of 5,000; brighter is better"
    assert len(card.table.rows) == some.values.size
    above = excess(some)
    assert above.min() == 0
    i, j = np.unravel_index(above.argmin(), above.shape)
    assert (some.gammas[i], some.temperatures[j]) == (best.gamma, best.temperature)
    np.testing.assert_allclose(above[0, 0], 1000 * (some.values[0, 0] - some.values.min()))
    for theme in THEMES.values():
        figure = card.draw(theme)
        heat = next(trace for trace in figure.data if trace.type == "heatmap")
        np.testing.assert_array_equal(heat.customdata, above)
        spot = figure.data[-1]
        assert (spot.x[0], spot.y[0]) == (best.temperature, best.gamma)


def test_curves_wear_the_marks_of_their_runs_and_hostile_names_are_text():
    gammas = np.array([-0.5, 0.0, 1.0])
    names = ["<b>x</b>", "plain"]
    lines = [(n, m, gammas + 2.0) for n, m in zip(names, marks(["a", "b"]), strict=True)]
    card = curves_card(lines, gammas, "ece")
    figure = card.figure("light")
    assert "<b>x" not in figure.data[0].name
    assert [trace.line.dash for trace in figure.data] == [m.dash for m in marks(["a", "b"])]
    np.testing.assert_array_equal(figure.data[1].y, gammas + 2.0)
    assert ("plain", 0.0, 2.0) in card.table.rows
    name = "Help-desk messages, Cross-entropy"
    alone = curves_card([(name, *lines[0][1:])], gammas, "ece").figure("light")
    assert alone.data[0].name == name  # whole, and no letter of a run beside others


@pytest.mark.slow
def test_runs_before_and_after_are_told_with_their_temperature():
    def before_and_after(scale):
        fit_rows, test_rows = rows(scale, slice(0, 800)), rows(scale, slice(800, None))
        none, ts = (evaluate(m, fit_rows, test_rows, "nll", "exact") for m in (NONE, "ts"))
        return innate_calibration(test_rows, none.judged, ts)

    sharp, calm = before_and_after(2.5), before_and_after(1.0)
    assert sharp.temperature == pytest.approx(2.5 * calm.temperature, rel=1e-6)
    before = sharp.before.compared.audit.main.metrics["ece"].value
    after = sharp.after.compared.audit.main.metrics["ece"].value
    assert sharp.gap.value == pytest.approx(after - before, abs=1e-15)
    p = np.exp(2.5 * TRUE[800:])
    confidence = p.max(axis=1) / p.sum(axis=1)
    right = (2.5 * TRUE[800:]).argmax(axis=1) == LABELS[800:]
    sure = confidence >= 0.99
    assert sharp.sure_before.share == pytest.approx(sure.mean(), abs=1e-12)
    assert sharp.sure_before.accuracy == pytest.approx(right[sure].mean(), abs=1e-12)
    assert sharp.sure_after.share < sharp.sure_before.share
    badges = tuple(marks(["a", "b"]))
    table = innate_table([("sharp", badges[0], sharp), ("calm", badges[1], calm)])
    shown = table.written()
    assert tuple(row.mark for row in shown) == badges
    assert [(row.strong, row.ties) for row in shown] == [({3}, set()), (set(), {3})]
    row = table.file.rows[0]
    assert row[:2] == ("sharp", sharp.temperature)
    assert row[2] == before
    floors = [one.compared.audit.main.noise_floor["ece"].q95 for one in (sharp.before, sharp.after)]
    assert list(row[11:13]) == floors
    assert shown[0].cells[2].interval.endswith(f"; chance: up to {100 * floors[1]:.1f}")
