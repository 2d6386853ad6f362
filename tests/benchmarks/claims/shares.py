"""Shares: of right answers, of events, by bin, class, band and threshold.

Answers of five classes (softmax of normal logits, spread 2; saturated: spread 8), cooled by T, and
risks as under "Rows that belong together": alone, 20 films of a patient, or films that count by
weight. The truth is the value on 1,000,000 rows, of a bin, band or class that of all rows in it.
"A bin", "a band", "a class": how many of all of them hold theirs. "The band of a perfect model"
holds what rows of calibrated models show. Sensitivity and the others are of calls at 30 %; at a
prevalence of 5 % they stand for other rows. Means over labels are those of six, of which three
state a risk cooled by T 1.5. Maps: two films in ten have their strongest place in the
box; shares of a map in it are Beta(2, 5). 300 resamples.
"""

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from core.arrays import Bool, Float
from core.configs import AuditConfig
from core.metrics import clinical, suite
from core.metrics.clinical.decisions import bands, classified
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auroc
from core.metrics.records import BinTable, Score
from core.predictions import Groups, Outcomes, Predictions, ScoreKind, Task, Weights
from core.xray import localisation
from tests.benchmarks.claims import groups
from tests.benchmarks.claims.designs import COVERAGE, Rng, Row, drawn_classes, generator, softmax

SIZES, KNOWN, N_BINS, SURE, CALLED, ELSEWHERE = (200, 1_000, 5_000), 1_000_000, 15, 0.99, 0.3, 0.05
ANSWERS = {"K 5, calibrated": (2.0, 1.0), "K 5, saturated, T 1.5": (8.0, 1.5)}  # spread, T
RISKS = ("films alone", "20 films a patient, r 0.3", "weights of spread 1")
OF_ANSWERS = ("accuracy", "error", "s99_share", "s99_accuracy")
OF_CALLS = ("sensitivity", "specificity", "ppv", "npv")
BANDED = ("K 5, calibrated", *RISKS)
CORNERS = "Spans the corners of two intervals: wide."
BOUNDS = "The mean of the labels' bounds, as if all erred together: wide for labels that do not."
LUMPS = "Few rows or less than one error: such shares, and Wilson's interval, move in steps."
FEW = "Ten patients: intervals of so few groups are rough, as the notice FEW_GROUPS says."
CELL = "Within a bin or band films of one patient are few and alike, and their effect is rough."
Held = dict[str, list[bool]]


def _answers(rng: Rng, n: int, design: str) -> Predictions:
    spread, temperature = ANSWERS[design]
    logits = spread * rng.normal(size=(n, 5))
    labels = drawn_classes(rng, softmax(logits / temperature))
    return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, logits, labels)


def _risks(rng: Rng, n: int, design: str) -> Predictions:
    each = 20 if "patient" in design else 1
    p, y, patient = groups.films(rng, n, each, 0.3 if each > 1 else 0.0, 1.0)
    weights = Weights.of("weight", rng.lognormal(0.0, 1.0, n)) if "weights" in design else None
    of = Groups("patient", patient) if each > 1 else None
    labels = y.astype(np.int64)
    return Predictions(Task.BINARY, ScoreKind.SIGMOID, p, labels, groups=of, weights=weights)


def _by_bin(ranked: SortedOutcomes, edges: Float) -> Float:
    at = np.clip(np.searchsorted(edges, ranked.confidence, side="left"), 1, edges.size - 1) - 1
    rows = np.bincount(at, minlength=edges.size - 1)
    hits = np.bincount(at, ranked.correct, minlength=edges.size - 1)
    return np.asarray(hits / np.maximum(rows, 1))


@cache
def _truth(design: str) -> Mapping[str, Float]:
    """Return true shares: of single numbers, of 15 bins, and of bands."""
    rng = generator(0, 0, "truth", design)
    if design in ANSWERS:
        ranked = SortedOutcomes.of(_answers(rng, KNOWN, design).outcomes(None))
        sure, right = ranked.confidence >= SURE, ranked.correct
        values = right.mean(), 1.0 - right.mean(), sure.mean(), right[sure].mean()
        true = dict(zip(OF_ANSWERS, map(np.asarray, values), strict=True))
        true["a class"] = np.asarray(ranked.confidence.mean() - right.mean())
    else:
        p, y, _ = groups.films(rng, KNOWN, 1, 0.0, 1.0)
        ranked = SortedOutcomes.of(Outcomes(p, y))
        true = {key: np.asarray(value) for key, value in _called(p, y).items()}
        rate = np.asarray(y.mean())
        true |= {"prevalence": rate, "difference": np.zeros(1), "observed_expected": np.ones(1)}
        true["a band"] = np.asarray(bands(p, y).share)
    return true | {"a bin": _by_bin(ranked, np.linspace(0.0, 1.0, N_BINS + 1))}


def _called(p: Float, y: Bool) -> dict[str, float]:
    hit, clear = y[p >= CALLED].mean(), 1.0 - y[p < CALLED].mean()
    found, spared = (p[y] >= CALLED).mean(), (p[~y] < CALLED).mean()
    odds = ELSEWHERE / (1.0 - ELSEWHERE)
    elsewhere = found * odds / (found * odds + 1.0 - spared)
    values = map(float, (found, spared, hit, clear, elsewhere))
    return dict(zip((*OF_CALLS, "ppv at 5 %"), values, strict=True))


def _score(held: Held, name: str, score: Score, true: Float) -> None:
    if score.low is not None and score.high is not None:
        held.setdefault(name, []).append(bool(score.low <= true <= score.high))


