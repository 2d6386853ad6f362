"""The audit of one split against votes: every number with its interval and its floor; numpy.

Rows carry votes n_ik; h_ik = n_ik / sum_k n_ik are the shares of people. Definitions, with their
floors and sources: docs/metrics.md, section Human votes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from core.arrays import Bool, Float, Int
from core.configs import AuditConfig
from core.defaults import N_BINS, N_RESAMPLES_HEAVY
from core.errors import Refused
from core.metrics.binning import bin_index, equal_width_edges
from core.metrics.estimates import ONE_GROUP, ONE_ROW
from core.metrics.intervals import basic, quantile, wilson
from core.metrics.records import Gap
from core.metrics.units import design_effect, resampled_counts, units
from core.metrics.votes import (
    NO_SPREAD,
    NUMBERS,
    IdealModel,
    agreement_rows,
    alike_rows,
    by_majority,
    drawn_ece,
    ece_floor,
    entropy_rows,
    ideal_model,
    leaning_ends,
    share_ece,
    soft_nll_rows,
    tvd_rows,
    vote_shares,
    voted_rows,
)
from core.predictions import Predictions, SamplingDesign

ONE_VOTE = "one vote a row does not tell how far people disagree"
NOT_COUNTED = "shares do not tell how many people were asked"


@dataclass(frozen=True, kw_only=True)
class HumanScore:
    """One number about model and people."""

    # value, low, high: the number and its interval; None where it is infinite, and no ends of one
    # row or group
    value: float | None
    low: float | None = None
    high: float | None = None
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
class VoteDisagreement:
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
    disagreement: VoteDisagreement  # by how much people disagree
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
    rows, voted, votes = voted_rows(predictions)
    shares, log_p = vote_shares(votes.of_row), voted.log_probabilities()
    p = np.exp(log_p)
    return JudgedRows(
        rows=rows,
        confidence=voted.rows.confidence,
        agreement=agreement_rows(voted.rows.predicted, shares),
        entropy=entropy_rows(p),
        votes_entropy=entropy_rows(shares),
        tvd=tvd_rows(p, shares),
        soft_nll=soft_nll_rows(log_p, shares),
        alike=alike_rows(voted.scores if voted.softmax_of_logits else p, votes.of_row),
    )


def human_audit(predictions: Predictions, config: AuditConfig | None = None) -> HumanAudit:
    """Return the audit of a split against its votes.

    `predictions`: with votes; `config`: level, resamples and seed of intervals.

    Raises Refused VOTES: the split has no votes.
    """
    config = config or AuditConfig()
    _, voted, votes = voted_rows(predictions)
    judged = judged_rows(predictions)
    weights = np.ones(voted.n) if voted.weights is None else voted.weights.of_row
    if not weights.any():
        what = "Every row with votes has weight 0"
        raise Refused("VOTES", what, "give votes for rows that count")
    # Floors are those of a model that knew the true shares, by as many votes as were counted
    known, unknown = None, NOT_COUNTED
    if votes.counted:
        unknown = ONE_VOTE if votes.totals.max() < 2.0 else ""
    if not unknown:
        known = ideal_model(votes.of_row, voted.log_probabilities(), weights, config.seed)
    # Every number below is a ratio of two sums of this table, and so is it in each resample.
    means = _Means.of(judged, weights, voted.sampling, config)
    scores = {name: _mean_score(name, means, known or unknown) for name in NUMBERS}
    scores["soft_nll"] = replace(scores["soft_nll"], floor=means.mean("entropy"))
    scores["ece_votes"] = _ece_score(judged, means, config)
    bins = []
    for part in means.parts("bin"):
        low, high = means.share_ends("agreement", part)
        bins.append(
            VoteBin(
                count=int(means.column(part).sum()),
                confidence=means.mean("confidence", part),
                agreement=means.mean("agreement", part),
                low=low,
                high=high,
            )
        )
    totals = votes.totals if votes.counted else None
    most = votes.of_row == votes.of_row.max(axis=1, keepdims=True)
    return HumanAudit(
        name=votes.name,
        n=voted.n,
        n_rows=predictions.n,
        n_classes=predictions.n_classes,
        level=config.level,
        least=None if totals is None else float(totals.min()),
        mean=None if totals is None else float(totals.mean()),
        most=None if totals is None else float(totals.max()),
        tied=int(np.count_nonzero(most.sum(axis=1) > 1)),
        confidence=means.mean("confidence"),
        agreement=means.mean("agreement"),
        direction=Gap(means.mean("gap"), *means.gap_ends()),
        scores=scores,
        known_nll=None if known is None else float(known.soft_nll.mean()),
        bins=tuple(bins),
        disagreement=_disagreement(means, known),
        by_majority=by_majority(votes.of_row, voted.labels),
    )


@dataclass(frozen=True)
class _Means:
    """Means of row values over all rows, or a part of them: a bin, or a group by disagreement.

    `columns` (N, C) are named: one, what is averaged, and of each part which rows it holds, and
    their gaps and agreements. `sums` (R, C) are those of the columns in resamples of rows or
    groups, votes of a row kept. A part that is left out is all rows.
    """

    names: tuple[str, ...]
    columns: Float
    sums: Float
    weights: Float
    sampling: SamplingDesign
    bins: Int  # (N,), bin of each row
    level: float  # of the intervals

    @classmethod
    def of(
        cls, judged: JudgedRows, weights: Float, sampling: SamplingDesign, config: AuditConfig
    ) -> "_Means":
        off = judged.entropy - judged.votes_entropy
        gap = judged.confidence - judged.agreement
        columns = {
            "rows": np.ones(weights.size),
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
        # Of each bin and each group by disagreement: its rows, their gaps and their agreement.
        for word, index in (("bin", bins), ("group", groups)):
            for k in np.unique(index).tolist():
                inside = index == k
                columns[f"{word} {k}"] = inside.astype(np.float64)
                columns[f"{word} {k} gap"] = np.where(inside, gap, 0.0)
                columns[f"{word} {k} agreement"] = np.where(inside, judged.agreement, 0.0)
        counted = weights > 0.0  # an infinite value of weight 0 counts nothing
        table = np.where(counted[:, None], np.column_stack(list(columns.values())), 0.0)
        n, rounds = weights.size, config.n_resamples
        if n >= HEAVY_ROWS:
            rounds = min(rounds, N_RESAMPLES_HEAVY)
        # An infinite loss has no place in sums: its mean is called infinite by itself.
        finite = np.where(np.isfinite(table), table, 0.0)
        blocks = resampled_counts(n, rounds, config.seed, sampling)
        sums = np.concatenate([block @ finite for block in blocks])
        return cls(tuple(columns), table, sums, weights, sampling, bins, config.level)

    def parts(self, word: str) -> list[str]:
        """Return the bins, or the groups, that hold any weight."""
        listed = [name for name in self.names if name.startswith(word) and name.count(" ") == 1]
        return [part for part in listed if (self.weights * self.column(part)).any()]

    def column(self, name: str) -> Float:
        """Return a column, (N,)."""
        return np.asarray(self.columns[:, self.names.index(name)])

    def drawn_sums(self, name: str) -> Float:
        """Return the sum of a column in each resample, (R,)."""
        return np.asarray(self.sums[:, self.names.index(name)])

    def mean(self, name: str, part: str = "") -> float:
        """Return the weighted mean of a column."""
        w = self.weights * self.column(part or "rows")
        return float(w @ self.column(name) / w.sum()) if w.any() else float("nan")

    def drawn(self, name: str, part: str = "") -> Float:
        """Return the mean of a column in the resamples that drew any of the part."""
        rows = self.drawn_sums(part or "rows")
        return self.drawn_sums(f"{part} {name}".strip())[rows > 0.0] / rows[rows > 0.0]

    def wide(self, part: str = "") -> float:
        """Return how many standard errors in resamples of a part an interval reaches either way.

        As of the rows or groups that can be drawn; infinite for one.
        """
        inside = self.column(part or "rows") > 0.0
        return units(int(inside.sum()), self.sampling.take(inside)).wide(self.level)

    def effective_n(self, name: str, part: str = "") -> float:
        """Return the effective sample size of the mean of a column."""
        inside = self.column(part or "rows") > 0.0
        weight = self.weights[inside]
        if self.sampling.independent:
            return float(weight.size)
        column = self.column(name)[inside]
        return float(weight.sum()) / design_effect(column, self.sampling.take(inside))

    def mean_ends(self, name: str, part: str = "") -> tuple[float, float]:
        """Return Student's interval of a mean, longer on the side to which the resamples lean."""
        return leaning_ends(self.mean(name, part), self.drawn(name, part), self.wide(part))

    def share_ends(self, name: str, part: str = "") -> tuple[float, float]:
        """Return the interval of a share: of its mean, and Wilson's with its effective trials.

        These give it the variance that it has in the resamples. Where they do not differ, however
        few, the trials are the rows: no share varies more from row to row than right and wrong do.
        """
        value = float(np.clip(self.mean(name, part), 0.0, 1.0))
        drawn, wide = self.drawn(name, part), self.wide(part)
        trials = self.effective_n(name, part)
        if 0.0 < value < 1.0 and np.isfinite(wide) and drawn.std() > NO_SPREAD:
            trials = value * (1.0 - value) / float(drawn.std() * wide / quantile(self.level)) ** 2
        ends = wilson(np.array(value * trials), np.array(trials), self.level)
        low, high = self.mean_ends(name, part)
        return max(0.0, min(low, float(ends[0]))), min(1.0, max(high, float(ends[1])))

    def gap_ends(self, part: str = "") -> tuple[float, float]:
        """Return the interval of a gap, at least as wide as people's where all agree alike."""
        low, high = np.clip(self.mean_ends("gap", part), -1.0, 1.0).tolist()
        if self.drawn("agreement", part).std() > NO_SPREAD:
            return low, high
        share, confidence = self.share_ends("agreement", part), self.mean("confidence", part)
        return min(low, confidence - share[1]), max(high, confidence - share[0])


