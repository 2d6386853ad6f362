"""Vector, matrix and Dirichlet scaling: linear maps of logits, fitted by NLL; numpy, scipy."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from core.arrays import Bool, Float, Int, log_softmax
from core.calibrators.base import SINGLE_ANSWER, Calibrator, FitDetails, Words
from core.calibrators.margins import mean, objective_of, total_of, weighed
from core.calibrators.search import descend
from core.errors import UsageError

PENALTIES = (1e4, 1e3, 100.0, 10.0, 1.0, 0.1, 0.01)  # the first is nearly vector scaling
SEPARATED_NLL = 1e-3
SEPARATED = "the fitting rows are separated perfectly: answers on new rows will be far too sure"
FOLDS = 3
FOLD_SEED = 0
FOLD_STEPS = 100
STEPS = 1_000
STEP_CELLS = 20_000_000  # parameters times steps: with 1,000 classes 20 steps
CROSS_CELLS = 10_000_000  # of N K^2: beyond it only one fold is left out
HELD_OUT_CELLS = 1_000_000_000  # beyond it the penalty is K^2


VECTOR = """\
    w, b, centred = p
    shift = centred * sum(z) / len(z)
    z = [x - shift for x in z]
    return softmax([a * x + c for a, x, c in zip(w, z, b)])
"""


MATRIX = """\
    w, b, centred = p
    shift = centred * sum(z) / len(z)
    z = [x - shift for x in z]
    return softmax([sum(a * x for a, x in zip(row, z)) + c for row, c in zip(w, b)])
"""


DIRICHLET = """\
    w, b = p
    top = max(z)
    norm = top + math.log(sum(math.exp(x - top) for x in z))
    z = [x - norm for x in z]
    return softmax([sum(a * x for a, x in zip(row, z)) + c for row, c in zip(w, b)])
"""


@dataclass
class Vector(Calibrator):
    """softmax(w * z + b), one weight and one bias a class; for a binary logit Platt scaling.

    Notes
    -----
    Convex, from the identity. b is defined up to a constant; its gradient sums to zero, so it
    stays centred.

    Examples
    --------
    Logits 0 and log 4, less their mean, are -log 2 and log 2; weights 1 and 2 set them 3 log 2
    apart, 8 in 9. As they are, they come to lie 4 log 2 apart, 16 in 17, and a shift of both moves
    that.

    >>> fitted, z = {"weights": [1.0, 2.0], "bias": [0.0, 0.0]}, np.array([[0.0, np.log(4.0)]])
    >>> maps = [Vector.from_parameters(fitted, centred=centred) for centred in (True, False)]
    >>> [round(float(v.predict_proba(z + shift)[0, 1]), 4) for v in maps for shift in (0.0, 1.0)]
    [0.8889, 0.8889, 0.9412, 0.9775]
    """

    # Whether z are the logits of a row less their mean, so that logits and the probabilities of the
    # same model give the same fit. Maps that older files hold are of the logits.
    centred: bool = True

    name = "vector"
    label = "Vector scaling"
    keeps_accuracy = False
    improves_nll = True
    source = "Guo et al. 2017"
    stored = {"weights": 1, "bias": 1}  # noqa: RUF012 (typed in the base class)
    words = Words(
        "Vector",
        "Each class has a scale and a shift of its own. For one score this is Platt scaling.",
        plain="Each class has a scale and a shift of its own.",
        stated="It stretches and shifts the {stated}{platt}.",
    )
    program = VECTOR

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read."""
        return *super().constants(), self.centred

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        z = self._features(logits)
        n_classes = z.shape[1]

        def objective(x: Float) -> tuple[float, Float]:
            slopes, bias = x[:n_classes], x[n_classes:]
            value, residual = _nll(z * slopes + bias, labels, weights)
            return value, np.concatenate([(residual * z).sum(axis=0), residual.sum(axis=0)])

        # From the identity: the convex loss can only fall below that of the unchanged scores.
        start = np.concatenate([np.ones(n_classes), np.zeros(n_classes)])
        optimum, after, message = descend(objective, start, steps=STEPS)
        self.weights_, self.bias_ = optimum[:n_classes], optimum[n_classes:]
        # A training NLL near 0 means that some direction
        # separates the rows and would grow for ever.
        messages = [message, SEPARATED if after < SEPARATED_NLL else ""]
        summary = "; ".join(text for text in messages if text)
        return FitDetails("nll", objective(start)[0], after, message=summary)

    def _features(self, logits: npt.NDArray[np.floating]) -> Float:
        return _logits(logits, centred=self.centred)

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        return log_softmax(self._features(logits) * self.weights_ + self.bias_)

    def _is_sound(self) -> bool:
        return bool(self.weights_.shape == self.bias_.shape)

    @property
    def n_classes(self) -> int | None:
        """Number of classes fitted."""
        return int(self.bias_.size)


