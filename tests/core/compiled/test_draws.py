"""Numbers drawn by inversion, beside the tables of scipy and the laws they should follow."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from core.compiled.draws import add_drawn, write_binomial, write_poisson
from core.metrics import resampling

ENDS = [0.0, 0.5, np.nextafter(1.0, 0.0)]
NEAR_ENDS = [1e-12, 1.0 - 1e-12]  # beyond them a table in float64 tells nothing
SETTINGS = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}  # neither fused nor wide


def uniform_numbers(seed, n=2_000):
    return np.append(np.random.default_rng(seed).random(n), NEAR_ENDS)


def plain_draws(law, highest, uniform):
    """Return for each number the smallest value whose share up to it is above the number."""
    return np.searchsorted(law.cdf(np.arange(highest + 1)), uniform, side="right")


def test_poisson_counts_are_looked_up_in_their_table():
    mean = np.array([0.0, 1e-9, 0.3, 1.0, 7.5, 100.0, 12_345.6])
    uniform = np.stack([uniform_numbers(seed) for seed in range(mean.size)])
    lines = np.arange(mean.size)[::-1].copy()
    drawn = np.full(uniform.shape, -1, np.int32)
    write_poisson(mean, uniform, lines, drawn)
    for one, numbers, line in zip(mean, uniform, lines, strict=True):
        expected = plain_draws(stats.poisson(one), int(one + 20 * one**0.5 + 40), numbers)
        np.testing.assert_array_equal(drawn[line], expected)


@pytest.mark.parametrize("trials", [1, 2, 30, 1_000_000])
def test_binomial_counts_are_looked_up_in_their_table(trials):
    share = np.array([0.0, 1e-12, 0.01, 0.5, 0.500001, 0.97, 1.0 - 1e-12, 1.0])
    uniform = np.stack([uniform_numbers(seed) for seed in range(share.size)])
    drawn = np.full(uniform.shape, -1, np.int32)
    write_binomial(np.full(share.size, trials), share, uniform, drawn)
    for p, numbers, line in zip(share, uniform, drawn, strict=True):
        failures = p > 0.5
        table = plain_draws(stats.binom(trials, 1.0 - p if failures else p), trials, numbers)
        np.testing.assert_array_equal(line, trials - table if failures else table)


def test_the_ends_of_the_numbers_stay_within_the_law():
    drawn = np.full((2, len(ENDS)), -1, np.int32)
    write_poisson(np.array([0.0, 4.0]), np.array([ENDS, ENDS]), np.arange(2), drawn)
    assert drawn[0].tolist() == [0, 0, 0]
    assert drawn[1, :2].tolist() == [0, 4]  # of Poisson(4), 0.43 lie below 4 and 0.63 up to it
    assert stats.poisson(4.0).sf(drawn[1, 2]) < 1e-15
    drawn = np.full((3, len(ENDS)), -1, np.int32)
    share = np.array([0.0, 0.25, 1.0])
    write_binomial(np.full(3, 2), share, np.array([ENDS] * 3), drawn)
    assert drawn.tolist() == [[0, 0, 0], [0, 0, 2], [2, 2, 2]]


def test_rows_are_counted_in_the_category_they_were_drawn_from():
    rows, more = np.array([0, 3, 0, 1, 0]), np.array([2, 0, 5])
    # a quarter each: three of them are the second category's
    uniform = np.array([0.0, 0.75, 0.1, 0.74, 0.76, 0.99, 0.5])
    counts = np.ones((5, 3), np.int32)
    add_drawn(rows, uniform, more, counts)
    assert (counts - 1).tolist() == [[0, 0, 0], [1, 0, 3], [0, 0, 0], [1, 0, 2], [0, 0, 0]]


def assert_multinomial(rows, drawn):
    """Hold means, variances and covariances against those of drawing the rows, to five errors."""
    n, resamples = rows.sum(), drawn.shape[1]
    np.testing.assert_array_equal(drawn.sum(axis=0), n)
    assert drawn.min() >= 0
    assert (drawn[rows == 0] == 0).all()
    share = rows / n
    spread = n * (np.diag(share) - np.outer(share, share))
    mean_error = np.sqrt(np.diag(spread) / resamples)
    assert (np.abs(drawn.mean(axis=1) - rows) <= 5 * mean_error + 1e-12).all()
    around = drawn - rows[:, None]
    products = around[:, None, :] * around[None, :, :]
    error = products.std(axis=2) / np.sqrt(resamples)
    assert (np.abs(products.mean(axis=2) - spread) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize(
    "rows", [[1], [0, 1], [2, 0, 3], [9, 1], [40, 2, 0, 358, 100], [9_000, 1, 600, 399]]
)
def test_resampled_rows_have_the_moments_of_rows_drawn_with_replacement(rows):
    counts = np.array(rows)
    drawn = resampling.drawn_rows(counts, 20_000, np.random.default_rng(0))
    assert_multinomial(counts, drawn)


def test_resamples_beyond_the_rows_are_drawn_anew(monkeypatch):
    monkeypatch.setattr(resampling, "NEARLY", 0.0)  # half of them go beyond at first
    counts = np.array([40, 2, 0, 358, 100])
    assert_multinomial(counts, resampling.drawn_rows(counts, 20_000, np.random.default_rng(0)))


@pytest.mark.parametrize("most", [1, 100, 1_000])
def test_resamples_in_small_blocks_are_the_same(monkeypatch, most):
    """The numbers come in one stream, and no more of them at once than a block, or a resample."""
    counts = np.array([40, 2, 0, 358, 100])
    whole = resampling.drawn_rows(counts, 50, np.random.default_rng(2))
    n_at_once = []

    def watched(rows, uniform, more, out):
        n_at_once.append((uniform.size, more.size))
        add_drawn(rows, uniform, more, out)

    monkeypatch.setattr("core.compiled.draws.add_drawn", watched)
    monkeypatch.setattr(resampling, "BLOCK_DRAWS", most)
    blocks = resampling.drawn_rows(counts, 50, np.random.default_rng(2))
    np.testing.assert_array_equal(blocks, whole)
    assert len(n_at_once) > 1
    assert all(n <= most or n_resamples == 1 for n, n_resamples in n_at_once)


@pytest.mark.parametrize("nearly", [0.5, 3.0])
def test_every_resample_of_a_few_rows_is_as_likely_as_it_should_be(monkeypatch, nearly):
    monkeypatch.setattr(resampling, "NEARLY", nearly)
    rows, rounds = np.array([3, 8, 1]), 100_000
    drawn = resampling.drawn_rows(rows, rounds, np.random.default_rng(1))
    seen, times = np.unique(drawn, axis=1, return_counts=True)
    expected = stats.multinomial(12, rows / 12).pmf(seen.T) * rounds
    common = expected > 10
    assert expected[common].sum() > 0.98 * rounds
    distance = ((times - expected)[common] ** 2 / expected[common]).sum()
    assert stats.chi2(common.sum()).sf(distance) > 1e-4


def test_binomial_counts_have_their_moments():
    trials, share = np.array([1, 7, 900]), np.array([0.2, 0.98, 0.6])
    drawn = resampling.binomial(trials, share, 40_000, np.random.default_rng(0))
    variance = trials * share * (1.0 - share)
    np.testing.assert_allclose(
        drawn.mean(axis=1), trials * share, atol=5 * np.sqrt(variance.max() / 40_000)
    )
    np.testing.assert_allclose(drawn.var(axis=1), variance, rtol=0.05)


DRAWN = """
import hashlib, numpy as np
from core.metrics.resampling import binomial, drawn_rows
rng = np.random.default_rng(0)
rows = rng.integers(0, 2_000, 300)
drawn = drawn_rows(rows, 500, rng)
floor = binomial(1 + rows, rng.random(300), 500, rng)
print(hashlib.sha256(drawn.tobytes() + floor.tobytes()).hexdigest())
"""


@pytest.mark.soak
def test_another_processor_draws_the_same(tmp_path):
    seen = set()
    for n, settings in enumerate(({}, SETTINGS, {"NUMBA_NUM_THREADS": "1"})):
        env = os.environ | settings | {"NUMBA_CACHE_DIR": str(tmp_path / str(n))}
        command = [sys.executable, "-c", DRAWN]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        seen.add(done.stdout)
    assert len(seen) == 1
