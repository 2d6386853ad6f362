"""How a run and a bin are marked wherever they are shown, and what is said of a bin."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

import numpy as np

from core.metrics.records import BinTable
from core.screens.kit.numbers import count, edges, percent, span
from core.screens.kit.theme import Tone
from core.screens.kit.words import with_row_noun

COLOURS = 6  # of a theme's `runs`
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")  # neighbours look unlike
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Option = TypeVar("Option")
PAIRS = tuple(first + second for first in LETTERS for second in LETTERS)  # once letters run out


@dataclass(frozen=True)
class RunMark:
    """The badge of a run."""

    letter: str  # A, B, C in the order in which the runs are shown; two capitals from the 27th on
    colour: int  # position in a theme's `runs`; the one of its id, where no other run shown has it
    dash: str  # plotly's name of the line; its own among runs of one colour shown together


def marks(ids: Sequence[str]) -> tuple[RunMark, ...]:
    """Return the marks of runs shown together: letters in their order, colours told apart.

    Up to six runs differ in colour: each keeps the one of its id where that is free, and takes the
    next free one where a run before it has the same. Further runs begin with all colours anew; up
    to six of one colour differ in their dashes, and each looks unlike the one before it.
    """
    colours = [
        colour
        for start in range(0, len(ids), COLOURS)
        for colour in _colours(ids[start : start + COLOURS])
    ]
    names = LETTERS if len(ids) <= len(LETTERS) else (*LETTERS, *PAIRS)
    marks: list[RunMark] = []
    for i, colour in enumerate(colours):
        worn = [mark.dash for mark in marks if mark.colour == colour]
        start = (DASHES.index(worn[-1]) + 1 if worn else i) % len(DASHES)
        marks.append(RunMark(names[i], colour, _next_free(DASHES, start, worn)))
    return tuple(marks)


def _colours(ids: Sequence[str]) -> list[int]:
    """Return a colour of its own for each of at most COLOURS runs."""
    own = [blake2b(run_id.encode(), digest_size=1).digest()[0] % COLOURS for run_id in ids]
    keeps = [colour not in own[:i] for i, colour in enumerate(own)]
    taken = set(own)
    for i, colour in enumerate(own):
        if not keeps[i]:
            own[i] = _next_free(range(COLOURS), colour, taken)
            taken.add(own[i])
    return own


def _next_free(options: Sequence[Option], start: int, taken: Collection[Option]) -> Option:
    """Return the first option from `start` on that is not taken, else the one at `start`."""
    around = [options[(start + k) % len(options)] for k in range(len(options))]
    return next((option for option in around if option not in taken), around[0])


# Bins.
NARROW = 0.10  # an interval at most this wide, inside the band, is within chance; else too few
DIGITS = 12  # of a share: sums of bins miss 1 by less
BAND_MIN = 20  # below this many images the band would span the axis


@dataclass(frozen=True)
class ClaimWords:
    """The words of one kind of claim: the answers given, or one class or label.

    `right` fills "right 96.1 %" or "present in 3.2 %", `actual` the title of the upright axis.
    """

    says: str
    right: str
    actual: str
    claim: str


ANSWERS = ClaimWords("says", "right", "Actually right (share)", "Model says (confidence)")
PRESENCE = ClaimWords("says", "present in", "Actually present (share)", "Model says (probability)")


def speech(target: int | None) -> ClaimWords:
    """Return the words for the answers given (None) or for one class or label."""
    return ANSWERS if target is None else PRESENCE


def filled(bins: BinTable) -> list[int]:
    """Return the indices of bins that hold rows."""
    return [int(i) for i in np.flatnonzero(bins.count > 0)]


def tone(bins: BinTable, index: int) -> Tone:
    """Return over or under outside the band; sound inside it when narrow, else few.

    Where the joint test finds nothing, no bin is called off by its own band alone, nor sound.
    """
    # Off only beyond the band, and not where all bins together could be chance.
    accuracy = bins.accuracy[index]
    if accuracy < bins.band_low[index] or accuracy > bins.band_high[index]:
        if bins.could_be_chance:
            return "few"
        return "over" if accuracy < bins.band_low[index] else "under"
    narrow = bins.ci_high[index] - bins.ci_low[index] <= NARROW
    return "sound" if narrow and np.isfinite(bins.band_low[index]) else "few"


def bin_name(bins: BinTable, index: int) -> str:
    """Return "Bin 0.87 to 0.93"."""
    low, high = edges(float(bins.low[index]), float(bins.high[index]))
    return f"Bin {low} to {high}"


def bin_words(bins: BinTable, index: int, words: ClaimWords) -> str:
    """Return the sentence of one bin: n, what it says, what came true and its interval."""
    return f"{bin_name(bins, index)}: {_size(bins, index)}, {_claim(bins, index, words)}"


def hover(bins: BinTable, index: int, words: ClaimWords) -> str:
    """Return the same sentence in two lines with the bin in bold, in plotly's markup."""
    name = f"<b>{bin_name(bins, index)}</b>"
    return f"{name}: {_size(bins, index)},<br>{_claim(bins, index, words)}"


def _size(bins: BinTable, index: int) -> str:
    n = int(bins.count[index])
    return f"{count(n)} {with_row_noun('image' if n == 1 else 'images')}"


def _claim(bins: BinTable, index: int, words: ClaimWords) -> str:
    right = percent(float(bins.accuracy[index]))
    interval = span(float(bins.ci_low[index]), float(bins.ci_high[index]))
    says = percent(float(bins.confidence[index]))
    return f"{words.says} {says}, {words.right} {right} ({interval})"


def shares(bins: BinTable) -> tuple[float, float]:
    """Return mean confidence and share that came true over all bins; NaN without rows."""
    if not bins.count.any():
        return float("nan"), float("nan")
    # Rounded: sums in another order must not move what is printed.
    nonempty = bins.count > 0
    weight = bins.share[nonempty]
    says, right = weight @ bins.confidence[nonempty], weight @ bins.accuracy[nonempty]
    return round(float(says), DIGITS), round(float(right), DIGITS)


def dominated(bins: BinTable) -> bool:
    """Whether the fullest bin would flatten the others on a linear axis of counts.

    It does when it holds more than half of the rows, or twenty times what a middling bin holds.
    """
    counts = bins.count[bins.count > 0]
    if counts.size < 2:
        return False
    return bool(counts.max() > min(0.5 * counts.sum(), 20 * np.median(counts)))