@dataclass
class Matrix(Calibrator):
    """softmax(W z + b) with the ODIR penalty.

    Notes
    -----
    From the identity, where the penalty is 0: so the NLL never rises. W is defined up to adding
    the same row to all rows.
    """

    # lambda = mu >= 0 in NLL + lambda sum_offdiagonal W^2 / (K (K - 1)) + mu sum b^2 / K. None:
    # chosen among 0.01..10,000 by threefold cross-validation, from above, until the held-out NLL
    # rises; by one of the folds where N K^2 exceeds 1e7, K^2 beyond 1e9. Rows that belong together
    # are held out together.
    penalty: float | None = None
    centred: bool = True  # as of `Vector`

    name = "matrix"
    label = "Matrix scaling"
    keeps_accuracy = False
    improves_nll = True
    tasks = SINGLE_ANSWER
    source = "Guo et al. 2017; penalty of Kull et al. 2019"
    stored = {"weights": 2, "bias": 1}  # noqa: RUF012 (typed in the base class)
    words = Words(
        "Matrix",
        "Every class’s score is computed from all scores; weights off the diagonal are kept "
        "small. Needs many rows.",
        plain="Every class’s score is computed from all scores. Needs many examples.",
    )
    program = MATRIX

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read."""
        return *super().constants(), self.centred

    def __post_init__(self) -> None:
        """Refuse a negative penalty."""
        if self.penalty is not None and not (np.isfinite(self.penalty) and self.penalty >= 0.0):
            raise UsageError("SETTING", f"Penalty is {self.penalty}", "give at least 0, or none")

    def _features(self, logits: npt.NDArray[np.floating]) -> Float:
        return _logits(logits, centred=self.centred)

    def _fit(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None
    ) -> FitDetails:
        return self._fit_by_group(logits, labels, weights, np.arange(labels.size))

    def _fit_by_group(
        self, logits: npt.NDArray[np.floating], labels: Int, weights: Float | None, groups: Int
    ) -> FitDetails:
        x = self._features(logits)
        rows = _LinearRows(x, labels, weights)
        penalty = self.penalty
        if penalty is None:
            penalty = _choose_penalty(rows, _folds(groups))
        # The penalty is 0 at the identity, so the start has the NLL of the unchanged scores.
        start = _identity(x.shape[1])
        optimum, message = _fit_affine(rows, penalty, start, _steps(x.shape[1]))
        self.weights_, self.bias_ = _split(optimum)
        summary = f"penalty {penalty:g}" + (f"; {message}" if message else "")
        return FitDetails(message=summary)

    def _log_proba(self, logits: npt.NDArray[np.floating]) -> Float:
        return log_softmax(self._features(logits) @ self.weights_.T + self.bias_)

    def _is_sound(self) -> bool:
        return bool(self.weights_.shape == (self.bias_.size, self.bias_.size))

    @property
    def n_classes(self) -> int | None:
        """Number of classes fitted."""
        return int(self.bias_.size)


@dataclass
class Dirichlet(Matrix):
    """softmax(W log p + b) with the ODIR penalty; settings as for `Matrix`.

    Examples
    --------
    W = 2 I squares the probabilities, as T = 1 / 2 does: 0.64 / (0.64 + 0.04).

    >>> twice = Dirichlet.from_parameters({"weights": [[2.0, 0.0], [0.0, 2.0]], "bias": [0.0, 0.0]})
    >>> twice.predict_proba(np.log([[0.8, 0.2]])).round(4).tolist()
    [[0.9412, 0.0588]]
    """

    name = "dirichlet"
    label = "Dirichlet calibration"
    source = "Kull et al. 2019"
    words = Words(
        "Dirichlet",
        "As matrix scaling, on log-probabilities. Needs many rows.",
        in_sentence="Dirichlet calibration",
        plain="Like Matrix, on another scale. Needs many examples.",
    )
    program = DIRICHLET

    def constants(self) -> tuple[object, ...]:
        """Return what the lines of the program read."""
        return Calibrator.constants(self)

    def _features(self, logits: npt.NDArray[np.floating]) -> Float:
        return log_softmax(logits)


def _logits(logits: npt.NDArray[np.floating], *, centred: bool) -> Float:
    """Return logits in float64, less the mean of their row or as they are."""
    z = logits.astype(np.float64)
    return z - z.mean(axis=1, keepdims=True) if centred else z


def _steps(n_classes: int) -> int:
    """Return how many steps a full matrix may take."""
    return int(np.clip(STEP_CELLS // n_classes**2, 20, STEPS))


class _LinearRows(NamedTuple):
    """What a linear map is fitted on: features, (N, K), labels and weights."""

    x: Float
    labels: Int
    weights: Float | None

    def take(self, rows: Bool) -> Self:
        """Return some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return type(self)(self.x[rows], self.labels[rows], weights)


