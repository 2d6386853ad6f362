"""Whether a map can be trusted: the sanity check of one map, and where maps point on many films."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

import numpy as np
import streamlit as st
from scipy import ndimage

from core.arrays import Bool
from core.inference.client import shared
from core.inference.film_model import HELD_OUT
from core.screens.kit.numbers import two
from core.screens.xray import film as xray_film
from core.screens.xray import saliency as words
from core.screens.xray.words import labelled_with
from core.xray import heat, phantom
from core.xray.heat import METHODS, Frame, Map
from core.xray.localisation import Box, Localisation, localise
from core.xray.picture import Saliency, SaliencyStyle
from pages.ui import inference, widgets
from pages.ui.task import BackgroundTask, Work, in_thread
from pages.ui.xray import films as xray_films
from pages.ui.xray.films import FilmEntry, FilmScene
from pages.ui.xray.shared import FilmResult

SANITY: Final = "sanity"
SEED: Final = 0
SEEDS: Final = [0, 1, 2, 3, 4]  # one draw of weights alone says little
HALF_WIDTH: Final = 560
SMALL: Final = 112  # pixels of a small map
FILMS: Final = 60  # synthetic films with the finding
STEP: Final = 20  # asked for at once
MOST_CASES: Final = 200
FIRST: Final = 1_000  # number of the first such film: none of those that can be picked
SIDE: Final = phantom.SIDE  # pixels that maps are compared on
Json = dict[str, Any]  # Any: plain JSON values


def draw(film: FilmEntry, result: FilmResult, name: str, *, model_name: str = "") -> None:
    """Draw both checks of the map that is shown, `model_name` where there are several."""
    whose = f"{model_name}: does this map" if model_name else "Does this map"
    widgets.title(f"{whose} depend on what was learned?", words.NEEDED)
    if result.method in words.MINUTES:
        widgets.caption(words.too_slow(result.method, "to randomise the weights layer by layer"))
    else:
        question = {
            "model": result.model.payload,
            "film": film.payload,
            "finding": result.scored.findings.index(name),
            "method": result.method,
            "layer": result.layer,
            "seeds": SEEDS,
        }
        text = f"Replacing the weights by random ones, layer by layer, {len(SEEDS)} times."
        task = inference.query("xray.sanity", SANITY, question, text)
        if task.work is None:
            st.button("Sanity check of this map", key="xray.sanity", on_click=task.begin)
        answer = task.draw()
        if answer is not None:
            draws = tuple(map(tuple, answer.values["similarity"]))
            sanity = words.Sanity(tuple(answer.values["stages"]), draws)
            st.markdown(sanity.text)
            with st.container(horizontal=True, gap="small", key="xray_stages"):
                for i in sanity.shown:
                    with st.container(width=SMALL, gap="xxsmall"):
                        coarse = answer.arrays["maps"][i]
                        saliency = None
                        if not heat.blank(coarse):
                            saliency = Saliency(coarse, result.frame, heat.top_of([coarse]))
                        scene = FilmScene(
                            key=repr((film.digest, coarse.tobytes().hex(), result.frame)),
                            film=film.pixels,
                            saliency=saliency,
                            look=SaliencyStyle("overlay", 0.8),
                            marks=(),
                            tag="SYNTHETIC" if film.synthetic else "",
                        )
                        st.image(xray_films.small(scene), alt="", width=SMALL)
                        widgets.caption(f"{sanity.stages[i]}: {two(draws[0][i])}")
            widgets.caption(
                "The small maps are of the first draw. Each has its own scale: compare their "
                "shapes, not their strength."
            )
            layer, seeds = answer.values["layer"], f"seeds {SEEDS[0]} to {SEEDS[-1]}"
            caption = (
                f"{result.model.name}: {METHODS[result.method].label}, layer {layer}, {seeds}."
            )
            with st.container(width=HALF_WIDTH, key="xray_similarity"):
                widgets.figure(words.similarity_card(sanity, caption))
    whose = f"{model_name}: do such maps" if model_name else "Do such maps"
    widgets.title(f"{whose} point at lesions?", "more often than maps that ignore the film")
    _pointing(result, name)


@dataclass(frozen=True, eq=False, kw_only=True)
class FindingCase:
    """A finding on a film: how the film is asked for, the finding's number, and where it is.

    `film` is the film's digest. Several boxes are one case; `lungs` are known of synthetic films.
    """

    film: str
    payload: Json
    index: int
    boxes: tuple[Frame, ...]
    lungs: Bool | None = None


def _pointing(result: FilmResult, name: str) -> None:
    """Compare where maps point with where lesions are: on synthetic films, or on one's own."""
    cases = None
    if not result.model.synthetic:
        cases = boxed(xray_films.offered().values(), result.scored.findings)
    if cases is None and xray_film.finding_index(phantom.FINDINGS, name) is None:
        return
    if cases is not None and not cases:
        widgets.caption(
            "Where radiologists drew boxes of lesions, maps can be compared with them: drop films "
            "and a list of boxes under Add films."
        )
        return
    if cases is None:
        films_text, label = (
            f"{FILMS} synthetic films that no model was trained on",
            f"{FILMS} films",
        )
    else:
        label = xray_film.films_words(len({case.film for case in cases}))
        films_text = f"{label} of this session with boxes, of any finding"
    widgets.caption(
        f"On {films_text}: does the strongest place lie in a box, more often than by chance?"
    )
    if not METHODS[result.method].at_once:
        widgets.caption(words.too_slow(result.method, "for so many films"))
        return
    map_settings = {"model": result.model.payload, "method": result.method, "layer": result.layer}
    index = result.scored.findings.index(name)
    task = BackgroundTask(
        "xray.pointing",
        _key(result, name, cases),
        "Drawing films and asking the model for its maps.",
        partial(in_thread, partial(compare, map_settings, cases, name, index)),
    )
    if task.work is None:
        st.button(f"Compare on {label}", key="xray.pointing.start", on_click=task.begin)
    localisations = task.draw()
    if localisations is not None:
        target = labelled_with(name) if cases is None else "a box"
        st.markdown(words.pointing_text(localisations, target))
        caption = (
            f"{result.model.name}, on {films_text}. {METHODS[result.method].label}, "
            f"layer {result.layer}. IoU: of the box and what reaches half of a map’s largest value."
        )
        left, right = st.columns(2, gap="medium")
        with left:
            widgets.figure(words.pointing_card(localisations, target, caption))
        with right:
            table = words.pointing_table(localisations)
            widgets.scores("Maps and boxes", table.heads, table.written())
            widgets.caption(caption)


