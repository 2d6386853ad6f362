"""What the theory page says of one gamma: sentence, numbers, and curves against p and gamma."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial

import numpy as np

from core.arrays import Float, sigmoid
from core.calibrators.focal_map import (
    binary_focal_map,
    focal_loss,
    gamma_star,
    gradient_factor,
    inverse_focal_map,
    properised_loss,
)
from core.calibrators.theory import (
    GRIDS,
    ClosestTemperature,
    Sweep,
    closest_temperature,
    focal_lower_bound,
    line_fit,
    logit_grid,
    temperature_bounds,
    tightest_bounds,
    unit_crossing,
)
from core.losses.linear_toy import calfocal, inverse_focal
from core.screens.kit.curves import DASHES, SHARES, Colour, Curve, Highlight, Plot
from core.screens.kit.numbers import MINUS, in_hundred, percent, points, three
from core.screens.kit.records import Column, FigureCard, Phrase, Sentence, Tile

MAP_PAPER = "Komisarenko 2024"
GRADIENT_PAPER = "Mukhoti 2020"
PRINTED_LINES = {2: (0.95, 0.85), 3: (0.64, 0.91), 4: (0.47, 0.85)}  # of MAP_PAPER, 3.2 and 3.3
FITTED_UP_TO = 5.0
LOGITS = np.linspace(-9.0, 9.0, 181)
LOSS_LOGITS = np.linspace(-30.0, 9.0, 313)  # far down, where the properised loss still rises
INSIDE = np.linspace(0.005, 0.995, 199)  # probabilities, where a curve has no value at the ends
FCL_WEIGHT = 1.5  # lambda in appendix A.11 of the FCL paper
ACCURACY = 0.8  # of the bin, as in figure 3(a) of Ghosh et al. 2022
UNDONE = (
    "A higher γ makes the model less confident. The map undoes this exactly if training was "
    "perfect; an audit shows whether yours was."
)
PLAIN = (
    "The stronger focal training is, the less sure the model says it is. If training was perfect, "
    "an exact correction is known; an audit shows whether yours was."
)
# Of other gammas beside the map: none of them the dash of a bound or of the diagonal.
MAP_DASHES = (
    *("longdash", "longdashdot", "2px,6px"),
    *("10px,3px,2px,3px,2px,3px", "18px,3px", "5px,2px"),
)
OPTIMA = (0.5, 1.0, 2.0, 3.0, 5.0)  # gammas whose minimisers are drawn at once
FROM_ZERO = {"rangemode": "tozero"}

main_curve = partial(Curve, width=3.0)  # of the gamma that is chosen
quiet_curve = partial(Curve, colour="quiet", width=1.4)  # what it is compared with
square = partial(Plot, x=SHARES, y=SHARES, square=True)  # of one share against another


def number(key: str, label: str = "") -> Column:
    """Return a column of plain numbers of a figure's table."""
    return Column(key, label or key, "number")


def share(key: str) -> Column:
    """Return a column of fractions of a figure's table."""
    return Column(key, key, "share")


def written(gamma: float) -> str:
    """Return a gamma as people read it."""
    return f"{gamma:g}".replace("-", MINUS)


@lru_cache(maxsize=256)  # several figures of one page read the same search
def closest(n_classes: int, gamma: float) -> ClosestTemperature:
    """Return the temperature closest to the map over the grid of the paper."""
    spread, step = GRIDS[n_classes]
    return closest_temperature(logit_grid(n_classes, spread=spread, step=step), gamma)


def stated(truth: float, gamma: float) -> float:
    """Return what focal training makes a two-class model say where `truth` is the share."""
    log_q = inverse_focal_map(np.log([[1.0 - truth, truth]]), gamma)
    return float(np.exp(log_q[0, 1]))


def mapped(gamma: float) -> Float:
    """Return the map of two classes at the logits that are drawn."""
    return sigmoid(binary_focal_map(LOGITS, gamma))


def fitted(sweep: Sweep) -> tuple[float, float]:
    """Return slope and intercept of 1 / T over the gammas that are fitted."""
    low = sweep.gammas <= FITTED_UP_TO
    return line_fit(sweep.gammas[low], sweep.temperatures[low])


@dataclass(frozen=True)
class TheoryTop:
    """What stands over every part of the page."""

    eyebrow: str
    sentence: Sentence
    plain: str
    numbers: tuple[Tile, ...] = ()


