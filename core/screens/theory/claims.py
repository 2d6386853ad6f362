"""Theory over a plane: three classes in a triangle, a linear classifier, and claims that fail."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.arrays import Bool, Float, sigmoid
from core.calibrators.focal_map import binary_focal_map, focal_loss, focal_map, inverse_focal_map
from core.calibrators.theory import (
    Sweep,
    fcl_minimiser,
    principal_root,
    risk_isolines,
    temperature_scaled,
    tightest_bounds,
)
from core.losses.linear_toy import (
    FLIPPED,
    POINTS,
    STEPS,
    LinearToy,
    MoonsNet,
    brier_isolines,
    linear_toy,
    moons_net,
)
from core.screens.kit.curves import (
    DASHES,
    SHARES,
    Colour,
    Curve,
    Dash,
    Highlight,
    Plot,
    chart,
    curve_table,
    sheet,
    tint,
)
from core.screens.kit.numbers import MINUS, THIN, percent, points, three
from core.screens.kit.records import Column, FigureCard, Table, columns_of
from core.screens.kit.theme import Theme
from core.screens.theory.view import (
    FCL_WEIGHT,
    GRADIENT_PAPER,
    INSIDE,
    LOGITS,
    MAP_PAPER,
    closest,
    fitted,
    line_card,
    loss_curve_cards,
    main_curve,
    mapped,
    number,
    quiet_curve,
    share,
    square,
    weight_card,
    written,
)

HEIGHT = float(np.sqrt(3.0) / 2.0)
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]])  # of class 1, 2 and 3
NAMES = ("class 1", "class 2", "class 3")
LATTICE = 10  # steps of the lattice from which arrows start, and half of those of the heatmap's
CELLS = 150  # across the heatmap
SHARES_WITHIN = np.array([0.03, 0.12, 0.20])  # of the area, as in figure 4 of MAP_PAPER
REACH = 2.5  # of both axes of the linear classifier
MOONS_GAMMA = 10.0
MOONS_ENDS, MOONS_CELLS = ((-1.6, 2.6), (-1.3, 1.8)), (84, 62)
STEP = 5  # steps between points of its curves


class MoveArrows(NamedTuple):
    """Arrows of one map, from `start` to `end`, (N, 3) probabilities each."""

    name: str
    start: Float
    end: Float
    colour: Colour


class TriangleLines(NamedTuple):
    """Closed lines of one kind, (L, R, 3) probabilities, and what is said of each."""

    name: str
    lines: Float
    texts: tuple[str, ...]
    colour: Colour
    dash: Dash


class TriangleMark(NamedTuple):
    """Three probabilities that are pointed out, with plotly's name of a symbol."""

    p: Float
    text: str
    symbol: str


def plane(p: Float) -> Float:
    """Return where probabilities, (..., 3), lie: (..., 2), each class at its corner."""
    return np.asarray(p @ CORNERS)


def raster(columns: int) -> tuple[Float, Float, Float, Bool]:
    """Return a grid of square cells over the triangle.

    These are the middles x, (C,), and y, (R,), their probabilities, (R, C, 3), negative outside,
    and which have all of them above 0, (R, C).
    """
    x = (np.arange(columns) + 0.5) / columns
    y = (np.arange(round(columns * HEIGHT)) + 0.5) / columns
    across, up = np.meshgrid(x, y)
    third = up / HEIGHT
    second = across - third / 2.0
    p = np.stack([1.0 - second - third, second, third], axis=-1)
    return x, y, p, np.asarray((p > 0.0).all(axis=-1))


def lattice(steps: int) -> Float:
    """Return the probabilities of an even lattice inside the triangle, (N, 3), none of them 0."""
    first, second = np.meshgrid(np.arange(steps + 1), np.arange(steps + 1), indexing="ij")
    third = steps - first - second
    within = (first > 0) & (second > 0) & (third > 0)
    return np.stack([first[within], second[within], third[within]], axis=-1) / steps


# Cards.


