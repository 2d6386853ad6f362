"""How well a score tells the two sets of a `Separation`: the numbers themselves; numpy only."""

import numpy as np

from core import arrays
from core.arrays import Float, Int
from core.ood.separation import Separation

KEEP = 0.95  # of the positive class, at the threshold of the false-positive rates
ROUNDING = 1e-11  # of a share: by so much a sum of weights may fall short of it


def auroc(separation: Separation) -> float:
    """Return how often a random out-of-distribution row scores higher; ties count one half."""
    beaten = np.cumsum(separation.inside) - 0.5 * separation.inside
    won, pairs = (separation.outside * beaten).sum(), separation.total_in * separation.total_out
    if separation.weighted:  # exactly 1 where the sets are perfectly separated, for all rounding
        pairs = won + (separation.outside * (separation.total_in - beaten)).sum()
    return float(won / pairs)


def auroc_error(separation: Separation) -> float:
    """Return the standard error of the AUROC (DeLong et al. 1988).

    Zero where both sets hold one row, or where they are perfectly separated. With groups the
    structural components of a group are summed (Obuchowski 1997); a weighted row is a group.
    """
    beaten, beating = components(separation)
    if separation.members is not None:
        own, other = separation.members
        return float(np.sqrt(other.variance(beaten) + own.variance(beating)))
    return float(
        np.sqrt(
            _row_variance(beaten, separation.outside) + _row_variance(beating, separation.inside)
        )
    )


def components(separation: Separation) -> tuple[Float, Float]:
    """Return for each value the shares of either set that a row of the other is right against.

    Returns
    -------
    beaten, beating : (G,) float64 each
        For an out-of-distribution row the in-distribution ones that it beats, and for an
        in-distribution row the others that beat it; ties count one half.
    """
    n, m = separation.total_in, separation.total_out
    beaten = (np.cumsum(separation.inside) - 0.5 * separation.inside) / n
    beating = (m - np.cumsum(separation.outside) + 0.5 * separation.outside) / m
    return beaten, beating


def effective_sizes(separation: Separation) -> tuple[float, float]:
    """Return the effective sample size of either set for the AUROC."""
    if separation.members is None:
        return separation.n_in, separation.n_out
    beaten, beating = components(separation)
    return separation.members[0].effective_size(beating), separation.members[1].effective_size(
        beaten
    )


def _row_variance(values: Float, rows: Int) -> float:
    """Return the variance of the mean of values that occur in so many rows."""
    n = int(rows.sum())
    centre = float(values @ rows) / n
    return float(rows @ (values - centre) ** 2) / max(n - 1, 1) / n


def aupr_out(separation: Separation) -> float:
    """Return the average precision with out-of-distribution positive."""
    return float(average_precisions(separation.outside[::-1], separation.inside[::-1]))


def aupr_in(separation: Separation) -> float:
    """Return the average precision with in-distribution positive."""
    return float(average_precisions(separation.inside, separation.outside))


def fpr95(separation: Separation) -> float:
    """Return the share of in-distribution rows flagged where 95 % of the others are.

    Out-of-distribution is positive: the highest threshold that flags at least that share.
    """
    return float(false_positive_shares(separation.outside[::-1], separation.inside[::-1]))


def fpr95_in(separation: Separation) -> float:
    """Return the share of out-of-distribution rows that pass where 95 % of the others do.

    In-distribution is positive: the lowest threshold that lets at least that share pass.
    """
    return float(false_positive_shares(separation.inside, separation.outside))


def detection_error(separation: Separation) -> float:
    """Return the smallest mean of missed share and false alarms over all thresholds."""
    return float(detection_errors(separation.inside, separation.outside))


def average_precisions(positives: arrays.Counts, negatives: arrays.Counts) -> Float:
    """Return the step-wise area under precision and recall of (..., G) counts, best first."""
    true_positives = np.cumsum(positives, axis=-1)
    flagged = true_positives + np.cumsum(negatives, axis=-1)
    precision = np.divide(true_positives, flagged, out=np.zeros(flagged.shape), where=flagged > 0)
    precision *= positives
    return np.asarray(precision.sum(axis=-1) / true_positives[..., -1])


def false_positive_shares(positives: arrays.Counts, negatives: arrays.Counts) -> Float:
    """Return the share of negatives seen where 95 % of the positives are; counts best first."""
    true_positives = np.cumsum(positives, axis=-1)
    enough = true_positives >= needed(true_positives[..., -1:], KEEP)
    at = np.expand_dims(enough.argmax(axis=-1), -1)
    false_alarms = np.cumsum(negatives, axis=-1)
    return np.asarray(np.take_along_axis(false_alarms, at, -1)[..., 0] / false_alarms[..., -1])


def needed(total: arrays.Counts, share: float) -> Float:
    """Return what rows or their weight must reach to be a share of all, free of rounding."""
    return np.asarray(total * share * (1.0 - ROUNDING))


def detection_errors(inside: arrays.Counts, outside: arrays.Counts) -> Float:
    """Return the smallest mean of missed share and false alarms of (..., G) counts."""
    passed_in, passed_out = np.cumsum(inside, axis=-1), np.cumsum(outside, axis=-1)
    sums = passed_out / passed_out[..., -1:] - passed_in / passed_in[..., -1:]
    return np.asarray(0.5 + 0.5 * sums.min(axis=-1))  # flagging none is the last cut


NUMBERS = {
    "auroc": auroc,
    "aupr_out": aupr_out,
    "aupr_in": aupr_in,
    "fpr95": fpr95,
    "fpr95_in": fpr95_in,
    "detection_error": detection_error,
}
