"""What a threshold does: net benefit, rates at a threshold, bands of risk, prior shift; numpy."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Bool, Float, Int
from core.defaults import FALSE_ALARMS, LEVEL, N_RESAMPLES, SEED
from core.errors import UsageError
from core.metrics.binning import bin_index
from core.metrics.exact import exact_interval
from core.metrics.intervals import wilson
from core.metrics.records import Score, Setting

STREAM_NET_BENEFIT = 6  # of random numbers; others are in `estimates` and `resampled`
EDGES = tuple(k / 10 for k in range(11))


@dataclass(frozen=True)
class NetBenefit:
    """The decision curve; arrays are (T,) float64, in net true positives a row.

    Attributes
    ----------
    thresholds : in (0, 1), ascending
        "p at or above it" is called positive.
    model, low, high :
        TP/N - FP/N t/(1 - t) and its percentile bootstrap band.
    treat_all :
        The same with every row called positive; with none it is 0.
    gain, gain_low, gain_high :
        The model's above the better of treat all and treat none, resampled together.
    n, events, n_resamples, seed, level :
        Rows, events, and how the bands were drawn.
    """

    thresholds: Float
    model: Float
    low: Float
    high: Float
    treat_all: Float
    gain: Float
    gain_low: Float
    gain_high: Float
    n: int
    events: int
    n_resamples: int
    seed: int
    level: float


def net_benefit(
    p: Float,
    y: Bool,
    thresholds: Float | Sequence[float],
    *,
    n_resamples: int = N_RESAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
) -> NetBenefit:
    """Return the net benefit of acting on p, with its bootstrap band.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks, N >= 1.
    y : (N,) bool
        Events.
    thresholds : (T,) in (0, 1), ascending
        Risks from which one would act; they come from the clinic, never from the data.
    n_resamples, level, seed :
        Of the band.

    Raises
    ------
    UsageError
        SETTING: a threshold outside (0, 1), or not in ascending order.

    Notes
    -----
    Rows between two thresholds with the same outcome act alike, so a multinomial over these cells
    is the bootstrap over rows, exactly.
    """
    at = np.asarray(thresholds, dtype=np.float64)
    if at.size == 0 or not (np.all((at > 0.0) & (at < 1.0)) and np.all(np.diff(at) > 0.0)):
        what = "thresholds must ascend between 0 and 1, both excluded"
        raise UsageError("SETTING", what, "give for example 0.01 to 0.5")
    cells = at.size + 1
    cell = np.searchsorted(at, p, side="right")  # p >= t: at or above its own threshold
    counts = np.bincount(cell + cells * y, minlength=2 * cells).astype(np.int64)
    rng = np.random.default_rng([seed, STREAM_NET_BENEFIT])
    drawn = rng.multinomial(p.size, counts / p.size, size=n_resamples)
    model, treat_all = _benefits(counts[None], at)
    models, treats = _benefits(drawn, at)
    gains = models - np.maximum(treats, 0.0)
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(models, tails, axis=0)
    gain, (gain_low, gain_high) = (
        model[0] - np.maximum(treat_all[0], 0.0),
        np.quantile(gains, tails, axis=0),
    )
    return NetBenefit(
        at,
        model[0],
        np.minimum(low, model[0]),
        np.maximum(high, model[0]),
        treat_all[0],
        gain,
        np.minimum(gain_low, gain),
        np.maximum(gain_high, gain),
        int(p.size),
        int(np.count_nonzero(y)),
        n_resamples,
        seed,
        level,
    )


def _benefits(counts: Int, at: Float) -> tuple[Float, Float]:
    """Return net benefit of the model and of treating all from (R, 2 (T + 1)) counts."""
    cells, n = at.size + 1, counts.sum(axis=1, keepdims=True)
    odds = at / (1.0 - at)
    negative, positive = (
        np.cumsum(half[:, ::-1], axis=1)[:, ::-1] for half in (counts[:, :cells], counts[:, cells:])
    )
    model = (positive[:, 1:] - negative[:, 1:] * odds) / n
    return model, (positive[:, :1] - negative[:, :1] * odds) / n


@dataclass(frozen=True)
class Bands:
    """Rows by stated risk; arrays are (B,), NaN where a band is empty.

    Attributes
    ----------
    low, high : float64
        Edges; a band is (low, high], the first one closed at its lower edge.
    count, events : int64
        Rows and events.
    mean, share : float64
        Mean stated risk and share of events.
    ci_low, ci_high : float64
        Wilson interval of the share.
    least, most : float64
        Its exact interval, corrected for all bands: a stated risk beyond it is wrong.
    """

    low: Float
    high: Float
    count: Int
    events: Int
    mean: Float
    share: Float
    ci_low: Float
    ci_high: Float
    least: Float
    most: Float


def bands(
    p: Float, y: Bool, edges: Sequence[float] = EDGES, level: float = LEVEL, *, looks: int = 1
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
    level : float
        Of the intervals.
    looks : int
        Findings whose bands are looked at together.
    """
    ends = np.asarray(edges, dtype=np.float64)
    index, size = bin_index(p, ends), len(ends) - 1
    count = np.bincount(index, minlength=size).astype(np.int64)
    events = np.bincount(index[y], minlength=size).astype(np.int64)
    rows = np.where(count > 0, count, np.nan)
    low, high = wilson(events, count, level)
    mean = np.bincount(index, p, minlength=size) / rows
    looks *= max(int(np.count_nonzero(count)), 1)
    sure = exact_interval(events, count, 1.0 - FALSE_ALARMS / looks)
    return Bands(ends[:-1], ends[1:], count, events, mean, events / rows, low, high, *sure)


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
    """
    ratio = _odds(to_prevalence) / _odds(from_prevalence)
    return np.asarray(p * ratio / (1.0 - p + p * ratio))


def _odds(prevalence: float) -> float:
    if not 0.0 < prevalence < 1.0:
        what = f"prevalence is {prevalence:g}"
        raise UsageError("SETTING", what, "give a share between 0 and 1, both excluded")
    return prevalence / (1.0 - prevalence)


@dataclass(frozen=True)
class Classified:
    """What calling "p at or above a threshold" positive does.

    Attributes
    ----------
    threshold : float
        The threshold.
    true_positive, false_positive, true_negative, false_negative : int
        Rows.
    sensitivity, specificity : Score
        With Wilson intervals.
    ppv, npv : Score
        Among these rows, with Wilson intervals; at another `prevalence`, from sensitivity and
        specificity.
    prevalence : float or None
        The other prevalence, if one was given.
    """

    threshold: float
    true_positive: int
    false_positive: int
    true_negative: int
    false_negative: int
    sensitivity: Score
    specificity: Score
    ppv: Score
    npv: Score
    prevalence: float | None


def classified(
    p: Float, y: Bool, threshold: float, level: float = LEVEL, *, prevalence: float | None = None
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
    level : float
        Of the intervals.
    prevalence : float, optional
        In (0, 1): give the predictive values for it instead of for these rows. They assume that
        only the prevalence differs; their interval spans Wilson's corners of sensitivity and
        specificity at level sqrt(level) each, so it is conservative.

    Raises
    ------
    UsageError
        SETTING: a prevalence outside (0, 1).
    """
    called, actual = p >= threshold, np.asarray(y, dtype=np.bool_)
    tp, fp = int(np.count_nonzero(called & actual)), int(np.count_nonzero(called & ~actual))
    tn, fn = int(np.count_nonzero(~called & ~actual)), int(np.count_nonzero(~called & actual))
    sensitivity = _share("sensitivity", tp, tp + fn, level, "no row has an event")
    specificity = _share("specificity", tn, tn + fp, level, "every row has an event")
    if prevalence is None:
        ppv = _share("ppv", tp, tp + fp, level, "no row is called positive")
        npv = _share("npv", tn, tn + fn, level, "no row is called negative")
    else:
        corner = float(np.sqrt(level))
        both = [_corners(tp, tp + fn, corner), _corners(tn, tn + fp, corner)]
        odds = _odds(prevalence)
        ppv = _predictive("ppv", both[0], both[1], odds, level, p.size)
        npv = _predictive("npv", both[1], both[0], 1.0 / odds, level, p.size)
    return Classified(threshold, tp, fp, tn, fn, sensitivity, specificity, ppv, npv, prevalence)


