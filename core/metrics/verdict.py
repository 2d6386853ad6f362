"""The verdict on one target: a code by fixed rules, and the sentence that opens every screen."""

import numpy as np

from core.arrays import Bool, Float
from core.defaults import FALSE_ALARMS, LOW_POWER, N_BINS_MAX, SOUND_POWER
from core.metrics.null_test import NullTest
from core.metrics.records import (
    BinTable,
    ClassCell,
    Evidence,
    Floor,
    Gap,
    MixedEnd,
    Score,
    Verdict,
)
from core.metrics.verdict_codes import (
    TOO_HIGH,
    TOO_LOW,
    MixedReading,
    Part,
    Statistic,
    VerdictCode,
    VerdictSubject,
)

TESTED = "mean gap, slope, ECE and cumulative differences"
MATERIAL = "logits off by 15 % or odds off by a fifth"  # MATERIAL_TEMPERATURE and MATERIAL_ODDS
_SPREAD = {MixedReading.TOO_EXTREME: "Too extreme", MixedReading.TOO_MODERATE: "Too moderate"}
_OUTCOMES = {
    MixedReading.TOO_EXTREME: "its claims vary more than outcomes do",
    MixedReading.TOO_MODERATE: "its claims vary less than outcomes do",
}
ONE_SIDED = TOO_HIGH | TOO_LOW
NEARLY_FULL = 0.9  # of the rows of the fullest bin


def points(value: float) -> str:
    """Return a fraction as points of a hundred, one decimal; two where one would show 0.0."""
    text = f"{100 * value:.1f}"
    return f"{100 * value:.2f}" if text in {"0.0", "-0.0"} and value != 0 else text


