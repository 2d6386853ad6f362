"""FilmModel: the network that a film is shown to, and the examples that come with Candor; no torch.

What the sample models say of the example films is stored beside their weights, so that a page need
not wait for the process that holds torch.
"""

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from safetensors import safe_open

from core.datasets.catalogue import FINDINGS
from core.errors import UsageError
from core.inference.client import Answer
from core.inference.config import EvaluationConfig, Preprocessing, shown_by_code, with_moments
from core.library import SAMPLES
from core.library.manifest import Manifest
from core.models.catalogue import ONNX, PUBLIC, checked_model
from core.training.config import TrainConfig
from core.training.estimate import SHAPES
from core.xray import phantom
from core.xray.heat import DEFAULT

SCALED: Final = 0.875  # 224 of 256, as in the released CheXNet code
XRV: Final = "densenet121_xrv"
XRV_FINDINGS: Final = (  # torchxrayvision.datasets.default_pathologies, in the order of outputs
    *("Atelectasis", "Consolidation", "Infiltration", "Pneumothorax", "Edema", "Emphysema"),
    *("Fibrosis", "Effusion", "Pneumonia", "Pleural_Thickening", "Cardiomegaly", "Nodule"),
    *("Mass", "Hernia", "Lung Lesion", "Fracture", "Lung Opacity", "Enlarged Cardiomediastinum"),
)
XRV_NOTE: Final = (
    "TorchXRayVision’s op_threshs are left off: a probability of 50 % is not its threshold. "
    "Weights of one data set leave findings that it lacks untrained."
)
Spec = TrainConfig | EvaluationConfig


@dataclass(frozen=True, kw_only=True)
class FilmModel:
    """A network, what it is shown, and where its weights lie.

    Raises UsageError SETTING: an unknown network, or no moments.
    """

    model: str  # see `core.models.catalogue`
    # n_outputs, channels: findings, and channels of the images that the network takes
    n_outputs: int
    channels: int
    preprocessing: Preprocessing  # with mean and std: a film brings none of its own
    # Path of a safetensors file, as `core.readers.sandbox.read.read_weights` leaves them
    weights: str

    def __post_init__(self) -> None:
        """Refuse what no film can be shown to."""
        checked_model(self.model)
        if self.model == ONNX:
            what = "An ONNX model gives no heatmap"
            remedy = "open its weights as PyTorch saved them, or the model itself under Evaluate"
            raise UsageError("SETTING", what, remedy)
        if len(self.preprocessing.mean) != self.channels:
            what = f"Mean has {len(self.preprocessing.mean)} numbers for {self.channels} channels"
            raise UsageError("SETTING", what, "give mean and std for each channel")

    @property
    def note(self) -> str:
        """What must be said beside its probabilities; empty for most."""
        return XRV_NOTE if self.model == XRV else ""


def output_names(n_outputs: int, data: str = "", model: str = "") -> tuple[str, ...]:
    """Return what a model's outputs are called: as NIH or TorchXRayVision published them."""
    if data == "phantom":
        return phantom.FINDINGS
    if model == XRV and n_outputs == len(XRV_FINDINGS):
        return XRV_FINDINGS
    if n_outputs == len(FINDINGS):
        return FINDINGS
    return tuple(f"Output {k + 1}" for k in range(n_outputs))


def shown_to(
    spec: Spec | None, channels: int, size: tuple[int, int] | None, model: str = ""
) -> Preprocessing:
    """Return how a film is made ready for a network.

    Parameters
    ----------
    spec : TrainConfig or EvaluationConfig, optional
        Of the job that the weights come from: as it says. Without one, as for CheXNet.
    size : (int, int), optional
        Height and width that the network takes, where it takes no other; else 224 x 224.
    model : str, optional
        One of public code is shown what that code shows it.
    """
    if spec is None and model in PUBLIC and PUBLIC[model].mean:
        return shown_by_code(PUBLIC[model], size or (224, 224), channels)
    # CheXNet without a config: 224 of 256, ImageNet's moments, whatever the film's size.
    if spec is None:
        settings = Preprocessing(size or (224, 224), crop=SCALED, cover=True)
        return with_moments(settings, "imagenet", channels)
    if isinstance(spec, EvaluationConfig):
        settings = spec.preprocessing
    else:
        side = SHAPES[spec.data][1]
        settings = Preprocessing((side, side))
    if settings.mean:
        return settings
    if spec.data == "phantom":
        return replace(settings, mean=(phantom.MEAN,), std=(phantom.STD,))
    return with_moments(settings, "imagenet", channels)


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
