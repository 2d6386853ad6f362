"""A run's rows, ready to be resampled: its metrics as functions of how often each row is drawn."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.arrays import SORTED_BY_DIGITS, Counts, Float, Int, row_chunks
from core.defaults import N_BINS
from core.metrics import METRICS
from core.metrics.binning import equal_mass_cuts, equal_width_cuts, interpolated_cuts, sums
from core.metrics.classwise import ClassCells
from core.metrics.grouped import row_draws
from core.metrics.proper import nll_rows
from core.metrics.ranked import SortedOutcomes
from core.metrics.smooth import smece_draws
from core.predictions import INDEPENDENT, Predictions, SamplingDesign

IN_BINS = {"ece", "ece_em", "ada_ece", "classwise_ece"}  # of a number that is set
BINNED = {"ece", "ece_em", "smece", "ada_ece"}  # read from cells of neighbouring confidence
Cuts = Mapping[str, Callable[[SortedOutcomes, int], Int]]
USUAL: Cuts = {"ece": equal_width_cuts, "ece_em": equal_mass_cuts}
ADAPTIVE: Cuts = {"ada_ece": interpolated_cuts}
GAP = "gap"  # drawn beside the metrics
STREAM = 5  # of random numbers; the others are in `estimates`
BLOCK_BYTES = 2**25  # of resamples held at a time
LEAST_BLOCK = 8  # bytes held of each row, however many rows
DRAWN_AT_A_TIME = 2**20
CELLS = 256  # cells of equal width, and as many of equal count, that the smooth error is read from


def resampled_counts(
    n: int,
    n_resamples: int,
    seed: int,
    extents: SamplingDesign = INDEPENDENT,
    *,
    dtype: type[np.generic] = np.float64,
) -> Iterator[Counts]:
    """Yield what each row counts in each resample, in blocks of (r, N).

    That is how often it is drawn; with groups all rows of one are drawn together, and with
    weights each counts as many rows, scaled to the weight of all. Independent rows may be counted
    in uint8: none is drawn 256 times of N. A block is written over by the next one.
    """
    rng = np.random.default_rng([seed, STREAM])
    size = np.dtype(dtype).itemsize
    step = max(LEAST_BLOCK // size, BLOCK_BYTES // (size * n))
    buffer = np.empty((min(step, n_resamples), n), dtype)
    for start in range(0, n_resamples, step):
        block = buffer[: n_resamples - start]
        if extents.independent and n >= SORTED_BY_DIGITS:
            from core.compiled.resamples import add_draws

            for counts in block:
                counts[:] = 0
                for first in range(0, n, DRAWN_AT_A_TIME):
                    add_draws(rng.integers(0, n, min(DRAWN_AT_A_TIME, n - first)), counts)
        else:
            draws = row_draws(n, extents, len(block), rng)
            for counts, drawn in zip(block, draws, strict=True):
                counts[:] = drawn
        yield block


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
        rows, weights = nll_rows(self.predictions), self.predictions.extents.weights
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