def _share(metric: str, k: int, n: int, level: float, reason: str) -> Score:
    if n == 0:
        return Score(metric, None, None, None, level, 0, {}, reason)
    low, high = wilson(np.array(k), np.array(n), level)
    settings: dict[str, Setting] = {"interval": "Wilson"}
    return Score(metric, k / n, float(low), float(high), level, n, settings)


def _corners(k: int, n: int, level: float) -> tuple[float, float, float] | None:
    """Return a share with its interval; None where there are no rows."""
    if n == 0:
        return None
    low, high = wilson(np.array(k), np.array(n), level)
    return k / n, float(low), float(high)


def _predictive(
    metric: str,
    found: tuple[float, float, float] | None,
    spared: tuple[float, float, float] | None,
    odds: float,
    level: float,
    n: int,
) -> Score:
    """Return the share of calls that are right: found o / (found o + 1 - spared)."""
    if found is None or spared is None:
        return Score(metric, None, None, None, level, n, {}, "only one outcome is present")
    right = [f * odds for f in found]
    wrong = [1.0 - s for s in spared]
    if right[0] + wrong[0] == 0.0:
        return Score(metric, None, None, None, level, n, {}, "no row is called so")
    settings: dict[str, Setting] = {"interval": "corners of sensitivity and specificity, Wilson"}
    value, low, high = (r / (r + w) if r + w else 1.0 for r, w in zip(right, wrong, strict=True))
    return Score(metric, value, low, high, level, n, settings)
