"""Tables read strictly, by the names of their columns: what describes rows, boxes, histories.

Columns that describe the rows of a run are read as text and matched by name; boxes as NIH publishes
them and in a plain form; histories of bins and gammas as CSV, JSON or Parquet.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from core.arrays import Float
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.histories import COLUMNS, LATER, WHOLE, BinHistory
from core.readers.formats.archive import unpacked
from core.readers.formats.contents import Entry, FileBytes, is_text
from core.readers.formats.json_file import parsed
from core.readers.formats.sniff import FileFormat, sniff
from core.readers.formats.table_file import read_csv, read_parquet
from core.readers.formats.text import MISSING, is_number
from core.readers.predictions.companions import base_name, stem
from core.readers.predictions.names import counted, listed

MAX_CELLS: Final = 5_000_000
GIVE: Final = (
    "give a CSV or TSV file with a header line: row names, and what is known about the rows"
)


@dataclass(frozen=True)
class TextColumns:
    """A table of text."""

    columns: Mapping[str, tuple[str, ...]]  # all columns by name, in the order of the file
    notices: tuple[Notice, ...] = ()  # what was assumed in reading
    digest: str = ""  # of the file's bytes

    @property
    def ids(self) -> tuple[str, ...]:
        """The first column, which usually names the rows."""
        return next(iter(self.columns.values()))


@dataclass(frozen=True)
class MatchedTable:
    """What a table says of each row of a run."""

    # One value for each row of the run, without the column that names the rows
    columns: Mapping[str, tuple[str, ...]]
    id_column: str | None  # the column that names the rows; None where they were taken in order
    description: str  # how many rows found a partner, and by what


def read_columns_file(source: FileBytes) -> TextColumns:
    """Return the columns of a text table, plain or packed with gzip, as text.

    Raises Refused FORMAT_UNKNOWN: no text table. CSV_HEADER: no header line. TABLE_SIZE: more than
    5,000,000 cells. Any other code of `core.readers.formats.table_file`.
    """
    source = unpacked(source)
    form = sniff(source)
    if form is not FileFormat.CSV:
        raise Refused("FORMAT_UNKNOWN", f"The content is {form}, not a text table", GIVE)
    contents = read_csv(source, history=True, text=True)
    if not contents.headed:
        raise Refused("CSV_HEADER", "No header line: the first line holds numbers", GIVE)
    cells = sum(column.size for column in contents.entries.values())
    if cells > MAX_CELLS:
        what = f"The table has {cells:,} cells; at most {MAX_CELLS:,} are read"
        raise Refused("TABLE_SIZE", what, "keep the columns that matter, and the rows of the run")
    assert all(is_text(column) for column in contents.entries.values())
    columns = {
        name: tuple(str(cell).strip() for cell in column.tolist())
        for name, column in contents.entries.items()
    }
    return TextColumns(columns, contents.notices)


def match(
    table: TextColumns, row_ids: Sequence[str], n_rows: int, *, in_order: bool = False
) -> MatchedTable:
    """Return what a table says of each row of a run.

    Names count as the same when they are equal; else without folders; else without folders and
    suffix. The column is taken in which most rows of the run are found.

    `row_ids` are empty where the run names no rows. `in_order` says that the rows of both come in
    the same order; without names there is no other way.

    Raises Refused LENGTH_MISMATCH: a row without a partner or with several; by order, another
    number of rows.
    """
    if in_order or not row_ids:
        if len(table.ids) != n_rows:
            what = f"The table has {len(table.ids):,} rows, the run {n_rows:,}"
            remedy = "name the rows in both, or give one line for each row in the same order"
            raise Refused("LENGTH_MISMATCH", what, remedy)
        return MatchedTable(
            table.columns, None, f"all {n_rows:,} rows were taken in the table's order"
        )
    # All columns by the first way of cutting names in which some column has all rows.
    tried: list[tuple[int, str, list[str], list[str]]] = []  # the number of rows first
    # From the strictest to the loosest, and the first that finds all rows ends it.
    for cut in CUTS:
        cut_ids = [cut(name) for name in row_ids]
        if len(set(cut_ids)) < len(set(row_ids)):
            continue  # cut that short, two rows would have one name
        for name, column in table.columns.items():
            cells = [cut(cell) for cell in column]
            tried.append((len(set(cut_ids) & set(cells)), name, cut_ids, cells))
        if max(n for n, *_ in tried) == len(set(cut_ids)):
            break
    n_matched, best, cut_ids, cells = max(tried, key=lambda trial: trial[0])
    if n_matched < len(set(cut_ids)):
        known = set(cells)
        missing = [name for name, key in zip(row_ids, cut_ids, strict=True) if key not in known]
        what = f"{len(missing):,} of {n_rows:,} rows are not in column {best!r}"
        what = what if n_matched else f"None of {n_rows:,} rows is named in any column"
        remedy = "add these rows, or say that both files are in the same order"
        raise Refused("LENGTH_MISMATCH", f"{what}: {listed(missing)}", remedy)
    ids = set(cut_ids)
    counts = Counter(name for name in cells if name in ids)
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        what = f"{counted(len(twice), 'row')} of the run occur more than once in {best!r}"
        raise Refused("LENGTH_MISMATCH", f"{what}: {listed(twice)}", "keep one line for each row")
    at = {name: row for row, name in enumerate(cells)}
    rows = [at[name] for name in cut_ids]
    columns = {
        name: tuple(column[row] for row in rows)
        for name, column in table.columns.items()
        if name != best
    }
    description = f"all {len(rows):,} rows were found by column {best}"
    extra = len(cells) - len(ids)
    description += f"; {extra:,} more rows of the table were left out" if extra else ""
    return MatchedTable(columns, best, description)


CUTS: Final[tuple[Callable[[str], str], ...]] = (str.strip, base_name, stem)


MAX_BOXES: Final = 200_000
SIDE: Final = 1_024.0  # pixels of a film of ChestX-ray14, which its boxes are measured in
SLACK: Final = 0.005  # of a side: what rounding and a hand may draw beyond the edge
MAX_SIDE: Final = 100_000.0
BOX_LAYOUT: Final = (
    "give columns image, finding, x, y, w, h, in pixels of the original film (1,024 a side, "
    "unless columns image_width and image_height say otherwise)"
)
BOX_COLUMNS: Final = ("image", "finding", "x", "y", "w", "h")
SIZES: Final = ("image_width", "image_height")
NAMES: Final = {"image index": "image", "finding label": "finding", "bbox [x": "x", "h]": "h"}
ALIASES: Final = {"Infiltrate": "Infiltration"}  # NIH's boxes and labels differ in this word


@dataclass(frozen=True)
class Box:
    """One lesion: the film's name, the finding, and where it lies."""

    image: str
    finding: str
    # x, y: left and upper edge in pixels of the original film
    x: float
    y: float
    # w, h: width and height, above 0
    w: float
    h: float
    # width, height: sides of the original film
    width: float = SIDE
    height: float = SIDE


