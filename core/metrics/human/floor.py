"""The floor of so few votes: what a model that knew the true shares would show; numpy and scipy.

Nobody knows the true shares of a row, but votes and model together tell how they may lie: around
the model's probabilities, at the temperature that fits the votes best, as closely as the votes of
all rows say (a Dirichlet-multinomial). Drawn from what is left possible given a row's own votes,
they stand for the model that knows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.arrays import Float, Int, log_softmax
from core.metrics.human.distances import (
    alike_rows,
    entropy_rows,
    soft_nll_rows,
    tvd_rows,
    vote_shares,
)

LARGEST_LOG = 30.0  # of 1 / p, in a fit: below e^-30 a class counts as ruled out
MIXED = 1e-6  # of a uniform share, so that no vote is impossible
INVERSE_TEMPERATURES = (0.05, 20.0)
CONCENTRATIONS = (1e-2, 1e5)  # votes that the model's probabilities are worth
CELLS_DRAWN = 4_000_000  # scores in all draws
DRAWS = (20, 200)


@dataclass(frozen=True)
class Knowing:
    """What a model that knew the true shares would show, draw by draw.

    Attributes
    ----------
    tvd, entropy_gap, entropy_gap_signed, rank, soft_nll : (R,) float64
        Means over the rows.
    gap : (R, M) float64
        Its confidence minus the share of votes for its answer, of the M rows that were drawn.
    rows : (M,) int64
        Which they are.
    concentration : float
        Votes that the model's probabilities are worth for a row.
    """

    tvd: Float
    entropy_gap: Float
    entropy_gap_signed: Float
    rank: Float
    soft_nll: Float
    gap: Float
    rows: Int
    concentration: float

    @cached_property
    def row_gap(self) -> Float:
        """Mean gap of each row that was drawn, (M,)."""
        return np.asarray(self.gap.mean(axis=0))


def tempered(log_p: Float, shares: Float, weights: Float) -> Float:
    """Return probabilities at the temperature with the smallest soft NLL, none of them 0, (N, K).

    The soft NLL is convex in 1 / T.
    """
    from scipy.optimize import minimize_scalar  # a tenth of a second, which readers do not pay

    logs = np.maximum(log_p - log_p.max(axis=1, keepdims=True), -LARGEST_LOG)

    def loss(inverse: float) -> float:
        return float(weights @ soft_nll_rows(log_softmax(inverse * logs), shares))

    best = minimize_scalar(loss, bounds=INVERSE_TEMPERATURES, method="bounded").x
    p = np.exp(log_softmax(best * logs))
    return np.asarray((1.0 - MIXED) * p + MIXED / p.shape[1])


def concentration(votes: Float, means: Float, weights: Float) -> float:
    """Return how many votes the model's probabilities are worth, by maximum likelihood.

    Parameters
    ----------
    votes : (N, K) float64
        Whole numbers.
    means : (N, K) float64
        Probabilities, none of them 0.
    weights : (N,) float64
        How many rows each stands for.

    Returns
    -------
    float
        In `CONCENTRATIONS`: the parameter of a Dirichlet-multinomial around the means.

    Notes
    -----
    Some rows need two votes: one each fits any concentration as well as another.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import gammaln

    totals = votes.sum(axis=1)
    low, high = np.log(CONCENTRATIONS)
    row, column = np.nonzero(votes)  # classes without votes add nothing
    n, m = votes[row, column], means[row, column]

    def loss(log_a: float) -> float:
        a = np.exp(log_a)
        of_rows = gammaln(a) - gammaln(totals + a)
        of_cells = gammaln(n + a * m) - gammaln(a * m)
        return -float(weights @ of_rows + weights[row] @ of_cells)

    return float(np.exp(minimize_scalar(loss, bounds=(low, high), method="bounded").x))


def knowing(votes: Float, log_p: Float, weights: Float, seed: int) -> Knowing:
    """Draw true shares that the votes leave possible, and say what a model of them would show.

    Parameters
    ----------
    votes : (N, K) float64
        Whole numbers, some in each row, and two or more in one of them.
    log_p : (N, K) float64
        Logarithms of the model's probabilities.
    weights : (N,) float64
        How many rows each stands for.
    seed : int
        Same seed, same draws.
    """
    rng = np.random.default_rng([seed, 7])
    shares = vote_shares(votes)
    means = tempered(log_p, shares, weights)
    worth = concentration(votes, means, weights)
    n_rows, n_classes = votes.shape
    most = max(1, CELLS_DRAWN // (DRAWS[0] * n_classes))
    rows = np.arange(n_rows)
    if n_rows > most:
        rows = np.sort(rng.choice(n_rows, most, replace=False))
        if not weights[rows].any():
            rows = np.arange(n_rows)
    votes, shares, w = votes[rows], shares[rows], weights[rows] / weights[rows].sum()
    shape, entropy = votes + worth * means[rows], entropy_rows(shares)
    rounds = int(np.clip(CELLS_DRAWN // votes.size, *DRAWS))
    means_of = np.empty((5, rounds))
    gaps = np.empty((rounds, rows.size))
    for r in range(rounds):
        true = rng.standard_gamma(shape)
        true /= true.sum(axis=1, keepdims=True)
        answer = true.argmax(axis=1)[:, None]
        off = entropy_rows(true) - entropy
        with np.errstate(divide="ignore"):
            logs = np.log(true)
        means_of[:, r] = (
            w @ tvd_rows(true, shares),
            w @ np.abs(off),
            w @ off,
            w @ alike_rows(true, votes),
            w @ soft_nll_rows(logs, shares),
        )
        gaps[r] = (np.take_along_axis(true - shares, answer, axis=1))[:, 0]
    return Knowing(
        tvd=means_of[0],
        entropy_gap=means_of[1],
        entropy_gap_signed=means_of[2],
        rank=means_of[3],
        soft_nll=means_of[4],
        gap=gaps,
        rows=rows,
        concentration=worth,
    )
