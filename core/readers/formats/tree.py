"""Nested mappings, tuples and lists of numbers, flattened to named arrays within fixed limits."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core import defaults
from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import (
    FIRST_ARRAY,
    SECOND_ARRAY,
    Contents,
    Entry,
    id_text,
    is_binary,
    is_text,
    native,
    text_array,
)
from core.readers.predictions.names import (
    CLASS_WORDS,
    METRICS,
    SPLITS,
    Role,
    counted,
    counts_up,
    listed,
    name_entry,
    without_unread,
    words_of,
)
from core.readers.predictions.result import ReadChoice, undecided

REMEDY = "save two arrays, scores and labels, best as .npz"
PARTS = {1: ("test",), 2: ("val", "test"), 3: ("train", "val", "test")}
Pair = tuple[Entry, Entry]
Row = dict[str, object]
COLUMN_ROLES = {Role.LABELS, Role.IDS, Role.CORRECT, Role.SCORES, Role.PREDICTED, Role.CONFIDENCE}
MANY_NAMES = 20  # of rows: fewer entries are arrays, parts or settings


@dataclass
class FlatTree:
    """The arrays of a tree by name, and the names of what is no array."""

    entries: dict[str, Entry] = field(default_factory=dict)
    aside: list[str] = field(default_factory=list)
    joined: list[int] = field(default_factory=list)  # batches, for each place where some were
    named: bool = True  # whether the names are the file's own
    batches: Mapping[str, Entry] | None = None  # entries, if parts may be batches of one part


def flatten(tree: object) -> FlatTree:
    """Return the arrays of a tree whose lists of numbers are arrays already.

    Raises Refused PICKLE_SHAPE: a sequence that is neither a pair, parts nor batches.
    """
    if isinstance(tree, np.ndarray):
        return FlatTree({"array": tree}, named=False)
    if isinstance(tree, list | tuple):
        return _positional(tree)
    flat = FlatTree()
    if isinstance(tree, dict):
        for key, value in tree.items():
            _put(key, value, flat)
    return flat


def of_loader(tree: object, records: str | None) -> object:
    """Return the batches of one dataloader, where a tree holds a list of batches for each.

    So Lightning's `predict` returns them. A batch is a mapping with arrays, a pair or more arrays,
    or a matrix.

    Raises Refused UNDECIDED: there are several, and `records` names none. AMBIGUOUS_KEYS: it names
    no other.
    """
    loaders = tree if isinstance(tree, list) else []
    if not loaders or not all(isinstance(item, list) and _are_batches(item) for item in loaders):
        return tree
    if len(loaders) == 1:
        return loaders[0]
    if records is None:
        counts = [sum(_n_rows(batch) for batch in loader) for loader in loaders]
        choices = [
            ReadChoice(f"dataloader {k}: {n} rows", {"records": str(k)})
            for k, n in enumerate(counts)
        ]
        raise undecided(f"Batches of {len(loaders)} dataloaders", *choices)
    if records not in {str(k) for k in range(len(loaders))}:
        what = f"--records names {records!r}, and there are {len(loaders)} dataloaders"
        raise Refused("AMBIGUOUS_KEYS", what, f"say a number from 0 to {len(loaders) - 1}")
    return loaders[int(records)]


def _are_batches(items: list[object]) -> bool:
    if any(isinstance(item, np.ndarray) for item in items):
        matrices = [a for a in _arrays(items) if a.ndim > 1 and not is_binary(a)]
        return len(matrices) == len(items) and len({a.shape[1:] for a in matrices}) == 1
    return bool(items) and all(_n_rows(item) > 0 for item in items)


def _n_rows(batch: object) -> int:
    """Return how many rows a batch has; 0 where it is none."""
    arrays = [batch] if isinstance(batch, np.ndarray) else _arrays(batch)
    if isinstance(batch, dict):
        arrays = [a for a in batch.values() if isinstance(a, np.ndarray)]
    elif not isinstance(batch, np.ndarray) and len(arrays) < 2:
        return 0
    return max((len(a) for a in arrays if a.ndim), default=0)


def rows_of(tree: object) -> list[Row]:
    """Return a sequence of mappings as a list; an empty list if the tree is anything else."""
    if not isinstance(tree, list | tuple):
        return []
    rows = [item for item in tree if isinstance(item, dict)]
    return rows if len(rows) == len(tree) else []


def rows_by_name(tree: object) -> list[Row]:
    """Return the rows of a mapping from their names to scores, a label, or fields; else nothing.

    So are the cases of a segmentation's classifier and the images of a dictionary kept. A mapping
    of columns is none: its lists are longer than they are many, or one of them holds labels.
    """
    items = tree if isinstance(tree, dict) else {}
    values = list(items.values())
    if len(values) < MANY_NAMES:
        return []
    fields = [value for value in values if isinstance(value, dict)]
    # Mappings in a mapping: rows if their cells are plain and all have the same fields.
    if len(fields) == len(values):
        cells = [cell for row in fields for cell in row.values()]
        flat = all(not isinstance(c, np.ndarray | list | tuple) or _width(c) for c in cells)
        first = [cell for cell in fields[0].values() if not isinstance(cell, list | dict)]
        single = any(not isinstance(cell, np.ndarray) or cell.ndim == 0 for cell in first)
        alike = all(row.keys() == fields[0].keys() for row in fields)
        rows = [{"id": k} | row | {"id": k} for k, row in items.items()]
        return rows if flat and single and alike else []
    name = "scores"
    if all(isinstance(value, np.ndarray) for value in values):
        if not _are_rows({k: v for k, v in items.items() if v.dtype.kind in "biuf"}, len(items)):
            return []
    elif not any(all(type(v) is kind for v in values) for kind in (str, int)):
        return []
    else:
        name = "label"
    return [{"id": key, name: value} for key, value in items.items()]


def _are_rows(arrays: Mapping[str, Entry], count: int) -> bool:
    """Whether arrays of numbers, as many as `count`, are rows of scores, and not columns.

    More columns than rows cannot each sum to one if they hold probabilities.
    """
    widths = {_width(value) for value in arrays.values()}
    if len(arrays) < count or len(widths) > 1 or not 1 < widths.pop() < count / 2:
        return False
    table = np.stack(list(arrays.values())).astype(np.float64)
    if np.allclose(table.sum(axis=1), 1.0, atol=0.01):
        return True
    roles = {name_entry(name, value).role for name, value in arrays.items()}
    called = any(CLASS_WORDS & set(words_of(name)) for name in arrays) or counts_up(list(arrays))
    across = np.allclose(table.sum(axis=0), 1.0, atol=0.01)
    return not (called or across or roles & COLUMN_ROLES)


def _width(cell: object) -> int:
    """Return how many fractions a list of them holds, or 1 of a single value; else 0."""
    if not isinstance(cell, np.ndarray) or cell.ndim > 1:
        return 0
    return cell.size if cell.ndim else 1


def _folds(node: object) -> list[Row]:
    """Return folds of different rows: mappings called fold 0 and so on, in a mapping of their own.

    Folds with equal labels, or names of rows that occur in several, are of the same rows.
    """
    items = node if isinstance(node, dict) else {}
    rows = [row for row in items.values() if isinstance(row, dict)]
    called = all(re.fullmatch(r"(?i)(cv)?[\W_]*fold[\W_]*\d+", key) for key in items)
    if len(rows) < 2 or len(rows) < len(items) or not called:
        return []
    arrays = [[v for v in row.values() if isinstance(v, np.ndarray)] for row in rows]
    labels = [[array for array in some if array.dtype.kind != "f"] for some in arrays]
    same = all(len(s) == len(labels[0]) and all(map(np.array_equal, s, labels[0])) for s in labels)
    if same:
        return []
    seen: dict[str, set[str]] = {}
    for key, value in (item for row in rows for item in row.items()):
        if not isinstance(value, np.ndarray) or value.ndim != 1:
            continue
        if "idx" in words_of(key) or name_entry(key, value).role is Role.IDS:
            names = set(id_text(value).tolist())
            if seen.setdefault(key, set()) & names:
                return []
            seen[key] |= names
    return rows


def refuse_ragged(value: object) -> None:
    """Refuse a list of rows of different lengths.

    Raises Refused PICKLE_SHAPE.
    """
    rows = _arrays(value) if isinstance(value, list) else []
    first = rows[0].size if rows else 0
    if any(row.ndim != 1 or is_text(row) for row in rows):
        return
    for index, row in enumerate(rows):
        if row.size != first:
            what = f"Rows differ in length: {counted(row.size, 'value')} where row 0 has {first}"
            raise Refused("PICKLE_SHAPE", what, REMEDY, f"row {index}")


def _arrays(value: object) -> list[Entry]:
    """Return the arrays of a sequence that holds nothing else."""
    items = value if isinstance(value, list | tuple) else []
    arrays = [item for item in items if isinstance(item, np.ndarray)]
    return arrays if len(arrays) == len(items) else []


def _put(key: str, value: object, flat: FlatTree) -> None:
    if isinstance(value, np.ndarray):
        flat.entries[key] = value
        return
    refuse_ragged(value)
    inner = value if isinstance(value, dict) else _part(value, flat)
    if not isinstance(inner, dict):
        flat.aside.append(key)
        return
    for name, child in inner.items():
        _put(f"{key}.{name}", child, flat)


def _part(value: object, flat: FlatTree) -> Mapping[str, Entry] | None:
    """Return one part without names of its own, a pair or a list of batches; else None."""
    arrays, pairs, rows = _arrays(value), _pairs(value), rows_of(value)
    if len(arrays) == 2:
        return named_pair((arrays[0], arrays[1]))
    whole = join_pairs(pairs) if pairs else None
    if whole:
        flat.joined.append(len(pairs))
        return named_pair(whole)
    batches = join_mappings(rows) if rows else None
    if batches and batches.certain:
        flat.joined.append(len(rows))
        return dict(batches.entries)
    return None


def _pairs(value: object) -> list[Pair]:
    """Return a sequence of pairs of arrays; an empty list if it is anything else."""
    items = value if isinstance(value, list | tuple) else []
    pairs = [arrays for arrays in map(_arrays, items) if len(arrays) == 2]
    return [(a, b) for a, b in pairs] if len(pairs) == len(items) else []


def _positional(items: list[object] | tuple[object, ...]) -> FlatTree:
    """Name positions: a pair is (scores, labels); a pair of pairs is (validation, test)."""
    arrays, pairs, rows = _arrays(items), _pairs(items), rows_of(items)
    # From the plainest to the rarest: a pair, an output with metrics, pairs by part, rows, batches.
    if len(arrays) == 2:
        return FlatTree(named_pair((arrays[0], arrays[1])), named=False)
    if len(items) == 3 and not rows and isinstance(items[2], dict):
        return _with_metrics(items)
    if pairs:
        return _of_pairs(pairs, several=isinstance(items, list))
    if rows:
        # Up to three mappings of arrays are parts, and more are batches, as with pairs.
        batches = join_mappings(rows)
        if batches is None:
            raise Refused("PICKLE_SHAPE", "Mappings that are not batches of one part", REMEDY)
        count, entries = len(rows), dict(batches.entries)
        if count == 1 or count not in PARTS:
            return FlatTree(entries, list(batches.aside), joined=[count])
        flat = FlatTree()
        for part, row in zip(PARTS[count], rows, strict=True):
            for key, value in row.items():
                _put(f"{part}.{key}", value, flat)
        if isinstance(items, list) and like_batches(batches.sizes):
            flat.batches = entries
        return flat
    longer = [_arrays(item) for item in items if not isinstance(item, np.ndarray)]
    if len(longer) == len(items) and len({len(a) for a in longer}) == 1 < min(map(len, longer)):
        named = [{f"array {k}": a for k, a in enumerate(batch)} for batch in longer]
        batches = join_mappings(named)  # scores, labels and names or numbers of rows
        if batches is not None:
            return FlatTree(dict(batches.entries), joined=[len(items)], named=False)
    refuse_ragged(items)
    if arrays:
        # Arrays are named by their positions; matrices of as many columns may be batches.
        flat = FlatTree({f"array {i}": array for i, array in enumerate(arrays)}, named=False)
        tall = all(array.ndim > 1 and not is_text(array) for array in arrays)
        if tall and like_batches([len(array) for array in arrays]):
            whole = joined(arrays)
            flat.batches = None if whole is None else {"array": whole}
        return flat
    for item in items:
        refuse_ragged(item)
    raise _no_pair()


def _with_metrics(items: Sequence[object]) -> FlatTree:
    """Read scores, labels and a mapping of metrics, as a Trainer's output is unpacked."""
    arrays, metrics = _arrays(list(items[:2])), items[2]
    if len(arrays) != 2 or not isinstance(metrics, dict):
        raise _no_pair()
    return FlatTree(named_pair((arrays[0], arrays[1])), aside=list(metrics), named=False)


