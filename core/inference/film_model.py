"""FilmModel: the network that a film is shown to, as plain values; no torch."""

from dataclasses import dataclass, replace
from typing import Final

from core.datasets.catalogue import FINDINGS
from core.errors import UsageError
from core.inference.config import EvaluationConfig
from core.inference.preprocessing import MOMENTS, Preprocessing
from core.models.catalogue import checked_model
from core.training.config import TrainConfig
from core.training.estimate import SHAPES
from core.xray import phantom

SCALED: Final = 0.875  # 224 of 256, as in the released CheXNet code
Spec = TrainConfig | EvaluationConfig


@dataclass(frozen=True, kw_only=True)
class FilmModel:
    """A network, what it is shown, and where its weights lie.

    Parameters
    ----------
    model : str
        See `core.models.catalogue`.
    n_outputs, channels : int
        Findings, and channels of the images that the network takes.
    preprocessing : Preprocessing
        With mean and std: a film brings none of its own.
    weights : str
        Path of a safetensors file, as `core.readers.sandbox.read.read_weights` leaves them.

    Raises
    ------
    UsageError
        SETTING: an unknown network, or no moments.
    """

    model: str
    n_outputs: int
    channels: int
    preprocessing: Preprocessing
    weights: str

    def __post_init__(self) -> None:
        """Refuse what no film can be shown to."""
        checked_model(self.model)
        if len(self.preprocessing.mean) != self.channels:
            what = f"Mean has {len(self.preprocessing.mean)} numbers for {self.channels} channels"
            raise UsageError("SETTING", what, "give mean and std for each channel")


def output_names(n_outputs: int, data: str = "") -> tuple[str, ...]:
    """Return what a model's outputs are called: NIH's 14 in their published order."""
    if data == "phantom":
        return phantom.FINDINGS
    if n_outputs == len(FINDINGS):
        return FINDINGS
    return tuple(f"Output {k + 1}" for k in range(n_outputs))


def shown_to(spec: Spec | None, channels: int, size: tuple[int, int] | None) -> Preprocessing:
    """Return how a film is made ready for a network.

    Parameters
    ----------
    spec : TrainConfig or EvaluationConfig, optional
        Of the job that the weights come from: as it says. Without one, as for CheXNet.
    channels : int
    size : (int, int), optional
        Height and width that the network takes, where it takes no other; else 224 x 224.
    """
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


def with_moments(settings: Preprocessing, named: str, channels: int) -> Preprocessing:
    """Return a preprocessing with moments of MOMENTS, averaged where the network sees greys."""
    mean, std = MOMENTS[named]
    if channels != len(mean):
        mean, std = ((sum(moments) / len(moments),) * channels for moments in (mean, std))
    return replace(settings, mean=mean, std=std)
