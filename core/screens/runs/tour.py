"""What the tour says at each step; every number is read from a sample."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.screens.kit.numbers import count, in_hundred, points

if TYPE_CHECKING:  # the first page names no study
    from core.studies.tour import Claimed, FilmBand, Mended


@dataclass(frozen=True)
class Stop:
    """A step of the tour: what is found there, and what it means."""

    title: str
    text: str


def confidence_stop(all_rows: "Claimed", sure: "Claimed") -> Stop:
    """Return what a model claims of all answers, and how often its sure ones are right."""
    says, right = in_hundred(all_rows.says), in_hundred(all_rows.right)
    wrong, promised = in_hundred(1.0 - sure.right), in_hundred(1.0 - sure.says)
    low, high = (round(100.0 * edge) for edge in (sure.low, sure.high))
    return Stop(
        f"It says {says} in 100 and is right {right} times.",
        f"Look at the row “{low} to {high}”: "
        f"it expects {promised} in 100 to be wrong, {wrong} are.",
    )


def mended_stop(fixed: "Mended", n_fit: int) -> Stop:
    """Return what one correction does to a sample, learned from n_fit other rows."""
    before, after = points(fixed.before), points(fixed.after)
    return Stop(
        f"A correction lowers its error from {before} to {after} points.",
        f"Learned from {count(n_fit)} other pictures; holds only for such.",
    )


def film_stop(name: str, band: "FilmBand", finding: str) -> Stop:
    """Return what a model's scores of films were worth; `finding` is its name in plain words."""
    claimed = band.claimed
    between = f"{round(100.0 * claimed.low)} to {round(100.0 * claimed.high)}"
    return Stop(
        f"Of 100 films scoring {between} for {finding}, {in_hundred(claimed.right)} show it.",
        f"Another model, “{name}”, on {count(claimed.n)} synthetic films. A score is not the "
        "patient’s risk.",
    )
