"""Published: the papers' tables, doubts shown, and runs of one's own beside them."""

import streamlit as st

from core.screens.published.lines import PLAIN, TECHNICAL, numbers
from core.screens.published.view import published_view
from pages.ui import frame, markup, published, state, visitor, widgets

frame.begin("pages/published.py")
with frame.caught():
    words = PLAIN if state.plain() else TECHNICAL
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        filters = published.filters(words)
    shown = numbers(filters)
    figure, beside = st.container(), st.container()
    with beside:
        runs = published.pick_own_runs(filters)
    with figure:
        drawn = [row for row in shown if row.posthoc in words.posthoc]
        own = published.own_runs(runs, filters.metric, drawn)
    view = published_view(filters, words, own, published.trained(shown))
    if view is None:
        with top:
            widgets.eyebrow("Published")
            markup.draw("headline", "No published number fits these filters.")
            st.button(
                "Clear filters", key="published.clear", type="primary", on_click=published.clear
            )
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
            for mark, text in view.beside:
                markup.draw("beside", mark, text)
            if view.remark:
                widgets.caption(view.remark)
        widgets.title("In the papers")
        widgets.scores("Published numbers", view.table.heads, view.table.written())
        widgets.save(view.file, "published", "All numbers, CSV")
        widgets.caption(view.caption)
        if not state.plain():
            published.reproduce(filters)
        if n := len(view.settings.rows):
            with st.expander(f"Hyper-parameters in the papers: {n}", key="published.settings"):
                widgets.table(view.settings, key="table.settings")
                widgets.save(view.settings, "published_settings")
