"""Batches of one part, as loops over a loader collect them, joined along their rows in order."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core import defaults
from core.errors import Refused
from core.readers.formats.contents import Entry, is_text
from core.readers.predictions.roles import SPLITS

Pair = tuple[Entry, Entry]


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

    Raises
    ------
    Refused
        PICKLE_LIMIT: more than memory holds, as when a file names one array many times.
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
    columns = {key: _arrays([row.get(key) for row in rows]) for key in rows[0]}
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


def _arrays(values: Sequence[object]) -> list[Entry]:
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
        arrays = _arrays(value) if isinstance(value, list | tuple) else []
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
        k: _arrays(v)
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
    if not out or (len(out) + len(flat) == 1 and rows and (sum(sizes),) not in rows):
        return mapping, 0
    return {**mapping, **out, **flat}, len(sizes)


def flat_stacks(stacks: Mapping[str, Entry]) -> dict[str, Entry] | None:
    """Return matrices with a row for each batch as lists, if there are two of one shape."""
    shapes = {stack.shape for stack in stacks.values()}
    if len(stacks) < 2 or len(shapes) > 1 or any(s[0] < 2 or s[1] < 2 for s in shapes):
        return None
    return {name: stack.reshape(-1) for name, stack in stacks.items()}
