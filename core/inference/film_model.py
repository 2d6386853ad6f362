"""FilmModel: the network that a film is shown to, as plain values; no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import UsageError
from core.inference import preprocessing
from core.inference.preprocessing import Preprocessing
from core.models.catalogue import checked_model


@dataclass(frozen=True)
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
        Path of a safetensors file, as `core.readers.sandbox.read_weights` leaves them.

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
            what = f"mean has {len(self.preprocessing.mean)} numbers for {self.channels} channels"
            raise UsageError("SETTING", what, "give mean and std for each channel")

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; `from_json` gives an equal one back."""
        return {
            "model": self.model,
            "n_outputs": self.n_outputs,
            "channels": self.channels,
            "preprocessing": self.preprocessing.to_json(),
            "weights": self.weights,
        }


def from_json(data: Mapping[str, Any]) -> FilmModel:
    """Return the model in plain JSON; UsageError SETTING where a value is out of range."""
    return FilmModel(**{**data, "preprocessing": preprocessing.from_json(data["preprocessing"])})
