"""One finding in plain words: what became of films of a band of scores, as times in 100."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from core.metrics.clinical import Bands, shifted
from core.metrics.clinical import bands as estimate_bands
from core.metrics.grouped import summary_of
from core.metrics.ranked import SortedOutcomes
from core.metrics.verdict_codes import DETECTED, VerdictCode
from core.predictions import Outcomes
from core.screens.kit.numbers import (
    THIN,
    about_hundred,
    count,
    hundred_span,
    in_hundred,
    known,
    percent,
    points,
    singular,
)
from core.screens.kit.records import Column, FigureCard, Phrase, Sentence, Swatch, Table
from core.screens.kit.sentences import counted_as
from core.screens.kit.theme import Tone
from core.screens.xray.figures import BandDot, band_name
from core.screens.xray.figures import bands as draw_bands
from core.screens.xray.words import (
    PLAIN,
    TONES,
    ClinicSource,
    finding,
    sourced,
)

FEW_FILMS = 20  # in a band: below it there is no verdict, and no picture of 100
UNJUDGED = "no verdict: too few films at this score"
NARROW = 0.10
NARROW_ODDS = 2.0
RISK = "This is not the patient’s risk."
KEY = (
    Swatch("says more than it should", "over", "dot"),
    Swatch("says less", "under", "dot"),
    Swatch(TONES["sound"], "sound", "ring"),
    Swatch(f"{TONES['few']}, or too few films", "few", "ring"),
)
COLUMNS = (
    Column("low", "score from", "share"),
    Column("high", "to", "share"),
    Column("count", "films", "count"),
    Column("events", "labelled with it", "count"),
    Column("says", "the model says", "share"),
    Column("labelled", "share labelled with it", "share"),
    Column("ci_low", "at least", "share"),
    Column("ci_high", "at most", "share"),
    Column("reading", "reading"),
)


@dataclass(frozen=True)
class IconArray:
    """100 films as icons, whole numbers: solid to `low`, paler to `filled`, dashed to `high`.

    The key says what solid, what paler and dashed, and what empty ones are.
    """

    low: int
    filled: int
    high: int
    key: tuple[str, str, str]

    @property
    def text(self) -> str:
        """What the icons show, for those who do not see them."""
        return (
            f"{self.filled} of 100 icons are filled, {self.low} of them solid; dashed up to "
            f"{self.high}."
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
    swatches: tuple[Swatch, ...]
    care: tuple[str, ...]
    caption: str


def most_miscalibrated_band(bands: Bands) -> int:
    """Return the band whose promise was missed most; without one, the fullest."""
    missed = [i for i in range(len(bands.count)) if band_tone(bands, i) in {"over", "under"}]
    if not missed:
        return int(np.argmax(bands.count))
    return max(missed, key=lambda i: float(abs(bands.mean[i] - bands.share[i])))


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

    Parameters
    ----------
    source : ClinicSource
        Where the numbers come from.
    name : str
        The finding.
    outcomes : Outcomes
        Scores and labels.
    band : int
        Which tenth of the scores the sentence speaks of, 0 to 9.
    prevalence : float, optional
        Of another clinic, in (0, 1): what was found is carried over by prior shift.
    overall : Sentence, optional
        Of films of all scores, as every page says it.
    code : VerdictCode, optional
        The verdict on the finding: no band is called off unless that finds it off.
    """
    observed = estimate_bands(outcomes.confidence, outcomes.correct, extents=outcomes.extents)
    if code is not None and code not in DETECTED:
        none = np.zeros_like(observed.least)
        observed = replace(observed, least=none, most=none + 1.0)
    share = float(np.average(outcomes.correct, weights=outcomes.weights))
    if not 0.0 < share < 1.0:
        prevalence = None  # there are no odds to move
    moved = observed if prevalence is None else elsewhere(observed, share, prevalence)
    dots = band_dots(moved)
    scored = band_name(dots[band].low, dots[band].high)
    sentence = band_sentence(source, name, moved, band, prevalence)
    if overall is not None:
        sentence = replace(sentence, second=f"{sentence.second} {overall.text}".strip())
    carried = ""
    if prevalence is not None:
        carried = (
            f"Carried over from {percent(share)} labelled in {source.reference_class} to a clinic "
            f"where {percent(prevalence)} carry the label; that assumes that nothing else changes."
        )
    care = _care(source, share, moved, band, prevalence)
    if outcomes.groups is not None:
        groups = summary_of("", SortedOutcomes.of(outcomes))
        care += (
            f"These are {source.counted}. Those that belong together may be alike: for this "
            f"finding they {counted_as(groups, source.n)}.",
        )
    return PlainFinding(
        eyebrow=f"{PLAIN.page} · {source.run} · {PLAIN.label(name)}",
        sentence=sentence,
        title=f"100 {source.films} like these",
        note=f"{count(dots[band].n)} scored {scored}" + _to(prevalence, "; "),
        icons=icon_array(moved, band, counted=prevalence is None),
        card=replace(_card(source, name, moved, dots, band, carried), explanation=_to(prevalence)),
        swatches=KEY,
        care=care,
        caption=source.caption,
    )


