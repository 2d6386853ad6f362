"""The Post-hoc page in words: which method helps, what ties, what changes answers."""

import re
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from core.calibrators.search import landscape
from core.metrics.comparison import Comparison, compare
from core.metrics.paired import Difference
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import marks
from core.screens.kit.methods import parameters
from core.screens.kit.theme import THEMES
from core.screens.posthoc.view import (
    curves_card,
    excess,
    innate_summary,
    innate_table,
    landscape_card,
    plain_view,
    posthoc_view,
)
from core.screens.posthoc.words import plain_sentence, sentence
from core.studies.posthoc import NONE, Fit, MethodReport, evaluate, fit, judge, parts
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


def told(judged, **differences):
    """Say what these differences in ECE from none would make the page say."""
    each = [{}]
    for name in list(judged)[1:]:
        value, low, high = differences[name]
        each.append(
            {"ece": Difference(metric="ece", value=value, low=low, high=high, level=0.975, n=800)}
        )
    return sentence(judged, Comparison("", 0, 0.975, tuple(each)))


def test_sentence_names_the_method_the_numbers_and_the_interval(found):
    _, _, judged = found
    only = {NONE: judged[NONE], "ts": judged["ts"]}
    before, after = (100 * one.compared.audit.main.metrics["ece"].value for one in only.values())
    floor = 100 * judged["ts"].compared.audit.main.noise_floor["ece"].q95
    said = told(only, ts=(-0.12, -0.14, -0.1))
    assert said.text == (
        f"Temperature scaling takes the calibration error from {before:.1f} to {after:.1f}, "
        f"a drop of 12.0 points (10.0 to 14.0). Chance alone shows up to {floor:.1f}."
    )
    assert said.second == ""


def test_methods_that_do_as_well_are_called_ties_and_changes_are_counted(found):
    _, _, judged = found
    assert judged["vector"].changed > 0
    said = sentence(judged, compare([o.compared for o in judged.values()], list(judged), 0))
    assert said.text.startswith(("Temperature scaling takes", "Focal temperature scaling takes"))
    assert "with it" in said.second
    assert said.second[0].isupper()
    assert said.second.endswith(".")


def test_method_that_goes_lower_but_changes_answers_is_not_put_first(found):
    _, _, judged = found
    lower = MethodReport(judged["ts"].compared, 25)
    higher = {NONE: judged[NONE], "focal_map": judged[NONE], "isotonic": lower}
    said = told(higher, focal_map=(-0.01, -0.012, -0.008), isotonic=(-0.12, -0.14, -0.1))
    assert said.text.startswith("The focal map takes")
    assert said.second == "Isotonic regression goes lower, changing 25 of 800 answers."


def test_only_method_that_helps_and_changes_answers_says_so(found):
    _, _, judged = found
    both = {NONE: judged[NONE], "isotonic": MethodReport(judged["ts"].compared, 1)}
    said = told(both, isotonic=(-0.12, -0.14, -0.1))
    assert "(10.0 to 14.0). It changes 1 of 800 answers; as many are right." in said.text


def test_no_help_beyond_chance_is_said_and_how_little_there_is_to_gain():
    calm = judge(rows(1.0), None)
    both = {NONE: calm, "ts": calm, "focal_map": calm}
    said = told(both, ts=(0.0, -0.001, 0.001), focal_map=(0.02, 0.01, 0.03))
    error = 100 * calm.compared.audit.main.metrics["ece"].value
    assert said.text == (
        f"No method lowers the calibration error of {error:.1f} points beyond chance."
    )
    assert "That could be chance: on 1,600 images" in said.second
    assert said.second.endswith("The focal map raises it.")
    alone = told({NONE: calm, "ts": calm}, ts=(0.0, -0.001, 0.001))
    assert alone.text.startswith("Temperature scaling does not lower")


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


@pytest.mark.slow
def test_refused_methods_are_named_with_their_reason():
    calm = judge(rows(1.0), None)
    refused = Fit("ts", None, "5 rows are too few")
    said = sentence({NONE: calm}, Comparison("", 0, 0.95, ({},)), [refused])
    assert said.text == "No method could be fitted on these rows."
    assert said.second == "Temperature scaling: 5 rows are too few."


