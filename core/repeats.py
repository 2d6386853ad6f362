"""Rows that are the same bit for bit."""

from collections.abc import Callable

import numpy as np

from core.arrays import Bool, Float, Int, Keys, Scores, row_chunks

FEWEST, SHARE = 10, 0.01  # rows that repeat another, and of all rows, from which it is said
MOST_COPIES = 20  # of a row on average: with more, answers are few rather than rows copied
CERTAIN = 1e-3  # from 0 and 1
COARSE = 1e-4  # step of rounded scores below which no whole row repeats by chance
DENSE = 0.25  # of the distinct answers lie next to each other: many meet by chance
NEARER = 5  # times as many must repeat as lie next to each other
MANY = 2**20  # rows from which a few of them are looked at first
LOOKED_AT = 4096  # rows that tell how scores are rounded
DISTINCT = 20  # rows whose numbers of copies have a divisor in common by chance once in a million
TOLD_APART = 5.0  # expected neighbours of equal scores, one right and one wrong, from which
UNLIKE = 0.1  # of them is too many for copies
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
    cut together, and each side of a calibrated model would look off. Certain answers may be alike
    without being copies: they have a number each, but for two or more digits of other classes.
    """
    if not repeats(scores, labels, logits=logits):
        return None
    columns = scores.reshape(len(scores), -1)
    of_row = np.unique(
        _row_keys(columns, np.empty((len(scores), 0), dtype=np.int64)), return_inverse=True
    )[1]
    top = columns.max(axis=1)
    certain = ((top <= CERTAIN) | (top >= 1.0 - CERTAIN)) & (not logits)
    certain &= np.count_nonzero((columns > 0.0) & (columns < 1.0), axis=1) < 3
    of_row[certain] = len(scores) + np.flatnonzero(certain)
    return _by_first_row(of_row)


def sets_of_copies(
    scores: Scores, labels: Int, answers: Callable[[], tuple[Float, Bool]], *, logits: bool
) -> Int | None:
    """Return which copies of one row belong together, numbered by their first row, (N,).

    Parameters
    ----------
    scores, labels, logits
        As of `repeats`.
    answers : callable returning (N,) or (N, L) float64 and bool
        How sure each answer is, and whether it is right; called only where rows repeat. One that
        is certain tells nothing, nor does a label that is not known: it is 1 and right.

    Returns
    -------
    (N,) int64 or None
        None where equal rows may be rows of their own.

    Notes
    -----
    Where every row stands m times, or a multiple of it, each m of them are a set, whatever the
    digits of the scores. Else what `repeats` counts is copied, unless equal scores have other
    outcomes: copies have the same, but rows that a model cannot tell apart come true as often as
    it says. Where outcomes cannot decide that, scores of three columns and more do. Of m equal
    scores, h of them right, 2 h (m - h) / m neighbours are unlike on average over all orders of
    the rows; (m - 1) 2 s (1 - s) are expected where each is right with its chance s.
    """
    columns = scores.reshape(len(scores), -1)
    keys = _row_keys(columns, labels.reshape(len(labels), -1))
    each = _each_stands(keys)
    if each > 1:
        return _in_sets(keys, each)
    sets = copies(scores, labels, logits=logits)
    if sets is None or not sets.any():
        return None
    expected = unlike = 0.0
    sure, right = answers()
    of_labels = sure.reshape(len(sure), -1).T, right.reshape(len(right), -1).T
    for stated, came_true in zip(*of_labels, strict=True):
        some = stated < 1.0
        own, spread = sets[some], stated[some] * (1.0 - stated[some])
        rows, hits = np.bincount(own), np.bincount(own, came_true[some])
        rows = np.maximum(rows, 1)
        expected += float(2.0 * spread @ (1.0 - 1.0 / rows)[own])
        unlike += float((2.0 * hits * (rows - hits) / rows).sum())
    if expected < TOLD_APART:
        return sets if columns.shape[1] > 2 else None
    return sets if unlike <= UNLIKE * expected else None


def _each_stands(keys: Keys) -> int:
    """Return how often every row stands at least, of which all their numbers are multiples.

    1 where hardly a row stands just so often, unless the file is parts that hold the same rows:
    numbers made up of few scores, so many of each, have a divisor in common, too.
    """
    some = keys[keys % 64 == 0] if len(keys) > MANY else keys
    counts = np.unique(some, return_counts=True)[1]
    if counts.size < DISTINCT or counts.min() < 2:
        return 1
    counts = counts if some is keys else np.unique(keys, return_counts=True)[1]
    each = int(np.gcd.reduce(counts))
    few = np.count_nonzero(counts == each) < DISTINCT
    return 1 if few and not _in_parts(keys, each) else each


def _in_parts(keys: Keys, each: int) -> bool:
    """Whether the rows are so many parts, one after the other, that hold the same ones in order."""
    parts = keys.reshape(each, -1)
    return bool((parts == parts[0]).all())


def _in_sets(keys: Keys, each: int) -> Int:
    """Return sets of so many equal rows: parts one after the other, row by row, or as they come."""
    n = len(keys)
    runs = keys.reshape(-1, each)
    if _in_parts(keys, each):
        return np.arange(n) % (n // each)
    if (runs == runs[:, :1]).all():
        return np.arange(n) // each
    order, out = np.argsort(keys, kind="stable"), np.empty(n, dtype=np.int64)
    out[order] = np.arange(n) // each
    return _by_first_row(out)


def _by_first_row(of_row: Int) -> Int:
    """Return numbers in the order in which they occur, so that runs of the same rows agree."""
    _, first, place = np.unique(of_row, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place].astype(np.int64)


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
