"""The clinical numbers of an audit: each with its interval, floor, or why it has none; numpy."""

import math

import numpy as np

from core.arrays import Float, Int
from core.defaults import SMOOTHER
from core.metrics.binning import equal_mass_cuts, equal_width_cuts
from core.metrics.clinical.curve import ERRORS, SMOOTHERS, ClaimCells, cell_errors, curve_errors
from core.metrics.clinical.fit import brier_skill, recalibrated, spiegelhalter_z
from core.metrics.estimates import Estimate, PreparedTarget, floor_of
from core.metrics.grouped import effective_rarer, groups_of, sum_variance, weights_of
from core.metrics.intervals import basic, percentile, student
from core.metrics.records import Score, Setting

CELLS = 50  # of equal width, and as many of equal count, in which the curve is resampled
BOTH = "hull of basic and percentile bootstrap, from 0 within the noise floor"
FITS = ("citl", "slope", "intercept")
SCORES = (*FITS, "spiegelhalter_z", "brier_skill")
FEWEST = 10  # rows of the rarer outcome for an interval of the Brier skill, by simulation


def curve_estimates(
    prepared: PreparedTarget, *, level: float, smoother: str = SMOOTHER
) -> dict[str, Estimate]:
    """Return ICI, E50, E90 and Emax with intervals and noise floors.

    Parameters
    ----------
    prepared : PreparedTarget
        A positive class or a label.
    smoother : str
        A key of `SMOOTHERS`.

    Notes
    -----
    Resamples are smoothed in cells of neighbouring claims, with the reach that each local fit has
    on the rows themselves. A distance from a curve folds at 0 and is wide where events are few:
    neither interval alone holds the truth often enough (docs/coverage.md).
    """
    ranked, resamples = prepared.ranked, prepared.resamples
    values, settings = curve_errors(ranked, smoother)
    cuts = np.union1d(equal_width_cuts(ranked, CELLS), equal_mass_cuts(ranked, CELLS))
    cells = ClaimCells.between(ranked, cuts)
    fitted, bootstrapped = SMOOTHERS[smoother](cells), resamples.bootstrap(cuts)

    def errors(rows: Int, events: Int) -> dict[str, Float]:
        shares = np.clip(fitted.fit(rows, events), 0.0, 1.0)
        return cell_errors(cells, rows, np.atleast_2d(shares))

    draws = errors(bootstrapped.count, bootstrapped.hits)
    floors = errors(cells.rows, resamples.floor(cuts).hits)
    centres = errors(cells.rows, cells.events)
    both = {**settings, **prepared.settings(BOTH)}
    estimates = {}
    for metric in ERRORS:
        value, floor = values[metric], floor_of(floors[metric])
        centre, ends = float(centres[metric][0]), percentile(draws[metric], level)
        bound = float(np.quantile(floors[metric], level))
        low, high = basic(value, draws[metric], level, centre=centre, floor=bound)
        low, high = min(low, ends[0]), max(high, ends[1])
        estimates[metric] = (Score(metric, value, low, high, level, ranked.n, both), floor)
    return estimates


def clinical_scores(prepared: PreparedTarget, *, level: float) -> dict[str, Score]:
    """Return both intercepts, the slope, Spiegelhalter's z and the Brier skill of one target."""
    ranked = prepared.ranked
    fit = recalibrated(ranked, level)
    parts = dict(zip(FITS, (fit.in_the_large, fit.slope, fit.intercept), strict=True))
    scores = {
        metric: Score(**{**vars(score), "settings": {"of": prepared.of, **score.settings}})
        for metric, score in parts.items()
    }
    return scores | {
        "spiegelhalter_z": _test(prepared, level),
        "brier_skill": _skill(prepared, level),
    }


def _test(prepared: PreparedTarget, level: float) -> Score:
    """Return Spiegelhalter's z with its p-value; a test statistic has no interval."""
    ranked = prepared.ranked
    z = spiegelhalter_z(ranked)
    if math.isnan(z):
        reason = "every stated risk is 0, 0.5 or 1"
        return Score.undefined("spiegelhalter_z", level, ranked.n, reason)
    chance = math.erfc(abs(z) / math.sqrt(2.0))
    settings: dict[str, Setting] = {"of": prepared.of, "p_value": chance}
    reason = "a test statistic: beyond 1.96 either way in 5 of 100 calibrated samples"
    return Score("spiegelhalter_z", z, None, None, level, ranked.n, settings, reason)


def _skill(prepared: PreparedTarget, level: float) -> Score:
    """Return the Brier skill with its interval by the delta method.

    The rarer outcome decides the spread, so the quantile is Student's with as many degrees of
    freedom as it has rows, less one; under FEWEST of them there is no interval.
    """
    ranked = prepared.ranked
    n, share, value = ranked.n, ranked.hits / ranked.total, brier_skill(ranked)
    if math.isnan(value):
        reason = f"only one outcome is present: {ranked.hits} of {n} are events"
        return Score.undefined("brier_skill", level, n, reason)
    spread = share * (1.0 - share)
    squares = (ranked.confidence - ranked.correct) ** 2
    weights = weights_of(ranked)
    mean = float(weights @ squares) / ranked.total
    lean = (1.0 - 2.0 * share) * (ranked.correct - share)
    each = (squares - mean) / spread - mean * lean / spread**2
    settings: dict[str, Setting] = {"of": prepared.of, "reference": share}
    rarer = effective_rarer(ranked)
    if rarer < FEWEST:
        reason = f"only {rarer:.0f} of the rarer outcome: too few for an interval of the skill"
        return Score("brier_skill", value, None, None, level, n, settings, reason)
    variance = float((each**2).sum())
    if not ranked.independent:
        variance = sum_variance(weights * each, groups_of(ranked))
    half = student(level, rarer - 1) * variance**0.5 / ranked.total
    settings["interval"] = "delta method, Student's t of the rarer outcome"
    return Score("brier_skill", value, value - half, min(1.0, value + half), level, n, settings)
