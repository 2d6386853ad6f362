"""Answering only when sure: the risk-coverage curve as a plotly figure."""

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float, Int
from core.screens.kit.numbers import percent
from core.screens.kit.theme import Theme, axis, faded, layout

MAX_POINTS = 400  # a page needs no more; the table and the area come from all of them


def thinned(size: int) -> Int:
    """Return at most MAX_POINTS positions of a curve, evenly spread, both ends kept."""
    return np.unique(np.linspace(0, size - 1, min(size, MAX_POINTS)).round().astype(np.int64))


def risk_coverage(coverage: Float, risk: Float, theme: Theme) -> go.Figure:
    """Draw the share of wrong answers among the surest ones against how many are kept.

    Parameters
    ----------
    coverage, risk : (G,) float64 in [0, 1]
        The curve, coverage ascending to 1; thinned by the caller where it is long.
    theme : Theme
        Light or dark.
    """
    overall = float(risk[-1])
    top = max(0.01, 1.15 * float(risk.max()))
    settings = layout(theme, 270)
    settings["xaxis"] = axis(
        theme,
        "Answered, most confident first (share)",
        range=[0, 1],
        tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1],
        ticktext=["0", "20", "40", "60", "80", "100 %"],
    )
    settings["yaxis"] = axis(theme, "Wrong among them", range=[0, top], nticks=5, tickformat=".3~p")
    figure = go.Figure(layout=settings)
    figure.add_hline(y=overall, line={"color": theme.quiet, "width": 1.2, "dash": "dot"})
    figure.add_trace(
        go.Scatter(
            x=coverage,
            y=risk,
            name="risk",
            mode="lines",
            line={"color": theme.ink, "width": 2, "shape": "hv"},
            fill="tozeroy",
            fillcolor=faded(theme.quiet, 0.1),
            hovertext=[_hover(c, r) for c, r in zip(coverage, risk, strict=True)],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    figure.add_annotation(
        text=f"answering everything: {percent(overall)} wrong",
        x=0.01,
        y=overall,
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 12.5, "color": theme.quiet},
    )
    return figure


def _hover(coverage: float, risk: float) -> str:
    return f"<b>Most confident {percent(coverage)}</b>:<br>wrong {percent(risk)}"
