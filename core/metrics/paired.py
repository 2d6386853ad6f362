"""Paired differences: metrics of several runs on the same resamples of the same rows; numpy only.

A resample says how often each row is drawn. It depends on the number of rows and the seed alone,
so the draws of two runs belong together pair by pair, and each run's draws can be kept by itself.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from core.arrays import Counts, Float
from core.defaults import HEAVY_CELLS, N_BINS, N_RESAMPLES, N_RESAMPLES_HEAVY, SEED
from core.metrics import METRICS
from core.metrics.estimates import ONE_GROUP, ONE_ROW
from core.metrics.intervals import Units, percentile, quantile, units
from core.metrics.notices import nll_reason
from core.metrics.records import Floor, Setting
from core.metrics.resampled import BINNED, GAP, ResampledRows, resampled_counts
from core.metrics.suite import UNAVAILABLE, label_predictions
from core.predictions import Predictions, Task

PAIRED = tuple(key for key, metric in METRICS.items() if metric.compared == "shown")
PAIRABLE = (*PAIRED, *(key for key, metric in METRICS.items() if metric.compared == "on request"))
BIASED = {*BINNED, "classwise_ece"}  # their draws lie above the sample's value
FEWEST = 5  # draws beyond a bound; with fewer the bound is a normal quantile

HULL = "hull of paired percentile bootstrap and Student's interval"
CENTRED = (
    "hull of the measured difference (centred paired percentile bootstrap, Student's interval) and "
    "of the difference without biases"
)
NORMAL = ", normal tails"
NO_FLOOR = Floor(0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class MetricDraws:
    """One metric of one run: its value, and what it is on each resample."""

    metric: str  # key of the registry
    # What the metric's own function returns for the rows; None where it is undefined
    value: float | None
    # The value that the draws scatter around: the rows themselves, as the resampled sums see them.
    # It differs from `value` for the smooth error only.
    centre: float = math.nan
    # (R,), on the resamples, in their order; empty where the value is None
    draws: Float = field(default_factory=lambda: np.empty(0))
    # (R,), the signed gap on the resamples, which no calibration error can be smaller than
    gap: Float = field(default_factory=lambda: np.empty(0))
    floor: Floor = NO_FLOOR  # the noise floor; 0 for metrics that have none
    # n, seed: number of rows; seed of the resamples
    n: int
    seed: int
    reason: str = ""  # why there is no value
    units: Units  # the rows, or groups of them, that could be drawn
    grouped: bool = False  # whether groups were drawn, not rows
    n_bins: int = N_BINS  # of the binned errors


@dataclass(frozen=True)
class Difference:
    """One run's metric minus another's on the same rows, with a paired interval; fractions.

    `value` is None where either metric is undefined; `reason` then says why.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    settings: Mapping[str, Setting] = field(default_factory=dict)
    reason: str = ""

    @property
    def tie(self) -> bool:
        """Whether the interval holds 0: the runs cannot be told apart by this metric."""
        return self.low is not None and self.high is not None and self.low <= 0.0 <= self.high