def elsewhere(bands: Bands, share: float, prevalence: float) -> Bands:
    """Return what the bands would hold at another prevalence, if only that changes."""
    if not 0.0 < share < 1.0:
        return bands
    shares = (bands.share, bands.ci_low, bands.ci_high, bands.least, bands.most)
    moved = [shifted(part, share, prevalence) for part in shares]
    return Bands(bands.low, bands.high, bands.count, bands.events, bands.mean, *moved)


def band_tone(bands: Bands, i: int) -> Tone:
    """Return over or under where what is said is beyond chance among all bands.

    Sound is what fits an interval that is narrow in points and in odds: a risk of 1 % of which
    twice as much is said must not seem to be kept. Of few films nothing is said.
    """
    if bands.count[i] < FEW_FILMS:
        return "few"
    if bands.mean[i] > bands.most[i]:
        return "over"
    if bands.mean[i] < bands.least[i]:
        return "under"
    low, high = float(bands.ci_low[i]), float(bands.ci_high[i])
    narrow = high - low <= NARROW and high * (1.0 - low) <= NARROW_ODDS * low * (1.0 - high)
    return "sound" if low <= bands.mean[i] <= high and narrow else "few"


def band_dots(bands: Bands) -> list[BandDot]:
    """Return the bands as dots of a figure."""
    parts = (bands.low, bands.high, bands.mean, bands.share, bands.ci_low, bands.ci_high)
    keys = ("low", "high", "says", "rate", "ci_low", "ci_high")
    return [
        BandDot(
            **dict(zip(keys, (float(part[i]) for part in parts), strict=True)),
            n=int(bands.count[i]),
            tone=band_tone(bands, i),
        )
        for i in range(len(bands.count))
    ]


def known_share(value: float) -> float | None:
    """Return a share for a file; None where a band holds nothing."""
    return float(value) if np.isfinite(value) else None


def of_hundred(bands: Bands, i: int) -> tuple[str, str, str]:
    """Return what was found in a band and its bounds, as times in 100."""
    value, low, high = (float(part[i]) for part in (bands.share, bands.ci_low, bands.ci_high))
    times = in_hundred(value, low, high)
    if not known(value):
        return times, times, times
    whole = str(round(100 * low)), str(round(100 * high))
    if whole[0] == whole[1]:  # the interval is narrower than one film of 100
        whole = points(low, high), points(high, low)
    return times, *whole


def band_sentence(
    source: ClinicSource, name: str, bands: Bands, i: int, prevalence: float | None = None
) -> Sentence:
    """Return what became of the films of one band, with its reference class.

    The number is the events observed in that band, as times in 100.
    """
    low, high = round(100 * float(bands.low[i])), round(100 * float(bands.high[i]))
    with_it = f"labelled as showing {PLAIN.shown(name)}"
    if not bands.count[i]:
        none = f"No {source.films[:-1]} scores {low} to {high}{THIN}%"
        after = " after recalibration" if source.recalibrated else ""
        filled = np.flatnonzero(bands.count)
        side = "lower" if i > filled.max() else "higher" if i < filled.min() else "different"
        return Sentence((Phrase(f"{none}{after}. Choose a {side} band."),))
    times, at_least, at_most = of_hundred(bands, i)
    was = "was" if singular(times) else "were"
    if prevalence is None:
        lead = f"Of 100 {source.films} that the model scores between {low} and {high}{THIN}%, "
        rest = f" {was} {with_it} in {source.reference_class}."
    else:
        lead = (
            f"Where {in_hundred(prevalence)} in 100 {source.films} carry the label, of 100 that "
            f"the model scores between {low} and {high}{THIN}% "
        )
        rest = f" would be {with_it}, if nothing else differs from {source.reference_class}."
    return Sentence(
        (
            Phrase(f"{lead}{about_hundred(times)}"),
            Phrase(f" ({at_least} to {at_most})", unbroken=True),
            Phrase(rest),
        ),
        verdict_words(bands, i),
    )


