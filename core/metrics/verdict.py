"""The verdict on one target: a code by fixed rules, and the sentence that opens every screen."""

import numpy as np

from core.arrays import Bool
from core.defaults import MIXED_SHARE, SOUND_FLOOR
from core.metrics.records import BinTable, Floor, Gap, Verdict


def points(value: float) -> str:
    """Return a fraction as points of a hundred, one decimal; two where one would show 0.0."""
    shown = f"{100 * value:.1f}"
    return f"{100 * value:.2f}" if shown in {"0.0", "-0.0"} and value != 0 else shown


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


def verdict(gap: Gap, bins: BinTable, ece: float, floor: Floor, *, came_true: str) -> Verdict:
    """Judge one target.

    Parameters
    ----------
    gap : Gap
        Signed gap with its interval.
    bins : BinTable
        The bins of the diagram.
    ece : float
        ECE over these bins.
    floor : Floor
        Its noise floor.
    came_true : str
        Words for an outcome, for example ``it is right``.

    Returns
    -------
    Verdict
        The interval of the gap excludes 0: over_confident or under_confident, but mixed when bins
        of the opposite sign, each beyond its band, hold at least a fifth of the rows. It holds 0:
        mixed when the ECE exceeds the floor's q95; else sound when that is small enough to tell,
        otherwise could_be_chance.
    """
    if gap.low > 0 or gap.high < 0:
        code, opening = _one_sided(gap, bins)
    else:
        code, opening = _undecided(gap, ece, floor)
    return Verdict(code, f"{opening} {fullest_bin(bins, came_true)}")


def _one_sided(gap: Gap, bins: BinTable) -> tuple[str, str]:
    over = gap.gap > 0
    low, high = (gap.low, gap.high) if over else (-gap.high, -gap.low)
    size = f"by {points(abs(gap.gap))} points ({points(low)} to {points(high)})"
    word = "over" if over else "under"
    against = _rows(bins, bins.accuracy > bins.band_high if over else bins.accuracy < bins.band_low)
    if against >= MIXED_SHARE:
        other = "under" if over else "over"
        return "mixed", (
            f"Mixed: {word}-confident {size} on average, but {other}-confident "
            f"in bins that hold {share(against)} % of the rows."
        )
    return f"{word}_confident", f"{word.capitalize()}-confident {size}."


def _undecided(gap: Gap, ece: float, floor: Floor) -> tuple[str, str]:
    shown = f"the signed gap is {points(gap.gap)} points ({points(gap.low)} to {points(gap.high)})"
    if ece > floor.q95:
        return "mixed", (
            f"Mixed: {shown}, so errors of both signs cancel, but ECE is {points(ece)} points "
            f"where chance alone explains up to {points(floor.q95)}."
        )
    if floor.q95 <= SOUND_FLOOR:
        return "sound", (
            f"Sound: {shown}, and ECE of {points(ece)} points is within what chance explains "
            f"(up to {points(floor.q95)})."
        )
    return "could_be_chance", (
        f"Could be chance: too few rows to tell; {shown}, and ECE of {points(ece)} points is "
        f"within what chance explains (up to {points(floor.q95)})."
    )


def _rows(bins: BinTable, chosen: Bool) -> float:
    """Return the share of rows in the chosen bins; comparisons with NaN choose nothing."""
    return float(bins.count[chosen].sum() / bins.count.sum())


def fullest_bin(bins: BinTable, came_true: str) -> str:
    """Return the sentence read from the bin with most rows."""
    at = int(np.argmax(bins.count))
    rows = f"{bins.count[at]:,} row{'' if bins.count[at] == 1 else 's'}"
    return (
        f"Where it says {share(bins.confidence[at])} % ({rows}), "
        f"{came_true} {share(bins.accuracy[at])} times in 100 "
        f"({points(bins.ci_low[at])} to {points(bins.ci_high[at])})."
    )
