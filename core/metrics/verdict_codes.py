"""The verdicts on a target, and what makes one mixed: codes as they are stored, with words."""

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

    OVER_CONFIDENT = "over_confident", "over-confident"
    UNDER_CONFIDENT = "under_confident", "under-confident"
    MIXED = "mixed", "mixed"
    SOUND = "sound", "sound"
    COULD_BE_CHANCE = "could_be_chance", "could be chance"


class MixedReading(StrEnum):
    """What makes a target mixed, as bins and the slope show it."""

    OPPOSITE = "opposite"  # bins of both signs are beyond chance, and so is the signed gap
    TOO_EXTREME = "too_extreme"
    TOO_TIMID = "too_timid"
    CANCEL = "cancel"  # bins of both signs are beyond chance, and the signed gap is not
    UNEVEN = "uneven"


DETECTED: Final = frozenset(
    {VerdictCode.OVER_CONFIDENT, VerdictCode.UNDER_CONFIDENT, VerdictCode.MIXED}
)
