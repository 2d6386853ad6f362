"""One training: where it stands, its numbers, curves and log, and what can be done with it."""

import json
from collections.abc import Sequence
from html import escape

import streamlit as st

from core.errors import AuditError, LibraryError, UsageError
from core.histories import History
from core.jobs.devices import CPU
from core.jobs.local import LocalJobs, open_jobs
from core.jobs.records import Job, JobState
from core.library import open_library
from core.library.manifest import BINS, HISTORY
from core.screens.kit.records import FigureCard
from core.screens.kit.text import short
from core.screens.train import view as views
from core.screens.train import words
from core.screens.train.view import TrainedRun
from core.screens.train.words import JobProgress
from core.training import threads
from core.training.config import TrainConfig
from pages.ui import cache, cache_train, frame, site, state, widgets
from pages.ui import queue as train_queue
from pages.ui.train import state as form

PANEL_WIDTH = 332  # three abreast on a wide screen
PLAIN_WIDTH = 500
LOG_LINES = 50
LOOK_S = 2.0
LISTED = 200  # runs offered to compare with


def draw(jobs: LocalJobs, job: Job, listed: Sequence[Job]) -> None:
    """Draw the page of one job."""
    config = jobs.config(job.id)
    course = JobProgress.of(_history(job), config.epochs)
    place = words.state_words(job, words.before(job, listed), paused=jobs.paused)
    widgets.eyebrow(_eyebrow(job))
    edition = train_queue.edition()
    widgets.sentence(words.sentence(job, course, place, edition, paused=jobs.paused))
    with st.container():  # keeps what follows in its place, whatever is in it
        train_queue.refused()
        if job.failure is not None:
            frame.refusal(AuditError(job.failure.code, job.failure.what, job.failure.remedy))
        _relatives(job, listed)
    with st.container(horizontal=True, vertical_alignment="bottom", key="job.actions"):
        _actions(jobs, job)
        if not state.plain():
            _take_config(job, config)
        st.button(
            "All trainings",
            key="job.all",
            type="tertiary",
            icon=":material/list:",
            on_click=_leave,
        )
        beside = None if state.plain() else _picker(job, listed)
    if not state.plain():
        _threads(jobs, job, config)
    (_body if job.state.ended else _live_body)(job.id, beside, train_queue.stand([job]))


def _leave() -> None:
    """Go back to the form and the list."""
    st.query_params.pop("job", None)


def _eyebrow(job: Job) -> str:
    if state.plain():
        return f"Train · {words.STATES[job.state]}"
    slots = f" · {', '.join(job.slots)}" if job.slots else ""
    return f"Train · {words.STATES[job.state]}{slots} · job {job.id} · config {job.digest[:8]}"


def _history(job: Job) -> History:
    """Return what is recorded of a job: its run's history once that is in the library."""
    history = cache_train.history_of_run(job.run) if job.run else None
    return cache_train.history_of_job(job.id) if history is None else history


def _relatives(job: Job, listed: Sequence[Job]) -> None:
    """Link the job that this one goes on from or repeats, and those that do so with it."""
    before = {"resume": "Goes on from", "retry": "Repeats"}
    after = {"resume": "Resumed as", "retry": "Repeated as"}
    relatives = [
        (relative, before[job.relation]) for relative in listed if relative.id == job.parent
    ]
    relatives += [
        (relative, after[relative.relation]) for relative in listed if relative.parent == job.id
    ]
    for relative, relation in relatives:
        st.page_link(
            site.TRAIN.script,
            label=f"{relation} job {relative.id}, {words.STATES[relative.state]}",
            icon=":material/link:",
            query_params={"job": relative.id},
        )


def _actions(jobs: LocalJobs, job: Job) -> None:
    """Draw what can be done with a job; outside what redraws itself, so that focus stays."""
    if not job.state.ended:
        if job.state is JobState.QUEUED:
            _button("To the front", "front", jobs.to_front, job)
            if jobs.paused:
                train_queue.unpause(jobs)
        _button("Stop", "stop", jobs.cancel, job, disabled=bool(job.asked))
        return
    if job.state is JobState.SUCCEEDED:
        _open(job)
        return
    resumable = jobs.resumable(job.id)
    if resumable:
        _button("Resume", "resume", jobs.resume, job, primary=True)
    _button("Retry from the start", "retry", jobs.retry, job, primary=not resumable)


def _threads(jobs: LocalJobs, job: Job, config: TrainConfig) -> None:
    """Say, where a resume is offered on a CPU, that it would compute with other threads."""
    if not job.state.ended or CPU not in job.slots or not jobs.resumable(job.id):
        return
    counts = threads.by_epoch(cache_train.history_of_job(job.id))
    sentence = words.threads_words(counts, threads.expected(config.devices))
    if sentence:
        widgets.caption(sentence)


def _button(
    label: str,
    name: str,
    action: train_queue.Act,
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
        args=(action, job.id),
    )


def _open(job: Job) -> None:
    """Open the run of a job that has succeeded."""
    try:
        run = cache.find(job.run)
    except LibraryError:
        st.markdown("Its run is no longer in the library.")
        return
    if st.button("Open in Reliability", type="primary", key="job.reliability"):
        state.open_run(run)
        st.switch_page(site.RELIABILITY.script, query_params={"run": run.id})
    st.page_link(
        site.EVALUATE.script,
        label="Show it other images" if state.plain() else "Evaluate on other images",
        icon=site.EVALUATE.icon,
        query_params={"weights": job.id},
    )
    learned = not state.plain() and BINS in cache_train.parts_of_history(run.id)
    if learned and st.button("Open in Gamma dynamics", key="job.gamma"):
        state.open_run(run)
        st.switch_page(site.GAMMA.script, query_params={"run": run.id})


