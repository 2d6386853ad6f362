"""The records that an audit against votes fills."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.arrays import Float, Int
from core.metrics.records import Gap

ONE_VOTE = "one vote a row does not tell how far people disagree"
NOT_COUNTED = "shares do not tell how many people were asked"


@dataclass(frozen=True, kw_only=True)
class HumanScore:
    """One number about model and people.

    Attributes
    ----------
    value, low, high : float or None
        The number and its interval; None where it is infinite, and no ends of one row or group.
    floor : float or None
        What it would be, on average, of a model that knew the true shares, with as many votes; for
        `ece_votes` of one whose bins agree with people; for `soft_nll` the mean entropy of the
        votes, below which nothing can lie.
    bound : float or None
        Beyond it lies one such model in twenty: above, or below for `rank`.
    reason : str
        Why something is missing.
    """

    value: float | None
    low: float | None
    high: float | None
    floor: float | None
    bound: float | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class VoteBin:
    """Answers of much the same confidence, and the share of people who agree with them.

    Attributes
    ----------
    count : int
        Rows.
    confidence : float
        Mean confidence of the answers.
    agreement, low, high : float
        Share of people who agree, with its interval.
    """

    count: int
    confidence: float
    agreement: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """Rows of which people disagree about as much; every array is (G,).

    Attributes
    ----------
    entropy : float64
        Mean entropy of the votes, in nats, ascending.
    count : int64
        Rows.
    confidence, agreement : float64
        Mean confidence, and mean share of people who agree with the answer.
    gap, low, high : float64
        Confidence minus agreement, with its interval.
    known : float64
        The gap that a model would show on these rows that knew the true shares; NaN where the
        number of votes is not known.
    """

    entropy: Float
    count: Int
    confidence: Float
    agreement: Float
    gap: Float
    low: Float
    high: Float
    known: Float


@dataclass(frozen=True, kw_only=True)
class HumanAudit:
    """How far a model is from people, on the rows that people voted on.

    Attributes
    ----------
    name : str
        Where the votes come from.
    n, n_rows, n_classes : int
        Rows with votes, all rows, and classes.
    level : float
        Of every interval.
    least, mean, most : float or None
        Votes a row; None where the file gives shares.
    tied : int
        Rows whose most votes are shared by several classes.
    confidence, agreement : float
        Mean confidence of the answers, and mean share of people who agree.
    direction : Gap
        Confidence minus agreement.
    scores : mapping of str to HumanScore
        tvd, entropy_gap, entropy_gap_signed, rank, ece_votes, soft_nll.
    known_nll : float or None
        Soft NLL of a model that knew the true shares: the entropy of the votes, and what so few
        votes take off it.
    bins : tuple of VoteBin
        The bins that hold rows, by ascending confidence.
    disagreement : Disagreement
        By how much people disagree.
    by_majority : bool
        Whether every label is what most people said of its row.
    """

    name: str
    n: int
    n_rows: int
    n_classes: int
    level: float
    least: float | None
    mean: float | None
    most: float | None
    tied: int
    confidence: float
    agreement: float
    direction: Gap
    scores: Mapping[str, HumanScore]
    known_nll: float | None
    bins: tuple[VoteBin, ...]
    disagreement: Disagreement
    by_majority: bool = False

    @property
    def fullest(self) -> VoteBin:
        """The bin with the most rows; of several the surest."""
        return max(self.bins, key=lambda vote_bin: (vote_bin.count, vote_bin.confidence))
