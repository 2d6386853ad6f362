"""Rows that occur twice, and parts that hold the same rows."""

from itertools import combinations

import numpy as np

from core.errors import Notice
from core.readers.judge import MANY_ROWS, Ready
from core.readers.parts import counted


def repeated(splits: dict[str, Ready]) -> list[Notice]:
    """Say of rows that occur twice, and of parts that are the same."""
    notices = []
    for name, ready in splits.items():
        ids = ready.row_ids
        twice = len(ids) - len(set(ids))
        if twice:
            text = f"{counted(twice, 'row name')} of {len(ids)} occur before in the {name} part"
            notices.append(Notice("ROWS_REPEATED", f"{text}: rows may have been counted twice"))
        elif not ids and _doubled(ready):
            text = f"the second half of the {name} part repeats the first row by row"
            notices.append(Notice("ROWS_REPEATED", f"{text}: rows may have been counted twice"))
    names = list(splits)
    for first, second in combinations(names, 2):
        one, two = splits[first], splits[second]
        same = np.array_equal(one.prepared.scores, two.prepared.scores)
        if same and np.array_equal(one.labels, two.labels):
            text = f"the parts {first} and {second} hold the same rows: nothing that is fitted on "
            notices.append(Notice("SAME_ROWS", f"{text}one can be judged on the other"))
    return notices


def _doubled(ready: Ready) -> bool:
    scores, labels = ready.prepared.scores, ready.labels
    half = len(scores) // 2
    even = len(scores) == 2 * half >= MANY_ROWS
    return bool(
        even
        and np.array_equal(labels[:half], labels[half:])
        and np.array_equal(scores[:half], scores[half:])
    )
