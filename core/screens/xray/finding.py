"""One finding in full: sentence, badge, numbers, curve, scores by outcome, decision curve."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from core.metrics.records import Score
from core.metrics.verdict_codes import BEYOND_CHANCE
from core.screens.kit.bin_marks import filled
from core.screens.kit.cards import bin_table, level
from core.screens.kit.numbers import (
    THIN,
    chance,
    count,
    percent,
    points,
    span,
    three,
    three_span,
    two,
    two_span,
)
from core.screens.kit.records import (
    CellWords,
    Column,
    FigureCard,
    Phrase,
    ScoreRow,
    Sentence,
    Swatch,
    Table,
    Tile,
)
from core.screens.kit.tiles import strip
from core.screens.kit.units import spoken
from core.screens.kit.words import GLOSSARY, LABELS, TONE_WORDS
from core.screens.xray import finding_curves
from core.screens.xray.finding_figures import reading
from core.screens.xray.verdict import Badge, after, badge, extremes, few, hanging, sentence
from core.screens.xray.words import TOO_FEW, ClinicSource, finding, sourced
from core.studies.clinic import CURVE, OneFinding

HEADS = ("Number", "Value", "A perfect model: up to")
KEY = (
    Swatch("says more than it should", "over", "dot"),
    Swatch("says less", "under", "dot"),
    Swatch("within chance", "sound", "ring"),
    Swatch("too few to tell", "few", "ring"),
    Swatch("flexible curve and its band", "ink", "bar"),
)
FEW_KEY = (Swatch("too few to tell; the dotted curve has no verdict", "few", "ring"),)
MEANINGS = {
    "ici": "mean distance between curve and score, over films",
    "e50": "the distance that half of the films stay under",
    "e90": "the distance that 90 of 100 films stay under",
    "emax": "the largest distance",
    "intercept": "of the regression that also fits the slope; ideal 0",
    "observed_expected": "events over the sum of scores; ideal 1",
    "spiegelhalter_z": "a test of the Brier score; calibrated scores lie within ±1.96",
    "auroc": "how often a film with it scores higher than one without",
    "auprc": "average precision; a guess has the prevalence",
}
SMOOTHED = {
    "lowess": "lowess as of Harrell, lines over 2/3 of the films, no robust iterations",
    "loess": f"loess as of Austin and Steyerberg, parabolas over 75{THIN}% of the films",
}
NUMBER_LABELS = LABELS | {"observed_expected": "O:E"}
NUMBER_COLUMNS = (
    Column("number", "number"),
    Column("value", "value", "number"),
    Column("low", "low", "number"),
    Column("high", "high", "number"),
    Column("floor_q95", "noise floor, 95th percentile", "number"),
    Column("reason", "note"),
    Column("source", "source"),
)
FEW_TEXT = "the curve is not judged below 200 events or non-events"


@dataclass(frozen=True)
class FindingView:
    """Everything that the view of one finding draws before its controls."""

    eyebrow: str
    sentence: Sentence
    badge: Badge | None
    numbers: tuple[Tile, ...]
    curve: FigureCard
    key: tuple[Swatch, ...]
    outcomes: FigureCard
    rows: tuple[ScoreRow, ...]
    table: Table
    caption: str


def finding_view(source: ClinicSource, name: str, analysis: OneFinding) -> FindingView:
    """Return the view of one finding, as read or recalibrated."""
    label, remark = finding(name), hanging(source, analysis)
    rest = "" if analysis.recalibrated is None else " · recalibrated"
    return FindingView(
        eyebrow=f"Chest X-ray · {source.run} · {label} · {source.split}{rest}",
        sentence=sentence(source, analysis),
        badge=badge(source, analysis),
        numbers=_tiles(source, analysis),
        curve=_curve_card(source, label, analysis),
        key=FEW_KEY if few(analysis) else KEY,
        outcomes=_outcomes_card(source, label, analysis),
        rows=_rows(analysis),
        table=_table(source, analysis),
        caption=f"{remark[:1].upper()}{remark[1:]}. {source.caption}" if remark else source.caption,
    )


def _fit_tile(score: Score, note: str, meaning: str, *, signed: bool) -> Tile:
    label = LABELS[score.metric]
    if score.value is None or score.low is None or score.high is None:
        return Tile(label, "–", note=score.reason, help=meaning)
    ends = two_span(score.low, score.high, signed=signed)
    return Tile(label, two(score.value, signed=signed), interval=ends, note=note, help=meaning)


def _noted(note: str, remark: str) -> str:
    return "; ".join(part for part in (note, remark) if part)


def _tiles(source: ClinicSource, analysis: OneFinding) -> tuple[Tile, ...]:
    fit, error, metrics = analysis.fit, after(analysis), analysis.audit.metrics
    skill = metrics["brier_skill"]
    share = fit.events / fit.n
    brier = metrics["brier_event"].value
    gained, why, remark = "", "", extremes(source, analysis)
    if skill.value is not None:
        ends = span(skill.low, skill.high)
        gained = f"skill {points(skill.value, skill.low, skill.high)}{THIN}%"
        gained, why = (f"{gained} ({ends})", "") if ends else (gained, skill.reason)
    return (
        _fit_tile(
            fit.in_the_large,
            "ideal 0",
            "The intercept of a logistic regression whose slope is held at 1: above 0 there are "
            "more events than stated.",
            signed=True,
        ),
        _fit_tile(
            fit.slope,
            _noted("ideal 1", remark),
            "Below 1 the scores are too extreme, above 1 they are not spread enough.",
            signed=False,
        ),
        Tile(
            "ECE",
            points(error.score.value, error.score.low, error.score.high),
            "%",
            interval=span(error.score.low, error.score.high),
            help=GLOSSARY["ece"],
            strip=strip(error.score, error.floor, "ink"),
        ),
        Tile(
            "Brier score",
            three(brier),
            interval=gained,
            note=why,
            help="Mean of (p − y)², p the score and y the outcome, 0 or 1. Its skill is the part "
            "saved compared with giving every film the prevalence of this set.",
        ),
        Tile(
            "Labelled with it",
            points(share),
            "%",
            note=f"{count(fit.events)} of {count(fit.n)} {source.films}",
            help=spoken(GLOSSARY["prevalence"]),
        ),
    )


def _curve_card(source: ClinicSource, label: str, analysis: OneFinding) -> FigureCard:
    scarce, chance = few(analysis), analysis.audit.verdict.code not in BEYOND_CHANCE
    bins = replace(analysis.bins, could_be_chance=chance)
    coloured = "no dot is coloured: could be chance" if chance else "coloured: beyond its band"
    ici, floor = analysis.audit.metrics["ici"], analysis.audit.noise_floor["ici"]
    smoother = ""
    if analysis.curve is not None:
        exact = analysis.curve.settings["exact"]
        smoother = (
            f"{SMOOTHED[str(analysis.curve.settings['smoother'])]}, exact: {exact}; "
            f"{len(filled(analysis.bins))} equal-mass bins with Wilson {level(analysis.audit)}. "
        )
    dots = "; ".join(
        f"says {percent(float(analysis.bins.confidence[i]))}, labelled "
        f"{percent(float(analysis.bins.accuracy[i]))}"
        + ("" if scarce else f" ({TONE_WORDS[reading(bins, i, few=False)]})")
        for i in filled(analysis.bins)
    )
    return FigureCard(
        key="clinic_curve",
        title="Labelled, against the score",
        explanation=f"{TOO_FEW}: {FEW_TEXT}" if scarce else coloured,
        draw=partial(finding_curves.flexible, analysis.curve, bins, few=scarce),
        alt=(
            f"{label}: flexible calibration curve with its band over {len(filled(analysis.bins))} "
            f"bins{', ' + TOO_FEW if scarce else ''}. {dots}. Mean distance of curve and score "
            f"(ICI) {points(ici.value)} points, a perfect model up to {points(floor.q95)}."
        ),
        table=sourced(bin_table(bins), source),
        caption=smoother + source.caption,
    )


def _outcomes_card(source: ClinicSource, label: str, analysis: OneFinding) -> FigureCard:
    histogram = finding_curves.by_outcome(analysis.p, analysis.y)
    halves = [
        percent(float(np.median(analysis.p[side]))) if side.any() else "none"
        for side in (analysis.y, ~analysis.y)
    ]
    columns = (
        Column("low", "from", "share"),
        Column("high", "to", "share"),
        Column("with_it", "labelled with it", "count"),
        Column("without", "not labelled with it", "count"),
    )
    rows = zip(
        *(histogram.full_edges[:-1], histogram.full_edges[1:]),
        *(histogram.with_it, histogram.without),
        strict=True,
    )
    beyond = "; the end bars include all beyond" if histogram.below or histogram.above else ""
    return FigureCard(
        key="clinic_outcomes",
        title="Scores by outcome",
        explanation=f"share of each group, log-odds axis{beyond}",
        draw=partial(finding_curves.distributions, histogram, source.films),
        alt=(
            f"{label}: half of the {source.films} labelled with it score above {halves[0]}, half "
            f"of the others above {halves[1]}."
        ),
        table=sourced(
            Table(columns, tuple((float(a), float(b), int(n), int(m)) for a, b, n, m in rows)),
            source,
        ),
        caption=source.caption,
    )


def _rows(analysis: OneFinding) -> tuple[ScoreRow, ...]:
    scarce = few(analysis)
    rows = []
    for metric in (*CURVE, "intercept", "auroc", "auprc", "observed_expected", "spiegelhalter_z"):
        score = _score(analysis, metric)
        floor = analysis.audit.noise_floor.get(metric)
        value = _value_cell(score)
        notes = (MEANINGS[metric], TOO_FEW if scarce and metric in CURVE else "")
        up_to = CellWords("" if floor is None else f"{points(floor.q95)}{THIN}%")
        rows.append(ScoreRow(name=NUMBER_LABELS[metric], cells=(value, up_to), notes=notes))
    return tuple(rows)


def _score(analysis: OneFinding, metric: str) -> Score:
    if metric == "intercept":
        return analysis.fit.intercept
    if metric == "observed_expected":
        return analysis.fit.observed_expected
    return analysis.audit.metrics[metric]


def _value_cell(score: Score) -> CellWords:
    if score.value is None:
        return CellWords("–", reason=score.reason)
    if score.metric in CURVE:
        value = points(score.value, score.low, score.high)
        return CellWords(f"{value}{THIN}%", span(score.low, score.high))
    if score.metric == "spiegelhalter_z":
        p_value = score.settings.get("p_value")
        p_text = "" if not isinstance(p_value, float) else chance(p_value)
        return CellWords(two(score.value, signed=True), p_text)
    return CellWords(three(score.value), three_span(score.value, score.low, score.high))


def _table(source: ClinicSource, analysis: OneFinding) -> Table:
    fits = (analysis.fit.in_the_large, analysis.fit.slope, analysis.fit.intercept)
    scores = (*fits, analysis.fit.observed_expected, *analysis.audit.metrics.values())
    floors, remark = analysis.audit.noise_floor, extremes(source, analysis)
    rows = tuple(
        (
            score.metric,
            score.value,
            score.low,
            score.high,
            floors[score.metric].q95 if score.metric in floors else None,
            score.reason or _noted(_note(score), remark if score in fits else ""),
            source.caption,
        )
        for score in scores
    )
    return Table(NUMBER_COLUMNS, rows)


def _note(score: Score) -> str:
    if score.metric in CURVE:
        return SMOOTHED[str(score.settings["smoother"])]
    return {
        "citl": "intercept with the slope held at 1",
        "intercept": "intercept fitted with the slope",
        "brier": "summed over both outcomes: twice the Brier score of the page",
        "brier_event": "(p − y)², the Brier score of the page",
    }.get(score.metric, "")


def waiting(name: str) -> Sentence:
    """Return what stands over the page while a finding is computed."""
    return Sentence((Phrase(f"Analysing {name}."),))
