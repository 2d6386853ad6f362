"""One finding of a run: in full, and in plain words by bands of its scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from core.codes import NoticeCode
from core.metrics import clinical
from core.metrics.clinical import Bands, shifted
from core.metrics.clinical.groups import too_few
from core.metrics.intervals import quantile
from core.metrics.macro import ChanceAfterHolm
from core.metrics.notices import summary_of
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import BEYOND_CHANCE, DETECTED, SLOPE, Floor, Score, VerdictCode
from core.predictions import Outcomes
from core.screens.kit.cards import bin_table, level, strip
from core.screens.kit.marks import filled
from core.screens.kit.methods import IN_SENTENCE
from core.screens.kit.numbers import (
    THIN,
    about_hundred,
    chance,
    count,
    in_hundred,
    percent,
    points,
    singular,
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
    columns_of,
)
from core.screens.kit.sentences import counted_as, effective_n_words, taken_alone, verdict_sentence
from core.screens.kit.words import GLOSSARY, LABELS, TONE_WORDS, with_row_noun
from core.screens.xray import figures
from core.screens.xray.figures import NARROW, Band, IconArray, draw_bands, reading
from core.screens.xray.words import (
    DOTS,
    PLAIN,
    READINGS,
    TOO_FEW,
    ClinicSource,
    finding,
    sourced,
)
from core.studies.clinic import CURVE, Error, OneFinding

FINDINGS: Final = "findings"  # what labels are called here
LEAST_OFF: Final = 0.01  # of ECE: a score that is off by less may be read as a probability
FAR_OFF: Final = 0.10  # of ECE: a score that is off by as much is none; nor one off by the rate


@dataclass(frozen=True)
class Badge:
    """What must be said over the numbers: a heading and its text; `alarm` for the strongest.

    `recalibrated` where it speaks of a recalibration, and not of scores that need one.
    """

    title: str
    text: str
    alarm: bool = False
    recalibrated: bool = False


def few(analysis: OneFinding) -> bool:
    """Whether there are too few events or non-events for a verdict on the curve."""
    return too_few(analysis.fit.rarer)


def extremes(source: ClinicSource, analysis: OneFinding) -> str:
    """Return how many films have scores next to 0 or 1; empty without any."""
    n = analysis.fit.extreme
    films = source.films if n > 1 else source.films[:-1]
    return f"{count(n)} {films} within a millionth of 0 or 1" if n else ""


def hanging(source: ClinicSource, analysis: OneFinding) -> str:
    """Return that films with scores next to 0 or 1 decide the slope; empty where they do not."""
    return f"the slope depends much on {extremes(source, analysis)}" if analysis.fit.swayed else ""


def sentence(source: ClinicSource, analysis: OneFinding) -> Sentence:
    """Return the verdict on one finding, in the words of every page, and how its scores spread."""
    target = analysis.audit
    second = (
        taken_alone(target, FINDINGS),
        _spread(source, analysis),
        effective_n_words(target, source.films),
    )
    return Sentence(verdict_sentence(target, FINDINGS).parts, " ".join(filter(None, second)))


def _spread(source: ClinicSource, analysis: OneFinding) -> str:
    """Return what slope and curve say of the spread of the scores."""
    fit, slope = analysis.fit, analysis.fit.slope
    if few(analysis):
        events = f"{count(fit.events)} of {count(fit.n)}"
        if analysis.sampling.groups is not None:
            n, it = (fit.n - fit.events, "without") if fit.rate > 0.5 else (fit.events, "with")
            about = "" if int(fit.rarer) >= n else "about "
            rows = f"{about}{count(int(fit.rarer))}"
            events += f"; the {count(n)} {it} it count as {rows} independent ones"
        return f"{TOO_FEW.capitalize()} to judge its curve ({events})."
    if slope.value is None or slope.low is None or slope.high is None:
        return f"{slope.reason[:1].upper()}{slope.reason[1:]}."
    interval = f"(slope {two(slope.value)}, {two_span(slope.low, slope.high)})"
    unjudged, changed = hanging(source, analysis), analysis.recalibrated
    if changed is not None and changed.fit.method == "isotonic":
        steps = "isotonic regression leaves few steps, which a slope does not describe"
        unjudged = f"{steps}; {unjudged}" if unjudged else steps
    if unjudged:
        return f"No verdict on the spread of its scores {interval}: {unjudged}."
    if outside(slope, 1.0) and not _detected(analysis):
        by_holm = isinstance(analysis.audit.verdict, ChanceAfterHolm)
        rest = "among all findings" if by_holm else "when mean and bins are tested too"
        return (
            f"The spread of its scores could be chance {interval}: taken alone its interval "
            f"excludes 1, but not {rest}."
        )
    verdict = analysis.audit.verdict
    if outside(slope, 1.0) and (verdict.reading or verdict.code in SLOPE):  # as the headline says
        return ""
    if slope.high < 1:
        return f"Its scores are too extreme {interval}."
    if slope.low > 1:
        return f"Its scores are not spread enough {interval}."
    if _curved(analysis) and _detected(analysis) and not outside(fit.in_the_large, 0.0):
        off = points(analysis.audit.metrics["ici"].value or 0.0)
        return f"Mean and slope fit; its curve is off by {off} points (ICI)."
    return (
        f"The spread of its scores fits {interval}, as far as {count(source.n)} {source.films} "
        "can show."
    )


def _detected(analysis: OneFinding) -> bool:
    """Whether the joint test of gap, slope and ECE finds its scores off, as the verdict says."""
    return analysis.audit.verdict.code in DETECTED


def outside(score: Score, ideal: float) -> bool:
    """Whether the interval of a score excludes its ideal."""
    if score.low is None or score.high is None:
        return False
    return not score.low <= ideal <= score.high


def _beyond(error: Score, floor: Floor) -> bool:
    """Whether an error is larger than a perfect model's would look, and large enough to matter."""
    return error.value is not None and error.value > max(floor.q95, LEAST_OFF)


