"""Sums by cell in resamples, beside a sum written plainly."""

import numpy as np
import pytest

from core.compiled.resamples import add_by_cell, add_draws


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_every_entry_is_added_to_its_cell_as_often_as_its_row_counts(dtype):
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, (3, 11)).astype(dtype)
    row, cell, gap = rng.integers(0, 11, 40), rng.integers(0, 6, 40), rng.normal(size=40)
    out = np.ones((3, 6))
    add_by_cell(counts, row, cell, gap, out)
    expected = np.ones((3, 6))
    for r in range(3):
        for e in range(40):
            expected[r, cell[e]] += float(counts[r, row[e]]) * gap[e]
    np.testing.assert_allclose(out, expected, rtol=1e-13)


def test_counts_of_one_byte_are_not_multiplied_in_one_byte():
    out = np.zeros((1, 1))
    counts = np.full((1, 1), 200, np.uint8)
    add_by_cell(counts, np.zeros(2, np.int64), np.zeros(2, np.int64), np.array([2.5, 0.5]), out)
    assert out[0, 0] == 600.0


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_draws_are_counted(dtype):
    counts = np.array([1, 0, 0, 7], dtype)
    add_draws(np.array([3, 0, 3, 2]), counts)
    assert counts.tolist() == [2, 0, 1, 9]
