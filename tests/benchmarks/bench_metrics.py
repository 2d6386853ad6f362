"""Metrics side by side with simple numpy and scikit-learn peers, in one run; only ratios count.

Run from the project's folder: python -m tests.benchmarks.bench_metrics [--size S|M|L|XL]
"""

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: peers and we on one thread

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from core.configs import AuditConfig, BinRule
from core.metrics import METRICS, binning, suite, top_label
from core.metrics.intervals import draw
from core.metrics.ranked import Ranked
from core.metrics.selective import risk_coverage
from core.predictions import Outcomes, Predictions, ScoreKind, Task
from core.screens.reliability.view import Subject, reliability_view

SIZES = {"S": (10_000, 10), "M": (10_000, 100), "L": (50_000, 1_000), "XL": (1_000_000, 10)}
SLIDER_TARGET_MS = 150
N_BINS = 15


@dataclass(frozen=True)
class Data:
    """One synthetic, over-confident workload: labels are drawn from softmax(z / 2)."""

    logits: np.ndarray
    labels: np.ndarray

    def predictions(self) -> Predictions:
        return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, self.logits, self.labels)


def make(size: str) -> Data:
    n, k = SIZES[size]
    rng = np.random.default_rng(0)
    logits = np.empty((n, k), dtype=np.float32)
    labels = np.empty(n, dtype=np.int64)
    for start in range(0, n, 10_000):
        rows = slice(start, start + 10_000)
        z = rng.standard_normal((min(10_000, n - start), k), dtype=np.float32) * 3
        logits[rows] = z
        # the arg max of z / 2 plus Gumbel noise is a draw from softmax(z / 2)
        labels[rows] = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    return Data(logits, labels)


def peer_softmax(data: Data) -> np.ndarray:
    p = np.exp(data.logits - data.logits.max(axis=1, keepdims=True)).astype(np.float64)
    return p / p.sum(axis=1, keepdims=True)


def peer_top(data: Data) -> tuple[np.ndarray, np.ndarray]:
    p = peer_softmax(data)
    return p.max(axis=1), p.argmax(axis=1) == data.labels


def peer_ece(confidence: np.ndarray, correct: np.ndarray) -> float:
    """The loop over bins that most scripts hold."""
    edges, total = np.linspace(0, 1, N_BINS + 1), 0.0
    for low, high in pairwise(edges):
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            gap = confidence[inside].mean() - correct[inside].mean()
            total += inside.mean() * abs(gap)
    return total


def peer_equal_mass(confidence: np.ndarray, correct: np.ndarray) -> float:
    order = np.argsort(confidence)
    parts = np.array_split(order, N_BINS)
    return sum(
        len(part) * abs(confidence[part].mean() - correct[part].mean()) for part in parts
    ) / len(order)


def peer_classwise(data: Data) -> float:
    p = peer_softmax(data)
    return float(np.mean([peer_ece(p[:, k], data.labels == k) for k in range(p.shape[1])]))


def peer_proper(data: Data) -> float:
    p = peer_softmax(data)
    kinds = np.arange(p.shape[1])
    scores = log_loss(data.labels, p, labels=kinds) + brier_score_loss(
        data.labels, p, labels=kinds, scale_by_half=False
    )
    return scores + peer_ece(p.max(axis=1), p.argmax(axis=1) == data.labels)


