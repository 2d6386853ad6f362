"""From a target's sorted rows to scores with intervals, floors and bins; numpy only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core import defaults
from core.arrays import Float, Int
from core.configs import BinRule
from core.metrics import METRICS, binning, top_label
from core.metrics.classwise import ClassBins
from core.metrics.intervals import (
    RANK_CELLS,
    Resamples,
    basic,
    draw,
    logit_interval,
    mean_interval,
    percentile,
    wilson,
)
from core.metrics.null_test import Null
from core.metrics.ranked import Ranked
from core.metrics.ranking import auprc, auroc, auroc_error
from core.metrics.records import BinTable, Floor, Gap, Score, Setting
from core.metrics.selective import area, aurc
from core.metrics.smooth import smece, smece_draws

BASIC = "basic bootstrap, from 0 within the noise floor"
BASIC_GAP = f"{BASIC}, reaching the signed gap's interval"
BASIC_FLOOR = f"{BASIC}, lowered by the noise floor"
# The other errors lie at or close to |mean gap| or above it: their intervals may reach its own.
MAY_BE_BELOW_GAP = {"ace", "classwise_ece"}
PERCENTILE = "percentile bootstrap"
ONE_ROW = "one row has no spread to take an interval from"

# the streams of random numbers, so that leaving one metric out changes no other
STREAM_NLL, STREAM_BRIER, STREAM_AURC, STREAM_CLASSWISE = 1, 2, 3, 4


@dataclass(frozen=True)
class Prepared:
    """One target, sorted and resampled once; every diagram of it is read from here.

    Attributes
    ----------
    name : str
        What is audited, in words.
    target : int or None
        The class or label; None for the answers given.
    of : str
        ``top_label``, ``positive_class``, ``label`` or ``one_vs_rest``; travels in settings.
    resamples : Resamples
        The draws, and the sorted rows in `resamples.ranked`.
    n_resamples, seed : int
        How they were drawn.
    """

    name: str
    target: int | None
    of: str
    resamples: Resamples
    n_resamples: int
    seed: int

    @property
    def ranked(self) -> Ranked:
        """The sorted rows."""
        return self.resamples.ranked

    @cached_property
    def null(self) -> Null:
        """What the joint test of the verdict reads, whatever the bins."""
        return Null(self.resamples)

    def settings(self, interval: str) -> dict[str, Setting]:
        """Return the settings that every score of this target carries."""
        return {
            "of": self.of,
            "interval": interval,
            "resamples": self.n_resamples,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Binned:
    """How a binned error is computed: its cuts, its statistic, and the name of its bins."""

    cuts: Callable[[Ranked, int], Int]
    statistic: top_label.Statistic
    bins: str


EQUAL_WIDTH, EQUAL_MASS = BinRule.EQUAL_WIDTH.value, BinRule.EQUAL_MASS.value

BINNED: dict[str, Binned] = {
    "ece": Binned(binning.equal_width_cuts, top_label.weighted_gap, EQUAL_WIDTH),
    "ece_em": Binned(binning.equal_mass_cuts, top_label.weighted_gap, EQUAL_MASS),
    "ada_ece": Binned(binning.interpolated_cuts, top_label.weighted_gap, "equal_mass_reference"),
    "mce": Binned(binning.equal_width_cuts, top_label.largest_gap, EQUAL_WIDTH),
    "ace": Binned(binning.equal_width_cuts, top_label.average_gap, EQUAL_WIDTH),
    "rmsce": Binned(binning.equal_width_cuts, top_label.root_mean_square_gap, EQUAL_WIDTH),
    "ece_debiased": Binned(binning.equal_mass_cuts, top_label.debiased_gap, EQUAL_MASS),
}

PLUG_IN: dict[str, top_label.Statistic] = {"ece_debiased": top_label.root_mean_square_gap}

ECE_OF: dict[BinRule, str] = {BinRule.EQUAL_WIDTH: "ece", BinRule.EQUAL_MASS: "ece_em"}

Estimate = tuple[Score, Floor]


def binned(prepared: Prepared, metric: str, *, n_bins: int, level: float) -> Estimate:
    """Return a binned error with its interval and noise floor."""
    how = BINNED[metric]
    value = METRICS[metric].function(prepared.ranked, n_bins=n_bins)
    settings: dict[str, Setting] = {"n_bins": n_bins, "bins": how.bins}
    cuts = how.cuts(prepared.ranked, n_bins)
    if metric == "mce":
        settings["rows_in_bin"] = top_label.worst_bin_rows(prepared.ranked, n_bins)
    return _from_cuts(prepared, metric, (value, cuts, how.statistic, settings), level)


def sweep(prepared: Prepared, *, level: float) -> Estimate:
    """Return the ECE sweep; interval and floor hold the number of bins it found."""
    cuts = top_label.sweep_cuts(prepared.ranked)
    value = top_label.ece_sweep(prepared.ranked)
    settings: dict[str, Setting] = {"n_bins": len(cuts) - 1, "bins": "sweep"}
    return _from_cuts(prepared, "ece_sweep", (value, cuts, top_label.weighted_gap, settings), level)


def ks(prepared: Prepared, *, level: float) -> Estimate:
    """Return the Kolmogorov-Smirnov error with interval and floor."""
    value, cuts = top_label.ks(prepared.ranked), prepared.resamples.cuts
    return _from_cuts(prepared, "ks", (value, cuts, top_label.largest_sum, {}), level)


def error_of(
    prepared: Prepared, metric: str, *, n_bins: int, level: float, smece: str = "exact"
) -> Estimate:
    """Return any calibration error of one target, with all its resamples."""
    if metric in BINNED:
        return binned(prepared, metric, n_bins=n_bins, level=level)
    if metric == "smece":
        rounds = prepared.n_resamples
        return smooth(prepared, method=smece, level=level, n_resamples=rounds)
    return {"ks": ks, "ece_sweep": sweep}[metric](prepared, level=level)


def _from_cuts(
    prepared: Prepared,
    metric: str,
    found: tuple[float, Int, top_label.Statistic, dict[str, Setting]],
    level: float,
) -> Estimate:
    value, cuts, statistic, settings = found
    resamples, n = prepared.resamples, prepared.ranked.n
    draws = statistic(resamples.bootstrap(cuts), n)
    floor = floor_of(statistic(resamples.floor(cuts), n))
    # resamples scatter around the sample's own error, from which nothing is taken off
    plug_in = PLUG_IN.get(metric, statistic)
    centre = float(plug_in(resamples.observed(cuts), n))
    return _error_score(prepared, metric, (value, draws, centre, settings), floor, level)


def _error_score(
    prepared: Prepared,
    metric: str,
    found: tuple[float, Float, float, Mapping[str, Setting]],
    floor: Floor,
    level: float,
) -> Estimate:
    value, draws, centre, settings = found
    low, high = basic(value, draws, level, centre=centre, floor_q95=floor.q95)
    method = BASIC
    if metric not in MAY_BE_BELOW_GAP:
        method = BASIC_GAP
        high = max(high, *map(abs, prepared.resamples.gap_interval(level)))
    elif metric == "ace":  # a bin of three rows weighs as much as any, and resampling hides it
        method = BASIC_FLOOR
        low = max(0.0, min(low, value - floor.q95))
    both = {**settings, **prepared.settings(method), "resamples": len(draws)}
    return Score(metric, value, low, high, level, prepared.ranked.n, both), floor


def floor_of(draws: Float) -> Floor:
    """Return mean and 95th percentile of what a calibrated model would show."""
    return Floor(float(draws.mean()), float(np.quantile(draws, 0.95)))


def smooth(prepared: Prepared, *, method: str, level: float, n_resamples: int) -> Estimate:
    """Return smECE; interval and floor from the exact kernel, bandwidth searched every time."""
    resamples, n = prepared.resamples, prepared.ranked.n
    cuts = resamples.cuts
    own = resamples.observed(cuts)
    where = np.clip(own.confidence / own.count, 0.0, 1.0)
    draws = smece_draws(resamples.bootstrap(cuts).gap[:n_resamples], where, n)
    floor = floor_of(smece_draws(resamples.floor(cuts).gap[:n_resamples], where, n))
    centre = float(smece_draws(own.gap[None, :], where, n)[0])
    value = smece(prepared.ranked, method=method)
    found = (value, draws, centre, {"kernel": method})
    return _error_score(prepared, "smece", found, floor, level)


def classwise(prepared: Prepared, classes: ClassBins, *, level: float) -> Estimate:
    """Return the classwise ECE; each class is resampled by itself, in the cells of its bins."""
    bins, n = classes.bins, classes.n
    heavy = n * len(bins.count) > defaults.HEAVY_CELLS
    rounds = min(prepared.n_resamples, defaults.N_RESAMPLES_HEAVY if heavy else 2**31)
    rng = np.random.default_rng([prepared.seed, STREAM_CLASSWISE])
    rows = np.maximum(bins.count, 1)
    mean, rate = np.clip(bins.confidence / rows, 0.0, 1.0), bins.hits / rows
    draws, floor = np.empty(rounds), np.empty(rounds)
    for r in range(rounds):
        count = rng.multinomial(n, bins.count / n)
        gap = count * mean - rng.binomial(count, rate)
        draws[r] = np.abs(gap).sum() / (n * len(gap))
        gap = bins.count * mean - rng.binomial(bins.count, mean)
        floor[r] = np.abs(gap).sum() / (n * len(gap))
    value = float(np.sort(classes.ece).mean())
    settings = {"n_bins": bins.count.shape[1], "bins": EQUAL_WIDTH, "average": "classes"}
    found = (value, draws, value, settings)
    score, floors = _error_score(prepared, "classwise_ece", found, floor_of(floor), level)
    return Score(**{**vars(score), "settings": {**score.settings, "of": "every_class"}}), floors


def proportion(metric: str, k: int, n: int, level: float, settings: dict[str, Setting]) -> Score:
    """Return k of n with Wilson's interval; undefined where n is 0."""
    if n == 0:
        return Score(metric, None, None, None, level, 0, settings, "no row is that confident")
    low, high = wilson(np.array(k), np.array(n), level)
    return Score(
        metric, k / n, float(low), float(high), level, n, {**settings, "interval": "Wilson"}
    )


