"""Mean and weak calibration, and tests of one binary claim; numpy and one scipy function.

Calibration in the large, slope and intercept are logistic regressions of the outcome on logit(p),
unpenalised, by Newton's method over the distinct claims. There are two intercepts: `citl` holds the
slope at 1, `intercept` is fitted with it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from core.arrays import Bool, Float, sigmoid
from core.defaults import LEVEL
from core.metrics.binning import equal_mass_cuts, sums
from core.metrics.intervals import quantile, student, wilson
from core.metrics.ranked import SortedOutcomes
from core.metrics.records import Score, Setting
from core.metrics.resampling import shares_by_weight, variance_around
from core.metrics.units import UNEVEN, degrees_of_freedom, intraclass_correlation
from core.predictions import INDEPENDENT, Outcomes, SamplingDesign

CLIP: Final = 1e-12  # exact 0 and 1 have no logit
EXTREME: Final = 1e-6  # rows nearer to 0 or 1 can decide a slope by themselves
SWAY: Final = 0.1  # of the slope's interval: a larger shift raises a notice
STEPS: Final = 200
CLOSE: Final = 1e-10  # a step in standardised logits that ends the search
SAME: Final = 1e-9  # logits closer than this state the same risk
JOINT: Final = "logistic on logit(p), slope and intercept together"
WALD: Final = "Wald"
WIDER: Final = "Wald, or with residuals in place of the fitted spread, whichever is wider"
FEW: Final = "fewer than three groups tell nothing of how far it may be off"
FEWEST_GROUPS: Final = 3
FEWEST_EVENTS: Final = 2  # rows of the rarer outcome, of which a spread can be told
BY_GROUP: Final = "Wald, variance over groups"
SHARE: Final = "Wilson interval of the share, stated risk taken as given"
Estimated = Sequence[float] | str  # value, low, high, or why there are none


@dataclass(frozen=True, kw_only=True)
class Recalibration:
    """Mean and weak calibration of one binary score.

    Notes
    -----
    What cannot be estimated has no value, and its `reason` says why.
    """

    # Intercept of the logistic regression with offset logit(p), slope held at 1; ideal 0, above 0:
    # more events than stated
    in_the_large: Score
    # slope, intercept: of the joint logistic regression on logit(p); ideal 1 and 0. A slope below
    # 1: too extreme.
    slope: Score
    intercept: Score
    observed_expected: Score  # events over the sum of p; ideal 1
    difference: Score  # share of events minus mean p; ideal 0
    # n, events: rows and events
    n: int
    events: int
    # mean, rate: mean p and share of events, by weight
    mean: float
    rate: float
    rarer: float  # how many independent rows the rarer of events and non-events is worth
    clipped: int  # rows whose p is exactly 0 or 1 and was moved by 1e-12 to have a logit
    # Rows whose p is less than 1e-6 from 0 or 1, the clipped ones included: their logits lie so far
    # out that a handful can decide the slope
    extreme: int
    # Whether they do: without them the slope moves by more than a tenth of its interval, or has
    # none
    swayed: bool


def recalibration(
    p: Float, y: Bool, level: float = LEVEL, *, sampling: SamplingDesign = INDEPENDENT
) -> Recalibration:
    """Return calibration in the large, slope and intercept, O:E and the mean difference.

    Parameters
    ----------
    p : (N,) float64 in [0, 1]
        Stated risks, N >= 1.
    y : (N,) bool
        Events.
    level : float
        Of the intervals: Wald for the regressions; for the last two Wilson's of the share of
        events, with the stated risk taken as given.
    sampling : SamplingDesign
        Groups and weights of the rows. With groups the regressions' variances are those of
        `_DistinctClaims.meat`, with weights alone those of independent rows; with either the share
        counts its effective rows.

    Examples
    --------
    Risks of 0.1 and 0.9 that should be 0.25 and 0.75: logits of ln 3 in place of ln 9, so a slope
    of 0.5, though as many events are stated as came.

    >>> p = np.repeat([0.1, 0.9], 4)
    >>> y = np.array([True, False, False, False, True, True, True, False])
    >>> fit = recalibration(p, y)
    >>> round(fit.slope.value, 6), abs(round(fit.in_the_large.value, 6))
    (0.5, 0.0)
    >>> round(fit.observed_expected.value, 6), abs(round(fit.difference.value, 6))
    (1.0, 0.0)

    One stated risk bears no slope.

    >>> fit = recalibration(np.full(4, 0.25), np.array([True, True, False, False]))
    >>> fit.observed_expected.value, fit.slope.reason
    (2.0, 'every row states the same risk')
    """
    ranked = SortedOutcomes.of(Outcomes(p, y, *sampling))
    claims = _DistinctClaims.of(ranked)
    n, events, total = ranked.n, ranked.hits, float(ranked.total)
    mean, rate = float(claims.rows @ claims.p / total), events / total
    effective_n = ranked.effective_n(ranked.correct)
    df = degrees_of_freedom(ranked.sampling)
    share = (
        rate,
        *map(float, wilson(np.array(rate * effective_n), np.array(effective_n), level, df)),
    )
    # Stated risks are taken as given, so the share alone has an interval.
    ratio = [s / mean for s in share] if mean > 0.0 else "every stated risk is 0"
    large, lines = _in_the_large(claims, level), _joint(claims, level)
    slope, line = (lines, lines) if isinstance(lines, str) else lines
    wald = WALD if ranked.groups is None else BY_GROUP
    offset_interval = WIDER if ranked.groups is None else wald  # whose slope may not be 1

    def score(metric: str, estimate: Estimated, **settings: Setting) -> Score:
        both = {**settings, "events": events, "clipped": claims.clipped}
        if isinstance(estimate, str):
            return Score.undefined(metric, level, n, estimate, both)
        value, low, high = estimate
        if not math.isfinite(high):
            return Score(metric, value, None, None, level, n, both, FEW)
        return Score(
            metric=metric, value=value, low=low, high=high, level=level, n=n, settings=both
        )

    return Recalibration(
        in_the_large=score(
            "citl", large, fit="offset logit(p), slope held at 1", interval=offset_interval
        ),
        slope=score("slope", slope, fit=JOINT, interval=wald),
        intercept=score("intercept", line, fit=JOINT, interval=wald),
        observed_expected=score("observed_expected", ratio, interval=SHARE),
        difference=score("difference", [s - mean for s in share], interval=SHARE),
        n=n,
        events=int(np.count_nonzero(ranked.correct)),
        mean=mean,
        rate=rate,
        rarer=ranked.effective_rarer,
        clipped=claims.clipped,
        extreme=int(np.count_nonzero((p < EXTREME) | (p > 1.0 - EXTREME))),
        swayed=_swayed(claims, slope, level),
    )


def citl(ranked: SortedOutcomes) -> float:
    """Return calibration in the large; NaN where only one outcome is present.

    Examples
    --------
    Three of four came of a risk of 0.5: odds of 3 for 1, whose logarithm is the intercept.

    >>> p, y = np.full(4, 0.5), np.array([True, True, True, False])
    >>> round(citl(SortedOutcomes.of(Outcomes(p, y))), 4)  # ln 3
    1.0986
    """
    return _value(recalibrated(ranked).in_the_large)


def slope(ranked: SortedOutcomes) -> float:
    """Return the calibration slope; NaN where it cannot be estimated.

    Examples
    --------
    >>> p = np.repeat([0.1, 0.9], 4)  # too extreme: of either four 0.25 and 0.75 came
    >>> y = np.array([True, False, False, False, True, True, True, False])
    >>> round(slope(SortedOutcomes.of(Outcomes(p, y))), 6)  # ln 3 / ln 9
    0.5
    >>> splits = SortedOutcomes.of(Outcomes(np.array([0.1, 0.9]), np.array([False, True])))
    >>> slope(splits)  # no line fits what one stated risk splits
    nan
    """
    return _value(recalibrated(ranked).slope)


def intercept(ranked: SortedOutcomes) -> float:
    """Return the calibration intercept fitted with the slope; NaN where it has no estimate.

    Examples
    --------
    Stated 0.5 and 0.9, came 0.75 and 0.75: no slope is left, and 0.75 where it states one half.

    >>> p = np.repeat([0.5, 0.9], 4)
    >>> y = np.array([True, True, True, False, True, True, True, False])
    >>> ranked = SortedOutcomes.of(Outcomes(p, y))
    >>> round(intercept(ranked), 4), abs(round(slope(ranked), 6))  # ln 3
    (1.0986, 0.0)
    """
    return _value(recalibrated(ranked).intercept)


def recalibrated(ranked: SortedOutcomes, level: float = LEVEL) -> Recalibration:
    """Return the same of sorted rows, with their groups and weights."""
    sampling = ranked.sampling
    return recalibration(ranked.confidence, ranked.correct, level, sampling=sampling)


def _value(score: Score) -> float:
    return float("nan") if score.value is None else score.value


def _swayed(claims: "_DistinctClaims", slope: Estimated, level: float) -> bool:
    """Whether the slope is another one, or there is none, without rows next to 0 or 1."""
    inside = (claims.p >= EXTREME) & (claims.p <= 1.0 - EXTREME)
    if isinstance(slope, str) or inside.all():
        return False
    if not inside.any():
        return True
    rest = _joint(claims.of_those(inside), level, whole=False)
    if isinstance(rest, str) or isinstance(rest[0], str):
        return True
    value, low, high = slope
    return abs(rest[0][0] - value) > SWAY * (high - low)


@dataclass(frozen=True)
class _DistinctClaims:
    """Distinct claims (D,) with their logit, rows and events; products of floats are fast."""

    p: Float
    logit: Float
    rows: Float
    events: Float
    clipped: int
    ranked: SortedOutcomes  # the rows themselves, for variances by group

    @classmethod
    def of(cls, ranked: SortedOutcomes) -> "_DistinctClaims":
        distinct = ranked.confidence[ranked.cuts[:-1]]
        rows, events = sums(ranked, ranked.cuts).count, np.diff(ranked.sum_correct[ranked.cuts])
        inside = np.clip(distinct, CLIP, 1.0 - CLIP)
        extreme = (distinct == 0.0) | (distinct == 1.0)
        clipped = int(np.diff(ranked.cuts)[extreme].sum())
        logit = np.log(inside) - np.log1p(-inside)
        sums_of = rows.astype(np.float64), events.astype(np.float64)
        return cls(distinct, logit, *sums_of, clipped, ranked)

    def of_those(self, kept: Bool) -> "_DistinctClaims":
        """Return the claims that are kept; of their rows only the sums are."""
        rows, events = self.rows[kept], self.events[kept]
        return _DistinctClaims(
            p=self.p[kept],
            logit=self.logit[kept],
            rows=rows,
            events=events,
            clipped=self.clipped,
            ranked=self.ranked,
        )

    @cached_property
    def shares(self) -> Float | None:
        """How often outcomes come true by claim and weight, where weights tell more than claims."""
        return shares_by_weight(self.ranked)

    def quantile(self, level: float) -> float:
        """Return the quantile of the intervals: Student's, as of so many equal groups, with groups.

        Fewer where squared sums of groups are the variance, as few events make these uneven:
        1 / df gains one over the rows of the rarer outcome that count for themselves. Infinite
        below `FEWEST_GROUPS`, of which the variance of two numbers cannot be told.
        """
        df = degrees_of_freedom(self.ranked.sampling)
        if math.isinf(df):
            return quantile(level)
        if self.ranked.units.count < FEWEST_GROUPS:
            return float("inf")
        if not self.ruled:
            df = max(1.0, 1.0 / (1.0 / df + 1.0 / self.ranked.effective_rarer))
        return student(level, df)

    @cached_property
    def ruled(self) -> bool:
        """Whether groups vary in size like fewer than 100 equal ones."""
        return self.ranked.units.concentration > UNEVEN

    def meat(self, share: Float, design: Float) -> Float:
        """Return the variance of the scores of rows with weights or groups, (d, d).

        Of groups their summed squares, times G / (G - 1). Where groups vary in size like fewer
        than 100 equal ones, these would take most of its own deviation off a group that rules the
        line: there outcomes vary as the fitted share says, or as residuals do if that is more, and
        are as alike within groups as the analysis of variance finds the residuals. Weighted rows
        are independent: their outcomes vary as the fitted share says, or as weights tell, which a
        few heavy ones by themselves cannot.

        Parameters
        ----------
        share : (D,) float64
            Fitted share of each claim.
        design : (D, d) float64
            Regressors of each claim.
        """
        ranked = self.ranked
        if ranked.groups is None:
            fitted = np.repeat(share, np.diff(ranked.cuts))
            squares = ranked.row_weights**2 * variance_around(fitted, self.shares)
            return np.asarray((design.T * np.add.reduceat(squares, ranked.cuts[:-1])) @ design)
        groups, weights = ranked.units.of_row, ranked.row_weights
        claim = np.repeat(np.arange(self.p.size), np.diff(ranked.cuts))
        residual = ranked.correct - share[claim]

        def by_group(of_row: Float) -> Float:
            """Return the sums over groups of the regressors, times so much for each row, (G, d)."""
            sums_of = [np.bincount(groups, of_row * column[claim]) for column in design.T]
            return np.stack(sums_of, axis=1)

        if self.ruled and len(groups) > groups.max() + 1 > 1:
            spread = weights * np.sqrt(share * (1.0 - share))[claim]
            total = float(np.sum((weights * residual) ** 2))  # shares may be off one by one
            spread *= np.sqrt(max(1.0, total / float(spread @ spread)))
            rho = intraclass_correlation(residual, groups)
            together, alone = by_group(spread), np.bincount(claim, spread**2, self.p.size)
            alike = rho * (together.T @ together)
            return np.asarray(alike + (1.0 - rho) * ((design.T * alone) @ design))
        # Squares of summed scores, for which no model of likeness is needed.
        scores = by_group(weights * residual)
        return np.asarray(scores.T @ scores * len(scores) / max(len(scores) - 1, 1))


def _one_outcome(claims: _DistinctClaims) -> str:
    n, events = claims.rows.sum(), claims.events.sum()
    if 0 < events < n:
        return ""
    return f"only one outcome is present: {events:,.10g} of {n:,.10g} are events"


def _in_the_large(claims: _DistinctClaims, level: float) -> Estimated:
    """Return the intercept with offset and its interval, or why there is none.

    The expected number of events rises with the intercept, so Newton's steps are kept inside a
    bracket that shrinks around the root.
    """
    reason = _one_outcome(claims)
    if reason:
        return reason
    rows, logit, events = claims.rows, claims.logit, claims.events.sum()
    # Were all logits the lowest or the highest, the root would be here: between the two it lies.
    centre = np.log(events) - np.log(rows.sum() - events)
    low, high = centre - logit.max(), centre - logit.min()
    at = float(np.clip(0.0, low, high))
    for _ in range(STEPS):
        share = sigmoid(logit + at)
        excess, rise = rows @ share - events, rows @ (share * (1.0 - share))
        low, high = (low, at) if excess > 0.0 else (at, high)
        step = at - excess / rise if rise > 0.0 else np.inf
        new = step if low <= step <= high else (low + high) / 2.0
        done = abs(new - at) <= 1e-13 * max(1.0, abs(at))
        at = float(new)
        if done:
            break
    share = sigmoid(logit + at)
    # Of independent rows one over the information; else that around the variance of scores.
    information = float(rows @ (share * (1.0 - share)))
    variance = 1.0 / information
    if not claims.ranked.independent:
        variance *= variance * float(claims.meat(share, np.ones((rows.size, 1)))[0, 0])
    half = claims.quantile(level) * variance**0.5
    if claims.ranked.groups is None:
        half = max(half, _by_residuals(claims.ranked, share, level) / information)
    return at, at - half, at + half


def _by_residuals(ranked: SortedOutcomes, share: Float, level: float) -> float:
    """Return how far the sum of events may be off, by what outcomes differ from fitted shares.

    With the slope held at 1 the shares may be off one by one, so that outcomes do not vary as
    they say. Student's quantile counts the rows of the rarer outcome, less one: they alone tell.

    Parameters
    ----------
    ranked : SortedOutcomes
        Rows that are not grouped.
    share : (D,) float64
        Fitted share of each claim.
    """
    rarer = ranked.effective_rarer
    if rarer < FEWEST_EVENTS:
        return 0.0
    squares = ranked.row_weights**2 * (ranked.correct - np.repeat(share, np.diff(ranked.cuts))) ** 2
    spread = float(squares.sum()) * ranked.n / (ranked.n - 1)
    return float(student(level, rarer - 1.0) * spread**0.5)


def _joint(
    claims: _DistinctClaims, level: float, *, whole: bool = True
) -> tuple[Estimated, Estimated] | str:
    """Return slope and intercept with their intervals, or why there are none.

    `whole` is False for some of the claims, where the values are asked for alone.
    """
    reason = _one_outcome(claims) or _separated(claims)
    if reason:
        return reason
    rows = claims.rows
    # Logits are standardised, so that a step is as large whatever the claims.
    centre = float(rows @ claims.logit / rows.sum())
    scale = float(np.sqrt(rows @ (claims.logit - centre) ** 2 / rows.sum()))
    design = np.column_stack([np.ones(rows.size), (claims.logit - centre) / scale])
    try:
        beta, information = _newton(design, rows, claims.events)
        spread = np.linalg.inv(information)
        if whole and not claims.ranked.independent:
            spread = spread @ claims.meat(sigmoid(design @ beta), design) @ spread
    except np.linalg.LinAlgError:
        return "separated but for rows whose stated risks hardly differ"
    # back from the standardised logit: slope b1 / s, intercept b0 - b1 m / s
    back = np.array([[0.0, 1.0 / scale], [1.0, -centre / scale]])
    values = back @ beta
    half = claims.quantile(level) * np.sqrt(np.diag(back @ spread @ back.T))
    slope, intercept = np.stack([values, values - half, values + half], axis=1).tolist()
    return slope, intercept


def _newton(design: Float, rows: Float, events: Float) -> tuple[Float, Float]:
    """Return the coefficients of a logistic regression and the information there.

    Raises numpy.linalg.LinAlgError: the information vanishes, or the search does not end.
    """
    beta = np.array([np.log(events.sum()) - np.log((rows - events).sum()), 0.0])
    loss = _loss(design @ beta, rows, events)
    for _ in range(STEPS):
        share = sigmoid(design @ beta)
        information = (design * (rows * share * (1.0 - share))[:, None]).T @ design
        step = np.linalg.solve(information, design.T @ (rows * share - events))
        if np.abs(step).max() <= CLOSE * max(1.0, np.abs(beta).max()):
            return beta, information
        # Nearly separated rows make full steps overshoot: they are halved until the loss falls.
        most = loss + CLOSE * abs(loss)  # it rounds
        while (loss := _loss(design @ (beta - step), rows, events)) > most:
            step /= 2.0
        beta = beta - step
    raise np.linalg.LinAlgError


def _separated(claims: _DistinctClaims) -> str:
    """Say why no line fits: one stated risk, or one that splits events from the others."""
    logit = claims.logit  # two risks may have one logit, by clipping
    if np.ptp(logit) < SAME:
        return "every row states the same risk"
    with_event, without = logit[claims.events > 0], logit[claims.events < claims.rows]
    separated = without.max() <= with_event.min() or with_event.max() <= without.min()
    return "separated: one stated risk splits events from non-events" if separated else ""


def _loss(eta: Float, rows: Float, events: Float) -> float:
    """Return minus the log-likelihood."""
    return float(rows @ np.logaddexp(0.0, eta) - events @ eta)


def spiegelhalter_z(ranked: SortedOutcomes) -> float:
    """Return Spiegelhalter's z; about standard normal for a calibrated score.

    NaN where every p is 0, 0.5 or 1. With groups the variance is that of their sums, with weights
    alone that of independent rows.

    Notes
    -----
    z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)): how far the Brier score lies from
    what it would be if every p were right (Spiegelhalter 1986).

    Examples
    --------
    >>> risk = SortedOutcomes.of(Outcomes(np.array([0.2]), np.array([True])))
    >>> round(spiegelhalter_z(risk), 6)  # 0.8 x 0.6 / sqrt(0.6² x 0.2 x 0.8)
    2.0
    >>> even = SortedOutcomes.of(Outcomes(np.full(2, 0.5), np.array([True, True])))
    >>> spiegelhalter_z(even)  # the Brier score of a risk of 0.5 is the same whatever comes
    nan
    """
    p, lean = ranked.confidence, 1.0 - 2.0 * ranked.confidence
    variance = float((lean**2 * p * (1.0 - p)).sum())
    if variance == 0.0:
        return float("nan")
    each = ranked.row_weights * (ranked.correct - p) * lean
    # By the claims rows vary as p (1 - p); groups and weights by what their own sums do.
    if ranked.groups is not None:
        variance = float((np.bincount(ranked.groups, each) ** 2).sum())
    elif ranked.weights is not None:
        vary = variance_around(p, shares_by_weight(ranked))
        variance = float(((ranked.weights * lean) ** 2 * vary).sum())
    return float(each.sum()) / float(np.sqrt(variance)) if variance else float("nan")


def brier_event(ranked: SortedOutcomes) -> float:
    """Return the clinical Brier score, mean (p - y)^2, in [0, 1]; half of a two-class `brier`.

    Examples
    --------
    >>> brier_event(SortedOutcomes.of(Outcomes(np.array([0.75, 0.5]), np.array([True, False]))))
    0.15625
    """
    squares = (ranked.confidence - ranked.correct) ** 2
    if ranked.weights is not None:
        squares *= ranked.weights
    return float(squares.sum() / ranked.total)


def brier_skill(ranked: SortedOutcomes) -> float:
    """Return 1 - mean (p - y)^2 / (v (1 - v)), v the share of events among these rows.

    At most 1; 0 for a score that states v for every row; NaN where one outcome is present.

    Examples
    --------
    >>> came = np.array([True, False, False, False])
    >>> brier_skill(SortedOutcomes.of(Outcomes(np.full(4, 0.25), came)))  # the share itself
    0.0
    >>> worse = SortedOutcomes.of(Outcomes(np.full(4, 0.75), came))
    >>> round(brier_skill(worse), 4)  # 1 - 0.4375 / 0.1875
    -1.3333
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

    Examples
    --------
    Equal risks are never split: one group of the ten. It expects 2 and has 3: 1² / (4 x 0.5 x 0.5).

    >>> test = hosmer_lemeshow(np.full(4, 0.5), np.array([True, True, True, False]))
    >>> test.statistic, test.df, test.groups, round(test.p_value, 4)  # P(|Z| > 1)
    (1.0, 1, 1, 0.3173)
    """
    ranked = SortedOutcomes.of(Outcomes(p, y))
    cuts = equal_mass_cuts(ranked, groups)
    group_sums = sums(ranked, cuts)
    # Binomial, of the mean risk of the group.
    variance = group_sums.confidence * (1.0 - group_sums.confidence / group_sums.count)
    squares = group_sums.gap**2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(squares == 0.0, 0.0, squares / np.maximum(variance, 0.0))
    statistic, df = float(terms.sum()), len(group_sums.count)
    from scipy.special import gammaincc  # a tenth of a second, which readers do not pay

    return HosmerLemeshow(statistic, df, float(gammaincc(df / 2.0, statistic / 2.0)), df)
