"""One job, and the list of jobs, redrawn while a job lives; what jobs and runs have recorded."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import streamlit as st

from core.access import Act
from core.datasets.catalogue import TEXT_DATA
from core.errors import AuditError, LibraryError
from core.histories import History
from core.jobs.audit import AUDIT
from core.jobs.local import LocalJobs
from core.jobs.records import Job, JobState
from core.jobs.slurm.launcher import waiting_for
from core.library.history import from_events
from core.metrics.comparison import MOST_RUNS
from core.screens import evaluate as evaluation
from core.screens import runs
from core.screens.kit.numbers import count, duration, memory
from core.screens.kit.records import Phrase, Sentence
from core.screens.train import words
from core.training.folder import Progress
from pages.ui import frame, markup, open_runs, site, state, widgets
from pages.ui.caching import cached
from pages.ui.markup import esc
from pages.ui.visitor import open_jobs, open_library

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


def _draw_rows(jobs: LocalJobs, listed: Sequence[Job], kind: str = "") -> None:
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
        page = page_of(job)
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
            refused()
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
    (_body if job.state.ended else _live_body)(draw, job.id, stand([job]))


def _body(draw: Draw, job_id: str, stood: str) -> None:
    """Draw what changes; rerun the page when the job's state changed."""
    with frame.caught():
        jobs = open_jobs()
        jobs.tick()
        job = jobs.get(job_id)
        if stand([job]) != stood:
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
            unpause(jobs)
    if jobs.visitor.may(Act.STOP):
        button("Stop", "stop", jobs.cancel, job, disabled=bool(job.asked))


def button(
    label: str,
    name: str,
    action: JobAct,
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
        on_click=act,
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
        st.session_state[REFUSED] = error
        return
    st.query_params["job"] = submitted[0].id


def rows(listed: Sequence[Job], kind: str = "") -> None:
    """Draw the list of jobs (of one kind), again and again while one of them lives."""
    own = _of_kind(listed, kind)
    (_live_rows if any_live(own) else _rows)(kind, stand(own))


def _of_kind(listed: Sequence[Job], kind: str) -> list[Job]:
    return [job for job in listed if kind in ("", job.kind)]


def _rows(kind: str, stood: str) -> None:
    """Draw the list; rerun the page when the state of a job changed."""
    with frame.caught():
        jobs = open_jobs()
        jobs.tick()
        listed = jobs.list()
        own = _of_kind(listed, kind)
        if stand(own) != stood:
            st.rerun()
        if not own:
            st.markdown("None yet.")
        _draw_rows(jobs, listed, kind)


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