def _curved(analysis: OneFinding) -> bool:
    """Whether the flexible curve leaves the diagonal beyond chance, which a slope may not show."""
    return not few(analysis) and _beyond(
        analysis.audit.metrics["ici"], analysis.audit.noise_floor["ici"]
    )


def _off(analysis: OneFinding) -> bool:
    """Whether calibration in the large, the slope or the curve misses its ideal beyond chance.

    Where scores next to 0 or 1 decide the slope, Spiegelhalter's test speaks, which they do not.
    """
    if outside(analysis.fit.in_the_large, 0.0) or _curved(analysis):
        return True
    if not analysis.fit.swayed:
        return outside(analysis.fit.slope, 1.0)
    z = analysis.audit.metrics["spiegelhalter_z"]
    return z.value is not None and abs(z.value) > quantile(z.level)


def badge(source: ClinicSource, analysis: OneFinding) -> Badge | None:
    """Return what must be said of scores that are no probabilities, or of a recalibration."""
    changed = analysis.recalibrated
    if changed is not None:
        return _recalibrated(source, analysis)
    error, floor = analysis.audit.metrics["ece"], analysis.audit.noise_floor["ece"]
    one_sided = analysis.fit.events in (0, analysis.fit.n)  # nothing is ranked, or can be fitted
    if one_sided or not (_detected(analysis) and _off(analysis) and _beyond(error, floor)):
        return None
    if NoticeCode.NOT_PROBABILITY in {note.code for note in analysis.notices}:
        return Badge(
            "This score is not a probability",
            f"50{THIN}% is not an even chance. The score may have been rescaled, or findings may "
            "be rarer here than in training.",
            alarm=True,
        )
    rarer = min(analysis.fit.rate, 1.0 - analysis.fit.rate)
    size = error.value or 0.0
    far = size - floor.mean >= FAR_OFF or size >= rarer
    off = f"ff by {points(error.value)} points (ECE)"
    perfect = f"Chance: up to {points(floor.q95)}."
    if far:
        return Badge("This score is not a probability", f"It is o{off}. {perfect}")
    return Badge(f"O{off}", perfect)


def _recalibrated(source: ClinicSource, analysis: OneFinding) -> Badge:
    changed = analysis.recalibrated
    assert changed is not None
    method = changed.fit.method
    difference = changed.difference
    verdict = "a difference within chance" if difference.tie else "beyond chance"
    method_words = {
        "beta": "a curve of three numbers that keeps the order of films and needs few events",
        "isotonic": "a rising staircase of any form, which needs many events",
    }[method]
    return Badge(
        f"Recalibrated by {IN_SENTENCE[method]}",
        f"{method_words.capitalize()}; fitted on {count(changed.rows)} other {source.films}. "
        f"Every number and figure here is of the {count(source.n)} that were not fitted on. "
        f"Their ECE goes from {_with_floor(changed.before)} to {_with_floor(after(analysis))}: "
        f"{points(difference.value, signed=True)} points "
        f"({span(difference.low, difference.high, signed=True)}), {verdict}.",
        recalibrated=True,
    )


