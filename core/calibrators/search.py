"""The best (gamma, temperature) on a grid or between, its landscape, and convex fits; scipy.

ECE over any bins is at least |mean confidence - accuracy|, less the rows that no bin holds, and
the mean confidence falls as the temperature rises. So whole stretches of temperatures cannot
hold the optimum and are skipped. Without the focal map it falls for every row, which proves the
bound; with it a slack is left. Means and shares are by weight, where rows have weights.

One search stands for both methods in a call, so that a ranking of the two compares the methods and
not the grids they were given.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from core.arrays import Float, Int
from core.calibrators.base import as_columns, checked_labels
from core.calibrators.margins import ERRORS, OBJECTIVES, LogitMargins, check_choice, counted, scores
from core.configs import SEARCHES
from core.errors import UsageError

_FINE = "T = 0.01, 0.02, …, 5.00"
_NINE = "γ = −0.5, −0.25, 0.05, 0.25, 0.37, 0.5, 0.75, 1 and 5"


@dataclass(frozen=True)
class SearchProtocol:
    """What a search is called, and what it tries."""

    label: str
    words: str


PROTOCOLS = {
    "exact": SearchProtocol(
        "Exact",
        "Temperature and focal temperature both search T from 0.01 to 20, on the grids and between "
        "their points, focal temperature with γ from −0.95 to 10. With fewer than 65,536 rows "
        "neither fits these rows worse than a grid would; on other rows either may do worse.",
    ),
    "grid": SearchProtocol(
        "Grid with γ = 0",
        f"Temperature and focal temperature both search {_FINE}; focal temperature with {_NINE}, "
        "and with γ = 0, so it cannot do worse than temperature on the rows it is fitted on.",
    ),
    "komisarenko": SearchProtocol(
        "Komisarenko",
        "The protocol of Komisarenko and Kull 2024, who fit by NLL or by equal-mass ECE: "
        f"temperature and focal temperature both search {_FINE}; focal temperature with {_NINE}. "
        "0 is not among them, so it can do worse than temperature.",
    ),
    "mukhoti": SearchProtocol(
        "Mukhoti",
        "The protocol of Mukhoti et al. 2020, who fit by ECE or AdaECE: temperature and focal "
        "temperature both search T = 0.1, 0.2, …, 10.0. They have no γ; focal temperature takes "
        f"those of Komisarenko and Kull 2024, {_NINE}. 0 is not among them, so it can do worse "
        "than temperature.",
    ),
    "line": SearchProtocol(
        "Line",
        f"Temperature and focal temperature both search {_FINE}; focal temperature for γ = 0 and "
        "γ = 1 only, and then along the line through the two best T, γ from −0.5 to 5.",
    ),
}
assert tuple(PROTOCOLS) == SEARCHES


def descend(
    objective: Callable[[Float], tuple[float, Float]],
    start: Float,
    *,
    steps: int,
    bounds: Sequence[tuple[float, float]] | None = None,
) -> tuple[Float, float, str]:
    """Minimise a convex function by L-BFGS-B; never return a point above the start.

    Parameters
    ----------
    objective : callable
        Returns value and gradient.
    start : (P,) float64
        First point, within the bounds.
    steps : int
        At most.
    bounds : P pairs of floats, optional
        Smallest and largest value of each parameter.

    Returns
    -------
    point, value, message : (P,) float64, float, str
        The message is empty where the search settled.
    """
    # L-BFGS-B stops at whichever of two rules holds first, so the tolerance of the value is far
    # below what is printed; scipy's defaults end at a relative 2e-9.
    optimum = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": 1e-13, "gtol": 1e-8, "maxcor": 20},
    )
    message = "" if optimum.success else f"stopped after {optimum.nit} steps before it settled"
    before = objective(start)[0]
    value = float(optimum.fun)
    return (optimum.x, value, message) if value <= before else (start, before, message)


COARSE = 30  # temperatures tried first
SLACK = 0.25  # of the fall over a stretch: how far the mean confidence may leave its ends
ROUNDING = 1e-12
ZOOM_POINTS = 21
POLISH_STEPS = 200  # evaluations
NEWTON_STEPS = 12
STEP = np.array([2.0**-10, 2.0**-11])  # of gamma and log T: differences stand for derivatives
SETTLED = 1e-13  # of the NLL, that one more step would gain


@dataclass(frozen=True, order=True)
class SearchPoint:
    """A value of the objective and where it was found; smaller values come first."""

    value: float
    gamma: float
    temperature: float


def scan(
    margins: LogitMargins, objective: str, gammas: Sequence[float], temperatures: Sequence[float]
) -> Float:
    """Return the objective at every point, (G, M) float64."""
    columns = [scores(margins, objective, t, gammas) for t in temperatures]
    return np.stack(columns, axis=1)


def best_on_grid(
    margins: LogitMargins, objective: str, gammas: Sequence[float], temperatures: Sequence[float]
) -> SearchPoint:
    """Return the smallest value on a grid; the first one, gamma by gamma, where several tie.

    `objective`: nll, ece, ece_em or ada_ece; `gammas`, `temperatures`: G and M points; temperatures
    ascend.

    Returns
    -------
    SearchPoint
        What trying all G x M points finds; where the NLL is flat, to rounding.

    Notes
    -----
    Errors: stretches of temperature that the bound rules out are skipped. nll: each gamma's
    curve is followed from the best of a coarse look. For temperature alone, gamma 0, that
    is proven for ece and ece_em. The others are not for every file: the mean confidence need not
    fall everywhere, and a curve could have a valley between two coarse points. No such file was
    found among 460 random, tied and saturated ones.

    Examples
    --------
    Five of ten rows are right, and no T brings their confidence down to that; of logits that are
    all 0 every T is as good, and the first wins.

    >>> y = np.arange(10) % 2
    >>> rows = [LogitMargins.of(np.tile([0.0, z], (10, 1)), y) for z in (1.0, 0.0)]
    >>> [best_on_grid(margins, "ece", (0.0,), (1.0, 2.0, 4.0)).temperature for margins in rows]
    [4.0, 1.0]
    """
    grid = _Grid(margins, objective, tuple(gammas), tuple(temperatures))
    grid.look(range(len(gammas)))
    return grid.best(range(len(gammas)))


def best_of_each(
    margins: LogitMargins, objective: str, gammas: Sequence[float], temperatures: Sequence[float]
) -> list[SearchPoint]:
    """Return the smallest value for every gamma, searched as by `best_on_grid`."""
    grid = _Grid(margins, objective, tuple(gammas), tuple(temperatures))
    for row in range(len(gammas)):
        grid.look([row])
    return [grid.best([row]) for row in range(len(gammas))]


class _Grid:
    """Values, mean confidences and ties found so far; NaN where not yet tried.

    `left_out` is the share of rows that ada_ece leaves out of its bins, those that tie at the
    lowest confidence; at the highest temperature the largest share that ties anywhere.
    """

    def __init__(
        self,
        margins: LogitMargins,
        objective: str,
        gammas: tuple[float, ...],
        temperatures: tuple[float, ...],
    ) -> None:
        self.margins, self.objective = margins, objective
        self.gammas, self.temperatures = gammas, temperatures
        self.values = np.full((len(gammas), len(temperatures)), np.nan)
        self.means = np.full_like(self.values, np.nan)
        self.left_out = np.zeros_like(self.values)
        # Temperature alone lowers every row's confidence: the ends of the grid are enough to begin.
        falling = gammas == (0.0,) and objective != "nll"
        self.slack = 0.0 if falling else SLACK
        # Far apart where temperature changes little: even steps of log T.
        logs = np.log(np.array(temperatures))
        even = np.linspace(logs[0], logs[-1], 2 if falling else COARSE)
        # Whatever the grid, its first and last temperature are among
        # the coarse ones: no stretch is left open.
        self.coarse = np.unique(np.searchsorted(logs, even - ROUNDING)).tolist()
        for column in self.coarse:
            self.measure(range(len(gammas)), column)

    def best(self, rows: Sequence[int]) -> SearchPoint:
        """Return the first smallest value of some gammas."""
        values = self.values[list(rows)]
        row, column = np.unravel_index(np.nanargmin(values), values.shape)
        gamma = self.gammas[rows[int(row)]]
        return SearchPoint(float(values[row, column]), gamma, self.temperatures[column])

    def look(self, rows: Sequence[int]) -> None:
        """Look between the coarse temperatures for the smallest value of some gammas."""
        if self.objective == "nll":
            self.follow_valleys(rows)
        else:
            self.skip_by_bound(rows)

    def measure(self, rows: Sequence[int], column: int) -> None:
        """Fill one temperature for some gammas."""
        gammas = [self.gammas[row] for row in rows]
        if self.objective == "nll":
            self.values[rows, column] = self.margins.nll(self.temperatures[column], gammas)
            return
        confidences = self.margins.confidences(self.temperatures[column], gammas)
        for row, confidence in zip(rows, confidences, strict=True):
            ranked = self.margins.ranked(confidence)
            self.means[row, column] = ranked.sum_confidence[-1] / ranked.total
            self.values[row, column] = ERRORS[self.objective](ranked)
            if self.objective == "ada_ece":
                ties = np.diff(ranked.sum_weights[ranked.cuts]) / ranked.total
                hottest = column == self.coarse[-1]  # where only equal rows tie
                self.left_out[row, column] = ties.max() if hottest else ties[0]

    def skip_by_bound(self, rows: Sequence[int]) -> None:
        """Try the stretch with the lowest bound first, halve it, until no bound is below."""
        best = float(np.nanmin(self.values[list(rows)]))
        # Best-first branch and bound: the heap is ordered by what a stretch could still offer.
        heap = [
            (self.bound(row, low, high), row, low, high)
            for row in rows
            for low, high in zip(self.coarse, self.coarse[1:], strict=False)
            if high - low > 1
        ]
        heapq.heapify(heap)
        # Ties with the best are still tried: of equal values the first
        # on the grid must win, as by trying all.
        while heap and heap[0][0] <= best + ROUNDING:
            _, row, low, high = heapq.heappop(heap)
            middle = (low + high) // 2
            self.measure([row], middle)
            best = min(best, float(self.values[row, middle]))
            for ends in ((low, middle), (middle, high)):
                if ends[1] - ends[0] > 1:
                    heapq.heappush(heap, (self.bound(row, *ends), row, *ends))

    def bound(self, row: int, low: int, high: int) -> float:
        """Return what the error cannot fall below between two temperatures."""
        # |mean confidence - accuracy| bounds any binned error from below; between two temperatures
        # the mean confidence stays between its ends, but for the slack.
        ends = self.means[row, [low, high]]
        slack = self.slack * abs(float(ends[1] - ends[0]))
        # The reference AdaECE has rows in no bin (np.interp's edges), which the bound does not see.
        if self.objective == "ada_ece":
            slack += float(self.left_out[row, [low, high, self.coarse[-1]]].max())
        accuracy = self.margins.accuracy
        return max(0.0, float(ends.min()) - slack - accuracy, accuracy - float(ends.max()) - slack)

    def follow_valleys(self, rows: Sequence[int]) -> None:
        """Close in on every valley of each gamma's curve, from both sides."""
        for row in rows:
            curve = np.concatenate([[np.inf], self.values[row, self.coarse], [np.inf]])
            lowest = (curve[1:-1] <= curve[2:]) & (curve[1:-1] < curve[:-2])
            for at in np.flatnonzero(lowest):
                self._close_in(row, self.coarse[at])

    def _close_in(self, row: int, at: int) -> None:
        """Try the middles towards both tried neighbours of a lowest point until none is left."""
        while True:
            tried = np.flatnonzero(~np.isnan(self.values[row]))
            here = int(np.searchsorted(tried, at))
            # The lowest point so far and the tried ones on its two
            # sides enclose the valley's bottom.
            near = tried[max(here - 1, 0) : here + 2]
            middles = [int(m) for m in (near[1:] + near[:-1]) // 2 if m not in tried]
            if not middles:
                return
            for column in middles:
                self.measure([row], column)
            near = np.sort([*near, *middles])
            at = int(near[np.argmin(self.values[row, near])])


def grid_zoom(
    function: Callable[[Float], Float], low: float, high: float, *, rounds: int
) -> tuple[float, float]:
    """Return the lowest of 21 points between two ends, and its value, looking ever closer.

    Each round looks between the neighbours of the best point so far. Exact for a function with
    one valley; never worse than the points of the first round for any other.

    Examples
    --------
    The lowest point of (x - 0.33)^2 lies between 0.30 and 0.35 of the first round:

    >>> [round(grid_zoom(lambda x: (x - 0.33) ** 2, 0.0, 1.0, rounds=n)[0], 9) for n in (1, 2)]
    [0.35, 0.33]
    """
    best_at, best = low, np.inf
    for _ in range(rounds):
        points = np.linspace(low, high, ZOOM_POINTS)
        values = function(points)
        at = int(np.argmin(values))
        if values[at] < best:
            best_at, best = float(points[at]), float(values[at])
        step = float(points[1] - points[0])
        low, high = max(low, best_at - step), min(high, best_at + step)
    return best_at, best


def simplex_refine(
    margins: LogitMargins, objective: str, start: SearchPoint, bounds: Sequence[tuple[float, float]]
) -> SearchPoint:
    """Walk downhill from a point in (gamma, log T); never returns a higher value.

    `bounds`: smallest and largest gamma and temperature.
    """

    def value(x: Float) -> float:
        return float(scores(margins, objective, float(np.exp(x[1])), [float(x[0])])[0])

    gammas, logs = bounds[0], tuple(np.log(bounds[1]))
    origin = np.array([start.gamma, np.log(start.temperature)])
    # A first triangle of the size of the grid's own steps: a larger one could leave the valley.
    simplex = origin + np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.02]])
    optimum = minimize(
        value,
        origin,
        method="Nelder-Mead",
        bounds=[gammas, logs],
        options={"initial_simplex": simplex, "maxfev": POLISH_STEPS, "xatol": 1e-7, "fatol": 1e-12},
    )
    gamma, log_t = (float(x) for x in optimum.x)
    temperature = float(np.clip(np.exp(log_t), *bounds[1]))  # rounding may leave the range
    end = SearchPoint(float(optimum.fun), gamma, temperature)
    return end if end.value < start.value else start