def simplex_cards(gamma: float) -> tuple[FigureCard, ...]:
    """Return arrows of the focal map, gamma above -1, and its closest temperature, and the gap."""
    temperature = closest(3, gamma).temperature
    settings = f"γ = {written(gamma)}, T = {three(temperature)}"

    def both(q: Float) -> tuple[Float, Float, Float]:
        by_map, by_temperature = focal_map(q, gamma), temperature_scaled(np.log(q), temperature)
        return by_map, by_temperature, np.abs(by_map - by_temperature).max(axis=1)

    def table(start: Float) -> Table:
        heads = (("says", "says"), ("map", "focal map"), ("temperature", "temperature"))
        columns = [
            Column(f"{key}_{k}", f"{label}, class {k}", "share")
            for key, label in heads
            for k in (1, 2, 3)
        ]
        by_map, by_temperature, difference = both(start)
        rows = np.concatenate([start, by_map, by_temperature, difference[:, None]], axis=1)
        ends = Column("apart", "apart, points", "points")
        return Table((*columns, ends), tuple(map(tuple, rows.tolist())))

    start = lattice(LATTICE)
    by_map, by_temperature, difference = both(start)
    most = int(np.argmax(difference))
    arrow_card = FigureCard(
        key="arrows",
        title="Moves of both maps",
        explanation=settings,
        draw=partial(
            arrows,
            (
                MoveArrows(f"temperature {three(temperature)}", start, by_temperature, 2),
                MoveArrows(f"focal map, γ = {written(gamma)}", start, by_map, "ink"),
            ),
        ),
        alt="Triangle of three probabilities with arrows of the focal map and of temperature "
        f"scaling, {settings}. Both point away from the middle. They part most from "
        f"{_written_row(start[most])}: the map gives {_written_row(by_map[most])}, the "
        f"temperature {_written_row(by_temperature[most])}.",
        table=table(start),
        caption=f"{MAP_PAPER}, figure 5; T for logits within ±5.",
    )

    _, _, p, inside = raster(CELLS)
    values = np.full(inside.shape, np.nan)
    values[inside] = 100.0 * both(p[inside])[2]
    worst = p[inside][np.argmax(values[inside])]
    heatmap_card = FigureCard(
        key="simplex",
        title="Largest difference",
        explanation=settings,
        draw=partial(heatmap, values, "points"),
        alt=f"Heatmap over the triangle of three probabilities, {settings}. Map and temperature "
        f"differ by up to {points(float(values[inside].max()) / 100.0)} points, near "
        f"{_written_row(worst)}.",
        table=table(lattice(2 * LATTICE)),
        caption=f"{MAP_PAPER}, figure 7; coarser table.",
    )
    return arrow_card, heatmap_card, weight_card(gamma)


def _written_row(p: Float) -> str:
    return "(" + ", ".join(percent(float(share)) for share in p) + ")"


