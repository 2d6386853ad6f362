"""Labels from a second file: matched by the names of the rows, or row by row."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from core.errors import Notice, Refused
from core.readers.contents import Contents, Entry, id_text, is_text, is_whole, stacked
from core.readers.options import ReadOptions
from core.readers.parts import Part, ambiguous, counted, label_like, listed
from core.readers.roles import Role, name_entry


@dataclass(frozen=True)
class LabelList:
    """Labels of a second file: (M,) or (M, L), their names, the rows' names and their column."""

    labels: Entry
    name: str
    ids: Entry | None
    id_column: str | None
    notices: tuple[Notice, ...] = ()


def attach_labels(
    part: Part, other: Contents, options: ReadOptions
) -> tuple[Part, tuple[Notice, ...]]:
    """Return the part with labels from a second file.

    Parameters
    ----------
    part : Part
        Scores, perhaps with names of rows.
    other : Contents
        The second file.
    options : ReadOptions
        `labels_key` and `id_column` choose columns there.

    Raises
    ------
    Refused
        AMBIGUOUS_KEYS or LENGTH_MISMATCH, naming rows that have no label or two.
    """
    _check_id_column(part, other, options)
    found = _label_list(part, other, options)
    if part.ids is None:
        part = replace(part, ids=_same_column(part, found.id_column))
    notices = list(found.notices)
    labels, name = found.labels, f"{found.name} of the label file"
    if part.ids is not None and found.ids is not None:
        rows, said = _match(part.ids, found.ids)
        return replace(part, labels=labels[rows], labels_name=name), (*notices, *said)
    n = _row_count(part, labels)
    if len(labels) != n:
        what = (
            f"{counted(n, 'row')} of scores and {counted(len(labels), 'label')} in the label file"
        )
        remedy = "give one label for each row, or an id column in both files (--id-column)"
        raise Refused("LENGTH_MISMATCH", what, remedy)
    if part.ids is not None or found.ids is not None:
        text = "only one of the two files names its rows: labels were matched by row order"
        notices.append(Notice("KEYS_GUESSED", text))
    return replace(part, labels=labels, labels_name=name, ids=part.ids), tuple(notices)


def _check_id_column(part: Part, other: Contents, options: ReadOptions) -> None:
    key = options.id_column
    if key is not None and key not in part.contents.entries and key not in other.entries:
        what = f"--id-column names {key!r}, which is in neither file"
        raise ambiguous(what, f"use one of {listed(list(other.entries))}")


def _same_column(part: Part, name: str | None) -> Entry | None:
    """Names of the rows from the column that names them in the label file, if it is here too."""
    entry = part.contents.entries.get(name) if name and part.contents.table else None
    if entry is None or not (part.contents.headed and is_text(entry) | is_whole(entry)):
        return None
    return id_text(entry if part.rows is None else entry[part.rows])


def _row_count(part: Part, labels: Entry) -> int:
    """Rows of the scores; the other axis when only that one fits the labels."""
    shape = part.scores.shape
    flipped = not part.contents.table and len(shape) == 2 and shape[0] != len(labels) == shape[1]
    return int(shape[1] if flipped else shape[0])


def _match(ids: Entry, others: Entry) -> tuple[Entry, list[Notice]]:
    """Return for each row of the scores the row of its label."""
    wanted, known = ids.tolist(), others.tolist()
    _refuse_twice(wanted, "the scores")
    if not set(wanted) & set(known):
        wanted, known = [_base(i) for i in wanted], [_base(i) for i in known]
        _refuse_twice(wanted, "the scores, without folders")
    at = {name: row for row, name in enumerate(known)}
    if len(at) < len(known):
        _refuse_twice([name for name in known if name in set(wanted)], "the label file")
    missing = [name for name in wanted if name not in at]
    if missing:
        what = f"{len(missing)} of {len(wanted)} rows have no label: {listed(missing)}"
        raise Refused("LENGTH_MISMATCH", what, "add their labels, or check the id columns")
    rows = np.array([at[name] for name in wanted])
    extra = len(known) - len(wanted)
    if extra:
        text = f"the label file holds {len(known)} rows; {extra} not in the scores were left out"
        return rows, [Notice("KEYS_GUESSED", text)]
    return rows, []


def _base(name: object) -> str:
    return str(name).replace("\\", "/").rpartition("/")[2]


