"""``python -m core.commands.audit_job FOLDER``: the process that audits what one job names.

Exit codes as of ``python -m core``.
"""

import os
import resource
import sys
import time
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy

from core import progress
from core.commands.shared import need_file, read_file, refuse_changed, split_of, voted
from core.configs import AuditConfig
from core.jobs.audit import MEASURING, STAGES, WRITING, spec_of
from core.library import open_library
from core.library.store import keep_result
from core.metrics.human import human_audit
from core.reports.study_json import audit_json, human_json
from core.studies.reliability import audit_every_metric
from core.training.folder import JobFolder, Progress, job_main, write_progress

MANY_ROWS: Final = 1_000_000  # from which large arrays of the audit lie in files
LARGE_BYTES: Final = 2**24
LIMIT_S: Final = 7 * 86_400.0  # of reading; a job can be stopped, and given a time limit
EVERY_S: Final = 1.0
STEPS: Final = 1_000  # of each stage
Json = dict[str, Any]  # Any: plain JSON values


def main() -> int:
    """Read, audit, keep the run, and write how it went."""
    return job_main("python -m core.commands.audit_job", _audit, {})


def _audit(folder: JobFolder, _: object) -> int:
    run(folder)
    return 0


def run(folder: JobFolder) -> Json:
    """Audit what a job names, keep it in the library, and return how it went.

    The result holds the audit as ``python -m core audit --json`` writes it.

    Raises AuditError: of the spec, the files, the audit or the library.
    """
    began = time.monotonic()
    spec, pace = spec_of(folder), AuditProgress(folder)
    path, labels = Path(spec.path), None if spec.labels is None else Path(spec.labels)
    tables = {column: Path(table) for column, table in spec.tables.items()}
    votes = None if spec.votes is None else Path(spec.votes)
    need_file(path, or_folder=True)
    for file in filter(None, (labels, votes, *tables.values())):
        need_file(file)
    named = {column: (table, table.name) for column, table in tables.items()}
    read = result = read_file(path, labels, spec.options, named, LIMIT_S)
    split = split_of(spec.split, read)
    if votes is not None:
        result = voted(read, split, votes, spec.vote_choice, timeout_s=LIMIT_S)
    if result.splits[split].n >= MANY_ROWS:
        from core.compiled.memory import keep_large_in_files  # compiles for a second

        keep_large_in_files(LARGE_BYTES)
    pace.enter(MEASURING)
    audit = audit_every_metric(result.splits[split], spec.config)
    human = None
    if result.splits[split].votes is not None:
        human = human_json(human_audit(result.splits[split], spec.config))
    pace.enter(WRITING)
    default = spec.config == AuditConfig() and split == result.chosen_split
    refuse_changed(path.name, result)
    manifest = keep_result(
        open_library(),
        spec.name,
        path.name,
        result,
        audited=audit if default else None,
        run_id=folder.path.name,
    )
    rows = {name: predictions.n for name, predictions in result.splits.items()}
    report = audit_json(path.name, read.digest, rows, split, result.notices, audit)
    outcome: Json = {
        "job": folder.path.name,
        "run": manifest.id,
        "state": "succeeded",
        "seconds": time.monotonic() - began,
        "audit": report if human is None else report | {"human": human},
    }
    folder.finish(outcome)
    return outcome


class AuditProgress:
    """Says about once a second how far the audit is: the stage, and how much of it is done."""

    def __init__(self, folder: JobFolder) -> None:
        self._folder = folder
        self._began = time.monotonic()
        self.enter(STAGES[0])
        progress.on_progress(lambda share, _: self._tell(share))

    def enter(self, stage: str) -> None:
        """Take note that the next stage begins."""
        self._stage, self._written = STAGES.index(stage), 0.0
        self._tell(0.0)

    def _tell(self, share: float) -> None:
        now = time.monotonic()
        if now - self._written < EVERY_S:
            return
        self._written = now
        peak = max(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        write_progress(
            self._folder.path,
            Progress(
                epoch=self._stage,
                n_epochs=len(STAGES),
                batch=round(share * STEPS),
                n_batches=STEPS,
                images_per_second=0.0,
                memory=peak * 1024,
                seconds=now - self._began,
                left=None,
            ),
        )


if __name__ == "__main__":
    sys.exit(main())
