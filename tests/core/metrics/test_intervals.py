"""Intervals, resamples and the noise floor."""

import numpy as np
import pytest
from scipy import stats

from core.configs import BinRule
from core.metrics import binning, estimates, suite
from core.metrics.classwise import class_bins
from core.metrics.intervals import (
    Resamples,
    basic,
    logit_interval,
    mean_interval,
    percentile,
    wilson,
)
from core.metrics.ranked import Ranked
from core.metrics.ranking import auroc_error
from core.metrics.selective import aurc
from core.metrics.smooth import smece, smece_draws
from core.metrics.top_label import ece, ece_em, weighted_gap
from core.predictions import Outcomes, Predictions, ScoreKind, Task
from tests.reference import slow_metrics

Z = 1.959963984540054  # 97.5 % quantile of the normal


def over_confident(n, seed=0, power=1.3):
    """Rows whose accuracy is confidence ** power."""
    rng = np.random.default_rng(seed)
    confidence = 0.5 + rng.beta(3, 1, n) / 2
    return Outcomes(confidence, rng.random(n) < confidence**power)


def top_label(outcomes):
    return Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        outcomes.confidence,
        outcomes.correct.astype(np.int64),
        predicted=np.ones(outcomes.n, dtype=np.int64),
    )


def prepared(outcomes, n_resamples=400, seed=0):
    return suite.prepare(top_label(outcomes), None, n_resamples=n_resamples, seed=seed)


@pytest.mark.parametrize(("k", "n"), [(3, 10), (1, 40), (500, 1000)])
def test_wilson_bounds_are_where_the_score_test_just_rejects(k, n):
    for bound in wilson(np.array(k), np.array(n), 0.95):
        distance = abs(k / n - bound) / np.sqrt(bound * (1 - bound) / n)
        assert distance == pytest.approx(Z, rel=1e-9)


def test_wilson_at_the_ends():
    # none of n: z^2 / (n + z^2) = 3.8415 / 13.8415
    low, high = wilson(np.array([0, 10, 0]), np.array([10, 10, 0]), 0.95)
    np.testing.assert_allclose(low, [0.0, 1 - 0.277532, np.nan], atol=1e-6)
    np.testing.assert_allclose(high, [0.277532, 1.0, np.nan], atol=1e-6)


def test_basic_interval_mirrors_the_draws_around_the_value():
    draws = np.linspace(0.10, 0.20, 1001)
    # deviations of the draws from 0.11 run from -0.01 + 2.5 % to 0.09 - 2.5 %
    low, high = basic(0.12, draws, 0.95, centre=0.11, floor_q95=0.05)
    assert low == pytest.approx(0.12 - (0.1975 - 0.11))
    assert high == pytest.approx(0.12 - (0.1025 - 0.11))
    # within the floor the true error may be 0; the interval always holds the value
    assert basic(0.12, draws, 0.95, centre=0.11, floor_q95=0.12)[0] == 0.0
    assert basic(0.12, draws + 0.5, 0.95, centre=0.11, floor_q95=0.0) == (0.0, 0.12)
    assert basic(0.9, draws, 0.95, centre=0.3, floor_q95=0.0)[1] == 1.0


