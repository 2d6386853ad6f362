"""Several models compared on one film: what each says of it, in words and tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from core.screens.kit.marks import RunMark
from core.screens.kit.numbers import MISSING, percent
from core.screens.kit.records import (
    Cell,
    Column,
    Estimate,
    Mark,
    Phrase,
    ScoreTable,
    Sentence,
    TableRow,
    columns_of,
)
from core.screens.xray.bands import Band
from core.screens.xray.film import (
    COLUMNS,
    FilmScores,
    Reference,
    cells,
    counted,
    finding_index,
    frequency,
    score_words,
    share_cell,
    spelled,
)
from core.screens.xray.saliency import SaliencyFocus
from core.screens.xray.words import FindingWords, listed

NOTHING, DOUBTFUL = "not shown: trained on other films", "may mean nothing here"
NO_FINDING: Final = "has no such finding"
NO_SALIENCY: Final = "no heat is shown"
REACHED, MISSED, BELOW = "reached", "not reached", "below its threshold"
MARKS: Final[dict[bool | None, Mark]] = {True: "beyond", False: "tie", None: ""}
IN, OUT = "in the box", "outside it"
OWN: Final = "each its own"
MODEL_SHOWN: Final = (
    Column("score", "Score"),
    Column("threshold", "Threshold", "share"),
    Column("share", "Labelled with it, of 100"),
    Column("films", "Films with such a score", "count"),
    Column("reading", "On average in this band"),
)
BOX_SHOWN: Final = (
    Column("peak", "Strongest place"),
    Column("energy", "Heat in the box", "share"),
)
DIFFER: Final = (
    "The same score from two models need not mean the same. For each model, the table counts how "
    "films with such a score were labelled."
)
MODEL_COLUMNS: Final = (
    *COLUMNS[:3],
    Column("threshold", "threshold", "share"),
    *columns_of(verdict="threshold is", peak="strongest place"),
    Column("energy", "heat in the box", "share"),
    *COLUMNS[3:],
)
LEFT_OUT: Final = frozenset({"finding", "band_low", "band_high", "labelled", "note"})  # of a report


@dataclass(frozen=True, eq=False, kw_only=True)
class Opinion:
    """What one of several models says of a film.

    `mark` is the badge of the model, that of its run wherever that is shown, and `known` what its
    scores were worth on labelled films. `strange` says why what it says means nothing, or only may
    where it is `doubtful`: it is not known what it was trained on. `chosen` are thresholds that a
    user set, in [0, 1], by spelled finding; `focus` is where its saliency points, where a box is
    known and saliency is shown.
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

    @property
    def withheld(self) -> bool:
        """Whether its scores are not shown: it surely never saw a film of this kind."""
        return bool(self.strange) and not self.doubtful

    def score(self, name: str) -> float | None:
        """Return the score of a finding; None where it has none, or it is not shown."""
        index = None if self.withheld else finding_index(self.scored.findings, name)
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

    def place(self, name: str) -> Band | None:
        """Return the band of the score in the model's test set; None where there is none."""
        score = self.score(name)
        index = None if self.known is None else finding_index(self.known.source.findings, name)
        if self.known is None or index is None or score is None:
            return None
        return self.known.at(index, score)


def sentence(opinions: Sequence[Opinion], name: str, words: FindingWords) -> Sentence:
    """Return what opens the page: each model's score, and whether it reaches its threshold.

    The first of the models has the finding.
    """
    scores = [(opinion.name, opinion.score(name)) for opinion in opinions]
    texts = [f"{score_words(score)} with {who}" for who, score in scores if score is not None]
    texts[:1] = [text.replace(" with ", " of 100 with ", 1) for text in texts[:1]]
    shown = f"scores {listed(texts)}" if texts else "has no score to show"
    parts = [Phrase(f"For {words.inside(name)} this film {shown}.")]
    parts += _verdict(opinions, name)
    parts += [Phrase(f" {text}") for text in _rest(opinions, name)]
    return Sentence(tuple(parts), _threshold_from(opinions, name))


