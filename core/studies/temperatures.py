"""Temperature against gamma on the rows that are fitted on, and a run at many temperatures.

And calibrated by training, or afterwards: one run before and after temperature scaling.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from core.arrays import Float, Int, log_softmax
from core.calibrators import search as maps
from core.calibrators.focal_map import binary_focal_map, log_focal_map
from core.calibrators.margins import LogitMargins
from core.calibrators.temperature import Temperature, best_temperature
from core.defaults import N_BINS
from core.metrics import binning
from core.metrics.binning import BinSums
from core.metrics.comparison import compare
from core.metrics.paired import Difference
from core.metrics.proper import nll
from core.metrics.ranked import SortedOutcomes
from core.metrics.top_label import ece, s99_accuracy, s99_share
from core.predictions import Predictions, ScoreKind, Task
from core.studies.posthoc import (
    EvaluatedMethod,
    MethodReport,
    PosthocRows,
    RowChoice,
    Source,
    calibrated,
    chosen_parts,
    logits_of,
)

MAP_CELLS: Final = 50_000  # scores that a map is computed from; about half a second
MAP_ROWS: Final = 1_000  # at least, where they are there: then on a coarser grid
WALK_CELLS: Final = 500_000  # scores that are read at each temperature of a walk
WALK_ENDS: Final = (0.25, 4.0)  # at least
WALK_STEPS: Final = 33
NEAR_GAMMA: Final = 0.05  # of a mark
NEAR: Final = 0.02  # of a mark, as a share of T: a step that near is left out beside it
LOWEST: Final = -1e6  # below the largest logit of a row: nothing is left of it at any temperature


@dataclass(frozen=True)
class TemperatureMap:
    """A landscape, the rows it was computed on, and the rows there are."""

    landscape: maps.Landscape
    used: int
    rows: int


@dataclass(frozen=True)
class TemperatureMaps:
    """What is drawn of temperature and gamma; `curve` is the best temperature of each of GAMMAS."""

    landscape: TemperatureMap
    curve: Float


def temperature_map(rows: PosthocRows, objective: str, label: int = 0) -> TemperatureMap:
    """Return the criterion over gamma and temperature, on some rows where there are many.

    `rows`: of those that are fitted on; `objective`: as of `core.calibrators.search.landscape`;
    `label`: of many labels, the one that is shown.

    Raises Refused: as of a fit.
    """
    logits, labels, weights = _some(rows, label)
    step = 1 if logits.size <= MAP_CELLS else 2
    grid = maps.landscape(
        logits,
        labels,
        weights=weights,
        objective=objective,
        gammas=maps.GAMMAS[step - 1 :: step],  # with 0 either way
        temperatures=maps.TEMPERATURES[::step],
    )
    return TemperatureMap(grid, len(labels), rows.n_fit)


def temperature_curve(rows: PosthocRows, objective: str, label: int = 0) -> Float:
    """Return the best temperature for each of GAMMAS, on the rows of `temperature_map`."""
    logits, labels, weights = _some(rows, label)
    return maps.temperature_curve(logits, labels, weights=weights, objective=objective)


def _some(rows: PosthocRows, label: int) -> tuple[npt.NDArray[np.floating], Int, Float | None]:
    """Return logits, labels and weights of some fitting rows, drawn at random where many count."""
    weights = rows.fit_weights
    row_numbers = np.arange(rows.n_fit) if weights is None else np.flatnonzero(weights)
    if rows.fit_from.task is Task.MULTILABEL:
        at = row_numbers if rows.numbers is None else rows.numbers[0][row_numbers]
        row_numbers = row_numbers[rows.fit_from.labels[at, label] >= 0]
    n = min(row_numbers.size, max(MAP_ROWS, MAP_CELLS // rows.fit_from.n_classes))
    at = row_numbers[np.sort(np.random.default_rng(0).permutation(row_numbers.size)[:n])]
    some = rows.some_fit(at)
    own = None if weights is None else weights[at]
    logits = logits_of(some)
    if some.task is Task.MULTILABEL:
        return logits[:, label], some.labels[:, label], own
    return logits, some.labels, own


class FocalPoint(NamedTuple):
    """A gamma of the focal calibration map, and the temperature before it."""

    gamma: float
    temperature: float


@dataclass(frozen=True, kw_only=True)
class TemperatureStep:
    """A run at one temperature: bins of equal width, ECE, NLL, and mean confidence minus accuracy.

    Then the focal calibration map of gamma; 0 is none. Of two classes bins, ECE and gap are of the
    event, as in the table of methods.
    """

    temperature: float
    gamma: float
    bins: BinSums
    ece: float
    nll: float
    gap: float


@dataclass(frozen=True, kw_only=True)
class TemperatureWalk:
    """Reported rows at ascending temperatures, or gammas, the marks among them."""

    steps: tuple[TemperatureStep, ...]  # of temperatures 1 is one, of gammas 0
    marks: Mapping[str, float]  # the temperature that was fitted by an objective
    focal: FocalPoint | None  # the gamma and temperature that were fitted together
    # used, rows: rows that were read, and those that are reported
    used: int
    rows: int
    target: int | None  # the class whose probability is read; None for the answers


def temperature_walk(
    rows: PosthocRows,
    fitted: tuple[str, float] | None,
    focal: FocalPoint | None = None,
    gamma: float = 0.0,
) -> TemperatureWalk:
    """Return the reported rows at many temperatures, on some of them where there are many.

    Parameters
    ----------
    rows : PosthocRows
        With one answer a row.
    fitted : tuple of str and float, or None
        An objective, and the temperature that was fitted by it on `rows.fit`. Beside that of the
        NLL the one with the smallest ECE of the answers is searched here, on the rows of
        `temperature_map`; not for two classes, whose steps are of the event.
    focal : FocalPoint, optional
        What was fitted together on `rows.fit`.
    gamma : float
        Of every step.

    Raises
    ------
    Refused
        CLASSES, as of `logits_of`.
    """
    marks = {} if fitted is None else dict([fitted])
    reported = _Reported.of(rows)
    if "nll" in marks and reported.margins is not None:
        fit_margins = LogitMargins.of(*_some(rows, 0))
        marks["ece"] = best_temperature(fit_margins, "ece", "exact").temperature
    fixed = {1.0, *marks.values(), *([focal.temperature] if focal else [])}
    ends = min(WALK_ENDS[0], *fixed), max(WALK_ENDS[1], *fixed)
    grid = np.geomspace(*ends, WALK_STEPS).tolist()
    between = [t for t in grid if min(abs(np.log(t / mark)) for mark in fixed) > NEAR]
    return TemperatureWalk(
        steps=tuple(_at(float(t), gamma, reported) for t in sorted({*between, *fixed})),
        marks=marks,
        focal=focal,
        used=reported.rows.n,
        rows=rows.n_test,
        target=reported.target,
    )


def gamma_walk(
    rows: PosthocRows, focal: FocalPoint | None = None, temperature: float = 1.0
) -> TemperatureWalk:
    """Return the reported rows at many gammas and one temperature, as `temperature_walk`."""
    reported, fixed = _Reported.of(rows), {0.0, *([focal.gamma] if focal else [])}
    between = [g for g in maps.GAMMAS if min(abs(g - mark) for mark in fixed) > NEAR_GAMMA]
    return TemperatureWalk(
        steps=tuple(_at(temperature, g, reported) for g in sorted({*between, *fixed})),
        marks={},
        focal=focal,
        used=reported.rows.n,
        rows=rows.n_test,
        target=reported.target,
    )


@dataclass(frozen=True)
class _Reported:
    """Reported rows, some of them where there are many: as logits, and as margins of answers."""

    rows: Predictions
    logits: npt.NDArray[np.floating]
    margins: LogitMargins | None

    @property
    def target(self) -> int | None:
        """The class whose probability is read; None for the answers."""
        return self.rows.default_target

    @classmethod
    def of(cls, rows: PosthocRows) -> "_Reported":
        """Return the rows of the part that is reported."""
        weights = rows.test_weights
        counted = np.arange(rows.n_test) if weights is None else np.flatnonzero(weights)
        n = min(counted.size, max(MAP_ROWS, WALK_CELLS // rows.test_from.n_classes))
        at = np.sort(np.random.default_rng(0).permutation(counted.size)[:n])
        test = rows.some_test(counted[at])
        logits = logits_of(test)
        if logits.ndim == 2:
            logits = np.maximum(logits - logits.max(axis=1, keepdims=True), LOWEST)
        if test.default_target is not None:
            return cls(test, logits, None)
        own = None if test.weights is None else test.weights.of_row
        return cls(test, logits, LogitMargins.of(logits, test.labels, own))


def _at(temperature: float, gamma: float, reported: _Reported) -> TemperatureStep:
    """Return rows at a temperature and gamma; answers are read from margins, which is faster."""
    rows, margins = reported.rows, reported.margins
    as_read = (temperature, gamma) == (1.0, 0.0)
    loss = nll(rows) if as_read else None  # as the table: of a probability of 0, too
    if margins is None:
        scores = np.divide(reported.logits, temperature, dtype=np.float64)
        if gamma != 0.0 and scores.ndim == 1:
            scores = binary_focal_map(scores, gamma)
        elif gamma != 0.0:
            scores = log_focal_map(log_softmax(scores), gamma)
        scaled = replace(
            rows, kind=ScoreKind.LOGITS, scores=scores, renormalise=False, members=None
        )
        ranked = SortedOutcomes.of(scaled.outcomes(reported.target))
        loss = nll(scaled) if loss is None else loss
    else:
        ranked = margins.ranked(margins.confidences(temperature, [gamma])[0])
        loss = float(margins.nll(temperature, [gamma])[0]) if loss is None else loss
    bins = binning.sums(ranked, binning.equal_width_cuts(ranked, N_BINS))
    return TemperatureStep(
        temperature=temperature,
        gamma=gamma,
        bins=bins,
        ece=ece(ranked, n_bins=N_BINS),
        nll=loss,
        gap=float(bins.gap.sum() / bins.count.sum()),
    )


@dataclass(frozen=True)
class ConfidentAnswers:
    """Answers given with a confidence of at least 0.99: |S99| and its accuracy.

    `share` is theirs of all rows; `accuracy` is NaN where there are none.
    """

    share: float
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class InnateCalibration:
    """What temperature scaling still changes about a run; little where innately calibrated."""

    temperature: float  # the NLL's optimum on the fitting rows
    at_bound: bool  # it stands at the end of its range
    # before, after: the reported rows as read, and scaled
    before: MethodReport
    after: MethodReport
    gap: Difference  # ECE after minus before, paired: minus the temperature gap
    # sure_before, sure_after: Mukhoti et al. 2020, table 6.
    sure_before: ConfidentAnswers
    sure_after: ConfidentAnswers


def innate_calibration(
    test: Predictions, before: MethodReport, scaled: EvaluatedMethod
) -> InnateCalibration:
    """Return a run before and after temperature scaling by NLL.

    `test`: the rows that are reported, multi-class or binary; `before`: these rows as read;
    `scaled`: temperature scaling by NLL, fitted and judged on them.
    """
    assert scaled.fit is not None
    assert isinstance(scaled.fit.calibrator, Temperature)
    assert scaled.judged is not None
    scaling, after = scaled.fit.calibrator, scaled.judged
    gap = compare([before.compared, after.compared], ["before", "after"], 0).differences[1]["ece"]
    return InnateCalibration(
        temperature=scaling.temperature_,
        at_bound=scaling.report_.at_bound,
        before=before,
        after=after,
        gap=gap,
        sure_before=_sure(test),
        sure_after=_sure(calibrated(scaling, test)),
    )


def innate_of_splits(
    sources: Mapping[str, Source],
    choice: RowChoice,
    before: EvaluatedMethod,
    scaled: EvaluatedMethod,
) -> InnateCalibration:
    """Return the same where the scores lie; sources and choice as of `posthoc.evaluate_splits`."""
    assert before.judged is not None
    return innate_calibration(chosen_parts(sources, choice).test, before.judged, scaled)


def _sure(rows: Predictions) -> ConfidentAnswers:
    answers = SortedOutcomes.of(rows.outcomes(None))
    return ConfidentAnswers(s99_share(answers), s99_accuracy(answers))
