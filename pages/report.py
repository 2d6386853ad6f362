"""Report: runs and sections chosen, and one file of them to hand on."""

import streamlit as st

from core.reports.build import ReportRequest
from core.screens.kit.records import Phrase, Sentence
from pages.ui import frame, report, selected_runs, widgets

frame.begin("pages/report.py")
with frame.caught():
    report.open_linked()
    opened = selected_runs.open_run()
    split = selected_runs.header(opened)
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        edition = report.edition()
        runs = report.runs(opened)
    splits = report.splits(runs, split)
    reported = report.reported(runs, splits)
    sections = report.sections(reported, edition)
    with top:
        widgets.sentence(Sentence((Phrase("Share your results in one file."),)))
        widgets.second("It opens offline and prints on A4. Nothing is uploaded.")
    report.draw(report.task(ReportRequest(runs=reported, sections=sections, edition=edition)))
