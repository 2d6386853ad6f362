"""What can be saved of a film: the picture with all that belongs to it, and the table."""

import streamlit as st

from core.views import xray_film as views
from core.views import xray_heat as words
from core.views.clinic_words import BANNER, finding
from core.xray import picture
from core.xray.picture import Panel, Sheet
from pages.ui import widgets
from pages.ui.xray_pictures import Drawn
from pages.ui.xray_study import Study


def draw(study: Study, drawn: list[Drawn]) -> None:
    """Draw the downloads; no name of a file is part of any."""
    note = f"{BANNER} {study.noise}"
    with st.container(horizontal=True, key="xray.save"):
        st.download_button(
            "Picture, PNG",
            lambda: picture.sheet(_sheet(study, drawn)),
            "candor_film.png",
            "image/png",
            key="xray.save.png",
            on_click="ignore",
        )
        widgets.save(views.table(study.main.scored, study.known, note), "film", "Table, CSV")


def _sheet(study: Study, drawn: list[Drawn]) -> Sheet:
    """Return the picture to save: with banner, scores, scale, method and what heat is not."""
    score = study.main.scored.scores[study.index]
    said = views.sentence(study.main.scored, study.index, study.known, plain=False).text
    how = [
        f"{one.seen.model.name}: "
        f"{words.provenance(one.seen.method, one.seen.layer, one.scene.heat.top)}"
        for one in drawn
        if one.scene.heat is not None
    ]
    worth = () if study.known is None else (study.known.source.where,)
    counted = tuple(f"Counted on {where}." for where in worth)
    return Sheet(
        (BANNER, study.noise),
        f"{finding(study.name)}, score {views.score_words(score)}. {study.film.title}",
        tuple(map(_panel, drawn)),
        (said, *counted, words.CAPTION, *how),
    )


def _panel(shown: Drawn) -> Panel:
    title = words.title(shown.seen.model.name, shown.score)
    if shown.scene.heat is None:
        return Panel(shown.scene.drawn(), title)
    return Panel(shown.scene.drawn(), title, words.LEGENDS[shown.scale])
