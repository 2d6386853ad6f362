"""What papers print for their own models, and what their metrics are called here.

Numbers only, as they were printed.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal, get_args

from core.fields import JsonObject

FILE: Final = Path(__file__).parents[1] / "assets" / "published" / "results.csv"
SETTINGS_FILE: Final = FILE.with_name("settings.csv")
ALL: Final = "all"  # data sets, networks or losses
Unit = Literal["percent", "fraction", "nats", "nats_x100"]
Doubt = Literal["none", "uncertain", "suspect"]
UNITS: Final[tuple[str, ...]] = get_args(Unit)
IN_HUNDREDTHS: Final = ("percent", "nats_x100")
PAPERS: Final = {
    "adafocal2022": "Ghosh et al. 2022",
    "fcl2024": "Focal calibration loss 2024",
    "komisarenko2024": "Komisarenko and Kull 2024",
    "mukhoti2020iclr": "Mukhoti et al. 2020",
}
MODELS: Final = {
    "resnet50_cifar": "resnet50",
    "resnet50_tiny_imagenet": "resnet50",
    "resnet110_released": "resnet110",
    "wrn_26_10_cifar": "wide_resnet_26_10",
    "densenet121_cifar": "densenet121",
    "text_cnn_released": "gp_cnn",
    "text_cnn": "gp_cnn",
    "tree_lstm": "tree_lstm",
    "bert": "bert_base_uncased",
}
IMAGENET_CLASSES: Final = (1_000, "n01440764", "n15075141")  # how many, the first and the last
OF_IMAGENET: Final = {"torchvision:resnet50": "resnet50", "torchvision:densenet121": "densenet121"}
CORRUPTION: Final = ("gaussian_noise", 5)  # of CIFAR-10-C in Ghosh et al. 2022; others name none


@dataclass(frozen=True, kw_only=True)
class PublishedNumber:
    """One number of a paper."""

    # paper, table: a key of `PAPERS`, and the table's number there
    paper: str
    table: str
    # dataset, model, method: what was trained, on what, by which loss
    dataset: str
    model: str
    method: str
    posthoc: str  # ``none``; ``ts``, ``focal_ts``, ``ets`` or ``spline``: after that calibrator
    metric: str  # a key of `DEFINITIONS`; of chest films ``auroc_FINDING``, ``auroc_mean``
    unit: Unit  # of `printed` and `std`, one of `UNITS`
    # printed, std, temperature, gamma_ev: number, standard deviation, temperature and the gamma of
    # focal temperature scaling as printed, with trailing zeros; all but the first may be empty
    printed: str
    std: str
    temperature: str
    gamma_ev: str
    # ``svhn`` or ``cifar10c`` for the AUROC of out-of-distribution inputs, else empty
    ood_dataset: str
    # doubt, why: one of `Doubt`, and the reason where it is not ``none``: ``suspect`` contradicts
    # another number, ``uncertain`` may have been read wrongly
    doubt: Doubt
    why: str
    note: str  # what the paper says of the number, or leaves open

    @property
    def value(self) -> float:
        """The number as a fraction, or in nats."""
        return float(self.printed) / (100.0 if self.unit in IN_HUNDREDTHS else 1.0)

    @property
    def digits(self) -> int:
        """Decimals of a hundred times the value, as printed."""
        decimals = len(self.printed.partition(".")[2])
        return decimals if self.unit in IN_HUNDREDTHS else decimals - 2

    @property
    def source(self) -> str:
        """Paper and table, as printed."""
        return f"{PAPERS[self.paper]}, table {self.table}"


@dataclass(frozen=True)
class Definition:
    """What a metric of the papers corresponds to here."""

    # The key of Candor's metric of the same definition, else empty: shown, never compared
    metric: str = ""
    label: str = ""  # its name where Candor's metric has another, or there is none
    remark: str = ""  # what the papers leave open, or why nothing corresponds
    # Of the audit, where its defaults differ
    settings: Mapping[str, str | int] = field(default_factory=dict)


def compared(config: JsonObject | None, class_names: Sequence[str]) -> JsonObject | None:
    """Return the config of a run as it counts beside the papers.

    Once any class folders could be called ImageNet; such a run counts as one of a folder.
    """
    named = (len(class_names), *class_names[:1], *class_names[-1:])
    if config is None or config.get("data") != "imagenet" or named == IMAGENET_CLASSES:
        return config
    return {**config, "data": "folder"}


def networks_of(dataset: str) -> dict[str, str]:
    """Return what the papers call networks that are trained on a data set here."""
    return OF_IMAGENET if dataset == "imagenet" else MODELS


NO_NORM: Final = "The papers do not state the norm."
L1: Final = "The papers do not state the norm; by their numbers it is l1."
FROM_99: Final = "The paper counts confidences above 0.99, Candor from 0.99 on."
DEFINITIONS: Final[Mapping[str, Definition]] = {
    "ece_ew": Definition("ece", "ECE, equal width", "15 bins of equal width."),
    "ece_em": Definition(
        "ada_ece", "ECE, equal mass", "15 bins of equal mass, with the edges of the released code."
    ),
    "ece_sweep_em": Definition("ece_sweep", "ECE sweep", NO_NORM),
    "ece_sweep_ew": Definition("ece_sweep_ew", remark=NO_NORM),
    "ece_debias": Definition("ece_debiased_l1", "Debiased ECE", L1),
    "ece_debias_30bins": Definition(
        "ece_debiased_l1", "Debiased ECE, 30 bins", L1, settings={"n_bins": 30}
    ),
    "ece_unspecified": Definition(
        label="ECE, kind not stated", remark="The paper does not state which ECE this is."
    ),
    "smece": Definition(
        "smece",
        remark="By the grid of the released program; the paper defines another error, smCE.",
        settings={"smece": "relplot"},
    ),
    "classwise_ece": Definition(
        "classwise_ece", remark="Mean over classes; the paper does not state the bins."
    ),
    "mce": Definition("mce", remark="The worst of 15 bins, often one of a few images: no target."),
    "nll": Definition("nll", remark="In nats; Mukhoti et al. 2020 print 100 times that."),
    "error": Definition("error"),
    "accuracy": Definition("accuracy"),
    "s99_share": Definition("s99_share", remark=FROM_99),
    "s99_accuracy": Definition("s99_accuracy", remark=FROM_99),
    "auroc": Definition(
        label="AUROC, out-of-distribution",
        remark="Runs have theirs on the Out of distribution page.",
    ),
}


@dataclass(frozen=True)
class FitProtocol:
    """How a calibrator was fitted on validation rows: what was minimised, over which values.

    Both as of `core.calibrators`.
    """

    objective: str = "nll"
    search: str = "exact"


def protocol(row: PublishedNumber) -> FitProtocol:
    """Return how the calibrator of a number was fitted.

    Komisarenko and Kull choose T and gamma by the metric of the column, others T by an ECE: of
    equal mass for two columns of that kind. Ensemble temperature fits the Brier score, as released.
    """
    if row.posthoc == "ets":
        return FitProtocol("brier")
    if row.paper == "komisarenko2024":
        return FitProtocol("nll" if row.metric == "nll" else "ada_ece", "komisarenko")
    by_mass = row.metric == "ece_em" and row.paper in ("adafocal2022", "mukhoti2020iclr")
    return FitProtocol("ada_ece" if by_mass else "ece", "mukhoti")


OF_A_FINDING: Final = Definition(remark="Runs have theirs on the Chest X-ray page.")


def definition(metric: str) -> Definition:
    """Return what a metric of the papers corresponds to here."""
    return OF_A_FINDING if metric.startswith("auroc_") else DEFINITIONS[metric]


@dataclass(frozen=True)
class PaperSetting:
    """Which rows of the papers a run corresponds to: data, network, and losses' names there."""

    dataset: str
    model: str
    methods: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PublishedSetting:
    """One hyper-parameter of a paper."""

    # paper, source: a key of `PAPERS`, and the section, appendix or table that states it
    paper: str
    source: str
    # dataset, model, method: what it holds for: `ALL`, or keys as of `PublishedNumber`, split by
    # semicolons. A method may be a family (``focal``) or a calibrator (``ts``).
    dataset: str
    model: str
    method: str
    # setting, value: what is set, and to what; lists are split by semicolons
    setting: str
    value: str
    note: str  # what the paper leaves open


