"""Frozen settings that travel with results; standard library only."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from core import defaults
from core.errors import UsageError


class BinRule(StrEnum):
    """How confidences are cut into bins."""

    EQUAL_WIDTH = "equal_width"
    EQUAL_MASS = "equal_mass"


@dataclass(frozen=True)
class AuditConfig:
    """Settings of one audit.

    Parameters
    ----------
    n_bins : int
        Number of bins, 1 to 1,000.
    bins : BinRule
        Rule of the reliability diagram; `ece` is always equal width, `ece_em` equal mass.
    level : float
        Level of every interval, in (0, 1).
    n_resamples : int
        Bootstrap resamples, at least 10.
    seed : int
        Seed of every resample, at least 0.
    smece : str
        ``exact`` kernel integral, or ``relplot`` for the released grid version.
    nll_clip : float or None
        Probabilities below it are raised to it in the NLL; None (default) clips nothing.
    metrics : tuple of str
        Names to compute; empty means all that the scores support.
    """

    n_bins: int = defaults.N_BINS
    bins: BinRule = BinRule.EQUAL_WIDTH
    level: float = defaults.LEVEL
    n_resamples: int = defaults.N_RESAMPLES
    seed: int = defaults.SEED
    smece: str = "exact"
    nll_clip: float | None = None
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse settings outside their range, naming the value found."""
        rules = (
            (
                1 <= self.n_bins <= defaults.MAX_BINS,
                f"bins is {self.n_bins}",
                f"give a whole number from 1 to {defaults.MAX_BINS}",
            ),
            (0 < self.level < 1, f"level is {self.level}", "give a number between 0 and 1"),
            (
                self.n_resamples >= defaults.N_RESAMPLES_MIN,
                f"resamples is {self.n_resamples}",
                f"give at least {defaults.N_RESAMPLES_MIN}",
            ),
            (self.seed >= 0, f"seed is {self.seed}", "give a whole number of at least 0"),
            (
                self.smece in {"exact", "relplot"},
                f"smece is {self.smece!r}",
                "use exact or relplot",
            ),
            (
                self.nll_clip is None or 0 < self.nll_clip < 1,
                f"nll-clip is {self.nll_clip}",
                "give a probability between 0 and 1",
            ),
        )
        for ok, what, remedy in rules:
            if not ok:
                raise UsageError("SETTING", what, remedy)

    def to_json(self) -> dict[str, Any]:  # Any: plain JSON values of several types
        """Return the settings as plain JSON."""
        return asdict(self)
