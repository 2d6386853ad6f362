"""Losses and three classes on the theory page: both maps, their difference, risks as isolines."""

from functools import partial

import numpy as np

from core.arrays import Float, sigmoid
from core.calibrators.focal_inverse import focal_loss, inverse_focal_map, properised_loss
from core.calibrators.focal_map import focal_map, gradient_factor
from core.calibrators.theory import risk_isolines, temperature_scaled
from core.losses.shapes import brier_isolines, calfocal, inverse_focal
from core.screens.kit.curves import SHARES, Plot, TheoryCurve, curve_card
from core.screens.kit.numbers import THIN, percent, points, three
from core.screens.kit.records import Column, FigureCard, Table
from core.screens.theory import triangle_figure
from core.screens.theory.toy import toy_cards
from core.screens.theory.view import MAP_PAPER, closest, written

STEPS = 10  # of the lattice from which arrows start, and of the table beside the heatmap
CELLS = 150  # across the heatmap
SHARES_WITHIN = np.array([0.03, 0.12, 0.20])  # of the area, as in figure 4 of MAP_PAPER
LOSS_LOGITS = np.linspace(-30.0, 9.0, 313)  # far down, where the properised loss still rises
ACCURACY = 0.8  # of the bin, as in figure 3(a) of Ghosh et al. 2022
CLASSES = ("class 1", "class 2", "class 3")


def simplex_cards(gamma: float) -> tuple[FigureCard, ...]:
    """Return arrows of the focal map and of its closest temperature, and their difference.

    Parameters
    ----------
    gamma : float
        Above -1.
    """
    near = closest(3, gamma)
    settings = f"γ = {written(gamma)}, T = {three(near.temperature)}"
    return (
        _arrow_card(gamma, near.temperature, settings),
        _heatmap_card(gamma, near.temperature, settings),
        _weight_card(gamma),
    )


def _weight_card(gamma: float) -> FigureCard:
    q = np.linspace(0.005, 0.995, 199)
    weight = q / gradient_factor(q, gamma)
    name = written(gamma)
    curves = (
        TheoryCurve("γ = 0", q, q, colour="quiet", dash="dash", width=1.4),
        TheoryCurve(f"γ = {name}", q, weight, width=3.0),
    )
    half = float(np.interp(0.5, q, weight))
    plot = Plot(
        curves=curves,
        across="q, probability of a class",
        up="−1 / φ′(q)",
        x=SHARES,
        y={"range": [0, 3]},
        hover="q = %{x:.1%}: %{y:.4f}",
    )
    return curve_card(
        "phi",
        "Weight of a class",
        "before normalisation",
        plot,
        (Column("q", "q", "share"), Column("weight", "weight", "number")),
        alt=f"Weight of a class in the focal map against its probability, gamma {name}: "
        f"{three(half)} at one half, where it is 0.5 without the map.",
        caption=f"{MAP_PAPER}, proposition 4; φ(q) = −(1 − q)^γ ln q.",
    )


def _arrow_card(gamma: float, temperature: float, settings: str) -> FigureCard:
    start = triangle_figure.lattice(STEPS)
    by_map, by_temperature = _both(start, gamma, temperature)
    moves = (
        triangle_figure.MoveArrows(f"temperature {three(temperature)}", start, by_temperature, 2),
        triangle_figure.MoveArrows(f"focal map, γ = {written(gamma)}", start, by_map, "ink"),
    )
    middle = int(np.argmax(np.abs(by_map - by_temperature).max(axis=1)))
    return FigureCard(
        key="arrows",
        title="Moves of both maps",
        explanation=settings,
        draw=partial(triangle_figure.arrows, moves),
        alt=(
            f"Triangle of three probabilities with arrows of the focal map and of temperature "
            f"scaling, {settings}. Both point away from the middle. They part most from "
            f"{_written_row(start[middle])}: the map gives {_written_row(by_map[middle])}, the "
            f"temperature {_written_row(by_temperature[middle])}."
        ),
        table=_moves_table(start, by_map, by_temperature),
        caption=f"{MAP_PAPER}, figure 5; T for logits within ±5.",
    )