def row_mean(
    metric: str, values: Float, *, level: float, draws: tuple[int, int, int], value: float
) -> Score:
    """Return the mean of per-row values; `draws` are resamples, seed and stream."""
    n_resamples, seed, stream = draws
    settings: dict[str, Setting] = {"interval": PERCENTILE, "resamples": n_resamples, "seed": seed}
    if values.size < 2:
        return Score(metric, value, None, None, level, values.size, settings, ONE_ROW)
    rng = np.random.default_rng([seed, stream])
    low, high = mean_interval(values, n_resamples, level, rng)
    return Score(metric, value, min(low, value), max(high, value), level, values.size, settings)


def risk(ranked: Ranked, *, level: float, n_resamples: int, seed: int) -> Score:
    """Return the area under risk and coverage of the answers given."""
    rng = np.random.default_rng([seed, STREAM_AURC])
    cuts = binning.equal_mass_cuts(ranked, RANK_CELLS)
    count, hits = draw(ranked, cuts, n_resamples, rng)
    draws = area(count[:, ::-1], (count - hits)[:, ::-1], ranked.n)
    value = aurc(ranked)
    low, high = percentile(draws, level)
    settings: dict[str, Setting] = {
        "of": "top_label",
        "interval": PERCENTILE,
        "resamples": n_resamples,
        "seed": seed,
    }
    return Score("aurc", value, min(low, value), max(high, value), level, ranked.n, settings)


