"""Paired draws and differences: against a slow loop over resampled rows, and by their laws."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.arrays import SORTED_BY_DIGITS
from core.metrics import METRICS, paired
from core.metrics import units as unit_draws
from core.metrics.estimates import floor_of
from core.metrics.paired import PAIRABLE, PAIRED, MetricDraws, difference, draws
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Floor
from core.metrics.units import ResamplingUnits, row_draws, units
from core.predictions import INDEPENDENT, Predictions, SamplingDesign, ScoreKind, Task
from tests.reference import slow_metrics as slow

N, K, R = 240, 4, 30
FLOORS = dict.fromkeys(PAIRABLE, Floor(0.02, 0.03))


def multiclass(sharpness=1.0, noise=0.0, n=N, k=K, seed=3):
    """Return a run whose labels follow a softmax, its own logits sharpened and disturbed."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n, k))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(k, p=row) for row in p])
    moved = sharpness * (logits + noise * rng.normal(size=logits.shape))
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, moved, labels)


def binary(power=1.0):
    rng = np.random.default_rng(5)
    p = rng.random(N)
    labels = (rng.random(N) < p).astype(np.int64)
    return Predictions(Task.BINARY, ScoreKind.PROBABILITIES, p**power, labels)


def multilabel(power=1.0):
    rng = np.random.default_rng(6)
    p = rng.random((N, 3))
    labels = (rng.random((N, 3)) < p).astype(np.int64)
    return Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p**power, labels)


def top_label():
    run = multiclass()
    rows = run.rows
    return Predictions(
        Task.TOP_LABEL, ScoreKind.CONFIDENCE, rows.confidence, run.labels, predicted=rows.predicted
    )


TASKS = {
    "multiclass": multiclass,
    "binary": binary,
    "multilabel": multilabel,
    "top_label": top_label,
}


def taken(run, rows):
    """Return the file that holds exactly these rows, as often as they were drawn."""
    return Predictions(
        run.task,
        run.kind,
        run.scores[rows],
        run.labels[rows],
        class_names=run.class_names,
        predicted=None if run.predicted is None else run.predicted[rows],
    )


def resamples(n, seed=0):
    """The rows of each resample, one list a resample."""
    rng = np.random.default_rng([seed, unit_draws.STREAM])
    return [rng.integers(0, n, n) for _ in range(R)]


def in_bins_of(run, rows, target):
    """ECE of drawn rows in the equal-mass bins of all rows, row by row."""
    everything, drawn = run.outcomes(target), taken(run, rows).outcomes(target)
    bins = slow.equal_mass_bins(everything.confidence.tolist(), everything.correct.tolist(), 15)
    uppers = [max(c for c, _ in part) for part in bins]
    total = dict.fromkeys(range(len(bins)), 0.0)
    for c, y in zip(drawn.confidence, drawn.correct, strict=True):
        total[next(b for b, upper in enumerate(uppers) if c <= upper)] += c - y
    return sum(abs(gap) for gap in total.values()) / len(rows)


def in_adaptive_bins_of(run, rows, target):
    """AdaECE of drawn rows in the released code's bins (low, high] of all rows, row by row."""
    everything, drawn = run.outcomes(target), taken(run, rows).outcomes(target)
    places = np.linspace(0, len(everything.confidence), 16)
    edges = np.interp(places, np.arange(run.n), np.sort(everything.confidence))
    total = [0.0] * 15
    for c, y in zip(drawn.confidence, drawn.correct, strict=True):
        for b in range(15):
            if edges[b] < c <= edges[b + 1]:
                total[b] += c - y
    return sum(abs(gap) for gap in total) / len(rows)


