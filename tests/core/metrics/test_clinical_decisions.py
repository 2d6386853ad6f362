"""Net benefit, rates at a threshold, bands, prior shift; Spiegelhalter, Hosmer-Lemeshow, golden."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, norm
from sklearn.metrics import brier_score_loss, confusion_matrix
from statsmodels.stats.proportion import proportion_confint

from core.errors import UsageError
from core.metrics import clinical, suite
from core.metrics.clinical.curve import curve_errors
from core.metrics.clinical.fit import brier_skill, spiegelhalter_z
from core.metrics.estimates import clinical_scores
from core.metrics.intervals import exact_interval
from core.metrics.ranked import SortedOutcomes
from core.metrics.units import design_effect
from core.predictions import Outcomes, Predictions, SamplingDesign, ScoreKind, Task

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))
BIN400 = np.load(Path(__file__).parent / "golden_inputs.npz")
RISKS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.3, 0.5, 1.0]) | st.floats(0, 1), st.booleans()),
    min_size=1,
    max_size=30,
)


def rows(seed=0, n=500, power=1.3):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.0, 3.0, n)
    return p, rng.random(n) < p**power


def ranked(p, y):
    return SortedOutcomes.of(Outcomes(np.asarray(p, dtype=np.float64), np.asarray(y, dtype=bool)))


def test_everything_the_golden_clinical_block_has():
    path = SHARED / "golden" / "golden.json"
    if not path.exists():
        pytest.skip("needs the golden values of the shared folder (CANDOR_SHARED)")
    (entry,) = (i for i in json.loads(path.read_text())["items"] if i["id"] == "clinical/bin400")
    golden = entry["value"]
    p, y = BIN400["bin400_p"], BIN400["bin400_y"] == 1
    fit, both = clinical.recalibration(p, y), ranked(p, y)
    z = spiegelhalter_z(both)
    test = clinical.hosmer_lemeshow(p, y)

    def error(score):
        return (score.high - score.low) / 2 / norm.ppf(0.975)

    found = {
        "slope": fit.slope.value,
        "intercept_with_slope": fit.intercept.value,
        "slope_se": error(fit.slope),
        "calibration_in_the_large_logit_offset": fit.in_the_large.value,
        "mean_y_minus_mean_p": fit.difference.value,
        "O_over_E": fit.observed_expected.value,
        "spiegelhalter_z": z,
        "spiegelhalter_p_two_sided": 2 * norm.sf(abs(z)),
        "hosmer_lemeshow_10_equalcount": test.statistic,
        "hl_p_df10_external_validation": test.p_value,
        "hl_p_df8": chi2.sf(test.statistic, 8),
        "brier": np.mean((p - y) ** 2),
        "brier_skill_vs_prevalence": brier_skill(both),
    }
    benefits = clinical.net_benefit(p, y, [float(t) for t in golden["net_benefit"]])
    for at, values in enumerate(golden["net_benefit"].values()):
        assert benefits.model[at] == pytest.approx(values["model"], rel=1e-7, abs=1e-12)
        assert benefits.treat_all[at] == pytest.approx(values["treat_all"], rel=1e-7, abs=1e-12)
    smooth = curve_errors(both)[0]
    for key, value in golden["lowess_frac2_3_it0"].items():
        assert smooth[key.lower()] == pytest.approx(value, rel=1e-7)
    others = {"net_benefit", "lowess_frac2_3_it0", "auroc", "average_precision", "citl_se"}
    assert error(fit.in_the_large) > golden["citl_se"]  # the slope is off: residuals spread more
    assert set(found) == set(golden) - others
    for key, value in found.items():
        assert value == pytest.approx(golden[key], rel=1e-7), key


# Net benefit ------------------------------------------------------------------------------------


def test_net_benefit_by_hand():
    p, y = np.array([0.1, 0.2, 0.2, 0.6]), np.array([False, True, False, True])
    found = clinical.net_benefit(p, y, [0.2, 0.5])
    # at 0.2 three are called, two rightly: 2/4 - 1/4 * 0.25; at 0.5 one, rightly
    np.testing.assert_allclose(found.model, [0.5 - 0.25 * 0.25, 0.25])
    np.testing.assert_allclose(found.treat_all, [0.5 - 0.5 * 0.25, 0.5 - 0.5])
    assert (found.n, found.events, found.level) == (4, 2, 0.95)


@settings(max_examples=40, deadline=None)
@given(pairs=RISKS, t=st.sampled_from([0.1, 0.3, 0.5]) | st.floats(0.01, 0.99))
def test_net_benefit_is_its_formula(pairs, t):
    p, y = map(np.array, zip(*pairs, strict=True))
    found = clinical.net_benefit(p, y, [t])
    called = p >= t
    odds = t / (1 - t)
    expected = (np.sum(called & y) - np.sum(called & ~y) * odds) / p.size
    assert found.model[0] == pytest.approx(expected, abs=1e-12)
    share = y.mean()
    assert found.treat_all[0] == pytest.approx(share - (1 - share) * odds, abs=1e-12)
    assert found.low[0] <= found.model[0] <= found.high[0]


def test_everyone_called_is_treat_all_and_no_one_called_is_nothing():
    y = rows()[1]
    every = clinical.net_benefit(np.ones(y.size), y, [0.1, 0.4])
    np.testing.assert_allclose(every.model, every.treat_all)
    none = clinical.net_benefit(np.zeros(y.size), y, [0.1, 0.4])
    assert not none.model.any()
    assert np.all(none.high > 0)  # no row was flagged; some may be elsewhere


THRESHOLDS = np.arange(1, 51) / 100


def useless(n, share, seed):
    """A score about the share of events that knows nothing of them."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(np.log(share / (1 - share)), 1.0, n)))
    return p, rng.random(n) < share


