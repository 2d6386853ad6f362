"""Whether a map can be trusted: the sanity check of one map, and where maps point on many films."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final, cast

import numpy as np
import streamlit as st
from scipy import ndimage

from core.arrays import Bool
from core.errors import AuditError
from core.inference.client import Answer, shared
from core.views import xray_film
from core.views import xray_trust as views
from core.xray import heat, phantom
from core.xray.heat import Frame, Map
from core.xray.localisation import Box, Localisation, localise
from core.xray.methods import METHODS
from core.xray.picture import Heat, Look
from pages.ui import cache_xray, evaluate_ask, frame, session, widgets, xray_ask
from pages.ui.cache_xray import HELD_OUT, Scene
from pages.ui.xray_ask import Looked
from pages.ui.xray_films import Film

SANITY: Final = "sanity"
POINTING: Final = "xray.pointing"
SEED: Final = 0
HALF_WIDTH: Final = 560
SMALL: Final = 112  # pixels of a small map
FILMS: Final = 60  # synthetic films with the finding
STEP: Final = 20  # asked for at once
FIRST: Final = 1_000  # number of the first such film: none of those that can be picked
SIDE: Final = 256  # pixels that maps are compared on
Json = dict[str, Any]  # Any: plain JSON values


def draw(film: Film, seen: Looked, index: int) -> None:
    """Draw both checks of the map that is shown."""
    widgets.title("Does this map depend on what was learnt?", views.NEEDED)
    _sanity(film, seen, index)
    widgets.title("Do such maps point at lesions?", "more often than maps that know nothing")
    _pointing(seen, index)


def _sanity(film: Film, seen: Looked, index: int) -> None:
    question = {
        "model": seen.model.asked,
        "film": film.asked,
        "finding": index,
        "method": seen.method,
        "layer": seen.layer,
        "seed": SEED,
    }
    found = evaluate_ask.answered(SANITY, question)
    if evaluate_ask.waits(SANITY, question):
        xray_ask.wait("Weights are drawn anew, layer by layer.", evaluate_ask.awaited())
        _button("Stop", "xray.sanity.stop", evaluate_ask.forget, question)
    elif found is None:
        _button("Sanity check of this map", "xray.sanity", evaluate_ask.ask, question)
    elif isinstance(found, AuditError):
        frame.refusal(found)
        _button("Try again", "xray.sanity.again", evaluate_ask.forget, question)
    else:
        _stages(film, seen, found)


def _button(label: str, key: str, call: Callable[..., Any], question: Json) -> None:
    st.button(label, key=key, on_click=call, args=(SANITY, question))


def _stages(film: Film, seen: Looked, found: Answer) -> None:
    sanity = views.Sanity(tuple(found.found["stages"]), tuple(found.found["similarity"]))
    st.markdown(sanity.text)
    with st.container(horizontal=True, gap="small", key="xray_stages"):
        for i in sanity.shown:
            with st.container(width=SMALL, gap="xxsmall"):
                coarse = found.arrays["maps"][i]
                st.image(_small(film, seen.frame, coarse), alt="", width=SMALL)
                widgets.caption(f"{sanity.stages[i]}: {sanity.similarity[i]:.2f}")
    widgets.caption("Each small map has its own scale: their form is compared, not their strength.")
    caption = f"{METHODS[seen.method].label}, layer {found.found['layer']}, seed {SEED}."
    with st.container(width=HALF_WIDTH, key="xray_similarity"):
        widgets.figure(views.similarity_card(sanity, caption))


def _small(film: Film, of_film: Frame, coarse: Map) -> bytes:
    top = heat.top_of([coarse])
    drawn = None if heat.blank(coarse) else Heat(coarse, of_film, top)
    key = repr((film.digest, coarse.tobytes().hex(), of_film))
    tag = "SYNTHETIC" if film.synthetic else ""
    scene = Scene(key, film.pixels, drawn, Look("overlay", 0.8), (), tag)
    return cache_xray.small(scene)


@dataclass
class Pointing:
    """A comparison under way: what it is of, and the means to watch and stop it."""

    key: str
    cancel: Event
    done: list[int] = field(default_factory=list)
    future: "Future[dict[str, Localisation]] | None" = None


def _pointing(seen: Looked, index: int) -> None:
    """Compare where maps point with where the lesions are, on films that no model was shown."""
    name = seen.scored.findings[index]
    if not seen.model.synthetic or xray_film.place_of(phantom.FINDINGS, name) is None:
        widgets.caption(
            "Where boxes of lesions are known, maps can be compared with them. Of this model’s "
            "findings none are known here."
        )
        return
    widgets.caption(
        f"On {FILMS} synthetic films that no model was trained on, each with this finding: does "
        "the strongest place lie in its box, more often than by chance?"
    )
    if not METHODS[seen.method].at_once:
        widgets.caption(f"{METHODS[seen.method].label} is too slow for so many films.")
        return
    now: Pointing | None = st.session_state.get(POINTING)
    key = repr((seen.model.asked, name, seen.method, seen.layer))
    if now is None or now.key != key or now.future is None:
        st.button(
            f"Compare on {FILMS} films",
            key="xray.pointing.start",
            on_click=_start,
            args=(key, seen, index),
        )
    elif not now.future.done():
        _watch()
    else:
        _pointed(now.future, name, seen)


def _start(key: str, seen: Looked, index: int) -> None:
    _stop()
    cancel, works = Event(), session.room().works
    works.add(cancel)
    now = Pointing(key, cancel)
    asked = {
        "model": seen.model.asked,
        "method": seen.method,
        "layer": seen.layer,
        "shuffled": None,
    }
    now.future = session.in_thread(
        compare, asked, seen.scored.findings[index], index, now.done, cancel
    )
    now.future.add_done_callback(lambda _: works.discard(cancel))
    st.session_state[POINTING] = now


def _stop() -> None:
    now: Pointing | None = st.session_state.pop(POINTING, None)
    if now is not None:
        now.cancel.set()


@st.fragment(run_every=0.5)
def _watch() -> None:
    now: Pointing | None = st.session_state.get(POINTING)
    if now is None or now.future is None or now.future.done():
        st.rerun()
    assert now is not None
    share = len(now.done) / (2 * FILMS // STEP + 1)
    st.progress(min(1.0, share), text="Drawing films and asking the model for its maps.")
    if st.button("Stop", key="xray.pointing.stop", on_click=_stop):
        st.rerun()


def _pointed(future: "Future[dict[str, Localisation]]", name: str, seen: Looked) -> None:
    try:
        found = future.result()
    except AuditError as error:
        frame.refusal(error)
        st.button("Compare again", key="xray.pointing.again", on_click=_stop)
        return
    said = xray_film.name_of(name, plain=False)
    st.markdown(views.pointing_text(found, said))
    caption = (
        f"{FILMS} synthetic films of seed {HELD_OUT}. {METHODS[seen.method].label}, layer "
        f"{seen.layer}. IoU: of the box and what reaches half of a map’s largest value."
    )
    left, right = st.columns(2, gap="medium")
    with left:
        widgets.figure(views.pointing_card(found, said, caption))
    with right:
        widgets.scores("Maps and boxes", views.HEADS, views.pointing_rows(found))
        widgets.caption(caption)


def compare(
    asked: Json, finding: str, index: int, done: list[int], cancel: Event
) -> dict[str, Localisation]:
    """Return how well maps point at the boxes of a finding; runs in a thread, without Streamlit.

    Parameters
    ----------
    asked : dict
        Model, method and layer, as `heats` takes them.
    finding : str
        Of the synthetic films.
    index : int
        Its number in the model.
    done : list of int
        Grows with each step.
    cancel : Event
        Stops it.
    """
    numbers, boxes, lungs = _films(finding, cancel)
    done.append(len(numbers))
    maps: dict[str, list[Map]] = {}
    for key, seed in ((views.MODEL, None), (views.SHUFFLED, SEED)):
        maps[key] = []
        for start in range(0, len(numbers), STEP):
            part = numbers[start : start + STEP]
            question = {
                **asked,
                "films": [{"phantom": [HELD_OUT, number]} for number in part],
                "pairs": [[place, index] for place in range(len(part))],
                "shuffled": seed,
            }
            answer = shared().call("heats", question, cancel=cancel)
            maps[key] += [
                heat.on_film(one, cast(Frame, tuple(frame_of)), (phantom.SIDE, phantom.SIDE))
                for one, frame_of in zip(answer.arrays["maps"], answer.found["frames"], strict=True)
            ]
            done.append(start)
    maps.update(_priors(lungs))
    return {key: localise(found, boxes) for key, found in maps.items()}


def _films(finding: str, cancel: Event) -> tuple[list[int], list[Box], list[Bool]]:
    """Return numbers, boxes and lungs of the first films with a finding."""
    numbers: list[int] = []
    boxes: list[Box] = []
    lungs: list[Bool] = []
    number = FIRST
    while len(numbers) < FILMS and not cancel.is_set():
        drawn = phantom.draw(HELD_OUT, number)
        if finding in drawn.boxes:
            numbers.append(number)
            boxes.append(drawn.boxes[finding])
            lungs.append(drawn.lungs)
        number += 1
    return numbers, boxes, lungs


def _priors(lungs: Sequence[Bool]) -> Mapping[str, list[Map]]:
    """Return maps that know nothing of a film: its centre, and where lungs are on average."""
    side = phantom.SIDE
    centre = np.zeros((side, side), np.float32)
    centre[side // 2, side // 2] = 1.0
    centre = ndimage.gaussian_filter(centre, side / 8)
    mean = ndimage.gaussian_filter(np.mean(lungs, axis=0).astype(np.float32), 2.0)
    return {views.CENTRE: [centre] * len(lungs), views.LUNGS: [mean] * len(lungs)}
