"""The view Film: films and models, what is said of one finding, its heat, and all findings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.codes import NoticeCode
from core.errors import LibraryError
from core.screens.xray import film as views
from core.screens.xray import saliency
from core.screens.xray.film import Reference
from core.screens.xray.words import listed
from pages.ui import cache, frame, pieces, state, widgets
from pages.ui.xray import (
    add,
    ask,
    boxes,
    film_cache,
    finding,
    pictures,
    save,
    shared,
    sources,
    trust,
)
from pages.ui.xray import (
    beside as xray_beside,
)
from pages.ui.xray import (
    films as xray_films,
)
from pages.ui.xray import (
    models as xray_models,
)
from pages.ui.xray.ask import FilmResult
from pages.ui.xray.film_cache import Model
from pages.ui.xray.films import FilmEntry
from pages.ui.xray.pictures import SaliencySettings
from pages.ui.xray.study import FilmStudy

TOP: Final = "top"
LOOKING: Final = "The model is reading the film."
NO_ANSWER: Final = "The model gave no answer for this film."


def draw() -> str:
    """Draw the view; return what is known of the labels that it speaks of."""
    xray_films.settle()
    boxes.settle()
    xray_models.take_in()
    add.follow_run()
    films, models = xray_films.offered(), xray_models.offered()
    top = st.container()
    film = sources.films(films)
    frame.title(film.title)
    if not models:
        _no_model(top)
        return views.NO_LABELS
    if any(notice.code == views.BLANK for notice in film.notices):
        _blank(top, film)
        return views.NO_LABELS
    answers_place = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="controls"):
        picked = sorted(add.models(models), key=lambda model_id: _withheld(models[model_id], film))
        withheld = all(_withheld(models[model_id], film) for model_id in picked)
        with answers_place:
            shown = [] if withheld else [models[model_id] for model_id in picked]
            results = _collect_results(shown, film)
        if results:
            study = _study(film, results, _finding(results, alone=len(picked) == 1))
            settings = pictures.settings(study)
    if withheld:
        _draw_withheld(top, film, [models[model_id] for model_id in picked])
        return views.NO_LABELS
    if not results:
        with top:
            widgets.eyebrow(f"Chest X-ray · {film.title}", _chip(film))
            waits = any(ask.awaits(models[model_id], film) for model_id in picked)
            pieces.draw("headline", LOOKING if waits else NO_ANSWER)
        with st.container(width=pictures.WIDTH, key="xray_left"):
            pictures.film_alone(film)
        return views.NO_LABELS
    with top:
        _draw_heading(study)
    if study.several:
        xray_beside.draw(study, settings, [models[model_id] for model_id in picked])
    else:
        _alone(study, settings)
    return study.noise


def _blank(top: DeltaGenerator, film: FilmEntry) -> None:
    """Draw a film that shows nothing: no model is asked about it."""
    with top:
        widgets.eyebrow(f"Chest X-ray · {film.title}")
        widgets.sentence(views.blank_sentence())
        frame.notices(film.notices)
    with st.container(width=pictures.WIDTH, key="xray_left"):
        pictures.film_alone(film)


def _withheld(model: Model, film: FilmEntry) -> bool:
    """Whether neither score nor heat of a model is shown for this film."""
    return views.withheld(model.synthetic, film_synthetic=film.synthetic)


def _draw_withheld(top: DeltaGenerator, film: FilmEntry, models: Sequence[Model]) -> None:
    """Draw a film of a kind that no chosen model was trained on: no model is asked about it."""
    names = [model.name for model in models]
    with top:
        widgets.eyebrow(f"Chest X-ray · {listed(names)} · {film.title}", _chip(film))
        widgets.sentence(views.withheld_sentence(names, film_synthetic=film.synthetic))
        frame.notices(film.notices)
    with st.container(width=pictures.WIDTH, key="xray_left"):
        pictures.film_alone(film)


def _chip(film: FilmEntry) -> str:
    return "Synthetic film" if film.synthetic else ""


def _no_model(top: DeltaGenerator) -> None:
    with top:
        widgets.eyebrow("Chest X-ray")
        pieces.draw("headline", "No model to read films yet. Add one.")


def _collect_results(models: list[Model], film: FilmEntry) -> tuple[FilmResult, ...]:
    """Return what the models say, one after another as answers come; refusals are said."""
    results = []
    for model in models:
        result = ask.look(model, film)
        if result is not None:
            results.append(result)
        elif ask.awaits(model, film):
            break  # one thing is asked at a time
    return tuple(results)


def _study(film: FilmEntry, results: tuple[FilmResult, ...], index: int) -> FilmStudy:
    references = tuple(_reference(result.model, film) for result in results)
    names = {name for result in results for name in result.scored.findings}
    return FilmStudy(
        film=film,
        results=results,
        index=index,
        references=references,
        chosen=pictures.thresholds(names),
    )


def _finding(results: tuple[FilmResult, ...], *, alone: bool) -> int:
    """Draw the choice of the finding, by falling score; the highest one unless one is chosen.

    Of several models it is the first one's order, and no score: the table has all of them. What
    the options are called must not change when another model answers, or the choice is lost.
    """
    scored = results[0].scored
    names = [views.spelled(name) for name in scored.findings]
    options = [TOP, *(names[k] for k in scored.order)]
    chosen = state.choice(shared.NAME, options, TOP)
    label_finding = shared.words().label

    def label(option: str) -> str:
        k = scored.order[0] if option == TOP else names.index(option)
        score = f", {views.score_words(scored.scores[k])}" if alone else ""
        text = f"{label_finding(scored.findings[k])}{score}"
        return f"Highest: {text}" if option == TOP else text[:1].upper() + text[1:]

    st.selectbox(
        "Finding",
        options,
        format_func=label,
        key=f"widget.{shared.NAME}",
        on_change=state.pick,
        args=(shared.NAME, TOP),
        width=440 if state.plain() else 320,  # the longest name, and its score behind it
    )
    index = scored.order[0] if chosen == TOP else names.index(chosen)
    st.session_state[shared.SHOWN] = names[index]
    return index


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
        run = cache.find(run_id)
    except LibraryError:  # deleted meanwhile
        return None
    rows = cache.predictions(run, run.split)
    if not views.names_match(model.findings, rows.class_names):
        return None
    reference = film_cache.reference(run, run.split, shared.source(run, rows, run.split))
    return reference if model.run else replace(reference, named=True)


def _draw_heading(study: FilmStudy) -> None:
    edition = shared.words()
    parts = (edition.page, study.who, edition.label(study.name), study.film.title)
    widgets.eyebrow(" · ".join(parts), _chip(study.film))
    widgets.sentence(study.opening_sentence(edition))
    frame.notices(study.film.notices)
    has_burnt_in_notice = any(notice.code == NoticeCode.BURNED_IN for notice in study.film.notices)
    if not study.film.synthetic and not has_burnt_in_notice:
        widgets.caption(saliency.BURNT_IN)
    if study.unusual:
        widgets.caveat("Not a film of the usual size", study.unusual)
    for note in study.of_models:
        widgets.caption(note)


def _alone(study: FilmStudy, settings: SaliencySettings) -> None:
    """Draw what one model says: picture, what its score was worth, every finding, checks."""
    with st.container(horizontal=True, gap="medium", key="figures"):
        left = st.container(width=pictures.WIDTH, key="xray_left")
        right = st.container(key="beside")
    with left:
        (picture,) = pictures.draw(study, settings)
    with right:
        finding.hundred(study)
        finding.bands(study)
    _findings(study)
    save.draw(study, [picture])
    if not state.plain() and picture.scene.saliency is not None:
        trust.draw(study.film, picture.result, study.index)


def _findings(study: FilmStudy) -> None:
    known = study.known is not None
    beside = "each with its own reference: films of that score" if known else ""
    widgets.title("The findings of this film", beside)
    table = views.table(study.main.scored, study.index, study.known, shared.words(), study.note)
    widgets.scores("The findings of this film", table.heads, table.written())
