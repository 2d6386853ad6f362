import numpy as np
import pytest
from scipy import stats

from core.metrics.intervals import at_least, binomial_test, exact_interval

K = np.array([0, 1, 3, 50, 99, 100, 412, 22_000, 3])
N = np.array([10, 10, 50, 100, 100, 100, 20_000, 22_433, 1_000_000])
P = np.array([0.1, 0.001, 0.2, 0.5, 0.999, 0.98, 0.02, 0.98, 1e-6])


def test_tails_are_those_of_scipy():
    assert at_least(K, N, P) == pytest.approx(stats.binom.sf(K - 1, N, P), rel=1e-8)
    two = 2 * np.minimum(stats.binom.sf(K - 1, N, P), stats.binom.cdf(K, N, P))
    assert binomial_test(K, N, P) == pytest.approx(np.minimum(two, 1), rel=1e-7)
    assert at_least(np.array([2.0]), np.array([2.0]), np.array([1.0])) == 1.0
    assert binomial_test(np.array([1]), np.array([2]), np.array([1.0])) == 0.0


def test_the_interval_is_that_of_clopper_and_pearson():
    low, high = exact_interval(K, N, 0.99)
    for k, n, *ends in zip(K, N, low, high, strict=True):
        known = stats.binomtest(int(k), int(n)).proportion_ci(0.99, "exact")
        assert ends == pytest.approx([known.low, known.high], rel=1e-8, abs=1e-14)
    ends = exact_interval(np.array([0]), np.array([0]), 0.95)
    assert [float(end[0]) for end in ends] == [0.0, 1.0]
