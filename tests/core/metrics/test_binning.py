"""Edges, cuts and sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.configs import BinRule
from core.metrics import binning, top_label
from core.metrics.ranked import SortedOutcomes, running_sum
from core.metrics.top_label import ece, mce
from core.predictions import Outcomes


def ranked(confidence, correct=None):
    confidence = np.asarray(confidence, dtype=np.float64)
    right = np.zeros(confidence.size) if correct is None else correct
    return SortedOutcomes.of(Outcomes(confidence, np.asarray(right, dtype=bool)))


@pytest.mark.parametrize("n_bins", range(1, 61))
def test_confidence_on_an_edge_belongs_to_the_bin_below(n_bins):
    confidence = np.arange(1, n_bins + 1) / n_bins
    index = binning.bin_index(confidence, binning.equal_width_edges(n_bins))
    np.testing.assert_array_equal(index, np.arange(n_bins))
    cuts = binning.equal_width_cuts(ranked(confidence), n_bins)
    np.testing.assert_array_equal(cuts, np.arange(n_bins + 1))


def test_confidence_zero_and_one_lie_in_the_first_and_last_bin():
    edges = binning.equal_width_edges(15)
    np.testing.assert_array_equal(binning.bin_index(np.array([0.0, -0.0, 1.0]), edges), [0, 0, 14])
    np.testing.assert_array_equal(
        np.diff(binning.equal_width_cuts(ranked([0.0, -0.0, 1.0]), 15)), [2] + [0] * 13 + [1]
    )


def test_a_confidence_just_above_one_is_kept():
    assert binning.equal_width_cuts(ranked([0.5, np.nextafter(1.0, 2.0)]), 4)[-1] == 2


def test_ece_counts_a_confidence_of_one():
    # torchmetrics puts 1.0 into a bin of its own: (|.95 - 1| + |1 - 0|) / 2 = 0.525;
    # both lie in the last of 15 bins: |(0.95 + 1.0) / 2 - 1 / 2| = 0.475
    assert ece(ranked([0.95, 1.0], [True, False])) == pytest.approx(0.475, abs=1e-15)


def test_ece_of_two_bins_by_hand():
    # bin (0, 0.5]: says 0.25, right 0 of 2; bin (0.5, 1]: says 0.75, right 2 of 2;
    # 1/2 * 0.25 + 1/2 * 0.25 = 0.25
    rows = ranked([0.2, 0.3, 0.7, 0.8], [False, False, True, True])
    assert ece(rows, n_bins=2) == pytest.approx(0.25, abs=1e-15)
    assert mce(rows, n_bins=2) == pytest.approx(0.25, abs=1e-15)


def test_equal_mass_never_splits_ties():
    # 10 rows, 3 bins would end at ranks 4 and 7; both lie in the group of five 0.6 (ranks 2 to 7):
    # 4 moves down to 2, 7 is an end already
    rows = ranked([0.1, 0.2, 0.6, 0.6, 0.6, 0.6, 0.6, 0.7, 0.8, 0.9])
    np.testing.assert_array_equal(binning.equal_mass_cuts(rows, 3), [0, 2, 7, 10])


def test_equal_mass_gives_longer_bins_first_as_array_split_does():
    rows = ranked(np.linspace(0.01, 0.99, 17))
    sizes = [len(part) for part in np.array_split(np.arange(17), 5)]
    np.testing.assert_array_equal(np.diff(binning.equal_mass_cuts(rows, 5)), sizes)


def test_equal_mass_has_at_most_as_many_bins_as_rows():
    assert len(binning.equal_mass_cuts(ranked([0.1, 0.2, 0.3]), 15)) == 4
    assert len(binning.equal_mass_cuts(ranked([0.5] * 9), 15)) == 2


@pytest.mark.parametrize(
    ("confidence", "correct", "expected"),
    [([0.3, 0.6], [0, 1], 0.05), ([0.2, 0.5, 0.9], [0, 1, 1], 0.4 / 3)],
)
def test_the_sweep_never_has_a_bin_for_every_row(confidence, correct, expected):
    """One bin less than rows; each by itself would give 0.35 and 0.8 / 3."""
    assert top_label.ece_sweep(ranked(confidence, correct)) == pytest.approx(expected)


def test_the_sweep_of_equal_width_stops_where_accuracy_falls():
    # halves: 1 of 2 right in both, go on; thirds: 0, 1 and 1/2, stop: (|.55 - 1| + |1.7 - 1|) / 4
    rows = ranked([0.1, 0.45, 0.8, 0.9], [0, 1, 1, 0])
    assert top_label.ece_sweep_ew(rows) == pytest.approx(0.2875)
    # of thirds the middle one is empty, and accuracy does not fall from 0 to 1
    rows = ranked([0.05, 0.06, 0.9, 0.95], [0, 0, 1, 1])
    assert top_label.sweep_cuts(rows, binning.equal_width_cuts).tolist() == [0, 2, 2, 4]


def test_chance_is_taken_off_the_l1_error():
    # one bin: gap .4, deviation sqrt(.25 / 4) = .25; E|.4 + .25 Z| = .25 sqrt(2/pi) exp(-1.28)
    # + .4 (1 - 2 * .054799) = .05546 + .35616; 2 * .4 less that
    rows = ranked([0.9] * 4, [0, 0, 1, 1])
    assert top_label.ece_debiased_l1(rows) == pytest.approx(0.38838, abs=5e-6)
    assert top_label.ece_debiased_l1(ranked([0.9] * 4, [1] * 4)) == pytest.approx(0.1)  # no chance
    assert top_label.ece_debiased_l1(ranked([0.5] * 4, [0, 0, 1, 1])) == 0.0


def test_reference_edges_leave_out_the_least_confident_row():
    cuts = binning.interpolated_cuts(ranked(np.linspace(0.1, 0.9, 600)), 15)
    np.testing.assert_array_equal(np.diff(cuts), [40] * 14 + [39])
    assert cuts[0] == 1


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=60),
    st.integers(1, 20),
    st.sampled_from(list(BinRule)),
)
def test_edges_and_cuts_count_the_same_rows(twelfths, n_bins, rule):
    rows = ranked(np.array(twelfths) / 12)
    cuts = binning.CUTS[rule](rows, n_bins)
    edges = binning.edges_of(rows, cuts, n_bins, rule)
    index = binning.bin_index(rows.confidence, edges)
    np.testing.assert_array_equal(np.bincount(index, minlength=len(cuts) - 1), np.diff(cuts))


def test_rows_are_sorted_with_their_outcome():
    rows = ranked([0.5, 0.25, 1.0, 0.0, 0.5], [True, True, False, True, False])
    np.testing.assert_array_equal(rows.confidence, [0.0, 0.25, 0.5, 0.5, 1.0])
    np.testing.assert_array_equal(rows.correct, [True, True, False, True, False])
    np.testing.assert_array_equal(rows.sum_correct, [0, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(rows.cuts, [0, 1, 2, 4, 5])
    assert rows.gap == pytest.approx(2.25 / 5 - 3 / 5)


def test_running_sum_of_millions_of_rows_stays_exact():
    # one chain of additions is off by 1e-10 and more here
    n = 3_000_000
    found = running_sum(np.full(n, 0.1))
    for count in (1, 4_096, 4_097, 1_000_001, n):
        assert found[count - 1] == pytest.approx(float(Fraction(0.1) * count), rel=2e-12)
    assert found.size == n


def exact_errors(confidence, correct, n_bins=15):
    """ECE, MCE, ACE and RMSCE by sums that round once."""
    index = np.clip(np.ceil(confidence * n_bins).astype(int) - 1, 0, n_bins - 1)
    rows = [np.flatnonzero(index == b) for b in range(n_bins)]
    gaps = [math.fsum(confidence[r].tolist()) - int(correct[r].sum()) for r in rows if r.size]
    counts = [r.size for r in rows if r.size]
    means = [abs(gap / count) for gap, count in zip(gaps, counts, strict=True)]
    squares = [gap * gap / count for gap, count in zip(gaps, counts, strict=True)]
    return {
        "ece": math.fsum(map(abs, gaps)) / correct.size,
        "mce": max(means),
        "ace": math.fsum(means) / len(means),
        "rmsce": math.sqrt(math.fsum(squares) / correct.size),
    }


@pytest.mark.parametrize(
    ("n", "tolerance"),
    [(200_000, 1e-14), pytest.param(30_000_000, 1e-10, marks=pytest.mark.soak)],
)
@pytest.mark.parametrize("values", ["spread", "rounded", "equal"])
def test_errors_of_many_rows_are_those_of_exact_sums(n, tolerance, values):
    """A few sure rows are a bin of their own: rounding of the millions must not reach them."""
    rng = np.random.default_rng(0)
    confidence = {
        "spread": lambda: rng.uniform(0.41, 0.91, n),
        "rounded": lambda: np.round(rng.uniform(0.41, 0.91, n), 2),
        "equal": lambda: np.full(n, 0.1),
    }[values]()
    confidence[:5] = 0.97
    correct = rng.random(n) < confidence
    rows = ranked(confidence, correct)
    for name, expected in exact_errors(confidence, correct).items():
        assert getattr(top_label, name)(rows) == pytest.approx(expected, rel=0, abs=tolerance)


def test_bins_without_rows_sum_to_nothing():
    rows = ranked([0.25, 0.5, 0.75], [True, False, True])
    sums = binning.sums(rows, np.array([0, 0, 2, 2, 3, 3]))
    assert sums.confidence.tolist() == [0.0, 0.75, 0.0, 0.75, 0.0]
    assert sums.count.tolist() == [0, 2, 0, 1, 0]
    assert sums.hits.tolist() == [0, 1, 0, 1, 0]
