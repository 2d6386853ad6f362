"""Runs: the first screen. Drop a file, open a sample, or pick a run."""

import streamlit as st

from pages.ui import frame, widgets
from pages.ui.runs import table as library
from pages.ui.runs import upload

frame.begin("pages/library.py")
with frame.caught():
    widgets.eyebrow("Runs")
    st.html(
        '<h1 class="c-sentence">Drop a file of logits or probabilities. '
        "In a few seconds you read how far its certainty can be trusted.</h1>"
    )
    upload.draw()
    library.table()