def test_table_shows_each_methods_own_audit(found):
    part, fits, judged = found
    view = posthoc_view(NAMED, part, fits, judged)
    assert view.eyebrow == "Fitted on 800 images of val, reported on 800 of test"
    assert [row.name for row in view.table.written()] == [
        "None",
        "Temperature",
        "Focal temperature",
        "Vector",
    ]
    assert len(view.table.heads) == len(view.table.written()[0].cells) + 1
    temperature = fits[0].calibrator.temperature_
    own = audit(rows(2.5 / temperature, slice(800, None))).main.metrics
    assert view.table.written()[1].notes[0] == f"T = {temperature:.2f}"
    cell = dict(zip(view.table.heads[1:], view.table.written()[1].cells, strict=True))
    assert cell["ECE, %"].value == f"{100 * own['ece'].value:.1f}"
    floors = judged["ts"].compared.audit.main.noise_floor
    assert cell["ECE, %"].interval.endswith(f"; chance: up to {100 * floors['ece'].q95:.1f}")
    assert "chance" not in cell["Accuracy, %"].interval
    assert cell["Accuracy, %"].value == view.table.written()[0].cells[0].value
    assert cell["Answers changed"].value == "0"
    assert view.table.written()[1].shaded
    assert view.table.heads[1:6] == (  # what decides is in sight where a window cuts the table
        "Accuracy, %",
        "ECE, %",
        "ECE change, points",
        "Against temperature, points",
        "Answers changed",
    )
    assert view.table.written()[1].strong == {2}  # from none; not from itself
    assert cell["Against temperature, points"].value == ""
    assert int(view.table.written()[3].cells[4].value) == judged["vector"].changed


def test_file_holds_every_score_and_difference_as_fractions(found):
    part, fits, judged = found
    table = posthoc_view(NAMED, part, fits, judged).table.file
    row = dict(zip([c.key for c in table.columns], table.rows[1], strict=True))
    ece = [judged[name].compared.audit.main.metrics["ece"].value for name in (NONE, "ts")]
    assert row["ece"] == ece[1]
    assert row["ece_difference"] == pytest.approx(ece[1] - ece[0], abs=1e-15)
    assert row["ece_difference_low"] <= row["ece_difference"] <= row["ece_difference_high"]
    assert row["ece_floor_q95"] == judged["ts"].compared.audit.main.noise_floor["ece"].q95
    assert row["answers_changed"] == 0
    assert table.rows[0][1] == ""


def test_small_diagrams_are_on_common_bins_with_words_over_them(found):
    part, fits, judged = found
    view = posthoc_view(NAMED, part, fits, judged)
    edges = {tuple(one.compared.audit.main.bins.low.tolist()) for one in judged.values()}
    assert len(edges) == 1
    assert [name for name, _, _ in view.diagrams] == [row.name for row in view.table.written()]
    assert view.diagrams[0][1].startswith("ECE ")
    assert view.diagrams[1][1].startswith("T = ")
    view.diagrams[1][2].figure("dark")


def test_method_that_could_not_be_fitted_keeps_its_row_with_the_reason(found):
    part, fits, judged = found
    view = posthoc_view(NAMED, part, [*fits, Fit("beta", None, "no labels")], judged)
    last = view.table.written()[-1]
    assert (last.name, last.notes) == ("Beta", ("not fitted: no labels",))
    assert [cell.value for cell in last.cells] == ["–"] * (len(view.table.heads) - 1)
    assert [row[0] for row in view.table.file.rows] == [NONE, *(fit.method for fit in fits)]


def test_what_a_fit_says_of_itself_stands_under_its_name(found):
    part, fits, judged = found
    own = copy(fits[0].calibrator)
    own.report_ = replace(fits[0].report, message="at the end of its range")
    fits = [Fit("ts", own), *fits[1:]]
    view = posthoc_view(NAMED, part, fits, judged)
    assert view.table.written()[1].notes[1] == "at the end of its range"


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


