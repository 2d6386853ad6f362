"""The findings of one film as tables, for the page and for a file, and its bands as a figure."""

import math
from functools import partial
from typing import Final

from core.metrics.clinical import Bands
from core.screens.kit.numbers import MISSING, count, in_hundred
from core.screens.kit.records import Cell, CellWords, Column, FigureCard, ScoreRow, Table
from core.screens.kit.theme import Tone
from core.screens.xray.film import (
    FilmScores,
    Reference,
    band_words,
    films_words,
    score_words,
)
from core.screens.xray.finding_figures import BandDot
from core.screens.xray.finding_figures import bands as draw_bands
from core.screens.xray.plain import FEW_FILMS, band_tone
from core.screens.xray.words import FindingWords, labelled_with

HEADS: Final = (
    "Finding",
    "Score",
    "Band",
    "Labelled with it, of 100",
    "Films in the band",
    "In this band the model",
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
    Column("reading", "in this band the model"),
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


def rows(
    scored: FilmScores, chosen: int, known: Reference | None, words: FindingWords
) -> tuple[ScoreRow, ...]:
    """Return the findings of a film by falling score, each with its own band."""
    return tuple(
        _row(scored, k, known, words.title(scored.findings[k]), shaded=k == chosen)
        for k in scored.order
    )


def _row(
    scored: FilmScores, index: int, known: Reference | None, title: str, *, shaded: bool
) -> ScoreRow:
    score = CellWords(score_words(scored.scores[index]))
    if known is None:
        return ScoreRow(name=title, cells=(score,), shaded=shaded)
    place = known.at(index, scored.scores[index])
    times, low, high = place.hundred
    cells = (
        score,
        CellWords(place.range()),
        CellWords(MISSING, reason="too few films")
        if place.few
        else CellWords(times, f"{low} to {high}"),
        CellWords(count(place.n)),
        CellWords(place.reading),
    )
    return ScoreRow(name=title, cells=cells, shaded=shaded)


def table(scored: FilmScores, known: Reference | None, note: str) -> Table:
    """Return the findings for a file: fractions, and in every row what it may not be used for."""
    return Table(COLUMNS, tuple(cells(scored, k, known, note) for k in scored.order))


def bare(film_table: Table) -> Table:
    """Return the table without its notes, where what it may not be used for stands around it."""
    return Table(film_table.columns[:-1], tuple(row[:-1] for row in film_table.rows))


def cells(scored: FilmScores, index: int, known: Reference | None, note: str) -> tuple[Cell, ...]:
    """Return a row of that file: one finding of one model."""
    score = scored.scores[index]
    start = (scored.model, scored.findings[index], score)
    if known is None:
        return (*start, *(None,) * 7, None, note)
    place = known.at(index, score)
    bands, i = place.bands, place.i
    ends = (float(bands.low[i]), float(bands.high[i]), place.n, int(bands.events[i]))
    shares = map(_known, (bands.share[i], bands.ci_low[i], bands.ci_high[i]))
    return (*start, *ends, *shares, place.reading, note)


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
    tone: Tone = band_tone(bands, i) if n >= FEW_FILMS else "few"
    return BandDot(
        low=low, high=high, n=n, says=says, rate=rate, ci_low=ci_low, ci_high=ci_high, tone=tone
    )
