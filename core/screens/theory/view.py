"""What the theory page says of one gamma: sentence, numbers, the map, temperatures, gradients."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.arrays import Float, sigmoid
from core.calibrators.focal_inverse import inverse_focal_map
from core.calibrators.focal_map import binary_focal_map
from core.calibrators.focal_theory import (
    ClosestTemperature,
    closest_temperature,
    logit_grid,
    temperature_bounds,
)
from core.calibrators.theory import GRIDS, unit_crossing
from core.screens.kit.curves import SHARES, Highlight, Plot, TheoryCurve, curve_card
from core.screens.kit.numbers import MINUS, in_hundred, percent, points, three
from core.screens.kit.records import Column, FigureCard, Phrase, Sentence, Tile

MAP_PAPER = "Komisarenko 2024"
LOGITS = np.linspace(-9.0, 9.0, 181)
UNDONE = (
    "A higher γ makes the model less confident. The map undoes this exactly if training was "
    "perfect; an audit shows whether yours was."
)
# Of other gammas beside the map: none of them the dash of a bound or of the diagonal.
MAP_DASHES = (
    "longdash",
    "longdashdot",
    "2px,6px",
    "10px,3px,2px,3px,2px,3px",
    "18px,3px",
    "5px,2px",
)
PLAIN = (
    "The stronger focal training is, the less sure the model says it is. If training was perfect, "
    "an exact correction is known; an audit shows whether yours was."
)


@dataclass(frozen=True)
class TheoryTop:
    """What stands over every part of the page."""

    eyebrow: str
    sentence: Sentence
    plain: str
    numbers: tuple[Tile, ...]


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


def theory_top(gamma: float, truth: float) -> TheoryTop:
    """Return sentence, plain words and numbers.

    Parameters
    ----------
    gamma : float
        Above 0.
    truth : float in (0, 1)
        How often the answer of the example is right.
    """
    says = stated(truth, gamma)
    sentence = Sentence(
        (
            Phrase(f"With γ at {written(gamma)}, focal training ends up "),
            Phrase(f"saying {percent(says)} where the truth is {percent(truth)}", "under"),
            Phrase(f". The focal calibration map returns {percent(truth)}."),
        )
    )
    return TheoryTop(
        "Theory · the focal calibration map",
        sentence,
        UNDONE,
        _tiles(gamma, truth, says),
    )


def _tiles(gamma: float, truth: float, says: float) -> tuple[Tile, ...]:
    sharp, soft = temperature_bounds(gamma)
    two, three_classes = closest(2, gamma), closest(3, gamma)
    return (
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
            help="The same for three classes: no temperature comes nearer than this.",
        ),
        Tile(
            "Weaker gradient than cross-entropy above",
            points(unit_crossing(gamma)),
            "%",
            note="probability of the true class",
            help="Where the gradient of focal loss is that of cross-entropy: g(p, γ) = 1.",
        ),
    )


def plain_top(gamma: float, truth: float) -> TheoryTop:
    """Return the same in times out of 100, without numbers of experts."""
    says = in_hundred(stated(truth, gamma))
    right = in_hundred(truth)
    parts = (
        Phrase(f"At strength {written(gamma)}, focal training makes a model "),
        Phrase(f"say {says} in 100 where it is right {right} times in 100", "under"),
        Phrase("."),
    )
    return TheoryTop("Theory · one setting", Sentence(parts), PLAIN, ())


def map_cards(gamma: float, truth: float, also: tuple[float, ...]) -> tuple[FigureCard, ...]:
    """Return the binary map between its temperature bounds, and how sharp it is by logit.

    Parameters
    ----------
    gamma : float
        Above 0.
    truth : float in (0, 1)
        The example that is pointed out.
    also : tuple of float
        Other gammas above -1 that are drawn thin.
    """
    return _map_card(gamma, truth, also), _sharpness_card(gamma)


def _map_card(gamma: float, truth: float, also: tuple[float, ...]) -> FigureCard:
    says, name = sigmoid(LOGITS), written(gamma)
    sharp, soft = temperature_bounds(gamma)
    bounds = (
        TheoryCurve(
            f"T = {three(sharp)}",
            says,
            sigmoid(LOGITS / sharp),
            colour="quiet",
            dash="dot",
            width=1.4,
        ),
        TheoryCurve(
            f"T = {three(soft)}",
            says,
            sigmoid(LOGITS / soft),
            colour="quiet",
            dash="dashdot",
            width=1.4,
        ),
    )
    others = tuple(
        TheoryCurve(
            f"γ = {written(g)}",
            says,
            mapped(g),
            colour=i,
            dash=MAP_DASHES[i % len(MAP_DASHES)],
            width=1.6,
        )
        for i, g in enumerate(also)
    )
    curves = (*bounds, *others, TheoryCurve(f"γ = {name}", says, mapped(gamma), width=3.0))
    q = stated(truth, gamma)
    plot = Plot(
        curves=(_diagonal(), *curves),
        across="Model says",
        up="True share (the map)",
        x=SHARES,
        y=SHARES,
        spots=(Highlight(q, truth, f"example: {percent(q)} → {percent(truth)}"),),
        between=bounds,
        square=True,
        hover="says %{x:.1%}, is %{y:.1%}",
    )
    return curve_card(
        "map",
        "Two classes",
        f"γ = {name} between two temperatures",
        plot,
        (Column("says", "says", "share"), Column("is", "is", "share")),
        alt=f"Focal calibration map for two classes. At gamma {name}, {percent(q)} becomes "
        f"{percent(truth)}. For every stated share above a half it lies between temperature "
        f"scaling with T = {three(soft)} and the sharper T = {three(sharp)}; below, the reverse.",
        caption=f"{MAP_PAPER}, propositions 2 and 3 (corrected).",
    )


def _diagonal() -> TheoryCurve:
    ends = np.array([0.0, 1.0])
    return TheoryCurve("nothing changed", ends, ends, "quiet", "dash", 1.4, tabled=False)


def plain_card(gamma: float, truth: float) -> FigureCard:
    """Return the map alone, in times out of 100."""
    q = stated(truth, gamma)
    read = f"says {in_hundred(q)} in 100, right {in_hundred(truth)} times in 100"
    curve = TheoryCurve(f"strength {written(gamma)}", sigmoid(LOGITS), mapped(gamma), width=3.0)
    plot = Plot(
        curves=(_diagonal(), curve),
        across="Model says, times in 100",
        up="Right, times in 100",
        x=SHARES,
        y=SHARES,
        spots=(Highlight(q, truth, f"example: {read}"),),
        square=True,
        hover="says %{x:.0%}, right %{y:.0%}",
    )
    return curve_card(
        "knob",
        "What the strength does",
        "above the dashed line: right more often than it says",
        plot,
        (Column("says", "says", "share"), Column("right", "right", "share")),
        alt="Curve of how often a model is right against what it says, two possible answers, "
        f"strength {written(gamma)}. Example: {read}.",
        caption=f"{MAP_PAPER}, for two possible answers and a model that learned perfectly.",
    )


def mapped(gamma: float) -> Float:
    """Return the map of two classes at the logits that are drawn."""
    return sigmoid(binary_focal_map(LOGITS, gamma))


def _sharpness_card(gamma: float) -> FigureCard:
    s = np.linspace(0.05, 20.0, 200)
    ratio = binary_focal_map(s, gamma) / s
    sharp, soft = temperature_bounds(gamma)
    near = closest(2, gamma).temperature
    names = ("γ + 1", "closest 1/T", "γ + 1 − ½ ln(γ + 1)")
    levels = (1.0 / sharp, 1.0 / near, 1.0 / soft)
    dashes = ("dot", "dash", "dashdot")
    lines = tuple(
        TheoryCurve(
            f"{name} = {three(level)}",
            s,
            np.full_like(s, level),
            colour="quiet",
            dash=dash,
            width=1.4,
        )
        for name, level, dash in zip(names, levels, dashes, strict=True)
    )
    curves = (*lines, TheoryCurve(f"the map, γ = {written(gamma)}", s, ratio, width=3.0))
    pad = 0.06 * (levels[0] - levels[2])
    plot = Plot(
        curves=curves,
        across="Logit s of what the model says",
        up="Factor on the logit",
        x={"range": [0, 20.4]},
        y={"range": [levels[2] - pad, levels[0] + pad]},
        between=(lines[0], lines[2]),
        hover="s = %{x:.2f}: factor %{y:.4f}",
    )
    return curve_card(
        "sharpness",
        "Sharpening",
        "logit after / before",
        plot,
        (Column("logit", "logit", "number"), Column("factor", "factor", "number")),
        alt=f"Factor by which the map multiplies a positive logit. It starts at {three(ratio[0])}, "
        f"tends to gamma + 1 = {three(levels[0])} and stays above {three(levels[2])}. "
        f"The closest temperature is the flat line {three(levels[1])}.",
        caption=f"{MAP_PAPER}, proposition 3 (corrected).",
    )
