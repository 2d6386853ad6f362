"""Every class's probability against its frequency: classwise ECE, and sums for the joint test.

Three partitions, each of which sees what the confidence of the answers alone cannot: the answers
by class; the wrong answers by their true class; and the wrong answers by the probability that was
stated of the true class. Given that an answer is wrong, calibrated scores state class k with
p_k / (1 - p_answer), whatever made the answer wrong: so the last two are independent of the first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Self

import numpy as np

from core.arrays import CHUNK_BYTES, PASS_BYTES, Counts, Float, Int, row_chunks, wide_enough
from core.defaults import FALSE_ALARMS, N_BINS
from core.metrics.binning import BinSums, bin_index, equal_width_edges
from core.metrics.intervals import binomial_test
from core.metrics.records import ClassCell, CostlyClass, Partition
from core.metrics.resampling import binomial
from core.metrics.top_label import weighted_gap
from core.metrics.units import design_effect
from core.predictions import Outcomes, Predictions, ScoreKind, Task

BLOCK_CELLS = 2**24  # of redrawn hits held at a time
COUNTS_BYTES = 2**22  # of counts of rows, in float64, that are multiplied at a time
LEAST_BLOCK = 8  # resamples drawn together however many the cells
JOINED = 2**21  # entries of cells that are put together at a time
_Entries = tuple[Int, Int, Float]


@dataclass(frozen=True)
class ClassBins:
    """Equal-width bins of each class's probability column; sums are (K, B)."""

    bins: BinSums
    n: float

    @property
    def ece(self) -> Float:
        """ECE of each class, (K,) float64."""
        return weighted_gap(self.bins, self.n)


def class_bins(predictions: Predictions, *, n_bins: int = N_BINS) -> ClassBins:
    """Sum each class's probabilities and occurrences by equal-width bins.

    `predictions`: with full class scores; K is the number of columns, present in the labels or not.

    Notes
    -----
    A row sums to one, so at most B of its probabilities lie above the first bin: only these are
    sorted into bins, the first bin is what remains of the column.

    Examples
    --------
    A row counts in one bin of every class, also of one that it gives nothing.

    >>> p = np.array([[0.75, 0.25, 0.0]])
    >>> of_three = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.array([0]))
    >>> by_class = class_bins(of_three, n_bins=2)
    >>> by_class.bins.count.tolist(), by_class.ece.tolist()
    ([[0, 1], [1, 0], [1, 0]], [0.25, 0.25, 0.0])
    """
    from core.compiled.rows import add_binned, add_binned_softmax

    weights, edges = predictions.sampling.weights, equal_width_edges(n_bins)
    each = np.ones(predictions.n) if weights is None else weights
    softmax = predictions.softmax_of_logits
    sums, size = (
        np.zeros((3, predictions.n_classes, n_bins)),
        PASS_BYTES if softmax else CHUNK_BYTES,
    )
    # Above the first bin only: few of a row's probabilities are.
    for rows in row_chunks(predictions.n, predictions.n_classes, size):
        own = predictions.labels[rows], each[rows], edges, sums
        if softmax:
            add_binned_softmax(wide_enough(predictions.scores[rows]), *own)
        else:
            add_binned(predictions.probabilities(rows), *own)
    # Every row lies in one bin of every class, so the first holds all the others.
    sums[0, :, 0] = predictions.total - sums[0, :, 1:].sum(axis=1)
    kind = np.int64 if weights is None else np.float64
    count, mass, hits = sums
    return ClassBins(BinSums(count.astype(kind), mass, hits.astype(kind)), predictions.total)


