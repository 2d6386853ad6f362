"""What is chosen and drawn on the Gamma page: maps with their slider, diagram, replay, panels."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from core.defaults import N_BINS
from core.errors import AuditError
from core.fields import Field
from core.losses.bins import AdaFocalRule, CalFocalRule
from core.losses.catalogue import LOSSES
from core.reports.tables import csv_text
from core.screens.gamma import view as views
from core.screens.gamma.figures import HistoryGrid, SecondHistory
from core.screens.gamma.view import GammaDynamics, GammaView, bin_mismatch, difference
from core.screens.gamma.words import REPLAY as REPLAY_WORDS
from core.screens.kit.marks import RunMark, marks
from core.screens.kit.text import clean
from pages.ui import frame, markup, plot, state, visitor, widgets
from pages.ui.gamma import state as gamma_state
from pages.ui.gamma.state import HistorySource, ReplaySettings
from pages.ui.plot import Dragged, MovedFigure, columns
from pages.ui.visitor import open_jobs

REPLAY, TRAINED = "replay", "trained"
LOOKS = {TRAINED: "As trained", REPLAY: "Replay"}
RULES = {"adafocal": AdaFocalRule.label, "calfocal_2": CalFocalRule.label}
NOTHING = "nothing"
LOWEST = 0.01  # of a lambda or a bound that must be above 0
MOST_BINS = 500
Second = tuple[GammaDynamics, RunMark]


def history(source: HistorySource, offered: list[HistorySource]) -> None:
    """Draw the choice of the history."""
    sources = {candidate.id: candidate for candidate in [*offered, source]}

    def pick() -> None:
        picked = sources[st.session_state["widget.source"]]
        gamma_state.open_source(picked.id, job=picked.job)

    st.session_state["widget.source"] = source.id
    st.selectbox(
        "Run",
        list(sources),
        key="widget.source",
        format_func=lambda key: clean(sources[key].label) if key in sources else key,
        on_change=pick,
        width=260,
    )


def look(source: HistorySource) -> str:
    """Return whether the gammas that were trained with are shown, or a replay."""
    if source.kind == "logits":
        return REPLAY
    if state.plain() or not source.replays:
        return TRAINED
    return widgets.segments(
        "Show",
        "look",
        list(LOOKS),
        TRAINED,
        LOOKS,
        "Replay: the γ that a rule with your settings would have given, epoch by epoch, for "
        "this run’s validation answers.",
    )


def against(source: HistorySource, shown: str, offered: list[HistorySource]) -> str | None:
    """Return the second history: its id, REPLAY, TRAINED or None."""
    if state.plain():
        return None
    names: dict[str, str] = {NOTHING: "Nothing"}
    if source.replays and shown == TRAINED:
        names[REPLAY] = "A replay of this run"
    if source.kind == "gammas" and shown == REPLAY:
        names[TRAINED] = "This run, as trained"
    names |= {
        other.id: other.name
        for other in offered
        if other.kind == "gammas" and other.id != source.id
    }
    chosen = gamma_state.chosen("against")
    value = chosen if chosen in names else NOTHING
    st.session_state["widget.against"] = value
    st.selectbox(
        "Compare with",
        list(names),
        key="widget.against",
        format_func=lambda key: clean(str(names.get(key, key))),
        on_change=_keep_against,
        width=220,
        help="Drawn over the small panels: another run, or this one under another rule.",
    )
    return None if value == NOTHING else value


def _keep_against() -> None:
    value = st.session_state["widget.against"]
    gamma_state.keep("against", None if value == NOTHING else value)


def replay(source: HistorySource) -> ReplaySettings:
    """Return the settings of the replay; plain words take AdaFocal as it was published."""
    if state.plain():
        return ReplaySettings(source, AdaFocalRule(), N_BINS)
    with st.container(horizontal=True, vertical_alignment="bottom", key="gamma_settings"):
        name = widgets.segments("Replay rule", "replayed", list(RULES), "adafocal", RULES)
        parameters = LOSSES[name].parameters
        rate = _number("lambda", parameters)
        rule: AdaFocalRule | CalFocalRule = CalFocalRule(rate)
        if name == "adafocal":
            bounds = [_number(key, parameters) for key in ("gamma_max", "gamma_min", "s_th")]
            rule = AdaFocalRule(rate, *bounds)
        n_bins = _number("n_bins", parameters, (1, MOST_BINS, N_BINS, 1))
    return ReplaySettings(source, rule, int(n_bins))


def _number(
    key: str, parameters: Mapping[str, Field], ends: tuple[float, float, float, float] | None = None
) -> float:
    """Draw one setting of the rule within its range; it lives in the link.

    `ends` are lowest, highest, default and step in the place of the field's.
    """
    field = parameters[key]
    if ends is None:
        assert field.low is not None
        assert field.high is not None
        low = LOWEST if field.open_low else float(field.low)
        ends = low, float(field.high), float(field.default), float(field.step)
    kept: dict[str, Any] = {"key": key, "bind": "query-params", "persist_state": "session"}
    return float(st.number_input(field.label, *ends, width=120, help=field.help, **kept))


def bin_of(grid: HistoryGrid, bin_index: int) -> None:
    """Draw the choice of the bin."""
    st.session_state["widget.bin"] = bin_index
    st.selectbox(
        gamma_state.words().terms.bin,
        range(grid.n_bins),
        key="widget.bin",
        format_func=lambda b: str(b + 1),
        on_change=lambda: gamma_state.keep("bin", str(st.session_state["widget.bin"] + 1)),
        width=100,
        help="Or click a cell of the maps, or a dot of the diagram.",
    )


def shown(
    source: HistorySource, look: str, against: str | None, offered: list[HistorySource]
) -> tuple[GammaDynamics | None, Second | None]:
    """Return the history and the one beside it; None for what is not chosen or not there yet."""
    replayed = None
    if REPLAY in {look, against}:
        settings = replay(source)
        try:
            replayed = gamma_state.replay(settings)
        except AuditError as error:
            frame.refusal(error)
    history = replayed if look == REPLAY else gamma_state.recorded(source)
    if against is None or history is None:
        return history, None
    others = {other.id: other for other in offered} | {TRAINED: source}
    if against != REPLAY and not others[against].job:
        visitor.note(others[against].id)
    second = replayed if against == REPLAY else gamma_state.recorded(others[against])
    mark = marks([source.id, f"{source.id} {against}"])[1]
    return history, None if second is None else (second, mark)


def drawn_over(history: GammaDynamics, second: Second | None) -> SecondHistory | None:
    """Return the second history as it is drawn over the first, where the bins are the same."""
    if second is None or bin_mismatch(history, second[0]):
        return None
    dynamics, mark = second
    dash = "dash" if mark.dash == "solid" else mark.dash  # the first history is solid
    return SecondHistory(dynamics.grid, mark.colour, dash)


# What is drawn.
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
    markup.draw("beside", mark, text + more)


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
            markup.draw("epoch_box", at, grid.n_updates)
            if grid.n_updates < 2:
                widgets.caption("This history has one epoch.")
            else:
                with st.container(key="gamma_scrub"):
                    plot.handle(
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
            markup.draw("update", lines)
            if history.learned.note:
                widgets.caption(history.learned.note)


def _moved(history: GammaDynamics, bin_index: int) -> Dragged:
    """Return what the browser moves with the epoch; of a long history only its number."""
    grid = history.grid
    steps = gamma_state.at_epochs(history, plain=state.plain())
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
    sentences = [markup.text("phrases", step.sentence.parts) for step in steps]
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
