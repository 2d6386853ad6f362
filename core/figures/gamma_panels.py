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
from core.figures.gamma import GAMMA_REACH, Grid, root, some
from core.figures.numbers import MINUS
from core.figures.theme import Theme, axis, faded, layout

STRIDE = 1.16
MOST_POINTS = 160  # of a line in a panel, which is some eighty pixels wide
TICKS = (-20.0, -5.0, -2.0, -1.0, -0.2, 0.2, 1.0, 2.0, 5.0, 10.0, 20.0)
HEIGHTS = {"y3": 400, "y": 210}  # px, by the axis of the lowest row
CROWDED = 16  # panels; more have no room for a number beside the bin
ROWS = {"gap": [0.72, 1.0], "gamma": [0.34, 0.64], "edges": [0.0, 0.26]}


@dataclass(frozen=True, eq=False)
class Other:
    """A second history drawn over the first: its arrays, colour in the palette of runs, dash."""

    grid: Grid
    colour: int
    dash: str


@dataclass(frozen=True)
class Place:
    """Which bins have a panel, and which epoch and bin are chosen; all of them places."""

    bins: tuple[int, ...]
    at: int
    of: int


def small_multiples(grid: Grid, place: Place, other: Other | None, theme: Theme) -> go.Figure:
    """Draw gap, gamma and edges of each bin, as in Ghosh et al. 2022, figure 5.

    Parameters
    ----------
    grid : Grid
    place : Place
    other : Other or None
        Of as many bins.
    theme : Theme
    """
    figure = go.Figure(layout=_frame(grid, place, theme, "y3"))
    spread = _Spread.over(grid, place.bins, other)
    gaps = [np.abs(one.gap[:, place.bins]).max() for one in _grids(grid, other)]
    reach = max(5.0, 100 * float(max(gaps)))
    _row(figure, "yaxis", ROWS["gap"], theme, "Gap, points", _gap_ticks(reach))
    _row(figure, "yaxis2", ROWS["gamma"], theme, "γ", _gamma_ticks(_grids(grid, other), place))
    shares = {"range": [0, 1], "tickvals": [0, 0.5, 1], "ticktext": ["0", "50", "100 %"]}
    _row(figure, "yaxis3", ROWS["edges"], theme, "Edges", shares)
    _areas(figure, spread, grid, lambda one: 100 * one.gap, "y", theme)
    _areas(figure, spread, grid, _gamma, "y2", theme)
    _band(figure, spread, grid, theme)
    figure.add_trace(_frozen(spread, grid, reach, theme))
    if other is not None:
        for of, on in ((lambda one: 100 * one.gap, "y"), (_gamma, "y2")):
            x, y = spread.line(other.grid, of)
            line = {"color": theme.runs[other.colour], "dash": other.dash, "width": 1.6}
            figure.add_trace(_line(x, y, on, line))
    _heads(figure, spread, grid.gamma[place.at], place, (int(grid.epoch[place.at]), theme))
    return figure


def correspondence(grid: Grid, place: Place, theme: Theme) -> go.Figure:
    """Draw C_train (line) and C_val (stars) of each bin, as in Ghosh et al. 2022, figure 2.

    An epoch in which no training row fell into a bin leaves a gap in its line.
    """
    figure = go.Figure(layout=_frame(grid, place, theme, "y"))
    spread = _Spread.over(grid, place.bins, None)
    shares = {"range": [0, 1.02], "tickvals": [0, 0.5, 1], "ticktext": ["0", "50", "100 %"]}
    _row(figure, "yaxis", [0.0, 1.0], theme, "Confidence", shares)
    x, y = spread.line(grid, lambda one: one.train_confidence)
    lone = {"color": theme.ink, "width": 2}
    figure.add_trace(_line(x, y, "y", lone).update(name="C_train", mode="lines+markers"))
    figure.data[-1].marker = {"size": 2.5, "color": theme.ink}  # an epoch between two gaps is seen
    x, y = spread.line(grid, lambda one: one.confidence)
    figure.add_trace(
        _line(x, y, "y", {"color": theme.quiet, "width": 1}).update(
            name="C_val",
            mode="lines+markers",
            marker={
                "symbol": "star",
                "size": 6,
                "color": theme.quiet,
                "maxdisplayed": 6 * len(place.bins),
            },
        )
    )
    _heads(
        figure, spread, grid.train_confidence[place.at], place, (int(grid.epoch[place.at]), theme)
    )
    return figure


