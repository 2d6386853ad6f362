"""What a user may say of a file and is asked, and what reading hands over."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from core import codec
from core.codes import RefusalCode
from core.errors import Notice, Refused, UsageError
from core.fields import JsonObject
from core.predictions import Predictions, ScoreKind

ID_STEM = "id-stem"  # rows belong together whose names are alike before their last number
LONG = 200  # letters of an option that a sentence holds; the reading itself has it whole
MAX_RANGE = 100_000  # classes that a range such as 1..1000 may name


class Units(StrEnum):
    """What one step of the numbers is, where they are no plain fractions or logits."""

    PERCENT = "percent"
    BYTE = "byte"
    SUM = "sum"
    LN = "ln"
    LOG2 = "log2"
    LOG10 = "log10"
    SOFTMAX_TWICE = "softmax_twice"


class AnswersPerRow(StrEnum):
    """How many of the columns may be true in one row."""

    ONE = "one"
    MANY = "many"


class Uncertain(StrEnum):
    """What labels of findings that are blank or -1 count as."""

    LEAVE_OUT = "leave_out"
    ABSENT = "absent"
    PRESENT = "present"


class PairMeaning(StrEnum):
    """What a list of pairs of scores and labels is."""

    PARTS = "parts"
    BATCHES = "batches"


@dataclass(frozen=True)
class ReadOptions:
    """Choices that override the reader's own, all None by default; a saved copy is the recipe.

    Raises UsageError SETTING: `classes` that name no classes.
    """

    scores: ScoreKind | None = None  # what the numbers are
    units: Units | None = None  # what the numbers count in
    # Whether one of the columns is true in each row, or any number of them
    answers: AnswersPerRow | None = None
    pairs: PairMeaning | None = None  # whether a list of pairs holds parts or batches of one part
    # What a label that is -1 counts as; blank ones are absent, or both are left out
    uncertain: Uncertain | None = None
    # Names of the columns of scores in their order, as a line of CSV, or a range such as 1..10; of
    # a single column, the class that it does not state and the one it does
    classes: str | None = None
    records: str | None = None  # path of a list of records inside JSON, or name of a sheet
    # Of scores with one set of classes for each member of an ensemble or pass of dropout: "mean",
    # or the number of one, from 1
    members: str | None = None
    # Of a file with the same rows at several epochs or settings, the one that is meant
    epoch: str | None = None
    scale: str | None = None  # what words of a stated confidence stand for: low=0.2,high=0.9
    # scores_key, labels_key: key of an array, or column of a table. In a table also a comma-
    # separated list of columns or a common prefix of their names.
    scores_key: str | None = None
    labels_key: str | None = None
    correct_key: str | None = None  # column that says whether the answer was right
    prediction_key: str | None = None  # column that holds the answer given
    id_column: str | None = None  # column that names the rows; two files are joined by it
    group: str | None = None  # column that says which rows belong together, or `ID_STEM`
    weight: str | None = None  # column that says how many rows each row stands for
    in_order: bool = False  # two files hold the same rows in the same order, whatever names them
    # Take the scores of inputs that belong to none of the classes: labels are neither needed nor
    # looked at, and stated confidences may be any numbers
    unlabelled: bool = False

    def __post_init__(self) -> None:
        """Refuse names of classes that cannot be told apart."""
        self.class_list()

    def to_json(self) -> JsonObject:
        """Return the choices that were made as plain JSON."""
        return {k: v for k, v in codec.to_json(self).items() if v is not None and v is not False}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Return the choices of a recipe; null stands for no choice.

        Raises UsageError SETTING: an unknown key, a value outside its list, or one of another
        type; `classes` that name no classes.
        """
        if isinstance(data, Mapping):
            data = {key: value for key, value in data.items() if value is not None}
        return codec.read(cls, data, "recipe")

    def class_list(self) -> tuple[str, ...]:
        """Return the names in `classes`, a range written out; empty where none were given.

        Raises UsageError SETTING: a name that is empty or occurs twice, or a range of too many.
        """
        if self.classes is None:
            return ()
        first, dots, last = self.classes.partition("..")
        if dots and _is_number(first) and _is_number(last):
            if not 0 < int(last) - int(first) < MAX_RANGE:
                what = f"Classes is {self.classes!r}"
                raise UsageError("SETTING", what, f"name 2 to {MAX_RANGE} classes")
            return tuple(str(k) for k in range(int(first), int(last) + 1))
        names = tuple(split_names(self.classes))
        if len(set(names)) < len(names) or len(names) < 2 or not all(names):
            what = f"Classes is {self.classes[:60]!r}"
            raise UsageError("SETTING", what, "give every class a name of its own")
        return names


def classes_text(names: tuple[str, ...]) -> str:
    """Return names as `classes` takes them: a range where they count up."""
    numbers = [int(name) for name in names if _is_number(name)]
    if len(numbers) == len(names) > 2 and numbers == [numbers[0] + k for k in range(len(numbers))]:
        return f"{numbers[0]}..{numbers[-1]}"
    return join_names(names)


def join_names(names: Sequence[str]) -> str:
    """Return names as a line of CSV, as options take them."""
    line = io.StringIO()
    csv.writer(line).writerow(names)
    return line.getvalue().removesuffix("\r\n")


