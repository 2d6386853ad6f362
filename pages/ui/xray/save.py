"""What can be saved of a film: the picture with all that belongs to it, and the table."""

from dataclasses import replace

import streamlit as st

from core.reports.html import PageView as PageSheet
from core.reports.html import sheet_html
from core.screens.kit.records import FigureCard, Table
from core.screens.xray import beside, film, saliency
from core.screens.xray.beside import Opinion
from core.screens.xray.plain import RISK, HundredFilms
from core.screens.xray.words import BANNER, TECHNICAL, finding
from core.xray import picture
from core.xray.picture import FilmPanel, PictureSheet
from pages.ui import widgets
from pages.ui.xray.pictures import PagePicture
from pages.ui.xray.study import FilmStudy


def draw(study: FilmStudy, pictures: list[PagePicture]) -> None:
    """Draw the downloads; no name of a film’s file is part of any."""
    with st.container(horizontal=True, key="xray.save"):
        widgets.download(
            "Picture, PNG",
            lambda: picture.sheet(sheet(study, pictures)),
            "candor_film.png",
            "image/png",
            key="xray.save.png",
        )
        if study.several:
            opinions = _opinions(study, pictures)
            findings = beside.finding_table(opinions, study.name, TECHNICAL, study.note)
            widgets.save(findings.file, "film_findings", "Findings, CSV")
            models = beside.model_table(opinions, study.name, study.note)
            widgets.save(models.file, "film_models", "Models, CSV")
        else:
            widgets.save(_film_table(study), "film", "Table, CSV")
        widgets.download(
            "This view, HTML",
            lambda: sheet_html(page(study, pictures)),
            "candor_film.html",
            "text/html",
            key="xray.save.html",
        )
    if not study.film.synthetic:
        widgets.caption(saliency.BURNT_IN)


def _opinions(study: FilmStudy, pictures: list[PagePicture]) -> tuple[Opinion, ...]:
    return study.opinions([page_picture.focus for page_picture in pictures])


def page(study: FilmStudy, pictures: list[PagePicture]) -> PageSheet:
    """Return the view as one file: the picture to save, the bands, the findings."""
    alt = f"{study.film.title} as the models see it; the text below says the same."
    return PageSheet(
        eyebrow=f"Chest X-ray · {study.who} · {finding(study.name)} · {study.film.title}",
        banners=(BANNER, study.noise),
        sentence=study.sentence,
        numbers=(),
        paragraphs=(*study.notes, *_care(study)),
        cards=_cards(study),
        tables=_tables(study, pictures),
        caption=saliency.CAPTION,
        pictures=((alt, picture.sheet(sheet(study, pictures))),),
        icons=_icons(study),
    )


def _icons(study: FilmStudy) -> tuple[str, HundredFilms] | None:
    """Return 100 films like this one, of one model that has a test set with enough of them."""
    if study.several or study.known is None:
        return None
    icons, note = film.icons(study.main.scored, study.index, study.known)
    return None if icons is None else (f"{film.ICONS}: {note}", icons)


def _care(study: FilmStudy) -> tuple[str, ...]:
    """Return what must be read beside scores; of one model the sentence says why it is strange."""
    why = tuple(filter(None, study.stranges)) if study.several else ()
    return why if study.strange else (*why, *study.care, RISK)


def _cards(study: FilmStudy) -> tuple[FigureCard, ...]:
    """Return the bands of each model that has a test set, named where there are several."""
    cards = []
    for place, result in enumerate(study.results):
        model_study = study.alone(place)
        if model_study is None or model_study.known is None:
            continue
        card = film.bands_card(result.scored, model_study.index, model_study.known)
        if study.several:
            title = f"{result.model.name}: {card.title[:1].lower()}{card.title[1:]}"
            card = replace(card, key=f"{card.key}_{place + 1}", title=title)
        cards.append(card)
    return tuple(cards)


def _tables(study: FilmStudy, pictures: list[PagePicture]) -> tuple[tuple[str, Table], ...]:
    """Return the tables without their notes: what they may not be used for stands around them."""
    if not study.several:
        return (("The findings of this film", _film_table(study).without({"note"})),)
    opinions = _opinions(study, pictures)
    models = beside.model_table(opinions, study.name, study.note)
    findings = beside.finding_table(opinions, study.name, TECHNICAL, study.note)
    return (
        (f"{finding(study.name)}, model by model", models.file.without(beside.LEFT_OUT)),
        ("The findings of this film", findings.file.without({"note"})),
    )


def _film_table(study: FilmStudy) -> Table:
    return film.table(study.main.scored, study.index, study.known, TECHNICAL, study.note).file


def sheet(study: FilmStudy, pictures: list[PagePicture]) -> PictureSheet:
    """Return the picture to save: with banner, scores, scale, method and what heat is not."""
    heading = f"{finding(study.name)}. {study.film.title}"
    counted: tuple[str, ...] = ()
    focus_lines: list[str] = []
    if study.several:
        opinions = _opinions(study, pictures)
        counted = beside.sources(opinions)
        focus_lines = [
            beside.focus_words(opinion.name, opinion.focus)
            for opinion in opinions
            if opinion.focus is not None
        ]
    else:
        score = film.score_words(study.main.scored.scores[study.index])
        heading = f"{finding(study.name)}, score {score}. {study.film.title}"
        counted = () if study.known is None else (film.counted(study.known),)
    with_saliency = [
        page_picture for page_picture in pictures if page_picture.scene.saliency is not None
    ]
    provenances = [
        f"{page_picture.result.model.name}: "
        + saliency.provenance(
            page_picture.result.method,
            page_picture.result.layer,
            page_picture.scene.saliency.top,
            page_picture.result.frame,
        )
        for page_picture in with_saliency
        if page_picture.scene.saliency is not None
    ]
    return PictureSheet(
        (BANNER, study.noise),
        heading,
        tuple(map(_panel, pictures)),
        (
            study.sentence.text,
            *(() if study.strange else (RISK,)),
            *counted,
            *study.notes,
            *filter(None, study.stranges),
            *focus_lines,
            *filter(
                None, [saliency.beside([page_picture.scale for page_picture in with_saliency])]
            ),
            *(
                f"{page_picture.result.model.name}: {page_picture.why_not}"
                for page_picture in pictures
                if page_picture.why_not
            ),
            saliency.CAPTION,
            *provenances,
        ),
    )


def _panel(page_picture: PagePicture) -> FilmPanel:
    title = saliency.title(page_picture.result.model.name, page_picture.score)
    if page_picture.scene.saliency is None:
        return FilmPanel(page_picture.scene.drawn(), title)
    return FilmPanel(page_picture.scene.drawn(), title, saliency.LEGENDS[page_picture.scale])
