"""What is said of many labels, each by itself: one rule for every page that lists them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from core.metrics.macro import corrected_verdicts
from core.metrics.records import (
    BEYOND_CHANCE,
    DETECTED,
    TOO_HIGH,
    TOO_LOW,
    Audit,
    TargetAudit,
    Verdict,
    VerdictCode,
)
from core.screens.kit.cards import calibration_error
from core.screens.kit.numbers import count, points, span
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.sentences import CODE_TONES

Verbs = Mapping[VerdictCode, tuple[str, str]]  # of one label, and of several
VERBS: Final[Verbs] = {
    VerdictCode.OVER_CONFIDENT: ("is over-confident", "are over-confident"),
    VerdictCode.UNDER_CONFIDENT: ("is under-confident", "are under-confident"),
    VerdictCode.OVERESTIMATES: ("is overestimated", "are overestimated"),
    VerdictCode.UNDERESTIMATES: ("is underestimated", "are underestimated"),
    VerdictCode.TOO_EXTREME: ("is too extreme", "are too extreme"),
    VerdictCode.TOO_MODERATE: ("is too moderate", "are too moderate"),
    VerdictCode.MIXED: (
        "is too high at some scores and too low at others",
        "are too high at some scores and too low at others",
    ),
    VerdictCode.OFF_BUT_SMALL: ("is off by little", "are off by little"),
    VerdictCode.SOUND: ("is well calibrated", "are well calibrated"),
    VerdictCode.COULD_BE_CHANCE: ("could be chance", "could be chance"),
}
PLAIN_VERBS: Final[Verbs] = {
    VerdictCode.OVER_CONFIDENT: ("is expected too often", "are expected too often"),
    VerdictCode.UNDER_CONFIDENT: ("is expected too rarely", "are expected too rarely"),
    VerdictCode.OVERESTIMATES: ("is expected too often", "are expected too often"),
    VerdictCode.UNDERESTIMATES: ("is expected too rarely", "are expected too rarely"),
    VerdictCode.TOO_EXTREME: (
        "gets chances that differ more than they should",
        "get chances that differ more than they should",
    ),
    VerdictCode.TOO_MODERATE: (
        "gets chances that differ less than they should",
        "get chances that differ less than they should",
    ),
    VerdictCode.MIXED: (
        "is expected too often at some scores and too rarely at others",
        "are expected too often at some scores and too rarely at others",
    ),
    VerdictCode.OFF_BUT_SMALL: ("is off by little", "are off by little"),
    VerdictCode.SOUND: (
        "is expected as often as it is there",
        "are expected as often as they are there",
    ),
    VerdictCode.COULD_BE_CHANCE: ("could be chance", "could be chance"),
}


@dataclass(frozen=True, kw_only=True)
class LabelVerdict:
    """What is said of one label among others."""

    index: int  # which of the labels it is
    audit: TargetAudit  # of the label alone
    verdict: Verdict  # corrected for looking at all labels (Holm)

    @property
    def code(self) -> VerdictCode:
        """The code of the corrected verdict."""
        return self.verdict.code

    @property
    def text(self) -> str:
        """The verdict in two words: over-confident, could be chance."""
        return "well calibrated" if self.code == VerdictCode.SOUND else self.code.words

    @property
    def corrected(self) -> TargetAudit:
        """The label with the corrected verdict, and no bin called off where that is chance."""
        chance = self.code not in BEYOND_CHANCE
        bins = replace(self.audit.bins, could_be_chance=chance)
        return replace(self.audit, verdict=self.verdict, bins=bins)

    @property
    def error(self) -> float:
        """The calibration error; -1 where there is none."""
        score, _ = calibration_error(self.audit)
        return -1.0 if score is None or score.value is None else score.value

    @property
    def size(self) -> str:
        """How far off it is, with its interval; empty unless it is off in one direction."""
        gap = self.audit.direction
        if self.code in TOO_HIGH:
            low, high = gap.low, gap.high
        elif self.code in TOO_LOW:
            low, high = -gap.high, -gap.low
        else:
            return ""
        return f"{points(abs(gap.gap), low, high)} points ({span(low, high)})"


def label_verdicts(labels: Sequence[TargetAudit]) -> tuple[LabelVerdict, ...]:
    """Return the verdict of each label, in their order."""
    verdicts = corrected_verdicts(labels)
    return tuple(
        LabelVerdict(index=k, audit=label, verdict=verdict)
        for k, (label, verdict) in enumerate(zip(labels, verdicts, strict=True))
    )


def holm_adjusted(target: TargetAudit, labels: Sequence[TargetAudit], index: int) -> TargetAudit:
    """Return one label with the verdict that is left when all labels are looked at.

    It may be over other bins than in `labels`, where it takes its own place, `index`.
    """
    every = [*labels]
    every[index] = target
    return label_verdicts(every)[index].corrected


def furthest_first(verdicts: Sequence[LabelVerdict]) -> tuple[LabelVerdict, ...]:
    """Return the labels that are off beyond chance first, each part by its calibration error."""
    return tuple(
        sorted(verdicts, key=lambda verdict: (verdict.code not in DETECTED, -verdict.error))
    )


def headline(audit: Audit) -> TargetAudit:
    """Return what one page about an audit speaks of: of many labels, the one furthest off.

    Its verdict is the corrected one, so that it agrees with the count of all labels.
    """
    if not audit.labels:
        return audit.headline
    return furthest_first(label_verdicts(audit.labels))[0].corrected


def with_unknown(sentence: Sentence, audit: Audit) -> Sentence:
    """Return a sentence on many labels with how many of them are unknown, if any are."""
    if not audit.unknown:
        return sentence
    every = count(audit.n * audit.n_classes)
    unknown = f"{count(audit.unknown)} of {every} labels are unknown and count in no number."
    return replace(sentence, second=f"{sentence.second} {unknown}".strip())


def labels_sentence(
    verdicts: Sequence[LabelVerdict], noun: str = "labels", verbs: Verbs = VERBS
) -> Sentence:
    """Return how many labels, at least one, got which verdict; `noun` is their plural."""
    n, counts = len(verdicts), Counter(verdict.code for verdict in verdicts)
    mixed = [each.verdict.ends for each in verdicts if each.code == VerdictCode.MIXED]
    if not all(mixed):  # no bin is decided on one of the sides
        verbs = {**verbs, VerdictCode.MIXED: ("is off at some scores", "are off at some scores")}
    codes = [code for code in VerdictCode if counts[code]]
    second = f"Corrected for {n} {noun} (Holm)." if n > 1 else ""
    if len(codes) == 1:
        whose = f"{'Both' if n == 2 else f'All {n}'} {noun} "
        if n == 1:
            whose = f"The only {noun.removesuffix('s')} "
        verb = Phrase(verbs[codes[0]][n > 1], CODE_TONES[codes[0]])
        return Sentence((Phrase(whose), verb, Phrase(".")), second)
    # Labels by verdict, in the order of the codes, each with its own tone.
    parts = [Phrase(f"Of {n} {noun}, ")]
    for code in codes:
        joint = "" if code == codes[0] else " and " if code == codes[-1] else ", "
        parts += [
            Phrase(f"{joint}{counts[code]} "),
            Phrase(verbs[code][counts[code] > 1], CODE_TONES[code]),
        ]
    return Sentence((*parts, Phrase(".")), second)
