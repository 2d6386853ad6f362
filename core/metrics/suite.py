"""The audit of a split: every metric with interval, floor, bins and verdict; numpy only.

`audit` is for reports and the command line, `prepare` and `diagram` for a page whose slider moves:
all read the same resamples, so the same question has the same answer to the last bit.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from core.arrays import Int
from core.codes import NoticeCode, RefusalCode
from core.configs import AuditConfig, BinRule
from core.defaults import FALSE_ALARMS, HEAVY_CELLS, N_BINS_MIN, N_RESAMPLES_HEAVY, S99
from core.errors import UsageError
from core.metrics import METRICS, estimates, macro
from core.metrics.classwise import AnswersOfRows, ClassSums, answer_sums, class_bins, class_sums
from core.metrics.clinical.curve import ERRORS
from core.metrics.estimates import (
    SCORES,
    Estimate,
    PreparedTarget,
    clinical_scores,
    curve_estimates,
)
from core.metrics.few_errors import brier_losses, nll_losses
from core.metrics.intervals import exact_interval
from core.metrics.notices import (
    extent_notices,
    infinite_rows,
    nll_reason,
    notices,
    summary_of,
    weight_summary,
)
from core.metrics.null_test import Null, NullTest, Zone
from core.metrics.proper import brier, nll, nll_rows
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import (
    Audit,
    ClassRow,
    Gap,
    MixedEnd,
    Score,
    Setting,
    Statistic,
    TargetAudit,
)
from core.metrics.resampling import Resamples
from core.metrics.top_label import answers
from core.metrics.verdict import costly_class_sentence, mixed_ends, verdict
from core.predictions import Outcomes, Predictions, Task

T = TypeVar("T")
NEEDS_SCORES = "needs full class scores"
ALL_ANSWERS = "here ece is of the answers"
POSITIVE = tuple(key for key, metric in METRICS.items() if metric.needs == "positive")
OF_ANSWERS = [
    key
    for key, metric in METRICS.items()
    if metric.of in ("answers", "every class") and key != "classwise_ece"
]
OF_PRINT = [key for key, metric in METRICS.items() if metric.of_print]
DEFAULT = tuple(key for key in METRICS if key not in OF_PRINT)
OF_LABELS = {"classwise_ece", "ece_answer", *OF_PRINT}  # what one label has none of
UNAVAILABLE: dict[Task, Mapping[str, str]] = {
    Task.TOP_LABEL: {
        **dict.fromkeys((k for k, m in METRICS.items() if m.needs == "scores"), NEEDS_SCORES),
        "ece_answer": ALL_ANSWERS,
        **dict.fromkeys(POSITIVE, "needs the score of a positive class"),
    },
    Task.MULTICLASS: {
        "ece_answer": ALL_ANSWERS,
        **dict.fromkeys(POSITIVE, "needs two classes, or many labels"),
    },
    Task.BINARY: {},
    Task.MULTILABEL: {
        "classwise_ece": "for labels this is the mean ECE over labels: see ece",
        "ece_answer": "labels are not answers of which one is right",
        **dict.fromkeys(OF_PRINT, "papers print it of answers"),
        **dict.fromkeys(macro.SIGNED, "a mean over labels would hide errors of opposite sign"),
    },
}
NAMES = {"top_label": "answers given"}


def prepare(
    predictions: Predictions,
    target: int | None,
    *,
    n_resamples: int,
    seed: int,
    n_bins: int = N_BINS_MIN,
) -> PreparedTarget:
    """Sort and resample one target once; worth caching by digest, target, resamples and seed.

    Parameters
    ----------
    target : int or None
        None: the answers given. A number: the probability of that class or label against its
        occurrence. `predictions.default_target` is what the audit of a file speaks of.
    n_resamples, seed : int
        Of the bootstrap and of the noise floor.
    n_bins : int
        Only for a number of bins outside 5..50 that `diagram` will be asked for.

    Returns
    -------
    PreparedTarget
        What `diagram` reads.
    """
    claims = _claims(predictions, target)
    draws = {"n_resamples": n_resamples, "seed": seed, "n_bins": n_bins}
    event = predictions.default_target
    two_classes = predictions.task is Task.BINARY and target in (None, event)
    if not two_classes or np.unique(predictions.rows.predicted).size > 1:
        return _resampled(claims, **draws)
    if predictions.rows.confidence.min() <= 0.5:  # of ties, answers are right by another rule
        return _resampled(claims, **draws)
    other = _claims(predictions, event if target is None else None)  # and not all the scores
    # the one class is off by what the mean is: a statistic more would test one of the two more
    claims, other = (each._replace(classes=None) for each in (claims, other))
    return replace(_resampled(claims, **draws), make_mirror=partial(_resampled, other, **draws))


class _TargetInput(NamedTuple):
    """What is read of predictions to prepare one target."""

    name: str
    target: int | None
    of: str
    outcomes: Outcomes
    groups: str | None
    classes: ClassSums | None = None
    answers: AnswersOfRows | None = None


def _claims(predictions: Predictions, target: int | None) -> _TargetInput:
    of, groups = _kind_of_target(predictions, target), predictions.groups
    column = None if groups is None else groups.name
    if target is not None:
        name = predictions.class_names[target]
        return _TargetInput(name, target, of, predictions.outcomes(target), column)
    outcomes, names = answers(predictions), predictions.class_names
    own = AnswersOfRows(outcomes, predictions.rows.predicted, names)
    return _TargetInput(NAMES[of], None, of, outcomes, column, class_sums(predictions), own)


def _resampled(claims: _TargetInput, *, n_resamples: int, seed: int, n_bins: int) -> PreparedTarget:
    ranked = SortedOutcomes.of(claims.outcomes)
    return PreparedTarget(
        name=claims.name,
        target=claims.target,
        of=claims.of,
        resamples=Resamples.of(ranked, n_resamples, seed, n_bins=n_bins),
        n_resamples=n_resamples,
        seed=seed,
        groups=None if claims.groups is None else summary_of(claims.groups, ranked),
        classes=claims.classes,
        answers=claims.answers,
    )


def _kind_of_target(predictions: Predictions, target: int | None) -> str:
    if target is None:
        return "top_label"
    if predictions.task is Task.MULTILABEL:
        return "label"
    return "positive_class" if predictions.task is Task.BINARY and target == 1 else "one_vs_rest"


def diagram(
    prepared: PreparedTarget,
    *,
    n_bins: int,
    rule: BinRule = BinRule.EQUAL_WIDTH,
    level: float,
    zone: Zone | None = None,
) -> TargetAudit:
    """Return what a reliability diagram shows, quickly enough for a slider.

    `n_bins`: 5 to 50, or the number `prepare` was given; `rule`: equal width or equal mass; `zone`:
    what is too little to matter; the product's defaults when left out.

    Returns
    -------
    TargetAudit
        Its metrics and noise floor hold the ECE of that rule only.

    Examples
    --------
    Four risks of 0.75 of an event that came twice: off by 0.25, in one bin.

    >>> from core.predictions import ScoreKind
    >>> risks, came = np.full(4, 0.75), np.array([0, 0, 1, 1])
    >>> of_two = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, risks, came)
    >>> target = diagram(prepare(of_two, 1, n_resamples=50, seed=0), n_bins=5, level=0.95)
    >>> target.bins.count.tolist(), target.metrics["ece"].value, target.direction.gap
    ([0, 0, 0, 4, 0], 0.25, 0.25)
    """
    metric = estimates.ECE_OF[rule]
    score, floor = estimates.error_of(prepared, metric, n_bins=n_bins, level=level)
    bins = estimates.bin_table(prepared, n_bins, rule, level)
    gap = estimates.direction(prepared, level)
    event = None if prepared.target is None else prepared.name
    cuts_of, mirror = estimates.BINNED[metric].cuts, prepared.mirror
    cuts = cuts_of(prepared.ranked, n_bins)
    # Event and answers that claim the same of the same rows share one test.
    if mirror is None:
        test = prepared.null.test(cuts, zone)
    else:
        mirrored = (mirror.null, cuts_of(mirror.ranked, n_bins))
        test = _shared((prepared.null, cuts), mirrored, zone)
    # Sides of a mixed target are decided by intervals that hold for all bins at once.
    ends: tuple[MixedEnd, ...] = ()
    if test.p_value <= FALSE_ALARMS:
        at_once = estimates.bin_table(prepared, n_bins, rule, 1 - (1 - level) / n_bins)
        ends = mixed_ends(bins, at_once, test.bins)
    grouped = prepared.ranked.groups is not None
    judged = verdict(gap, bins, (score, floor), test, ends, event=event, grouped=grouped)
    # Of answers: name the class, if any, that alone makes the gap of the costliest bin.
    if judged.costly is not None and prepared.answers is not None:
        sure = prepared.ranked.confidence
        first, last = cuts[judged.costly], cuts[judged.costly + 1] - 1
        own = prepared.answers.costly(float(sure[first]), float(sure[last]))
        line = "" if own is None else f" {costly_class_sentence(own)}"
        judged = replace(judged, costly_class=own, text=f"{judged.text}{line}")
    scores, floors, groups = {metric: score}, {metric: floor}, prepared.groups
    return TargetAudit(
        name=prepared.name,
        target=prepared.target,
        metrics=scores,
        noise_floor=floors,
        direction=gap,
        verdict=judged,
        bins=replace(bins, could_be_chance=test.p_value > FALSE_ALARMS),
        groups=groups,
    )


def _shared(own: tuple[Null, Int], other: tuple[Null, Int], zone: Zone | None) -> NullTest:
    """Return the test of event or answers where they claim the same of the same rows.

    Each is a test with its bins. Their draws differ, so each statistic has the larger of both
    p-values, and what is to be shown of one is shown of both: one output has one verdict.
    """
    both = [null.test(cuts, zone) for null, cuts in (own, other)]
    # Each statistic has the larger p-value of both, and both are tested again with it.
    least = {look: max(getattr(test, look) for test in both) for look in Statistic}
    test, mirrored = (null.test(cuts, zone, least) for null, cuts in (own, other))
    if test.p_value <= FALSE_ALARMS:
        small = None if mirrored.small is None else test.small
        return replace(test, small=small, sided=test.sided and mirrored.sided)
    powers = {
        key: min(power, mirror)
        for key in ("power", "power_odds", "power_spread")
        if (power := getattr(test, key)) is not None
        and (mirror := getattr(mirrored, key)) is not None
    }
    return replace(test, open_to=test.open_to or mirrored.open_to, **powers)


def audit(predictions: Predictions, config: AuditConfig | None = None) -> Audit:
    """Compute every metric the scores support, each with its interval.

    Returns
    -------
    Audit
        For binary tasks bins, ECE and its family speak of the probability of class 1, accuracy,
        NLL, Brier, s99 and AURC of the answers; settings say which (`of`). Its `answers` have the
        direction, verdict, bins and ECE of the answers.

    Raises
    ------
    UsageError
        SETTING: a metric that does not exist.

    Examples
    --------
    >>> from core.predictions import ScoreKind
    >>> risks, came = np.full(4, 0.75), np.array([0, 0, 1, 1])
    >>> of_two = Predictions(Task.BINARY, ScoreKind.PROBABILITIES, risks, came)
    >>> main = audit(of_two, AuditConfig(metrics=("accuracy", "auroc"), n_resamples=50)).main
    >>> main.metrics["accuracy"].value, main.metrics["auroc"].value  # all answer 1; all are tied
    (0.5, 0.5)
    """
    config = config or AuditConfig()
    unknown = sorted(set(config.metrics) - set(METRICS))
    if unknown:
        raise UsageError(
            RefusalCode.SETTING,
            f"Metric {unknown[0]!r} is unknown",
            f"use one of {', '.join(METRICS)}",
        )
    largest = None
    if predictions.task is Task.MULTILABEL:
        audits = (
            _audit_target(label_predictions(predictions, k), config, kind="label")
            for k in range(predictions.n_classes)
        )
        labels = tuple(replace(of_label, target=k) for k, of_label in enumerate(audits))
        main = macro.over_labels(labels, config.level)
        if main.groups is not None and predictions.groups is not None:  # not of one label alone
            sizes = np.bincount(predictions.groups.of_row)
            largest = int(sizes.max())
            main = replace(main, groups=replace(main.groups, n=sizes.size))
    else:
        labels, main = (), _audit_target(predictions, config)
    # Of two classes the event and the answers given are audited, each with a verdict.
    answered = None
    if predictions.task is Task.BINARY:
        main, answered = _audit_answers(predictions, main, config)
    metrics = config.metrics or DEFAULT
    reasons = UNAVAILABLE[predictions.task]
    noted = notices(predictions, nll_clip=config.nll_clip)
    noted += extent_notices(main.groups, predictions)
    doubt = next((note.text for note in noted if note.code == NoticeCode.ALWAYS_RIGHT), None)
    if doubt is not None:  # said first: a verdict on a model's own answers is none
        main = _doubted(main, doubt)
        answered = answered and _doubted(answered, doubt)
    return Audit(
        task=predictions.task.value,
        scores=predictions.kind.value,
        n=predictions.n,
        n_classes=predictions.n_classes,
        notices=noted,
        unavailable={name: why for name, why in reasons.items() if name in metrics},
        main=main,
        labels=labels,
        weights=weight_summary(predictions.weights),
        answers=answered,
        by_answer=answered is not None and predictions.scores.ndim == 2,
        unknown=int(np.count_nonzero(predictions.labels < 0)),
        largest_group=largest,
    )


def _doubted(target: TargetAudit, doubt: str) -> TargetAudit:
    return replace(target, verdict=replace(target.verdict, text=f"{doubt} {target.verdict.text}"))


def label_predictions(predictions: Predictions, index: int) -> Predictions:
    """Return one label of a multi-label file as a binary file, of the rows where it is known.

    Raises Refused EMPTY: it is known in no row of any weight.

    Examples
    --------
    A label that nobody knows of a row leaves the row out.

    >>> from core.predictions import ScoreKind
    >>> labels = np.array([[1, 0], [0, -1]])
    >>> scores = np.array([[0.5, 0.25], [0.5, 0.75]])
    >>> many = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, scores, labels, ("mass", "nodule"))
    >>> label_predictions(many, 1).scores.tolist(), label_predictions(many, 1).class_names
    ([0.25], ('not nodule', 'nodule'))
    """
    name, known = predictions.class_names[index], predictions.labelled_rows(index)
    if known is not None:
        predictions = predictions.take(known)
    return Predictions(
        task=Task.BINARY,
        kind=predictions.kind,
        scores=predictions.scores[:, index],
        labels=predictions.labels[:, index],
        class_names=(f"not {name}", name),
        groups=predictions.groups,
        weights=predictions.weights,
    )


def _diagram(prepared: PreparedTarget, config: AuditConfig) -> TargetAudit:
    return diagram(
        prepared,
        n_bins=config.n_bins,
        rule=config.bins,
        level=config.level,
        zone=Zone(config.small_gap, config.small_slope),
    )


def _audit_target(
    predictions: Predictions, config: AuditConfig, kind: str | None = None
) -> TargetAudit:
    """Audit the default target of a file that is not multi-label."""
    prepared = _prepared(predictions, predictions.default_target, config)
    if kind is not None:  # one of many labels: nothing is said of answers
        prepared = replace(prepared, of=kind, make_mirror=None)
    target_audit = _diagram(prepared, config)
    skip = UNAVAILABLE[predictions.task] if kind is None else OF_LABELS
    metrics = [m for m in (config.metrics or DEFAULT) if m not in skip]
    scores = _answer_scores(predictions, config, metrics)
    # Two classes: what is asked of the risk of the event, not of answers.
    if predictions.task is Task.BINARY:
        scores |= estimates.discrimination(prepared.ranked, config.level, prepared.of)
        if set(SCORES).intersection(metrics):
            scores |= clinical_scores(prepared, level=config.level)
        if "brier_event" in metrics:
            # The clinical (p - y)^2: half the sum over two classes.
            brier = scores.get("brier") or _brier(predictions, config)
            value, low, high = (
                None if end is None else 0.5 * end for end in (brier.value, brier.low, brier.high)
            )
            settings = {**brier.settings, "of": "positive_class", "scale": "(p - y)^2"}
            scores["brier_event"] = replace(
                brier, metric="brier_event", value=value, low=low, high=high, settings=settings
            )
    floors = dict(target_audit.noise_floor)
    for metric, (score, floor) in _errors(predictions, prepared, config, metrics).items():
        scores[metric], floors[metric] = score, floor
    listed = {metric: scores[metric] for metric in metrics if metric in scores}
    return replace(target_audit, metrics=_ordered(listed), noise_floor=_ordered(floors))


def _ordered(entries: Mapping[str, T]) -> dict[str, T]:
    """Return scores or floors in the order of the registry."""
    return {metric: entries[metric] for metric in METRICS if metric in entries}


def _prepared(predictions: Predictions, target: int | None, config: AuditConfig) -> PreparedTarget:
    return prepare(
        predictions, target, n_resamples=config.n_resamples, seed=config.seed, n_bins=config.n_bins
    )


def _audit_answers(
    predictions: Predictions, main: TargetAudit, config: AuditConfig
) -> tuple[TargetAudit, TargetAudit]:
    """Return the audit of two classes' event, `main`, with `ece_answer`, and that of the answers.

    The answers have the ECE of their bins and, from `main`, the scores that are of answers.
    """
    prepared = _prepared(predictions, None, config)
    shown = _diagram(prepared, config)
    error, floor = estimates.error_of(prepared, "ece", n_bins=config.n_bins, level=config.level)
    own = {metric: main.metrics[metric] for metric in OF_ANSWERS if metric in main.metrics}
    answered = replace(
        shown,
        metrics=_ordered({"ece": error} | dict(shown.metrics) | own),
        noise_floor=_ordered({"ece": floor} | dict(shown.noise_floor)),
    )
    if config.metrics and "ece_answer" not in config.metrics:
        return main, answered
    scores = dict(main.metrics) | {"ece_answer": replace(error, metric="ece_answer")}
    floors = dict(main.noise_floor) | {"ece_answer": floor}
    return replace(main, metrics=_ordered(scores), noise_floor=_ordered(floors)), answered


def _errors(
    predictions: Predictions, prepared: PreparedTarget, config: AuditConfig, metrics: list[str]
) -> dict[str, Estimate]:
    """Return the calibration errors that have a noise floor."""
    level = config.level
    cells = predictions.n * predictions.n_classes
    many = cells > HEAVY_CELLS or prepared.of == "label"  # one smECE for every label
    rounds = min(N_RESAMPLES_HEAVY, config.n_resamples) if many else config.n_resamples
    bins, smece = config.n_bins, config.smece
    errors = {
        metric: estimates.error_of(
            prepared, metric, n_bins=bins, level=level, smece=smece, rounds=rounds
        )
        for metric in estimates.CLAIM_ERRORS
        if metric in metrics
    }
    if "classwise_ece" in metrics:
        whole = estimates.classwise(prepared, predictions, n_bins=bins, level=level)
        errors["classwise_ece"] = whole
    if set(ERRORS).intersection(metrics):
        errors |= curve_estimates(prepared, level=level, smoother=config.smoother)
    return errors


def _answer_scores(
    predictions: Predictions, config: AuditConfig, metrics: list[str]
) -> dict[str, Score]:
    """Return the scores of the answers given: shares, proper scores, risk and coverage."""
    ranked = SortedOutcomes.of(predictions.outcomes(None))
    level, right = config.level, ranked.correct
    start = int(np.searchsorted(ranked.confidence, S99, side="left"))
    sure = ranked.confidence >= S99
    scores = {
        "accuracy": estimates.proportion("accuracy", ranked, right, level),
        "error": estimates.proportion("error", ranked, ~right, level),
        "s99_share": _at_threshold(estimates.proportion("s99_share", ranked, sure, level)),
        "s99_accuracy": _at_threshold(
            estimates.proportion("s99_accuracy", ranked, right, level, slice(start, None))
        ),
    }
    if "aurc" in metrics:
        scores["aurc"] = estimates.risk(
            ranked, level=level, n_resamples=config.n_resamples, seed=config.seed
        )
    if "nll" in metrics:
        scores["nll"] = _nll(predictions, config)
    if "brier" in metrics:
        scores["brier"] = _brier(predictions, config)
    return scores


def _at_threshold(score: Score) -> Score:
    """Return a score of the surest rows with the confidence from which a row is one."""
    return replace(score, settings={"of": "top_label", "threshold": S99, **score.settings})


def _nll(predictions: Predictions, config: AuditConfig) -> Score:
    settings: dict[str, Setting] = {"of": "every_class", "clip": config.nll_clip}
    rows = nll_rows(predictions, clip=config.nll_clip)
    weights = predictions.weights
    if np.isinf(rows if weights is None else rows[weights.of_row > 0.0]).any():
        reason = nll_reason(infinite_rows(predictions))
        return Score.undefined("nll", config.level, predictions.n, reason, settings)
    draws = (config.n_resamples, config.seed, estimates.STREAM_NLL)
    value = nll(predictions, clip=config.nll_clip)
    losses = nll_losses(predictions, rows, config.nll_clip)
    score = estimates.row_mean(
        "nll", losses, level=config.level, draws=draws, value=value, sampling=predictions.sampling
    )
    return replace(score, settings={**settings, **score.settings})


def _brier(predictions: Predictions, config: AuditConfig) -> Score:
    draws = (config.n_resamples, config.seed, estimates.STREAM_BRIER)
    losses, value = brier_losses(predictions), brier(predictions)
    score = estimates.row_mean(
        "brier", losses, level=config.level, draws=draws, value=value, sampling=predictions.sampling
    )
    settings: dict[str, Setting] = {"of": "every_class", "scale": "sum over classes"}
    return replace(score, settings={**settings, **score.settings})


def class_gaps(
    predictions: Predictions, level: float, *, errors: bool = True, p_joint: float = 0.0
) -> tuple[ClassRow, ...]:
    """Return the per-class table of a file with one answer a row.

    Parameters
    ----------
    predictions : Predictions
        Not multi-label: there each label has an audit of its own.
    level : float
        Of all intervals together: mean confidence minus the exact interval of the accuracy at
        1 - (1 - level) / (classes answered, by ties both), so the confidences are taken as given.
        It is the inverse of the test behind the p-value (exact, Bonferroni): it leaves 0 out where
        that is at most 1 - level, and nowhere else.
    errors : bool
        Whether to return the ECE of each class, for which all scores are read.
    p_joint : float
        p-value of the joint test, `Audit.p_joint`. A class is off only where all together are
        (closed testing): its p-value is at least this one, and where this one is above 1 - level
        its interval reaches 0.

    Returns
    -------
    tuple of ClassRow
        One a class, in the order of the file. Of two classes answers at exactly 0.5 are the first
        one's, as the accuracy counts them; off is only what is off without them, too.
    """
    sums, k = answer_sums(predictions, ties=True), predictions.n_classes
    # An answer at exactly 0.5 counts in its row of the table, and decides nothing.
    tested = answer_sums(predictions) if predictions.task is Task.BINARY else sums
    counted = np.bincount(predictions.rows.predicted, minlength=k)
    labelled = np.bincount(predictions.labels, minlength=k)
    counts = sums.hits / sums.effect, sums.trials / sums.effect
    low, high = exact_interval(*counts, 1.0 - (1.0 - level) / tested.looks)
    errors = errors and predictions.task is not Task.TOP_LABEL
    eces = class_bins(predictions).ece if errors else None
    table = []
    for index, name in enumerate(predictions.class_names):
        n, weight = int(counted[index]), sums.trials[index]
        sure, share, gap, p_value = None, None, None, None
        if weight > 0.0:
            sure, share = float(sums.expected[index] / weight), float(sums.hits[index] / weight)
            # The confidences are taken as given: the interval is that of the share that is right.
            ends = sure - float(high[index]), sure - float(low[index])
            p_value = max(float(tested.p_values[index]), p_joint)
            if p_value > 1.0 - level:
                ends = min(ends[0], 0.0), max(ends[1], 0.0)
            gap = Gap(sure - share, *ends)
        error = None if eces is None else float(eces[index])
        table.append(
            ClassRow(
                name=name,
                index=index,
                labelled=int(labelled[index]),
                n=n,
                confidence=sure,
                accuracy=share,
                gap=gap,
                ece=error,
                p_value=p_value,
            )
        )
    return tuple(table)
