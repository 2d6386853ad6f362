"""The classes other than the true one, against their definitions in float64."""

import numpy as np
import pytest

from core.compiled import other_classes


def defined(logits, targets):
    """Softmax of the others; log-odds of the true class, squares, the class below, the gap."""
    shares, rows = [], []
    for row, true in zip(logits.astype(np.float64), targets, strict=True):
        rest = np.delete(row, true)
        powers = np.exp(rest - rest.max())
        share = powers / powers.sum()
        below = max((value for value in row if value < row[true]), default=-np.inf)
        log_odds = row[true] - rest.max() - np.log(powers.sum())
        shares.append(np.insert(share, true, 0.0))
        rows.append([log_odds, (share**2).sum(), below, below - row[true]])
    return np.array(shares), np.array(rows).T


def read(logits, targets):
    share, rows = np.empty_like(logits), np.empty((4, len(logits)), np.float32)
    assert other_classes.read_others(logits, targets, share, rows) == len(logits)
    other_classes.read_below(logits, targets, rows)
    return share, rows


@pytest.mark.parametrize("k", [2, 3, 63, 64, 65, 200])
def test_reading_is_the_definition_for_any_number_of_classes(k):
    rng = np.random.default_rng(k)
    logits = (9 * rng.normal(size=(50, k))).astype(np.float32)
    logits[:20] = np.round(logits[:20])  # ties
    targets = np.r_[0, k - 1, rng.integers(0, k, 48)]
    share, rows = read(logits, targets)
    exact_share, exact = defined(logits, targets)
    np.testing.assert_allclose(share, exact_share, rtol=1e-5, atol=1e-30)  # of a rounded gap
    np.testing.assert_allclose(rows, exact, rtol=1e-6, atol=2e-6)


def test_logits_far_apart_stay_exact():
    """The loser's share is exp(-1e4), which no float32 holds; its log-odds are -1e4."""
    logits = np.array([[0.0, 1e4, -1e4], [1e4, 0.0, 0.0], [3.0, 3.0, 3.0]], np.float32)
    share, rows = read(logits, np.array([0, 0, 0]))
    np.testing.assert_array_equal(share, [[0, 1, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]])
    np.testing.assert_allclose(rows[0], [-1e4, 1e4 - np.log(2), -np.log(2)], rtol=1e-6)
    np.testing.assert_array_equal(rows[2], [-1e4, 0.0, -np.inf])


@pytest.mark.parametrize("target", [-1, 3])
def test_a_target_that_is_no_class_is_named_and_nothing_beyond_is_written(target):
    logits, rows = np.zeros((3, 3), np.float32), np.full((4, 3), 7.0, np.float32)
    targets = np.array([0, target, 1])
    assert other_classes.read_others(logits, targets, np.empty_like(logits), rows) == 1
    assert (rows[:2, 1:] == 7.0).all()


def test_exponential_is_that_of_float64():
    x = np.linspace(-86.9, 0.0, 20_001, dtype=np.float32)
    powers = np.array([other_classes.exp_below(value) for value in x])
    np.testing.assert_allclose(powers, np.exp(x.astype(np.float64)), rtol=2.5e-7)
    assert other_classes.exp_below(np.float32(0.0)) == 1.0
    assert (
        other_classes.exp_below(np.float32(-np.inf))
        == other_classes.exp_below(np.float32(-88.0))
        == 0.0
    )
    assert np.isnan(other_classes.exp_below(np.float32(np.nan)))
