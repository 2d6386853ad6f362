"""One finding in use: decision curve, a threshold, another prevalence, subgroups, a test."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from core.arrays import Bool, Int
from core.defaults import FALSE_ALARMS, FEW_EVENTS
from core.metrics.clinical import Classified, HosmerLemeshow, classified, net_benefit
from core.metrics.clinical.groups import Subgroup
from core.metrics.intervals import quantile, wilson
from core.metrics.null_test import holm
from core.metrics.records import Score
from core.metrics.units import design_effect
from core.predictions import INDEPENDENT, SamplingDesign
from core.screens.kit.cards import level
from core.screens.kit.numbers import (
    THIN,
    UNDER_ONE,
    count,
    in_hundred,
    percent,
    points,
    span,
    two,
    two_span,
)
from core.screens.kit.records import (
    Cell,
    Column,
    Estimate,
    FigureCard,
    Mark,
    ScoreTable,
    Table,
    TableRow,
    columns_of,
    estimate,
    with_ends,
)
from core.screens.kit.theme import Tone
from core.screens.xray import figures
from core.screens.xray.finding import few, outside
from core.screens.xray.words import TOO_FEW, ClinicSource, finding, sourced
from core.studies.clinic import THRESHOLDS, OneFinding

OUTCOMES = {"caught": "✓", "missed": "×", "alarm": "!", "alone": ""}  # signs of films
FEW_SHARE = 0.05  # below it 100 films would show next to none with the finding
FLAGS = "Films with a score at or above it are flagged."
ASSUMED = "assumes that only the prevalence changes"
THRESHOLD_SHOWN = (
    Column("value", "Share", "percent"),
    Column("of", "Of", "count"),
)
THRESHOLD_COLUMNS = (
    Column("number", "number"),
    Column("threshold", "threshold", "share"),
    *columns_of("number", value="value", low="low", high="high"),
    Column("source", "source"),
)
GROUP_SHOWN = (
    Column("n", "n", "count"),
    Column("events", "Labelled with it", "count"),
    Column("observed_expected", "O:E", "two"),
    Column("citl", "In the large", "signed_two"),
    Column("slope", "Slope", "two"),
    Column("intercept", "Intercept", "signed_two"),
    Column("ece", "ECE, %", "unsigned_points"),
)
GROUP_COLUMNS = (
    Column("group", "group"),
    *columns_of("count", n="n", events="labelled with it"),
    *(
        Column(f"{key}{end}", f"{key}{end}", "number")
        for key in ("observed_expected", "citl", "slope", "intercept", "ece")
        for end in ("", "_low", "_high")
    ),
    Column("ece_floor_q95", "noise floor, 95th percentile", "number"),
    *columns_of(note="note", source="source"),
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
    """Return what calling scores at or above a threshold positive does, here and elsewhere.

    `there` has the predictive values for another prevalence.
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
    text = _flagged(source, here.threshold, flagged, here.true_positive, here.false_negative)
    table = ScoreTable("At this threshold", THRESHOLD_SHOWN, THRESHOLD_COLUMNS, rows)
    return ThresholdUse(table, text)


YES = frozenset({"1", "1.0", "yes", "y", "true", "positive", "present"})
NO = frozenset({"0", "0.0", "no", "n", "false", "negative", "absent"})
READER_COLUMNS = (
    Column("number", "number"),
    *(Column(f"{who}{end}", f"{who}{end}", "number") for who in ("model", "reader")
      for end in ("", "_low", "_high")),
)  # fmt: skip


def reads(values: Sequence[str]) -> Bool | None:
    """Return a column of a table as yes and no of each film; None where it says anything else."""
    cells = [value.strip().casefold() for value in values]
    return np.array([cell in YES for cell in cells]) if {*cells} <= YES | NO else None


def kappa(
    called: Bool, actual: Bool, level: float, sampling: SamplingDesign = INDEPENDENT
) -> Score:
    """Return Cohen's kappa of calls and labels, with groups and weights of the films.

    The interval is by Cohen's standard error (1960) for as many films as they are worth; where all
    or none agree, which leaves that error 0, by Wilson's limits of the agreement.
    """
    n, weights = called.size, np.ones(called.size) if sampling.weights is None else sampling.weights
    counted, agree = weights > 0.0, called == actual
    if np.unique(np.concatenate([called[counted], actual[counted]])).size < 2:
        return Score("kappa", None, None, None, level, n, reason="all films are called alike")
    agreed, yes, events = (
        float(np.average(some, weights=weights)) for some in (agree, called, actual)
    )
    both = yes * events + (1.0 - yes) * (1.0 - events)
    value = (agreed - both) / (1.0 - both)
    effective_n = float(weights.sum()) / design_effect(agree, sampling)
    if np.unique(agree[counted]).size == 1:
        ends = wilson(np.array(agreed * effective_n), np.array(effective_n), level)
        low, high = ((float(end) - both) / (1.0 - both) for end in ends)
    else:
        half = quantile(level) * (agreed * (1.0 - agreed) / effective_n) ** 0.5 / (1.0 - both)
        low, high = value - half, value + half
    return Score("kappa", value, max(-1.0, min(low, value)), min(1.0, max(high, value)), level, n)


