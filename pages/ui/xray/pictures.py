"""Films with their heat: controls, pictures and legend, when heat is hidden, and what is saved."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import streamlit as st

from core.reports.html import PageView, sheet_html
from core.screens.xray import film as views
from core.screens.xray import saliency as words
from core.screens.xray.film import FindingSummary
from core.screens.xray.finding import RISK
from core.screens.xray.words import BANNER, TECHNICAL, finding, listed
from core.xray import heat, phantom
from core.xray import picture as drawing
from core.xray.heat import DEFAULT, METHODS
from core.xray.picture import DrawnBox, FilmPanel, PictureSheet, Saliency, SaliencyStyle
from pages.ui import inference, markup, state, widgets
from pages.ui.xray import films as xray_films
from pages.ui.xray import shared
from pages.ui.xray.films import FilmEntry, FilmScene, offered
from pages.ui.xray.shared import FilmResult, FilmStudy

OPACITY: Final = 60
WIDTH: Final = 470  # of the left column, pixels
TAG: Final = "SYNTHETIC"
SALIENCY_BATCH: Final = "heats"
OVERLAY: Final = "overlay"


@dataclass(frozen=True, kw_only=True)
class SaliencySettings:
    """How heat is drawn."""

    look: str
    opacity: float
    method: str = DEFAULT
    layer: str = ""
    scale: str = words.FINDINGS


@dataclass(frozen=True, eq=False, kw_only=True)
class PagePicture:
    """A picture as it stands on the page, for what is saved as well.

    `result` has the maps that are drawn, and `scale` is a key of SCALES. `why_not` says why no heat
    is drawn; `offer` is the label of the button that draws it after all, and what that sets in the
    session. The `summary` has where the heat points, where it is drawn and a box is known.
    """

    summary: FindingSummary
    result: FilmResult
    scene: FilmScene
    scale: str
    why_not: str = ""
    offer: tuple[str, str] | None = None


def settings(study: FilmStudy) -> SaliencySettings:
    """Draw how heat is drawn; what needs knowledge lies in a popover, and not on plain pages."""
    look = widgets.segments("Show", "picture", list(words.LOOKS), OVERLAY, words.LOOKS)
    if state.plain():
        return SaliencySettings(look=look, opacity=OPACITY / 100.0)
    with st.popover("Method", icon=":material/tune:", key="xray.how"):
        opacity = st.slider(
            "Opacity, %",
            10,
            100,
            OPACITY,
            step=10,
            key="opacity",
            bind="query-params",
            persist_state="session",
            disabled=look != OVERLAY,
        )
        # Draw the threshold of a finding
        share = study.main.frequency
        key, box = _threshold_key(study.name), "xray.threshold"
        default = round(100.0 * (views.HALF if share is None else share), 1)
        st.session_state[box] = float(st.session_state.get(key, default))
        st.number_input(
            "Hide heat below a score of, %",
            0.0,
            100.0,
            step=1.0,
            format="%.1f",
            key=box,
            on_change=_keep_threshold,
            args=(key, box),
            help=words.EACH_ITS_OWN
            if study.several
            else f"At first {views.threshold_words(study.main)}",
        )
        if key in st.session_state:
            label = "Back to each model’s own" if study.several else "Back to the model’s own"
            st.button(label, key=f"{box}.own", on_click=_take_back, args=(key,))
        labels = {key: known_method.label for key, known_method in METHODS.items()}
        method = widgets.segments("Method", "method", list(METHODS), DEFAULT, labels)
        about, layers = METHODS[method], study.results[0].layers
        widgets.caption(f"{about.plain} {about.source}.")
        layer = widgets.segments(
            "Layer",
            "layer",
            list(reversed(layers)),
            layers[-1],
            {},
            "From coarse to fine. Most papers use the last convolutional layer.",
        )
        scales = list(words.SCALES) if about.at_once else [words.OWN]
        scale = widgets.segments("One scale for", "scale", scales, scales[0], words.SCALES)
        if scale == words.OWN:
            widgets.caveat("Own scale", words.ALONE)
        return SaliencySettings(
            look=look, opacity=opacity / 100.0, method=method, layer=layer, scale=scale
        )


def film_alone(film: FilmEntry) -> None:
    """Draw a film without heat."""
    scene = _scene(film, None, SaliencySettings(look="film", opacity=0.0), ())
    st.image(xray_films.png(scene), alt=f"Film: {film.title}.", width="stretch")


def draw(study: FilmStudy, settings: SaliencySettings) -> list[PagePicture]:
    """Draw the film as each model sees it, side by side where there are several."""
    places = st.columns(len(study.results), gap="medium") if study.several else [st.container()]
    pictures = []
    for place, result, summary in zip(places, study.results, study.summaries, strict=True):
        with place:
            picture = _picture(study.film, result, summary, settings)
            if study.several:
                widgets.title(words.title(summary.model, summary.score), mark=summary.mark)
            scene, shown = picture.scene, picture.result
            coarse = None if scene.saliency is None else scene.saliency.coarse
            boxes = [mark.box for mark in scene.marks]
            st.image(
                xray_films.png(scene),
                alt=words.alt(study.film.title, study.name, coarse, shown.frame, boxes),
                width="stretch",
            )
            if scene.saliency is not None:
                markup.draw("scale", heat.STOPS, words.LEGENDS[picture.scale])
                if not state.plain():
                    widgets.caption(
                        words.provenance(shown.method, shown.layer, scene.saliency.top, shown.frame)
                    )
            elif picture.why_not:  # what is hidden or slow can be asked for
                with st.container(key=f"xray.hidden.{shown.model.id}"):
                    markup.draw("hidden", picture.why_not)
                    if picture.offer is not None:
                        label, key = picture.offer
                        st.button(label, key=f"{key}.button", on_click=_take_up, args=(key,))
            pictures.append(picture)
    film, name = study.film, study.name
    could = {views.spelled(finding) for finding in phantom.FINDINGS}
    if film.synthetic and views.spelled(name) in could and not _marks(film, name):
        widgets.second(words.no_lesion(study.name, list(study.film.boxes), shared.words()))
    beside = words.comparable_words(
        [picture.scale for picture in pictures if picture.scene.saliency is not None]
    )
    if beside:
        widgets.caption(beside)
    widgets.caption(words.CAPTION)
    with st.popover("What heat means", type="tertiary", key="xray.limits"):
        for head, text in words.MORE:
            st.markdown(f"**{head}.** {text}")
    return pictures


def _picture(
    film: FilmEntry,
    result: FilmResult,
    summary: FindingSummary,
    settings: SaliencySettings,
) -> PagePicture:
    """Return the picture of one model; where its heat is not shown, why."""
    name, score = summary.name, summary.score
    marks = _marks(film, name)
    bare = _scene(film, None, settings, marks)
    scale = settings.scale if METHODS[settings.method].at_once else words.OWN
    picture = partial(PagePicture, summary=summary, scene=bare, scale=scale)
    if summary.withheld:
        return picture(result=result, why_not=words.WITHHELD)
    index = views.finding_index(result.scored.findings, name)
    if index is None or score is None:
        return picture(result=result, why_not=f"This model has no finding {finding(name)}.")
    if settings.look == "film":
        return picture(result=result)
    least = views.HALF if summary.limit is None else summary.limit
    place = f"{film.digest}.{result.model.id}.{views.spelled(name)}"
    anyway = f"xray.anyway.{place}"
    if score < least and not st.session_state.get(anyway):
        why_not, offer = words.hidden(score, summary.limit), ("Show anyway", anyway)
        return picture(result=result, why_not=why_not, offer=offer)
    compute = f"xray.compute.{place}.{settings.method}.{settings.layer}"
    if not METHODS[settings.method].at_once and not st.session_state.get(compute):
        offer = (f"Compute {METHODS[settings.method].label}", compute)
        return picture(result=result, why_not=words.slow(settings.method), offer=offer)
    mapped = shared.look_as(result, film, settings.method, settings.layer, index)
    if mapped is None:
        return picture(result=result)
    if heat.blank(mapped.maps[index]):
        return picture(result=mapped, why_not=words.BLANK)
    # The end of the scale: of this map, of those of all findings, or of other films
    if scale == words.OWN:
        top = heat.top_of([mapped.maps[index]])
    elif scale == words.FINDINGS:
        top = heat.top_of(mapped.maps.values())
    else:
        slot, question = f"xray.scale.{mapped.model.id}", films_question(film, mapped, index)
        text = "Analysing the other films for a common scale."
        answer = inference.query(slot, SALIENCY_BATCH, question, text, patient=True).wait()
        if answer is None:
            return picture(result=mapped)
        top = heat.top_of(answer.arrays["maps"])
    saliency = Saliency(mapped.maps[index], mapped.frame, top)
    focus = words.focus(saliency.coarse, saliency.frame, [mark.box for mark in marks])
    scene = _scene(film, saliency, settings, marks)
    return picture(summary=replace(summary, focus=focus), result=mapped, scene=scene)


def _marks(film: FilmEntry, name: str) -> tuple[DrawnBox, ...]:
    who = "where it was drawn" if film.synthetic else "box drawn by a radiologist"
    by_name = {views.spelled(key): boxes for key, boxes in film.boxes.items()}
    return tuple(DrawnBox(box, who) for box in by_name.get(views.spelled(name), ()))


def _scene(
    film: FilmEntry,
    saliency: Saliency | None,
    settings: SaliencySettings,
    marks: tuple[DrawnBox, ...],
) -> FilmScene:
    look = SaliencyStyle(settings.look, settings.opacity)
    of_map = (
        None
        if saliency is None
        else (saliency.coarse.tobytes().hex(), saliency.frame, saliency.top)
    )
    key = repr((film.digest, of_map, look if saliency else None, marks))
    return FilmScene(
        key=key,
        film=film.pixels,
        saliency=saliency,
        look=look,
        marks=marks,
        tag=TAG if film.synthetic else "",
    )


def films_question(
    film: FilmEntry, result: FilmResult, index: int
) -> dict[str, Any]:  # plain JSON values
    """Return what is asked for one scale over all films: the finding's map on each.

    They are the films of the kind that the model was trained on, and the one that is shown.
    """
    kind = bool(result.model.synthetic)
    films = [
        candidate
        for candidate in offered().values()
        if candidate.synthetic == kind or candidate.id == film.id
    ]
    return {
        "model": result.model.payload,
        "films": [film.payload for film in films],
        "pairs": [[place, index] for place in range(len(films))],
        "method": result.method,
        "layer": result.layer,
        "shuffled": None,
    }


def _threshold_key(name: str) -> str:
    return f"xray.threshold.{views.spelled(name)}"


def thresholds(names: Iterable[str]) -> dict[str, float]:
    """Return the thresholds that were set, in [0, 1], by spelled finding."""
    by_finding = {}
    for name in names:
        percent = st.session_state.get(_threshold_key(name))
        if percent is not None:
            by_finding[views.spelled(name)] = float(percent) / 100.0
    return by_finding


def _keep_threshold(key: str, box: str) -> None:
    st.session_state[key] = st.session_state[box]


def _take_back(key: str) -> None:
    st.session_state.pop(key, None)


def _take_up(key: str) -> None:
    st.session_state[key] = True


def downloads(study: FilmStudy, pictures: list[PagePicture]) -> None:
    """Draw the downloads; no name of a film’s file is part of any."""
    with st.container(horizontal=True, key="xray.save"):
        widgets.download(
            "Picture, PNG",
            lambda: drawing.sheet(sheet(study, pictures)),
            "candor_film.png",
            "image/png",
            key="xray.save.png",
        )
        findings = views.findings_table(study.summaries, TECHNICAL, study.note).file
        if study.several:
            widgets.save(findings, "film_findings", "Findings, CSV")
            models = views.model_table([shown.summary for shown in pictures], study.note)
            widgets.save(models.file, "film_models", "Models, CSV")
        else:
            widgets.save(findings, "film", "Table, CSV")
        widgets.download(
            "This view, HTML",
            lambda: sheet_html(page(study, pictures)),
            "candor_film.html",
            "text/html",
            key="xray.save.html",
        )
    if not study.film.synthetic:
        widgets.caption(words.BURNT_IN)


def page(study: FilmStudy, pictures: list[PagePicture]) -> PageView:
    """Return the view as one file: the picture to save, the bands, the findings."""
    alt = f"{study.film.title} as the models see it; the text below says the same."
    # what must be read beside scores; of one model the sentence says why it is strange
    care = study.stranges if study.several else ()
    care = care if study.strange else (*care, *views.care(study.summaries), RISK)
    # 100 films like this one, of one model that has a test set with enough of them
    icons, note = (None, "") if study.several else views.icons(study.main)
    # the bands of each model that has a test set, named where there are several
    cards = []
    for place in range(len(study.summaries)):
        own = study.alone(place)
        card = None if own is None else views.bands_card(own.main)
        if own is None or card is None:
            continue
        if study.several:
            title = f"{own.main.model}: {card.title[:1].lower()}{card.title[1:]}"
            card = replace(card, key=f"{card.key}_{place + 1}", title=title)
        cards.append(card)
    # the tables without their notes: what they may not be used for stands around them
    findings = views.findings_table(study.summaries, TECHNICAL, study.note).file
    tables = [("The findings of this film", findings.without({"note"}))]
    if study.several:
        models = views.model_table([shown.summary for shown in pictures], study.note).file
        title = f"{finding(study.name)}, model by model"
        tables.insert(0, (title, models.without(views.LEFT_OUT)))
    who = listed([summary.model for summary in study.summaries])
    return PageView(
        eyebrow=f"Chest X-ray · {who} · {finding(study.name)} · {study.film.title}",
        banners=(BANNER, study.noise),
        sentence=views.sentence(study.summaries, TECHNICAL),
        paragraphs=(*study.notes, *care),
        cards=tuple(cards),
        tables=tuple(tables),
        caption=words.CAPTION,
        pictures=((alt, drawing.sheet(sheet(study, pictures))),),
        icons=None if icons is None else (f"{views.ICONS}: {note}", icons),
    )


def sheet(study: FilmStudy, pictures: list[PagePicture]) -> PictureSheet:
    """Return the picture to save: with banner, scores, scale, method and what heat is not."""
    score = "" if study.several else f", score {study.main.written}"
    counted = views.sources(study.summaries)
    focused = [views.focus_words(shown.summary) for shown in pictures]
    if not study.several:
        counted = () if study.main.known is None else (study.main.known.counted,)
        focused = []
    panels, why_not, provenances, scales = [], [], [], []
    for shown in pictures:
        result, saliency, name = shown.result, shown.scene.saliency, shown.summary.model
        legend = "" if saliency is None else words.LEGENDS[shown.scale]
        panels.append(
            FilmPanel(shown.scene.drawn(), words.title(name, shown.summary.score), legend)
        )
        if shown.why_not:
            why_not.append(f"{name}: {shown.why_not}")
        if saliency is not None:
            scales.append(shown.scale)
            made = words.provenance(result.method, result.layer, saliency.top, result.frame)
            provenances.append(f"{name}: {made}")
    return PictureSheet(
        (BANNER, study.noise),
        f"{finding(study.name)}{score}. {study.film.title}",
        tuple(panels),
        (
            views.sentence(study.summaries, TECHNICAL).text,
            *(() if study.strange else (RISK,)),
            *counted,
            *study.notes,
            *study.stranges,
            *filter(None, focused),
            *filter(None, [words.comparable_words(scales)]),
            *why_not,
            words.CAPTION,
            *provenances,
        ),
    )
