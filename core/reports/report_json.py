"""The JSON of a report: every number of its runs, what they were made from, and its certificate."""

import json
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
import scipy

from core.configs import AuditConfig
from core.defaults import VERSION
from core.errors import Refused
from core.reports.compare import compare_json, letters
from core.reports.sections import named_runs
from core.reports.study_json import (
    InDistribution,
    SetReport,
    audit_json,
    calibrate_json,
    finite,
    human_fits_json,
    human_json,
    ood_json,
    score_json,
)
from core.screens.compare.view import compare_view
from core.studies.clinic import Findings, OneFinding
from core.studies.report import ReportNumbers, RunNumbers

Json = dict[str, Any]  # Any: plain JSON values
COMPARED_BY: Final = "ece"
FORMAT: Final = "candor-report-1"
CERTIFICATE, DIGEST = "certificate", "digest"
CORE: Final = Path(__file__).parents[1]
TIMED: Final = "fit_seconds"  # how long a fit took is no result: it differs every time


def report_json(
    numbers: ReportNumbers, sections: Sequence[str], edition: str, config: AuditConfig
) -> Json:
    """Return a report as plain JSON, its certificate with it.

    The same input, settings and code give the same JSON: no date, no name of a machine.
    """
    comparison = None
    if numbers.comparison is not None:
        names = [run.run.name for run in numbers.runs]
        view = compare_view(named_runs(numbers), numbers.compared, numbers.comparison, COMPARED_BY)
        comparison = compare_json(
            names, letters(view, names), numbers.compared, numbers.comparison, COMPARED_BY
        )
    content: Json = {
        "format": FORMAT,
        "edition": str(edition),
        "sections": list(sections),
        "settings": config.to_json(),
        "software": software(),
        "runs": [_run(run) for run in numbers.runs],
        "comparison": comparison,
    }
    return certified(content)


