"""What a comparison needs of several runs, read one after another in a process of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.arrays import Float, Int
from core.library import open_library
from core.metrics.comparison import Compared, compared
from core.predictions import Predictions, Task
from core.progress import stage


@dataclass(frozen=True)
class Answers:
    """What one run answers for every row, how sure it is, and what it calls its classes."""

    predicted: Int
    confidence: Float
    class_names: tuple[str, ...]

    @classmethod
    def of(cls, predictions: Predictions) -> "Answers | None":
        """Return a run's answers; None of labels, each of which is a question of its own."""
        if predictions.task is Task.MULTILABEL:
            return None
        rows = predictions.rows
        return cls(rows.predicted, rows.confidence, predictions.class_names)


@dataclass(frozen=True)
class Disagreement:
    """A row that runs answer differently: its position, its label, answers and confidences."""

    row: int
    label: int
    predicted: tuple[int, ...]
    confidence: tuple[float, ...]


def disagreements(
    runs: Sequence[Answers], labels: Int, most: int
) -> tuple[int, tuple[Disagreement, ...]]:
    """Return how many rows are answered differently, and those where runs are surest.

    Parameters
    ----------
    runs : sequence of Answers
        Of the same N rows, two or more.
    labels : (N,) int64
        True classes.
    most : int
        How many are returned: by the second largest confidence among answers that differ, that of
        the surest run and of the surest that contradicts it.
    """
    predicted = np.array([run.predicted for run in runs])
    confidence = np.array([run.confidence for run in runs])
    apart = np.flatnonzero((predicted != predicted[0]).any(axis=0))
    surest = predicted[confidence[:, apart].argmax(axis=0), apart]
    contradicting = np.where(predicted[:, apart] != surest, confidence[:, apart], 0.0).max(axis=0)
    order = apart[np.argsort(-contradicting, kind="stable")][:most]
    return len(apart), tuple(
        Disagreement(
            row=int(row),
            label=int(labels[row]),
            predicted=tuple(predicted[:, row].tolist()),
            confidence=tuple(confidence[:, row].tolist()),
        )
        for row in order
    )


def of_library(places: Sequence[tuple[str, str]]) -> list[Compared]:
    """Return what a comparison needs of runs of the library, each given by its id and split.

    Only one of them is open at a time, and what is kept of it does not grow with its rows. How many
    are done is said (`core.progress`).

    Raises
    ------
    LibraryError
        As of `Library.load`.
    """
    library, found = open_library(), []
    for i, (run_id, split) in enumerate(places):
        with stage("", i / len(places), i / len(places), 1):
            found.append(compared(library.load(run_id, split)))
    return found


def of_drafts(drafts: Sequence[Predictions]) -> list[Compared]:
    """Return the same of rows that lie in no library."""
    return [compared(draft) for draft in drafts]
