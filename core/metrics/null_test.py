"""Whether claims are calibrated: one joint test on the draws of the noise floor; numpy only.

Six statistics are read from the rows and from every draw whose outcomes follow the claims: the
signed gap, the score statistic of the slope, the ECE of the bins, the ECE of 50 bins of equal
counts, the range of the cumulative differences (Kuiper's; Arrieta-Ibarra et al. 2022), and of
answers the largest standardised deviation of a class. Each becomes its rank among the draws, and
the smallest of the ranks is compared with the smallest ranks of the draws themselves. So all
together raise a false alarm in at most 5 of 100 calibrated sets, however few the rows and however
saturated or rare the claims (Westfall and Young 1993, step one).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from math import erf, exp, pi, sqrt
from statistics import NormalDist

import numpy as np

from core.arrays import Bool, Counts, Float, Int
from core.defaults import (
    FALSE_ALARMS,
    MATERIAL_ODDS,
    MATERIAL_SHARE,
    MATERIAL_TEMPERATURE,
    N_BINS_MAX,
    SMALL_GAP,
    SMALL_RARE,
    SMALL_SLOPE,
)
from core.metrics.binning import BinSums, equal_mass_cuts
from core.metrics.classwise import FAR, ClassSums
from core.metrics.clinical.fit import recalibrated
from core.metrics.records import ClassCell, Score, Statistic
from core.metrics.resampling import Resamples
from core.metrics.top_label import weighted_gap
from core.metrics.units import units

LOGIT_CLIP = 1e-9
TAIL = 0.75  # beyond this quantile of the draws a tail is taken as exponential
DIGITS = 9  # of a statistic in units of its spread: sums of equal terms are ties
SAME = 1e-9  # of the largest draw: a spread that is rounding
HALVINGS = 40
NEWTON = 12
ENOUGH = 6.63  # of the deviance, that a shift may save beside a temperature: 1 in 100 by chance
ONE_SIDED = NormalDist().inv_cdf(1.0 - FALSE_ALARMS)  # of bounds of what is shown to be small
STEPS = 30  # of Newton's method, which converges in five to ten


class MiscalibrationForm(Enum):
    """How a material miscalibration moves the claims."""

    TEMPERATURE = "logits off, and the mean claim with them"
    SPREAD = "logits off, the mean claim kept"
    ODDS = "odds off"


@dataclass(frozen=True)
class Zone:
    """How far off a target may be and still be off by less than matters."""

    # Of the signed gap and of every mean absolute error, in (0, 1); but at most `SMALL_RARE` of the
    # rarer outcome
    gap: float = SMALL_GAP
    slope: float = SMALL_SLOPE  # of the slope from 1, in (0, 1)


@dataclass(frozen=True)
class NullTest:
    """The joint test of "calibrated"."""

    p_value: float  # of all statistics together
    # gap, slope, ece: p-value of each, corrected for looking at all
    gap: float
    slope: float
    ece: float
    # Score statistic of the slope; above 0 the claims are too extreme, below 0 too moderate
    steepness: float
    # Of 1, how often the test would have detected a material miscalibration, the least over its
    # forms; NaN where it detected one
    power: float
    # (B,), p-value of each bin, corrected for looking at all bins; NaN where it is empty, and
    # everywhere where the test detected nothing, since no bin is to be named then
    bins: Float
    # Whether one temperature of the claims explains what is off, the signed gap with it: a shift
    # beside it lowers the deviance by no more than chance would (`ENOUGH`), and the shift alone
    # leaves more than that over. False where the test detected nothing.
    slope_leads: bool = False
    # fine, cumulative, classes: p-value of the ECE of 50 bins, of the cumulative range, and of the
    # largest deviation of a class, corrected as well; 1 where it was not looked at
    fine: float = 1.0
    cumulative: float = 1.0
    classes: float = 1.0
    # values, chance: of all but gap and slope, the value and the 95th percentile of the draws
    values: Mapping[Statistic, float] = field(default_factory=dict)
    chance: Mapping[Statistic, float] = field(default_factory=dict)
    # What the target is off by less than, where it is off and equivalence is shown; None where a
    # bin beyond chance is shown to be off by more
    small: float | None = None
    own_limit: bool = False  # whether that is another limit than the usual one
    # The cell of the classes that deviates most, where they deviate beyond chance
    deviant: ClassCell | None = None
    # power_odds, power_spread: the same of odds off alone, and of logits off with the mean claim
    # kept; None where the test detected something, or the form would be immaterial
    power_odds: float | None = None
    power_spread: float | None = None
    sided: bool = True  # whether the interval of the gap at 95 % leaves 0 out
    # Calibration slope of the rows with its interval at 95 %, where the test detected something
    fit: Score | None = None
    # Answers of the classes furthest off on each side beyond chance, the further first
    furthest: tuple[ClassCell, ...] = ()
    # Those of them that the mean gap, where it is found, does not tell of
    unlike: tuple[ClassCell, ...] = ()
    # Share of the rows that such answers of the rarer side hold; 0 where one side has none
    rarer_side: float = 0.0
    two_classes: bool = False  # whether the answers are of two classes
    # Mean absolute error that the rows do not rule out, where the test detected nothing; None where
    # they do
    open_to: float | None = None

    @property
    def too_extreme(self) -> bool:
        """Whether claims rise faster than the share that comes true.

        By the fit, or by the score statistic where it has no value: outcomes that follow the
        claims without exception have none.
        """
        if self.fit is None or self.fit.value is None:
            return self.steepness > 0
        return self.fit.value < 1.0

    def finds(self, statistic: Statistic) -> bool:
        """Return whether a statistic is beyond chance, corrected for looking at all."""
        return bool(getattr(self, statistic) <= FALSE_ALARMS)


@dataclass(frozen=True)
class Null:
    """What the joint test reads from one target; what no bin changes is computed once."""

    resamples: Resamples  # of the target
    classes: ClassSums | None = None  # of the answers given
    seed: int = 0  # of the draws of the classes

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
    def _fine(self) -> Int:
        """Columns of the 50 bins of equal counts among the cells."""
        return self.resamples.columns(equal_mass_cuts(self.resamples.ranked, N_BINS_MAX))

    def _sums(self, gap: Float) -> Float:
        """Return gap, slope, ECE of 50 bins and cumulative range of the gaps of cells, (..., 4)."""
        # One running sum serves all: its end is the gap, its steps the bins, its range is Kuiper's.
        running = np.zeros((*gap.shape[:-1], gap.shape[-1] + 1))
        np.cumsum(gap, axis=-1, out=running[..., 1:])
        fine = np.abs(np.diff(running[..., self._fine], axis=-1)).sum(axis=-1)
        span = running.max(axis=-1) - running.min(axis=-1)
        return np.stack([running[..., -1], gap @ self._lever, fine, span], axis=-1)

    @cached_property
    def _fixed(self) -> tuple[Float, Float]:
        """Return what no bin changes, of the rows, (4,), and of the draws, (R, 4)."""
        return self._sums(self._own.gap), self._sums(self._draws.gap)

    @cached_property
    def _of_classes(self) -> tuple[Float, Float]:
        """Return the largest deviation of the draws, (R,), and the sizes of the parts, (R, P)."""
        assert self.classes is not None
        return self.classes.draws(len(self._fixed[1]), self.seed)

    @cached_property
    def _slope_leads(self) -> bool:
        """Whether a temperature alone explains the rows; see `NullTest`."""
        mean, count = self._mean, self._own.count
        logit = np.log(mean) - np.log1p(-mean)
        hits = np.clip(self._own.confidence - self._own.gap, 0.0, count)
        ones, no = np.ones_like(logit)[:, None], np.zeros_like(logit)
        # A temperature alone, with a shift beside it, and the shift alone, each by its deviance.
        temperature = _deviance(logit[:, None], no, hits, count)
        saved = temperature - _deviance(np.column_stack([logit, ones]), no, hits, count)
        over = _deviance(ones, logit, hits, count) - temperature
        # rows that belong together or weigh unequally vary by this much more than rows alone
        spread = self._fixed[1][:, 0].var() / float(count @ (mean * (1.0 - mean)))
        return bool(saved <= ENOUGH * max(spread, 1.0) < over)

    @cached_property
    def _fit(self) -> Score:
        """Calibration slope of the rows, that of the table of clinical numbers, at 95 %."""
        return recalibrated(self.resamples.ranked, 1.0 - FALSE_ALARMS).slope

    @cached_property
    def _shifts(self) -> tuple[tuple[MiscalibrationForm, ...], Float]:
        """Each material miscalibration, and how far it moves the gap of each cell, (A, C)."""
        mean, count = self._mean, self._own.count
        logit = np.log(mean) - np.log1p(-mean)
        # What would be true were the claims off: logits scaled either way, odds moved either way.
        moved: list[tuple[MiscalibrationForm, Float]] = []
        for factor in (1.0 / MATERIAL_TEMPERATURE, MATERIAL_TEMPERATURE):
            moved.append((MiscalibrationForm.TEMPERATURE, _sigmoid(factor * logit)))
            moved.append((MiscalibrationForm.SPREAD, _mean_kept(factor * logit, mean, count)))
        shifted = (_sigmoid(logit + sign * np.log(MATERIAL_ODDS)) for sign in (-1.0, 1.0))
        moved += [(MiscalibrationForm.ODDS, claims) for claims in shifted]
        shifts = np.stack([count * (mean - truth) for _, truth in moved])
        # The share of rows that a form would move decides whether it is one that matters.
        information = count @ (mean * (1.0 - mean))
        material = np.abs(shifts).sum(axis=1) >= MATERIAL_SHARE * information
        forms = tuple(form for (form, _), big in zip(moved, material, strict=True) if big)
        return forms, np.asarray(shifts[material])

    @cached_property
    def _moved(self) -> tuple[Float, Float]:
        """Return the draws under each material miscalibration, (A, R, 4), and its shifts, (A, C).

        The shifts are running sums of the gaps of cells, (A, C + 1).
        """
        shifts, draws = self._shifts[1], self._draws.gap
        # Sets that are off are the same draws, moved: nothing is drawn again, and power is paired.
        moved = [self._sums(draws + shift) for shift in shifts]
        running = np.pad(np.cumsum(shifts, axis=1), ((0, 0), (1, 0)))
        return np.array(moved).reshape(len(shifts), len(draws), 4), running

    def test(
        self, cuts: Int, zone: Zone | None = None, at_least: Mapping[Statistic, float] | None = None
    ) -> NullTest:
        """Return the joint test with the ECE over the bins between `cuts`.

        `cuts`: ranks at which the bins end; `zone`: what is too little to matter; the defaults
        where left out; `at_least`: what p-values are at least: those of the same rows claimed of
        the other of two classes.
        """
        zone, at_least = zone or Zone(), at_least or {}
        own, draws = self._fixed
        n = self.resamples.ranked.total
        bins, drawn = self.resamples.observed(cuts), self.resamples.floor(cuts)
        # Columns in the order of `looks`. Gap and slope count in either direction.
        rows = np.append(np.abs(own), weighted_gap(bins, n))
        null = np.column_stack([np.abs(draws), weighted_gap(drawn, n)])
        looks = [
            Statistic.GAP,
            Statistic.SLOPE,
            Statistic.FINE,
            Statistic.CUMULATIVE,
            Statistic.ECE,
        ]
        deviant = None
        if self.classes is not None:
            largest, deviant = self.classes.largest()
            looks.append(Statistic.CLASSES)
            rows, null = np.append(rows, largest), np.column_stack([null, self._of_classes[0]])
        # Each p-value is corrected for all looks, so the smallest of them is that of all together.
        p_values = dict(zip(looks, joint(rows, null).tolist(), strict=True))
        adjusted = {look: max(p, at_least.get(look, 0.0)) for look, p in p_values.items()}
        p_value = min(adjusted.values())
        off = p_value <= FALSE_ALARMS
        # Two of the statistics are sums over rows, of which records hold shares.
        scale = dict.fromkeys(looks, 1.0) | {Statistic.FINE: n, Statistic.CUMULATIVE: n}
        chance = dict(zip(looks, np.quantile(null, 0.95, axis=0).tolist(), strict=True))
        shown = [look for look in looks if look not in {Statistic.GAP, Statistic.SLOPE}]
        # Bins are named where something is off; power is asked for where nothing is.
        powers = {} if off else self._powers(cuts, null)
        beyond = bins_beyond(bins, drawn) if off else np.full(bins.count.shape, np.nan)
        test = NullTest(
            p_value=p_value,
            **{look.value: p for look, p in adjusted.items()},
            steepness=float(own[1]),
            power=np.nan if off else min(powers.values(), default=1.0),
            power_odds=powers.get(MiscalibrationForm.ODDS),
            power_spread=powers.get(MiscalibrationForm.SPREAD),
            bins=beyond,
            slope_leads=bool(off) and self._slope_leads,
            values={look: float(rows[looks.index(look)]) / scale[look] for look in shown},
            chance={look: chance[look] / scale[look] for look in shown},
        )
        # Off but small has to be shown, by bounds: a small value of few rows shows nothing.
        limit = self._limit(zone)
        below = self._errors_below(rows, null, limit)
        if not off:
            return replace(test, open_to=None if below else limit)
        # A bin beyond chance that is surely off by more than the limit denies a small error.
        low, high = self.resamples.gap_interval(1.0 - FALSE_ALARMS)
        named = beyond <= FALSE_ALARMS
        least = np.abs(bins.gap) - ONE_SIDED * drawn.gap.std(axis=0)  # that each bin is off by
        far = bool((least > limit * bins.count)[named].any())
        is_small = below and not far and self._is_small(limit, zone)
        test = replace(
            test,
            small=limit if is_small else None,
            own_limit=limit == zone.gap != SMALL_GAP,
            sided=not low <= 0.0 <= high,
            fit=self._fit,
        )
        if self.classes is None:
            return test
        furthest, rarer = self.classes.furthest()
        mean = self.resamples.ranked.gap if test.finds(Statistic.GAP) else 0.0
        return replace(
            test,
            deviant=deviant if test.finds(Statistic.CLASSES) else None,
            furthest=furthest,
            unlike=self.classes.all_unlike(mean, 1.0 if is_small else FAR),
            rarer_side=rarer,
            two_classes=len(self.classes.names) == 2,
        )

    def _limit(self, zone: Zone) -> float:
        """Return what a gap must be below to be small: less where event or claim is rare."""
        ranked = self.resamples.ranked
        claimed = float(self._own.confidence.sum() / ranked.total)
        shares = np.array([ranked.hits / ranked.total, claimed])
        return min(zone.gap, SMALL_RARE * float(np.minimum(shares, 1.0 - shares).min()))

    def _errors_below(self, rows: Float, null: Float, limit: float) -> bool:
        """Whether the absolute errors of bins, of 50 bins and of classes are shown to be below.

        Each is less than sets off by the limit show in 95 of 100.
        """
        n = self.resamples.ranked.total
        errors = [(rows[2] / n, null[:, 2] / n), (rows[4], null[:, 4])]
        if self.classes is not None:
            errors += list(zip(self.classes.sizes(), self._of_classes[1].T, strict=True))
        return all(value < least_shown(draws, limit) for value, draws in errors)

    def _is_small(self, limit: float, zone: Zone) -> bool:
        """Whether gap and slope are shown to be small, by two one-sided tests each at 5 %.

        The signed gap (Lakens 2017), and the slope or how far the claims move with it.
        """
        gap = self.resamples.gap_interval(1.0 - 2.0 * FALSE_ALARMS)
        if not -limit < gap[0] <= gap[1] < limit:
            return False
        low, high = self._slope_interval
        if 1.0 - zone.slope < low <= high < 1.0 + zone.slope:
            return True
        return max(map(self._reach, (low, high))) < limit

    @cached_property
    def _slope_interval(self) -> tuple[float, float]:
        """Interval of the logistic slope of the outcomes on the logits of the claims, at 90 %.

        Newton's steps on the cells; the variance is that of the score among the resamples.
        """
        count, hits = self._own.count, np.asarray(self._own.hits, dtype=np.float64)
        logit = np.log(self._mean) - np.log1p(-self._mean)
        if np.ptp(logit[count > 0]) < 10.0**-DIGITS:
            return 1.0, 1.0  # claims that are all the same have no slope
        # Newton's steps are bounded: cells next to 0 and 1 are so flat that a full one runs off.
        design = np.stack([np.ones_like(logit), logit])
        beta = np.array([0.0, 1.0])
        for _ in range(NEWTON):
            truth = _sigmoid(np.clip(beta @ design, -30.0, 30.0))
            weight = np.maximum(count * truth * (1.0 - truth), LOGIT_CLIP)
            step = np.linalg.lstsq((design * weight) @ design.T, design @ (hits - count * truth))[0]
            beta = beta + np.clip(step, -2.0, 2.0)
        # How the score scatters among resamples, over the information: groups and weights included.
        spread = self.resamples.bootstrap(self.resamples.cuts)
        lever = logit - (weight @ logit) / weight.sum()
        score = (spread.hits - spread.count * truth) @ lever
        ranked = self.resamples.ranked
        wide = units(ranked.n, ranked.sampling).wide(1.0 - 2.0 * FALSE_ALARMS)
        half = wide * score.std() / (weight @ lever**2)
        return float(beta[1] - half), float(beta[1] + half)

    def _reach(self, slope: float) -> float:
        """Return how far a slope moves the claims, their mean kept: the mean of |shifts|."""
        logit = np.log(self._mean) - np.log1p(-self._mean)
        count = self._own.count
        moved = _mean_kept(slope * logit, self._mean, count)
        return float(count @ np.abs(moved - self._mean) / count.sum())

    def _powers(self, cuts: Int, null: Float) -> dict[MiscalibrationForm, float]:
        """Return how often the test detects each form of miscalibration, the least over signs."""
        if not null[:, 0].any():  # certain claims: no set drawn from them can be off
            return dict.fromkeys(MiscalibrationForm, 0.0)
        moved, running = self._moved
        # The shift of a bin is the difference of running sums, as its gap is.
        bins = np.diff(running[:, self.resamples.columns(cuts)], axis=1)
        own = self.resamples.floor(cuts).gap
        powers: dict[MiscalibrationForm, float] = {}
        for form, fixed, binned in zip(self._shifts[0], moved, bins, strict=True):
            ece = np.abs(own + binned).sum(axis=1) / self.resamples.ranked.total
            sets = np.column_stack([np.abs(fixed), ece])
            if self.classes is not None:  # as if no class deviated for that
                sets = np.column_stack([sets, self._of_classes[0]])
            often = float(significant(sets, null).mean())
            powers[form] = min(powers.get(form, 1.0), often)
        return powers


def least_shown(draws: Float, size: float) -> float:
    """Return what a mean absolute error hardly ever falls below where it is truly `size`.

    Parameters
    ----------
    draws : (R,) float64
        The error of sets whose outcomes follow the claims.
    size : float
        In the same unit.

    Returns
    -------
    float
        The mean less `ONE_SIDED` deviations.

    Notes
    -----
    Chance adds less to errors that are there than to none: a cell off by g, with chance of spread
    s, shows |g + s Z|. The mean of their sum is convex in the errors, so of all errors of one size
    those show least that are k times the spread of their cell, k the same in all. By such a cell
    the mean of the draws grows from sqrt(2 / pi) to that of |k + Z|, and their deviation likewise.
    """
    none = sqrt(2.0 / pi)
    spread = float(draws.mean()) / none
    if spread == 0.0:
        return size
    # Mean and deviation of |k + Z|, a folded normal, in place of |Z|.
    k = size / spread
    mean = none * exp(-0.5 * k**2) + k * erf(k / sqrt(2.0))
    wider = sqrt((1.0 + k**2 - mean**2) / (1.0 - none**2))
    return spread * mean - ONE_SIDED * float(draws.std()) * wider


def _sigmoid(logit: Float) -> Float:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _deviance(features: Float, offset: Float, hits: Float, count: Counts) -> float:
    """Return the deviance of the logistic fit of hits on features, by Newton's method."""
    weights = np.zeros(features.shape[1])
    for _ in range(STEPS):
        p = _sigmoid(offset + features @ weights)
        slope = features.T @ (hits - count * p)
        curve = features.T @ (features * (count * p * (1.0 - p))[:, None])
        step = np.linalg.lstsq(curve, slope, rcond=None)[0]
        weights += step / max(1.0, float(np.abs(step).max()))  # at most 1, so that none runs off
        if np.abs(step).max() < SAME:
            break
    p = np.clip(_sigmoid(offset + features @ weights), LOGIT_CLIP, 1.0 - LOGIT_CLIP)
    return -2.0 * float(hits @ np.log(p) + (count - hits) @ np.log1p(-p))


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

    Examples
    --------
    The first statistic is as large in one set of three, so alone it would have p = 2 / 4: the rows
    count with the sets. But another set is as extreme by the second: of all together p = 3 / 4.

    >>> joint(np.array([3.0, 1.0]), np.array([[1.0, 1.0], [2.0, 3.0], [3.0, 2.0]])).tolist()
    [0.75, 1.0]
    """
    # The rows are one of R + 1 sets: each is ranked among all, so no p-value is 0 by counting.
    values = _rounded(np.vstack([rows, null]), null)
    share = _reached(values, values) / len(values)
    smallest = share.min(axis=1)
    adjusted = (smallest[None, :] <= share[0][:, None]).mean(axis=1)
    # Beyond every draw ranks say no more; the tail is corrected by the number of statistics.
    beyond = values[0] > values[1:].max(axis=0)
    tails = np.array([_tail(v, draws) for v, draws in zip(values[0], values[1:].T, strict=True)])
    return np.asarray(np.where(beyond, np.minimum(adjusted, len(rows) * tails), adjusted))


def significant(sets: Float, null: Float) -> Bool:
    """Return which of (M, S) further sets the joint test would call miscalibrated, (M,)."""
    # The p-value of `joint`, with each further set in the place of the rows.
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
    # The draws beyond the quantile say how fast the tail falls.
    start = np.quantile(draws, TAIL)
    excess = float((draws[draws >= start] - start).mean())
    if excess == 0.0:
        return 0.0 if value > start else 1.0
    return float((1.0 - TAIL) * np.exp(-max(value - start, 0.0) / excess))


def bins_beyond(own: BinSums, draws: BinSums) -> Float:
    """Return the p-value of each bin, corrected for looking at all of them, (B,).

    `own`, `draws`: of the rows, (B,), and of sets drawn from the claims, (R, B).

    Notes
    -----
    The largest signed root of the deviance over the bins is compared with the largest of every
    draw; it is nearly normal even where a bin expects a tenth of an event. NaN in empty bins.

    Examples
    --------
    >>> own = BinSums(np.array([10, 0]), np.array([5.0, 0.0]), np.array([5, 0]))
    >>> drawn = BinSums(own.count, own.confidence, np.array([[4, 0], [6, 0], [5, 0]]))
    >>> bins_beyond(own, drawn).tolist()  # all draws are off as far as 0; the second bin is empty
    [1.0, nan]
    """
    nonempty = own.count > 0
    rows = np.abs(_deviance_root(own, own.gap))[nonempty]
    null = np.abs(_deviance_root(own, draws.gap))[:, nonempty]
    scale = np.maximum(np.sqrt((null**2).mean(axis=0)), 1.0)
    # In units of its own spread, at least 1: a bin of hardly any event must not lead all others.
    largest = (null / scale).max(axis=1)
    reached = (largest[:, None] >= rows / scale - 1e-9).sum(axis=0)
    out = np.full(nonempty.shape, np.nan)
    out[nonempty] = (1 + reached) / (len(largest) + 1)
    return out


def _deviance_root(own: BinSums, gap: Float) -> Float:
    count = own.count.astype(np.float64)
    expected = np.clip(own.confidence, LOGIT_CLIP * count, (1.0 - LOGIT_CLIP) * count)
    hits = np.clip(own.confidence - gap, 0.0, count)
    # Twice the sum of observed times log(observed / expected), over events and non-events.
    deviance = _log_ratio(hits, expected) + _log_ratio(count - hits, count - expected)
    return np.asarray(np.sqrt(np.maximum(2.0 * deviance, 0.0)))


def _log_ratio(hits: Float, expected: Float) -> Float:
    ratio = np.divide(hits, expected, out=np.ones_like(hits), where=(hits > 0) & (expected > 0))
    return np.asarray(hits * np.log(ratio))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values corrected for looking at all of them (Holm 1979), in the order given.

    Examples
    --------
    The smallest times three, the next times two; the last no smaller than the one before.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return tuple(corrected)
