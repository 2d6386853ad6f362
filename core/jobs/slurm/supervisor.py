"""``python -m core.jobs.slurm.supervisor HOME JOB...``: the batch script's one process.

It runs on the first node that the cluster gave, takes the job (of an array, the one of its place),
and watches it as the local supervisor does: bounded log, whole tree ended, an end explained. Above
that it listens to the cluster: at the warning before the time is up it lets the training stop after
its epoch, and has the job queued again, to continue from the checkpoint.
"""

import os
import re
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from core.errors import AuditError, LibraryError
from core.jobs import failures
from core.jobs.records import (
    BEAT,
    WARNING_S,
    Failure,
    Job,
    JobState,
    Outcome,
    SlurmRequest,
    beat,
    last_beat,
)
from core.jobs.slurm import controller, messages
from core.jobs.slurm.messages import Begun, Ended
from core.jobs.supervisor import PROGRAMS, Supervisor
from core.process_identity import alive, identity, this_boot
from core.training import ranks
from core.training.folder import TIME_IS_UP, request_stop

RECORDED_S: Final = 60.0  # in which a submission that was acknowledged has written its row
LOOK_S: Final = 0.2
QUIET_S: Final = 90.0  # without a beat on another node; a shared disk may show it a minute late
STOP_S: Final = 2 / 3 * WARNING_S  # for the epoch under way; the rest is for ending what is left
OWN_OUTPUT: Final = Path("/proc/self/fd/2")
# What slurmstepd says of a job that the cluster ends, before the job gets any signal.
ENDS: Final = re.compile(r"\*\*\* JOB \d+ ON \S+ CANCELLED AT \S+(?: DUE TO ([A-Z ]+?))? \*\*\*")
CANCELLED, TIME_LIMIT = "", "TIME LIMIT"


def main(home: Path, job_ids: list[str], programs: Mapping[str, str] = PROGRAMS) -> int:
    """Run one job of a submission, unless another job of the cluster has begun it."""
    job_id = job_ids[int(os.environ.get("SLURM_ARRAY_TASK_ID", "0"))]
    table, own = NodeTable(home), identity(os.getpid())
    # The cluster may start a job before the submitting machine has written its row.
    job = _recorded(table.folder(job_id))
    if job is None or job.state.ended or own is None:
        return 0
    path, restarts = table.folder(job_id), int(os.environ.get("SLURM_RESTART_COUNT", "0"))
    if not _begin(path, Begun(own_id(), own, time.time(), restarts)):
        return 0
    job = replace(job, state=JobState.RUNNING, supervisor=own)
    supervisor = ClusterSupervisor(table, job, programs)
    if supervisor.succeeded():  # in a former start, whose supervisor did not come to say so
        supervisor.conclude(None, "", 0)
    else:
        supervisor.run()
    if messages.ended_of(path) is None and not supervisor.superseded:  # the next need not wait
        (path / BEAT).unlink(missing_ok=True)
    return 0


def _begin(path: Path, begun: Begun) -> bool:
    """Begin a job once nothing is left of its former start; False where it is not to begin.

    A controller that crashed may have forgotten that a job runs, or has ended, and start it again.
    """
    while True:
        # Another id in the cluster: this job was submitted twice, and the other one has it.
        former = messages.begun_of(path)
        if former is not None and former.cluster != begun.cluster:
            return False
        if former is not None:
            _outlast(former, path)
        job = messages.job_of(path)
        if messages.ended_of(path) is not None or job is None or job.state.ended:
            return False
        beat(path)
        if messages.begin(path, begun, former):
            return True
        if messages.begun_of(path) is None:  # what stands there cannot be read
            return False


def _outlast(former: Begun, path: Path) -> None:
    """Wait until a supervisor has ended its job, or is gone; on another node, beats no more."""
    # On this machine the kernel knows; on another only that the beat
    # stopped, which a shared disk may show late.
    here = former.supervisor.boot == this_boot()
    last, since = last_beat(path), time.monotonic()
    while messages.ended_of(path) is None:
        now = last_beat(path)
        silent = not now or time.monotonic() - since >= QUIET_S
        if not alive(former.supervisor) if here else silent:
            return
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(LOOK_S)


