"""Comparing runs: whether they speak of the same rows, and by how much they differ; numpy only."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import NormalDist

import numpy as np

from core.arrays import Float, digest, row_chunks
from core.configs import AuditConfig
from core.defaults import LEVEL, SEED
from core.metrics import METRICS
from core.metrics.paired import PAIRED, Difference, MetricDraws, difference, draws
from core.metrics.records import Audit, Score
from core.metrics.suite import audit
from core.metrics.votes import DISTANCE, distance
from core.predictions import Predictions, Task


def every_pair_level(draws: Sequence[Float], level: float) -> float:
    """Return the level of each difference at which those of all pairs hold together.

    Parameters
    ----------
    draws : sequence of (R,) float64
        One metric of each run on the same resamples.
    level : float
        Of all pairs together.

    Returns
    -------
    float
        `level` for two runs. Else what the normal quantile c leaves inside, where c is the
        quantile at `level`, over the resamples, of the largest standardised difference of any
        pair (max-T; Westfall & Young 1993, Hothorn, Bretz & Westfall 2008). At most that of
        Bonferroni, which needs no resamples.

    Examples
    --------
    >>> every_pair_level([np.arange(4.0), np.ones(4)], 0.95)  # two runs are one pair
    0.95

    Of three runs the largest differences are 11/7, 1, 5/7 and 1/7 standard deviations. Of four
    resamples and the sample itself half are 2.5, so that c is the third smallest: 1.

    >>> run = np.array([11.0, -7.0, -5.0, 1.0])  # of mean 0 and standard deviation 7
    >>> round(every_pair_level([run, np.zeros(4), -run], 0.5), 4)
    0.6827
    """
    pairs = len(draws) * (len(draws) - 1) // 2
    if pairs < 2:
        return level
    rounds = min(run.size for run in draws)
    scattered = np.array([run[:rounds] - run[:rounds].mean() for run in draws])
    largest = np.zeros(rounds)
    # Every pair once: each run against all that follow it.
    for i in range(1, len(scattered)):
        gaps = scattered[i:] - scattered[i - 1]
        spread = gaps.std(axis=1, keepdims=True)
        standard = np.divide(np.abs(gaps), spread, where=spread > 0.0, out=np.zeros_like(gaps))
        largest = np.maximum(largest, standard.max(axis=0))
    exact = min(1.0, level * (rounds + 1) / rounds)  # of so many draws and the sample itself
    # No wider than Bonferroni's, which holds whatever the runs have in common.
    within = 2.0 * NormalDist().cdf(float(np.quantile(largest, exact, method="higher"))) - 1.0
    return min(max(level, within), 1.0 - (1.0 - level) / pairs)


CLAIMS = {Task.BINARY: "the risk of one class", Task.MULTILABEL: "the probability of each label"}
ANSWERS = "the answers given"
MOST_RUNS = 50
RANKED = (*METRICS, DISTANCE)
OF_RISKS = {Task.BINARY: ("auroc", "slope"), Task.MULTILABEL: ("auroc",)}  # which nothing resamples
MEANS = ("accuracy", "brier", "nll")  # over the rows, which equal runs have in common
SKETCHED = 16  # means that a sketch holds
SAME = 1e-6  # root mean square over the rows: what rounding leaves of equal scores
OTHER_VOTES = "people voted otherwise on the reference's rows, or on others of them"


@dataclass(frozen=True, kw_only=True)
class ComparedRows:
    """What a run's numbers speak of: its rows, their labels, and the claim that is audited.

    `ids` is the digest of the row ids, empty where the file has none; `names` are the classes;
    `extents` the digest of groups and weights, `votes` that of what people said, each empty where
    there is none. `sketch` is that of the probabilities (`_sketch`); empty where nobody asked.
    """

    n: int
    labels: str
    ids: str
    claim: str
    names: tuple[str, ...]
    extents: str = ""
    votes: str = ""
    sketch: tuple[float, ...] = ()

    @property
    def event(self) -> str:
        """Name of the class whose risk is audited; empty of answers and of many labels."""
        return self.names[1] if self.claim == CLAIMS[Task.BINARY] else ""

    @classmethod
    def of(cls, predictions: Predictions) -> "ComparedRows":
        """Return the digests of a split's labels and row ids."""
        ids, extents = predictions.row_ids, ""
        if not predictions.sampling.independent:  # an empty text for what there is not
            columns = predictions.sampling
            extents = digest(*("" if c is None else c.astype(np.float64) for c in columns))
        return cls(
            n=predictions.n,
            labels=digest(predictions.labels),
            ids=digest(*ids) if ids else "",
            claim=CLAIMS.get(predictions.task, ANSWERS),
            names=predictions.class_names,
            extents=extents,
            votes="" if predictions.votes is None else digest(predictions.votes.of_row),
        )