def theory_top(gamma: float, truth: float) -> TheoryTop:
    """Return sentence, plain words and numbers of a gamma above 0 and an example in (0, 1)."""
    says = stated(truth, gamma)
    sharp, soft = temperature_bounds(gamma)
    two, three_classes = closest(2, gamma), closest(3, gamma)
    parts = (
        Phrase(f"With γ at {written(gamma)}, focal training ends up "),
        Phrase(f"saying {percent(says)} where the truth is {percent(truth)}", "under"),
        Phrase(f". The focal calibration map returns {percent(truth)}."),
    )
    tiles = (
        Tile(
            f"Says, where right {percent(truth)}",
            points(says),
            "%",
            note="two classes, at the optimum",
            help="What minimises the expected focal loss when the answer is right that often.",
        ),
        Tile(
            "Closest temperature, two classes",
            three(two.temperature),
            interval=f"proved: {three(sharp)} to {three(soft)}",
            note=f"off by up to {points(two.residual)} points",
            help="The temperature whose largest difference from the map is smallest.",
        ),
        Tile(
            "Closest temperature, three classes",
            three(three_classes.temperature),
            note=f"off by up to {points(three_classes.residual)} points",
            help="For three classes: the temperature that comes closest to the map.",
        ),
        Tile(
            "Weaker gradient than cross-entropy above",
            points(unit_crossing(gamma)),
            "%",
            note="probability of the true class",
            help="Where the gradient of focal loss is that of cross-entropy: g(p, γ) = 1.",
        ),
    )
    return TheoryTop("Theory · the focal calibration map", Sentence(parts), UNDONE, tiles)


def plain_top(gamma: float, truth: float) -> TheoryTop:
    """Return the same in times out of 100, without numbers of experts."""
    says, right = in_hundred(stated(truth, gamma)), in_hundred(truth)
    parts = (
        Phrase(f"At strength {written(gamma)}, focal training makes a model "),
        Phrase(f"say {says} in 100 where it is right {right} times in 100", "under"),
        Phrase("."),
    )
    return TheoryTop("Theory · one setting", Sentence(parts), PLAIN)


# The map.


def _diagonal() -> Curve:
    ends = np.array([0.0, 1.0])
    return quiet_curve("nothing changed", ends, ends, dash="dash", tabled=False)


def plain_card(gamma: float, truth: float) -> FigureCard:
    """Return the map alone, in times out of 100."""
    q = stated(truth, gamma)
    read = f"says {in_hundred(q)} in 100, right {in_hundred(truth)} times in 100"
    curve = main_curve(f"strength {written(gamma)}", sigmoid(LOGITS), mapped(gamma))
    return square(
        curves=(_diagonal(), curve),
        across="Model says, times in 100",
        up="Right, times in 100",
        spots=(Highlight(q, truth, f"example: {read}"),),
        hover="says %{x:.0%}, right %{y:.0%}",
    ).card(
        "knob",
        "What the strength does",
        "above the dashed line: right more often than it says",
        (share("says"), share("right")),
        alt="Curve of how often a model is right against what it says, two possible answers, "
        f"strength {written(gamma)}. Example: {read}.",
        caption=f"{MAP_PAPER}, for two possible answers and a model that learned perfectly.",
    )


