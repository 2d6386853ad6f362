"""All findings of a multi-label run: drawn in full or in plain words."""

import streamlit as st

from core import published
from core.predictions import Task
from core.reports.html import PageView
from core.views import clinic_heat as heat
from core.views.clinic_findings import (
    KEY,
    TITLE,
    FindingsView,
    findings_view,
    order,
)
from core.views.clinic_words import BANNER, ClinicSource
from core.views.records import Table
from pages.ui import audit, cache, cache_clinic, clinic, drafts, frame, state, widgets
from pages.ui.cache_clinic import ClinicQuery
from pages.ui.escape import esc

NO_FINDINGS = (
    "This run has one answer a row, not findings that can be present together. Open a run with "
    "many labels; a run with two classes can be looked at as one finding."
)
SMALL_WIDTH = 192
FITTED = "temperatures"  # whether they are fitted, in the link


def draw(run: cache.Run) -> None:
    """Draw the view of all findings of the open run."""
    split = audit.split_of(run)
    rows = cache_clinic.rows(run, split)
    if rows.task is not Task.MULTILABEL:
        clinic.nothing(NO_FINDINGS)
        return
    top = st.container()
    clinic.splits(run)
    source = clinic.source(run, rows, split)
    found = cache_clinic.answer(ClinicQuery(run, split, "findings"))
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
    more = () if state.plain() else _temperatures(run, split, source, order(found))
    clinic.export(_sheet(source, view, more))


def _sheet(
    source: ClinicSource, view: FindingsView, more: tuple[tuple[str, Table], ...]
) -> PageView:
    return PageView(
        view.eyebrow,
        (BANNER, source.noise),
        view.sentence,
        view.numbers,
        view.notes,
        tuple(one.card for one in view.small),
        (("Every finding", view.table), *more),
        view.caption,
    )


def _temperatures(
    run: cache.Run, split: str, source: ClinicSource, ranked: tuple[int, ...]
) -> tuple[tuple[str, Table], ...]:
    """Fit both temperatures of every finding when asked; return what is shown."""
    widgets.title(
        "A temperature for each finding",
        "fitted on some films, reported on others, ECE before and after",
    )
    asked = [ClinicQuery(run, split, "heated", k) for k in ranked]
    wanted = state.choice(FITTED, ["no", "yes"], "no") == "yes"
    if not wanted and not all(map(cache_clinic.known, asked)):
        st.button("Fit temperatures", key="clinic.heat", on_click=_fit)
        return ()
    heated = {
        ask.label: found
        for ask, found in cache_clinic.answers(asked).items()
        if ask.label is not None
    }
    if not heated:
        return ()
    widgets.second(heat.summary(heated))
    widgets.scores("Temperatures", heat.HEADS, heat.rows(source, heated))
    said = heat.caption(source, cache_clinic.parts(run, split))
    table = heat.table(source, heated, said)
    widgets.save(table, "temperatures", "Temperatures, CSV")
    widgets.caption(said)
    return (("Temperatures", table),)


def _fit() -> None:
    st.session_state[f"set.{FITTED}"] = st.query_params[FITTED] = "yes"


def _small(view: FindingsView) -> None:
    if not view.small:
        return
    widgets.title(TITLE, view.together.explanation)
    with st.container(horizontal=True, gap="small", key="clinic_small"):
        for one in view.small:
            with st.container(key=f"clinic_small.{one.index}", width=SMALL_WIDTH, gap="xxsmall"):
                st.button(
                    f"**{esc(one.name)}** {one.note}",
                    type="tertiary",
                    key=f"clinic.open.{one.index}",
                    help="Show this finding alone",
                    on_click=clinic.open_finding,
                    args=(one.index,),
                )
                widgets.figure(one.card, titled=False, more=False)
    widgets.key(KEY)
    widgets.caption(view.legend)
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
