"""Columns of a table as parts: ids, row numbers, labels, scores and the split column."""

import re
from dataclasses import replace

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice
from core.readers.formats.contents import Contents, id_text
from core.readers.predictions.options import ReadOptions
from core.readers.predictions.parts import DEFAULT_SPLIT, FileLayout, SplitArrays, listed
from core.readers.predictions.result import SPLIT_NAME
from core.readers.predictions.roles import SPLITS, Role
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
    settle_timm,
)
from core.readers.tables.table_scores import scored_part, stated_column, stated_part

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
    find_index(columns)
    find_ids(columns)
    refuse_long(columns)
    find_split(columns)
    settle_timm(columns, classes)
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
