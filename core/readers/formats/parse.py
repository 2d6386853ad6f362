"""Bytes of one file as its contents: the format picks the reader, archives are opened once."""

import csv
import importlib
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final
from xml.etree import ElementTree

from core import defaults
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.archive import Archive
from core.readers.formats.contents import Contents, Entry, FileBytes, is_text, text_array
from core.readers.formats.json_file import contents_of_json, parsed
from core.readers.formats.numpy_file import array_of, load, resolve
from core.readers.formats.sniff import FileFormat, model_refusal, packed_model, sniff
from core.readers.formats.table_file import parquet_batches, read_csv
from core.readers.formats.torch_file import (
    PARAMETERS,
    is_legacy,
    is_torch,
    open_legacy,
    open_torch,
    read_torch,
    weights_refusal,
)
from core.readers.formats.tree import contents_of, rows_by_name
from core.readers.predictions.names import counted, listed
from core.readers.predictions.result import ReadChoice, undecided

WORKBOOK: Final = "xl/workbook.xml"
WORKBOOK_LINKS: Final = "xl/_rels/workbook.xml.rels"
LINK: Final = re.compile(r"\{http://[^}]*/officeDocument/[^}]*relationships\}id")  # or strict
MOST_SHEETS: Final = 8  # that are offered
MOST_TITLES: Final = 5  # lines of one cell above a table
AGAIN: Final = "save the workbook again, or the sheet as CSV"
MOST_ROWS: Final = 2**20  # of a sheet of Excel
MOST_LETTERS: Final = 2**28  # in all cells
MOST_EMPTY: Final = 10_000_000  # cells, whatever the filled ones


