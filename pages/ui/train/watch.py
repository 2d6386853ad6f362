"""One training: where it stands, its numbers, curves and log, and what can be done with it."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import streamlit as st

from core.codes import RefusalCode
from core.errors import AuditError, UsageError
from core.histories import History
from core.jobs.devices import CPU
from core.jobs.local import LocalJobs
from core.jobs.records import Job, JobState
from core.library.manifest import BINS, HISTORY
from core.screens.gamma.view import TRAINING_BINS, training_bins_cards
from core.screens.kit.records import FigureCard, Sentence
from core.screens.kit.text import short
from core.screens.train import view as views
from core.screens.train import words
from core.screens.train.view import RunCurves, distribution_cards
from core.screens.train.words import JobProgress
from core.training import threads
from core.training.distributions import LEARNED
from pages.ui import frame, markup, open_runs, site, state, visitor, widgets
from pages.ui.jobs import watch as job_watch
from pages.ui.jobs.watch import WatchedJob
from pages.ui.train import form
from pages.ui.visitor import open_jobs, open_library

PANEL_WIDTH = 322  # three abreast on a wide screen, in a fold, too
PLAIN_WIDTH = 500
LISTED = 200  # runs offered to compare with


def sentence(watched: WatchedJob) -> Sentence:
    """Return the sentence about a training."""
    jobs, job = watched.jobs, watched.job
    config = jobs.config(job.id)
    frame.set_row_noun(config.data)
    course = JobProgress.of(_history(job), config.epochs)
    return words.sentence(job, course, watched.place, job_watch.edition(), paused=jobs.paused)


def _history(job: Job) -> History:
    """Return what is recorded of a job: its run's history once that is in the library."""
    history = job_watch.history_of_run(job.run) if job.run else None
    return job_watch.history_of_job(job.id) if history is None else history


def actions(watched: WatchedJob) -> None:
    """Draw what can be done with a training beside stopping it."""
    jobs, job = watched.jobs, watched.job
    config = jobs.config(job.id)
    if job.state is JobState.SUCCEEDED:
        run = job_watch.run_of(job)
        if run is not None:
            job_watch.open_in(site.RELIABILITY, run, primary=True)
            if not config.of_texts:
                st.page_link(
                    site.EVALUATE.script,
                    label="Try other pictures" if state.plain() else "Evaluate on other images",
                    icon=site.EVALUATE.icon,
                    query_params={"weights": job.id},
                )
            if not state.plain() and BINS in job_watch.parts_of_history(run.id):
                job_watch.open_in(site.GAMMA, run)
    elif job.state.ended:
        resumable = jobs.resumable(job.id)
        if resumable:
            job_watch.button("Resume", "resume", jobs.resume, job, primary=True)
        if job.failure is not None and job.failure.code == RefusalCode.CHECKSUM:
            st.button(
                "Use the changed files",
                key="job.changed_files",
                on_click=job_watch.submit,
                args=(jobs, [replace(config, changed_files=True)]),
                kwargs={
                    "wants": job.wants,
                    "priority": job.priority,
                    "time_limit": job.time_limit,
                    "request": job.request,
                },
            )
        job_watch.button("Retry from the start", "retry", jobs.retry, job, primary=not resumable)
    if state.plain():
        return
    # The config can be changed in the form, or kept as a file
    if st.button("Duplicate with changes", key="job.duplicate"):
        try:
            form.fill(config, job)
        except UsageError as error:
            st.session_state[job_watch.REFUSED] = error
        else:
            st.query_params.pop("job", None)
        st.rerun()
    widgets.download(
        "Save config",
        lambda: json.dumps(config.to_json(), indent=1, allow_nan=False),
        f"candor_{job.id}.json",
        "application/json",
        key="job.config",
        job=job.id,
    )


def choose_other(watched: WatchedJob) -> str | None:
    """Return the run or job to compare with, if any; it lives in the link."""
    if state.plain():
        return None
    job = watched.job
    names = {
        row.id: row.name
        for row in open_runs.rows(limit=LISTED)
        if HISTORY in job_watch.parts_of_history(row.id)
    }
    names |= {
        other.id: f"{other.name} ({words.STATES[other.state]})"
        for other in watched.listed
        if not other.run and other.kind == words.TRAIN
    }
    for own in (job.id, job.run):
        names.pop(own, None)
    options = {"": "nothing"} | state.distinct_names(names)
    return widgets.select("Compare with", "against", options, "", width=300) or None