def draws(
    predictions: Predictions,
    floors: Mapping[str, Floor],
    metrics: Sequence[str] = PAIRED,
    *,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
    n_bins: int = N_BINS,
) -> dict[str, MetricDraws]:
    """Return the metrics of a run on the resamples that every run of as many rows shares.

    Parameters
    ----------
    predictions : Predictions
        One split of N rows, any task. Many labels: metrics are means over the labels.
    floors : mapping of str to Floor
        Noise floors of the calibration errors among them, from the audit of the same rows.
    metrics : sequence of str
        Of `PAIRABLE`; those that the scores cannot support are left out.
    n_resamples : int
        R; when N K exceeds five million, classwise ECE takes the first 200 of them.
    n_bins : int
        Of the binned errors.

    Returns
    -------
    dict of str to MetricDraws
        Bins are those of the rows themselves, in every resample.

    Notes
    -----
    Resamples are held in blocks of 32 MiB.
    """
    chosen = [m for m in PAIRABLE if m in metrics and m not in UNAVAILABLE[predictions.task]]
    n, parts = predictions.n, [ResampledRows(predictions, n_bins=n_bins)]
    if predictions.task is Task.MULTILABEL:  # one answer a row: labels one by one
        parts = [
            ResampledRows(label_predictions(predictions, k), predictions.labelled_rows(k), n_bins)
            for k in range(predictions.n_classes)
        ]
    reasons = {}
    if "nll" in chosen and (rows := sum(int(np.isinf(part.nll_rows).sum()) for part in parts)):
        reasons["nll"] = nll_reason(rows)
    drawn = [metric for metric in chosen if metric not in reasons]
    heavy = n * predictions.n_classes > HEAVY_CELLS
    blocks: dict[str, list[Float]] = {metric: [] for metric in (*drawn, GAP)}
    done = 0
    small = np.uint8 if predictions.extents.independent else np.float64
    for counts in resampled_counts(n, n_resamples, seed, predictions.extents, dtype=small):
        left = max(0, N_RESAMPLES_HEAVY - done) if heavy else len(counts)
        for metric, resampled in _mean(parts, drawn, counts, left).items():
            blocks[metric].append(resampled)
        done += len(counts)
    weights = predictions.extents.weights
    centres = _mean(parts, drawn, np.ones((1, n)) if weights is None else weights[None, :])
    gap, grouped = np.concatenate(blocks[GAP]), predictions.extents.groups is not None
    each = [units(part.predictions.n, part.predictions.extents) for part in parts]
    drawable = min(each, key=lambda own: own.df)  # of many labels, some are known in fewer rows
    none = partial(MetricDraws, value=None, n=n, seed=seed, units=Units.even(n))
    out = {metric: none(metric=metric, reason=reason) for metric, reason in reasons.items()}
    for metric in drawn:
        value = float(np.mean([part.value(metric) for part in parts]))
        centre, resampled = float(centres[metric][0]), np.concatenate(blocks[metric])
        floor = floors[metric] if metric in BIASED else NO_FLOOR
        out[metric] = MetricDraws(
            metric=metric,
            value=value,
            centre=centre,
            draws=resampled,
            gap=gap,
            floor=floor,
            n=n,
            seed=seed,
            units=drawable,
            grouped=grouped,
            n_bins=n_bins,
        )
    return {metric: out[metric] for metric in chosen}


def difference(run: MetricDraws, reference: MetricDraws, level: float) -> Difference:
    """Return a run's metric minus the reference's, with its paired interval.

    Parameters
    ----------
    run, reference : MetricDraws
        The same metric on the same number of rows, drawn with the same seed.

    Returns
    -------
    Difference
        A run against itself is exactly 0 (0 to 0); swapping the two swaps the signs.

    Notes
    -----
    Means (accuracy, NLL, Brier): from the lower of the percentile of the differences on the same
    resamples and Student's bound by their spread to the upper: percentiles alone are too short
    where a few rows decide, as with a rare label. Of u units that can be drawn, rows or groups,
    resamples scatter by sqrt((u - 1) / u) of the standard error, which is undone, and there are
    u - 1 degrees of freedom (of unlike weight both are as `Units` says): among many runs, far out,
    the normal quantile lets 6 % through where 5 % are meant (200 rows, eight runs).
    Calibration errors: the hull of two intervals. One is the same, of what is measured on so many
    rows. Resamples repeat the upward bias of each error; what that moves all of them by is taken
    off, so that they scatter around the difference. Neither error can be below 0, so no bound lies
    beyond what either run's own interval leaves possible. The other is of the errors in truth
    (`_in_truth`): the bias is largest where a run is calibrated, so the measured difference is too
    small where a correction helps, and may be bias alone where it does not.
    Where fewer than FEWEST draws lie beyond a bound, normal quantiles take their place.
    The coverage found by simulation is in docs/coverage.md.
    """
    assert (run.metric, run.n, run.seed) == (reference.metric, reference.n, reference.seed)
    if run.value is None or reference.value is None:
        reason = run.reason or reference.reason
        return Difference(run.metric, None, None, None, level, run.n, {}, reason)
    value = run.value - reference.value
    if min(run.n, run.units.count) < 2:
        reason = ONE_GROUP if run.grouped else ONE_ROW
        return Difference(run.metric, value, None, None, level, run.n, {}, reason)
    rounds = min(run.draws.size, reference.draws.size)
    pair = run.draws[:rounds], reference.draws[:rounds]
    wide = run.units.wide(level)
    if run.metric in BIASED:
        differences = pair[0] - pair[1]
        low, high = _hull(value, differences - differences.mean() + value, level, wide)
        low = max(low, -reference.value - _reach(reference, level)[1])
        high = min(high, run.value + _reach(run, level)[1])
        low_truth, high_truth = _in_truth(run, reference, pair, level)
        low, high, method = min(low, low_truth), max(high, high_truth), CENTRED
    else:
        low, high, method = *_hull(value, pair[0] - pair[1], level, wide), HULL
    method += NORMAL if _few(rounds, level) else ""
    settings: dict[str, Setting] = {"interval": method, "resamples": rounds, "seed": run.seed}
    if run.grouped:
        settings["resampled_by"] = "group"
    if run.metric in BIASED and run.metric != "smece":
        settings["n_bins"] = run.n_bins
    ends = min(low, value), max(high, value)
    return Difference(run.metric, value, *ends, level, run.n, settings)


