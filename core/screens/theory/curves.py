"""Closest temperatures and gradients on the theory page: curves against gamma and p."""

from collections.abc import Mapping

import numpy as np

from core.arrays import sigmoid
from core.calibrators.focal_map import gamma_star, gradient_factor
from core.calibrators.focal_theory import line_fit, temperature_bounds
from core.calibrators.theory import Sweep, unit_crossing
from core.screens.kit.curves import DASHES, SHARES, Highlight, Plot, TheoryCurve, curve_card
from core.screens.kit.numbers import percent, points, three
from core.screens.kit.records import Column, FigureCard
from core.screens.theory.view import LOGITS, MAP_PAPER, closest, mapped, written

GRADIENT_PAPER = "Mukhoti 2020"
PRINTED_LINES = {2: (0.95, 0.85), 3: (0.64, 0.91), 4: (0.47, 0.85)}  # of MAP_PAPER, 3.2 and 3.3
FITTED_UP_TO = 5.0


def temperature_cards(gamma: float, sweeps: Mapping[int, Sweep]) -> tuple[FigureCard, ...]:
    """Return the closest temperature against gamma, what it leaves, and where it differs.

    Parameters
    ----------
    gamma : float
        Above 0.
    sweeps : mapping of int to Sweep
        By number of classes.
    """
    return line_card(sweeps), residual_card(sweeps), _difference_card(gamma), _width_card(gamma)


def _width_card(gamma: float) -> FigureCard:
    gammas = np.linspace(0.05, 10.0, 200)
    ends = np.array([temperature_bounds(float(g)) for g in gammas])
    width = ends[:, 1] - ends[:, 0]
    now = float(np.diff(temperature_bounds(gamma))[0])
    curve = TheoryCurve("soft bound minus sharp bound", gammas, width, width=3.0)
    plot = Plot(
        curves=(curve,),
        across="γ",
        up="Width, in T",
        x={"range": [0, 10.2]},
        y={"rangemode": "tozero"},
        spots=(Highlight(gamma, now, f"γ = {written(gamma)}: {three(now)}"),),
        hover="γ = %{x:.2f}: %{y:.4f}",
    )
    widest = int(width.argmax())
    return curve_card(
        "width",
        "Width of the bounds",
        "two classes",
        plot,
        (Column("gamma", "γ", "number"), Column("width", "width", "number")),
        alt=f"Width of the bounds against gamma: {three(now)} at {written(gamma)}, at most "
        f"{three(float(width[widest]))} near {three(float(gammas[widest]))}.",
        caption=f"{MAP_PAPER}, proposition 3 (corrected).",
    )


def line_card(sweeps: Mapping[int, Sweep]) -> FigureCard:
    """Return 1 / T against gamma with the fitted and the printed line."""
    curves: list[TheoryCurve] = []
    for i, (k, sweep) in enumerate(sweeps.items()):
        slope, intercept = fitted(sweep)
        name = f"{k} classes, fitted {slope:.2f} γ + {intercept:.2f}"
        curves.append(
            TheoryCurve(name, sweep.gammas, 1.0 / sweep.temperatures, colour=i, dots=True)
        )
        a, b = PRINTED_LINES[k]
        printed = a * sweep.gammas + b
        curves.append(
            TheoryCurve(
                f"printed {a} γ + {b}", sweep.gammas, printed, colour=i, dash="dot", width=1.6
            )
        )
    fits = "; ".join(curve.name for curve in curves[::2])
    plot = Plot(
        curves=tuple(curves),
        across="γ",
        up="1 / T of the closest temperature",
        x={"range": [0, 9.3]},
        y={"rangemode": "tozero"},
        hover="γ = %{x}: 1/T = %{y:.3f}",
    )
    return curve_card(
        "line",
        "Closest temperature",
        f"fitted up to γ = {FITTED_UP_TO:g}",
        plot,
        (Column("gamma", "γ", "number"), Column("inverse", "1/T", "number")),
        alt=f"Inverse of the closest temperature against gamma. {fits}.",
        caption=f"{MAP_PAPER}, sections 3.2 and 3.3.",
    )


def fitted(sweep: Sweep) -> tuple[float, float]:
    """Return slope and intercept of 1 / T over the gammas that are fitted."""
    low = sweep.gammas <= FITTED_UP_TO
    return line_fit(sweep.gammas[low], sweep.temperatures[low])


def residual_card(sweeps: Mapping[int, Sweep]) -> FigureCard:
    """Return what the best temperature leaves, against gamma."""
    curves = tuple(
        TheoryCurve(f"{k} classes", sweep.gammas, 100.0 * sweep.residuals, colour=i, dots=True)
        for i, (k, sweep) in enumerate(sweeps.items())
    )
    worst = ", ".join(
        f"{points(float(sweep.residuals.max()))} with {k} classes" for k, sweep in sweeps.items()
    )
    plot = Plot(
        curves=curves,
        across="γ",
        up="Largest difference, points",
        x={"range": [0, 9.3]},
        y={"rangemode": "tozero"},
        hover="γ = %{x}: %{y:.2f} points",
    )
    return curve_card(
        "residual",
        "What remains",
        "at the best T",
        plot,
        (Column("gamma", "γ", "number"), Column("points", "points", "number")),
        alt=f"Largest difference between map and closest temperature, in points, up to: {worst}.",
        caption=f"{MAP_PAPER}, sections 3.2 and 3.3.",
    )


