"""Resamples of rows that belong together or stand for several, and what weights tell; numpy."""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np

from core.arrays import Float, Int, sigmoid
from core.defaults import N_BINS, N_BINS_MAX, N_BINS_MIN
from core.metrics.binning import BinSums, equal_mass_cuts, sums
from core.metrics.design_effect import (
    degrees_of_freedom,
    group_concentration,
    intraclass_correlation,
    mean_squares,
)
from core.metrics.grouped import GroupCells, blocks, effective_mean, groups_of, weights_of
from core.metrics.intervals import NO_VARIANCE, Resamples, all_cuts, running, wilson
from core.metrics.ranked import SortedOutcomes
from core.predictions import SamplingDesign

CLIP: Final = 1e-9  # exact 0 and 1 have no logit
BEYOND_CHANCE: Final = 3.84  # twice the gain in log-likelihood, less the penalty
PENALTY: Final = np.array([0.0, 0.0, 1.0, 1.0, 1.0])  # a few rows are not taken for certain
STEPS: Final = 25  # of Newton
HALVINGS: Final = 30  # of a step, until it is taken for none
SINGULAR: Final = 1e-10  # of the largest singular value: columns that say the same
CLOSE: Final = 1e-10  # of the log-likelihood: a gain that ends the search


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
        step = np.linalg.lstsq(information, slope, rcond=SINGULAR)[0]
        tried = (beta + step / 2.0**halving for halving in range(HALVINGS))
        better = next((other for other in tried if gain(other) > best), None)
        if better is None:
            break
        beta, before, best = better, best, gain(better)
        if best <= before + CLOSE * abs(before):
            break
    return sigmoid(design @ beta), best


CENTRED = 10  # groups in a bin from which its own gap is taken off before signs are drawn
HALF = 0.5  # of a variance: centring is not undone beyond it
FEW_SURPRISES = 100.0  # that the claims expect of independent rows: below, outcomes are redrawn
UNEVEN = 2.0  # times as many groups as would vary as much if they were equal
NONE = np.empty((0, 0))
LEAST = 1e-300  # rows of an empty bin, to divide by


@dataclass(frozen=True, kw_only=True)
class GroupResamples(Resamples):
    """Resamples that draw groups, each with all its rows.

    Notes
    -----
    The floor is a wild cluster bootstrap (Cameron, Gelbach & Miller 2008): the residuals of each
    group, centred in their bin, keep their size and take one random sign. Redrawing outcomes row
    by row would take the rows of a patient for strangers. Where the claims expect fewer than
    `FEW_SURPRISES` outcomes against them, residuals are far from symmetric and most sets lack the
    largest; where a few large groups rule, there are too few signs. There outcomes are redrawn
    from the claims, alike within groups (`outcomes_alike`), and `floor_hits` has what came true.
    """

    # signed_gap, signed_rows: (R, C + 1), running gap and rows when each group has one random sign
    signed_gap: Float
    signed_rows: Float

    @classmethod
    def of(
        cls, ranked: SortedOutcomes, n_resamples: int, seed: int, *, n_bins: int = N_BINS_MIN
    ) -> Self:
        """Draw the resamples of a target; of many rows, fewer than were asked for."""
        cuts = all_cuts(ranked, n_bins)
        rng = np.random.default_rng(seed)
        cells = GroupCells.of(ranked, cuts)
        rounds = cells.rounds(n_resamples)
        count, confidence, hits = (
            running(part, np.float64) for part in cells.bootstrap(rounds, rng)
        )
        if _lopsided(ranked):
            chance, gap = running(outcomes_alike(ranked, cuts, rounds, rng), np.float64), NONE
            rows = gap
        else:
            chance = NONE
            gap, rows = (running(part, np.float64) for part in cells.signed(rounds, rng))
        return cls(
            ranked=ranked,
            cuts=cuts,
            count=count,
            hits=hits,
            confidence=confidence,
            floor_hits=chance,
            signed_gap=gap,
            signed_rows=rows,
        )

    def floor(self, cuts: Int) -> BinSums:
        """Return the sums between cuts when groups take a random sign, or outcomes are redrawn."""
        if self.floor_hits.size:
            return super().floor(cuts)
        at = self.columns(cuts)
        own = sums(self.ranked, self.cuts[at])
        return BinSums(own.count, own.confidence, own.confidence - self._signed(at))

    def gap_interval(self, level: float) -> tuple[float, float]:
        """Return the interval of mean confidence minus share that came true.

        As of rows, with the variance that the analysis of variance finds and Student's t.
        """
        ranked, extents = self.ranked, SamplingDesign(self.ranked.groups, self.ranked.weights)
        share, mean = ranked.hits / ranked.total, ranked.sum_confidence[-1] / ranked.total
        off, weights = ranked.confidence - ranked.correct, weights_of(ranked)
        variance = float(weights @ (off - ranked.gap) ** 2) / ranked.total
        trials = effective_mean(ranked, ranked.correct)
        if 0.0 < share < 1.0 and variance > NO_VARIANCE:
            trials = share * (1.0 - share) * effective_mean(ranked, off) / variance
        df = degrees_of_freedom(extents)
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
        effective_groups = weight**2 / np.maximum(squares, LEAST)
        together = np.bincount(bins.group, bins.rows)
        enough = effective_groups >= CENTRED
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


