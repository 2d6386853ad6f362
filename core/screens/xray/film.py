"""One film: what models score it, what films of such a score were labelled with, in words."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Final

import numpy as np

from core.codes import NoticeCode
from core.metrics.clinical import bands
from core.predictions import Predictions
from core.screens.kit.marks import RunMark
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
    Mark,
    Phrase,
    ScoreTable,
    Sentence,
    Table,
    TableRow,
    columns_of,
)
from core.screens.xray.figures import Band, IconArray, draw_bands
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
            bands(o.confidence, o.correct, sampling=o.sampling, looks=len(outcomes))
            for o in outcomes
        )
        shares = (float(np.average(o.correct, weights=o.weights)) for o in outcomes)
        return cls(source, tuple(map(Band.each, counted)), tuple(shares))

    @property
    def counted(self) -> str:
        """What scores were counted on, and by whose word."""
        if self.named:
            return f"Counted on {self.source.run}, which you named as this model’s scores."
        return f"Counted on {self.source.reference_class}."


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


@dataclass(frozen=True)
class SaliencyFocus:
    """Whether the strongest place of a map lies where the finding is, and what share of it does."""

    hit: bool
    energy: float


@dataclass(frozen=True, eq=False, kw_only=True)
class FindingSummary:
    """What one model says of one finding on a film, and what such a score meant elsewhere.

    `mark` is the badge of the model, that of its run wherever that is shown, and `known` labelled
    films that it scored. `strange` says why what it says means nothing, or only may where it is
    `doubtful`: it is not known what it was trained on. `chosen` are thresholds that a user set, in
    [0, 1], by spelled finding; `focus` is where its saliency points, where a box is known and
    saliency is shown.
    """

    scored: FilmScores
    name: str
    mark: RunMark | None = None
    known: Reference | None = None
    strange: str = ""
    doubtful: bool = False
    chosen: Mapping[str, float] = field(default_factory=dict)
    focus: SaliencyFocus | None = None

    def of(self, name: str) -> "FindingSummary":
        """Return what the model says of another finding."""
        return replace(self, name=name)

    @property
    def model(self) -> str:
        """The model, as it is called everywhere."""
        return self.scored.model

    @property
    def withheld(self) -> bool:
        """Whether its scores are not shown: it surely never saw a film of this kind."""
        return bool(self.strange) and not self.doubtful

    @cached_property
    def score(self) -> float | None:
        """The score; None where the model has no such finding, or its scores are not shown."""
        index = None if self.withheld else finding_index(self.scored.findings, self.name)
        return None if index is None else self.scored.scores[index]

    @cached_property
    def bands(self) -> tuple[Band, ...]:
        """The labelled films by their score of the finding; empty where none are known."""
        index = None if self.known is None else finding_index(self.known.source.findings, self.name)
        return () if self.known is None or index is None else self.known.bands[index]

    @cached_property
    def place(self) -> int | None:
        """The number of the band (low, high] that the score falls into."""
        if self.score is None or not self.bands:
            return None
        ends = [band.high for band in self.bands]
        return min(bisect_left(ends, self.score), len(ends) - 1)

    @property
    def band(self) -> Band | None:
        """The labelled films of such a score."""
        return None if self.place is None else self.bands[self.place]

    @cached_property
    def frequency(self) -> float | None:
        """The share of the labelled films with the finding; None where it is not known."""
        index = None if self.known is None else finding_index(self.known.source.findings, self.name)
        return None if self.known is None or index is None else self.known.prevalence[index]

    @property
    def limit(self) -> float | None:
        """Below which score saliency is hidden: the threshold set, else the frequency, if known."""
        return self.chosen.get(spelled(self.name), self.frequency)

    @property
    def threshold(self) -> float | None:
        """The same for a score that means something; None where it means nothing, or may."""
        return None if self.strange else self.limit

    @property
    def reaches(self) -> bool | None:
        """Whether the score reaches the threshold; None where either is not known."""
        score, threshold = self.score, self.threshold
        return None if score is None or threshold is None else score >= threshold

    @property
    def written(self) -> str:
        """The score as people read it; a dash where there is none."""
        return MISSING if self.score is None else score_words(self.score)


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


def sentence(summaries: Sequence[FindingSummary], words: FindingWords) -> Sentence:
    """Return what opens the page, of one finding by one model or several; the first one has it."""
    summary = summaries[0]
    if len(summaries) > 1:
        return _several(summaries, words)
    label, shown = words.inside(summary.name), words.shown(summary.name)
    first = f"The model gives this film a score of {summary.written} of 100 for {label}"
    if summary.strange:
        return Sentence(
            (Phrase(f"{first}, which may mean nothing"), Phrase(f": {UNKNOWN}.")),
            "Where the heat lies may mean nothing either.",
        )
    band = summary.band
    if band is None or summary.known is None:
        rest = " What such a score means is not known: no test set of this model is loaded."
        return Sentence((Phrase(f"{first}."), Phrase(rest)))
    between, test_set = band.range("and"), summary.known.source.reference_class
    if band.count == 0:
        rest = f" No film of {test_set} scored between {between}, so what that means is not known."
        return Sentence((Phrase(f"{first}."), Phrase(rest)))
    if band.few:
        was = "was" if band.events == 1 else "were"
        rest = f" Only {films_words(band.count)} of {test_set} scored between {between}, too few "
        rest += f"to tell: {band.events} of them {was} labelled as showing {shown}."
        return Sentence((Phrase(f"{first}."), Phrase(rest)))
    times, low, high = band.hundred
    was = "was" if singular(times) else "were"
    return Sentence(
        (
            Phrase(
                f"Score {summary.written}. Of 100 films scored {band.range()}, "
                f"{about_hundred(times)} "
            ),
            Phrase(f"({low} to {high})", unbroken=True),
            Phrase(f" {was} labelled as showing {shown}."),
        )
    )


def _several(summaries: Sequence[FindingSummary], words: FindingWords) -> Sentence:
    """Return each model's score, whether it reaches its threshold, and of whom none is known."""
    scored = [summary for summary in summaries if summary.score is not None]
    texts = [f"{summary.written} with {summary.model}" for summary in scored]
    texts[:1] = [text.replace(" with ", " of 100 with ", 1) for text in texts[:1]]
    shown = f"scores {listed(texts)}" if texts else "has no score to show"
    parts = [Phrase(f"For {words.inside(summaries[0].name)} this film {shown}.")]

    judged = [summary for summary in scored if summary.reaches is not None]
    loud = [summary.model for summary in judged if summary.reaches]
    mute = [summary.model for summary in judged if not summary.reaches]
    common = common_threshold(judged)
    threshold = [Phrase("the threshold"), Phrase(f" ({percent(common)})")]
    if common is None:
        own = "its own threshold" if len(loud or mute) == 1 else "their own thresholds"
        threshold = [Phrase(own)]
    if loud:
        reach = "reaches" if len(loud) == 1 else "reach"
        parts += [Phrase(f" {_who(loud, summaries)} {reach} "), *threshold]
    if mute:
        stays = f"{_who(mute, summaries)} {'stays' if len(mute) == 1 else 'stay'} below"
        theirs = "it" if common is not None else "its own" if len(mute) == 1 else "their own"
        parts += [Phrase(f", {stays} {theirs}")] if loud else [Phrase(f" {stays} "), *threshold]
    if judged:
        parts.append(Phrase("."))

    withheld = [summary.model for summary in summaries if summary.withheld]
    missing = [s.model for s in summaries if s.score is None and not s.withheld]
    strange = [summary.model for summary in scored if summary.strange]
    unknown = [s.model for s in scored if not s.strange and s.threshold is None]
    if missing:
        have = "has" if len(missing) == 1 else "have"
        parts.append(Phrase(f" {listed(missing)} {have} no such finding."))
    if withheld:
        were = "was" if len(withheld) == 1 else "were"
        why = f"{were} trained on other films: no score is shown."
        parts.append(Phrase(f" {listed(withheld)} {why}"))
    if strange:
        parts.append(Phrase(f" The score of {listed(strange)} {DOUBTFUL}."))
    if unknown:
        parts.append(Phrase(f" No threshold is known for {listed(unknown)}."))
    return Sentence(tuple(parts), _threshold_from(judged))


