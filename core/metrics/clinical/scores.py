"""Proper scores of one binary claim, and two tests of calibration; numpy and one scipy function."""

import math
from dataclasses import dataclass

import numpy as np

from core.arrays import Bool, Float
from core.metrics.binning import equal_mass_cuts, sums
from core.metrics.grouped import weights_of
from core.metrics.ranked import SortedOutcomes
from core.metrics.weight_model import shares_by_weight, variance_around
from core.predictions import Outcomes


def spiegelhalter(p: Float, y: Bool) -> tuple[float, float]:
    """Return Spiegelhalter's z and its two-sided p-value; NaN where every p is 0, 0.5 or 1.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks.
    y : (N,) bool
        Events.

    Notes
    -----
    z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)): how far the Brier score lies from
    what it would be if every p were right (Spiegelhalter 1986).
    """
    z = spiegelhalter_z(SortedOutcomes.of(Outcomes(p, y)))
    return z, math.erfc(abs(z) / math.sqrt(2.0))


def spiegelhalter_z(ranked: SortedOutcomes) -> float:
    """Return Spiegelhalter's z; about standard normal for a calibrated score, NaN as above.

    With groups the variance is that of their sums, with weights alone that of independent rows.
    """
    p, lean = ranked.confidence, 1.0 - 2.0 * ranked.confidence
    variance = float((lean**2 * p * (1.0 - p)).sum())
    if variance == 0.0:
        return float("nan")
    each = weights_of(ranked) * (ranked.correct - p) * lean
    if ranked.groups is not None:
        variance = float((np.bincount(ranked.groups, each) ** 2).sum())
    elif ranked.weights is not None:
        vary = variance_around(p, shares_by_weight(ranked))
        variance = float(((ranked.weights * lean) ** 2 * vary).sum())
    return float(each.sum()) / float(np.sqrt(variance)) if variance else float("nan")


def brier_event(ranked: SortedOutcomes) -> float:
    """Return the clinical Brier score, mean (p - y)^2, in [0, 1]; half of a two-class `brier`."""
    squares = (ranked.confidence - ranked.correct) ** 2
    if ranked.weights is not None:
        squares *= ranked.weights
    return float(squares.sum() / ranked.total)


def brier_skill(ranked: SortedOutcomes) -> float:
    """Return 1 - mean (p - y)^2 / (v (1 - v)), v the share of events among these rows.

    At most 1; 0 for a score that states v for every row; NaN where one outcome is present.
    """
    share = ranked.hits / ranked.total
    if share in {0.0, 1.0}:
        return float("nan")
    return 1.0 - brier_event(ranked) / (share * (1.0 - share))


@dataclass(frozen=True)
class HosmerLemeshow:
    """Chi-square statistic, its degrees of freedom, p-value, and the groups that were formed."""

    statistic: float
    df: int
    p_value: float
    groups: int


def hosmer_lemeshow(p: Float, y: Bool, groups: int = 10) -> HosmerLemeshow:
    """Return the Hosmer-Lemeshow test for data that the score was not fitted on.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks.
    y : (N,) bool
        Events.
    groups : int
        Groups of equal counts. Equal risks are never split, so fewer may be formed; the degrees
        of freedom are the groups formed (two less hold only for the data of the fit).

    Notes
    -----
    Its answer depends on the number of groups and, with many rows, is always "no": shown on
    request only (Van Calster et al. 2019). Infinite where a group states 0 or 1 and is wrong.
    """
    ranked = SortedOutcomes.of(Outcomes(p, y))
    cuts = equal_mass_cuts(ranked, groups)
    group_sums = sums(ranked, cuts)
    variance = group_sums.confidence * (1.0 - group_sums.confidence / group_sums.count)
    squares = group_sums.gap**2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(squares == 0.0, 0.0, squares / np.maximum(variance, 0.0))
    statistic, df = float(terms.sum()), len(group_sums.count)
    from scipy.special import gammaincc  # a tenth of a second, which readers do not pay

    return HosmerLemeshow(statistic, df, float(gammaincc(df / 2.0, statistic / 2.0)), df)
