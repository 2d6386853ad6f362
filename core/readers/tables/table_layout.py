"""Columns of a table as parts: ids, row numbers, labels, scores and the split column."""

import re
from dataclasses import replace

import numpy as np

from core.arrays import Bool
from core.codes import NoticeCode
from core.errors import Notice
from core.readers.formats.cells import MISSING
from core.readers.formats.contents import Contents, Entry, id_text, text_array
from core.readers.formats.encoding import is_number
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.parts import DEFAULT_SPLIT, FileLayout, SplitArrays, listed
from core.readers.predictions.result import SPLIT_NAME
from core.readers.predictions.roles import SPLITS, Role, correctness
from core.readers.tables.table_columns import TableColumns
from core.readers.tables.table_roles import (
    ask_parts,
    find_ids,
    find_index,
    find_labels,
    find_named_scores,
    find_split,
    refuse_long,
    says_correctness,
    settle_answers,
    settle_scores,
)
from core.readers.tables.table_scores import scored_part, stated_column, stated_part
from core.readers.tables.tool_columns import settle_tools

MAX_PARTS = 12


def lay_out_table(
    contents: Contents, options: ReadOptions, *, need_labels: bool, classes: set[str]
) -> FileLayout:
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
        AMBIGUOUS_KEYS or CSV_COLUMNS: no scores, no labels, or several of them.
    """
    columns = TableColumns(contents, options, classes)
    answered = _answered(columns)
    if answered is not None:
        rows, contents = answered
        layout = lay_out_table(contents, options, need_labels=need_labels, classes=classes)
        return replace(
            layout,
            parts=tuple(_rows_of(part, rows) for part in layout.parts),
            notices=(_unanswered(len(rows) - int(rows.sum()), len(rows)), *layout.notices),
        )
    find_index(columns)
    find_ids(columns)
    refuse_long(columns)
    find_split(columns)
    settle_tools(columns, classes)
    settle_answers(columns)
    settle_scores(columns, need_labels=need_labels)
    ask_parts(columns)
    if need_labels and not (says_correctness(columns) and stated_column(columns)):
        find_labels(columns)
    part = replace(_whole_part(columns), guesses=tuple(columns.guesses))
    parts = _by_split(columns, part)
    roles = {item.name: str(item.role) for item in columns.named}
    _say_unused(columns)
    return FileLayout(parts, roles, tuple(columns.notices))


def _answered(columns: TableColumns) -> tuple[Bool, Contents] | None:
    """Return which rows hold an answer or a confidence, where some lack both; else None.

    In the contents 0.5 stands for each confidence that is missing.
    """
    sure, answers = columns.of(Role.CONFIDENCE), columns.of(Role.PREDICTED)
    if len(sure) != 1 or len(answers) != 1:
        return None
    entry, cells = columns.entries[sure[0]], _cells(columns.entries[answers[0]])
    if entry.ndim != 1 or entry.dtype.kind not in "fO":
        return None
    stated = _cells(entry)
    blank = np.array([not cell for cell in stated])
    if not blank.any() or blank.all() or any(c for c, b in zip(cells, blank, strict=True) if b):
        return None
    for name in columns.of(Role.CORRECT):  # right without an answer: it was not written down
        right = correctness(name, columns.entries[name])
        if right is not None and right[blank].any():
            return None
    stated = [cell or "0.5" for cell in stated]
    if not all(is_number(cell) for cell in stated):
        return None
    numbers = np.array([float(cell) for cell in stated])
    texts = text_array(cells) if "" in cells else columns.entries[answers[0]]
    entries = {**columns.entries, sure[0]: numbers, answers[0]: texts}
    return ~blank, replace(columns.contents, entries=entries)


def _cells(entry: Entry) -> list[str]:
    """Return cells as text; what is missing is empty."""
    cells = [str(cell).strip() for cell in id_text(entry).tolist()]
    return ["" if cell.casefold() in MISSING else cell for cell in cells]


def _rows_of(part: SplitArrays, kept: Bool) -> SplitArrays:
    own = kept if part.rows is None else kept[part.rows]
    return part.take(part.split, np.flatnonzero(own))


def _unanswered(missing: int, n: int) -> Notice:
    text = f"{missing} of {n} rows hold neither answer nor confidence: wrong answers, but without a"
    return Notice(NoticeCode.UNANSWERED, f"{text} claim to audit, so left out")


def _whole_part(columns: TableColumns) -> SplitArrays:
    find_named_scores(columns)
    contents, labels = columns.contents, columns.of(Role.LABELS)
    ids = columns.of(Role.IDS)
    base = SplitArrays(
        DEFAULT_SPLIT,
        np.empty(0),
        "",
        contents,
        ids=id_text(columns.entries[ids[0]]) if ids else None,
    )
    stated = stated_column(columns)
    if stated is None:
        return scored_part(columns, base, labels)
    part = replace(base, scores=columns.entries[stated], scores_name=stated)
    return stated_part(columns, part, labels)


def _by_split(columns: TableColumns, part: SplitArrays) -> tuple[SplitArrays, ...]:
    """Cut the rows by a column that names their parts."""
    for name in columns.of(Role.SPLIT):
        words = [str(v).strip() for v in columns.entries[name].tolist()]
        names = _part_names(list(dict.fromkeys(words)))
        if name.lower() == "fold" and not set(names.values()) & {"train", "val", "test"}:
            continue  # folds of a cross-validation: every row was left out once
        if names:
            which = np.array([names[word] for word in words])
            order = [s for s in ("train", "val", "test") if s in names.values()]
            order += [s for s in dict.fromkeys(names.values()) if s not in order]
            return tuple(part.take(s, np.flatnonzero(which == s)) for s in order)
    return (part,)


def _part_names(words: list[str]) -> dict[str, str]:
    """Return the part that each word names; nothing where there are too many for parts."""
    known = {word: SPLITS.get(word.lower().replace(" ", ""), word) for word in words}
    if len(set(known.values())) < len(known):  # dev beside val: two parts, not one
        known = {word: word for word in words}
    known = {word: re.sub(r"[^\w-]+", "-", name) for word, name in known.items()}
    plain = all(SPLIT_NAME.fullmatch(name) for name in known.values())
    return known if plain and len(words) <= MAX_PARTS else {}


def _say_unused(columns: TableColumns) -> None:
    unused = [i.name for i in columns.named if i.role in (Role.UNUSED, Role.ASIDE)]
    if unused:
        columns.notices.append(Notice(NoticeCode.KEYS_GUESSED, f"not used: {listed(unused)}"))
