"""The class of each row drawn from its probabilities, beside the definition written plainly."""

import numpy as np
import pytest

from core.compiled.classes import add_redrawn
from core.metrics.binning import bin_index, equal_width_edges

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
