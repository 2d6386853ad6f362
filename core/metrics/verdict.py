"""The verdict on one target: a code by fixed rules, and the sentence that opens every screen."""

import numpy as np

from core.arrays import Bool, Float
from core.defaults import FALSE_ALARMS, MIXED_SHARE, SOUND_POWER
from core.metrics.null_test import NullTest
from core.metrics.records import BinTable, Floor, Gap, Score, Verdict
from core.metrics.verdict_codes import MixedReading, VerdictCode

MATERIAL = "logits off by 15 % or odds off by a fifth"  # MATERIAL_TEMPERATURE and MATERIAL_ODDS


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
    gap: Gap, bins: BinTable, error: tuple[Score, Floor], test: NullTest, *, came_true: str
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
    came_true : str
        Words for an outcome, for example ``it is right``.

    Returns
    -------
    Verdict
        The test finds the gap: over_confident or under_confident, but mixed when bins of the
        opposite sign, each beyond chance after correction for all bins, hold at least a fifth of
        the rows. It finds the slope or the ECE alone: mixed. It finds nothing: sound where it
        would have found a material miscalibration, otherwise could_be_chance.
    """
    reading = None
    if test.gap <= FALSE_ALARMS:
        code, reading, opening = _one_sided(gap, bins, test)
    elif test.p_value <= FALSE_ALARMS:
        code = VerdictCode.MIXED
        reading, opening = _uneven(gap, bins, error, test)
    else:
        code, opening = _within_chance(gap, error, test)
    return Verdict(code, f"{opening} {fullest_bin(bins, came_true)}", test.p_value, reading)


def _one_sided(
    gap: Gap, bins: BinTable, test: NullTest
) -> tuple[VerdictCode, MixedReading | None, str]:
    over = gap.gap > 0
    low, high = (gap.low, gap.high) if over else (-gap.high, -gap.low)
    size = f"by {points(abs(gap.gap))} points ({points(low)} to {points(high)})"
    if low <= 0:
        size += ", beyond chance all the same where outcomes follow the claims"
    word = "over" if over else "under"
    against = _rows(bins, beyond_chance(bins, test.bins, over=not over))
    if against >= MIXED_SHARE:
        other = "under" if over else "over"
        return (
            VerdictCode.MIXED,
            MixedReading.OPPOSITE,
            f"Mixed: {word}-confident {size} on average, but {other}-confident "
            f"in bins beyond chance that hold {share(against)} % of the rows.",
        )
    code = VerdictCode.OVER_CONFIDENT if over else VerdictCode.UNDER_CONFIDENT
    return code, None, f"{word.capitalize()}-confident {size}."


def beyond_chance(bins: BinTable, p_values: Float, *, over: bool) -> Bool:
    """Return which bins state too much, or too little, by p-values corrected for all bins."""
    side = bins.accuracy < bins.confidence if over else bins.accuracy > bins.confidence
    return np.asarray(side & (p_values <= FALSE_ALARMS))


def _uneven(
    gap: Gap, bins: BinTable, error: tuple[Score, Floor], test: NullTest
) -> tuple[MixedReading, str]:
    """Return what is off though the signed gap is not beyond chance, and its sentence."""
    opening = f"Mixed: {_signed(gap)}"
    if test.slope <= FALSE_ALARMS:
        reading, word, much = MixedReading.TOO_TIMID, "timid", "less"
        if test.steepness > 0:
            reading, word, much = MixedReading.TOO_EXTREME, "extreme", "more"
        return (
            reading,
            f"{opening}, but its claims are too {word}: they spread {much} than outcomes.",
        )
    off = f"ECE is {points(error[0].value or 0.0)} points"
    chance = f"where chance alone explains up to {points(error[1].q95)}"
    if all(beyond_chance(bins, test.bins, over=side).any() for side in (True, False)):
        text = f"{opening}, so errors of both signs cancel, but {off} {chance}."
        return MixedReading.CANCEL, text
    return MixedReading.UNEVEN, f"{opening}, but {off} {chance}."


def _within_chance(gap: Gap, error: tuple[Score, Floor], test: NullTest) -> tuple[VerdictCode, str]:
    value, floor = error[0].value or 0.0, error[1]
    chance = f"within what chance explains (up to {points(floor.q95)})"
    if value > floor.q95:
        chance = f"beyond {points(floor.q95)}, as in 5 of 100 calibrated sets"
    summary = f"{_signed(gap)}, and ECE of {points(value)} points is {chance}"
    alone = ""
    if gap.low > 0 or gap.high < 0:
        often = f"{100 * (1.0 - error[0].level):.3g}"
        alone = (
            f" The interval of the gap leaves 0 out by itself, as in {often} of 100 "
            "calibrated sets."
        )
    if test.power >= SOUND_POWER:
        return VerdictCode.SOUND, f"Sound: {summary}; {MATERIAL} would have shown.{alone}"
    return (
        VerdictCode.COULD_BE_CHANCE,
        f"Could be chance: {summary}; too few rows to tell, {MATERIAL} might not have shown."
        f"{alone}",
    )


def _signed(gap: Gap) -> str:
    return f"the signed gap is {points(gap.gap)} points ({points(gap.low)} to {points(gap.high)})"


def _rows(bins: BinTable, chosen: Bool) -> float:
    """Return the share of rows in the chosen bins; comparisons with NaN choose nothing."""
    return float(bins.share[chosen].sum())


def fullest_bin(bins: BinTable, came_true: str) -> str:
    """Return the sentence read from the bin with most rows."""
    at = int(np.argmax(bins.count))
    rows = f"{bins.count[at]:,} row{'' if bins.count[at] == 1 else 's'}"
    return (
        f"Where it says {share(bins.confidence[at])} % ({rows}), "
        f"{came_true} {share(bins.accuracy[at])} times in 100 "
        f"({points(bins.ci_low[at])} to {points(bins.ci_high[at])})."
    )
