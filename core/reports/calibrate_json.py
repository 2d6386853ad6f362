"""The JSON object of ``python -m core calibrate --json``, and the same as lines of text."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.calibrators import CALIBRATORS
from core.calibrators.posthoc import NONE, Fit, MethodReport, PosthocRows
from core.calibrators.protocols import PROTOCOLS
from core.errors import Notice
from core.metrics.comparison import compare
from core.metrics.paired import Difference
from core.reports.audit_json import floor_json, score_json

Json = dict[str, Any]  # Any: plain JSON values
SHOWN = ("accuracy", "nll", "brier", "ece", "ece_em", "classwise_ece", "smece", "ada_ece")


def calibrate_json(
    parts: PosthocRows,
    fits: Sequence[Fit],
    judged: Mapping[str, MethodReport],
    notices: Sequence[Notice],
) -> Json:
    """Return what every method does as plain JSON.

    Parameters
    ----------
    parts : PosthocRows
        The rows that were fitted on, and those that are reported.
    fits : sequence of Fit
        The methods, in their order.
    judged : mapping of str to MethodReport
        By method, with `none`; methods that refused are missing.
    notices : sequence of Notice
        What the reader said; those of the parts and of the reported rows as read follow.

    Returns
    -------
    dict
        ``methods`` by key; one that could not be fitted holds only its ``reason``.
        ``difference`` is from none, paired on the same resamples. Fractions throughout.
    """
    names = list(judged)
    found = compare([judged[name].compared for name in names], names, names.index(NONE))
    differences = dict(zip(names, found.differences, strict=True))
    told = (*notices, *parts.notices, *judged[NONE].compared.audit.notices)
    return {
        "fit": parts.fit_name,
        "test": parts.test_name,
        "n_fit": parts.fit.n,
        "n_test": parts.test.n,
        "cut": None if parts.cut is None else {"share": parts.cut[0], "seed": parts.cut[1]},
        "notices": [note.to_json() for note in dict.fromkeys(told)],
        NONE: _scored(judged[NONE]),
        "methods": {
            one.method: _method(one, judged.get(one.method), differences.get(one.method, {}))
            for one in fits
        },
    }


def _scored(judged: MethodReport) -> Json:
    main = judged.compared.audit.main
    return {
        "metrics": {key: score_json(one) for key, one in main.metrics.items()},
        "noise_floor": {key: floor_json(one) for key, one in main.noise_floor.items()},
    }


def _method(one: Fit, judged: MethodReport | None, differences: Mapping[str, Difference]) -> Json:
    report = one.report
    if judged is None or report is None or one.calibrator is None:
        return {"reason": one.refusal}
    return {
        "settings": one.calibrator.settings(),
        "parameters": dict(report.parameters),
        "objective": report.objective,
        "before": report.before,
        "after": report.after,
        "at_bound": report.at_bound,
        "worse": report.worse,
        "message": report.message,
        "fit_seconds": report.seconds,
        "keeps_accuracy": CALIBRATORS[one.method].keeps_accuracy,
        "answers_changed": judged.changed,
        **_scored(judged),
        "difference": {key: difference_json(found) for key, found in differences.items()},
    }


def difference_json(found: Difference) -> Json:
    """Return a paired difference; without an interval it has a reason."""
    out: Json = {
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "level": found.level,
        "n": found.n,
        "tie": found.tie,
        "settings": dict(found.settings),
    }
    return out | {"reason": found.reason} if found.low is None else out


def calibrate_lines(report: Json) -> list[str]:
    """Return the same for a terminal: where it was fitted, the methods, and what was searched."""
    lines = [
        f"fitted on {report['n_fit']} rows of {report['fit']}, "
        f"reported on {report['n_test']} rows of {report['test']}{_same(report)}",
        f"{NONE:<17}{_scores(report[NONE])}",
    ]
    fitted = [one for one in report["methods"].values() if "reason" not in one]
    for name, method in report["methods"].items():
        if "reason" in method:
            lines.append(f"{name:<17}not fitted: {method['reason']}")
            continue
        lines.append(f"{name:<17}{_scores(method)}")
        lines.append(f"{'':<17}{_told(method)}")
    searches = [one["settings"]["search"] for one in fitted if "search" in one["settings"]]
    return [*lines, *(PROTOCOLS[search].words for search in dict.fromkeys(searches))]


def _same(report: Json) -> str:
    same = any(notice["code"] == "SAME_ROWS" for notice in report["notices"])
    return ", the same rows: better than on new ones" if same else ""


def _scores(one: Json) -> str:
    """Return the scores of a method, and with each error how much chance explains."""
    shown = [key for key in SHOWN if key in one["metrics"]]
    return "  ".join(
        f"{key} {_number(one['metrics'][key]['value'])}{_chance(one['noise_floor'].get(key))}"
        for key in shown
    )


def _chance(floor: Json | None) -> str:
    return "" if floor is None else f" (chance: up to {_number(floor['q95'])})"


def _told(method: Json) -> str:
    said = [f"ece {_difference(method['difference'].get('ece'))}"]
    small = {k: v for k, v in method["parameters"].items() if isinstance(v, float)}
    said += [f"{key} {value:.4g}" for key, value in small.items()]
    changed = method["answers_changed"]
    said += [f"{changed} answer{'s' if changed > 1 else ''} changed"] if changed else []
    said += [method["message"]] if method["message"] else []
    return ", ".join(said)


def _difference(found: Json | None) -> str:
    if found is None or found["low"] is None:
        return "difference unknown"
    tie = ", a tie" if found["tie"] else ""
    return f"{found['value']:+.4f} ({found['low']:+.4f} to {found['high']:+.4f}{tie})"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
