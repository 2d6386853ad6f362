"""A report from what was asked for to its files: HTML, Markdown and JSON of the same numbers."""

from dataclasses import dataclass, field

from core import defaults
from core.configs import AuditConfig
from core.errors import LibraryError, UsageError
from core.library import Library, StoredSplit
from core.metrics.comparison import MOST_RUNS
from core.predictions import Task
from core.readers.predictions.result import ReadResult
from core.reports import html, sections
from core.reports.document import Document, Edition, document_markdown
from core.reports.report_json import CERTIFICATE, DIGEST, Json, canonical, report_json, software
from core.screens.kit.words import speaking_of
from core.screens.xray.words import ClinicSource
from core.studies.report import CLINICAL, COMPARE, HUMAN, ReportedRun, report_numbers

WITH_MANY = (sections.VERDICT, COMPARE, sections.SETTINGS)


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


def default_sections(runs: tuple[ReportedRun, ...]) -> tuple[str, ...]:
    """Return the sections of a report where nobody says; of many runs, what speaks of them all."""
    return offered_sections(runs) if len(runs) <= sections.FULL_RUNS else WITH_MANY


def offered_sections(runs: tuple[ReportedRun, ...]) -> tuple[str, ...]:
    """Return the sections that fit the runs: clinical ones for findings, people's for votes."""
    clinical = all(map(_clinical, runs))
    left_out = set() if clinical else {CLINICAL, sections.CHECKLIST}
    if not any(run.split in run.voted for run in runs):
        left_out.add(HUMAN)
    return tuple(key for key in sections.SECTIONS if key not in left_out)


def _clinical(run: ReportedRun) -> bool:
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
