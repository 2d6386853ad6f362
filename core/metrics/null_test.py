"""Whether claims are calibrated: one joint test on the draws of the noise floor; numpy only.

Three statistics are read from the rows and from every draw whose outcomes follow the claims: the
signed gap, the score statistic of the slope, and the ECE of the bins. Each becomes its rank among
the draws, and the smallest of the three ranks is compared with the smallest ranks of the draws
themselves. So the three together raise a false alarm in at most 5 of 100 calibrated sets, however
few the rows and however saturated or rare the claims (Westfall and Young 1993, step one).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.arrays import Bool, Counts, Float, Int
from core.defaults import (
    FALSE_ALARMS,
    MATERIAL_ODDS,
    MATERIAL_SHARE,
    MATERIAL_TEMPERATURE,
)
from core.metrics.binning import BinSums
from core.metrics.intervals import Resamples
from core.metrics.top_label import weighted_gap

LOGIT_CLIP = 1e-9
TAIL = 0.75  # beyond this quantile of the draws a tail is taken as exponential
DIGITS = 9  # of a statistic in units of its spread: sums of equal terms are ties
SAME = 1e-9  # of the largest draw: a spread that is rounding
HALVINGS = 40
LEFT_OVER = 0.25  # of what a shift leaves, that a temperature may leave to be the explanation


@dataclass(frozen=True)
class NullTest:
    """The joint test of "calibrated".

    Attributes
    ----------
    p_value : float
        Of all three together.
    gap, slope, ece : float
        p-value of each, corrected for looking at three.
    steepness : float
        Score statistic of the slope; above 0 the claims are too extreme, below 0 too moderate.
    power : float
        Of 1, how often the test would have detected a material miscalibration, the least over
        its forms; NaN where it detected one.
    bins : (B,) float64
        p-value of each bin, corrected for looking at all bins; NaN where it is empty, and
        everywhere where the test detected nothing, since no bin is to be named then.
    slope_leads : bool
        Whether one temperature of the claims explains nearly all that is off, the signed gap
        with it, and one shift of their log odds does not: by score statistics it leaves less
        than `LEFT_OVER` of what the shift leaves.
    """

    p_value: float
    gap: float
    slope: float
    ece: float
    steepness: float
    power: float
    bins: Float
    slope_leads: bool = False


@dataclass(frozen=True)
class Null:
    """What the joint test reads from one target; what no bin changes is computed once.

    Parameters
    ----------
    resamples : Resamples
        Of the target.
    """

    resamples: Resamples

    @cached_property
    def _own(self) -> BinSums:
        return self.resamples.observed(self.resamples.cuts)

    @cached_property
    def _draws(self) -> BinSums:
        return self.resamples.floor(self.resamples.cuts)

    @cached_property
    def _mean(self) -> Float:
        """Mean claim of each cell, (C,), kept off 0 and 1 so that it has a logit."""
        mean = self._own.confidence / self._own.count
        return np.clip(mean, LOGIT_CLIP, 1.0 - LOGIT_CLIP)

    @cached_property
    def _lever(self) -> Float:
        """Logit of each cell less their mean by information, (C,)."""
        mean = self._mean
        logit = np.log(mean) - np.log1p(-mean)
        information = mean * (1.0 - mean) * self._own.count
        return np.asarray(logit - (information @ logit) / information.sum())

    @cached_property
    def _fixed(self) -> tuple[Float, Float]:
        """Signed gap and slope statistic of the rows, (2,), and of the draws, (R, 2)."""
        weights = np.stack([np.ones_like(self._lever), self._lever], axis=1)
        return self._own.gap @ weights, self._draws.gap @ weights

    @cached_property
    def _slope_leads(self) -> bool:
        """Whether a temperature explains the rows and a shift does not; see `NullTest`."""
        mean, gap = self._mean, self._own.gap
        temperature = np.log(mean) - np.log1p(-mean)
        weights = np.stack([np.ones_like(mean), temperature, self._lever])
        information = weights**2 @ (mean * (1.0 - mean) * self._own.count)
        squares = (weights @ gap) ** 2 / np.maximum(information, LOGIT_CLIP)
        # shift and centred slope are orthogonal: their squares are all that can be explained
        shift, temperature_alone, after_shift = squares
        return bool(shift + after_shift - temperature_alone < LEFT_OVER * after_shift)

    @cached_property
    def _shifts(self) -> Float:
        """How far each material miscalibration moves the gap of each cell, (A, C)."""
        mean, count = self._mean, self._own.count
        logit = np.log(mean) - np.log1p(-mean)
        moved = []
        for factor in (1.0 / MATERIAL_TEMPERATURE, MATERIAL_TEMPERATURE):
            moved += [_sigmoid(factor * logit), _mean_kept(factor * logit, mean, count)]
        for odds in (1.0 / MATERIAL_ODDS, MATERIAL_ODDS):
            moved.append(_sigmoid(logit + np.log(odds)))
        shifts = np.stack([count * (mean - truth) for truth in moved])
        information = count @ (mean * (1.0 - mean))
        material = np.abs(shifts).sum(axis=1) >= MATERIAL_SHARE * information
        return np.asarray(shifts[material])

    def test(self, cuts: Int) -> NullTest:
        """Return the joint test with the ECE over the bins between `cuts`."""
        own, draws = self._fixed
        n = self.resamples.ranked.total
        bins, drawn = self.resamples.observed(cuts), self.resamples.floor(cuts)
        rows = np.append(np.abs(own), weighted_gap(bins, n))
        null = np.column_stack([np.abs(draws), weighted_gap(drawn, n)])
        adjusted = joint(rows, null)
        off = adjusted.min() <= FALSE_ALARMS
        return NullTest(
            p_value=float(adjusted.min()),
            gap=float(adjusted[0]),
            slope=float(adjusted[1]),
            ece=float(adjusted[2]),
            steepness=float(own[1]),
            power=np.nan if off else self._power(cuts, null),
            bins=bins_beyond(bins, drawn) if off else np.full(bins.count.shape, np.nan),
            slope_leads=self._slope_leads,
        )

    def _power(self, cuts: Int, null: Float) -> float:
        """Return how often the test detects a material miscalibration, the least over its forms."""
        shifts, draws = self._shifts, self._fixed[1]
        if not null[:, 0].any():  # certain claims: no set drawn from them can be off
            return 0.0
        running = np.pad(np.cumsum(shifts, axis=1), ((0, 0), (1, 0)))
        bins = np.diff(running[:, self.resamples.columns(cuts)], axis=1)
        own = self.resamples.floor(cuts).gap
        least = 1.0
        for shift, binned in zip(shifts, bins, strict=True):
            moved = draws + np.array([shift.sum(), shift @ self._lever])
            ece = np.abs(own + binned).sum(axis=1) / self.resamples.ranked.total
            detected = significant(np.column_stack([np.abs(moved), ece]), null)
            least = min(least, float(detected.mean()))
        return least


def _sigmoid(logit: Float) -> Float:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _mean_kept(logit: Float, mean: Float, count: Counts) -> Float:
    """Return the probabilities of moved logits, shifted so that their mean is that of the claims.

    The sum rises with the shift, so bisection between the moves of the two ends is safe.
    """
    reach = float(np.abs(logit - (np.log(mean) - np.log1p(-mean))).max())
    low, high = -reach, reach
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = count @ (_sigmoid(logit + middle) - mean) < 0
        low, high = (middle, high) if below else (low, middle)
    return _sigmoid(logit + 0.5 * (low + high))


def joint(rows: Float, null: Float) -> Float:
    """Return the p-value of each statistic, corrected for looking at all of them.

    Parameters
    ----------
    rows : (S,) float64
        Statistics of the rows; large is off.
    null : (R, S) float64
        The same of sets drawn from the claims.

    Returns
    -------
    (S,) float64
        The smallest of them is the p-value of all together. Where no draw reaches the rows, the
        tail goes on as an exponential one, which is heavier than that of a binomial.
    """
    values = _rounded(np.vstack([rows, null]), null)
    share = _reached(values, values) / len(values)
    smallest = share.min(axis=1)
    adjusted = (smallest[None, :] <= share[0][:, None]).mean(axis=1)
    beyond = values[0] > values[1:].max(axis=0)
    tails = np.array([_tail(v, draws) for v, draws in zip(values[0], values[1:].T, strict=True)])
    return np.asarray(np.where(beyond, np.minimum(adjusted, len(rows) * tails), adjusted))


def significant(sets: Float, null: Float) -> Bool:
    """Return which of (M, S) further sets the joint test would call miscalibrated, (M,)."""
    values, known = _rounded(sets, null), _rounded(null, null)
    least = ((1 + _reached(values, known)) / (len(known) + 1)).min(axis=1)
    smallest = np.sort((_reached(known, known) / len(known)).min(axis=1))
    below = np.searchsorted(smallest, least, side="right")
    return np.asarray((1 + below) / (len(known) + 1) <= FALSE_ALARMS)


def _rounded(values: Float, null: Float) -> Float:
    spread, largest = null.std(axis=0), np.abs(null).max(axis=0, initial=0.0)
    # draws that differ in their last digits only are one draw, whatever that spread is
    unit = np.where(spread > SAME * largest, spread, np.maximum(largest, 1.0))
    return np.asarray(np.round(values / unit, DIGITS))


def _reached(values: Float, known: Float) -> Float:
    """Return how many of the known sets are at least as large, statistic by statistic."""
    columns = [
        len(known) - np.searchsorted(np.sort(k), v, side="left")
        for v, k in zip(values.T, known.T, strict=True)
    ]
    return np.column_stack(columns).astype(np.float64)


def _tail(value: float, draws: Float) -> float:
    start = np.quantile(draws, TAIL)
    excess = float((draws[draws >= start] - start).mean())
    if excess == 0.0:
        return 0.0 if value > start else 1.0
    return float((1.0 - TAIL) * np.exp(-max(value - start, 0.0) / excess))


def bins_beyond(own: BinSums, draws: BinSums) -> Float:
    """Return the p-value of each bin, corrected for looking at all of them, (B,).

    Parameters
    ----------
    own, draws : BinSums
        Of the rows, (B,), and of sets drawn from the claims, (R, B).

    Notes
    -----
    The largest signed root of the deviance over the bins is compared with the largest of every
    draw; it is nearly normal even where a bin expects a tenth of an event. NaN in empty bins.
    """
    nonempty = own.count > 0
    rows = np.abs(_deviance_root(own, own.gap))[nonempty]
    null = np.abs(_deviance_root(own, draws.gap))[:, nonempty]
    scale = np.maximum(np.sqrt((null**2).mean(axis=0)), 1.0)
    largest = (null / scale).max(axis=1)
    reached = (largest[:, None] >= rows / scale - 1e-9).sum(axis=0)
    out = np.full(nonempty.shape, np.nan)
    out[nonempty] = (1 + reached) / (len(largest) + 1)
    return out


def _deviance_root(own: BinSums, gap: Float) -> Float:
    count = own.count.astype(np.float64)
    expected = np.clip(own.confidence, LOGIT_CLIP * count, (1.0 - LOGIT_CLIP) * count)
    hits = np.clip(own.confidence - gap, 0.0, count)
    deviance = _log_ratio(hits, expected) + _log_ratio(count - hits, count - expected)
    return np.asarray(np.sqrt(np.maximum(2.0 * deviance, 0.0)))


def _log_ratio(hits: Float, expected: Float) -> Float:
    ratio = np.divide(hits, expected, out=np.ones_like(hits), where=(hits > 0) & (expected > 0))
    return np.asarray(hits * np.log(ratio))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values corrected for looking at all of them (Holm 1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return tuple(corrected)
