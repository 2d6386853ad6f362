"""The focal calibration map as a calibrator, alone and after a temperature; numpy only."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.arrays import Float, Int, log_softmax
from core.calibrators.base import Calibrator, FitDetails, Words
from core.calibrators.focal_map import log_focal_map
from core.calibrators.margins import OBJECTIVES, LogitMargins, confidence_of, samples, scores
from core.calibrators.search import (
    SearchPoint,
    best_on_grid,
    grid_zoom,
    newton_refine,
    simplex_refine,
)
from core.calibrators.temperature import (
    BOTH_GRIDS,
    FINE_GRID,
    GRIDS,
    TEMPERATURES,
    at_end,
    best_temperature,
    lies_within,
    nll_temperature,
)
from core.configs import OTHER_NAMES, SEARCHES

PAPER_GAMMAS = (-0.5, -0.25, 0.05, 0.25, 0.37, 0.5, 0.75, 1.0, 5.0)
GRID_GAMMAS = tuple(sorted((*PAPER_GAMMAS, 0.0)))
GAMMAS = (-0.95, 10.0)  # range of every search that is not a grid
BOUNDS = (GAMMAS, TEMPERATURES)
GAMMA_STEP = 0.05
LINE_ENDS = (0.0, 1.0)
LINE_GAMMAS = tuple(k / 100 for k in range(-50, 501))
ZOOMS = {"nll": 8}  # rounds of a search over gamma alone; 2 for errors, which jump


# Below 1e-300 nothing changes in float64: no class moves by more than 1e-15. What the largest class
# leaves to the others is summed without it; from the total, it would be lost in rounding.
FOCAL = """\
    (t, g), i, w = p, z.index(max(z)), []
    e = [math.exp((v - z[i]) / t) for v in z]
    total, rest = sum(e), sum(e[:i] + e[i + 1:])
    for k, v in enumerate(e):
        q = max(v / total, 1e-300)
        u = max((rest if k == i else total - v) / total, 1e-300)
        log_q = math.log1p(-u) if u < 0.5 else math.log(q)
        w.append(log_q - g * math.log(u) - math.log1p(-g * q * log_q / u))
    return softmax(w)
"""


@dataclass
class FocalMap(Calibrator):
    """Map the softmax by the focal calibration map, no temperature.

    Notes
    -----
    gamma lies in [-0.95, 10]; 0 is among the points, so the objective never rises.

    Examples
    --------
    A model trained with gamma = 1 that says 0.8 means 0.922 (see `focal_map`):

    >>> fitted = FocalMap.from_parameters({"gamma": 1.0})
    >>> fitted.predict_proba(np.log([[0.2, 0.8]])).round(3).tolist()
    [[0.078, 0.922]]
    """

    objective: str = "nll"  # nll, or the winner's ece, ece_em or ada_ece with 15 bins

    name = "focal_map"
    label = "Focal calibration map"
    keeps_accuracy = True
    improves_nll = True
    source = "Komisarenko and Kull 2024, proposition 4"
    stored = {"gamma": 0}  # noqa: RUF012 (typed in the base class)
    choices = {"objective": OBJECTIVES}  # noqa: RUF012 (typed in the base class)
    words = Words(
        "Focal map",
        "With one number γ it undoes what focal loss, perfectly minimised, does to confidence. "
        "At 0 nothing changes.",
        in_sentence="the focal map",
        plain="One number makes the model more or less sure, along another curve than Temperature.",
    )
    marks = {"gamma": "γ"}  # noqa: RUF012 (typed in the base class)
    program = FOCAL

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read."""
        return 1.0, *super().constants()

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        margins = LogitMargins.of(logits, labels, weights)
        # Of many rows a sample finds the valley, and Newton's steps on more of them the bottom;
        # calibration errors jump with every row that changes its bin, so all rows are looked at.
        if self.objective == "nll":
            few, *more = samples(margins, logits, labels)
        else:
            few, more = margins, []
        before = float(scores(margins, self.objective, 1.0, [0.0])[0])
        best: SearchPoint | None = self._best_on(few)
        for rows in more:
            best = best and newton_refine(rows, best, BOUNDS, along_gamma=True)
        # gamma = 0, no change, stays a candidate: it is what makes `improves_nll` true.
        best = min(best or self._best_on(margins), SearchPoint(before, 0.0, 1.0))
        self.gamma_ = best.gamma
        return FitDetails(self.objective, before, best.value, at_end(best.gamma, GAMMAS))

    def _best_on(self, margins: LogitMargins) -> SearchPoint:
        """Return the best of many gammas, and of those beside it."""

        def value(gammas: Float) -> Float:
            return scores(margins, self.objective, 1.0, gammas.tolist())

        n_points = round((GAMMAS[1] - GAMMAS[0]) / GAMMA_STEP) + 1
        points = np.round(np.linspace(*GAMMAS, n_points), 12)
        values = value(points)
        at = int(values.argmin())
        # The best point's neighbours enclose the lowest value, if
        # the curve has one valley between them.
        ends = points[max(at - 1, 0)], points[min(at + 1, n_points - 1)]
        gamma, lowest = grid_zoom(value, *ends, rounds=ZOOMS.get(self.objective, 2))
        start = SearchPoint(float(values[at]), float(points[at]), 1.0)
        return min(start, SearchPoint(lowest, gamma, 1.0))

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        return log_focal_map(log_softmax(logits), float(self.gamma_))

    def _confidence(self, logits: npt.NDArray[np.floating]) -> Float | None:
        return confidence_of(logits, 1.0, float(self.gamma_))

    def _is_sound(self) -> bool:
        return lies_within(self.gamma_, GAMMAS)


