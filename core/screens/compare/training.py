"""How runs trained, by epoch, and a metric of many runs against a setting or another metric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float
from core.datasets.catalogue import DATASETS, TEXT_DATA, DataEntry
from core.histories import BinHistory, History
from core.losses.catalogue import LOSSES, LossEntry
from core.metrics.comparison import Compared
from core.metrics.paired import PAIRED
from core.models.catalogue import OURS, TEXT_MODELS, ModelEntry
from core.screens.compare.view import add_letters
from core.screens.kit.curves import area, hovers, legend, sheet
from core.screens.kit.differences import HEADS, HIGHER, IN_POINTS, NamedRun, value_kind
from core.screens.kit.differences import name as metric_name
from core.screens.kit.marks import DASHES, RunMark
from core.screens.kit.numbers import FORMS, MISSING, finite, three
from core.screens.kit.records import (
    Cell,
    Column,
    Estimate,
    FigureCard,
    ScoreTable,
    Table,
    TableRow,
)
from core.screens.kit.text import safe
from core.screens.kit.theme import Theme, axis, faded
from core.screens.kit.words import LABELS
from core.studies.comparison import Setting, Trained, seed_groups, summary
from core.training.distributions import DOT

SWEEP_HEIGHT = 340
LINES = 6  # recipes that differ in more than the setting drawn; more are grey
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
NAMES = {
    "loss.name": "Loss",
    "loss.gamma": "Gamma",
    "loss.lambda": "Lambda",
    "loss.n_bins": "Bins",
    "loss.s_th": "S_th",
    "loss.gamma_max": "Gamma, highest",
    "loss.gamma_min": "Gamma, lowest",
    "epochs": "Epochs",
    "batch_size": "Batch size",
    "optimizer.lr": "Learning rate",
    "optimizer.weight_decay": "Weight decay",
    "n_train": "Training images",
    "model": "Model",
    "data": "Data",
}
ENTRIES: Mapping[str, Mapping[str, LossEntry | ModelEntry | DataEntry]] = {
    "loss.name": LOSSES,
    "model": OURS | TEXT_MODELS,
    "data": DATASETS | TEXT_DATA,
}


@dataclass(frozen=True)
class RecipePoint:
    """Runs that differ in their seed alone, at one value of a setting; in the axis' unit.

    `letters` are those of their badges, empty where they have none.
    """

    name: str
    letters: str
    x: Setting
    values: tuple[float, ...]
    mean: float
    spread: float | None


@dataclass(frozen=True)
class RecipeLine:
    """Recipes that differ in the setting alone, in its order."""

    name: str
    points: tuple[RecipePoint, ...]


def setting_name(setting: str) -> str:
    """Return what a setting is called on the page."""
    plain = setting.rpartition(".")[2].replace("_", " ").capitalize()
    return NAMES.get(setting, plain)


def setting_value(setting: str, value: Setting) -> Setting:
    """Return a value as the page writes it: losses, networks and data by their printed names."""
    entry = ENTRIES.get(setting, {}).get(str(value))
    return entry.label if entry else value


def sweep_card(
    names: Sequence[NamedRun],
    runs: Sequence[Compared],
    trained: Sequence[Trained | None],
    setting: str,
    metric: str,
    marks: Mapping[str, RunMark] | None = None,
) -> FigureCard | None:
    """Return a metric, one of `PAIRED`, against a setting of `Trained.values`; None without both.

    `marks` are the badges of runs, by their ids.
    """
    badges = marks or {}
    by_rest: dict[object, list[RecipePoint]] = {}
    firsts: dict[object, str] = {}
    for group in seed_groups(trained):
        recipe = trained[group[0]]
        values = tuple(v for i in group if (v := _value(runs[i], metric)) is not None)
        if recipe is None or setting not in recipe.values or not values:
            continue
        kept = [name for name in recipe.values if name != setting]
        if setting == "loss.name":  # a loss brings settings of its own
            kept = [name for name in kept if not name.startswith("loss.")]
        rest = tuple(sorted((name, recipe.values[name]) for name in kept))
        over_seeds = summary(values)
        firsts.setdefault(rest, names[group[0]].name)
        ids = [names[i].id for i in group]
        letters = " ".join(badges[run_id].letter for run_id in ids if run_id in badges)
        named = ", ".join(names[i].name for i in group)
        x = setting_value(setting, recipe.values[setting])
        point = RecipePoint(named, letters, x, values, over_seeds.mean, over_seeds.spread)
        by_rest.setdefault(rest, []).append(point)
    lines = tuple(
        RecipeLine(firsts[rest], tuple(sorted(points, key=lambda p: (isinstance(p.x, str), p.x))))
        for rest, points in by_rest.items()
    )
    points = [point for line in lines for point in line.points]
    if not points:
        return None
    scale, kind = _scale(metric), value_kind(metric)
    rows = tuple(
        (p.name, p.x, len(p.values), p.mean / scale, None if p.spread is None else p.spread / scale)
        for p in points
    )
    listed = "; ".join(f"{point.x} {_mean_words(point)}" for point in points[:12])
    seeds = any(len(point.values) > 1 for point in points)
    nominal = any(isinstance(point.x, str) for point in points)  # no order to join
    named = setting_name(setting)
    inside = named if named == "S_th" else named.lower()
    runs_column, seeds_column = Column("runs", "runs"), Column("seeds", "seeds", "count")
    both = Column("mean", "mean", kind), Column("standard_deviation", "standard deviation", kind)
    columns = runs_column, Column("setting", named, "three_alone"), seeds_column, *both
    return FigureCard(
        key="sweep",
        title=f"{LABELS[metric]} by {inside}",
        explanation="mean over seeds ± standard deviation" if seeds else "one dot per run",
        draw=partial(sweep, lines, named, HEADS[metric], nominal),
        alt=f"{LABELS[metric]} by {named}: {listed}.",
        table=Table(columns, rows),
        caption="Runs that differ only in their seed are one point. "
        + ("" if nominal else "A line joins recipes that differ only in this setting. ")
        + "No difference here is tested.",
    )


def sweep(
    lines: Sequence[RecipeLine], across: str, up: str, nominal: bool, theme: Theme
) -> go.Figure:
    """Draw each recipe's means over the band of its seeds, joined where values have an order."""
    figure = sheet(theme, SWEEP_HEIGHT, axis(theme, across), axis(theme, up))
    several = [line for line in lines if len(line.points) > 1]
    if len(several) > 1:
        figure.update_layout(showlegend=True, legend=legend(theme), margin={"t": 40})
    for line in lines:
        place = several.index(line) if line in several else LINES
        colour = theme.runs[place] if place < LINES else theme.bars
        dash, symbol = (DASHES[place], SYMBOLS[place]) if place < LINES else ("solid", "circle")
        x = [point.x for point in line.points]
        if all(point.spread is not None for point in line.points) and len(x) > 1 and not nominal:
            ends = [(p.mean - (p.spread or 0.0), p.mean + (p.spread or 0.0)) for p in line.points]
            y = [*(low for low, _ in ends), *(high for _, high in reversed(ends))]
            filled = {"fill": "toself", "fillcolor": faded(colour, 0.16), "line": {"width": 0}}
            unseen = {"hoverinfo": "skip", "showlegend": False}
            figure.add_scatter(x=[*x, *x[::-1]], y=y, mode="lines", **filled, **unseen)
        spreads = [point.spread or 0.0 for point in line.points]
        words = [
            f"<b>{safe(point.name)}</b><br>{safe(str(point.x))}: {_mean_words(point)}"
            for point in line.points
        ]
        figure.add_scatter(
            x=x,
            y=[point.mean for point in line.points],
            error_y={"array": spreads, "color": colour, "thickness": 1, "width": 0},
            mode="markers+text" if nominal else "lines+markers+text",
            text=[point.letters for point in line.points],
            textposition="top center",
            textfont={"size": 12, "color": theme.ink},
            cliponaxis=False,
            line={"color": colour, "width": 1.6, "dash": dash},
            marker={"size": 8, "color": colour, "symbol": symbol},
            name=safe(line.name),
            showlegend=place < LINES,
            **hovers(words),
        )
    return figure


