"""The JSON object of ``python -m core calibrate --json``, and the same as lines of text."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.calibrators import CALIBRATORS
from core.calibrators.search import PROTOCOLS
from core.codes import NoticeCode
from core.errors import Notice
from core.metrics.comparison import compare
from core.metrics.human.errors import DISTANCE
from core.metrics.paired import PAIRABLE, Difference
from core.reports.audit_json import floor_json, score_json
from core.studies.human import ERRORS, HumanFits
from core.studies.human import SHOWN as HUMAN
from core.studies.posthoc import NONE, Fit, MethodReport, PosthocRows

Json = dict[str, Any]  # Any: plain JSON values


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
            "objective": report.objective,
            "before": report.before,
            "after": report.after,
            "at_bound": report.at_bound,
            "worse": report.worse,
            "message": report.message,
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
    out: Json = {
        "value": difference.value,
        "low": difference.low,
        "high": difference.high,
        "level": difference.level,
        "n": difference.n,
        "tie": difference.tie,
        "settings": dict(difference.settings),
    }
    return out | {"reason": difference.reason} if difference.low is None else out


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