def split_names(text: str) -> list[str]:
    """Return the names in a line of CSV; the whole text where it is none."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        return [text]
    return [name.strip() for name in rows[0]] if len(rows) == 1 else [text]


def _is_number(text: str) -> bool:
    digits = text.strip().removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 10


@dataclass(frozen=True)
class ReadChoice:
    """One way to read a file: its name in a few words, and the options that pick it.

    `model` names the model whose scores these are, where the file holds those of several.
    """

    title: str
    changes: Mapping[str, object]
    model: str = ""

    def options(self, current: ReadOptions) -> ReadOptions:
        """Return all choices: those already made, and this one."""
        return replace(current, **self.changes)  # type: ignore[arg-type]  # made by our own code

    def followed_by(self, other: "ReadChoice") -> "ReadChoice":
        """Return this choice together with one that answers what it leaves open."""
        title, changes = f"{self.title}; {other.title}", {**self.changes, **other.changes}
        return ReadChoice(title, changes, self.model or other.model)

    @property
    def command(self) -> str:
        """What picks it on the command line."""
        parts = []
        for name, value in self.changes.items():
            option = f"--{name.replace('_', '-')}"
            text = str(value)
            if not text or any(not c.isalnum() and c not in "._,:/@%+=-" for c in text):
                text = "'" + text.replace("'", "'\\''") + "'"  # quoted for a shell
            joint = "=" if text.startswith("-") else " "
            parts.append(option if value is True else f"{option}{joint}{text}")
        return " ".join(parts)


@dataclass(frozen=True)
class OpenQuestion:
    """One thing that a file leaves open: what, the answers in words, and the option of each."""

    what: str
    answers: tuple[str, ...]
    options: tuple[str, ...]


class Question(Refused):
    """A refusal that a choice may lift: what the file leaves open, and the ways to read it.

    As a guess it is kept with a part: the first choice is what was assumed, and stands only where
    the answers turn out better than chance and no other choice reads far better.
    """

    def __init__(self, refusal: Refused, choices: tuple[ReadChoice, ...]) -> None:
        super().__init__(*refusal.fields)
        self.choices = choices

    def open(self, before: str = "") -> OpenQuestion:
        """Return the question as an inspection lists it."""
        titles = tuple(choice.title for choice in self.choices)
        commands = tuple(choice.command for choice in self.choices)
        return OpenQuestion(f"{before}{self.what}", titles, commands)


def undecided(what: str, *choices: ReadChoice, location: str = "") -> Question:
    """Return the question between readings that no name and no value settles."""
    commands = [choice.command for choice in choices]
    options = " or ".join(c if len(c) <= LONG else f"{c[:LONG]}..." for c in commands)
    remedy = f"say which it is: {options}" if len(choices) > 1 else f"if so, say {options}"
    return Question(Refused(RefusalCode.UNDECIDED, what, remedy, location), choices)


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
    """What would follow if the scores were of one kind."""

    kind: ScoreKind  # the kind
    possible: bool  # whether the values allow it
    why_not: str = ""  # why they do not; empty otherwise
    # accuracy, mean_confidence: fractions of the split that is audited; None where impossible
    accuracy: float | None = None
    mean_confidence: float | None = None


@dataclass(frozen=True, kw_only=True)
class ReadingCandidate:
    """One of several readings between which a file does not decide."""

    options: ReadOptions  # all choices with which the file is read that way
    option: str  # what picks it on the command line, for example ``--scores probabilities``
    title: str  # the reading in a few words
    example: str = ""  # what the first row would say, in words; empty where it cannot be told
    # accuracy, ece: fractions of the part that is audited; None where they cannot be told
    accuracy: float | None = None
    ece: float | None = None
    # What the ECE is of, where it could be of the answers, of the event or of labels
    ece_of: str = ""
    model: str = ""  # whose scores these are, where the file holds those of several models

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
    """What a file looks like, for the step in which a user checks or chooses."""

    layout: str  # one sentence: rows, columns, labels, parts
    kind: ScoreKind | None  # the kind that was read or guessed
    reason: str  # why, in plain words
    columns: tuple[ArrayUse, ...]  # everything found, with its role
    header: tuple[str, ...]  # names above the preview
    rows: tuple[tuple[str, ...], ...]  # the first rows, raw text: whoever shows them escapes them
    readings: tuple[Reading, ...]  # what each kind would mean
    fingerprint: str  # equal for files of the same form, under which a recipe may be reused
    # scores_keys, labels_keys, answer_keys, id_columns: what may be chosen; answers only where some
    # column is called one
    scores_keys: tuple[str, ...] = ()
    labels_keys: tuple[str, ...] = ()
    answer_keys: tuple[str, ...] = ()
    id_columns: tuple[str, ...] = ()
    # What a confidence says in words, each of which needs a number
    confidence_words: tuple[str, ...] = ()
    # Epochs or settings at which the file holds the same rows, where one was chosen
    epochs: tuple[str, ...] = ()
    # group_columns, weight_columns: what may say which rows belong together, and what they count
    # as; `ID_STEM` stands for the names of the rows before their last number
    group_columns: tuple[str, ...] = ()
    weight_columns: tuple[str, ...] = ()
    belonging: str = ""  # what suggests groups, where nobody has chosen any
    # The readings between which the user must choose; empty where the file decides
    candidates: tuple[ReadingCandidate, ...] = ()
    # All that is open at once, where it is more than one thing; each candidate answers the first
    # and those that follow from its answer
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
    """The outcome of reading one file, with its label file if there was one."""

    # By train, val, test or the file's own words; a lone part is called test
    splits: Mapping[str, Predictions]
    notices: tuple[Notice, ...]  # what was assumed; they travel into every export
    inspection: Inspection  # what was seen
    recipe: ReadOptions  # the choices with which reading again gives the same
    # blake2b-128 of the bytes of the file, and of the label file and tables after it
    digest: str = ""

    @property
    def chosen_split(self) -> str:
        """The split that is audited when nobody says; see `choose_split`."""
        return choose_split(self.splits)


def choose_split(splits: Mapping[str, object]) -> str:
    """Return test when present, else the first with a name of its own, else val, else train."""
    own = [name for name in splits if name not in SPLITS]
    return next(name for name in ("test", *own, "val", "train") if name in splits)
