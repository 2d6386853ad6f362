"""Intervals, resamples and the noise floor."""

import numpy as np
import pytest
from scipy import stats

from core.configs import BinRule
from core.metrics import binning, estimates, suite
from core.metrics.classwise import class_bins, redrawn_ece
from core.metrics.intervals import (
    basic,
    logit_interval,
    mean_interval,
    newcombe,
    percentile,
    precision_interval,
    wilson,
)
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import aurc, auroc_error
from core.metrics.resampling import Resamples
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
    # deviations of the draws from 0.19 run from -0.09 + 2.5 % to 0.01 - 2.5 %
    low, high = basic(0.22, draws, 0.95, centre=0.19, floor=0.005)
    assert low == pytest.approx(0.22 - 0.0075)
    assert high == pytest.approx(0.22 - (0.1025 - 0.19))
    # the floor lowers it; half the width of the draws, 0.0475, is the least above the value
    low, high = basic(0.12, draws, 0.95, centre=0.11, floor=0.10)
    assert (low, high) == pytest.approx((0.02, 0.12 + 0.0475))
    # within the floor the true error may be 0
    assert basic(0.12, draws, 0.95, centre=0.11, floor=0.12)[0] == 0.0
    assert basic(0.9, draws + 0.5, 0.95, centre=0.0, floor=0.0)[1] == pytest.approx(0.9475)
    assert basic(0.98, draws, 0.95, centre=0.3, floor=0.0)[1] == 1.0


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_of_errors_hold_the_value_and_grow_with_the_level(level):
    ready = prepared(over_confident(400, 2))
    for metric in ("ece", "rmsce", "ece_debiased", "ks", "smece"):
        score = estimates.error_of(ready, metric, n_bins=15, level=level)[0]
        wider = estimates.error_of(ready, metric, n_bins=15, level=level + 0.009)[0]
        assert wider.low <= score.low <= score.value <= score.high <= wider.high


@pytest.mark.parametrize("metric", ["smce", "pgap"])
def test_errors_that_search_every_resample_have_few_of_them(monkeypatch, metric):
    monkeypatch.setattr("core.defaults.N_RESAMPLES_HEAVY", 20)
    for n_resamples, rounds in ((10, 10), (30, 20)):
        ready = prepared(over_confident(100), n_resamples)
        score, _ = estimates.error_of(ready, metric, n_bins=15, level=0.95)
        assert score.settings["resamples"] == rounds


def test_the_level_says_how_often_calibrated_rows_begin_at_0():
    """Of 60 samples within three standard deviations of a binomial count."""
    ready = [prepared(over_confident(300, seed, power=1.0), 100, seed) for seed in range(60)]
    for level in (0.5, 0.8):
        scores = [estimates.error_of(one, "ece", n_bins=15, level=level)[0] for one in ready]
        began = sum(score.low == 0.0 for score in scores)
        assert abs(began - 60 * level) <= 3 * (60 * level * (1 - level)) ** 0.5


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