def on_rows(run, metric, rows):
    """The metric of the drawn rows by its own function, or by a loop in the sample's bins."""
    drawn, target = taken(run, rows), run.default_target
    if metric == "ece_em":
        return in_bins_of(run, rows, target)
    if metric == "ada_ece":
        return in_adaptive_bins_of(run, rows, target)
    if METRICS[metric].needs == "scores":
        return METRICS[metric].function(drawn)
    of = None if metric == "accuracy" else target
    return METRICS[metric].function(SortedOutcomes.of(drawn.outcomes(of)))


@pytest.mark.parametrize("task", ["multiclass", "binary", "top_label"])
@pytest.mark.parametrize("metric", PAIRABLE)
def test_draws_are_the_metric_of_the_resampled_rows(task, metric):
    run = TASKS[task]()
    found = draws(run, FLOORS, (metric,), n_resamples=R)
    if task == "top_label" and metric in {"nll", "brier", "classwise_ece"}:
        assert found == {}
        return
    expected = [on_rows(run, metric, rows) for rows in resamples(N)]
    # the smooth error reads cells instead of rows and holds no narrower bandwidth than 1/256
    tolerance = 2e-3 if metric == "smece" else 1e-12
    np.testing.assert_allclose(found[metric].draws, expected, rtol=0, atol=tolerance)
    assert found[metric].value == pytest.approx(on_rows(run, metric, np.arange(N)), abs=1e-12)
    assert found[metric].centre == pytest.approx(found[metric].value, abs=tolerance)


def test_many_labels_are_the_mean_of_their_labels():
    run = multilabel()
    found = draws(run, FLOORS, n_resamples=R)
    assert "classwise_ece" not in found
    labels = [
        Predictions(Task.BINARY, run.kind, run.scores[:, k], run.labels[:, k]) for k in range(3)
    ]
    for metric in ("accuracy", "nll", "brier", "ece", "smece"):
        each = [draws(label, FLOORS, (metric,), n_resamples=R)[metric] for label in labels]
        np.testing.assert_allclose(
            found[metric].draws, np.mean([one.draws for one in each], axis=0), atol=1e-14
        )
        assert found[metric].value == pytest.approx(np.mean([one.value for one in each]))


def test_adaptive_error_is_drawn_on_request_and_moves_no_other():
    run = multiclass()
    usual, more = draws(run, FLOORS, n_resamples=R), draws(run, FLOORS, PAIRABLE, n_resamples=R)
    assert set(usual) == set(PAIRED)
    assert set(more) == set(PAIRABLE)
    for metric in PAIRED:
        assert np.array_equal(usual[metric].draws, more[metric].draws)


def test_adaptive_error_of_rows_that_all_tie_is_zero_on_every_resample():
    same = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, np.full(N, 0.7), np.arange(N) % 2)
    found = draws(same, FLOORS, ("ada_ece",), n_resamples=R)["ada_ece"]
    assert found.value == 0.0
    assert not found.draws.any()


def test_blocks_of_resamples_change_nothing(monkeypatch):
    run = multiclass()
    whole = draws(run, FLOORS, n_resamples=R)
    monkeypatch.setattr(unit_draws, "BLOCK_BYTES", 8 * N * 7)  # seven resamples at a time
    for metric, part in draws(run, FLOORS, n_resamples=R).items():
        np.testing.assert_allclose(part.draws, whole[metric].draws, atol=1e-15)


def test_a_large_matrix_draws_its_classes_less_often(monkeypatch):
    run = multiclass()
    full = draws(run, FLOORS, ("classwise_ece", "ece"), n_resamples=R)
    monkeypatch.setattr(paired, "HEAVY_CELLS", N * K - 1)
    monkeypatch.setattr(paired, "N_RESAMPLES_HEAVY", 10)
    monkeypatch.setattr(unit_draws, "BLOCK_BYTES", 8 * N * 5)
    heavy = draws(run, FLOORS, ("classwise_ece", "ece"), n_resamples=R)
    assert heavy["ece"].draws.size == R
    np.testing.assert_allclose(heavy["classwise_ece"].draws, full["classwise_ece"].draws[:10])
    apart = difference(full["classwise_ece"], heavy["classwise_ece"], 0.95)
    assert apart.settings["resamples"] == 10
    assert (apart.low, apart.high) == (0.0, 0.0)