def discrimination(ranked: Ranked, level: float, of: str) -> dict[str, Score]:
    """Return AUROC (DeLong) and average precision, both with intervals on the logit scale."""
    positives, n = ranked.hits, ranked.n
    settings: dict[str, Setting] = {"of": of, "positives": positives}
    if positives in {0, n}:
        reason = f"only one outcome is present: {positives} of {n} rows are positive"
        return {
            metric: Score(metric, None, None, None, level, n, settings, reason)
            for metric in ("auroc", "auprc")
        }
    area_roc, precision = auroc(ranked), auprc(ranked)
    smaller = min(positives, n - positives)
    spread = np.sqrt(precision * (1 - precision) / positives)
    return {
        "auroc": Score(
            "auroc",
            area_roc,
            *logit_interval(area_roc, auroc_error(ranked), smaller, level),
            level,
            n,
            {**settings, "interval": "DeLong, logit scale"},
        ),
        "auprc": Score(
            "auprc",
            precision,
            *logit_interval(precision, float(spread), positives, level),
            level,
            n,
            {**settings, "interval": "binomial, logit scale"},
        ),
    }


def direction(prepared: Prepared, level: float) -> Gap:
    """Return the signed gap with its interval."""
    low, high = prepared.resamples.gap_interval(level)
    value = prepared.ranked.gap
    return Gap(value, min(low, value), max(high, value))


def bin_table(prepared: Prepared, n_bins: int, rule: BinRule, level: float) -> BinTable:
    """Return the bins of the diagram with Wilson intervals and consistency bands."""
    ranked = prepared.ranked
    cuts = binning.CUTS[rule](ranked, n_bins)
    edges = binning.edges_of(ranked, cuts, n_bins, rule)
    own = binning.sums(ranked, cuts)
    count = np.where(own.count > 0, own.count, np.nan)
    ci_low, ci_high = wilson(own.hits, own.count, level)
    tails = [(1 - level) / 2, (1 + level) / 2]
    band = np.quantile(prepared.resamples.floor(cuts).hits, tails, axis=0) / count
    return BinTable(
        edges[:-1],
        edges[1:],
        own.count,
        own.confidence / count,
        own.hits / count,
        ci_low,
        ci_high,
        band[0],
        band[1],
    )