def read_workbook(archive: Archive, records: str | None) -> Contents:
    """Return the table in a sheet of a workbook.

    `records` names the sheet.

    Raises Refused UNDECIDED: several sheets hold cells. AMBIGUOUS_KEYS: there is no such sheet.
    EMPTY, FORMAT_UNKNOWN, or any code of `core.readers.formats.table_file`.
    """
    # A sheet's name leads to an id, and the id to the member: the directory's order says nothing.
    links = {str(e.get("Id")): str(e.get("Target")) for e in _xml(archive, WORKBOOK_LINKS)}
    members = {}
    for sheet in _xml(archive, WORKBOOK).iter():
        link = next((value for key, value in sheet.items() if LINK.fullmatch(key)), "")
        target = links.get(link) if _tag(sheet) == "sheet" else None
        if target is not None:
            path, name = target.removeprefix("/"), HARMFUL.sub("?", str(sheet.get("name")))
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
    sheets = {name: _rows(_xml(archive, path), texts) for name, path in members.items()}
    filled = {name: table for name, table in sheets.items() if len(table[0]) > 1}
    if not filled:
        raise Refused("EMPTY", "No sheet holds two rows", "give a header and a row of scores")
    if len(filled) > 1:
        names = list(filled)
        choices = [ReadChoice(f"the sheet {n}", {"records": n}) for n in names[:MOST_SHEETS]]
        raise undecided(f"The workbook holds {len(names)} sheets: {listed(names)}", *choices)
    # Cells as the text table that they would be saved as.
    rows, n_hidden = next(iter(filled.values()))
    # One cell in column XFD makes every row 16,384 wide.
    width = 1 + max(max(cells) for cells in rows)
    if width * len(rows) > MOST_EMPTY + 10 * sum(map(len, rows)):
        what = f"The sheet has {len(rows):,} rows of {width:,} columns, nearly all of them empty"
        raise Refused("TABLE_SIZE", what, "delete what stands far off the table")
    titles = next((k for k, cells in enumerate(rows[:MOST_TITLES]) if len(cells) > 1), 0)
    rows = rows[titles:]  # a line of one cell above the table is its title
    rows = [{at: re.sub(r"\s*[\r\n]\s*", " ", text) for at, text in rows[0].items()}, *rows[1:]]
    text = io.StringIO()
    # From here on as the text table that Excel would save, by the same reader and its rules.
    text.write("sep=,\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([cells.get(at, "") for at in range(width)] for cells in rows)
    table = read_csv(FileBytes.of_bytes("sheet.csv", text.getvalue().encode()))
    notices = tuple(n for n in table.notices if n.code is not NoticeCode.DIALECT)
    above = Notice(NoticeCode.DIALECT, f"{counted(titles, 'title')} above the table left out")
    notices = (above, *notices) if titles else notices
    if n_hidden:
        what = f"{counted(n_hidden, 'hidden row')} of the sheet counted too; a filter may hide rows"
        notices = (*notices, Notice(NoticeCode.DIALECT, what))
    first = table.first_line - 1 + titles
    return replace(table, format="xlsx", first_line=first, notices=notices)


def _xml(archive: Archive, name: str) -> ElementTree.Element:
    """Return a member as a tree; a document type, which may declare entities, is refused."""
    data = bytes(archive.read(name)) if name in archive.names else b"\0"
    # Entities that name entities grow exponentially (billion laughs); UTF-16 could hide the word.
    if b"<!DOCTYPE" in data or b"\0" in data[:200]:
        raise Refused("FORMAT_UNKNOWN", "The workbook is damaged", AGAIN, name)
    try:
        return ElementTree.fromstring(data)  # noqa: S314  # no document type, so no entities
    except (ElementTree.ParseError, ValueError, LookupError) as error:  # or an unknown encoding
        raise Refused("FORMAT_UNKNOWN", "The workbook is damaged", AGAIN, name) from error


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _text(element: ElementTree.Element) -> str:
    """Return the text of an element and of its runs, readings of its characters left out."""
    parts = [element, *(e for e in element if _tag(e) == "r")]
    return "".join(e.text or "" for part in parts for e in part if _tag(e) == "t")


def _rows(sheet: ElementTree.Element, texts: list[str]) -> tuple[list[Mapping[int, str]], int]:
    """Return the cells of each row that has any, by column, and how many of the rows are hidden."""
    rows: list[Mapping[int, str]] = []
    n_hidden = 0
    places: set[str] = set()
    letters = 0
    for element in (e for e in sheet.iter() if _tag(e) == "row"):
        place = element.get("r", "")
        if place in places:
            raise Refused("FORMAT_UNKNOWN", f"Row {place[:9]} of the sheet occurs twice", AGAIN)
        places |= {place} - {""}
        pairs = list(_cells(element, texts))
        cells = {at: text for at, text in pairs if text}
        if len(dict(pairs)) < len(pairs):
            raise Refused("FORMAT_UNKNOWN", "A cell of the sheet occurs twice", AGAIN)
        rows += [cells] if cells else []
        n_hidden += bool(cells) and element.get("hidden") in ("1", "true")
        letters += sum(map(len, cells.values()))
        if letters > MOST_LETTERS:  # one shared text may stand in any number of cells
            raise Refused("TABLE_SIZE", "The sheet has too much text", "save the scores alone")
        if len(rows) > MOST_ROWS:
            raise Refused("TABLE_SIZE", f"More than {MOST_ROWS} rows", "save the sheet as CSV")
    return rows, n_hidden


def _cells(row: ElementTree.Element, texts: list[str]) -> Iterator[tuple[int, str]]:
    """Yield each cell of a row as its column, from 0, and its text."""
    column = -1
    for cell in row:
        place = re.fullmatch(r"([A-Z]{1,3})[0-9]{1,7}", cell.get("r", "A1"))
        if place is None:
            raise Refused("FORMAT_UNKNOWN", "A cell of the sheet has no such place", AGAIN)
        # Empty cells are left out of the file, so that places count, not the order.
        if "r" in cell.attrib:
            column = -1  # letters count columns: A, B, .. Z, AA
            for letter in place[1]:
                column = 26 * (column + 1) + ord(letter) - ord("A")
        else:
            column += 1
        if column >= defaults.MAX_COLUMNS:
            raise Refused("CSV_COLUMNS", f"A cell in column {column + 1}", "save fewer columns")
        kind = cell.get("t", "n")
        value = next((e.text or "" for e in cell if _tag(e) == "v"), "")
        if kind == "s":
            known = re.fullmatch(r"[0-9]{1,9}", value) and int(value) < len(texts)
            if not known:
                raise Refused("FORMAT_UNKNOWN", "The workbook is damaged", AGAIN)
            value = texts[int(value)]
        elif kind == "inlineStr":
            value = "".join(_text(e) for e in cell if _tag(e) == "is")
        elif kind == "b":
            value = {"1": "True", "0": "False"}.get(value, value)
        yield column, value


MAX_NAME = 1_000
MAX_SAMPLES = 100_000  # of a log of Inspect, each a member
# Controls but tabs and line ends, and marks that turn the direction of what follows.
HARMFUL = re.compile(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def read_contents(source: FileBytes) -> Contents:
    """Return what a file holds.

    Raises Refused: any code of a format; nothing else leaves a reader.
    """
    return _judged(READERS[sniff(source)](source))


def read_batches(source: FileBytes) -> Iterator[Contents]:
    """Yield what a Parquet file holds, some rows at a time; raises as `read_contents` does."""
    try:
        for contents in parquet_batches(source):
            yield _judged(contents)
    except Refused:
        read_contents(source)  # refuses it, too, and knows the number of the row
        raise


def _judged(contents: Contents) -> Contents:
    """Return contents whose text and names can be shown, and which are no weights."""
    # A question mark for each character that controls a screen.
    entries, changed = _cleaned(contents.entries)
    if changed:
        text = f"control characters became question marks in {listed(changed)}"
        notices = (*contents.notices, Notice(NoticeCode.DIALECT, text))
        batches = None if contents.batches is None else _cleaned(contents.batches)[0]
        contents = replace(contents, entries=entries, notices=notices, batches=batches)
    names = list(contents.entries)
    # Names are shown and hashed later: they must be writable and of a sane length..
    for name in names:
        if len(name) > MAX_NAME:
            remedy = f"use names of at most {MAX_NAME} letters"
            raise Refused("CSV_HEADER", f"A name of {len(name)} letters", remedy)
        if HARMFUL.search(name) or any("\ud800" <= letter <= "\udfff" for letter in name):
            what = f"The name {ascii(name)[:60]} holds characters that control a screen"
            raise Refused("CSV_HEADER", what, "write the names without them")
    if any("." in n and n.rpartition(".")[2] in PARAMETERS for n in names):
        raise weights_refusal(names)
    return contents


def _cleaned(entries: Mapping[str, Entry]) -> tuple[dict[str, Entry], list[str]]:
    """Return entries with question marks, and the names of those that have some now."""
    out, changed = dict(entries), []
    for name, entry in entries.items():
        # Escape sequences in a cell could rewrite what a terminal shows.
        cells = entry.reshape(-1).tolist() if is_text(entry) else []
        # Most tables hold no such character, and `isprintable` is the cheaper test.
        if any(HARMFUL.search(cell) for cell in cells if not cell.isprintable()):
            clean = [HARMFUL.sub("?", cell) for cell in cells]
            out[name] = text_array(clean).reshape(entry.shape)
            changed.append(name)
    return out, changed


def tree_of(source: FileBytes) -> object:
    """Return the lists and plain values of a torch file or pickle; tensors are not read."""
    if sniff(source) is FileFormat.ZIP:
        return open_torch(Archive(source)).tree
    return open_legacy(source).tree if is_legacy(source) else load(source.data)[0]


def read_zip(source: FileBytes) -> Contents:
    """Return what an archive holds that is a format itself, or the one file that it packs."""
    archive = Archive(source, MAX_SAMPLES if source.suffix == "eval" else defaults.MAX_MEMBERS)
    contents = _archived(archive, source.records)
    if contents is not None:
        return contents
    # The archive packs one file: read that.
    names = [
        n for n in archive.names if not n.startswith("__MACOSX/") and not n.endswith(".DS_Store")
    ]
    if len(names) != 1:
        what = f"The archive holds {len(names)} files, expected one"
        shown = ", ".join(names[:4])
        raise Refused("AMBIGUOUS_KEYS", what, "give one file, and labels with --labels", shown)
    name = names[0]
    inner = FileBytes.of_bytes(name.rpartition("/")[2], bytes(archive.read(name)))
    if bytes(inner.data[:2]) == b"PK":
        contents = _archived(Archive(inner))
        if contents is None:
            what = "An archive inside an archive"
            raise Refused("ARCHIVE_NESTED", what, "pack the prediction file only once", name)
        return contents
    return read_contents(inner)


def _archived(archive: Archive, records: str | None = None) -> Contents | None:
    """Return the contents of an archive that is itself a format, else None."""
    names = archive.names
    # By members, in this order: a torch file and a workbook are ZIPs, too.
    if is_torch(names):
        return read_torch(archive, records)
    if WORKBOOK in names:
        return read_workbook(archive, records)
    if "[Content_Types].xml" in names:
        what = "This is an Office document, which Candor does not read"
        raise Refused("FORMAT_UNKNOWN", what, "save the table as CSV or .xlsx")
    samples = [n for n in names if n.startswith("samples/") and n.endswith(".json")]
    if samples and "header.json" in names:  # an .eval of Inspect
        members = (FileBytes.of_bytes(n, bytes(archive.read(n))) for n in samples)
        return contents_of_json({"eval": {}, "samples": [parsed(m)[0] for m in members]}, records)
    model = packed_model(names)
    if model:
        raise model_refusal(model)
    if names and all(name.endswith(".npy") for name in names):
        arrays = {n: array_of(archive.read(n), n, text=True) for n in names}
        entries = {n.removesuffix(".npy"): array for n, array in arrays.items()}
        rows = rows_by_name(entries)
        return contents_of("npz", rows, resolve) if rows else Contents("npz", entries)
    foreign = [name for name in names if not name.endswith(".npy")]
    if len(foreign) < len(names):
        what = "A member beside the arrays is not an array"
        raise Refused("FORMAT_UNKNOWN", what, "save the arrays alone, with np.savez", foreign[0])
    return None


def reader_of(form: FileFormat) -> Callable[[FileBytes], Contents]:
    """Return the function that reads a format, imported."""
    module, _, name = form.reader.rpartition(".")
    read: Callable[[FileBytes], Contents]
    read = getattr(importlib.import_module(f"core.readers.{module}"), name)
    return read


# Imported now: when the child reads, it may open no module. `read_zip` is of this one.
READERS: Final = {form: reader_of(form) for form in FileFormat}