def _difference_card(gamma: float) -> FigureCard:
    near = closest(2, gamma)
    gap = 100.0 * (mapped(gamma) - sigmoid(LOGITS / near.temperature))
    curve = TheoryCurve(
        f"map at γ = {written(gamma)} minus T = {three(near.temperature)}",
        sigmoid(LOGITS),
        gap,
        width=2.4,
    )
    plot = Plot(
        curves=(curve,),
        across="Model says",
        up="Difference, points",
        x=SHARES,
        hover="says %{x:.1%}: %{y:+.4f} points",
    )
    return curve_card(
        "difference",
        "Map minus temperature",
        f"γ = {written(gamma)}, T = {three(near.temperature)}",
        plot,
        (Column("says", "says", "share"), Column("points", "points", "number")),
        alt=f"Difference between the map and its closest temperature, at most "
        f"{points(near.residual)} points.",
        caption=f"{MAP_PAPER}, section 3.2.",
    )


def gradient_cards(gamma: float, p0: float, also: tuple[float, ...]) -> tuple[FigureCard, ...]:
    """Return the factor on the gradient, and the gamma from which it stays below one.

    Parameters
    ----------
    gamma : float
        Above 0.
    p0 : float in (0, 1)
        Probability of the true class that is pointed out.
    also : tuple of float
        Other gammas; those below 0 have no factor and are left out.
    """
    return _factor_card(gamma, tuple(g for g in also if g > 0.0)), _star_card(p0)


def _factor_card(gamma: float, also: tuple[float, ...]) -> FigureCard:
    p = np.linspace(0.0, 1.0, 201)
    cross = unit_crossing(gamma)
    curves = (
        TheoryCurve("cross-entropy", p, np.ones_like(p), colour="quiet", dash="dash", width=1.4),
        *(
            TheoryCurve(
                f"γ = {written(g)}",
                p,
                gradient_factor(p, g),
                colour=i,
                dash=DASHES[i % len(DASHES)],
                width=1.6,
            )
            for i, g in enumerate(also)
        ),
        TheoryCurve(f"γ = {written(gamma)}", p, gradient_factor(p, gamma), width=3.0),
    )
    peak = float(gradient_factor(p, gamma).max())
    plot = Plot(
        curves=curves,
        across="Probability of the true class",
        up="Gradient over that of cross-entropy",
        x=SHARES,
        y={"rangemode": "tozero"},
        spots=(Highlight(cross, 1.0, f"equal at {percent(cross)}"),),
        hover="p = %{x:.1%}: %{y:.3f}",
    )
    return curve_card(
        "factor",
        "Gradient relative to cross-entropy",
        "g(p, γ)",
        plot,
        (Column("p", "p", "share"), Column("factor", "g", "number")),
        alt=f"Factor on the gradient at gamma {written(gamma)}: 1 at probability 0, at most "
        f"{three(peak)}, 1 again at {percent(cross)}, 0 at 1.",
        caption=f"{GRADIENT_PAPER}, proposition 1.",
    )


def _star_card(p0: float) -> FigureCard:
    p = np.linspace(0.1, 0.6, 201)
    star = float(gamma_star(p0))
    steps = TheoryCurve(
        "FLSD-53: 5 below 0.2, else 3",
        np.array([0.1, 0.2, 0.2, 0.6]),
        np.array([5.0, 5.0, 3.0, 3.0]),
        colour=1,
        dash="dash",
        width=1.8,
    )
    curves = (TheoryCurve("γ*(p0)", p, gamma_star(p), width=3.0), steps)
    plot = Plot(
        curves=curves,
        across="p0, probability of the true class",
        up="γ",
        x={"range": [0.09, 0.61], "tickformat": ".0%"},
        y={"range": [-0.6, 16]},
        spots=(Highlight(p0, star, f"γ*({p0:g}) = {three(star)}"),),
        hover="p0 = %{x:.1%}: γ = %{y:.3f}",
    )
    return curve_card(
        "star",
        "Smallest γ with no larger gradient",
        "g(p, γ) ≤ 1 for every p ≥ p0",
        plot,
        (Column("p0", "p0", "number"), Column("gamma", "γ", "number")),
        alt=f"Gamma star against p0: {three(star)} at {p0:g}, "
        f"{three(float(gamma_star(0.2)))} at 0.2 and {three(float(gamma_star(0.25)))} at 0.25, "
        "which FLSD-53 rounds to 5 and 3; 0 from one half.",
        caption=f"{GRADIENT_PAPER}, proposition 2.",
    )