def map_cards(gamma: float, truth: float, also: tuple[float, ...]) -> tuple[FigureCard, ...]:
    """Return the binary map between its temperature bounds, and how sharp it is by logit.

    Gamma is above 0, truth in (0, 1); other gammas, above -1, are thin.
    """
    says, name, q = sigmoid(LOGITS), written(gamma), stated(truth, gamma)
    sharp, soft = temperature_bounds(gamma)
    bounds = (
        quiet_curve(f"T = {three(sharp)}", says, sigmoid(LOGITS / sharp), dash="dot"),
        quiet_curve(f"T = {three(soft)}", says, sigmoid(LOGITS / soft), dash="dashdot"),
    )
    others = [
        Curve(f"γ = {written(g)}", says, mapped(g), i, MAP_DASHES[i % len(MAP_DASHES)], 1.6)
        for i, g in enumerate(also)
    ]
    card = square(
        curves=(_diagonal(), *bounds, *others, main_curve(f"γ = {name}", says, mapped(gamma))),
        across="Model says",
        up="True share (the map)",
        spots=(Highlight(q, truth, f"example: {percent(q)} → {percent(truth)}"),),
        between=bounds,
        hover="says %{x:.1%}, is %{y:.1%}",
    ).card(
        "map",
        "Two classes",
        f"γ = {name} between two temperatures",
        (share("says"), share("is")),
        alt=f"Focal calibration map for two classes. At gamma {name}, {percent(q)} becomes "
        f"{percent(truth)}. For every stated share above a half it lies between temperature "
        f"scaling with T = {three(soft)} and the sharper T = {three(sharp)}; below, the reverse.",
        caption=f"{MAP_PAPER}, propositions 2 and 3 (corrected).",
    )
    s = np.linspace(0.05, 20.0, 200)
    ratio = binary_focal_map(s, gamma) / s
    levels = (1.0 / sharp, 1.0 / closest(2, gamma).temperature, 1.0 / soft)
    names = ("γ + 1", "closest 1/T", "γ + 1 − ½ ln(γ + 1)")
    lines = [
        quiet_curve(f"{line} = {three(level)}", s, np.full_like(s, level), dash=dash)
        for line, level, dash in zip(names, levels, ("dot", "dash", "dashdot"), strict=True)
    ]
    pad = 0.06 * (levels[0] - levels[2])
    factor_card = Plot(
        curves=(*lines, main_curve(f"the map, γ = {name}", s, ratio)),
        across="Logit s of what the model says",
        up="Factor on the logit",
        x={"range": [0, 20.4]},
        y={"range": [levels[2] - pad, levels[0] + pad]},
        between=(lines[0], lines[2]),
        hover="s = %{x:.2f}: factor %{y:.4f}",
    ).card(
        "sharpness",
        "Sharpening",
        "logit after / before",
        (number("logit"), number("factor")),
        alt=f"Factor by which the map multiplies a positive logit. It starts at {three(ratio[0])}, "
        f"tends to gamma + 1 = {three(levels[0])} and stays above {three(levels[2])}. "
        f"The closest temperature is the flat line {three(levels[1])}.",
        caption=f"{MAP_PAPER}, proposition 3 (corrected).",
    )
    return card, factor_card


# Closest temperatures.


def temperature_cards(gamma: float, sweeps: Mapping[int, Sweep]) -> tuple[FigureCard, ...]:
    """Return the closest temperature by gamma, above 0, what it leaves, and where it differs."""
    worst = [f"{points(float(s.residuals.max()))} with {k} classes" for k, s in sweeps.items()]
    residual_card = Plot(
        curves=tuple(
            Curve(f"{k} classes", sweep.gammas, 100.0 * sweep.residuals, i, dots=True)
            for i, (k, sweep) in enumerate(sweeps.items())
        ),
        across="γ",
        up="Largest difference, points",
        x={"range": [0, 9.3]},
        y=FROM_ZERO,
        hover="γ = %{x}: %{y:.2f} points",
    ).card(
        "residual",
        "What remains",
        "at the best T",
        (number("gamma", "γ"), number("points")),
        alt="Largest difference between map and closest temperature, in points, up to: "
        f"{', '.join(worst)}.",
        caption=f"{MAP_PAPER}, sections 3.2 and 3.3.",
    )

    near = closest(2, gamma)
    t = f"T = {three(near.temperature)}"
    gap = 100.0 * (mapped(gamma) - sigmoid(LOGITS / near.temperature))
    name = f"map at γ = {written(gamma)} minus {t}"
    difference_card = Plot(
        curves=(Curve(name, sigmoid(LOGITS), gap, width=2.4),),
        across="Model says",
        up="Difference, points",
        x=SHARES,
        hover="says %{x:.1%}: %{y:+.4f} points",
    ).card(
        "difference",
        "Map minus temperature",
        f"γ = {written(gamma)}, {t}",
        (share("says"), number("points")),
        alt="Difference between the map and its closest temperature, at most "
        f"{points(near.residual)} points.",
        caption=f"{MAP_PAPER}, section 3.2.",
    )
    return (line_card(sweeps), residual_card, difference_card, *_bound_cards(gamma))


def line_card(sweeps: Mapping[int, Sweep]) -> FigureCard:
    """Return 1 / T against gamma with the fitted and the printed line."""
    curves, fits = [], []
    for i, (k, sweep) in enumerate(sweeps.items()):
        slope, intercept = fitted(sweep)
        fits.append(f"{k} classes, fitted {slope:.2f} γ + {intercept:.2f}")
        curves.append(Curve(fits[-1], sweep.gammas, 1.0 / sweep.temperatures, i, dots=True))
        a, b = PRINTED_LINES[k]
        printed = a * sweep.gammas + b
        curves.append(Curve(f"printed {a} γ + {b}", sweep.gammas, printed, i, "dot", 1.6))
    return Plot(
        curves=tuple(curves),
        across="γ",
        up="1 / T of the closest temperature",
        x={"range": [0, 9.3]},
        y=FROM_ZERO,
        hover="γ = %{x}: 1/T = %{y:.3f}",
    ).card(
        "line",
        "Closest temperature",
        f"fitted up to γ = {FITTED_UP_TO:g}",
        (number("gamma", "γ"), number("inverse", "1/T")),
        alt=f"Inverse of the closest temperature against gamma. {'; '.join(fits)}.",
        caption=f"{MAP_PAPER}, sections 3.2 and 3.3.",
    )


