"""Predictions hold their invariants and give the rows that every metric starts from."""

import math
from hashlib import blake2b

import numpy as np
import pytest

from core.arrays import row_chunks
from core.errors import Refused
from core.predictions import Groups, Predictions, ScoreKind, Task, Votes, Weights


def multiclass(scores, labels, kind=ScoreKind.LOGITS, **more):
    return Predictions(Task.MULTICLASS, kind, np.asarray(scores), np.asarray(labels), **more)


def slow_rows(scores, labels):
    """Softmax, confidence, log p and Brier one row at a time with the math module."""
    out = []
    for row, label in zip(scores.tolist(), labels.tolist(), strict=True):
        top = max(row)
        total = math.fsum(math.exp(z - top) for z in row)
        p = [math.exp(z - top) / total for z in row]
        brier = math.fsum((q - (k == label)) ** 2 for k, q in enumerate(p))
        best = row.index(top)
        out.append((p[best], best, best == label, row[label] - top - math.log(total), brier))
    return [np.array(column) for column in zip(*out, strict=True)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_rows_agree_with_a_row_by_row_computation(dtype, k):
    rng = np.random.default_rng(k)
    scores = (3 * rng.normal(size=(57, k))).astype(dtype)
    labels = rng.integers(0, k, 57)
    rows = multiclass(scores, labels).rows
    confidence, predicted, correct, log_p, brier = slow_rows(scores, labels)
    np.testing.assert_allclose(rows.confidence, confidence, rtol=1e-13)
    np.testing.assert_array_equal(rows.predicted, predicted)
    np.testing.assert_array_equal(rows.correct, correct.astype(bool))
    np.testing.assert_allclose(rows.log_p_true, log_p, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(rows.brier, brier, rtol=1e-12, atol=1e-14)


def test_many_chunks_equal_one(monkeypatch):
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(101, 7)), rng.integers(0, 7, 101)
    whole = multiclass(scores, labels)
    expected = whole.rows
    monkeypatch.setattr(row_chunks, "__defaults__", (8 * 7 * 3,))
    got = multiclass(scores, labels)
    np.testing.assert_allclose(got.rows.log_p_true, expected.log_p_true, rtol=1e-15)
    np.testing.assert_allclose(got.rows.brier, expected.brier, rtol=1e-14)
    np.testing.assert_array_equal(got.column(3), whole.column(3))


def test_ties_go_to_the_lowest_class_and_are_counted():
    rows = multiclass([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0]], [1, 1]).rows
    assert rows.predicted.tolist() == [0, 1]
    assert rows.correct.tolist() == [False, True]
    assert rows.tied == 1


def test_probabilities_are_used_as_read():
    p = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0]])
    rows = multiclass(p, [0, 0], ScoreKind.PROBABILITIES).rows
    assert rows.confidence.tolist() == [0.7, 1.0]
    assert rows.log_p_true[0] == np.log(0.7)
    assert rows.log_p_true[1] == -np.inf
    # (0.7-1)^2 + 0.2^2 + 0.1^2 = 0.14; (0-1)^2 + 1^2 = 2
    np.testing.assert_allclose(rows.brier, [0.14, 2.0], rtol=1e-14)


def test_renormalising_divides_by_the_row_sum():
    p = np.array([[0.5, 0.3], [0.2, 0.2]])
    got = multiclass(p, [0, 1], ScoreKind.PROBABILITIES, renormalise=True)
    np.testing.assert_allclose(got.probabilities(), [[0.625, 0.375], [0.5, 0.5]])


def test_saturated_wrong_logits_keep_their_loss():
    rows = multiclass([[800.0, 0.0]], [1]).rows
    assert (rows.confidence[0], rows.log_p_true[0], rows.brier[0]) == (1.0, -800.0, 2.0)


@pytest.mark.parametrize(
    ("kind", "scores"),
    [
        (ScoreKind.SIGMOID, [0.2, 0.75, 0.5]),
        (ScoreKind.LOGITS, [np.log(0.25), np.log(3.0), 0.0]),
    ],
)
def test_binary_scores_of_one_column_stand_for_class_one(kind, scores):
    got = Predictions(Task.BINARY, kind, np.array(scores), np.array([0, 1, 1]))
    np.testing.assert_allclose(got.column(1), [0.2, 0.75, 0.5], rtol=1e-15)
    np.testing.assert_allclose(got.column(0), [0.8, 0.25, 0.5], rtol=1e-15)
    assert got.rows.predicted.tolist() == [0, 1, 0]  # 0.5 is a tie: the lowest index
    np.testing.assert_allclose(got.rows.log_p_true, np.log([0.8, 0.75, 0.5]), rtol=1e-14)
    assert got.default_target == 1