@pytest.mark.parametrize(("n", "share"), [(300, 0.1), (1_000, 0.1), (621, 0.05), (200, 0.3)])
def test_a_useless_score_is_hardly_ever_above_both(n, share):
    sets = [clinical.net_benefit(*useless(n, share, seed), THRESHOLDS) for seed in range(60)]
    assert sum(bool((net.gain_low > 0).any()) for net in sets) <= 3


def test_no_event_below_a_threshold_is_no_proof():
    """60 of 300 rows below 8 %, none with an event, though 8 in 100 would be no wonder."""
    p = np.repeat([0.05, 0.2], [60, 240])
    y = np.arange(300) >= 270
    net = clinical.net_benefit(p, y, THRESHOLDS)
    at = 7  # 8 %
    assert net.model[at] > max(net.treat_all[at], 0.0)
    assert net.gain_low[at] < 0
    sure = clinical.net_benefit(np.repeat(p, 30), np.repeat(y, 30), THRESHOLDS)
    assert sure.gain_low[at] > 0


def test_a_good_score_is_above_both_over_its_range():
    rng = np.random.default_rng(0)
    y = rng.random(2_000) < 0.2
    x = rng.normal(1.47 * y, 1.0)  # AUROC 0.85
    p = 1 / (1 + np.exp(-(np.log(0.25) + 1.47 * x - 1.47**2 / 2)))
    above = THRESHOLDS[clinical.net_benefit(p, y, THRESHOLDS).gain_low > 0]
    assert above[0] <= 0.07
    assert above[-1] >= 0.45
    assert above.size >= 39


def test_band_holds_the_whole_curve_of_calibrated_risks():
    at = np.arange(1, 100) / 100
    many = np.random.default_rng(99).beta(1.0, 3.0, 500_000)
    true = [np.mean(np.where(many >= t, many - (1 - many) * t / (1 - t), 0.0)) for t in at]
    inside = 0
    for seed in range(100):
        net = clinical.net_benefit(*rows(seed, power=1.0), at)
        inside += bool(np.all((net.low <= true) & (true <= net.high)))
    assert inside >= 92


