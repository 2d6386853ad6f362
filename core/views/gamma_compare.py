"""One gamma history beside another: whether they go together, and how they differ."""

import numpy as np

from core.figures.gamma import HistoryGrid
from core.figures.numbers import points
from core.views.gamma import GammaDynamics
from core.views.gamma_words import brief, mean_gap

SAME = 1e-6  # gammas and gaps nearer than this are the same


def apart(found: GammaDynamics, other: GammaDynamics) -> str:
    """Return why two histories cannot be drawn over one another, "" where they can."""
    here, there = found.grid.n_bins, other.grid.n_bins
    if here == there:
        return ""
    return (
        f"{_name(other)} has {there} bins where this history has {here}. Bins are compared by "
        "their number, so it is not drawn."
    )


def difference(found: GammaDynamics, other: GammaDynamics, at: int) -> str:
    """Return how a second history of as many bins differs at one epoch."""
    epoch = int(found.grid.epoch[at])
    there = np.flatnonzero(other.grid.epoch == epoch)
    if there.size == 0:
        ends = f"{other.grid.epoch[0]} to {other.grid.epoch[-1]}"
        return f"{_name(other)} has no epoch {epoch}: it runs from {ends}."
    return f"{_name(other)}: {_gammas(found.grid, other.grid, at, int(there[0]))}"


def _name(other: GammaDynamics) -> str:
    return f"{other.name} ({other.origin})"


def _gammas(one: HistoryGrid, two: HistoryGrid, at: int, there: int) -> str:
    here, beside = one.gamma[at], two.gamma[there]
    gap = _gaps(one, two, at, there)
    off = np.abs(here - beside)
    if off.max() <= SAME * max(1.0, float(np.abs(here).max())):
        return f"the same γ in every bin; {gap}"
    most = int(off.argmax())
    runs = f"γ from {brief(float(beside.min()))} to {brief(float(beside.max()))}"
    runs += f" instead of {brief(float(here.min()))} to {brief(float(here.max()))}"
    widest = f"{brief(float(beside[most]))} instead of {brief(float(here[most]))}"
    return f"{runs}, furthest apart in bin {most + 1} ({widest}); {gap}"


def _gaps(one: HistoryGrid, two: HistoryGrid, at: int, there: int) -> str:
    if one.gap.shape == two.gap.shape and np.abs(one.gap - two.gap).max() <= SAME:
        return "the gaps are the same, for they come from the same answers."
    mine, theirs = mean_gap(one, at), mean_gap(two, there)
    return f"a mean gap of {points(theirs, mine)} points instead of {points(mine, theirs)}."
