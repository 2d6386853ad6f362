"""The inverse of the focal calibration map and the properised focal loss; numpy and scipy."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import elementwise
from scipy.special import logsumexp

from core.arrays import Float, Int, log_sigmoid, log_softmax
from core.calibrators.focal_map import binary_focal_map, check_gamma, log_rest, log_weight
from core.errors import UsageError

Ascending = Callable[..., Float]

ROOM = 1e-9  # keeps a root that lies on an end inside its bracket


def inverse_focal_map(log_p: Float, gamma: float) -> Float:
    """Return the log-probabilities whose focal calibration map is `log_p`.

    Parameters
    ----------
    log_p : (N, K) float64
        Finite logarithms of probabilities that sum to one.
    gamma : float
        Above -1 for two classes; at least 0 for more, where each weight ascends.

    Returns
    -------
    (N, K) float64
        What a model trained with focal loss says when `log_p` is true.

    Raises
    ------
    UsageError
        SETTING, where gamma lies outside its range.

    Notes
    -----
    No closed form. Two classes: one ascending function of the logit. More: for a normaliser c
    the classes part, w(q_j) = c p_j, and c follows from sum q = 1.
    """
    check_gamma(gamma)
    if gamma == 0.0:
        return log_p
    if log_p.shape[-1] == 2:
        # Solve binary_focal_map(s) = target; the map is odd, so |target| is solved for.
        target = log_p[..., 1] - log_p[..., 0]
        size = np.abs(target)
        slopes = np.array([gamma + 1.0, gamma + 1.0 - 0.5 * np.log1p(gamma)])
        root = _root(
            lambda s, t: binary_focal_map(s, gamma) - t,
            size / slopes.max() - ROOM,
            size / slopes.min() + ROOM,
            size,
        )
        logit = np.asarray(np.copysign(root, target))
        return np.stack([log_sigmoid(-logit), log_sigmoid(logit)], axis=-1)
    if gamma < 0.0:
        raise UsageError(
            "SETTING", f"Gamma is {gamma} with {log_p.shape[-1]} classes", "give at least 0"
        )
    return _multiclass_inverse(log_p, gamma)


def focal_loss(log_q: Float, gamma: float) -> Float:
    """Return the focal loss of every class as the truth, -(1 - q)^gamma log q, (..., K)."""
    return np.asarray((-np.expm1(log_q)) ** gamma * -log_q)


def properised_loss(log_p: Float, gamma: float) -> Float:
    """Return the properised focal loss of every class as the truth, (N, K), >= 0.

    The focal loss at `inverse_focal_map(log_p)`: strictly proper, its expectation is smallest
    where `log_p` is the truth (Komisarenko and Kull 2024, section 3.2).
    """
    return focal_loss(inverse_focal_map(log_p, gamma), gamma)


def _multiclass_inverse(log_p: Float, gamma: float) -> Float:
    """Find the normaliser of each row; within it, every class on its own."""
    descending = -np.sort(-log_p, axis=-1)

    def excess(log_c: Float, row: Int) -> Float:
        """Compare what the others sum to with what the leading class leaves them."""
        logit = _logit_of(log_c[:, None] + descending[row.astype(np.int64)], gamma)
        others = logsumexp(log_sigmoid(logit[:, 1:]), axis=1)
        return np.asarray(others - log_sigmoid(-logit[:, 0]))

    # As g lies between (1 - q)^gamma and 1 + gamma, no q exceeds its p at the lower end and
    # every q reaches its p at the upper one.
    low = np.full(len(log_p), -np.log1p(gamma) - ROOM)
    high = -gamma * log_rest(descending)[:, 0] + ROOM
    log_c = _root(excess, low, high, np.arange(len(log_p), dtype=np.float64))
    return log_softmax(log_sigmoid(_logit_of(log_c[:, None] + log_p, gamma)))


def _logit_of(log_w: Float, gamma: float) -> Float:
    """Return the logit of the q with log w(q) = log_w, each class on its own, for gamma > 0."""
    # log q - gamma log u - log1p(gamma) <= log w <= log q - gamma log u, in the logit of q
    high = np.maximum(0.0, (log_w + np.log1p(gamma) + np.log(2.0)) / gamma)
    low = np.minimum(0.0, log_w - gamma * np.log(2.0))
    return _root(
        lambda t, w: log_weight(log_sigmoid(t), log_sigmoid(-t), gamma) - w,
        low - ROOM,
        high + ROOM,
        log_w,
    )


def _root(function: Ascending, low: Float, high: Float, argument: Float) -> Float:
    """Return the root of an ascending function of (x, argument), elementwise."""
    solution = elementwise.find_root(
        function,
        (low, high),
        args=(argument,),
        tolerances={"xatol": 1e-15, "xrtol": 4e-16, "fatol": 0.0, "frtol": 0.0},
        maxiter=200,
    )
    assert solution.success.all(), "the bracket holds no root"
    return np.asarray(solution.x, dtype=np.float64)