def share(value: float) -> str:
    """Return a fraction as a number out of 100: whole, but one decimal below 10.

    Never 0 or 100 unless it is.
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
) -> Verdict:
    """Judge one target.

    Parameters
    ----------
    gap : Gap
        Signed gap with its interval.
    bins : BinTable
        The bins of the diagram.
    error : (Score, Floor)
        ECE over these bins and its noise floor.
    test : NullTest
        The joint test of "calibrated".
    ends : tuple of MixedEnd
        From `mixed_ends`.
    event : str, optional
        Name of the class or label whose risk it is; without one the target is the answers given.

    Returns
    -------
    Verdict
        The test finds something, and bins of both sides are decided: mixed, whatever the mean
        gap. Else all that is off is shown to be less than matters: off_but_small. Else it finds
        the gap: over_confident or under_confident. It finds the slope, an ECE, the cumulative
        differences or the classes alone: mixed. It finds nothing: sound where it would have
        found a material miscalibration, otherwise could_be_chance.

        A risk overestimates or underestimates its event where the test finds the gap. It is
        too_extreme or too_moderate where the test finds the slope, and not the gap or a gap that
        follows from the slope (Van Calster et al. 2016, weak calibration). `reading` holds a
        slope that is found beside a gap, and `ends` the bins of both sides that go with them.
        Opposite bins are what a slope looks like, and make a risk mixed only where the test does
        not find one.
    """
    reading, answers = None, event is None
    gap_off, slope_off = test.gap <= FALSE_ALARMS, test.slope <= FALSE_ALARMS
    spread = MixedReading.TOO_EXTREME if test.steepness > 0 else MixedReading.TOO_MODERATE
    if test.p_value > FALSE_ALARMS:
        code, opening = _within_chance(gap, error, test, event)
    elif test.small is not None and not ends:
        code, opening = VerdictCode.OFF_BUT_SMALL, _small(gap, test.small, event)
    elif not answers and slope_off and (test.slope_leads or not gap_off):
        code = VerdictCode[spread.name]
        opening = f"{_SPREAD[spread]}{_for(event)}: {_OUTCOMES[spread]}. On average {_signed(gap)}."
    elif ends and gap_off and (answers or not slope_off):
        code, reading = VerdictCode.MIXED, MixedReading.OPPOSITE
        opening = f"{_both_ends(ends, event)} On average {_signed(gap)}."
    elif gap_off:
        code, opening = _one_sided(gap, event)
        if slope_off and not answers:
            reading = spread
            opening += f" It is also {_SPREAD[spread].lower()}: {_OUTCOMES[spread]}."
            if ends:
                opening += f" By bins: {_listed(ends, event)}."
    else:
        code = VerdictCode.MIXED
        reading, opening = _uneven(gap, error, test, ends, event)
    if test.p_value <= FALSE_ALARMS:
        opening += which_test(gap_off=gap_off, slope_off=slope_off, error=error)
    costly = costly_bin(bins, test.bins) if test.p_value <= FALSE_ALARMS else None
    outcome = "it is right" if answers else "it came true"
    return Verdict(
        code=code,
        text=f"{opening} {bin_sentence(bins, outcome, costly)}",
        p_value=test.p_value,
        reading=reading,
        ends=ends if code == VerdictCode.MIXED or code in ONE_SIDED else (),
        evidence=_evidence(test),
        power=None if np.isnan(test.power) else test.power,
        small=test.small if code == VerdictCode.OFF_BUT_SMALL else None,
        costly=costly,
        deviant=test.deviant,
        of=VerdictSubject.ANSWER if answers else VerdictSubject.EVENT,
    )


def _evidence(test: NullTest) -> tuple[Evidence, ...]:
    """Return what the test found, with its size where that is no gap or slope."""
    return tuple(
        Evidence(statistic=look, value=test.values.get(look), q95=test.chance.get(look))
        for look in Statistic
        if test.finds(look)
    )


def which_test(*, gap_off: bool, slope_off: bool, error: tuple[Score, Floor]) -> str:
    """Say what found an error that the ECE beside it does not show; else nothing."""
    if not (gap_off or slope_off) or (error[0].value or 0.0) > error[1].q95:
        return ""
    what = "mean gap" if gap_off else "slope"
    return f" The {what} shows it; the ECE of these bins alone could be chance."


def _small(gap: Gap, small: float, event: str | None) -> str:
    return (
        f"Off by less than {points(small)} points on average{_for(event)}: {_signed(gap)}. "
        "Its error is beyond chance, but too little to matter."
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
    return MixedEnd(
        over=over,
        bins=int(decided.sum()),
        low=float(bins.low[decided][0]),
        high=float(bins.high[decided][-1]),
        gap=Gap(mean, low, high),
    )


def _one_sided(gap: Gap, event: str | None) -> tuple[VerdictCode, str]:
    over = gap.gap > 0
    low, high = (gap.low, gap.high) if over else (-gap.high, -gap.low)
    size = f"by {points(abs(gap.gap))} points ({points(low)} to {points(high)})"
    if low <= 0:
        size += ", beyond chance all the same where outcomes follow the claims"
    if event is not None:
        code = VerdictCode.OVERESTIMATES if over else VerdictCode.UNDERESTIMATES
        return code, f"{code.capitalize()} “{event}” {size}."
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
    return ", ".join(_end_words(end, event) for end in ends)


def _end_words(end: MixedEnd, event: str | None) -> str:
    sign = 1 if end.over else -1
    low, high = sorted((sign * end.gap.low, sign * end.gap.high))
    bins = "1 bin" if end.bins == 1 else f"{end.bins} bins"
    off = f"{'over' if end.over else 'under'}-confident"
    if event is not None:
        off = f"{'over' if end.over else 'under'}estimates"
    return (
        f"{off} by {points(sign * end.gap.gap)} points "
        f"({points(low)} to {points(high)}) in {bins} from {share(end.low)} to "
        f"{share(end.high)} %"
    )


def _uneven(
    gap: Gap,
    error: tuple[Score, Floor],
    test: NullTest,
    ends: tuple[MixedEnd, ...],
    event: str | None,
) -> tuple[MixedReading, str]:
    """Return what is off though the signed gap is not beyond chance, and its sentence."""
    opening = f"{_both_ends(ends, event)} On average" if ends else f"Mixed{_for(event)}:"
    opening = f"{opening} {_signed(gap)}"
    if test.slope <= FALSE_ALARMS:  # of answers: that of a risk has codes of its own
        reading, word, much = MixedReading.TOO_MODERATE, "moderate", "less"
        if test.steepness > 0:
            reading, word, much = MixedReading.TOO_EXTREME, "extreme", "more"
        return (
            reading,
            f"{opening}, but its claims are too {word}: they spread {much} than outcomes.",
        )
    off = f"ECE is {points(error[0].value or 0.0)} points"
    chance = f"where chance alone explains up to {points(error[1].q95)}"
    if not test.finds(Statistic.ECE):
        off, chance = _unbinned(test)
        if test.finds(Statistic.CLASSES) and not test.finds(Statistic.FINE):
            return MixedReading.BY_CLASS, f"{opening}, but {off}{chance}."
    if ends:
        text = f"{opening}, so errors of both signs cancel, but {off} {chance}."
        return MixedReading.CANCEL, text
    return MixedReading.UNEVEN, f"{opening}, but {off} {chance}."


def _unbinned(test: NullTest) -> tuple[str, str]:
    """Return what is off beyond chance though the ECE of the bins is not, and what chance shows."""
    fine, span = Statistic.FINE, Statistic.CUMULATIVE
    if test.finds(fine):
        off = f"over {N_BINS_MAX} bins of equal counts ECE is {points(test.values[fine])} points"
        return off, f"where chance alone explains up to {points(test.chance[fine])}"
    if test.deviant is not None:
        return class_words(test.deviant), ""
    off = f"cumulative differences range over {points(test.values[span])} points"
    return off, f"where chance alone explains up to {points(test.chance[span])}"


def class_words(cell: ClassCell) -> str:
    """Return what is stated and what is true of a cell of the classes."""
    stated, true = share(cell.stated), share(cell.true)
    if cell.part == Part.ANSWERS:
        return f"answers “{cell.name}” state {stated} % and are right {true} times in 100"
    what = f"“{cell.name}”"
    if cell.part == Part.STATED:
        what = f"a class stated at {share(cell.bounds[0])} to {share(cell.bounds[1])} %"
    return f"of 100 wrong answers, {what} should be the true one of {stated} and is of {true}"


def _within_chance(
    gap: Gap, error: tuple[Score, Floor], test: NullTest, event: str | None
) -> tuple[VerdictCode, str]:
    value, floor = error[0].value or 0.0, error[1]
    chance = f"within what chance explains (up to {points(floor.q95)})"
    if value > floor.q95:
        chance = f"beyond {points(floor.q95)}, as in 5 of 100 calibrated sets"
    summary = f"{_signed(gap)}, and ECE of {points(value)} points is {chance}"
    alone = ""
    if gap.low > 0 or gap.high < 0:
        often = f"{100 * (1.0 - error[0].level):.3g}"
        alone = (
            f" Taken alone, the interval of the gap excludes 0, as in {often} of 100 "
            "calibrated sets."
        )
    if test.power >= SOUND_POWER:
        tested = TESTED.replace(" and", ",") + " and each class" if event is None else TESTED
        text = f"Sound{_for(event)}: {summary}; {MATERIAL} would have shown. Tested: {tested}."
        return VerdictCode.SOUND, f"{text}{alone}"
    if test.power < LOW_POWER:
        text = f"Could be chance{_for(event)}: {summary}; too few rows to tell, {MATERIAL} might "
        return VerdictCode.COULD_BE_CHANCE, f"{text}not have shown.{alone}"
    often = f"would have shown in {100 * test.power:.0f} of 100 such sets"
    text = f"No error beyond chance{_for(event)}: {summary}; {MATERIAL} {often}.{alone}"
    return VerdictCode.COULD_BE_CHANCE, text


def _signed(gap: Gap) -> str:
    return f"the signed gap is {points(gap.gap)} points ({points(gap.low)} to {points(gap.high)})"


def costly_bin(bins: BinTable, p_values: Float) -> int | None:
    """Return the decided bin with the largest share of rows times |gap|; None without one."""
    decided = p_values <= FALSE_ALARMS
    if not decided.any():
        return None
    cost = bins.share * np.abs(bins.confidence - bins.accuracy)
    return int(np.argmax(np.where(decided, cost, -1.0)))


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
    return (
        f"Where it says {share(bins.confidence[at])} % ({rows}), "
        f"{came_true} {share(bins.accuracy[at])} times in 100 "
        f"({points(bins.ci_low[at])} to {points(bins.ci_high[at])})."
    )
