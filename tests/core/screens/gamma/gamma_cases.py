"""Gamma histories made by hand, and by the rules themselves."""

import numpy as np

from core.histories import BinHistory
from core.losses.bins import ValidationBins
from core.screens.gamma.figures import HistoryGrid


def history(
    gamma, gap, *, count=None, accuracy=0.5, epoch=None, lower=None, upper=None, train=None,
    **moments,
):  # fmt: skip
    """A history of (E, B) gammas and gaps; bins are equally wide unless edges are given.

    `moments` are update and trained of each of the E.
    """
    gamma, gap = np.asarray(gamma, float), np.asarray(gap, float)
    n_epochs, n_bins = gamma.shape
    count = np.full(gamma.shape, 100) if count is None else np.asarray(count)
    edges = np.tile(np.linspace(0, 1, n_bins + 1), (n_epochs, 1))
    right = np.where(count > 0, np.broadcast_to(accuracy, gamma.shape), np.nan)
    says = right + gap
    return BinHistory(
        epoch=np.repeat(np.arange(n_epochs) if epoch is None else np.asarray(epoch), n_bins),
        bin=np.tile(np.arange(n_bins), n_epochs),
        lower=np.asarray(edges[:, :-1] if lower is None else lower, float).ravel(),
        upper=np.asarray(edges[:, 1:] if upper is None else upper, float).ravel(),
        count=count.ravel(),
        confidence=says.ravel(),
        accuracy=right.ravel(),
        gap=np.nan_to_num(says - right).ravel(),
        gamma=gamma.ravel(),
        train_confidence=np.full(gamma.size, np.nan)
        if train is None
        else np.asarray(train, float).ravel(),
        **{name: np.repeat(column, n_bins) for name, column in moments.items()},
    )


def grid(*args, **kwargs):
    return HistoryGrid.of(history(*args, **kwargs))


def followed(rule, says, right, count):
    """The history that a rule learns from (E, B) confidences, accuracies and counts."""
    gamma, rows = np.ones(says.shape[1]), []
    for e in range(len(says)):
        empty = count[e] == 0
        bins = ValidationBins(
            np.empty(0),
            count[e],
            np.where(empty, np.nan, says[e]),
            np.where(empty, np.nan, right[e]),
        )
        gamma = rule.update(gamma, bins).gamma
        rows.append(gamma)
    return grid(rows, says - right, count=count, accuracy=right)
