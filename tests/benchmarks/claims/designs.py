"""Data that look like the product's subject, with the truth behind them, and the record of a rate.

A design takes (rng, n) and returns stated probabilities p, outcomes y, and the probabilities q
that y was drawn with: p (N,), y (N,) bool, q (N,). Designs of many classes return p (N, K),
labels (N,) and q (N, K).
"""

import zlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from core.arrays import Bool, Float, Int, sigmoid

SIZES = (200, 500, 1_000, 2_000, 10_000)
MANY_SETS = 1_000  # from which on a third digit means something
COVERAGE, SIZE = (0.92, 0.98), (0.0, 0.06)  # what a rate should lie within
LUCK = "As far off as so few data sets may be by chance."
MANY = "Farther off than two standard errors, as some of so many cells are by chance."
Rng = np.random.Generator
Claims = tuple[Float, Bool, Float]
Classes = tuple[Float, Int, Float]


class Row(NamedTuple):
    """How often a claim held.

    Attributes
    ----------
    claim, design : str
        What is claimed, in words, and of which data.
    rows : int
        Rows of a data set.
    rate : float
        Coverage of an interval, or share of data sets in which a sentence was said wrongly.
    sets : int
        Data sets behind the rate; 0 where none had the claim.
    note : str
        The reason of a rate that is not as it should be, or what else must be known.
    limits : (float, float)
        What the rate should lie within.
    """

    claim: str
    design: str
    rows: int
    rate: float
    sets: int
    note: str = ""
    limits: tuple[float, float] = COVERAGE


sentence = partial(Row, limits=SIZE)  # of which the rate is that of being said wrongly
power = partial(Row, limits=(0.0, 1.0))  # shown for what it is


def generator(seed: int, number: int, *names: str | int) -> Rng:
    """Return the random numbers of one data set; other names, other numbers."""
    words = [zlib.crc32(str(name).encode()) for name in names]
    return np.random.default_rng([seed, number, *words])


def _logit(p: Float) -> Float:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))


def spread(temperature: float, wave: float = 0.0) -> Callable[[Rng, int], Claims]:
    """Confidences of 0.5 + Beta(3, 1) / 2; truth cooled by T, with a wave whose errors cancel."""

    def draw(rng: Rng, n: int) -> Claims:
        p = 0.5 + rng.beta(3, 1, n) / 2
        q = sigmoid(_logit(p) / temperature) + 2 * wave * np.sin(4 * np.pi * p) * (1 - p)
        return p, rng.random(n) < q, q

    return draw


def saturated(temperature: float) -> Callable[[Rng, int], Claims]:
    """Logits |N(7.3, 4)|: three quarters of the confidences above .99; truth cooled by T."""

    def draw(rng: Rng, n: int) -> Claims:
        logit = np.abs(rng.normal(7.3, 4.0, n))
        p, q = sigmoid(logit), sigmoid(logit / temperature)
        return p, rng.random(n) < q, q

    return draw


def rare(factor: float, share: float = 0.01) -> Callable[[Rng, int], Claims]:
    """Risks Beta(1, 1 / share - 1), mean `share`, of which `factor` times as much is stated."""

    def draw(rng: Rng, n: int) -> Claims:
        q = rng.beta(1.0, 1.0 / share - 1.0, n)
        return np.minimum(1.0, factor * q), rng.random(n) < q, q

    return draw


def classes(k: int, temperature: float) -> Callable[[Rng, int], Classes]:
    """Softmax of K normal logits (spread 2; 4 from 100 classes on); truth cooled by T."""

    def draw(rng: Rng, n: int) -> Classes:
        logits = (4.0 if k >= 100 else 2.0) * rng.normal(size=(n, k))
        p, q = softmax(logits), softmax(logits / temperature)
        return p, drawn_classes(rng, q), q

    return draw


def classes_off(rng: Rng, n: int) -> Classes:
    """Ten classes, each off by 10 to 14 points; their errors cancel."""
    p = softmax(2.0 * rng.normal(size=(n, 10)))
    answer, sure = p.argmax(axis=1), p.max(axis=1)
    off = np.array([10, -10, 11, -11, 12, -12, 13, -13, 14, -14])[answer] / 100
    q = p * ((1.0 - np.clip(sure - off, 0.02, 0.98)) / (1.0 - sure))[:, None]
    q[np.arange(n), answer] = np.clip(sure - off, 0.02, 0.98)
    return p, drawn_classes(rng, q), q


