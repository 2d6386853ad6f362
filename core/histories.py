"""What happened while a model trained: metrics by epoch, and bins with their gammas by epoch.

Imports numpy and our arrays, defaults and errors only.
"""

from dataclasses import dataclass, field, fields

import numpy as np

from core import defaults
from core.arrays import Bool, Float, Int, frozen
from core.errors import Refused

SLACK = 1e-9  # by which rounding may carry a mean or an edge beyond where it belongs
GAP_SLACK = 1e-6
LAST_EPOCH = 10**9  # places and differences of epochs stay whole numbers of 64 bits


@dataclass(frozen=True, eq=False)
class History:
    """Metrics by epoch, one row for each value."""

    epoch: Int  # (R,), from 0
    metric: tuple[str, ...]  # what the value is
    value: Float  # (R,), NaN where the metric has no value

    def __post_init__(self) -> None:
        """Freeze the columns."""
        assert len(self.epoch) == len(self.metric) == len(self.value)
        object.__setattr__(self, "epoch", frozen(self.epoch.astype(np.int64, copy=False)))
        object.__setattr__(self, "value", frozen(self.value.astype(np.float64, copy=False)))

    @property
    def n_epochs(self) -> int:
        """Number of different epochs."""
        return len(np.unique(self.epoch))

    def last(self) -> dict[str, float]:
        """Return each metric of the last epoch; NaN where it has no value."""
        newest = self.epoch.max(initial=0)
        rows = zip(self.epoch.tolist(), self.metric, self.value.tolist(), strict=True)
        return {metric: value for epoch, metric, value in rows if epoch == newest}


@dataclass(frozen=True, eq=False)
class BinHistory:
    """Validation bins and gammas by update, one row for each bin; sorted by update, then bin.

    Raises Refused EMPTY, TABLE_SIZE, NONFINITE, HISTORY_RANGE, HISTORY_BINS or HISTORY_GAP.
    """

    # epoch, bin: (R,), epochs may have gaps, and end at 10**9; each update has the bins 0..B-1
    epoch: Int
    bin: Int
    # lower, upper: (R,) in [0, 1], edges of the bin, ascending within an epoch
    lower: Float
    upper: Float
    count: Int  # (R,), validation answers in it
    # confidence, accuracy: (R,) in [0, 1], means of these; NaN where the bin is empty
    confidence: Float
    accuracy: Float
    gap: Float  # (R,), confidence minus accuracy; 0 where the bin is empty
    # (R,), after this update; below 0 it is inverse focal loss with the absolute value
    gamma: Float
    # (R,) in [0, 1], mean p of the true class over the training rows of this bin; NaN where it is
    # not known
    train_confidence: Float
    # (R,), number of the update since training began; of a history with one an epoch, the epoch
    update: Int = field(default_factory=lambda: np.empty(0, np.int64))
    # (R,), epochs that were trained when it was made; else it was made at the end of its epoch
    trained: Float = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        """Sort, freeze, check."""
        if self.update.size == 0:
            object.__setattr__(self, "update", self.epoch)
        if self.trained.size == 0:
            from_0 = self.epoch.size and self.epoch.min() == 0
            object.__setattr__(self, "trained", self.epoch + (1.0 if from_0 else 0.0))
        order = np.lexsort((self.bin, self.update))
        for name in COLUMNS:
            kind = np.int64 if name in WHOLE else np.float64
            column = getattr(self, name).astype(kind)[order]
            object.__setattr__(self, name, frozen(column))
        _check_grid(self)
        for name in ("lower", "upper", "gamma"):
            lost = ~np.isfinite(getattr(self, name))
            _refuse_any("NONFINITE", self, lost, f"{name} is not a number")
        for name in ("lower", "upper"):
            _refuse_any(
                "HISTORY_RANGE", self, _outside(getattr(self, name)), f"{name} lies outside 0 to 1"
            )
        _refuse_any("HISTORY_BINS", self, self.lower > self.upper + SLACK, "Lower is above upper")
        first = self.bin == 0
        for name in ("lower", "upper"):
            falls = np.diff(getattr(self, name), prepend=0.0) < -SLACK
            what = f"{name} is below that of the bin before"
            _refuse_any("HISTORY_BINS", self, falls & ~first, what)
        full = self.count > 0
        for name in ("confidence", "accuracy"):
            column = getattr(self, name)
            lost = full & ~np.isfinite(column)
            _refuse_any(
                "NONFINITE", self, lost, f"{name} is not a number, though the bin has answers"
            )
            stated = ~full & ~np.isnan(column)
            _refuse_any("HISTORY_RANGE", self, stated, f"{name} is stated, though the bin is empty")
        for name in ("confidence", "accuracy", "train_confidence"):
            outside = _outside(getattr(self, name))
            _refuse_any("HISTORY_RANGE", self, outside, f"{name} lies outside 0 to 1")
        expected_gap = np.where(full, self.confidence - self.accuracy, 0.0)
        contradicts = ~(np.abs(self.gap - expected_gap) <= GAP_SLACK)
        what = "Gap is not confidence minus accuracy (0 in an empty bin)"
        _refuse_any("HISTORY_GAP", self, contradicts, what)

    @property
    def n_bins(self) -> int:
        """B, the number of bins of each epoch."""
        return int(self.bin[-1]) + 1

    @property
    def n_updates(self) -> int:
        """U, the number of updates; each column becomes (U, B) by `reshape(U, B)`."""
        return len(self.bin) // self.n_bins

    @property
    def n_epochs(self) -> int:
        """Number of different epochs."""
        return len(np.unique(self.epoch))


