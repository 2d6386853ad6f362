"""Jobs submitted from this machine: submit, status, cancel, logs, list, reconcile; no torch.

Each has a launcher, which starts it, ends it, and brings to an end what nobody watches any more:
that of this machine, or that of a cluster. The table, the folders and the logs are the same.
"""

import os
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Final, Protocol

from core.access import LOCAL as EVERYBODY
from core.access import Act, Quotas, Visitor, of_process
from core.disk import writing
from core.errors import LibraryError, UsageError
from core.inference.config import PICTURES, WEIGHTS, EvaluationConfig, config_of
from core.jobs import failures, processes
from core.jobs.audit import AUDIT, AuditSpec, spec_of
from core.jobs.devices import CPU, UNSEEN, fit, slots
from core.jobs.failures import tail
from core.jobs.processes import start_what_can
from core.jobs.records import (
    LATE_S,
    LOCAL,
    SLURM,
    Job,
    JobState,
    Promise,
    SlurmRequest,
    silence,
    watched,
)
from core.jobs.slurm.launcher import SlurmLauncher, fitted
from core.jobs.store import ALPHABET, LIVE, JobStore, unknown
from core.library import home, trail
from core.models.catalogue import ONNX
from core.process_identity import this_boot
from core.training.config import TrainConfig
from core.training.folder import JobFolder, Progress, read_progress

MOST: Final = 1_000  # jobs of one submission, and jobs that wait
DAY_S: Final = 86_400.0
MAX_SECONDS: Final = 366 * DAY_S
SUBMITTED: Final = (  # of a job, what another start of it has too
    *("kind", "name", "group", "digest", "owner", "wants", "n_devices", "priority", "time_limit"),
    *("launcher", "request"),
)
Spec = TrainConfig | EvaluationConfig | AuditSpec


class Launcher(Protocol):
    """Starts jobs and ends them.

    Attributes
    ----------
    cannot : mapping of Promise to str
        What it cannot promise, in a sentence each.
    """

    cannot: ClassVar[Mapping[Promise, str]]

    def check(self, job: Job) -> None:
        """Refuse a job that wants what is not there, before it waits for it in vain."""

    def submit(self, jobs: Sequence[Job], most: int | None) -> list[Job]:
        """Take jobs into the table, all or none, up to `most` of an owner, and start what can."""

    def cancel(self, job: Job) -> None:
        """End a job that has not ended."""

    def reconcile(self, job: Job) -> None:
        """Write where a job stands that has not ended, if nobody else does."""


class LocalLauncher:
    """Starts a supervisor on this machine for each job."""

    cannot: ClassVar[Mapping[Promise, str]] = {}

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def check(self, job: Job) -> None:
        """Refuse devices that this machine does not have; UsageError DEVICE."""
        _check_devices(job)

    def submit(self, jobs: Sequence[Job], most: int | None) -> list[Job]:
        """Take jobs into the table, all or none, up to `most` of an owner, and start what can."""
        added = self._store.add(jobs, most=most)
        with suppress(OSError, LibraryError):  # they are queued: whoever looks next starts them
            start_what_can(self._store.home)
        return added

    def cancel(self, job: Job) -> None:
        """Leave it to the supervisor, which looks into the table."""

    def reconcile(self, job: Job) -> None:
        """End what is left of a job whose supervisor is gone, and say how the job ended.

        OSError where nobody can tell whether it is gone: then nothing is changed.
        """
        if job.state not in LIVE or watched(job, self._store.folder(job.id)):
            return
        if not processes.end(lambda: processes.marked(job.id), 0.0):
            return  # looked at again at the next tick
        # Another boot id: the machine went down with the supervisor, which nobody killed.
        again = job.supervisor is not None and job.supervisor.boot != this_boot()
        what = "The machine was restarted" if again else "Its supervisor was killed"
        outcome = failures.unwatched(
            JobFolder(self._store.folder(job.id)).result(),
            cancelled=bool(job.asked),
            otherwise=failures.lost(what, job.kind),
        )
        with suppress(LibraryError):  # as of a full disk: likewise
            self._store.end(job, outcome)


