"""Post-hoc: what calibrators would do to one run, fitted on one part and judged on another."""

import streamlit as st

from core.codes import NoticeCode
from core.predictions import Task
from core.screens.kit.differences import NamedRun
from core.screens.kit.records import Phrase, Sentence
from core.screens.posthoc.view import plain_view, posthoc_view
from core.studies.posthoc import NONE
from core.studies.published import protocol_of
from pages.ui import drafts, frame, selected_runs, state, widgets
from pages.ui.posthoc import figures, studies

frame.begin("pages/posthoc.py")
with frame.caught():
    old = st.query_params.pop("test", "")  # the split had a name of its own here
    if old:
        st.query_params["split"] = old
    run = selected_runs.open_run()
    split = selected_runs.header(run)
    task = run.task
    figures.kept(run)
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        row_choice = studies.rows(run, split)
        chosen, paper = studies.fit_settings(task)
        actions = st.container(horizontal=True, width="content", key="posthoc.actions")
    place = st.container()
    none = studies.uncalibrated(run, row_choice, chosen.objective)
    with place:
        methods = {
            method: protocol_of(paper, method, chosen.objective) if paper else chosen
            for method in studies.methods(task, none, paper)
        }
    if none is None:
        with top:
            widgets.sentence(Sentence((Phrase(f"Analysing “{run.name}”."),)))
    else:
        results = studies.evaluated(run, row_choice, methods, chosen.objective)
        fits = [result.fit for result in results.values() if result.fit]
        judged = {method: result.judged for method, result in results.items() if result.judged}
        rows = studies.parts(run, row_choice)
        named = NamedRun(run.id, run.name, rows.test_name, run.file_digest)
        view = (plain_view if state.plain() else posthoc_view)(
            named, rows, fits, {NONE: none} | judged
        )
        with top:
            widgets.eyebrow(view.eyebrow)
            fitting = Sentence((Phrase("Fitting the first method."),))
            widgets.sentence(view.sentence if results else fitting)
            drafts.bar(run, primary=False)
            notices = (*rows.notices, *none.compared.audit.notices)
            frame.notices(  # the cut stands over the sentence
                tuple(note for note in notices if note.code != NoticeCode.CUT)
            )
        figures.diagrams(view.diagrams)
        widgets.scores("Scores of the methods", view.table.heads, view.table.written())
        widgets.noted(view.caption, view.table.file, "posthoc", "All numbers, CSV")
        if not state.plain() and len(results) == len(methods):
            with actions:
                figures.keep_as_run(run, fits, row_choice)
            if task not in {Task.MULTILABEL, Task.TOP_LABEL}:
                figures.temperature_handle(run, row_choice, fits)
            if task is not Task.TOP_LABEL:
                figures.temperatures(run, row_choice, chosen.objective, task)
            figures.meanings(fits, task)
            figures.take_away(run, fits, rows)
