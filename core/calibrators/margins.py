"""The rows of a fit: those that count, by weight, and each as seen from its winner; numpy only.

Neither temperature nor the focal map changes the arg max. So correctness is known before any of
them is tried, and what is left of a row are the distances of the other logits from the winner's.
Without weights nothing is multiplied, so that every sum keeps its bits.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Counts, Float, Int, empty
from core.errors import Refused, UsageError
from core.metrics.ranked import SortedOutcomes
from core.metrics.top_label import ada_ece, ece, ece_em
from core.predictions import Outcomes, Weights

Logits = npt.NDArray[np.floating]


def counted(logits: Logits, labels: Int, weights: Float | None) -> tuple[Logits, Int, Float | None]:
    """Return the rows that count, and how many rows each stands for.

    Parameters
    ----------
    logits : (N, ...) array of float
        The rows.
    labels : (N, ...) array of int
        Their answers.
    weights : (N,) float64, optional
        As of `core.predictions.Weights.of`.

    Returns
    -------
    logits, labels, weights
        Without the rows of weight 0; no weights where every row counts once.

    Raises
    ------
    Refused
        LENGTH_MISMATCH; WEIGHTS: a weight is negative, missing or infinite, or all are 0.

    Examples
    --------
    Only how weights compare counts, and a row of weight 0 is absent: what is left here is one row
    each.

    >>> z, y, w = counted(np.eye(3), np.arange(3), np.array([0.5, 0.5, 0.0]))
    >>> len(z), y.tolist(), w
    (2, [0, 1], None)
    """
    if weights is None:
        return logits, labels, None
    if not logits.shape[:1] == labels.shape[:1] == weights.shape:
        what = f"{logits.shape[:1]} rows of logits, weights {weights.shape}"
        raise Refused("LENGTH_MISMATCH", what, "give one weight per row")
    own = Weights.of("weights", weights).of_row
    # A row of weight 0 must not count as a row either: not for the smallest
    # number of rows, nor for which classes occur.
    if not own.all():
        kept = np.flatnonzero(own)
        logits, labels, own = logits[kept], labels[kept], own[kept]
    # Weights that are all 1 take the path without weights, whose sums have the same bits.
    return logits, labels, None if (own == 1.0).all() else own


def weighed(values: Counts, weights: Float | None) -> Counts:
    """Return values, (..., N), times the weights of their rows."""
    return values if weights is None else values * weights


def total_of(n: int, weights: Float | None) -> float:
    """Return how many rows N rows stand for."""
    return n if weights is None else float(weights.sum())


def mean(values: Counts, weights: Float | None) -> float:
    """Return the mean of values, (N,), over the rows that they stand for."""
    return float(np.average(values, weights=weights))


ERRORS: dict[str, Callable[[SortedOutcomes], float]] = {
    "ece": ece,
    "ece_em": ece_em,
    "ada_ece": ada_ece,
}
OBJECTIVES = ("nll", *ERRORS)


def check_choice(kind: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse an option that is not on the list."""
    if value not in allowed:
        raise UsageError("SETTING", f"{kind} is {value!r}", f"use {', '.join(allowed)}")


def objective_of(log_p: Float, labels: Int, objective: str, weights: Float | None = None) -> float:
    """Return the objective of log-probabilities, (N, K), against labels; may be inf.

    Examples
    --------
    Two answers of 0.75, one of them right: ECE is their mean gap |0.75 - 0.5|, not the mean of
    gaps.

    >>> log_p, labels = np.log([[0.75, 0.25], [0.75, 0.25]]), np.array([0, 1])
    >>> [round(objective_of(log_p, labels, name), 4) for name in ("ece", "nll")]
    [0.25, 0.837]
    """
    if objective == "nll":
        return 0.0 - mean(log_p[np.arange(labels.size), labels], weights)  # 0.0 - 0.0 is not -0.0
    winner = log_p.argmax(axis=1)
    confidence = np.minimum(np.exp(log_p[np.arange(labels.size), winner]), 1.0)
    return ERRORS[objective](
        SortedOutcomes.of(Outcomes(confidence, winner == labels, weights=weights))
    )


BLOCK_CELLS = 2**15  # float64 values of one array worked on at a time: stays in cache
TINY = 1e-300
LOG_LARGE = 700.0  # exp of it is still finite
SAMPLE_ROWS = 2**15  # looked at first when there are more than twice as many
GROWTH = 8  # of the rows looked at next


