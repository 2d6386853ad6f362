"""How runs trained: a measure by epoch, training beside validation, and the last gammas."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.histories import BinHistory, History
from core.screens.kit.numbers import three
from core.screens.kit.records import Column, FigureCard, Table
from core.screens.kit.run_marks import RunMark
from core.screens.kit.text import safe
from core.screens.kit.theme import Theme, axis, layout

MOST = 6  # runs whose curves are told apart
HEIGHT = 300
PARTS = {"val": "validation", "train": "training"}
TITLES = {
    "loss": "Loss",
    "nll": "NLL",
    "nll_correct": "NLL of right answers",
    "nll_wrong": "NLL of wrong answers",
    "error": "Error",
    "ece": "ECE",
    "ece_em": "Equal-mass ECE",
    "entropy_wrong": "Entropy of wrong answers",
    "p_true": "Probability of the true class",
    "last_layer_norm": "Weight norm of the last layer",
    "grad_norm": "Gradient norm",
    "last_layer_grad_norm": "Gradient norm of the last layer",
    "lr": "Learning rate",
}
HIDDEN = {"seconds", "images_per_second"}


@dataclass(frozen=True)
class TrainedCurve:
    """A run with its mark and what was measured while it trained."""

    name: str
    mark: RunMark
    history: History
    bins: BinHistory | None


@dataclass(frozen=True)
class _Line:
    run: TrainedCurve
    part: str
    epoch: Float
    value: Float


def measures(runs: Sequence[TrainedCurve]) -> dict[str, str]:
    """Return the measures that any run has, without their part, and their titles."""
    found = {_split(metric)[1] for run in runs for metric in set(run.history.metric)} - HIDDEN
    known = {measure: title for measure, title in TITLES.items() if measure in found}
    others = sorted(found - known.keys())
    return known | {measure: measure.replace("_", " ").capitalize() for measure in others}


def _split(metric: str) -> tuple[str, str]:
    """Return the part of the data and the measure: val_ece is the ECE on validation."""
    part, _, measure = metric.partition("_")
    return (part, measure) if part in PARTS else ("", metric)


def training_card(runs: Sequence[TrainedCurve], measure: str) -> FigureCard | None:
    """Return a measure by epoch, at most MOST runs; None where none has it."""
    lines = [line for run in runs[:MOST] for line in _lines(run, measure)]
    if not lines:
        return None
    title = measures(runs)[measure]
    both = {line.part for line in lines} == set(PARTS)
    last = "; ".join(
        f"{line.run.name} {PARTS.get(line.part, '')} {three(float(line.value[-1]))}".strip()
        for line in lines
    )
    return FigureCard(
        key="training",
        title=title,
        explanation="by epoch" + ("; thin and dotted: training, full: validation" if both else ""),
        draw=partial(_by_epoch, tuple(lines), title),
        alt=f"{title} by epoch. After the last: {last}.",
        table=Table(
            (
                Column("run", "run"),
                Column("part", "part"),
                Column("epoch", "epoch", "count"),
                Column("value", "value", "three_alone"),
            ),
            tuple(
                (line.run.name, PARTS.get(line.part, ""), int(epoch), _known(value))
                for line in lines
                for epoch, value in zip(line.epoch, line.value, strict=True)
            ),
        ),
        caption="As measured while the run trained.",
    )


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _lines(run: TrainedCurve, measure: str) -> list[_Line]:
    metrics = np.array(run.history.metric)
    lines = []
    for part in ("val", "train", ""):
        at = metrics == (f"{part}_{measure}" if part else measure)
        if at.any():
            epoch = run.history.epoch[at].astype(np.float64) + 1.0
            lines.append(_Line(run, part, epoch, run.history.value[at]))
    return lines


def _by_epoch(lines: Sequence[_Line], title: str, theme: Theme) -> go.Figure:
    settings = layout(theme, HEIGHT)
    settings["xaxis"] = axis(theme, "epoch")
    settings["yaxis"] = axis(theme, title, rangemode="tozero")
    figure = go.Figure(layout=settings)
    for line in lines:
        quiet = line.part == "train"
        mark = line.run.mark
        figure.add_scatter(
            x=line.epoch,
            y=line.value,
            mode="lines",
            line={
                "color": theme.runs[mark.colour],
                "width": 1.2 if quiet else 2,
                "dash": "dot" if quiet else "solid",
            },
            name=f"{mark.letter} {PARTS.get(line.part, '')}".strip(),
            hovertemplate=f"<b>{mark.letter}</b> {safe(line.run.name)}<br>"
            "epoch %{x}: %{y:.3g}<extra></extra>",
        )
    return figure


def gammas_card(runs: Sequence[TrainedCurve]) -> FigureCard | None:
    """Return the last gammas by confidence of the runs that have some, or None."""
    kept = [(run, run.bins) for run in runs[:MOST] if run.bins is not None]
    if not kept:
        return None
    curves = []
    for run, bins in kept:
        at = bins.epoch == bins.epoch[-1]
        curves.append((run, (bins.lower[at] + bins.upper[at]) / 2, bins.gamma[at]))
    ranges = "; ".join(
        f"{run.name} {three(float(gamma.min()))} to {three(float(gamma.max()))}"
        for run, _, gamma in curves
    )
    return FigureCard(
        key="gammas",
        title="Gamma by confidence",
        explanation="after the last epoch; below 0 inverse focal loss",
        draw=partial(_by_confidence, tuple(curves)),
        alt=f"Gamma by confidence after the last epoch: {ranges}.",
        table=Table(
            (
                Column("run", "run"),
                Column("confidence", "middle of the bin", "share"),
                Column("gamma", "gamma", "three_alone"),
            ),
            tuple(
                (run.name, float(x), float(y))
                for run, middle, gamma in curves
                for x, y in zip(middle, gamma, strict=True)
            ),
        ),
        caption="The gammas that the next epoch would have used.",
    )


def _by_confidence(curves: Sequence[tuple[TrainedCurve, Float, Float]], theme: Theme) -> go.Figure:
    settings = layout(theme, HEIGHT)
    settings["xaxis"] = axis(theme, "confidence", range=[0, 1.04], tickformat=".0%")
    settings["yaxis"] = axis(theme, "gamma")
    figure = go.Figure(layout=settings)
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.2})
    for run, middle, gamma in curves:
        figure.add_scatter(
            x=middle,
            y=gamma,
            mode="lines+markers",
            line={"color": theme.runs[run.mark.colour], "width": 2, "shape": "hvh"},
            marker={"size": 5},
            name=run.mark.letter,
            hovertemplate=f"<b>{run.mark.letter}</b> {safe(run.name)}<br>"
            "%{x:.0%}: %{y:.2f}<extra></extra>",
        )
    return figure