def boxed(films: Iterable[FilmEntry], findings: Sequence[str]) -> list[FindingCase]:
    """Return the findings of a model with boxes on films that are not synthetic."""
    cases: list[FindingCase] = []
    for film in films:
        by_index: dict[int, tuple[Frame, ...]] = {}  # a list may spell one finding in two ways
        for name, boxes in film.boxes.items() if not film.synthetic else ():
            k = xray_film.finding_index(findings, name)
            if k is not None:
                by_index[k] = (*by_index.get(k, ()), *boxes)
        cases += [
            FindingCase(film=film.digest, payload=film.payload, index=k, boxes=boxes)
            for k, boxes in by_index.items()
        ]
    return cases[:MOST_CASES]


def _key(result: FilmResult, name: str, cases: list[FindingCase] | None) -> str:
    """Return what is equal for the same comparison: of model, maps, films and boxes."""
    subject = name if cases is None else [(case.film, case.index, case.boxes) for case in cases]
    return repr((result.model.payload, result.method, result.layer, subject))


def compare(
    map_settings: Json,
    cases: list[FindingCase] | None,
    finding: str,
    index: int,
    work: Work[dict[str, Localisation]],
) -> dict[str, Localisation]:
    """Return how well maps point at boxes; runs in a thread, without Streamlit.

    `map_settings` are model, method and layer, as `heats` takes them. Without cases, synthetic
    films with the finding are drawn here. `index` is its number in the model.
    """
    if cases is None:
        # The first synthetic films with the finding
        cases, number = [], FIRST
        while len(cases) < FILMS and not work.cancel.is_set():
            phantom_film = phantom.draw(HELD_OUT, number)
            if finding in phantom_film.boxes:
                left, top, right, bottom = (
                    end / phantom.SIDE for end in phantom_film.boxes[finding]
                )
                payload = {"phantom": [HELD_OUT, number]}
                film = f"phantom-{HELD_OUT}-{number}"
                cases.append(
                    FindingCase(
                        film=film,
                        payload=payload,
                        index=index,
                        boxes=((left, top, right, bottom),),
                        lungs=phantom_film.lungs,
                    )
                )
            number += 1
    share = 1 / (2 * -(-len(cases) // STEP) + 1)  # of the films, and of each question
    work.share = share
    maps: dict[str, list[Map]] = {words.MODEL: [], words.SHUFFLED: []}
    for key, seed in ((words.MODEL, None), (words.SHUFFLED, SEED)):
        for start in range(0, len(cases), STEP):
            part = cases[start : start + STEP]
            question = {
                **map_settings,
                "films": [case.payload for case in part],
                "pairs": [[place, case.index] for place, case in enumerate(part)],
                "shuffled": seed,
            }
            answer = shared().call("heats", question, cancel=work.cancel)
            maps[key] += [
                heat.on_film(coarse, cast(Frame, tuple(of_film)), (SIDE, SIDE))
                for coarse, of_film in zip(
                    answer.arrays["maps"], answer.values["frames"], strict=True
                )
            ]
            work.share = min(1.0, work.share + share)
    centre = np.zeros((SIDE, SIDE), np.float32)  # a map that knows nothing of a film
    centre[SIDE // 2, SIDE // 2] = 1.0
    maps[words.CENTRE] = [cast(Map, ndimage.gaussian_filter(centre, SIDE / 8))] * len(cases)
    boxes: list[tuple[Box, ...]] = [
        tuple((SIDE * a, SIDE * b, SIDE * c, SIDE * d) for a, b, c, d in case.boxes)
        for case in cases
    ]
    films = [case.film for case in cases]
    localisations = {
        key: localise(method_maps, boxes, films=films) for key, method_maps in maps.items()
    }
    if all(case.lungs is not None for case in cases):
        localisations |= _lungs(cases, boxes)
    return localisations


def _lungs(
    cases: Sequence[FindingCase], boxes: Sequence[tuple[Box, ...]]
) -> dict[str, Localisation]:
    """Return how a point does that is uniform over each film's own lungs.

    It hits as often as it is expected to: by the share of the lungs that lies in the boxes, which
    is the energy of a flat map of the lungs.
    """
    flat = [np.asarray(case.lungs, np.float32) for case in cases]
    localisation = localise(flat, boxes, films=[case.film for case in cases])
    return {words.LUNGS: replace(localisation, pointing=localisation.energy)}
