"""One gamma history on its page: sentence, controls, maps with their slider, panels."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.reports.table import csv_text
from core.screens.gamma import view as views
from core.screens.gamma.beside import bin_mismatch, difference
from core.screens.gamma.heatmaps import HistoryGrid
from core.screens.gamma.panels import SecondHistory
from core.screens.gamma.rule import HistoryRule, Update
from core.screens.gamma.view import GammaDynamics, GammaView
from core.screens.gamma.words import REPLAY as REPLAY_WORDS
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.run_marks import RunMark, marks
from pages.ui import pieces, state, widgets
from pages.ui.gamma import beside
from pages.ui.gamma import cache as cache_gamma
from pages.ui.gamma import state as gamma_state
from pages.ui.gamma.beside import REPLAY, TRAINED
from pages.ui.gamma.cache import HistorySource

DIAGRAM_WIDTH = 400
CHIPS = {
    "queued": "Waiting in the queue",
    "live": "Training now",
    "stopped": "Stopped before its end",
}


def draw(
    source: HistorySource, offered: list[HistorySource], written: GammaDynamics | None = None
) -> None:
    """Draw a history.

    Parameters
    ----------
    source : HistorySource
        What is open.
    offered : list of HistorySource
        All that can be opened.
    written : GammaDynamics, optional
        What a job has written; the library is read otherwise.
    """
    if st.session_state.pop(gamma_state.MOVED, False):
        st.rerun()  # the whole page: another history was picked inside the fragment
    top = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        _picker(source, offered)
        shown = beside.look(source)
        against = None if state.plain() else beside.against(source, shown, offered)
        bin_place = st.container(width="content")
    settings = None
    if REPLAY in {shown, against}:
        settings = beside.settings(source)
    history = written or (cache_gamma.stored(source) if shown == TRAINED else None)
    replay = beside.replay(settings) if settings else None
    history = replay if shown == REPLAY else history
    if history is None:
        with top:
            widgets.sentence(Sentence((Phrase("The replay is not there yet."),)))
        return
    other = _other(source, offered, against, replay)
    _history(source, history, other, (top, bin_place))


def _picker(source: HistorySource, offered: list[HistorySource]) -> None:
    sources = {candidate.id: candidate for candidate in [*offered, source]}
    st.session_state["widget.source"] = source.id
    st.selectbox(
        "Run",
        list(sources),
        key="widget.source",
        format_func=lambda key: sources[key].label if key in sources else key,
        on_change=lambda: _open(sources[st.session_state["widget.source"]]),
        width=260,
    )


def _open(picked: HistorySource) -> None:
    gamma_state.open_source(picked.id, job=picked.job)


def _other(
    source: HistorySource,
    offered: list[HistorySource],
    against: str | None,
    replay: GammaDynamics | None,
) -> tuple[GammaDynamics, RunMark] | None:
    """Return the second history with its mark; None where none is chosen or there yet."""
    if against is None:
        return None
    if against == REPLAY:
        second = replay
    elif against == TRAINED:
        second = cache_gamma.stored(source)
    else:
        second = cache_gamma.stored(
            next(candidate for candidate in offered if candidate.id == against)
        )
    mark = marks([source.id, f"{source.id} {against}"])[1]
    return None if second is None else (second, mark)


def _history(
    source: HistorySource,
    history: GammaDynamics,
    other: tuple[GammaDynamics, RunMark] | None,
    places: tuple[DeltaGenerator, DeltaGenerator],
) -> None:
    grid, words = history.grid, gamma_state.words()
    gamma_state.take_clicks(grid)
    at = gamma_state.epoch_of(grid)
    bin_index = gamma_state.bin_of(grid, at)
    comparable = other if other and not bin_mismatch(history, other[0]) else None
    over = (
        SecondHistory(comparable[0].grid, comparable[1].colour, _dash(comparable[1]))
        if comparable
        else None
    )
    view = views.gamma_view(history, at, bin_index, words, over)
    top, bin_place = places
    with top:
        widgets.eyebrow(view.eyebrow, _chip(source, history))
        widgets.sentence(view.sentence)
        if state.plain():
            widgets.second(words.about)
        widgets.strip(view.numbers)
        for text in view.caveats:
            widgets.second(text)
        if other is not None:
            _beside(history, other, at)
    with bin_place:
        _bin(history, bin_index, words.terms.bin)
    _figures(view, history, (at, bin_index), live=source.kind == "live")
    if not state.plain():
        _panels(view)
    _foot(view, history)


def _dash(mark: RunMark) -> str:
    """Return a dash that differs from the solid line of the first history."""
    return "dash" if mark.dash == "solid" else mark.dash


def _chip(source: HistorySource, history: GammaDynamics) -> str:
    if history.replayed:
        return "Replay: not what it was trained with"
    sample = "Sample: a model that comes with Candor" if source.sample else ""
    return CHIPS.get(source.kind, sample)


def _beside(history: GammaDynamics, other: tuple[GammaDynamics, RunMark], at: int) -> None:
    """Say how the second history differs, with its badge."""
    second, mark = other
    text = bin_mismatch(history, second) or difference(history, second, at)
    more = f" {REPLAY_WORDS}" if second.replayed and not history.replayed else ""
    pieces.draw("beside", mark, text + more)


def _bin(history: GammaDynamics, bin_index: int, label: str) -> None:
    st.session_state["widget.bin"] = bin_index
    st.selectbox(
        label,
        range(history.grid.n_bins),
        key="widget.bin",
        format_func=lambda b: str(b + 1),
        on_change=lambda: gamma_state.keep("bin", str(st.session_state["widget.bin"] + 1)),
        width=100,
        help="Or click a cell of the maps, or a dot of the diagram.",
    )


def _figures(
    view: GammaView, history: GammaDynamics, place: tuple[int, int], *, live: bool
) -> None:
    """Draw the maps with the slider beside the diagram with the update."""
    at, bin_index = place
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(key="gamma_left")
        right = st.container(key="gamma_right", width=DIAGRAM_WIDTH)
    with left:
        widgets.title(view.heatmap.title, view.heatmap.explanation)
        with st.container(key="gamma_maps"):
            widgets.figure(view.heatmap, select=True, titled=False)
            _scrubber(history.grid, at, live=live)
    with right:
        widgets.figure(view.diagram, select=True)
        if not state.plain():
            _update(view.update, history.learned, bin_index)
    widgets.key(view.key)


def _scrubber(grid: HistoryGrid, at: int, *, live: bool) -> None:
    """Draw the box round the chosen epoch, and the slider that moves it."""
    pieces.draw("epoch_box", at, grid.n_epochs)
    if grid.n_epochs < 2:
        widgets.caption("This history has one epoch.")
        return
    # A live run that is followed has a new slider with each new epoch: of an old one the browser
    # may still send where it stood, which would read as a choice of the user.
    followed = live and gamma_state.chosen("epoch") is None
    key = f"widget.epoch.{grid.n_epochs}" if followed else "widget.epoch"
    st.session_state[key] = at
    with st.container(key="gamma_scrub"):
        st.select_slider(
            gamma_state.words().terms.epoch,
            range(grid.n_epochs),
            key=key,
            format_func=lambda place: str(grid.epoch[place]),
            on_change=lambda: gamma_state.keep_epoch(grid, st.session_state[key]),
            label_visibility="collapsed",
        )


def _update(update: Update, learned: HistoryRule, bin_index: int) -> None:
    widgets.title(f"The update here, bin {bin_index + 1}")
    lines = (update.equation, *update.steps) if update.equation else update.steps
    pieces.draw("update", lines)
    if learned.note:
        widgets.caption(learned.note)


def _panels(view: GammaView) -> None:
    with st.container(key="gamma_bins"):
        widgets.figure(view.panels)
    if view.correspondence:
        with st.container(key="gamma_train"):
            widgets.figure(view.correspondence)


def _foot(view: GammaView, history: GammaDynamics) -> None:
    grid = history.grid
    widgets.caption(view.caption)
    st.download_button(
        "Whole history, CSV",
        lambda: csv_text(views.whole_table(grid)),
        "candor_gammas.csv",
        "text/csv",
        key="gamma.whole",
        on_click="ignore",
        help="Epochs and bins are numbered as they are kept; this page reads the file again.",
    )