def reader_table(analysis: OneFinding, threshold: float, reader: Bool) -> ScoreTable:
    """Return the model at a threshold next to a person who read the same films.

    Both are held against the labels; net benefit is at the threshold.
    """
    p, y, sampling, level = analysis.p, analysis.y, analysis.sampling, analysis.net.level
    columns: dict[str, dict[str, Score]] = {}
    for who, calls in (("model", p >= threshold), ("reader", reader)):
        stated = calls.astype(np.float64)
        counted = classified(stated, y, 0.5, level, sampling=sampling)
        net = net_benefit(stated, y, [threshold], level=level, sampling=sampling)
        benefit, low, high = (float(part[0]) for part in (net.model, net.low, net.high))
        columns[who] = {
            "Sensitivity": counted.sensitivity,
            "Specificity": counted.specificity,
            "Cohen’s kappa": kappa(calls, y, level, sampling),
            "Net benefit": Score("net_benefit", benefit, low, high, level, y.size),
        }
    rows = tuple(
        TableRow(
            name=name,
            cells={"number": name}
            | with_ends("model", estimate(columns["model"][name]))
            | with_ends("reader", estimate(columns["reader"][name])),
        )
        for name in columns["model"]
    )
    shown = Column("model", "Model", "decimals"), Column("reader", "Reader", "decimals")
    return ScoreTable("Against the labels", shown, READER_COLUMNS, rows)


def threshold_words(threshold: float) -> str:
    """Return a threshold in percent with the digits it was chosen with: 10.0 %, 7.25 %."""
    exact = round(100.0 * threshold, 6)
    return percent(threshold) if exact == round(exact, 1) else f"{exact:g}{THIN}%"


def _flagged(source: ClinicSource, threshold: float, flagged: int, caught: int, missed: int) -> str:
    at, films = threshold_words(threshold), source.reference_class
    return (
        f"At {at} or more, {count(flagged)} of {films} are flagged; {count(caught)} of them are "
        f"labelled with it, and {count(missed)} that are labelled with it are not flagged."
    )


@dataclass(frozen=True)
class ThresholdStep:
    """What one of many thresholds does: a sentence, and films by `OUTCOMES`, which sum to all.

    `counts` are these in words: a film in 200 is missed as "fewer than 1" of 100, never as 0.
    """

    text: str
    films: tuple[int, int, int, int]
    counts: tuple[str, ...]


def threshold_steps(
    source: ClinicSource,
    analysis: OneFinding,
    thresholds: Sequence[float],
    prevalence: float | None = None,
) -> tuple[ThresholdStep, ...]:
    """Return what each threshold does, of 100 films; of 1,000 where few are with or without it.

    At the `prevalence` of another clinic, in (0, 1), films are counted by sensitivity and
    specificity there.
    """
    order = np.argsort(analysis.p)
    weights = analysis.sampling.weights
    event = analysis.y[order]
    each = np.ones(event.size) if weights is None else weights[order]
    below = np.searchsorted(analysis.p[order], thresholds, side="left")
    # by row and by weight: with the finding and without it, below each position
    rows, sums = (
        [np.concatenate([[0.0], np.cumsum(some * of_row)]) for some in (event, ~event)]
        for of_row in (np.ones(event.size), each)
    )
    missed, spared = (part[below] / part[-1] if part[-1] else 0.0 * below for part in sums)
    share = sums[0][-1] / (sums[0][-1] + sums[1][-1]) if prevalence is None else prevalence
    films = 100 if FEW_SHARE <= share <= 1.0 - FEW_SHARE else 1_000
    events = round(films * share)
    steps = []
    for i, at in enumerate(thresholds):
        left, alone = round(events * missed[i]), round((films - events) * spared[i])
        without, caught = int(rows[0][below[i]]), int(rows[0][-1] - rows[0][below[i]])
        flagged = event.size - int(below[i])
        icons = (events - left, left, films - events - alone, alone)
        there = (caught, without, flagged - caught, int(below[i]) - without)
        steps.append(
            ThresholdStep(
                text=_flagged(source, at, flagged, caught, without),
                films=icons,
                counts=tuple(
                    UNDER_ONE if n and not shown else str(shown)
                    for shown, n in zip(icons, there, strict=True)
                ),
            )
        )
    return tuple(steps)


