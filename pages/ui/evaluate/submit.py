"""What submits an evaluation, after a quick look at some tens of images in the warm process."""

from typing import Final

import streamlit as st

from core.errors import UsageError, sentence
from core.inference.client import Answer
from core.inference.config import EvaluationConfig
from core.jobs.local import LocalJobs
from core.models.catalogue import ONNX
from core.screens.evaluate.trial import trial
from core.training.submission import NO_FOLDER
from pages.ui import frame, inference, state, widgets
from pages.ui.evaluate import state as form
from pages.ui.evaluate import watch
from pages.ui.task import BackgroundTask
from pages.ui.weights_source import OpenedWeights

MOST: Final = 64
PREFERRED: Final = ("test", "val", "train")


def draw(jobs: LocalJobs, opened: OpenedWeights) -> None:
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
        split = next(part for part in PREFERRED if part in config.splits)
        question = {"config": config.to_json(), "weights": str(path), "split": split, "n": MOST}
        text, program = f"Running on {MOST} images.", config.model == ONNX
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
                    f"Use images of {other[0]} x {other[1]}",
                    key="evaluate.other_size",
                    on_click=form.change_size,
                    args=(other,),
                )
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate.actions"):
        st.button(
            "Run on the images" if state.plain() else "Evaluate",
            type="primary",
            icon=":material/play_arrow:",
            disabled=config is None,
            key="evaluate.submit",
            on_click=watch.submit,
            args=(jobs, config, path),
        )
        if task is not None:
            st.button(
                f"Try on {MOST} images",
                key="evaluate.try",
                on_click=task.begin,
                disabled=task.running,
                help="Checks in seconds whether it beats guessing. Nothing is kept.",
            )
