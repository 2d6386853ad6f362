"""Labels from a second file: matched by the names of the rows, or row by row."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice, Refused
from core.readers.formats.contents import Contents, Entry, id_text, is_text, is_whole
from core.readers.predictions.labels import label_matrix, with_gaps
from core.readers.predictions.names import bare_name, class_names, counts_up, folded
from core.readers.predictions.parts import (
    INDEX_NAMES,
    Role,
    SplitArrays,
    ambiguous,
    counted,
    label_like,
    listed,
    name_entry,
)
from core.readers.predictions.result import (
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
    if part.ids is not None and label_list.ids is not None:
        # The row of the label file for each row of the scores.
        row_ids, known = part.ids.tolist(), label_list.ids.tolist()
        _refuse_twice(row_ids, "the scores")
        row_ids, known = cut_alike(row_ids, known)
        at = {name: row for row, name in enumerate(known)}
        if len(at) < len(known):
            needed = set(row_ids)
            _refuse_twice([name for name in known if name in needed], "the label file")
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
    one = len(labels) == 1
    matrix = entries[labels[0]] if one else label_matrix({n: entries[n] for n in labels})
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
