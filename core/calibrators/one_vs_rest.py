"""What maps of one probability share: class by class, then rows divided by their sums; numpy."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float, Int, log_softmax, softmax
from core.calibrators.base import Calibrator, FitDetails
from core.calibrators.focal_map import log_rest

ONE_VS_REST_END = """\
    q = [1 - q[0], *q] if len(q) == 1 else q
    total = sum(q)
    return [x / total if total else 1 / len(q) for x in q]
"""


@dataclass(frozen=True)
class MappedClasses:
    """The classes that are mapped, C of them: class 1 of two, else all.

    Parameters
    ----------
    logits : (N, K) array of float
        Finite.
    """

    logits: npt.NDArray[np.floating]

    @property
    def classes(self) -> Int:
        """Their numbers, (C,)."""
        n_classes = self.logits.shape[1]
        return np.array([1]) if n_classes == 2 else np.arange(n_classes)

    @cached_property
    def p(self) -> Float:
        """Their probabilities, (C, N)."""
        return softmax(self.logits).T[self.classes]

    @cached_property
    def logs(self) -> tuple[Float, Float]:
        """Logarithms of p and of 1 - p, exact near 1, (C, N) each."""
        log_p = log_softmax(self.logits)
        return log_p.T[self.classes], log_rest(log_p).T[self.classes]


class OneVsRest(Calibrator):
    """Fit a map of each class's probability against its occurrence.

    Two classes need one map, of class 1, and sum to one by themselves. More are divided by their
    sum; a row whose maps are all 0 becomes uniform. So the predicted class may change.
    """

    keeps_accuracy = False
    improves_nll = False

    @abstractmethod
    def _fit_columns(
        self, columns: MappedClasses, present: Bool, weights: Float | None
    ) -> FitDetails:
        """Fit a map for each column to where its class occurs, (C, N)."""

    @abstractmethod
    def _map_columns(self, columns: MappedClasses) -> Float:
        """Return the mapped probabilities, (C, N)."""

    @property
    @abstractmethod
    def n_maps(self) -> int:
        """Number of maps fitted."""

    @abstractmethod
    def _maps_are_sound(self) -> bool:
        """Whether restored maps are such as a fit leaves."""

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        columns = MappedClasses(logits)
        return self._fit_columns(columns, labels == columns.classes[:, None], weights)

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        p = self._map_columns(MappedClasses(logits))
        p = np.concatenate([1.0 - p, p]).T if len(p) == 1 else p.T
        total = p.sum(axis=1, keepdims=True)
        p = np.where(total > 0.0, p, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))

    def _is_sound(self) -> bool:
        return self.n_maps != 2 and self._maps_are_sound()

    @property
    def n_classes(self) -> int | None:
        """Number of classes fitted."""
        return 2 if self.n_maps == 1 else self.n_maps
