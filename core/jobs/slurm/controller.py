"""What is asked of a cluster's controller, by SLURM's own commands and through submitit."""

import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from core.errors import LibraryError, UsageError
from core.jobs.processes import ROOT
from core.jobs.records import WARNING_S, Job

COMMANDS: Final = ("sbatch", "srun", "squeue", "scancel", "scontrol")
PATIENCE_S: Final = 30.0
FRESH_S: Final = 5.0  # for which an answer of the controller holds, which all users share
AWAY_S: Final = 60.0  # for which a controller that does not answer is asked again
SUPERVISOR: Final = "core.jobs.slurm.supervisor"
WARNING: Final = "USR1"
WAITING: Final = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                            "SPECIAL_EXIT", "RESV_DEL_HOLD"})  # fmt: skip
OVER: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "DEADLINE", "PREEMPTED",
                         "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "REVOKED"})  # fmt: skip


@dataclass(frozen=True)
class Seen:
    """What the controller says of a job: its name there, its state, and why it waits."""

    name: str
    state: str
    reason: str


def missing() -> str:
    """Return what keeps this machine from submitting to a cluster; empty where nothing does."""
    absent = [command for command in COMMANDS if shutil.which(command) is None]
    if absent:
        return f"{', '.join(absent)} of SLURM cannot be found on the PATH"
    return "" if find_spec("submitit") else "the package submitit is not installed"


def check() -> None:
    """Refuse where this machine cannot submit to a cluster; UsageError CLUSTER."""
    what = missing()
    if what:
        raise UsageError(
            "CLUSTER",
            f"SLURM cannot be used here: {what}",
            "submit from a login node with SLURM's commands, pip install submitit there, or leave "
            "out --launcher",
        )


def submit(home: Path, jobs: Sequence[Job]) -> list[str]:
    """Submit jobs with one request, several as one array, and return their ids in the cluster.

    Of submitit this uses the executor's parameters, its batch file and its call of sbatch, with a
    command in the place of a pickled function: `submit` itself pickles closures, which nobody
    could read, check or run with another version. Without srun in front the command is the batch
    script itself, so that it gets the cluster's signals.

    Raises LibraryError CLUSTER: the cluster refuses them, or the home's name means something in
    its scripts.
    """
    if {"\n", "\r", "%"} & set(str(home)):
        what = f"{str(home)[:80]!r} has a line break or % in its name; nothing was queued"
        remedy = "set CANDOR_HOME to another folder: SLURM's scripts cannot name this one"
        raise LibraryError("CLUSTER", what, remedy)
    from submitit import SlurmExecutor
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    request = jobs[0].request
    assert request is not None
    folder = home / "jobs" / jobs[0].id / "slurm"
    folder.mkdir(mode=0o700)
    executor = SlurmExecutor(folder)
    optional = {
        "partition": request.partition,
        "account": request.account,
        "mem": None if request.memory is None else f"{max(1, round(request.memory * 1024))}M",
        "gpus_per_node": request.gpus or None,
    }
    executor.update_parameters(
        job_name=name_of(jobs[0]),
        time=request.minutes,
        nodes=request.nodes,
        ntasks_per_node=jobs[0].n_devices // request.nodes,
        cpus_per_task=request.cpus,
        use_srun=False,
        stderr_to_stdout=True,
        additional_parameters={
            "chdir": str(ROOT),
            "requeue": True,
            "signal": f"B:{WARNING}@{WARNING_S}",
        },
        **{key: value for key, value in optional.items() if value is not None},
    )
    if len(jobs) > 1:
        # One call for all, so that the controller takes all or none.
        executor.parameters["map_count"] = len(jobs)
    words = [sys.executable, "-m", SUPERVISOR, str(home), *(job.id for job in jobs)]
    # A warning that comes before the supervisor listens must not end what becomes of it.
    text = f"trap '' {WARNING}; exec {shlex.join(words)}"
    try:
        number = executor._submit_command(text).job_id
    except (OSError, FailedJobError, FailedSubmissionError) as error:
        # what sbatch said, of all that submitit says of it
        output = str(error)
        # Its last words name the option that was refused, which
        # helps more than the command line does.
        lines = [line.partition("error: ")[2] for line in output.splitlines() if "error: " in line]
        why = "; ".join(lines)[:300] or output.strip().rpartition("\n")[2][:300]
        raise LibraryError(
            "CLUSTER",
            f"SLURM did not take the job ({why}); nothing was queued",
            "correct partition, GPUs, nodes, memory or time, or try again",
        ) from error
    return [f"{number}_{n}" for n in range(len(jobs))] if len(jobs) > 1 else [number]


