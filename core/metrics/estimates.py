"""From a target's sorted rows to scores with intervals, floors and bins, clinical ones too; numpy.

Where a number has no interval or floor, the score says why.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from core import defaults
from core.arrays import Bool, Float, Int
from core.configs import BinRule
from core.defaults import SMOOTHER
from core.metrics import METRICS, binning, few_errors, top_label
from core.metrics.binning import equal_mass_cuts, equal_width_cuts
from core.metrics.classwise import AnswersOfRows, ClassCells, ClassSums, class_bins, redrawn_ece
from core.metrics.clinical.curve import ERRORS, SMOOTHERS, ClaimCells, cell_errors, curve_errors
from core.metrics.clinical.fit import brier_skill, recalibrated, spiegelhalter_z
from core.metrics.intervals import (
    basic,
    logit_interval,
    mean_interval,
    newcombe,
    percentile,
    precision_interval,
    student,
    wilson,
)
from core.metrics.null_test import Null
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import area, auprc, aurc, auroc, auroc_error
from core.metrics.records import FLOOR_LEVELS, BinTable, Floor, Gap, GroupSummary, Score, Setting
from core.metrics.resampling import Resamples, bootstrap
from core.metrics.smooth import pgap_draws, smce_draws, smece_draws, to_nodes
from core.metrics.units import (
    RowUnits,
    degrees_of_freedom,
    resampled_by,
    resampled_counts,
    row_signs,
    units,
)
from core.predictions import Predictions, SamplingDesign

BASIC = "basic bootstrap, lowered by the noise floor"
BASIC_GAP = f"{BASIC}, reaching the signed gap's interval"
RANK_CELLS = 200  # in which rows are resampled for the area under risk and coverage
FEWEST = 5  # rows of either outcome that each bin should lead to expect, by simulation
ROWS_DRAWN = 2_000_000  # by all resamples of the classwise ECE; more rows, fewer resamples
FEW_ERRORS = "percentile bootstrap, upper end at least the gamma bound of weighted errors"
UNBOUNDED = "every claim is 1: nothing bounds the loss of an error that was not seen"
HULL_OF_GROUPS = f"hull of Student's interval by analysis of variance and {FEW_ERRORS}"
ONE_ROW = "one row has no spread to take an interval from"
ONE_GROUP = "one group has no spread to take an interval from"

# the streams of random numbers, so that leaving one metric out changes no other
STREAM_NLL, STREAM_BRIER, STREAM_AURC, STREAM_CLASSWISE = 1, 2, 3, 4


@dataclass(frozen=True, kw_only=True)
class PreparedTarget:
    """One target, sorted and resampled once; every diagram of it is read from here."""

    name: str  # what is audited, in words
    target: int | None  # the class or label; None for the answers given
    of: str  # ``top_label``, ``positive_class``, ``label`` or ``one_vs_rest``; travels in settings
    resamples: Resamples  # the draws, and the sorted rows in `resamples.ranked`
    # n_resamples, seed: how they were drawn
    n_resamples: int
    seed: int
    # Which rows belong together, and what they are worth for this target
    groups: GroupSummary | None = None
    # Of the answers given: what each class states, for the joint test
    classes: ClassSums | None = None
    answers: AnswersOfRows | None = None  # of the answers given: of which class each is
    # Prepares the answers of an event, or the event of answers, where all answers of two classes
    # are one class, so that both are claims about the same
    make_mirror: Callable[[], "PreparedTarget"] | None = None

    @property
    def ranked(self) -> SortedOutcomes:
        """The sorted rows."""
        return self.resamples.ranked

    @cached_property
    def mirror(self) -> "PreparedTarget | None":
        """What `make_mirror` prepares, once."""
        return None if self.make_mirror is None else self.make_mirror()

    @cached_property
    def null(self) -> Null:
        """What the joint test of the verdict reads, whatever the bins."""
        return Null(self.resamples, self.classes, self.seed)

    def settings(self, interval: str) -> dict[str, Setting]:
        """Return the settings that every score of this target carries."""
        return {
            "of": self.of,
            "interval": interval,
            "resamples": self.n_resamples,
            "seed": self.seed,
            **resampled_by(self.ranked.sampling),
        }


BINNED = {key: metric.binned for key, metric in METRICS.items() if metric.binned is not None}
CLAIM_ERRORS = (*BINNED, "ks", "smece", "smce", "pgap")
ECE_OF: dict[BinRule, str] = {BinRule.EQUAL_WIDTH: "ece", BinRule.EQUAL_MASS: "ece_em"}

Estimate = tuple[Score, Floor]


class _Recipe(NamedTuple):
    """An error of the rows, and how it is computed from sums between cuts, of resamples as well."""

    value: float
    cuts: Int
    statistic: top_label.Statistic
    settings: dict[str, Setting]


def error_of(
    prepared: PreparedTarget,
    metric: str,
    *,
    n_bins: int,
    level: float,
    smece: str = "exact",
    rounds: int | None = None,
) -> Estimate:
    """Return one of `CLAIM_ERRORS` with its interval and noise floor.

    `n_bins`: of binned errors; a sweep has the bins it found; `smece`: how the smooth error is
    computed; `rounds`: its resamples, all where left out.
    """
    ranked, resamples, n = prepared.ranked, prepared.resamples, prepared.ranked.total
    rule, function = METRICS[metric].binned, METRICS[metric].function
    if rule is None:
        value, cuts, statistic, settings = _without_bins(prepared, metric, smece, rounds)
    else:
        statistic = rule.statistic
        if rule.sweeps:
            value, cuts = function(ranked), top_label.sweep_cuts(ranked, rule.cuts)
            n_bins = len(cuts) - 1
        else:
            value, cuts = function(ranked, n_bins=n_bins), rule.cuts(ranked, n_bins)
        settings = {"n_bins": n_bins, "bins": rule.bins}
        if metric == "mce":
            settings["rows_in_bin"] = top_label.worst_bin_rows(ranked, n_bins)
    # One statistic for all: on resamples, on sets that follow the claims, on the rows themselves.
    draws = statistic(resamples.bootstrap(cuts), n)
    chance = statistic(resamples.floor(cuts), n)
    # resamples scatter around the sample's own error, from which nothing is taken off
    plug_in = statistic if rule is None or rule.plug_in is None else rule.plug_in
    centre = plug_in(resamples.observed(cuts), n).item()
    score, floor = _error_score(prepared, metric, (value, draws, centre, settings), chance, level)
    # An error that ignores the size of bins may be decided by one row: no interval then.
    reason = _too_small(ranked, cuts) if rule is not None and rule.unweighted else ""
    if reason:
        settings = {key: setting for key, setting in score.settings.items() if key != "interval"}
        score = replace(score, low=None, high=None, settings=settings, reason=reason)
    return score, floor


def _without_bins(
    prepared: PreparedTarget, metric: str, kernel: str, rounds: int | None
) -> _Recipe:
    """Return the recipe of an error that is read from all cells.

    Of resamples the smooth error has the exact kernel, its bandwidth searched every time; the
    claims of the last two move to an even grid.
    """
    ranked, resamples, function = prepared.ranked, prepared.resamples, METRICS[metric].function
    if metric == "ks":
        return _Recipe(function(ranked), resamples.cuts, top_label.largest_sum, {})
    own = resamples.observed(resamples.cuts)
    confidence = np.clip(own.confidence / own.count, 0.0, 1.0)

    def smooth(bins: binning.BinSums, n: float) -> Float:
        return smece_draws(np.atleast_2d(bins.gap)[:rounds], confidence, n)

    def lipschitz(bins: binning.BinSums, n: float) -> Float:
        n_resamples = min(prepared.n_resamples, defaults.N_RESAMPLES_HEAVY)
        gaps = to_nodes(np.atleast_2d(bins.gap)[:n_resamples], confidence)
        if metric == "smce":
            return smce_draws(gaps, n)
        return pgap_draws(gaps, to_nodes(np.atleast_2d(bins.count)[:n_resamples], confidence), n)

    if metric == "smece":
        value = function(ranked, method=kernel)
        return _Recipe(value, resamples.cuts, smooth, {"kernel": kernel})
    return _Recipe(function(ranked), resamples.cuts, lipschitz, {})


def _too_small(ranked: SortedOutcomes, cuts: Int) -> str:
    """Return why bins leave an error that ignores their size without an interval, or nothing."""
    bins = binning.sums(ranked, cuts)
    expected = np.minimum(bins.confidence, bins.count - bins.confidence)
    small = bins.count[(bins.count > 0) & (expected < FEWEST)]
    if not small.size:
        return ""
    smallest = f"{small.min():,.0f}"
    rows = f"{smallest} row{'' if smallest == '1' else 's'}"
    return f"a bin of {rows} can decide it: under {FEWEST} of an outcome are expected in it"


def _error_score(
    prepared: PreparedTarget,
    metric: str,
    measurement: tuple[float, Float, float, Mapping[str, Setting]],
    chance: Float,
    level: float,
) -> Estimate:
    value, draws, centre, settings = measurement
    bound = float(np.quantile(chance, level))
    low, high = basic(value, draws, level, centre=centre, floor=bound)
    method = BASIC
    if not METRICS[metric].below_gap:  # other errors lie at or close to |mean gap| or above it
        method = BASIC_GAP
        high = min(1.0, max(high, *map(abs, prepared.resamples.gap_interval(level))))
    both = {**settings, **prepared.settings(method), "resamples": len(draws)}
    return Score(metric, value, low, high, level, prepared.ranked.n, both), floor_of(chance)


def floor_of(draws: Float) -> Floor:
    """Return mean and quantiles of what a calibrated model would show.

    Examples
    --------
    >>> floor = floor_of(np.arange(101.0))
    >>> floor.mean, floor.q95, floor.at(0.5)
    (50.0, 95.0, 50.0)
    """
    quantiles = tuple(np.quantile(draws, FLOOR_LEVELS).tolist())
    return Floor(float(draws.mean()), quantiles[FLOOR_LEVELS.index(0.95)], quantiles)


def classwise(
    prepared: PreparedTarget, predictions: Predictions, *, n_bins: int, level: float
) -> Estimate:
    """Return the classwise ECE; a row is resampled, and its class redrawn, for all classes at once.

    Beyond ROWS_DRAWN rows in all resamples, or HEAVY_CELLS scores, there are N_RESAMPLES_HEAVY.
    """
    n, rounds = predictions.n, prepared.n_resamples
    if n * rounds > ROWS_DRAWN or n * predictions.n_classes > defaults.HEAVY_CELLS:
        rounds = min(rounds, defaults.N_RESAMPLES_HEAVY)
    classes = class_bins(predictions, n_bins=n_bins)
    cells = ClassCells.of(predictions, n_bins)
    sampling = predictions.sampling
    small = np.uint8 if sampling.independent else np.float64
    # A row is drawn once for all classes, since its probabilities belong together.
    blocks = resampled_counts(n, rounds, prepared.seed, sampling, dtype=small)
    draws = np.concatenate([cells.ece(counts) for counts in blocks])
    rng = np.random.default_rng([prepared.seed, STREAM_CLASSWISE])
    if sampling.groups is None:
        chance = redrawn_ece(predictions, classes.bins, rounds, rng)
    else:  # as in `Resamples`, but not centred
        chance = np.concatenate([cells.ece(s[None]) for s in row_signs(n, sampling, rounds, rng)])
    value = float(np.sort(classes.ece).mean())
    settings: dict[str, Setting] = {
        "n_bins": n_bins,
        "bins": BinRule.EQUAL_WIDTH.value,
        "average": "classes",
    }
    score, floor = _error_score(
        prepared, "classwise_ece", (value, draws, value, settings), chance, level
    )
    return replace(score, settings={**score.settings, "of": "every_class"}), floor


def proportion(
    metric: str, ranked: SortedOutcomes, hits: Bool, level: float, rows: slice = slice(None)
) -> Score:
    """Return the share of hits among some sorted rows, with Wilson's interval.

    Undefined where there are no rows.

    Examples
    --------
    >>> from core.predictions import Outcomes
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.6, 0.7]), np.array([True, False])))
    >>> score = proportion("accuracy", ranked, ranked.correct, 0.95)
    >>> score.value, round(score.low + score.high, 6)  # as far below a half as above
    (0.5, 1.0)
    >>> proportion("s99_accuracy", ranked, ranked.correct, 0.95, slice(2, None)).reason
    'no row is that confident'
    """
    n = len(range(*rows.indices(ranked.n)))
    settings: dict[str, Setting] = {"of": "top_label"}
    if n == 0:
        return Score.undefined(metric, level, 0, "no row is that confident", settings)
    weights = None if ranked.weights is None else ranked.weights[rows]
    share = float(np.average(hits[rows], weights=weights))
    effective_n = ranked.effective_n(hits, rows)
    df = degrees_of_freedom(ranked.sampling.take(rows))
    low, high = wilson(np.array(share * effective_n), np.array(effective_n), level, df)
    settings |= {"interval": "Wilson", **effective_n_setting(ranked, effective_n)}
    return Score(metric, share, float(low), float(high), level, n, settings)


def effective_n_setting(ranked: SortedOutcomes, effective_n: float) -> dict[str, Setting]:
    """Return the effective rows of an interval for settings, where they are not the rows."""
    return {} if ranked.independent else {"effective_n": effective_n}


def row_mean(
    metric: str,
    losses: few_errors.Losses,
    *,
    level: float,
    draws: tuple[int, int, int],
    value: float,
    sampling: SamplingDesign,
) -> Score:
    """Return the mean of per-row losses; `draws` are resamples, seed and stream."""
    values, (n_resamples, seed, stream) = losses.of_row, draws
    settings: dict[str, Setting] = {"interval": FEW_ERRORS, "resamples": n_resamples, "seed": seed}
    # How far a few more errors could push the mean; where that is not known, no interval.
    reason, bound = "", float("inf")
    if units(values.size, sampling).count < 2:
        reason = ONE_ROW if sampling.groups is None else ONE_GROUP
    else:
        bound = few_errors.upper_end(losses, sampling, level)
        reason = "" if np.isfinite(bound) else UNBOUNDED
    if reason:
        return Score(metric, value, None, None, level, values.size, settings, reason)
    rng = np.random.default_rng([seed, stream])
    if sampling.independent:
        low, high = mean_interval(values, n_resamples, level, rng)
    else:
        own = RowUnits.of(values.size, sampling)
        low, high = percentile(own.mean_draws(values, n_resamples, rng), level)
        settings |= resampled_by(sampling)
    # Percentiles of few groups are too short, so Student's interval is joined to them.
    if sampling.groups is not None:
        half = grouped_half_width(values, sampling, level)
        low, high = min(low, value - half), max(high, value + half)
        settings["interval"] = HULL_OF_GROUPS
    # No bound leaves the range of the metric, nor the value its interval.
    least, most = METRICS[metric].range
    return Score(
        metric=metric,
        value=value,
        low=max(least, min(low, value)),
        high=min(most, max(high, value, bound)),
        level=level,
        n=values.size,
        settings=settings,
    )


def grouped_half_width(values: Float, sampling: SamplingDesign, level: float) -> float:
    """Return half of Student's interval of the weighted mean of (N,) values that have groups."""
    own = RowUnits.of(values.size, sampling)
    counted, weights = values[own.counted], own.weights
    mean = np.average(counted, weights=weights)
    variance = float(np.average((counted - mean) ** 2, weights=weights))
    # The variance of the mean of as many independent rows as the groups are worth.
    spread = (variance * own.design_effect(values) / weights.sum()) ** 0.5
    return student(level, own.group_df) * float(spread)


