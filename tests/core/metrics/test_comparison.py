"""What may be ranked and what may not, and at which level."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from core.metrics.comparison import (
    Compared,
    ComparedRows,
    Leader,
    compare,
    compare_all,
    compared,
    every_pair_level,
    why_not,
)
from core.metrics.paired import NO_FLOOR, PAIRED, Difference, MetricDraws
from core.metrics.units import ResamplingUnits
from core.predictions import Predictions, ScoreKind, Task, Weights

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(150, 3))
LABELS = RNG.integers(0, 3, 150)
IDS = tuple(f"row {i}" for i in range(150))


def run(scale=1.0, labels=LABELS, **more):
    return Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, scale * LOGITS[: len(labels)], labels, **more
    )


def reason(*runs):
    return why_not([ComparedRows.of(one) for one in runs], [f"r{i}" for i in range(len(runs))])


def test_the_same_labels_may_be_ranked_whatever_the_scores():
    answers = Predictions(
        Task.TOP_LABEL, ScoreKind.CONFIDENCE, RNG.random(150), LABELS, predicted=LABELS
    )
    assert reason(run(), run(2.0), answers) == ""


def test_one_other_label_is_enough_not_to():
    changed = LABELS.copy()
    changed[77] = (changed[77] + 1) % 3
    assert "“r0” and “r2” have different labels" in reason(run(), run(2.0), run(labels=changed))


def test_fewer_rows_are_counted_in_the_reason():
    assert reason(run(), run(labels=LABELS[:149])) == "“r0” has 150 rows, “r1” has 149."


def test_row_ids_decide_among_the_files_that_have_them():
    named, other = run(row_ids=IDS), run(row_ids=IDS[::-1])
    assert reason(named, run(), run(2.0, row_ids=IDS)) == ""
    assert reason(run(), named, other).startswith("“r1” and “r2” name their rows differently")


def test_another_claim_is_not_compared():
    binary = Predictions(Task.BINARY, ScoreKind.SIGMOID, RNG.random(150), LABELS % 2)
    answers = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, RNG.normal(size=(150, 2)), LABELS % 2)
    binary = replace(binary, class_names=("bad", "good"))
    assert "“r0” is judged by the risk of “good”, “r1” by the answers" in reason(binary, answers)


def test_equal_numbers_for_classes_in_another_order_are_other_labels():
    one, other = (run(class_names=names) for names in (("a", "b", "c"), ("b", "a", "c")))
    assert "list the same classes in another order" in reason(one, other)
    assert reason(one, run(class_names=("A", "B", "C"))) == ""


@pytest.fixture(scope="module")
def three():
    return [compared(run(scale)) for scale in (1.0, 2.0, 0.5)]


def test_every_run_is_compared_with_the_reference_at_the_shared_level(three):
    found = compare(three, "abc", 1)
    assert found.level == pytest.approx(0.975)  # two comparisons share 5 %
    assert found.differences[1] == {}
    for i in (0, 2):
        for metric, one in found.differences[i].items():
            values = [three[k].audit.main.metrics[metric].value for k in (i, 1)]
            assert one.value == pytest.approx(values[0] - values[1], abs=1e-15)
            assert one.level == found.level
    assert set(found.differences[0]) == set(PAIRED)


def test_two_runs_keep_the_full_level(three):
    assert compare(three[:2], "ab", 0).level == pytest.approx(0.95)


def test_nothing_is_ranked_on_different_rows(three):
    other = replace(three[1], rows=replace(three[1].rows, labels="0"))
    found = compare([three[0], other], "ab", 0)
    assert "“a” and “b” have different labels" in found.reason
    assert found.differences == ({}, {})


def test_a_metric_that_one_run_lacks_is_left_out(three):
    rows = run().rows
    answers = Predictions(
        Task.TOP_LABEL, ScoreKind.CONFIDENCE, rows.confidence, LABELS, predicted=rows.predicted
    )
    found = compare([three[0], compared(answers)], "ab", 0)
    assert set(found.differences[1]) == {"accuracy", "ece", "ece_em", "smece"}
    assert found.differences[1]["ece"].value == pytest.approx(0.0, abs=1e-15)


def drawn(metric, values, spreads, rng, n_resamples=1000):
    """Return runs of the same rows, known by the draws of one metric only."""
    together = rng.normal(size=n_resamples)
    return [
        Compared(
            ComparedRows.of(run()),
            None,
            {
                metric: MetricDraws(
                    metric=metric,
                    value=value,
                    centre=value,
                    draws=value + spread * (0.5 * together + rng.normal(size=n_resamples)),
                    gap=np.zeros(n_resamples),
                    floor=NO_FLOOR,
                    n=150,
                    seed=0,
                    units=ResamplingUnits.even(150),
                )
            },
        )
        for value, spread in zip(values, spreads, strict=True)
    ]


@pytest.mark.parametrize(
    ("metric", "values", "first"),
    [("accuracy", (0.7, 0.9, 0.8), 1), ("nll", (0.7, 0.9, 0.8), 0), ("ece", (0.3, 0.1, 0.2), 1)],
)
def test_the_best_is_ahead_of_every_other_in_the_metrics_own_direction(metric, values, first):
    runs = drawn(metric, values, (0.001,) * 3, np.random.default_rng(0))
    for reference in range(3):
        assert compare(runs, "abc", reference).best == {metric: first}


def test_a_run_that_any_other_is_tied_with_is_not_the_best():
    rng = np.random.default_rng(0)
    assert compare(drawn("nll", (0.7, 0.7, 0.9), (0.001,) * 3, rng), "abc", 0).best == {}
    # the runner-up is behind, but the third, of which little is known, may be ahead
    assert compare(drawn("nll", (0.7, 0.8, 0.9), (0.001, 0.001, 0.2), rng), "abc", 0).best == {}


def test_the_best_of_more_runs_needs_a_larger_lead():
    """A lead of 2.3 standard errors is beyond chance for two runs, and not for fifty."""
    spread = 0.01 / 2.3 / np.sqrt(2)
    for n, names in ((2, {"accuracy": 0}), (50, {})):
        rng = np.random.default_rng(3)
        runs = drawn("accuracy", (0.9, *[0.89] * (n - 1)), (spread,) * n, rng)
        assert compare(runs, [str(i) for i in range(n)], 0).best == names


def called_different(n_runs, comparisons, spread, rng):
    """How many comparisons of equal runs call any two of them different."""
    told = 0
    for _ in range(comparisons):
        values = 0.9 + 0.01 * rng.normal(size=n_runs)
        runs = drawn("accuracy", values.tolist(), [spread] * n_runs, rng, 400)
        found = compare_all(runs, [str(i) for i in range(n_runs)], 0)
        leader = found.leaders["accuracy"]
        worst = max(leader.others.values(), key=lambda other: abs(other.value))
        told += not worst.tie
    return told


@pytest.mark.parametrize(("n_runs", "comparisons"), [(3, 150), (10, 60)])
def test_equal_runs_are_rarely_called_different(n_runs, comparisons):
    """The 1 % quantile of a binomial at 5 % is the bound."""
    told = called_different(n_runs, comparisons, 0.01, np.random.default_rng(n_runs))
    assert told <= {150: 15, 60: 8}[comparisons]


@pytest.mark.soak
@pytest.mark.parametrize("n_runs", [2, 3, 10, 50])
def test_of_1000_comparisons_of_equal_runs_at_most_5_in_100_call_any_different(n_runs):
    told = called_different(n_runs, 1000, 0.01, np.random.default_rng(n_runs))
    assert told <= 67  # 5 % and two and a half standard errors


def test_one_level_holds_for_every_pair_and_uses_what_runs_share():
    rng = np.random.default_rng(0)
    alone = [rng.normal(size=4000) for _ in range(5)]
    # five independent runs: the studentised range, 3.858 over the root of two at 5 % (Tukey)
    assert every_pair_level(alone, 0.95) == pytest.approx(1 - 2 * 0.003187, abs=6e-4)
    assert every_pair_level(alone[:2], 0.95) == 0.95
    # two pairs of twins and one more: as few real differences as three runs have
    twins = [alone[0], alone[0], alone[1], alone[1], alone[2]]
    assert every_pair_level(twins, 0.95) == every_pair_level(alone[:3], 0.95)
    assert every_pair_level([alone[0]] * 4, 0.95) == 0.95


def test_the_sample_counts_as_one_more_of_the_draws():
    # of ten draws and the sample, 10/11 are all ten draws; the other level leaves out the largest
    draws = np.zeros((3, 10))
    draws[1] = np.tile([1.0, -1.0], 5)
    draws[2, :9], draws[2, 9] = np.tile([1.0, -1.0, 0.0], 3), -1.9
    pairs = [draws[1], draws[2], draws[2] - draws[1]]
    standard = [np.abs(pair - pair.mean()) / pair.std() for pair in pairs]
    largest = np.sort(np.max(standard, axis=0))
    assert largest[-1] > largest[-2] + 0.2
    for level, quantile in ((10 / 11, largest[-1]), (8 / 9 * 10 / 11, largest[-2])):
        assert every_pair_level(list(draws), level - 1e-9) == pytest.approx(
            min(max(level, 2 * NormalDist().cdf(quantile) - 1), 1 - (1 - level) / 3), abs=1e-8
        )


def test_ties_with_the_leader_are_named_and_the_level_does_not_hang_on_the_reference():
    rng = np.random.default_rng(0)
    runs = drawn("nll", (0.9, 0.7, 0.7001, 0.8), (0.001,) * 4, rng)
    first, second = (compare_all(runs, "abcd", reference) for reference in (0, 2))
    assert first.level == second.level < 0.99
    leader = first.leaders["nll"]
    assert (leader.run, leader.tied) == (1, (2,))
    assert list(leader.others) == [2, 3, 0]
    assert second.leaders == first.leaders


def test_nothing_is_best_on_different_rows(three):
    other = replace(three[1], rows=replace(three[1].rows, labels="0"))
    assert compare([three[0], other], "ab", 0).best == {}


def test_other_weights_are_not_compared_and_equal_ones_are():
    weights = np.linspace(1.0, 2.0, 150)
    weighted = run(weights=Weights.of("w", weights))
    assert reason(weighted, run(2.0, weights=Weights.of("w", weights.copy()))) == ""
    other = run(weights=Weights.of("w", weights[::-1].copy()))
    assert "do not say the same of which rows belong together" in reason(weighted, other)


def test_an_unknown_interval_is_a_tie():
    unknown = Difference(metric="ece", value=0.1, low=None, high=None, level=0.95, n=1)
    assert Leader(0, {1: unknown}).tied == (1,)
