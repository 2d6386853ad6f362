"""Differences.

Two runs on the same rows of five classes: one states the true probabilities sharpened by a factor
(1, or 1.15 for slight), the other its logits with noise (0.87 calibrated, 1.1 slight, 1.8 strong),
or sharpened by 0.6 without noise (under). The truth is the difference on 400,000 rows. First the
share of 200 data sets (100 at 10,000 rows) whose 95 % interval of the difference holds it; then
the share called a tie. 15 bins, 250 resamples each; seed 0. Two calibrated runs should tie.
"""

from collections.abc import Iterator

import numpy as np

from core.metrics import METRICS, estimates
from core.metrics.paired import Draws, difference, draws
from core.metrics.ranked import Ranked
from core.metrics.suite import prepare
from core.predictions import Predictions, ScoreKind, Task

METRICS_TRIED = ("ece", "ece_em", "smece")
ROUNDS, RESAMPLES, POPULATION = 200, 250, 400_000
CASES = {  # sharpness and noise of either run
    "calibrated, calibrated": ((1.0, 0.0), (0.87, 0.5)),
    "calibrated, slight": ((1.0, 0.0), (1.1, 0.5)),
    "slight, slight": ((1.15, 0.0), (1.1, 0.5)),
    "calibrated, strong": ((1.0, 0.0), (1.8, 0.5)),
    "slight, strong": ((1.15, 0.0), (1.8, 0.5)),
    "calibrated, under": ((1.0, 0.0), (0.6, 0.0)),
}


def sample(n: int, case: str, rng: np.random.Generator) -> list[Predictions]:
    """Draw rows and what the two runs of a case say of them."""
    logits = 2 * rng.normal(size=(n, 5))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, 4)
    return [
        Predictions(
            Task.MULTICLASS,
            ScoreKind.LOGITS,
            sharpness * (logits + noise * rng.normal(size=logits.shape)),
            labels,
        )
        for sharpness, noise in CASES[case]
    ]


def drawn(run: Predictions) -> dict[str, Draws]:
    """Return the draws of a run with the noise floors of its audit."""
    ready = prepare(run, None, n_resamples=RESAMPLES, seed=0)
    floors = {
        metric: estimates.error_of(ready, metric, n_bins=15, level=0.95)[1]
        for metric in METRICS_TRIED
    }
    return draws(run, floors, METRICS_TRIED, n_resamples=RESAMPLES)


def lines() -> Iterator[str]:
    """Yield a table of coverage and share of ties by case, rows and metric."""
    rng = np.random.default_rng(0)
    yield "| runs | rows | " + " | ".join(f"{m}: covered, tied" for m in METRICS_TRIED) + " |"
    yield "|---|---|" + "---|" * len(METRICS_TRIED)
    for case in CASES:
        ranked = [Ranked.of(run.outcomes(None)) for run in sample(POPULATION, case, rng)]
        true = {
            m: METRICS[m].function(ranked[0]) - METRICS[m].function(ranked[1])
            for m in METRICS_TRIED
        }
        for n in (500, 2_000, 10_000):
            rounds = ROUNDS if n < 10_000 else ROUNDS // 2
            held, tied = dict.fromkeys(METRICS_TRIED, 0), dict.fromkeys(METRICS_TRIED, 0)
            for _ in range(rounds):
                one, other = (drawn(run) for run in sample(n, case, rng))
                for metric in METRICS_TRIED:
                    found = difference(one[metric], other[metric], 0.95)
                    held[metric] += found.low <= true[metric] <= found.high
                    tied[metric] += found.tie
            cells = [f"{held[m] / rounds:.2f}, {tied[m] / rounds:.2f}" for m in METRICS_TRIED]
            yield f"| {case} | {n:,} | {' | '.join(cells)} |"
