"""Binned and ranked calibration errors of confidences against outcomes; numpy only.

All are fractions, functions of a `Ranked`, and biased upward on finite samples unless said
otherwise. `gap` of a bin is its mean confidence minus the share that came true.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
import numpy.typing as npt

from core.arrays import Counts, Float, Int
from core.defaults import N_BINS, S99
from core.metrics import binning
from core.metrics.binning import BinSums
from core.metrics.ranked import SortedOutcomes
from core.predictions import Outcomes, Predictions, Task

SWEEP_BINS = 1_000  # the search grows with the square of the bins
Statistic = Callable[[BinSums, float], Float]
Cuts = Callable[[SortedOutcomes, int], Int]


@dataclass(frozen=True)
class Binned:
    """How an error over bins is computed again on resamples, for its interval and noise floor."""

    # cuts, statistic, bins: the bins of sorted rows, the error of their sums, and what settings
    # call the bins
    cuts: Cuts
    statistic: Statistic
    bins: str
    _: KW_ONLY
    # The statistic with nothing taken off, around which resamples scatter
    plug_in: Statistic | None = None
    sweeps: bool = False  # as many bins as let accuracy rise, in place of a given number
    unweighted: bool = False  # a bin counts whatever its rows


def _per_row(total: npt.NDArray[np.generic], count: Counts) -> Float:
    """Divide bin totals by counts; NaN in empty bins."""
    shape = np.broadcast_shapes(total.shape, count.shape)
    out = np.full(shape, np.nan)
    np.divide(total, count, out=out, where=np.broadcast_to(count > 0, shape))
    return out


def weighted_gap(bins: BinSums, n: float) -> Float:
    """Return sum n_b / N |gap_b| over the last axis.

    Examples
    --------
    Sums of three bins, the second empty: one row off by 0.5, three by 0.25 each the other way.

    >>> bins = BinSums(np.array([1, 0, 3]), np.array([0.5, 0.0, 2.25]), np.array([0, 0, 3]))
    >>> float(weighted_gap(bins, 4))  # (0.5 + 0.75) / 4
    0.3125
    """
    return np.asarray(np.abs(bins.gap).sum(axis=-1) / n)


def largest_gap(bins: BinSums, n: float) -> Float:  # noqa: ARG001 (shares the statistics' signature)
    """Return the largest |gap_b| over non-empty bins."""
    return np.asarray(np.nanmax(np.abs(_per_row(bins.gap, bins.count)), axis=-1))


def average_gap(bins: BinSums, n: float) -> Float:  # noqa: ARG001 (shares the statistics' signature)
    """Return the plain mean of |gap_b| over non-empty bins."""
    return np.asarray(np.nanmean(np.abs(_per_row(bins.gap, bins.count)), axis=-1))


def root_mean_square_gap(bins: BinSums, n: float) -> Float:
    """Return sqrt(sum n_b / N gap_b^2)."""
    squares = np.nan_to_num(_per_row(bins.gap**2, bins.count))
    return np.asarray(np.sqrt(squares.sum(axis=-1) / n))


def debiased_gap(bins: BinSums, n: float) -> Float:
    """Return sqrt(max(0, sum n_b / N (gap_b^2 - a_b (1 - a_b) / (n_b - 1)))).

    Bins with fewer than two rows count nothing.
    """
    count = np.broadcast_to(bins.count, np.broadcast_shapes(bins.count.shape, bins.hits.shape))
    enough = count >= 2
    safe = np.where(enough, count, 2)
    accuracy = bins.hits / safe
    squares = (bins.gap / safe) ** 2 - accuracy * (1.0 - accuracy) / (safe - 1)
    total = np.where(enough, count * squares, 0.0).sum(axis=-1) / n
    return np.asarray(np.sqrt(np.maximum(total, 0.0)))


def debiased_absolute_gap(bins: BinSums, n: float) -> Float:
    """Return max(0, sum n_b / N (2 |gap_b| - E|gap_b + Z|)), Z of the variance of the accuracy."""
    from scipy.special import ndtr

    gap, accuracy = np.abs(_per_row(bins.gap, bins.count)), _per_row(bins.hits, bins.count)
    with np.errstate(divide="ignore", invalid="ignore"):  # bins that are empty, or all alike
        spread = np.sqrt(np.maximum(accuracy * (1.0 - accuracy), 0.0) / bins.count)
        ratio = np.where(spread > 0.0, gap / spread, np.inf)
    chance = spread * np.sqrt(2.0 / np.pi) * np.exp(-0.5 * ratio**2)
    folded = chance + gap * (1.0 - 2.0 * ndtr(-ratio))
    total = np.nan_to_num(bins.count * (2.0 * gap - folded)).sum(axis=-1) / n
    return np.asarray(np.maximum(total, 0.0))


def largest_sum(bins: BinSums, n: float) -> Float:
    """Return the largest |running sum of gaps| / N."""
    return np.asarray(np.abs(np.cumsum(bins.gap, axis=-1)).max(axis=-1) / n)


def _value(statistic: Statistic, ranked: SortedOutcomes, cuts: Int) -> float:
    return float(statistic(binning.sums(ranked, cuts), ranked.total))


def accuracy(ranked: SortedOutcomes) -> float:
    """Return the share of rows that came true, in [0, 1].

    Examples
    --------
    >>> right, weights = np.array([True, False]), np.array([3.0, 1.0])
    >>> accuracy(SortedOutcomes.of(Outcomes(np.array([0.6, 0.7]), right, weights=weights)))
    0.75
    """
    return ranked.hits / ranked.total


def error(ranked: SortedOutcomes) -> float:
    """Return the share of rows that did not come true, in [0, 1].

    Examples
    --------
    >>> right, weights = np.array([True, False]), np.array([3.0, 1.0])
    >>> error(SortedOutcomes.of(Outcomes(np.array([0.6, 0.7]), right, weights=weights)))
    0.25
    """
    return (ranked.total - ranked.hits) / ranked.total


def ece(ranked: SortedOutcomes, *, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error over equal-width bins.

    `n_bins`: number of bins, (k/B, (k+1)/B].

    Returns
    -------
    float
        Sum of n_b / N |gap_b|, in [0, 1]; lower is better; at least |mean gap|.

    References
    ----------
    Naeini et al. 2015; Mukhoti et al. 2020, equation 1.

    Examples
    --------
    Two of three answers at 0.8 are right: |0.8 - 2/3|.

    >>> right = np.array([True, True, False])
    >>> round(ece(SortedOutcomes.of(Outcomes(np.full(3, 0.8), right))), 4)
    0.1333

    In one bin two errors of opposite signs cancel; in two bins both are seen.

    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.25, 0.75]), np.array([True, False])))
    >>> ece(ranked, n_bins=1), ece(ranked, n_bins=2)
    (0.0, 0.75)
    """
    return _value(weighted_gap, ranked, binning.equal_width_cuts(ranked, n_bins))


