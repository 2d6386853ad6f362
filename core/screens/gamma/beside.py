"""One gamma history beside another: whether they go together, and how they differ."""

import numpy as np

from core.screens.gamma.heatmaps import HistoryGrid
from core.screens.gamma.view import GammaDynamics
from core.screens.gamma.words import brief, mean_gap
from core.screens.kit.numbers import points

SAME = 1e-6  # gammas and gaps nearer than this are the same


def bin_mismatch(dynamics: GammaDynamics, other: GammaDynamics) -> str:
    """Return why two histories cannot be drawn over one another, "" where they can."""
    n_bins, n_other = dynamics.grid.n_bins, other.grid.n_bins
    if n_bins == n_other:
        return ""
    return (
        f"{_name(other)} has {n_other} bins, this history {n_bins}. Bins are matched by "
        "number, so it is not drawn."
    )


def difference(dynamics: GammaDynamics, other: GammaDynamics, at: int) -> str:
    """Return how a second history of as many bins differs at one epoch."""
    epoch = int(dynamics.grid.epoch[at])
    places = np.flatnonzero(other.grid.epoch == epoch)
    if places.size == 0:
        ends = f"{other.grid.epoch[0]} to {other.grid.epoch[-1]}"
        return f"{_name(other)} has no epoch {epoch}: it runs from {ends}."
    return f"{_name(other)}: {_gammas(dynamics.grid, other.grid, at, int(places[0]))}"


def _name(other: GammaDynamics) -> str:
    return f"{other.name} ({other.origin})"


def _gammas(grid: HistoryGrid, other: HistoryGrid, at: int, other_at: int) -> str:
    gamma, other_gamma = grid.gamma[at], other.gamma[other_at]
    gap = _gaps(grid, other, at, other_at)
    off = np.abs(gamma - other_gamma)
    if off.max() <= SAME * max(1.0, float(np.abs(gamma).max())):
        return f"the same γ in every bin; {gap}"
    most = int(off.argmax())
    runs = f"γ from {brief(float(other_gamma.min()))} to {brief(float(other_gamma.max()))}"
    runs += f", here {brief(float(gamma.min()))} to {brief(float(gamma.max()))}"
    widest = f"{brief(float(other_gamma[most]))} instead of {brief(float(gamma[most]))}"
    return f"{runs}, furthest apart in bin {most + 1} ({widest}); {gap}"


def _gaps(grid: HistoryGrid, other: HistoryGrid, at: int, other_at: int) -> str:
    if grid.gap.shape == other.gap.shape and np.abs(grid.gap - other.gap).max() <= SAME:
        return "the gaps are the same."
    mine, theirs = mean_gap(grid, at), mean_gap(other, other_at)
    return f"a mean gap of {points(theirs, mine)} points instead of {points(mine, theirs)}."