def _take_config(job: Job, config: TrainConfig) -> None:
    """Offer the config: in the form, to be changed, and as a file."""
    if st.button("Duplicate with changes", key="job.duplicate"):
        try:
            form.fill(config, job)
        except UsageError as error:
            st.session_state[train_queue.REFUSED] = error
        else:
            st.query_params.pop("job", None)
        st.rerun()
    st.download_button(
        "Save config",
        lambda: json.dumps(config.to_json(), indent=1, allow_nan=False),
        f"candor_{job.id}.json",
        "application/json",
        key="job.config",
        on_click="ignore",
    )


def _picker(job: Job, listed: Sequence[Job]) -> str | None:
    """Draw the choice of a run or job to compare with; it lives in the link."""
    names = {row.id: row.name for row in cache.rows(limit=LISTED) if _has_metrics(row.id)}
    names |= {
        other.id: f"{other.name} ({words.STATES[other.state]})"
        for other in listed
        if not other.run and other.kind != words.EVALUATE
    }
    for own in (job.id, job.run):
        names.pop(own, None)
    names = state.distinct_names(names)
    chosen = state.choice("against", ["", *names], "")
    st.selectbox(
        "Compare with",
        ["", *names],
        key="widget.against",
        format_func=lambda option: names.get(option, "nothing"),
        on_change=state.pick,
        args=("against", ""),
        width=300,
    )
    return chosen or None


def _has_metrics(run_id: str) -> bool:
    return HISTORY in cache_train.parts_of_history(run_id)


def _body(job_id: str, beside: str | None, stood: str) -> None:
    """Draw numbers, curves and log; the whole page anew when the job stands elsewhere by now."""
    with frame.caught():
        jobs = open_jobs()
        jobs.tick()
        job = jobs.get(job_id)
        if train_queue.stand([job]) != stood:
            st.rerun()
        _numbers(jobs, job, beside)


_live_body = st.fragment(_body, run_every=LOOK_S)


def _numbers(jobs: LocalJobs, job: Job, beside: str | None) -> None:
    config, history, edition = jobs.config(job.id), _history(job), train_queue.edition()
    progress = jobs.progress(job.id)
    quiet = jobs.silent(job.id)
    with st.container():
        if progress is not None and job.state is JobState.RUNNING:
            st.progress(words.share_done(progress), text=words.progress_words(progress, edition))
        if quiet is not None:
            text = f"Nothing was heard from it for {words.duration(quiet)}; it may be gone."
            widgets.caveat("No sign of life", text)
    course = JobProgress.of(history, config.epochs)
    widgets.strip(edition.tiles(job, progress, course))
    runs = [TrainedRun(job.id, job.name, history, config.epochs)]
    other = _other(beside)
    if other is not None:
        runs.append(other)
    if not history.n_epochs and not job.state.ended:
        widgets.second("The curves begin with the end of the first epoch.")
    _curves(runs)
    _log(jobs, job)


def _other(beside: str | None) -> TrainedRun | None:
    """Return the run or job that is compared with; None where it is gone."""
    if beside is None:
        return None
    try:
        history = cache_train.history_of_run(beside)
        if history is not None:
            return TrainedRun(beside, open_library().get(beside).name, history, history.n_epochs)
        config = open_jobs().config(beside)
        return TrainedRun(beside, config.name, cache_train.history_of_job(beside), config.epochs)
    except AuditError:
        return None


def _curves(runs: Sequence[TrainedRun]) -> None:
    if not any(run.history.n_epochs for run in runs):
        return
    if len(runs) > 1:
        _key(runs)
    if state.plain():
        _panels(views.cards(views.PLAIN, runs), PLAIN_WIDTH)
        return
    _panels(views.cards(views.PANELS, runs))
    with st.expander("Loss and learning rate", key="job.more"):
        _panels(views.cards(views.MORE, runs))
    widgets.caption(
        "After each epoch on the validation part, which is not trained on; panels as in Mukhoti "
        "et al. 2020, figures 1 and 3, where they stand for the test part."
    )


def _key(runs: Sequence[TrainedRun]) -> None:
    """Say which line is whose."""
    lines = zip(runs, views.run_marks(runs), ("solid", "dashed"), strict=True)
    legend = "".join(
        f"<span>{widgets.badge(mark)} {escape(short(run.name, 40))}, {line}</span>"
        for run, mark, line in lines
    )
    st.html(f'<p class="c-key">{legend}</p>')


def _panels(cards: Sequence[FigureCard], width: int = PANEL_WIDTH) -> None:
    with st.container(horizontal=True, gap="small"):
        for card in cards:
            with st.container(key=f"panel.{card.key}", width=width):
                widgets.figure(card)


def _log(jobs: LocalJobs, job: Job) -> None:
    lines = jobs.log(job.id, LOG_LINES)
    failed = job.state in {JobState.FAILED, JobState.LOST}
    if not lines or (state.plain() and not failed):
        return
    with st.expander(f"Log, last {LOG_LINES} lines", key="job.log", expanded=failed):
        st.code("\n".join(lines), language=None, height=300)
