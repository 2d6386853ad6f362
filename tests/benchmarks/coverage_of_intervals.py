"""Simulate how often the intervals hold the truth, and write the table of docs/coverage.md.

Run from the project's folder: python -m tests.benchmarks.coverage_of_intervals [--repeats 200]
"""

import argparse
from pathlib import Path

import numpy as np

from core.arrays import sigmoid
from core.metrics import METRICS, estimates, suite
from core.metrics.ranked import Ranked
from core.predictions import Outcomes, Predictions, ScoreKind, Task

# temperature of the truth, and height of a wave whose errors cancel
MODELS = {
    "calibrated": (1.0, 0.0),
    "slight": (1.15, 0.0),
    "strong": (2.0, 0.0),
    "mixed": (1.0, 0.1),
}
SIZES = (500, 2_000, 10_000)
ERRORS = (
    "ece",
    "ece_em",
    "ada_ece",
    "rmsce",
    "mce",
    "ace",
    "ece_debiased",
    "ece_sweep",
    "ks",
    "smece",
)
PAGE = Path("docs/coverage.md")
TEXT = """# How often the intervals hold the truth

Nominal level 95 %. A model is calibrated, or slightly or strongly over-confident: confidences are
0.5 + Beta(3, 1) / 2 and come true with probability sigmoid(logit(confidence) / T), T = 1, 1.15, 2.
The mixed model is calibrated but for a wave of 0.2 sin(4 pi confidence) (1 - confidence):
over-confident here, under-confident there. The truth is the value of the same error on 4,000,000
rows (0 for the calibrated model). Each cell is the share of {repeats} simulated data sets whose
interval holds it; 15 bins, {resamples} resamples each.

The interval is the basic bootstrap [2 v - q97.5, 2 v - q2.5], cut to [0, 1], extended to hold v,
from 0 when v does not exceed the noise floor. All errors but ACE are at least |signed gap|, so
their interval also reaches as far as the gap's own; that of ACE, where a bin of three rows weighs
as much as any, also reaches down by its noise floor. The percentile bootstrap would never hold
the truth of a calibrated model.

Written by `{command}`; seeds are 0 to {last}.

| model | rows | {head} |
|---|---|{rule}|
{body}

True values: {truth}.
"""


def outcomes(n: int, model: str, rng: np.random.Generator) -> Outcomes:
    """Draw n rows of a model."""
    temperature, wave = MODELS[model]
    confidence = 0.5 + rng.beta(3, 1, n) / 2
    with np.errstate(divide="ignore"):
        logit = np.log(confidence) - np.log1p(-confidence)
    shift = wave * np.sin(4 * np.pi * confidence) * (1 - confidence) / 0.5
    return Outcomes(confidence, rng.random(n) < sigmoid(logit / temperature) + shift)


def truth(model: str) -> dict[str, float]:
    """Return the errors of the model itself, and its signed gap."""
    ranked = Ranked.of(outcomes(4_000_000, model, np.random.default_rng(2**32)))
    if model == "calibrated":
        return dict.fromkeys((*ERRORS, "gap"), 0.0)
    return {**{m: METRICS[m].function(ranked) for m in ERRORS}, "gap": ranked.gap}


def held(found: Outcomes, true: dict[str, float], resamples: int, seed: int) -> dict[str, bool]:
    """Return for each error whether its interval holds the truth."""
    rows = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        found.confidence,
        found.correct.astype(np.int64),
        predicted=np.ones(found.n, dtype=np.int64),
    )
    prepared = suite.prepare(rows, None, n_resamples=resamples, seed=seed)
    bounds = {m: estimates.error_of(prepared, m, n_bins=15, level=0.95)[0] for m in ERRORS}
    gap = estimates.direction(prepared, 0.95)
    inside = {m: bool(s.low <= true[m] <= s.high) for m, s in bounds.items()}
    return {**inside, "gap": bool(gap.low <= true["gap"] <= gap.high)}


def cell(model: str, n: int, true: dict[str, float], repeats: int, resamples: int) -> list[float]:
    """Return the coverage of each error for one model and size."""
    counts = dict.fromkeys((*ERRORS, "gap"), 0)
    for seed in range(repeats):
        rng = np.random.default_rng([seed, n, list(MODELS).index(model)])
        for metric, inside in held(outcomes(n, model, rng), true, resamples, seed).items():
            counts[metric] += inside
    return [count / repeats for count in counts.values()]


def main() -> None:
    """Simulate every cell, print it, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=120)
    parser.add_argument("--resamples", type=int, default=400)
    given = parser.parse_args()
    body, truths = [], []
    for model in MODELS:
        true = truth(model)
        truths.append(f"{model}: " + ", ".join(f"{m} {v:.4f}" for m, v in true.items()))
        for n in SIZES:
            shares = cell(model, n, true, given.repeats, given.resamples)
            body.append(f"| {model} | {n:,} | " + " | ".join(f"{s:.2f}" for s in shares) + " |")
            print(body[-1], flush=True)
    names = (*ERRORS, "signed gap")
    PAGE.write_text(
        TEXT.format(
            repeats=given.repeats,
            resamples=given.resamples,
            last=given.repeats - 1,
            command=f"python -m tests.benchmarks.coverage_of_intervals --repeats {given.repeats}",
            head=" | ".join(names),
            rule="---|" * len(names),
            body="\n".join(body),
            truth="; ".join(truths),
        ).replace("|---||", "|---|")
    )


if __name__ == "__main__":
    main()
