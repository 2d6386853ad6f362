"""Answering only when sure: risk against coverage and the area below it; numpy only."""

import numpy as np

from core.arrays import Counts, Float
from core.metrics.ranked import SortedOutcomes

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
    """
    count = np.diff(ranked.sum_weights[ranked.cuts])[::-1]
    wrong = count - np.diff(ranked.sum_correct[ranked.cuts])[::-1]
    return float(area(count, wrong, ranked.total))


def error_weights(ranked: SortedOutcomes) -> Float:
    """Return what a wrong answer adds to N times the area, (N,): most where it is surest.

    The area is linear in the errors: that of rank j counts in the risk of all coverages from j / N
    on, the sum of 1 / k over k = j..N. In a group of ties every row has the mean over its orders.
    """
    count = np.diff(ranked.sum_weights[ranked.cuts])[::-1]
    ends = np.cumsum(count)
    harmonic = _harmonic(np.concatenate([np.zeros(1, count.dtype), ends]))
    before, inside, rest = ends - count, np.diff(harmonic), harmonic[-1] - harmonic[1:]
    weights = 1.0 - before / count * inside + rest
    return np.asarray(np.repeat(weights[::-1], np.diff(ranked.cuts)))