def after(analysis: OneFinding) -> Error:
    """Return the calibration error of the scores as they are shown."""
    return Error(analysis.audit.metrics["ece"], analysis.audit.noise_floor["ece"])


def _with_floor(error: Error) -> str:
    return f"{points(error.score.value)}{THIN}% (chance: up to {points(error.floor.q95)})"


HEADS = ("Number", "Value", "A perfect model: up to")
KEY = (*DOTS, Swatch("flexible curve and its band", "ink", "bar"))
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
NOTES = {
    "citl": "intercept with the slope held at 1",
    "intercept": "intercept fitted with the slope",
    "brier": "summed over both outcomes: twice the Brier score of the page",
    "brier_event": "(p − y)², the Brier score of the page",
}
NUMBER_LABELS = LABELS | {"observed_expected": "O:E"}
NUMBER_COLUMNS = (
    Column("number", "number"),
    *columns_of(
        "number", value="value", low="low", high="high", floor_q95="noise floor, 95th percentile"
    ),
    *columns_of(reason="note", source="source"),
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
    curve = FigureCard(
        key="clinic_curve",
        title="Labelled, against the score",
        explanation=f"{TOO_FEW}: {FEW_TEXT}" if scarce else coloured,
        draw=partial(figures.flexible, analysis.curve, bins, few=scarce),
        alt=(
            f"{label}: flexible calibration curve with its band over {len(filled(analysis.bins))} "
            f"bins{', ' + TOO_FEW if scarce else ''}. {dots}. Mean distance of curve and score "
            f"(ICI) {points(ici.value)} points, a perfect model up to {points(floor.q95)}."
        ),
        table=sourced(bin_table(bins), source),
        caption=smoother + source.caption,
    )
    return FindingView(
        eyebrow=f"Chest X-ray · {source.run} · {label} · {source.split}{rest}",
        sentence=sentence(source, analysis),
        badge=badge(source, analysis),
        numbers=_tiles(source, analysis),
        curve=curve,
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
            f"Stated on average {points(fit.mean)}{THIN}%, labelled with it "
            f"{points(fit.rate)}{THIN}%. On the log-odds scale: the intercept of a logistic "
            "regression whose slope is held at 1, above 0 where there are more events than stated.",
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
            help=with_row_noun(GLOSSARY["prevalence"]),
        ),
    )