def disagreement_groups(entropy: Float, weights: Float) -> Int:
    """Return the group of each row by how much people disagree, 0 upwards without gaps, (N,).

    Ten groups of equal weight; rows of equal entropy stay together, in the group in which the
    middle of them lies, so that there may be fewer.

    Examples
    --------
    Of four rows two agree fully: they stay together, in the group of the middle of their weight.

    >>> disagreement_groups(np.array([0.0, 0.0, 0.5, 0.6]), np.ones(4)).tolist()
    [0, 0, 1, 2]
    >>> int(disagreement_groups(np.arange(10.0), np.ones(10)).max())  # ten that differ are ten
    9
    """
    # Entropies that differ in their last digits only are one.
    level, place = np.unique(np.round(entropy, SAME_ENTROPY), return_inverse=True)
    weight = np.bincount(place, weights, level.size)
    middle = (np.cumsum(weight) - weight / 2.0) / weight.sum()
    group = np.minimum((middle * GROUPS).astype(np.int64), GROUPS - 1)
    return np.unique(group, return_inverse=True)[1][place].astype(np.int64)


def _mean_score(name: str, means: _Means, known: IdealModel | str) -> HumanScore:
    """Return a mean with its interval, and the floor, or why there is none."""
    value = means.mean(name)
    score = HumanScore(value=value, floor=None, reason=known if isinstance(known, str) else "")
    if isinstance(known, IdealModel):
        floor = float(getattr(known, name).mean())
        score = replace(score, floor=floor, bound=known.bound(name, TAIL))
    if not np.isfinite(value):
        return replace(score, value=None, reason=INFINITE)
    if name == "rank":
        low, high = means.share_ends(name)
    elif np.isfinite(means.wide()):
        ends, (least, most) = means.mean_ends(name), RANGES[name]
        low, high = max(ends[0], least), min(ends[1], most)
    else:
        return replace(score, reason=ONE_ROW if means.sampling.groups is None else ONE_GROUP)
    return replace(score, low=low, high=high)


