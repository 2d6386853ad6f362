"""The page Out of distribution in plain words: pictures of 100, and what they do not say."""

from dataclasses import dataclass

from core.ood.thresholds import Counts
from core.screens.kit.numbers import in_hundred
from core.screens.kit.units import spoken
from core.screens.ood.words import SetName, alike_words
from core.studies.ood import ScoreSeparation


@dataclass(frozen=True)
class HundredRows:
    """A picture of 100: the sentence, and how many of them are crossed."""

    text: str
    crossed: int


@dataclass(frozen=True)
class PlainOod:
    """Two pictures of 100, and the words beside them."""

    hundreds: tuple[HundredRows, HundredRows]
    limits: str
    helps: str


def plain_view(name: SetName, judged: ScoreSeparation, counts: Counts) -> PlainOod:
    """Return what the threshold does to 100 of either kind, what that does not say, what helps."""
    things = spoken("pictures")
    return PlainOod(
        hundreds(name, counts),
        f"It always answers with one of its own classes. Other unfamiliar {things} may pass "
        f"more often. {alike_words(judged)}".strip(),
        "Move the line: fewer false alarms mean more misses.",
    )


def hundreds(name: SetName, counts: Counts) -> tuple[HundredRows, HundredRows]:
    """Return what the threshold does to 100 of either kind."""
    flagged, false = in_hundred(1.0 - counts.missed), in_hundred(counts.false_alarms)
    return (
        HundredRows(f"{flagged} in 100 {name.things}", round(100 * (1.0 - counts.missed))),
        HundredRows(
            f"{false} in 100 ordinary {spoken('pictures')}, by mistake",
            round(100 * counts.false_alarms),
        ),
    )
