"""Rows that belong together, and rows that count several times: which column says so.

A column of the scores or of the labels, a column of a table of its own, which is joined by the
names of the rows, or these names themselves.
"""

import re
from collections.abc import Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import NO_DATE, Dates, Groups, Members, Votes, Weights
from core.readers.formats.contents import Contents, Entry, id_text, is_text, text_array
from core.readers.predictions.join import cut_alike, row_names
from core.readers.predictions.options import ID_STEM, ReadOptions, split_names
from core.readers.predictions.parts import SplitArrays, ambiguous, counted, listed
from core.readers.predictions.roles import (
    DATE_NAME,
    GROUP_NAME,
    MEMBERS_NAME,
    SETS,
    SPLITS,
    VOTES_NAME,
    WEIGHT_NAME,
    Role,
    name_entry,
    words_of,
)

GROUP, WEIGHT, VOTES, MEMBERS = "group", "weight", "votes", "members"
ROLES: Final = {GROUP: Role.GROUP, WEIGHT: Role.WEIGHT}
EXPORTED: Final = {GROUP: ("groups", GROUP_NAME), WEIGHT: ("weights", WEIGHT_NAME)}
EMPTY: Final = {"", "nan", "na", "n/a", "<na>", "null", "none"}
STEM: Final = re.compile(r"(.+)[_-]\d+")


@dataclass(frozen=True)
class LabelAndTableFiles:
    """What comes with a file of scores: tables of their own are by ``group`` and ``weight``."""

    labels: Contents | None = None
    tables: Mapping[str, Contents] = field(default_factory=dict)

    def options(self, options: ReadOptions) -> ReadOptions:
        """Return the choices that concern the scores and the labels, not the tables."""
        return replace(options, **dict.fromkeys(self.tables))  # type: ignore[arg-type]


@dataclass(frozen=True)
class _ColumnCells:
    """What a column says of each row."""

    name: str
    values: Entry
    notices: tuple[Notice, ...] = ()


def chosen_roles(contents: Contents, options: ReadOptions) -> dict[str, Role]:
    """Return the entries that hold groups or weights: nothing else is read from them.

    Raises
    ------
    Refused
        AMBIGUOUS_KEYS: one is chosen for something else, too.
    """
    roles: dict[str, Role] = {}
    for option, role in ROLES.items():
        key = _key(contents, option, options)
        if key is not None:
            for other in ("scores_key", "labels_key", "correct_key"):
                names = getattr(options, other)
                if names is not None and key in (names, *split_names(names)):
                    both = f"--{option} and with --{other.replace('_', '-')}"
                    raise ambiguous(f"{key!r} is named with {both}", "choose two columns")
            roles |= dict.fromkeys(_named(contents, key), role)
            if getattr(options, option) is None:
                roles[EXPORTED[option][1]] = role
    exported = ((VOTES_NAME, VOTES, Role.VOTES), (MEMBERS_NAME, MEMBERS, Role.MEMBERS))
    for name, key, role in exported:
        if name in contents.entries and not contents.table:
            roles |= dict.fromkeys((name, *_named(contents, key)), role)
    if DATE_NAME in contents.entries and not contents.table:
        roles[DATE_NAME] = Role.DATE
    return roles


def without_chosen(contents: Contents, options: ReadOptions) -> Contents:
    """Return contents without the entries that hold groups or weights."""
    chosen = chosen_roles(contents, options)
    remaining = {name: entry for name, entry in contents.entries.items() if name not in chosen}
    return replace(contents, entries=remaining)


def _key(contents: Contents, option: str, options: ReadOptions) -> str | None:
    """Return what names the column: the user's choice, or what an exported run is said to hold."""
    chosen: str | None = getattr(options, option)
    key, name = EXPORTED[option]
    return key if chosen is None and name in contents.entries and not contents.table else chosen


def _named(contents: Contents, key: str) -> list[str]:
    """Return the entries that a key names: of arrays one for each part, as test_patient."""
    if contents.table:
        return [key] if key in contents.entries else []
    rest = _without_split(key)
    names = [name for name in contents.entries if not name.startswith(SETS)]
    return [n for n in names if n == key or (rest and _without_split(n) == rest)]


def _without_split(name: str) -> list[str]:
    return [word for word in words_of(name) if word not in SPLITS]


def _split_in(name: str) -> str | None:
    return next((SPLITS[word] for word in words_of(name) if word in SPLITS), None)


