"""One finding: flexible curve, scores by outcome, decision curve; to plotly figures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float, Int
from core.metrics.clinical import FlexibleCurve, NetBenefit
from core.metrics.records import BinTable
from core.screens.kit.bin_marks import filled
from core.screens.kit.numbers import THIN, count, percent
from core.screens.kit.theme import Theme, axis, faded, layout
from core.screens.xray.finding_figures import TONES, diagonal, dots, log_odds, reading, signed

STEPS = (0.0001, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)
HALF = 0.5
SQUARE_PX = 430
LOW_PX = 260
DECISION_PX = 330
SCORE_BINS = 48


def _share(value: float) -> str:
    return f"{100 * value:g}"


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
    for tone in TONES:
        of_tone = [i for i in at if reading(bins, i, few=few) == tone]
        if of_tone:
            figure.add_trace(dots(bins, of_tone, tone, (inside[0], inside[1]), theme, 10))
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
    return [_band(x, low, high, faded(colour, 0.13)), line]


def _band(x: Float, low: Float, high: Float, colour: str) -> go.Scatter:
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
    figure.add_trace(_band(x, low, high, faded(theme.accent, 0.18)))
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
    _name_lines(figure, (x, model, everyone), (bottom, top), theme)
    return signed(figure, theme)


def _name_lines(
    figure: go.Figure, lines: tuple[Float, Float, Float], ends: tuple[float, float], theme: Theme
) -> None:
    """Write what each line is beside it."""
    x, model, everyone = lines
    falls = np.interp(-0.7 * ends[0], -everyone, x)  # where treating all leaves the picture
    half = int(np.argmax(model <= model.max() / 2)) or x.size // 3  # beside the fall, off its line
    under = -10 if model[-1] > 0 else 10  # on the side of the line that the model leaves free
    for place, y, text, colour, shift in (
        (x[half], model[half], "follow the model", theme.ink, 10 if x[half] <= x.mean() else -10),
        (x[-1], 0.0, "treat none", theme.quiet, under),
        (min(falls, x[-1]), max(0.7 * ends[0], everyone[-1]), "treat all", theme.quiet, 0),
    ):
        beside = text != "treat none"
        figure.add_annotation(
            x=float(place),
            y=float(y),
            text=text,
            showarrow=False,
            xanchor="left" if beside and place <= x.mean() else "right",
            xshift=0 if not beside else -8 if place > x.mean() else 8,
            yshift=shift,
            font={"size": 13, "color": colour},
        )
