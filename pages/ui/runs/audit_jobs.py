"""Audits of the server's folders and files as jobs: begun, listed, and one of them watched."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import streamlit as st

from core.jobs.audit import AUDIT, AuditSpec
from core.jobs.local import LocalJobs
from core.jobs.records import Job, JobState, defaults
from core.library import home
from core.screens import runs
from pages.ui import frame, session, site, state, visitor, widgets
from pages.ui.jobs import machine
from pages.ui.jobs import watch as job_watch
from pages.ui.jobs.watch import JobPage, WatchedJob

PAGE: Final = JobPage(site.HOME, "audit")
BUTTON: Final = "Audit in background"


def offered() -> str:
    """Return what the button is called that begins one; empty where no job can be started."""
    can = session.sealed() and not visitor.off("pages/train.py")
    return BUTTON if can else ""


def submit(paths: Sequence[Path]) -> None:
    """Queue the audit of a file or folder, with its labels if there is a second path, and open it.

    Raises UsageError SETTING: of the cluster's settings file.
    """
    scores, *labels = paths
    spec = AuditSpec(path=str(scores), labels=str(labels[0]) if labels else None)
    # What is asked of the cluster where it is chosen: cores, as its settings file says
    request = replace(defaults(home()), gpus=0, nodes=1) if machine.in_cluster() else None
    job_watch.submit(visitor.open_jobs(), [spec], request=request)


def rows(listed: Sequence[Job]) -> None:
    """Draw the audits in the background, where there are any."""
    own = [job for job in listed if job.kind == AUDIT]
    if own:
        live = sum(not job.state.ended for job in own)
        widgets.title("Audits in the background", f"{live} waiting or running" if live else "")
        job_watch.rows(listed, AUDIT)


def draw(watched: WatchedJob) -> None:
    """Draw the page of one audit."""
    jobs, job = watched.jobs, watched.job
    sentence = runs.sentence(
        job, watched.place, _audit(jobs, job), paused=jobs.paused, plain=state.plain()
    )
    PAGE.head(watched, "", sentence)
    # Outside what redraws itself, so that focus stays.
    with st.container(horizontal=True, vertical_alignment="bottom", key="job.actions"):
        job_watch.stop(watched)
        if job.state is JobState.SUCCEEDED:
            run = job_watch.run_of(job)
            if run is not None:
                job_watch.open_in(site.RELIABILITY, run, primary=True)
        elif job.state.ended:
            job_watch.button("Try again", "retry", jobs.retry, job, primary=True)
        PAGE.back()
    job_watch.follow(_body, watched)


def _audit(jobs: LocalJobs, job: Job) -> dict[str, Any] | None:
    """Return what an audit found; None before its end, or where its folder is damaged."""
    result = jobs.folder(job.id).result() if job.state is JobState.SUCCEEDED else None
    audit = (result or {}).get("audit")
    return audit if isinstance(audit, dict) else None


def _body(jobs: LocalJobs, job: Job) -> None:
    """Draw the progress, the numbers and the log of an audit."""
    progress, audit = jobs.progress(job.id), _audit(jobs, job)
    text = runs.progress_words(progress) if progress else "Starting."
    job_watch.progress(jobs, job, progress, text)
    tiles = runs.tiles(job, progress, audit)
    if tiles:
        widgets.strip(tiles)
    if job.run:
        visitor.note(job.run)
        frame.notices(visitor.open_library().get(job.run).notices)
    if job.state is not JobState.SUCCEEDED:
        if job.state is JobState.FAILED:
            st.markdown(runs.READ_ANOTHER_WAY)
        job_watch.log(jobs, job)
    if not state.plain():
        with st.expander("Settings", key="job.settings"):
            st.json(jobs.audit(job.id).to_json(), expanded=2)