def _ece_score(judged: JudgedRows, means: _Means, config: AuditConfig) -> HumanScore:
    value = share_ece(judged.confidence, judged.agreement, means.weights)
    names = [name for name in means.names if name.startswith("bin ") and "gap" in name]
    gaps = [means.drawn_sums(name) for name in names]
    drawn = drawn_ece(np.stack(gaps, axis=1), means.drawn_sums("rows"))
    rng = np.random.default_rng([config.seed, 8])
    residual = judged.confidence - judged.agreement
    # The ECE by chance alone of a model whose bins agree with people: residuals of random sign.
    chance = ece_floor(residual, means.bins, means.sampling, len(drawn), rng)
    bound = float(np.quantile(chance, 1.0 - TAIL))
    own = float(np.quantile(chance, config.level))
    low, high = basic(value, drawn, config.level, centre=value, floor=own)
    return HumanScore(value=value, low=low, high=high, floor=float(chance.mean()), bound=bound)


def _disagreement(means: _Means, known: IdealModel | None) -> VoteDisagreement:
    parts = means.parts("group")
    low, high = np.array([means.gap_ends(part) for part in parts]).T.copy()
    gaps = np.full(len(parts), np.nan)  # of a model that knew the true shares
    if known is not None:
        for i, part in enumerate(parts):
            weights = (means.weights * means.column(part))[known.rows]
            if weights.any():
                gaps[i] = weights @ known.row_gap / weights.sum()

    def of(name: str) -> Float:
        return np.array([means.mean(name, part) for part in parts])

    return VoteDisagreement(
        entropy=of("entropy"),
        count=np.array([means.column(part).sum() for part in parts]).astype(np.int64),
        confidence=of("confidence"),
        agreement=of("agreement"),
        gap=of("gap"),
        low=low,
        high=high,
        known=gaps,
    )
