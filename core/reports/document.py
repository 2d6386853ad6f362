"""A report as records: chapters, sections, tables as they are read; writers turn it into files."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from core.codes import NoticeCode
from core.errors import Notice
from core.screens.kit.records import CellWords, FigureCard, ScoreRow, Sentence, Table, Tile
from core.screens.kit.tables import ScoreTable
from core.screens.reliability.plain import Icons


class Edition(StrEnum):
    """For whom a report is written."""

    TECHNICAL = "technical"
    PLAIN = "plain"
    BOARD = "board"


EDITIONS = {
    Edition.TECHNICAL: "Technical",
    Edition.PLAIN: "Plain words",
    Edition.BOARD: "One page for a board",
}


CAVEATS = frozenset(  # change how a verdict may be read, so that one page for a board has them
    {
        NoticeCode.ROWS_REPEATED,
        NoticeCode.SMALL_N,
        NoticeCode.FEW_GROUPS,
        NoticeCode.FEW_WEIGH,
        NoticeCode.BELOW_CHANCE,
        NoticeCode.CONSTANT,
        NoticeCode.NOT_PROBABILITY,
        NoticeCode.RENORMALISED,
        NoticeCode.UNANSWERED,
        NoticeCode.SAME_ROWS,
        NoticeCode.VAL_AS_TEST,
        NoticeCode.VOTES_SIMULATED,
    }
)
BOARD_LINES = (  # for the board to fill in
    "What the model is to be used for",
    "Who checks it when it is unsure",
    "When it is audited again",
    "Decision",
    "Name, date, signature",
)


@dataclass(frozen=True)
class WrittenTable:
    """A table as people read it.

    `numeric` are the columns whose cells are numbers, `strong` the row and column of each cell in
    bold.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    strong: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a chapter.

    Attributes
    ----------
    key, title : str
        As the section is chosen, and as it is headed.
    sentence : Sentence or None
        What it comes to.
    numbers, cards, icons
        As of the views.
    paragraphs : tuple of str
        What must be read with it.
    tables : tuple of WrittenTable
        Tables, in their order.
    caption : str
        Where the numbers come from.
    """

    key: str
    title: str
    sentence: Sentence | None = None
    numbers: tuple[Tile, ...] = ()
    cards: tuple[FigureCard, ...] = ()
    icons: Icons | None = None
    paragraphs: tuple[str, ...] = ()
    tables: tuple[WrittenTable, ...] = ()
    caption: str = ""


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """What is said of one run, or of all together; `notices` stand at its head."""

    title: str
    sections: tuple[Section, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def caveats(self) -> tuple[Notice, ...]:
        """The notices that change how the verdict may be read."""
        return tuple(notice for notice in self.notices if notice.code in CAVEATS)


@dataclass(frozen=True, kw_only=True)
class Document:
    """A report, ready to be written; `digest` is that of its JSON."""

    title: str
    edition: Edition
    banners: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    digest: str
    version: str


def written(title: str, table: Table) -> WrittenTable:
    """Return a table of a view as people read it."""
    return WrittenTable(
        title,
        tuple(column.label for column in table.columns),
        tuple(map(tuple, table.written())),
        frozenset(i for i, column in enumerate(table.columns) if column.kind != "text"),
    )


def written_scores(title: str, table: ScoreTable) -> WrittenTable:
    """Return a table of scores as people read it, each number with its interval."""
    return written_rows(title, table.heads, table.written(), between=". ")


def written_rows(
    title: str, heads: tuple[str, ...], rows: Sequence[ScoreRow], *, between: str
) -> WrittenTable:
    """Return rows of scores as people read them; `between` names and their notes."""
    names = (between.join(filter(None, (row.name, *row.notes))) for row in rows)
    return WrittenTable(
        title,
        heads,
        tuple((name, *map(cell_text, row.cells)) for name, row in zip(names, rows, strict=True)),
        numeric=frozenset(range(1, len(heads))),
        strong=frozenset((i, 1 + cell) for i, row in enumerate(rows) for cell in row.strong),
    )


def cell_text(cell: CellWords) -> str:
    """Return a number with its interval; where there is none, why."""
    if cell.interval:
        return f"{cell.value} ({cell.interval})"
    return cell.reason if cell.reason and cell.value in ("", "–") else cell.value


def pairs(title: str, heads: tuple[str, str], rows: Sequence[tuple[str, str]]) -> WrittenTable:
    """Return a table of names and texts."""
    return WrittenTable(title, heads, tuple(rows))