def _heatmap_card(gamma: float, temperature: float, settings: str) -> FigureCard:
    _, _, p, inside = triangle_figure.raster(CELLS)
    values = np.full(inside.shape, np.nan)
    by_map, by_temperature = _both(p[inside], gamma, temperature)
    values[inside] = 100.0 * np.abs(by_map - by_temperature).max(axis=1)
    worst = p[inside][np.argmax(values[inside])]
    most = float(values[inside].max()) / 100.0
    start = triangle_figure.lattice(2 * STEPS)
    return FigureCard(
        key="simplex",
        title="Largest difference",
        explanation=settings,
        draw=partial(triangle_figure.heatmap, values, "points"),
        alt=(
            f"Heatmap over the triangle of three probabilities, {settings}. Map and temperature "
            f"differ by up to {points(most)} points, near {_written_row(worst)}."
        ),
        table=_moves_table(start, *_both(start, gamma, temperature)),
        caption=f"{MAP_PAPER}, figure 7; coarser table.",
    )


def _both(q: Float, gamma: float, temperature: float) -> tuple[Float, Float]:
    return focal_map(q, gamma), temperature_scaled(np.log(q), temperature)


def _moves_table(start: Float, by_map: Float, by_temperature: Float) -> Table:
    heads = (("says", "says"), ("map", "focal map"), ("temperature", "temperature"))
    columns = [
        Column(f"{key}_{k + 1}", f"{label}, class {k + 1}", "share")
        for key, label in heads
        for k in range(3)
    ]
    difference = np.abs(by_map - by_temperature).max(axis=1)
    rows = np.concatenate([start, by_map, by_temperature, difference[:, None]], axis=1)
    ends = Column("apart", "apart, points", "points")
    return Table((*columns, ends), tuple(map(tuple, rows.tolist())))


def _written_row(p: Float) -> str:
    return "(" + ", ".join(percent(float(share)) for share in p) + ")"


def loss_cards(gamma: float, truth: tuple[float, float, float]) -> tuple[FigureCard, ...]:
    """Return the three losses of two classes, and the risk over three classes.

    Parameters
    ----------
    gamma : float
        Above 0.
    truth : (p1, p2, p3)
        How often each of three classes is there; above 0, sum 1.
    """
    return (
        _loss_card(gamma),
        _shape_card(gamma),
        _risk_card(gamma, np.array(truth)),
        *toy_cards(gamma),
    )


def _shape_card(gamma: float) -> FigureCard:
    p = np.linspace(0.005, 0.995, 199)
    name = written(gamma)
    curves = (
        TheoryCurve("cross-entropy", p, -np.log(p), colour="quiet", dash="dash", width=1.8),
        TheoryCurve(
            f"inverse focal, γ = {name}",
            p,
            inverse_focal(p, gamma),
            colour=2,
            dash="dot",
            width=2.4,
        ),
        *(
            TheoryCurve(
                f"CalFocal, λ = {rate}",
                p,
                calfocal(p, ACCURACY, rate),
                colour=colour,
                dash=dash,
                width=2.0,
            )
            for rate, colour, dash in (
                (1, 0, "dashdot"),
                (10, 1, "longdash"),
                (100, 3, "solid"),
            )
        ),
    )
    read = ", ".join(f"{c.name} {three(float(np.interp(ACCURACY, p, c.y)))}" for c in curves)
    plot = Plot(
        curves=curves,
        across="Probability of the true class",
        up="Loss, nats",
        x=SHARES,
        y={"range": [0, 4]},
        hover="p = %{x:.1%}: %{y:.4f}",
    )
    return curve_card(
        "shapes",
        "Inverse focal and CalFocal",
        f"bin accuracy {percent(ACCURACY)}",
        plot,
        (Column("p", "p", "share"), Column("loss", "loss", "number")),
        alt=f"Losses against the probability of the true class. At {percent(ACCURACY)}: {read}.",
        caption="Ghosh 2022, figure 3(a).",
    )


