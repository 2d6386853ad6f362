"""Several runs before and after temperature scaling: who is calibrated by training already."""

from collections.abc import Mapping, Sequence
from math import isnan

from core.screens.kit.differences import better
from core.screens.kit.numbers import percent
from core.screens.kit.records import Cell, Column
from core.screens.kit.run_marks import RunMark
from core.screens.kit.tables import (
    Estimate,
    PageColumn,
    ScoreTable,
    TableRow,
    difference_cell,
    estimate,
    with_ends,
)
from core.screens.posthoc.words import CHANCE, explained
from core.studies.fitted_temperature import ConfidentAnswers, InnateCalibration
from core.studies.posthoc import MethodReport

SHOWN = (
    PageColumn("temperature", "T", "number"),
    PageColumn("ece_before", "ECE as read, %", "unsigned_points"),
    PageColumn("ece_after", "ECE after T, %", "unsigned_points"),
    PageColumn("ece_difference", "Temperature gap, points", "points"),
    PageColumn("s99_share_before", "Sure answers as read, %", "unsigned_points"),
    PageColumn("s99_share_after", "Sure answers after T, %", "unsigned_points"),
)
COLUMNS = (
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
CAPTION = (
    "A run that training has calibrated needs a T near 1, and temperature scaling changes little. "
    "Temperature gap: ECE after minus before, paired, on the same resamples; tie: the interval "
    "includes zero. Chance: the 95th percentile of the ECE that a calibrated model would show. "
    "Sure answers: those with a confidence of 99 % or more (|S99|), in small type how many of them "
    "are right. T is fitted by NLL on each run's own fitting rows."
)
NEAR = 0.1  # of 1: a temperature that changes a confidence of 90 % by less than a point


def innate_table(runs: Sequence[tuple[str, RunMark, InnateCalibration]]) -> ScoreTable:
    """Return a row for each run: its name, its badge and its calibration."""
    return ScoreTable("Run", SHOWN, COLUMNS, tuple(_row(*run) for run in runs))


def _row(name: str, mark: RunMark, calibration: InnateCalibration) -> TableRow:
    near = abs(calibration.temperature - 1.0) <= NEAR
    note = "at its bound" if calibration.at_bound else "near 1" if near else ""
    return TableRow(
        name=name,
        mark=mark,
        cells={
            "run": name,
            "temperature": Estimate(calibration.temperature, note=note),
            **with_ends("ece_difference", difference_cell(calibration.gap)),
            **_when("before", calibration.before, calibration.sure_before),
            **_when("after", calibration.after, calibration.sure_after),
        },
    )


def _when(when: str, judged: MethodReport, sure: ConfidentAnswers) -> dict[str, Estimate | Cell]:
    """Return the cells of a run as read, or after its temperature."""
    main = judged.compared.audit.main
    right = f"{percent(sure.accuracy)} right" if sure.share else "none"
    return {
        **with_ends(f"ece_{when}", estimate(main.metrics["ece"], note=explained(judged, CHANCE))),
        f"ece_{when}_floor_q95": main.noise_floor["ece"].q95,
        f"s99_share_{when}": Estimate(_known(sure.share), note=right),
        f"s99_accuracy_{when}": _known(sure.accuracy),
    }


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
    return f"T is near 1 for {listed}: calibrated by training, as far as a temperature can tell."
