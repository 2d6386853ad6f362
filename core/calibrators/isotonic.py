"""Isotonic calibration, class by class or one map for all classes; numpy and scipy."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from core.arrays import Bool, Float, Int, softmax
from core.calibrators.base import Calibrator, FitDetails, Words
from core.calibrators.one_vs_rest import ONE_VS_REST_END, MappedClasses, OneVsRest
from core.calibrators.weighing import weighed

TILT = 1e-9  # of p, added as in the released code: keeps the order on flat pieces, and no zeros
RESOLUTION = 1e-15


ISOTONIC = (
    """\
    pairs = zip(softmax(z)[-len(p):], p)
    q = [(rise(v, x, y) + 1e-9 * v) / (1 + 1e-9) for v, (x, y) in pairs]
"""
    + ONE_VS_REST_END
)


ORDERED = """\
    x, y = p
    q = [rise(v, x, y) + 1e-9 * v for v in softmax(z)]
    total = sum(q)
    return [v / total for v in q]
"""


@dataclass
class Isotonic(OneVsRest):
    """A rising map of each class's probability, linear between knots, flat outside.

    A billionth of the probability itself breaks ties and keeps zeros out.

    `sizes` says how many knots of `x` and `y` belong to each map.
    """

    name = "isotonic"
    label = "Isotonic, one against rest"
    source = "Zadrozny and Elkan 2002"
    stored = {"x": 1, "y": 1, "sizes": 1}  # noqa: RUF012 (typed in the base class)
    words = Words(
        "Isotonic",
        "A rising staircase for each class.",
        in_sentence="isotonic regression",
        stated="A rising staircase over the {stated}.",
    )
    program = ISOTONIC

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read."""
        ends = np.concatenate([[0], np.cumsum(self.sizes_)]).astype(int)
        return tuple((self.x_[a:b].tolist(), self.y_[a:b].tolist()) for a, b in pairwise(ends))

    def _fit_columns(
        self, columns: MappedClasses, present: Bool, weights: Float | None
    ) -> FitDetails:
        knots = [rising_knots(p, y, weights) for p, y in zip(columns.p, present, strict=True)]
        self.x_ = np.concatenate([x for x, _ in knots])
        self.y_ = np.concatenate([y for _, y in knots])
        self.sizes_ = np.array([float(x.size) for x, _ in knots])
        return FitDetails()

    def _map_columns(self, columns: MappedClasses) -> Float:
        ends = np.concatenate([[0], np.cumsum(self.sizes_)]).astype(np.int64)
        parts = [slice(*ends_of) for ends_of in pairwise(ends)]
        rows = zip(columns.p, parts, strict=True)
        return np.stack([tilted(p, self.x_[part], self.y_[part]) for p, part in rows])

    def _maps_are_sound(self) -> bool:
        sizes = self.sizes_
        if sizes.min() < 1.0 or (sizes != np.round(sizes)).any():
            return False
        if not sizes.sum() == self.x_.size == self.y_.size:
            return False
        ends = np.cumsum(sizes)[:-1].astype(np.int64)
        maps = zip(np.split(self.x_, ends), np.split(self.y_, ends), strict=True)
        return all(_rises(x, y) for x, y in maps)

    @property
    def n_maps(self) -> int:
        """Number of maps fitted."""
        return int(self.sizes_.size)


@dataclass
class IsotonicOrdered(Calibrator):
    """One rising map for the probabilities of all classes, then rows divided by their sums."""

    name = "isotonic_ordered"
    label = "Isotonic, order preserving"
    keeps_accuracy = True
    improves_nll = False
    source = "Zhang et al. 2020 (Mix-n-Match, IRM); their code does not divide by the sums"
    stored = {"x": 1, "y": 1}  # noqa: RUF012 (typed in the base class)
    words = Words(
        "Isotonic, ordered",
        "One rising staircase for all classes together.",
        in_sentence="order-preserving isotonic regression",
    )
    program = ORDERED

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        p = softmax(logits)
        present = labels[:, None] == np.arange(logits.shape[1])
        of_cells = None if weights is None else np.repeat(weights, p.shape[1])
        self.x_, self.y_ = rising_knots(p.ravel(), present.ravel(), of_cells)
        return FitDetails()

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        p = softmax(logits)
        mapped = tilted(p, self.x_, self.y_)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(mapped / mapped.sum(axis=1, keepdims=True)))

    def _is_sound(self) -> bool:
        return self.x_.size == self.y_.size and _rises(self.x_, self.y_)


def rising_knots(x: Float, present: Bool, weights: Float | None = None) -> tuple[Float, Float]:
    """Return the knots of the least-squares rising map of x, as scikit-learn keeps them.

    Parameters
    ----------
    x : (N,) float64
        Values that `places_of` cannot tell apart share one knot.
    present : (N,) bool
        What is averaged.
    weights : (N,) float64, optional
        How many values each stands for.

    Returns
    -------
    x, y : (M,) float64
        Both ends of each flat piece.
    """
    places, index = places_of(x)
    count, hits = np.bincount(index, weights), np.bincount(index, weighed(present, weights))
    starts = isotonic_regression(hits / count, weights=count).blocks
    # Divided once from whole numbers: classes with the same frequency tie to the last bit.
    y = np.add.reduceat(hits, starts[:-1]) / np.add.reduceat(count, starts[:-1])
    keep, piece = np.unique(np.stack([starts[:-1], starts[1:] - 1]).T, return_index=True)
    return places[keep], y[piece // 2]


def places_of(x: Float) -> tuple[Float, Int]:
    """Return the distinct values, ascending, and the place of each value among them.

    Values closer than 1e-15 are one: rounding differs with the order in which classes are summed.
    """
    places = np.unique(x)
    keep = np.ones(places.size, dtype=np.bool_)
    for at in np.flatnonzero(np.diff(places) < RESOLUTION):
        if keep[at]:
            keep[at + 1 : np.searchsorted(places, places[at] + RESOLUTION)] = False
    places = places[keep]
    return places, np.searchsorted(places, x, side="right") - 1


def tilted(p: Float, x: Float, y: Float) -> Float:
    """Return the map of probabilities with a little of their own, which keeps their order."""
    return np.asarray((np.interp(p, x, y) + TILT * p) / (1.0 + TILT))


def _rises(x: Float, y: Float) -> bool:
    ordered = (np.diff(x) > 0.0).all() and (np.diff(y) >= 0.0).all()
    return bool(ordered and y.min() >= 0.0 and y.max() <= 1.0)