def risk(ranked: SortedOutcomes, *, level: float, n_resamples: int, seed: int) -> Score:
    """Return the area under risk and coverage of the answers given."""
    rng = np.random.default_rng([seed, STREAM_AURC])
    cuts = binning.equal_mass_cuts(ranked, RANK_CELLS)
    # Cells are turned round, since coverage begins with the surest.
    count, hits = bootstrap(ranked, cuts, n_resamples, rng)
    draws = area(count[:, ::-1], (count - hits)[:, ::-1], ranked.total)
    value = aurc(ranked)
    if ranked.groups is not None and units(ranked.n, SamplingDesign(ranked.groups)).count < 2:
        without_interval = {"of": "top_label", **resampled_by(ranked.sampling)}
        return Score("aurc", value, None, None, level, ranked.n, without_interval, ONE_GROUP)
    low, high = percentile(draws, level)
    sampling = ranked.sampling
    # No resample holds an error that did not happen: the upper end allows for one more.
    high = max(high, few_errors.upper_end(few_errors.risk_losses(ranked), sampling, level))
    settings: dict[str, Setting] = {
        "of": "top_label",
        "interval": FEW_ERRORS,
        "resamples": len(draws),
        "seed": seed,
        **resampled_by(ranked.sampling),
    }
    return Score(
        "aurc", value, min(low, value), min(1.0, max(high, value)), level, ranked.n, settings
    )


