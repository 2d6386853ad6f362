"""Verdict sentences, technical and plain, built from the numbers of an audit alone."""

from collections.abc import Sequence
from dataclasses import replace

from core.codes import NoticeCode
from core.defaults import N_BINS_MAX
from core.errors import Notice
from core.metrics.macro import ChanceAfterHolm
from core.metrics.records import (
    BEYOND_CHANCE,
    SLOPE,
    TOO_HIGH,
    TOO_LOW,
    Audit,
    BinTable,
    ClassCell,
    Floor,
    Gap,
    GroupSummary,
    MixedReading,
    Partition,
    Score,
    Statistic,
    TargetAudit,
    VerdictCode,
    VerdictSubject,
)
from core.metrics.verdict import (
    ALONE,
    AT_ONCE,
    NAMED,
    SHOWN,
    TESTED,
    UNSETTLED,
    class_words,
    classes_words,
    costly_class_sentence,
    furthest_words,
    not_ruled_out,
    places,
    quoted_bin,
    rises,
    shown_words,
    which_test,
    would_show,
)
from core.predictions import group_nouns
from core.screens.kit.cards import calibration_error
from core.screens.kit.marks import shares
from core.screens.kit.numbers import (
    THIN,
    about_count,
    chance,
    count,
    distinct_counts,
    in_hundred,
    percent,
    points,
    points_span,
    singular,
    span,
)
from core.screens.kit.records import Phrase, Sentence
from core.screens.kit.theme import Tone
from core.screens.kit.words import UNIT, with_row_noun

CODE_TONES: dict[str, Tone] = {
    VerdictCode.OVER_CONFIDENT: "over",
    VerdictCode.UNDER_CONFIDENT: "under",
    VerdictCode.OVERESTIMATES: "over",
    VerdictCode.UNDERESTIMATES: "under",
    VerdictCode.TOO_EXTREME: "ink",
    VerdictCode.TOO_MODERATE: "ink",
    VerdictCode.MIXED: "ink",
    VerdictCode.OFF_BUT_SMALL: "ink",
    VerdictCode.SOUND: "sound",
    VerdictCode.COULD_BE_CHANCE: "ink",
}

PLAIN_ANSWERS = {
    "over_confident": "This model is more sure than it should be.",
    "under_confident": "This model is less sure than it could be.",
    "too_extreme": "How sure this model is rises faster than how often it is right.",
    "too_moderate": "How sure this model is rises more slowly than how often it is right.",
    "falls": "The more sure this model is, the less often it is right.",
    "uneven": "How sure this model is does not match how often it is right.",
    "by_class": (
        "The chances of the classes that this model does not choose do not match how often they "
        "are true."
    ),
    "unsettled": (
        "How sure this model is does not match how often it is right; too few pictures to say "
        "which way."
    ),
    "off_but_small": "On average this model is almost as sure as it should be.",
    "within_chance": "This model looks as sure as it should be; what is off could be chance.",
    "sound": "This model is right as often as it says.",
    "could_be_chance": (
        "There are too few pictures to tell whether this model is as sure as it should be."
    ),
}
PLAIN_PRESENCE = {
    "over_confident": "This model expects {name} more often than it is there.",
    "under_confident": "This model expects {name} less often than it is there.",
    "overestimates": "This model expects {name} more often than it is there.",
    "underestimates": "This model expects {name} less often than it is there.",
    "too_extreme": "The chances this model gives {name} differ more than they should.",
    "too_moderate": "The chances this model gives {name} differ less than they should.",
    "falls": "The higher the chance this model gives {name}, the less often it is there.",
    "off_but_small": "On average this model expects {name} almost as often as it is there.",
    "within_chance": (
        "This model looks as if it expects {name} as often as it should; what is off could be "
        "chance."
    ),
    "uneven": "The chances this model gives {name} are off in places.",
    "unsettled": (
        "The chances this model gives {name} are off; too few pictures to say which way."
    ),
    "sound": "This model expects {name} as often as it is there.",
    "could_be_chance": (
        "There are too few pictures to tell whether this model expects {name} as often as it "
        "should."
    ),
}
SPREAD = {"too_extreme": "too extreme", "too_moderate": "too moderate"}
UNSIDED = "off, but not on average beyond chance"
OTHER = {
    VerdictCode.MIXED: "too high in some ranges and too low in others",
    VerdictCode.SOUND: "well calibrated",
    VerdictCode.COULD_BE_CHANCE: "within what chance explains",
}
RISING = {"too_extreme": "faster than", "too_moderate": "more slowly than"}
MIXED = {
    "uneven": UNSIDED,
    "by_class": "its answers show no error beyond chance, the other classes do",
    "unsettled": f"off by {UNSETTLED}",
}