def states() -> Mapping[str, Seen] | None:
    """Return what the controller says of this user's jobs by their id; None where it is silent.

    Those that ended some minutes ago are no longer among them.
    """
    return _ask_controller(int(time.monotonic() / FRESH_S))


@lru_cache(maxsize=1)
def _ask_controller(_: int) -> Mapping[str, Seen] | None:
    return ask("--me", "--array")


def ask(*options: str) -> Mapping[str, Seen] | None:
    """Return what squeue says now of the jobs that its options name."""
    output = _run("squeue", *options, "--noheader", "--states=all", "--format=%i|%j|%T|%r")
    if output is None:
        return None
    # A name of a job or a reason could hold a bar only if somebody
    # else wrote it: other rows are left out.
    rows = [line.split("|") for line in output.splitlines()]
    return {row[0]: Seen(*row[1:]) for row in rows if len(row) == 4}


def seen_of(states: Mapping[str, Seen] | None, job: Job) -> Seen | None:
    """Return what the controller says of a job; None where it does not know it.

    A controller that crashed just after it took a job has forgotten it, and gives its number to
    the next one.
    """
    seen = (states or {}).get(job.cluster)
    return seen if seen is not None and seen.name == name_of(job) else None


def name_of(job: Job) -> str:
    """Return what a job is called in the cluster, as no job of another submission is."""
    return f"candor-{job.group}"


def accounted(job: Job) -> str | None:
    """Return how a job ended by the cluster's accounting; None where it does not know it."""
    output = _run("sacct", "-X", "-n", "-P", "-o", "JobName,State", "-j", job.cluster)
    for line in (output or "").splitlines():
        name, _, words = line.partition("|")
        if name == name_of(job) and words:
            return words.split()[0]
    return None


def cancel(jobs: Sequence[Job]) -> None:
    """Cancel jobs of one submission; LibraryError CLUSTER where the cluster does not answer."""
    words = ("scancel", f"--name={name_of(jobs[0])}", *(job.cluster for job in jobs))
    # scancel fails for a job that has ended, too; only a
    # controller that answers nothing is an error.
    if _run(*words) is None and ask("--me") is None:  # else it is over
        raise LibraryError(
            "CLUSTER", "SLURM does not answer; the job was not cancelled", "try again later"
        )


def requeue(job: Job, meanwhile: Callable[[], None]) -> bool:
    """Let a job end and wait again; whether the cluster agreed, or came back in time to agree.

    `meanwhile` is called before each try.
    """
    deadline = time.monotonic() + AWAY_S
    while time.monotonic() < deadline:
        meanwhile()
        states = ask("--me", "--array")
        # It answers and does not know the job: nothing is left to be queued again.
        if states is not None and seen_of(states, job) is None:
            return False
        if states is not None and _run("scontrol", "requeue", job.cluster) is not None:
            return True
        time.sleep(1.0)
    return False


def preempted(job: Job) -> bool:
    """Whether the controller takes the nodes of a running job for others."""
    at = _run("squeue", f"--jobs={job.cluster}", "--noheader", "--Format=PreemptTime")
    return at is not None and at.strip() not in {"", "N/A"}


def _run(*words: str) -> str | None:
    """Return what a command prints; None where it is missing, fails or takes too long."""
    try:
        done = subprocess.run(words, capture_output=True, timeout=PATIENCE_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")
