"""The JSON of a report: every number of its runs, what they were made from, and its certificate."""

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
from core.reports import canonical
from core.reports.audit_json import audit_json, human_json, score_json
from core.reports.calibrate_json import calibrate_json, human_fits_json
from core.reports.compare_json import compare_json
from core.reports.compare_text import letters
from core.reports.ood_json import InDistribution, SetReport, ood_json
from core.reports.sections import named_runs
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

    Parameters
    ----------
    numbers : ReportNumbers
        The numbers.
    sections, edition : sequence of str, str
        What was asked for.
    config : AuditConfig
        Of every audit.

    Returns
    -------
    dict
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
        "settings": canonical.digest(asked),
        "code": content["software"]["code"],
    }
    whole = {**content, CERTIFICATE: certificate}
    return whole | {CERTIFICATE: certificate | {DIGEST: canonical.digest(whole)}}


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
                "confidence": _known(row.confidence),
                "accuracy": _known(row.accuracy),
                "gap": None if row.gap is None else asdict(row.gap),
                "p_value": _known(row.p_value),
                "ece": _known(row.ece),
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
        inside = InDistribution(
            file=run.file,
            digest=run.file_digest,
            split=run.split,
            n=rows.n,
            notices=numbers.ood.notices,
        )
        sets = [SetReport(name, judged, None, ()) for name, judged in numbers.ood.sets.items()]
        effects = {name: asdict(shifted) for name, (shifted, _) in numbers.ood.effects.items()}
        out["ood"] = ood_json(inside, numbers.ood.score, None, "", sets) | {"shifts": effects}
    if numbers.clinical is not None:
        out["clinical"] = _clinical(numbers, numbers.clinical)
    return out


def _known(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


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
