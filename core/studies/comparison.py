"""What a comparison needs of several runs, read one after another in a process of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import Float, Int
from core.defaults import ACTS_AT
from core.library import open_library
from core.metrics.clinical import net_benefit
from core.metrics.comparison import Compared, Comparison, Leader, compare_all, compared
from core.metrics.design_effect import of_rows
from core.metrics.paired import Difference
from core.metrics.records import Score
from core.ood.intervals import auroc_difference
from core.predictions import Predictions, Task
from core.progress import stage
from core.studies.reliability import Source, loaded


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


AUROC, NET_BENEFIT = "auroc", "net_benefit"


def benefit_score(rows: Predictions, threshold: float, level: float) -> Score:
    """Return the net benefit of two classes at a risk in (0, 1) from which one would act."""
    event = rows.outcomes(1)
    net = net_benefit(
        event.confidence, event.correct, [threshold], level=level, extents=rows.extents
    )
    value, low, high = (float(at[0]) for at in (net.model, net.low, net.high))
    return Score(NET_BENEFIT, value, low, high, level, net.n, {"threshold": threshold})


def with_benefit(run: Compared, score: Score) -> Compared:
    """Return a run with its net benefit among the scores of its audit."""
    main = replace(run.audit.main, metrics={**run.audit.main.metrics, NET_BENEFIT: score})
    return replace(run, audit=replace(run.audit, main=main))


def with_auroc(
    comparison: Comparison, runs: Sequence[Compared], rows: Sequence[Predictions]
) -> Comparison:
    """Return a comparison of two classes with differences in AUROC, and who leads by it.

    Each is at the level at which those of all pairs hold together (Bonferroni).
    """
    if comparison.reason:
        return comparison
    risks = [of_run.outcomes(1) for of_run in rows]
    event, extents, level = risks[0].correct, rows[0].extents, runs[0].config.level
    counted = event if extents.weights is None else event[extents.weights > 0.0]
    reference = comparison.reference
    one_outcome = counted.all() or not counted.any()
    why = runs[reference].audit.main.metrics[AUROC].reason if one_outcome else ""
    pairs = len(rows) * (len(rows) - 1) // 2
    each = 1.0 - (1.0 - level) / pairs
    sides = of_rows(extents, ~event), of_rows(extents, event)
    groups = sides[0].groups, sides[1].groups
    weights = sides[0].weights, sides[1].weights

    def auroc_less(i: int, other: int) -> Difference:
        if why:
            return Difference(AUROC, None, None, None, each, rows[i].n, reason=why)
        of_run, of_other = (
            (risks[k].confidence[~event], risks[k].confidence[event]) for k in (i, other)
        )
        value, low, high = auroc_difference(
            of_run, of_other, level=each, groups=groups, weights=weights, one_set=True
        )
        reason = "one outcome has a single row" if low is None else ""
        return Difference(AUROC, value, low, high, each, rows[i].n, reason=reason)

    differences = tuple(
        by_metric if i == reference else {**by_metric, AUROC: auroc_less(i, reference)}
        for i, by_metric in enumerate(comparison.differences)
    )
    if why:
        return replace(comparison, differences=differences)
    values = [-(run.audit.main.metrics[AUROC].value or 0.0) for run in runs]
    first, *others = sorted(range(len(runs)), key=values.__getitem__)
    leader = Leader(first, {i: auroc_less(i, first) for i in others})
    leaders = {**comparison.leaders, AUROC: leader}
    return replace(comparison, differences=differences, leaders=leaders)


def with_risks(
    runs: Sequence[Compared],
    comparison: Comparison,
    rows: Sequence[Predictions],
    threshold: float = ACTS_AT,
) -> tuple[list[Compared], Comparison]:
    """Return runs of two classes with net benefit, compared by AUROC as well; others unchanged.

    Parameters
    ----------
    runs, rows : sequences of Compared and of Predictions
        What is compared, and what it was computed of.
    comparison : Comparison
        Of the runs.
    threshold : float
        The risk that net benefit acts from.
    """
    if any(of_run.task is not Task.BINARY for of_run in rows):
        return list(runs), comparison
    benefits = (
        benefit_score(of_run, threshold, run.config.level)
        for run, of_run in zip(runs, rows, strict=True)
    )
    with_benefits = [with_benefit(*pair) for pair in zip(runs, benefits, strict=True)]
    return with_benefits, with_auroc(comparison, runs, rows)


def compare_runs(
    runs: Sequence[Compared], names: Sequence[str], reference: int, rows: Sequence[Source]
) -> Comparison:
    """Return the differences of runs from one of them, in AUROC too where rows are handed over."""
    comparison = compare_all(runs, names, reference)
    return with_auroc(comparison, runs, [loaded(of_run) for of_run in rows]) if rows else comparison


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