@dataclass(frozen=True)
class ClassCells:
    """Each class's probabilities in equal-width bins, those above the first bin one by one.

    A row sums to one, so few of its probabilities are above the first bin. `row`, `cell` and
    `gap` are (E,): such a probability, or minus one for the true class; a cell is class x bin.
    What is left in the first bins is a product of counts and probabilities.
    """

    predictions: Predictions
    n_bins: int
    row: Int
    cell: Int
    gap: Float

    @classmethod
    def of(cls, predictions: Predictions, n_bins: int = N_BINS) -> Self:
        """Sort the rows' probabilities and true classes into cells."""
        joined, waiting, size = list[_Entries](), list[_Entries](), 0
        for entries in _entries(predictions, n_bins):
            waiting.append(entries)
            size += entries[0].size
            if size >= JOINED:  # small arrays do not pile up, which would all be in memory
                joined, waiting, size = [*joined, _columns(waiting)], [], 0
        return cls(predictions, n_bins, *_columns([*joined, *waiting]))

    def ece(self, counts: Counts) -> Float:
        """Return the classwise ECE on resamples given as (r, N) counts of rows, (r,).

        Counts with a random sign for each group give what chance would show.
        """
        from core.compiled.resamples import add_by_cell

        if not len(counts):
            return np.empty(0)
        n_classes = self.predictions.n_classes
        # The sum of each class's probabilities within the first bin
        edge = equal_width_edges(self.n_bins)[1]
        low = np.zeros((len(counts), n_classes))
        for rows in row_chunks(self.predictions.n, max(n_classes, len(counts)), COUNTS_BYTES):
            p = self.predictions.probabilities(rows)
            p[p > edge] = 0.0
            low += counts[:, rows].astype(np.float64, copy=False) @ p
        out, gaps = np.empty(len(counts)), np.empty((1, n_classes * self.n_bins))
        for r in range(len(counts)):
            gaps[:] = 0.0
            gaps[0, :: self.n_bins] = low[r]
            add_by_cell(counts[r : r + 1], self.row, self.cell, self.gap, gaps)
            out[r] = np.abs(gaps).sum() / (self.predictions.total * n_classes)
        return out


def _entries(predictions: Predictions, n_bins: int) -> Iterator[_Entries]:
    """Yield row, cell and gap of what stands above the first bins, and of the true classes."""
    edges = equal_width_edges(n_bins)
    for rows in row_chunks(predictions.n, predictions.n_classes):
        p = predictions.probabilities(rows)
        at, k = np.nonzero(p > edges[1])
        yield at + rows.start, k * n_bins + bin_index(p[at, k], edges), p[at, k]
        truth = predictions.labels[rows]
        row = np.arange(truth.size)
        cell = truth * n_bins + bin_index(p[row, truth], edges)
        yield row + rows.start, cell, np.full(truth.size, -1.0)


def _columns(parts: Sequence[_Entries]) -> _Entries:
    row, cell, gap = zip(*parts, strict=True)
    return np.concatenate(row), np.concatenate(cell), np.concatenate(gap)


