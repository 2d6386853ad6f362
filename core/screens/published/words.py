"""What the papers' data, networks, losses and metrics are called, and the words of an edition."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from core.datasets.catalogue import DATASETS, TEXT_DATA
from core.losses.catalogue import LOSSES
from core.metrics import METRICS
from core.published import DEFINITIONS, PublishedNumber, definition
from core.screens.kit.numbers import THIN

DATA: Final[Mapping[str, str]] = {
    **{key: DATASETS[key].label for key in ("cifar10", "cifar100", "tiny_imagenet", "imagenet")},
    "20newsgroups": "20 Newsgroups",
    "sst_binary": TEXT_DATA["sst_binary"].label,
    "ag_news": "AG News",
    "finsen": TEXT_DATA["finsen"].label,
    "chestxray14": DATASETS["chestxray14"].label,
}
NETWORKS: Final[Mapping[str, str]] = {
    "resnet50": "ResNet-50",
    "resnet110": "ResNet-110",
    "wide_resnet_26_10": "Wide-ResNet-26-10",
    "densenet121": "DenseNet-121",
    "gp_cnn": "Global-pooling CNN",
    "tree_lstm": "Tree-LSTM",
    "bert_base_uncased": "BERT base",
    "chexnet_densenet121": "CheXNet",
    "wang2017": "Wang et al. 2017",
    "yao2017": "Yao et al. 2017",
    "unnamed_row1": "Unnamed, row 1",
    "unnamed_row2": "Unnamed, row 2",
}
METHODS: Final[Mapping[str, str]] = {
    "ce": LOSSES["ce"].label,
    "ce_wd": "Weight decay",
    "bce": "Binary cross-entropy",
    "brier": LOSSES["brier"].label,
    "mmce": LOSSES["mmce"].label,
    "ls_0.05": f"{LOSSES['ls'].label} 0.05",
    **{f"focal_{gamma}": f"Focal γ = {gamma}" for gamma in (1, 2, 3, 7)},
    "focal_unspecified": "Focal, variant not stated",
    **{key: LOSSES[key].label for key in ("fls_531", "fls_532", "fla_532", "flsd_53")},
    **{key: LOSSES[key].label for key in ("dual_focal", "fcl", "fcl_l1", "adafocal")},
    **{f"adafocal_bins_{n}": f"AdaFocal, {n} bins" for n in (5, 10, 15, 20, 30, 50)},
    "wang2017_baseline": "Wang et al. 2017",
    "yao2017_baseline": "Yao et al. 2017",
}
BASELINES: Final = ("ce", "ce_wd", "bce")
LOWER: Final = (*BASELINES, "ls_0.05", "dual_focal", *(f"focal_{gamma}" for gamma in (1, 2, 3, 7)))


class CalibratorMark(NamedTuple):
    """What numbers after a calibrator are called, and how the figure marks them."""

    head: str
    symbol: str  # Plotly's name
    shape: str


POSTHOC: Final[Mapping[str, CalibratorMark]] = {
    "none": CalibratorMark("As trained", "circle", "circle"),
    "ts": CalibratorMark("After temperature", "diamond", "diamond"),
    "focal_ts": CalibratorMark("After focal temperature", "square", "square"),
    "ets": CalibratorMark("After ensemble temperature", "triangle-up", "triangle"),
    "spline": CalibratorMark("After spline", "x", "cross"),
}
NAMES_IN_SETTINGS: Final[Mapping[str, str]] = {
    "all": "All",
    "focal": "Focal, any γ",
    "ts": "Temperature scaling",
    "focal_ts": "Focal temperature scaling",
}
SETTINGS: Final[Mapping[str, str]] = {
    "lr": "Learning rate",
    "lr_schedule": "LR schedule",
    "lr_drop_epochs": "LR drops at epochs",
    "n_train": "Training rows",
    "n_val": "Validation rows",
    "n_test": "Test rows",
    "ece_bins": "ECE bins",
    "ece_binning": "ECE binning",
    "fcl_lambda": "FCL λ",
    "mmce_lambda": "MMCE λ",
    "adafocal_lambda": "AdaFocal λ",
    "adafocal_parameters": "AdaFocal parameters",
    "ood_sets": "Out-of-distribution sets",
    "ood_score": "Out-of-distribution score",
    "S_th": "S_th",
    "adam_betas": "Adam β",
    "gamma_ev_grid": "Grid of focal temperature’s γ",
    "gamma_train": "γ in training",
    "max_length_train": "Longest text in training",
    "max_length_test": "Longest text in testing",
    "train_bins": "Training bins",
    "train_bins_tried": "Training bins tried",
    "train_binning": "Training binning",
}
VALUES: Final[Mapping[str, str]] = {
    "sgd": "SGD",
    "adam": "Adam",
    "adamw": "AdamW",
    "adagrad": "Adagrad",
    "glove": "GloVe",
    "glove, tuned": "GloVe, tuned",
}
SHORT_PAPERS: Final[Mapping[str, str]] = {
    "adafocal2022": "Ghosh 2022",
    "fcl2024": "FCL 2024",
    "komisarenko2024": "Komisarenko 2024",
    "mukhoti2020iclr": "Mukhoti 2020",
}
SETS: Final[Mapping[str, str]] = {"svhn": "SVHN", "cifar10c": "CIFAR-10-C"}


def order(row: PublishedNumber) -> tuple[int, int, int]:
    """Return where data, network and loss of a number stand in their lists."""
    names = (DATA, row.dataset), (NETWORKS, row.model), (METHODS, row.method)
    data, network, method = (list(known).index(name) for known, name in names)
    return data, network, method


def metric_label(metric: str) -> str:
    """Return the name of a metric of the papers."""
    if metric.startswith("auroc_"):
        return f"AUROC, {metric.removeprefix('auroc_').replace('_', ' ')}"
    known = DEFINITIONS[metric]
    return known.label or METRICS[known.metric].label


def in_sentence(method: str) -> str:
    """Return the name of a loss inside a sentence; what is printed as Weight Decay is one too."""
    name = METHODS["ce" if method == "ce_wd" else method]
    return name[0].lower() + name[1:] if method in LOWER else name


def settings_names(keys: str, names: Mapping[str, str]) -> str:
    """Return the names of data sets, networks or losses that a hyper-parameter holds for."""
    every = {**NAMES_IN_SETTINGS, **names}
    return ", ".join(every[key] for key in keys.split(";"))


def higher_is_better(metric: str) -> bool:
    """Whether more of a metric is better."""
    own = definition(metric).metric
    return metric.startswith("auroc") or (bool(own) and METRICS[own].better == "higher")


def in_percent(metric: str) -> bool:
    """Whether a metric is written in percent; NLL is in nats."""
    return metric != "nll"


def unit_after(metric: str) -> str:
    """Return what stands behind an amount."""
    return f"{THIN}%" if in_percent(metric) else ""


def amount(number: PublishedNumber) -> str:
    """Return a number with the digits of print, in percent or nats, without a unit."""
    if in_percent(number.metric):
        return f"{100 * number.value:.{number.digits}f}"
    return f"{number.value:.{number.digits + 2}f}"


@dataclass(frozen=True, kw_only=True)
class PublishedWords:
    """How one edition of the page speaks; the defaults are those of the full view.

    Attributes
    ----------
    metrics : mapping of str to str
        What can be chosen, with its name; empty for all, by their own names.
    measures : mapping of str to tuple of str
        What stands before and behind an amount of a metric in a sentence.
    posthoc : mapping of str to str
        Heads of the columns, by calibrator; others are left out.
    details : bool
        Whether temperatures and definitions are written.
    """

    metrics: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    posthoc: Mapping[str, str]
    after: str = "After temperature scaling"
    variants: str = "losses"
    network: str = "Network"
    metric: str = "Metric"
    method: str = "Losses"
    moment: str = "Temperature"
    details: bool = True

    def label(self, metric: str) -> str:
        """Return what a metric is called."""
        return self.metrics.get(metric) or metric_label(metric)

    def measure(self, metric: str) -> tuple[str, str]:
        """Return what stands before and behind an amount in a sentence."""
        name = metric_label(metric).partition(",")[0]
        return self.measures.get(metric, (f"{name} is ", unit_after(metric)))


TECHNICAL: Final = PublishedWords(posthoc={key: mark.head for key, mark in POSTHOC.items()})
OFF: Final = ("on average it is off by ", " points")
PLAIN: Final = PublishedWords(
    metrics={
        "ece_ew": "Off by, on average",
        "ece_em": "Off by, in groups of equal size",
        "error": "Wrong answers",
        "accuracy": "Right answers",
    },
    measures={
        "ece_ew": OFF,
        "ece_em": OFF,
        "error": ("it is wrong ", " times in 100"),
        "accuracy": ("it is right ", " times in 100"),
    },
    posthoc={"none": "As trained", "ts": "After one correction"},
    after="After one correction",
    variants="ways of training",
    network="Model",
    metric="Measured",
    method="Ways of training",
    moment="Correction",
    details=False,
)