def _mean_words(point: RecipePoint) -> str:
    spread = "" if point.spread is None else f" ± {three(point.spread)}"
    return f"{three(point.mean)}{spread}"


def _scale(metric: str) -> float:
    return 100.0 if metric in IN_POINTS else 1.0


def _value(run: Compared, metric: str) -> float | None:
    score = run.audit.main.metrics.get(metric)
    return None if score is None or score.value is None else _scale(metric) * score.value


def scatter_card(
    names: Sequence[NamedRun],
    runs: Sequence[Compared],
    across: str,
    up: str,
    marks: Mapping[str, RunMark] | None = None,
) -> FigureCard | None:
    """Return one metric of the runs against another, lettered; None where no run has both."""
    worn = marks or {}
    dots = [
        (named.name, worn.get(named.id), x, y)
        for named, run in zip(names, runs, strict=True)
        if (x := _value(run, across)) is not None and (y := _value(run, up)) is not None
    ]
    if not dots:
        return None
    rows = tuple((name, x / _scale(across), y / _scale(up)) for name, _, x, y in dots)
    listed = "; ".join(f"{name} {three(x)}, {three(y)}" for name, _, x, y in dots[:12])
    better = " and ".join(
        f"{'higher' if metric in HIGHER else 'lower'} {metric_name(metric)}"
        for metric in (across, up)
    )
    columns = (Column(metric, LABELS[metric], value_kind(metric)) for metric in (across, up))
    return FigureCard(
        key="scatter",
        title=f"{LABELS[up]} against {metric_name(across)}",
        explanation="one dot per run",
        draw=partial(scatter, tuple(dots), HEADS[across], HEADS[up]),
        alt=f"{LABELS[across]} and {LABELS[up]} of {len(dots)} runs: {listed}.",
        table=Table((Column("run", "run"), *columns), rows),
        caption=f"{better[:1].upper()}{better[1:]} are better. No difference here is tested.",
    )


