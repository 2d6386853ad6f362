"""Trust in heatmaps: how alike maps stay as weights are randomised, and where they point."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.screens.kit.numbers import percent
from core.screens.kit.theme import Theme, axis, layout

ROW_PX = 34


def similarity(
    stages: Sequence[str],
    values: Sequence[float],
    ends: Sequence[tuple[float, float]],
    theme: Theme,
) -> go.Figure:
    """Draw how alike a map stays to that of the trained network, stage by stage.

    Parameters
    ----------
    stages : sequence of str
        What was randomised last; the first is the trained network.
    values : sequence of float
        SSIM with the first map, in [-1, 1].
    ends : sequence of (float, float)
        The lowest and the highest, where weights were drawn several times.
    theme : Theme
        Light or dark.
    """
    settings = layout(theme, 250)
    settings["margin"] = {"l": 52, "r": 22, "t": 12, "b": 62}
    settings["xaxis"] = axis(
        theme,
        "Randomised so far, from the last layer down",
        tickvals=[0, len(stages) - 1],
        ticktext=["nothing", "all weights"],
        range=[-0.3, len(stages) - 0.7],
        showgrid=False,
    )
    settings["yaxis"] = axis(
        theme,
        "Similarity (SSIM)",
        range=[min(0.0, *(low for low, _ in ends)) - 0.06, 1.06],
        nticks=5,
    )
    figure = go.Figure(layout=settings)
    figure.add_trace(
        go.Scatter(
            x=list(range(len(stages))),
            y=list(values),
            name="similarity",
            mode="lines+markers",
            line={"color": theme.ink, "width": 1.6},
            marker={"size": 8, "color": theme.ink},
            error_y={
                "type": "data",
                "array": [high - value for value, (_, high) in zip(values, ends, strict=True)],
                "arrayminus": [value - low for value, (low, _) in zip(values, ends, strict=True)],
                "color": theme.quiet,
                "thickness": 1.4,
                "width": 0,
            },
            hovertext=[
                f"<b>{stage}</b><br>{value:.2f}"
                for stage, value in zip(stages, values, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    )
    return figure


@dataclass(frozen=True)
class PointingShare:
    """How often one kind of map points into the box: a share with its interval."""

    name: str
    value: float
    low: float
    high: float
    own: bool = False


def pointing(rows: Sequence[PointingShare], theme: Theme) -> go.Figure:
    """Draw a forest of shares of films on which the strongest place lies in the box.

    Parameters
    ----------
    rows : sequence of PointingShare
        From top to bottom; `own` marks the map that is judged.
    theme : Theme
        Light or dark.
    """
    settings = layout(theme, ROW_PX * len(rows) + 70)
    settings["margin"] = {"l": 158, "r": 26, "t": 8, "b": 46}
    settings["xaxis"] = axis(theme, "films with the strongest place in the box, %", range=[-2, 102])
    settings["yaxis"] = axis(
        theme,
        tickvals=list(range(len(rows))),
        ticktext=[f"<b>{row.name}</b>" if row.own else row.name for row in rows],
        tickfont={"size": 13, "color": theme.ink},
        range=[len(rows) - 0.4, -0.6],
        showgrid=False,
    )
    figure = go.Figure(layout=settings)
    for y, row in enumerate(rows):
        colour = theme.ink if row.own else theme.quiet
        figure.add_trace(
            go.Scatter(
                x=[100 * row.low, 100 * row.high],
                y=[y, y],
                mode="lines",
                line={"color": colour, "width": 2},
                hoverinfo="skip",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=[100 * row.value],
                y=[y],
                name=row.name,
                mode="markers",
                marker={
                    "size": 11,
                    "color": colour if row.own else theme.paper,
                    "line": {"color": colour, "width": 2},
                },
                hovertext=[
                    f"<b>{row.name}</b><br>{percent(row.value)} "
                    f"({percent(row.low)} to {percent(row.high)})"
                ],
                hovertemplate="%{hovertext}<extra></extra>",
                cliponaxis=False,
            )
        )
    return figure
