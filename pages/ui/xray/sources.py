"""Where films and models come from: the strip of films, the drop zones, and what is counted on."""

import base64
from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from core.codes import RefusalCode
from core.errors import LibraryError
from core.screens.xray.film import names_match
from pages.ui import cache, session, site, state, weights_source, widgets
from pages.ui.escape import esc
from pages.ui.xray import (
    add as xray_add,
)
from pages.ui.xray import (
    boxes,
    film_cache,
    models,
)
from pages.ui.xray import (
    films as xray_films,
)
from pages.ui.xray.film_cache import Model
from pages.ui.xray.films import FIRST, FilmEntry

MAX_MB = 128
LISTED = 50
NO_RUN = "None: choose the run with this model’s scores"
KEPT = (
    "Only the pixels of a film are kept, for this session: its name, its tags and everything else "
    "in the file are dropped. Text burnt into the picture stays."
)


def films(offered: Mapping[str, FilmEntry]) -> FilmEntry:
    """Draw the films to choose from, with the ways to add and remove; return the chosen one."""
    if st.query_params.get("film", FIRST) not in offered:
        st.session_state[xray_films.ELSEWHERE] = True
    chosen = state.choice("film", list(offered), FIRST)
    with st.container(horizontal=True, vertical_alignment="bottom", key="xray_strip"):
        with st.container(horizontal=True, gap="small", key="xray_films"):
            for film in offered.values():
                _thumb(film, chosen=film.id == chosen)
        with st.container(width=160, gap="xsmall", key="xray_add"):
            _add()
            with st.popover("Add a model", icon=":material/add:", key="xray.add_model"):
                xray_add.add_model()
            if not offered[chosen].synthetic:
                st.button(
                    "Remove film",
                    key="xray.remove",
                    icon=":material/delete:",
                    type="tertiary",
                    on_click=xray_films.remove,
                    args=(chosen,),
                )
    st.session_state["widget.film"] = chosen
    if st.session_state.get(xray_films.ELSEWHERE):
        notice = "That film was of another session, or was removed: films are kept for one session."
        widgets.caption(f"{notice} This is {offered[chosen].title}.")
    _reading()
    _refused()
    _undo()
    return offered[chosen]


def _thumb(film: FilmEntry, *, chosen: bool) -> None:
    with st.container(
        width=80, gap="xxsmall", key=f"xray_chosen.{film.id}" if chosen else f"xray_film.{film.id}"
    ):
        encoded = base64.b64encode(film_cache.thumb(film.digest, film.pixels)).decode()
        st.html(f'<img class="c-thumb" alt="" src="data:image/jpeg;base64,{encoded}">')
        st.button(
            f"{film.label}, shown" if chosen else film.label,
            key=f"xray.pick.{film.id}",
            type="secondary" if chosen else "tertiary",
            on_click=xray_films.choose,
            args=(film.id,),
            width="stretch",
        )


def _add() -> None:
    key = f"xray.add.{xray_films.INTAKE.drops}"
    with st.popover("Add films", icon=":material/add_photo_alternate:", key=key):
        xray_films.INTAKE.zone(
            "Films: PNG, JPEG or DICOM, several at once",
            xray_films.take,
            accept_multiple_files=True,
            max_upload_size=MAX_MB,
        )
        widgets.caption(KEPT)
        if not session.sealed():
            widgets.caption("On this system films are read under a time limit only.")
        _boxes()


def _boxes() -> None:
    """Draw where a list of lesions is dropped, and say what came of it."""
    boxes.INTAKE.zone(
        "Boxes of lesions on them: NIH’s list, or columns image, finding, x, y, w, h",
        boxes.take,
        max_upload_size=MAX_MB,
    )
    boxes.INTAKE.refused()
    if boxes.listed():
        own = xray_films.held_films().values()
        with_box = sum(film.disguised_name in boxes.listed() for film in own)
        rest = len(boxes.listed()) - with_box
        widgets.caption(
            f"The list has boxes for {with_box} of the {len(own)} films of this session, and for "
            f"{rest} {'film' if rest == 1 else 'films'} that are not here."
        )


def _reading() -> None:
    """Say what is being read."""
    weights = weights_source.intake(models.SLOT)
    weights.progress(partial(weights_source.stop, models.SLOT))
    boxes.INTAKE.progress()
    xray_films.INTAKE.progress()


def _refused() -> None:
    weights_source.intake(models.SLOT).refused()
    n = sum(refusal.error.code != RefusalCode.LIMIT_FILMS for refusal in xray_films.INTAKE.refusals)
    xray_films.INTAKE.refused(f"{n} of {st.session_state.get(xray_films.DROPPED)} were refused")


def _undo() -> None:
    """Say which film and which model were removed last, and offer to bring them back."""
    dropped_film, model = xray_films.removed(), models.removed()
    if dropped_film is not None:
        _removed("", dropped_film.film.title, xray_films.bring_back, xray_films.forget_removed)
    if model is not None:
        _removed("_model", model.name, models.bring_back, models.forget_removed)


def _removed(
    kind: str, name: str, bring_back: Callable[[], None], forget: Callable[[], None]
) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"xray.removed{kind}"):
        st.markdown(f"{esc(name)} was removed from this session.")
        st.button("Undo", key=f"xray.undo{kind}", on_click=bring_back)
        st.button("Forget it now", key=f"xray.forget{kind}", type="tertiary", on_click=forget)


def count_on(model: Model) -> None:
    """Draw the choice of a run with scores of the same findings on labelled films."""
    runs = _candidates(model)
    widgets.title("What is such a score worth?", "counted on films with labels")
    if not runs:
        st.markdown(
            "Drop a file of this model’s scores on labelled films on the page Runs. Then this page "
            "counts how many films of a score carried the label."
        )
        st.page_link(site.HOME.script, label="Drop scores on labelled films", icon=site.HOME.icon)
        return
    names = {"": NO_RUN} | state.distinct_names({run.id: run.name for run in runs})
    key, picked = f"xray.counted.{model.id}", models.counted_on(model.id)
    st.session_state[key] = picked if picked in names else ""
    st.selectbox(
        "Scores of this model on labelled films",
        list(names),
        format_func=lambda option: names.get(option, option),
        key=key,
        on_change=_count_on,
        args=(model.id,),
        help="Another model’s scores say nothing of this one’s.",
    )


def _count_on(model_id: str) -> None:
    models.count_on(model_id, st.session_state.get(f"xray.counted.{model_id}") or "")


def _candidates(model: Model) -> list[cache.Run]:
    """Return runs with the same findings in the same order, drafts first."""
    ids = [*session.drafts(), *(row.id for row in cache.openable(LISTED))]
    runs = []
    for run_id in ids:
        try:
            run = cache.find(run_id)
        except LibraryError:
            continue
        if names_match(model.findings, run.class_names):
            runs.append(run)
    return runs