def test_one_threshold_has_the_limits_of_two_shares_joined():
    p, y = rows(5, n=400)
    net = clinical.net_benefit(p, y, [0.25])
    called, w = p >= 0.25, 1 / 3
    wins, losses = int((called & y).sum()), int((called & ~y).sum())
    a, b = wins / 400, losses / 400
    a_low, a_high = proportion_confint(wins, 400, method="beta")
    b_low, b_high = proportion_confint(losses, 400, method="beta")
    r = -np.sqrt(a * b / ((1 - a) * (1 - b)))
    down, up = (a - a_low, w * (b_high - b)), (a_high - a, w * (b - b_low))
    ends = [np.sqrt(d**2 + e**2 - 2 * r * d * e) for d, e in (down, up)]
    assert net.low[0] == pytest.approx(net.model[0] - ends[0])
    assert net.high[0] == pytest.approx(net.model[0] + ends[1])


@pytest.mark.parametrize("k", [0, 1, 7, 50])
def test_clopper_and_pearson_agree_with_statsmodels(k):
    ends = proportion_confint(k, 50, alpha=0.01, method="beta")
    assert np.array(exact_interval(np.array(k), np.array(50), 0.99)) == pytest.approx(ends)


def test_rows_repeated_in_their_groups_narrow_nothing():
    p, y = rows(3)
    twice, groups = (p.repeat(2), y.repeat(2)), np.arange(p.size).repeat(2)
    once = clinical.net_benefit(p, y, THRESHOLDS)
    grouped = clinical.net_benefit(*twice, THRESHOLDS, sampling=SamplingDesign(groups))
    taken = clinical.net_benefit(*twice, THRESHOLDS)
    np.testing.assert_allclose(grouped.model, once.model)
    for end in ("low", "gain_low"):
        assert np.all(getattr(grouped, end) <= getattr(once, end) + 1e-12)
        assert np.all(getattr(grouped, end) < getattr(taken, end))
        np.testing.assert_allclose(getattr(grouped, end), getattr(once, end), atol=0.002)
    assert np.all(grouped.high >= once.high - 1e-12)
    alone = clinical.net_benefit(p, y, THRESHOLDS, sampling=SamplingDesign(np.arange(p.size)))
    np.testing.assert_allclose(alone.low, once.low)


def test_design_effect_is_the_variance_by_groups():
    rng = np.random.default_rng(0)
    groups = np.sort(rng.integers(0, 400, 2_000))
    hits = rng.random(2_000) < rng.beta(1, 3, 400)[groups]
    sets = [np.concatenate([np.flatnonzero(groups == g) for g in some]) for some in draws(rng)]
    ratio = np.var([hits[d].mean() for d in sets]) / (hits.var() / hits.size)
    assert design_effect(hits, SamplingDesign(groups)) == pytest.approx(ratio, rel=0.15)
    assert design_effect(hits, SamplingDesign(np.arange(2_000))) == pytest.approx(1.0)
    assert design_effect(hits, SamplingDesign()) == 1.0


def draws(rng):
    return rng.integers(0, 400, (600, 400))


def test_rows_that_do_not_differ_are_worth_their_groups():
    none = np.zeros(12, dtype=bool)
    assert design_effect(none, SamplingDesign(np.repeat([0, 1, 2], 4))) == 4.0
    assert design_effect(np.array([True, False]), SamplingDesign(np.array([5, 5]))) == 2.0
    assert design_effect(none[:0], SamplingDesign(np.array([], dtype=np.int64))) == 1.0


@pytest.mark.parametrize("thresholds", [[], [0.0, 0.5], [0.5, 1.0], [0.5, 0.2], [float("nan")]])
def test_thresholds_outside_0_and_1_or_out_of_order_are_refused(thresholds):
    with pytest.raises(UsageError, match="Thresholds must ascend"):
        clinical.net_benefit(*rows(), thresholds)


# Bands, thresholds, prevalence --------------------------------------------------------------------


