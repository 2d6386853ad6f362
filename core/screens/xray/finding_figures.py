"""Findings of a clinical run: small log-odds diagrams, and the bands of one; to plotly figures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.metrics.records import BinTable
from core.screens.kit.bin_marks import PRESENCE, filled, hover, tone
from core.screens.kit.numbers import THIN, count, in_hundred
from core.screens.kit.theme import Theme, Tone, axis, faded, layout

RESEARCH = "Research use, not a medical device."
TICKS = (0.002, 0.01, 0.05, 0.20, 0.50, 0.80, 0.95)
TICK_TEXT = ("0.2", "1", "5", "20", "50", "80", "95")
LOWEST, HIGHEST = 0.001, 0.98  # ends of a small diagram; what lies beyond sits on the edge
SMALL_PX = 196
LINE_PX = 18
TONES: tuple[Tone, ...] = ("few", "sound", "under", "over")
BANDS_PX = 330


def signed(figure: go.Figure, theme: Theme) -> go.Figure:
    """Write into a figure what every copy of it must say, and make room for it; returns it."""
    below = int(figure.layout.margin.b) + LINE_PX
    figure.update_layout(margin={"b": below}, height=figure.layout.height + LINE_PX)
    figure.update_xaxes(title={"standoff": 4})
    figure.add_annotation(
        x=1,
        y=0,
        xref="paper",
        yref="paper",
        yshift=3 - below,
        text=RESEARCH,
        showarrow=False,
        xanchor="right",
        yanchor="bottom",
        font={"size": 11, "color": theme.quiet},
    )
    return figure


def log_odds(p: Float | float) -> Float:
    """Return the logarithm of the odds."""
    share = np.asarray(p, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(share) - np.log1p(-share))


def log_odds_axis(
    theme: Theme, title: str = "", ends: tuple[float, float] = (LOWEST, HIGHEST), **more: object
) -> dict[str, object]:
    """Return an axis in log-odds with ticks in percent."""
    base: dict[str, object] = {
        "range": log_odds(np.array(ends)).tolist(),
        "tickvals": log_odds(np.array(TICKS)).tolist(),
        "ticktext": list(TICK_TEXT),
        "tickangle": 0,
    }
    return axis(theme, title, **(base | more))


def finding(bins: BinTable, few: bool, theme: Theme) -> go.Figure:
    """Draw one finding: labelled with it against the model's score, on log-odds axes.

    Parameters
    ----------
    bins : BinTable
        Its bins; a rate at or under 0.1 % sits on the edge as a triangle.
    few : bool
        Too few events for any reading: every dot is grey.
    theme : Theme
        Light or dark.
    """
    settings = layout(theme, SMALL_PX)
    settings["margin"] = {"l": 30, "r": 8, "t": 6, "b": 24}
    settings["xaxis"] = log_odds_axis(theme, tickfont={"size": 11, "color": theme.quiet})
    settings["yaxis"] = log_odds_axis(theme, tickfont={"size": 11, "color": theme.quiet})
    figure = go.Figure(layout=settings)
    figure.add_trace(diagonal(log_odds(np.array([LOWEST, HIGHEST])), theme))
    for of_tone in TONES:
        at = [i for i in filled(bins) if reading(bins, i, few=few) == of_tone]
        if at:
            figure.add_trace(dots(bins, at, of_tone, (LOWEST, HIGHEST), theme, 8))
    return figure


def reading(bins: BinTable, index: int, *, few: bool) -> Tone:
    """Return what a bin says; with too few events none says anything."""
    return "few" if few else tone(bins, index)


def diagonal(ends: Float, theme: Theme) -> go.Scatter:
    """Return the line on which a model is well calibrated."""
    return go.Scatter(
        x=ends,
        y=ends,
        name="well calibrated",
        mode="lines",
        line={"color": theme.quiet, "width": 1.3, "dash": "dash"},
        hoverinfo="skip",
    )


def dots(
    bins: BinTable, at: list[int], of_tone: Tone, ends: tuple[float, float], theme: Theme, size: int
) -> go.Scatter:
    """Return the dots of bins of one tone, with their intervals, on log-odds axes.

    What lies beyond the ends of the axes sits on the edge; a rate at the lower end is a triangle.
    """
    x, y, low, high = (
        log_odds(np.clip(part[at], *ends))
        for part in (bins.confidence, bins.accuracy, bins.ci_low, bins.ci_high)
    )
    colour, ring = theme.mark(of_tone), of_tone in {"few", "sound"}
    return go.Scatter(
        x=x,
        y=y,
        name=of_tone,
        mode="markers",
        marker={
            "size": size,
            "symbol": [
                "triangle-down" if rate <= ends[0] else "circle" for rate in bins.accuracy[at]
            ],
            "color": theme.paper if ring else colour,
            "line": {"color": colour, "width": 1.7 if ring else 0},
        },
        error_y={
            "type": "data",
            "array": high - y,
            "arrayminus": y - low,
            "color": colour,
            "thickness": 1.4,
            "width": 0,
        },
        customdata=at,
        hovertext=[hover(bins, i, PRESENCE) for i in at],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )


@dataclass(frozen=True, kw_only=True)
class BandDot:
    """One band of scores; fractions, NaN where it holds nothing."""

    low: float
    high: float
    n: int
    says: float
    rate: float
    ci_low: float
    ci_high: float
    tone: Tone


def bands(dots: Sequence[BandDot], chosen: int, theme: Theme) -> go.Figure:
    """Draw what was found in each band of scores against the score, of 100; one band marked."""
    settings = layout(theme, BANDS_PX)
    at, over = _beside_diagonal(dots)
    settings["margin"] = {"l": 56, "r": 22, "t": 36, "b": 46}
    hundred: dict[str, object] = {"range": [0, 100], "dtick": 20}
    settings["xaxis"] = axis(theme, "The model’s score", constrain="domain", **hundred)
    settings["yaxis"] = axis(
        theme, "Labelled with it, of 100", scaleanchor="x", constrain="domain", **hundred
    )
    settings["annotations"] = [
        {
            "x": at,
            "y": at + over,
            "text": "well calibrated",
            "textangle": -45,
            "showarrow": False,
            "font": {"size": 12, "color": theme.quiet},
        }
    ]
    figure = go.Figure(layout=settings)
    figure.add_trace(diagonal(np.array([0.0, 100.0]), theme))
    for i, dot in enumerate(dots):
        if dot.n:
            figure.add_trace(_band_dot(dot, theme, index=i, chosen=i == chosen))
    if dots[chosen].n:
        shade, name = _band(dots[chosen], theme)
        figure.add_shape(shade)
        figure.add_annotation(name)
    return signed(figure, theme)


def _beside_diagonal(dots: Sequence[BandDot]) -> tuple[int, int]:
    """Return where the diagonal's name crosses the fewest intervals, and how far over it."""

    def crossed(place: tuple[int, int]) -> int:
        at, over = place
        return sum(
            abs(100 * dot.says - at) < 17
            and 100 * dot.ci_low - 4 < 100 * dot.says + over < 100 * dot.ci_high + 4
            for dot in dots
            if dot.n
        )

    return min(((76, 5), (26, 5), (76, -5), (26, -5)), key=crossed)


