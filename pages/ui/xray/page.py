"""The page Chest X-ray: its banner, and which of its views is shown."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.screens.xray.film import NO_LABELS, place_of, spelled
from core.screens.xray.words import BANNER, LABELS_MAY_ERR
from pages.ui import cache, controls, opening, widgets
from pages.ui.xray import (
    film as xray_film,
)
from pages.ui.xray import (
    finding as clinic_finding,
)
from pages.ui.xray import (
    findings as clinic_findings,
)
from pages.ui.xray import (
    shared as clinic,
)

WHY = (
    "Open a run with many labels: its findings are looked at one by one. The view Film works "
    "without any."
)
LAST, NAMES = "xray.view", "xray.names"  # the view shown last, and the findings of its run
VIEWS = {clinic.ALL: clinic_findings.draw, clinic.ONE: clinic_finding.draw}


def draw() -> None:
    """Draw the page; the banner names the labels that the view speaks of."""
    place = st.empty()
    _banner(place, NO_LABELS)
    with st.container(key="xray_view"):
        view = controls.segments(
            "View", clinic.VIEW, list(clinic.VIEW_NAMES), clinic.FILM, clinic.VIEW_NAMES
        )
    last = st.session_state.get(LAST)
    st.session_state[LAST] = view
    if view == clinic.FILM:
        if last in VIEWS:
            _to_film()
        _banner(place, xray_film.draw())
        return
    _banner(place, LABELS_MAY_ERR)  # until it is known whose labels these are
    run = opening.open_run(WHY, clinic.first_sample)
    rows = cache.predictions(run, run.split)
    _banner(place, clinic.source(run, rows, run.split).noise)
    if last == clinic.FILM:
        _from_film(rows.class_names)
    st.session_state[NAMES] = rows.class_names
    VIEWS[view](run)


def _to_film() -> None:
    """Show the finding that was shown of the open run on the view Film, by its name."""
    names, finding = (
        st.session_state.get(NAMES, ()),
        st.session_state.get(f"set.{clinic.FINDING}", ""),
    )
    if finding.isdecimal() and int(finding) < len(names):
        _set(clinic.NAME, spelled(names[int(finding)]))


def _from_film(names: Sequence[str]) -> None:
    """Show the finding of the view Film of the open run, by its name; another where it has none."""
    index = place_of(names, st.session_state.get(clinic.SHOWN, ""))
    if index is not None:
        _set(clinic.FINDING, str(index))


def _set(name: str, value: str) -> None:
    st.session_state[f"set.{name}"] = st.query_params[name] = value


def _banner(place: DeltaGenerator, noise: str) -> None:
    with place:
        widgets.banner(BANNER, noise)
