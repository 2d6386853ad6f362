"""One finding in use: what a threshold does, another prevalence, subgroups, a test on request."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.defaults import FALSE_ALARMS
from core.metrics.clinical import Classified, HosmerLemeshow
from core.metrics.clinical.groups import Subgroup
from core.metrics.null_test import holm
from core.metrics.records import Score
from core.predictions import Extents
from core.screens.kit.numbers import count, in_hundred, percent, points
from core.screens.kit.records import Cell, Column
from core.screens.kit.tables import (
    Estimate,
    Mark,
    PageColumn,
    ScoreTable,
    TableRow,
    estimate,
    with_ends,
)
from core.screens.xray.verdict import outside
from core.screens.xray.words import TOO_FEW, ClinicSource

ASSUMED = "assumes that only the prevalence changes"
THRESHOLD_SHOWN = (
    PageColumn("value", "Share", "percent"),
    PageColumn("of", "Of", "count"),
)
THRESHOLD_COLUMNS = (
    Column("number", "number"),
    Column("threshold", "threshold", "share"),
    Column("value", "value", "number"),
    Column("low", "low", "number"),
    Column("high", "high", "number"),
    Column("source", "source"),
)
GROUP_SHOWN = (
    PageColumn("n", "n", "count"),
    PageColumn("events", "Labelled with it", "count"),
    PageColumn("observed_expected", "O:E", "two"),
    PageColumn("citl", "In the large", "signed_two"),
    PageColumn("slope", "Slope", "two"),
    PageColumn("intercept", "Intercept", "signed_two"),
    PageColumn("ece", "ECE, %", "unsigned_points"),
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
    "The Hosmer-Lemeshow test depends on how films are grouped, does not say how far or in "
    "which direction scores are off, and rejects every model on enough films. Guidelines "
    "advise against it (Van Calster et al. 2019). Read the curve instead."
)


@dataclass(frozen=True)
class ThresholdUse:
    """What a threshold does: a table, and a sentence."""

    table: ScoreTable
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
        TableRow(
            name=name,
            cells={
                "number": name,
                "threshold": here.threshold,
                "value": estimate(score),
                "low": score.low,
                "high": score.high,
                "source": source.caption,
                **({"of": score.n} if score.settings.get("interval") == "Wilson" else {}),
            },
            notes=(f"{in_hundred(score.value, score.low, score.high)} {words}",),
        )
        for name, score, words in measures
    )
    missed = here.false_negative
    text = (
        f"At {percent(here.threshold)} or more, {count(flagged)} of {source.reference_class} are "
        f"flagged; {count(here.true_positive)} of them are labelled with it, and {count(missed)} "
        "that are labelled with it are not flagged."
    )
    table = ScoreTable("At this threshold", THRESHOLD_SHOWN, THRESHOLD_COLUMNS, rows)
    return ThresholdUse(table, text)


def group_table(source: ClinicSource, column: str, subgroups: Sequence[Subgroup]) -> ScoreTable:
    """Return one row a subgroup; numbers beyond chance are strong, unless events are too few.

    They are so only in groups that the joint test detects among all groups judged (Holm).
    `column` is what the groups were formed by.
    """
    judged = [i for i, subgroup in enumerate(subgroups) if not subgroup.too_few]
    corrected = holm([subgroups[i].p_value for i in judged])
    detected = {i for i, p in zip(judged, corrected, strict=True) if p <= FALSE_ALARMS}
    caption = f"groups by {column}. {source.caption}"
    rows = tuple(
        _group_row(subgroup, caption, detected=i in detected)
        for i, subgroup in enumerate(subgroups)
    )
    return ScoreTable("Group", GROUP_SHOWN, GROUP_COLUMNS, rows)


def _group_row(subgroup: Subgroup, caption: str, *, detected: bool) -> TableRow:
    fit, floor = subgroup.fit, subgroup.floor.q95
    verdict = f"{TOO_FEW}: no verdict" if subgroup.too_few else ""
    cells = {
        "n": Estimate(fit.n),
        "events": Estimate(fit.events, note=percent(fit.events / fit.n)),
        "observed_expected": estimate(fit.observed_expected),
        "citl": estimate(fit.in_the_large),
        "slope": estimate(fit.slope),
        "intercept": estimate(fit.intercept),
        "ece": estimate(subgroup.ece, note=f"chance: up to {points(floor)}"),
    }
    away = _away(subgroup) if detected else set()
    ends: dict[str, Estimate | Cell] = {}
    for key, cell in cells.items():
        mark: Mark = "tie" if subgroup.too_few else "beyond" if key in away else ""
        ends |= with_ends(key, replace(cell, mark=mark))
    return TableRow(
        name=subgroup.name,
        cells={
            "group": subgroup.name,
            **ends,
            "ece_floor_q95": floor,
            "note": verdict,
            "source": caption,
        },
        notes=(verdict,) if verdict else (),
    )


def _away(subgroup: Subgroup) -> set[str]:
    """Return the numbers whose intervals miss their ideals, and the error above its floor."""
    fit = subgroup.fit
    ideals = {"observed_expected": (fit.observed_expected, 1.0), "citl": (fit.in_the_large, 0.0)}
    if not fit.swayed:  # a few rows next to 0 or 1 decide the slope
        ideals |= {"slope": (fit.slope, 1.0), "intercept": (fit.intercept, 0.0)}
    away = {key for key, (score, ideal) in ideals.items() if outside(score, ideal)}
    if subgroup.ece.value is not None and subgroup.ece.value > subgroup.floor.q95:
        away.add("ece")
    return away


def hosmer_words(test: HosmerLemeshow, extents: Extents) -> str:
    """Return the Hosmer-Lemeshow test in words; why there is none for grouped or weighted rows."""
    if not extents.independent:
        return (
            "The Hosmer-Lemeshow test assumes independent, unweighted films. These are grouped "
            "or weighted, so no p-value is shown."
        )
    chance = "under 0.001" if test.p_value < 0.001 else f"{test.p_value:.3f}"
    return (
        f"Hosmer-Lemeshow over {test.groups} groups of equal counts: chi-square "
        f"{test.statistic:.1f} on {test.df} degrees of freedom (films not fitted on), p {chance}."
    )
