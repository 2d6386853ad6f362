"""What a file of weights holds, which network it is taken for, and whether all of it fits."""

import streamlit as st

from core import codec
from core.errors import AuditError
from core.inference.preprocessing import Preprocessing
from core.models.catalogue import ONNX
from core.screens.evaluate import checkpoint
from core.screens.evaluate.checkpoint import TITLES, CheckpointFit
from pages.ui import frame, inference, state, weights_source, widgets
from pages.ui.escape import esc
from pages.ui.evaluate import form as evaluate_form
from pages.ui.evaluate import sources
from pages.ui.evaluate import state as form
from pages.ui.form import SESSION
from pages.ui.jobs import cache as cache_train
from pages.ui.weights_source import OpenedWeights

MATCHING = "matching"
WHOLE = "every tensor must fit"


def draw(opened: OpenedWeights) -> CheckpointFit | None:
    """Draw the weights and the choice of a network; return how they fit, None before that."""
    form.begin(opened)
    file = opened.file
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate.file"):
        st.markdown(f":material/draft: **{esc(file.name)}**", width="stretch")
        st.button("Change weights", key="evaluate.close", type="tertiary", on_click=_close)
    if not state.plain():
        group = file.group(str(form.value("group")))
        widgets.caption(f"{checkpoint.file_words(file)}. {checkpoint.group_words(group)}.")
    frame.notices(file.notices)
    if not state.plain():
        _inside(opened)
    explanation = "what the weights belong to" if state.plain() else WHOLE
    if opened.file.format == ONNX:
        explanation = "as the file holds it"
    widgets.title("Network", explanation)
    known = cache_train.networks() if form.value("pick") == form.OTHER else None
    evaluate_form.network(opened, known)
    if not state.plain():
        evaluate_form.shape()
    # Say whether the weights fit, once that is known
    question = form.question(opened)
    if question is None:
        st.markdown("Choose a network to match with the weights. If none fits, run your own:")
        sources.script()
        return None
    text = f"Matching with {esc(checkpoint.model_label(question['model']))}."
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
    fit = codec.read(CheckpointFit, answer.values["match"])
    if fit.ok:
        fit_words = checkpoint.plain_fit_words if state.plain() else checkpoint.fit_words
        st.markdown(f":material/check_circle: {esc(fit_words(fit))}")
        if fit.left and not state.plain():
            _list(fit, "left")
        return fit
    # Say what did not fit, with what may be meant
    other = fit.other_outputs
    remedy = "choose the network that the weights were made for"
    if other is not None:
        remedy = f"use {other} classes: that is how many outputs the file's last layer has"
    frame.refusal(AuditError("STATE_DICT", checkpoint.fit_words(fit), remedy), opened.file.name)
    with st.container(horizontal=True, vertical_alignment="center", key="evaluate.misfit"):
        if other is not None:
            st.button(
                f"Use {other} classes",
                key="evaluate.outputs",
                type="primary",
                on_click=form.put,
                args=("n_outputs", other),
            )
        widgets.save(checkpoint.all_names(fit), "tensors", "All of them, CSV")
        sources.script()
    for key in checkpoint.lists(fit):
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
            format_func=lambda key: esc(checkpoint.group_label(groups[key])),
            captions=[checkpoint.group_words(group) for group in file.groups],
            on_change=form.take_group,
            args=(opened,),
            horizontal=True,
            help="Averages over the last steps (EMA) are what most papers report.",
        )
    if file.hints:
        title = "In the file" if file.format == ONNX else "Saved beside the weights"
        with st.expander(f"{title}: {len(file.hints)}", key="evaluate.hints"):
            widgets.table(checkpoint.hints(file), key="evaluate.hints.table")


def _list(fit: CheckpointFit, key: str) -> None:
    """Draw the first names of a list, folded."""
    tensor_names = checkpoint.lists(fit)[key]
    title, explanation = TITLES[key]
    with st.expander(f"{title}: {len(tensor_names)}, {explanation}", key=f"evaluate.list.{key}"):
        st.code(checkpoint.shown(tensor_names), language=None)
