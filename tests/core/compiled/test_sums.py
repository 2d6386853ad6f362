"""Sums in any order against Python's exact one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import arrays
from core.compiled.sums import total


@given(st.lists(st.floats(-1e200, 1e200), max_size=300), st.randoms(use_true_random=False))
def test_sums_are_exact_to_rounding_and_the_same_in_any_order(values, rng):
    summed = total(np.array(values))
    largest = max(map(abs, values), default=0.0)
    assert summed == pytest.approx(math.fsum(values), rel=4e-16, abs=1e-25 * largest)
    rng.shuffle(values)
    assert total(np.array(values)) == summed


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e290, 1e300])
def test_many_numbers_of_any_size_are_added_exactly(scale):
    values = np.random.default_rng(0).exponential(size=arrays.SORTED_BY_DIGITS + 5) ** 3 * scale
    exact = math.fsum(values / values.max()) * values.max()
    assert arrays.total(values) == pytest.approx(exact, rel=1e-12)
    assert arrays.total(values[::-1]) == arrays.total(values)


def test_a_small_number_beside_a_large_one_that_is_taken_back_is_kept():
    assert total(np.array([2.0**40, 1.0, 2.0**-40, -(2.0**40)])) == 1.0 + 2.0**-40


@pytest.mark.parametrize(
    ("put", "expected"),
    [([np.inf], np.inf), ([-np.inf], -np.inf), ([np.inf, -np.inf], np.nan), ([np.nan], np.nan)],
)
@pytest.mark.parametrize("n", [5, arrays.SORTED_BY_DIGITS])
def test_what_is_no_finite_number_is_none_in_the_sum(put, expected, n):
    values = np.ones(n)
    values[: len(put)] = put
    with np.errstate(invalid="ignore"):
        np.testing.assert_equal(arrays.total(values), expected)


def test_nothing_and_zeros_are_0():
    assert total(np.empty(0)) == total(np.zeros(70)) == arrays.total(np.empty(0)) == 0.0
