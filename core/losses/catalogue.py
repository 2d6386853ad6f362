"""What the losses are called, what they take and where they come from; no torch.

Pages and configs read it; `build` makes the losses. Settings are checked here. So are the losses
that the rows of the papers were trained with.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from core import codec
from core.defaults import MAX_BINS, N_BINS
from core.errors import UsageError
from core.fields import Field
from core.losses.bins import EPOCH, is_schedule
from core.predictions import Task
from core.published import PaperSetting, networks_of, published


@dataclass(frozen=True)
class Preset:
    """Settings of one loss as a paper has them."""

    label: str  # for what they were used
    # Parameters that differ from the loss's defaults, or are named by the source
    settings: Mapping[str, float | int | str]
    source: str  # paper and place


_FCL_ROWS: Final = {
    "cifar100_resnet50": ("CIFAR-100, ResNet-50", 2.0, 0.5),
    "cifar100_resnet110": ("CIFAR-100, ResNet-110", 4.0, 1.5),
    "cifar100_wide_resnet_26_10": ("CIFAR-100, Wide-ResNet-26-10", 3.0, 0.5),
    "cifar100_densenet121": ("CIFAR-100, DenseNet-121", 3.0, 0.5),
    "cifar10_resnet50": ("CIFAR-10, ResNet-50", 4.0, 1.5),
    "cifar10_resnet110": ("CIFAR-10, ResNet-110", 4.0, 1.5),
    "cifar10_wide_resnet_26_10": ("CIFAR-10, Wide-ResNet-26-10", 2.0, 0.5),
    "cifar10_densenet121": ("CIFAR-10, DenseNet-121", 2.0, 0.5),
    "tiny_imagenet_resnet50": ("Tiny-ImageNet, ResNet-50", 3.0, 0.5),
    "20newsgroups_gp_cnn": ("20 Newsgroups, global-pooling CNN", 5.0, 4.5),
    "ag_news_gp_cnn": ("AG News, global-pooling CNN", 4.0, 3.0),
    "finsen_gp_cnn": ("FinSen, global-pooling CNN", 4.0, 4.0),
}
_DUAL_ROWS: Final = {
    "cifar10_resnet50": ("CIFAR-10, ResNet-50", 5.0),
    "cifar10_resnet110": ("CIFAR-10, ResNet-110", 4.5),
    "cifar10_wide_resnet_26_10": ("CIFAR-10, Wide-ResNet-26-10", 2.6),
    "cifar10_densenet121": ("CIFAR-10, DenseNet-121", 5.0),
    "cifar100_resnet50": ("CIFAR-100, ResNet-50", 5.0),
    "cifar100_resnet110": ("CIFAR-100, ResNet-110", 6.1),
    "cifar100_wide_resnet_26_10": ("CIFAR-100, Wide-ResNet-26-10", 3.9),
    "cifar100_densenet121": ("CIFAR-100, DenseNet-121", 3.4),
    "tiny_imagenet_resnet50": ("Tiny-ImageNet, ResNet-50", 2.3),
}
_KUMAR_WEIGHTS: Final = {
    "images": Preset("Images", {"lambda": 2.0}, "Mukhoti et al. 2020, appendix D"),
    "text": Preset("Text", {"lambda": 8.0}, "Mukhoti et al. 2020, appendix D"),
}


PRESETS: Final[dict[str, dict[str, Preset]]] = {
    "ls": {"paper": Preset("ε = 0.05", {"smoothing": 0.05}, "Ghosh et al. 2022, section 6")},
    "mmce": _KUMAR_WEIGHTS,
    "mmce_weighted": {
        **_KUMAR_WEIGHTS,
        "released": Preset(
            "Images, as released",
            {"lambda": 2.0, "normalisation": "released"},
            "Mukhoti et al. 2020, released code",
        ),
    },
    "focal": {
        f"gamma_{gamma}": Preset(
            f"γ = {gamma}",
            {"gamma": float(gamma)},
            "Mukhoti et al. 2020, section 5" if gamma <= 3 else "Komisarenko and Kull 2024, 5.1",
        )
        for gamma in (1, 2, 3, 5, 7)
    },
    "calfocal": {
        f"lambda_{rate}": Preset(
            f"λ = {rate}", {"lambda": float(rate)}, "Ghosh et al. 2022, section 5.1"
        )
        for rate in (1, 10, 100)
    },
    "adafocal": {
        "paper": Preset(
            "As in the tables",
            {
                "lambda": 1.0,
                "gamma_max": 20.0,
                "gamma_min": -2.0,
                "s_th": 0.2,
                "n_bins": 15,
                "update_every": "epoch",
            },
            "Ghosh et al. 2022, sections 5.2 and 6",
        ),
        "imagenet_s_th": Preset(
            "ImageNet, switching early", {"s_th": 0.5}, "Ghosh et al. 2022, figures 4 and 5"
        ),
        "gamma_max_50": Preset("γ up to 50", {"gamma_max": 50.0}, "Ghosh et al. 2022, appendix N"),
        "unbounded": Preset("γ unbounded", {"gamma_max": 1e6}, "Ghosh et al. 2022, appendix N"),
        **{
            f"bins_{n}": Preset(f"{n} bins", {"n_bins": n}, "Ghosh et al. 2022, appendix H")
            for n in (5, 10, 20, 30, 50)
        },
        "schedule": Preset(
            "Update ever more often",
            {"update_every": "epoch, 100 from 25, 1 from 40"},
            "Ghosh et al. 2022, figure 53, for 50 epochs of SVHN",
        ),
        **{
            f"every_{n}": Preset(
                "Update every batch" if n == 1 else f"Update every {n} batches",
                {"update_every": n},
                "Ghosh et al. 2022, appendix I",
            )
            for n in (1, 10, 50, 100)
        },
    },
    "dual_focal": {
        key: Preset(label, {"gamma": gamma}, "Tao et al. 2023, released code")
        for key, (label, gamma) in _DUAL_ROWS.items()
    },
    "fcl": {
        key: Preset(
            label, {"gamma": gamma, "lambda": weight}, "Focal calibration loss 2024, table 5"
        )
        for key, (label, gamma, weight) in _FCL_ROWS.items()
    },
}


Setting = float | int | bool | str
CLASSES: Final = (Task.MULTICLASS, Task.BINARY)
ALL_TASKS: Final = (*CLASSES, Task.MULTILABEL)
REDUCTIONS: Final = {
    "mean": "Mean over the rows: the learning rate does not depend on the batch size.",
    "sum": "Sum over the rows, as the papers' released code trains; with a learning rate of 0.1 "
    "and batches of 128 it needs gradients clipped to norm 2.",
}


@dataclass(frozen=True, kw_only=True)
class LossEntry:
    """One loss."""

    label: str  # printed name
    plain: str  # what it does, in a sentence
    source: str  # where the definition comes from
    # Its settings, by their names in a config
    parameters: Mapping[str, Field] = dataclasses.field(default_factory=dict)
    tasks: tuple[Task, ...] = ALL_TASKS  # what it can train
    # Values of the papers, by key
    presets: Mapping[str, Preset] = dataclasses.field(default_factory=dict)


def checked(config: Mapping[str, object]) -> dict[str, Setting]:
    """Return the settings of a loss with defaults filled in, its name left out.

    `config`: ``name`` of a loss, and any of its parameters.

    Raises UsageError SETTING: an unknown loss or parameter, or a value out of range.
    """
    entry = named(config)
    known = {"name": Field(), **entry.parameters}
    settings = codec.read_fields(known, dict(config), "loss")
    for name, field in known.items():
        field.check(f"loss.{name}", settings[name])
    del settings["name"]
    return settings


def named(config: Mapping[str, object]) -> LossEntry:
    """Return the entry of the loss that a config names; UsageError SETTING if there is none."""
    name = config.get("name")
    if not isinstance(name, str) or name not in LOSSES:
        raise UsageError("SETTING", f"Loss {name!r} is unknown", f"use one of {', '.join(LOSSES)}")
    return LOSSES[name]


def _number(
    label: str, help_: str, default: float, low: float, high: float, *, open_low: bool = False
) -> Field:
    return Field(
        label, help_, low=low, high=high, open_low=open_low, step=0.1, kind=float, default=default
    )


def _words(label: str, help_: str, *words: str) -> Field:
    """Return a choice of words, of which the first is the default."""
    return Field(label, help_, choices=dict(zip(words, words, strict=True)), default=words[0])


def _gamma(default: float) -> Field:
    help_ = "0 is cross-entropy. A larger γ makes the model less confident."
    return _number("γ", help_, default, 0, 100)


def _weight(default: float, help_: str) -> Field:
    return _number("λ", help_, default, 0, 100)


_RATE: Final = _number(
    "λ", "How strongly a gap moves γ; the paper tries 1, 10 and 100.", 1.0, 0, 1000, open_low=True
)
_BINS: Final = {
    "n_bins": Field(
        "Bins", "Bins of validation confidence.", low=1, high=MAX_BINS, kind=int, default=N_BINS
    ),
    "update_every": Field(
        "Update",
        "When γ is updated on the validation set: each epoch, every so many batches, or both by "
        "a schedule such as epoch, 100 from 25, 1 from 40.",
        choices={EPOCH: EPOCH},
        allows=is_schedule,
        remedy="use epoch, 1 to 1000000, or a schedule such as epoch, 100 from 25, 1 from 40",
        low=1,
        high=1_000_000,
        kind=int | str,
        default="epoch",
    ),
}
_MUKHOTI: Final = "Mukhoti et al. 2020, section 5"
_GHOSH: Final = "Ghosh et al. 2022"

# The paper's smallest values, which learn without clipped gradients, too.
_FCL: Final = {
    "gamma": _gamma(2.0),
    "lambda": _weight(0.5, "Weight of the distance."),
    "two_sided": Field(
        "Both outcomes",
        "Many labels only: take the distance over presence and absence, twice that of presence "
        "alone.",
        kind=bool,
        default=False,
    ),
}

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
        parameters={
            "smoothing": _number("ε", "Probability spread evenly over all classes.", 0.05, 0, 0.999)
        },
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
        parameters={"lambda": _weight(2.0, "Weight of the calibration error.")},
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
        parameters={
            "lambda": _weight(2.0, "Weight of the calibration error."),
            "normalisation": _words(
                "Normalisation",
                "textbook divides by the number of pairs once; released divides twice, which "
                "makes the error hundreds of times smaller.",
                "textbook",
                "released",
            ),
        },
        tasks=CLASSES,
        presets=PRESETS["mmce_weighted"],
    ),
    "focal": LossEntry(
        label="Focal",
        plain="Cross-entropy that fades as the true class becomes probable, by (1 - p)^γ.",
        source="Lin et al. 2017; Mukhoti et al. 2020, section 4",
        parameters={"gamma": _gamma(3.0)},
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
        parameters={
            "edges": _words(
                "Edges",
                "text changes γ above 0.19 and above 0.5; released from 0.2 and from 0.5 on.",
                "text",
                "released",
            )
        },
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
            "Cross-entropy weighted by (1 + p)^γ, which makes the model more sure of what it gets "
            "right."
        ),
        source=f"{_GHOSH}, equation 1",
        parameters={
            "gamma": _number(
                "γ", "0 is cross-entropy. A larger γ makes the model more confident.", 2.0, 0, 20
            )
        },
    ),
    "calfocal_1": LossEntry(
        label="CalFocal, case 1",
        plain="Focal loss whose γ grows with the distance of a sample from its bin's validation "
        "accuracy.",
        source=f"{_GHOSH}, equation 2",
        parameters={"lambda": _RATE, **_BINS},
        presets=PRESETS["calfocal"],
    ),
    "calfocal_2": LossEntry(
        label="CalFocal, case 2",
        plain="Focal loss whose γ grows with the validation gap of a sample's bin.",
        source=f"{_GHOSH}, equation 3",
        parameters={"lambda": _RATE, **_BINS},
        presets=PRESETS["calfocal"],
    ),
    "adafocal": LossEntry(
        label="AdaFocal",
        plain="Focal loss whose γ follows validation: up where the model is over-confident, down "
        "where it is under-confident.",
        source=f"{_GHOSH}, algorithm 1",
        parameters={
            "lambda": _number("λ", "How fast a gap moves γ.", 1.0, 0, 100, open_low=True),
            "gamma_max": _number(
                "γ max",
                "Upper bound of γ; 1,000,000 means none in practice.",
                20.0,
                0,
                1_000_000,
                open_low=True,
            ),
            "gamma_min": _number(
                "γ min", "Lower bound; below 0 is inverse focal loss.", -2.0, -20, 0
            ),
            "s_th": _number("S_th", "A γ nearer to 0 than this changes its sign.", 0.2, 0, 1),
            **_BINS,
        },
        presets=PRESETS["adafocal"],
    ),
    "dual_focal": LossEntry(
        label="Dual focal",
        plain="Focal loss that also looks at the largest probability below that of the true class.",
        source="Tao et al. 2023",
        parameters={"gamma": _gamma(5.0)},
        tasks=CLASSES,
        presets=PRESETS["dual_focal"],
    ),
    "fcl": LossEntry(
        label="FCL",
        plain="Focal loss plus a weighted squared distance of the probabilities from the truth.",
        source="Focal calibration loss 2024, definition 3.1",
        parameters=_FCL,
        presets=PRESETS["fcl"],
    ),
    "fcl_l1": LossEntry(
        label="FCL, L1",
        plain="Focal loss plus a weighted absolute distance of the probabilities from the truth.",
        source="Focal calibration loss 2024, appendix A.15",
        parameters=_FCL,
    ),
}
# Those that learn gammas by bin
BY_BIN: Final = tuple(name for name, entry in LOSSES.items() if "n_bins" in entry.parameters)


Loss = dict[str, Setting]
TEXTS: Final = ("20newsgroups", "sst_binary", "ag_news", "finsen")
OF_TINY_IMAGENET: Final = "resnet50_tiny_imagenet"
PLAIN: Final = ("brier", "flsd_53", "fls_532", "fls_531", "adafocal")  # without settings


def losses_of(method: str, dataset: str, network: str) -> tuple[Loss, ...]:
    """Return the losses that a row of a paper stands for, the one to train with first.

    `method`, `dataset`, `network`: as in `PublishedNumber`.

    Returns
    -------
    tuple of dict
        Name and settings, as a config has them; none where the paper does not state them.

    Examples
    --------
    The same name in a table is another loss on texts than on images:

    >>> [losses_of("mmce", data, "resnet50")[1]["lambda"] for data in ("ag_news", "cifar10")]
    [8.0, 2.0]
    """
    stem, _, last = method.rpartition("_")
    place = f"{dataset}_{network}"
    if method in PLAIN:
        return ({"name": method},)
    if method in ("ce", "ce_wd"):
        return ({"name": "ce"},)
    if method == "ls_0.05":
        return ({"name": "ls", "smoothing": 0.05},)
    if stem == "focal" and last.isdecimal():
        return ({"name": "focal", "gamma": float(last)},)
    if stem == "adafocal_bins":
        return ({"name": "adafocal", "n_bins": int(last)},)
    if method == "fla_532":  # by the text, and by the released code
        return tuple({"name": method, "edges": edges} for edges in ("text", "released"))
    # Kumar et al. train texts with lambda 8 and images with 2 (Mukhoti et al. 2020, appendix D).
    if method == "mmce":
        weight = {"lambda": 8.0 if dataset in TEXTS else 2.0}
        weighted: Loss = {"name": "mmce_weighted", **weight}
        # The released code, which divides twice by the number of pairs, and is what Mukhoti et al.
        # and those who train with their code have.
        return (weighted | {"normalisation": "released"}, weighted, {"name": "mmce", **weight})
    if method == "dual_focal":
        preset = PRESETS["dual_focal"].get(place)
        return ({"name": method, **(preset.settings if preset else {})},)
    if method in ("fcl", "fcl_l1"):
        preset = PRESETS["fcl"].get(place)
        return ({"name": method, **preset.settings},) if preset else ()
    return ()


def subject(config: Mapping[str, Any] | None) -> PaperSetting | None:  # Any: plain JSON
    """Return what a run's config corresponds to in the papers; None where it does to nothing."""
    if config is None:
        return None
    dataset, loss = config.get("data"), config.get("loss")
    if not isinstance(dataset, str) or not isinstance(loss, dict):
        return None
    network = networks_of(dataset).get(config.get("model", ""))
    if network is None:
        return None
    if config["model"] == OF_TINY_IMAGENET and dataset != "tiny_imagenet":
        return None
    try:
        settings = checked(loss)
    except UsageError:  # of another version
        return None
    rows = published(dataset=dataset, model=network)
    methods = tuple(
        method
        for method in dict.fromkeys(row.method for row in rows)
        for of in losses_of(method, dataset, network)
        if of["name"] == loss["name"] and checked(of) == settings
    )
    return PaperSetting(dataset, network, methods) if methods else None