def wave_within_bins(rng: Rng, n: int) -> Claims:
    """Claims evenly over 0 to 1; within each of 15 bins half are 10 points high, half low."""
    p = rng.uniform(0.0, 1.0, n)
    q = np.clip(p + 0.1 * np.sign(np.sin(2.0 * np.pi * 15.0 * p)), 0.0, 1.0)
    return p, rng.random(n) < q, q


def runner_up(k: int) -> Callable[[Rng, int], Classes]:
    """Calibrated answers; one class, stated at 0.1 %, is true of all of the rest."""

    def draw(rng: Rng, n: int) -> Classes:
        sure, answer = rng.uniform(0.5, 0.99, n), rng.integers(0, k, n)
        second, row = (answer + 1) % k, np.arange(n)
        p = np.repeat(((1.0 - sure - 0.001) / (k - 2))[:, None], k, axis=1)
        p[row, answer], p[row, second] = sure, 0.001
        q = np.zeros((n, k))
        q[row, answer], q[row, second] = sure, 1.0 - sure
        return p, np.where(rng.random(n) < sure, answer, second), q

    return draw


def drawn_classes(rng: Rng, q: Float) -> Int:
    """Return a class of each row, drawn from its probabilities."""
    drawn = (q.cumsum(axis=1) < rng.random((len(q), 1))).sum(axis=1)
    return np.asarray(drawn.clip(0, q.shape[1] - 1))


def softmax(logits: Float) -> Float:
    """Return the softmax over the last axis."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


CONFIDENCES: dict[str, Callable[[Rng, int], Claims]] = {
    "calibrated": spread(1.0),
    "slight (T 1.15)": spread(1.15),
    "strong (T 2)": spread(2.0),
    "mixed (wave)": spread(1.0, 0.1),
    "saturated, calibrated": saturated(1.0),
    "saturated, T 1.15": saturated(1.15),
}
RISKS: dict[str, Callable[[Rng, int], Claims]] = {
    "rare 1 %, calibrated": rare(1.0),
    "rare 1 %, stated twice": rare(2.0),
}
CLASSES: dict[str, Callable[[Rng, int], Classes]] = {
    f"K {k:,}, {name}": classes(k, temperature)
    for k in (2, 10, 1_000)
    for name, temperature in (("calibrated", 1.0), ("T 1.5", 1.5))
}


def table(rows: Iterable[Row]) -> str:
    """Return rates as Markdown: a line a claim and design, a column a number of rows."""
    found = list(rows)
    sizes = sorted({row.rows for row in found})
    lines: dict[tuple[str, str], dict[int, Row]] = {}
    for row in found:
        lines.setdefault((row.claim, row.design), {})[row.rows] = row
    head = " | ".join(f"{n:,} rows" for n in sizes)
    out = [f"| claim | data | {head} |", "|---|---|" + "---|" * len(sizes)]
    for (claim, design), cells in lines.items():
        shown = " | ".join(_cell(cells.get(n)) for n in sizes)
        out.append(f"| {claim} | {design} | {shown} |")
    return "\n".join(out)


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    digits = 3 if row.sets >= MANY_SETS else 2
    return f"{row.rate:.{digits}f}" if row.sets else "none"


def _chance(row: Row, off: float, cells: int) -> str:
    """Return whether chance explains a rate that is `off` its limits, in one cell or in so many."""
    if off <= 2.0 * (0.05 * 0.95 / row.sets) ** 0.5:
        return LUCK
    hits, (low, high) = round(row.rate * row.sets), row.limits
    beyond = row.rate > high
    tail = binom.sf(hits - 1, row.sets, high) if beyond else binom.cdf(hits, row.sets, low)
    return MANY if tail > 0.05 / cells else "Not explained."


def outside(rows: Iterable[Row]) -> str:
    """Return the cells outside their limits as a Markdown list, those of one reason together."""
    reasons: dict[str, dict[str, list[str]]] = {}
    cells_of = list(rows)
    for row in cells_of:
        off = max(row.limits[0] - row.rate, row.rate - row.limits[1])
        if not row.sets or round(off, 3) <= 0:
            continue
        reason = row.note or _chance(row, off, len(cells_of))
        cells = reasons.setdefault(reason, {}).setdefault(f"{row.claim}, {row.design}", [])
        cells.append(f"{_cell(row)} at {row.rows:,} rows ({row.sets} sets)")
    lines = []
    for reason, places in reasons.items():
        lines.append(f"- {reason}")
        lines += [f"  - {place}: {', '.join(cells)}" for place, cells in places.items()]
    return "\n".join(lines) or "- none"