def peer_smece(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Reflected Gaussian on a grid of 2,001 nodes by convolution, ten halvings."""
    grid = np.linspace(0, 1, 2_001)
    nodes = np.bincount(np.rint(confidence * 2_000).astype(int), confidence - correct, 2_001)
    mirrored = np.concatenate([nodes[:0:-1], nodes, nodes[-2::-1]])
    low, high = 0.0, 1.0
    for _ in range(10):
        width = (low + high) / 2
        kernel = np.exp(-0.5 * ((grid - 0.5) / width) ** 2) / (width * np.sqrt(2 * np.pi))
        smoothed = np.convolve(mirrored, kernel, "same")[2_000:4_001]
        value = np.abs(smoothed).mean() / confidence.size
        low, high = (width, high) if width < value else (low, width)
    return value


def peer_bootstrap(confidence: np.ndarray, correct: np.ndarray, rounds: int) -> np.ndarray:
    """Index once, count again for every resample of rows."""
    index = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gap, rng = confidence - correct, np.random.default_rng(0)
    draws = []
    for _ in range(rounds):
        rows = rng.integers(0, gap.size, gap.size)
        draws.append(np.abs(np.bincount(index[rows], gap[rows])).sum() / gap.size)
    return np.array(draws)


def resampled_ece(found: Outcomes) -> np.ndarray:
    """Resample the rows in the cells of one binning."""
    ranked = Ranked.of(found)
    cuts = np.unique(binning.equal_width_cuts(ranked, N_BINS))
    count, hits = draw(ranked, cuts, 1_000, np.random.default_rng(0))
    filled = binning.sums(ranked, cuts)
    mean = filled.confidence / filled.count
    return top_label.weighted_gap(binning.BinSums(count, count * mean, hits), ranked.n)


def unread(rows: Predictions) -> Predictions:
    """Return the same file with its one pass over the scores still to be made."""
    rows.__dict__.pop("rows", None)
    return rows


def best_ms(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def peak_mib(call: Callable[[], object]) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def workloads(data: Data) -> dict[str, tuple[Callable[[], object], Callable[[], object], float]]:
    """Name to (ours, peer, what the peer's time is multiplied by)."""
    ready = data.predictions()
    found = ready.outcomes(None)
    top = (found.confidence, found.correct)
    positive = ready.outcomes(0)
    classes = min(data.logits.shape[1], 100)  # the peer is slow: 100 classes stand for all
    part = Data(data.logits[:, :classes], np.minimum(data.labels, classes - 1))

    def one_pass() -> float:
        rows = unread(ready)
        values = [METRICS[m].function(rows) for m in ("nll", "brier")]
        return sum(values) + top_label.ece(Ranked.of(rows.outcomes(None)))

    return {
        "softmax, confidence, ECE": (
            lambda: top_label.ece(Ranked.of(unread(ready).outcomes(None))),
            lambda: peer_ece(*peer_top(data)),
            1.0,
        ),
        "accuracy, NLL, Brier, ECE": (one_pass, lambda: peer_proper(data), 1.0),
        "Equal-mass ECE": (
            lambda: top_label.ece_em(Ranked.of(found)),
            lambda: peer_equal_mass(*top),
            1.0,
        ),
        "ECE, scikit-learn curve": (
            lambda: top_label.ece(Ranked.of(found)),
            lambda: calibration_curve(top[1], top[0], n_bins=N_BINS),
            1.0,
        ),
        "classwise ECE": (
            lambda: METRICS["classwise_ece"].function(ready),
            lambda: peer_classwise(part),
            data.logits.shape[1] / classes,
        ),
        "smECE": (
            lambda: METRICS["smece"].function(Ranked.of(found)),
            lambda: peer_smece(*top),
            1.0,
        ),
        "AUROC": (
            lambda: METRICS["auroc"].function(Ranked.of(positive)),
            lambda: roc_auc_score(positive.correct, positive.confidence),
            1.0,
        ),
        "1,000 resamples of ECE": (
            lambda: resampled_ece(found),
            lambda: peer_bootstrap(*top, rounds=20),
            50.0,
        ),
        "1,000 resamples for every slider move": (
            lambda: suite.prepare(ready, None, n_resamples=1_000, seed=0),
            lambda: peer_bootstrap(*top, rounds=20),
            50.0,
        ),
    }


def table(size: str, repeats: int) -> list[str]:
    """Measure every workload at a size; return the lines of a table."""
    data = make(size)
    lines = [
        f"| workload, {size} {data.logits.shape} | Candor ms | peer ms | ratio | extra MiB |",
        "|---|---|---|---|---|",
    ]
    for name, (ours, peer, times) in workloads(data).items():
        mine, other = best_ms(ours, repeats), best_ms(peer, max(1, repeats - 2)) * times
        lines.append(
            f"| {name} | {mine:.1f} | {other:.1f} | {other / mine:.1f} | {peak_mib(ours):.0f} |"
        )
    lines.append(
        f"| slider move to the drawn view, slowest of six | {slowest_move(data, repeats):.1f} "
        f"| {SLIDER_TARGET_MS} (target) | | |"
    )
    return lines


def slowest_move(data: Data, repeats: int) -> float:
    """Return the time in ms of the page's view function and its figures after a slider move."""
    predictions = data.predictions()
    ready = suite.prepare(predictions, None, n_resamples=1_000, seed=0)
    audit = suite.audit(predictions, AuditConfig(metrics=("accuracy", "nll", "brier", "aurc")))
    classes = suite.class_gaps(predictions, 0.95)
    subject = Subject("run", "test", "0" * 32, predictions.class_names)

    def move(n_bins: int, rule: BinRule) -> None:
        shown = suite.diagram(ready, n_bins=n_bins, rule=rule, level=0.95)
        curve = risk_coverage(ready.resamples.ranked)
        view = reliability_view(audit, subject, chosen=shown, classes=classes, curve=curve)
        for card in view.figures.values():
            card.figure("light").to_plotly_json()

    return max(
        best_ms(lambda b=bins, r=rule: move(b, r), repeats)
        for bins in (5, 15, 50)
        for rule in BinRule
    )


def main() -> None:
    """Print the table of one size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="S")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    print("\n".join(table(given.size, given.repeats)))


if __name__ == "__main__":
    main()
