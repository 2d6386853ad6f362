"""Curves of a training: one measure by epoch, of one run or of two; numpy and plotly."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float, Int
from core.screens.kit.curves import legend
from core.screens.kit.text import safe, short
from core.screens.kit.theme import Theme, axis, layout

Unit = Literal["share", "points", "nats", "number", "rate"]
IN_PERCENT = ("share", "points")  # of fractions
HEIGHT = 212
WITH_LEGEND = 26  # more pixels
MOST_POINTS = 600  # of a line: more than it has pixels
DOTS_UP_TO = 12  # epochs with a value: so few are shown each
MOST_TICKS = 6
DECADE = 10.0  # a rate that falls by more is drawn on a logarithmic axis


@dataclass(frozen=True, kw_only=True)
class MeasureCurve:
    """One measure of one run.

    Attributes
    ----------
    name : str
        What the hover and, where there is one, the legend call it.
    epoch : (E,) int64
        From 1: after so many epochs.
    value : (E,) float64
        NaN where there was nothing to measure.
    colour : int
        Position in a theme's `runs`.
    dash : str
        Plotly's name.
    width : float
    """

    name: str
    epoch: Int
    value: Float
    colour: int
    dash: str = "solid"
    width: float = 2.0


@dataclass(frozen=True, kw_only=True)
class MeasurePanel:
    """What is drawn: lines of one unit over the epochs that were asked for."""

    lines: tuple[MeasureCurve, ...]
    unit: Unit
    n_epochs: int
    named: bool = False
    across: str = "epoch"


def kept(value: Float, most: int = MOST_POINTS) -> Int:
    """Return which points of a long line are drawn: of each stretch the lowest and the highest.

    First and last stay too, so a spike of one epoch in ten thousand is seen.
    """
    n = len(value)
    if n <= most:
        return np.arange(n)
    chosen = {0, n - 1}
    for block in np.array_split(np.arange(n), most // 2 - 1):
        known = block[np.isfinite(value[block])]
        if known.size:
            chosen |= {int(known[value[known].argmin()]), int(known[value[known].argmax()])}
        else:
            chosen.add(int(block[0]))
    return np.array(sorted(chosen))


def panel(measure: MeasurePanel, theme: Theme) -> go.Figure:
    """Draw a measure by epoch; the axis holds all epochs that were asked for from the start."""
    settings = layout(theme, HEIGHT + WITH_LEGEND * measure.named)
    settings["margin"] = {"l": 52, "r": 18, "t": 14 + WITH_LEGEND * measure.named, "b": 38}
    last = max([measure.n_epochs, *(int(line.epoch.max(initial=1)) for line in measure.lines)])
    pad = 0.03 * max(last - 1, 1)
    settings["xaxis"] = axis(
        theme, measure.across, range=[1 - pad, last + pad], showgrid=False, **_ticks(last)
    )
    settings["yaxis"] = axis(theme, **_scale(measure))
    settings["showlegend"] = measure.named
    settings["legend"] = legend(theme)
    figure = go.Figure(layout=settings)
    figure.add_traces([_trace(line, measure, theme) for line in measure.lines])
    return figure


def _ticks(last: int) -> dict[str, Any]:  # Any: plotly's settings
    """Return ticks at whole epochs only."""
    few = {"tick0": 1, "dtick": 1} if last <= MOST_TICKS else {"nticks": MOST_TICKS}
    return {"tickformat": ",d", **few}


def _scale(measure: MeasurePanel) -> dict[str, Any]:  # Any: plotly's settings
    if measure.unit == "share":
        return {"rangemode": "tozero", "ticksuffix": " %", "nticks": 5}
    if measure.unit in ("nats", "points"):
        return {"rangemode": "tozero", "nticks": 5}
    values = np.concatenate([line.value for line in measure.lines])
    values = values[np.isfinite(values) & (values > 0)]
    if measure.unit == "rate" and values.size and values.max() > DECADE * values.min():
        return {"type": "log", "nticks": 5, "exponentformat": "power", "dtick": 1}
    return {"nticks": 5}


def _trace(line: MeasureCurve, measure: MeasurePanel, theme: Theme) -> go.Scatter:
    at = kept(line.value)
    colour = theme.runs[line.colour]
    known = int(np.isfinite(line.value).sum())
    name = safe(short(line.name, 40))
    digits = {"share": ".2f} %", "points": ".2f}"}.get(measure.unit, ".3~g}")
    return go.Scatter(
        x=line.epoch[at],
        y=(100.0 if measure.unit in IN_PERCENT else 1.0) * line.value[at],
        name=name,
        mode="lines+markers" if known <= DOTS_UP_TO else "lines",
        line={"color": colour, "width": line.width, "dash": line.dash, "simplify": False},
        marker={"size": 4.5, "color": colour},
        hovertemplate=f"<b>{name}</b><br>{measure.across} %{{x}}: %{{y:{digits}<extra></extra>",
    )
