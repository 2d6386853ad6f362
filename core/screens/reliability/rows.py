"""The rows behind one bin of the diagram: what was clicked is what is listed."""

from dataclasses import dataclass

import numpy as np

from core.arrays import Int
from core.metrics.binning import bin_index
from core.metrics.records import BinTable
from core.predictions import Outcomes, Predictions, Task
from core.screens.kit.bin_marks import bin_words, speech
from core.screens.kit.numbers import count, percent
from core.screens.kit.records import Column, Table
from core.screens.kit.text import clean

CONFUSIONS = 3  # that are named
CONFIDENCE = Column("confidence", "says", "share")
EVEN = 0.5  # a label counts as predicted above it: a tie goes to the lower class


@dataclass(frozen=True)
class BinRows:
    """Rows of one bin: a sentence, at most `limit` rows, how many the bin holds, and which.

    `captions` say of each row what the model answers, how sure it is, and what is true;
    `confusions` which answers of the bin are taken for which others most often, "" where none
    stands out.
    """

    text: str
    table: Table
    total: int
    rows: tuple[int, ...]
    captions: tuple[str, ...]
    confusions: str = ""


def bin_rows(
    predictions: Predictions,
    target: int | None,
    bins: BinTable,
    index: int,
    outcomes: Outcomes,
    *,
    limit: int | None = None,
) -> BinRows:
    """Return the rows of one bin, those answered wrongly first, then the surest first.

    Parameters
    ----------
    predictions : Predictions
        What was audited.
    target : int or None
        The target of the diagram: None for the answers given, else a class or label.
    bins : BinTable
        The bins that were drawn.
    index : int
        Which one, in 0..B-1; the customdata of the dot or bar.
    outcomes : Outcomes
        Those of the target, in the file's order; of a label, of the rows where it is known.
    limit : int, optional
        At most this many rows; all by default.
    """
    edges = np.append(bins.low, bins.high[-1])
    inside = np.flatnonzero(bin_index(outcomes.confidence, edges) == index)
    known = None if target is None else predictions.labelled_rows(target)
    right = outcomes.correct[inside]
    if predictions.task is Task.MULTILABEL:
        right = right == (outcomes.confidence[inside] > EVEN)
    elif target is not None:
        right = predictions.labels[inside] == predictions.rows.predicted[inside]
    chosen = inside[np.lexsort((-outcomes.confidence[inside], right))][:limit]
    sure: list[float] = outcomes.confidence[chosen].tolist()
    likely = outcomes.confidence[chosen] > EVEN
    chosen = chosen if known is None else known[chosen]
    if predictions.task is Task.MULTILABEL:
        names: tuple[str, ...] = ("absent", "present")
        answers = predictions.labels[chosen, target or 0], likely.astype(np.int64)
    else:
        names = predictions.class_names
        answers = predictions.labels[chosen], predictions.rows.predicted[chosen]
    true, predicted = ([names[i] for i in side.tolist()] for side in answers)
    ids = predictions.row_ids
    listed = [ids[i] if ids else str(i) for i in chosen.tolist()]
    rows = tuple(zip(listed, true, predicted, sure, strict=True))
    columns = (*(Column(key, key) for key in ("id", "true", "predicted")), CONFIDENCE)
    words = bin_words(bins, index, speech(target))
    return BinRows(
        text=f"{words}.",
        table=Table(columns, rows),
        total=int(inside.size),
        rows=tuple(chosen.tolist()),
        captions=tuple(
            f"{answer}, {percent(share)}; true: {truth}"
            for answer, share, truth in zip(predicted, sure, true, strict=True)
        ),
        confusions="" if target is not None else _confusions(predictions, inside),
    )


def _confusions(predictions: Predictions, inside: Int) -> str:
    """Return the confusions that came more than once: "cat taken for dog (12 times), …".

    The `CONFUSIONS` commonest, less those as common as one that would be left out.
    """
    if predictions.task is Task.TOP_LABEL:
        return ""
    labels, predicted = predictions.labels[inside], predictions.rows.predicted[inside]
    wrong = labels != predicted
    named = predictions.class_names
    pairs, times = np.unique(labels[wrong] * len(named) + predicted[wrong], return_counts=True)
    often = np.flatnonzero(times > 1)
    often = often[np.argsort(-times[often], kind="stable")]
    # of ties for the last place none is named
    least = times[often[CONFUSIONS]] if often.size > CONFUSIONS else 0
    parts: list[str] = []
    for i in often[:CONFUSIONS].tolist():
        if times[i] > least:
            true, answer = (clean(named[k]) for k in divmod(int(pairs[i]), len(named)))
            taken, came = ("", "") if parts else (" taken", " times")
            parts.append(f"{true}{taken} for {answer} ({count(int(times[i]))}{came})")
    return f"Most often {', '.join(parts)}." if parts else ""
