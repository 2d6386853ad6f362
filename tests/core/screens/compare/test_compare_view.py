"""The Compare page in words: who is ahead, what is a tie, and why nothing is ranked."""

from dataclasses import replace

import numpy as np
import pytest

from core.metrics.comparison import (
    Compared,
    ComparedRows,
    compare,
    compare_all,
    compared,
)
from core.metrics.paired import Difference
from core.predictions import Predictions, ScoreKind, Task, Votes
from core.reports.study_json import compare_json
from core.reports.tables import lines
from core.screens.compare.view import BEST, compare_view, plain_view
from core.screens.kit.differences import OFFERED, NamedRun, difference_words

NAMES = ("plain", "sharp", "soft")


def apart(metric, value, low, high):
    return Difference(metric=metric, value=value, low=low, high=high, level=0.975, n=1000)


def test_signs_are_written_in_every_unit():
    assert difference_words(apart("ece", 0.0, -0.01, 0.01)) == ("0.0", "−1.0 to +1.0")
    assert difference_words(apart("nll", 0.12, 0.05, 0.25)) == ("+0.120", "+0.050 to +0.250")
    assert difference_words(apart("brier", 0.0, 0.0, 0.0)) == ("0.00", "0.00 to 0.00")


@pytest.fixture(scope="module")
def three() -> list[Compared]:
    rng = np.random.default_rng(1)
    logits = 1.5 * rng.normal(size=(600, 4))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(4, p=row) for row in p])
    return [
        compared(Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scale * logits, labels))
        for scale in (1.0, 3.0, 1.02)
    ]


def named(names=NAMES):
    return [NamedRun(f"id{i}", name, "test", "0123456789") for i, name in enumerate(names)]


@pytest.fixture(scope="module")
def view(three):
    return compare_view(named(), three, compare_all(three, NAMES, 0), "ece")


def test_the_table_shows_the_audits_best_first(view, three):
    errors = [run.audit.main.metrics["ece"].value for run in three]
    rows = {row.name: row for row in view.table.written()}
    assert list(rows) == [NAMES[i] for i in np.argsort(errors)]
    for name, row in rows.items():
        score = three[NAMES.index(name)].audit.main.metrics["ece"]
        assert row.cells[0].value == f"{100 * score.value:.1f}"
    last = 1
    assert list(rows)[-1] == "sharp"
    assert (rows["sharp"].cells[1].value[0], rows["sharp"].strong) == ("+", set())
    assert (rows["soft"].cells[1].value, rows["soft"].ties) == ("tie", {last})
    assert not rows["plain"].strong | rows["plain"].ties


def test_letters_read_downwards_and_stay_when_another_metric_ranks(three):
    comparison = compare_all(three, NAMES, 0)
    by_ece, by_nll = (compare_view(named(), three, comparison, m).table for m in ("ece", "nll"))
    assert [row.mark.letter for row in by_ece.rows] == ["A", "B", "C"]
    assert {row.name: row.mark for row in by_nll.rows} == {r.name: r.mark for r in by_ece.rows}


def test_small_diagrams_share_their_edges_and_their_rows(three, view):
    edges = {tuple(run.audit.main.bins.low) for run in three}
    assert len(edges) == 1
    assert {sum(row[2] for row in card.table.rows) for _, card in view.diagrams} == {600}


def test_the_file_holds_raw_numbers_of_every_metric(view, three):
    keys = [column.key for column in view.table.file.columns]
    row = next(row for row in view.table.file.rows if row[0] == "sharp")
    score = three[1].audit.main.metrics["nll"]
    assert row[keys.index("nll")] == score.value
    other = three[0].audit.main.metrics["nll"]
    assert row[keys.index("nll_difference")] == pytest.approx(score.value - other.value)
    assert {f"{metric}_difference_low" for metric in OFFERED} <= set(keys)