def ece_em(ranked: SortedOutcomes, *, n_bins: int = N_BINS) -> float:
    """Return the expected calibration error over bins of exactly equal counts, in [0, 1].

    Tied confidences stay together, so the value does not depend on the order of rows. This is
    Mukhoti et al. 2020, equation 3, which their released code (`ada_ece`) does not compute.

    Examples
    --------
    Four rows claim 0.5. Two bins would take two of them each, by their order in the file.

    >>> right = np.array([False, True, True, True])
    >>> ece_em(SortedOutcomes.of(Outcomes(np.full(4, 0.5), right)), n_bins=2)  # |0.5 - 0.75|
    0.25
    """
    return _value(weighted_gap, ranked, binning.equal_mass_cuts(ranked, n_bins))


def ada_ece(ranked: SortedOutcomes, *, n_bins: int = N_BINS) -> float:
    """Return the adaptive ECE as the released code of the papers computes it, in [0, 1].

    For comparison with published tables only: the rows of the smallest confidence lie in no
    bin, and when all confidences are equal the result is 0 whatever the accuracy.

    Examples
    --------
    >>> right = np.array([False, True, True, True])
    >>> ada_ece(SortedOutcomes.of(Outcomes(np.full(4, 0.5), right)))  # no row lies in a bin
    0.0
    """
    return _value(weighted_gap, ranked, binning.interpolated_cuts(ranked, n_bins))


def mce(ranked: SortedOutcomes, *, n_bins: int = N_BINS) -> float:
    """Return the largest gap of a non-empty equal-width bin, in [0, 1].

    Dominated by chance where that bin holds few rows. Mukhoti et al. 2020, equation 2.

    Examples
    --------
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.1, 0.9, 0.9, 0.9]), np.ones(4, bool)))
    >>> round(mce(ranked), 4)  # of the one row at 0.1
    0.9
    """
    return _value(largest_gap, ranked, binning.equal_width_cuts(ranked, n_bins))


def ace(ranked: SortedOutcomes, *, n_bins: int = N_BINS) -> float:
    """Return the unweighted mean gap of non-empty equal-width bins, in [0, 1].

    The "average calibration error" of the Mukhoti et al. 2020 code.

    Examples
    --------
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.1, 0.9, 0.9, 0.9]), np.ones(4, bool)))
    >>> round(ace(ranked), 4), round(ece(ranked), 4)  # (0.9 + 0.1) / 2, (0.9 + 3 x 0.1) / 4
    (0.5, 0.3)
    """
    return _value(average_gap, ranked, binning.equal_width_cuts(ranked, n_bins))