def _sketch(predictions: Predictions) -> tuple[float, ...]:
    """Return means over the rows of all that is stated, each with weights of its own.

    Weights are normal, one a class times one a row: means of two runs differ by rms(d) / sqrt(N),
    where d are the differences of rows, as resamples of means do.
    """
    answers_only = predictions.task is Task.TOP_LABEL
    of_class = np.random.default_rng(SEED).normal(size=predictions.n_classes)
    rng, sketch = np.random.default_rng([SEED, 1]), np.zeros(SKETCHED)
    for rows in row_chunks(predictions.n, max(SKETCHED, predictions.n_classes)):
        if answers_only:
            stated = predictions.rows.confidence[rows] * of_class[predictions.rows.predicted[rows]]
        else:
            stated = predictions.probabilities(rows) @ of_class
        sketch += stated @ rng.normal(size=(stated.size, SKETCHED))
    return tuple((sketch / predictions.n).tolist())


@dataclass(frozen=True)
class Compared:
    """One run, ready to be compared with any other: rows, single audit and paired draws.

    `distance` is that from people, None where nobody voted; it is not among the audit's metrics.
    `config` holds the settings of all three.
    """

    rows: ComparedRows
    audit: Audit
    draws: Mapping[str, MetricDraws]
    distance: Score | None = None
    config: AuditConfig = field(default_factory=AuditConfig)

    def score(self, metric: str) -> Score | None:
        """Return a metric with its interval; None where the run has none."""
        return self.distance if metric == DISTANCE else self.audit.main.metrics.get(metric)


@dataclass(frozen=True)
class Leader:
    """The run with the best value of a metric, and how far every other is from it.

    `others` holds each other run's metric minus the leader's, by its position.
    """

    run: int
    others: Mapping[int, Difference]

    @property
    def tied(self) -> tuple[int, ...]:
        """The other runs that cannot be told from it, in their order."""
        return tuple(i for i, other in self.others.items() if other.tie or other.low is None)


@dataclass(frozen=True)
class Comparison:
    """Differences of runs from a reference."""

    reason: str  # why the runs cannot be ranked; empty where they can
    reference: int  # position of the reference among the runs
    level: float  # of every difference; where it differs by metric, the lowest
    # One a run in their order, by metric; empty for the reference and where nothing is ranked
    differences: tuple[Mapping[str, Difference], ...]
    # By metric, the run with the best value, at the levels of the differences
    leaders: Mapping[str, Leader] = field(default_factory=dict)
    # The class whose risk the calibration errors are of, as the reference names it; or empty
    event: str = ""
    # Two or more runs that give the same probabilities on every row, in their order
    same: tuple[tuple[int, ...], ...] = ()

    @cached_property
    def best(self) -> dict[str, int]:
        """By metric, the run that does better than every other beyond chance, where one does."""
        return {metric: leader.run for metric, leader in self.leaders.items() if not leader.tied}


