"""Temperature scaling by NLL, exactly, or by a calibration error; and ensembles of temperatures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import LinearConstraint, minimize
from scipy.special import logsumexp

from core.arrays import Float, Int, log_softmax, row_chunks, wide_enough
from core.calibrators.base import Calibrator, FitDetails, Words
from core.calibrators.margins import (
    OBJECTIVES,
    LogitMargins,
    confidence_of,
    mean,
    scores,
    total_of,
    weighed,
)
from core.calibrators.search import SearchPoint, best_on_grid, grid_zoom
from core.configs import OTHER_NAMES, SEARCHES

TEMPERATURES = (1e-2, 20.0)  # range of every search that is not a grid
MUKHOTI_GRID = tuple(k / 10 for k in range(1, 101))  # Mukhoti et al. 2020: 0.1 .. 10.0
FINE_GRID = tuple(k / 100 for k in range(1, 501))  # Komisarenko and Kull 2024: 0.01 .. 5.00
BOTH_GRIDS = tuple(sorted({*FINE_GRID, *MUKHOTI_GRID}))
GRIDS = {  # of every search that is not exact, for temperature and focal temperature alike
    "grid": FINE_GRID,
    "komisarenko": FINE_GRID,
    "mukhoti": MUKHOTI_GRID,
    "line": FINE_GRID,
}
MOST_STEPS = 100  # bisection alone needs about fifty
TOLERANCE = 1e-4  # of the last step; Halley's leaves about its cube
CACHED_BYTES = 2**22  # of logits read at a time: what is made of their rows stays in cache
SAMPLE_ROWS = 1024  # looked at first when there are many more


TEMPERATURE = """\
    (t,) = p
    return softmax([x / t for x in z])
