"""Every bin by itself over the epochs: small panels beside one another, on common scales.

The panels of a row share one pair of axes, panel j from j * STRIDE to j * STRIDE + 1: that keeps
dozens of them as quick to draw as one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float, Int
from core.screens.gamma.heatmaps import GAMMA_REACH, HistoryGrid, ringed, root, some
from core.screens.kit.numbers import MINUS
from core.screens.kit.theme import Theme, axis, faded, layout

STRIDE = 1.16
MOST_POINTS = 160  # of a line in a panel, which is some eighty pixels wide
TICKS = (-20.0, -5.0, -2.0, -1.0, -0.2, 0.2, 1.0, 2.0, 5.0, 10.0, 20.0)
HEIGHT, LOW_HEIGHT = 400, 210  # px, of three rows and of one
LEAST_GAP = 5.0  # points
CROWDED = 16  # panels; more have no room for a number beside the bin
SHARES = {"range": [0, 1.02], "tickvals": [0, 0.5, 1], "ticktext": ["0", "50", "100 %"]}
Settings = dict[str, Any]  # Any: plotly's nested settings


@dataclass(frozen=True, eq=False)
class SecondHistory:
    """A second history drawn over the first: its arrays, colour in the palette of runs, dash."""

    grid: HistoryGrid
    colour: int
    dash: str


@dataclass(frozen=True)
class PanelChoice:
    """Which bins have a panel, and which epoch and bin are chosen; all of them places."""

    bins: tuple[int, ...]
    at: int
    of: int


def small_multiples(
    grid: HistoryGrid, place: PanelChoice, other: SecondHistory | None, theme: Theme
) -> go.Figure:
    """Draw gap, gamma and edges of each bin, as in Ghosh et al. 2022, figure 5.

    `other` has as many bins.
    """
    grids = [grid] if other is None else [grid, other.grid]
    spread = _PanelAxis.over(grids, place.bins)
    reach = max(
        LEAST_GAP, max(float(np.abs(_gap(history)[:, place.bins]).max()) for history in grids)
    )
    whole = f"{reach:.0f}"
    yaxis = {
        "range": [-1.05 * reach, 1.05 * reach],
        "tickvals": [-reach, 0, reach],
        "ticktext": [f"{MINUS}{whole}", "0", f"+{whole}"],
    }
    gammas = np.concatenate([_gamma(grid)[:, place.bins].ravel() for grid in grids])
    low, high = min(0.0, float(gammas.min())), max(1.0, float(gammas.max()))
    inside = [t for t in TICKS if low <= float(root(np.asarray(t))) <= high]
    ends = {t for t in (min(inside), max(inside), 1.0) if abs(t) > 0.5 or t < 0}
    yaxis2 = {
        "range": [low - 0.06 * (high - low), high + 0.08 * (high - low)],
        "tickvals": [0.0, *(float(root(np.asarray(t))) for t in sorted(ends))],
        "ticktext": ["0", *(f"{t:g}".replace("-", MINUS) for t in sorted(ends))],
    }
    settings = _frame(spread, HEIGHT, theme) | {
        "yaxis": axis(theme, "Gap, points", domain=[0.72, 1.0], **yaxis),
        "yaxis2": axis(theme, "γ", domain=[0.34, 0.64], **yaxis2),
        "yaxis3": axis(theme, "Edges", domain=[0.0, 0.26], **SHARES),
    }
    settings["xaxis"]["anchor"] = "y3"
    now = grid.gamma[place.at]
    settings |= _heads(spread, place, float(grid.epoch[place.at]), now, theme)
    traces = [
        *_areas(spread, grid, _gap, "y", theme),
        *_areas(spread, grid, _gamma, "y2", theme),
        _band(spread, grid, theme),
        _frozen(spread, grid, reach, theme),
    ]
    if other is not None:
        line = {"color": theme.runs[other.colour], "dash": other.dash, "width": 1.6}
        for values_of, on in ((_gap, "y"), (_gamma, "y2")):
            traces.append(_line(*spread.line(other.grid, values_of), on, line))
    traces.append(_turns(spread, grid, theme))
    return go.Figure(data=traces, layout=settings)


def correspondence(grid: HistoryGrid, place: PanelChoice, theme: Theme) -> go.Figure:
    """Draw C_train, C_val (stars) and A_val (dashes) by bin: Ghosh et al. 2022, figures 2 and 3(d).

    An epoch in which no training row fell into a bin leaves a gap in its line.
    """
    spread = _PanelAxis.over([grid], place.bins)
    settings = _frame(spread, LOW_HEIGHT, theme)
    settings["yaxis"] = axis(theme, "Confidence", **SHARES)
    now = grid.train_confidence[place.at]
    settings |= _heads(spread, place, float(grid.epoch[place.at]), now, theme)
    lines = (
        # small dots, so that an epoch between two gaps is seen
        ("C_train", _train, {"color": theme.ink, "width": 2}, {"size": 2.5, "color": theme.ink}),
        (
            "C_val",
            _validation,
            {"color": theme.quiet, "width": 1},
            {"symbol": "star", "size": 6, "color": theme.quiet, "maxdisplayed": 6 * len(now)},
        ),
        ("A_val", _accuracy, {"color": theme.under, "width": 1.4, "dash": "dash"}, {"size": 1}),
    )
    traces = [
        _line(
            *spread.line(grid, values_of), "y", line, name=name, mode="lines+markers", marker=marker
        )
        for name, values_of, line, marker in lines
    ]
    return go.Figure(data=traces, layout=settings)


def _gap(grid: HistoryGrid) -> Float:
    return 100.0 * grid.gap


def _gamma(grid: HistoryGrid) -> Float:
    return root(np.clip(grid.gamma, -GAMMA_REACH, GAMMA_REACH))


def _train(grid: HistoryGrid) -> Float:
    return grid.train_confidence


def _accuracy(grid: HistoryGrid) -> Float:
    return grid.accuracy


def _validation(grid: HistoryGrid) -> Float:
    return grid.confidence


@dataclass(frozen=True, eq=False)
class _PanelAxis:
    """Where epochs and bins lie on the common x axis."""

    bins: tuple[int, ...]
    first: float
    last: float

    @classmethod
    def over(cls, grids: list[HistoryGrid], bins: tuple[int, ...]) -> "_PanelAxis":
        """Return the places that all epochs of these histories need."""
        ends = [(float(grid.epoch[0]), float(grid.epoch[-1])) for grid in grids]
        first, last = min(e[0] for e in ends), max(e[1] for e in ends)
        return cls(bins, first, last)

    def x(self, panel: int, epoch: Int | Float) -> Float:
        """Return where epochs lie in a panel."""
        span = (self.last - self.first) or 1.0
        return np.asarray(panel * STRIDE + (epoch - self.first) / span)

    def line(
        self, grid: HistoryGrid, values_of: Callable[[HistoryGrid], Float]
    ) -> tuple[Float, Float]:
        """Return one line through all panels, broken between them."""
        at = some(grid.n_updates, MOST_POINTS)
        values = values_of(grid)
        x = [np.append(self.x(j, grid.epoch[at]), np.nan) for j in range(len(self.bins))]
        y = [np.append(values[at, b], np.nan) for b in self.bins]
        return np.concatenate(x), np.concatenate(y)

    def area(
        self, grid: HistoryGrid, values_of: Callable[[HistoryGrid], Float]
    ) -> tuple[Float, Float]:
        """Return the line with its way along zero from panel to panel, to be filled."""
        at = some(grid.n_updates, MOST_POINTS)
        ends = np.pad(at, 1, mode="edge")
        values = values_of(grid)
        x = [self.x(j, grid.epoch[ends]) for j in range(len(self.bins))]
        return np.concatenate(x), np.concatenate([np.pad(values[at, b], 1) for b in self.bins])


def _frame(spread: "_PanelAxis", height: int, theme: Theme) -> Settings:
    settings = layout(theme, height)
    settings["margin"] = {"l": 52, "r": 10, "t": 26, "b": 30}
    settings["hovermode"] = False
    ends = {spread.first: 0.0} | ({spread.last: 1.0} if spread.last > spread.first else {})
    settings["xaxis"] = axis(
        theme,
        range=[-0.06, (len(spread.bins) - 1) * STRIDE + 1.06],
        tickvals=list(ends.values()),
        ticktext=[f"{epoch:g}" for epoch in ends],
        showgrid=False,
    )
    return settings


def _areas(
    spread: _PanelAxis,
    grid: HistoryGrid,
    values_of: Callable[[HistoryGrid], Float],
    on: str,
    theme: Theme,
) -> list[go.Scatter]:
    """Fill above zero in the colour of over, below in that of under, and draw the line."""
    x, y = spread.area(grid, values_of)
    parts = ((np.maximum(y, 0), theme.over), (np.minimum(y, 0), theme.under))
    return [
        *(
            _line(x, part, on, {"width": 0}, fill="tozeroy", fillcolor=faded(colour, 0.35))
            for part, colour in parts
        ),
        _line(*spread.line(grid, values_of), on, {"width": 1.4, "color": theme.ink}),
    ]


def _line(x: Float, y: Float, on: str, line: Settings, **more: object) -> go.Scatter:
    settings: Settings = {"mode": "lines", "yaxis": on, "line": {"simplify": False} | line}
    return go.Scatter(x=x.astype(np.float32), y=y.astype(np.float32), **(settings | more))


def _band(spread: _PanelAxis, grid: HistoryGrid, theme: Theme) -> go.Scatter:
    """Draw the range of certainty that each bin spans."""
    there = some(grid.n_updates, MOST_POINTS)
    both = np.concatenate([there, there[::-1]])
    x = [np.append(spread.x(j, grid.epoch[both]), np.nan) for j in range(len(spread.bins))]
    ways = [np.concatenate([grid.upper[there, b], grid.lower[there[::-1], b]]) for b in spread.bins]
    y = [np.append(way, np.nan) for way in ways]
    return _line(
        np.concatenate(x),
        np.concatenate(y),
        "y3",
        {"width": 1, "color": theme.ink},
        fill="toself",
        fillcolor=faded(theme.quiet, 0.3),
    )


def _frozen(spread: _PanelAxis, grid: HistoryGrid, reach: float, theme: Theme) -> go.Scatter:
    """Underline in grey, in the row of the gap, the epochs in which a bin holds no answers."""
    bottom = np.where(grid.frozen, -reach, np.nan)
    x, y = spread.line(grid, lambda _: bottom)
    marker = {"size": 4, "color": theme.quiet}
    line = {"width": 5, "color": theme.quiet}
    return _line(x, y, "y", line, mode="lines+markers", marker=marker)


def _turns(spread: _PanelAxis, grid: HistoryGrid, theme: Theme) -> go.Scatter:
    """Ring the changes of sign in the row of gamma; epochs that the lines leave out count too."""
    epoch, panel = ringed(grid.turned[:, spread.bins])
    x = panel * STRIDE + spread.x(0, grid.epoch[epoch])
    bins = np.asarray(spread.bins, np.int64)[panel]
    ring = {"color": theme.ink, "width": 1.2}
    marker = {"size": 5, "color": faded(theme.paper, 0.75), "line": ring}
    y = _gamma(grid)[epoch, bins]
    return _line(x, y, "y2", {}, name="γ changed sign", mode="markers", marker=marker)


def _heads(
    spread: _PanelAxis, place: PanelChoice, epoch: float, now: Float, theme: Theme
) -> Settings:
    """Write bin and today's number over each panel, with a line at the chosen epoch."""
    texts, shapes = [], []
    values = dict(zip(place.bins, _alike(now[list(place.bins)]), strict=True))
    for j, b in enumerate(place.bins):
        x = float(spread.x(j, np.asarray(epoch)))
        line = {"color": theme.quiet, "width": 1.2}
        upright = {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
        shapes.append({**upright, "line": line})
        if b == place.of:
            behind = {
                "type": "rect",
                "x0": j * STRIDE - 0.05,
                "x1": j * STRIDE + 1.05,
                "yref": "paper",
                "y0": 0,
                "y1": 1,
                "line": {"color": theme.accent, "width": 1.5},
                "layer": "below",
            }
            shapes.append(behind)
        texts.append(_word(j * STRIDE, "left", f"<b>{b + 1}</b>", theme.ink))
        if len(place.bins) <= CROWDED and np.isfinite(now[b]):
            texts.append(_word(j * STRIDE + 1, "right", values[b], theme.quiet))
    return {"shapes": shapes, "annotations": texts}


def _alike(values: Float) -> list[str]:
    """Return numbers in two digits or so, all with the same decimals; beyond 100 as powers."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    form = "z.2f" if largest < 10 else "z.1f" if largest < 100 else "z.0e"  # no -0
    return [f"{value:{form}}".replace("-", MINUS) for value in values.tolist()]


def _word(x: float, side: str, text: str, colour: str) -> Settings:
    return {
        "x": x,
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "xanchor": side,
        "text": text,
        "showarrow": False,
        "font": {"size": 12, "color": colour},
    }