def verdict_sentence(target: TargetAudit, noun: str = "labels") -> Sentence:
    """Return the sentence that opens the reliability page, with its parts by tone.

    `noun` is what labels are called, in the plural, where the target is one of many.
    """
    n = int(target.bins.count.sum())
    if n == 0:  # many labels pooled: the verdict already counts them
        return Sentence((Phrase(target.verdict.text),))
    if isinstance(target.verdict, ChanceAfterHolm):
        first = Phrase(f"Could be chance among {target.verdict.labels} {noun}.")
        second = (taken_alone(target, noun), bin_sentence(target), effective_n_words(target))
        return Sentence((first,), " ".join(filter(None, second)))
    code = target.verdict.code
    parts = {
        **dict.fromkeys(TOO_HIGH | TOO_LOW, _direction_parts),
        **dict.fromkeys(SLOPE, _slope_parts),
        VerdictCode.MIXED: _mixed_parts,
        VerdictCode.OFF_BUT_SMALL: _small_parts,
        VerdictCode.SOUND: _sound_parts,
        VerdictCode.COULD_BE_CHANCE: _chance_parts,
    }[code](target)
    more = {
        **dict.fromkeys(SLOPE, _on_average),
        VerdictCode.MIXED: _on_average,
        VerdictCode.OFF_BUT_SMALL: _too_little,
        VerdictCode.SOUND: _would_have_shown,
        VerdictCode.COULD_BE_CHANCE: _might_not_have_shown,
    }.get(code)
    # Which test found an error that the ECE on the page does not show
    (score, floor), tested = calibration_error(target), ""
    if code in BEYOND_CHANCE and score is not None and floor is not None:
        tested = which_test(
            gap_off=target.verdict.finds(Statistic.GAP),
            slope_off=target.verdict.finds(Statistic.SLOPE),
            error=(score, floor),
            what=SHOWN.get(code, "it"),
        ).strip()
    parts_below = (
        more(target) if more else "",
        tested,
        bin_sentence(target),
        effective_n_words(target),
    )
    return Sentence(parts, " ".join(filter(None, parts_below)))


def other_verdict(audit: Audit, target: TargetAudit) -> TargetAudit | None:
    """Return the event's audit beside that of two classes' answers, or the other way round."""
    if audit.answers is None or target.target not in (None, audit.main.target):
        return None
    return audit.main if target.target is None else audit.answers


def other_sentence(other: TargetAudit) -> str:
    """Return the verdict on the other target of two classes, for the line below the first."""
    code, answers = other.verdict.code, other.event is None
    if code in TOO_HIGH | TOO_LOW:
        size = _size(other, other.direction, over=code in TOO_HIGH)
        return f"Its answers are {size}." if answers else f"It {size}."
    if _by_class(other):
        return f"Its {classes_words(other.verdict.classes)}."
    whose = "Its answers are" if answers else f"Its risks of “{other.event}” are"
    if code == VerdictCode.MIXED and not other.verdict.ends:
        decided, rising = _decided(other), RISING.get(other.verdict.reading or "")
        if rising and not other.verdict.classes:
            rises_than = (
                "where their accuracy falls" if other.verdict.falls else f"{rising} their accuracy"
            )
            return f"The confidence of its answers rises {rises_than}."
        return f"Its {decided}." if other.verdict.classes else f"{whose} {decided or UNSIDED}."
    return f"{whose} {OTHER.get(code, code.words)}."


def plain_other(other: TargetAudit) -> str:
    """Return the same without jargon."""
    text = plain_sentence(other).parts[0].text
    if other.event is not None:
        return text
    return f"When it only answers yes or no: {text[:1].lower()}{text[1:]}"


def plain_above(target: TargetAudit) -> str:
    """Say without jargon that an error above its floor could be chance all the same."""
    score, floor = calibration_error(target)
    chance_code = target.verdict.code in {VerdictCode.COULD_BE_CHANCE, VerdictCode.SOUND}
    if not chance_code or score is None or floor is None or not _above(score, floor):
        return ""
    return _above_words(score, floor)


