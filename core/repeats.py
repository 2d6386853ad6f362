"""Rows that are the same bit for bit."""

import numpy as np

from core.arrays import Int, Keys, Scores, row_chunks

FEWEST, SHARE = 10, 0.01  # rows that repeat another, and of all rows, from which it is said
MOST_COPIES = 20  # of a row on average: with more, answers are few rather than rows copied
CERTAIN = 1e-3  # from 0 and 1
COARSE = 1e-4  # step of rounded scores below which no whole row repeats by chance
DENSE = 0.25  # of the distinct answers lie next to each other: many meet by chance
NEARER = 5  # times as many must repeat as lie next to each other
MANY = 2**20  # rows from which a few of them are looked at first
LOOKED_AT = 4096  # rows that tell how scores are rounded
NARROW = (np.float16, np.float32, np.float64)


def repeats(scores: Scores, labels: Int, *, logits: bool) -> int:
    """Return how many rows repeat another bit for bit, or 0 where chance may explain it.

    Parameters
    ----------
    scores : (N,) or (N, K) array of float
        As they were read.
    labels : (N,) or (N, L) int64
        A row repeats another only with the same label.
    logits : bool
        Whether the scores are logits; else certain answers, alike without being copies, are left
        out.

    Notes
    -----
    By a 64-bit hash of each row. Rounded scores, few distinct answers (those of a tree, or of
    isotonic regression) and very many rows repeat by chance: scores of one or two columns, or of
    few digits, count only where few of the distinct ones are next to each other.
    """
    columns = scores.reshape(len(scores), -1)
    top = columns.max(axis=1)
    keys = _row_keys(columns, labels.reshape(len(labels), -1))
    if not logits:
        some = (top > CERTAIN) & (top < 1.0 - CERTAIN)
        keys, top = keys[some], top[some]
    # of many rows, first those of one hash in 64: all copies of a row are among them, or none
    if _again(keys[keys % 64 == 0] if len(scores) > MANY else keys) < SHARE * keys.size / 64:
        return 0
    values = np.sort(top.astype(np.float64))
    values = values[np.diff(values, prepend=-np.inf) > 0.0]
    count = _again(keys)
    if count < max(FEWEST, SHARE * len(scores)) or values.size * MOST_COPIES < top.size:
        return 0
    grid = _grid(columns if columns.shape[1] > 2 else values)
    if columns.shape[1] <= 2 or grid >= COARSE:
        near = np.count_nonzero(np.diff(values) <= 1.5 * grid)
        if near > DENSE * values.size or count < NEARER * near:
            return 0
    return count


def copies(scores: Scores, labels: Int, *, logits: bool) -> Int | None:
    """Return a number that rows of the same scores share, (N,); None where `repeats` finds none.

    Of scores alone: by labels, too, the outcomes of one score would be drawn to either side of a
    cut together, and each side of a calibrated model would look off. Certain answers, which may be
    alike without being copies, have a number each.
    """
    if not repeats(scores, labels, logits=logits):
        return None
    columns = scores.reshape(len(scores), -1)
    of_row = np.unique(
        _row_keys(columns, np.empty((len(scores), 0), dtype=np.int64)), return_inverse=True
    )[1]
    top = columns.max(axis=1)
    certain = ((top <= CERTAIN) | (top >= 1.0 - CERTAIN)) & (not logits)
    of_row[certain] = len(scores) + np.flatnonzero(certain)
    return np.unique(of_row, return_inverse=True)[1].astype(np.int64)


def _row_keys(columns: Scores, labels: Int) -> Keys:
    """Return a hash of each row's bits, (N,)."""
    of_bits = np.dtype(f"u{columns.dtype.itemsize}")
    width = columns.shape[1] + labels.shape[1]
    odd = np.random.default_rng(0).integers(0, 2**63, width, dtype=np.uint64) * np.uint64(2) + 1
    keys = np.empty(len(columns), dtype=np.uint64)
    for rows in row_chunks(*columns.shape):
        block: Scores = np.add(columns[rows], 0.0, order="C", dtype=columns.dtype)  # -0.0 is 0.0
        bits = block.view(of_bits).astype(np.uint64)
        bits ^= bits >> np.uint64(29)  # numbers of few digits end in zeros
        keys[rows] = bits @ odd[: bits.shape[1]]
        keys[rows] += labels[rows].astype(np.uint64) @ odd[bits.shape[1] :]
    return keys


def _again(keys: Keys) -> int:
    """Return how many keys occur before."""
    ordered = np.sort(keys)
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def _grid(values: Scores) -> float:
    """Return the step of the numbers that scores are rounded to, by some of them."""
    some = values[:: max(1, len(values) // LOOKED_AT)].astype(np.float64)
    for digits in range(1, 7):
        if np.allclose(some, some.round(digits), rtol=0.0, atol=2e-8):
            return float(10.0**-digits)
    narrow = next(kind for kind in NARROW if np.array_equal(some, some.astype(kind)))
    return float(np.finfo(narrow).eps * np.abs(some).max())
