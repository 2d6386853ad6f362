"""Rows that occur twice, and parts that hold the same rows."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from core.arrays import Bool, Float
from core.codes import NoticeCode
from core.errors import Notice
from core.predictions import COPIES, Groups, ScoreKind
from core.readers.predictions.group_candidates import GroupOffer
from core.readers.predictions.parts import counted
from core.readers.predictions.validate import JudgedSplit, answers
from core.repeats import sets_of_copies


def repeated(
    splits: dict[str, JudgedSplit], offers: tuple[GroupOffer, ...] = ()
) -> tuple[dict[str, JudgedSplit], list[Notice]]:
    """Say of rows that occur twice, and of parts that are the same; let copies be groups.

    Names of rows that repeat may also say which rows belong together, if they are offered as that.
    """
    notices, judged = [], dict(splits)
    names_rows = next((offer for offer in offers if offer.names_rows), None)
    for name, ready in splits.items():
        ids = ready.row_ids
        twice = len(ids) - len(set(ids))
        if twice and names_rows is not None and names_rows.meant:
            continue  # which is said where it is offered
        if twice:
            text = f"{counted(twice, 'row name')} of {len(ids)} occur before in the {name} part"
            text += ": rows may have been counted twice"
            if names_rows is not None and ready.prepared.part.groups is None:
                text += f"; if they belong together, say {names_rows.command}"
            notices.append(Notice(NoticeCode.ROWS_REPEATED, text))
        if ready.prepared.part.groups is None:
            judged[name], again = _with_copies(ready)
            if again:
                text = f"{again:,} of {len(ready.prepared.scores):,} rows repeat another bit for "
                text += f"bit in the {name} part: copies are drawn together, so intervals and "
                text += "tests count them once. If they are rows of their own, say so with --group"
                notices.append(Notice(NoticeCode.ROWS_REPEATED, text))
    names = list(splits)
    for first, second in combinations(names, 2):
        first_split, second_split = splits[first], splits[second]
        equal = np.array_equal(first_split.prepared.scores, second_split.prepared.scores)
        if equal and np.array_equal(first_split.labels, second_split.labels):
            text = f"the parts {first} and {second} hold the same rows: what is fitted on "
            notices.append(Notice(NoticeCode.SAME_ROWS, f"{text}one cannot be judged on the other"))
    return judged, notices


def _with_copies(ready: JudgedSplit) -> tuple[JudgedSplit, int]:
    """Return a part whose copies of a row are a group, and how many rows repeat another."""
    prepared, logits = ready.prepared, ready.verdict.kind is ScoreKind.LOGITS
    scores, labels = prepared.scores, ready.labels

    def outcomes() -> tuple[Float, Bool]:
        if not ready.labelled:  # which tell nothing
            return np.zeros(len(scores)), np.zeros(len(scores), dtype=np.bool_)
        own, known = answers(ready), labels >= 0
        if labels.ndim == 1:
            return own.confidence, own.correct
        sure, right = np.ones(labels.shape), np.ones(labels.shape, dtype=np.bool_)
        sure[known], right[known] = own.confidence, own.correct  # unknown ones tell nothing
        return sure, right

    sets = sets_of_copies(scores, labels, outcomes, logits=logits)
    if sets is None:
        return ready, 0
    groups = Groups(COPIES, sets)
    part = replace(prepared.part, groups=groups)
    return replace(ready, prepared=replace(prepared, part=part)), sets.size - groups.count
