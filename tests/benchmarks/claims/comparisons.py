"""Differences between runs.

Each run states the true log-odds of the same rows with noise of its own, sharpened by a factor.
The truth is the difference on 400,000 rows, and of errors, which are measured with a bias, the mean
difference over 400 sets of as many rows (100 from 10,000 on). "The wrong run" is a first line of
Compare that puts the worse of two first. 15 bins. 250 resamples, of which percentiles let 5.7 %
through where 5 % are meant; the page's 1,000 let 5.2 %.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from core.arrays import Float, Int, sigmoid
from core.configs import AuditConfig
from core.metrics.comparison import Compared, ComparedRows, compare_all
from core.metrics.paired import BIASED, ResampledRows, draws
from core.metrics.suite import audit
from core.predictions import Groups, Predictions, ScoreKind, Task
from core.screens.kit.differences import plain_sentence, sentence
from tests.benchmarks.claims import groups
from tests.benchmarks.claims.designs import COVERAGE, SIZES, Rng, Row, generator, power, softmax
from tests.benchmarks.claims.designs import sentence as claim

METRICS_TRIED = ("ece", "ece_em", "smece", "accuracy", "nll", "brier")
ERRORS = tuple(metric for metric in METRICS_TRIED if metric in BIASED)
MEANS = tuple(metric for metric in METRICS_TRIED if metric not in BIASED)
RESAMPLES, POPULATION, TRUTHS = 250, 400_000, 400
MANY_ROWS = 10_000  # from here on a quarter of the sets
JOINED = "The interval reaches 0 wherever biases alone may explain the difference: wide."
FEW = "Two to five events decide: the sets that drew none of the costly ones do not see the spread."
RANKED = re.compile("is worse (than|by)| has the (smaller|higher)")
ALL_TIED = "They are tied: the difference"
Base = tuple[Float, Int, Groups | None]  # log-odds or logits, labels, patients
Run = tuple[float, float]  # sharpness, noise


def many(k: int, spread: float) -> Callable[[Rng, int], Base]:
    """Return logits of K classes, and labels that come as their softmax says."""

    def draw(rng: Rng, n: int) -> Base:
        logits = spread * rng.normal(size=(n, k))
        labels = (softmax(logits).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
        return logits, labels.clip(0, k - 1), None

    return draw


def rare(rng: Rng, n: int) -> Base:
    """Return log-odds of risks of 1 % on average, and the events."""
    q = np.clip(rng.beta(1.0, 99.0, n), 1e-9, 1.0)
    return np.log(q) - np.log1p(-q), (rng.random(n) < q).astype(np.int64), None


def films(each: int) -> Callable[[Rng, int], Base]:
    """Return log-odds of films of patients, whose outcomes have an intra-group correlation."""

    def draw(rng: Rng, n: int) -> Base:
        p, y, patient = groups.films(rng, n, each, 0.3, 1.0)
        return np.log(p) - np.log1p(-p), y.astype(np.int64), Groups("patient", patient)

    return draw


EQUAL: dict[str, tuple[Callable[[Rng, int], Base], Run]] = {
    "K 5, nearly calibrated": (many(5, 2.0), (0.87, 0.5)),
    "K 5, over-confident": (many(5, 2.0), (1.5, 0.5)),
    "K 10, over-confident": (many(10, 2.0), (1.2, 0.5)),
    "K 10, saturated": (many(10, 30.0), (1.0, 3.0)),
    "rare 1 %": (rare, (1.0, 0.5)),
    "2 films a patient, r 0.3": (films(2), (1.2, 0.5)),
    "20 films a patient, r 0.3": (films(20), (1.2, 0.5)),
}
UNEQUAL: dict[str, tuple[Callable[[Rng, int], Base], Run, Run]] = {
    "K 5, calibrated and slight": (many(5, 2.0), (1.0, 0.0), (1.1, 0.5)),
    "K 5, slight and strong": (many(5, 2.0), (1.15, 0.0), (1.8, 0.5)),
    "K 5, calibrated and under": (many(5, 2.0), (1.0, 0.0), (0.6, 0.0)),
    "K 10, saturated, calibrated and slight": (many(10, 30.0), (1.0, 0.0), (1.15, 3.0)),
    "rare 1 %, calibrated and extreme": (rare, (1.0, 0.0), (0.7, 0.5)),
    "20 films a patient, calibrated and strong": (films(20), (1.0, 0.0), (1.8, 0.5)),
}


def stated(base: Base, runs: Sequence[Run], rng: Rng) -> list[Predictions]:
    """Return what runs say of the same rows."""
    scores, labels, patients = base
    binary = scores.ndim == 1
    predictions = []
    for sharpness, noise in runs:
        noisy = sharpness * (scores + noise * rng.normal(size=scores.shape))
        shown = sigmoid(noisy) if binary else noisy
        kinds = (Task.BINARY, ScoreKind.SIGMOID) if binary else (Task.MULTICLASS, ScoreKind.LOGITS)
        predictions.append(Predictions(*kinds, shown, labels, groups=patients))
    return predictions


def compared(
    run: Predictions, metrics: Sequence[str] = METRICS_TRIED, n_resamples: int = RESAMPLES
) -> Compared:
    """Return what a comparison needs of a run, by default from fewer resamples than the page's."""
    chosen = tuple(metrics)
    own = audit(run, AuditConfig(metrics=chosen, n_resamples=n_resamples))
    paired = draws(run, own.main.noise_floor, chosen, n_resamples=n_resamples)
    return Compared(ComparedRows.of(run), own, paired)


