"""The verb `jobs`, and what the verbs share that work through jobs, here or in a cluster."""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Final

from core import codec
from core.commands.shared import Json, Parser, emit, printable, read_options, votes_of
from core.configs import AuditConfig
from core.errors import AuditError, LostWorker, UsageError

if TYPE_CHECKING:
    from core.jobs.local import LocalJobs
    from core.jobs.records import Job, SlurmRequest

LOOK_S: Final = 0.2
TICK_S: Final = 5.0


def add_jobs(verb: Parser) -> None:
    """Add the acts of `jobs`."""
    acts = verb.add_subparsers(metavar="ACT", parser_class=Parser)
    verb.set_defaults(run=_list, json=None)

    def act(name: str, run: Callable[[argparse.Namespace], int], about: str, *, of: str) -> Parser:
        parser: Parser = acts.add_parser(name, help=about)
        parser.set_defaults(run=run, act=name)
        if "id" in of:
            parser.add_argument("id")
        if "wait" in of:
            parser.add_argument("--wait", action="store_true", help="return when it has ended")
        if "json" in of:
            parser.add_argument("--json", metavar="OUT|-")
        return parser

    act("list", _list, "every job, newest first", of="json")
    act("show", _show, "one job, how far it is, and why it failed", of="id json")
    logs = act("logs", _logs, "its last lines of output", of="id")
    logs.add_argument("--lines", type=int, default=50, metavar="50")
    act("cancel", _act_on, "end it, with every process that it started", of="id json")
    act("retry", _act_on, "queue an ended job again, from the start", of="id wait json")
    resumes = "queue a job that continues from the last checkpoint of an ended one"
    act("resume", _act_on, resumes, of="id wait json")
    act("pause", _queue, "start no new jobs; running ones continue", of="")
    act("unpause", _queue, "let queued jobs start again", of="")
    act("rebuild", _queue, "restore the table from the folders of jobs", of="")


def add_launcher(verb: Parser, default: str | None = "local") -> None:
    """Add ``--launcher`` and an option for each field of a request.

    Without a `default` the verb itself works where no launcher is named.
    """
    from core.fields import fields_of
    from core.jobs.records import LOCAL, SETTINGS, SLURM, SlurmRequest

    verb.add_argument("--launcher", choices=[LOCAL, SLURM], default=default)
    group = verb.add_argument_group(
        "with --launcher slurm", f"options left out are taken from {SETTINGS} in CANDOR_HOME"
    )
    for name, field in fields_of(SlurmRequest).items():
        kind = next(kind for kind in field.kinds if kind is not NoneType)
        about = f"{field.label}. {field.help}".removesuffix(" ")
        group.add_argument(f"--{name}", type=kind, metavar=kind.__name__.upper(), help=about)


def request_of(arguments: argparse.Namespace, **fixed: int) -> "SlurmRequest | None":
    """Return what is asked of a cluster; None for this machine.

    What is `fixed` does not come from the settings file; options may still say otherwise.

    Raises UsageError SETTING: a value out of range, or one for a cluster without ``--launcher
    slurm``.
    """
    from core.fields import fields_of
    from core.jobs.records import SLURM, SlurmRequest, defaults
    from core.library import home

    names = fields_of(SlurmRequest)
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if arguments.launcher != SLURM:
        if given:
            what = f"--{next(iter(given))} is for a cluster, and the launcher is not slurm"
            raise UsageError("SETTING", what, "add --launcher slurm, or leave it out")
        return None
    return replace(defaults(home()), **fixed | given)


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
    from core.jobs.audit import AuditSpec
    from core.jobs.local import open_jobs

    if arguments.html is not None:
        remedy = "write it from the run: python -m core report RUN --out OUT.html"
        raise UsageError("SETTING", "--html cannot be used with --launcher", remedy)
    request = request_of(arguments, gpus=0, nodes=1)
    options, tables = read_options(arguments)
    votes, choice = votes_of(arguments)

    def absolute(file: Path) -> str:
        return str(file.expanduser().absolute())

    spec = AuditSpec(
        path=absolute(arguments.file),
        labels=None if arguments.labels is None else absolute(arguments.labels),
        tables={column: absolute(path) for column, (path, _) in tables.items()},
        options=options,
        split=arguments.split,
        votes=None if votes is None else absolute(votes),
        vote_choice=choice,
        config=config,
    )
    jobs = open_jobs()
    (job,) = jobs.submit([spec], request=request)
    ended = waited(jobs, job)
    result = jobs.folder(job.id).result() or {}
    report: Json = result["audit"] | {"run": ended.run}
    return report


