"""The JSON object of ``python -m core compare --json``, and the same as lines of text."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from core.metrics.comparison import Compared, Comparison
from core.metrics.records import Audit
from core.reports.audit_json import score_json
from core.reports.calibrate_json import difference_json
from core.screens.kit.run_marks import marks

Json = dict[str, Any]  # Any: plain JSON values


def compare_json(
    names: Sequence[str], runs: Sequence[Compared], comparison: Comparison, metric: str
) -> Json:
    """Return a comparison as plain JSON.

    Parameters
    ----------
    names : sequence of str
        What the files are called, each once, in the comparison's order.
    runs : sequence of Compared
        Their audits.
    comparison : Comparison
        Their differences from a reference.
    metric : str
        The one whose differences are listed.

    Returns
    -------
    dict
        ``differences`` are run a minus the reference b, in fractions; empty with a ``reason``
        where the files do not speak of the same labelled rows. ``best`` names, by metric, the run
        that is ahead of every other beyond chance, where there is one. A number that is undefined
        is null beside a ``reason``.
    """
    return {
        "metric": metric,
        "same_labels": not comparison.reason,
        "reason": comparison.reason,
        "reference": names[comparison.reference],
        "runs": [
            {
                "name": name,
                "letter": mark.letter,
                "n": run.rows.n,
                "metrics": {
                    key: score_json(score) for key, score in run.audit.main.metrics.items()
                },
                "unavailable": dict(run.audit.unavailable),
                **_groups(run.audit),
            }
            for name, mark, run in zip(names, marks(names), runs, strict=True)
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
    }


def _groups(audit: Audit) -> Json:
    """Return what the rows are worth, where they belong together or count by weight."""
    both = {"groups": audit.main.groups, "weights": audit.weights}
    return {key: asdict(summary) for key, summary in both.items() if summary is not None}


def compare_lines(report: Json) -> list[str]:
    """Return the same for a terminal: one line a file, then one a difference."""
    metric = report["metric"]
    lines = []
    for run in report["runs"]:
        scores = [f"{key} {_number(score['value'])}" for key, score in run["metrics"].items()]
        lines.append(f"{run['letter']}  {run['name']}: n {run['n']}, {', '.join(scores)}")
    if report["reason"]:
        return [*lines, f"not ranked: {report['reason']}"]
    groups = report["runs"][0].get("groups")
    grouping = f", {groups['n']} groups by {groups['column']} drawn as wholes" if groups else ""
    lines.append(f"{metric}, difference from {report['reference']}{grouping}:")
    for difference in report["differences"]:
        if difference["low"] is None:
            lines.append(
                f"  {difference['a']}: {_number(difference['value'])}, {difference['reason']}"
            )
            continue
        level = f"{100 * difference['level']:.3g} %"
        ends = f"{difference['low']:+.4f} to {difference['high']:+.4f}, {level}"
        tie = ", a tie" if difference["tie"] else ""
        lines.append(f"  {difference['a']}: {difference['value']:+.4f} ({ends}){tie}")
    if len(report["runs"]) > 2:
        best = report["best"].get(metric)
        ahead = f"{best}, ahead of all others beyond chance" if best else "a tie"
        lines.append(f"best: {ahead}")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
