"""A linear classifier on the theory page: its decision boundary, and how its weights grow."""

from functools import partial

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.losses.linear_toy import FLIPPED, POINTS, STEPS, LinearToy, linear_toy
from core.screens.kit.curves import Colour, Plot, TheoryCurve, chart, curve_card, curve_table
from core.screens.kit.numbers import THIN, percent, three
from core.screens.kit.records import Column, FigureCard
from core.screens.kit.theme import Theme
from core.screens.theory.view import written

SOURCE = "Mukhoti 2020"
REACH = 2.5  # of both axes
COLOURS: tuple[Colour, Colour] = ("quiet", "ink")
DASHED = ("dash", "solid")
STEP = 5  # steps between points of the curves


def toy_cards(gamma: float) -> tuple[FigureCard, ...]:
    """Return decision boundaries and norms of a linear classifier, cross-entropy beside focal.

    Parameters
    ----------
    gamma : float
        Above 0.
    """
    runs = {"cross-entropy": linear_toy(0.0), f"focal, γ = {written(gamma)}": linear_toy(gamma)}
    return _boundary_card(runs), _norm_card(runs)


def _boundary(run: LinearToy) -> tuple[Float, Float]:
    """Return where the classifier says one half, from edge to edge."""
    direction = np.array([-run.weights[1], run.weights[0]]) / np.linalg.norm(run.weights)
    ends = np.array([[-2.0 * REACH], [2.0 * REACH]]) * direction
    return ends[:, 0], ends[:, 1]


def _boundary_card(runs: dict[str, LinearToy]) -> FigureCard:
    curves = tuple(
        TheoryCurve(name, x, y, colour=colour, dash=dash, width=2.4)
        for (name, (x, y)), colour, dash in zip(
            ((name, _boundary(run)) for name, run in runs.items()),
            COLOURS,
            DASHED,
            strict=True,
        )
    )
    confidence = ", ".join(
        f"{name} {percent(float(run.wrong_confidence.mean()))}" for name, run in runs.items()
    )
    first, second = runs.values()
    apart = abs(first.angle - second.angle)
    return FigureCard(
        key="boundary",
        title="Linear classifier",
        explanation=f"lines at 50{THIN}%",
        draw=partial(_draw, first, curves),
        alt=f"Points of two classes and two decision boundaries, {three(apart)} degrees apart."
        f" Mean confidence of wrong answers: {confidence}.",
        table=curve_table(curves, (Column("x1", "x1", "number"), Column("x2", "x2", "number"))),
        caption=f"{SOURCE}, figure 6; {percent(FLIPPED)} of {POINTS:,} labels flipped. Mean "
        f"confidence when wrong: {confidence}.",
    )


def _draw(run: LinearToy, curves: tuple[TheoryCurve, ...], theme: Theme) -> go.Figure:
    ends = {"range": [-REACH, REACH]}
    figure = chart(Plot(curves=curves, across="x1", up="x2", x=ends, y=ends, square=True), theme)
    for label, colour, symbol in ((False, theme.under, "circle"), (True, theme.over, "x")):
        x, y = run.points[run.labels == label].T
        marker = {"size": 5, "color": colour, "symbol": symbol, "opacity": 0.7}
        figure.add_trace(
            go.Scatter(
                x=x,
                y=y,
                mode="markers",
                name=f"class {int(label)}",
                marker=marker,
                hoverinfo="skip",
            )
        )
    return figure


def _norm_card(runs: dict[str, LinearToy]) -> FigureCard:
    steps = np.arange(0, STEPS + 1, STEP)
    curves = tuple(
        TheoryCurve(name, steps.astype(np.float64), run.norms[::STEP], colour=colour, dash=dash)
        for (name, run), colour, dash in zip(runs.items(), COLOURS, DASHED, strict=True)
    )
    ends = ", ".join(f"{name} {three(float(run.norms[-1]))}" for name, run in runs.items())
    plot = Plot(
        curves=curves,
        across="Step",
        up="Norm of the weights",
        y={"rangemode": "tozero"},
        hover="step %{x}: %{y:.3f}",
    )
    return curve_card(
        "toy_norm",
        "Weight norm",
        "gradient descent from 0",
        plot,
        (Column("step", "step", "number"), Column("norm", "norm", "number")),
        alt=f"Norm of a linear classifier's weights by step. At the end: {ends}.",
        caption=f"{SOURCE}, figure 5.",
    )