def verdict_words(bands: Bands, i: int) -> str:
    """Return what the model says of a band, and whether it over- or understates."""
    says = in_hundred(float(bands.mean[i]))
    if bands.count[i] < FEW_FILMS:
        return f"The model says {says}: {UNJUDGED}."
    ending = {
        "over": "it overstates here",
        "under": "it understates here",
        "sound": f"it {TONES['sound']}",
        "few": TONES["few"],
    }[band_tone(bands, i)]
    return f"The model says {says}: {ending}."


def band_reading(bands: Bands, i: int) -> str:
    """Return what the model does in a band, as tables say it; the same on every view."""
    return UNJUDGED if bands.count[i] < FEW_FILMS else TONES[band_tone(bands, i)]


def icon_array(bands: Bands, i: int, *, counted: bool = True) -> IconArray | None:
    """Return the icons of a band, counted or carried over; None where it holds too few films."""
    if bands.count[i] < FEW_FILMS:
        return None
    value, low, high = (
        round(100 * float(part[i])) for part in (bands.share, bands.ci_low, bands.ci_high)
    )
    key = ("labelled at least", "may be", "not labelled")
    if not counted:
        key = ("would be labelled at least", "may be", "would not be labelled")
    return IconArray(low, value, high, key)


def _to(prevalence: float | None, lead: str = "") -> str:
    """Return to which prevalence numbers were carried; empty where they were counted."""
    return "" if prevalence is None else f"{lead}carried over to {percent(prevalence)} labelled"


def _card(
    source: ClinicSource, name: str, bands: Bands, dots: list[BandDot], chosen: int, carried: str
) -> FigureCard:
    spoken = "; ".join(
        f"scored {band_name(dot.low, dot.high)} ({count(dot.n)} {source.films}): says "
        f"{in_hundred(dot.says)}, found {in_hundred(dot.rate, dot.ci_low, dot.ci_high)} of 100 "
        f"({hundred_span(dot.ci_low, dot.ci_high, dot.rate)})"
        for dot in dots
        if dot.n
    )
    rows = tuple(
        (
            dot.low,
            dot.high,
            dot.n,
            None if carried else int(bands.events[i]),  # none were counted at that prevalence
            *map(known_share, (dot.says, dot.rate, dot.ci_low, dot.ci_high)),
            band_reading(bands, i) if dot.n else "",
        )
        for i, dot in enumerate(dots)
    )
    return FigureCard(
        key="clinic_bands",
        title="Score against labels",
        explanation="",
        draw=partial(draw_bands, dots, chosen),
        alt=f"{finding(name)}, of 100 {source.films} in each band of scores: {spoken}."
        + (f" {carried}" if carried else ""),
        table=sourced(Table(COLUMNS, rows), source, carried),
        caption=f"{carried} {source.caption}".strip(),
    )


def _care(
    source: ClinicSource, share: float, bands: Bands, i: int, prevalence: float | None
) -> tuple[str, ...]:
    elsewhere = "at another clinic" if source.of_films else "elsewhere"
    counts = f"Here {in_hundred(share)} in 100 carried the label. Counts will differ {elsewhere}."
    if prevalence is not None:
        counts = (
            f"The counts come from {source.reference_class}, where {in_hundred(share)} in 100 "
            f"carried the label, and were carried over to {in_hundred(prevalence)} in 100. That "
            "assumes that nothing else changes."
        )
    n = int(bands.count[i])
    _, low, high = of_hundred(bands, i)
    few = ""
    if n and bands.ci_high[i] - bands.ci_low[i] > NARROW:
        few = (
            f"Only {count(n)} {source.films} lie in this band, so the count may be {low} to {high}."
        )
    return (counts, few) if few else (counts,)
