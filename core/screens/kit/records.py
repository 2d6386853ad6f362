"""The pieces a screen is made of; frozen, picklable, and without any Streamlit."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from core.screens.kit.forms import FORMS, Kind
from core.screens.kit.numbers import MISSING
from core.screens.kit.run_marks import RunMark
from core.screens.kit.theme import THEMES, Side, Theme, Tone

Cell = str | int | float | bool | None
Draw = Callable[[Theme], "go.Figure"]  # in quotes: to name it would load all of Plotly


@dataclass(frozen=True)
class Phrase:
    """A run of words of one tone; an interval is `unbroken`, it stays on one line."""

    text: str
    tone: Tone = "ink"
    unbroken: bool = False


@dataclass(frozen=True)
class Sentence:
    """The first line of a screen in coloured parts, and a quieter second line."""

    parts: tuple[Phrase, ...]
    second: str = ""

    @property
    def text(self) -> str:
        """The first line as flat text."""
        return "".join(part.text for part in self.parts)


@dataclass(frozen=True, kw_only=True)
class Strip:
    """A value on a scale from 0 to `scale`, above the block of the noise floor; fractions."""

    floor: float | None
    low: float | None
    value: float
    high: float | None
    scale: float
    tone: Tone


@dataclass(frozen=True)
class Tile:
    """One number of the strip under the sentence.

    `value` and `unit` are printed large and small, `interval` and `note` under them, `help` is
    its meaning in plain words. `floor_mark` draws the grey block that explains the strip.
    """

    label: str
    value: str
    unit: str = ""
    interval: str = ""
    note: str = ""
    help: str = ""
    strip: Strip | None = None
    floor_mark: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a table: its key in files, its head on pages and how its cells are written."""

    key: str
    label: str
    kind: Kind = "text"


@dataclass(frozen=True)
class Table:
    """Columns and rows; cells are raw, fractions where the kind is share or points."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def written(self) -> list[list[str]]:
        """Return the cells as people read them."""
        kinds = [column.kind for column in self.columns]
        return [
            [written(cell, kind) for cell, kind in zip(row, kinds, strict=True)]
            for row in self.rows
        ]

    def without(self, keys: Collection[str]) -> "Table":
        """Return the table with some of its columns left out."""
        kept = [i for i, column in enumerate(self.columns) if column.key not in keys]
        return Table(
            tuple(self.columns[i] for i in kept),
            tuple(tuple(row[i] for i in kept) for row in self.rows),
        )


@dataclass(frozen=True)
class CellWords:
    """A cell of a table of scores: the number, its interval quiet beside it, why there is none."""

    value: str
    interval: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """A row of a table of scores.

    Attributes
    ----------
    name : str
        What the row is of, with its badge where it is a run.
    notes : tuple of str
        Quiet lines under the name.
    cells : tuple of CellWords
        In the order of the heads after the first.
    strong, ties : frozenset of int
        Positions of cells that hold a difference beyond chance, and of those that hold zero.
    shaded : bool
        The row that others are measured by.
    """

    name: str
    cells: tuple[CellWords, ...]
    notes: tuple[str, ...] = ()
    mark: RunMark | None = None
    strong: frozenset[int] = frozenset()
    ties: frozenset[int] = frozenset()
    shaded: bool = False


@dataclass(frozen=True, kw_only=True)
class FigureCard:
    """A figure with everything that must go with it.

    Attributes
    ----------
    key : str
        Stable name, used for files and widget keys.
    title, explanation : str
        Page text over the figure.
    draw : callable
        Theme to figure.
    alt : str
        What the figure shows, in words and numbers.
    table : Table
        The numbers that were drawn.
    caption : str
        n, bins, split and digest.
    """

    key: str
    title: str
    explanation: str
    draw: Draw
    alt: str
    table: Table
    caption: str

    def figure(self, side: Side) -> "go.Figure":
        """Draw the figure for the light or the dark side."""
        return self.draw(THEMES[side])


@dataclass(frozen=True)
class Swatch:
    """One entry of the key under the figures."""

    text: str
    tone: Tone
    shape: Literal["dot", "ring", "block", "hatch", "bar"]


def written(cell: Cell, kind: Kind) -> str:
    """Return one cell as people read it; missing values are a dash."""
    if cell is None:
        return MISSING
    if isinstance(cell, str):
        return cell
    return FORMS[kind](cell, None, None)[0]
