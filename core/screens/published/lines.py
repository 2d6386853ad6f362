"""Lines of the Published page: the papers' numbers by training and metric, and own runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal, NamedTuple

from core.datasets.catalogue import DATASETS, TEXT_DATA, data_entry
from core.library.manifest import Summary
from core.losses.catalogue import LOSSES
from core.metrics import METRICS
from core.metrics.records import Score
from core.models.catalogue import MODELS, TEXT_MODELS
from core.published import (
    ALL,
    DEFINITIONS,
    PAPERS,
    PublishedNumber,
    PublishedSetting,
    definition,
    networks_of,
    rows,
)
from core.screens.kit.marks import RunMark
from core.screens.kit.numbers import (
    THIN,
    count,
    points,
    points_span,
    three,
    three_span,
    two,
    with_span,
)
from core.studies.published import OwnNumbers

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
    """How one edition of the page speaks; the defaults are those of the full view."""

    # What can be chosen, with its name; empty for all, by their own names.
    metrics: Mapping[str, str] = field(default_factory=dict)
    # What stands before and behind an amount of a metric in a sentence.
    measures: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    posthoc: Mapping[str, str]  # heads of the columns, by calibrator; others are left out
    after: str = "After temperature scaling"
    variants: str = "losses"
    images: str = "images"
    network: str = "Network"
    metric: str = "Metric"
    method: str = "Losses"
    moment: str = "Temperature"
    details: bool = True  # whether temperatures, definitions and names of metrics are written

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
    images="pictures",
    network="Model",
    metric="Measured",
    method="Ways of training",
    moment="Correction",
    details=False,
)


# Lines.
Moment = Literal["both", "before", "after"]
FIRST_METRICS: Final = ("ece_ew", "ece_em", "error", "accuracy", "nll")
UNKNOWN: Final = "Data and network unknown: the run was uploaded."


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What is asked for; an empty field stands for all.

    `moment` keeps the numbers as trained, those after a calibrator, or both.
    """

    data: str = ""
    network: str = ""
    metric: str = ""
    paper: str = ""
    methods: tuple[str, ...] = ()
    moment: Moment = "both"

    @property
    def one_kind(self) -> bool:
        """Whether all numbers are of one metric, network and data set, and can be drawn."""
        return bool(self.data and self.network and self.metric)

    def asks_for(self, posthoc: str) -> bool:
        """Whether numbers after a calibrator, or after none, were asked for."""
        return self.moment == "both" or (self.moment == "before") == (posthoc == "none")

    def keeps(self, row: PublishedNumber) -> bool:
        """Whether a number was asked for."""
        return (
            self.data in ("", row.dataset)
            and self.network in ("", row.model)
            and self.metric in ("", row.metric)
            and self.paper in ("", row.paper)
            and (not self.methods or row.method in self.methods)
            and self.asks_for(row.posthoc)
        )

    def keeps_setting(self, row: PublishedSetting) -> bool:
        """Whether a hyper-parameter holds for some of the trainings that were asked for."""
        asked = ((self.data, row.dataset), (self.network, row.model), (self.paper, row.paper))
        if any(key and names != ALL and key not in names.split(";") for key, names in asked):
            return False
        # A setting names losses, a family of losses ("focal" of "focal_3"), or a calibrator.
        return not self.methods or any(
            name in (ALL, *POSTHOC)
            or any(f"{method}_".startswith(f"{name}_") for method in self.methods)
            for name in row.method.split(";")
        )


@dataclass(frozen=True)
class Line:
    """What a paper prints of one training under one metric.

    `numbers` are by calibrator, ``none`` for none, each from the first of `tables` that has it.
    """

    numbers: Mapping[str, PublishedNumber]
    tables: tuple[int, ...]

    @property
    def training(self) -> PublishedNumber:
        """The first number: it names paper, data, network, loss and metric of all."""
        return next(iter(self.numbers.values()))

    @property
    def doubts(self) -> tuple[PublishedNumber, ...]:
        """The numbers that are in doubt."""
        return tuple(number for number in self.numbers.values() if number.doubt != "none")


def numbers(filters: Filters) -> tuple[PublishedNumber, ...]:
    """Return what was asked for, in the order of the file."""
    return tuple(row for row in rows() if filters.keeps(row))


def lines(kept: Sequence[PublishedNumber]) -> list[Line]:
    """Return numbers as lines, by data, network, metric and loss.

    A training that two tables print differently has two lines.
    """
    trainings: dict[tuple[str, ...], list[dict[str, list[PublishedNumber]]]] = {}
    for row in kept:
        key = (row.paper, row.dataset, row.model, row.method, row.metric, row.ood_dataset)
        groups = trainings.setdefault(key, [])
        for group in groups:
            if row.posthoc not in group or group[row.posthoc][0].printed == row.printed:
                break
        else:
            group = {}
            groups.append(group)
        group.setdefault(row.posthoc, []).append(row)
    made = []
    for groups in trainings.values():
        for group in groups:
            tables = {int(row.table) for same in group.values() for row in same}
            firsts = {key: group[key][0] for key in POSTHOC if key in group}
            made.append(Line(firsts, tuple(sorted(tables))))

    def place(line: Line) -> tuple[int | str, ...]:
        of = line.training
        data, network, method = order(of)
        paper = list(PAPERS).index(of.paper)
        return data, network, of.metric, of.ood_dataset, method, paper, *line.tables

    return sorted(made, key=place)


