"""All findings of a multi-label run: drawn in full or in plain words."""

import streamlit as st

from core import published
from core.codes import NoticeCode
from core.predictions import Task
from core.reports.html import PageView
from core.screens.kit.records import Table
from core.screens.xray import findings
from core.screens.xray.findings import (
    TITLE,
    findings_view,
    order,
    plain_findings_view,
)
from core.screens.xray.words import BANNER, DOTS, ClinicSource
from pages.ui import cache, controls, drafts, frame, html_macros, state, widgets
from pages.ui.compute import computed
from pages.ui.escape import esc
from pages.ui.xray import shared

NO_FINDINGS = (
    "This run has one answer among several classes, not findings. Open a run with many labels. A "
    "run with two classes counts as one finding."
)
SMALL_WIDTH = 192
FITTED = "temperatures"  # whether they are fitted, in the link


def draw(run: cache.Run) -> None:
    """Draw the view of all findings of the open run."""
    split = controls.split_of(run)
    rows = cache.predictions(run, split)
    if rows.task is not Task.MULTILABEL:
        shared.nothing(NO_FINDINGS)
        return
    top = st.container()
    controls.splits(run)
    source = shared.source(run, rows, split)
    statistics = shared.all_findings(run, split).computed()
    if statistics is None:
        with top:
            widgets.eyebrow(f"Chest X-ray · {run.name}", controls.chip(run))
            html_macros.draw("headline", "Analysing every finding.")
        return
    view = (
        plain_findings_view(source, statistics)
        if state.plain()
        else findings_view(source, statistics, published.published(dataset="chestxray14"))
    )
    with top:
        widgets.eyebrow(view.eyebrow, controls.chip(run))
        widgets.sentence(view.sentence)
        drafts.bar(run)
        widgets.strip(view.numbers)
        grouped = NoticeCode.GROUPED  # the sentence says it, of films
        frame.notices(tuple(n for n in statistics.audit.notices if n.code != grouped))
    if view.small:
        widgets.headed(TITLE, view.together.explanation, view.together)
        with st.container(horizontal=True, gap="small", key="clinic_small"):
            for diagram in view.small:
                with st.container(
                    key=f"clinic_small.{diagram.index}", width=SMALL_WIDTH, gap="xxsmall"
                ):
                    st.button(
                        f"**{esc(diagram.name)}** {diagram.note}",
                        type="tertiary",
                        key=f"clinic.open.{diagram.index}",
                        help="Show this finding alone",
                        on_click=shared.open_finding,
                        args=(diagram.index,),
                    )
                    widgets.figure(diagram.card, titled=False)
        widgets.key(DOTS)
        widgets.caption(view.legend)
    hint = "" if state.plain() else "click a name above, or choose one here, to see it alone"
    widgets.title("Every finding", hint)
    st.selectbox(
        "Open one finding",
        range(len(source.findings)),
        index=None,
        format_func=lambda k: source.findings[k].replace("_", " "),
        placeholder="Choose a finding",
        key="clinic.choose",
        on_change=_chosen,
        width=260,
        label_visibility="collapsed",
    )
    widgets.scores("Every finding", view.table.heads, view.table.written())
    widgets.save(view.table.file, "findings", "Findings, CSV")
    for note in view.notes:
        widgets.caption(note)
    widgets.caption(view.caption)
    more = () if state.plain() else _temperatures(run, split, source, order(statistics))
    shared.export(
        PageView(
            eyebrow=view.eyebrow,
            banners=(BANNER, source.noise),
            sentence=view.sentence,
            numbers=view.numbers,
            paragraphs=view.notes,
            cards=tuple(diagram.card for diagram in view.small),
            tables=(("Every finding", view.table.file), *more),
            caption=view.caption,
        )
    )


def _temperatures(
    run: cache.Run, split: str, source: ClinicSource, ranked: tuple[int, ...]
) -> tuple[tuple[str, Table], ...]:
    """Fit both temperatures of every finding when asked; return what is shown."""
    widgets.title(
        "A temperature for each finding",
        "fitted on some films, reported on others, ECE before and after",
    )
    steps = {label: shared.temperature(run, split, label) for label in ranked}
    chosen = state.choice(FITTED, ["no", "yes"], "no") == "yes"
    if not chosen and not all(step.known for step in steps.values()):
        st.button("Fit temperatures", key="clinic.heat", on_click=_fit)
        return ()
    fitted = computed(list(steps.values()))
    temperatures = {label: fitted[step] for label, step in steps.items() if step in fitted}
    if not temperatures:
        return ()
    widgets.second(findings.temperature_summary(temperatures))
    widgets.scores(
        "Temperatures", findings.TEMPERATURE_HEADS, findings.temperature_rows(source, temperatures)
    )
    caption = findings.temperature_caption(source, shared.fit_parts(run, split))
    table = findings.temperature_table(source, temperatures, caption)
    widgets.save(table, "temperatures", "Temperatures, CSV")
    widgets.caption(caption)
    return (("Temperatures", table),)


def _fit() -> None:
    st.session_state[f"set.{FITTED}"] = st.query_params[FITTED] = "yes"


def _chosen() -> None:
    index = st.session_state.get("clinic.choose")
    if index is not None:
        shared.open_finding(int(index))
