"""The page Chest X-ray: its banner, and which of its views is shown."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.views.clinic_words import BANNER, LABELS_MAY_ERR
from core.views.xray_film import NO_LABELS
from pages.ui import (
    audit,
    cache,
    clinic,
    clinic_finding,
    clinic_findings,
    library,
    state,
    widgets,
    xray_film,
)

WHY = (
    "Open a run with many labels: its findings are looked at one by one. The view Film works "
    "without any."
)
VIEWS = {clinic.ALL: clinic_findings.draw, clinic.ONE: clinic_finding.draw}


def draw() -> None:
    """Draw the page; the banner names the labels that the view speaks of."""
    place = st.empty()
    _banner(place, NO_LABELS)
    with st.container(key="xray_view"):
        view = audit.segments(
            "View", clinic.VIEW, list(clinic.VIEW_NAMES), clinic.FILM, clinic.VIEW_NAMES
        )
    if view == clinic.FILM:
        _banner(place, xray_film.draw(plain=state.plain()))
        return
    _banner(place, LABELS_MAY_ERR)  # until it is known whose labels these are
    run = library.open_run(WHY, clinic.first_sample)
    rows = cache.predictions(run, run.split)
    _banner(place, clinic.source(run, rows, run.split).noise)
    VIEWS[view](run)


def _banner(place: DeltaGenerator, noise: str) -> None:
    with place:
        widgets.banner(BANNER, noise)
