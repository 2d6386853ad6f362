"""Histogram binning: the frequency of each class in bins of its probability; numpy only."""

from dataclasses import dataclass

import numpy as np

from core.arrays import Bool, Float
from core.calibrators.one_vs_rest import OneVsRest
from core.defaults import N_BINS
from core.errors import UsageError
from core.metrics.binning import bin_index, equal_width_edges


@dataclass
class Histogram(OneVsRest):
    """Replace each probability by the frequency of its class in an equal-width bin.

    Parameters
    ----------
    n_bins : int
        Bins (low, high] of each class.

    Notes
    -----
    An empty bin keeps its middle; the released code says 0 there. A class seen in no row of a
    bin gets probability 0, so the NLL of other rows can be infinite.
    """

    n_bins: int = N_BINS

    name = "histogram"
    label = "Histogram binning"
    source = "Zadrozny and Elkan 2001"
    stored = {"frequencies": 2}  # noqa: RUF012 (typed in the base class)

    def __post_init__(self) -> None:
        """Refuse less than one bin."""
        if self.n_bins < 1:
            raise UsageError("SETTING", f"bins is {self.n_bins}", "give at least 1")

    def _fit_columns(self, log_p: Float, log_u: Float, present: Bool) -> str:
        del log_u
        edges = equal_width_edges(self.n_bins)
        middle = (edges[1:] + edges[:-1]) / 2.0
        self.frequencies_ = np.empty((len(log_p), self.n_bins))
        empty = 0
        for row, p, y in zip(self.frequencies_, np.exp(log_p), present, strict=True):
            index = bin_index(p, edges)
            count = np.bincount(index, minlength=self.n_bins)
            hits = np.bincount(index, y, minlength=self.n_bins)
            empty += int(np.count_nonzero(count == 0))
            row[:] = np.where(count > 0, hits / np.maximum(count, 1), middle)
        return f"{empty} empty bins keep their middle" if empty else ""

    def _map_columns(self, log_p: Float, log_u: Float) -> Float:
        del log_u
        index = bin_index(np.exp(log_p), equal_width_edges(self.frequencies_.shape[1]))
        return np.take_along_axis(self.frequencies_, index, axis=1)

    def _is_sound(self) -> bool:
        return bool(self.frequencies_.min() >= 0.0 and self.frequencies_.max() <= 1.0)

    def _n_maps(self) -> int:
        return len(self.frequencies_)
