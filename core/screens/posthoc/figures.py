"""The landscape over gamma and temperature, and the reliability diagram at a temperature."""

from typing import Final

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.calibrators.search import GAMMAS, Landscape
from core.screens.kit.curves import sheet
from core.screens.kit.diagram import GROWTH, SMALLEST, share_axis
from core.screens.kit.marks import speech
from core.screens.kit.numbers import MINUS
from core.screens.kit.theme import Theme, axis
from core.studies.temperatures import TemperatureStep

HEIGHT = 330
TICKS = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
WORDS_LEFT_FROM = 2.2  # a temperature right of which words would leave the map
CLOSE = 0.3  # a gamma so near to 0 that its words would cover those of temperature scaling
WALK_HEIGHT: Final = 356
DECADES = 3.5  # of the excess over the best that colours tell apart


def excess(surface: Landscape) -> Float:
    """Return how far each value lies above the best one, in the unit of the colour bar, (G, M)."""
    scale = 1000.0 if surface.objective == "nll" else 100.0
    return np.asarray(scale * (surface.values - surface.values.min()))


def unit(surface: Landscape) -> str:
    """Return the unit of `excess`."""
    return "1/1000 nat" if surface.objective == "nll" else "points"


def landscape(surface: Landscape, line: Float, theme: Theme) -> go.Figure:
    """Draw the criterion as a heat map, the best temperature for each gamma, and the best place.

    `line` holds a temperature for each of GAMMAS. Colours are logarithmic in the
    excess over the best; bright is good.
    """
    x = axis(
        theme,
        "Temperature T",
        type="log",
        range=np.log10(surface.temperatures[[0, -1]]).tolist(),
        tickvals=TICKS,
        ticktext=[f"{tick:g}" for tick in TICKS],
        showgrid=False,
    )
    gammas = [float(surface.gammas[0]), float(surface.gammas[-1])]
    y = axis(theme, "Focal map γ", range=gammas, showgrid=False)
    # Names of the best place and the line where there is room, and of the plain temperatures, which
    # can be read on any colour of the map
    best = surface.best
    place = f"best: T = {best.temperature:.2f}, γ = {best.gamma:.2f}".replace("-", MINUS)
    ends = np.log10([best.temperature, min(line[-4], surface.temperatures[-1])])
    right = {"xshift": 12, "xanchor": "left"}
    left = {"xshift": -12, "xanchor": "right"}
    words = [
        {"text": place, "x": ends[0], "y": best.gamma}
        | (right if best.temperature < WORDS_LEFT_FROM else left),
        {"text": "best T for each γ", "x": ends[1], "y": GAMMAS[-4]} | left | {"xshift": -10},
    ]
    if abs(best.gamma) > CLOSE:
        start = {"x": np.log10(surface.temperatures[0]), "y": 0, "yanchor": "middle"}
        words.append({"text": "temperature scaling: γ = 0", "xanchor": "left"} | start)
    box = {"showarrow": False, "bgcolor": theme.paper, "opacity": 0.9, "borderpad": 3}
    box["font"] = {"size": 12.5, "color": theme.ink}
    annotations = [box | annotation for annotation in words]
    figure = sheet(theme, HEIGHT, x, y, margin=(56, 20, 14, 46), annotations=annotations)
    above = excess(surface)
    low = -1.0 if surface.objective != "nll" else 0.0
    ticks = [k for k in range(-1, 6) if low <= k <= low + DECADES]
    title = {"text": f"above best,<br>{unit(surface)}", "font": {"size": 12.5, "color": theme.ink}}
    figure.add_heatmap(
        x=surface.temperatures,
        y=surface.gammas,
        z=np.log10(np.maximum(above, 1e-9)),
        customdata=above,
        zmin=low,
        zmax=low + DECADES,
        colorscale="Cividis",
        reversescale=True,
        colorbar={
            "title": title,
            "tickvals": ticks,
            "ticktext": [f"{10.0**k:g}" for k in ticks],
            "tickfont": {"size": 12, "color": theme.quiet},
            "thickness": 14,
            "outlinewidth": 0,
        },
        hovertemplate="γ = %{y}, T = %{x:.2f}<br>%{customdata:.3~g} "
        f"{unit(surface)} above the best<extra></extra>",
    )
    figure.add_hline(y=0, line={"color": "#FFFFFF", "width": 1.2, "dash": "dot"})
    for width, colour in ((5, "#FFFFFF"), (2, "#000000")):
        figure.add_scatter(
            x=line,
            y=GAMMAS,
            name="best T for each γ",
            mode="lines",
            line={"color": colour, "width": width},
            hovertemplate="γ = %{y}: best T = %{x:.2f}<extra></extra>",
        )
    figure.add_scatter(
        x=[best.temperature],
        y=[best.gamma],
        name="best",
        mode="markers",
        marker={"size": 12, "color": "#FFFFFF", "line": {"color": "#000000", "width": 2.5}},
        hovertemplate=f"{place}<extra></extra>",
    )
    return figure


def dots_at(step: TemperatureStep) -> dict[str, list[float]]:
    """Return the dots of the filled bins at one step, by property of their trace."""
    bins = step.bins
    filled = np.flatnonzero(bins.count > 0)
    count = bins.count[filled]
    return {
        "x": (bins.confidence[filled] / count).tolist(),
        "y": (bins.hits[filled] / count).tolist(),
        "marker.size": (SMALLEST + GROWTH * np.sqrt(count / count.sum())).tolist(),
    }


def walk_diagram(
    target: int | None, at: TemperatureStep, ghosts: list[TemperatureStep], theme: Theme
) -> go.Figure:
    """Draw the bins at one step, last and filled, over rings at the steps of ghosts.

    The first ghost is a circle, the second a diamond.
    """
    words = speech(target)
    square = {"scaleanchor": "x", "constrain": "domain", "constraintoward": "bottom"}
    x = share_axis(theme, words.claim, constrain="domain")
    figure = sheet(theme, WALK_HEIGHT, x, share_axis(theme, words.actual, **square))
    diagonal = {"color": theme.quiet, "width": 1.4, "dash": "dash"}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=diagonal, hoverinfo="skip")
    for ghost, symbol in zip(ghosts, ("circle-open", "diamond-open"), strict=False):
        dots = dots_at(ghost)
        marker = {"symbol": symbol, "size": dots["marker.size"], "color": theme.quiet}
        figure.add_scatter(
            x=dots["x"],
            y=dots["y"],
            mode="markers",
            marker=marker | {"opacity": 0.7},
            hoverinfo="skip",
            cliponaxis=False,
        )
    dots = dots_at(at)
    figure.add_scatter(
        x=dots["x"],
        y=dots["y"],
        mode="markers",
        marker={"size": dots["marker.size"], "color": theme.accent, "opacity": 0.9},
        hovertemplate="%{x:.1%} stated, %{y:.1%} came true<extra></extra>",
        cliponaxis=False,
    )
    return figure
