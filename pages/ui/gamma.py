"""The Gamma page: one history, its epochs under a slider, and the update rule with its numbers."""

from html import escape

import numpy as np
import streamlit as st

from core.library.index import RunRow
from core.views import gamma as views
from core.views.gamma import Dynamics, GammaView
from core.views.gamma_rule import Update
from pages.ui import cache_gamma, frame, state, widgets
from pages.ui.cache_gamma import Kept

SAMPLE = "digits-adafocal"
Library = dict[str, tuple[RunRow, Kept]]


def draw() -> None:
    """Draw the page, or what to do where the open run has no gammas."""
    library = cache_gamma.kept()
    run_id = st.query_params.get("run") or st.session_state.get("app.run")
    if run_id in library:
        _still(run_id)
        return
    _nothing(library)


def _nothing(library: Library) -> None:
    widgets.eyebrow("Gamma dynamics")
    st.html('<h1 class="c-sentence">No run with gammas is open yet.</h1>')
    st.button("Open a sample", type="primary", key="gamma.sample", on_click=_open, args=(SAMPLE,))
    del library


def _open(run_id: str) -> None:
    st.session_state["app.run"] = run_id
    st.query_params["run"] = run_id
    for name in ("epoch", "bin"):
        keep(name, None)
    state.next_generation()


def chosen(name: str) -> str | None:
    """Return what the link says, or on a page just entered what was chosen before."""
    linked = st.query_params.get(name)
    if linked is None and "widget.epoch" not in st.session_state:
        before: str | None = st.session_state.get(f"set.gamma.{name}")
        return before
    return linked


def keep(name: str, value: str | None) -> None:
    """Keep a choice in link and session; None is the default and leaves the link short."""
    st.session_state[f"set.gamma.{name}"] = value
    if value is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value


@st.fragment
def _still(run_id: str) -> None:
    row, _ = cache_gamma.kept()[run_id]
    with frame.caught():
        _body(cache_gamma.stored(row))


def _body(found: Dynamics) -> None:
    _take_clicks(found)
    at = _at(found)
    of = _of(found, at)
    plain = state.plain()
    view = views.gamma_view(found, at, of, plain=plain)
    widgets.eyebrow(view.eyebrow)
    widgets.sentence(view.sentence)
    if plain:
        widgets.second(views.PLAIN)
    widgets.strip(view.numbers)
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        _bin(found, of)
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(key="gamma_left")
        right = st.container(key="gamma_right")
    with left:
        _maps(view, found, at)
    with right:
        widgets.figure(view.diagram, select=True)
        if not plain:
            _update(view.update, of)
    for text in view.caveats:
        widgets.second(text)
    widgets.key(view.key)
    if not plain:
        with st.container(key="gamma_bins"):
            widgets.figure(view.panels)
        if view.correspondence:
            with st.container(key="gamma_train"):
                widgets.figure(view.correspondence)
    widgets.caption(view.caption)


def _at(found: Dynamics) -> int:
    """Return the place of the chosen epoch, else the newest."""
    wanted = chosen("epoch")
    places = {str(epoch): i for i, epoch in enumerate(found.grid.epoch)}
    return places.get(wanted or "", found.grid.n_epochs - 1)


def _of(found: Dynamics, at: int) -> int:
    """Return the chosen bin, else the one that is held back hardest."""
    wanted = chosen("bin") or ""
    if wanted.isdecimal() and 1 <= int(wanted[:5]) <= found.grid.n_bins:
        return int(wanted[:5]) - 1
    held = ~found.grid.frozen[at]
    return int(np.where(held | ~held.any(), found.grid.gamma[at], -np.inf).argmax())


def _take_clicks(found: Dynamics) -> None:
    """Take over the cell of the maps, or the dot of the diagram, that was clicked since."""
    cell = _clicked("gamma")
    if cell:
        _choose_epoch(found, int(cell[0]))
        keep("bin", str(int(cell[1]) + 1))
    dot = _clicked("gamma_epoch")
    if dot:
        keep("bin", str(int(dot[0]) + 1))


def _clicked(name: str) -> tuple[float, ...]:
    """Return the customdata of a new click on a figure; a second click on a place counts too."""
    key = f"figure.{name}.{state.generation()}"
    drawn = st.session_state.get(key)
    points = drawn["selection"]["points"] if drawn else []
    data = points[0].get("customdata", ()) if points else ()
    now = tuple(data) if isinstance(data, list | tuple) else (data,)
    before: tuple[float, ...] = st.session_state.get(f"{key}.seen", ())
    if now == before:
        return ()
    st.session_state[f"{key}.seen"] = now
    return now or before


def _choose_epoch(found: Dynamics, at: int) -> None:
    """Keep an epoch; the newest is the default, so that a live run is followed."""
    last = at == found.grid.n_epochs - 1
    keep("epoch", None if last else str(found.grid.epoch[at]))


def _bin(found: Dynamics, of: int) -> None:
    st.session_state["widget.bin"] = of
    st.selectbox(
        "Bin",
        range(found.grid.n_bins),
        key="widget.bin",
        format_func=lambda b: str(b + 1),
        on_change=lambda: keep("bin", str(st.session_state["widget.bin"] + 1)),
        width=110,
        help="Or click a cell of the maps, or a dot of the diagram.",
    )


def _maps(view: GammaView, found: Dynamics, at: int) -> None:
    widgets.title(view.heat.title, view.heat.explanation)
    n = found.grid.n_epochs
    with st.container(key="gamma_maps"):
        widgets.figure(view.heat, select=True, titled=False)
        st.html(
            f"<style>.st-key-gamma_maps {{ --at: {at}; --of: {n} }}</style>"
            '<div class="c-epoch" aria-hidden="true"></div>'
        )
        if n > 1:
            with st.container(key="gamma_scrub"):
                _scrubber(found, at)


def _scrubber(found: Dynamics, at: int) -> None:
    st.session_state["widget.epoch"] = at
    st.select_slider(
        "Epoch",
        range(found.grid.n_epochs),
        key="widget.epoch",
        format_func=lambda i: str(found.grid.epoch[i]),
        on_change=lambda: _choose_epoch(found, st.session_state["widget.epoch"]),
        label_visibility="collapsed",
    )


def _update(found: Update, of: int) -> None:
    widgets.title(f"The update here, bin {of + 1}")
    lines = [found.equation] if found.equation else []
    text = "".join(f"<p>{escape(line)}</p>" for line in (*lines, *found.steps))
    st.html(f'<div class="c-update">{text}</div>')
