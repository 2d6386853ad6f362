"""Paired differences: metrics of several runs on the same resamples of the same rows; numpy only.

A resample says how often each row is drawn. It depends on the number of rows and the seed alone,
so the draws of two runs belong together pair by pair, and each run's draws can be kept by itself.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from core.arrays import Counts, Float, Int, row_chunks
from core.defaults import HEAVY_CELLS, N_BINS, N_RESAMPLES, N_RESAMPLES_HEAVY, SEED
from core.metrics import METRICS
from core.metrics.binning import equal_mass_cuts, equal_width_cuts, interpolated_cuts, sums
from core.metrics.classwise import ClassCells
from core.metrics.estimates import ONE_GROUP, ONE_ROW
from core.metrics.intervals import percentile, quantile
from core.metrics.notices import nll_reason
from core.metrics.proper import nll_rows
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Floor, Score, Setting
from core.metrics.smooth import smece_draws
from core.metrics.suite import UNAVAILABLE, label_predictions
from core.metrics.units import ResamplingUnits, resampled_counts, units
from core.predictions import Predictions, Task

IN_BINS = {"ece", "ece_em", "ada_ece", "classwise_ece"}  # of a number that is set
BINNED = {"ece", "ece_em", "smece", "ada_ece"}  # read from cells of neighbouring confidence
Cuts = Mapping[str, Callable[[SortedOutcomes, int], Int]]
USUAL: Cuts = {"ece": equal_width_cuts, "ece_em": equal_mass_cuts}
ADAPTIVE: Cuts = {"ada_ece": interpolated_cuts}
GAP = "gap"  # drawn beside the metrics
CELLS = 256  # cells of equal width, and as many of equal count, that the smooth error is read from
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


@dataclass(frozen=True)
class ResampledRows:
    """The rows of one file with one answer a row, ready to be resampled."""

    predictions: Predictions  # any task but many labels, whose labels are parts of their own
    # (n,), which of the N rows that are drawn these are; None where they are all
    of_file: Int | None = None
    n_bins: int = N_BINS  # of the binned errors

    def value(self, metric: str) -> float:
        """Return the metric by its own function."""
        entry = METRICS[metric]
        bins = {"n_bins": self.n_bins} if metric in IN_BINS else {}
        if entry.needs == "scores":
            return entry.function(self.predictions, **bins)
        return entry.function(self.answers if metric == "accuracy" else self.cells.ranked, **bins)

    def on(self, metrics: Sequence[str], counts: Counts, of_classes: int) -> dict[str, Float]:
        """Return the metrics and the signed gap on resamples given as (r, N) counts.

        The classwise ECE, which reads every score, is read from the first `of_classes` only.
        """
        if self.of_file is not None:
            # Own rows, brought to one sum: how many are drawn is chance, too. A resample that holds
            # none of them counts each once.
            own: Float = counts[:, self.of_file].astype(np.float64, order="C")
            own[~own.any(axis=1)] = 1.0
            own *= self.cells.ranked.total / own.sum(axis=1, keepdims=True)
            counts = own
        n, rows = self.cells.ranked.total, self.predictions.rows
        means: dict[str, Float] = {"accuracy": rows.correct.astype(np.float64), "brier": rows.brier}
        if "nll" in metrics:
            means["nll"] = self.nll_rows
        chosen = [metric for metric in metrics if metric in means]
        of_rows = np.reshape([means[metric] for metric in chosen], (len(chosen), rows.correct.size))
        sums = np.empty((len(counts), len(chosen)))  # the counts need not be copied as a whole
        for block in row_chunks(*counts.shape):
            sums[block] = counts[block].astype(np.float64, copy=False) @ of_rows.T
        values = dict(zip(chosen, (sums / n).T, strict=True))
        if "classwise_ece" in metrics:
            values["classwise_ece"] = self.classes.ece(counts[:of_classes])
        # Errors over bins and the smooth one are read from one set of cells, once for all.
        gaps = self.cells.gaps(counts)
        values[GAP] = gaps.sum(axis=1) / n
        for metric in BINNED.intersection(metrics) - ADAPTIVE.keys():
            values[metric] = self.cells.errors(metric, gaps)
        for metric in ADAPTIVE.keys() & set(metrics):
            values[metric] = self.adaptive.errors(metric, self.adaptive.gaps(counts))
        return values

    @cached_property
    def nll_rows(self) -> Float:
        """Minus the logarithm of the true class's probability, (N,); inf where that is 0.

        0 in rows of weight 0, which count nothing.
        """
        rows, weights = nll_rows(self.predictions), self.predictions.sampling.weights
        return rows if weights is None else np.where(weights > 0.0, rows, 0.0)

    @cached_property
    def answers(self) -> SortedOutcomes:
        """The answers given, sorted."""
        return SortedOutcomes.of(self.predictions.outcomes(None))

    @cached_property
    def cells(self) -> "_ResampledCells":
        """The rows of the claim that is audited, in cells of neighbouring confidence."""
        return _ResampledCells.of(self.predictions, USUAL, self.n_bins)

    @cached_property
    def adaptive(self) -> "_ResampledCells":
        """Cells of their own: cuts more would move what is read from the others."""
        return _ResampledCells.of(self.predictions, ADAPTIVE, self.n_bins)

    @cached_property
    def classes(self) -> ClassCells:
        """Every class's probabilities by bins."""
        return ClassCells.of(self.predictions, self.n_bins)


