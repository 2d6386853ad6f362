"""The gap between model and people by how much people disagree, as a plotly figure."""

import numpy as np
import plotly.graph_objects as go

from core.metrics.human.records import Disagreement
from core.screens.kit.numbers import count, percent, with_span
from core.screens.kit.theme import Theme, Tone, axis, layout
from core.screens.kit.units import spoken

HEIGHT = 330


def tones_of(groups: Disagreement) -> list[Tone]:
    """Return over or under where a group's interval leaves 0 out, else few."""
    low, high = groups.low.tolist(), groups.high.tolist()
    return [
        "over" if a > 0.0 else "under" if b < 0.0 else "few" for a, b in zip(low, high, strict=True)
    ]


def disagreement_gaps(groups: Disagreement, title: str, tick: str, theme: Theme) -> go.Figure:
    """Draw the gap of each group with its interval, and where a model that knew would be.

    `title` is that of the axis, `tick` how a group's entropy is written under it.
    """
    settings = layout(theme, HEIGHT)
    x = np.arange(groups.count.size)
    settings["xaxis"] = axis(
        theme,
        title,
        range=[-0.6, x.size - 0.4],
        tickvals=x.tolist(),
        ticktext=[tick.format(entropy) for entropy in groups.entropy.tolist()],
        showgrid=False,
    )
    settings["yaxis"] = axis(theme, "More sure than people, points", nticks=6)
    figure = go.Figure(layout=settings)
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.2})
    known = np.isfinite(groups.known)
    figure.add_trace(
        go.Scatter(
            x=x[known],
            y=100.0 * groups.known[known],
            mode="markers",
            name="known",
            marker={
                "symbol": "line-ew",
                "size": 22,
                "line": {"color": theme.bars, "width": 3},
            },
            hovertemplate="%{y:.1f} points<extra></extra>",
        )
    )
    tones = tones_of(groups)
    order: tuple[Tone, ...] = ("few", "under", "over")
    for tone in order:
        at = [i for i, own in enumerate(tones) if own == tone]
        if at:
            figure.add_trace(_marks(groups, at, tone, theme))
    return figure


def _marks(groups: Disagreement, at: list[int], tone: Tone, theme: Theme) -> go.Scatter:
    colour, gap = theme.mark(tone), groups.gap[at]
    return go.Scatter(
        x=at,
        y=100.0 * gap,
        name=tone,
        mode="markers",
        marker={
            "size": 10,
            "color": theme.paper if tone == "few" else colour,
            "line": {"color": colour, "width": 2},
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": 100.0 * np.maximum(groups.high[at] - gap, 0.0),
            "arrayminus": 100.0 * np.maximum(gap - groups.low[at], 0.0),
            "thickness": 1.8,
            "width": 0,
            "color": colour,
        },
        hovertext=[_hover(groups, i) for i in at],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _hover(groups: Disagreement, i: int) -> str:
    gap, low, high = (float(part[i]) for part in (groups.gap, groups.low, groups.high))
    things = spoken("images")
    return (
        f"<b>{with_span(gap, low, high)} points</b>, {count(int(groups.count[i]))} {things},<br>"
        f"says {percent(float(groups.confidence[i]))}, "
        f"{percent(float(groups.agreement[i]))} of people agree"
    )
