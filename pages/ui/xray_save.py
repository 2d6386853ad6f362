"""What can be saved of a film: the picture with all that belongs to it, and the table."""

import streamlit as st

from core.reports.html import Sheet as PageSheet
from core.reports.html import sheet_html
from core.views import xray_film as views
from core.views import xray_heat as words
from core.views import xray_tables as tables
from core.views.clinic_plain import RISK
from core.views.clinic_words import BANNER, finding
from core.xray import picture
from core.xray.picture import Panel, Sheet
from pages.ui import widgets, xray_pictures
from pages.ui.xray_pictures import Drawn
from pages.ui.xray_study import Study


def draw(study: Study, drawn: list[Drawn]) -> None:
    """Draw the downloads; no name of a file is part of any."""
    with st.container(horizontal=True, key="xray.save"):
        st.download_button(
            "Picture, PNG",
            lambda: picture.sheet(_sheet(study, drawn)),
            "candor_film.png",
            "image/png",
            key="xray.save.png",
            on_click="ignore",
        )
        widgets.save(tables.table(study.main.scored, study.known, study.note), "film", "Table, CSV")
        st.download_button(
            "All of it, one HTML file",
            lambda: sheet_html(_page(study, drawn)),
            "candor_film.html",
            "text/html",
            key="xray.save.html",
            on_click="ignore",
        )
    if not study.film.synthetic:
        widgets.caption(words.BURNT_IN)


def _page(study: Study, drawn: list[Drawn]) -> PageSheet:
    """Return the view as one file: the picture to save, the bands, the findings."""
    scored, known = study.main.scored, study.known
    care = () if study.strange else (*study.care, RISK)
    cards = () if known is None else (tables.bands_card(scored, study.index, known),)
    alt = f"{study.film.title} as the models see it; the text below says the same."
    return PageSheet(
        f"Chest X-ray · {study.main.model.name} · {finding(study.name)} · {study.film.title}",
        (BANNER, study.noise),
        study.sentence,
        (),
        (*study.notes, *care),
        cards,
        (("The findings of this film", tables.bare(tables.table(scored, known, ""))),),
        words.CAPTION,
        ((alt, picture.sheet(_sheet(study, drawn))),),
    )


def _sheet(study: Study, drawn: list[Drawn]) -> Sheet:
    """Return the picture to save: with banner, scores, scale, method and what heat is not."""
    score = study.main.scored.scores[study.index]
    how = [
        f"{one.seen.model.name}: "
        f"{words.provenance(one.seen.method, one.seen.layer, one.scene.heat.top, one.seen.frame)}"
        for one in drawn
        if one.scene.heat is not None
    ]
    why_not = [f"{one.seen.model.name}: {one.why_not}" for one in drawn if one.why_not]
    counted = () if study.known is None else (views.counted(study.known),)
    risk = () if study.strange else (RISK,)
    strange = filter(None, map(study.strange_to, study.seen))
    beside = (words.BESIDE,) if xray_pictures.together(drawn) else ()
    return Sheet(
        (BANNER, study.noise),
        f"{finding(study.name)}, score {views.score_words(score)}. {study.film.title}",
        tuple(map(_panel, drawn)),
        (
            study.sentence.text,
            *risk,
            *counted,
            *study.notes,
            *strange,
            *beside,
            *why_not,
            words.CAPTION,
            *how,
        ),
    )


def _panel(shown: Drawn) -> Panel:
    title = words.title(shown.seen.model.name, shown.score)
    if shown.scene.heat is None:
        return Panel(shown.scene.drawn(), title)
    return Panel(shown.scene.drawn(), title, words.LEGENDS[shown.scale])