def test_interval_of_a_mean_is_that_of_the_bootstrap_over_rows():
    values = np.random.default_rng(3).exponential(size=5_000) ** 2  # a heavy tail, like an NLL
    low, high = mean_interval(values, 4_000, 0.95, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    draws = np.array([values[rng.integers(0, 5_000, 5_000)].mean() for _ in range(4_000)])
    width = draws.std()
    assert (low, high) == pytest.approx(percentile(draws, 0.95), abs=0.12 * width)


def test_interval_of_a_mean_sees_a_few_huge_values():
    # 3 of 5,000 rows are 1,000, the rest 0: a resample holds Poisson(3) of them, mostly 0 to 7
    values = np.zeros(5_000)
    values[:3] = 1_000.0
    low, high = mean_interval(values, 4_000, 0.95, np.random.default_rng(0))
    assert low == pytest.approx(0.0, abs=0.05)
    assert high == pytest.approx(7 * 1_000 / 5_000, abs=0.15)


@pytest.mark.slow
def test_resampled_ece_has_the_percentiles_of_the_bootstrap_over_rows():
    found = over_confident(10_000)
    resamples = Resamples.of(Ranked.of(found), 4_000, 0)
    cuts = binning.equal_width_cuts(resamples.ranked, 15)
    ours = np.quantile(weighted_gap(resamples.bootstrap(cuts), found.n), [0.025, 0.5, 0.975])
    rng = np.random.default_rng(1)
    index = binning.bin_index(found.confidence, binning.equal_width_edges(15))
    gap = found.confidence - found.correct
    exact = []
    for _ in range(4_000):
        rows = rng.integers(0, found.n, found.n)
        exact.append(np.abs(np.bincount(index[rows], gap[rows])).sum() / found.n)
    np.testing.assert_allclose(ours, np.quantile(exact, [0.025, 0.5, 0.975]), atol=5e-4)


def test_noise_floor_is_what_redrawn_outcomes_show():
    found = over_confident(2_000)
    floor = estimates.binned(prepared(found, 2_000), "ece", n_bins=15, level=0.95)[1]
    rng = np.random.default_rng(1)
    redrawn = [
        ece(Ranked.of(Outcomes(found.confidence, rng.random(found.n) < found.confidence)))
        for _ in range(2_000)
    ]
    assert floor.mean == pytest.approx(np.mean(redrawn), abs=3e-4)
    assert floor.q95 == pytest.approx(np.quantile(redrawn, 0.95), abs=6e-4)


def test_noise_floor_has_its_normal_size():
    # a bin's gap is normal with variance sum p (1 - p), whose mean size is sqrt(2 / pi) of its root
    confidence = np.linspace(0.05, 1.0, 10_000)
    found = Outcomes(confidence, np.zeros(10_000, dtype=bool))
    index = binning.bin_index(confidence, binning.equal_width_edges(15))
    spread = np.sqrt(np.bincount(index, confidence * (1 - confidence)))
    floor = estimates.binned(prepared(found, 1_000), "ece", n_bins=15, level=0.95)[1]
    assert floor.mean == pytest.approx(np.sqrt(2 / np.pi) * spread.sum() / 10_000, rel=0.03)


@pytest.mark.parametrize("n_bins", [5, 15, 37, 50])
@pytest.mark.parametrize("rule", list(BinRule))
def test_every_slider_position_is_resampled_at_its_own_edges(n_bins, rule):
    resamples = prepared(over_confident(3_000), 20).resamples
    cuts = binning.CUTS[rule](resamples.ranked, n_bins)
    np.testing.assert_array_equal(resamples.cuts[resamples.columns(cuts)], cuts)
    drawn = resamples.bootstrap(cuts)
    np.testing.assert_array_equal(drawn.count.sum(axis=1), 3_000)
    assert (drawn.hits <= drawn.count).all()


def test_same_seed_gives_the_same_draws_for_any_order_of_rows():
    found = over_confident(500)
    order = np.random.default_rng(5).permutation(500)
    mixed = Outcomes(found.confidence[order], found.correct[order])
    first, second = prepared(found).resamples, prepared(mixed).resamples
    for name in ("count", "hits", "confidence", "floor_hits"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    other = prepared(found, seed=1).resamples
    assert (first.hits != other.hits).any()


def test_gap_interval_does_not_vanish_when_every_row_came_true():
    found = Outcomes(np.full(5, 0.9), np.ones(5, dtype=bool))
    gap = estimates.direction(prepared(found), 0.95)
    # Wilson for 5 of 5: 1 - 3.8415 / 8.8415 = 0.5655 to 1
    assert (gap.gap, gap.low) == pytest.approx((-0.1, -0.1))
    assert gap.high == pytest.approx(0.9 - 0.565518, abs=1e-5)


def test_gap_interval_is_normal_for_many_rows():
    found = over_confident(5_000)
    gap = estimates.direction(prepared(found, 2_000), 0.95)
    error = np.std(found.confidence - found.correct) / np.sqrt(found.n)
    assert gap.low == pytest.approx(gap.gap - Z * error, abs=0.2 * error)
    assert gap.high == pytest.approx(gap.gap + Z * error, abs=0.2 * error)


def test_auroc_error_is_delongs():
    rng = np.random.default_rng(2)
    score = np.round(rng.random(80), 1)
    truth = rng.random(80) < score
    expected = slow_metrics.auroc_error(score.tolist(), truth.tolist())
    assert auroc_error(Ranked.of(Outcomes(score, truth))) == pytest.approx(expected, rel=1e-12)


def test_logit_interval_stays_inside_and_falls_back_at_the_ends():
    low, high = logit_interval(0.98, 0.02, 100, 0.95)
    half = Z * 0.02 / (0.98 * 0.02)
    assert np.log(high / (1 - high)) == pytest.approx(np.log(0.98 / 0.02) + half)
    assert np.log(low / (1 - low)) == pytest.approx(np.log(0.98 / 0.02) - half)
    assert logit_interval(1.0, 0.0, 10, 0.95) == pytest.approx((1 - 0.277532, 1.0), abs=1e-6)


def test_risk_interval_is_that_of_the_bootstrap_over_rows():
    found = over_confident(1_000)
    ranked = Ranked.of(found)
    score = estimates.risk(ranked, level=0.95, n_resamples=1_000, seed=0)
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(1_000):
        rows = rng.integers(0, found.n, found.n)
        draws.append(aurc(Ranked.of(Outcomes(found.confidence[rows], found.correct[rows]))))
    width = np.std(draws)
    assert (score.low, score.high) == pytest.approx(
        percentile(np.array(draws), 0.95), abs=0.3 * width
    )


@pytest.mark.parametrize(
    "metric",
    ["ece", "ece_em", "mce", "ks", pytest.param("smece", marks=pytest.mark.slow), "ece_debiased"],
)
def test_calibrated_rows_lie_within_their_noise_floor(metric):
    """95 of 100 calibrated samples should; with 40 samples, 33 or fewer have odds below 1 %."""
    within = 0
    for seed in range(40):
        score, floor = estimates.error_of(
            prepared(over_confident(300, seed, power=1.0), 100, seed), metric, n_bins=15, level=0.95
        )
        within += score.value <= floor.q95
        assert floor.mean <= floor.q95
    assert within >= stats.binom.ppf(0.005, 40, 0.95)


def true_errors(power):
    """Errors of `over_confident` itself, by summing over its density."""
    cells = np.linspace(0.5, 1.0, 200_001)
    density = (2 * cells - 1) ** 2
    density /= density.sum()
    gap = (cells - cells**power) * density
    width = binning.bin_index(cells, binning.equal_width_edges(15))
    mass = np.minimum((np.cumsum(density) * 15).astype(int), 14)
    return {
        "ece": np.abs(np.bincount(width, gap)).sum(),
        "ece_debiased": np.sqrt((np.bincount(mass, gap) ** 2 / np.bincount(mass, density)).sum()),
        "ks": np.abs(np.cumsum(gap)).max(),
        "gap": gap.sum(),
    }


@pytest.mark.parametrize(
    ("power", "n"),
    [
        (1.15, 500),
        *(
            pytest.param(*c, marks=pytest.mark.slow)
            for c in [(1.0, 500), (1.15, 2_000), (1.6, 500)]
        ),
    ],
)
def test_intervals_hold_the_truth(power, n):
    """Nominal 95 %, at least 80 % promised; 29 of 40 leaves room for chance at 80 %."""
    true = true_errors(power)
    held = dict.fromkeys(true, 0)
    for seed in range(40):
        ready = prepared(over_confident(n, seed, power), 150, seed)
        found = {
            metric: estimates.error_of(ready, metric, n_bins=15, level=0.95)[0]
            for metric in ("ece", "ece_debiased", "ks")
        }
        found["gap"] = estimates.direction(ready, 0.95)
        for metric, score in found.items():
            held[metric] += score.low <= true[metric] <= score.high
    assert min(held.values()) >= 29, held
    assert held["gap"] >= 34


def test_error_intervals_reach_as_far_as_the_gap_may():
    # no error of this kind is smaller than |gap|; ACE may be, and reaches down by its floor
    ready = prepared(over_confident(300, 3, power=1.15))
    gap = estimates.direction(ready, 0.95)
    for metric in ("ece", "ece_em", "rmsce", "mce", "ks", "smece", "ece_sweep", "ece_debiased"):
        score = estimates.error_of(ready, metric, n_bins=15, level=0.95)[0]
        assert score.high >= max(abs(gap.low), abs(gap.high)) - 1e-12
        assert "signed gap" in score.settings["interval"]
    score, floor = estimates.error_of(ready, "ace", n_bins=15, level=0.95)
    assert score.low <= max(0.0, score.value - floor.q95)
    assert "lowered by the noise floor" in score.settings["interval"]


def test_smece_of_resamples_is_that_of_their_rows():
    """The vectorised smECE of grouped rows against the exact one of the rows themselves."""
    found = over_confident(600)
    ready = prepared(found, 30)
    resamples = ready.resamples
    own = resamples.observed(resamples.cuts)
    where = own.confidence / own.count
    drawn = resamples.bootstrap(resamples.cuts)
    values = smece_draws(drawn.gap, where, found.n)
    for r in range(5):
        rows = np.repeat(where, drawn.count[r])
        right = np.concatenate(
            [
                np.arange(count) < hits
                for count, hits in zip(drawn.count[r], drawn.hits[r], strict=True)
            ]
        )
        assert values[r] == pytest.approx(smece(Ranked.of(Outcomes(rows, right))), abs=5e-4)


def test_equal_mass_interval_uses_equal_mass_bins():
    ready = prepared(over_confident(2_000))
    score = estimates.binned(ready, "ece_em", n_bins=10, level=0.9)[0]
    assert score.value == ece_em(ready.ranked, n_bins=10)
    assert score.settings["bins"] == "equal_mass"
    assert (score.settings["n_bins"], score.settings["resamples"], score.level) == (10, 400, 0.9)
    assert "basic" in score.settings["interval"]


def test_rank_intervals_follow_the_rarer_outcome():
    # 3 positives above 50 negatives: both ranks are 1; Wilson for 3 of 3: 1 - 3.8415 / 6.8415
    apart = Ranked.of(Outcomes(np.linspace(0, 1, 53), np.arange(53) >= 50))
    for score in estimates.discrimination(apart, 0.95, "label").values():
        assert (score.value, score.high) == (1.0, 1.0)
        assert score.low == pytest.approx(0.438503, abs=1e-6)
    # positives at ranks 1 and 3 from the top of 6: average precision (1 + 2/3) / 2 = 5/6
    mixed = Ranked.of(Outcomes(np.linspace(0.1, 0.6, 6), np.array([0, 0, 0, 1, 0, 1], dtype=bool)))
    score = estimates.discrimination(mixed, 0.95, "label")["auprc"]
    assert score.value == pytest.approx(5 / 6)
    half = Z / np.sqrt(2 * (5 / 6) * (1 / 6))
    assert np.log(score.high / (1 - score.high)) == pytest.approx(np.log(5) + half)
    assert np.log(score.low / (1 - score.low)) == pytest.approx(np.log(5) - half)


def test_classwise_interval_mirrors_the_bootstrap_over_rows():
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(size=(800, 3)) * 4, rng.integers(0, 3, 800)
    rows = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels)
    ready = suite.prepare(rows, None, n_resamples=500, seed=0)
    score, floor = estimates.classwise(ready, class_bins(rows), level=0.95)
    draws = []
    for _ in range(300):
        drawn = rng.integers(0, 800, 800)
        again = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits[drawn], labels[drawn])
        draws.append(class_bins(again).ece.mean())
    low, high = percentile(np.array(draws), 0.95)
    expected = (2 * score.value - high, max(score.value, 2 * score.value - low))
    assert (score.low, score.high) == pytest.approx(expected, abs=0.4 * np.std(draws))
    # labels are blind guesses here: far above what a calibrated model would show
    assert score.low > floor.q95 > floor.mean > 0
