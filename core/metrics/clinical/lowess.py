"""Local linear smoothing of events over the claim (lowess without robust iterations); numpy only.

Cleveland 1979: at each claim the nearest two thirds of the rows, weighted by the tricube of their
distance over that of the farthest, are fitted by a line, whose value there is the smoothed share.
Rows with equal claims always go together, so the order of the rows matters nowhere.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final, Self

import numpy as np

from core.arrays import Counts, Float, Int
from core.metrics.binning import equal_mass_cuts, equal_width_cuts, sums
from core.metrics.ranked import SortedOutcomes

FRAC: Final = 2.0 / 3.0  # of the rows in each local fit, as in Harrell's val.prob
EXACT: Final = 2_000  # distinct claims up to which each is a node of its own
NODES: Final = 500  # of equal width, and as many of equal count, beyond that
LEAST_SPREAD: Final = 1e-12  # of claims in a local fit; less is as good as none


@dataclass(frozen=True)
class ClaimCells:
    """Rows with one claim, or with neighbouring ones.

    Attributes
    ----------
    claim : (C,) float64
        Their mean claim, ascending.
    rows, events : (C,) int64
        How many rows, at least 1, and how many came true; with weights float64.
    exact : bool
        Whether every distinct claim is a cell of its own.
    """

    claim: Float
    rows: Counts
    events: Counts
    exact: bool

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
    """The local fits at every cell; linear in the events.

    Attributes
    ----------
    cells : ClaimCells
        The rows.
    """

    cells: ClaimCells
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
    """
    before = np.concatenate([[0], np.cumsum(rows)])
    total = before[-1]
    near = min(max(int(frac * total + 1e-10), 2), total)
    last = np.searchsorted(before, before[:-1] + near * (1.0 - 1e-12)) - 1  # of the rows from each
    starts = int(np.searchsorted(last, claim.size))
    low, high = claim[:starts], claim[last[:starts]]
    after = np.searchsorted(low + high, 2.0 * claim, side="left")

    def reach(start: Int) -> Float:
        at = np.clip(start, 0, starts - 1)
        return np.asarray(np.maximum(claim - low[at], high[at] - claim))

    return np.minimum(reach(after), reach(after - 1))