def software() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    return {
        "candor": VERSION,
        "code": code_digest(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


@cache
def code_digest() -> str:
    """Return the SHA-256 of Candor's modules, by name."""
    state = sha256()
    for path in sorted(CORE.rglob("*.py")):
        text = path.read_bytes()
        state.update(f"{path.relative_to(CORE).as_posix()} {len(text)}\n".encode())
        state.update(text)
    return state.hexdigest()


def certified(content: Mapping[str, Any]) -> Json:
    """Return the content with its certificate: digests of rows, splits, settings, code, and all."""
    asked = {key: content[key] for key in ("settings", "sections", "edition")}
    certificate = {
        "form": "RFC 8785, whole numbers in full",
        "algorithm": "SHA-256; files and rows BLAKE2b-128",
        "rows": [run["rows_digest"] for run in content["runs"]],
        "splits": [run["split"] for run in content["runs"]],
        "settings": digest(asked),
        "code": content["software"]["code"],
    }
    whole = {**content, CERTIFICATE: certificate}
    return whole | {CERTIFICATE: certificate | {DIGEST: digest(whole)}}


def _run(numbers: RunNumbers) -> Json:
    run, rows = numbers.run, numbers.rows
    out: Json = {
        "name": run.name,
        "file": run.file,
        "file_digest": run.file_digest,
        "rows_digest": rows.digest,
        "split": run.split,
        "reading": dict(run.reading),
        "audit": audit_json(
            run.file, run.file_digest, run.sizes, run.split, run.notices, numbers.audit
        ),
        "classes": [
            {
                "name": row.name,
                "labelled": row.labelled,
                "n": row.n,
                "confidence": finite(row.confidence),
                "accuracy": finite(row.accuracy),
                "gap": None if row.gap is None else asdict(row.gap),
                "p_value": finite(row.p_value),
                "ece": finite(row.ece),
            }
            for row in numbers.classes
        ],
        "left_out": dict(numbers.left_out),
    }
    if rows.votes is not None:
        out["votes"] = rows.votes.name
    if numbers.human is not None:
        fits = {"fits": human_fits_json(numbers.human.fits)}
        out["human"] = human_json(numbers.human.audit) | fits
    if numbers.posthoc is not None:
        after = numbers.posthoc
        out["posthoc"] = calibrate_json(after.rows, after.fits, after.judged, ())
        for method in out["posthoc"]["methods"].values():
            method.pop(TIMED, None)
    if numbers.ood is not None:
        notices = numbers.ood.notices
        inside = InDistribution(run.file, run.file_digest, run.split, notices)
        sets = [SetReport(name, judged, None, ()) for name, judged in numbers.ood.sets.items()]
        effects = {name: asdict(shifted) for name, (shifted, _) in numbers.ood.effects.items()}
        out["ood"] = ood_json(inside, numbers.ood.score, None, "", sets) | {"shifts": effects}
    if numbers.clinical is not None:
        out["clinical"] = _clinical(numbers, numbers.clinical)
    return out


def _clinical(numbers: RunNumbers, clinical: Findings | OneFinding) -> Json:
    if isinstance(clinical, OneFinding):
        scores = clinical.audit.metrics.items()
        return {"events": clinical.fit.events, "metrics": {k: score_json(s) for k, s in scores}}
    names = numbers.rows.class_names
    return {
        "findings": [
            {
                "name": name,
                "events": clinical.events[k],
                "few": clinical.few(k),
                "metrics": {
                    key: score_json(score)
                    for key, score in clinical.audit.labels[k].metrics.items()
                },
            }
            for k, name in enumerate(names)
        ]
    }


# Canonical JSON is as RFC 8785 says: no spaces, keys sorted by their UTF-16 code units, numbers as
# ECMAScript writes them, strings with the fewest escapes. In one point it goes further: whole
# numbers beyond 2^53, such as a seed, are written in full instead of as the nearest double.
FIXED_DIGITS = 21  # ECMAScript: longer numbers have an exponent
FEWEST_ZEROS = -6  # a smaller one has, too


def canonical(value: Any) -> str:  # noqa: ANN401  plain JSON
    """Return a value as canonical JSON.

    `value`: no number that is infinite or undefined.

    Raises ValueError: such a number, or a value of another type.
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return number(value)
    if isinstance(value, list | tuple):
        return f"[{','.join(map(canonical, value))}]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return f"{{{','.join(f'{canonical(key)}:{canonical(value[key])}' for key in keys)}}}"
    raise ValueError(f"no JSON for {type(value).__name__}")


def number(value: float) -> str:
    """Return a number as ECMAScript's Number::toString: the shortest digits that give it back."""
    if not math.isfinite(value):
        raise ValueError(f"no JSON for {value}")
    if value == 0.0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # Where the point stands, counted from the first digit.
    n_zeros = len(fraction) - len(fraction.lstrip("0"))
    power = int(exponent or 0) + (len(whole) if whole.strip("0") else -n_zeros)
    digits = digits.rstrip("0")
    if len(digits) <= power <= FIXED_DIGITS:
        return sign + digits + "0" * (power - len(digits))
    if 0 < power <= FIXED_DIGITS:
        return f"{sign}{digits[:power]}.{digits[power:]}"
    if FEWEST_ZEROS < power <= 0:
        return f"{sign}0.{'0' * -power}{digits}"
    point = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{point}e{power - 1:+d}"


def digest(value: Any) -> str:  # noqa: ANN401  plain JSON
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal."""
    return sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def parsed(data: bytes) -> Any:  # noqa: ANN401  plain JSON
    """Return the value of canonical JSON.

    Raises Refused REPORT: the bytes are no JSON, or not in the canonical form.
    """
    try:
        value = json.loads(data.decode("utf-8"))
        again = canonical(value).encode("utf-8")
    except (ValueError, RecursionError, UnicodeError) as error:
        raise Refused(
            "REPORT", "The report is not JSON", "use the report as it was written"
        ) from error
    if again != data:
        what = "The bytes of the report are not in the canonical form"
        raise Refused("REPORT", what, "use the report as it was written")
    return value