@dataclass(frozen=True, eq=False)
class _Spread:
    """Where epochs and bins lie on the common x axis."""

    bins: tuple[int, ...]
    first: int
    length: int

    @classmethod
    def over(cls, grid: Grid, bins: tuple[int, ...], other: Other | None) -> "_Spread":
        ends = [(int(one.epoch[0]), int(one.epoch[-1])) for one in _grids(grid, other)]
        first, last = min(e[0] for e in ends), max(e[1] for e in ends)
        return cls(bins, first, max(1, last - first))

    def x(self, panel: int, epoch: Int) -> Float:
        return np.asarray(panel * STRIDE + (epoch - self.first) / self.length)

    def line(self, grid: Grid, of: Callable[[Grid], Float]) -> tuple[Float, Float]:
        """Return one line through all panels, broken between them."""
        at = some(grid.n_epochs, MOST_POINTS)
        values = of(grid)
        x = [np.append(self.x(j, grid.epoch[at]), np.nan) for j in range(len(self.bins))]
        y = [np.append(values[at, b], np.nan) for b in self.bins]
        return np.concatenate(x), np.concatenate(y)

    def area(self, grid: Grid, of: Callable[[Grid], Float]) -> tuple[Float, Float]:
        """Return the line with its way along zero from panel to panel, to be filled."""
        at = some(grid.n_epochs, MOST_POINTS)
        ends = np.pad(at, 1, mode="edge")
        values = of(grid)
        x = [self.x(j, grid.epoch[ends]) for j in range(len(self.bins))]
        return np.concatenate(x), np.concatenate([np.pad(values[at, b], 1) for b in self.bins])


def _grids(grid: Grid, other: Other | None) -> list[Grid]:
    return [grid] if other is None else [grid, other.grid]


def _gamma(grid: Grid) -> Float:
    return root(np.clip(grid.gamma, -GAMMA_REACH, GAMMA_REACH))


def _frame(grid: Grid, place: Place, theme: Theme, bottom: str) -> dict[str, Any]:
    settings = layout(theme, HEIGHTS[bottom])
    settings["margin"] = {"l": 52, "r": 10, "t": 26, "b": 30}
    settings["hovermode"] = False
    settings["xaxis"] = axis(
        theme,
        "",
        range=[-0.06, (len(place.bins) - 1) * STRIDE + 1.06],
        tickvals=[0.0, 1.0],
        ticktext=[str(grid.epoch[0]), str(grid.epoch[-1])],
        showgrid=False,
        anchor=bottom,
    )
    settings["shapes"], settings["annotations"] = [], []
    return settings


def _row(
    figure: go.Figure,
    name: str,
    domain: list[float],
    theme: Theme,
    title: str,
    ticks: dict[str, Any],
) -> None:
    figure.update_layout({name: axis(theme, title, domain=domain, **ticks)})


def _gap_ticks(reach: float) -> dict[str, Any]:
    whole = f"{reach:.0f}"
    return {
        "range": [-1.05 * reach, 1.05 * reach],
        "tickvals": [-reach, 0, reach],
        "ticktext": [f"{MINUS}{whole}", "0", f"+{whole}"],
    }