@cache
def networks(data: str) -> tuple[str, ...]:
    """Return the networks that were trained on some data."""
    there = {row.model for row in numbers(Filters(data=data))}
    return tuple(name for name in NETWORKS if name in there)


@cache
def metrics(data: str, network: str, paper: str = "") -> tuple[str, ...]:
    """Return the metrics that are printed for a network on some data, the usual ones first."""
    there = {row.metric for row in numbers(Filters(data=data, network=network, paper=paper))}
    others = sorted(there - set(FIRST_METRICS), key=metric_label)
    return (*(key for key in FIRST_METRICS if key in there), *others)


@cache
def richest_paper(data: str, network: str, metric: str) -> str:
    """Return the paper with the most numbers of one kind: its trainings are alike."""
    kept = [row.paper for row in numbers(Filters(data=data, network=network, metric=metric))]
    return max(PAPERS, key=kept.count)


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What a run says of where it comes from.

    `data` is a key, empty where it is unknown; `network` what the papers call it, empty where they
    have none such; `n_train` None unless only some rows were taken; `n` the rows of its numbers.
    """

    data: str = ""
    data_label: str = ""
    network: str = ""
    network_label: str = ""
    n_train: int | None = None
    n: int

    @classmethod
    def of(cls, config: Mapping[str, Any] | None, folder: str, n: int) -> "RunFacts":
        """Return the facts of a training's config; `folder` names the pictures of a folder."""
        if not config or not isinstance(config.get("model"), str):
            return cls(n=n)
        data, network = str(config.get("data", "")), config["model"]
        entry = MODELS.get(network) or TEXT_MODELS.get(network)
        return cls(
            data=data,
            data_label=folder if data == "folder" else data_entry(data).label,
            network=networks_of(data).get(network, ""),
            network_label=entry.label if entry else network,
            n_train=config.get("n_train"),
            n=n,
        )

    def differences(self, data: str, network: str, images: str = "images") -> str:
        """Return in what a run differs from the papers' models of some network and data.

        `images` is what rows that are not texts are called.
        """
        if not self.data:
            return UNKNOWN
        parts = []
        if self.data != data:
            parts.append(f"data {self.data_label}, not {DATA[data]}")
        if self.network != network:
            parts.append(f"network {self.network_label}, not {NETWORKS[network]}")
        entry = DATASETS.get(data) or TEXT_DATA.get(data)
        sizes, rows = entry.sizes if entry else {}, "texts" if self.data in TEXT_DATA else images
        train, test = sizes.get("train"), sizes.get("test")
        if self.n_train is not None and self.n_train != train:
            instead = "" if train is None else f", not {count(train)}"
            parts.append(f"{count(self.n_train)} training {rows}{instead}")
        if test is not None and self.n != test:
            parts.append(f"{count(self.n)} test {rows}, not {count(test)}")
        if not parts:
            return f"Same data set, network and number of {rows}."
        return f"Differs: {'; '.join(parts)}."


@dataclass(frozen=True, kw_only=True)
class OwnRun:
    """A run beside the papers' numbers."""

    id: str
    name: str
    mark: RunMark
    facts: RunFacts
    numbers: OwnNumbers

    def sentence(self, metric: str, words: PublishedWords) -> str:
        """Return its numbers in words."""
        before, after = self.numbers.before, self.numbers.after.get("ts")
        if before is None or before.value is None:
            why = (before.reason if before else "") or self.numbers.why
            return f"{self.name}: not comparable, {why}."
        lead, unit = words.measure(metric)
        text = f"{self.name}: {lead}{with_interval(before, metric, unit)}."
        if after is None or after.score.value is None or after.temperature is None:
            return text
        fitted = f" (T = {two(after.temperature)})" if words.details else ""
        return f"{text} {words.after}{fitted}, {with_interval(after.score, metric, unit)}."


def with_interval(score: Score, metric: str, unit: str) -> str:
    """Return a number with its interval, in percent or nats."""
    ends = (score.value, score.low, score.high)
    write, write_span = (points, points_span) if in_percent(metric) else (three, three_span)
    interval = write_span(*ends)
    return f"{write(*ends)}{unit} ({interval})" if interval else f"{write(*ends)}{unit}"


@dataclass(frozen=True, kw_only=True)
class TrainedRun:
    """A run of the library that was trained as the papers say."""

    id: str
    name: str
    summary: Summary | None

    def result(self, *, details: bool) -> str:
        """Return what came of it: accuracy and ECE with its interval, by name or in plain words."""
        if self.summary is None or self.summary["ece"]["value"] is None:
            return ""
        ece, accuracy = self.summary["ece"], self.summary["accuracy"]
        ends = ece["value"], ece["low"], ece["high"]
        if details:
            text = f"ECE {with_span(*ends)}"
            return text if accuracy is None else f"{text}, accuracy {points(accuracy)}"
        interval = points_span(*ends)
        text = f"off by {points(*ends)} points{f' ({interval})' if interval else ''}"
        return text if accuracy is None else f"{text}, right {points(accuracy)} times in 100"
