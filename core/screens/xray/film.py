"""One film: what a model scores it, what films of such a score were labelled with, in words."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from core.codes import NoticeCode
from core.metrics.clinical import bands
from core.predictions import Predictions
from core.screens.kit.numbers import (
    MISSING,
    THIN,
    about_hundred,
    count,
    in_hundred,
    percent,
    singular,
)
from core.screens.kit.records import (
    Cell,
    Column,
    Estimate,
    FigureCard,
    Phrase,
    ScoreTable,
    Sentence,
    Table,
    TableRow,
    columns_of,
)
from core.screens.xray.bands import Band, IconArray, draw_bands
from core.screens.xray.words import ClinicSource, FindingWords, labelled_with, listed

HALF: Final = 0.5  # the threshold of a finding whose frequency is not known
ROUNDING: Final = 1e-4  # of 100: what single precision leaves of a score at a band's edge
SMALL_SIDE: Final = 224  # pixels: what networks for films are commonly shown
LONG: Final = 2.5  # a film's longer side against its shorter one
NO_LABELS: Final = "Nobody’s reading of this film is known here."
TOO_FEW: Final = "too few films for a picture of 100"
ICONS: Final = "100 films like this one"
UNKNOWN: Final = "nothing is known of what this model was trained on"
BLANK: Final = NoticeCode.IMAGE_BLANK  # of the reading


@dataclass(frozen=True, eq=False)
class Reference:
    """What became of films of every score, in a set of films with labels.

    `bands` are of each finding, in tens, and `prevalence` its share of the films, by weight. The
    set is `named` where a user said that these are the model's scores; nothing shows that they are.
    """

    source: ClinicSource
    bands: tuple[tuple[Band, ...], ...]
    prevalence: tuple[float, ...]
    named: bool = False

    @classmethod
    def of(cls, rows: Predictions, source: ClinicSource) -> "Reference":
        """Return what the labels of a multi-label split say of its scores."""
        outcomes = [rows.outcomes(k) for k in range(rows.n_classes)]
        counted = (
            bands(o.confidence, o.correct, extents=o.extents, looks=len(outcomes)) for o in outcomes
        )
        shares = (float(np.average(o.correct, weights=o.weights)) for o in outcomes)
        return cls(source, tuple(map(Band.each, counted)), tuple(shares))

    def at(self, index: int, score: float) -> Band:
        """Return the band (low, high] of a finding that a score falls into."""
        return self.bands[index][self.place(index, score)]

    def place(self, index: int, score: float) -> int:
        """Return the number of that band."""
        ends = [band.high for band in self.bands[index]]
        return min(bisect_left(ends, score), len(ends) - 1)


@dataclass(frozen=True)
class FilmScores:
    """What one model says of one film: a score in [0, 1] for each finding."""

    model: str
    findings: tuple[str, ...]
    scores: tuple[float, ...]

    @property
    def order(self) -> list[int]:
        """The findings by falling score."""
        return sorted(range(len(self.scores)), key=lambda k: -self.scores[k])


def score_words(score: float) -> str:
    """Return a score of 100, never 0 or 100 where it is not, nor rounded up to a band's edge."""
    times = round(100.0 * score)
    if times == 0 and score > 0.0:
        return "under 1"
    if times == 100 and score < 1.0:
        return "over 99"
    if times % 10 == 0 and 100.0 * score < times - ROUNDING:
        return str(times - 1)
    return str(times)


def sentence(
    scored: FilmScores, index: int, known: Reference | None, words: FindingWords
) -> Sentence:
    """Return the sentence that opens the page: the score, and what it was worth elsewhere."""
    score, name = scored.scores[index], scored.findings[index]
    label, shown = words.inside(name), words.shown(name)
    first = f"The model gives this film a score of {score_words(score)} of 100 for {label}."
    if known is None:
        rest = " What such a score means is not known: no test set of this model is loaded."
        return Sentence((Phrase(first), Phrase(rest)))
    place, test_set = known.at(index, score), known.source.reference_class
    between = place.range("and")
    if place.count == 0:
        rest = f" No film of {test_set} scored between {between}, so what that means is not known."
        return Sentence((Phrase(first), Phrase(rest)))
    if place.few:
        was = "was" if place.events == 1 else "were"
        rest = f" Only {films_words(place.count)} of {test_set} scored between {between}, too few "
        rest += f"to tell: {place.events} of them {was} labelled as showing {shown}."
        return Sentence((Phrase(first), Phrase(rest)))
    times, low, high = place.hundred
    was = "was" if singular(times) else "were"
    return Sentence(
        (
            Phrase(
                f"Score {score_words(score)}. Of 100 films scored {place.range()}, "
                f"{about_hundred(times)} "
            ),
            Phrase(f"({low} to {high})", unbroken=True),
            Phrase(f" {was} labelled as showing {shown}."),
        )
    )


