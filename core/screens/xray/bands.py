"""Bands of scores: what films of each were labelled with, and one finding in plain words."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from math import isfinite

import numpy as np
import plotly.graph_objects as go

from core.metrics.clinical import Bands, shifted
from core.metrics.clinical import bands as estimate_bands
from core.metrics.notices import summary_of
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import DETECTED, VerdictCode
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
from core.screens.kit.theme import Theme, Tone, axis, faded
from core.screens.xray.figures import diagonal, marker, sheet, signed, whisker
from core.screens.xray.words import PLAIN, TONES, ClinicSource, finding, sourced

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
    key: tuple[str, str, str] = ("labelled at least", "may be", "not labelled")

    @property
    def text(self) -> str:
        """What the icons show, for those who do not see them."""
        return (
            f"{self.filled} of 100 icons are filled, {self.low} of them solid; dashed up to "
            f"{self.high}."
        )


@dataclass(frozen=True)
class Band:
    """Films of one band of scores and how many carry the label: one column of `Bands`."""

    low: float
    high: float
    count: int
    events: int
    mean: float
    share: float
    ci_low: float
    ci_high: float
    least: float
    most: float

    @classmethod
    def each(cls, bands: Bands) -> "tuple[Band, ...]":
        """Return the bands one by one."""
        columns = [getattr(bands, field.name).tolist() for field in fields(cls)]
        return tuple(cls(*values) for values in zip(*columns, strict=True))

    @property
    def few(self) -> bool:
        """Whether it holds too few films for a verdict, and for a number of 100."""
        return self.count < FEW_FILMS

    @property
    def tone(self) -> Tone:
        """Over or under where what is said is beyond chance among all bands.

        Sound is what fits an interval that is narrow in points and in odds: a risk of 1 % of which
        twice as much is said must not seem to be kept. Of few films nothing is said.
        """
        if self.few:
            return "few"
        if self.mean > self.most:
            return "over"
        if self.mean < self.least:
            return "under"
        low, high = self.ci_low, self.ci_high
        narrow = high - low <= NARROW and high * (1.0 - low) <= NARROW_ODDS * low * (1.0 - high)
        return "sound" if low <= self.mean <= high and narrow else "few"

    @property
    def reading(self) -> str:
        """What the model does in it, as tables say it; the same on every view."""
        return UNJUDGED if self.few else TONES[self.tone]

    def range(self, joint: str = "to") -> str:
        """Return the band in words: "70 to 80", or with another word between its ends."""
        return f"{100 * self.low:.0f} {joint} {100 * self.high:.0f}"

    @property
    def name(self) -> str:
        """The band in percent: "20 to 30 %"."""
        return f"{self.range()}{THIN}%"

    @property
    def hundred(self) -> tuple[str, str, str]:
        """What was found and its bounds, as times in 100."""
        times = in_hundred(self.share, self.ci_low, self.ci_high)
        if not known(self.share):
            return times, times, times
        whole = str(round(100 * self.ci_low)), str(round(100 * self.ci_high))
        if whole[0] == whole[1]:  # the interval is narrower than one film of 100
            whole = points(self.ci_low, self.ci_high), points(self.ci_high, self.ci_low)
        return times, *whole

    def share_words(self, joint: str = "of") -> str:
        """Return what was found with its interval: "60 of 100 (46 to 73)"."""
        times = in_hundred(self.share, self.ci_low, self.ci_high)
        return f"{times} {joint} 100 ({hundred_span(self.ci_low, self.ci_high, self.share)})"

    @property
    def file_cells(self) -> tuple[float | None, ...]:
        """Mean score, share labelled and its interval for a file; None where it holds nothing."""
        values = (self.mean, self.share, self.ci_low, self.ci_high)
        return tuple(value if isfinite(value) else None for value in values)

    @property
    def icons(self) -> IconArray | None:
        """The films as icons; None where it holds too few."""
        if self.few:
            return None
        low, share, high = (round(100 * x) for x in (self.ci_low, self.share, self.ci_high))
        return IconArray(low, share, high)


BANDS_PX = 330


def draw_bands(bands: Sequence[Band], chosen: int, theme: Theme) -> go.Figure:
    """Draw what was found in each band of scores against the score, of 100; one band marked."""
    filled = [band for band in bands if band.count]

    def crossed(place: tuple[int, int]) -> int:
        at, over = place
        return sum(
            abs(100 * band.mean - at) < 17
            and 100 * band.ci_low - 4 < 100 * band.mean + over < 100 * band.ci_high + 4
            for band in filled
        )

    # where the diagonal's name crosses the fewest intervals, and how far over it
    at, over = min(((76, 5), (26, 5), (76, -5), (26, -5)), key=crossed)
    square: dict[str, object] = {"range": [0, 100], "dtick": 20, "constrain": "domain"}
    figure = sheet(
        theme,
        BANDS_PX,
        axis(theme, "The model’s score", **square),
        axis(theme, "Labelled with it, of 100", scaleanchor="x", **square),
        margin=(56, 22, 36, 46),
    )
    figure.add_annotation(
        x=at,
        y=at + over,
        text="well calibrated",
        textangle=-45,
        showarrow=False,
        font={"size": 12, "color": theme.quiet},
    )
    figure.add_trace(diagonal(np.array([0.0, 100.0]), theme))
    for i, band in enumerate(bands):
        if not band.count:
            continue
        rate, low, high = 100 * band.share, band.ci_low, band.ci_high
        figure.add_scatter(
            x=[100 * band.mean],
            y=[rate],
            name=band.name,
            mode="markers",
            marker=marker(theme, band.tone, 15 if i == chosen else 9),
            error_y=whisker(
                theme.mark(band.tone), 1.6, [100 * (high - band.share)], [100 * (band.share - low)]
            ),
            customdata=[i],
            hovertext=[
                f"<b>Scored {band.name}</b>: {count(band.count)},<br>labelled with it "
                f"{band.share_words('in')}"
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    if bands[chosen].count:
        low, high = 100 * bands[chosen].low, 100 * bands[chosen].high
        figure.add_shape(
            type="rect",
            x0=low,
            x1=high,
            y0=0,
            y1=100,
            fillcolor=faded(theme.accent, 0.12),
            line={"width": 0},
            layer="below",
        )
        side, x = "center", (low + high) / 2
        if low < 10 or high > 90:  # a name in the middle would lie over an axis or be cut
            side, x = ("left", low) if low < 10 else ("right", high)
        figure.add_annotation(
            x=x,
            y=100,
            text="this band",
            xanchor=side,
            yanchor="bottom",
            yshift=8,  # the chosen dot reaches over the plot where all films have the label
            showarrow=False,
            font={"size": 13, "color": theme.ink},
        )
    return signed(figure, theme)


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
    observed = estimate_bands(outcomes.confidence, outcomes.correct, extents=outcomes.extents)
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
    if chosen.count and chosen.ci_high - chosen.ci_low > NARROW:
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
        card=_card(source, name, bands, band, carried, to),
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

    The number is the events observed in that band, as times in 100.
    """
    band, filled = bands[i], [k for k, band in enumerate(bands) if band.count]
    scores = f"{round(100 * band.low)} {{}} {round(100 * band.high)}{THIN}%"
    with_it = f"labelled as showing {PLAIN.shown(name)}"
    if not band.count:
        after = " after recalibration" if source.recalibrated else ""
        none = f"No {source.films[:-1]} scores {scores.format('to')}{after}."
        side = "lower" if i > max(filled) else "higher" if i < min(filled) else "different"
        return Sentence((Phrase(f"{none} Choose a {side} band."),))
    times, at_least, at_most = band.hundred
    was = "was" if singular(times) else "were"
    between = f"the model scores between {scores.format('and')}"
    if prevalence is None:
        lead = f"Of 100 {source.films} that {between}, "
        rest = f" {was} {with_it} in {source.reference_class}."
    else:
        lead = (
            f"Where {in_hundred(prevalence)} in 100 {source.films} carry the label, of 100 that "
            f"{between} "
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
    ending = {
        "over": "it overstates here",
        "under": "it understates here",
        "sound": f"it {TONES['sound']}",
        "few": UNJUDGED if band.few else TONES["few"],
    }[band.tone]
    return f"The model says {in_hundred(band.mean)}: {ending}."


def _card(
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
        table=sourced(Table(COLUMNS, rows), source, carried),
        caption=f"{carried} {source.caption}".strip(),
    )
