"""Findings of a clinical run as figures: log-odds diagrams, curves, outcomes, bands of scores."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isfinite
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float, Int
from core.metrics.clinical import Bands, FlexibleCurve, NetBenefit
from core.metrics.records import BinTable
from core.screens.kit.curves import area, marker, sheet
from core.screens.kit.marks import PRESENCE, filled, hover, tone
from core.screens.kit.numbers import (
    THIN,
    count,
    hundred_span,
    in_hundred,
    known,
    percent,
    points,
    two,
    two_span,
    whole_hundred,
)
from core.screens.kit.text import safe, short
from core.screens.kit.theme import Theme, Tone, axis, faded, name_axis
from core.screens.xray.words import BANNER, READINGS

TICKS = (0.002, 0.01, 0.05, 0.20, 0.50, 0.80, 0.95)
STEPS = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)  # ends of other axes
LOWEST, HIGHEST = 0.001, 0.98  # ends of a small diagram; what lies beyond sits on the edge
SMALL_PX = 196
LINE_PX = 18
TONES: tuple[Tone, ...] = ("few", "sound", "under", "over")
GROUP_PX = 30
HALF = 0.5
SQUARE_PX = 430
LOW_PX = 260
DECISION_PX = 330
MARGIN = (56, 22, 12, 46)  # left, right, top, bottom
BANDS_PX = 330
SCORE_BINS = 48
FEW_FILMS = 20  # in a band: below it there is no verdict, and no picture of 100
UNJUDGED = "no verdict: too few at this score"
NARROW = 0.10
NARROW_ODDS = 2.0


def whisker(
    colour: str, thickness: float, above: Float | list[float], below: Float | list[float]
) -> dict[str, Any]:
    """Return the intervals of dots: how far they reach above and below each."""
    return {
        "type": "data",
        "array": above,
        "arrayminus": below,
        "color": colour,
        "thickness": thickness,
        "width": 0,
    }


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
        text=BANNER,
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


def score_axis(
    theme: Theme, title: str, ends: tuple[float, float], ticks: tuple[float, ...] = STEPS
) -> dict[str, Any]:
    """Return a log-odds axis over some of the scores, ticks in percent."""
    return axis(
        theme,
        title,
        range=log_odds(np.array(ends)).tolist(),
        tickvals=log_odds(np.array(ticks)).tolist(),
        ticktext=[f"{100 * tick:g}" for tick in ticks],
        tickangle=0,
    )


def finding(bins: BinTable, few: bool, theme: Theme) -> go.Figure:
    """Draw one finding: labelled with it against the model's score, on log-odds axes.

    A rate at or under 0.1 % sits on the edge as a triangle. With too `few` events for any reading
    every dot is grey.
    """
    each = score_axis(theme, "", (LOWEST, HIGHEST), TICKS)
    each["tickfont"] = {"size": 11, "color": theme.quiet}
    figure = sheet(theme, SMALL_PX, each, each, margin=(30, 8, 6, 24))
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
    symbols = ["triangle-down" if rate <= ends[0] else "circle" for rate in bins.accuracy[at]]
    return go.Scatter(
        x=x,
        y=y,
        name=of_tone,
        mode="markers",
        marker=marker(theme, of_tone, size, 1.7) | {"symbol": symbols},
        error_y=whisker(theme.mark(of_tone), 1.4, high - y, y - low),
        customdata=at,
        hovertext=[hover(bins, i, PRESENCE) for i in at],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )


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
    ends = [0.0, *(end for dot in dots for end in (dot.low, dot.high))]
    pad = 0.06 * (max(ends) - min(ends) or 1.0)
    reach = [min(ends) - pad, max(ends) + pad]
    across = axis(theme, "In the large, log odds", range=reach, tickformat="~g")
    names = name_axis(theme, [safe(short(dot.name, 19)) for dot in dots])
    figure = sheet(theme, 92 + GROUP_PX * len(dots), across, names, margin=(132, 22, 26, 46))
    figure.add_vline(x=0, line={"color": theme.quiet, "width": 1.2})
    common = {"y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False, "x": 0}
    font = {"size": 12, "color": theme.quiet}
    for text, anchor, shift in (
        ("◂ states too much", "right", -6),
        ("states too little ▸", "left", 6),
    ):
        figure.add_annotation(text=text, xanchor=anchor, xshift=shift, font=font, **common)
    for i, dot in enumerate(dots):
        figure.add_scatter(
            x=[dot.value],
            y=[i],
            name=safe(dot.name),
            mode="markers",
            marker=marker(theme, dot.tone, 11),
            error_x=whisker(theme.mark(dot.tone), 2, [dot.high - dot.value], [dot.value - dot.low]),
            hovertext=[
                f"<b>{safe(dot.name)}</b>, {count(dot.n)}<br>{two(dot.value, signed=True)} "
                f"({two_span(dot.low, dot.high, signed=True)})"
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    return signed(figure, theme)


def reach(values: Float) -> tuple[float, float]:
    """Return the steps of the axis that hold these shares, within its outer ends."""
    known = values[np.isfinite(values)]
    low, high = known.min(initial=HALF), known.max(initial=0.0)
    first = int(np.searchsorted(STEPS, low, side="right")) - 1
    first = min(max(first, 0), len(STEPS) - 2)
    last = min(int(np.searchsorted(STEPS, high)), len(STEPS) - 1)
    return STEPS[first], STEPS[max(last, first + 1)]


def flexible(curve: FlexibleCurve | None, bins: BinTable, theme: Theme, *, few: bool) -> go.Figure:
    """Draw the flexible curve with its band over the equal-mass bins, on log-odds axes.

    There is no curve where there is one outcome only; of too `few` events it is grey.
    """
    at = filled(bins)
    ends = reach(np.concatenate([bins.confidence[at], bins.ci_high[at], bins.accuracy[at]]))
    if curve is not None:
        top = curve.at[np.searchsorted(np.cumsum(curve.rows), 0.999 * curve.rows.sum())]
        ends = ends[0], max(ends[1], reach(np.array([top]))[1])
    across = score_axis(theme, "The model’s score, %", ends) | {"constrain": "domain"}
    upright = score_axis(theme, "Labelled with it, %", ends) | {"constrain": "domain"}
    figure = sheet(theme, SQUARE_PX, across, upright | {"scaleanchor": "x"}, margin=MARGIN)
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
    return [area("band", (x, low), (x, high), faded(colour, 0.13)), line]


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
    ends = (float(by_outcome.edges[0]), float(by_outcome.edges[-1]))
    sides = [
        (counts / max(1, counts.sum()), counts, sign)
        for counts, sign in ((by_outcome.with_it, 1), (by_outcome.without, -1))
    ]
    top = max(float(share.max()) for share, _, _ in sides)
    step = 0.05 if top > 0.1 else 0.02
    ticks = np.arange(-np.ceil(top / step), np.ceil(top / step) + 1) * step
    upright = axis(
        theme,
        "Share of each group, %",
        range=[-1.12 * top, 1.12 * top],
        tickvals=ticks.tolist(),
        ticktext=[f"{100 * round(abs(t), 3):g}" for t in ticks],
    )
    figure = sheet(
        theme, LOW_PX, score_axis(theme, "The model’s score, %", ends), upright, margin=MARGIN
    )
    figure.update_layout(bargap=0, barmode="relative")
    places, edges = log_odds(by_outcome.edges), by_outcome.full_edges
    words = ("labelled with it", "not labelled with it")
    for (share, rows, sign), word in zip(sides, words, strict=True):
        figure.add_bar(
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
    """Draw net benefit, in net true alarms of 100 films, from a first to a last threshold.

    `spoken` says what each threshold of `net` does; the ends are fractions.
    """
    inside = np.flatnonzero((net.thresholds >= ends[0] - 1e-9) & (net.thresholds <= ends[1] + 1e-9))
    x = 100 * net.thresholds[inside]
    model, low, high, everyone = (
        100 * part[inside] for part in (net.model, net.low, net.high, net.treat_all)
    )
    top = max(float(high.max()), 100 * net.events / net.n) * 1.1 + 1e-9
    bottom = -0.28 * top
    preference = "Preference: the threshold, %<br>◂ miss none · flag few ▸"
    across = axis(theme, preference, range=[x[0], x[-1]])
    upright = axis(theme, "Benefit: net true alarms of 100", range=[bottom, top], nticks=7)
    figure = sheet(theme, DECISION_PX, across, upright, margin=(56, 22, 12, 62))
    low, high = np.clip(low, bottom, top), np.clip(high, bottom, top)
    figure.add_trace(area("band", (x, low), (x, high), faded(theme.accent, 0.18)))
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.6, "dash": "dot"})
    figure.add_scatter(
        x=x,
        y=everyone,
        name="treat all",
        mode="lines",
        line={"color": theme.quiet, "width": 1.8, "dash": "dash"},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=x,
        y=model,
        name="the model",
        mode="lines+markers",
        line={"color": theme.accent, "width": 2.4},
        marker={"size": 5, "color": theme.accent},
        hovertext=[spoken[int(i)] for i in inside],
        hovertemplate="%{hovertext}<extra></extra>",
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


@dataclass(frozen=True)
class IconArray:
    """100 films as icons, whole numbers: solid to `low`, paler to `filled`, dashed to `high`.

    The key says what solid, what paler and dashed, and what empty ones are.
    """

    low: int
    filled: int
    high: int
    key: tuple[str, str, str] = ("labelled at least", "may be", "not labelled")

    @property
    def text(self) -> str:
        """What the icons show, for those who do not see them."""
        return (
            f"{self.filled} of 100 icons are filled, {self.low} of them solid; dashed up to "
            f"{self.high}."
        )


@dataclass(frozen=True)
class Band:
    """Films of one band of scores and how many carry the label: one column of `Bands`."""

    low: float
    high: float
    count: int
    events: int
    mean: float
    share: float
    ci_low: float
    ci_high: float
    least: float
    most: float

    @classmethod
    def each(cls, bands: Bands) -> "tuple[Band, ...]":
        """Return the bands one by one."""
        columns = [getattr(bands, field.name).tolist() for field in fields(cls)]
        return tuple(cls(*values) for values in zip(*columns, strict=True))

    @property
    def few(self) -> bool:
        """Whether it holds too few films for a verdict, and for a number of 100."""
        return self.count < FEW_FILMS

    @property
    def tone(self) -> Tone:
        """Over or under where what is said is beyond chance among all bands.

        Sound is what fits an interval that is narrow in points and in odds: a risk of 1 % of which
        twice as much is said must not seem to be kept. Of few films nothing is said.
        """
        if self.few:
            return "few"
        if self.mean > self.most:
            return "over"
        if self.mean < self.least:
            return "under"
        low, high = self.ci_low, self.ci_high
        narrow = high - low <= NARROW and high * (1.0 - low) <= NARROW_ODDS * low * (1.0 - high)
        return "sound" if low <= self.mean <= high and narrow else "few"

    @property
    def reading(self) -> str:
        """What the model does in it, as tables say it; the same on every view."""
        return UNJUDGED if self.few else READINGS[self.tone]

    def range(self, joint: str = "to") -> str:
        """Return the band in words: "70 to 80", or with another word between its ends."""
        return f"{100 * self.low:.0f} {joint} {100 * self.high:.0f}"

    @property
    def name(self) -> str:
        """The band in percent: "20 to 30 %"."""
        return f"{self.range()}{THIN}%"

    @property
    def hundred(self) -> tuple[str, str, str]:
        """What was found and its bounds, as times in 100."""
        times = in_hundred(self.share, self.ci_low, self.ci_high)
        if not known(self.share):
            return times, times, times
        whole = str(whole_hundred(self.ci_low)), str(whole_hundred(self.ci_high))
        if whole[0] == whole[1]:  # the interval is narrower than one film of 100
            whole = points(self.ci_low, self.ci_high), points(self.ci_high, self.ci_low)
        return times, *whole

    def share_words(self, joint: str = "of") -> str:
        """Return what was found with its interval: "60 of 100 (46 to 73)"."""
        times = in_hundred(self.share, self.ci_low, self.ci_high)
        return f"{times} {joint} 100 ({hundred_span(self.ci_low, self.ci_high, self.share)})"

    @property
    def file_cells(self) -> tuple[float | None, ...]:
        """Mean score, share labelled and its interval for a file; None where it holds nothing."""
        values = (self.mean, self.share, self.ci_low, self.ci_high)
        return tuple(value if isfinite(value) else None for value in values)

    @property
    def icons(self) -> IconArray | None:
        """The films as icons; None where it holds too few."""
        if self.few:
            return None
        low, share, high = map(whole_hundred, (self.ci_low, self.share, self.ci_high))
        return IconArray(low, share, high)


def draw_bands(bands: Sequence[Band], chosen: int, theme: Theme) -> go.Figure:
    """Draw what was found in each band of scores against the score, of 100; one band marked."""
    filled = [band for band in bands if band.count]

    def crossed(place: tuple[int, int]) -> int:
        at, over = place
        return sum(
            abs(100 * band.mean - at) < 17
            and 100 * band.ci_low - 4 < 100 * band.mean + over < 100 * band.ci_high + 4
            for band in filled
        )

    # where the diagonal's name crosses the fewest intervals, and how far over it
    at, over = min(((76, 5), (26, 5), (76, -5), (26, -5)), key=crossed)
    square: dict[str, object] = {"range": [0, 100], "dtick": 20, "constrain": "domain"}
    figure = sheet(
        theme,
        BANDS_PX,
        axis(theme, "The model’s score", **square),
        axis(theme, "Labelled with it, of 100", scaleanchor="x", **square),
        margin=(56, 22, 36, 46),
    )
    figure.add_annotation(
        x=at,
        y=at + over,
        text="well calibrated",
        textangle=-45,
        showarrow=False,
        font={"size": 12, "color": theme.quiet},
    )
    figure.add_trace(diagonal(np.array([0.0, 100.0]), theme))
    for i, band in enumerate(bands):
        if not band.count:
            continue
        rate, low, high = 100 * band.share, band.ci_low, band.ci_high
        figure.add_scatter(
            x=[100 * band.mean],
            y=[rate],
            name=band.name,
            mode="markers",
            marker=marker(theme, band.tone, 15 if i == chosen else 9),
            error_y=whisker(
                theme.mark(band.tone), 1.6, [100 * (high - band.share)], [100 * (band.share - low)]
            ),
            customdata=[i],
            hovertext=[
                f"<b>Scored {band.name}</b>: {count(band.count)},<br>labelled with it "
                f"{band.share_words('in')}"
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    if bands[chosen].count:
        low, high = 100 * bands[chosen].low, 100 * bands[chosen].high
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