def discrimination(ranked: SortedOutcomes, level: float, of: str) -> dict[str, Score]:
    """Return AUROC and average precision with their intervals.

    That of the AUROC spans DeLong's, on the logit scale, and Newcombe's: with few rows of one
    outcome DeLong's is too short, and without a row out of order it has no width at all.

    Examples
    --------
    >>> from core.predictions import Outcomes
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.6, 0.7]), np.array([True, True])))
    >>> discrimination(ranked, 0.95, "positive_class")["auroc"].reason
    'only one outcome is present: 2 of 2 rows are positive'

    One positive above one negative: Newcombe's interval begins where 1 - A = sqrt(A (1 - A)), at
    1/2. The exact interval of one right answer of one begins at (1 - 0.6827) / 2 = 0.1587.

    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.6, 0.7]), np.array([False, True])))
    >>> scores = discrimination(ranked, 0.6826894921370859, "positive_class")
    >>> [(score.value, round(score.low, 4), score.high) for score in scores.values()]
    [(1.0, 0.5, 1.0), (1.0, 0.1587, 1.0)]
    """
    positives, total, n = ranked.hits, ranked.total, ranked.n
    settings: dict[str, Setting] = {"of": of, "positives": positives}
    if positives in {0, total}:
        reason = (
            f"only one outcome is present: {positives:,.10g} of {total:,.10g} rows are positive"
        )
        return {
            metric: Score.undefined(metric, level, n, reason, settings)
            for metric in ("auroc", "auprc")
        }
    area_roc, precision = auroc(ranked), auprc(ranked)
    effective_n = ranked.effective_n(ranked.correct)
    scale = effective_n / total  # rows that are alike tell less
    extra = effective_n_setting(ranked, effective_n)
    outcomes = scale * positives, scale * (total - positives)
    # Newcombe's width comes from the counts alone; DeLong's needs rows that are out of order.
    low, high = newcombe(area_roc, *outcomes, level)
    error = auroc_error(ranked)
    if 0.0 < area_roc < 1.0 and error != 0.0:
        ends = logit_interval(area_roc, error, min(outcomes), level)
        low, high = min(low, ends[0]), max(high, ends[1])
    return {
        "auroc": Score(
            "auroc",
            area_roc,
            low,
            high,
            level,
            n,
            {**settings, "interval": "hull of DeLong, logit scale, and Newcombe", **extra},
        ),
        "auprc": Score(
            "auprc",
            precision,
            *precision_interval(precision, positives * scale, level),
            level,
            n,
            {
                **settings,
                "interval": "binomial, logit scale, Wilson near 0 and 1; lower end exact",
                **extra,
            },
        ),
    }


