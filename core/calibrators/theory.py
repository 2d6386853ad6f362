"""What published statements about focal losses and temperature are checked with; numpy, scipy."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, elementwise, minimize_scalar
from scipy.special import lambertw

from core.arrays import Float, log_softmax, softmax
from core.calibrators.focal_map import binary_focal_map, gradient_factor, log_focal_map
from core.errors import UsageError

INVERSE_T = (0.02, 50.0)  # where the closest 1 / T is looked for
COARSE = 11  # values of it looked at first
REACH = np.linspace(0.005, 20.0, 4000)  # logits over which the tightest bounds hold


@dataclass(frozen=True)
class ClosestTemperature:
    """The temperature that comes closest to the map."""

    temperature: float  # minimiser of the largest difference of probabilities
    residual: float  # that difference, in [0, 1]


def temperature_bounds(gamma: float) -> tuple[float, float]:
    """Return the temperatures between which the binary focal calibration map lies.

    Parameters
    ----------
    gamma : float
        Above 0.

    Returns
    -------
    sharp, soft : float
        1 / (gamma + 1) and 1 / (gamma + 1 - log(gamma + 1) / 2).

    Notes
    -----
    For a logit s > 0: sigmoid(s / soft) < map(s) < sigmoid(s / sharp), reversed for s < 0, equal
    at 0. Komisarenko and Kull 2024 print proposition 3 with exponents -s / (gamma + 1), which
    holds for no gamma > 0; their abstract has it the right way round.

    Examples
    --------
    1 / 2 and 1 / (2 - log(2) / 2): the smaller temperature is the sharp side.

    >>> [round(t, 4) for t in temperature_bounds(1.0)]
    [0.5, 0.6048]
    """
    if not (np.isfinite(gamma) and gamma > 0.0):
        raise UsageError("SETTING", f"Gamma is {gamma}", "give a number above 0")
    return 1.0 / (gamma + 1.0), 1.0 / (gamma + 1.0 - 0.5 * float(np.log1p(gamma)))


def tightest_bounds(gamma: float) -> tuple[float, float]:
    """Return the closest temperatures that bound the binary map over logits up to 20.

    `gamma`: above 0.

    Returns
    -------
    sharp, soft : float
        As of `temperature_bounds`, whose distance is larger: found on a grid, not proved.
    """
    ratio = binary_focal_map(REACH, gamma) / REACH
    return 1.0 / float(ratio.max()), 1.0 / float(ratio.min())


def closest_temperature(logits: Float, gamma: float) -> ClosestTemperature:
    """Return the temperature that is closest to the focal calibration map over some rows.

    Parameters
    ----------
    logits : (N, K) float64
        The rows over which the largest difference of any probability is taken.
    gamma : float
        Above -1.

    Examples
    --------
    For one row of two classes it is exact: the map takes the logit log 4 to 2.4728, and
    log(4) / 2.4728 = 0.5606.

    >>> closest = closest_temperature(np.array([[0.0, np.log(4.0)]]), 1.0)
    >>> round(closest.temperature, 4), round(closest.residual, 6)
    (0.5606, 0.0)
    """
    log_q = log_softmax(logits)
    mapped = np.exp(log_focal_map(log_q, gamma))

    def residual(log_inverse: float) -> float:
        return float(np.abs(softmax(np.exp(log_inverse) * log_q) - mapped).max())

    # The residual falls and rises once, with kinks: a coarse look, then a search between.
    coarse = np.linspace(np.log(INVERSE_T[0]), np.log(INVERSE_T[1]), COARSE)
    best = int(np.argmin([residual(value) for value in coarse]))
    low, high = coarse[max(best - 1, 0)], coarse[min(best + 1, len(coarse) - 1)]
    optimum = minimize_scalar(
        residual, bounds=(low, high), method="bounded", options={"xatol": 1e-10}
    )
    return ClosestTemperature(float(np.exp(-optimum.x)), float(optimum.fun))


def logit_grid(n_classes: int, *, spread: float = 10.0, step: float = 0.1) -> Float:
    """Return every row of logits on a grid up to a common shift and the order of classes.

    Parameters
    ----------
    n_classes : int
        K; the number of rows grows with the power K - 1, so meant for two to four.
    spread : float
        The largest and the smallest logit of a row differ by at most this.
    step : float
        Distance of the grid.

    Returns
    -------
    (N, K) float64
        Each row descending, its last logit 0.

    Examples
    --------
    Only differences between logits count, and not which class has which:

    >>> logit_grid(3, spread=1.0, step=1.0).tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    axis = np.arange(round(spread / step) + 1) * step
    # A shift of all logits changes no probability, so the last is 0; of every
    # order of the same logits the descending one is kept.
    free = np.meshgrid(*[axis] * (n_classes - 1), indexing="ij")
    rows = np.stack([*(part.ravel() for part in free), np.zeros(free[0].size)], axis=1)
    return np.asarray(rows[(np.diff(rows, axis=1) <= 0.0).all(axis=1)])


