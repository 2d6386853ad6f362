"""The words, tables and cards of the page Out of distribution, on parts whose numbers are known."""

import re

import numpy as np
import pytest

from core.datasets.shifts import CORRUPTIONS, OutsideSet
from core.losses.catalogue import subject
from core.metrics.records import Score
from core.ood.separation import Separation, counts_of, thresholds_at
from core.predictions import Predictions, ScoreKind, Task
from core.published import auroc_rows
from core.reports.html import picture
from core.reports.tables import csv_text
from core.screens.kit.differences import NamedRun
from core.screens.kit.marks import marks
from core.screens.kit.theme import DARK, LIGHT
from core.screens.kit.words import speaking_of
from core.screens.ood import tables as ood_table
from core.screens.ood.tables import SetRow, shift_view
from core.screens.ood.view import ShownCurve, at_thresholds, edges_of, ood_view
from core.screens.ood.words import SetName, set_name
from core.studies.ood import ScoreSeparation, ShiftEffect

NAMED = NamedRun("id", "my run", "test", "abcdef0123456789")
STREETS = set_name("svhn")
(MARK,) = marks(["svhn"])


def part(logits, labels=None):
    labels = np.full(len(logits), -1) if labels is None else labels
    return Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, logits, labels, labelled=bool(labels[0] >= 0)
    )


def separated(inside, outside, score="entropy"):
    """A set judged by scores that are given."""
    found = Separation.of(np.array(inside, dtype=float), np.array(outside, dtype=float))
    auroc = Score(metric="auroc", value=0.9, low=0.85, high=0.95, level=0.95, n=120)
    return ShownCurve(
        "SVHN",
        MARK,
        ScoreSeparation(score=score, temperature=1.0, separation=found, numbers={"auroc": auroc}),
    )


# 100 ordinary rows of scores 0.01 to 1.00; of 50 strange ones 5 lie at 0.5 and 45 at 1.5
HAND = separated(np.arange(1, 101) / 100, [0.5] * 5 + [1.5] * 45)


def view(shown=HAND, name=STREETS, alarms=0.05, **other):
    return ood_view(NAMED, name, shown, [shown], alarms, "scores as read", **other)


@pytest.mark.parametrize(
    ("strange", "words"),
    [
        ([0.5] + [1.5] * 99, "1 in 100"),
        ([1.5] * 10, "0 in 100"),
        ([0.5] * 10, "100 in 100"),
        ([0.5] + [1.5] * 999, "fewer than 1 in 100"),
    ],
)
def test_the_sentence_agrees_with_its_number(strange, words):
    assert (
        f"{words} street numbers pass"
        in view(separated(np.arange(100) / 100, strange)).sentence.text
    )


def test_the_threshold_moves_the_counts():
    few, many = view(alarms=0.05), view(alarms=0.5)
    assert [row.cells[0].value for row in few.counts.written()] == ["5", "45"]
    assert [row.cells[1].value for row in few.counts.written()] == ["95", "5"]
    assert [row.cells[0].value for row in many.counts.written()] == [
        "50",
        "45",
    ]  # 0.5 itself passes
    assert [row.cells[0].value for row in view(alarms=0.51).counts.written()] == ["51", "50"]
    assert "the alarm that flags 50 in 100" in many.sentence.text


def test_the_positive_class_is_on_every_card_table_and_line():
    found = view()
    assert "positive class: out-of-distribution" in found.caption
    for card in found.figures.values():
        assert "positive" in csv_text(card.table).splitlines()[0]
        assert "positive" in card.figure("light").to_json()
        assert "positive class: out-of-distribution" in card.caption
        assert card.table.rows
        assert re.search("[0-9]", card.alt)
        assert picture(card).marks  # on paper
    assert "positive" in csv_text(found.counts.file).splitlines()[0]


def test_what_is_of_all_sets_stands_once_and_plain_words_have_figures_of_their_own():
    found, plain = view(), view(plain=True)
    assert "roc" in found.of_all_sets
    assert "density" in found.figures.keys() - found.of_all_sets
    assert "density" in plain.figures
    assert "roc" not in plain.figures


def test_the_counts_as_a_file():
    rows = view().counts.file.rows
    assert rows[0][0] == "test"
    assert rows[0][-3:] == (0.95, 5, 95)
    assert rows[1][-3:] == (0.95, 45, 5)


def test_every_row_is_in_a_bin():
    for score, first in (("entropy", 1), ("energy", 2)):
        card = view(separated(np.arange(1, 101) / 100, [1e-12, 0.5, 90.0], score)).figures[
            "density"
        ]
        rows = card.table.rows
        assert sum(row[2] for row in rows) == 100
        assert sum(row[3] for row in rows) == 3
        assert (rows[0][3], rows[-1][3]) == (first, 1)