def compared(
    predictions: Predictions, more: tuple[str, ...] = (), config: AuditConfig | None = None
) -> Compared:
    """Return what a comparison needs of one run; worth caching by the digest of the split.

    The audit also holds AUROC and slope of two classes, and of many labels the mean AUROC.

    `more`: metrics of `core.metrics.paired.PAIRABLE` beside the usual ones; `config`: settings, but
    for the metrics; the product's defaults when left out.
    """
    metrics = tuple(dict.fromkeys((*PAIRED, *more)))
    of_risks = OF_RISKS.get(predictions.task, ())
    config = replace(config or AuditConfig(), metrics=(*metrics, *of_risks))
    own = audit(predictions, config)
    rounds, seed = config.n_resamples, config.seed
    paired = draws(
        predictions,
        own.main.noise_floor,
        metrics,
        n_resamples=rounds,
        seed=seed,
        n_bins=config.n_bins,
    )
    rows, score = replace(ComparedRows.of(predictions), sketch=_sketch(predictions)), None
    if predictions.votes is not None and predictions.votes.voted.size:
        score, paired[DISTANCE] = distance(
            predictions, level=config.level, n_resamples=rounds, seed=seed
        )
    return Compared(rows, own, paired, score, config)


def compare(
    runs: Sequence[Compared], names: Sequence[str], reference: int, *, level: float | None = None
) -> Comparison:
    """Return the paired differences of every run from one that was chosen beforehand, by metric.

    With m differences each is at 1 - (1 - level) / m, so that those of one metric hold together
    (Bonferroni).

    `names`: what the runs are called, for the reason; `reference`: which of them the others are
    compared with; `level`: of all differences of one metric together; that of the runs' own
    intervals when left out.
    """
    level = runs[reference].config.level if level is None else level
    each = 1.0 - (1.0 - level) / max(1, len(runs) - 1)
    levels = dict.fromkeys(RANKED, each)
    return _comparison(runs, names, reference, levels)


def compare_all(
    runs: Sequence[Compared], names: Sequence[str], reference: int, *, level: float | None = None
) -> Comparison:
    """Return the same where any run may be held against any other.

    Each difference is at the level at which those of all pairs hold together, by metric
    (`every_pair_level`): so the leader and the reference may be picked by what is seen.
    """
    level = runs[reference].config.level if level is None else level
    runs = _as_first(runs)
    levels = {
        metric: every_pair_level([run.draws for run in _known(runs, metric).values()], level)
        for metric in RANKED
    }
    return _comparison(runs, names, reference, levels)


def _comparison(
    runs: Sequence[Compared], names: Sequence[str], reference: int, levels: Mapping[str, float]
) -> Comparison:
    reason = why_not([run.rows for run in runs], names)
    runs, differences = _as_first(runs), []
    for i, run in enumerate(runs):
        base = runs[reference].draws
        alike = [] if reason or i == reference else [m for m in run.draws if m in base]
        other_votes = run.rows.votes != runs[reference].rows.votes
        differences.append(
            {
                m: Difference.undefined(m, levels[m], run.rows.n, OTHER_VOTES)
                if m == DISTANCE and other_votes
                else difference(run.draws[m], base[m], levels[m])
                for m in alike
            }
        )
    of_each = {} if reason else {m: _leader(_known(runs, m), m, levels) for m in RANKED}
    leaders = {metric: leader for metric, leader in of_each.items() if leader is not None}
    lowest = min(levels.values(), default=LEVEL)
    event = runs[reference].rows.event
    # Runs that give the same probabilities are named as the same, not as tied by chance.
    firsts = [] if reason else _firsts(runs)
    every = (tuple(i for i, at in enumerate(firsts) if at == first) for first in sorted({*firsts}))
    same = tuple(members for members in every if len(members) > 1)
    return Comparison(reason, reference, lowest, tuple(differences), leaders, event, same)


def _as_first(runs: Sequence[Compared]) -> list[Compared]:
    """Return runs with the draws of the first that gives the same probabilities.

    What rounding leaves between the two would decide ties and the edges of bins.
    """
    as_first = []
    for run, first in zip(runs, _firsts(runs), strict=True):
        own = runs[first].draws
        drawn = {m: d if m == DISTANCE else own.get(m, d) for m, d in run.draws.items()}
        as_first.append(replace(run, draws=drawn))
    return as_first