def line_fit(gammas: Float, temperatures: Float) -> tuple[float, float]:
    """Return slope and intercept of 1 / T against gamma by least squares.

    Examples
    --------
    The line is that of 1 / T, which is 1, 2 and 3 here:

    >>> [round(x, 9) for x in line_fit(np.arange(3.0), np.array([1.0, 1 / 2, 1 / 3]))]
    [1.0, 1.0]
    """
    slope, intercept = np.polyfit(gammas, 1.0 / temperatures, 1)
    return float(slope), float(intercept)


GRIDS = {2: (20.0, 0.02), 3: (10.0, 0.1), 4: (10.0, 0.25)}  # spread and step of logits by classes
SWEEP_STEPS = {2: 0.1, 3: 0.25, 4: 0.5}  # of gamma, by classes; coarser where a search takes longer
SWEEP_END = 9.0
EDGE = 1e-12  # how near to 0 and 1 a solution is looked for
LONGEST = 690.0  # exp(-LONGEST) is the smallest probability on the way to an edge
RAYS = 180  # directions in which an isoline is looked for


@dataclass(frozen=True)
class Sweep:
    """The closest temperature of every gamma, for one number of classes."""

    # gammas, temperatures: (G,), from 0 to `SWEEP_END`, and the minimisers
    gammas: Float
    temperatures: Float
    residuals: Float  # (G,) in [0, 1], the largest difference of any probability that is left


def sweep(n_classes: int) -> Sweep:
    """Return the closest temperatures for two, three or four classes.

    References
    ----------
    Komisarenko and Kull 2024, sections 3.2 and 3.3: two classes over logits of +-20, more over
    logits within (-5, 5).
    """
    spread, step = GRIDS[n_classes]
    rows = logit_grid(n_classes, spread=spread, step=step)
    step = SWEEP_STEPS[n_classes]
    gammas = np.arange(round(SWEEP_END / step) + 1, dtype=np.float64) * step
    closest = [closest_temperature(rows, float(gamma)) for gamma in gammas]
    return Sweep(
        gammas,
        np.array([point.temperature for point in closest]),
        np.array([point.residual for point in closest]),
    )


def temperature_scaled(log_q: Float, temperature: float) -> Float:
    """Return the probabilities of log-probabilities, (..., K), scaled by 1 / temperature.

    Examples
    --------
    T = 1 / 2 squares probabilities: 0.64 / (0.64 + 0.04).

    >>> temperature_scaled(np.log([0.8, 0.2]), 0.5).round(4).tolist()
    [0.9412, 0.0588]
    """
    return np.asarray(np.exp(log_softmax(log_q / temperature)))


def unit_crossing(gamma: float) -> float:
    """Return the p > 0 where g(p, gamma) = 1: above it focal loss pulls less than cross-entropy.

    Parameters
    ----------
    gamma : float
        Above 0, at most 1000.

    Returns
    -------
    float
        In (0, 0.5): g rises from 1, falls once, and is below 1 at a half.

    References
    ----------
    Mukhoti et al. 2020, propositions 1 and 2.

    Examples
    --------
    (1 - p) - p log p = 1 where log p = -1:

    >>> round(unit_crossing(1.0), 4), round(float(np.exp(-1.0)), 4)
    (0.3679, 0.3679)
    """
    if not 0.0 < gamma <= 1000.0:
        raise UsageError("SETTING", f"Gamma is {gamma}", "give a number above 0, at most 1000")
    low = 1e-3 / max(1.0, gamma)  # here g is still on its way up
    root = brentq(lambda p: float(gradient_factor(p, gamma)) - 1.0, low, 0.5, xtol=1e-15)
    return float(root)