def test_bands_hold_every_row_with_wilson_intervals():
    p = np.array([0.0, 0.1, 0.1000001, 0.25, 0.3, 1.0])
    y = np.array([False, True, False, True, False, True])
    found = clinical.bands(p, y)
    assert found.count.tolist() == [2, 1, 2, 0, 0, 0, 0, 0, 0, 1]
    assert found.events.tolist() == [1, 0, 1, 0, 0, 0, 0, 0, 0, 1]
    np.testing.assert_allclose(found.mean[[0, 2]], [0.05, 0.275])
    assert np.isnan(found.mean[3])
    assert np.isnan(found.share[3])
    low, high = proportion_confint(1, 2, method="wilson")
    assert (found.ci_low[0], found.ci_high[0]) == pytest.approx((low, high))
    assert (found.low[2], found.high[2]) == (0.2, 0.3)


def test_rates_at_a_threshold_agree_with_scikit_learn_and_wilson():
    p, y = rows(5)
    found = clinical.classified(p, y, 0.3)
    (tn, fp), (fn, tp) = confusion_matrix(y, p >= 0.3)
    assert (found.true_positive, found.false_positive) == (tp, fp)
    assert found.false_negative == fn
    for score, k, n in (
        (found.sensitivity, tp, tp + fn),
        (found.specificity, tn, tn + fp),
        (found.ppv, tp, tp + fp),
        (found.npv, tn, tn + fn),
    ):
        ends = proportion_confint(k, n, method="wilson")
        assert (score.value, score.low, score.high) == pytest.approx((k / n, *ends))


def test_bands_and_rates_divide_their_rows_by_the_design_effect():
    p, y = rows(5, n=300)
    groups = np.arange(300).repeat(3)
    once, often = (
        clinical.bands(p, y),
        clinical.bands(p.repeat(3), y.repeat(3), sampling=SamplingDesign(groups)),
    )
    held = once.count > 0
    assert np.all(often.ci_low[held] <= once.ci_low[held] + 1e-12)
    assert np.all(often.ci_high[held] >= once.ci_high[held] - 1e-12)
    np.testing.assert_allclose(often.ci_low[0], once.ci_low[0], atol=0.01)
    np.testing.assert_allclose(often.share, once.share)
    rates = clinical.classified(p, y, 0.3)
    grouped = clinical.classified(p.repeat(3), y.repeat(3), 0.3, sampling=SamplingDesign(groups))
    for name in ("sensitivity", "specificity", "ppv", "npv"):
        score, wide = getattr(rates, name), getattr(grouped, name)
        assert wide.value == pytest.approx(score.value)
        assert wide.n == 3 * score.n
        assert wide.settings["effective_n"] == pytest.approx(score.n, rel=0.03)
        assert wide.low <= score.low
        assert wide.high >= score.high
    elsewhere = [
        clinical.classified(*both, 0.3, prevalence=0.1, sampling=SamplingDesign(of)).ppv
        for both, of in (((p, y), None), ((p.repeat(3), y.repeat(3)), groups))
    ]
    assert elsewhere[1].low <= elsewhere[0].low


def test_a_risk_at_the_threshold_is_called():
    found = clinical.classified(np.array([0.3, 0.29]), np.array([True, False]), 0.3)
    assert (found.true_positive, found.false_positive) == (1, 0)


def test_predictive_values_at_the_same_prevalence_are_those_of_the_rows():
    p, y = rows(6)
    own = clinical.classified(p, y, 0.3)
    again = clinical.classified(p, y, 0.3, prevalence=float(y.mean()))
    assert again.ppv.value == pytest.approx(own.ppv.value)
    assert again.npv.value == pytest.approx(own.npv.value)
    assert again.ppv.low < own.ppv.value < again.ppv.high
    rare = clinical.classified(p, y, 0.3, prevalence=0.01)
    sensitivity, specificity = rare.sensitivity.value, rare.specificity.value
    right, wrong = sensitivity * 0.01, (1 - specificity) * 0.99
    assert rare.ppv.value == pytest.approx(right / (right + wrong))
    kept, missed = specificity * 0.99, (1 - sensitivity) * 0.01
    assert rare.npv.value == pytest.approx(kept / (kept + missed))