@dataclass
class FocalTemperature(Calibrator):
    """Divide logits by a temperature, then map by the focal calibration map.

    Notes
    -----
    The exact search takes gamma in [-0.95, 10] and T in [0.01, 20]. The released code applies
    the map to float32 probabilities and overwrites saturated rows; this one does not.

    References
    ----------
    Komisarenko and Kull 2024, sections 4.2 and 5.1.

    Examples
    --------
    Temperature first: T = 2 makes 0.8 of the logit log 16, and gamma = 1 makes 0.922 of that.

    >>> both = FocalTemperature.from_parameters({"temperature": 2.0, "gamma": 1.0})
    >>> both.predict_proba(np.array([[0.0, np.log(16.0)]])).round(3).tolist()
    [[0.078, 0.922]]
    """

    objective: str = "nll"  # nll, or the winner's ece, ece_em or ada_ece with 15 bins
    # exact: never worse than temperature scaling, nor than the grids below; by nll and from 65,536
    # rows on, the grids are tried on a sample of rows only. komisarenko: the paper's nine gammas, 9
    # x 500, which lack 0 and can be worse than temperature scaling. grid: the same with gamma = 0
    # added, so that temperature scaling is nested. mukhoti: the nine gammas with the temperatures
    # of Mukhoti et al. 2020, 9 x 100. line: temperatures of gamma 0 and 1, and the line through
    # them. `paper` is komisarenko.
    search: str = "exact"

    name = "focal_ts"
    label = "Focal temperature scaling"
    keeps_accuracy = True
    improves_nll = True
    source = "Komisarenko and Kull 2024, section 4.2"
    stored = {"temperature": 0, "gamma": 0}  # noqa: RUF012 (typed in the base class)
    choices = {"objective": OBJECTIVES, "search": SEARCHES}  # noqa: RUF012 (typed in the base class)
    words = Words("Focal temperature", "Temperature first, then the focal map: two numbers.")
    marks = {"temperature": "T", "gamma": "γ"}  # noqa: RUF012 (typed in the base class)
    program = FOCAL

    def __post_init__(self) -> None:
        """Give the search its own name, and refuse a setting that is not one of its choices."""
        self.search = OTHER_NAMES.get(self.search, self.search)
        super().__post_init__()

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        margins = LogitMargins.of(logits, labels, weights)
        gammas, temperatures = GAMMAS, TEMPERATURES  # the ends of what is searched
        if self.search == "exact":
            best = self._exact(margins, logits, labels)
        elif self.search == "line":
            best, gammas = best_on_line(margins, self.objective), (LINE_GAMMAS[0], LINE_GAMMAS[-1])
        else:
            on_grid = GRID_GAMMAS if self.search == "grid" else PAPER_GAMMAS
            of_grid = GRIDS[self.search]
            best = best_on_grid(margins, self.objective, on_grid, of_grid)
            gammas, temperatures = (on_grid[0], on_grid[-1]), (of_grid[0], of_grid[-1])
        # Temperature first, then the map: Komisarenko and Kull 2024, 4.2. The two do not commute.
        self.gamma_, self.temperature_ = best.gamma, best.temperature
        before = float(scores(margins, self.objective, 1.0, [0.0])[0])
        at_bound = at_end(best.gamma, gammas) or at_end(best.temperature, temperatures)
        return FitDetails(self.objective, before, best.value, at_bound)

    def _exact(
        self, margins: LogitMargins, logits: npt.NDArray[np.floating], labels: Int
    ) -> SearchPoint:
        """Take the better of the grids and temperature scaling, and walk downhill from there.

        By NLL the grids are looked at on some of many rows only, and Newton's steps on more of
        them lead to the optimum on all.
        """
        if self.objective != "nll":
            plain = best_temperature(margins, self.objective, "exact")
            return self._downhill(margins, plain)
        # Temperature scaling's own optimum is always compared, so that the larger family never
        # loses to the smaller one that it contains.
        temperature, _, after = nll_temperature(logits, labels, margins.weights)
        plain = SearchPoint(after, 0.0, temperature)
        few, *more = samples(margins, logits, labels)
        if not more:
            return self._downhill(margins, plain)
        best: SearchPoint | None = self._downhill(few)
        for rows in more:
            best = best and newton_refine(rows, best, BOUNDS)
        return self._downhill(margins, plain) if best is None else min(best, plain)

    def _downhill(self, margins: LogitMargins, *others: SearchPoint) -> SearchPoint:
        """Return where the way down ends that begins at the best of the grids and other points."""
        on_grid = best_on_grid(margins, self.objective, GRID_GAMMAS, BOTH_GRIDS)
        return simplex_refine(margins, self.objective, min((on_grid, *others)), BOUNDS)

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        tempered = log_softmax(np.divide(logits, self.temperature_, dtype=np.float64))
        return log_focal_map(tempered, float(self.gamma_))

    def _confidence(self, logits: npt.NDArray[np.floating]) -> Float | None:
        return confidence_of(logits, float(self.temperature_), float(self.gamma_))

    def _is_sound(self) -> bool:
        ranges = ((self.temperature_, TEMPERATURES), (self.gamma_, GAMMAS))
        return all(lies_within(value, ends) for value, ends in ranges)


def best_on_line(margins: LogitMargins, objective: str) -> SearchPoint:
    """Return the best point on the line through the temperatures of two gammas.

    The paper's shortcut: T is nearly linear in gamma, so 2 x 500 + 551 points stand for the
    plane. gamma = 0 lies on the line.
    """
    ends = [best_on_grid(margins, objective, (gamma,), FINE_GRID) for gamma in LINE_ENDS]
    slope = (ends[1].temperature - ends[0].temperature) / (LINE_ENDS[1] - LINE_ENDS[0])
    best = min(ends)
    for gamma in LINE_GAMMAS:
        temperature = ends[0].temperature + slope * (gamma - LINE_ENDS[0])
        if TEMPERATURES[0] <= temperature <= TEMPERATURES[1]:
            value = float(scores(margins, objective, temperature, [gamma])[0])
            best = min(best, SearchPoint(value, gamma, temperature))
    return best
