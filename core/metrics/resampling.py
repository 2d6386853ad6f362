"""Resamples of sorted rows and what chance would make of them, drawn once for a target; numpy.

The rows are cut at the union of all edges a slider can ask for (both rules, 5 to 50 bins). Rows
between two cuts are exchangeable for every such binning, so a resample is the number of rows and
hits in each cell, and every binned metric reads the same resamples.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import numpy.typing as npt

from core.arrays import Counts, Float, Int, row_chunks, sigmoid
from core.defaults import N_BINS, N_BINS_MAX, N_BINS_MIN, N_RESAMPLES_HEAVY
from core.metrics.binning import CUTS, BinSums, equal_mass_cuts, sums
from core.metrics.intervals import wilson
from core.metrics.ranked import SortedOutcomes
from core.metrics.units import (
    degrees_of_freedom,
    drawn_units,
    intraclass_correlation,
    mean_squares,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

BLOCK: Final = 64  # resamples of groups held at a time
BLOCK_DRAWN_GROUPS: Final = 2**23  # groups times resamples held at a time
HEAVY_DRAWS: Final = 200_000_000  # rows times resamples from which only a few are drawn
CENTRED: Final = 10  # groups in a bin from which its own gap is taken off before signs are drawn
HALF: Final = 0.5  # of a variance: centring is not undone beyond it
FEW_SURPRISES: Final = 100.0  # that the claims expect of independent rows: below, they are redrawn
LOPSIDED: Final = 2.0  # times as many groups as would vary as much if they were equal
LEAST: Final = 1e-300  # rows of an empty bin, to divide by
NO_VARIANCE: Final = 1e-24  # what rounding leaves between equal resamples
NEARLY: Final = 3.0  # standard deviations by which a sum of counts stays below the rows on average
BLOCK_DRAWS: Final = 2**21  # rows drawn one by one at a time: 16 MiB of random numbers
CLIP: Final = 1e-9  # exact 0 and 1 have no logit
BEYOND_CHANCE: Final = 3.84  # twice the gain in log-likelihood, less the penalty
PENALTY: Final = np.array([0.0, 0.0, 1.0, 1.0, 1.0])  # a few rows are not taken for certain
STEPS: Final = 25  # of Newton
HALVINGS: Final = 30  # of a step, until it is taken for none
SINGULAR: Final = 1e-10  # of the largest singular value: columns that say the same
CLOSE: Final = 1e-10  # of the log-likelihood: a gain that ends the search
NONE: Final = np.empty((0, 0))

Drawn = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Resamples:
    """Bootstrap and noise-floor draws of one target, ready for any binning.

    Notes
    -----
    The bootstrap draws rows, or groups with all their rows. For the floor, outcomes of rows without
    groups are redrawn from the claims, each by itself, however much a row weighs: random signs of
    weighted residuals would not hold the level, since where few rows rule a sum its law is
    lopsided.

    The floor of groups is a wild cluster bootstrap (Cameron, Gelbach & Miller 2008): the residuals
    of each group, centred in their bin, keep their size and take one random sign. Redrawing
    outcomes row by row would take the rows of a patient for strangers. Where the claims expect
    fewer than `FEW_SURPRISES` outcomes against them, residuals are far from symmetric and most sets
    lack the largest; where a few large groups rule, there are too few signs. There outcomes are
    redrawn from the claims, alike within groups (`outcomes_alike`).
    """

    ranked: SortedOutcomes  # what was resampled
    cuts: Int  # (C + 1,), ranks between which rows are resampled together
    # count, hits: (R, C + 1), running rows and hits of the bootstrap resamples; with groups or
    # weights, float64
    count: np.ndarray
    hits: np.ndarray
    confidence: Float  # (R, C + 1), their running sum of confidence
    # (R, C + 1), running hits when the outcomes are redrawn from the confidences themselves; with
    # groups or weights, float64. Empty where groups take a random sign.
    floor_hits: np.ndarray
    # signed_gap, signed_rows: (R, C + 1), running gap and rows when each group has one random sign;
    # else empty
    signed_gap: Float
    signed_rows: Float

    @classmethod
    def of(
        cls, ranked: SortedOutcomes, n_resamples: int, seed: int, *, n_bins: int = N_BINS_MIN
    ) -> Self:
        """Draw the resamples of a target: of its rows, or groups; of many, fewer than asked for.

        `seed`: same seed, same rows in any order: same draws; `n_bins`: a number of bins outside
        5..50 that will be asked for.

        Examples
        --------
        Resamples have as many rows as the data. Claims of 0 and 1 leave chance nothing to decide:
        the noise floor has one hit in two rows, whatever came true.

        >>> from core.predictions import Outcomes
        >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.0, 1.0]), np.array([True, True])))
        >>> drawn, cuts = Resamples.of(ranked, 3, 0), np.array([0, 2])
        >>> drawn.bootstrap(cuts).count.tolist(), drawn.floor(cuts).hits.tolist()
        ([[2], [2], [2]], [[1], [1], [1]])
        """
        cuts = all_cuts(ranked, n_bins)
        rng = np.random.default_rng(seed)
        count: Counts
        hits: Counts
        floor: Counts = NONE
        gap = gap_rows = NONE
        # Between two cuts claims are nearly one, so a cell's hits are binomial of their mean.
        if ranked.independent:
            count, hits = draw(ranked, cuts, n_resamples, rng)
            rows = np.diff(cuts)
            mean = np.clip(np.diff(ranked.sum_confidence[cuts]) / rows, 0.0, 1.0)
            confidence, floor = count * mean, binomial(rows, mean, n_resamples, rng).T
        else:
            # Rows of a group are drawn together, each by its weight; counts are no longer whole.
            cells = GroupCells.of(ranked, cuts)
            rounds = cells.rounds(n_resamples)
            count, confidence, hits = cells.bootstrap(rounds, rng)
            if ranked.groups is None:
                floor = cells.redrawn(shares_by_weight(ranked), rounds, rng)
            elif _lopsided(ranked):
                floor = outcomes_alike(ranked, cuts, rounds, rng)
            else:
                gap, gap_rows = cells.signed(rounds, rng)
        kind = np.int32 if ranked.independent else np.float64
        return cls(
            ranked=ranked,
            cuts=cuts,
            count=running(count, kind),
            hits=running(hits, kind),
            confidence=running(confidence, np.float64),
            floor_hits=running(floor, kind),
            signed_gap=running(gap, np.float64),
            signed_rows=running(gap_rows, np.float64),
        )

    def columns(self, cuts: Int) -> Int:
        """Return where cuts lie among ours; a cut that is not ours moves to the next one."""
        return np.minimum(np.searchsorted(self.cuts, cuts), len(self.cuts) - 1)

    def bootstrap(self, cuts: Int) -> BinSums:
        """Return the sums between cuts in the bootstrap resamples, (R, B)."""
        at = self.columns(cuts)
        return BinSums(
            np.diff(self.count[:, at]), np.diff(self.confidence[:, at]), np.diff(self.hits[:, at])
        )

    def floor(self, cuts: Int) -> BinSums:
        """Return the sums between cuts when outcomes follow the confidences, hits (R, B)."""
        at = self.columns(cuts)
        own = self.observed(cuts)
        if self.signed_gap.size:
            return BinSums(own.count, own.confidence, own.confidence - self._signed(at))
        return BinSums(own.count, own.confidence, np.diff(self.floor_hits[:, at]))

    def observed(self, cuts: Int) -> BinSums:
        """Return the sums between cuts of the rows themselves, at the cuts we have, (B,)."""
        return sums(self.ranked, self.cuts[self.columns(cuts)])

    def gap_interval(self, level: float) -> tuple[float, float]:
        """Return the interval of mean confidence minus share that came true.

        Wilson's interval of the share is subtracted from the mean confidence, with as many trials
        as give the share the variance that the gap has in the resamples: where few rows failed,
        or few came true, quantiles of resamples are lopsided and too short. With groups the
        variance is the one that the analysis of variance finds, and the quantile Student's. Where
        nothing differs, the trials are the rows.
        """
        ranked = self.ranked
        share, mean = ranked.hits / ranked.total, ranked.sum_confidence[-1] / ranked.total
        trials = ranked.effective_n(ranked.correct)
        if ranked.groups is None:
            draws = (self.confidence[:, -1] - self.hits[:, -1]) / ranked.total
            variance, effective_n = float(np.var(draws)), 1.0
        else:
            off = ranked.confidence - ranked.correct
            variance = float(ranked.row_weights @ (off - ranked.gap) ** 2) / ranked.total
            effective_n = ranked.effective_n(off)
        # Trials n for which share (1 - share) / n is the variance that was found.
        if 0.0 < share < 1.0 and variance > NO_VARIANCE:
            trials = share * (1.0 - share) * effective_n / variance
        df = degrees_of_freedom(ranked.sampling)
        low, high = wilson(np.array(share * trials), np.array(trials), level, df)
        return float(mean - high), float(mean - low)

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
        weight, squares = (np.bincount(bins.cell, bins.rows**k, bins.n_cells) for k in (1, 2))
        # A bin that few groups rule is not centred: signs would have hardly anything left to turn.
        effective_groups = weight**2 / np.maximum(squares, LEAST)
        together = np.bincount(bins.group, bins.rows)
        enough = effective_groups >= CENTRED
        enough &= together.sum() ** 2 >= CENTRED * bins.n_cells * (together @ together)
        mean = np.where(enough, own.gap / np.maximum(own.count, LEAST), 0.0)
        scale = np.where(enough, 1.0 / np.sqrt(centring_left(bins)), 1.0)
        if coarse is at:
            gap, rows = np.diff(self.signed_gap[:, at]), np.diff(self.signed_rows[:, at])
            return np.asarray(scale * (gap - rows * mean))
        # Every fine cell is centred by the coarse bin that it lies in.
        column = np.searchsorted(coarse, np.arange(len(self.cuts) - 1), side="right") - 1
        column = np.clip(column, 0, mean.size - 1)
        fine = np.diff(self.signed_gap) - np.diff(self.signed_rows) * mean[column]
        return np.diff(running(scale[column] * fine, np.float64)[:, at])


def running(cells: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    """Return the sums of the first cells, from 0 to all of them, (R, C + 1), cell after cell."""
    out = np.zeros((cells.shape[1] + 1, cells.shape[0]), dtype=dtype)
    for before, cell, after in zip(out, cells.T, out[1:], strict=False):
        np.add(before, cell, out=after)
    return out.T


def all_cuts(ranked: SortedOutcomes, n_bins: int) -> Int:
    """Return the union of all cuts that a slider, or that number of bins, can ask for."""
    numbers = sorted({*range(N_BINS_MIN, N_BINS_MAX + 1), n_bins})
    edges = [rule(ranked, bins) for bins in numbers for rule in CUTS.values()]
    return np.unique(np.concatenate([[0], *edges, [ranked.n]]))


def bootstrap(
    ranked: SortedOutcomes, cuts: Int, n_resamples: int, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """Resample rows, or groups; return rows and hits of each cell, (R, C) each."""
    if ranked.independent:
        return draw(ranked, cuts, n_resamples, rng)
    cells = GroupCells.of(ranked, cuts)
    rows, _, hits = cells.bootstrap(cells.rounds(n_resamples), rng)
    return rows, hits


def draw(
    ranked: SortedOutcomes, cuts: Int, n_resamples: int, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """Resample rows with replacement; return rows and hits of each cell, (R, C) each.

    Examples
    --------
    A row that came true is drawn as one, so that a cell has as many hits as rows of that kind.

    >>> from core.predictions import Outcomes
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.2, 0.8]), np.array([False, True])))
    >>> rows, hits = draw(ranked, np.array([0, 1, 2]), 50, np.random.default_rng(0))
    >>> bool((hits[:, 0] == 0).all()), bool((hits[:, 1] == rows[:, 1]).all())
    (True, True)
    """
    hits = np.diff(ranked.sum_correct[cuts])
    misses = np.diff(cuts) - hits
    drawn = drawn_rows(np.concatenate([hits, misses]), n_resamples, rng)
    drawn_hits, drawn_misses = drawn[: hits.size].T, drawn[hits.size :].T
    return drawn_hits + drawn_misses, drawn_hits


def drawn_rows(rows: Int, n_resamples: int, rng: np.random.Generator) -> Drawn:
    """Draw as many rows as there are with replacement; return how many of each category, (C, R).

    Parameters
    ----------
    rows : (C,) int64
        Rows of each category.

    Notes
    -----
    Poisson counts that add up to some number are a draw of so many rows. So nearly all rows are
    drawn as Poisson counts, which need not be one after the other, and what is left to N one by
    one; resamples that went beyond N are drawn anew.

    Examples
    --------
    >>> drawn_rows(np.array([3, 5]), 4, np.random.default_rng(0)).sum(axis=0).tolist()
    [8, 8, 8, 8]
    """
    from core.compiled.draws import add_drawn

    n = int(rows.sum())
    # So far below N that a sum of counts hardly ever exceeds it, and few rows are left to draw.
    mean = max(0.0, n - NEARLY * math.sqrt(n)) * (rows / n)
    drawn = _poisson(mean, n_resamples, rng)
    beyond = np.flatnonzero(drawn.sum(axis=0) > n)
    while beyond.size:
        drawn[:, beyond] = _poisson(mean, beyond.size, rng)
        beyond = beyond[drawn[:, beyond].sum(axis=0) > n]
    # What a resample lacks of N is drawn row by row.
    more = n - drawn.sum(axis=0, dtype=np.int64)
    for part in _blocks(more):
        block = np.ascontiguousarray(drawn[:, part])
        add_drawn(rows, rng.random(int(more[part].sum())), more[part], block)
        drawn[:, part] = block
    return drawn


def _blocks(counts: Int) -> Iterator[slice]:
    """Yield slices of counts that add up to BLOCK_DRAWS at most, or are single."""
    ends, start = counts.cumsum(), 0
    while start < counts.size:
        before = ends[start] - counts[start]
        end = int(np.searchsorted(ends, before + BLOCK_DRAWS, side="right"))
        yield slice(start, start := max(end, start + 1))


def _poisson(mean: Float, n_resamples: int, rng: np.random.Generator) -> Drawn:
    """Return Poisson counts, (C, R)."""
    from core.compiled.draws import write_poisson

    out, nonzero = np.zeros((mean.size, n_resamples), np.int32), np.flatnonzero(mean)
    for part in row_chunks(nonzero.size, n_resamples):
        lines = nonzero[part]
        write_poisson(mean[lines], rng.random((lines.size, n_resamples)), lines, out)
    return out


def binomial(trials: Int, share: Float, n_resamples: int, rng: np.random.Generator) -> Drawn:
    """Return binomial counts of (C,) trials and shares, (C, R)."""
    from core.compiled.draws import write_binomial

    out = np.empty((trials.size, n_resamples), np.int32)
    for part in row_chunks(trials.size, n_resamples):
        uniform = rng.random((trials[part].size, n_resamples))
        write_binomial(trials[part], share[part], uniform, out[part])
    return out


@dataclass(frozen=True, kw_only=True)
class GroupCells:
    """Sums of every group in every cell of neighbouring confidence, ready to be resampled."""

    # cell, group: (E,), cell and group of each entry; every pair that occurs, once
    cell: Int
    group: Int
    # rows, confidence, hits: (E,), sums over its rows, by weight
    rows: Float
    confidence: Float
    hits: Float
    # n_cells, n_groups: cells and groups
    n_cells: int
    n_groups: int

    @classmethod
    def of(cls, ranked: SortedOutcomes, cuts: Int) -> Self:
        """Sum the rows between ascending ranks by group."""
        n_cells, groups = len(cuts) - 1, ranked.units.of_row
        n_groups, inside = int(groups.max()) + 1, slice(int(cuts[0]), int(cuts[-1]))
        index = np.repeat(np.arange(n_cells), np.diff(cuts))
        # Cell and group as one number: only pairs that occur get an entry.
        pairs, place = np.unique(index * n_groups + groups[inside], return_inverse=True)
        rows, confidence, hits = (
            np.bincount(place, (ranked.row_weights * values)[inside], pairs.size).astype(float)
            for values in (1.0, ranked.confidence, ranked.correct)
        )
        cell, group = pairs // n_groups, pairs % n_groups
        return cls(
            cell=cell,
            group=group,
            rows=rows,
            confidence=confidence,
            hits=hits,
            n_cells=n_cells,
            n_groups=n_groups,
        )

    def rounds(self, resamples: int) -> int:
        """Return how many resamples are drawn where that many are asked for."""
        heavy = self.cell.size * resamples > HEAVY_DRAWS
        return min(resamples, N_RESAMPLES_HEAVY) if heavy else resamples

    def bootstrap(self, n_resamples: int, rng: np.random.Generator) -> tuple[Float, Float, Float]:
        """Return rows, confidence and hits of each cell when groups are drawn, (R, C) each."""
        out = np.empty((3, n_resamples, self.n_cells))
        total = self.rows.sum()
        of_group = np.bincount(self.group, self.rows, self.n_groups)
        sums = [self._by_group(values) for values in (self.rows, self.confidence, self.hits)]
        for part in blocks(n_resamples, self.n_groups):
            drawn = np.stack([drawn_units(self.n_groups, rng) for _ in range(*part)], axis=1)
            # Groups differ in size, so each resample is scaled to the weight of the data.
            scale = total / (of_group @ drawn)
            for k, each in enumerate(sums):
                out[k, slice(*part)] = (scale * (each @ drawn)).T
        return out[0], out[1], out[2]

    def signed(self, n_resamples: int, rng: np.random.Generator) -> tuple[Float, Float]:
        """Return the gap and the rows of each cell under one random sign a group, (R, C) each."""
        out = np.empty((2, n_resamples, self.n_cells))
        sums = [self._by_group(values) for values in (self.confidence - self.hits, self.rows)]
        for part in blocks(n_resamples, self.n_groups):
            size = part[1] - part[0], self.n_groups
            sign = 2.0 * rng.integers(0, 2, size).T - 1.0
            for k, each in enumerate(sums):
                out[k, slice(*part)] = (each @ sign).T
        return out[0], out[1]

    def redrawn(self, shares: Float | None, n_resamples: int, rng: np.random.Generator) -> Float:
        """Return the hits of each cell when every row's outcome is redrawn, (R, C).

        Where each row is a group of its own, so that entries are rows in their order.

        Parameters
        ----------
        shares : (N,) float64, optional
            How often each row's outcome comes true, if not as its claim says. What it is off by
            takes a random sign, so that sums are those of the claims on average.
        """
        out = np.empty((n_resamples, self.n_cells))
        rows, claim = self._by_group(self.rows), (self.confidence / self.rows)[:, None]
        share = claim if shares is None else shares[:, None]
        for part in blocks(n_resamples, self.n_groups):
            size = self.n_groups, part[1] - part[0]
            drawn = (rng.random(size) < share).astype(np.float64)
            if shares is not None:  # less or more by what the share is off, on average neither
                drawn += 2.0 * (claim - share) * rng.integers(0, 2, size, dtype=np.int8)
            out[slice(*part)] = (rows @ drawn).T
        return out

    def _by_group(self, values: Float) -> "csr_array":
        """Return the entries as a sparse matrix of cells by groups."""
        from scipy.sparse import csr_array  # a tenth of a second, which readers do not pay

        shape = self.n_cells, self.n_groups
        return csr_array((values, (self.cell, self.group)), shape=shape)


def blocks(n_resamples: int, n_groups: int) -> list[tuple[int, int]]:
    """Return the ends of the blocks in which resamples are held."""
    block = max(1, min(BLOCK, BLOCK_DRAWN_GROUPS // n_groups))
    return [(low, min(low + block, n_resamples)) for low in range(0, n_resamples, block)]


def _lopsided(ranked: SortedOutcomes) -> bool:
    """Whether signs of groups cannot stand for chance: few surprises, or a few groups that rule."""
    effective_n = ranked.effective_n(ranked.confidence - ranked.correct)
    if _against(ranked) * effective_n / ranked.total < FEW_SURPRISES:
        return True
    units = ranked.units
    return units.concentration * units.count > LOPSIDED


def _against(ranked: SortedOutcomes) -> float:
    """Return the weight of outcomes that the claims expect against them."""
    return float(ranked.row_weights @ np.minimum(ranked.confidence, 1.0 - ranked.confidence))


def expected_surprises(ranked: SortedOutcomes) -> float:
    """Return how many outcomes the claims expect against them, in rows of equal weight."""
    weights = ranked.row_weights
    return _against(ranked) * float(weights.sum() / (weights @ weights))


def outcomes_alike(
    ranked: SortedOutcomes, cuts: Int, n_resamples: int, rng: np.random.Generator
) -> Float:
    """Return the hits between ranks when outcomes follow the claims, alike within groups, (R, C).

    `ranked`: sorted rows with groups; `cuts`: ascending ranks from 0 to N.

    Notes
    -----
    A row comes true where its uniform number lies below its claim. The numbers of a group are draws
    from a Dirichlet process: the j-th row takes that of an earlier one with the chance
    (j - 1) / (j - 1 + theta), else one of its own. So every outcome keeps its claim, and rows of
    one claim are beta-binomial with correlation rho = 1 / (1 + theta), that of the residuals. How
    well few groups tell it is drawn as well, by the law of the ratio of mean squares.
    """
    from core.compiled.resamples import add_alike

    place, theta = ranked.units.of_row, _concentrations(ranked, n_resamples, rng)
    # Rows of a group follow each other, since each looks back at the earlier ones.
    order, sizes = np.argsort(place, kind="stable"), np.bincount(place)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    cell = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    at = np.stack([first, cell[order]])
    law = np.stack([ranked.confidence[order], ranked.row_weights[order]])
    out = np.zeros((n_resamples, len(cuts) - 1))
    for part in (slice(*ends) for ends in blocks(n_resamples, 2 * ranked.n)):
        uniform = rng.random((theta[part].size, 2, ranked.n))
        add_alike(at, law, theta[part], uniform, out[part])
    return out


def _concentrations(ranked: SortedOutcomes, n_resamples: int, rng: np.random.Generator) -> Float:
    """Return theta of each resample, (R,), so that few groups or surprises do not make rho certain.

    The ratio of mean squares is F times 1 + m rho / (1 - rho). F has the degrees of freedom of
    Student's t, fewer where few surprises are, since they are all that tells.
    """
    place, off = ranked.units.of_row, ranked.confidence - ranked.correct
    expected = expected_surprises(ranked)
    if expected == 0.0 or not place.any():  # nothing to draw, or one group, which is as one row
        return np.zeros(n_resamples)
    ratio, rows, inside = mean_squares(off, place)
    if inside <= 0.0:  # groups of one row each: nothing is alike
        return np.full(n_resamples, 1.0 / LEAST)
    # The ratio that goes with the correlation which intervals use, where it lies inside (0, 1).
    alike = intraclass_correlation(off, place)
    if 0.0 < alike < 1.0:
        ratio = 1.0 + rows * alike / (1.0 - alike)
    # Groups and surprises both limit what is known: the scarcer of the two rules the sum.
    df = 1.0 / (1.0 / degrees_of_freedom(ranked.sampling) + 1.0 / expected)
    between = rng.chisquare(df, n_resamples) / df
    within = rng.chisquare(inside, n_resamples) / inside
    # rho / (1 - rho) of each draw; theta is one over it, huge where nothing is alike.
    odds = np.maximum(ratio * within / between - 1.0, LEAST) / rows
    return np.asarray(1.0 / odds)


def centring_left(bins: GroupCells) -> Float:
    """Return the share of the variance of each cell's gap that centring leaves, (C,).

    With weights w of the groups 1 - 2 sum w^3 / (sum w sum w^2) + sum w^2 / (sum w)^2, which is
    1 - 1 / m for m groups of equal weight.
    """
    first, second, third = (np.bincount(bins.cell, bins.rows**k, bins.n_cells) for k in (1, 2, 3))
    ruled = third / np.maximum(first * second, LEAST)
    return np.asarray(np.maximum(1.0 - 2.0 * ruled + second / np.maximum(first**2, LEAST), HALF))


def shares_by_weight(ranked: SortedOutcomes) -> Float | None:
    """Return the outcome rate fitted on claim and weight, if weight predicts beyond the claim.

    They do where rows were sampled by their outcome, or by something that goes with it: ten
    times as many of the events as of the others, say.

    Parameters
    ----------
    ranked : SortedOutcomes
        Sorted rows; of groups nothing is read.

    Returns
    -------
    (N,) float64, optional
        From a logistic regression of the rows, each counting once, on logit(p), the logarithm of
        the weight, its square, and its product with logit(p); the last three have a normal prior
        of mean 0 and standard deviation 1 for standardised columns. None without weights, and
        where these raise the log-likelihood, less that penalty, by no more than 1.92.
    """
    weights = ranked.weights
    if weights is None:
        return None
    inside = np.clip(ranked.confidence, CLIP, 1.0 - CLIP)
    claim, weight = _standard(np.log(inside) - np.log1p(-inside)), _standard(np.log(weights))
    # In the order of `PENALTY`: the claim is free, what weights add to it has to earn its place.
    columns = [np.ones(ranked.n), claim, weight, weight * claim, weight**2]
    design, y = np.stack(columns, axis=1), ranked.correct.astype(np.float64)
    _, without = _logistic(design[:, :2], y, PENALTY[:2])
    shares, likelihood = _logistic(design, y, PENALTY)
    return shares if 2.0 * (likelihood - without) > BEYOND_CHANCE else None


def variance_around(centre: Float, shares: Float | None) -> Float:
    """Return the mean square of each outcome less some centre, (N,).

    Parameters
    ----------
    centre : (N,) float64
        What should come true: the claims, or what was fitted to the outcomes.
    shares : (N,) float64, optional
        How often each comes true, where that is not the centre: of `shares_by_weight`.
    """
    if shares is None:
        return centre * (1.0 - centre)
    return shares * (1.0 - shares) + (shares - centre) ** 2


def _standard(values: Float) -> Float:
    spread = float(values.std())
    return np.asarray((values - values.mean()) / spread if spread > 0.0 else np.zeros(values.size))


def _logistic(design: Float, y: Float, penalty: Float) -> tuple[Float, float]:
    """Return fitted shares and log-likelihood less the penalty, by Newton's method."""

    def gain(beta: Float) -> float:
        eta = design @ beta
        return float(y @ eta - np.logaddexp(0.0, eta).sum() - 0.5 * penalty @ beta**2)

    beta = np.zeros(design.shape[1])
    best = gain(beta)
    for _ in range(STEPS):
        share = sigmoid(design @ beta)
        information = (design * (share * (1.0 - share))[:, None]).T @ design + np.diag(penalty)
        slope = design.T @ (y - share) - penalty * beta
        # Least squares, for columns may say the same; the step is halved until the gain rises.
        step = np.linalg.lstsq(information, slope, rcond=SINGULAR)[0]
        tried = (beta + step / 2.0**halving for halving in range(HALVINGS))
        better = next((other for other in tried if gain(other) > best), None)
        if better is None:
            break
        beta, before, best = better, best, gain(better)
        if best <= before + CLOSE * abs(before):
            break
    return sigmoid(design @ beta), best
