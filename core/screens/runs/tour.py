"""What the tour says at each step; every number is read from a sample."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.screens.kit.numbers import count, in_hundred, points

if TYPE_CHECKING:  # the first page names no study
    from core.studies.tour import Claimed, FilmBand, Mended


@dataclass(frozen=True)
class Stop:
    """A step of the tour: what is found there, what it means, where to look."""

    title: str
    text: str
    look: str


def averages_stop(name: str, all_rows: "Claimed") -> Stop:
    """Return what a model claims of all answers."""
    says, right = in_hundred(all_rows.says), in_hundred(all_rows.right)
    return Stop(
        f"It says {says} in 100 and is right {right} times.",
        f"“{name}” was tested on {count(all_rows.n)} pictures that it had not seen. "
        "It is too sure of itself.",
        "The numbers “Right” and “It says”.",
    )


def sure_stop(group: "Claimed") -> Stop:
    """Return how often a model's sure answers are right."""
    wrong, promised = in_hundred(1.0 - group.right), in_hundred(1.0 - group.says)
    low, high = (round(100.0 * edge) for edge in (group.low, group.high))
    weight = f"{count(group.n)} of {count(group.total)} answers"
    return Stop(
        f"Where it is {low} to {high} in 100 sure, {wrong} in 100 answers are wrong.",
        f"It expects {promised} in 100. These are {weight}.",
        f"The row “{low} to {high}”: the bar is what it says, the dot how often it was right.",
    )


def mended_stop(fixed: "Mended") -> Stop:
    """Return what one correction does."""
    before, after = points(fixed.before), points(fixed.after)
    surer = "more sure" if fixed.surer else "less sure"
    return Stop(
        f"A correction lowers its error from {before} to {after} points.",
        f"It makes the model {surer} of its answers, by a rule learned from other pictures. "
        "No answer changes.",
        "The two diagrams, before and after: closer to the line is better.",
    )


def shifted_stop(pictures: str, shifted: "Claimed") -> Stop:
    """Return what a model claims of damaged pictures; `pictures` is what they are called."""
    return Stop(
        f"On {pictures}, it says {in_hundred(shifted.says)} in 100 and is right "
        f"{in_hundred(shifted.right)} times.",
        "A correction holds only for pictures like those it was found on.",
        "How many of 100 such pictures the alarm flags.",
    )


def film_stop(band: "FilmBand", finding: str) -> Stop:
    """Return what scores of films were worth; `finding` is its name in plain words."""
    claimed = band.claimed
    between = f"{round(100.0 * claimed.low)} to {round(100.0 * claimed.high)}"
    return Stop(
        f"Of 100 films that score {between} for {finding}, {in_hundred(claimed.right)} show it.",
        f"Counted on {count(claimed.n)} synthetic films, drawn by a program. A score is not the "
        "patient’s risk. Ask what films with that score turned out to show.",
        "On this film: its score, what films like it showed, and where in the film the score "
        "comes from.",
    )
