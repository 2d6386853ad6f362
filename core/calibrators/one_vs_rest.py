"""Maps of one probability, class by class, then rows divided by their sums; numpy and scipy.

Beta calibration, histogram binning and isotonic regression.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from core.arrays import Bool, Float, Int, log_sigmoid, log_softmax, sigmoid, softmax
from core.calibrators.base import Calibrator, FitDetails, Words
from core.calibrators.focal_map import log_rest
from core.calibrators.margins import mean, total_of, weighed
from core.calibrators.search import descend
from core.defaults import MAX_BINS, N_BINS
from core.errors import UsageError
from core.metrics.binning import bin_index, equal_width_edges

ONE_VS_REST_END = """\
    q = [1 - q[0], *q] if len(q) == 1 else q
    total = sum(q)
    return [x / total if total else 1 / len(q) for x in q]
"""


@dataclass(frozen=True)
class MappedClasses:
    """The classes that are mapped, C of them: class 1 of two, else all."""

    logits: npt.NDArray[np.floating]  # (N, K), finite

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
        # Every map can say 0 for a row: then no class is favoured.
        p = np.where(total > 0.0, p, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p / p.sum(axis=1, keepdims=True)))

    def _is_sound(self) -> bool:
        return self.n_maps != 2 and self._maps_are_sound()

    @property
    def n_classes(self) -> int | None:
        """Number of classes fitted."""
        return 2 if self.n_maps == 1 else self.n_maps


LARGEST = 100.0  # of every coefficient
BOUNDS = ((0.0, LARGEST), (0.0, LARGEST), (-LARGEST, LARGEST))
IDENTITY = (1.0, 1.0, 0.0)
STEPS = 500


# The gap is a class's logit less the log-sum-exp of the others; of the largest class, whose others
# would be lost in rounding, they are summed without it.
BETA = (
    """\
    q, i = [], z.index(max(z))
    e, rest = [math.exp(v - z[i]) for v in z], z[:i] + z[i + 1:]
    total, top = sum(e), max(rest)
    lead = z[i] - top - math.log(sum(math.exp(v - top) for v in rest))
    for k, (a, b, c) in enumerate(p, start=len(z) - len(p)):
        gap = lead if k == i else z[k] - z[i] - math.log(total - e[k])
        low = math.log1p(math.exp(-abs(gap)))
        s = a * (min(gap, 0.0) - low) + b * (max(gap, 0.0) + low) + c
        q.append(softmax([0.0, s])[1])
"""
    + ONE_VS_REST_END
)


@dataclass
class Beta(OneVsRest):
    """sigmoid(a log p - b log(1 - p) + c) with a, b in [0, 100], for each class.

    Notes
    -----
    Convex, from the identity a = b = 1, c = 0. A class that occurs in no fitting row, or in all,
    keeps the identity. For two classes the NLL never rises; for more, dividing by the sums may
    raise it.

    Examples
    --------
    With a = 1 and b = c = 0 the odds become p: 0.8 turns into 0.8 / 1.8, and the answer changes.

    >>> lopsided = Beta.from_parameters({"a": [1.0], "b": [0.0], "c": [0.0]})
    >>> lopsided.predict_proba(np.log([[0.2, 0.8]])).round(4).tolist()
    [[0.5556, 0.4444]]
    """

    name = "beta"
    label = "Beta calibration"
    source = "Kull et al. 2017"
    stored = {"a": 1, "b": 1, "c": 1}  # noqa: RUF012 (typed in the base class)
    words = Words(
        "Beta",
        "A curve of three numbers for each class.",
        stated="A curve of three numbers over the {stated}.",
    )
    program = BETA

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read."""
        return tuple(np.stack([self.a_, self.b_, self.c_], axis=1).tolist())

    def _fit_columns(
        self, columns: MappedClasses, present: Bool, weights: Float | None
    ) -> FitDetails:
        coefficients = np.tile(IDENTITY, (len(present), 1))
        messages = set()
        for row, p, u, y in zip(coefficients, *columns.logs, present, strict=True):
            # A class that is always or never there has no finite best c.
            if 0 < np.count_nonzero(y) < y.size:
                row[:], message = _coefficients(p, u, y, weights)
                messages.add(message)
        self.a_, self.b_, self.c_ = coefficients.T.copy()
        low, high = np.array(BOUNDS).T
        at_bound = bool(((coefficients == low) | (coefficients == high)).any())
        return FitDetails(at_bound=at_bound, message="; ".join(sorted(messages - {""})))

    def _map_columns(self, columns: MappedClasses) -> Float:
        a, b, c = (coefficient[:, None] for coefficient in (self.a_, self.b_, self.c_))
        log_p, log_u = columns.logs
        return sigmoid(a * log_p - b * log_u + c)

    def _maps_are_sound(self) -> bool:
        if not self.a_.shape == self.b_.shape == self.c_.shape:
            return False
        low, high = np.array(BOUNDS).T
        coefficients = np.stack([self.a_, self.b_, self.c_], axis=1)
        return bool(((coefficients >= low) & (coefficients <= high)).all())

    @property
    def n_maps(self) -> int:
        """Number of maps fitted."""
        return int(self.a_.size)


