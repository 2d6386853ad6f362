"""Compare: several runs side by side, with paired intervals of their differences."""

import streamlit as st

from core.screens.compare.view import FEW, compare_view, plain_view
from core.screens.kit.differences import NamedRun
from core.screens.kit.records import Phrase, Sentence
from pages.ui import frame, html_macros, picked_runs, state, widgets
from pages.ui.compare import choices, figures, studies

frame.begin("pages/compare.py")
with frame.caught():
    runs = choices.runs()
    if len(runs) < 2:
        one = f"Compare “{runs[0].name}” with another run." if runs else "Pick two or more runs."
        html_macros.draw("headline", one)
        if runs:
            choices.siblings(runs[0])
        picked_runs.picker(runs)
        if not runs:
            choices.other_ways()
    else:
        names = [run.name for run in runs]
        frame.title(" and ".join(names) if len(names) == 2 else f"{len(names)} runs")
        top = st.container()
        folded = len(runs) > FEW
        with st.expander("Add or remove runs", key="picked") if folded else st.container():
            picked_runs.picker(runs)
        controls = st.container(horizontal=True, vertical_alignment="bottom", key="controls")
        with controls:
            splits = choices.splits(runs)
        comparison, audited = None, studies.compared(runs, splits)
        if audited is not None:
            with controls:
                metric, reference = choices.ranking(runs, audited)
                if choices.two_classes(runs):
                    audited = studies.with_benefit(runs, splits, audited, choices.threshold())
                search = choices.search(runs)
            comparison = studies.ranked(runs, splits, audited, reference)
        if audited is None or comparison is None:
            with top:
                widgets.sentence(Sentence((Phrase(f"Analysing {len(runs)} runs."),)))
            st.stop()
        named = [
            NamedRun(run.id, run.name, split, run.file_digest)
            for run, split in zip(runs, splits, strict=True)
        ]
        view = (
            plain_view(named, audited, comparison, search)
            if state.plain()
            else compare_view(named, audited, comparison, metric, search)
        )
        with top:
            widgets.eyebrow(view.eyebrow, choices.chip(runs))
            widgets.sentence(view.sentence)
            if comparison.reason:
                choices.rest(runs, audited)
        figures.abreast(view.forest, view.curves)
        figures.scores(view)
        figures.exports(view)
        figures.diagrams(view.diagrams)
        widgets.caption(view.caption)
        if not state.plain():
            figures.views(runs, splits, named, audited, view.marks, same_rows=not comparison.reason)
