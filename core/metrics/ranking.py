"""Ranking answers: AUROC, average precision, and risk against coverage; numpy only."""

import numpy as np

from core.arrays import Counts, Float
from core.metrics.ranked import SortedOutcomes


def _groups(ranked: SortedOutcomes) -> tuple[Float, Float]:
    """Return positives and negatives of each group of ties, ascending."""
    positives = np.diff(ranked.sum_correct[ranked.cuts])
    rows = np.diff(ranked.sum_weights[ranked.cuts])
    return positives.astype(np.float64), np.maximum(rows - positives, 0.0)


def auroc(ranked: SortedOutcomes) -> float:
    """Return the area under the ROC curve, in [0, 1]; ties count one half.

    NaN where only positives or only negatives are present.

    Examples
    --------
    Of four pairs of a positive and a negative three are in order, and the tie at 0.5 counts half.

    >>> from core.predictions import Outcomes
    >>> came = np.array([False, False, True, True])
    >>> auroc(SortedOutcomes.of(Outcomes(np.array([0.1, 0.5, 0.5, 0.9]), came)))
    0.875
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

    Examples
    --------
    Perfect order leaves no spread, which is why `estimates.discrimination` joins another interval.
    With one pair out of order, the positives beat 1/2 and 1 of the negatives: their mean has the
    variance 2 (1/4)^2 / 2 = 1/16. That of the negatives has the same; the root of 1/8 is 0.3536.

    >>> from core.predictions import Outcomes
    >>> scores = np.array([0.1, 0.2, 0.8, 0.9])
    >>> auroc_error(SortedOutcomes.of(Outcomes(scores, np.array([False, False, True, True]))))
    0.0
    >>> one_off = Outcomes(scores, np.array([False, True, False, True]))
    >>> round(auroc_error(SortedOutcomes.of(one_off)), 4)
    0.3536
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
    # Sums of structural components by unit; those of both outcomes of a unit belong together.
    area = float((positives * beaten).sum() / n_positive)
    tie = np.repeat(np.arange(len(ranked.cuts) - 1), np.diff(ranked.cuts))
    own = np.where(ranked.correct, beaten[tie] / n_positive, beating[tie] / n_negative)
    centre = np.where(ranked.correct, area / n_positive, area / n_negative)
    return float(np.sqrt(ranked.units.sum_variance(ranked.row_weights * (own - centre))))


def _mean_variance(values: Float, weights: Float) -> float:
    """Variance of the mean of values that occur `weights` times."""
    n = weights.sum()
    centre = (values * weights).sum() / n
    return float((weights * (values - centre) ** 2).sum() / max(n - 1.0, 1.0) / n)


def auprc(ranked: SortedOutcomes) -> float:
    """Return the average precision, in [0, 1]; NaN without positives.

    Step-wise sum of precision times the rise of recall, without interpolation, at the ends of
    groups of ties. A model that cannot tell scores the share of positives.

    Examples
    --------
    At 0.9 the precision is 1, at the tie two of three: their mean over the two positives.

    >>> from core.predictions import Outcomes
    >>> came = np.array([False, False, True, True])
    >>> round(auprc(SortedOutcomes.of(Outcomes(np.array([0.1, 0.5, 0.5, 0.9]), came))), 4)
    0.8333
    >>> auprc(SortedOutcomes.of(Outcomes(np.full(4, 0.5), np.arange(4) == 0)))  # one in four
    0.25
    """
    positives, negatives = (group[::-1] for group in _groups(ranked))
    if not positives.any():
        return float("nan")
    true_positives = np.cumsum(positives)
    precision = true_positives / (true_positives + np.cumsum(negatives))
    return float((positives * precision).sum() / true_positives[-1])


SHIFT = 16  # rows by which a sum of fractions is continued before its series is taken


def risk_coverage(ranked: SortedOutcomes) -> tuple[Float, Float]:
    """Return the risk-coverage curve.

    Parameters
    ----------
    ranked : SortedOutcomes
        Answers with their confidence and whether they were right.

    Returns
    -------
    coverage, risk : (G,) float64 each
        Share of rows answered when everything at or above a confidence is answered, ascending
        to 1, and the share of wrong answers among them. One point a distinct confidence.

    Examples
    --------
    The two answers at 0.8 are given together: there are three points for four rows.

    >>> from core.predictions import Outcomes
    >>> right = np.array([False, True, False, True])
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.6, 0.8, 0.8, 0.9]), right))
    >>> coverage, risk = risk_coverage(ranked)
    >>> coverage.tolist(), risk.round(4).tolist()  # none, one of three, two of four are wrong
    ([0.25, 0.75, 1.0], [0.0, 0.3333, 0.5])
    """
    starts = ranked.cuts[-2::-1]
    answered = ranked.total - ranked.sum_weights[starts]
    wrong = answered - (ranked.hits - ranked.sum_correct[starts])
    return answered / ranked.total, wrong / answered


def area(count: Counts, wrong: Counts, n: float) -> Float:
    """Return the mean risk over coverages 1/N..1 of groups in descending confidence.

    Parameters
    ----------
    count, wrong : (..., G) int, or float with weights
        Rows and wrong answers of each group, most confident first. Within a group the errors
        are spread evenly, which is their expectation over all orders of tied rows.
    n : float
        Total number of rows.

    Notes
    -----
    With n0 rows and e0 errors before a group of m rows and e errors, the sum of
    (e0 + e j / m) / (n0 + j) over j = 1..m is e + (e0 - e n0 / m) (H(n0 + m) - H(n0)).

    Examples
    --------
    The surest answer first: risks of 0 and 1/2 where it is right, of 1 and 1/2 where it is wrong.

    >>> float(area(np.array([1, 1]), np.array([0, 1]), 2))
    0.25
    >>> float(area(np.array([1, 1]), np.array([1, 0]), 2))
    0.75
    """
    rows, errors = np.cumsum(count, axis=-1), np.cumsum(wrong, axis=-1)
    before, errors_before = rows - count, errors - wrong
    rate = np.divide(wrong, count, out=np.zeros(np.shape(wrong)), where=count > 0)
    spread = (errors_before - rate * before) * (_harmonic(rows) - _harmonic(before))
    return np.asarray((wrong + spread).sum(axis=-1) / n)


def _harmonic(rows: Counts) -> Float:
    """Return 1 + 1/2 + ... + 1/rows, and between whole numbers what continues it.

    By Euler and Maclaurin's series at `SHIFT` rows more; the terms left out are below 1e-13.
    """
    if np.issubdtype(rows.dtype, np.integer):
        upto = np.arange(1, int(rows.max(initial=0)) + 1)
        return np.asarray(np.concatenate([[0.0], np.cumsum(1.0 / upto)])[rows])
    x = np.maximum(rows, 0.0) + SHIFT  # differences of sums round below 0
    series = np.log(x) + np.euler_gamma + 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4)
    added = sum((1.0 / (x - k) for k in range(SHIFT)), start=np.zeros(x.shape))
    return np.asarray(series - 1 / (252 * x**6) - added)


def aurc(ranked: SortedOutcomes) -> float:
    """Return the area under the risk-coverage curve, in [0, 1]; lower is better.

    Mean over k of the error rate among the k most confident rows (Geifman & El-Yaniv 2017);
    tied rows count in expectation, so their order does not matter.

    Examples
    --------
    Risks among the surest 1 to 4: 0, 1/4 (one of the tied two, either way), 1/3 and 1/2.

    >>> from core.predictions import Outcomes
    >>> right = np.array([False, True, False, True])
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.6, 0.8, 0.8, 0.9]), right))
    >>> round(aurc(ranked), 4)  # 13 / 48
    0.2708
    """
    count = np.diff(ranked.sum_weights[ranked.cuts])[::-1]
    wrong = count - np.diff(ranked.sum_correct[ranked.cuts])[::-1]
    return float(area(count, wrong, ranked.total))


def error_weights(ranked: SortedOutcomes) -> Float:
    """Return what a wrong answer adds to N times the area, (N,): most where it is surest.

    The area is linear in the errors: that of rank j counts in the risk of all coverages from j / N
    on, the sum of 1 / k over k = j..N. In a group of ties every row has the mean over its orders.

    Examples
    --------
    An error of the surest of two answers is in both risks, 1 + 1/2; the other's in the last alone.

    >>> from core.predictions import Outcomes
    >>> ranked = SortedOutcomes.of(Outcomes(np.array([0.2, 0.9]), np.array([True, True])))
    >>> error_weights(ranked).tolist()
    [0.5, 1.5]
    """
    count = np.diff(ranked.sum_weights[ranked.cuts])[::-1]
    ends = np.cumsum(count)
    harmonic = _harmonic(np.concatenate([np.zeros(1, count.dtype), ends]))
    # Of a tie the mean over its orders; of what follows it, every later coverage.
    before, inside, rest = ends - count, np.diff(harmonic), harmonic[-1] - harmonic[1:]
    weights = 1.0 - before / count * inside + rest
    return np.asarray(np.repeat(weights[::-1], np.diff(ranked.cuts)))
