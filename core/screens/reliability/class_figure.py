"""The signed gap of each class with its interval: rows of the class table to a plotly figure."""

from typing import Any

import plotly.graph_objects as go

from core.defaults import FALSE_ALARMS
from core.metrics.records import ClassRow, Gap
from core.screens.kit.numbers import count, percent, points, span
from core.screens.kit.text import safe, short
from core.screens.kit.theme import Theme, Tone, axis, layout
from core.screens.kit.units import spoken

ROW_PX = 23
Drawn = tuple[ClassRow, Gap]


def gap_tone(row: ClassRow) -> Tone:
    """Return over or under where the gap is beyond chance among all classes, else few."""
    if row.could_be_chance or row.gap is None or row.p_value is None:
        return "few"
    if row.p_value > FALSE_ALARMS:
        return "few"
    return "over" if row.gap.gap > 0.0 else "under"


def class_gaps(rows: tuple[ClassRow, ...], theme: Theme) -> go.Figure:
    """Draw a forest of gaps in points, in the order given, values printed at the right.

    Rows without answers have no gap and are left out; customdata is the index of the class.
    """
    drawn = [(row, row.gap) for row in rows if row.gap is not None]
    settings = layout(theme, ROW_PX * len(drawn) + 62)
    settings["margin"] = {"l": 132, "r": 138, "t": 8, "b": 46}
    settings["xaxis"] = axis(
        theme, "◂ says less · points · says more ▸", range=_reach(drawn), nticks=6
    )
    settings["yaxis"] = axis(
        theme,
        range=[len(drawn) - 0.5, -0.5],
        tickvals=list(range(len(drawn))),
        ticktext=[safe(short(row.name, 18)) for row, _ in drawn],
        tickfont={"size": 12.5, "color": theme.ink},
        showgrid=False,
    )
    settings["annotations"] = [_printed(gap, i, theme) for i, (_, gap) in enumerate(drawn)]
    figure = go.Figure(layout=settings)
    figure.add_vline(x=0, line={"color": theme.quiet, "width": 1.2})
    tones: tuple[Tone, ...] = ("few", "under", "over")
    for tone in tones:
        at = [i for i, (row, _) in enumerate(drawn) if gap_tone(row) == tone]
        if at:
            figure.add_trace(_points(drawn, at, tone, theme))
    return figure


def _reach(drawn: list[Drawn]) -> list[float]:
    ends = [100.0 * value for _, gap in drawn for value in (gap.gap, gap.low, gap.high)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    pad = 0.04 * max(high - low, 1.0)
    return [low - (pad if low < 0 else 0.2 * pad), high + pad]


def _points(drawn: list[Drawn], at: list[int], tone: Tone, theme: Theme) -> go.Scatter:
    colour = theme.mark(tone)
    ring = tone == "few"
    gaps = [drawn[i][1] for i in at]
    return go.Scatter(
        x=[100.0 * gap.gap for gap in gaps],
        y=at,
        name=tone,
        mode="markers",
        marker={
            "size": 9,
            "color": theme.paper if ring else colour,
            "line": {"color": colour, "width": 2 if ring else 0},
        },
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [100.0 * max(0.0, gap.high - gap.gap) for gap in gaps],
            "arrayminus": [100.0 * max(0.0, gap.gap - gap.low) for gap in gaps],
            "thickness": 1.8,
            "width": 0,
            "color": colour,
        },
        customdata=[drawn[i][0].index for i in at],
        hovertext=[_hover(drawn[i][0]) for i in at],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )


def _hover(row: ClassRow) -> str:
    noun = spoken("image" if row.n == 1 else "images")
    return (
        f"<b>{safe(short(row.name, 60))}</b>: {count(row.n)} {noun},<br>"
        f"says {percent(row.confidence)}, right {percent(row.accuracy)}"
    )


def _printed(gap: Gap, at: int, theme: Theme) -> dict[str, Any]:
    value = points(gap.gap, gap.low, gap.high, signed=True)
    interval = span(gap.low, gap.high, signed=True)
    return {
        "text": f"{value} <span style='color:{theme.quiet}'>({interval})</span>",
        "xref": "paper",
        "x": 1.02,
        "y": at,
        "xanchor": "left",
        "showarrow": False,
        "font": {"size": 12.5, "color": theme.ink},
    }
