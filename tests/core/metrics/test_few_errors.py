"""Upper ends of NLL, Brier score and AURC where few answers, or none, are wrong."""

import numpy as np
import pytest
from scipy.stats import chi2

from core.configs import AuditConfig
from core.metrics.few_errors import (
    Losses,
    Unseen,
    brier_losses,
    nll_losses,
    risk_losses,
    upper_end,
)
from core.metrics.proper import nll_rows
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import aurc, error_weights, risk_coverage
from core.metrics.suite import audit
from core.predictions import INDEPENDENT, Outcomes, Predictions, SamplingDesign, ScoreKind, Task

METRICS = ("nll", "brier", "aurc")


def classes(p, labels):
    return Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, np.asarray(p), np.asarray(labels))


def counted(wrong, n, weight=1.0):
    extra = np.zeros(n)
    extra[:wrong] = weight
    return Losses(extra, extra, Unseen(weight, weight**2))


@pytest.mark.parametrize("wrong", [0, 1, 5, 40])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_errors_of_equal_weight_have_the_exact_bound_of_a_poisson_count(wrong, level):
    exact = chi2.ppf(0.5 + level / 2, 2 * (wrong + 1)) / 2
    assert upper_end(counted(wrong, 500, 3.0), INDEPENDENT, level) == pytest.approx(3 * exact / 500)


def test_losses_of_right_answers_add_their_own_reach():
    # without an error to come the end is the normal one of the mean
    right = np.random.default_rng(0).random(400)
    losses = Losses(right, np.zeros(400), Unseen(1e-12, 1e-24))
    end = right.mean() + 1.959964 * right.std() / 20
    assert upper_end(losses, INDEPENDENT, 0.95) == pytest.approx(end, rel=1e-6)


def test_equal_weights_change_nothing_and_groups_of_one_row_neither():
    plain = upper_end(counted(4, 300), INDEPENDENT, 0.95)
    assert upper_end(
        counted(4, 300), SamplingDesign(None, np.full(300, 2.0)), 0.95
    ) == pytest.approx(plain)
    assert upper_end(counted(4, 300), SamplingDesign(np.arange(300)), 0.95) == pytest.approx(
        plain, rel=0.01
    )