def test_entropy_has_a_log_axis_where_all_scores_are_positive():
    plain = Separation.of(np.array([1e-5, 0.2]), np.array([0.3, 2.0]))
    edges, log = edges_of(plain, "entropy")
    assert log
    assert (edges[0], edges[-1]) == pytest.approx((1e-5, 2.0))
    stated = Separation.of(np.array([-3.0, 0.2]), np.array([0.3, 2.0]))
    assert not edges_of(stated, "msp")[1]
    constant = Separation.of(np.zeros(3), np.zeros(2))
    edges, log = edges_of(constant, "entropy")
    assert not log
    assert (np.diff(edges) > 0).all()


SLIDER = [k / 200 for k in range(101)]  # the steps of the page's slider


@pytest.mark.parametrize(
    ("score", "plain"), [("entropy", False), ("energy", True)]
)  # on a logarithmic axis, and on a linear one
def test_each_step_of_the_slider_is_what_the_page_says_there(score, plain):
    rng = np.random.default_rng(4)
    shown = separated(rng.beta(1, 4, 731), rng.beta(3, 2, 217), score)
    first = view(shown, alarms=SLIDER[0], plain=plain)
    moved = {key: card.figure("light") for key, card in first.figures.items()}
    steps = at_thresholds(NAMED, STREETS, shown.judged, SLIDER, plain=plain)
    for k, (share, step) in enumerate(zip(SLIDER, steps, strict=True)):
        page = view(shown, alarms=share, plain=plain)
        found = shown.judged.separation
        assert step.tally == page.tally == counts_of(found, [thresholds_at(found, [share])[0]])[0]
        assert (step.sentence, step.counts.written()) == (page.sentence, page.counts.written())
        assert step.said.startswith(f"{100 * share:.1f}\u202f%; ")
        if k % 20 == 10:  # a figure takes much longer than its numbers
            for path, value in step.line.items():
                moved["density"].layout[path] = value
            if not plain:
                moved["roc"].data[-1].update(step.spot)
            for key, card in page.figures.items():
                assert moved[key].to_json() == card.figure("light").to_json()


def test_names_of_sets():
    assert set_name("svhn").things == "street numbers"
    with speaking_of("tickets"):
        assert set_name("left-out").things == "texts of classes left out"
        assert set_name("left-out", "other.npz").things == "inputs of “left-out · other.npz”"
    noise = set_name("cifar10c-gaussian_noise-5")
    assert noise.label == "CIFAR-10-C: Gaussian noise, severity 5"
    assert noise.things == "pictures with Gaussian noise of severity 5"
    assert noise.shifted
    assert set_name("corrupted-shot_noise-1").things == "pictures with shot noise of severity 1"
    assert set_name("folder-my-holiday").things == "pictures of “my holiday”"
    assert set_name("folder-pictures").called(plain=False) == "images of “pictures”"
    assert set_name("left-out", "pictures of x").called(plain=False).startswith("inputs of “left")
    assert set_name("test", "my file").label == "my file"
    assert set_name("extra", "my file").label == "extra · my file"
    assert not set_name("extra").shifted


def score(value):
    return Score(metric="auroc", value=value, low=value - 0.01, high=value + 0.01, level=0.95, n=10)


def line(**other):
    standard = {
        "run": "my run",
        "mark": MARK,
        "name": STREETS,
        "temperature": 1.5,
        "as_read": {"entropy": score(0.7), "max_logit": score(0.6)},
        "after": {"entropy": score(0.71), "max_logit": score(0.6)},
    }
    return SetRow(**(standard | other))


CE = {"data": "cifar10", "model": "resnet110_released", "loss": {"name": "ce"}}


def test_the_papers_stand_under_the_run_in_the_same_columns():
    lines = [line(printed=auroc_rows(subject(CE), "svhn"))]
    assert ood_table.heads(lines) == ("Set and run", "Entropy", "Entropy, T", "Max logit")
    own, *papers = ood_table.rows(lines, ("entropy", False))
    assert [cell.value for cell in own.cells] == ["0.700", "0.710", "0.600"]
    assert own.strong == {0}
    assert [(row.name, [cell.value for cell in row.cells]) for row in papers] == [
        ("Focal calibration loss 2024, table 4", ["0.7756", "0.7611", ""]),
        ("Ghosh et al. 2022, table 8", ["0.6171", "0.5966", ""]),
    ]