def scatter(
    dots: Sequence[tuple[str, RunMark | None, float, float]], across: str, up: str, theme: Theme
) -> go.Figure:
    """Draw one metric against another, a dot a run."""
    figure = sheet(theme, SWEEP_HEIGHT, axis(theme, across), axis(theme, up))
    figure.add_scatter(
        x=[x for *_, x, _ in dots],
        y=[y for *_, y in dots],
        mode="markers+text",
        text=[mark.letter if mark else "" for _, mark, *_ in dots],
        textposition="top center",
        textfont={"size": 12, "color": theme.ink},
        cliponaxis=False,
        marker={
            "size": 9,
            "color": [theme.runs[mark.colour] if mark else theme.bars for _, mark, *_ in dots],
            "line": {"color": theme.paper, "width": 1},
        },
        **hovers([f"<b>{safe(name)}</b><br>{three(x)}, {three(y)}" for name, _, x, y in dots]),
    )
    return figure


def seeds_table(
    names: Sequence[NamedRun], runs: Sequence[Compared], trained: Sequence[Trained | None]
) -> ScoreTable | None:
    """Return the mean and standard deviation of each metric over seeds; None without groups."""
    groups = [group for group in seed_groups(trained) if len(group) > 1]
    if not groups:
        return None
    rows = []
    for group in groups:
        first = names[group[0]].name
        cells: dict[str, Estimate | Cell] = {"run": first, "seeds": len(group)}
        for metric in PAIRED:
            scores = [runs[i].audit.main.metrics.get(metric) for i in group]
            values = [score.value for score in scores if score and score.value is not None]
            if not values:
                cells[metric] = Estimate(reason="no run in the group has a value")
                continue
            over_seeds, spread = summary(values), MISSING
            if over_seeds.spread is not None:
                spread = f"± {FORMS[value_kind(metric)](over_seeds.spread, None, None)[0]}"
            cells[metric] = Estimate(over_seeds.mean, note=spread)
            cells[f"{metric}_sd"] = over_seeds.spread
        notes = (f"and {len(group) - 1} more, by seed",)
        rows.append(TableRow(name=first, notes=notes, cells=cells))
    shown = tuple(Column(metric, HEADS[metric], value_kind(metric)) for metric in PAIRED)
    columns = (Column(f"{m}{end}", LABELS[m]) for m in PAIRED for end in ("", "_sd"))
    return ScoreTable(
        "Recipe",
        (Column("seeds", "Seeds", "count"), *shown),
        (Column("run", "run"), Column("seeds", "seeds"), *columns),
        tuple(rows),
    )


# Measures by epoch.
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
    up = axis(theme, titles[1], range=[low - pad * (low < 0), high + pad])
    return sheet(theme, HEIGHT, axis(theme, titles[0]), up, margin=(58, LETTERS_PX, 14, 46))


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
        caption="After each epoch’s update, recorded during training.",
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
        mark, ends = course.run.mark, ((course.epoch, course.low), (course.epoch, course.high))
        figure.add_trace(area(f"{mark.letter} bins", *ends, faded(theme.runs[mark.colour], BAND)))
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
