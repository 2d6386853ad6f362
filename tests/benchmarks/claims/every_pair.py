"""Several runs, any pair.

Runs state the true logits of the same rows, each with noise of its own. Equal runs are sharpened
alike, so that no two differ in truth: "different" is a comparison in which any two of them, by
whichever reference, are no tie, as Compare and `compare` say it (max-T over all pairs). For power
one of three runs is sharpened by 1.6 and the others by 1.15; "told" is a comparison that calls it
worse than both. 5 classes, 1,000 resamples, as on the page; with 250, whose ends are rougher,
about 0.3 in 100 more are called different.
"""

from collections.abc import Sequence
from functools import partial

from core.defaults import N_RESAMPLES
from core.metrics.comparison import Compared, compare_all
from core.predictions import Predictions
from tests.benchmarks.claims.comparisons import Run, compared, many, stated
from tests.benchmarks.claims.designs import Row, generator, power, sentence

METRICS_TRIED = ("ece", "accuracy", "nll")
EQUAL: dict[str, tuple[Run, int, int]] = {  # sharpness and noise, rows, runs
    "over-confident, 3 runs": ((1.5, 0.5), 500, 3),
    "nearly calibrated, 3 runs": ((0.87, 0.5), 500, 3),
    "over-confident, 8 runs": ((1.5, 0.5), 300, 8),
}
ONE_WORSE: tuple[Run, ...] = ((1.15, 0.3), (1.15, 0.3), (1.6, 0.3))
POWER_SIZES = (200, 500, 1_000, 2_000)


def called_different(runs: Sequence[Compared], metric: str) -> bool:
    """Whether any two runs are no tie, whichever is the reference."""
    names = [str(i) for i in range(len(runs))]
    return any(
        not difference[metric].tie
        for reference in range(len(runs) - 1)
        for difference in compare_all(runs, names, reference).differences
        if metric in difference
    )


def called_worse(runs: Sequence[Compared], metric: str) -> bool:
    """Whether the last run is worse than each of the others beyond chance."""
    found = compare_all(runs, "ABC", 2)
    return all(
        not each[metric].tie and (each[metric].value or 0.0) < 0.0 for each in found.differences[:2]
    )


def _compared(runs: Sequence[Predictions], metrics: Sequence[str]) -> list[Compared]:
    return [compared(run, metrics, N_RESAMPLES) for run in runs]


def equal_rows(sets: int, seed: int) -> list[Row]:
    """Return how often equal runs are called different."""
    rows = []
    draw = many(5, 2.0)
    for design, (run, n, count) in EQUAL.items():
        said = dict.fromkeys(METRICS_TRIED, 0)
        for number in range(sets):
            rng = generator(seed, number, design, n)
            runs = _compared(stated(draw(rng, n), [run] * count, rng), METRICS_TRIED)
            for metric in METRICS_TRIED:
                said[metric] += called_different(runs, metric)
        rows += [
            sentence(f"equal runs are different by {metric}", design, n, hits / sets, sets)
            for metric, hits in said.items()
        ]
    return rows


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
    """Return the rates of equal runs, then the power.

    Parameters
    ----------
    sets : int
        Comparisons of each design; a tenth for power.
    seed : int
        Of them.
    """
    return [*equal_rows(sets, seed), *power_rows(max(50, sets // 10), seed)]