def loss_cards(gamma: float, truth: tuple[float, float, float]) -> tuple[FigureCard, ...]:
    """Return losses of two classes, the risk over three, and a linear classifier's training.

    Gamma is above 0; the three shares of truth are above 0, with sum 1.
    """
    runs = {"cross-entropy": linear_toy(0.0), f"focal, γ = {written(gamma)}": linear_toy(gamma)}
    risk = _risk_card(gamma, np.array(truth))
    # Where a linear classifier says one half, from edge to edge, over its points
    lines, confidences = {}, []
    for name, run in runs.items():
        direction = np.array([-run.weights[1], run.weights[0]]) / np.linalg.norm(run.weights)
        x, y = np.array([[-2.0 * REACH], [2.0 * REACH]]).T * direction[:, None]
        lines[name] = (x, y)
        confidences.append(f"{percent(float(run.wrong_confidence.mean()))} with {name}")
    curves, confidence = _toy_curves(lines, 2.4), "; ".join(confidences)
    first, second = runs.values()
    boundary_card = FigureCard(
        key="boundary",
        title="Linear classifier",
        explanation=f"lines at 50{THIN}%",
        draw=partial(boundaries, first, curves),
        alt="Points of two classes and two decision boundaries, "
        f"{three(abs(first.angle - second.angle))} degrees apart."
        f" Mean confidence of wrong answers: {confidence}.",
        table=curve_table(curves, (number("x1"), number("x2"))),
        caption=f"{GRADIENT_PAPER}, figure 6; {percent(FLIPPED)} of {POINTS:,} labels flipped. "
        f"Mean confidence when wrong: {confidence}.",
    )
    steps = np.arange(0, STEPS + 1, STEP).astype(np.float64)
    ends = "; ".join(f"{three(float(run.norms[-1]))} with {name}" for name, run in runs.items())
    norm_card = Plot(
        curves=_toy_curves({name: (steps, run.norms[::STEP]) for name, run in runs.items()}, 2.0),
        across="Step",
        up="Norm of the weights",
        y={"rangemode": "tozero"},
        hover="step %{x}: %{y:.3f}",
    ).card(
        "toy_norm",
        "Weight norm",
        "gradient descent from 0",
        (number("step"), number("norm")),
        alt=f"Norm of a linear classifier’s weights by step. At the end: {ends}.",
        caption=f"{GRADIENT_PAPER}, figure 5.",
    )
    return *loss_curve_cards(gamma), risk, boundary_card, norm_card, *moons_cards()


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
    brier = brier_isolines(truth, SHARES_WITHIN)
    name = f"properised focal, γ = {written(gamma)}"
    kinds: tuple[tuple[str, tuple[Float, Float], str, Colour, Dash], ...] = (
        ("Brier", brier, "", 1, "dot"),
        ("cross-entropy", cross, " nats", "quiet", "dash"),
        (name, proper, " nats", "ink", "solid"),
    )
    lines = tuple(
        TriangleLines(kind, drawn, tuple(f"{three(x)}{unit}" for x in levels), colour, dash)
        for kind, (levels, drawn), unit, colour, dash in kinds
    )
    marks = (
        TriangleMark(truth, "the truth: all three are lowest here", "circle"),
        TriangleMark(focal, "focal loss itself is lowest here", "x"),
    )
    rows = tuple(
        (kind, level, *point)
        for kind, (levels, drawn), *_ in kinds
        for level, line in zip(levels.tolist(), drawn.tolist(), strict=True)
        for point in line
    )
    columns = [Column(f"p_{k + 1}", label, "share") for k, label in enumerate(NAMES)]
    return FigureCard(
        key="isolines",
        title="Isolines of the risk",
        explanation=f"truth: {_written_row(truth)}",
        draw=partial(isolines, lines, marks),
        alt="Lines of equal expected loss in the triangle when the truth is "
        f"{_written_row(truth)}, around 3, 12 and 20{THIN}% of its area. Properised "
        "focal loss, cross-entropy and Brier score are lowest at the truth; focal loss at "
        f"{_written_row(focal)}.",
        table=Table((Column("loss", "loss"), number("risk", "expected loss"), *columns), rows),
        caption=f"{MAP_PAPER}, figure 4. Lines enclose 3, 12 and 20{THIN}% of the area.",
    )


def _toy_curves(lines: Mapping[str, tuple[Float, Float]], width: float) -> tuple[Curve, ...]:
    """Return a curve for cross-entropy and one for focal loss, in this order."""
    styles: tuple[tuple[Colour, Dash], ...] = (("quiet", "dash"), ("ink", "solid"))
    return tuple(
        Curve(name, x, y, colour, dash, width)
        for (name, (x, y)), (colour, dash) in zip(lines.items(), styles, strict=True)
    )


def moons_cards() -> tuple[FigureCard, ...]:
    """Return what two networks say over the plane: trained with focal loss, and with FCL."""
    x, y = (np.linspace(*ends, cells) for ends, cells in zip(MOONS_ENDS, MOONS_CELLS, strict=True))
    plane_points = np.stack(np.meshgrid(x, y), axis=-1)
    nets = {"focal": moons_net(MOONS_GAMMA, 0.0), "FCL": moons_net(MOONS_GAMMA, FCL_WEIGHT)}
    says = {
        name: net.probability(plane_points.reshape(-1, 2)).reshape(len(y), len(x))
        for name, net in nets.items()
    }
    unsure = {name: float((np.abs(p - 0.5) < 0.25).mean()) for name, p in says.items()}
    read = "; ".join(
        f"{name}: {percent(share)} of the area between 25 and 75{THIN}%, "
        f"{percent(float(((net.probability(net.points) > 0.5) == net.labels).mean()))} right"
        for (name, share), net in zip(unsure.items(), nets.values(), strict=True)
    )
    # What both figures show together stands once, under the second
    remarks = {
        "focal": "Two moons are our choice; the paper names no data.",
        "FCL": "The paper calls FCL's boundary the smoother one; here it is the other way round: "
        f"{read}.",
    }
    columns = (number("x1"), number("x2"), Column("p", "probability", "share"))
    return tuple(
        FigureCard(
            key=f"moons_{name.lower()}",
            title=f"Two moons, {name}",
            explanation=f"γ = {MOONS_GAMMA:g}" + f", λ = {FCL_WEIGHT}" * (name == "FCL"),
            draw=partial(moons, nets[name], x, y, p),
            alt=f"Probability of the second moon over the plane, with the training points. {read}.",
            table=Table(columns, tuple(
                (float(x[j]), float(y[i]), float(p[i, j]))
                for i in range(0, len(y), 6) for j in range(0, len(x), 6)
            )),
            caption=f"As FCL 2024, figure 7, of one seed. {remarks[name]}",
        )
        for name, p in says.items()
    )  # fmt: skip


