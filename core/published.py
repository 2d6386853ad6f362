"""What papers print for their own models, and what their metrics are called here.

Numbers only, as they were printed; imports the standard library.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

FILE: Final = Path(__file__).parents[1] / "assets" / "published" / "results.csv"
SETTINGS_FILE: Final = FILE.with_name("settings.csv")
ALL: Final = "all"  # data sets, networks or losses
Unit = Literal["percent", "fraction", "nats", "nats_x100"]
Doubt = Literal["none", "uncertain", "suspect"]
UNITS: Final[tuple[str, ...]] = get_args(Unit)
DOUBTS: Final[tuple[str, ...]] = get_args(Doubt)
IN_HUNDREDTHS: Final = ("percent", "nats_x100")
PAPERS: Final = {
    "adafocal2022": "Ghosh et al. 2022",
    "fcl2024": "Focal calibration loss 2024",
    "komisarenko2024": "Komisarenko and Kull 2024",
    "mukhoti2020iclr": "Mukhoti et al. 2020",
}
MODELS: Final = {
    "resnet50_cifar": "resnet50",
    "resnet110_released": "resnet110",
    "wrn_26_10_cifar": "wide_resnet_26_10",
    "densenet121_cifar": "densenet121",
    "text_cnn": "gp_cnn",
}
METHODS: Final = {
    "ce": ("ce", "ce_wd"),
    "brier": ("brier",),
    "mmce": ("mmce",),
    "flsd_53": ("flsd_53",),
    "dual_focal": ("dual_focal",),
    "adafocal": ("adafocal",),
    "fcl": ("fcl",),
    "fcl_l1": ("fcl_l1",),
}
CORRUPTION: Final = ("gaussian_noise", 5)  # of CIFAR-10-C in Ghosh et al. 2022; others name none


@dataclass(frozen=True, kw_only=True)
class PublishedNumber:
    """One number of a paper.

    Attributes
    ----------
    paper, table : str
        A key of `PAPERS`, and the table's number there.
    dataset, model, method : str
        What was trained, on what, by which loss.
    posthoc : str
        ``none``; ``ts``, ``focal_ts``, ``ets`` or ``spline``: after that calibrator.
    metric : str
        A key of `DEFINITIONS`; of chest films ``auroc_FINDING``, ``auroc_mean``.
    unit : str
        Of `printed` and `std`, one of `UNITS`.
    printed, std, temperature, gamma_ev : str
        Number, standard deviation, temperature and the gamma of focal temperature scaling as
        printed, with trailing zeros; all but the first may be empty.
    ood_dataset : str
        ``svhn`` or ``cifar10c`` for the AUROC of out-of-distribution inputs, else empty.
    doubt, why : str
        One of `DOUBTS`, and the reason where it is not ``none``: ``suspect`` contradicts another
        number, ``uncertain`` may have been read wrongly.
    note : str
        What the paper says of the number, or leaves open.
    """

    paper: str
    table: str
    dataset: str
    model: str
    method: str
    posthoc: str
    metric: str
    unit: Unit
    printed: str
    std: str
    temperature: str
    gamma_ev: str
    ood_dataset: str
    doubt: Doubt
    why: str
    note: str

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


@dataclass(frozen=True, kw_only=True)
class Definition:
    """What a metric of the papers corresponds to here.

    Attributes
    ----------
    metric : str
        The key of Candor's metric of the same definition, else empty: shown, never compared.
    settings : mapping of str to str
        Of the audit, where its defaults differ.
    remark : str
        What the papers leave open, or why nothing corresponds.
    """

    metric: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""


DEFINITIONS: Final[Mapping[str, Definition]] = {
    "ece_ew": Definition(metric="ece", remark="15 bins of equal width."),
    "ece_em": Definition(
        metric="ada_ece", remark="15 bins of equal mass, with the edges of the released code."
    ),
    "ece_sweep_em": Definition(metric="ece_sweep", remark="The papers do not state the norm."),
    "ece_sweep_ew": Definition(remark="Candor’s sweep has bins of equal mass."),
    "ece_debias": Definition(remark="The papers do not state the norm."),
    "ece_debias_30bins": Definition(remark="The papers do not state the norm."),
    "ece_unspecified": Definition(remark="The paper does not state which ECE this is."),
    "smece": Definition(
        metric="smece",
        settings={"smece": "relplot"},
        remark="By the grid of the released program; the paper defines another error, smCE.",
    ),
    "classwise_ece": Definition(
        metric="classwise_ece", remark="Mean over classes; the paper does not state the bins."
    ),
    "mce": Definition(
        metric="mce", remark="The worst of 15 bins, often one of a few images: no target."
    ),
    "nll": Definition(metric="nll", remark="In nats; Mukhoti et al. 2020 print 100 times that."),
    "error": Definition(metric="error"),
    "accuracy": Definition(metric="accuracy"),
    "s99_share": Definition(
        metric="s99_share", remark="The paper counts confidences above 0.99, Candor from 0.99 on."
    ),
    "s99_accuracy": Definition(
        metric="s99_accuracy",
        remark="The paper counts confidences above 0.99, Candor from 0.99 on.",
    ),
    "auroc": Definition(remark="Runs have theirs on the Out of distribution page."),
}
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
    """One hyper-parameter of a paper.

    Attributes
    ----------
    paper, source : str
        A key of `PAPERS`, and the section, appendix or table that states it.
    dataset, model, method : str
        What it holds for: `ALL`, or keys as of `PublishedNumber`, split by semicolons. A method
        may be a family (``focal``) or a calibrator (``ts``).
    setting, value : str
        What is set, and to what; lists are split by semicolons.
    note : str
        What the paper leaves open.
    """

    paper: str
    source: str
    dataset: str
    model: str
    method: str
    setting: str
    value: str
    note: str


@cache
def settings() -> tuple[PublishedSetting, ...]:
    """Return every hyper-parameter of the file that comes with the program."""
    with SETTINGS_FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(PublishedSetting(**line) for line in csv.DictReader(lines))


@cache
def rows() -> tuple[PublishedNumber, ...]:
    """Return every row of the file that comes with the program."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(_row(line) for line in csv.DictReader(lines))


