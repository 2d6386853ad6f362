"""Upper ends of mean losses that a few wrong answers decide; scipy.

Resamples of rows see no error that did not happen: of a model that errs once in a thousand rows,
a third of the samples of so many rows hold no error at all. Given its scores, a mean loss is what
it would be without an error and a weighted count of errors. That count is bounded as a weighted
sum of Poisson counts, with one error more than was seen, as heavy as the claims expect it to be.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from core.arrays import Float, sigmoid, total
from core.metrics.intervals import quantile
from core.metrics.ranked import SortedOutcomes
from core.metrics.ranking import error_weights
from core.metrics.units import RowUnits, design_effect
from core.predictions import Predictions, SamplingDesign

SAMPLED = 200  # rows that an unseen error is averaged over, as the claims put errors on rows


class Unseen(NamedTuple):
    """What an error that was not seen adds to the loss of its row: mean, and mean square."""

    mean: float
    square: float


class Losses(NamedTuple):
    """The loss of every row, and what errors add to it."""

    of_row: Float  # (N,), the loss
    extra: Float  # (N,), by how much it would be less had the answer been right; 0 where it is
    unseen: Unseen  # the same of one more error


def upper_end(losses: Losses, sampling: SamplingDesign, level: float) -> float:
    """Return the upper end of a mean loss, however few its errors.

    Parameters
    ----------
    losses : Losses
        The loss of each row, taken apart.

    Returns
    -------
    float
        Infinite where one more error would be.

    Notes
    -----
    The weighted count of errors is bounded by the gamma distribution with its mean and variance
    and those of one more error (Fay and Feuer 1997, with the mean weight in place of the largest,
    as Tiwari, Clegg and Zou 2006); of equal weights that is the exact bound of a Poisson count.
    Above the mean the end reaches as far as this and the normal bound of the rest do, added in
    squares. Groups widen the variance by the design effect of the errors: those of a group that is
    all right or all wrong are one event. The unseen error is as many as that effect says.

    Examples
    --------
    A hundred answers without an error, which would cost 1: exact bound of a Poisson count of 0.

    >>> none = np.zeros(100)
    >>> losses = Losses(of_row=none, extra=none, unseen=Unseen(mean=1.0, square=1.0))
    >>> round(upper_end(losses, SamplingDesign(), 0.95), 4)  # -ln 0.025 / 100
    0.0369
    """
    from scipy.special import gammaincinv  # a tenth of a second, which readers do not pay

    unseen, units = losses.unseen, RowUnits.of(losses.extra.size, sampling)
    weights, extra = units.weights, losses.extra[units.counted]
    right = weights * (losses.of_row[units.counted] - extra)
    rows = total(weights)
    events, rest = weights * extra, right - weights * (total(right) / rows)
    more, wider = total(weights**2) / rows, 1.0
    if sampling.groups is not None:
        more = units.design_effect(losses.extra)
        wider = more / design_effect(extra, SamplingDesign(None, weights))
        rest = np.bincount(units.of_row, rest).astype(np.float64)
    seen = total(events)
    mean, variance = seen + more * unseen.mean, wider * total(events**2) + more**2 * unseen.square
    if not np.isfinite(variance):
        return float("inf")
    if mean == 0.0:  # every class has the same probability: an error costs what a right answer does
        return float(total(right) + quantile(level) * total(rest**2) ** 0.5) / rows
    # Gamma law of seen and unseen errors together, of their mean and variance.
    bound = variance / mean * float(gammaincinv(mean**2 / variance, 0.5 + level / 2))
    # What else varies is normal; both reach up at once, so squares are added.
    reach = quantile(level) * total(rest**2) ** 0.5
    farther = float(np.hypot(max(0.0, bound - seen), reach))
    return (total(right) + seen + farther) / rows


def risk_losses(ranked: SortedOutcomes) -> Losses:
    """Return the area under risk and coverage as a mean over sorted rows; errors alone add to it.

    One error where the model is sure weighs more than several where it is not, and claims that
    are too sure expect none there: the unseen one is put where claims half as sure, their logits
    halved, would put it.
    """
    each, claim = error_weights(ranked), ranked.confidence
    with np.errstate(divide="ignore"):
        half = (np.log1p(-claim) - np.log(claim)) / 2
    extra = np.where(ranked.correct, 0.0, each)
    return Losses(extra, extra, _averages(each, sigmoid(half)))


def nll_losses(predictions: Predictions, loss: Float, clip: float | None = None) -> Losses:
    """Return the NLL of each row, to which an error adds ln(c / p of the truth)."""
    rows, least = predictions.rows, -np.inf if clip is None else np.log(clip)
    right = np.where(rows.correct, loss, np.abs(np.maximum(np.log(rows.confidence), least)))

    def extra(log_p: Float, best: Float) -> Float:
        return np.maximum(best, least) - np.maximum(log_p, least)

    return Losses(loss, np.maximum(loss - right, 0.0), _unseen(predictions, extra))


def brier_losses(predictions: Predictions) -> Losses:
    """Return the Brier score of each row, to which an error adds 2 (c - p of the truth).

    Examples
    --------
    Wrong with 0.75 against 0.25 costs 2 x 0.75², right it would have cost 2 x 0.25².

    >>> from core.predictions import ScoreKind, Task
    >>> p = np.array([[0.75, 0.25]])
    >>> of_two = Predictions(Task.MULTICLASS, ScoreKind.PROBABILITIES, p, np.array([1]))
    >>> losses = brier_losses(of_two)
    >>> losses.of_row.round(6).tolist(), losses.extra.round(6).tolist()
    ([1.125], [1.0])
    """
    rows = predictions.rows
    extra = 2.0 * (rows.confidence - np.exp(rows.log_p_true))
    extra = np.where(rows.correct, 0.0, np.maximum(extra, 0.0))

    def adds(log_p: Float, best: Float) -> Float:
        return 2.0 * (np.exp(best) - np.exp(log_p))

    return Losses(rows.brier, extra, _unseen(predictions, adds))


def _unseen(predictions: Predictions, adds: Callable[[Float, Float], Float]) -> Unseen:
    """Return what one more error adds, as the probabilities put errors on rows and classes.

    `adds` takes log p of the classes and of the answer. Of many classes SAMPLED rows stand for
    all, each for as much of the error that is expected; in an order that is not the file's.
    """
    claim = predictions.rows.confidence
    missing = 1.0 - claim
    if predictions.n_classes == 2:
        with np.errstate(divide="ignore"):
            return _averages(adds(np.log1p(-claim), np.log(claim)), missing)
    # In the order of claims, not the file's: each stands for as much expected error as the next.
    order = np.lexsort((predictions.rows.brier, claim))
    passed = np.cumsum(missing[order]) if missing.any() else np.arange(1.0, claim.size + 1)
    at = np.searchsorted(passed, passed[-1] * (np.arange(SAMPLED) + 0.5) / SAMPLED)
    log_p = predictions.take(order[at]).log_probabilities()
    best = log_p.argmax(axis=1)[:, None]
    extra, others = adds(log_p, np.take_along_axis(log_p, best, axis=1)), np.exp(log_p)
    # An error is any class but the answer, as likely as it is stated.
    np.put_along_axis(others, best, 0.0, axis=1)
    if not others.any():
        np.put_along_axis(others, (best + 1) % log_p.shape[1], 1.0, axis=1)
    others /= np.maximum(others.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return _averages(extra.ravel(), others.ravel())


def _averages(extra: Float, by: Float) -> Unseen:
    """Return mean and mean square of what errors add where they are likely, or anywhere at all."""
    likely = by > 0.0
    if likely.any():
        extra, by = extra[likely], by[likely]
    else:
        by = np.ones(extra.size)
    whole = total(by)
    return Unseen(total(by * extra) / whole, total(by * extra**2) / whole)