def newton_refine(
    margins: LogitMargins,
    start: SearchPoint,
    bounds: Sequence[tuple[float, float]],
    *,
    along_gamma: bool = False,
) -> SearchPoint | None:
    """Take Newton's steps to the smallest NLL near a point that is best on a sample of the rows.

    `start`: where to begin; its value is not read; `bounds`: smallest and largest gamma and
    temperature; `along_gamma`: leave the temperature as it is.

    Returns
    -------
    SearchPoint or None
        What `simplex_refine` returns, in a tenth of its evaluations; None where a step leaves the
        bounds or climbs, or the steps do not end: the sample was of no help.
    """
    free = slice(1 if along_gamma else 2)
    low, high = np.array([bounds[0], np.log(bounds[1])]).T
    at, last = np.array([start.gamma, np.log(start.temperature)]), np.inf
    for _ in range(NEWTON_STEPS):
        # The differences of `_around` need room on either side within the bounds.
        if (at - STEP < low)[free].any() or (at + STEP > high)[free].any():
            break
        value, slope, curve = _around(margins, at)
        # Climbing, or a curvature that is not positive: a quadratic model says nothing here.
        if value > last + ROUNDING or np.linalg.eigvalsh(curve[free, free])[0] <= 0.0:
            break
        step = np.linalg.solve(curve[free, free], -slope[free])
        # Half of slope times step is what the step gains by the quadratic model.
        if -slope[free] @ step <= 2.0 * SETTLED:
            return SearchPoint(value, float(at[0]), float(np.exp(at[1])))
        at[free] += step
        last = value
    return None


