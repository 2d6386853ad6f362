"""Gates of a command: a metric, a sign and a limit that a report is held against."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.errors import UsageError
from core.metrics import METRICS

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

    Raises
    ------
    UsageError
        GATE: it cannot be read, or names no metric.
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
