"""What the networks are called and where they come from; no torch.

Pages and configs read it; `build` makes the networks.
"""

from dataclasses import dataclass
from typing import Final

from core.errors import UsageError


@dataclass(frozen=True)
class ModelEntry:
    """One network.

    Attributes
    ----------
    label : str
        Printed name.
    plain : str
        What it is, in a sentence.
    source : str
        Where the structure comes from.
    millions : float
        Trained parameters in millions, with three channels and ten outputs.
    """

    label: str
    plain: str
    source: str
    millions: float


MODELS: Final[dict[str, ModelEntry]] = {
    "small_cnn": ModelEntry(
        "Small CNN",
        "Three convolutions with group normalisation: trains on CPUs, and no image is seen "
        "through the others of its batch.",
        "Candor; group normalisation of Wu and He 2018",
        0.06,
    ),
}


def checked_model(name: object) -> str:
    """Return the name of a network; UsageError SETTING if nothing has such a name."""
    if isinstance(name, str) and name in MODELS:
        return name
    raise UsageError("SETTING", f"model {name!r} is unknown", f"use one of {', '.join(MODELS)}")