# Figures.


def moons(net: MoonsNet, x: Float, y: Float, p: Float, theme: Theme) -> go.Figure:
    """Draw probabilities over the plane, and over them the points that were trained on."""
    ends = ({"range": list(reach)} for reach in MOONS_ENDS)
    plot = Plot(curves=(), across="x1", up="x2", x=next(ends), y=next(ends))
    figure = chart(plot, theme)
    bar = {"tickvals": [0, 0.5, 1], "ticktext": ["0", "50", f"100{THIN}%"], "thickness": 10}
    bar |= {"tickfont": {"size": 12, "color": theme.quiet}, "outlinewidth": 0}
    scale = [[0.0, theme.under], [0.5, theme.middle], [1.0, theme.over]]
    drawn = {"colorscale": scale, "colorbar": bar, "hovertemplate": "%{z:.1%}<extra></extra>"}
    figure.add_heatmap(x=x, y=y, z=p.astype(np.float32), zmin=0, zmax=1, **drawn)
    for label, symbol in ((False, "circle"), (True, "x")):
        across, up = net.points[net.labels == label].T
        line = {"color": theme.paper, "width": 0.8}
        marker = {"size": 6, "color": theme.ink, "symbol": symbol, "line": line}
        name = f"moon {1 + label}"
        figure.add_scatter(
            x=across, y=up, mode="markers", name=name, marker=marker, hoverinfo="skip"
        )
    return figure


def boundaries(run: LinearToy, curves: tuple[Curve, ...], theme: Theme) -> go.Figure:
    """Draw the points of two classes, and decision boundaries under them."""
    ends = {"range": [-REACH, REACH]}
    figure = chart(Plot(curves=curves, across="x1", up="x2", x=ends, y=ends, square=True), theme)
    for label, colour, symbol in ((False, theme.under, "circle"), (True, theme.over, "x")):
        x, y = run.points[run.labels == label].T
        marker = {"size": 5, "color": colour, "symbol": symbol, "opacity": 0.7}
        name = f"class {int(label)}"
        figure.add_scatter(x=x, y=y, mode="markers", name=name, marker=marker, hoverinfo="skip")
    return figure


def _empty(theme: Theme) -> go.Figure:
    """Return the triangle with the names of its corners."""
    hidden = {"visible": False, "fixedrange": True, "constrain": "domain"}
    x, y = hidden | {"range": [-0.06, 1.06]}, hidden | {"range": [-0.09, HEIGHT + 0.09]}
    y |= {"scaleanchor": "x", "constraintoward": "top"}  # blank goes below
    figure = sheet(theme, 430, x, y, margin=(16, 16, 40, 16), named=True)
    unseen = {"hoverinfo": "skip", "showlegend": False, "cliponaxis": False}
    names = go.Scatter(
        x=CORNERS[:, 0],
        y=CORNERS[:, 1],
        name="corners",
        mode="text",
        text=NAMES,
        textposition=["bottom center", "bottom center", "top center"],
        textfont={"size": 12.5, "color": theme.quiet},
        **unseen,
    )
    return figure.add_traces([_outline(theme), names])


