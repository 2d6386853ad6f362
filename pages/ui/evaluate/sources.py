"""Where weights come from: a training, a file that is dropped, a file of the server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import streamlit as st

from core.codes import RefusalCode
from core.jobs.records import Job
from pages.ui import session, site, state, weights_source, widgets
from pages.ui.intake import server_paths
from pages.ui.jobs import queue

CONVERTER: Final = Path(__file__).parents[3] / "assets" / "convert_checkpoint.py"
OF_OTHERS: Final = (  # what no network here can be loaded from
    *(RefusalCode.FORMAT_UNKNOWN, RefusalCode.TORCHSCRIPT),
    *(RefusalCode.MODEL_INPUT, RefusalCode.MODEL_OUTPUT),
)
CONVERTED: Final = (  # what it makes plain weights of
    RefusalCode.PICKLE_GLOBAL,
    RefusalCode.TORCHSCRIPT,
)
SCRIPT: Final = CONVERTER.parent / "predict_to_file.py"
READ: Final = "PT, PTH, PTH.TAR, CKPT, safetensors or ONNX"
TITLE: Final = (
    '<h1 class="c-sentence">Evaluate a model on images and keep its predictions as a run.</h1>'
)
WHAT: Final = (
    "We load your weights safely, run them on the images you choose, and add the result to your "
    "runs."
)
PLAIN_TITLE: Final = (
    '<h1 class="c-sentence">Show a model images and see how far its answers can be trusted.</h1>'
)
PLAIN: Final = (
    "Choose a trained model and images, damaged or unfamiliar ones too. Its answers are added to "
    "your runs."
)


def title(*, explained: bool) -> None:
    """Draw the title, and what is done here, unless that has begun."""
    st.html(PLAIN_TITLE if state.plain() else TITLE)
    if explained:
        widgets.second(PLAIN if state.plain() else WHAT)


def refused() -> None:
    """Show why the last file was refused, or the last submission; what was open is still there."""
    with st.container():  # keeps what follows in its place, whatever is in it
        queue.refused()
        intake = weights_source.intake()
        intake.refused()
        if any(refusal.error.code in CONVERTED for refusal in intake.refusals):
            widgets.download(
                "Download the converter",
                lambda: CONVERTER.read_text("utf-8"),
                CONVERTER.name,
                "text/x-python",
                key="evaluate.converter",
                explanation="Run it only if you trust the file: it executes the code inside.",
            )
        if any(refusal.error.code in OF_OTHERS for refusal in intake.refusals):
            script()


def script() -> None:
    """Offer what runs a network that Candor cannot make, where its code is."""
    widgets.download(
        "Script that writes predictions",
        lambda: SCRIPT.read_text("utf-8"),
        SCRIPT.name,
        "text/x-python",
        key="evaluate.script",
        explanation="Run it beside your own code, then upload the file under Runs.",
    )


def training(trained: Sequence[Job]) -> None:
    """Offer the finished trainings, the newest at once; without one, to train."""
    with st.container(key="evaluate.at_once"):
        if not trained:
            widgets.title("No training has finished here yet")
            st.page_link(site.TRAIN.script, label="Train AdaFocal on digits", icon=site.TRAIN.icon)
            return
        widgets.title("A training that has finished")
        names = state.distinct_names({job.id: job.name for job in trained})
        with st.container(horizontal=True, vertical_alignment="bottom", key="evaluate.trained"):
            chosen = st.selectbox(
                "Training",
                list(names),
                key="evaluate.training",
                format_func=lambda job_id: names.get(job_id, job_id),
                width="stretch",
            )
            st.button(
                "Choose images",
                type="primary",
                icon=":material/play_arrow:",
                key="evaluate.take",
                on_click=_take_training,
                args=(chosen,),
            )


def file() -> None:
    """Draw the drop zone, and what it takes."""
    weights_source.intake().zone(
        "A file of weights", weights_source.take, label_visibility="collapsed"
    )
    if not state.plain():
        widgets.caption(f"{READ}.")
    if not session.sealed():
        st.markdown("On this system files are read with a time limit only.")


def _take_training(job_id: str) -> None:
    weights_source.intake().refusals.clear()
    st.query_params[weights_source.LINK] = job_id


def path() -> None:
    """Draw the way to a file that lies on the server, where that is allowed."""
    paths = server_paths("evaluate")
    if paths:
        weights_source.take_path(*paths)
        st.rerun()
