"""Several rows for each name: one for each class, which become one, or one for each epoch."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice
from core.readers.formats.contents import Contents, Entry, id_text, is_binary, is_text, is_whole
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.parts import ambiguous, counted, listed
from core.readers.predictions.questions import ReadChoice, undecided
from core.readers.predictions.roles import CLASS_WORDS, LABELS, Role, name_entry, words_of

CATEGORIES: Final = {"category", "categories"}  # of questions, as often as of answers
BY_CLASS: Final = CLASS_WORDS | LABELS | {"tag", "species"}
EPOCHS: Final = (["epoch"], ["epochs"], ["step"], ["global", "step"], ["iteration"])
MOST_CLASSES: Final = 1_000
MOST_EPOCHS: Final = 6  # that are offered, from the last
ENOUGH: Final = 20  # changes from label to label that are the same in each epoch by no accident


def widened(contents: Contents) -> Contents:
    """Return a table with a row for each name, where it has one for each name and class.

    BigQuery ML writes such rows when its probabilities are unnested, and so do tidy data frames.
    Scores sum to one over the rows of a name, or a column of 0 and 1 says which classes are true;
    a column that is the same in all rows of a name is kept. Pairs of a case and its control have
    two rows for a name, too: what may be such rows stays as it is.
    """
    entries = contents.entries
    if not contents.table or not contents.headed or any(e.ndim != 1 for e in entries.values()):
        return contents
    fractions = [n for n, e in entries.items() if not is_text(e) and not is_whole(e)]
    keys = {n: e for n, e in entries.items() if n not in fractions}
    for by in (n for n in keys if set(words_of(n)) & BY_CLASS):
        classes = list(dict.fromkeys(id_text(keys[by]).tolist()))
        if not 1 < len(classes) <= min(MOST_CLASSES, len(keys[by]) // 2):
            continue
        if len(keys[by]) % len(classes):
            continue
        for name, entry in keys.items():
            if name != by and (is_text(entry) or name_entry(name, entry).role is Role.IDS):
                made = _wide(entries, name, (by, classes), fractions)
                if made is not None:
                    n_rows = len(next(iter(made.values())))
                    text = f"rows of one {by} each were put together: {n_rows} rows of "
                    notice = Notice(NoticeCode.KEYS_GUESSED, f"{text}{len(classes)} classes")
                    notices = (*contents.notices, notice)
                    return replace(contents, entries=made, first_line=0, notices=notices)
    return contents


def _wide(
    entries: Mapping[str, Entry], name: str, by: tuple[str, list[str]], fractions: list[str]
) -> dict[str, Entry] | None:
    """Return columns with a row for each name; None where not each has all classes."""
    key, classes = by
    numbered = all(re.fullmatch(r"-?\d{1,9}", c, re.ASCII) for c in classes)
    if numbered:
        classes = sorted(classes, key=int)
    rows = id_text(entries[name]).tolist()
    at = {row: place for place, row in enumerate(dict.fromkeys(rows))}
    if len(at) * len(classes) != len(rows):
        return None
    column = {word: place for place, word in enumerate(classes)}
    cells = zip(rows, id_text(entries[key]).tolist(), strict=True)
    places = np.array([at[row] * len(classes) + column[word] for row, word in cells])
    if np.unique(places).size < len(rows):
        return None
    order = np.argsort(places)
    grids = {n: e[order].reshape(len(at), len(classes)) for n, e in entries.items() if n != key}
    out = {n: grid[:, 0] for n, grid in grids.items() if np.all(grid == grid[:, :1])}
    scores = [n for n in fractions if n not in out]
    flags = {n: grid for n, grid in grids.items() if n not in {*out, *scores} and is_binary(grid)}
    flags = {n: grid for n, grid in flags.items() if not np.all(grid == grid[:1])}
    if len(scores) != 1 or len(flags) > 1 or not all(_says_true(n, entries[n]) for n in flags):
        return None
    sums = np.allclose(grids[scores[0]].sum(axis=1), 1.0, atol=0.01)
    many = len(classes) > 2
    stated = sums and any(_names_class(n, e, classes) for n, e in out.items() if n != name)
    if set(words_of(key)) & LABELS and not stated and (numbered or not many):
        return None  # the rows of a pair, each with its own label
    true = next(iter(flags.values()), None)
    if true is not None and sums and np.all(true.sum(axis=1) == 1):
        out["label"] = np.array(classes, dtype=object)[true.argmax(axis=1)]
    elif true is not None and many and not set(words_of(key)) & CATEGORIES:
        out |= {f"label.{word}": true[:, k] for word, k in column.items()}
    elif true is not None or not sums or not (many or stated):
        return None
    return out | {f"score.{word}": grids[scores[0]][:, k] for word, k in column.items()}


def _says_true(name: str, entry: Entry) -> bool:
    role = name_entry(name, entry).role
    return role is Role.LABELS or (role is Role.UNUSED and name.casefold().startswith("is_"))


def _names_class(name: str, entry: Entry, classes: list[str]) -> bool:
    """Whether a column says, for each name, which class is true."""
    named = name_entry(name, entry).role is Role.LABELS
    return named and set(id_text(entry).tolist()) <= set(classes)


def of_epoch(contents: Contents, options: ReadOptions) -> Contents:
    """Return the rows of one epoch, where a file holds the same rows at several.

    Raises
    ------
    Refused
        UNDECIDED: nobody said which, nor that the rows of a name belong together. AMBIGUOUS_KEYS:
        there is no such epoch.
    """
    name = next((n for n, e in contents.entries.items() if _counts_epochs(n, e)), "")
    ids = _same_rows(contents, name) if name and options.group is None else None
    if ids is None:
        if options.epoch is not None:
            what = "--epoch was given, and the file does not hold the same rows at several epochs"
            raise ambiguous(what, "drop --epoch")
        return contents
    epochs = contents.entries[name]
    values = [str(int(value)) for value in np.unique(epochs)]
    if options.epoch is None:
        rows = counted(len(epochs) // len(values), "row")
        choices = [
            ReadChoice(f"{name} {value}" + " (the last)" * (k == 0), {"epoch": value})
            for k, value in enumerate(values[::-1][:MOST_EPOCHS])
        ]
        if ids:
            choices.append(ReadChoice(f"all, grouped by {ids}", {"group": ids}))
        what = f"The file holds the same {rows} {len(values)} times ({name} {listed(values)})"
        raise undecided(what, *choices)
    if options.epoch not in values:
        what = f"--epoch names {options.epoch!r}, which is not there"
        raise ambiguous(what, f"use one of {listed(values)}")
    kept = np.flatnonzero(epochs == int(options.epoch))
    entries = {
        n: e[kept] if e.ndim and len(e) == len(epochs) else e for n, e in contents.entries.items()
    }
    return replace(contents, entries={n: e for n, e in entries.items() if n != name}, first_line=0)


def _counts_epochs(name: str, entry: Entry) -> bool:
    return words_of(name) in EPOCHS and entry.ndim == 1 and not is_text(entry) and is_whole(entry)


def _same_rows(contents: Contents, name: str) -> str | None:
    """Return what names the rows that all epochs hold, empty where only labels show it; or None."""
    epochs = contents.entries[name]
    values, counts = np.unique(epochs, return_counts=True)
    if not len(values) > 1 or len(set(counts.tolist())) > 1 or counts[0] < 2:
        return None
    flat = {n: e for n, e in contents.entries.items() if e.shape == epochs.shape and n != name}
    roles = {n: name_entry(n, e).role for n, e in flat.items()}
    ids = [n for n, role in roles.items() if role is Role.IDS or "idx" in words_of(n)]
    labels = [n for n, role in roles.items() if role in (Role.LABELS, Role.CORRECT)]
    for key in ids:
        order = np.lexsort((id_text(flat[key]).astype(str), epochs))
        names, *true = (
            id_text(flat[n])[order].reshape(len(values), -1)
            for n in (key, *(n for n in labels if roles[n] is Role.LABELS))
        )
        unique = len(set(names[0].tolist())) == names.shape[1]
        if unique and all(np.all(grid == grid[:1]) for grid in (names, *true)):
            return key
    if ids or not labels:
        return None
    order = np.argsort(epochs, kind="stable")
    grids = [id_text(flat[n])[order].reshape(len(values), -1) for n in labels]
    changes = max(np.count_nonzero(grid[0, 1:] != grid[0, :-1]) for grid in grids)
    same = all(np.all(grid == grid[:1]) for grid in grids)
    return "" if same and changes >= ENOUGH else None
