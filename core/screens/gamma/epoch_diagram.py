"""The reliability diagram of one epoch's validation bins, with the chosen bin in a square."""

import plotly.graph_objects as go

from core.metrics.records import BinTable
from core.screens.kit.bin_marks import ANSWERS, ClaimWords
from core.screens.kit.diagram import TICK_TEXT, TICKS, small_diagram
from core.screens.kit.theme import Theme, axis

HEIGHT = 376
SQUARE = 22


def epoch_diagram(
    bins: BinTable, chosen: int, theme: Theme, *, words: ClaimWords = ANSWERS
) -> go.Figure:
    """Draw the bins of one epoch; customdata of every dot is its bin.

    Parameters
    ----------
    bins : BinTable
        Validation bins of the epoch.
    chosen : int
        The bin that is marked by a square: rings are changes of sign. An empty one has no dot.
    theme : Theme
    words : ClaimWords
        Titles of the axes.
    """
    figure = small_diagram(bins, theme, height=HEIGHT)
    ticks: dict[str, object] = {
        "range": [0, 1],
        "tickvals": TICKS,
        "ticktext": TICK_TEXT,
        "constrain": "domain",
    }
    figure.update_layout(
        margin={"l": 58, "r": 26, "t": 8, "b": 46},
        xaxis=axis(theme, words.claim, **ticks),
        yaxis=axis(theme, words.actual, scaleanchor="x", constraintoward="top", **ticks),
    )
    if bins.count[chosen] > 0:
        figure.add_trace(
            go.Scatter(
                x=[bins.confidence[chosen]],
                y=[bins.accuracy[chosen]],
                mode="markers",
                name="chosen bin",
                marker={
                    "symbol": "square-open",
                    "size": SQUARE,
                    "color": theme.accent,
                    "line": {"width": 2},
                },
                hoverinfo="skip",
                cliponaxis=False,
            )
        )
    return figure
