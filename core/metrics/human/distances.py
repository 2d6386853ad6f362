"""Distances of probabilities from votes, row by row; numpy only.

None depends on the order of the classes, but for `alike_rows` with ``ties="column"``.
"""

from typing import Literal

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float, Int

Ties = Literal["either", "column"]


def vote_shares(votes: Float) -> Float:
    """Return what share of its votes each class has, (N, K); of every row some are needed."""
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def majority_shares(votes: Float) -> Float:
    """Return 1 for the class with the most votes and 0 for the others, (N, K).

    Classes tied for the most votes share the row: two have one half each.
    """
    most = votes == votes.max(axis=1, keepdims=True)
    return np.asarray(most / most.sum(axis=1, keepdims=True))


def entropy_rows(p: Float) -> Float:
    """Return the entropy of each row of (N, K) probabilities in nats, with 0 log 0 = 0."""
    return np.asarray(-(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=1)) + 0.0  # never -0


def tvd_rows(p: Float, shares: Float) -> Float:
    """Return the total variation distance of each row, half the sum of |p - h|, in [0, 1].

    Its mean is the DistCE of Baan et al. 2022.
    """
    return np.asarray(np.abs(p - shares).sum(axis=1) / 2.0)


def agreement_rows(predicted: Int, shares: Float) -> Float:
    """Return the share of people who agree with each answer, (N,)."""
    return np.asarray(shares[np.arange(predicted.size), predicted])


def soft_nll_rows(log_p: Float, shares: Float) -> Float:
    """Return minus the sum of h log p in nats, (N,); inf where a class with votes has p = 0."""
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