def direction(prepared: PreparedTarget, level: float) -> Gap:
    """Return the signed gap with its interval."""
    low, high = prepared.resamples.gap_interval(level)
    value = prepared.ranked.gap
    return Gap(value, min(low, value), max(high, value))


def bin_table(prepared: PreparedTarget, n_bins: int, rule: BinRule, level: float) -> BinTable:
    """Return the bins of the diagram with Wilson intervals and consistency bands."""
    ranked = prepared.ranked
    cuts = binning.CUTS[rule](ranked, n_bins)
    edges = binning.edges_of(ranked, cuts, n_bins, rule)
    own = binning.sums(ranked, cuts)
    count = np.where(own.count > 0, own.count, np.nan)
    share, effective_n = own.hits / count, ranked.effective_rows(cuts)
    # Two widths: how well the share is known, and where claims that hold would put it.
    ci_low, ci_high = wilson(share * effective_n, effective_n, level)
    tails = [(1 - level) / 2, (1 + level) / 2]
    band = np.quantile(prepared.resamples.floor(cuts).hits, tails, axis=0) / count
    if not ranked.independent:  # residuals with a random sign know no bounds
        band = np.clip(band, 0.0, 1.0)
    # Of weighted rows also how many came true, whatever they weigh.
    came_true = None
    if ranked.weights is not None:
        came_true = np.diff(np.append(0, np.cumsum(ranked.correct, dtype=np.int64))[cuts])
    return BinTable(
        low=edges[:-1],
        high=edges[1:],
        count=np.diff(cuts),
        confidence=own.confidence / count,
        accuracy=share,
        ci_low=ci_low,
        ci_high=ci_high,
        band_low=band[0],
        band_high=band[1],
        weight=None if ranked.weights is None else own.count,
        came_true=came_true,
    )


