"""Rows that belong together.

Films of patients: the films of one share a risk and, by the intra-group correlation r, their
outcomes; each outcome still comes true as often as is stated (calibrated), or as often as the
stated risk cooled by T = 1.15. 15 bins, 300 resamples of patients. The truth of a calibrated
design is 0 (1 for the slope), that of others the value on 2,000,000 rows; AUROC: of the same rows.
"Alone" takes every film for a patient of its own: what the groups are for. Last, films of patients
of their own that count by weight. Log-normal weights, of which the standard deviation of the
logarithm is given: at 1 films are worth about 37 in 100 of as many equal ones, at 2 about 2 in
100. And weights that tell of outcomes what claims do not: all events and a tenth of the others,
which weigh 10; 2 in 100 films that weigh 20 and carry three times the stated risk, or have too
extreme claims. "Copies": every row of a file without names of rows stands twice or five times, and
belongs together by its scores and label alone; risks are those of films, or saturated (normal
logits of spread 7). Rounded risks that stand once must not.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from core.arrays import Bool, Float, Int, sigmoid
from core.defaults import FALSE_ALARMS, LEVEL
from core.metrics import estimates, suite
from core.metrics.clinical.fit import recalibrated
from core.metrics.estimates import PreparedTarget
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc
from core.metrics.top_label import ece
from core.predictions import Groups, Outcomes, Predictions, ScoreKind, Task, Weights
from core.repeats import sets_of_copies
from tests.benchmarks.claims.designs import COVERAGE, SIZES, Row, generator, power, sentence

RESAMPLES, BINS, POPULATION = 300, 15, 2_000_000
FILMS, ALIKE, TEMPERATURES = (2, 20), (0.0, 0.1, 0.3), (1.0, 1.15)
RULED = "weights of spread 2, T 1"  # a few rows hold most of the weight
BY_OUTCOME, BY_RISK = "weights by outcome, T 1", "weights by risk, T 1"
BY_CLAIM = "weights by claim, T 1"
Weigh = Callable[[np.random.Generator, int], tuple[Float, Bool, Float]]
HEAVY = "Few rows hold most of the weight: intervals are rough, as the notice FEW_WEIGH says."
AT_RISK = "Four to 40 films, some of them without an event, hold three tenths of the weight."
DEFLATED = "Newcombe's part counts events by Kish's number of rows, too few where they weigh least."
FEW = "Ten or 25 patients: intervals of so few groups are rough, as the notice FEW_GROUPS says."
WITHIN = "The interval reaches down by the noise floor, so within chance it must hold 0 as well."
Films = tuple[Float, Bool, Int]


def films(rng: np.random.Generator, n: int, each: int, alike: float, temperature: float) -> Films:
    """Return stated risks, outcomes and patients of n films, `each` of them a patient."""
    patient = np.arange(n) // each
    logit = rng.normal(-1.0, 1.2, patient[-1] + 1)[patient] + rng.normal(0.0, 0.6, n)
    shared, own = rng.random(patient[-1] + 1)[patient], rng.random(n)
    drawn = np.where(rng.random(n) < np.sqrt(alike), shared, own)
    return sigmoid(logit), drawn < sigmoid(logit / temperature), patient


def prepared(p: Float, y: Bool, patient: Int | None, weight: Float | None = None) -> PreparedTarget:
    """Return the risks sorted and resampled, by patient and weight where these are given."""
    groups = None if patient is None else Groups("patient", patient)
    weights = None if weight is None else Weights.of("weight", weight)
    kinds = Task.BINARY, ScoreKind.PROBABILITIES
    file = Predictions(*kinds, p, y.astype(np.int64), groups=groups, weights=weights)
    return suite.prepare(file, 1, n_resamples=RESAMPLES, seed=0)


def intervals(ready: PreparedTarget) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield the intervals that are looked at."""
    gap = estimates.direction(ready, LEVEL)
    yield "signed gap", gap.low, gap.high
    score, _ = estimates.error_of(ready, "ece", n_bins=BINS, level=LEVEL)
    yield "ece", score.low, score.high
    fit = recalibrated(ready.ranked)
    yield "slope", fit.slope.low, fit.slope.high
    area = estimates.discrimination(ready.ranked, LEVEL, "positive_class")["auroc"]
    yield "auroc", area.low, area.high


