"""The figures of the Gamma page: maps with their slider, diagram with the update, panels."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.reports.table import csv_text
from core.screens.gamma import view as views
from core.screens.gamma.heatmaps import HistoryGrid
from core.screens.gamma.view import GammaDynamics, GammaView, bin_mismatch, difference
from core.screens.gamma.words import REPLAY as REPLAY_WORDS
from pages.ui import frame, html_macros, state, visitor, widgets
from pages.ui.gamma import sources
from pages.ui.gamma import state as gamma_state
from pages.ui.gamma.cache import HistorySource
from pages.ui.gamma.other_runs import Second
from pages.ui.visitor import open_jobs

EVERY_S = 2.0
_PLAY = st.components.v2.component(
    "candor_play",
    html='<button class="c-play" type="button"></button>',
    js=(Path(__file__).parents[3] / "assets" / "play.js").read_text("utf-8"),
    isolate_styles=False,
)
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


DIAGRAM_WIDTH = 400
CHIPS = {
    "queued": "Waiting in the queue",
    "live": "Training now",
    "stopped": "Stopped before its end",
}


def chip(source: HistorySource, history: GammaDynamics) -> str:
    """Return the dashed mark beside the eyebrow: what does not last, and samples, say so."""
    if history.replayed:
        return "Replay: not what it was trained with"
    sample = "Sample" if source.sample else ""
    return CHIPS.get(source.kind, sample)


def difference_of(history: GammaDynamics, beside: Second | None, at: int) -> None:
    """Say how a second history differs, if there is one, with its badge."""
    if beside is None:
        return
    second, mark = beside
    text = bin_mismatch(history, second) or difference(history, second, at)
    more = f" {REPLAY_WORDS}" if second.replayed and not history.replayed else ""
    html_macros.draw("beside", mark, text + more)


def maps(view: GammaView, history: GammaDynamics, place: tuple[int, int], *, live: bool) -> None:
    """Draw the maps with the slider beside the diagram with the update."""
    at, bin_index = place
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(key="gamma_left")
        right = st.container(key="gamma_right", width=DIAGRAM_WIDTH)
    with left:
        widgets.headed(view.heatmap.title, view.heatmap.explanation, view.heatmap)
        with st.container(key="gamma_maps"):
            widgets.figure(view.heatmap, select=True, titled=False)
            _scrubber(history.grid, at, live=live)
        with st.container(horizontal=True, vertical_alignment="center", key="gamma_play"):
            _play(history.grid, at)
            widgets.key(view.key)
    with right:
        widgets.figure(view.diagram, select=True)
        if not state.plain():
            update = view.update
            widgets.title(f"The update here, bin {bin_index + 1}")
            lines = (update.equation, *update.steps) if update.equation else update.steps
            html_macros.draw("update", lines)
            if history.learned.note:
                widgets.caption(history.learned.note)


def _scrubber(grid: HistoryGrid, at: int, *, live: bool) -> None:
    """Draw the box round the chosen epoch, and the slider that moves it."""
    html_macros.draw("epoch_box", at, grid.n_updates)
    if grid.n_updates < 2:
        widgets.caption("This history has one epoch.")
        return
    # A live run that is followed has a new slider with each new epoch: of an old one the browser
    # may still send where it stood, which would read as a choice of the user.
    followed = live and gamma_state.chosen("epoch") is None
    key = f"widget.epoch.{grid.n_updates}" if followed else "widget.epoch"
    st.session_state[key] = at
    with st.container(key="gamma_scrub"):
        st.select_slider(
            gamma_state.words().terms.epoch,
            range(grid.n_updates),
            key=key,
            format_func=lambda place: grid.moment(place),
            on_change=lambda: gamma_state.keep_epoch(grid, st.session_state[key]),
            label_visibility="collapsed",
        )


def _play(grid: HistoryGrid, at: int) -> None:
    """Draw the button that goes through the epochs, from the first where the last is shown."""
    if grid.n_updates > 1:
        _PLAY(
            key="gamma.play",
            data={"at": at, "last": grid.n_updates - 1},
            width="content",
            on_step_change=lambda: gamma_state.step(
                grid, **dict(st.session_state["gamma.play"]["step"])
            ),
        )


def panels(view: GammaView) -> None:
    """Draw every bin by itself over the epochs, and how training and validation agree."""
    with st.container(key="gamma_bins"):
        widgets.figure(view.panels)
    if view.correspondence:
        with st.container(key="gamma_train"):
            widgets.figure(view.correspondence)


def download(grid: HistoryGrid) -> None:
    """Offer the whole history as a file."""
    widgets.download(
        "Whole history, CSV",
        lambda: csv_text(views.whole_table(grid)),
        "candor_gammas.csv",
        "text/csv",
        key="gamma.whole",
        explanation="Epochs and bins are numbered as in the run. "
        "This page can read the file again.",
    )
