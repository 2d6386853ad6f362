"""Chest X-ray: what a model says of a film, where that comes from, and what it is worth."""

import streamlit as st

from core.screens.kit import words
from core.screens.xray.film import NO_LABELS
from core.screens.xray.words import LABELS_MAY_ERR
from pages.ui import frame, open_runs, selected_runs, widgets
from pages.ui.xray import film, findings, study

frame.begin("pages/xray.py")
with frame.caught():
    banner = st.empty()
    study.banner(banner, NO_LABELS)
    with st.container(key="xray_view"):
        view = widgets.segments(
            "View", study.VIEW, list(study.VIEW_NAMES), study.FILM, study.VIEW_NAMES
        )
    last = study.last_view(view)
    if view == study.FILM:
        if last in (study.ALL, study.ONE):
            study.to_film()
        study.banner(banner, film.draw())
    else:
        study.banner(banner, LABELS_MAY_ERR)  # until it is known whose labels these are
        run = selected_runs.open_run(study.SAMPLE)
        rows = open_runs.predictions(run, run.split)
        source = study.source(run, rows, run.split)
        study.banner(banner, source.noise)
        if source.of_films:  # as its findings tell, where its data are not known
            frame.set_row_noun(*words.FILM_DATA)
        if last == study.FILM:
            study.from_film(rows.class_names)
        st.session_state[study.NAMES] = rows.class_names
        draw = findings.draw_all if view == study.ALL else findings.draw_one
        draw(run)
