"""Report: runs and sections chosen, and one file of them to hand on."""

import streamlit as st

from core.reports.build import ReportRequest
from core.screens.kit.records import Phrase, Sentence
from pages.ui import controls, frame, selected_run, widgets
from pages.ui.report import choices

frame.begin("pages/report.py")
with frame.caught():
    opened = selected_run.open_run()
    top = st.container()
    runs = choices.runs(opened)
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        splits = choices.splits(runs)
        edition = choices.edition()
    reported = choices.reported(runs, splits)
    sections = choices.sections(reported, edition)
    with top:
        one = len(runs) == 1
        reported_on = runs[0].name if one else f"{len(runs)} runs"
        widgets.eyebrow(f"Report · {reported_on}", controls.chip(runs[0]) if one else "")
        widgets.sentence(Sentence((Phrase("Share your results in one file."),)))
        widgets.second("It opens offline and prints on A4. Nothing is uploaded.")
    choices.draw(choices.task(ReportRequest(runs=reported, sections=sections, edition=edition)))
