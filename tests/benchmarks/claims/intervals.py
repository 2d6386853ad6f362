"""Intervals of errors, gap, skill and ranks.

15 bins, 300 resamples. The truth of a calibrated design is 0, that of others the value on
2,000,000 rows (classwise: on as many rows as make 20,000,000 scores, with the true probabilities
in place of outcomes). Errors that do not weigh bins speak of those that hold rows (`mce`, `ace`),
so their truth is taken over these. Ranks: normal scores of 500 rows, 5, 10 or 20 of them positive.
"""

from collections.abc import Callable, Iterator
from statistics import NormalDist

import numpy as np

from core.arrays import Float, sigmoid
from core.metrics import METRICS, estimates, suite
from core.metrics.binning import BinSums, bin_index, equal_width_edges
from core.metrics.estimates import clinical_scores
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Gap, Score
from core.predictions import Outcomes, Predictions, ScoreKind, Task
from tests.benchmarks.claims.designs import (
    CLASSES,
    CONFIDENCES,
    RISKS,
    SIZES,
    Classes,
    Rng,
    Row,
    generator,
    rare,
)

RESAMPLES, BINS, LEVEL, POPULATION = 300, 15, 0.95, 2_000_000
BY_BIN = {key: rule.statistic for key, rule in estimates.BINNED.items() if rule.unweighted}
ERRORS = [key for key in estimates.CLAIM_ERRORS if key not in BY_BIN]
SKILLS = {
    "rare 1 %, calibrated": rare(1.0),
    "rare 1 %, stated twice": rare(2.0),
    "10 %, calibrated": rare(1.0, 0.1),
}
AREAS, POSITIVES, RANKED = (0.6, 0.8, 0.95), (5, 10, 20), 500
CHANCE = (
    "The interval reaches down to the value less the noise floor, which is large beside the true "
    "error: within chance it must hold 0 as well."
)
WIDE = "Newcombe's interval, which needs no order between the few, is wider than it need be here."
EXACT = "The exact lower end, for few positives that lift the value, is wider than it need be here."
BINS_OF_FEW = "Misses lie above: three of the fifteen bins hold nine tenths of the square."
FEW = "Few data sets of this kind have an interval."
Held = dict[str, bool | None]


def top_label(p: Float, y: Float) -> Predictions:
    """Return claims as a file of confidences."""
    ones = np.ones(len(p), dtype=np.int64)
    return Predictions(Task.TOP_LABEL, ScoreKind.CONFIDENCE, p, y.astype(np.int64), predicted=ones)


def holds(found: Score | Gap, true: float) -> bool | None:
    """Return whether an interval holds the truth; None where there is no interval."""
    if found.low is None or found.high is None:
        return None
    return bool(found.low <= true <= found.high)


def collected(
    sets: int, cell: tuple[str, int], held: Callable[[int], Held], note: Callable[[Row], str]
) -> Iterator[Row]:
    """Yield a row for each claim of a design and size from as many data sets."""
    each = [held(i) for i in range(sets)]
    for claim in each[0]:
        inside = [one[claim] for one in each if one[claim] is not None]
        rate = float(np.mean(inside)) if inside else float("nan")
        row = Row(claim, *cell, rate, len(inside))
        yield row._replace(note=note(row) if len(inside) >= sets / 4 else FEW)


def error_rows(sets: int, seed: int) -> list[Row]:
    """Return how often the intervals of calibration errors and of the signed gap hold."""
    out: list[Row] = []
    for design, draw in (CONFIDENCES | RISKS).items():
        p, y, q = draw(generator(seed, 2**32, design), POPULATION)
        ranked = SortedOutcomes.of(Outcomes(p, y))
        true = {m: METRICS[m].function(ranked) for m in ERRORS} | {"gap": ranked.gap}
        if "calibrated" in design:
            true, q = dict.fromkeys(true, 0.0), p
        index = bin_index(p, equal_width_edges(BINS))
        rows = np.bincount(index, minlength=BINS)
        away = np.bincount(index, p - q, BINS) / np.maximum(rows, 1)

        def held(i: int, n: int, draw=draw, design=design, true=true, away=away) -> Held:
            p, y, _ = draw(generator(seed, i, design, n), n)
            ready = suite.prepare(top_label(p, y), None, n_resamples=RESAMPLES, seed=0)
            known = np.bincount(bin_index(p, equal_width_edges(BINS)), minlength=BINS) > 0
            bins = BinSums(np.ones(known.sum(), dtype=int), away[known], np.zeros(known.sum()))
            truths = true | {m: float(way(bins, 1)) for m, way in BY_BIN.items()}
            found = {
                m: holds(estimates.error_of(ready, m, n_bins=BINS, level=LEVEL)[0], truths[m])
                for m in estimates.CLAIM_ERRORS
            }
            return found | {"signed gap": holds(estimates.direction(ready, LEVEL), true["gap"])}

        for n in SIZES:
            out += collected(sets, (design, n), lambda i, n=n, held=held: held(i, n), _chance)
    return out


