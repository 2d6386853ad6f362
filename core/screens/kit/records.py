"""The pieces a screen is made of; frozen, picklable, and without any Streamlit."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from core.metrics.paired import Difference
from core.metrics.records import Score
from core.screens.kit.marks import RunMark
from core.screens.kit.numbers import FORMS, MISSING, Kind, alike
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


def columns_of(kind: Kind = "text", /, **labels: str) -> tuple[Column, ...]:
    """Return columns whose cells are written alike: labels by key."""
    return tuple(Column(key, label, kind) for key, label in labels.items())


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


# "beyond" for what is beyond chance, "tie" for a difference whose interval holds zero, and for what
# has no verdict.
Mark = Literal["", "beyond", "tie"]
TIE = "tie"


@dataclass(frozen=True)
class CellWords:
    """A cell of a table of scores: the number, its interval quiet beside it, why there is none."""

    value: str
    interval: str = ""
    reason: str = ""
    mark: Mark = ""


@dataclass(frozen=True, kw_only=True)
class ScoreRow:
    """A row of a table of scores."""

    name: str  # what the row is of, with its badge where it is a run
    cells: tuple[CellWords, ...]  # in the order of the heads after the first
    notes: tuple[str, ...] = ()  # quiet lines under the name
    mark: RunMark | None = None
    shaded: bool = False  # the row that others are measured by

    @property
    def strong(self) -> frozenset[int]:
        """The positions of cells that are beyond chance."""
        return frozenset(i for i, cell in enumerate(self.cells) if cell.mark == "beyond")

    @property
    def ties(self) -> frozenset[int]:
        """The positions of cells whose difference has zero in its interval."""
        return frozenset(i for i, cell in enumerate(self.cells) if cell.mark == "tie")


@dataclass(frozen=True, kw_only=True)
class FigureCard:
    """A figure with everything that must go with it."""

    key: str  # stable name, used for files and widget keys
    # title, explanation: page text over the figure
    title: str
    explanation: str
    draw: Draw  # theme to figure
    alt: str  # what the figure shows, in words and numbers
    table: Table  # the numbers that were drawn
    caption: str  # n, bins, split and digest

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


# Tables of estimates.
@dataclass(frozen=True)
class Estimate:
    """A cell: what a file holds of it, and what a page says beside or in place of it."""

    value: Cell = None  # raw, fractions as fractions
    # low, high: its interval
    low: float | None = None
    high: float | None = None
    reason: str = ""  # why there is no value, or no interval
    note: str = ""  # quiet words behind the interval
    text: str | None = None  # what a page writes in place of the value
    mark: Mark = ""


@dataclass(frozen=True, kw_only=True)
class TableRow:
    """A row of a table of estimates."""

    name: str  # what the row is of, as the page calls it
    # By key; a raw value stands for an estimate without an interval.
    cells: Mapping[str, Estimate | Cell]
    # notes, mark, shaded: as of `ScoreRow`
    notes: tuple[str, ...] = ()
    mark: RunMark | None = None
    shaded: bool = False
    in_file: bool = True  # whether a file holds the row

    def cell(self, key: str) -> Estimate:
        """Return the cell of a column; one that the row does not have is blank."""
        cell = self.cells.get(key, Estimate(text=""))
        return cell if isinstance(cell, Estimate) else Estimate(cell)


@dataclass(frozen=True)
class ScoreTable:
    """Rows of estimates, the columns of a file, and those `shown` on a page behind the names.

    A page's columns have an order and names of their own, and may lack in the file; so may a
    file's on the page.
    """

    names_head: str
    shown: tuple[Column, ...]
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads on the page."""
        return (self.names_head, *(column.label for column in self.shown))

    def written(self) -> tuple[ScoreRow, ...]:
        """Return the rows as a page shows them, with equal decimals down a column."""
        columns = [
            column_words([row.cell(column.key) for row in self.rows], column.kind)
            for column in self.shown
        ]
        return tuple(
            ScoreRow(
                name=row.name,
                cells=tuple(column[i] for column in columns),
                notes=row.notes,
                mark=row.mark,
                shaded=row.shaded,
            )
            for i, row in enumerate(self.rows)
        )

    @property
    def file(self) -> Table:
        """The raw values, for a file."""
        return Table(
            self.columns,
            tuple(
                tuple(row.cell(column.key).value for column in self.columns)
                for row in self.rows
                if row.in_file
            ),
        )


def column_words(cells: Sequence[Estimate], kind: Kind) -> list[CellWords]:
    """Return cells as a page shows them; text stands as it is, a missing value is a dash."""
    numbers = [  # of a tie the value is not shown, and asks for no decimals
        (cell.value if cell.text is None or cell.low is None else cell.low, cell.low, cell.high)
        for cell in cells
        if cell.value is not None and not isinstance(cell.value, str)
    ]
    texts = iter(alike(numbers, kind))
    words = []
    for cell in cells:
        text, interval = MISSING, ""
        if isinstance(cell.value, str):
            text = cell.value
        elif cell.value is not None:
            text, interval = next(texts)
        note = "; ".join(filter(None, (interval, cell.note)))
        shown = text if cell.text is None else cell.text
        words.append(CellWords(shown, note, cell.reason, cell.mark))
    return words


def estimate(score: Score | None, missing: str = "", note: str = "") -> Estimate:
    """Return the cell of a score; `missing` says why there is none, `note` is of a known value."""
    if score is None:
        return Estimate(reason=missing)
    known_note = "" if score.value is None else note
    return Estimate(score.value, score.low, score.high, score.reason, known_note)


def difference_cell(difference: Difference | None) -> Estimate:
    """Return the cell of a paired difference, with what its interval says; blank without one."""
    if difference is None:
        return Estimate(text="")
    ends = (difference.value, difference.low, difference.high, difference.reason)
    if difference.tie:
        return Estimate(*ends, text=TIE, mark="tie")
    return Estimate(*ends, mark="" if difference.low is None else "beyond")


def with_ends(key: str, cell: Estimate) -> dict[str, Estimate | Cell]:
    """Return a cell and, in cells of their own, the ends of its interval, as a file has them."""
    return {key: cell, f"{key}_low": cell.low, f"{key}_high": cell.high}
