"""Moderate calibration: the flexible curve with its band, and ICI, E50, E90, Emax; numpy only.

lowess (Cleveland 1979, without robust iterations): at each claim the nearest two thirds of the
rows, weighted by the tricube of their distance over that of the farthest, are fitted by a line,
whose value there is the smoothed share. Rows with equal claims always go together, so the order of
the rows matters nowhere. loess (Cleveland and Devlin 1988): the nearest three quarters, and a
parabola. R interpolates between the vertices of a k-d tree unless given `surface = "direct"`; here
every cell is fitted itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, NamedTuple, Self

import numpy as np

from core.arrays import Bool, Counts, Float, Int, sigmoid
from core.defaults import LEVEL, SMOOTHER
from core.metrics.binning import equal_mass_cuts, equal_width_cuts, sums
from core.metrics.intervals import quantile, wilson
from core.metrics.ranked import SortedOutcomes, interpolated, running_sum
from core.metrics.records import Setting
from core.predictions import INDEPENDENT, Outcomes, SamplingDesign

FRAC: Final = 2.0 / 3.0  # of the rows in each local fit, as in Harrell's val.prob
EXACT: Final = 2_000  # distinct claims up to which each is a node of its own
NODES: Final = 500  # of equal width, and as many of equal count, beyond that
LEAST_SPREAD: Final = 1e-12  # of claims in a local fit; less is as good as none


@dataclass(frozen=True)
class ClaimCells:
    """Rows with one claim, or with neighbouring ones."""

    claim: Float  # (C,), their mean claim, ascending
    # rows, events: (C,), how many rows, at least 1, and how many came true; with weights float64
    rows: Counts
    events: Counts
    exact: bool  # whether every distinct claim is a cell of its own

    @classmethod
    def of(cls, ranked: SortedOutcomes, *, exact: int = EXACT, nodes: int = NODES) -> Self:
        """Return the distinct claims, or about `nodes` to twice as many cells of neighbours."""
        cuts, own = ranked.cuts, len(ranked.cuts) - 1 <= exact
        if not own:
            width, mass = equal_width_cuts(ranked, nodes), equal_mass_cuts(ranked, nodes)
            cuts = np.unique(np.concatenate([width, mass]))
        return cls.between(ranked, cuts, exact=own)

    @classmethod
    def between(cls, ranked: SortedOutcomes, cuts: Int, *, exact: bool = False) -> Self:
        """Return the rows between ascending ranks, each a cell."""
        own = sums(ranked, cuts)
        ends = ranked.confidence[cuts[:-1]], ranked.confidence[cuts[1:] - 1]
        claim = np.clip(own.confidence / own.count, *ends)  # a running sum rounds
        return cls(claim, own.count, own.hits, exact)


@dataclass(frozen=True)
class Lowess:
    """The local fits at every cell; linear in the events."""

    cells: ClaimCells  # the rows
    name: ClassVar[str] = "lowess"
    fraction: ClassVar[float] = FRAC
    degree: ClassVar[int] = 1

    @cached_property
    def kernels(self) -> tuple[Float, Float, Float]:
        """Tricube weight of each cell (last) in each fit, times distance to 0, 1, 2, (C, C)."""
        claim = self.cells.claim
        reach = reaches(claim, self.cells.rows, self.fraction)[:, None]
        away = claim[None, :] - claim[:, None]
        # where the nearest rows have one claim, the reach is 0 and these alone count
        share = np.divide(
            np.minimum(np.abs(away), reach), reach, out=1.0 * (away != 0), where=reach > 0
        )
        weight = (1.0 - share**3) ** 3
        return weight, weight * away, weight * away**2

    def fit(self, rows: Counts, events: Counts) -> Float:
        """Return the smoothed share at every cell, (..., C), unclipped.

        Parameters
        ----------
        rows, events : (..., C) arrays
            Rows and events of each cell, those of the cells or of resamples of them, which keep
            the reach of the fits; 0 comes back where no row has weight.
        """
        flat, slope, square = self.kernels
        rows, events = (
            rows.astype(np.float64),
            events.astype(np.float64),
        )  # integers multiply slowly
        total = rows @ flat.T
        mass = np.where(total > 0.0, total, 1.0)
        mean, share = (rows @ slope.T) / mass, (events @ flat.T) / mass
        # The weighted line through the neighbours, read where the distance is 0.
        spread = np.maximum((rows @ square.T) / mass - mean**2, LEAST_SPREAD)
        together = (events @ slope.T) / mass - mean * share
        return np.asarray(share - mean * together / spread)

    @cached_property
    def weights(self) -> Float:
        """Weight of each cell's share of events in each fitted value, (C, C); rows sum to one."""
        flat, slope, square = self.kernels
        rows = self.cells.rows
        mass = (flat @ rows)[:, None]
        mean = (slope @ rows)[:, None] / mass
        spread = np.maximum((square @ rows)[:, None] / mass - mean**2, LEAST_SPREAD)
        return np.asarray(rows / mass * (flat - mean * (slope - mean * flat) / spread))

    @cached_property
    def shares(self) -> Float:
        """The smoothed share at every cell, (C,) in [0, 1]."""
        return np.clip(self.fit(self.cells.rows, self.cells.events), 0.0, 1.0)