def _chance(row: Row) -> str:
    if row.rate > 0.98 and row.claim != "signed gap":
        return CHANCE
    few = (row.claim, row.design) == ("ece_debiased", "saturated, T 1.15")
    return BINS_OF_FEW if few and row.rate < 0.92 else ""


def class_rows(sets: int, seed: int) -> list[Row]:
    """Return how often the interval of the classwise ECE holds."""
    out: list[Row] = []
    for design, draw in CLASSES.items():
        k = draw(generator(seed, 0), 1)[0].shape[1]
        true = 0.0 if "calibrated" in design else _classwise(draw, 20_000_000 // k, seed)

        def held(i: int, n: int, draw=draw, design=design, true=true) -> Held:
            p, labels, _ = draw(generator(seed, i, design, n), n)
            rows = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, labels)
            ready = suite.prepare(rows, None, n_resamples=RESAMPLES, seed=0)
            score = estimates.classwise(ready, rows, n_bins=BINS, level=LEVEL)[0]
            return {"classwise_ece": holds(score, true)}

        for n in SIZES:
            many = sets if n * k < 1_000_000 else max(20, sets // 4)
            out += collected(many, (design, n), lambda i, n=n, held=held: held(i, n), _chance)
    return out


def _classwise(draw: Callable[[Rng, int], Classes], n: int, seed: int) -> float:
    """Return the classwise ECE of a design, from the true probabilities."""
    total, step = 0.0, 100_000
    for start in range(0, n, step):
        p, _, q = draw(generator(seed, 2**32, start), min(step, n - start))
        cell = bin_index(p.ravel(), equal_width_edges(BINS)) + BINS * np.tile(
            np.arange(p.shape[1]), len(p)
        )
        total += np.bincount(cell, (p - q).ravel(), BINS * p.shape[1])
    return float(np.abs(total).sum() / (n * p.shape[1]))


def skill_rows(sets: int, seed: int) -> list[Row]:
    """Return how often the interval of the Brier skill holds."""
    out: list[Row] = []
    for design, draw in SKILLS.items():
        p, _, q = draw(generator(seed, 2**32, design), POPULATION)
        squares, share = float((q * (1 - p) ** 2 + (1 - q) * p**2).mean()), float(q.mean())
        true = 1.0 - squares / (share * (1.0 - share))

        def held(i: int, n: int, draw=draw, design=design, true=true) -> Held:
            p, y, _ = draw(generator(seed, i, design, n), n)
            rows = Predictions(Task.BINARY, ScoreKind.SIGMOID, p, y.astype(np.int64))
            ready = suite.prepare(rows, 1, n_resamples=2, seed=0)
            return {"brier_skill": holds(clinical_scores(ready, level=LEVEL)["brier_skill"], true)}

        for n in SIZES:
            out += collected(sets, (design, n), lambda i, n=n, held=held: held(i, n), lambda _: "")
    return out


def rank_rows(sets: int, seed: int) -> list[Row]:
    """Return how often the intervals of AUROC and average precision hold with few positives."""
    out: list[Row] = []
    for area in AREAS:
        apart = float(np.sqrt(2)) * NormalDist().inv_cdf(area)
        for m in POSITIVES:
            true = {"auroc": area, "auprc": _precision(apart, m, seed)}
            name = f"AUROC {area}, {m} positives"

            def held(i: int, m=m, apart=apart, true=true, name=name) -> Held:
                score = generator(seed, i, name).normal(size=RANKED)
                score[:m] += apart
                ranked = SortedOutcomes.of(Outcomes(sigmoid(score), np.arange(RANKED) < m))
                found = estimates.discrimination(ranked, LEVEL, "label")
                return {metric: holds(found[metric], true[metric]) for metric in true}

            out += collected(
                sets, (name, RANKED), held, lambda row: WIDE if row.claim == "auroc" else EXACT
            )
    return out


def _precision(apart: float, positives: int, seed: int) -> float:
    """Return the average precision of the whole population at the given shares."""
    rng = generator(seed, 2**32)
    score = np.append(rng.normal(size=POPULATION) + apart, rng.normal(size=POPULATION))
    positive = (np.argsort(-score) < POPULATION).astype(np.float64)
    hits = positives * np.cumsum(positive)
    precision = hits / (hits + (RANKED - positives) * np.cumsum(1.0 - positive))
    return float((precision * positive).sum() / POPULATION)


def rows(sets: int, seed: int) -> list[Row]:
    """Return the coverage of every interval, in the order of the claims."""
    found = [
        *error_rows(sets, seed),
        *class_rows(sets, seed),
        *skill_rows(sets, seed),
        *rank_rows(sets, seed),
    ]
    order = list(dict.fromkeys(row.claim for row in found))
    return sorted(found, key=lambda row: order.index(row.claim))