def films_words(n: int) -> str:
    """Return a number of films in words."""
    return "1 film" if n == 1 else f"{count(n)} films"


def care(scored: FilmScores, index: int, known: Reference | None) -> tuple[str, ...]:
    """Return what must be read beside a score, a paragraph each."""
    if known is None:
        return (
            "A score is the model’s own number, not a frequency. Only films with known labels show "
            "how often films with such a score carry the finding.",
        )
    place, source = known.at(index, scored.scores[index]), known.source
    paragraphs = []
    if not place.few:
        reading = place.reading
        verdict = reading if reading.startswith("no ") else f"the model {reading}"
        paragraphs.append(f"These films average {in_hundred(place.mean)}: {verdict}.")
    if known.named:
        paragraphs.append(counted(known))
    paragraphs.append(
        "Counted on synthetic films."
        if source.synthetic
        else "These counts will differ at another clinic."
    )
    return tuple(paragraphs)


def counted(known: Reference) -> str:
    """Say what a score was counted on, and by whose word."""
    if known.named:
        return f"Counted on {known.source.run}, which you named as this model’s scores."
    return f"Counted on {known.source.reference_class}."


def icons(scored: FilmScores, index: int, known: Reference) -> tuple[IconArray | None, str]:
    """Return 100 films like this one as icons, and how many were counted."""
    place = known.at(index, scored.scores[index])
    source = known.source
    note = f"{count(place.count)} of {count(source.n)} {source.split} {source.films}"
    return place.icons, note


def threshold_of(known: Reference | None, name: str) -> float:
    """Return below which score saliency is hidden at first: the finding's frequency, else a half.

    The finding is looked up by its name: models side by side may number it differently.
    """
    share = frequency(known, name)
    return HALF if share is None else share


def threshold_words(known: Reference | None, name: str) -> str:
    """Say where that threshold comes from."""
    share = frequency(known, name)
    if known is None or share is None:
        return f"50{THIN}%: the finding’s frequency among such films is not known."
    return f"{percent(share)}: its frequency in {known.source.reference_class}."


def frequency(known: Reference | None, name: str) -> float | None:
    """Return the share of a reference's films with a finding; None where it is not known."""
    index = None if known is None else finding_index(known.source.findings, name)
    return None if known is None or index is None else known.prevalence[index]


def finding_index(findings: Sequence[str], name: str) -> int | None:
    """Return the number of a finding among others, spelled alike; None where it is not there."""
    names = [spelled(other) for other in findings]
    return names.index(spelled(name)) if spelled(name) in names else None


def names_match(findings: Sequence[str], others: Sequence[str]) -> bool:
    """Whether the labels of a run are those of a model, spelled alike, in the same order."""
    return [spelled(name) for name in findings] == [spelled(name) for name in others]


def spelled(name: str) -> str:
    """Return a name as it is compared: small letters, blanks for underscores."""
    return name.replace("_", " ").strip().lower()


def strange(model: str, *, model_synthetic: bool | None, film_synthetic: bool) -> str:
    """Say that a model saw no film of this kind, or may not have; empty where it did.

    `model_synthetic` is None where it is not known what the model was trained on.
    """
    if bool(model_synthetic) == film_synthetic:
        return ""
    if model_synthetic is None:
        return f"{model}: {UNKNOWN}. Its score and heat of a synthetic film may mean nothing."
    return (
        f"{model} was trained on {_trained_on(film_synthetic)}. Its score and heat would mean "
        "nothing here, so neither is shown."
    )


def _trained_on(film_synthetic: bool) -> str:
    """Return what a model was trained on that surely saw no film of this kind."""
    return "no synthetic films" if film_synthetic else "synthetic films alone"


def withheld(model_synthetic: bool | None, *, film_synthetic: bool) -> bool:
    """Whether neither score nor heat is shown: the model surely saw no film of this kind."""
    return model_synthetic is not None and model_synthetic != film_synthetic


