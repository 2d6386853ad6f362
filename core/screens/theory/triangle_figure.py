"""Three probabilities in a triangle: plain traces on an x-y plane; nothing is computed here."""

from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.arrays import Bool, Float
from core.screens.kit.curves import Colour, Dash, legend, tint
from core.screens.kit.theme import Theme, layout

HEIGHT = float(np.sqrt(3.0) / 2.0)
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]])  # of class 1, 2 and 3
NAMES = ("class 1", "class 2", "class 3")


class MoveArrows(NamedTuple):
    """Arrows of one map, from `start` to `end`, (N, 3) probabilities each."""

    name: str
    start: Float
    end: Float
    colour: Colour


class TriangleLines(NamedTuple):
    """Closed lines of one kind, (L, R, 3) probabilities, and what is said of each."""

    name: str
    lines: Float
    texts: tuple[str, ...]
    colour: Colour
    dash: Dash


class TriangleMark(NamedTuple):
    """Three probabilities that are pointed out, with plotly's name of a symbol."""

    p: Float
    text: str
    symbol: str


def plane(p: Float) -> Float:
    """Return where probabilities, (..., 3), lie: (..., 2), each class at its corner."""
    return np.asarray(p @ CORNERS)


def raster(columns: int) -> tuple[Float, Float, Float, Bool]:
    """Return a grid of cells over the triangle.

    Parameters
    ----------
    columns : int
        Cells across; they are square.

    Returns
    -------
    x : (C,) float64
    y : (R,) float64
        Middles of the cells.
    p : (R, C, 3) float64
        Their probabilities; negative outside.
    inside : (R, C) bool
        Whether every probability is above 0.
    """
    x = (np.arange(columns) + 0.5) / columns
    y = (np.arange(round(columns * HEIGHT)) + 0.5) / columns
    across, up = np.meshgrid(x, y)
    third = up / HEIGHT
    second = across - third / 2.0
    p = np.stack([1.0 - second - third, second, third], axis=-1)
    return x, y, p, np.asarray((p > 0.0).all(axis=-1))


def lattice(steps: int) -> Float:
    """Return the probabilities of an even lattice inside the triangle, (N, 3), none of them 0."""
    first, second = np.meshgrid(np.arange(steps + 1), np.arange(steps + 1), indexing="ij")
    third = steps - first - second
    within = (first > 0) & (second > 0) & (third > 0)
    return np.stack([first[within], second[within], third[within]], axis=-1) / steps


def arrows(moves: tuple[MoveArrows, ...], theme: Theme) -> go.Figure:
    """Draw the arrows of several maps over one another."""
    figure = _empty(theme)
    for move in moves:
        colour = tint(move.colour, theme)
        figure.add_trace(_arrows(move.name, plane(move.start), plane(move.end), colour))
    return figure


def heatmap(values: Float, title: str, theme: Theme) -> go.Figure:
    """Draw the values of a raster, (R, C) with NaN outside, in cividis from 0 up."""
    x, y, _, _ = raster(values.shape[1])
    figure = _empty(theme)
    figure.add_trace(
        go.Heatmap(
            x=x,
            y=y,
            z=values.astype(np.float32),
            colorscale="Cividis",
            zmin=0,
            colorbar={
                "title": {"text": title, "font": {"size": 12.5, "color": theme.ink}},
                "tickfont": {"size": 12, "color": theme.quiet},
                "thickness": 14,
                "len": 0.8,
                "outlinewidth": 0,
            },
            hovertemplate="%{z:.2f} points<extra></extra>",
            hoverongaps=False,
        )
    )
    figure.add_trace(_outline(theme))  # over the ragged rim of the cells
    return figure


def isolines(
    kinds: tuple[TriangleLines, ...], marks: tuple[TriangleMark, ...], theme: Theme
) -> go.Figure:
    """Draw lines of equal value, and marks over them."""
    figure = _empty(theme)
    for kind in kinds:
        figure.add_traces(_lines(kind, theme))
    figure.add_traces([_mark(mark, theme) for mark in marks])
    return figure


def _lines(kind: TriangleLines, theme: Theme) -> list[go.Scatter]:
    """Return one trace a line; the first bears the name of its kind."""
    settings = {"color": tint(kind.colour, theme), "width": 2, "dash": kind.dash}
    return [
        go.Scatter(
            x=plane(line)[:, 0],
            y=plane(line)[:, 1],
            name=kind.name,
            mode="lines",
            line=settings | {"simplify": False},
            showlegend=i == 0,
            hovertemplate=f"{kind.name}: {text}<extra></extra>",
        )
        for i, (line, text) in enumerate(zip(kind.lines, kind.texts, strict=True))
    ]


def _mark(mark: TriangleMark, theme: Theme) -> go.Scatter:
    x, y = plane(mark.p)
    return go.Scatter(
        x=[x],
        y=[y],
        name=mark.text,
        mode="markers",
        marker={
            "size": 11,
            "symbol": mark.symbol,
            "color": theme.ink,
            "line": {"color": theme.paper, "width": 1},
        },
        hovertemplate=f"{mark.text}<extra></extra>",
    )


def _empty(theme: Theme) -> go.Figure:
    settings = layout(theme, 430)
    settings["margin"] = {"l": 16, "r": 16, "t": 40, "b": 16}
    hidden = {"visible": False, "fixedrange": True, "constrain": "domain"}
    settings["xaxis"] = hidden | {"range": [-0.06, 1.06]}
    settings["yaxis"] = hidden | {"range": [-0.09, HEIGHT + 0.09]}
    settings["yaxis"] |= {"scaleanchor": "x", "constraintoward": "top"}  # blank goes below
    settings["showlegend"] = True
    settings["legend"] = legend(theme)
    figure = go.Figure(layout=settings)
    figure.add_trace(_outline(theme))
    figure.add_trace(_corner_names(theme))
    return figure


def _outline(theme: Theme) -> go.Scatter:
    closed = np.concatenate([CORNERS, CORNERS[:1]])
    return go.Scatter(
        x=closed[:, 0],
        y=closed[:, 1],
        name="edge",
        mode="lines",
        line={"color": theme.quiet, "width": 1.6},
        hoverinfo="skip",
        showlegend=False,
    )


def _corner_names(theme: Theme) -> go.Scatter:
    return go.Scatter(
        x=CORNERS[:, 0],
        y=CORNERS[:, 1],
        name="corners",
        mode="text",
        text=NAMES,
        textposition=["bottom center", "bottom center", "top center"],
        textfont={"size": 12.5, "color": theme.quiet},
        hoverinfo="skip",
        showlegend=False,
        cliponaxis=False,
    )


def _arrows(name: str, start: Float, end: Float, colour: str) -> go.Scatter:
    """Lines in one trace; a gap after each, the head turned along its line."""
    gap = np.full(len(start), np.nan)
    x, y = (np.stack([start[:, i], end[:, i], gap], axis=1).ravel() for i in (0, 1))
    settings: dict[str, Any] = {
        "symbol": "arrow",
        "angleref": "previous",
        "size": np.tile([0, 8, 0], len(start)),
        "color": colour,
        "opacity": 1,
    }
    return go.Scatter(
        x=x,
        y=y,
        name=name,
        mode="lines+markers",
        line={"color": colour, "width": 1.4},
        marker=settings,
        hoverinfo="skip",
    )