class LocalJobs:
    """Jobs below a home, as a visitor sees them; each call opens the table again.

    So any number of processes may. A job of somebody else is refused in the words of an id that
    does not exist.

    `visitor`: who asks; by default one who sees and may do everything, without login.
    """

    def __init__(self, home: Path, visitor: Visitor = EVERYBODY) -> None:
        self.home = home
        self.visitor = visitor
        self._store = JobStore(home)
        self._launchers: dict[str, Launcher] = {
            LOCAL: LocalLauncher(self._store),
            SLURM: SlurmLauncher(self._store),
        }

    def cannot(self, launcher: str) -> Mapping[Promise, str]:
        """Return what a launcher, ``local`` or ``slurm``, cannot promise."""
        return self._launchers[launcher].cannot

    # Submit -------------------------------------------------------------------------------------

    def _add(self, launcher: Launcher, jobs: Sequence[Job]) -> list[Job]:
        """Take in new jobs, once the audit trail has them; all or none."""
        for job in jobs:
            self._record(Act.IMPORT if job.kind == AUDIT else Act.TRAIN, job.id)
        return launcher.submit(jobs, Quotas.of_environment().jobs)

    def submit(
        self,
        configs: Sequence[Spec],
        *,
        weights: Path | None = None,
        pictures: Path | None = None,
        wants: str = "auto",
        priority: int = 0,
        time_limit: float | None = None,
        request: SlurmRequest | None = None,
    ) -> list[Job]:
        """Queue trainings, evaluations or audits, all or none, and start what can start.

        Parameters
        ----------
        configs : sequence of TrainConfig, EvaluationConfig or AuditSpec
            One job each; they share a group.
        weights : Path, optional
            The safetensors file that evaluations load; each job keeps its own.
        pictures : Path, optional
            A folder that is soon gone; each evaluation keeps the folders in it that it names.
        wants : str
            A slot such as ``cuda:1``; ``auto`` leaves it to each config's device.
        priority : int
            Higher ones start first.
        time_limit : float, optional
            Seconds after which a job is stopped, counted from each start.
        request : SlurmRequest, optional
            What each asks of the cluster that is to run them; this machine runs them without.

        Raises
        ------
        UsageError
            SETTING: too many, or a time limit out of range. DEVICE: this machine does not have
            what they want, or they do not fit the request. PLATFORM: it does not run Linux.
            CLUSTER: there is none here.
        LibraryError
            ROLE, OVER_QUOTA, LIBRARY_WRITE, or JOBS. CLUSTER: it refuses them.
        """
        self._check(len(configs), time_limit)
        if request is not None:
            configs = [fitted(request, config) for config in configs]
        launcher = self._launchers[LOCAL if request is None else SLURM]
        group = _new_id()
        jobs: list[Job] = []
        try:
            # Folders first and rows last, all in one transaction: a row never stands without its
            # folder, and a failure on the way leaves nothing behind but folders, which are removed.
            for config in configs:
                job_id = _new_id()
                if pictures is not None and isinstance(config, EvaluationConfig):
                    config = _with_own(config, pictures, self._store.folder(job_id) / PICTURES)
                job = Job(
                    id=job_id,
                    kind=config.kind,
                    name=config.name,
                    group=group,
                    digest=config.digest,
                    created=time.time(),
                    owner=self.visitor.owner,
                    wants=_device_of(config) if wants == "auto" else wants,
                    n_devices=config.devices,
                    priority=priority,
                    time_limit=time_limit,
                    launcher=LOCAL if request is None else SLURM,
                    request=request,
                )
                # Before its folder is made: a job that can never start must not wait in the queue.
                launcher.check(job)
                jobs.append(job)
                folder = JobFolder.make(self._store.folder(job.id), config)
                if weights is not None:
                    _share(weights, folder.path / WEIGHTS)
                if pictures is not None:
                    _share_folders(config, pictures, folder.path / PICTURES)
            return self._add(launcher, jobs)
        except BaseException:
            self._remove_refused(jobs)
            raise

    def retry(self, job_id: str) -> Job:
        """Queue an ended job again, from the start, as a new job."""
        return self._again(job_id, "retry")

    def resume(self, job_id: str) -> Job:
        """Queue a new job that goes on from the last checkpoint of an ended one.

        Raises UsageError JOB: it has not ended, it has succeeded, it left no checkpoint, or
        another job that has not ended goes on from there.
        """
        job = self.get(job_id)
        if job.state is JobState.SUCCEEDED:
            what = f"Job {job_id} has ended, its run is {job.run}"
            raise UsageError("JOB", what, "start another")
        return self._again(job_id, "resume")

    def resumable(self, job_id: str) -> bool:
        """Whether a job has ended without success and left a checkpoint."""
        state = self.get(job_id).state
        ended = state.ended and state is not JobState.SUCCEEDED
        return ended and any(self.folder(job_id).checkpoints.glob("*.pt"))

    # Status, list, logs -------------------------------------------------------------------------

    def get(self, job_id: str) -> Job:
        """Return a job; LibraryError JOB_UNKNOWN."""
        job = self._store.get(job_id)
        if not self.visitor.sees(job.owner):
            raise unknown(job_id)
        return job

    def list(self) -> list[Job]:
        """Return every job that the visitor may see, the newest first."""
        return [job for job in self._store.all() if self.visitor.sees(job.owner)]

    def folder(self, job_id: str) -> JobFolder:
        """Return what its process writes."""
        return JobFolder(self._store.folder(self.get(job_id).id))

    def config(self, job_id: str) -> TrainConfig:
        """Return what a training trains."""
        return self.folder(job_id).config()

    def evaluation(self, job_id: str) -> EvaluationConfig:
        """Return what an evaluation looks at."""
        return config_of(self.folder(job_id))

    def audit(self, job_id: str) -> AuditSpec:
        """Return what an audit is of."""
        return spec_of(self.folder(job_id))

    def spec(self, job_id: str) -> Spec:
        """Return what a job of any kind does."""
        return self.audit(job_id) if self.get(job_id).kind == AUDIT else self.network(job_id)

    def network(self, job_id: str) -> TrainConfig | EvaluationConfig:
        """Return what a training or an evaluation does; UsageError JOB for others."""
        kind = self.get(job_id).kind
        if kind == AUDIT:
            what = f"Job {job_id} is an audit, which keeps no weights"
            raise UsageError("JOB", what, "name a training or an evaluation")
        return self.config(job_id) if kind == "train" else self.evaluation(job_id)

    def progress(self, job_id: str) -> Progress | None:
        """Return how far it is; None before its first step."""
        return read_progress(self.folder(job_id).path)

    def log(self, job_id: str, n_lines: int = 50) -> Sequence[str]:
        """Return the last lines that it printed, harmless to show."""
        return tail(self.folder(job_id).path, n_lines)

    def silent(self, job_id: str) -> float | None:
        """Return the seconds since its supervisor was last heard, where that is late."""
        job = self.get(job_id)
        quiet = silence(self._store.folder(job.id)) if job.state in LIVE else None
        return quiet if quiet is not None and quiet > LATE_S else None

    # Change -------------------------------------------------------------------------------------

    def cancel(self, job_id: str) -> Job:
        """Cancel a queued job, ask a running one to end; an ended one stays as it is."""
        self._record(Act.STOP, self.get(job_id).id)
        # A queued job ends in the table; a running one is marked there, and its supervisor looks.
        job = self._store.cancel(job_id)
        if not job.state.ended:
            self._launchers[job.launcher].cancel(job)
        self.tick()  # of one whose supervisor is gone nobody else would hear
        return self.get(job_id)

    def to_front(self, job_id: str) -> Job:
        """Let a queued job be the next to start."""
        self.visitor.require(Act.QUEUE)
        return self._store.to_front(self.get(job_id).id)

    def expire(self, days: float) -> int:
        """Remove for good the audits that ended more than so many days ago, and return how many.

        They hold the name and the numbers of a file. Its run is an upload, which goes by itself.

        Raises LibraryError ROLE, LIBRARY_WRITE or JOBS.
        """
        self.visitor.require(Act.PURGE)
        oldest = time.time() - days * DAY_S
        # Only what this visitor may change; an administrator may change all.
        own = (job for job in self._store.all() if self.visitor.owns(job.owner))
        audits = (job for job in own if job.kind == AUDIT)
        old = [job.id for job in audits if job.ended is not None and job.ended < oldest]
        for job_id in old:
            self._record(Act.PURGE, job_id)
        if old:
            self._store.forget(old)
        return len(old)

    @property
    def paused(self) -> bool:
        """Whether queued jobs wait for a word."""
        return self._store.paused

    def pause(self) -> None:
        """Start nothing more; what runs goes on."""
        self.visitor.require(Act.QUEUE)
        self._store.pause(paused=True)

    def unpause(self) -> None:
        """Let queued jobs start again."""
        self.visitor.require(Act.QUEUE)
        self._store.pause(paused=False)
        start_what_can(self.home)

    def rebuild(self) -> int:
        """Rebuild the table from the folders, and return how many jobs it holds."""
        n_jobs = self._store.rebuild()
        self.tick()
        return n_jobs

    # Reconcile ----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Write where jobs stand that nobody else brings to an end, and start what can start."""
        for job in self._store.all():
            if not job.state.ended:
                with suppress(OSError):  # nobody can tell now: looked at again at the next tick
                    self._launchers[job.launcher].reconcile(job)
        start_what_can(self.home)

    # How ----------------------------------------------------------------------------------------

    def _record(self, act: Act, job_id: str) -> None:
        """Refuse an act that the role does not allow, and write down another."""
        self.visitor.require(act)
        trail.record(self.home, self.visitor, act, job_id)

    def _check(self, n_jobs: int, time_limit: float | None) -> None:
        self.visitor.require(Act.TRAIN)
        if not this_boot():
            what = "Background training needs Linux"
            raise UsageError("PLATFORM", what, "train there, and import the predictions here")
        waiting = sum(job.state is JobState.QUEUED for job in self._store.all())
        if not 1 <= n_jobs <= MOST - waiting:
            what = f"{n_jobs} jobs, with {waiting} waiting already"
            raise UsageError("SETTING", what, f"keep the queue between 1 and {MOST} jobs")
        if time_limit is not None and not 1 <= time_limit <= MAX_SECONDS:
            what = f"The time limit is {time_limit:g} s"
            raise UsageError("SETTING", what, f"give 1 to {MAX_SECONDS:.0f} seconds, or none")

    def _again(self, job_id: str, relation: str) -> Job:
        job, config = self.get(job_id), self.spec(job_id)
        if not job.state.ended:
            raise UsageError("JOB", f"Job {job_id} is {job.state}", "wait, or cancel it first")
        if relation == "resume" and not self.resumable(job_id):
            raise UsageError("JOB", f"Job {job_id} left no checkpoint", "retry it from the start")
        self._check(1, job.time_limit)
        # What was submitted, but not what became of it: a new id, no start, no end, no supervisor.
        as_before = {name: getattr(job, name) for name in SUBMITTED}
        new = Job(id=_new_id(), created=time.time(), parent=job.id, relation=relation, **as_before)
        folder = JobFolder.make(self._store.folder(new.id), config)
        try:
            old = self._store.folder(job.id)
            if relation == "resume":
                _take_over(old, folder.path)
            # An upload is gone from where it came; the old job's own copy is what is left of it.
            if (old / WEIGHTS).exists():
                _share(old / WEIGHTS, folder.path / WEIGHTS)
            (added,) = self._add(self._launchers[new.launcher], [new])
        except BaseException:
            self._remove_refused([new])
            raise
        return added

    def _remove_refused(self, jobs: Sequence[Job]) -> None:
        """Remove the folders of new jobs, unless they were queued before Ctrl-C came."""
        queued: set[str] = set()
        with suppress(LibraryError):  # what kept the table from being read kept them out of it
            queued = {job.id for job in self._store.all()}
        for job in jobs:
            if job.id not in queued:
                shutil.rmtree(self._store.folder(job.id), ignore_errors=True)