def wrong_films(analysis: OneFinding, threshold: float, *, missed: bool) -> Int:
    """Return the films that a threshold misses, or its false alarms, nearest to it first."""
    p, flagged = analysis.p, analysis.p >= threshold
    wrong = np.flatnonzero(analysis.y & ~flagged if missed else ~analysis.y & flagged)
    return wrong[np.argsort(np.abs(p[wrong] - threshold), kind="stable")]


def group_table(source: ClinicSource, column: str, subgroups: Sequence[Subgroup]) -> ScoreTable:
    """Return one row a subgroup; numbers beyond chance are strong, but no slope of few events.

    They are so only in groups that the joint test detects among all groups (Holm).
    `column` is what the groups were formed by.
    """
    corrected = holm([subgroup.p_value for subgroup in subgroups])
    detected = {i for i, p in enumerate(corrected) if p <= FALSE_ALARMS}
    caption = f"groups by {column}. {source.caption}"
    rows = tuple(
        _group_row(subgroup, caption, detected=i in detected)
        for i, subgroup in enumerate(subgroups)
    )
    return ScoreTable("Group", GROUP_SHOWN, GROUP_COLUMNS, rows)


def group_card(
    source: ClinicSource, column: str, subgroups: Sequence[Subgroup], table: ScoreTable
) -> FigureCard | None:
    """Return the calibration in the large of each group; None where no group has one.

    `table` is that of the same groups: what is strong in it is filled here.
    """
    dots = []
    for subgroup, row in zip(subgroups, table.rows, strict=True):
        score = subgroup.fit.in_the_large
        if score.value is None or score.low is None or score.high is None:
            continue
        tone: Tone = "few"
        if row.cell("citl").mark == "beyond":
            tone = "over" if score.value < 0.0 else "under"
        name, n = subgroup.name, subgroup.fit.n
        dots.append(figures.GroupDot(name, n, score.value, score.low, score.high, tone))
    if not dots:
        return None
    listed = "; ".join(
        f"{dot.name} {two(dot.value, signed=True)} ({two_span(dot.low, dot.high, signed=True)})"
        for dot in dots
    )
    return FigureCard(
        key="clinic_groups",
        title=f"In the large by {column}",
        explanation="0 is ideal; hollow: could be chance",
        draw=partial(figures.groups, tuple(dots)),
        alt=f"Calibration in the large, in log odds, by {column}: {listed}.",
        table=table.file,
        caption=source.caption,
    )


def _group_row(subgroup: Subgroup, caption: str, *, detected: bool) -> TableRow:
    fit, floor = subgroup.fit, subgroup.floor.q95
    verdict = f"{TOO_FEW}: its curve is not judged" if subgroup.too_few else ""
    cells = {
        "n": Estimate(fit.n),
        "events": Estimate(fit.events, note=percent(fit.events / fit.n)),
        "observed_expected": estimate(fit.observed_expected),
        "citl": estimate(fit.in_the_large),
        "slope": estimate(fit.slope),
        "intercept": estimate(fit.intercept),
        "ece": estimate(subgroup.ece, note=f"chance: up to {points(floor)}"),
    }
    # the numbers whose intervals miss their ideals, and the error above its floor
    ideals = {"observed_expected": (fit.observed_expected, 1.0), "citl": (fit.in_the_large, 0.0)}
    if not fit.swayed and not subgroup.too_few:  # a few rows next to 0 or 1 decide the slope
        ideals |= {"slope": (fit.slope, 1.0), "intercept": (fit.intercept, 0.0)}
    away = {key for key, (score, ideal) in ideals.items() if outside(score, ideal)}
    if subgroup.ece.value is not None and subgroup.ece.value > floor:
        away.add("ece")
    away = away if detected else set()
    ends: dict[str, Estimate | Cell] = {}
    for key, cell in cells.items():
        mark: Mark = "beyond" if key in away else "tie" if subgroup.too_few else ""
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


def hosmer_words(test: HosmerLemeshow, sampling: SamplingDesign) -> str:
    """Return the Hosmer-Lemeshow test in words; why there is none for grouped or weighted rows."""
    if not sampling.independent:
        return (
            "The Hosmer-Lemeshow test assumes independent, unweighted films. These are grouped "
            "or weighted, so no p-value is shown."
        )
    chance = "under 0.001" if test.p_value < 0.001 else f"{test.p_value:.3f}"
    return (
        f"Hosmer-Lemeshow over {test.groups} groups of equal counts: chi-square "
        f"{test.statistic:.1f} on {test.df} degrees of freedom (films not fitted on), p {chance}."
    )


