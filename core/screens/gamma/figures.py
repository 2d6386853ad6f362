"""Figures of a history of gammas: both heat maps, and every bin by itself over the epochs.

The panels of a row share one pair of axes, panel j from j * STRIDE to j * STRIDE + 1: that keeps
dozens of them as quick to draw as one.
"""

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.arrays import Bool, Float, Int
from core.histories import BinHistory
from core.screens.kit.curves import sheet
from core.screens.kit.numbers import MINUS
from core.screens.kit.theme import Theme, axis, faded, layout

LEFT, RIGHT = 44, 84  # px beside the maps; the slider under them keeps the same
HEIGHT, MARGIN = 424, (LEFT, RIGHT, 8, 46)
EXACT = 1e-6  # of an epoch, or of its last decimal: no batch is as small
MOST_EPOCHS, MOST_BINS = 700, 100  # drawn: more columns than pixels show nothing more
MOST_SPOTS = 6_000  # places of a map that answer to the pointer
MOST_RINGS = 2_000  # of changes of sign
SPACED = 80  # so many epochs leave room for lines between the cells
GAMMA_REACH = 20.0  # colours end here: the bound of Ghosh et al. 2022
GAMMA_LEAST, GAP_LEAST = 1.0, 0.05  # a quiet history is not blown up to full colour
GAMMA_TICKS = (0.2, 1.0, 2.0, 5.0, 10.0, 20.0)
EPOCH_TICKS, BIN_TICKS = 8, 5
STRIDE = 1.16
MOST_POINTS = 160  # of a line in a panel, which is some eighty pixels wide
TICKS = (-20.0, -5.0, -2.0, -1.0, -0.2, 0.2, 1.0, 2.0, 5.0, 10.0, 20.0)
PANELS_HEIGHT, TWO_ROWS, LOW_HEIGHT = 400, 310, 210  # px, of three rows, of two, of one
LEAST_GAP = 5.0  # points
CROWDED = 16  # panels; more have no room for a number beside the bin
SHARES = {"range": [0, 1.02], "tickvals": [0, 0.5, 1], "ticktext": ["0", "50", "100 %"]}
Settings = dict[str, Any]  # Any: plotly's nested settings


@dataclass(frozen=True)
class GammaTerms:
    """What things are called in a figure."""

    epoch: str
    bin: str
    gamma: str
    unit: str


TERMS = GammaTerms("Epoch", "Bin", "γ", "points")
PLAIN_TERMS = GammaTerms("Round", "Group", "push", "in 100")


@dataclass(frozen=True, eq=False)
class HistoryGrid:
    """A history as arrays of U updates and B bins; columns as in `BinHistory`, (U, B)."""

    # (U,) int64, or float64 where gammas were updated within epochs; how many were trained, from 1
    # where the history counts from 0; 2.85 is late in the third.
    epoch: Int | Float
    update: Int  # (U,) int64; from 1 where the history has the first
    kept: BinHistory
    lower: Float
    upper: Float
    count: Int
    confidence: Float
    accuracy: Float
    gap: Float
    gamma: Float
    train_confidence: Float

    @classmethod
    def of(cls, bins: BinHistory) -> "HistoryGrid":
        """Return the history in this form; nothing is copied."""
        shape = bins.n_updates, bins.n_bins
        update = bins.update.reshape(shape)[:, 0]
        names = ("lower", "upper", "confidence", "accuracy", "gap", "gamma", "train_confidence")
        columns = {name: getattr(bins, name).reshape(shape) for name in names}
        answers = bins.count.reshape(shape)
        return cls(
            epoch=_distinct(bins.trained.reshape(shape)[:, 0]),
            update=update + (update[0] == 0),
            kept=bins,
            count=answers,
            **columns,
        )

    @property
    def n_updates(self) -> int:
        """U."""
        return len(self.epoch)

    @property
    def within(self) -> bool:
        """Whether gammas were updated within epochs, too."""
        return self.epoch.dtype.kind == "f"

    def moment(self, at: int) -> str:
        """Return how many epochs were trained at an update, as people read it."""
        return f"{self.epoch[at]:.12g}"

    @property
    def of_updates(self) -> str:
        """What its columns are, in the plural."""
        return "updates" if self.within else "epochs"

    @property
    def n_bins(self) -> int:
        """B."""
        return int(self.gamma.shape[1])

    @property
    def frozen(self) -> Bool:
        """Bins without validation answers, (U, B)."""
        return np.asarray(self.count == 0)

    @property
    def turned(self) -> Bool:
        """Where gamma has another sign than after the recorded update before, (U, B).

        Training begins with gammas above 0; of a history that begins later nothing is known of
        the update before its first.
        """
        sign = self.gamma > 0
        start = np.ones((1, self.n_bins), np.bool_) if self.update[0] == 1 else sign[:1]
        before = np.vstack([start, sign[:-1]])
        return np.asarray(sign != before)