def _who(names: Sequence[str], summaries: Sequence[FindingSummary]) -> str:
    """Return a list of models, short where it is of all of them."""
    if len(names) < len(summaries):
        return listed(names)
    return "Both" if len(names) == 2 else "All three"


def common_threshold(summaries: Iterable[FindingSummary]) -> float | None:
    """Return the threshold where all models whose scores may mean something have the same."""
    thresholds = {s.threshold for s in summaries if s.score is not None and not s.strange}
    return thresholds.pop() if len(thresholds) == 1 else None


def _threshold_from(judged: Sequence[FindingSummary]) -> str:
    """Say where the threshold comes from, of models that reach it or do not."""
    if not judged:
        return ""
    if any(spelled(summary.name) in summary.chosen for summary in judged):
        return "The threshold is the one set here."
    sets = {summary.known.source.reference_class for summary in judged if summary.known}
    if len(sets) == 1 and common_threshold(judged) is not None:
        return f"The threshold is the finding’s frequency in {sets.pop()}."
    return "Each model’s threshold is the finding’s frequency in its own test set."


def films_words(n: int) -> str:
    """Return a number of films in words."""
    return "1 film" if n == 1 else f"{count(n)} films"


def care(summaries: Sequence[FindingSummary]) -> tuple[str, ...]:
    """Return what must be read beside scores, a paragraph each; nothing where they say nothing."""
    if all(summary.strange for summary in summaries):
        return ()
    if len(summaries) > 1 and any(summary.band for summary in summaries):
        return (DIFFER,)
    band, known = summaries[0].band, summaries[0].known
    if band is None or known is None:
        return (
            "A score is the model’s own number, not a frequency. Only films with known labels show "
            "how often films with such a score carry the finding.",
        )
    paragraphs = []
    if not band.few:
        reading = band.reading
        verdict = reading if reading.startswith("no ") else f"the model {reading}"
        paragraphs.append(f"These films average {in_hundred(band.mean)}: {verdict}.")
    if known.named:
        paragraphs.append(known.counted)
    paragraphs.append(
        "Counted on synthetic films."
        if known.source.synthetic
        else "These counts will differ at another clinic."
    )
    return tuple(paragraphs)


