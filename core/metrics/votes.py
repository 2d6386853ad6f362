"""Errors and distances of answers against shares of people, and the floor of so few votes; scipy.

The floor is what a model that knew the true shares would show.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float, Int, log_softmax
from core.defaults import LEVEL, N_BINS, N_RESAMPLES, SEED
from core.errors import Refused
from core.metrics.binning import bin_index, equal_width_edges
from core.metrics.estimates import ONE_GROUP, ONE_ROW
from core.metrics.paired import MetricDraws
from core.metrics.records import Score
from core.metrics.units import resampled_counts, row_signs, units
from core.predictions import Predictions, SamplingDesign, Votes

Ties = Literal["either", "column"]


def vote_shares(votes: Float) -> Float:
    """Return what share of its votes each class has, (N, K); of every row some are needed."""
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def majority_shares(votes: Float) -> Float:
    """Return 1 for the class with the most votes and 0 for the others, (N, K).

    Classes tied for the most votes share the row: two have one half each.

    Examples
    --------
    >>> majority_shares(np.array([[3.0, 1.0, 0.0], [2.0, 2.0, 1.0]])).tolist()  # a tie is shared
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    """
    most = votes == votes.max(axis=1, keepdims=True)
    return np.asarray(most / most.sum(axis=1, keepdims=True))


def by_majority(votes: Float, labels: Int) -> bool:
    """Whether every label has the most of its row's votes, (N, K), or as many as another."""
    return bool((votes[np.arange(len(labels)), labels] == votes.max(axis=1)).all())


def entropy_rows(p: Float) -> Float:
    """Return the entropy of each row of (N, K) probabilities in nats, with 0 log 0 = 0.

    Examples
    --------
    >>> entropy_rows(np.array([[1.0, 0.0], [0.5, 0.5]])).round(4).tolist()  # 0, ln 2
    [0.0, 0.6931]
    """
    return np.asarray(-(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=1)) + 0.0  # never -0


def tvd_rows(p: Float, shares: Float) -> Float:
    """Return the total variation distance of each row, half the sum of |p - h|, in [0, 1].

    Its mean is the DistCE of Baan et al. 2022.

    Examples
    --------
    >>> tvd_rows(np.array([[1.0, 0.0]]), np.array([[0.75, 0.25]])).tolist()  # (0.25 + 0.25) / 2
    [0.25]
    """
    return np.asarray(np.abs(p - shares).sum(axis=1) / 2.0)


def agreement_rows(predicted: Int, shares: Float) -> Float:
    """Return the share of people who agree with each answer, (N,)."""
    return np.asarray(shares[np.arange(predicted.size), predicted])


def soft_nll_rows(log_p: Float, shares: Float) -> Float:
    """Return minus the sum of h log p in nats, (N,); inf where a class with votes has p = 0.

    Examples
    --------
    A class without votes may be ruled out; one with a single vote may not.

    >>> ruled_out = np.array([[0.0, -np.inf]])
    >>> soft_nll_rows(ruled_out, np.array([[1.0, 0.0]])).tolist() == [0.0]
    True
    >>> soft_nll_rows(ruled_out, np.array([[0.75, 0.25]])).tolist()
    [inf]
    """
    return np.asarray(-(shares * np.where(shares > 0.0, log_p, 0.0)).sum(axis=1))


