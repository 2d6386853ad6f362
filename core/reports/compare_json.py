"""The JSON object of ``python -m core compare --json``."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from core.metrics.comparison import Compared, Comparison
from core.metrics.human.errors import DISTANCE
from core.reports.audit_json import score_json
from core.reports.calibrate_json import difference_json

Json = dict[str, Any]  # Any: plain JSON values


def compare_json(
    names: Sequence[str],
    letters: Sequence[str],
    runs: Sequence[Compared],
    comparison: Comparison,
    metric: str,
) -> Json:
    """Return a comparison as plain JSON.

    Parameters
    ----------
    names : sequence of str
        What the files are called, each once, in the comparison's order.
    letters : sequence of str
        Of their badges; empty where many are compared and one has none.
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
