"""Scores in other units: percent, bytes, logarithms of other bases, a softmax of a softmax."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from core.arrays import Float, row_chunks
from core.errors import Refused
from core.predictions import ScoreKind
from core.readers.predictions.options import Units

Scores = npt.NDArray[np.floating]
LN = {Units.LN: 1.0, Units.LOG2: float(np.log(2.0)), Units.LOG10: float(np.log(10.0))}
ABOUT = 0.05  # how far sums may lie from one where logarithms were rounded or cut off
MANY_ROWS = 20  # in which sums do not come out at one by accident
ROUNDING = 1e-3  # of what a softmax in float32 gives back
WORDS: Mapping[Units, str] = {
    Units.PERCENT: "percent: divided by 100",
    Units.BYTE: "from 0 to 255: divided by 255",
    Units.SUM: "shares of the same sum in every row: divided by it",
    Units.LN: "natural logarithms of probabilities",
    Units.LOG2: "base-2 logarithms of probabilities",
    Units.LOG10: "base-10 logarithms of probabilities",
    Units.SOFTMAX_TWICE: "a softmax of a softmax: the second one was undone",
}


def kinds_in(units: Units, *, separate: bool) -> tuple[ScoreKind, ...]:
    """Return what converted scores can be; `separate` where each column speaks for itself."""
    if units in LN and not separate:
        return (ScoreKind.LOGITS,)
    if units in (Units.SOFTMAX_TWICE, Units.SUM):
        return (ScoreKind.PROBABILITIES,)
    return (ScoreKind.PROBABILITIES, ScoreKind.SIGMOID, ScoreKind.CONFIDENCE)


def converted(scores: Scores, units: Units, location: str, *, separate: bool) -> Float:
    """Return scores in other units as fractions or natural logarithms, float64.

    Bytes of several columns are divided by their sum, which rounding moves from 255.

    Raises
    ------
    Refused
        PROB_RANGE: the values cannot be in these units.
    """
    wide = scores.astype(np.float64)
    if not _possible(wide, units, separate=separate):
        what = f"Values from {wide.min():.5g} to {wide.max():.5g} are not {NAMES[units]}"
        raise Refused("PROB_RANGE", what, "drop --units, or say what they are", location)
    if units is Units.PERCENT:
        return wide / 100.0
    if units is Units.SUM or (units is Units.BYTE and wide.ndim == 2 and could_be_bytes(wide)):
        return np.asarray(wide / wide.sum(axis=1, keepdims=True))
    if units is Units.BYTE:
        return wide / 255.0
    if units is Units.SOFTMAX_TWICE:
        return np.clip(_once(wide), 0.0, 1.0)
    logs = wide * LN[units]  # of one class's probability they are no log-odds
    return np.asarray(np.exp(logs) if separate else logs)


NAMES: Mapping[Units, str] = {
    Units.PERCENT: "percent",
    Units.BYTE: "numbers from 0 to 255",
    Units.SUM: "shares of the same sum in every row",
    Units.LN: "natural logarithms of probabilities",
    Units.LOG2: "base-2 logarithms of probabilities",
    Units.LOG10: "base-10 logarithms of probabilities",
    Units.SOFTMAX_TWICE: "softmax of probabilities",
}


def _possible(wide: Float, units: Units, *, separate: bool) -> bool:
    """Whether values can be in some units, as far as their range and their sums tell."""
    several = not separate
    if units in (Units.PERCENT, Units.BYTE):
        most = 100.0 if units is Units.PERCENT else 255.0
        fractions = several and bool(np.all(np.abs(wide.sum(axis=1) - 1.0) <= ROUNDING))
        return bool(wide.min() >= 0.0 and wide.max() <= most * (1.0 + ROUNDING) and not fractions)
    if units is Units.SUM:
        return several and bool(wide.min() >= 0.0 and wide.sum(axis=1).min() > 0.0)
    if units is Units.SOFTMAX_TWICE:
        return several and could_be_twice(wide)
    powers = np.exp(np.minimum(wide, 1.0) * LN[units])
    return bool(wide.max() <= ROUNDING and (not several or _sums_to_one(powers)))


def _once(twice: Float) -> Float:
    """Undo one softmax: its input summed to one, which fixes the constant that it loses."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(twice)
        return np.asarray(logs - logs.mean(axis=1, keepdims=True) + 1.0 / twice.shape[1])


def log_units(scores: Scores) -> Units | None:
    """Return the base of logarithms of probabilities other than the natural one; None if none.

    A model that is sure of every row sums to about one with any base: then it is the natural one.

    Rounded or cut off, they sum to one only about; with another base no row would come near it.
    """
    if scores.ndim != 2 or scores.shape[1] < 2:
        return None
    for units in (Units.LN, Units.LOG10, Units.LOG2):
        if all(
            _sums_to_one(np.exp(np.minimum(scores[rows].astype(np.float64), 1.0) * LN[units]))
            for rows in row_chunks(*scores.shape)
        ):
            return None if units is Units.LN or len(scores) < MANY_ROWS else units
    return None


def _sums_to_one(block: Float) -> bool:
    return bool(np.all(np.abs(block.sum(axis=1) - 1.0) <= ABOUT))


def could_be_bytes(scores: Scores) -> bool:
    """Whether scores from 0 to 255 are whole numbers, and rows of several sum to about 255."""
    wide = scores.reshape(len(scores), -1)
    for rows in row_chunks(*wide.shape):
        block = wide[rows].astype(np.float64)
        if not np.all(block == np.floor(block)):
            return False
        slack = 0.5 * wide.shape[1] + 1.0  # each was rounded
        if scores.ndim == 2 and np.any(np.abs(block.sum(axis=1) - 255.0) > slack):
            return False
    return True


def could_be_twice(scores: Scores) -> bool:
    """Whether rows could be a softmax of probabilities: none is above e : 1 : ... : 1."""
    if scores.ndim != 2:
        return False
    for rows in row_chunks(*scores.shape):
        once = _once(scores[rows].astype(np.float64))
        if not np.isfinite(once).all() or once.min() < -ROUNDING or once.max() > 1.0 + ROUNDING:
            return False
    return True
