"""Gaps spread over a grid, beside Lagrange's polynomials written plainly."""

import numpy as np
import pytest

from core.compiled.nodes import add_to_nodes
from core.metrics.ranked import SortedOutcomes
from core.metrics.smooth import smece
from core.predictions import Outcomes
from tests.reference import slow_metrics

INTERVALS = 8


def plain_nodes(confidence, gap):
    """Give each of the four nearest points the value there of the cubic that is 1 at it alone."""
    nodes = np.zeros(INTERVALS + 3)
    for p, g in zip(confidence, gap, strict=True):
        base = min(int(p * INTERVALS), INTERVALS - 1)
        points = np.arange(base - 1, base + 3)
        for point in points:
            others = points[points != point]
            nodes[point + 1] += g * np.prod((p * INTERVALS - others) / (point - others))
    return nodes


def spread(ranked):
    nodes = np.zeros(INTERVALS + 3)
    add_to_nodes(ranked.confidence, ranked.cuts, ranked.ends, ranked.sum_correct, nodes)
    return nodes


@pytest.mark.parametrize("n", [1, 2, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_gap_is_spread_over_the_nearest_points(n, weighted):
    rng = np.random.default_rng(n)
    confidence = np.round(rng.random(n), 2)  # ties
    confidence[0], confidence[-1] = 0.0, 1.0
    correct = rng.random(n) < confidence
    weights = rng.integers(1, 5, n).astype(np.float64) if weighted else None
    each = np.ones(n) if weights is None else weights
    ranked = SortedOutcomes.of(Outcomes(confidence, correct, weights=weights))
    expected = plain_nodes(confidence, each * (confidence - correct))
    np.testing.assert_allclose(spread(ranked), expected, rtol=1e-12, atol=1e-12)


def test_what_is_no_confidence_is_not_written_outside():
    room = np.zeros(INTERVALS + 3 + 40)  # nodes, and guards on either side
    confidence, cuts = np.array([np.nan, -9.0, 9.0]), np.arange(4)
    add_to_nodes(confidence, cuts, cuts, np.zeros(4, dtype=np.int64), room[20:-20])
    assert not room[:20].any()
    assert not room[-20:].any()


def test_spreading_keeps_three_moments():
    rng = np.random.default_rng(0)
    confidence, correct = rng.random(50), rng.random(50) < 0.5
    nodes = spread(SortedOutcomes.of(Outcomes(confidence, correct)))
    at, gap = (np.arange(INTERVALS + 3) - 1) / INTERVALS, confidence - correct
    for power in range(4):
        assert nodes @ at**power == pytest.approx(gap @ confidence**power, rel=1e-12, abs=1e-12)


def test_smooth_error_agrees_with_the_sum_over_rows():
    rng = np.random.default_rng(2)
    confidence = np.round(rng.random(40), 2)
    correct = rng.random(40) < confidence**2
    expected = slow_metrics.smece(confidence.tolist(), correct.tolist())
    assert smece(SortedOutcomes.of(Outcomes(confidence, correct))) == pytest.approx(
        expected, abs=1e-5
    )
