"""A figure that keeps its place in the page while its numbers change.

`st.plotly_chart` takes its identity from the figure as well as from its key, so that each step of
a slider removes one chart and mounts another: the screen is white in between. Here the key alone
is the identity, and the browser redraws in place.
"""

import pickle
from collections.abc import Callable
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

_ROOT = Path(__file__).parents[2]
_STATIC = Path(st.__file__).parent / "static" / "static" / "js"
BUNDLE = next(_STATIC.glob("PlotlyChart.*.js")).name  # Streamlit's own copy of Plotly
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
    """Draw a figure in place; `picked` has the points that were clicked.

    Parameters
    ----------
    card : FigureCard
        The same key is the same figure.
    side : Side
        Light or dark.
    select : bool or callable
        Whether its points can be clicked. What takes note of a click is called before the page is
        drawn anew, and then arrow keys and Enter choose a dot, too.
    chosen : int, optional
        The customdata of the points that stand out.
    width : int or "stretch"
    least : int, optional
        Height in px to which the figure may shrink so that the window holds all of it.
    """
    key = f"figure.{card.key}"
    _MOUNT(
        key=key,
        data={
            "spec": spec(card, side),
            "name": card.key,
            "alt": card.alt,
            "bundle": BUNDLE,
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
