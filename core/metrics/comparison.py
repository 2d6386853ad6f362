"""Comparing runs: whether they speak of the same rows, and by how much they differ; numpy only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.arrays import Float, digest
from core.configs import AuditConfig
from core.defaults import LEVEL
from core.metrics import METRICS
from core.metrics.paired import PAIRED, Difference, MetricDraws, difference, draws
from core.metrics.records import Audit
from core.metrics.suite import audit
from core.predictions import Extents, Predictions, Task

CLAIMS = {
    Task.BINARY: "the probability of class 1",
    Task.MULTILABEL: "the probability of each label",
}
ANSWERS = "the answers given"
MOST_RUNS = 50


@dataclass(frozen=True, kw_only=True)
class ComparedRows:
    """What a run's numbers speak of: its rows, their labels, and the claim that is audited.

    `ids` is the digest of the row ids, empty where the file has none; `names` are the classes;
    `extents` the digest of groups and weights, empty where there are neither.
    """

    n: int
    labels: str
    ids: str
    claim: str
    names: tuple[str, ...]
    extents: str = ""

    @classmethod
    def of(cls, predictions: Predictions) -> "ComparedRows":
        """Return the digests of a split's labels and row ids."""
        ids = predictions.row_ids
        return cls(
            n=predictions.n,
            labels=digest(predictions.labels),
            ids=digest(*ids) if ids else "",
            claim=CLAIMS.get(predictions.task, ANSWERS),
            names=predictions.class_names,
            extents=""
            if predictions.extents.independent
            else digest(*_columns(predictions.extents)),
        )


def _columns(extents: Extents) -> list[Float | str]:
    """Return groups and weights in their order, with an empty text for what there is not."""
    return ["" if column is None else column.astype(np.float64) for column in extents]


@dataclass(frozen=True)
class Compared:
    """One run, ready to be compared with any other: rows, single audit and paired draws."""

    rows: ComparedRows
    audit: Audit
    draws: Mapping[str, MetricDraws]


@dataclass(frozen=True)
class Comparison:
    """Differences of runs from a reference.

    Attributes
    ----------
    reason : str
        Why the runs cannot be ranked; empty where they can.
    reference : int
        Position of the reference among the runs.
    level : float
        Of every difference: with m differences 1 - (1 - 0.95) / m, so that all of one metric hold
        together at 95 % (Bonferroni).
    differences : tuple of mapping
        One a run in their order, by metric; empty for the reference and where nothing is ranked.
    best : mapping of str to int
        By metric, the run that does better than every other beyond chance at that level; a metric
        by which the best run is tied with another is left out.
    """

    reason: str
    reference: int
    level: float
    differences: tuple[Mapping[str, Difference], ...]
    best: Mapping[str, int] = field(default_factory=dict)


def compared(predictions: Predictions, more: tuple[str, ...] = ()) -> Compared:
    """Return what a comparison needs of one run; worth caching by the digest of the split.

    Parameters
    ----------
    predictions : Predictions
        The rows.
    more : tuple of str
        Metrics of `core.metrics.paired.PAIRABLE` beside the usual ones.
    """
    metrics = tuple(dict.fromkeys((*PAIRED, *more)))
    own = audit(predictions, AuditConfig(metrics=metrics))
    paired = draws(predictions, own.main.noise_floor, metrics)
    return Compared(ComparedRows.of(predictions), own, paired)


def compare(
    runs: Sequence[Compared], names: Sequence[str], reference: int, *, level: float = LEVEL
) -> Comparison:
    """Return the paired differences of every run from the reference, by metric.

    Parameters
    ----------
    runs : sequence of Compared
        Two or more.
    names : sequence of str
        What the runs are called, for the reason.
    reference : int
        Which of them the others are compared with.
    level : float
        Of all differences of one metric together.
    """
    each = 1.0 - (1.0 - level) / max(1, len(runs) - 1)
    reason = why_not([run.rows for run in runs], names)
    differences = []
    for i, run in enumerate(runs):
        base = runs[reference].draws
        alike = [] if reason or i == reference else [m for m in run.draws if m in base]
        differences.append({m: difference(run.draws[m], base[m], each) for m in alike})
    best = {} if reason else {m: _best([run.draws.get(m) for run in runs], each) for m in METRICS}
    known = {metric: i for metric, i in best.items() if i is not None}
    return Comparison(reason, reference, each, tuple(differences), known)


def _best(runs: Sequence[MetricDraws | None], level: float) -> int | None:
    """Return the run that does better than every other by a metric, or None.

    Whichever run is truly best, another is named only where it beats that one: one of m - 1
    events. So with m - 1 differences sharing the error, as those from a reference do, a wrong run
    is named in at most 5 of 100 comparisons, although the best of many was looked for; where
    several are truly best, naming any of them counts as wrong.
    """
    known = {i: run for i, run in enumerate(runs) if run is not None and run.value is not None}
    if len(known) < 2:
        return None
    sign = -1.0 if METRICS[next(iter(known.values())).metric].better == "higher" else 1.0
    order = sorted(known, key=lambda i: sign * (known[i].value or 0.0))
    first = order[0]
    ahead = (difference(known[first], known[i], level) for i in order[1:])  # the closest first
    return first if all(each.low is not None and not each.tie for each in ahead) else None


def why_not(rows: Sequence[ComparedRows], names: Sequence[str]) -> str:
    """Return why runs cannot be ranked against each other; empty where they can.

    Row ids are compared among the runs whose files have them.
    """
    for i, other in enumerate(rows[1:], 1):
        reason = _difference(rows[0], other, f"“{names[0]}”", f"“{names[i]}”")
        if reason:
            return reason
    named = [i for i, compared in enumerate(rows) if compared.ids]
    for i in named[1:]:
        if rows[i].ids != rows[named[0]].ids:
            first, second = f"“{names[named[0]]}”", f"“{names[i]}”"
            return f"{first} and {second} name their rows differently, or in another order."
    return ""


def _difference(reference: ComparedRows, other: ComparedRows, first: str, second: str) -> str:
    if reference.claim != other.claim:
        return f"{first} is judged by {reference.claim}, {second} by {other.claim}."
    if reference.n != other.n:
        return f"{first} has {reference.n:,} rows, {second} has {other.n:,}."
    if reference.labels != other.labels:
        return f"{first} and {second} have different labels, or the same in another order."
    if reference.extents != other.extents:
        return (
            f"{first} and {second} do not say the same of which rows belong together, "
            "or of their weights: read both with the same columns."
        )
    if reference.names != other.names and sorted(reference.names) == sorted(other.names):
        return f"{first} and {second} list the same classes in another order."
    return ""
