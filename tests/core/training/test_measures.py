"""The scores of an epoch: by hand, and as an audit of the same logits has them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from core.arrays import CHUNK_BYTES
from core.configs import AuditConfig
from core.metrics.suite import audit
from core.predictions import Predictions, ScoreKind, Task
from core.training.distributions import (
    learned_logits,
    norm_histogram,
    reliability,
)
from core.training.loop import answers, measure

NAMES = {
    "val_nll", "val_nll_correct", "val_nll_wrong", "val_error", "val_ece", "val_ece_em",
    "val_entropy_correct", "val_entropy_wrong", "val_p_true",
    "val_p_true_correct", "val_p_true_wrong", "val_confidence_wrong",
}  # fmt: skip


def scores(logits: np.ndarray, targets: np.ndarray, task: Task = Task.MULTICLASS):
    return measure(answers(logits, targets, task))


def entropy(*p: float) -> float:
    return -math.fsum(x * math.log(x) for x in p)


# Classes ----------------------------------------------------------------------------------------

# Four rows of three classes, as probabilities: 0.7, 0.8 and 0.5 right, 0.6 wrong.
P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.6, 0.3, 0.1], [0.25, 0.25, 0.5]])
TRUE = np.array([0, 1, 1, 2])


def test_four_rows_by_hand():
    found = scores(np.log(P) + np.array([[3.0], [-7.0], [0.0], [100.0]]), TRUE)
    assert set(found) == NAMES
    by_hand = {
        "val_nll": -math.log(0.7 * 0.8 * 0.3 * 0.5) / 4,
        "val_nll_correct": -math.log(0.7 * 0.8 * 0.5) / 3,
        "val_nll_wrong": -math.log(0.3),
        "val_error": 0.25,
        # each confidence has a bin of its own, of 15 or of 4
        "val_ece": (0.3 + 0.2 + 0.6 + 0.5) / 4,
        "val_ece_em": (0.3 + 0.2 + 0.6 + 0.5) / 4,
        "val_entropy_correct": (
            entropy(0.7, 0.2, 0.1) + entropy(0.1, 0.8, 0.1) + entropy(0.25, 0.25, 0.5)
        )
        / 3,
        "val_entropy_wrong": entropy(0.6, 0.3, 0.1),
        "val_p_true": (0.7 + 0.8 + 0.3 + 0.5) / 4,
        "val_p_true_correct": (0.7 + 0.8 + 0.5) / 3,
        "val_p_true_wrong": 0.3,
        "val_confidence_wrong": 0.6,
    }
    assert found == pytest.approx(by_hand, rel=1e-12)


def test_what_each_row_says_by_hand():
    found = answers(np.log(P), TRUE, Task.MULTICLASS)
    assert found.confidence == pytest.approx([0.7, 0.8, 0.6, 0.5], rel=1e-12)
    assert found.correct.tolist() == [True, True, False, True]
    assert np.exp(found.log_p_true) == pytest.approx([0.7, 0.8, 0.3, 0.5], rel=1e-12)
    assert found.entropy == pytest.approx([entropy(*row) for row in P], rel=1e-12)


def test_the_two_eces_part_where_the_bins_do():
    """16 rows within one of 15 equal bins, but 15 bins of equal mass: gaps cancel in one only."""
    confidence = np.linspace(0.94, 0.99, 16)
    logits = np.log(np.column_stack([confidence, 1 - confidence]))
    truth = np.zeros(16, np.int64)
    truth[-1] = 1  # the most confident row alone is wrong
    found = scores(logits, truth, Task.BINARY)
    assert found["val_ece"] == pytest.approx(abs(confidence.mean() - 15 / 16), rel=1e-9)
    # the first bin holds two rows, the last the wrong one
    by_hand = ((1 - confidence[:-1]).sum() + confidence[-1]) / 16
    assert found["val_ece_em"] == pytest.approx(by_hand, rel=1e-9)


def test_equal_logits_answer_the_first_class_with_even_odds():
    found = answers(np.zeros((2, 4), np.float32), np.array([0, 3]), Task.MULTICLASS)
    assert found.confidence.tolist() == [0.25, 0.25]
    assert found.correct.tolist() == [True, False]
    assert found.entropy == pytest.approx([math.log(4)] * 2)


@pytest.mark.parametrize("n_classes", [2, 10, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_audit_of_the_same_logits_agrees(n_classes, dtype):
    draw = np.random.default_rng(n_classes)
    n = 3 * CHUNK_BYTES // 8 // 1000 + 17  # a few blocks of rows with a thousand classes
    logits = draw.normal(0, 4, (n, n_classes)).astype(dtype)
    truth = np.where(draw.random(n) < 0.7, logits.argmax(1), draw.integers(0, n_classes, n))
    found = scores(logits, truth)
    predictions = Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, truth)
    whole = audit(predictions, AuditConfig(n_resamples=10)).main.metrics
    for ours, theirs in (
        ("val_nll", "nll"),
        ("val_error", "error"),
        ("val_ece", "ece"),
        ("val_ece_em", "ece_em"),
    ):
        assert found[ours] == pytest.approx(whole[theirs].value, rel=1e-10, abs=1e-14)
    rows = predictions.rows
    p = predictions.probabilities()
    wrong = ~rows.correct
    assert found["val_nll_wrong"] == pytest.approx(-rows.log_p_true[wrong].mean(), rel=1e-10)
    assert found["val_nll_correct"] == pytest.approx(-rows.log_p_true[~wrong].mean(), rel=1e-10)
    assert found["val_p_true"] == pytest.approx(p[np.arange(n), truth].mean(), rel=1e-10)
    each = -np.sum(p * np.log(np.where(p > 0, p, 1)), axis=1)
    assert found["val_entropy_wrong"] == pytest.approx(each[wrong].mean(), rel=1e-10)


# Nothing to average, and far ends ---------------------------------------------------------------


def test_no_wrong_answer_leaves_what_is_averaged_over_them_unknown():
    found = scores(np.log(P[:2]), TRUE[:2])
    assert math.isnan(found["val_nll_wrong"])
    assert math.isnan(found["val_entropy_wrong"])
    assert all(math.isfinite(found[key]) != key.endswith("_wrong") for key in NAMES)


def test_no_right_answer_leaves_the_loss_of_right_answers_unknown():
    found = scores(np.log(P[:2]), np.array([2, 2]))
    assert math.isnan(found["val_nll_correct"])
    assert found["val_nll_wrong"] == found["val_nll"] == pytest.approx(-math.log(0.1))
    assert found["val_error"] == 1.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logits_of_1e30_have_finite_scores(dtype):
    logits = np.array([[1e30, -1e30, 0], [-1e30, 1e30, 1e30], [1e30, -1e30, 0]], dtype)
    found = scores(logits, np.array([0, 1, 1]))
    top = float(dtype(1e30))
    assert found["val_nll_wrong"] == pytest.approx(2 * top, rel=1e-12)
    assert found["val_nll"] == pytest.approx(2 * top / 3, rel=1e-12)
    assert found["val_nll_correct"] == pytest.approx(math.log(2) / 2, rel=1e-12)
    assert found["val_entropy_wrong"] == 0.0
    assert found["val_p_true"] == pytest.approx(0.5, rel=1e-12)
    assert found["val_ece"] == pytest.approx((1 + 0.5) / 3, rel=1e-12)


def test_labels_with_logits_of_1e30_have_finite_scores():
    logits = np.array([[1e30, -1e30, -1e30]], np.float32)
    found = scores(logits, np.array([[1.0, 0.0, 1.0]], np.float32), Task.MULTILABEL)
    assert found["val_nll_correct"] == 0.0
    assert found["val_nll_wrong"] == pytest.approx(1e30, rel=1e-6)
    assert found["val_entropy_wrong"] == 0.0
    assert found["val_error"] == pytest.approx(1 / 3)


@given(
    logits=hnp.arrays(
        np.float32, st.tuples(st.integers(1, 6), st.integers(2, 5)),
        elements=st.floats(-(2.0**100), 2.0**100, width=32),
    ),
    data=st.data(),
)  # fmt: skip
def test_any_finite_logits_have_scores_in_their_ranges(logits, data):
    n, k = logits.shape
    truth = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, k - 1)))
    found = scores(logits, truth)
    for key in ("val_error", "val_ece", "val_ece_em", "val_p_true"):
        assert 0 <= found[key] <= 1 + 1e-12
    assert math.isfinite(found["val_nll"])
    right = n - round(found["val_error"] * n)
    assert math.isnan(found["val_nll_correct"]) == (right == 0)
    assert math.isnan(found["val_entropy_wrong"]) == (right == n)
    if right < n:
        assert -1e-12 <= found["val_entropy_wrong"] <= math.log(k) + 1e-12


# Labels -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_labels_by_hand(dtype):
    """Two rows of three labels: each label of each row is an answer, yes above one half."""
    p = np.array([[0.9, 0.38, 0.2], [0.7, 0.5, 0.63]])
    present = np.array([[1, 1, 0], [0, 0, 1]], dtype)
    logits = np.log(p / (1 - p))
    logits[1, 1] = 0.0
    # answers: yes no no, yes no yes; the second and the fourth are wrong
    each = answers(logits, present, Task.MULTILABEL)
    assert each.confidence == pytest.approx([0.9, 0.62, 0.8, 0.7, 0.5, 0.63], rel=1e-12)
    assert each.correct.tolist() == [True, False, True, False, True, True]
    p_true = [0.9, 0.38, 0.8, 0.3, 0.5, 0.63]
    by_hand = {
        "val_nll": -math.log(math.prod(p_true)) / 6,
        "val_nll_correct": -math.log(0.9 * 0.8 * 0.5 * 0.63) / 4,
        "val_nll_wrong": -math.log(0.38 * 0.3) / 2,
        "val_error": 2 / 6,
        # of 15 bins, 0.62 and 0.63 share one; of bins of equal mass each answer has its own
        "val_ece": (0.1 + 0.2 + 0.7 + 0.5 + abs(0.62 + 0.63 - 1)) / 6,
        "val_ece_em": (0.1 + 0.2 + 0.7 + 0.5 + 0.62 + 0.37) / 6,
        "val_entropy_correct": (
            entropy(0.9, 0.1) + entropy(0.8, 0.2) + entropy(0.5, 0.5) + entropy(0.63, 0.37)
        )
        / 4,
        "val_entropy_wrong": (entropy(0.38, 0.62) + entropy(0.7, 0.3)) / 2,
        "val_p_true": sum(p_true) / 6,
        "val_p_true_correct": (0.9 + 0.8 + 0.5 + 0.63) / 4,
        "val_p_true_wrong": (0.38 + 0.3) / 2,
        "val_confidence_wrong": (0.62 + 0.7) / 2,
    }
    assert scores(logits, present, Task.MULTILABEL) == pytest.approx(by_hand, rel=1e-12)


def test_labels_are_pooled_in_any_order_of_rows_and_columns():
    draw = np.random.default_rng(0)
    logits = draw.normal(0, 3, (40, 5))
    present = draw.integers(0, 2, (40, 5))
    found = scores(logits, present, Task.MULTILABEL)
    rows, columns = draw.permutation(40), draw.permutation(5)
    again = scores(
        logits[rows][:, columns], present[rows][:, columns].astype(np.float32), Task.MULTILABEL
    )
    assert again == pytest.approx(found, rel=1e-12)


# Distributions ----------------------------------------------------------------------------------


def test_distributions_by_hand():
    # 25 bins of 0.04: 0.70 and 0.72 lie in (0.68, 0.72], 1.0 in the last one
    found = reliability(np.array([0.70, 0.72, 1.0]), np.array([True, False, True]))
    assert found == pytest.approx(
        {
            "train_bins.17.count": 2.0,
            "train_bins.17.confidence": 0.71,
            "train_bins.17.accuracy": 0.5,
            "train_bins.24.count": 1.0,
            "train_bins.24.confidence": 1.0,
            "train_bins.24.accuracy": 1.0,
        }
    )
    # three bins a decade from 1e-8: 0.15 lies in 10^(-1) to 10^(-2/3), 0 and 1e9 at the ends
    shares = norm_histogram(np.array([0.0, 0.15, 0.2, 1e9]))
    assert shares == {
        "row_grad_norm.0.share": 0.25,
        "row_grad_norm.21.share": 0.5,
        "row_grad_norm.29.share": 0.25,
    }


def test_largest_logits_by_learned_epoch_by_hand():
    """Bins half a logit wide from 0 to 10; groups of epochs 1 and 2, 3 and 4, 5 and 6, 7 and 8."""
    learned = np.array([1, 2, 2, 5, 9, 9, 9])
    largest = np.array([0.0, 8.25, 10.0, 4.1, 2.1, 2.2, 3.0])
    parts = learned_logits(learned, largest, 8)
    assert parts.pop("train_learned.0.lower") == 0.0
    assert parts.pop("train_learned.19.upper") == 10.0
    assert parts["train_learned.7.lower"] == parts["train_learned.6.upper"] == 3.5
    groups = {0: (1, 2, 8.25), 2: (5, 6, 4.1), 4: (9, 9, 2.2)}  # none was learned in the others
    for g, values in groups.items():
        assert [parts[f"train_learned.{g}.{name}"] for name in ("first", "last", "median")] == [
            *values
        ]
    counts = {(b, g): parts[f"train_learned.{b}.of{g}"] for b in range(20) for g in groups}
    there = {(0, 0): 1, (16, 0): 1, (19, 0): 1, (8, 2): 1, (4, 4): 2, (6, 4): 1}
    assert {place: n for place, n in counts.items() if n} == there
    assert not any(name.endswith((".of1", ".of3")) for name in parts)


def test_largest_logits_that_are_no_numbers_are_left_out():
    learned, largest = np.array([1, 2, 1, 1]), np.array([np.nan, 2.0, 3.0, np.inf])
    assert learned_logits(learned, largest, 2) == learned_logits(learned[1:3], largest[1:3], 2)
    assert learned_logits(learned[:1], largest[:1], 2) == {}