def _outline(theme: Theme) -> go.Scatter:
    x, y = np.concatenate([CORNERS, CORNERS[:1]]).T
    line = {"color": theme.quiet, "width": 1.6}
    return go.Scatter(
        x=x, y=y, name="edge", mode="lines", line=line, hoverinfo="skip", showlegend=False
    )


def arrows(moves: tuple[MoveArrows, ...], theme: Theme) -> go.Figure:
    """Draw the arrows of several maps over one another.

    Those of a map are one trace: a gap after each, the head turned along its line.
    """
    figure = _empty(theme)
    for move in moves:
        colour, n = tint(move.colour, theme), len(move.start)
        ends = np.stack([plane(move.start), plane(move.end), np.full((n, 2), np.nan)], axis=1)
        x, y = ends.reshape(-1, 2).T
        head = {"symbol": "arrow", "angleref": "previous", "size": np.tile([0, 8, 0], n)}
        drawn = {"line": {"color": colour, "width": 1.4}, "hoverinfo": "skip"}
        drawn["marker"] = head | {"color": colour, "opacity": 1}
        figure.add_scatter(x=x, y=y, name=move.name, mode="lines+markers", **drawn)
    return figure


def heatmap(values: Float, title: str, theme: Theme) -> go.Figure:
    """Draw the values of a raster, (R, C) with NaN outside, in cividis from 0 up."""
    x, y, _, _ = raster(values.shape[1])
    figure, z = _empty(theme), values.astype(np.float32)
    heading = {"text": title, "font": {"size": 12.5, "color": theme.ink}}
    bar = {"title": heading, "tickfont": {"size": 12, "color": theme.quiet}}
    bar |= {"thickness": 14, "len": 0.8, "outlinewidth": 0}
    hover = {"hovertemplate": "%{z:.2f} points<extra></extra>", "hoverongaps": False}
    figure.add_heatmap(x=x, y=y, z=z, zmin=0, colorscale="Cividis", colorbar=bar, **hover)
    figure.add_trace(_outline(theme))  # over the ragged rim of the cells
    return figure


def isolines(
    kinds: tuple[TriangleLines, ...], marks: tuple[TriangleMark, ...], theme: Theme
) -> go.Figure:
    """Draw lines of equal value, one trace each, and marks over them."""
    figure = _empty(theme)
    for kind in kinds:
        colour = tint(kind.colour, theme)
        line = {"color": colour, "width": 2, "dash": kind.dash, "simplify": False}
        for i, (points_of_line, text) in enumerate(zip(kind.lines, kind.texts, strict=True)):
            x, y = plane(points_of_line).T
            hover = f"{kind.name}: {text}<extra></extra>"
            named = {"name": kind.name, "showlegend": i == 0, "hovertemplate": hover}  # once a kind
            figure.add_scatter(x=x, y=y, mode="lines", line=line, **named)
    marker = {"size": 11, "color": theme.ink, "line": {"color": theme.paper, "width": 1}}
    for mark in marks:
        x, y = plane(mark.p)
        symbol, hover = marker | {"symbol": mark.symbol}, f"{mark.text}<extra></extra>"
        named = {"name": mark.text, "hovertemplate": hover}
        figure.add_scatter(x=[x], y=[y], mode="markers", marker=symbol, **named)
    return figure


# Claims that fail.
FCL_PAPER = "FCL 2024"
FALLING = (  # rows whose top probability falls for some gamma above 0, and the gamma that is named
    ("8 × 12\u202f%, 2 × 2\u202f%", (0.12,) * 8 + (0.02,) * 2, 1.0),
    ("3 × 30\u202f%, 1 × 10\u202f%", (0.3,) * 3 + (0.1,), 0.05),
    ("33 × 3\u202f%, 1 × 1\u202f%", (0.03,) * 33 + (0.01,), 5.0),
)


@dataclass(frozen=True)
class Claim:
    """A published statement, where it is printed, what the numbers say, and their picture."""

    title: str
    printed: str
    computed: str
    card: FigureCard | None = None