@dataclass(frozen=True, kw_only=True)
class _ResampledCells:
    """Rows in cells of neighbouring confidence, which every bin is made of.

    `index` and `gap` are (N,): the cell of each row, and its confidence minus its outcome;
    `confidence` (C,) is a cell's mean confidence, `starts` the first cell of each bin by metric.
    """

    ranked: SortedOutcomes
    index: Int
    gap: Float
    confidence: Float
    starts: Mapping[str, Int]

    @classmethod
    def of(cls, predictions: Predictions, rules: Cuts, n_bins: int) -> "_ResampledCells":
        outcomes = predictions.outcomes(predictions.default_target)
        ranked = SortedOutcomes.of(outcomes)
        bins = {metric: cuts(ranked, n_bins) for metric, cuts in rules.items()}
        fine = [equal_width_cuts(ranked, CELLS), equal_mass_cuts(ranked, CELLS)]
        cuts = np.unique(np.concatenate([*bins.values(), *fine]))
        ends = ranked.confidence[cuts[1:] - 1]
        index = np.minimum(np.searchsorted(ends, outcomes.confidence), ends.size - 1)
        own = sums(ranked, cuts)
        confidence = np.clip(own.confidence / own.count, 0.0, 1.0)
        # bins without rows have no cell of their own and add nothing; rows below the first bin of
        # the adaptive error lie in cells that no bin starts from
        starts = {
            m: np.searchsorted(cuts, np.unique(bin_cuts)[:-1]) for m, bin_cuts in bins.items()
        }
        gap = outcomes.confidence - outcomes.correct
        return cls(
            ranked=ranked,
            index=index.astype(np.int64),
            gap=gap,
            confidence=confidence,
            starts=starts,
        )

    def gaps(self, counts: Counts) -> Float:
        """Return the sum of confidence minus outcomes of each cell, (r, C)."""
        from core.compiled.resamples import add_by_cell

        gaps = np.zeros((len(counts), self.confidence.size))
        add_by_cell(counts, np.arange(self.index.size), self.index, self.gap, gaps)
        return gaps

    def errors(self, metric: str, gaps: Float) -> Float:
        """Return the error of each resample from the gaps of its cells, (r,)."""
        if metric == "smece":
            return smece_draws(gaps, self.confidence, self.ranked.total)
        bins = np.add.reduceat(gaps, self.starts[metric], axis=1)
        return np.asarray(np.abs(bins).sum(axis=1) / self.ranked.total)


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
    units: ResamplingUnits  # the rows, or groups of them, that could be drawn
    grouped: bool = False  # whether groups were drawn, not rows
    n_bins: int = N_BINS  # of the binned errors


@dataclass(frozen=True)
class Difference(Score):
    """One run's metric minus another's on the same rows, with a paired interval."""

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
    # Counts of independent rows fit in a byte, which halves many passes over memory.
    small = np.uint8 if predictions.sampling.independent else np.float64
    for counts in resampled_counts(n, n_resamples, seed, predictions.sampling, dtype=small):
        left = max(0, N_RESAMPLES_HEAVY - done) if heavy else len(counts)
        for metric, resampled in _mean(parts, drawn, counts, left).items():
            blocks[metric].append(resampled)
        done += len(counts)
    weights = predictions.sampling.weights
    centres = _mean(parts, drawn, np.ones((1, n)) if weights is None else weights[None, :])
    gap, grouped = np.concatenate(blocks[GAP]), predictions.sampling.groups is not None
    # The interval rests on the label that is known in the fewest units.
    each = [units(part.predictions.n, part.predictions.sampling) for part in parts]
    drawable = min(each, key=lambda own: own.df)  # of many labels, some are known in fewer rows
    none = partial(MetricDraws, value=None, n=n, seed=seed, units=ResamplingUnits.even(n))
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
    u - 1 degrees of freedom (of unlike weight both are as `ResamplingUnits` says): among many runs,
    far out, the normal quantile lets 6 % through where 5 % are meant (200 rows, eight runs).
    Calibration errors: the hull of two intervals. One is the same, of what is measured on so many
    rows. Resamples repeat the upward bias of each error; what that moves all of them by is taken
    off, so that they scatter around the difference. Neither error can be below 0, so no bound lies
    beyond what either run's own interval leaves possible. The other is of the errors in truth
    (`_in_truth`): the bias is largest where a run is calibrated, so the measured difference is too
    small where a correction helps, and may be bias alone where it does not.
    Where fewer than FEWEST draws lie beyond a bound, normal quantiles take their place.
    The coverage found by simulation is in docs/coverage.md.

    Examples
    --------
    A run has the same rows drawn as any other: from itself it is off by nothing, in every resample.

    >>> from core.predictions import ScoreKind
    >>> p, labels = np.array([[0.75, 0.25], [0.75, 0.25]]), np.array([0, 1])
    >>> of_two = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, labels)
    >>> own = draws(of_two, {}, ["accuracy"], n_resamples=50)["accuracy"]
    >>> gain = difference(own, own, 0.95)
    >>> gain.value, gain.low, gain.high, gain.tie
    (0.0, 0.0, 0.0, True)
    """
    assert (run.metric, run.n, run.seed) == (reference.metric, reference.n, reference.seed)
    if run.value is None or reference.value is None:
        reason = run.reason or reference.reason
        return Difference.undefined(run.metric, level, run.n, reason)
    value = run.value - reference.value
    if min(run.n, run.units.count) < 2:
        reason = ONE_GROUP if run.grouped else ONE_ROW
        return Difference(run.metric, value, None, None, level, run.n, {}, reason)
    rounds = min(run.draws.size, reference.draws.size)
    pair = run.draws[:rounds], reference.draws[:rounds]
    wide = run.units.wide(level)
    # Errors are joined with their difference in truth, since resamples repeat the bias of both.
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
    # How far the two errors move together on the same resamples.
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