@pytest.mark.parametrize("level", [0.95, 0.9955])  # percentiles, and normal tails
@pytest.mark.parametrize("task", TASKS)
def test_a_run_against_itself_is_exactly_nothing(task, level):
    one, other = (draws(TASKS[task](), FLOORS, n_resamples=R) for _ in range(2))
    for metric in one:
        found = difference(one[metric], other[metric], level)
        assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)
        assert found.tie


@pytest.mark.parametrize("level", [0.5, 0.9955])
def test_swapping_two_runs_swaps_the_signs(level):
    one = draws(multiclass(1.6, 0.4), FLOORS, n_resamples=R)
    other = draws(multiclass(0.8, 0.2, seed=3), FLOORS, n_resamples=R)
    for metric in PAIRED:
        there = difference(one[metric], other[metric], level)
        back = difference(other[metric], one[metric], level)
        assert there.value == -back.value != 0.0
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-15)


MANY = 10**9  # rows, so that Student's quantile is the normal one


def made(metric, value, found, *, gap=0.0, floor=0.0):
    found = np.asarray(found, dtype=float)
    return MetricDraws(
        metric=metric,
        value=value,
        centre=value,
        draws=found,
        gap=np.full(found.size, gap),
        floor=Floor(0.0, floor),
        n=100,
        seed=0,
        units=ResamplingUnits.even(MANY),
    )


def test_means_span_percentiles_and_the_normal_interval():
    zero = made("nll", 0.5, np.full(1001, 0.5))
    even = 0.2 + np.linspace(-0.1, 0.1, 1001)
    found = difference(made("nll", 0.7, 0.5 + even), zero, 0.9)
    # 5 % of the steps lie below 0.11; the normal bound reaches farther
    half = 1.6448536 * even.std()
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.2 - half, 0.2 + half))
    assert found.low < 0.11
    skewed = 0.2 + np.append(np.linspace(-0.01, 0.01, 901), np.full(100, 0.3))
    found = difference(made("nll", 0.7, 0.5 + skewed), zero, 0.9)
    assert found.high == pytest.approx(0.5)  # the percentile
    assert found.low < 0.19  # the normal bound
    assert not found.tie


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize(("metric", "value"), [("brier", 0.0), ("ece", 0.5)])
def test_few_units_take_students_quantile_of_the_whole_standard_error(grouped, metric, value):
    """Of ten, resamples scatter by the root of nine tenths of the standard error; nine degrees."""
    draw = np.linspace(-0.1, 0.1, 1001)
    zero, other = made(metric, value, np.full(1001, value)), made(metric, value, value + draw)
    few = [replace(one, grouped=grouped, units=ResamplingUnits.even(10)) for one in (other, zero)]
    half = 1.8331129 * (10 / 9) ** 0.5 * draw.std()  # Student's, from a table
    assert difference(*few, 0.9).high == pytest.approx(half, rel=1e-6)


def test_units_that_rule_are_few_and_scatter_less():
    found = units(6, SamplingDesign(np.array([0, 0, 0, 0, 1, 2])))  # shares 2/3, 1/6 and 1/6
    assert (found.count, found.df) == (3, pytest.approx(1.0))  # 36 / 18 - 1
    # residuals of variance 1 for each unit, less the mean: 2/3 of one pulls itself to a third
    scatter = (4 / 9 * (1 / 9 + 2 / 36) + 2 / 36 * (25 / 36 + 4 / 9 + 1 / 36)) / 0.5
    assert found.scatter == max(0.5, scatter)
    three = units(3, SamplingDesign(None, np.array([1.0, 2.0, 1.0])))
    assert (three.df, three.scatter) == (pytest.approx(16 / 6 - 1), pytest.approx(13 / 24))
    weighted = units(4, SamplingDesign(np.array([7, 7, 3, 3]), np.array([1.0, 0.0, 1.0, 0.0])))
    assert weighted == units(2, SamplingDesign()) == ResamplingUnits.even(2)