"""


@dataclass
class Temperature(Calibrator):
    """Divide all logits by one temperature.

    Notes
    -----
    T lies in [0.01, 20]; with all rows right the optimum is the lower end, and `at_bound` says so.

    Examples
    --------
    Ten rows with the logit log 16, eight of them right: sigmoid(log 16 / T) = 0.8 = sigmoid(log 4).

    >>> z, y = np.tile([0.0, np.log(16.0)], (10, 1)), np.array([1] * 8 + [0] * 2)
    >>> round(float(Temperature().fit(z, y).temperature_), 6)
    2.0

    With every row right the NLL falls for ever as T does, and the lower end of the range stops it:

    >>> fitted = Temperature().fit(np.concatenate([z, -z]), np.repeat([1, 0], 10))
    >>> round(float(fitted.temperature_), 6), fitted.report_.at_bound
    (0.01, True)
    """

    objective: str = "nll"  # nll, or the winner's ece, ece_em or ada_ece with 15 bins
    # exact: the NLL's optimum over 1 / T, in which it is convex; for the errors a search that is
    # never worse than either grid. mukhoti: 0.1..10.0. komisarenko, grid and line: 0.01..5.00.
    # These are the temperatures that focal temperature scaling takes, too. `paper` is komisarenko.
    search: str = "exact"

    name = "ts"
    label = "Temperature scaling"
    keeps_accuracy = True
    improves_nll = True
    source = "Guo et al. 2017; grids of Mukhoti et al. 2020 and Komisarenko and Kull 2024"
    stored = {"temperature": 0}  # noqa: RUF012 (typed in the base class)
    choices = {"objective": OBJECTIVES, "search": SEARCHES}  # noqa: RUF012 (typed in the base class)
    words = Words("Temperature", "One number makes the model more or less sure of everything.")
    marks = {"temperature": "T"}  # noqa: RUF012 (typed in the base class)
    program = TEMPERATURE

    def __post_init__(self) -> None:
        """Give the search its own name, and refuse a setting that is not one of its choices."""
        self.search = OTHER_NAMES.get(self.search, self.search)
        super().__post_init__()

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        if self.objective == "nll" and self.search == "exact":
            self.temperature_, before, after = nll_temperature(logits, labels, weights)
            return FitDetails("nll", before, after, at_end(self.temperature_, TEMPERATURES))
        margins = LogitMargins.of(logits, labels, weights)
        grid, best = TEMPERATURES, best_temperature(margins, self.objective, self.search)
        if self.search != "exact":
            points = GRIDS[self.search]
            grid = (points[0], points[-1])
        self.temperature_ = best.temperature
        before = float(scores(margins, self.objective, 1.0, [0.0])[0])
        return FitDetails(self.objective, before, best.value, at_end(best.temperature, grid))

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        return log_softmax(np.divide(logits, self.temperature_, dtype=np.float64))

    def _confidence(self, logits: npt.NDArray[np.floating]) -> Float | None:
        return confidence_of(logits, float(self.temperature_), 0.0)

    def _is_sound(self) -> bool:
        return lies_within(self.temperature_, TEMPERATURES)


def lies_within(value: npt.ArrayLike, ends: tuple[float, float]) -> bool:
    """Whether a parameter stands where a fit can leave it."""
    return bool(ends[0] <= np.asarray(value) <= ends[1])


def at_end(value: float, ends: tuple[float, float]) -> bool:
    """Whether a parameter stands at an end of its range."""
    return bool(np.isclose(value, ends, rtol=1e-6, atol=0.0).any())


def best_temperature(margins: LogitMargins, objective: str, search: str) -> SearchPoint:
    """Return the best temperature of a grid; with `exact` of both grids and between.

    Raises KeyError: for a search that is neither exact nor one of GRIDS.

    Examples
    --------
    Eight of ten rows with the logit log 16 are right. T = 2 makes of it 0.8, so every error is 0
    there:

    >>> z, y = np.tile([0.0, np.log(16.0)], (10, 1)), np.array([1] * 8 + [0] * 2)
    >>> best_temperature(LogitMargins.of(z, y), "ece", "mukhoti").temperature
    2.0
    """
    if search != "exact":
        return best_on_grid(margins, objective, (0.0,), GRIDS[search])
    start = best_on_grid(margins, objective, (0.0,), BOTH_GRIDS)
    # Between the neighbours of the best grid point; beyond the last
    # grid point up to the end of the range.
    at, last = BOTH_GRIDS.index(start.temperature), len(BOTH_GRIDS) - 1
    low, high = BOTH_GRIDS[max(at - 1, 0)], BOTH_GRIDS[min(at + 1, last)]
    if at == last:
        high = TEMPERATURES[1]
    temperature, value = grid_zoom(
        lambda ts: np.array([scores(margins, objective, t, [0.0])[0] for t in ts.tolist()]),
        low,
        high,
        rounds=3,
    )
    end = SearchPoint(value, 0.0, temperature)
    return end if end.value < start.value else start


def nll_temperature(
    logits: npt.NDArray[np.floating], labels: Int, weights: Float | None = None
) -> tuple[float, float, float]:
    """Return the temperature with the smallest NLL, the NLL at 1 and the NLL there.

    Parameters
    ----------
    logits : (N, K) array of float
        Finite.
    labels : (N,) int64
        In 0..K-1.
    weights : (N,) float64, optional
        How many rows each stands for, above 0.

    Notes
    -----
    The NLL is convex in b = 1 / T: Halley's steps in b, bisection where one leaves the bracket.
    With many rows the first steps are taken on some of them.

    Examples
    --------
    Of ten rows with the logit log 16 eight are right: the best they can share is 0.8, whose NLL is
    the entropy 0.8 log 1.25 + 0.2 log 5; at T = 1 it is 0.8 log(17 / 16) + 0.2 log 17.

    >>> z, y = np.tile([0.0, np.log(16.0)], (10, 1)), np.array([1] * 8 + [0] * 2)
    >>> [round(float(x), 4) for x in nll_temperature(z, y)]
    [2.0, 0.6151, 0.5004]
    """
    rows = _TemperatureRows(logits, labels, weights)
    stride = len(labels) // SAMPLE_ROWS
    sample = rows.every(max(stride, 1))
    # With every answer right the slope stays below 0 for every b: the optimum is the largest b.
    if sample.all_right() and rows.all_right():
        start = 1.0 / TEMPERATURES[0]  # the slope never turns and steps would crawl
    else:
        start = _descend(sample, 1.0).at if stride > 1 else 1.0
    descent = _descend(rows, start)
    before = descent.first if start == 1.0 else _derivatives(rows, 1.0).value
    return 1.0 / descent.at, before, descent.value


class _TemperatureRows(NamedTuple):
    """What a temperature is fitted on."""

    logits: npt.NDArray[np.floating]
    labels: Int
    weights: Float | None

    def every(self, stride: int) -> Self:
        """Return the first of every few rows."""
        weights = None if self.weights is None else self.weights[::stride]
        logits = np.ascontiguousarray(self.logits[::stride])
        return type(self)(logits, np.ascontiguousarray(self.labels[::stride]), weights)

    def all_right(self) -> bool:
        """Whether every row's true class has its largest logit."""
        own = self.logits[np.arange(len(self.labels)), self.labels]
        return bool((own == self.logits.max(axis=1)).all())


