"""Weights: where they come from, what they hold, and the network that all of them must fit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import streamlit as st

from core import codec
from core.checkpoints.names import Match
from core.codes import RefusalCode
from core.errors import AuditError
from core.inference.preprocessing import Preprocessing
from core.jobs.records import Job
from core.models.catalogue import ONNX
from core.screens import evaluate
from core.screens.evaluate import TITLES
from pages.ui import frame, inference, session, site, state, weights_source, widgets
from pages.ui.escape import esc
from pages.ui.evaluate import form as evaluate_form
from pages.ui.evaluate import state as form
from pages.ui.form import SESSION
from pages.ui.intake import server_paths
from pages.ui.jobs import machine, queue
from pages.ui.weights_source import OpenedWeights

CONVERTER: Final = Path(__file__).parents[3] / "assets" / "convert_checkpoint.py"
OF_OTHERS: Final = (  # what no network here can be loaded from
    *(RefusalCode.FORMAT_UNKNOWN, RefusalCode.TORCHSCRIPT),
    *(RefusalCode.MODEL_INPUT, RefusalCode.MODEL_OUTPUT),
)
CONVERTED: Final = (RefusalCode.PICKLE_GLOBAL, RefusalCode.TORCHSCRIPT)  # to plain weights
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
MATCHING = "matching"
WHOLE = "every tensor must fit"


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


def match(opened: OpenedWeights) -> Match | None:
    """Draw the weights and the choice of a network; return how they fit, None before that."""
    form.begin(opened)
    file = opened.file
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate.file"):
        st.markdown(f":material/draft: **{esc(file.name)}**", width="stretch")
        st.button("Change weights", key="evaluate.close", type="tertiary", on_click=_close)
    if not state.plain():
        group = file.group(str(form.value("group")))
        widgets.caption(f"{evaluate.file_words(file)}. {evaluate.group_words(group)}.")
    frame.notices(file.notices)
    if not state.plain():
        _inside(opened)
    explanation = "what the weights belong to" if state.plain() else WHOLE
    if opened.file.format == ONNX:
        explanation = "as the file holds it"
    widgets.title("Network", explanation)
    known = machine.networks() if form.value("pick") == form.OTHER else None
    evaluate_form.network(opened, known)
    if not state.plain():
        evaluate_form.shape()
    # Say whether the weights fit, once that is known
    question = form.question(opened)
    if question is None:
        st.markdown("Choose a network to match with the weights. If none fits, run your own:")
        script()
        return None
    text = f"Matching with {esc(evaluate.model_label(question['model']))}."
    task = inference.query(
        "evaluate.matching", MATCHING, question, text, program=question["model"] == ONNX
    )
    answer = task.wait()
    if answer is None:
        return None
    # Take over what the network wants to be shown, unless that was changed by hand
    about = repr([question[key] for key in ("model", "channels", "size", "folder")])
    if not st.session_state.get(form.EDITED) and st.session_state.get(form.SHOWN_FOR) != about:
        settings = codec.read(Preprocessing, answer.values["settings"], "preprocessing")
        form.fill_shown(settings)
        st.session_state[form.SHOWN_FOR] = about
    fit = codec.read(Match, answer.values["match"])
    if fit.ok:
        fit_words = evaluate.plain_fit_words if state.plain() else evaluate.fit_words
        st.markdown(f":material/check_circle: {esc(fit_words(fit))}")
        if fit.left and not state.plain():
            _list(fit, "left")
        return fit
    # Say what did not fit, with what may be meant
    other = fit.other_outputs
    remedy = "choose the network that the weights were made for"
    if other is not None:
        remedy = f"use {other} classes: that is how many outputs the file's last layer has"
    frame.refusal(AuditError("STATE_DICT", evaluate.fit_words(fit), remedy), opened.file.name)
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate.misfit"):
        if other is not None:
            st.button(
                f"Use {other} classes",
                key="evaluate.outputs",
                type="primary",
                on_click=form.put,
                args=("n_outputs", other),
            )
        widgets.save(evaluate.all_names(fit), "tensors", "All of them, CSV")
        script()
    for key in evaluate.lists(fit):
        _list(fit, key)
    return fit


def _close() -> None:
    weights_source.forget()
    st.query_params.pop(weights_source.LINK, None)


def _inside(opened: OpenedWeights) -> None:
    """Draw the groups, one of which is evaluated, and what was saved beside them."""
    file = opened.file
    groups = {group.key: group for group in file.groups}
    if len(groups) > 1:
        st.radio(
            "Weights",
            list(groups),
            key=form.key("group"),
            persist_state=SESSION,
            format_func=lambda key: esc(evaluate.group_label(groups[key])),
            captions=[evaluate.group_words(group) for group in file.groups],
            on_change=form.take_group,
            args=(opened,),
            horizontal=True,
            help="Averages over the last steps (EMA) are what most papers report.",
        )
    if file.hints:
        title = "In the file" if file.format == ONNX else "Saved beside the weights"
        with st.expander(f"{title}: {len(file.hints)}", key="evaluate.hints"):
            widgets.table(evaluate.hints(file), key="evaluate.hints.table")


def _list(fit: Match, key: str) -> None:
    """Draw the first names of a list, folded."""
    tensor_names = evaluate.lists(fit)[key]
    title, explanation = TITLES[key]
    with st.expander(f"{title}: {len(tensor_names)}, {explanation}", key=f"evaluate.list.{key}"):
        st.code(evaluate.shown(tensor_names), language=None)
