"""A figure that keeps its place in the page while its numbers change.

`st.plotly_chart` takes its identity from the figure as well as from its key, so that each step of
a slider removes one chart and mounts another: the screen is white in between. Here the key alone
is the identity, and the browser redraws in place.

A live slider is answered by the browser while it is dragged. What it moves is written in Python and
sent ahead, a value a step. The server hears of the step at which it is let go, once; then the page
is drawn again and the link follows.
"""

import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go
import plotly.io
import streamlit as st

from core.screens.kit.records import FigureCard
from core.screens.kit.theme import Side
from pages.ui import state, visitor
from pages.ui.caching import results
from pages.ui.streamlit_internals import PLOTLY

_ROOT = Path(__file__).parents[2]
_MOUNT = st.components.v2.component(
    "candor_figure",
    html='<div class="c-plot stPlotlyChart" data-testid="stPlotlyChart" role="figure">'
    '<div></div><p class="c-aloud" aria-live="polite"></p></div>',
    js=(_ROOT / "assets" / "figure.js").read_text("utf-8"),
    isolate_styles=False,
)
Width = int | Literal["stretch", "content"]
Points = list[dict[str, Any]]  # Any: customdata as the figure holds it


def draw(
    card: FigureCard,
    side: Side,
    *,
    select: bool | Callable[[], None] = False,
    chosen: int | None = None,
    width: Width = "stretch",
    least: int | None = None,
) -> None:
    """Draw a figure in place, the same for the same key; `picked` has the points that were clicked.

    What `select` calls takes note of a click before the page is drawn again; then arrow keys and
    Enter choose a dot, too. Points whose customdata is `chosen` stand out. The figure may shrink to
    a height of `least` pixels so that the window holds all of it.
    """
    key = f"figure.{card.key}"
    _MOUNT(
        key=key,
        data={
            "spec": spec(card, side),
            "name": card.key,
            "alt": card.alt,
            "bundle": PLOTLY,
            "select": bool(select),
            "steps": callable(select),
            "chosen": chosen,
            "least": least,
            "generation": state.generation() if select else 0,
        },
        width=width,
        on_picked_change=select if callable(select) else lambda: None,  # the page reruns
    )


def spec(card: FigureCard, side: Side) -> str:
    """Return a figure as Plotly reads it, drawn once for all sessions that show the same.

    All that it is drawn from is its key, by content. The figures of a draft belong to its session.
    """
    content = blake2b(pickle.dumps(card.draw), digest_size=16).hexdigest()
    kept = results("figures", draft=visitor.shows_draft(), most=64)  # some 20 kB each
    text: str = kept.computed((content, side), lambda: _written(card.figure(side)))
    return text


def _written(figure: go.Figure) -> str:
    # Colours, words and lines are sent in single precision: a screen shows no more of them. Not
    # marks: one at the end of an axis would lie a hair beyond it, and not be drawn.
    for trace in figure.data:
        places = ("x", "y") if trace.type == "scatter" and trace.mode == "lines" else ()
        for column in ("z", "customdata", *places):
            values = trace[column] if column in trace else None  # noqa: SIM401  no mapping
            if isinstance(values, np.ndarray) and values.dtype == np.float64:
                trace[column] = values.astype(np.float32)
    text: str = plotly.io.to_json(figure, validate=False)
    return text


def picked(key: str) -> Points:
    """Return the points of a figure that were clicked since selections were last forgotten."""
    result = st.session_state.get(key)
    chosen = result.get("picked") if result else None
    if not chosen or chosen["generation"] != state.generation():
        return []
    return list(chosen["points"])


# The slider that is answered while it is dragged.
Columns = Mapping[str, Sequence[Any]]  # Any: a value a step, as Plotly takes it
_SLIDER = st.components.v2.component(
    "candor_dragged",
    html='<label class="c-dragged"><span></span><output aria-live="off"></output>'
    '<input type="range" min="0" step="1"><datalist></datalist></label>',
    js=(Path(__file__).parents[2] / "assets" / "dragged.js").read_text("utf-8"),
    isolate_styles=False,
)


@dataclass(frozen=True, kw_only=True)
class MovedFigure:
    """What moves in a figure: its card's key, and values a step of its layout and last trace.

    `others` are its other traces at each step: a JSON object of lists, a value a trace.
    """

    figure: str
    layout: Columns = field(default_factory=dict)
    last: Columns = field(default_factory=dict)
    others: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Filled:
    """A picture of boxes: how many are of each kind at each step, the rest plain.

    `kinds` are the signs in the boxes by their classes, in the order of the picture.
    """

    values: Sequence[Sequence[int]]
    kinds: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Dragged:
    """What a slider moves, a value for each of its steps."""

    # written, said: the value beside the slider's name, and what a screen reader says
    written: Sequence[str]
    said: Sequence[str]
    # By CSS selector: the text that stands first in that element.
    texts: Mapping[str, Sequence[str]]
    # By CSS selector: the HTML within that element.
    markup: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # By CSS selector: a picture of boxes.
    filled: Mapping[str, Filled] = field(default_factory=dict)
    figures: Sequence[MovedFigure] = ()
    ticks: Sequence[int] = ()  # the steps that wear a tick


def columns(steps: Sequence[Mapping[str, Any]]) -> Columns:
    """Return the same values by name, each in the order of the steps."""
    return {name: [step[name] for step in steps] for name in steps[0]}


def slider_value(name: str, steps: Sequence[float], default: float) -> float:
    """Return the step that the link names, else the one that was chosen before.

    As `state.choice`: on a page that was just entered the session speaks where the link is silent.
    """
    linked = st.query_params.get(name)
    if linked is not None:
        with suppress(ValueError):  # as it is written now: 20.0 is 20
            linked = _linked(float(linked))
    before = None if _slider_key(name) in st.session_state else st.session_state.get(f"set.{name}")
    known = {_linked(step): step for step in steps}
    value = next((known[text] for text in (linked, before) if text in known), default)
    state.remember(name, _linked(value), _linked(default))
    return value


def _linked(step: float) -> str:
    return f"{step:g}"


def _slider_key(name: str) -> str:
    return f"dragged.{name}"


def slider(
    label: str,
    name: str,
    steps: Sequence[float],
    value: float,
    default: float,
    moved: Dragged,
    help_text: str,
) -> None:
    """Draw the slider at one of its steps; `chosen` returns where it was let go."""

    def keep(at: int) -> None:
        state.remember(name, _linked(steps[at]), _linked(default))

    handle(label, name, steps.index(value), moved, help_text, keep)


def handle(
    label: str, name: str, at: int, moved: Dragged, help_text: str, keep: Callable[[int], None]
) -> None:
    """Draw the slider at a place; `keep` is called with the place at which it is let go."""
    key = _slider_key(name)
    _SLIDER(
        key=key,
        data={"label": label, "help": help_text, "at": at, **asdict(moved)},
        on_moved_change=lambda: keep(int(st.session_state[key]["moved"])),
    )
