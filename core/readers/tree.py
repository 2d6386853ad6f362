"""Nested mappings, tuples and lists of numbers, flattened to named arrays within fixed limits."""

from collections.abc import Callable, Iterable

import numpy as np

from core.errors import Notice, Refused
from core.readers.contents import (
    FIRST_ARRAY,
    SECOND_ARRAY,
    Contents,
    Entry,
    is_text,
    native,
    text_array,
)
from core.readers.parts import counted, listed
from core.readers.records import columns_of

Settle = Callable[[object], object]
MAX_NODES = 4_000_000
MAX_DEPTH = 12
MAX_KEY = 300
REMEDY = "save two arrays, scores and labels, best as .npz"


class _Budget:
    """Counts visits, not distinct objects, so that sharing cannot hide work."""

    def __init__(self) -> None:
        self.left = MAX_NODES

    def visit(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            raise Refused(
                "PICKLE_SHAPE",
                f"more than {MAX_NODES} values, or nested deeper than {MAX_DEPTH}",
                REMEDY,
            )


def contents_of(form: str, tree: object, settle: Settle, *, printed: bool = False) -> Contents:
    """Return the arrays of a tree of mappings, sequences and arrays.

    Parameters
    ----------
    form : str
        Name of the format.
    tree : object
        What a pickle, a torch file or JSON holds.
    settle : function of object to object
        Turns a format's own stand-ins into arrays and returns everything else.
    printed : bool
        Whether numbers were written as text.

    Raises
    ------
    Refused
        PICKLE_SHAPE: too large, too deep, or not made of arrays.
    """
    budget = _Budget()
    tree = _settled(tree, settle, budget, 0)
    rows = _rows(tree)
    if rows:
        columns, said = _table(rows)
        return Contents(form, columns, table=True, printed=printed, notices=said)
    entries, ignored, named = _named(tree)
    if not entries:
        raise Refused("PICKLE_SHAPE", "no array of numbers was found", REMEDY)
    notices = (Notice("KEYS_GUESSED", f"not arrays, left aside: {', '.join(ignored[:8])}"),)
    said = notices if ignored else ()
    return Contents(form, entries, printed=printed, named=named, notices=said)


def _rows(tree: object) -> list[dict[str, object]]:
    """Return a list of mappings, one a row; an empty list if the tree is anything else."""
    rows = [i for i in tree if isinstance(i, dict)] if isinstance(tree, list) else []
    return rows if isinstance(tree, list) and len(rows) == len(tree) else []


def _table(rows: list[dict[str, object]]) -> tuple[dict[str, Entry], tuple[Notice, ...]]:
    """Return the columns of rows that name their fields, and what was left aside."""
    cells, lacking = columns_of(rows)
    columns: dict[str, Entry] = {}
    odd: list[str] = []
    for name, values in cells.items():
        try:
            column = _sequence(values, values)
        except Refused as refusal:
            where = f"{refusal.where}, field {name}" if refusal.where else f"field {name}"
            raise Refused(refusal.code, refusal.what, refusal.remedy, where) from refusal
        if isinstance(column, np.ndarray) and column.size:
            columns[name] = column
        else:
            odd.append(name)
    if not columns:
        what = "no field holds a number or a text in every row"
        raise Refused("PICKLE_SHAPE", what, "give every row the same fields")
    said = [f"some rows lack {listed(lacking)}: left aside"] if lacking else []
    said += (
        [f"not a number, a text or a list of numbers in every row: {listed(odd)}"] if odd else []
    )
    return columns, (Notice("KEYS_GUESSED", "; ".join(said)),) if said else ()


def _settled(node: object, settle: Settle, budget: _Budget, depth: int) -> object:
    """Return the node with every list of numbers made an array; visits are counted."""
    budget.visit(depth)
    node = settle(node)
    if isinstance(node, np.ndarray):
        return native(node)
    if isinstance(node, dict):
        return {_key(k): _settled(v, settle, budget, depth + 1) for k, v in node.items()}
    if isinstance(node, list | tuple):
        return _sequence([_settled(item, settle, budget, depth + 1) for item in node], node)
    return node


def _key(key: object) -> str:
    if not isinstance(key, str | int) or len(str(key)[: MAX_KEY + 1]) > MAX_KEY:
        raise Refused("PICKLE_SHAPE", "a key that is neither a short text nor a number", REMEDY)
    return str(key)


def _sequence(items: list[object], node: Iterable[object]) -> object:
    """Turn a list of numbers, of texts or of equal rows into an array; leave others alone."""
    if not items:
        return np.empty(0)
    if all(isinstance(i, str) for i in items):
        return text_array([str(i) for i in items])
    if all(i is None or isinstance(i, int | float) for i in items) and any(
        i is not None for i in items
    ):
        return _numbers([np.nan if i is None else i for i in items])
    rows = [i for i in items if isinstance(i, np.ndarray) and not is_text(i)]
    widths = {i.shape for i in rows}
    if isinstance(node, list) and len(rows) == len(items) and len(widths) == 1 and rows[0].ndim < 2:
        return np.stack(rows)
    if isinstance(node, list) and len(rows) == len(items) and {r.ndim for r in rows} == {1}:
        _refuse_ragged(rows)
    return items


def _refuse_ragged(rows: list[Entry]) -> None:
    first = rows[0].size
    row = next(i for i, r in enumerate(rows) if r.size != first)
    what = f"rows differ in length: {counted(rows[row].size, 'value')} where row 0 has {first}"
    raise Refused("PICKLE_SHAPE", what, REMEDY, f"row {row}")


def _numbers(items: list[object]) -> Entry:
    whole = all(isinstance(i, int) for i in items)
    try:
        return np.array(items, dtype=np.int64 if whole else np.float64)
    except OverflowError as error:
        raise Refused("DTYPE", "a whole number beyond 64 bits", REMEDY) from error


def _named(tree: object) -> tuple[dict[str, Entry], list[str], bool]:
    """Return entries by name, the names of what is no array, and whether names are the file's."""
    if isinstance(tree, np.ndarray):
        return {"array": tree}, [], False
    if isinstance(tree, list):
        return _positional(tree)
    entries: dict[str, Entry] = {}
    ignored: list[str] = []
    if isinstance(tree, dict):
        for key, value in tree.items():
            _put(key, value, entries, ignored)
    return entries, ignored, True


def _put(key: str, value: object, entries: dict[str, Entry], ignored: list[str]) -> None:
    if isinstance(value, np.ndarray):
        entries[key] = value
    elif isinstance(value, dict):
        for inner, child in value.items():
            _put(f"{key}.{inner}", child, entries, ignored)
    elif (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(v, np.ndarray) for v in value)
    ):
        first, second = value
        entries |= _pair(first, second, f"{key}.")
    else:
        ignored.append(key)


