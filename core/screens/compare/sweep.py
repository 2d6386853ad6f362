"""A metric of many runs against a setting or another metric, runs of one recipe as a band."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import plotly.graph_objects as go

from core.datasets.catalogue import DATASETS, TEXT_DATA, DataEntry
from core.losses.catalogue import LOSSES, LossEntry
from core.metrics.comparison import Compared
from core.metrics.paired import PAIRED
from core.models.catalogue import OURS, TEXT_MODELS, ModelEntry
from core.screens.kit.curves import legend
from core.screens.kit.differences import HEADS, HIGHER, IN_POINTS, NamedRun, value_kind
from core.screens.kit.forms import FORMS
from core.screens.kit.numbers import MISSING, three
from core.screens.kit.records import Cell, Column, FigureCard, Table
from core.screens.kit.run_marks import DASHES, RunMark
from core.screens.kit.tables import Estimate, PageColumn, ScoreTable, TableRow
from core.screens.kit.text import safe
from core.screens.kit.theme import Theme, axis, faded, layout
from core.screens.kit.words import LABELS
from core.studies.comparison import Setting, Trained, seed_groups, summary

HEIGHT = 340
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
    figure = _frame(across, up, theme)
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
            hovertext=[
                f"<b>{safe(point.name)}</b><br>{safe(str(point.x))}: {_mean_words(point)}"
                for point in line.points
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    return figure


def _frame(across: str, up: str, theme: Theme) -> go.Figure:
    settings = layout(theme, HEIGHT)
    settings["xaxis"], settings["yaxis"] = axis(theme, across), axis(theme, up)
    return go.Figure(layout=settings)


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
        f"{LABELS[metric]} is better {'higher' if metric in HIGHER else 'lower'}"
        for metric in (across, up)
    )
    columns = (Column(metric, LABELS[metric], value_kind(metric)) for metric in (across, up))
    return FigureCard(
        key="scatter",
        title=f"{LABELS[up]} against {LABELS[across]}",
        explanation="one dot per run",
        draw=partial(scatter, tuple(dots), HEADS[across], HEADS[up]),
        alt=f"{LABELS[across]} and {LABELS[up]} of {len(dots)} runs: {listed}.",
        table=Table((Column("run", "run"), *columns), rows),
        caption=f"{better}. No difference here is tested.",
    )


def scatter(
    dots: Sequence[tuple[str, RunMark | None, float, float]], across: str, up: str, theme: Theme
) -> go.Figure:
    """Draw one metric against another, a dot a run."""
    figure = _frame(across, up, theme)
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
        hovertext=[f"<b>{safe(name)}</b><br>{three(x)}, {three(y)}" for name, _, x, y in dots],
        hovertemplate="%{hovertext}<extra></extra>",
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
    shown = tuple(PageColumn(metric, HEADS[metric], value_kind(metric)) for metric in PAIRED)
    columns = (Column(f"{m}{end}", LABELS[m]) for m in PAIRED for end in ("", "_sd"))
    return ScoreTable(
        "Recipe",
        (PageColumn("seeds", "Seeds", "count"), *shown),
        (Column("run", "run"), Column("seeds", "seeds"), *columns),
        tuple(rows),
    )