def _bins(held: Held, bins: BinTable, true: Mapping[str, Float], *, band: bool) -> None:
    rows = bins.count > 0
    inside = (bins.ci_low <= true["a bin"]) & (true["a bin"] <= bins.ci_high)
    held.setdefault("a bin", []).extend(inside[rows].tolist())
    if band:
        within = (bins.band_low <= bins.accuracy) & (bins.accuracy <= bins.band_high)
        held.setdefault("the band of a perfect model", []).extend(within[rows].tolist())


def _held(held: Held, rows: Predictions, true: Mapping[str, Float], design: str) -> None:
    """Add whether each interval of a file holds its truth."""
    answered = rows.task is Task.MULTICLASS
    config = AuditConfig(metrics=OF_ANSWERS if answered else ("ece",), n_resamples=300)
    audit = suite.audit(rows, config)
    _bins(held, audit.main.bins, true, band=design in BANDED)
    if answered:
        for metric in OF_ANSWERS:
            _score(held, metric, audit.main.metrics[metric], true[metric])
        gaps = [row.gap for row in suite.class_gaps(rows, 0.95) if row.gap is not None]
        own = [bool(gap.low <= true["a class"] <= gap.high) for gap in gaps]
        held.setdefault("a class", []).extend(own)
        return
    outcomes, sampling = rows.outcomes(1), rows.sampling
    p, y = outcomes.confidence, outcomes.correct
    fit = clinical.recalibration(p, y, sampling=sampling)
    _score(held, "difference", fit.difference, true["difference"])
    _score(held, "observed_expected", fit.observed_expected, true["observed_expected"])
    calls = classified(p, y, CALLED, sampling=sampling)
    for metric in OF_CALLS:
        _score(held, metric, getattr(calls, metric), true[metric])
    elsewhere = classified(p, y, CALLED, prevalence=ELSEWHERE, sampling=sampling).ppv
    _score(held, "ppv at 5 %", elsewhere, true["ppv at 5 %"])
    of = bands(p, y, sampling=sampling)
    inside = (of.ci_low <= true["a band"]) & (true["a band"] <= of.ci_high)
    held.setdefault("a band", []).extend(inside[of.count > 0].tolist())


def _note(claim: str, design: str, n: int, rate: float) -> str:
    if claim == "ppv at 5 %":
        return CORNERS if rate > COVERAGE[1] else ""
    if "patient" in design:
        return FEW if n == min(SIZES) else CELL if claim in {"a bin", "a band"} else ""
    return LUMPS if claim in {"a bin", "a band", "a class", "s99_accuracy"} else ""


def label_rows(n: int, sets: int, seed: int) -> Iterator[Row]:
    """Yield how often means over six labels hold the truth."""
    temperature, metrics = np.repeat([1.0, 1.5], 3), ("ece", "auroc")

    def drawn(rng: Rng, n: int) -> tuple[Float, Float]:
        logit = rng.normal(-1.0, 1.3, (n, 6))
        return 1.0 / (1.0 + np.exp(-logit)), rng.random((n, 6)) < 1.0 / (
            1.0 + np.exp(-logit / temperature)
        )

    p, y = drawn(generator(seed, 2**32, "labels"), KNOWN)
    every = [SortedOutcomes.of(Outcomes(p[:, k], y[:, k])) for k in range(6)]
    edges = np.linspace(0.0, 1.0, N_BINS + 1)
    off = [0.0] * 3
    for one in every[3:]:
        at = np.clip(np.searchsorted(edges, one.confidence, side="left"), 1, N_BINS) - 1
        gaps = np.bincount(at, one.confidence - one.correct, minlength=N_BINS)
        off.append(float(np.abs(gaps).sum() / one.n))
    true = {"ece": np.mean(off), "auroc": np.mean([auroc(one) for one in every])}
    held: Held = {}
    for number in range(sets):
        p, y = drawn(generator(seed, number, "labels", n), n)
        rows = Predictions(Task.MULTILABEL, ScoreKind.SIGMOID, p, y.astype(np.int64))
        means = suite.audit(rows, AuditConfig(metrics=metrics, n_resamples=300)).main.metrics
        for metric in metrics:
            _score(held, f"mean over labels of {metric}", means[metric], np.asarray(true[metric]))
    for name, inside in held.items():
        yield Row(name, "six labels", n, float(np.mean(inside)), len(inside), BOUNDS)


def map_rows(n: int, sets: int, seed: int) -> Iterator[Row]:
    """Yield how often means over maps hold the truth."""
    held: Held = {}
    for number in range(sets):
        rng = generator(seed, number, "maps", n)
        hits, shares = localisation.pointed(rng.random(n) < 0.2), rng.beta(2.0, 5.0, n)
        mean = localisation.mean_over_films(shares, 0.95, number)
        for name, of, true in (("hits of maps", hits, 0.2), ("shares of maps", mean, 2.0 / 7.0)):
            held.setdefault(name, []).append(of.low <= true <= of.high)
    for name, inside in held.items():
        yield Row(name, "maps", n, float(np.mean(inside)), sets)


def rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often intervals of shares hold the truth."""
    for n in SIZES:
        for design in (*ANSWERS, *RISKS):
            draw, true, held = _answers if design in ANSWERS else _risks, _truth(design), Held()
            for number in range(sets):
                _held(held, draw(generator(seed, number, design, n), n, design), true, design)
            for claim, inside in held.items():
                rate = float(np.mean(inside))
                note = _note(claim, design, n, rate)
                yield Row(f"share: {claim}", design, n, rate, sets, note)
        yield from label_rows(n, max(20, sets // 4), seed)
        if n < max(SIZES):
            yield from map_rows(n, sets, seed)
