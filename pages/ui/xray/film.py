"""The view Film: films and models, what is said of one finding, its heat, and all findings."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.codes import NoticeCode
from core.errors import LibraryError
from core.reports.html import films_html
from core.screens.kit.records import Sentence
from core.screens.xray import film as views
from core.screens.xray import saliency
from core.screens.xray.film import Reference
from core.screens.xray.finding import BAND_KEY, RISK
from pages.ui import frame, markup, open_runs, session, site, state, widgets
from pages.ui.markup import esc
from pages.ui.xray import films as xray_films
from pages.ui.xray import models as xray_models
from pages.ui.xray import pictures as xray_pictures
from pages.ui.xray import shared, trust
from pages.ui.xray.films import FilmEntry
from pages.ui.xray.models import Model
from pages.ui.xray.pictures import SaliencySettings
from pages.ui.xray.shared import FilmResult, FilmStudy

TOP: Final = "top"
LOOKING: Final = "The model is reading the film."
LISTED: Final = 50
NO_RUN: Final = "None: choose the run with this model’s scores"
NO_ANSWER: Final = "The model gave no answer for this film."


def draw() -> str:
    """Draw the view; return what is known of the labels that it speaks of."""
    xray_films.keep_films()
    xray_films.settle_boxes()
    xray_models.take_in()
    xray_models.follow_run()
    films, models = xray_films.offered(), xray_models.offered()
    top = st.container()
    film = xray_films.choice_of_film(films)
    frame.title(film.title)
    if not models:
        with top:
            widgets.eyebrow("Chest X-ray")
            markup.draw("headline", "No model to read films yet. Add one.")
        return views.NO_LABELS
    if any(notice.code == views.BLANK for notice in film.notices):  # no model is asked about it
        _film_alone(top, film, views.blank_sentence())
        return views.NO_LABELS

    # the models and the finding are chosen over the answers, and drawn under them
    answers_place, study, results = st.container(), None, []
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        ids = xray_models.choice_of_models(models)
        picked = sorted((models[model_id] for model_id in ids), key=lambda m: _withheld(m, film))
        withheld = all(_withheld(model, film) for model in picked)
        with answers_place:
            for model in () if withheld else picked:
                result = shared.look(model, film)
                if result is not None:
                    results.append(result)
                elif shared.awaits(model, film):
                    break  # one thing is asked at a time
        if results:
            study = FilmStudy.of(
                film,
                results,
                _finding(results, alone=len(picked) == 1),
                [_reference(result.model, film) for result in results],
                xray_pictures.thresholds(
                    {name for result in results for name in result.scored.findings}
                ),
            )
            settings = xray_pictures.settings(study)
    if withheld:  # by all: none was trained on films of this kind, and none is asked about it
        names = [model.name for model in picked]
        _film_alone(top, film, views.withheld_sentence(names, film_synthetic=film.synthetic))
        return views.NO_LABELS
    if study is None:
        with top:
            widgets.eyebrow(film.title)
            waits = any(shared.awaits(model, film) for model in picked)
            markup.draw("headline", LOOKING if waits else NO_ANSWER)
        with st.container(width=xray_pictures.WIDTH, key="xray_left"):
            xray_pictures.film_alone(film)
        return views.NO_LABELS
    with top:
        widgets.eyebrow(study.film.title)
        widgets.sentence(views.sentence(study.summaries, shared.words()))
        frame.notices(study.film.notices)
        has_burnt_in_notice = any(
            notice.code == NoticeCode.BURNED_IN for notice in study.film.notices
        )
        if not study.film.synthetic and not has_burnt_in_notice:
            widgets.caption(saliency.BURNT_IN)
        if study.unusual:
            widgets.caveat("Not a film of the usual size", study.unusual)
        for note in study.of_models:
            widgets.caption(note)
    if study.several:
        _draw_several(study, settings, picked)
    else:
        _draw_single(study, settings)
    return study.noise


def _film_alone(top: DeltaGenerator, film: FilmEntry, sentence: Sentence) -> None:
    """Draw a film of which no model says anything, and why."""
    with top:
        widgets.eyebrow(film.title)
        widgets.sentence(sentence)
        frame.notices(film.notices)
    with st.container(width=xray_pictures.WIDTH, key="xray_left"):
        xray_pictures.film_alone(film)


def _withheld(model: Model, film: FilmEntry) -> bool:
    """Whether neither score nor heat of a model is shown for this film."""
    return views.withheld(model.synthetic, film_synthetic=film.synthetic)


def _finding(results: Sequence[FilmResult], *, alone: bool) -> str:
    """Draw the choice of the finding, by falling score; the highest one unless one is chosen.

    Of several models it is the first one's order, and no score: the table has all of them. What
    the options are called must not change when another model answers, or the choice is lost.
    """
    scored = results[0].scored
    names = views.finding_keys(scored.findings)
    options = [TOP, *(names[k] for k in scored.order)]
    label_finding = shared.words().label

    def label(option: str) -> str:
        k = scored.order[0] if option == TOP else names.index(option)
        score = f", {views.score_words(scored.scores[k])}" if alone else ""
        text = f"{label_finding(scored.findings[k])}{score}"
        return f"Highest: {text}" if option == TOP else text[:1].upper() + text[1:]

    width = 440 if state.plain() else 320  # the longest name, and its score behind it
    labels = {option: label(option) for option in options}
    _spell_as_option(options, scored.findings, names)
    chosen = widgets.select("Finding", shared.NAME, labels, TOP, width=width)
    index = scored.order[0] if chosen == TOP else names.index(chosen)
    st.session_state[shared.SHOWN] = names[index]
    return scored.findings[index]


def _spell_as_option(options: Sequence[str], findings: Sequence[str], names: Sequence[str]) -> None:
    """Write the finding chosen before, in link and session, as this model's options spell it.

    Another model may have two findings that are spelled alike where this one has one, or one where
    this one has two: there the first one is taken.
    """

    def spelled(chosen: str | None) -> str | None:
        index = None if chosen is None else views.finding_index(findings, chosen)
        return chosen if index is None or chosen in options else names[index]

    if linked := spelled(st.query_params.get(shared.NAME)):
        st.query_params[shared.NAME] = linked
    if before := spelled(st.session_state.get(f"set.{shared.NAME}")):
        st.session_state[f"set.{shared.NAME}"] = before


def _reference(model: Model, film: FilmEntry) -> Reference | None:
    """Return what a model's scores were worth: on its own run, else on the one picked for it.

    None also where it never saw a film of this kind: then its scores are worth nothing.
    """
    if views.strange(model.name, model_synthetic=model.synthetic, film_synthetic=film.synthetic):
        return None
    run_id = model.run or xray_models.counted_on(model.id)
    if not run_id:
        return None
    try:
        run = open_runs.find(run_id)
    except LibraryError:  # deleted meanwhile
        return None
    rows = open_runs.predictions(run, run.split)
    if not views.names_match(model.findings, rows.class_names):
        return None
    reference = xray_films.reference(run, run.split, shared.source(run, rows, run.split))
    return reference if model.run else replace(reference, named=True)


def _draw_single(study: FilmStudy, settings: SaliencySettings) -> None:
    """Draw what one model says: picture, what its score was worth, every finding, checks."""
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(width=xray_pictures.WIDTH, key="xray_left")
        right = st.container(key="beside")
    with left:
        (picture,) = xray_pictures.draw(study, settings)
    with right:
        hundred(study)
        bands(study)
    _findings(study)
    xray_pictures.downloads(study, [picture])
    if not state.plain() and picture.scene.saliency is not None:
        trust.draw(study.film, picture.result, study.name)


def _findings(study: FilmStudy) -> None:
    """Draw the findings of the film as a table, of one model or of several."""
    explanation = "" if study.main.known is None else "each beside films of its score"
    if study.several:
        explanation = f"scores of 100, by those of {study.main.model}"
    widgets.title(FINDINGS_TITLE, explanation)
    table = views.findings_table(study.summaries, shared.words(), study.note)
    badges = [summary.mark for summary in study.summaries if summary.mark] if study.several else []
    widgets.scores(FINDINGS_TITLE, table.heads, table.written(), badges)


def hundred(study: FilmStudy) -> None:
    """Draw 100 films of such a score as icons, with what must be read beside them."""
    icons, note = views.icons(study.main)
    if icons is not None:
        widgets.title(views.ICONS, note)
        st.html(films_html(icons))
    elif note:
        widgets.title("Films like this one, by the model’s score", note)
        widgets.second(f"{views.TOO_FEW[:1].upper()}{views.TOO_FEW[1:]}.")
    if not study.strange:
        widgets.caveat("Caution", *views.care(study.summaries), last=RISK)


def bands(study: FilmStudy) -> None:
    """Draw what films of every score were labelled with, and which run that is where one picks."""
    card, model = views.bands_card(study.main), study.results[0].model
    if card is not None:
        widgets.figure(card)
        widgets.key(BAND_KEY)
    if study.strange or model.run:
        return
    # The choice of a run with scores of the same findings on labelled films, drafts first
    runs = []
    for run_id in [*session.drafts(), *(row.id for row in open_runs.openable(LISTED))]:
        with suppress(LibraryError):
            run = open_runs.find(run_id)
            if views.names_match(model.findings, run.class_names):
                runs.append(run)
    widgets.title("What is such a score worth?", "counted on films with labels")
    if not runs:
        st.markdown(
            "Drop a file of this model’s scores on labelled films on the Runs page. Then this page "
            "counts how many films of a score carried the label."
        )
        st.page_link(site.HOME.script, label="Drop scores on labelled films", icon=site.HOME.icon)
        return
    names = {"": NO_RUN} | state.distinct_names({run.id: run.name for run in runs})
    key, picked = f"xray.counted.{model.id}", xray_models.counted_on(model.id)
    st.session_state[key] = picked if picked in names else ""
    st.selectbox(
        "Scores of this model on labelled films",
        list(names),
        format_func=lambda option: names.get(option, option),
        key=key,
        on_change=_picked,
        args=(model.id,),
        help="Another model’s scores say nothing of this one’s.",
    )


def _picked(model_id: str) -> None:
    xray_models.count_on(model_id, st.session_state.get(f"xray.counted.{model_id}") or "")


CLOSER: Final = "closer"
FINDINGS_TITLE: Final = "The findings of this film"


def _draw_several(study: FilmStudy, settings: SaliencySettings, picked: Sequence[Model]) -> None:
    """Draw the pictures, the models and the findings as tables, and one model in detail.

    `picked` are the models asked for, some of which may not have answered.
    """
    for text in study.stranges:
        widgets.caveat("Not its kind of film", text)
    pictures = xray_pictures.draw(study, settings)
    title = f"{shared.words().title(study.name)}, model by model"
    widgets.title(title)
    table = views.model_table([picture.summary for picture in pictures], study.note)
    widgets.scores(title, table.heads, table.written())
    for text in views.sources(study.summaries):
        widgets.caption(text)
    if not study.strange:
        widgets.caveat("Caution", *views.care(study.summaries), last=RISK)
    _findings(study)
    xray_pictures.downloads(study, pictures)
    # One of the models in detail: what its score was worth, and whether to trust its map
    ids = [model.id for model in picked]
    widgets.title("One model in detail", "what its score was worth, and checks of its map")
    names = {model.id: esc(model.name) for model in picked}
    chosen = picked[ids.index(widgets.segments("Model", CLOSER, ids, ids[0], names))]
    place = next(
        (i for i, result in enumerate(study.results) if result.model.id == chosen.id), None
    )
    if place is None:
        waits = shared.awaits(chosen, study.film)
        widgets.second(
            f"{chosen.name} {'is reading the film' if waits else 'gave no answer for it'}."
        )
        return
    model_study = study.alone(place)
    if model_study is None:
        widgets.second(f"{chosen.name} {views.NO_FINDING}.")
        return
    with st.container(horizontal=True, gap="medium", key="figures"):
        with st.container(width=xray_pictures.WIDTH, key="xray_left"):
            hundred(model_study)
        with st.container(key="beside"):
            bands(model_study)
    if state.plain():
        return
    if pictures[place].scene.saliency is None:
        widgets.caption(f"No heat of {chosen.name} is shown, so there is none to check.")
    else:
        trust.draw(study.film, pictures[place].result, model_study.name, model_name=chosen.name)
