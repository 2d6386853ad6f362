"""Published statements that do not hold, each with a counter-example computed on the fly."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.arrays import Float, sigmoid
from core.calibrators.focal_map import binary_focal_map, focal_map
from core.calibrators.theory import Sweep, fcl_minimiser, principal_root, tightest_bounds
from core.screens.kit.curves import DASHES, SHARES, Highlight, Plot, TheoryCurve
from core.screens.kit.numbers import MINUS, THIN, percent, points, three
from core.screens.kit.records import Column, FigureCard, Table
from core.screens.theory.view import (
    GRADIENT_PAPER,
    INSIDE,
    LOGITS,
    MAP_PAPER,
    fitted,
    line_card,
    main_curve,
    mapped,
    number,
    quiet_curve,
    share,
    written,
)

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

    def closest(k: int, at: float) -> str:
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
            f"Three classes: {closest(3, 1.0)} at γ = 1 and {closest(3, 3.0)} at γ = 3; the "
            f"printed ones fit γ = 0.5 ({closest(3, 0.5)}) and γ = 2 ({closest(3, 2.0)}). Two "
            f"classes: {closest(2, 3.0)} at γ = 3; 0.36 is nearer to γ = 2 ({closest(2, 2.0)}).",
        ),
        Claim(
            "The tightest bound is the proved one",
            f"{MAP_PAPER}, section 3.2: at γ = 4 the tightest sharp side is T = 0.206, not 0.2.",
            f"Over logits up to 20 it is {tightest_bounds(4.0)[0]:.4f}, tending to 0.2.",
        ),
        Claim(
            "The other branch gives 0",
            f"{GRADIENT_PAPER}, proposition 2: the principal branch of Lambert's W gives a "
            "negative γ.",
            f"At p0 = 0.25 it gives 0 to within {root:.0e}.",
        ),
    )


def claims_table(statements: tuple[Claim, ...]) -> Table:
    """Return the statements as rows."""
    columns = (
        Column("statement", "statement"),
        Column("printed", "printed"),
        Column("found", "what the numbers say"),
    )
    return Table(
        columns, tuple((claim.title, claim.printed, claim.computed) for claim in statements)
    )


def _falling_card() -> FigureCard:
    gammas = np.linspace(0.05, 8.0, 160)
    curves = []
    for i, ((name, row, _), dash) in enumerate(zip(FALLING, ("solid", *DASHES[1:3]), strict=True)):
        q = np.array(row)
        rises = np.array([focal_map(q, float(gamma)).max() - q.max() for gamma in gammas])
        curves.append(TheoryCurve(name, gammas, 100.0 * rises, i, dash, 2.4))
    low = min(float(curve.y.min()) for curve in curves)
    flat = quiet_curve("unchanged", gammas, np.zeros_like(gammas), dash="dash", tabled=False)
    lowest = ", ".join(f"{c.name} {three(float(c.y.min()))}" for c in curves)
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
        caption=f"{MAP_PAPER}, proposition 4.",
    )


def _fcl_card(gamma: float, truth: float, weight: float) -> FigureCard:
    q, p, name = float(fcl_minimiser(truth, gamma, weight)), INSIDE, written(gamma)
    return Plot(
        curves=(
            quiet_curve("a proper loss", p, p, dash="dash"),
            TheoryCurve("focal alone (λ = 0)", p, fcl_minimiser(p, gamma, 0.0), 2, "dot"),
            main_curve(f"FCL, λ = {weight:g}", p, fcl_minimiser(p, gamma, weight)),
        ),
        across="True share",
        up="Minimiser of the loss",
        x=SHARES,
        y=SHARES,
        spots=(Highlight(truth, q, f"example: {percent(truth)} → {percent(q)}"),),
        square=True,
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
        TheoryCurve("printed, one side", LOGITS, low, 2, "dot", 1.8),
        TheoryCurve("printed, other side", LOGITS, high, 2, "dashdot", 1.8),
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
