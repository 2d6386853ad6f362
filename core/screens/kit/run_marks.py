"""How a run is marked wherever several are shown: its colour, letter and dash; stdlib only."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar

COLOURS = 6  # of a theme's `runs`
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")  # neighbours look unlike
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Option = TypeVar("Option")
PAIRS = tuple(first + second for first in LETTERS for second in LETTERS)  # once letters run out


@dataclass(frozen=True)
class RunMark:
    """The badge of a run.

    Attributes
    ----------
    letter : str
        A, B, C in the order in which the runs are shown; two capitals from the 27th on.
    colour : int
        Position in a theme's `runs`; the one of its id, where no other run shown has it.
    dash : str
        Plotly's name of the line; its own among runs of one colour shown together.
    """

    letter: str
    colour: int
    dash: str


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
    found: list[RunMark] = []
    for i, colour in enumerate(colours):
        worn = [mark.dash for mark in found if mark.colour == colour]
        start = (DASHES.index(worn[-1]) + 1 if worn else i) % len(DASHES)
        found.append(RunMark(names[i], colour, _next_free(DASHES, start, worn)))
    return tuple(found)


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
