"""Jobs of a SLURM cluster behind the calls of the local launcher; no torch."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import ClassVar

from core.errors import LibraryError, UsageError
from core.inference.config import EvaluationConfig
from core.jobs import failures
from core.jobs.audit import AuditSpec, check_request
from core.jobs.records import Job, JobState, Promise, SlurmRequest, watched
from core.jobs.slurm import controller, messages
from core.jobs.slurm.supervisor import over
from core.jobs.store import LIVE, JobStore, check_quota
from core.training.config import TrainConfig
from core.training.folder import JobFolder


class SlurmLauncher:
    """Submits jobs to the cluster of this machine, and follows them there."""

    cannot: ClassVar[Mapping[Promise, str]] = {
        Promise.ORDER: "The cluster decides the order. Priorities have no effect there.",
        Promise.PAUSE: "Pausing the queue does not stop jobs on the cluster.",
        Promise.ONE_START: (
            "A training that the cluster stops, at its time limit or for other jobs, is queued "
            "again. It continues from its last checkpoint; what was trained since is trained twice."
        ),
        Promise.TREE: (
            "Processes on nodes other than the first may outlive a cancelled job by some seconds. "
            "If the cluster does not confine jobs (ProctrackType), what the process of a killed "
            "supervisor has started keeps running."
        ),
        Promise.AT_ONCE: "Changes on the cluster show up to five seconds late.",
        Promise.ENDINGS: (
            "If a job’s supervisor was killed, its end is known for some minutes, or as long as "
            "the cluster keeps accounts (sacct). After that the job counts as lost."
        ),
    }

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def check(self, job: Job) -> None:
        """Refuse where there is no cluster; UsageError CLUSTER. What it has, the cluster says."""
        del job
        controller.check()

    def submit(self, jobs: Sequence[Job], most: int | None) -> list[Job]:
        """Submit jobs, several as one array, and take them into the table; all or none.

        What is submitted and never taken in does nothing: its supervisor waits for the row in vain.
        """
        controller.check()
        check_quota(self._store.all(), jobs, most)  # again where the table takes them in
        cluster_ids = controller.submit(self._store.home, jobs)
        submitted = [
            replace(job, cluster=number) for job, number in zip(jobs, cluster_ids, strict=True)
        ]
        try:
            return self._store.add(submitted, most=most)
        except BaseException:
            with suppress(LibraryError):
                controller.cancel(submitted)
            raise

    def cancel(self, job: Job) -> None:
        """Cancel a job in the cluster; its supervisor ends the whole tree."""
        messages.request_cancel(self._store.folder(job.id))
        controller.cancel([job])

    def reconcile(self, job: Job) -> None:
        """Take into the table what the job's supervisor and the cluster say of it."""
        states = controller.states()
        seen = controller.seen_of(states, job)
        # What would end or move the job is asked for again, past the cached answer.
        changed = (
            seen is None or seen.state in controller.OVER or (_waits(seen) and job.state in LIVE)
        )
        if states is not None and changed:  # the answer may be of before it was submitted
            states = controller.ask("--me", "--array")
            seen = controller.seen_of(states, job)
        path = self._store.folder(job.id)
        begun, ended = messages.begun_of(path), messages.ended_of(path)  # later than the answer
        # A requeued job begins again under the same id: another
        # supervisor, or the same one seen late.
        new = begun is not None and job.supervisor != begun.supervisor
        again = job.state is JobState.QUEUED and seen is not None and seen.state == "RUNNING"
        if begun is not None and (new or again) and not _waits(seen):
            job = self._follow(
                job, state=JobState.RUNNING, supervisor=begun.supervisor, started=begun.at
            )
        if ended is not None:
            self._follow(job, **ended.changes)
        elif seen is not None and seen.state in controller.OVER:
            self._end(job, seen.state)
        # The controller has forgotten it and no supervisor beats:
        # accounting is asked last, as it is slow.
        elif states is not None and seen is None and not watched(job, path):
            self._end(job, controller.accounted(job) or "")
        elif _waits(seen) and job.state in LIVE:  # it was queued again
            self._follow(job, state=JobState.QUEUED)

    def _end(self, job: Job, state: str) -> None:
        """Say how a job ended whose supervisor has said nothing."""
        outcome = failures.unwatched(
            JobFolder(self._store.folder(job.id)).result(),
            cancelled=bool(job.asked) or state.startswith("CANCELLED"),
            otherwise=over(job, state),
        )
        self._follow(job, ended=time.time(), **vars(outcome))

    def _follow(self, job: Job, **changes: object) -> Job:
        """Write a transition; where another process was first, the next look goes on from there."""
        return self._store.follow(job, **changes) or job


def _waits(seen: controller.Seen | None) -> bool:
    return seen is not None and seen.state in controller.WAITING


def fitted(
    request: SlurmRequest, config: TrainConfig | EvaluationConfig | AuditSpec
) -> TrainConfig | EvaluationConfig | AuditSpec:
    """Return a config for the devices of a request: one process a GPU, or as it says on a CPU.

    Raises UsageError DEVICE: the two ask for different things.
    """
    if isinstance(config, AuditSpec):
        check_request(request)
        return config
    if config.device == ("cpu" if request.gpus else "cuda"):
        raise UsageError(
            "DEVICE",
            f"Device {config.device} does not fit {request.gpus} GPUs per node",
            "set device to auto, or request GPUs to match",
        )
    # Processes are counted once: the request says how many, and the config follows.
    n_processes = request.nodes * request.gpus or config.devices
    if n_processes % request.nodes or (n_processes > 1 and not isinstance(config, TrainConfig)):
        raise UsageError(
            "DEVICE",
            f"{n_processes} processes cannot share {request.nodes} nodes",
            "make devices a multiple of the nodes; an evaluation uses one process",
        )
    device = "cuda" if request.gpus else "cpu"
    if isinstance(config, TrainConfig):
        return replace(config, device=device, devices=n_processes)
    return replace(config, device=device)


def waiting_for(job: Job) -> str:
    """Return why a job waits, in the cluster's words; empty where nobody says."""
    seen = controller.seen_of(controller.states(), job)
    return seen.reason if seen is not None and _waits(seen) and seen.reason != "None" else ""
