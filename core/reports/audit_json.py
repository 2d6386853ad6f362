"""The JSON object of ``python -m core audit --json``: plain numbers, null with a reason."""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from core.errors import Notice, UsageError
from core.metrics import METRICS
from core.metrics.human import HumanAudit
from core.metrics.macro import ChanceAmong, corrected_verdicts
from core.metrics.records import Audit, BinTable, Floor, Gap, Score, Statistic, TargetAudit, Verdict
from core.metrics.verdict import SETTLED
from core.screens.reliability.human import agreement_words

Json = dict[str, Any]  # Any: plain JSON values
SCHEMA = 2  # since 2 a verdict says what it is of; those of an event have codes of their own
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
        numbers = {
            key: finite(getattr(score, key)) for key in ("value", "low", "high", "floor", "bound")
        }
        more = {"known": finite(audit.known_nll)} if name == "soft_nll" else {}
        reason = {"reason": score.reason} if score.reason else {}
        out[name] = {**numbers, **more, "level": float(audit.level), "n": audit.n, **reason}
    kinds = audit.disagreement
    names = ("entropy", "confidence", "agreement", "gap", "low", "high", "known")
    out["disagreement"] = [
        {"count": count} | {name: finite(float(getattr(kinds, name)[k])) for name in names}
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
    out: Json = {
        "value": finite(score.value),
        "low": finite(score.low),
        "high": finite(score.high),
        "level": float(score.level),
        "n": int(score.n),
        "settings": dict(score.settings),
    }
    missing = UNDEFINED if out["value"] is None else NO_INTERVAL
    return _explained(out, ("value", "low", "high"), score.reason or missing)


def floor_json(floor: Floor) -> Json:
    """Return a noise floor; without one it has a reason."""
    out = {"mean": finite(floor.mean), "q95": finite(floor.q95)}
    return _explained(out, ("mean", "q95"), UNDEFINED)


def _gap(gap: Gap) -> Json:
    out = {"gap": finite(gap.gap), "low": finite(gap.low), "high": finite(gap.high)}
    return _explained(out, ("gap", "low", "high"), UNDEFINED)


def _verdict(verdict: Verdict) -> Json:
    out: Json = {
        "code": verdict.code,
        "text": verdict.text,
        "of": verdict.of,
        "p_value": finite(verdict.p_value),
    }
    if verdict.p_value is not None:
        out["evidence"] = []
        for item in verdict.evidence:  # the size of a gap is the direction
            evidence: Json = {"statistic": item.statistic}
            if item.value is not None:
                evidence["value"] = finite(item.value)
                if item.statistic == Statistic.SLOPE:
                    evidence |= {
                        "low": finite(item.low),
                        "high": finite(item.high),
                        "level": SETTLED,
                    }
                else:
                    evidence["q95"] = finite(item.q95)
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
    if isinstance(verdict, ChanceAmong):
        out |= {"p_holm": verdict.p_holm, "alone": _verdict(verdict.alone)}
    return _explained(out, ("p_value",), NO_TEST)


def _bins(bins: BinTable) -> list[Json]:
    numbers = ("low", "high", "confidence", "accuracy", "ci_low", "ci_high")
    out = []
    for i, count in enumerate(bins.count.tolist()):
        row: Json = {name: finite(float(getattr(bins, name)[i])) for name in numbers}
        row["count"] = int(count)
        out.append(_explained(row, numbers, EMPTY_BIN if count == 0 else UNDEFINED))
    return out


def finite(value: float | None) -> float | None:
    """Return a number that JSON can hold, else None."""
    return float(value) if value is not None and math.isfinite(value) else None


def _explained(out: Json, numbers: Sequence[str], reason: str) -> Json:
    """Add the reason where a number is missing."""
    return out | {"reason": reason} if any(out[name] is None for name in numbers) else out


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