@pytest.mark.nightly
def test_resampled_ece_has_the_percentiles_of_the_bootstrap_over_rows():
    found = over_confident(10_000)
    resamples = Resamples.of(SortedOutcomes.of(found), 4_000, 0)
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
    floor = estimates.error_of(prepared(found, 2_000), "ece", n_bins=15, level=0.95)[1]
    rng = np.random.default_rng(1)
    redrawn = [
        ece(SortedOutcomes.of(Outcomes(found.confidence, rng.random(found.n) < found.confidence)))
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
    floor = estimates.error_of(prepared(found, 1_000), "ece", n_bins=15, level=0.95)[1]
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


def test_gap_interval_is_wilsons_with_the_trials_that_give_the_variance_of_the_gap():
    # all confidences alike: the gap varies as the share does, so the trials are the rows
    found = Outcomes(np.full(200, 0.99), np.arange(200) >= 3)
    gap = estimates.direction(prepared(found, 20_000), 0.95)
    low, high = wilson(np.array(197), np.array(200), 0.95)
    # 20,000 draws give the variance to 1 %, and with it the upper end to 1.4e-4
    assert gap.low == pytest.approx(0.99 - high, abs=4e-4)
    assert gap.high == pytest.approx(0.99 - low, abs=4e-4)


def test_gap_interval_of_few_failures_leans_to_the_side_where_more_may_fail():
    rng = np.random.default_rng(0)
    confidence = 1 / (1 + np.exp(-np.abs(rng.normal(7.3, 4.0, 500))))
    found = Outcomes(confidence, rng.random(500) < confidence)
    gap = estimates.direction(prepared(found, 2_000), 0.95)
    assert gap.high - gap.gap > 1.1 * (gap.gap - gap.low)


def test_gap_interval_falls_back_on_the_rows_where_resamples_do_not_differ():
    sure = Outcomes(np.array([0.0] * 5 + [1.0] * 5), np.arange(10) >= 5)
    gap = estimates.direction(prepared(sure), 0.95)
    low, high = wilson(np.array(5), np.array(10), 0.95)
    assert (gap.low, gap.gap, gap.high) == pytest.approx((0.5 - high, 0.0, 0.5 - low))


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
    assert auroc_error(SortedOutcomes.of(Outcomes(score, truth))) == pytest.approx(
        expected, rel=1e-12
    )


def test_logit_interval_stays_inside_and_falls_back_at_the_ends():
    low, high = logit_interval(0.98, 0.02, 100, 0.95)
    half = Z * 0.02 / (0.98 * 0.02)
    assert np.log(high / (1 - high)) == pytest.approx(np.log(0.98 / 0.02) + half)
    assert np.log(low / (1 - low)) == pytest.approx(np.log(0.98 / 0.02) - half)
    assert logit_interval(1.0, 0.0, 10, 0.95) == pytest.approx((1 - 0.277532, 1.0), abs=1e-6)


def test_risk_interval_is_that_of_the_bootstrap_over_rows():
    found = over_confident(1_000)
    ranked = SortedOutcomes.of(found)
    score = estimates.risk(ranked, level=0.95, n_resamples=1_000, seed=0)
    rng = np.random.default_rng(1)
    draws = []
    for _ in range(1_000):
        rows = rng.integers(0, found.n, found.n)
        draws.append(aurc(SortedOutcomes.of(Outcomes(found.confidence[rows], found.correct[rows]))))
    width = np.std(draws)
    assert (score.low, score.high) == pytest.approx(
        percentile(np.array(draws), 0.95), abs=0.3 * width
    )


@pytest.mark.parametrize(
    "metric",
    [
        "ece",
        "ece_em",
        "mce",
        "ks",
        pytest.param("smece", marks=pytest.mark.nightly),
        "ece_debiased",
        "ece_debiased_l1",
        "ece_sweep_ew",
    ],
)
def test_calibrated_rows_lie_within_their_noise_floor(metric):
    """The 95th of 100 draws is reached by 6 of 101; of 40 samples, odds below 1 % for 32 within."""
    within = 0
    for seed in range(40):
        score, floor = estimates.error_of(
            prepared(over_confident(300, seed, power=1.0), 100, seed), metric, n_bins=15, level=0.95
        )
        within += score.value <= floor.q95
        assert floor.mean <= floor.q95
    assert within >= stats.binom.ppf(0.005, 40, 95 / 101)


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
        "ece_debiased_l1": np.abs(np.bincount(mass, gap)).sum(),
        "ks": np.abs(np.cumsum(gap)).max(),
        "gap": gap.sum(),
    }