def own_id() -> str:
    """Return the id of this job in the cluster."""
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    return f"{array}_{os.environ['SLURM_ARRAY_TASK_ID']}" if array else os.environ["SLURM_JOB_ID"]


def _recorded(path: Path) -> Job | None:
    """Return a job once it is in the table; None where its submission came to nothing."""
    deadline = time.monotonic() + RECORDED_S
    while (job := messages.job_of(path)) is None and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    return job


class NodeTable:
    """The table of jobs as a node sees it: each job's own folder."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def folder(self, job_id: str) -> Path:
        """Return the folder of a job."""
        return self.home / "jobs" / job_id

    def get(self, job_id: str) -> Job:
        """Return a job as this node runs it."""
        path = self.folder(job_id)
        job, begun = messages.job_of(path), messages.begun_of(path)
        if job is None or begun is None:
            raise LibraryError("JOBS", f"The folder of job {job_id} cannot be read", "restore it")
        request = "cancel" if messages.cancel_requested(path) else ""
        return replace(job, state=JobState.RUNNING, supervisor=begun.supervisor, asked=request)

    def running(self, job: Job) -> Job:
        """Return the job: that it runs is known since it began."""
        return job

    def end(self, job: Job, outcome: Outcome) -> Job:
        """Say how a job ended; LibraryError JOBS where the disk does not take it."""
        try:
            messages.end(self.folder(job.id), Ended(at=time.time(), **vars(outcome)))
        except OSError as error:
            what = f"The end of job {job.id} cannot be written ({error.strerror})"
            raise LibraryError("JOBS", what, "free some space") from error
        return job


class ClusterSupervisor(Supervisor):
    """Watches one job on the nodes that a cluster gave it; parameters as of `Supervisor`."""

    def __init__(self, table: NodeTable, job: Job, programs: Mapping[str, str]) -> None:
        super().__init__(table, job, programs)
        self._warned: float | None = None
        self._checkpoints = self._newest_checkpoint()
        self._earlier_output = _size(OWN_OUTPUT)  # by earlier starts
        signal.signal(getattr(signal, f"SIG{controller.WARNING}"), self._warn)

    @property
    def _request(self) -> SlurmRequest:
        assert self.job.request is not None
        return self.job.request

    @property
    def superseded(self) -> bool:
        """Whether another start took this one for gone, and has begun in its place."""
        begun = messages.begun_of(self.folder)
        return begun is not None and begun.supervisor != self.job.supervisor

    def command(self) -> list[str]:
        """Return what starts the program, on every node where it has several processes."""
        command, nodes = super().command(), self._request.nodes
        if self.job.n_devices == 1:
            return command
        return [
            "srun",
            f"--nodes={nodes}",
            f"--ntasks={self.job.n_devices}",
            f"--ntasks-per-node={self.job.n_devices // nodes}",
            f"--cpus-per-task={self._request.cpus}",
            "--kill-on-bad-exit=1",
            *command,
        ]

    def devices(self) -> dict[str, str]:
        """Return the cores of each process; the cluster itself names the GPUs."""
        several = {ranks.NODES: str(self._request.nodes)} if self.job.n_devices > 1 else {}
        return {"OMP_NUM_THREADS": str(self._request.cpus)} | several

    def time_is_up(self, elapsed: float) -> bool:
        """Whether the job's own time is up, or that which is left after the cluster's warning."""
        late = self._warned is not None and time.monotonic() - self._warned >= STOP_S
        return late or super().time_is_up(elapsed)

    def conclude(self, code: int | None, reason: str, kills: int) -> None:
        """Write how the job ended, unless the cluster starts it again, or has by now."""
        if self.superseded:
            return
        beat(self.folder)
        # In this order: what somebody wanted, what the cluster did, whether time was up, what the
        # process did.
        if messages.cancel_requested(self.folder):
            self.end(Outcome(state=JobState.CANCELLED, exit_code=code))
        elif reason == "stopped" and not self.succeeded():
            self._follow_cluster(code)
        elif self._warned is not None and (reason == "time" or code == TIME_IS_UP):
            self._continue_later(code)
        else:
            super().conclude(code, reason, kills)

    def _follow_cluster(self, code: int | None) -> None:
        """Say how the job ended where the cluster says that it is over.

        A cluster that needs the nodes for others, or in which one failed, starts it again by
        itself; where only a signal came, as from a node that shuts down, it is asked to. Where its
        words are missing, on a full disk for example, the controller knows whether it ends the job.
        One that crashed may have forgotten the job: then nobody cancelled it, and it is lost.
        """
        why, states = self._cluster_words(), controller.ask("--me", "--array")
        seen = controller.seen_of(states, self.job)
        if why == CANCELLED and (seen is not None or states is None):
            self.end(Outcome(state=JobState.CANCELLED, exit_code=code))
        elif why == TIME_LIMIT:  # the warning came before this process listened
            self._continue_later(code)
        elif why in {None, CANCELLED} and not (_ends(seen) or self._requeue()):
            what = "It was stopped with its supervisor, by a shutdown for example"
            failure = failures.lost(what, self.job.kind)
            self.end(Outcome(state=JobState.LOST, exit_code=code, failure=failure))

    def _continue_later(self, code: int | None) -> None:
        """Have the job queued again, unless it would come no further with the same time.

        A training says that time is up after an epoch, or after it kept some pictures that were
        not kept before: of these there are only so many.
        """
        # The same time again would end at the same place, for ever:
        # no new checkpoint since this start.
        stuck = code != TIME_IS_UP and self._newest_checkpoint() <= self._checkpoints
        given_up = stuck and not controller.preempted(self.job)
        if not given_up:
            self._log.write(b"queued again, to continue from the last checkpoint\n")
        if given_up or not self._requeue():
            failure = over(self.job, "TIMEOUT")
            self.end(Outcome(state=JobState.FAILED, exit_code=code, failure=failure))

    def _requeue(self) -> bool:
        return controller.requeue(self.job, partial(beat, self.folder))

    def _cluster_words(self) -> str | None:
        """Return why the cluster ends this job, empty where it was cancelled; None if it does not.

        Its controller would say for some minutes only.
        """
        with suppress(OSError), OWN_OUTPUT.open("rb") as file:
            file.seek(self._earlier_output)
            endings = ENDS.findall(file.read().decode("utf-8", "replace"))
            return str(endings[-1]) if endings else None
        return None

    def _newest_checkpoint(self) -> str:
        return max((path.name for path in (self.folder / "checkpoint").glob("*.pt")), default="")

    def _warn(self, *_: object) -> None:
        """Let a training stop after its epoch; what keeps no checkpoints uses the time left."""
        if self.job.kind == "train" and self._warned is None:
            self._warned = time.monotonic()
            with suppress(OSError):  # a full disk: it is stopped when the time is up
                request_stop(self.folder)


def over(job: Job, state: str) -> Failure:
    """Return why a job did not succeed that ended in some state of the cluster."""
    assert job.request is not None
    minutes = job.request.minutes
    spelled = "1 minute" if minutes == 1 else f"{minutes} minutes"
    if state in {"TIMEOUT", "DEADLINE"}:
        what = f"Its {spelled} on the cluster ran out"
        if job.kind == "train":
            what += " before an epoch was"
        remedy = f"request more than {spelled}, then {failures.remedy(job.kind)}"
        return Failure("TIME_LIMIT", what, remedy)
    if state == "OUT_OF_MEMORY":
        what = "The memory that it requested on the cluster ran out"
        return Failure(
            "HOST_MEMORY", what, f"request more memory, then {failures.remedy(job.kind)}"
        )
    what = {
        "NODE_FAIL": "Its node on the cluster failed",
        "BOOT_FAIL": "Its node on the cluster did not start",
        "PREEMPTED": "The cluster gave its nodes to others",
    }.get(state, "The cluster ended it before its supervisor could report")
    return failures.lost(what, job.kind)


def _ends(seen: controller.Seen | None) -> bool:
    return seen is not None and seen.state in controller.OVER | {"COMPLETING"}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


if __name__ == "__main__":
    with suppress(AuditError):
        sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
    sys.exit(1)
