"""One evaluation: how far it is, what it found, why it failed, and what can be done with it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import streamlit as st

from core.errors import AuditError, LibraryError
from core.inference.config import EvaluationConfig
from core.inference.folder import WEIGHTS
from core.jobs.local import LocalJobs, open_jobs
from core.jobs.records import Job, JobState
from core.library import open_library
from core.screens.evaluate import checkpoint, words
from core.screens.evaluate import results as evaluation
from core.screens.evaluate.results import EvaluationWords, SplitResult
from core.screens.train import words as jobs_words
from pages.ui import (
    cache,
    frame,
    site,
    state,
    widgets,
)
from pages.ui import (
    queue as train_queue,
)
from pages.ui import (
    weights_source as evaluate_source,
)

LOG_LINES: Final = 50
LOOK_S: Final = 2.0
OOD: Final = "ood"  # name of the page that shows shifted and strange sets


def submit(jobs: LocalJobs, config: EvaluationConfig, weights: Path) -> None:
    """Queue an evaluation and open it; what is refused is said on the page that follows."""
    try:
        (job,) = jobs.submit([config], weights=weights)
    except AuditError as error:
        st.session_state[train_queue.REFUSED] = error
        return
    st.query_params.pop(evaluate_source.LINK, None)
    st.query_params["job"] = job.id


def draw(jobs: LocalJobs, job: Job, listed: Sequence[Job]) -> None:
    """Draw the page of one job."""
    config = jobs.evaluation(job.id)
    lines = _lines(job)
    edition = _edition()
    judged = evaluation.judged(config, lines, edition, _trained(config))
    before = jobs_words.before(job, listed)
    state_text = jobs_words.state_words(job, before, paused=jobs.paused)
    widgets.eyebrow(_eyebrow(job, config))
    sentence = words.sentence(job, state_text, judged, edition, paused=jobs.paused)
    widgets.sentence(sentence)
    with st.container():  # keeps what follows in its place, whatever is in it
        train_queue.refused()
        if job.failure is not None:
            frame.refusal(AuditError(job.failure.code, job.failure.what, job.failure.remedy))
        _relatives(job, listed)
    with st.container(horizontal=True, vertical_alignment="bottom", key="job.actions"):
        _actions(jobs, job, config)
        st.button(
            "All evaluations",
            key="job.all",
            type="tertiary",
            icon=":material/list:",
            on_click=_leave,
        )
    (_body if job.state.ended else _live_body)(job.id, train_queue.stand([job]))
    if lines:
        _results(config, job, lines)
    _settings(config)


def _leave() -> None:
    """Go back to the form and the list."""
    st.query_params.pop("job", None)


def _lines(job: Job) -> tuple[SplitResult, ...]:
    """Return what was found on each split; nothing before the end or where the run is gone."""
    if not job.run:
        return ()
    try:
        splits = open_library().get(job.run).splits
        return tuple(
            _line(job.run, split, entry.role, entry.digest) for split, entry in splits.items()
        )
    except LibraryError:
        return ()


@st.cache_data(max_entries=1_024, show_spinner="Computing intervals")
def _line(run_id: str, split: str, role: str, digest: str) -> SplitResult:
    del digest  # part of the key only: a run that was replaced is read again
    return evaluation.line(split, role, open_library().load(run_id, split))


def _trained(config: EvaluationConfig) -> dict[str, object] | None:
    """Return the config of the training that made the weights, where its run is there."""
    if not config.weights.run:
        return None
    try:
        return open_library().get(config.weights.run).config
    except LibraryError:
        return None


def _edition() -> EvaluationWords:
    return evaluation.PLAIN if state.plain() else evaluation.TECHNICAL


def _eyebrow(job: Job, config: EvaluationConfig) -> str:
    standing = jobs_words.standing(job)
    if state.plain():
        return f"Evaluate · {standing}"
    slots = f" · {', '.join(job.slots)}" if job.slots else ""
    network = checkpoint.model_label(config.model)
    return f"Evaluate · {network} · {standing}{slots} · job {job.id} · config {job.digest[:8]}"


def _relatives(job: Job, listed: Sequence[Job]) -> None:
    """Link the job that this one repeats, and those that repeat it."""
    relatives = [(relative, "Repeats") for relative in listed if relative.id == job.parent]
    relatives += [(relative, "Repeated as") for relative in listed if relative.parent == job.id]
    for relative, relation in relatives:
        st.page_link(
            site.EVALUATE.script,
            label=f"{relation} job {relative.id}, {jobs_words.standing(relative)}",
            icon=":material/link:",
            query_params={"job": relative.id},
        )


def _actions(jobs: LocalJobs, job: Job, config: EvaluationConfig) -> None:
    """Draw what can be done with a job; outside what redraws itself, so that focus stays."""
    if not job.state.ended:
        if job.state is JobState.QUEUED and jobs.paused:
            train_queue.unpause(jobs)
        _button("Stop", "stop", jobs.cancel, job, disabled=bool(job.asked))
        return
    if job.state is JobState.SUCCEEDED:
        _open(job)
    elif _may_be_too_large(job) and config.batch_size > 1:
        half = config.batch_size // 2
        st.button(
            "Retry with half the batch" if state.plain() else f"Retry with a batch of {half}",
            key="job.half",
            type="primary",
            on_click=submit,
            args=(jobs, replace(config, batch_size=half), jobs.folder(job.id).path / WEIGHTS),
        )
        _button("Retry as it was", "retry", jobs.retry, job)
    else:
        _button("Retry", "retry", jobs.retry, job, primary=True)
    st.button("Evaluate again, with changes", key="job.again", on_click=_again, args=(job.id,))


def _may_be_too_large(job: Job) -> bool:
    return job.failure is not None and job.failure.code in words.SMALLER


def _button(
    label: str,
    name: str,
    what: train_queue.Act,
    job: Job,
    *,
    primary: bool = False,
    disabled: bool = False,
) -> None:
    st.button(
        label,
        key=f"job.{name}",
        type="primary" if primary else "secondary",
        disabled=disabled,
        on_click=train_queue.act,
        args=(what, job.id),
    )


def _again(job_id: str) -> None:
    """Fill the form with what this job did, on the same weights."""
    evaluate_source.forget()
    st.query_params.pop("job", None)
    st.query_params[evaluate_source.LINK] = job_id


def _open(job: Job) -> None:
    """Open the run of a job that has succeeded."""
    try:
        run = cache.look_up(job.run)
    except LibraryError:
        st.markdown("Its run is no longer in the library.")
        return
    if run.splits and st.button("Open in Reliability", type="primary", key="job.reliability"):
        state.open_run(run)
        st.switch_page(site.RELIABILITY.script, query_params={"run": run.id})
    page = next((entry for entry in site.entries() if entry.name == OOD), None)
    if page is not None and st.button(f"Open in {page.title}", key="job.ood"):
        state.open_run(run)
        st.switch_page(page.script, query_params={"run": run.id})


def _body(job_id: str, queue_state: str) -> None:
    """Draw progress and log; the whole page anew when the job stands elsewhere by now."""
    with frame.caught():
        jobs = open_jobs()
        jobs.tick()
        job = jobs.get(job_id)
        if train_queue.stand([job]) != queue_state:
            st.rerun()
        _progress(jobs, job)


_live_body = st.fragment(_body, run_every=LOOK_S)


def _progress(jobs: LocalJobs, job: Job) -> None:
    progress, quiet = jobs.progress(job.id), jobs.silent(job.id)
    with st.container():
        if job.state is JobState.RUNNING:
            text = (
                words.progress_words(progress) if progress else "Reading the data and the weights."
            )
            st.progress(jobs_words.share_done(progress) if progress else 0.0, text=text)
        if quiet is not None:
            warning = f"Nothing was heard from it for {jobs_words.duration(quiet)}; it may be gone."
            widgets.caveat("No sign of life", warning)
    tiles = words.tiles(job, progress, _lines(job))
    if tiles:
        widgets.strip(tiles)
    if job.state is not JobState.SUCCEEDED:
        _log(jobs, job)


def _log(jobs: LocalJobs, job: Job) -> None:
    lines = jobs.log(job.id, LOG_LINES)
    failed = job.state in {JobState.FAILED, JobState.LOST}
    if lines and (failed or not state.plain()):
        with st.expander(f"Log, last {LOG_LINES} lines", key="job.log", expanded=failed):
            st.code("\n".join(lines), language=None, height=300)


def _results(config: EvaluationConfig, job: Job, lines: tuple[SplitResult, ...]) -> None:
    """Draw the table of splits and sets, and what was noticed."""
    plain, edition = state.plain(), _edition()
    widgets.title("What it was shown" if plain else "Splits and sets", "the data's own are shaded")
    rows, heads = evaluation.rows(lines, edition), evaluation.heads(lines, edition)
    widgets.scores("Splits and sets", heads, rows)
    with st.container(horizontal=True, vertical_alignment="center", key="job.saves"):
        widgets.save(evaluation.table(lines), f"evaluation_{job.id}")
        if not plain:
            widgets.caption(evaluation.caption(config, lines, job.digest))
    frame.notices(open_library().get(job.run).notices)


def _settings(config: EvaluationConfig) -> None:
    """Draw what was asked for, folded."""
    if state.plain():
        return
    with st.expander("Settings", key="job.settings"):
        st.json(config.to_json(), expanded=2)
