"""What the benchmarks work on: over-confident logits, and scores of two sets, from a seed."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from core.predictions import Predictions, ScoreKind, Task

SIZES = {"S": (10_000, 10), "M": (10_000, 100), "L": (50_000, 1_000), "XL": (1_000_000, 10)}
BLOCK = 10_000  # rows drawn at a time, so that drawing leaves little memory behind


@dataclass(frozen=True)
class Data:
    """Logits (N, K) float32 and labels (N,), drawn from softmax(logits / 2)."""

    logits: np.ndarray
    labels: np.ndarray

    def predictions(self) -> Predictions:
        return Predictions(Task.MULTICLASS, ScoreKind.LOGITS, self.logits, self.labels)

    def exact(self) -> Self:
        """Return the same in float64."""
        return type(self)(self.logits.astype(np.float64), self.labels)


@dataclass(frozen=True)
class Scores:
    """Scores of in-distribution and out-of-distribution rows, (N,) float64 each."""

    inside: np.ndarray
    outside: np.ndarray

    def exact(self) -> Self:
        return self


def shape_of(size: str) -> tuple[int, int]:
    """Return rows and classes of S, M, L, XL, or of a size written as 20000x10."""
    if size in SIZES:
        return SIZES[size]
    n, k = size.split("x")
    return int(n), int(k)


def make_logits(n: int, k: int, into: np.ndarray | None = None) -> Data:
    """Draw the logits, into an array where one is given."""
    rng = np.random.default_rng(0)
    logits = np.empty((n, k), dtype=np.float32) if into is None else into
    labels = np.empty(n, dtype=np.int64)
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        z = rng.standard_normal((min(BLOCK, n - start), k), dtype=np.float32) * 3
        logits[rows] = z
        # the arg max of z / 2 plus Gumbel noise is a draw from softmax(z / 2)
        labels[rows] = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    return Data(logits, labels)


def make_scores(n: int, _classes: int) -> Scores:
    """Return as many rows of either set; a tenth of the scores repeat."""
    rng = np.random.default_rng(0)
    inside, outside = (rng.normal(size=n) + shift for shift in (0.0, 1.0))
    for side in (inside, outside):
        side[::10] = np.round(side[::10], 1)
    return Scores(inside, outside)