@dataclass(frozen=True)
class BoxList:
    """The outcome of reading a list of boxes: boxes in the file's order, notices, digest."""

    boxes: tuple[Box, ...]
    notices: tuple[Notice, ...] = ()
    digest: str = ""


def finding_name(text: str) -> str:
    """Return the name of a finding as label lists spell it: Pleural_Thickening, Infiltration."""
    words = re.split(r"[\s_\-]+", text.strip())
    name = "_".join(word[:1].upper() + word[1:] for word in words)
    return ALIASES.get(name, name)


def read_boxes_file(source: FileBytes) -> BoxList:
    """Return the boxes that a text table lists.

    Raises Refused BOX_COLUMNS: a column is missing. BOX_RANGE: a box that is no number, not
    finite, empty or outside its film. TABLE_SIZE. Any other code of `read_columns_file`.
    """
    # NIH's list has empty columns at the end of each line; one is dropped by the reader of tables.
    text = bytes(source.data)
    first = re.match(rb"[^\r\n]*?(,*)[ \t]*(?=[\r\n]|$)", text)
    tail = len(first[1]) if first is not None else 0
    if tail > 1:
        text = re.sub(rb"(?m),{%d}[ \t]*(?=\r?$)" % tail, b"", text)
    table = read_columns_file(FileBytes.of_bytes(source.name, text))
    plain = {name: name.strip().casefold() for name in table.columns}
    names = {NAMES.get(word, word): name for name, word in plain.items()}
    missing = [name for name in BOX_COLUMNS if name not in names]
    if missing:
        what = f"No column {missing[0]}; columns: {listed(list(table.columns))}"
        raise Refused("BOX_COLUMNS", what, BOX_LAYOUT)
    if len(table.ids) > MAX_BOXES:
        what = f"The list has {len(table.ids):,} boxes; at most {MAX_BOXES:,} are read"
        raise Refused("TABLE_SIZE", what, "keep the boxes of these films")
    boxes = tuple(_box(table, names, row) for row in range(len(table.ids)))
    return BoxList(boxes, table.notices)


