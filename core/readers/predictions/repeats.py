"""Rows that occur twice, and parts that hold the same rows."""

from itertools import combinations

import numpy as np

from core.codes import NoticeCode
from core.errors import Notice
from core.predictions import ScoreKind
from core.readers.predictions.group_candidates import GroupOffer
from core.readers.predictions.parts import counted
from core.readers.predictions.validate import JudgedSplit
from core.repeats import repeats


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
        elif ready.prepared.part.groups is None:
            scores, logits = ready.prepared.scores, ready.verdict.kind is ScoreKind.LOGITS
            same = repeats(scores, ready.labels, logits=logits)
            if same:
                text = f"{same:,} of {len(scores):,} rows repeat another bit for bit in "
                text += f"the {name} part, which makes intervals too narrow: remove them, or say "
                text += "with --group which rows belong together"
                notices.append(Notice(NoticeCode.ROWS_REPEATED, text))
    names = list(splits)
    for first, second in combinations(names, 2):
        first_split, second_split = splits[first], splits[second]
        equal = np.array_equal(first_split.prepared.scores, second_split.prepared.scores)
        if equal and np.array_equal(first_split.labels, second_split.labels):
            text = f"the parts {first} and {second} hold the same rows: what is fitted on "
            notices.append(Notice(NoticeCode.SAME_ROWS, f"{text}one cannot be judged on the other"))
    return notices
