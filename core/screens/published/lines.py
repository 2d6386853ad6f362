"""The papers' numbers as lines: one training, one metric, before and after calibrators."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from core.published import ALL, PAPERS, PublishedNumber, PublishedSetting, rows
from core.screens.published.words import DATA, METHODS, NETWORKS, POSTHOC, metric_label

Moment = Literal["both", "before", "after"]
FIRST_METRICS: Final = ("ece_ew", "ece_em", "error", "accuracy", "nll")


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
        data, network = list(DATA).index(of.dataset), list(NETWORKS).index(of.model)
        method, paper = list(METHODS).index(of.method), list(PAPERS).index(of.paper)
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