def _no_pair() -> Refused:
    what = "A sequence that is not a pair of scores and labels"
    return Refused("PICKLE_SHAPE", what, REMEDY)


def _of_pairs(pairs: list[Pair], *, several: bool) -> FlatTree:
    """Read up to three pairs as parts, and more as batches; `several` says that both may be."""
    count = len(pairs)
    whole = join_pairs(pairs)
    if count not in PARTS:
        if whole is None:
            what = f"The {count} pairs of arrays are not batches: their rows or columns differ"
            unlike = (i for i, pair in enumerate(pairs) if join_pairs([pairs[0], pair]) is None)
            raise Refused("PICKLE_SHAPE", what, REMEDY, f"pair {next(unlike, count - 1)}")
        return FlatTree(named_pair(whole), joined=[count], named=False)
    entries = {
        f"{part}.{name}": array
        for part, pair in zip(PARTS[count], pairs, strict=True)
        for name, array in named_pair(pair).items()
    }
    both = several and count > 1 and whole and like_batches([len(a) for a, _ in pairs])
    return FlatTree(entries, named=False, batches=named_pair(whole) if both and whole else None)


def named_pair(pair: Pair) -> dict[str, Entry]:
    """Return two arrays by name: labels are those with fewer columns or 0/1, else the second."""
    first, second = pair
    if first.shape == second.shape and is_binary(first) and not is_binary(second):
        return {SECOND_ARRAY: first, FIRST_ARRAY: second}
    if first.size < second.size and second.ndim == 2:
        return {SECOND_ARRAY: first, FIRST_ARRAY: second}
    return {FIRST_ARRAY: first, SECOND_ARRAY: second}


