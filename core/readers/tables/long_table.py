"""Several rows for each name: for each class, which become one; for each epoch or setting."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice
from core.readers.formats.contents import (
    Contents,
    Entry,
    id_text,
    is_binary,
    is_text,
    is_whole,
    text_array,
)
from core.readers.predictions.names import (
    CLASS_WORDS,
    LABELS,
    Role,
    ambiguous,
    counted,
    listed,
    name_entry,
    words_of,
)
from core.readers.predictions.result import ReadChoice, ReadOptions, undecided

CATEGORIES: Final = {"category", "categories"}  # of questions, as often as of answers
BY_CLASS: Final = CLASS_WORDS | LABELS | {"tag", "species"}
EPOCHS: Final = (["epoch"], ["epochs"], ["step"], ["global", "step"], ["iteration"])
SETTINGS: Final = {  # each of which scored all rows
    "config", "model", "learner", "classifier", "algorithm", "method", "seed", "run", "setting",
    "prompt", "template", "temperature", "penalty", "mixture", "trees", "cost", "neighbors",
}  # fmt: skip
CARET: Final = {"rowIndex", "Resample", "pred", "obs", "weights"}  # beside settings and classes
MOST_CLASSES: Final = 1_000
MOST_RUNS: Final = 6  # that are offered; of epochs the last
ENOUGH: Final = 20  # names, or changes from label to label, that all epochs share by no accident


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
    # A column that names classes, and another whose every value comes once with each of them.
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
    # Each pair of row and class once, or it is no such table.
    places = np.array([at[row] * len(classes) + column[word] for row, word in cells])
    if np.unique(places).size < len(rows):
        return None
    order = np.argsort(places)
    grids = {n: e[order].reshape(len(at), len(classes)) for n, e in entries.items() if n != key}
    out = {n: grid[:, 0] for n, grid in grids.items() if np.all(grid == grid[:, :1])}
    scores = [n for n in fractions if n not in out]
    flags = {n: grid for n, grid in grids.items() if n not in {*out, *scores} and is_binary(grid)}
    flags = {n: grid for n, grid in flags.items() if not np.all(grid == grid[:1])}
    for name in flags:
        role = name_entry(name, entries[name]).role
        if role is not Role.LABELS and not (role is Role.UNUSED and name[:3].casefold() == "is_"):
            return None
    if len(scores) != 1 or len(flags) > 1:
        return None
    sums = np.allclose(grids[scores[0]].sum(axis=1), 1.0, atol=0.01)
    many = len(classes) > 2
    # A column may say, for each name, which class is true.
    true_names = [n for n, e in out.items() if n != name and name_entry(n, e).role is Role.LABELS]
    stated = sums and any({*id_text(out[n]).tolist()} <= {*classes} for n in true_names)
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


def of_epoch(contents: Contents, options: ReadOptions) -> Contents:
    """Return the rows of one epoch, or setting, where a file holds the same rows at several.

    Raises Refused UNDECIDED: nobody said which, nor that the rows of a name belong together.
    AMBIGUOUS_KEYS: there is no such epoch.
    """
    # Runs must be complete: each setting has as many rows as the others, and the same ones.
    for names in _run_names(contents) if options.group is None else ():
        cells = [id_text(contents.entries[name]).tolist() for name in names]
        if len(set(Counter(zip(*cells, strict=True)).values())) > 1:
            continue
        which = text_array([" ".join(row) for row in zip(*cells, strict=True)])
        ids = _same_rows(contents, names, which)
        if ids is not None:
            break
    else:
        if options.epoch is not None:
            what = "--epoch was given, and the file does not hold the same rows at several epochs"
            raise ambiguous(what, "drop --epoch")
        return contents
    epochs = words_of(names[0]) in EPOCHS
    values = [str(value) for value in dict.fromkeys(which.tolist())]
    values = sorted(values, key=int, reverse=True) if epochs else values
    called = " ".join(names)
    if options.epoch is None:
        rows = counted(len(which) // len(values), "row")
        choices = [
            ReadChoice(
                f"{called} {value}" + " (the last)" * (epochs and not k),
                {"epoch": value},
                "" if epochs else value,
            )
            for k, value in enumerate(values[:MOST_RUNS])
        ]
        if ids and epochs:
            choices.append(ReadChoice(f"all, grouped by {ids}", {"group": ids}))
        shown = listed(values[::-1] if epochs else values)
        what = f"The file holds the same {rows} {len(values)} times ({called} {shown})"
        raise undecided(what, *choices)
    if options.epoch not in values:
        what = f"--epoch names {options.epoch!r}, which is not there"
        raise ambiguous(what, f"use one of {listed(values)}")
    kept = np.flatnonzero(which == options.epoch)
    entries = {
        n: e[kept] if e.ndim and len(e) == len(which) else e for n, e in contents.entries.items()
    }
    entries = {n: e for n, e in entries.items() if n not in names}
    return replace(contents, entries=entries, first_line=0, epochs=tuple(values))


def _run_names(contents: Contents) -> Iterator[tuple[str, ...]]:
    """Yield columns that may say which run of a model scored a row: all settings, then each."""
    flat = {n: e for n, e in contents.entries.items() if e.ndim == 1 and e.size}
    some = [n for n in flat if words_of(n) and set(words_of(n)) <= SETTINGS]
    if flat.keys() >= {"rowIndex", "Resample", "obs"}:  # as caret keeps them
        no_setting = {*CARET, *id_text(flat["obs"]).tolist()}
        some = [n for n in flat if n not in no_setting]
    some = [n for n in some if len(set(flat[n].tolist())) > 1]
    for name, entry in flat.items():
        if words_of(name) in EPOCHS and not is_text(entry) and is_whole(entry):
            yield (name,)
    sole = [n for n in some if words_of(n) == ["config"]]  # which numbers the others
    yield from ((*sole[:1],) or (*some,), *((name,) for name in some)) if some else ()


def _same_rows(contents: Contents, names: tuple[str, ...], which: Entry) -> str | None:
    """Return what names the rows that all runs hold, empty where only labels show it; or None.

    Settings must share labels and many names: each of many prompts may have samples 0, 1 and 2.
    """
    values = np.unique(which)
    rows = len(which) // len(values)
    epochs = words_of(names[0]) in EPOCHS
    if not len(values) > 1 or rows < 2:
        return None
    flat = {n: e for n, e in contents.entries.items() if e.shape == which.shape and n not in names}
    roles = {n: name_entry(n, e).role for n, e in flat.items()}
    ids = [n for n, role in roles.items() if role is Role.IDS or "idx" in words_of(n)]
    labels = [n for n, role in roles.items() if role in (Role.LABELS, Role.CORRECT)]
    for key in ids:
        order = np.lexsort((id_text(flat[key]).astype(str), which.astype(str)))
        cells, *true = (
            id_text(flat[n])[order].reshape(len(values), -1)
            for n in (key, *(n for n in labels if roles[n] is Role.LABELS))
        )
        # Twenty shared names are no accident; two prompts with samples 0 and 1 each could be one.
        least = min(ENOUGH, rows) if epochs else ENOUGH if true else rows + 1
        if len(set(cells[0].tolist())) >= least and all(
            np.all(grid == grid[:1]) for grid in (cells, *true)
        ):
            return key
    if ids or not labels:
        return None
    order = np.argsort(which.astype(str), kind="stable")
    grids = [id_text(flat[n])[order].reshape(len(values), -1) for n in labels]
    changes = max(np.count_nonzero(grid[0, 1:] != grid[0, :-1]) for grid in grids)
    same = all(np.all(grid == grid[:1]) for grid in grids)
    return "" if same and changes >= ENOUGH else None