def taken_alone(target: TargetAudit, noun: str = "labels") -> str:
    """Return what is found of a label alone that could be chance among many; else nothing."""
    verdict = target.verdict
    if not isinstance(verdict, ChanceAfterHolm):
        return ""
    alone = replace(target, verdict=verdict.alone)
    code = verdict.alone.code
    if code in TOO_HIGH | TOO_LOW:
        be = "" if target.of == VerdictSubject.EVENT else "is "
        error = f"it {be}{_size(target, target.direction, over=code in TOO_HIGH)}"
    else:
        small = code == VerdictCode.OFF_BUT_SMALL
        parts = (_slope_parts if code in SLOPE else _small_parts if small else _mixed_parts)(alone)
        words = "".join(part.text for part in parts).removesuffix(".")
        error = f"it is {words[:1].lower()}{words[1:]}"
    return (
        f"Taken alone, {error}; {chance(verdict.p_value or 0.0)}, corrected for "
        f"{verdict.labels} {noun} (Holm) {chance(verdict.p_holm)}."
    )


def effective_n_words(target: TargetAudit, rows: str = UNIT) -> str:
    """Return the effective sample size of grouped rows in words; empty without groups."""
    groups = target.groups
    if groups is None:
        return ""
    belonging = groups_words(groups.column, groups.n)
    what = "" if target.target is None else f" for “{target.name}”"
    n = int(target.bins.count.sum())
    return (
        f"{count(n)} {with_row_noun(rows)} of {belonging} {counted_as(groups, n)} independent "
        f"ones{what}."
    )


def counted_as(groups: GroupSummary, n: int) -> str:
    """Return "count as about 166" and how surely, or "count as 640" where that is all of them."""
    rows = about_count(groups.effective_n, n)
    return f"count as {rows}" if rows == count(n) else f"{groups.count_as} {rows}"


def groups_words(column: str, n: int) -> str:
    """Return how many groups there are, and what they are: "300 patients", "5 groups (batch)"."""
    _, nouns = group_nouns(column)
    return f"{count(n)} {nouns}" if nouns != "groups" else f"{count(n)} groups ({column})"


def with_caveats(sentence: Sentence, notices: Sequence[Notice]) -> Sentence:
    """Return the sentence behind the question whether labels are the model's own answers."""
    doubts = [
        Phrase(f"{note.text} ", "over") for note in notices if note.code == NoticeCode.ALWAYS_RIGHT
    ]
    return replace(sentence, parts=(*doubts, *sentence.parts))


def averages(target: TargetAudit) -> str:
    """Return what it says and what came true on average."""
    says, right = shares(target.bins)
    if target.target is None:
        return f"on average it says {percent(says)} and is right {percent(right)}"
    present = f"{percent(right)} of {with_row_noun(UNIT)}"
    return f"on average it says {percent(says)}; it is present in {present}"


def bin_sentence(target: TargetAudit) -> str:
    """Return the second line, read from `quoted_bin`: certainty against times in 100."""
    bins = target.bins
    i = quoted_bin(bins, target.verdict.costly)
    n = int(bins.count[i])
    says = percent(float(bins.confidence[i]))
    low, high = float(bins.ci_low[i]), float(bins.ci_high[i])
    times = in_hundred(float(bins.accuracy[i]), low, high)
    outcome = "it is right" if target.target is None else f"“{target.name}” is present"
    noun = "time" if times == "1" else "times"
    own = target.verdict.costly_class
    alone = "" if own is None else f" {costly_class_sentence(own)}"
    return (
        f"Where it says {says} ({_images(n)}), {outcome} {times} {noun} in 100 "
        f"({span(low, high)}).{alone}"
    )