def _nll(scores: Float, labels: Int, weights: Float | None) -> tuple[float, Float]:
    """Return the mean NLL and its gradient by the scores, (N, K)."""
    log_p = log_softmax(scores)
    rows = np.arange(labels.size)
    # The gradient of the NLL by the scores is p - onehot, of each row by its weight.
    residual = np.exp(log_p)
    residual[rows, labels] -= 1.0
    gradient = weighed(residual.T, weights).T / total_of(labels.size, weights)
    return -mean(log_p[rows, labels], weights), gradient


def _identity(n_classes: int) -> Float:
    """Return the weights and biases that change nothing, in one row."""
    return np.concatenate([np.eye(n_classes).ravel(), np.zeros(n_classes)])


def _split(flat: Float) -> tuple[Float, Float]:
    """Return weights, (K, K), and bias, (K,), from one row."""
    n_classes = int(np.sqrt(flat.size))
    return flat[:-n_classes].reshape(n_classes, n_classes), flat[-n_classes:]


def _fit_affine(rows: _LinearRows, penalty: float, start: Float, steps: int) -> tuple[Float, str]:
    """Return weights and biases in one row, and what to say."""
    x, labels, of_rows = rows
    n_classes = x.shape[1]
    off = 1.0 - np.eye(n_classes)
    # ODIR (Kull et al. 2019): lambda over the K (K - 1) weights off the
    # diagonal, mu over the K biases; lambda = mu here.
    scale = penalty / (n_classes * (n_classes - 1)), penalty / n_classes

    def objective(flat: Float) -> tuple[float, Float]:
        weights, bias = _split(flat)
        value, residual = _nll(x @ weights.T + bias, labels, of_rows)
        outside = weights * off
        value += scale[0] * float((outside**2).sum()) + scale[1] * float((bias**2).sum())
        by_weights = residual.T @ x + 2.0 * scale[0] * outside
        by_bias = residual.sum(axis=0) + 2.0 * scale[1] * bias
        return value, np.concatenate([by_weights.ravel(), by_bias])

    optimum, _, message = descend(objective, start, steps=steps)
    return optimum, message


def _folds(groups: Int) -> Int:
    """Return the fold of each row, (N,): a group is left out whole, whatever its weight."""
    _, place = np.unique(groups, return_inverse=True)
    fold = np.random.default_rng(FOLD_SEED).permutation(int(place.max()) + 1) % FOLDS
    return np.asarray(fold[place])


def _choose_penalty(rows: _LinearRows, fold: Int) -> float:
    """Return the penalty with the smallest held-out NLL."""
    n, n_classes = rows.x.shape
    # What a step of the fit costs: with many classes cross-validation would take hours.
    cells = n * n_classes**2
    if cells > HELD_OUT_CELLS:
        return float(n_classes**2)
    numbers = np.unique(fold)  # of two groups there are two folds
    held_out = [fold == k for k in (numbers if cells <= CROSS_CELLS else numbers[:1])]
    fits = [_identity(n_classes)] * len(held_out)
    # From the strongest penalty down, each fit starting at the one before: few steps suffice.
    steps = min(FOLD_STEPS, _steps(n_classes))
    chosen, best = PENALTIES[0], np.inf
    for penalty in PENALTIES:
        total = 0.0
        # Summed over rows, not over folds: unequal folds would otherwise count alike.
        for k, out in enumerate(held_out):
            fits[k], _ = _fit_affine(rows.take(~out), penalty, fits[k], steps)
            weights, bias = _split(fits[k])
            left_out = rows.take(out)
            log_p = log_softmax(left_out.x @ weights.T + bias)
            loss = objective_of(log_p, left_out.labels, "nll", left_out.weights)
            total += loss * total_of(len(left_out.labels), left_out.weights)
        # The held-out NLL falls and then rises with a weaker
        # penalty; the first rise ends the search.
        if total >= best:
            break
        chosen, best = penalty, total
    return chosen