def _verdict(opinions: Sequence[Opinion], name: str) -> list[Phrase]:
    """Say which models reach their thresholds, and which stay below."""
    loud = [opinion.name for opinion in opinions if opinion.reaches(name) is True]
    mute = [opinion.name for opinion in opinions if opinion.reaches(name) is False]
    common = _common([opinion for opinion in opinions if opinion.reaches(name) is not None], name)
    own = "its own threshold" if len(loud or mute) == 1 else "their own thresholds"
    threshold = [Phrase(own)]
    if common is not None:
        threshold = [Phrase("the threshold"), Phrase(f" ({percent(common)})")]
    phrases = []
    if loud:
        who = _who(loud, opinions)
        phrases = [Phrase(f" {who} {'reaches' if len(loud) == 1 else 'reach'} "), *threshold]
    if mute:
        stays = f"{_who(mute, opinions)} {'stays' if len(mute) == 1 else 'stay'} below"
        theirs = "it" if common is not None else "its own" if len(mute) == 1 else "their own"
        phrases += [Phrase(f", {stays} {theirs}")] if loud else [Phrase(f" {stays} "), *threshold]
    return [*phrases, Phrase(".")] if phrases else []


def _who(names: Sequence[str], opinions: Sequence[Opinion]) -> str:
    """Return a list of models, short where it is of all of them."""
    if len(names) < len(opinions):
        return listed(names)
    return "Both" if len(names) == 2 else "All three"


def _rest(opinions: Sequence[Opinion], name: str) -> list[str]:
    """Say of which models nothing can be said."""
    withheld = [opinion.name for opinion in opinions if opinion.withheld]
    missing = [
        opinion.name for opinion in opinions if opinion.score(name) is None and not opinion.withheld
    ]
    scored = [opinion for opinion in opinions if opinion.score(name) is not None]
    unknown = [
        opinion.name
        for opinion in scored
        if not opinion.strange and opinion.threshold(name) is None
    ]
    texts = []
    if missing:
        texts.append(f"{listed(missing)} {'has' if len(missing) == 1 else 'have'} no such finding.")
    if withheld:
        were = "was" if len(withheld) == 1 else "were"
        texts.append(f"{listed(withheld)} {were} trained on other films: no score is shown.")
    strange = [opinion.name for opinion in scored if opinion.strange]
    texts += [f"The score of {listed(strange)} {DOUBTFUL}."] if strange else []
    if unknown:
        texts.append(f"No threshold is known for {listed(unknown)}.")
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
        return "The threshold is the one set here."
    set_names = {
        opinion.known.source.reference_class for opinion in judged if opinion.known is not None
    }
    if len(set_names) == 1 and _common(judged, name) is not None:
        return f"The threshold is the finding’s frequency in {set_names.pop()}."
    return "Each model’s threshold is the finding’s frequency in its own test set."


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


def model_table(opinions: Sequence[Opinion], name: str, note: str) -> ScoreTable:
    """Return the models as rows: what each says of one finding, and what that was worth.

    Where a box is known the page also has columns for where the saliency points. The file always
    has them, and in every row a `note` of what it may not be used for.
    """
    rows = []
    for opinion in opinions:
        focus, score, threshold = opinion.focus, opinion.score(name), opinion.threshold(name)
        row_cells = _counts(opinion, name) | {"note": note}
        if score is None:
            row_cells["threshold"] = Estimate(threshold, text=MISSING)
        elif threshold is None:
            row_cells["threshold"] = Estimate(note=opinion.worth or "not known")
        else:
            verdict = REACHED if score >= threshold else MISSED
            row_cells |= {"threshold": Estimate(threshold, note=verdict), "verdict": verdict}
        if focus is None:
            row_cells |= {"peak": Estimate(note=NO_SALIENCY), "energy": None}
        else:
            row_cells |= {"peak": IN if focus.hit else OUT, "energy": focus.energy}
        rows.append(TableRow(name=opinion.name, cells=row_cells, mark=opinion.mark))
    boxes = any(opinion.focus is not None for opinion in opinions)
    shown = (*MODEL_SHOWN, *BOX_SHOWN) if boxes else MODEL_SHOWN
    return ScoreTable("Model", shown, MODEL_COLUMNS, tuple(rows))


