"""Several models on one film: what each says, side by side, and one of them in detail."""

from collections.abc import Sequence
from typing import Final

import streamlit as st

from core.views import xray_beside as views
from core.views.clinic_plain import RISK
from core.views.clinic_words import finding, plain_finding
from pages.ui import (
    audit,
    clinic,
    widgets,
    xray_ask,
    xray_pictures,
    xray_save,
    xray_trust,
    xray_worth,
)
from pages.ui.cache_xray import Model
from pages.ui.escape import esc
from pages.ui.xray_pictures import PagePicture, SaliencySettings
from pages.ui.xray_study import FilmStudy

CLOSER: Final = "closer"
FINDINGS: Final = "The findings of this film"


def draw(
    study: FilmStudy, settings: SaliencySettings, picked: Sequence[Model], *, plain: bool
) -> None:
    """Draw the pictures, the models and the findings as tables, and one model in detail.

    `picked` are the models asked for, some of which may not have answered.
    """
    for text in filter(None, study.stranges):
        widgets.caveat("Not its kind of film", text)
    drawn = xray_pictures.draw(study, settings)
    _models(study, drawn, plain=plain)
    _findings(study, plain=plain)
    xray_save.draw(study, drawn)
    _closer(study, drawn, picked, plain=plain)


def _models(study: FilmStudy, drawn: list[PagePicture], *, plain: bool) -> None:
    found = study.opinions([one.aim for one in drawn])
    name = plain_finding(study.name) if plain else finding(study.name)
    title = f"{name[:1].upper()}{name[1:]}, model by model"
    widgets.title(title, views.FOUND)
    boxes = any(one.aim is not None for one in drawn)
    rows = views.model_rows(found, study.name, boxes=boxes)
    widgets.scores(title, views.model_heads(boxes=boxes), rows)
    for text in views.sources(found):
        widgets.caption(text)
    if not study.strange:
        clinic.care(study.care, RISK)


def _findings(study: FilmStudy, *, plain: bool) -> None:
    found = study.opinions()
    widgets.title(FINDINGS, f"scores of 100, by those of {study.main.model.name}")
    rows = views.finding_rows(found, study.name, plain=plain)
    widgets.scores(FINDINGS, views.finding_heads(found), rows, study.marks)


def _closer(
    study: FilmStudy, drawn: list[PagePicture], picked: Sequence[Model], *, plain: bool
) -> None:
    """Draw one of the models in detail: what its score was worth, and whether to trust its map."""
    ids = [one.id for one in picked]
    widgets.title("One model in detail", "what its score was worth, and checks of its map")
    names = {one.id: esc(one.name) for one in picked}
    chosen = picked[ids.index(audit.segments("Model", CLOSER, ids, ids[0], names))]
    place = next((i for i, one in enumerate(study.seen) if one.model.id == chosen.id), None)
    if place is None:
        waits = xray_ask.awaits(chosen, study.film)
        widgets.second(f"{chosen.name} {'looks at the film' if waits else 'says nothing of it'}.")
        return
    one = study.alone(place)
    if one is None:
        widgets.second(f"{chosen.name} {views.NO_FINDING}.")
        return
    with st.container(horizontal=True, gap="medium", key="figures"):
        with st.container(width=xray_pictures.WIDTH, key="xray_left"):
            xray_worth.hundred(one)
        with st.container(key="beside"):
            xray_worth.bands(one)
    if plain:
        return
    if drawn[place].scene.heat is None:
        widgets.caption(f"No heat of {chosen.name} is shown, so there is none to check.")
    else:
        xray_trust.draw(study.film, drawn[place].seen, one.index, of=chosen.name)