def test_predictive_values_elsewhere_span_the_corners_of_both_intervals():
    p, y = rows(6)
    (tn, fp), (fn, tp) = confusion_matrix(y, p >= 0.3)
    corner = {"alpha": 1 - np.sqrt(0.95), "method": "wilson"}
    sensitivity = proportion_confint(tp, tp + fn, **corner)
    specificity = proportion_confint(tn, tn + fp, **corner)
    found = clinical.classified(p, y, 0.3, prevalence=0.1)
    ppv = [
        a * 0.1 / (a * 0.1 + (1 - b) * 0.9) for a, b in zip(sensitivity, specificity, strict=True)
    ]
    npv = [
        b * 0.9 / (b * 0.9 + (1 - a) * 0.1) for a, b in zip(sensitivity, specificity, strict=True)
    ]
    assert (found.ppv.low, found.ppv.high) == pytest.approx(tuple(ppv))
    assert (found.npv.low, found.npv.high) == pytest.approx(tuple(npv))


@pytest.mark.parametrize(("threshold", "named"), [(0.0, "npv"), (1.0, "ppv")])
def test_values_without_rows_say_why(threshold, named):
    p, y = np.array([0.2, 0.4]), np.array([True, False])
    score = getattr(clinical.classified(p, y, threshold), named)
    assert score.value is None
    assert score.reason.startswith("no row is called")
    other = getattr(clinical.classified(p, y, threshold, prevalence=0.3), named)
    assert other.reason == "no row is called so"


def test_one_outcome_has_no_specificity_and_no_values_elsewhere():
    found = clinical.classified(np.array([0.2, 0.8]), np.array([True, True]), 0.5, prevalence=0.1)
    assert found.specificity.reason == "every row has an event"
    assert found.ppv.reason == found.npv.reason == "only one outcome is present"


@settings(max_examples=30, deadline=None)
@given(p=st.floats(0, 1), a=st.floats(0.01, 0.99), b=st.floats(0.01, 0.99))
def test_a_shift_multiplies_the_odds_and_can_be_undone(p, a, b):
    one = np.array([p, 0.0, 1.0])
    moved = clinical.shifted(one, a, b)
    assert moved[1:].tolist() == [0.0, 1.0]
    assert np.all((moved >= 0) & (moved <= 1))
    np.testing.assert_allclose(clinical.shifted(moved, b, a), one, atol=1e-9)
    np.testing.assert_allclose(clinical.shifted(one, a, a), one, atol=1e-12)


def test_a_shift_is_right_when_only_the_prevalence_differs():
    """Bayes with two known densities: risks at 30 in 100, moved to 3 in 100."""
    x = np.linspace(-2, 4, 50)
    ill, well = norm.pdf(x, 1.5), norm.pdf(x)
    at = {q: q * ill / (q * ill + (1 - q) * well) for q in (0.3, 0.03)}
    np.testing.assert_allclose(clinical.shifted(at[0.3], 0.3, 0.03), at[0.03])


@pytest.mark.parametrize("prevalence", [0.0, 1.0, -0.1, float("nan")])
def test_a_prevalence_is_a_share(prevalence):
    with pytest.raises(UsageError, match="Prevalence is"):
        clinical.shifted(np.array([0.5]), 0.5, prevalence)
    with pytest.raises(UsageError, match="Prevalence is"):
        clinical.classified(*rows(), 0.5, prevalence=prevalence)


# Tests and scores -------------------------------------------------------------------------------


def test_spiegelhalter_of_calibrated_rows_is_standard_normal():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, (2_000, 300))
    z = np.array([spiegelhalter_z(ranked(one, rng.random(300) < one)) for one in p])
    assert abs(z.mean()) < 0.08
    assert z.std() == pytest.approx(1.0, abs=0.05)
    assert np.mean(np.abs(z) > norm.ppf(0.975)) == pytest.approx(0.05, abs=0.015)


def test_spiegelhalter_is_undefined_where_nothing_can_vary():
    for p in (0.0, 0.5, 1.0):
        assert np.isnan(spiegelhalter_z(ranked(np.full(4, p), np.arange(4) < 2)))


