"""Several models on one film: what each says, side by side, and one of them in detail."""

from collections.abc import Sequence
from typing import Final

import streamlit as st

from core.screens.xray import beside
from core.screens.xray.plain import RISK
from pages.ui import controls, state, widgets
from pages.ui.escape import esc
from pages.ui.xray import ask, finding, save, shared, trust
from pages.ui.xray import (
    pictures as xray_pictures,
)
from pages.ui.xray.film_cache import Model
from pages.ui.xray.pictures import PagePicture, SaliencySettings
from pages.ui.xray.study import FilmStudy

CLOSER: Final = "closer"
FINDINGS: Final = "The findings of this film"


def draw(study: FilmStudy, settings: SaliencySettings, picked: Sequence[Model]) -> None:
    """Draw the pictures, the models and the findings as tables, and one model in detail.

    `picked` are the models asked for, some of which may not have answered.
    """
    for text in filter(None, study.stranges):
        widgets.caveat("Not its kind of film", text)
    pictures = xray_pictures.draw(study, settings)
    _models(study, pictures)
    _findings(study)
    save.draw(study, pictures)
    _closer(study, pictures, picked)


def _models(study: FilmStudy, pictures: list[PagePicture]) -> None:
    opinions = study.opinions([picture.focus for picture in pictures])
    title = f"{shared.words().title(study.name)}, model by model"
    widgets.title(title)
    table = beside.model_table(opinions, study.name, study.note)
    widgets.scores(title, table.heads, table.written())
    for text in beside.sources(opinions):
        widgets.caption(text)
    if not study.strange:
        shared.care(study.care, RISK)


def _findings(study: FilmStudy) -> None:
    opinions = study.opinions()
    widgets.title(FINDINGS, f"scores of 100, by those of {study.main.model.name}")
    table = beside.finding_table(opinions, study.name, shared.words(), study.note)
    widgets.scores(FINDINGS, table.heads, table.written(), study.marks)


def _closer(study: FilmStudy, pictures: list[PagePicture], picked: Sequence[Model]) -> None:
    """Draw one of the models in detail: what its score was worth, and whether to trust its map."""
    ids = [model.id for model in picked]
    widgets.title("One model in detail", "what its score was worth, and checks of its map")
    names = {model.id: esc(model.name) for model in picked}
    chosen = picked[ids.index(controls.segments("Model", CLOSER, ids, ids[0], names))]
    place = next(
        (i for i, result in enumerate(study.results) if result.model.id == chosen.id), None
    )
    if place is None:
        waits = ask.awaits(chosen, study.film)
        widgets.second(
            f"{chosen.name} {'is reading the film' if waits else 'gave no answer for it'}."
        )
        return
    model_study = study.alone(place)
    if model_study is None:
        widgets.second(f"{chosen.name} {beside.NO_FINDING}.")
        return
    with st.container(horizontal=True, gap="medium", key="figures"):
        with st.container(width=xray_pictures.WIDTH, key="xray_left"):
            finding.hundred(model_study)
        with st.container(key="beside"):
            finding.bands(model_study)
    if state.plain():
        return
    if pictures[place].scene.saliency is None:
        widgets.caption(f"No heat of {chosen.name} is shown, so there is none to check.")
    else:
        trust.draw(study.film, pictures[place].result, model_study.index, model_name=chosen.name)
