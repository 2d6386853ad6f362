"""What may be ranked and what may not, and at which level."""

from dataclasses import replace

import numpy as np
import pytest

from core.metrics.comparison import Compared, ComparedRows, compare, compared, why_not
from core.metrics.paired import PAIRED, MetricDraws
from core.predictions import Predictions, ScoreKind, Task

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
    assert "judged by the probability of class 1" in reason(binary, answers)


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
                    floor=0.0,
                    n=150,
                    seed=0,
                    units=150,
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


@pytest.mark.soak
def test_of_fifty_equal_runs_one_is_called_the_best_in_at_most_5_of_100_comparisons():
    rng = np.random.default_rng(1)
    named = 0
    for _ in range(400):
        values = 0.9 + 0.01 * rng.normal(size=50)
        runs = drawn("accuracy", values.tolist(), [0.01] * 50, rng)
        named += bool(compare(runs, [str(i) for i in range(50)], 0).best)
    assert named <= 30  # of 20 expected at most: 5 % and two and a half standard errors


def test_nothing_is_best_on_different_rows(three):
    other = replace(three[1], rows=replace(three[1].rows, labels="0"))
    assert compare([three[0], other], "ab", 0).best == {}
