"""Several models beside one another on one film: what each says of it, in words and tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.screens.kit.numbers import MISSING, count, percent
from core.screens.kit.records import Cell, CellWords, Column, Phrase, ScoreRow, Sentence, Table
from core.screens.kit.run_marks import RunMark
from core.screens.xray.film import (
    FilmScores,
    Reference,
    ReferenceBand,
    counted,
    frequency,
    place_of,
    score_words,
    spelled,
)
from core.screens.xray.film_tables import COLUMNS, cells
from core.screens.xray.saliency import SaliencyFocus
from core.screens.xray.words import FindingWords, listed

NOTHING, DOUBTFUL = "means nothing here", "may mean nothing here"
NO_FINDING: Final = "has no such finding"
NO_SALIENCY: Final = "no heat is shown"
REACHED, SILENT = "reached", "silent"
IN, OUT = "in the box", "outside it"
OWN: Final = "each its own"
HEADS: Final = (
    "Model",
    "Score",
    "Threshold",
    "Labelled with it, of 100",
    "Films of such a score",
    "In this band the model",
)
BOX_HEADS: Final = ("Strongest place", "Heat in the box")
FOUND: Final = "where a model is silent, its score is below the finding’s threshold"
DIFFER: Final = (
    "Equal scores of two models need not mean the same. The table counts, for each model by "
    "itself, what films of such a score were labelled with."
)
EXTRA: Final = (
    Column("threshold", "threshold", "share"),
    Column("verdict", "threshold is"),
    Column("peak", "strongest place"),
    Column("energy", "heat in the box", "share"),
)
LEFT_OUT: Final = frozenset({"finding", "band_low", "band_high", "labelled", "note"})  # of a page


@dataclass(frozen=True, eq=False, kw_only=True)
class Opinion:
    """What one of several models says of a film.

    Attributes
    ----------
    scored : FilmScores
    mark : RunMark
        The model's badge, that of its run wherever that is shown.
    known : Reference or None
        What its scores were worth on labelled films.
    strange : str
        Why what it says means nothing, or may mean nothing, or empty.
    doubtful : bool
        Whether it only may: it is not known what the model was trained on.
    chosen : mapping of str to float
        Thresholds that a user set, by spelled finding; in [0, 1].
    focus : SaliencyFocus or None
        Where its saliency points, where a box is known and saliency is shown.
    """

    scored: FilmScores
    mark: RunMark
    known: Reference | None = None
    strange: str = ""
    doubtful: bool = False
    chosen: Mapping[str, float] = field(default_factory=dict)
    focus: SaliencyFocus | None = None

    @property
    def name(self) -> str:
        """The model, as it is called everywhere."""
        return self.scored.model

    @property
    def worth(self) -> str:
        """What its score means, where that is nothing, or may be; empty otherwise."""
        return "" if not self.strange else DOUBTFUL if self.doubtful else NOTHING

    def score(self, name: str) -> float | None:
        """Return the score of a finding; None where the model does not have it."""
        index = place_of(self.scored.findings, name)
        return None if index is None else self.scored.scores[index]

    def threshold(self, name: str) -> float | None:
        """Return the threshold of a finding: the one set, else its frequency, else none."""
        if self.strange:
            return None
        return self.chosen.get(spelled(name), frequency(self.known, name))

    def reaches(self, name: str) -> bool | None:
        """Whether the score reaches the threshold; None where either is not known."""
        score, threshold = self.score(name), self.threshold(name)
        return None if score is None or threshold is None else score >= threshold

    def place(self, name: str) -> ReferenceBand | None:
        """Return the band of the score in the model's test set; None where there is none."""
        score = self.score(name)
        index = None if self.known is None else place_of(self.known.source.findings, name)
        if self.known is None or index is None or score is None:
            return None
        return self.known.at(index, score)


def sentence(opinions: Sequence[Opinion], name: str, words: FindingWords) -> Sentence:
    """Return what opens the page: each model's score, and whether it reaches its threshold.

    Parameters
    ----------
    opinions : sequence of Opinion
        Two or three; the first has the finding.
    name : str
        The finding.
    words : FindingWords
    """
    scores = [(opinion.name, opinion.score(name)) for opinion in opinions]
    first, *others = [(who, score_words(score)) for who, score in scores if score is not None]
    texts = [f"{first[1]} of 100 with {first[0]}", *(f"{text} with {who}" for who, text in others)]
    parts = [Phrase(f"For {words.inside(name)} this film scores {listed(texts)}.")]
    parts += _verdict(opinions, name)
    parts += [Phrase(f" {text}") for text in _rest(opinions, name)]
    return Sentence(tuple(parts), _threshold_from(opinions, name))