def _around(margins: LogitMargins, at: Float) -> tuple[float, Float, Float]:
    """Return the NLL at (gamma, log T), and its slopes and curvatures from points beside it."""
    (gamma, log_t), (g, t) = at.tolist(), STEP.tolist()
    left, right = margins.nll(float(np.exp(log_t - t)), [gamma - g, gamma])
    lower, here, upper = margins.nll(float(np.exp(log_t)), [gamma - g, gamma, gamma + g])
    behind, beyond = margins.nll(float(np.exp(log_t + t)), [gamma, gamma + g])
    slope = np.array([(upper - lower) / (2.0 * g), (behind - right) / (2.0 * t)])
    # The mixed derivative from two corners and the axes: seven values instead of nine.
    mixed = (beyond - behind - upper + 2.0 * here - lower - right + left) / (2.0 * g * t)
    of_gamma = (upper - 2.0 * here + lower) / g**2
    of_log_t = (behind - 2.0 * here + right) / t**2
    return float(here), slope, np.array([[of_gamma, mixed], [mixed, of_log_t]])


GAMMAS = tuple(k / 4 for k in range(-3, 21))  # -0.75 .. 5
TEMPERATURES = tuple(float(t) for t in np.round(np.geomspace(0.2, 10.0, 60), 4))
TRACE = tuple(float(t) for t in np.round(np.geomspace(0.05, 20.0, 600), 5))


