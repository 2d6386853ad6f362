"""Classwise ECE: every class's probability against its frequency; numpy only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from core.arrays import CHUNK_BYTES, PASS_BYTES, Counts, Float, Int, row_chunks, wide_enough
from core.defaults import N_BINS
from core.metrics.binning import BinSums, bin_index, equal_width_edges
from core.metrics.top_label import weighted_gap
from core.predictions import Predictions

BLOCK_CELLS = 2**24  # of redrawn hits held at a time
COUNTS_BYTES = 2**22  # of counts of rows, in float64, that are multiplied at a time
LEAST_BLOCK = 8  # resamples drawn together however many the cells
JOINED = 2**21  # entries of cells that are put together at a time
_Entries = tuple[Int, Int, Float]


@dataclass(frozen=True)
class ClassBins:
    """Equal-width bins of each class's probability column; sums are (K, B)."""

    bins: BinSums
    n: float

    @property
    def ece(self) -> Float:
        """ECE of each class, (K,) float64."""
        return weighted_gap(self.bins, self.n)


def class_bins(predictions: Predictions, *, n_bins: int = N_BINS) -> ClassBins:
    """Sum each class's probabilities and occurrences by equal-width bins.

    Parameters
    ----------
    predictions : Predictions
        With full class scores; K is the number of columns, present in the labels or not.
    n_bins : int
        Number of bins.

    Notes
    -----
    A row sums to one, so at most B of its probabilities lie above the first bin: only these are
    sorted into bins, the first bin is what remains of the column.
    """
    from core.compiled.rows import add_binned, add_binned_softmax

    weights, edges = predictions.extents.weights, equal_width_edges(n_bins)
    each = np.ones(predictions.n) if weights is None else weights
    softmax = predictions.softmax_of_logits
    sums, size = (
        np.zeros((3, predictions.n_classes, n_bins)),
        PASS_BYTES if softmax else CHUNK_BYTES,
    )
    for rows in row_chunks(predictions.n, predictions.n_classes, size):
        own = predictions.labels[rows], each[rows], edges, sums
        if softmax:
            add_binned_softmax(wide_enough(predictions.scores[rows]), *own)
        else:
            add_binned(predictions.probabilities(rows), *own)
    sums[0, :, 0] = predictions.total - sums[0, :, 1:].sum(axis=1)
    kind = np.int64 if weights is None else np.float64
    count, mass, hits = sums
    return ClassBins(BinSums(count.astype(kind), mass, hits.astype(kind)), predictions.total)


@dataclass(frozen=True)
class ClassCells:
    """Each class's probabilities in equal-width bins, those above the first bin one by one.

    A row sums to one, so few of its probabilities are above the first bin. `row`, `cell` and
    `gap` are (E,): such a probability, or minus one for the true class; a cell is class x bin.
    What is left in the first bins is a product of counts and probabilities.
    """

    predictions: Predictions
    n_bins: int
    row: Int
    cell: Int
    gap: Float

    @classmethod
    def of(cls, predictions: Predictions, n_bins: int = N_BINS) -> Self:
        """Sort the rows' probabilities and true classes into cells."""
        joined, waiting, size = list[_Entries](), list[_Entries](), 0
        for entries in _entries(predictions, n_bins):
            waiting.append(entries)
            size += entries[0].size
            if size >= JOINED:  # small arrays do not pile up, which would all be in memory
                joined, waiting, size = [*joined, _columns(waiting)], [], 0
        return cls(predictions, n_bins, *_columns([*joined, *waiting]))

    def ece(self, counts: Counts) -> Float:
        """Return the classwise ECE on resamples given as (r, N) counts of rows, (r,).

        Counts with a random sign for each group give what chance would show.
        """
        from core.compiled.resamples import add_by_cell

        if not len(counts):
            return np.empty(0)
        n_classes = self.predictions.n_classes
        # The sum of each class's probabilities within the first bin
        edge = equal_width_edges(self.n_bins)[1]
        low = np.zeros((len(counts), n_classes))
        for rows in row_chunks(self.predictions.n, max(n_classes, len(counts)), COUNTS_BYTES):
            p = self.predictions.probabilities(rows)
            p[p > edge] = 0.0
            low += counts[:, rows].astype(np.float64, copy=False) @ p
        out, gaps = np.empty(len(counts)), np.empty((1, n_classes * self.n_bins))
        for r in range(len(counts)):
            gaps[:] = 0.0
            gaps[0, :: self.n_bins] = low[r]
            add_by_cell(counts[r : r + 1], self.row, self.cell, self.gap, gaps)
            out[r] = np.abs(gaps).sum() / (self.predictions.total * n_classes)
        return out


def _entries(predictions: Predictions, n_bins: int) -> Iterator[_Entries]:
    """Yield row, cell and gap of what stands above the first bins, and of the true classes."""
    edges = equal_width_edges(n_bins)
    for rows in row_chunks(predictions.n, predictions.n_classes):
        p = predictions.probabilities(rows)
        at, k = np.nonzero(p > edges[1])
        yield at + rows.start, k * n_bins + bin_index(p[at, k], edges), p[at, k]
        truth = predictions.labels[rows]
        row = np.arange(truth.size)
        cell = truth * n_bins + bin_index(p[row, truth], edges)
        yield row + rows.start, cell, np.full(truth.size, -1.0)


def _columns(parts: Sequence[_Entries]) -> _Entries:
    row, cell, gap = zip(*parts, strict=True)
    return np.concatenate(row), np.concatenate(cell), np.concatenate(gap)


def redrawn_ece(
    predictions: Predictions, sums: BinSums, n_resamples: int, rng: np.random.Generator
) -> Float:
    """Return the classwise ECE when each row's class is drawn from its own probabilities, (R,).

    Parameters
    ----------
    predictions : Predictions
        With full class scores.
    sums : BinSums
        Those of `class_bins` for the same rows.
    n_resamples : int
        R.
    rng : numpy Generator
        Of the draws.

    Notes
    -----
    A row has one class, so its classes' outcomes are drawn together. Resamples are drawn in
    blocks, so that their cells fit in BLOCK_CELLS.
    """
    from core.compiled.rows import add_redrawn

    n_classes, n_bins = sums.count.shape
    weights, edges = predictions.extents.weights, equal_width_edges(n_bins)
    of_row = np.ones(predictions.n, np.int32) if weights is None else weights
    block = max(LEAST_BLOCK, BLOCK_CELLS // sums.count.size)
    out: list[Float] = []
    for start in range(0, n_resamples, block):
        rounds = min(block, n_resamples - start)
        hits = np.zeros((sums.count.size, rounds), of_row.dtype)
        for rows in row_chunks(predictions.n, max(n_classes, rounds)):
            p = np.ascontiguousarray(predictions.probabilities(rows))
            add_redrawn(p, rng.random((len(p), rounds)), edges, np.array(of_row[rows]), hits)
        total = np.zeros(hits.shape[1])
        for cells in row_chunks(*hits.shape):
            total += np.abs(sums.confidence.reshape(-1, 1)[cells] - hits[cells]).sum(axis=0)
        out.append(total / (predictions.total * n_classes))
    return np.concatenate(out)


def classwise_ece(predictions: Predictions, *, n_bins: int = N_BINS) -> float:
    """Return the mean over classes of the equal-width ECE of their probability, in [0, 1].

    All N rows count for every class, and the mean is over all K columns. Kull et al. 2019 print
    the sum over classes, K times this.
    """
    return float(np.sort(class_bins(predictions, n_bins=n_bins).ece).mean())