def body(jobs: LocalJobs, job: Job, beside: str | None) -> None:
    """Draw the numbers, curves and log of a training."""
    config, history = jobs.config(job.id), _history(job)
    on_cpu = job.state.ended and CPU in job.slots
    if not state.plain() and on_cpu and jobs.resumable(job.id):
        # A resume may compute with other threads than the training did
        counts = threads.by_epoch(job_watch.history_of_job(job.id))
        warning = words.threads_words(counts, threads.expected(config.devices))
        if warning:
            widgets.caption(warning)
    edition, progress = job_watch.edition(), jobs.progress(job.id)
    text = words.progress_words(progress, edition) if progress else ""
    job_watch.progress(jobs, job, progress, text)
    course = JobProgress.of(history, config.epochs)
    widgets.strip(edition.tiles(job, progress, course))
    runs = [RunCurves(job.id, job.name, history, config.epochs)]
    if beside is not None:
        with suppress(AuditError):  # what is compared with may be gone
            other = job_watch.history_of_run(beside)
            if other is not None:
                visitor.note(beside)
                name, n_epochs = open_library().get(beside).name, other.n_epochs
            else:
                planned = open_jobs().config(beside)
                name, n_epochs = planned.name, planned.epochs
                other = job_watch.history_of_job(beside)
            runs.append(RunCurves(beside, name, other, n_epochs))
    if not history.n_epochs and not job.state.ended:
        widgets.second("Curves appear after the first epoch.")
    _curves(runs)
    job_watch.log(jobs, job)


def _curves(runs: Sequence[RunCurves]) -> None:
    if not any(run.history.n_epochs for run in runs):
        return
    if len(runs) > 1:
        # Say which line is whose
        lines = zip(runs, views.run_marks(runs), ("solid", "dashed"), strict=True)
        markup.draw(
            "runs_key", [(mark, f"{short(run.name, 40)}, {line}") for run, mark, line in lines]
        )
    if state.plain():
        _panels(views.cards(views.PLAIN, runs), PLAIN_WIDTH)
        return
    _panels(views.cards(views.PANELS, runs))
    with st.expander("More curves", key="job.more"):
        # Say which epoch was best, by a metric that can be chosen
        run = runs[0]
        with st.container(horizontal=True, vertical_alignment="bottom", key="job.best"):
            metric = widgets.select("Best epoch by", "best", views.BEST, "val_ece", width=200)
            st.markdown(views.best_epoch(run, metric))
        _panels(views.cards(views.MORE + views.PARTS, runs))
        distributions = {card.key: card for card in distribution_cards(run.history)}
        learned = distributions.pop(LEARNED, None)
        _panels(list(distributions.values()))
        # How the confidence of training and validation agree, by bin, of any loss
        bins = state.choice("trained", list(TRAINING_BINS), "shared")
        other = (runs[1].history, views.run_marks(runs)[1]) if len(runs) > 1 else None
        with st.container(key="gamma_train"):  # wider than a phone, as on the Gamma page
            for card in training_bins_cards(run.history, bins == "own", other):
                if card.key == "gamma_train":
                    st.selectbox(
                        "Training rows in bins",
                        list(TRAINING_BINS),
                        key="widget.trained",
                        format_func=TRAINING_BINS.__getitem__,
                        on_change=state.pick,
                        args=("trained", "shared"),
                        width=300,
                    )
                widgets.figure(card)
                widgets.caption(card.caption)
        if learned is not None:
            widgets.figure(learned)
            widgets.caption(learned.caption)
    widgets.caption("After each epoch on the validation set. Panels as in Mukhoti et al. 2020.")


def _panels(cards: Sequence[FigureCard], width: int = PANEL_WIDTH) -> None:
    with st.container(horizontal=True, gap="small"):
        for card in cards:
            with st.container(key=f"panel.{card.key}", width=width):
                widgets.figure(card)
