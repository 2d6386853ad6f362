"""What the losses are called, what they take and where they come from; no torch.

Pages and configs read it; `build` makes the losses. Settings are checked here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from core.defaults import MAX_BINS, N_BINS
from core.errors import UsageError
from core.losses.presets import PRESETS, Preset
from core.predictions import Task

Setting = float | int | bool | str
CLASSES: Final = (Task.MULTICLASS, Task.BINARY)
ALL_TASKS: Final = (*CLASSES, Task.MULTILABEL)
REDUCTIONS: Final = {
    "mean": "Mean over the rows: the learning rate does not depend on the batch size.",
    "sum": "Sum over the rows, as the papers' released code trains; with a learning rate of 0.1 "
    "and batches of 128 it needs gradients clipped to norm 2.",
}


@dataclass(frozen=True)
class Parameter:
    """One setting of a loss.

    Attributes
    ----------
    name : str
        As in a config.
    label, help : str
        Printed name, and one sentence.
    default : float, int, bool or str
        A number, a switch or a word; its type is the setting's.
    low, high : float
        Range of a number, both ends included; whole numbers where they are int.
    open_low : bool
        `low` itself is not allowed.
    words : tuple of str
        Words allowed, beside or in place of a number.
    """

    name: str
    label: str
    help: str
    default: Setting
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    words: tuple[str, ...] = ()

    def allows(self, value: object) -> bool:
        """Tell whether a value may stand here; NaN and infinities may not."""
        if isinstance(value, str):
            return value in self.words
        if isinstance(value, bool) or isinstance(self.default, bool):
            return isinstance(value, bool) and isinstance(self.default, bool)
        if self.low is None or self.high is None or not isinstance(value, int | float):
            return False
        if isinstance(self.low, int) and not isinstance(value, int):
            return False
        return self.low <= value <= self.high and not (self.open_low and value == self.low)

    @property
    def allowed(self) -> str:
        """What may stand here, as a remedy says it."""
        if isinstance(self.default, bool):
            return "true or false"
        ways = [" or ".join(self.words)] if self.words else []
        if self.low is not None:
            kind = "a whole number" if isinstance(self.low, int) else "a number"
            start = "above" if self.open_low else "from"
            end = ", at most" if self.open_low else " to"
            ways.append(f"{kind} {start} {self.low:g}{end} {self.high:g}")
        return ", or ".join(ways)


@dataclass(frozen=True, kw_only=True)
class LossEntry:
    """One loss.

    Attributes
    ----------
    label : str
        Printed name.
    plain : str
        What it does, in a sentence.
    source : str
        Where the definition comes from.
    parameters : tuple of Parameter
    tasks : tuple of Task
        What it can train.
    presets : dict of str to Preset
        Values of the papers, by key.
    """

    label: str
    plain: str
    source: str
    parameters: tuple[Parameter, ...] = ()
    tasks: tuple[Task, ...] = ALL_TASKS
    presets: Mapping[str, Preset] = field(default_factory=dict)


def checked(config: Mapping[str, object]) -> dict[str, Setting]:
    """Return the settings of a loss with defaults filled in, its name left out.

    Parameters
    ----------
    config : mapping
        ``name`` of a loss, and any of its parameters.

    Raises
    ------
    UsageError
        SETTING: an unknown loss or parameter, or a value out of range.
    """
    entry = named(config)
    known = {parameter.name: parameter for parameter in entry.parameters}
    for name in config:
        if name != "name" and name not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no settings"
            raise UsageError("SETTING", f"unknown setting {name!r}", f"{entry.label} {takes}")
    settings: dict[str, Setting] = {}
    for name, parameter in known.items():
        value = config.get(name, parameter.default)
        if not parameter.allows(value):
            raise UsageError("SETTING", f"{name} is {value!r}", f"give {parameter.allowed}")
        assert isinstance(value, float | int | str)
        settings[name] = value
    return settings


def named(config: Mapping[str, object]) -> LossEntry:
    """Return the entry of the loss that a config names; UsageError SETTING if there is none."""
    name = config.get("name")
    if not isinstance(name, str) or name not in LOSSES:
        raise UsageError("SETTING", f"loss {name!r} is unknown", f"use one of {', '.join(LOSSES)}")
    return LOSSES[name]


def _gamma(
    default: float, help_: str = "0 is cross-entropy; more holds certainty back more."
) -> Parameter:
    return Parameter("gamma", "γ", help_, default, 0.0, 100.0)


def _weight(default: float, help_: str) -> Parameter:
    return Parameter("lambda", "λ", help_, default, 0.0, 100.0)


_RATE: Final = "How strongly a gap moves γ; the paper tries 1, 10 and 100."
_TWO_SIDED: Final = Parameter(
    "two_sided",
    "Both outcomes",
    "Many labels only: take the distance over presence and absence, twice that of presence alone.",
    False,
)
_BINS: Final = (
    Parameter("n_bins", "Bins", "Bins of validation confidence.", N_BINS, 1, MAX_BINS),
    Parameter(
        "update_every",
        "Update",
        "When the validation set is asked: each epoch, or after so many batches.",
        "epoch",
        1,
        1_000_000,
        words=("epoch",),
    ),
)
_MUKHOTI: Final = "Mukhoti et al. 2020, section 5"
_GHOSH: Final = "Ghosh et al. 2022"

LOSSES: Final[dict[str, LossEntry]] = {
    "ce": LossEntry(
        label="Cross-entropy",
        plain=(
            "Minus the logarithm of the true class's probability; with the optimiser's weight "
            "decay it is the papers' baseline."
        ),
        source="Definition",
    ),
    "ls": LossEntry(
        label="Label smoothing",
        plain="Cross-entropy against targets that leave a little probability to every class.",
        source="Szegedy et al. 2016; Müller et al. 2019",
        parameters=(
            Parameter(
                "smoothing", "ε", "Probability spread evenly over all classes.", 0.05, 0.0, 0.999
            ),
        ),
        presets=PRESETS["ls"],
    ),
    "brier": LossEntry(
        label="Brier score",
        plain="Squared distance of the probabilities from the truth, summed over classes.",
        source="Brier 1950",
    ),
    "mmce": LossEntry(
        label="MMCE",
        plain="Cross-entropy plus a squared kernel estimate of the batch's calibration error.",
        source="Kumar et al. 2018",
        parameters=(_weight(2.0, "Weight of the calibration error."),),
        tasks=CLASSES,
        presets=PRESETS["mmce"],
    ),
    "mmce_weighted": LossEntry(
        label="Weighted MMCE",
        plain=(
            "Cross-entropy plus a kernel estimate of the batch's calibration error in which hits "
            "and misses weigh the same."
        ),
        source="Kumar et al. 2018; Mukhoti et al. 2020, appendix D",
        parameters=(
            _weight(2.0, "Weight of the calibration error."),
            Parameter(
                "normalisation",
                "Normalisation",
                "textbook divides by the number of pairs once; released divides twice, which "
                "makes the error hundreds of times smaller.",
                "textbook",
                words=("textbook", "released"),
            ),
        ),
        tasks=CLASSES,
        presets=PRESETS["mmce_weighted"],
    ),
    "focal": LossEntry(
        label="Focal",
        plain="Cross-entropy that fades as the true class becomes probable, by (1 - p)^γ.",
        source="Lin et al. 2017; Mukhoti et al. 2020, section 4",
        parameters=(_gamma(3.0),),
        presets=PRESETS["focal"],
    ),
    "flsd_53": LossEntry(
        label="FLSD-53",
        plain="Focal loss with γ = 5 for a true class below 0.2 and γ = 3 from there on.",
        source="Mukhoti et al. 2020, NeurIPS version and released code",
    ),
    "fla_53": LossEntry(
        label="FLA-53",
        plain="Focal loss with γ = 5 for a true class of up to 0.19 and γ = 3 above.",
        source=f"{_MUKHOTI} (ICLR version)",
    ),
    "fla_532": LossEntry(
        label="FLA-532",
        plain="Focal loss with γ = 5, 3 and 2 for an improbable, a middling and a probable true "
        "class.",
        source=f"{_MUKHOTI} (ICLR version)",
        parameters=(
            Parameter(
                "edges",
                "Edges",
                "text changes γ above 0.19 and above 0.5; released from 0.2 and from 0.5 on.",
                "text",
                words=("text", "released"),
            ),
        ),
    ),
    "fls_532": LossEntry(
        label="FLS-532",
        plain=(
            "Focal loss with γ = 5 for the first two sevenths of the epochs, then 3, and 2 for the "
            "last two."
        ),
        source=_MUKHOTI,
    ),
    "fls_531": LossEntry(
        label="FLS-531",
        plain=(
            "Focal loss with γ = 5 for the first two sevenths of the epochs, then 3, and 1 for the "
            "last two."
        ),
        source=_MUKHOTI,
    ),
    "inverse_focal": LossEntry(
        label="Inverse focal",
        plain=(
            "Cross-entropy that grows as the true class becomes probable, by (1 + p)^γ; it pushes "
            "certainty up."
        ),
        source=f"{_GHOSH}, equation 1",
        parameters=(
            Parameter("gamma", "γ", "0 is cross-entropy; more pushes more.", 2.0, 0.0, 20.0),
        ),
    ),
    "calfocal_1": LossEntry(
        label="CalFocal, case 1",
        plain="Focal loss whose γ grows with the distance of a sample from its bin's validation "
        "accuracy.",
        source=f"{_GHOSH}, equation 2",
        parameters=(Parameter("lambda", "λ", _RATE, 1.0, 0.0, 1000.0, open_low=True), *_BINS),
        presets=PRESETS["calfocal"],
    ),
    "calfocal_2": LossEntry(
        label="CalFocal, case 2",
        plain="Focal loss whose γ grows with the validation gap of a sample's bin.",
        source=f"{_GHOSH}, equation 3",
        parameters=(Parameter("lambda", "λ", _RATE, 1.0, 0.0, 1000.0, open_low=True), *_BINS),
        presets=PRESETS["calfocal"],
    ),
    "adafocal": LossEntry(
        label="AdaFocal",
        plain="Focal loss that raises γ where validation is over-confident and lowers it, down to "
        "inverse focal loss, where it is under-confident.",
        source=f"{_GHOSH}, algorithm 1",
        parameters=(
            Parameter("lambda", "λ", "How fast a gap moves γ.", 1.0, 0.0, 100.0, open_low=True),
            Parameter(
                "gamma_max",
                "γ max",
                "Upper bound of γ; 1,000,000 is none in practice.",
                20.0,
                0.0,
                1e6,
                open_low=True,
            ),
            Parameter(
                "gamma_min",
                "γ min",
                "Lower bound; below 0 is inverse focal loss.",
                -2.0,
                -20.0,
                0.0,
            ),
            Parameter("s_th", "S_th", "A γ nearer to 0 than this changes its sign.", 0.2, 0.0, 1.0),
            *_BINS,
        ),
        presets=PRESETS["adafocal"],
    ),
    "dual_focal": LossEntry(
        label="Dual focal",
        plain="Focal loss that also looks at the largest probability below that of the true class.",
        source="Tao et al. 2023",
        parameters=(_gamma(5.0),),
        tasks=CLASSES,
        presets=PRESETS["dual_focal"],
    ),
    "fcl": LossEntry(
        label="FCL",
        plain="Focal loss plus a weighted squared distance of the probabilities from the truth.",
        source="Focal calibration loss 2024, definition 3.1",
        # The paper's smallest values, which learn without clipped gradients, too.
        parameters=(_gamma(2.0), _weight(0.5, "Weight of the distance."), _TWO_SIDED),
        presets=PRESETS["fcl"],
    ),
    "fcl_l1": LossEntry(
        label="FCL, L1",
        plain="Focal loss plus a weighted absolute distance of the probabilities from the truth.",
        source="Focal calibration loss 2024, appendix A.15",
        parameters=(_gamma(2.0), _weight(0.5, "Weight of the distance."), _TWO_SIDED),
    ),
}
