"""Nested mappings, tuples and lists of numbers, flattened to named arrays within fixed limits."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.batches import flat_stacks, join_lists, join_mappings, per_label
from core.readers.formats.contents import Contents, Entry, is_text, native, text_array
from core.readers.formats.flat import REMEDY, flatten, of_loader, refuse_ragged, rows_of
from core.readers.formats.records import columns_of
from core.readers.predictions.parts import listed
from core.readers.predictions.roles import METRICS, words_of

Settle = Callable[[object], object]
MAX_NODES = 4_000_000
MAX_DEPTH = 12
MAX_KEY = 300


class _Walk:
    """Counts visits, not distinct objects, so that sharing cannot hide work."""

    def __init__(self, settle: Settle) -> None:
        self.settle = settle
        self.left = MAX_NODES
        self.joined: list[int] = []

    def visit(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            raise Refused(
                "PICKLE_SHAPE",
                f"More than {MAX_NODES} values, or nested deeper than {MAX_DEPTH}",
                REMEDY,
            )


def contents_of(
    form: str, tree: object, settle: Settle, records: str | None = None, *, printed: bool = False
) -> Contents:
    """Return the arrays of a tree of mappings, sequences and arrays.

    Parameters
    ----------
    form : str
        Name of the format.
    tree : object
        What a pickle, a torch file or JSON holds.
    settle : function of object to object
        Turns a format's own stand-ins into arrays and returns everything else.
    records : str or None
        Number of the dataloader that is meant, where there are several.
    printed : bool
        Whether numbers were written as text.

    Raises
    ------
    Refused
        PICKLE_SHAPE: too large, too deep, or not made of arrays. As of `of_loader`.
    """
    walk = _Walk(settle)
    whole = _settled(tree, walk, 0)
    node = of_loader(whole, records)
    rows = rows_of(node)
    batches = join_mappings(rows) if rows else None
    if rows and not (batches and batches.certain):
        columns, notices = _columns(*columns_of(rows))
        other = batches.entries if batches and len(rows) > 1 else None
        return Contents(form, columns, table=True, printed=printed, notices=notices, batches=other)
    flat = flatten(node)
    if flat.batches and node is not whole:  # of a dataloader, so no parts
        flat.joined, flat.entries, flat.batches = [len(flat.entries)], dict(flat.batches), None
    if not flat.entries:
        if any(METRICS & set(words_of(name)) for name in flat.aside):
            what = f"A summary of metrics ({listed(flat.aside)}), not of predictions"
            raise Refused("FORMAT_UNKNOWN", what, "give the scores and labels behind it")
        raise Refused("PICKLE_SHAPE", "No array of numbers was found", REMEDY)
    counts = dict.fromkeys([*walk.joined, *flat.joined])
    texts = [f"{count} batches were joined" for count in counts if count > 1]
    texts += [f"not arrays, not used: {', '.join(flat.aside[:8])}"] if flat.aside else []
    return Contents(
        form,
        flat.entries,
        printed=printed,
        named=flat.named,
        notices=tuple(Notice(NoticeCode.KEYS_GUESSED, text) for text in texts),
        batches=flat.batches or _unstacked(tree, flat.entries),
    )


def _unstacked(tree: object, entries: dict[str, Entry]) -> dict[str, Entry] | None:
    """Return entries with lists of equal arrays laid end to end: batches of a number a row."""
    mapping = tree if isinstance(tree, dict) else {}
    lists = [str(k) for k, v in mapping.items() if isinstance(v, list) and _holds_arrays(v)]
    flat = flat_stacks({k: entries[k] for k in lists if k in entries and entries[k].ndim == 2})
    return None if flat is None else {**entries, **flat}


def _holds_arrays(values: list[object]) -> bool:
    """Whether a list whose items became one matrix held arrays, and not lists of numbers."""
    return not any(isinstance(value, list | tuple) for value in values)


def contents_of_cells(
    form: str, cells: Mapping[str, list[object]], lacking: list[str], *, printed: bool = False
) -> Contents:
    """Return a table from its cells by column; `lacking` names fields that some rows lack.

    Raises
    ------
    Refused
        PICKLE_SHAPE: no column of numbers or texts, or lists of several lengths in one.
    """
    walk = _Walk(lambda cell: cell)
    settled = {name: [_settled(cell, walk, 1) for cell in column] for name, column in cells.items()}
    columns, notices = _columns(settled, lacking)
    return Contents(form, columns, table=True, printed=printed, notices=notices)


def _columns(
    cells: Mapping[str, list[object]], lacking: list[str]
) -> tuple[dict[str, Entry], tuple[Notice, ...]]:
    """Return the columns of a table, and what was left aside."""
    arrays = {name: _column(name, values) for name, values in cells.items()}
    columns = {name: column for name, column in arrays.items() if column is not None}
    if not columns:
        what = "No field holds a number or a text in every row"
        raise Refused("PICKLE_SHAPE", what, "give every row the same fields")
    odd = [name for name in arrays if name not in columns]
    texts = [f"some rows lack {listed(lacking)}: not used"] if lacking else []
    if odd:
        texts.append(f"not a number, a text or a list of numbers in every row: {listed(odd)}")
    return columns, (Notice(NoticeCode.KEYS_GUESSED, "; ".join(texts)),) if texts else ()


def _column(name: str, cells: list[object]) -> Entry | None:
    try:
        column = _sequence(cells, cells)
        refuse_ragged(column)
    except Refused as refusal:
        location = f"{refusal.location}, field {name}" if refusal.location else f"field {name}"
        raise refusal.with_location(location) from refusal
    return column if isinstance(column, np.ndarray) and column.size else None


def settled(tree: object) -> object:
    """Return a tree of plain values with its lists of numbers made arrays; may be PICKLE_SHAPE."""
    return _settled(tree, _Walk(lambda node: node), 0)


def _settled(node: object, walk: _Walk, depth: int) -> object:
    """Return the node with every list of numbers made an array; visits are counted."""
    walk.visit(depth)
    node = walk.settle(node)
    if isinstance(node, np.ndarray):
        return native(node)
    if isinstance(node, dict):
        children = {_key(k): _settled(v, walk, depth + 1) for k, v in node.items()}
        lists = {_key(k) for k, v in node.items() if isinstance(v, list)}
        out, count = join_lists(per_label(children), lists)
        walk.joined += [count] if count else []
        return out
    if isinstance(node, list | tuple):
        items = [_settled(item, walk, depth + 1) for item in node]
        if len(items) == 2:  # scores and labels without names
            items = list(per_label(dict(zip("01", items, strict=True))).values())
        return _sequence(items, node)
    return node


def _key(key: object) -> str:
    if not isinstance(key, str | int) or len(str(key)[: MAX_KEY + 1]) > MAX_KEY:
        raise Refused("PICKLE_SHAPE", "A key that is neither a short text nor a number", REMEDY)
    return str(key)


def _is_str(item: object) -> bool:
    return isinstance(item, str)


def _sequence(items: list[object], node: Sequence[object]) -> object:
    """Turn a list of numbers, of texts or of equal rows into an array; leave others alone."""
    if not items:
        return np.empty(0)
    if all(i is None or isinstance(i, str) for i in items) and any(map(_is_str, items)):
        return text_array(["" if i is None else str(i) for i in items])
    if all(i is None or isinstance(i, int | float) for i in items) and any(
        i is not None for i in items
    ):
        return _numbers([np.nan if i is None else i for i in items])
    if isinstance(node, tuple):
        return tuple(items)
    rows = [i for i in items if isinstance(i, np.ndarray) and not is_text(i)]
    if len(rows) == len(items) and len({i.shape for i in rows}) == 1 and rows[0].ndim < 2:
        return np.stack(rows)
    return items


def _numbers(items: list[object]) -> Entry:
    bools = sum(isinstance(i, bool) for i in items)
    if bools == len(items):
        return np.array(items, dtype=bool)
    if bools:
        raise Refused("DTYPE", "True or false among numbers", REMEDY)
    whole = all(isinstance(i, int) for i in items)
    try:
        return np.array(items, dtype=np.int64 if whole else np.float64)
    except OverflowError as error:
        raise Refused("DTYPE", "A whole number beyond 64 bits", REMEDY) from error
