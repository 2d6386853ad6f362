"""Risks of two classes compared: AUROC as DeLong has it, slope and net benefit."""

import numpy as np
import pytest

from core.configs import AuditConfig
from core.metrics.comparison import compare_all
from core.metrics.intervals import newcombe, student
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc
from core.metrics.suite import audit
from core.predictions import Groups, Predictions, ScoreKind, Task, Weights
from core.screens.compare.view import compare_view
from core.screens.kit.differences import NamedRun
from core.studies.comparison import benefit_score, of_sources, with_risks

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
    runs = of_sources(rows)
    runs, comparison = with_risks(runs, compare_all(runs, NAMES, 0), rows)
    y, z = rows[0].labels == 1, 2.3939797998  # 1 - 0.05 / 3, either side
    leader = comparison.leaders["auroc"]
    assert (leader.run, list(leader.others), leader.tied) == (0, [1, 2], ())
    for i in (1, 2):
        p, q = rows[i].scores[:, 1], rows[0].scores[:, 1]
        found = comparison.differences[i]["auroc"]
        value, least, most = delong(p, q, y, z)
        assert found.value == pytest.approx(value, abs=1e-12)
        assert found.low <= least + 1e-9  # of many rows little wider than DeLong's
        assert found.high >= most - 1e-9
        assert found.high - found.low == pytest.approx(most - least, rel=0.15)
    named = [NamedRun(name, name, "test", "d") for name in NAMES]
    view = compare_view(named, runs, comparison, "auroc")
    assert view.sentence.text.startswith("“keen” has the highest AUROC; “dull” is worse by")
    assert {"AUROC", "Calibration slope", "Net benefit at 10\u202f%"} <= set(view.table.heads)
    assert "DeLong’s, wider where ranks hardly vary. They are at 98.3" in view.caption
    assert [row.name for row in view.table.rows] == list(NAMES)
    assert "acting from a risk of 10\u202f%." in view.caption
    keys = [column.key for column in view.table.columns]
    assert "auroc_difference" in keys
    assert "slope_difference" not in keys  # nothing pairs slopes


def test_net_benefit_is_true_alarms_minus_weighed_false_ones(rows):
    score = benefit_score(rows[0], 0.2, 0.95)
    p, y = rows[0].scores[:, 1], rows[0].labels == 1
    expected = np.mean((p >= 0.2) & y) - np.mean((p >= 0.2) & ~y) * 0.2 / 0.8
    assert score.value == pytest.approx(expected, abs=1e-12)
    assert score.low < expected < score.high


def test_of_many_labels_there_is_the_mean_auroc_and_nothing_else_of_risks(rows):
    many = Predictions(
        Task.MULTILABEL,
        ScoreKind.SIGMOID,
        rows[0].scores,
        np.eye(2, dtype=np.int64)[rows[0].labels],
    )
    runs = of_sources([many, many])
    same, comparison = with_risks(runs, compare_all(runs, ("A", "B"), 0), [many, many])
    risks = {"auroc", "slope", "net_benefit"}
    assert [risks & set(run.audit.main.metrics) for run in same] == [{"auroc"}] * 2
    assert "auroc" not in comparison.leaders
    mean = np.mean([auroc(SortedOutcomes.of(many.outcomes(label))) for label in (0, 1)])
    assert same[0].audit.main.metrics["auroc"].value == pytest.approx(mean, abs=1e-12)


def two_runs(one, other, labels, groups=None, weights=None):
    """The comparison of two columns of risks, with differences in AUROC."""
    both = [
        Predictions(
            Task.BINARY,
            ScoreKind.PROBABILITIES,
            np.stack([1 - p, p], axis=1),
            np.asarray(labels),
            groups=None if groups is None else Groups.of("patient", groups),
            weights=None if weights is None else Weights.of("films", weights),
        )
        for p in (np.asarray(one, dtype=float), np.asarray(other, dtype=float))
    ]
    runs = of_sources(both)
    runs, comparison = with_risks(runs, compare_all(runs, ("A", "B"), 1), both)
    return comparison, runs