@cache
def _bound_curves() -> tuple[Float, dict[str, Float]]:
    """Return gammas, and the temperatures that bound the map at each; no choice changes them."""
    gammas = np.linspace(0.05, 10.0, 100)
    bounds = {"proved": temperature_bounds, "tightest": tightest_bounds}
    return gammas, {
        name: np.array([bound(float(g)) for g in gammas]).T for name, bound in bounds.items()
    }


def _bound_cards(gamma: float) -> tuple[FigureCard, FigureCard]:
    """Return the temperatures that bound the map, as proved and as tight as any, and the widths."""
    gammas, bounds = _bound_curves()
    here = {"proved": temperature_bounds(gamma), "tightest": tightest_bounds(gamma)}
    width = {name: float(np.diff(ends)[0]) for name, ends in here.items()}
    styles: dict[str, tuple[Colour, str]] = {
        "proved": ("quiet", "dot"),
        "tightest": ("ink", "solid"),
    }
    across = {"range": [0, 10.2]}
    read = "; ".join(f"{name} {three(low)} to {three(high)}" for name, (low, high) in here.items())
    ends_card = Plot(
        curves=tuple(
            Curve(f"{name}, {side}", gammas, values, styles[name][0], dash, 1.8)
            for name, both in bounds.items()
            for side, values, dash in zip(("sharp", "soft"), both, ("solid", "dash"), strict=True)
        ),
        across="γ",
        up="T",
        x=across,
        y=FROM_ZERO,
        hover="γ = %{x:.2f}: T = %{y:.4f}",
    ).card(
        "bounds",
        "Bounds as proved and as tight as any",
        "two classes, logits up to 20",
        (number("gamma", "γ"), number("temperature", "T")),
        alt=f"Temperatures between which the map lies, against gamma. At {written(gamma)}: {read}.",
        caption=f"{MAP_PAPER}, figure 3 and proposition 3 (corrected).",
    )
    proved = bounds["proved"][1] - bounds["proved"][0]
    widest = int(proved.argmax())
    widths_card = Plot(
        curves=tuple(
            Curve(name, gammas, both[1] - both[0], *styles[name], 2.4)
            for name, both in bounds.items()
        ),
        across="γ",
        up="Soft bound minus sharp bound, in T",
        x=across,
        y=FROM_ZERO,
        spots=tuple(Highlight(gamma, w, f"{name}: {three(w)}") for name, w in width.items()),
        hover="γ = %{x:.2f}: %{y:.4f}",
    ).card(
        "width",
        "Width of the bounds",
        "two classes",
        (number("gamma", "γ"), number("width")),
        alt=f"Width of the bounds against gamma: at {written(gamma)} proved "
        f"{three(width['proved'])}, tightest {three(width['tightest'])}; proved at most "
        f"{three(float(proved[widest]))} near {three(float(gammas[widest]))}.",
        caption=f"{MAP_PAPER}, figure 3 and proposition 3 (corrected).",
    )
    return ends_card, widths_card


# Losses, gradients and weights of one class.


