"""What weights tell of outcomes beyond the claims; numpy only."""

from typing import Final

import numpy as np

from core.arrays import Float, sigmoid
from core.metrics.ranked import Ranked

CLIP: Final = 1e-9  # exact 0 and 1 have no logit
BEYOND_CHANCE: Final = 3.84  # 95 % point of chi-squared with one degree of freedom
STEPS: Final = 25  # where weights split the outcomes, enough to be certain of them
CLOSE: Final = 1e-10  # of the log-likelihood: a gain that ends the search


def shares_by_weight(ranked: Ranked) -> Float | None:
    """Return the share that came true by claim and weight, where weights tell what claims do not.

    They do where rows were sampled by their outcome, or by something that goes with it: ten
    times as many of the events as of the others, say.

    Parameters
    ----------
    ranked : Ranked
        Sorted rows; of groups nothing is read.

    Returns
    -------
    (N,) float64, optional
        From a logistic regression of the rows, each counting once, on logit(p) and the logarithm
        of the weight. None where a likelihood ratio test at 5 % does not find that weights tell
        anything, and without weights.
    """
    weights = ranked.weights
    if weights is None:
        return None
    inside = np.clip(ranked.confidence, CLIP, 1.0 - CLIP)
    columns = [np.ones(ranked.n), _standard(np.log(inside) - np.log1p(-inside))]
    _, without = _logistic(np.stack(columns, axis=1), ranked.correct.astype(np.float64))
    columns.append(_standard(np.log(weights)))
    shares, likelihood = _logistic(np.stack(columns, axis=1), ranked.correct.astype(np.float64))
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


def _logistic(design: Float, y: Float) -> tuple[Float, float]:
    """Return fitted shares and log-likelihood of a logistic regression, by Newton's method."""
    beta = np.zeros(design.shape[1])
    likelihood = -float(np.log(2.0) * y.size)
    for _ in range(STEPS):
        share = sigmoid(design @ beta)
        information = (design * (share * (1.0 - share))[:, None]).T @ design
        step = np.linalg.lstsq(information, design.T @ (y - share), rcond=None)[0]
        while (moved := _log_likelihood(design @ (beta + step), y)) < likelihood:
            step /= 2.0  # in the end the step rounds to none
        beta, before, likelihood = beta + step, likelihood, moved
        if likelihood <= before + CLOSE * abs(before):
            break
    return sigmoid(design @ beta), likelihood


def _log_likelihood(eta: Float, y: Float) -> float:
    return float(y @ eta - np.logaddexp(0.0, eta).sum())