def _gamma_ticks(grids: list[Grid], place: Place) -> dict[str, Any]:
    drawn = np.concatenate([_gamma(one)[:, place.bins].ravel() for one in grids])
    low, high = min(0.0, float(drawn.min())), max(1.0, float(drawn.max()))
    inside = [t for t in TICKS if low <= float(root(np.asarray(t))) <= high]
    ends = {t for t in (min(inside), max(inside), 1.0) if abs(t) > 0.5 or t < 0}
    return {
        "range": [low - 0.06 * (high - low), high + 0.08 * (high - low)],
        "tickvals": [0.0, *(float(root(np.asarray(t))) for t in sorted(ends))],
        "ticktext": ["0", *(f"{t:g}".replace("-", MINUS) for t in sorted(ends))],
    }


def _areas(
    figure: go.Figure,
    spread: _Spread,
    grid: Grid,
    of: Callable[[Grid], Float],
    on: str,
    theme: Theme,
) -> None:
    """Fill above zero in the colour of over, below in that of under, and draw the line."""
    x, y = spread.area(grid, of)
    for part, colour in ((np.maximum(y, 0), theme.over), (np.minimum(y, 0), theme.under)):
        filled = _line(x, part, on, {"width": 0, "color": colour})
        figure.add_trace(filled.update(fill="tozeroy", fillcolor=faded(colour, 0.35)))
    x, y = spread.line(grid, of)
    figure.add_trace(_line(x, y, on, {"width": 1.4, "color": theme.ink}))


def _line(x: Float, y: Float, on: str, line: dict[str, Any]) -> go.Scatter:
    return go.Scatter(
        x=x, y=y, yaxis=on, mode="lines", line={"simplify": False} | line, connectgaps=False
    )


def _band(figure: go.Figure, spread: _Spread, grid: Grid, theme: Theme) -> None:
    """Draw the range of certainty that each bin spans."""
    at = some(grid.n_epochs, MOST_POINTS)
    for j, b in enumerate(spread.bins):
        x = spread.x(j, grid.epoch[at])
        figure.add_trace(
            _line(
                np.concatenate([x, x[::-1]]),
                np.concatenate([grid.upper[at, b], grid.lower[at[::-1], b]]),
                "y3",
                {"width": 1, "color": theme.ink},
            ).update(fill="toself", fillcolor=faded(theme.quiet, 0.3))
        )


def _frozen(spread: _Spread, grid: Grid, reach: float, theme: Theme) -> go.Scatter:
    """Underline in grey, in the row of the gap, the epochs in which a bin holds no answers."""
    bottom = np.where(grid.frozen, -reach, np.nan)
    x, y = spread.line(grid, lambda _: bottom)
    found = _line(x, y, "y", {"width": 5, "color": theme.quiet})
    return found.update(mode="lines+markers", marker={"size": 4, "color": theme.quiet})


def _heads(
    figure: go.Figure, spread: _Spread, now: Float, place: Place, how: tuple[int, Theme]
) -> None:
    """Write bin and today's number over each panel, with a line at the chosen epoch."""
    epoch, theme = how
    texts, shapes = [], []
    for j, b in enumerate(place.bins):
        shapes.append(_upright(float(spread.x(j, np.asarray(epoch))), theme))
        if b == place.of:
            shapes.append(_behind(j, theme))
        texts.append(_word(j * STRIDE, "left", f"<b>{b + 1}</b>", theme.ink))
        if len(place.bins) <= CROWDED and np.isfinite(now[b]):
            texts.append(_word(j * STRIDE + 1, "right", _short(float(now[b])), theme.quiet))
    figure.update_layout(shapes=shapes, annotations=texts)


def _short(value: float) -> str:
    text = f"{value:.2g}" if abs(value) < 100 else f"{value:.0e}"
    return text.replace("-", MINUS)


def _upright(x: float, theme: Theme) -> dict[str, Any]:
    line = {"color": theme.quiet, "width": 1.2}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _behind(panel: int, theme: Theme) -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": panel * STRIDE - 0.05,
        "x1": panel * STRIDE + 1.05,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": theme.accent, "width": 1.5},
        "layer": "below",
    }


def _word(x: float, side: str, text: str, colour: str) -> dict[str, Any]:
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
