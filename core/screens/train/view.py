"""A training as figures: curves and one beside them, gradients, reliability and logits by epoch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from core.arrays import Float, Int
from core.histories import History
from core.screens.kit.curves import SHARES, Colour, Curve, Dash, Plot, legend, sheet, tint
from core.screens.kit.marks import RunMark, marks
from core.screens.kit.numbers import Kind, count, finite, percent, points, three
from core.screens.kit.records import Cell, Column, FigureCard, Table, columns_of
from core.screens.kit.text import clean, safe, short
from core.screens.kit.theme import Theme, axis
from core.screens.kit.words import with_row_noun
from core.training.distributions import (
    BINS,
    DECADES,
    DOT,
    LEARNED,
    LEARNED_GROUPS,
    LOGIT_BINS,
    N_NORMS,
    NORMS,
    RELIABILITY,
    column,
    norm_middles,
)

Unit = Literal["share", "points", "nats", "number", "rate"]
IN_PERCENT = ("share", "points")  # of fractions
HEIGHT = 212
WITH_LEGEND = 26  # more pixels
MOST_POINTS = 600  # of a line: more than it has pixels
DOTS_UP_TO = 12  # epochs with a value: so few are shown each
MOST_TICKS = 6
DECADE = 10.0  # a rate that falls by more is drawn on a logarithmic axis


@dataclass(frozen=True)
class MeasurePanel:
    """What is drawn: lines of one unit over the epochs that were asked for.

    Epochs count from 1; a value is NaN where there was nothing to measure.
    """

    lines: tuple[Curve, ...]
    unit: Unit
    n_epochs: int
    named: bool = False
    across: str = "epoch"


def kept(value: Float, most: int = MOST_POINTS) -> Int:
    """Return which points of a long line are drawn: of each stretch the lowest and the highest.

    First and last stay too, so a spike of one epoch in ten thousand is seen.
    """
    n = len(value)
    if n <= most:
        return np.arange(n)
    chosen = {0, n - 1}
    for block in np.array_split(np.arange(n), most // 2 - 1):
        known = block[np.isfinite(value[block])]
        if known.size:
            chosen |= {int(known[value[known].argmin()]), int(known[value[known].argmax()])}
        else:
            chosen.add(int(block[0]))
    return np.array(sorted(chosen))


def panel(measure: MeasurePanel, theme: Theme) -> go.Figure:
    """Draw a measure by epoch; the axis holds all epochs that were asked for from the start."""
    last = max([measure.n_epochs, *(int(line.x.max(initial=1)) for line in measure.lines)])
    pad = 0.03 * max(last - 1, 1)
    # Ticks at whole epochs only
    few = {"tick0": 1, "dtick": 1} if last <= MOST_TICKS else {"nticks": MOST_TICKS}
    ticks = {"tickformat": ",d", **few}
    x = axis(theme, measure.across, range=[1 - pad, last + pad], showgrid=False, **ticks)
    up: dict[str, Any] = {"nticks": 5}  # Any: plotly's settings
    values = np.concatenate([line.y for line in measure.lines])
    values = values[np.isfinite(values) & (values > 0)]
    if measure.unit in ("share", "nats", "points"):
        up["rangemode"] = "tozero"
    elif measure.unit == "rate" and values.size and values.max() > DECADE * values.min():
        up |= {"type": "log", "exponentformat": "power", "dtick": 1}
    if measure.unit == "share":
        up["ticksuffix"] = " %"
    more = WITH_LEGEND * measure.named
    figure = sheet(
        theme,
        HEIGHT + more,
        x,
        axis(theme, **up),
        margin=(52, 18, 14 + more, 38),
        showlegend=measure.named,
        legend=legend(theme),
    )
    digits = {"share": ".2f} %", "points": ".2f}"}.get(measure.unit, ".3~g}")
    scale = 100.0 if measure.unit in IN_PERCENT else 1.0
    for line in measure.lines:
        at, colour = kept(line.y), tint(line.colour, theme)
        known = int(np.isfinite(line.y).sum())
        name = safe(short(line.name, 40))
        figure.add_scatter(
            x=line.x[at],
            y=scale * line.y[at],
            name=name,
            mode="lines+markers" if known <= DOTS_UP_TO else "lines",
            line={"color": colour, "width": line.width, "dash": line.dash, "simplify": False},
            marker={"size": 4.5, "color": colour},
            hovertemplate=f"<b>{name}</b><br>{measure.across} %{{x}}: %{{y:{digits}<extra></extra>",
        )
    return figure


TRAINING, VALIDATION, TEST = "training", "validation", "test"
EQUAL_MASS = "equal mass"
# Distributions of a training.
DASHES = {TRAINING: "dot", TEST: "dashdot", EQUAL_MASS: "dash"}
OVERLAY = "dash"


@dataclass(frozen=True)
class RunCurves:
    """A run whose curves are drawn: its id, its name, its history, and the epochs asked for."""

    id: str
    name: str
    history: History
    n_epochs: int


@dataclass(frozen=True)
class Measure:
    """What one panel shows.

    `lines` maps a metric of the history to its name, "" where it is the only one.
    """

    key: str
    title: str
    explanation: str
    unit: Unit
    lines: dict[str, str]
    source: str
    across: str = "epoch"


_MUKHOTI = "Mukhoti et al. 2020, figure"
_GHOSH = "Ghosh et al. 2022, figures 4 and 41 to 55"
PANELS = (
    Measure("nll_wrong", "NLL of wrong answers", "validation, nats", "nats", {"val_nll_wrong": ""},
            f"As {_MUKHOTI} 3(c): it rises as the model grows more confident in its mistakes"),
    Measure("nll_right", "NLL of right answers", "validation, nats", "nats",
            {"val_nll_correct": ""}, f"As {_MUKHOTI} 3(b)"),
    Measure("entropy_wrong", "Entropy of wrong answers", "validation, nats", "nats",
            {"val_entropy_wrong": ""},
            f"As {_MUKHOTI} 3(d): it falls as the model grows more confident in its mistakes"),
    Measure("entropy_right", "Entropy of right answers", "validation, nats", "nats",
            {"val_entropy_correct": ""}, f"Beside {_MUKHOTI} 3(d)"),
    Measure("error", "Error", "validation", "share", {"val_error": ""}, f"As {_MUKHOTI} 1(c)"),
    Measure("ece", "ECE", "validation, 15 bins of equal width", "share", {"val_ece": ""},
            f"As {_MUKHOTI} 3(g)"),
)  # fmt: skip


def _parts(key: str, title: str, unit: Unit, metric: str, source: str) -> Measure:
    """Return a measure of training, validation and, where it was measured, of the test set."""
    lines = {f"val_{metric}": VALIDATION, f"train_{metric}": TRAINING, f"test_{metric}": TEST}
    return Measure(
        key, title, "training, validation, test if measured", unit, lines, f"As {source}"
    )


PARTS = (
    _parts("error_parts", "Error of each part", "share", "error", f"{_GHOSH}; {_MUKHOTI} 1"),
    _parts("nll_wrong_parts", "NLL of wrong answers", "nats", "nll_wrong", f"{_MUKHOTI} 1 and 3"),
    _parts("nll_right_parts", "NLL of right answers", "nats", "nll_correct", f"{_MUKHOTI} 1 and 3"),
    _parts("p_wrong", "p of the true class, wrong answers", "share", "p_true_wrong",
           f"{_MUKHOTI} 3(e, f)"),
    _parts("p_right", "p of the true class, right answers", "share", "p_true_correct",
           f"{_MUKHOTI} 3(e, f)"),
    _parts("confidence_wrong", "Confidence of errors", "share", "confidence_wrong",
           f"{_MUKHOTI} 3"),
    Measure("ece_rules", "ECE by rule", "validation, 15 bins", "share",
            {"val_ece": "equal width", "val_ece_em": EQUAL_MASS}, f"As {_GHOSH}"),
    Measure("ece_test", "ECE, test set", "15 bins; nothing is chosen by it", "share",
            {"test_ece": "equal width", "test_ece_em": EQUAL_MASS}, f"As {_GHOSH}"),
    Measure("logit_norm", "Norm of the logits", "training and validation, mean over rows", "number",
            {"val_logit_norm": VALIDATION, "train_logit_norm": TRAINING},
            f"Beside {_MUKHOTI} 3(h); of training images while the weights still change"),
)  # fmt: skip
MORE = (
    Measure("norm", "Weight norm of the last layer", "", "number", {"last_layer_norm": ""},
            f"As {_MUKHOTI} 3(h)"),
    Measure("loss", "Loss", "training loss, on training and validation images", "number",
            {"val_loss": VALIDATION, "train_loss": TRAINING},
            "Means over rows; on training images, while the weights still change"),
    Measure("rate", "Learning rate", "", "rate", {"lr": ""}, "As scheduled"),
)  # fmt: skip
PLAIN = (
    Measure("error", "How often it was wrong", "on pictures it does not learn from", "share",
            {"val_error": ""}, "Counted after each round through the pictures", "round"),
    Measure("ece", "How far off its certainty was", "points on average", "points", {"val_ece": ""},
            "What it says against how often it was right, after each round", "round"),
)  # fmt: skip
BEST = {
    "val_ece": "ECE",
    "val_ece_em": "Equal-mass ECE",
    "val_error": "Error",
    "val_nll": "NLL",
    "val_loss": "Loss",
}


def series(history: History) -> dict[str, tuple[Int, Float]]:
    """Return each metric by epoch: epochs from 1, and values."""
    rows: dict[str, tuple[list[int], list[float]]] = {}
    for epoch, metric, value in zip(
        history.epoch.tolist(), history.metric, history.value.tolist(), strict=True
    ):
        epochs, values = rows.setdefault(metric, ([], []))
        epochs.append(epoch + 1)
        values.append(value)
    return {metric: (np.array(e, np.int64), np.array(v)) for metric, (e, v) in rows.items()}


def run_marks(runs: Sequence[RunCurves]) -> tuple[RunMark, ...]:
    """Return letters and colours; the first run is a solid line, the one beside it dashed."""
    return tuple(
        RunMark(mark.letter, mark.colour, OVERLAY if i else "solid")
        for i, mark in enumerate(marks([run.id for run in runs]))
    )


def cards(measures: Sequence[Measure], runs: Sequence[RunCurves]) -> tuple[FigureCard, ...]:
    """Return a figure for each measure that a run has; the first run is the one that is open."""
    tables = [series(run.history) for run in runs]
    return tuple(
        _card(measure, runs, tables)
        for measure in measures
        if any(metric in table for metric in measure.lines for table in tables)
    )


def _card(
    measure: Measure, runs: Sequence[RunCurves], tables: Sequence[dict[str, tuple[Int, Float]]]
) -> FigureCard:
    lines: list[Curve] = []
    courses: list[str] = []
    rows: list[tuple[Cell, ...]] = []
    for run, mark, table in zip(runs, run_marks(runs), tables, strict=True):
        for metric, name in measure.lines.items():
            if metric not in table:
                continue
            epoch, value = table[metric]
            who = " ".join(filter(None, (mark.letter if len(runs) > 1 else "", name)))
            label = who if name else f"{mark.letter} {clean(run.name)}"
            dash, width = DASHES.get(name, mark.dash), 1.3 if name == TRAINING else 2.0
            lines.append(Curve(label, epoch, value, mark.colour, dash, width))
            words = _course(epoch, value, measure)
            courses.append(f"{who or clean(run.name)}: {words}")
            rows += [
                (clean(run.name), name or measure.title, int(epoch[i]), finite(value[i]))
                for i in kept(value)
            ]
    n_done, n_epochs = runs[0].history.n_epochs, runs[0].n_epochs
    done = f"{count(n_done)} {measure.across}{'' if n_done == 1 else 's'}"
    if n_done < n_epochs:
        done = f"{count(n_done)} of {count(n_epochs)} {measure.across}s so far"
    kind: Kind = "share" if measure.unit in IN_PERCENT else "number"
    columns = (
        *columns_of(run="run", measure="measure"),
        Column("epoch", measure.across, "count"),
        Column("value", "value", kind),
    )
    most, named = max(run.n_epochs for run in runs), len(measure.lines) > 1
    measure_panel = MeasurePanel(tuple(lines), measure.unit, most, named, measure.across)
    return FigureCard(
        key=measure.key,
        title=measure.title,
        explanation=with_row_noun(measure.explanation),
        draw=partial(panel, measure_panel),
        alt=f"{measure.title} by {measure.across}. {'; '.join(courses)}.",
        table=Table(columns, tuple(rows)),
        caption=f"{with_row_noun(measure.source)}. {done}.",
    )


def best_epoch(run: RunCurves, metric: str) -> str:
    """Return after which epoch a metric of the validation set was lowest, and its last value."""
    name = BEST[metric]
    epoch, value = series(run.history).get(metric, (np.zeros(0, np.int64), np.zeros(0)))
    at = np.flatnonzero(np.isfinite(value))
    if not at.size:
        return f"{name} was not recorded."
    write = percent if metric in ("val_ece", "val_ece_em", "val_error") else three
    low = at[value[at].argmin()]
    best = f"{name} was lowest after epoch {count(int(epoch[low]))}: {write(float(value[low]))}"
    if low == at[-1]:
        return f"{best}, the last so far."
    return f"{best}. After epoch {count(int(epoch[at[-1]]))} it is {write(float(value[at[-1]]))}."


def _course(epoch: Int, value: Float, measure: Measure) -> str:
    """Return where a line begins and ends, and its lowest point."""
    at = np.flatnonzero(np.isfinite(value))
    if not at.size:
        return "no value yet"
    write = {"share": percent, "points": points}.get(measure.unit, three)
    round_ = measure.across
    first, last, low = at[0], at[-1], at[value[at].argmin()]
    words = f"{write(float(value[first]))} after {round_} {epoch[first]}"
    if last != first:
        words += f", {write(float(value[last]))} after {round_} {epoch[last]}"
    if low not in (first, last):
        words += f", lowest {write(float(value[low]))} after {round_} {epoch[low]}"
    missing = len(value) - at.size
    return words + (f", {count(missing)} {round_}s without a value" if missing else "")


EPOCH_DASHES = ("dot", "dash", "solid")
Parts = dict[int, dict[str, float]]
Read = Callable[[dict[str, float]], tuple[Float, Float]]
MIDDLES = norm_middles()


def learned_card(parts: Parts) -> FigureCard:
    """Return the distribution of the largest logit, of rows grouped by their learned epoch."""
    n_epochs = max(parts)
    values = parts[n_epochs]
    ends = [column(values, LEARNED, name, LOGIT_BINS) for name in ("lower", "upper")]
    firsts, lasts, middles = (
        column(values, LEARNED, name, LEARNED_GROUPS + 1) for name in ("first", "last", "median")
    )
    styles: list[tuple[Colour, Dash]] = [(0, "solid"), (1, "dash"), (2, "dot"), (3, "dashdot")]
    curves, medians = [], []
    for g in np.flatnonzero(np.isfinite(firsts)).tolist():
        first, last = int(firsts[g]), int(lasts[g])
        name = f"epoch {first}" if first == last else f"epochs {first} to {last}"
        colour, dash = styles[g] if g < len(styles) else ("ink", "longdash")
        if first > n_epochs:
            name, (colour, dash) = "never", ("ink", "longdash")
        rows = column(values, LEARNED, f"of{g}", LOGIT_BINS)
        named = f"{name} (n = {count(int(rows.sum()))})"
        curves.append(Curve(named, (ends[0] + ends[1]) / 2, rows / rows.sum(), colour, dash))
        medians.append(f"{name} {three(middles[g])}")
    return Plot(
        curves=tuple(curves),
        across="Largest logit",
        up="Share of the group",
        y={"rangemode": "tozero", "tickformat": ".0%"},
        hover="logit %{x:.2f}: %{y:.1%}",
    ).card(
        LEARNED,
        "Largest logit by learned epoch",
        "training, at the end",
        (Column("logit", "largest logit", "number"), Column("share", "share", "share")),
        alt=f"Distribution of the largest logit after epoch {count(n_epochs)}, by learned epoch. "
        f"Medians: {', '.join(medians)}.",
        caption="As Ghosh et al. 2022, figure 34. From its learned epoch on, a training row is "
        "answered right to the end, each time it is trained on.",
        curve=Column("learned", "learned"),
    )


def distribution_cards(history: History) -> tuple[FigureCard, ...]:
    """Return a figure for each distribution that a history holds, each at up to three epochs."""
    # The first, the middle and the last epoch, counted from 1
    epochs = np.unique(history.epoch)
    shown = {int(epochs[at]) for at in (0, (len(epochs) - 1) // 2, -1)} if len(epochs) else set()
    parts: Parts = {epoch + 1: {} for epoch in sorted(shown)}
    rows = zip(history.epoch.tolist(), history.metric, history.value.tolist(), strict=True)
    for epoch, metric, value in rows:
        if epoch in shown and DOT in metric:
            parts[epoch + 1][metric] = value
    cards = []
    made = (NORMS, norms_card), (RELIABILITY, reliability_card), (LEARNED, learned_card)
    for name, make in made:
        start = name + DOT
        own = {e: v for e, v in parts.items() if any(key.startswith(start) for key in v)}
        if own:
            cards.append(make(own))
    return tuple(cards)


def _curves(parts: Parts, read: Read) -> list[Curve]:
    curves = []
    for (epoch, values), dash in zip(parts.items(), EPOCH_DASHES[-len(parts) :], strict=True):
        x, y = read(values)
        curves.append(Curve(f"epoch {count(epoch)}", x, y, dash=dash, dots=len(x) < 2))
    return curves


def norms_card(parts: Parts) -> FigureCard:
    """Return the gradient norms of single images, by epoch."""

    def share(values: dict[str, float]) -> tuple[Float, Float]:
        return MIDDLES, np.nan_to_num(column(values, NORMS, "share", N_NORMS))

    curves = _curves(parts, share)
    heights = [curve.y for curve in curves]
    used = np.flatnonzero(np.max(heights, axis=0))
    ends = [np.log10(MIDDLES[used[0]]) - 0.5, np.log10(MIDDLES[used[-1]]) + 0.5]
    middles = ", ".join(
        f"{curve.name} {MIDDLES[int(np.searchsorted(np.cumsum(curve.y), 0.5))]:.1e}"
        for curve in curves
    )
    low, high = DECADES
    return Plot(
        curves=tuple(curves),
        across="Gradient norm of one image",
        up="Share of images",
        x={"type": "log", "range": ends, "exponentformat": "power", "dtick": 1},
        y={"rangemode": "tozero", "tickformat": ".0%"},
        hover="norm %{x:.1e}: %{y:.1%}",
    ).card(
        "norms",
        "Gradient norms",
        "last layer, one image at a time",
        (Column("norm", "norm", "number"), Column("share", "share", "share")),
        alt=f"Histograms of the gradient norms of single training images. Medians near {middles}.",
        caption="As Mukhoti et al. 2020, figure 4, on up to 512 training images. Norms beyond "
        f"1e{low} and 1e{high} are counted at the ends.",
        curve=Column("epoch", "epoch"),
    )


def reliability_card(parts: Parts) -> FigureCard:
    """Return the reliability of the training rows, by epoch."""

    def dots(values: dict[str, float]) -> tuple[Float, Float]:
        filled = np.isfinite(column(values, RELIABILITY, "count", BINS))
        confidence = column(values, RELIABILITY, "confidence", BINS)[filled]
        return confidence, column(values, RELIABILITY, "accuracy", BINS)[filled]

    curves = _curves(parts, dots)
    ends = np.array([0.0, 1.0])
    diagonal = Curve("calibrated", ends, ends, "quiet", "dash", 1.2, tabled=False)
    errors = []
    for epoch, values in parts.items():
        n, says, right = (
            np.nan_to_num(column(values, RELIABILITY, what, BINS))
            for what in ("count", "confidence", "accuracy")
        )
        errors.append(f"{epoch}: {percent(float(n @ np.abs(says - right) / n.sum()))}")
    gaps = ", ".join(errors)
    return Plot(
        curves=(diagonal, *curves),
        across="Confidence",
        up="Accuracy",
        x=SHARES,
        y=SHARES,
        hover="says %{x:.1%}, right %{y:.1%}",
    ).card(
        "train_bins",
        "Training reliability",
        f"{BINS} bins of equal width",
        (Column("confidence", "confidence", "share"), Column("accuracy", "accuracy", "share")),
        alt=f"Reliability on the training set. ECE after epoch {gaps}.",
        caption="As Mukhoti et al. 2020, figure 2, on images as seen in training. ECE after epoch "
        f"{gaps}.",
        curve=Column("epoch", "epoch"),
    )
