"""Where weights come from: a dropped file, a path of the server, or a job; read in a thread.

A job is named by the link (``?weights=JOB``), so such a link works in any session. Each page that
opens weights has a slot of its own for them; that of the page Evaluate is the default.
"""

import secrets
import time
from collections.abc import Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Final

import streamlit as st

from core.checkpoints.guess import NetworkCandidate, guess
from core.codes import RefusalCode
from core.errors import AuditError, LostWorker, UsageError
from core.inference.config import EvaluationConfig, WeightsSource
from core.inference.folder import WEIGHTS
from core.jobs.local import LocalJobs, open_jobs
from core.jobs.records import Job
from core.readers.sandbox import read as sandbox
from core.readers.sandbox import scratch
from core.readers.weights.named_tensors import WeightGroup, WeightsFile
from core.screens.train.words import EVALUATE
from core.training.config import TrainConfig
from core.training.submission import check_folder
from pages.ui import session

EVALUATE_SLOT: Final = "evaluate"
LINK: Final = "weights"
FIRST_WAIT_S: Final = 1.5  # most files are read within this time: no flicker of a progress line
Spec = TrainConfig | EvaluationConfig


@dataclass(frozen=True)
class WeightsContents:
    """What a file of weights holds, and which networks each of its groups looks like."""

    file: WeightsFile
    looks_like: Mapping[str, tuple[NetworkCandidate, ...]]


@dataclass(frozen=True, kw_only=True)
class OpenedWeights:
    """Weights that can be evaluated.

    Attributes
    ----------
    file : WeightsFile
    looks_like : mapping
        Networks by the key of the group, the likeliest first.
    folder : Path
        Holds a safetensors file for each group; goes with the session.
    job : str
        Id of the job whose weights they are, or empty.
    spec : TrainConfig, EvaluationConfig or None
        What that job did.
    run : str
        Id of the run that the job left, or empty.
    """

    file: WeightsFile
    looks_like: Mapping[str, tuple[NetworkCandidate, ...]]
    folder: Path
    job: str = ""
    spec: Spec | None = None
    run: str = ""

    def path(self, group: WeightGroup) -> Path:
        """Return the file with the tensors of a group."""
        return self.folder / group.file

    def weights(self, group: WeightGroup) -> WeightsSource:
        """Return what a run is said to come from."""
        if isinstance(self.spec, EvaluationConfig):
            return self.spec.weights
        return WeightsSource(self.file.name, self.file.digest, group.key, self.run)


@dataclass(kw_only=True)
class WeightsReading:
    """A file of weights that is being read, with the means to wait for it and to stop it."""

    name: str
    folder: Path
    future: "Future[WeightsContents]"
    cancel: Event
    stored: Path | None = None
    job: str = ""
    spec: Spec | None = None
    run: str = ""
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started


def opened(slot: str = EVALUATE_SLOT) -> OpenedWeights | None:
    """Return the weights of this session, or None before any."""
    weights: OpenedWeights | None = st.session_state.get(f"{slot}.source")
    return weights


def opening(slot: str = EVALUATE_SLOT) -> WeightsReading | None:
    """Return what is being read."""
    reading: WeightsReading | None = st.session_state.get(f"{slot}.opening")
    return reading


def refused(slot: str = EVALUATE_SLOT) -> AuditError | None:
    """Return why the last file was refused, or None."""
    error: AuditError | None = st.session_state.get(f"{slot}.refused")
    return error


def refuse(error: AuditError | None, slot: str = EVALUATE_SLOT) -> None:
    """Remember why a file was refused; None forgets it."""
    st.session_state[f"{slot}.refused"] = error


def take_upload(name: str, data: memoryview, slot: str = EVALUATE_SLOT) -> None:
    """Read an upload; its bytes go once they are read."""
    try:
        path = session.store(data)
    except OSError as error:  # the temporary folder: full, gone or not ours
        what = f"the file could not be stored ({error.strerror})"
        refuse(LostWorker("LOST_WORKER", what, "free disk space there"), slot)
        return
    take_stored(path, name, slot)


def take_stored(path: Path, name: str, slot: str = EVALUATE_SLOT) -> None:
    """Read a file that lies in the session's folder, and remove it afterwards."""
    st.query_params.pop(LINK, None)
    _start(path, name, slot, stored=path)


def take_job(job_id: str, slot: str) -> None:
    """Read what a job trained or evaluated; or remember why not."""
    jobs = open_jobs()
    try:
        job = jobs.get(job_id)
        path, name = weights_of(jobs, job)
        spec = jobs.spec(job_id)
    except AuditError as error:
        refuse(error, slot)
        return
    _start(path, name, slot, job=job_id, spec=spec, run=job.run)