@dataclass(frozen=True)
class _Descent:
    """Where the search over 1 / T ended, the NLL there and where it began."""

    at: float
    value: float
    first: float


def _descend(rows: _TemperatureRows, start: float) -> _Descent:
    """Return the best 1 / T: Halley's steps within a bracket whose ends are tried when needed."""
    low, high = 1.0 / TEMPERATURES[1], 1.0 / TEMPERATURES[0]
    tried_low = tried_high = False
    at, first = start, None
    for _ in range(MOST_STEPS):
        here = _derivatives(rows, at)
        value, slope, step = here.value, here.slope, here.step
        first = value if first is None else first
        # Done where the slope is 0, or points out of the range at its end.
        if slope == 0.0 or (slope < 0.0 and at >= high) or (slope > 0.0 and at <= low):
            break
        if abs(step) <= TOLERANCE * at:
            # The step's cube is what is left; the value is exact to rounding this near.
            at = min(max(at + step, low), high)
            rise = step * (slope + step * (here.curve / 2.0 + step * here.twist / 6.0))
            return _Descent(at, value + rise, first)
        # The NLL is convex in b = 1 / T, not in T: the sign of the slope says on which side the
        # optimum lies, and the bracket only ever shrinks.
        if slope < 0.0:
            low, tried_low = at, True
        else:
            high, tried_high = at, True
        # A step out of the bracket: to the end if nobody has been
        # there, else to the middle of log b.
        if at + step >= high:
            step = (float(np.sqrt(low * high)) if tried_high else high) - at
        elif at + step <= low:
            step = (float(np.sqrt(low * high)) if tried_low else low) - at
        at += step
    assert first is not None
    return _Descent(at, value, first)


class _Derivatives(NamedTuple):
    """Mean NLL, and its first, second and third derivative in b = 1 / T."""

    value: float
    slope: float
    curve: float
    twist: float

    @property
    def step(self) -> float:
        """Halley's step to where the slope is 0; Newton's where the two are far from each other."""
        if self.curve <= 0.0:
            return float(-np.sign(self.slope) * np.inf)
        newton = -self.slope / self.curve
        stretch = 1.0 + 0.5 * newton * self.twist / self.curve
        return newton / stretch if 0.5 < stretch < 2.0 else newton


