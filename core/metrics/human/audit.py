"""The audit of one split against votes: every number with its interval and its floor."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import Bool, Float, Int
from core.configs import AuditConfig
from core.defaults import N_BINS, N_RESAMPLES_HEAVY
from core.errors import Refused
from core.metrics.binning import bin_index, equal_width_edges
from core.metrics.estimates import ONE_GROUP, ONE_ROW
from core.metrics.human.errors import (
    NO_SPREAD,
    NUMBERS,
    Knowing,
    agreement_rows,
    alike_rows,
    by_majority,
    drawn_ece,
    ece_floor,
    entropy_rows,
    knowing,
    leaning_ends,
    share_ece,
    soft_nll_rows,
    tvd_rows,
    vote_shares,
    voted_rows,
)
from core.metrics.intervals import basic, quantile, wilson
from core.metrics.records import Gap
from core.metrics.units import design_effect, resampled_counts, units
from core.predictions import Predictions, SamplingDesign

ONE_VOTE = "one vote a row does not tell how far people disagree"
NOT_COUNTED = "shares do not tell how many people were asked"


@dataclass(frozen=True, kw_only=True)
class HumanScore:
    """One number about model and people."""

    # value, low, high: the number and its interval; None where it is infinite, and no ends of one
    # row or group
    value: float | None
    low: float | None
    high: float | None
    # What it would be, on average, of a model that knew the true shares, with as many votes; for
    # `ece_votes` of one whose bins agree with people; for `soft_nll` the mean entropy of the votes,
    # below which nothing can lie
    floor: float | None
    # Beyond it lies one such model in twenty: above, or below for `rank`
    bound: float | None = None
    reason: str = ""  # why something is missing


@dataclass(frozen=True, kw_only=True)
class VoteBin:
    """Answers of much the same confidence, and the share of people who agree with them."""

    count: int  # rows
    confidence: float  # mean confidence of the answers
    # agreement, low, high: share of people who agree, with its interval
    agreement: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """Rows of which people disagree about as much; every array is (G,)."""

    entropy: Float  # mean entropy of the votes, in nats, ascending
    count: Int  # rows
    # confidence, agreement: mean confidence, and mean share of people who agree with the answer
    confidence: Float
    agreement: Float
    # gap, low, high: confidence minus agreement, with its interval
    gap: Float
    low: Float
    high: Float
    # The gap that a model would show on these rows that knew the true shares; NaN where the number
    # of votes is not known
    known: Float


@dataclass(frozen=True, kw_only=True)
class HumanAudit:
    """How far a model is from people, on the rows that people voted on."""

    name: str  # where the votes come from
    # n, n_rows, n_classes: rows with votes, all rows, and classes
    n: int
    n_rows: int
    n_classes: int
    level: float  # of every interval
    # least, mean, most: votes a row; None where the file gives shares
    least: float | None
    mean: float | None
    most: float | None
    tied: int  # rows whose most votes are shared by several classes
    # confidence, agreement: mean confidence of the answers, and mean share of people who agree
    confidence: float
    agreement: float
    direction: Gap  # confidence minus agreement
    # tvd, entropy_gap, entropy_gap_signed, rank, ece_votes, soft_nll
    scores: Mapping[str, HumanScore]
    # Soft NLL of a model that knew the true shares: the entropy of the votes, and what so few votes
    # take off it
    known_nll: float | None
    bins: tuple[VoteBin, ...]  # the bins that hold rows, by ascending confidence
    disagreement: Disagreement  # by how much people disagree
    by_majority: bool = False  # whether every label is what most people said of its row

    @property
    def fullest(self) -> VoteBin:
        """The bin with the most rows; of several the surest."""
        return max(self.bins, key=lambda vote_bin: (vote_bin.count, vote_bin.confidence))


GROUPS = 10  # of rows, by how much people disagree
HEAVY_ROWS = 100_000  # from which fewer resamples are drawn
SAME_ENTROPY = 12  # decimals to which entropies count as equal
RANGES = {  # that no interval leaves
    "tvd": (0.0, 1.0),
    "entropy_gap": (0.0, np.inf),
    "entropy_gap_signed": (-np.inf, np.inf),
    "soft_nll": (0.0, np.inf),
}
INFINITE = "infinite: a class that people voted for has probability 0"
TAIL = 0.05  # share of draws beyond a bound


@dataclass(frozen=True)
class JudgedRows:
    """What model and people say of each row that people voted on, (N,) float64 each."""

    rows: Int  # (N,), their numbers in the split
    # confidence, agreement: of the answer, and the share of people who agree with it
    confidence: Float
    agreement: Float
    # entropy, votes_entropy: of the probabilities and of the votes, in nats
    entropy: Float
    votes_entropy: Float
    # tvd, soft_nll: distance and likelihood; the latter may be infinite
    tvd: Float
    soft_nll: Float
    alike: Bool  # whether the classes are ranked alike


def judged_rows(predictions: Predictions) -> JudgedRows:
    """Return what model and people say of each row that people voted on; raises `voted_rows`'."""
    rows, some, votes = voted_rows(predictions)
    shares, log_p = vote_shares(votes.of_row), some.log_probabilities()
    p = np.exp(log_p)
    return JudgedRows(
        rows=rows,
        confidence=some.rows.confidence,
        agreement=agreement_rows(some.rows.predicted, shares),
        entropy=entropy_rows(p),
        votes_entropy=entropy_rows(shares),
        tvd=tvd_rows(p, shares),
        soft_nll=soft_nll_rows(log_p, shares),
        alike=alike_rows(some.scores if some.softmax_of_logits else p, votes.of_row),
    )


