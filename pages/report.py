"""Report: runs and sections chosen, and one file of them to hand on."""

import streamlit as st

from core.reports.build import ReportRequest
from core.screens.kit.records import Phrase, Sentence
from pages.ui import frame, selected_run, widgets
from pages.ui.report import choices

frame.begin("pages/report.py")
with frame.caught():
    choices.open_linked()
    opened = selected_run.open_run()
    split = selected_run.header(opened)
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        edition = choices.edition()
        runs = choices.runs(opened)
    splits = choices.splits(runs, split)
    reported = choices.reported(runs, splits)
    sections = choices.sections(reported, edition)
    with top:
        widgets.sentence(Sentence((Phrase("Share your results in one file."),)))
        widgets.second("It opens offline and prints on A4. Nothing is uploaded.")
    choices.draw(choices.task(ReportRequest(runs=reported, sections=sections, edition=edition)))
