"""The records that metrics fill and every screen, report and command reads."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from typing import Final, Self

import numpy as np

from core.arrays import Float, Int
from core.defaults import LOW_POWER
from core.errors import Notice
from core.metrics.top_label import Binned


class VerdictCode(StrEnum):
    """The verdict on a target.

    Attributes
    ----------
    words : str
        As a list of labels counts it: "3 over-confident, 1 mixed".
    """

    words: str

    def __new__(cls, value: str, words: str) -> "VerdictCode":
        """Make a member that is the stored string."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.words = words
        return member

    OVER_CONFIDENT = "over_confident", "over-confident"  # of answers, as the next one
    UNDER_CONFIDENT = "under_confident", "under-confident"
    OVERESTIMATES = "overestimates", "overestimated"  # of the risk of an event, as the next three
    UNDERESTIMATES = "underestimates", "underestimated"
    TOO_EXTREME = "too_extreme", "too extreme"
    TOO_MODERATE = "too_moderate", "too moderate"
    MIXED = "mixed", "mixed"
    OFF_BUT_SMALL = "off_but_small", "off by little"
    SOUND = "sound", "sound"
    COULD_BE_CHANCE = "could_be_chance", "could be chance"


class VerdictSubject(StrEnum):
    """What a verdict is of; over- and under-confident are words of answers only."""

    ANSWER = "answer"  # that the class named is the true one
    EVENT = "event"  # that one class or label is present: a risk


class MixedReading(StrEnum):
    """What makes a target mixed, as bins and the slope show it; of answers for the slope."""

    OPPOSITE = "opposite"  # bins of both signs are beyond chance, and so is the signed gap
    TOO_EXTREME = "too_extreme"
    TOO_MODERATE = "too_moderate"
    CANCEL = "cancel"  # bins of both signs are beyond chance, and the signed gap is not
    UNEVEN = "uneven"
    BY_CLASS = "by_class"  # classes are off beyond chance, whose errors cancel or differ in sign
    UNSETTLED = "unsettled"  # off beyond chance, but the interval of neither gap nor slope says so


class Statistic(StrEnum):
    """What the joint test of "calibrated" looks at."""

    GAP = "gap"
    SLOPE = "slope"
    ECE = "ece"  # of the bins of the diagram
    FINE = "fine"  # ECE of 50 bins of equal counts
    CUMULATIVE = "cumulative"  # range of the cumulative differences
    CLASSES = "classes"  # largest standardised deviation of a class; of answers only


class Partition(StrEnum):
    """A partition of the rows, or of those answered wrongly."""

    ANSWERS = "answers"  # by the class that was answered
    OTHERS = "others"  # wrong answers by the true class
    STATED = "stated"  # wrong answers by the probability of the true class


TOO_HIGH: Final = frozenset({VerdictCode.OVER_CONFIDENT, VerdictCode.OVERESTIMATES})
TOO_LOW: Final = frozenset({VerdictCode.UNDER_CONFIDENT, VerdictCode.UNDERESTIMATES})
SLOPE: Final = frozenset({VerdictCode.TOO_EXTREME, VerdictCode.TOO_MODERATE})
DETECTED: Final = TOO_HIGH | TOO_LOW | SLOPE | {VerdictCode.MIXED}  # of a size that matters
BEYOND_CHANCE: Final = DETECTED | {VerdictCode.OFF_BUT_SMALL}


Setting = str | int | float | bool | None
FLOOR_LEVELS = (0.0, 0.25, 0.5, 0.65, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9999)


@dataclass(frozen=True)
class BinTable:
    """Bins of a reliability diagram; every array is (B,), NaN where a bin is empty."""

    # low, high: edges; a bin is (low, high], the first one closed at 0
    low: Float
    high: Float
    count: Int  # rows in the bin; counts sum to N
    # confidence, accuracy: mean confidence and share that came true
    confidence: Float
    accuracy: Float
    # ci_low, ci_high: Wilson interval of the accuracy
    ci_low: Float
    ci_high: Float
    # band_low, band_high: where the accuracy of a perfectly calibrated model would lie at the same
    # level, given the confidences in the bin (consistency band)
    band_low: Float
    band_high: Float
    weight: Float | None = None  # how many rows those in the bin stand for, where they are weighted
    # Whether the joint test finds nothing, so that no single bin is to be called off
    could_be_chance: bool = False
    # Rows of the bin that came true, whatever they weigh, where they are weighted
    came_true: Int | None = None

    @property
    def share(self) -> Float:
        """Share of all rows, by weight, that each bin holds, (B,)."""
        weight = self.count if self.weight is None else self.weight
        return np.asarray(weight / weight.sum(), dtype=np.float64)