def human_audit(predictions: Predictions, config: AuditConfig | None = None) -> HumanAudit:
    """Return the audit of a split against its votes.

    `predictions`: with votes; `config`: level, resamples and seed of intervals.

    Raises Refused VOTES: the split has no votes.
    """
    config = config or AuditConfig()
    _, some, votes = voted_rows(predictions)
    judged = judged_rows(predictions)
    weights = np.ones(some.n) if some.weights is None else some.weights.of_row
    if not weights.any():
        what = "Every row with votes has weight 0"
        raise Refused("VOTES", what, "give votes for rows that count")
    # Floors are those of a model that knew the true shares, by as many votes as were counted
    known, unknown = None, NOT_COUNTED
    if votes.counted:
        unknown = ONE_VOTE if votes.totals.max() < 2.0 else ""
    if not unknown:
        known = knowing(votes.of_row, some.log_probabilities(), weights, config.seed)
    means = _Means.of(judged, weights, some.extents)
    draws = means.draws(config)
    floors, level = known or unknown, config.level
    scores = {name: _mean_score(name, means, draws, floors, level) for name in NUMBERS}
    scores["soft_nll"] = replace(scores["soft_nll"], floor=means.value("entropy"))
    scores["ece_votes"] = _ece_score(judged, means, draws, config)
    totals = votes.totals if votes.counted else None
    most = votes.of_row == votes.of_row.max(axis=1, keepdims=True)
    gap = means.value("gap")
    return HumanAudit(
        name=votes.name,
        n=some.n,
        n_rows=predictions.n,
        n_classes=predictions.n_classes,
        level=level,
        least=None if totals is None else float(totals.min()),
        mean=None if totals is None else float(totals.mean()),
        most=None if totals is None else float(totals.max()),
        tied=int(np.count_nonzero(most.sum(axis=1) > 1)),
        confidence=means.value("confidence"),
        agreement=means.value("agreement"),
        direction=Gap(gap, *_gap_ends(means, draws, "", level)),
        scores=scores,
        known_nll=None if known is None else float(known.soft_nll.mean()),
        bins=_bins(means, draws, level),
        disagreement=_disagreement(means, draws, known, level),
        by_majority=by_majority(votes.of_row, some.labels),
    )


@dataclass(frozen=True)
class _Draws:
    """Sums in resamples, as named columns (R, C) of values times how often rows are drawn."""

    names: tuple[str, ...]
    sums: Float

    def of(self, name: str) -> Float:
        """Return the mean of a column in each resample."""
        return self.sum(name) / self.sum("one")

    def sum(self, name: str) -> Float:
        """Return a column."""
        return np.asarray(self.sums[:, self.names.index(name)])


