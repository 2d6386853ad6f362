"""Telling two sets apart: golden values, hand cases, a second implementation, scikit-learn."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from core.errors import Refused
from core.metrics.intervals import logit_interval, quantile, student
from core.ood import intervals, separation
from core.ood.intervals import ScoreCounts, auroc_difference, auroc_score, false_positives, numbers
from core.ood.scores import ood_scores
from core.ood.separation import (
    NUMBERS,
    Separation,
    auroc,
    auroc_error,
    cells,
    counts_of,
    thresholds_at,
)
from core.predictions import Predictions, SamplingDesign, ScoreKind, Task
from tests.reference import slow_ood

HERE = Path(__file__).parent
GOLDEN = json.loads((HERE / "golden_ood.json").read_text())
INPUTS = np.load(HERE / "golden_inputs.npz")


def both(inside, outside):
    return Separation.of(
        np.asarray(inside, dtype=np.float64), np.asarray(outside, dtype=np.float64)
    )


def golden(key):
    rows = (
        Predictions(Task.MULTICLASS, ScoreKind.LOGITS, z, np.full(len(z), -1), labelled=False)
        for z in (INPUTS["in_logits"], INPUTS["ood_logits"])
    )
    return both(*(ood_scores(one, key) for one in rows))


def sklearn_numbers(inside, outside):
    """What scikit-learn says, with out-of-distribution positive and the other way round."""
    truth = np.r_[np.zeros(len(inside)), np.ones(len(outside))]
    scores = np.r_[inside, outside]

    def at_95(positive, score):
        alarms, found, _ = roc_curve(positive, score, drop_intermediate=False)
        return alarms[np.argmax(found >= 0.95 - 1e-12)]

    return {
        "auroc": roc_auc_score(truth, scores),
        "aupr_out": average_precision_score(truth, scores),
        "aupr_in": average_precision_score(1 - truth, -scores),
        "fpr95": at_95(truth, scores),
        "fpr95_in": at_95(1 - truth, -scores),
    }


def test_golden_values_with_either_side_positive():
    found = golden("entropy")
    for ours, theirs in (
        ("auroc", "auroc_entropy"),
        ("aupr_out", "aupr_ood_positive"),
        ("aupr_in", "aupr_id_positive"),
        ("fpr95", "fpr_at_95tpr_ood_positive"),
        ("fpr95_in", "fpr_at_95tpr_id_positive"),
    ):
        assert NUMBERS[ours](found) == pytest.approx(GOLDEN[theirs], rel=1e-9), ours


def test_both_conventions_are_one_number():
    # entropy with out-of-distribution positive, confidence with in-distribution positive
    found = golden("msp")
    assert separation.auroc(found) == pytest.approx(GOLDEN["auroc_confidence"], rel=1e-9)
    assert separation.auroc(found.swapped()) == pytest.approx(GOLDEN["auroc_confidence"], rel=1e-9)


def test_by_hand():
    found = both([1, 2, 3, 4], [3, 5])
    assert found.values.tolist() == [1, 2, 3, 4, 5]
    assert (found.inside.tolist(), found.outside.tolist()) == ([1, 1, 1, 1, 0], [0, 0, 1, 0, 1])
    assert separation.auroc(found) == (2.5 + 4) / 8  # 3 beats 1 and 2 and ties 3; 5 beats all
    assert separation.aupr_out(found) == pytest.approx(0.5 * 1 + 0.5 * 2 / 4)
    assert separation.aupr_in(found) == pytest.approx(0.25 + 0.25 + 0.25 * 3 / 4 + 0.25 * 4 / 5)
    assert separation.fpr95(found) == 2 / 4  # both are flagged from 3 on, and so are 3 and 4
    assert separation.fpr95_in(found) == 1 / 2  # all four pass up to 4, and so does 3
    assert separation.detection_error(found) == 0.25  # above 4: one of two missed, no false alarm


def test_ties_count_one_half():
    assert separation.auroc(both([7, 7, 7], [7, 7])) == 0.5
    constant = both([0.0] * 5, [0.0] * 3)
    assert separation.aupr_out(constant) == pytest.approx(3 / 8)
    assert separation.fpr95(constant) == separation.fpr95_in(constant) == 1.0
    assert separation.detection_error(constant) == 0.5


def test_perfect_and_worst():
    found, reverse = both([1, 2], [3, 4]), both([3, 4], [1, 2])
    assert [NUMBERS[key](found) for key in NUMBERS] == [1, 1, 1, 0, 0, 0]
    assert separation.auroc(reverse) == 0.0
    assert separation.detection_error(reverse) == 0.5
    assert separation.auroc_error(found) == 0.0


def test_signed_zeros_are_one_value():
    assert separation.auroc(both([0.0], [-0.0])) == 0.5
    assert both([0.0, 1.0], [-0.0]).values.size == 2


SIDES = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=25)


@given(SIDES, SIDES)
def test_a_second_implementation_agrees(inside, outside):
    found = both(inside, outside)
    slow = {
        "auroc": slow_ood.auroc(inside, outside),
        "aupr_out": slow_ood.aupr(outside, inside),
        "aupr_in": slow_ood.aupr([-v for v in inside], [-v for v in outside]),
        "fpr95": slow_ood.fpr(outside, inside),
        "fpr95_in": slow_ood.fpr([-v for v in inside], [-v for v in outside]),
        "detection_error": slow_ood.detection_error(inside, outside),
    }
    for key, value in slow.items():
        assert NUMBERS[key](found) == pytest.approx(float(value), abs=1e-12), key
    assert separation.auroc_error(found) ** 2 == pytest.approx(
        slow_ood.delong_variance(inside, outside), abs=1e-12
    )


@given(SIDES, SIDES)
def test_monotone_maps_change_nothing(inside, outside):
    mapped = both(np.exp(np.array(inside)), np.exp(np.array(outside)))
    for key, function in NUMBERS.items():
        assert function(mapped) == function(both(inside, outside)), key


@given(SIDES, SIDES)
def test_the_question_asked_the_other_way_round_has_the_same_answer(inside, outside):
    found = both(inside, outside)
    swapped = both([-v for v in outside], [-v for v in inside])
    assert separation.auroc(swapped) == pytest.approx(separation.auroc(found), abs=1e-15)
    assert separation.aupr_in(swapped) == separation.aupr_out(found)
    assert separation.fpr95_in(swapped) == separation.fpr95(found)
    other = found.swapped()
    for name in ("values", "inside", "outside"):
        np.testing.assert_array_equal(getattr(other, name), getattr(swapped, name))
    assert separation.auroc(both(outside, inside)) == pytest.approx(
        1 - separation.auroc(found), abs=1e-15
    )


@given(SIDES, SIDES, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(inside, outside, random):
    mixed = (random.sample(side, len(side)) for side in (inside, outside))
    one, other = both(inside, outside), both(*mixed)
    assert [f(one) for f in NUMBERS.values()] == [f(other) for f in NUMBERS.values()]


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_scikit_learn_agrees(digits):
    rng = np.random.default_rng(digits)
    inside = np.round(rng.normal(size=700), digits)
    outside = np.round(rng.normal(size=430) + 0.8, digits)
    found = both(inside, outside)
    for key, value in sklearn_numbers(inside, outside).items():
        assert NUMBERS[key](found) == pytest.approx(value, abs=1e-9), key


@pytest.mark.slow
@pytest.mark.parametrize("digits", [2, 17])
@pytest.mark.parametrize("n_rows", [100_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_scikit_learn_agrees_on_very_many_rows(digits, n_rows):
    rng = np.random.default_rng(1)
    inside = np.round(rng.normal(size=n_rows), digits)
    outside = np.round(rng.normal(size=n_rows) + 0.3, digits)
    found = both(inside, outside)
    for key, value in sklearn_numbers(inside, outside).items():
        assert NUMBERS[key](found) == pytest.approx(value, abs=1e-9), key


@given(SIDES, SIDES, st.sampled_from([0.0, 0.01, 0.05, 0.2, 0.5, 1.0]))
def test_a_threshold_is_the_lowest_with_so_few_false_alarms(inside, outside, share):
    found = both(inside, outside)
    counts = counts_of(found, [thresholds_at(found, [share])[0]])[0]
    assert counts.flagged_in + counts.passed_in == len(inside)
    assert counts.flagged_out + counts.passed_out == len(outside)
    assert counts.flagged_in == sum(v > counts.threshold for v in inside)
    assert counts.passed_out == sum(v <= counts.threshold for v in outside)
    assert counts.false_alarms <= share
    lower = [v for v in slow_ood.thresholds(inside, outside) if v < counts.threshold]
    if lower and share < 1.0:
        assert sum(v > lower[-1] for v in inside) / len(inside) > share
    if share == 0.05:
        assert counts.missed == separation.fpr95_in(found)


def test_needed_rows_are_free_of_rounding():
    for n, share, rows in (
        (20, 0.95, 19),
        (21, 0.95, 20),
        (11, 0.95, 11),
        (150, 1 - 0.18, 123),  # 150 * 0.82 is a little more
        (10**9, 0.95, 950_000_000),
    ):
        assert rows - 1 < separation.needed(np.asarray(n), share) <= rows


def test_empty_sides_and_nan_are_refused():
    with pytest.raises(Refused, match="EMPTY: There are no out-of-distribution rows"):
        both([1.0], [])
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(Refused, match="NONFINITE: A score of the in-distribution rows"):
            both([1.0, bad], [2.0])


def test_the_curve_runs_from_corner_to_corner_and_holds_the_area():
    rng = np.random.default_rng(0)
    found = both(rng.normal(size=3000), rng.normal(size=2000) + 1)
    alarms, flagged = separation.roc_points(found)
    assert (alarms[0], flagged[0], alarms[-1], flagged[-1]) == (0, 0, 1, 1)
    assert alarms.size <= 401
    assert (np.diff(alarms) >= 0).all()
    assert (np.diff(flagged) >= 0).all()
    assert np.trapezoid(flagged, alarms) == pytest.approx(separation.auroc(found), abs=1e-3)


@given(SIDES, SIDES)
def test_a_short_curve_is_exact(inside, outside):
    found = both(inside, outside)
    alarms, flagged = separation.roc_points(found)
    assert np.trapezoid(flagged, alarms) == pytest.approx(separation.auroc(found), abs=1e-12)


@given(st.integers(1, 50))
def test_cells_keep_every_row(most):
    rng = np.random.default_rng(0)
    found = both(rng.normal(size=300), rng.normal(size=20) + 3)
    inside, outside = separation.cells(found, most)
    assert inside.size <= most
    assert (inside.sum(), outside.sum()) == (300, 20)


def test_intervals_hold_their_values_and_say_what_is_positive():
    rng = np.random.default_rng(0)
    found = both(rng.normal(size=400), rng.normal(size=300) + 1)
    scores = intervals.numbers(found, n_resamples=200)
    assert list(scores) == list(NUMBERS)
    for key, score in scores.items():
        assert score.value == NUMBERS[key](found)
        assert 0.0 <= score.low < score.value < score.high <= 1.0
        assert score.settings["positive"] == ("id" if key.endswith("_in") else "ood")
    again = intervals.numbers(found, n_resamples=200)
    assert again == scores


@pytest.mark.slow
def test_bootstrap_intervals_are_as_wide_as_new_samples_scatter():
    rng = np.random.default_rng(5)

    def sample():
        return both(rng.normal(size=1500), rng.normal(size=900) + 1.2)

    scores = intervals.numbers(sample(), n_resamples=400)
    fresh = [sample() for _ in range(400)]
    for key in NUMBERS:
        spread = 2 * 1.96 * np.std([NUMBERS[key](one) for one in fresh])
        width = scores[key].high - scores[key].low
        assert 0.7 < width / spread < 1.45, key


PAIRS = st.lists(
    st.tuples(st.integers(-3, 3).map(float), st.integers(-3, 3).map(float)), min_size=2, max_size=12
)


@given(PAIRS, PAIRS)
def test_the_paired_difference_is_delongs(inside, outside):
    one = tuple(np.array([a for a, _ in side]) for side in (inside, outside))
    other = tuple(np.array([b for _, b in side]) for side in (inside, outside))
    value, low, high = intervals.auroc_difference(one, other)
    assert value == pytest.approx(float(slow_ood.auroc(*one) - slow_ood.auroc(*other)), abs=1e-12)
    error = np.sqrt(slow_ood.delong_difference_variance(one, other))
    assume(value - 2 * error > -0.99 and value + 2 * error < 0.99)
    half = 1.959963984540054 * error
    assert low <= value - half + 1e-9
    assert high >= value + half - 1e-9
    # MOVER, with the correlation that the three variances leave
    singles = [auroc_score(Separation.of(*run)) for run in (one, other)]
    constant = tuple(np.zeros(side.size) for side in one)
    own, others = (slow_ood.delong_difference_variance(run, constant) for run in (one, other))
    scale = 2 * np.sqrt(float(own * others))
    alike = float(np.clip((own + others - error**2) / scale, -1, 1)) if scale else 0.0

    def margin(a, b):
        return np.sqrt(max(0.0, a * a + b * b - 2 * alike * a * b))

    (a, b), same = singles, low == high == 0.0
    lower = margin(a.value - a.low, b.high - b.value)
    upper = margin(a.high - a.value, b.value - b.low)
    assert same or low == pytest.approx(max(-1, value - max(half, lower)), abs=1e-6)
    assert same or high == pytest.approx(min(1, value + max(half, upper)), abs=1e-6)


def test_a_run_differs_from_itself_by_nothing():
    rng = np.random.default_rng(0)
    side = rng.normal(size=50), rng.normal(size=40) + 1
    assert intervals.auroc_difference(side, side) == (0.0, 0.0, 0.0)
    mapped = tuple(np.exp(one) for one in side)
    assert intervals.auroc_difference(side, mapped) == (0.0, 0.0, 0.0)


def test_one_row_of_a_set_leaves_a_difference_without_an_interval():
    inside, outside = np.array([0.1, 0.2, 0.3]), np.array([0.9])
    assert intervals.auroc_difference((inside, outside), (-inside, -outside)) == (1.0, None, None)
    weights = None, np.array([1.0, 0.0])
    two = np.array([0.9, 0.8])
    found = intervals.auroc_difference((inside, two), (-inside, -two), weights=weights)
    assert found == (1.0, None, None)


def test_placements_average_to_the_area():
    rng = np.random.default_rng(0)
    inside, outside = np.round(rng.normal(size=60), 1), np.round(rng.normal(size=70), 1)
    area = separation.auroc(both(inside, outside))
    for side in intervals.placements(inside, outside):
        assert side.mean() == pytest.approx(area, abs=1e-12)


def test_cells_hold_about_equal_shares_of_both_sets_however_unequal_they_are():
    rng = np.random.default_rng(5)
    inside, outside = rng.normal(size=20_000), rng.uniform(10.0, 10.1, 50)
    found = Separation.of(inside, outside)
    own, others = cells(found, 100)
    assert (own.sum(), others.sum()) == (20_000, 50)
    assert others.max() <= 2
    assert own.max() <= 2 * 20_000 / 50


# Rows that belong together ---------------------------------------------------------------------


def scored(times=1):
    rng = np.random.default_rng(21)
    inside, outside = rng.normal(size=120).round(1), rng.normal(0.8, 1, 90).round(1)
    groups = np.arange(120).repeat(times), np.arange(90).repeat(times)
    return inside.repeat(times), outside.repeat(times), groups


def test_copies_in_a_group_narrow_no_interval_of_a_set():
    once = numbers(Separation.of(*scored()[:2]))
    often = numbers(Separation.of(*scored(4)))
    for key, score in once.items():
        found = often[key]
        assert found.value == pytest.approx(score.value, abs=0.03), key
        assert found.settings["resampled_by"] == "group"
        assert found.high - found.low == pytest.approx(score.high - score.low, rel=0.25), key
    alone = numbers(Separation.of(*scored(4)[:2]))["auroc"]
    wide = often["auroc"]
    assert wide.high - wide.low > 1.7 * (alone.high - alone.low)


def test_groups_of_one_row_change_no_error_of_the_auroc():
    inside, outside, groups = scored()
    assert auroc_error(Separation.of(inside, outside, groups)) == pytest.approx(
        auroc_error(Separation.of(inside, outside)), rel=1e-12
    )
    swapped = Separation.of(inside, outside, groups).swapped()
    assert auroc_error(swapped) == pytest.approx(auroc_error(Separation.of(inside, outside)))


def test_a_paired_difference_sums_groups():
    rng = np.random.default_rng(3)
    inside, outside, groups = scored()
    other = inside + rng.normal(size=120) / 3, outside + rng.normal(size=90) / 3
    once = auroc_difference((inside, outside), other)
    both = [tuple(side.repeat(3) for side in sides) for sides in ((inside, outside), other)]
    often = auroc_difference(*both, groups=tuple(group.repeat(3) for group in groups))
    assert often[0] == pytest.approx(once[0], abs=1e-12)
    wider = student(0.95, 89) / quantile(0.95)
    assert often[2] - often[1] == pytest.approx(wider * (once[2] - once[1]), rel=0.03)


def test_perfect_separation_of_two_patients_proves_little():
    groups = np.repeat([0, 1], 100), np.repeat([0, 1], 100)
    scores = np.linspace(0, 1, 200), np.linspace(2, 3, 200)
    alone = numbers(Separation.of(*scores))["auroc"]
    grouped = numbers(Separation.of(*scores, groups))
    assert alone.low > 0.97
    assert grouped["auroc"].low < 0.5  # Wilson for 2 of 2
    single = numbers(Separation.of(*scores, (groups[0], np.zeros(200, dtype=np.int64))))
    assert (single["fpr95"].low, single["fpr95"].high) == (0.0, 1.0)


def test_intervals_keep_a_width_where_no_row_is_out_of_order():
    inside, outside = np.linspace(0.0, 1.0, 80), np.linspace(2.0, 3.0, 80)
    scores = numbers(Separation.of(inside, outside), n_resamples=50)
    for key in ("aupr_out", "aupr_in"):
        assert scores[key].low < 0.98
        assert scores[key].high == 1.0
    for key in ("fpr95", "fpr95_in", "detection_error"):
        assert scores[key].low == 0.0
        assert 0.02 < scores[key].high < 0.2


@pytest.mark.parametrize(("rows", "bounded"), [(20, False), (71, False), (72, True)])
def test_few_rows_do_not_show_where_a_twentieth_lies(rows, bounded):
    # all of n rows lie on one side with chance 0.95^n: 0.0262 of 71, 0.0249 of 72
    inside, outside = np.linspace(0.0, 1.0, 200), np.linspace(0.8, 3.0, rows)
    scores = numbers(Separation.of(inside, outside), n_resamples=50)
    assert (scores["fpr95"].high < 1.0) == bounded
    assert scores["fpr95_in"].high < 0.5


@pytest.mark.parametrize("rows", [72, 200, 5_000])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_threshold_is_bounded_by_the_rows_that_a_binomial_count_says(rows, level):
    tail, k = (1.0 - level) / 2, np.arange(rows + 2)
    few, many = binom.cdf(k - 1, rows, 0.95) <= tail, binom.sf(k - 1, rows, 0.95) <= tail
    positives, negatives = np.ones(rows, int), np.ones(rows, int)
    low, high = false_positives(ScoreCounts(positives, negatives, (rows, 1e12)), 0.95, level)
    assert round(low * rows) == k[few][-1]
    assert round(high * rows) == k[many][0]


def test_the_best_threshold_flatters_itself():
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(60):  # of equal sets: no threshold is of any use
        scores = numbers(Separation.of(rng.normal(size=100), rng.normal(size=100)), n_resamples=100)
        held += scores["detection_error"].high >= 0.5
    assert held >= 50  # 15 by percentiles of resamples alone


def test_few_strange_rows_widen_the_auroc():
    inside = np.arange(200) / 200
    found = Separation.of(inside, np.array([0.9911, 0.9922, 0.9933]))
    low, _ = logit_interval(auroc(found), auroc_error(found), 3, 0.95)
    assert numbers(found, n_resamples=50)["auroc"].low < low - 0.1


def test_a_paired_difference_of_two_groups_has_students_quantile():
    rng = np.random.default_rng(1)
    sets = [(rng.normal(size=40), rng.normal(size=40) + 1.0) for _ in range(2)]
    many = auroc_difference(*sets, groups=(np.arange(40), np.arange(40)))
    alone = auroc_difference(*sets)
    assert (many[2] - many[1]) / (alone[2] - alone[1]) == pytest.approx(
        student(0.95, 39) / quantile(0.95), rel=0.01
    )
    two = auroc_difference(*sets, groups=(np.repeat([0, 1], 20), np.arange(40)))
    assert two[2] - two[1] > 2.0 * (many[2] - many[1])


def test_one_group_in_either_set_leaves_every_bootstrapped_number_open():
    inside, outside = np.linspace(0.0, 1.0, 40), np.linspace(0.8, 2.0, 40)
    many, one = np.arange(40) // 2, np.zeros(40, dtype=np.int64)
    for groups in ((many, one), (one, many)):
        scores = numbers(Separation.of(inside, outside, groups), n_resamples=20)
        for key in intervals.BOOTSTRAPPED:
            assert (scores[key].low, scores[key].high) == (0.0, 1.0), key


def test_a_perfect_precision_is_as_sure_as_its_own_positives_are_many():
    found = both(np.linspace(0.0, 1.0, 300), np.linspace(2.0, 3.0, 12))
    scores = numbers(found, n_resamples=20)
    for key, n in (
        ("aupr_out", 12),
        ("aupr_in", 300),
    ):  # all of n: exact 0.025 = low^n, or Wilson's
        low = min(0.025 ** (1 / n), n / (n + quantile(0.95) ** 2))
        assert scores[key].low == pytest.approx(low), key


@given(SIDES, SIDES)
def test_thresholds_of_many_shares_are_those_of_each(inside, outside):
    found, shares = both(inside, outside), [k / 200 for k in range(101)]
    levels = separation.thresholds_at(found, shares)
    for share, level, counts in zip(
        shares, levels, separation.counts_of(found, levels), strict=True
    ):
        assert counts == counts_of(found, [thresholds_at(found, [share])[0]])[0]
        assert counts.threshold == level
        assert counts.flagged_out == sum(v > level for v in outside)


def test_resamples_of_uneven_groups_weigh_as_much_as_the_set():
    groups = np.repeat(np.arange(4), [1, 2, 4, 8])
    side = separation.SetRows(np.arange(15), SamplingDesign(groups, np.full(15, 0.5)))
    drawn = side.draws(side.by_group(np.arange(15)), 20, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.sum(axis=1), 7.5, rtol=1e-12)
