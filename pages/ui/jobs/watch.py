"""One job, and the list of jobs, redrawn while a job lives; what jobs and runs have recorded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from core.access import Act
from core.errors import AuditError, LibraryError
from core.histories import History
from core.jobs.local import LocalJobs
from core.jobs.records import Job, JobState
from core.jobs.slurm.launcher import waiting_for
from core.library.history import from_events
from core.screens.kit.numbers import duration
from core.screens.kit.records import Phrase, Sentence
from core.screens.train import words
from core.training.progress import Progress
from pages.ui import frame, open_runs, site, state, widgets
from pages.ui.caching import cached
from pages.ui.jobs import queue
from pages.ui.visitor import open_jobs, open_library

LOOK_S: Final = 2.0
LOG_LINES: Final = 50
BEFORE: Final = {"resume": "Continues", "retry": "Repeats"}
AFTER: Final = {"resume": "Resumed as", "retry": "Repeated as"}
Draw = Callable[[LocalJobs, Job], None]


Recorded = tuple[str, int, int]  # a file, its bytes, and when it was written last


@dataclass(frozen=True)
class WatchedJob:
    """The job that a page shows, and those that are listed with it."""

    jobs: LocalJobs
    job: Job
    listed: Sequence[Job]

    @property
    def place(self) -> str:
        """Where it stands, also in the queue."""
        before = words.before(self.job, self.listed)
        return words.state_words(self.job, before, paused=self.jobs.paused)


@dataclass(frozen=True)
class JobPage:
    """The page of the jobs of one kind, called `noun`: where they are begun, listed and watched."""

    entry: site.Entry
    noun: str

    def linked(self) -> str:
        """Return the job in the link, if any, and make sure that the address bar shows it.

        A link from this page to itself gives its query to the session, but not to the address bar.
        """
        opened = f"{self.entry.name}.opened"
        job_id = st.query_params.get("job", "")
        if job_id and st.session_state.get(opened) != job_id:
            st.query_params["job"] = job_id
        st.session_state[opened] = job_id
        return job_id

    def find(self, jobs: LocalJobs, job_id: str, listed: Sequence[Job]) -> WatchedJob | None:
        """Return a job; None, and say so, where it is not here. One of another kind has a page."""
        try:
            job = jobs.get(job_id)
        except AuditError as error:
            widgets.sentence(Sentence((Phrase(f"This {self.noun} was not found."),)))
            frame.refusal(error)
            st.page_link(self.entry.script, label=f"All {self.noun}s", icon=self.entry.icon)
            return None
        page = queue.page_of(job)
        if page is not self.entry:
            st.switch_page(page.script, query_params={"job": job.id})
        return WatchedJob(jobs, job, listed)

    def head(self, watched: WatchedJob, about: str, sentence: Sentence) -> None:
        """Draw the sentence, why the job failed, and the jobs that it follows or that follow it.

        What it is `about` stands between page and state above the sentence.
        """
        job = watched.job
        frame.title(job.name)
        standing = words.standing(job)
        parts = [self.entry.title, *filter(None, [about]), standing]
        if job.slots:
            parts.append(", ".join(job.slots))
        if job.cluster and not state.plain():
            # Its number in the cluster, and why it waits there, in the cluster's own words
            why = waiting_for(job)
            parts.append(f"SLURM {job.cluster}" + (f" ({why})" if why else ""))
        parts += [f"job {job.id}", f"config {job.digest[:8]}"]
        plain = f"{self.entry.title} · {standing}"
        widgets.eyebrow(plain if state.plain() else " · ".join(parts))
        widgets.sentence(sentence)
        with st.container():  # keeps what follows in its place, whatever is in it
            queue.refused()
            if job.failure is not None:
                frame.refusal(AuditError(job.failure.code, job.failure.what, job.failure.remedy))
            # The job that this one goes on from or repeats, and those that do so with it
            listed = watched.listed
            relatives = [(o, BEFORE[job.relation]) for o in listed if o.id == job.parent]
            relatives += [(o, AFTER[o.relation]) for o in listed if o.parent == job.id]
            for other, relation in relatives:
                st.page_link(
                    self.entry.script,
                    label=f"{relation} job {other.id}, {words.standing(other)}",
                    icon=":material/link:",
                    query_params={"job": other.id},
                )

    def back(self) -> None:
        """Draw the way back to all jobs."""
        st.button(
            f"All {self.noun}s",
            key="job.all",
            type="tertiary",
            icon=":material/list:",
            on_click=leave,
        )


def follow(draw: Draw, watched: WatchedJob) -> None:
    """Draw what changes of a job, every LOOK_S seconds while it lives."""
    job = watched.job
    (_body if job.state.ended else _live_body)(draw, job.id, queue.stand([job]))


def _body(draw: Draw, job_id: str, stood: str) -> None:
    """Draw what changes; rerun the page when the job's state changed."""
    with frame.caught():
        jobs = open_jobs()
        jobs.tick()
        job = jobs.get(job_id)
        if queue.stand([job]) != stood:
            st.rerun()
        draw(jobs, job)


_live_body = st.fragment(_body, run_every=LOOK_S)


