"""What comes with scores: labels of a second file, groups, weights and dates of the rows.

Labels are matched by the names of the rows, or row by row. Rows that belong together, or count
several times, are told by a column of the scores or of the labels, by a column of a table of its
own, or by the names of the rows. What only seems to say so is offered, never chosen.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence, Sized
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final, cast

import numpy as np
import numpy.typing as npt

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.predictions import GROUP_NOUNS as BELONG
from core.predictions import NO_DATE, Dates, Groups, Members, Votes, Weights
from core.readers.formats.contents import (
    Contents,
    Entry,
    SplitArrays,
    id_text,
    is_text,
    is_whole,
    text_array,
)
from core.readers.predictions.labels import label_matrix, with_gaps
from core.readers.predictions.names import (
    DATE_NAME,
    GROUP_NAME,
    INDEX_NAMES,
    MEMBERS_NAME,
    SETS,
    SPLITS,
    VOTES_NAME,
    WEIGHT_NAME,
    Role,
    ambiguous,
    bare_name,
    class_names,
    counted,
    counts_up,
    folded,
    label_like,
    listed,
    name_entry,
    words_of,
)
from core.readers.predictions.result import (
    ID_STEM,
    Inspection,
    Question,
    ReadChoice,
    ReadOptions,
    split_names,
    undecided,
)

LARGE = 2**20  # beyond which a number that is a label or an age need not be thought of


@dataclass(frozen=True, kw_only=True)
class LabelList:
    """Labels of a second file: (M,) or (M, L), their names, the rows' names and their column.

    `shared` is the column of the scores that holds the same names of rows.
    """

    labels: Entry
    name: str
    ids: Entry | None
    id_column: str | None
    notices: tuple[Notice, ...] = ()
    shared: str | None = None


def attach_labels(
    part: SplitArrays, other: Contents, options: ReadOptions
) -> tuple[SplitArrays, tuple[Notice, ...]]:
    """Return the part with labels from a second file.

    `labels_key` and `id_column` choose columns there; `in_order` takes rows as they come.

    Raises Refused AMBIGUOUS_KEYS or LENGTH_MISMATCH, naming rows that have no label or two.
    """
    key = options.id_column
    if key is not None and key not in part.contents.entries and key not in other.entries:
        what = f"--id-column names {key!r}, which is in neither file"
        raise ambiguous(what, f"use one of {listed(list(other.entries))}")
    label_list = _label_list(part, other, options)
    text = f"{part.labels_name} was not used: the label file counts"
    notices = [] if part.labels is None else [Notice(NoticeCode.KEYS_GUESSED, text)]
    notices += label_list.notices
    labels, name = label_list.labels, f"{label_list.name} of the label file"
    part = replace(part, labels_name=name)
    if options.in_order:
        _check_counts(part, labels)
        return replace(part, labels=labels), tuple(notices)
    if part.ids is None or label_list.shared:
        part = replace(part, ids=_same_column(part, label_list.shared or label_list.id_column))
    # Joined by name, whatever the order; else by order, and that is asked or said.
    if part.ids is not None and label_list.ids is not None:
        # The row of the label file for each row of the scores.
        row_ids, known = part.ids.tolist(), label_list.ids.tolist()
        _refuse_twice(row_ids, "the scores")
        row_ids, known = cut_alike(row_ids, known)
        at = {name: row for row, name in enumerate(known)}
        if len(at) < len(known):
            needed = set(row_ids)
            _refuse_twice([name for name in known if name in needed], "the label file")
        # A row without a label is refused by name: dropped rows are often the hard ones.
        missing = [str(name) for name in row_ids if name not in at]
        if missing:
            what = f"{len(missing)} of {len(row_ids)} rows have no label: {listed(missing)}"
            raise Refused("LENGTH_MISMATCH", what, "add their labels, or check the id columns")
        rows = np.array([at[name] for name in row_ids])
        extra = len(known) - len(row_ids)
        if extra:
            text = f"the label file holds {len(known)} rows"
            text += f"; {extra} not in the scores were left out"
            notices.append(Notice(NoticeCode.KEYS_GUESSED, text))
        if np.array_equal(rows, np.arange(len(rows))) and _numbers_rows(label_list.ids):
            part = replace(part, guesses=_orders(part, None))  # both only count their rows
        elif label_list.shared is not None and len(labels) == len(rows):
            part = replace(part, guesses=_orders(part, label_list))
        return replace(part, labels=labels[rows], label_rows=rows), tuple(notices)
    _check_counts(part, labels)
    if label_list.ids is not None and _numbers_rows(label_list.ids):
        rows = label_list.ids.astype(np.int64).argsort()
        text = "the label file numbers the rows: labels were put into the order of their numbers"
        notices.append(Notice(NoticeCode.KEYS_GUESSED, text))
        part = replace(part, labels=labels[rows], label_rows=rows)
        return replace(part, guesses=_orders(part, label_list)), tuple(notices)
    if part.ids is not None or label_list.ids is not None:
        text = "only one of the two files names its rows: labels were matched by row order"
        notices.append(Notice(NoticeCode.KEYS_GUESSED, text))
    part = replace(part, guesses=_orders(part, None))
    return replace(part, labels=labels), tuple(notices)


def _orders(part: SplitArrays, numbered: LabelList | None) -> tuple[Question, ...]:
    by_order = ReadChoice("labels in the order of the rows", {"in_order": True})
    if numbered is None:
        what = "Nothing but the order of rows, or their numbers, pairs the two files"
        return (*part.guesses, undecided(what, by_order))
    column = numbered.id_column or ""
    by_number = ReadChoice(f"labels by {column or 'the unnamed column'}", {"id_column": column})
    what = "The label file numbers its rows, and the scores do not"
    if numbered.shared is not None:
        column = column or "the column without a name"
        what = f"{column} holds the same values in both files, and nothing says that it names rows"
    return (*part.guesses, undecided(what, by_number, by_order))


def _numbers_rows(ids: Entry) -> bool:
    """Whether names of rows are all the numbers from 0, each once."""
    cells = ids.tolist()
    return all(str(cell).isdecimal() for cell in cells) and sorted(map(int, cells)) == list(
        range(len(cells))
    )


def _check_counts(part: SplitArrays, labels: Entry) -> None:
    # Rows of the scores; the other axis where only that one fits the labels.
    shape = part.scores.shape
    flipped = not part.contents.table and len(shape) == 2 and shape[0] != len(labels) == shape[1]
    n = int(shape[1] if flipped else shape[0])
    if len(labels) != n:
        what = (
            f"The scores have {counted(n, 'row')}, the label file {counted(len(labels), 'label')}"
        )
        remedy = "give one label for each row, or an id column in both files (--id-column)"
        raise Refused("LENGTH_MISMATCH", what, remedy)


def row_names(
    part: SplitArrays, other: Contents, options: ReadOptions
) -> tuple[Entry | None, Entry | None]:
    """Return the names of the rows, and those of a second file; None where nothing names them."""
    ids, shared = _id_columns(part, other, options)
    own = part.ids if part.ids is not None and not shared else _same_column(part, shared or ids)
    return own, None if ids is None else id_text(other.entries[ids])


def _same_column(part: SplitArrays, name: str | None) -> Entry | None:
    """Names of the rows from the column that names them in the other file, if it is here too."""
    entry = part.contents.entries.get(name) if name is not None and part.contents.table else None
    if entry is None or not (part.contents.headed and is_text(entry) | is_whole(entry)):
        return part.ids
    return id_text(entry if part.rows is None else entry[part.rows])


def cut_alike(row_ids: list[object], known: list[object]) -> tuple[list[object], list[object]]:
    """Return the names of both sides, cut until some of them are the same.

    Raises Refused LENGTH_MISMATCH: cut that short, different rows would have one name.
    """
    cuts = (
        (base_name, "folders"),
        (stem, "folders and suffixes"),
        (_plain, "folders, suffixes, case and leading zeros"),
    )
    for cut, without in cuts:
        if set(row_ids) & set(known):
            break
        _refuse_twice([cut(i) for i in dict.fromkeys(row_ids)], f"the scores, without {without}")
        row_ids, known = [cut(i) for i in row_ids], [cut(i) for i in known]
    return row_ids, known


def base_name(name: object) -> str:
    """Return the name of a file without its folders."""
    return str(name).replace("\\", "/").rpartition("/")[2]


def stem(name: object) -> str:
    """Return the name of a file without its folders and suffix."""
    base = base_name(name)
    return base.rpartition(".")[0] or base


def _plain(name: object) -> str:
    return folded(stem(name))


def _refuse_twice(names: list[object], location: str) -> None:
    twice = [str(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        what = f"{len(twice)} row names occur more than once: {listed(twice)}"
        raise Refused("LENGTH_MISMATCH", what, "give every row its own name", location)


def _label_list(part: SplitArrays, other: Contents, options: ReadOptions) -> LabelList:
    entries = dict(other.entries)
    if not other.table:
        id_names = [n for n, e in entries.items() if name_entry(n, e).role is Role.IDS]
        id_names = [str(options.id_column)] if options.id_column in entries else id_names
        called = [n for n, e in entries.items() if name_entry(n, e).role is Role.LABELS]
        like = [n for n, e in entries.items() if label_like(e, set(part.scores.shape[:2]))]
        rest = [n for n in entries if n not in id_names]
        keys: list[str | None] = [options.labels_key]
        if options.labels_key not in entries:
            keys = list(next((some for some in (called, rest, like) if len(some) == 1), rest))
        if len(keys) != 1 or keys[0] is None:
            what = f"Labels may be any of {listed(list(entries))}"
            raise ambiguous(what, "name one with --labels-key", "label file")
        key = next(iter(id_names), None)
        column = None if key is None else id_text(entries[key])
        return LabelList(labels=entries[keys[0]], name=keys[0], ids=column, id_column=key)
    ids, shared = _id_columns(part, other, options)
    names = [n for n in entries if n != ids]
    labels, notices = _label_columns(part, other, names, options)
    single = len(labels) == 1
    matrix = entries[labels[0]] if single else label_matrix({n: entries[n] for n in labels})
    unused = [n for n in names if n not in labels]
    if unused:
        shown = listed([name or "(no name)" for name in unused])
        notices.append(Notice(NoticeCode.KEYS_GUESSED, f"not used in the label file: {shown}"))
    return LabelList(
        labels=matrix,
        name=listed(labels),
        ids=None if ids is None else id_text(entries[ids]),
        id_column=ids,
        notices=tuple(notices),
        shared=shared,
    )


def _id_columns(
    part: SplitArrays, other: Contents, options: ReadOptions
) -> tuple[str | None, str | None]:
    """Return the id columns of the label file and, if it is known, of this one."""
    if options.id_column in other.entries:
        same = options.id_column if options.id_column in part.contents.entries else None
        return options.id_column, same
    if part.contents.table and part.contents.headed and other.headed:
        # A column of each file may hold the same values, each once, whatever they are called.
        mine = {n: v for n, e in part.contents.entries.items() if (v := _key_values(e, part))}
        pairs = []
        for name, entry in other.entries.items():
            values = _key_values(entry, None)
            for own, known in mine.items() if values else ():
                if values == known or (_counts(values) and _counts(known)):
                    continue
                share = len(set(values) & set(known)) / min(len(values), len(known))
                # More than half of the smaller side: two columns of small
                # whole numbers overlap by accident.
                if share > 0.5 or (share > 0 and name == own and name not in part.scores_name):
                    pairs.append((name == own, share, name, own))
        if pairs:
            return max(pairs)[2:]
    matched = options.in_order
    if not matched and part.ids is not None:  # to a column that holds nearly all of them
        known_ids = {_plain(i) for i in part.ids.tolist()}
        matched = any(
            len(known_ids & {_plain(v) for v in id_text(column).tolist()}) > 0.5 * len(known_ids)
            for column in other.entries.values()
            if column.ndim == 1
        )
    if not matched:
        # Names of rows that were rounded: several rows share one where the scores have none.
        for name, entry in other.entries.items():
            column = part.contents.entries.get(name)
            if column is None or column.ndim != 1 or entry.dtype.kind != "f":
                continue
            if not np.array_equal(entry, np.floor(entry)):
                continue
            unique = len(_key_values(column, None)) == column.size
            # Large ids saved as floats lose their last digits, and neighbours become equal.
            n_twice = entry.size - np.unique(entry).size
            if n_twice and unique and np.abs(entry).max() > LARGE:
                what = f"{name} of the label file repeats {n_twice} values"
                what += ": it was rounded and no longer identifies the rows"
                remedy = "save the names of the rows as text, or say --in-order"
                raise Refused("LENGTH_MISMATCH", what, remedy, "label file")
    return _id_column(part, other, options), None


def _counts(values: list[str]) -> bool:
    """Whether values number the rows in their order, from 0 or 1."""
    start = {"0": 0, "1": 1}.get(values[0])
    return start is not None and values == [str(start + i) for i in range(len(values))]


def _key_values(entry: Entry, part: SplitArrays | None) -> list[str]:
    """Return the values of a column that could name rows: text or whole numbers, each once."""
    if entry.ndim != 1 or not (is_text(entry) or (entry.dtype.kind != "b" and is_whole(entry))):
        return []
    rows = entry if part is None or part.rows is None else entry[part.rows]
    values = [_plain(value) for value in id_text(rows).tolist()]
    return values if len(set(values)) == len(values) > 2 else []


def _id_column(part: SplitArrays, other: Contents, options: ReadOptions) -> str | None:
    """Return the column that names rows: chosen, called so, or holding names we know."""
    named = []
    for name, entry in other.entries.items() if other.headed else ():
        # An index of pandas names rows if it does more than count them in their order.
        index = name.strip().lower() in INDEX_NAMES and entry.ndim == 1 and entry.dtype.kind in "iu"
        index = index and np.unique(entry).size == entry.size
        index = index and not np.array_equal(entry, np.arange(entry.size))
        if index or name_entry(name, entry).role is Role.IDS:
            named.append(name)
    text = [n for n, e in other.entries.items() if is_text(e)]
    if part.ids is not None:
        known = {_plain(i) for i in part.ids.tolist()}
        for name in dict.fromkeys(named + text + list(other.entries)):
            values = {_plain(v) for v in id_text(other.entries[name]).tolist()}
            if len(values & known) > 0.5 * len(known) and name != options.labels_key:
                return name
    unique = [n for n in text if len(set(other.entries[n].tolist())) == len(other.entries[n]) > 1]
    return next(iter(named or unique), None)


def _label_columns(
    part: SplitArrays, other: Contents, names: list[str], options: ReadOptions
) -> tuple[list[str], list[Notice]]:
    if options.labels_key is not None:
        keys = split_names(options.labels_key)
        chosen = [options.labels_key] if options.labels_key in names else keys
        if not all(name in names for name in chosen):
            what = f"--labels-key names {options.labels_key!r}, which is not in the label file"
            raise ambiguous(what, f"use one of {listed(names)}")
        return chosen, []
    classes = part.class_names
    for cut in (list, lambda group: [bare_name(name) for name in group], class_names):
        # Columns that are called like the classes, in their order
        at = {folded(key): name for key, name in zip(cut(names), names, strict=True)}
        keys = [folded(key) for key in cut(list(classes))]
        if len(classes) > 1 and len(at) == len(names) and set(keys) <= set(at):
            return [at[key] for key in keys], []
    called = [
        n for n in names if other.headed and name_entry(n, other.entries[n]).role is Role.LABELS
    ]
    if len(called) == 1:
        return called, []
    names = called or names
    width = part.scores.shape[1] if part.scores.ndim == 2 else 1
    entries = other.entries
    numbers = [n for n in names if not is_text(entries[n]) or with_gaps(entries[n]) is not None]
    if len(names) == 1:
        return names, []
    # As many columns as scores: by name if both have names, by order only where one side has none.
    if len(numbers) == width > 1:
        if not part.class_names or counts_up(part.class_names):
            return numbers, []
        if other.headed and not counts_up(numbers):
            what = f"Columns of labels do not pair with those of scores by name: {listed(numbers)}"
            remedy = "name them alike, or list them in the order of the scores with --labels-key"
            shown = listed(part.class_names)
            raise Refused("CLASSES", f"{what}; scores are {shown}", remedy, "label file")
        text = f"labels have no names; their {width} columns were taken in the order of the scores"
        return numbers, [Notice(NoticeCode.KEYS_GUESSED, f"{text}: {listed(part.class_names)}")]
    if len(numbers) == 1 and width >= 1:
        return numbers, [Notice(NoticeCode.KEYS_GUESSED, f"labels from {numbers[0]}")]
    what = f"Labels may be {listed(names)}" if names else "No column of labels was found"
    raise ambiguous(what, "name the column with --labels-key", "label file")


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

    Raises Refused AMBIGUOUS_KEYS: one is chosen for something else, too.
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

    Raises Refused AMBIGUOUS_KEYS: there is no such column. GROUPS, WEIGHTS: rows without an entry,
    names with several, or values that will not do. LENGTH_MISMATCH.
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
        # Negative or missing weights have no meaning; 0 leaves a row out.
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


NAMING: Final = {"id", "ids", "no", "nr", "num", "number", "uid", "key", "code", "name", "index"}
WEIGHTS: Final = (
    {"weight"}, {"weights"}, {"sample", "weight"}, {"sample", "weights"}, {"sampling", "weight"},
    {"freq"}, {"frequency"}, {"count", "weight"},
)  # fmt: skip
FREE: Final = {str(role) for role in (Role.UNUSED, Role.ASIDE, Role.IDS, Role.GROUP, Role.INDEX)}
HEAD: Final = 10_000  # names looked at to tell whether their beginnings repeat
FEWEST: Final = 10  # beginnings of names: fewer are kinds of rows
DATE: Final = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./-]\d\d?[./-](\d{4}|\d\d)\b")
TOO_NARROW: Final = ", or intervals are too narrow where they are alike"
ROWS: Final = {"names", "cases", "studies", "series", "images", "films", "documents"}


@dataclass(frozen=True)
class GroupOffer:
    """A column that may be chosen as that of the groups."""

    key: str  # what `--group` takes
    groups: Groups  # those of the part that is audited
    noun: str  # what they are, in the plural
    names_rows: bool = False  # whether it is the column that names the rows

    @property
    def meant(self) -> bool:
        """Whether rows repeat on purpose; names of rows may also have been copied by mistake."""
        return not self.names_rows or self.noun not in ROWS

    @property
    def command(self) -> str:
        """What picks it on the command line."""
        return ReadChoice("", {"group": self.key}).command


def _group_offers(
    part: SplitArrays, added: LabelAndTableFiles, roles: dict[str, str], n_classes: int
) -> tuple[GroupOffer, ...]:
    """Return the columns that may say which rows of a part belong together."""
    alone = LabelAndTableFiles(added.labels)
    # Columns with a telling name, those of patients before those of sites.
    free = {n for n in part.contents.entries if roles.get(n, str(Role.UNUSED)) in FREE}
    names = [*free] if alone.labels is None else [*free, *alone.labels.entries]
    order = list(BELONG)
    named = [(order.index(word), name, word) for name in names if (word := _word(name))]
    offers_made = []
    for _, name, word in sorted(named):
        if part.contents.table:
            key = name
        else:
            # A key that names an array in every part: test_patient is patient there.
            words = words_of(name)
            inside = [other for other in words if other not in SPLITS]
            several = len(inside) < len(words) and part.split in SPLITS.values()
            key = "_".join(inside) if several else name
        offer = _offer(key, BELONG[word], part, alone)
        if offer is not None:
            offers_made.append(replace(offer, names_rows=roles.get(name) == str(Role.IDS)))
    ids = [name for name, role in roles.items() if role == str(Role.IDS)]
    if part.ids is not None and part.contents.table and len(ids) == 1 and not _word(ids[0]):
        # The column that names the rows, whatever it is called.
        offer = _offer(ids[0], "names", part, alone)
        offers_made += [] if offer is None else [replace(offer, names_rows=True)]
    # Names that repeat but for their last number, unless they are days: months are no groups.
    head = np.empty(0, object) if part.ids is None else part.ids[:HEAD]
    texts = [str(name).strip() for name in head.tolist()]
    cut, bare = stems(head).tolist(), [name.rpartition(".")[0] or name for name in texts]
    numbered = sum(stem != name for stem, name in zip(cut, bare, strict=True))
    repeat = numbered * 2 >= len(head) > len(set(cut))
    if repeat and not all(DATE.match(name) for name in texts):
        offer = _offer(ID_STEM, "groups", part, alone)
        if offer is not None and offer.groups.count > max(FEWEST - 1, 2 * n_classes):
            offers_made.append(offer)
    return tuple({offer.key: offer for offer in offers_made}.values())


def _offer(key: str, noun: str, part: SplitArrays, added: LabelAndTableFiles) -> GroupOffer | None:
    """Return the offer of a column whose values repeat, each row having one."""
    try:
        grouped, _ = attach_groups(part, added, ReadOptions(group=key))
    except Refused:
        return None
    groups = grouped.groups
    if groups is None or groups.of_row.size != len(part.scores):
        return None
    return GroupOffer(key, groups, noun) if groups.count < groups.of_row.size else None


def _word(name: str) -> str:
    """Return what a column's name says that rows belong to; nothing where it says anything else."""
    words = [word for word in words_of(name) if word not in NAMING and word not in SPLITS]
    word = words[0].removesuffix("id") if len(words) == 1 and not name.startswith(SETS) else ""
    singular = word.removesuffix("s")
    return word if word in BELONG else singular if singular in BELONG else ""