@pytest.mark.parametrize(
    ("power", "n"),
    [
        (1.15, 500),
        *(
            pytest.param(*c, marks=pytest.mark.nightly)
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
            for metric in ("ece", "ece_debiased", "ece_debiased_l1", "ks")
        }
        found["gap"] = estimates.direction(ready, 0.95)
        for metric, score in found.items():
            held[metric] += score.low <= true[metric] <= score.high
    assert min(held.values()) >= 29, held
    assert held["gap"] >= 34


def test_error_intervals_reach_as_far_as_the_gap_may():
    # no error of this kind is smaller than |gap|; ACE may be
    ready = prepared(over_confident(300, 3, power=1.15))
    gap = estimates.direction(ready, 0.95)
    debiased, sweeps = ("ece_debiased", "ece_debiased_l1"), ("ece_sweep", "ece_sweep_ew")
    for metric in ("ece", "ece_em", "rmsce", "ks", "smece", *debiased, *sweeps):
        score, floor = estimates.error_of(ready, metric, n_bins=15, level=0.95)
        assert score.high >= max(abs(gap.low), abs(gap.high)) - 1e-12
        assert score.low <= max(0.0, score.value - floor.q95)
        assert "signed gap" in score.settings["interval"]


@pytest.mark.parametrize("metric", ["mce", "ace"])
def test_errors_that_ignore_the_size_of_bins_have_no_interval_where_one_is_small(metric):
    rng = np.random.default_rng(0)
    confidence = np.append(np.tile([0.3, 0.7], 200), [0.5, 0.5, 0.5])
    rows = Outcomes(confidence, rng.random(403) < confidence)
    score, floor = estimates.error_of(prepared(rows), metric, n_bins=5, level=0.95)
    assert score.value is not None
    assert floor.q95 > 0
    assert (score.low, score.high) == (None, None)
    assert "interval" not in score.settings
    assert score.reason.startswith("a bin of 3 rows can decide it")
    # 200 rows at 0.3 and at 0.7 lead to expect 60 of the rarer outcome
    rows = Outcomes(confidence[:400], rows.correct[:400])
    score = estimates.error_of(prepared(rows), metric, n_bins=5, level=0.95)[0]
    assert score.low <= score.value <= score.high
    assert score.reason == ""


def test_a_bin_without_doubt_is_too_small_however_many_rows_it_has():
    # 100 rows at 0.99: one of them is expected to fail
    rows = Outcomes(np.append(np.full(100, 0.99), np.full(100, 0.5)), np.arange(200) != 3)
    score = estimates.error_of(prepared(rows), "mce", n_bins=5, level=0.95)[0]
    assert score.reason.startswith("a bin of 100 rows")


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
        assert values[r] == pytest.approx(smece(SortedOutcomes.of(Outcomes(rows, right))), abs=5e-4)


def test_smece_of_resamples_ends_where_halving_does():
    """Each resample alone, its bandwidth halved twelve times, against all of them at once."""
    rng = np.random.default_rng(8)
    claims = np.sort(rng.random(40))
    count = rng.poisson(6, (100, 40))
    gaps = count * claims - rng.binomial(count, np.sin(20 * claims) ** 2)  # of either sign
    gaps[0] = 0.0
    modes, points = np.arange(256), np.linspace(0, 1, 257)

    def error(gap, bandwidth):
        terms = np.cos(np.pi * np.outer(modes, claims)) @ gap / 240
        terms *= np.where(modes, 2, 1) * np.exp(-0.5 * (np.pi * modes * bandwidth) ** 2)
        return np.trapezoid(np.abs(terms @ np.cos(np.pi * np.outer(modes, points))), points)

    for gap, value in zip(gaps, smece_draws(gaps, claims, 240), strict=True):
        low, high = 0.0, 1.0
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if middle < error(gap, middle) else (low, middle)
        assert value == pytest.approx(error(gap, high), abs=1e-9)


def test_equal_mass_interval_uses_equal_mass_bins():
    ready = prepared(over_confident(2_000))
    score = estimates.error_of(ready, "ece_em", n_bins=10, level=0.9)[0]
    assert score.value == ece_em(ready.ranked, n_bins=10)
    assert score.settings["bins"] == "equal_mass"
    assert (score.settings["n_bins"], score.settings["resamples"], score.level) == (10, 400, 0.9)
    assert "basic" in score.settings["interval"]


def test_newcombe_bounds_are_where_hanley_and_mcneils_variance_just_rejects():
    for area, positives, negatives in ((0.8, 5, 20), (0.95, 20, 500), (0.6, 10, 10)):
        mean = (positives + negatives) / 2
        for bound in newcombe(area, positives, negatives, 0.95):
            # the variance as it is printed: Q1 = A / (2 - A), Q2 = 2 A^2 / (1 + A)
            q1, q2 = bound / (2 - bound), 2 * bound**2 / (1 + bound)
            spread = (mean - 1) * (q1 - bound**2) + (mean - 1) * (q2 - bound**2)
            variance = (bound * (1 - bound) + spread) / (positives * negatives)
            assert abs(area - bound) == pytest.approx(Z * variance**0.5, rel=1e-6)


def test_newcombe_mirrors_and_is_open_where_nothing_is_out_of_order():
    low, high = newcombe(0.8, 7, 30, 0.95)
    mirrored = newcombe(0.2, 7, 30, 0.95)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high))
    low, high = newcombe(1.0, 3, 50, 0.95)
    assert high == 1.0
    assert 0.3 < low < 0.7
    assert newcombe(1.0, 3, 50, 0.99)[0] < low