def withheld_sentence(models: Sequence[str], *, film_synthetic: bool) -> Sentence:
    """Return the sentence over a film of a kind that none of the models was trained on."""
    film = "synthetic" if film_synthetic else "real"
    first = f"No score of this {film} film is shown."
    was = "was" if len(models) == 1 else "were"
    why = f"{listed(models)} {was} trained on {_trained_on(film_synthetic)}"
    return Sentence(
        (Phrase(first),),
        f"{why}: a score or heat would mean nothing. Add a model trained on {film} films.",
    )


def doubtful_sentence(scored: FilmScores, index: int, words: FindingWords) -> Sentence:
    """Return the sentence over a film of a kind that the model may never have seen."""
    label = words.inside(scored.findings[index])
    score = score_words(scored.scores[index])
    return Sentence(
        (
            Phrase(
                f"The model gives this film a score of {score} of 100 for {label}, which may mean "
                "nothing"
            ),
            Phrase(f": {UNKNOWN}."),
        ),
        "Where the heat lies may mean nothing either.",
    )


def blank_sentence() -> Sentence:
    """Return the sentence over a film that shows nothing."""
    return Sentence(
        (Phrase("This film is blank."),),
        "Every pixel has the same grey, so no model reads it.",
    )


def unusual(height: int, width: int) -> str:
    """Say that a film is very small or very long, in pixels a side; empty where it is not."""
    reasons = []
    if min(height, width) < SMALL_SIDE:
        reasons.append(f"has {width} by {height} pixels, fewer than {SMALL_SIDE} on a side")
    if max(height, width) > LONG * min(height, width):
        reasons.append(
            "is more than two and a half times as long as it is wide, or as wide as long"
        )
    return f"This film {' and '.join(reasons)}: small findings may be lost." if reasons else ""


SHOWN: Final = (
    Column("score", "Score"),
    Column("band", "Band"),
    Column("share", "Labelled with it, of 100"),
    Column("films", "Films in the band", "count"),
    Column("reading", "On average in this band"),
)
COLUMNS: Final = (
    *columns_of(model="model", finding="finding"),
    *columns_of("share", score="score", band_low="band from", band_high="band to"),
    *columns_of("count", films="films in the band", labelled="of these labelled with it"),
    *columns_of("share", share="share labelled", low="low", high="high"),
    *columns_of(reading="on average in this band the model", note="note"),
)
DOT_COLUMNS: Final = (
    *columns_of("share", low="scored from", high="to"),
    Column("n", "films", "count"),
    *columns_of("share", says="mean score", share="labelled with it", ci_low="low", ci_high="high"),
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


def cells(model: str, name: str, score: Estimate, place: Band | None) -> dict[str, Estimate | Cell]:
    """Return what a model says of one finding, and what a reference has in the score's band."""
    own: dict[str, Estimate | Cell] = {"model": model, "finding": name, "score": score}
    if place is None:
        return own | dict.fromkeys(("share", "films", "reading"))
    _, _, low, high = place.file_cells
    return own | {
        "band": place.range(),
        "band_low": place.low,
        "band_high": place.high,
        "films": place.count,
        "labelled": place.events,
        "share": share_cell(place),
        "low": low,
        "high": high,
        "reading": place.reading,
    }


def share_cell(place: Band) -> Estimate:
    """Return the share labelled in a band, of 100; of too few films only a file has it."""
    share = place.file_cells[1]
    if place.few:
        return Estimate(share, text=MISSING, reason="too few films")
    times, low, high = place.hundred
    return Estimate(share, text=times, note=f"{low} to {high}")


def bands_card(scored: FilmScores, index: int, known: Reference) -> FigureCard:
    """Return what was found in every band of scores, with the film's own band marked."""
    bands, at = known.bands[index], known.place(index, scored.scores[index])
    listing = "; ".join(
        f"scored {band.range()}: {films_words(band.count)}, {band.share_words()}"
        for band in bands
        if band.count
    )
    rows = tuple((band.low, band.high, band.count, *band.file_cells) for band in bands)
    return FigureCard(
        key="film_bands",
        title="Score against labels",
        explanation=f"of all films, {in_hundred(known.prevalence[index])} in 100 were labelled",
        draw=partial(draw_bands, bands, at),
        alt=f"Labelled with {labelled_with(scored.findings[index])}, of 100 films, by the "
        f"model’s score: {listing}. This film’s band: {bands[at].range()}.",
        table=Table(DOT_COLUMNS, rows),
        caption=known.source.caption,
    )