@dataclass(frozen=True)
class LogitMargins:
    """Rows in blocks, class-major, so that sums over classes add whole arrays."""

    # Logits of the other classes minus the winner's, at most 0, ascending in each row: rows that
    # differ by the order of their classes only get confidences equal to the last bit, without which
    # bins of equal mass would tear them apart
    blocks: tuple[Float, ...]
    # Logit of the true class minus the winner's; NaN where the winner is the true class
    truth: tuple[Float, ...]
    correct: Bool  # (N,), the winner (lowest index on ties) is the true class
    weights: Float | None = None  # (N,), how many rows each stands for, above 0

    @classmethod
    def of(
        cls, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None = None
    ) -> Self:
        """Take the winner out of finite logits, (N, K), with labels, (N,) in 0..K-1.

        Examples
        --------
        Logits 1, 3, 2 are seen from the winner 3, whose own 0 is left out; the truth is 2 below it:

        >>> rows = LogitMargins.of(np.array([[1.0, 3.0, 2.0]]), np.array([0]))
        >>> rows.blocks[0].ravel().tolist(), rows.truth[0].tolist(), rows.accuracy
        ([-2.0, -1.0], [-2.0], 0.0)
        """
        n, n_classes = logits.shape
        winner = np.empty(n, np.int64)
        room = empty((n * (n_classes - 1),))  # of all blocks: in a file where there are many rows
        blocks, truth = [], []
        # Even blocks: a block of one row would be summed in another order.
        n_blocks = min(-(-n * n_classes // BLOCK_CELLS), max(n // 2, 1))
        for rows in np.array_split(np.arange(n), n_blocks):
            part = slice(rows[0], rows[-1] + 1)
            winner[part] = logits[part].argmax(axis=1)  # of all rows at once it might copy them
            block, at = logits[part].astype(np.float64), np.arange(rows.size)
            # The winner's own 0 is left out: with it, 1 - confidence would be a difference of
            # near-equal numbers, without it a sum of small ones.
            block -= block[at, winner[part]][:, None]
            # Before the sort, after which a column is no class any more.
            own = block[at, labels[part]]
            truth.append(np.where(labels[part] == winner[part], np.nan, own))
            block[at, winner[part]] = np.inf  # sorted to the end
            block.sort(axis=1)
            own_room = room[part.start * (n_classes - 1) : part.stop * (n_classes - 1)]
            blocks.append(own_room.reshape(n_classes - 1, rows.size))
            blocks[-1][:] = block[:, :-1].T
        return cls(tuple(blocks), tuple(truth), winner == labels, weights)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.correct.size)

    @property
    def accuracy(self) -> float:
        """Share of rows whose winner is the true class."""
        return mean(self.correct, self.weights)

    def ranked(self, confidence: Float) -> SortedOutcomes:
        """Return the winners with some confidence, (N,), as what errors are computed from."""
        return SortedOutcomes.of(Outcomes(confidence, self.correct, weights=self.weights))

    def confidences(self, temperature: float, gammas: Sequence[float]) -> Float:
        """Return the winner's probability after temperature, then the focal map.

        Parameters
        ----------
        temperature : float
            Above 0.
        gammas : sequence of G floats
            Above -1; they share the work of the temperature.

        Returns
        -------
        (G, N) float64
            In (0, 1].
        """
        out = np.empty((len(gammas), self.n))
        start = 0
        for block in self.blocks:
            part = _ScaledBlock.of(block, temperature)
            for row, gamma in zip(out, gammas, strict=True):
                row[start : start + part.n] = 1.0 / (1.0 + part.odds(gamma))
            start += part.n
        return out

    def nll(self, temperature: float, gammas: Sequence[float]) -> Float:
        """Return the mean negative log-likelihood for each gamma, (G,) float64."""
        total, start = np.zeros(len(gammas)), 0
        for block, truth in zip(self.blocks, self.truth, strict=True):
            part = _ScaledBlock.of(block, temperature)
            wrong = np.flatnonzero(~np.isnan(truth))
            log_e = truth[wrong] / temperature
            own = of_wrong = None
            if self.weights is not None:
                own = self.weights[start : start + part.n]
                of_wrong = own[wrong]
            # log p of the truth is log p of the winner plus log(truth / winner), and the second is
            # 0 where the answer is right: so only wrong rows need a class of their own.
            for k, gamma in enumerate(gammas):
                total[k] += weighed(np.log1p(part.odds(gamma)), own).sum()
                total[k] -= weighed(part.log_ratio(gamma, log_e, wrong), of_wrong).sum()
            start += part.n
        return total / total_of(self.n, self.weights)


@dataclass(frozen=True)
class _ScaledBlock:
    """A block at one temperature."""

    # log_e, e: (K - 1, n), logarithm and value of each probability over the winner's
    log_e: Float
    e: Float
    # total, log_total: (n,), sum of e and its logarithm, exact where the sum underflows
    total: Float
    log_total: Float

    @classmethod
    def of(cls, block: Float, temperature: float) -> Self:
        """Divide by the temperature and sum."""
        log_e = block / temperature
        e = np.exp(log_e)
        total = e.sum(axis=0)
        log_total = np.log(np.maximum(total, TINY))
        # Where the sum underflows, its logarithm is taken from the largest of the others instead.
        lost = np.flatnonzero(total < TINY)
        if lost.size:
            top = log_e[:, lost].max(axis=0)
            log_total[lost] = top + np.log(np.exp(log_e[:, lost] - top).sum(axis=0))
        return cls(log_e, e, total, log_total)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.total.size)

    def odds(self, gamma: float) -> Float:
        """Return (1 - confidence) / confidence after the focal map, (n,) float64."""
        if gamma == 0.0:
            return self.total
        q, q_share, log_u = self._others
        # w of the other classes over w of the winner; q of these is at
        # most one half, so that 1 - q is safe.
        weight = np.exp(log_u * -gamma)
        weight *= q
        weight /= 1.0 + gamma * q_share
        # Beyond the cap the odds are below 1e-15 or the others have underflowed to 0.
        log_scale = np.minimum(-self._log_top_weight(gamma), LOG_LARGE)
        return np.asarray(weight.sum(axis=0) * np.exp(log_scale))

    def log_ratio(self, gamma: float, log_e: Float, rows: Int) -> Float:
        """Return log of (a class's probability / the winner's) for some rows.

        `log_e` is that logarithm before the focal map, (rows,).
        """
        log_top = -np.log1p(self.total[rows])
        if gamma == 0.0:
            return log_e
        q = np.exp(log_e + log_top)
        log_u = np.log1p(-q)
        share = -(log_e + log_top) * q / (1.0 - q)
        log_weight = log_e + log_top - gamma * log_u - np.log1p(gamma * share)
        return np.asarray(log_weight - self._log_top_weight(gamma)[rows])

    def _log_top_weight(self, gamma: float) -> Float:
        """Return log w of the winner, with u and q h from the sum of the others."""
        log_q = -np.log1p(self.total)
        safe = np.maximum(self.total, TINY)
        share = np.log1p(safe) / safe  # q h = -q log(q) / u with u = q total
        log_u = self.log_total + log_q
        return np.asarray(log_q - gamma * log_u - np.log1p(gamma * share))

    @cached_property
    def _others(self) -> tuple[Float, Float, Float]:
        """Return q, q h and log(1 - q) of the other classes, none above one half; any gamma."""
        q = self.e / (1.0 + self.total)
        share = self.log_e - np.log1p(self.total)
        share *= q
        share /= q - 1.0
        return q, share, np.log1p(-q)


