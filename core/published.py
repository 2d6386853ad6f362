"""What papers print for their own models: accuracy, AUROC of shifted inputs and of chest findings.

Numbers only, as they were printed; imports the standard library.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parents[1] / "assets" / "published" / "results.csv"
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


@dataclass(frozen=True)
class PublishedNumber:
    """One number of a paper.

    Attributes
    ----------
    paper, table : str
        A key of `PAPERS`, and the table's number there.
    dataset, model, method : str
        What was trained, on what, by which loss.
    posthoc : str
        ``none``, or ``ts``: after temperature scaling.
    metric : str
        ``auroc``, ``accuracy`` or ``error``; of chest films ``auroc_FINDING``, ``auroc_mean``.
    ood_dataset : str
        ``svhn`` or ``cifar10c`` for an AUROC, else empty.
    value : float
        A fraction.
    digits : int
        Decimals of the percentage as printed.
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
    ood_dataset: str
    value: float
    digits: int
    note: str

    @property
    def source(self) -> str:
        """Paper and table, as printed."""
        return f"{PAPERS[self.paper]}, table {self.table}"


@dataclass(frozen=True)
class PaperSetting:
    """Which rows of the papers a run corresponds to: data, network, and losses' names there."""

    dataset: str
    model: str
    methods: tuple[str, ...]


@cache
def rows() -> tuple[PublishedNumber, ...]:
    """Return every row of the file that comes with the program."""
    with FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(_row(line) for line in csv.DictReader(lines))


def _row(line: Mapping[str, str]) -> PublishedNumber:
    fields = {key: text for key, text in line.items() if key != "value"}
    printed = line["value"]
    digits = len(printed.partition(".")[2])
    return PublishedNumber(**fields, value=float(printed) / 100.0, digits=digits)


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