def plain_sentence(target: TargetAudit) -> Sentence:
    """Return the opening sentence without jargon, in times out of 100."""
    if int(target.bins.count.sum()) == 0:
        return Sentence((Phrase(target.verdict.text),))
    code, name = target.verdict.code, f"“{target.name}”"
    reading: str = code
    if code == VerdictCode.MIXED:
        reading = target.verdict.reading or MixedReading.UNEVEN
    elif code == VerdictCode.COULD_BE_CHANCE and not target.verdict.too_few:
        reading = "within_chance"
    if target.verdict.falls and SPREAD.keys() & {reading, target.verdict.reading}:
        reading = "falls"
    if _by_class(target):
        # Of which answers it is too sure, and of which not sure enough, by class
        plain_classes = ", and ".join(
            f"{'too sure' if cell.gap > 0 else 'not sure enough'} of its answers “{cell.name}” "
            f"({_plain_shares(cell)})"
            for cell in target.verdict.classes
        )
        first = f"This model is {plain_classes}."
    elif code == VerdictCode.MIXED and target.verdict.ends:
        first = _plain_ends(target)
    elif target.of == VerdictSubject.ANSWER:
        reading = reading if reading in PLAIN_ANSWERS else MixedReading.UNEVEN
        first = with_row_noun(PLAIN_ANSWERS[reading])
        gap = target.direction
        if reading == MixedReading.UNEVEN and not gap.low <= 0.0 <= gap.high:
            side = "too sure" if gap.gap > 0.0 else "not sure enough"
            by = _points_by(gap, over=gap.gap > 0.0)
            first = f"{first.removesuffix('.')}; on average it is {side} by {by}."
    else:
        # Both ends are told by their bins; where a page leaves these out, it is off in places
        reading = reading if reading in PLAIN_PRESENCE else MixedReading.UNEVEN
        first = with_row_noun(PLAIN_PRESENCE[reading]).format(name=name)
        if target.verdict.ends:
            first = f"{first} {_plain_ends(target)}"
    # Wrong answers, or pictures of the event, as expected and as they were
    says, right = shares(target.bins)
    n = int(target.bins.count.sum())
    if target.target is None:
        of, (expected, wrong) = distinct_counts(1.0 - says, 1.0 - right, most=n)
        are = "is" if singular(wrong) else "are"
        rest = f"Of {count(of)} answers it expects {expected} to be wrong; {wrong} {are}."
    else:
        of, (expected, present) = distinct_counts(says, right, most=n)
        do = "does" if singular(present) else "do"
        pictures = f"{count(of)} {with_row_noun('pictures')}"
        rest = f"Of {pictures} it expects {expected} to show {name}; {present} {do}."
    classes = target.verdict.classes
    if classes and not _by_class(target):  # on the side of the furthest off
        alike = [cell for cell in classes if cell.gap * classes[0].gap > 0.0]
        rest += f" Furthest off: answers {plain_class_answers(alike)}."
    if isinstance(target.verdict, ChanceAfterHolm):
        alone = f"Taken alone it looks off; among {target.verdict.labels} that could be chance."
        rest = f"{alone} {rest}"
    return Sentence((Phrase(first, CODE_TONES[code]), Phrase(f" {rest}")))


def plain_shares(target: TargetAudit) -> tuple[str, str, str]:
    """Return a number of rows, and of so many what it says and what came true.

    The number is that of the sentence's counts, so that no tile hides what the sentence tells.
    """
    says, right = shares(target.bins)
    n = int(target.bins.count.sum())
    answers = target.target is None
    of, counts = distinct_counts(*((1.0 - says, 1.0 - right) if answers else (says, right)), most=n)
    if of == 100:
        return "100", in_hundred(says), in_hundred(right)
    if answers:
        counts = [count(round(of * says)), count(round(of * right))]
    return count(of), counts[0], counts[1]


def _by_class(target: TargetAudit) -> bool:
    """Whether what is off is that classes differ, and they are named."""
    return target.verdict.reading == MixedReading.BY_CLASS and bool(target.verdict.classes)


def plain_class_answers(cells: Sequence[ClassCell]) -> str:
    """Return classes with what their answers say and how often they are right; a few by name."""
    listed = ", ".join(f"“{cell.name}” ({_plain_shares(cell)})" for cell in cells[:NAMED])
    return f"{listed}, and {len(cells) - NAMED} more" if len(cells) > NAMED else listed


def _plain_shares(cell: ClassCell) -> str:
    return f"says {in_hundred(cell.stated)} in 100, right {in_hundred(cell.true)}"


def _plain_ends(target: TargetAudit) -> str:
    """Return where it is too sure and where not sure enough, in times out of 100."""
    answers = target.target is None
    much, little = ("too sure", "not sure enough") if answers else ("too high", "too low")
    listed = [
        f"{much if end.over else little} where it says {places(end, joint=' or ')} in 100"
        for end in target.verdict.ends
    ]
    what = "This model is" if answers else f"The chance this model gives “{target.name}” is"
    return f"{what} {', and '.join(listed)}."


def _direction_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    over = target.verdict.code in TOO_HIGH
    size = _size(target, target.direction, over=over)
    spread = SPREAD.get(target.verdict.reading or "", "")
    if spread and target.verdict.falls:
        spread += f", and {rises('', falls=True)}"
    parts = [
        Phrase(_capital(size), "over" if over else "under"),
        Phrase(f": {averages(target)}.{_unlike_classes(target)}"),
    ]
    if not spread:
        return tuple(parts)
    if not target.verdict.ends:
        return (*parts, Phrase(f" It is also {spread}."))
    return (*parts, Phrase(f" It is also {spread}: "), *_end_parts(target))