def _hull(value: float, differences: Float, level: float, wide: float) -> tuple[float, float]:
    """Return the interval that spans percentiles and so many standard errors either way."""
    (low, high), half = _quantiles(differences, level), wide * float(differences.std())
    return min(low, value - half), max(high, value + half)


def _in_truth(
    run: MetricDraws, reference: MetricDraws, pair: tuple[Float, Float], level: float
) -> tuple[float, float]:
    """Return an interval of the difference that two errors have in truth, without their biases.

    Each run's own interval, basic and from 0 within its noise floor, is joined with the other's:
    low = d - sqrt(b^2 + a'^2 - 2 r b a'), high = d + sqrt(a^2 + b'^2 - 2 r a b'), where b and a
    reach below and above a run's value, b' and a' the reference's, and r is the correlation of
    the two on the resamples (Zou & Donner 2008). What reaches down to 0 because of the noise
    floor is bias, not chance: there the two reaches are added, r = -1.
    """
    assert run.value is not None
    assert reference.value is not None
    value = run.value - reference.value
    if value == 0.0 and np.array_equal(*pair):  # one run twice: nothing to be unsure of
        return 0.0, 0.0
    spread = float(pair[0].std() * pair[1].std())
    moved = float(np.mean((pair[0] - pair[0].mean()) * (pair[1] - pair[1].mean())))
    r = min(1.0, max(-1.0, moved / spread)) if spread > 0.0 else 0.0
    (below, above), (below_, above_) = _reach(run, level), _reach(reference, level)
    low = below**2 + above_**2 - 2 * (-1.0 if _chance(run, level) else r) * below * above_
    high = above**2 + below_**2 - 2 * (-1.0 if _chance(reference, level) else r) * above * below_
    return value - max(0.0, low) ** 0.5, value + max(0.0, high) ** 0.5


def _reach(run: MetricDraws, level: float) -> tuple[float, float]:
    """Return how far an error's own interval reaches below and above its value."""
    assert run.value is not None
    low, high = _quantiles(run.draws - run.centre, level)
    below = run.value if _chance(run, level) else min(max(0.0, high), run.value)
    ends = _quantiles(run.gap, level)
    return below, max(0.0, -low, *(abs(end) - run.value for end in ends))


def _chance(run: MetricDraws, level: float) -> bool:
    """Whether the error is within its noise floor; equal but for rounding counts as within."""
    return run.value is not None and run.value <= run.floor.at(level) * (1.0 + 1e-9)


def _few(rounds: int, level: float) -> bool:
    """Whether too few draws lie beyond a bound to read it from them."""
    return rounds * (1.0 - level) / 2 < FEWEST - 1e-9


def _quantiles(values: Float, level: float) -> tuple[float, float]:
    if not _few(values.size, level):
        return percentile(values, level)
    half, middle = quantile(level) * float(values.std()), float(values.mean())
    return middle - half, middle + half


def _mean(
    parts: Sequence[ResampledRows], metrics: Sequence[str], counts: Counts, of_classes: int = 1
) -> dict[str, Float]:
    """Return the mean over the parts of each metric and of the gap on resamples, (r,) each.

    `of_classes` of the resamples are those that the classwise ECE is read from.
    """
    by_part = [part.on(metrics, counts, of_classes) for part in parts]
    return {
        metric: np.asarray(np.mean([values[metric] for values in by_part], axis=0))
        for metric in by_part[0]
    }
