"""Columns of a table as parts: ids, row numbers, labels, scores and the split column."""

import re
from dataclasses import replace

import numpy as np

from core.errors import Notice, Refused
from core.predictions import ScoreKind
from core.readers.cells import NUMBERS, is_broken, refuse_text, words_in
from core.readers.contents import Contents, Entry, id_text, is_text, is_whole, stacked
from core.readers.options import ReadOptions
from core.readers.parts import DEFAULT_SPLIT, Layout, Part, ambiguous, listed
from core.readers.roles import (
    CLASS_WORDS,
    IDS,
    KINDS,
    LABELS,
    SCORES,
    SPLITS,
    Named,
    Role,
    name_entry,
    words_of,
)
from core.readers.score_columns import pick_scores

INDEX_NAMES = {"", "unnamed: 0", "index", "level_0"}
NO_LABELS = "give a second file with --labels, or name the column with --labels-key"
SCORE_WORDS = {*KINDS, *SCORES}
MODEL_TABLE = {"model", "top1", "top5"}


class _Columns:
    """Columns with their roles, settled step by step from names, choices and values."""

    def __init__(self, contents: Contents, options: ReadOptions, classes: set[str]) -> None:
        self.contents = contents
        self.entries = contents.entries
        self.notices: list[Notice] = []
        text = {n: e for n, e in self.entries.items() if is_text(e)}
        self.classes = classes.union(*(words_in(e) for e in text.values()))
        self.broken = {n for n, e in text.items() if is_broken(n, e, self.classes)}
        self.named = [_by_values(contents, self._name(n)) for n in self.entries]
        self._choose(options)

    def _name(self, name: str) -> Named:
        """Name a column; one of numbers with a bad cell among them counts as numbers."""
        entry = self.entries[name]
        return name_entry(name, NUMBERS if name in self.broken else entry)

    def of(self, role: Role) -> list[str]:
        """Names of the columns with a role, in the order of the file."""
        return [item.name for item in self.named if item.role is role]

    def set_role(self, names: list[str], role: Role) -> None:
        """Give columns another role."""
        self.named = [replace(i, role=role) if i.name in names else i for i in self.named]

    def numbers(self) -> list[str]:
        """Names of the unused columns of numbers."""
        unused = self.of(Role.UNUSED)
        return [n for n in unused if n in self.broken or not is_text(self.entries[n])]

    def _choose(self, options: ReadOptions) -> None:
        choices = (
            (options.scores_key, Role.SCORES, "--scores-key"),
            (options.labels_key, Role.LABELS, "--labels-key"),
            (options.id_column, Role.IDS, "--id-column"),
        )
        for key, role, option in choices:
            if key is not None:
                chosen = self._match(key, option, several=role is not Role.IDS)
                self.set_role(self.of(role), Role.UNUSED)
                self.set_role(chosen, role)

    def _match(self, key: str, option: str, *, several: bool) -> list[str]:
        names = list(self.entries)
        if key in names:
            return [key]
        asked = [part.strip() for part in key.split(",")]
        if several and all(part in names for part in asked):
            return asked
        begins = [name for name in names if name.startswith(key)]
        if several and begins and key:
            return begins
        raise ambiguous(
            f"{option} names {key!r}, which is not there", f"use one of {listed(names)}"
        )


def _by_values(contents: Contents, item: Named) -> Named:
    """Columns may be called like anything: a role needs a plain name, and labels whole values."""
    entry = contents.entries[item.name]
    if not contents.headed or not re.fullmatch(r"[\w .\-/:]*", item.name):
        return Named(item.name, Role.UNUSED)
    plain = set(words_of(item.name)) <= LABELS | CLASS_WORDS | IDS | set(SPLITS)
    if item.role is Role.LABELS and not plain and not is_text(entry) and not is_whole(entry):
        return Named(item.name, Role.UNUSED)
    return item


def lay_out_table(
    contents: Contents, options: ReadOptions, *, need_labels: bool, classes: set[str]
) -> Layout:
    """Return the parts of a table.

    Parameters
    ----------
    contents : Contents
        Columns by name.
    options : ReadOptions
        The user's choices.
    need_labels : bool
        Whether the labels must be here and do not come with a second file.
    classes : set of str
        Names that a second file of labels gives to classes, in folded case.

    Raises
    ------
    Refused
        AMBIGUOUS_KEYS, CSV_COLUMNS or FORMAT_UNKNOWN: no scores, no labels, or several of them.
    """
    columns = _Columns(contents, options, classes)
    _refuse_model_table(columns)
    _find_index(columns)
    _find_ids(columns)
    _settle_timm(columns)
    if need_labels:
        _find_labels(columns)
    part = _whole_part(columns)
    parts = _by_split(columns, part)
    roles = {item.name: str(item.role) for item in columns.named}
    _say_unused(columns)
    return Layout(parts, roles, tuple(columns.notices))


def _refuse_model_table(columns: _Columns) -> None:
    if {name.lower() for name in columns.entries} >= MODEL_TABLE:
        raise Refused(
            "FORMAT_UNKNOWN",
            "one row for each model (model, top1, top5): results, not predictions",
            "give the per-image predictions of one model, with a label for each row",
        )