@dataclass(frozen=True)
class Landscape:
    """The objective on a grid.

    Attributes
    ----------
    objective : str
        nll, ece, ece_em or ada_ece.
    gammas, temperatures : (G,), (M,) float64
        Ascending.
    values : (G, M) float64
        The objective; lower is better.
    ridge : (G,) float64
        For each gamma the temperature with the lowest value.
    """

    objective: str
    gammas: Float
    temperatures: Float
    values: Float

    @property
    def best(self) -> SearchPoint:
        """The lowest point of the grid; the first where several tie."""
        row, column = np.unravel_index(int(self.values.argmin()), self.values.shape)
        return SearchPoint(
            float(self.values[row, column]),
            float(self.gammas[row]),
            float(self.temperatures[column]),
        )

    @property
    def ridge(self) -> Float:
        """Temperature with the lowest value for each gamma: the paper's near-linear ridge."""
        return np.asarray(self.temperatures[self.values.argmin(axis=1)])


def landscape(
    logits: npt.NDArray[np.floating],
    labels: Int,
    *,
    weights: Float | None = None,
    objective: str = "nll",
    gammas: tuple[float, ...] = GAMMAS,
    temperatures: tuple[float, ...] = TEMPERATURES,
) -> Landscape:
    """Return the objective of focal temperature scaling at every (gamma, T).

    Parameters
    ----------
    logits : (N, K) or (N,) array of float
        Of the split that calibrators are fitted on.
    labels : (N,) array of int
        In 0..K-1.
    weights : (N,) float64, optional
        How many rows each stands for, as for a fit.
    objective : str
        nll, or the winner's ece, ece_em or ada_ece with 15 bins.
    gammas, temperatures : tuples of float
        Above -1 and above 0; time grows with their product, N and K.

    Raises
    ------
    Refused, UsageError
        As for a fit; SETTING for points outside their range.

    Examples
    --------
    At T = 2 the logit log 16 says 0.8, which eight of ten are; at T = 1 it says 16 / 17:

    >>> z, y = np.tile([0.0, np.log(16.0)], (10, 1)), np.array([1] * 8 + [0] * 2)
    >>> errors = landscape(z, y, objective="ece", gammas=(0.0,), temperatures=(1.0, 2.0))
    >>> errors.values.round(4).tolist(), errors.ridge.tolist()
    ([[0.1412, 0.0]], [2.0])
    """
    check_choice("objective", objective, OBJECTIVES)
    _check_points(gammas, temperatures)
    margins = _margins(logits, labels, weights)
    values = scan(margins, objective, gammas, temperatures)
    return Landscape(objective, np.array(gammas), np.array(temperatures), values)


