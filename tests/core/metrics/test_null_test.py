import numpy as np
import pytest

from core.metrics.binning import BinSums, equal_width_cuts
from core.metrics.null_test import (
    Null,
    Zone,
    bins_beyond,
    holm,
    joint,
    least_shown,
    significant,
)
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Statistic
from core.metrics.resampling import Resamples
from core.predictions import Outcomes


def sigmoid(logit):
    return 1.0 / (1.0 + np.exp(-logit))


def saturated(rng, n):
    return sigmoid(rng.normal(6.0, 2.1, n))


def rare(rng, n):
    return rng.beta(0.5, 49.5, n)


def run(claims, outcomes, *, n_resamples=400, seed=0):
    ranked = SortedOutcomes.of(Outcomes(claims, outcomes))
    null = Null(Resamples.of(ranked, n_resamples, seed))
    return null.test(equal_width_cuts(ranked, 15))


def test_one_statistic_is_its_rank_among_the_draws():
    draws = np.arange(1.0, 20.0)[:, None]  # 1 to 19
    assert joint(np.array([18.5]), draws) == pytest.approx([2 / 20])
    assert joint(np.array([18.0]), draws) == pytest.approx([3 / 20])  # ties count as reached
    assert joint(np.array([0.0]), draws) == pytest.approx([1.0])


def test_what_one_draw_reaches_is_not_beyond_all_of_them():
    draws = np.append(np.linspace(0.0, 1.0, 98), 50.0)[:, None]
    assert joint(np.array([50.0]), draws) == pytest.approx([2 / 100])
    assert joint(np.array([50.1]), draws) < 1e-6  # from there on the tail is exponential


def test_the_smallest_rank_is_held_against_the_smallest_ranks_of_the_draws():
    # the rows are third in the first statistic: so are, or better, 4 draws in either of the two
    first, second = np.arange(1.0, 20.0), np.arange(19.0, 0.0, -1.0)
    draws = np.column_stack([first, second])
    # the second's top three are the draws with 19, 18 and 17, of which the rows reach none
    assert joint(np.array([17.5, 0.0]), draws) == pytest.approx([6 / 20, 1.0])


def test_a_tail_beyond_all_draws_goes_on():
    draws = np.arange(1.0, 20.0)[:, None]
    near, far = (float(joint(np.array([v]), draws)[0]) for v in (20.0, 100.0))
    assert far < 1e-6 < near <= 1 / 20
    assert joint(np.array([5.0]), np.zeros((9, 1))) == pytest.approx([0.0])  # cannot happen


def test_sets_are_judged_as_the_rows_are():
    rng = np.random.default_rng(0)
    null, sets = np.abs(rng.normal(size=(199, 3))), np.abs(1.3 * rng.normal(size=(40, 3)))
    alone = np.array([joint(row, null).min() <= 0.05 for row in sets])
    assert (alone == significant(sets, null)).mean() >= 0.95  # at the edge a rank may differ
    assert 0 < alone.sum() < 40


@pytest.mark.slow
@pytest.mark.parametrize("draw", [saturated, rare])
@pytest.mark.parametrize("n", [200, pytest.param(500, marks=pytest.mark.nightly)])
def test_calibrated_sets_raise_few_false_alarms(draw, n):
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(100):
        claims = draw(rng, n)
        alarms += run(claims, rng.random(n) < claims, n_resamples=199).p_value <= 0.05
    assert alarms <= 11  # 5 are due; more than 11 have a chance of 0.4 %


def test_claims_that_are_too_extreme_or_too_moderate_are_detected_with_their_side():
    rng = np.random.default_rng(2)
    logit = rng.normal(0.0, 2.0, 3_000)
    extreme = run(sigmoid(logit), rng.random(3_000) < sigmoid(logit / 1.4))
    assert extreme.finds(Statistic.SLOPE)
    assert not extreme.finds(Statistic.GAP)
    assert extreme.steepness > 0
    moderate = run(sigmoid(logit), rng.random(3_000) < sigmoid(logit * 1.4))
    assert moderate.finds(Statistic.SLOPE)
    assert moderate.steepness < 0