def take_path(text: str) -> None:
    """Read a file of the server, where the page may; or remember why not."""
    try:
        check_folder(text)
    except UsageError as error:
        refuse(error)
        return
    st.query_params.pop(LINK, None)
    path = Path(text).expanduser()
    _start(path, path.name, EVALUATE_SLOT)


def follow_link() -> None:
    """Read the weights of the job in the link, unless they are open or could not be read."""
    job_id = st.query_params.get(LINK, "")
    now = opening() or opened()
    if not job_id or (now is not None and now.job == job_id):
        return
    take_job(job_id, EVALUATE_SLOT)
    if refused() is not None:
        st.query_params.pop(LINK, None)


def weights_of(jobs: LocalJobs, job: Job) -> tuple[Path, str]:
    """Return the file that a job trained or evaluated, and what it is called.

    Raises
    ------
    UsageError
        JOB: its folder holds none.
    """
    folder = jobs.folder(job.id)
    if job.kind == EVALUATE:
        files, name = [folder.path / WEIGHTS], jobs.evaluation(job.id).weights.file or job.name
    else:
        files, name = sorted(folder.checkpoints.glob("epoch-*.pt")), job.name
    if not files or not files[-1].is_file():
        raise UsageError("JOB", f"job {job.id} keeps no weights", "train again, or give a file")
    return files[-1], name


def trainings(jobs: LocalJobs, listed: list[Job]) -> list[Job]:
    """Return the finished trainings whose weights are still there, the newest first."""
    finished = [job for job in listed if job.kind != EVALUATE and job.run]
    return [job for job in finished if any(jobs.folder(job.id).checkpoints.glob("epoch-*.pt"))]


def settle(slot: str = EVALUATE_SLOT) -> bool:
    """Take in what was read or refused; return whether something was."""
    now = opening(slot)
    if now is None or not now.future.done():
        return False
    st.session_state[f"{slot}.opening"] = None
    session.room().works.discard(now.cancel)
    try:
        read = now.future.result()
    except AuditError as error:
        _refused(now, error, slot)
    except OSError as error:
        what = f"the file could not be read ({error.strerror})"
        _refused(now, LostWorker("LOST_WORKER", what, "free disk space and try again"), slot)
    else:
        forget(slot)
        file = replace(read.file, name=now.name)
        st.session_state[f"{slot}.source"] = OpenedWeights(
            file=file,
            looks_like=read.looks_like,
            folder=now.folder,
            job=now.job,
            spec=now.spec,
            run=now.run,
        )
    if now.stored is not None:
        now.stored.unlink(missing_ok=True)
    return True


def _refused(now: WeightsReading, error: AuditError, slot: str) -> None:
    """Remember why a file was refused; what was open before stays open."""
    if error.code != RefusalCode.CANCELLED:
        refuse(error, slot)
    if now.job:
        st.query_params.pop(LINK, None)
    scratch.remove(now.folder)


def stop(slot: str = EVALUATE_SLOT) -> None:
    """Stop what is being read."""
    now = opening(slot)
    if now is not None:
        now.cancel.set()
        if now.stored is not None:
            now.stored.unlink(missing_ok=True)
        if now.job == st.query_params.get(LINK):
            st.query_params.pop(LINK, None)


def forget(slot: str = EVALUATE_SLOT) -> None:
    """Close what is open and remove its bytes."""
    now = take_out(slot)
    if now is not None:
        scratch.remove(now.folder)


def take_out(slot: str) -> OpenedWeights | None:
    """Close what is open and return it; its bytes stay until the session ends."""
    now = opened(slot)
    st.session_state[f"{slot}.source"] = None
    return now


def _start(  # noqa: PLR0913  where it comes from and goes to
    path: Path,
    name: str,
    slot: str,
    *,
    stored: Path | None = None,
    job: str = "",
    spec: Spec | None = None,
    run: str = "",
) -> None:
    stop(slot)
    refuse(None, slot)
    cancel, folder = Event(), session.room().folder / f"weights-{secrets.token_hex(8)}"
    # What a job is called says nothing of the format of its file.
    read_as = path.name if job else name
    future = session.in_thread(_read, path, folder, read_as, cancel)
    session.room().works.add(cancel)
    now = WeightsReading(
        name=name,
        folder=folder,
        future=future,
        cancel=cancel,
        stored=stored,
        job=job,
        spec=spec,
        run=run,
    )
    st.session_state[f"{slot}.opening"] = now
    wait_for([future], timeout=FIRST_WAIT_S)


def _read(path: Path, into: Path, name: str, cancel: Event) -> WeightsContents:
    """Read in a sealed process, then look what it could be; runs in a thread, without Streamlit."""
    file = sandbox.read_weights(path, into=into, name=name, cancel=cancel)
    return WeightsContents(file, {group.key: guess(file, group) for group in file.groups})
