"""Few errors, events, votes and out-of-distribution rows, and other levels.

Few errors: softmax of K normal logits, one of them raised by normal m (spread 2), 2,000 rows, m
such that so many errors are expected; T divides the true logits.
The truth of NLL and Brier score is the mean under the true probabilities of 200,000 rows, that of
AURC the error that they expect at each rank. Levels: ECE of confidences as above, 15 bins.
Saturated: the logits of "saturated" above. Few events: risks as above, or normal scores that
tell events with an AUROC of 0.84. Slope off: logits normal (-2.5, 2.5), true ones 0.5 or 0.7 of
them. Few votes: ten classes, a third of the rows disputed between two or
three, or three classes; the model states the true shares. Few OOD rows: N(d, 1) beside 500 N(0, 1).
300 resamples.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from core.arrays import Bool, Float, sigmoid
from core.configs import AuditConfig
from core.metrics import estimates, suite
from core.metrics.binning import bin_index, equal_width_edges
from core.metrics.clinical.fit import recalibration
from core.metrics.human import human_audit
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import auprc, error_weights
from core.ood.intervals import numbers
from core.ood.separation import Separation
from core.predictions import Outcomes, Predictions, ScoreKind, Task, Votes
from tests.benchmarks.claims.designs import (
    Claims,
    Classes,
    Rng,
    Row,
    generator,
    rare,
    saturated,
    sentence,
    softmax,
    spread,
)
from tests.benchmarks.claims.intervals import BINS, RESAMPLES, holds, top_label
from tests.benchmarks.claims.ood import WIDE, Design, truth

NETS = ((10, 1.0), (10, 1.5), (2, 1.0))  # classes, and how far their logits are too large
N, POPULATION, LOSSES = 2_000, 200_000, ("nll", "brier", "aurc")
UNSEEN = (
    "Room for one more error, for AURC where the model is sure: of one expected error most of the "
    "interval is this."
)
REACHES = "Begins at the value less what chance explains, whatever the true error."
SATURATED = (
    "Misses lie below: of errors of a few bins that noise makes larger resamples show too little."
)
FLOORS = ("tvd", "entropy_gap", "rank")
FIXED = (
    "Nearly the model's own entropy, which hardly varies: what the fit takes off it, a hundredth, "
    "is more than chance."
)
OTHERS = (20, 40, 100)
OPEN = "Below 72 rows nothing bounds the threshold: the interval ends at 1."
EVENTS = "The exact lower end of so few events is wider than it need be."


def raised(k: int, by: float, temperature: float) -> Callable[[Rng, int], Classes]:
    """Softmax of K normal logits, one of them raised by N(by, 2); truth cooled by T."""

    def draw(rng: Rng, n: int) -> Classes:
        logits = rng.normal(size=(n, k))
        logits[np.arange(n), rng.integers(0, k, n)] += by + 2 * rng.normal(size=n)
        p, q = softmax(logits), softmax(logits / temperature)
        labels = (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1)
        return p, labels, q

    return draw


def with_errors(k: int, errors: float, temperature: float) -> Callable[[Rng, int], Classes]:
    """Return `raised` with the mean at which so many of N answers are expected wrong."""
    low, high = 0.0, 60.0
    for _ in range(30):
        middle = (low + high) / 2
        p, _, q = raised(k, middle, temperature)(np.random.default_rng(0), 20_000)
        missing = 1.0 - q[np.arange(len(q)), p.argmax(axis=1)]
        low, high = (middle, high) if missing.mean() * N > errors else (low, middle)
    return raised(k, high, temperature)


def losses(p: Float, q: Float) -> dict[str, float]:
    """Return what NLL, Brier score and AURC of N such rows are on average."""
    best = p.argmax(axis=1)
    at = np.arange(len(p))
    order = np.argsort(-p[at, best])
    wrong = 1.0 - q[at, best][order]
    ranks = error_weights(SortedOutcomes.of(Outcomes(np.arange(N) / N, np.ones(N, bool))))[::-1]
    by_rank = wrong.reshape(N, -1).mean(axis=1)
    return {
        "nll": float(-(q * np.log(p)).sum(axis=1).mean()),
        "brier": float(((p**2).sum(axis=1) - 2 * (q * p).sum(axis=1) + 1).mean()),
        "aurc": float(ranks @ by_rank) / N,
    }


def loss_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the intervals of losses of few errors hold."""
    config = AuditConfig(n_resamples=RESAMPLES, metrics=LOSSES)
    for k, temperature in NETS:
        for errors in (1, 5, 20, 100):
            name = f"{errors} expected error{'' if errors == 1 else 's'}, K {k}, T {temperature:g}"
            draw = with_errors(k, errors, temperature)
            p, _, q = draw(generator(seed, 2**32, name), POPULATION)
            true, held = losses(p, q), dict.fromkeys(LOSSES, 0)
            for number in range(sets):
                p, labels, _ = draw(generator(seed, number, name), N)
                task = Task.BINARY if k == 2 else Task.MULTICLASS
                found = Predictions(task, ScoreKind.PROBABILITIES, p, labels)
                scores = suite._answer_scores(found, config, list(LOSSES))
                for metric in LOSSES:
                    held[metric] += bool(holds(scores[metric], true[metric]))
            for metric, hits in held.items():
                rate = hits / sets
                yield Row(metric, name, N, rate, sets, UNSEEN if rate > 0.98 else "")


