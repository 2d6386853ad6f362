"""Human truth: distances from people.

True shares are the softmax of K normal logits (spread 1.5); "mostly agreed" adds 8 to one logit
of each row, and 2 in one row of ten. So many people vote on each row. "knows" states the true
shares, T 2 doubles their logits, "noisy" adds normal noise of 1 to them and takes half of it
more. Groups: 20 rows share three tenths of the variance, and noise of 1 in what is stated.
Weights: log-normal of spread 1. The truth is the value on 400,000 rows with as many votes, of a
bin or a group of rows that of all rows in the same bin, or of the same disagreement. 300
resamples.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from core.arrays import Float, Int
from core.configs import AuditConfig
from core.defaults import N_BINS
from core.metrics.binning import bin_index, equal_width_edges
from core.metrics.human import SAME_ENTROPY, disagreement_groups, human_audit, judged_rows
from core.metrics.votes import share_ece, vote_shares
from core.predictions import Groups, Predictions, ScoreKind, Task, Votes, Weights
from tests.benchmarks.claims.designs import Rng, Row, generator, sentence, softmax

SIZES = (200, 500, 1_000, 2_000, 10_000)
POPULATION, STEP, RESAMPLES = 400_000, 50_000, 300
SPREAD, ALIKE, GROUP = 1.5, 0.3, 20
FEW_ROWS, FEWEST_GROUPS = 1_000, 30
GAP, AGREED = "interval of the gap", "interval of the share who agree, fullest bin"
CLEAR, DISPUTED = "interval of the gap, clearest rows", "interval of the gap, most disputed rows"
MORE_SURE = '"more sure than people", or less sure'
WIDE = "Wider than asked; the cause was not studied."
FEW_GROUPS = "Ten groups: intervals are rough."
RARE = (
    "Some twenty to a hundred rows that all people agree about: the rare one of which the model is "
    "not sure is mostly not among them."
)
RULED = "The same, of rows of which a few weigh most."
SCORES = ("tvd", "entropy_gap", "entropy_gap_signed", "rank", "soft_nll", "ece_votes")


class Drawn(NamedTuple):
    """True logits and what is stated of them, (N, K), and groups and weights of the rows."""

    true: Float
    stated: Float
    groups: Int | None = None
    weights: Float | None = None


@dataclass(frozen=True)
class Design:
    """How rows are drawn, and how many people vote on each."""

    draw: Callable[[Rng, int], Drawn]
    people: int


def plain(k: int, by: float) -> Callable[[Rng, int], Drawn]:
    """Return rows whose true logits are stated, multiplied."""

    def draw(rng: Rng, n: int) -> Drawn:
        true = SPREAD * rng.normal(size=(n, k))
        return Drawn(true, by * true)

    return draw


def agreed(by: float, noise: float) -> Callable[[Rng, int], Drawn]:
    """Return rows of ten classes of which people mostly agree."""

    def draw(rng: Rng, n: int) -> Drawn:
        true = SPREAD * rng.normal(size=(n, 10))
        lift = np.where(rng.random(n) < 0.1, 2.0, 8.0)
        true[np.arange(n), rng.integers(0, 10, n)] += lift
        return Drawn(true, by * (true + noise * rng.normal(size=true.shape)))

    return draw


def together(rng: Rng, n: int) -> Drawn:
    """Return rows of which 20 have something in common, and are stated wrongly alike."""
    groups = np.arange(n) // GROUP
    shared, off = rng.normal(size=(2, groups[-1] + 1, 3))
    own = rng.normal(size=(n, 3))
    true = SPREAD * (ALIKE**0.5 * shared[groups] + (1.0 - ALIKE) ** 0.5 * own)
    return Drawn(true, 2.0 * true + off[groups], groups)


def weighed(rng: Rng, n: int) -> Drawn:
    """Return rows that count for more or less."""
    true, stated, *_ = plain(3, 2.0)(rng, n)
    return Drawn(true, stated, None, rng.lognormal(0.0, 1.0, n))


KNOWS = ("knows, K 3, 10 votes", "knows, mostly agreed, K 10, 50 votes")
DESIGNS = {
    KNOWS[0]: Design(plain(3, 1.0), 10),
    "T 2, K 3, 10 votes": Design(plain(3, 2.0), 10),
    "T 2, K 2, 3 votes": Design(plain(2, 2.0), 3),
    "T 2, K 3, 1 vote": Design(plain(3, 2.0), 1),
    KNOWS[1]: Design(agreed(1.0, 0.0), 50),
    "noisy, mostly agreed, K 10, 50 votes": Design(agreed(1.5, 1.0), 50),
    "groups of 20, K 3, 10 votes": Design(together, 10),
    "weights, T 2, K 3, 10 votes": Design(weighed, 10),
}


def rows_of(design: Design, rng: Rng, n: int) -> Predictions:
    """Return rows with their votes, as shares: floors, which take long, say nothing of intervals.

    One vote a row has none either way.
    """
    true, stated, groups, weights = design.draw(rng, n)
    votes = rng.multinomial(design.people, softmax(true)).astype(np.float64)
    return Predictions(
        Task.BINARY if votes.shape[1] == 2 else Task.MULTICLASS,
        ScoreKind.LOGITS,
        stated,
        votes.argmax(axis=1),
        groups=None if groups is None else Groups("site", groups),
        weights=None if weights is None else Weights.of("weight", weights),
        votes=Votes.of("votes", vote_shares(votes)),
    )


@dataclass(frozen=True)
class Truth:
    """The values of a design, of its bins, and of its rows by how much people disagree.

    `agreement` is (B,). `entropy` ascends, and `gap` holds the running sums of the gap, from 0.
    """

    values: dict[str, float]
    agreement: Float
    entropy: Float
    gap: Float

    def gap_between(self, least: float, most: float) -> float:
        """Return the gap of all rows with such an entropy of their votes."""
        low = np.searchsorted(self.entropy, least, side="left")
        high = np.searchsorted(self.entropy, most, side="right")
        return float((self.gap[high] - self.gap[low]) / (high - low))


@cache
def truth(name: str, seed: int) -> Truth:
    """Return the values of a design on many rows."""
    parts = [
        judged_rows(rows_of(DESIGNS[name], generator(seed, 2**32, name, start), STEP))
        for start in range(0, POPULATION, STEP)
    ]

    def of(field: str) -> Float:
        return np.concatenate([np.asarray(getattr(part, field), float) for part in parts])

    confidence, agreement, votes_entropy = (
        of(field) for field in ("confidence", "agreement", "votes_entropy")
    )
    off = of("entropy") - votes_entropy
    index = bin_index(confidence, equal_width_edges(N_BINS))
    entropy = np.round(votes_entropy, SAME_ENTROPY)
    order = np.argsort(entropy)
    values = {
        "tvd": of("tvd").mean(),
        "entropy_gap": np.abs(off).mean(),
        "entropy_gap_signed": off.mean(),
        "rank": of("alike").mean(),
        "soft_nll": of("soft_nll").mean(),
        "ece_votes": 0.0 if name in KNOWS else share_ece(confidence, agreement),
        GAP: 0.0 if name in KNOWS else (confidence - agreement).mean(),
    }
    rows = np.maximum(np.bincount(index, minlength=N_BINS), 1)
    return Truth(
        {key: float(value) for key, value in values.items()},
        np.bincount(index, agreement, N_BINS) / rows,
        entropy[order],
        np.append(0.0, (confidence - agreement)[order].cumsum()),
    )


def held(name: str, rows: Predictions, seed: int) -> dict[str, bool]:
    """Return which intervals of the page hold the truth, and whether the gap leaves 0 out."""
    true = truth(name, seed)
    audit = human_audit(rows, AuditConfig(n_resamples=RESAMPLES))
    found = {}
    for key in SCORES:
        score = audit.scores[key]
        assert score.low is not None
        assert score.high is not None
        found[f"interval of {key}"] = score.low <= true.values[key] <= score.high
    gap, fullest, groups = audit.direction, audit.fullest, audit.disagreement
    found[GAP] = gap.low <= true.values[GAP] <= gap.high
    place = bin_index(np.array([fullest.confidence]), equal_width_edges(N_BINS))[0]
    found[AGREED] = fullest.low <= true.agreement[place] <= fullest.high
    entropy = np.round(judged_rows(rows).votes_entropy, SAME_ENTROPY)
    weights = np.ones(rows.n) if rows.weights is None else rows.weights.of_row
    group = disagreement_groups(entropy, weights)
    for claim, k in ((CLEAR, 0), (DISPUTED, groups.count.size - 1)):
        own = entropy[group == k]
        inside = groups.low[k], groups.high[k]
        found[claim] = bool(inside[0] <= true.gap_between(own.min(), own.max()) <= inside[1])
    if name in KNOWS:
        found[MORE_SURE] = gap.low > 0.0 or gap.high < 0.0
    return found


def cell(name: str, n: int, sets: int, seed: int) -> Iterator[Row]:
    """Yield the rates of one design and size."""
    each = [
        held(name, rows_of(DESIGNS[name], generator(seed, number, name, n), n), seed)
        for number in range(sets)
    ]
    for claim in each[0]:
        make = sentence if claim == MORE_SURE else Row
        rate = float(np.mean([one[claim] for one in each]))
        yield make(claim, name, n, rate, sets, _reason(claim, name, n, rate))


def _reason(claim: str, name: str, n: int, rate: float) -> str:
    """Return why a cell may lie outside its limits; empty where nothing explains it."""
    if claim == "interval of ece_votes" and rate > 0.95:
        return WIDE
    if claim == CLEAR and rate < 0.95 and "weights" in name:
        return RULED
    if claim == CLEAR and rate < 0.95 and n <= FEW_ROWS:
        return RARE
    return FEW_GROUPS if "groups" in name and n // GROUP < FEWEST_GROUPS else ""


def rows(sets: int, seed: int) -> list[Row]:
    """Return the coverage of every interval of the page, in the order of the claims."""
    found = [row for name in DESIGNS for n in SIZES for row in cell(name, n, sets, seed)]
    order = list(dict.fromkeys(row.claim for row in found))
    return sorted(found, key=lambda row: order.index(row.claim))
