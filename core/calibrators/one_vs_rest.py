"""What maps of one probability share: class by class, then rows divided by their sums; numpy."""

from abc import abstractmethod

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float, Int, log_softmax
from core.calibrators.base import Calibrator, Found
from core.calibrators.focal_map import log_rest


class OneVsRest(Calibrator):
    """Fit a map of each class's probability against its occurrence.

    Two classes need one map, of class 1, and sum to one by themselves. More are divided by their
    sum; a row whose maps are all 0 becomes uniform. So the predicted class may change.
    """

    keeps_accuracy = False
    improves_nll = False

    @abstractmethod
    def _fit_columns(self, log_p: Float, log_u: Float, present: Bool) -> str:
        """Fit columns, (C, N) each: log p, log(1 - p), occurrence; return what to say."""

    @abstractmethod
    def _map_columns(self, log_p: Float, log_u: Float) -> Float:
        """Return the mapped probabilities of columns, (C, N)."""

    def _fit(self, logits: npt.NDArray[np.floating], labels: Int) -> Found:
        log_p, log_u = _columns(logits)
        classes = _mapped_classes(logits.shape[1])
        return Found(message=self._fit_columns(log_p, log_u, labels == classes[:, None]))

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        p = self._map_columns(*_columns(logits))
        p = np.concatenate([1.0 - p, p]).T if len(p) == 1 else p.T
        total = p.sum(axis=1, keepdims=True)
        p = np.where(total > 0.0, p, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))

    @abstractmethod
    def _n_maps(self) -> int:
        """Return the number of maps fitted."""

    def _n_classes(self) -> int | None:
        maps = self._n_maps()
        return 2 if maps == 1 else maps


def _mapped_classes(n_classes: int) -> Int:
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)


def _columns(logits: npt.NDArray[np.floating]) -> tuple[Float, Float]:
    """Return log p and log(1 - p) of the mapped classes, (C, N) each."""
    log_p = log_softmax(logits)
    classes = _mapped_classes(logits.shape[1])
    return log_p.T[classes], log_rest(log_p).T[classes]
