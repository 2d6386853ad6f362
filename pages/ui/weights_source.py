"""Where weights come from: a dropped file, a path of the server, or a job; read in a thread.

A job is named by the link (``?weights=JOB``), so such a link works in any session. Each page that
opens weights has a slot of its own for them; that of the page Evaluate is the default.
"""

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final

import streamlit as st

from core.checkpoints.guess import NetworkCandidate, guess
from core.errors import AuditError, UsageError
from core.inference.config import WEIGHTS, EvaluationConfig, WeightsSource
from core.jobs.local import LocalJobs
from core.jobs.records import Job
from core.readers.sandbox import scratch
from core.readers.weights.named_tensors import WeightGroup, WeightsFile
from core.screens.train.words import EVALUATE, TRAIN
from core.training.config import TrainConfig
from core.training.submission import check_folder
from pages.ui import session
from pages.ui.intake import FileReading, Intake, SealedFile
from pages.ui.visitor import open_jobs

EVALUATE_SLOT: Final = "evaluate"
LINK: Final = "weights"
Spec = TrainConfig | EvaluationConfig


@dataclass(frozen=True)
class WeightsContents:
    """What a file of weights holds, and which networks each of its groups looks like."""

    file: WeightsFile
    looks_like: Mapping[str, tuple[NetworkCandidate, ...]]


@dataclass(frozen=True, kw_only=True)
class OpenedWeights:
    """Weights that can be evaluated."""

    file: WeightsFile
    # Networks by the key of the group, the likeliest first.
    looks_like: Mapping[str, tuple[NetworkCandidate, ...]]
    folder: Path  # holds a safetensors file for each group; goes with the session
    job: str = ""  # id of the job whose weights they are, or empty
    spec: Spec | None = None  # what that job did
    run: str = ""  # id of the run that the job left, or empty

    def path(self, group: WeightGroup) -> Path:
        """Return the file with the tensors of a group."""
        return self.folder / group.file

    def weights(self, group: WeightGroup) -> WeightsSource:
        """Return what a run is said to come from."""
        if isinstance(self.spec, EvaluationConfig):
            return self.spec.weights
        return WeightsSource(self.file.name, self.file.digest, group.key, self.run)


@dataclass(kw_only=True, eq=False)
class WeightsReading(FileReading[WeightsContents]):
    """A file of weights that is being read into a folder; `job`, `spec` and `run` as above."""

    folder: Path
    job: str = ""
    spec: Spec | None = None
    run: str = ""


def intake(slot: str = EVALUATE_SLOT) -> Intake[WeightsReading]:
    """Return where the weights of a page come in."""
    return Intake(slot)


def opened(slot: str = EVALUATE_SLOT) -> OpenedWeights | None:
    """Return the weights of this session, or None before any."""
    weights: OpenedWeights | None = st.session_state.get(f"{slot}.source")
    return weights


def opening(slot: str = EVALUATE_SLOT) -> WeightsReading | None:
    """Return what is being read."""
    return intake(slot).reading


def take(file: SealedFile, slot: str = EVALUATE_SLOT) -> None:
    """Read a file that lies in the session's folder, and remove it afterwards."""
    st.query_params.pop(LINK, None)
    _start(file, slot, files=(file.path,))


def take_job(job_id: str, slot: str) -> None:
    """Read what a job trained or evaluated; or remember why not."""
    jobs = open_jobs()
    try:
        job = jobs.get(job_id)
        path, name = weights_of(jobs, job)
        spec = jobs.network(job_id)
    except AuditError as error:
        intake(slot).refuse(error)
        return
    _start(SealedFile(path, name), slot, job=job_id, spec=spec, run=job.run)


def take_path(text: str) -> None:
    """Read a file of the server, where the page may; or remember why not."""
    try:
        check_folder(text)
    except UsageError as error:
        intake().refuse(error)
        return
    st.query_params.pop(LINK, None)
    path = Path(text).expanduser()
    _start(SealedFile(path, path.name), EVALUATE_SLOT)


