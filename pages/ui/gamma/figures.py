"""The figures of the Gamma page: maps with their slider, diagram with the update, panels."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.reports.table import csv_text
from core.screens.gamma import view as views
from core.screens.gamma.figures import HistoryGrid
from core.screens.gamma.view import GammaDynamics, GammaView, bin_mismatch, difference
from core.screens.gamma.words import REPLAY as REPLAY_WORDS
from pages.ui import frame, html_macros, live_slider, state, visitor, widgets
from pages.ui.gamma import cache
from pages.ui.gamma import state as gamma_state
from pages.ui.gamma.cache import HistorySource
from pages.ui.gamma.choices import Second
from pages.ui.live_slider import Dragged, MovedFigure, columns
from pages.ui.visitor import open_jobs

EVERY_S = 2.0
_PLAY = st.components.v2.component(
    "candor_play",
    html='<button class="c-play" type="button"></button>',
    js=(Path(__file__).parents[3] / "assets" / "play.js").read_text("utf-8"),
    isolate_styles=False,
)
SLIDER = ".st-key-gamma_scrub input"
Draw = Callable[[HistorySource, list[HistorySource]], None]


def follow(draw: Draw, source: HistorySource, offered: list[HistorySource]) -> None:
    """Draw a history by itself, and again and again while its training waits or runs."""
    (_live if source.kind in {"queued", "live"} else _still)(draw, source, offered)


@st.fragment(run_every=EVERY_S)
def _live(draw: Draw, source: HistorySource, offered: list[HistorySource]) -> None:
    """Redraw a training every two seconds; rerun the page once it starts or ends."""
    with frame.caught():
        if gamma_state.kind(open_jobs().get(source.id)) != source.kind:
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


def maps(view: GammaView, history: GammaDynamics, place: tuple[int, int], source_id: str) -> None:
    """Draw the maps with the slider beside the diagram with the update.

    The slider and Play of another history are others, so that none goes on with its epochs.
    """
    at, bin_index = place
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(key="gamma_left")
        right = st.container(key="gamma_right", width=DIAGRAM_WIDTH)
    with left:
        widgets.headed(view.heatmap.title, view.heatmap.explanation, view.heatmap)
        with st.container(key="gamma_maps"):
            widgets.figure(view.heatmap, select=True, titled=False)
            moved = _moved(history, bin_index)
            # The box round the chosen epoch, and the slider that moves it
            grid = history.grid
            html_macros.draw("epoch_box", at, grid.n_updates)
            if grid.n_updates < 2:
                widgets.caption("This history has one epoch.")
            else:
                with st.container(key="gamma_scrub"):
                    live_slider.handle(
                        gamma_state.words().terms.epoch,
                        f"epoch.{source_id}",
                        at,
                        moved,
                        "",
                        lambda epoch: gamma_state.keep_epoch(grid, epoch),
                    )
        with st.container(horizontal=True, vertical_alignment="center", key="gamma_play"):
            if moved.figures:
                _PLAY(key=f"gamma.play.{source_id}", data={"slider": SLIDER}, width="content")
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


def _moved(history: GammaDynamics, bin_index: int) -> Dragged:
    """Return what the browser moves with the epoch; of a long history only its number."""
    grid = history.grid
    steps = cache.at_epochs(history, plain=state.plain())
    written = [grid.moment(at) for at in range(grid.n_updates)]
    if len(steps) < 2:
        return Dragged(written=written, said=written, texts={})
    box = [f".st-key-gamma_maps {{ --at: {at}; --of: {len(steps)} }}" for at in range(len(steps))]
    texts = {
        ".st-key-gamma_maps style": box,
        ".st-key-gamma_right h2": [f"{step.title} " for step in steps],
    }
    for i, tiles in enumerate(zip(*(step.tiles for step in steps), strict=True)):
        place = f".c-strip .c-tile:nth-child({i + 1})"
        texts[f"{place} .c-value"] = [tile.value for tile in tiles]
        texts[f"{place} .c-note"] = [tile.note for tile in tiles]
    cells = (column[:, bin_index] for column in (grid.count, grid.confidence, grid.accuracy))
    squares = [views.square_at(*cell) for cell in zip(*cells, strict=True)]
    sentences = [html_macros.text("phrases", step.sentence.parts) for step in steps]
    return Dragged(
        written=written,
        said=[f"{step.written}: {step.sentence.text}" for step in steps],
        texts=texts,
        markup={"h1.c-sentence": sentences},
        figures=(
            MovedFigure(
                figure="gamma_epoch", last=columns(squares), others=[step.traces for step in steps]
            ),
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
