"""Arrays in mappings and sequences as named entries: pairs, parts, and batches of one part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.errors import Refused
from core.readers.formats.batches import Pair, join_mappings, join_pairs, joined, like_batches
from core.readers.formats.contents import FIRST_ARRAY, SECOND_ARRAY, Entry, is_binary, is_text
from core.readers.predictions.parts import counted
from core.readers.predictions.questions import ReadChoice, undecided

REMEDY = "save two arrays, scores and labels, best as .npz"
PARTS = {1: ("test",), 2: ("val", "test"), 3: ("train", "val", "test")}
Row = dict[str, object]


@dataclass
class FlatTree:
    """What a tree holds, by name.

    Attributes
    ----------
    entries : dict
        Arrays by name.
    aside : list of str
        Names of what is no array.
    joined : list of int
        How many batches were joined, for each place where that happened.
    named : bool
        Whether the names are the file's own.
    batches : mapping or None
        The entries if what was read as parts is batches of one part.
    """

    entries: dict[str, Entry] = field(default_factory=dict)
    aside: list[str] = field(default_factory=list)
    joined: list[int] = field(default_factory=list)
    named: bool = True
    batches: Mapping[str, Entry] | None = None


def flatten(tree: object) -> FlatTree:
    """Return the arrays of a tree whose lists of numbers are arrays already.

    Raises
    ------
    Refused
        PICKLE_SHAPE: a sequence that is neither a pair, parts nor batches.
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

    Raises
    ------
    Refused
        UNDECIDED: there are several, and `records` names none. AMBIGUOUS_KEYS: it names no other.
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


def refuse_ragged(value: object) -> None:
    """Refuse a list of rows of different lengths.

    Raises
    ------
    Refused
        PICKLE_SHAPE.
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
    if len(arrays) == 2:
        return FlatTree(named_pair((arrays[0], arrays[1])), named=False)
    if len(items) == 3 and not rows and isinstance(items[2], dict):
        return _with_metrics(items)
    if pairs:
        return _of_pairs(pairs, several=isinstance(items, list))
    if rows:
        return _of_mappings(rows, several=isinstance(items, list))
    longer = [_arrays(item) for item in items if not isinstance(item, np.ndarray)]
    if len(longer) == len(items) and len({len(a) for a in longer}) == 1 < min(map(len, longer)):
        named = [{f"array {k}": a for k, a in enumerate(batch)} for batch in longer]
        batches = join_mappings(named)  # scores, labels and names or numbers of rows
        if batches is not None:
            return FlatTree(dict(batches.entries), joined=[len(items)], named=False)
    refuse_ragged(items)
    if arrays:
        return _of_arrays(arrays)
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
            raise Refused("PICKLE_SHAPE", what, REMEDY, f"pair {_odd(pairs)}")
        return FlatTree(named_pair(whole), joined=[count], named=False)
    entries = {
        f"{part}.{name}": array
        for part, pair in zip(PARTS[count], pairs, strict=True)
        for name, array in named_pair(pair).items()
    }
    both = several and count > 1 and whole and like_batches([len(a) for a, _ in pairs])
    return FlatTree(entries, named=False, batches=named_pair(whole) if both and whole else None)


def _odd(pairs: list[Pair]) -> int:
    """Return the first pair that does not go with the one at the start."""
    return next(
        (i for i, pair in enumerate(pairs) if join_pairs([pairs[0], pair]) is None), len(pairs) - 1
    )


def _of_mappings(rows: list[Row], *, several: bool) -> FlatTree:
    """Read up to three mappings of arrays as parts, and more as batches, as with pairs."""
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
    if several and like_batches(batches.sizes):
        flat.batches = entries
    return flat


def _of_arrays(arrays: list[Entry]) -> FlatTree:
    """Name arrays by their positions; matrices of as many columns may be batches."""
    flat = FlatTree({f"array {i}": array for i, array in enumerate(arrays)}, named=False)
    tall = all(array.ndim > 1 and not is_text(array) for array in arrays)
    if tall and like_batches([len(array) for array in arrays]):
        whole = joined(arrays)
        flat.batches = None if whole is None else {"array": whole}
    return flat


def named_pair(pair: Pair) -> dict[str, Entry]:
    """Return two arrays by name: labels are those with fewer columns or 0/1, else the second."""
    first, second = pair
    if first.shape == second.shape and is_binary(first) and not is_binary(second):
        return {SECOND_ARRAY: first, FIRST_ARRAY: second}
    if first.size < second.size and second.ndim == 2:
        return {SECOND_ARRAY: first, FIRST_ARRAY: second}
    return {FIRST_ARRAY: first, SECOND_ARRAY: second}
