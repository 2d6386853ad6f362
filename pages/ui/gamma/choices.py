"""What is chosen on the Gamma page: the history and one beside it, a replay, the bin."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.defaults import N_BINS
from core.errors import AuditError
from core.fields import Field
from core.losses.bins import AdaFocalRule, CalFocalRule
from core.losses.catalogue import LOSSES
from core.screens.gamma.figures import HistoryGrid, SecondHistory
from core.screens.gamma.view import GammaDynamics, bin_mismatch
from core.screens.kit.marks import RunMark, marks
from core.screens.kit.text import clean
from pages.ui import controls, frame, state, visitor
from pages.ui.gamma import cache
from pages.ui.gamma import state as gamma_state
from pages.ui.gamma.cache import HistorySource, ReplaySettings

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
    return controls.segments(
        "Show",
        "look",
        list(LOOKS),
        TRAINED,
        LOOKS,
        "Replay: the γ that a rule with your settings would have given, epoch by epoch, for "
        "this run's validation answers.",
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
        name = controls.segments("Replay rule", "replayed", list(RULES), "adafocal", RULES)
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
            replayed = cache.replay(settings)
        except AuditError as error:
            frame.refusal(error)
    history = replayed if look == REPLAY else cache.recorded(source)
    if against is None or history is None:
        return history, None
    others = {other.id: other for other in offered} | {TRAINED: source}
    if against != REPLAY and not others[against].job:
        visitor.note(others[against].id)
    second = replayed if against == REPLAY else cache.recorded(others[against])
    mark = marks([source.id, f"{source.id} {against}"])[1]
    return history, None if second is None else (second, mark)


def drawn_over(history: GammaDynamics, second: Second | None) -> SecondHistory | None:
    """Return the second history as it is drawn over the first, where the bins are the same."""
    if second is None or bin_mismatch(history, second[0]):
        return None
    dynamics, mark = second
    dash = "dash" if mark.dash == "solid" else mark.dash  # the first history is solid
    return SecondHistory(dynamics.grid, mark.colour, dash)