def test_other_labels_leave_a_table_of_single_audits_in_the_order_picked(three):
    rows = ComparedRows(
        n=600, labels="other", ids="", claim=three[1].rows.claim, names=three[1].rows.names
    )
    mixed = [three[1], replace(three[0], rows=rows)]
    view = compare_view(named(NAMES[:2]), mixed, compare_all(mixed, NAMES, 0), "ece")
    assert (view.forest, view.curves, view.diagrams) == (None, None, ())
    shown = view.table.written()
    assert [row.name for row in shown] == ["plain", "sharp"]
    assert shown[0].cells[0].value == f"{100 * three[1].audit.main.metrics['ece'].value:.1f}"
    assert not any("difference" in column.key for column in view.table.columns)


def test_plain_words_have_the_same_numbers(view, three):
    plain = plain_view(named(), three, compare_all(three, NAMES, 0))
    technical = {row.name: row.cells for row in view.table.written()}
    for row in plain.table.written():
        full = technical[row.name]
        assert row.cells[:3] == (full[0], full[1], full[2])
    assert plain.table.file == view.table.file


def test_plain_words_name_who_is_ahead_in_something_else():
    """Chances near the shares of the classes are nearly true, and say little."""
    rng = np.random.default_rng(3)
    z = rng.normal(0.0, 2.0, 4_000)
    p = 1.0 / (1.0 + np.exp(-z))
    labels = (rng.random(z.size) < p).astype(np.int64)
    flat, sharp = 0.5 + 0.001 * (p > 0.5), 1.0 / (1.0 + np.exp(-1.5 * z))
    flat = np.where(rng.random(z.size) < 0.3, 1.0 - flat, flat)
    kinds = Task.BINARY, ScoreKind.PROBABILITIES
    runs = [compared(Predictions(*kinds, np.stack([1 - q, q], 1), labels)) for q in (flat, sharp)]
    words = plain_view(named(NAMES[:2]), runs, compare_all(runs, NAMES[:2], 0)).sentence.second
    leaders = compare_all(runs, NAMES[:2], 0).best
    assert (leaders["ece"], leaders["nll"], leaders["accuracy"]) == (0, 1, 1), leaders
    assert words == (
        "The chances that “plain” gives “1” are closer to the truth, beyond chance. But “sharp” is "
        "right more often and gives more chance to what is true, beyond chance too."
    )


@pytest.mark.slow
def test_many_labels_are_compared_without_pooled_bins():
    rng = np.random.default_rng(4)
    p = rng.random((300, 3))
    labels = (rng.random((300, 3)) < p).astype(np.int64)
    runs = [compared(Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, q, labels)) for q in (p, p**3)]
    view = compare_view(named(NAMES[:2]), runs, compare_all(runs, NAMES, 0), "ece")
    assert (view.curves, view.diagrams) == (None, ())
    assert view.forest is not None
    classwise = view.table.written()[-1].cells[6]
    assert classwise.value == "–"  # no classwise ECE of labels
    assert classwise.reason


def test_the_run_that_is_ahead_of_every_other_is_called_the_best(three):
    pair = compare_view(named(NAMES[:2]), three[:2], compare_all(three[:2], NAMES, 0), "nll")
    rows = {row.name: row for row in pair.table.written()}
    nll = pair.table.heads.index("NLL") - 1
    assert nll in rows["plain"].strong
    assert rows["plain"].cells[nll].reason == BEST
    assert nll not in rows["sharp"].strong
    score = three[0].audit.main.metrics["nll"].value
    assert pair.table.file.rows[0][[c.key for c in pair.table.columns].index("nll")] == score


def test_ties_for_the_first_place_are_not_called_best(view, three):
    assert "ece" not in compare_all(three, NAMES, 0).best
    assert not any(cell.reason == BEST for row in view.table.written() for cell in row.cells[:1])


@pytest.mark.parametrize("kept", [(0, 1, 2), (1, 2), (0, 2), (1, 0)])
def test_only_the_best_run_is_bold_and_the_legend_stands_where_a_cell_is(three, kept):
    runs, names = [three[i] for i in kept], [NAMES[i] for i in kept]
    comparison = compare_all(runs, names, 0)
    views = [compare_view(named(names), runs, comparison, metric) for metric in ("ece", "nll")]
    for each in (*views, plain_view(named(names), runs, comparison)):
        keys = [column.key for column in each.table.shown]
        bold = {
            (keys[i], names.index(row.name)) for row in each.table.written() for i in row.strong
        }
        assert bold == {(key, i) for key, i in comparison.best.items() if key in keys}
        assert ("Bold: better than all the others" in each.caption) == bool(bold)
        assert "Bold" not in each.forest.caption
        starred = [cell for line in lines(each)[:-1] for cell in line.split("  ") if "*" in cell]
        assert len(starred) == len(bold)


