"""The Compare page in words: who is ahead, what is a tie, and why nothing is ranked."""

import re
from dataclasses import replace

import numpy as np
import pytest

from core.metrics.comparison import Compared, ComparedRows, Comparison, compare, compared
from core.metrics.paired import Difference
from core.predictions import Predictions, ScoreKind, Task
from core.screens.compare.view import compare_view, plain_view
from core.screens.kit.differences import OFFERED, NamedRun, difference_words, sentence
from core.screens.kit.records import CellWords

NAMES = ("plain", "sharp", "soft")


def apart(metric, value, low, high):
    return Difference(metric=metric, value=value, low=low, high=high, level=0.975, n=1000)


def told(metric, *differences, names=NAMES, reference=0, reason=""):
    each = [{} if one is None else {metric: one} for one in differences]
    return sentence(names, Comparison(reason, reference, 0.975, tuple(each)), metric)


def test_of_two_runs_the_better_is_named_whichever_is_the_reference():
    text = "“sharp” has the smaller ECE, 4.1 points below “plain” (3.6 to 4.6)."
    below = apart("ece", -0.041, -0.046, -0.036)
    above = apart("ece", 0.041, 0.036, 0.046)
    assert told("ece", None, below, names=("plain", "sharp")).text == text
    assert told("ece", None, above, names=("sharp", "plain")).text == text


def test_more_accuracy_is_better_and_less_log_loss():
    more = apart("accuracy", 0.02, 0.01, 0.03)
    found = told("accuracy", None, more, names=("plain", "sharp"))
    assert found.text == "“sharp” has the higher accuracy, 2.0 points above “plain” (1.0 to 3.0)."
    less = apart("nll", -0.333, -0.363, -0.307)
    found = told("nll", None, less, names=("plain", "sharp"))
    assert found.text == "“sharp” has the smaller NLL, 0.333 below “plain” (0.307 to 0.363)."


def test_a_tie_of_two_is_called_one_with_its_interval():
    tie = apart("ece", 0.003, -0.0002, 0.0136)
    found = told("ece", None, tie, names=("plain", "sharp"))
    # a bound that would round to zero is printed with two decimals
    assert found.text == "“sharp” and “plain” cannot be told apart by ECE (−0.02 to +1.36)."


def test_of_several_runs_the_best_decided_one_is_named_and_the_rest_counted():
    found = told(
        "ece",
        None,
        apart("ece", -0.05, -0.06, -0.04),
        apart("ece", -0.07, -0.16, 0.02),
        names=NAMES,
    )
    assert (
        found.text
        == "Against “plain”, “sharp” does best: its ECE is 5.0 points (4.0 to 6.0) smaller."
    )
    assert (
        found.second
        == "Of the two others, one does better beyond chance, one cannot be told from it. "
        "No run is ahead of all others beyond chance."
    )


def test_when_none_is_ahead_the_sentence_says_so():
    worse, tie = apart("ece", 0.05, 0.04, 0.06), apart("ece", 0.01, -0.01, 0.03)
    assert (
        told("ece", None, worse, tie).text == "No run has a smaller ECE than “plain” beyond chance."
    )
    assert told("ece", None, tie, tie).text == "No run can be told from “plain” by ECE."
    assert told("ece", None, worse, worse).second == "All two others do worse beyond chance."


def test_what_cannot_be_compared_says_why():
    missing = Difference(
        metric="nll",
        value=None,
        low=None,
        high=None,
        level=0.95,
        n=10,
        settings={},
        reason="NLL_INFINITE: 2 rows",
    )
    found = told("nll", None, missing, names=("plain", "sharp"))
    assert found.text == "These runs cannot be compared by NLL."
    assert found.second == "NLL_INFINITE: 2 rows"
    assert "full class scores" in told("nll", None, None, names=("plain", "sharp")).second
    assert told("ece", None, None, reason="because").second == "because"


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
    return compare_view(named(), three, compare(three, NAMES, 0), "ece")


def test_the_table_shows_the_audits_best_first(view, three):
    errors = [run.audit.main.metrics["ece"].value for run in three]
    rows = {row.name: row for row in view.table.written()}
    assert list(rows) == [NAMES[i] for i in np.argsort(errors)]
    for name, row in rows.items():
        score = three[NAMES.index(name)].audit.main.metrics["ece"]
        assert row.cells[4].value == f"{100 * score.value:.1f}"
        assert row.cells[0].value == "600"
    assert [name for name, row in rows.items() if row.shaded] == ["plain"]
    assert rows["plain"].notes == ("reference",)
    assert rows["plain"].cells[-1] == CellWords("")
    last = len(view.table.heads) - 2
    assert list(rows)[-1] == "sharp"
    assert (rows["sharp"].cells[-1].value[0], rows["sharp"].strong) == ("+", {last})
    assert (rows["soft"].cells[-1].value, rows["soft"].ties) == ("tie", {last})
    assert not rows["plain"].strong | rows["plain"].ties


def test_the_level_is_said_with_what_it_keeps(view, three):
    assert "at 97.5\u202f% so that two comparisons together keep 95\u202f%" in view.caption
    pair = compare_view(named(NAMES[:2]), three[:2], compare(three[:2], NAMES, 0), "ece")
    assert "Their intervals are at 95\u202f%. Tie" in pair.caption