def _box(table: TextColumns, names: dict[str, str], row: int) -> Box:
    def cell(name: str) -> str:
        return table.columns[names[name]][row]

    location = f"row {row}"
    x, y, w, h = (_number(cell(name), name, location) for name in BOX_COLUMNS[2:])
    width, height = (
        _number(cell(name), name, location) if name in names else SIDE for name in SIZES
    )
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise _outside(f"A film of {width:g} x {height:g} pixels", location)
    if w <= 0 or h <= 0:
        raise _outside(f"A box of {w:g} x {h:g} pixels", location)
    across, down = SLACK * width, SLACK * height
    if x < -across or y < -down or x + w > width + across or y + h > height + down:
        what = f"A box from {x:g}, {y:g} to {x + w:g}, {y + h:g} on {width:g} x {height:g} pixels"
        raise _outside(what, location)
    if not cell("image") or not cell("finding"):
        raise Refused("BOX_RANGE", "A box without a film or a finding", BOX_LAYOUT, location)
    return Box(cell("image"), finding_name(cell("finding")), x, y, w, h, width, height)


def _number(cell: str, name: str, location: str) -> float:
    if not (cell.isascii() and is_number(cell)) or not math.isfinite(float(cell)):
        what = f"No number in column {name}"  # the cell may be anything, also a name
        raise Refused("BOX_RANGE", what, BOX_LAYOUT, location)
    return float(cell)


def _outside(what: str, location: str) -> Refused:
    return Refused("BOX_RANGE", f"{what}, which cannot be", BOX_LAYOUT, location)


MAX_ROWS = 200_000  # 2,000 epochs of 100 bins
MAX_BYTES = 64 * 2**20
MAX_WHOLE = 2**53
OPTIONAL = ("gap", "train_confidence", *LATER)
BIN_LAYOUT = "give columns epoch, bin, lower, upper, count, confidence, accuracy, gamma"
Row = Callable[[int], str]
Columns = dict[str, Float]


@dataclass(frozen=True)
class HistoryFile:
    """The outcome of reading a history: bins by epoch, what was assumed, digest of the bytes."""

    bins: BinHistory
    notices: tuple[Notice, ...]
    digest: str = ""


def read_history(source: FileBytes) -> HistoryFile:
    """Return the history that a table of bins by epoch holds.

    Columns are `epoch`, `bin`, `lower`, `upper`, `count`, `confidence`, `accuracy` and `gamma` in
    any order and case, and where there are any `gap`, `train_confidence`, and of gammas that are
    updated within epochs `update` and `trained`; JSON is a list of objects or an object of lists.
    Empty cells and null stand for what is not known.

    Raises Refused HISTORY_COLUMNS, HISTORY_RANGE, HISTORY_BINS, HISTORY_GAP, DTYPE, NONFINITE,
    TABLE_SIZE, LENGTH_MISMATCH, EMPTY, FORMAT_UNKNOWN, or any other code of the three formats.
    """
    if source.size > MAX_BYTES:
        raise _too_large(f"{source.size} bytes, at most {MAX_BYTES}")
    form = sniff(source)
    if form is FileFormat.JSON:
        tree, notices = parsed(source)
        table: dict[str, list[object]] = {}
        if isinstance(tree, list) and all(isinstance(row, dict) for row in tree):
            names = dict.fromkeys(name for row in tree for name in row)
            table = {name: [row.get(name) for row in tree] for name in names}
        elif isinstance(tree, dict):
            table = {name: column for name, column in tree.items() if isinstance(column, list)}
        known, name_notices = _known(table)
        if len({len(table[key]) for key in known.values()}) > 1:
            lengths = ", ".join(f"{name} {len(table[key])}" for name, key in known.items())
            raise Refused("LENGTH_MISMATCH", f"Columns differ in length: {lengths}", BIN_LAYOUT)
        columns = {name: _plain_numbers(name, table[key]) for name, key in known.items()}
        notices = [*notices, *name_notices]
    elif form in (FileFormat.CSV, FileFormat.PARQUET):
        read_table = read_csv if form is FileFormat.CSV else read_parquet
        contents = read_table(source, history=True)
        known, name_notices = _known(contents.entries)
        numbers = {name: contents.entries[key] for name, key in known.items()}
        columns = {name: _numbers(name, e, contents.row) for name, e in numbers.items()}
        notices = [*contents.notices, *name_notices]
    else:
        what = f"The content is {form}, a history of bins is CSV, JSON or Parquet"
        raise Refused("FORMAT_UNKNOWN", what, "unpack it, or save it as one of these")
    rows = len(columns["epoch"])
    if rows > MAX_ROWS:
        raise _too_large(f"{rows} rows, at most {MAX_ROWS}")
    # Epochs, bins and counts must be whole and small enough for float64 to hold exactly.
    for name in filter(columns.__contains__, WHOLE):
        column = columns[name]
        lost = np.isnan(column)
        if lost.any():
            row = int(np.flatnonzero(lost)[0])
            raise Refused(
                "NONFINITE", f"A missing value in column {name}", BIN_LAYOUT, f"row {row}"
            )
        broken = (np.abs(column) > MAX_WHOLE) | (column != np.floor(column))
        if broken.any():
            row = int(np.flatnonzero(broken)[0])
            what = f"{column[row]:g} in column {name} is not a whole number"
            raise Refused("DTYPE", what, BIN_LAYOUT, f"row {row}")
    empty = columns["count"] == 0
    stated = empty & ~(np.isnan(columns["confidence"]) & np.isnan(columns["accuracy"]))
    if stated.any():
        text = f"a confidence or accuracy is stated of {counted(int(stated.sum()), 'empty bin')}"
        text += ", and left out"
        notices = [*notices, Notice(NoticeCode.EMPTY_BINS, text)]
    for name in ("confidence", "accuracy"):
        columns[name] = np.where(empty, np.nan, columns[name])
    gap = np.where(empty, 0.0, columns["confidence"] - columns["accuracy"])
    file_gap = columns.get("gap", gap)
    # A gap in the file is checked by `BinHistory` and then computed
    # from its parts: printed ones are rounded.
    columns["gap"] = np.where(np.isnan(file_gap), gap, file_gap)
    unknown = np.full(rows, np.nan)
    kept = [name for name in COLUMNS if name in columns or name not in LATER]
    arrays = {name: columns.get(name, unknown) for name in kept}
    history = BinHistory(**arrays)  # which checks the gap that was given
    gap = np.nan_to_num(history.confidence - history.accuracy)
    return HistoryFile(replace(history, gap=gap), tuple(notices))