def _derivatives(rows: _TemperatureRows, inverse: float) -> _Derivatives:
    """Return the mean NLL of rows at b = 1 / T and how it changes with b."""
    from core.compiled.rows import read_tempered_rows

    value = slope = curve = twist = 0.0
    n_rows, n_classes = rows.logits.shape
    for part in row_chunks(n_rows, n_classes, CACHED_BYTES):
        labels = np.ascontiguousarray(rows.labels[part], np.int64)
        total, mean, square, cube, own = sums = np.empty((5, labels.size))
        read_tempered_rows(wide_enough(rows.logits[part]), labels, inverse, sums)
        weights = None if rows.weights is None else rows.weights[part]
        # d/db of log sum exp(b z) - b z_y: mean, variance and third
        # central moment of z under the softmax.
        value += float(weighed(np.log(total) - inverse * own, weights).sum())
        slope += float(weighed(mean - own, weights).sum())
        curve += float(weighed(square - mean**2, weights).sum())
        twist += float(weighed(cube - mean * (3.0 * square - 2.0 * mean**2), weights).sum())
    n = total_of(n_rows, rows.weights)
    return _Derivatives(value / n, slope / n, curve / n, twist / n)


BRIER_TEMPERATURES = (0.05, 5.0)  # range of the released code, which always fits Brier
COARSE = 41
LOG_LARGE = 700.0


ENSEMBLE = """\
    t, (a, b, c) = p
    sharp, plain = softmax([x / t for x in z]), softmax(z)
    return [a * x + b * y + c / len(z) for x, y in zip(sharp, plain)]
"""


@dataclass
class Ensemble(Calibrator):
    """w0 softmax(z / T) + w1 softmax(z) + w2 / K, weights at least 0 that sum to one.

    Notes
    -----
    T first, then the weights, in which both objectives are convex.

    Examples
    --------
    Of the logits 0 and log 9, T = 2 makes 0.75, T = 1 makes 0.9, and equal shares are 0.5: 0.5 x
    0.75 + 0.25 x 0.9 + 0.25 x 0.5.

    >>> mix = Ensemble.from_parameters({"temperature": 2.0, "weights": [0.5, 0.25, 0.25]})
    >>> mix.predict_proba(np.array([0.0, np.log(9.0)]))[1].round(3).tolist()
    [0.275, 0.725]
    """

    # nll, or brier (the released code always fits Brier, T within [0.05, 5])
    objective: str = "nll"

    name = "ets"
    label = "Ensemble temperature scaling"
    keeps_accuracy = True
    improves_nll = True
    source = "Zhang et al. 2020 (Mix-n-Match)"
    stored = {"temperature": 0, "weights": 1}  # noqa: RUF012 (typed in the base class)
    choices = {"objective": ("nll", "brier")}  # noqa: RUF012 (typed in the base class)
    words = Words(
        "Ensemble", "A mixture of the scaled scores, the scores as read, and equal shares."
    )
    marks = {"temperature": "T"}  # noqa: RUF012 (typed in the base class)
    program = ENSEMBLE

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        if self.objective == "nll":
            # T is fitted as if alone and then kept (Zhang et al. 2020): the
            # weights are a convex problem only for a fixed T.
            self.temperature_, before, _ = nll_temperature(logits, labels, weights)
            bounds = TEMPERATURES
            parts = self._parts(logits)[:, np.arange(labels.size), labels]
            self.weights_, after = _nll_weights(parts, weights)
        else:
            self.temperature_ = _brier_temperature(logits, labels, weights)
            bounds = BRIER_TEMPERATURES
            before = _brier(log_softmax(logits), labels, weights)
            self.weights_, after = _brier_weights(np.exp(self._parts(logits)), labels, weights)
        return FitDetails(self.objective, before, after, at_end(self.temperature_, bounds))

    def _parts(self, logits: npt.NDArray[np.floating]) -> Float:
        """Return log-probabilities of the three parts, (3, N, K)."""
        tempered = log_softmax(np.divide(logits, self.temperature_, dtype=np.float64))
        uniform = np.full_like(tempered, -np.log(logits.shape[1]))
        return np.stack([tempered, log_softmax(logits), uniform])

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        parts = self._parts(logits)
        return np.asarray(logsumexp(parts, axis=0, b=self.weights_[:, None, None]))

    def _is_sound(self) -> bool:
        weights = self.weights_
        sums = weights.shape == (3,) and abs(weights.sum() - 1.0) < 1e-6 and weights.min() >= 0.0
        return bool(sums and lies_within(self.temperature_, TEMPERATURES))