def claims(
    gamma: float, truth: float, weight: float, sweeps: Mapping[int, Sweep]
) -> tuple[Claim, ...]:
    """Return every statement that does not hold as printed.

    Gamma, above 0, is of the bounds and of FCL; truth, in (0, 1), of FCL's example; weight, at
    least 0, is FCL's lambda. The sweeps are of two, three and four classes.
    """
    name, minimum = written(gamma), float(fcl_minimiser(truth, gamma, weight))
    falls = []
    for row_name, row, falling_gamma in FALLING:
        after = float(focal_map(np.array(row), falling_gamma).max())
        fall = f"{percent(max(row))} to {100 * after:.4f}{THIN}%"
        falls.append(f"{row_name}: {fall} at γ = {written(falling_gamma)}")
    at_one = float(sigmoid(binary_focal_map(np.array(1.0), gamma)))
    low, high = (float(p) for p in _printed_bounds(np.array(1.0), gamma))
    slope, intercept = fitted(sweeps[4])
    worst = {k: int(sweep.residuals.argmax()) for k, sweep in sweeps.items()}
    worst_gamma = {k: written(float(sweep.gammas[worst[k]])) for k, sweep in sweeps.items()}
    residual = {k: float(sweep.residuals[worst[k]]) for k, sweep in sweeps.items()}

    def best_t(k: int, at: float) -> str:
        nearest = int(np.argmin(np.abs(sweeps[k].gammas - at)))
        return f"{sweeps[k].temperatures[nearest]:.3f}"

    root = max(abs(float(principal_root(0.25))), 1e-16)
    return (
        Claim(
            "The map can lower the top probability",
            f"{MAP_PAPER}, proposition 5.",
            f"With four or more classes it can fall. {'; '.join(falls)}.",
            _falling_card(),
        ),
        Claim(
            "Focal calibration loss is not strictly proper",
            f"{FCL_PAPER}, section 4.3, appendix A.8.",
            f"At γ = {name} and λ = {weight:g} it is smallest at {percent(minimum)} where the "
            f"truth is {percent(truth)}. The proof covers only truths of 0 and 1. Only γ = 0 "
            "makes it proper.",
            _fcl_card(gamma, truth, weight),
        ),
        Claim(
            "The printed temperature bounds are inverted",
            f"{MAP_PAPER}, proposition 3.",
            f"At logit 1 and γ = {name} the map gives {percent(at_one)}, not {percent(low)} to "
            f"{percent(high)}. The logit must be multiplied by γ + 1 and γ + 1 {MINUS} ½ ln(γ + 1)"
            ", not divided.",
            _bounds_card(gamma),
        ),
        Claim(
            "The line for four classes differs",
            f"{MAP_PAPER}, section 3.3: 1/T ≈ 0.47 γ + 0.85, off by up to 8 points.",
            f"1/T ≈ {slope:.3f} γ + {intercept:.3f}, off by up to {points(residual[4])} points at "
            f"γ = {worst_gamma[4]}.",
            line_card({4: sweeps[4]}),
        ),
        Claim(
            "Two classes: slightly above 0.001",
            f"{MAP_PAPER}, section 3.2: by 1/T ≈ 0.95 γ + 0.85 probabilities are off by less "
            "than 0.001.",
            f"At γ = {worst_gamma[2]} even the best T is off by {three(residual[2])} there.",
        ),
        Claim(
            "Temperatures under two figures fit other gammas",
            f"{MAP_PAPER}, figure 5: T = 0.81 and 0.46 for γ = 1 and 3; figure 2: T = 0.36 for "
            "γ = 3.",
            f"Three classes: {best_t(3, 1.0)} at γ = 1 and {best_t(3, 3.0)} at γ = 3; the "
            f"printed ones fit γ = 0.5 ({best_t(3, 0.5)}) and γ = 2 ({best_t(3, 2.0)}). Two "
            f"classes: {best_t(2, 3.0)} at γ = 3; 0.36 is nearer to γ = 2 ({best_t(2, 2.0)}).",
        ),
        Claim(
            "The tightest bound is the proved one",
            f"{MAP_PAPER}, section 3.2: at γ = 4 the tightest sharp side is T = 0.206, not 0.2.",
            f"Over logits up to 20 it is {tightest_bounds(4.0)[0]:.4f}, tending to 0.2.",
        ),
        Claim(
            "The other branch gives 0",
            f"{GRADIENT_PAPER}, proposition 2: the principal branch of Lambert’s W gives a "
            "negative γ.",
            f"At p0 = 0.25 it gives 0 to within {root:.0e}.",
        ),
    )


