import numpy as np
import pytest
from numpy.testing import assert_allclose

from core.metrics import suite
from core.metrics.binning import equal_width_cuts
from core.metrics.classwise import LEVELS, class_sums
from core.metrics.records import Partition, Statistic
from core.predictions import Groups, Predictions, ScoreKind, Task
from tests.benchmarks.claims.designs import softmax


def rows(p, labels, **more):
    return Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, labels, **more)


def drawn(rng, p):
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(0, p.shape[1] - 1)


def judged(predictions, n_resamples=400):
    ready = suite.prepare(predictions, None, n_resamples=n_resamples, seed=0)
    return ready.null.test(equal_width_cuts(ready.ranked, 15))


def cells(sums, part):
    start = 0
    for name, size in sums.parts:
        if name == part:
            return slice(start, start + size)
        start += size
    raise AssertionError(part)


def test_sums_of_four_rows_by_hand():
    p = np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [1e-9, 0.2, 0.8]])
    sums = class_sums(rows(p, np.array([0, 2, 2, 2])))
    own = cells(sums, Partition.ANSWERS)
    assert_allclose(sums.trials[own], [2, 1, 1])
    assert_allclose(sums.expected[own], [1.2, 0.7, 0.8])
    assert_allclose(sums.squares[own], [0.72, 0.49, 0.64])
    assert_allclose(sums.hits[own], [1, 0, 1])
    # wrong are the second and the third: (3/4, 1/4) of classes 1 and 2, (2/3, 1/3) of 0 and 2
    own = cells(sums, Partition.OTHERS)
    assert_allclose(sums.trials[own], [2, 2, 2])
    assert_allclose(sums.expected[own], [2 / 3, 3 / 4, 1 / 4 + 1 / 3])
    assert_allclose(sums.squares[own], [4 / 9, 9 / 16, 1 / 16 + 1 / 9])
    assert_allclose(sums.hits[own], [0, 0, 2])
    # 0.3 lies in [1/4, 1/2), 0.2 in [1/8, 1/4), 0.1 in [1/16, 1/8)
    own = cells(sums, Partition.STATED)
    assert_allclose(sums.expected[own][:5], [0, 3 / 4, 2 / 3, 1 / 4 + 1 / 3, 0])
    assert_allclose(sums.hits[own][:5], [0, 0, 0, 2, 0])


def test_probabilities_with_few_digits_are_not_told_apart_below_sixteen_steps():
    rng = np.random.default_rng(0)
    p = softmax(3.0 * rng.normal(size=(400, 10)))
    labels = drawn(rng, p)
    assert len(class_sums(rows(p, labels)).parts) == 3
    rounded = class_sums(rows(np.round(p, 3), labels, renormalise=True))
    assert [part for part, _ in rounded.parts] == [Partition.ANSWERS, Partition.STATED]
    assert rounded.parts[1][1] == 6  # the last holds all below 1/32, two of which are steps of 16
    assert class_sums(rows(p, labels)).parts[1] == (Partition.STATED, LEVELS)


def test_labels_in_groups_count_for_less():
    rng = np.random.default_rng(1)
    p = np.repeat(softmax(2.0 * rng.normal(size=(100, 3))), 4, axis=0)
    labels = np.repeat(drawn(rng, p[::4]), 4)
    alone = rows(p, labels)
    grouped = rows(p, labels, groups=Groups("g", np.arange(400) // 4))
    assert_allclose(class_sums(grouped).effect[:3], 4.0, rtol=0.05)  # four rows are one
    assert judged(grouped).classes >= judged(alone).classes


def test_the_size_of_a_part_is_a_share_of_all_rows():
    p = np.tile([[0.6, 0.4, 1e-9], [0.3, 0.7, 1e-9]], (50, 1))
    sums = class_sums(rows(p, np.zeros(100, dtype=np.int64)))
    # 50 answers are 20 too few, 50 are 35 too many; of the 50 wrong ones all are as stated
    assert_allclose(sums.sizes()[0], 0.55)
    assert_allclose(sums.sizes()[1:], 0.0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, pytest.param(30, marks=pytest.mark.nightly)])
def test_calibrated_classes_raise_few_false_alarms(k):
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(100):
        p = softmax(2.0 * rng.normal(size=(500, k)))
        alarms += judged(rows(p, drawn(rng, p)), 199).finds(Statistic.CLASSES)
    assert alarms <= 11  # 5 are due


def test_a_runner_up_that_is_all_of_the_rest_is_seen():
    rng = np.random.default_rng(3)
    n = 2_000
    sure, answer = rng.uniform(0.5, 0.99, n), rng.integers(0, 10, n)
    p = np.repeat(((1.0 - sure - 0.001) / 8)[:, None], 10, axis=1)
    second = (answer + 1) % 10
    p[np.arange(n), answer], p[np.arange(n), second] = sure, 0.001
    labels = np.where(rng.random(n) < sure, answer, second)
    test = judged(rows(p, labels))
    assert test.finds(Statistic.CLASSES)
    assert test.deviant.part == Partition.STATED
    assert not any(test.finds(s) for s in Statistic if s != Statistic.CLASSES)
    assert test.small is None


def test_classes_whose_errors_cancel_are_seen_and_one_is_named():
    rng = np.random.default_rng(4)
    p = softmax(2.0 * rng.normal(size=(10_000, 4)))
    sure, answer = p.max(axis=1), p.argmax(axis=1)
    truth = np.clip(sure + np.array([0.1, -0.1, 0.1, -0.1])[answer], 0.05, 0.95)
    wrong = np.where(answer == 0, 1, 0)
    labels = np.where(rng.random(len(p)) < truth, answer, wrong)
    test = judged(rows(p, labels))
    assert test.finds(Statistic.CLASSES)
    assert test.small is None
