"""The dot plot of losses: as trained and after calibrators, with runs of one's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import plotly.graph_objects as go

from core.screens.kit.run_marks import RunMark
from core.screens.kit.text import safe, short
from core.screens.kit.theme import Theme, axis, layout

ROW_PX: Final = 27
FRAME_PX: Final = 74
NAME_CHARACTERS: Final = 34
CHARACTER_PX: Final = 6.6
PAD: Final = 0.04  # of the axis, beside the outermost numbers
SYMBOLS: Final = {
    "none": "circle",
    "ts": "diamond",
    "focal_ts": "square",
    "ets": "triangle-up",
    "spline": "x",
}
APART: Final = 0.2  # of a row, between the two intervals of a run


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One number: its calibrator, its place, and what it says when pointed at."""

    posthoc: str
    value: float
    words: str
    doubtful: bool = False
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class DotRow:
    """One training, or a run with its badge."""

    name: str
    dots: tuple[Dot, ...]
    mark: RunMark | None = None


def dot_plot(rows: Sequence[DotRow], theme: Theme, *, title: str, from_zero: bool) -> go.Figure:
    """Draw a row for each training: as trained and after calibrators, by shape and colour.

    Parameters
    ----------
    rows : sequence of DotRow
        From above.
    theme : Theme
        Light or dark.
    title : str
        Of the axis.
    from_zero : bool
        Whether the axis begins at 0.
    """
    longest = max(len(_name(row)) for row in rows)
    settings = layout(theme, FRAME_PX + ROW_PX * len(rows))
    settings["margin"] = {"l": 16 + CHARACTER_PX * longest, "r": 16, "t": 10, "b": 46}
    settings["xaxis"] = axis(
        theme, title, range=_reach(rows, from_zero=from_zero), nticks=6, tickformat="~g"
    )
    settings["yaxis"] = axis(
        theme,
        range=[len(rows) - 0.5, -0.5],
        tickvals=list(range(len(rows))),
        ticktext=[_label(row) for row in rows],
        tickfont={"size": 12.5, "color": theme.ink},
        showgrid=False,
    )
    figure = go.Figure(layout=settings)
    for at, row in enumerate(rows):
        figure.add_traces(_traces(row, at, theme))
    return figure


def _reach(rows: Sequence[DotRow], *, from_zero: bool) -> list[float]:
    """Return the ends of the axis: all numbers and intervals, and a little more."""
    ends = [
        end
        for row in rows
        for dot in row.dots
        for end in (dot.low, dot.value, dot.high)
        if end is not None
    ]
    low, high = 0.0 if from_zero else min(ends), max(ends)
    pad = PAD * (high - low or 1.0)
    return [low if from_zero else low - pad, high + pad]


def _name(row: DotRow) -> str:
    return short(row.name, NAME_CHARACTERS)


def _label(row: DotRow) -> str:
    name = safe(_name(row))
    return f"<b>{row.mark.letter}</b> {name}" if row.mark else name


def _traces(row: DotRow, at: int, theme: Theme) -> list[go.Scatter]:
    step = APART if row.mark and len(row.dots) > 1 else 0.0
    heights = [at + step * (2 * i - len(row.dots) + 1) for i in range(len(row.dots))]
    values = [dot.value for dot in row.dots]
    colours = [theme.bars if dot.posthoc == "none" else theme.accent for dot in row.dots]
    traces = [] if row.mark else [_line([min(values), max(values)], [at, at], theme.line)]
    traces += [
        _line([dot.low, dot.high], [height, height], colour)
        for dot, height, colour in zip(row.dots, heights, colours, strict=True)
        if dot.low is not None and dot.high is not None
    ]
    marker: dict[str, Any] = {
        "size": 11,
        "symbol": [SYMBOLS[dot.posthoc] for dot in row.dots],
        "color": [
            theme.paper if dot.doubtful else colour
            for dot, colour in zip(row.dots, colours, strict=True)
        ],
        "line": {"color": colours, "width": 2},
    }
    traces.append(
        go.Scatter(
            x=values,
            y=heights,
            name=row.name,
            mode="markers",
            marker=marker,
            hovertext=[f"<b>{safe(row.name)}</b><br>{safe(dot.words)}" for dot in row.dots],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    )
    return traces


def _line(x: list[float | None], y: list[float], colour: str) -> go.Scatter:
    return go.Scatter(x=x, y=y, mode="lines", line={"color": colour, "width": 2}, hoverinfo="skip")