def report(job: "Job", target: str | None) -> int:
    """Say which job it is and where it stands."""
    emit(target, {"job": job.id, "state": job.state})
    if target != "-":
        print(job.id)
    return 0


def wait_for(jobs: "LocalJobs", job: "Job", target: str | None) -> int:
    """Show what a job prints until it ends, and say how it went; errors as of `waited`."""
    job = waited(jobs, job)
    result = jobs.folder(job.id).result() or {"job": job.id, "run": job.run, "state": job.state}
    emit(target, result)
    if target != "-":
        print(f"run {job.run}")
    return 0


def waited(jobs: "LocalJobs", job: "Job") -> "Job":
    """Show what a job prints until it ends, and return it; Ctrl-C cancels it.

    Raises AuditError: why it failed; LostWorker: it was cancelled, or its end is not known.
    """
    from core.jobs.failures import Follower

    print(f"job {job.id}", file=sys.stderr)
    if jobs.paused:
        print("the queue is paused; python -m core jobs unpause resumes it", file=sys.stderr)
    follower, ticked = Follower(jobs.folder(job.id).path), 0.0
    try:
        while not job.state.ended:
            time.sleep(LOOK_S)
            if time.monotonic() - ticked >= TICK_S:
                ticked = time.monotonic()
                jobs.tick()
            for line in follower.new():
                print(line, file=sys.stderr)
            job = jobs.get(job.id)
    except KeyboardInterrupt:
        jobs.cancel(job.id)
        print(f"cancelled; {_resume(job)}", file=sys.stderr)
        raise
    for line in follower.rest():
        print(line, file=sys.stderr)
    if job.state == "succeeded":
        return job
    failure = job.failure
    if failure is None:
        raise LostWorker("CANCELLED", f"Job {job.id} was cancelled", _resume(job))
    error = AuditError(failure.code, failure.what, failure.remedy)
    # What the trainer refused has its own exit code; anything else is a worker that was lost.
    error.exit_code = job.exit_code if job.exit_code in {2, 3} else LostWorker.exit_code
    raise error


def _resume(job: "Job") -> str:
    if job.kind != "train":
        return f"python -m core jobs retry {job.id} runs it again"
    return f"python -m core jobs resume {job.id} continues from the last checkpoint"


def _jobs() -> "LocalJobs":
    from core.jobs.local import open_jobs

    return open_jobs()


def _list(arguments: argparse.Namespace) -> int:
    jobs = _jobs()
    jobs.tick()
    listed = jobs.list()
    if arguments.json:
        emit(arguments.json, [codec.to_json(job) for job in listed])
        return 0
    if jobs.paused:
        print("the queue is paused; python -m core jobs unpause resumes it")
    for job in listed:
        slots = ",".join(job.slots) or (job.wants if job.launcher == "local" else job.launcher)
        print(printable(f"{job.id}  {job.state:<9}  {slots:<8}  {job.name}"))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    jobs = _jobs()
    jobs.tick()
    job = jobs.get(arguments.id)
    progress = jobs.progress(job.id)
    there = jobs.folder(job.id).path.is_dir()
    if not there:
        print(f"The folder of job {job.id} is gone: this is what the table says", file=sys.stderr)
    payload: Json = codec.to_json(job) | {
        "config": jobs.spec(job.id).to_json() if there else None,
        "progress": None if progress is None else vars(progress),
        "resumable": jobs.resumable(job.id),
        "silent": jobs.silent(job.id),
    }
    emit(arguments.json or "-", payload)
    return 0


def _logs(arguments: argparse.Namespace) -> int:
    if arguments.lines < 1:
        raise UsageError("SETTING", f"--lines is {arguments.lines}", "give 1 or more")
    for line in _jobs().log(arguments.id, arguments.lines):
        print(line)
    return 0


def _act_on(arguments: argparse.Namespace) -> int:
    """Cancel, retry or resume a job."""
    jobs = _jobs()
    if arguments.act == "cancel":
        return report(jobs.cancel(arguments.id), arguments.json)
    jobs.tick()  # of a machine that was restarted, jobs that ran are brought to their end
    again = jobs.retry if arguments.act == "retry" else jobs.resume
    job = again(arguments.id)
    if arguments.wait:
        return wait_for(jobs, job, arguments.json)
    return report(job, arguments.json)


def _queue(arguments: argparse.Namespace) -> int:
    """Pause or resume the queue, or rebuild its table, and print what was done."""
    jobs = _jobs()
    if arguments.act == "rebuild":
        print(f"{jobs.rebuild()} jobs restored")
    elif arguments.act == "pause":
        jobs.pause()
        print("paused")
    else:
        jobs.unpause()
        print("going on")
    return 0
