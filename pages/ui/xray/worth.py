"""What the score of one model was worth: 100 films like this one, and films of every score."""

import streamlit as st

from core.reports.html import films_html
from core.screens.xray import film, film_tables
from core.screens.xray.plain import KEY, RISK
from pages.ui import widgets
from pages.ui.xray import shared, sources
from pages.ui.xray.study import FilmStudy


def hundred(study: FilmStudy) -> None:
    """Draw 100 films of such a score as icons, with what must be read beside them."""
    scored, known = study.main.scored, study.known
    if known is not None:
        icons, note = film.icons(scored, study.index, known)
        if icons is not None:
            widgets.title(film.ICONS, note)
            st.html(films_html(icons))
        else:
            widgets.title("Films like this one, by the model’s score", note)
            widgets.second(f"{film.TOO_FEW[:1].upper()}{film.TOO_FEW[1:]}.")
    if not study.strange:
        shared.care(study.care, RISK)


def bands(study: FilmStudy) -> None:
    """Draw what films of every score were labelled with, and which run that is where one picks."""
    if study.known is not None:
        widgets.figure(film_tables.bands_card(study.main.scored, study.index, study.known))
        widgets.key(KEY)
    if not study.strange and not study.main.model.run:
        sources.count_on(study.main.model)