def ranked(runs: Sequence[Compared], metric: str) -> bool:
    """Whether the first line of Compare ranks these runs, the last one the reference."""
    names = "ABC"[: len(runs)]
    headline = sentence(names, compare_all(runs, names, len(runs) - 1), metric)
    return bool(RANKED.search(headline.text))


def no_chance(runs: Sequence[Compared]) -> bool:
    """Whether the line in plain words says that a difference could not be chance."""
    names = "ABC"[: len(runs)]
    errors = [run.audit.main.metrics["ece"].value for run in runs]
    words = plain_sentence(names, errors, compare_all(runs, names, len(runs) - 1))
    return not words.second.startswith(ALL_TIED)


@cache
def truth(design: str, n: int, seed: int) -> dict[str, float]:
    """Return the true differences of a design: of errors, those that n rows measure on average."""
    measured = [
        _values(design, n, ERRORS, generator(seed, 2**32 + k, design, n))
        for k in range(TRUTHS if n < MANY_ROWS else TRUTHS // 4)
    ]
    means = _values(design, POPULATION, MEANS, generator(seed, 2**32, design))
    return means | {m: float(np.mean([one[m] for one in measured])) for m in ERRORS}


def _values(design: str, n: int, metrics: Sequence[str], rng: Rng) -> dict[str, float]:
    """Return the differences that n rows of a design show."""
    draw, *pair = UNEQUAL[design]
    first, second = (
        {metric: part.value(metric) for metric in metrics}
        for part in map(ResampledRows, stated(draw(rng, n), pair, rng))
    )
    return {metric: first[metric] - second[metric] for metric in metrics}


def unequal_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the interval of a true difference holds it, and who is said to be ahead."""
    for design, (draw, *pair) in UNEQUAL.items():
        for n in SIZES:
            true = truth(design, n, seed)
            times = sets if n < MANY_ROWS else max(20, sets // 4)
            held = dict.fromkeys(METRICS_TRIED, 0)
            wrong, named = 0, 0
            for number in range(times):
                rng = generator(seed, number, design, n)
                runs = [compared(one) for one in stated(draw(rng, n), pair, rng)]
                comparison = compare_all(runs, "AB", 1)
                for metric, one in comparison.differences[0].items():
                    held[metric] += one.low <= true[metric] <= one.high
                first = sentence("AB", comparison, "ece").text
                right = first.startswith("“A” has" if true["ece"] < 0 else "“B” has")
                named += right
                wrong += ranked(runs, "ece") and not right
            for metric in METRICS_TRIED:
                rate = held[metric] / times
                note = JOINED if metric in BIASED and rate > COVERAGE[1] else ""
                note = FEW if design.startswith("rare") and n <= 500 else note
                yield Row(f"interval of a difference of {metric}", design, n, rate, times, note)
            yield claim("the wrong run by ece", design, n, wrong / times, times)
            yield power("the right run by ece", design, n, named / times, times)


def rows(sets: int, seed: int) -> list[Row]:
    """Return how often intervals hold a true difference, and how often it is told.

    Parameters
    ----------
    sets : int
        Data sets of each design; a quarter at 10,000 rows.
    seed : int
        Of them.
    """
    return list(unequal_rows(sets, seed))