def test_every_figure_has_alt_text_table_caption_and_both_sides(view):
    cards = [view.forest, view.curves, *(card for _, card in view.diagrams)]
    assert len(cards) == 5
    for card in cards:
        assert any(digit in card.alt for digit in "123456789")
        assert card.table.rows
        assert "600" in card.caption
        assert card.figure("light").data
        assert card.figure("dark").data


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
    view = compare_view(named(NAMES[:2]), mixed, compare(mixed, NAMES, 0), "ece")
    assert "not ranked" in view.sentence.text
    assert "different labels" in view.sentence.second
    assert (view.forest, view.curves, view.diagrams) == (None, None, ())
    shown = view.table.written()
    assert [row.name for row in shown] == ["plain", "sharp"]
    assert shown[0].cells[4].value == f"{100 * three[1].audit.main.metrics['ece'].value:.1f}"
    assert not any("difference" in column.key for column in view.table.columns)
    assert not any("reference" in head for head in view.table.heads)
    assert not any(row.shaded for row in shown)


def test_plain_words_have_no_jargon_and_the_same_numbers(view, three):
    plain = plain_view(named(), three, compare(three, NAMES, 0))
    said = " ".join(
        [
            plain.sentence.text,
            plain.sentence.second,
            *plain.table.heads,
            plain.forest.title,
            plain.forest.explanation,
            plain.forest.alt,
            plain.caption,
        ]
    )
    assert not re.search(r"ECE|calibrat|confiden|paired|bootstrap|!", said)
    assert "Against “plain”, one of the differences could be chance." in plain.sentence.second
    technical = {row.name: row.cells for row in view.table.written()}
    for row in plain.table.written():
        full = technical[row.name]
        assert row.cells == (full[0], full[1], full[4], full[-1])
    assert plain.table.file == view.table.file


@pytest.mark.slow
def test_many_labels_are_compared_without_pooled_bins():
    rng = np.random.default_rng(4)
    p = rng.random((300, 3))
    labels = (rng.random((300, 3)) < p).astype(np.int64)
    runs = [compared(Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, q, labels)) for q in (p, p**3)]
    view = compare_view(named(NAMES[:2]), runs, compare(runs, NAMES, 0), "ece")
    assert (view.curves, view.diagrams) == (None, ())
    assert view.forest is not None
    classwise = view.table.written()[-1].cells[6]
    assert classwise.value == "–"  # no classwise ECE of labels
    assert classwise.reason


def test_the_run_that_is_ahead_of_every_other_is_called_the_best(three):
    pair = compare_view(named(NAMES[:2]), three[:2], compare(three[:2], NAMES, 0), "nll")
    rows = {row.name: row for row in pair.table.written()}
    nll = pair.table.heads.index("NLL") - 1
    assert nll in rows["plain"].strong
    assert rows["plain"].cells[nll].interval.endswith("; best")
    assert nll not in rows["sharp"].strong
    assert "best" not in rows["sharp"].cells[nll].interval
    score = three[0].audit.main.metrics["nll"].value
    assert pair.table.file.rows[0][[c.key for c in pair.table.columns].index("nll")] == score


def test_ties_for_the_first_place_are_not_called_best(view, three):
    assert compare(three, NAMES, 0).best == {}
    written = [cell.interval for row in view.table.written() for cell in row.cells]
    assert not any("best" in interval for interval in written)
    ahead = Comparison("", 1, 0.975, compare(three, NAMES, 1).differences, {"ece": 2})
    said = sentence(NAMES, ahead, "ece")
    assert said.second.endswith("“soft” is ahead of every other run beyond chance.")


MANY = tuple(f"run {i}" for i in range(20))


@pytest.fixture(scope="module")
def crowd(three):
    return [three[i % 3] for i in range(20)]


def stand_out(view):
    return [row.name for row in view.table.rows if row.mark]


def test_of_many_runs_the_best_and_the_reference_stand_out_and_all_are_listed(crowd):
    view = compare_view(named(MANY), crowd, compare(crowd, MANY, 19), "ece")
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
    assert "; of the other runs, " in view.forest.alt
    assert "other runs in grey" in view.forest.explanation
    assert "other runs in grey" in view.curves.explanation


def test_what_is_searched_for_is_listed_and_stands_out_in_the_same_numbers(crowd):
    comparison = compare(crowd, MANY, 0)
    whole = compare_view(named(MANY), crowd, comparison, "ece")
    part = compare_view(named(MANY), crowd, comparison, "ece", " RUN 1")
    assert {row.name for row in part.listed.rows} == {"run 1", *(f"run {i}" for i in range(10, 20))}
    assert stand_out(part) == [row.name for row in part.listed.rows][:6]
    assert part.table.file == whole.table.file
    assert part.sentence == whole.sentence
    assert not compare_view(named(MANY), crowd, comparison, "ece", "no such").listed.rows
    plain = plain_view(named(MANY), crowd, comparison, "run 1")
    assert "other runs in grey" in plain.forest.explanation
    assert len(plain.listed.rows) == 11
    assert plain.listed.heads == plain.table.heads


def test_a_sentence_in_plain_words_does_not_list_fifty_names(crowd):
    view = plain_view(named(MANY), crowd, compare(crowd, MANY, 0))
    errors = sorted(100 * run.audit.main.metrics["ece"].value for run in crowd)
    assert view.sentence.text.count("“") == 1
    assert view.sentence.text.endswith(f"the others by {errors[1]:.1f} to {errors[-1]:.1f}.")