def principal_root(p0: npt.ArrayLike) -> Float:
    """Return the other solution of g(p0, gamma) = 1, from the principal branch of Lambert's W.

    Parameters
    ----------
    p0 : array of float in (0, 0.5)
        Probability of the true class.

    Notes
    -----
    Mukhoti et al. 2020 discard it as negative. It is the trivial root 0: g(p, 0) = 1.

    Examples
    --------
    Not a negative gamma, as the paper has it, but 0, for which every p solves the equation:

    >>> [abs(round(float(root), 9)) for root in principal_root([0.1, 0.4])]
    [0.0, 0.0]
    """
    p = np.asarray(p0, dtype=np.float64)
    a, b = 1.0 - p, p * np.log(p)
    log_a = np.log1p(-p)
    w = lambertw(-np.exp((1.0 - a / b) * log_a) * log_a / b, 0).real
    return np.asarray(a / b + w / log_a)


def focal_lower_bound(truth: float, stated: Float, gamma: float) -> Float:
    """Return KL(p || q) + H(p) - gamma H(q) of two classes: the focal loss is never below it.

    Parameters
    ----------
    truth : float in (0, 1)
        p, the share of class 1.
    stated : array of float in (0, 1)
        q, what is said of class 1.
    gamma : float
        At least 1, for which it is proved.

    References
    ----------
    Mukhoti et al. 2020, appendix.

    Examples
    --------
    0.8 log 5 + 0.2 log 1.25, less twice 0.2 log 5 + 0.8 log 1.25, is 0.4 log 5 - 1.4 log 1.25:

    >>> round(float(focal_lower_bound(0.8, np.array([0.2]), 2.0)[0]), 4)
    0.3314
    """
    q = np.stack([stated, 1.0 - stated])
    p = np.array([truth, 1.0 - truth])[:, None]
    cross_entropy = -(p * np.log(q)).sum(axis=0)  # KL(p || q) + H(p)
    return np.asarray(cross_entropy + gamma * (q * np.log(q)).sum(axis=0))


def fcl_minimiser(truth: npt.ArrayLike, gamma: float, weight: float) -> Float:
    """Return what focal calibration loss makes a binary model say where `truth` is the share.

    Parameters
    ----------
    truth : array of float in (0, 1)
        How often class 1 is there.
    gamma : float
        At least 0; only for 0 the minimiser is the truth.
    weight : float
        Lambda, the weight of the squared distance, at least 0.

    Returns
    -------
    array of float64
        The q that minimises the expectation of
        -(1 - q_t)^gamma log q_t + weight * ||q - onehot||^2.

    References
    ----------
    Focal calibration loss 2024, definition 3.1; its appendix A.8 calls the loss strictly proper.

    Examples
    --------
    The loss is not proper: where the truth is 0.8 a model says 0.674. There 0.8 g(q) / q = 0.332,
    0.2 g(1 - q) / (1 - q) = 0.581 and 2 (q - 0.8) = -0.252 cancel to 0.003.

    >>> round(float(fcl_minimiser(0.8, 2.0, 0.5)), 3), round(float(fcl_minimiser(0.8, 0.0, 0.5)), 3)
    (0.674, 0.8)
    """
    if not (np.isfinite(weight) and weight >= 0.0):
        raise UsageError("SETTING", f"Lambda is {weight}", "give a number of at least 0")
    p = np.asarray(truth, dtype=np.float64)
    if not np.all((p > 0.0) & (p < 1.0)):
        raise UsageError("SETTING", "The share lies outside (0, 1)", "give one between 0 and 1")
    # The slope of the expected loss ascends in q, from below 0 near 0 to above 0 near 1.
    solution = elementwise.find_root(
        partial(_fcl_slope, gamma=gamma, weight=weight), (EDGE, 1.0 - EDGE), args=(p,)
    )
    return np.asarray(solution.x, dtype=np.float64)