def open_jobs() -> LocalJobs:
    """Return the jobs of this machine, none of them hidden; see `pages.ui.visitor` for pages."""
    return LocalJobs(home(), of_process())


def _check_devices(job: Job) -> None:
    """Refuse what this machine does not have, before it waits for it in vain."""
    available = slots()
    # A driver that does not answer may be busy: refusing now
    # would refuse what could run in a minute.
    if UNSEEN in available and job.wants != CPU:
        return  # it waits for the driver's answer
    fitting, n_slots = fit(job, available)
    if len(fitting) < n_slots:
        request = job.wants if n_slots == 1 else f"{n_slots} of {job.wants}"
        raise UsageError(
            "DEVICE",
            f"{request} is wanted; the devices for jobs here are {', '.join(available) or 'none'}",
            "choose another device",
        )
    cores = os.cpu_count() or 1
    if fitting == [CPU] and job.n_devices > cores:
        raise UsageError(
            "DEVICE",
            f"{job.n_devices} processes on the CPU are wanted; this machine has {cores} cores",
            f"set devices to 1 to {cores}",
        )


def _device_of(config: Spec) -> str:
    """Return what a config wants; ONNX Runtime computes on the CPU and takes no GPU's place."""
    onnx = isinstance(config, EvaluationConfig) and config.model == ONNX
    return CPU if onnx else config.device


