"""Which columns of numbers are scores, where no name says so: those that belong together."""

import re
from collections.abc import Iterator, Mapping

import numpy as np

from core.readers.formats.contents import Entry, is_text, is_whole
from core.readers.predictions.parts import ambiguous, listed

MANY_ROWS = 20  # from which fractions are no accident
REMEDY = "name the columns of scores with --scores-key, as a list with commas"


def pick_scores(columns: Mapping[str, Entry], classes: set[str]) -> tuple[list[str], bool]:
    """Return the columns of scores, and whether their names show that they belong together.

    Parameters
    ----------
    columns : mapping of str to array
        Columns of numbers without another role, at least one; one with a bad cell is text.
    classes : set of str
        Names of classes that the labels tell, in folded case.

    Raises
    ------
    Refused
        AMBIGUOUS_KEYS: some column may be no score.
    """
    names = list(columns)
    counted = list(_counted(names))
    called = [name for name in names if name.strip().casefold() in classes]
    families = [f for f in (*counted, called, *_alike(names)) if len(f) > 1]
    named = any(len(family) == len(names) for family in families) or called == names
    if named or sum_to_one(columns, names):
        return names, named
    for family in families:
        rest = [name for name in names if name not in family]
        if counted == [family] or _rest_differs(columns, family, rest):
            return family, True
    if families:
        what = f"Scores may be {listed(families[0])}, or all of {listed(names)}"
        raise ambiguous(what, REMEDY)
    if not any(is_text(e) or not np.isfinite(e).all() for e in columns.values()):
        sole = [name for name in names if not is_whole(columns[name])]
        if len(sole) == 1 and _in_unit(columns[sole[0]]) and len(columns[sole[0]]) >= MANY_ROWS:
            return sole, False  # beside whole numbers: answers, counts, names of rows
        _refuse_odd(columns)
    return names, False


def _counted(names: list[str]) -> Iterator[list[str]]:
    """Columns with one beginning and all the numbers from 0, or from 1."""
    by_prefix: dict[str, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)(\d{1,9})", name.strip())
        if match:
            by_prefix.setdefault(match[1], {})[int(match[2])] = name
    for numbered in by_prefix.values():
        if max(numbered) - min(numbered) == len(numbered) - 1 and min(numbered) in (0, 1):
            yield list(numbered.values())


def _alike(names: list[str]) -> Iterator[list[str]]:
    """Columns with one beginning up to a separator."""
    by_prefix: dict[str, list[str]] = {}
    for name in names:
        match = re.match(r"[^_\-.:]+[_\-.:]", name)
        if match:
            by_prefix.setdefault(match[0], []).append(name)
    yield from by_prefix.values()


def _rest_differs(columns: Mapping[str, Entry], family: list[str], rest: list[str]) -> bool:
    """Whether the values, too, say that the rest is something else."""
    if any(is_text(columns[name]) for name in family):
        return False
    others = [columns[name] for name in rest if not is_text(columns[name])]
    if all(entry.dtype.kind in "biu" for entry in others):
        return any(columns[name].dtype.kind == "f" for name in family)
    if sum_to_one(columns, family):
        return True
    return all(_in_unit(columns[n]) for n in family) and not any(_in_unit(e) for e in others)


def _refuse_odd(columns: Mapping[str, Entry]) -> None:
    """Refuse columns of which one is unlike all others."""
    names = list(columns)
    for name in names:
        others = [other for other in names if other != name]
        if others and _rest_differs(columns, others, [name]):
            what = f"{name} is unlike the other columns of numbers ({listed(others)})"
            raise ambiguous(what, REMEDY)


def _in_unit(entry: Entry) -> bool:
    return bool(entry.size and entry.min() >= 0 and entry.max() <= 1)


def last_that_sum_to_one(columns: Mapping[str, Entry]) -> list[str]:
    """Return the last columns that sum to one, behind the features that a batch was made from."""
    names = list(columns)
    blocks = (names[start:] for start in range(len(names) - 1))
    return next((block for block in blocks if sum_to_one(columns, block)), [])


def last_of_fractions(columns: Mapping[str, Entry]) -> list[str]:
    """Return the last column if it alone holds fractions, behind those of a batch's features."""
    numbers = {n: e for n, e in columns.items() if not is_text(e)}
    unit = [n for n, e in numbers.items() if e.dtype.kind == "f" and e.size and _in_unit(e)]
    alone = len(unit) == 1 and unit == list(columns)[-1:] and len(columns) > 2
    return unit if alone and numbers[unit[0]].size >= MANY_ROWS else []


def sum_to_one(columns: Mapping[str, Entry], names: list[str]) -> bool:
    """Return whether columns sum to one in every row, within the rounding of few digits."""
    if len(names) < 2 or not all(_numbers_in_unit(columns[name]) for name in names):
        return False
    total = np.zeros(len(columns[names[0]]))
    for name in names:
        total += columns[name].astype(np.float64)
    return bool(np.all(np.abs(total - 1.0) <= min(0.05, 0.002 + 0.0005 * len(names))))


def _numbers_in_unit(entry: Entry) -> bool:
    return not is_text(entry) and _in_unit(entry)