def follow_link() -> None:
    """Read the weights of the job in the link, unless they are open or could not be read."""
    job_id = st.query_params.get(LINK, "")
    now = opening() or opened()
    if not job_id or (now is not None and now.job == job_id):
        return
    take_job(job_id, EVALUATE_SLOT)
    if intake().refusals:
        st.query_params.pop(LINK, None)


def weights_of(jobs: LocalJobs, job: Job) -> tuple[Path, str]:
    """Return the file that a job trained or evaluated, and what it is called.

    Raises UsageError JOB: its folder holds none, or they read texts.
    """
    if job.kind == TRAIN and jobs.config(job.id).of_texts:
        what = f"Job {job.id} trained on texts, and only images can be evaluated"
        raise UsageError("JOB", what, "choose a training on images")
    folder = jobs.folder(job.id)
    if job.kind == EVALUATE:
        files, name = [folder.path / WEIGHTS], jobs.evaluation(job.id).weights.file or job.name
    else:
        files, name = sorted(folder.checkpoints.glob("epoch-*.pt")), job.name
    if not files or not files[-1].is_file():
        raise UsageError("JOB", f"Job {job.id} keeps no weights", "train again, or upload a file")
    return files[-1], name


def trainings(jobs: LocalJobs, listed: list[Job]) -> list[Job]:
    """Return the finished trainings whose weights are still there, the newest first."""
    trained = []
    for job in listed:
        finished = job.kind == TRAIN and job.run
        if finished and any(jobs.folder(job.id).checkpoints.glob("epoch-*.pt")):
            with suppress(AuditError):  # one that cannot be read says so once it is chosen
                if jobs.config(job.id).of_texts:
                    continue
            trained.append(job)
    return trained


def open_weights(slot: str = EVALUATE_SLOT) -> None:
    """Open what was read; what was open before stays where another file is refused."""
    intake(slot).keep_readings(partial(_open, slot))


def _open(slot: str, reading: WeightsReading) -> None:
    try:
        contents = reading.result()
    except AuditError:
        if reading.job:
            st.query_params.pop(LINK, None)
        raise
    forget(slot)
    st.session_state[f"{slot}.source"] = OpenedWeights(
        file=replace(contents.file, name=reading.name),
        looks_like=contents.looks_like,
        folder=reading.folder,
        job=reading.job,
        spec=reading.spec,
        run=reading.run,
    )


def stop(slot: str = EVALUATE_SLOT) -> None:
    """Stop what is being read."""
    now = opening(slot)
    if now is None:
        return
    intake(slot).stop()
    now.future.add_done_callback(lambda _: scratch.remove(now.folder))
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


def _start(
    file: SealedFile,
    slot: str,
    *,
    files: tuple[Path, ...] = (),
    job: str = "",
    spec: Spec | None = None,
    run: str = "",
) -> None:
    stop(slot)
    intake(slot).refusals.clear()
    folder = session.room().folder / f"weights-{secrets.token_hex(8)}"
    # What a job is called says nothing of the format of its file.
    read_as = file.path.name if job else file.name
    reading = WeightsReading(
        name=file.name,
        read=partial(_read, file.path, folder, read_as),
        files=files,
        folder=folder,
        job=job,
        spec=spec,
        run=run,
    )
    intake(slot).start(reading)


def _read(path: Path, into: Path, name: str, cancel: Event) -> WeightsContents:
    """Read in a sealed process, then look what it could be; runs in a thread, without Streamlit."""
    from core.readers.sandbox import read as sandbox  # not before there is a file to be read

    try:
        file = sandbox.read_weights(path, into=into, name=name, cancel=cancel)
        return WeightsContents(file, {group.key: guess(file, group) for group in file.groups})
    except (AuditError, OSError):
        scratch.remove(into)
        raise