def test_the_floor_of_an_error_follows_the_level():
    chance = np.random.default_rng(3).gamma(4.0, 0.005, 4_000)
    floor = floor_of(chance)
    for level in (0.5, 0.8, 0.87, 0.95, 0.983):
        assert floor.at(level) == pytest.approx(np.quantile(chance, level), rel=0.02)
    assert floor.at(0.95) == floor.q95
    assert Floor(0.01, 0.02).at(0.5) == 0.02  # nothing else is known
    value = (floor.at(0.8) + floor.q95) / 2
    run, zero = made("ece", value, value + 0.1 * UP), made("ece", 0.0, np.zeros(1001))
    run = replace(run, floor=floor)
    assert difference(run, zero, 0.95).low == pytest.approx(0.0)  # within the floor: may be none
    assert difference(run, zero, 0.8).low == pytest.approx(value - 0.1 * 0.04, rel=0.02)


UP = np.arange(1001) / 10_000 - 0.05  # evenly from -0.05 to 0.05; 90 % within 0.045
HILL = np.concatenate([UP[::2], UP[1::2][::-1]])  # the same numbers, unrelated to UP


@pytest.mark.parametrize(
    ("order", "times", "high"),
    [
        (UP, 0.5, 0.095 - 0.0475),  # together: what one reaches farther
        (-UP, 2.5, 0.095 + 0.0475),  # against each other: both
    ],
)
def test_an_errors_interval_spans_the_measured_difference_and_that_in_truth(order, times, high):
    """Draws that lie above the value by their bias scatter around the difference nevertheless.

    Without biases 0.5 is 0.4125 to 0.5475, and 0.3 is 0.205 to 0.3.
    """
    one = made("ece", 0.5, 0.5 + 0.02 + 1.5 * order)
    other = made("ece", 0.3, 0.3 + 0.05 + UP)
    found = difference(one, other, 0.9)
    half = 1.6448536 * times * 0.1 / 12**0.5  # evenly spread over 0.1: the normal bound is wider
    ends = min(0.2 - half, 0.2 - 0.0875), max(0.2 + half, 0.2 + high)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-3)


def test_an_error_cannot_fall_by_more_than_it_was():
    """From 4.4, or 5.25 in truth, to 1.4 within its floor: it falls by no more than 5.25."""
    after = made("ece", 0.014, 0.020 + 0.05 * HILL, floor=0.02)
    before = made("ece", 0.044, 0.045 + 0.20 * UP)
    found = difference(after, before, 0.95)
    assert found.low == pytest.approx(-0.044 - 0.0085)
    assert found.high < 0.0
    # of two errors that are hardly there, neither can fall below none
    wide = made("ece", 0.002, 0.002 + 0.3 * UP)
    least = difference(made("ece", 0.001, 0.001 + 0.3 * HILL), wide, 0.9).low
    assert least == pytest.approx(-0.002 - 0.3 * 0.045, abs=1e-4)  # what the other may have been


def test_what_bias_alone_explains_is_a_tie():
    still = made("ece", 0.02, np.full(1001, 0.02), floor=0.03)
    within = made("ece", 0.029, np.full(1001, 0.029), floor=0.03)
    found = difference(still, within, 0.95)  # both may be 0
    assert (found.low, found.high, found.tie) == (pytest.approx(-0.029), 0.02, True)
    far = made("ece", 0.10, np.full(1001, 0.10), floor=0.03)
    found = difference(far, still, 0.95)
    assert (found.value, found.low, found.high) == pytest.approx((0.08, 0.08, 0.10))