def _slope_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    code = target.verdict.code
    rising = rises(code, falls=target.verdict.falls)
    return (Phrase(f"{_capital(code.words)}{_for_event(target)}: {rising}."),)


def _small_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    by = points(target.verdict.small)
    off = f"Off by less than {by} points on average{_for_event(target)}"
    says = averages(target).removeprefix("on average ")
    return (Phrase(f"{off}: {says}.{_unlike_classes(target)}"),)


def _unlike_classes(target: TargetAudit) -> str:
    """Return a sentence on the classes that the average does not tell of; empty without any."""
    classes = target.verdict.classes
    return f" {furthest_words(classes)}" if classes else ""


def _too_little(target: TargetAudit) -> str:
    text = f"Its error on {_images(int(target.bins.count.sum()))} is beyond chance"
    verdict = target.verdict
    limit = "the limit that you set" if verdict.own_limit else "Candor’s usual limit"
    text += f", but below {limit} once chance is allowed for"
    if verdict.finds(Statistic.GAP) or verdict.finds(Statistic.SLOPE):
        return f"{text}."
    return f"{text}{_off_by(target)}."


def _for_event(target: TargetAudit) -> str:
    """Return whose risk it is, " for “good”"; nothing of answers."""
    return "" if target.event is None else f" for “{target.event}”"


def _mixed_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    if _by_class(target):
        return (Phrase(f"Mixed by class: {classes_words(target.verdict.classes)}."),)
    if target.verdict.ends:
        return (Phrase(f"Mixed{_for_event(target)}: "), *_end_parts(target))
    reading = target.verdict.reading or MixedReading.UNEVEN
    if reading in RISING:
        rises_than = f"{RISING[reading]} its accuracy"
        if target.verdict.falls:
            rises_than = "where its accuracy falls"
        text = f"Its confidence rises {rises_than}"
    elif reading == MixedReading.UNEVEN and _decided(target):
        text = f"Off{_for_event(target)}: {_decided(target)}"
    elif target.verdict.deviant and target.verdict.deviant.part == Partition.ANSWERS:
        return (Phrase(f"Mixed: {class_words(target.verdict.deviant)}."),)
    else:
        text = f"Mixed{_for_event(target)}: {MIXED[reading]}"
    return (Phrase(f"{text}{_off_by(target)}."),)


def _decided(target: TargetAudit) -> str:
    """Return which classes are off, or to which side the mean is; empty where neither is known."""
    if target.verdict.classes:
        return classes_words(target.verdict.classes)
    gap = target.direction
    if gap.low <= 0.0 <= gap.high:
        return ""
    side = ("too low", "too high") if target.event else ("under-confident", "over-confident")
    over = gap.gap > 0.0
    return f"on average {side[over]} by {_points_by(gap, over=over)}"


def _end_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    """Return the sizes of both sides and where their bins are, by tone."""
    parts = []
    for end in target.verdict.ends:
        tone: Tone = "over" if end.over else "under"
        places_of_bins = (
            f" in {('1 bin' if end.bins == 1 else f'{end.bins} bins')} from {places(end)}{THIN}%"
        )
        gap, least = abs(end.gap.gap), min(abs(end.gap.low), abs(end.gap.high))
        much = _much(target, over=end.over, name="")
        size = f"{much} by {points(gap)} points (at least {points(least)})"
        parts += [Phrase(size, tone), Phrase(places_of_bins), Phrase(", ")]
    return (*parts[:-1], Phrase(f"; {AT_ONCE}."))


def _off_by(target: TargetAudit) -> str:
    """Return what is off beyond chance where the average is not, as the test found it."""
    verdict, score = target.verdict, calibration_error(target)[0]
    for evidence in verdict.evidence:
        off, chance_shows = points(evidence.value), f"(chance: up to {points(evidence.q95)})"
        if evidence.statistic == Statistic.ECE and score is not None:
            return f"; bin by bin it is off by {points(score.value)} points"
        if evidence.statistic == Statistic.FINE:
            bins = min(N_BINS_MAX, int(target.bins.count.sum()))
            return f"; over {bins} bins ECE is {off} points {chance_shows}"
        if evidence.statistic == Statistic.CUMULATIVE:
            return f"; cumulative differences range over {off} points {chance_shows}"
    return "" if verdict.deviant is None else f"; {class_words(verdict.deviant)}"