def attach_groups(
    part: SplitArrays, added: LabelAndTableFiles, options: ReadOptions
) -> tuple[SplitArrays, tuple[Notice, ...]]:
    """Return the part with its groups and weights, where they were chosen.

    Raises
    ------
    Refused
        AMBIGUOUS_KEYS: there is no such column. GROUPS, WEIGHTS: rows without an entry, names with
        several, or values that will not do. LENGTH_MISMATCH.
    """
    notices: tuple[Notice, ...] = ()
    cells = _cells(GROUP, part, added, options)
    if cells is not None:
        values = [str(value).strip() for value in id_text(cells.values).tolist()]
        missing = [row for row, value in enumerate(values) if value.casefold() in EMPTY]
        if missing:
            what = (
                f"{len(missing)} of {counted(len(values), 'row')} {_have(missing)} no {cells.name}"
            )
            raise Refused("GROUPS", what, "give every row a group", part.row(missing[0]))
        part = replace(part, groups=Groups.of(cells.name, values))
        notices += cells.notices
    cells = _cells(WEIGHT, part, added, options)
    if cells is not None:
        numbers = np.full(len(cells.values), np.nan)
        for at, value in enumerate(cells.values.tolist()):
            with suppress(ValueError):  # what is no number is refused by its row
                numbers[at] = float(value)
        bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0.0)))
        if bad.size:
            row = int(bad[0])
            cell = str(cells.values[row])[:60]
            what = f"{counted(bad.size, 'row')} {_have(bad)} no weight in {cells.name}: {cell!r}"
            remedy = "give every row a number that is not negative"
            raise Refused("WEIGHTS", what, remedy, part.row(row))
        part = replace(part, weights=Weights.of(cells.name, numbers))
        notices += cells.notices
    if part.groups is not None and part.weights is not None:
        # Where only one group counts, nothing tells how far it may be off.
        counted_rows = part.weights.of_row > 0.0
        if np.unique(part.groups.of_row[counted_rows]).size < 2:
            what = f"Every row with a {part.weights.name} above 0 is of one {part.groups.name}"
            remedy = "give rows of at least two groups a weight above 0, or choose no groups"
            raise Refused("GROUPS", what, remedy)
    votes = _exported(part, VOTES, VOTES_NAME, 2)
    if votes is not None:
        part = replace(part, votes=Votes.of(votes.name, votes.values.astype(np.float64)))
    members = _exported(part, MEMBERS, MEMBERS_NAME, 3)
    if members is not None and members.values.dtype.kind == "f":
        of_row = cast("npt.NDArray[np.floating]", members.values)
        part = replace(part, members=Members(members.name, of_row))
    return part, notices


def _exported(part: SplitArrays, key: str, called: str, ndim: int) -> _ColumnCells | None:
    """Return what an exported run holds; votes of any other file are chosen for themselves."""
    contents = part.contents
    values = _own(part, key) if called in contents.entries and not contents.table else None
    named = values is not None and contents.entries[called].size > 0
    if values is None or not named or values.ndim != ndim or is_text(values):
        return None
    return _ColumnCells(str(contents.entries[called].reshape(-1)[0]), values)


def attach_dates(
    parts: Sequence[SplitArrays], added: LabelAndTableFiles, roles: Mapping[str, str]
) -> tuple[list[SplitArrays], tuple[Notice, ...]]:
    """Return the parts with the first column of dates, of the scores or else of the labels.

    `roles` say what each entry of the scores is used for.
    """
    contents, labels = parts[0].contents, added.labels
    free = [n for n in contents.entries if roles.get(n) in (Role.DATE, Role.IDS) and n != DATE_NAME]
    names = [n for n in free if name_entry(n, contents.entries[n]).role is Role.DATE]
    if not names and labels is not None and labels.headed:
        names = [n for n, e in labels.entries.items() if name_entry(n, e).role is Role.DATE]
    if not names:
        return list(parts), ()
    key = names[0]
    own = contents.entries.get(DATE_NAME) if not contents.table else None
    called = str(own.reshape(-1)[0]) if own is not None and own.size else key or "unnamed"
    dated = []
    for part in parts:
        table = part.contents.table
        entry = part.contents.entries.get(key) if table else _own(part, key)
        rows = part.rows if table else None
        if entry is None and labels is not None:
            entry, rows = labels.entries.get(key), part.label_rows
        dates = None
        if entry is not None and entry.ndim == 1:
            # Day and month are told apart by all cells of the column, so rows are taken then.
            dates = Dates.of(called, [str(cell).strip() for cell in id_text(entry).tolist()])
        if dates is not None and rows is not None:
            dates = dates.take(rows.astype(np.int64))
        n = len(part.scores) if part.labels is None else len(part.labels)
        fits = dates is not None and dates.of_row.size == n
        dated.append(replace(part, dates=dates if fits else None))
    spare = [n for n in names if _without_split(n) != _without_split(key)]
    texts = [f"dates not used: {listed(spare)}"] if spare else []
    known = [part.dates for part in dated if part.dates is not None]
    if known:
        of_row = np.concatenate([dates.of_row for dates in known])
        months = np.sort(of_row[of_row != NO_DATE]).view("datetime64[us]").astype("datetime64[M]")
        span = " to ".join(dict.fromkeys(str(month) for month in (*months[:1], *months[-1:])))
        text = f"dates in {called} ({span}) are kept with the run"
        blank = of_row.size - months.size
        texts.insert(0, f"{text}; {counted(blank, 'row')} without one" if blank else text)
    else:
        texts.insert(0, f"dates in {called} are not kept: write every day as 2021-03-31")
    return dated, tuple(Notice(NoticeCode.DATED, text) for text in texts)


def _have(items: Sized) -> str:
    return "has" if len(items) == 1 else "have"