CELLS = 50  # of equal width, and as many of equal count, in which the curve is resampled
BOTH = "hull of basic and percentile bootstrap, from 0 within the noise floor"
FITS = ("citl", "slope", "intercept")
SCORES = (*FITS, "spiegelhalter_z", "brier_skill")
FEWEST_RARER = 10  # rows of the rarer outcome for an interval of the Brier skill, by simulation


def curve_estimates(
    prepared: PreparedTarget, *, level: float, smoother: str = SMOOTHER
) -> dict[str, Estimate]:
    """Return ICI, E50, E90 and Emax with intervals and noise floors.

    `prepared`: a positive class or a label; `smoother`: a key of `SMOOTHERS`.

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

    # Resamples, sets that follow the claims, and the rows themselves, all read from the cells.
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
    freedom as it has rows, less one; under FEWEST_RARER of them there is no interval.
    """
    ranked = prepared.ranked
    n, share, value = ranked.n, ranked.hits / ranked.total, brier_skill(ranked)
    if math.isnan(value):
        reason = f"only one outcome is present: {ranked.hits} of {n} are events"
        return Score.undefined("brier_skill", level, n, reason)
    spread = share * (1.0 - share)
    squares = (ranked.confidence - ranked.correct) ** 2
    weights = ranked.row_weights
    mean = float(weights @ squares) / ranked.total
    # What each row adds to 1 - B / (v (1 - v)): by its square in B, and by its outcome in v.
    lean = (1.0 - 2.0 * share) * (ranked.correct - share)
    each = (squares - mean) / spread - mean * lean / spread**2
    settings: dict[str, Setting] = {"of": prepared.of, "reference": share}
    rarer = ranked.effective_rarer
    if rarer < FEWEST_RARER:
        reason = f"only {rarer:.0f} of the rarer outcome: too few for an interval of the skill"
        return Score("brier_skill", value, None, None, level, n, settings, reason)
    variance = float((each**2).sum())
    if not ranked.independent:
        variance = ranked.units.sum_variance(weights * each)
    half = student(level, rarer - 1) * variance**0.5 / ranked.total
    settings["interval"] = "delta method, Student's t of the rarer outcome"
    return Score("brier_skill", value, value - half, min(1.0, value + half), level, n, settings)