def loss_curve_cards(gamma: float) -> tuple[FigureCard, FigureCard]:
    """Return the losses of two classes: of the map's paper, and inverse focal and CalFocal."""
    name, far = written(gamma), sigmoid(LOSS_LOGITS)
    log_p = np.log(np.stack([sigmoid(-LOSS_LOGITS), far], axis=-1))
    focal, proper = focal_loss(log_p, gamma)[:, 1], properised_loss(log_p, gamma)[:, 1]
    fcl = focal + 2.0 * FCL_WEIGHT * (1.0 - far) ** 2  # both classes are off by 1 - p
    losses = (
        Curve("cross-entropy", far, -log_p[:, 1], "quiet", "dash", 1.8),
        Curve(f"focal, γ = {name}", far, focal, 2, "dot", 2.4),
        Curve(f"FCL, γ = {name}, λ = {FCL_WEIGHT}", far, fcl, 3, "longdash"),
        main_curve(f"properised, γ = {name}", far, proper),
    )
    at = int(np.argmin(np.abs(far - 0.8)))
    read = "; ".join(f"{curve.name}: {three(float(curve.y[at]))}" for curve in losses)

    p = INSIDE
    shapes = (
        Curve("cross-entropy", p, -np.log(p), "quiet", "dash", 1.8),
        Curve(f"inverse focal, γ = {name}", p, inverse_focal(p, gamma), 2, "dot", 2.4),
        *(
            Curve(f"CalFocal, λ = {rate}", p, calfocal(p, ACCURACY, rate), colour, dash)
            for rate, colour, dash in ((1, 0, "dashdot"), (10, 1, "longdash"), (100, 3, "solid"))
        ),
    )
    read_shapes = "; ".join(
        f"{curve.name}: {three(float(np.interp(ACCURACY, p, curve.y)))}" for curve in shapes
    )
    loss_plot = partial(
        Plot,
        across="Probability of the true class",
        up="Loss, nats",
        x=SHARES,
        y={"range": [0, 4]},
        hover="p = %{x:.1%}: %{y:.4f}",
    )
    alt = "Losses in nats against the probability of the true class. At "
    columns = (share("p"), number("loss"))
    losses_card = loss_plot(curves=losses).card(
        "losses",
        "Four losses",
        "properised: at the inverse map of p",
        columns,
        alt=f"{alt}{percent(float(far[at]))}, {read}.",
        caption=f"{MAP_PAPER}, figure 1, two classes; focal calibration loss (FCL) by FCL 2024, "
        "definition 3.1.",
    )
    shapes_card = loss_plot(curves=shapes).card(
        "shapes",
        "Inverse focal and CalFocal",
        f"bin accuracy {percent(ACCURACY)}",
        columns,
        alt=f"{alt}{percent(ACCURACY)}, {read_shapes}.",
        caption="Ghosh 2022, figure 3(a).",
    )
    return losses_card, shapes_card


def optimum_cards(gamma: float, truth: float) -> tuple[FigureCard, FigureCard]:
    """Return what focal training ends up saying for several gammas, and the bound of its loss.

    Gamma, above 0, is drawn beside the others; truth, in (0, 1), is the example's.
    """
    p, name = INSIDE, written(gamma)
    log_p = np.log(np.stack([1.0 - p, p], axis=-1))
    optima = {g: np.exp(inverse_focal_map(log_p, g)[:, 1]) for g in (*OPTIMA, gamma)}
    others = [
        Curve(f"γ = {written(g)}", p, optima[g], i, MAP_DASHES[i], 1.6)
        for i, g in enumerate(OPTIMA)
        if g != gamma
    ]
    says = stated(truth, gamma)
    at = {g: float(np.interp(0.8, p, curve)) for g, curve in optima.items()}
    read = ", ".join(f"{percent(q)} at gamma {written(g)}" for g, q in at.items())
    optimum_card = square(
        curves=(_diagonal(), *others, main_curve(f"γ = {name}", p, optima[gamma])),
        across="True share",
        up="Minimiser of the loss",
        spots=(Highlight(truth, says, f"example: {percent(truth)} → {percent(says)}"),),
        hover="is %{x:.1%}, says %{y:.1%}",
    ).card(
        "optimum",
        "What focal loss makes a model say",
        "two classes",
        (share("truth"), share("says")),
        alt=f"Minimiser of the expected focal loss of two classes against the truth. At "
        f"80 %: {read}.",
        caption=f"{GRADIENT_PAPER}, figure 7.",
    )

    loss = (focal_loss(log_p, gamma) * np.array([1.0 - truth, truth])).sum(axis=-1)
    bound = focal_lower_bound(truth, p, gamma)
    low = int(loss.argmin())
    curves = (
        quiet_curve("KL + H(p) − γ H(q)", p, bound, dash="dash"),
        main_curve(f"focal loss, γ = {name}", p, loss),
    )
    bound_card = Plot(
        curves=curves,
        across="q, what the model says",
        up="Expected loss, nats",
        x=SHARES,
        y={"range": [min(-0.1, 1.1 * float(bound.min())), 2.0]},
        spots=(Highlight(float(p[low]), float(loss[low]), f"smallest at {percent(p[low])}"),),
        hover="q = %{x:.1%}: %{y:.4f}",
    ).card(
        "bound",
        "Focal loss and its lower bound",
        f"p = {percent(truth)}" + (", proved from γ = 1 on" if gamma < 1.0 else ""),
        (share("q"), number("loss")),
        alt=f"Expected focal loss of two classes against what is said, gamma {name}, "
        f"smallest at {percent(float(p[low]))}, and KL(p, q) + H(p) minus gamma H(q), which it "
        f"never falls below: the nearest they come is {three(float((loss - bound).min()))}.",
        caption=f"{GRADIENT_PAPER}, appendix: less KL divergence, more entropy.",
    )
    return optimum_card, bound_card


