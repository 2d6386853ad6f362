"""Spline calibration of the winner's probability; numpy and scipy."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline

from core.arrays import Bool, Float, Int, log_softmax
from core.calibrators.base import Calibrator, FitDetails, Words
from core.calibrators.focal_map import log_rest
from core.calibrators.margins import weighed
from core.calibrators.one_vs_rest import places_of

N_KNOTS = 6
MAX_POINTS = 2001  # kept of the map; with more rows, at even ranks
MAX_STEPS = 1_000_000  # of the fit, beyond one a row: weights may stand for any number of rows


SPLINE = """\
    (x, y), q = p, softmax(z)
    k = 1 if len(z) == 2 else q.index(max(q))
    new = rise(q[k], x, y)
    rest = [(1 - new) * v for v in softmax(z[:k] + z[k + 1:])]
    return rest[:k] + [new] + rest[k:]
"""


@dataclass
class Spline(Calibrator):
    """Recalibrate a score by the slope of a spline through the cumulative gap.

    Notes
    -----
    h(x) is the sum of outcomes minus scores up to rank x in [0, 1], per row; a natural cubic
    spline with six even knots is fitted to it by least squares, and the score at x becomes
    score + h'(x), clipped to [0, 1], linear between the scores seen and constant outside. The
    released code swaps the two weights of its linear interpolation; this one does not.

    For two classes the score is that of class 1; for more it is the winner's, and the other
    classes share what is left in proportion, so the predicted class may change.
    """

    name = "spline"
    label = "Spline calibration"
    keeps_accuracy = False
    improves_nll = False
    source = "Gupta et al. 2021"
    stored = {"scores": 1, "recalibrated": 1, "n_classes": 0}  # noqa: RUF012 (typed above)
    words = Words("Spline", "A smooth curve through the running share of right answers.")
    program = SPLINE

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read."""
        return super().constants()[:2]  # whatever the number of classes

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        log_p = log_softmax(logits)
        at = _scored(log_p)
        score = np.exp(log_p[np.arange(labels.size), at])
        self.n_classes_ = np.asarray(float(logits.shape[1]))
        self.scores_, self.recalibrated_ = spline_map(score, labels == at, weights)
        return FitDetails()

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        log_p = log_softmax(logits)
        at = _scored(log_p)[:, None]
        score = np.exp(np.take_along_axis(log_p, at, axis=1))
        new = np.interp(score, self.scores_, self.recalibrated_)
        # The others share 1 - new in their old proportions; log(1 - p) of the scored class is exact
        # there.
        left = np.take_along_axis(log_rest(log_p), at, axis=1)
        with np.errstate(divide="ignore"):
            out = log_p - left + np.log1p(-new)
            np.put_along_axis(out, at, np.log(new), axis=1)
        return np.asarray(out)

    def _is_sound(self) -> bool:
        new = self.recalibrated_
        if self.scores_.shape != new.shape or self.n_classes_ != np.round(self.n_classes_):
            return False
        ascends = (np.diff(self.scores_) > 0.0).all()
        return bool(ascends and new.min() >= 0.0 and new.max() <= 1.0 and self.n_classes_ >= 2)

    @property
    def n_classes(self) -> int | None:
        """Number of classes fitted."""
        return int(self.n_classes_)


def _scored(log_p: Float) -> Int:
    """Return the class whose probability is recalibrated."""
    if log_p.shape[1] == 2:
        return np.ones(len(log_p), dtype=np.int64)
    return np.asarray(log_p.argmax(axis=1), dtype=np.int64)


def spline_map(score: Float, correct: Bool, weights: Float | None = None) -> tuple[Float, Float]:
    """Return ascending scores and what they become, (M,) each, M <= 2001.

    Equal scores share the mean of their outcomes, so the order of rows does not matter. A score
    takes as many steps of the curve as it stands for rows, to the nearest whole number.

    Examples
    --------
    Eight scores of 0.5, six of them right: the cumulative gap is a line that rises by 0.25 / 8 a
    row, over ranks from 0 to 1 in seven steps, so the score becomes 0.5 + 0.25 x 7 / 8, not 0.75.

    >>> scores, recalibrated = spline_map(np.full(8, 0.5), np.arange(8) < 6)
    >>> scores.tolist(), recalibrated.round(5).tolist()
    ([0.5], [0.71875])
    """
    places, index = places_of(score)
    count = np.bincount(index, weights)
    hits = np.bincount(index, weighed(correct, weights))
    # Weights that stand for many rows take several steps, but never more than a million in all.
    share = min(1.0, max(score.size, MAX_STEPS) / count.sum())
    steps = np.maximum(np.round(count * share), 1.0).astype(np.int64)
    ordered, hit = np.repeat(places, steps), np.repeat(hits / count, steps)
    size = np.repeat(count / steps, steps)
    # x_i = i / (n - 1), as in Gupta et al. 2021: ranks before each step, from 0 to exactly 1.
    passed = np.cumsum(size) - size
    x = passed * (1.0 / passed[-1])
    spline = knot_spline(x, np.cumsum(size * (hit - ordered)) / count.sum(), size)
    new = ordered + spline(x, 1)
    # Tied scores get the mean of their steps' values, or the order of rows would show.
    ends = np.cumsum(steps)
    mean = np.diff(np.concatenate([[0.0], np.cumsum(new)])[np.concatenate([[0], ends])]) / steps
    keep = np.unique(np.round(np.linspace(0, places.size - 1, MAX_POINTS)).astype(np.int64))
    return places[keep], np.clip(mean[keep], 0.0, 1.0)


def knot_spline(x: Float, y: Float, size: Float | None = None) -> CubicSpline:
    """Return the natural cubic spline on [0, 1] with six even knots, least squares in y.

    `size`, (N,), says how much each point counts; without it one.
    """
    knots = np.linspace(0.0, 1.0, N_KNOTS)
    unit = CubicSpline(knots, np.eye(N_KNOTS), bc_type="natural")
    root = np.ones(1) if size is None else np.sqrt(size)
    values = np.linalg.lstsq(unit(x) * root[:, None], y * root, rcond=None)[0]
    return CubicSpline(knots, values, bc_type="natural")
