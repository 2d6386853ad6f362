"""What a threshold does: net benefit, rates at a threshold, bands of risk, prior shift; numpy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Bool, Float, Int
from core.codes import RefusalCode
from core.defaults import FALSE_ALARMS, LEVEL
from core.errors import UsageError
from core.metrics.binning import bin_index
from core.metrics.intervals import exact_interval, wilson
from core.metrics.records import Score, Setting
from core.metrics.units import design_effect
from core.predictions import INDEPENDENT, SamplingDesign

EDGES = tuple(k / 10 for k in range(11))


@dataclass(frozen=True, kw_only=True)
class NetBenefit:
    """The decision curve; arrays are (T,) float64, in net true positives a row.

    Attributes
    ----------
    thresholds : in (0, 1), ascending
        "p at or above it" is called positive.
    model, low, high :
        TP/N - FP/N t/(1 - t) and its band, which holds at all thresholds together.
    treat_all :
        The same with every row called positive; with none it is 0.
    gain_low :
        Lower bound of the model's above the better of treat all and treat none, which holds at all
        thresholds together.
    n, events, level :
        Rows, events, and the level of the bands.
    """

    thresholds: Float
    model: Float
    low: Float
    high: Float
    treat_all: Float
    gain_low: Float
    n: int
    events: int
    level: float


def net_benefit(
    p: Float,
    y: Bool,
    thresholds: Float | Sequence[float],
    *,
    level: float = LEVEL,
    sampling: SamplingDesign = INDEPENDENT,
) -> NetBenefit:
    """Return the net benefit of acting on p, with its simultaneous band.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks, N >= 1.
    y : (N,) bool
        Events.
    thresholds : (T,) in (0, 1), ascending
        Risks from which one would act; they come from the clinic, never from the data.
    level : float
        Of the band over all thresholds.
    sampling : SamplingDesign
        Groups and weights of the rows; counts are divided by the design effect then.

    Raises
    ------
    UsageError
        SETTING: a threshold outside (0, 1), or not in ascending order.

    Notes
    -----
    A benefit is a difference of two shares of the rows, wins minus w losses. Clopper and Pearson's
    limits of both are joined with the correlation of multinomial shares (MOVER, Zou and Donner
    2008), so a share of 0 has a limit too. The level is divided among the thresholds that flag
    different rows (Bonferroni). Above treat all, wins are true negatives and losses, in units of
    w, false negatives. The lower of two bounds bounds the lower of two gains at the same level.

    Examples
    --------
    At 0.5 three rows are flagged, two rightly: 2/4 - 1/4 x 1. At 0.2 the row that states just that
    is flagged as well: 2/4 - 2/4 x 0.25, no better than to treat all.

    >>> p, y = np.array([0.2, 0.6, 0.8, 0.9]), np.array([False, True, False, True])
    >>> curve = net_benefit(p, y, [0.2, 0.5])
    >>> curve.model.round(6).tolist(), curve.treat_all.round(6).tolist()
    ([0.375, 0.25], [0.375, 0.0])
    """
    at = np.asarray(thresholds, dtype=np.float64)
    if at.size == 0 or not (np.all((at > 0.0) & (at < 1.0)) and np.all(np.diff(at) > 0.0)):
        what = "Thresholds must ascend between 0 and 1, both excluded"
        raise UsageError(RefusalCode.SETTING, what, "give for example 0.01 to 0.5")
    rows = np.ones(p.size) if sampling.weights is None else sampling.weights
    n, odds = float(rows.sum()), at / (1.0 - at)
    cell = np.searchsorted(at, p, side="right")  # p >= t: at or above its own threshold
    # Rows at or above each threshold; the first entry is all of them.
    positive, negative = (_at_or_above(cell, rows * side, at.size + 1) for side in (y, ~y))
    flagged = _at_or_above(cell, np.ones(p.size), at.size + 1)[1:]
    # Thresholds that flag the same rows are looked at once.
    each = 1.0 - (1.0 - level) / np.unique(flagged).size
    flagging = np.array([_benefit_effect(cell > i, y, w, sampling) for i, w in enumerate(odds)])
    sparing = np.array(
        [_benefit_effect(cell <= i, ~y, 1 / w, sampling) for i, w in enumerate(odds)]
    )
    # True positives less false ones; then true negatives less missed events, against treat all.
    above_none = _difference(positive[1:], negative[1:], odds, flagging, (n, each))
    above_all = _difference(
        negative[0] - negative[1:], positive[0] - positive[1:], 1.0 / odds, sparing, (n, each)
    )
    model, low, high = above_none
    return NetBenefit(
        thresholds=at,
        model=model,
        low=low,
        high=high,
        treat_all=(positive[0] - negative[0] * odds) / n,
        gain_low=np.minimum(low, odds * above_all[1]),
        n=int(p.size),
        events=int(np.count_nonzero(y)),
        level=level,
    )


def _at_or_above(cell: Int, rows: Float, cells: int) -> Float:
    """Return the rows in each cell and those above it, (C,)."""
    return np.bincount(cell, rows, cells)[::-1].cumsum()[::-1]


def _benefit_effect(acted: Bool, won: Bool, weight: float, sampling: SamplingDesign) -> float:
    """Return the design effect of the benefit: 1 for a win, -weight for a loss, among `acted`."""
    if sampling.independent:
        return 1.0
    return design_effect(np.where(won, 1.0, -weight) * acted, sampling)


def _difference(
    wins: Float, losses: Float, weight: Float, effect: Float, rows_and_level: tuple[float, float]
) -> tuple[Float, Float, Float]:
    """Return wins/N - weight losses/N with its bounds, (T,) each."""
    n, level = rows_and_level
    a, b = wins / n, losses / n
    rows = n / effect
    a_low, a_high = exact_interval(a * rows, rows, level)
    b_low, b_high = exact_interval(b * rows, rows, level)
    # Shares of the same rows take from each other, which widens their weighted difference.
    with np.errstate(divide="ignore", invalid="ignore"):
        together = np.sqrt(a / (1.0 - a) * b / (1.0 - b))
    together = np.where((a < 1.0) & (b < 1.0), np.minimum(together, 1.0), 0.0)

    def joined(first: Float, second: Float) -> Float:
        return np.asarray(np.sqrt(first**2 + second**2 + 2.0 * together * first * second))

    value = a - weight * b
    return (
        value,
        value - joined(a - a_low, weight * (b_high - b)),
        value + joined(a_high - a, weight * (b - b_low)),
    )


@dataclass(frozen=True)
class Bands:
    """Rows by stated risk; arrays are (B,), NaN where a band is empty."""

    # low, high: edges; a band is (low, high], the first one closed at its lower edge
    low: Float
    high: Float
    # count, events: rows and events
    count: Int
    events: Int
    # mean, share: mean stated risk and share of events
    mean: Float
    share: Float
    # ci_low, ci_high: Wilson interval of the share
    ci_low: Float
    ci_high: Float
    # least, most: its exact interval, corrected for all bands: a stated risk beyond it is wrong
    least: Float
    most: Float


def bands(
    p: Float,
    y: Bool,
    edges: Sequence[float] = EDGES,
    level: float = LEVEL,
    *,
    sampling: SamplingDesign = INDEPENDENT,
    looks: int = 1,
) -> Bands:
    """Return what became of the rows in each band of stated risk.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks.
    y : (N,) bool
        Events.
    edges : sequence of float
        B + 1 ascending edges; the first 0, the last 1.
    sampling : SamplingDesign
        Groups and weights; the rows of a band are divided by its design effect then.
    looks : int
        Findings whose bands are looked at together.

    Examples
    --------
    A risk of 0.5 lies in the lower band; 0 as well, which is closed there alone.

    >>> p, y = np.array([0.0, 0.5, 0.75]), np.array([False, True, True])
    >>> by_band = bands(p, y, (0.0, 0.5, 1.0))
    >>> by_band.count.tolist(), by_band.mean.tolist(), by_band.share.tolist()
    ([2, 1], [0.25, 0.75], [0.5, 1.0])
    """
    ends = np.asarray(edges, dtype=np.float64)
    index, size = bin_index(p, ends), len(ends) - 1
    count = np.bincount(index, minlength=size).astype(np.int64)
    events = np.bincount(index[y], minlength=size).astype(np.int64)
    weights = np.ones(p.size) if sampling.weights is None else sampling.weights
    total, happened, stated = (
        np.bincount(index, values, size) for values in (weights, weights * y, weights * p)
    )
    rows = np.where(total > 0.0, total, np.nan)
    effect = np.array([_effect_within(y, index == i, sampling) for i in range(size)])
    trials = happened / effect, total / effect
    # Corrected for all bands that hold rows, of all findings looked at together.
    looks *= max(int(np.count_nonzero(count)), 1)
    intervals = *wilson(*trials, level), *exact_interval(*trials, 1.0 - FALSE_ALARMS / looks)
    mean, share = stated / rows, happened / rows
    return Bands(ends[:-1], ends[1:], count, events, mean, share, *intervals)


def _effect_within(hits: Bool, rows: Bool, sampling: SamplingDesign) -> float:
    """Return the design effect of the share of hits among some of the rows."""
    return 1.0 if sampling.independent else design_effect(hits[rows], sampling.take(rows))


def shifted(p: Float, from_prevalence: float, to_prevalence: float) -> Float:
    """Return the risks for another prevalence, (N,) in [0, 1].

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks; exactly 0 and 1 stay.
    from_prevalence, to_prevalence : float
        In (0, 1): that of the set the risks belong to, and that of the clinic.

    Raises
    ------
    UsageError
        SETTING: a prevalence outside (0, 1).

    Notes
    -----
    The odds are multiplied by the ratio of the prior odds, which is right if only the prevalence
    differs: what the finding looks like when present, and when absent, does not.

    Examples
    --------
    From one event in two to one in ten: odds of 1 become 1/9.

    >>> shifted(np.array([0.0, 0.5, 1.0]), 0.5, 0.1).round(6).tolist()
    [0.0, 0.1, 1.0]
    """
    ratio = _odds(to_prevalence) / _odds(from_prevalence)
    return np.asarray(p * ratio / (1.0 - p + p * ratio))


def _odds(prevalence: float) -> float:
    if not 0.0 < prevalence < 1.0:
        what = f"Prevalence is {prevalence:g}"
        raise UsageError(RefusalCode.SETTING, what, "give a share between 0 and 1, both excluded")
    return prevalence / (1.0 - prevalence)


@dataclass(frozen=True, kw_only=True)
class Classified:
    """What calling "p at or above a threshold" positive does."""

    threshold: float  # the threshold
    # true_positive, false_positive, false_negative: rows
    true_positive: int
    false_positive: int
    false_negative: int
    # sensitivity, specificity: with Wilson intervals
    sensitivity: Score
    specificity: Score
    # ppv, npv: among these rows, with Wilson intervals; at another `prevalence`, from sensitivity
    # and specificity
    ppv: Score
    npv: Score
    prevalence: float | None  # the other prevalence, if one was given


def classified(
    p: Float,
    y: Bool,
    threshold: float,
    level: float = LEVEL,
    *,
    prevalence: float | None = None,
    sampling: SamplingDesign = INDEPENDENT,
) -> Classified:
    """Return sensitivity, specificity and predictive values at a threshold.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks; "p >= threshold" is positive.
    y : (N,) bool
        Events.
    threshold : float
        In [0, 1].
    prevalence : float, optional
        In (0, 1): give the predictive values for it instead of for these rows. They assume that
        only the prevalence differs; their interval spans Wilson's corners of sensitivity and
        specificity at level sqrt(level) each, so it is conservative.
    sampling : SamplingDesign
        Groups and weights; the rows of a share are divided by its design effect then.

    Raises
    ------
    UsageError
        SETTING: a prevalence outside (0, 1).

    Examples
    --------
    Two risks are exactly the threshold: both are called positive.

    >>> p, y = np.array([0.3, 0.5, 0.5, 0.8]), np.array([False, False, True, True])
    >>> at_half = classified(p, y, 0.5)
    >>> at_half.sensitivity.value, at_half.specificity.value, round(at_half.ppv.value, 4)
    (1.0, 0.5, 0.6667)
    >>> at_half = classified(p, y, 0.5, prevalence=0.1)
    >>> round(at_half.ppv.value, 4)  # 0.1 x 1 / (0.1 x 1 + 0.9 x 0.5)
    0.1818
    """
    called, actual = p >= threshold, np.asarray(y, dtype=np.bool_)
    tp, fp = int(np.count_nonzero(called & actual)), int(np.count_nonzero(called & ~actual))
    fn = int(np.count_nonzero(~called & actual))
    # Right calls by weight: of events, of the others, of those called positive, of the rest.
    right = called == actual
    weights = np.ones(p.size) if sampling.weights is None else sampling.weights
    caught, spared, meant, cleared = (
        _Share(
            float(weights @ (right & rows)),
            float(weights @ rows),
            _effect_within(right, rows, sampling),
            int(np.count_nonzero(rows)),
        )
        for rows in (actual, ~actual, called, ~called)
    )
    sensitivity = caught.score("sensitivity", level, "no row has an event")
    specificity = spared.score("specificity", level, "every row has an event")
    if prevalence is None:
        ppv = meant.score("ppv", level, "no row is called positive")
        npv = cleared.score("npv", level, "no row is called negative")
    else:
        # Two intervals at sqrt(level) hold together at the level.
        corner = float(np.sqrt(level))
        both = [caught.corners(corner), spared.corners(corner)]
        odds = _odds(prevalence)
        ppv = _predictive("ppv", both[0], both[1], odds, level, p.size)
        npv = _predictive("npv", both[1], both[0], 1.0 / odds, level, p.size)
    return Classified(
        threshold=threshold,
        true_positive=tp,
        false_positive=fp,
        false_negative=fn,
        sensitivity=sensitivity,
        specificity=specificity,
        ppv=ppv,
        npv=npv,
        prevalence=prevalence,
    )


@dataclass(frozen=True)
class _Share:
    """Weight k of n, its design effect, and the number of rows."""

    k: float
    n: float
    effect: float
    rows: int

    def score(self, metric: str, level: float, reason: str) -> Score:
        """Return the share with Wilson's interval; the reason where there are no rows."""
        ends = self.corners(level)
        if ends is None:
            return Score.undefined(metric, level, 0, reason)
        settings: dict[str, Setting] = {"interval": "Wilson"}
        if self.effect > 1.0:
            settings["effective_n"] = self.n / self.effect
        return Score(metric, *ends, level, self.rows, settings)

    def corners(self, level: float) -> tuple[float, float, float] | None:
        """Return the share with its interval; None where there are no rows."""
        if self.n == 0:
            return None
        k, n = np.array(self.k / self.effect), np.array(self.n / self.effect)
        low, high = wilson(k, n, level)
        return self.k / self.n, float(low), float(high)


def _predictive(
    metric: str,
    hit_rate: tuple[float, float, float] | None,
    rejection_rate: tuple[float, float, float] | None,
    odds: float,
    level: float,
    n: int,
) -> Score:
    """Return the share of calls that are right: hits o / (hits o + 1 - rejections)."""
    if hit_rate is None or rejection_rate is None:
        return Score.undefined(metric, level, n, "only one outcome is present")
    right = [f * odds for f in hit_rate]
    wrong = [1.0 - s for s in rejection_rate]
    if right[0] + wrong[0] == 0.0:
        return Score.undefined(metric, level, n, "no row is called so")
    settings: dict[str, Setting] = {"interval": "corners of sensitivity and specificity, Wilson"}
    value, low, high = (r / (r + w) if r + w else 1.0 for r, w in zip(right, wrong, strict=True))
    return Score(
        metric=metric, value=value, low=low, high=high, level=level, n=n, settings=settings
    )
