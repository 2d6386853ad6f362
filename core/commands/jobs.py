"""The verb `jobs`: list, show, stop, repeat and go on with trainings in the background."""

import argparse
import sys
import time
from typing import TYPE_CHECKING, Final

from core import codec
from core.commands.shared import Json, Parser, emit, printable
from core.errors import AuditError, LostWorker, UsageError

if TYPE_CHECKING:
    from core.jobs.local import LocalJobs
    from core.jobs.records import Job

LOOK_S: Final = 0.2
TICK_S: Final = 5.0


def add_jobs(verb: Parser) -> None:
    """Add the acts of `jobs`."""
    acts = verb.add_subparsers(metavar="ACT", parser_class=Parser)
    verb.set_defaults(run=_list, json=None)
    listed = acts.add_parser("list", help="every job, newest first")
    listed.set_defaults(run=_list)
    listed.add_argument("--json", metavar="OUT|-")
    shown = acts.add_parser("show", help="one job, how far it is, and why it failed")
    shown.set_defaults(run=_show)
    shown.add_argument("id")
    shown.add_argument("--json", metavar="OUT|-")
    logs = acts.add_parser("logs", help="its last lines of output")
    logs.set_defaults(run=_logs)
    logs.add_argument("id")
    logs.add_argument("--lines", type=int, default=50, metavar="50")
    cancelled = acts.add_parser("cancel", help="end it, with every process that it started")
    cancelled.set_defaults(run=_cancel)
    cancelled.add_argument("id")
    cancelled.add_argument("--json", metavar="OUT|-")
    for act, what in (
        ("retry", "queue an ended job again, from the start"),
        ("resume", "queue a job that continues from the last checkpoint of an ended one"),
    ):
        again = acts.add_parser(act, help=what)
        again.set_defaults(run=_again, act=act)
        again.add_argument("id")
        again.add_argument("--wait", action="store_true", help="return when it has ended")
        again.add_argument("--json", metavar="OUT|-")
    paused = acts.add_parser("pause", help="start no new jobs; running ones continue")
    paused.set_defaults(run=_pause)
    unpaused = acts.add_parser("unpause", help="let queued jobs start again")
    unpaused.set_defaults(run=_unpause)
    rebuilt = acts.add_parser("rebuild", help="restore the table from the folders of jobs")
    rebuilt.set_defaults(run=_rebuild)


def report(job: "Job", target: str | None) -> int:
    """Say which job it is and where it stands."""
    emit(target, {"job": job.id, "state": job.state})
    if target != "-":
        print(job.id)
    return 0


def wait_for(jobs: "LocalJobs", job: "Job", target: str | None) -> int:
    """Show what a job prints until it ends, and say how it went; errors as of `waited`."""
    return _succeeded(jobs, waited(jobs, job), target)


def waited(jobs: "LocalJobs", job: "Job") -> "Job":
    """Show what a job prints until it ends, and return it; Ctrl-C cancels it.

    Raises
    ------
    AuditError
        Why it failed.
    LostWorker
        It was cancelled, or its end is not known.
    """
    from core.jobs.log import Follower

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
            _print(follower.new())
            job = jobs.get(job.id)
    except KeyboardInterrupt:
        jobs.cancel(job.id)
        print(f"cancelled; {_resume(job)}", file=sys.stderr)
        raise
    _print(follower.rest())
    if job.state == "succeeded":
        return job
    failure = job.failure
    if failure is None:
        raise LostWorker("CANCELLED", f"Job {job.id} was cancelled", _resume(job))
    error = AuditError(failure.code, failure.what, failure.remedy)
    # What the trainer refused has its own exit code; anything else is a worker that was lost.
    error.exit_code = job.exit_code if job.exit_code in {2, 3} else LostWorker.exit_code
    raise error


def _print(lines: "list[str]") -> None:
    for line in lines:
        print(line, file=sys.stderr)


def _succeeded(jobs: "LocalJobs", job: "Job", target: str | None) -> int:
    result = jobs.folder(job.id).result() or {"job": job.id, "run": job.run, "state": job.state}
    emit(target, result)
    if target != "-":
        print(f"run {job.run}")
    return 0


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


def _cancel(arguments: argparse.Namespace) -> int:
    return report(_jobs().cancel(arguments.id), arguments.json)


def _again(arguments: argparse.Namespace) -> int:
    jobs = _jobs()
    jobs.tick()  # of a machine that was restarted, jobs that ran are brought to their end
    again = jobs.retry if arguments.act == "retry" else jobs.resume
    job = again(arguments.id)
    if arguments.wait:
        return wait_for(jobs, job, arguments.json)
    return report(job, arguments.json)


def _pause(_: argparse.Namespace) -> int:
    _jobs().pause()
    print("paused")
    return 0


def _unpause(_: argparse.Namespace) -> int:
    _jobs().unpause()
    print("going on")
    return 0


def _rebuild(_: argparse.Namespace) -> int:
    print(f"{_jobs().rebuild()} jobs restored")
    return 0
