"""The JSON of ``audit``, ``compare``, ``calibrate`` and ``ood``: plain numbers, or null and why.

The lines that the last two print stand here too.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from core.calibrators import CALIBRATORS
from core.calibrators.search import PROTOCOLS
from core.codes import NoticeCode
from core.errors import Notice, UsageError
from core.metrics import METRICS
from core.metrics.comparison import Compared, Comparison, compare
from core.metrics.human import HumanAudit
from core.metrics.macro import ChanceAfterHolm, corrected_verdicts
from core.metrics.paired import PAIRABLE, Difference
from core.metrics.records import (
    Audit,
    BinTable,
    Floor,
    Gap,
    GroupSummary,
    Score,
    Statistic,
    TargetAudit,
    Verdict,
    WeightSummary,
)
from core.metrics.verdict import VERDICT_LEVEL
from core.metrics.votes import DISTANCE
from core.ood.scores import SCORES
from core.ood.separation import POSITIVE
from core.screens.reliability.human import agreement_words
from core.studies.human import ERRORS, HumanFits
from core.studies.human import SHOWN as HUMAN
from core.studies.ood import ScoreSeparation
from core.studies.posthoc import NONE, Fit, MethodReport, PosthocRows

Json = dict[str, Any]  # Any: plain JSON values
SCHEMA = 2  # since 2 a verdict says what it is of; those of an event have codes of their own
ENDS = ("value", "low", "high")
FITTED = ("objective", "before", "after", "at_bound", "worse", "message")  # of a fit's report
NO_INTERVAL = "no interval is defined for it"
UNDEFINED = "undefined on these rows"
NO_TEST = "many labels have a test each"
EMPTY_BIN = "no rows in this bin"


def audit_json(
    file: str,
    digest: str,
    splits: Mapping[str, int],
    split: str,
    notices: Sequence[Notice],
    audit: Audit,
) -> Json:
    """Return the audit of one split as plain JSON.

    Parameters
    ----------
    notices : sequence of Notice
        What the reader said; those of the audit follow, each once.

    Returns
    -------
    dict
        Every key of the command line's contract; `labels` for multi-label audits only, each with
        the verdict that is left when all labels are looked at (Holm), with `p_holm` and, under
        ``alone``, the one without correction where that differs; of two
        classes `direction` and `verdict` are those of `Audit.headline`, the other two stand under
        ``answers`` or ``event_audit``, and `bins` belong to `metrics.ece`, the event's. A verdict
        lists as `evidence` what its joint test found, with value and 95th percentile of chance,
        of the slope with its interval at 95 %; `classes` are answers that the mean does not tell
        of; `small` is what an off_but_small one is off by less than,
        `deviant` the class that deviates most, where classes do. `groups` and `weights` where rows
        belong together or count by weight, `unknown_labels` where some are not known. A number that
        is undefined or infinite is null, and the object it stands in has a `reason`.
    """
    out: Json = {
        "schema": SCHEMA,
        "file": file,
        "digest": digest,
        "task": str(audit.task),
        "scores": str(audit.scores),
        "n": int(audit.n),
        "n_classes": int(audit.n_classes),
        "splits": {name: int(n) for name, n in splits.items()},
        "split": split,
        "notices": [note.to_json() for note in dict.fromkeys((*notices, *audit.notices))],
        "unavailable": dict(audit.unavailable),
    }
    if audit.unknown:
        out["unknown_labels"] = audit.unknown
    if audit.groups is not None:
        out["groups"] = asdict(audit.groups)
    if audit.weights is not None:
        out["weights"] = asdict(audit.weights)
    out |= _target(audit.main)
    if audit.answers is not None:
        out |= _judged(audit.headline) | {"event": audit.main.event, "bins_of": audit.main.of}
        out["answer_bins"] = _bins(audit.answers.bins)
    if audit.second is not None:
        out["event_audit" if audit.by_answer else "answers"] = _judged(audit.second)
    if audit.labels:
        out["labels"] = [
            {"name": label.name, "event": label.event, "corrected_verdict": verdict.code}
            | _target(replace(label, verdict=verdict))
            for label, verdict in zip(audit.labels, corrected_verdicts(audit.labels), strict=True)
        ]
    return out


def human_json(audit: HumanAudit) -> Json:
    """Return what an audit against votes found as plain JSON; see docs/metrics.md.

    `votes_per_row` is the mean, null for shares. `floor` is what a model that knew the true shares
    would show, and `bound` what it passes in one case of twenty; null with a reason where nothing
    tells.
    """
    out: Json = {
        "votes": audit.name,
        "n": audit.n,
        "n_rows": audit.n_rows,
        "votes_per_row": finite(audit.mean),
        "least_votes": finite(audit.least),
        "most_votes": finite(audit.most),
        "tied": audit.tied,
        "confidence": float(audit.confidence),
        "agreement": float(audit.agreement),
        "direction": _gap(audit.direction),
        "by_majority": audit.by_majority,
        "text": agreement_words(audit.fullest),
    }
    for name, score in audit.scores.items():
        numbers = {key: finite(getattr(score, key)) for key in (*ENDS, "floor", "bound")}
        more = {"known": finite(audit.known_nll)} if name == "soft_nll" else {}
        reason = {"reason": score.reason} if score.reason else {}
        out[name] = {**numbers, **more, "level": float(audit.level), "n": audit.n, **reason}
    kinds = audit.disagreement
    names = ("entropy", "confidence", "agreement", "gap", "low", "high", "known")
    out["disagreement"] = [
        {"count": count} | {name: finite(getattr(kinds, name)[k]) for name in names}
        for k, count in enumerate(kinds.count.tolist())
    ]
    return out


def _judged(target: TargetAudit) -> Json:
    direction = _gap(target.direction) | {"of": target.of}
    return {"direction": direction, "verdict": _verdict(target.verdict)}


def _target(target: TargetAudit) -> Json:
    return {
        "metrics": {name: score_json(score) for name, score in target.metrics.items()},
        "noise_floor": {name: floor_json(floor) for name, floor in target.noise_floor.items()},
        **_judged(target),
        "bins": _bins(target.bins),
    }


def score_json(score: Score) -> Json:
    """Return one score as plain JSON, with the reason where a number is missing."""
    reason = score.reason or (UNDEFINED if finite(score.value) is None else NO_INTERVAL)
    level, n, settings = float(score.level), int(score.n), dict(score.settings)
    return _explained(vars(score), ENDS, reason, level=level, n=n, settings=settings)


def floor_json(floor: Floor) -> Json:
    """Return a noise floor; without one it has a reason."""
    return _explained(vars(floor), ("mean", "q95"), UNDEFINED)


def _gap(gap: Gap) -> Json:
    return _explained(vars(gap), ("gap", "low", "high"), UNDEFINED)


def _verdict(verdict: Verdict) -> Json:
    out: Json = {
        "code": verdict.code,
        "text": verdict.text,
        "of": verdict.of,
        "p_value": finite(verdict.p_value),
    }
    if verdict.p_value is not None:
        out["evidence"] = []
        for item in verdict.evidence:
            evidence: Json = {"statistic": item.statistic}
            if item.value is not None:  # the size of a gap is the direction
                slope = item.statistic == Statistic.SLOPE
                names = ENDS if slope else ("value", "q95")
                evidence |= {name: finite(getattr(item, name)) for name in names}
                evidence |= {"level": VERDICT_LEVEL} if slope else {}
            out["evidence"].append(evidence)
    if verdict.small is not None:
        out["small"] = float(verdict.small)
    if verdict.classes:
        out["classes"] = [
            {"name": cell.name, "n": cell.n, "stated": cell.stated, "true": cell.true}
            for cell in verdict.classes
        ]
    if verdict.deviant is not None:
        out["deviant"] = asdict(verdict.deviant) | {"bounds": list(verdict.deviant.bounds)}
        del out["deviant"]["ties"]
    if isinstance(verdict, ChanceAfterHolm):
        out |= {"p_holm": verdict.p_holm, "alone": _verdict(verdict.alone)}
    return out | {"reason": NO_TEST} if out["p_value"] is None else out


def _bins(bins: BinTable) -> list[Json]:
    names = ("low", "high", "confidence", "accuracy", "ci_low", "ci_high")
    out = []
    for i, count in enumerate(bins.count.tolist()):
        row = {name: getattr(bins, name)[i] for name in names}
        out.append(_explained(row, names, UNDEFINED if count else EMPTY_BIN, count=count))
    return out


def finite(value: float | None) -> float | None:
    """Return a number that JSON can hold, else None."""
    return float(value) if value is not None and math.isfinite(value) else None


def _explained(
    record: Mapping[str, Any],  # Any: of its fields
    names: Sequence[str],
    reason: str,
    **more: object,
) -> Json:
    """Return numbers of a record and what belongs to them; the reason if one is missing."""
    numbers = {name: finite(record[name]) for name in names}
    missing = {"reason": reason} if None in numbers.values() else {}
    return {**numbers, **more, **missing}


Gate = tuple[str, str, float]
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
GATE = re.compile(r"\s*(\w+)\s*(>=|<=|>|<)\s*([-+0-9.eE]+)\s*")


def gate(text: str) -> Gate:
    """Return metric, sign and limit of a text such as ``ece>0.05``.

    Raises UsageError GATE: it cannot be read, or names no metric.
    """
    match = GATE.fullmatch(text)
    if match is None or match[1] not in METRICS:
        raise UsageError(
            "GATE", f"Cannot read {text!r}", f"write METRIC>NUMBER with one of {', '.join(METRICS)}"
        )
    try:
        return match[1], match[2], float(match[3])
    except ValueError as error:
        raise UsageError("GATE", f"Cannot read {text!r}", "write METRIC>NUMBER") from error


def failures(
    gates: Sequence[Gate], report: Mapping[str, Any]
) -> list[str]:  # Any: plain JSON values
    """Return a line for every gate that holds, or whose metric has no value to judge it by."""
    lines = []
    for metric, sign, limit in gates:
        score = report["metrics"].get(metric) or {}
        value = score.get("value")
        if value is None:
            why = score.get("reason") or report["unavailable"].get(metric, "it was not computed")
            lines.append(f"gate {metric}{sign}{limit:g}: no value, {why}")
        elif OPERATORS[sign](value, limit):
            lines.append(f"gate {metric}{sign}{limit:g}: {metric} is {value:.6g}")
    return lines


# Comparisons.
def compare_json(
    names: Sequence[str],
    letters: Sequence[str],
    runs: Sequence[Compared],
    comparison: Comparison,
    metric: str,
) -> Json:
    """Return a comparison as plain JSON.

    The files have a name each, in the comparison's order, and the letter of a badge, empty where
    many are compared and one has none. `metric` is the one whose differences are listed.

    Returns
    -------
    dict
        ``differences`` are run a minus the reference b, in fractions; empty with a ``reason``
        where the files do not speak of the same labelled rows. ``best`` names, by metric, the run
        that is ahead of every other beyond chance, where there is one; ``tied`` the runs that
        cannot be told from the one with the best value. A number that is undefined is null beside
        a ``reason``.
    """
    return {
        "metric": metric,
        "same_labels": not comparison.reason,
        "reason": comparison.reason,
        "reference": names[comparison.reference],
        "runs": [
            {
                "name": name,
                "letter": letter,
                "n": run.rows.n,
                **({"event": run.rows.event} if run.rows.event else {}),
                "metrics": {key: score_json(score) for key, score in run.audit.main.metrics.items()}
                | ({} if run.distance is None else {DISTANCE: score_json(run.distance)}),
                "unavailable": dict(run.audit.unavailable),
                # The effective sample size of grouped or weighted rows.
                **{
                    key: asdict(summary)
                    for key in ("groups", "weights")
                    if (summary := getattr(run.audit, key)) is not None
                },
            }
            for name, letter, run in zip(names, letters, runs, strict=True)
        ],
        "differences": [
            {
                "a": names[i],
                "b": names[comparison.reference],
                "metric": metric,
                **difference_json(by_metric[metric]),
            }
            for i, by_metric in enumerate(comparison.differences)
            if metric in by_metric
        ],
        "best": {key: names[i] for key, i in comparison.best.items()},
        "tied": {
            key: [names[i] for i in (leader.run, *leader.tied)]
            for key, leader in comparison.leaders.items()
            if leader.tied
        },
    }


# Corrections.
def calibrate_json(
    parts: PosthocRows,
    fits: Sequence[Fit],
    judged: Mapping[str, MethodReport],
    notices: Sequence[Notice],
) -> Json:
    """Return what every method does as plain JSON, in the order of the fits.

    In `judged`, `none` is among the methods, and those that refused are missing. The notices are
    what the reader said; those of the parts and of the reported rows as read follow.

    Returns
    -------
    dict
        ``methods`` by key; one that could not be fitted holds only its ``reason``.
        ``difference`` is from none, paired on the same resamples. Fractions throughout.
    """
    names = list(judged)
    comparison = compare([judged[name].compared for name in names], names, names.index(NONE))
    differences = dict(zip(names, comparison.differences, strict=True))
    all_notices = (*notices, *parts.notices, *judged[NONE].compared.audit.notices)
    methods: Json = {}
    for fit in fits:
        after, report = judged.get(fit.method), fit.report
        if after is None or report is None or fit.calibrator is None:
            methods[fit.method] = {"reason": fit.refusal}
            continue
        changes = differences.get(fit.method, {}).items()
        methods[fit.method] = {
            "settings": fit.calibrator.settings(),
            "parameters": dict(report.parameters),
            **{key: getattr(report, key) for key in FITTED},
            "fit_seconds": report.seconds,
            "keeps_accuracy": CALIBRATORS[fit.method].keeps_accuracy,
            "answers_changed": after.changed,
            **_scored(after),
            "difference": {key: difference_json(change) for key, change in changes},
        }
    return {
        "fit": parts.fit_name,
        "test": parts.test_name,
        "n_fit": parts.n_fit,
        "n_test": parts.n_test,
        "cut": None if parts.cut is None else {"share": parts.cut[0], "seed": parts.cut[1]},
        "notices": [note.to_json() for note in dict.fromkeys(all_notices)],
        NONE: _scored(judged[NONE]),
        "methods": methods,
    }


def _scored(judged: MethodReport) -> Json:
    main, distance = judged.compared.audit.main, judged.compared.distance
    people = {} if distance is None else {DISTANCE: score_json(distance)}
    return {
        "metrics": {key: score_json(score) for key, score in main.metrics.items()} | people,
        "noise_floor": {key: floor_json(floor) for key, floor in main.noise_floor.items()},
    }


def human_fits_json(fits: HumanFits) -> Json:
    """Return temperatures on votes beside those on majority labels as plain JSON.

    Each method holds one entry for ``labels`` and one for ``votes``; one that could not be fitted
    holds only its ``reason``, and so does the whole where there are too few rows with votes.
    """
    if fits.refusal:
        return {"reason": fits.refusal}
    none, *others = fits.methods
    methods: Json = {}
    for method in others:
        if method.refusal:
            methods.setdefault(method.method, {})[method.target] = {"reason": method.refusal}
        else:
            changes = method.differences.items()
            methods.setdefault(method.method, {})[method.target] = {
                "parameters": dict(method.parameters),
                "metrics": dict(method.values),
                "difference": {name: difference_json(change) for name, change in changes},
            }
    return {
        "fit": fits.fit_name,
        "test": fits.test_name,
        "n_fit": fits.fit_rows,
        "n_test": fits.test_rows,
        NONE: {"metrics": dict(none.values)},
        "methods": methods,
    }


def difference_json(difference: Difference) -> Json:
    """Return a paired difference; without an interval it has a reason."""
    more = {key: getattr(difference, key) for key in ("level", "n", "tie")}
    settings = dict(difference.settings)
    return _explained(vars(difference), ENDS, difference.reason, **more, settings=settings)


def calibrate_lines(report: Json) -> list[str]:
    """Return the same for a terminal: where it was fitted, the methods, and what was searched."""
    same = others = ""
    if any(notice["code"] == NoticeCode.SAME_ROWS for notice in report["notices"]):
        same = ", the same rows, so better than on new ones"
    elif report["fit"] == report["test"]:
        others = "other "
    lines = [
        f"fitted on {report['n_fit']:,} rows of {report['fit']}, reported on "
        f"{report['n_test']:,} {others}rows of {report['test']}{same}",
        f"{NONE:<17}{_scores(report[NONE])}",
    ]
    fitted = [method for method in report["methods"].values() if "reason" not in method]
    for name, method in report["methods"].items():
        if "reason" in method:
            lines.append(f"{name:<17}not fitted: {method['reason']}")
            continue
        lines.append(f"{name:<17}{_scores(method)}")
        texts = [f"ece {_difference(method['difference'].get('ece'))}"]
        small = {k: v for k, v in method["parameters"].items() if isinstance(v, float)}
        texts += [f"{key} {value:.4g}" for key, value in small.items()]
        changed = method["answers_changed"]
        texts += [f"{changed} answer{'s' if changed > 1 else ''} changed"] if changed else []
        texts += [method["message"]] if method["message"] else []
        method_words = ", ".join(texts)
        lines.append(f"{'':<17}{method_words}")
    searches = [method["settings"]["search"] for method in fitted if "search" in method["settings"]]
    if len(searches) > 1:  # they say how one search is fair to both
        lines += [PROTOCOLS[search].words for search in dict.fromkeys(searches)]
    return [*lines, *(_human_lines(report["human"]) if "human" in report else [])]


def _human_lines(human: Json) -> list[str]:
    """Return temperatures on votes beside those on labels: both errors, and how they change."""

    def errors(method: Json) -> str:
        return "  ".join(f"{name} {_number(method['metrics'][name])}" for name in HUMAN)

    if "reason" in human:
        return [f"not fitted on votes: {human['reason']}"]
    lines = [
        f"compared with people: fitted on {human['n_fit']} rows of {human['fit']} with votes, "
        f"reported on {human['n_test']} rows of {human['test']}",
        f"{NONE:<17}{errors(human[NONE])}",
    ]
    for name, targets in human["methods"].items():
        for target, method in targets.items():
            head = f"{f'{name}, {target}':<17}"
            if "reason" in method:
                lines.append(f"{head}not fitted: {method['reason']}")
                continue
            told = [f"{error} {_difference(method['difference'][error])}" for error in ERRORS]
            told += [f"{key} {value:.4g}" for key, value in method["parameters"].items()]
            lines += [f"{head}{errors(method)}", f"{'':<17}{', '.join(told)}"]
    return lines


def _scores(method: Json) -> str:
    """Return the scores of a method, and with each error how much chance explains."""
    texts = []
    for key in PAIRABLE:
        if key in method["metrics"]:
            floor = method["noise_floor"].get(key)
            chance = "" if floor is None else f" (chance: up to {_number(floor['q95'])})"
            texts.append(f"{key} {_number(method['metrics'][key]['value'])}{chance}")
    return "  ".join(texts)


def _difference(difference: Json | None) -> str:
    if difference is None or difference["low"] is None:
        return "difference unknown"
    tie = ", a tie" if difference["tie"] else ""
    return (
        f"{difference['value']:+.4f} ({difference['low']:+.4f} to {difference['high']:+.4f}{tie})"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


# Out of distribution.
Summaries = Sequence[GroupSummary | WeightSummary | None]
WORDS = {
    "aupr_out": "AUPR, out-of-distribution positive",
    "aupr_in": "AUPR, in-distribution positive",
    "fpr95": "FPR at 95 % TPR, out-of-distribution positive",
    "fpr95_in": "FPR at 95 % TPR, in-distribution positive",
    "detection_error": "detection error",
}


@dataclass(frozen=True)
class InDistribution:
    """The in-distribution rows: file, its digest, the part, what the reader said."""

    file: str
    digest: str
    split: str
    notices: tuple[Notice, ...]


@dataclass(frozen=True)
class SetReport:
    """One set: as read, after a temperature where there is one, and what was said of it."""

    name: str
    as_read: ScoreSeparation
    after: ScoreSeparation | None
    notices: tuple[Notice, ...]


def ood_json(
    inside: InDistribution,
    score: str,
    temperature: float | None,
    fitted_on: str,
    sets: Sequence[SetReport],
) -> Json:
    """Return what the scores tell apart, as plain JSON.

    `score` is a key of `SCORES`. There is no temperature where the scores were taken as read only;
    the part that it was fitted on is empty where it was given.

    Returns
    -------
    dict
        The numbers of a set are those as read; ``after_temperature`` holds the same keys where
        there is a temperature. Fractions; ``positive`` is the positive class of every number that
        does not name the other side. ``groups`` and ``weights`` say what the rows of either set
        are worth, where they belong together or count by weight.
    """
    numbers: Json = {}
    for each in sets:
        after = {} if each.after is None else {"after_temperature": _numbers(each.after)}
        own = {"notices": [note.to_json() for note in dict.fromkeys(each.notices)]}
        numbers[each.name] = _numbers(each.as_read) | after | own
    return {
        "score": score,
        "positive": POSITIVE,
        "file": inside.file,
        "digest": inside.digest,
        "split": inside.split,
        "temperature": None
        if temperature is None
        else {"value": temperature, "fitted_on": fitted_on or None},
        "notices": [note.to_json() for note in inside.notices],
        "sets": numbers,
    }


def _numbers(judged: ScoreSeparation) -> Json:
    scores, auroc = judged.numbers, judged.numbers["auroc"]
    ends = {key: {"low": scores[key].low, "high": scores[key].high} for key in WORDS}
    return {
        "n_in": judged.separation.n_in,
        "n_out": judged.separation.n_out,
        **_sides("groups", judged.groups),
        **_sides("weights", judged.weights),
        "auroc": {"value": auroc.value, "low": auroc.low, "high": auroc.high},
        **{key: scores[key].value for key in WORDS},
        "intervals": ends,
        "level": auroc.level,
    }


def _sides(key: str, both: Summaries) -> Json:
    """Return the effective sample size of either set; nothing without groups or weights."""
    own = {
        side: asdict(summary)
        for side, summary in zip(("in", "out"), both, strict=True)
        if summary is not None
    }
    return {key: own} if own else {}


def ood_lines(report: Json) -> list[str]:
    """Return the same for a terminal; the first line says what is positive."""
    label = SCORES[report["score"]].label.lower()
    lines = [
        f"{report['file']}, {report['split']} part, told by {label}; "
        "positive class: out-of-distribution"
    ]
    for name, set_json in report["sets"].items():
        lines.append(
            f"{name}: {set_json['n_out']} rows against {set_json['n_in']} in-distribution ones"
        )
        lines += _lines(set_json, "as read")
        if "after_temperature" in set_json:
            temperature = report["temperature"]
            fitted = f", fitted on {temperature['fitted_on']}" if temperature["fitted_on"] else ""
            after = f"after T = {temperature['value']:.4g}{fitted}"
            lines += _lines(set_json["after_temperature"], after)
        lines += [f"  {note['code']}: {note['text']}" for note in set_json["notices"]]
    lines += [f"{note['code']}: {note['text']}" for note in report["notices"]]
    return lines


def _lines(numbers: Json, heading: str) -> list[str]:
    level = f"{100 * numbers['level']:g} %"
    ends = numbers["intervals"] | {"auroc": numbers["auroc"]}
    values = {"auroc": numbers["auroc"]["value"]} | {key: numbers[key] for key in WORDS}
    words = {"auroc": "AUROC"} | WORDS
    return [f"  {heading}:"] + [
        f"    {words[key]:<46} {value:.4f}  "
        f"{ends[key]['low']:.4f} to {ends[key]['high']:.4f} ({level})"
        for key, value in values.items()
    ]