def binned_error(p: Float, q: Float) -> float:
    """Return the ECE of a design from its true probabilities."""
    index = bin_index(p, equal_width_edges(BINS))
    return float(np.abs(np.bincount(index, p - q, BINS)).sum() / p.size)


def level_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the interval of ECE holds at other levels, and of saturated scores."""
    plain = {
        "calibrated": spread(1.0),
        "slight (T 1.15)": spread(1.15),
        "strong (T 2)": spread(2.0),
    }
    steep = {f"saturated, T {t:g}": saturated(t) for t in (1.5, 2.0)}
    for name, draw in (plain | steep).items():
        p, _, q = draw(generator(seed, 2**32, name), 10 * POPULATION)
        true = 0.0 if name == "calibrated" else binned_error(p, q)
        levels = (0.95,) if name in steep else (0.5, 0.8)
        for n in (500, 2_000):
            held = dict.fromkeys(levels, 0)
            for number in range(sets):
                p, y, _ = draw(generator(seed, number, name, n), n)
                ready = suite.prepare(top_label(p, y), None, n_resamples=RESAMPLES, seed=0)
                for level in levels:
                    score = estimates.error_of(ready, "ece", n_bins=BINS, level=level)[0]
                    held[level] += bool(holds(score, true))
            for level, hits in held.items():
                rate, near = hits / sets, (level - 0.03, level + 0.03)
                near = near if level < 0.95 else (0.92, 0.98)
                note = REACHES if rate > near[1] and name != "calibrated" else ""
                note = SATURATED if name in steep and rate < near[0] else note
                yield Row(f"ece at level {level:g}", name, n, rate, sets, note, near)


def told(rng: Rng, n: int, share: float) -> Claims:
    """Return normal scores that tell events, of that share, with an AUROC of 0.84."""
    y = rng.random(n) < share
    return sigmoid(rng.normal(size=n) + 1.4 * y - 3.0), y, np.full(n, share)


def precision_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the interval of average precision holds where events are few."""
    designs = {
        "rare risks, 5 events expected": (rare(1.0, 0.01), 500),
        "AUROC 0.84, 5 events expected": (partial(told, share=0.01), 500),
        "AUROC 0.84, 20 events expected": (partial(told, share=0.01), 2_000),
    }
    for name, (draw, n) in designs.items():
        p, y, _ = draw(generator(seed, 2**32, name), 10 * POPULATION)
        true, held = auprc(SortedOutcomes.of(Outcomes(p, y))), []
        for number in range(sets):
            p, y, _ = draw(generator(seed, number, name), n)
            score = estimates.discrimination(SortedOutcomes.of(Outcomes(p, y)), 0.95, "label")[
                "auprc"
            ]
            held.append(holds(score, true))
        inside = [one for one in held if one is not None]
        rate = float(np.mean(inside))
        yield Row("auprc", name, n, rate, len(inside), EVENTS if rate > 0.98 else "")