@cache
def settings() -> tuple[PublishedSetting, ...]:
    """Return every hyper-parameter of the file that comes with the program."""
    with SETTINGS_FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(PublishedSetting(**line) for line in csv.DictReader(lines))


def seeds_of(row: PublishedNumber) -> range:
    """Return the seeds of a number: as many as a paper averages over, 1 where it does not say."""
    first = 1 if row.paper == "fcl2024" else 0  # "random seeds set to 1", section 5
    table = f"table {row.table}"
    for setting in settings():
        of_row = setting.paper == row.paper and all(
            getattr(setting, key) in (ALL, getattr(row, key))
            for key in ("dataset", "model", "method")
        )
        stated = setting.setting == "seeds" and setting.value.isdecimal()
        # Stated of one table, it holds for no other
        if of_row and stated and ("table" not in setting.source or setting.source.endswith(table)):
            return range(first, first + int(setting.value))
    return range(first, first + 1)


@cache
def rows() -> tuple[PublishedNumber, ...]:
    """Return every row of the file that comes with the program."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(
            PublishedNumber(printed=line.pop("value"), **line)  # type: ignore[arg-type]
            for line in csv.DictReader(lines)
        )


def published(**criteria: str) -> tuple[PublishedNumber, ...]:
    """Return the rows whose fields have these values, for example ``metric="auroc"``."""
    return tuple(
        row for row in rows() if all(getattr(row, key) == value for key, value in criteria.items())
    )


def auroc_rows(
    setting: PaperSetting | None, ood_dataset: str, corruption: str = "", severity: int = 0
) -> tuple[PublishedNumber, ...]:
    """Return the papers' AUROC for a run on SVHN or on official CIFAR-10-C images.

    `setting`: from `core.losses.catalogue.subject`; `ood_dataset`: ``svhn`` or ``cifar10c``; images
    that Candor corrupted have no counterpart; `corruption`, `severity`: of CIFAR-10-C; the papers'
    number belongs to Gaussian noise at severity 5.
    """
    if setting is None or (ood_dataset == "cifar10c" and (corruption, severity) != CORRUPTION):
        return ()
    matches = published(
        metric="auroc", dataset=setting.dataset, model=setting.model, ood_dataset=ood_dataset
    )
    return tuple(row for row in matches if row.method in setting.methods)
