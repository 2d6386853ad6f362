"""Readings between which a file does not decide: what is open, and what each choice would mean."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from core.codes import RefusalCode
from core.errors import Refused
from core.readers.predictions.options import ReadOptions

LONG = 200  # letters of an option that a sentence holds; the reading itself has it whole


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