BENEFIT = (
    "Net benefit: true alarms minus false alarms per 100 films, with false alarms weighted by "
    "the threshold. At 20 % one true alarm is worth four false ones. The clinic chooses the "
    "threshold, not the data. Following the model beats treating none where the share labelled "
    "with it among the flagged exceeds the threshold."
)
BAND = (
    "The simultaneous {level} band contains the whole curve, at every threshold from 0.1 to 99 "
    "%, in that share of samples."
)


def decision_card(
    source: ClinicSource, name: str, analysis: OneFinding, ends: tuple[float, float]
) -> FigureCard:
    """Return the decision curve over a range of thresholds, fractions."""
    net = analysis.net
    hovers = [_hover_text(analysis, i, source.films) for i in range(net.thresholds.size)]
    in_range = [i for i, t in enumerate(THRESHOLDS) if ends[0] - 1e-9 <= t <= ends[1] + 1e-9]
    columns = (
        Column("threshold", "threshold", "share"),
        *columns_of(
            "number", net_benefit="net benefit", low="low", high="high", treat_all="treat all"
        ),
        *columns_of("count", flagged="flagged", flagged_with_it="labelled with it among them"),
    )
    parts = (net.thresholds, net.model, net.low, net.high, net.treat_all)
    rows = tuple(
        (
            *(float(part[i]) for part in parts),
            int(analysis.flagged[i]),
            int(analysis.flagged_events[i]),
        )
        for i in in_range
    )
    benefit = benefit_words(analysis, ends)
    return FigureCard(
        key="clinic_decision",
        title="Decision curve",
        explanation=f"net benefit, {level(analysis.audit)} band",
        draw=partial(figures.decision, net, hovers, ends),
        alt=f"{finding(name)}: net benefit of following the model against treating all and none. "
        f"{benefit}",
        table=sourced(Table(columns, rows), source),
        caption=f"{BAND.format(level=level(analysis.audit))} {source.caption}",
    )


def _hover_text(analysis: OneFinding, i: int, films: str) -> str:
    net, flagged = analysis.net, int(analysis.flagged[i])
    t = float(net.thresholds[i])
    ends = (float(net.low[i]), float(net.high[i]))
    lead = f"<b>At {percent(t)}</b>: benefit {points(float(net.model[i]))} ({span(*ends)})"
    if not flagged:
        return f"{lead}<br>no {films} flagged"
    share = int(analysis.flagged_events[i]) / flagged
    if net.low[i] > 0.0 and not few(analysis):
        beside = "above the threshold, so better than treating none"
    elif net.model[i] > 0.0:
        beside = "above the threshold, which may be chance"
    else:
        beside = "not above the threshold, so no better than treating none"
    return (
        f"{lead}<br>flagged {count(flagged)}, {percent(share)} of them labelled with it:"
        f"<br>{beside}<br>treat all: {points(float(net.treat_all[i]))}"
    )


def benefit_words(analysis: OneFinding, ends: tuple[float, float]) -> str:
    """Return where, in a range of thresholds, following the model is the better way."""
    net = analysis.net
    if few(analysis):
        return (
            f"{TOO_FEW[:1].upper()}{TOO_FEW[1:]} (under {FEW_EVENTS} with it or without it) to say "
            "whether following the model is better than treating all and treating none."
        )
    inside = (net.thresholds >= ends[0] - 1e-9) & (net.thresholds <= ends[1] + 1e-9)
    spans = _spans(inside & (net.gain_low > 0.0), inside)
    if not spans:
        return (
            "Following the model is at no threshold in this range better, beyond chance, than both "
            "treating all and treating none."
        )
    if len(spans) == 1 and inside[spans[0][0] : spans[0][1] + 1].sum() == inside.sum():
        low, high = (float(net.thresholds[at]) for at in spans[0])
        return (
            "Following the model is better, beyond chance, than treating all and treating none at "
            f"every threshold shown, {percent(low)} to {percent(high)}."
        )
    ranges = " and ".join(
        f"at {percent(float(net.thresholds[a]))}"
        if a == b
        else f"from {percent(float(net.thresholds[a]))} to {percent(float(net.thresholds[b]))}"
        for a, b in spans
    )
    return (
        f"Following the model is better, beyond chance, than treating all and treating none "
        f"{ranges}."
    )


def _spans(better: Bool, inside: Bool) -> Sequence[tuple[int, int]]:
    """Return first and last position of each run of thresholds that are better."""
    spans: list[tuple[int, int]] = []
    for i in np.flatnonzero(better & inside).tolist():
        if spans and spans[-1][1] == i - 1:
            spans[-1] = (spans[-1][0], i)
        else:
            spans.append((i, i))
    return spans