def four_classes(logits, dtype=np.float64):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, len(logits))
    return compared(Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits.astype(dtype), labels))


@pytest.mark.parametrize(("dtype", "shift"), [(np.float64, 1.7), (np.float32, 1.7)])
def test_runs_of_equal_probabilities_are_called_so_and_no_chance(dtype, shift):
    logits = np.random.default_rng(0).normal(size=(400, 4))
    rows = [logits, logits + shift * np.arange(400)[:, None] / 400, 1.5 * logits]
    runs = [four_classes(each, dtype) for each in rows]
    pair, every = compare_all(runs[:2], NAMES, 0), compare_all(runs, NAMES, 0)
    assert pair.same == every.same == ((0, 1),)
    for metric in ("ece", "nll"):
        found = compare_view(named(NAMES[:2]), runs[:2], pair, metric)
        assert found.sentence.text == (
            "“plain” and “sharp” give the same probabilities on every row."
        )
        intervals = [row.cells[1].interval for row in found.table.written()]
        assert sorted(intervals) in (["", "0.0 to 0.0"], ["", "0.00 to 0.00"])
    plain = plain_view(named(NAMES[:2]), runs[:2], pair).sentence.second
    assert plain == "“plain” and “sharp” give the same chances for every picture."
    assert plain_view(named(), runs, every).sentence.second == plain


def test_runs_whose_wrong_classes_have_each_others_probabilities_are_not_the_same():
    """Accuracy, Brier, NLL and confidence of every row are equal to the last digit."""
    logits = np.random.default_rng(0).normal(size=(400, 4))
    labels, answers = np.random.default_rng(1).integers(0, 4, 400), logits.argmax(axis=1)
    other = logits.copy()
    for row, (label, answer) in enumerate(zip(labels, answers, strict=True)):
        wrong = [k for k in range(4) if k not in (label, answer)]
        other[row, wrong] = logits[row, wrong[::-1]]
    runs = [four_classes(logits), four_classes(other)]
    for metric in ("accuracy", "brier", "nll", "ece"):
        values = [run.draws[metric].value for run in runs]
        assert values[0] == pytest.approx(values[1], rel=1e-12)
    comparison = compare_all(runs, NAMES, 0)
    assert comparison.same == ()
    assert comparison.differences[1]["classwise_ece"].value != 0.0


def test_answers_of_other_classes_are_not_the_same_though_confidence_is():
    confidence, labels = np.linspace(0.5, 0.9, 60), np.arange(60) % 2
    answers = [np.where(np.arange(60) % 3, labels, wrong) for wrong in (2, 2, 3)]
    runs = [
        compared(
            Predictions(
                Task.TOP_LABEL,
                ScoreKind.CONFIDENCE,
                confidence,
                labels,
                class_names=("a", "b", "c", "d"),
                predicted=predicted,
            )
        )
        for predicted in answers
    ]
    assert compare_all(runs, NAMES, 0).same == ((0, 1),)


def test_runs_that_differ_in_one_row_are_not_the_same():
    logits = np.random.default_rng(0).normal(size=(400, 4))
    other = logits.copy()
    other[7, 2] += 0.01
    runs = [four_classes(logits), four_classes(other)]
    comparison = compare_all(runs, NAMES, 0)
    assert comparison.same == ()
    view = plain_view(named(NAMES[:2]), runs, comparison)
    assert view.sentence.second == "They are tied: the difference could be chance."
    assert "Tie: the difference could be chance." in view.caption


MANY = tuple(f"run {i}" for i in range(20))


@pytest.fixture(scope="module")
def crowd(three):
    return [three[i % 3] for i in range(20)]