def stop(watched: WatchedJob) -> None:
    """Draw what can be done with a job that has not ended: to stop it, and to let it start."""
    jobs, job = watched.jobs, watched.job
    if job.state.ended:
        return
    if words.waits_here(job):
        if jobs.visitor.may(Act.QUEUE):
            button("To the front", "front", jobs.to_front, job)
        if jobs.paused:
            queue.unpause(jobs)
    if jobs.visitor.may(Act.STOP):
        button("Stop", "stop", jobs.cancel, job, disabled=bool(job.asked))


def button(
    label: str,
    name: str,
    action: queue.JobAct,
    job: Job,
    *,
    primary: bool = False,
    disabled: bool = False,
) -> None:
    """Draw a button that does something with a job."""
    st.button(
        label,
        key=f"job.{name}",
        type="primary" if primary else "secondary",
        disabled=disabled,
        on_click=queue.act,
        args=(action, job.id),
    )


def leave() -> None:
    """Go back to where jobs are begun and listed."""
    st.query_params.pop("job", None)


def run_of(job: Job) -> open_runs.Run | None:
    """Return the run of a job; None, and say so, where it is no longer in the library."""
    try:
        return open_runs.look_up(job.run)
    except LibraryError:
        st.markdown("Its run is no longer in the library.")
        return None


def open_in(entry: site.Entry, run: open_runs.Run, *, primary: bool = False) -> None:
    """Draw a button that opens a run on another page."""
    label, key = f"Open in {entry.title}", f"job.{entry.name}"
    if st.button(label, key=key, type="primary" if primary else "secondary"):
        state.open_run(run)
        st.switch_page(entry.script, query_params={"run": run.id})


def progress(jobs: LocalJobs, job: Job, current: Progress | None, text: str) -> None:
    """Draw how far a running job is, unless there is no text yet, and whether it is silent."""
    quiet = jobs.silent(job.id)
    with st.container():
        if text and job.state is JobState.RUNNING:
            st.progress(words.share_done(current) if current else 0.0, text=text)
        if quiet is not None:
            warning = f"It has not reported for {duration(quiet)} and may have ended."
            widgets.caveat("No recent report", warning)


def log(jobs: LocalJobs, job: Job) -> None:
    """Draw the last lines of a job's log; in plain words only where it failed."""
    lines = jobs.log(job.id, LOG_LINES)
    failed = job.state in {JobState.FAILED, JobState.LOST}
    if not lines or (state.plain() and not failed):
        return
    with st.expander(f"Log, last {LOG_LINES} lines", key="job.log", expanded=failed):
        st.code("\n".join(lines), language=None, height=300)


def submit(jobs: LocalJobs, configs: Sequence[Any], **options: Any) -> None:  # noqa: ANN401
    """Queue jobs as `LocalJobs.submit` does and open the first; a refusal is shown next."""
    try:
        submitted = jobs.submit(configs, **options)
    except AuditError as error:
        st.session_state[queue.REFUSED] = error
        return
    st.query_params["job"] = submitted[0].id


def rows(listed: Sequence[Job], kind: str = "") -> None:
    """Draw the list of jobs (of one kind), again and again while one of them lives."""
    own = _of_kind(listed, kind)
    (_live_rows if queue.any_live(own) else _rows)(kind, queue.stand(own))


def _of_kind(listed: Sequence[Job], kind: str) -> list[Job]:
    return [job for job in listed if kind in ("", job.kind)]


def _rows(kind: str, stood: str) -> None:
    """Draw the list; rerun the page when the state of a job changed."""
    with frame.caught():
        jobs = open_jobs()
        jobs.tick()
        listed = jobs.list()
        own = _of_kind(listed, kind)
        if queue.stand(own) != stood:
            st.rerun()
        if not own:
            st.markdown("None yet.")
        queue.rows(jobs, listed, kind)


_live_rows = st.fragment(_rows, run_every=LOOK_S)


def recorded(job_id: str) -> Recorded | None:
    """Return what tells events of a job from those that it had before; None before the first."""
    path = open_jobs().folder(job_id).path / "events.jsonl"
    try:
        state = path.stat()
    except OSError:
        return None
    return str(path), state.st_size, state.st_mtime_ns


def history_of_job(job_id: str) -> History:
    """Return what is recorded of a job so far; read again only when its events have grown."""
    at = recorded(job_id)
    return from_events([])[0] if at is None else _history_of_job(job_id, at)


@cached(32)
def _history_of_job(job_id: str, at: Recorded) -> History:
    del at  # part of the key only
    return from_events(open_jobs().folder(job_id).lines())[0]


def history_of_run(run_id: str) -> History | None:
    """Return the history of a run in the library, or None where there is none (yet)."""
    try:
        manifest = open_library().get(run_id)  # what is cached is for those who may see the run
        return _history_of_run(run_id, manifest.created)
    except LibraryError:
        return None


@cached(64)
def _history_of_run(run_id: str, created: str) -> History:
    del created  # part of the key only: a run of the same id made later is another one
    return open_library().history(run_id)


def parts_of_history(run_id: str) -> tuple[str, ...]:
    """Return the files of the history of a run in the library; none where it has none."""
    history = open_library().get(run_id).history
    return tuple(history.files) if history else ()