def _outcomes_card(source: ClinicSource, label: str, analysis: OneFinding) -> FigureCard:
    histogram = figures.by_outcome(analysis.p, analysis.y)
    halves = [
        percent(float(np.median(analysis.p[side]))) if side.any() else "none"
        for side in (analysis.y, ~analysis.y)
    ]
    columns = (
        *columns_of("share", low="from", high="to"),
        *columns_of("count", with_it="labelled with it", without="not labelled with it"),
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
        draw=partial(figures.distributions, histogram, source.films),
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
    scarce, fit = few(analysis), analysis.fit
    fitted = {"intercept": fit.intercept, "observed_expected": fit.observed_expected}
    scores, rows = {**analysis.audit.metrics, **fitted}, []
    for metric in (*CURVE, "intercept", "auroc", "auprc", "observed_expected", "spiegelhalter_z"):
        score, floor = scores[metric], analysis.audit.noise_floor.get(metric)
        if score.value is None:
            value = CellWords("–", reason=score.reason)
        elif metric in CURVE:
            text = points(score.value, score.low, score.high)
            value = CellWords(f"{text}{THIN}%", span(score.low, score.high))
        elif metric == "spiegelhalter_z":
            p_value = score.settings.get("p_value")
            p_text = "" if not isinstance(p_value, float) else chance(p_value)
            value = CellWords(two(score.value, signed=True), p_text)
        else:
            value = CellWords(three(score.value), three_span(score.value, score.low, score.high))
        notes = (MEANINGS[metric], TOO_FEW if scarce and metric in CURVE else "")
        up_to = CellWords("" if floor is None else f"{points(floor.q95)}{THIN}%")
        rows.append(ScoreRow(name=NUMBER_LABELS[metric], cells=(value, up_to), notes=notes))
    return tuple(rows)


def _table(source: ClinicSource, analysis: OneFinding) -> Table:
    fits = (analysis.fit.in_the_large, analysis.fit.slope, analysis.fit.intercept)
    scores = (*fits, analysis.fit.observed_expected, *analysis.audit.metrics.values())
    floors, remark = analysis.audit.noise_floor, extremes(source, analysis)
    rows = []
    for score in scores:
        metric, floor = score.metric, floors.get(score.metric)
        note = NOTES.get(metric, "")
        if metric in CURVE:
            note = SMOOTHED[str(score.settings["smoother"])]
        reason = score.reason or _noted(note, remark if score in fits else "")
        ends = (score.value, score.low, score.high)
        q95 = None if floor is None else floor.q95
        rows.append((metric, *ends, q95, reason, source.caption))
    return Table(NUMBER_COLUMNS, tuple(rows))


def waiting(name: str) -> Sentence:
    """Return what stands over the page while a finding is computed."""
    return Sentence((Phrase(f"Analysing {name}."),))


# One finding in plain words.
RISK = "This is not the patient’s risk."
BAND_KEY = (
    Swatch("says more than it should", "over", "dot"),
    Swatch("says less", "under", "dot"),
    Swatch(READINGS["sound"], "sound", "ring"),
    Swatch(f"{READINGS['few']}, or too few", "few", "ring"),
)
BAND_COLUMNS = (
    *columns_of("share", low="score from", high="to"),
    *columns_of("count", count="films", events="labelled with it"),
    *columns_of("share", says="the model says", labelled="share labelled with it"),
    *columns_of("share", ci_low="at least", ci_high="at most"),
    Column("reading", "reading"),
)


@dataclass(frozen=True)
class PlainFinding:
    """Everything that the view of one finding draws in plain words."""

    eyebrow: str
    sentence: Sentence
    title: str
    note: str
    icons: IconArray | None
    card: FigureCard
    care: tuple[str, ...]
    caption: str


def most_miscalibrated_band(bands: Bands) -> int:
    """Return the band whose promise was missed most; without one, the fullest."""
    each = Band.each(bands)
    missed = [i for i, band in enumerate(each) if band.tone in {"over", "under"}]
    if not missed:
        return int(np.argmax(bands.count))
    return max(missed, key=lambda i: abs(each[i].mean - each[i].share))


def plain_view(
    source: ClinicSource,
    name: str,
    outcomes: Outcomes,
    *,
    band: int,
    prevalence: float | None = None,
    overall: Sentence | None = None,
    code: VerdictCode | None = None,
) -> PlainFinding:
    """Return one finding in plain words.

    The sentence speaks of `band`, a tenth of the scores, 0 to 9. With the prevalence of another
    clinic, in (0, 1), what was found is carried over by prior shift. `overall` is what every page
    says of films of all scores. No band is called off unless the verdict finds the finding off.
    """
    source = replace(source, plain=True)
    observed = clinical.bands(outcomes.confidence, outcomes.correct, sampling=outcomes.sampling)
    if code is not None and code not in DETECTED:
        none = np.zeros_like(observed.least)
        observed = replace(observed, least=none, most=none + 1.0)
    share = float(np.average(outcomes.correct, weights=outcomes.weights))
    if not 0.0 < share < 1.0:
        prevalence = None  # there are no odds to move
    moved = observed if prevalence is None else elsewhere(observed, share, prevalence)
    bands = Band.each(moved)
    chosen, here = bands[band], f"Here {in_hundred(share)} in 100 carried the label."
    sentence = band_sentence(source, name, bands, band, prevalence)
    if overall is not None:
        sentence = replace(sentence, second=f"{sentence.second} {overall.text}".strip())
    icons, carried, to = chosen.icons, "", ""
    care = [f"{here} Counts will differ {'at another clinic' if source.of_films else 'elsewhere'}."]
    if prevalence is not None:
        to = f"carried over to {percent(prevalence)} labelled"
        carried = (
            f"Carried over from {percent(share)} labelled in {source.reference_class} to a clinic "
            f"where {percent(prevalence)} carry the label; that assumes that nothing else changes."
        )
        care = [
            f"The counts come from {source.reference_class}, where {in_hundred(share)} in 100 "
            f"carried the label, and were carried over to {in_hundred(prevalence)} in 100. That "
            "assumes that nothing else changes."
        ]
        if icons is not None:
            key = ("would be labelled at least", "may be", "would not be labelled")
            icons = replace(icons, key=key)
    if chosen.count and not chosen.few and chosen.ci_high - chosen.ci_low > NARROW:
        _, low, high = chosen.hundred
        films = f"Only {count(chosen.count)} {source.films} lie in this band"
        care.append(f"{films}, so the count may be {low} to {high}.")
    if outcomes.groups is not None:
        groups = summary_of("", SortedOutcomes.of(outcomes))
        care.append(
            f"These are {source.counted}. Those that belong together may be alike: for this "
            f"finding they {counted_as(groups, source.n)}."
        )
    return PlainFinding(
        eyebrow=f"{PLAIN.page} · {source.run} · {PLAIN.label(name)}",
        sentence=sentence,
        title=f"100 {source.films} like these",
        note="; ".join(filter(None, (f"{count(chosen.count)} scored {chosen.name}", to))),
        icons=icons,
        card=_bands_card(source, name, bands, band, carried, to),
        care=tuple(care),
        caption=source.caption,
    )


def elsewhere(bands: Bands, share: float, prevalence: float) -> Bands:
    """Return what the bands would hold at another prevalence, if only that changes."""
    if not 0.0 < share < 1.0:
        return bands
    shares = (bands.share, bands.ci_low, bands.ci_high, bands.least, bands.most)
    moved = [shifted(part, share, prevalence) for part in shares]
    return Bands(bands.low, bands.high, bands.count, bands.events, bands.mean, *moved)


def band_sentence(
    source: ClinicSource,
    name: str,
    bands: Sequence[Band],
    i: int,
    prevalence: float | None = None,
) -> Sentence:
    """Return what became of the films of one band, with its reference class.

    The number is the events observed in that band, as times in 100; of few films as they were
    counted, at any prevalence.
    """
    band, filled = bands[i], [k for k, band in enumerate(bands) if band.count]
    scores = f"{round(100 * band.low)} {{}} {round(100 * band.high)}{THIN}%"
    with_it = f"labelled as showing {PLAIN.shown(name)}"
    if not band.count:
        after = " after recalibration" if source.recalibrated else ""
        none = f"No {source.films[:-1]} scores {scores.format('to')}{after}."
        side = "lower" if i > max(filled) else "higher" if i < min(filled) else "different"
        return Sentence((Phrase(f"{none} Choose a {side} band."),))
    if band.few:
        films = (
            "1 " + source.films[:-1] if band.count == 1 else f"{count(band.count)} {source.films}"
        )
        was = "was" if band.events == 1 else "were"
        first = (
            f"Only {films} of {source.reference_class} scored between {scores.format('and')}, too "
            f"few to tell: {band.events} of them {was} {with_it}."
        )
        return Sentence((Phrase(first),), verdict_words(band))
    times, at_least, at_most = band.hundred
    was = "was" if singular(times) else "were"
    between = f"the model scores between {scores.format('and')}"
    if prevalence is None:
        lead = f"Of 100 {source.films} that {between}, "
        rest = f" {was} {with_it} in {source.reference_class}."
    else:
        lead = (
            f"Where {in_hundred(prevalence)} in 100 {source.films} carry the label, of 100 that "
            f"{between}, "
        )
        rest = f" would be {with_it}, if nothing else differs from {source.reference_class}."
    return Sentence(
        (
            Phrase(f"{lead}{about_hundred(times)}"),
            Phrase(f" ({at_least} to {at_most})", unbroken=True),
            Phrase(rest),
        ),
        verdict_words(band),
    )


def verdict_words(band: Band) -> str:
    """Return what the model says of a band, and whether it over- or understates."""
    says = f"The model says {in_hundred(band.mean)}"
    if band.few:
        return f"{says}."
    ending = {
        "over": "it overstates here",
        "under": "it understates here",
        "sound": f"it {READINGS['sound']}",
        "few": READINGS["few"],
    }[band.tone]
    return f"{says}: {ending}."


def _bands_card(
    source: ClinicSource, name: str, bands: Sequence[Band], chosen: int, carried: str, to: str
) -> FigureCard:
    spoken = "; ".join(
        f"scored {band.name} ({count(band.count)} {source.films}): says {in_hundred(band.mean)}, "
        f"found {band.share_words()}"
        for band in bands
        if band.count
    )
    rows = tuple(
        (
            *(band.low, band.high, band.count),
            None if carried else band.events,  # none were counted at that prevalence
            *band.file_cells,
            band.reading if band.count else "",
        )
        for band in bands
    )
    alt = f"{finding(name)}, of 100 {source.films} in each band of scores: {spoken}. {carried}"
    return FigureCard(
        key="clinic_bands",
        title="Score against labels",
        explanation=to,
        draw=partial(draw_bands, bands, chosen),
        alt=alt.strip(),
        table=sourced(Table(BAND_COLUMNS, rows), source, carried),
        caption=f"{carried} {source.caption}".strip(),
    )