def _row(line: Mapping[str, str]) -> PublishedNumber:
    fields = {key: text for key, text in line.items() if key != "value"}
    return PublishedNumber(printed=line["value"], **fields)  # type: ignore[arg-type]


def published(**criteria: str) -> tuple[PublishedNumber, ...]:
    """Return the rows whose fields have these values, for example ``metric="auroc"``."""
    return tuple(
        row for row in rows() if all(getattr(row, key) == value for key, value in criteria.items())
    )


def subject(
    config: Mapping[str, Any] | None,
) -> PaperSetting | None:  # Any: a run's config, plain JSON
    """Return what a run's config corresponds to in the papers; None where it does to nothing."""
    if config is None or config.get("model") not in MODELS:
        return None
    loss = config.get("loss")
    methods = _methods(loss) if isinstance(loss, dict) else ()
    dataset = config.get("data")
    if not methods or not isinstance(dataset, str):
        return None
    return PaperSetting(dataset, MODELS[config["model"]], methods)


def _methods(loss: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what the papers call a loss; what has other settings there is another loss."""
    name = loss.get("name")
    if name == "ls":
        return ("ls_0.05",) if loss.get("smoothing") == 0.05 else ()
    if name == "focal":
        return (f"focal_{loss['gamma']:g}",) if isinstance(loss.get("gamma"), int | float) else ()
    return METHODS.get(name, ()) if isinstance(name, str) else ()


def auroc_rows(
    setting: PaperSetting | None, ood_dataset: str, corruption: str = "", severity: int = 0
) -> tuple[PublishedNumber, ...]:
    """Return the papers' AUROC for a run on SVHN or on official CIFAR-10-C images.

    Parameters
    ----------
    setting : PaperSetting or None
        From `subject`.
    ood_dataset : str
        ``svhn`` or ``cifar10c``; images that Candor corrupted have no counterpart.
    corruption, severity : str, int
        Of CIFAR-10-C; the papers' number belongs to Gaussian noise at severity 5.
    """
    if setting is None or (ood_dataset == "cifar10c" and (corruption, severity) != CORRUPTION):
        return ()
    matches = published(
        metric="auroc", dataset=setting.dataset, model=setting.model, ood_dataset=ood_dataset
    )
    return tuple(row for row in matches if row.method in setting.methods)