@cache
def truths(each: int, temperature: float, seed: int) -> dict[str, float]:
    """Return the true values."""
    rng = generator(seed, 0, "truth", each, temperature)
    p, y, _ = films(rng, POPULATION, each, 0.0, temperature)
    ranked = SortedOutcomes.of(Outcomes(p, y))
    calibrated = temperature == 1.0
    return {
        "signed gap": 0.0 if calibrated else ranked.gap,
        "ece": 0.0 if calibrated else ece(ranked),
        "slope": 1.0 / temperature,
        "auroc": auroc(ranked),
    }


def false_alarm(ready: PreparedTarget) -> bool:
    """Whether the verdict calls a calibrated set off."""
    cuts = estimates.BINNED["ece"].cuts(ready.ranked, BINS)
    return ready.null.test(cuts).p_value <= FALSE_ALARMS


def rows(sets: int, seed: int) -> list[Row]:
    """Return how often intervals hold the truth, and how often calibrated sets are called off."""
    out: list[Row] = []
    for design in COPIED:
        out += _copied(design, sets, seed)
    for n in SIZES:
        for each in FILMS:
            for alike in ALIKE:
                for temperature in TEMPERATURES:
                    out += _cell(n, (each, alike, temperature), sets, seed)
        for design in WEIGHED:
            out += _weighed(n, design, sets, seed)
    return out


