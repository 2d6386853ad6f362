"""``python -m core audit --launcher``: the same audit as a job, whose run the library keeps."""

import argparse
from pathlib import Path

from core.commands import launcher
from core.commands.shared import READING, Json, need_file, tables_of, votes_of
from core.configs import AuditConfig
from core.errors import UsageError


def audit_by_job(arguments: argparse.Namespace, config: AuditConfig) -> Json:
    """Audit what was named in the background, wait for it, and return the report.

    Raises
    ------
    UsageError
        SETTING: an option that jobs do not have. FILE: a path that leads to no file. DEVICE,
        CLUSTER: it cannot run there.
    AuditError
        Why it failed, or that it was cancelled.
    """
    from core.commands.jobs import waited
    from core.jobs.audit import AuditSpec
    from core.jobs.local import open_jobs
    from core.readers.predictions.options import ReadOptions

    if arguments.html is not None:
        remedy = "write it from the run: python -m core report RUN --out OUT.html"
        raise UsageError("SETTING", "--html cannot be used with --launcher", remedy)
    request = launcher.request_of(arguments, gpus=0, nodes=1)
    settings = {name: getattr(arguments, name) for name in READING}
    columns, tables = tables_of(arguments)
    need_file(arguments.file, or_folder=True)
    if arguments.labels is not None:
        need_file(arguments.labels)
    votes, choice = votes_of(arguments)
    spec = AuditSpec(
        path=_absolute(arguments.file),
        labels=None if arguments.labels is None else _absolute(arguments.labels),
        tables={column: _absolute(path) for column, (path, _) in tables.items()},
        options=ReadOptions.from_json(settings | columns),
        split=arguments.split,
        votes=None if votes is None else _absolute(votes),
        vote_choice=choice,
        config=config,
    )
    jobs = open_jobs()
    (job,) = jobs.submit([spec], request=request)
    ended = waited(jobs, job)
    result = jobs.folder(job.id).result() or {}
    report: Json = result["audit"] | {"run": ended.run}
    return report


def _absolute(path: Path) -> str:
    return str(path.expanduser().absolute())