def test_power_grows_with_rows_and_is_not_asked_where_something_was_detected():
    rng = np.random.default_rng(3)
    powers = []
    for n in (200, 2_000, 20_000):
        claims = rng.uniform(0.0, 1.0, n)
        powers.append(run(claims, rng.random(n) < claims).power)
    assert powers[0] < 0.3 < powers[1] < 0.95 < powers[2]
    assert np.isnan(run(claims, rng.random(n) < claims**2).power)


@pytest.mark.nightly
def test_power_is_that_of_the_test_on_sets_that_are_off_by_so_much():
    rng = np.random.default_rng(4)
    n = 1_000
    claims = rng.uniform(0.0, 1.0, n)
    odds = claims / (1.0 - claims) * 1.2
    truth = odds / (1.0 + odds)
    sets = [run(claims, rng.random(n) < truth, n_resamples=199, seed=s) for s in range(60)]
    detected = np.mean([test.p_value <= 0.05 for test in sets])
    power = run(claims, rng.random(n) < claims, seed=5).power  # the least over its forms
    assert power - 0.1 < detected < power + 0.4


def test_twice_a_rare_risk_is_never_called_excluded():
    rng = np.random.default_rng(5)
    claims = 2.0 * rng.beta(0.5, 49.5, 1_000)
    test = run(claims, np.arange(1_000) % 50 == 0)
    assert np.isnan(test.power) or test.power < 0.95


def test_claims_of_one_half_are_no_excuse():
    rng = np.random.default_rng(6)
    assert run(np.full(100, 0.5), rng.permutation(100) < 50).power < 0.5
    assert run(np.full(20_000, 0.5), rng.permutation(20_000) < 10_000).power > 0.95


def test_certain_claims_cannot_be_excluded_or_confirmed():
    sure = run(np.ones(50), np.ones(50, dtype=bool))
    assert (sure.p_value, sure.power) == (1.0, 0.0)
    wrong = np.ones(50, dtype=bool)
    wrong[0] = False
    assert run(np.ones(50), wrong).p_value == 0.0


def waves(rng, n, size=0.1):
    """Claims whose errors cancel within each of 15 bins."""
    claims = rng.uniform(0.0, 1.0, n)
    side = np.sign(np.sin(2.0 * np.pi * 15.0 * claims))
    return claims, rng.random(n) < np.clip(claims + size * side, 0.0, 1.0)


def test_waves_within_the_bins_are_seen():
    test = run(*waves(np.random.default_rng(8), 20_000))
    assert test.finds(Statistic.FINE)
    assert test.values[Statistic.FINE] > 2 * test.chance[Statistic.FINE]
    assert test.small is None


def test_cumulative_differences_by_hand():
    claims = np.repeat([0.2, 0.4, 0.6, 0.8], 10)
    hits = np.repeat([0, 10, 0, 10], 10) > 0
    test = run(claims, hits)
    # running sums of claims less outcomes: 2, -4, 2, 0 of 40 rows
    assert test.values[Statistic.CUMULATIVE] == pytest.approx(6 / 40)


def test_what_is_off_by_less_than_matters_is_small_and_nothing_else():
    rng = np.random.default_rng(9)
    logit = rng.normal(0.0, 2.0, 200_000)
    claims = sigmoid(logit)
    slightly = run(claims, rng.random(claims.size) < sigmoid(logit / 1.03 + 0.02))
    assert slightly.p_value <= 0.05
    assert slightly.small == Zone().gap
    ranked = SortedOutcomes.of(Outcomes(claims, rng.random(claims.size) < sigmoid(logit / 1.03)))
    null = Null(Resamples.of(ranked, 400, 0))
    assert null.test(equal_width_cuts(ranked, 15), Zone(gap=0.001)).small is None
    flat = run(claims, rng.random(claims.size) < sigmoid(logit / 1.4))
    assert flat.small is None  # right on average, but the slope is not
    assert run(claims, rng.random(claims.size) < claims).small is None  # nothing is off


@pytest.mark.parametrize("k", [0.0, 0.4, 1.0, 3.0])
def test_what_an_error_shows_least_is_that_of_cells_off_by_alike(k):
    z = np.linspace(-9.0, 9.0, 200_001)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    none, shown = np.abs(z), np.abs(k + z)
    calm, mean = weight @ none, weight @ shown
    noise, spread = np.sqrt(weight @ none**2 - calm**2), np.sqrt(weight @ shown**2 - mean**2)
    # a mean over 25 cells of spread 0.02 each
    draws = 0.02 * (calm + np.array([-1.0, 1.0]) * noise / 5)
    least = 0.02 * (mean - 1.644854 * spread / 5)
    assert least_shown(draws, 0.02 * k) == pytest.approx(least, rel=1e-5)
    assert least_shown(np.zeros(9), 0.02) == 0.02  # nothing is left to chance


