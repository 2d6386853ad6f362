"""One evaluation: what is tried and queued, how far it is, what it found, why it failed."""

from dataclasses import replace
from pathlib import Path
from typing import Final

import streamlit as st

from core.codes import RefusalCode
from core.errors import LibraryError, UsageError, sentence
from core.fields import JsonObject
from core.inference.client import Answer
from core.inference.config import WEIGHTS, EvaluationConfig
from core.jobs.local import LocalJobs
from core.jobs.records import Job, JobState
from core.library import Manifest
from core.models.catalogue import ONNX
from core.published import compared
from core.screens import evaluate
from core.screens import evaluate as evaluation
from core.screens.evaluate import EvaluationWords, SplitResult, trial
from core.screens.kit.records import Sentence
from core.training.submission import NO_FOLDER
from pages.ui import frame, inference, site, state, visitor, weights_source, widgets
from pages.ui.caching import cached
from pages.ui.evaluate import state as form
from pages.ui.jobs import watch as job_watch
from pages.ui.jobs.watch import WatchedJob
from pages.ui.task import BackgroundTask
from pages.ui.visitor import open_library
from pages.ui.weights_source import OpenedWeights

IN_ANY_CASE: Final[dict[str, tuple[str, JsonObject]]] = {  # by what was refused
    RefusalCode.IMPLAUSIBLE: ("Keep it in any case", {"keep_implausible": True}),
    RefusalCode.CHECKSUM: ("Use the changed files", {"changed_files": True}),
}
MOST: Final = 64


def submit(jobs: LocalJobs, config: EvaluationConfig, weights: Path) -> None:
    """Queue an evaluation and open it; what is refused is said on the page that follows."""
    job_watch.submit(jobs, [config], weights=weights, pictures=form.pictures_home())
    if "job" in st.query_params:
        st.query_params.pop(weights_source.LINK, None)


def heading(watched: WatchedJob) -> tuple[str, Sentence]:
    """Return the network and the sentence about an evaluation."""
    jobs, job, edition = watched.jobs, watched.job, _edition()
    config = jobs.evaluation(job.id)
    run, training = _manifest(job.run), _manifest(config.weights.run)
    trained = compared(training.config, training.class_names) if training else None
    class_names = run.class_names if run else ()
    judged = evaluation.judged(config, _lines(job), edition, trained, class_names)
    sentence = evaluation.sentence(job, watched.place, judged, edition, paused=jobs.paused)
    return evaluate.model_label(config.model), sentence


def _lines(job: Job) -> tuple[SplitResult, ...]:
    """Return what was found on each split; nothing before the end or where the run is gone."""
    if not job.run:
        return ()
    try:
        splits = open_library().get(job.run).splits
        visitor.note(job.run)
        return tuple(
            _line(job.run, split, entry.role, entry.digest) for split, entry in splits.items()
        )
    except LibraryError:
        return ()


@cached(1_024, spinner="Computing intervals")
def _line(run_id: str, split: str, role: str, digest: str) -> SplitResult:
    del digest  # part of the key only: a run that was replaced is read again
    return evaluation.line(split, role, open_library().load(run_id, split))


def _manifest(run_id: str | None) -> Manifest | None:
    """Return the manifest of a run, where it is there."""
    try:
        return open_library().get(run_id or "")
    except LibraryError:
        return None


def _edition() -> EvaluationWords:
    return evaluation.PLAIN if state.plain() else evaluation.TECHNICAL


def actions(watched: WatchedJob) -> None:
    """Draw what can be done with an evaluation that has ended."""
    jobs, job = watched.jobs, watched.job
    if not job.state.ended:
        return
    config, weights = jobs.evaluation(job.id), jobs.folder(job.id).path / WEIGHTS
    failed = job.failure.code if job.failure else ""
    if job.state is JobState.SUCCEEDED:
        run = job_watch.run_of(job)
        if run is not None:
            if run.splits:
                job_watch.open_in(site.RELIABILITY, run, primary=True)
            job_watch.open_in(site.OOD, run)
    elif failed in evaluation.SMALLER and config.batch_size > 1:
        half = config.batch_size // 2
        st.button(
            "Retry with half the batch" if state.plain() else f"Retry with a batch of {half}",
            key="job.half",
            type="primary",
            on_click=submit,
            args=(jobs, replace(config, batch_size=half), weights),
        )
        job_watch.button("Retry unchanged", "retry", jobs.retry, job)
    elif failed in IN_ANY_CASE:
        label, change = IN_ANY_CASE[failed]
        st.button(
            label, key="job.keep", on_click=submit, args=(jobs, replace(config, **change), weights)
        )
    else:
        job_watch.button("Retry", "retry", jobs.retry, job, primary=True)
    st.button("Evaluate again, with changes", key="job.again", on_click=_again, args=(job.id,))


