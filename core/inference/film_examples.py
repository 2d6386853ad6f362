"""The synthetic films and small models that come with Candor, and what each says of each; no torch.

What the models say of the films is stored beside their weights, so that a page need not wait for
the process that holds torch.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from safetensors import safe_open

from core.inference.client import Answer
from core.inference.film_model import FilmModel
from core.inference.preprocessing import Preprocessing
from core.library import SAMPLES
from core.library.manifest import Manifest
from core.xray import phantom
from core.xray.methods import DEFAULT

HELD_OUT: Final = 1  # a seed of films that no model was trained on: those of the data set have 0
# The first scores 71 for a nodule, which is right 51 times in 100, and has none: a consolidation.
# Then a nodule, an effusion, a large heart, several at once, and none.
EXAMPLES: Final = (5, 39, 16, 17, 7, 1)
MODELS: Final = {  # samples of the library, and what they are called beside each other
    "phantom-ce": "Cross-entropy",
    "phantom-focal-3": "Focal γ = 3",
    "phantom-fcl": "FCL",
}
WEIGHTS: Final = "weights.safetensors"  # beside the manifest
ANSWERS: Final = "films.safetensors"
Json = dict[str, Any]  # Any: plain JSON values


def film_model(manifest: Manifest, samples: Path = SAMPLES) -> FilmModel:
    """Return the network of a sample, with what films go through before it."""
    config = manifest.config
    assert config is not None
    side, moments = phantom.SIDE, ((phantom.MEAN,), (phantom.STD,))
    return FilmModel(
        model=config["model"],
        n_outputs=len(manifest.class_names),
        channels=1,
        preprocessing=Preprocessing((side, side), *moments),
        weights=str(samples / manifest.id / WEIGHTS),
    )


def example(place: int) -> Json:
    """Return the reference by which the inference process loads an example."""
    return {"phantom": [HELD_OUT, EXAMPLES[place]]}


def stored_answer(model_id: str, film: Json, samples: Path = SAMPLES) -> Answer | None:
    """Return what a sample says of an example, with Grad-CAM of every finding; else None.

    It is what `core.inference.films.film_saliency` answers by default.
    """
    if model_id not in MODELS:
        return None
    return _answers(samples / model_id / ANSWERS).get(json.dumps(film))


@cache
def _answers(path: Path) -> dict[str, Answer]:
    """Return what is stored of one model, by film."""
    if not path.is_file():
        return {}
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["about"])
        arrays = {name: file.get_tensor(name) for name in ("probabilities", "maps")}
    values = {key: about[key] for key in ("layers", "layer", "method", "frame")}
    return {
        json.dumps(film): Answer(values, {name: array[i] for name, array in arrays.items()})
        for i, film in enumerate(about["films"])
        if about["method"] == DEFAULT
    }