def log_normal(spread: float) -> Weigh:
    """Return calibrated films with weights that tell nothing of them."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Float, Bool, Float]:
        p, y, _ = films(rng, n, 1, 0.0, 1.0)
        return p, y, rng.lognormal(0.0, spread, n)

    return draw


def by_outcome(rng: np.random.Generator, n: int) -> tuple[Float, Bool, Float]:
    """Return all events of rare ones and a tenth of the others, n films that weigh 1 and 10."""
    p = sigmoid(rng.normal(-3.5, 1.0, 12 * n))
    y = rng.random(p.size) < p
    kept = np.flatnonzero(y | (rng.random(p.size) < 0.1))[:n]
    return p[kept], y[kept], np.where(y[kept], 1.0, 10.0)


def by_risk(rng: np.random.Generator, n: int) -> tuple[Float, Bool, Float]:
    """Return films of which few weigh much and carry three times the risk that is stated."""
    p, heavy = 0.25 * rng.beta(2.0, 4.0, n), rng.random(n) < 0.02
    share = 0.02 * 20.0 / (0.02 * 20.0 + 0.98)
    return (
        p,
        rng.random(n) < p * np.where(heavy, 3.0, (1.0 - 3.0 * share) / (1.0 - share)),
        (np.where(heavy, 20.0, 1.0)),
    )


def by_claim(rng: np.random.Generator, n: int) -> tuple[Float, Bool, Float]:
    """Return films of which few weigh much and have too extreme claims, others too timid ones."""
    p, heavy = sigmoid(rng.normal(0.0, 2.0, n)), rng.random(n) < 0.02
    share = 0.02 * 20.0 / (0.02 * 20.0 + 0.98)
    off = np.minimum(np.minimum(p, 1.0 - p) * 0.9 * (1.0 - share) / share, np.abs(p - 0.5))
    high = p + np.where(p < 0.5, off, -off)
    low = (p - share * high) / (1.0 - share)
    return p, rng.random(n) < np.where(heavy, high, low), np.where(heavy, 20.0, 1.0)


WEIGHED: dict[str, Weigh] = {
    "weights of spread 1, T 1": log_normal(1.0),
    RULED: log_normal(2.0),
    BY_OUTCOME: by_outcome,
    BY_RISK: by_risk,
    BY_CLAIM: by_claim,
}


def _with_weights(design: str, rng: np.random.Generator, n: int) -> tuple[Float, Bool, None, Float]:
    p, y, weights = WEIGHED[design](rng, n)
    return p, y, None, weights


@cache
def weighed_truth(name: str, design: str, seed: int) -> float:
    """Return the true value of a calibrated design; of AUROC that of many rows."""
    if name != "auroc":
        return {"signed gap": 0.0, "ece": 0.0, "slope": 1.0}[name]
    ready = _with_weights(design, generator(seed, 0, "truth", design), POPULATION // 4)
    return auroc(SortedOutcomes.of(Outcomes(ready[0], ready[1], None, ready[3])))


def _weighed(n: int, design: str, sets: int, seed: int) -> Iterator[Row]:
    held: dict[str, list[bool]] = {}
    alarms = []
    for number in range(sets):
        ready = prepared(*_with_weights(design, generator(seed, number, n, design), n))
        for name, low, high in intervals(ready):
            if low is not None and high is not None:
                true = weighed_truth(name, design, seed)
                held.setdefault(name, []).append(low <= true <= high)
        alarms.append(false_alarm(ready))
    for name, kept in held.items():
        rate = float(np.mean(kept))
        yield Row(f"interval of {name}", design, n, rate, len(kept), _reason(design, n, name))
    rate, reason = float(np.mean(alarms)), _reason(design, n, "")
    yield sentence("verdict of a calibrated set", design, n, rate, len(alarms), reason)


COPIED: dict[str, tuple[int, float, int]] = {  # copies, spread of the logits, digits
    "1,000 risks, two copies, T 1": (2, 1.3, 17),
    "400 risks, five copies, T 1": (5, 1.3, 17),
    "400 rounded risks, five copies, T 1": (5, 1.3, 2),
    "400 saturated risks, five copies, T 1": (5, 7.0, 17),
    "rounded risks, no copies, T 1": (1, 1.3, 2),
}
ROWS_COPIED = 2_000


def copied(design: str, rng: np.random.Generator) -> tuple[Float, Bool, Int | None]:
    """Return calibrated risks, outcomes and the sets of copies that reading finds."""
    times, wide, digits = COPIED[design]
    n = ROWS_COPIED // times
    p = sigmoid(rng.normal(-1.0, wide, n)).round(digits)
    y, of_row = rng.random(n) < p, rng.permutation(np.repeat(np.arange(n), times))
    p, y = p[of_row], y[of_row]
    sure = np.maximum(p, 1.0 - p), (p > 0.5) == y
    return p, y, sets_of_copies(p, y.astype(np.int64), lambda: sure, logits=False)


def _copied(design: str, sets: int, seed: int) -> Iterator[Row]:
    n, held, alarms = ROWS_COPIED, dict[str, list[bool]](), list[bool]()
    for number in range(sets):
        ready = prepared(*copied(design, generator(seed, number, design)))
        for name, low, high in intervals(ready):
            if name != "auroc" and low is not None and high is not None:
                held.setdefault(name, []).append(low <= float(name == "slope") <= high)
        alarms.append(false_alarm(ready))
    for name, kept in held.items():
        yield Row(f"interval of {name}", design, n, float(np.mean(kept)), len(kept))
    claim = "verdict of a calibrated set"
    yield sentence(claim, design, n, float(np.mean(alarms)), len(alarms))


def _reason(design: str, n: int, name: str) -> str:
    """Return why a cell of weighted films may lie outside its limits."""
    if design == BY_OUTCOME and name == "auroc":
        return DEFLATED
    if design in {BY_RISK, BY_CLAIM} and n <= 2_000:
        return AT_RISK
    return HEAVY if design == RULED and name else ""


def _cell(n: int, how: tuple[int, float, float], sets: int, seed: int) -> Iterator[Row]:
    each, alike, temperature = how
    true = truths(each, temperature, seed)
    held: dict[str, list[bool]] = {}
    alarms: dict[str, list[bool]] = {"": [], ", films alone": []}
    for number in range(sets):
        drawn = films(generator(seed, number, n, *how), n, *how)
        ready = prepared(*drawn)
        for name, low, high in intervals(ready):
            if low is not None and high is not None:
                held.setdefault(name, []).append(low <= true[name] <= high)
        if temperature == 1.0:
            alarms[""].append(false_alarm(ready))
            alarms[", films alone"].append(false_alarm(prepared(*drawn[:2], None)))
    design = f"{each} films a patient, r {alike:g}, T {temperature:g}"
    few = FEW if n // each < 30 else ""
    for name, found in held.items():
        rate = float(np.mean(found))
        note = few or (WITHIN if name == "ece" and rate > COVERAGE[1] else "")
        yield Row(f"interval of {name}", design, n, rate, len(found), note)
    for kind, found in alarms.items():
        if found:
            claim, rate = f"verdict of a calibrated set{kind}", float(np.mean(found))
            make = power if kind else sentence
            yield make(claim, design, n, rate, len(found), "" if kind else few)
