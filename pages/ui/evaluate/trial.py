"""A quick look before an evaluation is queued: some tens of images in the warm process."""

from pathlib import Path
from typing import Final

import streamlit as st

from core.inference.client import Answer
from core.inference.config import EvaluationConfig
from core.screens.evaluate.trial import trial
from pages.ui import inference, widgets
from pages.ui.task import Task

MOST: Final = 64
PREFERRED: Final = ("test", "val", "train")


def button(config: EvaluationConfig, path: Path) -> None:
    """Draw the button that tries."""
    task = _task(config, path)
    st.button(
        f"Try on {MOST} images",
        key="evaluate.try",
        on_click=task.begin,
        disabled=task.running,
        help="Whether it is better than guessing, in some seconds; nothing is kept.",
    )


def _task(config: EvaluationConfig, path: Path) -> Task[Answer]:
    split = next(part for part in PREFERRED if part in config.splits)
    question = {"config": config.to_json(), "weights": str(path), "split": split, "n": MOST}
    return inference.query("evaluate.trying", "trying", question, f"Showing it {MOST} images.")


def outcome(config: EvaluationConfig, path: Path) -> None:
    """Draw what was found for the settings as they stand; nothing where they were not tried."""
    answer = _task(config, path).draw()
    if answer is None:
        return
    even = 0.5 if config.preprocessing.gives_probabilities else 0.0
    names = answer.values["class_names"]
    verdict = trial(answer.arrays["scores"], answer.arrays["labels"], names, even=even)
    if verdict.guessed:
        widgets.caveat(
            "No better than guessing", f"{verdict.text} {verdict.advice} {verdict.few}".strip()
        )
    else:
        st.markdown(f":material/check_circle: {verdict.text} {verdict.few}")