@dataclass(frozen=True)
class Score:
    """One number with what belongs to it.

    `value` is None where it is undefined or infinite, `low` and `high` where there is no
    interval; `reason` then says why. Fractions, never percent.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    settings: Mapping[str, Setting] = field(default_factory=dict)
    reason: str = ""

    @classmethod
    def undefined(
        cls,
        metric: str,
        level: float,
        n: int,
        reason: str,
        settings: Mapping[str, Setting] | None = None,
    ) -> Self:
        """Return a score without a value, and why."""
        return cls(metric, None, None, None, level, n, settings or {}, reason)


@dataclass(frozen=True)
class Floor:
    """What a perfectly calibrated model would show on the same confidences."""

    # mean, q95: mean and 95th percentile of the draws
    mean: float
    q95: float
    # Those at `FLOOR_LEVELS`; empty where only the two are known
    quantiles: tuple[float, ...] = field(default=(), compare=False, repr=False)

    def at(self, level: float) -> float:
        """Return the quantile at a level, on a line between those that are kept; else `q95`.

        Examples
        --------
        >>> Floor(mean=0.01, q95=0.02).at(0.99)  # where only two numbers were kept
        0.02
        >>> tenths = tuple(k / 10 for k in range(len(FLOOR_LEVELS)))
        >>> round(Floor(0.5, 0.6, tenths).at(0.9), 6)  # the sixth of the levels
        0.5
        """
        if not self.quantiles:
            return self.q95
        tails = -np.log1p(-np.array((level, *FLOOR_LEVELS)))  # in which quantiles lie evenly
        return float(np.interp(tails[0], tails[1:], self.quantiles))


@dataclass(frozen=True)
class Gap:
    """Signed gap, mean claim minus the share that came true, with its interval.

    Positive: answers are over-confident, an event is overestimated.
    """

    gap: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class MixedEnd:
    """The bins that are decided on one side of a mixed target."""

    over: bool  # whether they claim more than came true
    bins: int  # how many they are
    # low, high: lower edge of the first and upper edge of the last of them
    low: float
    high: float
    gap: Gap  # their mean gap; its interval holds for all bins at once
    # Where they are, bins that touch joined; empty where that is low to high
    spans: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class ClassCell:
    """The answers, or the wrong answers, of a kind whose claims deviate most."""

    part: Partition  # of which partition it is a cell
    name: str  # the class that was answered, or of `OTHERS` the true one; empty of `STATED`
    # (float, float), of `STATED`: between which the probabilities of the true class lie
    bounds: tuple[float, float]
    n: float  # rows by weight: such answers, or all wrong ones
    # stated, true: share of them that should be right, or of that kind, and that is
    stated: float
    true: float
    # Rows of two classes at exactly 0.5, which are in no cell: the table of classes counts them
    ties: float = 0.0

    @property
    def gap(self) -> float:
        """Share stated less share that is true."""
        return self.stated - self.true


@dataclass(frozen=True, kw_only=True)
class CostlyClass:
    """The class whose answers are what is off in the bin that costs most."""

    name: str  # the class that was answered
    n: float  # its answers in the bin, by weight
    # stated, right: mean confidence of its answers in the bin, and the share that is right
    stated: float
    right: float
    # others_stated, others: of all others there
    others_stated: float
    others: float


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the joint test found beyond chance."""

    statistic: Statistic
    # value, q95: of the rows, and the 95th percentile of what a calibrated model shows; None of the
    # gap, whose size is the direction. Of the slope the value is the calibration slope.
    value: float | None
    q95: float | None
    # low, high: interval of the slope, at 95 %
    low: float | None = None
    high: float | None = None


def falls(high: float | None) -> bool:
    """Whether a slope whose interval ends at `high` is below 0."""
    return high is not None and high < 0.0


