"""Moderate calibration: the flexible curve with its band, and ICI, E50, E90, Emax; numpy only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.arrays import Bool, Float, Int, sigmoid
from core.defaults import LEVEL, SMOOTHER
from core.metrics.clinical.loess import SMOOTHERS
from core.metrics.clinical.lowess import ClaimCells, Lowess
from core.metrics.grouped import effective_mean
from core.metrics.intervals import quantile, wilson
from core.metrics.ranked import SortedOutcomes, interpolated, running_sum
from core.metrics.records import Setting
from core.predictions import INDEPENDENT, Outcomes, SamplingDesign

ERRORS: Final = ("ici", "e50", "e90", "emax")


@dataclass(frozen=True, kw_only=True)
class FlexibleCurve:
    """Share of events as a smooth function of the stated risk.

    Attributes
    ----------
    at : (G,) float64
        Stated risks, ascending: the distinct ones, or means of neighbours where there are many.
    observed : (G,) float64
        Smoothed share of events, in [0, 1].
    low, high : (G,) float64
        Pointwise band, in [0, 1], around `observed`.
    rows : (G,) int64
        Rows at each.
    level : float
        Of the band.
    settings : mapping
        The smoother, and whether every distinct risk is a node.
    """

    at: Float
    observed: Float
    low: Float
    high: Float
    rows: Int
    level: float
    settings: Mapping[str, Setting]


def flexible(
    p: Float,
    y: Bool,
    level: float = LEVEL,
    smoother: str = SMOOTHER,
    *,
    extents: SamplingDesign = INDEPENDENT,
) -> FlexibleCurve:
    """Return the flexible calibration curve with its pointwise band.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks, N >= 1.
    y : (N,) bool
        Events.
    level : float
        Of the band.
    smoother : str
        A key of `SMOOTHERS`.
    extents : SamplingDesign
        Groups and weights of the rows.

    Notes
    -----
    A fitted share is a weighted sum of outcomes, so its variance is sum l_i^2 f_i (1 - f_i) with
    the fitted shares f; the band is taken on the logit scale by the delta method. Where less than
    half an event, or non-event, stands behind a share, as its effective rows 1 / sum l_i^2 go,
    it is Wilson's interval for these rows. With groups or weights every variance is multiplied
    by the design effect of the share of events over all rows.
    """
    ranked = SortedOutcomes.of(Outcomes(p, y, *extents))
    fitted = SMOOTHERS[smoother](ClaimCells.of(ranked))
    cells, observed = fitted.cells, fitted.shares
    effect = ranked.total / effective_mean(ranked, ranked.correct)
    squares = effect * fitted.weights**2 / cells.rows  # of each row's weight, within a cell
    effective, variance = 1.0 / squares.sum(axis=1), observed * (1.0 - observed)
    low, high = wilson(observed * effective, effective, level)
    inside = np.minimum(observed, 1.0 - observed) * effective >= 0.5
    centre = np.log(observed[inside]) - np.log1p(-observed[inside])
    half = quantile(level) * np.sqrt(squares @ variance)[inside] / variance[inside]
    low[inside], high[inside] = sigmoid(centre - half), sigmoid(centre + half)
    return FlexibleCurve(
        at=cells.claim,
        observed=observed,
        low=np.minimum(low, observed),
        high=np.maximum(high, observed),
        rows=cells.rows,
        level=level,
        settings=described(fitted),
    )


def described(fitted: Lowess) -> dict[str, Setting]:
    """Return what the smoother was, for settings."""
    cells = fitted.cells
    return {
        "smoother": fitted.name,
        "fraction": fitted.fraction,
        "degree": fitted.degree,
        "robust_iterations": 0,
        "nodes": cells.claim.size,
        "exact": "yes" if cells.exact else "no: neighbours merged, linear in between",
    }


def curve_errors(
    ranked: SortedOutcomes, smoother: str = SMOOTHER
) -> tuple[dict[str, float], dict[str, Setting]]:
    """Return ICI, E50, E90 and Emax over the rows, and the smoother's settings."""
    fitted = SMOOTHERS[smoother](ClaimCells.of(ranked))
    cells = fitted.cells
    shares = np.interp(ranked.confidence, cells.claim, fitted.shares)
    off = np.abs(shares - ranked.confidence)
    order = np.argsort(off, kind="stable")
    off = off[order]
    if ranked.weights is None:
        half, most = np.quantile(off, [0.5, 0.9])
        values = (off.sum() / off.size, half, most, off[-1])
    else:
        rows = ranked.weights[order]
        running = np.concatenate([[0.0], running_sum(rows)])
        half, most = interpolated(off, running, np.array([0.5, 0.9]) * (ranked.total - 1.0))
        values = (off @ rows / ranked.total, half, most, off[-1])
    return dict(zip(ERRORS, map(float, values), strict=True)), described(fitted)


def ici(ranked: SortedOutcomes) -> float:
    """Return the integrated calibration index: mean distance of curve and claim, in [0, 1]."""
    return curve_errors(ranked)[0]["ici"]


def e50(ranked: SortedOutcomes) -> float:
    """Return the median distance of curve and claim, in [0, 1]."""
    return curve_errors(ranked)[0]["e50"]


def e90(ranked: SortedOutcomes) -> float:
    """Return the 90th percentile of the distance of curve and claim, in [0, 1]."""
    return curve_errors(ranked)[0]["e90"]


def emax(ranked: SortedOutcomes) -> float:
    """Return the largest distance of curve and claim, in [0, 1]."""
    return curve_errors(ranked)[0]["emax"]


def cell_errors(cells: ClaimCells, rows: Int, shares: Float) -> dict[str, Float]:
    """Return the four errors of many resamples, from cells.

    Parameters
    ----------
    cells : ClaimCells
        C cells.
    rows : (R, C) or (C,) array
        Rows of each cell in each resample, each with the same total.
    shares : (R, C) float64
        Smoothed shares there.

    Returns
    -------
    dict of str to (R,) float64
    """
    off = np.abs(shares - cells.claim)
    rows = np.broadcast_to(rows, off.shape)
    order = np.argsort(off, axis=1)
    off, rows = np.take_along_axis(off, order, 1), np.take_along_axis(rows, order, 1)
    rows_within = np.cumsum(rows, axis=1)
    total = rows_within[:, -1:]

    def reached(share: float) -> Float:
        at = np.argmax(rows_within >= share * total, axis=1)
        return np.asarray(np.take_along_axis(off, at[:, None], 1)[:, 0])

    mean = (off * rows).sum(axis=1) / total[:, 0]
    return dict(zip(ERRORS, (mean, reached(0.5), reached(0.9), reached(1.0)), strict=True))
