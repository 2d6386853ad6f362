"""Verdict sentences, technical and plain, built from the numbers of an audit alone."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from core.codes import NoticeCode
from core.defaults import LEVEL
from core.errors import Notice
from core.metrics.records import TargetAudit
from core.metrics.verdict import MATERIAL
from core.metrics.verdict_codes import MixedReading, VerdictCode
from core.screens.kit.bin_marks import shares
from core.screens.kit.numbers import count, in_hundred, percent, points, singular, span
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.theme import Tone
from core.screens.kit.tiles import calibration_error
from core.screens.kit.words import UNIT

CODE_TONES: dict[str, Tone] = {
    VerdictCode.OVER_CONFIDENT: "over",
    VerdictCode.UNDER_CONFIDENT: "under",
    VerdictCode.MIXED: "ink",
    VerdictCode.SOUND: "sound",
    VerdictCode.COULD_BE_CHANCE: "quiet",
}


PLAIN_ANSWERS = {
    "over_confident": "This model is surer of itself than it should be.",
    "under_confident": "This model is less sure of itself than it could be.",
    "opposite": "This model is too sure in some places and not sure enough in others.",
    "cancel": "This model is too sure in some places and not sure enough in others.",
    "too_extreme": "This model is too sure of its sure answers and too unsure of the others.",
    "too_timid": "This model sets its sure answers too little apart from the others.",
    "uneven": "This model's stated certainty fits on average, but not everywhere.",
    "sound": (
        "This model's stated certainty fits how often it is right; an error of practical size "
        "would have shown."
    ),
    "could_be_chance": "There are too few pictures to tell whether its certainty fits.",
}
PLAIN_PRESENCE = {
    "over_confident": "This model expects {name} more often than it is there.",
    "under_confident": "This model expects {name} less often than it is there.",
    "opposite": "This model expects {name} too often in some places and too rarely in others.",
    "cancel": "This model expects {name} too often in some places and too rarely in others.",
    "too_extreme": (
        "Where this model expects {name}, it is too sure of it, and elsewhere too sure of the "
        "opposite."
    ),
    "too_timid": (
        "Where this model expects {name}, it is not sure enough of it, and elsewhere not sure "
        "enough of the opposite."
    ),
    "uneven": "How often this model expects {name} fits on average, but not everywhere.",
    "sound": (
        "How often this model expects {name} fits how often it is there; an error of practical "
        "size would have shown."
    ),
    "could_be_chance": "There are too few pictures to tell whether its certainty fits.",
}
MIXED = {
    "too_extreme": "what it says is too extreme, high and low, though right on average",
    "too_timid": "what it says is not spread enough, though right on average",
    "cancel": "it says more than it should in some places and less in others",
    "uneven": "right on average, but not everywhere",
}


def verdict_sentence(target: TargetAudit) -> Sentence:
    """Return the sentence that opens the reliability page, with its parts by tone."""
    n = int(target.bins.count.sum())
    if n == 0:  # many labels pooled: the verdict already counts them
        return Sentence((Phrase(target.verdict.text),))
    code = target.verdict.code
    parts = {
        VerdictCode.OVER_CONFIDENT: _direction_parts,
        VerdictCode.UNDER_CONFIDENT: _direction_parts,
        VerdictCode.MIXED: _mixed_parts,
        VerdictCode.SOUND: _sound_parts,
        VerdictCode.COULD_BE_CHANCE: _chance_parts,
    }[code](target)
    return Sentence(parts, f"{fullest_bin(target)} {worth(target)}".strip())


def worth(target: TargetAudit, rows: str = UNIT) -> str:
    """Return what rows that belong together are worth; empty where each stands for itself."""
    groups = target.groups
    if groups is None:
        return ""
    belonging = groups_words(groups.column, groups.n)
    return (
        f"{count(int(target.bins.count.sum()))} {rows} of {belonging} are worth about "
        f"{count(round(groups.effective_n))} independent ones here."
    )


def groups_words(column: str, n: int) -> str:
    """Return how many groups there are, and what they are called: "300 groups (patient)"."""
    return f"{count(n)} groups ({column})"


def doubted(sentence: Sentence, notices: Sequence[Notice]) -> Sentence:
    """Return the sentence behind the question whether labels are the model's own answers."""
    doubts = [
        Phrase(f"{note.text} ", "over") for note in notices if note.code == NoticeCode.ALWAYS_RIGHT
    ]
    return replace(sentence, parts=(*doubts, *sentence.parts))


def averages(target: TargetAudit) -> str:
    """Return what it says and what came true on average."""
    says, right = shares(target.bins)
    if target.target is None:
        return f"on average it says {percent(says)} and is right {percent(right)} of the time"
    return f"on average it says {percent(says)} and it is present in {percent(right)} of {UNIT}"


