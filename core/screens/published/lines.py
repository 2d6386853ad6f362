"""Lines of the page: the papers' numbers by training and metric, and runs of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from core.datasets.catalogue import DATASETS, TEXT_DATA, data_entry
from core.library.manifest import Summary
from core.metrics.records import Score
from core.models.catalogue import MODELS, TEXT_MODELS
from core.published import ALL, PAPERS, PublishedNumber, PublishedSetting, networks_of, rows
from core.screens.kit.numbers import count, points, points_span, three, three_span, two, with_span
from core.screens.kit.run_marks import RunMark
from core.screens.published.words import (
    DATA,
    NETWORKS,
    POSTHOC,
    PublishedWords,
    in_percent,
    metric_label,
    order,
)
from core.studies.published import OwnNumbers

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

    def differences(self, data: str, network: str) -> str:
        """Return in what a run differs from the papers' models of some network and data."""
        if not self.data:
            return UNKNOWN
        parts = []
        if self.data != data:
            parts.append(f"data {self.data_label}, not {DATA[data]}")
        if self.network != network:
            parts.append(f"network {self.network_label}, not {NETWORKS[network]}")
        entry = DATASETS.get(data) or TEXT_DATA.get(data)
        sizes, rows = entry.sizes if entry else {}, "texts" if self.data in TEXT_DATA else "images"
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

    def result(self) -> str:
        """Return what came of it: accuracy and ECE with its interval."""
        if self.summary is None or self.summary["ece"]["value"] is None:
            return ""
        ece, accuracy = self.summary["ece"], self.summary["accuracy"]
        text = f"ECE {with_span(ece['value'], ece['low'], ece['high'])}"
        return text if accuracy is None else f"{text}, accuracy {points(accuracy)}"
