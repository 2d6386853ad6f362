"""The findings of one film as tables, for the page and for a file, and its bands as a figure."""

import math
from functools import partial
from typing import Final

from core.metrics.clinical import Bands
from core.screens.kit.numbers import MISSING, in_hundred
from core.screens.kit.records import Cell, Column, FigureCard, Table
from core.screens.kit.tables import Estimate, PageColumn, ScoreTable, TableRow
from core.screens.kit.theme import Tone
from core.screens.xray.film import (
    FilmScores,
    Reference,
    ReferenceBand,
    band_words,
    films_words,
    score_words,
)
from core.screens.xray.finding_figures import BandDot
from core.screens.xray.finding_figures import bands as draw_bands
from core.screens.xray.plain import band_tone
from core.screens.xray.words import FindingWords, labelled_with

SHOWN: Final = (
    PageColumn("score", "Score"),
    PageColumn("band", "Band"),
    PageColumn("share", "Labelled with it, of 100"),
    PageColumn("films", "Films in the band", "count"),
    PageColumn("reading", "On average in this band"),
)
COLUMNS: Final = (
    Column("model", "model"),
    Column("finding", "finding"),
    Column("score", "score", "share"),
    Column("band_low", "band from", "share"),
    Column("band_high", "band to", "share"),
    Column("films", "films in the band", "count"),
    Column("labelled", "of these labelled with it", "count"),
    Column("share", "share labelled", "share"),
    Column("low", "low", "share"),
    Column("high", "high", "share"),
    Column("reading", "on average in this band the model"),
    Column("note", "note"),
)
DOT_COLUMNS: Final = (
    Column("low", "scored from", "share"),
    Column("high", "to", "share"),
    Column("n", "films", "count"),
    Column("says", "mean score", "share"),
    Column("share", "labelled with it", "share"),
    Column("ci_low", "low", "share"),
    Column("ci_high", "high", "share"),
)


def table(
    scored: FilmScores, chosen: int, known: Reference | None, words: FindingWords, note: str
) -> ScoreTable:
    """Return the findings of a film by falling score, each with its own band.

    The page shades the `chosen` one, and without a reference shows the scores alone; every row of
    the file has a `note` of what it may not be used for.
    """
    rows = []
    for k in scored.order:
        name, score = scored.findings[k], scored.scores[k]
        place = None if known is None else known.at(k, score)
        worded = Estimate(score, text=score_words(score))
        row_cells = cells(scored.model, name, worded, place) | {"note": note}
        rows.append(TableRow(name=words.title(name), cells=row_cells, shaded=k == chosen))
    return ScoreTable("Finding", SHOWN if known else SHOWN[:1], COLUMNS, tuple(rows))


def cells(
    model: str, name: str, score: Estimate, place: ReferenceBand | None
) -> dict[str, Estimate | Cell]:
    """Return what a model says of one finding, and what a reference has in the score's band."""
    own: dict[str, Estimate | Cell] = {"model": model, "finding": name, "score": score}
    if place is None:
        return own | dict.fromkeys(("share", "films", "reading"))
    bands, i = place.bands, place.i
    return own | {
        "band": place.range(),
        "band_low": float(bands.low[i]),
        "band_high": float(bands.high[i]),
        "films": place.n,
        "labelled": int(bands.events[i]),
        "share": share_cell(place),
        "low": _known(bands.ci_low[i]),
        "high": _known(bands.ci_high[i]),
        "reading": place.reading,
    }


def share_cell(place: ReferenceBand) -> Estimate:
    """Return the share labelled in a band, of 100; of too few films only a file has it."""
    share = _known(place.bands.share[place.i])
    if place.few:
        return Estimate(share, text=MISSING, reason="too few films")
    times, low, high = place.hundred
    return Estimate(share, text=times, note=f"{low} to {high}")


def bands_card(scored: FilmScores, index: int, known: Reference) -> FigureCard:
    """Return what was found in every band of scores, with the film's own band marked."""
    bands = known.bands[index]
    dots = [_dot(bands, i) for i in range(len(bands.low))]
    at = known.at(index, scored.scores[index]).i
    listing = "; ".join(
        f"scored {band_words(dot.low, dot.high)}: {films_words(dot.n)}, {in_hundred(dot.rate)} of "
        f"100 ({in_hundred(dot.ci_low)} to {in_hundred(dot.ci_high)})"
        for dot in dots
        if dot.n
    )
    marked = band_words(dots[at].low, dots[at].high)
    return FigureCard(
        key="film_bands",
        title="Score against what was found",
        explanation="this film’s band is shaded" if dots[at].n else "",
        draw=partial(draw_bands, dots, at),
        alt=f"Labelled with {labelled_with(scored.findings[index])}, of 100 films, by the "
        f"model’s score: {listing}. This film’s band: {marked}.",
        table=Table(
            DOT_COLUMNS,
            tuple(
                (
                    dot.low,
                    dot.high,
                    dot.n,
                    *map(_known, (dot.says, dot.rate, dot.ci_low, dot.ci_high)),
                )
                for dot in dots
            ),
        ),
        caption=known.source.caption,
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _dot(bands: Bands, i: int) -> BandDot:
    ends, shares = (bands.low, bands.high), (bands.mean, bands.share, bands.ci_low, bands.ci_high)
    low, high = (float(part[i]) for part in ends)
    says, rate, ci_low, ci_high = (float(part[i]) for part in shares)
    n = int(bands.count[i])
    tone: Tone = band_tone(bands, i)
    return BandDot(
        low=low, high=high, n=n, says=says, rate=rate, ci_low=ci_low, ci_high=ci_high, tone=tone
    )
