"""Findings of a clinical run: small log-odds diagrams, and the bands of one; to plotly figures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float, Int
from core.metrics.clinical import FlexibleCurve, NetBenefit
from core.metrics.records import BinTable
from core.screens.kit.bin_marks import PRESENCE, filled, hover, tone
from core.screens.kit.numbers import (
    THIN,
    count,
    hundred_span,
    in_hundred,
    percent,
    two,
    two_span,
)
from core.screens.kit.text import safe, short
from core.screens.kit.theme import Theme, Tone, axis, faded, layout

RESEARCH = "Research use, not a medical device."
TICKS = (0.002, 0.01, 0.05, 0.20, 0.50, 0.80, 0.95)
TICK_TEXT = ("0.2", "1", "5", "20", "50", "80", "95")
LOWEST, HIGHEST = 0.001, 0.98  # ends of a small diagram; what lies beyond sits on the edge
SMALL_PX = 196
LINE_PX = 18
TONES: tuple[Tone, ...] = ("few", "sound", "under", "over")
BANDS_PX = 330
GROUP_PX = 30


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
        low, high = 100 * dots[chosen].low, 100 * dots[chosen].high
        figure.add_shape(
            type="rect",
            x0=low,
            x1=high,
            y0=0,
            y1=100,
            fillcolor=faded(theme.accent, 0.12),
            line={"width": 0},
            layer="below",
        )
        side, x = "center", (low + high) / 2
        if low < 10 or high > 90:  # a name in the middle would lie over an axis or be cut
            side, x = ("left", low) if low < 10 else ("right", high)
        figure.add_annotation(
            x=x,
            y=100,
            text="this band",
            xanchor=side,
            yanchor="bottom",
            yshift=8,  # the chosen dot reaches over the plot where all films have the label
            showarrow=False,
            font={"size": 13, "color": theme.ink},
        )
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
            f"{in_hundred(dot.rate, dot.ci_low, dot.ci_high)} in 100 "
            f"({hundred_span(dot.ci_low, dot.ci_high, dot.rate)})"
        ],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )


def band_name(low: float, high: float) -> str:
    """Return a band of scores in percent: "20 to 30 %"."""
    return f"{100 * low:.0f} to {100 * high:.0f}{THIN}%"


STEPS = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)
HALF = 0.5
SQUARE_PX = 430
LOW_PX = 260
DECISION_PX = 330
SCORE_BINS = 48


def _share(value: float) -> str:
    return f"{100 * value:g}"


@dataclass(frozen=True)
class GroupDot:
    """Calibration in the large of one group, in log odds; of no verdict where it may be chance."""

    name: str
    n: int
    value: float
    low: float
    high: float
    tone: Tone


def groups(dots: Sequence[GroupDot], theme: Theme) -> go.Figure:
    """Draw calibration in the large of each group with its interval, around the ideal of 0."""
    settings = layout(theme, 92 + GROUP_PX * len(dots))
    settings["margin"] = {"l": 132, "r": 22, "t": 26, "b": 46}
    ends = [0.0, *(end for dot in dots for end in (dot.low, dot.high))]
    pad = 0.06 * (max(ends) - min(ends) or 1.0)
    reach = [min(ends) - pad, max(ends) + pad]
    settings["xaxis"] = axis(theme, "In the large, log odds", range=reach, tickformat="~g")
    settings["yaxis"] = axis(
        theme,
        range=[len(dots) - 0.5, -0.5],
        tickvals=list(range(len(dots))),
        ticktext=[safe(short(dot.name, 19)) for dot in dots],
        tickfont={"size": 12.5, "color": theme.ink},
        showgrid=False,
    )
    figure = go.Figure(layout=settings)
    figure.add_vline(x=0, line={"color": theme.quiet, "width": 1.2})
    common = {"y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False, "x": 0}
    font = {"size": 12, "color": theme.quiet}
    for text, anchor, shift in (
        ("◂ states too much", "right", -6),
        ("states too little ▸", "left", 6),
    ):
        figure.add_annotation(text=text, xanchor=anchor, xshift=shift, font=font, **common)
    for i, dot in enumerate(dots):
        colour, ring = theme.mark(dot.tone), dot.tone in {"few", "sound"}
        figure.add_scatter(
            x=[dot.value],
            y=[i],
            name=safe(dot.name),
            mode="markers",
            marker={
                "size": 11,
                "color": theme.paper if ring else colour,
                "line": {"color": colour, "width": 2 if ring else 0},
            },
            error_x={
                "array": [dot.high - dot.value],
                "arrayminus": [dot.value - dot.low],
                "color": colour,
                "thickness": 2,
                "width": 0,
            },
            hovertext=[
                f"<b>{safe(dot.name)}</b>, {count(dot.n)}<br>{two(dot.value, signed=True)} "
                f"({two_span(dot.low, dot.high, signed=True)})"
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    return signed(figure, theme)


def score_axis(theme: Theme, title: str, ends: tuple[float, float]) -> dict[str, object]:
    """Return a log-odds axis over some of the scores, ticks in percent."""
    return axis(
        theme,
        title,
        range=log_odds(np.array(ends)).tolist(),
        tickvals=log_odds(np.array(STEPS)).tolist(),
        ticktext=[_share(step) for step in STEPS],
        tickangle=0,
    )


def reach(values: Float) -> tuple[float, float]:
    """Return the steps of the axis that hold these shares, within its outer ends."""
    known = values[np.isfinite(values)]
    low, high = known.min(initial=HALF), known.max(initial=0.0)
    first = int(np.searchsorted(STEPS, low, side="right")) - 1
    first = min(max(first, 0), len(STEPS) - 2)
    last = min(int(np.searchsorted(STEPS, high)), len(STEPS) - 1)
    return STEPS[first], STEPS[max(last, first + 1)]


def flexible(curve: FlexibleCurve | None, bins: BinTable, theme: Theme, *, few: bool) -> go.Figure:
    """Draw the flexible curve with its band over the binned dots, on log-odds axes.

    Parameters
    ----------
    curve : FlexibleCurve or None
        None where there is one outcome only.
    bins : BinTable
        Equal-mass bins.
    theme : Theme
        Light or dark.
    few : bool
        Too few events: curve and dots are grey.
    """
    at = filled(bins)
    ends = reach(np.concatenate([bins.confidence[at], bins.ci_high[at], bins.accuracy[at]]))
    if curve is not None:
        top = curve.at[np.searchsorted(np.cumsum(curve.rows), 0.999 * curve.rows.sum())]
        ends = ends[0], max(ends[1], reach(np.array([top]))[1])
    settings = layout(theme, SQUARE_PX)
    settings["margin"] = {"l": 56, "r": 22, "t": 12, "b": 46}
    settings["xaxis"] = score_axis(theme, "The model’s score, %", ends) | {"constrain": "domain"}
    settings["yaxis"] = score_axis(theme, "Labelled with it, %", ends) | {
        "scaleanchor": "x",
        "constrain": "domain",
    }
    figure = go.Figure(layout=settings)
    inside = np.array(ends)
    if curve is not None:
        figure.add_traces(_curve(curve, inside, theme, few=few))
    figure.add_trace(diagonal(log_odds(inside), theme))
    for of_tone in TONES:
        toned = [i for i in at if reading(bins, i, few=few) == of_tone]
        if toned:
            figure.add_trace(dots(bins, toned, of_tone, (inside[0], inside[1]), theme, 10))
    return signed(figure, theme)


def _curve(curve: FlexibleCurve, ends: Float, theme: Theme, *, few: bool) -> list[go.Scatter]:
    inside = (curve.at >= ends[0]) & (curve.at <= ends[1])
    x = log_odds(curve.at[inside])
    low, mid, high = (
        log_odds(np.clip(part[inside], *ends)) for part in (curve.low, curve.observed, curve.high)
    )
    colour = theme.quiet if few else theme.ink
    line = go.Scatter(
        x=x,
        y=mid,
        name="flexible curve",
        mode="lines",
        line={"color": colour, "width": 2, "dash": "dot" if few else "solid"},
        customdata=np.column_stack(
            [100 * part[inside] for part in (curve.at, curve.observed, curve.low, curve.high)]
        ),
        hovertemplate=f"scored %{{customdata[0]:.2f}}{THIN}%:<br>curve %{{customdata[1]:.2f}} "
        "(%{customdata[2]:.2f} to %{customdata[3]:.2f})<extra></extra>",
    )
    return [_area(x, low, high, faded(colour, 0.13)), line]


def _area(x: Float, low: Float, high: Float, colour: str) -> go.Scatter:
    """Return the area between two curves."""
    return go.Scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([low, high[::-1]]),
        name="band",
        mode="lines",
        fill="toself",
        fillcolor=colour,
        line={"width": 0},
        hoverinfo="skip",
    )


@dataclass(frozen=True, kw_only=True)
class ByOutcome:
    """Scores by outcome: edges (B + 1,) in (0, 1), and rows (B,) with and without the finding.

    The first bin holds so many rows `below` its edge too, the last so many `above`.
    """

    edges: Float
    with_it: Int
    without: Int
    below: int
    above: int

    @property
    def full_edges(self) -> Float:
        """Edges (B + 1,) of what the bins hold: 0 or 1 at an end where rows lie beyond."""
        edges = self.edges.copy()
        if self.below:
            edges[0] = 0.0
        if self.above:
            edges[-1] = 1.0
        return edges


def by_outcome(p: Float, y: np.ndarray) -> ByOutcome:
    """Return the histogram of scores on a log-odds scale; the ends hold what lies beyond.

    The axis leaves out one row of a thousand at either end, one of a hundred of either outcome,
    and what lies beyond its outermost steps.
    """
    sides = [np.quantile(p[side], [0.01, 0.99]) for side in (y, ~y) if side.any()]
    low, high = reach(np.concatenate([np.quantile(p, [0.001, 0.999]), *sides]))
    first, last = log_odds(np.array([low, high])).tolist()
    places = np.linspace(first, last, SCORE_BINS + 1)
    edges = 1.0 / (1.0 + np.exp(-places))
    at = np.clip(np.searchsorted(edges, p, side="left") - 1, 0, SCORE_BINS - 1)
    with_it, without = (
        np.bincount(at[side], minlength=SCORE_BINS).astype(np.int64) for side in (y, ~y)
    )
    edges[0], edges[-1] = low, high  # log-odds and back they would round
    below, above = int(np.count_nonzero(p < low)), int(np.count_nonzero(p > high))
    return ByOutcome(edges=edges, with_it=with_it, without=without, below=below, above=above)


def distributions(by_outcome: ByOutcome, films: str, theme: Theme) -> go.Figure:
    """Draw the scores of films with the finding upward, of those without it downward."""
    settings = layout(theme, LOW_PX)
    settings["margin"] = {"l": 56, "r": 22, "t": 12, "b": 46}
    settings["bargap"] = 0
    settings["barmode"] = "relative"
    ends = (float(by_outcome.edges[0]), float(by_outcome.edges[-1]))
    settings["xaxis"] = score_axis(theme, "The model’s score, %", ends)
    sides = [
        (counts / max(1, counts.sum()), counts, sign)
        for counts, sign in ((by_outcome.with_it, 1), (by_outcome.without, -1))
    ]
    top = max(float(share.max()) for share, _, _ in sides)
    step = 0.05 if top > 0.1 else 0.02
    ticks = np.arange(-np.ceil(top / step), np.ceil(top / step) + 1) * step
    settings["yaxis"] = axis(
        theme,
        "Share of each group, %",
        range=[-1.12 * top, 1.12 * top],
        tickvals=ticks.tolist(),
        ticktext=[_share(round(abs(t), 3)) for t in ticks],
    )
    figure = go.Figure(layout=settings)
    places, edges = log_odds(by_outcome.edges), by_outcome.full_edges
    words = ("labelled with it", "not labelled with it")
    for (share, rows, sign), word in zip(sides, words, strict=True):
        figure.add_trace(
            go.Bar(
                x=(places[:-1] + places[1:]) / 2,
                y=sign * share,
                width=np.diff(places),
                name=word,
                marker={"color": theme.accent if sign > 0 else theme.bars, "line": {"width": 0}},
                hovertext=[
                    f"{percent(float(a))} to {percent(float(b))}: {count(int(n))} {films} {word}"
                    for a, b, n in zip(edges[:-1], edges[1:], rows, strict=True)
                ],
                hovertemplate="%{hovertext}<extra></extra>",
            )
        )
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.2})
    middle = (places[0] + places[-1]) / 2
    for (share, rows, sign), word, colour in zip(
        sides, words, (theme.ink, theme.quiet), strict=True
    ):
        high = share @ (places[:-1] + places[1:]) / 2 > middle * share.sum()
        figure.add_annotation(
            x=0 if high else 1,  # where the bars of this side are not
            xref="paper",
            y=1.02 * sign * top,
            text=f"{word}: {count(int(rows.sum()))}",
            showarrow=False,
            xanchor="left" if high else "right",
            font={"size": 13, "color": colour},
        )
    return signed(figure, theme)


def decision(
    net: NetBenefit, spoken: Sequence[str], ends: tuple[float, float], theme: Theme
) -> go.Figure:
    """Draw net benefit, in net true alarms of 100 films, over a range of thresholds.

    Parameters
    ----------
    net : NetBenefit
        At its thresholds.
    spoken : (T,) sequence of str
        What is said of each threshold.
    ends : (float, float)
        First and last threshold, fractions.
    theme : Theme
        Light or dark.
    """
    inside = np.flatnonzero((net.thresholds >= ends[0] - 1e-9) & (net.thresholds <= ends[1] + 1e-9))
    x = 100 * net.thresholds[inside]
    model, low, high, everyone = (
        100 * part[inside] for part in (net.model, net.low, net.high, net.treat_all)
    )
    top = max(float(high.max()), 100 * net.events / net.n) * 1.1 + 1e-9
    bottom = -0.28 * top
    settings = layout(theme, DECISION_PX)
    settings["margin"] = {"l": 56, "r": 22, "t": 12, "b": 62}
    settings["xaxis"] = axis(
        theme, "Preference: the threshold, %<br>◂ miss none · flag few ▸", range=[x[0], x[-1]]
    )
    settings["yaxis"] = axis(
        theme, "Benefit: net true alarms of 100", range=[bottom, top], nticks=7
    )
    figure = go.Figure(layout=settings)
    low, high = np.clip(low, bottom, top), np.clip(high, bottom, top)
    figure.add_trace(_area(x, low, high, faded(theme.accent, 0.18)))
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.6, "dash": "dot"})
    figure.add_trace(
        go.Scatter(
            x=x,
            y=everyone,
            name="treat all",
            mode="lines",
            line={"color": theme.quiet, "width": 1.8, "dash": "dash"},
            hoverinfo="skip",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=x,
            y=model,
            name="the model",
            mode="lines+markers",
            line={"color": theme.accent, "width": 2.4},
            marker={"size": 5, "color": theme.accent},
            hovertext=[spoken[int(i)] for i in inside],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    # each line's name stands beside it, where it leaves the picture or falls
    falls = np.interp(-0.7 * bottom, -everyone, x)  # where treating all leaves the picture
    half = int(np.argmax(model <= model.max() / 2)) or x.size // 3  # beside the fall, off its line
    under = -10 if model[-1] > 0 else 10  # on the side of the line that the model leaves free
    for place, y, text, colour, shift in (
        (x[half], model[half], "follow the model", theme.ink, 10 if x[half] <= x.mean() else -10),
        (x[-1], 0.0, "treat none", theme.quiet, under),
        (min(falls, x[-1]), max(0.7 * bottom, everyone[-1]), "treat all", theme.quiet, 0),
    ):
        inner = text != "treat none"
        figure.add_annotation(
            x=float(place),
            y=float(y),
            text=text,
            showarrow=False,
            xanchor="left" if inner and place <= x.mean() else "right",
            xshift=0 if not inner else -8 if place > x.mean() else 8,
            yshift=shift,
            font={"size": 13, "color": colour},
        )
    return signed(figure, theme)
