"""Fitting on one part and judging on another: the cut, the scores, and what changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.arrays import softmax
from core.calibrators import CALIBRATORS
from core.errors import Refused, UsageError
from core.predictions import Predictions, ScoreKind, Task, Weights
from core.studies.posthoc import (
    RowChoice,
    calibrated,
    cut,
    evaluate,
    evaluate_splits,
    fit,
    fit_default,
    fitted_temperature,
    judge,
    logits_of,
    parts,
    provenance,
)
from tests.core.calibrators.cases import drawn

RNG = np.random.default_rng(0)


def rows(n=60, kind=ScoreKind.LOGITS, scores=None, task=Task.MULTICLASS, **more):
    logits = RNG.normal(size=(n, 3)) if scores is None else np.asarray(scores)
    labels = more.pop("labels", np.arange(len(logits)) % 3)
    return Predictions(task, kind, logits, labels, **more)


@given(st.integers(2, 200), st.floats(0.1, 0.9), st.integers(0, 10**6))
def test_cut_keeps_every_row_once_in_the_files_order(n, share, seed):
    whole = rows(n, row_ids=tuple(str(i) for i in range(n)))
    first, second = cut(whole, share, seed)
    ids = [[int(i) for i in one.row_ids] for one in (first, second)]
    assert sorted(ids[0] + ids[1]) == list(range(n))
    assert ids[0] == sorted(ids[0])
    assert ids[1] == sorted(ids[1])
    assert abs(first.n - share * n) <= 1
    for one, at in zip((first, second), ids, strict=True):
        np.testing.assert_array_equal(one.scores, whole.scores[at])
        np.testing.assert_array_equal(one.labels, whole.labels[at])
        assert one.class_names == whole.class_names
    assert cut(whole, share, seed)[0].digest == first.digest


def test_cut_is_drawn_at_random_and_by_the_seed():
    whole = rows(200, row_ids=tuple(str(i) for i in range(200)))
    first, _ = cut(whole, 0.5, 0)
    other, _ = cut(whole, 0.5, 1)
    low = sum(int(i) < 100 for i in first.row_ids)
    assert 25 < low < 75  # not the first half
    assert first.row_ids != other.row_ids


@pytest.mark.parametrize("method", sorted(CALIBRATORS))
@pytest.mark.parametrize("kind", [ScoreKind.LOGITS, ScoreKind.PROBABILITIES])
def test_many_rows_are_calibrated_part_by_part(monkeypatch, method, kind):
    logits, labels = drawn(97, 4, seed=3)
    scores = logits if kind is ScoreKind.LOGITS else softmax(logits)
    whole = Predictions(Task.MULTICLASS, kind, scores, labels)
    calibrator = fit(method, whole).calibrator
    at_once = calibrated(calibrator, whole)
    monkeypatch.setattr("core.arrays.MAPPED_BYTES", 64)
    monkeypatch.setattr("core.studies.posthoc.PART_BYTES", 97 * 4 * 8 // 9)
    by_part = calibrated(calibrator, whole)
    np.testing.assert_allclose(by_part.scores, at_once.scores, rtol=1e-13, atol=1e-300)
    assert by_part.kind is at_once.kind


def test_many_rows_of_one_logit_or_many_labels_are_calibrated_part_by_part(monkeypatch):
    logit = RNG.normal(size=90)
    binary = Predictions(Task.BINARY, ScoreKind.LOGITS, logit, (logit > RNG.normal(size=90)) * 1)
    many = rows(90, task=Task.MULTILABEL, labels=RNG.integers(0, 2, (90, 3)))
    for whole in (binary, many):
        calibrator = fit("ts", whole).calibrator
        at_once = calibrated(calibrator, whole)
        with monkeypatch.context() as patch:
            patch.setattr("core.arrays.MAPPED_BYTES", 64)
            patch.setattr("core.studies.posthoc.PART_BYTES", 80)
            by_part = calibrated(calibrator, whole)
        np.testing.assert_allclose(by_part.scores, at_once.scores, rtol=1e-13)


def test_one_row_cannot_be_cut():
    with pytest.raises(Refused, match="One row"):
        cut(rows(1), 0.5, 0)


def test_a_part_without_weight_is_no_part():
    weights = Weights.of("w", np.eye(1, 40, 5).ravel())  # one row alone counts
    with pytest.raises(Refused, match="Too few rows have a weight"):
        cut(replace(rows(40), weights=weights), 0.5, 0)


@pytest.mark.parametrize(
    ("splits", "test", "expected"),
    [
        (("val", "test"), "test", "val"),
        (("train", "val", "test"), "test", "val"),
        (("train", "test"), "test", "train"),
        (("test",), "test", "cut"),
        (("val", "test"), "val", "test"),
    ],
)
def test_what_is_fitted_on_when_nobody_says(splits, test, expected):
    assert fit_default(splits, test) == expected


def test_parts_of_two_splits_are_the_splits():
    splits = {"val": rows(30), "test": rows(40)}
    found = parts(splits, "val", "test", share=0.5, seed=0)
    assert (found.fit, found.test, found.cut, found.notices) == (
        splits["val"],
        splits["test"],
        None,
        (),
    )


def test_rows_of_a_cut_are_counted_before_they_are_copied(monkeypatch):
    whole = replace(rows(60), weights=Weights.of("films", np.arange(1.0, 61.0)))
    first, second = cut(whole, 0.3, 4)
    with monkeypatch.context() as patch:
        patch.setattr(Predictions, "take", None)
        found = parts({"test": whole}, "cut", "test", share=0.3, seed=4)
        assert (found.n_fit, found.n_test, found.same_rows) == (18, 42, False)
        np.testing.assert_array_equal(found.fit_weights, first.weights.of_row)
    assert (found.fit.digest, found.test.digest) == (first.digest, second.digest)
    some = np.array([2, 17])
    np.testing.assert_array_equal(found.some_fit(some).scores, first.scores[some])


def test_a_method_is_fitted_where_the_scores_lie():
    whole = rows(80)
    first, second = cut(whole, 0.5, 1)
    choice = RowChoice("cut", "test", 0.5, 1)
    found = evaluate_splits("ts", {"test": whole}, choice, "nll", "exact")
    expected = evaluate("ts", first, second, "nll", "exact")
    assert found.fit.calibrator.temperature_ == expected.fit.calibrator.temperature_
    assert found.judged.compared.rows == expected.judged.compared.rows
    values = [
        {key: score.value for key, score in one.judged.compared.audit.main.metrics.items()}
        for one in (found, expected)
    ]
    assert values[0] == values[1]


def test_split_that_is_called_cut_is_a_split():
    splits = {"cut": rows(30), "test": rows(40)}
    assert parts(splits, "cut", "test", share=0.5, seed=0).fit is splits["cut"]
    with pytest.raises(UsageError):
        parts({"test": rows(9)}, "test", "cut", share=0.5, seed=0)


def test_probabilities_become_their_logarithms():
    p = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]])
    found = logits_of(rows(kind=ScoreKind.PROBABILITIES, scores=p, labels=np.array([0, 1])))
    np.testing.assert_allclose(np.exp(found), p, atol=1e-15)
    assert found[1, 0] == -np.inf


def test_binary_and_multi_label_probabilities_become_log_odds():
    p = np.array([0.0, 0.25, 0.5, 1.0])
    y = np.array([0, 1, 0, 1])
    one = logits_of(rows(kind=ScoreKind.PROBABILITIES, scores=p, task=Task.BINARY, labels=y))
    np.testing.assert_allclose(one, [-745, -np.log(3), 0, 745], rtol=1e-15)
    many = logits_of(
        rows(kind=ScoreKind.SIGMOID, scores=p[:, None], task=Task.MULTILABEL, labels=y[:, None])
    )
    np.testing.assert_array_equal(many[:, 0], one)


def test_logits_are_handed_over_as_they_are():
    one = rows(scores=RNG.normal(size=(9, 3)).astype(np.float32))
    assert logits_of(one) is one.scores


def test_changed_answers_are_counted():
    whole = rows(300, labels=np.where(np.arange(300) % 3 == 0, 1, np.arange(300) % 3))
    found = fit("vector", whole)
    judged = judge(whole, found.calibrator)
    p = found.calibrator.predict_proba(whole.scores)
    expected = sum(a != b for a, b in zip(p.argmax(1), whole.scores.argmax(1), strict=True))
    assert judged.changed == expected > 0
    assert judge(whole, None).changed == 0


def test_changed_answers_of_many_labels_are_counted_at_one_half():
    p = np.tile([[0.3, 0.6]], (40, 1))
    labels = np.column_stack([np.arange(40) % 4 > 0, np.arange(40) % 4 > 0]).astype(int)
    whole = rows(kind=ScoreKind.SIGMOID, scores=p, task=Task.MULTILABEL, labels=labels)
    found = fit("histogram", whole)  # both labels are present in 75 of 100 rows
    assert judge(whole, found.calibrator).changed == 40


def test_saturated_rows_keep_a_finite_nll():
    z = np.where(np.eye(3)[np.arange(60) % 3] > 0, 1e4, -1e4)
    z[:6] = z[:6][:, ::-1]  # some surely wrong
    whole = rows(scores=z)
    found = calibrated(fit("ts", whole).calibrator, whole)
    assert found.kind is ScoreKind.LOGITS
    assert np.isfinite(found.log_probabilities()).all()


def test_true_zeros_stay_probabilities():
    whole = rows(300)
    found = calibrated(fit("isotonic", whole).calibrator, whole)
    assert found.kind is ScoreKind.PROBABILITIES


def test_method_without_a_form_for_the_task_is_a_reason_not_an_error():
    y = np.arange(40) % 2
    whole = rows(
        kind=ScoreKind.SIGMOID,
        scores=RNG.random((40, 2)),
        task=Task.MULTILABEL,
        labels=np.column_stack([y, y]),
    )
    found = fit("matrix", whole)
    assert (found.calibrator, found.report) == (None, None)
    assert "has no form for multilabel" in found.refusal


def labelled(scores, kind=ScoreKind.SIGMOID):
    labels = np.column_stack([np.arange(len(scores)) % 4 > 0, np.arange(len(scores)) % 3 > 0])
    return rows(kind=kind, scores=scores, task=Task.MULTILABEL, labels=labels.astype(int))


def test_calibrator_of_labels_is_refused_for_classes_and_the_other_way_round():
    many, one = labelled(RNG.random((60, 2))), rows()
    for fitted_on, applied_to in ((many, one), (one, many)):
        with pytest.raises(Refused, match="the file holds") as caught:
            calibrated(fit("ts", fitted_on).calibrator, applied_to)
        assert caught.value.code == "CLASSES"


def test_saturated_labels_keep_a_finite_nll():
    z = np.float32(300) * RNG.normal(size=(60, 2)).astype(np.float32)
    z[:8] = np.float32(900) * np.sign(z[:8])
    many = labelled(z, ScoreKind.LOGITS)
    fitted = fit("ts", many).calibrator
    found = calibrated(fitted, many)
    assert found.kind is ScoreKind.LOGITS
    for k, member in enumerate(fitted.members_):
        expected = z[:, k].astype(float) / member.temperature_
        np.testing.assert_allclose(found.scores[:, k], expected, rtol=1e-9)


def test_labels_that_nothing_saturates_stay_probabilities():
    many = labelled(RNG.random((60, 2)))
    assert calibrated(fit("ts", many).calibrator, many).kind is ScoreKind.SIGMOID


def weighted_and_repeated(n=200, seed=0, column="films"):
    """Rows with weights, and the same rows repeated; wrong answers weigh most."""
    rng = np.random.default_rng(seed)
    scores = 3.0 * rng.normal(size=(n, 3))
    labels = (scores / 3.0 + rng.gumbel(size=scores.shape)).argmax(axis=1)
    times = np.where(scores.argmax(axis=1) != labels, 3, rng.integers(0, 3, n))
    again = np.repeat(np.arange(n), times)
    whole = rows(scores=scores, labels=labels, weights=Weights.of(column, times))
    return whole, rows(scores=scores[again], labels=labels[again])


@pytest.mark.parametrize("method", ["ts", "ets", "vector", "isotonic", "histogram"])
def test_weights_of_the_rows_enter_the_fit_and_what_is_judged(method):
    whole, again = weighted_and_repeated()
    test, test_again = weighted_and_repeated(seed=1)
    found = evaluate(method, whole, test, "nll", "exact")
    expected = evaluate(method, again, test_again, "nll", "exact")
    plain = evaluate(method, replace(whole, weights=None), test, "nll", "exact")
    for key in ("accuracy", "brier", "ece"):
        one, other, without = (
            each.judged.compared.audit.main.metrics[key].value for each in (found, expected, plain)
        )
        assert one == pytest.approx(other, rel=1e-5)
        if key == "brier":
            assert abs(one - without) > 1e-4


def test_temperature_of_other_pages_is_fitted_by_weight():
    whole, again = weighted_and_repeated()
    found = fitted_temperature(whole)
    assert found == pytest.approx(fitted_temperature(again), rel=1e-9)
    assert found > fitted_temperature(replace(whole, weights=None)) + 0.1


def test_what_a_calibrator_was_fitted_on_names_the_column_of_weights():
    whole, again = weighted_and_repeated()
    there = parts({"val": whole, "test": again}, "val", "test", share=0.5, seed=0)
    assert provenance(there)["weights"] == "films"
    back = parts({"val": whole, "test": again}, "test", "val", share=0.5, seed=0)
    assert "weights" not in provenance(back)
