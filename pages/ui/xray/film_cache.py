"""The cached parts of the page Chest X-ray: synthetic films, sample models, pictures, references.

What shows a dropped film is cached for its session alone, keyed by a digest of its pixels.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core import codec
from core.inference.film_examples import MODELS, WEIGHTS, film_model
from core.inference.film_model import FilmModel
from core.library import SAMPLES
from core.library.manifest import Manifest
from core.screens.xray.film import Reference
from core.screens.xray.words import ClinicSource
from core.xray import phantom, picture
from core.xray.heat import Pixels
from core.xray.phantom import Phantom
from core.xray.picture import DrawnBox, Saliency, SaliencyStyle
from pages.ui import cache
from pages.ui.caching import Results, cached
from pages.ui.visitor import open_library


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model that films can be shown to.

    Attributes
    ----------
    id : str
        In the link of models that come with Candor, of this session alone otherwise.
    name : str
    film_model : FilmModel
    findings : tuple of str
        Names of its outputs.
    synthetic : bool or None
        Whether it was trained on synthetic films; None where nothing is known of that.
    run : str
        Id of the run with its scores on labelled films, or empty.
    """

    id: str
    name: str
    film_model: FilmModel
    findings: tuple[str, ...]
    synthetic: bool | None
    run: str = ""

    @property
    def payload(self) -> dict[str, Any]:
        """The reference by which the inference process loads it, plain JSON."""
        return codec.to_json(self.film_model)


def samples() -> tuple[Model, ...]:
    """Return the small models that come with Candor, trained on synthetic films."""
    library = open_library()
    model_ids = [model_id for model_id in MODELS if (SAMPLES / model_id / WEIGHTS).is_file()]
    return tuple(_sample(library.get(model_id)) for model_id in model_ids)


def _sample(manifest: Manifest) -> Model:
    return Model(
        id=manifest.id,
        name=MODELS[manifest.id],
        film_model=film_model(manifest),
        findings=manifest.class_names,
        synthetic=True,
        run=manifest.id,
    )


@st.cache_resource(max_entries=64, show_spinner=False)
def drawn(seed: int, index: int) -> Phantom:
    """Return a synthetic film; its arrays are shared and read-only."""
    film = phantom.draw(seed, index)
    film.pixels.setflags(write=False)
    film.lungs.setflags(write=False)
    return film


@dataclass(frozen=True, eq=False, kw_only=True)
class FilmScene:
    """A film with its saliency and marks, as it is drawn; `key` is equal for equal pictures."""

    key: str
    film: Pixels
    saliency: Saliency | None
    look: SaliencyStyle
    marks: tuple[DrawnBox, ...]
    tag: str

    def drawn(self) -> Pixels:
        """Return the picture, (H, W, 3)."""
        painted = picture.painted(self.film, self.saliency, self.look)
        return picture.marked(painted, self.marks, self.tag)


@st.cache_resource(scope="session", show_spinner=False)
def _pictures() -> Results[str, bytes]:
    return Results(128)


def _encoded(key: str, make: Callable[[], bytes]) -> bytes:
    """Return a picture of this session as a file, painting it first where it is not kept."""
    encoded = _pictures().get(key)
    if encoded is None:
        encoded = make()
        _pictures().put(key, encoded)
    return encoded


def png(scene: FilmScene) -> bytes:
    """Return a scene as PNG."""
    return _encoded(scene.key, lambda: picture.png(scene.drawn()))


def small(scene: FilmScene) -> bytes:
    """Return a scene as a small PNG."""
    return _encoded(f"small {scene.key}", lambda: picture.png(picture.shrunk(scene.drawn())))


def thumb(digest: str, film: Pixels) -> bytes:
    """Return a film as a small JPEG."""
    return _encoded(f"thumb {digest}", lambda: picture.thumb(film))


@cached(library=32, draft=8, keys=cache.KEYS)
def reference(run: cache.Run, split: str, source: ClinicSource) -> Reference:
    """Return what the labels of a run say of its scores."""
    return Reference.of(cache.predictions(run, split), source)
