"""All findings of a multi-label run: drawn in full or in plain words."""

import streamlit as st

from core import published
from core.errors import Refused
from core.predictions import Task
from core.views.clinic_findings import EDGE, KEY, TITLE, FindingsView, explanation, findings_view
from pages.ui import audit, cache, cache_clinic, clinic, drafts, frame, state, widgets
from pages.ui.cache_clinic import Ask

SMALL_WIDTH = 222


def draw(run: cache.Run) -> None:
    """Draw the view of all findings of the open run."""
    top = st.container()
    split = clinic.split_of(run)
    rows = cache_clinic.rows(run, split)
    if rows.task is not Task.MULTILABEL:
        raise Refused(
            "CLASSES",
            "this run has one answer a row, not findings that can be present together",
            "open a run with many labels, or the view One finding for two classes",
        )
    source = clinic.source(run, rows, split)
    found = cache_clinic.answer(Ask(run, split, "findings"))
    if found is None:
        with top:
            widgets.eyebrow(f"Chest X-ray · {run.name}", audit.chip(run))
            st.html('<h1 class="c-sentence">Looking at every finding.</h1>')
        return
    view = findings_view(
        source, found, published.published(dataset="chestxray14"), plain=state.plain()
    )
    with top:
        widgets.eyebrow(view.eyebrow, audit.chip(run))
        widgets.sentence(view.sentence)
        drafts.bar(run)
        widgets.strip(view.numbers)
        frame.notices(found.audit.notices)
    _small(view)
    how = "choose one here" if state.plain() else "click a name above, or choose one here,"
    widgets.title("Every finding", f"{how} to see it alone")
    _chooser(source.findings)
    widgets.scores("Every finding", view.heads, view.rows)
    widgets.save(view.table, "findings", "Findings, CSV")
    for note in view.notes:
        widgets.caption(note)
    widgets.caption(view.caption)


def _small(view: FindingsView) -> None:
    if not view.small:
        return
    widgets.title(TITLE, explanation())
    with st.container(horizontal=True, key="clinic_small"):
        for one in view.small:
            with st.container(key=f"clinic_small.{one.index}", width=SMALL_WIDTH, gap="xxsmall"):
                st.button(
                    one.name,
                    type="tertiary",
                    key=f"clinic.open.{one.index}",
                    help="Show this finding alone",
                    on_click=clinic.open_finding,
                    args=(one.index,),
                )
                widgets.caption(one.note)
                widgets.figure(one.card, titled=False, more=False)
    widgets.key(KEY)
    widgets.caption(EDGE)
    widgets.downloads(view.together)


def _chooser(names: tuple[str, ...]) -> None:
    st.selectbox(
        "Open one finding",
        range(len(names)),
        index=None,
        format_func=lambda k: names[k].replace("_", " "),
        placeholder="Choose a finding",
        key="clinic.choose",
        on_change=_chosen,
        width=260,
        label_visibility="collapsed",
    )


def _chosen() -> None:
    index = st.session_state.get("clinic.choose")
    if index is not None:
        clinic.open_finding(int(index))