def fullest_bin(target: TargetAudit) -> str:
    """Return the second line, read from the bin with most rows: certainty against times in 100."""
    bins = target.bins
    i = int(np.argmax(bins.count))
    n = int(bins.count[i])
    says = percent(float(bins.confidence[i]))
    low, high = float(bins.ci_low[i]), float(bins.ci_high[i])
    times = in_hundred(float(bins.accuracy[i]), low, high)
    outcome = "it is right" if target.target is None else "it is present"
    noun = "time" if times == "1" else "times"
    return (
        f"Where it says {says} ({_images(n)}), {outcome} {times} {noun} in 100 ({span(low, high)})."
    )


def plain_sentence(target: TargetAudit) -> Sentence:
    """Return the opening sentence without jargon, in times out of 100."""
    if int(target.bins.count.sum()) == 0:
        return Sentence((Phrase(target.verdict.text),))
    says, right = (in_hundred(share) for share in shares(target.bins))
    code, name = target.verdict.code, target.name
    reading = target.verdict.reading or (MixedReading.UNEVEN if code == VerdictCode.MIXED else code)
    if target.target is None:
        first = PLAIN_ANSWERS[reading]
        rest = (
            f"Over all its answers it claims to be right {_times(says)} in 100; "
            f"it is right {_times(right)}."
        )
    else:
        first = PLAIN_PRESENCE[reading].format(name=f"“{name}”")
        rest = (
            f"Over all pictures it expects “{name}” {_times(says)} in 100; "
            f"it was there {_times(right)}."
        )
    return Sentence((Phrase(first, CODE_TONES[code]), Phrase(f" {rest}")))


def _direction_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    gap = target.direction
    over = target.verdict.code == VerdictCode.OVER_CONFIDENT
    low, high = (gap.low, gap.high) if over else (-gap.high, -gap.low)
    size = points(abs(gap.gap), low, high)
    word = "Over-confident" if over else "Under-confident"
    return (
        Phrase(f"{word} by {size} points", "over" if over else "under"),
        Phrase(_bracket(low, high), "quiet"),
        Phrase(f": {averages(target)}."),
    )


def _mixed_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    gap, reading = target.direction, target.verdict.reading
    if reading == MixedReading.OPPOSITE:
        word, against = ("over", "less") if gap.gap > 0 else ("under", "more")
        low, high = (gap.low, gap.high) if gap.gap > 0 else (-gap.high, -gap.low)
        return (
            Phrase("Mixed"),
            Phrase(f": {word}-confident by {points(abs(gap.gap), low, high)} points"),
            Phrase(_bracket(low, high), "quiet"),
            Phrase(f" on average, but it says {against} than it should in some bins."),
        )
    ece = _ece(target)
    off = "" if ece is None else f"; bin by bin it is off by {points(ece)} points"
    return Phrase("Mixed"), Phrase(f": {MIXED[reading or MixedReading.UNEVEN]}{off}.")


def _sound_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    n = int(target.bins.count.sum())
    return (
        Phrase("Sound", "sound"),
        Phrase(
            f": its stated certainty fits how often it is {_right(target)}; on {_images(n)} an "
            f"error of practical size ({MATERIAL}) would have shown; "
            f"{averages(target)}.{_alone(target)}"
        ),
    )


def _chance_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    n = int(target.bins.count.sum())
    ece, floor = _ece(target), calibration_error(target)[1]
    if n == 1 or ece is None or floor is None:
        return (Phrase("Could be chance", "quiet"), Phrase(f": {_images(n)}, too few to tell."))
    return (
        Phrase("Could be chance", "quiet"),
        Phrase(
            f": too few images to tell. It looks off by {points(ece)} points; on {_images(n)} a "
            f"perfect model would look off by up to {points(floor.q95)}, and an error of practical "
            f"size ({MATERIAL}) might not have shown.{_alone(target)}"
        ),
    )


def _alone(target: TargetAudit) -> str:
    """Explain an interval of the gap that leaves 0 out where the joint test does not."""
    gap, (score, _) = target.direction, calibration_error(target)
    if gap.low <= 0 <= gap.high:
        return ""
    often = 100 * (1 - (score.level if score is not None else LEVEL))
    return (
        f" Taken alone the gap’s interval leaves 0 out; with a perfect model that happens "
        f"{often:.3g} times in 100."
    )


def _ece(target: TargetAudit) -> float | None:
    score, _ = calibration_error(target)
    return score.value if score is not None else None


def _bracket(low: float, high: float) -> str:
    interval = span(low, high)
    return f" ({interval})" if interval else ""


def _right(target: TargetAudit) -> str:
    return "right" if target.target is None else "present"


def _images(n: int) -> str:
    return "1 image" if n == 1 else f"{count(n)} {UNIT}"


def _times(times: str) -> str:
    return f"{times} {'time' if singular(times) else 'times'}"
