"""Distances of several runs from people: their intervals, differences, and when there are none."""

import numpy as np
import pytest
from scipy import stats

from core.calibrators.temperature import Temperature
from core.metrics.comparison import OTHER_VOTES, compare, compare_all, compared
from core.metrics.human import human_audit
from core.metrics.votes import DISTANCE, distance
from core.predictions import Groups, Predictions, ScoreKind, Task, Votes, Weights
from core.studies.posthoc import judge
from tests.reference import plain_human as plain

N = 400
RNG = np.random.default_rng(5)
TRUE = 1.5 * RNG.normal(size=(N, 4))
VOTES = np.array([RNG.multinomial(20, row) for row in plain.probabilities(TRUE)]).astype(float)
CLOSE, FAR = TRUE + 0.2 * RNG.normal(size=TRUE.shape), 3.0 * TRUE
NAMES = ("close", "far")


def run(logits, votes=VOTES, **more) -> Predictions:
    return Predictions(
        Task.MULTICLASS,
        ScoreKind.LOGITS,
        logits,
        VOTES.argmax(axis=1),
        votes=None if votes is None else Votes.of("crowd", votes),
        **more,
    )


def row_distances(logits, votes=VOTES):
    shares = votes / votes.sum(axis=1, keepdims=True)
    return np.abs(plain.probabilities(logits) - shares).sum(axis=1) / 2


def weights():
    return Weights.of("w", np.arange(N) % 4 + 0.0)


@pytest.mark.parametrize(
    "more", [{}, {"groups": Groups("person", np.arange(N) // 4)}, {"weights": weights()}]
)
def test_a_run_is_as_far_from_people_as_its_audit_says(more):
    rows = run(FAR, **more)
    score, drawn = distance(rows)
    own = human_audit(rows).scores["tvd"]
    assert (score.value, score.low, score.high) == pytest.approx(
        (own.value, own.low, own.high), rel=1e-12
    )
    assert drawn.value == score.value
    assert drawn.draws.mean() == pytest.approx(score.value, rel=0.01)


def test_the_paired_difference_is_that_of_the_rows():
    runs = [compared(run(CLOSE)), compared(run(FAR))]
    found = compare(runs, NAMES, 0).differences[1][DISTANCE]
    apart = row_distances(FAR) - row_distances(CLOSE)
    assert found.value == pytest.approx(apart.mean(), rel=0, abs=1e-12)
    half = stats.t.ppf(0.975, N - 1) * apart.std(ddof=1) / np.sqrt(N)
    assert found.value - found.low == pytest.approx(half, rel=0.1)
    assert found.high - found.value == pytest.approx(half, rel=0.1)
    assert found.n == N
    unpaired = np.hypot(row_distances(FAR).std(), row_distances(CLOSE).std()) / np.sqrt(N)
    assert half < 1.9 * unpaired
    leader = compare_all(runs, NAMES, 0).leaders[DISTANCE]
    assert (leader.run, leader.tied) == (0, ())


def test_a_run_beside_itself_is_as_far():
    both = compared(run(FAR))
    found = compare([both, both], NAMES, 0).differences[1][DISTANCE]
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)


def test_resamples_without_a_voted_row_are_left_out_of_differences_too():
    few = np.where(np.arange(N)[:, None] % 150 == 0, VOTES, 0.0)
    assert (few.sum(axis=1) > 0).sum() == 3
    runs = [compared(run(logits, few)) for logits in (CLOSE, FAR)]
    draws = [one.draws[DISTANCE].draws for one in runs]
    assert 900 < draws[0].size == draws[1].size < 1_000  # (1 - 3/400)^400 is 0.05
    assert draws[0].min() > 0.0
    elsewhere = compared(run(FAR, np.roll(few, 1, axis=0)))
    found = compare([runs[0], elsewhere], NAMES, 0).differences[1][DISTANCE]
    assert (found.value, found.reason) == (None, OTHER_VOTES)


def test_rows_without_votes_count_nothing():
    some = VOTES.copy()
    some[::3] = 0.0
    kept = np.flatnonzero(some.any(axis=1))
    rows = run(FAR, some)
    score, drawn = distance(rows)
    assert score.value == pytest.approx(row_distances(FAR)[kept].mean(), rel=0, abs=1e-12)
    assert (score.n, drawn.n, drawn.units.count) == (kept.size, N, kept.size)
    half = stats.t.ppf(0.975, kept.size - 1) * row_distances(FAR)[kept].std() / np.sqrt(kept.size)
    assert score.value - score.low == pytest.approx(half, rel=0.1)
    both = [compared(run(logits, some)) for logits in (CLOSE, FAR)]
    found = compare(both, NAMES, 0).differences[1][DISTANCE]
    apart = (row_distances(FAR) - row_distances(CLOSE))[kept].mean()
    assert found.value == pytest.approx(apart, rel=0, abs=1e-12)


def test_other_votes_or_none_are_not_compared():
    other = np.roll(VOTES, 1, axis=1)
    runs = [compared(rows) for rows in (run(CLOSE), run(FAR, other), run(FAR, None))]
    comparison = compare_all(runs, (*NAMES, "none"), 0)
    assert comparison.differences[1][DISTANCE].reason == OTHER_VOTES
    assert comparison.differences[1][DISTANCE].low is None
    assert DISTANCE not in comparison.differences[2]
    assert DISTANCE not in comparison.leaders
    assert comparison.differences[1]["nll"].low is not None
    assert (runs[1].score(DISTANCE).n, runs[2].score(DISTANCE)) == (N, None)


def test_one_row_and_rows_of_weight_0_have_no_interval():
    one = np.zeros_like(VOTES)
    one[3] = VOTES[3]
    score, _ = distance(run(FAR, one))
    assert (score.value, score.low) == (pytest.approx(row_distances(FAR)[3]), None)
    assert score.reason.startswith("one row has")
    score, drawn = distance(run(FAR, one, weights=Weights.of("w", (np.arange(N) != 3) + 0.0)))
    assert (score.value, drawn.value) == (None, None)
    assert score.reason == drawn.reason == "every row with votes has weight 0"


def test_a_weight_of_2_is_the_row_twice():
    twice = run(FAR).take(np.repeat(np.arange(N), np.arange(N) % 4))
    own = distance(run(FAR, weights=weights()))[0]
    assert own.value == pytest.approx(distance(twice)[0].value, rel=0, abs=1e-12)


def test_a_calibrator_is_judged_by_people_too():
    none, softer = judge(run(FAR), None), judge(run(FAR), temperature(3.0))
    both = [method.compared for method in (none, softer)]
    found = compare(both, NAMES, 0).differences[1][DISTANCE]
    apart = row_distances(TRUE).mean() - row_distances(FAR).mean()
    assert found.value == pytest.approx(apart, rel=0, abs=1e-12)
    assert found.high < 0.0


def temperature(value: float) -> Temperature:
    calibrator = Temperature()
    calibrator.fit(FAR, VOTES.argmax(axis=1))
    calibrator.temperature_ = value
    return calibrator


def test_nobody_voted_on_what_has_no_votes():
    rows = compared(run(FAR, None))
    assert (rows.distance, rows.rows.votes) == (None, "")
