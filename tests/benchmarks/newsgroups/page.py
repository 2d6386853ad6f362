"""The tables of docs/measurements.md from the figures of docs/newsgroups.json, and the papers'."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from scipy.stats import t as student

from core.models.catalogue import TEXT_MODELS
from core.published import published
from core.training.config import PRECISIONS
from tests.benchmarks.newsgroups.figures import LOSSES, NETWORKS, SEEDS, RunFigures

LABELS: Final = {
    "ce": "cross-entropy",
    "brier": "Brier",
    "mmce": "MMCE, weighted",
    "flsd_53": "FLSD-53",
    "fcl": "FCL",
    "adafocal": "AdaFocal",
}
PAPERS: Final = {"mukhoti2020iclr": "M", "adafocal2022": "G", "fcl2024": "F"}
# Tables whose numbers another table of the same paper repeats are left out.
TABLES: Final = {
    "mukhoti2020iclr": ("1", "2", "3"),
    "adafocal2022": ("1", "2"),
    "fcl2024": ("1", "2", "6"),
}
Read = Callable[[RunFigures], float]


def spread(values: list[float], digits: int, scale: float = 1.0) -> str:
    """Return mean and the half-width of its 95 % interval (Student's t over the seeds)."""
    scaled = scale * np.array(values)
    half = student.ppf(0.975, len(values) - 1) * scaled.std(ddof=1) / np.sqrt(len(values))
    return f"{scaled.mean():.{digits}f} ± {half:.{digits}f}"


def lines(runs: Sequence[RunFigures], settings: Mapping[str, Any]) -> list[str]:
    """Return the tables of every network that has runs, in Markdown."""
    found: list[str] = []
    for network in NETWORKS:
        own = [run for run in runs if run.network == network]
        if own:
            found += [*_about(network, own, settings[network]), "", *_before(own), "", *_after(own)]
            found.append("")
    return found or ["Nothing has been trained yet."]


def _about(network: str, runs: Sequence[RunFigures], asked: Mapping[str, Any]) -> list[str]:
    """Return how a network was trained and how long."""
    vectors = "kept" if asked["text"]["fixed"] else "trained on"
    counts = {loss: sum(run.loss == loss for run in runs) for loss in LOSSES}
    short = [f"{LABELS[loss]} {n}" for loss, n in counts.items() if n < len(SEEDS)]
    missing = f" Fewer seeds than {len(SEEDS)}: {', '.join(short)}." if short else ""
    seconds = sum(run.seconds for run in runs) / len(runs)
    epochs = sorted(run.epoch for run in runs)
    precision = PRECISIONS[asked["precision"]].partition(":")[0]
    rate, length = asked["optimizer"]["lr"], asked["text"]["length"]
    return [
        f"**{TEXT_MODELS[network].label}**, `{network}`: {asked['epochs']} epochs, "
        f"rate {rate:g}, {length} words of each message, GloVe's vectors {vectors}, "
        f"steps in {precision}; {seconds:,.0f} s a training on one thread. The epoch that was kept "
        f"is number {epochs[0]} to {epochs[-1]}.{missing}"
    ]


def _before(runs: Sequence[RunFigures]) -> list[str]:
    columns: dict[str, tuple[Read, str, str]] = {
        "error %": (lambda run: run.error, "error", "none"),
        "ECE %": (lambda run: run.ece, "ece_ew", "none"),
        "ECE, equal mass %": (lambda run: run.ada_ece, "ece_em", "none"),
    }
    head = ["loss", *(cell for name in columns for cell in (name, "papers"))]
    rows = []
    for loss, own in _by_loss(runs):
        cells = [LABELS[loss]]
        for read, metric, posthoc in columns.values():
            cells += [_own(own, read, 100), papers(loss, metric, posthoc)]
        rows.append(cells)
    return _table(head, rows)


def _after(runs: Sequence[RunFigures]) -> list[str]:
    head = ["loss", "T, ECE", "papers", "ECE after %", "papers"]
    head += [
        "T, equal mass",
        "papers",
        "ECE after, equal mass %",
        "papers",
        "T, NLL",
        "ECE after %",
    ]
    rows = []
    for loss, own in _by_loss(runs):
        rows.append(
            [
                LABELS[loss],
                _own(own, lambda run: run.t_ece),
                temperatures(loss, "ece_ew"),
                _own(own, lambda run: run.ece_after, 100),
                papers(loss, "ece_ew", "ts"),
                _own(own, lambda run: run.t_ada_ece),
                temperatures(loss, "ece_em"),
                _own(own, lambda run: run.ada_ece_after, 100),
                papers(loss, "ece_em", "ts"),
                _own(own, lambda run: run.t_nll),
                _own(own, lambda run: run.ece_after_nll, 100),
            ]
        )
    return _table(head, rows)


def _by_loss(runs: Sequence[RunFigures]) -> list[tuple[str, list[RunFigures]]]:
    grouped = {loss: [run for run in runs if run.loss == loss] for loss in LOSSES}
    return [(loss, own) for loss, own in grouped.items() if own]


def _own(runs: Sequence[RunFigures], read: Read, scale: float = 1.0) -> str:
    """Return mean and half-width of the 95 % interval over the seeds; of one seed the value."""
    values = [read(run) for run in runs]
    return spread(values, 2, scale) if len(values) > 1 else f"{scale * values[0]:.2f}"


def papers(loss: str, metric: str, posthoc: str) -> str:
    """Return what the papers print of the global-pooling CNN, each number with its paper."""
    return ", ".join(f"{row.printed}{_mark(row)}" for row in _rows(loss, metric, posthoc))


def temperatures(loss: str, metric: str) -> str:
    """Return the temperatures that the papers print."""
    rows = _rows(loss, metric, "ts")
    return ", ".join(f"{row.temperature}{_mark(row)}" for row in rows if row.temperature)


def _rows(loss: str, metric: str, posthoc: str) -> list[Any]:
    return [
        row
        for row in published(
            dataset="20newsgroups", model="gp_cnn", method=loss, metric=metric, posthoc=posthoc
        )
        if row.table in TABLES[row.paper]
    ]


def _mark(row: Any) -> str:
    return f" {PAPERS[row.paper]}{'?' if row.doubt != 'none' else ''}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    written = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return [written[0], "|" + "---|" * len(head), *written[1:]]
