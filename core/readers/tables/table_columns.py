"""Columns of a table with their roles, settled step by step from names, choices and values."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from core.errors import Notice
from core.readers.formats.contents import Contents, Entry, is_text, is_whole
from core.readers.formats.text import NUMBERS, is_broken, words_in
from core.readers.predictions.groups import chosen_roles
from core.readers.predictions.parts import (
    CLASS_WORDS,
    IDS,
    ISSUE,
    LABELS,
    QUALITY,
    SPLITS,
    NamedEntry,
    Role,
    ambiguous,
    listed,
    name_entry,
    truths,
    words_of,
)
from core.readers.predictions.result import Question, ReadOptions, split_names

MANY_ROWS = 20  # from which fractions are no accident
REMEDY = "name the columns of scores with --scores-key, as a list with commas"


def pick_scores(columns: Mapping[str, Entry], classes: set[str]) -> tuple[list[str], bool]:
    """Return the columns of scores, and whether their names show that they belong together.

    Columns hold numbers without another role; one with a bad cell is text. `classes` are names that
    the labels tell, in folded case.

    Raises Refused AMBIGUOUS_KEYS: some column may be no score.
    """
    names = list(columns)
    called = [name for name in names if name.strip().casefold() in classes]
    alike: dict[str, list[str]] = {}  # by one beginning up to a separator
    numbered: dict[str, dict[int, str]] = {}  # by what stands before their numbers
    for name in names:
        start = re.match(r"[^_\-.:]+[_\-.:]", name)
        if start:
            alike.setdefault(start[0], []).append(name)
        end = re.fullmatch(r"(.*?)(\d{1,9})", name.strip())
        if end:
            numbered.setdefault(end[1], {})[int(end[2])] = name
    # With all the numbers from 0, or from 1.
    counted = [
        list(by_number.values())
        for by_number in numbered.values()
        if sorted(by_number) in (list(range(len(by_number))), list(range(1, len(by_number) + 1)))
    ]
    families = [f for f in (*counted, called, *alike.values()) if len(f) > 1]
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
        for name in names:
            others = [other for other in names if other != name]
            if others and _rest_differs(columns, others, [name]):
                what = f"{name} is unlike the other columns of numbers ({listed(others)})"
                raise ambiguous(what, REMEDY)
    return names, False


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
    if len(names) < 2 or any(is_text(columns[n]) or not _in_unit(columns[n]) for n in names):
        return False
    total = np.zeros(len(columns[names[0]]))
    for name in names:
        total += columns[name].astype(np.float64)
    return bool(np.all(np.abs(total - 1.0) <= min(0.05, 0.002 + 0.0005 * len(names))))


class TableColumns:
    """Columns with their roles, which begin as names, choices and values suggest."""

    def __init__(self, contents: Contents, options: ReadOptions, classes: set[str]) -> None:
        self.contents = contents
        self.entries = contents.entries
        self.notices: list[Notice] = []
        self.aside = chosen_roles(contents, options)
        text = {n: e for n, e in self.entries.items() if is_text(e) and n not in self.aside}
        self.classes = classes.union(*(words_in(e) for e in text.values()))
        self.broken = {n for n, e in text.items() if is_broken(n, e, self.classes)}
        self.named = []
        for name, entry in self.entries.items():
            # One of numbers with a bad cell among them counts as numbers.
            item = name_entry(name, NUMBERS if name in self.broken else entry)
            item = _by_values(contents, item)
            if item.role is Role.ASIDE and name.strip().casefold() in self.classes:
                item = NamedEntry(name, Role.UNUSED)  # a class may be called like no score
            self.named.append(item)
        self.options = options
        self.guesses: list[Question] = []
        self.listed: dict[Role, list[str]] = {}
        for name, aside in self.aside.items():
            self.set_role([name], aside)
        choices = (
            (options.scores_key, Role.SCORES, "--scores-key"),
            (options.labels_key, Role.LABELS, "--labels-key"),
            (options.correct_key, Role.CORRECT, "--correct-key"),
            (options.prediction_key, Role.PREDICTED, "--prediction-key"),
            (options.id_column, Role.IDS, "--id-column"),
        )
        for key, role, option in choices:
            if key is not None:
                several = role in (Role.SCORES, Role.LABELS)
                chosen = self._match(key, option, several=several)
                if role is Role.SCORES:  # a confidence stays one, and no other competes
                    confident = self.of(Role.CONFIDENCE)
                    self.set_role([*self.of(role), *confident], Role.UNUSED)
                    role = Role.CONFIDENCE if chosen[0] in confident and len(chosen) == 1 else role
                self.set_role(self.of(role), Role.UNUSED)
                self.set_role(chosen, role)
                self.listed[role] = chosen

    def of(self, *roles: Role) -> list[str]:
        """Names of the columns with a role, in the order of the file or of the user's list."""
        names = [item.name for item in self.named if item.role in roles]
        order = [name for role in roles for name in self.listed.get(role, [])]
        return [n for n in order if n in names] + [n for n in names if n not in order]

    def set_role(self, names: list[str], role: Role) -> None:
        """Give columns another role."""
        some = set(names)
        self.named = [replace(i, role=role) if i.name in some else i for i in self.named]

    def numbers(self) -> list[str]:
        """Names of the unused columns of numbers."""
        unused = self.of(Role.UNUSED)
        flat = [n for n in unused if self.entries[n].ndim == 1]
        return [n for n in flat if n in self.broken or not is_text(self.entries[n])]

    def _match(self, key: str, option: str, *, several: bool) -> list[str]:
        names = list(self.entries)
        if key in names:
            return [key]
        keys = split_names(key)
        if several and all(part in names for part in keys):
            return keys
        begins = [name for name in names if name.startswith(key)]
        if several and begins and key:
            return begins
        raise ambiguous(
            f"{option} names {key!r}, which is not there", f"use one of {listed(names)}"
        )