def test_waves_of_more_than_matters_are_hardly_ever_small_and_leave_more_open():
    rng = np.random.default_rng(9)
    size = 0.0
    for _ in range(15):
        truth = rng.uniform(0.02, 0.98, 5_000)
        claims = truth + 0.052 * np.sin(6 * np.pi * truth)
        size += np.abs(claims - truth).mean() / 15
        test = run(claims, rng.random(truth.size) < truth, n_resamples=200)
        assert test.small is None
        assert not (test.p_value > 0.05 and test.power >= 0.95) or test.open_to == 0.025
    assert size == pytest.approx(0.034, abs=0.001)


def test_a_doubled_rare_risk_is_never_small():
    rng = np.random.default_rng(10)
    truth = rng.beta(0.5, 49.5, 40_000)
    test = run(2.0 * truth, rng.random(truth.size) < truth)
    assert test.finds(Statistic.GAP)
    assert test.small is None  # 1 point is half of what is claimed


@pytest.mark.parametrize(("factor", "small"), [(1.3, False), (1.1, True)])
def test_a_rare_risk_is_small_by_less_than_a_fifth_of_it(factor, small):
    rng = np.random.default_rng(12)
    truth = rng.beta(1.0, 99.0, 200_000)
    hits = rng.random(truth.size) < truth
    test = run(factor * truth, hits)
    assert test.finds(Statistic.GAP)
    assert test.small == (pytest.approx(hits.mean() / 5) if small else None)


def test_nothing_is_small_where_a_bin_beyond_chance_is_off_by_more():
    rng = np.random.default_rng(13)
    claims = rng.uniform(0.0, 1.0, 100_000)
    far = (claims > 0.8) & (claims < 13 / 15)
    hits = rng.random(claims.size) < claims - 0.05 * far  # a third of a point on average
    test = run(claims, hits)
    assert test.bins[12] <= 0.05
    assert test.small is None


def test_the_slope_and_its_interval_are_those_of_a_logistic_regression():
    statsmodels = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(11)
    logit = rng.normal(0.5, 1.5, 4_000)
    hits = rng.random(logit.size) < sigmoid(0.2 + 0.9 * logit)
    model = statsmodels.Logit(hits, statsmodels.add_constant(logit)).fit(disp=0)
    ranked = SortedOutcomes.of(Outcomes(sigmoid(logit), hits))
    low, high = Null(Resamples.of(ranked, 2_000, 0))._slope_interval
    assert (low, high) == pytest.approx(tuple(model.conf_int(alpha=0.1)[1]), abs=0.01)


def test_bins_are_corrected_for_their_number():
    rng = np.random.default_rng(7)
    count = np.array([100, 0, 100, 100, 100])
    claims = np.array([0.001, 0.0, 0.2, 0.5, 0.9])
    drawn = rng.binomial(count, claims, size=(999, 5))
    own = BinSums(count, count * claims, np.array([0, 0, 40, 50, 90]))
    p_values = bins_beyond(own, BinSums(count, count * claims, drawn))
    assert np.isnan(p_values[1])
    assert p_values[2] == pytest.approx(1 / 1000)
    assert p_values[[0, 3, 4]] == pytest.approx(1.0, abs=0.05)
    # one event where a tenth of one is expected is no wonder among four bins
    own = BinSums(count, count * claims, np.array([1, 0, 20, 50, 90]))
    assert bins_beyond(own, BinSums(count, count * claims, drawn))[0] > 0.1


def test_holm_by_hand():
    # 0.01 x 3; then the larger of that and 0.02 x 2; then 0.5
    assert holm([0.02, 0.5, 0.01]) == pytest.approx((0.04, 0.5, 0.03))
    assert holm([0.03, 0.02]) == pytest.approx((0.04, 0.04))
    assert holm([0.9, 0.8]) == (1.0, 1.0)
    assert holm([]) == ()
