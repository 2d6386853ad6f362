"""Bins of each class, and classes drawn from probabilities, beside definitions written plainly."""

import numpy as np
import pytest

from core.compiled.rows import (
    add_binned,
    add_binned_softmax,
    add_redrawn,
    add_wrong,
    add_wrong_softmax,
)
from core.metrics.binning import bin_index, equal_width_edges
from core.metrics.classwise import classwise_ece
from core.predictions import Predictions, ScoreKind, Task
from tests.reference import slow_metrics

BINS = 15


def plain_hits(p, draws, weights):
    """Count, draw by draw, the first class whose running sum of probabilities reaches the draw."""
    hits = np.zeros((p.shape[1] * BINS, draws.shape[1]))
    edges = equal_width_edges(BINS)
    for i, row in enumerate(p):
        line = np.cumsum(row)
        for r, value in enumerate(draws[i] * line[-1]):
            k = int(np.flatnonzero(line >= value)[0])
            hits[k * BINS + int(bin_index(row[[k]], edges)[0]), r] += weights[i]
    return hits


@pytest.mark.parametrize("n_classes", [2, 3, 7, 64, 100])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_each_draw_is_counted_where_it_falls(n_classes, dtype):
    rng = np.random.default_rng(n_classes)
    p = rng.dirichlet(np.full(n_classes, 0.3), 40)
    p[0], p[1] = np.eye(n_classes)[[0, n_classes - 1]]  # one class is certain: no other is drawn
    p[2] = 1.0 / n_classes
    draws = rng.random((40, 9))
    draws[:, 0], draws[:, 1] = 0.0, np.nextafter(1.0, 0.0)
    weights = rng.integers(0, 5, 40).astype(dtype) * (1 if dtype == np.int32 else 0.25)
    hits = np.zeros((n_classes * BINS, 9), dtype)
    add_redrawn(p, draws, equal_width_edges(BINS), weights.astype(dtype), hits)
    np.testing.assert_array_equal(hits, plain_hits(p, draws, weights))


@pytest.mark.parametrize("value", [k / BINS for k in range(BINS + 1)])
def test_a_probability_on_an_edge_lies_below_it(value):
    p, hits = np.array([[value, 1.0 - value]]), np.zeros((2 * BINS, 1), np.int32)
    draw = np.array([[0.0 if value > 0.0 else 0.5]])
    add_redrawn(p, draw, equal_width_edges(BINS), np.ones(1, np.int32), hits)
    drawn = 0 if value > 0.0 else 1
    own = int(bin_index(p[0, [drawn]], equal_width_edges(BINS))[0])
    assert np.flatnonzero(hits[:, 0]).tolist() == [drawn * BINS + own]


def test_classes_are_drawn_as_often_as_they_are_likely():
    p, rounds = np.array([[0.5, 0.2, 0.3]]), 200_000
    hits = np.zeros((3 * BINS, rounds), np.int32)
    draws = np.random.default_rng(0).random((1, rounds))
    add_redrawn(p, draws, equal_width_edges(BINS), np.ones(1, np.int32), hits)
    shares = hits.reshape(3, BINS, rounds).sum(axis=(1, 2)) / rounds
    np.testing.assert_allclose(shares, p[0], atol=5 * 0.5 / np.sqrt(rounds))


