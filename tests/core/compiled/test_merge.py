"""Two sorted sets merged, beside numpy's list of distinct values."""

import numpy as np
import pytest

from core.compiled.sorting import merge
from core.errors import Refused
from core.ood.separation import Separation


def assert_merged(inside, outside):
    inside, outside = np.sort(inside), np.sort(outside)
    size = inside.size + outside.size
    values, rows = np.full(size, np.nan), np.full((2, size), -1)
    n_values = merge(inside, outside, values, rows)
    expected = np.unique(np.concatenate([inside, outside]))
    np.testing.assert_array_equal(values[:n_values], expected)
    for side, scores in zip(rows, (inside, outside), strict=True):
        np.testing.assert_array_equal(side[:n_values], [(scores == v).sum() for v in expected])


@pytest.mark.parametrize("digits", [0, 1, 12])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 40), (60, 3), (50, 50)])
def test_every_value_is_counted_in_both_sets(n, m, digits):
    rng = np.random.default_rng(n + m)
    assert_merged(np.round(rng.normal(size=n), digits), np.round(rng.normal(size=m) + 1, digits))


def test_sets_may_lie_apart_or_be_one_value():
    low, high = np.array([-2.0, -1.0]), np.array([3.0, 3.0, 4.0])
    assert_merged(low, high)
    assert_merged(high, low)
    assert_merged(np.full(5, 0.5), np.full(3, 0.5))
    assert_merged(np.array([-0.0, 0.0]), np.array([0.0]))  # zeros of either sign are one value


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64])
def test_scores_of_any_kind_are_read_as_float64(dtype):
    scores = np.array([3, 1, 2, 2], dtype=dtype)
    both = Separation.of(scores, scores[:2])
    assert both.values.tolist() == [1.0, 2.0, 3.0]
    assert (both.inside.tolist(), both.outside.tolist()) == ([1, 2, 1], [1, 0, 1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_number_is_refused_before_the_merge(value):
    with pytest.raises(Refused, match="finite"):
        Separation.of(np.array([0.0, value]), np.array([1.0]))