@dataclass(frozen=True)
class _Means:
    """Row values as columns (N, C): one, what is averaged, and one and gap by bin and by group."""

    names: tuple[str, ...]
    columns: Float
    weights: Float
    extents: SamplingDesign
    bins: Int
    groups: Int

    @classmethod
    def of(cls, judged: JudgedRows, weights: Float, extents: SamplingDesign) -> "_Means":
        off = judged.entropy - judged.votes_entropy
        gap = judged.confidence - judged.agreement
        columns = {
            "one": np.ones(weights.size),
            "confidence": judged.confidence,
            "agreement": judged.agreement,
            "gap": gap,
            "tvd": judged.tvd,
            "entropy_gap": np.abs(off),
            "entropy_gap_signed": off,
            "rank": judged.alike.astype(np.float64),
            "soft_nll": judged.soft_nll,
            "entropy": judged.votes_entropy,
        }
        bins = bin_index(judged.confidence, equal_width_edges(N_BINS))
        groups = disagreement_groups(judged.votes_entropy, weights)
        for word, index in (("bin", bins), ("group", groups)):
            for k in np.unique(index).tolist():
                inside = index == k
                columns[f"{word} {k}"] = inside.astype(np.float64)
                columns[f"{word} {k} gap"] = np.where(inside, gap, 0.0)
                columns[f"{word} {k} agreement"] = np.where(inside, judged.agreement, 0.0)
        counted = weights > 0.0  # an infinite value of weight 0 counts nothing
        table = np.where(counted[:, None], np.column_stack(list(columns.values())), 0.0)
        return cls(tuple(columns), table, weights, extents, bins, groups)

    def column(self, name: str) -> Float:
        """Return a column."""
        return np.asarray(self.columns[:, self.names.index(name)])

    def value(self, name: str) -> float:
        """Return the weighted mean of a column."""
        return float(self.weights @ self.column(name) / self.weights.sum())

    def within(self, part: str, values: Float) -> float:
        """Return the weighted mean of values over a bin or a group."""
        w = self.weights * self.column(part)
        return float(w @ values / w.sum()) if w.any() else float("nan")

    def wide(self, part: str, level: float) -> float:
        """Return how many standard errors in resamples of a part an interval reaches either way.

        As of the rows or groups that can be drawn; infinite for one.
        """
        inside = self.column(part or "one") > 0.0
        return units(int(inside.sum()), self.extents.take(inside)).wide(level)

    def rows_worth(self, part: str, name: str) -> float:
        """Return the effective sample size of the mean of a column in a part."""
        inside = self.column(part or "one") > 0.0
        weight = self.weights[inside]
        if self.extents.independent:
            return float(weight.size)
        column = self.column(name)[inside]
        return float(weight.sum()) / design_effect(column, self.extents.take(inside))

    def draws(self, config: AuditConfig) -> _Draws:
        """Return the sums of all columns in resamples of rows or groups, votes of a row kept."""
        n = self.weights.size
        rounds = (
            config.n_resamples if n < HEAVY_ROWS else min(config.n_resamples, N_RESAMPLES_HEAVY)
        )
        finite = np.where(np.isfinite(self.columns), self.columns, 0.0)
        blocks = resampled_counts(n, rounds, config.seed, self.extents)
        return _Draws(self.names, np.concatenate([block @ finite for block in blocks]))


def disagreement_groups(entropy: Float, weights: Float) -> Int:
    """Return the group of each row by how much people disagree, 0 upwards without gaps, (N,).

    Ten groups of equal weight; rows of equal entropy stay together, in the group in which the
    middle of them lies, so that there may be fewer.
    """
    level, place = np.unique(np.round(entropy, SAME_ENTROPY), return_inverse=True)
    weight = np.bincount(place, weights, level.size)
    middle = (np.cumsum(weight) - weight / 2.0) / weight.sum()
    group = np.minimum((middle * GROUPS).astype(np.int64), GROUPS - 1)
    return np.unique(group, return_inverse=True)[1][place].astype(np.int64)


def _mean_score(
    name: str, means: _Means, draws: _Draws, known: Knowing | str, level: float
) -> HumanScore:
    value = means.value(name)
    reason = known if isinstance(known, str) else ""
    floor = bound = None
    if isinstance(known, Knowing):
        floor, bound = float(getattr(known, name).mean()), known.bound(name, TAIL)
    if not np.isfinite(value):
        return HumanScore(
            value=None, low=None, high=None, floor=floor, bound=bound, reason=INFINITE
        )
    if name == "rank":
        low, high = _share_ends(means, draws, "", name, level)
    elif np.isfinite(means.wide("", level)):
        ends, (least, most) = _mean_ends(means, draws, "", name, level), RANGES[name]
        low, high = max(ends[0], least), min(ends[1], most)
    else:
        alone = ONE_ROW if means.extents.groups is None else ONE_GROUP
        return HumanScore(value=value, low=None, high=None, floor=floor, bound=bound, reason=alone)
    return HumanScore(value=value, low=low, high=high, floor=floor, bound=bound, reason=reason)


