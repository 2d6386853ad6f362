"""Gamma and gap of every bin over the epochs as two heat maps: arrays to a plotly figure."""

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.arrays import Bool, Float, Int
from core.histories import BinHistory
from core.screens.kit.numbers import MINUS
from core.screens.kit.theme import Theme, axis, faded, layout

LEFT, RIGHT = 44, 84  # px beside the maps; the slider under them keeps the same
TOP, HEIGHT, BOTTOM = 8, 424, 46
EXACT = 1e-6  # of an epoch, or of its last decimal: no batch is as small
MOST_EPOCHS, MOST_BINS = 700, 100  # drawn: more columns than pixels show nothing more
MOST_SPOTS = 6_000  # places of a map that answer to the pointer
MOST_RINGS = 2_000  # of changes of sign
SPACED = 80  # so many epochs leave room for lines between the cells
GAMMA_REACH = 20.0  # colours end here: the bound of Ghosh et al. 2022
GAMMA_LEAST, GAP_LEAST = 1.0, 0.05  # a quiet history is not blown up to full colour
GAMMA_TICKS = (0.2, 1.0, 2.0, 5.0, 10.0, 20.0)
EPOCH_TICKS, BIN_TICKS = 8, 5


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
    """A history as arrays of U updates and B bins; columns as in `BinHistory`, (U, B).

    Attributes
    ----------
    epoch : (U,) int64, or float64 where gammas were updated within epochs
        How many were trained, from 1 where the history counts from 0; 2.85 is late in the third.
    update : (U,) int64
        From 1 where the history has the first.
    """

    epoch: Int | Float
    update: Int
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
    frame = layout(theme, HEIGHT)
    frame["margin"] = {"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM}
    frame["hoverdistance"] = 30
    completed = np.floor(grid.epoch).astype(np.int64)
    at = ticks(completed, EPOCH_TICKS)
    frame["xaxis"] = axis(
        theme,
        terms.epoch,
        range=[-0.5, grid.n_updates - 0.5],
        tickvals=at,
        ticktext=[str(epoch) for epoch in completed[at]],
        showgrid=False,
        anchor="y2",
    )
    for name, domain in (("yaxis", [0.54, 1.0]), ("yaxis2", [0.0, 0.46])):
        frame[name] = _bin_axis(grid, terms, theme) | {"domain": domain}
    figure = go.Figure(layout=frame)
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
    below = _heatmap(gap, cells, widest, theme, gap_bar)
    figure.add_trace(below.update(yaxis="y2"))
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


def _bin_axis(grid: HistoryGrid, terms: GammaTerms, theme: Theme) -> dict[str, Any]:
    at = ticks(np.arange(1, grid.n_bins + 1), BIN_TICKS)
    return axis(
        theme,
        terms.bin,
        range=[-0.5, grid.n_bins - 0.5],
        tickvals=at,
        ticktext=[str(b + 1) for b in at],
        showgrid=False,
    )


def _heatmap(
    values: Float, cells: tuple[Int, Int], reach: float, theme: Theme, bar: dict[str, Any]
) -> go.Heatmap:
    epochs, bins = cells
    return go.Heatmap(
        z=values[np.ix_(epochs, bins)].T.astype(np.float32),
        x=epochs,
        y=bins,
        zmin=-reach,
        zmax=reach,
        colorscale=[[0.0, theme.under], [0.5, theme.middle], [1.0, theme.over]],
        colorbar=_bar(theme) | bar,
        xgap=1 if len(epochs) <= SPACED else 0,
        ygap=1 if len(bins) <= SPACED else 0,
        hoverinfo="skip",
    )


def _bar(theme: Theme) -> dict[str, Any]:
    return {
        "x": 1.01,
        "xpad": 6,
        "xanchor": "left",
        "len": 0.36,
        "thickness": 10,
        "outlinewidth": 0,
        "tickfont": {"size": 12, "color": theme.quiet},
        "title": {"font": {"size": 12.5, "color": theme.ink}},
    }


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
    epochs, bins = cells
    return go.Heatmap(
        z=np.where(frozen, 1.0, np.nan).T.astype(np.float32),
        x=epochs,
        y=bins,
        colorscale=[[0.0, colour], [1.0, colour]],
        showscale=False,
        hoverinfo="skip",
        xgap=1 if len(epochs) <= SPACED else 0,
        ygap=1 if len(bins) <= SPACED else 0,
    )


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
    return go.Scatter(
        x=epoch,
        y=place,
        mode="markers",
        name="γ changed sign",
        marker={
            "size": 7 if len(epoch) <= 60 else 4,
            "color": faded(theme.paper, 0.75),
            "line": {"color": theme.ink, "width": 1.2},
        },
        hoverinfo="skip",
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
