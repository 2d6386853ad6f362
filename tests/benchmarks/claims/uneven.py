"""Groups of uneven size, and few events in groups.

Films of patients as under "Rows that belong together", but the patients have uneven numbers of
films: three of 284 have seven in sixteen of all; numbers are log-normal, the largest 237; one of
161 has a fifth. "Worth" is the median of the independent rows that are said over their true number,
by the variance of the gap over the sets. Then scores that saturate, of two or five films a patient
(normal logits of spread 7.3), and labels of 1 % and 5 % whose events clump in patients. 15 bins,
300 resamples. The truth of a calibrated design is 0 (1 for the slope), that of others the value on
2,000,000 rows. "Difference" is that of two runs on the same rows, 1,000 resamples: one calibrated,
the other sharpened by 1.8 with noise; its truth is that on 1,000,000 rows.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from core.arrays import Float, Int, sigmoid
from core.defaults import LEVEL, N_RESAMPLES, SEED
from core.metrics.estimates import PreparedTarget
from core.metrics.notices import summary_of
from core.metrics.paired import NO_FLOOR, MetricDraws, difference
from core.metrics.proper import nll_rows
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc
from core.metrics.top_label import ece
from core.metrics.units import resampled_counts, units
from core.predictions import Groups, Outcomes, SamplingDesign
from tests.benchmarks.claims.comparisons import stated
from tests.benchmarks.claims.designs import COVERAGE, Row, generator, sentence
from tests.benchmarks.claims.groups import (
    POPULATION,
    WITHIN,
    Films,
    false_alarm,
    intervals,
    prepared,
)

RULED = (
    "A few patients rule: they vary like 11 to 37 equal ones, which tell roughly how alike films "
    "are. FEW_GROUPS says so below 30."
)
CLUMPED = "Most sets lack the patients with many events: films look less alike than they are."
FEW = "One or two surprises in many sets: the slope is left out where they are separated."
WIDE = "What so few patients share is not known well, and taken to be more rather than less: wide."
MEANS = ("accuracy", "nll", "brier")
WORTH = "worth that is said over the true one"
Sizes = Callable[[int], Int]


def three_rule(n: int) -> Int:
    """Return films a patient: a quarter, an eighth and a sixteenth of all, and 4 of the others."""
    first = [n // 4, n // 8, n // 16]
    return np.array([*first, *[4] * ((n - sum(first)) // 4)])


def one_rules(n: int) -> Int:
    """Return films a patient: a fifth of all, and 10 of the others."""
    return np.array([n // 5, *[10] * ((n - n // 5) // 10)])


def log_normal(n: int) -> Int:
    """Return films a patient of which the logarithm is normal, mean 1.5 and spread 1.3."""
    rng, sizes = np.random.default_rng(6), list[int]()
    while sum(sizes) < n:
        sizes.append(int(np.ceil(rng.lognormal(1.5, 1.3))))
    return np.array([*sizes[:-1], n - sum(sizes[:-1])])


def even(each: int) -> Sizes:
    """Return patients of as many films each."""
    return lambda n: np.full(n // each, each)


Design = tuple[Sizes, float, tuple[float, float, float], int]  # sizes, r, logits, rows
USUAL = (-1.0, 1.2, 0.6)  # mean logit, spread of patients, spread of their films
DESIGNS: dict[str, Design] = {
    "three patients rule, r 0.3": (three_rule, 0.3, USUAL, 2_000),
    "three patients rule, r 0.1": (three_rule, 0.1, USUAL, 500),
    "log-normal sizes, r 0.2": (log_normal, 0.2, USUAL, 2_000),
    "one patient has a fifth, r 0.2": (one_rules, 0.2, USUAL, 2_000),
    "saturated, 2 films, r 0": (even(2), 0.0, (0.0, 7.0, 2.0), 112),
    "saturated, 2 films, r 0.3": (even(2), 0.3, (0.0, 7.0, 2.0), 112),
    "saturated, 5 films, r 0.3": (even(5), 0.3, (0.0, 7.0, 2.0), 500),
    "a label of 1 %, 4 films, r 0.3": (even(4), 0.3, (-5.1, 0.9, 0.5), 2_000),
    "a label of 1 %, three patients rule, r 0.1": (three_rule, 0.1, (-5.1, 0.9, 0.1), 2_000),
    "a label of 5 %, 20 films, r 0.3": (even(20), 0.3, (-3.2, 0.8, 0.1), 2_000),
}


def films(rng: np.random.Generator, design: Design, n: int, temperature: float) -> Films:
    """Return stated risks, outcomes and patients."""
    sizes, alike, (mean, between, within), _ = design
    of = sizes(n)
    patient = np.repeat(np.arange(of.size), of)
    logit = rng.normal(mean, between, of.size)[patient] + rng.normal(0.0, within, patient.size)
    shared, own = rng.random(of.size)[patient], rng.random(patient.size)
    drawn = np.where(rng.random(patient.size) < np.sqrt(alike), shared, own)
    return sigmoid(logit), drawn < sigmoid(logit / temperature), patient


@cache
def truths(name: str, temperature: float, seed: int) -> dict[str, float]:
    """Return the true values of films of patients of their own."""
    _, _, logits, _ = DESIGNS[name]
    rng = generator(seed, 0, "truth", name, str(temperature))
    p, y, _ = films(rng, (even(1), 0.0, logits, 0), POPULATION, temperature)
    ranked, calibrated = SortedOutcomes.of(Outcomes(p, y)), temperature == 1.0
    return {
        "signed gap": 0.0 if calibrated else ranked.gap,
        "ece": 0.0 if calibrated else ece(ranked),
        "slope": 1.0 / temperature,
        "auroc": auroc(ranked),
    }


def _reason(name: str, claim: str, rate: float) -> str:
    if claim == "ece" and rate > COVERAGE[1]:
        return WITHIN
    if claim and rate > COVERAGE[1]:
        return WIDE
    if "saturated" in name:
        return FEW if claim == "slope" else ""
    return CLUMPED if "a label" in name else RULED


def _cell(name: str, temperature: float, sets: int, seed: int) -> Iterator[Row]:
    design, true = DESIGNS[name], truths(name, temperature, seed)
    n, held, alarms = design[3], dict[str, list[bool]](), list[bool]()
    worth, gaps, squares = list[float](), list[float](), list[float]()
    for number in range(sets):
        rng = generator(seed, number, name, str(temperature))
        ready: PreparedTarget = prepared(*films(rng, design, n, temperature))
        for claim, low, high in intervals(ready):
            if low is not None and high is not None:
                held.setdefault(claim, []).append(low <= true[claim] <= high)
        if temperature == 1.0:
            alarms.append(false_alarm(ready))
        off: Float = ready.ranked.confidence - ready.ranked.correct
        worth.append(summary_of("patient", ready.ranked).effective_n)
        gaps.append(ready.ranked.gap)
        squares.append(float(off.var()))
    shown = f"{name}, T {temperature:g}"
    for claim, found in held.items():
        rate = float(np.mean(found))
        yield Row(f"interval of {claim}", shown, n, rate, len(found), _reason(name, claim, rate))
    if alarms:
        rate, claim = float(np.mean(alarms)), "verdict of a calibrated set"
        yield sentence(claim, shown, n, rate, sets, _reason(name, "", rate))
        ratio = float(np.median(worth) * np.var(gaps) / np.mean(squares))
        yield Row(WORTH, shown, n, ratio, sets, limits=(0.0, 2.0))


def _differences(name: str, sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the paired interval holds a true difference of two runs' means of rows."""
    design, (_, alike, logits, n) = DESIGNS[name], DESIGNS[name]

    def means_of(rng: np.random.Generator, own: Design, n: int) -> tuple[Float, SamplingDesign]:
        """Return accuracy, NLL and Brier score of the rows of both runs, (2, 3, N)."""
        p, y, patient = films(rng, own, n, 1.0)
        base = np.log(p) - np.log1p(-p), y.astype(np.int64), Groups("patient", patient)
        runs = stated(base, ((1.0, 0.0), (1.8, 0.5)), rng)
        of_rows = [[run.rows.correct, nll_rows(run), run.rows.brier] for run in runs]
        return np.array(of_rows, dtype=np.float64), runs[0].sampling

    many, _ = means_of(generator(seed, 2**32, name), (even(1), alike, logits, 0), POPULATION // 2)
    true, held = many[0].mean(axis=1) - many[1].mean(axis=1), np.zeros(len(MEANS))
    sampling = means_of(generator(seed, 0, name), design, n)[1]
    assert sampling.groups is not None
    drawable, size = units(sampling.groups.size, sampling), sampling.groups.size
    blocks = resampled_counts(size, N_RESAMPLES, SEED, sampling)
    counts = np.concatenate([block.copy() for block in blocks])
    for number in range(sets):
        of_rows, _ = means_of(generator(seed, number, name, "difference"), design, n)
        drawn = of_rows @ counts.T / size
        for k, metric in enumerate(MEANS):
            runs = [
                MetricDraws(
                    metric=metric,
                    value=float(of_rows[i, k].mean()),
                    centre=float(of_rows[i, k].mean()),
                    draws=drawn[i, k],
                    gap=drawn[i, k],  # which means do not read
                    floor=NO_FLOOR,
                    n=size,
                    seed=SEED,
                    units=drawable,
                    grouped=True,
                )
                for i in (0, 1)
            ]
            found = difference(runs[0], runs[1], LEVEL)
            assert found.low is not None
            assert found.high is not None
            held[k] += found.low <= true[k] <= found.high
    for metric, rate in zip(MEANS, (held / sets).tolist(), strict=True):
        claim = f"difference of {metric}"
        yield Row(claim, f"{name}, two runs", n, rate, sets, _reason(name, claim, rate))


def rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often intervals hold the truth, and calibrated sets are called off."""
    for name, (*_, logits, _) in DESIGNS.items():
        for temperature in (1.0, 1.15) if logits == USUAL else (1.0,):
            yield from _cell(name, temperature, sets, seed)
        if logits == USUAL:
            yield from _differences(name, sets, seed)