def alike_rows(scores: npt.NDArray[np.floating], votes: Float, ties: Ties = "either") -> Bool:
    """Return whether model and people rank the classes of each row alike, (N,).

    Parameters
    ----------
    scores : (N, K) array of float
        Logits or probabilities.
    votes : (N, K) float64
        Votes or shares.
    ties : str
        either: classes that people tie may come in either order, and a tie of the model between
        classes that people do not tie is not alike. column: ties of both come in the order of the
        columns, as in the released code of Baan et al. 2022, whose RankCS is the mean; it depends
        on that order, and most rows of many classes have ties.

    Examples
    --------
    People tie the last two classes, so that the model may put either first.

    >>> votes = np.array([[2.0, 1.0, 1.0]])
    >>> alike_rows(np.array([[0.5, 0.2, 0.3]]), votes).tolist()
    [True]
    >>> alike_rows(np.array([[0.4, 0.4, 0.2]]), votes).tolist()  # a tie where people have none
    [False]
    >>> alike_rows(np.array([[0.5, 0.3, 0.2]]), votes, ties="column").tolist()
    [False]
    """
    if ties == "column":
        orders = (np.argsort(array, axis=1, kind="stable") for array in (scores, votes))
        return np.asarray(np.equal(*orders).all(axis=1))
    order = np.argsort(-votes, axis=1, kind="stable")
    ranked, ordered = (np.take_along_axis(array, order, axis=1) for array in (votes, scores))
    lowest = np.minimum.accumulate(ordered, axis=1)[:, :-1]  # of the classes so far
    highest = np.maximum.accumulate(ordered[:, ::-1], axis=1)[:, -2::-1]  # of those that follow
    tied = ranked[:, :-1] == ranked[:, 1:]
    return np.asarray((tied | (lowest > highest)).all(axis=1))


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

    Examples
    --------
    Three in four people agree with answers at 0.75 and at 0.8: off by 0 and 0.05 in one bin.

    >>> round(share_ece(np.array([0.75, 0.8]), np.array([0.75, 0.75])), 6)
    0.025
    """
    index = bin_index(confidence, equal_width_edges(n_bins))
    w = np.ones(confidence.size) if weights is None else weights
    gaps = np.bincount(index, w * (confidence - agreement), n_bins)
    return float(np.abs(gaps).sum() / w.sum())


def drawn_ece(gaps: Float, total: Float | float) -> Float:
    """Return the ECE of each resample from the summed gaps of its bins, (..., B)."""
    return np.asarray(np.abs(gaps).sum(axis=-1) / total)


def ece_floor(
    residual: Float,
    index: Int,
    sampling: SamplingDesign,
    n_resamples: int,
    rng: np.random.Generator,
) -> Float:
    """Return the ECE that a model would show whose bins agree with people, (R,).

    Parameters
    ----------
    residual : (N,) float64
        Confidence minus agreement.
    index : (N,) int64
        Bin of each row.
    rng : Generator
        Where signs are drawn from.

    Notes
    -----
    A wild bootstrap (Cameron, Gelbach & Miller 2008): residuals, centred in their bin, keep their
    size and take one random sign a group. It needs no model of how votes scatter: rows differ in
    what people think of them, and few votes add to that.
    """
    groups, weights = sampling
    w = np.ones(residual.size) if weights is None else weights
    place = np.arange(residual.size) if groups is None else groups
    n_bins = int(index.max()) + 1
    # Groups of each bin: of few, signs would have little left of residuals that are centred.
    pairs = np.unique(index.astype(np.int64) * (int(place.max()) + 1) + place)
    members = np.bincount(pairs // (int(place.max()) + 1), minlength=n_bins)
    weight = np.bincount(index, w, n_bins)
    mean = np.bincount(index, w * residual, n_bins) / np.where(weight > 0.0, weight, 1.0)
    enough = members >= CENTRED
    spread = np.where(enough, np.sqrt(members / np.maximum(members - 1, 1)), 1.0)
    # Stretched by what centring takes off, so that sums scatter as before.
    centred = (residual - np.where(enough, mean, 0.0)[index]) * spread[index]
    signs = row_signs(residual.size, sampling, n_resamples, rng)
    gaps = [np.bincount(index, sign * centred, n_bins) for sign in signs]
    return drawn_ece(np.stack(gaps).astype(np.float64), float(w.sum()))


DISTANCE = "tvd"
NO_SPREAD = 1e-12  # by which resamples differ from rounding alone


def voted_rows(predictions: Predictions) -> tuple[Int, Predictions, Votes]:
    """Return the rows that people voted on: their numbers, themselves and their votes.

    Raises Refused VOTES: the split has none.
    """
    votes = predictions.votes
    if votes is None or not votes.voted.size:
        raise Refused("VOTES", "The split has no votes", "give votes for its rows")
    rows = votes.voted
    voted = predictions if rows.size == predictions.n else predictions.take(rows)
    assert voted.votes is not None
    return rows, voted, voted.votes


def leaning_ends(value: float, drawn: Float, wide: float) -> tuple[float, float]:
    """Return the interval of a mean from what it is in resamples.

    Their spread is that of the mean, and so is their skewness, which a few rows far from the
    others make: Johnson's correction (1978) by it lengthens one side and does not shorten the
    other. One row, or group, has no spread.

    Parameters
    ----------
    value : float
        The mean.
    drawn : (R,) float64
        In resamples.
    wide : float
        Standard errors that it reaches either way: Student's quantile, and what resamples lack.

    Examples
    --------
    >>> leaning_ends(0.0, np.array([-1.0, 1.0]), 2.0)  # draws of deviation 1, as far on either side
    (-2.0, 2.0)
    >>> leaning_ends(0.5, np.array([0.5, 0.5]), 2.0)  # draws that do not differ
    (0.5, 0.5)
    """
    spread = float(drawn.std())
    if not np.isfinite(wide) or spread < NO_SPREAD:
        return value, value
    lean = float((((drawn - drawn.mean()) / spread) ** 3).mean()) * (1.0 + 2.0 * wide**2) / 6.0
    return value - spread * (wide + max(0.0, -lean)), value + spread * (wide + max(0.0, lean))


def distance(
    predictions: Predictions,
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> tuple[Score, MetricDraws]:
    """Return the mean distance from votes: with its interval, and on shared resamples.

    `predictions`: rows of which people voted on some; these are averaged over; `level`: of the
    interval, as of `human_audit`; `n_resamples`, `seed`: as of `core.metrics.paired.draws`: all
    rows are drawn, those without votes count nothing.

    Raises Refused VOTES: the split has none.

    Examples
    --------
    Rows without votes count nothing: of two rows one is measured, |0.75 - 0.25|.

    >>> from core.predictions import ScoreKind, Task
    >>> p, votes = np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([[1.0, 3.0], [0.0, 0.0]])
    >>> kind = Task.MULTICLASS, ScoreKind.PROBABILITIES
    >>> of_two = Predictions(*kind, p, np.array([1, 0]), votes=Votes.of("votes", votes))
    >>> score, _ = distance(of_two, n_resamples=20)
    >>> round(score.value, 6), score.n, score.reason
    (0.5, 1, 'one row has no spread to take an interval from')
    """
    rows, voted, votes = voted_rows(predictions)
    # Distances and voted rows, summed side by side: in every resample their ratio is the mean.
    table = np.zeros((predictions.n, 2))
    table[rows, 0] = tvd_rows(np.exp(voted.log_probabilities()), vote_shares(votes.of_row))
    table[rows, 1] = 1.0
    weights = np.ones(predictions.n) if predictions.weights is None else predictions.weights.of_row
    total = weights @ table
    blocks = resampled_counts(predictions.n, n_resamples, seed, predictions.sampling)
    sums = np.concatenate([block @ table for block in blocks])
    drawn = sums[sums[:, 1] > 0.0]
    drawable = units(rows.size, predictions.sampling.take(table[:, 1] > 0.0))
    grouped = predictions.sampling.groups is not None
    known = bool(total[1] > 0.0)
    value = float(total[0] / total[1]) if known else None
    reason = "" if known else "every row with votes has weight 0"
    low = high = None
    if value is not None and drawable.count > 1:
        ends = leaning_ends(value, drawn[:, 0] / drawn[:, 1], drawable.wide(level))
        low, high = max(ends[0], 0.0), min(ends[1], 1.0)
    elif value is not None:
        reason = ONE_GROUP if grouped else ONE_ROW
    score = Score(DISTANCE, value, low, high, level, rows.size, {}, reason)
    return score, MetricDraws(
        metric=DISTANCE,
        value=value,
        centre=np.nan if value is None else value,
        draws=drawn[:, 0] / drawn[:, 1] if known else np.empty(0),
        n=predictions.n,
        seed=seed,
        reason=reason if value is None else "",
        units=drawable,
        grouped=grouped,
    )


LARGEST_LOG = 30.0  # of 1 / p, in a fit: below e^-30 a class counts as ruled out
MIXED = 1e-6  # of a uniform share, so that no vote is impossible
INVERSE_TEMPERATURES = (0.05, 20.0)
CONCENTRATIONS = np.geomspace(5e-2, 1e5, 40)  # votes that the model's probabilities are worth
PARTS, ROWS_OF_PART = 3, 100  # by entropy, of which each has its own concentration
CELLS_DRAWN = 4_000_000  # scores in all draws
DRAWS = (20, 200)
NUMBERS = ("tvd", "entropy_gap", "entropy_gap_signed", "rank", "soft_nll")


@dataclass(frozen=True)
class IdealModel:
    """What a model that knew the true shares would show, draw by draw."""

    # tvd, entropy_gap, entropy_gap_signed, rank, soft_nll: (R,), means over the rows, against their
    # own votes
    tvd: Float
    entropy_gap: Float
    entropy_gap_signed: Float
    rank: Float
    soft_nll: Float
    again: Mapping[str, Float]  # the same against votes that are drawn from these shares
    # (R, M), its confidence minus the share of votes for its answer, of the M rows that were drawn
    gap: Float
    rows: Int  # (M,), which they are

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

    # Gamma functions of cells that hold votes; the others cancel.
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


def ideal_model(votes: Float, log_p: Float, weights: Float, seed: int) -> IdealModel:
    """Draw true shares that the votes leave possible, and say what a model of them would show.

    Parameters
    ----------
    votes : (N, K) float64
        Whole numbers, some in each row, and two or more in one of them.
    log_p : (N, K) float64
        Logarithms of the model's probabilities.
    weights : (N,) float64
        How many rows each stands for.

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
    # The temperature at which the model agrees best with people; what it is worth beside votes.
    logs = np.maximum(log_p - log_p.max(axis=1, keepdims=True), -LARGEST_LOG)
    best = best_inverse(logs, shares, w)
    means = at_inverse(logs, best)
    # How fast the estimating equation of the temperature moves, row by row.
    spread = (means * logs**2).sum(axis=1) - (means * logs).sum(axis=1) ** 2
    rounds = int(np.clip(CELLS_DRAWN // votes.size, *DRAWS))
    concentration = _concentrations(votes, means, w, (rounds, rng))
    # variance of a row's shares
    alike = (totals + concentration) / (totals * (1.0 + concentration))
    error = np.sqrt(alike @ (w**2 * spread)) / max(float(w @ spread), np.finfo(float).tiny)
    inverse = np.clip(best + error * rng.standard_normal(rounds), *INVERSE_TEMPERATURES)
    people, w = totals.astype(np.int64), w / w.sum()
    # True shares from votes and model together, then what a model that states them would show.
    own, again, gaps = np.empty((5, rounds)), np.empty((5, rounds)), np.empty((rounds, rows.size))
    for r in range(rounds):
        true = rng.standard_gamma(votes + concentration[r][:, None] * at_inverse(logs, inverse[r]))
        true /= true.sum(axis=1, keepdims=True)
        answer = true.argmax(axis=1)[:, None]
        own[:, r] = _means(true, votes, w)
        again[:, r] = _means(true, rng.multinomial(people, true).astype(np.float64), w)
        gaps[r] = (np.take_along_axis(true - shares, answer, axis=1))[:, 0]
    return IdealModel(
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
