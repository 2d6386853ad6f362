"""What a user may say about a file, and what is asked where the file leaves it open."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from core import codec
from core.codes import RefusalCode
from core.errors import Refused, UsageError
from core.fields import JsonObject
from core.predictions import ScoreKind

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

    Parameters
    ----------
    scores : ScoreKind or None
        What the numbers are.
    units : Units or None
        What the numbers count in.
    answers : AnswersPerRow or None
        Whether one of the columns is true in each row, or any number of them.
    pairs : PairMeaning or None
        Whether a list of pairs holds parts or batches of one part.
    uncertain : Uncertain or None
        What a label that is -1 counts as; blank ones are absent, or both are left out.
    classes : str or None
        Names of the columns of scores in their order, as a line of CSV, or a range such as 1..10;
        of a single column, the class that it does not state and the one it does.
    records : str or None
        Path of a list of records inside JSON, or name of a sheet.
    members : str or None
        Of scores with one set of classes for each member of an ensemble or pass of dropout: "mean",
        or the number of one, from 1.
    epoch : str or None
        Of a file with the same rows at several epochs or settings, the one that is meant.
    scale : str or None
        What words of a stated confidence stand for: low=0.2,high=0.9.
    scores_key, labels_key : str or None
        Key of an array, or column of a table. In a table also a comma-separated list of columns
        or a common prefix of their names.
    correct_key : str or None
        Column that says whether the answer was right.
    prediction_key : str or None
        Column that holds the answer given.
    id_column : str or None
        Column that names the rows; two files are joined by it.
    group : str or None
        Column that says which rows belong together, or `ID_STEM`.
    weight : str or None
        Column that says how many rows each row stands for.
    in_order : bool
        Two files hold the same rows in the same order, whatever names them.
    unlabelled : bool
        Take the scores of inputs that belong to none of the classes: labels are neither needed
        nor looked at, and stated confidences may be any numbers.

    Raises
    ------
    UsageError
        SETTING: `classes` that name no classes.
    """

    scores: ScoreKind | None = None
    units: Units | None = None
    answers: AnswersPerRow | None = None
    pairs: PairMeaning | None = None
    uncertain: Uncertain | None = None
    classes: str | None = None
    records: str | None = None
    members: str | None = None
    epoch: str | None = None
    scale: str | None = None
    scores_key: str | None = None
    labels_key: str | None = None
    correct_key: str | None = None
    prediction_key: str | None = None
    id_column: str | None = None
    group: str | None = None
    weight: str | None = None
    in_order: bool = False
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

        Raises
        ------
        UsageError
            SETTING: an unknown key, a value outside its list, or one of another type; `classes`
            that name no classes.
        """
        if isinstance(data, Mapping):
            data = {key: value for key, value in data.items() if value is not None}
        return codec.read(cls, data, "recipe")

    def class_list(self) -> tuple[str, ...]:
        """Return the names in `classes`, a range written out; empty where none were given.

        Raises
        ------
        UsageError
            SETTING: a name that is empty or occurs twice, or a range of too many.
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