def _refuse_twice(names: list[object], where: str) -> None:
    twice = [str(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        what = f"{len(twice)} row names occur more than once: {listed(twice)}"
        raise Refused("LENGTH_MISMATCH", what, "give every row its own name", where)


def _label_list(part: Part, other: Contents, options: ReadOptions) -> LabelList:
    if not other.table:
        return _from_arrays(part, other, options)
    entries = dict(other.entries)
    ids = _id_column(part, other, options)
    names = [n for n in entries if n != ids]
    labels, notices = _label_columns(part, other, names, options)
    matrix = entries[labels[0]] if len(labels) == 1 else stacked([entries[n] for n in labels])
    unused = [n for n in names if n not in labels]
    if unused:
        shown = listed([name or "(no name)" for name in unused])
        notices.append(Notice("KEYS_GUESSED", f"not used in the label file: {shown}"))
    column = None if ids is None else id_text(entries[ids])
    return LabelList(matrix, listed(labels), column, ids, tuple(notices))


def _id_column(part: Part, other: Contents, options: ReadOptions) -> str | None:
    """Return the column that names rows: chosen, called so, or holding names we know."""
    if options.id_column in other.entries:
        return options.id_column
    named = [
        n for n, e in other.entries.items() if other.headed and name_entry(n, e).role is Role.IDS
    ]
    text = [n for n, e in other.entries.items() if is_text(e)]
    if part.ids is not None:
        known = {_base(i) for i in part.ids.tolist()}
        for name in dict.fromkeys(named + text + list(other.entries)):
            values = {_base(v) for v in id_text(other.entries[name]).tolist()}
            if len(values & known) > 0.5 * len(known) and name != options.labels_key:
                return name
    unique = [n for n in text if len(set(other.entries[n].tolist())) == len(other.entries[n]) > 1]
    return next(iter(named or unique), None)


def _label_columns(
    part: Part, other: Contents, names: list[str], options: ReadOptions
) -> tuple[list[str], list[Notice]]:
    if options.labels_key is not None:
        asked = [key.strip() for key in options.labels_key.split(",")]
        chosen = [options.labels_key] if options.labels_key in names else asked
        if not all(name in names for name in chosen):
            what = f"--labels-key names {options.labels_key!r}, which is not in the label file"
            raise ambiguous(what, f"use one of {listed(names)}")
        return chosen, []
    wanted = part.class_names
    if len(wanted) > 1 and set(wanted) <= set(names):
        return list(wanted), []
    called = [
        n for n in names if other.headed and name_entry(n, other.entries[n]).role is Role.LABELS
    ]
    if len(called) == 1:
        return called, []
    return _unnamed_labels(part, other, called or names)


def _unnamed_labels(
    part: Part, other: Contents, names: list[str]
) -> tuple[list[str], list[Notice]]:
    width = part.scores.shape[1] if part.scores.ndim == 2 else 1
    numbers = [n for n in names if not is_text(other.entries[n])]
    if len(names) == 1:
        return names, []
    if len(numbers) == width > 1:
        if not part.class_names:
            return numbers, []
        text = f"labels have no names; their {width} columns were taken in the order of the scores"
        return numbers, [Notice("KEYS_GUESSED", f"{text}: {listed(part.class_names)}")]
    if len(numbers) == 1 and width >= 1:
        return numbers, [Notice("KEYS_GUESSED", f"labels from {numbers[0]}")]
    what = f"labels may be {listed(names)}" if names else "no column of labels was found"
    raise ambiguous(what, "name the column with --labels-key", "label file")


def _from_arrays(part: Part, other: Contents, options: ReadOptions) -> LabelList:
    entries = other.entries
    ids = [n for n, e in entries.items() if name_entry(n, e).role is Role.IDS]
    ids = [options.id_column] if options.id_column in entries else ids  # type: ignore[list-item]
    named = [n for n, e in entries.items() if name_entry(n, e).role is Role.LABELS]
    like = [n for n, e in entries.items() if label_like(e, set(part.scores.shape[:2]))]
    rest = [n for n in entries if n not in ids]
    key = options.labels_key
    choices = (
        [key] if key in entries else next((c for c in (named, rest, like) if len(c) == 1), rest)
    )
    if len(choices) != 1 or choices[0] is None:
        names = listed(list(entries))
        raise ambiguous(f"labels may be any of {names}", "name one with --labels-key", "label file")
    id_column = next(iter(ids), None)
    column = None if id_column is None else id_text(entries[id_column])
    return LabelList(entries[choices[0]], choices[0], column, id_column)