def _is_option(contents: Contents, entry: Entry) -> bool:
    """Whether C or I in every row, under the name of correctness, is the right one of options."""
    letters = set(entry.tolist())
    flat = {n: e for n, e in contents.entries.items() if is_text(e) and e.ndim == 1}
    answers = [e for n, e in flat.items() if name_entry(n, e).role is Role.PREDICTED]
    single = (all(len(str(cell).strip()) < 2 for cell in e.tolist()) for e in answers)
    return len(letters) == 1 and letters <= {"C", "I", "c", "i"} and any(single)


def _of_cleanlab(contents: Contents, name: str) -> bool:
    """Whether a column says how likely a given label is, which stands beside it."""
    entry = contents.entries[name]
    if QUALITY.fullmatch(name):
        fits = entry.dtype.kind == "f" and bool(entry.min() >= 0 and entry.max() <= 1)
    elif ISSUE.fullmatch(name) and truths(entry) is not None:
        fits = any(n.endswith("_score") or QUALITY.fullmatch(n) for n in contents.entries)
    else:
        return False
    others = {n for n in contents.entries if not QUALITY.fullmatch(n) and not ISSUE.fullmatch(n)}
    roles = {name_entry(n, contents.entries[n]).role for n in others}
    return fits and Role.LABELS in roles


def _by_values(contents: Contents, item: NamedEntry) -> NamedEntry:
    """Columns may be called like anything: a role needs a name, and labels whole values."""
    entry = contents.entries[item.name]
    if not contents.headed:
        return NamedEntry(item.name, Role.UNUSED, None, item.split)
    if item.role is Role.CORRECT and is_text(entry) and _is_option(contents, entry):
        return NamedEntry(item.name, Role.LABELS)
    judged = f"is_{item.name.removesuffix('_score')}_issue" in contents.entries
    if (item.name.endswith("_score") and judged) or _of_cleanlab(contents, item.name):
        return NamedEntry(item.name, Role.ASIDE)
    plain = set(words_of(item.name)) <= LABELS | CLASS_WORDS | IDS | set(SPLITS)
    if item.role is Role.LABELS and not plain and not is_text(entry) and not is_whole(entry):
        return NamedEntry(item.name, Role.UNUSED, None, item.split)
    return item
