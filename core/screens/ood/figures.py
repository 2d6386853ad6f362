"""ROC curves, and the scores of two sets on one axis with a threshold: to plotly figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.arrays import Counts, Float
from core.screens.kit.curves import legend
from core.screens.kit.numbers import percent, three, weight
from core.screens.kit.records import Cell
from core.screens.kit.row_noun import with_row_noun
from core.screens.kit.text import safe
from core.screens.kit.theme import Theme, axis, faded, layout

ROC_PX, DENSITY_PX = 470, 270
TICKS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
TICK_TEXT = ["0", "20", "40", "60", "80", "100 %"]
MOST_POWERS = 6  # named on a logarithmic axis
WRITTEN_OUT = -3  # smaller powers have an exponent
SMALLEST = 0.0001  # smaller scores likewise
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, kw_only=True)
class RocLine:
    """One curve: its name with the area beside it, its points, colour in `runs` and dash."""

    name: str
    area: float
    alarms: Float
    flagged: Float
    colour: int
    dash: str


@dataclass(frozen=True)
class OperatingPoint:
    """Where the threshold stands on a curve: shares of both sets that are flagged."""

    alarms: float
    flagged: float


def roc(lines: Sequence[RocLine], spot: OperatingPoint, theme: Theme) -> go.Figure:
    """Draw the curves, the line of a guess, and where the threshold stands."""
    settings = layout(theme, ROC_PX)
    settings["margin"] = {"l": 62, "r": 26, "t": 40, "b": 46}
    shares: dict[str, Any] = {"range": [0, 1], "tickvals": TICKS, "ticktext": TICK_TEXT}
    settings["xaxis"] = axis(
        theme, "In-distribution flagged (false alarms)", constrain="domain", **shares
    )
    settings["yaxis"] = axis(
        theme,
        "Out-of-distribution flagged (positive)",
        scaleanchor="x",
        constrain="domain",
        **shares,
    )
    settings["showlegend"] = True
    settings["legend"] = legend(theme)
    figure = go.Figure(layout=settings)
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        name="a guess",
        mode="lines",
        line={"color": theme.quiet, "width": 1.2, "dash": "dash"},
        hoverinfo="skip",
        showlegend=False,
    )
    for line in lines:
        name, colour = safe(line.name), theme.runs[line.colour % len(theme.runs)]
        figure.add_scatter(
            x=line.alarms,
            y=line.flagged,
            name=f"{name} <b>{line.area:.3f}</b>",
            mode="lines",
            line={"color": colour, "width": 2.2, "dash": line.dash, "simplify": False},
            hovertemplate=f"<b>{name}</b><br>%{{y:.1%}} flagged, %{{x:.1%}} false alarms"
            "<extra></extra>",
        )
    ring = {"size": 12, "color": theme.paper, "line": {"color": theme.ink, "width": 2.4}}
    figure.add_scatter(
        **spot_at(spot),
        name="threshold",
        mode="markers",
        marker=ring,
        showlegend=False,
        cliponaxis=False,
    )
    return figure


def spot_at(spot: OperatingPoint) -> dict[str, Any]:
    """Return what moves of the ring with the threshold; it is the last trace."""
    return {
        "x": [spot.alarms],
        "y": [spot.flagged],
        "hovertemplate": f"threshold: {spot_words(spot)}<extra></extra>",
    }


def spot_words(spot: OperatingPoint) -> str:
    """Return the shares of both sets that are flagged, in words."""
    return f"{percent(spot.flagged)} flagged, {percent(spot.alarms)} false alarms"


@dataclass(frozen=True, kw_only=True)
class Density:
    """Scores of both sets in common bins.

    Attributes
    ----------
    edges : (B + 1,) float64
        Ascending; the first and the last bin also hold what lies beyond them.
    inside, outside : (B,) int64
        Rows of each set in each bin; with weights float64, how many these stand for.
    names : two str
        What the sets are called.
    axis : str
        What the score is.
    threshold : float
        Above it rows are flagged.
    log : bool
        The axis is logarithmic.
    colour : int
        Of the set, in a theme's `runs`.
    """

    edges: Float
    inside: Counts
    outside: Counts
    names: tuple[str, str]
    axis: str
    threshold: float
    log: bool
    colour: int


def density(shown: Density, theme: Theme) -> go.Figure:
    """Draw both sets as outlines in percent of each, and tint what is flagged."""
    settings = layout(theme, DENSITY_PX)
    settings["margin"] = {"l": 44, "r": 26, "t": 52, "b": 46}
    ends = _ends(shown.edges, log=shown.log)
    across: dict[str, Any] = {"range": ends, "showgrid": False}
    if shown.log:
        powers = np.arange(np.ceil(ends[0] - 1e-9), np.floor(ends[1]) + 1)
        powers = powers[:: -(-len(powers) // MOST_POWERS)]
        texts = [_power(int(k)) for k in powers.tolist()]
        texts[0] = f"≤ {texts[0]}"
        across |= {"type": "log", "tickvals": (10.0**powers).tolist(), "ticktext": texts}
    settings["xaxis"] = axis(theme, shown.axis, **across)
    settings["yaxis"] = axis(theme, "% of the set", rangemode="tozero")
    settings["showlegend"] = True
    settings["legend"] = legend(theme) | {"y": 1.1}
    settings["annotations"] = [
        {
            "y": 1.0,
            "yref": "paper",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": 12.5, "color": theme.ink},
        }
    ]
    figure = go.Figure(layout=settings)
    high = float(shown.edges[-1])
    figure.add_vrect(
        x0=high, x1=high, fillcolor=faded(theme.quiet, 0.12), line_width=0, layer="below"
    )
    sets: tuple[tuple[Counts, str, dict[str, Any]], ...] = (
        (shown.inside, shown.names[0], {"color": theme.quiet, "dash": "dot"}),
        (shown.outside, shown.names[1], {"color": theme.runs[shown.colour % len(theme.runs)]}),
    )
    for values, name, line in sets:  # as steps; every step says its bin, its share and its rows
        share = 100.0 * values / values.sum()
        unit = with_row_noun("images") + ("" if values.dtype == np.int64 else " by weight")
        steps = zip(shown.edges[:-1], shown.edges[1:], share, values.tolist(), strict=True)
        words = [
            f"{_written(float(a))} to {_written(float(b))}: {percent(s / 100)}, {weight(n)} {unit}"
            for a, b, s, n in steps
        ]
        figure.add_scatter(
            x=shown.edges,
            y=np.append(share, share[-1]),
            name=safe(name),
            mode="lines",
            line=line | {"width": 1.8, "shape": "hv"},
            fill="tozeroy",
            fillcolor=faded(line["color"], 0.18),
            customdata=[*words, words[-1]],
            hovertemplate=f"<b>{safe(name)}</b><br>%{{customdata}}<extra></extra>",
        )
    figure.add_vline(x=high, line={"color": theme.ink, "width": 2})
    for path, value in line_at(shown.edges, shown.threshold, log=shown.log).items():
        figure.layout[path] = value
    return figure


def _power(exponent: int) -> str:
    """Return a power of ten in digits: 0.001, and from there down 10⁻⁴."""
    if exponent < WRITTEN_OUT:
        return f"10{str(exponent).translate(RAISED)}"
    return np.format_float_positional(10.0**exponent, trim="-")


def _written(score: float) -> str:
    """Return a score in digits; one that they would show as 0 as a multiple of a power of ten."""
    if not 0.0 < score < SMALLEST:
        return three(score)
    factor, _, exponent = f"{score:.1e}".partition("e")
    return f"{factor} × {_power(int(exponent))}"


def line_at(edges: Float, threshold: float, *, log: bool) -> dict[str, Cell]:
    """Return what moves with the threshold: tint, line and words, by their paths in the layout."""
    at = float(np.clip(threshold, edges[0], edges[-1]))
    place = float(np.log10(at)) if log else at
    left, right = _ends(edges, log=log)
    return {
        "shapes[0].x0": at,
        "shapes[1].x0": at,
        "shapes[1].x1": at,
        "annotations[0].x": place,
        "annotations[0].text": f"<b>flagged above {_written(threshold)}</b>",
        "annotations[0].xanchor": "right" if place - left > 0.5 * (right - left) else "left",
    }


def _ends(edges: Float, *, log: bool) -> list[float]:
    """Return where the axis ends, as Plotly takes it."""
    ends: list[float] = (np.log10(edges[[0, -1]]) if log else edges[[0, -1]]).tolist()
    return ends