def rmsce(ranked: SortedOutcomes, *, n_bins: int = N_BINS) -> float:
    """Return the root mean square gap over equal-width bins, in [0, 1]; at least the ECE.

    Examples
    --------
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.1, 0.9, 0.9, 0.9]), np.ones(4, bool)))
    >>> round(rmsce(ranked) ** 2, 4)  # (0.81 + 3 x 0.01) / 4
    0.21
    """
    return _value(root_mean_square_gap, ranked, binning.equal_width_cuts(ranked, n_bins))


def ece_debiased(ranked: SortedOutcomes, *, n_bins: int = N_BINS) -> float:
    """Return the debiased l2 calibration error over equal-mass bins, in [0, 1].

    The chance part of each squared gap is subtracted (Kumar et al. 2019, p = 2, top label).
    An l2 number: not comparable with the ECE, which is l1.

    Examples
    --------
    Two answers claim 1 and one is right: off by 0.5, and by no more than chance explains.

    >>> ranked = SortedOutcomes.of(Outcomes(np.ones(2), np.array([True, False])))
    >>> ece_em(ranked), ece_debiased(ranked)
    (0.5, 0.0)
    """
    return _value(debiased_gap, ranked, binning.equal_mass_cuts(ranked, n_bins))


def ece_debiased_l1(ranked: SortedOutcomes, *, n_bins: int = N_BINS) -> float:
    """Return the debiased l1 calibration error over equal-mass bins, in [0, 1].

    Sum of n_b / N (2 |gap_b| - E|gap_b + Z|), not below 0, where Z is normal with mean 0 and the
    variance of the bin's accuracy: what that chance adds to |gap| is taken off. The released code
    of Kumar et al. 2019 has the mean of 1,000 draws in the place of the expectation, and may
    return less than 0.

    Examples
    --------
    Two answers claim 1 and one is right: 2 x 0.5 less E|0.5 + s Z| = 0.5251, where s² = 0.25 / 2.

    >>> round(ece_debiased_l1(SortedOutcomes.of(Outcomes(np.ones(2), np.array([True, False])))), 3)
    0.475
    """
    return _value(debiased_absolute_gap, ranked, binning.equal_mass_cuts(ranked, n_bins))


def sweep_cuts(ranked: SortedOutcomes, cuts_of: Cuts = binning.rank_cuts) -> Int:
    """Return the bins of the sweep: as many as keep their accuracies from ever falling.

    From two bins upward, never N; one bin where two already fall (Roelofs et al. 2021). Stops
    at SWEEP_BINS, which matters only where answers are almost perfectly separated by confidence.

    Examples
    --------
    In three bins the shares are 0, 1 and 0, which fall; in two they are 0 and a half.

    >>> right = np.array([False, False, True, False])
    >>> sweep_cuts(SortedOutcomes.of(Outcomes(np.array([0.1, 0.2, 0.3, 0.4]), right))).tolist()
    [0, 2, 4]
    >>> fallen = np.array([True, True, False, False])  # in two bins already
    >>> sweep_cuts(SortedOutcomes.of(Outcomes(np.array([0.1, 0.2, 0.3, 0.4]), fallen))).tolist()
    [0, 4]
    """
    good = np.array([0, ranked.n])
    for n_bins in range(2, min(round(ranked.total), SWEEP_BINS + 1)):
        cuts = cuts_of(ranked, n_bins)
        hits, count = np.diff(ranked.sum_correct[cuts]), np.diff(ranked.sum_weights[cuts])
        filled = count > 0
        if np.any(np.diff(hits[filled] / count[filled]) < 0):
            break
        good = cuts
    return good


def ece_sweep(ranked: SortedOutcomes) -> float:
    """Return the ECE over the largest number of equal-mass bins with monotone accuracy.

    In [0, 1]; l1. Roelofs et al. 2021, with the authors' assignment of ranks to bins.

    Examples
    --------
    >>> right = np.array([False, False, True, False])
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.1, 0.2, 0.3, 0.4]), right))
    >>> round(ece_sweep(ranked), 4)  # two bins: (|0.3 - 0| + |0.7 - 1|) / 4
    0.15
    """
    return _value(weighted_gap, ranked, sweep_cuts(ranked))


