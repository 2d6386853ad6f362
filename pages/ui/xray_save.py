"""What can be saved of a film: the picture with all that belongs to it, and the table."""

from dataclasses import replace

import streamlit as st

from core.reports.html import PageView as PageSheet
from core.reports.html import sheet_html
from core.views import xray_beside as beside
from core.views import xray_film as views
from core.views import xray_heat as words
from core.views import xray_tables as tables
from core.views.clinic_plain import RISK, HundredFilms
from core.views.clinic_words import BANNER, finding
from core.views.records import FigureCard, Table
from core.views.xray_beside import Opinion
from core.xray import picture
from core.xray.picture import FilmPanel, PictureSheet
from pages.ui import widgets
from pages.ui.xray_pictures import PagePicture
from pages.ui.xray_study import FilmStudy


def draw(study: FilmStudy, drawn: list[PagePicture]) -> None:
    """Draw the downloads; no name of a film’s file is part of any."""
    with st.container(horizontal=True, key="xray.save"):
        st.download_button(
            "Picture, PNG",
            lambda: picture.sheet(sheet(study, drawn)),
            "candor_film.png",
            "image/png",
            key="xray.save.png",
            on_click="ignore",
        )
        if study.several:
            found = _opinions(study, drawn)
            findings = beside.finding_table(found, study.note)
            widgets.save(findings, "film_findings", "Findings, CSV")
            models = beside.model_table(found, study.name, study.note)
            widgets.save(models, "film_models", "Models, CSV")
        else:
            table = tables.table(study.main.scored, study.known, study.note)
            widgets.save(table, "film", "Table, CSV")
        st.download_button(
            "All of it, one HTML file",
            lambda: sheet_html(page(study, drawn)),
            "candor_film.html",
            "text/html",
            key="xray.save.html",
            on_click="ignore",
        )
    if not study.film.synthetic:
        widgets.caption(words.BURNT_IN)


def _opinions(study: FilmStudy, drawn: list[PagePicture]) -> tuple[Opinion, ...]:
    return study.opinions([one.aim for one in drawn])


def page(study: FilmStudy, drawn: list[PagePicture]) -> PageSheet:
    """Return the view as one file: the picture to save, the bands, the findings."""
    alt = f"{study.film.title} as the models see it; the text below says the same."
    return PageSheet(
        f"Chest X-ray · {study.who} · {finding(study.name)} · {study.film.title}",
        (BANNER, study.noise),
        study.sentence,
        (),
        (*study.notes, *_care(study)),
        _cards(study),
        _tables(study, drawn),
        words.CAPTION,
        ((alt, picture.sheet(sheet(study, drawn))),),
        _icons(study),
    )


def _icons(study: FilmStudy) -> tuple[str, HundredFilms] | None:
    """Return 100 films like this one, of one model that has a test set with enough of them."""
    if study.several or study.known is None:
        return None
    icons, note = views.icons(study.main.scored, study.index, study.known)
    return None if icons is None else (f"{views.ICONS}: {note}", icons)


def _care(study: FilmStudy) -> tuple[str, ...]:
    """Return what must be read beside scores; of one model the sentence says why it is strange."""
    why = tuple(filter(None, study.stranges)) if study.several else ()
    return why if study.strange else (*why, *study.care, RISK)


def _cards(study: FilmStudy) -> tuple[FigureCard, ...]:
    """Return the bands of each model that has a test set, named where there are several."""
    found = []
    for place, seen in enumerate(study.seen):
        one = study.alone(place)
        if one is None or one.known is None:
            continue
        card = tables.bands_card(seen.scored, one.index, one.known)
        if study.several:
            title = f"{seen.model.name}: {card.title[:1].lower()}{card.title[1:]}"
            card = replace(card, key=f"{card.key}_{place + 1}", title=title)
        found.append(card)
    return tuple(found)


def _tables(study: FilmStudy, drawn: list[PagePicture]) -> tuple[tuple[str, Table], ...]:
    if not study.several:
        table = tables.table(study.main.scored, study.known, "")
        return (("The findings of this film", tables.bare(table)),)
    found = _opinions(study, drawn)
    models = beside.brief(beside.model_table(found, study.name, ""))
    return (
        (f"{finding(study.name)}, model by model", models),
        ("The findings of this film", tables.bare(beside.finding_table(found, ""))),
    )


def sheet(study: FilmStudy, drawn: list[PagePicture]) -> PictureSheet:
    """Return the picture to save: with banner, scores, scale, method and what heat is not."""
    heading = f"{finding(study.name)}. {study.film.title}"
    counted: tuple[str, ...] = ()
    aims: list[str] = []
    if study.several:
        found = _opinions(study, drawn)
        counted = beside.sources(found)
        aims = [beside.aim_words(one.name, one.aim) for one in found if one.aim is not None]
    else:
        score = views.score_words(study.main.scored.scores[study.index])
        heading = f"{finding(study.name)}, score {score}. {study.film.title}"
        counted = () if study.known is None else (views.counted(study.known),)
    shown = [one for one in drawn if one.scene.heat is not None]
    how = [
        f"{one.seen.model.name}: "
        f"{words.provenance(one.seen.method, one.seen.layer, one.scene.heat.top, one.seen.frame)}"
        for one in shown
        if one.scene.heat is not None
    ]
    return PictureSheet(
        (BANNER, study.noise),
        heading,
        tuple(map(_panel, drawn)),
        (
            study.sentence.text,
            *(() if study.strange else (RISK,)),
            *counted,
            *study.notes,
            *filter(None, study.stranges),
            *aims,
            *filter(None, [words.beside([one.scale for one in shown])]),
            *(f"{one.seen.model.name}: {one.why_not}" for one in drawn if one.why_not),
            words.CAPTION,
            *how,
        ),
    )


def _panel(shown: PagePicture) -> FilmPanel:
    title = words.title(shown.seen.model.name, shown.score)
    if shown.scene.heat is None:
        return FilmPanel(shown.scene.drawn(), title)
    return FilmPanel(shown.scene.drawn(), title, words.LEGENDS[shown.scale])