def _firsts(runs: Sequence[Compared]) -> list[int]:
    """Return by run the position of the first that gives the same probabilities, or its own."""
    firsts: list[int] = []
    for i, run in enumerate(runs):
        same = (k for k in dict.fromkeys(firsts) if _same(runs[k], run))
        firsts.append(next(same, i))
    return firsts


def _same(run: Compared, other: Compared) -> bool:
    """Whether sketches are the same, and means and signed gap on every resample.

    Means alone do not see which wrong class has which probability. Resamples of the mean of a
    difference of rows d scatter by rms(d) / sqrt(N).
    """
    alike = ("n", "labels", "claim", "extents")
    means = [m for m in MEANS if m in run.draws and run.draws[m].value is not None]
    if (
        not means
        or not run.rows.sketch
        or any(getattr(run.rows, key) != getattr(other.rows, key) for key in alike)
    ):
        return False
    if any(m not in other.draws or other.draws[m].draws.size < 2 for m in means):
        return False
    # Rounding alone leaves means of resamples this close, and a sketch of all that is stated.
    pairs = [(run.draws[m].draws, other.draws[m].draws) for m in means]
    pairs.append((run.draws[means[0]].gap, other.draws[means[0]].gap))
    pairs.append((np.array(run.rows.sketch), np.array(other.rows.sketch)))
    if any(own.size != others.size for own, others in pairs):
        return False
    scatter = max(float(np.sqrt(np.mean((own - others) ** 2))) for own, others in pairs)
    return bool(scatter * run.rows.n**0.5 < SAME)


def _known(runs: Sequence[Compared], metric: str) -> dict[int, MetricDraws]:
    """Return the draws of the runs in which a metric has a value, by position.

    Distances from other people are no one metric, so that none is known where votes differ.
    """
    voted = {run.rows.votes for run in runs if DISTANCE in run.draws}
    if metric == DISTANCE and len(voted) > 1:
        return {}
    draws = {i: run.draws[metric] for i, run in enumerate(runs) if metric in run.draws}
    return {i: run for i, run in draws.items() if run.value is not None}


def best(runs: Sequence[Compared], metric: str) -> int:
    """Return the run with the best value, the first of equal ones or where none has a value."""
    scores = [run.score(metric) for run in runs]
    values = [
        math.inf if score is None or score.value is None else _sign(metric) * score.value
        for score in scores
    ]
    return values.index(min(values))


def _sign(metric: str) -> float:
    """Return what a metric is multiplied by so that less is better."""
    return -1.0 if metric in METRICS and METRICS[metric].better == "higher" else 1.0


def _leader(
    known: Mapping[int, MetricDraws], metric: str, levels: Mapping[str, float]
) -> Leader | None:
    """Return the run with the best value and the differences of all others, the closest first.

    Whichever run is truly best, another is called better than every other only where it beats
    that one: one of the differences that hold together.
    """
    if len(known) < 2:
        return None
    sign = _sign(metric)
    first, *others = sorted(known, key=lambda i: sign * (known[i].value or 0.0))
    return Leader(first, {i: difference(known[i], known[first], levels[metric]) for i in others})


def why_not(rows: Sequence[ComparedRows], names: Sequence[str]) -> str:
    """Return why runs cannot be ranked against each other; empty where they can.

    Row ids are compared among the runs whose files have them.

    Examples
    --------
    >>> first = ComparedRows(n=3, labels="", ids="", claim=ANSWERS, names=("cat", "dog"))
    >>> why_not([first, replace(first, n=4)], ["A", "B"])
    '“A” has 3 rows, “B” has 4.'
    >>> why_not([first, replace(first, names=("dog", "cat"))], ["A", "B"])
    '“A” and “B” list the same classes in another order.'
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
        own, theirs = (
            f"the risk of “{rows.event}”" if rows.event else rows.claim
            for rows in (reference, other)
        )
        return f"{first} is judged by {own}, {second} by {theirs}."
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
