"""Several models beside one another on one film: what each says of it, in words and tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.figures.numbers import MISSING, count, percent
from core.figures.runs import RunMark
from core.views.clinic_words import finding, listed, plain_finding
from core.views.records import Cell, CellWords, Column, Phrase, ScoreRow, Sentence, Table
from core.views.xray_film import (
    FilmScores,
    Reference,
    ReferenceBand,
    counted,
    frequency,
    name_of,
    place_of,
    score_words,
    spelled,
)
from core.views.xray_heat import SaliencyFocus
from core.views.xray_tables import COLUMNS, cells

NOTHING, DOUBTFUL = "means nothing here", "may mean nothing here"
NO_FINDING: Final = "has no such finding"
NO_HEAT: Final = "no heat is shown"
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


@dataclass(frozen=True, eq=False)
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
    aim : SaliencyFocus or None
        Where its heat points, where a box is known and heat is shown.
    """

    scored: FilmScores
    mark: RunMark
    known: Reference | None = None
    strange: str = ""
    doubtful: bool = False
    chosen: Mapping[str, float] = field(default_factory=dict)
    aim: SaliencyFocus | None = None

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


def sentence(found: Sequence[Opinion], name: str, *, plain: bool) -> Sentence:
    """Return what opens the page: each model's score, and whether it reaches its threshold.

    Parameters
    ----------
    found : sequence of Opinion
        Two or three; the first has the finding.
    name : str
        The finding.
    plain : bool
        In plain words.
    """
    scores = [(one.name, one.score(name)) for one in found]
    told = [f"{score_words(score)} with {who}" for who, score in scores if score is not None]
    told[0] = told[0].replace(" with", " of 100 with", 1)
    parts = [Phrase(f"For {name_of(name, plain=plain)} this film scores {listed(told)}.")]
    parts += _verdict(found, name)
    parts += [Phrase(f" {text}") for text in _rest(found, name)]
    return Sentence(tuple(parts), _threshold_from(found, name))


def _verdict(found: Sequence[Opinion], name: str) -> list[Phrase]:
    """Say which models reach their thresholds, and which are silent."""
    loud = [one.name for one in found if one.reaches(name) is True]
    mute = [one.name for one in found if one.reaches(name) is False]
    common = _common([one for one in found if one.reaches(name) is not None], name)
    own = "its own threshold" if len(loud or mute) == 1 else "their own thresholds"
    threshold = [Phrase(own)]
    if common is not None:
        threshold = [Phrase("the threshold"), Phrase(f" ({percent(common)})", "quiet")]
    told = []
    if loud:
        who = _who(loud, found)
        told = [Phrase(f" {who} {'reaches' if len(loud) == 1 else 'reach'} "), *threshold]
    if mute:
        stays = f"{_who(mute, found)} {'stays' if len(mute) == 1 else 'stay'} silent"
        told += [Phrase(f", {stays}")] if loud else [Phrase(f" {stays}, below "), *threshold]
    return [*told, Phrase(".")] if told else []


def _who(names: Sequence[str], found: Sequence[Opinion]) -> str:
    """Return a list of models, short where it is of all of them."""
    if len(names) < len(found):
        return listed(names)
    return "Both" if len(names) == 2 else "All three"


def _rest(found: Sequence[Opinion], name: str) -> list[str]:
    """Say of which models nothing can be said."""
    missing = [one.name for one in found if one.score(name) is None]
    there = [one for one in found if one.score(name) is not None]
    unknown = [one.name for one in there if not one.strange and one.threshold(name) is None]
    told = []
    if missing:
        told.append(f"{listed(missing)} {'has' if len(missing) == 1 else 'have'} no such finding.")
    for worth in (NOTHING, DOUBTFUL):
        strange = [one.name for one in there if one.worth == worth]
        told += [f"The score of {listed(strange)} {worth}."] if strange else []
    if unknown:
        told.append(f"No threshold of {listed(unknown)} is known.")
    return told


