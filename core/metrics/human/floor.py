"""The floor of so few votes: what a model that knew the true shares would show; numpy and scipy.

Nobody knows the true shares of a row, but votes and model together tell how they may lie: around
the model's probabilities, at a temperature that fits the votes, as closely as the votes of rows of
about the same entropy say (a Dirichlet-multinomial). Drawn from what is left possible given a
row's own votes, they stand for the model that knows. A few votes fit many temperatures and many
concentrations, and what the best alone would leave possible is too little: both are drawn, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.arrays import Float, Int, log_softmax
from core.metrics.human.errors import alike_rows, entropy_rows, soft_nll_rows, tvd_rows, vote_shares

LARGEST_LOG = 30.0  # of 1 / p, in a fit: below e^-30 a class counts as ruled out
MIXED = 1e-6  # of a uniform share, so that no vote is impossible
INVERSE_TEMPERATURES = (0.05, 20.0)
CONCENTRATIONS = np.geomspace(5e-2, 1e5, 40)  # votes that the model's probabilities are worth
PARTS, ROWS_OF_PART = 3, 100  # by entropy, of which each has its own concentration
CELLS_DRAWN = 4_000_000  # scores in all draws
DRAWS = (20, 200)
NUMBERS = ("tvd", "entropy_gap", "entropy_gap_signed", "rank", "soft_nll")


@dataclass(frozen=True)
class Knowing:
    """What a model that knew the true shares would show, draw by draw.

    Attributes
    ----------
    tvd, entropy_gap, entropy_gap_signed, rank, soft_nll : (R,) float64
        Means over the rows, against their own votes.
    again : mapping of str to (R,) float64
        The same against votes that are drawn from these shares.
    gap : (R, M) float64
        Its confidence minus the share of votes for its answer, of the M rows that were drawn.
    rows : (M,) int64
        Which they are.
    """

    tvd: Float
    entropy_gap: Float
    entropy_gap_signed: Float
    rank: Float
    soft_nll: Float
    again: Mapping[str, Float]
    gap: Float
    rows: Int

    def bound(self, name: str, tail: float) -> float:
        """Return what a number exceeds in that share of draws, or for `rank` what it falls below.

        Own votes tell what the shares are and hide how far votes scatter, votes drawn from them
        the other way round: the farther bound of the two.
        """
        share = tail if name == "rank" else 1.0 - tail
        bounds = [float(np.quantile(d, share)) for d in (getattr(self, name), self.again[name])]
        return min(bounds) if name == "rank" else max(bounds)

    @cached_property
    def row_gap(self) -> Float:
        """Mean gap of each row that was drawn, (M,)."""
        return np.asarray(self.gap.mean(axis=0))


def at_inverse(logs: Float, inverse: float) -> Float:
    """Return probabilities at a temperature of 1 / inverse, none of them 0, (N, K)."""
    p = np.exp(log_softmax(inverse * logs))
    return np.asarray((1.0 - MIXED) * p + MIXED / p.shape[1])


def best_inverse(logs: Float, shares: Float, weights: Float) -> float:
    """Return 1 / T of the smallest soft NLL, which is convex in it."""
    from scipy.optimize import minimize_scalar  # a tenth of a second, which readers do not pay

    def loss(inverse: float) -> float:
        return float(weights @ soft_nll_rows(log_softmax(inverse * logs), shares))

    return float(minimize_scalar(loss, bounds=INVERSE_TEMPERATURES, method="bounded").x)


def log_likelihoods(votes: Float, means: Float, weights: Float) -> Float:
    """Return the log-likelihood of each of `CONCENTRATIONS`, but for a constant, (C,).

    Parameters
    ----------
    votes : (N, K) float64
        Whole numbers.
    means : (N, K) float64
        Probabilities, none of them 0.
    weights : (N,) float64
        How many rows each stands for.

    Notes
    -----
    Of a Dirichlet-multinomial around the means. Some rows need two votes: one each fits any
    concentration as well as another.
    """
    from scipy.special import gammaln

    totals = votes.sum(axis=1)
    row, column = np.nonzero(votes)  # classes without votes add nothing
    n, m, w = votes[row, column], means[row, column], weights[row]
    return np.array(
        [
            weights @ (gammaln(a) - gammaln(totals + a)) + w @ (gammaln(n + a * m) - gammaln(a * m))
            for a in CONCENTRATIONS
        ]
    )


def _concentrations(
    votes: Float, means: Float, weights: Float, draws: tuple[int, np.random.Generator]
) -> Float:
    """Draw how many votes the model's probabilities are worth for each row, (R, N)."""
    rounds, rng = draws
    entropy = entropy_rows(means)
    parts = int(np.clip(entropy.size // ROWS_OF_PART, 1, PARTS))
    part = np.searchsorted(np.quantile(entropy, np.arange(1, parts) / parts), entropy)
    out = np.empty((rounds, entropy.size))
    for k in np.unique(part).tolist():
        own = part == k
        of_part = log_likelihoods(votes[own], means[own], weights[own])
        likely = np.exp(of_part - of_part.max())
        drawn = rng.choice(CONCENTRATIONS, rounds, p=likely / likely.sum())
        out[:, own] = drawn[:, None]
    return out


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

    Notes
    -----
    The inverse temperature is drawn around the best with the variance of its estimating equation,
    in which the votes of a row are as alike as the concentration says.
    """
    rng = np.random.default_rng([seed, 7])
    n_rows, n_classes = votes.shape
    most = max(1, CELLS_DRAWN // (DRAWS[0] * n_classes))
    rows = np.arange(n_rows)
    if n_rows > most:
        rows = np.sort(rng.choice(n_rows, most, replace=False))
        if not weights[rows].any():
            rows = np.arange(n_rows)
    votes, log_p, w = votes[rows], log_p[rows], weights[rows]
    shares, totals = vote_shares(votes), votes.sum(axis=1)
    logs = np.maximum(log_p - log_p.max(axis=1, keepdims=True), -LARGEST_LOG)
    best = best_inverse(logs, shares, w)
    means = at_inverse(logs, best)
    spread = (means * logs**2).sum(axis=1) - (means * logs).sum(axis=1) ** 2
    rounds = int(np.clip(CELLS_DRAWN // votes.size, *DRAWS))
    concentration = _concentrations(votes, means, w, (rounds, rng))
    # variance of a row's shares
    alike = (totals + concentration) / (totals * (1.0 + concentration))
    error = np.sqrt(alike @ (w**2 * spread)) / max(float(w @ spread), np.finfo(float).tiny)
    inverse = np.clip(best + error * rng.standard_normal(rounds), *INVERSE_TEMPERATURES)
    people, w = totals.astype(np.int64), w / w.sum()
    own, again, gaps = np.empty((5, rounds)), np.empty((5, rounds)), np.empty((rounds, rows.size))
    for r in range(rounds):
        true = rng.standard_gamma(votes + concentration[r][:, None] * at_inverse(logs, inverse[r]))
        true /= true.sum(axis=1, keepdims=True)
        answer = true.argmax(axis=1)[:, None]
        own[:, r] = _means(true, votes, w)
        again[:, r] = _means(true, rng.multinomial(people, true).astype(np.float64), w)
        gaps[r] = (np.take_along_axis(true - shares, answer, axis=1))[:, 0]
    return Knowing(
        tvd=own[0],
        entropy_gap=own[1],
        entropy_gap_signed=own[2],
        rank=own[3],
        soft_nll=own[4],
        again=dict(zip(NUMBERS, again, strict=True)),
        gap=gaps,
        rows=rows,
    )


def _means(true: Float, votes: Float, weights: Float) -> tuple[float, ...]:
    """Return the `NUMBERS` of a model that states the true shares."""
    shares = vote_shares(votes)
    off = entropy_rows(true) - entropy_rows(shares)
    with np.errstate(divide="ignore"):
        logs = np.log(true)
    return (
        float(weights @ tvd_rows(true, shares)),
        float(weights @ np.abs(off)),
        float(weights @ off),
        float(weights @ alike_rows(true, votes)),
        float(weights @ soft_nll_rows(logs, shares)),
    )
