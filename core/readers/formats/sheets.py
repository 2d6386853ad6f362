"""A sheet of an Excel workbook, read as the text table that it would be saved as."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final
from xml.etree import ElementTree

from core import defaults
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.archive import Archive
from core.readers.formats.contents import Contents, FileBytes
from core.readers.formats.csv_file import read_csv
from core.readers.predictions.parts import counted, listed
from core.readers.predictions.questions import ReadChoice, undecided

WORKBOOK: Final = "xl/workbook.xml"
LINK: Final = re.compile(r"\{http://[^}]*/officeDocument/[^}]*relationships\}id")  # or strict
MOST_SHEETS: Final = 8  # that are offered
MOST_TITLES: Final = 5  # lines of one cell above a table
AGAIN: Final = "save the workbook again, or the sheet as CSV"
MOST_ROWS: Final = 2**20  # of a sheet of Excel
MOST_EMPTY: Final = 10_000_000  # cells, whatever the filled ones


def read_workbook(archive: Archive, records: str | None) -> Contents:
    """Return the table in a sheet of a workbook.

    Parameters
    ----------
    archive : Archive
        The .xlsx file.
    records : str or None
        Name of the sheet.

    Raises
    ------
    Refused
        UNDECIDED: several sheets hold cells. AMBIGUOUS_KEYS: there is no such sheet. EMPTY,
        FORMAT_UNKNOWN, or any code of `core.readers.formats.csv_file`.
    """
    links = {str(e.get("Id")): str(e.get("Target")) for e in _xml(archive, _rels(WORKBOOK))}
    members = {}
    for sheet in _xml(archive, WORKBOOK).iter():
        link = next((value for key, value in sheet.items() if LINK.fullmatch(key)), "")
        target = links.get(link) if _tag(sheet) == "sheet" else None
        if target is not None:
            path, name = target.removeprefix("/"), str(sheet.get("name"))
            if name in members:
                raise Refused("FORMAT_UNKNOWN", f"Two sheets are called {name[:60]!r}", AGAIN)
            members[name] = path if path.startswith("xl/") else f"xl/{path}"
    shared = "xl/sharedStrings.xml"
    texts = [_text(e) for e in _xml(archive, shared)] if shared in archive.names else []
    if records is not None:
        if records not in members:
            what = f"--records names {records!r}, which is no sheet"
            raise Refused("AMBIGUOUS_KEYS", what, f"use one of {listed(list(members))}")
        members = {records: members[records]}
    rows = {name: _rows(_xml(archive, path), texts) for name, path in members.items()}
    rows = {name: cells for name, cells in rows.items() if len(cells) > 1}
    if not rows:
        raise Refused("EMPTY", "No sheet holds two rows", "give a header and a row of scores")
    if len(rows) > 1:
        choices = [
            ReadChoice(f"the sheet {name}", {"records": name}) for name in list(rows)[:MOST_SHEETS]
        ]
        raise undecided(f"The workbook holds {len(rows)} sheets: {listed(list(rows))}", *choices)
    return _as_table(next(iter(rows.values())))


def _rels(part: str) -> str:
    folder, _, name = part.rpartition("/")
    return f"{folder}/_rels/{name}.rels"


def _xml(archive: Archive, name: str) -> ElementTree.Element:
    """Return a member as a tree; a document type, which may declare entities, is refused."""
    data = bytes(archive.read(name)) if name in archive.names else b"\0"
    if b"<!DOCTYPE" in data or b"\0" in data[:200]:
        raise Refused("FORMAT_UNKNOWN", "The workbook is damaged", AGAIN, name)
    try:
        return ElementTree.fromstring(data)  # noqa: S314  # no document type, so no entities
    except ElementTree.ParseError as error:
        raise Refused("FORMAT_UNKNOWN", "The workbook is damaged", AGAIN, name) from error


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: ElementTree.Element) -> str:
    """Return the text of an element and of its runs, readings of its characters left out."""
    parts = [element, *(e for e in element if _tag(e) == "r")]
    return "".join(e.text or "" for part in parts for e in part if _tag(e) == "t")


def _rows(sheet: ElementTree.Element, texts: list[str]) -> list[Mapping[int, str]]:
    """Return the cells of each row by column; rows without any are left out."""
    rows: list[Mapping[int, str]] = []
    for element in (e for e in sheet.iter() if _tag(e) == "row"):
        pairs = list(_cells(element, texts))
        cells = {at: text for at, text in pairs if text}
        if len(dict(pairs)) < len(pairs):
            raise Refused("FORMAT_UNKNOWN", "A cell of the sheet occurs twice", AGAIN)
        rows += [cells] if cells else []
        if len(rows) > MOST_ROWS:
            raise Refused("TABLE_SIZE", f"More than {MOST_ROWS} rows", "save the sheet as CSV")
    return rows


def _cells(row: ElementTree.Element, texts: list[str]) -> Iterator[tuple[int, str]]:
    """Yield each cell of a row as its column, from 0, and its text."""
    column = -1
    for cell in row:
        place = re.match(r"[A-Z]{1,3}", cell.get("r", ""))
        column = _number(place[0]) if place else column + 1
        if column >= defaults.MAX_COLUMNS:
            raise Refused("CSV_COLUMNS", f"A cell in column {column + 1}", "save fewer columns")
        kind = cell.get("t", "n")
        value = next((e.text or "" for e in cell if _tag(e) == "v"), "")
        if kind == "s":
            known = value.isdecimal() and int(value) < len(texts)
            if not known:
                raise Refused("FORMAT_UNKNOWN", "The workbook is damaged", AGAIN)
            value = texts[int(value)]
        elif kind == "inlineStr":
            value = "".join(_text(e) for e in cell if _tag(e) == "is")
        elif kind == "b":
            value = {"1": "True", "0": "False"}.get(value, value)
        yield column, value


def _number(letters: str) -> int:
    """Return which column letters name, from 0: A, B, .. Z, AA."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _as_table(rows: list[Mapping[int, str]]) -> Contents:
    """Return cells as the text table that they would be saved as."""
    width = 1 + max(max(cells) for cells in rows)
    if width * len(rows) > MOST_EMPTY + 10 * sum(map(len, rows)):
        what = f"The sheet has {len(rows):,} rows of {width:,} columns, nearly all of them empty"
        raise Refused("TABLE_SIZE", what, "delete what stands far off the table")
    titles = next((k for k, cells in enumerate(rows[:MOST_TITLES]) if len(cells) > 1), 0)
    rows = rows[titles:]  # a line of one cell above the table is its title
    rows = [{at: re.sub(r"\s*[\r\n]\s*", " ", text) for at, text in rows[0].items()}, *rows[1:]]
    text = io.StringIO()
    text.write("sep=,\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([cells.get(at, "") for at in range(width)] for cells in rows)
    table = read_csv(FileBytes.of_bytes("sheet.csv", text.getvalue().encode()))
    notices = tuple(n for n in table.notices if n.code is not NoticeCode.DIALECT)
    above = Notice(NoticeCode.DIALECT, f"{counted(titles, 'title')} above the table left out")
    notices = (above, *notices) if titles else notices
    first = table.first_line - 1 + titles
    return replace(table, format="xlsx", first_line=first, notices=notices)