def weight_card(gamma: float) -> FigureCard:
    """Return the weight of a class in the focal map against its probability."""
    name, weight = written(gamma), INSIDE / gradient_factor(INSIDE, gamma)
    return Plot(
        curves=(
            quiet_curve("γ = 0", INSIDE, INSIDE, dash="dash"),
            main_curve(f"γ = {name}", INSIDE, weight),
        ),
        across="q, probability of a class",
        up="−1 / φ′(q)",
        x=SHARES,
        y={"range": [0, 3]},
        hover="q = %{x:.1%}: %{y:.4f}",
    ).card(
        "phi",
        "Weight of a class",
        "before normalisation",
        (share("q"), number("weight")),
        alt=f"Weight of a class in the focal map against its probability, gamma {name}: "
        f"{three(float(np.interp(0.5, INSIDE, weight)))} at one half, where it is 0.5 without "
        "the map.",
        caption=f"{MAP_PAPER}, proposition 4; φ(q) = −(1 − q)^γ ln q.",
    )


def gradient_cards(gamma: float, p0: float, also: tuple[float, ...]) -> tuple[FigureCard, ...]:
    """Return the factor on the gradient, gamma above 0, and the gamma from which it is below one.

    The true class's probability p0 is pointed out; of other gammas those above 0 have a factor.
    """
    p, cross = np.linspace(0.0, 1.0, 201), unit_crossing(gamma)
    factor = gradient_factor(p, gamma)
    others = [
        Curve(f"γ = {written(g)}", p, gradient_factor(p, g), i, DASHES[i % len(DASHES)], 1.6)
        for i, g in enumerate(g for g in also if g > 0.0)
    ]
    factor_card = Plot(
        curves=(
            quiet_curve("cross-entropy", p, np.ones_like(p), dash="dash"),
            *others,
            main_curve(f"γ = {written(gamma)}", p, factor),
        ),
        across="Probability of the true class",
        up="Gradient over that of cross-entropy",
        x=SHARES,
        y=FROM_ZERO,
        spots=(Highlight(cross, 1.0, f"equal at {percent(cross)}"),),
        hover="p = %{x:.1%}: %{y:.3f}",
    ).card(
        "factor",
        "Gradient relative to cross-entropy",
        "g(p, γ)",
        (share("p"), number("factor", "g")),
        alt=f"Factor on the gradient at gamma {written(gamma)}: 1 at probability 0, at most "
        f"{three(float(factor.max()))}, 1 again at {percent(cross)}, 0 at 1.",
        caption=f"{GRADIENT_PAPER}, proposition 1.",
    )
    near, star = np.linspace(0.1, 0.6, 201), float(gamma_star(p0))
    steps, gammas = np.array([0.1, 0.2, 0.2, 0.6]), np.array([5.0, 5.0, 3.0, 3.0])
    star_card = Plot(
        curves=(
            main_curve("γ*(p0)", near, gamma_star(near)),
            Curve("FLSD-53: 5 below 0.2, else 3", steps, gammas, 1, "dash", 1.8),
        ),
        across="p0, probability of the true class",
        up="γ",
        x={"range": [0.09, 0.61], "tickformat": ".0%"},
        y={"range": [-0.6, 16]},
        spots=(Highlight(p0, star, f"γ*({p0:g}) = {three(star)}"),),
        hover="p0 = %{x:.1%}: γ = %{y:.3f}",
    ).card(
        "star",
        "Smallest γ with no larger gradient",
        "g(p, γ) ≤ 1 for every p ≥ p0",
        (number("p0"), number("gamma", "γ")),
        alt=f"Gamma star against p0: {three(star)} at {p0:g}, "
        f"{three(float(gamma_star(0.2)))} at 0.2 and {three(float(gamma_star(0.25)))} at 0.25, "
        "which FLSD-53 rounds to 5 and 3; 0 from one half.",
        caption=f"{GRADIENT_PAPER}, proposition 2.",
    )
    return factor_card, star_card
