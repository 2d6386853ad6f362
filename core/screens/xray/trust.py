"""Whether a heatmap can be trusted, in words: maps of random weights, and where maps point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
import plotly.graph_objects as go

from core.screens.kit.numbers import count, in_hundred, percent, two, two_span
from core.screens.kit.records import Column, FigureCard, Table
from core.screens.kit.tables import (
    Estimate,
    PageColumn,
    ScoreTable,
    TableRow,
    with_ends,
)
from core.screens.kit.theme import Theme, axis, layout
from core.xray.localisation import Localisation, MeanOverFilms

ROW_PX = 34


def similarity(
    stages: Sequence[str],
    values: Sequence[float],
    ends: Sequence[tuple[float, float]],
    theme: Theme,
) -> go.Figure:
    """Draw how alike a map stays to that of the trained network, stage by stage.

    Parameters
    ----------
    stages : sequence of str
        What was randomised last; the first is the trained network.
    values : sequence of float
        SSIM with the first map, in [-1, 1].
    ends : sequence of (float, float)
        The lowest and the highest, where weights were drawn several times.
    theme : Theme
        Light or dark.
    """
    settings = layout(theme, 250)
    settings["margin"] = {"l": 52, "r": 22, "t": 12, "b": 62}
    settings["xaxis"] = axis(
        theme,
        "Randomised so far, from the last layer down",
        tickvals=[0, len(stages) - 1],
        ticktext=["nothing", "all weights"],
        range=[-0.3, len(stages) - 0.7],
        showgrid=False,
    )
    settings["yaxis"] = axis(
        theme,
        "Similarity (SSIM)",
        range=[min(0.0, *(low for low, _ in ends)) - 0.06, 1.06],
        nticks=5,
    )
    figure = go.Figure(layout=settings)
    figure.add_trace(
        go.Scatter(
            x=list(range(len(stages))),
            y=list(values),
            name="similarity",
            mode="lines+markers",
            line={"color": theme.ink, "width": 1.6},
            marker={"size": 8, "color": theme.ink},
            error_y={
                "type": "data",
                "array": [high - value for value, (_, high) in zip(values, ends, strict=True)],
                "arrayminus": [value - low for value, (low, _) in zip(values, ends, strict=True)],
                "color": theme.quiet,
                "thickness": 1.4,
                "width": 0,
            },
            hovertext=[
                f"<b>{stage}</b><br>{value:.2f}"
                for stage, value in zip(stages, values, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            cliponaxis=False,
        )
    )
    return figure


@dataclass(frozen=True)
class PointingShare:
    """How often one kind of map points into the box: a share with its interval."""

    name: str
    value: float
    low: float
    high: float
    own: bool = False


def pointing(rows: Sequence[PointingShare], theme: Theme) -> go.Figure:
    """Draw a forest of shares of films on which the strongest place lies in the box.

    Parameters
    ----------
    rows : sequence of PointingShare
        From top to bottom; `own` marks the map that is judged.
    theme : Theme
        Light or dark.
    """
    settings = layout(theme, ROW_PX * len(rows) + 70)
    settings["margin"] = {"l": 158, "r": 26, "t": 8, "b": 46}
    settings["xaxis"] = axis(theme, "films with the strongest place in the box, %", range=[-2, 102])
    settings["yaxis"] = axis(
        theme,
        tickvals=list(range(len(rows))),
        ticktext=[f"<b>{row.name}</b>" if row.own else row.name for row in rows],
        tickfont={"size": 13, "color": theme.ink},
        range=[len(rows) - 0.4, -0.6],
        showgrid=False,
    )
    figure = go.Figure(layout=settings)
    for y, row in enumerate(rows):
        colour = theme.ink if row.own else theme.quiet
        figure.add_trace(
            go.Scatter(
                x=[100 * row.low, 100 * row.high],
                y=[y, y],
                mode="lines",
                line={"color": colour, "width": 2},
                hoverinfo="skip",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=[100 * row.value],
                y=[y],
                name=row.name,
                mode="markers",
                marker={
                    "size": 11,
                    "color": colour if row.own else theme.paper,
                    "line": {"color": colour, "width": 2},
                },
                hovertext=[
                    f"<b>{row.name}</b><br>{percent(row.value)} "
                    f"({percent(row.low)} to {percent(row.high)})"
                ],
                hovertemplate="%{hovertext}<extra></extra>",
                cliponaxis=False,
            )
        )
    return figure


SAME: Final = 0.8  # similarity from which a map of random weights counts as the same
OTHER: Final = 0.5  # and below which as another one
MODEL, SHUFFLED, CENTRE, LUNGS = "model", "shuffled", "centre", "lungs"
KINDS: Final = {
    MODEL: "The model",
    SHUFFLED: "Randomised weights",
    CENTRE: "Always the centre",
    LUNGS: "Anywhere in the lungs",  # a point uniform over each film's own lungs
}
SHOWN: Final = (
    PageColumn("pointing", "Points into the box, of 100 films", "unsigned_points"),
    PageColumn("iou", "Overlap (IoU), %", "unsigned_points"),
    PageColumn("energy", "Energy in box, %", "unsigned_points"),
)
FEWEST: Final = 20  # films below which no comparison is made in words
MOST_SHOWN: Final = 8  # stages whose maps are drawn
STAGE_COLUMNS: Final = (
    Column("stage", "randomised down to"),
    Column("ssim", "similarity with the trained map, mean", "number"),
    Column("ssim_low", "lowest draw", "number"),
    Column("ssim_high", "highest draw", "number"),
)
POINT_COLUMNS: Final = (
    Column("map", "map"),
    Column("films", "films", "count"),
    Column("pointing", "points into the box", "share"),
    Column("pointing_low", "low", "share"),
    Column("pointing_high", "high", "share"),
    Column("iou", "IoU", "share"),
    Column("iou_low", "low", "share"),
    Column("iou_high", "high", "share"),
    Column("energy", "energy in box", "share"),
    Column("energy_low", "low", "share"),
    Column("energy_high", "high", "share"),
)
NEEDED: Final = (
    "A map that shows what was learned changes when the weights are randomised. One that stays "
    "the same shows edges of the film."
)


@dataclass(frozen=True)
class Sanity:
    """How a map changes as ever more weights are randomised.

    Attributes
    ----------
    stages : tuple of str
        What was randomised last; the first is the trained network.
    draws : tuple of tuple of float
        SSIM with the first map, by stage, for each time that weights were drawn.
    """

    stages: tuple[str, ...]
    draws: tuple[tuple[float, ...], ...]

    @property
    def similarity(self) -> tuple[float, ...]:
        """The mean over the draws, by stage."""
        return tuple(float(np.mean(values)) for values in zip(*self.draws, strict=True))

    @property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """The lowest and the highest of the draws, by stage."""
        return tuple((min(values), max(values)) for values in zip(*self.draws, strict=True))

    @property
    def shown(self) -> list[int]:
        """The stages whose maps are drawn: the first, the last, and some between them."""
        n = len(self.stages)
        places = np.linspace(0, n - 1, min(n, MOST_SHOWN)).round()
        return [int(place) for place in places]

    @property
    def text(self) -> str:
        """What came out, in words."""
        last, (low, high) = self.similarity[-1], self.ends[-1]
        moved = f"With all weights randomised, its similarity to the trained map is {two(last)}"
        if len(self.draws) > 1:
            moved += f" on average ({two_span(low, high)} in {len(self.draws)} draws)"
        if last >= SAME:
            return (
                f"The map hardly depends on what was learned. {moved}, where 1 is the same map: it "
                "shows the film more than the model. Do not trust it."
            )
        if last >= OTHER:
            return (
                f"The map depends in part on what was learned. {moved}, where 1 is the same map: "
                "some of what it shows would be there without any training."
            )
        return (
            f"The map depends on what was learned. {moved}, where 1 is the same map. That is "
            "necessary, not sufficient: the map can still be wrong."
        )


def similarity_card(sanity: Sanity, caption: str) -> FigureCard:
    """Return the similarity of the maps, stage by stage."""
    listing = "; ".join(
        f"{stage} {two(value)}"
        for stage, value in zip(sanity.stages, sanity.similarity, strict=True)
    )
    return FigureCard(
        key="similarity",
        title="Similarity to the trained map",
        explanation="1 is the same map; the bars span the draws",
        draw=partial(similarity, sanity.stages, sanity.similarity, sanity.ends),
        alt=f"Similarity (SSIM) of the map as ever more weights are randomised: {listing}.",
        table=Table(
            STAGE_COLUMNS,
            tuple(
                (stage, mean, *ends)
                for stage, mean, ends in zip(
                    sanity.stages, sanity.similarity, sanity.ends, strict=True
                )
            ),
        ),
        caption=caption,
    )


def pointing_text(localisations: Mapping[str, Localisation], name: str) -> str:
    """Return in words how often the model's map points into the box, beside the other maps.

    Parameters
    ----------
    localisations : mapping
        By key of KINDS; the model's among them.
    name : str
        The finding, within a sentence.
    """
    own = localisations[MODEL]
    share = own.pointing
    start = (
        f"Of 100 films with {name}, the strongest place lies in the box in about "
        f"{in_hundred(share.value, share.low, share.high)} "
        f"({in_hundred(share.low)} to {in_hundred(share.high)}; {count(own.n)} films)."
    )
    if own.n < FEWEST:
        return f"{start} There are too few films to tell one map from another."
    others = {
        key: localisation.pointing for key, localisation in localisations.items() if key != MODEL
    }
    beaten = [key for key, mean in others.items() if share.low > mean.high]
    if len(beaten) == len(others):
        return f"{start} That is beyond what every map beside it reaches by chance."
    tied = [KINDS[key].lower() for key in others if key not in beaten]
    return f"{start} Maps that ignore the finding do as well, or nearly: {', '.join(tied)}."


def pointing_table(localisations: Mapping[str, Localisation]) -> ScoreTable:
    """Return the maps with their three measures."""
    return ScoreTable(
        "Map",
        SHOWN,
        POINT_COLUMNS,
        tuple(
            TableRow(
                name=KINDS[key],
                cells={
                    "map": KINDS[key],
                    "films": localisation.n,
                    **with_ends("pointing", Estimate(*_all(localisation.pointing))),
                    **with_ends("iou", Estimate(*_all(localisation.iou))),
                    **with_ends("energy", Estimate(*_all(localisation.energy))),
                },
                notes=(f"{count(localisation.n)} films",),
                shaded=key == MODEL,
            )
            for key, localisation in localisations.items()
        ),
    )


def _all(share: MeanOverFilms) -> tuple[float, float, float]:
    return share.value, share.low, share.high


def pointing_card(localisations: Mapping[str, Localisation], name: str, caption: str) -> FigureCard:
    """Return how often each map points into the box."""
    rows = [
        PointingShare(KINDS[key], *_all(localisation.pointing), own=key == MODEL)
        for key, localisation in localisations.items()
    ]
    return FigureCard(
        key="pointing",
        title="Where the strongest place lies",
        explanation="in the box of the lesion, with 95 % intervals over films",
        draw=partial(pointing, rows),
        alt=f"{pointing_text(localisations, name)} {_listed(rows)}",
        table=pointing_table(localisations).file,
        caption=caption,
    )


def _listed(rows: Sequence[PointingShare]) -> str:
    return " ".join(
        f"{row.name}: {in_hundred(row.value)} of 100 ({in_hundred(row.low)} to "
        f"{in_hundred(row.high)})."
        for row in rows
    )
