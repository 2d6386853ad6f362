"""FilmModel: the network that a film is shown to, as plain values; no torch."""

from dataclasses import dataclass, replace
from typing import Final

from core.datasets.catalogue import FINDINGS
from core.errors import UsageError
from core.inference.config import EvaluationConfig
from core.inference.preprocessing import Preprocessing, shown_by_code, with_moments
from core.models.catalogue import ONNX, PUBLIC, checked_model
from core.training.config import TrainConfig
from core.training.estimate import SHAPES
from core.xray import phantom

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
