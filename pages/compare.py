"""Compare: several runs side by side, with paired intervals of their differences."""

import streamlit as st

from core.screens.compare.view import FEW, compare_view, plain_view
from core.screens.kit.differences import NamedRun
from core.screens.kit.records import Phrase, Sentence
from pages.ui import compare, frame, markup, selected_runs, state, widgets

frame.begin("pages/compare.py")
with frame.caught():
    runs = compare.runs()
    if len(runs) < 2:
        one = f"Compare “{runs[0].name}” with another run." if runs else "Pick two or more runs."
        markup.draw("headline", one)
        if runs:
            compare.siblings(runs[0])
        selected_runs.picker(runs)
        if not runs:
            compare.other_ways()
    else:
        names = [run.name for run in runs]
        frame.title(" and ".join(names) if len(names) == 2 else f"{len(names)} runs")
        top = st.container()
        folded = len(runs) > FEW
        with st.expander("Add or remove runs", key="picked") if folded else st.container():
            selected_runs.picker(runs)
        controls = st.container(horizontal=True, vertical_alignment="bottom", key="controls")
        with controls:
            splits = compare.splits(runs)
        comparison, audited = None, compare.compared(runs, splits)
        if audited is not None:
            with controls:
                metric, reference = compare.ranking(runs, audited)
                if compare.two_classes(runs):
                    audited = compare.with_benefit(runs, splits, audited, compare.threshold())
                search = compare.search(runs)
            comparison = compare.ranked(runs, splits, audited, reference)
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
            widgets.eyebrow(view.eyebrow, compare.chip(runs))
            widgets.sentence(view.sentence)
            if comparison.reason:
                compare.rest(runs, audited)
        compare.abreast(view.forest, view.curves)
        compare.scores(view)
        compare.exports(view)
        compare.diagrams(view.diagrams)
        widgets.caption(view.caption)
        if not state.plain():
            compare.views(runs, splits, named, audited, view.marks, same_rows=not comparison.reason)