def _positional(items: list[object]) -> tuple[dict[str, Entry], list[str], bool]:
    """Name positions: a pair is (scores, labels); a pair of pairs is (validation, test)."""
    arrays = [i for i in items if isinstance(i, np.ndarray)]
    if len(arrays) == len(items) == 2:
        return _pair(arrays[0], arrays[1], ""), [], False
    pairs = [i for i in items if isinstance(i, list) and len(i) == 2]
    whole = all(isinstance(array, np.ndarray) for pair in pairs for array in pair)
    if whole and len(pairs) == len(items) in (1, 2, 3):
        names = {1: ("test.",), 2: ("val.", "test."), 3: ("train.", "val.", "test.")}[len(items)]
        entries: dict[str, Entry] = {}
        for prefix, (first, second) in zip(names, pairs, strict=True):
            entries |= _pair(first, second, prefix)
        return entries, [], False
    if len(arrays) == len(items):
        return {f"array {i}": a for i, a in enumerate(arrays)}, [], False
    raise Refused("PICKLE_SHAPE", "a sequence that is no pair of scores and labels", REMEDY)


def _pair(first: Entry, second: Entry, prefix: str) -> dict[str, Entry]:
    """Name the two: labels are the one with fewer columns, else the second."""
    if first.size < second.size and second.ndim == 2:
        return {f"{prefix}{SECOND_ARRAY}": first, f"{prefix}{FIRST_ARRAY}": second}
    return {f"{prefix}{FIRST_ARRAY}": first, f"{prefix}{SECOND_ARRAY}": second}