def sources(summaries: Iterable[FindingSummary]) -> tuple[str, ...]:
    """Say of each model what its scores were counted on; those of one set together.

    Sets of the same words are told apart by how frequent their findings are.
    """
    by_set: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for summary in summaries:
        if summary.known is not None:
            key = summary.known.counted, summary.known.prevalence
            by_set.setdefault(key, []).append(summary.model)
    return tuple(
        f"{listed(names)}: {text[:1].lower()}{text[1:]}" for (text, _), names in by_set.items()
    )


def threshold_words(summary: FindingSummary) -> str:
    """Say where the threshold comes from below which saliency is hidden at first."""
    if summary.known is None or summary.frequency is None:
        return f"50{THIN}%: the finding’s frequency among such films is not known."
    return f"{percent(summary.frequency)}: its frequency in {summary.known.source.reference_class}."


def finding_index(findings: Sequence[str], name: str) -> int | None:
    """Return the number of a finding among others, as it is or spelled alike; None of none."""
    if name in findings:
        return findings.index(name)
    names = [spelled(other) for other in findings]
    return names.index(spelled(name)) if spelled(name) in names else None


def finding_keys(findings: Sequence[str]) -> list[str]:
    """Return what tells each finding from the others in a link.

    That is how its label is compared, which other models share; of two that are spelled alike it is
    the label itself.
    """
    alike = [spelled(name) for name in findings]
    keys = zip(findings, alike, strict=True)
    return [key if alike.count(key) == 1 else name for name, key in keys]


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
    return f"This film {', and '.join(reasons)}: small findings may be lost." if reasons else ""