def claims_table(statements: tuple[Claim, ...]) -> Table:
    """Return the statements as rows."""
    columns = columns_of(statement="statement", printed="printed", found="what the numbers say")
    return Table(
        columns, tuple((claim.title, claim.printed, claim.computed) for claim in statements)
    )


def _falling_card() -> FigureCard:
    gammas = np.linspace(0.05, 8.0, 160)
    curves = []
    for i, ((name, row, _), dash) in enumerate(zip(FALLING, ("solid", *DASHES[1:3]), strict=True)):
        q = np.array(row)
        rises = np.array([focal_map(q, float(gamma)).max() - q.max() for gamma in gammas])
        curves.append(Curve(name, gammas, 100.0 * rises, i, dash, 2.4))
    low = min(float(curve.y.min()) for curve in curves)
    flat = quiet_curve("unchanged", gammas, np.zeros_like(gammas), dash="dash", tabled=False)
    lowest = "; ".join(f"{three(float(c.y.min()))} of {c.name}" for c in curves)
    return Plot(
        curves=(flat, *curves),
        across="γ",
        up="Change of the top probability, points",
        x={"range": [0, 8.1]},
        y={"range": [1.3 * low, -1.3 * low]},
        hover="γ = %{x:.2f}: %{y:+.4f} points",
    ).card(
        "falling",
        "Change of the top probability",
        "",
        (number("gamma", "γ"), number("points")),
        alt=f"Change of the top probability in points against gamma; the lowest values: {lowest}.",
        caption=f"{MAP_PAPER}, the map of proposition 4.",
    )


def _fcl_card(gamma: float, truth: float, weight: float) -> FigureCard:
    q, p, name = float(fcl_minimiser(truth, gamma, weight)), INSIDE, written(gamma)
    return square(
        curves=(
            quiet_curve("a proper loss", p, p, dash="dash"),
            Curve("focal alone (λ = 0)", p, fcl_minimiser(p, gamma, 0.0), 2, "dot"),
            main_curve(f"FCL, λ = {weight:g}", p, fcl_minimiser(p, gamma, weight)),
        ),
        across="True share",
        up="Minimiser of the loss",
        spots=(Highlight(truth, q, f"example: {percent(truth)} → {percent(q)}"),),
        hover="is %{x:.1%}, says %{y:.1%}",
    ).card(
        "fcl",
        "Minimiser of the loss",
        f"γ = {name}, two classes",
        (share("truth"), share("says")),
        alt=f"Minimiser of the expected focal calibration loss against the truth, gamma {name}, "
        f"lambda {weight:g}: {percent(q)} at {percent(truth)}. A proper loss would lie on the "
        "diagonal.",
        caption=f"{FCL_PAPER}, definition 3.1, squared distance summed over both classes; λ from "
        "0.5 to 4.5 in its appendix A.10.",
    )


def _printed_bounds(s: Float, gamma: float) -> tuple[Float, Float]:
    """Return the bounds as printed: temperatures gamma + 1 and gamma + 1 - log(gamma + 1) / 2."""
    return sigmoid(s / (gamma + 1.0)), sigmoid(s / (gamma + 1.0 - 0.5 * float(np.log1p(gamma))))


def _bounds_card(gamma: float) -> FigureCard:
    low, high = _printed_bounds(LOGITS, gamma)
    printed = (
        Curve("printed, one side", LOGITS, low, 2, "dot", 1.8),
        Curve("printed, other side", LOGITS, high, 2, "dashdot", 1.8),
    )
    name = written(gamma)
    return Plot(
        curves=(*printed, main_curve(f"the map, γ = {name}", LOGITS, mapped(gamma))),
        across="Logit s of what the model says",
        up="Probability",
        x={"range": [-6, 6]},
        y=SHARES,
        between=printed,
        hover="s = %{x:.2f}: %{y:.2%}",
    ).card(
        "printed",
        "Map and bounds as printed",
        f"γ = {name}",
        (number("logit"), share("p")),
        alt=f"Map at gamma {name} against the logit, with the two bounds as printed: the map is "
        "steeper than both.",
        caption=f"{MAP_PAPER}, proposition 3 as printed; the corrected bounds are under “The map”.",
    )