def test_auroc_of_few_positives_is_as_wide_as_newcombes_interval():
    rng = np.random.default_rng(0)
    score = np.append(rng.random(5) * 0.05 + 0.9, rng.random(500))
    few = SortedOutcomes.of(Outcomes(score, np.arange(505) < 5))
    found = estimates.discrimination(few, 0.95, "label")["auroc"]
    low, high = newcombe(found.value, 5, 500, 0.95)
    assert found.low <= low < found.value < high <= found.high
    assert "Newcombe" in found.settings["interval"]


def test_rank_intervals_follow_the_rarer_outcome():
    # 3 positives above 50 negatives: both ranks are 1; the exact end of 3 of 3: 0.025 = low^3
    apart = SortedOutcomes.of(Outcomes(np.linspace(0, 1, 53), np.arange(53) >= 50))
    scores = estimates.discrimination(apart, 0.95, "label")
    assert all((score.value, score.high) == (1.0, 1.0) for score in scores.values())
    assert scores["auprc"].low == pytest.approx(0.025 ** (1 / 3))
    assert scores["auroc"].low == pytest.approx(newcombe(1.0, 3, 50, 0.95)[0])
    # positives at ranks 1 and 3 from the top of 6: average precision (1 + 2/3) / 2 = 5/6
    mixed = SortedOutcomes.of(
        Outcomes(np.linspace(0.1, 0.6, 6), np.array([0, 0, 0, 1, 0, 1], dtype=bool))
    )
    score = estimates.discrimination(mixed, 0.95, "label")["auprc"]
    assert score.value == pytest.approx(5 / 6)
    # a third of a positive lies on the rarer side: Wilson for 5/3 of 2, z^2 = 3.841459
    root = np.sqrt(3.841459 * (2 * 5 / 36 + 3.841459 / 4))
    assert score.high == pytest.approx((2 * 5 / 6 + 3.841459 / 2 + root) / (2 + 3.841459), abs=1e-6)
    assert score.low == pytest.approx(stats.beta.ppf(0.025, 5 / 3, 1 / 3 + 1))
    # positives at ranks 2, 4, ... 20 of 20: half of them; normal on the logit scale
    half = SortedOutcomes.of(Outcomes(np.linspace(0.05, 0.95, 20), np.arange(20) % 2 == 0))
    score = estimates.discrimination(half, 0.95, "label")["auprc"]
    assert score.value == pytest.approx(0.5)
    reach = Z / np.sqrt(10 * 0.25)
    assert np.log(score.high / (1 - score.high)) == pytest.approx(reach)
    # few positives: no higher than the exact end for 5 of 10, which lies below expit(-reach)
    assert score.low == pytest.approx(stats.beta.ppf(0.025, 5, 6))
    assert score.low < 1 / (1 + np.exp(reach))


@pytest.mark.parametrize("n", [50, 200, 5_000])
def test_the_interval_of_a_precision_does_not_run_away_at_its_ends(n):
    whole = precision_interval(1.0, n, 0.95)
    for missed in (1e-9, 1e-3, 0.1, 0.99):
        low, high = precision_interval(1.0 - missed / n, n, 0.95)
        assert whole[0] - 2.0 / n < low < 1.0 - missed / n < high <= 1.0
        low, high = precision_interval(missed / n, n, 0.95)
        assert 0.0 <= low < missed / n < high < 1.0 - whole[0] + 2.0 / n
    low, _ = precision_interval(1.0 - 1.01 / n, n, 0.95)
    assert low > whole[0] - 4.0 / n


