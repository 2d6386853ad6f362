"""Calibrators on a run: fit on one part, judge on another; from Predictions to Predictions."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from core.arrays import Float, Int, empty, row_chunks
from core.calibrators import CALIBRATORS
from core.calibrators.base import FitReport, Json
from core.calibrators.per_label import PerLabel
from core.calibrators.stored import Fittable, make, to_json
from core.calibrators.temperature import Temperature
from core.codes import NoticeCode, RefusalCode
from core.configs import AuditConfig
from core.defaults import FALSE_ALARMS, SEED_MAX
from core.errors import LibraryError, Notice, Refused, UsageError
from core.library import Library, Manifest, RunSource, StoredSplit, summarise
from core.metrics.comparison import Compared, compared
from core.metrics.paired import PAIRABLE
from core.metrics.records import Audit, ClassRow
from core.metrics.suite import audit, class_gaps
from core.predictions import Predictions, ScoreKind, Task
from core.repeats import copies

NONE = "none"  # the scores as they were read: what every method is compared with
DEFAULT_METHODS = ("ts", "focal_map", "focal_ts")
VECTOR = "vector"
VECTOR_CELLS = 2_000_000  # scores that vector scaling is fitted to without being asked
RISK_METHODS = ("beta", VECTOR, "ts")  # the first two have an intercept; vector of one is Platt's
RISKS = (Task.BINARY, Task.MULTILABEL)
CONFIDENCE_METHODS = (VECTOR, "beta", "isotonic")  # of the log odds that the answer is right
RECALIBRATE = ("beta", "isotonic")  # in place of temperatures, for what are no probabilities
CUT = "cut"  # in place of a split's name: a share of the test split is fitted on
SHARE = 0.5
HALF = 0.5
SHARES = (0.1, 0.9)  # of the rows, fitted on, when one part is cut in two
COPIES_CELLS = 10_000_000  # scores among which equal rows are looked for
STREAM = 11  # of random numbers
PART_BYTES = 2**22  # of float64 scores calibrated at a time: some methods make ten copies
MOST_STORED = 200_000  # characters of a calibrator's parameters in a manifest
LOG_ODDS = 745.0  # beyond it exp underflows
Calibrate = Callable[[npt.NDArray[np.floating]], Float]
Source = Predictions | StoredSplit


@dataclass(frozen=True, kw_only=True)
class PosthocRows:
    """Which rows calibrators are fitted on, and which are reported."""

    # fit_from, test_from: the splits they come from; the same where one split is cut in two, or
    # used for both
    fit_from: Predictions
    test_from: Predictions
    # fit_name, test_name: their names
    fit_name: str
    test_name: str
    cut: tuple[float, int] | None = None  # share of the split that is fitted on, and the seed
    # Of a split that is cut: which rows are fitted on, and which are reported
    numbers: tuple[Int, Int] | None = None
    notices: tuple[Notice, ...] = ()  # CUT or SAME_ROWS

    @cached_property
    def fit(self) -> Predictions:
        """The rows that are fitted on; those of a cut are copied when they are first wanted."""
        return self.fit_from if self.numbers is None else self.fit_from.take(self.numbers[0])

    @cached_property
    def test(self) -> Predictions:
        """The rows that are reported; as `fit`."""
        return self.test_from if self.numbers is None else self.test_from.take(self.numbers[1])

    @property
    def n_fit(self) -> int:
        """Number of rows that are fitted on."""
        return self.fit_from.n if self.numbers is None else self.numbers[0].size

    @property
    def n_test(self) -> int:
        """Number of rows that are reported."""
        return self.test_from.n if self.numbers is None else self.numbers[1].size

    @cached_property
    def same_rows(self) -> bool:
        """Whether calibrators are reported on the rows they were fitted on, by name or content.

        The same scores and labels under other row ids are the same rows.
        """
        return self.cut is None and self.fit_from.holds_rows_of(self.test_from)

    def some_fit(self, at: Int) -> Predictions:
        """Return some of the rows that are fitted on, by their numbers among these."""
        return self.fit_from.take(at if self.numbers is None else self.numbers[0][at])

    def some_test(self, at: Int) -> Predictions:
        """Return some of the rows that are reported, by their numbers among these."""
        return self.test_from.take(at if self.numbers is None else self.numbers[1][at])

    @property
    def fit_weights(self) -> Float | None:
        """How many rows each row that is fitted on stands for; (n,) or None."""
        return self._weights(self.fit_from, 0)

    @property
    def test_weights(self) -> Float | None:
        """How many rows each row that is reported stands for; (n,) or None."""
        return self._weights(self.test_from, 1)

    def _weights(self, split: Predictions, half: int) -> Float | None:
        weights = split.weights
        if weights is None:
            return None
        return (weights if self.numbers is None else weights.take(self.numbers[half])).of_row


@dataclass(frozen=True)
class Fit:
    """One method fitted on one part, or why it could not be."""

    method: str  # a key of `CALIBRATORS`
    calibrator: Fittable | None  # fitted; None where the method refused these rows
    refusal: str = ""  # why there is none

    @property
    def report(self) -> FitReport | None:
        """What the fit did."""
        return None if self.calibrator is None else self.calibrator.report_


@dataclass(frozen=True)
class MethodReport:
    """What a method, or none, does to the rows that are reported."""

    # Audit of the calibrated rows, with draws on the resamples that all methods share
    compared: Compared
    # Rows whose predicted class differs from the one in the file; for many labels the number of
    # labelled answers, at one half, that differ
    changed: int
    # The answers by class, without ECE; of several classes alone
    classes: tuple[ClassRow, ...] = ()

    def further_off(self, before: "MethodReport") -> int:
        """Return how many classes are off beyond chance, and by more than before.

        Their errors may cancel in the mean, so that a lower ECE does not tell of them. On one
        side a correction moves claims by what is known; where the sides differ, both gaps count
        with their intervals.
        """
        further = 0
        for was, now in zip(before.classes, self.classes, strict=False):
            if was.gap is None or now.gap is None or (now.p_value or 0.0) > FALSE_ALARMS:
                continue
            more = abs(now.gap.gap) - abs(was.gap.gap)
            if was.gap.gap * now.gap.gap < 0.0:
                more -= 0.5 * sum(gap.high - gap.low for gap in (was.gap, now.gap))
            further += more > 0.0
        return further


def provenance(parts: PosthocRows) -> dict[str, Json]:
    """Return which rows were fitted on, as plain JSON: enough to draw the same cut again.

    `weights` names the column that says how many rows each stands for; it is there only where the
    rows have weights.
    """
    cut_as = None if parts.cut is None else {"share": parts.cut[0], "seed": parts.cut[1]}
    weights = {} if parts.fit_from.weights is None else {"weights": parts.fit_from.weights.name}
    return {
        "split": parts.fit_name,
        "scores": str(parts.fit_from.kind),
        "rows": parts.n_fit,
        "digest": parts.fit.digest,
        "cut": cut_as,
        **weights,
    }


def default_methods(task: Task, before: Audit | None = None) -> tuple[str, ...]:
    """Return the methods that are tried when nobody chooses, the recommended one first.

    A temperature keeps the log odds of one half, so that a risk which is off on average stays off:
    for events methods with an intercept come first (Van Calster et al. 2019). Nor does it move one
    class against another: where the audit `before` finds that classes differ, vector scaling is
    tried as well, of at most `VECTOR_CELLS` scores. Where it says that the scores are no
    probabilities, curves that can take any form are tried.
    """
    if task is Task.TOP_LABEL:
        return CONFIDENCE_METHODS
    notices = () if before is None else before.notices
    if any(notice.code == NoticeCode.NOT_PROBABILITY for notice in notices):
        return RECALIBRATE
    if task in RISKS:
        return RISK_METHODS
    unlike = before is not None and before.headline.verdict.classes
    if before is None or not unlike or before.n * before.n_classes > VECTOR_CELLS:
        return DEFAULT_METHODS
    return (*DEFAULT_METHODS, VECTOR)


def methods_of_task(task: Task) -> list[str]:
    """Return the methods that have a form for a task, in their order."""
    if task is Task.TOP_LABEL:
        return [name for name in CALIBRATORS if name in CONFIDENCE_METHODS]
    return [name for name, kind in CALIBRATORS.items() if task in kind.tasks]


def fit_default(splits: Sequence[str], test: str) -> str:
    """Return what is fitted on when nobody says: the validation split, else half of the test."""
    others = [name for name in splits if name != test]
    return next((name for name in ("val", *others) if name in others), CUT)


def parts(
    splits: Mapping[str, Predictions], fit_on: str, test: str, *, share: float, seed: int
) -> PosthocRows:
    """Return the rows to fit on and the rows to report.

    `fit_on`: a split, or `cut`: some rows of the test split, which then are not reported; `share`,
    `seed`: as of `cut`.

    Raises UsageError SPLIT: there is no split of that name; SETTING, as of `cut`.
    """
    for name in (fit_on, test):
        if name not in splits and (name, fit_on) != (CUT, CUT):
            names = ", ".join(splits)
            raise UsageError(RefusalCode.SPLIT, f"No split {name!r}", f"the file holds {names}")
    if fit_on not in splits:
        first, second = cut_rows(splits[test], share, seed)
        text = (
            f"fitted on {first.size:,} rows of the {test} split, drawn with seed {seed}; judged on "
            f"the other {second.size:,}"
        )
        return PosthocRows(
            fit_from=splits[test],
            test_from=splits[test],
            fit_name=test,
            test_name=test,
            cut=(share, seed),
            numbers=(first, second),
            notices=(Notice(NoticeCode.CUT, text),),
        )
    whole = PosthocRows(
        fit_from=splits[fit_on], test_from=splits[test], fit_name=fit_on, test_name=test
    )
    if not whole.same_rows:
        return whole
    source = test if fit_on == test else f"{fit_on}, which holds the rows of {test}"
    text = (
        f"calibrators were fitted on {source}, the same rows that are reported: the numbers "
        "after calibration are better than they would be on new rows"
    )
    return replace(whole, notices=(Notice(NoticeCode.SAME_ROWS, text),))


def cut(predictions: Predictions, share: float, seed: int) -> tuple[Predictions, Predictions]:
    """Cut one part in two at random; see `cut_rows`."""
    first, second = cut_rows(predictions, share, seed)
    return predictions.take(first), predictions.take(second)


def cut_rows(predictions: Predictions, share: float, seed: int) -> tuple[Int, Int]:
    """Return which rows of a part to fit on, and which others to report on, drawn at random.

    Rows that belong together stay together; where nothing says which do, so do those that are the
    same bit for bit, of at most `COPIES_CELLS` scores: what is fitted would be judged on itself.

    Parameters
    ----------
    predictions : Predictions
        N rows, at least two.
    share : float
        Of the rows to fit on, 0.1 to 0.9; of the groups, where rows belong together.
    seed : int
        The same seed, share and number of rows give the same cut.

    Returns
    -------
    tuple of (n,) int64
        Numbers of rows, ascending.

    Raises
    ------
    UsageError
        SETTING: the share or the seed lies outside its range.
    Refused
        FIT: there is one row only, or one of the two parts holds no weight.
    """
    if not SHARES[0] <= share <= SHARES[1]:
        raise UsageError(RefusalCode.SETTING, f"The share is {share:g}", "use 0.1 to 0.9")
    if not 0 <= seed <= SEED_MAX:
        raise UsageError(RefusalCode.SETTING, f"The seed is {seed}", f"use 0 to {SEED_MAX}")
    groups = None if predictions.sampling.groups is None else predictions.groups
    of_row = np.arange(predictions.n) if groups is None else groups.of_row
    if groups is None and predictions.scores.size <= COPIES_CELLS:
        logits = predictions.kind is ScoreKind.LOGITS
        same = copies(predictions.scores, predictions.labels, logits=logits)
        of_row = of_row if same is None else same
    n = int(of_row.max(initial=-1)) + 1
    if n < 2:
        noun = "row" if groups is None else groups.name
        raise Refused(RefusalCode.FIT, f"One {noun} cannot be cut in two", "give more rows")
    order = np.random.default_rng([seed, STREAM]).permutation(n)
    fitted = np.isin(of_row, order[: min(max(1, round(share * n)), n - 1)])
    weights = predictions.sampling.weights
    if weights is not None and not (weights[fitted].any() and weights[~fitted].any()):
        what = "Too few rows have a weight above 0 to be cut in two"
        raise Refused(RefusalCode.FIT, what, "give more rows a weight, or another seed")
    return np.flatnonzero(fitted), np.flatnonzero(~fitted)


def fit(method: str, rows: Predictions, *, objective: str = "nll", search: str = "exact") -> Fit:
    """Fit a method; rows that it cannot be fitted on are a refusal, not an error.

    `method`: a key of `CALIBRATORS`; `rows`: the part to fit on; its rows count by weight, where
    they have one. Where it holds the confidence of the answer alone, that is fitted to whether the
    answer is right. `objective`, `search`: as of `core.calibrators.stored.make`.

    Raises UsageError SETTING, for an unknown method.
    """
    logits = logits_of(rows)
    kind = CALIBRATORS.get(method)
    if kind is not None and method not in methods_of_task(rows.task):
        return Fit(method, None, f"{kind.label} has no form for {rows.task.value} scores")
    stated = rows.task is Task.TOP_LABEL  # whether the answer is right is what is forecast
    task, labels = (
        (Task.BINARY, rows.rows.correct.astype(np.int64)) if stated else (rows.task, rows.labels)
    )
    calibrator = make(method, task, objective=objective, search=search)
    if isinstance(calibrator, PerLabel):
        calibrator.names = rows.class_names
    try:
        groups, weights = rows.sampling
        return Fit(method, calibrator.fit(logits, labels, weights, groups))
    except Refused as refusal:
        return Fit(method, None, refusal.what)


def fitted_temperature(rows: Predictions) -> float:
    """Return the temperature with the smallest NLL on labelled rows of one answer each.

    Raises Refused FIT: no temperature can be fitted.
    """
    method_fit = fit("ts", rows)
    if not isinstance(method_fit.calibrator, Temperature):
        what = method_fit.refusal or "Many labels have no temperature in common"
        raise Refused(RefusalCode.FIT, what, "leave the scores as they were read")
    return float(method_fit.calibrator.temperature_)


def judge(
    rows: Predictions,
    calibrator: Fittable | None,
    objective: str = "nll",
    config: AuditConfig | None = None,
) -> MethodReport:
    """Return what a calibrator, or none, does to the rows that are reported.

    `objective`: what the methods were fitted by: it is among the metrics; `config`: as of
    `core.metrics.comparison.compared`.
    """
    more = (objective,) if objective in PAIRABLE else ()
    after = rows if calibrator is None else calibrated(calibrator, rows)
    judged = compared(after, more, config)
    classes: tuple[ClassRow, ...] = ()
    if rows.task is Task.MULTICLASS:
        level, p_joint = judged.config.level, judged.audit.p_joint
        classes = class_gaps(after, level, errors=False, p_joint=p_joint)
    return MethodReport(judged, 0 if calibrator is None else _changed(rows, after), classes)


@dataclass(frozen=True)
class EvaluatedMethod:
    """A method fitted and judged; `fit` is None for none, `judged` where the method refused."""

    fit: Fit | None
    judged: MethodReport | None


def evaluate(
    method: str,
    fit_rows: Predictions,
    test_rows: Predictions,
    objective: str,
    search: str,
    config: AuditConfig | None = None,
    reported: str = "",
) -> EvaluatedMethod:
    """Fit and judge a method, or none; the objective is `reported` unless another is named."""
    reported = reported or objective
    if method == NONE:
        return EvaluatedMethod(None, judge(test_rows, None, reported, config))
    method_fit = fit(method, fit_rows, objective=objective, search=search)
    if method_fit.calibrator is None:
        return EvaluatedMethod(method_fit, None)
    return EvaluatedMethod(method_fit, judge(test_rows, method_fit.calibrator, reported, config))


@dataclass(frozen=True)
class RowChoice:
    """Which splits are fitted on and reported, and how one of them is cut; see `parts`."""

    fit_on: str
    test: str
    share: float
    seed: int


def evaluate_splits(
    method: str,
    sources: Mapping[str, Source],
    choice: RowChoice,
    objective: str,
    search: str,
    reported: str = "",
) -> EvaluatedMethod:
    """Fit a method, or none, and judge it, where the scores lie.

    `method`, `objective`, `search`, `reported`: as of `evaluate`; `sources`: the splits that the
    choice names; what is stored is held against its digest.
    """
    rows = chosen_parts(sources, choice)
    return evaluate(method, rows.fit, rows.test, objective, search, reported=reported)


def chosen_parts(sources: Mapping[str, Source], choice: RowChoice) -> PosthocRows:
    """Return the rows that a choice names; what is stored is held against its digest."""
    splits = {name: loaded(source) for name, source in sources.items()}
    return parts(splits, choice.fit_on, choice.test, share=choice.share, seed=choice.seed)


def loaded(source: Source) -> Predictions:
    """Return the scores; those of a stored run are held against their digest."""
    return source if isinstance(source, Predictions) else source.load()


def calibrated(calibrator: Fittable, rows: Predictions) -> Predictions:
    """Return the same rows with calibrated probabilities.

    Where float64 cannot hold a probability, the scores are log-probabilities (log-odds for many
    labels), kind logits, so that the NLL stays finite.

    Raises Refused CLASSES: the calibrator was fitted on another number of classes.
    """
    return calibrated_splits(calibrator, {"": rows})[""]


def calibrated_splits(
    calibrator: Fittable, splits: Mapping[str, Predictions]
) -> dict[str, Predictions]:
    """Return the splits of one file with calibrated probabilities, all of one kind of scores.

    Raises Refused CLASSES: the calibrator was fitted on another number of classes, or on labels of
    their own.
    """
    task = next(iter(splits.values())).task
    if isinstance(calibrator, PerLabel) != (task is Task.MULTILABEL):
        what = "labels of their own" if isinstance(calibrator, PerLabel) else "one answer a row"
        raise Refused(
            RefusalCode.CLASSES,
            f"The calibrator was fitted on {what}, the file holds {task.value} scores",
            "apply it to scores of the same model",
        )
    logits = {name: logits_of(rows) for name, rows in splits.items()}
    scores = {name: _by_parts(calibrator.predict_proba, z) for name, z in logits.items()}
    kind = ScoreKind.SIGMOID if task is Task.MULTILABEL else ScoreKind.PROBABILITIES
    if task is Task.TOP_LABEL:
        kind, scores = ScoreKind.CONFIDENCE, {name: p[:, 1] for name, p in scores.items()}
    elif any(  # float64 made the probability of something 0 that may not be
        not p.all() or (task is Task.MULTILABEL and (p == 1.0).any()) for p in scores.values()
    ):
        logs = {name: _by_parts(partial(_as_logits, calibrator), z) for name, z in logits.items()}
        if all(np.isfinite(split_logits).all() for split_logits in logs.values()):
            scores, kind = logs, ScoreKind.LOGITS
    return {
        name: replace(rows, kind=kind, scores=scores[name], renormalise=False, members=None)
        for name, rows in splits.items()
    }


def keep_calibrated(
    library: Library,
    name: str,
    parent: str,
    method_fit: Fit,
    sources: Mapping[str, Source],
    choice: RowChoice,
) -> Manifest:
    """Put a run's predictions after a fitted method into the library, as a run of its own.

    Its manifest names the run they came from, the method with its parameters, and the rows it was
    fitted on. Of a split that was cut in two, the rows that were fitted on become a part of their
    own, so that nothing is reported on them.

    `parent`: id of the run that the scores are of; `method_fit`: fitted on the rows that `choice`
    names; `choice`: as of `evaluate_splits`.

    Raises
    ------
    Refused
        CLASSES, as of `calibrated_splits`.
    LibraryError
        As of `Library.keep`; RUN_UNKNOWN where the parent is gone, ROLE where it is somebody
        else's: a copy would outlive what is shared.
    """
    assert method_fit.calibrator is not None
    before = library.get(parent)
    if before.kind != "sample" and not library.owns(parent):
        what = "The run is shared with you, and its owner may take that back"
        raise LibraryError(RefusalCode.ROLE, what, "ask the owner to keep the correction")
    splits = {split: loaded(source) for split, source in sources.items()}
    rows = parts(splits, choice.fit_on, choice.test, share=choice.share, seed=choice.seed)
    if rows.cut is not None:
        names = ("val", "fit", *(f"fit{k}" for k in range(2, len(splits) + 2)))
        fitted_part = next(part for part in names if part not in splits)
        splits |= {fitted_part: rows.fit, rows.test_name: rows.test}
    after = calibrated_splits(method_fit.calibrator, splits)
    stored = to_json(method_fit.calibrator, provenance(rows))
    if len(json.dumps(stored)) > MOST_STORED:
        stored["parameters"] = None  # they belong into a file of their own
    since = before.held_since if before.kind == "upload" else ""
    label = CALIBRATORS[method_fit.method].label
    text = (
        f"probabilities of “{before.name}” after {label[0].lower()}{label[1:]}, fitted on "
        f"{rows.n_fit:,} rows of {rows.fit_name}"
    )
    return library.keep(
        name,
        after,
        source=RunSource(
            before.source.file,
            before.source.digest,
            {"calibrated": {"run": parent, "name": before.name, "since": since, **stored}},
        ),
        summary={choice.test: summarise(audit(after[choice.test], AuditConfig()))},
        notices=(Notice(NoticeCode.CALIBRATED, text), *rows.notices),
        tags=before.tags,
    )


def _by_parts(calibrate: Calibrate, logits: npt.NDArray[np.floating]) -> Float:
    """Return what a calibrator makes of each row, a part at a time: there may be many rows."""
    n, width = len(logits), logits[:1].size
    ends = np.linspace(0, n, max(1, n * width * 8 // PART_BYTES) + 1).astype(np.int64)
    if ends.size == 2:
        return calibrate(logits)
    out = empty((n, *calibrate(logits[:2]).shape[1:]))
    for start, end in pairwise(ends.tolist()):
        out[start:end] = calibrate(logits[start:end])
    return out


def _as_logits(calibrator: Fittable, logits: npt.NDArray[np.floating]) -> Float:
    """Return what stands for calibrated probabilities that float64 cannot hold."""
    with np.errstate(invalid="ignore"):
        if isinstance(calibrator, PerLabel):
            return calibrator.predict_log_odds(logits)
        return calibrator.predict_log_proba(logits)


def logits_of(rows: Predictions) -> npt.NDArray[np.floating]:
    """Return what calibrators take: the logits as read, else log-probabilities.

    Returns
    -------
    (N, K) array; (N,) or (N, L) log-odds for binary and multi-label scores, and of a confidence
        -inf (log-odds: also +inf, cut off at 745) where a probability is 0.
    """
    if rows.kind is ScoreKind.LOGITS:
        return rows.scores
    if rows.task is Task.MULTILABEL or rows.scores.ndim == 1:
        p = rows.scores.astype(np.float64)
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(np.log(p) - np.log1p(-p), -LOG_ODDS, LOG_ODDS))
    out = empty(rows.scores.shape)
    for part in row_chunks(*out.shape):
        out[part] = rows.log_probabilities(part)
    return out


def _changed(before: Predictions, after: Predictions) -> int:
    if before.task is Task.MULTILABEL:
        known = before.labels >= 0
        return int(np.count_nonzero((_present(before) != _present(after)) & known))
    return int(np.count_nonzero(before.rows.predicted != after.rows.predicted))


def _present(rows: Predictions) -> npt.NDArray[np.bool_]:
    return rows.probabilities() > HALF
