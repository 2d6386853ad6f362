"""A quantity over corruptions and severities, as a labelled heat map."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.screens.kit.theme import Theme, axis, layout

ROW_PX, FRAME_PX = 20, 54  # ten rows end within two screens of 720 px
CIVIDIS = ("#00204C", "#31446B", "#666870", "#958F78", "#CAB969", "#FFE945")
ROOM_FOR_NAMES = 108
DARK = 0.45  # luminance below which words on a cell are white


@dataclass(frozen=True, kw_only=True)
class ValueGrid:
    """Values of one quantity.

    Attributes
    ----------
    rows : sequence of str
        Names of the corruptions, first at the top.
    columns : sequence of int
        Severities.
    values : (R, C) float64
        Fractions; NaN where there is no such part.
    low, high : float
        Where colours are darkest and brightest; high is below low where small is good.
    """

    rows: Sequence[str]
    columns: Sequence[int]
    values: Float
    low: float
    high: float


def heatmap(grid: ValueGrid, theme: Theme) -> go.Figure:
    """Draw the values as percent in cells; words are black or white by the colour under them."""
    settings = layout(theme, ROW_PX * len(grid.rows) + FRAME_PX)
    settings["margin"] = {"l": ROOM_FOR_NAMES, "r": 8, "t": 6, "b": 42}
    across = list(range(len(grid.columns)))
    settings["xaxis"] = axis(
        theme, "Severity", tickvals=across, ticktext=[str(c) for c in grid.columns], showgrid=False
    )
    settings["yaxis"] = axis(
        theme,
        tickvals=list(range(len(grid.rows))),
        ticktext=list(grid.rows),
        autorange="reversed",
        showgrid=False,
        tickfont={"size": 11.5, "color": theme.ink},
    )
    figure = go.Figure(layout=settings)
    figure.add_trace(
        go.Heatmap(
            z=100 * grid.values,
            zmin=100 * min(grid.low, grid.high),
            zmax=100 * max(grid.low, grid.high),
            colorscale=[[k / (len(CIVIDIS) - 1), colour] for k, colour in enumerate(CIVIDIS)],
            reversescale=grid.low > grid.high,
            showscale=False,
            xgap=2,
            ygap=2,
            hoverongaps=False,
            customdata=[[name] * len(across) for name in grid.rows],
            hovertemplate="%{customdata}, severity %{x}: %{z:.1f} %<extra></extra>",
        )
    )
    figure.add_traces([_words(grid, bright=bright) for bright in (False, True)])
    return figure


def _words(grid: ValueGrid, *, bright: bool) -> go.Scatter:
    """Return the numbers of the cells that are bright, or of those that are not."""
    cells = [
        (j, i, float(grid.values[i, j]))
        for i in range(len(grid.rows))
        for j in range(len(grid.columns))
        if np.isfinite(grid.values[i, j])
    ]
    chosen = [cell for cell in cells if (_luminance(grid, cell[2]) >= DARK) == bright]
    return go.Scatter(
        x=[cell[0] for cell in chosen],
        y=[cell[1] for cell in chosen],
        text=[f"{100 * cell[2]:.0f}" for cell in chosen],
        mode="text",
        textfont={"size": 11.5, "color": "#000000" if bright else "#FFFFFF"},
        hoverinfo="skip",
        showlegend=False,
    )


def _luminance(grid: ValueGrid, value: float) -> float:
    """Return how bright a cell is, 0 to 1."""
    place = np.clip((value - grid.low) / (grid.high - grid.low), 0.0, 1.0) * (len(CIVIDIS) - 1)
    colours = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in CIVIDIS]) / 255.0
    below = min(int(place), len(CIVIDIS) - 2)
    mixed = colours[below] + (place - below) * (colours[below + 1] - colours[below])
    return float(mixed @ np.array([0.299, 0.587, 0.114]))