Resolve = Callable[[object], object]
MAX_NODES = 4_000_000
MAX_DEPTH = 12
MAX_KEY = 300


class _Walk:
    """Counts visits, not distinct objects, so that sharing cannot hide work."""

    def __init__(self, resolve: Resolve) -> None:
        self.resolve = resolve
        self.left = MAX_NODES
        self.joined: list[int] = []

    def visit(self, depth: int) -> None:
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            what = f"More than {MAX_NODES} values, or nested deeper than {MAX_DEPTH}"
            raise Refused("PICKLE_SHAPE", what, REMEDY)


def contents_of(
    form: str, tree: object, resolve: Resolve, records: str | None = None, *, printed: bool = False
) -> Contents:
    """Return the arrays of a tree of mappings, sequences and arrays.

    `resolve` turns a format's own stand-ins into arrays, `records` numbers the dataloader that is
    meant, and `printed` says that numbers were written as text.

    Raises Refused PICKLE_SHAPE: too large, too deep, or not made of arrays. As of `of_loader`.
    """
    # Values are counted and depth is bounded while the tree is settled: a list may hold itself.
    walk = _Walk(resolve)
    whole = _settled(tree, walk, 0)
    node = of_loader(whole, records)
    folds = _folds(node)
    held_out = join_mappings(folds) if folds else None
    node = rows_by_name(node) or node if held_out is None else dict(held_out.entries)
    # Rows or batches: both are lists of mappings; batches are arrays of as many rows each.
    rows = rows_of(node)
    batches = join_mappings(rows) if rows else None
    if rows and not (batches and batches.certain):
        contents = _table(form, *columns_of(rows), printed=printed)
        other = batches.entries if batches and len(rows) > 1 else None
        return replace(contents, batches=other)
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
    unnamed = "rows have no names, so rows of different folds are taken for different rows"
    texts += [unnamed] if held_out is not None else []
    texts += [f"not arrays, not used: {', '.join(flat.aside[:8])}"] if flat.aside else []
    laid_out = flat.batches
    if not laid_out:
        # Lists of equal arrays became one matrix: batches of a number a row, laid end to end.
        # Those that were lists of numbers stay one.
        lists = [
            str(k)
            for k, v in (tree.items() if isinstance(tree, dict) else ())
            if isinstance(v, list) and not any(isinstance(value, list | tuple) for value in v)
        ]
        named = {k: flat.entries[k] for k in lists if k in flat.entries}
        stacks = flat_stacks({k: entry for k, entry in named.items() if entry.ndim == 2})
        laid_out = None if stacks is None else {**flat.entries, **stacks}
    return Contents(
        form,
        flat.entries,
        printed=printed,
        named=flat.named,
        notices=tuple(Notice(NoticeCode.KEYS_GUESSED, text) for text in texts),
        batches=laid_out,
    )


