"""The focal calibration map in log space, its factor g and where g is 1, and its inverse; scipy.

A model trained with focal loss is too cautious (gamma > 0): at its optimum the true
probabilities are the map of its softmax, p_j = w_j / sum w with w_j = q_j / g(q_j, gamma).
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.optimize import elementwise
from scipy.special import lambertw, logsumexp, xlogy

from core.arrays import Float, Int, log_sigmoid, log_softmax
from core.errors import UsageError

LOG_ZERO = -1e300  # stands for log 0 where a product with gamma must stay a number


def check_gamma(gamma: float) -> None:
    """Refuse a gamma at or below -1, where the map is 0/0, and what is no number."""
    if not (np.isfinite(gamma) and gamma > -1.0):
        raise UsageError(
            "SETTING", f"Gamma is {gamma}", "give a finite number above -1; 0 changes nothing"
        )


def log_focal_map(log_q: Float, gamma: float) -> Float:
    """Map log-probabilities by the focal calibration map.

    Parameters
    ----------
    log_q : (..., K) float64
        Logarithms of probabilities that sum to one; -inf where a class is ruled out.
    gamma : float
        Above -1; 0 returns the input.

    Returns
    -------
    (..., K) float64
        Logarithms of the mapped probabilities. The arg max and the order are kept.

    Notes
    -----
    log w = log q - gamma log u - log1p(gamma q h), u = 1 - q, h = -log(q) / u. For a class that
    holds more than half, u is the sum of the others, never 1 - q: error below 5e-13 for logits
    up to 400. The top logit gap s tends to (gamma + 1) s - log(gamma + 1).

    References
    ----------
    Komisarenko and Kull 2024, proposition 4, equation 1; their released float32 form overwrites
    saturated rows by values that do not sum to one and is not followed.

    Examples
    --------
    For gamma = 1 the weight is 1 / (2 e^-400) at q = 1 - e^-400 and e^-400 at e^-400: logits 400
    apart are 800 - log 2 apart after the map.

    >>> log_p = log_focal_map(log_softmax(np.array([0.0, 400.0])), 1.0)
    >>> round(float(log_p[1] - log_p[0]), 4)
    799.3069
    """
    check_gamma(gamma)
    if gamma == 0.0:
        return log_q
    # In log space from here to the end: at logits 40 apart 1 - q is 0 in float64, and the map,
    # which divides by (1 - q)^gamma, would be 0/0 just where gamma matters most.
    log_u = log_rest(log_q)
    return log_softmax(log_weight(log_q, log_u, gamma))


def log_weight(log_q: Float, log_u: Float, gamma: float) -> Float:
    """Return log w = log(q / g(q, gamma)) from log q and log(1 - q), elementwise."""
    return np.asarray(log_q - gamma * log_u - np.log1p(gamma * _focal_share(log_q, log_u)))


def log_rest(log_q: Float) -> Float:
    """Return log(1 - q) of each class; of the leading one from the sum of the others.

    Examples
    --------
    At q = 1 - e^-50 the difference 1 - q rounds to 0; the sum of the others does not:

    >>> log_q = log_softmax(np.array([0.0, 50.0]))
    >>> float(1.0 - np.exp(log_q[1])), round(float(log_rest(log_q)[1]), 9)
    (0.0, -50.0)
    """
    with np.errstate(divide="ignore"):
        # For all but the leading class q is at most one half, where log1p(-q) is exact.
        log_u = np.log1p(-np.minimum(np.exp(log_q), 1.0))
    top = log_q.argmax(axis=-1)[..., None]
    # A leader above one half takes its 1 - q from the sum of the others, which keeps its digits.
    leading = np.take_along_axis(log_q, top, axis=-1) > np.log(0.5)
    others = log_q.copy()
    np.put_along_axis(others, top, -np.inf, axis=-1)
    rest = np.maximum(logsumexp(others, axis=-1, keepdims=True), LOG_ZERO)
    own = np.take_along_axis(log_u, top, axis=-1)
    np.put_along_axis(log_u, top, np.where(leading, rest, own), axis=-1)
    return log_u


def _focal_share(log_q: Float, log_u: Float) -> Float:
    """Return q h = -q log(q) / (1 - q); 0 at q = 0 and 1 at q = 1."""
    q, u = np.exp(log_q), np.exp(log_u)
    # h = -log(q) / u is 0/0 at q = 1: near there as -log1p(-u) / u, whose limit is 1, elsewhere
    # from log q itself. xlogy makes 0 of 0 log 0.
    small = u < 0.5
    tiny = u < np.finfo(float).tiny
    near_one = np.where(tiny, 1.0, -np.log1p(-np.where(small, u, 0.0)) / np.where(tiny, 1.0, u))
    far = -xlogy(q, q) / np.where(small, 1.0, u)
    return np.where(small, q * near_one, far)


def focal_map(probabilities: Float, gamma: float) -> Float:
    """Map probabilities, (..., K), by `log_focal_map`; for logits use that one.

    Examples
    --------
    Of two classes, 0.8 / g(0.8, 1) = 2.114 and 0.2 / g(0.2, 1) = 0.178, of which 0.922 is the
    first:

    >>> focal_map(np.array([0.8, 0.2]), 1.0).round(3).tolist()
    [0.922, 0.078]

    Of ten, gamma > 0 can lower the largest: 8 x 0.12 / 1.134 + 2 x 0.02 / 1.058 = 0.884, although
    proposition 5 of Komisarenko and Kull says that it cannot.

    >>> round(float(focal_map(np.array([0.12] * 8 + [0.02] * 2), 1.0)[0]), 4)
    0.1197
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(log_focal_map(np.log(probabilities), gamma)))


