from datetime import UTC, datetime

import pytest

from core.library.index import RunRow
from core.screens.runs import run_table


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


def test_columns_hold_percent_interval_floor_and_date():
    table = run_table([row()])
    assert table.accuracy == (pytest.approx(93.59),)
    assert table.ece == (pytest.approx(3.97),)
    assert table.interval == ("3.6 to 4.4",)
    assert table.floor == (pytest.approx(0.46),)
    assert table.added == (datetime(2026, 11, 20, 18, 52, tzinfo=UTC),)
    assert table.task == ("10 classes",)
    assert table.caption.startswith("1 run.")


def test_a_run_without_numbers_has_dashes():
    table = run_table([row(metrics=None), row()])
    assert table.accuracy[0] is None
    assert (table.interval[0], table.direction[0]) == ("–", "–")
    assert table.caption.startswith("2 runs.")
