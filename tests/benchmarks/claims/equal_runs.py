"""Equal runs, called different.

Each run states the true log-odds of the same rows with noise of its own, and all are sharpened
alike: no two differ in truth. "A difference" is a comparison in which any two of them, by
whichever reference, are no tie, as Compare, `compare` and reports have it: for two runs the paired
interval, for more the level at which all pairs hold together (max-T). 5 in 100 are aimed at. 15
bins, 1,000 resamples as on the page, noise floors of 250. Rates of accuracy, NLL and Brier score
are of twice as many comparisons (eight runs: of as many), read from matrix products that a test
holds equal to the resamples of the page. Errors of nearly calibrated runs are of twice as many too.
Below the table stand cells above 5 %; the exact interval of each (Clopper-Pearson, 95 %) holds 5 %.
With the normal quantile in place of Student's, 6.4 in 100 comparisons of eight runs by Brier score
(200 rows; 4,000 comparisons, seed 1; now 5.7, 5.0 at least) and 5.7 of two by NLL of 25 patients
(500 rows; 10,000; now 5.2, 4.8 at least) were called different.

Power: of two runs that do differ, by how much in truth stands with the data (on 400,000 rows; of
errors, which are measured with a bias, the mean of 100 sets of as many rows); "told" is a
comparison in which the interval leaves 0 out, from a tenth as many comparisons.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from unittest.mock import patch

import numpy as np

from core.arrays import Float
from core.configs import AuditConfig
from core.defaults import N_RESAMPLES, SEED
from core.metrics.comparison import Compared, ComparedRows, compare_all
from core.metrics.paired import BIASED, NO_FLOOR, PAIRABLE, MetricDraws, ResampledRows, draws
from core.metrics.proper import nll_rows
from core.metrics.suite import audit
from core.metrics.units import resampled_counts, units
from core.predictions import Predictions, SamplingDesign
from tests.benchmarks.claims.comparisons import (
    EQUAL,
    POPULATION,
    RESAMPLES,
    UNEQUAL,
    no_chance,
    ranked,
    stated,
)
from tests.benchmarks.claims.designs import Row, generator, power

MEANS = ("accuracy", "nll", "brier")
ERRORS = tuple(metric for metric in PAIRABLE if metric in BIASED)
OF_MEANS = {2: (200, 500), 3: (200, 500), 8: (200,)}  # runs: rows
OF_EIGHT = ("K 5, nearly calibrated", "K 5, over-confident", "20 films a patient, r 0.3")
MORE = 2  # times the comparisons, for means and where claims are rarest
OF_ERRORS = {"K 5, over-confident": 1, "K 10, saturated": 1, "K 5, nearly calibrated": MORE}
ROWS = 500  # of errors
POWER = {"K 5, calibrated and slight": (500, 2_000), "K 5, slight and strong": (200, 500)}
TRUTHS = 100
LIMITS = (0.0, 0.05)


def any_different(runs: Sequence[Compared], metrics: Sequence[str]) -> dict[str, bool]:
    """Return whether any two of the runs are no tie, whichever is the reference, by metric."""
    names = [str(i) for i in range(len(runs))]
    different = dict.fromkeys(metrics, False)
    for reference in range(len(runs) - 1):
        for by_metric in compare_all(runs, names, reference).differences:
            for metric in set(metrics) & by_metric.keys():
                different[metric] |= not by_metric[metric].tie
    return different


# Means --------------------------------------------------------------------------------------------


@cache
def _counts(design: str, n: int) -> Float:
    """Return how often each row is drawn; it hangs on their number and groups alone, (R, N)."""
    base = EQUAL[design][0](generator(0, 0), n)
    sampling = stated(base, [EQUAL[design][1]], generator(0, 1))[0].sampling
    blocks = resampled_counts(n, N_RESAMPLES, SEED, sampling)
    return np.concatenate([block.copy() for block in blocks])


def mean_draws(design: str, runs: Sequence[Predictions]) -> list[dict[str, MetricDraws]]:
    """Return the draws of accuracy, NLL and Brier score of runs of one design, as the page's."""
    n, sampling = runs[0].n, runs[0].sampling
    rows = np.array([[run.rows.correct, nll_rows(run), run.rows.brier] for run in runs])
    drawn = rows @ _counts(design, n).T / n
    return [
        {
            metric: MetricDraws(
                metric=metric,
                value=float(rows[i, k].mean()),
                centre=float(rows[i, k].mean()),
                draws=drawn[i, k],
                gap=drawn[i, k],  # which means do not read
                floor=NO_FLOOR,
                n=n,
                seed=SEED,
                units=units(n, sampling),
                grouped=sampling.groups is not None,
            )
            for k, metric in enumerate(MEANS)
        }
        for i in range(len(runs))
    ]


def means_different(design: str, n: int, n_runs: int, seed: int, number: int) -> dict[str, bool]:
    """Return whether equal runs are called different by a mean of rows, in one comparison."""
    draw, run = EQUAL[design]
    rng = generator(seed, number, design, n)
    runs = stated(draw(rng, n), [run] * n_runs, rng)
    return any_different(_compared(runs, mean_draws(design, runs)), MEANS)


def _compared(
    runs: Sequence[Predictions], drawn: Sequence[Mapping[str, MetricDraws]]
) -> list[Compared]:
    """Return runs known by their draws alone: no audit is read of them."""
    rows = ComparedRows.of(runs[0])
    return [Compared(rows, None, each) for each in drawn]  # type: ignore[arg-type]


