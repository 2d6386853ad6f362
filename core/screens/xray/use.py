"""One finding in use: what a threshold does, another prevalence, subgroups, a test on request."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.defaults import FALSE_ALARMS
from core.metrics.clinical import Classified, HosmerLemeshow
from core.metrics.clinical.groups import Subgroup
from core.metrics.null_test import holm
from core.metrics.records import Score
from core.predictions import Extents
from core.screens.kit.numbers import THIN, count, in_hundred, percent, points, span, two, two_span
from core.screens.kit.records import Cell, CellWords, Column, ScoreRow, Table
from core.screens.xray.verdict import outside
from core.screens.xray.words import TOO_FEW, ClinicSource

ASSUMED = "assumes that only the prevalence changes"
THRESHOLD_HEADS = ("At this threshold", "Share", "Of")
GROUP_HEADS = (
    "Group",
    "n",
    "Labelled with it",
    "O:E",
    "In the large",
    "Slope",
    "Intercept",
    "ECE, %",
)
GROUP_COLUMNS = (
    Column("group", "group"),
    Column("n", "n", "count"),
    Column("events", "labelled with it", "count"),
    *(
        Column(f"{key}{end}", f"{key}{end}", "number")
        for key in ("observed_expected", "citl", "slope", "intercept", "ece")
        for end in ("", "_low", "_high")
    ),
    Column("ece_floor_q95", "noise floor, 95th percentile", "number"),
    Column("note", "note"),
    Column("source", "source"),
)
CAUTION = (
    "The Hosmer-Lemeshow test depends on how films are grouped, says nothing of how far or in "
    "which direction scores are off, and rejects every model on enough films. Guidelines advise "
    "against it (Van Calster et al. 2019); read the curve instead."
)


@dataclass(frozen=True)
class ThresholdUse:
    """What a threshold does: rows of the table, its raw numbers, and a sentence."""

    rows: tuple[ScoreRow, ...]
    table: Table
    text: str


def at_threshold(source: ClinicSource, here: Classified, there: Classified | None) -> ThresholdUse:
    """Return what calling scores at or above a threshold positive does.

    Parameters
    ----------
    source : ClinicSource
        Where the numbers come from.
    here : Classified
        In this set.
    there : Classified or None
        With the predictive values for another prevalence.
    """
    flagged = here.true_positive + here.false_positive
    measures: tuple[tuple[str, Score, str], ...] = (
        ("Sensitivity", here.sensitivity, "of 100 with it are flagged"),
        ("Specificity", here.specificity, "of 100 without it are not flagged"),
        ("PPV, this set", here.ppv, "of 100 flagged are labelled with it"),
        ("NPV, this set", here.npv, "of 100 not flagged are not labelled with it"),
    )
    if there is not None:
        at = f"prevalence {percent(there.prevalence)}"
        measures += (
            (f"PPV, {at}", there.ppv, f"of 100 flagged would have it; {ASSUMED}"),
            (f"NPV, {at}", there.npv, f"of 100 not flagged would not; {ASSUMED}"),
        )
    rows = tuple(
        ScoreRow(
            name=name,
            cells=(
                _percent(score),
                CellWords(count(score.n) if score.settings.get("interval") == "Wilson" else ""),
            ),
            notes=(f"{in_hundred(score.value, score.low, score.high)} {words}",),
        )
        for name, score, words in measures
    )
    columns = (
        Column("number", "number"),
        Column("threshold", "threshold", "share"),
        Column("value", "value", "number"),
        Column("low", "low", "number"),
        Column("high", "high", "number"),
        Column("source", "source"),
    )
    lines = tuple(
        (name, here.threshold, score.value, score.low, score.high, source.caption)
        for name, score, _ in measures
    )
    missed = here.false_negative
    text = (
        f"At {percent(here.threshold)} or more, {count(flagged)} of {source.reference_class} are "
        f"flagged; {count(here.true_positive)} of them are labelled with it, and {count(missed)} "
        "that are labelled with it are not flagged."
    )
    return ThresholdUse(rows, Table(columns, lines), text)


def _percent(score: Score) -> CellWords:
    if score.value is None:
        return CellWords("–", reason=score.reason)
    value = points(score.value, score.low, score.high)
    return CellWords(f"{value}{THIN}%", span(score.low, score.high))


def group_rows(subgroups: Sequence[Subgroup]) -> tuple[ScoreRow, ...]:
    """Return one row a subgroup; numbers beyond chance are strong, unless events are too few.

    They are so only in groups that the joint test detects among all groups judged (Holm).
    """
    judged = [i for i, subgroup in enumerate(subgroups) if not subgroup.too_few]
    corrected = holm([subgroups[i].p_value for i in judged])
    detected = {i for i, p in zip(judged, corrected, strict=True) if p <= FALSE_ALARMS}
    return tuple(
        _group_row(subgroup, detected=i in detected) for i, subgroup in enumerate(subgroups)
    )


def _group_row(subgroup: Subgroup, *, detected: bool) -> ScoreRow:
    fit = subgroup.fit
    ideals = (
        (fit.observed_expected, 1.0),
        (fit.in_the_large, 0.0),
        (fit.slope, 1.0),
        (fit.intercept, 0.0),
    )
    cells = [
        CellWords(count(fit.n)),
        CellWords(count(fit.events), percent(fit.events / fit.n)),
        *(_two(score, signed=ideal == 0.0) for score, ideal in ideals),
        CellWords(
            points(subgroup.ece.value, subgroup.ece.low, subgroup.ece.high),
            f"{span(subgroup.ece.low, subgroup.ece.high)}; chance: up to "
            f"{points(subgroup.floor.q95)}",
        ),
    ]
    judged = ideals[:2] if fit.swayed else ideals  # a few rows next to 0 or 1 decide the slope
    away = {i + 2 for i, (score, ideal) in enumerate(judged) if outside(score, ideal)}
    if subgroup.ece.value is not None and subgroup.ece.value > subgroup.floor.q95:
        away.add(len(cells) - 1)
    every = frozenset(range(len(cells)))
    return ScoreRow(
        name=subgroup.name,
        cells=tuple(cells),
        notes=(f"{TOO_FEW}: no verdict",) if subgroup.too_few else (),
        strong=frozenset(away) if detected else frozenset(),
        ties=every if subgroup.too_few else frozenset(),
    )


def _two(score: Score, *, signed: bool) -> CellWords:
    if score.value is None or score.low is None or score.high is None:
        return CellWords("–", reason=score.reason)
    ends = two_span(score.low, score.high, signed=signed)
    return CellWords(two(score.value, signed=signed), ends)


def group_table(source: ClinicSource, column: str, subgroups: Sequence[Subgroup]) -> Table:
    """Return every number of the subgroups; `column` is what they were formed by."""
    lines: list[tuple[Cell, ...]] = []
    for subgroup in subgroups:
        fit = subgroup.fit
        scores = (fit.observed_expected, fit.in_the_large, fit.slope, fit.intercept, subgroup.ece)
        lines.append(
            (
                subgroup.name,
                fit.n,
                fit.events,
                *(part for score in scores for part in (score.value, score.low, score.high)),
                subgroup.floor.q95,
                f"{TOO_FEW}: no verdict" if subgroup.too_few else "",
                f"groups by {column}. {source.caption}",
            )
        )
    return Table(GROUP_COLUMNS, tuple(lines))


def hosmer_words(test: HosmerLemeshow, extents: Extents) -> str:
    """Return the Hosmer-Lemeshow test in words; why there is none for grouped or weighted rows."""
    if not extents.independent:
        return (
            "The Hosmer-Lemeshow test assumes independent, unweighted rows; these are grouped or "
            "weighted, so no p-value is shown."
        )
    chance = "under 0.001" if test.p_value < 0.001 else f"{test.p_value:.3f}"
    return (
        f"Hosmer-Lemeshow over {test.groups} groups of equal counts: chi-square "
        f"{test.statistic:.1f} on {test.df} degrees of freedom (rows not fitted on), p {chance}."
    )
