"""Mean and weak calibration against statsmodels, the golden values, hand cases and degenerates."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t

from core.arrays import sigmoid
from core.metrics import clinical
from core.metrics.clinical.fit import citl, intercept, slope
from core.metrics.intervals import wilson
from core.metrics.ranked import SortedOutcomes
from core.predictions import Outcomes
from core.readers.sandbox import read as sandbox

SHARED = Path(os.environ.get("CANDOR_SHARED", Path(__file__).parents[3].parent / "shared"))


def logit(p):
    return np.log(p) - np.log1p(-p)


def drawn(seed=0, n=600, a=-0.4, b=0.7, decimals=8):
    rng = np.random.default_rng(seed)
    p = np.round(np.clip(rng.beta(0.5, 4.0, n), 1e-6, 1 - 1e-6), decimals)
    p = np.clip(p, 10.0**-decimals, 1 - 10.0**-decimals)
    return p, rng.random(n) < sigmoid(a + b * logit(p))


def bounds(score):
    return score.value, score.low, score.high


def in_the_large(p, y, level=0.95):
    """Intercept with offset of statsmodels: its Wald interval, or the one by residuals if wider."""
    model = sm.GLM(y * 1.0, np.ones(y.size), sm.families.Binomial(), offset=logit(p))
    own, robust = model.fit(tol=1e-13), model.fit(tol=1e-13, cov_type="HC0")
    student = t.ppf(0.5 + level / 2, min(y.sum(), (1 - y).sum()) - 1)
    errors = (
        norm.ppf(0.5 + level / 2) * own.bse[0],
        student * robust.bse[0] * (y.size / (y.size - 1)) ** 0.5,
    )
    return own.params[0], own.params[0] - max(errors), own.params[0] + max(errors)


@pytest.mark.parametrize("decimals", [2, 8])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_fits_and_their_wald_intervals_are_those_of_statsmodels(seed, decimals, level):
    p, y = drawn(seed, decimals=decimals)
    found = clinical.recalibration(p, y, level)
    joint = sm.Logit(y.astype(float), sm.add_constant(logit(p))).fit(disp=0, method="newton")
    ends = joint.conf_int(1 - level)
    assert bounds(found.intercept) == pytest.approx((joint.params[0], *ends[0]), abs=1e-6)
    assert bounds(found.slope) == pytest.approx((joint.params[1], *ends[1]), abs=1e-6)
    assert bounds(found.in_the_large) == pytest.approx(in_the_large(p, y * 1, level), abs=1e-6)


def test_the_intercept_with_offset_holds_the_truth_where_the_slope_is_off():
    """Wald intervals, whose spread is that of shares too extreme, do in 266 of 300."""
    rng, held = np.random.default_rng(0), 0
    x = np.random.default_rng(1).normal(-2.5, 2.5, 200_000)
    true, q = 0.0, sigmoid(0.5 * x)
    for _ in range(20):  # of the intercept at which expected and true events agree
        share = sigmoid(x + true)
        true += float((q - share).sum() / (share * (1 - share)).sum())
    for _ in range(300):
        at = rng.integers(0, x.size, 250)
        score = clinical.recalibration(sigmoid(x[at]), rng.random(250) < q[at]).in_the_large
        held += score.low <= true <= score.high
    assert held >= 277, held  # two standard deviations below 285


def test_both_intercepts_say_which_they_are():
    found = clinical.recalibration(*drawn())
    assert found.in_the_large.settings["fit"] == "offset logit(p), slope held at 1"
    assert "together" in found.intercept.settings["fit"]
    assert found.in_the_large.value != pytest.approx(found.intercept.value, abs=0.05)


def test_ratio_and_difference_are_wilson_around_the_stated_risk():
    p, y = np.array([0.2, 0.2, 0.4, 0.8]), np.array([True, False, False, True])
    found = clinical.recalibration(p, y)
    low, high = wilson(np.array(2), np.array(4), 0.95)
    assert bounds(found.observed_expected) == pytest.approx((0.5 / 0.4, low / 0.4, high / 0.4))
    assert bounds(found.difference) == pytest.approx((0.1, low - 0.4, high - 0.4))


def test_two_risks_have_a_slope_that_can_be_worked_out_by_hand():
    # 1 of 4 events where 0.2 is stated, 3 of 4 where 0.8 is: logit(3/4) / logit(0.8)
    p, y = np.repeat([0.2, 0.8], 4), np.array([1, 0, 0, 0, 1, 1, 1, 0], dtype=bool)
    found = clinical.recalibration(p, y)
    assert found.slope.value == pytest.approx(np.log(3) / np.log(4), abs=1e-12)
    assert found.intercept.value == pytest.approx(0.0, abs=1e-12)
    assert found.in_the_large.value == pytest.approx(0.0, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(a=st.floats(-3, 3), b=st.floats(0.2, 3), seed=st.integers(0, 20))
def test_moving_the_claims_moves_the_fits_exactly(a, b, seed):
    """p to sigmoid(a + b logit p): the slope is divided by b, the intercepts follow."""
    p, y = drawn(seed, n=200)
    p = np.clip(p, 0.01, 0.99)  # so that nothing moved is clipped
    moved = sigmoid(a + b * logit(p))
    first, second = clinical.recalibration(p, y), clinical.recalibration(moved, y)
    line = first.slope.value / b
    assert second.slope.value == pytest.approx(line, rel=1e-6)
    expected = first.intercept.value - a * line
    assert second.intercept.value == pytest.approx(expected, rel=1e-6, abs=1e-6)
    only_a = clinical.recalibration(sigmoid(a + logit(p)), y).in_the_large.value
    assert only_a == pytest.approx(first.in_the_large.value - a, rel=1e-6, abs=1e-6)


def test_calibrated_claims_have_slope_one_and_intercepts_zero():
    p, y = drawn(3, n=200_000, a=0.0, b=1.0)
    found = clinical.recalibration(p, y)
    assert found.slope.value == pytest.approx(1.0, abs=0.03)
    for score in (found.in_the_large, found.intercept):
        assert score.value == pytest.approx(0.0, abs=0.05)
    assert found.observed_expected.value == pytest.approx(1.0, abs=0.03)


SEPARATED = "separated: one stated risk splits events from non-events"
DEGENERATE = {
    "all events": ([0.2, 0.6, 0.9], [1, 1, 1], "only one outcome", "only one outcome"),
    "no events": ([0.2, 0.6, 0.9], [0, 0, 0], "only one outcome", "only one outcome"),
    "one risk": ([0.3, 0.3, 0.3], [1, 0, 0], "", "every row states the same risk"),
    "separated": ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], "", SEPARATED),
    "the other way round": ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0], "", SEPARATED),
    "separated but for a tie": ([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1], "", SEPARATED),
    "separated but for a billionth": (
        [1e-300, 1e-9, 0.5, 0.5, 0.500000001, 0.9999999999999999],
        [1, 1, 0, 0, 1, 0],
        "",
        "separated but for rows whose stated risks hardly differ",
    ),
    "two rows": ([0.2, 0.6], [0, 1], "", SEPARATED),
    "only 0 and 1": ([0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1], "", SEPARATED),
    "one after clipping": ([1.0, 1 - 1e-14, 1.0], [0, 1, 1], "", "every row states the same risk"),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_what_cannot_be_estimated_says_why(name):
    p, y, large, joint = DEGENERATE[name]
    found = clinical.recalibration(np.array(p, dtype=float), np.array(y, dtype=bool))
    for score, reason in (
        (found.in_the_large, large),
        (found.slope, joint),
        (found.intercept, joint),
    ):
        assert score.reason.startswith(reason)
        assert (score.value is None) == bool(reason)
    assert (found.n, found.events) == (len(y), sum(y))


def test_no_risk_stated_has_no_ratio():
    found = clinical.recalibration(np.zeros(3), np.array([True, False, False]))
    assert found.observed_expected.reason == "every stated risk is 0"


def test_exact_0_and_1_are_moved_and_counted():
    p, y = drawn(5)
    p[:3], y[:3] = [0.0, 1.0, 1.0], [True, True, False]
    found = clinical.recalibration(p, y)
    assert found.clipped == found.slope.settings["clipped"] == 3
    assert found.extreme == 3
    inside = np.clip(p, 1e-12, 1 - 1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        joint = sm.Logit(y.astype(float), sm.add_constant(logit(inside))).fit(disp=0)
    assert found.slope.value == pytest.approx(joint.params[1], abs=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_claims_far_off_are_fitted_too(scale):
    """Risks of one in a million for what is common, and nearly flat or steep ones."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=400)
    p = np.clip(sigmoid(-14 + scale * x), 1e-12, 1 - 1e-12)
    y = rng.random(400) < sigmoid(1 + x)
    found = clinical.recalibration(p, y)
    at, b = found.intercept.value, found.slope.value
    gradient = sigmoid(at + b * logit(p)) - y
    assert abs(gradient.sum()) < 1e-5
    assert abs(gradient @ logit(p)) < 1e-4 * np.abs(logit(p)).sum()
    large = found.in_the_large.value
    assert sigmoid(large + logit(p)).sum() == pytest.approx(y.sum(), abs=1e-6)


