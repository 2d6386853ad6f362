"""What is chosen on the Gamma page: run, epoch, bin; kept in the link and for the session."""

from collections.abc import Mapping

import numpy as np
import streamlit as st

from core.screens.gamma.heatmaps import HistoryGrid
from core.screens.gamma.view import PLAIN, TECHNICAL, GammaWords
from pages.ui import plot, state

OF_ONE_RUN = ("epoch", "bin", "against")
MOVED = "gamma.moved"


def words() -> GammaWords:
    """Return the words of the edition that is switched on."""
    return PLAIN if state.plain() else TECHNICAL


def open_source(source_id: str, *, job: bool = False) -> None:
    """Open another history; what was chosen of the last one is forgotten.

    A job is kept apart from the open run, which every page shares: none of them knows a job.
    """
    st.session_state["app.run"] = None if job else source_id
    if job:
        st.query_params.pop("run", None)
    else:
        st.query_params["run"] = source_id
    keep("job", source_id if job else None)
    for name in OF_ONE_RUN:
        keep(name, None)
    st.session_state[MOVED] = True
    state.next_generation()


def give_way(run_id: str) -> None:
    """Open the run that a job has become."""
    st.session_state["app.run"] = run_id
    st.query_params["run"] = run_id
    keep("job", None)


def chosen(name: str) -> str | None:
    """Return what the link says, or on a page just entered what was chosen before; keep it."""
    value: str | None = st.query_params.get(name)
    if "widget.bin" not in st.session_state:
        value = st.session_state.get(f"set.gamma.{name}") if value is None else value
    keep(name, value)
    return value


def keep(name: str, value: str | None) -> None:
    """Keep a choice in link and session; None is the default and leaves the link short."""
    st.session_state[f"set.gamma.{name}"] = value
    if value is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value


def place(grid: HistoryGrid) -> tuple[int, int]:
    """Return the chosen epoch and bin; what was clicked since is taken over first."""
    take_clicks(grid)
    at = epoch_of(grid)
    return at, bin_of(grid, at)


def epoch_of(grid: HistoryGrid) -> int:
    """Return the place of the chosen epoch, else the newest."""
    chosen_epoch = chosen("epoch")
    if chosen_epoch is None:
        return grid.n_updates - 1
    places = {str(epoch): i for i, epoch in enumerate(grid.epoch.tolist())}
    return places.get(chosen_epoch, grid.n_updates - 1)


def keep_epoch(grid: HistoryGrid, at: int) -> None:
    """Keep an epoch; the newest is the default, so that a live run is followed."""
    keep("epoch", None if at == grid.n_updates - 1 else str(grid.epoch[at]))


def bin_of(grid: HistoryGrid, at: int) -> int:
    """Return the chosen bin, else the one that is held back hardest."""
    chosen_bin = (chosen("bin") or "")[:5]
    if chosen_bin.isascii() and chosen_bin.isdecimal() and 1 <= int(chosen_bin) <= grid.n_bins:
        return int(chosen_bin) - 1
    unfrozen = ~grid.frozen[at]
    return int(np.where(unfrozen | ~unfrozen.any(), grid.gamma[at], -np.inf).argmax())


def take_clicks(grid: HistoryGrid) -> None:
    """Take over the cell of the maps, or the dot of the diagram, that was clicked since."""
    cell = _clicked("gamma")
    if cell:
        keep_epoch(grid, int(np.abs(grid.epoch - cell[0]).argmin()))
        keep("bin", str(int(cell[1])))
    dot = _clicked("gamma_epoch")
    if dot:
        keep("bin", str(int(dot[0]) + 1))


def _clicked(name: str) -> tuple[float, ...]:
    """Return the customdata of a new click on a figure; a second click on a place counts too."""
    key = f"figure.{name}"
    points = plot.picked(key)
    now = _numbers(points[0].get("customdata", ())) if points else ()
    clicks: dict[str, tuple[float, ...]] = st.session_state.setdefault("gamma.seen", {})
    before = clicks.get(key, ())
    if now == before:
        return ()
    st.session_state["gamma.seen"] = {**clicks, key: now}
    return now or before


def _numbers(data: object) -> tuple[float, ...]:
    """Return customdata as numbers; a row of an array comes as an object with keys 0, 1, 2."""
    if isinstance(data, Mapping):
        return _numbers([data[key] for key in sorted(data, key=int)])
    if isinstance(data, list | tuple):
        return tuple(number for entry in data for number in _numbers(entry))
    return (float(str(data)),)
