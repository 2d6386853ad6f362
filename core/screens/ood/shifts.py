"""What corruptions do, by kind and severity: four heat maps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.datasets.shifts import CORRUPTIONS, KINDS, SEVERITIES, OutsideSet
from core.screens.kit.differences import NamedRun
from core.screens.kit.numbers import count
from core.screens.kit.records import Cell, Column, FigureCard, Table
from core.screens.ood.shift_maps import ValueGrid, heatmap
from core.screens.ood.words import POSITIVE
from core.studies.ood import ShiftEffect

MOST_ROWS, WORST = 10, 8  # of more corruptions than MOST_ROWS the page first shows the WORST
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
class ShiftMap:
    """One quantity of the maps: title, explanation, what it reads, and the ends of its colours."""

    key: str
    title: str
    explanation: str
    value: Callable[[ShiftEffect], float]
    low: float
    high: float


MAPS = (
    ShiftMap(
        key="accuracy",
        title="Accuracy",
        explanation="%",
        value=lambda effect: effect.accuracy,
        low=0.0,
        high=1.0,
    ),
    ShiftMap(
        key="confidence",
        title="Confidence",
        explanation="%",
        value=lambda effect: effect.confidence,
        low=0.0,
        high=1.0,
    ),
    ShiftMap(
        key="ece",
        title="ECE",
        explanation="%",
        value=lambda effect: effect.ece,
        low=0.5,
        high=0.0,
    ),
    ShiftMap(
        key="auroc",
        title="AUROC",
        explanation="%",
        value=lambda effect: effect.auroc,
        low=0.5,
        high=1.0,
    ),
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
    order = sorted(
        {outside_set.corruption for outside_set in effects},
        key=lambda name: (_harm(effects, name), name),
    )
    folds = len(order) > MOST_ROWS
    shown = order if every or not folds else order[:WORST]
    table = Table(
        COLUMNS,
        tuple(
            _line(outside_set, effects[outside_set])
            for outside_set in sorted(effects, key=_place(order))
        ),
    )
    ns = {effect.n for effect in effects.values()}
    images = f"{count(min(ns))} images each" if len(ns) == 1 else f"{count(min(ns))} or more images"
    columns = ", ".join(sorted({effect.weight for effect in effects.values()} - {""}))
    by_weight = f"images count by {columns}; " if columns else ""
    caption = (
        f"{named.name}: {images}, {_which(shown, order)} from most to least harmful; "
        f"{by_weight}{scoring}; AUROC tells corrupted from intact images of {named.split}, "
        f"{POSITIVE}."
    )
    cards = tuple(
        _card(shift_map, kind, shown, order, effects, table, caption) for shift_map in MAPS
    )
    origin = "made by Candor" if kind == "corrupted" else "the published files"
    return ShiftView(
        title=KINDS[kind],
        explanation=f"{origin}; corruption by severity",
        maps=cards,
        table=table,
        caption=caption,
        more=f"All {len(order)} corruptions" if folds else "",
    )


def _which(shown: list[str], order: list[str]) -> str:
    """Return which corruptions the maps show, in words."""
    number = f"{len(order)} corruptions" if len(order) > 1 else "1 corruption"
    return number if len(shown) == len(order) else f"the worst {len(shown)} of {number}"


def _harm(effects: Mapping[OutsideSet, ShiftEffect], name: str) -> float:
    """Return the mean accuracy under one corruption."""
    return float(
        np.mean(
            [s.accuracy for outside_set, s in effects.items() if outside_set.corruption == name]
        )
    )


def _place(order: list[str]) -> Callable[[OutsideSet], tuple[int, int]]:
    return lambda outside_set: (order.index(outside_set.corruption), outside_set.severity)


def _line(outside_set: OutsideSet, effect: ShiftEffect) -> tuple[Cell, ...]:
    label = CORRUPTIONS[outside_set.corruption].label
    numbers = (effect.accuracy, effect.confidence, effect.ece, effect.auroc)
    return (label, outside_set.severity, effect.n, *numbers)


def _card(
    which: ShiftMap,
    kind: str,
    shown: list[str],
    order: list[str],
    effects: Mapping[OutsideSet, ShiftEffect],
    table: Table,
    caption: str,
) -> FigureCard:
    values = np.full((len(shown), len(SEVERITIES)), np.nan)
    for i, name in enumerate(shown):
        for j, severity in enumerate(SEVERITIES):
            effect = effects.get(OutsideSet(kind, corruption=name, severity=severity))
            if effect is not None:
                values[i, j] = which.value(effect)
    rows = [CORRUPTIONS[name].label for name in shown]
    grid = ValueGrid(rows=rows, columns=SEVERITIES, values=values, low=which.low, high=which.high)
    ends = f"{100 * np.nanmin(values):.0f} to {100 * np.nanmax(values):.0f} %"
    return FigureCard(
        key=f"{kind}_{which.key}",
        title=which.title,
        explanation=which.explanation,
        draw=partial(heatmap, grid),
        alt=f"{which.title} for {_which(shown, order)} at severities 1 to 5: {ends}. "
        f"Most harmful on average: {rows[0]}.",
        table=table,
        caption=caption,
    )