def _cells(
    option: str, part: SplitArrays, added: LabelAndTableFiles, options: ReadOptions
) -> _ColumnCells | None:
    """Return what the chosen column says of each row; None where none was chosen."""
    table = added.tables.get(option)
    key = getattr(options, option) if table else _key(part.contents, option, options)
    if key is None:
        return None
    if table is not None:
        # A column of a table of its own, joined to the rows by their names.
        location = f"table of {option}s"
        if not table.table:
            what = f"The content is {table.format}, not a table"
            raise _refusal(option, what, "give a CSV, TSV or Parquet file", location)
        if key not in table.entries:
            what = f"--{option} names {key!r}, which is not in the table"
            raise ambiguous(what, f"use one of {listed(list(table.entries))}", location)
        column, column_name = _flat(option, key, table.entries[key]), key or "unnamed"
        others = {name: entry for name, entry in table.entries.items() if name != key}
        own, ids = row_names(part, replace(table, entries=others), options)
        if options.in_order:
            return _ColumnCells(column_name, _in_order(part, column))
        if own is None or ids is None:
            text = f"{column_name} was matched by row order: nothing names the rows in both files"
            notice = Notice(NoticeCode.KEYS_GUESSED, text)
            return _ColumnCells(column_name, _in_order(part, column), (notice,))
        return _ColumnCells(column_name, column[_partners(option, own, ids, column)])
    values = _own(part, key)
    if values is None and added.labels is not None and key in added.labels.entries:
        entry = added.labels.entries[key]
        values = entry if part.label_rows is None else entry[part.label_rows]
    if values is None and option == GROUP and key == ID_STEM:
        if part.ids is None:
            what = f"--group {ID_STEM} needs names of rows, and nothing names them"
            raise Refused("GROUPS", what, "name the column with --id-column")
        return _ColumnCells(ID_STEM, stems(part.ids))
    if values is None:
        labels = {} if added.labels is None else added.labels.entries
        names = [*part.contents.entries, *labels]
        what = f"--{option} names {key!r}, which is not there"
        raise ambiguous(what, f"use one of {listed(list(dict.fromkeys(names)))}")
    name = key or "unnamed"
    if getattr(options, option) is None:  # of an exported run: what it was called there
        name = str(part.contents.entries[EXPORTED[option][1]].reshape(-1)[0])
    return _ColumnCells(name, _flat(option, key, values))


def _own(part: SplitArrays, key: str) -> Entry | None:
    contents = part.contents
    if not contents.table:
        fitting = [n for n in _named(contents, key) if _split_in(n) in (part.split, None)]
        fitting.sort(key=lambda name: _split_in(name) is None)
        return contents.entries[fitting[0]] if fitting else None
    entry = contents.entries.get(key)
    return entry if entry is None or part.rows is None else entry[part.rows]


def _refusal(option: str, what: str, remedy: str, location: str = "") -> Refused:
    code = "GROUPS" if option == GROUP else "WEIGHTS"
    return Refused(code, what, remedy, location)


def _flat(option: str, key: str, values: Entry) -> Entry:
    if values.size != (len(values) if values.ndim else 1):
        what = f"{key} has several values a row: shape {values.shape}"
        raise _refusal(option, what, "give one value for each row")
    return values.reshape(-1)


def stems(ids: Entry) -> Entry:
    """Return names without a suffix and without the number after the last _ or -."""
    bare = [re.sub(r"\.\w{1,5}$", "", str(name).strip()) for name in ids.tolist()]
    matches = ((name, STEM.fullmatch(name)) for name in bare)
    return text_array([match[1] if match else name for name, match in matches])


def _in_order(part: SplitArrays, column: Entry) -> Entry:
    n = len(part.scores) if part.labels is None else len(part.labels)
    if len(column) == n:
        return column
    if part.rows is not None and len(column) == len(next(iter(part.contents.entries.values()))):
        taken: Entry = column[part.rows]
        return taken
    what = f"The scores have {counted(n, 'row')}, the table {len(column)}"
    remedy = "name the rows in both files, or give one line for each row in the same order"
    raise Refused("LENGTH_MISMATCH", what, remedy)


def _partners(option: str, own: Entry, ids: Entry, column: Entry) -> Entry:
    """Return for each row its line in the table; a name may come again with the same value."""
    row_ids, known = cut_alike(own.tolist(), ids.tolist())
    needed, cells = set(row_ids), id_text(column) if is_text(column) else column
    at: dict[object, int] = {}
    clashes = []
    for line, name in enumerate(known):
        first = at.setdefault(name, line)
        if name in needed and cells[first] != cells[line]:
            clashes.append(str(name))
    if clashes:
        names = list(dict.fromkeys(clashes))
        what = (
            f"{counted(len(names), 'name')} {_have(names)} different values in the table: "
            f"{listed(names)}"
        )
        raise _refusal(option, what, "give every name one value")
    missing = [str(name) for name in row_ids if name not in at]
    if missing:
        what = f"{len(missing)} of {len(row_ids)} rows are not in the table: {listed(missing)}"
        raise _refusal(option, what, "add them, or check the columns that name the rows")
    rows: Entry = np.array([at[name] for name in row_ids])
    return rows