def test_one_and_two_column_binary_agree():
    rng = np.random.default_rng(1)
    z, y = 4 * rng.normal(size=80), rng.integers(0, 2, 80)
    one = Predictions(Task.BINARY, ScoreKind.LOGITS, z, y)
    two = Predictions(Task.BINARY, ScoreKind.LOGITS, np.column_stack([0 * z, z]), y)
    np.testing.assert_allclose(one.outcomes(1).confidence, two.outcomes(1).confidence, rtol=1e-13)
    np.testing.assert_allclose(one.rows.log_p_true, two.rows.log_p_true, rtol=1e-12)


def test_multilabel_columns_are_sigmoids_and_labels_are_per_column():
    logits = np.array([[0.0, np.log(3.0)], [-np.log(4.0), 0.0]])
    got = Predictions(
        task=Task.MULTILABEL,
        kind=ScoreKind.LOGITS,
        scores=logits,
        labels=np.array([[0, 1], [1, 0]]),
        class_names=("a", "b"),
    )
    np.testing.assert_allclose(got.outcomes(1).confidence, [0.75, 0.5])
    assert got.outcomes(1).correct.tolist() == [True, False]
    assert got.outcomes(0).correct.tolist() == [False, True]
    with pytest.raises(Refused, match="pick a label"):
        _ = got.rows


def test_top_label_states_confidence_and_answer_and_nothing_else():
    got = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        np.array([0.9, 0.6]),
        np.array([2, 0]),
        predicted=np.array([2, 1]),
    )
    assert got.n_classes == 3
    assert got.outcomes(None).correct.tolist() == [True, False]
    assert np.isnan(got.rows.log_p_true).all()
    with pytest.raises(Refused, match="full class scores"):
        got.probabilities()


def test_input_is_shared_and_locked():
    scores, labels = np.array([[1.0, 0.0]]), np.array([0])
    got = multiclass(scores, labels)
    assert np.shares_memory(got.scores, scores)
    assert scores.flags.writeable
    assert not got.scores.flags.writeable
    assert not got.labels.flags.writeable


def test_digest_tells_kind_names_and_values_apart():
    p = np.array([[0.5, 0.5]])
    variants = [
        multiclass(p, [0]),
        multiclass(p, [1]),
        multiclass(p, [0], ScoreKind.PROBABILITIES),
        multiclass(p, [0], ScoreKind.PROBABILITIES, renormalise=True),
        multiclass(p, [0], class_names=("a", "b")),
    ]
    assert len({v.digest for v in variants}) == len(variants)


NAMED = {"class_names": ("a", "b", "c"), "row_ids": ("x", "y")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # joined by a bar, or by nothing, these are the same
        ({"class_names": ("a|b", "c", "d")}, {"class_names": ("a", "b|c", "d")}),
        ({"class_names": ("ab", "c", "d")}, {"class_names": ("a", "bc", "d")}),
        (NAMED, NAMED | {"row_ids": ("y", "x")}),
        (NAMED, NAMED | {"row_ids": ("xy", "")}),
        (NAMED, NAMED | {"row_ids": ()}),
        ({"groups": Groups("patient", np.arange(2))}, {"groups": Groups("site", np.arange(2))}),
        ({"weights": Weights("w", np.ones(2))}, {"weights": Weights("v", np.ones(2))}),
        ({"votes": Votes("crowd", np.ones((2, 3)))}, {"votes": Votes("us", np.ones((2, 3)))}),
        ({"groups": Groups("w", np.arange(2))}, {"weights": Weights("w", np.arange(2.0))}),
    ],
)
def test_digest_tells_every_name_apart(one, other):
    scores, labels = np.eye(3)[:2], [0, 1]
    first, second = (multiclass(scores, labels, **more) for more in (one, other))
    assert first.digest != second.digest
    assert multiclass(scores.copy(), labels, **one).digest == first.digest