def contents_of_cells(
    form: str, cells: Mapping[str, list[object]], lacking: list[str], *, printed: bool = False
) -> Contents:
    """Return a table from its cells by column; `lacking` names fields that some rows lack.

    Raises Refused PICKLE_SHAPE: no column of numbers or texts, or lists of several lengths in one.
    """
    walk = _Walk(lambda cell: cell)
    settled = {name: [_settled(cell, walk, 1) for cell in column] for name, column in cells.items()}
    return _table(form, settled, lacking, printed=printed)


def _table(
    form: str, cells: Mapping[str, list[object]], lacking: list[str], *, printed: bool
) -> Contents:
    """Return a table without the fields that some rows lack, or that are no columns."""
    columns: dict[str, Entry] = {}
    unread: dict[str, Refused] = {}
    for name, values in cells.items():
        location = f"field {name}"
        try:
            column = _sequence(values, values)
            refuse_ragged(column)
        except Refused as refusal:
            location = f"{refusal.location}, {location}" if refusal.location else location
            unread[name] = refusal.with_location(location)
            continue
        if isinstance(column, np.ndarray) and column.size:
            columns[name] = column
        else:
            unread[name] = _no_column(location)
    text = f"some rows lack {listed(lacking)}: not used"
    notices = (Notice(NoticeCode.KEYS_GUESSED, text),) if lacking else ()
    contents = Contents(form, columns, table=True, printed=printed, notices=notices)
    if not cells:
        raise _no_column("")
    return without_unread(contents, unread)