def reaches(claim: Float, rows: Counts, frac: float = FRAC) -> Float:
    """Return the distance of each claim to the farthest of its nearest rows, (C,).

    Parameters
    ----------
    claim : (C,) float64
        Ascending.
    rows : (C,) int64, or float64 with weights
        Rows of each.
    frac : float
        Of all rows; at least two are near.

    Examples
    --------
    Two thirds of three rows are two: the claim itself and its nearer neighbour.

    >>> reaches(np.array([0.0, 0.25, 1.0]), np.array([1, 1, 1])).tolist()
    [0.25, 0.25, 0.75]
    """
    before = np.concatenate([[0], np.cumsum(rows)])
    total = before[-1]
    near = min(max(int(frac * total + 1e-10), 2), total)
    # Of each start the last claim of so many rows; the best window has its middle at the claim.
    last = np.searchsorted(before, before[:-1] + near * (1.0 - 1e-12)) - 1  # of the rows from each
    starts = int(np.searchsorted(last, claim.size))
    low, high = claim[:starts], claim[last[:starts]]
    after = np.searchsorted(low + high, 2.0 * claim, side="left")

    def reach(start: Int) -> Float:
        at = np.clip(start, 0, starts - 1)
        return np.asarray(np.maximum(claim - low[at], high[at] - claim))

    return np.minimum(reach(after), reach(after - 1))


SPAN: Final = 0.75  # of the rows in each local fit, as in Austin and Steyerberg 2019
LEAST_BEND: Final = 1e-8  # of a parabola apart from its line; less has no three distinct claims


class _Basis(NamedTuple):
    """Moments of the claims around each fit, and the parabola orthogonal to 1 and to the line.

    Its value at a distance u is (u - mean)² - lean (u - mean) - spread; `at` is that at u = 0 over
    its mean square, 0 where the claims bear no parabola.
    """

    mass: Float
    mean: Float
    spread: Float
    lean: Float
    at: Float


@dataclass(frozen=True)
class Loess(Lowess):
    """The local parabolas at every cell; linear in the events.

    Fewer than three distinct claims with weight are fitted by a line, one by its share.
    """

    name: ClassVar[str] = "loess"
    fraction: ClassVar[float] = SPAN
    degree: ClassVar[int] = 2

    @cached_property
    def higher(self) -> tuple[Float, Float]:
        """Tricube weight of each cell (last) in each fit, times distance to 3 and 4, (C, C)."""
        claim, square = self.cells.claim, self.kernels[2]
        away = claim[None, :] - claim[:, None]
        return square * away, square * away**2

    def fit(self, rows: Float | Int, events: Float | Int) -> Float:
        """Return the smoothed share at every cell, (..., C), unclipped; see `Lowess.fit`."""
        events = events.astype(np.float64)
        basis = self._basis(rows)
        flat, slope, square = ((events @ part.T) / basis.mass for part in self.kernels)
        mean, lean = basis.mean, basis.lean
        together = slope - mean * flat
        bend = square - 2.0 * mean * slope + mean**2 * flat - lean * together - basis.spread * flat
        return np.asarray(flat - mean * together / basis.spread + basis.at * bend)

    @cached_property
    def weights(self) -> Float:
        """Weight of each cell's share of events in each fitted value, (C, C); rows sum to one."""
        rows = self.cells.rows
        mass, mean, spread, lean, at = (part[:, None] for part in self._basis(rows))
        flat, slope, square = self.kernels
        together = slope - mean * flat
        bend = square - 2.0 * mean * slope + mean**2 * flat - lean * together - spread * flat
        return np.asarray(rows / mass * (flat - mean * together / spread + at * bend))

    def _basis(self, rows: Float | Int) -> _Basis:
        parts = (*self.kernels, *self.higher)
        rows = rows.astype(np.float64)
        sums = [rows @ part.T for part in parts]
        mass = np.where(sums[0] > 0.0, sums[0], 1.0)
        mean, second, third, fourth = (part / mass for part in sums[1:])
        spread = np.maximum(second - mean**2, LEAST_SPREAD)
        # Moments around the mean, from those around the claim at which the fit stands.
        skew = third - 3.0 * mean * second + 2.0 * mean**3
        heavy = fourth - 4.0 * mean * third + 6.0 * mean**2 * second - 3.0 * mean**4
        lean = skew / spread
        bend = heavy - lean * skew - spread**2  # mean square of the parabola
        holds = (bend > LEAST_BEND * spread**2) & (spread > LEAST_SPREAD)
        value = mean**2 + lean * mean - spread
        at = np.divide(value, bend, out=np.zeros_like(value), where=holds)
        return _Basis(mass, mean, spread, lean, at)


