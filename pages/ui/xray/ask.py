"""What models say of a film, asked of the warm process: scores, maps, and the layers there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from core.inference.client import Answer
from core.inference.film_examples import stored_answer
from core.screens.xray import saliency
from core.screens.xray.film import FilmScores
from core.xray.heat import Frame, Map
from core.xray.methods import DEFAULT, METHODS
from pages.ui import inference
from pages.ui.escape import esc
from pages.ui.task import Task
from pages.ui.xray.film_cache import Model
from pages.ui.xray.films import FilmEntry

SALIENCY: Final = "heat"
MINUTES_S: Final = 400.0  # a ScoreCAM map of DenseNet-121 takes 130 to 260 s
Json = dict[str, Any]  # Any: plain JSON values


@dataclass(frozen=True, eq=False, kw_only=True)
class FilmResult:
    """What one model says of one film.

    Attributes
    ----------
    model : Model
    scored : FilmScores
    layers : tuple of str
        That maps can be taken from.
    maps : dict of int to Map
        By finding; empty until a map that was not asked for yet is there.
    frame : Frame
    layer, method : str
        Of the maps.
    """

    model: Model
    scored: FilmScores
    layers: tuple[str, ...]
    maps: Mapping[int, Map]
    frame: Frame
    layer: str
    method: str


def question(
    model: Model,
    film: FilmEntry,
    method: str = DEFAULT,
    layer: str = "",
    finding: int | None = None,
) -> Json:
    """Return what is asked; all findings at once where the method can."""
    return {
        "model": model.payload,
        "film": film.payload,
        "findings": None if METHODS[method].at_once or finding is None else [finding],
        "method": method,
        "layer": layer or None,
    }


def look(model: Model, film: FilmEntry) -> FilmResult | None:
    """Return the scores of a film and Grad-CAM of its findings; None while that is awaited."""
    answer = stored_answer(model.id, film.payload) or _looking(model, question(model, film)).wait()
    return None if answer is None else _film_result(model, answer, None)


def look_as(
    result: FilmResult, film: FilmEntry, method: str, layer: str, finding: int
) -> FilmResult | None:
    """Return what a model says with maps of another method or layer; None while it is awaited."""
    if layer not in result.layers:
        layer = ""
    if method == result.method and layer in ("", result.layer):
        return result
    answer = _looking(result.model, question(result.model, film, method, layer, finding)).wait()
    if answer is None:
        return None
    return _film_result(result.model, answer, None if METHODS[method].at_once else finding)


def _looking(model: Model, request: Json) -> Task[Answer]:
    """Return what asks a model; its own slot, for models answer side by side."""
    limit = MINUTES_S if request["method"] in saliency.MINUTES else inference.TIMEOUT_S
    text = f"{esc(model.name)} is reading the film."
    slot = f"xray.look.{model.id}"
    return inference.query(slot, SALIENCY, request, text, patient=True, timeout_s=limit)


def awaits(model: Model, film: FilmEntry) -> bool:
    """Whether the answer of a model has not come."""
    return _looking(model, question(model, film)).running


def _film_result(model: Model, answer: Answer, finding: int | None) -> FilmResult:
    maps = answer.arrays["maps"]
    places = range(len(maps)) if finding is None else [finding]
    scores = tuple(float(p) for p in answer.arrays["probabilities"])
    return FilmResult(
        model=model,
        scored=FilmScores(model.name, model.findings, scores),
        layers=tuple(answer.values["layers"]),
        maps=dict(zip(places, maps, strict=True)),
        frame=cast(Frame, tuple(answer.values["frame"])),
        layer=answer.values["layer"],
        method=answer.values["method"],
    )