def test_metrics_of_the_registry_are_these_fits():
    p, y = drawn(6)
    found, ranked = clinical.recalibration(p, y), SortedOutcomes.of(Outcomes(p, y))
    assert citl(ranked) == found.in_the_large.value
    assert slope(ranked) == found.slope.value
    assert intercept(ranked) == found.intercept.value
    assert np.isnan(slope(SortedOutcomes.of(Outcomes(p, np.zeros_like(y)))))


@pytest.mark.nightly
def test_the_chest_predictions_are_fitted_like_statsmodels_finding_by_finding():
    folder = SHARED / "data" / "predictions"
    if not folder.exists():
        pytest.skip("needs the chest predictions of the shared folder (CANDOR_SHARED)")
    read = sandbox.read(
        folder / "chexnet_reproduction_preds.csv",
        labels=folder / "chexnet_reproduction_labels.txt",
    )
    (rows,) = read.splits.values()
    assert (rows.task, rows.n, rows.n_classes) == ("multilabel", 22_433, 14)
    codes = [notice.code for notice in read.notices]
    assert codes == ["DIALECT", "HEADER_GUESSED", "KEYS_GUESSED", "GROUPS_OFFERED"]
    for k in range(14):
        p, y = rows.column(k), rows.labels[:, k]
        found = clinical.recalibration(p, y == 1)
        joint = sm.Logit(y, sm.add_constant(logit(p))).fit(disp=0, method="newton", tol=1e-12)
        ends = joint.conf_int()
        assert bounds(found.intercept) == pytest.approx((joint.params[0], *ends[0]), abs=1e-6)
        assert bounds(found.slope) == pytest.approx((joint.params[1], *ends[1]), abs=1e-6)
        assert bounds(found.in_the_large) == pytest.approx(in_the_large(p, y), abs=1e-6)