SMOOTHERS: Final[dict[str, type[Lowess]]] = {kind.name: kind for kind in (Lowess, Loess)}


ERRORS: Final = ("ici", "e50", "e90", "emax")


@dataclass(frozen=True, kw_only=True)
class FlexibleCurve:
    """Share of events as a smooth function of the stated risk."""

    # (G,), stated risks, ascending: the distinct ones, or means of neighbours where there are many
    at: Float
    observed: Float  # (G,), smoothed share of events, in [0, 1]
    # low, high: (G,), pointwise band, in [0, 1], around `observed`
    low: Float
    high: Float
    rows: Int  # (G,), rows at each
    level: float  # of the band
    settings: Mapping[str, Setting]  # the smoother, and whether every distinct risk is a node


def flexible(
    p: Float,
    y: Bool,
    level: float = LEVEL,
    smoother: str = SMOOTHER,
    *,
    sampling: SamplingDesign = INDEPENDENT,
) -> FlexibleCurve:
    """Return the flexible calibration curve with its pointwise band.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks, N >= 1.
    y : (N,) bool
        Events.
    smoother : str
        A key of `SMOOTHERS`.

    Notes
    -----
    A fitted share is a weighted sum of outcomes, so its variance is sum l_i^2 f_i (1 - f_i) with
    the fitted shares f; the band is taken on the logit scale by the delta method. Where less than
    half an event, or non-event, stands behind a share, as its effective rows 1 / sum l_i^2 go,
    it is Wilson's interval for these rows. With groups or weights every variance is multiplied
    by the design effect of the share of events over all rows.

    Examples
    --------
    Two thirds of four rows are two, and two rows state either risk: the curve is their own share.

    >>> p, y = np.array([0.25, 0.25, 0.5, 0.5]), np.array([False, False, True, False])
    >>> curve = flexible(p, y)
    >>> curve.at.tolist(), curve.observed.round(6).tolist()
    ([0.25, 0.5], [0.0, 0.5])
    """
    ranked = SortedOutcomes.of(Outcomes(p, y, *sampling))
    fitted = SMOOTHERS[smoother](ClaimCells.of(ranked))
    cells, observed = fitted.cells, fitted.shares
    effect = ranked.total / ranked.effective_n(ranked.correct)
    # Each fitted share is a weighted sum of outcomes: its variance and its effective rows.
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
    """Return the integrated calibration index: mean distance of curve and claim, in [0, 1].

    Examples
    --------
    The curve of `flexible` is off by 0.25 for two rows, and by nothing for the other two.

    >>> p, y = np.array([0.25, 0.25, 0.5, 0.5]), np.array([False, False, True, False])
    >>> round(ici(SortedOutcomes.of(Outcomes(p, y))), 6)
    0.125
    """
    return curve_errors(ranked)[0]["ici"]


def e50(ranked: SortedOutcomes) -> float:
    """Return the median distance of curve and claim, in [0, 1].

    Examples
    --------
    >>> p, y = np.array([0.25, 0.25, 0.5, 0.5]), np.array([False, False, True, False])
    >>> round(e50(SortedOutcomes.of(Outcomes(p, y))), 6)  # halfway from 0 to 0.25
    0.125
    """
    return curve_errors(ranked)[0]["e50"]


def e90(ranked: SortedOutcomes) -> float:
    """Return the 90th percentile of the distance of curve and claim, in [0, 1].

    Examples
    --------
    >>> p, y = np.array([0.25, 0.25, 0.5, 0.5]), np.array([False, False, True, False])
    >>> round(e90(SortedOutcomes.of(Outcomes(p, y))), 6)
    0.25
    """
    return curve_errors(ranked)[0]["e90"]


def emax(ranked: SortedOutcomes) -> float:
    """Return the largest distance of curve and claim, in [0, 1].

    Examples
    --------
    >>> p, y = np.array([0.25, 0.25, 0.5, 0.5]), np.array([False, False, True, False])
    >>> round(emax(SortedOutcomes.of(Outcomes(p, y))), 6)
    0.25
    """
    return curve_errors(ranked)[0]["emax"]


def cell_errors(cells: ClaimCells, rows: Int, shares: Float) -> dict[str, Float]:
    """Return the four errors of many resamples, from cells.

    Parameters
    ----------
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
    # Quantiles over rows: cells by their distance, each for as many rows as it holds.
    order = np.argsort(off, axis=1)
    off, rows = np.take_along_axis(off, order, 1), np.take_along_axis(rows, order, 1)
    rows_within = np.cumsum(rows, axis=1)
    total = rows_within[:, -1:]

    def reached(share: float) -> Float:
        at = np.argmax(rows_within >= share * total, axis=1)
        return np.asarray(np.take_along_axis(off, at[:, None], 1)[:, 0])

    mean = (off * rows).sum(axis=1) / total[:, 0]
    return dict(zip(ERRORS, (mean, reached(0.5), reached(0.9), reached(1.0)), strict=True))