def _counts(opinion: Opinion, name: str) -> dict[str, Estimate | Cell]:
    findings, place = opinion.scored.findings, opinion.place(name)
    index = finding_index(findings, name)
    if index is None or opinion.withheld:
        why = NOTHING if opinion.withheld else NO_FINDING
        return cells(opinion.name, name, Estimate(note=why), None)
    row_cells = cells(opinion.name, findings[index], _score(opinion, name), place)
    if place is None:
        return row_cells
    share = share_cell(place)
    return row_cells | {
        "films": Estimate(place.count, note=f"scored {place.range()}"),
        "share": replace(share, reason="", note=share.note or share.reason),
    }


def _score(opinion: Opinion, name: str, note: str = "") -> Estimate:
    """Return a score as people read it, marked where it reaches its threshold or stays below."""
    score, mark = opinion.score(name), MARKS[opinion.reaches(name)]
    return Estimate(score, text=None if score is None else score_words(score), note=note, mark=mark)


def focus_words(model: str, focus: SaliencyFocus) -> str:
    """Say where the saliency of one model points."""
    location = "lies in the box" if focus.hit else "lies outside the box"
    return (
        f"{model}: the strongest place {location}, with {percent(focus.energy)} of the heat in it."
    )


def finding_table(
    opinions: Sequence[Opinion], chosen: str, words: FindingWords, note: str
) -> ScoreTable:
    """Return the findings that any of the models has, by the first one's falling score.

    The page has a column a model and the threshold, the file score and threshold a model.
    `chosen` is the finding that is shaded, `note` what the file may not be used for.
    """
    names: dict[str, str] = {}  # as the first model that has a finding spells it
    for opinion in opinions:
        for k in () if opinion.withheld else opinion.scored.order:
            names.setdefault(spelled(opinion.scored.findings[k]), opinion.scored.findings[k])
    shown = tuple(Column(f"score: {opinion.name}", opinion.name) for opinion in opinions)
    columns = [Column("finding", "finding")]
    for opinion in opinions:
        columns += [
            Column(f"score: {opinion.name}", opinion.name, "share"),
            Column(f"threshold: {opinion.name}", f"threshold of {opinion.name}", "share"),
        ]
    return ScoreTable(
        "Finding",
        (*shown, Column("threshold", "Threshold", "share")),
        (*columns, Column("note", "note")),
        tuple(
            TableRow(
                name=words.title(name),
                cells={"finding": name, **_finding(opinions, name), "note": note},
                shaded=name == chosen,
            )
            for name in names.values()
        ),
    )


def _finding(opinions: Sequence[Opinion], name: str) -> dict[str, Estimate | Cell]:
    """Return each model's score of a finding, and the threshold where they have it in common.

    Under a score stands that it is below, and its threshold where each model has its own.
    """
    common = _common(opinions, name)
    own = common is None and any(
        opinion.threshold(name) is not None for opinion in _judges(opinions, name)
    )
    row_cells: dict[str, Estimate | Cell] = {"threshold": OWN if own else common}
    for opinion in opinions:
        score, threshold = f"score: {opinion.name}", f"threshold: {opinion.name}"
        if opinion.score(name) is None:
            why = NOTHING if opinion.withheld else NO_FINDING
            row_cells |= {score: Estimate(reason=why), threshold: None}
            continue
        below = opinion.reaches(name) is False
        under = [BELOW if below else opinion.worth]
        if own and not opinion.strange:
            limit = opinion.threshold(name)
            words = "not known" if limit is None else percent(limit)
            under = [f"{BELOW} of {words}" if below else f"threshold {words}"]
        row_cells |= {
            score: _score(opinion, name, ", ".join(filter(None, under))),
            threshold: opinion.threshold(name),
        }
    return row_cells