def mean_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often equal runs differ by accuracy, NLL and Brier score."""
    for n_runs, sizes in OF_MEANS.items():
        times = sets if n_runs > 3 else MORE * sets
        for design in OF_EIGHT if n_runs > 3 else EQUAL:
            for n in sizes:
                hits = dict.fromkeys(MEANS, 0)
                for number in range(times):
                    for metric, hit in means_different(design, n, n_runs, seed, number).items():
                        hits[metric] += hit
                for metric in MEANS:
                    yield _row(metric, n_runs, design, n, hits[metric], times)


def _row(metric: str, n_runs: int, design: str, n: int, hits: int, times: int) -> Row:
    claim = f"a difference of {metric}" if n_runs == 2 else f"… of {metric}, {n_runs} runs"
    return Row(claim, design, n, hits / times, times, limits=LIMITS)


# Errors -------------------------------------------------------------------------------------------


@cache
def _kept_counts(n: int, n_resamples: int, seed: int, dtype: type) -> list[Float]:
    return [block.copy() for block in resampled_counts(n, n_resamples, seed, dtype=dtype)]


def errors_compared(run: Predictions) -> Compared:
    """Return a run of independent rows, ready to be compared by its errors."""
    own = audit(run, AuditConfig(metrics=ERRORS, n_resamples=RESAMPLES))
    return Compared(ComparedRows.of(run), own, draws(run, own.main.noise_floor, ERRORS))


SAID = (
    "two runs are ranked by ece",
    "three runs are ranked by ece",
    "in plain words a difference is no chance",
)


def error_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often two equal runs differ by an error, and how often any two of three do."""
    with patch("core.metrics.paired.resampled_counts", _of_every_run):
        for design, more in OF_ERRORS.items():
            times = more * sets
            hits = Counter(
                claim for number in range(times) for claim in _claims_of_three(design, seed, number)
            )
            for count in (2, 3):
                for metric in ERRORS:
                    yield _row(metric, count, design, ROWS, hits[metric, count], times)
            for name in SAID:
                yield Row(name, design, ROWS, hits[name] / times, times, limits=LIMITS)


def _of_every_run(
    n: int, n_resamples: int, seed: int, _: SamplingDesign, *, dtype: type
) -> Iterator[Float]:
    """Yield the counts of resamples, which are the same for every run of so many rows."""
    return iter(_kept_counts(n, n_resamples, seed, dtype))


def _claims_of_three(design: str, seed: int, number: int) -> Iterator[str | tuple[str, int]]:
    """Yield what one comparison of two equal runs, and one of three, wrongly claims."""
    draw, run = EQUAL[design]
    rng = generator(seed, number, design, ROWS)
    base = draw(rng, ROWS)
    runs = [errors_compared(one) for one in stated(base, [run] * 3, rng)]
    for count in (2, 3):
        for metric, hit in any_different(runs[:count], ERRORS).items():
            if hit:
                yield metric, count
    said = ranked(runs[:2], "ece"), ranked(runs, "ece"), no_chance(runs)
    yield from (claim for claim, hit in zip(SAID, said, strict=True) if hit)


# Power --------------------------------------------------------------------------------------------


def told(design: str, n: int, sets: int, seed: int) -> dict[str, int]:
    """Return in how many comparisons two runs that differ are told from one another, by metric."""
    draw, *pair = UNEQUAL[design]
    hits = dict.fromkeys((*MEANS, *ERRORS), 0)
    for number in range(sets):
        rng = generator(seed, number, design, n)
        runs = []
        for one in stated(draw(rng, n), pair, rng):
            own = audit(one, AuditConfig(metrics=ERRORS, n_resamples=RESAMPLES))
            drawn = draws(one, own.main.noise_floor, tuple(hits))
            runs.append(Compared(ComparedRows.of(one), own, drawn))
        for metric, hit in any_different(runs, tuple(hits)).items():
            hits[metric] += hit
    return hits


def power_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often a true difference is told, with its size."""
    for design, sizes in POWER.items():
        for n in sizes:
            true = _truth(design, n, seed)
            for metric, hits in told(design, n, sets, seed).items():
                data = f"{design}: {true[metric]:+.3f}"
                yield power(f"a difference of {metric} is told", data, n, hits / sets, sets)


def _truth(design: str, n: int, seed: int) -> dict[str, float]:
    draw, *pair = UNEQUAL[design]

    def values(size: int, metrics: Sequence[str], number: int) -> dict[str, float]:
        rng = generator(seed, 2**32 + number, design, size)
        first, second = map(ResampledRows, stated(draw(rng, size), pair, rng))
        return {metric: second.value(metric) - first.value(metric) for metric in metrics}

    measured = [values(n, ERRORS, 1 + k) for k in range(TRUTHS)]
    of_errors = {m: float(np.mean([each[m] for each in measured])) for m in ERRORS}
    return values(POPULATION, MEANS, 0) | of_errors


def rows(sets: int, seed: int) -> list[Row]:
    """Return the rates of means, those of errors, then the power.

    Parameters
    ----------
    sets : int
        Comparisons of each design.
    seed : int
        Of them.
    """
    return [*mean_rows(sets, seed), *error_rows(sets, seed), *power_rows(max(20, sets // 10), seed)]
