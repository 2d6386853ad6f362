"""A slider that the browser answers while it is dragged.

What it moves is written in Python and sent ahead, a value a step. The server hears of the step at
which it is let go, once; then the page is drawn anew and the link follows.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from pages.ui import state

Columns = Mapping[str, Sequence[Any]]  # Any: a value a step, as Plotly takes it
_MOUNT = st.components.v2.component(
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
    """What a slider moves, a value for each of its steps.

    Attributes
    ----------
    written, said : sequences of str
        The value beside the slider's name, and what a screen reader says.
    texts : mapping
        By CSS selector: the text that stands first in that element.
    markup : mapping
        By CSS selector: the HTML within that element.
    filled : mapping
        By CSS selector: a picture of boxes.
    figures : sequence of MovedFigure
    ticks : sequence of int
        The steps that wear a tick.
    """

    written: Sequence[str]
    said: Sequence[str]
    texts: Mapping[str, Sequence[str]]
    markup: Mapping[str, Sequence[str]] = field(default_factory=dict)
    filled: Mapping[str, Filled] = field(default_factory=dict)
    figures: Sequence[MovedFigure] = ()
    ticks: Sequence[int] = ()


def columns(steps: Sequence[Mapping[str, Any]]) -> Columns:
    """Return the same values by name, each in the order of the steps."""
    return {name: [step[name] for step in steps] for name in steps[0]}


def chosen(name: str, steps: Sequence[float], default: float) -> float:
    """Return the step that the link names, else the one that was chosen before.

    As `state.choice`: on a page that was just entered the session speaks where the link is silent.
    """
    linked = st.query_params.get(name)
    if linked is not None:
        with suppress(ValueError):  # as it is written now: 20.0 is 20
            linked = _linked(float(linked))
    before = None if _key(name) in st.session_state else st.session_state.get(f"set.{name}")
    known = {_linked(step): step for step in steps}
    value = next((known[text] for text in (linked, before) if text in known), default)
    state.remember(name, _linked(value), _linked(default))
    return value


def _linked(step: float) -> str:
    return f"{step:g}"


def _key(name: str) -> str:
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
    key = _key(name)
    _MOUNT(
        key=key,
        data={"label": label, "help": help_text, "at": at, **asdict(moved)},
        on_moved_change=lambda: keep(int(st.session_state[key]["moved"])),
    )
