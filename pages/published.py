"""Published: the papers' tables, doubts shown, and runs of one's own beside them."""

import streamlit as st

from core.screens.published.view import published_view
from core.screens.published.words import PLAIN, TECHNICAL
from pages.ui import frame, state, visitor, widgets
from pages.ui.published import cache, choices, figures

frame.begin("pages/published.py")
with frame.caught():
    words = PLAIN if state.plain() else TECHNICAL
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        filters = choices.filters(words)
    figure, beside = st.container(), st.container()
    with beside:
        runs = choices.beside(filters)
    with figure:
        own = cache.own_runs(runs, filters.metric)
    view = published_view(filters, words, own, cache.trained())
    if view is None:
        with top:
            figures.empty()
    else:
        for run_id in view.trained:
            visitor.note(run_id)
        with top:
            widgets.eyebrow(view.eyebrow)
            widgets.sentence(view.sentence)
        if view.figure is not None:
            with figure:
                widgets.figure(view.figure)
        with beside:
            figures.beside(view)
        figures.table(view)
        figures.settings(view)
