"""A chart of lines, and what figures of all rooms share: axes, dots, whiskers, words on hover."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float, Int
from core.screens.kit.records import Column, FigureCard, Table
from core.screens.kit.theme import Theme, Tone, axis, faded, layout

Dash = Literal["solid", "dash", "dot", "dashdot", "longdash"]
Colour = Literal["ink", "quiet", "accent"] | int
DASHES: tuple[Dash, ...] = ("dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "cross")  # of the dots, by colour
SHARES: dict[str, Any] = {
    "range": [0, 1],
    "tickvals": [0, 0.2, 0.4, 0.6, 0.8, 1],
    "ticktext": ["0", "20", "40", "60", "80", "100 %"],
}

CURVE = Column("curve", "curve")


@dataclass(frozen=True)
class Curve:
    """One line of a figure.

    `colour` is a tone or the place in the palette of runs; `dots` marks the points of the line,
    each colour by its own symbol; `tabled` puts its points into the figure's table.
    """

    name: str
    x: Float | Int
    y: Float
    colour: Colour = "ink"
    dash: str = "solid"
    width: float = 2.0
    dots: bool = False
    tabled: bool = True


@dataclass(frozen=True)
class Highlight:
    """A point that is pointed out; its words stand above the figure, clear of every curve."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Plot:
    """What is drawn: curves, an area between two of them, spots, and both axes.

    `x` and `y` are plotly's settings of the axes; their titles are `across` and `up`. `hover` is
    how a point is read, with %{x} and %{y}.
    """

    curves: tuple[Curve, ...]
    across: str
    up: str
    x: dict[str, Any] = field(default_factory=dict)
    y: dict[str, Any] = field(default_factory=dict)
    spots: tuple[Highlight, ...] = ()
    between: tuple[Curve, Curve] | None = None
    square: bool = False
    hover: str = "%{x:.3~g}: %{y:.4~g}"

    def card(
        self,
        key: str,
        title: str,
        explanation: str,
        axes: tuple[Column, Column],
        *,
        alt: str,
        caption: str,
        curve: Column = CURVE,
    ) -> FigureCard:
        """Return the figure over a table of its points."""
        return FigureCard(
            key=key,
            title=title,
            explanation=explanation,
            draw=partial(chart, self),
            alt=alt,
            table=curve_table(self.curves, axes, curve),
            caption=caption,
        )


def chart(plot: Plot, theme: Theme) -> go.Figure:
    """Draw the curves with their names above the figure; a square one keeps its sides equal."""
    x, y = axis(theme, plot.across, **plot.x), axis(theme, plot.up, **plot.y)
    if plot.square:
        x |= {"constrain": "domain"}
        y |= {"scaleanchor": "x", "constrain": "domain"}
    height = 470 if plot.square else 360
    figure = sheet(theme, height, x, y, margin=(62, 30, 40, 46), named=True)
    if plot.between is not None:
        curve, other = plot.between
        between = area("between", (curve.x, curve.y), (other.x, other.y), faded(theme.quiet, 0.18))
        figure.add_trace(between.update(showlegend=False))
    for curve in plot.curves:
        colour, place = tint(curve.colour, theme), curve.colour
        symbol = SYMBOLS[place % len(SYMBOLS) if isinstance(place, int) else 0]
        figure.add_scatter(
            x=curve.x,
            y=curve.y,
            name=curve.name,
            mode="lines+markers" if curve.dots else "lines",
            line={"color": colour, "width": curve.width, "dash": curve.dash, "simplify": False},
            marker={"size": 6, "color": colour, "symbol": symbol},
            hovertemplate=f"<b>{curve.name}</b><br>{plot.hover}<extra></extra>",
        )
    # Points that are pointed out lie on top of every curve.
    for spot in plot.spots:
        figure.add_scatter(
            x=[spot.x],
            y=[spot.y],
            name=spot.text,
            mode="markers",
            marker={"size": 10, "color": theme.paper, "line": {"color": theme.ink, "width": 2}},
            hovertemplate=f"{spot.text}<extra></extra>",
            cliponaxis=False,
        )
    return figure


def sheet(
    theme: Theme,
    height: int,
    x: dict[str, Any],
    y: dict[str, Any],
    *,
    margin: tuple[float, float, float, float] | None = None,
    named: bool = False,
    **more: object,
) -> go.Figure:
    """Return an empty figure of these axes.

    Height and margin (left, right, top, bottom) are in px; a figure that is `named` has a legend
    above it. `more` are settings of Plotly's layout.
    """
    settings = layout(theme, height) | {"xaxis": x, "yaxis": y}
    if margin is not None:
        settings["margin"] = dict(zip("lrtb", margin, strict=True))
    if named:
        settings |= {"showlegend": True, "legend": legend(theme)}
    return go.Figure(layout=settings | more)


def hovers(texts: Sequence[str]) -> dict[str, Any]:
    """Return what points say when pointed at, a text each."""
    return {"hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}


def marker(theme: Theme, tone: Tone, size: int, ring: float = 2) -> dict[str, Any]:
    """Return the mark of a dot: hollow, with a ring so wide, where it is not off."""
    colour, hollow = theme.mark(tone), tone in {"few", "sound"}
    return {
        "size": size,
        "color": theme.paper if hollow else colour,
        "line": {"color": colour, "width": ring if hollow else 0},
    }


def area(
    name: str, low: tuple[Float | Int, Float], high: tuple[Float | Int, Float], colour: str
) -> go.Scatter:
    """Return the area between two curves, each x and y; it answers to no pointer."""
    x, y = (np.concatenate([a, b[::-1]]) for a, b in zip(low, high, strict=True))
    return go.Scatter(
        x=x,
        y=y,
        name=name,
        mode="lines",
        fill="toself",
        fillcolor=colour,
        line={"width": 0},
        hoverinfo="skip",
    )


def whiskers(
    above: Float | Sequence[float], below: Float | Sequence[float], colour: str, width: float = 1.8
) -> dict[str, Any]:
    """Return the intervals of dots: how far they reach above and below each, at least 0."""
    return {
        "type": "data",
        "symmetric": False,
        "array": above,
        "arrayminus": below,
        "thickness": width,
        "width": 0,
        "color": colour,
    }


def curve_table(
    curves: tuple[Curve, ...], axes: tuple[Column, Column], curve: Column = CURVE
) -> Table:
    """Return the points of curves one below the other: name, x, y in the columns' own units."""
    rows = tuple(
        (line.name, float(a), float(b))
        for line in curves
        if line.tabled
        for a, b in zip(line.x, line.y, strict=True)
    )
    return Table((curve, *axes), rows)


def legend(theme: Theme) -> dict[str, Any]:
    """Return a legend in a row above the figure; a click hides nothing."""
    return {
        "orientation": "h",
        "x": 0,
        "y": 1.01,
        "yanchor": "bottom",
        "font": {"size": 12.5, "color": theme.ink},
        "itemclick": False,
        "itemdoubleclick": False,
    }


def tint(colour: Colour, theme: Theme) -> str:
    """Return the colour that a tone or a place in the palette stands for."""
    if isinstance(colour, int):
        return theme.runs[colour % len(theme.runs)]
    return {"ink": theme.ink, "quiet": theme.quiet, "accent": theme.accent}[colour]