def _coefficients(
    log_p: Float, log_u: Float, present: Bool, weights: Float | None
) -> tuple[Float, str]:
    """Return a, b, c of one class, and what to say of the search."""
    # Logistic regression on log p and -log(1 - p), whose loss is convex (Kull et
    # al. 2017); a and b at least 0 keep the map rising.
    features = np.stack([log_p, -log_u, np.ones_like(log_p)])
    sign = np.where(present, 1.0, -1.0)
    total = total_of(sign.size, weights)

    def objective(x: Float) -> tuple[float, Float]:
        margin = sign * (x @ features)
        slope = -sign * sigmoid(-margin)
        return -mean(log_sigmoid(margin), weights), features @ weighed(slope, weights) / total

    best, _, message = descend(objective, np.array(IDENTITY), steps=STEPS, bounds=BOUNDS)
    return best, message


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

    Notes
    -----
    An empty bin keeps its middle; the released code says 0 there. A class seen in no row of a
    bin gets probability 0, so the NLL of other rows can be infinite.

    Examples
    --------
    Ten rows say 0.8, seven are right; the lower of two bins is empty and keeps its middle. A
    probability of exactly 0.5 belongs to the lower bin.

    >>> z, y = np.full(10, np.log(4.0)), np.array([1] * 7 + [0] * 3)
    >>> halves = Histogram(n_bins=2).fit(z, y)
    >>> halves.frequencies_.tolist(), halves.predict_proba(np.array([0.0])).tolist()
    ([[0.25, 0.7]], [[0.75, 0.25]])
    """

    n_bins: int = N_BINS  # bins (low, high] of each class

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
            # (low, high] as in the papers, edges k / n in float64; np.arange would let them drift.
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
        # The maps have different numbers of knots, so they are stored end to end with their sizes.
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
        # All N K cells as one set of claims: a single rising map
        # cannot change the order within a row.
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

    Examples
    --------
    The second came true and the third did not: a rising map can only give both their mean.

    >>> x, y = rising_knots(np.array([0.1, 0.2, 0.3]), np.array([False, True, False]))
    >>> x.tolist(), y.tolist()
    ([0.1, 0.2, 0.3], [0.0, 0.5, 0.5])
    """
    # Tied values are averaged before pooling: adjacent violators would
    # otherwise depend on the order of the rows.
    places, index = places_of(x)
    count, hits = np.bincount(index, weights), np.bincount(index, weighed(present, weights))
    starts = isotonic_regression(hits / count, weights=count).blocks
    # Divided once from whole numbers: classes with the same frequency tie to the last bit.
    y = np.add.reduceat(hits, starts[:-1]) / np.add.reduceat(count, starts[:-1])
    # Both ends of each flat piece: in between the map is drawn linearly, as scikit-learn does.
    keep, piece = np.unique(np.stack([starts[:-1], starts[1:] - 1]).T, return_index=True)
    return places[keep], y[piece // 2]


def places_of(x: Float) -> tuple[Float, Int]:
    """Return the distinct values, ascending, and the place of each value among them.

    Values closer than 1e-15 are one: rounding differs with the order in which classes are summed.

    Examples
    --------
    0.1 + 0.2 is not 0.3 in float64, but shares its place:

    >>> places_of(np.array([0.3, 0.1 + 0.2, 0.5]))[1].tolist()
    [0, 0, 1]
    """
    places = np.unique(x)
    keep = np.ones(places.size, dtype=np.bool_)
    # Greedy from the left, measured from the first of a cluster: a chain of
    # tiny steps cannot drag far values into one place.
    for at in np.flatnonzero(np.diff(places) < RESOLUTION):
        if keep[at]:
            keep[at + 1 : np.searchsorted(places, places[at] + RESOLUTION)] = False
    places = places[keep]
    return places, np.searchsorted(places, x, side="right") - 1


def tilted(p: Float, x: Float, y: Float) -> Float:
    """Return the map of probabilities with a little of their own, which keeps their order.

    Examples
    --------
    On a flat piece the tilt keeps the order, without which the predicted class could change:

    >>> low, high = tilted(np.array([0.4, 0.6]), np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> bool(low < high), round(float(high), 8)
    (True, 0.5)
    """
    return np.asarray((np.interp(p, x, y) + TILT * p) / (1.0 + TILT))


def _rises(x: Float, y: Float) -> bool:
    ordered = (np.diff(x) > 0.0).all() and (np.diff(y) >= 0.0).all()
    return bool(ordered and y.min() >= 0.0 and y.max() <= 1.0)