def test_brier_skill_is_against_the_share_of_events():
    p, y = rows(8)
    reference = brier_score_loss(y, np.full(y.size, y.mean()))
    assert brier_skill(ranked(p, y)) == pytest.approx(1 - brier_score_loss(y, p) / reference)
    assert brier_skill(ranked(np.full(y.size, y.mean()), y)) == pytest.approx(0.0, abs=1e-12)
    assert brier_skill(ranked(y.astype(float), y)) == 1.0
    assert np.isnan(brier_skill(ranked(p, np.ones_like(y))))


def test_skill_of_few_events_has_a_wider_interval_or_none():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 99, 1_000)

    def skill(events):
        y = np.arange(1_000) < events
        found = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y.astype(np.int64))
        ready = suite.prepare(found, 1, n_resamples=20, seed=0)
        return clinical_scores(ready, level=0.95)["brier_skill"]

    few = skill(9)
    assert few.value is not None
    assert (few.low, few.high) == (None, None)
    assert few.reason.startswith("only 9 of the rarer outcome")
    # 1 - B / V with the sums of squares written out, by the jackknife's spread of its influence
    y = np.arange(1_000) < 10
    squares = (p - y) ** 2
    without = [
        1 - (squares.sum() - squares[i]) / 999 / (v * (1 - v))
        for i, v in ((i, (10 - y[i]) / 999) for i in range(1_000))
    ]
    error = np.sqrt(999 / 1_000 * ((without - np.mean(without)) ** 2).sum())
    enough = skill(10)
    # Student's quantile with 9 degrees of freedom is 2.262
    assert enough.high - enough.value == pytest.approx(2.262 * error, rel=0.12)


def test_interval_of_the_skill_is_that_of_the_bootstrap():
    p, y = rows(9, n=2_000)
    rng = np.random.default_rng(0)
    drawn = (rng.integers(0, p.size, p.size) for _ in range(1_500))
    low, high = np.quantile([brier_skill(ranked(p[d], y[d])) for d in drawn], [0.025, 0.975])
    binary = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y.astype(np.int64))
    ready = suite.prepare(binary, 1, n_resamples=20, seed=0)
    score = clinical_scores(ready, level=0.95)["brier_skill"]
    assert (score.low, score.high) == pytest.approx((low, high), abs=0.006)


def test_hosmer_lemeshow_by_hand_and_with_ties():
    # two groups of two: 0.5 and 1.5 expected, 1 and 1 found
    p, y = np.array([0.2, 0.3, 0.7, 0.8]), np.array([True, False, False, True])
    found = clinical.hosmer_lemeshow(p, y, groups=2)
    statistic = 0.5**2 / (0.5 * 0.75) + 0.5**2 / (1.5 * 0.25)
    assert (found.statistic, found.df) == (pytest.approx(statistic), 2)
    assert found.p_value == pytest.approx(chi2.sf(statistic, 2))
    tied = clinical.hosmer_lemeshow(np.full(20, 0.4), np.arange(20) < 8)
    assert (tied.groups, tied.df, tied.statistic) == (1, 1, pytest.approx(0.0))
    wrong = clinical.hosmer_lemeshow(np.array([0.0, 0.5]), np.array([True, False]), groups=2)
    assert (wrong.statistic, wrong.p_value) == (np.inf, 0.0)
    right = clinical.hosmer_lemeshow(np.array([0.0, 1.0]), np.array([False, True]), groups=2)
    assert right.statistic == 0.0


def test_no_order_of_rows_matters():
    p, y = rows(10)
    p = np.round(p, 1)
    order = np.random.default_rng(0).permutation(p.size)
    assert clinical.hosmer_lemeshow(p, y) == clinical.hosmer_lemeshow(p[order], y[order])
    assert spiegelhalter_z(ranked(p, y)) == spiegelhalter_z(ranked(p[order], y[order]))
    first, second = (clinical.net_benefit(p[o], y[o], [0.2, 0.4]) for o in (slice(None), order))
    np.testing.assert_array_equal(first.low, second.low)