def with_offers(
    inspection: Inspection,
    part: SplitArrays,
    added: LabelAndTableFiles,
    roles: dict[str, str],
    n_classes: int,
) -> tuple[Inspection, tuple[GroupOffer, ...], list[Notice]]:
    """Return an inspection with what may be chosen as groups and weights, and what to say of it.

    `roles` say what each entry of the scores is used for. `n_classes` are those of which a row has
    one, as so many beginnings of names may be the classes; 0 where it may have several labels.
    """
    offers, tables, notices = _group_offers(part, added, roles, n_classes), added.tables, []
    meant = [offer for offer in offers if offer.meant]
    belonging = ""
    if meant and part.groups is None:
        by_stem, key = meant[0].key == ID_STEM, meant[0].key
        names = "row names suggest" if by_stem else f"the column {key} suggests"
        belonging = f"{names} {meant[0].groups.count:,} {meant[0].noun}"
        commands = " or ".join(offer.command for offer in meant[:3])
        text = f"{belonging}; group their rows with {commands}{TOO_NARROW}"
        notices.append(Notice(NoticeCode.GROUPS_OFFERED, text))
    # Only columns whose values repeat: a group of one row each changes nothing.
    groups = tuple(offer.key for offer in offers)
    if GROUP in tables:  # columns whose values come again
        flat = {n: e.tolist() for n, e in tables[GROUP].entries.items() if e.ndim == 1}
        groups = tuple(n for n, cells in flat.items() if 1 < len(set(cells)) < len(cells))
    if WEIGHT in tables:
        # What cannot be a weight is offered, too: choosing it says in which row and why.
        weights = [n for n, e in tables[WEIGHT].entries.items() if e.ndim == 1 and _like_weights(e)]
    else:
        entries = {**part.contents.entries, **(added.labels.entries if added.labels else {})}
        called = {n: e for n, e in entries.items() if set(words_of(n)) in WEIGHTS and e.ndim == 1}
        numbers = {n: e.astype(np.float64) for n, e in called.items() if not is_text(e)}
        weights = [n for n, e in numbers.items() if np.all(np.isfinite(e) & (e >= 0.0)) and e.any()]
    for option, columns, why in (
        (GROUP, groups, "each column has one value throughout, or another in every row"),
        (WEIGHT, weights, "no column holds numbers other than those of its lines"),
    ):
        if option in tables and not columns:
            text = f"nothing of the table of {option}s can be chosen: {why}"
            notices.append(Notice(NoticeCode.TABLE_UNFIT, text))
    return (
        replace(
            inspection, belonging=belonging, group_columns=groups, weight_columns=tuple(weights)
        ),
        offers,
        notices,
    )


def _like_weights(entry: Entry) -> bool:
    """Whether a column holds numbers, in most cells at least, but those that number its lines."""
    if is_text(entry):
        head = [str(cell).strip() for cell in entry[:HEAD].tolist()]
        return 2 * sum(cell.replace(".", "", 1).isdecimal() for cell in head) > len(head)
    first = float(entry[0]) if entry.size else 0.0
    lines = np.arange(entry.size) + first
    return first not in {0.0, 1.0} or entry.size < 2 or bool(np.any(entry != lines))
