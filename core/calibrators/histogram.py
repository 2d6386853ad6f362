"""Histogram binning: the frequency of each class in bins of its probability; numpy only."""

from dataclasses import dataclass

import numpy as np

from core.arrays import Bool, Float
from core.calibrators.base import FitDetails, Words
from core.calibrators.one_vs_rest import ONE_VS_REST_END, MappedClasses, OneVsRest
from core.calibrators.weighing import weighed
from core.defaults import MAX_BINS, N_BINS
from core.errors import UsageError
from core.metrics.binning import bin_index, equal_width_edges

HISTOGRAM = (
    """\
    q, n = softmax(z)[-len(p):], len(p[0])
    edges = [k / n for k in range(1, n)]
    q = [row[bisect.bisect_left(edges, v)] for v, row in zip(q, p)]
"""
    + ONE_VS_REST_END
)


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
    words = Words(
        "Histogram",
        "Every probability is replaced by how often that class came in its bin.",
        plain="Every score is replaced by how often that class came among scores like it.",
    )
    program = HISTOGRAM

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read."""
        return tuple(self.frequencies_.tolist())

    def __post_init__(self) -> None:
        """Refuse what is no number of bins."""
        if not (isinstance(self.n_bins, int) and 1 <= self.n_bins <= MAX_BINS):
            raise UsageError(
                "SETTING", f"Bins is {self.n_bins}", f"give a whole number from 1 to {MAX_BINS}"
            )

    def _fit_columns(
        self, columns: MappedClasses, present: Bool, weights: Float | None
    ) -> FitDetails:
        edges = equal_width_edges(self.n_bins)
        middle = (edges[1:] + edges[:-1]) / 2.0
        self.frequencies_ = np.empty((len(columns.p), self.n_bins))
        empty = 0
        for row, p, y in zip(self.frequencies_, columns.p, present, strict=True):
            index = bin_index(p, edges)
            count = np.bincount(index, weights, self.n_bins)
            hits = np.bincount(index, weighed(y, weights), self.n_bins)
            empty += int(np.count_nonzero(count == 0))
            row[:] = np.where(count > 0, hits / np.where(count > 0, count, 1), middle)
        return FitDetails(message=f"{empty} empty bins keep their middle" if empty else "")

    def _map_columns(self, columns: MappedClasses) -> Float:
        index = bin_index(columns.p, equal_width_edges(self.frequencies_.shape[1]))
        return np.take_along_axis(self.frequencies_, index, axis=1)

    def _maps_are_sound(self) -> bool:
        frequencies = self.frequencies_
        return bool(
            frequencies.shape[1] == self.n_bins
            and frequencies.min() >= 0.0
            and frequencies.max() <= 1.0
        )

    @property
    def n_maps(self) -> int:
        """Number of maps fitted."""
        return len(self.frequencies_)
