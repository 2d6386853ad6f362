"""A report from what was asked for to its files: HTML, Markdown and JSON of the same numbers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from core import defaults
from core.configs import AuditConfig
from core.errors import LibraryError, UsageError
from core.library import Library, StoredSplit
from core.metrics.comparison import MOST_RUNS
from core.predictions import Task
from core.readers.predictions.result import ReadResult
from core.reports import html, sections
from core.reports.certificate import (
    CERTIFICATE,
    DIGEST,
    FORMAT,
    Json,
    canonical,
    certified,
    software,
)
from core.reports.document import Document, Edition, document_markdown
from core.reports.sections import named_runs
from core.reports.study_json import (
    InDistribution,
    SetReport,
    audit_json,
    calibrate_json,
    compare_json,
    finite,
    human_fits_json,
    human_json,
    ood_json,
    score_json,
)
from core.reports.tables import letters
from core.screens.compare.view import compare_view
from core.screens.kit.words import speaking_of
from core.screens.xray.words import ClinicSource
from core.studies.clinic import Findings, OneFinding
from core.studies.report import (
    CLINICAL,
    COMPARE,
    HUMAN,
    ReportedRun,
    ReportNumbers,
    RunNumbers,
    report_numbers,
)

WITH_MANY = (sections.VERDICT, COMPARE, sections.SETTINGS)
COMPARED_BY: Final = "ece"
TIMED: Final = "fit_seconds"  # how long a fit took is no result: it differs every time


@dataclass(frozen=True, kw_only=True)
class ReportRequest:
    """What a report is to hold: of which runs which sections, for whom, by which settings.

    Raises UsageError SETTING: no run, too many, or an unknown section.
    """

    runs: tuple[ReportedRun, ...]
    sections: tuple[str, ...] = tuple(sections.SECTIONS)
    edition: Edition = Edition.TECHNICAL
    config: AuditConfig = field(default_factory=AuditConfig)

    def __post_init__(self) -> None:
        """Refuse what makes no report."""
        if not 1 <= len(self.runs) <= MOST_RUNS:
            what = f"{len(self.runs)} runs were named"
            raise UsageError("SETTING", what, f"report 1 to {MOST_RUNS}")
        unknown = [key for key in self.sections if key not in sections.SECTIONS]
        if unknown or not self.sections:
            what = f"There is no section {unknown[0]!r}" if unknown else "No section was chosen"
            raise UsageError("SETTING", what, f"use {', '.join(sections.SECTIONS)}")


@dataclass(frozen=True, kw_only=True)
class ReportFiles:
    """A report in its three forms, and the sentence of its first section."""

    html: str
    markdown: str
    json: str
    digest: str
    headline: str


def report_files(request: ReportRequest) -> ReportFiles:
    """Return a report in its three forms.

    Raises LibraryError: as of `Library.load`.
    """
    content, document = report(request)
    return ReportFiles(
        html=html.document_html(document),
        markdown=document_markdown(document),
        json=canonical(content),
        digest=document.digest,
        headline=next(
            (s.sentence.text for c in document.chapters for s in c.sections if s.sentence), ""
        ),
    )


def report(request: ReportRequest) -> tuple[Json, Document]:
    """Return the JSON of a report, and the same as a document."""
    with speaking_of(*(run.data for run in request.runs)):
        numbers = report_numbers(request.runs, request.sections, request.config)
        content = report_json(numbers, request.sections, request.edition, request.config)
        config = request.config
        settings = {
            "Edition": str(request.edition),
            "Bins": str(config.n_bins),
            "Level of intervals": f"{100 * config.level:g} %",
            "Resamples": f"{config.n_resamples:,}",
            "Seed": str(config.seed),
            "smECE": config.smece,
            "Smoother": config.smoother,
        } | {f"Version of {name}": version for name, version in software().items()}
        document = Document(
            title=", ".join(run.name for run in request.runs)
            if len(request.runs) <= sections.FULL_RUNS
            else f"{len(request.runs)} runs",
            edition=request.edition,
            banners=sections.banners(numbers, request.edition),
            chapters=sections.chapters(numbers, request.sections, request.edition, settings),
            digest=content[CERTIFICATE][DIGEST],
            version=defaults.VERSION,
        )
        return content, document


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


def default_sections(runs: tuple[ReportedRun, ...]) -> tuple[str, ...]:
    """Return the sections of a report where nobody says; of many runs, what speaks of them all."""
    return offered_sections(runs) if len(runs) <= sections.FULL_RUNS else WITH_MANY


def offered_sections(runs: tuple[ReportedRun, ...]) -> tuple[str, ...]:
    """Return the sections that fit the runs: clinical ones for findings, people's for votes."""
    clinical = all(map(_is_clinical, runs))
    left_out = set() if clinical else {CLINICAL, sections.CHECKLIST}
    if not any(run.split in run.voted for run in runs):
        left_out.add(HUMAN)
    return tuple(key for key in sections.SECTIONS if key not in left_out)


def _is_clinical(run: ReportedRun) -> bool:
    source = ClinicSource(run=run.name, split=run.split, digest="", findings=run.names, n=0)
    return run.task in (Task.MULTILABEL, Task.BINARY) and source.films == "films"


def run_of_file(name: str, result: ReadResult, split: str) -> ReportedRun:
    """Return a file that was read, to be reported."""
    return ReportedRun(
        name=name,
        file=name,
        file_digest=result.digest,
        split=split,
        splits={key: part for key, part in result.splits.items() if part.labelled},
        sizes={key: part.n for key, part in result.splits.items()},
        outside={key: part for key, part in result.splits.items() if not part.labelled},
        notices=tuple(result.notices),
        reading=result.recipe.to_json(),
        task=result.splits[split].task,
        names=result.splits[split].class_names,
        voted=tuple(
            key for key, part in result.splits.items() if part.labelled and part.votes is not None
        ),
    )


def run_of_library(library: Library, run_id: str, split: str | None = None) -> ReportedRun:
    """Return a run of the library, to be reported.

    Raises
    ------
    LibraryError
        RUN_UNKNOWN, DAMAGED; NO_LABELS where nothing in it can be audited.
    UsageError
        SPLIT: it has no labelled part of that name.
    """
    manifest = library.get(run_id)
    if not manifest.labelled:
        raise LibraryError(
            "NO_LABELS", f"{manifest.name} holds no labelled rows", "name a run with labels"
        )
    chosen = split or manifest.headline
    if chosen not in manifest.labelled:
        known = ", ".join(manifest.labelled)
        raise UsageError("SPLIT", f"{manifest.name} has no split {chosen!r}", f"it holds {known}")
    stored = {
        key: StoredSplit(run_id, key, entry.n * manifest.n_classes)
        for key, entry in manifest.splits.items()
    }
    return ReportedRun(
        name=manifest.name,
        file=manifest.source.file,
        file_digest=manifest.source.digest,
        split=chosen,
        splits={key: stored[key] for key in manifest.labelled},
        sizes={key: entry.n for key, entry in manifest.splits.items()},
        outside={key: part for key, part in stored.items() if key not in manifest.labelled},
        notices=manifest.notices,
        reading={} if manifest.config else dict(manifest.source.recipe or {}),  # else of its data
        data=manifest.data,
        synthetic=manifest.data == "phantom",
        task=Task(manifest.task),
        names=manifest.class_names,
        voted=tuple(key for key in manifest.labelled if manifest.splits[key].votes),
    )
