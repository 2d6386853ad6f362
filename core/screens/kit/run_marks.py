"""How a run is marked wherever several are shown: its colour, letter and dash; stdlib only."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

COLOURS = 6  # of a theme's `runs`
DASHES = ("solid", "dash", "dot", "longdash", "dashdot", "longdashdot")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PAIRS = tuple(first + second for first in LETTERS for second in LETTERS)  # once letters run out


@dataclass(frozen=True)
class RunMark:
    """The badge of a run.

    Attributes
    ----------
    letter : str
        One capital, or two where there are more than 26 runs; its own among those shown together.
    colour : int
        Position in a theme's `runs`; of the id alone, so the run keeps it everywhere.
    dash : str
        Plotly's name of the line; its own among runs of one colour shown together.
    """

    letter: str
    colour: int
    dash: str


def marks(ids: Sequence[str]) -> tuple[RunMark, ...]:
    """Return the marks of runs shown together, in their order.

    Colour, letter and dash follow from the id. Where two runs would share a letter, or colour and
    dash, the one whose id sorts later takes the next free; so the order of the runs changes
    nothing. Up to six of one colour differ in their dashes.
    """
    letters: set[str] = set()
    lines: set[tuple[int, str]] = set()
    mark_at: dict[int, RunMark] = {}
    for i in sorted(range(len(ids)), key=lambda i: (ids[i], i)):
        first, second, third = blake2b(ids[i].encode(), digest_size=3).digest()
        colour = first % COLOURS
        options = LETTERS if len(letters) < len(LETTERS) else PAIRS
        letter = _next_free(options, second, letters)
        dash = _next_free(DASHES, third, {d for c, d in lines if c == colour})
        letters.add(letter)
        lines.add((colour, dash))
        mark_at[i] = RunMark(letter, colour, dash)
    return tuple(mark_at[i] for i in range(len(ids)))


def _next_free(options: Sequence[str], start: int, taken: set[str]) -> str:
    """Return the first option from `start` on that is not taken, else the one at `start`."""
    around = [options[(start + k) % len(options)] for k in range(len(options))]
    return next((option for option in around if option not in taken), around[0])
