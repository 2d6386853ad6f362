"""Which history the Gamma page shows, and what it offers where there is none."""

from contextlib import suppress

import streamlit as st

from core.errors import AuditError, LibraryError
from core.jobs.records import Job, JobState
from core.jobs.store import LIVE
from core.screens.kit import row_noun
from core.screens.kit.records import Phrase, Sentence
from core.screens.train.words import TRAIN
from pages.ui import cache, frame, selected_run, site, visitor, widgets
from pages.ui.escape import esc
from pages.ui.gamma import cache as cache_gamma
from pages.ui.gamma import state as gamma_state
from pages.ui.gamma.cache import HistorySource, Kind
from pages.ui.visitor import open_jobs, open_library

OFFERED = 4  # of the user's own, where nothing is open


def live() -> list[HistorySource]:
    """Return the trainings under way whose loss learns gammas by bin."""
    sources = [_job_source(job) for job in open_jobs().list() if job.state in LIVE]
    return [source for source in sources if source is not None]


def opened() -> tuple[str | None, HistorySource | None]:
    """Return the id that link or session name, and what can be shown of it.

    A job that has succeeded gives way to its run, with what was chosen of it. Where nothing was
    chosen yet, it is a sample, and the page says so.
    """
    source_id = st.query_params.get("run") or st.session_state.get("app.run")
    source = cache_gamma.find(source_id) if source_id else None
    if source is not None:
        gamma_state.keep("job", None)
        _note(source.id)
        return source_id, source
    job: Job | None = None
    with suppress(LibraryError):
        job = open_jobs().get(source_id or gamma_state.chosen("job") or "")
    if job is None or job.kind != TRAIN:
        sample = None if source_id else cache_gamma.find(site.GAMMA.sample)
        if sample is not None:
            _note(sample.id)
            selected_run.your_own()
        return source_id, sample
    if job.state is JobState.SUCCEEDED:
        gamma_state.give_way(job.run)
        _note(job.run)
        return job.run, cache_gamma.find(job.run)
    if source_id:  # a link that calls a job a run
        gamma_state.open_source(job.id, job=True)
        st.rerun()
    source = _job_source(job)
    if source is not None:
        frame.set_row_noun(open_jobs().config(job.id).data)
    return job.id, source


def _note(run_id: str) -> None:
    """Note that this page is made of a run, for the audit trail and for the words of its rows."""
    visitor.note(run_id)
    frame.set_row_noun(open_library().get(run_id).data)


def _job_source(job: Job) -> HistorySource | None:
    if job.kind != TRAIN:
        return None
    try:
        config = open_jobs().config(job.id)
    except AuditError:  # its folder is damaged: nothing can be shown of it
        return None
    if not cache_gamma.by_bin(config.loss):
        return None
    return HistorySource(job.id, job.name or job.id, kind(job))


def kind(job: Job) -> Kind:
    """Return what kind of source a job is."""
    if job.state in LIVE:
        return "live"
    return "stopped" if job.state.ended else "queued"


def nothing(source_id: str | None, offered: list[HistorySource]) -> None:
    """Say that there are no gammas to show, and offer those that there are."""
    text = "No run with gammas is open yet."
    if source_id:
        try:
            text = f"“{cache.find(source_id).name}” has no gammas by bin."
        except LibraryError as gone:
            frame.refusal(gone)
    words = gamma_state.words()
    widgets.eyebrow(words.page)
    widgets.sentence(Sentence((Phrase(text),)))
    widgets.second(row_noun.with_row_noun(words.about))
    with_gammas = [source for source in offered if source.kind != "logits"]
    users = [source for source in with_gammas if not source.sample]
    samples = sorted(
        (source for source in with_gammas if source.sample),
        key=lambda source: source.id != site.GAMMA.sample,
    )
    with st.container(horizontal=True, key="samples"):
        for i, source in enumerate([*users[:OFFERED], *samples]):
            st.button(
                esc(source.label),
                type="secondary" if i else "primary",
                icon=":material/play_arrow:",
                key=f"gamma.open.{source.id}",
                on_click=gamma_state.open_source,
                args=(source.id,),
                kwargs={"job": source.job},
            )