@pytest.mark.parametrize("value", [0.1, 0.5, 0.9])
def test_a_precision_of_few_positives_begins_where_a_count_does(value):
    low, _ = precision_interval(value, 5, 0.95)
    assert low == pytest.approx(stats.beta.ppf(0.025, 5 * value, 5 * (1 - value) + 1))


def guesses(n, k, seed=0):
    rng = np.random.default_rng(seed)
    logits, labels = rng.normal(size=(n, k)) * 4, rng.integers(0, k, n)
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels)


def test_classwise_interval_mirrors_the_bootstrap_over_rows():
    rows = guesses(800, 3)
    rng = np.random.default_rng(1)
    ready = suite.prepare(rows, None, n_resamples=500, seed=0)
    score, floor = estimates.classwise(ready, rows, n_bins=15, level=0.95)
    draws = []
    for _ in range(300):
        drawn = rng.integers(0, 800, 800)
        again = Predictions(
            Task.MULTICLASS, ScoreKind.LOGITS, rows.scores[drawn], rows.labels[drawn]
        )
        draws.append(class_bins(again).ece.mean())
    low, high = percentile(np.array(draws), 0.95)
    half, spread = (high - low) / 2, np.std(draws)
    expected = min(2 * score.value - high, score.value - floor.q95)
    assert score.low == pytest.approx(expected, abs=0.4 * spread)
    assert score.high == pytest.approx(
        max(score.value + half, 2 * score.value - low), abs=0.4 * spread
    )
    # labels are blind guesses here: far above what a calibrated model would show
    assert score.low > floor.q95 > floor.mean > 0


def test_classwise_floor_redraws_the_classes_of_a_row_together():
    # of two classes one gap is minus the other: the floor is that of one class alone
    rng = np.random.default_rng(0)
    p = rng.random(300)
    rows = Predictions(
        Task.MULTICLASS,
        ScoreKind.PROBABILITIES,
        np.column_stack([1 - p, p]),
        (rng.random(300) < p).astype(int),
    )
    ready = suite.prepare(rows, None, n_resamples=1_000, seed=0)
    floor = estimates.classwise(ready, rows, n_bins=15, level=0.95)[1]
    single = suite.prepare(rows, 1, n_resamples=1_000, seed=0)
    alone = estimates.error_of(single, "ece", n_bins=15, level=0.95)[1]
    assert floor.mean == pytest.approx(alone.mean, rel=0.04)
    assert floor.q95 == pytest.approx(alone.q95, rel=0.06)


@pytest.mark.nightly
def test_classwise_redraws_every_class_as_often_as_it_is_stated():
    rows = guesses(60, 4)
    bins = class_bins(rows).bins
    drawn = redrawn_ece(rows, bins, 2_000, np.random.default_rng(0))
    rng, p = np.random.default_rng(1), rows.probabilities(slice(None))
    slow = []
    for _ in range(2_000):
        labels = np.array([rng.choice(4, p=row) for row in p])
        slow.append(class_bins(Predictions(rows.task, rows.kind, rows.scores, labels)).ece.mean())
    assert drawn.mean() == pytest.approx(np.mean(slow), rel=0.02)
    assert drawn.std() == pytest.approx(np.std(slow), rel=0.08)


def test_classwise_interval_is_the_same_for_the_same_seed_and_holds_the_value():
    rows = guesses(150, 40, 3)
    ready = [suite.prepare(rows, None, n_resamples=50, seed=seed) for seed in (0, 0, 1)]
    first, again, other = (estimates.classwise(one, rows, n_bins=15, level=0.95) for one in ready)
    assert first == again
    assert first[1] != other[1]
    assert first[0].low <= first[0].value <= first[0].high


def test_classwise_draws_fewer_resamples_of_many_rows():
    rows = guesses(2_500, 3)
    ready = suite.prepare(rows, None, n_resamples=1_000, seed=0)
    assert estimates.classwise(ready, rows, n_bins=15, level=0.95)[0].settings["resamples"] == 200