def plain_sums(p, labels, weights, n_bins):
    """Return rows, probabilities and occurrences by class and bin, less the rows of first bins."""
    sums, edges = np.zeros((3, p.shape[1], n_bins)), equal_width_edges(n_bins)
    for i, row in enumerate(p):
        for k, at in enumerate(bin_index(row, edges)):
            sums[:, k, at] += weights[i] * np.array([at > 0, row[k], k == labels[i]])
    return sums


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_bins", [1, 2, 15])
@pytest.mark.parametrize("shape", [(1, 2), (7, 3), (50, 64), (9, 65), (33, 130)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_are_summed_by_class_and_bin(shape, n_bins, dtype):
    rng = np.random.default_rng(n_bins)
    logits = (rng.standard_normal(shape) * 4).astype(dtype)
    logits[0, 1:] = -np.inf  # one class is certain
    labels, weights = rng.integers(0, shape[1], shape[0]), rng.integers(0, 3, shape[0]) / 2
    expected = plain_sums(softmax(logits.astype(np.float64)), labels, weights, n_bins)
    edges, sums = equal_width_edges(n_bins), np.zeros_like(expected)
    add_binned_softmax(logits, labels, weights, edges, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)
    sums[:] = 0.0
    p = np.round(softmax(logits.astype(np.float64)) * n_bins, 1) / n_bins  # many lie on an edge
    add_binned(p, labels, weights, edges, sums)
    np.testing.assert_allclose(sums, plain_sums(p, labels, weights, n_bins), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("rows", [4095, 4096, 4097, 9000])
def test_many_rows_are_summed_to_the_last_one(rows):
    logits = np.random.default_rng(rows).standard_normal((rows, 3)) * 3
    labels = np.arange(rows) % 3
    p = softmax(logits)
    for loop, scores in ((add_binned, p), (add_binned_softmax, logits)):
        sums = np.zeros((3, 3, BINS))
        loop(scores, labels, np.ones(rows), equal_width_edges(BINS), sums)
        np.testing.assert_allclose(sums[1].sum(axis=1), p.sum(axis=0), rtol=1e-13)
        np.testing.assert_array_equal(sums[2].sum(axis=1), np.bincount(labels))


@pytest.mark.parametrize("kind", list(ScoreKind)[:2])
def test_classwise_ece_agrees_with_its_definition(kind):
    rng = np.random.default_rng(4)
    logits, labels = rng.standard_normal((60, 12)) * 3, rng.integers(0, 12, 60)
    scores = logits if kind is ScoreKind.LOGITS else softmax(logits)
    seen = classwise_ece(Predictions(Task.MULTICLASS, kind, scores, labels))
    expected = slow_metrics.classwise_ece(logits.tolist(), labels.tolist())
    assert seen == pytest.approx(expected, rel=1e-12)


def test_what_is_no_number_stays_none():
    logits = np.array([[0.0, np.nan, 1.0], [0.0, 1.0, 2.0]])
    sums = np.zeros((3, 3, BINS))
    add_binned_softmax(logits, np.array([0, 1]), np.ones(2), equal_width_edges(BINS), sums)
    assert np.isnan(sums[1].sum(axis=1)).all()


def plain_wrong(p, labels, answers, weights, levels):
    """Return by class and level what is stated of the others, its square, and how often true."""
    by_class, by_level, counted = np.zeros((3, p.shape[1])), np.zeros((3, levels)), 0.0
    for row, label, answer, weight in zip(p, labels, answers, weights, strict=True):
        others = np.where(np.arange(row.size) == answer, 0.0, row)
        if others.sum() == 0.0:
            continue
        counted += weight
        share = others / others.sum()
        finest = 0.5 ** (levels - 1)
        level = [int(-np.floor(np.log2(q))) - 1 if q >= finest else levels - 1 for q in others]
        of_level = np.bincount(level, share, levels)
        for sums, stated, hit in ((by_class, share, label), (by_level, of_level, level[label])):
            sums[0] += weight * stated
            sums[1] += weight * stated**2
            sums[2, hit] += weight
    return by_class, by_level, counted


@pytest.mark.parametrize("n_classes", [3, 40, 1_000])
@pytest.mark.parametrize("levels", [2, 16])
def test_what_wrong_answers_state_of_the_others(n_classes, levels):
    rng = np.random.default_rng(n_classes)
    logits = rng.normal(0.0, 4.0, (30, n_classes)).astype(np.float32)
    logits[0], logits[1] = 0.0, -np.inf  # all alike; then one that is certain and nothing else
    logits[1, 0] = 3.0
    logits[2, :2] = 30.0  # two of one half, exactly
    p = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    answers = p.argmax(axis=1)
    labels = (answers + rng.integers(1, n_classes, 30)) % n_classes
    weights = rng.uniform(0.0, 3.0, 30)
    expected = plain_wrong(p, labels, answers, weights, levels)
    for add, scores in ((add_wrong, p.copy()), (add_wrong_softmax, logits)):
        by_class, by_level = np.zeros((3, n_classes)), np.zeros((3, levels))
        counted = add(scores, labels, answers, weights, by_class, by_level)
        np.testing.assert_allclose(by_class, expected[0], rtol=0, atol=1e-12)
        np.testing.assert_allclose(by_level, expected[1], rtol=0, atol=1e-12)
        assert counted == pytest.approx(expected[2], abs=1e-12)