COLUMNS = tuple(column.name for column in fields(BinHistory))
LATER = ("update", "trained")  # columns that older histories lack
WHOLE = ("epoch", "bin", "count", "update")
REMEDY = "correct the history, or write it again"


def _refuse_any(code: str, history: BinHistory, wrong: Bool, what: str) -> None:
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        epoch, update = history.epoch[row], history.update[row]
        which = f"epoch {epoch}" if update == epoch else f"update {update}"
        raise Refused(code, what, REMEDY, f"{which}, bin {history.bin[row]}")


def _check_grid(history: BinHistory) -> None:
    """Every update has the bins 0..B-1, each once, and belongs to one epoch."""
    if history.epoch.size == 0:
        raise Refused("EMPTY", "A history without rows", "give at least one epoch")
    for name in WHOLE:
        negative = getattr(history, name) < 0
        _refuse_any("HISTORY_RANGE", history, negative, f"{name} is below 0")
    for name in ("epoch", "update"):
        what = f"{name.capitalize()} is above {LAST_EPOCH:,}"
        _refuse_any("HISTORY_RANGE", history, getattr(history, name) > LAST_EPOCH, what)
    same = np.diff(history.update, prepend=-1) == 0
    again = same & (np.diff(history.bin, prepend=-1) == 0)
    _refuse_any("HISTORY_BINS", history, again, "This bin occurs twice in its update")
    n_bins = int(history.bin.max()) + 1
    if n_bins > defaults.MAX_BINS:
        what = f"Bins are numbered up to {n_bins - 1}, at most {defaults.MAX_BINS} bins are kept"
        raise Refused("TABLE_SIZE", what, "number the bins from 0, and use fewer")
    updates, counts = np.unique(history.update, return_counts=True)
    short = counts != n_bins
    if short.any():
        rows = history.update == updates[short][0]
        have, epoch = history.bin[rows], history.epoch[rows][0]
        missing = np.setdiff1d(np.arange(n_bins), have)[0]
        what = f"{have.size} bins where the history has 0 to {n_bins - 1}; bin {missing} is missing"
        raise Refused("HISTORY_BINS", what, "give every epoch all bins, from 0", f"epoch {epoch}")
    lost = ~np.isfinite(history.trained) | (history.trained < 0)
    _refuse_any("HISTORY_RANGE", history, lost, "The column trained is no number of epochs")
    for name in ("epoch", "trained"):
        step = np.diff(getattr(history, name), prepend=0)
        torn = (step < 0) | (same & (step != 0))
        what = f"{name} differs within an update, or falls from one to the next"
        _refuse_any("HISTORY_BINS", history, torn, what)


def _outside(column: Float) -> Bool:
    return np.asarray((column < -SLACK) | (column > 1 + SLACK))
