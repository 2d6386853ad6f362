"""Chest X-ray: what a model says of a film, where that comes from, and what it is worth."""

import streamlit as st

from core.screens.kit import words
from core.screens.xray.film import NO_LABELS
from core.screens.xray.words import LABELS_MAY_ERR
from pages.ui import frame, open_runs, selected_runs, widgets
from pages.ui.xray import film, findings, shared

frame.begin("pages/xray.py")
with frame.caught():
    banner = st.empty()
    shared.banner(banner, NO_LABELS)
    with st.container(key="xray_view"):
        view = widgets.segments(
            "View", shared.VIEW, list(shared.VIEW_NAMES), shared.FILM, shared.VIEW_NAMES
        )
    last = shared.last_view(view)
    if view == shared.FILM:
        if last in (shared.ALL, shared.ONE):
            shared.to_film()
        shared.banner(banner, film.draw())
    else:
        shared.banner(banner, LABELS_MAY_ERR)  # until it is known whose labels these are
        run = selected_runs.open_run(shared.SAMPLE)
        rows = open_runs.predictions(run, run.split)
        source = shared.source(run, rows, run.split)
        shared.banner(banner, source.noise)
        if source.of_films:  # as its findings tell, where its data are not known
            frame.set_row_noun(*words.FILM_DATA)
        if last == shared.FILM:
            shared.from_film(rows.class_names)
        st.session_state[shared.NAMES] = rows.class_names
        draw = findings.draw_all if view == shared.ALL else findings.draw_one
        draw(run)
