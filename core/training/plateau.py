"""When a validation loss has stopped falling; plain Python."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

LOWER_BY: Final = 1e-4  # of the lowest loss so far; less is no fall, as PyTorch has it


@dataclass
class Plateau:
    """What is known of a validation loss after some epochs.

    Attributes
    ----------
    lowest : float
        The lowest loss that counted as a fall.
    stale : int
        Epochs since then, or since the last drop of the rate.
    drops : int
        How often the rate has dropped.
    """

    lowest: float = math.inf
    stale: int = 0
    drops: int = 0

    def note(self, loss: float, patience: int) -> None:
        """Take note of an epoch's loss; more than `patience` epochs without a fall are a drop.

        References
        ----------
        `torch.optim.lr_scheduler.ReduceLROnPlateau` with its defaults.
        """
        if loss < self.lowest * (1.0 - LOWER_BY):
            self.lowest, self.stale = loss, 0
        else:
            self.stale += 1
        if self.stale > patience:
            self.stale, self.drops = 0, self.drops + 1

    def state(self) -> dict[str, Any]:
        """Return plain values; `of` gives an equal one back."""
        return asdict(self)

    @classmethod
    def of(cls, state: dict[str, Any]) -> Self:
        """Return what a state says; of older checkpoints, which have none, a new one."""
        return cls(**state)
