"""The papers' numbers as lines: one training, one metric, before and after calibrators."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from core.published import ALL, PAPERS, PublishedNumber, PublishedSetting, rows, settings
from core.screens.published.words import DATA, METHODS, NETWORKS, POSTHOC, metric_label

Moment = Literal["both", "before", "after"]
FIRST_METRICS: Final = ("ece_ew", "ece_em", "error", "accuracy", "nll")
FIRST_NETWORK: Final = "resnet50"


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

    def keeps(self, row: PublishedNumber) -> bool:
        """Whether a number was asked for."""
        of_row = (row.dataset, row.model, row.metric, row.paper)
        asked = (self.data, self.network, self.metric, self.paper)
        return (
            all(not key or key == value for key, value in zip(asked, of_row, strict=True))
            and (not self.methods or row.method in self.methods)
            and self.asks_for(row.posthoc)
        )

    def keeps_setting(self, row: PublishedSetting) -> bool:
        """Whether a hyper-parameter holds for some of the trainings that were asked for."""
        of_row = (row.dataset, row.model, row.paper)
        asked = (self.data, self.network, self.paper)
        return all(
            not key or key in names.split(";") or names == ALL
            for key, names in zip(asked, of_row, strict=True)
        ) and (not self.methods or any(self._concerns(name) for name in row.method.split(";")))

    def _concerns(self, name: str) -> bool:
        """Whether all losses, a calibrator, or a family of losses is one of those asked for."""
        return (
            name in (ALL, *POSTHOC)
            or name in self.methods
            or any(method.startswith(f"{name}_") for method in self.methods)
        )

    def asks_for(self, posthoc: str) -> bool:
        """Whether numbers after a calibrator, or after none, were asked for."""
        return self.moment == "both" or (self.moment == "before") == (posthoc == "none")


@dataclass(frozen=True, kw_only=True)
class Line:
    """What a paper prints of one training under one metric.

    Attributes
    ----------
    numbers : mapping of str to PublishedNumber
        By calibrator, ``none`` for none; from the first table that has it.
    tables : tuple of str
        All tables that have one of them, with the same digits.
    """

    paper: str
    dataset: str
    model: str
    method: str
    metric: str
    ood_dataset: str
    numbers: Mapping[str, PublishedNumber]
    tables: tuple[str, ...]

    @property
    def doubts(self) -> tuple[PublishedNumber, ...]:
        """The numbers that are in doubt."""
        return tuple(number for number in self.numbers.values() if number.doubt != "none")


def numbers(filters: Filters) -> tuple[PublishedNumber, ...]:
    """Return what was asked for, in the order of the file."""
    return tuple(row for row in rows() if filters.keeps(row))


def hyperparameters(filters: Filters) -> tuple[PublishedSetting, ...]:
    """Return what the papers state of the trainings that were asked for; any metric, any moment."""
    return tuple(row for row in settings() if filters.keeps_setting(row))


def lines(kept: Sequence[PublishedNumber]) -> tuple[Line, ...]:
    """Return numbers as lines, by data, network, metric and loss.

    A training that two tables print differently has two lines.
    """
    groups: dict[tuple[str, ...], list[dict[str, list[PublishedNumber]]]] = {}
    for row in kept:
        key = (row.paper, row.dataset, row.model, row.method, row.metric, row.ood_dataset)
        of_key = groups.setdefault(key, [])
        place = next((group for group in of_key if _fits(group, row)), None)
        if place is None:
            of_key.append({row.posthoc: [row]})
        else:
            place.setdefault(row.posthoc, []).append(row)
    made = [_line(group) for of_key in groups.values() for group in of_key]
    return tuple(sorted(made, key=_order))


def _fits(group: Mapping[str, Sequence[PublishedNumber]], row: PublishedNumber) -> bool:
    known = group.get(row.posthoc)
    return known is None or known[0].printed == row.printed


def _line(group: Mapping[str, Sequence[PublishedNumber]]) -> Line:
    every = [row for same in group.values() for row in same]
    first = every[0]
    return Line(
        paper=first.paper,
        dataset=first.dataset,
        model=first.model,
        method=first.method,
        metric=first.metric,
        ood_dataset=first.ood_dataset,
        numbers={key: group[key][0] for key in POSTHOC if key in group},
        tables=tuple(sorted({row.table for row in every}, key=int)),
    )


def _order(line: Line) -> tuple[int | str, ...]:
    places = (
        (DATA, line.dataset),
        (NETWORKS, line.model),
        (METHODS, line.method),
        (PAPERS, line.paper),
    )
    at = [list(table).index(key) for table, key in places]
    return (at[0], at[1], line.metric, line.ood_dataset, *at[2:], *map(int, line.tables))


@cache
def networks(data: str) -> tuple[str, ...]:
    """Return the networks that were trained on some data."""
    return _kept(NETWORKS, (row.model for row in numbers(Filters(data=data))))


@cache
def metrics(data: str, network: str) -> tuple[str, ...]:
    """Return the metrics that are printed for a network on some data, the usual ones first."""
    there = {row.metric for row in numbers(Filters(data=data, network=network))}
    others = sorted(there - set(FIRST_METRICS), key=metric_label)
    return (*(key for key in FIRST_METRICS if key in there), *others)


@cache
def methods() -> tuple[str, ...]:
    """Return every loss of the papers."""
    return _kept(METHODS, (row.method for row in rows()))


@cache
def usual_network(data: str) -> str:
    """Return the network that is shown first for some data."""
    there = networks(data)
    return FIRST_NETWORK if FIRST_NETWORK in there else there[0]


@cache
def richest_paper(data: str, network: str, metric: str) -> str:
    """Return the paper with the most numbers of one kind: its trainings are alike."""
    kept = [row.paper for row in numbers(Filters(data=data, network=network, metric=metric))]
    return max(PAPERS, key=kept.count)


def _kept(names: Iterable[str], there: Iterable[str]) -> tuple[str, ...]:
    kept = set(there)
    return tuple(name for name in names if name in kept)