def _common(found: Iterable[Opinion], name: str) -> float | None:
    """Return the threshold of a finding where all models that it is asked of have the same."""
    all_of = {one.threshold(name) for one in _judges(found, name)}
    return all_of.pop() if len(all_of) == 1 else None


def _judges(found: Iterable[Opinion], name: str) -> list[Opinion]:
    """Return the models that have a finding and whose score of it may mean something."""
    return [one for one in found if one.score(name) is not None and not one.strange]


def _threshold_from(found: Sequence[Opinion], name: str) -> str:
    """Say where the threshold comes from."""
    judged = [one for one in found if one.reaches(name) is not None]
    if not judged:
        return ""
    if any(spelled(name) in one.chosen for one in judged):
        return "The threshold is the one that was set."
    wheres = {one.known.source.where for one in judged if one.known is not None}
    if len(wheres) == 1 and _common(judged, name) is not None:
        return f"The threshold is how frequent the finding is in {wheres.pop()}."
    return "The threshold of each model is how frequent the finding is in its own test set."


def sources(found: Iterable[Opinion]) -> tuple[str, ...]:
    """Say of each model what its scores were counted on; those of one set together.

    Sets of the same words are told apart by how frequent their findings are.
    """
    by_set: dict[tuple[str, tuple[float, ...]], list[str]] = {}
    for one in found:
        if one.known is not None:
            by_set.setdefault((counted(one.known), one.known.prevalence), []).append(one.name)
    return tuple(
        f"{listed(names)}: {text[:1].lower()}{text[1:]}" for (text, _), names in by_set.items()
    )


def model_heads(*, boxes: bool) -> tuple[str, ...]:
    """Return the heads of the table of models; with boxes also where their heat points."""
    return (*HEADS, *BOX_HEADS) if boxes else HEADS


def model_rows(found: Sequence[Opinion], name: str, *, boxes: bool) -> tuple[ScoreRow, ...]:
    """Return the models as rows: what each says of one finding, and what that was worth.

    With `boxes` it is known where the finding is: whether heat is strongest there, and its share.
    """
    return tuple(
        ScoreRow(
            one.name,
            (*_worth(one, name), *(_aim(one.aim) if boxes else ())),
            mark=one.mark,
            told=frozenset({0} if one.reaches(name) else ()),
            ties=frozenset({0} if one.reaches(name) is False else ()),
        )
        for one in found
    )


def _worth(one: Opinion, name: str) -> tuple[CellWords, ...]:
    score, threshold, place = one.score(name), one.threshold(name), one.place(name)
    if score is None:
        return (CellWords(MISSING, NO_FINDING), *(CellWords(MISSING),) * 4)
    limit = CellWords(MISSING, one.worth or "not known")
    if threshold is not None:
        limit = CellWords(percent(threshold), REACHED if one.reaches(name) else SILENT)
    start = (CellWords(score_words(score)), limit)
    if place is None:
        return (*start, *(CellWords(MISSING),) * 3)
    times, low, high = place.hundred
    labelled = CellWords(MISSING, "too few films")
    return (
        *start,
        labelled if place.few else CellWords(times, f"{low} to {high}"),
        CellWords(count(place.n), f"scored {place.range}"),
        CellWords(place.reading),
    )


def _aim(aim: SaliencyFocus | None) -> tuple[CellWords, CellWords]:
    if aim is None:
        return CellWords(MISSING, NO_HEAT), CellWords(MISSING)
    return CellWords(IN if aim.hit else OUT), CellWords(percent(aim.energy))


def aim_words(model: str, aim: SaliencyFocus) -> str:
    """Say where the heat of one model points."""
    where = "lies in the box" if aim.hit else "lies outside the box"
    return f"{model}: the strongest place {where}, with {percent(aim.energy)} of the heat in it."


