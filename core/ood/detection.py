"""Telling out-of-distribution rows from in-distribution ones by a score; numpy only.

The positive class is out-of-distribution and a higher score is more so. What carries `_in` in its
name is the same question asked the other way round: in-distribution positive, by the score
negated. A row is flagged where its score lies above the threshold; tied rows go together.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from core import arrays
from core.arrays import Float, Int
from core.defaults import LEVEL, N_RESAMPLES, SEED
from core.errors import Refused
from core.metrics.design_effect import design_effect
from core.metrics.grouped import drawn_groups, sum_variance
from core.metrics.intervals import logit_interval, newcombe, percentile, quantile, student
from core.metrics.records import Score, Setting
from core.ood.bounds import Sides, false_positives, precision, smallest_error
from core.predictions import Extents

POSITIVE = "ood"  # of every number without `_in` in its name
KEEP = 0.95  # of the positive class, at the threshold of the false-positive rates
ROUNDING = 1e-6  # of rows that are drawn by group and scaled
CELLS = 1_000  # of neighbouring scores, in which rows are resampled
BLOCK = 100  # resamples held at a time
STREAM = 17  # of random numbers
BOOTSTRAPPED = ("aupr_out", "aupr_in", "fpr95", "fpr95_in", "detection_error")
DELONG = "hull of DeLong, logit scale, and Newcombe"
HULLS = {
    "aupr": "hull of percentile bootstrap of both sets and binomial, logit scale",
    "fpr95": "hull of percentile bootstrap of both sets and Wilson's reaches",
    "detection_error": "hull of percentile bootstrap of both sets and Wilson's reaches",
}


BothGroups = tuple[Int | None, Int | None]


@dataclass(frozen=True)
class Members:
    """Which rows of a set belong together.

    Attributes
    ----------
    place : (N,) int64
        Where each row's score lies among the distinct ones of both sets.
    group : (N,) int64
        Its group, 0..G-1.
    """

    place: Int
    group: Int

    @classmethod
    def of(cls, values: Float, scores: Float, groups: Int | None) -> Self:
        """Place rows in the order of the file."""
        group = np.arange(scores.size) if groups is None else groups
        return cls(np.searchsorted(values, scores).astype(np.int64), group.astype(np.int64))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group.max()) + 1

    def variance(self, each: Float) -> float:
        """Return the variance of the mean of values of the distinct scores, by group."""
        rows = each[self.place]
        return sum_variance((rows - rows.mean()) / rows.size, self.group)

    def worth(self, each: Float) -> float:
        """Return how many independent rows the mean of values of the distinct scores is worth."""
        return self.place.size / design_effect(each[self.place], Extents(self.group))

    def draws(self, ends: Int, n_resamples: int, rng: np.random.Generator) -> Float:
        """Return the rows of each cell when groups are drawn, (R, C), as many as there are."""
        from scipy.sparse import csr_array  # a tenth of a second, which readers do not pay

        n_groups = self.n_groups
        entries = np.ones(self.place.size), (np.searchsorted(ends, self.place), self.group)
        rows = csr_array(entries, shape=(ends.size, n_groups))
        drawn = np.stack([drawn_groups(n_groups, rng) for _ in range(n_resamples)], axis=1)
        counts: Float = np.asarray(rows @ drawn, dtype=np.float64).T
        return np.asarray(counts * (self.place.size / counts.sum(axis=1, keepdims=True)))


@dataclass(frozen=True)
class Separation:
    """Scores of both sets, sorted once.

    Attributes
    ----------
    values : (G,) float64
        Distinct scores, ascending.
    inside, outside : (G,) int64
        In-distribution and out-of-distribution rows of each value.
    members : pair of Members, optional
        Which rows of either set belong together; without it every row is independent.
    """

    values: Float
    inside: Int
    outside: Int
    members: tuple[Members, Members] | None = None

    @classmethod
    def of(cls, inside: Float, outside: Float, groups: BothGroups = (None, None)) -> Self:
        """Sort both sets.

        Parameters
        ----------
        inside, outside : (N,) and (M,) float64
            Scores of in-distribution and out-of-distribution rows, higher for more out of it.
        groups : pair of (N,) and (M,) int64 or None
            Group of each row; a set without has rows of their own.

        Raises
        ------
        Refused
            EMPTY: a set has no rows; NONFINITE: a score is no finite number.
        """
        both = np.concatenate(
            [_sorted(inside, "in-distribution"), _sorted(outside, "out-of-distribution")]
        )
        order = np.argsort(both, kind="stable")  # two ascending runs: merged in one pass
        values = both[order]
        ends = np.append(np.flatnonzero(values[1:] != values[:-1]), values.size - 1)
        own = np.cumsum(order < inside.size, dtype=np.int64)[ends]
        rows = np.diff(ends, prepend=-1)
        own[1:] -= own[:-1].copy()
        distinct = values[ends]
        members = None
        if any(one is not None for one in groups):
            members = (
                Members.of(distinct, inside, groups[0]),
                Members.of(distinct, outside, groups[1]),
            )
        return cls(*_read_only(distinct, own, rows - own), members)

    @cached_property
    def n_in(self) -> int:
        """In-distribution rows."""
        return int(self.inside.sum())

    @cached_property
    def n_out(self) -> int:
        """Out-of-distribution rows."""
        return int(self.outside.sum())

    def swapped(self) -> Self:
        """Return the same question asked the other way round: sides swapped, scores negated."""
        sides = (np.ascontiguousarray(side[::-1]) for side in (self.outside, self.inside))
        members = None
        if self.members is not None:
            last = self.values.size - 1
            own, other = (Members(last - one.place, one.group) for one in self.members)
            members = other, own
        return type(self)(*_read_only(-self.values[::-1], *sides), members)


def _sorted(scores: Float, name: str) -> Float:
    """Return scores ascending, or refuse what cannot be ordered."""
    if scores.size == 0:
        raise Refused("EMPTY", f"there are no {name} rows", "give at least one")
    ordered = np.sort(scores)
    if not np.isfinite(ordered[[0, -1]]).all():  # infinities and NaN are sorted to the ends
        what = f"a score of the {name} rows is no finite number"
        raise Refused("NONFINITE", what, "use another score, or leave such rows out")
    return ordered


def _read_only(values: Float, inside: Int, outside: Int) -> tuple[Float, Int, Int]:
    for array in (values, inside, outside):
        array.setflags(write=False)
    return values, inside, outside


@dataclass(frozen=True)
class Counts:
    """What a threshold does: rows of each set that lie above it, and the others."""

    threshold: float
    flagged_in: int
    passed_in: int
    flagged_out: int
    passed_out: int

    @property
    def false_alarms(self) -> float:
        """Share of in-distribution rows that are flagged."""
        return self.flagged_in / (self.flagged_in + self.passed_in)

    @property
    def missed(self) -> float:
        """Share of out-of-distribution rows that are not flagged."""
        return self.passed_out / (self.flagged_out + self.passed_out)


def auroc(found: Separation) -> float:
    """Return how often a random out-of-distribution row scores higher; ties count one half."""
    below = np.cumsum(found.inside) - found.inside
    wins = found.outside * (below + 0.5 * found.inside)
    return float(wins.sum() / (found.n_in * found.n_out))


def auroc_error(found: Separation) -> float:
    """Return the standard error of the AUROC (DeLong et al. 1988).

    Zero where both sets hold one row, or where they are perfectly separated. With groups the
    structural components of a group are summed (Obuchowski 1997).
    """
    beaten, beating = components(found)
    if found.members is not None:
        own, other = found.members
        return float(np.sqrt(other.variance(beaten) + own.variance(beating)))
    return float(
        np.sqrt(_mean_variance(beaten, found.outside) + _mean_variance(beating, found.inside))
    )


def components(found: Separation) -> tuple[Float, Float]:
    """Return for each value the shares of either set that a row of the other is right against.

    Returns
    -------
    beaten, beating : (G,) float64 each
        For an out-of-distribution row the in-distribution ones that it beats, and for an
        in-distribution row the others that beat it; ties count one half.
    """
    n, m = found.n_in, found.n_out
    beaten = (np.cumsum(found.inside) - 0.5 * found.inside) / n
    beating = (m - np.cumsum(found.outside) + 0.5 * found.outside) / m
    return beaten, beating


def worth(found: Separation) -> tuple[float, float]:
    """Return how many independent rows those of either set are worth for the AUROC."""
    if found.members is None:
        return found.n_in, found.n_out
    beaten, beating = components(found)
    return found.members[0].worth(beating), found.members[1].worth(beaten)


def _mean_variance(values: Float, weights: Int) -> float:
    """Return the variance of the mean of values that occur `weights` times."""
    n = int(weights.sum())
    centre = float(values @ weights) / n
    return float(weights @ (values - centre) ** 2) / max(n - 1, 1) / n


def aupr_out(found: Separation) -> float:
    """Return the average precision with out-of-distribution positive."""
    return float(_average_precision(found.outside[::-1], found.inside[::-1]))


def aupr_in(found: Separation) -> float:
    """Return the average precision with in-distribution positive."""
    return float(_average_precision(found.inside, found.outside))


def fpr95(found: Separation) -> float:
    """Return the share of in-distribution rows flagged where 95 % of the others are.

    Out-of-distribution is positive: the highest threshold that flags at least that share.
    """
    return float(_false_positives(found.outside[::-1], found.inside[::-1]))


def fpr95_in(found: Separation) -> float:
    """Return the share of out-of-distribution rows that pass where 95 % of the others do.

    In-distribution is positive: the lowest threshold that lets at least that share pass.
    """
    return float(_false_positives(found.inside, found.outside))


def detection_error(found: Separation) -> float:
    """Return the smallest mean of missed share and false alarms over all thresholds."""
    return float(_detection_error(found.inside, found.outside))


NUMBERS = {
    "auroc": auroc,
    "aupr_out": aupr_out,
    "aupr_in": aupr_in,
    "fpr95": fpr95,
    "fpr95_in": fpr95_in,
    "detection_error": detection_error,
}


def _average_precision(positives: arrays.Counts, negatives: arrays.Counts) -> Float:
    """Return the step-wise area under precision and recall of (..., G) counts, best first."""
    found = np.cumsum(positives, axis=-1)
    seen = found + np.cumsum(negatives, axis=-1)
    precision = np.divide(found, seen, out=np.zeros(seen.shape), where=seen > 0)
    precision *= positives
    return np.asarray(precision.sum(axis=-1) / found[..., -1])


def _false_positives(positives: arrays.Counts, negatives: arrays.Counts) -> Float:
    """Return the share of negatives seen where 95 % of the positives are; counts best first."""
    found = np.cumsum(positives, axis=-1)
    enough = found >= rows_needed(round(found[..., -1].flat[0]), KEEP) - ROUNDING
    at = np.expand_dims(enough.argmax(axis=-1), -1)
    seen = np.cumsum(negatives, axis=-1)
    return np.asarray(np.take_along_axis(seen, at, -1)[..., 0] / seen[..., -1])


def rows_needed(n: int, share: float) -> int:
    """Return the fewest of n rows that are at least that share, free of rounding."""
    return math.ceil(round(n * share, 6))


def _detection_error(inside: arrays.Counts, outside: arrays.Counts) -> Float:
    passed_in, passed_out = np.cumsum(inside, axis=-1), np.cumsum(outside, axis=-1)
    sums = passed_out / passed_out[..., -1:] - passed_in / passed_in[..., -1:]
    return np.asarray(0.5 + 0.5 * sums.min(axis=-1))  # flagging none is the last cut


def numbers(
    found: Separation,
    *,
    level: float = LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> dict[str, Score]:
    """Return every number of `NUMBERS` with its interval.

    Parameters
    ----------
    found : Separation
        Both sets.
    level : float
        Of the intervals.
    n_resamples, seed : int
        Of the bootstrap: both sets are resampled on their own. With more than `CELLS` distinct
        scores rows are exchanged within cells of neighbouring scores.

    Returns
    -------
    dict of str to Score
        Fractions; settings say what is positive.
    """
    scores = {"auroc": auroc_score(found, level=level)}
    centre, draws = _draws(found, n_resamples, seed)
    n = found.n_in + found.n_out
    for key in BOOTSTRAPPED:
        value = NUMBERS[key](found)
        moved = draws[key] - centre[key] + value
        ends = percentile(moved, level), _own(key, found, value - float(moved.mean()), level)
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        if found.members is not None and min(side.n_groups for side in found.members) < 2:
            low, high = 0.0, 1.0  # one group a set: nothing tells how far it may be off
        settings: dict[str, Setting] = {
            "positive": "id" if key.endswith("_in") else POSITIVE,
            "interval": HULLS[key.removesuffix("_in").removesuffix("_out")],
            "resamples": n_resamples,
            "seed": seed,
            **resampled_by(found),
        }
        low, high = max(0.0, min(low, value)), min(1.0, max(high, value))
        scores[key] = Score(key, value, low, high, level, n, settings)
    return {key: scores[key] for key in NUMBERS}


def _own(key: str, found: Separation, bias: float, level: float) -> tuple[float, float]:
    """Return the interval of a number that has a width even where no row is out of order."""
    own, other = worth(found)
    sides = Sides(found.inside, found.outside, (own, other))
    if not key.endswith("_in"):
        sides = Sides(found.outside[::-1], found.inside[::-1], (other, own))
    if key == "detection_error":
        return smallest_error(sides, max(0.0, bias), level)
    if key.startswith("fpr95"):
        return false_positives(sides, KEEP, level)
    return precision(NUMBERS[key](found), sides, level)


def auroc_score(found: Separation, *, level: float = LEVEL) -> Score:
    """Return the AUROC with an interval that spans DeLong's and Newcombe's.

    With few rows DeLong's is too short, and without a row out of order it has no width at all.
    """
    value, error, rows = auroc(found), auroc_error(found), worth(found)
    low, high = newcombe(value, *rows, level)
    if 0.0 < value < 1.0 and error > 0.0:
        ends = logit_interval(value, error, min(rows), level)
        low, high = min(low, ends[0]), max(high, ends[1])
    settings: dict[str, Setting] = {
        "positive": POSITIVE,
        "interval": DELONG,
        **resampled_by(found),
    }
    return Score("auroc", value, low, high, level, found.n_in + found.n_out, settings)


def resampled_by(found: Separation) -> dict[str, Setting]:
    """Return what is drawn as one, for settings; nothing where every row is independent."""
    return {} if found.members is None else {"resampled_by": "group"}


def _draws(
    found: Separation, n_resamples: int, seed: int
) -> tuple[dict[str, Float], dict[str, Float]]:
    """Return the bootstrapped numbers of the cells themselves, and on each resample."""
    inside, outside = cells(found, CELLS)
    rng = np.random.default_rng([seed, STREAM])
    blocks, ends = [], cell_ends(found, CELLS)
    drawn: list[arrays.Counts]
    for start in range(0, n_resamples, BLOCK):
        size = min(BLOCK, n_resamples - start)
        if found.members is None:
            drawn = [rng.multinomial(int(s.sum()), s / s.sum(), size) for s in (inside, outside)]
        else:
            drawn = [side.draws(ends, size, rng) for side in found.members]
        blocks.append(_all(*drawn))
    draws = {key: np.concatenate([block[key] for block in blocks]) for key in BOOTSTRAPPED}
    return _all(inside[None], outside[None]), draws


def _all(inside: arrays.Counts, outside: arrays.Counts) -> dict[str, Float]:
    return {
        "aupr_out": _average_precision(outside[:, ::-1], inside[:, ::-1]),
        "aupr_in": _average_precision(inside, outside),
        "fpr95": _false_positives(outside[:, ::-1], inside[:, ::-1]),
        "fpr95_in": _false_positives(inside, outside),
        "detection_error": _detection_error(inside, outside),
    }


def cells(found: Separation, most: int) -> tuple[Int, Int]:
    """Return the counts of both sets in at most that many cells of neighbouring scores.

    Cells hold about equal sums of the shares of both sets, however unequal the sets are.
    """
    ends = cell_ends(found, most)
    passed_in, passed_out = np.cumsum(found.inside), np.cumsum(found.outside)
    return np.diff(passed_in[ends], prepend=0), np.diff(passed_out[ends], prepend=0)


def cell_ends(found: Separation, most: int) -> Int:
    """Return the place of the last value of each of these cells."""
    if found.values.size <= most:
        return np.arange(found.values.size, dtype=np.int64)
    passed_in, passed_out = np.cumsum(found.inside), np.cumsum(found.outside)
    place = passed_in / found.n_in + passed_out / found.n_out  # 0 to 2, ascending
    ends = np.searchsorted(place, np.linspace(0.0, 2.0, most + 1)[1:])
    return np.unique(np.minimum(ends, place.size - 1)).astype(np.int64)


def threshold_at(found: Separation, false_alarms: float) -> float:
    """Return the lowest score above which at most that share of in-distribution rows lies."""
    keep = rows_needed(found.n_in, 1.0 - false_alarms)
    if keep == 0:
        return float(np.nextafter(found.values[0], -np.inf))
    return float(found.values[np.searchsorted(np.cumsum(found.inside), keep)])


def counts_at(found: Separation, threshold: float) -> Counts:
    """Return what is flagged, above the threshold, and what is not."""
    at = int(np.searchsorted(found.values, threshold, side="right"))
    passed_in, passed_out = int(found.inside[:at].sum()), int(found.outside[:at].sum())
    return Counts(
        threshold, found.n_in - passed_in, passed_in, found.n_out - passed_out, passed_out
    )


def roc_points(found: Separation, most: int = 400) -> tuple[Float, Float]:
    """Return false alarms and flagged share along the curve, from (0, 0) to (1, 1), to be drawn."""
    inside, outside = cells(found, most)
    alarms = np.cumsum(inside[::-1]) / found.n_in
    flagged = np.cumsum(outside[::-1]) / found.n_out
    return np.concatenate([[0.0], alarms]), np.concatenate([[0.0], flagged])


def placements(inside: Float, outside: Float) -> tuple[Float, Float]:
    """Return for each row the share of the other set that it is ranked rightly against.

    Returns
    -------
    (N,) and (M,) float64
        In the rows' own order; ties count one half. Both have the AUROC as their mean.
    """
    low, high = np.sort(inside), np.sort(outside)
    beaten = np.searchsorted(low, outside, "left") + np.searchsorted(low, outside, "right")
    beating = np.searchsorted(high, inside, "left") + np.searchsorted(high, inside, "right")
    return 1.0 - beating / (2.0 * high.size), beaten / (2.0 * low.size)


def auroc_difference(
    one: Sequence[Float],
    other: Sequence[Float],
    *,
    level: float = LEVEL,
    groups: BothGroups = (None, None),
) -> tuple[float, float, float]:
    """Return AUROC minus AUROC on the same rows, with DeLong's paired interval.

    Parameters
    ----------
    one, other : pair of (N,) and (M,) float64
        Scores of the in-distribution and the out-of-distribution rows, in the same order.
    level : float
        Of the interval.
    groups : pair of (N,) and (M,) int64 or None
        Group of each row of both sets.

    Returns
    -------
    value, low, high : float
        Exactly 0 where both rank all rows alike.

    Notes
    -----
    With groups the quantile is Student's, with a degree of freedom less than groups in the set
    that has fewer.
    """
    variance, value = 0.0, 0.0
    for a, b, group in zip(placements(*one), placements(*other), groups, strict=True):
        gap = a - b
        value = float(gap.mean())
        if group is None:
            variance += float(gap.var(ddof=min(1, gap.size - 1))) / gap.size
        else:
            variance += sum_variance((gap - value) / gap.size, group)
    counts = [np.unique(group).size for group in groups if group is not None]
    wide = student(level, max(1, min(counts) - 1)) if counts else quantile(level)
    half = wide * float(np.sqrt(variance))
    return value, max(-1.0, value - half), min(1.0, value + half)
