"""What weights tell of outcomes beyond the claims; numpy only."""

from typing import Final

import numpy as np

from core.arrays import Float, sigmoid
from core.metrics.ranked import SortedOutcomes

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