def test_a_difference_is_a_tie_where_its_interval_holds_zero():
    told = Score(metric="auroc", value=-0.05, low=-0.08, high=-0.02, level=0.95, n=10)
    tie = Score(metric="auroc", value=0.01, low=-0.02, high=0.04, level=0.95, n=10)
    lines = [line(), line(difference=told), line(difference=tie), line(why="other rows")]
    rows = ood_table.rows(lines, ("max_logit", False))
    last = [row.cells[-1] for row in rows]
    assert [cell.value for cell in last] == ["–", "\u22120.050", "tie", "–"]
    assert last[3].reason == "other rows"
    assert (rows[1].strong, rows[2].strong, rows[2].ties) == ({2, 3}, {2}, {3})


def test_the_file_has_a_row_for_every_number():
    found = ood_table.table([line(printed=auroc_rows(subject(CE), "svhn"))])
    text = csv_text(found).splitlines()
    assert text[0] == "run,set,positive,score,temperature,auroc,low,high,source"
    assert len(text) == 1 + 4 + 4
    assert all(",out-of-distribution," in row for row in text[1:])


def shifts():
    found = {}
    for k, name in enumerate(("fog", "snow")):
        for severity in (1, 5):
            shift = ShiftEffect(100, 0.9 - 0.1 * severity * (1 + k) / 2, 0.95, 0.1, 0.6)
            found[OutsideSet("corrupted", corruption=name, severity=severity)] = shift
    return found


def test_a_map_of_one_value_names_it_once():
    (first, *_) = shift_view(NAMED, "corrupted", shifts(), "").maps[1:]
    assert "severities 1 to 5: 95 %." in first.alt


def test_maps_are_sorted_by_harm_and_leave_gaps_for_what_is_missing():
    found = shift_view(NAMED, "corrupted", shifts(), "entropy, scores as read")
    assert [card.title for card in found.maps] == [
        "Accuracy",
        "Confidence",
        "ECE",
        "AUROC",
    ]
    assert [row[:2] for row in found.table.rows] == [
        ("Snow", 1),
        ("Snow", 5),
        ("Fog", 1),
        ("Fog", 5),
    ]
    assert "Most harmful on average: Snow" in found.maps[0].alt
    heat = found.maps[0].draw(LIGHT).data[0]
    assert np.isnan(np.array(heat.z, dtype=float)[:, 1:4]).all()
    np.testing.assert_allclose(np.array(heat.z, dtype=float)[:, 0], [80, 85])
    assert "positive" in csv_text(found.table).splitlines()[0]
    assert "made by Candor" in found.explanation


def many(n):
    """Return the effects of n corruptions at severity 3, each more harmful than the one before."""
    names = list(CORRUPTIONS)[:n]
    return {
        OutsideSet("cifar10c", corruption=name, severity=3): ShiftEffect(9, 0.9 - k / 50, 0.9, 0, 0)
        for k, name in enumerate(names)
    }


@pytest.mark.parametrize(("n", "rows"), [(10, 10), (11, 8)])
def test_maps_of_many_corruptions_hold_the_worst_until_all_are_asked_for(n, rows):
    folded = shift_view(NAMED, "cifar10c", many(n), "")
    heat = folded.maps[0].draw(LIGHT).data[0]
    assert len(heat.z) == rows
    assert heat.z[0][2] == pytest.approx(100 * (0.9 - (n - 1) / 50))  # the worst at the top
    assert len(folded.table.rows) == n  # and in the file all of them
    assert folded.more == ("" if rows == n else "All 11 corruptions")
    said = f"{n} corruptions" if rows == n else "the worst 8 of 11 corruptions"
    assert f"images each, {said} from most to least harmful" in folded.caption
    assert f"Accuracy for {said} at severities 1 to 5: " in folded.maps[0].alt
    every = shift_view(NAMED, "cifar10c", many(n), "", every=True)
    assert len(every.maps[0].draw(LIGHT).data[0].z) == n
    assert f"images each, {n} corruptions from most" in every.caption
    assert every.more == folded.more


def test_every_cell_has_its_number_once_in_black_or_white():
    for theme in (LIGHT, DARK):
        for card in shift_view(NAMED, "corrupted", shifts(), "").maps:
            _, dark, bright = card.draw(theme).data
            assert len(dark.text) + len(bright.text) == 4
            assert (dark.textfont.color, bright.textfont.color) == ("#FFFFFF", "#000000")


def test_hostile_names_are_text():
    name = SetName("<b>x</b>", "inputs")
    shown = ShownCurve("<b>x</b>", MARK, HAND.judged)
    found = view(shown, name)
    for card in found.figures.values():
        assert "<b>x</b>" not in card.figure("light").to_json().replace("\\u003c", "<")