@pytest.mark.parametrize(
    ("labels", "one", "other"),
    [
        ([0, 1, 1], [0.1, 0.8, 0.9], [0.9, 0.1, 0.2]),
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], [0.9, 0.8, 0.2, 0.1]),
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], [0.5] * 4),
    ],
)
def test_few_rows_that_are_ranked_perfectly_prove_little(labels, one, other):
    comparison, _ = two_runs(one, other, labels)
    found = comparison.differences[0]["auroc"]
    if sum(labels) * 2 != len(labels):  # one row a side
        assert (found.low, found.high) == (None, None)
        assert comparison.leaders["auroc"].tied
        return
    # MOVER by hand: margins of Newcombe's intervals, uncorrelated as neither run varies
    own = newcombe(1.0, 2.0, 2.0, 0.95)
    area = 0.5 if other[0] == 0.5 else 0.0
    high = newcombe(area, 2.0, 2.0, 0.95)[1]
    assert found.low == pytest.approx(1.0 - area - np.hypot(1.0 - own[0], high - area), abs=1e-9)
    assert found.tie or area == 0.0


def obuchowski(p, q, y, w, groups):
    """Variance of a difference of AUROCs, by pairs of rows and sums over patients."""
    total = np.zeros(groups.max() + 1)
    positive, negative = np.flatnonzero(y), np.flatnonzero(~y)
    wins = [
        (r[positive][:, None] > r[negative]) + 0.5 * (r[positive][:, None] == r[negative])
        for r in (p, q)
    ]
    gap = wins[0] - wins[1]
    of_pairs = np.outer(w[positive], w[negative])
    value = (gap * of_pairs).sum() / of_pairs.sum()
    for i, row in enumerate(positive):
        mean = (gap[i] * w[negative]).sum() / w[negative].sum()
        total[groups[row]] += w[row] * (mean - value) / w[positive].sum()
    for j, row in enumerate(negative):
        mean = (gap[:, j] * w[positive]).sum() / w[positive].sum()
        total[groups[row]] += w[row] * (mean - value) / w[negative].sum()
    n = np.unique(groups).size
    return value, n / (n - 1) * (total**2).sum(), n


@pytest.mark.parametrize("weighted", [False, True])
def test_patients_with_films_of_both_outcomes_are_summed_over_both(weighted):
    rng = np.random.default_rng(4)
    patients = np.repeat(np.arange(60), 6)
    y = rng.random(360) < 0.5
    of_patient = rng.normal(size=60)[patients]
    # what one run takes a patient's films for does not depend on their outcome
    p = 1 / (1 + np.exp(-(y - 0.5 + rng.normal(size=360))))
    q = 1 / (1 + np.exp(-(y - 0.5 + 3 * of_patient + rng.normal(size=360) / 2)))
    w = rng.integers(1, 4, 360).astype(float) if weighted else np.ones(360)
    columns = {"groups": patients.astype(str).tolist(), "weights": w if weighted else None}
    comparison, _ = two_runs(p, q, y.astype(int), **columns)
    found = comparison.differences[0]["auroc"]
    value, variance, n = obuchowski(p, q, y, w, patients)
    assert found.value == pytest.approx(value, abs=1e-12)
    half = student(0.95, n - 1) * variance**0.5
    assert found.low <= value - half + 1e-12
    assert found.high >= value + half - 1e-12
    assert found.high - found.low == pytest.approx(2 * half, rel=0.05)


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 1.0, 0.0]])
def test_runs_of_one_outcome_say_so_and_have_no_difference_in_auroc(weights):
    labels = [0, 0, 0, 0] if weights is None else [0, 0, 0, 1]
    comparison, runs = two_runs([0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], labels, None, weights)
    named = [NamedRun(name, name, "test", "d") for name in ("A", "B")]
    view = compare_view(named, runs, comparison, "auroc")
    assert view.sentence.text == "These runs cannot be compared by AUROC."
    assert view.sentence.second.startswith("Only one outcome is present: 0 of 4 rows are positive")
    assert "DeLong" not in view.caption
    assert view.forest is None


def test_what_is_computed_of_a_run_holds_the_scores_of_its_risks(rows):
    (run,) = of_sources(rows[:1])
    own = audit(rows[0], AuditConfig(metrics=("auroc", "slope"))).main.metrics
    assert {key: run.audit.main.metrics[key] for key in own} == own