def test_digest_takes_ids_that_are_no_text():
    broken = multiclass(np.eye(2), [0, 1], row_ids=("\ud800", "b"))
    assert broken.digest != multiclass(np.eye(2), [0, 1], row_ids=("?", "b")).digest


def test_a_stated_digest_is_held_against_one_of_its_own_version():
    rows = multiclass(np.eye(2), [0, 1], class_names=("a", "b"))
    # by hand: task, kind, whether renormalised and names, then bytes behind dtype and shape
    flags = "multiclass|logits|False|a|b"
    state = blake2b(f"s{len(flags)}:{flags}".encode(), digest_size=16)
    state.update(b"a<f8(2, 2)" + np.eye(2).tobytes())
    state.update(b"a<i8(2,)" + np.array([0, 1]).tobytes())
    assert rows.first_digest == state.hexdigest()
    assert rows.digest_as("0" * 32) == rows.first_digest
    assert rows.digest_as(rows.digest) == rows.digest != rows.first_digest


def test_rows_are_the_same_by_scores_and_labels_whatever_they_are_called():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(9, 3)), rng.integers(0, 3, 9)
    rows = multiclass(scores, labels, row_ids=tuple("abcdefghi"))
    assert rows.holds_rows_of(rows)
    assert rows.holds_rows_of(multiclass(scores.copy(), labels, class_names=("x", "y", "z")))
    changed = scores.copy()
    changed[8, 2] = np.nextafter(changed[8, 2], 9.0)
    assert not rows.holds_rows_of(multiclass(changed, labels))
    assert not rows.holds_rows_of(multiclass(scores, (labels + 1) % 3))
    assert not rows.holds_rows_of(multiclass(scores[:8], labels[:8]))


@pytest.mark.parametrize(
    ("scores", "labels", "code"),
    [
        (np.zeros((0, 3)), np.zeros(0, int), "EMPTY"),
        (np.zeros((2, 3)), np.array([0]), "LENGTH_MISMATCH"),
        (np.zeros((2, 1)), np.array([0, 0]), "CLASSES"),
        (np.zeros((2, 3)), np.array([0, 3]), "LABEL_RANGE"),
        (np.zeros((2, 3)), np.array([0, -1]), "LABEL_RANGE"),
    ],
)
def test_what_no_reader_may_hand_over(scores, labels, code):
    with pytest.raises(Refused) as caught:
        multiclass(scores, labels)
    assert caught.value.code == code
    if code == "LABEL_RANGE":
        assert caught.value.location == "row 1"


def outside(**more):
    scores = np.array([[2.0, 0.0, 1.0], [0.0, 0.5, 0.0]])
    parts = {"labels": np.full(2, -1), "labelled": False} | more
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, scores, **parts)


def test_inputs_of_no_class_have_probabilities_and_no_truth():
    found = outside()
    np.testing.assert_allclose(found.probabilities().sum(axis=1), 1.0)
    for ask in (lambda: found.rows, lambda: found.outcomes(None), lambda: found.outcomes(1)):
        with pytest.raises(Refused, match="NO_LABELS"):
            ask()


def test_inputs_of_no_class_are_another_thing_than_labelled_ones():
    labelled = outside(labels=np.array([0, 1]), labelled=True)
    assert outside().digest != labelled.digest
    with pytest.raises(Refused, match="LABEL_RANGE"):
        outside(labels=np.array([-1, 0]))
    with pytest.raises(Refused, match="LABEL_RANGE"):
        outside(labels=np.array([0, -1]), labelled=True)


def test_stated_scores_of_no_class_may_be_any_numbers_without_an_answer():
    found = Predictions(
        Task.TOP_LABEL, ScoreKind.CONFIDENCE, np.array([-3.5, 12.0]), np.full(2, -1), labelled=False
    )
    assert (found.n, found.predicted) == (2, None)


# Rows that belong together, and rows that stand for more than themselves ----------------------


