"""Telling positives from negatives: AUROC and average precision; numpy only."""

import numpy as np

from core.arrays import Float
from core.metrics.grouped import groups_of, sum_variance, weights_of
from core.metrics.ranked import SortedOutcomes


def _groups(ranked: SortedOutcomes) -> tuple[Float, Float]:
    """Return positives and negatives of each group of ties, ascending."""
    positives = np.diff(ranked.sum_correct[ranked.cuts])
    rows = np.diff(ranked.sum_weights[ranked.cuts])
    return positives.astype(np.float64), np.maximum(rows - positives, 0.0)


def auroc(ranked: SortedOutcomes) -> float:
    """Return the area under the ROC curve, in [0, 1]; ties count one half.

    NaN where only positives or only negatives are present.
    """
    positives, negatives = _groups(ranked)
    pairs = positives.sum() * negatives.sum()
    if pairs == 0:
        return float("nan")
    below = np.cumsum(negatives) - negatives
    return float((positives * (below + 0.5 * negatives)).sum() / pairs)


def auroc_error(ranked: SortedOutcomes) -> float:
    """Return the standard error of the AUROC (DeLong et al. 1988); NaN with one class.

    Zero where a class has a single row or the classes are perfectly separated. With groups the
    structural components of a group's positives and negatives are summed (Obuchowski 1997).
    """
    positives, negatives = _groups(ranked)
    n_positive, n_negative = positives.sum(), negatives.sum()
    if n_positive * n_negative == 0:
        return float("nan")
    beaten = (np.cumsum(negatives) - 0.5 * negatives) / n_negative
    beating = (n_positive - np.cumsum(positives) + 0.5 * positives) / n_positive
    if ranked.independent:
        variance = _mean_variance(beaten, positives) + _mean_variance(beating, negatives)
        return float(np.sqrt(variance))
    area = float((positives * beaten).sum() / n_positive)
    tie = np.repeat(np.arange(len(ranked.cuts) - 1), np.diff(ranked.cuts))
    own = np.where(ranked.correct, beaten[tie] / n_positive, beating[tie] / n_negative)
    centre = np.where(ranked.correct, area / n_positive, area / n_negative)
    return float(np.sqrt(sum_variance(weights_of(ranked) * (own - centre), groups_of(ranked))))


def _mean_variance(values: Float, weights: Float) -> float:
    """Variance of the mean of values that occur `weights` times."""
    n = weights.sum()
    centre = (values * weights).sum() / n
    return float((weights * (values - centre) ** 2).sum() / max(n - 1.0, 1.0) / n)


def auprc(ranked: SortedOutcomes) -> float:
    """Return the average precision, in [0, 1]; NaN without positives.

    Step-wise sum of precision times the rise of recall, without interpolation, at the ends of
    groups of ties. A model that cannot tell scores the share of positives.
    """
    positives, negatives = (group[::-1] for group in _groups(ranked))
    if not positives.any():
        return float("nan")
    true_positives = np.cumsum(positives)
    precision = true_positives / (true_positives + np.cumsum(negatives))
    return float((positives * precision).sum() / true_positives[-1])