def _verdict(opinions: Sequence[Opinion], name: str) -> list[Phrase]:
    """Say which models reach their thresholds, and which are silent."""
    loud = [opinion.name for opinion in opinions if opinion.reaches(name) is True]
    mute = [opinion.name for opinion in opinions if opinion.reaches(name) is False]
    common = _common([opinion for opinion in opinions if opinion.reaches(name) is not None], name)
    own = "its own threshold" if len(loud or mute) == 1 else "their own thresholds"
    threshold = [Phrase(own)]
    if common is not None:
        threshold = [Phrase("the threshold"), Phrase(f" ({percent(common)})", "quiet")]
    phrases = []
    if loud:
        who = _who(loud, opinions)
        phrases = [Phrase(f" {who} {'reaches' if len(loud) == 1 else 'reach'} "), *threshold]
    if mute:
        stays = f"{_who(mute, opinions)} {'stays' if len(mute) == 1 else 'stay'} silent"
        phrases += [Phrase(f", {stays}")] if loud else [Phrase(f" {stays}, below "), *threshold]
    return [*phrases, Phrase(".")] if phrases else []


def _who(names: Sequence[str], opinions: Sequence[Opinion]) -> str:
    """Return a list of models, short where it is of all of them."""
    if len(names) < len(opinions):
        return listed(names)
    return "Both" if len(names) == 2 else "All three"


def _rest(opinions: Sequence[Opinion], name: str) -> list[str]:
    """Say of which models nothing can be said."""
    missing = [opinion.name for opinion in opinions if opinion.score(name) is None]
    scored = [opinion for opinion in opinions if opinion.score(name) is not None]
    unknown = [
        opinion.name
        for opinion in scored
        if not opinion.strange and opinion.threshold(name) is None
    ]
    texts = []
    if missing:
        texts.append(f"{listed(missing)} {'has' if len(missing) == 1 else 'have'} no such finding.")
    for worth in (NOTHING, DOUBTFUL):
        strange = [opinion.name for opinion in scored if opinion.worth == worth]
        texts += [f"The score of {listed(strange)} {worth}."] if strange else []
    if unknown:
        texts.append(f"No threshold of {listed(unknown)} is known.")
    return texts


def _common(opinions: Iterable[Opinion], name: str) -> float | None:
    """Return the threshold of a finding where all models that it is asked of have the same."""
    thresholds = {opinion.threshold(name) for opinion in _judges(opinions, name)}
    return thresholds.pop() if len(thresholds) == 1 else None


def _judges(opinions: Iterable[Opinion], name: str) -> list[Opinion]:
    """Return the models that have a finding and whose score of it may mean something."""
    return [
        opinion for opinion in opinions if opinion.score(name) is not None and not opinion.strange
    ]


def _threshold_from(opinions: Sequence[Opinion], name: str) -> str:
    """Say where the threshold comes from."""
    judged = [opinion for opinion in opinions if opinion.reaches(name) is not None]
    if not judged:
        return ""
    if any(spelled(name) in opinion.chosen for opinion in judged):
        return "The threshold is the one that was set."
    set_names = {
        opinion.known.source.reference_class for opinion in judged if opinion.known is not None
    }
    if len(set_names) == 1 and _common(judged, name) is not None:
        return f"The threshold is how frequent the finding is in {set_names.pop()}."
    return "The threshold of each model is how frequent the finding is in its own test set."


def sources(opinions: Iterable[Opinion]) -> tuple[str, ...]:
    """Say of each model what its scores were counted on; those of one set together.

    Sets of the same words are told apart by how frequent their findings are.
    """
    by_set: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for opinion in opinions:
        if opinion.known is not None:
            by_set.setdefault((counted(opinion.known), opinion.known.prevalence), []).append(
                opinion.name
            )
    return tuple(
        f"{listed(names)}: {text[:1].lower()}{text[1:]}" for (text, _), names in by_set.items()
    )


def model_heads(*, boxes: bool) -> tuple[str, ...]:
    """Return the heads of the table of models; with boxes also where their saliency points."""
    return (*HEADS, *BOX_HEADS) if boxes else HEADS


def model_rows(opinions: Sequence[Opinion], name: str, *, boxes: bool) -> tuple[ScoreRow, ...]:
    """Return the models as rows: what each says of one finding, and what that was worth.

    With `boxes` it is known where the finding is: whether saliency is strongest there, and its
    share.
    """
    return tuple(
        ScoreRow(
            name=opinion.name,
            cells=(*_worth(opinion, name), *(_focus_cells(opinion.focus) if boxes else ())),
            mark=opinion.mark,
            strong=frozenset({0} if opinion.reaches(name) else ()),
            ties=frozenset({0} if opinion.reaches(name) is False else ()),
        )
        for opinion in opinions
    )


def _worth(opinion: Opinion, name: str) -> tuple[CellWords, ...]:
    score, threshold, place = opinion.score(name), opinion.threshold(name), opinion.place(name)
    if score is None:
        return (CellWords(MISSING, NO_FINDING), *(CellWords(MISSING),) * 4)
    limit = CellWords(MISSING, opinion.worth or "not known")
    if threshold is not None:
        limit = CellWords(percent(threshold), REACHED if opinion.reaches(name) else SILENT)
    start = (CellWords(score_words(score)), limit)
    if place is None:
        return (*start, *(CellWords(MISSING),) * 3)
    times, low, high = place.hundred
    labelled = CellWords(MISSING, "too few films")
    return (
        *start,
        labelled if place.few else CellWords(times, f"{low} to {high}"),
        CellWords(count(place.n), f"scored {place.range()}"),
        CellWords(place.reading),
    )


