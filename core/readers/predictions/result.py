"""What reading hands over: predictions by split, what was assumed, and what was seen."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import Notice, Refused
from core.predictions import Predictions, ScoreKind
from core.readers.predictions.options import OpenQuestion, Question, ReadOptions

SPLITS = ("train", "val", "test")
SPLIT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}", re.ASCII)


@dataclass(frozen=True)
class ArrayUse:
    """One array or column: its key, what it is used for, shape and dtype."""

    name: str
    role: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What would follow if the scores were of one kind.

    Attributes
    ----------
    kind : ScoreKind
        The kind.
    possible : bool
        Whether the values allow it.
    why_not : str
        Why they do not; empty otherwise.
    accuracy, mean_confidence : float or None
        Fractions of the split that is audited; None where impossible.
    """

    kind: ScoreKind
    possible: bool
    why_not: str = ""
    accuracy: float | None = None
    mean_confidence: float | None = None


@dataclass(frozen=True, kw_only=True)
class ReadingCandidate:
    """One of several readings between which a file does not decide.

    Attributes
    ----------
    options : ReadOptions
        All choices with which the file is read that way.
    option : str
        What picks it on the command line, for example ``--scores probabilities``.
    title : str
        The reading in a few words.
    example : str
        What the first row would say, in words; empty where it cannot be told.
    accuracy, ece : float or None
        Fractions of the part that is audited; None where they cannot be told.
    ece_of : str
        What the ECE is of, where it could be of the answers, of the event or of labels.
    model : str
        Whose scores these are, where the file holds those of several models.
    """

    options: ReadOptions
    option: str
    title: str
    example: str = ""
    accuracy: float | None = None
    ece: float | None = None
    ece_of: str = ""
    model: str = ""

    @property
    def means(self) -> str:
        """What follows from this reading, in one line."""
        numbers = []
        if self.accuracy is not None:
            numbers.append(f"accuracy {self.accuracy:.3f}")
        if self.ece is not None:
            numbers.append(" ".join(filter(None, ("ECE", self.ece_of, f"{self.ece:.3f}"))))
        return "; ".join(part for part in (self.title, ", ".join(numbers), self.example) if part)


@dataclass(frozen=True)
class Inspection:
    """What a file looks like, for the step in which a user checks or chooses.

    Attributes
    ----------
    layout : str
        One sentence: rows, columns, labels, parts.
    kind : ScoreKind or None
        The kind that was read or guessed.
    reason : str
        Why, in plain words.
    columns : tuple of ArrayUse
        Everything found, with its role.
    header : tuple of str
        Names above the preview.
    rows : tuple of tuple of str
        The first rows, raw text: whoever shows them escapes them.
    readings : tuple of Reading
        What each kind would mean.
    fingerprint : str
        Equal for files of the same form, under which a recipe may be reused.
    scores_keys, labels_keys, answer_keys, id_columns : tuple of str
        What may be chosen; answers only where some column is called one.
    confidence_words : tuple of str
        What a confidence says in words, each of which needs a number.
    epochs : tuple of str
        Epochs or settings at which the file holds the same rows, where one was chosen.
    group_columns, weight_columns : tuple of str
        What may say which rows belong together, and what they count as; `ID_STEM` stands for the
        names of the rows before their last number.
    belonging : str
        What suggests groups, where nobody has chosen any.
    candidates : tuple of ReadingCandidate
        The readings between which the user must choose; empty where the file decides.
    questions : tuple of OpenQuestion
        All that is open at once, where it is more than one thing; each candidate answers the first
        and those that follow from its answer.
    """

    layout: str
    kind: ScoreKind | None
    reason: str
    columns: tuple[ArrayUse, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    readings: tuple[Reading, ...]
    fingerprint: str
    scores_keys: tuple[str, ...] = ()
    labels_keys: tuple[str, ...] = ()
    answer_keys: tuple[str, ...] = ()
    id_columns: tuple[str, ...] = ()
    confidence_words: tuple[str, ...] = ()
    epochs: tuple[str, ...] = ()
    group_columns: tuple[str, ...] = ()
    weight_columns: tuple[str, ...] = ()
    belonging: str = ""
    candidates: tuple[ReadingCandidate, ...] = ()
    questions: tuple[OpenQuestion, ...] = ()

    @property
    def models(self) -> tuple[ReadingCandidate, ...]:
        """The candidates, where each is another model's: each may be a run of its own."""
        several = len({c.model for c in self.candidates if c.model}) == len(self.candidates) > 1
        return self.candidates if several else ()


class NeedsChoice(Refused):
    """A refusal after the file was opened: `inspection` shows what may be chosen instead.

    `question` is what the file left open, where that stopped the reading.
    """

    def __init__(
        self, refusal: Refused, inspection: Inspection, question: Question | None = None
    ) -> None:
        super().__init__(*refusal.fields)
        self.inspection = inspection
        self.question = question

    def to_json(self) -> dict[str, Any]:  # Any: plain JSON values of several types
        """Return the refusal as plain JSON, with the readings to choose from if there are any."""
        candidates = [{"option": c.option, "means": c.means} for c in self.inspection.candidates]
        questions = [
            {"what": q.what, "answers": dict(zip(q.options, q.answers, strict=True))}
            for q in self.inspection.questions
        ]
        more = {"questions": questions} if questions else {}
        return super().to_json() | ({"candidates": candidates} if candidates else {}) | more


@dataclass(frozen=True)
class ReadResult:
    """The outcome of reading one file, with its label file if there was one.

    Attributes
    ----------
    splits : mapping of str to Predictions
        By train, val, test or the file's own words; a lone part is called test.
    notices : tuple of Notice
        What was assumed; they travel into every export.
    digest : str
        blake2b-128 of the bytes of the file, and of the label file and tables after it.
    inspection : Inspection
        What was seen.
    recipe : ReadOptions
        The choices with which reading again gives the same.
    """

    splits: Mapping[str, Predictions]
    notices: tuple[Notice, ...]
    inspection: Inspection
    recipe: ReadOptions
    digest: str = ""

    @property
    def chosen_split(self) -> str:
        """The split that is audited when nobody says; see `choose_split`."""
        return choose_split(self.splits)


def choose_split(splits: Mapping[str, object]) -> str:
    """Return test when present, else the first with a name of its own, else val, else train."""
    own = [name for name in splits if name not in SPLITS]
    return next(name for name in ("test", *own, "val", "train") if name in splits)
