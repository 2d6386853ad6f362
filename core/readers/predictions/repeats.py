"""Rows that occur twice, and parts that hold the same rows."""

from itertools import combinations

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice
from core.readers.predictions.judge import MANY_ROWS, JudgedSplit
from core.readers.predictions.offers import GroupOffer
from core.readers.predictions.parts import counted


def repeated(splits: dict[str, JudgedSplit], offers: tuple[GroupOffer, ...] = ()) -> list[Notice]:
    """Say of rows that occur twice, and of parts that are the same.

    Names of rows that repeat may also say which rows belong together, if they are offered as that.
    """
    notices = []
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
        elif not ids and _doubled(ready):
            text = f"the second half of the {name} part repeats the first row by row"
            notices.append(
                Notice(NoticeCode.ROWS_REPEATED, f"{text}: rows may have been counted twice")
            )
    names = list(splits)
    for first, second in combinations(names, 2):
        first_split, second_split = splits[first], splits[second]
        same = np.array_equal(first_split.prepared.scores, second_split.prepared.scores)
        if same and np.array_equal(first_split.labels, second_split.labels):
            text = f"the parts {first} and {second} hold the same rows: what is fitted on "
            notices.append(Notice(NoticeCode.SAME_ROWS, f"{text}one cannot be judged on the other"))
    return notices


def _doubled(ready: JudgedSplit) -> bool:
    scores, labels = ready.prepared.scores, ready.labels
    half = len(scores) // 2
    even = len(scores) == 2 * half >= MANY_ROWS
    return bool(
        even
        and np.array_equal(labels[:half], labels[half:])
        and np.array_equal(scores[:half], scores[half:])
    )