NOTHING, DOUBTFUL = "not shown: trained on other films", "may mean nothing here"
NO_FINDING: Final = "has no such finding"
NO_SALIENCY: Final = "no heat is shown"
REACHED, MISSED, BELOW = "reached", "not reached", "below its threshold"
MARKS: Final[dict[bool | None, Mark]] = {True: "beyond", False: "tie", None: ""}
IN, OUT = "in the box", "outside it"
OWN: Final = "each its own"
DIFFER: Final = (
    "The same score from two models need not mean the same. For each model, the table counts how "
    "films with such a score were labelled."
)
SHARE: Final = Column("share", "Labelled with it, of 100")
READING: Final = Column("reading", "On average in this band")
SHOWN: Final = (
    Column("score", "Score"),
    Column("band", "Band"),
    SHARE,
    Column("films", "Films in the band", "count"),
    READING,
)
MODEL_SHOWN: Final = (
    Column("score", "Score"),
    Column("threshold", "Threshold", "share"),
    SHARE,
    Column("films", "Films with such a score", "count"),
    READING,
)
BOX_SHOWN: Final = (
    Column("peak", "Strongest place"),
    Column("energy", "Heat in the box", "share"),
)
COLUMNS: Final = (
    *columns_of(model="model", finding="finding"),
    *columns_of("share", score="score", band_low="band from", band_high="band to"),
    *columns_of("count", films="films in the band", labelled="of these labelled with it"),
    *columns_of("share", share="share labelled", low="low", high="high"),
    *columns_of(reading="on average in this band the model", note="note"),
)
MODEL_COLUMNS: Final = (
    *COLUMNS[:3],
    Column("threshold", "threshold", "share"),
    *columns_of(verdict="threshold is", peak="strongest place"),
    Column("energy", "heat in the box", "share"),
    *COLUMNS[3:],
)
LEFT_OUT: Final = frozenset({"finding", "band_low", "band_high", "labelled", "note"})  # of a report
DOT_COLUMNS: Final = (
    *columns_of("share", low="scored from", high="to"),
    Column("n", "films", "count"),
    *columns_of("share", says="mean score", share="labelled with it", ci_low="low", ci_high="high"),
)


def findings_table(
    summaries: Sequence[FindingSummary], words: FindingWords, note: str
) -> ScoreTable:
    """Return the findings that any of the models has, by the first one's falling score.

    Of one model each has its own band; the page shows the scores alone where nothing is known of
    such films. Of several the page has a column a model and the threshold, the file score and
    threshold a model. The finding spoken of is shaded; every row of a file has a `note` of what it
    may not be used for.
    """
    names: list[str] = []  # as the first model that has a finding spells it
    for summary in summaries:
        seen = {spelled(name) for name in names}
        ordered = () if summary.withheld else summary.scored.order
        labels = [summary.scored.findings[k] for k in ordered]
        names += [label for label in labels if spelled(label) not in seen]
    rows = []
    for name in names:
        of_models = [summary.of(name) for summary in summaries]
        cells = _model_cells(of_models) if len(summaries) > 1 else _band_cells(of_models[0])
        cells |= {"finding": name, "note": note}
        shaded = name == summaries[0].name
        rows.append(TableRow(name=words.title(name), cells=cells, shaded=shaded))
    if len(summaries) == 1:
        return ScoreTable(
            "Finding", SHOWN if summaries[0].known else SHOWN[:1], COLUMNS, tuple(rows)
        )
    shown = tuple(Column(f"score: {s.model}", s.model) for s in summaries)
    columns = [Column("finding", "finding")]
    for model in (summary.model for summary in summaries):
        columns += [
            Column(f"score: {model}", model, "share"),
            Column(f"threshold: {model}", f"threshold of {model}", "share"),
        ]
    return ScoreTable(
        "Finding",
        (*shown, Column("threshold", "Threshold", "share")),
        (*columns, Column("note", "note")),
        tuple(rows),
    )


def _model_cells(summaries: Sequence[FindingSummary]) -> dict[str, Estimate | Cell]:
    """Return each model's score of a finding, and the threshold where they have it in common.

    Under a score stands that it is below, and its threshold where each model has its own.
    """
    common = common_threshold(summaries)
    judges = [s for s in summaries if s.score is not None and not s.strange]
    own = common is None and any(summary.threshold is not None for summary in judges)
    cells: dict[str, Estimate | Cell] = {"threshold": OWN if own else common}
    for summary in summaries:
        score, threshold = f"score: {summary.model}", f"threshold: {summary.model}"
        if summary.score is None:
            why = NOTHING if summary.withheld else NO_FINDING
            cells |= {score: Estimate(reason=why), threshold: None}
            continue
        below = summary.reaches is False
        under = BELOW if below else DOUBTFUL if summary.strange else ""
        if own and not summary.strange:
            limit = "not known" if summary.threshold is None else percent(summary.threshold)
            under = f"{BELOW} of {limit}" if below else f"threshold {limit}"
        cells |= {score: _score(summary, under), threshold: summary.threshold}
    return cells


def _score(summary: FindingSummary, note: str = "") -> Estimate:
    """Return a score that is marked where it reaches its threshold or stays below."""
    mark = MARKS[summary.reaches]
    return Estimate(summary.score, text=summary.written, note=note, mark=mark)