def test_groups_are_numbered_and_travel_with_the_outcomes():
    groups = Groups.of("patient", ["b", "a", "b", "c"])
    assert (groups.count, groups.of_row.tolist()) == (3, [1, 0, 1, 2])
    file = multiclass(np.eye(4), [0, 1, 2, 3], groups=groups, weights=Weights.of("w", [1, 0, 2, 3]))
    for target in (None, 2):
        outcomes = file.outcomes(target)
        assert outcomes.groups.tolist() == [1, 0, 1, 2]
        assert outcomes.weights.tolist() == [1.0, 0.0, 2.0, 3.0]
    plain = multiclass(np.eye(4), [0, 1, 2, 3])
    assert plain.outcomes(None).groups is plain.outcomes(None).weights is None
    digests = {plain.digest, file.digest, multiclass(np.eye(4), [0, 1, 2, 3], groups=groups).digest}
    assert len(digests) == 3


def test_weights_are_rows_and_fractions_are_scaled_to_as_many():
    assert Weights.of("w", [2.0, 2.0, 0.0]).of_row.tolist() == [2.0, 2.0, 0.0]
    np.testing.assert_allclose(Weights.of("w", [0.1, 0.3, 0.2]).of_row, [0.5, 1.5, 1.0], rtol=1e-15)


@pytest.mark.parametrize("values", [[1, -1], [1, np.nan], [1, np.inf], [0, 0]])
def test_weights_that_are_none_are_refused(values):
    with pytest.raises(Refused) as caught:
        Weights.of("w", np.array(values, float))
    assert caught.value.code == "WEIGHTS"


@pytest.mark.parametrize("values", [["a", "a"], ["a", " "]])
def test_one_group_and_rows_without_one_are_refused(values):
    with pytest.raises(Refused) as caught:
        Groups.of("patient", values)
    assert caught.value.code == "GROUPS"


@pytest.mark.parametrize(
    "more", [{"groups": Groups.of("g", ["a", "b"])}, {"weights": Weights.of("w", [1])}]
)
def test_groups_and_weights_have_an_entry_a_row(more):
    with pytest.raises(Refused) as caught:
        multiclass(np.eye(3), [0, 1, 2], **more)
    assert caught.value.code == "LENGTH_MISMATCH"


@pytest.mark.parametrize("largest", [2e12, 1e155, 1e308])
def test_weights_that_stand_for_more_rows_than_can_be_counted_are_refused(largest):
    with pytest.raises(Refused, match="stand for") as caught:
        Weights.of("w", np.array([1.0, largest, largest]))
    assert (caught.value.code, caught.value.location) == ("WEIGHTS", "row 1")


def test_weights_may_be_as_small_as_numbers_are():
    found = Weights.of("w", np.array([1e-320, 2e-320, 0.0])).of_row
    np.testing.assert_allclose(found, [2 / 3, 4 / 3, 0.0], rtol=1e-3)


@pytest.mark.parametrize("n_names", [2, 4, 10_000])
@pytest.mark.parametrize("task", [Task.MULTICLASS, Task.MULTILABEL])
def test_names_of_classes_are_as_many_as_columns(task, n_names):
    """A label beyond the columns would be read beyond the matrix."""
    scores = np.zeros((5, 3), np.float32)
    labels = np.zeros((5, 3) if task is Task.MULTILABEL else 5, np.int64)
    names = tuple(str(k) for k in range(n_names))
    with pytest.raises(Refused, match="names of classes"):
        Predictions(task, ScoreKind.LOGITS, scores, labels, class_names=names)


def test_stated_answers_may_leave_classes_out_but_not_go_beyond_their_names():
    answers, labels = np.array([0, 1, 4]), np.array([0, 2, 4])
    given = {"scores": np.full(3, 0.5), "labels": labels, "predicted": answers}
    Predictions(Task.TOP_LABEL, ScoreKind.CONFIDENCE, class_names=tuple("abcdefg"), **given)
    with pytest.raises(Refused, match="names of classes"):
        Predictions(Task.TOP_LABEL, ScoreKind.CONFIDENCE, class_names=tuple("abcd"), **given)


def test_rows_are_taken_from_a_matrix_that_begins_anywhere():
    scores = np.arange(12, dtype=np.float32)
    bytes_ = np.frombuffer(b"x" + scores.tobytes(), np.uint8)[1:]
    whole = Predictions(
        Task.MULTICLASS, ScoreKind.LOGITS, bytes_.view(np.float32).reshape(4, 3), np.arange(4) % 3
    )
    assert whole.take(np.array([2, 0])).scores.tolist() == [[6, 7, 8], [0, 1, 2]]