def test_an_error_not_seen_may_be_a_whole_group():
    groups = SamplingDesign(np.arange(300) // 10)
    assert upper_end(counted(0, 300), groups, 0.95) == pytest.approx(-np.log(0.025) / 30)


def test_groups_count_only_as_far_as_their_errors_go_together():
    groups, place = SamplingDesign(np.arange(300) // 10), np.arange(300)
    scattered, together = (place % 10 < 3).astype(float), (place // 10 < 9).astype(float)
    losses, whole = (Losses(e, e, Unseen(1.0, 1.0)) for e in (scattered, together))
    rows = upper_end(counted(90, 300), INDEPENDENT, 0.95)
    assert upper_end(losses, groups, 0.95) == pytest.approx(rows)  # three of ten in every group
    assert upper_end(whole, groups, 0.95) == pytest.approx(
        upper_end(counted(9, 30), INDEPENDENT, 0.95)  # nine groups of thirty
    )


def test_rows_of_weight_0_count_nothing():
    weights = np.ones(300)
    weights[:2] = 0.0
    losses = counted(4, 300)
    losses.of_row[0] = np.inf
    fewer = upper_end(counted(2, 298), INDEPENDENT, 0.95)
    assert upper_end(losses, SamplingDesign(None, weights), 0.95) == pytest.approx(fewer)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_area_is_linear_in_the_errors(weighted):
    rng = np.random.default_rng(3)
    claim, weights = rng.random(300).round(2), rng.integers(1, 4, 300).astype(float)
    ranked = SortedOutcomes.of(
        Outcomes(claim, rng.random(300) < claim, None, weights if weighted else None)
    )
    mass = weights.size * [1.0] if ranked.weights is None else ranked.weights
    summed = float((mass * error_weights(ranked)) @ ~ranked.correct) / ranked.total
    assert summed == pytest.approx(aurc(ranked), rel=1e-12)


def test_an_unseen_error_is_expected_where_claims_leave_room_for_it():
    # rows of confidence 0.6 and 0.9: errors fall on the first with 0.4 / (0.4 + 0.1)
    found = classes([[0.6, 0.3, 0.1], [0.9, 0.05, 0.05]], [0, 1])
    loss, extra, unseen = nll_losses(found, nll_rows(found))
    assert loss - extra == pytest.approx(-np.log([0.6, 0.9]))
    assert extra == pytest.approx([0.0, np.log(18)])
    adds = np.array([np.log(2), np.log(6), np.log(18)])
    assert unseen == pytest.approx(([0.6, 0.2, 0.2] @ adds, [0.6, 0.2, 0.2] @ adds**2))
    loss, extra, unseen = brier_losses(found)
    assert loss - extra == pytest.approx([0.26, 0.015])
    assert extra == pytest.approx([0.0, 1.7])
    assert unseen.mean == pytest.approx(0.6 * 0.6 + 0.2 * 1.0 + 0.2 * 1.7)


def test_two_classes_are_averaged_like_many():
    rng = np.random.default_rng(5)
    p = rng.beta(5, 1, 4_000)
    two = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, p, np.ones(4_000, np.int64))
    three = classes(np.column_stack([1 - p, p, np.zeros(4_000)]), np.ones(4_000, np.int64))
    expected = nll_losses(two, nll_rows(two)).unseen
    assert nll_losses(three, nll_rows(three)).unseen == pytest.approx(expected, rel=0.02)


def test_surely_right_is_no_bound_of_the_nll():
    sure = classes(np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 0])
    scores = audit(sure, AuditConfig(n_resamples=20, metrics=METRICS)).main.metrics
    assert (scores["nll"].value, scores["nll"].low, scores["nll"].high) == (0.0, None, None)
    assert "nothing bounds the loss" in scores["nll"].reason
    # no error in four rows: exp(-m) = 0.025 where m of them are expected
    assert scores["brier"].high == pytest.approx(2 * -np.log(0.025) / 4)
    assert scores["aurc"].high == pytest.approx(-np.log(0.025) / 4)
    clipped = audit(sure, AuditConfig(n_resamples=20, metrics=("nll",), nll_clip=1e-3)).main
    assert clipped.metrics["nll"].high == pytest.approx(-np.log(0.025) / 4 * -np.log(1e-3))


def test_the_order_of_rows_changes_no_end():
    rng = np.random.default_rng(8)
    p = rng.dirichlet([0.05] * 6, 700)
    labels = np.where(rng.random(700) < 0.98, p.argmax(axis=1), 0)
    order = rng.permutation(700)
    config = AuditConfig(n_resamples=20, metrics=METRICS, nll_clip=1e-9)
    ahead, shuffled = (
        audit(classes(p[rows], labels[rows]), config).main.metrics
        for rows in (np.arange(700), order)
    )
    assert {m: s.high for m, s in ahead.items()} == {m: s.high for m, s in shuffled.items()}


def test_one_expected_error_is_within_the_intervals():
    """Resamples of rows alone hold the truth in 34 to 66 of 100 sets: many have no error."""
    n, sets = 500, 60
    held = dict.fromkeys(METRICS, 0)
    spread = np.linspace(0.996, 1.0, n, endpoint=False)  # 0.998 on average
    unsure = 1 - spread
    true = {
        "nll": float((-spread * np.log(spread) - unsure * np.log(unsure)).mean()),
        "brier": float((2 * spread * unsure).mean()),
        "aurc": float(unsure @ error_weights(SortedOutcomes.of(Outcomes(spread, spread > 1)))) / n,
    }
    for seed in range(sets):
        labels = np.random.default_rng(seed).random(n) < unsure
        p = np.column_stack([spread, unsure])
        found = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, p, labels.astype(np.int64))
        scores = audit(found, AuditConfig(n_resamples=50, metrics=METRICS)).main.metrics
        for metric in METRICS:
            held[metric] += scores[metric].low <= true[metric] <= scores[metric].high
    assert min(held.values()) >= 54, held


def test_risk_falls_where_claims_half_as_sure_expect_errors():
    # logits of 0.9 and 0.8 halved: 3 / (1 + 3) = 0.75 and 2 / 3, so 1/4 and 1/3 go wrong
    ranked = SortedOutcomes.of(Outcomes(np.array([0.8, 0.9]), np.array([True, True])))
    loss, extra, unseen = risk_losses(ranked)
    assert not loss.any()
    assert not extra.any()
    assert unseen.mean == pytest.approx((0.25 * 1.5 + 0.5 / 3) / (0.25 + 1 / 3))


def test_risk_against_coverage_ends_with_every_row_answered() -> None:
    """Four answers of three confidences, by hand: 1 answered, then 3, then all 4."""
    answers = Outcomes(np.array([0.8, 0.6, 0.9, 0.8]), np.array([False, False, True, True]))
    coverage, risk = risk_coverage(SortedOutcomes.of(answers))
    np.testing.assert_allclose(coverage, [1 / 4, 3 / 4, 1])
    np.testing.assert_allclose(risk, [0, 1 / 3, 1 / 2])
