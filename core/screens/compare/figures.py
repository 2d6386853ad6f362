"""Runs side by side: the forest of differences from a reference, and small reliability diagrams."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.metrics.records import BinTable
from core.screens.kit.curves import SHARES, hovers, sheet
from core.screens.kit.marks import BAND_MIN, RunMark, hover, speech
from core.screens.kit.text import clean, safe, short
from core.screens.kit.theme import Theme, axis

ROW_PX = 36
THIN_ROW = 0.2  # of a row, where a run is drawn without its name
CURVES_PX = 250
LETTER_PX = 20
NAME_CHARACTERS = 19  # of a line
SIDE_PX = 110  # beside the plot, for what lies left and right of zero
DARK_LETTERS = {"light": {1, 2}, "dark": set(range(6))}  # badges light enough for dark letters


@dataclass(frozen=True)
class ForestRow:
    """One difference, in the unit of the axis; `words` and `interval` stand at its right.

    One without a mark is a thin grey line among many, which says its name when pointed at.
    """

    name: str
    mark: RunMark | None
    value: float
    low: float
    high: float
    tie: bool
    words: str
    interval: str

    @property
    def hover(self) -> str:
        """What it says when pointed at."""
        return f"<b>{safe(self.name)}</b><br>{self.words} ({self.interval})"


@dataclass(frozen=True)
class Curve:
    """The bins of a run; one without a mark is a thin grey line among many."""

    name: str
    mark: RunMark | None
    bins: BinTable


def forest(rows: Sequence[ForestRow], theme: Theme, *, smaller: str, larger: str) -> go.Figure:
    """Draw differences from a reference with their intervals, in the order given.

    A tie is hollow and grey, others wear their run's colour; `smaller` and `larger` say what lies
    left and right of zero.
    """
    marked, thin, top = list[tuple[ForestRow, RunMark, float]](), [], -0.5
    for row in rows:
        height = 1.0 if row.mark else THIN_ROW
        if row.mark:
            marked.append((row, row.mark, top + height / 2))
        else:
            thin.append((row, top + height / 2))
        top += height
    total = sum(1.0 if row.mark else THIN_ROW for row in rows)
    # In at most two lines, and a margin as wide as them, so that a phone has room for the plot
    names = {}
    for row, _, _ in marked:
        lines = wrap(" ".join(clean(row.name).split()), NAME_CHARACTERS) or [""]
        if len(lines) > 2:
            lines = [lines[0], short(f"{lines[1]} {lines[2]}", NAME_CHARACTERS)]
        names[row.name] = "<br>".join(safe(line) for line in lines)
    longest = max((len(line) for name in names.values() for line in name.split("<br>")), default=0)
    printed = max((len(row.interval) for row, _, _ in marked), default=0)
    left, right = max(SIDE_PX, 28 + 13 * longest // 2), max(SIDE_PX, 30 + 6 * printed)
    low = min([0.0, *(row.low for row in rows)])
    high = max([0.0, *(row.high for row in rows)])
    pad = 0.06 * (high - low or 1.0)
    reach = [low - pad, high + pad]
    x = axis(theme, range=reach, nticks=3, tickangle=0, tickformat="~g")
    y_axis = axis(
        theme,
        range=[total - 0.5, -0.5],
        tickvals=[y for _, _, y in marked],
        ticktext=[names[row.name] for row, _, _ in marked],
        ticklabelstandoff=28,
        tickfont={"size": 12.5, "color": theme.ink},
        showgrid=False,
    )
    quiet = {"x": 0, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    quiet["font"] = {"size": 12, "color": theme.quiet}
    printed_at = {"xref": "paper", "x": 1, "xshift": 8, "align": "left", "xanchor": "left"}
    printed_at |= {"showarrow": False, "font": {"size": 12.5, "color": theme.ink}}
    annotations = [
        *(badge(mark, y, theme) | {"x": 0, "xshift": -8} for _, mark, y in marked),
        *(
            printed_at | {"text": f"<b>{row.words}</b><br>({row.interval})", "y": y}
            for row, _, y in marked
        ),
        quiet | {"text": f"◂ {smaller}", "xanchor": "right", "xshift": -6},
        quiet | {"text": f"{larger} ▸", "xanchor": "left", "xshift": 6},
    ]
    height, margin = forest_px(len(marked), len(thin)), (left, right, 26, 34)
    figure = sheet(theme, height, x, y_axis, margin=margin, annotations=annotations)
    figure.add_vline(x=0, line={"color": theme.quiet, "width": 1.2})
    if thin:
        figure.add_traces(_thin_traces(thin, theme))
    for row, mark, y in marked:
        colour = theme.quiet if row.tie else theme.runs[mark.colour]
        figure.add_scatter(
            x=[row.low, row.high],
            y=[y, y],
            name=f"{mark.letter} interval",
            mode="lines",
            line={"color": colour, "width": 2},
            hoverinfo="skip",
        )
        line = {"color": colour, "width": 2 if row.tie else 0}
        marker = {"size": 11, "color": theme.paper if row.tie else colour, "line": line}
        dot = {"name": mark.letter, "mode": "markers", "marker": marker, "cliponaxis": False}
        figure.add_scatter(x=[row.value], y=[y], **dot, **hovers([row.hover]))
    return figure


def forest_px(marked: int, thin: int) -> int:
    """Return how high a forest is of so many runs with a mark and without."""
    return max(CURVES_PX, round(ROW_PX * (marked + THIN_ROW * thin)) + 74)


def _thin_traces(places: Sequence[tuple[ForestRow, float]], theme: Theme) -> list[go.Scatter]:
    """Draw the runs without a mark: all lines as one trace, all dots as another."""
    lines = go.Scatter(
        x=[x for row, _ in places for x in (row.low, row.high, None)],
        y=[y for _, at in places for y in (at, at, None)],
        name="other intervals",
        mode="lines",
        line={"color": theme.bars, "width": 1},
        hoverinfo="skip",
    )
    colours = [theme.paper if row.tie else theme.bars for row, _ in places]
    dots = go.Scatter(
        x=[row.value for row, _ in places],
        y=[at for _, at in places],
        name="other runs",
        mode="markers",
        marker={"size": 5, "color": colours, "line": {"color": theme.bars, "width": 1}},
        **hovers([row.hover for row, _ in places]),
    )
    return [lines, dots]


def gap_curves(
    runs: Sequence[Curve], theme: Theme, *, target: int | None = None, height: int = CURVES_PX
) -> go.Figure:
    """Draw each run's gap over the common bins, in points, a line a run with its own dash.

    Bins with fewer than BAND_MIN rows are left out; letters stand right of the plot.
    """
    placed = [(run, np.flatnonzero(run.bins.count >= BAND_MIN)) for run in runs]
    curves = [
        (run, at, 100.0 * (run.bins.confidence[at] - run.bins.accuracy[at]))
        for run, at in placed
        if at.size
    ]
    low = min([0.0, *(float(y.min()) for _, _, y in curves)])
    high = max([0.0, *(float(y.max()) for _, _, y in curves)])
    pad = 0.08 * (high - low or 1.0)
    y_axis = axis(theme, range=[low - pad, high + pad], nticks=6, tickformat="~g")
    figure = sheet(theme, height, axis(theme, **SHARES), y_axis, margin=(40, 40, 26, 34))
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.2})
    thin = [(run, at, y) for run, at, y in curves if not run.mark]
    if thin:  # as one trace, with a break between two runs
        figure.add_scatter(
            x=[x for run, at, _ in thin for x in (*run.bins.confidence[at].tolist(), None)],
            y=[gap for _, _, y in thin for gap in (*y.tolist(), None)],
            name="other runs",
            mode="lines",
            line={"color": theme.bars, "width": 1},
            **hovers([text for run, at, _ in thin for text in (*[safe(run.name)] * at.size, "")]),
        )
    marked = [(run.bins, run.mark, at, y) for run, at, y in curves if run.mark]
    words = speech(target)
    for bins, mark, at, gaps in marked:
        figure.add_scatter(
            x=bins.confidence[at],
            y=gaps,
            name=mark.letter,
            mode="lines",
            line={"color": theme.runs[mark.colour], "width": 2, "dash": mark.dash},
            **hovers([f"<b>{mark.letter}</b><br>{hover(bins, int(i), words)}" for i in at]),
        )
    add_letters(figure, [(mark, float(gaps[-1])) for _, mark, _, gaps in marked], theme)
    quiet = {"xref": "paper", "yref": "paper", "showarrow": False, "x": 0}
    quiet |= {"xanchor": "left", "yanchor": "bottom", "font": {"size": 12, "color": theme.quiet}}
    figure.add_annotation(quiet, text="▲ says more", y=1)
    figure.add_annotation(quiet, text="▼ says less", y=0)
    return figure


def add_letters(figure: go.Figure, ends: Sequence[tuple[RunMark, float]], theme: Theme) -> None:
    """Put the letters of curves right of the plot, at their last heights where there is room.

    The figure has the range of its y axis, its height and its margins.
    """
    low, high = figure.layout.yaxis.range
    margin = figure.layout.margin
    plot_px = figure.layout.height - margin.t - margin.b
    room = LETTER_PX / plot_px * (high - low)
    heights = _spread_heights([end for _, end in ends], room, high - room / 2)
    for (mark, _), height in zip(ends, heights, strict=True):
        figure.add_annotation(**badge(mark, height, theme), x=1, xshift=24)


def _spread_heights(heights: Sequence[float], room: float, top: float) -> list[float]:
    """Return heights at least `room` apart and none above the top, in the same order from below.

    Plotly does not draw what stands beyond the ends of an axis.
    """
    placed = [min(height, top) for height in heights]
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + room)
    for place, i in enumerate(reversed(order)):
        placed[i] = min(placed[i], top - place * room)
    return placed


def letter_colour(mark: RunMark, theme: Theme) -> str:
    """Return the colour of a badge's letter, at least 4.5:1 on the run's colour."""
    dark = theme.ink if theme.name == "light" else theme.paper
    return dark if mark.colour in DARK_LETTERS[theme.name] else theme.paper


def badge(mark: RunMark, at: float, theme: Theme) -> dict[str, Any]:  # Any: plotly's settings
    """Return the letter of a run on its colour at that height, as an annotation without x."""
    return {
        "text": f"<b>{mark.letter}</b>",
        "xref": "paper",
        "y": at,
        "xanchor": "right",
        "showarrow": False,
        "width": 14,
        "borderpad": 2,
        "bgcolor": theme.runs[mark.colour],
        "font": {"size": 11.5, "color": letter_colour(mark, theme)},
    }