def temperature_curve(
    logits: npt.NDArray[np.floating],
    labels: Int,
    *,
    weights: Float | None = None,
    objective: str = "nll",
    gammas: tuple[float, ...] = GAMMAS,
) -> Float:
    """Return the best temperature for each gamma, (G,) float64, among 600 in 0.05..20.

    The curve of Komisarenko and Kull 2024, figure 8.
    """
    check_choice("objective", objective, OBJECTIVES)
    _check_points(gammas, TRACE)
    margins = _margins(logits, labels, weights)
    points = best_of_each(margins, objective, gammas, TRACE)
    return np.array([point.temperature for point in points])


def _margins(logits: npt.NDArray[np.floating], labels: Int, weights: Float | None) -> LogitMargins:
    rows, answers, of_rows = counted(logits, labels, weights)
    z = as_columns(rows)
    return LogitMargins.of(z, checked_labels(answers, z), of_rows)


def _check_points(gammas: tuple[float, ...], temperatures: tuple[float, ...]) -> None:
    if not gammas or not all(np.isfinite(g) and g > -1.0 for g in gammas):
        raise UsageError("SETTING", "A gamma is not above -1", "give finite numbers above -1")
    if not temperatures or not all(np.isfinite(t) and t > 0.0 for t in temperatures):
        raise UsageError("SETTING", "A temperature is not above 0", "give finite numbers above 0")