def model_table(summaries: Sequence[FindingSummary], note: str) -> ScoreTable:
    """Return the models as rows: what each says of one finding, and what that meant elsewhere.

    Where a box is known the page also has columns for where the saliency points. The file always
    has them, and in every row a `note` of what it may not be used for.
    """
    rows = []
    for summary in summaries:
        band, focus, threshold = summary.band, summary.focus, summary.threshold
        cells = _band_cells(summary) | {"note": note}
        if band is not None:  # too few films are said once, behind the share
            share = share_cell(band)
            cells["films"] = Estimate(band.count, note=f"scored {band.range()}")
            cells["share"] = replace(share, reason="", note=share.note or share.reason)
        cells["score"] = _score(summary)
        if summary.score is None:
            cells["score"] = Estimate(note=NOTHING if summary.withheld else NO_FINDING)
            cells["threshold"] = Estimate(threshold, text=MISSING)
        elif threshold is None:
            cells["threshold"] = Estimate(note=DOUBTFUL if summary.strange else "not known")
        else:
            verdict = REACHED if summary.reaches else MISSED
            cells |= {"threshold": Estimate(threshold, note=verdict), "verdict": verdict}
        if focus is None:
            cells |= {"peak": Estimate(note=NO_SALIENCY), "energy": None}
        else:
            cells |= {"peak": IN if focus.hit else OUT, "energy": focus.energy}
        rows.append(TableRow(name=summary.model, cells=cells, mark=summary.mark))
    boxes = any(summary.focus is not None for summary in summaries)
    shown = (*MODEL_SHOWN, *BOX_SHOWN) if boxes else MODEL_SHOWN
    return ScoreTable("Model", shown, MODEL_COLUMNS, tuple(rows))


def _band_cells(summary: FindingSummary) -> dict[str, Estimate | Cell]:
    """Return what a model says of one finding, and what is known of films of such a score."""
    index = finding_index(summary.scored.findings, summary.name)
    spelling = (
        summary.name if summary.score is None or index is None else summary.scored.findings[index]
    )
    own: dict[str, Estimate | Cell] = {
        "model": summary.model,
        "finding": spelling,
        "score": Estimate(summary.score, text=summary.written),
    }
    band = summary.band
    if band is None:
        return own | dict.fromkeys(("share", "films", "reading"))
    _, _, low, high = band.file_cells
    return own | {
        "band": band.range(),
        "band_low": band.low,
        "band_high": band.high,
        "films": band.count,
        "labelled": band.events,
        "share": share_cell(band),
        "low": low,
        "high": high,
        "reading": band.reading,
    }


def share_cell(band: Band) -> Estimate:
    """Return the share labelled in a band, of 100; of too few films only a file has it."""
    share = band.file_cells[1]
    if band.few:
        return Estimate(share, text=MISSING, reason="too few films")
    times, low, high = band.hundred
    return Estimate(share, text=times, note=f"{low} to {high}")


def focus_words(summary: FindingSummary) -> str:
    """Say where the saliency of one model points; empty where that is not known."""
    if summary.focus is None:
        return ""
    location = "lies in the box" if summary.focus.hit else "lies outside the box"
    return (
        f"{summary.model}: the strongest place {location}, with {percent(summary.focus.energy)} of "
        "the heat in it."
    )


def icons(summary: FindingSummary) -> tuple[IconArray | None, str]:
    """Return films like this one as icons, and how many were counted; none where none is known."""
    if summary.band is None or summary.known is None:
        return None, ""
    source = summary.known.source
    note = f"{count(summary.band.count)} of {count(source.n)} {source.split} {source.films}"
    return summary.band.icons, note


def bands_card(summary: FindingSummary) -> FigureCard | None:
    """Return what is known of films of every score, the film's own band marked; None of none."""
    known, own, place = summary.known, summary.band, summary.place
    if known is None or own is None or place is None:
        return None
    listing = "; ".join(
        f"scored {band.range()}: {films_words(band.count)}, {band.share_words()}"
        for band in summary.bands
        if band.count
    )
    rows = tuple((band.low, band.high, band.count, *band.file_cells) for band in summary.bands)
    return FigureCard(
        key="film_bands",
        title="Score against labels",
        explanation=f"of all films, {in_hundred(summary.frequency)} in 100 were labelled",
        draw=partial(draw_bands, summary.bands, place),
        alt=f"Labelled with {labelled_with(summary.name)}, of 100 films, by the "
        f"model’s score: {listing}. This film’s band: {own.range()}.",
        table=Table(DOT_COLUMNS, rows),
        caption=known.source.caption,
    )