def _focus_cells(focus: SaliencyFocus | None) -> tuple[CellWords, CellWords]:
    if focus is None:
        return CellWords(MISSING, NO_SALIENCY), CellWords(MISSING)
    return CellWords(IN if focus.hit else OUT), CellWords(percent(focus.energy))


def focus_words(model: str, focus: SaliencyFocus) -> str:
    """Say where the saliency of one model points."""
    location = "lies in the box" if focus.hit else "lies outside the box"
    return (
        f"{model}: the strongest place {location}, with {percent(focus.energy)} of the heat in it."
    )


def finding_heads(opinions: Sequence[Opinion]) -> tuple[str, ...]:
    """Return the heads of the table of findings: a column a model, then the threshold."""
    return ("Finding", *(opinion.name for opinion in opinions), "Threshold")


def finding_rows(
    opinions: Sequence[Opinion], name: str, words: FindingWords
) -> tuple[ScoreRow, ...]:
    """Return the findings that any of the models has, by the first one's falling score."""
    return tuple(
        _row(opinions, finding_name, words.title(finding_name), shaded=finding_name == name)
        for finding_name in _findings(opinions)
    )


def _row(opinions: Sequence[Opinion], name: str, title: str, *, shaded: bool) -> ScoreRow:
    common = _common(opinions, name)
    own = common is None and any(
        opinion.threshold(name) is not None for opinion in _judges(opinions, name)
    )
    last = CellWords(OWN if own else MISSING if common is None else percent(common))
    return ScoreRow(
        name=title,
        cells=(*(_score(opinion, name, own=own) for opinion in opinions), last),
        strong=frozenset(i for i, opinion in enumerate(opinions) if opinion.reaches(name)),
        ties=frozenset(i for i, opinion in enumerate(opinions) if opinion.reaches(name) is False),
        shaded=shaded,
    )


def _score(opinion: Opinion, name: str, *, own: bool) -> CellWords:
    """Return a score; under it that it is silent, and its threshold where each has its own."""
    score, threshold = opinion.score(name), opinion.threshold(name)
    if score is None:
        return CellWords(MISSING, reason=NO_FINDING)
    under = [SILENT if opinion.reaches(name) is False else opinion.worth]
    if own and not opinion.strange:
        limit = "not known" if threshold is None else percent(threshold)
        under.append(f"threshold {limit}")
    return CellWords(score_words(score), ", ".join(filter(None, under)))


def _findings(opinions: Sequence[Opinion]) -> list[str]:
    """Return the findings of all models, each once: the first model's, then what others add."""
    names: dict[str, str] = {}
    for opinion in opinions:
        for k in opinion.scored.order:
            names.setdefault(spelled(opinion.scored.findings[k]), opinion.scored.findings[k])
    return list(names.values())


def model_table(opinions: Sequence[Opinion], name: str, note: str) -> Table:
    """Return the models for a file, a row each: what it says of one finding, and where it points.

    Fractions; in every row what it may not be used for.
    """
    columns = (*COLUMNS[:3], *EXTRA, *COLUMNS[3:])
    return Table(columns, tuple(_model(opinion, name, note) for opinion in opinions))


def _model(opinion: Opinion, name: str, note: str) -> tuple[Cell, ...]:
    index, focus = place_of(opinion.scored.findings, name), opinion.focus
    reaches = opinion.reaches(name)
    verdict = None if reaches is None else REACHED if reaches else f"not reached: {SILENT}"
    extra = (
        opinion.threshold(name),
        verdict,
        None if focus is None else IN if focus.hit else OUT,
        None if focus is None else focus.energy,
    )
    if index is None:
        return (opinion.name, name, None, *extra, *(None,) * (len(COLUMNS) - 4), note)
    row = cells(opinion.scored, index, opinion.known, note)
    return (*row[:3], *extra, *row[3:])


def brief(table: Table) -> Table:
    """Return the file of models with the columns that a page has room for."""
    places = [i for i, column in enumerate(table.columns) if column.key not in LEFT_OUT]
    rows = tuple(tuple(row[i] for i in places) for row in table.rows)
    return Table(tuple(table.columns[i] for i in places), rows)


def finding_table(opinions: Sequence[Opinion], note: str) -> Table:
    """Return the findings for a file, a row each: score and threshold a model, as fractions."""
    columns = [Column("finding", "finding")]
    for opinion in opinions:
        columns += [
            Column(f"score: {opinion.name}", opinion.name, "share"),
            Column(f"threshold: {opinion.name}", f"threshold of {opinion.name}", "share"),
        ]
    rows = []
    for name in _findings(opinions):
        row: list[Cell] = [name]
        for opinion in opinions:
            has = opinion.score(name) is not None
            row += [opinion.score(name), opinion.threshold(name) if has else None]
        rows.append((*row, note))
    return Table((*columns, Column("note", "note")), tuple(rows))
