"""Runs of one's own beside the papers' numbers: what they are, and what differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from core.datasets.catalogue import DATASETS, TEXT_DATA, data_entry
from core.library.manifest import Summary
from core.metrics.records import Score
from core.models.catalogue import MODELS, TEXT_MODELS
from core.published import networks_of
from core.screens.kit.numbers import count, points, points_span, three, three_span, two, with_span
from core.screens.kit.run_marks import RunMark
from core.screens.published.words import DATA, NETWORKS, PublishedWords, in_percent
from core.studies.published import OwnNumbers

UNKNOWN: Final = "Data and network unknown: the run was uploaded."


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