def confidence_of(logits: npt.NDArray[np.floating], temperature: float, gamma: float) -> Float:
    """Return the winner's probability after temperature, then the focal map, (N,) float64.

    Examples
    --------
    Temperature comes first: T = 2 makes of log 16 the logit log 4, which gamma = 1 takes to 0.922.

    >>> z = np.array([[0.0, np.log(16.0)]])
    >>> [round(float(confidence_of(z, 2.0, gamma)[0]), 3) for gamma in (0.0, 1.0)]
    [0.8, 0.922]
    """
    margins = LogitMargins.of(logits, logits.argmax(axis=1))
    return np.asarray(margins.confidences(temperature, [gamma])[0])


def samples(
    margins: LogitMargins, logits: npt.NDArray[np.floating], labels: Int
) -> Iterator[LogitMargins]:
    """Yield margins of ever more rows, at even distances, and last those of all rows.

    Parameters
    ----------
    margins : LogitMargins
        Of all rows; yielded at once where there are not many.
    logits, labels : (N, K) array of float, (N,) array of int
        What they are of.
    """
    # Every stride-th row, not the first ones: files are often sorted by class.
    stride = margins.n // SAMPLE_ROWS
    while stride > 1:
        weights = None if margins.weights is None else margins.weights[::stride]
        yield LogitMargins.of(logits[::stride], labels[::stride], weights)
        stride //= GROWTH
    yield margins


def scores(
    margins: LogitMargins, objective: str, temperature: float, gammas: Sequence[float]
) -> Float:
    """Return the objective after temperature, then the focal map, for each gamma, (G,) float64."""
    if objective == "nll":
        return margins.nll(temperature, gammas)
    return np.array(
        [
            calibration_error(confidence, margins, objective)
            for confidence in margins.confidences(temperature, gammas)
        ]
    )


def calibration_error(confidence: Float, margins: LogitMargins, objective: str) -> float:
    """Return ece, ece_em or ada_ece, 15 bins, of the winner's confidence."""
    return ERRORS[objective](margins.ranked(confidence))
