"""What corruptions do, by kind and severity: four heat maps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.datasets.shifts import CORRUPTIONS, KINDS, SEVERITIES, OutsideSet
from core.screens.kit.differences import NamedRun
from core.screens.kit.numbers import count
from core.screens.kit.records import Column, FigureCard, Table
from core.screens.kit.theme import Theme, axis, layout
from core.screens.ood.words import POSITIVE
from core.studies.ood import ShiftEffect

MOST_ROWS, WORST = 10, 8  # of more corruptions than MOST_ROWS the page first shows the WORST
ROW_PX, FRAME_PX = 20, 54  # ten rows end within two screens of 720 px
CIVIDIS = ("#00204C", "#31446B", "#666870", "#958F78", "#CAB969", "#FFE945")
ROOM_FOR_NAMES = 108
DARK = 0.45  # luminance below which words on a cell are white
MAPS = (  # of a ShiftEffect: attribute, title, where colours are darkest and brightest
    ("accuracy", "Accuracy", 0.0, 1.0),
    ("confidence", "Confidence", 0.0, 1.0),
    ("ece", "ECE", 0.5, 0.0),
    ("auroc", "AUROC", 0.5, 1.0),
)
COLUMNS = (
    Column("corruption", "corruption"),
    Column("severity", "severity", "count"),
    Column("n", "images", "count"),
    Column("accuracy", "right", "share"),
    Column("confidence", "says, on average", "share"),
    Column("ece", "ECE", "share"),
    Column("auroc_ood_positive", "AUROC, out-of-distribution positive", "share"),
)


@dataclass(frozen=True, kw_only=True)
class ShiftView:
    """The maps of one kind of set, and what is said under them.

    `more` names the switch that shows every corruption; it is empty where the maps hold them all.
    """

    title: str
    explanation: str
    maps: tuple[FigureCard, ...]
    table: Table
    caption: str
    more: str


def shift_view(
    named: NamedRun,
    kind: str,
    effects: Mapping[OutsideSet, ShiftEffect],
    scoring: str,
    *,
    every: bool = False,
) -> ShiftView:
    """Return the maps of one kind.

    Parameters
    ----------
    named : NamedRun
        The run; its split holds the intact images.
    kind : str
        ``cifar10c`` or ``corrupted``.
    effects : mapping of OutsideSet to ShiftEffect
        Every corruption and severity that was evaluated.
    scoring : str
        Score and temperature in words.
    every : bool
        Whether the maps show every corruption, not only the most harmful; the table always does.
    """

    def harm(corruption: str) -> tuple[float, str]:
        of = [effect.accuracy for part, effect in effects.items() if part.corruption == corruption]
        return float(np.mean(of)), corruption

    order = sorted({part.corruption for part in effects}, key=harm)
    folds = len(order) > MOST_ROWS
    shown = order if every or not folds else order[:WORST]
    which = f"{len(order)} corruptions" if len(order) > 1 else "1 corruption"
    if len(shown) < len(order):
        which = f"the worst {len(shown)} of {which}"
    ns = {effect.n for effect in effects.values()}
    images = f"{count(min(ns))} images each" if len(ns) == 1 else f"{count(min(ns))} or more images"
    columns = ", ".join(sorted({effect.weight for effect in effects.values()} - {""}))
    by_weight = f"images count by {columns}; " if columns else ""
    caption = (
        f"{named.name}: {images}, {which} from most to least harmful; "
        f"{by_weight}{scoring}; AUROC tells corrupted from intact images of {named.split}, "
        f"{POSITIVE}."
    )
    rows = []
    for part in sorted(effects, key=lambda part: (order.index(part.corruption), part.severity)):
        effect = effects[part]
        numbers = (effect.accuracy, effect.confidence, effect.ece, effect.auroc)
        rows.append((CORRUPTIONS[part.corruption].label, part.severity, effect.n, *numbers))
    table = Table(COLUMNS, tuple(rows))
    labels, cards = [CORRUPTIONS[name].label for name in shown], []
    for key, title, low, high in MAPS:
        values = np.full((len(shown), len(SEVERITIES)), np.nan)
        for part, effect in effects.items():
            if part.corruption in shown:
                place = shown.index(part.corruption), SEVERITIES.index(part.severity)
                values[place] = getattr(effect, key)
        grid = ValueGrid(rows=labels, columns=SEVERITIES, values=values, low=low, high=high)
        ends = f"{100 * np.nanmin(values):.0f} to {100 * np.nanmax(values):.0f} %"
        cards.append(
            FigureCard(
                key=f"{kind}_{key}",
                title=title,
                explanation="%",
                draw=partial(heatmap, grid),
                alt=f"{title} for {which} at severities 1 to 5: {ends}. "
                f"Most harmful on average: {labels[0]}.",
                table=table,
                caption=caption,
            )
        )
    origin = "made by Candor" if kind == "corrupted" else "the published files"
    return ShiftView(
        title=KINDS[kind],
        explanation=f"{origin}; corruption by severity",
        maps=tuple(cards),
        table=table,
        caption=caption,
        more=f"All {len(order)} corruptions" if folds else "",
    )


@dataclass(frozen=True, kw_only=True)
class ValueGrid:
    """Values of one quantity.

    Attributes
    ----------
    rows : sequence of str
        Names of the corruptions, first at the top.
    columns : sequence of int
        Severities.
    values : (R, C) float64
        Fractions; NaN where there is no such part.
    low, high : float
        Where colours are darkest and brightest; high is below low where small is good.
    """

    rows: Sequence[str]
    columns: Sequence[int]
    values: Float
    low: float
    high: float


def heatmap(grid: ValueGrid, theme: Theme) -> go.Figure:
    """Draw the values as percent in cells; words are black or white by the colour under them."""
    settings = layout(theme, ROW_PX * len(grid.rows) + FRAME_PX)
    settings["margin"] = {"l": ROOM_FOR_NAMES, "r": 8, "t": 6, "b": 42}
    across = list(range(len(grid.columns)))
    settings["xaxis"] = axis(
        theme, "Severity", tickvals=across, ticktext=[str(c) for c in grid.columns], showgrid=False
    )
    settings["yaxis"] = axis(
        theme,
        tickvals=list(range(len(grid.rows))),
        ticktext=list(grid.rows),
        autorange="reversed",
        showgrid=False,
        tickfont={"size": 11.5, "color": theme.ink},
    )
    figure = go.Figure(layout=settings)
    figure.add_heatmap(
        z=100 * grid.values,
        zmin=100 * min(grid.low, grid.high),
        zmax=100 * max(grid.low, grid.high),
        colorscale=[[k / (len(CIVIDIS) - 1), colour] for k, colour in enumerate(CIVIDIS)],
        reversescale=grid.low > grid.high,
        showscale=False,
        xgap=2,
        ygap=2,
        hoverongaps=False,
        customdata=[[name] * len(across) for name in grid.rows],
        hovertemplate="%{customdata}, severity %{x}: %{z:.1f} %<extra></extra>",
    )
    cells = [(x, y, v) for y, row in enumerate(grid.values.tolist()) for x, v in enumerate(row)]
    known = [cell for cell in cells if np.isfinite(cell[2])]
    for bright in (False, True):
        of_side = [cell for cell in known if (_luminance(grid, cell[2]) >= DARK) == bright]
        figure.add_scatter(
            x=[x for x, _, _ in of_side],
            y=[y for _, y, _ in of_side],
            text=[f"{100 * value:.0f}" for _, _, value in of_side],
            mode="text",
            textfont={"size": 11.5, "color": "#000000" if bright else "#FFFFFF"},
            hoverinfo="skip",
            showlegend=False,
        )
    return figure


def _luminance(grid: ValueGrid, value: float) -> float:
    """Return how bright a cell is, 0 to 1."""
    place = np.clip((value - grid.low) / (grid.high - grid.low), 0.0, 1.0) * (len(CIVIDIS) - 1)
    colours = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in CIVIDIS]) / 255.0
    below = min(int(place), len(CIVIDIS) - 2)
    mixed = colours[below] + (place - below) * (colours[below + 1] - colours[below])
    return float(mixed @ np.array([0.299, 0.587, 0.114]))