def _distinct(trained: Float) -> Int | Float:
    """Return numbers of epochs: whole, or cut to so few decimals that no two are the same.

    At least two; 351 of 352 batches are 0.99 epochs and no whole one.
    """
    whole = np.rint(trained)
    if np.allclose(trained, whole, rtol=0.0, atol=EXACT):
        return np.asarray(whole.astype(np.int64))
    for decimals in range(2, 9):
        cut = np.floor(trained * 10**decimals + EXACT) / 10**decimals
        if len(np.unique(cut)) == len(trained):
            break
    return np.asarray(cut)


def some(n: int, most: int) -> Int:
    """Return positions 0..n-1, or every k-th of them and the last where there are too many."""
    step = -(-n // most)
    places = np.arange(0, n, step)
    return places if places[-1] == n - 1 else np.append(places, n - 1)


def ticks(labels: Int, most: int) -> Int:
    """Return the places of the first label and of round ones, at most about so many."""
    steps = (k * 10**power for power in count() for k in (1, 2, 5))
    step = next(step for step in steps if labels[-1] - labels[0] <= most * step)
    places = np.flatnonzero((labels % step == 0) & (np.diff(labels, prepend=labels[0] - 1) > 0))
    has_room = places.size == 0 or labels[places[0]] - labels[0] >= 0.5 * step
    return np.append(0, places) if has_room else places


def root(values: Float) -> Float:
    """Return signed square roots: they show 0.2 beside 20."""
    return np.asarray(np.sign(values) * np.sqrt(np.abs(values)))


def heatmaps(grid: HistoryGrid, terms: GammaTerms, theme: Theme) -> go.Figure:
    """Draw gamma (top) and the gap (below) by epoch and bin, with rings where gamma turns.

    Columns are epochs; customdata of the places that answer to the pointer starts with the epoch
    and the bin, both as people count them.
    """
    epochs, bins = some(grid.n_updates, MOST_EPOCHS), some(grid.n_bins, MOST_BINS)
    completed = np.floor(grid.epoch).astype(np.int64)
    at = ticks(completed, EPOCH_TICKS)
    x = axis(
        theme,
        terms.epoch,
        range=[-0.5, grid.n_updates - 0.5],
        tickvals=at,
        ticktext=[str(epoch) for epoch in completed[at]],
        showgrid=False,
        anchor="y2",
    )
    at = ticks(np.arange(1, grid.n_bins + 1), BIN_TICKS)
    y = axis(
        theme,
        terms.bin,
        range=[-0.5, grid.n_bins - 0.5],
        tickvals=at,
        ticktext=[str(b + 1) for b in at],
        showgrid=False,
    )
    above, below = y | {"domain": [0.54, 1.0]}, y | {"domain": [0.0, 0.46]}
    figure = sheet(theme, HEIGHT, x, above, margin=MARGIN, yaxis2=below, hoverdistance=30)
    gamma = root(np.clip(grid.gamma, -GAMMA_REACH, GAMMA_REACH))
    gap = np.where(grid.frozen, np.nan, grid.gap)
    reach = float(root(np.asarray(_gamma_reach(grid))))
    cells = epochs, bins
    figure.add_trace(_heatmap(gamma, cells, reach, theme, _gamma_bar(grid, terms)))
    widest = max(GAP_LEAST, float(np.quantile(np.abs(grid.gap), 0.97)))
    ends = f"{100 * widest:.0f}"
    gap_bar = {
        "y": 0.23,
        "title": {"text": terms.unit},
        "tickvals": [-widest, 0.0, widest],
        "ticktext": [f"{MINUS}{ends}", "0", f"+{ends}"],
    }
    figure.add_trace(_heatmap(gap, cells, widest, theme, gap_bar).update(yaxis="y2"))
    frozen = grid.frozen[np.ix_(epochs, bins)]
    if frozen.any():
        for on, alpha in (("y", 0.6), ("y2", 0.35)):
            grey = _greyed(frozen, cells, faded(theme.quiet, alpha))
            figure.add_trace(grey.update(yaxis=on))
    figure.add_trace(_rings(grid, theme))
    for on in ("y", "y2"):
        figure.add_traces([spots.update(yaxis=on) for spots in _spots(grid, bins, terms)])
    return figure


def _gamma_reach(grid: HistoryGrid) -> float:
    return min(GAMMA_REACH, max(GAMMA_LEAST, float(np.abs(grid.gamma).max())))


def _heatmap(
    values: Float, cells: tuple[Int, Int], reach: float, theme: Theme, bar: dict[str, Any]
) -> go.Heatmap:
    beside = {"x": 1.01, "xpad": 6, "xanchor": "left", "len": 0.36, "thickness": 10}
    tickfont = {"size": 12, "color": theme.quiet}
    return go.Heatmap(
        **_cells(values[np.ix_(*cells)], cells),
        zmin=-reach,
        zmax=reach,
        colorscale=[[0.0, theme.under], [0.5, theme.middle], [1.0, theme.over]],
        colorbar=beside | {"outlinewidth": 0, "tickfont": tickfont} | bar,
    )


def _cells(values: Float, cells: tuple[Int, Int]) -> dict[str, Any]:
    """Return the values of cells, updates by bins, as both kinds of heat maps draw them."""
    epochs, bins = cells
    gaps = {"xgap": 1 if len(epochs) <= SPACED else 0, "ygap": 1 if len(bins) <= SPACED else 0}
    return {"z": values.T.astype(np.float32), "x": epochs, "y": bins, "hoverinfo": "skip", **gaps}


def _gamma_bar(grid: HistoryGrid, terms: GammaTerms) -> dict[str, Any]:
    reach = _gamma_reach(grid)
    end = max(tick for tick in GAMMA_TICKS if tick <= reach)
    inner = max((tick for tick in GAMMA_TICKS if tick <= 0.36 * end), default=0.2)
    values = (-end, -inner, 0.0, inner, end)
    beyond = float(np.abs(grid.gamma).max()) > GAMMA_REACH
    texts = [
        f"{v:g}".replace("-", MINUS) + ("+" if beyond and abs(v) == GAMMA_REACH else "")
        for v in values
    ]
    return {
        "y": 0.77,
        "title": {"text": terms.gamma},
        "tickvals": root(np.array(values)),
        "ticktext": texts,
    }


def _greyed(frozen: Bool, cells: tuple[Int, Int], colour: str) -> go.Heatmap:
    """Lay grey over the cells of bins without answers."""
    one_colour = [[0.0, colour], [1.0, colour]]
    drawn = _cells(np.where(frozen, 1.0, np.nan), cells)
    return go.Heatmap(**drawn, colorscale=one_colour, showscale=False)


def ringed(turned: Bool) -> tuple[Int, Int]:
    """Return epochs and bins of the changes of sign, or of every k-th where there are too many."""
    epoch, place = np.nonzero(turned)
    step = ring_step(len(epoch))
    return epoch[::step], place[::step]


def ring_step(n_turns: int) -> int:
    """Return k where every k-th change of sign is ringed."""
    return max(1, -(-n_turns // MOST_RINGS))


def _rings(grid: HistoryGrid, theme: Theme) -> go.Scatter:
    epoch, place = ringed(grid.turned)
    line = {"color": theme.ink, "width": 1.2}
    size = 7 if len(epoch) <= 60 else 4
    marker = {"size": size, "color": faded(theme.paper, 0.75), "line": line}
    return go.Scatter(
        x=epoch, y=place, mode="markers", name="γ changed sign", marker=marker, hoverinfo="skip"
    )


def _spots(grid: HistoryGrid, bins: Int, terms: GammaTerms) -> list[go.Scatter]:
    """Return unseen marks that answer to the pointer: cells of a heat map cannot be picked."""
    epochs = some(grid.n_updates, max(1, MOST_SPOTS // len(bins)))
    at, bin_at = (cells.ravel() for cells in np.meshgrid(epochs, bins, indexing="ij"))
    spots = []
    for mask, answered in ((grid.count > 0, True), (grid.frozen, False)):
        chosen = mask[at, bin_at]
        if chosen.any():
            spots.append(_spot(grid, (at[chosen], bin_at[chosen]), terms, answered=answered))
    return spots


def _spot(
    grid: HistoryGrid, cells: tuple[Int, Int], terms: GammaTerms, *, answered: bool
) -> go.Scatter:
    at, bins = cells
    edges_and_gamma = (column[at, bins] for column in (grid.lower, grid.upper, grid.gamma))
    columns = [grid.epoch[at], bins + 1, *edges_and_gamma]
    head = f"<b>{terms.epoch} %{{customdata[0]:.7~g}}, {terms.bin.lower()} %{{customdata[1]}}</b>, "
    edges = "%{customdata[2]:.3f} to %{customdata[3]:.3f}: "
    if answered:
        columns.append(grid.count[at, bins])
        columns += [100 * c[at, bins] for c in (grid.confidence, grid.accuracy, grid.gap)]
        text = (
            f"{head}{terms.gamma} %{{customdata[4]:.3~g}}<br>{edges}%{{customdata[5]}} answers<br>"
            "says %{customdata[6]:.1f} %, right %{customdata[7]:.1f} %, "
            f"gap %{{customdata[8]:+.1f}} {terms.unit}"
        )
    else:
        text = f"{head}{terms.gamma} %{{customdata[4]:.3~g}}<br>{edges}no validation answers"
    return go.Scatter(
        x=at,
        y=bins,
        customdata=np.stack(columns, axis=1).astype(np.float32),
        mode="markers",
        name="cells",
        marker={"size": 6, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        hovertemplate=f"{text}<extra></extra>",
    )


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
    reach, yaxis = _gap_axis(grids, place.bins)
    gammas = np.concatenate([_gamma(grid)[:, place.bins].ravel() for grid in grids])
    low, high = min(0.0, float(gammas.min())), max(1.0, float(gammas.max()))
    inside = [t for t in TICKS if low <= float(root(np.asarray(t))) <= high]
    ends = {t for t in (min(inside), max(inside), 1.0) if abs(t) > 0.5 or t < 0}
    yaxis2 = {
        "range": [low - 0.06 * (high - low), high + 0.08 * (high - low)],
        "tickvals": [0.0, *(float(root(np.asarray(t))) for t in sorted(ends))],
        "ticktext": ["0", *(f"{t:g}".replace("-", MINUS) for t in sorted(ends))],
    }
    settings = _frame(spread, PANELS_HEIGHT, theme) | {
        "yaxis": axis(theme, "Gap, points", domain=[0.72, 1.0], **yaxis),
        "yaxis2": axis(theme, "γ", domain=[0.34, 0.64], **yaxis2),
        "yaxis3": axis(theme, "Edges", domain=[0.0, 0.26], **SHARES),
    }
    settings["xaxis"]["anchor"] = "y3"
    now = grid.gamma[place.at]
    settings |= _heads(spread, place, float(grid.epoch[place.at]), now, theme)
    traces = [
        *_areas(spread, grid, _gap(grid), "y", theme),
        *_areas(spread, grid, _gamma(grid), "y2", theme),
        _band(spread, grid, "y3", theme),
        _frozen(spread, grid, reach, theme),
    ]
    if other is not None:
        line = {"color": theme.runs[other.colour], "dash": other.dash, "width": 1.6}
        for values, on in ((_gap(other.grid), "y"), (_gamma(other.grid), "y2")):
            traces.append(_line(*spread.line(other.grid, values), on, line))
    traces.append(_turns(spread, grid, theme))
    return go.Figure(data=traces, layout=settings)


def calibration_errors(
    grid: HistoryGrid, place: PanelChoice, other: SecondHistory | None, theme: Theme
) -> go.Figure:
    """Draw E_val with a line at zero, and the edges of each bin: Ghosh et al. 2022, figure 7."""
    grids = [grid] if other is None else [grid, other.grid]
    spread = _PanelAxis.over(grids, place.bins)
    reach, yaxis = _gap_axis(grids, place.bins)
    settings = _frame(spread, TWO_ROWS, theme)
    settings["yaxis"] = axis(theme, "E_val, points", domain=[0.46, 1.0], **yaxis)
    settings["yaxis2"] = axis(theme, "Edges", domain=[0.0, 0.36], **SHARES)
    settings["xaxis"]["anchor"] = "y2"
    now = _gap(grid)[place.at]
    settings |= _heads(spread, place, float(grid.epoch[place.at]), now, theme)
    zero, dashes = np.zeros_like(grid.gap), {"color": theme.ink, "width": 1, "dash": "dash"}
    traces = [
        *_areas(spread, grid, _gap(grid), "y", theme),
        _line(*spread.line(grid, zero), "y", dashes, name="zero"),
        _band(spread, grid, "y2", theme),
        _frozen(spread, grid, reach, theme),
    ]
    if other is not None:
        line = {"color": theme.runs[other.colour], "dash": other.dash, "width": 1.6}
        traces.append(_line(*spread.line(other.grid, _gap(other.grid)), "y", line))
    return go.Figure(data=traces, layout=settings)


@dataclass(frozen=True, eq=False)
class TrainingBins:
    """What else is known of the training rows of each bin, (U, B) each; None where it is not drawn.

    `top` is the mean confidence of the answers; `edges` are the lower and the upper ends of bins
    that training has for itself, which is `own`.
    """

    top: Float | None = None
    edges: tuple[Float, Float] | None = None
    own: bool = False


def correspondence(
    grid: HistoryGrid, place: PanelChoice, more: TrainingBins, theme: Theme
) -> go.Figure:
    """Draw C_train, C_val (stars) and A_val (dashes) by bin: Ghosh et al. 2022, figures 2 and 3(d).

    C_train of the answers lies as a broad line below that of the true class (figure 8); edges of
    bins of its own lie as dashed lines over those of validation (figure 9). An epoch in which no
    training row fell into a bin leaves a gap in its line.
    """
    spread = _PanelAxis.over([grid], place.bins)
    settings = _frame(spread, TWO_ROWS if more.edges else LOW_HEIGHT, theme)
    domain = [0.46 if more.edges else 0.0, 1.0]
    settings["yaxis"] = axis(theme, "Confidence", domain=domain, **SHARES)
    now = 100.0 * grid.train_confidence[place.at]
    settings |= _heads(spread, place, float(grid.epoch[place.at]), now, theme)
    lines = (
        # small dots, so that an epoch between two gaps is seen
        (
            "C_train",
            grid.train_confidence,
            {"color": theme.ink, "width": 2},
            {"size": 2.5, "color": theme.ink},
        ),
        (
            "C_val",
            grid.confidence,
            {"color": theme.quiet, "width": 1},
            {"symbol": "star", "size": 6, "color": theme.quiet, "maxdisplayed": 6 * len(now)},
        ),
        ("A_val", grid.accuracy, {"color": theme.under, "width": 1.4, "dash": "dash"}, {"size": 1}),
    )
    traces = [
        _line(*spread.line(grid, values), "y", line, name=name, mode="lines+markers", marker=marker)
        for name, values, line, marker in lines
    ]
    if more.top is not None:
        broad = {"color": faded(theme.accent, 0.45), "width": 6}
        x, y = spread.line(grid, more.top)
        traces.insert(0, _line(x, y, "y", broad, name="C_train, answer"))
    if more.edges:
        settings["yaxis2"] = axis(theme, "Edges", domain=[0.0, 0.36], **SHARES)
        settings["xaxis"]["anchor"] = "y2"
        traces.append(_band(spread, grid, "y2", theme))
        own = {"color": theme.accent, "width": 1.6, "dash": "dash"}
        traces += [_line(*spread.line(grid, edge), "y2", own) for edge in more.edges]
    return go.Figure(data=traces, layout=settings)


def _gap_axis(grids: list[HistoryGrid], bins: tuple[int, ...]) -> tuple[float, Settings]:
    """Return the widest gap of these bins in points, and an axis from there to there."""
    widest = max(float(np.nan_to_num(np.abs(_gap(g)[:, bins])).max()) for g in grids)
    reach = max(LEAST_GAP, widest)
    whole = f"{reach:.0f}"
    return reach, {
        "range": [-1.05 * reach, 1.05 * reach],
        "tickvals": [-reach, 0, reach],
        "ticktext": [f"{MINUS}{whole}", "0", f"+{whole}"],
    }


def _gap(grid: HistoryGrid) -> Float:
    """Return the gap in points, NaN where a bin holds no answers."""
    return np.where(grid.frozen, np.nan, 100.0 * grid.gap)


def _gamma(grid: HistoryGrid) -> Float:
    return root(np.clip(grid.gamma, -GAMMA_REACH, GAMMA_REACH))


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

    def line(self, grid: HistoryGrid, values: Float) -> tuple[Float, Float]:
        """Return one line through all panels, broken between them."""
        at = some(grid.n_updates, MOST_POINTS)
        x = [np.append(self.x(j, grid.epoch[at]), np.nan) for j in range(len(self.bins))]
        y = [np.append(values[at, b], np.nan) for b in self.bins]
        return np.concatenate(x), np.concatenate(y)

    def area(self, grid: HistoryGrid, values: Float) -> tuple[Float, Float]:
        """Return the line with its way along zero from panel to panel, to be filled."""
        at = some(grid.n_updates, MOST_POINTS)
        ends = np.pad(at, 1, mode="edge")
        x = [self.x(j, grid.epoch[ends]) for j in range(len(self.bins))]
        return np.concatenate(x), np.concatenate([np.pad(values[at, b], 1) for b in self.bins])


def _frame(spread: _PanelAxis, height: int, theme: Theme) -> Settings:
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
    spread: _PanelAxis, grid: HistoryGrid, values: Float, on: str, theme: Theme
) -> list[go.Scatter]:
    """Fill above zero in the colour of over, below in that of under, and draw the line.

    The line breaks where a value is not known; a filled one would be drawn across.
    """
    x, y = spread.area(grid, np.nan_to_num(values))
    parts = ((np.maximum(y, 0), theme.over), (np.minimum(y, 0), theme.under))
    return [
        *(
            _line(x, part, on, {"width": 0}, fill="tozeroy", fillcolor=faded(colour, 0.35))
            for part, colour in parts
        ),
        _line(*spread.line(grid, values), on, {"width": 1.4, "color": theme.ink}),
    ]


def _line(x: Float, y: Float, on: str, line: Settings, **more: object) -> go.Scatter:
    settings: Settings = {"mode": "lines", "yaxis": on, "line": {"simplify": False} | line}
    return go.Scatter(x=x.astype(np.float32), y=y.astype(np.float32), **(settings | more))


def _band(spread: _PanelAxis, grid: HistoryGrid, on: str, theme: Theme) -> go.Scatter:
    """Draw the range of certainty that each bin spans."""
    there = some(grid.n_updates, MOST_POINTS)
    both = np.concatenate([there, there[::-1]])
    x = [np.append(spread.x(j, grid.epoch[both]), np.nan) for j in range(len(spread.bins))]
    ways = [np.concatenate([grid.upper[there, b], grid.lower[there[::-1], b]]) for b in spread.bins]
    y = [np.append(way, np.nan) for way in ways]
    return _line(
        np.concatenate(x),
        np.concatenate(y),
        on,
        {"width": 1, "color": theme.ink},
        fill="toself",
        fillcolor=faded(theme.quiet, 0.3),
    )


def _frozen(spread: _PanelAxis, grid: HistoryGrid, reach: float, theme: Theme) -> go.Scatter:
    """Underline in grey, in the row of the gap, the epochs in which a bin holds no answers."""
    x, y = spread.line(grid, np.where(grid.frozen, -reach, np.nan))
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
            line = {"color": theme.accent, "width": 1.5}
            sides = {"x0": j * STRIDE - 0.05, "x1": j * STRIDE + 1.05}
            shapes.append(upright | sides | {"type": "rect", "line": line, "layer": "below"})
        texts.append(_word(j * STRIDE, "left", f"<b>{b + 1}</b>", theme.ink))
        if len(place.bins) <= CROWDED and np.isfinite(now[b]):
            texts.append(_word(j * STRIDE + 1, "right", values[b], theme.quiet))
    return {"shapes": shapes, "annotations": texts}


def _alike(values: Float) -> list[str]:
    """Return numbers in two digits or so, all with the same decimals; beyond 999 as powers."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    digits = 2 if largest < 10 else 1 if largest < 100 else 0
    form = f"z.{digits}f" if largest < 999.5 else "z.0e"  # no -0
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