def _no_column(location: str) -> Refused:
    what = "No field holds a number or a text in every row"
    return Refused("PICKLE_SHAPE", what, "give every row the same fields", location)


def settled(tree: object) -> object:
    """Return a tree of plain values with its lists of numbers made arrays; may be PICKLE_SHAPE."""
    return _settled(tree, _Walk(lambda node: node), 0)


def _settled(node: object, walk: _Walk, depth: int) -> object:
    """Return the node with every list of numbers made an array; visits are counted."""
    walk.visit(depth)
    node = walk.resolve(node)
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


def _sequence(items: list[object], node: Sequence[object]) -> object:
    """Turn a list of numbers, of texts or of equal rows into an array; leave others alone."""
    if not items:
        return np.empty(0)
    if all(i is None or isinstance(i, str) for i in items) and any(
        isinstance(i, str) for i in items
    ):
        return text_array(["" if i is None else str(i) for i in items])
    if all(i is None or isinstance(i, int | float) for i in items) and any(
        i is not None for i in items
    ):
        numbers = [np.nan if i is None else i for i in items]
        bools = sum(isinstance(i, bool) for i in numbers)
        if bools == len(numbers):
            return np.array(numbers, dtype=bool)
        # Python counts True as 1: a mixture is more likely a mistake than a number.
        if bools:
            raise Refused("DTYPE", "True or false among numbers", REMEDY)
        whole = all(isinstance(i, int) for i in numbers)
        try:
            return np.array(numbers, dtype=np.int64 if whole else np.float64)
        except OverflowError as error:
            raise Refused("DTYPE", "A whole number beyond 64 bits", REMEDY) from error
    if isinstance(node, tuple):
        return tuple(items)
    rows = [i for i in items if isinstance(i, np.ndarray) and not is_text(i)]
    if len(rows) == len(items) and len({i.shape for i in rows}) == 1 and rows[0].ndim < 2:
        return np.stack(rows)
    return items


MAX_FIELD_DEPTH = 12