def _too_large(what: str) -> Refused:
    return Refused("TABLE_SIZE", f"A history of {what} are read", "leave out epochs")


def _known(names: Iterable[str]) -> tuple[dict[str, str], list[Notice]]:
    """Return the file's own name of each column that is known, and what is left aside."""
    folded: dict[str, str] = {}
    for name in names:
        folded_name = name.strip().casefold()
        if folded_name in folded:
            what = f"Two columns are called {folded_name[:60]!r}"
            raise Refused("CSV_HEADER", what, "give every column its own name")
        folded[folded_name] = name
    missing = [name for name in COLUMNS if name not in folded and name not in OPTIONAL]
    if missing:
        column_names = listed(list(folded.values())) or "none"
        raise Refused(
            "HISTORY_COLUMNS", f"No column {missing[0]}; columns: {column_names}", BIN_LAYOUT
        )
    aside = [own for name, own in folded.items() if name not in COLUMNS]
    notices = [Notice(NoticeCode.KEYS_GUESSED, f"not used: {listed(aside)}")] if aside else []
    return {name: folded[name] for name in COLUMNS if name in folded}, notices


def _numbers(name: str, entry: Entry, row: Row) -> Float:
    """Return a column of a table as numbers, NaN where a cell is empty."""
    if entry.dtype.kind == "b":
        raise _no_number(name, str(entry[0]), row(0))
    if not is_text(entry):
        return entry.astype(np.float64)
    cells = [str(cell).strip() for cell in entry.tolist()]
    out = np.full(len(cells), np.nan)
    for index, cell in enumerate(cells):
        if not cell or cell.lower() in MISSING:
            continue
        plain = cell if "." in cell else cell.replace(",", ".")
        if not (plain.isascii() and is_number(plain)):
            raise _no_number(name, cell, row(index))
        out[index] = float(plain)
    return out


def _plain_numbers(name: str, column: list[object]) -> Float:
    """Return a column of JSON as numbers, NaN where it is null."""
    for index, value in enumerate(column):
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise _no_number(name, json.dumps(value), f"row {index}")
    try:
        return np.array(column, np.float64)
    except OverflowError as error:
        raise Refused("DTYPE", f"A number in {name} beyond 64 bits", BIN_LAYOUT) from error


def _no_number(name: str, cell: str, location: str) -> Refused:
    what = f"{cell[:40]!r} in column {name} is not a number"
    return Refused("DTYPE", what, "correct the cell", location)