def binary_focal_map(logit: Float, gamma: float) -> Float:
    """Return the logit of the mapped probability for a binary logit; strictly increasing.

    Examples
    --------
    The logit log 4 of 0.8 lies between 1.653 and 2 times itself after the map, as proposition 3 has
    it the right way round; here log(2.1135 / 0.17827):

    >>> s = np.log(4.0)
    >>> round(float(binary_focal_map(s, 1.0)), 3), [round(float(k * s), 3) for k in (1.653, 2.0)]
    (2.473, [2.292, 2.773])
    """
    log_p = log_focal_map(log_softmax(np.stack([np.zeros_like(logit), logit], axis=-1)), gamma)
    return np.asarray(log_p[..., 1] - log_p[..., 0])


def gradient_factor(p: npt.ArrayLike, gamma: float) -> Float:
    """Return g(p, gamma): how much focal loss scales the gradient of cross-entropy.

    Parameters
    ----------
    p : array of float in [0, 1]
        Probability of the true class.
    gamma : float
        At least 0.

    Returns
    -------
    array of float64
        (1 - p)^gamma - gamma p (1 - p)^(gamma - 1) log p; 1 at p = 0 and, for gamma > 0, 0 at
        p = 1; rises above 1 first, then falls.

    References
    ----------
    Mukhoti et al. 2020, proposition 1.

    Examples
    --------
    With gamma = 1 it is (1 - p) - p log p, so exactly 1 at p = 1 / e, and above 1 before:

    >>> gradient_factor([0.0, 0.2, 1.0 / np.e, 1.0], 1.0).round(3).tolist()
    [1.0, 1.122, 1.0, 0.0]
    """
    if not (np.isfinite(gamma) and gamma >= 0.0):
        raise UsageError("SETTING", f"Gamma is {gamma}", "give a number of at least 0")
    q = np.asarray(p, dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_q, log_u = np.log(q), np.log1p(-q)
    # g = (1 - q)^gamma (1 + gamma q h), the form of `log_weight`: no power of (1 - q) below 0.
    return np.asarray((1.0 - q) ** gamma * (1.0 + gamma * _focal_share(log_q, log_u)))


def gamma_star(p0: npt.ArrayLike) -> Float:
    """Return the gamma from which g(p, gamma) <= 1 for every p >= p0.

    Parameters
    ----------
    p0 : array of float in (0, 1)
        Probability of the true class.

    Returns
    -------
    array of float64
        The solution of g(p0, gamma) = 1, above 0 for p0 < 0.5; 0 for p0 >= 0.5, where g <= 1
        for every gamma >= 0.

    Notes
    -----
    Branch -1 of Lambert's W; the principal branch gives the root 0, not a negative one as the
    paper says.

    References
    ----------
    Mukhoti et al. 2020, proposition 2.

    Examples
    --------
    0.8^4.85 (1 + 4.85 x 0.2 log 5 / 0.8) = 1; from one half on, no gamma is needed:

    >>> gamma_star([0.2, 0.5, 0.7]).round(2).tolist()
    [4.85, 0.0, 0.0]
    """
    p = np.asarray(p0, dtype=np.float64)
    if not np.all((p > 0.0) & (p < 1.0)):
        raise UsageError("SETTING", "p0 lies outside (0, 1)", "give a probability between 0 and 1")
    low = np.where(p < 0.5, p, 0.25)  # any value of the domain: its result is not used
    a, b = 1.0 - low, low * np.log(low)
    ratio, log_a = a / b, np.log1p(-low)
    w = lambertw(-np.exp((1.0 - ratio) * log_a) * log_a / b, -1).real
    # From one half on the branch gives the trivial root gamma = 0 or below: no gamma is needed
    # there.
    return np.where(p < 0.5, ratio + w / log_a, 0.0)


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

    Examples
    --------
    Where the truth is 0.8, a model trained with gamma = 2 says 0.6266, which the map takes to 0.8:

    >>> q = np.exp(inverse_focal_map(np.log([[0.2, 0.8]]), 2.0))
    >>> q.round(4).tolist(), focal_map(q, 2.0).round(9).tolist()
    ([[0.3734, 0.6266]], [[0.2, 0.8]])
    """
    check_gamma(gamma)
    if gamma == 0.0:
        return log_p
    if log_p.shape[-1] == 2:
        # Solve binary_focal_map(s) = target; the map is odd, so |target| is solved for.
        target = log_p[..., 1] - log_p[..., 0]
        size = np.abs(target)
        # Proposition 3 the right way round: with 1 / T between these two the map
        # of s lies between s times either, so the root lies between |target|
        # over either. For gamma < 0 they change places.
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
    """Return the focal loss of every class as the truth, -(1 - q)^gamma log q, (..., K).

    Examples
    --------
    At q = 1 / e with gamma = 1 it is 1 - 1 / e:

    >>> round(float(focal_loss(np.array(-1.0), 1.0)), 3)
    0.632
    """
    return np.asarray((-np.expm1(log_q)) ** gamma * -log_q)


def properised_loss(log_p: Float, gamma: float) -> Float:
    """Return the properised focal loss of every class as the truth, (N, K), >= 0.

    The focal loss at `inverse_focal_map(log_p)`: strictly proper, its expectation is smallest
    where `log_p` is the truth (Komisarenko and Kull 2024, section 3.2).

    Examples
    --------
    The focal loss at 0.6266, which the map takes to 0.8: 0.3734^2 x 0.4674. At 0.8 itself it is
    0.0089.

    >>> log_p = np.log([[0.8, 0.2]])
    >>> [round(float(loss(log_p, 2.0)[0, 0]), 4) for loss in (properised_loss, focal_loss)]
    [0.0652, 0.0089]
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
