"""Calibration error against shares: an answer is right as far as people agree; numpy only."""

import numpy as np

from core.arrays import Float, Int
from core.defaults import N_BINS
from core.metrics.binning import bin_index, equal_width_edges
from core.metrics.grouped import row_signs
from core.predictions import Extents

CENTRED = 10  # groups in a bin from which its own gap is taken off before signs are drawn


def share_ece(
    confidence: Float, agreement: Float, weights: Float | None = None, *, n_bins: int = N_BINS
) -> float:
    """Return the ECE over equal-width bins with shares in place of right and wrong, in [0, 1].

    Parameters
    ----------
    confidence : (N,) float64 in [0, 1]
        Of the answer.
    agreement : (N,) float64 in [0, 1]
        Share of people who agree with it; 0 and 1 give the ordinary ECE.
    weights : (N,) float64, optional
        How many rows each stands for.
    n_bins : int
        Number of bins, (k / B, (k + 1) / B].
    """
    index = bin_index(confidence, equal_width_edges(n_bins))
    w = np.ones(confidence.size) if weights is None else weights
    gaps = np.bincount(index, w * (confidence - agreement), n_bins)
    return float(np.abs(gaps).sum() / w.sum())


def drawn_ece(gaps: Float, total: Float | float) -> Float:
    """Return the ECE of each resample from the summed gaps of its bins, (..., B)."""
    return np.asarray(np.abs(gaps).sum(axis=-1) / total)


def ece_floor(
    residual: Float, index: Int, extents: Extents, n_resamples: int, rng: np.random.Generator
) -> Float:
    """Return the ECE that a model would show whose bins agree with people, (R,).

    Parameters
    ----------
    residual : (N,) float64
        Confidence minus agreement.
    index : (N,) int64
        Bin of each row.
    extents : Extents
        Groups and weights of the rows.
    n_resamples : int
        R.
    rng : Generator
        Where signs are drawn from.

    Notes
    -----
    A wild bootstrap (Cameron, Gelbach & Miller 2008): residuals, centred in their bin, keep their
    size and take one random sign a group. It needs no model of how votes scatter: rows differ in
    what people think of them, and few votes add to that.
    """
    groups, weights = extents
    w = np.ones(residual.size) if weights is None else weights
    place = np.arange(residual.size) if groups is None else groups
    n_bins = int(index.max()) + 1
    pairs = np.unique(index.astype(np.int64) * (int(place.max()) + 1) + place)
    members = np.bincount(pairs // (int(place.max()) + 1), minlength=n_bins)
    weight = np.bincount(index, w, n_bins)
    mean = np.bincount(index, w * residual, n_bins) / np.where(weight > 0.0, weight, 1.0)
    enough = members >= CENTRED
    spread = np.where(enough, np.sqrt(members / np.maximum(members - 1, 1)), 1.0)
    centred = (residual - np.where(enough, mean, 0.0)[index]) * spread[index]
    signs = row_signs(residual.size, extents, n_resamples, rng)
    gaps = [np.bincount(index, sign * centred, n_bins) for sign in signs]
    return drawn_ece(np.stack(gaps).astype(np.float64), float(w.sum()))