def line_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the interval of calibration in the large holds where the slope is off."""
    for slope in (0.5, 0.7):
        name = f"slope {slope:g}"
        x = generator(seed, 2**32, name).normal(-2.5, 2.5, POPULATION)
        q, true = sigmoid(slope * x), 0.0
        for _ in range(20):
            share = sigmoid(x + true)
            true += float((q - share).sum() / (share * (1.0 - share)).sum())
        for n in (200, 500, 2_000):
            held = 0
            for number in range(sets):
                rng = generator(seed, number, name, n)
                at = rng.integers(0, x.size, n)
                events: Bool = rng.random(n) < q[at]
                score = recalibration(sigmoid(x[at]), events).in_the_large
                held += bool(holds(score, true))
            yield Row("citl", name, n, held / sets, sets)


def disputed(rng: Rng, n: int) -> Float:
    """Return logarithms of shares of ten classes, of which a third of the rows is disputed."""
    at, shares, apart = np.arange(n), np.full((n, 10), 1e-4), rng.random(n) < 1 / 3
    top = rng.integers(0, 10, n)
    second = (top + rng.integers(1, 10, n)) % 10
    third = (second + rng.integers(1, 9, n)) % 10
    doubt = np.where(apart, 0.9 * rng.beta(1, 2, n), rng.beta(0.3, 30, n))
    more = np.where(apart, 0.3 * rng.beta(1, 8, n), 0.0)
    for place, share in ((third, doubt * more), (second, doubt * (1 - more)), (top, 1 - doubt)):
        shares[at, place] += share
    return np.log(shares / shares.sum(axis=1, keepdims=True))


def vote_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often a model that knows the true shares is beyond its bound."""
    designs = {
        "knows, mostly unanimous, K 10": disputed,
        "knows, K 3": lambda rng, n: 1.5 * rng.normal(size=(n, 3)),
    }
    for name, draw in designs.items():
        for people in (2, 3, 5):
            cell = f"{name}, {people} votes"
            for n in (500, 2_000):
                many, beyond = sets // 2 if n == 500 else sets // 8, dict.fromkeys(FLOORS, 0)
                for number in range(many):
                    rng = generator(seed, number, cell, n)
                    logits = draw(rng, n)
                    counts = rng.multinomial(people, softmax(logits)).astype(np.float64)
                    kinds = Task.MULTICLASS, ScoreKind.LOGITS
                    votes = Votes.of("votes", counts)
                    found = Predictions(*kinds, logits, counts.argmax(axis=1), votes=votes)
                    scores = human_audit(found, AuditConfig(n_resamples=20)).scores
                    for key in FLOORS:
                        value, bound = scores[key].value, scores[key].bound
                        assert value is not None
                        assert bound is not None
                        beyond[key] += value < bound if key == "rank" else value > bound
                for key, hits in beyond.items():
                    note = FIXED if key == "entropy_gap" else ""
                    yield sentence(f"{key} beyond its bound", cell, n, hits / many, many, note)


def other_rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield how often the intervals of few out-of-distribution rows hold."""
    for few in OTHERS:
        for distance in (0.4, 1.2, 2.5):
            name = f"{few} OOD rows, d {distance:g}"
            true = truth(Design(distance))
            held = dict.fromkeys(("fpr95", "fpr95_in", "detection_error"), 0)
            for number in range(sets):
                rng = generator(seed, number, name)
                inside, outside = rng.normal(size=500), distance + rng.normal(size=few)
                found = numbers(Separation.of(inside, outside), n_resamples=RESAMPLES)
                for key in held:
                    held[key] += bool(holds(found[key], true[key]))
            for key, hits in held.items():
                rate = hits / sets
                note = OPEN if rate > 0.98 and key == "fpr95" and few < 72 else ""
                note = note or (WIDE if rate > 0.98 else "")
                yield Row(key, name, 500 + few, rate, sets, note)


def rows(sets: int, seed: int) -> Iterator[Row]:
    """Yield the coverage of every interval."""
    yield from loss_rows(sets, seed)
    yield from level_rows(sets, seed)
    yield from precision_rows(sets, seed)
    yield from line_rows(sets, seed)
    yield from vote_rows(sets, seed)
    yield from other_rows(sets, seed)
