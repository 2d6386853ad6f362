"""The list of jobs: where each one stands, and what can be done with it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import streamlit as st

from core.access import Act
from core.datasets.catalogue import TEXT_DATA
from core.errors import AuditError, LibraryError
from core.jobs.audit import AUDIT
from core.jobs.local import LocalJobs
from core.jobs.records import Job, JobState
from core.metrics.comparison import MOST_RUNS
from core.screens import evaluate as evaluation
from core.screens import runs
from core.screens.kit.numbers import count, duration, memory
from core.screens.train import words
from pages.ui import frame, markup, open_runs, site, state, widgets
from pages.ui.markup import esc

JobAct = Callable[[str], Job]
SHOWN = 12  # submissions; more are unfolded
UNFOLDED = "train.unfolded"
REFUSED = "train.refused"
ICONS = {
    JobState.QUEUED: ":material/schedule:",
    JobState.STARTING: ":material/sync:",
    JobState.RUNNING: ":material/sync:",
    JobState.SUCCEEDED: ":material/check_circle:",
    JobState.FAILED: ":material/error:",
    JobState.CANCELLED: ":material/stop_circle:",
    JobState.LOST: ":material/help:",
}


PAGES = {words.TRAIN: site.TRAIN, words.EVALUATE: site.EVALUATE, AUDIT: site.HOME}
PROGRESS_WORDS = {
    words.EVALUATE: evaluation.progress_words,
    AUDIT: runs.progress_words,
}
OTHERS = {words.EVALUATE: "evaluations", AUDIT: "audits"}  # beside trainings


def any_live(jobs: Sequence[Job]) -> bool:
    """Whether something is queued or running, so that the page must look again."""
    return any(not job.state.ended for job in jobs)


def stand(jobs: Sequence[Job]) -> str:
    """Return what must make the whole page be drawn again when it changes."""
    return " ".join(f"{job.id}{job.state}{job.asked}" for job in jobs)


def head(jobs: LocalJobs, listed: Sequence[Job]) -> None:
    """Draw the title of the list and the switch of the queue."""
    live = sum(not job.state.ended for job in listed)
    summary = f"{count(live)} waiting or running" if live else "nothing waiting or running"
    # What the jobs of some kinds are called together
    kinds = {job.kind for job in listed}
    others = [noun for kind, noun in OTHERS.items() if kind in kinds]
    title = " and ".join([", ".join(["Trainings", *others[:-1]]), *others[-1:]])
    widgets.title(title, summary)
    if jobs.paused:
        with st.container(horizontal=True, vertical_alignment="center", key="queue.paused"):
            st.markdown(":material/pause: The queue is paused; running jobs continue.")
            unpause(jobs)
    elif jobs.visitor.may(Act.QUEUE) and any(words.waits_here(job) for job in listed):
        st.button(
            "Pause the queue",
            key="queue.pause",
            on_click=jobs.pause,
            help="Running jobs continue; no new ones start.",
        )


def unpause(jobs: LocalJobs) -> None:
    """Draw the button that lets the queue go on, for whoever may let it."""
    if not jobs.visitor.may(Act.QUEUE):
        return
    st.button("Resume queue", key="queue.unpause", on_click=jobs.unpause)


def rows(jobs: LocalJobs, listed: Sequence[Job], kind: str = "") -> None:
    """Draw the jobs (of one kind), those of one submission together, the newest first."""
    groups = words.grouped([job for job in listed if kind in ("", job.kind)])
    unfolded = bool(st.session_state.get(UNFOLDED))
    for group in groups if unfolded else groups[:SHOWN]:
        with st.container(gap="xsmall", key=f"queue.group.{group[-1].id}"):
            if len(group) > 1:
                done = sum(job.state.ended for job in group)
                with st.container(horizontal=True, vertical_alignment="center"):
                    widgets.caption(f"{len(group)} together, {done} ended; {_day(group[-1])}")
                    runs = [job.run for job in reversed(group) if _has_labels(job.run)]
                    if done == len(group) and 1 < len(runs) <= MOST_RUNS:
                        trained = group[0].kind == words.TRAIN
                        st.page_link(
                            site.COMPARE.script,
                            label="Compare by setting" if trained else "Compare",
                            icon=site.COMPARE.icon,
                            query_params={"runs": ",".join(runs)}
                            | ({"way": "sweep"} if trained else {}),
                        )
            for job in reversed(group):  # in the order in which they start
                _row(jobs, job, listed)
    if len(groups) > SHOWN and not unfolded:
        rest = len(groups) - SHOWN
        if st.button(f"{rest} earlier", key="queue.more", type="tertiary"):
            st.session_state[UNFOLDED] = True
            st.rerun()


def _has_labels(run_id: str) -> bool:
    """Whether a run is still there, with rows that can be audited."""
    try:
        return bool(run_id and open_runs.look_up(run_id).splits)
    except LibraryError:
        return False


def _day(job: Job) -> str:
    return datetime.fromtimestamp(job.created, UTC).astimezone().strftime("%-d %b, %H:%M")


def page_of(job: Job) -> site.Entry:
    """Return the page that shows a job."""
    return PAGES[job.kind]


def _row(jobs: LocalJobs, job: Job, listed: Sequence[Job]) -> None:
    progress = jobs.progress(job.id) if job.state is JobState.RUNNING else None
    with st.container(
        horizontal=True, vertical_alignment="center", gap="small", key=f"queue.row.{job.id}"
    ):
        # The icon of where a training stands; that of another's page, unless it went wrong
        wrong = job.state.ended and job.state is not JobState.SUCCEEDED
        own = job.kind == words.TRAIN or wrong
        icon = ICONS[job.state] if own else page_of(job).icon
        st.page_link(
            page_of(job).script,
            label=esc(job.name),
            icon=icon,
            query_params={"job": job.id},
            width="stretch",
        )
        before = words.before(job, listed) if words.waits_here(job) else None
        if not job.state.ended and not job.asked and jobs.visitor.may(Act.STOP):
            name = f"*{esc(job.name.strip())}*"  # heard, not seen: the name stands beside it
            if before and jobs.visitor.may(Act.QUEUE):
                st.button(
                    f"First {name}",
                    key=f"queue.front.{job.id}",
                    type="tertiary",
                    help="Start it before the others in the queue",
                    on_click=act,
                    args=(jobs.to_front, job.id),
                )
            st.button(
                f"Stop {name}",
                key=f"queue.stop.{job.id}",
                type="tertiary",
                on_click=act,
                args=(jobs.cancel, job.id),
            )
    status = words.state_words(job, before, paused=jobs.paused)
    if progress is not None:
        progress_words = PROGRESS_WORDS.get(job.kind)
        if progress_words is None:
            status = words.progress_words(progress, edition())
        else:
            status = progress_words(progress)
        if not state.plain():
            if job.kind != AUDIT:
                data = ""
                with suppress(AuditError):  # its folder is damaged
                    data = jobs.network(job.id).data
                noun = "texts" if data in TEXT_DATA else "images"
                status += f", {count(round(progress.images_per_second))} {noun}/s"
            status += f", {memory(progress.memory)}"
    elif job.state.ended:
        elapsed = job.started and job.ended and f" after {duration(job.ended - job.started)}"
        status = f"{status}{elapsed or ''}, {_day(job)}"
    markup.draw("queued", status, None if progress is None else words.share_done(progress))


def edition() -> words.TrainingWords:
    """Return the words of the edition that is switched on."""
    return words.PLAIN if state.plain() else words.TECHNICAL


def act(action: JobAct, job_id: str) -> None:
    """Do something with a job; what is refused is said on the page that follows."""
    try:
        done = action(job_id)
    except AuditError as error:
        st.session_state[REFUSED] = error
        return
    if done.id != job_id:  # it goes on, or is repeated, as a new one
        st.query_params["job"] = done.id


def refused() -> None:
    """Show what was refused last."""
    error: AuditError | None = st.session_state.pop(REFUSED, None)
    if error is not None:
        frame.refusal(error)