def redrawn_ece(
    predictions: Predictions, sums: BinSums, n_resamples: int, rng: np.random.Generator
) -> Float:
    """Return the classwise ECE when each row's class is drawn from its own probabilities, (R,).

    `predictions`: with full class scores; `sums`: those of `class_bins` for the same rows.

    Notes
    -----
    A row has one class, so its classes' outcomes are drawn together. Resamples are drawn in
    blocks, so that their cells fit in BLOCK_CELLS.
    """
    from core.compiled.rows import add_redrawn

    n_classes, n_bins = sums.count.shape
    weights, edges = predictions.sampling.weights, equal_width_edges(n_bins)
    of_row = np.ones(predictions.n, np.int32) if weights is None else weights
    block = max(LEAST_BLOCK, BLOCK_CELLS // sums.count.size)
    out: list[Float] = []
    for start in range(0, n_resamples, block):
        rounds = min(block, n_resamples - start)
        hits = np.zeros((sums.count.size, rounds), of_row.dtype)
        for rows in row_chunks(predictions.n, max(n_classes, rounds)):
            p = np.ascontiguousarray(predictions.probabilities(rows))
            add_redrawn(p, rng.random((len(p), rounds)), edges, np.array(of_row[rows]), hits)
        # What was expected of a cell does not change; only who came true is drawn.
        total = np.zeros(hits.shape[1])
        for cells in row_chunks(*hits.shape):
            total += np.abs(sums.confidence.reshape(-1, 1)[cells] - hits[cells]).sum(axis=0)
        out.append(total / (predictions.total * n_classes))
    return np.concatenate(out)


def classwise_ece(predictions: Predictions, *, n_bins: int = N_BINS) -> float:
    """Return the mean over classes of the equal-width ECE of their probability, in [0, 1].

    All N rows count for every class, and the mean is over all K columns. Kull et al. 2019 print
    the sum over classes, K times this.

    Examples
    --------
    Sure and wrong: each of two classes is off by 1. Kull et al. 2019 would print the sum, 2.

    >>> p = np.array([[1.0, 0.0]])
    >>> of_two = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.array([1]))
    >>> classwise_ece(of_two)
    1.0
    """
    return float(np.sort(class_bins(predictions, n_bins=n_bins).ece).mean())


LEVELS = 16  # of a probability: the k-th holds 2^-k to 2^-(k - 1), the last all below
GRAIN = 1e-6  # scores whose least step is larger were rounded
ROUNDED = 16.0  # steps below which a rounded probability says little
TINY = 1e-9  # of the rows of a cell: what it is taken to expect at least
SPREAD = 0.05  # of a Poisson variance: what a cell is taken to have at least
DIGITS = 9  # to which sums are kept: those of the same rows in another order are one
CELLS_DRAWN = 2**17  # draws worked on at a time: they stay in cache
MOST = 0.7  # of the gap of a bin: one class holds it
FEWEST = 10  # other answers of a bin that one class is told from
FAR = 2.0  # times the mean gap: a class that is further off is unlike the mean


@dataclass(frozen=True)
class ClassSums:
    """Expected and observed outcomes of the cells of all partitions."""

    # The partitions with their cells, M in all, in the order of the arrays
    parts: tuple[tuple[Partition, int], ...]
    # trials, expected, squares, hits: (M,), rows, what was stated of them in sum and in sum of
    # squares, and how often it came true
    trials: Float
    expected: Float
    squares: Float
    hits: Float
    effect: Float  # (M,), design effect of each cell, by which counts are divided
    total: float  # weight of all rows
    names: tuple[str, ...]  # of the classes
    # (3, K), rows of two classes at exactly 0.5, which are in no cell: trials, expected and hits,
    # were they the answers of each class
    tied: Float | None = None

    @cached_property
    def p_values(self) -> Float:
        """Exact p-value of the answers of each class, corrected for those answered, (K,).

        Binomial of the mean claim, Bonferroni. By it table and verdict call a class off, once all
        together are. A class of two is off where it is on the same side with ties and without.
        """
        own = np.stack(
            [part[: len(self.names)] for part in (self.trials, self.expected, self.hits)]
        )
        if self.tied is None:
            return self._exact(own)
        both = own + self.tied
        gaps = [expected - hits for _, expected, hits in (own, both)]
        worse = np.maximum(self._exact(own), self._exact(both))
        return np.where(gaps[0] * gaps[1] > 0.0, worse, 1.0)

    @cached_property
    def looks(self) -> int:
        """Number of classes answered, by which p-values and intervals are corrected, at least 1."""
        trials = self.trials[: len(self.names)]
        return max(int(np.count_nonzero(trials if self.tied is None else trials + self.tied[0])), 1)

    def _exact(self, counts: Float) -> Float:
        """Return the p-values of trials, expected and hits, (3, K), corrected."""
        trials, expected, hits = counts
        effect = self.effect[: len(self.names)]
        claim = np.clip(expected / np.maximum(trials, TINY), 0.0, 1.0)
        alone = binomial_test(hits / effect, trials / effect, claim)
        return np.minimum(1.0, self.looks * alone)

    def largest(self) -> tuple[float, ClassCell]:
        """Return the largest standardised deviation, and its cell.

        That of answers counts where their own test finds it: the table of classes shows no other.
        """
        mean, squares, hits = self._rarer()
        off = _standardised(mean, squares, hits[:, None])[:, 0]
        # What the exact test of a class does not find is no evidence against it.
        off[: len(self.names)][self.p_values > FALSE_ALARMS] = 0.0
        at = int(np.argmax(off))
        part, cells = next((p, c) for p, c in self._slices() if c.start <= at < c.stop)
        n, index = float(self.trials[at]), at - cells.start
        bounds = (0.0 if index + 1 == cells.stop - cells.start else 0.5 ** (index + 1), 0.5**index)
        cell = ClassCell(
            part=part,
            name="" if part == Partition.STATED else self.names[index],
            bounds=bounds if part == Partition.STATED else (0.0, 1.0),
            n=n,
            stated=float(self.expected[at]) / max(n, TINY),
            true=float(self.hits[at]) / max(n, TINY),
        )
        return float(off[at]), cell

    def furthest(self) -> tuple[tuple[ClassCell, ...], float]:
        """Return the answers furthest off on each side, and the share of rows on the rarer side.

        Returns
        -------
        (tuple of ClassCell, float)
            One cell of a side that has any off by `p_values`, the further first; the share is of
            all rows, 0 where one side has none.
        """
        k = len(self.names)
        gap = (self.expected - self.hits)[:k] / np.maximum(self.trials[:k], TINY)
        decided = self.p_values <= FALSE_ALARMS
        sides = [decided & (gap > 0.0), decided & (gap < 0.0)]
        cells = [
            self._answers(int(np.argmax(np.where(side, np.abs(gap), -1.0))))
            for side in sides
            if side.any()
        ]
        rarer = min(float(self.trials[:k][side].sum()) for side in sides) / self.total
        return tuple(sorted(cells, key=lambda cell: -abs(cell.gap))), rarer

    def all_unlike(self, gap: float, far: float = FAR) -> tuple[ClassCell, ...]:
        """Return the answers that the mean gap does not tell of, the furthest off first.

        Of those of `furthest`, and of others that are off at least half as far as the first.
        """
        first, _ = self.furthest()
        least = 0.5 * max((abs(cell.gap) for cell in first), default=0.0)
        off = [self._answers(int(k)) for k in np.flatnonzero(self.p_values <= FALSE_ALARMS)]
        listed = [cell for cell in off if abs(cell.gap) >= least or cell in first]
        unlike = [cell for cell in listed if self.unlike(cell, gap, far)]
        return tuple(sorted(unlike, key=lambda cell: -abs(cell.gap)))

    def unlike(self, cell: ClassCell, gap: float, far: float = FAR) -> bool:
        """Whether the mean gap does not tell of a class that is off.

        It is on the other side; or it is off by `far` times the mean or more, and differs from it
        beyond the bound of a normal distribution at 95 % over all classes (Bonferroni).
        """
        if cell.gap * gap <= 0.0:
            return True
        k = self.names.index(cell.name)
        spread = max(self.expected[k] - self.squares[k], cell.n * cell.true * (1.0 - cell.true))
        error = float(np.sqrt(self.effect[k] * spread)) / max(cell.n, TINY)
        z = NormalDist().inv_cdf(1.0 - 0.5 * FALSE_ALARMS / len(self.names))
        return abs(cell.gap) >= far * abs(gap) and abs(cell.gap - gap) > z * error

    def _answers(self, index: int) -> ClassCell:
        """Return the answers of one class."""
        n = float(self.trials[index])
        return ClassCell(
            part=Partition.ANSWERS,
            name=self.names[index],
            bounds=(0.0, 1.0),
            n=n,
            stated=float(self.expected[index]) / max(n, TINY),
            true=float(self.hits[index]) / max(n, TINY),
            ties=0.0 if self.tied is None else float(self.tied[0, index]),
        )

    def sizes(self) -> Float:
        """Return what each partition is off by, in shares of all rows, (P,)."""
        gap = (self.expected - self.hits)[:, None]
        sums = [np.abs(gap[cells]).sum(axis=0) for _, cells in self._slices()]
        return np.asarray(np.concatenate(sums) * self._scale())

    def draws(self, n_resamples: int, seed: int) -> tuple[Float, Float]:
        """Return the largest deviation, (R,), and the sizes, (R, P), where outcomes follow claims.

        The sum of independent outcomes of unlike chances is drawn as a binomial of the same mean
        and variance (Ehm 1991), cell by cell. That cells of a partition share their rows, or two
        partitions their cause, makes the largest of all of them smaller, not larger (Royen 2014).
        """
        rng = np.random.default_rng([seed, 5])
        mean, squares, _ = self._rarer()
        # Cells of a partition by what they expect, so that renamed classes have the same draws
        part = np.repeat(np.arange(len(self.parts)), [cells for _, cells in self.parts])
        order = np.lexsort((np.round(squares, DIGITS), np.round(mean, DIGITS), part))
        mean, squares, effect = mean[order], squares[order], self.effect[order]
        # mean² / squares trials: a binomial of the variance of the sum, mean - squares.
        trials = np.ceil(np.round(mean**2 / np.maximum(squares, TINY * TINY), DIGITS))
        trials = np.where(mean > 0.0, np.maximum(trials, np.ceil(mean)), 0.0)
        share = np.clip(np.divide(mean, trials, out=np.zeros_like(mean), where=trials > 0), 0, 1)
        largest = np.zeros(n_resamples)
        sizes = np.zeros((n_resamples, len(self.parts)))
        for place, (_, cells) in enumerate(self._slices()):
            width = max(1, CELLS_DRAWN // n_resamples)
            for start in range(cells.start, cells.stop, width):
                block = slice(start, min(start + width, cells.stop))
                drawn = binomial(
                    trials[block].astype(np.int64), share[block], n_resamples, rng
                ).astype(np.float64)
                off = _standardised(mean[block], squares[block], drawn)
                largest = np.maximum(largest, off.max(axis=0, initial=0.0))
                gap = np.abs(mean[block, None] - drawn) * effect[block, None]
                sizes[:, place] += gap.sum(axis=0)
        return largest, sizes * self._scale()

    def _slices(self) -> list[tuple[Partition, slice]]:
        out, start = [], 0
        for part, cells in self.parts:
            out.append((part, slice(start, start + cells)))
            start += cells
        return out

    def _scale(self) -> Float:
        """Return what sums of |deviations| are multiplied with: a wrong row counts in two cells."""
        halves = [1.0 if part == Partition.ANSWERS else 0.5 for part, _ in self.parts]
        return np.array(halves) / self.total

    def _rarer(self) -> tuple[Float, Float, Float]:
        """Return mean, sum of squares and count of the outcome that is rarer in each cell."""
        often = self.expected > 0.5 * self.trials
        mean = np.where(often, self.trials - self.expected, self.expected)
        squares = np.where(often, self.trials - 2.0 * self.expected + self.squares, self.squares)
        hits = np.where(often, self.trials - self.hits, self.hits)
        mean, squares = np.maximum(mean, 0.0), np.clip(squares, 0.0, np.maximum(mean, 0.0))
        return mean / self.effect, squares / self.effect, hits / self.effect


def _standardised(mean: Float, squares: Float, hits: Float) -> Float:
    """Return the root of the Poisson deviance of (M, R) counts, in units of their spread."""
    expected = np.maximum(mean, TINY)[:, None]
    out = np.maximum(hits, np.finfo(float).tiny) / expected  # no count is 0 times a number
    np.log(out, out=out)
    out *= hits
    out -= hits - mean[:, None]
    out *= 2.0
    np.maximum(out, 0.0, out=out)
    # Sure claims scatter less than Poisson counts, by what squares take off the mean.
    out /= np.maximum(1.0 - squares / np.maximum(mean, TINY), SPREAD)[:, None]
    return np.asarray(np.sqrt(out, out=out))


def answer_sums(predictions: Predictions, *, ties: bool = False) -> ClassSums:
    """Return the sums of the answers given, by class.

    `predictions`: not multi-label; `ties`: whether answers of two classes at exactly 0.5 count:
    which class they are is by order only.
    """
    rows, k = predictions.rows, predictions.n_classes
    sampling = predictions.sampling
    weights = np.ones(predictions.n) if sampling.weights is None else sampling.weights
    confidence = rows.confidence
    # Which of two classes an even row answers is the order of columns: it counts for neither.
    tied = None
    if predictions.task is Task.BINARY and not ties:
        even = np.where(confidence == 0.5, weights, 0.0)
        if even.any():
            weights = weights - even
            tied = np.outer([even.sum(), 0.5 * even.sum(), 0.0], np.ones(k))
            tied[2] = np.bincount(predictions.labels, even, k)
    columns = (1.0, confidence, confidence**2, rows.correct)
    trials, expected, squares, hits = np.array(
        [np.bincount(rows.predicted, weights * values, k) for values in columns], dtype=np.float64
    )
    # Rows that belong together or weigh unequally count for fewer, class by class.
    effect = np.ones(k)
    if not sampling.independent:
        for answer in np.unique(rows.predicted).tolist():
            own = rows.predicted == answer
            effect[answer] = design_effect(confidence[own] - rows.correct[own], sampling.take(own))
    return ClassSums(
        parts=((Partition.ANSWERS, k),),
        trials=trials,
        expected=expected,
        squares=squares,
        hits=hits,
        effect=effect,
        total=predictions.total,
        names=predictions.class_names,
        tied=tied,
    )


@dataclass(frozen=True)
class AnswersOfRows:
    """Which class each row's answer is of, with what is stated and true of it."""

    outcomes: Outcomes  # of the answers
    answered: Int  # (N,), class of each answer
    names: tuple[str, ...]  # of the classes

    def costly(self, low: float, high: float) -> CostlyClass | None:
        """Return the class that the gap of the answers from `low` to `high` is of, if of one.

        One class alone is off beyond chance there (exact, Bonferroni over the classes answered)
        and holds at least `MOST` of the gap, and the other answers, at least `FEWEST`, are not off
        at 5 % together. Their gap and that of the class differ, too (two samples, as corrected).
        """
        sure = self.outcomes.confidence
        rows = np.flatnonzero((sure >= low) & (sure <= high))
        sure, right = sure[rows], self.outcomes.correct[rows]
        sampling = self.outcomes.sampling.take(rows)
        weights = np.ones(rows.size) if sampling.weights is None else sampling.weights
        # What each class adds to the gap of these answers; the largest on its side is looked at.
        gaps = np.bincount(self.answered[rows], weights * (sure - right), len(self.names))
        total, looks = gaps.sum(), np.unique(self.answered[rows]).size
        if looks < 2 or total == 0.0:
            return None
        k = int(np.argmax(gaps * np.sign(total)))
        own = self.answered[rows] == k
        # It has to hold most of the gap, with enough answers left to compare it with.
        few = np.count_nonzero(weights[~own]) < FEWEST or not weights[own].any()
        if few or abs(gaps[k]) < MOST * abs(total):
            return None
        stated, share, effective = np.array(
            [
                (
                    weights[part] @ sure[part] / weights[part].sum(),
                    weights[part] @ right[part] / weights[part].sum(),
                    weights[part].sum()
                    / design_effect(sure[part] - right[part], sampling.take(part)),
                )
                for part in (own, ~own)
            ]
        ).T
        # Off by itself, corrected for the classes looked at, and the rest together is not.
        alone, others = binomial_test(share * effective, effective, np.minimum(stated, 1.0))
        if looks * alone > FALSE_ALARMS or others <= FALSE_ALARMS:
            return None
        # And it differs from the rest: one beyond chance and one within it may still be alike.
        spread = np.maximum(stated * (1.0 - stated), share * (1.0 - share)) / effective
        z = NormalDist().inv_cdf(1.0 - 0.5 * FALSE_ALARMS / looks)
        if abs(np.diff(stated - share)[0]) <= z * np.sqrt(spread.sum()):
            return None
        return CostlyClass(
            name=self.names[k],
            n=float(weights[own].sum()),
            stated=float(stated[0]),
            right=float(share[0]),
            others_stated=float(stated[1]),
            others=float(share[1]),
        )


def class_sums(predictions: Predictions) -> ClassSums:
    """Return the sums of the answers given, and of the wrong ones where all scores are there.

    `predictions`: not multi-label.
    """
    own = answer_sums(predictions)
    wrong = np.flatnonzero(~predictions.rows.correct)
    if predictions.task is Task.TOP_LABEL or predictions.n_classes < 3 or not wrong.size:
        return own
    parts, effects = list(own.parts), [own.effect]
    sums: list[Float] = [np.stack([own.trials, own.expected, own.squares, own.hits])]
    for part, of_cells, of_part in _wrong_sums(predictions, wrong):
        parts.append((part, of_cells.shape[1]))
        sums.append(of_cells)
        effects.append(of_part)
    trials, expected, squares, hits = np.concatenate(sums, axis=1)
    return replace(
        own,
        parts=tuple(parts),
        trials=trials,
        expected=expected,
        squares=squares,
        hits=hits,
        effect=np.concatenate(effects),
    )


def _wrong_sums(
    predictions: Predictions, wrong: np.ndarray
) -> list[tuple[Partition, Float, Float]]:
    """Return the sums of the wrong answers, by true class and by what was stated of it."""
    from core.compiled.rows import add_wrong, add_wrong_softmax

    k, finest, rows = predictions.n_classes, _finest_level(predictions), predictions.rows
    weights = predictions.sampling.weights
    by_class, by_level = np.zeros((3, k)), np.zeros((3, finest))
    counted = 0.0
    # Of a wrong answer class k is stated with p_k / (1 - p_answer), whatever made it wrong.
    for part in row_chunks(wrong.size, k):
        at = wrong[part]
        of_row = np.ones(at.size) if weights is None else weights[at]
        own = predictions.labels[at], rows.predicted[at], of_row, by_class, by_level
        if predictions.softmax_of_logits:
            counted += add_wrong_softmax(wide_enough(predictions.scores[at]), *own)
        else:
            counted += add_wrong(predictions.take(at).probabilities(), *own)
    effect, sampling = 1.0, predictions.sampling
    if not sampling.independent:  # that of what is stated of the true class
        surprise = np.minimum(-rows.log_p_true[wrong], -np.log(TINY))
        within = np.isin(np.arange(predictions.n), wrong)
        effect = design_effect(surprise, sampling.take(within))
    listed = [(Partition.STATED, by_level)]
    if finest == LEVELS:  # rounding may leave nothing of a class that is rarely likely
        listed.append((Partition.OTHERS, by_class))
    return [
        (
            part,
            np.concatenate([np.full((1, sums.shape[1]), counted), sums]),
            np.full(sums.shape[1], effect),
        )
        for part, sums in listed
    ]


def _finest_level(predictions: Predictions) -> int:
    """Return how many levels of probability the scores tell apart."""
    if predictions.kind is ScoreKind.LOGITS:
        return LEVELS
    least, zeros = 1.0, False
    for rows in row_chunks(predictions.n, predictions.n_classes):
        p = predictions.scores[rows]
        zeros = zeros or bool((p <= 0.0).any())
        least = min(least, float(np.min(p, where=p > 0.0, initial=1.0)))
    if not zeros or least < GRAIN:
        return LEVELS
    return int(np.clip(np.floor(-np.log2(ROUNDED * least)) + 1, 1, LEVELS - 1))
