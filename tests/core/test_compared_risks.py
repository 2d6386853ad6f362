"""Risks of two classes compared: AUROC as DeLong has it, slope and net benefit."""

import numpy as np
import pytest

from core.configs import AuditConfig
from core.metrics.comparison import compare_all, compared
from core.predictions import Predictions, ScoreKind, Task
from core.screens.compare.view import compare_view
from core.screens.kit.differences import NamedRun
from core.studies.comparison import risk_scores, with_auroc, with_scores

NAMES = ("keen", "dull", "random")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 400)
    scores = [1 / (1 + np.exp(-(s * labels + rng.normal(size=400) - s / 2))) for s in (2, 1, 0)]
    return [
        Predictions(Task.BINARY, ScoreKind.PROBABILITIES, np.stack([1 - p, p], axis=1), labels)
        for p in scores
    ]


def delong(p, q, y, z):
    """Difference of two AUROCs with its interval, by the pairs of each row."""

    def of_rows(risk):
        wins = (risk[y][:, None] > risk[~y]) + 0.5 * (risk[y][:, None] == risk[~y])
        return wins.mean(axis=1), wins.mean(axis=0)

    pairs = list(zip(of_rows(p), of_rows(q), strict=True))
    variance = sum(np.var(a - b, ddof=1) / a.size for a, b in pairs)
    value = (pairs[0][0] - pairs[0][1]).mean()
    return value, value - z * variance**0.5, value + z * variance**0.5


def test_differences_in_auroc_are_delongs_at_the_level_of_all_pairs(rows):
    runs = [compared(of_run) for of_run in rows]
    runs = [
        with_scores(run, risk_scores(of_run, 0.1, AuditConfig()))
        for run, of_run in zip(runs, rows, strict=True)
    ]
    comparison = with_auroc(compare_all(runs, NAMES, 0), runs, rows)
    y, z = rows[0].labels == 1, 2.3939797998  # 1 - 0.05 / 3, either side
    leader = comparison.leaders["auroc"]
    assert (leader.run, list(leader.others), leader.tied) == (0, [1, 2], ())
    for i in (1, 2):
        p, q = rows[i].scores[:, 1], rows[0].scores[:, 1]
        found = comparison.differences[i]["auroc"]
        assert (found.value, found.low, found.high) == pytest.approx(delong(p, q, y, z), abs=1e-6)
    named = [NamedRun(name, name, "test", "d") for name in NAMES]
    view = compare_view(named, runs, comparison, "auroc")
    assert view.sentence.text.startswith("“keen” has the highest AUROC; “dull” is worse by")
    assert {"AUROC", "Calibration slope", "Net benefit"} <= set(view.table.heads)
    assert "DeLong’s. They are at 98.3" in view.caption
    assert [row.name for row in view.table.rows] == list(NAMES)
    keys = [column.key for column in view.table.columns]
    assert "auroc_difference" in keys
    assert "slope_difference" not in keys  # nothing pairs slopes


def test_net_benefit_is_true_alarms_minus_weighed_false_ones(rows):
    scores = risk_scores(rows[0], 0.2, AuditConfig())
    p, y = rows[0].scores[:, 1], rows[0].labels == 1
    expected = np.mean((p >= 0.2) & y) - np.mean((p >= 0.2) & ~y) * 0.2 / 0.8
    assert scores["net_benefit"].value == pytest.approx(expected, abs=1e-12)
    assert scores["net_benefit"].low < expected < scores["net_benefit"].high
    many = Predictions(
        Task.MULTILABEL,
        ScoreKind.SIGMOID,
        rows[0].scores,
        np.eye(2, dtype=np.int64)[rows[0].labels],
    )
    assert set(risk_scores(many, 0.2, AuditConfig())) == {"auroc"}
