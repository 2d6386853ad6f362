"""Distributions of a training: gradients of single rows, reliability, logits by learned epoch."""

from collections.abc import Callable

import numpy as np

from core.arrays import Float
from core.histories import History
from core.library import open_library
from core.screens.kit.curves import SHARES, Colour, Dash, Plot, TheoryCurve
from core.screens.kit.numbers import count, percent, three
from core.screens.kit.records import Column, FigureCard
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
    learned_epochs,
    learned_logits,
    norm_middles,
)

DASHES = ("dot", "dash", "solid")
Parts = dict[int, dict[str, float]]
Read = Callable[[dict[str, float]], tuple[Float, Float]]
MIDDLES = norm_middles()


def learned_parts(run_id: str) -> Parts:
    """Return what `learned_card` draws, from the logits of a run that has not recorded it.

    LibraryError RUN_UNKNOWN, SPLIT_UNKNOWN, DAMAGED, or NO_HISTORY when no logits were kept;
    Refused NONFINITE.
    """
    library = open_library()
    logits = library.validation_logits(run_id)
    epoch = learned_epochs(logits, library.load(run_id, "val").labels)
    largest = logits[-1].max(axis=-1).astype(np.float64)
    return {len(logits): learned_logits(epoch, largest, len(logits))}


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
        curves.append(TheoryCurve(named, (ends[0] + ends[1]) / 2, rows / rows.sum(), colour, dash))
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
        "validation, at the end",
        (Column("logit", "largest logit", "number"), Column("share", "share", "share")),
        alt=f"Distribution of the largest logit after epoch {count(n_epochs)}, by learned epoch. "
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
    made = (NORMS, norms_card), (RELIABILITY, reliability_card), (LEARNED, learned_card)
    for name, make in made:
        start = name + DOT
        own = {e: v for e, v in parts.items() if any(key.startswith(start) for key in v)}
        if own:
            cards.append(make(own))
    return tuple(cards)


def _curves(parts: Parts, read: Read) -> list[TheoryCurve]:
    curves = []
    for (epoch, values), dash in zip(parts.items(), DASHES[-len(parts) :], strict=True):
        x, y = read(values)
        curves.append(TheoryCurve(f"epoch {count(epoch)}", x, y, dash=dash, dots=len(x) < 2))
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
