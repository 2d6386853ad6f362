"""The verdict on one target: a code by fixed rules, and the sentence that opens every screen."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from core.arrays import Bool, Float
from core.defaults import FALSE_ALARMS, LOW_POWER, MATERIAL_ODDS, N_BINS_MAX, SOUND_POWER
from core.metrics.null_test import NullTest
from core.metrics.records import (
    BEYOND_CHANCE,
    TOO_HIGH,
    TOO_LOW,
    BinTable,
    ClassCell,
    CostlyClass,
    Evidence,
    Floor,
    Gap,
    MixedEnd,
    MixedReading,
    Partition,
    Score,
    Statistic,
    Verdict,
    VerdictCode,
    VerdictSubject,
    falls,
)

TESTED = "mean gap, slope, ECE and cumulative differences"
ODDS = "odds off by a fifth"  # MATERIAL_ODDS
HARDLY = 0.02  # averages of risks that are less apart may stand for no odds
DIGITS = 7  # fewer decimals than that are printed of a hundredth
STRETCHED = "logits that spread 15 % too far"  # MATERIAL_TEMPERATURE
VERDICT_LEVEL = 0.95  # level of the intervals that must leave 0, or a slope of 1, out
OTHER_SIDE = 0.2  # of the rows: answers of more classes, off on the other side, make a mixture
_SPREAD = {MixedReading.TOO_EXTREME: "Too extreme", MixedReading.TOO_MODERATE: "Too moderate"}
RISES: dict[str, str] = {  # what a slope says: of sorted rows, not of how far they spread
    MixedReading.TOO_EXTREME: "its claims rise faster than the share that comes true",
    MixedReading.TOO_MODERATE: "its claims rise more slowly than the share that comes true",
}
SHOWN = {
    VerdictCode.OVERESTIMATES: "the overestimate",
    VerdictCode.UNDERESTIMATES: "the underestimate",
}
AT_ONCE = "bounds hold jointly"
ALONE = "The gap’s own interval excludes 0; allowing for all tests, that could be chance."
UNSETTLED = (
    "more than a calibrated model shows, though the intervals of gap and slope do not say which way"
)
ONE_SIDED = TOO_HIGH | TOO_LOW
NAMED = 3  # classes that a sentence names at most
NEARLY_FULL = 0.9  # of the rows of the fullest bin


def points(value: float) -> str:
    """Return a fraction as points of a hundred, one decimal; two where one would show 0.0.

    Examples
    --------
    >>> points(0.031), points(0.0004), points(0.0)  # what is there is never written 0.0
    ('3.1', '0.04', '0.0')
    """
    text = f"{100 * value:.1f}"
    return f"{100 * value:.2f}" if text in {"0.0", "-0.0"} and value != 0 else text


def rises(reading: str, *, falls: bool) -> str:
    """Return what a slope says of the claims; `falls` where it is below 0."""
    return "its claims rise where the share that comes true falls" if falls else RISES[reading]


def share(value: float) -> str:
    """Return a fraction as a number out of 100: whole, but one decimal below 10.

    Never 0 or 100 unless it is.

    Examples
    --------
    >>> share(0.93), share(0.05), share(0.998), share(0.9999), share(1.0)
    ('93', '5.0', '99.8', 'almost 100', '100')
    """
    if 0 < value < 0.0995:
        return points(value)
    whole = f"{100 * value:.0f}"
    if whole == "100" and value < 1:
        return points(value) if points(value) != "100.0" else "almost 100"
    return whole


def verdict(
    gap: Gap,
    bins: BinTable,
    error: tuple[Score, Floor],
    test: NullTest,
    ends: tuple[MixedEnd, ...] = (),
    *,
    event: str | None = None,
    grouped: bool = False,
) -> Verdict:
    """Judge one target.

    Parameters
    ----------
    error : (Score, Floor)
        ECE over these bins and its noise floor.
    event : str, optional
        Name of the class or label whose risk it is; without one the target is the answers given.
    grouped : bool
        Whether rows belong together.

    Returns
    -------
    Verdict
        The test finds something, and bins of both sides are decided: mixed, whatever the mean
        gap. Else all that is off is shown to be less than matters: off_but_small. Else it finds
        the gap: over_confident or under_confident. It finds the slope, an ECE, the cumulative
        differences or the classes alone: mixed. It finds nothing: sound where it would have
        found a material miscalibration, otherwise could_be_chance. Answers of two classes that
        are off in opposite directions are mixed, too, and of more where a fifth of the rows is.

        A gap is found where its interval at 95 % leaves 0 out as well, a slope where the
        logistic slope of the rows, fitted with an intercept, has an interval without 1: a mean
        that is off moves the score statistic, too.

        A risk overestimates or underestimates its event where the test finds the gap. It is
        too_extreme or too_moderate where the test finds the slope, and not the gap or a gap that
        follows from the slope (Van Calster et al. 2016, weak calibration). `reading` holds a
        slope that is found beside a gap, and `ends` the bins of both sides that go with them.
        Opposite bins are what a slope looks like, and make a risk mixed only where the test does
        not find one, or where their sides alternate: a slope changes sides once.
    """
    reading, answers = None, event is None
    gap_off = test.finds(Statistic.GAP) and test.sided
    slope_off = _slope_off(test) and (answers or not _alternate(ends))
    spread = MixedReading.TOO_EXTREME if test.too_extreme else MixedReading.TOO_MODERATE
    rising = rises(spread, falls=test.fit is not None and falls(test.fit.high))
    # the answers furthest off on each side, where both sides matter
    both = len(test.furthest) > 1 and (test.two_classes or not test.rarer_side < OTHER_SIDE)
    by_class = test.furthest if both else ()
    # The first of these that holds names the verdict; the docstring gives their order.
    if test.p_value > FALSE_ALARMS:
        code, opening = _within_chance(gap, error, test, event, grouped=grouped)
    elif test.small is not None and not ends:
        code, opening = (
            VerdictCode.OFF_BUT_SMALL,
            _small(gap, test.small, event, own=test.own_limit),
        )
    elif not answers and slope_off and (test.slope_leads or not gap_off):
        code = VerdictCode[spread.name]
        opening = f"{_SPREAD[spread]}{_for(event)}: {rising}. On average {_signed(gap)}."
    elif by_class:
        code, reading = VerdictCode.MIXED, MixedReading.BY_CLASS
        opening = f"Mixed by class: {classes_words(by_class)}. On average {_signed(gap)}."
    elif ends and gap_off and (answers or not slope_off):
        code, reading = VerdictCode.MIXED, MixedReading.OPPOSITE
        opening = f"{_both_ends(ends, event)} On average {_signed(gap)}."
    elif gap_off:
        code, opening = _one_sided(gap, event, bins)
        if slope_off and not answers:
            reading = spread
            opening += f" It is also {_SPREAD[spread].lower()}: {rising}."
            if ends:
                opening += f" By bins: {_listed(ends, event)}."
    else:
        code = VerdictCode.MIXED
        reading, opening = _uneven(gap, bins, error, test, ends, event, rising if slope_off else "")
    # What goes with the sentence: classes unlike the mean, the evidence, the costliest bin.
    classes = test.unlike if code in BEYOND_CHANCE else ()
    costly, evidence = None, _evidence(test, slope_off=slope_off)
    if test.p_value <= FALSE_ALARMS:
        if classes and reading != MixedReading.BY_CLASS:
            opening += f" {furthest_words(classes)}"
        named = {item.statistic for item in evidence}
        opening += which_test(
            gap_off=Statistic.GAP in named,
            slope_off=Statistic.SLOPE in named,
            error=error,
            what=SHOWN.get(code, "it"),
        )
        over = gap.gap > 0 if code in ONE_SIDED else None
        costly = costly_bin(bins, test.bins, over=over)
    outcome = "it is right" if answers else "it came true"
    return Verdict(
        code=code,
        text=f"{opening} {bin_sentence(bins, outcome, costly)}",
        p_value=test.p_value,
        reading=reading,
        ends=ends if code == VerdictCode.MIXED or code in ONE_SIDED else (),
        evidence=evidence,
        power=None if np.isnan(test.power) else test.power,
        power_odds=test.power_odds,
        power_spread=test.power_spread,
        open_to=_open_to(test) if code == VerdictCode.COULD_BE_CHANCE else None,
        each_class=Statistic.CLASSES in test.values,
        small=test.small if code == VerdictCode.OFF_BUT_SMALL else None,
        own_limit=test.own_limit,
        costly=costly,
        deviant=test.deviant,
        classes=by_class or classes,
        of=VerdictSubject.ANSWER if answers else VerdictSubject.EVENT,
    )


def _slope_off(test: NullTest) -> bool:
    """Whether the slope is off: the interval of the fit leaves 1 out, and gap or slope is found.

    Without an interval the score statistic decides where the gap does not move it.
    """
    gap, slope = test.finds(Statistic.GAP), test.finds(Statistic.SLOPE)
    if test.fit is None or test.fit.low is None or test.fit.high is None:
        return slope and (not gap or test.fit is None)
    return (gap or slope) and not test.fit.low <= 1.0 <= test.fit.high


def _alternate(ends: tuple[MixedEnd, ...]) -> bool:
    """Whether decided bins change sides more than once from the lowest claim to the highest."""
    sides = [over for _, over in sorted((low, end.over) for end in ends for low, _ in end.spans)]
    return sum(side != following for side, following in pairwise(sides)) > 1


def _evidence(test: NullTest, *, slope_off: bool) -> tuple[Evidence, ...]:
    """Return what the test found, with its size where that is no gap."""
    out = []
    for look in Statistic:
        if look == Statistic.SLOPE:
            fit = test.fit
            named = slope_off or (test.finds(look) and not test.finds(Statistic.GAP))
            if named and fit is not None:
                out.append(
                    Evidence(statistic=look, value=fit.value, q95=None, low=fit.low, high=fit.high)
                )
            elif named:
                out.append(Evidence(statistic=look, value=None, q95=None))
        elif test.finds(look):
            value, chance = test.values.get(look), test.chance.get(look)
            out.append(Evidence(statistic=look, value=value, q95=chance))
    return tuple(out)


def which_test(
    *, gap_off: bool, slope_off: bool, error: tuple[Score, Floor], what: str = "it"
) -> str:
    """Say what found an error that the ECE beside it does not show; else nothing.

    `what` a mean gap shows: a slope may be off beside it.
    """
    if not (gap_off or slope_off) or (error[0].value or 0.0) > error[1].q95:
        return ""
    shows = f"mean gap shows {what}" if gap_off else "slope shows it"
    return f" The {shows}; the ECE of these bins alone could be chance."


def _small(gap: Gap, small: float, event: str | None, *, own: bool) -> str:
    limit = "the limit that you set" if own else "Candor’s usual limit"
    return (
        f"Off by less than {points(small)} points on average{_for(event)}, {limit} "
        f"for errors that matter: {_signed(gap)}. Its error is beyond chance."
    )


def _for(event: str | None) -> str:
    return "" if event is None else f" for “{event}”"


def mixed_ends(bins: BinTable, at_once: BinTable, p_values: Float) -> tuple[MixedEnd, ...]:
    """Return the two sides of a target whose bins are decided on both.

    A bin is decided where its p-value, corrected for all bins, is at most `FALSE_ALARMS`, and its
    interval, corrected as well, leaves its mean claim out. A perfect model has a decided bin in at
    most 5 of 100 sets, so a model that is off on one side only is called mixed no more often.

    Parameters
    ----------
    bins : BinTable
        The bins of the diagram, B of them.
    at_once : BinTable
        The same bins with intervals at level 1 - (1 - level) / B (Bonferroni). All of them hold
        together at the level of one, however the bins depend on each other and whichever are
        picked; so does their mean, which is the interval of a side.
    p_values : (B,) float64
        Of each bin, corrected for all; NaN decides nothing.
    """
    low, high = bins.confidence - at_once.ci_high, bins.confidence - at_once.ci_low
    sides = [
        (over, beyond_chance(bins, p_values, over=over) & (low > 0 if over else high < 0))
        for over in (True, False)
    ]
    if not all(decided.any() for _, decided in sides):
        return ()
    ends = [_end(bins, (low, high), decided, over=over) for over, decided in sides]
    return tuple(sorted(ends, key=lambda end: (end.low, end.high)))


def _end(bins: BinTable, interval: tuple[Float, Float], decided: Bool, *, over: bool) -> MixedEnd:
    weight = bins.share[decided] / bins.share[decided].sum()
    gaps = (bins.confidence - bins.accuracy, *interval)
    mean, low, high = (float(weight @ gap[decided]) for gap in gaps)
    # Decided bins that touch are one span; an empty bin between them does not part them.
    filled = np.flatnonzero(bins.count > 0)
    runs = np.split(filled, np.flatnonzero(np.diff(decided[filled])) + 1)
    return MixedEnd(
        over=over,
        bins=int(decided.sum()),
        low=float(bins.low[decided][0]),
        high=float(bins.high[decided][-1]),
        gap=Gap(mean, low, high),
        spans=tuple(
            (float(bins.low[run[0]]), float(bins.high[run[-1]])) for run in runs if decided[run[0]]
        ),
    )


def _one_sided(gap: Gap, event: str | None, bins: BinTable) -> tuple[VerdictCode, str]:
    over = gap.gap > 0
    low, high = (gap.low, gap.high) if over else (-gap.high, -gap.low)
    size = f"by {points(abs(gap.gap))} points ({points(low)} to {points(high)})"
    if low <= 0:
        size += f", beyond 0 at {100 * VERDICT_LEVEL:.0f} %"
    if event is not None:
        code = VerdictCode.OVERESTIMATES if over else VerdictCode.UNDERESTIMATES
        nonempty = bins.count > 0
        parts = (part[nonempty] @ bins.share[nonempty] for part in (bins.confidence, bins.accuracy))
        stated, true = (share(float(part)) for part in parts)
        averages = f"on average it says {stated} %, and {true} % came true"
        return code, f"{code.capitalize()} “{event}” {size}: {averages}."
    if over:
        return VerdictCode.OVER_CONFIDENT, f"Over-confident {size}."
    return VerdictCode.UNDER_CONFIDENT, f"Under-confident {size}."


def beyond_chance(bins: BinTable, p_values: Float, *, over: bool) -> Bool:
    """Return which bins state too much, or too little, by p-values corrected for all bins."""
    side = bins.accuracy < bins.confidence if over else bins.accuracy > bins.confidence
    return np.asarray(side & (p_values <= FALSE_ALARMS))


def _both_ends(ends: tuple[MixedEnd, ...], event: str | None) -> str:
    return f"Mixed{_for(event)}: {_listed(ends, event)}."


def _listed(ends: tuple[MixedEnd, ...], event: str | None) -> str:
    words = []
    for end in ends:
        sign = 1 if end.over else -1
        least = min(sign * end.gap.low, sign * end.gap.high)
        bins = "1 bin" if end.bins == 1 else f"{end.bins} bins"
        off = f"{'over' if end.over else 'under'}{'-confident' if event is None else 'estimates'}"
        words.append(
            f"{off} by {points(sign * end.gap.gap)} points (at least {points(least)}) in {bins} "
            f"from {places(end)} %"
        )
    return f"{', '.join(words)}; {AT_ONCE}"


def places(end: MixedEnd, *, joint: str = " and ") -> str:
    """Return the claims of an end in hundredths, its parts one by one: "0 to 10 and 80 to 100"."""
    spans = end.spans or ((end.low, end.high),)
    return joint.join(f"{share(low)} to {share(high)}" for low, high in spans)


def classes_words(cells: Sequence[ClassCell]) -> str:
    """Return answers that are off: "answers “cat” are over-confident by 25.0 points, …".

    Of more than `NAMED` the rest are counted.

    Examples
    --------
    >>> of_cat = {"part": Partition.ANSWERS, "name": "cat", "bounds": (0.0, 1.0), "n": 40}
    >>> cell = ClassCell(**of_cat, stated=0.9, true=0.65)
    >>> classes_words([cell])
    'answers “cat” are over-confident by 25.0 points'
    """
    named = ", ".join(
        f"{'' if place else 'answers '}“{cell.name}”{'' if place else ' are'} "
        f"{'over' if cell.gap > 0 else 'under'}-confident by {points(abs(cell.gap))}"
        f"{'' if place else ' points'}"
        for place, cell in enumerate(cells[:NAMED])
    )
    if any(cell.ties for cell in cells):  # of two classes
        named += " (rows at 50 % left out)"
    return f"{named}, and {len(cells) - NAMED} more" if len(cells) > NAMED else named


def furthest_words(cells: Sequence[ClassCell]) -> str:
    """Return a sentence on the answers furthest off; empty without any."""
    return f"By class, furthest off: {classes_words(cells)}." if cells else ""


def _uneven(
    gap: Gap,
    bins: BinTable,
    error: tuple[Score, Floor],
    test: NullTest,
    ends: tuple[MixedEnd, ...],
    event: str | None,
    rising: str,
) -> tuple[MixedReading, str]:
    """Return what is off though the signed gap is not beyond chance, and its sentence.

    The gap is not beyond chance among all tests; its own interval may leave 0 out all the same.
    `rising` says what the slope does where that is off, else nothing.
    """
    off, but = ("Mixed", "but") if gap.low <= 0.0 <= gap.high else ("Off", "and")
    opening = f"{_both_ends(ends, event)} On average" if ends else f"{off}{_for(event)}:"
    opening = f"{opening} {_signed(gap)}"
    if rising:  # of answers: that of a risk has codes of its own
        reading = MixedReading.TOO_EXTREME if test.too_extreme else MixedReading.TOO_MODERATE
        if not ends:
            return reading, f"{rising.capitalize()}. On average {_signed(gap)}."
        return reading, f"{opening}, but {rising}."
    off = f"ECE is {points(error[0].value or 0.0)} points"
    chance = f"where chance alone explains up to {points(error[1].q95)}"
    unbinned = (Statistic.FINE, Statistic.CLASSES, Statistic.CUMULATIVE)
    if not any(map(test.finds, (Statistic.ECE, *unbinned))):
        return MixedReading.UNSETTLED, f"{opening}; the model is off by {UNSETTLED}."
    if not test.finds(Statistic.ECE):
        off, chance = _unbinned(test, int(bins.count.sum()))
        if not any(map(test.finds, (Statistic.FINE, Statistic.CUMULATIVE))):
            return MixedReading.BY_CLASS, f"{opening}, {but} {off}{chance}."
    if ends:
        text = f"{opening}, so errors of both signs cancel, but {off} {chance}."
        return MixedReading.CANCEL, text
    return MixedReading.UNEVEN, f"{opening}, {but} {off} {chance}."


def _unbinned(test: NullTest, n: int) -> tuple[str, str]:
    """Return what is off beyond chance though the ECE of the bins is not, and what chance shows."""
    fine, span = Statistic.FINE, Statistic.CUMULATIVE
    if test.finds(fine):
        off = f"over {min(N_BINS_MAX, n)} bins of equal counts ECE is"
        off = f"{off} {points(test.values[fine])} points"
        return off, f"where chance alone explains up to {points(test.chance[fine])}"
    if test.deviant is not None and not test.finds(span):
        return class_words(test.deviant), ""
    off = f"cumulative differences range over {points(test.values[span])} points"
    return off, f"where chance alone explains up to {points(test.chance[span])}"


def class_words(cell: ClassCell) -> str:
    """Return what is stated and what is true of a cell of the classes."""
    stated, true = share(cell.stated), share(cell.true)
    if cell.part == Partition.ANSWERS:
        return f"where it answers “{cell.name}” it says {stated} % and is right {true} times in 100"
    what, real = f"“{cell.name}”", "it is"
    if cell.part == Partition.STATED:
        what = f"a class stated at {share(cell.bounds[0])} to {share(cell.bounds[1])} %"
        real = "one is"
    return f"of 100 wrong answers it expects {what} to be the truth in {stated}; {real} in {true}"


def _within_chance(
    gap: Gap, error: tuple[Score, Floor], test: NullTest, event: str | None, *, grouped: bool
) -> tuple[VerdictCode, str]:
    value, floor = error[0].value or 0.0, error[1]
    size, chance = points(value), f"within what chance explains (up to {points(floor.q95)})"
    if value > floor.q95:
        bound = points(floor.q95)
        if size == bound:
            size, bound = f"{100 * value:.3f}", f"{100 * floor.q95:.3f}"
        chance = f"beyond {bound}, which 5 of 100 calibrated sets exceed"
    so = "but" if value > floor.q95 else "and"
    summary = f"{_signed(gap)}, {so} ECE of {size} points is {chance}"
    alone = ""
    if gap.low > 0 or gap.high < 0:
        alone = f" {ALONE}"
    shown = [shown_words(test.power_odds, test.power_spread, grouped=grouped)]
    open_to = _open_to(test)
    if open_to is not None:
        shown.append(not_ruled_out(open_to))
    elif test.power >= SOUND_POWER:
        each = Statistic.CLASSES in test.values
        tested = TESTED.replace(" and", ",") + " and each class" if each else TESTED
        text = f"Sound{_for(event)}: {summary}; {would_show(test.power_odds, test.power_spread)}. "
        text += f"Tested: {tested}."
        return VerdictCode.SOUND, f"{text}{alone}"
    few = max(test.power, test.power_odds or 0.0, test.power_spread or 0.0) < LOW_POWER
    first = "Could be chance" if few else "No error beyond chance"
    known = "; ".join(filter(None, shown))
    caveat = ": ".join(filter(None, ("too few rows to tell" * few, known)))
    text = f"{first}{_for(event)}: {'; '.join(filter(None, (summary, caveat)))}.{alone}"
    return VerdictCode.COULD_BE_CHANCE, text


def _open_to(test: NullTest) -> float | None:
    """Return the error that is not ruled out, where power alone would call the claims sound."""
    return test.open_to if test.power >= SOUND_POWER else None


def not_ruled_out(size: float) -> str:
    """Say which mean absolute error may still be there."""
    return f"an average error of {points(size)} points is not ruled out"


def would_show(odds: float | None, spread: float | None, risks: BinTable | None = None) -> str:
    """Say which errors would have shown: those of them that would be material here.

    `odds`, `spread`: power for odds that are off, and for logits that are off about the same mean;
    `risks`: the bins of a risk, whose odds are said as averages that would be true.
    """
    tried = [what for what, p in ((_odds_words(risks), odds), (STRETCHED, spread)) if p is not None]
    if not tried:
        return "an error that matters would have shown"
    return f"{', or '.join(tried)}{',' * (len(tried) > 1)} would have shown"


def shown_words(
    odds: float | None,
    spread: float | None,
    risks: BinTable | None = None,
    *,
    grouped: bool = False,
) -> str:
    """Return how often each would show; see `would_show`.

    Of groups only about: what their rows share is estimated, and moves it by a tenth or two. Empty
    where neither was tried.

    Examples
    --------
    >>> shown_words(0.29, None)  # rounded down; 0.29 of a hundred is 28.999… as a float
    'odds off by a fifth would be found at least 29 times in 100'
    """
    at_least = "about" if grouped else "at least"
    known = [(w, p) for w, p in ((_odds_words(risks), odds), (STRETCHED, spread)) if p is not None]
    if not known:
        return ""
    (first, often), *more = known
    text = f"{first} would be found {_often(often, at_least)} in 100"
    return text + "".join(f", {what} {_often(p, at_least)}" for what, p in more)


def _odds_words(risks: BinTable | None) -> str:
    """Return what odds off by a fifth are; of risks the averages that would be true.

    With as many digits as tell the averages apart. Of risks near 0 and 100 % the average hardly
    moves, and its odds by less than half of that: it does not stand for them.
    """
    if risks is None:
        return ODDS
    nonempty = risks.count > 0
    weight, risk = risks.share[nonempty], risks.confidence[nonempty]
    # What the average would be were all odds a fifth lower, as they are, or a fifth higher.
    low, mean, high = averages = [
        float(weight @ (risk * odds / (1.0 - risk + risk * odds)))
        for odds in (1.0 / MATERIAL_ODDS, 1.0, MATERIAL_ODDS)
    ]
    step = min(mean - low, high - mean)
    if step <= 0.0 or high >= 1.0:
        return ODDS
    moved = math.log(high / (1.0 - high)) - math.log(low / (1.0 - low))
    if high - low < HARDLY and moved < math.log(MATERIAL_ODDS):
        return ODDS
    # The fewest digits by which the three averages differ as much as they do.
    written = [[f"{100 * each:.{digits}f}" for each in averages] for digits in range(1, DIGITS)]
    if high < 0.995:
        written.insert(0, [share(each) for each in averages])
    for texts in written:
        off = (abs(float(text) - 100 * each) for text, each in zip(texts, averages, strict=True))
        if max(off) < 25 * step:  # a quarter
            return f"a true average of {texts[0]} or {texts[2]} % in place of {texts[1]} %"
    return ODDS


def _signed(gap: Gap) -> str:
    return f"the signed gap is {points(gap.gap)} points ({points(gap.low)} to {points(gap.high)})"


def costly_bin(bins: BinTable, p_values: Float, *, over: bool | None = None) -> int | None:
    """Return the bin with the largest share of rows times |gap|; see `Verdict.costly`.

    Parameters
    ----------
    p_values : (B,) float64
        Of each bin, corrected for all; read where the verdict has no side.
    """
    gap = bins.confidence - bins.accuracy
    # Bins beyond chance first; else all on the side that the verdict names.
    if over is None:
        listed = [p_values <= FALSE_ALARMS]
    else:
        side = np.nan_to_num(gap if over else -gap) > 0.0
        beyond = bins.ci_high < bins.confidence if over else bins.ci_low > bins.confidence
        listed = [side & beyond, side]
    cost = bins.share * np.abs(gap)
    chosen = next((candidate for candidate in listed if candidate.any()), None)
    return None if chosen is None else int(np.argmax(np.where(chosen, cost, -1.0)))


def quoted_bin(bins: BinTable, costly: int | None = None) -> int:
    """Return the bin that a sentence quotes: the one that costs most, where one is decided.

    Else the fullest, the surest of those nearly as full: bins of equal mass hold as many rows
    each, so that the fullest of them would be any.
    """
    if costly is not None:
        return costly
    return int(np.flatnonzero(bins.count >= NEARLY_FULL * bins.count.max())[-1])


def bin_sentence(bins: BinTable, came_true: str, costly: int | None = None) -> str:
    """Return the sentence read from `quoted_bin`."""
    at = quoted_bin(bins, costly)
    rows = f"{bins.count[at]:,} row{'' if bins.count[at] == 1 else 's'}"
    says, right = share(bins.confidence[at]), share(bins.accuracy[at])
    finer = points(bins.confidence[at]), points(bins.accuracy[at])
    if says == right and finer[0] != finer[1]:  # 98.8 and 99.2 are apart
        says, right = finer
    return (
        f"Where it says {says} % ({rows}), {came_true} {right} times in 100 "
        f"({points(bins.ci_low[at])} to {points(bins.ci_high[at])})."
    )


def costly_class_sentence(own: CostlyClass) -> str:
    """Return which answers of the bin that costs most are off."""
    rows = f"{own.n:,.0f} row{'' if own.n == 1 else 's'}"
    return (
        f"There, answers “{own.name}” ({rows}) say {share(own.stated)} % and are right "
        f"{share(own.right)} times in 100; all others say {share(own.others_stated)} % and are "
        f"right {share(own.others)}."
    )


def _often(share_of_sets: float, at_least: str) -> str:
    """Return how often in 100, rounded down; never all, for they were simulated."""
    times = min(99, math.floor(100 * share_of_sets + 1e-9))  # 0.29 is 28.999... hundredths
    return f"{at_least} {times} times" if times else "less than once"
