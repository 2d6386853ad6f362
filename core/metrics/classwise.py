"""Classwise ECE: every class's probability against its frequency; numpy only."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from core.arrays import Counts, Float, Int, row_chunks
from core.defaults import N_BINS
from core.metrics.binning import BinSums, bin_index, equal_width_edges
from core.metrics.top_label import weighted_gap
from core.predictions import Predictions

BLOCK_CELLS = 2**24  # of redrawn hits held at a time
COUNTS_BYTES = 2**22  # of counts of rows, in float64, that are multiplied at a time
LEAST_BLOCK = 8  # resamples drawn together however many the cells


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
    shape, weights = (predictions.n_classes, n_bins), predictions.extents.weights
    kind = np.int64 if weights is None else np.float64
    count, hits = np.zeros(shape, dtype=kind), np.zeros(shape, dtype=kind)
    mass = np.zeros(shape)
    for rows in row_chunks(predictions.n, predictions.n_classes):
        own = None if weights is None else weights[rows]
        chunk = predictions.probabilities(rows), predictions.labels[rows], own
        _add_chunk(*chunk, (count, mass, hits))
    count[:, 0] = predictions.total - count[:, 1:].sum(axis=1)
    return ClassBins(BinSums(count, mass, hits), predictions.total)


def _add_chunk(
    p: Float, labels: Int, weights: Float | None, totals: tuple[Counts, Float, Counts]
) -> None:
    """Add the rows of one chunk to count (bins after the first), mass and hits."""
    count, mass, hits = totals
    n_bins = count.shape[1]
    edges = equal_width_edges(n_bins)
    flat = np.flatnonzero(p > edges[1])
    high = p.ravel()[flat]
    cell = (flat % p.shape[1]) * n_bins + bin_index(high, edges)
    each = None if weights is None else weights[flat // p.shape[1]]
    count += np.bincount(cell, each, count.size).reshape(count.shape)
    mass += np.bincount(cell, high if each is None else high * each, count.size).reshape(mass.shape)
    truth = labels * n_bins + bin_index(p[np.arange(len(labels)), labels], edges)
    np.put(p, flat, 0.0)
    mass[:, 0] += p.sum(axis=0) if weights is None else weights @ p
    hits += np.bincount(truth, weights, hits.size).reshape(hits.shape)


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
        edges = equal_width_edges(n_bins)
        entries: list[tuple[Int, Int, Float]] = []
        for rows in row_chunks(predictions.n, predictions.n_classes):
            p = predictions.probabilities(rows)
            at, k = np.nonzero(p > edges[1])
            entries.append((at + rows.start, k * n_bins + bin_index(p[at, k], edges), p[at, k]))
            truth = predictions.labels[rows]
            row = np.arange(truth.size)
            cell = truth * n_bins + bin_index(p[row, truth], edges)
            entries.append((row + rows.start, cell, np.full(truth.size, -1.0)))
        return cls(
            predictions, n_bins, *(np.concatenate(part) for part in zip(*entries, strict=True))
        )

    def ece(self, counts: Counts) -> Float:
        """Return the classwise ECE on resamples given as (r, N) counts of rows, (r,).

        Counts with a random sign for each group give what chance would show.
        """
        from core.compiled.resamples import add_by_cell

        if not len(counts):
            return np.empty(0)
        n_classes = self.predictions.n_classes
        low = self._first_bins(counts)
        out, gaps = np.empty(len(counts)), np.empty((1, n_classes * self.n_bins))
        for r in range(len(counts)):
            gaps[:] = 0.0
            gaps[0, :: self.n_bins] = low[r]
            add_by_cell(counts[r : r + 1], self.row, self.cell, self.gap, gaps)
            out[r] = np.abs(gaps).sum() / (self.predictions.total * n_classes)
        return out

    def _first_bins(self, counts: Counts) -> Float:
        """Return the sum of each class's probabilities within the first bin, (r, K)."""
        edge = equal_width_edges(self.n_bins)[1]
        low = np.zeros((len(counts), self.predictions.n_classes))
        widest = max(self.predictions.n_classes, len(counts))
        for rows in row_chunks(self.predictions.n, widest, COUNTS_BYTES):
            p = self.predictions.probabilities(rows)
            p[p > edge] = 0.0
            low += counts[:, rows].astype(np.float64, copy=False) @ p
        return low


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
    from core.compiled.classes import add_redrawn

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
        out.append(_sum_of_gaps(sums.confidence, hits) / (predictions.total * n_classes))
    return np.concatenate(out)


def _sum_of_gaps(confidence: Float, hits: Counts) -> Float:
    """Return the sum over classes and bins of |confidence - hits|, (R,)."""
    total = np.zeros(hits.shape[1])
    for cells in row_chunks(*hits.shape):
        total += np.abs(confidence.reshape(-1, 1)[cells] - hits[cells]).sum(axis=0)
    return total


def classwise_ece(predictions: Predictions, *, n_bins: int = N_BINS) -> float:
    """Return the mean over classes of the equal-width ECE of their probability, in [0, 1].

    All N rows count for every class, and the mean is over all K columns. Kull et al. 2019 print
    the sum over classes, K times this.
    """
    return float(np.sort(class_bins(predictions, n_bins=n_bins).ece).mean())