def ece_sweep_ew(ranked: SortedOutcomes) -> float:
    """Return the ECE over the largest number of equal-width bins with monotone accuracy.

    In [0, 1]; l1. Roelofs et al. 2021; empty bins are passed over.

    Examples
    --------
    In three bins the middle one is empty, which is no fall: (|0.3 - 0| + |1.7 - 2|) / 4.

    >>> right = np.array([False, False, True, True])
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.1, 0.2, 0.8, 0.9]), right))
    >>> sweep_cuts(ranked, binning.equal_width_cuts).tolist(), round(ece_sweep_ew(ranked), 4)
    ([0, 2, 2, 4], 0.15)
    """
    return _value(weighted_gap, ranked, sweep_cuts(ranked, binning.equal_width_cuts))


def ks(ranked: SortedOutcomes) -> float:
    """Return the Kolmogorov-Smirnov calibration error, in [0, 1].

    Largest |sum of (confidence - outcome)| / N over the rows up to any confidence; taken at
    the ends of groups of ties (Gupta et al. 2021).

    Examples
    --------
    Sums of a tie are taken at its end: within it they would depend on the order of rows.

    >>> ks(SortedOutcomes.of(Outcomes(np.array([0.5, 0.5]), np.array([True, False]))))
    0.0
    >>> ks(SortedOutcomes.of(Outcomes(np.array([0.25, 0.75]), np.array([True, False]))))  # 0.75 / 2
    0.375
    """
    return _value(largest_sum, ranked, ranked.cuts)


def worst_bin_rows(ranked: SortedOutcomes, n_bins: int) -> int:
    """Return the number of rows in the equal-width bin that the MCE speaks of."""
    cuts = binning.equal_width_cuts(ranked, n_bins)
    bins = binning.sums(ranked, cuts)
    return int(np.diff(cuts)[np.nanargmax(np.abs(_per_row(bins.gap, bins.count)))])


def certain(ranked: SortedOutcomes, threshold: float) -> tuple[float, float]:
    """Return how many rows reach the threshold, and how many of them came true, by weight."""
    start = int(np.searchsorted(ranked.confidence, threshold, side="left"))
    rows = ranked.sum_weights[-1] - ranked.sum_weights[start]
    return rows.item(), (ranked.sum_correct[-1] - ranked.sum_correct[start]).item()


def s99_share(ranked: SortedOutcomes, *, threshold: float = S99) -> float:
    """Return the share of rows with confidence >= threshold (Mukhoti et al. 2020, table 6).

    Examples
    --------
    >>> right = np.array([True, False, True])
    >>> round(s99_share(SortedOutcomes.of(Outcomes(np.array([0.98, 0.99, 1.0]), right))), 4)
    0.6667
    """
    return certain(ranked, threshold)[0] / ranked.total


def s99_accuracy(ranked: SortedOutcomes, *, threshold: float = S99) -> float:
    """Return the accuracy of rows with confidence >= threshold; NaN where there are none.

    Examples
    --------
    >>> right = np.array([True, False, True])
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.98, 0.99, 1.0]), right))
    >>> s99_accuracy(ranked), s99_accuracy(ranked, threshold=2.0)  # one of two; no row at all
    (0.5, nan)
    """
    rows, right = certain(ranked, threshold)
    return right / rows if rows else float("nan")


def answers(predictions: Predictions) -> Outcomes:
    """Return the answers given, as a verdict on them is judged.

    Of two classes every other answer at exactly 0.5 counts as right: it is no more of one class
    than of the other, and which of them the order of classes picks must decide no verdict.

    Examples
    --------
    A risk of exactly 0.5 is no answer: every other one counts as right, whatever the labels.

    >>> from core.predictions import ScoreKind
    >>> even = np.array([0.5, 0.5])
    >>> of_two = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, even, np.array([1, 1]))
    >>> answers(of_two).correct.tolist()
    [True, False]
    """
    outcomes = predictions.outcomes(None)
    if predictions.task is not Task.BINARY:
        return outcomes
    tied = np.flatnonzero(outcomes.confidence == 0.5)
    if not tied.size:
        return outcomes
    correct = outcomes.correct.copy()
    correct[tied] = np.arange(tied.size) % 2 == 0
    return replace(outcomes, correct=correct)


def ece_answer(predictions: Predictions, *, n_bins: int = N_BINS) -> float:
    """Return the ECE of the answers given, whose claim is the probability of the answer.

    Examples
    --------
    Risks of 0.25 and 0.75 of an event that never comes: as answers both claim 0.75, one is right.

    >>> from core.predictions import ScoreKind
    >>> risks = np.array([0.25, 0.75])
    >>> of_two = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, risks, np.array([0, 0]))
    >>> ece_answer(of_two), ece(SortedOutcomes.of(of_two.outcomes(1)))
    (0.25, 0.5)
    """
    return ece(SortedOutcomes.of(answers(predictions)), n_bins=n_bins)