def _new_id() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(12))


def _share(old: Path, new: Path) -> None:
    """Give a job a file that is never changed: the same one where the disk allows it."""
    with writing():
        try:
            new.hardlink_to(old)
        except OSError:  # another disk
            shutil.copyfile(old, new)


def _with_own(config: EvaluationConfig, old: Path, new: Path) -> EvaluationConfig:
    """Return a config that names a job's own copies of folders below one that is soon gone."""

    def moved(root: str | None) -> str | None:
        inside = root is not None and Path(root).parent == old
        return str(new / Path(root).name) if root is not None and inside else root

    sets = tuple(replace(each, root=moved(each.root)) for each in config.sets)
    return replace(config, data_root=moved(config.data_root), sets=sets)


def _share_folders(config: Spec, old: Path, new: Path) -> None:
    """Give a job the folders of pictures that its config names as its own."""
    if isinstance(config, EvaluationConfig):
        for root in (config.data_root, *(each.root for each in config.sets)):
            if root is not None and Path(root).parent == new and not Path(root).exists():
                with writing():
                    shutil.copytree(old / Path(root).name, root, copy_function=_share_named)


def _share_named(old: str, new: str) -> None:
    _share(Path(old), Path(new))


def _take_over(old: Path, new: Path) -> None:
    """Give a new job what an ended one left; whole files are shared, for they are never changed."""
    with writing():
        for name in ("checkpoint", "validation"):
            for path in (old / name).glob("[!.]*"):
                (new / name).mkdir(exist_ok=True)
                (new / name / path.name).hardlink_to(path)
        events = old / "events.jsonl"
        if events.exists():
            shutil.copyfile(events, new / "events.jsonl")
