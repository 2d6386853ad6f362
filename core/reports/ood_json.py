"""The JSON object of ``python -m core ood --json``, and the same as lines of text."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.errors import Notice
from core.metrics.records import GroupSummary, WeightSummary
from core.ood.scores import SCORES
from core.ood.separation import POSITIVE
from core.studies.ood import ScoreSeparation

Json = dict[str, Any]  # Any: plain JSON values
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