def _fcl_slope(q: Float, p: Float, *, gamma: float, weight: float) -> Float:
    """Return the derivative in q of the expected loss; ascending, since the loss is convex."""
    # d/dq of p L(q) + (1 - p) L(1 - q): the focal part is g / q for either outcome, the squared
    # distance 2 weight ((1 - q)^2 or q^2), hence 4 weight (q - p).
    focal = (1.0 - p) * gradient_factor(1.0 - q, gamma) / (1.0 - q)
    return np.asarray(focal - p * gradient_factor(q, gamma) / q + 4.0 * weight * (q - p))


def risk_isolines(
    risk: Callable[[Float], Float], centre: Float, place: Callable[[Float], Float], shares: Float
) -> tuple[Float, Float]:
    """Return lines of equal risk over three classes that enclose given shares of the triangle.

    Parameters
    ----------
    risk : callable
        (..., 3) probabilities to (...) expected losses; convex, infinite at every edge.
    centre : (3,) float64
        Where the risk is smallest, every entry above 0.
    place : callable
        Where a point is drawn, (..., 3) to (..., 3): for a properised loss the focal map, since
        its risk at the map of q is the focal risk at q. So no inverse has to be solved for.
    shares : (S,) float64 in (0, 1)
        Shares of the triangle's area.

    Returns
    -------
    levels : (S,) float64
        The risk on each line; interpolated between 32 lines by their area.
    lines : (S, RAYS + 1, 3) float64
        Closed lines of probabilities, exact for their level.
    """
    # Along a ray from the smallest risk a convex risk only rises: one crossing of each level a ray.
    edge = _edge(centre)
    longest = np.linalg.norm(edge - centre, axis=-1).argmax()
    # 32 levels along the longest ray, whose areas are measured; the asked areas lie between them.
    along = np.linspace(0.98, 0.02, 32)[:, None]
    tried = risk(edge[longest] + along * (centre - edge[longest]))
    # The share of the triangle that lies within each closed line.
    lines = place(_level_points(risk, centre, edge[::6], tried))
    x, y = lines[..., 0], lines[..., 1]
    # Shoelace formula; twice the area in (x, y) is the share of a
    # triangle whose own area is one half.
    turns = x[:, :-1] * y[:, 1:] - x[:, 1:] * y[:, :-1]
    coarse = np.asarray(np.abs(turns.sum(axis=-1)))
    levels = np.interp(shares, coarse, tried)
    return levels, place(_level_points(risk, centre, edge, levels))


def _edge(centre: Float) -> Float:
    """Return where rays in every direction leave the triangle, (RAYS + 1, 3), one entry 0."""
    angle = np.linspace(0.0, 2.0 * np.pi, RAYS + 1)[:, None]
    across, up = np.array([1.0, -1.0, 0.0]), np.array([1.0, 1.0, -2.0]) / np.sqrt(3.0)
    ray = np.cos(angle) * across + np.sin(angle) * up
    # The first of three entries to reach 0 along the ray ends it.
    reach = np.where(ray < 0.0, centre / np.minimum(ray, -EDGE), -np.inf)
    edge = centre - ray * reach.max(axis=-1, keepdims=True)
    np.put_along_axis(edge, reach.argmax(axis=-1)[:, None], 0.0, axis=-1)
    return np.asarray(edge)


def _level_points(
    risk: Callable[[Float], Float], centre: Float, edge: Float, levels: Float
) -> Float:
    """Return the points of every ray, (L, R, 3), at which the risk reaches each level.

    The way that is left to the edge is halved in its logarithm: where a class is rare the risk
    rises only at probabilities of 1e-12 and less.
    """
    back = centre - edge
    low = np.zeros((len(levels), len(edge)))
    high = np.full_like(low, LONGEST)
    for _ in range(56):  # halves of LONGEST down to 1e-14
        middle = 0.5 * (low + high)
        above = risk(edge + np.exp(-middle)[..., None] * back) > levels[:, None]
        high, low = np.where(above, middle, high), np.where(above, low, middle)
    return np.asarray(edge + np.exp(-high)[..., None] * back)
