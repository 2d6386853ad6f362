"""Resamples of rows that belong together, and of rows that stand for several; numpy only."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from core.arrays import Float, Int
from core.defaults import N_BINS, N_BINS_MAX, N_BINS_MIN
from core.metrics.binning import BinSums, equal_mass_cuts, sums
from core.metrics.grouped import GroupCells
from core.metrics.intervals import Resamples, all_cuts, running
from core.metrics.ranked import Ranked
from core.metrics.weight_model import shares_by_weight

CENTRED = 10  # groups in a bin from which its own gap is taken off before signs are drawn
HALF = 0.5  # of a variance: centring is not undone beyond it
LEAST = 1e-300  # rows of an empty bin, to divide by


@dataclass(frozen=True, kw_only=True)
class GroupResamples(Resamples):
    """Resamples that draw groups, each with all its rows.

    Attributes
    ----------
    signed_gap, signed_rows : (R, C + 1) float64
        Running gap and rows when each group has one random sign.

    Notes
    -----
    The floor is a wild cluster bootstrap (Cameron, Gelbach & Miller 2008): the residuals of each
    group, centred in their bin, keep their size and take one random sign. Redrawing outcomes row
    by row would take the rows of a patient for strangers.
    """

    signed_gap: Float
    signed_rows: Float

    @classmethod
    def of(cls, ranked: Ranked, n_resamples: int, seed: int, *, n_bins: int = N_BINS_MIN) -> Self:
        """Draw the resamples of a target; of many rows, fewer than were asked for."""
        cuts = all_cuts(ranked, n_bins)
        rng = np.random.default_rng(seed)
        cells = GroupCells.of(ranked, cuts)
        rounds = cells.rounds(n_resamples)
        count, confidence, hits = (
            running(part, np.float64) for part in cells.bootstrap(rounds, rng)
        )
        gap, rows = (running(part, np.float64) for part in cells.signed(rounds, rng))
        return cls(
            ranked=ranked,
            cuts=cuts,
            count=count,
            hits=hits,
            confidence=confidence,
            floor_hits=np.empty((0, 0)),
            signed_gap=gap,
            signed_rows=rows,
        )

    def floor(self, cuts: Int) -> BinSums:
        """Return the sums between cuts when each group's residual takes a random sign."""
        at = self.columns(cuts)
        own = sums(self.ranked, self.cuts[at])
        return BinSums(own.count, own.confidence, own.confidence - self._signed(at))

    def _signed(self, at: Int) -> Float:
        """Return the gaps between columns under random signs, centred in their bins, (R, B).

        Cells too fine to be bins are centred in the 15 bins of equal mass. Centring takes a degree
        of freedom a bin, or more where few groups rule it, and the draws are stretched by what it
        took. It is left out in bins worth fewer than `CENTRED` groups of equal weight (Kish), and
        everywhere where there are fewer than that for each bin; residuals as they are hold the
        level.
        """
        coarse = at
        if len(at) - 1 > N_BINS_MAX:
            coarse = self.columns(equal_mass_cuts(self.ranked, N_BINS))
        bins = GroupCells.of(self.ranked, self.cuts[coarse])
        own = sums(self.ranked, self.cuts[coarse])
        worth, together = _worth(bins), np.bincount(bins.group, bins.rows)
        enough = worth >= CENTRED
        enough &= together.sum() ** 2 >= CENTRED * bins.n_cells * (together @ together)
        mean = np.where(enough, own.gap / np.maximum(own.count, LEAST), 0.0)
        scale = np.where(enough, 1.0 / np.sqrt(centring_left(bins)), 1.0)
        if coarse is at:
            gap, rows = np.diff(self.signed_gap[:, at]), np.diff(self.signed_rows[:, at])
            return np.asarray(scale * (gap - rows * mean))
        column = np.searchsorted(coarse, np.arange(len(self.cuts) - 1), side="right") - 1
        column = np.clip(column, 0, mean.size - 1)
        fine = np.diff(self.signed_gap) - np.diff(self.signed_rows) * mean[column]
        return np.diff(running(scale[column] * fine, np.float64)[:, at])


def centring_left(bins: GroupCells) -> Float:
    """Return the share of the variance of each cell's gap that centring leaves, (C,).

    With weights w of the groups 1 - 2 sum w^3 / (sum w sum w^2) + sum w^2 / (sum w)^2, which is
    1 - 1 / m for m groups of equal weight.
    """
    first, second, third = (np.bincount(bins.cell, bins.rows**k, bins.n_cells) for k in (1, 2, 3))
    ruled = third / np.maximum(first * second, LEAST)
    return np.asarray(np.maximum(1.0 - 2.0 * ruled + second / np.maximum(first**2, LEAST), HALF))


def _worth(bins: GroupCells) -> Float:
    """Return how many groups of equal weight those of each cell are worth, (C,)."""
    rows = np.bincount(bins.cell, bins.rows, bins.n_cells)
    squares = np.bincount(bins.cell, bins.rows**2, bins.n_cells)
    return np.asarray(rows**2 / np.maximum(squares, LEAST))


def resamples_of(
    ranked: Ranked, n_resamples: int, seed: int, *, n_bins: int = N_BINS_MIN
) -> Resamples:
    """Return the draws of a target: of its rows, by weight or not, or of its groups.

    Parameters
    ----------
    ranked : Ranked
        The sorted rows.
    n_resamples : int
        R.
    seed : int
        Same seed, same rows in any order: same draws.
    n_bins : int
        A number of bins outside 5..50 that will be asked for.
    """
    if ranked.groups is not None:
        return GroupResamples.of(ranked, n_resamples, seed, n_bins=n_bins)
    if ranked.weights is not None:
        return _weighted(ranked, n_resamples, seed, n_bins=n_bins)
    return Resamples.of(ranked, n_resamples, seed, n_bins=n_bins)


def _weighted(ranked: Ranked, n_resamples: int, seed: int, *, n_bins: int) -> Resamples:
    """Return the draws of weighted rows, which are still independent: each has one outcome.

    The floor redraws it, however much the row weighs. Random signs of weighted residuals would
    not hold the level: where few rows rule a sum its law is lopsided.
    """
    cuts = all_cuts(ranked, n_bins)
    rng = np.random.default_rng(seed)
    cells = GroupCells.of(ranked, cuts)
    rounds = cells.rounds(n_resamples)
    parts = (*cells.bootstrap(rounds, rng), cells.redrawn(shares_by_weight(ranked), rounds, rng))
    count, confidence, hits, chance = (running(part, np.float64) for part in parts)
    return Resamples(
        ranked=ranked, cuts=cuts, count=count, hits=hits, confidence=confidence, floor_hits=chance
    )
