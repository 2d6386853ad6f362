"""Classwise ECE: every class's probability against its frequency; numpy only."""

from dataclasses import dataclass

import numpy as np

from core.arrays import Float, Int, row_chunks
from core.defaults import N_BINS
from core.metrics.binning import BinSums, bin_index, equal_width_edges
from core.metrics.top_label import weighted_gap
from core.predictions import Predictions


@dataclass(frozen=True)
class ClassBins:
    """Equal-width bins of each class's probability column; sums are (K, B)."""

    bins: BinSums
    n: int

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
    shape = (predictions.n_classes, n_bins)
    count, hits = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    mass = np.zeros(shape)
    for rows in row_chunks(predictions.n, predictions.n_classes):
        _add_chunk(predictions.probabilities(rows), predictions.labels[rows], (count, mass, hits))
    count[:, 0] = predictions.n - count[:, 1:].sum(axis=1)
    return ClassBins(BinSums(count, mass, hits), predictions.n)


def _add_chunk(p: Float, labels: Int, totals: tuple[Int, Float, Int]) -> None:
    """Add the rows of one chunk to count (bins after the first), mass and hits."""
    count, mass, hits = totals
    n_bins = count.shape[1]
    edges = equal_width_edges(n_bins)
    flat = np.flatnonzero(p > edges[1])
    high = p.ravel()[flat]
    cell = (flat % p.shape[1]) * n_bins + bin_index(high, edges)
    count += np.bincount(cell, minlength=count.size).reshape(count.shape)
    mass += np.bincount(cell, high, minlength=count.size).reshape(count.shape)
    truth = labels * n_bins + bin_index(p[np.arange(len(labels)), labels], edges)
    np.put(p, flat, 0.0)
    mass[:, 0] += p.sum(axis=0)
    hits += np.bincount(truth, minlength=hits.size).reshape(hits.shape)


def classwise_ece(predictions: Predictions, *, n_bins: int = N_BINS) -> float:
    """Return the mean over classes of the equal-width ECE of their probability, in [0, 1].

    All N rows count for every class, and the mean is over all K columns. Kull et al. 2019 print
    the sum over classes, K times this.
    """
    return float(np.sort(class_bins(predictions, n_bins=n_bins).ece).mean())