@dataclass(frozen=True)
class Verdict:
    """A verdict and its sentence."""

    code: VerdictCode
    text: str
    p_value: float | None = None  # of the joint test of "calibrated"; None for many labels together
    reading: MixedReading | None = None  # what makes a target mixed; None for the other verdicts
    # Where bins of both sides are decided, the two sides by ascending claims: of a mixed target,
    # and of a risk whose gap and slope are found. Else empty.
    ends: tuple[MixedEnd, ...] = ()
    # What the joint test found, but for gap and slope with its size; empty where nothing
    evidence: tuple[Evidence, ...] = ()
    # Of 1, how often a material miscalibration would have been detected, the least over its forms;
    # None where one was
    power: float | None = None
    # power_odds, power_spread: the same of odds off by a fifth, and of logits off by 15 % with the
    # mean claim kept; None where the form would be immaterial
    power_odds: float | None = None
    power_spread: float | None = None
    # The mean absolute error that is not ruled out though power suffices; None where it is, or
    # where something was found
    open_to: float | None = None
    each_class: bool = False  # whether the answers of each class were tested
    # What the target is off by less than; None for other verdicts than off_but_small
    small: float | None = None
    own_limit: bool = False  # whether that is another limit than the usual one
    # The bin with the largest share of rows times |gap|, on the side that the verdict names: of
    # those whose interval leaves their claim out, else of all there. Of a verdict without a side
    # the decided bin that costs most; None where none is.
    costly: int | None = None
    # The class that this bin's gap is of, where the other answers in it may be calibrated
    costly_class: CostlyClass | None = None
    deviant: ClassCell | None = None  # the cell of the classes that deviates most, where classes do
    # Answers of the classes furthest off on each side beyond chance, and of others off at least
    # half as far as the first, the furthest first, where the mean does not tell of them: they
    # differ in sign from it, or are twice as far off; under a small error, further off beyond
    # chance
    classes: tuple[ClassCell, ...] = ()
    # The answers given, or the risk of an event: each has words of its own
    of: VerdictSubject = VerdictSubject.ANSWER

    def finds(self, statistic: Statistic) -> bool:
        """Return whether the joint test found a statistic beyond chance."""
        return any(item.statistic == statistic for item in self.evidence)

    @property
    def falls(self) -> bool:
        """Whether its claims rise where the share that comes true falls, beyond chance."""
        return any(item.statistic == Statistic.SLOPE and falls(item.high) for item in self.evidence)

    @property
    def too_few(self) -> bool:
        """Whether the rows are too few to tell: no form of error would have shown often."""
        known = (self.power, self.power_odds, self.power_spread)
        most = max((power for power in known if power is not None), default=0.0)
        return self.code == VerdictCode.COULD_BE_CHANCE and most < LOW_POWER


@dataclass(frozen=True, kw_only=True)
class GroupSummary:
    """The groups, and the effective sample size for the signed gap."""

    column: str  # where the groups come from
    # n, largest: groups, and rows of the largest; over many labels, of those known of one on
    # average
    n: int
    largest: int
    design_effect: float  # variance of the signed gap by groups over that by rows
    effective_n: float  # rows over the design effect, at most the rows

    @property
    def count_as(self) -> str:
        """How surely rows count as `effective_n`: where one group holds a tenth, it is a guess."""
        rough = self.largest > 0.1 * self.effective_n * self.design_effect
        return "may count as only about" if rough else "count as about"


@dataclass(frozen=True)
class WeightSummary:
    """Where weights come from, and Kish's effective rows (sum w)^2 / sum w^2."""

    column: str
    effective_n: float


@dataclass(frozen=True, kw_only=True)
class TargetAudit:
    """The audit of one target: the answers given, a positive class, or one label."""

    name: str
    target: int | None
    metrics: Mapping[str, Score]
    noise_floor: Mapping[str, Floor]
    direction: Gap
    verdict: Verdict
    bins: BinTable
    groups: GroupSummary | None = None

    @property
    def of(self) -> VerdictSubject:
        """What its direction and verdict are of."""
        return self.verdict.of

    @property
    def event(self) -> str | None:
        """Name of the class or label whose risk it is; None of answers, and of many labels."""
        return None if self.target is None else self.name