def columns_of(rows: Sequence[Mapping[str, object]]) -> tuple[dict[str, list[object]], list[str]]:
    """Return the cells of every field that all rows have, and the fields that some rows lack.

    A mapping inside a row becomes fields of its own, named ``outer.inner``.

    Raises Refused CSV_HEADER: two fields of one name. CSV_COLUMNS: too many fields. PICKLE_SHAPE:
    too deep.
    """
    flat: list[Mapping[str, object]] = []
    for index, row in enumerate(rows):
        fields = row
        if any(isinstance(value, dict) for value in row.values()):
            fields = {}
            for name, value in _leaves(row, "", 0):
                if name in fields:
                    what, location = f"Field {name[:60]!r} occurs twice", f"row {index}"
                    raise Refused("CSV_HEADER", what, "give each field its own name", location)
                fields[name] = value
        flat.append(fields)
    counts = Counter(name for row in flat for name in row)
    whole = [name for name, count in counts.items() if count == len(flat)]
    if len(whole) > defaults.MAX_COLUMNS:
        what = f"A row has {len(whole)} fields; at most {defaults.MAX_COLUMNS} are read"
        raise Refused("CSV_COLUMNS", what, "save one row for each sample", "row 0")
    lacking = [name for name, count in counts.items() if count < len(flat)]
    return {name: [row[name] for row in flat] for name in whole}, lacking


def _leaves(row: Mapping[str, object], prefix: str, depth: int) -> Iterator[tuple[str, object]]:
    if depth > MAX_FIELD_DEPTH:
        what = f"A row nested deeper than {MAX_FIELD_DEPTH}"
        raise Refused("PICKLE_SHAPE", what, "write one flat object for each row")
    for name, value in row.items():
        if isinstance(value, dict) and value.keys() == {"type", "values"}:  # a vector of Spark
            yield f"{prefix}{name}", value["values"]
        elif isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.", depth + 1)
        else:
            yield f"{prefix}{name}", value


# Batches of one part, as loops over a loader collect them, joined along their rows in order.


@dataclass(frozen=True)
class Batches:
    """Mappings of arrays, joined."""

    entries: Mapping[str, Entry]
    aside: tuple[str, ...]  # keys that hold something else than rows
    sizes: list[int]  # rows of each batch
    certain: bool  # whether the mappings cannot be rows of a table instead


def like_batches(sizes: Sequence[int]) -> bool:
    """Whether a loader would give batches of these sizes: equal but for a shorter last one."""
    return len(set(sizes[:-1])) <= 1 and sizes[-1] <= sizes[0]


def joined(arrays: Sequence[Entry]) -> Entry | None:
    """Return arrays as one, or None where they do not go together.

    Raises Refused PICKLE_LIMIT: more than memory holds, as when a file names one array many times.
    """
    first = arrays[0]
    kinds = {(a.shape[1:], a.ndim, is_text(a)) for a in arrays}
    if first.ndim == 0 or len(kinds) > 1:
        return None
    size = sum(a.nbytes for a in arrays)
    if size > defaults.MAX_BYTES:
        raise Refused("PICKLE_LIMIT", f"Batches of {size} bytes together", "save fewer rows")
    return first if len(arrays) == 1 else np.concatenate(arrays)


def join_pairs(pairs: Sequence[Pair]) -> Pair | None:
    """Return pairs of scores and labels as one pair, or None where they are no batches."""
    if any(a.ndim == 0 or b.ndim == 0 or len(a) != len(b) for a, b in pairs):
        return None
    first, second = joined([a for a, _ in pairs]), joined([b for _, b in pairs])
    return None if first is None or second is None else (first, second)


