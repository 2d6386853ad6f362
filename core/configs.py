"""Frozen settings that travel with results; standard library only."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from core import defaults
from core.errors import UsageError

SEARCHES = ("exact", "grid", "komisarenko", "mukhoti", "line")  # of T and gamma, by calibrators
OTHER_NAMES = {"paper": "komisarenko"}  # of searches, on the command line and in older links


class BinRule(StrEnum):
    """How confidences are cut into bins."""

    EQUAL_WIDTH = "equal_width"
    EQUAL_MASS = "equal_mass"


@dataclass(frozen=True)
class AuditConfig:
    """Settings of one audit."""

    n_bins: int = defaults.N_BINS  # number of bins, 1 to 1,000
    # Rule of the reliability diagram; `ece` is always equal width, `ece_em` equal mass
    bins: BinRule = BinRule.EQUAL_WIDTH
    level: float = defaults.LEVEL  # level of every interval, 0.01 to 0.9999
    n_resamples: int = defaults.N_RESAMPLES  # bootstrap resamples, 10 to 20,000
    seed: int = defaults.SEED  # seed of every resample, 0 to 2**63 - 1
    smece: str = "exact"  # ``exact`` kernel integral, or ``relplot`` for the released grid version
    # Of ICI, E50, E90 and Emax: ``lowess`` (Harrell) or ``loess`` (Austin and Steyerberg)
    smoother: str = defaults.SMOOTHER
    # Probabilities below it are raised to it in the NLL; None (default) clips nothing
    nll_clip: float | None = None
    metrics: tuple[str, ...] = ()  # names to compute; empty means all that the scores support
    # small_gap, small_slope: what is off by less than both is off by less than matters: of the
    # signed gap, as a fraction, and of the slope from 1; 0 to 1
    small_gap: float = defaults.SMALL_GAP
    small_slope: float = defaults.SMALL_SLOPE

    def __post_init__(self) -> None:
        """Refuse settings outside their range, naming the value found."""
        rules = (
            _whole("bins", self.n_bins, 1, defaults.MAX_BINS),
            (
                defaults.LEVEL_MIN <= self.level <= defaults.LEVEL_MAX,
                f"level is {self.level}",
                f"give a number from {defaults.LEVEL_MIN} to {defaults.LEVEL_MAX}",
            ),
            _whole(
                "resamples", self.n_resamples, defaults.N_RESAMPLES_MIN, defaults.N_RESAMPLES_MAX
            ),
            _whole("seed", self.seed, 0, defaults.SEED_MAX),
            (
                self.smece in {"exact", "relplot"},
                f"smece is {self.smece!r}",
                "use exact or relplot",
            ),
            (
                self.smoother in defaults.SMOOTHERS,
                f"smoother is {self.smoother!r}",
                f"use {' or '.join(defaults.SMOOTHERS)}",
            ),
            (
                self.nll_clip is None or 0 < self.nll_clip < 1,
                f"nll-clip is {self.nll_clip}",
                "give a probability between 0 and 1",
            ),
            *(
                (0.0 < size < 1.0, f"small-{name} is {size}", "give a number between 0 and 1")
                for name, size in (("gap", self.small_gap), ("slope", self.small_slope))
            ),
        )
        for ok, what, remedy in rules:
            if not ok:
                raise UsageError("SETTING", what, remedy)

    def to_json(self) -> dict[str, Any]:  # Any: plain JSON values of several types
        """Return the settings as plain JSON."""
        return asdict(self)


def _whole(name: str, value: int, low: int, high: int) -> tuple[bool, str, str]:
    return low <= value <= high, f"{name} is {value}", f"give a whole number from {low} to {high}"
