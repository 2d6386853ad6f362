"""Tables as pandas, MLflow and Weights & Biases write them to JSON, as columns of cells."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core import defaults
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.records import columns_of
from core.readers.predictions.parts import counted

INDEX: Final = "index"
COUNTING: Final = re.compile(r"0|-?[1-9]\d{0,17}")
REMEDY: Final = "write the table again, for example with to_json(orient='split')"
Cells = dict[str, list[object]]


@dataclass(frozen=True)
class JsonTable:
    """Cells by column, fields that some rows lack, and what had to be guessed."""

    cells: Cells
    lacking: list[str] = field(default_factory=list)
    notices: tuple[Notice, ...] = ()


def table_of(tree: object) -> JsonTable | None:
    """Return the table that a tree of JSON is, or None if it is none.

    Read are an object of ``columns`` and ``data``, one of ``schema`` and ``data``, and objects in
    an object: columns of cells by row, or rows of cells by column. Names of the rows become a
    column ``index``, unless they count from 0.

    Raises
    ------
    Refused
        CSV_HEADER, CSV_COLUMNS, CSV_RAGGED or EMPTY.
    """
    if not isinstance(tree, dict):
        return None
    columns, data = tree.get("columns"), tree.get("data")
    if isinstance(columns, list) and isinstance(data, list) and _are_names(columns):
        return _split([str(name) for name in columns], data, tree.get("index"))
    if isinstance(tree.get("schema"), dict) and isinstance(data, list) and _are_rows(data):
        return _of_rows(data)
    if tree and _are_rows(tree.values()) and all(tree.values()):
        return _nested(tree)
    return None


def _are_names(columns: list[object]) -> bool:
    return bool(columns) and all(isinstance(name, str | int) for name in columns)


def _are_rows(rows: Iterable[object]) -> bool:
    return all(isinstance(row, dict) for row in rows)


def _split(names: list[str], data: list[object], index: object) -> JsonTable | None:
    """Return a table with its names above its rows."""
    rows = [row for row in data if isinstance(row, list)]
    if len(rows) < len(data):
        return None
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        what = f"Column name {twice[0][:60]!r} occurs twice"
        raise Refused("CSV_HEADER", what, "give every column its own name")
    if len(names) > defaults.MAX_COLUMNS:
        what = f"The table has {len(names)} columns; at most {defaults.MAX_COLUMNS} are read"
        raise Refused("CSV_COLUMNS", what, "save one row for each sample")
    if not rows:
        raise Refused("EMPTY", "A header and no rows", "give at least one row of scores")
    for at, row in enumerate(rows):
        if len(row) != len(names):
            what = f"This row has {counted(len(row), 'cell')} for {counted(len(names), 'column')}"
            raise Refused(
                "CSV_RAGGED", what, "give every row the same number of cells", f"row {at}"
            )
    cells = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    whole = isinstance(index, list) and len(index) == len(rows)
    return JsonTable(_indexed(cells, index if whole and isinstance(index, list) else []))


def _indexed(cells: Cells, index: Sequence[object]) -> Cells:
    """Put names of the rows first, unless they only count the rows."""
    plain = [int(i) if isinstance(i, str) and COUNTING.fullmatch(i) else i for i in index]
    keys = plain if all(isinstance(i, int) for i in plain) else list(index)
    if not keys or keys == list(range(len(keys))) or INDEX in cells:
        return cells
    return {INDEX: keys, **cells}


def _of_rows(rows: list[dict[str, object]]) -> JsonTable:
    if not rows:
        raise Refused("EMPTY", "A schema and no rows", "give at least one row of scores")
    cells, lacking = columns_of(rows)
    index = cells.pop(INDEX, [])
    return JsonTable(_indexed(cells, index), lacking)


def _nested(tree: Mapping[str, Mapping[str, object]]) -> JsonTable | None:
    """Return objects in an object as a table, if their cells are plain values."""
    inner = next(iter(tree.values()))
    same = all(row.keys() == inner.keys() for row in tree.values())
    outer_counts, inner_counts = _count(tree), _count(inner)
    lists = outer_counts or inner_counts
    if not all(_is_cell(cell, lists=lists) for row in tree.values() for cell in row.values()):
        return None
    if all(isinstance(cell, list) for row in tree.values() for cell in row.values()):
        return None
    by_column, notices = _by_column(tree, outer_counts, inner_counts) if same else (False, ())
    if by_column:
        cells = {name: list(column.values()) for name, column in tree.items()}
        return JsonTable(_indexed(cells, list(inner)), notices=notices)
    cells, lacking = columns_of(list(tree.values()))
    return JsonTable(_indexed(cells, list(tree)), lacking, notices)


def _count(keys: Iterable[str]) -> bool:
    return all(COUNTING.fullmatch(key) for key in keys)


def _is_cell(cell: object, *, lists: bool) -> bool:
    """Whether a value is a cell; lists are, where keys number the rows and name no parts."""
    if isinstance(cell, list):
        return lists and not any(isinstance(item, list | dict) for item in cell)
    return not isinstance(cell, dict)


def _by_column(
    tree: Mapping[str, Mapping[str, object]], outer_counts: bool, inner_counts: bool
) -> tuple[bool, tuple[Notice, ...]]:
    """Tell whether the outer keys name columns: rows are numbered, mixed, or the more."""
    inner = next(iter(tree.values()))
    if outer_counts != inner_counts:
        return inner_counts, ()
    columns_plain = all(_one_kind(column.values()) for column in tree.values())
    rows_plain = all(_one_kind(row[key] for row in tree.values()) for key in inner)
    if columns_plain != rows_plain:
        return columns_plain, ()
    outside = len(tree) <= len(inner)
    names = list(tree if outside else inner)
    text = f"columns were recognised by their number: {counted(len(names), 'column')}"
    return outside, (Notice(NoticeCode.KEYS_GUESSED, text),)


def _one_kind(cells: Iterable[object]) -> bool:
    kinds = {isinstance(cell, str) for cell in cells if cell is not None}
    return len(kinds) < 2
