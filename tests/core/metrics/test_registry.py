"""Questions that every metric of the registry must answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics

from core.metrics import METRICS, smooth
from core.metrics.ranked import SortedOutcomes
from core.metrics.smooth import smece
from core.predictions import Outcomes, Predictions, ScoreKind, Task
from tests.reference import slow_metrics

OF_OUTCOMES = [name for name, metric in METRICS.items() if metric.needs != "scores"]
OF_SCORES = [name for name, metric in METRICS.items() if metric.needs == "scores"]
ERRORS = [  # 0 for the best there is, 1 for the worst; the released code leaves rows out
    name
    for name, metric in METRICS.items()
    if (metric.better, metric.range) == ("lower", (0.0, 1.0)) and name != "ada_ece"
]
WITH_BINS = [  # in a number that is given; the reference of that of print sums over a grid
    name
    for name, metric in METRICS.items()
    if metric.binned and not metric.binned.sweeps and not metric.of_print
]
FITTED = ("citl", "slope", "intercept")  # against statsmodels in test_clinical_fit


def outcomes(confidence, correct):
    return Outcomes(np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=bool))


def value(name, confidence, correct, **given):
    return METRICS[name].function(SortedOutcomes.of(outcomes(confidence, correct)), **given)


def multiclass(logits, labels, dtype=np.float64):
    return Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, np.asarray(logits, dtype=dtype), np.asarray(labels)
    )


def every_value(rows):
    """All metrics of a multiclass file, top label, by name."""
    ranked = SortedOutcomes.of(rows.outcomes(None))
    return {
        name: metric.function(rows if metric.needs == "scores" else ranked)
        for name, metric in METRICS.items()
    }


def random_logits(seed, n=40, k=4, scale=3.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)) * scale, rng.integers(0, k, n)


# confidences on a coarse grid (ties, edges, 0 and 1) mixed with arbitrary ones
CONFIDENCES = st.one_of(
    st.sampled_from([0.0, 1 / 15, 0.2, 0.5, 0.6, 14 / 15, 0.99, 1.0]), st.floats(0, 1)
)
ROWS = st.lists(st.tuples(CONFIDENCES, st.booleans()), min_size=1, max_size=40)


@pytest.mark.parametrize("name", METRICS)
def test_entry_says_what_it_is(name):
    metric = METRICS[name]
    assert metric.label
    assert metric.source
    assert metric.plain.endswith(".")
    assert metric.range[0] < metric.range[1]
    assert metric.better in {"lower", "higher", "zero", "one"}
    assert metric.needs in {"outcomes", "scores", "positive"}
    assert metric.function.__name__ == name


@pytest.mark.parametrize("name", [n for n in OF_OUTCOMES if n not in ("smece", *FITTED)])
@settings(max_examples=25)
@given(rows=ROWS)
def test_agrees_with_the_slow_second_implementation(name, rows):
    confidence, correct = zip(*rows, strict=True)
    slow = getattr(slow_metrics, name)(confidence, correct)
    np.testing.assert_allclose(value(name, confidence, correct), slow, rtol=1e-11, atol=3e-8)


@pytest.mark.parametrize("n_bins", [1, 2, 7, 15, 50])
@pytest.mark.parametrize("name", [*WITH_BINS, "classwise_ece"])
def test_agrees_with_the_second_implementation_at_any_number_of_bins(name, n_bins):
    logits, labels = random_logits(n_bins)
    rows = multiclass(logits, labels)
    slow = getattr(slow_metrics, name)
    if METRICS[name].needs == "scores":
        found, expected = (
            METRICS[name].function(rows, n_bins=n_bins),
            slow(logits.tolist(), labels.tolist(), n_bins=n_bins),
        )
    else:
        top = rows.outcomes(None)
        found = value(name, top.confidence, top.correct, n_bins=n_bins)
        expected = slow(top.confidence.tolist(), top.correct.tolist(), n_bins=n_bins)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", OF_SCORES)
@pytest.mark.parametrize("seed", range(5))
def test_scores_agree_with_the_slow_second_implementation(name, seed):
    logits, labels = random_logits(seed, n=30, k=3 + seed)
    slow = getattr(slow_metrics, name)(logits.tolist(), labels.tolist())
    found = METRICS[name].function(multiclass(logits, labels))
    assert found == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("spread", [pytest.param(0.2, marks=pytest.mark.nightly), 2.0, 30.0])
def test_smece_agrees_with_the_sum_over_rows_and_mirror_images(spread):
    rng = np.random.default_rng(7)
    confidence = 1 / (1 + np.exp(-spread * rng.normal(size=60)))
    correct = rng.random(60) < 0.6
    slow = slow_metrics.smece(confidence, correct)
    assert value("smece", confidence, correct) == pytest.approx(slow, rel=2e-5)


@pytest.mark.parametrize("case", slow_metrics.BY_HAND, ids=lambda case: case.name)
def test_agrees_with_what_was_computed_by_hand(case):
    slow = getattr(slow_metrics, case.name)(case.confidence, case.correct)
    assert value(case.name, case.confidence, case.correct) == pytest.approx(case.value, abs=1e-12)
    assert slow == pytest.approx(case.value, abs=1e-9)


def test_smooth_corrections_of_many_claims_stay_near_those_of_each(monkeypatch):
    rng = np.random.default_rng(3)
    confidence = rng.random(1_500)
    correct = rng.random(1_500) < confidence**1.3
    exact = {name: value(name, confidence, correct) for name in ("smce", "pgap")}
    monkeypatch.setattr(smooth, "MOST", 100)  # as 30,000 claims would be taken together
    for name, most in (("smce", 1 / 100), ("pgap", 4 / 100)):
        merged = value(name, confidence, correct)
        assert merged != exact[name]
        assert abs(merged - exact[name]) <= most
    gaps = smooth.to_nodes(
        (confidence - correct)[np.argsort(confidence)][None], np.sort(confidence)
    )
    weight = smooth.to_nodes(np.ones((1, 1_500)), np.sort(confidence))
    assert smooth.smce_draws(gaps, 1_500)[0] == pytest.approx(exact["smce"], abs=0.5 / 64)
    assert smooth.pgap_draws(gaps, weight, 1_500)[0] == pytest.approx(exact["pgap"], abs=2 / 64)


def test_smece_keeps_the_mass_at_the_ends():
    # half the rows say 1 and are wrong one time in four, half say 0 and are never right; whatever
    # the bandwidth, the smoothed gap is positive everywhere, so its integral is the mean gap 1/8
    confidence, correct = [1.0] * 4 + [0.0] * 4, [True] * 3 + [False] * 5
    assert value("smece", confidence, correct) == pytest.approx(0.125, abs=1e-9)
    # the released version halves the weight of both ends alike, in residual and density
    assert value("smece", confidence, correct, method="relplot") == pytest.approx(0.125, rel=1e-2)


def test_released_smece_is_too_high_on_saturated_confidences():
    # 90 rows at 1 - 1e-9 (weight halved by the released version), 10 at 0.8 all wrong
    confidence, correct = [1 - 1e-9] * 90 + [0.8] * 10, [True] * 90 + [False] * 10
    exact = value("smece", confidence, correct)
    assert exact == pytest.approx(0.08, rel=1e-3)
    assert smece(SortedOutcomes.of(outcomes(confidence, correct)), method="relplot") > 1.5 * exact


@settings(max_examples=15)
@given(rows=ROWS, seed=st.integers(0, 99))
@pytest.mark.parametrize("name", OF_OUTCOMES)
def test_order_of_rows_changes_no_bit(name, rows, seed):
    confidence, correct = map(np.array, zip(*rows, strict=True))
    order = np.random.default_rng(seed).permutation(len(rows))
    np.testing.assert_array_equal(
        value(name, confidence, correct), value(name, confidence[order], correct[order])
    )


@pytest.mark.parametrize("name", OF_SCORES)
def test_order_of_rows_changes_no_score(name):
    logits, labels = random_logits(1, n=200)
    order = np.random.default_rng(2).permutation(200)
    first = METRICS[name].function(multiclass(logits, labels))
    second = METRICS[name].function(multiclass(logits[order], labels[order]))
    assert (
        first == pytest.approx(second, rel=1e-14, abs=0)
        if name == "classwise_ece"
        else (first == second)
    )


@settings(max_examples=15)
@given(rows=ROWS)
@pytest.mark.parametrize("name", OF_OUTCOMES)
def test_stays_in_its_range(name, rows):
    found = value(name, *zip(*rows, strict=True))
    low, high = METRICS[name].range
    assert np.isnan(found) or low <= found <= high + 1e-12


@settings(max_examples=40)
@given(rows=ROWS)
def test_binned_errors_are_at_least_the_mean_gap(rows):
    confidence, correct = zip(*rows, strict=True)
    gap = abs(np.mean(confidence) - np.mean(correct))
    for name in ("ece", "ece_em", "ece_sweep", "ks", "rmsce"):
        assert value(name, confidence, correct) >= gap - 1e-12
    assert value("ece", confidence, correct, n_bins=1) == pytest.approx(gap, abs=1e-12)
    assert value("ece_em", confidence, correct, n_bins=1) == pytest.approx(gap, abs=1e-12)
    assert value("rmsce", confidence, correct) >= value("ece", confidence, correct) - 1e-12
    assert value("mce", confidence, correct) >= value("ece", confidence, correct) - 1e-12
    assert value("smece", confidence, correct) >= gap - 1e-6
    smce, pgap = value("smce", confidence, correct), value("pgap", confidence, correct)
    assert gap - 1e-9 <= smce
    assert smce**2 - 1e-9 <= pgap <= 2 * smce + 1e-9  # Blasiok et al. 2023b, theorem 2.4


@settings(max_examples=20)
@given(rows=ROWS)
@pytest.mark.parametrize(
    "name",
    [
        "accuracy",
        "ece",
        "mce",
        "ace",
        "rmsce",
        "ks",
        "smece",
        "smce",
        "pgap",
        "auroc",
        "brier_skill",
    ],
)
def test_doubling_the_rows_changes_nothing(name, rows):
    confidence, correct = zip(*rows, strict=True)
    np.testing.assert_allclose(
        value(name, confidence * 2, correct * 2), value(name, confidence, correct), atol=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_renaming_classes_and_shifting_rows_changes_nothing(seed):
    logits, labels = random_logits(seed, k=5)
    rng = np.random.default_rng(seed)
    names = rng.permutation(5)
    before = every_value(multiclass(logits, labels))
    renamed = every_value(multiclass(logits[:, names], np.argsort(names)[labels]))
    shifted = every_value(multiclass(logits + rng.normal(size=(40, 1)) * 100, labels))
    for name, expected in before.items():
        np.testing.assert_allclose(renamed[name], expected, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(shifted[name], expected, rtol=1e-9, atol=1e-9)


def test_an_impossible_class_changes_only_the_mean_over_classes():
    logits, labels = random_logits(5)
    wider = np.column_stack([logits, np.full(40, -1e4)])
    before, after = every_value(multiclass(logits, labels)), every_value(multiclass(wider, labels))
    assert after.pop("classwise_ece") == pytest.approx(before.pop("classwise_ece") * 4 / 5)
    for name, expected in before.items():
        np.testing.assert_allclose(after[name], expected, rtol=1e-13)


def test_perfect_predictions_have_no_error():
    logits = np.array([[800.0, 0.0, 0.0], [0.0, 800.0, 0.0], [0.0, 0.0, 800.0]] * 7)
    found = every_value(multiclass(logits, np.arange(21) % 3))
    for name in ("nll", "brier", "ada_ece", *ERRORS):
        assert found[name] == 0.0, name
    assert found["accuracy"] == found["s99_share"] == found["s99_accuracy"] == 1.0


def test_certain_and_always_wrong_is_the_worst_there_is():
    logits = np.array([[800.0, 0.0], [0.0, 800.0]] * 5)
    found = every_value(multiclass(logits, (np.arange(10) + 1) % 2))
    assert found["nll"] == 800.0  # not clipped
    assert found["brier"] == 2.0
    for name in ERRORS:
        assert found[name] == pytest.approx(1.0, abs=1e-12), name
    assert found["accuracy"] == found["s99_accuracy"] == 0.0


def test_uniform_predictions():
    found = every_value(multiclass(np.zeros((12, 4)), np.arange(12) % 4))
    assert found["nll"] == pytest.approx(np.log(4), rel=1e-15)
    assert found["brier"] == pytest.approx(3 / 4, rel=1e-15)
    assert found["ece"] == pytest.approx(0.0, abs=1e-15)  # says 1/4, right 3 of 12


@pytest.mark.parametrize("name", METRICS)
def test_float32_scores_agree_with_float64(name):
    logits, labels = random_logits(11, n=300)
    single = logits.astype(np.float32)
    found = every_value(multiclass(single, labels, np.float32))[name]
    np.testing.assert_array_equal(
        found, every_value(multiclass(single.astype(np.float64), labels))[name]
    )


def test_one_bin_of_float32_ones_is_summed_in_float64():
    # float32 sums of 0.98 drift by 1e-2 after a million rows
    n = 1_000_000
    confidence = np.full(n, np.float32(0.98)).astype(np.float64)
    found = value("ece", confidence, np.arange(n) < 960_000)
    assert found == pytest.approx(float(np.float32(0.98)) - 0.96, abs=1e-9)


def test_clipping_is_an_option_of_the_nll():
    rows = Predictions(
        Task.MULTICLASS,
        ScoreKind.PROBABILITIES,
        np.array([[1.0, 0.0], [0.5, 0.5]]),
        np.array([1, 0]),
    )
    nll = METRICS["nll"].function
    assert nll(rows) == np.inf
    assert nll(rows, clip=1e-3) == pytest.approx((np.log(1000) + np.log(2)) / 2)


def test_sure_rows_are_those_at_or_above_the_threshold():
    confidence, correct = [0.98, 0.99, 1.0, 0.5], [False, True, False, True]
    assert value("s99_share", confidence, correct) == 0.5
    assert value("s99_accuracy", confidence, correct) == 0.5
    assert np.isnan(value("s99_accuracy", [0.5], [True]))


@pytest.mark.parametrize("seed", range(4))
def test_proper_and_rank_scores_agree_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(300), 1 + seed)
    truth = rng.random(300) < score
    given = (truth, score)
    assert value("auroc", score, truth) == pytest.approx(
        sklearn_metrics.roc_auc_score(*given), abs=1e-12
    )
    assert value("auprc", score, truth) == pytest.approx(
        sklearn_metrics.average_precision_score(*given), abs=1e-12
    )
    logits, labels = random_logits(seed, n=300)
    rows = multiclass(logits, labels)
    p = rows.probabilities()
    assert METRICS["nll"].function(rows) == pytest.approx(sklearn_metrics.log_loss(labels, p))
    expected = sklearn_metrics.brier_score_loss(labels, p, labels=range(4), scale_by_half=False)
    assert METRICS["brier"].function(rows) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["auroc", "auprc"])
def test_one_outcome_only_leaves_ranks_undefined(name):
    assert np.isnan(value(name, [0.1, 0.2], [False, False]))