def _lopsided(ranked: SortedOutcomes) -> bool:
    """Whether signs of groups cannot stand for chance: few surprises, or a few groups that rule."""
    effective_n = effective_mean(ranked, ranked.confidence - ranked.correct)
    if _against(ranked) * effective_n / ranked.total < FEW_SURPRISES:
        return True
    concentration = group_concentration(SamplingDesign(ranked.groups, ranked.weights))
    return concentration * (int(groups_of(ranked).max()) + 1) > UNEVEN


def _against(ranked: SortedOutcomes) -> float:
    """Return the weight of outcomes that the claims expect against them."""
    return float(weights_of(ranked) @ np.minimum(ranked.confidence, 1.0 - ranked.confidence))


def expected_surprises(ranked: SortedOutcomes) -> float:
    """Return how many outcomes the claims expect against them, in rows of equal weight."""
    weights = weights_of(ranked)
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

    place, theta = groups_of(ranked), _concentrations(ranked, n_resamples, rng)
    order, sizes = np.argsort(place, kind="stable"), np.bincount(place)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    cell = np.repeat(np.arange(len(cuts) - 1), np.diff(cuts))
    at = np.stack([first, cell[order]])
    law = np.stack([ranked.confidence[order], weights_of(ranked)[order]])
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
    place, off = groups_of(ranked), ranked.confidence - ranked.correct
    extents, expected = SamplingDesign(ranked.groups, ranked.weights), expected_surprises(ranked)
    if expected == 0.0 or not place.any():  # nothing to draw, or one group, which is as one row
        return np.zeros(n_resamples)
    ratio, rows, inside = mean_squares(off, place)
    if inside <= 0.0:  # groups of one row each: nothing is alike
        return np.full(n_resamples, 1.0 / LEAST)
    alike = intraclass_correlation(off, place)
    if 0.0 < alike < 1.0:
        ratio = 1.0 + rows * alike / (1.0 - alike)
    df = 1.0 / (1.0 / degrees_of_freedom(extents) + 1.0 / expected)
    between = rng.chisquare(df, n_resamples) / df
    within = rng.chisquare(inside, n_resamples) / inside
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


def resamples_of(
    ranked: SortedOutcomes, n_resamples: int, seed: int, *, n_bins: int = N_BINS_MIN
) -> Resamples:
    """Return the draws of a target: of its rows, by weight or not, or of its groups.

    `seed`: same seed, same rows in any order: same draws; `n_bins`: a number of bins outside 5..50
    that will be asked for.
    """
    if ranked.groups is not None:
        return GroupResamples.of(ranked, n_resamples, seed, n_bins=n_bins)
    if ranked.weights is None:
        return Resamples.of(ranked, n_resamples, seed, n_bins=n_bins)
    # Weighted rows are still independent: each has one outcome, which the floor redraws however
    # much the row weighs. Random signs of weighted residuals would not hold the level: where few
    # rows rule a sum its law is lopsided.
    cuts = all_cuts(ranked, n_bins)
    rng = np.random.default_rng(seed)
    cells = GroupCells.of(ranked, cuts)
    rounds = cells.rounds(n_resamples)
    parts = (*cells.bootstrap(rounds, rng), cells.redrawn(shares_by_weight(ranked), rounds, rng))
    count, confidence, hits, chance = (running(part, np.float64) for part in parts)
    return Resamples(
        ranked=ranked, cuts=cuts, count=count, hits=hits, confidence=confidence, floor_hits=chance
    )