def test_an_error_may_be_as_large_as_the_signed_gap():
    one = made("ece", 0.05, np.full(1001, 0.05), gap=-0.09)
    assert difference(one, made("ece", 0.07, np.full(1001, 0.07)), 0.95).tie
    assert not difference(one, made("ece", 0.10, np.full(1001, 0.10)), 0.95).tie


def test_one_row_has_no_interval():
    found = difference(
        *(draws(multiclass(s, n=1), FLOORS, n_resamples=20)["nll"] for s in (1, 2)), 0.95
    )
    assert found.value is not None
    assert (found.low, found.high, found.tie) == (None, None, False)
    assert "one row" in found.reason


def test_few_draws_beyond_a_bound_give_normal_tails():
    rng = np.random.default_rng(0)
    spread = rng.normal(size=1000)
    spread -= spread.mean()
    zero, other = made("brier", 0.0, np.zeros(1000)), made("brier", 0.0, spread)
    found = difference(other, zero, 0.995)
    # 2.807 is the normal quantile that leaves 0.25 % on either side
    assert found.high == pytest.approx(2.807 * spread.std(), rel=1e-4)
    assert found.low == pytest.approx(-found.high)
    assert "normal tails" in found.settings["interval"]
    assert "normal tails" not in difference(other, zero, 0.99).settings["interval"]


def test_an_infinite_log_loss_has_no_difference_and_says_why():
    run = Predictions(
        Task.MULTICLASS,
        ScoreKind.PROBABILITIES,
        np.array([[1.0, 0.0], [0.5, 0.5], [0.9, 0.1]]),
        np.array([1, 0, 0]),
    )
    fine = Predictions(
        Task.MULTICLASS, ScoreKind.PROBABILITIES, np.full((3, 2), 0.5), np.array([1, 0, 0])
    )
    found = difference(draws(run, FLOORS)["nll"], draws(fine, FLOORS)["nll"], 0.95)
    assert (found.value, found.low, found.high, found.tie) == (None, None, None, False)
    assert found.reason.startswith("NLL_INFINITE: 1 row gives")
    assert (
        difference(draws(run, FLOORS)["brier"], draws(fine, FLOORS)["brier"], 0.95).value
        is not None
    )


def test_pairing_makes_the_interval_narrower_than_two_alone():
    one, other = (draws(multiclass(s, n=600), FLOORS, n_resamples=300) for s in (1.5, 1.4))
    found = difference(one["nll"], other["nll"], 0.95)
    alone = np.hypot(one["nll"].draws.std(), other["nll"].draws.std())
    assert found.high - found.low < 0.5 * 2 * 1.96 * alone
    assert not found.tie


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(2, 5))
def test_any_run_is_within_its_range_and_holds_the_difference(seed, n, k):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    p = rng.dirichlet(np.ones(k), n).round(2) + 1e-3  # ties are common
    runs = [
        Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, q / q.sum(1, keepdims=True), labels)
        for q in (p, p**3)
    ]
    one, other = (draws(run, FLOORS, n_resamples=20) for run in runs)
    for metric in PAIRED:
        low, high = METRICS[metric].range
        assert np.all((one[metric].draws >= low - 1e-12) & (one[metric].draws <= high + 1e-12))
        found = difference(one[metric], other[metric], 0.8)
        assert found.low <= found.value <= found.high


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_many_rows_are_drawn_as_few_are(monkeypatch, dtype):
    """Some at a time, into counts of one byte: still the draws of whole resamples."""
    monkeypatch.setattr(unit_draws, "DRAWN_AT_A_TIME", 5_000)
    n = SORTED_BY_DIGITS + 3
    blocks = unit_draws.resampled_counts(n, 20, 4, dtype=dtype)
    rng = np.random.default_rng([4, unit_draws.STREAM])
    whole = list(row_draws(n, INDEPENDENT, 20, rng))
    np.testing.assert_array_equal(np.concatenate([block.copy() for block in blocks]), whole)