def _find_index(columns: _Columns) -> None:
    """Set aside a first column that counts the rows: it is no class."""
    first = next(iter(columns.entries))
    entry = columns.entries[first]
    item = columns.named[0]
    chosen = item.role in (Role.SCORES, Role.LABELS) or is_text(entry) or entry.dtype.kind != "i"
    named = first.strip().lower() in INDEX_NAMES
    if chosen or (columns.contents.headed and not named):
        return
    steps = entry.astype(np.int64) - np.arange(entry.size)
    counts = entry.size > 0 and steps.min() == steps.max() and int(steps[0]) in (0, 1)
    if named or (counts and entry.size > 2):
        columns.set_role([first], Role.INDEX)
        shown = first or "without a name"
        text = f"the first column ({shown}) numbers the rows and was left out"
        columns.notices.append(Notice("INDEX_COLUMN", text))


def _find_ids(columns: _Columns) -> None:
    ids = columns.of(Role.IDS)
    if len(ids) > 1:
        columns.set_role(ids[1:], Role.UNUSED)
    if ids:
        return
    text = [n for n in columns.of(Role.UNUSED) if is_text(columns.entries[n])]
    for name in (n for n in text if n not in columns.broken):
        values = columns.entries[name].tolist()
        if len(set(values)) == len(values) > 1:
            columns.set_role([name], Role.IDS)
            shown = name or "the column without a name"
            columns.notices.append(Notice("KEYS_GUESSED", f"rows named by {shown}"))
            return


def _settle_timm(columns: _Columns) -> None:
    """Timm's inference lists filename, label or index, and score: that label is the answer."""
    names = {name.lower() for name in columns.entries}
    if "filename" not in names or not names <= {"filename", "index", "label", "prob", "logit"}:
        return
    answers = [n for n in columns.entries if n.lower() in ("index", "label")]
    if answers and len(names & {"prob", "logit"}) == 1:
        columns.set_role(answers[:1], Role.PREDICTED)
        columns.set_role(answers[1:], Role.UNUSED)
        columns.set_role([n for n in columns.entries if n.lower() in ("prob",)], Role.CONFIDENCE)


def _find_labels(columns: _Columns) -> None:
    if columns.of(Role.LABELS) or _find_paired(columns):
        return
    scores_named = columns.of(Role.SCORES) + columns.of(Role.CONFIDENCE)
    numbers = columns.numbers()
    whole = [n for n in numbers if columns.entries[n].dtype.kind in "iu"]
    if not whole:  # np.savetxt writes labels as 0.0, 1.0, after or before the scores
        ends = dict.fromkeys([*numbers[-1:], *numbers[:1]])
        whole = [name for name in ends if _whole_floats(columns, name)]
    others = [n for n in numbers if n not in whole]
    text = [n for n in columns.of(Role.UNUSED) if n not in numbers]
    candidates = whole if others or scores_named else []
    if not candidates and len(text) == 1:
        candidates = text
    if len(candidates) != 1 and not scores_named and numbers and others:
        edges = [n for n in (numbers[-1], numbers[0]) if n in whole]
        candidates = edges[:1] if len(whole) == 1 or numbers[-1] in whole else candidates
    if len(candidates) != 1:
        what = "no column of labels was found"
        if columns.of(Role.PREDICTED):
            what += f" ({columns.of(Role.PREDICTED)[0]} is the model's answer, not the truth)"
        if candidates:
            what = f"labels may be {listed(candidates)}"
        raise ambiguous(f"{what}; columns: {listed(list(columns.entries))}", NO_LABELS)
    columns.set_role(candidates, Role.LABELS)
    columns.notices.append(Notice("KEYS_GUESSED", f"labels from {candidates[0]}"))


def _whole_floats(columns: _Columns, name: str) -> bool:
    entry = columns.entries[name]
    return not is_text(entry) and is_whole(entry)


def _find_paired(columns: _Columns) -> bool:
    """Take columns named like those of scores, but for the word that says scores: A_prob and A."""
    scores = columns.of(Role.SCORES)
    bare = [_without_score_word(name) for name in scores]
    free = {n for n in columns.numbers() if _whole_floats(columns, n)}
    if len(scores) < 2 or len(set(bare)) < len(bare) or not set(bare) <= free:
        return False
    columns.set_role(bare, Role.LABELS)
    columns.notices.append(Notice("KEYS_GUESSED", f"labels from {listed(bare)}"))
    return True


def _without_score_word(name: str) -> str:
    cut = re.fullmatch(r"([A-Za-z]+)[_\-. ](.+)", name)
    return cut[2] if cut and cut[1].lower() in SCORE_WORDS else _without_end(name)


def _without_end(name: str) -> str:
    cut = re.fullmatch(r"(.+)[_\-. ]([A-Za-z]+)", name)
    return cut[1] if cut and cut[2].lower() in SCORE_WORDS else name


