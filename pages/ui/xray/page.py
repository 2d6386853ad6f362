"""The page Chest X-ray: its banner, and which of its views is shown."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.screens.xray.film import NO_LABELS, place_of, spelled
from core.screens.xray.words import BANNER, LABELS_MAY_ERR
from pages.ui import cache, controls, opening, widgets
from pages.ui.xray import (
    film,
    findings,
    shared,
)
from pages.ui.xray import (
    finding as clinic_finding,
)

WHY = (
    "Open a run with many labels: its findings are looked at one by one. The view Film works "
    "without any."
)
LAST, NAMES = "xray.view", "xray.names"  # the view shown last, and the findings of its run
VIEWS = {shared.ALL: findings.draw, shared.ONE: clinic_finding.draw}


def draw() -> None:
    """Draw the page; the banner names the labels that the view speaks of."""
    place = st.empty()
    _banner(place, NO_LABELS)
    with st.container(key="xray_view"):
        view = controls.segments(
            "View", shared.VIEW, list(shared.VIEW_NAMES), shared.FILM, shared.VIEW_NAMES
        )
    last = st.session_state.get(LAST)
    st.session_state[LAST] = view
    if view == shared.FILM:
        if last in VIEWS:
            _to_film()
        _banner(place, film.draw())
        return
    _banner(place, LABELS_MAY_ERR)  # until it is known whose labels these are
    run = opening.open_run(WHY, shared.first_sample)
    rows = cache.predictions(run, run.split)
    _banner(place, shared.source(run, rows, run.split).noise)
    if last == shared.FILM:
        _from_film(rows.class_names)
    st.session_state[NAMES] = rows.class_names
    VIEWS[view](run)


def _to_film() -> None:
    """Show the finding that was shown of the open run on the view Film, by its name."""
    names, finding = (
        st.session_state.get(NAMES, ()),
        st.session_state.get(f"set.{shared.FINDING}", ""),
    )
    if finding.isdecimal() and int(finding) < len(names):
        _set(shared.NAME, spelled(names[int(finding)]))


def _from_film(names: Sequence[str]) -> None:
    """Show the finding of the view Film of the open run, by its name; another where it has none."""
    index = place_of(names, st.session_state.get(shared.SHOWN, ""))
    if index is not None:
        _set(shared.FINDING, str(index))


def _set(name: str, value: str) -> None:
    st.session_state[f"set.{name}"] = st.query_params[name] = value


def _banner(place: DeltaGenerator, noise: str) -> None:
    with place:
        widgets.banner(BANNER, noise)
