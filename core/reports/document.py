"""A report as records, chapters, sections and tables as they are read; and these as Markdown."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from core.codes import NoticeCode
from core.errors import Notice
from core.screens.kit.records import (
    CellWords,
    FigureCard,
    ScoreRow,
    ScoreTable,
    Sentence,
    Table,
    Tile,
)
from core.screens.kit.text import clean
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
    """A part of a chapter: chosen by its key, headed by its title, the rest as of the views."""

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


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def document_markdown(document: Document) -> str:
    """Return a report as Markdown; what users and files wrote cannot act as markup."""
    lines = [f"# Candor report: {text(document.title)}"]
    lines += [f"**{text(banner)}**" for banner in document.banners]
    for chapter in document.chapters:
        if document.edition is not Edition.BOARD:
            lines += _chapter(chapter)
        elif chapter.sections and chapter.sections[0].key == "verdict":
            # One page: the verdict, and what a board fills in.
            lines += _chapter(
                replace(chapter, notices=chapter.caveats, sections=chapter.sections[:1])
            )
            rows = tuple((line, "") for line in BOARD_LINES)
            lines += _table(WrittenTable("For the board", ("to fill in", ""), rows))
    lines.append(f"Candor {document.version}. Certificate of the JSON: `{document.digest}`")
    return "\n\n".join(lines) + "\n"


def text(words: str) -> str:
    """Return words on one line, with the signs of Markdown escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(clean(words).split(" ")))


def _chapter(chapter: Chapter) -> Iterator[str]:
    if chapter.title:
        yield f"## {text(chapter.title)}"
    if chapter.notices:
        yield "\n".join(f"- {text(note.sentence)} `{note.code}`" for note in chapter.notices)
    for section in chapter.sections:
        yield f"### {text(section.title)}"
        if section.sentence is not None:
            yield f"**{text(section.sentence.text)}**"
            if section.sentence.second:
                yield text(section.sentence.second)
        if section.numbers:
            lines = []
            for tile in section.numbers:
                detail = "; ".join(filter(None, (tile.interval, tile.note)))
                value, after = f"{tile.value} {tile.unit}".strip(), f" ({text(detail)})"
                lines.append(f"- {text(tile.label)}: **{text(value)}**{after if detail else ''}")
            yield "\n".join(lines)
        if section.icons is not None:
            weight = f"{text(section.icons.title)} ({text(section.icons.note)})"
            promised, observed = section.icons.promised_text, section.icons.observed_text
            yield f"{weight}: {text(promised)} {text(observed)}"
        yield from map(text, section.paragraphs)
        for card in section.cards:
            stop = "" if card.title.endswith("?") else "."
            yield f"*{text(card.title)}{stop}* {text(card.alt)}"
        for table in section.tables:
            yield from _table(table)
        if section.caption:
            yield text(section.caption)


def _table(table: WrittenTable) -> Iterator[str]:
    if table.title:
        yield f"**{text(table.title)}**"
    marks = ["---:" if i in table.numeric else "---" for i in range(len(table.heads))]
    cells = [
        [
            f"**{text(cell)}**" if (i, k) in table.strong else text(cell)
            for k, cell in enumerate(row)
        ]
        for i, row in enumerate(table.rows)
    ]
    rows = [list(map(text, table.heads)), marks, *cells]
    yield "\n".join(f"| {' | '.join(row)} |" for row in rows)
