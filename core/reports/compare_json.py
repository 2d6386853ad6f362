"""The JSON object of ``python -m core compare --json``, and the same as lines of text."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from core.figures.runs import marks
from core.metrics.comparison import Compared, Comparison
from core.metrics.paired import Difference
from core.metrics.records import Audit
from core.reports.audit_json import score_json

Json = dict[str, Any]  # Any: plain JSON values


def compare_json(
    names: Sequence[str], runs: Sequence[Compared], found: Comparison, metric: str
) -> Json:
    """Return a comparison as plain JSON.

    Parameters
    ----------
    names : sequence of str
        What the files are called, each once, in the comparison's order.
    runs : sequence of Compared
        Their audits.
    found : Comparison
        Their differences from a reference.
    metric : str
        The one whose differences are listed.

    Returns
    -------
    dict
        ``differences`` are run a minus the reference b, in fractions; empty with a ``reason``
        where the files do not speak of the same labelled rows. A number that is undefined is
        null beside a ``reason``.
    """
    return {
        "metric": metric,
        "same_labels": not found.reason,
        "reason": found.reason,
        "reference": names[found.reference],
        "runs": [
            {
                "name": name,
                "letter": mark.letter,
                "n": run.rows.n,
                "metrics": {key: score_json(one) for key, one in run.audit.main.metrics.items()},
                "unavailable": dict(run.audit.unavailable),
                **_groups(run.audit),
            }
            for name, mark, run in zip(names, marks(names), runs, strict=True)
        ],
        "differences": [
            {"a": names[i], "b": names[found.reference], **_difference(each[metric])}
            for i, each in enumerate(found.differences)
            if metric in each
        ],
    }


def _groups(audit: Audit) -> Json:
    """Return what the rows are worth, where they belong together or count by weight."""
    both = {"groups": audit.main.groups, "weights": audit.weights}
    return {key: asdict(one) for key, one in both.items() if one is not None}


def _difference(found: Difference) -> Json:
    out: Json = {
        "metric": found.metric,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "level": found.level,
        "n": found.n,
        "tie": found.tie,
        "settings": dict(found.settings),
    }
    return out | {"reason": found.reason} if found.low is None else out


def compare_lines(report: Json) -> list[str]:
    """Return the same for a terminal: one line a file, then one a difference."""
    metric = report["metric"]
    lines = []
    for run in report["runs"]:
        shown = [f"{key} {_number(one['value'])}" for key, one in run["metrics"].items()]
        lines.append(f"{run['letter']}  {run['name']}: n {run['n']}, {', '.join(shown)}")
    if report["reason"]:
        return [*lines, f"not ranked: {report['reason']}"]
    groups = report["runs"][0].get("groups")
    drawn = f", {groups['n']} groups by {groups['column']} drawn as wholes" if groups else ""
    lines.append(f"{metric}, difference from {report['reference']}{drawn}:")
    for one in report["differences"]:
        if one["low"] is None:
            lines.append(f"  {one['a']}: {_number(one['value'])}, {one['reason']}")
            continue
        ends = f"{one['low']:+.4f} to {one['high']:+.4f}, {100 * one['level']:.3g} %"
        tie = ", a tie" if one["tie"] else ""
        lines.append(f"  {one['a']}: {one['value']:+.4f} ({ends}){tie}")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