def test_rows_within_a_millionth_of_the_ends_are_counted_and_stay_as_they_are():
    p, y = drawn(n=2000)
    p = np.clip(p, 1e-6, 1 - 1e-6)
    near = np.array([9e-7, 4e-13, 1e-12, 1 - 9e-7, 0.0])
    whole = np.concatenate([p, near]), np.concatenate([y, near < 0.5])
    assert clinical.recalibration(p, y).extreme == 0
    found = clinical.recalibration(*whole)
    assert (found.extreme, found.clipped) == (5, 2 - 1)
    assert found.slope.high < clinical.recalibration(p, y).slope.low  # five rows decide it
    assert found.swayed
    assert not clinical.recalibration(p, y).swayed


@pytest.mark.parametrize("seed", range(4))
def test_rows_next_to_the_ends_sway_a_slope_that_is_another_without_them(seed):
    rng = np.random.default_rng(seed)
    p, y = drawn(seed, n=1000)
    p = np.clip(p, 1e-6, 1 - 1e-6)
    seen = set()
    for n in range(1, 7):
        near = rng.choice([9.9e-7, 1e-8, 4e-13, 1 - 1e-8], n)
        with_them = np.append(p, near), np.append(y, rng.random(n) < 0.5)
        few, all_ = clinical.recalibration(p, y).slope, clinical.recalibration(*with_them)
        moved = abs(all_.slope.value - few.value)
        swayed = moved > 0.1 * (all_.slope.high - all_.slope.low)
        assert all_.swayed == swayed
        seen.add(swayed)
    fitting = clinical.recalibration(np.append(p, 1e-8), np.append(y, False))
    assert (fitting.extreme, fitting.swayed) == (1, False)
    assert True in seen


@pytest.mark.parametrize(
    ("p", "y", "swayed"),
    [
        ([1e-8, 1e-7, 1e-8, 1 - 1e-7], [0, 1, 1, 0], True),  # no row is left without them
        ([0.2, 0.7, 0.8, 1 - 1e-8], [0, 1, 1, 0], True),  # the rest is separated
        ([0.2, 0.3, 0.7, 1 - 1e-8], [0, 0, 1, 1], False),  # all are: there is no slope
    ],
)
def test_a_slope_that_there_is_with_them_only_is_swayed(p, y, swayed):
    found = clinical.recalibration(np.array(p), np.array(y, bool))
    assert (found.slope.value is None) == (not swayed)
    assert found.swayed == swayed
