"""Intervals of the errors, the gap and the ranks.

The truth of a calibrated design is 0, that of others the value on 2,000,000 rows; 15 bins, 300
resamples each.
"""

from collections.abc import Callable

import numpy as np

from core.metrics import METRICS, estimates, suite
from core.metrics.ranked import Ranked
from core.predictions import Outcomes, Predictions, ScoreKind, Task
from tests.benchmarks.claims.designs import (
    CONFIDENCES,
    RISKS,
    SIZES,
    Claims,
    Rng,
    Row,
    generator,
)

RESAMPLES, BINS, LEVEL, POPULATION = 300, 15, 0.95, 2_000_000
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


def truths(design: str, draw: Callable[[Rng, int], Claims]) -> dict[str, float]:
    """Return the errors of a design and its signed gap."""
    if "calibrated" in design:
        return dict.fromkeys((*ERRORS, "gap"), 0.0)
    p, y, _ = draw(generator(0, 2**32, design), POPULATION)
    ranked = Ranked.of(Outcomes(p, y))
    return {m: METRICS[m].function(ranked) for m in ERRORS} | {"gap": ranked.gap}


def held(
    claims: Claims, true: dict[str, float], metrics: tuple[str, ...]
) -> dict[str, bool | None]:
    """Return for each error, and the gap, whether its interval holds the truth; None: has none."""
    p, y, _ = claims
    rows = Predictions(
        Task.TOP_LABEL,
        ScoreKind.CONFIDENCE,
        p,
        y.astype(np.int64),
        predicted=np.ones(len(p), dtype=np.int64),
    )
    ready = suite.prepare(rows, None, n_resamples=RESAMPLES, seed=0)
    inside: dict[str, bool | None] = {}
    for metric in metrics:
        score = estimates.error_of(ready, metric, n_bins=BINS, level=LEVEL)[0]
        none = score.low is None or score.high is None
        inside[metric] = None if none else bool(score.low <= true[metric] <= score.high)
    gap = estimates.direction(ready, LEVEL)
    return inside | {"gap": bool(gap.low <= true["gap"] <= gap.high)}


def rows(sets: int, seed: int, *, metrics: tuple[str, ...] = ERRORS) -> list[Row]:
    """Return how often the interval of each error and of the signed gap holds the truth."""
    out = []
    for design, draw in (CONFIDENCES | RISKS).items():
        true = truths(design, draw)
        for n in SIZES:
            found = [
                held(draw(generator(seed, i, design, n), n), true, metrics) for i in range(sets)
            ]
            for metric in (*metrics, "gap"):
                cells = [one[metric] for one in found if one[metric] is not None]
                rate = float(np.mean(cells)) if cells else float("nan")
                out.append(Row(metric, design, n, rate, len(cells)))
    return sorted(out, key=lambda row: (*metrics, "gap").index(row.claim))


if __name__ == "__main__":
    from tests.benchmarks.claims.designs import table

    print(table(rows(100, 0)))