def _again(job_id: str) -> None:
    """Fill the form with what this job did, on the same weights."""
    weights_source.forget()
    job_watch.leave()
    st.query_params[weights_source.LINK] = job_id


def body(jobs: LocalJobs, job: Job) -> None:
    """Draw the progress, results, log and settings of an evaluation."""
    config, lines, progress = jobs.evaluation(job.id), _lines(job), jobs.progress(job.id)
    text = evaluation.progress_words(progress) if progress else "Reading the data and the weights."
    job_watch.progress(jobs, job, progress, text)
    tiles = evaluation.tiles(job, progress, lines, _edition())
    if tiles:
        widgets.strip(tiles)
    if job.state is not JobState.SUCCEEDED:
        job_watch.log(jobs, job)
    if lines:
        # Draw the table of splits and sets, and what was noticed
        plain = state.plain()
        widgets.title(
            "What it was shown" if plain else "Splits and sets", "the data’s own are shaded"
        )
        table = evaluation.table(lines, _edition())
        widgets.scores("Splits and sets", table.heads, table.written())
        with st.container(horizontal=True, vertical_alignment="center", key="job.saves"):
            widgets.save(table.file, f"evaluation_{job.id}")
            if not plain:
                widgets.caption(evaluation.caption(config, lines, job.digest))
        frame.notices(open_library().get(job.run).notices)
    if not state.plain():
        with st.expander("Settings", key="job.settings"):
            st.json(config.to_json(), expanded=2)


def buttons(jobs: LocalJobs, opened: OpenedWeights) -> None:
    """Draw why the form is refused, what a trial showed, and the buttons."""
    config: EvaluationConfig | None = None
    try:
        config = form.config(opened)
    except UsageError as error:
        if error.what == NO_FOLDER:  # nothing is wrong yet
            widgets.caption(f"{sentence(error.remedy)}")
        else:
            frame.refusal(error)
    path = opened.path(opened.file.group(str(form.value("group"))))
    task: BackgroundTask[Answer] | None = None
    if config is not None:
        split = next(part for part in evaluation.ORDER if part in config.splits)
        question = {"config": config.to_json(), "weights": str(path), "split": split, "n": MOST}
        text, program = f"Running on {MOST} {_edition().unit}.", config.model == ONNX
        task = inference.query("evaluate.trying", "trying", question, text, program=program)
        answer = task.draw()
        if answer is not None:  # of the settings as they stand
            even = 0.5 if config.preprocessing.gives_probabilities else 0.0
            arrays, class_names = answer.arrays, answer.values["class_names"]
            verdict = trial(arrays["scores"], arrays["labels"], class_names, even=even)
            other = form.other_size() if verdict.guessed else None
            if verdict.guessed:
                advice = f"{verdict.text} {verdict.advice} {verdict.few}".strip()
                widgets.caveat("No better than guessing", advice)
            else:
                st.markdown(f":material/check_circle: {verdict.text} {verdict.few}")
            if other is not None:
                st.button(
                    f"Use {_edition().unit} of {other[0]} x {other[1]}",
                    key="evaluate.other_size",
                    on_click=form.change_size,
                    args=(other,),
                )
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate.actions"):
        st.button(
            "Run on the pictures" if state.plain() else "Evaluate",
            type="primary",
            icon=":material/play_arrow:",
            disabled=config is None,
            key="evaluate.submit",
            on_click=submit,
            args=(jobs, config, path),
        )
        if task is not None:
            st.button(
                f"Try on {MOST} {_edition().unit}",
                key="evaluate.try",
                on_click=task.begin,
                disabled=task.running,
                help="Checks in seconds whether it beats guessing. Nothing is kept.",
            )