def _ece_score(judged: JudgedRows, means: _Means, draws: _Draws, config: AuditConfig) -> HumanScore:
    value = share_ece(judged.confidence, judged.agreement, means.weights)
    gaps = [draws.sum(name) for name in means.names if name.startswith("bin ") and "gap" in name]
    drawn = drawn_ece(np.stack(gaps, axis=1), draws.sum("one"))
    rng = np.random.default_rng([config.seed, 8])
    residual = judged.confidence - judged.agreement
    chance = ece_floor(residual, means.bins, means.extents, len(drawn), rng)
    bound = float(np.quantile(chance, 1.0 - TAIL))
    own = float(np.quantile(chance, config.level))
    low, high = basic(value, drawn, config.level, centre=value, floor=own)
    return HumanScore(value=value, low=low, high=high, floor=float(chance.mean()), bound=bound)


def _parts(means: _Means, word: str) -> list[str]:
    return [name for name in means.names if name.startswith(word) and name.count(" ") == 1]


def _ratio(draws: _Draws, part: str, what: str) -> Float:
    """Return the mean of a part, or of all rows, in the resamples that drew any of it."""
    rows = draws.sum(part or "one")
    return draws.sum(f"{part} {what}".strip())[rows > 0.0] / rows[rows > 0.0]


def _mean_ends(
    means: _Means, draws: _Draws, part: str, name: str, level: float
) -> tuple[float, float]:
    """Return Student's interval of a mean, longer on the side to which the resamples lean."""
    value, wide = means.within(part or "one", means.column(name)), means.wide(part, level)
    return leaning_ends(value, _ratio(draws, part, name), wide)


def _share_ends(
    means: _Means, draws: _Draws, part: str, name: str, level: float
) -> tuple[float, float]:
    """Return the interval of a share: of its mean, and Wilson's with as many trials as it is worth.

    These give it the variance that it has in the resamples. Where they do not differ, however few,
    the trials are the rows: no share varies more from row to row than right and wrong do.
    """
    value = float(np.clip(means.within(part or "one", means.column(name)), 0.0, 1.0))
    drawn, wide = _ratio(draws, part, name), means.wide(part, level)
    trials = means.rows_worth(part, name)
    if 0.0 < value < 1.0 and np.isfinite(wide) and drawn.std() > NO_SPREAD:
        trials = value * (1.0 - value) / float(drawn.std() * wide / quantile(level)) ** 2
    ends = wilson(np.array(value * trials), np.array(trials), level)
    low, high = _mean_ends(means, draws, part, name, level)
    return max(0.0, min(low, float(ends[0]))), min(1.0, max(high, float(ends[1])))


def _gap_ends(means: _Means, draws: _Draws, part: str, level: float) -> tuple[float, float]:
    """Return the interval of a gap, at least as wide as people's where all agree alike."""
    low, high = np.clip(_mean_ends(means, draws, part, "gap", level), -1.0, 1.0).tolist()
    if _ratio(draws, part, "agreement").std() > NO_SPREAD:
        return low, high
    share = _share_ends(means, draws, part, "agreement", level)
    confidence = means.within(part or "one", means.column("confidence"))
    return min(low, confidence - share[1]), max(high, confidence - share[0])


def _bins(means: _Means, draws: _Draws, level: float) -> tuple[VoteBin, ...]:
    bins = []
    for part in _parts(means, "bin"):
        inside = means.column(part)
        if not (means.weights * inside).any():
            continue
        low, high = _share_ends(means, draws, part, "agreement", level)
        bins.append(
            VoteBin(
                count=int(inside.sum()),
                confidence=means.within(part, means.column("confidence")),
                agreement=means.within(part, means.column("agreement")),
                low=low,
                high=high,
            )
        )
    return tuple(bins)


def _disagreement(
    means: _Means, draws: _Draws, known: Knowing | None, level: float
) -> Disagreement:
    parts = [part for part in _parts(means, "group") if (means.weights * means.column(part)).any()]
    ends = [_gap_ends(means, draws, part, level) for part in parts]

    def of(name: str) -> Float:
        return np.array([means.within(part, means.column(name)) for part in parts])

    gaps = np.full(len(parts), np.nan)  # of a model that knew the true shares
    for i, part in enumerate(parts if known else ()):
        assert known is not None
        weights = (means.weights * means.column(part))[known.rows]
        if weights.any():
            gaps[i] = weights @ known.row_gap / weights.sum()

    return Disagreement(
        entropy=of("entropy"),
        count=np.array([means.column(part).sum() for part in parts]).astype(np.int64),
        confidence=of("confidence"),
        agreement=of("agreement"),
        gap=of("gap"),
        low=np.array([low for low, _ in ends]),
        high=np.array([high for _, high in ends]),
        known=gaps,
    )
