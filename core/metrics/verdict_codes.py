"""The verdicts on a target, what each is of, and what makes one mixed: codes as stored."""

from enum import StrEnum
from typing import Final


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


class Part(StrEnum):
    """A partition of the rows, or of those answered wrongly."""

    ANSWERS = "answers"  # by the class that was answered
    OTHERS = "others"  # wrong answers by the true class
    STATED = "stated"  # wrong answers by the probability of the true class


TOO_HIGH: Final = frozenset({VerdictCode.OVER_CONFIDENT, VerdictCode.OVERESTIMATES})
TOO_LOW: Final = frozenset({VerdictCode.UNDER_CONFIDENT, VerdictCode.UNDERESTIMATES})
SLOPE: Final = frozenset({VerdictCode.TOO_EXTREME, VerdictCode.TOO_MODERATE})
DETECTED: Final = TOO_HIGH | TOO_LOW | SLOPE | {VerdictCode.MIXED}  # of a size that matters
BEYOND_CHANCE: Final = DETECTED | {VerdictCode.OFF_BUT_SMALL}