@pytest.mark.slow
def test_plain_words_name_no_metric(found):
    part, fits, judged = found
    view = plain_view(NAMED, part, fits, judged)
    notes = [note for row in view.table.written() for note in row.notes]
    said = " ".join([view.sentence.text, view.caption, *view.table.heads, *notes])
    assert re.search(
        r"to \d\.\d, without changing any answer\. A perfect model would show up to \d\.\d\.$",
        view.sentence.text,
    )
    assert "; chance: up to " in view.table.written()[1].cells[1].interval
    for term in ("ECE", "γ", "NLL", "logit", "calibrat"):
        assert term not in said.replace("temperature", "")
    assert len(view.table.written()[0].cells) == 3
    calm = {NONE: judge(rows(1.0), None), "ts": judge(rows(1.0), None)}
    nothing = compare([one.compared for one in calm.values()], list(calm), 0)
    assert "None of these corrections" in plain_sentence(calm, nothing).second
    assert [title for title, _, _ in view.diagrams] == ["As it is", "Corrected"]


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
    assert [row.cells[0].interval for row in shown] == ["", "near 1"]
    assert [(row.strong, row.ties) for row in shown] == [({3}, set()), (set(), {3})]
    assert "“calm”" in innate_summary({"sharp": sharp, "calm": calm})
    assert "“sharp”" not in innate_summary({"sharp": sharp, "calm": calm})
    assert "none is calibrated" in innate_summary({"sharp": sharp})
    tied = replace(calm, temperature=1.3)
    assert tied.gap.tie
    assert "could be chance" in innate_summary({"sharp": sharp, "tied": tied})
    assert "none is calibrated" not in innate_summary({"sharp": sharp, "tied": tied})
    row = table.file.rows[0]
    assert row[:2] == ("sharp", sharp.temperature)
    assert row[2] == before
    floors = [one.compared.audit.main.noise_floor["ece"].q95 for one in (sharp.before, sharp.after)]
    assert list(row[11:13]) == floors
    assert shown[0].cells[2].interval.endswith(f"; chance: up to {100 * floors[1]:.1f}")


def test_price_of_a_lower_calibration_error_is_said(found):
    _, _, judged = found
    two = {NONE: judged[NONE], "histogram": judged["ts"]}
    better_ece = Difference(metric="ece", value=-0.1, low=-0.12, high=-0.08, level=0.95, n=800)

    def said(**more):
        each = {"ece": better_ece} | {
            m: Difference(m, *ends, 0.95, 800) for m, ends in more.items()
        }
        return sentence(two, Comparison("", 0, 0.95, ({}, each))).second

    assert said(nll=(-0.1, -0.2, -0.05)) == ""
    assert said(nll=(0.1, -0.1, 0.2)) == ""  # a tie
    assert said(nll=(0.1, 0.05, 0.2)) == "But its NLL rises."
    assert said(nll=(0.1, 0.05, 0.2), brier=(0.1, 0.05, 0.2)) == (
        "But its NLL rises and its Brier score rises."
    )


def test_infinite_log_loss_is_said_of_the_best_method():
    p = np.where(np.eye(2)[np.arange(400) % 2] > 0, 0.6, 0.4)
    p[:5] = [0.0, 1.0]
    labels = np.r_[np.zeros(5, int), np.arange(5, 400) % 2]
    sure = judge(Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, labels), None)
    assert sure.compared.audit.main.metrics["nll"].value is None
    two = {NONE: judge(rows(n=slice(0, 400)), None), "histogram": sure}
    each = {"ece": Difference(metric="ece", value=-0.1, low=-0.12, high=-0.08, level=0.95, n=400)}
    said = sentence(two, Comparison("", 0, 0.95, ({}, each)))
    assert "its NLL is infinite" in said.second


def test_captions_say_whether_the_counted_rows_were_fitted_on(found):
    part, fits, judged = found
    same = replace(part, fit_from=part.test_from, fit_name="test")
    assert "on new ones all methods do less well" in posthoc_view(NAMED, same, fits, judged).caption
    assert "on new ones" not in posthoc_view(NAMED, part, fits, judged).caption
    assert "fitted on the same images" in plain_view(NAMED, same, fits, judged).caption
    assert "fitted on other images" in plain_view(NAMED, part, fits, judged).caption


def test_the_headline_says_when_rows_are_judged_that_were_fitted_on(found):
    part, fits, judged = found
    same = replace(part, fit_from=part.test_from)  # another name, the same rows
    for make in (posthoc_view, plain_view):
        flattered = make(NAMED, same, fits, judged).sentence.text
        assert flattered.startswith("Fitted and judged on the same images")
        assert flattered.endswith(make(NAMED, part, fits, judged).sentence.text)
