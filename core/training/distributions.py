"""Distributions of an epoch, kept among its metrics as `name.bin.what`; numpy.

A metric whose name holds a dot is a part of a distribution and no score of its own.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from core.arrays import Bool, Float, Int
from core.defaults import N_BINS
from core.histories import BinHistory, History
from core.losses.bins import validation_bins
from core.metrics.binning import equal_width_cuts, sums
from core.metrics.ranked import SortedOutcomes
from core.predictions import Outcomes

DOT: Final = "."
BINS: Final = 25  # Mukhoti et al. 2020, figure 2
RELIABILITY, NORMS, VALIDATION = "train_bins", "row_grad_norm", "val_bins"
OF_TRAINING: Final = ("train_top", "train_own", "own_lower", "own_upper")
LEARNED: Final = "train_learned"
LEARNED_GROUPS, LOGIT_BINS = 4, 20
DECADES: Final = (-8, 2)  # of norms; what lies beyond counts in the bins at the ends
PER_DECADE: Final = 3
N_NORMS: Final = PER_DECADE * (DECADES[1] - DECADES[0])


def reliability(confidence: Float, correct: Bool) -> dict[str, float]:
    """Return count, mean confidence and accuracy of BINS bins of equal width; empty ones left out.

    Parameters
    ----------
    confidence : (M,) float64 in [0, 1]
        Of the answers given to training rows.
    correct : (M,) bool
    """
    ranked = SortedOutcomes.of(Outcomes(confidence, correct))
    bins = sums(ranked, equal_width_cuts(ranked, BINS))
    parts = {"count": bins.count, "confidence": bins.confidence, "accuracy": bins.hits}
    return {
        f"{RELIABILITY}.{b}.{what}": float(total[b] / (1 if what == "count" else bins.count[b]))
        for b in np.flatnonzero(bins.count).tolist()
        for what, total in parts.items()
    }


def correspondence(validation: Outcomes, p_true: Float, top: Float) -> dict[str, float]:
    """Return N_BINS bins of equal mass of validation answers, and what training says in them.

    Parameters
    ----------
    validation : Outcomes
        Answers of the validation part.
    p_true, top : (M,) float64
        Of the rows as they were trained on: probability of what is true, and of the answer.

    Returns
    -------
    dict
        By bin `lower`, `upper`, `count`, `confidence` and `accuracy` of validation, and mean
        training confidences: `train` and `train_top` of the rows between these edges, `train_own`
        of the true class in bins that training has for itself, from `own_lower` to `own_upper`.
        Empty ones are left out.

    References
    ----------
    Ghosh et al. 2022, figures 1(b), 2 and 7 to 14.
    """
    # Edges are those of the validation answers; training rows
    # are sorted into them, as AdaFocal does.
    bins = validation_bins(validation, N_BINS)
    columns = {
        "lower": bins.edges[:-1],
        "upper": bins.edges[1:],
        "count": bins.count.astype(np.float64),
        "confidence": bins.confidence,
        "accuracy": bins.accuracy,
    }
    for name, values in (("train", p_true), ("train_top", top)):
        place = np.searchsorted(bins.edges[1:-1], values, side="right")
        count = np.bincount(place, minlength=N_BINS)
        total = np.bincount(place, weights=values, minlength=N_BINS)
        columns[name] = np.divide(total, count, out=np.full(N_BINS, np.nan), where=count > 0)
    # And once into bins of equal mass of their own, in which no
    # bin is empty however the two differ.
    own = np.array_split(np.sort(p_true), N_BINS)
    for name, of in (("train_own", np.mean), ("own_lower", np.min), ("own_upper", np.max)):
        columns[name] = np.array([of(rows) if rows.size else np.nan for rows in own])
    return {
        f"{VALIDATION}.{b}.{name}": float(values[b])
        for name, values in columns.items()
        for b in np.flatnonzero(np.isfinite(values)).tolist()
    }


def validation_history(history: History) -> tuple[BinHistory, dict[str, Float]] | None:
    """Return the validation bins by epoch of any loss, and OF_TRAINING of their training rows.

    Gamma is 0 in all of them; the others are (E, B). None where a history has no such bins.
    """
    # Long form, a row a number, to one dict an epoch; epochs without bins are of older versions.
    epochs: dict[int, dict[str, float]] = {}
    rows = zip(history.epoch.tolist(), history.metric, history.value.tolist(), strict=True)
    for epoch, metric, value in rows:
        if metric.startswith(f"{VALIDATION}."):
            epochs.setdefault(epoch, {})[metric] = value
    if not epochs:
        return None
    lower, upper, count, confidence, accuracy, train, *of_training = (
        np.array([column(parts, VALIDATION, name, N_BINS) for parts in epochs.values()])
        for name in ("lower", "upper", "count", "confidence", "accuracy", "train", *OF_TRAINING)
    )
    bins = BinHistory(
        epoch=np.repeat(list(epochs), N_BINS),
        bin=np.tile(np.arange(N_BINS), len(epochs)),
        lower=lower.ravel(),
        upper=upper.ravel(),
        count=count.astype(np.int64).ravel(),
        confidence=confidence.ravel(),
        accuracy=accuracy.ravel(),
        gap=np.nan_to_num(confidence - accuracy).ravel(),
        gamma=np.zeros(lower.size),
        train_confidence=train.ravel(),
        trained=np.repeat(list(epochs), N_BINS) + (1.0 if history.epoch.min() == 0 else 0.0),
    )
    return bins, dict(zip(OF_TRAINING, of_training, strict=True))


def learned_logits(learned: Int, largest: Float, n_epochs: int) -> dict[str, float]:
    """Return how the largest logit at the end is spread over rows of each span of learned epochs.

    Parameters
    ----------
    learned : (N,) int64 in 1..E + 1
        The epoch from which a training row is answered right to the end; E + 1 where it is not.
    largest : (N,) float64
    n_epochs : int
        E.

    Returns
    -------
    dict
        By bin of logits `lower`, `upper` and the counts of rows of each group `of0`, `of1`...; by
        group `first` and `last` epoch and `median`. Bins and groups are numbered apart, both from
        0. Groups are as many spans of epochs as there are epochs, at most LEARNED_GROUPS, and
        after them the rows that were never learned (E + 1); groups without rows are left out, and
        so are logits that are not finite. Empty where none is.

    References
    ----------
    Ghosh et al. 2022, appendix M and figure 34.
    """
    finite = np.isfinite(largest)
    if not finite.any():
        return {}
    learned, largest = learned[finite], largest[finite]
    # The same edges for all groups, or their histograms could not be laid over each other.
    edges = np.histogram_bin_edges(largest, LOGIT_BINS)
    spans = np.array_split(np.arange(1, n_epochs + 1), min(n_epochs, LEARNED_GROUPS))
    parts: dict[str, float] = {}
    for b in range(LOGIT_BINS):
        parts |= {f"{b}.lower": float(edges[b]), f"{b}.upper": float(edges[b + 1])}
    for g, span in enumerate([*spans, np.array([n_epochs + 1])]):
        rows = largest[(learned >= span[0]) & (learned <= span[-1])]
        if rows.size:
            parts |= {f"{g}.first": float(span[0]), f"{g}.last": float(span[-1])}
            parts[f"{g}.median"] = float(np.median(rows))
            counts = np.histogram(rows, edges)[0]
            parts |= {f"{b}.of{g}": float(n) for b, n in enumerate(counts.tolist())}
    return {f"{LEARNED}.{name}": value for name, value in parts.items()}


def norm_histogram(norms: Float) -> dict[str, float]:
    """Return the share of (M,) norms in each of N_NORMS bins, even in their logarithm."""
    low, high = DECADES
    # A row that is answered with certainty has a gradient of 0, which counts in the lowest bin.
    with np.errstate(divide="ignore"):
        place = np.floor(PER_DECADE * (np.log10(norms) - low))
    bins = np.clip(np.nan_to_num(place, neginf=0.0), 0, PER_DECADE * (high - low) - 1)
    count = np.bincount(bins.astype(np.int64), minlength=N_NORMS)
    return {
        f"{NORMS}.{b}.share": float(count[b] / norms.size) for b in np.flatnonzero(count).tolist()
    }


def column(values: Mapping[str, float], name: str, what: str, n: int) -> Float:
    """Return one quantity of a distribution by bin, (n,) float64, NaN where a bin is empty."""
    return np.array([values.get(f"{name}.{b}.{what}", np.nan) for b in range(n)])


def norm_middles() -> Float:
    """Return the middle of each bin of norms, (N_NORMS,)."""
    return np.asarray(10.0 ** (DECADES[0] + (np.arange(N_NORMS) + 0.5) / PER_DECADE))
