"""Redraws a history when it grows, and when another one is picked."""

from collections.abc import Callable

import streamlit as st

from pages.ui import frame, visitor
from pages.ui.gamma import sources
from pages.ui.gamma import state as gamma_state
from pages.ui.gamma.cache import HistorySource
from pages.ui.visitor import open_jobs

EVERY_S = 2.0
Draw = Callable[[HistorySource, list[HistorySource]], None]


def follow(draw: Draw, source: HistorySource, offered: list[HistorySource]) -> None:
    """Draw a history by itself, and again and again while its training waits or runs."""
    (_live if source.kind in {"queued", "live"} else _still)(draw, source, offered)


@st.fragment(run_every=EVERY_S)
def _live(draw: Draw, source: HistorySource, offered: list[HistorySource]) -> None:
    """Redraw a training every two seconds; rerun the page once it starts or ends."""
    with frame.caught():
        if sources.kind(open_jobs().get(source.id)) != source.kind:
            st.rerun()
        _draw(draw, source, offered)


@st.fragment
def _still(draw: Draw, source: HistorySource, offered: list[HistorySource]) -> None:
    with frame.caught():
        _draw(draw, source, offered)


def _draw(draw: Draw, source: HistorySource, offered: list[HistorySource]) -> None:
    if st.session_state.pop(gamma_state.MOVED, False):
        st.rerun()  # the whole page: another history was picked inside the fragment
    visitor.check()
    draw(source, offered)