def _whole_part(columns: _Columns) -> Part:
    contents, labels = columns.contents, columns.of(Role.LABELS)
    confidence, predicted = columns.of(Role.CONFIDENCE), columns.of(Role.PREDICTED)
    scores = columns.of(Role.SCORES)
    ids = columns.of(Role.IDS)
    base = Part(
        DEFAULT_SPLIT,
        np.empty(0),
        "",
        contents,
        ids=id_text(columns.entries[ids[0]]) if ids else None,
    )
    if not scores and confidence and predicted:
        return replace(
            base,
            scores=columns.entries[confidence[0]],
            scores_name=confidence[0],
            kind=ScoreKind.CONFIDENCE,
            predicted=columns.entries[predicted[0]],
            labels=_labels(columns, labels, ()) if labels else None,
            labels_name=listed(labels),
        )
    return _scored(columns, base, labels)


def _scored(columns: _Columns, base: Part, labels: list[str]) -> Part:
    scores = columns.of(Role.SCORES) or columns.of(Role.CONFIDENCE) or _unnamed(columns, labels)
    if not scores:
        names = listed(list(columns.entries))
        raise ambiguous(
            f"no column of scores was found; columns: {names}", "name them with --scores-key"
        )
    columns.set_role(scores, Role.SCORES)
    kinds = {item.kind for item in columns.named if item.name in scores}
    if len(kinds) > 1:
        raise ambiguous(
            f"columns of several kinds: {listed(scores)}", "name a prefix with --scores-key"
        )
    classes = class_names(scores)
    for name in scores:
        refuse_text(name, columns.entries[name], columns.contents)
    matrix = columns.entries[scores[0]] if len(scores) == 1 else _stack(columns, scores)
    return replace(
        base,
        scores=matrix,
        scores_name=scores[0] if len(scores) == 1 else f"{scores[0]} .. {scores[-1]}",
        kind=kinds.pop(),
        class_names=classes if len(scores) > 1 and columns.contents.headed else (),
        labels=_labels(columns, labels, classes) if labels else None,
        labels_name=listed(labels),
    )


def _unnamed(columns: _Columns, labels: list[str]) -> list[str]:
    """Columns of numbers that no name calls scores."""
    numbers = {name: columns.entries[name] for name in columns.numbers()}
    if not numbers or not columns.contents.headed:
        return list(numbers)
    told = {name.casefold() for name in class_names(labels)} if len(labels) > 1 else set()
    for name in labels if len(labels) == 1 else []:
        told |= words_in(np.unique(columns.entries[name]))
    scores, named = pick_scores(numbers, columns.classes | told)
    if not named:
        columns.notices.append(Notice("KEYS_GUESSED", f"scores from {listed(scores)}"))
    return scores


def _stack(columns: _Columns, names: list[str]) -> Entry:
    return stacked([columns.entries[n] for n in names])


def class_names(columns: list[str]) -> tuple[str, ...]:
    """Return what is left of column names without what they share up to a separator.

    That is a common beginning; or a word at the end of each that says scores, as in A_prob.
    """
    bare = [_without_end(name) for name in columns]
    if len(columns) > 1 and all(
        len(cut) < len(name) for cut, name in zip(bare, columns, strict=True)
    ):
        columns = bare
    shared = _common_prefix(columns)
    prefix = re.match(r".*[_\-. :]", shared)
    cut = len(prefix.group()) if prefix and len(columns) > 1 else 0
    names = [name[cut:] for name in columns]
    return tuple(names) if all(names) else tuple(columns)


def _common_prefix(names: list[str]) -> str:
    first, last = min(names), max(names)  # in sorted order these two differ earliest
    shorter = min(len(first), len(last))
    return first[: next((i for i in range(shorter) if first[i] != last[i]), shorter)]


def _labels(columns: _Columns, labels: list[str], scores: tuple[str, ...]) -> Entry:
    """One column as it is; several as a matrix, in the order of the scores when names agree."""
    if len(labels) == 1:
        return columns.entries[labels[0]]
    by_name = dict(zip(class_names(labels), labels, strict=True))
    if set(by_name) == set(scores):
        labels = [by_name[name] for name in scores]
    elif len(labels) != len(scores):
        raise ambiguous(
            f"{len(labels)} columns of labels ({listed(labels)}) for {len(scores)} of scores",
            "name one with --labels-key",
        )
    return _stack(columns, labels)


def _by_split(columns: _Columns, part: Part) -> tuple[Part, ...]:
    """Cut the rows by a column that says train, val or test."""
    for name in columns.of(Role.SPLIT):
        values = [SPLITS.get(str(v).strip().lower()) for v in columns.entries[name].tolist()]
        found = set(values)
        if None in found:
            continue
        order = [s for s in ("train", "val", "test") if s in found]
        which = np.array(values)
        return tuple(part.take(s, np.flatnonzero(which == s)) for s in order)
    return (part,)


def _say_unused(columns: _Columns) -> None:
    unused = columns.of(Role.UNUSED)
    if unused:
        columns.notices.append(Notice("KEYS_GUESSED", f"not used: {listed(unused)}"))
