from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.library.index import RunRow
from core.metrics.records import VerdictCode
from core.screens.runs import PLAIN, TECHNICAL, run_table, verdict


def row(verdict="over_confident", gap=0.0398, task="multiclass", **fields):
    summary = {
        "accuracy": 0.9359,
        "ece": {"value": 0.0397, "low": 0.0356, "high": 0.0441},
        "floor_q95": 0.0046,
        "gap": {"gap": gap, "low": 0.035, "high": 0.044},
        "verdict": verdict,
    }
    given = {
        "id": "abc",
        "name": "=HYPERLINK(1)",
        "kind": "upload",
        "owner": "local",
        "created": "2026-11-20T18:52:00+00:00",
        "task": task,
        "n": 10_000,
        "n_classes": 10,
        "split": "test",
        "splits": ("test",),
        "tags": ("CIFAR-10",),
        "metrics": summary,
    }
    return RunRow(**(given | fields))


@pytest.mark.parametrize(
    ("verdict", "gap", "words", "tone"),
    [
        ("over_confident", 0.0398, "▲ says more by 4.0", "over"),
        ("under_confident", -0.153, "▼ says less by 15.3", "under"),
        ("mixed", 0.001, "◆ mixed", "ink"),
        ("sound", 0.001, "● sound", "sound"),
        ("could_be_chance", 0.02, "○ could be chance", "ink"),
    ],
)
def test_direction_is_said_with_a_glyph(verdict, gap, words, tone):
    table = run_table([row(verdict, gap)])
    assert (table.direction, table.tones) == ((words,), (tone,))


def test_a_verdict_that_stands_alone_has_its_unit_and_says_what_is_off(make_target):
    summary = row("over_confident", 0.0398).metrics
    assert verdict(summary, "multiclass", TECHNICAL, alone=True) == (
        ("▲ over-confident by 4.0 points", "over")
    )
    assert verdict(summary, "multiclass", PLAIN, alone=True)[0] == "▲ too sure by 4.0 in 100"
    assert verdict(row("sound", 0.001).metrics, "binary", TECHNICAL, alone=True)[0] == "● sound"
    assert verdict(summary, "multilabel", TECHNICAL, alone=True)[0] == "verdicts by label"
    codes = (VerdictCode.SOUND, VerdictCode.OVER_CONFIDENT, VerdictCode.MIXED)
    targets = [make_target(code, target=0) for code in codes]
    labels = [
        replace(target, verdict=replace(target.verdict, p_value=p))
        for target, p in zip(targets, (0.5, 0.0001, 0.0001), strict=True)
    ]
    said = verdict(summary, "multilabel", TECHNICAL, alone=True, labels=labels)
    assert said == ("◆ 2 of 3 labels off", "ink")
    risk = verdict(row("underestimates", -0.02).metrics, "binary", TECHNICAL, alone=True)
    assert risk == ("▼ underestimates by 2.0 points", "under")


def test_columns_hold_percent_interval_floor_and_date():
    table = run_table([row()])
    assert table.accuracy == (pytest.approx(93.59),)
    assert table.ece == (pytest.approx(3.97),)
    assert table.interval == ("3.6 to 4.4",)
    assert table.floor == (pytest.approx(0.46),)
    assert table.added == (datetime(2026, 11, 20, 18, 52, tzinfo=UTC),)
    assert table.task == ("10 classes",)
    assert table.caption.startswith("1 run.")


def test_a_page_of_many_runs_says_which_it_shows():
    rows = [row()] * 250
    assert run_table(rows, first=250, total=2000).caption.startswith("Runs 251 to 500 of 2,000. ")
    assert run_table(rows[:3], first=1750, total=1753).caption.startswith("Runs 1,751 to 1,753 of")
    assert run_table(rows, first=0, total=250).caption.startswith("250 runs.")


def test_labels_are_not_given_one_direction():
    table = run_table([row(task="multilabel", n_classes=14)])
    assert table.task == ("14 labels",)
    assert table.direction == ("by label",)
    assert table.interval == ("mean of 14",)


def test_a_run_without_numbers_has_dashes():
    table = run_table([row(metrics=None), row()])
    assert table.accuracy[0] is None
    assert (table.interval[0], table.direction[0]) == ("–", "–")
    assert table.caption.startswith("2 runs.")


def test_a_gamma_history_has_neither_rows_nor_classes_nor_numbers():
    bare = {"task": "", "n": 0, "n_classes": 0, "split": "", "splits": (), "metrics": None}
    table = run_table([row(**bare, kind="history")])
    assert (table.task, table.n) == (("gammas",), (None,))
    assert (table.accuracy, table.interval, table.direction) == ((None,), ("–",), ("–",))
