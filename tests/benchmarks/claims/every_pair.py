"""Several runs, any pair.

Runs state the true logits of the same rows, each with noise of its own. One of three runs is
sharpened by 1.6 and the others by 1.15; "told" is a comparison that calls it worse than both. 5
classes, 1,000 resamples, as on the page. How often equal runs are called different stands under
"Equal runs, called different".
"""

from collections.abc import Sequence
from functools import partial

from core.defaults import N_RESAMPLES
from core.metrics.comparison import Compared, compare_all
from core.predictions import Predictions
from tests.benchmarks.claims.comparisons import Run, compared, many, stated
from tests.benchmarks.claims.designs import Row, generator, power

ONE_WORSE: tuple[Run, ...] = ((1.15, 0.3), (1.15, 0.3), (1.6, 0.3))
POWER_SIZES = (200, 500, 1_000, 2_000)


def called_worse(runs: Sequence[Compared], metric: str) -> bool:
    """Whether the last run is worse than each of the others beyond chance."""
    found = compare_all(runs, "ABC", 2)
    return all(
        not each[metric].tie and (each[metric].value or 0.0) < 0.0 for each in found.differences[:2]
    )


def _compared(runs: Sequence[Predictions], metrics: Sequence[str]) -> list[Compared]:
    return [compared(run, metrics, N_RESAMPLES) for run in runs]


def power_rows(sets: int, seed: int) -> list[Row]:
    """Return how often the one that is worse is told."""
    design, draw = "sharpened by 1.6 beside two by 1.15", many(5, 2.0)
    tell = partial(power, "the worse of three is told by ece", design)
    rows = []
    for n in POWER_SIZES:
        told = 0
        for number in range(sets):
            rng = generator(seed, number, design, n)
            runs = _compared(stated(draw(rng, n), ONE_WORSE, rng), ("ece",))
            told += called_worse(runs, "ece")
        rows.append(tell(n, told / sets, sets))
    return rows


def rows(sets: int, seed: int) -> list[Row]:
    """Return the power.

    Parameters
    ----------
    sets : int
        Ten times the comparisons.
    seed : int
        Of them.
    """
    return power_rows(max(50, sets // 10), seed)
