"""Histories of bins and gammas from elsewhere: a table as CSV, JSON or Parquet, judged strictly."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import Float
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.histories import COLUMNS, LATER, WHOLE, BinHistory
from core.readers.formats.arrow import read_parquet
from core.readers.formats.contents import Entry, FileBytes, is_text
from core.readers.formats.csv_file import read_csv
from core.readers.formats.json_file import parsed
from core.readers.formats.sniff import FileFormat, sniff
from core.readers.formats.text import MISSING, is_number
from core.readers.predictions.parts import counted, listed

MAX_ROWS = 200_000  # 2,000 epochs of 100 bins
MAX_BYTES = 64 * 2**20
MAX_WHOLE = 2**53
OPTIONAL = ("gap", "train_confidence", *LATER)
LAYOUT = "give columns epoch, bin, lower, upper, count, confidence, accuracy, gamma"
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
            raise Refused("LENGTH_MISMATCH", f"Columns differ in length: {lengths}", LAYOUT)
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
    for name in filter(columns.__contains__, WHOLE):
        column = columns[name]
        lost = np.isnan(column)
        if lost.any():
            row = int(np.flatnonzero(lost)[0])
            raise Refused("NONFINITE", f"A missing value in column {name}", LAYOUT, f"row {row}")
        broken = (np.abs(column) > MAX_WHOLE) | (column != np.floor(column))
        if broken.any():
            row = int(np.flatnonzero(broken)[0])
            what = f"{column[row]:g} in column {name} is not a whole number"
            raise Refused("DTYPE", what, LAYOUT, f"row {row}")
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
        raise Refused("HISTORY_COLUMNS", f"No column {missing[0]}; columns: {column_names}", LAYOUT)
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
        raise Refused("DTYPE", f"A number in {name} beyond 64 bits", LAYOUT) from error


def _no_number(name: str, cell: str, location: str) -> Refused:
    what = f"{cell[:40]!r} in column {name} is not a number"
    return Refused("DTYPE", what, "correct the cell", location)
