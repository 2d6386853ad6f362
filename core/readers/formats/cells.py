"""Cells of columns of text: names, or numbers with a gap or a slip among them."""

import re
from dataclasses import replace

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, Entry, is_text, text_array
from core.readers.formats.encoding import is_number
from core.readers.predictions.parts import listed
from core.readers.predictions.roles import Role, name_entry, words_of

SAMPLE = 1_000
NUMBERS = np.full(1, np.nan)  # stands for a column that holds numbers
NUMBER = re.compile(r"[+-]?(\d[\d,]*(\.\d*)?|\.\d+)(e[+-]?\d+)?")
PERCENT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)")
PERCENT_WORDS = {"percent", "percentage", "pct", "prozent"}
MISSING = {"na", "n/a", "nan", "null", "none", "-", "."}


def is_broken(name: str, entry: Entry, classes: set[str]) -> bool:
    """Whether a column of text is one of numbers with a gap or a slip: a class, not names."""
    role = name_entry(name, entry).role
    if role is not Role.UNUSED and name_entry(name, NUMBERS).role is Role.UNUSED:
        return False  # its name asks for text
    if role is Role.UNUSED and name.strip().casefold() in classes:
        return True
    cells = entry.tolist()
    # What somebody meant as a number: also 1,200.5, or digits of another script.
    numbers = sum(NUMBER.fullmatch(cell.strip().lower()) is not None for cell in cells[:SAMPLE])
    enough = 0 if role is Role.UNUSED else len(cells[:SAMPLE]) / 2
    return numbers > enough and not all(_is_plain(cell) for cell in cells)


def _is_plain(cell: str) -> bool:
    return cell.isascii() and is_number(cell)


def fractions(contents: Contents, *, divide: bool) -> Contents:
    """Return contents whose columns of percent are fractions, as cells or their header say so.

    Columns of one role have one unit: where one of them is above 1, a rare class is percent, too.
    Text of fractions in formats that have numbers is a number, too. Without `divide` the signs
    alone are taken off. Where some cells have one and others none, the
    column stays text; so it does where a cell is empty, which is refused by its row.
    """
    entries, signed, called, below_one = dict(contents.entries), [], [], []
    percent: dict[str, Role] = {}  # whose names say percent, and whose numbers may be; no labels
    for name, entry in entries.items() if contents.headed else ():
        says = "%" in name or not PERCENT_WORDS.isdisjoint(words_of(name))
        if not says or entry.dtype.kind not in "fiu" or not entry.size:
            continue
        role = name_entry(name, entry).role
        within = np.isfinite(entry).all() and entry.min() >= 0 and entry.max() <= 100
        if within and role not in (Role.LABELS, Role.CORRECT, Role.IDS):
            percent[name] = role
    above = {role for name, role in percent.items() if entries[name].max() > 1}
    for name, entry in entries.items():
        if not is_text(entry):
            if name in percent:
                if percent[name] not in above:
                    below_one.append(name)
                    continue
                numbers = entry.astype(np.float64)
                entries[name] = numbers / 100.0 if divide else numbers
                called.append(name)
            continue
        cells = [str(c).strip() for c in entry.reshape(-1).tolist()]
        blank = {cell for cell in cells if not cell or cell.lower() in MISSING}
        bare = [cell.removesuffix("%").rstrip() for cell in cells if cell not in blank]
        typed = contents.format != "csv" and any(mark in c for c in cells for mark in ".eE")
        if typed and entry.ndim == 1 and all(is_number(c) for c in cells):  # numbers as text
            entries[name] = np.array([float(cell) for cell in cells])
            continue
        if not bare or not all(c.endswith("%") for c in cells if c not in blank):
            continue
        if not any("." in cell for cell in bare):
            bare = [cell.replace(",", ".") for cell in bare]
        if all(PERCENT.fullmatch(cell) for cell in bare):
            end = "e-2" if divide else ""
            bare_cells = iter(bare)
            values = ["" if cell in blank else float(f"{next(bare_cells)}{end}") for cell in cells]
            made = text_array([str(value) for value in values]) if blank else np.array(values)
            entries[name] = made.reshape(entry.shape)
            signed.append(name)
    notices = list(contents.notices)
    for names, what in ((signed, "numbers with percent signs in"), (called, "percent by name in")):
        done = "divided by 100" if divide else "taken off"
        if names and (divide or names is signed):
            notices.append(Notice(NoticeCode.UNITS, f"{what} {listed(names)}: {done}"))
    below = frozenset(below_one)
    return replace(contents, entries=entries, notices=tuple(notices), below_one=below)


def words_in(entry: Entry) -> set[str]:
    """Return the cells of a column as names that columns may have, in folded case."""
    return {str(cell).strip().casefold() for cell in entry.reshape(-1).tolist()}


def refuse_text(name: str, entry: Entry, contents: Contents) -> None:
    """Refuse a column of scores whose cells are not all numbers.

    Raises
    ------
    Refused
        NONFINITE: an empty cell. DTYPE: anything else.
    """
    if not is_text(entry):
        return
    row = next((i for i, cell in enumerate(entry.tolist()) if not _is_plain(cell)), 0)
    location = f"{contents.row(row)}, column {name}"
    cell = str(entry[row])
    code = "NONFINITE" if not cell.strip() or cell.strip().lower() in MISSING else "DTYPE"
    what = f"{cell[:40]!r} is not a number"
    raise Refused(code, what, "fill in or remove the row, or name the columns of scores", location)