def _size(target: TargetAudit, gap: Gap, *, over: bool) -> str:
    """Return "over-confident by 4.0 points (3.5 to 4.4)", or of a risk "overestimates …"."""
    return f"{_much(target, over=over, name=f' “{target.name}”')} by {_points_by(gap, over=over)}"


def _points_by(gap: Gap, *, over: bool) -> str:
    """Return the size of a gap to one side with its interval: "4.0 points (3.5 to 4.4)"."""
    ends = (gap.gap, gap.low, gap.high) if over else (-gap.gap, -gap.high, -gap.low)
    interval = points_span(*ends)
    return f"{points(*ends)} points{f' ({interval})' if interval else ''}"


def _much(target: TargetAudit, *, over: bool, name: str) -> str:
    """Return which way it is off: of answers, or of the risk of an event of that name."""
    if target.of == VerdictSubject.EVENT:
        return f"{'overestimates' if over else 'underestimates'}{name}"
    return "over-confident" if over else "under-confident"


def _on_average(target: TargetAudit) -> str:
    return f"{_capital(averages(target))}."


def _sound_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    return (Phrase(f"Sound{_for_event(target)}", "sound"), Phrase(f": {averages(target)}."))


def _would_have_shown(target: TargetAudit) -> str:
    n = int(target.bins.count.sum())
    tested = TESTED
    if target.verdict.each_class:
        tested = f"{TESTED.replace(' and', ',')} and each class"
    shown = would_show(target.verdict.power_odds, target.verdict.power_spread, _risks(target))
    # An ECE beyond its noise floor where the joint test detects nothing
    (score, floor), above = calibration_error(target), ""
    if score is not None and floor is not None and _above(score, floor):
        size = f"The ECE of {points(score.value, floor.q95)} points alone is"
        beyond = f"above {points(floor.q95, score.value)}"
        above = f" {size} {beyond}, which 5 of 100 perfect models exceed."
    return f"On {_images(n)} {shown} in the {tested}.{above}{_alone(target)}"


def _chance_parts(target: TargetAudit) -> tuple[Phrase, ...]:
    n, (score, floor) = int(target.bins.count.sum()), calibration_error(target)
    if target.verdict.too_few or score is None or floor is None:
        are = "are" if n > 1 else "is"
        whose = _for_event(target)
        return (Phrase(f"Could be chance{whose}: {_images(n)} {are} too few to tell."),)
    size = f"its ECE of {points(score.value, floor.q95)} points is"
    within = f"within what a perfect model shows (up to {points(floor.q95, score.value)})"
    if _above(score, floor):
        within = f"above {points(floor.q95, score.value)}, which 5 of 100 perfect models exceed"
    return (Phrase(f"No error beyond chance{_for_event(target)}: {size} {within}."),)


def _might_not_have_shown(target: TargetAudit) -> str:
    (ece, floor), verdict = calibration_error(target), target.verdict
    if int(target.bins.count.sum()) == 1 or ece is None or floor is None:
        return ""
    alike = target.groups is not None and target.groups.largest > 1
    powers = verdict.power_odds, verdict.power_spread
    parts = [shown_words(*powers, _risks(target), grouped=alike)]
    if verdict.open_to is not None:
        parts.append(not_ruled_out(verdict.open_to))
    shown = _capital("; ".join(filter(None, parts)))
    shown = f"{shown}.{_alone(target)}" if shown else _alone(target).strip()
    if not verdict.too_few:
        return shown
    if _above(ece, floor):
        return f"{_above_words(ece, floor)} {shown}".strip()
    return (
        f"It looks off by {points(ece.value)} points; a perfect model would look off by up to "
        f"{points(floor.q95)}. {shown}"
    ).strip()


def _risks(target: TargetAudit) -> BinTable | None:
    return target.bins if target.of == VerdictSubject.EVENT else None


def _above(score: Score, floor: Floor) -> bool:
    return score.value is not None and score.value > floor.q95


def _above_words(score: Score, floor: Floor) -> str:
    return (
        f"It looks off by {points(score.value, floor.q95)} points; 5 in 100 perfect models look "
        f"off by more than {points(floor.q95, score.value)}."
    )


def _alone(target: TargetAudit) -> str:
    """Explain an interval of the gap that leaves 0 out where the joint test does not."""
    gap = target.direction
    return "" if gap.low <= 0 <= gap.high else f" {ALONE}"


def _images(n: int) -> str:
    return with_row_noun("1 image" if n == 1 else f"{count(n)} {UNIT}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
