"""Distributions of a training: gradients of single rows, reliability, logits by learned epoch."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from core.arrays import Float, Int
from core.histories import History
from core.library import open_library
from core.screens.kit.curves import SHARES, Colour, Dash, Plot, TheoryCurve
from core.screens.kit.numbers import count, percent, three
from core.screens.kit.records import Column, FigureCard
from core.training.distributions import (
    BINS,
    DECADES,
    DOT,
    N_NORMS,
    NORMS,
    RELIABILITY,
    column,
    learned_epochs,
    norm_middles,
)

DASHES = ("dot", "dash", "solid")
Parts = dict[int, dict[str, float]]
Read = Callable[[dict[str, float]], tuple[Float, Float]]
MIDDLES = norm_middles()


LEARNED_GROUPS = 4
LOGIT_BINS = 20


@dataclass(frozen=True, eq=False)
class LearnedRows:
    """When each of N validation rows was learned in E epochs, and its largest logit at the end.

    An `epoch` is 1 to E, or E + 1 where a row was never learned.
    """

    epoch: Int
    largest: Float
    n_epochs: int


def learned_rows(run_id: str) -> LearnedRows:
    """Return when the validation rows of a run of several classes were learned.

    LibraryError RUN_UNKNOWN, SPLIT_UNKNOWN, DAMAGED, or NO_HISTORY when no logits were kept;
    Refused NONFINITE.
    """
    library = open_library()
    logits = library.validation_logits(run_id)
    epoch = learned_epochs(logits, library.load(run_id, "val").labels)
    return LearnedRows(epoch, logits[-1].max(axis=-1).astype(np.float64), len(logits))


def learned_card(rows: LearnedRows) -> FigureCard:
    """Return the distribution of the largest logit, of rows grouped by their learned epoch."""
    last = rows.n_epochs
    spans = np.array_split(np.arange(1, last + 1), min(last, LEARNED_GROUPS))
    groups = [
        (f"epoch {span[0]}" if len(span) == 1 else f"epochs {span[0]} to {span[-1]}", span)
        for span in spans
    ]
    edges = np.histogram_bin_edges(rows.largest, LOGIT_BINS)
    curves, medians = [], []
    styles: list[tuple[Colour, Dash]] = [(0, "solid"), (1, "dash"), (2, "dot"), (3, "dashdot")]
    styles[len(groups) :] = [("ink", "longdash")]
    groups.append(("never", np.array([last + 1])))
    for (name, span), (colour, dash) in zip(groups, styles, strict=True):
        largest = rows.largest[np.isin(rows.epoch, span)]
        if not largest.size:
            continue
        share = np.histogram(largest, edges)[0] / largest.size
        named = f"{name} (n = {count(largest.size)})"
        curves.append(TheoryCurve(named, (edges[:-1] + edges[1:]) / 2, share, colour, dash))
        medians.append(f"{name} {three(float(np.median(largest)))}")
    return Plot(
        curves=tuple(curves),
        across="Largest logit",
        up="Share of the group",
        y={"rangemode": "tozero", "tickformat": ".0%"},
        hover="logit %{x:.2f}: %{y:.1%}",
    ).card(
        "learned",
        "Largest logit by learned epoch",
        "validation, at the end",
        (Column("logit", "largest logit", "number"), Column("share", "share", "share")),
        alt=f"Distribution of the largest logit after epoch {count(last)}, by learned epoch. "
        f"Medians: {', '.join(medians)}.",
        caption="As Ghosh et al. 2022, figure 34, but of validation rows; the paper's are training "
        "rows. From its learned epoch on, a row is answered right to the end.",
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
    for name, make in ((NORMS, norms_card), (RELIABILITY, reliability_card)):
        start = name + DOT
        own = {e: v for e, v in parts.items() if any(key.startswith(start) for key in v)}
        if own:
            cards.append(make(own))
    return tuple(cards)


def _curves(
    parts: Parts, x_and_y: Callable[[dict[str, float]], tuple[Float, Float]]
) -> list[TheoryCurve]:
    dashes = DASHES[-len(parts) :]
    curves = []
    for (epoch, values), dash in zip(parts.items(), dashes, strict=True):
        x, y = x_and_y(values)
        curves.append(
            TheoryCurve(f"epoch {count(epoch)}", x, y, dash=dash, width=2.0, dots=len(x) < 2)
        )
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
    diagonal = TheoryCurve("calibrated", ends, ends, "quiet", "dash", 1.2, tabled=False)
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