def stand_out(view):
    return [row.name for row in view.table.rows if row.mark]


def test_of_many_runs_the_best_and_the_reference_stand_out_and_all_are_listed(crowd):
    view = compare_view(named(MANY), crowd, compare_all(crowd, MANY, 19), "ece")
    order = [row.name for row in view.table.rows]
    assert len(order) == 20
    assert view.listed == view.table
    assert stand_out(view) == [name for name in order if name in {*order[:5], "run 19"}]
    assert [card.title for _, card in view.diagrams] == stand_out(view)
    assert len(view.forest.table.rows) == 19
    drawn = [trace for trace in view.forest.figure("light").data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in drawn) == 19
    heights = {card.figure("light").layout.height for card in (view.forest, view.curves)}
    assert len(heights) == 1  # side by side
    assert "; of the others, " in view.forest.alt
    assert "the others in grey" in view.forest.explanation
    assert "the others in grey" in view.curves.explanation


def test_a_long_name_is_short_in_the_title_of_the_differences_and_whole_in_their_description(three):
    long = "validation_resnet50_focal_gamma_3_seed_17"
    view = compare_view(named((long, "sharp", "soft")), three, compare(three, "abc", 0), "ece")
    assert view.forest.title == "Difference in ECE from “validation_resnet50_f…”"
    assert view.forest.alt.startswith(f"Difference in ECE from {long}: ")


def test_what_is_searched_for_is_listed_and_stands_out_in_the_same_numbers(crowd):
    comparison = compare_all(crowd, MANY, 0)
    whole = compare_view(named(MANY), crowd, comparison, "ece")
    part = compare_view(named(MANY), crowd, comparison, "ece", " RUN 1")
    assert {row.name for row in part.listed.rows} == {"run 1", *(f"run {i}" for i in range(10, 20))}
    assert stand_out(part) == [row.name for row in part.listed.rows][:6]
    assert part.table.file == whole.table.file
    assert part.sentence == whole.sentence
    assert not compare_view(named(MANY), crowd, comparison, "ece", "no such").listed.rows
    plain = plain_view(named(MANY), crowd, comparison, "run 1")
    assert "the others in grey" in plain.forest.explanation
    assert len(plain.listed.rows) == 11
    assert plain.listed.heads == plain.table.heads


def test_the_distance_from_people_is_a_column_where_anyone_voted():
    rng = np.random.default_rng(4)
    true = 1.5 * rng.normal(size=(300, 3))
    p = np.exp(true) / np.exp(true).sum(axis=1, keepdims=True)
    votes = Votes.of("crowd", np.array([rng.multinomial(20, row) for row in p]).astype(float))
    scores = (true, 3.0 * true, true)
    labels = votes.of_row.argmax(axis=1)
    voted = [
        Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels, votes=own)
        for logits, own in zip(scores, (votes, votes, None), strict=True)
    ]
    runs = [compared(rows) for rows in voted]
    named = [NamedRun(name, name, "test", "0" * 32) for name in NAMES]
    view = compare_view(named, runs, compare_all(runs, NAMES, 0), "tvd")
    assert view.table.heads[1:3] == ("Distance from people, %", "From reference, points")
    assert [row.name for row in view.table.written()] == ["plain", "sharp", "soft"]
    nobody = [runs[2], runs[2]]
    without = compare_view(named[:2], nobody, compare_all(nobody, NAMES[:2], 0), "ece")
    assert not any("people" in head for head in without.table.heads)
    assert not any(column.key.startswith("tvd") for column in without.table.columns)


def test_a_risk_is_named_by_its_event():
    rng = np.random.default_rng(3)
    p = rng.random(400)
    labels = (rng.random(400) < p).astype(int)
    names = ("benign", "malignant")
    runs = [
        compared(Predictions(Task.BINARY, ScoreKind.SIGMOID, scores, labels, class_names=names))
        for scores in (p, p**2)
    ]
    comparison = compare(runs, "ab", 0)
    written = compare_json("ab", "AB", runs, comparison, "ece")
    assert [one["event"] for one in written["runs"]] == ["malignant", "malignant"]