def _band_dot(dot: BandDot, theme: Theme, *, index: int, chosen: bool) -> go.Scatter:
    colour, ring = theme.mark(dot.tone), dot.tone in {"few", "sound"}
    return go.Scatter(
        x=[100 * dot.says],
        y=[100 * dot.rate],
        name=band_name(dot.low, dot.high),
        mode="markers",
        marker={
            "size": 15 if chosen else 9,
            "color": theme.paper if ring else colour,
            "line": {"color": colour, "width": 2 if ring else 0},
        },
        error_y={
            "type": "data",
            "array": [100 * (dot.ci_high - dot.rate)],
            "arrayminus": [100 * (dot.rate - dot.ci_low)],
            "color": colour,
            "thickness": 1.6,
            "width": 0,
        },
        customdata=[index],
        hovertext=[
            f"<b>Scored {band_name(dot.low, dot.high)}</b>: {count(dot.n)},<br>labelled with it "
            f"{in_hundred(dot.rate)} in 100 ({in_hundred(dot.ci_low)} to {in_hundred(dot.ci_high)})"
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )


def _band(dot: BandDot, theme: Theme) -> tuple[dict[str, object], dict[str, object]]:
    """Return the shade of the chosen band, and its name over the plot, over every dot."""
    low, high = 100 * dot.low, 100 * dot.high
    shade = {
        "type": "rect",
        "x0": low,
        "x1": high,
        "y0": 0,
        "y1": 100,
        "fillcolor": faded(theme.accent, 0.12),
        "line": {"width": 0},
        "layer": "below",
    }
    side, x = "center", (low + high) / 2
    if low < 10 or high > 90:  # a name in the middle would lie over an axis or be cut
        side, x = ("left", low) if low < 10 else ("right", high)
    name = {
        "x": x,
        "y": 100,
        "text": "this band",
        "xanchor": side,
        "yanchor": "bottom",
        "yshift": 8,  # the chosen dot reaches over the plot where all films have the label
        "showarrow": False,
        "font": {"size": 13, "color": theme.ink},
    }
    return shade, name


def band_name(low: float, high: float) -> str:
    """Return a band of scores in percent: "20 to 30 %"."""
    return f"{100 * low:.0f} to {100 * high:.0f}{THIN}%"
