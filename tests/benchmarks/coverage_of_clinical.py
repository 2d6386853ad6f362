"""Clinical numbers.

Stated risks are Beta(1/2, 4), 11 in 100 on average; events come true with probability
sigmoid(a + b logit(p) + c sin(3 logit(p))): calibrated a, b, c = 0, 1, 0; too low 0.4, 1, 0; too
extreme 0, 0.7, 0; wavy 0, 1, 0.6. The truth is the value on 2,000,000 rows (0, for the slope 1,
where the model is calibrated). Each cell is the share of 120 data sets whose 95 % interval holds
it; 400 resamples each; seeds are 0 to 119. The last column is the flexible curve's band, which is
pointwise: the share of rows at which it holds the true curve.

For `ici`, `e50`, `e90` and `emax` the basic bootstrap alone held the truth in 52 to 97 of 100 data
sets and the percentile bootstrap alone in 77 to 100 (60 data sets a cell; too low, too extreme and
wavy; 500 and 2,000 rows), so the interval spans both.
"""

from collections.abc import Iterator

import numpy as np

from core.arrays import Bool, Float, sigmoid
from core.metrics import METRICS, suite
from core.metrics.clinical_curve import ERRORS, curve_errors, flexible
from core.metrics.clinical_estimates import clinical_scores, curve_estimates
from core.metrics.ranked import Ranked
from core.predictions import Outcomes, Predictions, ScoreKind, Task

# events come true with probability sigmoid(a + b logit(p) + c sin(3 logit(p)))
MODELS = {
    "calibrated": (0.0, 1.0, 0.0),
    "too low": (0.4, 1.0, 0.0),
    "too extreme": (0.0, 0.7, 0.0),
    "wavy": (0.0, 1.0, 0.6),
}
SIZES, SETS, RESAMPLES = (500, 2_000, 10_000), 120, 400
FITTED = ("citl", "slope", "intercept", "brier_skill")
BAND = "curve"


def rows(n: int, model: str, rng: np.random.Generator) -> tuple[Float, Bool]:
    """Draw stated risks, 11 in 100 on average, and outcomes of a model."""
    p = np.clip(rng.beta(0.5, 4.0, n), 1e-9, 1 - 1e-9)
    a, b, c = MODELS[model]
    x = np.log(p) - np.log1p(-p)
    return p, rng.random(n) < sigmoid(a + b * x + c * np.sin(3 * x))


def truth(model: str) -> tuple[dict[str, float], tuple[Float, Float]]:
    """Return the numbers of 2,000,000 rows, and their curve."""
    p, y = rows(2_000_000, model, np.random.default_rng(2**32))
    ranked = Ranked.of(Outcomes(p, y))
    curve = flexible(p, y)
    found = {metric: METRICS[metric].function(ranked) for metric in FITTED} | curve_errors(ranked)[
        0
    ]
    if model == "calibrated":
        found |= dict.fromkeys((*ERRORS, "citl", "intercept"), 0.0) | {"slope": 1.0}
        return found, (curve.at, curve.at)
    return found, (curve.at, curve.observed)


def held(
    p: Float, y: Bool, true: dict[str, float], line: tuple[Float, Float], resamples: int, seed: int
) -> dict[str, float]:
    """Return for each number whether its interval holds the truth; for the band, the share."""
    binary = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y.astype(np.int64))
    prepared = suite.prepare(binary, 1, n_resamples=resamples, seed=seed)
    scores = clinical_scores(prepared, level=0.95)
    scores |= {m: score for m, (score, _) in curve_estimates(prepared, level=0.95).items()}
    inside = {
        metric: float((s := scores[metric]).low is not None and s.low <= true[metric] <= s.high)
        for metric in (*FITTED, *ERRORS)
    }
    curve = flexible(p, y)
    at = np.interp(curve.at, *line)
    inside[BAND] = float(((curve.low <= at) & (at <= curve.high)) @ curve.rows / curve.rows.sum())
    return inside


def lines() -> Iterator[str]:
    """Yield the table, and below it the true values."""
    names = (*FITTED, *ERRORS, BAND)
    yield "| model | rows | " + " | ".join(names) + " |"
    yield "|---|---|" + "---|" * len(names)
    truths = []
    for number, model in enumerate(MODELS):
        true, line = truth(model)
        truths.append(f"{model}: " + ", ".join(f"{m} {true[m]:.4f}" for m in (*FITTED, *ERRORS)))
        for n in SIZES:
            total = dict.fromkeys(names, 0.0)
            for seed in range(SETS):
                p, y = rows(n, model, np.random.default_rng([seed, n, number]))
                for name, inside in held(p, y, true, line, RESAMPLES, seed).items():
                    total[name] += inside / SETS
            yield f"| {model} | {n:,} | " + " | ".join(f"{v:.2f}" for v in total.values()) + " |"
    yield "\nTrue values: " + "; ".join(truths) + "."
