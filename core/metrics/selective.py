"""Answering only when sure: risk against coverage and the area below it; numpy only."""

import numpy as np

from core.arrays import Float, Int
from core.metrics.ranked import Ranked


def risk_coverage(ranked: Ranked) -> tuple[Float, Float]:
    """Return the risk-coverage curve.

    Parameters
    ----------
    ranked : Ranked
        Answers with their confidence and whether they were right.

    Returns
    -------
    coverage, risk : (G,) float64 each
        Share of rows answered when everything at or above a confidence is answered, ascending
        to 1, and the share of wrong answers among them. One point a distinct confidence.
    """
    starts = ranked.cuts[-2::-1]
    answered = ranked.n - starts
    wrong = answered - (ranked.hits - ranked.sum_correct[starts])
    return answered / ranked.n, wrong / answered


def area(count: Int, wrong: Int, n: int) -> Float:
    """Return the mean risk over coverages 1/N..1 of groups in descending confidence.

    Parameters
    ----------
    count, wrong : (..., G) int
        Rows and wrong answers of each group, most confident first. Within a group the errors
        are spread evenly, which is their expectation over all orders of tied rows.
    n : int
        Total number of rows.

    Notes
    -----
    With n0 rows and e0 errors before a group of m rows and e errors, the sum of
    (e0 + e j / m) / (n0 + j) over j = 1..m is e + (e0 - e n0 / m) (H(n0 + m) - H(n0)).
    """
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, n + 1))])
    rows, errors = np.cumsum(count, axis=-1), np.cumsum(wrong, axis=-1)
    before, errors_before = rows - count, errors - wrong
    rate = wrong / np.maximum(count, 1)
    spread = (errors_before - rate * before) * (harmonic[rows] - harmonic[before])
    return np.asarray((wrong + spread).sum(axis=-1) / n)


def aurc(ranked: Ranked) -> float:
    """Return the area under the risk-coverage curve, in [0, 1]; lower is better.

    Mean over k of the error rate among the k most confident rows (Geifman & El-Yaniv 2017);
    tied rows count in expectation, so their order does not matter.
    """
    count = np.diff(ranked.cuts)[::-1]
    wrong = count - np.diff(ranked.sum_correct[ranked.cuts])[::-1]
    return float(area(count, wrong, ranked.n))
