"""A quick look before an evaluation is queued: some tens of images in the warm process."""

from pathlib import Path
from typing import Any, Final

import streamlit as st

from core.errors import AuditError
from core.inference.config import EvaluationConfig
from core.screens.evaluate.trial import trial
from pages.ui import frame, widgets
from pages.ui import inference as asking

TRYING: Final = "trying"
MOST: Final = 64
LOOK_S: Final = 0.5
PREFERRED: Final = ("test", "val", "train")


def button(config: EvaluationConfig, path: Path) -> None:
    """Draw the button that tries, or the one that stops."""
    question = _question(config, path)
    if asking.waits(TRYING, question):
        st.button(
            "Stop trying",
            key="evaluate.try_stop",
            on_click=asking.forget,
            args=(TRYING, question),
        )
        return
    st.button(
        f"Try on {MOST} images",
        key="evaluate.try",
        on_click=_put,
        args=(question,),
        help="Whether it is better than guessing, in some seconds; nothing is kept.",
    )


def _put(question: dict[str, Any]) -> None:
    asking.forget(TRYING, question)
    asking.ask(TRYING, question)


def _question(config: EvaluationConfig, path: Path) -> dict[str, Any]:  # Any: plain JSON values
    split = next(part for part in PREFERRED if part in config.splits)
    return {"config": config.to_json(), "weights": str(path), "split": split, "n": MOST}


def outcome(config: EvaluationConfig, path: Path) -> None:
    """Draw what was found for the settings as they stand; nothing where they were not tried."""
    question = _question(config, path)
    if asking.waits(TRYING, question):
        _poll(asking.awaited())
        return
    answer = asking.answered(TRYING, question)
    if isinstance(answer, AuditError):
        frame.refusal(answer)
    if answer is None or isinstance(answer, AuditError):
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


@st.fragment(run_every=LOOK_S)
def _poll(pending: int) -> None:
    """Say that it is being tried; draw the page anew when the answer has come."""
    if asking.awaited() < pending:
        st.rerun()
    st.markdown(f":material/hourglass_empty: Showing it {MOST} images.")
