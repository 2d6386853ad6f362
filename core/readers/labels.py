"""Labels in all their forms, as whole numbers: columns, one-hot rows, names; never guessed away."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.arrays import Int
from core.errors import Notice, Refused
from core.readers.contents import Entry, is_text
from core.readers.parts import listed

RowName = Callable[[int], str]
ANY_CLASS = 100_000  # most classes of a file that states answers only: each gets a name
TRUTHS = {"true": 1, "false": 0, "yes": 1, "no": 0}


@dataclass(frozen=True)
class Labels:
    """Labels as numbers.

    Attributes
    ----------
    values : (N,) or (N, L) int64
        Class indices, or 0/1 for each label.
    one_hot : bool
        Whether they were rows with exactly one 1.
    names : tuple of str
        Class names found among the labels themselves.
    notices : tuple of Notice
        What was assumed.
    """

    values: Int
    one_hot: bool = False
    names: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()


def read_labels(
    entry: Entry, *, n_columns: int, class_names: tuple[str, ...], row_name: RowName
) -> Labels:
    """Return labels as numbers.

    Parameters
    ----------
    entry : array
        (N,), (N, 1), (N, L) numbers, truth values or text, as they lie in the file.
    n_columns : int
        Columns of the scores; 1 for a binary score.
    class_names : tuple of str
        Names of the columns, when the file gives them.
    row_name : function of int to str
        How a message names a row.

    Raises
    ------
    Refused
        LABEL_NOT_INTEGER, LABEL_SOFT, LABEL_RANGE or CLASSES.
    """
    flat = entry.reshape(-1) if entry.ndim == 2 and entry.shape[1] == 1 else entry
    if flat.ndim == 1:
        if is_text(flat):
            return _named(flat, n_columns, class_names, row_name)
        return _numbered(_whole(flat, row_name), n_columns, class_names, row_name)
    if flat.ndim != 2 or is_text(flat):
        what = f"labels of shape {entry.shape}"
        raise Refused("LABEL_NOT_INTEGER", what, "give one label, or one row of 0/1, for each row")
    return _matrix(flat, n_columns, row_name)


def _whole(flat: Entry, row_name: RowName) -> Int:
    if flat.dtype.kind == "f":
        numbers = flat.astype(np.float64)
        bad = ~(np.isfinite(numbers) & (np.abs(numbers) < 2**53) & (numbers == np.floor(numbers)))
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            shown = "NaN" if np.isnan(numbers[row]) else f"{numbers[row]:g}"
            what = f"label {shown} is not a whole number"
            raise Refused("LABEL_NOT_INTEGER", what, "give class numbers from 0", row_name(row))
    if flat.dtype == np.uint64 and flat.size and int(flat.max()) >= 2**63:
        row = int(np.flatnonzero(flat >= np.uint64(2**63))[0])  # as int64 it would turn negative
        what = f"label {flat[row]} is beyond every number of classes"
        raise Refused("LABEL_RANGE", what, "number the classes from 0", row_name(row))
    return flat.astype(np.int64)


def _numbered(
    values: Int, n_columns: int, class_names: tuple[str, ...], row_name: RowName
) -> Labels:
    """Take numbers as the names of columns where these are numbers too, else as positions."""
    numbers = _numbers(class_names)
    found, places = np.unique(values, return_inverse=True)
    if numbers and found.size and set(found.tolist()) <= set(numbers):
        if numbers == list(range(len(numbers))):
            return Labels(values)
        text = "label numbers were matched to the numbers in the column names"
        at = np.array([numbers.index(v) for v in found.tolist()], dtype=np.int64)
        return Labels(at[places.reshape(-1)], notices=(Notice("KEYS_GUESSED", text),))
    _check_range(values, max(2, n_columns), row_name)
    if not numbers:
        return Labels(values)
    text = "labels are not the numbers in the column names; they were taken as positions from 0"
    return Labels(values, notices=(Notice("KEYS_GUESSED", text),))


def _numbers(names: tuple[str, ...]) -> list[int]:
    """Return the numbers that names are, or end in after one shared beginning; else nothing."""
    for pattern in (r"()([+-]?\d{1,17})", r"(.*?)(\d{1,17})"):
        found = [re.fullmatch(pattern, name.strip()) for name in names]
        parts = [match.groups() for match in found if match]
        numbers = [int(number) for _, number in parts]
        if len(set(numbers)) == len(names) and len({shared for shared, _ in parts}) == 1:
            return numbers
    return []


def _check_range(values: Int, n_classes: int, row_name: RowName) -> None:
    if values.size == 0:
        return
    low, high = int(values.min()), int(values.max())
    if low >= 0 and high < n_classes:
        return
    row = int(np.flatnonzero((values < 0) | (values >= n_classes))[0])
    wanted = f"0..{n_classes - 1}"
    what = f"label {values[row]} where {wanted} was expected (found {low}..{high})"
    remedy = "number the classes from 0, in the order of the columns"
    if low == 1 and high == n_classes:
        what += "; labels look 1-based"
        remedy = "subtract 1 from every label and read the file again"
    elif low == -1 and high == 1 and n_classes == 2 and not (values == 0).any():
        what += "; labels look like -1 and +1"
        remedy = "write 0 for -1 and read the file again"
    elif low < 0:
        what += "; -1 often marks rows that belong to no class"
        remedy = "remove rows without a class; out-of-distribution sets belong to their own page"
    raise Refused("LABEL_RANGE", what, remedy, row_name(row))


def _matrix(entry: Entry, n_columns: int, row_name: RowName) -> Labels:
    """0/1 rows: one-hot when each holds exactly one 1, else one answer for each label."""
    numbers = entry.astype(np.float64)
    odd = ~((numbers == 0) | (numbers == 1))
    if not odd.any():
        hot = numbers.sum(axis=1)
        if n_columns == entry.shape[1] > 1 and np.all(hot == 1):
            return Labels(np.asarray(numbers.argmax(axis=1), dtype=np.int64), one_hot=True)
        return Labels(numbers.astype(np.int64))
    row, column = (int(i) for i in np.argwhere(odd)[0])
    value, where = numbers[row, column], f"{row_name(row)} col {column}"
    soft = np.isfinite(numbers).all() and np.allclose(numbers.sum(axis=1), 1.0, atol=1e-3)
    if (soft and numbers.min() >= 0) or (0 < value < 1):
        remedy = "give the class each row belongs to, for example the largest"
        raise Refused("LABEL_SOFT", f"soft labels ({value:g}) are not supported", remedy, where)
    if not np.isfinite(value) or value != np.floor(value):
        what = f"label {value:g} is not 0 or 1"
        raise Refused("LABEL_NOT_INTEGER", what, "give 0 or 1 for each label", where)
    what = f"label {value:g} where 0 or 1 was expected"
    raise Refused("LABEL_RANGE", what, "decide uncertain labels (-1) before the audit", where)


def _named(flat: Entry, n_columns: int, class_names: tuple[str, ...], row_name: RowName) -> Labels:
    """Labels that are text: numbers in text, names of columns, or names in alphabetical order."""
    cells = [str(cell).strip() for cell in flat.tolist()]
    blank = next((i for i, cell in enumerate(cells) if not cell), None)
    if blank is not None:
        raise Refused(
            "LABEL_NOT_INTEGER", "an empty label", "fill in or remove the row", row_name(blank)
        )
    folded = {name.strip().casefold() for name in class_names}
    key: Callable[[str], str] = str.casefold if len(folded) == len(class_names) else str
    at = {key(name.strip()): index for index, name in enumerate(class_names)}
    if len(at) == len(class_names) and any(key(cell) in at for cell in set(cells)):
        return Labels(_indices(cells, class_names, at, key, row_name))
    distinct = sorted(set(cells))
    if all(_is_whole(cell) for cell in distinct):
        values = np.array([int(cell) for cell in cells], dtype=np.int64)
        return _numbered(values, n_columns, class_names, row_name)
    numeric = next((i for i, cell in enumerate(cells) if _is_float(cell)), None)
    if numeric is not None and all(_is_float(c) for c in distinct):
        what = f"label {cells[numeric]!r} is not a whole number"
        raise Refused("LABEL_NOT_INTEGER", what, "give class numbers from 0", row_name(numeric))
    if class_names and not _counted(class_names):
        what = f"labels ({listed(distinct)}) are none of the columns ({listed(class_names)})"
        raise Refused("LABEL_RANGE", what, "name columns and labels alike", row_name(0))
    return _alphabetical(cells, distinct, max(2, n_columns))


def _counted(names: tuple[str, ...]) -> bool:
    """Whether names only count the columns, from 0 or 1."""
    numbers = _numbers(names)
    return numbers in (list(range(len(names))), list(range(1, len(names) + 1)))


def _indices(
    cells: list[str],
    names: tuple[str, ...],
    at: dict[str, int],
    key: Callable[[str], str],
    row_name: RowName,
) -> Int:
    unknown = next((i for i, cell in enumerate(cells) if key(cell) not in at), None)
    if unknown is not None:
        what = f"label {cells[unknown][:60]!r} is none of the columns ({listed(names)})"
        raise Refused("LABEL_RANGE", what, "name columns and labels alike", row_name(unknown))
    return np.array([at[key(cell)] for cell in cells], dtype=np.int64)


def _alphabetical(cells: list[str], distinct: list[str], n_classes: int) -> Labels:
    lowered = {cell.lower() for cell in distinct}
    if n_classes == 2 and lowered <= set(TRUTHS):
        return Labels(np.array([TRUTHS[cell.lower()] for cell in cells], dtype=np.int64))
    if len(distinct) != n_classes:
        what = (
            f"{len(distinct)} different names among the labels ({listed(distinct)}) for"
            f" {n_classes} columns that are not named after them"
        )
        raise Refused("CLASSES", what, "name the columns after the classes, or give class numbers")
    at = {name: index for index, name in enumerate(distinct)}
    text = f"labels are names; columns were taken in alphabetical order: {listed(distinct)}"
    values = np.array([at[cell] for cell in cells], dtype=np.int64)
    return Labels(values, names=tuple(distinct), notices=(Notice("KEYS_GUESSED", text),))


def _is_whole(cell: str) -> bool:
    return cell.lstrip("+-").isdecimal() and len(cell) < 18


def _is_float(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
