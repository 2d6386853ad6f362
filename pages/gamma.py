"""Gamma dynamics: what a loss with gammas by bin learned, epoch by epoch."""

import streamlit as st

from core.screens.gamma.view import gamma_view
from core.screens.kit.records import Phrase, Sentence
from pages.ui import frame, intake, state, widgets
from pages.ui.gamma import figures
from pages.ui.gamma import state as gamma_state


def draw(source: gamma_state.HistorySource, offered: list[gamma_state.HistorySource]) -> None:
    """Draw a history: a training under way, one that has ended, or a replay of one."""
    if source.job and gamma_state.written(source) is None:
        widgets.eyebrow("Gamma dynamics · " + source.label)
        widgets.sentence(Sentence((Phrase("No epoch has finished yet."),)))
        widgets.second("γ is 1 in every bin until the first epoch ends.")
        return
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        figures.history(source, offered)
        look = figures.look(source)
        against = figures.against(source, look, offered)
        bin_place = st.container(width="content")
    history, second = figures.shown(source, look, against, offered)
    if history is None:
        with top:
            widgets.sentence(Sentence((Phrase("The replay is still being computed."),)))
        return
    at, bin_index = gamma_state.place(history.grid)
    words = gamma_state.words()
    view = gamma_view(history, at, bin_index, words, figures.drawn_over(history, second))
    with top:
        widgets.eyebrow(view.eyebrow, figures.chip(source, history))
        widgets.sentence(view.sentence)
        if state.plain():
            widgets.second(words.about)
        widgets.strip(view.numbers)
        with st.container(key="gamma_at"):
            for text in view.caveats:
                widgets.second(text)
            figures.difference_of(history, second, at)
    with bin_place:
        figures.bin_of(history.grid, bin_index)
    figures.maps(view, history, (at, bin_index), source.id)
    if not state.plain():
        figures.panels(view)
    with st.container(key="gamma_foot"):
        widgets.caption(view.caption)
    figures.download(history.grid)


frame.begin("pages/gamma.py")
with frame.caught():
    intake.settle_history(gamma_state.open_source)
    offered = [*gamma_state.live(), *gamma_state.kept()]
    source_id, source = gamma_state.opened()
    if source is None:
        gamma_state.nothing(source_id, offered)
    else:
        frame.title(source.label)
        figures.follow(draw, source, offered)
    intake.history_zone()
