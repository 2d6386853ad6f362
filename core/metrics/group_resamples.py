"""Resamples of rows that belong together or stand for several; numpy only."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from core.arrays import Float, Int
from core.defaults import N_BINS, N_BINS_MAX, N_BINS_MIN
from core.metrics.binning import BinSums, equal_mass_cuts, sums
from core.metrics.grouped import Cells
from core.metrics.intervals import Resamples, all_cuts, running
from core.metrics.ranked import Ranked

CENTRED = 10  # groups in a bin from which its own gap is taken off before signs are drawn
LEAST = 1e-300  # rows of an empty bin, to divide by


@dataclass(frozen=True)
class GroupResamples(Resamples):
    """Resamples that draw groups, each with all its rows; without groups, weighted rows.

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
        cells = Cells.of(ranked, cuts)
        rounds = cells.rounds(n_resamples)
        count, confidence, hits = (
            running(part, np.float64) for part in cells.bootstrap(rounds, rng)
        )
        gap, rows = (running(part, np.float64) for part in cells.signed(rounds, rng))
        return cls(ranked, cuts, count, hits, confidence, np.empty((0, 0)), gap, rows)

    def floor(self, cuts: Int) -> BinSums:
        """Return the sums between cuts when each group's residual takes a random sign."""
        at = self.columns(cuts)
        own = sums(self.ranked, self.cuts[at])
        gap = np.diff(self.signed_gap[:, at]) - self._own_gap(at)
        return BinSums(own.count, own.confidence, own.confidence - gap)

    def _own_gap(self, at: Int) -> Float:
        """Return what centring takes off between columns: each bin's mean gap by signed rows.

        Cells too fine to be bins are centred in the 15 bins of equal mass. Centring takes a degree
        of freedom a bin, so it is left out in bins of fewer than `CENTRED` groups, and everywhere
        where there are fewer than that for each bin; residuals as they are hold the level.
        """
        coarse = at
        if len(at) - 1 > N_BINS_MAX:
            coarse = self.columns(equal_mass_cuts(self.ranked, N_BINS))
        bins = Cells.of(self.ranked, self.cuts[coarse])
        own = sums(self.ranked, self.cuts[coarse])
        enough = np.bincount(bins.cell, minlength=bins.n_cells) >= CENTRED
        enough &= bins.n_groups >= CENTRED * bins.n_cells
        mean = np.where(enough, own.gap / np.maximum(own.count, LEAST), 0.0)
        if coarse is at:
            return np.asarray(np.diff(self.signed_rows[:, at]) * mean)
        column = np.searchsorted(coarse, np.arange(len(self.cuts) - 1), side="right") - 1
        fine = np.diff(self.signed_rows) * mean[np.clip(column, 0, mean.size - 1)]
        return np.diff(running(fine, np.float64)[:, at])


def resamples_of(
    ranked: Ranked, n_resamples: int, seed: int, *, n_bins: int = N_BINS_MIN
) -> Resamples:
    """Return the draws of a target: of its rows, or of its groups where it has any.

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
    kind = Resamples if ranked.independent else GroupResamples
    return kind.of(ranked, n_resamples, seed, n_bins=n_bins)
