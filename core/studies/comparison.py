"""What a comparison needs of several runs, and which settings tell trained runs apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

import numpy as np

from core.arrays import Float, Int
from core.defaults import ACTS_AT
from core.errors import UsageError
from core.fields import JsonObject
from core.metrics.clinical import net_benefit
from core.metrics.comparison import Compared, Comparison, Leader, compare_all, compared
from core.metrics.paired import Difference
from core.metrics.records import Score
from core.ood.intervals import auroc_difference
from core.predictions import Predictions, Task
from core.progress import stage
from core.studies.reliability import Source, loaded
from core.training.config import from_json


@dataclass(frozen=True)
class RunAnswers:
    """What one run answers for every row, how sure it is, and what it calls its classes."""

    predicted: Int
    confidence: Float
    class_names: tuple[str, ...]

    @classmethod
    def of(cls, predictions: Predictions) -> "RunAnswers | None":
        """Return a run's answers; None of labels, each of which is a question of its own."""
        if predictions.task is Task.MULTILABEL:
            return None
        rows = predictions.rows
        return cls(rows.predicted, rows.confidence, predictions.class_names)


@dataclass(frozen=True)
class DisputedRow:
    """A row that runs answer differently: its position, its label, answers and confidences."""

    row: int
    label: int
    predicted: tuple[int, ...]
    confidence: tuple[float, ...]


def disagreements(
    runs: Sequence[RunAnswers], labels: Int, most: int
) -> tuple[int, tuple[DisputedRow, ...]]:
    """Return how many rows are answered differently, and those where runs are surest.

    Parameters
    ----------
    runs : sequence of RunAnswers
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
        DisputedRow(
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
        event.confidence, event.correct, [threshold], level=level, sampling=rows.sampling
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
    event, sampling, level = risks[0].correct, rows[0].sampling, runs[0].config.level
    counted = event if sampling.weights is None else event[sampling.weights > 0.0]
    reference = comparison.reference
    one_outcome = counted.all() or not counted.any()
    why = runs[reference].audit.main.metrics[AUROC].reason if one_outcome else ""
    pairs = len(rows) * (len(rows) - 1) // 2
    each = 1.0 - (1.0 - level) / pairs
    sides = sampling.take(~event), sampling.take(event)
    groups = sides[0].groups, sides[1].groups
    weights = sides[0].weights, sides[1].weights

    def auroc_less(i: int, other: int) -> Difference:
        if why:
            return Difference.undefined(AUROC, each, rows[i].n, why)
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

    `runs`, `rows`: what is compared, and what it was computed of; `threshold`: the risk that net
    benefit acts from.
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


def of_source(source: Source) -> Compared:
    """Return what a comparison needs of a run; raises as `Library.load`."""
    return compared(source if isinstance(source, Predictions) else source.load())


def of_sources(sources: Sequence[Source]) -> list[Compared]:
    """Return the same of several, of which one is open at a time; say how many are done."""
    found = []
    for i, source in enumerate(sources):
        with stage("", i / len(sources), i / len(sources), 1):
            found.append(of_source(source))
    return found


SEEDS = ("seed", "split_seed")
Setting = float | str


@dataclass(frozen=True)
class Trained:
    """Every setting of a run but seeds that may move its numbers, by dotted name."""

    values: Mapping[str, Setting]


def settings(config: JsonObject | None) -> Trained | None:
    """Return the settings in a training's config that may move its numbers.

    None for what is no config of a training, or one of another version.
    """
    try:
        training = from_json(config)
    except UsageError:
        return None
    values = training.canonical().to_json()
    for key in ("name", *SEEDS):
        del values[key]
    return Trained(dict(_flat(values)))


def _flat(config: Mapping[str, object], above: str = "") -> list[tuple[str, Setting]]:
    """Return the plain values of nested JSON; those that are null are left out."""
    found: list[tuple[str, Setting]] = []
    for key, value in config.items():
        if isinstance(value, dict):
            found += _flat(value, f"{above}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append((above + key, float(value)))
        elif value is not None:
            found.append((above + key, str(value)))
    return found


def seed_groups(runs: Sequence[Trained | None]) -> tuple[tuple[int, ...], ...]:
    """Return the positions of runs that differ in their seed alone, in order of the first.

    A run whose settings are unknown is a group of its own.
    """
    groups: dict[object, list[int]] = {}
    for i, run in enumerate(runs):
        key = i if run is None else tuple(sorted(run.values.items()))
        groups.setdefault(key, []).append(i)
    return tuple(tuple(group) for group in groups.values())


def varied(runs: Sequence[Trained | None]) -> tuple[str, ...]:
    """Return the settings that at least two runs have and in which any differ, in their order."""
    known = [run.values for run in runs if run is not None]
    names = dict.fromkeys(name for values in known for name in values)
    by_name = {name: [values[name] for values in known if name in values] for name in names}
    return tuple(name for name, found in by_name.items() if len(found) > 1 and len(set(found)) > 1)


@dataclass(frozen=True)
class SeedSummary:
    """Mean over seeds and the sample's standard deviation, None of one run; fractions."""

    n: int
    mean: float
    spread: float | None


def summary(values: Sequence[float]) -> SeedSummary:
    """Return mean and standard deviation (n - 1 below the line) of one or more runs."""
    return SeedSummary(len(values), fmean(values), stdev(values) if len(values) > 1 else None)