@dataclass(frozen=True)
class Audit:
    """The audit of one split.

    For multilabel, `main` holds macro means (settings say so), its direction is the mean signed
    gap, its bins are empty because nothing is pooled, and its verdict counts the labels by
    verdict; `labels` has one entry a label. Otherwise `labels` is empty.

    Of two classes `main` is of the event, class 1, and `answers` of the answers given: direction,
    verdict and bins with their ECE and its floor. `headline` is the one that opens a screen:
    `answers` where the file has a column for each class, as `by_answer` says; `main` where it
    has one score of the event. `second` is the other.

    `unknown` counts the labels of many, of `n` times `n_classes`, that nobody knows: each counts in
    no number of its label. `largest_group` are the rows of the largest group of the file, of many
    labels, known or not.
    """

    task: str
    scores: str
    n: int
    n_classes: int
    notices: tuple[Notice, ...]
    unavailable: Mapping[str, str]
    main: TargetAudit
    labels: tuple[TargetAudit, ...] = ()
    weights: WeightSummary | None = None
    answers: TargetAudit | None = None
    by_answer: bool = False
    unknown: int = 0
    largest_group: int | None = None

    @property
    def groups(self) -> GroupSummary | None:
        """The groups as reports list them: of many labels those of the whole file."""
        if self.main.groups is None or self.largest_group is None:
            return self.main.groups
        return replace(self.main.groups, largest=self.largest_group)

    @property
    def headline(self) -> TargetAudit:
        """The target whose verdict opens a screen and a report."""
        return self.answers if self.by_answer and self.answers is not None else self.main

    @property
    def p_joint(self) -> float:
        """The larger p-value of headline and answers, by which classes are off; 0 without any."""
        targets = (self.headline, self.answers or self.main)
        return max(target.verdict.p_value or 0.0 for target in targets)

    @property
    def second(self) -> TargetAudit | None:
        """The other target of two classes, of which the line below speaks; else None."""
        return self.main if self.headline is self.answers else self.answers


@dataclass(frozen=True)
class Metric:
    """One entry of the registry: all that is said of a metric wherever it stands."""

    # Pure function returning a float, NaN where it is undefined. Its argument is named by `needs`;
    # settings are keyword-only.
    function: Callable[..., float]
    label: str  # printed name
    plain: str  # what it means, in one sentence without jargon
    _: KW_ONLY
    source: str  # where the definition comes from
    # ``outcomes``: `SortedOutcomes` of any target; ``positive``: those of a positive class;
    # ``scores``: the `Predictions` with all class scores
    needs: str = "outcomes"
    range: tuple[float, float] = (0.0, 1.0)  # (float, float), smallest and largest possible value
    better: str = "lower"  # ``lower``, ``higher``, ``zero`` or ``one``
    in_sentence: str = ""  # name within a sentence, where it is not the label
    in_points: bool = False  # whether tables show it in percent and its differences in points
    compared: str = ""  # ``shown`` wherever runs are compared, ``on request``, or never
    # For comparison with papers alone: computed only where it is named, without an interval
    of_print: bool = False
    of: str = ""  # what it refers to, where that is neither the claims nor the positive class
    binned: Binned | None = None  # of an error over bins: its interval and noise floor
    # An error that may lie below |signed gap|, whose interval its own need not reach
    below_gap: bool = False

    @property
    def refers_to(self) -> str:
        """What it speaks of."""
        return self.of or ("positive class" if self.needs == "positive" else "claims")


@dataclass(frozen=True, kw_only=True)
class ClassRow:
    """One line of the per-class table."""

    # name, index: the class
    name: str
    index: int
    labelled: int  # rows that are of this class
    # Rows that were answered with this class; the next fields speak of these and are None where
    # there are none
    n: int
    # confidence, accuracy: mean confidence of these answers and the share that was right
    confidence: float | None
    accuracy: float | None
    gap: Gap | None  # their signed gap with its interval
    # Equal-width ECE of this class's probability over all rows; None where the file holds no class
    # scores
    ece: float | None
    # Of the gap, corrected for looking at all classes (Bonferroni), and at least that of all
    # classes together
    p_value: float | None = None