def _loss_card(gamma: float) -> FigureCard:
    p = sigmoid(LOSS_LOGITS)
    log_p = np.log(np.stack([sigmoid(-LOSS_LOGITS), p], axis=-1))
    name = written(gamma)
    curves = (
        TheoryCurve("cross-entropy", p, -log_p[:, 1], colour="quiet", dash="dash", width=1.8),
        TheoryCurve(
            f"focal, γ = {name}", p, focal_loss(log_p, gamma)[:, 1], colour=2, dash="dot", width=2.4
        ),
        TheoryCurve(f"properised, γ = {name}", p, properised_loss(log_p, gamma)[:, 1], width=3.0),
    )
    at = int(np.argmin(np.abs(p - 0.8)))
    read = ", ".join(f"{curve.name} {three(float(curve.y[at]))}" for curve in curves)
    plot = Plot(
        curves=curves,
        across="Probability of the true class",
        up="Loss, nats",
        x=SHARES,
        y={"range": [0, 4]},
        hover="p = %{x:.1%}: %{y:.4f}",
    )
    return curve_card(
        "losses",
        "Three losses",
        "properised: at the inverse map of p",
        plot,
        (Column("p", "p", "share"), Column("loss", "loss", "number")),
        alt="Losses against the probability of the true class. "
        f"At {percent(float(p[at]))}: {read}.",
        caption=f"{MAP_PAPER}, figure 1, two classes.",
    )


def _risk_card(gamma: float, truth: Float) -> FigureCard:
    focal = np.exp(inverse_focal_map(np.log(truth[None]), gamma))[0]
    proper = risk_isolines(
        lambda q: np.asarray(focal_loss(np.log(q), gamma) @ truth),
        focal,
        lambda q: focal_map(q, gamma),
        SHARES_WITHIN,
    )
    cross = risk_isolines(
        lambda p: np.asarray(-np.log(p) @ truth), truth, lambda p: p, SHARES_WITHIN
    )
    name = f"properised focal, γ = {written(gamma)}"
    brier = brier_isolines(truth, SHARES_WITHIN)
    kinds = (
        triangle_figure.TriangleLines(
            "Brier", brier[1], tuple(three(float(level)) for level in brier[0]), 1, "dot"
        ),
        triangle_figure.TriangleLines(
            "cross-entropy", cross[1], _level_words(cross[0]), "quiet", "dash"
        ),
        triangle_figure.TriangleLines(name, proper[1], _level_words(proper[0]), "ink", "solid"),
    )
    marks = (
        triangle_figure.TriangleMark(truth, "the truth: all three are lowest here", "circle"),
        triangle_figure.TriangleMark(focal, "focal loss itself is lowest here", "x"),
    )
    return FigureCard(
        key="isolines",
        title="Isolines of the risk",
        explanation=f"truth: {_written_row(truth)}",
        draw=partial(triangle_figure.isolines, kinds, marks),
        alt=(
            "Lines of equal expected loss in the triangle when the truth is "
            f"{_written_row(truth)}, around 3, 12 and 20{THIN}% of its area. Properised "
            "focal loss, cross-entropy and Brier score are lowest at the truth; focal loss at "
            f"{_written_row(focal)}."
        ),
        table=_lines_table({"Brier": brier, "cross-entropy": cross, name: proper}),
        caption=f"{MAP_PAPER}, figure 4. Lines enclose 3, 12 and 20{THIN}% of the area.",
    )


def _level_words(levels: Float) -> tuple[str, ...]:
    return tuple(f"{three(float(level))} nats" for level in levels)


def _lines_table(kinds: dict[str, tuple[Float, Float]]) -> Table:
    columns = (
        Column("loss", "loss"),
        Column("risk", "expected loss", "number"),
        *(Column(f"p_{k + 1}", name, "share") for k, name in enumerate(CLASSES)),
    )
    rows = tuple(
        (name, level, *point)
        for name, (levels, lines) in kinds.items()
        for level, line in zip(levels.tolist(), lines.tolist(), strict=True)
        for point in line
    )
    return Table(columns, rows)
