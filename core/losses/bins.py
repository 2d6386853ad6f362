"""Gamma by bin of validation confidence, as AdaFocal and CalFocal learn it; numpy, no torch."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float, Int, Scores, row_chunks, sigmoid, softmax
from core.errors import Refused
from core.histories import BinHistory
from core.metrics.binning import interpolated_cuts, interpolated_edges, sums
from core.metrics.ranked import SortedOutcomes
from core.predictions import Outcomes, Task

# Of lambda times a gap. Gamma stays below 1e30, so that its products with any loss of float32
# logits stay finite; (1 - p)^gamma is 0 long before.
LARGEST_EXPONENT = 69.0


@dataclass(frozen=True)
class ValidationBins:
    """Validation answers in bins of equal mass."""

    # (B + 1,), ascending, from the smallest confidence to the largest; equal ones where confidences
    # tie
    edges: Float
    count: Int  # (B,), answers in (low, high]. Those of the smallest confidence are in no bin.
    # confidence, accuracy: (B,), means over the bin, NaN where it is empty
    confidence: Float
    accuracy: Float

    @property
    def gap(self) -> Float:
        """Confidence minus accuracy, 0 where a bin is empty."""
        return np.asarray(np.nan_to_num(self.confidence - self.accuracy))


@dataclass(frozen=True)
class GammaUpdate:
    """The bins of one update and the gammas that hold from then on."""

    bins: ValidationBins
    gamma: Float  # (B,), after the update; below 0 it is inverse focal loss with the absolute value
    switched: Bool  # (B,), gamma came too near to 0 and changed its sign

    @property
    def frozen(self) -> Bool:
        """Bins without answers: ties leave them empty, and then their gamma stays."""
        return np.asarray(self.bins.count == 0)


def validation_bins(outcomes: Outcomes, n_bins: int) -> ValidationBins:
    """Return equal-mass bins of validation answers.

    `outcomes`: stated confidence in [0, 1] and whether the answer was right, (N,) each, N >= 1;
    `n_bins`: B, at least 1.

    References
    ----------
    Ghosh et al. 2022, algorithm 1; edges and membership as in its released code.

    Examples
    --------
    Edges at the ranks 0, 2 and 4 of 0..3 are 0.2, 0.6 and 0.8; as in the released code the smallest
    confidence is in no bin and the last bin is short of one.

    >>> confidence = np.array([0.2, 0.4, 0.6, 0.8])
    >>> bins = validation_bins(Outcomes(confidence, np.array([False, True, False, True])), 2)
    >>> bins.edges.tolist(), bins.count.tolist(), bins.accuracy.tolist()
    ([0.2, 0.6, 0.8], [2, 1], [0.5, 1.0])

    Where all confidences tie no bin holds any, and no gap moves a gamma:

    >>> tied = validation_bins(Outcomes(np.full(4, 0.9), np.zeros(4, np.bool_)), 2)
    >>> tied.count.tolist(), tied.gap.tolist()
    ([0, 0], [0.0, 0.0])
    """
    ranked = SortedOutcomes.of(outcomes)
    bin_sums = sums(ranked, interpolated_cuts(ranked, n_bins))
    return ValidationBins(
        interpolated_edges(ranked, n_bins),
        bin_sums.count,
        _means(bin_sums.confidence, bin_sums.count),
        _means(bin_sums.hits, bin_sums.count),
    )


def _means(total: Float | Int, count: Int) -> Float:
    means = np.full(count.shape, np.nan)
    np.divide(total, count, out=means, where=count > 0)
    return means


@dataclass(frozen=True)
class AdaFocalRule:
    """How AdaFocal moves gamma.

    References
    ----------
    Ghosh et al. 2022, algorithm 1. It bounds before it switches, its released code after, as
    here; the two differ only where s_th lies beyond a bound.

    Examples
    --------
    A gap of -1/2 takes gamma from 1 to e^-1/2 = 0.607, and from 0.25 to 0.152, which is nearer to 0
    than 0.2 and changes sides:

    >>> under = ValidationBins(np.linspace(0, 1, 3), np.ones(2, int), np.full(2, 0.5), np.ones(2))
    >>> update = AdaFocalRule().update(np.array([1.0, 0.25]), under)
    >>> update.gamma.round(3).tolist(), update.switched.tolist()
    ([0.607, -0.2], [False, True])
    """

    label: ClassVar[str] = "AdaFocal"
    # lambda: gamma > 0 becomes gamma * exp(lambda * gap), others gamma * exp(-lambda * gap)
    rate: float = 1.0
    # gamma_max, gamma_min: bounds of focal and of inverse focal loss
    gamma_max: float = 20.0
    gamma_min: float = -2.0
    s_th: float = 0.2  # a gamma that comes nearer to 0 than this changes sides, to -s_th or s_th

    def update(self, gamma: Float, bins: ValidationBins) -> GammaUpdate:
        """Return the gammas that follow; a gamma stays with the index of its bin."""
        # gamma > 0 grows where the model is over-confident; below 0, inverse focal loss, it shrinks
        # towards 0. A gamma of exactly 0 counts as below, as released.
        side = np.where(gamma > 0, 1.0, -1.0)
        moved = gamma * np.exp(side * self.rate * bins.gap)
        # Switched first and bounded after, as in the released code; the paper says the reverse.
        small = np.abs(moved) < self.s_th
        moved = np.where(small, np.where(moved > 0, -self.s_th, self.s_th), moved)
        return GammaUpdate(bins, np.clip(moved, self.gamma_min, self.gamma_max), small)


@dataclass(frozen=True)
class CalFocalRule:
    """How CalFocal sets gamma: exp(lambda * gap), 1 where a bin is calibrated or empty.

    References
    ----------
    Ghosh et al. 2022, equation 3.

    Examples
    --------
    A calibrated bin gets 1, focal loss still, and not 0, cross-entropy:

    >>> calibrated = ValidationBins(np.array([0.0, 1.0]), np.ones(1, int), np.ones(1), np.ones(1))
    >>> CalFocalRule().update(np.array([5.0]), calibrated).gamma.tolist()
    [1.0]
    """

    label: ClassVar[str] = "CalFocal"
    rate: float = 1.0  # lambda, above 0

    def update(self, gamma: Float, bins: ValidationBins) -> GammaUpdate:
        """Return the gammas of these bins; what they were before does not matter."""
        gammas = np.exp(np.minimum(self.rate * bins.gap, LARGEST_EXPONENT))
        return GammaUpdate(bins, gammas, np.zeros(gamma.shape, dtype=np.bool_))


EPOCH = "epoch"
MOST_BATCHES = 1_000_000  # between updates
_STEP = re.compile(r"(epoch|[1-9]\d{0,6})(?: from ([1-9]\d{0,5}))?")


@dataclass(frozen=True)
class UpdateSchedule:
    """When gammas are updated: at the end of each epoch, or every so many batches."""

    # Epochs that are trained before a step holds, ascending from 0, and the batches between updates
    # from then on; None updates when an epoch ends
    steps: tuple[tuple[int, int | None], ...]

    @classmethod
    def of(cls, setting: int | str) -> Self:
        """Return the schedule of a setting such as 50, or ``epoch, 100 from 25, 1 from 40``.

        Raises ValueError: it is no schedule.
        """
        steps = []
        for part in str(setting).split(","):
            step = _STEP.fullmatch(part.strip())
            if step is None:
                raise ValueError(setting)
            every, start = step.groups()
            if every != EPOCH and int(every) > MOST_BATCHES:
                raise ValueError(setting)
            steps.append((int(start or 0), None if every == EPOCH else int(every)))
        # From epoch 0 on and ascending, or an epoch would have no step or two.
        if steps[0][0] != 0 or any(a[0] >= b[0] for a, b in pairwise(steps)):
            raise ValueError(setting)
        return cls(tuple(steps))

    def every(self, epoch: int) -> int | None:
        """Return the batches between updates in an epoch, from 0; None where its end updates."""
        return [every for start, every in self.steps if start <= epoch][-1]

    def n_updates(self, epoch: int, n_batches: int) -> int:
        """Return how many updates an epoch of so many batches has.

        Examples
        --------
        Batches are counted on from epoch to epoch: of 60, every 50th falls once into each of the
        first four epochs, at 50, 100, 150 and 200, and twice into the fifth, at 250 and 300.

        >>> [UpdateSchedule.of(50).n_updates(epoch, 60) for epoch in range(5)]
        [1, 1, 1, 1, 2]
        """
        every = self.every(epoch)
        if every is None:
            return 1
        return (epoch + 1) * n_batches // every - epoch * n_batches // every


def is_schedule(setting: int | str) -> bool:
    """Whether a setting says when gammas are updated."""
    try:
        UpdateSchedule.of(setting)
    except ValueError:
        return False
    return True


def replay(
    validation: Scores,
    labels: npt.NDArray[np.integer],
    *,
    task: Task,
    rule: AdaFocalRule | CalFocalRule,
    n_bins: int,
) -> BinHistory:
    """Return the gammas that a rule would have learned from a run's validation logits.

    Parameters
    ----------
    validation : (E, N, K) or (E, N, L) array of float
        Logits of the validation part after each epoch, 0..E-1.
    labels : (N,) array of int in 0..K-1, or (N, L) of 0 and 1
        What was true.
    task : Task
        multiclass or binary: the answer is the most probable class (the lowest index on ties);
        multilabel: N L answers, each the more probable of yes and no.
    rule : AdaFocalRule or CalFocalRule
        Lambda, bounds and switch.
    n_bins : int
        B, at least 1.

    Returns
    -------
    BinHistory
        One update an epoch, from gamma 1; `train_confidence` is not known.

    Raises
    ------
    Refused
        NONFINITE when an epoch holds logits of a diverged model.

    Notes
    -----
    The logits are those of the training that was run: another gamma would have given other logits,
    so this answers what the rule would have asked for, not how that training would have gone.

    References
    ----------
    Ghosh et al. 2022, algorithm 1.
    """
    gamma = np.ones(n_bins)
    updates = []
    for epoch, logits in enumerate(validation):
        answers = _answers(logits, labels, task)
        if not np.isfinite(answers.confidence).all():
            what = "Validation logits that are not numbers"
            raise Refused("NONFINITE", what, "replay the epochs before", f"epoch {epoch}")
        # The bins of an epoch decide the gammas of the next one.
        updates.append(rule.update(gamma, validation_bins(answers, n_bins)))
        gamma = updates[-1].gamma
    return bin_history(updates)


def bin_history(updates: Sequence[GammaUpdate]) -> BinHistory:
    """Return updates of the epochs 0..E-1, one each, as a history."""
    n_bins = len(updates[0].gamma)
    bins = [update.bins for update in updates]
    return BinHistory(
        epoch=np.repeat(np.arange(len(updates)), n_bins),
        bin=np.tile(np.arange(n_bins), len(updates)),
        lower=np.concatenate([b.edges[:-1] for b in bins]),
        upper=np.concatenate([b.edges[1:] for b in bins]),
        count=np.concatenate([b.count for b in bins]),
        confidence=np.concatenate([b.confidence for b in bins]),
        accuracy=np.concatenate([b.accuracy for b in bins]),
        gap=np.concatenate([b.gap for b in bins]),
        gamma=np.concatenate([update.gamma for update in updates]),
        train_confidence=np.full(len(updates) * n_bins, np.nan),
    )


def _answers(logits: Scores, labels: npt.NDArray[np.integer], task: Task) -> Outcomes:
    """Return the answers of one epoch, as `core.losses.base.Loss.answers` gives them to a loss."""
    if task is Task.MULTILABEL:
        certain: Scores = np.abs(logits.astype(np.float64))
        return Outcomes(sigmoid(certain).ravel(), ((logits > 0) == (labels > 0)).ravel())
    confidence = np.empty(len(logits))
    for rows in row_chunks(*logits.shape):
        confidence[rows] = softmax(logits[rows]).max(axis=-1)
    predicted: Int = logits.argmax(axis=-1)
    return Outcomes(confidence, predicted == labels)
