"""Several runs before and after temperature scaling: who is calibrated by training already."""

from collections.abc import Mapping, Sequence
from math import isnan

from core.screens.kit.differences import better, difference_words
from core.screens.kit.numbers import percent, points, span, three
from core.screens.kit.records import CellWords, Column, Table
from core.screens.posthoc.view import CHANCE, TIE
from core.screens.posthoc.words import explained
from core.studies.innate import ConfidentAnswers, InnateCalibration
from core.studies.posthoc import MethodReport

HEADS = (
    "Run",
    "T",
    "ECE as read, %",
    "ECE after T, %",
    "Temperature gap, points",
    "Sure answers as read, %",
    "Sure answers after T, %",
)
CAPTION = (
    "A run that training has calibrated needs a T near 1, and temperature scaling changes little. "
    "Temperature gap: ECE after minus before, paired, on the same resamples; tie: the interval "
    "holds zero. Chance: the 95th percentile of the ECE that a calibrated model would show. Sure "
    "answers: those with a confidence of 99 % or more (|S99|), in small type how many of them are "
    "right. T is fitted by log-loss on each run's own fitting rows."
)
NEAR = 0.1  # of 1: a temperature that changes a confidence of 90 % by less than a point


def innate_cells(calibration: InnateCalibration) -> tuple[CellWords, ...]:
    """Return the cells of one run, in the order of HEADS after its name."""
    near = abs(calibration.temperature - 1.0) <= NEAR
    note = "at its bound" if calibration.at_bound else "near 1" if near else ""
    value, interval = difference_words(calibration.gap)
    return (
        CellWords(three(calibration.temperature), note),
        *(_ece(judged) for judged in (calibration.before, calibration.after)),
        CellWords(TIE if calibration.gap.tie else value, interval, calibration.gap.reason),
        _sure(calibration.sure_before),
        _sure(calibration.sure_after),
    )


def _ece(judged: MethodReport) -> CellWords:
    score = judged.compared.audit.main.metrics["ece"]
    chance = explained(judged, CHANCE)
    return CellWords(points(score.value), f"{span(score.low, score.high)}{chance}")


def _sure(answers: ConfidentAnswers) -> CellWords:
    right = f"{percent(answers.accuracy)} right" if answers.share else "none"
    return CellWords(points(answers.share), right)


def innate_table(runs: Sequence[tuple[str, InnateCalibration]]) -> Table:
    """Return the same as raw numbers, for the file."""
    columns = (
        Column("run", "run"),
        Column("temperature", "T", "number"),
        *(
            Column(f"{key}{end}", key, "share")
            for key in ("ece_before", "ece_after", "ece_difference")
            for end in ("", "_low", "_high")
        ),
        *(
            Column(f"ece_{when}_floor_q95", f"ece {when}, noise floor, 95th percentile", "share")
            for when in ("before", "after")
        ),
        *(
            Column(f"s99_{key}_{when}", f"s99 {key} {when}", "share")
            for when in ("before", "after")
            for key in ("share", "accuracy")
        ),
    )
    rows = []
    for name, calibration in runs:
        before, after = (
            judged.compared.audit.main.metrics["ece"]
            for judged in (calibration.before, calibration.after)
        )
        ends = [end for e in (before, after, calibration.gap) for end in (e.value, e.low, e.high)]
        sure = [
            _known(number)
            for answers in (calibration.sure_before, calibration.sure_after)
            for number in (answers.share, answers.accuracy)
        ]
        floors = [
            judged.compared.audit.main.noise_floor["ece"].q95
            for judged in (calibration.before, calibration.after)
        ]
        rows.append((name, calibration.temperature, *ends, *floors, *sure))
    return Table(columns, tuple(rows))


def _known(value: float) -> float | None:
    return None if isnan(value) else value


def summary(runs: Mapping[str, InnateCalibration]) -> str:
    """Return one sentence: which runs need no temperature.

    That none is calibrated is said only where a temperature lowers the error of every run beyond
    chance: a T that is fitted on few rows lies away from 1 by chance.
    """
    near = [
        name for name, calibration in runs.items() if abs(calibration.temperature - 1.0) <= NEAR
    ]
    if not near:
        if all(better(calibration.gap) for calibration in runs.values()):
            return "None of these runs has a T near 1: none is calibrated by its training alone."
        return (
            "None of these runs has a T near 1; where the temperature gap is a tie, that could be "
            "chance."
        )
    listed = ", ".join(f"“{name}”" for name in near)
    return f"T is near 1 for {listed}: calibrated by training, as far as one knob can tell."
