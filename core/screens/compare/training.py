"""How runs trained: a measure by epoch, training beside validation, and gammas."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.histories import BinHistory, History
from core.screens.compare.figures import add_letters
from core.screens.kit.numbers import finite, three
from core.screens.kit.records import Column, FigureCard, Table
from core.screens.kit.run_marks import RunMark
from core.screens.kit.text import safe
from core.screens.kit.theme import Theme, axis, faded, layout
from core.training.distributions import DOT

MOST = 6  # runs whose curves are told apart
HEIGHT = 300
LETTERS_PX = 44  # right of the plot
BAND = 0.14  # how opaque the span of gammas is
BANDS = 3  # runs whose spans are drawn; more would hide each other
RUN = Column("run", "run")
PARTS = {"val": "validation", "train": "training"}
TITLES = {
    "loss": "Loss",
    "nll": "NLL",
    "nll_correct": "NLL of right answers",
    "nll_wrong": "NLL of wrong answers",
    "error": "Error",
    "ece": "ECE",
    "ece_em": "Equal-mass ECE",
    "entropy_correct": "Entropy of right answers",
    "entropy_wrong": "Entropy of wrong answers",
    "p_true": "Probability of the true class",
    "last_layer_norm": "Weight norm of the last layer",
    "grad_norm": "Gradient norm",
    "last_layer_grad_norm": "Gradient norm of the last layer",
    "lr": "Learning rate",
}
HIDDEN = {"seconds", "images_per_second", "threads"}


@dataclass(frozen=True)
class TrainedCurve:
    """A run with its mark and what was measured while it trained."""

    name: str
    mark: RunMark
    history: History
    bins: BinHistory | None


class _Line(NamedTuple):
    run: TrainedCurve
    part: str
    epoch: Float
    value: Float


def measures(runs: Sequence[TrainedCurve]) -> dict[str, str]:
    """Return the measures that any run has, without their part, and their titles."""
    scores = {m for run in runs for m in set(run.history.metric) if DOT not in m}
    # val_ece is the ECE on validation
    parts = [(metric, metric.partition("_")) for metric in scores]
    recorded = {end if part in PARTS else metric for metric, (part, _, end) in parts} - HIDDEN
    known = {measure: title for measure, title in TITLES.items() if measure in recorded}
    others = sorted(recorded - known.keys())
    return known | {measure: measure.replace("_", " ").capitalize() for measure in others}


def training_card(runs: Sequence[TrainedCurve], measure: str) -> FigureCard | None:
    """Return a measure by epoch, at most MOST runs; None where none has it."""
    lines = []
    for run in runs[:MOST]:
        metrics = np.array(run.history.metric)
        for part in ("val", "train", ""):
            at = metrics == (f"{part}_{measure}" if part else measure)
            if at.any():
                epoch = run.history.epoch[at].astype(np.float64) + 1.0
                lines.append(_Line(run, part, epoch, run.history.value[at]))
    if not lines:
        return None
    title = measures(runs)[measure]
    both = {line.part for line in lines} == set(PARTS)
    last = "; ".join(
        f"{line.run.name} {PARTS.get(line.part, '')} {three(float(line.value[-1]))}".strip()
        for line in lines
    )
    columns = Column("epoch", "epoch", "count"), Column("value", "value", "three_alone")
    rows = tuple(
        (line.run.name, PARTS.get(line.part, ""), int(epoch), finite(value))
        for line in lines
        for epoch, value in zip(line.epoch, line.value, strict=True)
    )
    return FigureCard(
        key="training",
        title=title,
        explanation="by epoch" + ("; thin pale lines: training; thick: validation" if both else ""),
        draw=partial(_by_epoch, tuple(lines), title),
        alt=f"{title} by epoch. After the last: {last}.",
        table=Table((RUN, Column("part", "part"), *columns), rows),
        caption="Measured during training.",
    )


def _by_epoch(lines: Sequence[_Line], title: str, theme: Theme) -> go.Figure:
    figure = _frame(("epoch", title), [line.value for line in lines], theme)
    for line in lines:
        quiet = line.part == "train"
        figure.add_scatter(
            x=line.epoch,
            y=line.value,
            mode="lines",
            opacity=0.6 if quiet else 1.0,
            name=f"{line.run.mark.letter} {PARTS.get(line.part, '')}".strip(),
            **_of_run(line.run, "epoch %{x}: %{y:.3g}", theme, 1 if quiet else 2),
        )
    shown = [line for line in lines if line.part != "train"] or lines
    _add_letters(figure, [(line.run.mark, line.value) for line in shown], theme)
    return figure


def _of_run(run: TrainedCurve, hover: str, theme: Theme, width: int = 2) -> dict[str, Any]:
    """Return how the line of a run is drawn, and what it says when pointed at."""
    mark = run.mark
    return {
        "line": {"color": theme.runs[mark.colour], "width": width, "dash": mark.dash},
        "hovertemplate": f"<b>{mark.letter}</b> {safe(run.name)}<br>{hover}<extra></extra>",
    }


def _frame(titles: tuple[str, str], heights: Sequence[Float], theme: Theme) -> go.Figure:
    """Return an empty figure whose y axis holds 0 and all finite heights."""
    known = [height[np.isfinite(height)] for height in heights]
    low = min([0.0, *(float(height.min()) for height in known if height.size)])
    high = max([0.0, *(float(height.max()) for height in known if height.size)])
    pad = 0.05 * (high - low or 1.0)
    settings = layout(theme, HEIGHT)
    settings["margin"] |= {"r": LETTERS_PX}
    settings["xaxis"] = axis(theme, titles[0])
    settings["yaxis"] = axis(theme, titles[1], range=[low - pad * (low < 0), high + pad])
    return go.Figure(layout=settings)


def _add_letters(figure: go.Figure, curves: Sequence[tuple[RunMark, Float]], theme: Theme) -> None:
    """Put the letter of each curve beside its last finite value."""
    ends = [(mark, heights[np.isfinite(heights)]) for mark, heights in curves]
    add_letters(figure, [(mark, float(end[-1])) for mark, end in ends if end.size], theme)


def gammas_by_epoch_card(runs: Sequence[TrainedCurve]) -> FigureCard | None:
    """Return the gammas by epoch of the runs that have some, or None."""
    courses = []
    for run in runs[:MOST]:
        bins = run.bins
        if bins is None:
            continue
        _, starts = np.unique(bins.update, return_index=True)
        answers = np.add.reduceat(bins.count, starts).astype(np.float64)
        total = np.add.reduceat(bins.count * bins.gamma, starts)
        mean = np.divide(total, answers, out=np.full(len(answers), np.nan), where=answers > 0)
        low, high = (end.reduceat(bins.gamma, starts) for end in (np.minimum, np.maximum))
        courses.append(_Course(run, bins.trained[starts], low, mean, high))
    if not courses:
        return None
    last = "; ".join(
        f"{course.run.name} {three(float(course.low[-1]))} to {three(float(course.high[-1]))}"
        for course in courses
    )
    heads = {"low": "smallest gamma", "mean": "mean gamma", "high": "largest gamma"}
    columns = (Column(key, head, "three_alone") for key, head in heads.items())
    rows = tuple(
        (course.run.name, epoch.item(), float(low), finite(mean), float(high))
        for course in courses
        for epoch, low, mean, high in zip(*course[1:], strict=True)
    )
    return FigureCard(
        key="gammas_by_epoch",
        title="Gamma by epoch",
        explanation="mean over validation answers"
        + ("; band: smallest to largest bin" if len(courses) <= BANDS else ""),
        draw=partial(_gammas_by_epoch, tuple(courses)),
        alt=f"Gamma by epoch. After the last, over the bins: {last}.",
        table=Table((RUN, Column("epoch", "epoch", "number"), *columns), rows),
        caption="After each epoch's update, recorded during training.",
    )


class _Course(NamedTuple):
    """The gammas of a run by update: over its bins the smallest, the mean and the largest.

    The mean is over validation answers: what the loss of a typical answer is raised to.
    """

    run: TrainedCurve
    epoch: Float
    low: Float
    mean: Float
    high: Float


def _gammas_by_epoch(courses: Sequence[_Course], theme: Theme) -> go.Figure:
    banded = courses if len(courses) <= BANDS else ()
    heights = [course.mean for course in courses]
    heights += [end for course in banded for end in (course.low, course.high)]
    figure = _frame(("epoch", "gamma"), heights, theme)
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.2})
    for course in banded:
        figure.add_scatter(
            x=np.concatenate([course.epoch, course.epoch[::-1]]),
            y=np.concatenate([course.low, course.high[::-1]]),
            mode="lines",
            fill="toself",
            fillcolor=faded(theme.runs[course.run.mark.colour], BAND),
            line={"width": 0},
            hoverinfo="skip",
            name=f"{course.run.mark.letter} bins",
        )
    hover = "epoch %{x}: %{y:.2f} (%{customdata[0]:.2f} to %{customdata[1]:.2f})"
    for course in courses:
        figure.add_scatter(
            x=course.epoch,
            y=course.mean,
            mode="lines",
            name=course.run.mark.letter,
            customdata=np.stack([course.low, course.high], axis=1),
            **_of_run(course.run, hover, theme),
        )
    _add_letters(figure, [(course.run.mark, course.mean) for course in courses], theme)
    return figure


def gammas_card(runs: Sequence[TrainedCurve]) -> FigureCard | None:
    """Return the last gammas by confidence of the runs that have some, or None."""
    kept = [(run, run.bins) for run in runs[:MOST] if run.bins is not None]
    if not kept:
        return None
    curves = []
    for run, bins in kept:
        at = bins.update == bins.update[-1]
        curves.append((run, (bins.lower[at] + bins.upper[at]) / 2, bins.gamma[at]))
    ranges = "; ".join(
        f"{run.name} {three(float(gamma.min()))} to {three(float(gamma.max()))}"
        for run, _, gamma in curves
    )
    columns = Column("confidence", "bin centre", "share"), Column("gamma", "gamma", "three_alone")
    rows = tuple(
        (run.name, float(x), float(y))
        for run, middle, gamma in curves
        for x, y in zip(middle, gamma, strict=True)
    )
    return FigureCard(
        key="gammas",
        title="Gamma by confidence",
        explanation="after the last epoch; below 0: inverse focal loss",
        draw=partial(_by_confidence, tuple(curves)),
        alt=f"Gamma by confidence after the last epoch: {ranges}.",
        table=Table((RUN, *columns), rows),
        caption="The gammas that the next epoch would have used.",
    )


def _by_confidence(curves: Sequence[tuple[TrainedCurve, Float, Float]], theme: Theme) -> go.Figure:
    figure = _frame(("confidence", "gamma"), [gamma for *_, gamma in curves], theme)
    figure.update_xaxes(range=[0, 1.04], tickformat=".0%")
    figure.add_hline(y=0, line={"color": theme.quiet, "width": 1.2})
    for run, middle, gamma in curves:
        drawn = _of_run(run, "%{x:.0%}: %{y:.2f}", theme)
        drawn["line"] |= {"shape": "hvh"}
        marker, letter = {"size": 5}, run.mark.letter
        figure.add_scatter(
            x=middle, y=gamma, mode="lines+markers", marker=marker, name=letter, **drawn
        )
    _add_letters(figure, [(run.mark, gamma) for run, _, gamma in curves], theme)
    return figure