def finding_heads(found: Sequence[Opinion]) -> tuple[str, ...]:
    """Return the heads of the table of findings: a column a model, then the threshold."""
    return ("Finding", *(one.name for one in found), "Threshold")


def finding_rows(found: Sequence[Opinion], name: str, *, plain: bool) -> tuple[ScoreRow, ...]:
    """Return the findings that any of the models has, by the first one's falling score."""
    said = plain_finding if plain else finding
    return tuple(_row(found, one, said(one), shaded=one == name) for one in _findings(found))


def _row(found: Sequence[Opinion], name: str, label: str, *, shaded: bool) -> ScoreRow:
    common = _common(found, name)
    own = common is None and any(one.threshold(name) is not None for one in _judges(found, name))
    last = CellWords(OWN if own else MISSING if common is None else percent(common))
    return ScoreRow(
        label[:1].upper() + label[1:],
        (*(_score(one, name, own=own) for one in found), last),
        told=frozenset(i for i, one in enumerate(found) if one.reaches(name)),
        ties=frozenset(i for i, one in enumerate(found) if one.reaches(name) is False),
        shaded=shaded,
    )


def _score(one: Opinion, name: str, *, own: bool) -> CellWords:
    """Return a score; under it that it is silent, and its threshold where each has its own."""
    score, threshold = one.score(name), one.threshold(name)
    if score is None:
        return CellWords(MISSING, reason=NO_FINDING)
    under = [SILENT if one.reaches(name) is False else one.worth]
    if own and not one.strange:
        limit = "not known" if threshold is None else percent(threshold)
        under.append(f"threshold {limit}")
    return CellWords(score_words(score), ", ".join(filter(None, under)))


def _findings(found: Sequence[Opinion]) -> list[str]:
    """Return the findings of all models, each once: the first model's, then what others add."""
    names: dict[str, str] = {}
    for one in found:
        for k in one.scored.order:
            names.setdefault(spelled(one.scored.findings[k]), one.scored.findings[k])
    return list(names.values())


def model_table(found: Sequence[Opinion], name: str, note: str) -> Table:
    """Return the models for a file, a row each: what it says of one finding, and where it points.

    Fractions; in every row what it may not be used for.
    """
    columns = (*COLUMNS[:3], *EXTRA, *COLUMNS[3:])
    return Table(columns, tuple(_model(one, name, note) for one in found))


def _model(one: Opinion, name: str, note: str) -> tuple[Cell, ...]:
    index, aim = place_of(one.scored.findings, name), one.aim
    reaches = one.reaches(name)
    verdict = None if reaches is None else REACHED if reaches else f"not reached: {SILENT}"
    extra = (
        one.threshold(name),
        verdict,
        None if aim is None else IN if aim.hit else OUT,
        None if aim is None else aim.energy,
    )
    if index is None:
        return (one.name, name, None, *extra, *(None,) * (len(COLUMNS) - 4), note)
    row = cells(one.scored, index, one.known, note)
    return (*row[:3], *extra, *row[3:])


def brief(found: Table) -> Table:
    """Return the file of models with the columns that a page has room for."""
    kept = [i for i, column in enumerate(found.columns) if column.key not in LEFT_OUT]
    rows = tuple(tuple(row[i] for i in kept) for row in found.rows)
    return Table(tuple(found.columns[i] for i in kept), rows)


def finding_table(found: Sequence[Opinion], note: str) -> Table:
    """Return the findings for a file, a row each: score and threshold a model, as fractions."""
    columns = [Column("finding", "finding")]
    for one in found:
        columns += [
            Column(f"score: {one.name}", one.name, "share"),
            Column(f"threshold: {one.name}", f"threshold of {one.name}", "share"),
        ]
    rows = []
    for name in _findings(found):
        row: list[Cell] = [name]
        for one in found:
            has = one.score(name) is not None
            row += [one.score(name), one.threshold(name) if has else None]
        rows.append((*row, note))
    return Table((*columns, Column("note", "note")), tuple(rows))