def _nll_weights(log_parts: Float, of_rows: Float | None) -> tuple[Float, float]:
    """Return the weights that minimise the NLL of the true class's parts, (3, N)."""

    def objective(weights: Float) -> tuple[float, Float]:
        # A weight of 0 may not make log 0 of a row that the other parts would explain.
        log_mix = logsumexp(log_parts, axis=0, b=np.maximum(weights, 1e-300)[:, None])
        ratio = np.exp(np.minimum(log_parts - log_mix, LOG_LARGE))
        return -mean(log_mix, of_rows), -np.average(ratio, axis=1, weights=of_rows)

    return _on_simplex(objective)


def _brier_weights(parts: Float, labels: Int, of_rows: Float | None) -> tuple[Float, float]:
    """Return the weights that minimise the Brier score of parts, (3, N, K)."""
    n = labels.size
    own = parts if of_rows is None else parts * of_rows[:, None]
    # The Brier score is quadratic in the weights: one pass over the rows gives its 3 x 3 matrix.
    gram = np.einsum("ink,jnk->ij", own, parts) / total_of(n, of_rows)
    hit = np.average(parts[:, np.arange(n), labels], axis=1, weights=of_rows)

    def objective(weights: Float) -> tuple[float, Float]:
        value = weights @ gram @ weights - 2.0 * weights @ hit + 1.0
        return float(value), 2.0 * (gram @ weights - hit)

    return _on_simplex(objective)


def _on_simplex(objective: Callable[[Float], tuple[float, Float]]) -> tuple[Float, float]:
    """Minimise over weights >= 0 that sum to one; never worse than temperature alone."""
    optimum = minimize(
        objective,
        np.full(3, 1.0 / 3.0),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * 3,
        constraints=LinearConstraint(np.ones((1, 3)), 1.0, 1.0),
        options={"ftol": 1e-14, "maxiter": 500},
    )
    weights = np.clip(optimum.x, 0.0, 1.0)
    # SLSQP can stop a hair above a corner; temperature alone and no change are always compared.
    choices = [weights / weights.sum(), *np.eye(3)[:2]]
    values = [objective(choice)[0] for choice in choices]
    best = int(np.argmin(values))
    return choices[best], values[best]


def _brier(log_p: Float, labels: Int, of_rows: Float | None) -> float:
    """Return the mean over rows of the sum over classes of (p - onehot)^2."""
    p = np.exp(log_p)
    rows = (p * p).sum(axis=1) - 2.0 * p[np.arange(labels.size), labels] + 1.0
    return mean(rows, of_rows)


def _brier_temperature(
    logits: npt.NDArray[np.floating], labels: Int, of_rows: Float | None
) -> float:
    """Return the temperature with the smallest Brier score."""

    def values(log_temperatures: Float) -> Float:
        wide = logits.astype(np.float64)
        scaled = (log_softmax(wide / t) for t in np.exp(log_temperatures))
        return np.array([_brier(log_p, labels, of_rows) for log_p in scaled])

    low, high = np.log(BRIER_TEMPERATURES)
    # The Brier score is not convex in T or b, so a coarse look comes before the zoom.
    coarse = np.linspace(low, high, COARSE)
    at = int(values(coarse).argmin())
    ends = coarse[max(at - 1, 0)], coarse[min(at + 1, COARSE - 1)]
    return float(np.exp(grid_zoom(values, *ends, rounds=6)[0]))
