"""Runs of one's own beside the papers' numbers: what they are, and what differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from core.datasets.catalogue import DATASETS, TEXT_DATA, data_entry
from core.library.manifest import Summary
from core.losses.catalogue import LOSSES
from core.metrics.records import Score
from core.models.catalogue import MODELS, TEXT_MODELS
from core.published import MODELS as PRINTED
from core.published import PaperSetting
from core.screens.kit.numbers import count, points, points_span, three, three_span, two
from core.screens.kit.run_marks import RunMark
from core.screens.published.words import DATA, NETWORKS, PublishedWords, in_percent
from core.studies.published import OwnNumbers

ENDS: Final[tuple[Literal["value", "low", "high"], ...]] = ("value", "low", "high")
UNKNOWN: Final = "Data and network unknown: the run was uploaded."


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What a run says of where it comes from.

    Attributes
    ----------
    data, data_label : str
        Key of its data set, empty where it is unknown, and its name.
    network, network_label : str
        What the papers call its network, empty where they have none such, and its name.
    loss_label : str
        Name of its loss.
    n_train : int or None
        Training rows, where only some were taken.
    n : int
        Rows that its numbers rest on.
    """

    data: str = ""
    data_label: str = ""
    network: str = ""
    network_label: str = ""
    loss_label: str = ""
    n_train: int | None = None
    n: int

    @classmethod
    def of(cls, config: Mapping[str, Any] | None, folder: str, n: int) -> "RunFacts":
        """Return the facts of a training's config; `folder` names the pictures of a folder."""
        if not config or not isinstance(config.get("model"), str):
            return cls(n=n)
        data, network, loss = str(config.get("data", "")), config["model"], config.get("loss")
        name = loss.get("name") if isinstance(loss, dict) else None
        entry = MODELS.get(network) or TEXT_MODELS.get(network)
        return cls(
            data=data,
            data_label=folder if data == "folder" else data_entry(data).label,
            network=PRINTED.get(network, ""),
            network_label=entry.label if entry else network,
            loss_label=LOSSES[name].label if name in LOSSES else "",
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
        if self.n_train is not None and self.n_train != sizes.get("train"):
            parts.append(f"{count(self.n_train)} training {rows}{_against(sizes.get('train'))}")
        if sizes and self.n != sizes["test"]:
            parts.append(f"{count(self.n)} test {rows}{_against(sizes['test'])}")
        if not parts:
            return f"Same data set, network and number of {rows}."
        return f"Differs: {'; '.join(parts)}."


def _against(n: int | None) -> str:
    return "" if n is None else f", not {count(n)}"


@dataclass(frozen=True, kw_only=True)
class OwnRun:
    """A run beside the papers' numbers."""

    id: str
    name: str
    mark: RunMark
    facts: RunFacts
    numbers: OwnNumbers

    def told(self, metric: str, words: PublishedWords) -> str:
        """Return its numbers in a sentence."""
        before, after = self.numbers.before, self.numbers.after
        if before is None or before.value is None:
            why = self.numbers.why or (before.reason if before else "")
            return f"{self.name}: not comparable, {why}."
        lead, unit = words.measure(metric)
        text = f"{self.name}: {lead}{with_interval(before, metric, unit)}"
        if after is None or after.value is None or self.numbers.temperature is None:
            return f"{text}."
        fitted = f" (T = {two(self.numbers.temperature)})" if words.details else ""
        return f"{text}. {words.after}{fitted}, {with_interval(after, metric, unit)}."


def with_interval(score: Score, metric: str, unit: str) -> str:
    """Return a number with its interval, in percent or nats."""
    ends = (score.value, score.low, score.high)
    value, interval = (
        (points(*ends), points_span(*ends))
        if in_percent(metric)
        else (three(*ends), three_span(*ends))
    )
    return f"{value}{unit} ({interval})" if interval else f"{value}{unit}"


@dataclass(frozen=True, kw_only=True)
class TrainedRun:
    """A run of the library that trained what papers print numbers of."""

    id: str
    name: str
    setting: PaperSetting
    summary: Summary | None

    def result(self) -> str:
        """Return what came of it: accuracy and ECE with its interval."""
        if self.summary is None or self.summary["ece"]["value"] is None:
            return ""
        value, low, high = (self.summary["ece"][key] for key in ENDS)
        told = f"ECE {points(value, low, high)}"
        if interval := points_span(value, low, high):
            told += f" ({interval})"
        accuracy = self.summary["accuracy"]
        return told if accuracy is None else f"{told}, accuracy {points(accuracy)}"