def join_mappings(rows: Sequence[Mapping[str, object]]) -> Batches | None:
    """Return mappings with the same keys as one; None where they are no batches.

    Matrices tell how many rows a batch has. Without one, all arrays of a batch have to have as
    many, and the sizes have to be those of batches.
    """
    columns = {key: _with_rows([row.get(key) for row in rows]) for key in rows[0]}
    columns = {key: arrays for key, arrays in columns.items() if arrays}
    tall = [key for key, arrays in columns.items() if all(a.ndim > 1 for a in arrays)]
    if not columns or (not tall and len(columns) < 2):
        return None
    sizes = _sizes(columns[(tall or list(columns))[0]])
    whole = [key for key, arrays in columns.items() if _sizes(arrays) == sizes]
    if not tall and (len(whole) < len(columns) or not like_batches(sizes)):
        return None
    joined_columns = {key: joined(columns[key]) for key in whole}
    entries = {key: array for key, array in joined_columns.items() if array is not None}
    if not entries or (tall and tall[0] not in entries):
        return None
    names = dict.fromkeys(name for row in rows for name in row)
    aside = tuple(name for name in names if name not in entries)
    return Batches(entries, aside, sizes, certain=bool(tall) or len(set(sizes)) > 1)


def _with_rows(values: Sequence[object]) -> list[Entry]:
    """Return values that are all arrays with rows; otherwise an empty list."""
    arrays = [v for v in values if isinstance(v, np.ndarray) and v.ndim > 0]
    return arrays if len(arrays) == len(values) else []


def _sizes(arrays: Sequence[Entry]) -> list[int]:
    return [len(array) for array in arrays]


def per_label(values: dict[str, object]) -> dict[str, object]:
    """Return values with a list of (N, 2) arrays, one for each label, as its (N, L) second columns.

    So scikit-learn gives probabilities of many labels. Labels of that shape tell it from batches.
    """
    shapes = {v.shape for v in values.values() if isinstance(v, np.ndarray)}
    out = dict(values)
    for key, value in values.items():
        arrays = _with_rows(value) if isinstance(value, list | tuple) else []
        pairs = [a for a in arrays if a.ndim == 2 and a.shape[1] == 2 and not is_text(a)]
        fits = len(pairs) == len(arrays) > 1 and (len(pairs[0]), len(pairs)) in shapes
        if not fits or len({len(a) for a in pairs}) > 1:
            continue
        if all(np.allclose(a.astype(np.float64).sum(axis=1), 1.0, atol=1e-3) for a in pairs):
            out[key] = np.column_stack([a[:, 1] for a in pairs])
    return out


def join_lists(mapping: dict[str, object], listed: Container[str]) -> tuple[dict[str, object], int]:
    """Return a mapping with its lists of batches joined, and how many batches there were.

    One list alone counts only where another array has as many rows as its batches together, or
    where there is nothing else: a network's layers are a list of arrays too.

    `listed` names the lists, those that were made a matrix with a row for each batch among them.
    """
    # A list under the name of a part is a pair of scores and labels.
    lists = {
        k: _with_rows(v)
        for k, v in mapping.items()
        if isinstance(v, list) and k.strip().lower() not in SPLITS
    }
    lists = {key: arrays for key, arrays in lists.items() if arrays}
    # How many rows each batch has: matrices tell, else lists of equal sizes..
    tall = [arrays for arrays in lists.values() if arrays[0].ndim > 1]
    even = [arrays for arrays in lists.values() if like_batches(_sizes(arrays))]
    sizes = _sizes((tall or even)[0]) if tall or even else []
    joined_lists = {k: joined(v) for k, v in lists.items() if _sizes(v) == sizes}
    out = {key: array for key, array in joined_lists.items() if array is not None}
    others = {k: v for k, v in mapping.items() if k not in out and isinstance(v, np.ndarray)}
    shape = (len(sizes), sizes[0]) if len(set(sizes)) == 1 else None
    flat = {k: v.reshape(-1) for k, v in others.items() if k in listed and v.shape == shape}
    rows = {array.shape[:1] for array in others.values()}
    # Layers of a network are a list of arrays, too: joined only if something else has as many rows.
    if not out or (len(out) + len(flat) == 1 and rows and (sum(sizes),) not in rows):
        return mapping, 0
    return {**mapping, **out, **flat}, len(sizes)


def flat_stacks(stacks: Mapping[str, Entry]) -> dict[str, Entry] | None:
    """Return matrices with a row for each batch as lists, if there are two of one shape."""
    shapes = {stack.shape for stack in stacks.values()}
    if len(stacks) < 2 or len(shapes) > 1 or any(s[0] < 2 or s[1] < 2 for s in shapes):
        return None
    return {name: stack.reshape(-1) for name, stack in stacks.items()}
